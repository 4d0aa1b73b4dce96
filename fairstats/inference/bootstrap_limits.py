"""The limits of an interval that a bootstrap distribution gives: BCa, percentile or basic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import check_alpha, check_choice

BootstrapMethod = Literal["bca", "percentile", "basic"]
IntArray = npt.NDArray[np.int64]
#: A function that maps counts of shape (..., k) to an array of shape (...).
CountsFunction = Callable[[npt.NDArray[np.int64]], npt.ArrayLike]


class Law(Protocol):
    """The distribution of a statistic over resamples, from which intervals are computed."""

    def share_below(self, x: float) -> npt.ArrayLike: ...
    def quantiles(self, levels: npt.ArrayLike) -> npt.NDArray[Any]: ...


def interval_of_law(
    law: Law, estimate: float, acceleration: float, method: BootstrapMethod, alpha: float
) -> tuple[float, float, str]:
    """Return the limits that a method takes from a distribution, and the method used."""
    levels, used = limit_levels(law.share_below(estimate), acceleration, method, alpha)
    low, high = law.quantiles(levels).tolist()
    if method == "basic":
        low, high = 2 * estimate - high, 2 * estimate - low
    return low, high, str(used)


def limit_levels(
    share_below: npt.ArrayLike, acceleration: npt.ArrayLike, method: BootstrapMethod, alpha: float
) -> tuple[FloatArray, npt.NDArray[np.str_]]:
    """Return the levels of the two limits, on the last axis, and the method that gives them."""
    method, alpha = check_choice("method", method, get_args(BootstrapMethod)), check_alpha(alpha)
    plain = np.array([alpha / 2, 1 - alpha / 2])
    share = np.asarray(share_below, dtype=np.float64)[..., None]
    if method != "bca":
        return np.broadcast_to(plain, (*share.shape[:-1], 2)), np.full(share.shape[:-1], method)
    z0, acceleration = scipy.special.ndtri(share), np.asarray(acceleration)[..., None]
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = z0 + scipy.special.ndtri(plain)
        slope = 1 - acceleration * moved
        levels = scipy.special.ndtr(z0 + moved / slope)
        defined = (np.isfinite(moved) & (slope > 0)).all(axis=-1)
    return (
        np.where(defined[..., None], levels, plain),
        np.where(defined, "bca", "percentile (bca undefined)"),
    )


def mean_acceleration(values: IntArray, many: IntArray) -> FloatArray:
    """Return the acceleration of a mean: one sixth of the skewness of the mean.

    Leaving out a value moves the mean by the value's deviation / (n − 1). The factor is the same
    for all values.
    """
    n = np.maximum(many.sum(axis=-1, keepdims=True), 1)
    deviation = values - (many @ values)[..., None] / n
    spread = np.asarray((many * deviation**2).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((many * deviation**3).sum(axis=-1) / (6 * spread**1.5))


def acceleration_of(rows: IntArray, compute: CountsFunction) -> FloatArray:
    """Return Σ l³ / (6 (Σ l²)^1.5), with l the mean leave-one-out value minus each such value."""
    left_out = np.zeros(rows.shape)
    for i in range(rows.shape[-1]):
        less = rows - np.eye(rows.shape[-1], dtype=np.int64)[i]
        there = (rows[:, i] > 0) & (less.sum(-1) > 0)
        if there.any():
            left_out[there, i] = np.asarray(compute(less[there]))
    n = np.maximum(rows.sum(axis=-1, keepdims=True), 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        # An infinite leave-one-out value (a ratio over 0) leaves the acceleration undefined.
        values = np.where(rows > 0, left_out, 0.0)
        deviation = np.where(rows > 0, (rows * values).sum(-1, keepdims=True) / n - values, 0.0)
        spread = (rows * deviation**2).sum(axis=-1)
        return np.asarray((rows * deviation**3).sum(axis=-1) / (6 * spread**1.5))
