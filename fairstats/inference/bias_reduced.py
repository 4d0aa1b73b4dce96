"""Standard errors of regressions on few clusters: bias-reduced linearization, CR2."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import FloatArray

# A cluster that alone tells of a direction has 1 less its leverage by rounding alone.
_ALONE = 1e-12


def bias_reduced_errors(
    design: FloatArray, residuals: FloatArray, clusters: npt.ArrayLike, contrasts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Clustered standard errors and their degrees of freedom, for few or unequal clusters.

    Parameters
    ----------
    design : ndarray, shape (n, p)
        The design, of full rank; each row times the square root of its working weight, which is
        μ (1 − μ) for a logistic regression.
    residuals : ndarray, shape (n,)
        The residuals on that scale: (y − μ) / √(μ (1 − μ)), Pearson's.
    clusters : array_like, shape (n,)
        The cluster of each row.
    contrasts : ndarray, shape (k, p)
        The combinations of parameters that are asked about.

    Returns
    -------
    std_error, df : ndarray, shape (k,)
        Of each combination; NaN where single clusters determine it.

    Notes
    -----
    With M = (X'X)⁻¹ and H_gg = X_g M X_g' the residuals of a cluster are taken times
    (I − H_gg)^(−½), so that the sandwich M Σ_g X_g' e_g e_g' X_g M is unbiased for independent
    rows of the working variance. Its degrees of freedom are Satterthwaite's under the same
    model: that few of the clusters, or one large one, decide a parameter makes them few.

    References
    ----------
    Bell & McCaffrey (2002), Survey Methodology 28:169-181; Pustejovsky & Tipton (2018), Journal of
    Business & Economic Statistics 36:672-683. Checked against R's
    ``clubSandwich::coef_test(vcov = "CR2")`` (tests/r/rater_models.R): of ``lm`` on such a design,
    and of ``glm`` where the design is constant in a cluster. Where it is not, clubSandwich takes
    another square root for ``glm``: standard errors then differ by up to 0.15% there.
    """
    bread = np.linalg.inv(design.T @ design)
    root = np.linalg.cholesky(bread)
    number = np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums, squares, projected = [], [], []
    towards = bread @ contrasts.T
    for group in range(int(number.max()) + 1):
        own = design[number == group]
        axes, leverage, _ = np.linalg.svd(own @ root, full_matrices=False)
        left = 1 - leverage**2
        # The inverse root is I but on these axes; where nothing is left it is a pseudo-inverse.
        extra = np.where(left > _ALONE, np.maximum(left, _ALONE) ** -0.5, 0.0) - 1
        adjusted = own + (axes * extra) @ (axes.T @ own)
        sums.append(adjusted.T @ residuals[number == group])
        each = adjusted @ towards
        squares.append((each**2).sum(axis=0))
        projected.append(own.T @ each)
    errors = np.sqrt(((np.stack(sums) @ towards) ** 2).sum(axis=0))
    # The error of a combination is Σ_g (p_g'ε)²; of these p the products, clusters × clusters.
    to_all = np.stack(projected)
    df = np.full(len(contrasts), np.nan)
    for k in range(len(contrasts)):
        products = -to_all[:, :, k] @ bread @ to_all[:, :, k].T
        products[np.diag_indices_from(products)] += np.stack(squares)[:, k]
        trace = float(np.trace(products))
        if trace > _ALONE * float(contrasts[k] @ towards[:, k]):
            df[k] = trace**2 / float((products**2).sum())
    return np.where(np.isnan(df), np.nan, errors), df
