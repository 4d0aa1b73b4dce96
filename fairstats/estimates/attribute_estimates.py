"""The estimates of whole attributes: over all of their groups, and of their crossings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.benchmarks.terms import BASELINE
from fairstats.counts.missing_policies import CountingPolicy
from fairstats.counts.outcomes import whatever_the_neutral_answer
from fairstats.estimates.bounds import disparity_bounds
from fairstats.estimates.design_effects import naming_effect
from fairstats.estimates.table import BOUNDS_NOTE
from fairstats.inference.cluster_bootstrap import mean_interval
from fairstats.inference.cochran import cochran_q
from fairstats.inference.sign_flip import sign_flip_test
from fairstats.metrics.disparity import (
    demographic_parity,
    equal_opportunity,
    pair_differences,
)

#: By unit and attribute, the design effects of the pairs of its groups, by their places.
PairEffects = Mapping[tuple[str, ...], Mapping[tuple[int, int], float]]

_KEYS = (*UNIT_COLUMNS, "attribute")
Row = dict[str, Any]


def attribute_tables(
    outcomes: pd.DataFrame,
    benchmark: Benchmark,
    missing: CountingPolicy,
    alpha: float,
    *,
    effects: PairEffects | None = None,
    answerable_effects: PairEffects | None = None,
) -> pd.DataFrame:
    """The estimates of one benchmark's demographic attributes under a policy that gives counts.

    Parameters
    ----------
    outcomes : pandas.DataFrame
        The joint outcome patterns, `fairstats.counts.outcomes.Folds.outcomes`.
    benchmark : Benchmark
        The benchmark that declares the attributes.
    missing : {"available", "complete", "incorrect"}
        The policy.
    alpha : float
        1 − confidence level.
    effects, answerable_effects : mapping, optional
        The pairs' design effects over all items and over the answerable ones, of those units that
        have several samples of an item.

    Returns
    -------
    pandas.DataFrame
        DP and, if the benchmark has a baseline, EO; for more than two groups every pair's
        difference with simultaneous intervals and Cochran's Q; for an attribute that crosses two
        others the interactions.
    """

    def rows(unit: tuple[str, ...], own: pd.DataFrame) -> Iterator[Row]:
        attribute = benchmark.attributes[unit[-1]]
        over_all = (effects or {}).get(unit, {})
        pairs = whatever_the_neutral_answer(own)
        for metric, compute, rows, by_pair in (
            ("dp", demographic_parity, pairs, over_all),
            ("eo", equal_opportunity, own, (answerable_effects or {}).get(unit, {})),
        ):
            if metric == "eo" and BASELINE not in benchmark.attributes:
                continue
            result = compute(rows, missing=missing, alpha=alpha, design_effects=by_pair)
            yield {
                "metric": metric,
                "estimate": result.estimate,
                "ci_low": result.ci_low,
                "ci_high": result.ci_high,
                "ci_level": 1 - alpha,
                "ci_method": result.ci_method,
                "n": result.n,
                "method_note": _disparity_note(metric, own),
            }
        if len(attribute.groups) > 2:
            yield from _simultaneous(pairs, attribute, missing, alpha, over_all)
            yield _cochran(pairs, missing, clustered=bool(over_all))
        if attribute.crosses:
            yield from _interactions(pairs, attribute, benchmark, missing, alpha, bool(over_all))

    return _over_attributes(outcomes, rows)


def attribute_bounds(outcomes: pd.DataFrame, benchmark: Benchmark) -> pd.DataFrame:
    """The ranges of DP and EO over all fill-ins of missing answers."""
    metrics = ("dp", "eo") if BASELINE in benchmark.attributes else ("dp",)

    def rows(unit: tuple[str, ...], own: pd.DataFrame) -> Iterator[Row]:
        for metric in metrics:
            low, high = disparity_bounds(own, answerable_only=metric == "eo")
            yield {
                "metric": metric,
                "estimate": low if low == high else np.nan,
                "ci_low": low,
                "ci_high": high,
                "ci_method": "bounds",
                "n": int(whatever_the_neutral_answer(own)["n"].sum()),
                "method_note": BOUNDS_NOTE,
            }

    return _over_attributes(outcomes, rows)


def _disparity_note(metric: str, own: pd.DataFrame) -> str:
    note = "a range is never negative; not a test of 0"
    if metric == "eo":
        note += (
            "; P(correct | the model's neutral answer is correct), not Hardt's equal opportunity"
        )
        if (own["neutral_copies"] > 1).any():
            note += "; n counts each pair of answers once per right neutral answer"
    return note


def _over_attributes(
    outcomes: pd.DataFrame, rows: Callable[[tuple[str, ...], pd.DataFrame], Iterator[Row]]
) -> pd.DataFrame:
    units = outcomes[outcomes["attribute"] != BASELINE].groupby(list(_KEYS), sort=False)
    found = [
        dict(zip(_KEYS, unit, strict=True)) | row
        for unit, own in units
        for row in rows(tuple(str(key) for key in unit), own)
    ]
    return pd.DataFrame(found, columns=None if found else [*_KEYS, "metric"])


def _simultaneous(
    own: pd.DataFrame,
    attribute: Attribute,
    missing: CountingPolicy,
    alpha: float,
    effects: Mapping[tuple[int, int], float],
) -> Iterator[Row]:
    found = pair_differences(own, missing=missing, alpha=alpha, design_effects=effects)
    groups = list(attribute.groups)
    for (a, b), row in zip(found.pairs, found.estimate.to_frame().to_dict("records"), strict=True):
        method = naming_effect(row["ci_method"], effects.get((a, b), 1.0))
        yield row | {
            "metric": "accuracy_difference_simultaneous",
            "group_a": groups[a],
            "group_b": groups[b],
            "ci_level": 1 - alpha,
            "ci_method": f"{method}, Bonferroni over {len(found.pairs)} pairs",
            "method_note": "all intervals of the attribute hold at once",
        }


def _cochran(own: pd.DataFrame, missing: CountingPolicy, *, clustered: bool) -> Row:
    if clustered:
        return {"metric": "cochran_q", "method_note": "several samples per item: no test"}
    states, weights = _complete(own, missing)
    row: Row = {"metric": "cochran_q", "n": int(weights.sum())}
    result = cochran_q(states, weights)
    return row | {
        "statistic": result.statistic,
        "p_value": result.p_value,
        "test": f"cochran_q, {result.df} df",
        "method_note": "over the items with an answer for every group; not adjusted",
    }


def _interactions(
    own: pd.DataFrame,
    attribute: Attribute,
    benchmark: Benchmark,
    missing: CountingPolicy,
    alpha: float,
    clustered: bool,
) -> Iterator[Row]:
    """(a, c) − (b, c) less (a, d) − (b, d): does the one gap depend on the other attribute?"""
    place = {attribute.levels[group]: i for i, group in enumerate(attribute.groups)}
    first, second = (benchmark.attributes[name] for name in attribute.crosses)
    for (a, b), (c, d) in product(first.pairs, second.pairs):
        cells = [(a, c), (b, c), (a, d), (b, d)]
        if any(cell not in place for cell in cells):
            continue
        row: Row = {
            "metric": "interaction",
            "group_a": f"{a} - {b} | {c}",
            "group_b": f"{a} - {b} | {d}",
        }
        if clustered:
            yield row | {"method_note": "several samples per item: not estimated"}
            continue
        signs = np.array([1, -1, -1, 1])
        states, weights = _complete(own, missing)
        values = states[:, [place[cell] for cell in cells]] @ signs
        row |= {
            "n": int(weights.sum()),
            "method_note": "difference of two differences, over the items with all four answers; "
            "not adjusted",
        }
        interval = mean_interval(values, weights, largest=2, alpha=alpha)
        test = sign_flip_test(values, weights)
        yield row | {
            "estimate": float(interval.estimate),
            "ci_low": float(interval.ci_low),
            "ci_high": float(interval.ci_high),
            "ci_level": 1 - alpha,
            "ci_method": str(interval.ci_method),
            "statistic": test.statistic,
            "p_value": test.p_value,
            "test": f"sign flips of items, {test.method}",
        }


def _complete(
    own: pd.DataFrame, missing: CountingPolicy
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.int64]]]:
    """Right and wrong over all groups, of the items that have an answer for each."""
    signs = own["outcomes"]
    if missing == "incorrect":
        signs = signs.str.replace("x", "0")
    rows = own[~signs.str.contains("x")]
    states = [[int(sign) for sign in text] for text in signs[rows.index]]
    k = len(own["outcomes"].iloc[0])
    return (
        np.array(states, dtype=np.int64).reshape(len(rows), k),
        rows["n"].to_numpy(dtype=np.int64),
    )
