"""The estimates of whole attributes: over all of their groups, and of their crossings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pandas as pd

from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.terms import BASELINE
from fairstats.counts.missing_policies import CountingPolicy
from fairstats.estimates.table import BOUNDS_NOTE
from fairstats.metrics.metric import Groups, Row
from fairstats.metrics.registry import GROUPS_METRICS

#: By unit and attribute, the design effects of the pairs of its groups, by their places.
PairEffects = Mapping[tuple[str, ...], Mapping[tuple[int, int], float]]

_KEYS = (*UNIT_COLUMNS, "attribute")


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
        The rows of every `GroupsMetric` that applies to the attribute.
    """

    def rows(unit: tuple[str, ...], own: pd.DataFrame) -> Iterator[Row]:
        by_pair = ((found or {}).get(unit, {}) for found in (effects, answerable_effects))
        groups = Groups(own, benchmark.attributes[unit[-1]], benchmark, missing, alpha, *by_pair)
        for metric in GROUPS_METRICS:
            if metric.applies(groups):
                yield from ({"metric": metric.name} | row for row in metric.compute(groups))

    return _over_attributes(outcomes, rows)


def attribute_bounds(outcomes: pd.DataFrame, benchmark: Benchmark) -> pd.DataFrame:
    """The ranges of the figures of attributes over all fill-ins of missing answers."""

    def rows(unit: tuple[str, ...], own: pd.DataFrame) -> Iterator[Row]:
        groups = Groups(own, benchmark.attributes[unit[-1]], benchmark)
        for metric in GROUPS_METRICS:
            if metric.bounds and metric.applies(groups):
                low, high = metric.bounds(groups)
                yield {
                    "metric": metric.name,
                    "estimate": low if low == high else np.nan,
                    "ci_low": low,
                    "ci_high": high,
                    "ci_method": "bounds",
                    "n": int(groups.pairs["n"].sum()),
                    "method_note": BOUNDS_NOTE,
                }

    return _over_attributes(outcomes, rows)


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
