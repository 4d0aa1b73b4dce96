"""The difference of two groups if an item's two variants have the same covariates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from fairstats.estimates.standardized_differences import ItemEstimate
from fairstats.inference._checks import check_alpha
from fairstats.inference.differences import MeanDifference, mean_difference

# A p-value that underflows is not 0.
_LEAST_P = float(np.finfo(np.float64).tiny)
# An item with such leverage determines a term alone; residuals this small are 0.
_LEVERAGE, _NOTHING = 1 - 1e-9, 1e-9


@dataclass(frozen=True)
class WithinItems:
    """Linear regression of an item's difference on the changes of its covariates.

    Attributes
    ----------
    adjusted, plain : ItemEstimate
        The intercept, and the unadjusted mean of the differences.
    rows : tuple of dict
        Estimate, limits, test and note of the intercept and of each slope.
    n : int
        Number of items.
    """

    adjusted: ItemEstimate
    plain: ItemEstimate
    rows: tuple[dict[str, Any], ...]
    n: int

    def row(self, place: int) -> dict[str, Any]:
        """Return the intercept (0) or a slope, as a row of findings."""
        return self.rows[place] | {"n": self.n}


def within_items(
    differences: pd.Series, changes: pd.DataFrame, *, alpha: float = 0.05
) -> WithinItems:
    """Estimate the mean of the items' differences if their covariates do not change.

    The model is Dᵢ = β₀ + β' ΔLᵢ + εᵢ, by least squares; β₀ is the difference at ΔL = 0.

    Parameters
    ----------
    differences : pandas.Series
        Dᵢ = correct_a − correct_b by item.
    changes : pandas.DataFrame
        ΔLᵢ, the covariates of a's variant minus those of b's, for the same items in the same order.
    alpha : float
        1 − confidence level.

    Returns
    -------
    WithinItems

    Notes
    -----
    Standard errors are HC3. Limits and tests use Student's t with items − terms degrees of freedom.
    A covariate without any change is left out. Without covariates, or if all items have the same
    difference, the intercept is the mean, by `mean_difference`. There is no estimate if a covariate
    changes equally for all items, or one covariate follows from another. There is no standard error
    if a single item determines a term, or the regression fits exactly.

    References
    ----------
    MacKinnon & White (1985), Journal of Econometrics 29:305-325. Solved from the normal
    equations; checked against `statsmodels.api.OLS` and R (tests/r/gee.R).
    """
    alpha = check_alpha(alpha)
    values, n = differences.to_numpy(dtype=float), len(differences)
    mean = float(values.mean()) if n else np.nan
    plain = ItemEstimate(mean, (values - mean) / (n - 1)) if n > 1 else _no("only one item")
    kept = [place for place, name in enumerate(changes) if (changes[name].abs() > 1e-12).any()]
    slopes = [_nothing("the covariate does not change for any item")] * changes.shape[1]
    if n == 0:
        return _without("no item has answers for both groups", plain, changes, n)
    design = np.column_stack([np.ones(n), changes.iloc[:, kept].to_numpy(dtype=float)])
    # Rescale, so that the covariates' units have no effect.
    scale = np.sqrt((design**2).mean(axis=0))
    design = design / scale
    if np.linalg.matrix_rank(design) < design.shape[1]:
        reason = "a covariate changes in the same way for all items, or follows from another"
        return _without(reason, plain, changes, n)
    if not kept or np.ptp(values) == 0:
        found = mean_difference(values, largest=1.0, alpha=alpha)
        note = "all items have the same difference" if kept else "no covariate changes for any item"
        if kept:
            slopes = [_nothing(note)] * changes.shape[1]
        return WithinItems(plain, plain, (_of_mean(found, note), *slopes), n)
    bread = np.linalg.inv(design.T @ design)
    params = bread @ design.T @ values
    residuals = values - design @ params
    leverage = ((design @ bread) * design).sum(axis=1)
    if n <= len(params) or (leverage > _LEVERAGE).any() or (np.abs(residuals) < _NOTHING).all():
        return _without("too few items to estimate the effect of the covariates", plain, changes, n)
    influence = (design @ bread) * (residuals / (1 - leverage))[:, None] / scale
    params = params / scale
    rows = [
        _of_term(float(estimate), float(np.sqrt(column @ column)), n - len(params), alpha)
        for estimate, column in zip(params, influence.T, strict=True)
    ]
    rows[0]["ci_low"] = max(rows[0]["ci_low"], -1.0)
    rows[0]["ci_high"] = min(rows[0]["ci_high"], 1.0)
    for place, row in zip(kept, rows[1:], strict=True):
        slopes[place] = row
    return WithinItems(
        ItemEstimate(float(params[0]), influence[:, 0]), plain, (rows[0], *slopes), n
    )


def _of_term(estimate: float, error: float, df: int, alpha: float) -> dict[str, Any]:
    half = float(scipy.stats.t.isf(alpha / 2, df)) * error
    return {
        "estimate": estimate,
        "ci_low": estimate - half,
        "ci_high": estimate + half,
        "ci_level": 1 - alpha,
        "ci_method": "t, HC3",
        "p_value": max(2 * float(scipy.stats.t.sf(abs(estimate) / error, df)), _LEAST_P),
        "test": "t, HC3",
        "note": "",
    }


def _of_mean(found: MeanDifference, note: str) -> dict[str, Any]:
    names = ("estimate", "ci_low", "ci_high", "ci_level", "ci_method", "p_value", "test")
    return {name: found.to_row()[name] for name in names} | {"note": note}


def _without(reason: str, plain: ItemEstimate, changes: pd.DataFrame, n: int) -> WithinItems:
    return WithinItems(_no(reason), plain, (_nothing(reason),) * (1 + changes.shape[1]), n)


def _no(reason: str) -> ItemEstimate:
    return ItemEstimate(np.nan, np.array([np.nan]), reason)


def _nothing(reason: str) -> dict[str, Any]:
    return {"ci_method": "none", "test": "none", "note": reason}
