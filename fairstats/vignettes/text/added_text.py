"""Text that is in a variant but not in the neutralized vignette."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from fairstats.vignettes.text.words import STOP_WORDS, content_stems, stem, word_spans

#: A run of this many common words counts as copied from the neutral text.
RUN = 3
#: A passage counts as an addition if it has at least this many new content words, and more new than
#: known ones. Otherwise it rewords the neutral text.
NEW_WORDS = 3


@lru_cache(maxsize=20_000)
def added_words(neutral: str, variant: str) -> tuple[str, ...]:
    """Return the stems of content words that are in the variant but not in the neutral text.

    Parameters
    ----------
    neutral, variant : str
        The neutralized vignette, and the vignette as written for a group.

    Returns
    -------
    tuple of str
        In the variant's order, with repeats.

    Notes
    -----
    Word order does not matter, so moved or inflected words do not count. Reworded text does
    ("presents with" for "has"), to the same extent in every group.

    Examples
    --------
    >>> added_words("A patient has a cough.", "A retired patient coughs, and fears asthma.")
    ('retir', 'fear', 'asthma')
    """
    known = frozenset(content_stems(neutral))
    return tuple(found for found in content_stems(variant) if found not in known)


@lru_cache(maxsize=20_000)
def added_text(neutral: str, variant: str) -> tuple[str, ...]:
    """Return the passages that a variant adds: sentences, inserted clauses, or phrases.

    Parameters
    ----------
    neutral, variant : str
        The neutralized vignette, and the vignette as written for a group.

    Returns
    -------
    tuple of str
        The passages as they appear in the variant, in order.

    Notes
    -----
    A variant's word counts as copied if it belongs to a run of at least `RUN` consecutive words,
    within or across sentences, that also occurs anywhere in the neutral text. So a sentence that
    was moved, or split by an inserted clause, is still copied. The rest, split at the ends of
    sentences, is an addition under two conditions. It has at least `NEW_WORDS` content words that
    are not in the neutral text, and more of them than of words that are. If not, it is treated as
    rewording. So a group named by one word ("a white patient") is not an added passage
    (`added_words` includes it). An addition that repeats the case can be missed.

    Examples
    --------
    >>> added_text("A patient has had a cough for a week. The lungs are clear.",
    ...            "A patient who writes letters about asthma to newspapers has had a cough for a "
    ...            "week. The lungs are clear.")
    ('A patient who writes letters about asthma to newspapers',)
    """
    spans = word_spans(variant)
    own = [word for word, _, _ in spans]
    taken = _taken_over([word for word, _, _ in word_spans(neutral)], own)
    known = frozenset(content_stems(neutral))
    passages = []
    for first, last in _gaps(taken, _ends_of_sentences(variant, spans)):
        stems = [stem(word) for word in own[first:last] if word not in STOP_WORDS]
        new = sum(found not in known for found in stems)
        if new >= NEW_WORDS and 2 * new > len(stems):
            passages.append(variant[spans[first][1] : spans[last - 1][2]])
    return tuple(passages)


def _taken_over(neutral: Sequence[str], variant: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return which words of the variant are in a run that the neutral text also has."""
    runs = set(zip(*(neutral[start:] for start in range(RUN)), strict=False))
    taken = np.zeros(len(variant), dtype=np.bool_)
    for i, run in enumerate(zip(*(variant[start:] for start in range(RUN)), strict=False)):
        if run in runs:
            taken[i : i + RUN] = True
    return taken


def _ends_of_sentences(text: str, spans: Sequence[tuple[str, int, int]]) -> set[int]:
    """Return the numbers of the words that begin a sentence."""
    starts = set()
    for number in range(1, len(spans)):
        start = spans[number][1]
        between = text[spans[number - 1][2] : start]
        if between == " ":  # as between most words
            continue
        if "\n" in between or (any(mark in between for mark in ".?!") and text[start].isupper()):
            starts.add(number)
    return starts


def _gaps(taken: npt.NDArray[np.bool_], starts: set[int]) -> list[tuple[int, int]]:
    """Return the runs of words that are not copied, within sentences: (first, last + 1)."""
    gaps: list[tuple[int, int]] = []
    for number, known in enumerate(taken.tolist()):
        if known:
            continue
        if gaps and gaps[-1][1] == number and number not in starts:
            gaps[-1] = gaps[-1][0], number + 1
        else:
            gaps.append((number, number + 1))
    return gaps
