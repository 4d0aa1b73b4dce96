"""Read a decision, a level or a score from a model's reply, without guessing.

The principle is that of `fairstats.asking.answer_from_reply`: a few rules, the most explicit first.
The first rule with a match decides. One value is the answer; several values, or a number that the
benchmark does not have, are no answer. A number counts only where the reply states it as the
answer, so ages, doses and numbers of lists do not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from string import ascii_uppercase
from typing import Any

from fairstats._lib.untrusted_files import parse_json
from fairstats.asking.answer_from_reply import (
    REFUSED,
    UNPARSED,
    ParsedAnswer,
    hedged,
    parse_answer,
    said,
)
from fairstats.asking.own_turn import own_turn, plain_text
from fairstats.asking.reply_patterns import (
    ANNOUNCED,
    BULLET,
    CLAUSE_START,
    CONCLUDING,
    CONDITIONED,
    CUT_OFF,
    DENIAL,
    FINAL,
    FOREIGN,
    FOREIGN_HEDGE,
    NUMBER,
    PROBABILITY,
    RETRACTION,
    SENTENCE_END,
)
from fairstats.asking.value_patterns import (
    ACRONYM,
    ACTS,
    AFTER_VALUE,
    ALTERNATIVE,
    ANSWER_FIELDS,
    ARTICLES,
    BEFORE_NAME,
    CONDITIONAL,
    DOUBT,
    ENDING,
    EXPLAINING_FIELDS,
    FURTHER,
    INEQUALITY,
    LABEL_OPENING,
    LINE_START,
    LIST_NUMBER,
    MODIFIERS,
    NAMED_SCALE,
    NEGATIVE,
    NO_ANSWER_FIELDS,
    NUMBER_IN_WORDS,
    NUMBERS_IN_WORDS,
    OPENING,
    OTHER_FIELDS,
    RANGE,
    REFUSAL_TO_RATE,
    SCALE,
    TAG,
    noun_cues,
)
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import MOST_OPTION
from fairstats.benchmarks.refusals import REFUSAL, is_refusal

#: The values that a rule read. None is a value that is not possible, or one of a range.
Found = set[str | None]


def read_reply(
    raw: str | None, benchmark: Benchmark, options: Mapping[str, str] | None = None
) -> ParsedAnswer:
    """Read a reply by the benchmark's kind of answers.

    If the benchmark's options are no letters, but `options` has its options or labels by letter, a
    letter is read as the option of its text.

    Returns
    -------
    ParsedAnswer
        ``ok`` with the answer as it is stored, by the rules of `parse_answer` for letters, and of
        `parse_value` for words and numbers.

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
    if _are_letters(benchmark.options) or (benchmark.kind.needs_key and texts):
        labels = {option: benchmark.labels.get(option, "") for option in benchmark.options}
        return parse_answer(raw, texts or labels)
    if not _are_letters(texts) or lettered(list(texts.values()), benchmark) is None:
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


def _are_letters(options: Collection[str]) -> bool:
    return bool(options) and all(option in ascii_uppercase for option in options)


def parse_value(raw: str | None, benchmark: Benchmark) -> ParsedAnswer:
    r"""Read a decision, a level or a score from a reply.

    Returns
    -------
    ParsedAnswer
        ``ok`` with an option or a number as `Benchmark.canonical` writes it; ``refused`` if the
        model declined to answer; ``unparsed`` in all other cases.

    Notes
    -----
    The rules in their order: a final statement (``Answer: yes``, ``\boxed{3}``, a field of JSON); a
    named field (``ESI level: 3``, ``Score: 7/10``); a sentence (``The acuity is 3``, ``I would rate
    this 7``, ``level 3``); a refusal that opens the reply; a first or last line that is the value
    or begins with it; a refusal anywhere; a last sentence that is only an option.

    The fields and nouns of the benchmark's kind come before those of the others. A field of JSON is
    read if its name is such a noun, or if all others are reasons, ages and the like.

    ``3/5`` and ``3 out of 5`` are 3 if 5 is the highest value. Numbers in words are read in final
    statements and named fields only. What follows the end of the model's own turn is no part of the
    reply, as for `fairstats.asking.answer_from_reply.parse_answer`. Each rule takes time
    proportional to the reply's length.
    """
    turn = own_turn(
        (raw or "").replace("\N{MINUS SIGN}", "-"),
        lambda part: said(_parse(part, benchmark), part),
    )
    return _parse(turn, benchmark) or UNPARSED


def _parse(turn: str, benchmark: Benchmark) -> ParsedAnswer | None:
    """Read a reply by the first rule with a match; None if there is none, or it is retracted."""
    text = plain_text(turn)
    if text.startswith(":"):
        text = f"Answer{text}"
    if not text:
        return None
    fields: Found = set()
    reader = _Reader(text, benchmark)
    if "{" in text and (parts := _json_part(turn)):
        before, value, after = parts
        text = plain_text(f"{before}\n{after}")
        reader = _Reader(text, benchmark)
        fields = reader.fields(value)
        reader.last = len(plain_text(before))
    found = fields | reader.final_statements()
    stated = bool(found)
    found = found or reader.named_fields() or reader.sentences()
    later = reader.conclusions()
    # After "Answer: 3", another value is a second answer; "Score: 7" may be that of a part.
    if found := found | later if stated else later or found:
        found |= reader.last_line()
        return None if reader.retracted() else _decide(found)
    # "I cannot give medical advice, but: 3"
    if reader.refuses(SENTENCE_END.split(text, maxsplit=1)[0]) and not reader.last_line():
        return REFUSED
    if CUT_OFF.search(text, max(0, len(text) - 40)):
        return None
    if found := reader.lines():
        return None if reader.retracted() else _decide(found)
    return REFUSED if reader.refuses(text) else _decide(reader.last_sentence())


def _decide(found: Found) -> ParsedAnswer | None:
    """Return one possible value as the answer."""
    if not found:
        return None
    value = found.pop() if len(found) == 1 else None
    return UNPARSED if value is None else ParsedAnswer(value, "ok")


def _json_part(raw: str) -> tuple[str, Any, str] | None:
    """Return the one JSON object in a reply, and the texts before and after it."""
    start, end = raw.find("{"), raw.rfind("}") + 1
    try:
        return (raw[:start], parse_json(raw[start:end]), raw[end:]) if end else None
    except ValueError:
        return None


def _folded(text: str) -> str:
    """Return a text in the form in which names are compared."""
    return " ".join(plain_text(text).casefold().split()).strip(" .,:;!\"'()")


def _names(benchmark: Benchmark) -> Mapping[str, frozenset[str]]:
    labels = tuple(benchmark.labels.items())
    return _names_of(benchmark.options, labels)


@lru_cache(maxsize=32)
def _names_of(
    options: tuple[str, ...], labels: tuple[tuple[str, str], ...]
) -> Mapping[str, frozenset[str]]:
    """Return what each name means, the longest first; numbers are no names."""
    meant: dict[str, set[str]] = {}
    for option, text in (*((option, option) for option in options), *labels):
        name = _folded(text)
        if name and not NUMBER.fullmatch(name):
            meant.setdefault(name, set()).add(option)
    return {name: frozenset(meant[name]) for name in sorted(meant, key=len, reverse=True)}


@lru_cache(maxsize=32)
def _pattern_of(names: tuple[str, ...]) -> re.Pattern[str]:
    any_of = "|".join(re.escape(name).replace(r"\ ", r"\s") for name in names)
    return re.compile(rf"(?i)(?:{any_of or '(?!)'})(?![\w-]|'\w)")


class _Reader:
    """Reads one reply, in the form of `plain_text`, by each rule."""

    def __init__(self, text: str, benchmark: Benchmark) -> None:
        self.text = text
        self.benchmark = benchmark
        self.meant = _names(benchmark)
        self.names = _pattern_of(tuple(self.meant))
        self.cues = noun_cues(benchmark.kind.name)
        self.numeric = benchmark.kind.name == "score" or any(
            NUMBER.fullmatch(option) for option in benchmark.options
        )
        #: The highest number that is an answer.
        self.highest = benchmark.limits[1] if benchmark.kind.numeric else None
        announced = ANNOUNCED.search(text)
        #: Where a list of options that are discussed begins.
        self.listed = announced.end() if announced else len(text)
        #: Position of the end of the last statement that was read.
        self.last = 0

    def fields(self, value: Any) -> Found:
        """Return the value of the JSON field that is named like an answer, or that alone fits."""
        leaves = [(words, leaf, self._whole(leaf)) for words, leaf in _leaves(value)]
        for nouns in (ANSWER_FIELDS, *self.cues.fields):
            named = {
                fit
                for words, leaf, fit in leaves
                if words & nouns and words <= nouns | MODIFIERS
                # A long text explains; a short one may be an answer that is not possible.
                if fit is not None or len(str(leaf)) <= MOST_OPTION
            }
            if named:
                return named
        # A field with another name is read if all the others explain it.
        rest = [
            (words, fit)
            for words, _, fit in leaves
            if not words & (EXPLAINING_FIELDS | OTHER_FIELDS)
        ]
        if len(rest) != 1 or rest[0][0] & NO_ANSWER_FIELDS:
            return set()
        fit = rest[0][1]
        return set() if fit is None or NUMBER.fullmatch(fit) else {fit}

    def _whole(self, leaf: Any) -> str | None:
        """Return the value that a JSON value is; None if it is another text."""
        if isinstance(leaf, bool) or not isinstance(leaf, (str, int, float)):
            return None
        reader = _Reader(plain_text(str(leaf)), self.benchmark)
        found = reader._line(0, len(reader.text))
        return found.pop() if found and len(found) == 1 else None

    def final_statements(self) -> Found:
        """Return the values of statements in the form that prompts ask for."""
        found = self._after(FINAL, final=True)
        return found | self._after(FOREIGN, final=True, doubts=FOREIGN_HEDGE)

    def conclusions(self) -> Found:
        """Return the values of later statements under another label: ``Overall: 4``."""
        return self._after(CONCLUDING, final=True, begin=self.last)

    def named_fields(self) -> Found:
        """Return the values of fields: ``Level: 3``."""
        for cue in self.cues.colons:
            if found := self._after(cue, final=True):
                return found
        return set()

    def sentences(self) -> Found:
        """Return the values that sentences state: ``The acuity is 3``, ``I would rate this 7``."""
        found: Found = set()
        for cue in (self.cues.sentence, *ACTS):
            found |= self._after(cue)
        return found

    def lines(self) -> Found:
        """Return the value of the first or the last line, if no other line has another one."""
        found: Found = set()
        every: Found = set()
        numbered = len(LIST_NUMBER.findall(self.text)) > 1
        lines = list(_spans(self.text))
        for start, end in lines:
            if numbered and LIST_NUMBER.match(self.text, start):
                continue
            if values := self._line(start, end, leading=True):
                every |= values
                # "Discharge: when stable" below another line is about something else.
                label = start and self.text.startswith(":", self.last)
                if start in (lines[0][0], lines[-1][0]) and not label:
                    found |= values
        return every if found else set()

    def last_line(self) -> Found:
        """Return the value that the last line is, and nothing else."""
        start = self.text.rfind("\n") + 1
        above = self.text.rfind("\n", 0, max(0, start - 1)) + 1
        # The last line of a list of options is no answer.
        listed = above and self._line(above, start - 1, leading=True)
        return set() if listed else self._line(start, len(self.text))

    def last_sentence(self) -> Found:
        """Return the option that is the whole last sentence, unless it answers a question."""
        start = max(0, len(self.text) - 400)
        *before, last = SENTENCE_END.split(self.text[start:])
        return set(self._meant(last)) if before and not before[-1].endswith("?") else set()

    def retracted(self) -> bool:
        """Return whether the reply later retracts the last statement that was read."""
        return RETRACTION.search(self.text, self.last) is not None

    def refuses(self, text: str) -> bool:
        """Return whether part of the reply declines to answer, in other words than an option's."""
        rest = text.casefold()
        for name in self.meant:
            rest = rest.replace(name, "") if REFUSAL.search(name) else rest
        if REFUSAL.search(rest):
            return True
        # "No, I cannot recommend a dose" is an answer and its reason.
        return bool(REFUSAL_TO_RATE.search(rest) and not _Reader(text, self.benchmark).lines())

    def _after(
        self,
        cue: re.Pattern[str],
        *,
        final: bool = False,
        doubts: re.Pattern[str] | None = None,
        begin: int = 0,
    ) -> Found:
        """Return the values that follow a cue, from a position on."""
        found: Found = set()
        for match in cue.finditer(self.text, begin):
            start, end = match.span()
            listed = start > self.listed and LINE_START.search(self.text, max(0, start - 9), start)
            if not final and listed:
                continue  # "Level 1: immediate intervention", below "Let us look at each level:".
            if not self._begins(match) or hedged(self.text, start, end, doubts):
                continue
            values, after = self._stated(end, final=final)
            # "Rating (1-5): 4" is on another scale than 1 to 10.
            named = NAMED_SCALE.search(match[0])
            if values and named and float(named["highest"]) != self.highest:
                values = {None}
            # "Overall: no acute distress" is about something else.
            if cue is CONCLUDING and values == {None} and not self._ends_line(after):
                continue
            if not final and values:
                near = CLAUSE_START.split(self.text[max(0, start - 30) : start])[-1]
                if DOUBT.search(near + self.text[start:end]):
                    continue
                # The sentence may go on: "The acuity is 3 mmol/l", "I would say no one".
                if values == {None} and not RANGE.match(self.text, after):
                    continue
                if CONDITIONAL.search(self._rest(after)):
                    values = {None}
            if values:
                found |= values
                self.last = max(self.last, after)
        return found

    def _begins(self, cue: re.Match[str]) -> bool:
        """Return whether a noun is not part of a longer name: "pain level", "previous level"."""
        lead = cue.groupdict().get("lead")
        words = [] if lead is None else lead.casefold().split()
        if lead is None or ARTICLES & set(words) or words[:1] == ["for"]:
            return True
        before = re.search(r"([\w'-]+) $", self.text[max(0, cue.start() - 30) : cue.start()])
        if before is None or before[1].casefold() in BEFORE_NAME:
            return True
        # "PHQ-9 score", if the benchmark is about the PHQ-9.
        return before[1] in ACRONYM.findall(self.benchmark.title)

    def _rest(self, position: int) -> str:
        """Return the rest of the sentence."""
        return SENTENCE_END.split(self.text[position : position + 200], maxsplit=1)[0]

    def _line(self, start: int, end: int, *, leading: bool = False) -> Found:
        """Return the value that a line is, or with `leading` begins with."""
        bullet = BULLET.match(self.text, start, end)
        begin = bullet.end() if bullet else start
        values, after = self._stated(begin, final=False)
        if not values:
            return set()
        if ENDING.match(self.text, after, end) is None:
            if not leading:
                return set()
            rest = self._rest(after)
            # "3. Urgent" is a level if its label is Urgent, else "3." is the number of a list.
            own = any(self._meant(part) == values for part in (rest, self.text[after:end]))
            number = self.text[after - 1].isdigit()
            if number and re.match(r"[.)]", self.text[after : after + 1]) and not own:
                return set()
            if values == {None} and not RANGE.match(self.text, after):
                return set()  # "54-year-old", "no one"
            if not own and CONDITIONAL.search(rest):
                values = {None}
            # "Discharge: unsafe. Observe: yes."
            if self.text.startswith(":", after):
                values = values | self._labels(after, end)
        self.last = max(self.last, after)
        return values

    def _labels(self, start: int, end: int) -> Found:
        """Return the options in a part of a line that a colon follows."""
        labels = re.finditer(r"(?<![\w-])(\w[\w -]{0,60}):", self.text[start:end])
        return {option for label in labels for option in self._meant(label[1])}

    def _ends_line(self, position: int) -> bool:
        end = self.text.find("\n", position)
        return ENDING.match(self.text, position, end if end >= 0 else len(self.text)) is not None

    def _stated(self, position: int, *, final: bool) -> tuple[Found, int]:
        """Return the values at a position, and where the first of them ends."""
        opening = OPENING.match(self.text, position)
        first = self._one(opening.end() if opening else position, words=final)
        if first is None:
            return set(), position
        value, end = first
        found = {value}
        if self._taken_back(value, position, end):
            return {None}, end
        likely = PROBABILITY.match(self.text, end)
        further = FURTHER.match(self.text, likely.end() if likely else end)
        other = self._one(further.end(), words=False) if further else None
        # "3, 4" and "no (maybe)" are two values; "3, 2 resources" and "3. 2 resources" are not.
        if further and other and other[0] is not None:
            is_name = not self.text[other[1] - 1].isdigit()
            found |= {other[0]} if is_name or further["joins"] else set()
        return found, end

    def _taken_back(self, value: str | None, start: int, end: int) -> bool:
        """Return whether the words after a value deny it, or name another one."""
        # "Level 1 (Resuscitation): no"
        opening = LABEL_OPENING.match(self.text, end)
        label = self.names.match(self.text, opening.end()) if opening else None
        end = label.end() if label and value in self._meant(label[0]) else end
        negative = NEGATIVE.match(self.text[start:end].lstrip(" \"'([{<"))
        if CONDITIONED.match(self.text, end) or (not negative and DENIAL.match(self.text, end)):
            return True
        if self.text.startswith("?", end):
            return True
        other = ALTERNATIVE.match(self.text, end)
        return other is not None and self._one(other.end(), words=False) is not None

    def _one(self, position: int, *, words: bool) -> tuple[str | None, int] | None:
        """Return the value at a position and its end; None if there is neither name nor number."""
        if match := self.names.match(self.text, position):
            meant = self._meant(match[0])
            stands = AFTER_VALUE.match(self.text, match.end())
            value = min(meant) if stands and len(meant) == 1 else None
            return value, match.end()
        if not self.numeric:
            return None
        if match := NUMBER.match(self.text, position):
            return self._number(match[0], match.end())
        word = NUMBER_IN_WORDS.match(self.text, position) if words else None
        if word and AFTER_VALUE.match(self.text, word.end()):
            number = NUMBERS_IN_WORDS[re.sub(r"[\s-]", "-", word[0].casefold())]
            return self.benchmark.canonical(str(number)), word.end()
        return None

    def _number(self, number: str, end: int) -> tuple[str | None, int]:
        """Return a number if it stands alone and is possible; "3/5" only if 5 is the highest."""
        value = self.benchmark.canonical(number)
        before = self.text[max(0, end - len(number) - 2) : end - len(number)].rstrip()
        start = end - len(number)
        less = INEQUALITY.search(self.text, max(0, start - 12), start)
        quoted = LINE_START.search(self.text, max(0, start - 9), start)
        if less and not quoted and not TAG.search(self.text, max(0, start - 32), start):
            value = value if self.text.startswith(">", end) and less[0] == "<" else None
        if self.benchmark.limits[0] < 0 and before.endswith("-"):
            value = None  # "Score - 3" may be a minus.
        scale = SCALE.match(self.text, end)
        if scale:
            end = scale.end()
            value = value if float(scale["highest"] or 100) == self.highest else None
        # "3-Urgent"
        label = self.text.startswith("-", end) and self.names.match(self.text, end + 1)
        stands = AFTER_VALUE.match(self.text, end) or (label and value in self._meant(label[0]))
        return (value if stands else None), end

    def _meant(self, name: str) -> frozenset[str]:
        """Return the options of that name."""
        return self.meant.get(_folded(name), frozenset())


def _leaves(value: Any) -> Iterator[tuple[frozenset[str], Any]]:
    """Yield the words of the name of every JSON field that holds no object, and its value."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        name, held = waiting.pop()
        if isinstance(held, Mapping):
            waiting += held.items()
        elif isinstance(held, list):
            waiting += [(name, one) for one in held]
        else:
            parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name[:100])
            yield frozenset(re.findall(r"[a-z]+", parts.casefold())), held


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of every line."""
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1
