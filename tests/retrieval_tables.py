"""Small tables of retrievals, and answers generated with them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from fairstats.benchmarks.declaration import Benchmark

Variant = tuple[str, str, str]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def retrievals_of(lists: Mapping[Variant, Iterable[str]], **keys: Any) -> pd.DataFrame:
    """Return retrievals of the demonstration items from the snippet ids by item, attribute,
    group."""
    rows = [
        {
            "benchmark": "demo",
            "benchmark_version": "1",
            "item_id": item,
            "attribute": attribute,
            "group": group,
            "retriever": "bm25",
            "rank": rank,
            "snippet_id": snippet,
            "score": 1 / rank,
            "snippet_sha256": sha256(snippet),
            "query_sha256": sha256(f"{item} {attribute} {group}"),
            "corpus": "primer",
            "settings": "as in the tests",
            "corpus_sha256": sha256("primer"),
        }
        | keys
        for (item, attribute, group), snippets in lists.items()
        for rank, snippet in enumerate(snippets, start=1)
    ]
    return pd.DataFrame(rows)


def drawn_lists(
    benchmark: Benchmark, *, depth: int = 20, replaced: float = 0.2, seed: int = 1
) -> dict[Variant, list[str]]:
    """Return lists for every variant; some snippets of an item differ for one variant."""
    rng = np.random.default_rng(seed)
    lists = {}
    for item in benchmark.answer_keys:
        own = rng.permutation(200)[:depth]
        for attribute, group in benchmark.variants:
            other = rng.permutation(np.arange(200, 400))[:depth]
            chosen = np.where(rng.random(depth) < replaced, other, own)
            lists[item, attribute, group] = [f"s{number}" for number in chosen]
    return lists


def drawn_answers(
    benchmark: Benchmark,
    strategies: Iterable[str],
    *,
    model: str = "Model",
    missing: float = 0.05,
    seed: int = 1,
) -> pd.DataFrame:
    """Return complete answers with these strategies, some wrong and some missing."""
    rng = np.random.default_rng(seed)
    rows = []
    for strategy in strategies:
        for item, key in benchmark.answer_keys.items():
            for attribute, group in benchmark.variants:
                chosen = rng.random()
                wrong = str(rng.choice(list(benchmark.options)))
                answer = key if chosen < 0.6 else None if chosen > 1 - missing else wrong
                rows.append(
                    {
                        "benchmark": benchmark.name,
                        "benchmark_version": next(iter(benchmark.versions)),
                        "model": model,
                        "strategy": strategy,
                        "item_id": item,
                        "attribute": attribute,
                        "group": group,
                        "sample": 0,
                        "answer": answer,
                        "answer_key": key,
                        "status": "unparsed" if answer is None else "ok",
                    }
                )
    return pd.DataFrame(rows).astype({"answer": "str"})
