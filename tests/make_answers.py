"""Answers for tests: written as signs, or drawn for the items of a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np
import pandas as pd

from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark

Variant = tuple[str, str]


def make_answers(
    pattern: Iterable[str] | float,
    *,
    models: Sequence[str] = ("model",),
    strategies: Sequence[str] = ("plain",),
    missing: float = 0.0,
    of: Benchmark | None = None,
    variants: Sequence[Variant] = (),
    attribute: str = "race",
    groups: Sequence[str] = ("white", "black"),
    seed: int = 1,
    **columns: Any,
) -> pd.DataFrame:
    """Return an answers table.

    Parameters
    ----------
    pattern : iterable of str, or float
        One short text per item, with the key A unless `of` is given. A text has one sign per
        variant: a letter, ``-`` for a missing answer, ``.`` for no row. After a slash come the
        signs of the neutralized variant and, if there is a second one, of the original:
        ``"AB/A"``. Or a number: the share of right answers to all variants of a benchmark's
        items; the others are random letters.
    models, strategies : sequence of str
        Each gets its own answers: the same texts, or another draw.
    missing : float
        The share of drawn answers that are missing.
    of : Benchmark, optional
        The benchmark of drawn answers; by default the demonstration. Texts are for its first
        items, with their keys.
    variants : sequence of (attribute, group)
        The variants of a text; by default the `groups` of the `attribute`.
    seed : int
        The seed of the draws.
    **columns : object
        Values of other columns, or replacements.
    """
    if isinstance(pattern, int | float):
        share, of = float(pattern), of or load_benchmark("demo")
        cells = [(item, *v, key) for item, key in of.answer_keys.items() for v in of.variants]
        options, rng = list(of.options), np.random.default_rng(seed)

        def answer_to(key: str) -> str | None:
            chosen, other = rng.random(), str(rng.choice(options))
            return key if chosen < share else None if chosen > 1 - missing else other

        drawn = [answer_to(key) for _ in models for _ in strategies for *_, key in cells]
    else:
        items = ((f"item-{i}", "A") for i in count()) if of is None else of.answer_keys.items()
        variants = variants or [(attribute, group) for group in groups]
        signs = [
            (item, name, group, key, sign)
            for text, (item, key) in zip(pattern, items, strict=False)
            for name, group, sign in _signs(text, variants)
        ]
        cells = [(item, name, group, key) for item, name, group, key, _ in signs]
        given = [None if sign == "-" else sign for *_, sign in signs]
        drawn = given * len(models) * len(strategies)
    rows = [
        (model, strategy, *cell) for model in models for strategy in strategies for cell in cells
    ]
    frame = pd.DataFrame(
        {
            "benchmark": "demo" if of is None else of.name,
            "benchmark_version": "1" if of is None else next(iter(of.versions)),
            "model": [model for model, *_ in rows],
            "strategy": [strategy for _, strategy, *_ in rows],
            "item_id": [item for _, _, item, *_ in rows],
            "attribute": [name for *_, name, _, _ in rows],
            "group": [group for *_, group, _ in rows],
            "sample": 0,
            "answer": drawn,
            "answer_key": [key for *_, key in rows],
            "status": ["unparsed" if answer is None else "ok" for answer in drawn],
        }
        | columns
    )
    return frame.astype({"answer": "str"})


def _signs(text: str, variants: Sequence[Variant]) -> Iterable[tuple[str, ...]]:
    """Yield attribute, group and sign of each row of an item."""
    signs, _, baseline = text.partition("/")
    both = [
        *zip(variants, signs, strict=True),
        *zip((("baseline", "neutralized"), ("baseline", "original")), baseline, strict=False),
    ]
    yield from ((*variant, sign) for variant, sign in both if sign != ".")
