"""Exact test that what was observed for each unit is one of several equally likely values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.problems import ArgumentError
from fairstats._lib.result_objects import FloatArray, TestResult
from fairstats.inference._checks import IntArray, check_numbers
from fairstats.inference.clustered_answers import MOST_ON_GRID, in_steps

# The number of steps of a grid for values that are not multiples of a common step.
_GRID = 20_000
# Smaller probabilities are rounding errors of the Fourier transform.
_LEAST = 1e-12
_ROUNDING = 1e-12


def exchange_test(values: npt.ArrayLike) -> TestResult:
    r"""Test the sum of the units' first values, each of which could equally have been another.

    For matched sets, such as a pair of groups and several control pairs of each item, the values of
    a unit are the observed difference and those if another member of the set had been the pair of
    interest. If the members are exchangeable, each value has the same probability. The p-value is
    twice the smaller of P(sum ≤ observed) and P(sum ≥ observed), mid-p, at most 1.

    Parameters
    ----------
    values : array_like of float, shape (units, k)
        Each unit's possible values, the observed one first; NaN for those that a unit lacks.

    Returns
    -------
    TestResult
        The statistic is the observed sum. p is 1 if no unit could have another value, and never
        below 1e-12.

    Raises
    ------
    ValueError
        If the values are not numbers in two dimensions, or a unit lacks the observed one.

    Notes
    -----
    The distribution of the sum is computed by Fourier transform. The method of the result is
    ``midp`` if the values are multiples of a common step, and the sum has a range of at most
    100,000 steps. For others, up to 1,000 units are ``rounded`` to a range of 20,000 steps, and
    for more units it is the normal distribution (``asymptotic``).

    With d and −d as the values of each unit, it is `flip_test`. For values of 0 and 1, it is the
    exact conditional test of matched sets.

    References
    ----------
    Miettinen (1969), Biometrics 25:339-355; Pitman (1937), Supplement to the Journal of the Royal
    Statistical Society 4:119-130. Tested by enumeration.

    Examples
    --------
    One pair changed in three items of eight, and two controls in none of them:

    >>> changed = [[1, -0.5, -0.5]] * 3 + [[0, 0, 0]] * 5
    >>> round(float(exchange_test(changed).p_value), 4)  # 2 · (1/3)³ / 2
    0.037
    """
    each = check_numbers("values", values, nan=True)
    if each.ndim != 2 or not each.shape[1]:
        raise ArgumentError("values", f" must have shape (units, k); got {each.shape}")
    if np.isnan(each[:, 0]).any():
        at = int(np.flatnonzero(np.isnan(each[:, 0]))[0])
        raise ArgumentError("values", f"[{at}, 0] is missing: the first value is the observed one")
    total = float(each[:, 0].sum())
    # A unit with one possible value moves the sum and its distribution alike.
    varies = np.nanmax(each, axis=1) - np.nanmin(each, axis=1) if len(each) else np.zeros(0)
    each = each[varies > _ROUNDING * np.nanmax(np.abs(each), initial=0)]
    if not len(each):
        return TestResult(np.asarray(total), np.asarray(1.0), "midp")
    # The steps of a grid are found on the scale of the values.
    each = each / np.nanmax(np.abs(each))
    # Missing values are last, and units with the same values are one kind.
    kinds, many = np.unique(np.sort(each, axis=1), axis=0, return_counts=True)
    offsets = kinds - kinds[:, :1]
    spans = np.nanmax(offsets, axis=1)
    distinct, place = np.unique(np.append(offsets[offsets > 0], spans), return_inverse=True)
    widest = np.bincount(place[-len(spans) :], weights=many, minlength=len(distinct))
    method = "midp"
    steps = in_steps(distinct, widest.astype(np.int64), 1.0)
    if steps is None and len(each) > MOST_ON_GRID:
        return TestResult(np.asarray(total), np.asarray(_asymptotic(each)), "asymptotic")
    if steps is None:
        method, steps = "midp, rounded", np.rint(distinct / (spans @ many) * _GRID).astype(np.int64)
    table = np.full(offsets.shape, -1)
    table[offsets == 0] = 0
    table[offsets > 0] = steps[place[: -len(spans)]]
    above = each[:, 0] - np.nanmin(each, axis=1)
    at = int(np.append(0, steps)[np.searchsorted(np.append(0, distinct), above)].sum())
    return TestResult(np.asarray(total), np.asarray(_twice_tail(table, many, at)), method)


def _twice_tail(table: IntArray, many: IntArray, at: int) -> float:
    """Return twice the smaller tail of a sum of draws, each from a row of whole numbers or −1."""
    size = scipy.fft.next_fast_len(int(table.max(axis=1) @ many) + 1, real=True)
    wave = np.ones(size // 2 + 1, dtype=np.complex128)
    for row, number in zip(table, many.tolist(), strict=True):
        draws = np.bincount(row[row >= 0], minlength=size) / (row >= 0).sum()
        wave *= scipy.fft.rfft(draws) ** number
    law = np.maximum(scipy.fft.irfft(wave, size), 0.0)
    half = law[at] / 2
    return float(np.clip(2 * min(law[:at].sum() + half, law[at + 1 :].sum() + half), _LEAST, 1.0))


def _asymptotic(each: FloatArray) -> float:
    z = (each[:, 0] - np.nanmean(each, axis=1)).sum() / np.sqrt(np.nanvar(each, axis=1).sum())
    return max(2 * float(scipy.special.ndtr(-abs(z))), _LEAST)
