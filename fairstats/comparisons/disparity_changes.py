"""Change of the accuracy disparity between two models: test and interval over its signs.

`fairstats.comparisons.paired_differences.model_difference` describes the method.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product

import numpy as np

from fairstats._lib.result_objects import FloatArray
from fairstats.comparisons.ad_sign_bounds import MOST_CHOICES, SignedChange, largest_p_value
from fairstats.comparisons.item_swaps import (
    IntArray,
    Resampling,
    beyond,
    item_interval,
    rates,
    signed,
    swap_values,
    swapped_sums,
)
from fairstats.inference.clustered_answers import sign_flip_test
from fairstats.inference.item_bootstrap import mean_interval

#: The share of the level used by the tests of AD's signs.
_OF_SIGNS = 0.01
_BOUNDED = "bounded over the signs"


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
