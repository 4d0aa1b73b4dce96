"""Retrieve snippets of a corpus for every variant of a benchmark's items.

They are found by the words of the vignette, by its meaning, or by both.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairstats._lib.problems import input_error, keyword, wrong
from fairstats._lib.safe_names import slug, text_sha256
from fairstats.answers.files import RETRIEVALS_SUFFIX
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.vignette_items import Item, load_items
from fairstats.retrieval.retrievals_table import check_retrievals, read_retrievals, write_retrievals
from fairstats_collectors.collect import version_of
from fairstats_collectors.corpora import CHUNK_WORDS, Corpus, load_corpus
from fairstats_collectors.embeddings import CACHE, embed_kept, embedded_embedder, service_embedder

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

    `embed` turns texts into vectors of length 1.

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


RETRIEVERS = ("bm25", "dense", "rrf")
#: The name of the embedding model that runs here.
EMBEDDED = "embedded"

# The characters allowed in a strategy's name (`fairstats.answers.strategies`).
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")


def retrieve(
    benchmark: Benchmark,
    *,
    corpus: Path,
    retriever: str,
    out: Path,
    top: int = 20,
    name: str | None = None,
    benchmark_version: str | None = None,
    embeddings: str = EMBEDDED,
    base_url: str | None = None,
    chunk_words: int = CHUNK_WORDS,
    rrf_k: int = RRF_K,
    timeout: float = 120,
    retries: int = 5,
    progress: bool = True,
) -> Path:
    """Retrieve snippets for every variant of a benchmark's items into one parquet file.

    The query is only the vignette of the variant, without options and prompt. So the results do not
    depend on the model or the prompt.

    Parameters
    ----------
    benchmark : Benchmark
        The benchmark; its vignettes must be shipped.
    corpus : Path
        The corpus to search, in a format that `fairstats_collectors.corpora.load_corpus` reads.
    retriever : {"bm25", "dense", "rrf"}
        By words, by meaning, or by both.
    out : Path
        The folder to write to.
    top : int
        The number of snippets per variant, at most `fairstats_collectors.retrieve.DEPTH`.
    name : str, optional
        The retriever's name in the strategies' names, by default `retriever`.
    benchmark_version : str, optional
        The version of the benchmark's items; required if it declares several.
    embeddings : str
        The embedding model: its name at the service, or ``"embedded"`` for the one on this machine.
    base_url : str, optional
        The service, by default ``OPENAI_BASE_URL`` or OpenAI's; the key comes from
        ``OPENAI_API_KEY``.
    chunk_words : int
        The maximum number of words in a snippet.
    rrf_k : int
        The constant of reciprocal rank fusion.
    timeout, retries : float, int
        Seconds until a request to the service is repeated, and the number of repeats.
    progress : bool
        Whether to report progress on the vectors on the standard error output.

    Returns
    -------
    Path
        ``<out>/<benchmark>-<version>-<name>.retrievals.parquet``, in the schema of
        `fairstats.retrieval.retrievals_table`. A variant with fewer snippets has fewer rows, and
        one without snippets has no rows.

    Raises
    ------
    InputError
        If an argument or the corpus cannot be used, or the service sends no vectors. If no variant
        has any snippets, or other retrievals exist under this name.
    """
    if retriever not in RETRIEVERS:
        known = ", ".join(RETRIEVERS)
        raise wrong("retriever", "is unknown", f"use one of {known}", value=retriever)
    for option, number, most in (("top", top, DEPTH), ("rrf_k", rrf_k, 10**6)):
        if not 1 <= number <= most:
            raise wrong(option, "is out of range", f"use 1 to {most:,}", value=number)
    version = version_of(benchmark, benchmark_version)
    called = retriever if name is None else name
    if not _NAME.fullmatch(called):
        remedy = "use up to 40 characters: a-z, 0-9, dot, hyphen, underscore"
        raise wrong("name", "is not a valid name", remedy, value=called)
    items = load_items(benchmark)
    searched = load_corpus(corpus, chunk_words=chunk_words)
    # The variants of an item may well be the same text; it is looked for once.
    queries = list(dict.fromkeys(text for item in items for text in item.variants.values()))

    def say(text: str) -> None:
        if progress:
            print(text, file=sys.stderr)

    rankings: list[list[Ranking]] = []
    by_words, by_meaning = BM25_SETTINGS, ""
    if retriever in ("bm25", "rrf"):
        rankings.append(search_bm25(searched, queries))
    if retriever in ("dense", "rrf"):
        if embeddings == EMBEDDED and base_url is None:
            embedder = embedded_embedder()
        else:
            address = base_url or os.environ.get("OPENAI_BASE_URL") or None
            key = os.environ.get("OPENAI_API_KEY", "").strip()
            embedder = service_embedder(
                embeddings, base_url=address, key=key, timeout=timeout, retries=retries
            )

        def embed(texts: Sequence[str]) -> NDArray[np.float32]:
            return embed_kept(texts, embedder, Path(out) / CACHE, say=say)

        rankings.append(search_dense(searched, queries, embed))
        where = "" if embedder.endpoint == EMBEDDED else f" at {embedder.endpoint}"
        by_meaning = f"cosine of {embedder.model}{where}"
    found = rankings[0]
    how = by_meaning if retriever == "dense" else by_words
    if retriever == "rrf":
        how = f"reciprocal ranks, k = {rrf_k}, of {by_words} and {by_meaning}"
        found = [fuse(both, k=rrf_k) for both in zip(*rankings, strict=True)]
    facts = {
        "benchmark": benchmark.name,
        "benchmark_version": version,
        "retriever": called,
        "corpus": searched.name,
        "corpus_sha256": searched.sha256,
        "settings": "; ".join([how, f"snippets of at most {chunk_words} words"]),
    }
    by_query = {query: ranking[:top] for query, ranking in zip(queries, found, strict=True)}
    rows = retrieval_rows(benchmark, items, searched, by_query, facts)
    names = (benchmark.name, version, called)
    path = Path(out) / f"{'-'.join(map(slug, names))}{RETRIEVALS_SUFFIX}"
    return _write(rows, path, corpus)


def retrieval_rows(
    benchmark: Benchmark,
    items: Sequence[Item],
    corpus: Corpus,
    found: dict[str, Ranking],
    facts: dict[str, str],
) -> pd.DataFrame:
    """Return the rows of the retrievals table.

    `found` has the ranking of each vignette, and `facts` the columns that all rows share.
    """
    return pd.DataFrame(
        [
            {
                **facts,
                "item_id": item.item_id,
                "attribute": attribute,
                "group": group,
                "rank": place,
                "snippet_id": corpus.snippets[position].snippet_id,
                "score": score,
                "snippet_sha256": corpus.snippets[position].sha256,
                "query_sha256": text_sha256(item.variants[group]),
                "title": corpus.snippets[position].title,
                "text": corpus.snippets[position].text,
            }
            for item in items
            for attribute, group in benchmark.variants
            if group in item.variants
            for place, (position, score) in enumerate(found[item.variants[group]], start=1)
        ]
    )


def _write(rows: pd.DataFrame, path: Path, corpus: Path) -> Path:
    if rows.empty:
        message = "no snippet shares any word with a vignette"
        remedy = f"use another corpus, or {keyword('retriever', 'dense')}"
        raise input_error(corpus, message, remedy)
    if path.exists():
        if read_retrievals(path).equals(check_retrievals(rows, path=str(path))):
            return path
        message = "already exists with different retrievals"
        raise input_error(path, message, f"give another {keyword('name')}, or remove the file")
    return write_retrievals(rows, path)
