"""Find the snippets for a query: by its words, by its meaning, or by both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats_collectors.corpora import Corpus

#: The depth to which each retriever's list is read. Requests never exceed it, so the first ten of a
#: list are the same for ten or twenty requested snippets.
DEPTH = 100
#: The constant of reciprocal rank fusion (Cormack et al. 2009).
RRF_K = 60

#: Snippets by their position in the corpus with their scores, the best first.
Ranking = list[tuple[int, float]]
Embed = Callable[[Sequence[str]], NDArray[np.float32]]

_K1, _B = 1.5, 0.75
#: The weights of words in `search_bm25`, as in the retrievals table.
BM25_SETTINGS = f"BM25 (Lucene's, k1 = {_K1}, b = {_B}, no stop words, unstemmed)"

# Smaller differences count as ties, because sums are rounded differently on other machines.
_BM25_DIGITS, _COSINE_DIGITS = 9, 6


def search_bm25(corpus: Corpus, queries: Sequence[str]) -> list[Ranking]:
    """Rank snippets by the words that they share with each query, weighted by their rarity.

    Parameters
    ----------
    corpus : Corpus
        The corpus to search.
    queries : sequence of str
        The texts to search for.

    Returns
    -------
    list of Ranking
        One per query, of up to `DEPTH` snippets that share a word with it; empty if no snippet
        does.

    Notes
    -----
    BM25 as in Lucene, k1 = 1.5 and b = 0.75. It uses lower-case words of two letters or more,
    without the 33 English stop words of Lucene. Words are not stemmed (bm25s, Lù 2024). A word that
    is in the query twice counts twice.
    """
    import bm25s

    def words(texts: Iterable[str]) -> list[list[str]]:
        split: Any = bm25s.tokenize(list(texts), return_ids=False, show_progress=False)
        return split

    snippets = words(snippet.searched for snippet in corpus.snippets)
    if not any(snippets):
        return [[] for _ in queries]
    index = bm25s.BM25(method="lucene", k1=_K1, b=_B, dtype="float64")
    index.index(snippets, show_progress=False)
    rankings = []
    for query in words(queries):
        # Positions, not words: the library takes no empty list of words.
        scores = index.get_scores_from_ids(index.get_tokens_ids(query))
        rankings.append(rank(scores.round(_BM25_DIGITS), above=0.0))
    return rankings


def search_dense(corpus: Corpus, queries: Sequence[str], embed: Embed) -> list[Ranking]:
    """Rank snippets by the cosine of their vector and each query's.

    Parameters
    ----------
    corpus : Corpus
        The corpus to search.
    queries : sequence of str
        The texts to search for.
    embed : callable
        Turns texts into vectors of length 1.

    Returns
    -------
    list of Ranking
        One per query, of `DEPTH` snippets, or of all if there are fewer.
    """
    snippets = embed([snippet.searched for snippet in corpus.snippets])
    return [
        rank((snippets @ vector).astype("float64").round(_COSINE_DIGITS))
        for vector in embed(queries)
    ]


def fuse(rankings: Sequence[Ranking], *, k: int = RRF_K) -> Ranking:
    """Fuse rankings by the sum of 1 / (k + rank) (reciprocal rank fusion, Cormack et al. 2009).

    Parameters
    ----------
    rankings : sequence of Ranking
        Rankings of the same query, by several retrievers.
    k : int
        The larger it is, the smaller the weight of the first ranks.

    Returns
    -------
    Ranking
        Every snippet in any of them; if scores are equal, the first in the corpus leads.

    Examples
    --------
    >>> fuse([[(7, 3.2), (5, 1.1)], [(5, 0.9)]], k=60)[0] == (5, 1 / 62 + 1 / 61)
    True
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, (position, _) in enumerate(ranking, start=1):
            scores[position] = scores.get(position, 0.0) + 1 / (k + place)
    return sorted(scores.items(), key=lambda found: (-found[1], found[0]))


def rank(scores: NDArray[np.float64], *, above: float = -np.inf) -> Ranking:
    """Return the `DEPTH` highest scores; if scores are equal, the first in the corpus leads.

    Examples
    --------
    >>> rank(np.array([0.0, 2.0, 5.0, 2.0]), above=0.0)
    [(2, 5.0), (1, 2.0), (3, 2.0)]
    """
    (found,) = np.nonzero(scores > above)
    if len(found) > DEPTH:
        least = np.partition(scores[found], -DEPTH)[-DEPTH]
        found = found[scores[found] >= least]
    best = found[np.argsort(-scores[found], kind="stable")][:DEPTH]
    return [(int(position), float(scores[position])) for position in best]
