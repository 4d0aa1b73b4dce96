"""Read an option in words, a level or a number from a model's reply, without guessing.

`fairstats.asking.answer_from_reply` reads letters. The rules here have the same order: a reply that
is nothing but an answer; a final statement (``Level: 3``, JSON); a line with only an answer; an
option that opens the reply or that it names alone. The first rule with a match decides, and several
different answers are no answer. A number counts only where the reply calls it the answer: a reply
is full of ages, doses and scores of something else.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from fairstats.asking.answer_from_reply import ParsedAnswer, Reader, parse_answer
from fairstats.asking.reply_patterns import REFUSAL, SENTENCE_END, plain_text
from fairstats.benchmarks.declaration import Benchmark

_UNPARSED = ParsedAnswer(None, "unparsed")
_CUES = (
    "answer|level|score|rating|rate|grade|decision|recommendation|recommend|acuity|category|class"
    "|verdict|conclusion|assessment|triage|esi|priority|urgency|choice|option|prediction|result"
)
_NUMBER = r"[+-]?\d{1,15}(?:\.\d{1,15})?"
#: The length of an object, a line or a statement that may hold an answer.
_REACH = 2_000


def parse_reply(
    raw: str | None, benchmark: Benchmark, texts: Mapping[str, str] | None = None
) -> ParsedAnswer:
    """Read the answer from a reply to an item of a benchmark.

    Parameters
    ----------
    raw : str or None
        The unprocessed reply.
    benchmark : Benchmark
        The benchmark: its kind, options, labels and limits.
    texts : Mapping[str, str], optional
        The text of each option of the item, if options are letters.

    Returns
    -------
    ParsedAnswer
        ``letter`` is the option or the score as it is stored.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> parse_reply("The answer is B.", load_benchmark("demo"))
    ParsedAnswer(letter='B', status='ok')
    """
    options = benchmark.options
    if options and all(option in string.ascii_uppercase for option in options):
        labels = {option: benchmark.labels.get(option, "") for option in options}
        return parse_answer(raw, texts or labels)
    text = plain_text(raw or "")
    if not text:
        return _UNPARSED
    if (named := _named(text, benchmark)) is not None:
        return ParsedAnswer(named, "ok")
    statements = _statements(benchmark)
    rules: tuple[Iterable[str | None], ...] = (
        _in_json(raw or "", benchmark),
        _stated(text, statements.final, benchmark),
        _stated(text, statements.cue, benchmark),
        (_named(line, benchmark) for line in _lines(text)),
    )
    for rule in rules:
        found = list(dict.fromkeys(rule))
        if len(found) == 1 and found[0] is not None:
            return ParsedAnswer(found[0], "ok")
        if [one for one in found if one is not None]:
            return _UNPARSED
    if REFUSAL.search(text[:_REACH]):
        return ParsedAnswer(None, "refused")
    words = [option for option in options if not re.fullmatch(_NUMBER, option)]
    opening = statements.opening.match(text) if words else None
    named = _named(opening[1], benchmark) if opening else _mentioned(text, benchmark)
    return _UNPARSED if named is None else ParsedAnswer(named, "ok")


def _named(text: str, benchmark: Benchmark) -> str | None:
    """Return the answer that is the whole text, apart from brackets and punctuation around it."""
    if len(text) > _REACH:
        return None
    bare = text.strip(" .,:;!\"'()[]{}<>\n")
    bare = re.sub(r"^\\boxed ?\{", "", bare)
    if benchmark.kind.numeric and (top := _OF_TOP.search(bare)):
        # "7/10" and "7 out of 10".
        bare = bare[: top.start()] if float(top[1]) == benchmark.limits[1] else ""
    if (stored := benchmark.named(bare)) is not None:
        return stored
    # Underscores are spaces in the text of a reply.
    found = {
        option
        for option in benchmark.options
        for name in (option, benchmark.labels.get(option, option))
        if plain_text(name).casefold() == bare.casefold()
    }
    return found.pop() if len(found) == 1 else None


_OF_TOP = re.compile(r"(?i) ?(?:/|out of) ?(\d{1,15}(?:\.\d{1,15})?)$")


def _lines(text: str) -> Iterator[str]:
    """Return the first and the last line, where replies have their answers."""
    lines = [line for line in text.split("\n") if line.strip()]
    yield from (lines[0], lines[-1]) if len(lines) > 1 else lines


def _in_json(raw: str, benchmark: Benchmark) -> Iterator[str | None]:
    """Return the answer in the last JSON object of a reply."""
    objects = re.findall(rf"\{{[^{{}}]{{1,{_REACH}}}\}}", raw[-10 * _REACH :])
    try:
        values = json.loads(objects[-1]) if objects else {}
    except (ValueError, RecursionError):
        return
    scalars = {k: v for k, v in values.items() if type(v) in (str, int, float)}
    cued = {k: v for k, v in scalars.items() if re.search(f"(?i){_CUES}", k)}
    for value in (cued or scalars).values():
        text = f"{value:.15g}" if type(value) is float else str(value)
        found = benchmark.named(text)
        if found is not None or len(cued or scalars) == 1:
            yield found


class _Statements:
    """The patterns of statements that name an answer of a benchmark."""

    def __init__(self, names: tuple[str, ...], numbers: bool) -> None:
        values = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        value = rf"(?:{_NUMBER if numbers else values})(?: ?(?:/|out of) ?\d[\d.]*)?(?!\w|\.\d|%)"
        joined = rf"(?: ?(?:-|or|to|and) ?(?:\w+ )?{value})?"
        # A hyphen before a score may be its sign.
        hyphen = r"-(?= )" if numbers else "-"
        be = rf"(?: ?[:=>]| ?->| ?{hyphen}| is| was| of| (?:would|should) be)?"
        be += r" ?(?:an? )?[\"'(\[<{]{0,2} ?"
        noun = rf"\b(?:{_CUES})(?:[ \-](?:{_CUES})){{0,3}}[\"')]{{0,2}}"
        final = rf"(?:\bfinal {noun}|\banswer[\"']?|\\boxed)"
        self.final = re.compile(rf"(?i){final}{be}({value}{joined})")
        self.cue = re.compile(rf"(?i){noun}{be}({value}{joined})")
        self.opening = re.compile(rf"(?i)[\"'(\[]?({value})(?=[\"')\]]? ?(?:[.,;:!\n-]|$))")


_made = lru_cache(maxsize=16)(_Statements)


def _statements(benchmark: Benchmark) -> _Statements:
    labels = (benchmark.labels.get(option, option) for option in benchmark.options)
    names = {plain_text(name) for name in (*benchmark.options, *labels)}
    return _made(tuple(sorted(names - {""})), not names)


def _stated(text: str, pattern: re.Pattern[str], benchmark: Benchmark) -> Iterator[str | None]:
    for match in pattern.finditer(text):
        before = SENTENCE_END.split(text[max(0, match.start() - 60) : match.start()])[-1]
        if not _DENIED.search(before):
            yield _named(match[1], benchmark)


_DENIED = re.compile(r"(?i)\b(?:not|never|if|unless|cannot|rather than|instead of)\b|n't\b")


def _mentioned(text: str, benchmark: Benchmark) -> str | None:
    """Return the option in words that the last sentence names, if the reply names no other."""
    names = [benchmark.labels.get(option, option) for option in benchmark.options]
    if not 1 < len(names) <= len(string.ascii_uppercase):
        return None
    if any(re.fullmatch(_NUMBER, name) for name in names):
        return None
    options = dict(zip(string.ascii_uppercase, names, strict=False))
    if re.search(r"\([A-Z]\)", SENTENCE_END.split(text)[-1]):
        return None
    named = Reader(text, options).named()
    place = string.ascii_uppercase.index(next(iter(named))) if len(named) == 1 else -1
    return benchmark.options[place] if place >= 0 else None
