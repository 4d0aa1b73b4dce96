"""Read the chosen option from a model's reply, without guessing.

A reply is read by a few rules, the most explicit first. The first rule with a match decides: one
letter is the answer, and several letters are no answer. So a weaker rule never overrules or
completes a stronger one. If no rule matches, the reply stays unparsed. It is kept next to the null,
so that another parser can read it again.

A lower-case letter is an answer only if it cannot be a word: alone, in brackets or quotes, after
``option``, or before the text of its option. ``a`` is an article. Accepting only ``b`` to ``d`` in
more places would lose answers of one option more often, which would be a bias.

`fairstats.asking.reply_text` removes markup, `fairstats.asking.reply_patterns` has the patterns,
and `fairstats.asking.reply_reader` applies them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fairstats.asking.reply_patterns import CUT_OFF, SENTENCE_END
from fairstats.asking.reply_reader import Reader
from fairstats.asking.reply_text import plain_text

Status = Literal["ok", "unparsed", "refused"]


@dataclass(frozen=True)
class ParsedAnswer:
    """The content of a reply.

    Parameters
    ----------
    letter : str or None
        The letter of the chosen option; None if the reply names none, or several.
    status : {"ok", "unparsed", "refused"}
        ``ok`` exactly if there is a letter.
    """

    letter: str | None
    status: Status


def parse_answer(raw: str | None, options: Mapping[str, str]) -> ParsedAnswer:
    r"""Read the chosen option from a reply.

    Parameters
    ----------
    raw : str or None
        The unprocessed reply.
    options : Mapping[str, str]
        The text of each option by its capital letter.

    Returns
    -------
    ParsedAnswer
        ``ok`` with a letter of `options`; ``refused`` if the model declined to answer; ``unparsed``
        in all other cases.

    Notes
    -----
    The rules in their order: a final statement (``Answer: C``, ``\boxed{C}``, JSON); a sentence
    that names it (``the best answer is C``, ``option C is correct``); a refusal that opens the
    reply; lines that are or begin with an option's letter (``C``, ``(C) text``); a refusal
    anywhere; an option named by its text. An option's text is no refusal, even if it is "I cannot
    help you". A reply that begins with a colon completes a prompt that ends in "Answer" and is read
    as such a statement. If no option's text is known, a letter in brackets after the named answer
    is read too ("The diagnosis is vitiligo (C)."). If texts are known, they have to agree with it.
    Each rule takes time proportional to the reply's length.

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
        # A completion model continues after the end of the prompt: "Answer" + ": C".
        text = f"Answer{text}"
    if not text or not options:
        return ParsedAnswer(None, "unparsed")
    reader = Reader(text, options)
    if found := reader.final_statements() or reader.sentences():
        return ParsedAnswer(None, "unparsed") if reader.retracted() else _decide(found)
    # Only its first sentence: "C. I cannot give medical advice, but ..." is an answer.
    if reader.refuses(SENTENCE_END.split(text, maxsplit=1)[0]):
        return ParsedAnswer(None, "refused")
    # If a reply is cut off just before its answer, it has no answer, whatever its beginning.
    if CUT_OFF.search(text, max(0, len(text) - 40)):
        return ParsedAnswer(None, "unparsed")
    if found := reader.lines():
        return _decide(found)
    if reader.refuses(text):
        return ParsedAnswer(None, "refused")
    return _decide(reader.named())


def _decide(found: set[str]) -> ParsedAnswer:
    """Return one letter as the answer; several are a contradiction, or an echo of the options."""
    return ParsedAnswer(found.pop(), "ok") if len(found) == 1 else ParsedAnswer(None, "unparsed")
