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
