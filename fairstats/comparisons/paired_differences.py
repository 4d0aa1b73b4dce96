"""How far two models differ in a figure, compared on the items that both answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import FloatArray, Tabular
from fairstats.counts.by_item import SUMS
from fairstats.inference.bootstrap import interval_of_law
from fairstats.inference.cluster_bootstrap import (
    cluster_acceleration,
    mean_interval,
    resample_clusters,
)
from fairstats.inference.exact_sums import discrete_law
from fairstats.inference.sign_flip import LARGEST_EXACT_SUM, sign_flip_test
from fairstats.inference.tango import tango

IntArray = npt.NDArray[np.int64]
#: A function of sums of shape (..., pairs, 6), in the order of `SUMS`, that gives shape (...).
Figure = Callable[[npt.NDArray[np.int64]], FloatArray]


def accuracy(sums: IntArray) -> FloatArray:
    """The mean of the two groups' accuracies, and over the pairs."""
    a, b = _rates(sums)
    return np.asarray((a + b).mean(axis=-1) / 2)


def cfr(sums: IntArray) -> FloatArray:
    """The counterfactual fairness rate, its mean over the pairs."""
    return np.asarray(_quotient(sums[..., 4], sums[..., 5]).mean(axis=-1))


def ad(sums: IntArray) -> FloatArray:
    """The accuracy disparity, its mean over the pairs."""
    a, b = _rates(sums)
    return np.asarray(np.abs(a - b).mean(axis=-1))


def _signed(sums: IntArray) -> FloatArray:
    """The signed difference of the groups' accuracies, its mean over the pairs."""
    a, b = _rates(sums)
    return np.asarray((a - b).mean(axis=-1))


def _rates(sums: IntArray) -> tuple[FloatArray, FloatArray]:
    return _quotient(sums[..., 0], sums[..., 1]), _quotient(sums[..., 2], sums[..., 3])


def _quotient(part: IntArray, whole: IntArray) -> FloatArray:
    return np.asarray(np.where(whole > 0, part / np.maximum(whole, 1), np.nan))


@dataclass(frozen=True)
class ModelDifference(Tabular):
    """A figure of the new model less that of the old one.

    Attributes
    ----------
    old, new : float
        The models' own figures.
    estimate, ci_low, ci_high : float
        new − old and its limits.
    ci_method, test : str
        What was used.
    p_value : float
        Of no difference.
    """

    old: float
    new: float
    estimate: float
    ci_low: float
    ci_high: float
    ci_method: str
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
    r"""The difference of two models in a figure, items being what is drawn.

    Parameters
    ----------
    old, new : ndarray of int, shape (items, pairs, 6)
        What each item adds to the sums of each pair, in the order of `SUMS`; zeros where a model
        was not asked an item.
    figure : callable
        `accuracy`, `cfr` or `ad`.
    alpha : float
        1 − confidence level.
    n_resamples, rng
        Where answers are missing, see Notes.

    Returns
    -------
    ModelDifference

    Notes
    -----
    Where every item has as many answers as the next (nothing is missing), accuracy and CFR are
    means of a whole number an item, and the interval is the exact BCa bootstrap of that mean. Else
    items are resampled, by `rng`.

    The test swaps the two models' answers item by item. Where each item has as many answers of one
    model as of the other, and of one group as of the other, a swap changes no denominator, and the
    law of all swaps is computed. If the items were asked for different pairs, a pair of n items
    has the weight 1 / n in it, as in the figure. These weights are taken as whole numbers: in the
    best proportion that leaves the law small enough to compute, as a rule to 0.1% or better. The
    test is valid whatever the weights. Where answers of one model are missing the swaps are drawn
    by `rng`.

    AD is no such mean: \|D\| has a kink at 0, where a bootstrap of it fails. But with signs s, t of
    the two models' differences it is, \|D_new\| − \|D_old\| = t D_new − s D_old. For every choice
    of signs the hypothesis "the two are equal, and s and t are the signs" is tested by swapping,
    with 99% of the level, and by the exact tests of the signs, with 1%; the p-value is the
    largest over the choices. It has no floor: if the signs are clear it is that of the swaps /
    0.99.
    The interval spends a fifth of alpha on the differences' limits and is the union over the
    signs that these leave, each cut where those limits end.

    Interval and test agree: an interval that excludes 0 although the test does not reject is
    extended to 0, and with so few items that the test cannot reject there is no interval. A
    p-value from random swaps is at least 1 / (n_resamples + 1); `test` says if it is at this floor.

    References
    ----------
    Berger & Boos (1994), JASA 89:1012-1016, for maximising a p-value over what is not known;
    Berger (1982), Technometrics 24:295-300, for a union of hypotheses.
    """
    cells, many = _kinds(old, new)
    totals = np.einsum("k,k...->...", many, cells)
    values = (float(figure(totals[0])), float(figure(totals[1])))
    if np.isnan(values).any():
        nothing = "none (a model has no answer for a group)"
        return ModelDifference(*values, np.nan, -1.0, 1.0, nothing, 1.0, "none")
    resampling = _Resampling(n_resamples, rng)
    if figure is not ad:
        return _linear_difference(values, cells, many, figure, alpha, resampling)
    return _ad_difference(values, cells, many, alpha, resampling)


def model_p_value(
    old: IntArray,
    new: IntArray,
    figure: Figure,
    *,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 1,
) -> float:
    """The p-value of `model_difference` alone; 1 where a model has no answer for a group."""
    cells, many = _kinds(old, new)
    totals = np.einsum("k,k...->...", many, cells)
    if np.isnan(figure(totals)).any():
        return 1.0
    resampling = _Resampling(n_resamples, rng)
    if figure is ad:
        return _ad_test(cells, many, resampling)[0]
    return _swap_test(cells, many, figure, resampling)[0]


def _kinds(old: IntArray, new: IntArray) -> tuple[IntArray, IntArray]:
    """The kinds of items, (kinds, old and new, pairs, 6), and how many there are of each."""
    size = old.shape[1]
    both = np.concatenate([old, new], axis=1).reshape(len(old), 2 * size * len(SUMS))
    # What `np.unique` does with rows, several times faster.
    ordered = both[np.lexsort(both.T[::-1])]
    is_first = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))[: len(both)]
    first = np.flatnonzero(is_first)
    many = np.diff(np.append(first, len(both)))
    return ordered[first].reshape(len(first), 2, size, len(SUMS)), many


@dataclass(frozen=True)
class _Resampling:
    n: int
    rng: np.random.Generator | int


def _linear_difference(
    values: tuple[float, float],
    cells: IntArray,
    many: IntArray,
    figure: Figure,
    alpha: float,
    resampling: _Resampling,
) -> ModelDifference:
    low, high, method = _interval(cells, many, figure, alpha, resampling)
    p_value, test = _swap_test(cells, many, figure, resampling)
    estimate = values[1] - values[0]
    low, high, method = _agreeing(max(low, -1.0), min(high, 1.0), method, p_value, alpha, many)
    return ModelDifference(*values, estimate, low, high, method, p_value, test)


def _agreeing(
    low: float, high: float, method: str, p_value: float, alpha: float, many: IntArray
) -> tuple[float, float, str]:
    """The interval, brought into agreement with a test that does not reject."""
    # The smallest mid-p of n items: all change to one side, and half of either extreme counts.
    if 0.5 ** int(many.sum()) > alpha:
        return -1.0, 1.0, "none (too few items for any test at this level)"
    if p_value > alpha and not low <= 0 <= high:
        return min(low, 0.0), max(high, 0.0), f"{method}, extended to 0"
    return low, high, method


def _ad_difference(
    values: tuple[float, float],
    cells: IntArray,
    many: IntArray,
    alpha: float,
    resampling: _Resampling,
) -> ModelDifference:
    p_value, test = _ad_test(cells, many, resampling)
    # The interval spends a fifth of alpha on where each difference lies, and so on its sign.
    error = alpha / 5
    lows, highs, methods = [], [], []
    limits = _own_limits(cells, many, error)
    evidence = _sign_evidence(cells, many)
    # A sign is known if its exact test shows it, at `error` over all of them.
    known = [2 * abs(p) <= error / len(evidence) for p in evidence]
    for signs in _choices(evidence, known):
        low, high, method = _interval(
            _turned(cells, signs), many, _signed, alpha - error, resampling
        )
        old, new = np.array(signs).reshape(2, -1)
        # With these signs |D| is at most what the difference's own limit on that side is.
        furthest = [
            float(np.where(side > 0, own[:, 1], -own[:, 0]).mean())
            for side, own in zip((old, new), limits, strict=True)
        ]
        if min(furthest) >= 0:
            lows.append(max(low, -furthest[0]))
            highs.append(min(high, furthest[1]))
            methods.append(method)
    # The estimate is of the observed signs, which are always among them.
    estimate = values[1] - values[0]
    low, high = min([*lows, estimate]), max([*highs, estimate])
    low, high, method = _agreeing(low, high, _named(methods, len(methods)), p_value, alpha, many)
    return ModelDifference(*values, estimate, low, high, method, p_value, test)


#: The share of the level that the tests of AD's signs take.
_OF_SIGNS = 0.01


def _ad_test(cells: IntArray, many: IntArray, resampling: _Resampling) -> tuple[float, str]:
    """The largest p-value over all choices of signs, each tested as the docstring above says."""
    evidence = _sign_evidence(cells, many)
    exact = _swap_values(cells, many, _signed)
    if exact is None:
        test = _random_ad_swaps(cells, many, resampling)
    else:
        test = _exact_ad_swaps(exact, many)
    observed = tuple(1 if p > 0 else -1 for p in evidence)
    p_swaps, name = test(observed)
    largest, names = p_swaps / (1 - _OF_SIGNS), [name]
    # What speaks against the other sign of each difference, as its part of the level allows.
    against = [len(evidence) * abs(p) / _OF_SIGNS for p in evidence]
    choices = _choices(evidence, [p <= largest for p in against])

    def plausible(signs: tuple[int, ...]) -> float:
        """The p-value of the least plausible sign that is not the observed one."""
        pairs = zip(against, signs, observed, strict=True)
        return min(p for p, sign, seen in pairs if sign != seen)

    # The most plausible first: where one cannot raise the p-value, none of those after it can.
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
    """The swap test as a function of the signs, from what `_swap_values` gives."""
    old, new = np.moveaxis(values, 1, 0)

    @cache
    def of_signs(signs: tuple[int, ...]) -> tuple[float, str]:
        of_old, of_new = np.array(signs).reshape(2, -1)
        test = sign_flip_test(new @ of_new - old @ of_old, many)
        return test.p_value, f"models swapped item by item, {test.method}"

    def test(signs: tuple[int, ...]) -> tuple[float, str]:
        # With all signs the other way round the change is the same but for its sign.
        return of_signs(signs if signs[0] > 0 else tuple(-sign for sign in signs))

    return test


def _random_ad_swaps(
    cells: IntArray, many: IntArray, resampling: _Resampling
) -> Callable[[tuple[int, ...]], tuple[float, str]]:
    """The swap test as a function of the signs, from one draw.

    Where both models' signs turn, a difference turns with them; only unlike signs mix the groups.
    """
    one_sided = (1,) * cells.shape[2] + (-1,) * cells.shape[2]
    both = np.concatenate([cells, _turned(cells, one_sided)], axis=2)[..., :4]
    sums = _swapped_sums(both, many, resampling)
    alike, unlike = np.split(np.subtract(*_rates(sums)), 2, axis=-1)

    def test(signs: tuple[int, ...]) -> tuple[float, str]:
        old, new = np.array(signs).reshape(2, -1)
        signed = (old * np.where(old == new, alike, unlike)).mean(axis=-1)
        return _beyond(signed[:, 1] - signed[:, 0])

    return test


def _named(names: list[str], choices: int) -> str:
    text = "; ".join(dict.fromkeys(names))
    return text if choices == 1 else f"{text}, over {choices} signs"


def _choices(evidence: list[float], known: list[bool]) -> list[tuple[int, ...]]:
    """All signs that the differences can have, the old model's first; known ones are fixed."""
    signs = [
        ((1 if p > 0 else -1),) if fixed else (1, -1)
        for p, fixed in zip(evidence, known, strict=True)
    ]
    return list(product(*signs))


def _sign_evidence(cells: IntArray, many: IntArray) -> list[float]:
    """What speaks for the sign of each difference, the old model's first.

    The one-sided p-value of the exact test that flips items, with the sign of the difference: near
    ±0 the sign is clear. 1 if the test of the pairs and the difference of the groups' own answers
    disagree.
    """
    found = []
    for model, pair in np.ndindex(2, cells.shape[2]):
        sums = cells[:, model, pair]
        a, b = (int(many @ sums[:, i]) / max(int(many @ sums[:, i + 1]), 1) for i in (0, 2))
        change = _paired_change(sums)
        p_value = sign_flip_test(change, many, method="exact").p_value / 2
        agrees = (a - b) * int(change @ many) > 0
        found.append((p_value if agrees else 1.0) * (1 if a > b else -1))
    return found


def _paired_change(sums: IntArray) -> IntArray:
    """Each item's n10 − n01, of those with as many answers for either group."""
    return np.where(sums[:, 1] == sums[:, 3], sums[:, 0] - sums[:, 2], 0)


def _own_limits(cells: IntArray, many: IntArray, error: float) -> FloatArray:
    """Limits of each difference, of shape (2, pairs, 2), that all hold at once."""
    size, each = cells.shape[2], int(cells[..., [1, 3]].max())
    limits = np.empty((2, size, 2))
    for model, pair in np.ndindex(2, size):
        change = _paired_change(cells[:, model, pair])
        found = mean_interval(change, many, largest=each, alpha=error / (2 * size))
        answers = max(int(many @ cells[:, model, pair, 1]), 1) / max(int(many.sum()), 1)
        limits[model, pair] = [float(found.ci_low) / answers, float(found.ci_high) / answers]
    return limits


def _turned(cells: IntArray, signs: tuple[int, ...]) -> IntArray:
    """The groups swapped where a difference is to count with the other sign."""
    turned = cells.copy()
    swapped = [2, 3, 0, 1, 4, 5]
    for sign, (model, pair) in zip(signs, np.ndindex(2, cells.shape[2]), strict=True):
        if sign < 0:
            turned[:, model, pair] = cells[:, model, pair][:, swapped]
    return turned


def _per_item(cells: IntArray, figure: Figure) -> tuple[IntArray, int, int] | None:
    """The change of an item, its scale and largest value; None where answers are missing."""
    answers, size = np.unique(cells[..., [1, 3, 5]]), cells.shape[2]
    if len(answers) > 1:
        return None
    values = _values(cells, figure)
    change = (values[:, 1] - values[:, 0]).sum(axis=-1)
    scale = int(answers[0]) * size * (2 if figure is accuracy else 1)
    return change, scale, scale * (2 if figure is _signed else 1)


def _values(cells: IntArray, figure: Figure) -> IntArray:
    """What a kind of item adds to a figure's numerator, (kinds, old and new, pairs)."""
    if figure is cfr:
        return cells[..., 4]
    if figure is accuracy:
        return cells[..., 0] + cells[..., 2]
    return cells[..., 0] - cells[..., 2]


def _swap_values(cells: IntArray, many: IntArray, figure: Figure) -> IntArray | None:
    """`_values` times the weights of the pairs; None where a swap would change a denominator."""
    answers = cells[..., [5] if figure is cfr else [1, 3]]
    if (answers != answers[:, :1, :, :1]).any():
        return None
    values = _values(cells, figure)
    factor = max(int(np.gcd.reduce(values, axis=None)), 1)
    values = values // factor
    # With AD's signs turned a swap can move the sum of both, else their difference alone.
    moved = np.abs(values) if figure is _signed else np.diff(values, axis=1)
    size = int(many @ np.abs(moved).sum(axis=(1, 2)))
    return values * _whole_weights(many @ answers[:, 0, :, 0], size)


def _whole_weights(answers: IntArray, size: int) -> IntArray:
    """Whole numbers in about the proportion of 1 / answers.

    `size` is the sum of what swaps move, whose law is computed up to `LARGEST_EXACT_SUM`.
    """
    share = answers.min() / answers
    most = LARGEST_EXACT_SUM // max(size, 1)
    # Where even coarse weights make the sum too large, fine ones cost nothing.
    largest = np.arange(1, 1001 if most < 100 else min(most, 1000) + 1)
    exact = largest[:, None] * share
    error = np.abs(np.rint(exact) / exact - 1).max(axis=1)
    best = int((error < error.min() + 1e-12).argmax())
    return np.maximum(np.rint(exact[best]), 1).astype(np.int64)


def _statistic(cells: IntArray, figure: Figure) -> Callable[[IntArray], FloatArray]:
    """The difference of the models as a function of summed cells, flattened."""

    def compute(totals: IntArray) -> FloatArray:
        sums = totals.reshape(*totals.shape[:-1], *cells.shape[1:])
        return figure(sums[..., 1, :, :]) - figure(sums[..., 0, :, :])

    return compute


def _interval(
    cells: IntArray, many: IntArray, figure: Figure, alpha: float, resampling: _Resampling
) -> tuple[float, float, str]:
    """BCa bootstrap of items: exact where nothing is missing, else by resampling."""
    exact = _per_item(cells, figure)
    if exact is not None:
        change, scale, largest = exact
        found = mean_interval(change, many, largest=largest, alpha=alpha)
        return float(found.ci_low) / scale, float(found.ci_high) / scale, str(found.ci_method)
    flat, statistic = cells.reshape(len(cells), -1), _statistic(cells, figure)
    estimate = float(statistic((many @ flat)[None])[0])
    resampled = resample_clusters(flat, many, statistic, resampling.n, resampling.rng)
    if np.isnan(resampled).any():
        return -1.0, 1.0, "none (a resample has no answer for a group)"
    if np.ptp(resampled) == 0:
        half = float(tango(0, 0, int(many.sum()), alpha=alpha).high)
        return estimate - half, estimate + half, "tango (the resamples do not vary)"
    acceleration = cluster_acceleration(flat, many, statistic)
    law = discrete_law(resampled)
    low, high, method = interval_of_law(law, estimate, acceleration, "bca", alpha)
    return low, high, f"bootstrap {method}, {resampling.n} resamples"


def _swap_test(
    cells: IntArray, many: IntArray, figure: Figure, resampling: _Resampling
) -> tuple[float, str]:
    """Swap the models' answers item by item: all swaps where the denominators stay, else some."""
    exact = _swap_values(cells, many, figure)
    if exact is not None:
        test = sign_flip_test((exact[:, 1] - exact[:, 0]).sum(axis=-1), many)
        return test.p_value, f"models swapped item by item, {test.method}"
    used = cells.copy()
    # What the figure does not depend on would only make items differ.
    used[..., slice(0, 4) if figure is cfr else slice(4, 6)] = 0
    sums = _swapped_sums(used, many, resampling)
    return _beyond(figure(sums[:, 1]) - figure(sums[:, 0]))


def _swapped_sums(cells: IntArray, many: IntArray, resampling: _Resampling) -> IntArray:
    """The sums of both models after random swaps, (1 + n, old and new, pairs, columns).

    The first are those of no swap.
    """
    change = (cells[:, 1] - cells[:, 0]).reshape(len(cells), -1)
    # Items whose swap changes the same are drawn together, and those whose swap changes nothing
    # not at all.
    rows, kind = np.unique(change, axis=0, return_inverse=True)
    count = np.bincount(kind.ravel(), weights=many, minlength=len(rows)).astype(np.int64)
    moves = rows.any(axis=1)
    rng = np.random.default_rng(resampling.rng)
    drawn = rng.binomial(count[moves], 0.5, (resampling.n, int(moves.sum())))
    swapped = np.vstack([np.zeros_like(count[moves]), drawn])
    # In floating point, whose products are fast; these whole numbers are exact in it.
    moved = (swapped.astype(np.float64) @ rows[moves]).astype(np.int64)
    moved = moved.reshape(-1, *cells.shape[2:])
    old, new = np.einsum("k,k...->...", many, cells)
    return np.stack([old + moved, new - moved], axis=1)


def _beyond(changes: FloatArray) -> tuple[float, str]:
    """The share of swaps whose change is no smaller than the first, which is the observed one."""
    # A swap that leaves a group without an answer is counted against the difference.
    far = (np.abs(changes) >= abs(changes[0]) - 1e-12) | np.isnan(changes)
    name = f"models swapped item by item, {len(changes) - 1} swaps"
    if far.sum() == 1:
        name += f" (p ≤ 1/{len(changes)}, their floor)"
    return float(far.mean()), name
