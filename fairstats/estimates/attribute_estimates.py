"""Estimates of whole attributes: over all of their groups, and of their crossings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pandas as pd

from fairstats._lib.row_groups import group_rows, row_keys, text_array
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import BASELINE, Benchmark
from fairstats.counts.missing_policies import CountingPolicy
from fairstats.estimates.table import BOUNDS_NOTE, columns_of
from fairstats.metrics.metric import Columns, Groups, Row
from fairstats.metrics.registry import GROUPS_METRICS

#: By unit and attribute, the design effects of the pairs of its groups, by position.
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
    ratio_effects: PairEffects | None = None,
) -> Columns:
    """Compute one benchmark's demographic attribute estimates, under a policy that gives counts.

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
    effects, answerable_effects, ratio_effects : mapping, optional
        The pairs' design effects for units with several samples of an item, see `Groups`.

    Returns
    -------
    dict of str to list
        The rows of every `GroupsMetric` that applies to the attribute, by column.
    """

    def groups_of(unit: tuple[str, ...], own: pd.DataFrame) -> Groups:
        given = (effects, answerable_effects, ratio_effects)
        by_pair = ((found or {}).get(unit, {}) for found in given)
        return Groups(own, benchmark.attributes[unit[-1]], benchmark, missing, alpha, *by_pair)

    units = {unit: groups_of(unit, own) for unit, own in _units(outcomes)}
    for metric in GROUPS_METRICS:
        if metric.together:
            metric.together([groups for groups in units.values() if metric.applies(groups)])
    return _table(
        (unit, {"metric": metric.name} | row)
        for unit, groups in units.items()
        for metric in GROUPS_METRICS
        if metric.applies(groups)
        for row in metric.compute(groups)
    )


def attribute_bounds(outcomes: pd.DataFrame, benchmark: Benchmark) -> Columns:
    """Return the ranges of attribute estimates over all fill-ins of missing answers."""

    def rows(groups: Groups) -> Iterator[Row]:
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

    return _table(
        (unit, row)
        for unit, own in _units(outcomes)
        for row in rows(Groups(own, benchmark.attributes[unit[-1]], benchmark))
    )


def _units(outcomes: pd.DataFrame) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    groups, first = group_rows(text_array(outcomes[name]) for name in _KEYS)
    patterns = outcomes.drop(columns=list(_KEYS))
    for group, unit in enumerate(row_keys(outcomes.take(first), _KEYS)):
        if unit[-1] != BASELINE:
            yield unit, patterns.take(np.flatnonzero(groups == group))


def _table(rows: Iterable[tuple[tuple[str, ...], Row]]) -> Columns:
    return columns_of([dict(zip(_KEYS, unit, strict=True)) | row for unit, row in rows])
