"""Whether the answers depend on the items, if no answer need be right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.formatting import decimal, listed, uncapital
from fairstats._lib.result_objects import FloatArray
from fairstats.benchmarks.declaration import FEWEST_UNLIKE
from fairstats.counts.grid import NOT_ASKED, Grid
from fairstats.counts.outcomes import Outcomes, Texts
from fairstats.counts.patterns import (
    GroupAnswers,
    IntArray,
    pair_weights,
    sums_by_unit,
)
from fairstats.inference.weighted_kappa import weighted_kappa

# The level of the test that answers depend on the item.
_LEVEL = 0.05
_COMPLETED = ", if missing answers are as unlike the others as they could be"


def why_not_read(outcomes: Outcomes, judged: Mapping[str, bool]) -> Texts:
    """Return why the answers do not depend on the items: always the same, or as if at random.

    The answers for each attribute speak for themselves. An attribute that was not asked of most
    items is not tested if others were, but has to agree with the key where it was asked. `judged`
    says of each attribute whether it counts if there are others; the baseline and controls do not.
    """
    benchmark, units = outcomes.benchmark, range(len(outcomes.grid.units))
    asked = np.zeros((len(units), len(judged)), dtype=np.int64)
    for column, name in enumerate(judged):
        answered = outcomes.groups[name].chosen.any(axis=1)
        asked[:, column] = outcomes.items_asked(name) * answered
    own = _if_any((asked > 0) & np.array([*judged.values()], dtype=bool), asked > 0)
    tested = _if_any(own & (asked >= benchmark.common_items * len(benchmark.items)), own)
    found: list[dict[str, list[str]]] = [{} for _ in units]
    for name, counts, tests in zip(judged, own.T, tested.T, strict=True):
        label = uncapital(benchmark.attributes[name].label)
        variation = _Variation.of(outcomes.with_unasked.groups[name])
        for unit in np.flatnonzero(counts).tolist():
            reason = _why(outcomes, unit, name, variation, tested=bool(tests[unit]))
            found[unit].setdefault(reason, []).append(label)
    reasons = []
    for unit, of_texts in enumerate(found):
        several = own[unit].sum() > 1
        texts = [
            f"for {listed(labels)}, {text}" if several and len(of_texts) > 1 else text
            for text, labels in of_texts.items()
            if text
        ]
        reasons.append("; ".join(texts) if of_texts else "no answers")
    return np.array(reasons, dtype=object)


def _why(
    outcomes: Outcomes, unit: int, attribute: str, variation: _Variation, *, tested: bool
) -> str:
    """Return why the answers for an attribute do not depend on the items; empty if they do."""
    if tested and variation.others[unit] < FEWEST_UNLIKE:
        return variation.why_constant(outcomes.grid, unit)
    whole = outcomes.with_unasked
    keys = whole.once(_keys)[whole.grid.span(unit)]
    # With one key for all items, no answers agree beyond chance.
    differ = len(np.unique(keys[~np.isnan(keys)])) > 1
    unlike = ""
    if differ:
        asked = whole if tested else outcomes
        unlike = _unlike_key(asked, unit, attribute, variation.ends[unit])
    if not tested or variation.p_value[unit] < _LEVEL:
        return unlike
    if np.isnan(variation.p_value[unit]):
        text = "the answers depend on the group alone, not on the item"
    else:
        text = "the answers vary as much within items as between them"
        # What agrees with the key is not random, however far groups are apart.
        text += ", as if at random" * (not differ or bool(unlike))
    return text + _COMPLETED * bool(variation.missing[unit])


def _if_any(first: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the rows of the first table, or of the other one if none is true."""
    return np.where(first.any(axis=1, keepdims=True), first, other)


def _unlike_key(outcomes: Outcomes, unit: int, attribute: str, ends: IntArray) -> str:
    """Return why answers do not agree with the key beyond chance; empty if they do.

    All samples of an item count as one answer. A missing answer counts as the one of `ends` that is
    further from the key.
    """
    own, values = outcomes.groups[attribute], _values(outcomes.grid)
    span = own.grid.span(unit)
    groups = range(len(own.attribute.groups))
    given = np.stack([own.letters(group, span) for group in groups], axis=1)
    table, answered = given.sum(axis=1), given.any(axis=(0, 2))
    missing, key = own.missing[span] @ answered, outcomes.once(_keys)[own.rows[span]]
    np.add.at(table, (np.arange(len(table)), ends[_farther(values[ends], key)]), missing)
    table *= pair_weights(int(own.copies[unit]), own.samples[span])[:, None]
    row, option = np.nonzero(table * ~np.isnan(key)[:, None])
    code = own.grid.cluster[span] if len(own.grid.cluster) else own.rows[span]
    found = weighted_kappa(
        values[option], key[row], code[row], table[row, option], limits=outcomes.benchmark.limits
    )
    if found.ci_low > 0:
        return ""
    kappa, low = float(found.estimate), float(found.ci_low)
    limit = f"kappa {decimal(kappa, 2)}, lower limit {decimal(low, 2)}"
    text = f"agreement with the key could be chance ({limit})"
    return text + _COMPLETED * bool(missing.any())


def _keys(outcomes: Outcomes) -> FloatArray:
    """Return the number of each row's key, also if the item was not asked; NaN without a key."""
    grid, benchmark = outcomes.grid, outcomes.benchmark

    def number(key: str | None) -> float:
        if key is None:
            return np.nan
        if benchmark.kind.name == "level":
            return benchmark.values[key]
        return float(key) if benchmark.kind.numeric else float(key in benchmark.favourable)

    listed = np.array([number(benchmark.answer_keys.get(name)) for name in grid.item_names])
    return np.where(grid.key >= 0, _values(grid)[grid.key], listed[grid.item])


def _values(grid: Grid) -> FloatArray:
    """Return the number of each option; of decisions, 1 if it is favourable."""
    if grid.benchmark.kind.numeric:
        return grid.values
    good = np.isin(np.array(grid.options, dtype=object), grid.benchmark.favourable)
    return good.astype(np.float64)


def counted_alike(grid: Grid, counts: IntArray) -> tuple[int, npt.NDArray[np.bool_]]:
    """Return the place of the most frequent option, and which say the same about the groups.

    Of choices, it is the option itself; of decisions, those that are as favourable. Of levels and
    scores, it is those within the equivalence margin: they make any two groups equivalent.
    `counts` says how often each option was given.
    """
    benchmark = grid.benchmark
    choice = benchmark.kind.needs_key
    values = np.arange(len(grid.options), dtype=np.float64) if choice else _values(grid)
    room = max(benchmark.equivalence_margin, benchmark.same_within) * benchmark.kind.numeric
    # Smaller differences are rounding error.
    room += 1e-9
    # There can be thousands of scores, too many for a table of their distances.
    order = np.argsort(values, kind="stable")
    ascending, until = values[order], np.append(0, np.cumsum(counts[order]))
    within = np.empty_like(until[1:])
    within[order] = (
        until[np.searchsorted(ascending, ascending + room, side="right")]
        - until[np.searchsorted(ascending, ascending - room)]
    )
    # Of several, the one that was given most often itself; none that only other models gave.
    most = int(np.lexsort((-counts, -within * (counts > 0)))[0])
    return most, np.asarray(np.abs(values - values[most]) <= room)


@dataclass(frozen=True, eq=False)
class _Variation:
    """How far each answer set's answers for an attribute depend on the item.

    Attributes
    ----------
    counts : ndarray of int, shape (answer sets, options)
        The number of answers of each option.
    most : ndarray of int
        The most frequent option, see `counted_alike`.
    items, others : ndarray of int
        The items with an answer, and those of them with another answer than the most frequent one.
        Favourable decisions count as one answer, and so do the others; so do levels and scores
        within the equivalence margin of the most frequent one.
    p_value : ndarray
        Of the F test of equal means of all items, in an analysis of variance without differences of
        the groups' means; the samples of a variant count as one answer, the first ones, as many
        as all items have: means of different numbers vary differently. Missing answers count as
        the lowest or highest that the set gave, whichever is further from the item's others,
        without their groups' means: those in which a random model contradicts itself could be left
        out. NaN if the answers depend on the group alone.
    missing : ndarray of int
        The number of missing answers.
    ends : ndarray of int, shape (answer sets, 2)
        The lowest and highest option that was given.
    """

    counts: IntArray
    most: IntArray
    items: IntArray
    others: IntArray
    p_value: FloatArray
    missing: IntArray
    ends: IntArray

    @classmethod
    def of(cls, own: GroupAnswers) -> _Variation:
        """Compute it from the answers for the attribute, items that were not asked included."""
        grid, units, counts = own.grid, len(own.grid.units), own.chosen
        values, unit, many = _values(grid), own.grid.unit, own.grid.many

        def added(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return sums_by_unit(unit, (table.T * many).T, units)

        given, missing = _first_samples(own)
        samples = (given >= 0).sum(axis=2)
        # A group without any answer is another reason, that of its pairs.
        missing = missing * (added(samples) > 0)[unit]
        ends = np.stack(
            [
                np.where(counts > 0, values, np.inf).argmin(axis=1),
                np.where(counts > 0, values, -np.inf).argmax(axis=1),
            ],
            axis=1,
        )
        kinds = [counted_alike(grid, of_unit) for of_unit in counts]
        most, alike = np.array([most for most, _ in kinds]), np.array([one for _, one in kinds])
        other = (given >= 0) & ~alike[unit[:, None, None], given]
        items, others = (added(np.any(table, axis=(1, 2))) for table in (given >= 0, other))
        # The samples of a variant count as one answer, their mean: they depend on each other.
        total = np.where(given >= 0, values[given], 0).sum(axis=2)
        # A difference between groups is no variation within items.
        center = _group_means(unit, many, samples, total, units)
        away = values[ends][unit]
        samples, total = _with_missing(unit, samples, total, missing, away, center)
        center = _group_means(unit, many, samples, total, units)
        means = np.where(samples > 0, total / np.maximum(samples, 1) - center, 0.0)
        n = (samples > 0).sum(axis=1)
        of_item = means.sum(axis=1) ** 2 / np.maximum(n, 1)
        in_item = (means**2).sum(axis=1) - of_item
        within, between, df_within, largest = added(
            np.column_stack([in_item, of_item, np.maximum(n - 1, 0), n])
        ).T
        rows = added(n > 0)
        between -= added(means.sum(axis=1)) ** 2 / np.maximum(largest, 1)
        largest *= np.ptp(values[ends], axis=1) ** 2
        between[between <= 1e-12 * largest] = 0.0  # rounding errors
        df_within -= np.maximum((added(samples) > 0).sum(axis=1) - 1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (between / (rows - 1)) / (within / df_within)
            p_value = scipy.special.fdtrc(rows - 1, df_within, ratio)
        # Without any variation within items, a difference between items is no accident.
        rounding = 1e-9 * np.maximum(between, 1e-300)
        p_value = np.where((within <= rounding) & (between > 0), 0.0, p_value)
        lacking = added(missing.sum(axis=1))
        return cls(counts, most, items, others, p_value, lacking, ends)

    def why_constant(self, grid: Grid, unit: int) -> str:
        """Say of an answer set with fewer than `FEWEST_UNLIKE` others what its answers are."""
        benchmark, counts, most = grid.benchmark, self.counts[unit], self.most[unit]
        if self.others[unit]:
            some = f"{self.others[unit]} of {self.items[unit]} {benchmark.words.items}"
            return f"only {some} have answers unlike the most frequent kind"
        one = counts[most] == counts.sum()
        if not one and not benchmark.kind.numeric:
            return "no decision is favourable, or all are"
        label = benchmark.labels.get(grid.options[most], grid.options[most])
        return f"every answer is “{label}”" + " or within the margin of it" * (not one)


def _first_samples(own: GroupAnswers) -> tuple[npt.NDArray[np.signedinteger[Any]], IntArray]:
    """Return as many samples as all items of the answer set have, and the number missing."""
    given, samples, unit = own.answers, own.samples, own.grid.unit
    least = np.full(len(own.copies), samples.max(initial=1))
    np.minimum.at(least, unit, samples)
    if (samples > least[unit]).any():
        turn = np.cumsum(given != NOT_ASKED, axis=2)
        given = np.where(turn <= least[unit][:, None, None], given, NOT_ASKED)
    return given, least[unit][:, None] - (given >= 0).sum(axis=2)


def _farther(ends: FloatArray, numbers: FloatArray) -> IntArray:
    """Return which of the two ends, (2,) or (rows, 2), is farther from each number."""
    return np.abs(ends - numbers[:, None]).argmax(axis=1)


def _group_means(
    unit: IntArray, many: IntArray, samples: IntArray, total: FloatArray, units: int
) -> FloatArray:
    """Return the mean answer for each group, over the items of the answer set, (rows, groups)."""
    each = (samples > 0) * many[:, None]
    sums = sums_by_unit(unit, total / np.maximum(samples, 1) * each, units)
    return np.asarray((sums / np.maximum(sums_by_unit(unit, each, units), 1))[unit])


def _with_missing(
    unit: IntArray,
    samples: IntArray,
    total: FloatArray,
    missing: IntArray,
    ends: FloatArray,
    center: FloatArray,
) -> tuple[IntArray, FloatArray]:
    """Return number and sum of answers, (rows, groups), with missing ones added at an end.

    It is the end that is further from the item's other answers, all of them minus the means of
    their groups; without any, both in turn.
    """
    n = samples.sum(axis=1)
    usual = (total - samples * center).sum(axis=1) / np.maximum(n, 1)
    away = np.abs(ends[:, :, None] - center[:, None, :] - usual[:, None, None]).argmax(axis=1)
    # Not by the group's place: groups in between may have no answers at all. From row to row the
    # other one is first, or the ends would be a difference between groups.
    row = np.cumsum(n == 0)
    row -= row[np.searchsorted(unit, unit)]
    in_turn = (np.cumsum(missing > 0, axis=1) + row[:, None]) % 2
    side = np.where(n[:, None] > 0, away, in_turn)
    return samples + missing, total + missing * np.take_along_axis(ends, side, axis=1)
