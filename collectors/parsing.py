"""From a model's reply to the option it chose, without ever guessing.

A reply is read by a few rules, the most explicit first. The first rule that finds anything
decides: one letter is the answer, more than one is none. So a weaker rule never overrules or
completes what a stronger one saw. A reply that no rule reads stays unparsed; it is kept beside the
null, so that another parser can read it again.

Lower-case letters are never answers. ``a`` is an article, and to accept only ``b`` to ``d`` would
lose the answers of one option more often than those of the others, which is a bias of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

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
    anywhere; an option named by its text. Each takes time proportional to the reply's length.

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
    text = _plain_text(raw or "")
    if not text or not options:
        return ParsedAnswer(None, "unparsed")
    reader = _Reader(text, options)
    if found := reader.final_statements() or reader.sentences():
        return _decide(found)
    # Only its first sentence: "C. I cannot give medical advice, but ..." did answer.
    if _REFUSAL.search(_SENTENCE_END.split(text, maxsplit=1)[0]):
        return ParsedAnswer(None, "refused")
    # A reply that was cut off where its answer should follow has none, whatever it began with.
    if _CUT_OFF.search(text, max(0, len(text) - 40)):
        return ParsedAnswer(None, "unparsed")
    if found := reader.lines():
        return _decide(found)
    if _REFUSAL.search(text):
        return ParsedAnswer(None, "refused")
    return _decide(reader.named())


def _decide(found: set[str]) -> ParsedAnswer:
    """One letter is an answer; several are a contradiction, or an echo of the options."""
    return ParsedAnswer(found.pop(), "ok") if len(found) == 1 else ParsedAnswer(None, "unparsed")


# Emphasis, headings and code marks carry no meaning here; typographic signs read like plain ones.
_SIGNS = str.maketrans(
    {"*": "", "`": "", "#": "", "$": "", "_": " ", "\r": "\n", "：": ":"}
    | {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-"}
)


def _plain_text(raw: str) -> str:
    """The reply without its thinking part, its markup and its runs of white space."""
    text = raw.rpartition("</think>")[2]
    text = text.partition("<think>")[0]  # cut off while thinking: not a reply yet
    text = re.sub(r"\\(?:text(?:bf|rm)?|mathrm|mathbf)\{", "{", text.translate(_SIGNS))
    # Short runs of white space keep every pattern below from searching far.
    text = re.sub(r"[^\S\n]+", " ", text)
    return re.sub(r" ?\n[ \n]*", "\n", text).strip()


_CUT_OFF = re.compile(r"(?i)\banswer ?(?:is|would be|:) ?:?$")
_SENTENCE_END = re.compile(r"(?<=[.!?]) |\n")

# "I cannot give aspirin" is medicine, "I cannot give advice" a refusal: giving needs its object.
_REFUSAL = re.compile(
    r"""(?xi) \b (?:I|we) (?:'m|\ am|\ are|\ must)?
    \ (?:cannot|can't|can\ not|won't|will\ not|decline|unable|not\ (?:able|allowed|qualified)) \b
    [^.!?\n]{0,40}? \b (?: help|assist|answer|comply|respond|diagnose|advise|choose|select|determine
      | (?:provid|giv|offer) [^.!?\n]{0,40}? (?:advice|answer|diagnos|opinion|recommend|information)
    )"""
)

# What turns "the answer is C" into something else when it stands before it in the same clause.
_HEDGE = re.compile(
    r"""(?xi) \b(?:not|never|cannot|neither|nor|no|if|whether|unless|except|than|avoid|wrong
    |incorrect|contraindicated|inappropriate|unlikely|least|rule[sd]?\ out|why)\b | n't\b"""
)
_CLAUSE_START = re.compile(r"(?i)[.,;:!?\n]|\b(?:so|therefore|thus|hence|but|then)\b")

_NOUN = r"answer|option|choice|letter|diagnosis|treatment|therapy|step|management|cause|test|drug"
# The colon makes it the final statement that the prompts ask for; JSON has it too.
_FINAL = re.compile(
    r"""(?xi) \b(?:answer|ans|option|choice|letter) ["')]{0,2} \ ?(?:[:=]|[-=]>|-(?=\ ))\s?
    | \bfinal\ answer\ is\b[ :]{0,2}
    | ^answer\ (?=\W{0,2}[A-Z]\W{0,3}$)
    | \\boxed(?=\{)""",
    re.MULTILINE,
)
# From the noun to the first "is": the letter must follow at once. The gap neither crosses a
# sentence's end nor another noun, so that a long reply is searched once and not once a noun.
_SENTENCE = re.compile(
    rf"""(?xi) \b(?:{_NOUN})\b (?: (?!\b(?:is|be|{_NOUN})\b) (?:[^.!?;:\n]|\.(?=\d)) ){{0,100}}?
      \b(?:is|(?:would|should|must|will)\ be)\b[ :]{{0,2}}\n?
      (?:(?:most\ )?(?:likely|probably|clearly|definitely|indeed)\ )?
    | \bI(?:'d|'ll|\ would|\ will)?\ (?:choose|pick|select|go\ with|opt\ for)\ """
)
_RIGHT = (
    rf"(?:the |my )?(?:(?:single |one )?(?:correct|right|best|most likely|most appropriate)"
    rf"(?: next| first| initial)? (?:{_NOUN})|answer|correct|right"
    rf"|(?:best|most likely|most appropriate)(?=[.,;!\n]|$))"
)


class _Patterns(NamedTuple):
    label: re.Pattern[str]
    line: re.Pattern[str]
    further: re.Pattern[str]
    aside: re.Pattern[str]
    is_right: re.Pattern[str]


@lru_cache(maxsize=32)
def _patterns(letters: tuple[str, ...]) -> _Patterns:
    """The patterns that hold the option letters; letters keep their case, words do not."""
    letter = rf"(?P<letter>{'|'.join(map(re.escape, letters))})(?!\w)"
    word = r"(?i:(?:the )?(?:option|choice|letter|answer) )?"
    return _Patterns(
        label=re.compile(rf"{word}[\[({{<'\"]{{0,3}}{letter}"),
        line=re.compile(rf"^[->•+ ]{{0,5}}{word}[\[({{<'\"]{{0,3}}{letter}", re.MULTILINE),
        # "A or B", "A, B and C", "A/B": further letters of one statement.
        further=re.compile(rf"['\")]{{0,2}} ?(?:[,/&+;]|and|or) ?(?:and |or )?\(?{letter}"),
        aside=re.compile(rf" \((?i:option )?{letter}\)"),
        # A bare letter may end a name ("vitamin C is best"), so the statement opens a clause.
        is_right=re.compile(
            rf"(?:^|[.!?,;:] |(?i:\b(?:so|thus|hence|therefore|that|option|choice|letter) ))"
            rf"[('\"]{{0,2}}{letter}[)'\"]{{0,2}}(?: \([^)\n]{{0,100}}\))? (?i:is (?:{_RIGHT})\b)",
            re.MULTILINE,
        ),
    )


# What may follow a letter that is an answer and not the beginning of a phrase ("A 54-year-old",
# "B cells", "D-dimer", "C. difficile", "A. K. is a ..."). Dots: not before a small letter or
# another initial.
_AFTER_LETTER = re.compile(
    r"""[ ]?(?:$|\n) | [)\]}>",;:!<|] | '(?!\w) | \.(?!\w|[ ]?(?:[a-z]|[A-Z]\.)) | [ ]?-{1,2}[ ]
    | [ ]\( | [ ](?:because|since|as|which|due|but|for|[Ee]xplanation|[Rr]eason\w{0,3})\b """,
    re.VERBOSE,
)
_SEPARATOR = re.compile(r"[ .):\-'\"]{0,4}")


class _Reader:
    """Reads one reply by each rule; every rule gives the letters it found."""

    def __init__(self, text: str, options: Mapping[str, str]) -> None:
        self.text = text
        folded = {letter: " ".join(words.casefold().split()) for letter, words in options.items()}
        # Longest first: "aspirin and heparin" is not a mention of "aspirin".
        self.texts = dict(sorted(folded.items(), key=lambda pair: -len(pair[1])))
        self.patterns = _patterns(tuple(options))

    def final_statements(self) -> set[str]:
        return self._statements(_FINAL)

    def sentences(self) -> set[str]:
        found = self._statements(_SENTENCE)
        for match in self.patterns.is_right.finditer(self.text):
            if not self._hedged(match.start(), match.end()):
                found.add(match["letter"])
        return found

    def lines(self) -> set[str]:
        """Letters at the beginning of lines, and those of options echoed within a line."""
        found: set[str] = set()
        for match in self.patterns.line.finditer(self.text):
            found |= self._letters(match)
        if found:
            for letter, words in self.texts.items():
                echo = rf"\b{re.escape(letter)}[).:] ?(?i:{re.escape(words)})"
                if words and re.search(echo, self.text):
                    found.add(letter)
        return found

    def named(self) -> set[str]:
        """The option whose text the reply names, where it names one and ends on it.

        The text alone says little: it may be the vignette's, or an option ruled out. So it must
        stand in the last sentence, whole and without a negation, or be a sentence of its own.
        """
        found = self._named_in(self.text)
        # "Heparin (B)": a letter beside the text confirms or contradicts it.
        found |= {match["letter"] for match in self.patterns.aside.finditer(self.text)}
        sentences = [s for s in _SENTENCE_END.split(self.patterns.aside.sub("", self.text)) if s]
        for sentence in sentences if len(found) == 1 else ():
            words = self.texts[min(found)]
            bare = sentence.casefold().strip(" .,:;!\"'()")
            ends = sentence is sentences[-1] and (sentence[-1] in ".!" or bare.endswith(words))
            if bare == words or (ends and self._named_in(sentence) and not _HEDGE.search(sentence)):
                return found
        return set()

    def _statements(self, cue: re.Pattern[str]) -> set[str]:
        found: set[str] = set()
        for match in cue.finditer(self.text):
            if not self._hedged(match.start(), match.end()):
                found |= self._choice(match.end())
        return found

    def _hedged(self, start: int, end: int) -> bool:
        """Whether the clause before and up to `end` denies or doubts what follows."""
        before = self.text[max(0, start - 120) : start]
        clause = _CLAUSE_START.split(before)[-1]
        return _HEDGE.search(clause + self.text[start:end]) is not None

    def _choice(self, position: int) -> set[str]:
        """The options that a statement names right at `position`, by letter or by text."""
        label = self.patterns.label.match(self.text, position)
        if label and (letters := self._letters(label)):
            return letters
        rest = _SENTENCE_END.split(self.text[position : position + 500], maxsplit=1)[0]
        opening = re.sub(r"""^(?:the |an? )?["'({]{0,2}""", "", rest.casefold())
        if any(words and opening.startswith(words) for words in self.texts.values()):
            return self._named_in(rest)
        return set()

    def _letters(self, match: re.Match[str]) -> set[str]:
        """The letters that stand as answers at `match`; none where the letter opens a phrase."""
        letter, end = match["letter"], match.end()
        # "C. difficile" may be the text of option B.
        at_letter = self._option_at(match.start("letter"))
        if at_letter and len(self.texts[at_letter]) > 2:
            return {at_letter}
        found = {letter}
        while further := self.patterns.further.match(self.text, end):
            if not self._stands(further["letter"], further.end()):
                break
            found.add(further["letter"])
            end = further.end()
        if len(found) > 1:
            return found
        if not self._stands(letter, end):
            return set()
        # A letter before another option's text contradicts itself.
        separator = _SEPARATOR.match(self.text, end)
        beside = self._option_at(separator.end() if separator else end)
        if beside is None or self.texts[beside] == self.texts[letter]:
            return found
        return found | {beside}

    def _stands(self, letter: str, end: int) -> bool:
        """Whether the letter that ends at `end` is an answer, not the beginning of a phrase."""
        own = self.texts[letter]
        follows = self.text[end : end + len(own) + 5].lstrip(" .):-").casefold()
        return bool(_AFTER_LETTER.match(self.text, end) or (own and follows.startswith(own)))

    def _option_at(self, position: int) -> str | None:
        """The option whose text stands at `position`, the longest where several do."""
        for letter, words in self.texts.items():
            if words and self.text[position : position + len(words)].casefold() == words:
                return letter
        return None

    def _named_in(self, text: str) -> set[str]:
        """The options whose whole text stands in `text`."""
        text = " ".join(text.casefold().split())
        found = set()
        for letter, words in self.texts.items():
            # Not within a longer word or number: "5 mg" is not in "2.5 mg".
            whole = rf"(?<![\w-])(?<!\d\.){re.escape(words)}(?![\w-])(?!\.\d)"
            text, times = re.subn(whole, "\0", text) if words else (text, 0)
            if times:
                found.add(letter)
        return found
