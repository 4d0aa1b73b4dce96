"""Tests on the letters of paired answers: do groups get different letters, right or wrong?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import FloatArray, TestResult
from fairstats.inference._checks import check_counts


def bowker(table: npt.ArrayLike) -> TestResult:
    """Test symmetry (Bowker): is a change from A to B as frequent as one from B to A?

    χ² = Σ_{i<j} (n_ij − n_ji)² / (n_ij + n_ji).

    Parameters
    ----------
    table : array_like of int, shape (..., k, k)
        Pairs by the letter given to group a (rows) and to group b (columns).

    Returns
    -------
    TestResult
        One degree of freedom for each pair of letters between which an answer changed. Without any
        change, the statistic is 0 and p is 1.

    Raises
    ------
    ValueError
        For a table that is not square, or invalid counts.

    References
    ----------
    Bowker (1948), JASA 43:572-574. `statsmodels.stats.contingency_tables.SquareTable` always uses k
    (k − 1) / 2 degrees of freedom, and is undefined for letters that never change. Checked against
    it, and against R's ``mcnemar.test``, for tables in which all letters change.

    Examples
    --------
    >>> result = bowker([[10, 5], [1, 10]])
    >>> float(result.statistic.round(4)), int(result.df)
    (2.6667, 1)
    """
    # Use floating point: squares of billions do not fit into 64 bits.
    cells = _square(table).astype(np.float64)
    upper = np.triu_indices(cells.shape[-1], 1)
    there = cells[..., *upper]
    back = np.swapaxes(cells, -1, -2)[..., *upper]
    total = there + back
    statistic = ((there - back) ** 2 / np.maximum(total, 1)).sum(axis=-1)
    df = (total > 0).sum(axis=-1)
    return TestResult(np.asarray(statistic), _chi2_sf(statistic, df), "bowker", df=np.asarray(df))


def stuart_maxwell(table: npt.ArrayLike) -> TestResult:
    """Test equal margins (Stuart-Maxwell): is each letter given equally often to both groups?

    χ² = d' S⁻¹ d with d_i = n_i. − n_.i and S its covariance under equal margins,
    S_ii = n_i. + n_.i − 2 n_ii and S_ij = −(n_ij + n_ji).

    Parameters
    ----------
    table : array_like of int, shape (..., k, k)
        Pairs by the letter given to group a (rows) and to group b (columns).

    Returns
    -------
    TestResult
        The degrees of freedom are the rank of S: k − 1 if all letters are connected by changes.
        Without any change, the statistic is 0 and p is 1.

    Raises
    ------
    ValueError
        For a table that is not square, or invalid counts.

    References
    ----------
    Stuart (1955), Biometrika 42:412-416; Maxwell (1970), British Journal of Psychiatry 116:651-655.
    `statsmodels.stats.contingency_tables.SquareTable.homogeneity` fails if a letter is never given.
    Checked against it for tables without such letters, and against tests/r/tests.R.

    Examples
    --------
    >>> result = stuart_maxwell([[10, 5], [1, 10]])
    >>> float(result.statistic.round(4)), int(result.df)
    (2.6667, 1)
    """
    cells = _square(table).astype(np.float64)
    k = cells.shape[-1]
    d = cells.sum(axis=-1) - cells.sum(axis=-2)
    covariance = -(cells + np.swapaxes(cells, -1, -2))
    index = np.arange(k)
    covariance[..., index, index] = 0.0
    covariance[..., index, index] = -covariance.sum(axis=-1)
    inverse = np.linalg.pinv(covariance, hermitian=True)
    statistic = np.maximum(np.einsum("...i,...ij,...j->...", d, inverse, d), 0.0)
    df = np.linalg.matrix_rank(covariance, hermitian=True)
    statistic = np.where(df > 0, statistic, 0.0)
    return TestResult(statistic, _chi2_sf(statistic, df), "stuart_maxwell", df=np.asarray(df))


def _square(table: npt.ArrayLike) -> npt.NDArray[np.int64]:
    (cells,) = check_counts(table=table)
    if cells.ndim < 2 or cells.shape[-1] != cells.shape[-2]:
        raise ValueError(f"table must have shape (..., k, k); got {cells.shape}")
    return cells


def _chi2_sf(statistic: npt.ArrayLike, df: npt.ArrayLike) -> FloatArray:
    from scipy import stats

    df = np.asarray(df)
    return np.where(df > 0, stats.chi2.sf(statistic, np.maximum(df, 1)), 1.0)
