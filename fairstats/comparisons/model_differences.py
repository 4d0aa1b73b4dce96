"""Difference between two models in a metric, on the items that both answered."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray, Tabular
from fairstats.counts.patterns import SUMS
from fairstats.inference.bootstrap import acceleration_of, interval_of_law
from fairstats.inference.clustered_answers import LARGEST_EXACT_SUM, sign_flip_test
from fairstats.inference.exact_sums import discrete_law
from fairstats.inference.intervals import tango
from fairstats.inference.item_bootstrap import mean_interval, resample_clusters

IntArray = npt.NDArray[np.int64]
#: A function of sums of shape (..., pairs, 6), in the order of
#: `fairstats.counts.patterns.SUMS`, to values of shape (...).
Figure = Callable[[IntArray], FloatArray]
#: Up to this number, every choice of signs is tested. With five pairs there are at most 1,024.
MOST_CHOICES = 1024
# The share of the level used by the tests of AD's signs.
_OF_SIGNS = 0.01
_BOUNDED = "bounded over the signs"


@dataclass(frozen=True, repr=False)
class ModelDifference(Tabular):
    """A metric of the new model minus that of the old one.

    Attributes
    ----------
    old, new : float
        The metric of each model.
    estimate, ci_low, ci_high : float
        new − old and its limits.
    method, test : str
        The method used.
    p_value : float
        For the hypothesis of no difference.
    """

    old: float
    new: float
    estimate: float
    ci_low: float
    ci_high: float
    method: str
    p_value: float
    test: str


def model_difference(
    old: IntArray,
    new: IntArray,
    figure: Figure,
    *,
    alpha: float = 0.05,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 1,
) -> ModelDifference:
    r"""Compute the difference between two models in a metric, with items resampled.

    Parameters
    ----------
    old, new : ndarray of int, shape (items, pairs, 6)
        Each item's contributions to the sums of each pair, in the order of `SUMS`; zeros if a model
        was not asked an item.
    figure : callable
        `accuracy`, `cfr` or `ad`.
    alpha : float
        1 − confidence level.
    n_resamples, rng
        For missing answers, see Notes.

    Returns
    -------
    ModelDifference

    Notes
    -----
    If all items have the same number of answers (none is missing), accuracy and CFR are means of
    one whole number per item. The interval is then the exact BCa bootstrap of that mean. If not,
    items are resampled with `rng`.

    The test swaps the two models' answers item by item. If each item has equally many answers of
    both models, and of both groups, a swap changes no denominator. The distribution over all swaps
    is then computed. If items were asked for different pairs, a pair of n items has weight 1 / n,
    as in the metric. These weights are converted to whole numbers, in the best proportion for which
    the distribution can be computed, usually accurate to 0.1% or better. The test is valid for any
    weights. If answers of one model are missing, the swaps are drawn with `rng`.

    AD is not such a mean: \|D\| has a kink at 0, where its bootstrap fails. But given the signs s,
    t of the two models' differences it is one: \|D_new\| − \|D_old\| = t D_new − s D_old. Each
    choice of signs gives the hypothesis "the two are equal, and s and t are the signs". It is
    tested by swapping, with 99% of the level, and by the exact tests of the signs, with 1%. The
    p-value is the largest over the choices. It has no floor: if the signs are clear, it is that of
    the swaps / 0.99. The interval spends a fifth of alpha on the differences' limits. It is the
    union over the signs compatible with these limits, each part cut at the limits. If more than
    1,024 choices of signs are possible, p-value and interval are bounded over them by a normal
    approximation (`fairstats.comparisons.ad_sign_bounds`). The bounds are wide if many signs are
    open.

    Interval and test agree. If an interval excludes 0 but the test does not reject, the interval is
    extended to 0. If items are so few that the test cannot reject, there is no interval. A p-value
    from random swaps is at least 1 / (n_resamples + 1); `test` notes if it is at this floor.

    References
    ----------
    Berger & Boos (1994), JASA 89:1012-1016, for maximising a p-value over unknown parameters;
    Berger (1982), Technometrics 24:295-300, for a union of hypotheses.
    """
    cells, many = _kinds(old, new)
    totals = np.einsum("k,k...->...", many, cells)
    values = (float(figure(totals[0])), float(figure(totals[1])))
    if np.isnan(values).any():
        nothing = "none (a model has no answers for a group)"
        return ModelDifference(*values, np.nan, -1.0, 1.0, nothing, 1.0, "none")
    resampling = Resampling(n_resamples, rng)
    estimate = values[1] - values[0]
    if figure is ad:
        p_value, test = ad_test(cells, many, resampling)
        low, high, method = ad_interval(cells, many, estimate, alpha, resampling)
    else:
        p_value, test = swap_test(cells, many, figure, resampling)
        low, high, method = item_interval(cells, many, figure, alpha, resampling)
        low, high = max(low, -1.0), min(high, 1.0)
    low, high, method = _agreeing(low, high, method, p_value, alpha, many)
    return ModelDifference(*values, estimate, low, high, method, p_value, test)


def model_p_value(
    old: IntArray,
    new: IntArray,
    figure: Figure,
    *,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 1,
) -> float:
    """Return only the p-value of `model_difference`; 1 if a model has no answer for a group."""
    cells, many = _kinds(old, new)
    totals = np.einsum("k,k...->...", many, cells)
    if np.isnan(figure(totals)).any():
        return 1.0
    resampling = Resampling(n_resamples, rng)
    if figure is ad:
        return ad_test(cells, many, resampling)[0]
    return swap_test(cells, many, figure, resampling)[0]


def _kinds(old: IntArray, new: IntArray) -> tuple[IntArray, IntArray]:
    """Return the kinds of items, (kinds, old and new, pairs, 6), and the number of each kind."""
    size = old.shape[1]
    both = np.concatenate([old, new], axis=1).reshape(len(old), 2 * size * len(SUMS))
    # Same as `np.unique` on rows, but several times faster.
    ordered = both[np.lexsort(both.T[::-1])]
    is_first = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))[: len(both)]
    first = np.flatnonzero(is_first)
    many = np.diff(np.append(first, len(both)))
    return ordered[first].reshape(len(first), 2, size, len(SUMS)), many


def _agreeing(
    low: float, high: float, method: str, p_value: float, alpha: float, many: IntArray
) -> tuple[float, float, str]:
    """Return the interval, extended to agree with a test that does not reject."""
    # The smallest mid-p of n items: all change in one direction, and half of either extreme counts.
    if 0.5 ** int(many.sum()) > alpha:
        return -1.0, 1.0, "none (too few items for a test at this level)"
    if p_value > alpha and not low <= 0 <= high:
        return min(low, 0.0), max(high, 0.0), f"{method}, extended to 0"
    return low, high, method


def accuracy(sums: IntArray) -> FloatArray:
    """Return the mean of the two groups' accuracies, averaged over the pairs."""
    a, b = rates(sums)
    return np.asarray((a + b).mean(axis=-1) / 2)


def cfr(sums: IntArray) -> FloatArray:
    """Return the counterfactual fairness rate, averaged over the pairs."""
    return np.asarray(_quotient(sums[..., 4], sums[..., 5]).mean(axis=-1))


def ad(sums: IntArray) -> FloatArray:
    """Return the accuracy disparity, averaged over the pairs."""
    a, b = rates(sums)
    return np.asarray(np.abs(a - b).mean(axis=-1))


#: The metrics by which models are compared, and 1 if a larger value is better, −1 if a smaller one.
FIGURES: dict[str, Figure] = {"accuracy": accuracy, "cfr": cfr, "ad": ad}
DIRECTION = {"accuracy": 1, "cfr": 1, "ad": -1}


def signed(sums: IntArray) -> FloatArray:
    """Return the signed difference of the groups' accuracies, averaged over the pairs."""
    a, b = rates(sums)
    return np.asarray((a - b).mean(axis=-1))


def rates(sums: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the accuracy of each group."""
    return _quotient(sums[..., 0], sums[..., 1]), _quotient(sums[..., 2], sums[..., 3])


def _quotient(part: IntArray, whole: IntArray) -> FloatArray:
    return np.asarray(np.where(whole > 0, part / np.maximum(whole, 1), np.nan))


@dataclass(frozen=True)
class Resampling:
    """The number of resamples, or of random swaps, and their generator."""

    n: int
    rng: np.random.Generator | int


def item_interval(
    cells: IntArray, many: IntArray, figure: Figure, alpha: float, resampling: Resampling
) -> tuple[float, float, str]:
    """Return a BCa bootstrap of items: exact if no answers are missing, resampled if some are."""
    exact = _per_item(cells, figure)
    if exact is not None:
        change, scale, largest = exact
        found = mean_interval(change, many, largest=largest, alpha=alpha)
        return float(found.ci_low) / scale, float(found.ci_high) / scale, str(found.method)
    flat, statistic = cells.reshape(len(cells), -1), _statistic(cells, figure)
    estimate = float(statistic((many @ flat)[None])[0])
    resampled = resample_clusters(flat, many, statistic, resampling.n, resampling.rng)
    if np.isnan(resampled).any():
        return -1.0, 1.0, "none (a resample has no answers for a group)"
    if np.ptp(resampled) == 0:
        half = float(tango(int(many.sum()), 0, 0, 0, alpha=alpha).ci_high)
        return estimate - half, estimate + half, "tango (the resamples do not vary)"
    acceleration = acceleration_of(flat, many, statistic)
    law = discrete_law(resampled)
    low, high, method = interval_of_law(law, estimate, acceleration, "bca", alpha)
    return low, high, f"bootstrap {method}, {resampling.n} resamples"


def _per_item(cells: IntArray, figure: Figure) -> tuple[IntArray, int, int] | None:
    """Return an item's change, its scale and largest value; None if answers are missing."""
    answers, size = np.unique(cells[..., [1, 3, 5]]), cells.shape[2]
    if len(answers) > 1:
        return None
    values = _values(cells, figure)
    change = (values[:, 1] - values[:, 0]).sum(axis=-1)
    scale = int(answers[0]) * size * (2 if figure is accuracy else 1)
    return change, scale, scale * (2 if figure is signed else 1)


def _values(cells: IntArray, figure: Figure) -> IntArray:
    """Return each kind's contribution to a metric's numerator, (kinds, old and new, pairs)."""
    if figure is cfr:
        return cells[..., 4]
    if figure is accuracy:
        return cells[..., 0] + cells[..., 2]
    return cells[..., 0] - cells[..., 2]


def _statistic(cells: IntArray, figure: Figure) -> Callable[[IntArray], FloatArray]:
    """Return the difference of the models as a function of summed cells, flattened."""

    def compute(totals: IntArray) -> FloatArray:
        sums = totals.reshape(*totals.shape[:-1], *cells.shape[1:])
        return figure(sums[..., 1, :, :]) - figure(sums[..., 0, :, :])

    return compute


def swap_test(
    cells: IntArray, many: IntArray, figure: Figure, resampling: Resampling
) -> tuple[float, str]:
    """Swap the models' answers per item: all swaps if denominators stay fixed, else random ones."""
    exact = swap_values(cells, many, figure)
    if exact is not None:
        test = sign_flip_test((exact[:, 1] - exact[:, 0]).sum(axis=-1), many)
        return float(test.p_value), f"models swapped item by item, {test.method}"
    used = cells.copy()
    # Cells that the metric does not use would only split kinds of items.
    used[..., slice(0, 4) if figure is cfr else slice(4, 6)] = 0
    sums = swapped_sums(used, many, resampling)
    return beyond(figure(sums[:, 1]) - figure(sums[:, 0]))


def swap_values(cells: IntArray, many: IntArray, figure: Figure) -> IntArray | None:
    """Return `_values` times the pairs' weights; None if a swap would change a denominator."""
    answers = cells[..., [5] if figure is cfr else [1, 3]]
    if (answers != answers[:, :1, :, :1]).any():
        return None
    values = _values(cells, figure)
    factor = max(int(np.gcd.reduce(values, axis=None)), 1)
    values = values // factor
    # If AD's signs are reversed, a swap can move the sum of both; if not, only their difference.
    moved = np.abs(values) if figure is signed else np.diff(values, axis=1)
    size = int(many @ np.abs(moved).sum(axis=(1, 2)))
    return values * _whole_weights(many @ answers[:, 0, :, 0], size)


def _whole_weights(answers: IntArray, size: int) -> IntArray:
    """Return whole numbers that are approximately proportional to 1 / answers.

    `size` is the total that swaps can move; its distribution is computed up to `LARGEST_EXACT_SUM`.
    """
    share = answers.min() / answers
    most = LARGEST_EXACT_SUM // max(size, 1)
    # If even coarse weights make the sum too large, fine ones cost nothing.
    largest = np.arange(1, 1001 if most < 100 else min(most, 1000) + 1)
    exact = largest[:, None] * share
    error = np.abs(np.rint(exact) / exact - 1).max(axis=1)
    best = int((error < error.min() + 1e-12).argmax())
    return np.maximum(np.rint(exact[best]), 1).astype(np.int64)


def swapped_sums(cells: IntArray, many: IntArray, resampling: Resampling) -> IntArray:
    """Return the sums of both models after random swaps, (1 + n, old and new, pairs, columns).

    The first row is without any swap.
    """
    change = (cells[:, 1] - cells[:, 0]).reshape(len(cells), -1)
    # Items with the same effect of a swap are drawn together. Items without an effect are not
    # drawn.
    rows, kind = np.unique(change, axis=0, return_inverse=True)
    count = np.bincount(kind.ravel(), weights=many, minlength=len(rows)).astype(np.int64)
    moves = rows.any(axis=1)
    rng = np.random.default_rng(resampling.rng)
    drawn = rng.binomial(count[moves], 0.5, (resampling.n, int(moves.sum())))
    swapped = np.vstack([np.zeros_like(count[moves]), drawn])
    # Floating point makes the products fast and is exact for these whole numbers.
    moved = (swapped.astype(np.float64) @ rows[moves]).astype(np.int64)
    moved = moved.reshape(-1, *cells.shape[2:])
    old, new = np.einsum("k,k...->...", many, cells)
    return np.stack([old + moved, new - moved], axis=1)


def beyond(changes: FloatArray) -> tuple[float, str]:
    """Return the share of swaps with a change at least as large as the first, observed one."""
    # A swap that leaves a group without answers counts as extreme (conservative).
    far = (np.abs(changes) >= abs(changes[0]) - 1e-12) | np.isnan(changes)
    name = f"models swapped item by item, {len(changes) - 1} swaps"
    if far.sum() == 1:
        name += f" (p ≤ 1/{len(changes)}, their floor)"
    return float(far.mean()), name


def ad_interval(
    cells: IntArray, many: IntArray, estimate: float, alpha: float, resampling: Resampling
) -> tuple[float, float, str]:
    """Return the union of the intervals over the signs compatible with the differences' limits."""
    # A fifth of alpha is spent on the range of each difference, and so on its sign.
    error = alpha / 5
    lows, highs, methods = [], [], []
    limits = _own_limits(cells, many, error)
    evidence = _sign_evidence(cells, many)
    # A sign counts as known if its exact test shows it, at `error` over all of them.
    known = [2 * abs(p) <= error / len(evidence) for p in evidence]
    if 2 ** known.count(False) > MOST_CHOICES:
        low, high = SignedChange.of(cells, many).interval(~np.array(known), alpha - error)
        old_most, new_most = np.abs(limits).max(axis=-1).mean(axis=-1)
        low, high = max(low, -float(old_most)), min(high, float(new_most))
        return min(low, estimate), max(high, estimate), f"normal, {_BOUNDED}"
    for signs in _choices(evidence, known):
        low, high, method = item_interval(
            _turned(cells, signs), many, signed, alpha - error, resampling
        )
        old, new = np.array(signs).reshape(2, -1)
        # With these signs, |D| is at most the difference's limit on that side.
        furthest = [
            float(np.where(side > 0, own[:, 1], -own[:, 0]).mean())
            for side, own in zip((old, new), limits, strict=True)
        ]
        if min(furthest) >= 0:
            lows.append(max(low, -furthest[0]))
            highs.append(min(high, furthest[1]))
            methods.append(method)
    # The estimate uses the observed signs, which are always among the choices.
    return min([*lows, estimate]), max([*highs, estimate]), _named(methods, len(methods))


def ad_test(cells: IntArray, many: IntArray, resampling: Resampling) -> tuple[float, str]:
    """Return the largest p-value over all choices of signs, each tested by swapping."""
    evidence = _sign_evidence(cells, many)
    exact = swap_values(cells, many, signed)
    if exact is None:
        test = _random_ad_swaps(cells, many, resampling)
    else:
        test = _exact_ad_swaps(exact, many)
    observed = tuple(1 if p > 0 else -1 for p in evidence)
    p_swaps, name = test(observed)
    largest, names = p_swaps / (1 - _OF_SIGNS), [name]
    # Evidence against the other sign of each difference, scaled to its part of the level.
    against = [len(evidence) * abs(p) / _OF_SIGNS for p in evidence]
    if 2 ** sum(p > largest for p in against) > MOST_CHOICES:
        bound = largest_p_value(SignedChange.of(cells, many), against) / (1 - _OF_SIGNS)
        return min(max(largest, bound), 1.0), f"{name}, {_BOUNDED}"
    choices = _choices(evidence, [p <= largest for p in against])

    def plausible(signs: tuple[int, ...]) -> float:
        """Return the p-value of the least plausible sign that differs from the observed one."""
        pairs = zip(against, signs, observed, strict=True)
        return min(p for p, sign, seen in pairs if sign != seen)

    # Most plausible first: if one cannot raise the p-value, later ones cannot either.
    others = [(plausible(signs), signs) for signs in choices if signs != observed]
    for most, signs in sorted(others, reverse=True):
        if most <= largest:
            break
        p_swaps, name = test(signs)
        largest = max(largest, min(p_swaps / (1 - _OF_SIGNS), most))
        names.append(name)
    return min(largest, 1.0), _named(names, len(choices))


def _exact_ad_swaps(
    values: IntArray, many: IntArray
) -> Callable[[tuple[int, ...]], tuple[float, str]]:
    """Return the exact swap test as a function of the signs, given `swap_values`."""
    old, new = np.moveaxis(values, 1, 0)

    @cache
    def of_signs(signs: tuple[int, ...]) -> tuple[float, str]:
        of_old, of_new = np.array(signs).reshape(2, -1)
        test = sign_flip_test(new @ of_new - old @ of_old, many)
        return float(test.p_value), f"models swapped item by item, {test.method}"

    def test(signs: tuple[int, ...]) -> tuple[float, str]:
        # Reversing all signs only reverses the sign of the change.
        return of_signs(signs if signs[0] > 0 else tuple(-sign for sign in signs))

    return test


def _random_ad_swaps(
    cells: IntArray, many: IntArray, resampling: Resampling
) -> Callable[[tuple[int, ...]], tuple[float, str]]:
    """Return the swap test as a function of the signs, from one draw of swaps.

    If both models' signs are reversed, the difference is too. Only unequal signs mix the groups.
    """
    one_sided = (1,) * cells.shape[2] + (-1,) * cells.shape[2]
    both = np.concatenate([cells, _turned(cells, one_sided)], axis=2)[..., :4]
    sums = swapped_sums(both, many, resampling)
    alike, unlike = np.split(np.subtract(*rates(sums)), 2, axis=-1)

    def test(signs: tuple[int, ...]) -> tuple[float, str]:
        old, new = np.array(signs).reshape(2, -1)
        signed = (old * np.where(old == new, alike, unlike)).mean(axis=-1)
        return beyond(signed[:, 1] - signed[:, 0])

    return test


def _named(names: list[str], choices: int) -> str:
    text = "; ".join(dict.fromkeys(names))
    return text if choices == 1 else f"{text}, over {choices} signs"


def _choices(evidence: list[float], known: list[bool]) -> list[tuple[int, ...]]:
    """Return all possible signs of the differences, the old model's first; known ones are fixed."""
    signs = [
        ((1 if p > 0 else -1),) if fixed else (1, -1)
        for p, fixed in zip(evidence, known, strict=True)
    ]
    return list(product(*signs))


def _sign_evidence(cells: IntArray, many: IntArray) -> list[float]:
    """Return the evidence for the sign of each difference, the old model's first.

    This is the one-sided p-value of the exact test that flips items, with the sign of the
    difference: near ±0 the sign is clear. It is 1 if the test of the pairs disagrees with the
    difference of the groups' answers.
    """
    found = []
    for model, pair in np.ndindex(2, cells.shape[2]):
        sums = cells[:, model, pair]
        a, b = (int(many @ sums[:, i]) / max(int(many @ sums[:, i + 1]), 1) for i in (0, 2))
        change = _paired_change(sums)
        p_value = float(sign_flip_test(change, many, method="exact").p_value) / 2
        agrees = (a - b) * int(change @ many) > 0
        found.append((p_value if agrees else 1.0) * (1 if a > b else -1))
    return found


def _paired_change(sums: IntArray) -> IntArray:
    """Return each item's n10 − n01, for items with equally many answers of both groups."""
    return np.where(sums[:, 1] == sums[:, 3], sums[:, 0] - sums[:, 2], 0)


def _own_limits(cells: IntArray, many: IntArray, error: float) -> FloatArray:
    """Return simultaneous limits of each difference, of shape (2, pairs, 2)."""
    size, each = cells.shape[2], int(cells[..., [1, 3]].max())
    limits = np.empty((2, size, 2))
    for model, pair in np.ndindex(2, size):
        change = _paired_change(cells[:, model, pair])
        found = mean_interval(change, many, largest=each, alpha=error / (2 * size))
        answers = max(int(many @ cells[:, model, pair, 1]), 1) / max(int(many.sum()), 1)
        limits[model, pair] = [float(found.ci_low) / answers, float(found.ci_high) / answers]
    return limits


def _turned(cells: IntArray, signs: tuple[int, ...]) -> IntArray:
    """Swap the groups if a difference counts with the other sign."""
    turned = cells.copy()
    swapped = [2, 3, 0, 1, 4, 5]
    for sign, (model, pair) in zip(signs, np.ndindex(2, cells.shape[2]), strict=True):
        if sign < 0:
            turned[:, model, pair] = cells[:, model, pair][:, swapped]
    return turned


@dataclass(frozen=True)
class SignedChange:
    r"""The change of AD between two models as a sum over items, with the observed signs.

    Parameters
    ----------
    values : ndarray of float, shape (kinds, 2 * pairs)
        Each kind of item's part of −\|D\| of the old model, for each pair, and of \|D\| of the new
        one. The sum over all items is the change of AD.
    many : ndarray of int, shape (kinds,)
        The number of items of each kind.
    """

    values: FloatArray
    many: npt.NDArray[np.int64]

    @classmethod
    def of(cls, cells: npt.NDArray[np.int64], many: npt.NDArray[np.int64]) -> SignedChange:
        """Return the change given each kind's sums, of shape (kinds, old and new, pairs, 6)."""
        answers = np.maximum(np.einsum("k,k...->...", many, cells[..., [1, 3]]), 1)
        shares = cells[..., [0, 2]] / answers
        difference = (shares[..., 0] - shares[..., 1]) / cells.shape[2]
        signs = np.where(np.einsum("k,k...->...", many, difference) > 0, 1, -1)
        signed = difference * signs * np.array([[-1], [1]])
        return cls(signed.reshape(len(cells), -1), many)

    def range(self, unknown: npt.NDArray[np.bool_]) -> tuple[float, float]:
        """Return the lowest and highest change if these signs may be the other ones."""
        totals = self.many @ self.values
        # Reversing a sign reverses its part of the sum.
        moved = -2 * totals[unknown]
        whole = float(totals.sum())
        return whole + float(moved[moved < 0].sum()), whole + float(moved[moved > 0].sum())

    def deviation(self, unknown: npt.NDArray[np.bool_]) -> float:
        """Return the largest standard deviation over all swaps, for any choice of these signs."""
        known = np.abs(self.values[:, ~unknown].sum(axis=1))
        largest = known + np.abs(self.values[:, unknown]).sum(axis=1)
        return math.sqrt(float(self.many @ largest**2))

    def p_value(self, unknown: npt.NDArray[np.bool_]) -> float:
        """Return an upper limit of the swap test's p-value over all choices of these signs."""
        low, high = self.range(unknown)
        if low <= 0 <= high:
            return 1.0
        deviation = self.deviation(unknown)
        return float(2 * scipy.stats.norm.sf(min(abs(low), abs(high)) / deviation))

    def interval(self, unknown: npt.NDArray[np.bool_], alpha: float) -> tuple[float, float]:
        """Return limits that contain the normal interval of every choice of these signs."""
        low, high = self.range(unknown)
        reach = float(scipy.stats.norm.isf(alpha / 2)) * self.deviation(unknown)
        return low - reach, high + reach


def largest_p_value(change: SignedChange, against: Sequence[float]) -> float:
    """Return an upper limit of the p-value over all choices of signs that differ from the observed.

    Parameters
    ----------
    change : SignedChange
        The change of AD.
    against : sequence of float
        The p-value of the other sign of each difference. A choice is at most as plausible as its
        least plausible sign.

    Notes
    -----
    A choice whose least plausible sign has the p-value p only reverses signs with at least p. So it
    suffices to bound one set of signs per p-value, instead of 2^n choices. The bound takes the
    smallest change and the largest variance of any choice, which may be of different choices.

    Examples
    --------
    >>> values = np.array([[-0.001, 0.004], [0.0, -0.004]])
    >>> change = SignedChange(values, np.array([100, 20]))
    >>> clear, open_ = (largest_p_value(change, against) for against in ([1, 1e-9], [1, 1]))
    >>> clear < 1e-3, open_
    (True, 1.0)
    """
    other = np.asarray(against)
    limits = [min(change.p_value(other >= p), float(p)) for p in np.unique(other)]
    return max(limits, default=0.0)
