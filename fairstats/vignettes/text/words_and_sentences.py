"""The words, content stems and sentences of a vignette, by rules, without a model."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache


def word_list(text: str) -> tuple[str, ...]:
    """Return the words of a text, split at white space: a list with many words per line of code."""
    return tuple(text.split())


# Words without content: those of the Snowball project for English
# (snowballstem.org/algorithms/english/stop.txt, BSD), and two with which options refer to each
# other. They carry no information on a patient. A longer list, such as scikit-learn's, drops words
# that do ("system", "serious", "cry").
_STOP_WORDS = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her
hers herself it its itself they them their theirs themselves what which who whom this that these
those am is are was were be been being have has had having do does did doing would should could
ought i'm you're he's she's it's we're they're i've you've we've they've i'd you'd he'd she'd we'd
they'd i'll you'll he'll she'll we'll they'll isn't aren't wasn't weren't hasn't haven't hadn't
doesn't don't didn't won't wouldn't shan't shouldn't can't cannot couldn't mustn't let's that's
who's what's here's there's when's where's why's how's a an the and but if or because as until while
of at by for with about against between into through during before after above below to from up down
in out on off over under again further then once here there when where why how all any both each few
more most other some such no nor not only own same so than too very
none neither
"""
#: The words without content.
STOP_WORDS = frozenset(_STOP_WORDS.split())


@lru_cache(maxsize=20_000)
def word_spans(text: str) -> tuple[tuple[str, int, int], ...]:
    """Return the words of a text in the form used for comparison, with their positions.

    Words are normalised: NFKC, case-folded, straight apostrophes.

    Notes
    -----
    A word is a run of letters and digits with their combining marks. Apostrophes within it and the
    points or commas of a number belong to it; hyphens separate words. In a script without spaces
    between words, such as Chinese, each run is one word.

    Examples
    --------
    >>> word_spans("DNA-targeting, 37.5 °C")
    (('dna', 0, 3), ('targeting', 4, 13), ('37.5', 15, 19), ('c', 21, 22))
    """
    return tuple((_one_spelling(m[0]), m.start(), m.end()) for m in _word().finditer(text))


@lru_cache(maxsize=20_000)
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in order; see `word_spans`.

    Examples
    --------
    >>> words("The patient’s 2-day history")
    ('the', "patient's", '2', 'day', 'history')
    """
    return tuple(word for word, _, _ in word_spans(text))


@lru_cache(maxsize=20_000)
def content_stems(text: str) -> tuple[str, ...]:
    """Return the stems of content words, in order and with repeats.

    These are Snowball's English stems of all words but `STOP_WORDS`.

    References
    ----------
    Porter (2001), Snowball: a language for stemming algorithms; its "English" (Porter2) stemmer as
    in `nltk.stem.SnowballStemmer`.

    Examples
    --------
    >>> content_stems("Generation of free radicals")
    ('generat', 'free', 'radic')
    """
    return tuple(stem(word) for word in words(text) if word not in STOP_WORDS)


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return Snowball's English stem of a word from `words`."""
    return _stemmer()(word)


@cache
def _stemmer() -> Callable[[str], str]:
    from nltk.stem import SnowballStemmer

    stemmer: Callable[[str], str] = SnowballStemmer("english").stem
    return stemmer


@lru_cache(maxsize=200_000)
def _one_spelling(word: str) -> str:
    # Normalise twice: characters composed by NFKC may have case, and case folding may decompose
    # them.
    folded = unicodedata.normalize("NFKC", word.replace("’", "'")).casefold()
    return unicodedata.normalize("NFKC", folded)


@cache
def _word() -> re.Pattern[str]:
    r"""Return the pattern of a word. In Python ``\w`` leaves out many scripts' vowel marks."""
    found = (chr(n) for n in range(0x300, sys.maxunicode + 1))
    marks = "".join(c for c in found if unicodedata.category(c) in {"Mn", "Mc"})
    # Comparing with thousands of marks takes long, so first look whether it can be one.
    mark = rf"(?![\x00-\x7f])[{marks}]+"
    return re.compile(rf"\d+(?:[.,]\d+)+|[^\W_]+(?:(?:{mark}|['’])[^\W_]+)*(?:{mark})?")


# A sentence ends at a stop, with any closing quotation marks or brackets, if white space follows.
# In scripts without spaces between sentences, it ends at the stop itself.
_STOP = re.compile(r"""[.!?…؟।]+["'”’»)\]]*(?=\s)|[。！？]+["'”’」』）]*""")
# Never the end of a sentence, whatever follows. Titles have a capital: "130 ms." is not a title.
_TITLES = frozenset(word_list("Dr Mr Mrs Ms Prof St Sr Jr Rev Capt Sgt Lt Col Gen"))
_ABBREVIATIONS = frozenset(word_list("e.g i.e vs cf approx resp ca incl viz"))
# Abbreviations only before a number: "no. 5", "fig. 2". In other cases a sentence may end with the
# word.
_NUMBERED = frozenset(word_list("no nos fig figs vol pp sec ch"))
_INITIAL = re.compile(r"[^\W\d_]|(?:[^\W\d_]\.)+[^\W\d_]")
# Words that are more likely to begin a sentence of a vignette than to be a name.
_STARTERS = frozenset(
    word_list(
        "a an the this these that those there it its he she they his her their we our you your "
        "i which what who whose when where why how if in on at after before during for from "
        "upon over with without while although despite since as because to of and but both no "
        "not one two examination physical laboratory serum vital temperature blood pulse "
        "patient family past medical social today given based further additional imaging "
        "treatment"
    )
)
# A line break is inside a sentence only if the next line continues with a lower-case word.
_LINE = re.compile(r"\s*\n(?!\s*[^\W\d_A-Z][a-z\s])")


@lru_cache(maxsize=20_000)
def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a vignette, in order.

    Each is without surrounding white space. Joined, they contain the whole text except white space.

    Notes
    -----
    A full stop, exclamation mark or question mark ends a sentence under two conditions: white space
    and anything but a lower-case letter follow, and it is not part of an abbreviation, title or
    initial. A line break also ends one, unless the next line continues with a lower-case word. A
    colon does not.

    Examples
    --------
    >>> sentences('Dr. Smith notes 37.5 °C, e.g. no fever. "Why?" asks the patient. What is next?')
    ('Dr. Smith notes 37.5 °C, e.g. no fever.', '"Why?" asks the patient.', 'What is next?')
    """
    found: list[str] = []
    for line in _LINE.split(text):
        start = 0
        for stop in _STOP.finditer(line):
            if _ends(line, start, stop):
                found.append(line[start : stop.end()].strip())
                start = stop.end()
        found.append(line[start:].strip())
    return tuple(sentence for sentence in found if sentence)


def final_sentence(text: str) -> str:
    """Return the last sentence of a vignette, which asks the question; empty without sentences.

    Examples
    --------
    >>> final_sentence("A patient has a fever. Which drug is next?")
    'Which drug is next?'
    """
    found = sentences(text)
    return found[-1] if found else ""


def _ends(line: str, start: int, stop: re.Match[str]) -> bool:
    """Return whether this stop ends the sentence that began at `start`."""
    behind = line[stop.end() :].lstrip().lstrip("\"'“‘«([")
    if not behind or stop.group()[0] in "。！？":
        return True
    if behind[0].islower():
        # "pH is 7.3" and "pCO2 is" also begin sentences.
        return re.match(r"p[A-Z]", behind) is not None and stop.group() == "."
    if stop.group() != ".":
        return True
    before = line[start : stop.start()].split()
    word = before[-1].lstrip("\"'“‘«([") if before else ""
    follows = re.match(r"[^\W\d_]+", behind)
    following = follows.group().casefold() if follows else ""
    if word in _TITLES or word.casefold() in _ABBREVIATIONS:
        return False
    if word.casefold() in _NUMBERED and behind[0].isdigit():
        return False
    if word.casefold() in {"a.m", "p.m"} or not _INITIAL.fullmatch(word):
        return True
    # "John A. Smith" and "the U.S. Army", but "vitamin C. The patient".
    if following in _STARTERS:
        return True
    named = len(before) > 1 and before[-2][:1].isupper()
    return not (named or "." in word)
