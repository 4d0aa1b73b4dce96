"""Whether the answers depend on the items, if no answer need be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.benchmarks.declaration import FEWEST_UNITS, FEWEST_UNLIKE
from fairstats.counts.grid import NOT_ASKED, Grid
from fairstats.counts.outcomes import Outcomes, Texts
from fairstats.counts.patterns import IntArray
from fairstats.inference.unit_means import effective_number

# The level of each test, one-sided.
_LEVEL = 0.025
# That of one of several groups alone is at most so many times as large.
_MOST_TIMES = 4


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
    Answers are compared by their ranks. Groups that agree in pairs are compared with the keys
    together, and each alone at 2.5% times their number, at most 10%: weak agreement would not be
    shown in each of many pairs. Of several samples, the first ones count, as many as all items
    have. A missing answer counts as the lowest of the answers compared if the other group's, or the
    key, is above its mean, and else as the highest: those in which a random model contradicts
    itself could be left out. So do items that were not asked, if they are as few as
    `Benchmark.common_items` allows. Of an attribute of fewer items, those that were asked count.
    """
    benchmark, found = outcomes.benchmark, np.full(len(outcomes), "", dtype=object)
    if benchmark.kind.needs_key:
        return found
    for name in outcomes.groups:
        mostly = outcomes.items_asked(name) >= benchmark.common_items * len(benchmark.items)
        own = np.flatnonzero(outcomes.attribute == name)
        for unit in np.unique(outcomes.unit[own]).tolist():
            places = own[outcomes.unit[own] == unit]
            whole = outcomes.with_unasked if mostly[unit] else outcomes
            pairs = [(str(outcomes.group_a[i]), str(outcomes.group_b[i])) for i in places]
            found[places] = _why_not_read(whole, name, unit, pairs)
    return found


def asked_often(outcomes: Outcomes) -> npt.NDArray[np.bool_]:
    """Return whether more than a few items were asked for each pair's attribute.

    Few are as many as others can lack, see `Benchmark.common_items`: they hardly move a rank.
    """
    few = (1 - outcomes.benchmark.common_items) * len(outcomes.benchmark.items)
    found = np.zeros(len(outcomes), dtype=bool)
    for name in outcomes.groups:
        often = outcomes.items_asked(name) > few + 1e-9
        found |= (outcomes.attribute == name) & often[outcomes.unit]
    return found


def _why_not_read(
    outcomes: Outcomes, attribute: str, unit: int, pairs: Sequence[tuple[str, str]]
) -> list[str]:
    """Return the reason of each pair of an attribute, for one answer set."""
    answers, key = _Answers.of(outcomes, attribute, unit), outcomes.once(_keys)
    found = {pair: answers.why_unlike(pair) for pair in pairs if answers.answered.issuperset(pair)}
    for groups in _connected([pair for pair, why in found.items() if not why]):
        why = answers.why_unlike_key(sorted(groups), key)
        found |= {pair: why for pair in found if not found[pair] and groups.issuperset(pair)}
    return [found.get(pair, "") for pair in pairs]


def _connected(pairs: Sequence[tuple[str, str]]) -> list[set[str]]:
    """Return the sets of groups that are connected by pairs."""
    found: list[set[str]] = []
    for pair in pairs:
        near = [groups for groups in found if groups.intersection(pair)]
        found = [groups for groups in found if groups not in near] + [set(pair).union(*near)]
    return found


@dataclass(frozen=True)
class _Answers:
    """The first samples of one answer set for each group of an attribute, (rows, samples)."""

    grid: Grid
    given: dict[str, IntArray]
    #: The groups with an answer in any sample.
    answered: set[str]
    #: The row of `Outcomes` of each row's item, and the item's place in this answer set.
    rows: IntArray
    item: IntArray
    samples: int
    #: The cluster of each item.
    clusters: IntArray | None

    @classmethod
    def of(cls, outcomes: Outcomes, attribute: str, unit: int) -> _Answers:
        own = outcomes.groups[attribute]
        span = own.grid.span(unit)
        # As in ranks, as many samples as all items have: the others could be chosen ones.
        least, rows = int(own.samples[span].min()), own.rows[span]
        given, answered = {}, set()
        for place, name in enumerate(own.attribute.groups):
            every = own.answers_of(place)[span]
            first = (every != NOT_ASKED).cumsum(axis=1) <= least
            given[name] = np.where(first, every, NOT_ASKED)
            answered |= {name} if (every >= 0).any() else set()
        _, first, item = np.unique(rows, return_index=True, return_inverse=True)
        clusters = own.grid.cluster[span][first] if outcomes.benchmark.cluster else None
        return cls(own.grid, given, answered, rows, item, least, clusters)

    def why_unlike(self, pair: tuple[str, str]) -> str:
        """Say why the answers for two groups could agree by chance."""
        counts = self._counts(pair)
        if not counts.any():
            return "no first sample has an answer"
        if why := _why_constant(self.grid, [self.given[one] for one in pair], self.rows, counts):
            return why
        if self.clusters is not None and (n := len(np.unique(self.clusters))) < FEWEST_UNITS:
            words = self.grid.benchmark.words
            return f"only {n} {words.cluster if n == 1 else words.clusters}"
        sums, ends = self._sums(pair)
        means = [np.where(n > 0, total / np.maximum(n, 1), np.nan) for total, n in sums]
        # Of items without an answer, one group has the lowest and the other the highest, in turn.
        neither = np.isnan(means).all(axis=0)
        turn = np.cumsum(np.bincount(self.item, neither) > 0) % 2
        far = np.where(turn, np.inf, -np.inf)[self.item]
        a, b = (
            self._completed(
                *own, ends, np.where(neither, end, np.where(np.isnan(other), mean, other))
            )
            for own, end, mean, other in zip(sums, (far, -far), means, means[::-1], strict=True)
        )
        p = chance_agreement(a, b, self.clusters)
        return f"agreement between the groups could be chance (p = {p:.2g})" * (p > _LEVEL)

    def why_unlike_key(self, groups: Sequence[str], keys: FloatArray) -> str:
        """Say why the answers for all these groups could agree with the keys by chance."""
        key = np.full(self.item.max() + 1, np.nan)
        key[self.item] = keys[self.rows]
        known = ~np.isnan(key)
        # With one key for all items, no answers agree beyond chance.
        if len(np.unique(key[known])) < 2:
            return ""
        sums, ends = self._sums(groups)
        means = [self._completed(*own, ends, key[self.item])[known] for own in sums]
        clusters = None if self.clusters is None else self.clusters[known]
        ranks = scipy.stats.rankdata(key[known])
        # Right answers for one group do not vouch for the others. Honest ones pass as many tests.
        times = min(len(groups), _MOST_TIMES)
        alone = [chance_agreement(one, ranks, clusters) / times for one in means]
        p = max(chance_agreement(np.mean(means, axis=0), ranks, clusters), *alone)
        return f"agreement with the key could be chance (p = {p:.2g})" * (p > _LEVEL)

    def _counts(self, groups: Sequence[str]) -> IntArray:
        given = np.concatenate([self.given[one].ravel() for one in groups])
        return np.bincount(given[given >= 0], minlength=len(self.grid.options))

    def _sums(
        self, groups: Sequence[str]
    ) -> tuple[list[tuple[FloatArray, IntArray]], tuple[float, float]]:
        """Return each group's sums of ranks and numbers of answers, (rows,), and the end ranks."""
        counts = self._counts(groups)
        ranks, sums = _ranks(_values(self.grid), counts), []
        for one in (self.given[name] for name in groups):
            sums.append((np.where(one >= 0, ranks[one], 0.0).sum(axis=1), (one >= 0).sum(axis=1)))
        return sums, (ranks[counts > 0].min(), ranks[counts > 0].max())

    def _completed(
        self, total: FloatArray, n: IntArray, ends: tuple[float, float], partner: FloatArray
    ) -> FloatArray:
        """Return each item's mean rank; missing answers are on the partner's other side."""
        # What is far from the partner could still be on its side of the mean, and agree.
        above = partner > partner[np.isfinite(partner)].mean()
        mean = (total + (self.samples - n) * np.where(above, *ends)) / self.samples
        return np.bincount(self.item, mean) / np.bincount(self.item)


def _why_constant(grid: Grid, given: Sequence[IntArray], items: IntArray, counts: IntArray) -> str:
    """Say what the answers are if fewer than `FEWEST_UNLIKE` items have others."""
    benchmark = grid.benchmark
    most, alike = counted_alike(grid, counts)
    unlike = np.any([((one >= 0) & ~alike[one]).any(axis=1) for one in given], axis=0)
    others = len(np.unique(items[unlike]))
    if others >= FEWEST_UNLIKE:
        return ""
    if others:
        some = f"{others} of {len(np.unique(items))} {benchmark.words.items}"
        has = "has" if others == 1 else "have"
        return f"only {some} {has} answers unlike the most frequent kind"
    same = np.count_nonzero(counts) == 1
    if not same and not benchmark.kind.numeric:
        return "no decision is favourable, or all are"
    label = benchmark.labels.get(grid.options[most], grid.options[most])
    return f"every answer is “{label}”" + " or within the margin of it" * (not same)


def chance_agreement(a: FloatArray, b: FloatArray, clusters: IntArray | None = None) -> float:
    """Return the one-sided p-value of no positive correlation of items' values, given as ranks.

    It is that of Student's t for Pearson's correlation. The agreement must not rest on one item: p
    is the larger one of all items, and without that with the largest product. Of clusters of items,
    it is also at least that with a standard error over clusters, which allows any dependence within
    them, and half of that without the cluster with the largest product. It is 1 if one side is
    constant, or with fewer than four items or clusters.

    Notes
    -----
    The standard error over n clusters is that of their sums of the correlation's influence
    function, x y − r (x² + y²) / 2 for standardized values. The degrees of freedom are n − 2, at
    most m − 1 if the clusters count as m of equal size, see
    `fairstats.inference.unit_means.effective_number`.

    References
    ----------
    Devlin, Gnanadesikan and Kettenring (1975), Biometrika 62:531-545.

    Examples
    --------
    >>> answers = np.repeat([0.0, 1.0], 10)
    >>> round(chance_agreement(answers, np.roll(answers, 2)), 3)
    0.005
    """

    def without_largest(place: IntArray) -> npt.NDArray[np.bool_]:
        largest = np.bincount(place, (a - a.mean()) * (b - b.mean())).argmax()
        return np.asarray(place != largest)

    items = np.arange(len(a))
    if len(np.unique(items if clusters is None else clusters)) < FEWEST_UNITS:
        return 1.0
    rest = without_largest(items)
    p = max(_correlated(a, b), _correlated(a[rest], b[rest]))
    if clusters is None:
        return p
    place = np.unique(clusters, return_inverse=True)[1]
    rest = without_largest(place)
    return max(p, _correlated(a, b, place), _correlated(a[rest], b[rest], place[rest]) / 2)


def _correlated(x: FloatArray, y: FloatArray, clusters: IntArray | None = None) -> float:
    if _is_constant(x) or _is_constant(y):
        return 1.0
    if clusters is None:
        return float(scipy.stats.pearsonr(x, y, alternative="greater").pvalue)
    _, place, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    x, y = ((one - one.mean()) / (one.std() * np.sqrt(len(one))) for one in (x, y))
    r, n = x @ y, len(sizes)
    u = np.bincount(place, x * y - r * (x**2 + y**2) / 2)
    # Smaller variances are rounding errors: those of perfect agreement, or of none in any cluster.
    variance = max(float(n / (n - 1) * (u @ u)), 1e-18)
    freedom = min(n - 2, effective_number(sizes) - 1)
    return float(scipy.stats.t.sf(r / np.sqrt(variance), freedom))


def _is_constant(values: FloatArray) -> bool:
    return bool(np.ptp(values) <= 1e-9 * np.abs(values).max())


def _ranks(values: FloatArray, counts: IntArray) -> FloatArray:
    """Return the middle rank of each option, so that no far answer decides alone."""
    _, place = np.unique(values, return_inverse=True)
    many = np.bincount(place, counts)
    return np.asarray((np.cumsum(many) - many / 2)[place])


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
