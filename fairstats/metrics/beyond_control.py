"""Is the change between groups larger than the change that something meaningless causes?

Flipping signs assumes that an item's change exceeds that of the controls as often as it falls
short of it by as much. For one pair and up to two controls this nearly holds if all change alike.
The mean of more controls, or of several pairs, varies less than one change. If few items change,
the difference is then skewed. In simulations of 20 to 60 items of which 3 to 10% change
(benchmarks/small_samples.py), tests at 5% then rejected in up to 16%, and 95% limits covered in
84% or more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import FloatArray
from fairstats.counts.patterns import GroupAnswers
from fairstats.inference.clustered_answers import flip_test
from fairstats.inference.unit_means import unit_mean
from fairstats.metrics.metric import ANY, Columns, Groups, GroupsMetric, columns_of


def changes(answers: GroupAnswers, pair: tuple[str, str], span: slice) -> FloatArray:
    """Return how far the answers of each row change between two groups; NaN without both.

    For levels and scores, it is the absolute difference of the groups' means over samples. For
    others, it is the share of pairs of answers that differ.
    """
    a, b = (list(answers.attribute.groups).index(group) for group in pair)
    tables = [answers.letters(place)[span].astype(np.float64) for place in (a, b)]
    n_a, n_b = (table.sum(axis=1) for table in tables)
    with np.errstate(divide="ignore", invalid="ignore"):
        if answers.grid.benchmark.kind.numeric:
            means = [table @ answers.grid.values / table.sum(axis=1) for table in tables]
            return np.asarray(np.abs(means[0] - means[1]))
        same = (tables[0] @ answers.grid.alike * tables[1]).sum(axis=1)
        return np.asarray(1 - same / (n_a * n_b))


def _item_means(columns: FloatArray, row: npt.NDArray[np.int64], rows: int) -> FloatArray:
    """Return the mean change of each item of the whole grid; NaN if it has none."""
    total, number = np.zeros(rows), np.zeros(rows)
    there = ~np.isnan(columns)
    np.add.at(total, row, np.where(there, columns, 0).sum(axis=1))
    np.add.at(number, row, there.sum(axis=1))
    with np.errstate(invalid="ignore"):
        return np.asarray(total / np.where(number > 0, number, np.nan))


def _rows(groups: Groups) -> Columns:
    """Return a row for each declared pair, and one for all of them."""
    found: list[dict[str, Any]] = []
    keys, own = groups.rows(), groups.answers
    whole = groups.benchmark.span if groups.benchmark.kind.numeric else 1.0
    pairs = own.attribute.pairs
    for number, unit in enumerate(groups.units):
        unit_keys = {name: values[number] for name, values in keys.items() if np.ndim(values)}
        span = own.grid.span(unit)
        size = 1 + max(int(one.rows.max(initial=-1)) for one in (own, *groups.controls))
        control = [
            (changes(one, pair, one.grid.span(unit)), one.rows[one.grid.span(unit)])
            for one in groups.controls
            for pair in one.attribute.pairs
        ]
        base = _item_means(
            np.concatenate([column for column, _ in control])[:, None],
            np.concatenate([rows for _, rows in control]),
            size,
        )
        each = np.stack([changes(own, pair, span) for pair in pairs], axis=1)
        places: list[tuple[list[int], tuple[str | None, str | None]]] = [
            ([place], pair) for place, pair in enumerate(pairs)
        ]
        places += [(list(range(len(pairs))), (None, None))] if len(pairs) > 1 else []
        cluster = np.arange(size)
        if len(own.grid.cluster):
            cluster[own.rows[span]] = own.grid.cluster[span]
        for columns, (a, b) in places:
            excess = _item_means(each[:, columns], own.rows[span], size) - base
            row = {"attribute": own.attribute.name, "group_a": a, "group_b": b}
            found.append(unit_keys | row | _estimate(excess, base, cluster, whole, groups.alpha))
    return columns_of(found)


def _estimate(
    excess: FloatArray,
    control: FloatArray,
    cluster: npt.NDArray[np.int64],
    whole: float,
    alpha: float,
) -> dict[str, Any]:
    there = ~np.isnan(excess)
    _, unit = np.unique(cluster[there], return_inverse=True)
    sums = np.bincount(unit, weights=excess[there])
    sizes = np.bincount(unit)
    found = unit_mean(sums, sizes, limits=(-whole, whole), alpha=alpha)
    test = flip_test(sums)
    note = "no item has an answer for the pair and a control"
    if there.any():
        own, other = (float(part[there].mean()) for part in (excess + control, control))
        note = f"mean change {own:.3g}, of controls {other:.3g}; not adjusted"
    return {
        "estimate": float(found.estimate),
        "ci_low": float(found.ci_low),
        "ci_high": float(found.ci_high),
        "ci_level": 1 - alpha,
        "ci_method": str(found.method),
        "statistic": float(test.statistic),
        "p_value": float(test.p_value),
        "test": f"sign flips of units, {test.method}",
        "n": int(there.sum()),
        "n_units": len(sums),
        "method_note": note,
    }


BEYOND_CONTROL = GroupsMetric(
    name="beyond_control",
    label="Change beyond that of controls",
    definition="Mean over items of the change between the groups, minus the mean change of the "
    "control pairs of the same items. A change is the absolute difference of levels or scores (of "
    "their means over samples), or the share of pairs of answers that differ.",
    formula=r"\overline{\lvert y_a - y_b\rvert} - \overline{\lvert y_c - y_d\rvert}",
    interval="t over the independent units, CR2",
    order=235,
    ideal=0,
    kinds=ANY,
    applies=lambda groups: bool(groups.controls and groups.attribute.pairs),
    compute=_rows,
)
