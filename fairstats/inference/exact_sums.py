"""Exact distributions of sums of independent draws from a few whole numbers.

Resampling n pairs with replacement sums n draws from the observed table, so the bootstrap
distribution of such a sum need not be simulated. It is computed here by inverting its
characteristic function φ(t)ⁿ. The inversion uses a window that contains all but a negligible part
of the distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import (
    IntArray,
    check_integers,
    check_share,
    check_whole,
)

# Levels that differ by less are treated as equal: the inversion is accurate to about 1e-14.
_OUTWARDS = np.array([-1e-12, 1e-12])
# No rounding error reaches this level, so a quantile is a possible value.
_LEAST_LEVEL = 1e-13
# Steps from the first guess at which a quantile is looked for.
_NEAR = np.arange(-2, 3)
_THIS_AND_ONE_LESS = np.arange(2)
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
        Mean, as distance from `centre`, standard deviation and skewness of the sum.
    nodes, amplitude, phase : ndarray
        The frequencies t of the inversion, on the last axis; and |φ(t)ⁿ| / sin(t / 2) and the angle
        of φ(t)ⁿ, relative to half a step above `centre`.
    start : ndarray
        `half` + 1 minus the sum of the waves at the lower end of the window.
    """

    centre: IntArray
    half: IntArray
    mean: FloatArray
    deviation: FloatArray
    skewness: FloatArray
    nodes: FloatArray
    amplitude: FloatArray
    phase: FloatArray
    start: FloatArray

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        """Return P(sum ≤ x), accurate to about 1e-14."""
        return self._through(np.asarray(x, dtype=np.int64)[..., None])[..., 0]

    def share_below(self, x: npt.ArrayLike) -> FloatArray:
        """Return P(sum < x) + P(sum = x) / 2."""
        both = np.asarray(x, dtype=np.int64)[..., None] - _THIS_AND_ONE_LESS
        return np.asarray(self._through(both).sum(axis=-1) / 2)

    def quantiles(self, levels: npt.ArrayLike) -> IntArray:
        """Return a lower and an upper quantile, for two levels on the last axis.

        The first is the smallest x with P(sum ≤ x) ≥ its level. The second is the largest x with
        P(sum ≥ x) ≥ 1 − its level.
        """
        levels = np.minimum(np.maximum(levels + _OUTWARDS, _LEAST_LEVEL), 1 - _LEAST_LEVEL)
        # The Cornish-Fisher expansion is accurate to a step or two.
        z = scipy.special.ndtri(levels)
        z = z + self.skewness[..., None] * (z**2 - 1) / 6
        guess = np.rint(self.mean[..., None] + self.deviation[..., None] * z)
        near = guess[..., None] + _NEAR
        flat = near.reshape(*near.shape[:-2], near.shape[-2] * near.shape[-1])
        there = self._at(flat).reshape(near.shape) >= levels[..., None]
        if (there[..., 0] < there[..., -1]).all():
            steps = near[..., 0] + there.argmax(axis=-1)
        else:
            steps = self._halved(levels)
        return self.centre[..., None] + steps.astype(np.int64)

    def _through(self, x: IntArray) -> FloatArray:
        """Return P(sum ≤ x) for values on the last axis."""
        half = self.half[..., None]
        share = self._at(np.minimum(np.maximum(x - self.centre[..., None], -half - 1), half))
        return np.minimum(np.maximum(share, 0.0), 1.0)

    def _at(self, steps: npt.NDArray[Any]) -> FloatArray:
        """Return P(sum ≤ centre + steps) inside the window, with rounding error.

        This is the inversion formula, summed over the window up to there.
        """
        angles = self.nodes[..., None, :] * steps[..., None] - self.phase[..., None, :]
        waves = (np.sin(angles) @ self.amplitude[..., None])[..., 0]
        return np.asarray((self.start[..., None] + steps + waves) / (2 * self.half + 1)[..., None])

    def _halved(self, levels: FloatArray) -> IntArray:
        """Return the smallest steps that reach each level, by halving the window."""
        ends = -self.half[..., None] - 1, self.half[..., None]
        below, found = (np.broadcast_to(end, levels.shape) for end in ends)
        for _ in range(int((found - below).max()).bit_length()):
            middle = (below + found) // 2
            there = (self._at(middle) >= levels) & (middle > below)
            found = np.where(there, middle, found)
            below = np.where(there, below, middle)
        return found


def law_of_sum(n: IntArray, values: IntArray, p: FloatArray) -> SumLaw:
    """Compute the law of the sum of n draws from `values` with probabilities p, (..., k).

    The cost does not grow with n. Only frequencies below a few standard deviations of φⁿ contribute
    more than rounding error.
    """
    mean = p @ values
    deviation = values - mean[..., None]
    squares = deviation**2
    variance, third = np.vecdot(p, squares), np.vecdot(p, squares * deviation)
    # Count steps from a whole number near the mean, where φ(t)ⁿ loses no digits.
    origin = np.rint(mean)
    beyond = n * (mean - origin)
    from_origin = np.rint(beyond)
    half = _half_window(n, variance, int(values.max() - values.min()))
    width = 2 * half + 1
    count = np.floor(width * _highest_frequency(n, values, p) / (2 * np.pi))
    index = np.arange(1, int(count.max()) + 1 if count.size else 1)
    half_turns = np.pi * index
    half_nodes = half_turns / width[..., None]
    # φ(t) − 1 is Σ p (exp(itv) − 1), with exp(ix) − 1 = −2 sin²(x / 2) + 2i sin(x / 2) cos(x / 2).
    half_angle = half_nodes[..., None, :] * (values - origin[..., None])[..., None]
    sine = np.sin(half_angle)
    share = 2 * p[..., None, :]
    real, imaginary = -(share @ sine**2), share @ (sine * np.cos(half_angle))
    magnitude, phase = _power(real[..., 0, :], imaginary[..., 0, :], n[..., None])
    nodes = 2 * half_nodes
    phase = phase - nodes * from_origin[..., None]
    # Summed over steps k, cos(tk − phase) is a difference of two sines, divided by 2 sin(t / 2). At
    # the lower end of the window, a whole number of half turns away, the sine is ±sin(phase).
    amplitude = np.where(index <= count[..., None], magnitude / np.sin(half_nodes), 0.0)
    start = half + 1 + (amplitude * np.sin(phase)) @ np.cos(half_turns)
    deviation = np.sqrt(n * variance)
    skewness = n * third / np.maximum(deviation, 1e-12) ** 3
    return SumLaw(
        centre=n * origin.astype(np.int64) + from_origin.astype(np.int64),
        half=half,
        mean=beyond - from_origin,
        deviation=deviation,
        skewness=skewness,
        nodes=nodes,
        amplitude=amplitude,
        phase=phase - half_nodes,
        start=start,
    )


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
    by_one = np.subtract.outer(values, values) == 1
    q = np.vecdot(p @ by_one, p)
    # Below n q = 20, no frequency is negligible.
    return np.arccos(1 - 40 / np.maximum(n * q, 20.0))


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

    def quantiles(self, levels: npt.ArrayLike) -> FloatArray:
        """Return a lower and an upper quantile, for two levels on the last axis.

        The first is the smallest value with P(≤ value) ≥ its level. The second is the largest value
        with P(≥ value) ≥ 1 − its level.
        """
        at = np.searchsorted(self.cumulative, levels + _OUTWARDS)
        return self.values[np.minimum(at, len(self.values) - 1)]


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

    Returns
    -------
    DiscreteLaw
        Covers every whole number of the window that contains all but a negligible part.

    Notes
    -----
    `law_of_sum` evaluates each frequency for each value, which suits a few small numbers. This
    function uses one Fourier transform for all of them. Its cost grows with the window, about 16
    standard deviations of the sum.

    Examples
    --------
    >>> law = fine_sum_law(2, [0, 5000], [0.5, 0.5])
    >>> law.quantiles([0.25, 0.75]).tolist(), law.quantiles([0.26, 0.74]).tolist()
    ([0.0, 10000.0], [5000.0, 5000.0])
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
    size = scipy.fft.next_fast_len(high - low + 1, real=True)
    # Count draws from a whole number near the mean, where φ(t)ⁿ loses fewest digits.
    origin = round(mean)
    draw = np.zeros(size)
    np.add.at(draw, (values - origin) % size, p)
    less_one = scipy.fft.rfft(draw) - 1
    # Few frequencies exceed rounding error: |φ|ⁿ below exp(−45) contributes nothing.
    squared_less_one = 2 * less_one.real + less_one.real**2 + less_one.imag**2
    few = np.flatnonzero(squared_less_one > np.expm1(-90 / n))
    magnitude, phase = _power(less_one[few].real, less_one[few].imag, np.asarray(n))
    # The sum's lowest value comes first. Remove whole turns while numbers are still whole.
    turns = few * ((low - n * origin) % size) % size
    wave = np.zeros(len(less_one), dtype=np.complex128)
    wave[few] = magnitude * np.exp(1j * (phase + 2 * np.pi / size * turns))
    law = np.maximum(scipy.fft.irfft(wave, size, overwrite_x=True)[: high - low + 1], 0.0)
    cumulative = np.cumsum(law)
    sums = (np.arange(low, high + 1) * unit + n * lowest).astype(np.float64)
    return DiscreteLaw(sums, cumulative / cumulative[-1])


def plane_law(
    n: int, first: IntArray, second: IntArray, probabilities: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Compute the joint distribution of two sums of n draws.

    `first` and `second` are a draw's contributions to each sum. The result has the values of the
    sums, as a column and a row, and the matrix of their probabilities.

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
    sizes = [scipy.fft.next_fast_len(len(axis)) for axis in axes]
    if sizes[0] * sizes[1] > _LARGEST_GRID:
        raise ValueError(
            f"the exact law of n = {n} pairs needs {sizes[0]} × {sizes[1]} points; resample "
            "instead, e.g. n_resamples=9999, rng=1"
        )
    t1, t2 = (2 * np.pi * scipy.fft.fftfreq(size) for size in sizes)
    t1 = t1[:, None]
    # The sign convention is opposite to that of the discrete Fourier transform.
    drawn = sum(
        p * np.expm1(-1j * (t1 * x + t2 * y))
        for p, x, y in zip(probabilities, first, second, strict=True)
    )
    magnitude, phase = _power(np.real(drawn), np.imag(drawn), np.asarray(n))
    phase = phase + t1 * axes[0][0] + t2 * axes[1][0]
    grid = scipy.fft.ifft2(magnitude * np.exp(1j * phase)).real
    grid = np.maximum(grid[: len(axes[0]), : len(axes[1])], 0.0)
    return axes[0][:, None], axes[1][None, :], grid
