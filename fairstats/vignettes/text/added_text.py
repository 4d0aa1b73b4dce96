"""What a variant says that the neutralized vignette does not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from fairstats.vignettes.text.words import STOP_WORDS, content_stems, stem, word_spans

#: So many words in a row that both texts have are taken over from the neutral text.
RUN = 3
#: A passage that is not taken over has to have so many new content words, and more of them than of
#: others, to be an addition; otherwise it words anew what the neutral text says.
NEW_WORDS = 3


@lru_cache(maxsize=20_000)
def added_words(neutral: str, variant: str) -> tuple[str, ...]:
    """The stems of a variant's content words that stand nowhere in the neutral text.

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
    Where a word stands does not matter, so that what was moved or put into other inflections adds
    nothing. What was put into other words does ("presents with" for "has"), in every group alike.

    Examples
    --------
    >>> added_words("A patient has a cough.", "A retired patient coughs, and fears asthma.")
    ('retir', 'fear', 'asthma')
    """
    known = frozenset(content_stems(neutral))
    return tuple(found for found in content_stems(variant) if found not in known)


@lru_cache(maxsize=20_000)
def added_text(neutral: str, variant: str) -> tuple[str, ...]:
    """The passages that a variant adds: whole sentences, clauses put into others, or phrases.

    Parameters
    ----------
    neutral, variant : str
        The neutralized vignette, and the vignette as written for a group.

    Returns
    -------
    tuple of str
        The passages as the variant has them, in its order.

    Notes
    -----
    A variant's word is taken over where it belongs to a run of at least `RUN` words in a row, of
    one sentence or across two, that the neutral text has too, wherever it has it: a sentence that
    was moved, or parted by an inserted clause, is still taken over. What is left between such
    runs, parted at the ends of sentences, is an addition where it brings in at least `NEW_WORDS`
    content words that stand nowhere in the neutral text and more of them than of words that do;
    less is taken for the same thing worded anew. So a group that is named by one word ("a white
    patient") is no added passage (`added_words` has it), and an addition that says again what the
    case says can be missed.

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
    """Which words of the variant stand in a run that the neutral text has too."""
    runs = {tuple(neutral[i : i + RUN]) for i in range(len(neutral) - RUN + 1)}
    taken = np.zeros(len(variant), dtype=np.bool_)
    for i in range(len(variant) - RUN + 1):
        if tuple(variant[i : i + RUN]) in runs:
            taken[i : i + RUN] = True
    return taken


def _ends_of_sentences(text: str, spans: Sequence[tuple[str, int, int]]) -> set[int]:
    """The numbers of the words that begin a sentence."""
    return {
        number
        for number in range(1, len(spans))
        for between in [text[spans[number - 1][2] : spans[number][1]]]
        if "\n" in between
        or (any(mark in between for mark in ".?!") and text[spans[number][1]].isupper())
    }


def _gaps(taken: npt.NDArray[np.bool_], starts: set[int]) -> list[tuple[int, int]]:
    """The runs of words that are not taken over, within sentences: (first, one past the last)."""
    gaps: list[tuple[int, int]] = []
    for number, known in enumerate(taken.tolist()):
        if known:
            continue
        if gaps and gaps[-1][1] == number and number not in starts:
            gaps[-1] = gaps[-1][0], number + 1
        else:
            gaps.append((number, number + 1))
    return gaps
