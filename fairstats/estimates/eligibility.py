"""Which models a board ranks: those with enough answers that are better than guessing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.formatting import decimal, listed, uncapital
from fairstats._lib.problems import first_of
from fairstats._lib.result_objects import FloatArray
from fairstats.benchmarks.declaration import BASELINE, FEWEST_UNLIKE, NEUTRALIZED
from fairstats.counts.grid import NOT_ASKED, Grid
from fairstats.counts.outcomes import Outcomes, Texts
from fairstats.counts.patterns import (
    GroupAnswers,
    IntArray,
    pair_weights,
    sums_by_unit,
)
from fairstats.estimates.same_variants import unlike_others
from fairstats.inference.intervals import wilson
from fairstats.inference.weighted_kappa import weighted_kappa
from fairstats.metrics.accuracy import ACCURACY_A, ACCURACY_B
from fairstats.metrics.metric import design_effect_of

#: Why a model has no rank and no verdict on a benchmark.
SELECTED = "model took part in selecting the items"
#: Why the only model that could be ranked has no rank.
ALONE = "no other model on this board"
# The level of the test that answers depend on the item.
_LEVEL = 0.05
_IN_BASELINE = "accuracy in the neutralized variant"
_COMPLETED = ", if missing answers are as unlike the others as they could be"
# More pairs than these are counted, not named.
_MOST_NAMES = 4


def why_unranked(
    outcomes: Outcomes, *, attributes: Collection[str] | None = None, alpha: float = 0.05
) -> Texts:
    """Return why each answer set is listed without a rank, without a full stop; empty if it is not.

    The benchmark declares which models are ranked: `selected_on`, `largest_missing` and
    `lowest_accuracy`. By default, all attributes count. `alpha` is that of the interval of
    accuracy.
    """
    guessing = why_uninformative(outcomes, attributes=attributes, alpha=alpha)
    counted = _counted(outcomes, attributes)
    missing, fewer = _too_many_missing(outcomes, counted), _fewer_samples(outcomes, counted)
    others = outcomes.once(why_other_variants)
    reasons = []
    for unit, guesses in enumerate(guessing):
        selected = SELECTED * bool(outcomes.grid.selecting[unit])
        mixed = outcomes.grid.settings[unit].mixed
        texts = (selected, mixed, missing.get(unit), fewer.get(unit), guesses, others[unit])
        reasons.append("; ".join(filter(None, texts)))
    return np.array(reasons, dtype=object)


def _fewer_samples(outcomes: Outcomes, counted: IntArray) -> dict[int, str]:
    """Name the attributes of each answer set that have fewer samples than another one."""
    found: dict[int, dict[str, None]] = {}
    for place in counted[outcomes.fewer_samples[counted]].tolist():
        label = outcomes.benchmark.attributes[str(outcomes.attribute[place])].label
        found.setdefault(int(outcomes.unit[place]), {})[uncapital(label)] = None
    return {
        unit: f"fewer samples for {listed(labels)} than for another attribute"
        for unit, labels in found.items()
    }


def why_uninformative(
    outcomes: Outcomes, *, attributes: Collection[str] | None = None, alpha: float = 0.05
) -> Texts:
    """Return why the answers of each model say nothing about fairness; empty if they do.

    A choice must be better than a guess, see `why_not_above_chance`. A model that always gives the
    same decision, level or score does not read the items: it is equal for all groups as a stamp is.
    """
    if outcomes.benchmark.kind.needs_key:
        return why_not_above_chance(outcomes, attributes=attributes, alpha=alpha)
    counted = _counted(outcomes, attributes)
    # The answers for crossed groups are those for the groups of several attributes.
    judged: dict[str, bool] = {}
    for name, untested in zip(outcomes.attribute[counted], outcomes.untested[counted], strict=True):
        source = (outcomes.groups[name].crossing or outcomes.groups[name].attribute).name
        judged[source] = judged.get(source, False) or not untested
    return _constant(outcomes, judged)


def _constant(outcomes: Outcomes, judged: Mapping[str, bool]) -> Texts:
    """Return why the answers do not depend on the items: always the same, or as if at random.

    The baseline and controls, which are not `judged`, do not vouch for other answers. Nor do those
    for an attribute that was not asked of most items, which could be chosen ones, if there are
    others. These have to agree with the key only where they were asked.
    """
    options, whole = outcomes.grid.options, outcomes.with_unasked
    asked = np.zeros((len(outcomes.grid.units), len(judged)), dtype=np.int64)
    for column, name in enumerate(judged):
        answered = outcomes.groups[name].chosen.any(axis=1)
        asked[:, column] = outcomes.items_asked(name) * answered
    own = _if_any((asked > 0) & np.array([*judged.values()], dtype=bool), asked > 0)
    mostly = asked >= outcomes.benchmark.common_items * len(outcomes.benchmark.items)
    tested = _if_any(own & mostly, own)
    varied = _Variation.of(outcomes, dict(zip(judged, tested.T, strict=True)))
    reasons = []
    for unit, counts in enumerate(varied.counts):
        most = int(varied.most[unit])
        if not counts.sum():
            reasons.append("no answers")
        elif varied.others[unit] < FEWEST_UNLIKE:
            label = outcomes.benchmark.labels.get(options[most], options[most])
            if not varied.others[unit]:
                one = counts[most] == counts.sum()
                same = "no decision is favourable, or all are"
                if one or outcomes.benchmark.kind.numeric:
                    same = f"every answer is “{label}”" + " or within the margin of it" * (not one)
                reasons.append(same)
            else:
                words = outcomes.benchmark.words
                some = f"{varied.others[unit]} of {varied.items[unit]} {words.items}"
                reasons.append(f"only {some} have answers unlike the most frequent kind")
        else:
            keys = whole.once(_keys)[whole.grid.span(unit)]
            # With one key for all items, no answers agree beyond chance.
            differ = len(np.unique(keys[~np.isnan(keys)])) > 1
            unlike = [
                _unlike_key(whole if with_unasked else outcomes, unit, name, varied.ends[unit])
                for name, there, with_unasked in zip(judged, own[unit], tested[unit], strict=True)
                if there and differ
            ]
            if not varied.p_value[unit] < _LEVEL:
                text = "the answers vary as much within items as between them"
                # What agrees with the key is not random, however far groups are apart.
                text += ", as if at random" * (any(unlike) or not unlike)
                if np.isnan(varied.p_value[unit]):
                    text = "the answers depend on the group alone, not on the item"
                unlike = [text + _COMPLETED * bool(varied.missing[unit])]
            reasons.append("; ".join(filter(None, unlike)))
    return np.array(reasons, dtype=object)


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
    label = uncapital(own.attribute.label)
    text = f"agreement with the key could be chance for {label} ({limit})"
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
    """How far the answers of each answer set depend on the item.

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
        out.
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
    def of(cls, outcomes: Outcomes, tested: Mapping[str, npt.NDArray[np.bool_]]) -> _Variation:
        """Compute it from the answers for attributes, each of some answer sets."""
        grid, units = outcomes.grid, len(outcomes.grid.units)
        values = _values(grid)
        counts = np.zeros((units, len(grid.options)), dtype=np.int64)
        lacking = np.zeros(units, dtype=np.int64)
        parts = []
        for name, sets in tested.items():
            own = outcomes.with_unasked.groups[name]
            here = sets[own.grid.unit]
            unit, many = own.grid.unit[here], own.grid.many[here]
            counts += own.chosen * sets[:, None]
            given, missing = (one[here] for one in _first_samples(own))
            # A group without any answer is another reason, that of its pairs.
            answered = np.asarray((given >= 0).any(axis=2))
            missing = missing * (sums_by_unit(unit, answered, units) > 0)[unit]
            lacking += sums_by_unit(unit, missing.sum(axis=1) * many, units)
            parts.append((unit, many, given, missing))
        lowest = np.where(counts > 0, values, np.inf).argmin(axis=1)
        highest = np.where(counts > 0, values, -np.inf).argmax(axis=1)
        ends = np.stack([lowest, highest], axis=1)
        items, others = np.zeros((2, units), dtype=np.int64)
        within, between, df_within, df_between, df_summed, largest = np.zeros((6, units))
        kinds = [counted_alike(grid, of_unit) for of_unit in counts]
        most, alike = np.array([most for most, _ in kinds]), np.array([one for _, one in kinds])
        for unit, many, given, missing in parts:
            other = (given >= 0) & ~alike[unit[:, None, None], given]
            answered, unlike = (np.asarray(t.any(axis=(1, 2))) for t in (given >= 0, other))
            # The samples of a variant count as one answer, their mean: they depend on each other.
            samples = (given >= 0).sum(axis=2)
            total = np.where(given >= 0, values[given], 0).sum(axis=2)
            # A difference between groups is no variation within items.
            center = _group_means(unit, many, samples, total, units)
            away = values[ends][unit]
            samples, total = _with_missing(unit, samples, total, missing, away, center)
            center = _group_means(unit, many, samples, total, units)
            means = np.where(samples > 0, total / np.maximum(samples, 1) - center, 0.0)
            of_group = sums_by_unit(unit, samples > 0, units)
            df_within -= np.maximum(of_group.sum(axis=1) - 1, 0)
            n = (samples > 0).sum(axis=1)
            there = n > 0
            unit, many, n = unit[there], many[there], n[there]
            total, squares = means[there].sum(axis=1), (means[there] ** 2).sum(axis=1)
            added = partial(sums_by_unit, unit, units=units)
            items = np.maximum(items, added(many * answered[there]))
            others = np.maximum(others, added(many * unlike[there]))
            within += added(many * (squares - total**2 / n))
            df_within += added(many * (n - 1))
            between += added(many * total**2 / n)
            between -= added(many * total) ** 2 / np.maximum(added(many * n), 1)
            df_between = np.maximum(df_between, added(many) - 1)
            df_summed += np.maximum(added(many) - 1, 0)
            largest += added(many * n)
        largest *= np.ptp(values[ends], axis=1) ** 2
        between[between <= 1e-12 * largest] = 0.0  # rounding errors
        with np.errstate(divide="ignore", invalid="ignore"):
            # The attributes share items, so their differences are not independent.
            ratio = (between / df_summed) / (within / df_within)
            p_value = scipy.special.fdtrc(df_between, df_within, ratio)
        # Without any variation within items, a difference between items is no accident.
        rounding = 1e-9 * np.maximum(between, 1e-300)
        p_value = np.where((within <= rounding) & (between > 0), 0.0, p_value)
        return cls(counts, most, items, others, p_value, lacking, ends)


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


def why_not_above_chance(
    outcomes: Outcomes, *, attributes: Collection[str] | None = None, alpha: float = 0.05
) -> Texts:
    """Return why answer sets do not exceed the accuracy required for a rank; empty if they do.

    A guessing model is fair only as a coin is: its accuracy depends neither on the group nor on the
    vignette. Two conditions must hold. The lower limit of the Wilson interval of accuracy in the
    neutralized variant exceeds `Benchmark.lowest_accuracy`, by default `Benchmark.chance`. The
    lower limit for at least one group of every pair exceeds chance.

    Notes
    -----
    A missing answer is wrong, and so is an item that was not asked. So a model cannot reach the
    limit by leaving out questions that it cannot answer. Both groups of a pair are checked because
    a model could guess only if a group is named. Items, or declared clusters, are the independent
    units: all samples of an item count as one answer, so a model cannot gain by more samples of
    selected items.
    """
    benchmark, counted = outcomes.benchmark, _counted(outcomes, attributes)
    neutral = _neutralized(outcomes)
    counted = counted[(outcomes.attribute != BASELINE)[counted] | neutral[counted]]
    accuracy, low = _accuracies(outcomes, counted, alpha)
    listed: list[list[str]] = [[] for _ in range(len(outcomes.grid.units))]
    for place, reason in zip(counted, _too_low(outcomes, counted, accuracy, low), strict=True):
        listed[outcomes.unit[place]] += [reason] if reason else []
    found = [_joined(reasons) for reasons in listed]
    if benchmark.lowest_accuracy is not None:
        least = f"{benchmark.lowest_accuracy:.1%}"
        reason = f"no answers to neutralized variants, for which the accuracy must exceed {least}"
        answered = set(outcomes.unit[counted[neutral[counted]]].tolist())
        for unit in set(outcomes.unit[counted].tolist()) - answered:
            found[unit] = f"{found[unit]}; {reason}" if found[unit] else reason
    return np.array(found, dtype=object)


def _neutralized(outcomes: Outcomes) -> npt.NDArray[np.bool_]:
    """Return the baseline pairs of answer sets that were asked the neutralized variant."""
    if BASELINE not in outcomes.groups:
        return np.zeros(len(outcomes), dtype=bool)
    groups = [*outcomes.groups[BASELINE].attribute.groups]
    asked = outcomes.rows_asked(BASELINE)[:, groups.index(NEUTRALIZED)] > 0
    of = (outcomes.group_a == NEUTRALIZED) | (outcomes.group_b == NEUTRALIZED)
    return np.asarray((outcomes.attribute == BASELINE) & of & asked[outcomes.unit])


def _counted(outcomes: Outcomes, attributes: Collection[str] | None) -> IntArray:
    """Return the places of the declared pairs of these attributes, answer set by answer set."""
    names = [*outcomes.groups] if attributes is None else [*attributes]
    places = np.flatnonzero(np.isin(outcomes.attribute.astype(str), names))
    return places[np.argsort(outcomes.unit[places], kind="stable")]


def why_other_variants(outcomes: Outcomes) -> Texts:
    """Return why answers cannot be to the variants that are declared for them.

    If answers to another version of the variants were submitted for this one, they would be judged
    and ranked next to models with a harder task. The reason is that the benchmark does not declare
    the version, or that the flips do not fit those of the other models of this version, with any
    strategy. With fewer than three models, the deviating one cannot be identified. Without a
    ``same_variants_odds_ratio``, only the names of versions are compared.

    Notes
    -----
    Flips are compared by `fairstats.estimates.same_variants.unlike_others`. On FairMedQA's two
    boards of released answers, no set is excluded. Each one is excluded if it is submitted as
    answers to the other version.
    """
    grid, versions = outcomes.grid, outcomes.benchmark.versions
    reasons = np.array(
        [
            "" if version in versions else f"the benchmark declares no version {version!r}"
            for version in grid.units["benchmark_version"]
        ],
        dtype=object,
    )
    if outcomes.benchmark.same_variants_odds_ratio is not None:
        # The flips of a model that guesses show nothing about the variants. Those of a model that
        # selected the items are not usual.
        informative = (outcomes.once(why_uninformative) == "") & ~grid.selecting
        for units in grid.units.groupby("benchmark_version").indices.values():
            panel = grid.units.iloc[[unit for unit in units.tolist() if informative[unit]]]
            models = [sets.index.tolist() for _, sets in panel.groupby("model")]
            if len(models) > 2:
                found = unlike_others(outcomes.by_item(), models)
                for unit, reason in found.items():
                    reasons[unit] = reasons[unit] or reason
    return reasons


def _accuracies(
    outcomes: Outcomes, places: IntArray, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Return the accuracy of both groups of each pair and its lower limit, over all items."""
    correct, each, asked = _of_items(outcomes, places, lambda own: own.right)
    names = outcomes.attribute[places].astype(str).tolist()
    # The rows of an item are those of the groups that it is crossed with.
    rows = np.array([outcomes.groups[name].per_item for name in names], dtype=np.int64)
    whole = (each * np.maximum(asked, rows * len(outcomes.benchmark.items)))[:, None]
    # Weights of very many different numbers of samples are rounded.
    correct = np.minimum(correct, whole)
    effects = np.tile(each[:, None], (1, 2)).astype(np.float64)
    for row, (name, place) in enumerate(zip(names, places.tolist(), strict=True)):
        if len(outcomes.groups[name].grid.cluster):
            of = outcomes.with_unasked
            cells, many = of.clusters[place]
            for side, metric in enumerate((ACCURACY_A, ACCURACY_B)):
                found = design_effect_of(
                    metric, cells, many, int(of.copies[place]), "incorrect", few=alpha
                )
                effects[row, side] = max(effects[row, side], found)
    low = wilson(correct, whole, alpha=alpha, design_effect=effects).ci_low
    return correct / np.maximum(whole, 1), np.where(asked[:, None] > 0, low, 0.0)


def _of_items(
    outcomes: Outcomes, places: IntArray, count: Callable[[GroupAnswers], IntArray]
) -> tuple[IntArray, IntArray, IntArray]:
    """Return sums of both groups, with `each` per item whatever its samples, and items asked."""
    sums = np.zeros((len(places), 2), dtype=np.int64)
    each, asked = np.ones((2, len(places)), dtype=np.int64)
    names, unit = outcomes.attribute[places].astype(str), outcomes.unit[places]
    for name, own in outcomes.groups.items():
        here, groups = names == name, list(own.attribute.groups)
        weight = pair_weights(own.copies[own.grid.unit], own.samples) * own.grid.many
        table = sums_by_unit(own.grid.unit, count(own) * weight[:, None], len(own.copies))
        for side, group in enumerate((outcomes.group_a, outcomes.group_b)):
            columns = [groups.index(text) for text in group[places][here]]
            sums[here, side] = table[unit[here], columns]
        each[here] = own.copies[unit[here]]
        asked[here] = outcomes.items_asked(name)[unit[here]]
    return sums, each, asked


def _joined(reasons: Sequence[str]) -> str:
    """Join the reasons of an answer set, that of the baseline first; of many, the first ones."""
    # Stable, so that other pairs stay in order.
    texts = sorted(reasons, key=lambda text: not text.startswith(_IN_BASELINE))
    if len(texts) <= _MOST_NAMES:
        return "; ".join(texts)
    shown, more = texts[:_MOST_NAMES], len(texts) - _MOST_NAMES
    return "; ".join([*shown, f"the same for {more} more pair{'s' * (more > 1)}"])


def _too_low(
    outcomes: Outcomes, places: IntArray, accuracies: FloatArray, lows: FloatArray
) -> Iterator[str]:
    """Return, pair by pair, why accuracy is not above the requirement; empty if it is."""
    benchmark = outcomes.benchmark
    of_groups = benchmark.chance
    least = max(of_groups, benchmark.lowest_accuracy or 0.0)
    needed = "the best guess," if benchmark.lowest_accuracy is None else "the required"
    for place, accuracy, low in zip(places, accuracies, lows, strict=True):
        attribute = outcomes.attribute[place]
        groups = outcomes.group_a[place], outcomes.group_b[place]
        if attribute != BASELINE:
            side, limit = int(low.argmax()), of_groups
        else:
            side, limit = groups.index(NEUTRALIZED), least
        if low[side] > limit:
            yield ""
        elif attribute == BASELINE:
            yield (
                f"{_IN_BASELINE} is {accuracy[side]:.1%} (lower limit "
                f"{low[side]:.1%}), not above {needed} {least:.1%}"
            )
        else:
            label = benchmark.attributes[attribute].pair_label(groups)
            yield (
                f"accuracy for {label} is at most {accuracy[side]:.1%} (lower limit "
                f"{low[side]:.1%}), not above the best guess, {of_groups:.1%}"
            )


def _too_many_missing(outcomes: Outcomes, places: IntArray) -> dict[int, str]:
    """Return the pairs with too many missing answers, by answer set."""
    benchmark = outcomes.benchmark
    varied = {attribute.name: attribute for attribute in benchmark.varied}
    places = places[np.isin(outcomes.attribute[places].astype(str), list(varied))]
    lacking, each, asked = _of_items(outcomes, places, lambda own: own.missing)
    shares = lacking.sum(axis=1) / np.maximum(2 * each * asked, 1)
    over: dict[int, list[tuple[float, str]]] = {}
    for place, share in zip(places.tolist(), shares, strict=True):
        if share > benchmark.largest_missing:
            pair = outcomes.group_a[place], outcomes.group_b[place]
            text = f"{varied[outcomes.attribute[place]].pair_label(pair)} {share:.1%}"
            over.setdefault(int(outcomes.unit[place]), []).append((share, text))
    limit = f"more than {benchmark.largest_missing:.1%} of the answers are missing: "
    found = {}
    for unit, pairs in over.items():
        # Of many pairs, name those with most missing answers.
        if len(pairs) > _MOST_NAMES:
            pairs.sort(key=lambda pair: -pair[0])
        found[unit] = limit + first_of([text for _, text in pairs], _MOST_NAMES)
    return found
