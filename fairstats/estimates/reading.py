"""Whether the answers depend on the items, if no answer need be right."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.benchmarks.declaration import FEWEST_UNLIKE
from fairstats.counts.grid import Grid
from fairstats.counts.outcomes import Outcomes, Texts
from fairstats.counts.patterns import IntArray

# The level of each test, one-sided.
_LEVEL = 0.025


def why_not_read(outcomes: Outcomes) -> Texts:
    """Return for each pair why its answers need not depend on the items; empty if they do.

    Decisions, levels and scores that are always the same, or drawn at random, are equal for all
    groups, as those of a stamp or a coin. So the answers for the two groups of a pair must agree
    item by item, and with the keys if items have different ones, both beyond chance at the 2.5%
    level, see `chance_agreement`. At least `FEWEST_UNLIKE` items have an answer unlike the most
    frequent one, see `counted_alike`. Choices are judged by their accuracy: all texts are empty, as
    for pooled pairs and pairs with a group without answers.

    Notes
    -----
    The independent units are items, or declared clusters. A missing answer counts as the lowest of
    the pair's answers if the other group's, or the key, is above its mean, and else as the highest:
    those in which a random model contradicts itself could be left out. So do items that were not
    asked, if they are as few as `Benchmark.common_items` allows. Of an attribute of fewer items,
    those that were asked count.
    """
    benchmark, found = outcomes.benchmark, np.full(len(outcomes), "", dtype=object)
    if benchmark.kind.needs_key:
        return found
    for name in outcomes.groups:
        mostly = asked_of_most(outcomes, name)
        for place in np.flatnonzero(outcomes.attribute == name).tolist():
            unit = int(outcomes.unit[place])
            pair = (str(outcomes.group_a[place]), str(outcomes.group_b[place]))
            whole = outcomes.with_unasked if mostly[unit] else outcomes
            found[place] = _why_not_read(whole, name, unit, pair)
    return found


def asked_of_most(outcomes: Outcomes, attribute: str) -> npt.NDArray[np.bool_]:
    """Return whether each answer set was asked for an attribute in most items."""
    asked = outcomes.items_asked(attribute) // outcomes.groups[attribute].per_item
    return asked >= outcomes.benchmark.common_items * len(outcomes.benchmark.items)


def _why_not_read(outcomes: Outcomes, attribute: str, unit: int, pair: tuple[str, str]) -> str:
    own, benchmark = outcomes.groups[attribute], outcomes.benchmark
    span, groups = own.grid.span(unit), list(own.attribute.groups)
    given = [own.answers_of(groups.index(group))[span] for group in pair]
    if not all((one >= 0).any() for one in given):
        return ""
    items, values = own.rows[span], _values(own.grid)
    counts = sum(np.bincount(one[one >= 0], minlength=len(values)) for one in given)
    most, alike = counted_alike(own.grid, np.asarray(counts))
    unlike = np.any([((one >= 0) & ~alike[one]).any(axis=1) for one in given], axis=0)
    others = len(np.unique(items[unlike]))
    if others < FEWEST_UNLIKE:
        if others:
            some = f"{others} of {len(np.unique(items))} {benchmark.words.items}"
            return f"only {some} have answers unlike the most frequent kind"
        same = np.count_nonzero(counts) == 1
        if not same and not benchmark.kind.numeric:
            return "no decision is favourable, or all are"
        label = benchmark.labels.get(own.grid.options[most], own.grid.options[most])
        return f"every answer is “{label}”" + " or within the margin of it" * (not same)
    chosen = values[np.asarray(counts) > 0]
    ends, samples = np.array([chosen.min(), chosen.max()]), own.samples[span]
    units = own.grid.cluster[span] if len(own.grid.cluster) else items
    means = [_mean(values, one) for one in given]
    # Of items without an answer, one group has the lowest and the other the highest, in turn.
    neither = np.isnan(means).all(axis=0)
    turn = np.cumsum(neither) % 2
    partners = [
        np.where(neither, ends[turn ^ side], np.where(np.isnan(other), mean, other))
        for side, (mean, other) in enumerate([means, means[::-1]])
    ]
    a, b = (
        _completed(values, one, samples, ends, partner)
        for one, partner in zip(given, partners, strict=True)
    )
    if (p := chance_agreement(a, b, units, samples)) > _LEVEL:
        return f"agreement between the groups could be chance (p = {p:.2g})"
    key = outcomes.once(_keys)[items]
    known, whole = ~np.isnan(key), outcomes.with_unasked
    keys = whole.once(_keys)[whole.grid.span(unit)]
    # With one key for all items, no answers agree beyond chance.
    if len(np.unique(keys[~np.isnan(keys)])) < 2:
        return ""
    key, units, samples = key[known], units[known], samples[known]
    sides = [_completed(values, one[known], samples, ends, key) for one in given]
    if (p := chance_agreement(np.mean(sides, axis=0), key, units, samples)) > _LEVEL:
        return f"agreement with the key could be chance (p = {p:.2g})"
    return ""


def chance_agreement(a: FloatArray, b: FloatArray, units: IntArray, sizes: IntArray) -> float:
    """Return the one-sided p-value of Σ a b, if a unit's a could belong to any b.

    Each row has the mean of answers of a unit, and `sizes` their numbers. If all units have equally
    many, it is Pearson's type III approximation of the distribution over all permutations
    of the units' means, with its mean, variance and skewness. If not, the units' variances differ.
    Then it is that of Student's t, Σ u / √(Σ u²), with u a unit's Σ (a − ā) (b − b̄), which also
    has the answers within units. It is 1 if one side is constant, or with fewer than three units.

    References
    ----------
    Mielke & Berry (2007), Permutation Methods, section 2.3; DiCiccio & Romano (2017), JASA
    112:1211-1220.

    Examples
    --------
    >>> answers, units = np.repeat([0.0, 1.0], 10), np.arange(20)
    >>> p = chance_agreement(answers, np.roll(answers, 2), units, np.ones(20, dtype=int))
    >>> round(p, 3)
    0.004
    """
    _, place = np.unique(units, return_inverse=True)
    size = np.bincount(place, sizes)
    if (n := len(size)) < 3:
        return 1.0
    # Smaller products of spreads are rounding errors.
    least = 1e-28 * (len(a) * float(np.abs(a).max() * np.abs(b).max())) ** 2
    a, b, alike = a - a.mean(), b - b.mean(), (size == size[0]).all()
    u = np.bincount(place, a * b)
    if alike:
        a, b = (np.bincount(place, one) / np.bincount(place) for one in (a, b))
    spread = float((a**2).sum() * (b**2).sum())
    if spread <= least:
        return 1.0
    if not alike:
        total = np.sqrt((u**2).sum())
        return float(scipy.stats.t.sf(u.sum() / total, n - 1)) if total > 0 else 1.0
    deviation = np.sqrt(spread / (n - 1))
    skew = n / (n - 1) / (n - 2) * float((a**3).sum() * (b**3).sum()) / deviation**3
    return float(scipy.stats.pearson3.sf(a @ b / deviation, skew))


def _mean(values: FloatArray, given: IntArray) -> FloatArray:
    """Return the mean of each row's answers, (rows,); NaN without any."""
    n = (given >= 0).sum(axis=1)
    total = np.where(given >= 0, values[given], 0.0).sum(axis=1)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _completed(
    values: FloatArray, given: IntArray, samples: IntArray, ends: FloatArray, partner: FloatArray
) -> FloatArray:
    """Return the mean of each row, missing answers low if the partner is above its mean, or high.

    What is far from the partner could still be on its side of the mean, and agree.
    """
    n = (given >= 0).sum(axis=1)
    other = np.where(partner > partner.sum() / max(len(partner), 1), ends[0], ends[1])
    return (np.nan_to_num(_mean(values, given)) * n + (samples - n) * other) / samples


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
