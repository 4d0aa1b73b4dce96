"""Is the change between groups larger than the change that something meaningless causes?

If nothing changes more than the controls, any of an item's pairs could be the one of interest. So
the test exchanges it with the item's control pairs, within clusters for all items at once. The
pairs of a control with several groups share answers, so those that share a group with an earlier
one are not exchanged. The mean change of several pairs of interest is not distributed as that of
one control, so their test is Bonferroni's.

The limits combine those of both mean changes, which are never too symmetric or narrow if few items
change (Zou and Donner's method, as Newcombe's for paired shares). In simulations of 20 and 60 items
of which 3 to 20% change (benchmarks/small_samples.py), tests reject in at most 6% at level 5%. The
95% limits cover in 95% or more.

References: Miettinen (1969), Biometrics 25:339-355; Zou & Donner (2008), Statistics in Medicine
27:1693-1702; Newcombe (1998), Statistics in Medicine 17:2635-2650.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import FloatArray
from fairstats.counts.patterns import GroupAnswers
from fairstats.inference.exchange import exchange_test
from fairstats.inference.unit_means import GroupSums, unit_influence, unit_means
from fairstats.metrics.metric import ANY, Columns, Groups, GroupsMetric, columns_of


def changes(answers: GroupAnswers, pair: tuple[str, str], span: slice) -> FloatArray:
    """Return how far the answers of each row change between two groups; NaN without both.

    For levels and scores, it is the absolute difference of the groups' means over samples. For
    others, it is the share of pairs of answers that differ.
    """
    a, b = (list(answers.attribute.groups).index(group) for group in pair)
    tables = [answers.letters(place, span).astype(np.float64) for place in (a, b)]
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
    apart = [place for one in groups.controls for place in without_shared(one.attribute.pairs)]
    for number, unit in enumerate(groups.units):
        unit_keys = {name: values[number] for name, values in keys.items() if np.ndim(values)}
        span = own.grid.span(unit)
        size = 1 + max(int(one.rows.max(initial=-1)) for one in (own, *groups.controls))
        controls = [
            _item_means(
                changes(one, pair, one.grid.span(unit))[:, None],
                one.rows[one.grid.span(unit)],
                size,
            )
            for one in groups.controls
            for pair in one.attribute.pairs
        ]
        each = np.stack([changes(own, pair, span) for pair in pairs], axis=1)
        places: list[tuple[list[int], tuple[str | None, str | None]]] = [
            ([place], pair) for place, pair in enumerate(pairs)
        ]
        places += [(list(range(len(pairs))), (None, None))] if len(pairs) > 1 else []
        cluster = np.arange(size)
        if len(own.grid.cluster):
            cluster[own.rows[span]] = own.grid.cluster[span]
        for columns, (a, b) in places:
            change = _item_means(each[:, columns], own.rows[span], size)
            row = {"attribute": own.attribute.name, "group_a": a, "group_b": b}
            all_changes = np.column_stack([change, *controls])
            figures = compare_changes(all_changes, cluster, apart, whole, groups.alpha)
            if a is None and not figures["test"].startswith("none"):
                figures |= of_all_pairs([one["p_value"] for one in found[-len(pairs) :]])
            found.append(unit_keys | row | figures)
    return columns_of(found)


def compare_changes(
    changed: FloatArray,
    cluster: npt.NDArray[np.int64],
    apart: list[bool],
    whole: float,
    alpha: float,
) -> dict[str, Any]:
    """Compare the first column of the items' changes with the others, those of control pairs.

    `apart` states which control pairs share no group. The test uses only these. Without one, the
    p-value is 1, and ``test`` gives the reason.
    """
    present = ~np.isnan(changed)
    there = present[:, 0] & present[:, 1:].any(axis=1)
    changed, number = changed[there], present[there].sum(axis=1)[:, None]
    _, unit = np.unique(cluster[there], return_inverse=True)
    sizes = np.bincount(unit)
    # Each pair's change minus the mean of the others.
    excess = (number * changed - np.nansum(changed, axis=1, keepdims=True)) / (number - 1)
    tested = changed[:, [True, *apart]]
    many = (~np.isnan(tested)).sum(axis=1)[:, None]
    values = np.zeros((len(sizes), tested.shape[1]))
    # A pair that an item of a cluster lacks is not exchanged in the cluster.
    beyond = many * tested - np.nansum(tested, axis=1, keepdims=True)
    np.add.at(values, unit, beyond / np.maximum(many - 1, 1))
    own, control = changed[:, 0], changed[:, 0] - excess[:, 0]
    low, high = _limits(own, control, unit, whole, alpha)
    test = exchange_test(values)
    exchanged = int((~np.isnan(values[:, 1:])).any(axis=1).sum())
    note, used = "no item has an answer for the pair and a control", "none (no answers)"
    if len(own):
        note = f"mean change {own.mean():.3g}, of controls {control.mean():.3g}; not adjusted"
        used = f"exchange of pairs, {test.method}"
        if not exchanged:
            used = "none (these items have no control pair to exchange)"
        elif exchanged < len(sizes):
            note += f"; the test uses {exchanged} of {len(sizes)} units"
    return {
        "estimate": float(excess[:, 0].mean()) if len(own) else np.nan,
        "ci_low": low,
        "ci_high": high,
        "ci_level": 1 - alpha,
        "ci_method": "square-and-add of two means" if len(own) else "none (no answers)",
        "statistic": float(test.statistic),
        "p_value": float(test.p_value),
        "test": used,
        "n": len(own),
        "n_units": len(sizes),
        "method_note": note,
    }


def without_shared(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    """Return which pairs have no group of an earlier one that is kept."""
    kept: set[str] = set()
    found = []
    for pair in pairs:
        found.append(kept.isdisjoint(pair))
        kept |= set(pair) if found[-1] else set()
    return found


def of_all_pairs(p_values: list[float]) -> dict[str, Any]:
    """Return the test of all pairs, from the p-values of each."""
    p_value = min(len(p_values) * min(p_values), 1.0)
    return {"statistic": np.nan, "p_value": p_value, "test": "smallest p of the pairs, Bonferroni"}


def _limits(
    own: FloatArray,
    control: FloatArray,
    unit: npt.NDArray[np.int64],
    whole: float,
    alpha: float,
) -> tuple[float, float]:
    """Return limits of the difference of two means, from the limits of both."""
    if not len(own):
        return -whole, whole
    sizes = np.bincount(unit)
    sums = [np.bincount(unit, weights=values).astype(np.float64) for values in (own, control)]
    found = unit_means([(one, sizes, None) for one in sums], limits=(0, whole), alpha=alpha)
    correlation = 0.0
    if len(sizes) > 1:
        many = np.ones(len(sizes))
        parts = [
            unit_influence([(GroupSums(one, sizes.astype(np.float64), many), 1.0)]) for one in sums
        ]
        spread = float(np.sqrt((parts[0] @ parts[0]) * (parts[1] @ parts[1])))
        correlation = float(parts[0] @ parts[1]) / spread if spread > 0 else 0.0
    (a, a_low, a_high), (b, b_low, b_high) = (
        (float(one.estimate), float(one.ci_low), float(one.ci_high)) for one in found
    )

    def length(x: float, y: float) -> float:
        return float(np.sqrt(max(x**2 - 2 * correlation * x * y + y**2, 0.0)))

    low, high = a - b - length(a - a_low, b_high - b), a - b + length(a_high - a, b - b_low)
    return max(low, -whole), min(high, whole)


BEYOND_CONTROL = GroupsMetric(
    name="beyond_control",
    label="Change beyond that of controls",
    definition="Mean over items of the change between the groups, minus the mean change of the "
    "control pairs of the same items. A change is the absolute difference of levels or scores (of "
    "their means over samples), or the share of pairs of answers that differ.",
    formula=r"\overline{\lvert y_a - y_b\rvert} - \overline{\lvert y_c - y_d\rvert}",
    interval="square-and-add of the limits of both means",
    order=235,
    ideal=0,
    kinds=ANY,
    applies=lambda groups: bool(groups.controls and groups.attribute.pairs),
    compute=_rows,
)
