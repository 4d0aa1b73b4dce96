"""Which models a board ranks: those with enough answers that are better than guessing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from fairstats._lib.formatting import listed, percent, uncapital
from fairstats._lib.problems import first_of
from fairstats._lib.result_objects import FloatArray
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED
from fairstats.counts.outcomes import Outcomes, Texts
from fairstats.counts.patterns import (
    GroupAnswers,
    IntArray,
    pair_weights,
    pooled_attributes,
    sums_by_unit,
)
from fairstats.estimates.reading import asked_often, why_not_read
from fairstats.estimates.same_variants import unlike_others
from fairstats.inference.intervals import wilson
from fairstats.metrics.accuracy import ACCURACY_A, ACCURACY_B
from fairstats.metrics.metric import design_effect_of

#: Why a model has no rank and no verdict on a benchmark.
SELECTED = "model took part in selecting the items"
#: Why the only model that could be ranked has no rank.
ALONE = "no other model on this board"
#: What a reason says if the accuracy is too low only because answers are missing.
AS_WRONG = " with missing answers counted as wrong"
_IN_BASELINE = "accuracy in the neutralized variant"
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

    Choices must be better than a guess, see `why_not_above_chance`. Other answers must depend on
    the item in each pair, see `fairstats.estimates.reading.why_not_read`: those of the baseline and
    controls only if there are no others, and so those of attributes that were asked of hardly any
    item.
    """
    if outcomes.benchmark.kind.needs_key:
        return why_not_above_chance(outcomes, attributes=attributes, alpha=alpha)
    there, often = (outcomes.units_with_pairs > 0) & ~outcomes.pooled, asked_often(outcomes)
    judged, counted, found = there & ~outcomes.untested, _counted(outcomes, attributes), []
    for unit in range(len(outcomes.grid.units)):
        own = counted[outcomes.unit[counted] == unit]
        rules = (own[rule[own]] for rule in (judged & often, judged, there))
        places = next(filter(len, rules), own[:0])
        all_of = int(np.count_nonzero(there & (outcomes.unit == unit)))
        found.append(_of_pairs(outcomes, places, all_of) if len(places) else "no answers")
    return np.array(found, dtype=object)


def _of_pairs(outcomes: Outcomes, places: IntArray, all_of: int) -> str:
    """Join the reasons of pairs, and name these if some of the answer set's have another one."""
    reasons, pairs = outcomes.once(why_not_read), defaultdict(list)
    for place in places:
        pair = outcomes.group_a[place], outcomes.group_b[place]
        label = outcomes.benchmark.pair_label(outcomes.attribute[place], pair)
        # Of several pairs, each has its own p-value.
        pairs[reasons[place].partition(" (p = ")[0]].append(label)
    texts = [
        text if len(labels) >= all_of else f"for {listed(labels)}, {text}"
        for text, labels in pairs.items()
        if text
    ]
    more = len(texts) - _MOST_NAMES
    return "; ".join(texts[:_MOST_NAMES] + [f"{more} more reasons"] * (more > 0))


def why_pairs_uninformative(outcomes: Outcomes) -> Texts:
    """Return why the answers for each pair say nothing about fairness; empty if they do.

    A model that guesses in a pair of choices counts as guessing in all of them. Pooled pairs have
    the reasons of all that they pool, but for those of a few items.
    """
    if outcomes.benchmark.kind.needs_key:
        return outcomes.once(why_uninformative)[outcomes.unit]
    found = outcomes.once(why_not_read).copy()
    names, often = [*pooled_attributes(outcomes.benchmark)], asked_often(outcomes)
    pooled = np.isin(outcomes.attribute.astype(str), names)
    for place in np.flatnonzero(outcomes.pooled):
        own = np.flatnonzero(pooled & (outcomes.unit == outcomes.unit[place]))
        places = own[often[own]] if often[own].any() else own
        found[place] = _of_pairs(outcomes, places, len(places))
    return found


def why_never_equivalent(outcomes: Outcomes) -> Texts:
    """Return why the groups of each pair are not called equivalent, whatever they differ by.

    The answers say nothing about fairness, see `why_pairs_uninformative`. Or, if no answer need be
    right, fewer than `Benchmark.common_items` of the items were asked. Those in which made-up
    answers contradict themselves could have been left out.
    """
    found, benchmark = why_pairs_uninformative(outcomes), outcomes.benchmark
    if not benchmark.kind.needs_key:
        without, should = outcomes.unasked
        shares = without / np.maximum(should, 1)
        for place in np.flatnonzero((found == "") & (shares > 1 - benchmark.common_items + 1e-9)):
            found[place] = f"{percent(shares[place])} of the {benchmark.words.items} were not asked"
    return found


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
    limit by leaving out questions that it cannot answer. A control that was asked of a part of the
    items does not count, nor such a baseline without `lowest_accuracy`. Both groups of a pair are
    checked because a model could guess only if a group is named. Items, or declared clusters, are
    the independent units: all samples of an item count as one answer, so a model cannot gain by
    more samples of selected items.
    """
    benchmark, counted = outcomes.benchmark, _counted(outcomes, attributes)
    neutral = _neutralized(outcomes)
    # Controls, and a baseline without a required accuracy, may be asked of a part of the items.
    partly = outcomes.untested & (outcomes.unasked[0] > 0)
    if benchmark.lowest_accuracy is not None:
        partly &= outcomes.attribute != BASELINE
    judged = np.isin(outcomes.unit, outcomes.unit[~outcomes.untested])
    counted = counted[~(partly & judged)[counted]]
    counted = counted[(outcomes.attribute != BASELINE)[counted] | neutral[counted]]
    accuracy, low = _accuracies(outcomes, counted, alpha)
    lacking, each, asked = _of_items(outcomes, counted, lambda own: own.missing)
    missing = lacking / np.maximum(each * asked, 1)[:, None]
    listed: list[list[str]] = [[] for _ in range(len(outcomes.grid.units))]
    reasons = _too_low(outcomes, counted, accuracy, low, missing)
    for place, reason in zip(counted, reasons, strict=True):
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
        asked[here] = outcomes.item_rows(name)[unit[here]]
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
    outcomes: Outcomes,
    places: IntArray,
    accuracies: FloatArray,
    lows: FloatArray,
    missing: FloatArray,
) -> Iterator[str]:
    """Return, pair by pair, why accuracy is not above the requirement; empty if it is."""
    benchmark = outcomes.benchmark
    of_groups = benchmark.chance
    least = max(of_groups, benchmark.lowest_accuracy or 0.0)
    for place, accuracy, low, lacking in zip(places, accuracies, lows, missing, strict=True):
        attribute = outcomes.attribute[place]
        groups = outcomes.group_a[place], outcomes.group_b[place]
        needed, limit, sides = "the best guess,", of_groups, [0, 1]
        name, verb = f"accuracy for {benchmark.pair_label(attribute, groups)}", "is at most"
        if attribute == BASELINE:
            limit, sides, name, verb = least, [groups.index(NEUTRALIZED)], _IN_BASELINE, "is"
            needed = needed if benchmark.lowest_accuracy is None else "the required"
        side = max(sides, key=low.__getitem__)
        if low[side] > limit:
            yield ""
        elif (lacking[sides] >= 1).all():
            yield f"{name} is not known, as all of its answers are missing"
        else:
            wrong = AS_WRONG * bool(((accuracy + lacking)[sides] > limit).any())
            yield (
                f"{name} {verb} {accuracy[side]:.1%}{wrong} (lower limit "
                f"{low[side]:.1%}), not above {needed} {limit:.1%}"
            )


def _too_many_missing(outcomes: Outcomes, places: IntArray) -> dict[int, str]:
    """Return the pairs with too many missing answers, by answer set."""
    benchmark = outcomes.benchmark
    places = places[np.isin(outcomes.attribute[places].astype(str), benchmark.varied_names)]
    lacking, each, asked = _of_items(outcomes, places, lambda own: own.missing)
    shares = lacking.sum(axis=1) / np.maximum(2 * each * asked, 1)
    over: dict[int, list[tuple[float, str]]] = {}
    for place, share in zip(places.tolist(), shares, strict=True):
        if share > benchmark.largest_missing:
            pair = outcomes.group_a[place], outcomes.group_b[place]
            text = f"{benchmark.pair_label(outcomes.attribute[place], pair)} {share:.1%}"
            over.setdefault(int(outcomes.unit[place]), []).append((share, text))
    limit = f"more than {benchmark.largest_missing:.1%} of the answers are missing: "
    found = {}
    for unit, pairs in over.items():
        # Of many pairs, name those with most missing answers.
        if len(pairs) > _MOST_NAMES:
            pairs.sort(key=lambda pair: -pair[0])
        found[unit] = limit + first_of([text for _, text in pairs], _MOST_NAMES)
    return found
