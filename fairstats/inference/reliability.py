"""Reliability of raters' grades: intraclass correlations."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from fairstats._lib.result_objects import Tabular
from fairstats.inference._checks import check_alpha, check_choice

#: McGraw and Wong's names: agreement or consistency, of one rating or the mean of all k raters.
Intraclass = Literal["ICC(A,1)", "ICC(A,k)", "ICC(C,1)", "ICC(C,k)"]
# pingouin refuses fewer ratings.
_FEWEST = 5


@dataclass(frozen=True, repr=False)
class IntraclassCorrelation(Tabular):
    """Result of `intraclass_correlation`.

    Attributes
    ----------
    estimate, ci_low, ci_high, ci_level : float
        At most 1; below 0 if items differ less than raters do. NaN if undefined.
    n_items, n_raters : int
        The number of items rated by all raters, and of raters.
    note : str
        Why there is no estimate; empty if there is one.
    """

    estimate: float
    ci_low: float
    ci_high: float
    ci_level: float
    n_items: int
    n_raters: int
    note: str


def intraclass_correlation(
    ratings: pd.DataFrame | npt.ArrayLike, kind: Intraclass = "ICC(A,1)", *, alpha: float = 0.05
) -> IntraclassCorrelation:
    r"""Estimate the share of the variance of graded ratings that is between items.

    Items and raters are random samples (two-way model). With mean squares :math:`MS_R` of the n
    items, :math:`MS_C` of the k raters and :math:`MS_E` of the rest, a single rating has

    .. math::
       ICC(A,1) = \frac{MS_R - MS_E}{MS_R + (k - 1) MS_E + k (MS_C - MS_E) / n}, \qquad
       ICC(C,1) = \frac{MS_R - MS_E}{MS_R + (k - 1) MS_E}

    Parameters
    ----------
    ratings : DataFrame or array_like of float, shape (items, raters)
        Grades as numbers with equal steps; NaN if missing. Items without all ratings are left out.
        For labels without equal steps, see Krippendorff's α (`fairstats.agreement`).
    kind : {"ICC(A,1)", "ICC(A,k)", "ICC(C,1)", "ICC(C,k)"}
        Agreement (A) counts it as disagreement if a rater is stricter throughout; consistency (C)
        does not. 1 is the reliability of a single rating, and k that of the mean of these raters.
    alpha : float
        1 − confidence level, in (0, 1).

    Returns
    -------
    IntraclassCorrelation
        NaN, with a note, for fewer than two complete items or two raters, or two items with two
        raters. Also NaN if all ratings are equal, since there is then no information on whether
        raters differ.

    Raises
    ------
    ValueError
        For ratings that are not a table of numbers, an unknown `kind`, or an alpha out of range.

    Notes
    -----
    The estimate is that of the library pingouin, which gives limits to two decimals and of 95%
    only. The F tables of the limits are those of McGraw and Wong. For agreement, the degrees of
    freedom are Satterthwaite's.

    References
    ----------
    McGraw & Wong (1996), Psychological Methods 1:30-46, table 7; Shrout & Fleiss (1979),
    Psychological Bulletin 86:420-428.

    Examples
    --------
    >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9],
    ...            [6, 2, 4, 7]]
    >>> round(intraclass_correlation(ratings).estimate, 2)
    0.29
    >>> round(intraclass_correlation(ratings, "ICC(C,1)").estimate, 2)
    0.71
    """
    alpha = check_alpha(alpha)
    check_choice("kind", kind, get_args(Intraclass))
    try:
        table = np.asarray(ratings, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("ratings must be numbers; code grades as 0, 1, 2, ...") from None
    if table.ndim != 2:
        raise ValueError(f"ratings have {table.ndim} dimension(s); expected items × raters")
    if np.isinf(table).any():
        raise ValueError("ratings must be finite; use NaN for a missing rating")
    whole = table[~np.isnan(table).any(axis=1)]
    n, k = whole.shape
    note = ""
    if n < 2 or k < 2:
        note = "fewer than two raters, or fewer than two items that all of them rated"
    elif whole.size < _FEWEST:
        note = f"fewer than {_FEWEST} ratings of items that all raters rated"
    elif np.ptp(whole) == 0:
        note = "all ratings are equal"
    found = (np.nan,) * 3 if note else _estimate(whole, kind, alpha)
    return IntraclassCorrelation(*found, 1 - alpha, n, k, note)


def _estimate(
    whole: npt.NDArray[np.float64], kind: Intraclass, alpha: float
) -> tuple[float, float, float]:
    import pingouin

    long = pd.DataFrame(whole).rename_axis("item").reset_index().melt("item", var_name="rater")
    with warnings.catch_warnings():
        # If raters agree throughout, the residual variance to divide by is 0.
        warnings.simplefilter("ignore", RuntimeWarning)
        rows = pingouin.intraclass_corr(long, targets="item", raters="rater", ratings="value")
    estimate = float(rows.set_index("Type").at[kind, "ICC"])
    k = whole.shape[1]
    limits = _consistency if kind.startswith("ICC(C") else _agreement
    low, high = (limits(whole, tail) for tail in (1 - alpha / 2, alpha / 2))
    if kind.endswith("k)"):
        low, high = (k * limit / (1 + (k - 1) * limit) for limit in (low, high))
    return estimate, low, high


def _mean_squares(whole: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the mean squares of items, raters and the rest."""
    n, k = whole.shape
    of_items, of_raters = whole.mean(axis=1), whole.mean(axis=0)
    rest = whole - of_items[:, None] - of_raters + whole.mean()
    error = float((rest**2).sum()) / ((n - 1) * (k - 1))
    return k * of_items.var(ddof=1), n * of_raters.var(ddof=1), error


def _consistency(whole: npt.NDArray[np.float64], tail: float) -> float:
    (n, k), (items, _, error) = whole.shape, _mean_squares(whole)
    ratio = scipy.stats.f.ppf(tail, n - 1, (n - 1) * (k - 1))
    return float((items - ratio * error) / (items + (k - 1) * ratio * error))


def _agreement(whole: npt.NDArray[np.float64], tail: float) -> float:
    (n, k), (items, raters, error) = whole.shape, _mean_squares(whole)
    single = (items - error) / (items + (k - 1) * error + k * (raters - error) / n)
    if single >= 1:
        return 1.0
    a = k * single / (n * (1 - single))
    b = 1 + k * single * (n - 1) / (n * (1 - single))
    freedom = (a * raters + b * error) ** 2 / (
        (a * raters) ** 2 / (k - 1) + (b * error) ** 2 / ((n - 1) * (k - 1))
    )
    # The lower limit uses the upper quantile of F(n − 1, v), and the upper limit that of F(v, n −
    # 1).
    upper = scipy.stats.f.ppf(tail, n - 1, freedom)
    ratio = upper if tail > 0.5 else 1 / scipy.stats.f.ppf(1 - tail, freedom, n - 1)
    among = k * raters + (k * n - k - n) * error
    return float(n * (items - ratio * error) / (ratio * among + n * items))
