"""Read the answer from a model's reply, without guessing.

A reply is read if it states one answer in a plain form: after a label (``Answer: C``), in a
sentence (``The best answer is C.``), or as a line that is it or begins with it. Labels come before
sentences, and sentences before lines. Two different answers, a denial, a condition or another form
are no answer, and the reply stays unparsed. It is kept next to the null, so that another parser can
read it again.

There are few rules, and they are the same for all kinds of answers and for all options. A form that
is missing costs an answer that everybody sees is missing. A rule for it may read another reply
wrongly, which nobody sees.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from string import ascii_uppercase
from typing import Any, Literal

from fairstats.asking.own_turn import is_short, own_turn, plain_text
from fairstats.asking.reply_patterns import (
    ABOUT_ANSWER,
    BULLET,
    CLAUSE_START,
    CONDITION,
    CONTRAST,
    CUT_OFF,
    DENIAL,
    EXPLANATION,
    FIELD,
    FURTHER,
    FURTHER_LETTER,
    HEDGE,
    LAST_LABEL,
    LATER_DENIAL,
    LIMITED,
    LIMITED_AT_ONCE,
    LINE_END,
    NEGATIVE,
    NEXT,
    NEXT_LETTER,
    OF_PATIENT,
    OPENING_SIGNS,
    OTHER_LABEL,
    QUESTION,
    REASON,
    REFUSAL_TO_RATE,
    RETRACTION,
    SENTENCE_END,
    STATEMENT_END,
    SUM,
    WHO,
    WOULD_CHANGE,
    labels,
    sentences,
)
from fairstats.asking.stated_values import Found, Letters, Values, skip
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.refusals import REFUSAL, is_refusal

Status = Literal["ok", "unparsed", "refused"]


@dataclass(frozen=True)
class ParsedAnswer:
    """The content of a reply.

    Parameters
    ----------
    letter : str or None
        The letter of the chosen option, or for other kinds of answers the option or number as it is
        stored; None if the reply names none, or several.
    status : {"ok", "unparsed", "refused"}
        ``ok`` exactly if there is a letter, option or number.
    """

    letter: str | None
    status: Status


UNPARSED, REFUSED = ParsedAnswer(None, "unparsed"), ParsedAnswer(None, "refused")
# More words after an answer explain it, and may name other options.
_FEW_WORDS = 80
# Words after which a reply that seems to refuse goes on to an answer.
_GOES_ON = re.compile(
    r"""(?xi) :$ | [^.]\ but\ (?!(?:I|we|as\ an)\b[^.]{0,30}(?:not|n't|unable)\b)
    | \b(?: while | although | though | however | nevertheless | nonetheless | yet | instead
    | that\ (?:being\ )?said | here\ is | here's | can\ (?:discuss|explain|share|analy[sz]e)
    | exam | exercise | educational | hypothetical )\b"""
)


def read_reply(
    raw: str | None, benchmark: Benchmark, options: Mapping[str, str] | None = None
) -> ParsedAnswer:
    """Read a reply by the benchmark's kind of answers.

    If the benchmark's options are no letters, but `options` has its options or labels by letter, a
    letter is read as the option of its text.

    Returns
    -------
    ParsedAnswer
        ``ok`` with the answer as it is stored, by `parse_answer` for letters, and by `parse_value`
        for words and numbers.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> read_reply("The answer is B.", load_benchmark("demo"))
    ParsedAnswer(letter='B', status='ok')
    """
    read = _read_reply(raw, benchmark, options or {})
    # Not what a model says, but what a file says of its reply.
    told = read.status == "unparsed" and raw is not None and is_refusal(raw.strip())
    return REFUSED if told else read


def _read_reply(raw: str | None, benchmark: Benchmark, texts: Mapping[str, str]) -> ParsedAnswer:
    if are_letters(benchmark.options) or (benchmark.kind.needs_key and texts):
        known = {option: benchmark.labels.get(option, "") for option in benchmark.options}
        return parse_answer(raw, texts or known)
    if not are_letters(texts) or lettered(list(texts.values()), benchmark) is None:
        return parse_value(raw, benchmark)
    parsed = parse_answer(raw, texts)
    if parsed == UNPARSED and not set(re.findall(r"\b[A-Z]\b", raw or "")) & texts.keys():
        return parse_value(raw, benchmark)  # It states no letter, but perhaps "level 3".
    letter = parsed.letter
    return parsed if letter is None else ParsedAnswer(benchmark.named(texts[letter]), "ok")


def lettered(texts: Sequence[Any], benchmark: Benchmark) -> dict[str, str] | None:
    """Return the letters of choices that a prompt listed; None if one is no option."""
    if len(texts) > len(ascii_uppercase) or not all(
        isinstance(text, str) and benchmark.named(text) is not None for text in texts
    ):
        return None
    return dict(zip(ascii_uppercase, texts, strict=False))


def are_letters(options: Collection[str]) -> bool:
    """Return whether all options are capital letters; False if there are none."""
    return bool(options) and all(option in ascii_uppercase for option in options)


def parse_answer(raw: str | None, options: Mapping[str, str]) -> ParsedAnswer:
    r"""Read the chosen option from a reply.

    Parameters
    ----------
    raw : str or None
        The reply.
    options : mapping of str to str
        The text of each option by its capital letter; an empty text if it is not known.

    Returns
    -------
    ParsedAnswer
        ``ok`` with a letter of `options`; ``refused`` if the model declined to answer; ``unparsed``
        in all other cases.

    Notes
    -----
    The rules in their order: a label (``Answer: C``, ``\boxed{C}``, a field of JSON); a sentence
    (``The best answer is C``, ``I choose C``, ``C is correct``), in which the option's text counts
    as its letter does; a refusal that opens the reply; lines that begin with an option, if the
    first does or the last is nothing else; a refusal anywhere. After a label, a sentence or a last
    line with another answer contradicts it. An option's text is no refusal, even if it is "I cannot
    help you". A reply that begins with a colon completes a prompt that ends in "Answer". What
    follows the end of the model's own turn is no part of the reply, see
    `fairstats.asking.own_turn.own_turn`.

    A lower-case letter is an answer only where it cannot be a word: after a label and as a line, if
    nothing else follows. ``a`` is an article. If the options' texts are known, a letter has to
    agree with the text after it. Each rule takes time proportional to the reply's length.

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
    return _parse_turn(raw or "", Letters(options)) if options else UNPARSED


def parse_value(raw: str | None, benchmark: Benchmark) -> ParsedAnswer:
    r"""Read a decision, a level or a score from a reply.

    Returns
    -------
    ParsedAnswer
        ``ok`` with an option or a number as `Benchmark.canonical` writes it; ``refused`` if the
        model declined to answer; ``unparsed`` in all other cases.

    Notes
    -----
    The rules are those of `parse_answer`, with the nouns of the kind of answers: ``ESI level: 3``,
    ``The acuity is 3``, ``I would rate this 7``, ``{"decision": "yes"}``. A number counts only
    where the reply states it as the answer, so ages, doses and numbers of lists do not. ``3/5`` and
    ``3 out of 5`` are 3 if 5 is the highest value. A range, a number with an inequality and one
    out of the limits are no answer.
    """
    return _parse_turn((raw or "").replace("\N{MINUS SIGN}", "-"), Values(benchmark))


def _parse_turn(raw: str, known: Letters | Values) -> ParsedAnswer:
    def answer_of(part: str) -> str | None:
        found = _parse(part, known)
        # "While I cannot give advice, I can discuss this case." goes on.
        goes_on = found == REFUSED and _GOES_ON.search(plain_text(part))
        if found is None or goes_on or (found == UNPARSED and not is_short(part)):
            return None
        return "" if found == UNPARSED else found.letter or found.status

    return _parse(own_turn(raw, answer_of), known) or UNPARSED


def _parse(turn: str, known: Letters | Values) -> ParsedAnswer | None:
    """Read a reply by the first rule with a match; None if there is none, or it is retracted."""
    text = plain_text(turn)
    if text.startswith(":"):
        # A completion model continues after the end of the prompt: "Answer" + ": C".
        text = f"Answer{text}"
    reader = _Reader(text, known)
    found = reader.labelled()
    # A sentence after a label may be another answer; one before it is a thought.
    found |= reader.sentences(after=reader.last)
    if not found:
        # Only its first sentence: "C. I cannot give medical advice, but ..." is an answer.
        # Who cannot give medical advice may still have an answer for an exam, in the last line.
        if reader.refuses(SENTENCE_END.split(text, maxsplit=1)[0]) and not reader.last_line():
            return REFUSED
        # If a reply is cut off just before its answer, it has no answer, whatever its beginning.
        if CUT_OFF.search(text, max(0, len(text) - 40)):
            return None
        found = reader.lines()
    if not found:
        return REFUSED if reader.refuses(text) else None
    found |= reader.last_line() | reader.last_words()
    value = next(iter(found)) if len(found) == 1 else None
    if reader.retracted():
        return None
    return UNPARSED if value is None else ParsedAnswer(value, "ok")


class _Reader:
    """Reads one reply, in the form of `plain_text`. A None that is found is no possible answer."""

    def __init__(self, text: str, known: Letters | Values) -> None:
        self.text = text
        self.known = known
        #: Position of the end of the last statement that was read.
        self.last = 0

    def labelled(self) -> Found:
        """Return the values after labels."""
        found: Found = set()
        for match in labels(self.known.kind, self.known.scales).finditer(self.text):
            if self._hedged(match):
                continue
            if match["alone"]:
                # "Overall: B and D can be excluded" states no answer.
                found |= self._whole(match.end(), self._line_end(match.end()))
            else:
                found |= self._stated(match.end(), final=True)
        return found

    def sentences(self, *, after: int) -> Found:
        """Return the values of sentences that name the answer, after a position."""
        found: Found = set()
        for match in sentences(self.known.kind, self.known.scales).finditer(self.text, after):
            if not self._hedged(match):
                found |= self._stated(match.end())
        for match in self.known.right.finditer(self.text, after):
            if not self._hedged(match):
                found |= self._unless_limited({match[1]}, match.end(), text=None)
        if after:
            return found
        first, *others = (self._begun(*span) for span in islice(_spans(self.text), 2))
        # "B. In a man, the answer would be C." But a list of options comes before an answer.
        return found if not found or any(others) else found | first

    def lines(self) -> Found:
        """Return the values that lines begin with, if the first does or the last is one."""
        # An explanation after the answer discusses the other options.
        below = EXPLANATION.search(self.text, 1)
        lines = list(_spans(self.text[: below.start() if below else len(self.text)]))
        begun = [self._begun(start, end) for start, end in lines]
        found = set().union(*begun) if begun[0] or self._whole(*lines[-1]) else set()
        # "Yes, she is qualified. However, I would reject her."
        turned = found and self.known.kind == "decision" and CONTRAST.search(self.text, self.last)
        return found | {None} if turned else found

    def last_line(self) -> Found:
        """Return the value that the last line is, perhaps with a label, and nothing else."""
        start = self.text.rfind("\n") + 1
        above = self.text.rfind("\n", 0, max(0, start - 1)) + 1
        # The last line of a list of options is no answer; one below a statement is.
        if self.last <= above < start and self._begun(above, start - 1):
            return set()
        if named := FIELD.match(self.text, start):
            if self.known.kind == "choice":
                other = OTHER_LABEL.search(named[0]) is not None
            else:
                # "Resources: 2", "Red flags: no" are about something else.
                is_sum = self.known.kind == "score" and SUM.search(named[0])
                other = not is_sum and LAST_LABEL.search(named[0]) is None
            return set() if other else self._whole(named.end(), len(self.text))
        return self._whole(start, len(self.text))

    def last_words(self) -> Found:
        """Return the value in a short last sentence after the statement: "Oops, C."."""
        rest = self.text[self.last :].rstrip(" .!")
        if len(rest) > _FEW_WORDS:
            return set()
        first, *others = SENTENCE_END.split(rest)
        # The rest of a sentence may be a reason, or the text of an option that is not known.
        own = self.known.kind == "choice" and self.known.names and not others
        sentence = first if own else "".join(others[-1:])
        named = FIELD.match(sentence)
        of_another = HEDGE.search(sentence) or (named and OTHER_LABEL.search(named[0]))
        if of_another or REASON.search(sentence):
            return set()
        return self.known.ending(sentence)

    def retracted(self) -> bool:
        """Return whether the reply later retracts the last statement that was read."""
        for match in RETRACTION.finditer(self.text, self.last):
            question = QUESTION.search(self.text, max(0, match.start() - 300), match.start() + 1)
            # "Insurance? No." and "Would my answer change if she were White? No." do not.
            if not (match["no"] and question) or (
                ABOUT_ANSWER.search(question[0]) and not WOULD_CHANGE.search(question[0])
            ):
                return True
        return False

    def refuses(self, text: str) -> bool:
        """Return whether part of the reply declines to answer, in other words than an option's."""
        rest = text.casefold()
        for name in self.known.names:
            # "I cannot help with this" may be a physician's words that the reply chooses.
            rest = rest.replace(name, "") if REFUSAL.search(name) else rest
        if REFUSAL.search(rest):
            return True
        # "No, I cannot recommend a dose" is an answer and its reason.
        rates = self.known.kind == "choice" or not REFUSAL_TO_RATE.search(rest)
        return not rates and not _Reader(text, self.known).lines()

    def _begun(self, start: int, end: int) -> Found:
        """Return the value that a line begins with."""
        return self._stated(skip(BULLET, self.text, start)) or self._whole(start, end)

    def _whole(self, start: int, end: int) -> Found:
        """Return the value that a line is, and nothing else."""
        stated = self.known.at(self.text, skip(BULLET, self.text, start), final=True)
        if stated is None or not LINE_END.match(self.text, stated.end, end):
            return set()
        self.last = max(self.last, stated.end)
        return set(stated.values)

    def _stated(self, position: int, *, final: bool = False) -> Found:
        """Return the values stated at a position, with None if the rest takes them back."""
        stated = self.known.at(self.text, position, final=final)
        if stated is None or self._describes(position, stated.end):
            return set()
        words = self.text[position : stated.end]
        return self._unless_limited(
            set(stated.values), stated.end, text=stated.text, negative=bool(NEGATIVE.match(words))
        )

    def _describes(self, position: int, end: int) -> bool:
        """Return whether a line goes on after its value: "3. Pain", "Level 1: needs help now"."""
        start = self.text.rfind("\n", 0, end) + 1
        if self.known.kind == "choice" or skip(BULLET, self.text, start) < position:
            return False
        number = self.text[end - 1].isdigit()
        goes_on = self.text.startswith((".", ")", ":") if number else ":", end)
        return goes_on and LINE_END.match(self.text, end, self._line_end(end)) is None

    def _unless_limited(
        self, values: Found, end: int, *, text: str | None, negative: bool = False
    ) -> Found:
        """Return the values that end here, unless the rest of the sentence denies or limits them.

        If the `text` of the option is not known, the rest may be that text. A `negative` value,
        such as no, is confirmed by a denial.
        """
        self.last = max(self.last, end)
        rest = self.text[end : end + 300]
        sentence = STATEMENT_END.split(rest, maxsplit=1)[0]
        tail = REASON.split(sentence, maxsplit=1)[0]
        if tail.rstrip().endswith("?"):
            return set()
        denied = not negative and (DENIAL.match(rest) or LATER_DENIAL.match(rest))
        if text is None:
            limited = LIMITED_AT_ONCE.match(rest) is not None
        else:
            # "(a woman who speaks only Spanish)" limits nothing.
            words = LIMITED.findall(WHO.sub("", tail))
            limited = any(word.casefold() not in text for word in words)
        if denied or limited:
            return {None}
        line = rest.partition("\n")[0]
        others = self.known.others(line) if text is None else self.known.others(line, tail)
        choice = self.known.kind == "choice"
        further, following = (FURTHER_LETTER, NEXT_LETTER) if choice else (FURTHER, NEXT)
        for sign in (*further.finditer(tail), *following.finditer(line)):
            other = self.known.at(self.text, end + sign.end())
            others |= other.values if other else set()
        return values | others

    def _hedged(self, match: re.Match[str]) -> bool:
        """Return whether the clause of a statement denies or doubts what follows."""
        start = match.end() - len(match[0].lstrip(OPENING_SIGNS))
        before = self.text[max(0, start - 300) : start]
        if CONDITION.match(STATEMENT_END.split(before)[-1]):
            return True
        clause = CLAUSE_START.split(before)[-1] + self.text[start : match.end()]
        return HEDGE.search(OF_PATIENT.sub("", clause)) is not None

    def _line_end(self, position: int) -> int:
        """Return the end of the line that a position is in."""
        end = self.text.find("\n", position)
        return end if end >= 0 else len(self.text)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of every line."""
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1
