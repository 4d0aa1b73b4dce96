"""Estimates of intersections of groups, shrunk towards the additive effects of their attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from fairstats._lib.result_objects import FloatArray, Tabular
from fairstats.inference._checks import check_alpha, check_numbers

# Smaller variances, relative to the largest, are rounding error.
_ROUNDING = 1e-10


@dataclass(frozen=True, repr=False)
class IntersectionEstimates(Tabular):
    """Result of `shrink_intersections`: one element per intersection; the rest are numbers.

    Attributes
    ----------
    estimate, ci_low, ci_high : ndarray
        The shrunken estimates and their limits; NaN if the sampling noise is unknown.
    observed : ndarray
        The estimates as given.
    additive : ndarray
        What the main effects of the attributes predict.
    between_sd, between_sd_low, between_sd_high : float
        Standard deviation of the intersections around the additive effects, with its limits.
    additive_share : float
        Share of the variance between intersections that the additive effects explain (the
        proportional change in variance), at most 1; NaN if there is no such variance.
    ci_level : float
        The level of all limits.
    method : str
        The method.
    """

    estimate: FloatArray
    ci_low: FloatArray
    ci_high: FloatArray
    observed: FloatArray
    additive: FloatArray
    between_sd: float
    between_sd_low: float
    between_sd_high: float
    additive_share: float
    ci_level: float
    method: str


def shrink_intersections(
    estimates: npt.ArrayLike,
    groups: pd.DataFrame | Mapping[str, Any],
    *,
    covariance: npt.ArrayLike | None = None,
    alpha: float = 0.05,
) -> IntersectionEstimates:
    r"""Shrink estimates of intersections, such as race × sex, towards additive effects (MAIHDA).

    The true value of intersection k is θ_k = x_k'β + u_k, with the main effects of the attributes β
    and deviations u_k of variance τ². An estimate with much sampling noise moves far towards x_k'β;
    a precise one stays where it is.

    Parameters
    ----------
    estimates : array_like of float, shape (items, k) or (k,)
        With a row per item: its figure in each intersection, e.g. 1 for a right answer and 0 for a
        wrong one, or a share over samples. The estimates are the means of the columns. Otherwise
        one estimate per intersection, and `covariance`.
    groups : DataFrame or mapping
        One column per attribute with each intersection's group, in the order of the estimates.
    covariance : array_like of float, shape (k, k) or (k,), optional
        Sampling covariance of single estimates, or only their variances if they are independent.
    alpha : float
        1 − confidence level.

    Returns
    -------
    IntersectionEstimates

    Raises
    ------
    ValueError
        If shapes do not fit, a number is not finite, the covariance is missing or not symmetric
        and non-negative, or there are not more intersections than main effects.

    Notes
    -----
    τ² is Paule and Mandel's: Q(τ²) = r' (V + τ²I)⁻¹ r equals its expectation, k minus the number of
    main effects, with r the residuals of generalised least squares; or 0 if Q(0) is smaller. Its
    limits invert the χ² distribution of Q. The shrunken estimates are the best linear unbiased
    predictions, and their limits are normal. They take τ² as known, so they are too narrow for
    few intersections: with τ² = 0, all estimates are the additive ones. Report ``between_sd_high``
    next to them. If nearly all answers of an intersection are right, its limits are too narrow as
    well: normal limits do not hold there, and it shares its variance with the others. If the
    covariance is 0, there is no noise and no shrinkage.

    If all items show the same differences between intersections, they do not show the noise of
    these differences: a sixth item may differ from five equal ones. The estimates are then as
    observed, and limits and deviations are NaN.

    Intersections of the same items share their difficulty, which is no reason to shrink. So with a
    row per item, the covariance is the one of the sample, with the mean of its variances and the
    mean of its covariances. These means are deliberate: the single entries are noisy, and with them
    the errors were larger in simulations (benchmarks/intersections.py).

    References
    ----------
    Evans et al. (2018), Social Science & Medicine 203:64-73, for MAIHDA; Paule & Mandel (1982),
    Journal of Research of the National Bureau of Standards 87:377-385; Viechtbauer (2007),
    Statistics in Medicine 26:37-52, for the limits of τ²; Robinson (1991), Statistical Science
    6:15-32, for the predictions. Checked against R's ``metafor`` (tests/r/intersections.R).

    Examples
    --------
    >>> groups = {"race": ["white", "white", "black", "black"], "sex": ["m", "f", "m", "f"]}
    >>> found = shrink_intersections([0.80, 0.78, 0.76, 0.62], groups, covariance=[0.0004] * 4)
    >>> found.estimate.round(3).tolist()
    [0.803, 0.777, 0.757, 0.623]
    """
    alpha = check_alpha(alpha)
    y = check_numbers("estimates", estimates, example="0.8; leave out items with missing answers")
    of_items = covariance is None
    if covariance is None:
        y, v = _of_items(y)
    elif y.ndim == 1:
        v = _covariance(covariance, len(y))
    else:
        raise ValueError(f"with a covariance, estimates must have shape (k,), got {y.shape}")
    x = _main_effects(groups, len(y))
    free = len(y) - int(np.linalg.matrix_rank(x))
    if free < 1:
        raise ValueError(
            f"{len(y)} intersections do not exceed the number of main effects; give all "
            "intersections of at least two attributes"
        )
    if of_items and v[0, 0] - v[0, 1] <= _ROUNDING * max(float(np.abs(y).max()) ** 2, 1e-200):
        nan, nans = float("nan"), np.full(len(y), np.nan)
        why = "none (all items show the same differences: their noise is unknown)"
        return IntersectionEstimates(y, nans, nans, y, nans, nan, nan, nan, nan, 1 - alpha, why)
    between = _between_variance(y, v, x, free)
    only_mean = _between_variance(y, v, np.ones((len(y), 1)), len(y) - 1)
    low, high = (
        _between_variance(y, v, x, float(scipy.stats.chi2.isf(tail, free)))
        for tail in (alpha / 2, 1 - alpha / 2)
    )
    additive, residuals, of_fit, weight = _fitted(y, v, x, between)
    shrunken = additive + between * weight @ residuals
    kept = np.eye(len(y)) - between * weight
    error = between * kept + kept @ of_fit @ kept.T
    half = float(scipy.stats.norm.isf(alpha / 2)) * np.sqrt(np.maximum(np.diag(error), 0))
    share = 1 - between / only_mean if only_mean > 0 else float("nan")
    sd, sd_low, sd_high = (float(np.sqrt(value)) for value in (between, low, high))
    return IntersectionEstimates(
        shrunken,
        shrunken - half,
        shrunken + half,
        y,
        additive,
        sd,
        sd_low,
        sd_high,
        share,
        1 - alpha,
        "paule-mandel, best linear unbiased prediction",
    )


def _of_items(figures: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the means of the columns, and their covariance with one variance and covariance."""
    if figures.ndim != 2 or len(figures) < 2 or figures.shape[1] < 2:
        raise ValueError(
            "without a covariance, estimates must have shape (items, k), with at least 2 of both; "
            f"got {figures.shape}"
        )
    items, k = figures.shape
    sample = np.cov(figures.T) / items
    variance = float(np.trace(sample)) / k
    shared = (float(sample.sum()) - k * variance) / (k * (k - 1))
    return figures.mean(axis=0), (variance - shared) * np.eye(k) + shared


def _covariance(given: npt.ArrayLike, k: int) -> FloatArray:
    v = check_numbers("covariance", given, example="0.0004")
    if v.shape == (k,):
        v = np.diag(v)
    if v.shape != (k, k):
        raise ValueError(f"covariance must have shape ({k}, {k}) or ({k},), got {v.shape}")
    size = max(float(np.abs(v).max(initial=0.0)), 1e-200)
    if np.abs(v - v.T).max(initial=0.0) > _ROUNDING * size:
        raise ValueError("covariance must be symmetric; use the output of frame.cov() / len(frame)")
    if k and np.linalg.eigvalsh(v)[0] < -_ROUNDING * size * k:
        raise ValueError("covariance must not be negative; check the variances")
    return v


def _main_effects(groups: pd.DataFrame | Mapping[str, Any], k: int) -> FloatArray:
    """Return the design: one column for the mean, and one per further group of each attribute."""
    frame = pd.DataFrame(groups)
    if len(frame) != k or not frame.shape[1]:
        raise ValueError(
            f"groups must have one row per estimate ({k}) and one column per attribute, got "
            f"{frame.shape}"
        )
    if frame.isna().any(axis=None):
        raise ValueError("groups must not be null; name the group of every intersection")
    dummies = pd.get_dummies(frame.astype("str"), drop_first=True, dtype=float)
    return np.column_stack([np.ones(k), dummies.to_numpy()])


def _fitted(
    y: FloatArray, v: FloatArray, x: FloatArray, between: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return fitted values, residuals, covariance of the fit, and the inverse total covariance."""
    total = v + between * np.eye(len(y))
    # Without noise and deviations, the inverse needs a little of both.
    size = max(float(np.trace(total)) / len(y), 1e-200)
    weight = np.linalg.inv(total + _ROUNDING * size * np.eye(len(y)))
    of_effects = np.linalg.pinv(x.T @ weight @ x)
    additive = x @ (of_effects @ (x.T @ (weight @ y)))
    return additive, y - additive, x @ of_effects @ x.T, np.asarray(weight, dtype=np.float64)


def _between_variance(y: FloatArray, v: FloatArray, x: FloatArray, target: float) -> float:
    """Return the τ² at which Q(τ²) is the target, or 0 if Q(0) is smaller."""

    def excess(between: float) -> float:
        _, residuals, _, weight = _fitted(y, v, x, between)
        return float(residuals @ weight @ residuals) - target

    _, plain, _, _ = _fitted(y, 0 * v, x, 1.0)
    # At this variance, Q is below the target.
    most = float(plain @ plain) / max(target, 1e-12)
    if most <= _ROUNDING**2 or excess(0.0) <= 0:
        return 0.0
    return float(scipy.optimize.brentq(excess, 0.0, most * 1.001, xtol=1e-15))
