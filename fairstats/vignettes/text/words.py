"""The words of a vignette: which carry content, and their stems."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

# Words without content: those of the Snowball project for English
# (snowballstem.org/algorithms/english/stop.txt, BSD), and two that options use of one another.
# Neither says anything of a patient, and a longer list, such as scikit-learn's, drops words that do
# ("system", "serious", "cry").
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
#: The words that carry no content.
STOP_WORDS = frozenset(_STOP_WORDS.split())


@lru_cache(maxsize=20_000)
def word_spans(text: str) -> tuple[tuple[str, int, int], ...]:
    """The words of a text as they are compared, each with its place.

    Parameters
    ----------
    text : str

    Returns
    -------
    tuple of (str, int, int)
        The word in one spelling (NFKC, without case, straight apostrophes) and where it starts and
        ends in the text.

    Notes
    -----
    A word is a run of letters and digits with the marks written over or under them; apostrophes
    within it and the points or commas of a number belong to it, hyphens part words. A script
    without spaces between words, such as Chinese, gives one word a run.

    Examples
    --------
    >>> word_spans("DNA-targeting, 37.5 °C")
    (('dna', 0, 3), ('targeting', 4, 13), ('37.5', 15, 19), ('c', 21, 22))
    """
    return tuple((_one_spelling(m[0]), m.start(), m.end()) for m in _word().finditer(text))


@lru_cache(maxsize=20_000)
def words(text: str) -> tuple[str, ...]:
    """The words of a text in order; see `word_spans`.

    Examples
    --------
    >>> words("The patient’s 2-day history")
    ('the', "patient's", '2', 'day', 'history')
    """
    return tuple(word for word, _, _ in word_spans(text))


@lru_cache(maxsize=20_000)
def content_stems(text: str) -> tuple[str, ...]:
    """The stems of the words that carry content, in order and with repeats.

    Parameters
    ----------
    text : str

    Returns
    -------
    tuple of str
        Snowball's English stems of all words but `STOP_WORDS`.

    References
    ----------
    Porter (2001), Snowball: a language for stemming algorithms; its "English" (Porter2) stemmer as
    `nltk.stem.SnowballStemmer` has it.

    Examples
    --------
    >>> content_stems("Generation of free radicals")
    ('generat', 'free', 'radic')
    """
    return tuple(stem(word) for word in words(text) if word not in STOP_WORDS)


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Snowball's English stem of a word as `words` gives it."""
    return _stemmer()(word)


@cache
def _stemmer() -> Callable[[str], str]:
    from nltk.stem import SnowballStemmer

    stemmer: Callable[[str], str] = SnowballStemmer("english").stem
    return stemmer


@lru_cache(maxsize=200_000)
def _one_spelling(word: str) -> str:
    # Twice, since what NFKC puts together may have a case, and folding a case may come apart.
    folded = unicodedata.normalize("NFKC", word.replace("’", "'")).casefold()
    return unicodedata.normalize("NFKC", folded)


@cache
def _word() -> re.Pattern[str]:
    """A word. Python's ``\\w`` leaves out the marks that many scripts write vowels with."""
    found = (chr(n) for n in range(0x300, sys.maxunicode + 1))
    marks = "".join(c for c in found if unicodedata.category(c) in {"Mn", "Mc"})
    return re.compile(rf"\d+(?:[.,]\d+)+|[^\W_]+(?:(?:[{marks}]+|['’])[^\W_]+)*[{marks}]*")
