"""Components of variance over items and raters, or items and models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray, Tabular
from fairstats.inference._checks import check_alpha, check_numbers
from fairstats.inference.item_bootstrap import bounded_mean_interval

_SINGULAR = 1e-9

# Smaller variances are rounding error.
_ROUNDING = 1e-15


@dataclass(frozen=True, repr=False)
class VarianceComponents(Tabular):
    """Result of `variance_components`; a component is NaN if the data do not identify it."""

    item: float
    rater: float
    residual: float

    @property
    def item_icc(self) -> float:
        """Return the items' share of the variance; negative components count as 0."""
        return self._share(self.item)

    @property
    def rater_icc(self) -> float:
        """Return the raters' share of the variance."""
        return self._share(self.rater)

    def _share(self, component: float) -> float:
        parts = np.array([self.item, self.rater, self.residual])
        total = np.maximum(np.nan_to_num(parts), 0).sum()
        # If there is no variance, the share is undefined.
        return float(np.maximum(component, 0.0) / total) if total > 0 else float("nan")


def variance_components(
    values: npt.ArrayLike, items: npt.ArrayLike, raters: npt.ArrayLike
) -> VarianceComponents:
    """Estimate the variances in y_ij = μ + item_i + rater_j + rest, for any assignment of raters.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        The ratings as numbers, e.g. 1 if bias is reported.
    items, raters : array_like, shape (n,)
        The item and the rater of each rating.

    Returns
    -------
    VarianceComponents
        Unbiased estimates, which can be negative. The items' variance is NaN with one rating per
        item, and the raters' with one per rater; it is then part of the rest. All are NaN for fewer
        than two ratings, or if items and raters cannot be distinguished.

    Raises
    ------
    ValueError
        If the three lengths differ, or a value is not finite.

    Notes
    -----
    This is Henderson's Method I. It takes the squared totals of items, of raters and overall,
    divided by their numbers of ratings. These are equated with their expectations, given the
    observed numbers of ratings. For a full table that is the analysis of variance.

    References
    ----------
    Henderson (1953), Biometrics 9:226-252; Searle, Casella & McCulloch (1992), Variance Components,
    section 5.3. Checked against R: ``aov`` for a full table, and traces of the design's matrices
    for other tables (tests/r/variance_components.R).

    Examples
    --------
    >>> found = variance_components([1, 1, 0, 0, 1, 0], list("aabbcc"), [1, 2, 1, 2, 1, 2])
    >>> round(found.item, 4), round(found.residual, 4), round(found.item_icc, 4)
    (0.1667, 0.1667, 0.5)
    """
    y = check_numbers(
        "values", values, booleans=True, example="1; remove items that were not judged"
    )
    shapes = y.shape, np.shape(items), np.shape(raters)
    if y.ndim != 1 or len(set(shapes)) > 1:
        got = " and ".join(map(str, shapes))
        raise ValueError(f"values, items and raters must have one shape (n,); got {got}")
    n = len(y)
    nan = float("nan")
    if n < 2:
        return VarianceComponents(nan, nan, nan)
    item, n_item = _numbered(items)
    rater, n_rater = _numbered(raters)
    cell, n_cell = _numbered(item * len(n_rater) + rater)
    first = np.unique(cell, return_index=True)[1]
    # Σ n_ij², divided by the item's number of ratings, and by the rater's.
    across_items = float((n_cell**2 / n_item[item[first]]).sum())
    across_raters = float((n_cell**2 / n_rater[rater[first]]).sum())
    squares = np.array(
        [
            y @ y,
            y.sum() ** 2 / n,
            (np.bincount(item, y) ** 2 / n_item).sum(),
            (np.bincount(rater, y) ** 2 / n_rater).sum(),
        ]
    )
    # Their expectations in terms of μ² and the variances of items, raters and the rest.
    expected = np.array(
        [
            [n, n, n, n],
            [n, (n_item**2).sum() / n, (n_rater**2).sum() / n, 1],
            [n, n, across_items, len(n_item)],
            [n, across_raters, n, len(n_rater)],
        ]
    )
    told = np.array([True, len(n_item) < n, len(n_rater) < n, True])
    kept = told[[0, 3, 1, 2]]  # The equations for all, the mean, items and raters.
    matrix = expected[np.ix_(kept, told)] / n
    if np.linalg.svd(matrix, compute_uv=False)[-1] < _SINGULAR:
        return VarianceComponents(nan, nan, nan)
    found = np.full(4, nan)
    found[told] = np.linalg.solve(matrix, squares[kept] / n)
    return VarianceComponents(*map(float, found[1:]))


def _numbered(labels: npt.ArrayLike) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return each label's number from 0, and how often each label occurs."""
    _, number, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)
    return number, counts


@dataclass(frozen=True, repr=False)
class GapComponents(Tabular):
    """Result of `gap_components`.

    Attributes
    ----------
    estimate, ci_low, ci_high : float
        The mean gap of the models, with limits for further items and models.
    ci_level : float
        The level of all limits.
    item_variance, model_variance, rest_variance : float
        Variances between items, between models, and of the rest: interaction and sampling noise.
        Unbiased, so they can be negative. NaN if the data do not identify them.
    model_sd : float
        Standard deviation of the models' gaps without noise; 0 if the variance is negative.
    reliability : float
        Share of the variance of the observed gaps of models that is due to the models, in [0, 1].
    same_items_low, same_items_high : float
        Prediction limits of the observed gap of a new model on the same items.
    new_items_low, new_items_high : float
        Prediction limits of its observed gap on as many new items.
    method : str
        The method of the limits.
    n_items, n_models : int
        Items (or clusters) and models with differences.
    """

    estimate: float
    ci_low: float
    ci_high: float
    ci_level: float
    item_variance: float
    model_variance: float
    rest_variance: float
    model_sd: float
    reliability: float
    same_items_low: float
    same_items_high: float
    new_items_low: float
    new_items_high: float
    method: str
    n_items: int
    n_models: int


def gap_components(
    differences: Any, *, units: npt.ArrayLike | None = None, alpha: float = 0.05
) -> GapComponents:
    r"""Split the variation of a gap into items, models and the rest, and predict a new model's gap.

    The difference of model j on item i is d_ij = μ + item_i + model_j + rest_ij. The gap of a model
    is the mean of its differences, and the estimate is the mean of the models' gaps.

    Parameters
    ----------
    differences : array_like or DataFrame of float, shape (items, models)
        Right answers of group a minus right answers of group b, in [−1, 1]: −1, 0 or 1 with one
        answer per variant, and a mean over samples otherwise. NaN if the pair is missing.
    units : array_like, shape (items,), optional
        The cluster of each item, e.g. the patient, if clusters are the independent units. They then
        take the place of the items, also in `n_items`. With K clusters of I items, that of cluster
        k is gap + K / I Σ (d − gap) over its items: its part of the gap, linearised.
    alpha : float
        1 − level of the interval and of the prediction limits.

    Returns
    -------
    GapComponents

    Raises
    ------
    ValueError
        For a difference outside [−1, 1], or another shape.

    Notes
    -----
    Models answer the same items, so their gaps share the effects of the items. A meta-analysis of
    the models' gaps with their standard errors would take these shared effects for noise of each
    model, and find too little variation between models. Here items and models are crossed: the
    effects of items do not affect differences between models.

    With I items and J models, the variance of the estimate is σ²_items / I + σ²_models / J +
    σ²_rest / (I J). A new model on the same items shares the items' effects. So its gap has the
    limits mean ± t √(s² (1 + 1/J)), with J − 1 degrees of freedom and s² the variance of the
    observed gaps, at least σ²_rest / I. On new items, the variance increases by 2 σ²_items / I;
    these limits are never the narrower ones. Negative components count as 0 in limits, and other
    degrees of freedom are Satterthwaite's. With missing differences, the weights are those of the
    observed differences, and the limits are approximate.

    The limits assume that models are a sample of similar models, such as the next ones of a board.
    By simulation with 5 to 30 models (benchmarks/gap_components.py), 95% limits cover at least 94%
    if the models' gaps are normal, or if one model in ten has a gap that is 10 points larger. If it
    is 30 points larger, they cover 88 to 93%. With one item or one model, variances are NaN and
    limits are −1 and 1. If all differences are equal, all limits are those of
    `bounded_mean_interval` over items. So are those of a new model on the same items if the models
    have the same gap without noise.

    To shrink the gaps of the models towards their mean: estimate + reliability × (gap − estimate).

    References
    ----------
    Searle, Casella & McCulloch (1992), Variance Components, chapter 4; Higgins, Thompson &
    Spiegelhalter (2009), JRSS A 172:137-159, for prediction limits; Satterthwaite (1946),
    Biometrics Bulletin 2:110-114. Checked against R: ``aov``, ``lme4::lmer`` and ``predict``
    (tests/r/gap_components.R), and by simulation (benchmarks/gap_components.py).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> shift = np.array([0.02, 0.06, 0.10, 0.14])  # gaps of four models
    >>> better, worse = (rng.random((500, 4)) < 0.1 + sign * shift / 2 for sign in (1, -1))
    >>> found = gap_components(better.astype(int) - worse)
    >>> round(found.estimate, 3), round(found.model_sd, 3), round(found.reliability, 2)
    (0.067, 0.045, 0.86)
    """
    alpha = check_alpha(alpha)
    example = "0, or NaN if an answer is missing"
    d = check_numbers(
        "differences", np.asarray(differences), low=-1, high=1, nan=True, example=example
    )
    if d.ndim != 2:
        raise ValueError(f"differences must have shape (items, models), got {d.shape}")
    there = ~np.isnan(d)
    if units is not None:
        own = np.asarray(units)
        if own.shape != d.shape[:1]:
            raise ValueError(f"units must have shape ({len(d)},), one per item; got {own.shape}")
        units = own[there.any(axis=1)]
    d = d[there.any(axis=1)][:, there.any(axis=0)]
    if units is not None and d.size:
        d = _of_units(d, units)
    there = ~np.isnan(d)
    n_items, n_models = d.shape
    gaps = np.nanmean(d, axis=0) if d.size else np.array([np.nan])
    estimate = float(gaps.mean())
    if n_items < 2 or n_models < 2:
        why = "none (fewer than two items or models)"
        return _result(estimate, [(-1.0, 1.0)] * 3, alpha, (np.nan,) * 3, np.nan, why, d.shape)
    if np.nanmax(d) - np.nanmin(d) <= _ROUNDING:
        why = "bounded mean over items (all differences are equal)"
        limits = [_of_alike(estimate, n_items, alpha)] * 3
        return _result(estimate, limits, alpha, (0.0,) * 3, 0.0, why, d.shape)
    split = variance_components(d[there], *np.nonzero(there))
    raw = split.item, split.rater, split.residual
    parts = np.maximum(np.nan_to_num(raw), 0.0)
    # A cell's weight in the mean of the models' gaps.
    weights = there / there.sum(axis=0) / n_models
    of_mean = np.array([(weights.sum(axis=1) ** 2).sum(), 1 / n_models, (weights**2).sum()])
    per_model = n_models * of_mean[2]  # 1 / I for complete data.
    of_new = of_mean + np.array([of_mean[0], 1.0, per_model])
    noise = float(per_model * parts[2])
    spread = max(float(gaps.var(ddof=1)), noise)
    same = _t_limits(estimate, spread * (1 + 1 / n_models), n_models - 1.0, alpha)
    if spread <= 1e-12:
        same = _of_alike(estimate, n_items, alpha)
    new = _limits(estimate, of_new, parts, d.shape, alpha)
    limits = [
        _limits(estimate, of_mean, parts, d.shape, alpha),
        same,
        (min(same[0], new[0]), max(same[1], new[1])),
    ]
    total = parts[1] + noise
    reliability = float(parts[1] / total) if total > 0 else 0.0
    return _result(
        estimate, limits, alpha, raw, reliability, "crossed components, satterthwaite t", d.shape
    )


def _of_alike(estimate: float, n_items: int, alpha: float) -> tuple[float, float]:
    """Return limits from equal differences, which do not show that others would be equal, too."""
    found = bounded_mean_interval(np.full(n_items, (estimate + 1) / 2), alpha=alpha)
    return 2 * float(found.ci_low) - 1, 2 * float(found.ci_high) - 1


def _of_units(d: FloatArray, units: npt.ArrayLike) -> FloatArray:
    """Return each cluster's linearised part of each model's gap; NaN without differences."""
    _, place = np.unique(np.asarray(units), return_inverse=True)
    there, gaps = ~np.isnan(d), np.nanmean(d, axis=0)
    sums, sizes = np.zeros((2, int(place.max()) + 1, d.shape[1]))
    np.add.at(sums, place, np.where(there, d - gaps, 0.0))
    np.add.at(sizes, place, there)
    number = (sizes > 0).sum(axis=0)
    return np.where(sizes > 0, gaps + number / sizes.sum(axis=0) * sums, np.nan)


def _limits(
    estimate: float, factors: FloatArray, parts: FloatArray, shape: tuple[int, ...], alpha: float
) -> tuple[float, float]:
    """Return limits for a variance of factors × components, by Satterthwaite's approximation."""
    n_items, n_models = shape
    # The components as combinations of the mean squares, whose degrees of freedom are known.
    item, model, rest = parts
    squares = np.array([rest + n_models * item, rest + n_items * model, rest])
    of_squares = np.array([factors[0] / n_models, factors[1] / n_items, 0.0])
    of_squares[2] = factors[2] - of_squares[:2].sum()
    df = np.array([n_items - 1.0, n_models - 1.0, (n_items - 1.0) * (n_models - 1.0)])
    variance = float(factors @ parts)
    spread = float(((of_squares * squares) ** 2 / df).sum())
    own_df = variance**2 / spread if spread > 0 else df[2]
    return _t_limits(estimate, variance, max(own_df, float(df.min())), alpha)


def _t_limits(estimate: float, variance: float, df: float, alpha: float) -> tuple[float, float]:
    half = float(scipy.stats.t.isf(alpha / 2, df)) * float(np.sqrt(variance))
    return max(estimate - half, -1.0), min(estimate + half, 1.0)


def _result(
    estimate: float,
    limits: list[tuple[float, float]],
    alpha: float,
    components: tuple[float, ...],
    reliability: float,
    method: str,
    shape: tuple[int, ...],
) -> GapComponents:
    (low, high), same, new = limits
    item, model, rest = components
    sd = float(np.sqrt(max(model, 0.0))) if not np.isnan(model) else float("nan")
    return GapComponents(
        estimate, low, high, 1 - alpha, item, model, rest, sd, reliability, *same, *new, method,
        *shape,
    )  # fmt: skip
