"""Exact distributions of sums of independent draws from a few whole numbers.

Resampling n pairs with replacement sums n draws from the observed table, so the bootstrap
distribution of such a sum need not be simulated. It is computed here by inverting its
characteristic function φ(t)ⁿ. The inversion uses a window that contains all but a negligible part
of the distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import fft, special

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import (
    check_counts,
    check_integers,
    check_share,
    check_whole,
)

IntArray = npt.NDArray[np.int64]

# Levels that differ by less are treated as equal: the inversion is accurate to about 1e-14.
_LEVEL_ROUNDING = 1e-12
_LEAST_LEVEL = 1e-13
# Steps from the first guess at which a quantile is looked for.
_NEAR = np.arange(-2, 3)
# The largest grid for a distribution in the plane: 64 MB of complex numbers.
_LARGEST_GRID = 2**22


@dataclass(frozen=True)
class SumLaw:
    """Distribution of a sum of n independent draws, one distribution per element of n.

    Attributes
    ----------
    centre, half : ndarray of int
        The window: all but a negligible part of the distribution is within `half` of `centre`.
    mean, deviation, skewness : ndarray
        Mean and variance of the sum.
    nodes, cosine, sine : ndarray
        The frequencies t of the inversion, on the last axis. The weights of cosine and sine are
        the real and the imaginary part of φ(t)ⁿ relative to `centre`, divided by 1 − exp(−it),
        from a geometric series.
    start : ndarray
        The value of that sum at the lower end of the window.
    support : (ndarray of int, ndarray of int)
        The smallest and the largest possible sum.
    """

    centre: IntArray
    half: IntArray
    mean: FloatArray
    deviation: FloatArray
    skewness: FloatArray
    nodes: FloatArray
    cosine: FloatArray
    sine: FloatArray
    start: FloatArray
    support: tuple[IntArray, IntArray]

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        """Return P(sum ≤ x), accurate to about 1e-14."""
        x = np.asarray(x, dtype=np.int64)
        steps = np.minimum(np.maximum(x - self.centre, -self.half - 1), self.half)
        # The inversion formula, summed over the window up to x.
        angle = self.nodes * (steps + 1.0)[..., None]
        waves = self.cosine * np.cos(angle) + self.sine * np.sin(angle)
        total = self.start - 2 * waves.sum(axis=-1)
        share = (steps + self.half + 1 + total) / (2 * self.half + 1)
        return np.minimum(np.maximum(share, 0.0), 1.0)

    def share_below(self, x: npt.ArrayLike) -> FloatArray:
        """Return P(sum < x) + P(sum = x) / 2."""
        both = np.asarray(x, dtype=np.int64)[..., None] - np.arange(2)
        return np.asarray(self._beside.cdf(both).sum(axis=-1) / 2)

    def lower_quantile(self, level: npt.ArrayLike) -> IntArray:
        """Return the smallest x with P(sum ≤ x) ≥ level."""
        level = _reached_level(level)
        return self._on_support(self._smallest(level, self._guess(level), from_above=False))

    def upper_quantile(self, level: npt.ArrayLike) -> IntArray:
        """Return the largest x with P(sum ≥ x) ≥ level."""
        level = _reached_level(level)
        # One below the smallest x with an upper tail below the level.
        found = self._smallest(level, self._guess(1 - level), from_above=True)
        return self._on_support(found - 1)

    def _on_support(self, x: IntArray) -> IntArray:
        return np.minimum(np.maximum(x, self.support[0]), self.support[1])

    def _reached(self, x: IntArray, level: FloatArray, from_above: bool) -> npt.NDArray[np.bool_]:
        return 1 - self.cdf(x - 1) < level if from_above else self.cdf(x) >= level

    def _guess(self, level: npt.ArrayLike) -> IntArray:
        """Return the quantile, accurate to a step or two, by the Cornish-Fisher expansion."""
        z = special.ndtri(np.minimum(np.maximum(level, 1e-12), 1 - 1e-12))
        near = self.mean + self.deviation * (z + self.skewness * (z**2 - 1) / 6)
        return np.rint(near).astype(np.int64)

    def _smallest(self, level: FloatArray, guess: IntArray, *, from_above: bool) -> IntArray:
        """Return the smallest x from which on a condition stays true."""
        near = guess[..., None] + _NEAR
        there = self._beside._reached(near, level[..., None], from_above)
        found = near[..., 0] + there.argmax(axis=-1)
        missed = there[..., 0] | ~there[..., -1]
        return self._halved(level, from_above) if missed.any() else np.asarray(found)

    @cached_property
    def _beside(self) -> SumLaw:
        """Return the same distribution with one more axis, for several values at once."""
        return SumLaw(
            self.centre[..., None],
            self.half[..., None],
            self.mean,
            self.deviation,
            self.skewness,
            self.nodes[..., None, :],
            self.cosine[..., None, :],
            self.sine[..., None, :],
            self.start[..., None],
            self.support,
        )

    def _halved(self, level: FloatArray, from_above: bool) -> IntArray:
        below, found = self.centre - self.half - 1, self.centre + self.half + 1
        for _ in range(int((found - below).max()).bit_length()):
            middle = (below + found) // 2
            there = self._reached(middle, level, from_above) & (middle > below)
            found = np.where(there, middle, found)
            below = np.where(there, below, middle)
        return found


def _reached_level(level: npt.ArrayLike) -> FloatArray:
    """Return the level minus rounding error, but too large to be reached by rounding alone."""
    return np.maximum(np.asarray(level, dtype=np.float64) - _LEVEL_ROUNDING, _LEAST_LEVEL)


def sum_law(n: npt.ArrayLike, values: npt.ArrayLike, probabilities: npt.ArrayLike) -> SumLaw:
    """Compute the distribution of the sum of n draws from `values`.

    Parameters
    ----------
    n : array_like of int
        Number of draws, at least 1.
    values : array_like of int, shape (k,)
        The possible values of one draw.
    probabilities : array_like of float, shape (..., k)
        Their probabilities, for each element of n.

    Returns
    -------
    SumLaw

    Raises
    ------
    ValueError
        For n or values that are not whole, n below 1, or a probability outside [0, 1].

    Notes
    -----
    The cost does not grow with n. Only frequencies below a few standard deviations of φⁿ contribute
    more than rounding error.

    Examples
    --------
    >>> law = sum_law(2, [0, 1], [0.5, 0.5])
    >>> [round(float(law.cdf(x)), 12) for x in (-1, 0, 1, 2)]
    [0.0, 0.25, 0.75, 1.0]
    """
    (n,), (values,) = check_counts(n=n), check_integers(values=values)
    if np.any(n < 1):
        raise ValueError(f"n={n.min()} must be at least 1: without a draw there is no law")
    p = check_share("probabilities", probabilities)
    if values.ndim != 1 or p.shape[-1:] != values.shape:
        raise ValueError(
            f"values must have shape (k,) and probabilities (..., k); got {values.shape} and "
            f"{p.shape}"
        )
    return law_of_sum(n, values, np.broadcast_to(p, (*n.shape, len(values))))


def law_of_sum(n: IntArray, values: IntArray, p: FloatArray) -> SumLaw:
    """Compute `sum_law` of checked arguments; the leading axes of `p` are those of `n`."""
    moments: FloatArray = p @ (values[:, None] ** np.arange(1.0, 4.0))
    mean, second, third = (moments[..., order] for order in range(3))
    variance = np.maximum(second - mean**2, 0.0)
    # Count steps from a whole number near the mean, where φ(t)ⁿ loses no digits.
    origin = np.rint(mean).astype(np.int64)
    centre = n * origin + np.rint(n * (mean - origin)).astype(np.int64)
    half = _half_window(n, variance, int(values.max() - values.min()))
    count = np.minimum(half, np.ceil((2 * half + 1) * _highest_frequency(n, values, p) / 2 / np.pi))
    index = np.arange(1, int(count.max()) + 1 if count.size else 1)
    t = 2 * np.pi * index / (2 * half[..., None] + 1)
    # φ(t) − 1 is Σ p (exp(itv) − 1), with exp(ix) − 1 = −2 sin²(x / 2) + 2i sin(x / 2) cos(x / 2).
    half_angle = t[..., None, :] * (values - origin[..., None])[..., None] / 2
    sine = np.sin(half_angle)
    share = p[..., None, :]
    real, imaginary = (
        (share @ part)[..., 0, :] for part in (-2 * sine**2, 2 * sine * np.cos(half_angle))
    )
    magnitude, phase = _power(real, imaginary, n[..., None])
    phase = phase - t * (centre - n * origin)[..., None]
    # 1 / (1 − exp(−it)) is (1 − i cot(t / 2)) / 2.
    cotangent = 1 / np.tan(t / 2)
    magnitude = np.where(index <= count[..., None], magnitude / 2, 0.0)
    along, across = magnitude * np.cos(phase), magnitude * np.sin(phase)
    cosine, sine = along + across * cotangent, across - along * cotangent
    end = t * half[..., None]
    start = 2 * (cosine * np.cos(end) - sine * np.sin(end)).sum(axis=-1)
    third = third - 3 * mean * second + 2 * mean**3
    deviation = np.sqrt(n * variance)
    skewness = n * third / np.maximum(deviation, 1e-12) ** 3 * (deviation > 0)
    there = p > 0
    lowest = np.where(there, values, values.max()).min(axis=-1)
    highest = np.where(there, values, values.min()).max(axis=-1)
    support = (n * lowest, n * highest)
    return SumLaw(centre, half, n * mean, deviation, skewness, t, cosine, sine, start, support)


def _half_window(n: IntArray, variance: FloatArray, span: int) -> IntArray:
    """Return the largest distance of a sum from its mean, except with probability below 1e-19.

    Bernstein's inequality is P(|S − nμ| > x) ≤ 2 exp(−x² / (2nσ² + 2 span x / 3)). At x = 12 √(nσ²)
    + 30 span it is below that probability for every n and σ.
    """
    return np.ceil(12 * np.sqrt(n * variance) + 30 * max(span, 1)).astype(np.int64)


def _fine_half_window(variance: float, span: int) -> int:
    """Return the same for a probability below 1e-14, as narrow as Bernstein's inequality allows.

    x² = c (2 nσ² + 2 span x / 3) with c = 33.
    """
    third = 11 * span
    return math.ceil(third + math.sqrt(third**2 + 66 * variance)) + 1


def _highest_frequency(n: IntArray, values: IntArray, p: FloatArray) -> FloatArray:
    """Return the frequency from which on |φ(t)|ⁿ is below exp(−40).

    |φ(t)|² = 1 − 2 Σ p_i p_j (1 − cos((v_i − v_j) t)) over all pairs of values. Let q be the sum of
    p_i p_j over the pairs that differ by 1. These pairs alone give |φ(t)|ⁿ ≤ exp(−n q (1 − cos t)).
    """
    by_one = np.abs(values[:, None] - values) == 1
    q = ((p @ by_one) * p).sum(axis=-1) / 2
    nq = np.maximum(n * q, 1e-300)
    return np.arccos(np.maximum(1 - 40 / nq, -1.0))


def _power(real: FloatArray, imaginary: FloatArray, n: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return |φⁿ| and the angle of φⁿ, from φ − 1, without losing digits if φ is close to 1."""
    square = 2 * real + real**2 + imaginary**2
    with np.errstate(divide="ignore"):  # The logarithm of φ = 0 is −∞, and its power is 0.
        log = np.log1p(np.maximum(square, -1.0)) / 2
    angle = np.arctan2(imaginary, 1 + real)
    return np.asarray(np.exp(n * log)), np.asarray(n * angle, dtype=np.float64)


@dataclass(frozen=True)
class DiscreteLaw:
    """Distribution on finitely many numbers in ascending order, with cumulative probabilities."""

    values: FloatArray
    cumulative: FloatArray

    def share_below(self, x: float) -> float:
        """Return P(value < x) + P(value = x) / 2."""
        up_to = np.concatenate([[0.0], self.cumulative])
        below, through = np.searchsorted(self.values, [_less(x), _more(x)])
        return float(up_to[below] + up_to[through]) / 2

    def lower_quantile(self, level: float) -> float:
        """Return the smallest value with P(≤ value) ≥ level."""
        at = int(np.searchsorted(self.cumulative, level - _LEVEL_ROUNDING))
        return float(self.values[min(at, len(self.values) - 1)])

    def upper_quantile(self, level: float) -> float:
        """Return the largest value with P(≥ value) ≥ level."""
        from_there_on = 1 - np.concatenate([[0.0], self.cumulative[:-1]])
        reached = np.flatnonzero(from_there_on >= level - _LEVEL_ROUNDING)
        return float(self.values[reached[-1]] if reached.size else self.values[0])


def discrete_law(values: FloatArray, probabilities: FloatArray | None = None) -> DiscreteLaw:
    """Build the distribution of values with these probabilities (default: equal ones)."""
    order = np.argsort(values, kind="stable")
    if probabilities is None:
        cumulative = np.arange(1, len(values) + 1) / len(values)
    else:
        cumulative = np.cumsum(probabilities[order])
        cumulative = cumulative / cumulative[-1]
    ordered = values[order]
    # Merge equal values, including those that differ only by rounding.
    last = np.append(ordered[1:] > _more(ordered[:-1]), True)
    return DiscreteLaw(ordered[last], cumulative[last])


def _less(x: npt.ArrayLike) -> FloatArray:
    return np.asarray(x) - _rounding(x)


def _more(x: npt.ArrayLike) -> FloatArray:
    return np.asarray(x) + _rounding(x)


def _rounding(x: npt.ArrayLike) -> FloatArray:
    return np.asarray(1e-12 * np.clip(np.abs(x), 1.0, 1e300))


def fine_sum_law(n: int, values: npt.ArrayLike, probabilities: npt.ArrayLike) -> DiscreteLaw:
    """Compute the distribution of the sum of n draws from widely spaced numbers on a fine lattice.

    Parameters
    ----------
    n : int
        Number of draws, at least 1.
    values : array_like of int, shape (k,)
        The possible values of one draw.
    probabilities : array_like of float, shape (k,)
        Their probabilities.

    Returns
    -------
    DiscreteLaw
        Covers every whole number of the window that contains all but a negligible part.

    Raises
    ------
    ValueError
        As `sum_law`.

    Notes
    -----
    `sum_law` evaluates each frequency for each value, which suits a few small numbers. This
    function uses one Fourier transform for all of them. Its cost grows with the window, about 16
    standard deviations of the sum.

    Examples
    --------
    >>> law = fine_sum_law(2, [0, 5000], [0.5, 0.5])
    >>> law.lower_quantile(0.25), law.lower_quantile(0.26), law.upper_quantile(0.25)
    (0.0, 5000.0, 10000.0)
    """
    n = check_whole("n", n, example=100)
    (values,) = check_integers(values=values)
    p = check_share("probabilities", probabilities)
    if values.ndim != 1 or p.shape != values.shape:
        raise ValueError(
            f"values and probabilities must have one shape (k,); got {values.shape} and {p.shape}"
        )
    lowest = int(values.min())
    # A common factor of all steps is one step.
    unit = max(int(np.gcd.reduce(values - lowest)), 1)
    values = (values - lowest) // unit
    mean, span = float(p @ values), int(values.max())
    half = _fine_half_window(n * float(p @ (values - mean) ** 2), span)
    centre = round(n * mean)
    low, high = max(0, centre - half), min(n * span, centre + half)
    size = fft.next_fast_len(high - low + 1, real=True)
    # Count draws from a whole number near the mean, where φ(t)ⁿ loses fewest digits.
    origin = round(mean)
    draw = np.zeros(size)
    np.add.at(draw, (values - origin) % size, p)
    less_one = fft.rfft(draw) - 1
    # Few frequencies exceed rounding error: |φ|ⁿ below exp(−45) contributes nothing.
    squared_less_one = 2 * less_one.real + less_one.real**2 + less_one.imag**2
    few = np.flatnonzero(squared_less_one > np.expm1(-90 / n))
    magnitude, phase = _power(less_one[few].real, less_one[few].imag, np.asarray(n))
    # The sum's lowest value comes first. Remove whole turns while numbers are still whole.
    turns = few * ((low - n * origin) % size) % size
    wave = np.zeros(len(less_one), dtype=np.complex128)
    wave[few] = magnitude * np.exp(1j * (phase + 2 * np.pi / size * turns))
    law = np.maximum(fft.irfft(wave, size, overwrite_x=True)[: high - low + 1], 0.0)
    cumulative = np.cumsum(law)
    sums = (np.arange(low, high + 1) * unit + n * lowest).astype(np.float64)
    return DiscreteLaw(sums, cumulative / cumulative[-1])


def plane_law(
    n: int, first: IntArray, second: IntArray, probabilities: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Compute the joint distribution of two sums of n draws.

    Parameters
    ----------
    n : int
        Number of draws, at least 1.
    first, second : ndarray of int, shape (k,)
        Contribution of a draw to each sum.
    probabilities : ndarray, shape (k,)
        Probabilities of the draws.

    Returns
    -------
    (ndarray of int, ndarray of int, ndarray)
        The values of the sums, as a column and a row, and the matrix of their probabilities.

    Raises
    ------
    ValueError
        If the grid would have more than 4 million points (n of some tens of thousands).
    """
    axes, halves = [], []
    for values in (first, second):
        mean = float(probabilities @ values)
        variance = np.asarray(max(float(probabilities @ values**2) - mean**2, 0.0))
        halves.append(int(_half_window(np.asarray(n), variance, int(np.ptp(values)))))
        low, high = n * int(values.min()), n * int(values.max())
        centre = round(n * mean)
        axes.append(np.arange(max(low, centre - halves[-1]), min(high, centre + halves[-1]) + 1))
    sizes = [fft.next_fast_len(len(axis)) for axis in axes]
    if sizes[0] * sizes[1] > _LARGEST_GRID:
        raise ValueError(
            f"the exact law of n = {n} pairs needs {sizes[0]} × {sizes[1]} points; resample "
            "instead, e.g. n_resamples=9999, rng=1"
        )
    t1, t2 = (2 * np.pi * fft.fftfreq(size) for size in sizes)
    t1 = t1[:, None]
    # The sign convention is opposite to that of the discrete Fourier transform.
    drawn = sum(
        p * np.expm1(-1j * (t1 * x + t2 * y))
        for p, x, y in zip(probabilities, first, second, strict=True)
    )
    magnitude, phase = _power(np.real(drawn), np.imag(drawn), np.asarray(n))
    phase = phase + t1 * axes[0][0] + t2 * axes[1][0]
    grid = fft.ifft2(magnitude * np.exp(1j * phase)).real
    grid = np.maximum(grid[: len(axes[0]), : len(axes[1])], 0.0)
    return axes[0][:, None], axes[1][None, :], grid
