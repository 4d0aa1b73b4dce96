"""What a reply can state as its answer: letters and texts of options, or names and numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from fairstats.asking.own_turn import plain_text
from fairstats.asking.reply_patterns import LETTERED
from fairstats.benchmarks.declaration import Benchmark

#: Values that were found. None is one that is not possible, one of a range, or one taken back.
Found: TypeAlias = set[str | None]


class Stated(NamedTuple):
    """The values stated at a place of a reply; the first and its text end at `end`.

    After a letter, the rest may be like the option's `text`, or be it if that is None: not known.
    """

    values: frozenset[str | None]
    end: int
    text: str | None = ""


_QUOTES = re.compile(r"""[\s"'(\[<]{0,3}""")
_ARTICLE = re.compile(r"(?:[Tt]he|[Aa]n|a) ")
#: Signs and words before a letter, and before another kind of value.
_BEFORE_LETTER = re.compile(
    rf"(?i){_QUOTES.pattern}(?:(?:the )?(?:option|choice|letter|answer) )?{_QUOTES.pattern}"
)
_BEFORE_VALUE = re.compile(
    rf"(?i){_QUOTES.pattern}(?:(?:the|an?|at|most likely|option|choice) ){{0,2}}"
    r"(?:(?:esi|triage|acuity|urgency|level|score|rating|category|priority)(?: of |[ :#-]{1,2}))"
    rf"{{0,3}}{_QUOTES.pattern}"
)
# What may follow a value: the end of a phrase, or a reason. Not "A 54-year-old", "B cells",
# "C. difficile", "3 mg", "no fever".
_AFTER = re.compile(
    r"""[ ]?(?:$|\n) | [)\]}>";!?<|] | [,:](?![0-9]) | '(?!\w)
    | \.(?!\w|[ ]?(?:[a-z]|[A-Z]\.)) | [ ]-{1,2}[ ](?![0-9]) | [ ][(|]
    | です|だ|である|입니다|이다|项|項 | [ ](?:है|dir) | [ ](?:points?|stars?)(?![\w-])
    | [ ](?:because|since|as|which|due|given|based|but|rather|instead|and[ ]not|not
      |on[ ]a[ ]scale|[Ee]xplanation|[Rr]eason\w{0,3})\b""",
    re.VERBOSE,
)
#: What may follow a lower-case letter, which may be a word.
_AFTER_SMALL = re.compile(
    r"""[)\]}"'>]|[ .!]{0,3}(?:\n|<|$)|[ ,/&+;]{1,3}(?:and |or )?\W?[a-z]\b"""
)
_SEPARATOR = re.compile(r"""[ .):\-'"]{0,4}""")
#: The same, if the text is in brackets or after a comma.
_BEFORE_OWN = re.compile(r"""[)"'.:]? ?(?:\(|[,;|] )["']?""")
#: What joins letters: "A or B", "A, B and C", "A/B".
_JOINED = re.compile(
    r"(?i)['\")]{0,2} ?(?:[,/&+;]|and|or|oder|und|ou|et|o|u|y|e|of|en|или|и|或|和|と|또는)"
    r" ?(?:and |or )?[(\"']?"
)
#: A letter before a text: "A. Aspirin or B. Heparin", which may have a point in each text.
_LABELLED = re.compile(r"(?: |(?:[,;]|\bor|\band) \()([A-Z])[).:] ?\w")
#: The end of a sentence after a letter, and what calls it better.
_ENDING = re.compile(
    r"""[)\]"'.!]{0,3}$|\)? (?:fits|is|seems|would be)\b[^,;]{0,20} (?:better|best|preferred)\b"""
)
#: What may come before a letter that is no option: "type A", "hepatitis B", "T-C".
_PART_OF_NAME = re.compile(rf"(?i)(?:[\w'-]|\b(?:{LETTERED}) )$")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)")
_RANGE = re.compile(r" ?[-/] ?[0-9]| (?:-|to|or|and|versus|vs\.?) ")
_INEQUALITY = re.compile(r"(?:[<>≤≥~]=? ?|\b(?:less|more|greater|fewer) than )$")
#: The scale of a number: "/5", "out of 5", "(of 5)", "(scale 1-5)", "on a scale from 1 to 5".
_SCALE = re.compile(
    r"(?i)(?: (?:points?|stars?))?,? ?\(?(?:/ ?|out of (?:a possible )?|of "
    r"|max(?:imum)? |(?:on an? )?scale (?:of |from )?(?:[0-9]{1,6} ?(?:-|to) ?)?"
    r"|on an? [0-9]{1,6} ?(?:-|to) ?"
    r"|(?:on an? )?(?=[0-9]+-point))(?P<highest>[0-9]{1,6})(?:-point scale)?\)?(?![\w/]|\.[0-9])"
)
#: The highest value of a scale before a value: "Rating (1-5): 4", "Out of 5, it is 4".
_NAMED_SCALE = re.compile(
    r"(?i)(?:\((?:[^()]* )?(?:[0-9]+ ?(?:-|to) ?|/ ?|out of |of )|(?:^|[.!?] |\n)out of "
    r"|scale (?:of|from) [0-9]{1,6} ?(?:-|to) ?)(?P<highest>[0-9]{1,6})\b"
)
#: What may be between a number and its label: "3 (Urgent)", "3. Urgent", "3-Urgent".
_BEFORE_LABEL = re.compile(r"[).:]? ?[(:-] ?|[).] ")
#: The name of a scale in a benchmark's title: "PHQ-9".
_ACRONYM = re.compile(r"(?<![\w-])[A-Z][A-Z0-9-]+(?![\w-])")


class Letters:
    """Options by letter, with their texts if they are known."""

    kind = "choice"
    scales: tuple[str, ...] = ()

    def __init__(self, options: Mapping[str, str]) -> None:
        # Longest first: "aspirin and heparin" is not a mention of "aspirin".
        folded = {letter: _folded(words) for letter, words in options.items()}
        self.texts = dict(sorted(folded.items(), key=lambda pair: -len(pair[1])))
        self.names = tuple(words for words in self.texts.values() if words)
        self._letter, self._small, self.right = _letter_patterns(tuple(options))

    def at(self, text: str, position: int, *, final: bool = False) -> Stated | None:
        """Return the options stated at a position; None if another phrase begins there.

        A lower-case letter is read only if it is `final`: after a label, or as a line.
        """
        begin = skip(_QUOTES, text, position)
        named = self._option_at(text, begin)
        if not named:
            begin = skip(_ARTICLE, text, begin)
            named = self._option_at(text, begin)
        # "C. difficile" may be the text of option B. "B" may be too, but is rather a letter.
        if named and self.texts[named].upper() not in self.texts:
            return _ended({named}, text, begin + len(self.texts[named]))
        begin = skip(_BEFORE_LETTER, text, position)
        match = self._letter.match(text, begin) or (final and self._small.match(text, begin))
        if not match:
            return None
        letter, end = match[1].upper(), match.end()
        for signs in (_SEPARATOR, _BEFORE_OWN):
            after = skip(signs, text, end)
            if follows := self._option_at(text, after):
                break
        if follows and self.texts[follows] == self.texts[letter]:
            own = _AFTER.match(text, end) or _AFTER.match(text, after + len(self.texts[letter]))
            return Stated(frozenset({letter}), after + len(self.texts[letter])) if own else None
        if match[1] != letter and not _AFTER_SMALL.match(text, end):
            return None
        found: Found = {letter}
        while joined := _JOINED.match(text, end):
            other = self._letter.match(text, joined.end()) or self._small.match(text, joined.end())
            # In "A, B cells", B is no answer.
            if other is None or not _AFTER.match(text, other.end()):
                break
            found.add(other[1].upper())
            end = other.end()
        if len(found) == 1 and not _AFTER.match(text, end):
            return None
        # A letter before another option's text contradicts itself.
        found |= {follows} if follows else set()
        return Stated(frozenset(found), end, self.texts[letter] or None)

    def others(self, line: str, sentence: str = "") -> Found:
        """Return the letters that label a text in a line, or are alone in a sentence."""
        # "A patient like this" has an article.
        alone = (
            match[1]
            for match in self._letter.finditer(sentence)
            if not re.match(r"[\w'-]", sentence[match.start() - 1 : match.start()])
            and not re.match(r" [a-z]", sentence[match.end() : match.end() + 2])
        )
        return {*alone, *_LABELLED.findall(line)} & self.texts.keys()

    def ending(self, sentence: str) -> Found:
        """Return the letter that a sentence ends with, or calls better."""
        found = self._letter.finditer(sentence)
        return {
            match[1]
            for match in found
            if not _PART_OF_NAME.search(sentence, max(0, match.start() - 20), match.start())
            and _ENDING.match(sentence, match.end())
        }

    def _option_at(self, text: str, position: int) -> str | None:
        """Return the option with its text at a position, the longest if there are several."""
        return next(
            (letter for letter, words in self.texts.items() if _is_at(words, text, position)), None
        )


class Values:
    """Decisions, levels or scores of a benchmark: their names, labels and numbers."""

    right = re.compile("(?!)()")

    def __init__(self, benchmark: Benchmark) -> None:
        self.kind = benchmark.kind.name
        self.benchmark = benchmark
        self.scales = tuple(_ACRONYM.findall(benchmark.title))
        self.meant = _names_of(benchmark.options, tuple(benchmark.labels.items()))
        self.names = tuple(self.meant)
        self._name = _name_pattern(self.names)
        self._numeric = self.kind == "score" or any(map(_NUMBER.fullmatch, benchmark.options))

    def at(self, text: str, position: int, *, final: bool = False) -> Stated | None:
        """Return the value stated at a position; None if another phrase begins there."""
        begin = skip(_BEFORE_VALUE, text, position)
        if match := self._name.match(text, begin):
            meant = self._meant(match)
            return _ended(meant if len(meant) == 1 else {None}, text, match.end())
        number = _NUMBER.match(text, begin) if self._numeric else None
        if number is None:
            return None
        value, end = self.benchmark.canonical(number[0]), number.end()
        named = _NAMED_SCALE.search(text, max(0, position - 60), position)
        highest = [named["highest"]] if named else []
        if scale := _SCALE.match(text, end):
            highest.append(scale["highest"])
            end = scale.end()
        # "7/5", or "Rating (1-5): 4" if the highest value is 10.
        if any(float(top) != self.benchmark.limits[1] for top in highest):
            value = None
        if _INEQUALITY.search(text, position, begin):
            value = None
        # "Score - 3" may be a minus.
        if self.benchmark.limits[0] < 0 and text[max(0, begin - 2) : begin].rstrip().endswith("-"):
            value = None
        before = _BEFORE_LABEL.match(text, end)
        if before and (label := self._name.match(text, before.end())):
            return Stated(frozenset({value} & self._meant(label) or {None}), label.end())
        if _RANGE.match(text, end):
            return Stated(frozenset({None}), end)
        return _ended({value}, text, end)

    def others(self, line: str, sentence: str = "") -> Found:
        """Return nothing: a name or number may be part of a reason."""
        return set()

    def ending(self, sentence: str) -> Found:
        """Return the decision that a sentence ends with: "Just kidding, yes."."""
        if ":" in sentence:
            return set()
        ends = (match for match in self._name.finditer(sentence) if match.end() == len(sentence))
        return {one for match in ends for one in self._meant(match)}

    def _meant(self, name: re.Match[str]) -> frozenset[str | None]:
        return self.meant.get(_folded(name[0]), frozenset())


def skip(signs: re.Pattern[str], text: str, position: int) -> int:
    """Return the end of signs at a position, of which there may be none."""
    match = signs.match(text, position)
    return match.end() if match else position


def _ended(values: Found | frozenset[str | None], text: str, end: int) -> Stated | None:
    """Return the values if they end the phrase."""
    return Stated(frozenset(values), end) if _AFTER.match(text, end) else None


@lru_cache(maxsize=1024)
def _folded(words: str) -> str:
    """Return a text in the form of a reply: in lower case, with the same quotes and spaces."""
    return " ".join(plain_text(words).casefold().split()).strip(" .,:;!\"'")


def _is_at(words: str, text: str, position: int) -> bool:
    """Return whether a whole text is at a position."""
    end = position + len(words)
    follows = text[end : end + 1]
    return bool(words) and text[position:end].casefold() == words and not follows.isalnum()


@lru_cache(maxsize=32)
def _letter_patterns(letters: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a letter, of a lower-case one, and of "C is the best answer"."""
    any_of = "|".join(map(re.escape, letters))
    small = "|".join(re.escape(name.lower()) for name in letters if name.lower() != name)
    # In Japanese, Korean and Chinese a particle follows without a space; "C型" is not a letter.
    ends = r"(?:(?!\w)|(?=です|だ|である|입니다|이다|项|項))"
    right = (
        r"(?:^|(?<=[.!?,;:] )|(?i:\b(?:so|thus|hence|therefore|that|only|option|choice|answer) ))"
        rf"[('\"]{{0,2}}({any_of})[)'\"]{{0,2}}(?: \([^)\n]{{0,100}}\))?"
        r" (?i:is (?:clearly |probably |also )?(?:the |my )?(?:(?:correct|right|best|most (?:likely"
        r"|appropriate))(?: next| first)?(?: answer| option| choice| diagnosis| treatment| step)?"
        r"|answer))(?=[.,;!\n]|$)"
    )
    return (
        re.compile(rf"({any_of}){ends}"),
        re.compile(rf"({small or '(?!)'})(?!\w)"),
        re.compile(right, re.MULTILINE),
    )


@lru_cache(maxsize=32)
def _names_of(
    options: tuple[str, ...], labels: tuple[tuple[str, str], ...]
) -> Mapping[str, frozenset[str]]:
    """Return what each name means, the longest first; numbers are no names."""
    meant: dict[str, set[str]] = {}
    for option, words in (*((option, option) for option in options), *labels):
        name = _folded(words)
        if name and not _NUMBER.fullmatch(name):
            meant.setdefault(name, set()).add(option)
    return {name: frozenset(meant[name]) for name in sorted(meant, key=len, reverse=True)}


@lru_cache(maxsize=32)
def _name_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    any_of = "|".join(re.escape(name).replace(r"\ ", r"\s") for name in names)
    return re.compile(rf"(?i)(?:{any_of or '(?!)'})(?![\w-]|'\w)")
