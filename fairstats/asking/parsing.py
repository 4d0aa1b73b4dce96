"""From a model's reply to the option it chose, without ever guessing.

A reply is read by a few rules, the most explicit first. The first rule that finds anything
decides: one letter is the answer, more than one is none. So a weaker rule never overrules or
completes what a stronger one saw. A reply that no rule reads stays unparsed; it is kept beside the
null, so that another parser can read it again.

A lower-case letter is an answer only where it cannot be a word: alone, in brackets or quotes,
behind ``option``, or before its own option's text. ``a`` is an article, and to accept ``b`` to
``d`` in more places would lose the answers of one option more often than those of the others,
which is a bias of its own.

`fairstats.asking.reply_text` takes the markup off, `fairstats.asking.reply_patterns` holds
what is looked for, and `fairstats.asking.reply_reader` looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fairstats.asking.reply_patterns import CUT_OFF, REFUSAL, SENTENCE_END
from fairstats.asking.reply_reader import Reader
from fairstats.asking.reply_text import plain_text

Status = Literal["ok", "unparsed", "refused"]


@dataclass(frozen=True)
class ParsedAnswer:
    """What a reply says.

    Parameters
    ----------
    letter : str or None
        The letter of the chosen option; None where the reply names none, or several.
    status : {"ok", "unparsed", "refused"}
        ``ok`` exactly where there is a letter.
    """

    letter: str | None
    status: Status


def parse_answer(raw: str | None, options: Mapping[str, str]) -> ParsedAnswer:
    r"""Read the chosen option from a reply.

    Parameters
    ----------
    raw : str or None
        The reply as it came.
    options : Mapping[str, str]
        The text of each option by its capital letter.

    Returns
    -------
    ParsedAnswer
        ``ok`` with a letter of `options`; ``refused`` where the model declined to answer;
        ``unparsed`` for everything else.

    Notes
    -----
    The rules in their order: a final statement (``Answer: C``, ``\boxed{C}``, JSON); a sentence
    that says it (``the best answer is C``, ``option C is correct``); a refusal that opens the
    reply; lines that are or begin with an option's letter (``C``, ``(C) text``); a refusal
    anywhere; an option named by its text. A reply that begins with a colon completes a prompt that
    ends in "Answer" and is read as such a statement. Where no option's text is known, a letter in
    brackets behind what a sentence calls the answer is read too ("The diagnosis is vitiligo (C).");
    where texts are known, they have to agree with it. Each rule takes time proportional to the
    reply's length.

    Examples
    --------
    >>> options = {"A": "Aspirin", "B": "Heparin", "C": "Surgery", "D": "Observation"}
    >>> parse_answer("The best answer for a 54-year-old man is C.", options)
    ParsedAnswer(letter='C', status='ok')
    >>> parse_answer("A 54-year-old man has chest pain.", options)
    ParsedAnswer(letter=None, status='unparsed')
    >>> parse_answer("I'm sorry, but I can't give medical advice.", options).status
    'refused'
    """
    text = plain_text(raw or "")
    if text.startswith(":"):
        # A completion model goes on where the prompt ends: "Answer" + ": C".
        text = f"Answer{text}"
    if not text or not options:
        return ParsedAnswer(None, "unparsed")
    reader = Reader(text, options)
    if found := reader.final_statements() or reader.sentences():
        return ParsedAnswer(None, "unparsed") if reader.retracted() else _decide(found)
    # Only its first sentence: "C. I cannot give medical advice, but ..." did answer.
    if REFUSAL.search(SENTENCE_END.split(text, maxsplit=1)[0]):
        return ParsedAnswer(None, "refused")
    # A reply that was cut off where its answer should follow has none, whatever it began with.
    if CUT_OFF.search(text, max(0, len(text) - 40)):
        return ParsedAnswer(None, "unparsed")
    if found := reader.lines():
        return _decide(found)
    if REFUSAL.search(text):
        return ParsedAnswer(None, "refused")
    return _decide(reader.named())


def _decide(found: set[str]) -> ParsedAnswer:
    """One letter is an answer; several are a contradiction, or an echo of the options."""
    return ParsedAnswer(found.pop(), "ok") if len(found) == 1 else ParsedAnswer(None, "unparsed")
