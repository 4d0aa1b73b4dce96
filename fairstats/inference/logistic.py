"""Logistic regression: separation, fits, and standard errors with few clusters (CR2)."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray

# A smaller rise of the likelihood is rounding error of the linear programme.
_NO_RISE = 1e-6
# Smaller parts of an error, and of the information that other clusters have, are rounding error.
_ROUNDING = 1e-6


def standardised(design: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centre and scale columns other than 0 and 1; return also what turns their parameters back.

    Units and origins then have no effect on rounding, separation and convergence.
    """
    back = np.eye(design.shape[1])
    design = design.copy()
    for place in np.flatnonzero(~np.isin(design, (0, 1)).all(axis=0)):
        mean, deviation = design[:, place].mean(), design[:, place].std()
        # The standard deviation of a constant is rounding error.
        deviation = 1.0 if deviation <= 1e-12 * abs(mean) else deviation
        back[0, place], back[place, place] = -mean / deviation, 1 / deviation
        design[:, place] = (design[:, place] - mean) / deviation
    return design, back


def separating_direction(design: FloatArray, yes: npt.NDArray[np.bool_]) -> FloatArray | None:
    """Find a direction that separates yes from no; None if a logistic regression has a maximum.

    Parameters
    ----------
    design : ndarray, shape (n, p)
        The terms of each answer, with a column of ones for the intercept. Columns are best centred
        and scaled, so that rounding does not depend on origin or unit.
    yes : ndarray of bool, shape (n,)
        Which answers are yes.

    Returns
    -------
    ndarray, shape (p,), or None
        A direction d with x·d ≥ 0 if the answer is yes, ≤ 0 if it is no, and not 0 for at least
        one.

    Notes
    -----
    A linear programme finds the direction with the largest sum of x·d, with the sign of the answer,
    given |d| ≤ 1. So no iteration has to diverge first. This is the only rule for separation,
    including quasi-complete separation, and needs no fit. The standard errors of a diverging fit do
    not show it: robust ones shrink as fitted probabilities reach 0 or 1.

    References
    ----------
    Albert & Anderson (1984), Biometrika 71:1-10, theorems 1 to 3; Konis (2007), Linear programming
    algorithms for detecting separated data in binary logistic regression models, thesis, University
    of Oxford.
    """
    from scipy.optimize import linprog

    rows = np.where(yes[:, None], -design, design)
    rows = np.unique(rows[np.any(rows != 0, axis=1)], axis=0)
    if not len(rows):
        return None
    found = linprog(rows.sum(axis=0), A_ub=rows, b_ub=np.zeros(len(rows)), bounds=(-1, 1))
    if not found.success or -found.fun < _NO_RISE:
        return None
    return np.asarray(found.x)


def clustered_fit(
    design: FloatArray, yes: npt.NDArray[np.bool_], clusters: npt.ArrayLike, contrasts: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Fit a logistic regression without separation; return `contrasts`, their errors and df.

    All are NaN if the fit does not converge; errors and df are those of `bias_reduced_errors`.
    """
    from statsmodels.discrete.discrete_model import Logit

    with warnings.catch_warnings():
        # Near separation, fitted probabilities may reach 0 or 1 during iteration.
        warnings.simplefilter("ignore")
        fitted = Logit(yes.astype(np.float64), design).fit(disp=0)
    if not (fitted.mle_retvals["converged"] and np.isfinite(fitted.params).all()):
        nothing = np.full(len(contrasts), np.nan)
        return nothing, nothing, nothing
    odds = design @ fitted.params
    rate, rest = scipy.special.expit(odds), scipy.special.expit(-odds)
    deviation = np.sqrt(rate * rest)
    residuals = np.where(yes, rest, -rate) / deviation
    errors, df = bias_reduced_errors(design * deviation[:, None], residuals, clusters, contrasts)
    return contrasts @ fitted.params, errors, df


def bias_reduced_errors(
    design: FloatArray, residuals: FloatArray, clusters: npt.ArrayLike, contrasts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute clustered standard errors and degrees of freedom for few or unequal clusters.

    Parameters
    ----------
    design : ndarray, shape (n, p)
        The design, of full rank. Each row is multiplied by the square root of its working weight, μ
        (1 − μ) for a logistic regression.
    residuals : ndarray, shape (n,)
        The residuals on that scale: Pearson's, (y − μ) / √(μ (1 − μ)).
    clusters : array_like, shape (n,)
        The cluster of each row.
    contrasts : ndarray, shape (k, p)
        The tested combinations of parameters.

    Returns
    -------
    std_error, df : ndarray, shape (k,)
        One value per combination; NaN if single clusters determine it. An error of 0 means that all
        clusters agree.

    Notes
    -----
    With M = (X'X)⁻¹ and H_gg = X_g M X_g', each cluster's residuals are multiplied by (I −
    H_gg)^(−½). The sandwich M Σ_g X_g' e_g e_g' X_g M is then unbiased for independent rows with
    the working variance. The degrees of freedom are Satterthwaite's under the same model. They are
    few if a few clusters, or one large cluster, determine a parameter.

    References
    ----------
    Bell & McCaffrey (2002), Survey Methodology 28:169-181; Pustejovsky & Tipton (2018), Journal of
    Business & Economic Statistics 36:672-683. Checked against R's ``clubSandwich::coef_test(vcov =
    "CR2")`` (tests/r/rater_models.R): for ``lm`` on such a design, and for ``glm`` if the design is
    constant within clusters. If it is not constant, clubSandwich uses a different square root for
    ``glm``, and standard errors differ by up to 0.15%.
    """
    bread = np.linalg.inv(design.T @ design)
    root = np.linalg.cholesky(bread)
    number = np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums, squares, projected = [], [], []
    towards, to_axes = bread @ contrasts.T, contrasts @ root
    alone = np.zeros(len(contrasts), dtype=bool)
    for group in range(int(number.max()) + 1):
        own = design[number == group]
        axes, leverage, directions = np.linalg.svd(own @ root, full_matrices=False)
        left = 1 - leverage**2
        # The inverse root is I except on these axes. If the remainder is 0, use a pseudo-inverse.
        known = left > _ROUNDING
        extra = np.where(known, np.maximum(left, _ROUNDING) ** -0.5, 0.0) - 1
        # Without residuals in a direction that a cluster decides alone, its error is unknown.
        along = np.abs(directions[~known] @ to_axes.T) > _ROUNDING * np.linalg.norm(to_axes, axis=1)
        alone |= along.any(axis=0)
        adjusted = own + (axes * extra) @ (axes.T @ own)
        sums.append(adjusted.T @ residuals[number == group])
        each = adjusted @ towards
        squares.append((each**2).sum(axis=0))
        projected.append(own.T @ each)
    errors = np.sqrt(((np.stack(sums) @ towards) ** 2).sum(axis=0))
    usual = np.sqrt((contrasts.T * towards).sum(axis=0))
    errors = np.where(errors < _ROUNDING * usual, 0.0, errors)
    # The error of a combination is Σ_g (p_g'ε)². Compute the products of these p, clusters ×
    # clusters.
    to_all = np.stack(projected)
    df = np.full(len(contrasts), np.nan)
    for k in np.flatnonzero(~alone):
        products = -to_all[:, :, k] @ bread @ to_all[:, :, k].T
        products[np.diag_indices_from(products)] += np.stack(squares)[:, k]
        df[k] = float(np.trace(products)) ** 2 / float((products**2).sum())
    return np.where(alone, np.nan, errors), df
