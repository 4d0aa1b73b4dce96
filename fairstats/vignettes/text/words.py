"""The words of a vignette: content words and their stems."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

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

    Parameters
    ----------
    text : str

    Returns
    -------
    tuple of (str, int, int)
        The normalised word (NFKC, case-folded, straight apostrophes), and its start and end in the
        text.

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
