"""Difference between two models in a metric, on the items that both answered."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray, Tabular, TestResult
from fairstats.benchmarks.kinds import CHOICE, KINDS, Kind
from fairstats.inference._checks import LEAST_P
from fairstats.inference.clustered_answers import (
    LARGEST_EXACT_SUM,
    MOST_ON_GRID,
    all_signs,
    flip_test,
    sign_flip_test,
)
from fairstats.inference.unit_means import GroupSums, contrasts
from fairstats.inference.verdict import roomy_difference

IntArray = npt.NDArray[np.int64]
#: The sums of a pair's answers from which figures are computed. Of levels and scores, "correct"
#: are the steps on the scale, and n the steps to its end.
SUMS = ("correct_a", "n_a", "correct_b", "n_b", "same", "n")
#: A function of sums of shape (..., pairs, 6), in the order of `SUMS`, to values of shape (...).
Figure = Callable[[IntArray], FloatArray]
#: Up to this number, every choice of signs is tested. With five pairs there are at most 1,024.
MOST_CHOICES = 1024
# The shares of the level used by the tests of AD's signs, and by the tests of several pairs with
# every choice of the larger model's signs, up to this number of choices.
_OF_SIGNS, _OF_SUMS, _MOST_SUMS = 0.01, 0.1, 32
# The cells of a table that is computed at a time.
_CELLS = 2**20


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
    few_units: bool = False,
    units: float = np.inf,
) -> ModelDifference:
    r"""Compute the difference between two models in a metric on the same items.

    Parameters
    ----------
    old, new : ndarray of int, shape (items, pairs, 6)
        Contributions of each item, or of each cluster of items, to the sums of each pair, in the
        order of `SUMS`; zeros if a model was not asked an item.
    figure : callable
        `accuracy`, `cfr`, `signed` or `ad`.
    alpha : float
        1 − confidence level.
    n_resamples, rng
        The number of random swaps, if answers are missing, and their generator. If there are at
        most so many swaps in all, each is used once.
    few_units : bool
        Whether units are few and of unequal size, and so tested on a fine scale.
    units : float
        The number of independent units, if they have several answers: limits that include 0 then
        have room for rare ones (`fairstats.inference.verdict.with_room`).

    Notes
    -----
    Intervals of accuracy, CFR and the signed difference are those of
    `fairstats.inference.unit_means`: Student's t with a cluster-robust variance (CR2), at least
    Tango's score interval with effective counts. The BCa bootstrap of items covers in 85 to 91% if
    only a few of 60 or 100 items change.

    The test swaps the two models' answers item by item. If each item has equally many answers of
    both models, and of both groups, a swap changes no denominator. The distribution over all swaps
    is then computed. If items were asked for different pairs, a pair of n items has weight 1 / n,
    as in the metric. These weights are converted to whole numbers, in the best proportion for which
    the distribution can be computed, usually accurate to 0.1% or better. The test is valid for any
    weights. If answers of one model are missing, swaps change the denominators, and the metric is
    computed again for each. All 2ⁿ swaps of n items that differ are used if there are at most
    `n_resamples`, else random ones drawn with `rng`. Then p is not mid-p but exact: swaps as far as
    the observed one count in full.

    AD is not such a mean: \|D\| has a kink at 0, where such intervals fail. But given the signs s,
    t of the two models' differences it is one: \|D_new\| − \|D_old\| = t D_new − s D_old. Each
    choice of signs gives the hypothesis "the two are equal, and s and t are the signs". It is
    tested by swapping, with 99% of the level, and by the exact tests of the signs, with 1%. The
    p-value is the largest over the choices. It has no floor: if the signs are clear, it is that of
    the swaps / 0.99. With two to five pairs, 10% of the level is for sums, and 89% for the swaps:
    whatever the signs s of m differences are, Σ s_p D_p estimates at most Σ \|D_p\|. So the larger
    model's observed signs, one of 2ᵐ choices, may be used without evidence for them, next to any
    signs of the smaller model. The interval spends a fifth of alpha on the differences' limits. It
    is the union over the signs compatible with these limits, each part cut at the limits. If more
    than 1,024 choices of signs are possible, p-value and interval are bounded over them by a normal
    approximation. The bounds are wide if many signs are open.

    Interval and test agree, but for AD, whose interval can include 0 where its test rejects. If an
    interval excludes 0 but the test does not reject, the interval is extended to 0. If items are so
    few that the test cannot reject, there is no interval. A p-value from random swaps is at least
    1 / (n_resamples + 1); `test` notes if it is at this floor.

    References
    ----------
    Berger & Boos (1994), JASA 89:1012-1016, for maximising a p-value over unknown parameters;
    Berger (1982), Technometrics 24:295-300, for a union of hypotheses.
    """
    both, furthest = np.stack([old, new]), 2.0 if figure is signed else 1.0
    values = (float(figure(old.sum(axis=0))), float(figure(new.sum(axis=0))))
    if np.isnan(values).any():
        nothing = "none (a model has no answers for a group)"
        return ModelDifference(*values, np.nan, -furthest, furthest, nothing, 1.0, "none")
    resampling = Resampling(n_resamples, rng, few_units)
    estimate = values[1] - values[0]
    (p_value,), (test,) = _swap_tests(both, figure, resampling)
    cells, many = _kinds(old, new)
    if figure is ad:
        evidence = _sign_evidence(both, few_units).ravel()
        low, high, method = ad_interval(cells, many, evidence, estimate, alpha)
    else:
        low, high, method = item_interval(cells, many, figure, alpha)
    low, high, room = roomy_difference(
        estimate, (low, high), units=units, span=furthest, alpha=alpha
    )
    low, high, method = max(low, -furthest), min(high, furthest), method + room
    if 0.5 ** int(many.sum()) > alpha:
        # The smallest mid-p of n items: all change in one direction, and half of either extreme
        # counts.
        low, high = -furthest, furthest
        method = f"none (too few {'units' if few_units else 'items'} for a test at this level)"
    elif p_value > alpha and not low <= 0 <= high:
        low, high, method = min(low, 0.0), max(high, 0.0), f"{method}, extended to 0"
    return ModelDifference(*values, estimate, low, high, method, float(p_value), test)


def model_p_values(
    models: npt.ArrayLike,
    figure: Figure,
    *,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 1,
    few_units: bool = False,
) -> FloatArray:
    """Test the difference of every two models, as `model_difference`.

    The sums have the shape (models, items, pairs, 6). The p-values are in the order of
    `itertools.combinations`, and 1 if a model has no answer for a group.
    """
    sums, resampling = np.asarray(models), Resampling(n_resamples, rng, few_units)
    if len(sums) < 2:
        return np.zeros(0)
    if len(sums) > 2 and not _has_fixed_denominators(sums, figure):
        each = combinations(sums, 2)
        return np.array([_swap_tests(np.stack(two), figure, resampling)[0][0] for two in each])
    return _swap_tests(sums, figure, resampling)[0]


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


def signed(sums: IntArray) -> FloatArray:
    """Return the signed difference of the groups' accuracies, averaged over the pairs."""
    a, b = rates(sums)
    return np.asarray((a - b).mean(axis=-1))


def figures_of(kind: Kind) -> dict[str, Figure]:
    """Return the figures by which models are compared, by name.

    Examples
    --------
    >>> list(figures_of(KINDS["choice"])), list(figures_of(KINDS["level"]))
    (['accuracy', 'cfr', 'ad'], ['level', 'level_difference', 'cfr', 'level_disparity'])
    """
    if kind is CHOICE:
        return {kind.rate: accuracy, "cfr": cfr, kind.disparity: ad}
    return {kind.rate: accuracy, kind.difference: signed, "cfr": cfr, kind.disparity: ad}


#: 1 for figures of which a larger value is better, −1 if a smaller one is. That a model selects
#: more, or gives higher levels, is neither.
DIRECTION = {CHOICE.rate: 1, "cfr": 1} | {kind.disparity: -1 for kind in KINDS.values()}


def rates(sums: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the accuracy of each group."""
    return _quotient(sums[..., 0], sums[..., 1]), _quotient(sums[..., 2], sums[..., 3])


def _quotient(part: IntArray, whole: IntArray) -> FloatArray:
    return np.asarray(np.where(whole > 0, part / np.maximum(whole, 1), np.nan))


@dataclass(frozen=True)
class Resampling:
    """The largest number of swaps, and the generator of random ones; whether units are few."""

    n: int
    rng: np.random.Generator | int
    few_units: bool = False


def item_interval(
    cells: IntArray, many: IntArray, figure: Figure, alpha: float
) -> tuple[float, float, str]:
    """Return limits over items, or clusters, that hold if few of them change."""
    groups = [
        (_group(cells, many, side, pair, place), weight / cells.shape[2])
        for side, sign in ((1, 1), (0, -1))
        for pair in range(cells.shape[2])
        for place, weight in _means(figure, sign)
    ]
    found = contrasts([groups], (0.0, 1.0), alpha)[0]
    return float(found.ci_low), float(found.ci_high), str(found.method)


def _means(figure: Figure, sign: int) -> list[tuple[int, float]]:
    """Return the place in `SUMS` of each mean in a figure, and its weight."""
    if figure is cfr:
        return [(4, sign)]
    if figure is accuracy:
        return [(0, sign / 2), (2, sign / 2)]
    return [(0, sign), (2, -sign)]


def _group(cells: IntArray, many: IntArray, side: int, pair: int, place: int) -> GroupSums:
    sums, sizes = (cells[:, side, pair, at].astype(np.float64) for at in (place, place + 1))
    return GroupSums(sums, sizes, many.astype(np.float64))


def _values(cells: IntArray, figure: Figure) -> IntArray:
    """Return each kind's contribution to a metric's numerator, (kinds, old and new, pairs)."""
    if figure is cfr:
        return cells[..., 4]
    if figure is accuracy:
        return cells[..., 0] + cells[..., 2]
    return cells[..., 0] - cells[..., 2]


#: Tests of comparisons by swapping: the places of two models, (tests, 2), and the signs of their
#: differences, the first model's first, (tests, 2 * pairs) -> the p-values, and the method. A
#: p-value that cannot exceed the third argument may be returned as 0.
_Swaps = Callable[[IntArray, IntArray, FloatArray], tuple[FloatArray, str]]


def _swap_tests(
    models: IntArray, figure: Figure, resampling: Resampling
) -> tuple[FloatArray, list[str]]:
    """Test every two models by swapping their answers per item; return p-values and methods.

    All swaps are used if they leave the denominators fixed or are few, else random ones of two
    models.
    """
    pairs = np.column_stack(np.triu_indices(len(models), 1))
    if np.isnan(figure(models.sum(axis=1))).any():
        return np.ones(len(pairs)), ["none"] * len(pairs)
    is_exact = _has_fixed_denominators(models, figure)
    few = resampling.few_units
    swaps = (
        _exact_swaps(models, figure, few) if is_exact else _listed_swaps(models, figure, resampling)
    )
    if figure is ad:
        p_values, method, choices = _over_signs(models, pairs, swaps, few)
    else:
        ones = np.ones((len(pairs), 2 * models.shape[2]), dtype=np.int64)
        p_values, method = swaps(pairs, ones, np.zeros(len(pairs)))
        choices = [""] * len(pairs)
    # If all swaps are listed, the smallest p-value is 2 / their number, and larger than this.
    if not is_exact and p_values[0] < 1.5 / (resampling.n + 1):
        method += f" (p ≤ 1/{resampling.n + 1}, their floor)"
    by = "unit by unit" if few else "item by item"
    return p_values, [f"models swapped {by}, {method}{more}" for more in choices]


def _has_fixed_denominators(models: IntArray, figure: Figure) -> bool:
    """Return whether a swap of two models' answers to an item never changes a denominator."""
    columns = [5] if figure is cfr else [1, 3]
    return all(bool((models[..., n] == models[0, ..., columns[0]]).all()) for n in columns)


def _exact_swaps(models: IntArray, figure: Figure, few: bool) -> _Swaps:
    """Return the exact tests of models whose answers have the same denominators."""
    answers = models[0, :, :, 5 if figure is cfr else 1].sum(axis=0)
    values = _values(models, figure)
    # Squares of fine steps do not fit into 64 bits.
    products = np.stack([own.T.astype(np.float64) @ own for own in values])

    @cache
    def weights(i: int, j: int) -> IntArray:
        both = values[[i, j]]
        # If AD's signs are reversed, a swap can move the sum of both, else only their difference.
        moved = np.abs(both) if figure is ad else np.abs(np.diff(both, axis=0))
        factor = max(int(np.gcd.reduce(both, axis=None)), 1)
        return _whole_weights(answers, int(moved.sum()) // factor)

    def largest_p_values(pairs: IntArray, factors: IntArray) -> FloatArray:
        """Bound p-values by the normal one, times 3.18 or plus Berry and Esseen's bound.

        Bentkus & Dzindzalieta (2015), Bernoulli 21:1231-1237, for the product; Shevtsova (2010),
        Doklady Mathematics 82:862-864, for the sum, with the constant 0.56.
        """
        total = np.einsum("tsp,tsp->t", factors, values.sum(axis=1)[pairs])
        each, place = np.unique(pairs, axis=0, return_inverse=True)
        mixed = np.array([values[i].T.astype(np.int64) @ values[j] for i, j in each])[place.ravel()]
        squares = np.einsum("tsp,tspq,tsq->t", factors, products[pairs], factors)
        squares += 2 * np.einsum("tp,tpq,tq->t", factors[:, 0], mixed, factors[:, 1])
        deviation = np.sqrt(np.maximum(squares, 1e-9))
        largest = np.einsum("tsp,tsp->t", np.abs(factors), np.abs(values).max(axis=1)[pairs])
        normal = scipy.special.erfc(np.abs(total) / deviation / math.sqrt(2))
        return np.minimum(normal + 1.12 * largest / deviation, 3.18 * normal)

    def test(pairs: IntArray, signs: IntArray, least: FloatArray) -> tuple[FloatArray, str]:
        found, methods = np.zeros(len(pairs)), []
        factors = signs.reshape(len(pairs), 2, -1) * np.array([[-1], [1]])
        if (answers != answers[0]).any():
            factors *= np.stack([weights(*pair) for pair in pairs.tolist()])[:, None]
        tested = np.arange(len(pairs))
        if least.any():
            most = [
                largest_p_values(pairs[rows], factors[rows])
                for rows in _blocks(tested, products[0].size)
            ]
            tested = np.flatnonzero(np.concatenate(most) > least)
        for rows in _blocks(tested, values.shape[1]):
            # Many tests have the same model with the same signs.
            change = np.zeros((len(rows), values.shape[1]), dtype=np.int64)
            for side in (0, 1):
                own = np.column_stack([pairs[rows, side], factors[rows, side]])
                kinds, place = np.unique(own, axis=0, return_inverse=True)
                change += np.array([values[model] @ own for model, *own in kinds])[place.ravel()]
            results = [_flipped(*each, few) for each in _counts_of_changes(change)]
            found[rows] = np.concatenate([result.p_value for result in results])
            methods += [result.method for result in results]
        return found, _alternatives(methods)

    return test


def _flipped(
    steps: IntArray, counts: IntArray, few: bool, method: Literal["midp", "exact"] = "midp"
) -> TestResult:
    """Test sums of changes by flipping, also of few units on a fine scale."""
    found = sign_flip_test(steps, counts, method=method)
    if few and "asymptotic" in found.method and counts.sum(axis=-1).max() <= MOST_ON_GRID:
        return flip_test(steps, counts, method=method)
    return found


def _blocks(rows: IntArray, width: int) -> Iterator[IntArray]:
    """Cut rows into blocks whose tables have about `_CELLS` cells, with so many per row."""
    size = max(_CELLS // max(width, 1), 1)
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _alternatives(methods: list[str]) -> str:
    return " or ".join(dict.fromkeys(" or ".join(filter(None, methods)).split(" or ")))


def _counts_of_changes(changes: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Count each value in the rows of changes; row by row if there are many values."""
    largest = int(np.abs(changes).max(initial=0))
    if largest > 500:
        for change in changes:
            steps, counts = np.unique(change, return_counts=True)
            yield steps, counts[None]
        return
    steps = np.arange(-largest, largest + 1)
    for rows in _blocks(np.arange(len(changes)), changes.shape[1]):
        places = changes[rows] + (largest + len(steps) * np.arange(len(rows)))[:, None]
        counts = np.bincount(places.ravel(), minlength=len(rows) * len(steps))
        yield steps, counts.reshape(len(rows), len(steps))


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


def _swapped_sums(cells: IntArray, many: IntArray, resampling: Resampling) -> tuple[IntArray, str]:
    """Return the sums of both models after swaps, (swaps, old and new, pairs, columns).

    The first row is without any swap. All swaps are listed if they are few, else random ones.
    """
    change = (cells[:, 1] - cells[:, 0]).reshape(len(cells), -1)
    # Items with the same effect of a swap are drawn together. Items without an effect are not
    # drawn.
    rows, kind = np.unique(change, axis=0, return_inverse=True)
    count = np.bincount(kind.ravel(), weights=many, minlength=len(rows)).astype(np.int64)
    moves = rows.any(axis=1)
    rows, count = rows[moves], count[moves]
    number = int(count.sum())
    # 2^number is at most n.
    if number < int(resampling.n).bit_length():
        swapped, rows = all_signs(number) < 0, np.repeat(rows, count, axis=0)
        method = f"all {len(swapped)} swaps"
    else:
        rng = np.random.default_rng(resampling.rng)
        drawn = rng.binomial(count, 0.5, (resampling.n, len(count)))
        swapped, method = np.vstack([np.zeros_like(count), drawn]), f"{resampling.n} random swaps"
    # Floating point makes the products fast and is exact for these whole numbers.
    moved = (swapped.astype(np.float64) @ rows).astype(np.int64)
    moved = moved.reshape(-1, *cells.shape[2:])
    old, new = np.einsum("k,k...->...", many, cells)
    return np.stack([old + moved, new - moved], axis=1), method


def _listed_swaps(models: IntArray, figure: Figure, resampling: Resampling) -> _Swaps:
    """Return the tests of two models by listed swaps, the same ones for each choice of signs.

    If both models' signs are reversed, the difference is too. Only unequal signs mix the groups.
    """
    cells, many = _kinds(*models)
    # Cells that the metric does not use would only split kinds of items.
    cells[..., slice(0, 4) if figure is cfr else slice(4, 6)] = 0
    if figure is ad:
        one_sided = np.repeat([1, -1], cells.shape[2])
        cells = np.concatenate([cells, _turned(cells, one_sided)], axis=2)
    sums, method = _swapped_sums(cells, many, resampling)
    alike, unlike = np.split(np.subtract(*rates(sums)), 2, axis=-1) if figure is ad else [sums] * 2

    def test(_: IntArray, signs: IntArray, __: FloatArray) -> tuple[FloatArray, str]:
        found = []
        for own in signs:
            if figure is ad:
                old, new = own.reshape(2, -1)
                sides = (old * np.where(old == new, alike, unlike)).mean(axis=-1)
            else:
                sides = figure(sums)
            changes = sides[:, 1] - sides[:, 0]
            # A swap that leaves a group without answers counts as extreme (conservative).
            far = (np.abs(changes) >= abs(changes[0]) - 1e-12) | np.isnan(changes)
            found.append(far.mean())
        return np.array(found), method

    return test


def ad_interval(
    cells: IntArray,
    many: IntArray,
    evidence: FloatArray,
    estimate: float,
    alpha: float,
) -> tuple[float, float, str]:
    """Return the union of the intervals over the signs compatible with the differences' limits."""
    # A fifth of alpha is spent on the range of each difference, and so on its sign.
    error = alpha / 5
    lows, highs, methods = [], [], []
    limits = _own_limits(cells, many, error)
    # A sign counts as known if its exact test shows it, at `error` over all of them.
    unknown = 2 * np.abs(evidence) > error / len(evidence)
    if 2 ** int(unknown.sum()) > MOST_CHOICES:
        low, high = _SignedChange.of(cells, many).interval(unknown, alpha - error)
        old_most, new_most = np.abs(limits).max(axis=-1).mean(axis=-1)
        low, high = max(low, -float(old_most)), min(high, float(new_most))
        return min(low, estimate), max(high, estimate), "normal, bounded over the signs"
    for signs in _observed(evidence) * _flips(unknown):
        low, high, method = item_interval(_turned(cells, signs), many, signed, alpha - error)
        old, new = signs.reshape(2, -1)
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
    name = "; ".join(dict.fromkeys(methods)) + _of_choices(len(methods))
    return min([*lows, estimate]), max([*highs, estimate]), name


def _over_signs(
    models: IntArray, pairs: IntArray, swaps: _Swaps, few: bool
) -> tuple[FloatArray, str, list[str]]:
    """Return the largest p-value of AD over all choices of signs, the method, and the choices."""
    evidence = _sign_evidence(models, few)[pairs].reshape(len(pairs), 2 * models.shape[2])
    observed = _observed(evidence)
    found, method = swaps(pairs, observed, np.zeros(len(pairs)))
    # With one pair, a test with the observed signs adds nothing to those of all choices.
    sums = 2 ** models.shape[2]
    of_sums = _OF_SUMS if 2 < sums <= _MOST_SUMS else 0.0
    kept = 1 - _OF_SIGNS - of_sums
    at_least, largest = found * sums, found / kept
    # Evidence against the other sign of each difference, scaled to its part of the level.
    against = evidence.shape[1] * np.abs(evidence) / _OF_SIGNS
    is_open = against > largest[:, None]
    number = is_open.sum(axis=1)
    bounded, names = 2.0**number > MOST_CHOICES, [_of_choices(2 ** int(n)) for n in number]
    for place in np.flatnonzero(bounded).tolist():
        change = _SignedChange.of(models[pairs[place]].swapaxes(0, 1))
        bound = change.largest_p_value(against[place]) / kept
        largest[place], names[place] = max(largest[place], bound), ", bounded over the signs"
    gaps = np.subtract(*rates(models.sum(axis=1)))
    others = np.flatnonzero((number > 0) & ~bounded & (largest < 1))
    for block in _blocks(others, 2 ** int(4 + number[others].max(initial=0))):
        choices = [_other_choices(against[place], is_open[place]) for place in block]
        of_test = np.repeat(block, [len(most) for _, most in choices])
        signs, limit = observed[of_test], np.concatenate([most for _, most in choices])
        signs *= np.concatenate([flips for flips, _ in choices])
        both = signs.reshape(len(signs), 2, -1) * gaps[pairs[of_test]]
        change = np.abs(np.diff(both.sum(axis=2), axis=1)[:, 0])
        # The choice that leaves the smallest change first: few others can have a larger p-value.
        order = np.lexsort((change, limit < 1, of_test))
        is_first = np.zeros(len(order), dtype=bool)
        is_first[order[np.append(True, np.diff(of_test[order]) > 0)]] = True
        for chosen in (is_first, ~is_first):
            rows = np.flatnonzero(chosen & (limit > largest[of_test]))
            if len(rows):
                least = largest[of_test[rows]] * kept
                found, more = swaps(pairs[of_test[rows]], signs[rows], least)
                at_most = np.minimum(found / kept, limit[rows])
                np.maximum.at(largest, of_test[rows], at_most)
                method = _alternatives([method, more])
    if of_sums:
        lower = np.flatnonzero(at_least / of_sums < np.minimum(largest, 1.0))
        for block in _blocks(lower, 16 * sums):
            bound = _sum_p_values(pairs[block], observed[block], gaps, swaps) * sums / of_sums
            largest[block] = np.minimum(largest[block], bound)
    return np.minimum(largest, 1.0), method, names


def _sum_p_values(
    pairs: IntArray, observed: IntArray, gaps: FloatArray, swaps: _Swaps
) -> FloatArray:
    """Return the largest p-value over the smaller model's signs, given those of the larger one.

    The larger model's sum with any signs is at most the sum of its absolute differences. So its
    observed signs need no evidence, but were chosen among all 2ᵐ.
    """
    size = gaps.shape[1]
    flips = _flips(np.ones(size, dtype=np.bool_))
    second = np.abs(gaps).sum(axis=1)[pairs].argmax(axis=1) == 1
    both = np.ones((len(pairs), len(flips), 2, size), dtype=np.int64)
    both[~second, :, 1], both[second, :, 0] = flips, flips
    signs = (both.reshape(len(pairs), len(flips), -1) * observed[:, None]).reshape(-1, 2 * size)
    of_test = np.repeat(pairs, len(flips), axis=0)
    found, _ = swaps(of_test, signs, np.zeros(len(of_test)))
    return found.reshape(len(pairs), -1).max(axis=1)


def _other_choices(
    against: FloatArray, is_open: npt.NDArray[np.bool_]
) -> tuple[IntArray, FloatArray]:
    """Return all ways to reverse open signs, without the first, and the plausibility of each."""
    flips = _flips(is_open)
    # A choice is as plausible as the least plausible sign that differs from the observed one.
    most = np.where(flips < 0, against, np.inf).min(axis=1)
    if is_open.all():
        # Reversing all signs only reverses the sign of the change.
        half = len(flips) // 2
        flips, most = flips[:half], np.maximum(most, most[::-1])[:half]
    return flips[1:], most[1:]


def _observed(evidence: FloatArray) -> IntArray:
    return np.where(evidence > 0, 1, -1)


def _flips(unknown: npt.NDArray[np.bool_]) -> IntArray:
    """Return all ways to reverse unknown signs, one per row; the last row reverses all of them."""
    number = int(unknown.sum())
    flips = np.ones((2**number, len(unknown)), dtype=np.int64)
    flips[:, unknown] = all_signs(number)
    return flips


def _of_choices(number: int) -> str:
    return "" if number == 1 else f", over {number} signs"


def _sign_evidence(models: IntArray, few: bool) -> FloatArray:
    """Return the evidence for the sign of each model's differences, (models, pairs).

    This is the one-sided p-value of the exact test that flips items, with the sign of the
    difference: near ±0 the sign is clear. It is 1 if the test of the pairs disagrees with the
    difference of the groups' answers.
    """
    a, b = rates(models.sum(axis=1))
    # Each item's n10 − n01, for items with equally many answers of both groups.
    change = np.where(models[..., 1] == models[..., 3], models[..., 0] - models[..., 2], 0)
    p_values = [
        _flipped(steps, counts, few, "exact").p_value / 2
        for steps, counts in _counts_of_changes(np.moveaxis(change, 1, 2).reshape(a.size, -1))
    ]
    agrees = (a - b) * change.sum(axis=1) > 0
    one_sided = np.where(agrees, np.concatenate(p_values).reshape(a.shape), 1.0)
    return one_sided * np.where(a > b, 1, -1)


def _own_limits(cells: IntArray, many: IntArray, error: float) -> FloatArray:
    """Return simultaneous limits of each difference, of shape (2, pairs, 2)."""
    size = cells.shape[2]
    sides = [
        [(_group(cells, many, model, pair, at), sign) for at, sign in _means(signed, 1)]
        for model, pair in np.ndindex(2, size)
    ]
    found = contrasts(sides, (0.0, 1.0), error / (2 * size))
    return np.array([one.ci for one in found]).reshape(2, size, 2)


def _turned(cells: IntArray, signs: IntArray) -> IntArray:
    """Swap the groups if a difference counts with the other sign."""
    turned = cells.copy()
    swapped = [2, 3, 0, 1, 4, 5]
    for sign, (model, pair) in zip(signs, np.ndindex(2, cells.shape[2]), strict=True):
        if sign < 0:
            turned[:, model, pair] = cells[:, model, pair][:, swapped]
    return turned


@dataclass(frozen=True)
class _SignedChange:
    """The change of AD as a sum over items, to bound it over the signs of many differences.

    `values`, of shape (kinds, 2 * pairs), are each kind of item's part of −|D| of the old model and
    of |D| of the new one for each pair, with the observed signs.
    """

    values: FloatArray
    many: IntArray

    @classmethod
    def of(cls, cells: IntArray, many: IntArray | None = None) -> _SignedChange:
        """Return the change given each kind's sums, of shape (kinds, old and new, pairs, 6)."""
        many = np.ones(len(cells), dtype=np.int64) if many is None else many
        answers = np.maximum(np.einsum("k,k...->...", many, cells[..., [1, 3]]), 1)
        shares = cells[..., [0, 2]] / answers
        difference = (shares[..., 0] - shares[..., 1]) / cells.shape[2]
        signs = np.where(np.einsum("k,k...->...", many, difference) > 0, 1, -1)
        signed = difference * signs * np.array([[-1], [1]])
        return cls(signed.reshape(len(cells), -1), many)

    def interval(self, unknown: npt.NDArray[np.bool_], alpha: float) -> tuple[float, float]:
        """Return limits that contain the normal interval of every choice of these signs."""
        low, high = self._range(unknown)
        reach = float(scipy.stats.norm.isf(alpha / 2)) * self._deviation(unknown)
        return low - reach, high + reach

    def largest_p_value(self, against: FloatArray) -> float:
        """Return an upper limit of the p-value over all choices of signs but the observed one."""
        # A choice whose least plausible sign has the p-value p only reverses signs with at least p.
        # So it suffices to bound one set of signs per p-value, instead of 2^n choices.
        return max(min(self._p_value(against >= p), float(p)) for p in np.unique(against))

    def _p_value(self, unknown: npt.NDArray[np.bool_]) -> float:
        """Return an upper limit: the smallest change and the largest variance of any choice."""
        low, high = self._range(unknown)
        if low <= 0 <= high:
            return 1.0
        nearest = min(abs(low), abs(high))
        return max(2 * float(scipy.stats.norm.sf(nearest / self._deviation(unknown))), LEAST_P)

    def _range(self, unknown: npt.NDArray[np.bool_]) -> tuple[float, float]:
        """Return the lowest and highest change if these signs may be the other ones."""
        totals = self.many @ self.values
        # Reversing a sign reverses its part of the sum.
        moved = -2 * totals[unknown]
        whole = float(totals.sum())
        return whole + float(moved[moved < 0].sum()), whole + float(moved[moved > 0].sum())

    def _deviation(self, unknown: npt.NDArray[np.bool_]) -> float:
        """Return the largest standard deviation over all swaps, for any choice of these signs."""
        known = np.abs(self.values[:, ~unknown].sum(axis=1))
        largest = known + np.abs(self.values[:, unknown]).sum(axis=1)
        return math.sqrt(float(self.many @ largest**2))
