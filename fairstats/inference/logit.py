"""Choices between alternatives by the logit model: comparisons of models, and yes or no."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import FloatArray

# A direction along which the likelihood rises by less is none: the linear programme's rounding.
_NO_RISE = 1e-6
_SINGULAR = 1e-10


@dataclass(frozen=True)
class ChoiceFit:
    """The maximum of a logit model's likelihood.

    Attributes
    ----------
    params : ndarray, shape (p,)
        The estimates; of those that fit alike the shortest.
    information : ndarray, shape (p, p)
        Minus the second derivatives there.
    scores : ndarray, shape (n, p)
        The first derivatives of each choice.
    """

    params: FloatArray
    information: FloatArray
    scores: FloatArray


def diverging_direction(features: FloatArray, chosen: npt.NDArray[np.int64]) -> FloatArray | None:
    """Along what the likelihood of choices rises without end; None where it has a maximum.

    Parameters
    ----------
    features : ndarray, shape (n, alternatives, p)
        What each alternative of each choice is described by.
    chosen : ndarray of int, shape (n,)
        Which was chosen.

    Returns
    -------
    ndarray, shape (p,), or None
        A direction d with x(chosen)·d ≥ x(other)·d in all choices and > in one.

    Notes
    -----
    A linear programme finds the direction with the largest sum of such differences, |d| ≤ 1: no
    iteration has to diverge first, and no threshold on a standard error decides.

    References
    ----------
    Albert & Anderson (1984), Biometrika 71:1-10; Konis (2007), Linear programming algorithms for
    detecting separated data in binary logistic regression models, thesis, University of Oxford.
    """
    from scipy.optimize import linprog

    rows = _behind(features, chosen).reshape(-1, features.shape[-1])
    rows = np.unique(rows[np.any(rows != 0, axis=1)], axis=0)
    if not len(rows):
        return None
    found = linprog(rows.sum(axis=0), A_ub=rows, b_ub=np.zeros(len(rows)), bounds=(-1, 1))
    if not found.success or -found.fun < _NO_RISE:
        return None
    return np.asarray(found.x)


def separating_direction(design: FloatArray, yes: npt.NDArray[np.bool_]) -> FloatArray | None:
    """Find along which terms yes and no are separated; None if a logistic regression has a maximum.

    Parameters
    ----------
    design : ndarray, shape (n, p)
        The terms of each answer, with a column of ones for the intercept. Columns are best centred
        and scaled, so that neither origin nor unit decides what counts as rounding.
    yes : ndarray of bool, shape (n,)
        Which answers are yes.

    Returns
    -------
    ndarray, shape (p,), or None
        A direction d with x·d ≥ 0 where the answer is yes, ≤ 0 where it is no, and not 0 in one.

    Notes
    -----
    This is the one rule for separation, also quasi-complete separation: no fit is needed. The
    standard errors of a fit that diverges do not show it, since robust ones shrink where fitted
    probabilities reach 0 or 1.

    References
    ----------
    Albert & Anderson (1984), Biometrika 71:1-10, theorems 1 to 3.
    """
    features = np.stack([design, np.zeros_like(design)], axis=1)
    return diverging_direction(features, np.where(yes, 0, 1))


def rank_of_choices(features: FloatArray, chosen: npt.NDArray[np.int64]) -> int:
    """How many parameters the choices tell of."""
    rows = _behind(features, chosen).reshape(-1, features.shape[-1])
    return int(np.linalg.matrix_rank(np.unique(rows, axis=0)))


def fit_choices(
    features: FloatArray, chosen: npt.NDArray[np.int64], weights: FloatArray | None = None
) -> ChoiceFit:
    """Fit P(alternative) ∝ exp(x·θ) by maximum likelihood.

    Parameters
    ----------
    features, chosen
        As for `diverging_direction`, which has to be None.
    weights : ndarray, shape (n,), optional
        How often each choice was made; by default once.

    Returns
    -------
    ChoiceFit

    Raises
    ------
    ValueError
        When Newton's method does not arrive.

    Notes
    -----
    Newton's method with halved steps; the likelihood is concave. Parameters that do not change
    it (the mean strength of models) stay 0 by the pseudo-inverse.
    """
    behind = _behind(features, chosen)
    many = np.ones(len(chosen)) if weights is None else weights
    theta = np.zeros(features.shape[-1])

    def deviance(at: FloatArray) -> float:
        return float(many @ np.log(np.exp(behind @ at).sum(axis=1)))

    value = deviance(theta)
    for _ in range(100):
        share = np.exp(behind @ theta)
        share /= share.sum(axis=1, keepdims=True)
        scores = -np.einsum("nk,nkp->np", share, behind)
        spread = np.einsum("n,nk,nkp,nkq->pq", many, share, behind, behind, optimize=True)
        information = spread - np.einsum("n,np,nq->pq", many, scores, scores)
        step = np.linalg.pinv(information, rcond=_SINGULAR, hermitian=True) @ (many @ scores)
        if np.abs(step).max() < 1e-10:
            return ChoiceFit(theta, information, scores)
        size = 1.0
        # At the maximum only rounding tells two values apart: they count as equal.
        worse = value + 1e-12 * abs(value)
        with np.errstate(over="ignore"):
            while size > 1e-6 and not deviance(theta + size * step) <= worse:
                size /= 2
        theta = theta + size * step
        value = deviance(theta)
    raise ValueError("Newton's method did not arrive: look for separated choices first")


def influence_on_params(fit: ChoiceFit, scores: FloatArray) -> FloatArray:
    """By how much each choice moves the estimates, to first order: s I⁻¹.

    Parameters
    ----------
    fit : ChoiceFit
        The fit.
    scores : ndarray, shape (n, p)
        The first derivatives of the choices that are asked about.

    Returns
    -------
    ndarray, shape (n, p)
        As squares of sums of these, variances have no rounding below 0.
    """
    bread = np.linalg.pinv(fit.information, rcond=_SINGULAR, hermitian=True)
    return np.asarray(scores @ bread)


def _behind(features: FloatArray, chosen: npt.NDArray[np.int64]) -> FloatArray:
    """What each alternative is described by, less what the chosen one is."""
    taken = features[np.arange(len(chosen)), chosen]
    return np.asarray(features - taken[:, None, :])
