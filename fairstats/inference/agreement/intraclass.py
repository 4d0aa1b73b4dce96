"""The intraclass correlation of graded ratings."""

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

Kind = Literal["agreement", "consistency"]
# pingouin refuses fewer ratings.
_FEWEST = 5
_NAMES = {("agreement", False): "ICC(A,1)", ("agreement", True): "ICC(A,k)"} | {
    ("consistency", False): "ICC(C,1)",
    ("consistency", True): "ICC(C,k)",
}


@dataclass(frozen=True, repr=False)
class IntraclassCorrelation(Tabular):
    """Result of `intraclass_correlation`.

    Attributes
    ----------
    kind : str
        ``ICC(A,1)``, ``ICC(A,k)``, ``ICC(C,1)`` or ``ICC(C,k)``, after McGraw and Wong.
    estimate, ci_low, ci_high : float
        At most 1; below 0 if items differ less than raters do. NaN if undefined.
    ci_level : float
        The confidence level.
    n_items, n_raters : int
        The number of items rated by all raters, and of raters.
    n_left_out : int
        Items without a rating from every rater.
    note : str
        Why there is no estimate; empty if there is one.
    """

    kind: str
    estimate: float
    ci_low: float
    ci_high: float
    ci_level: float
    n_items: int
    n_raters: int
    n_left_out: int
    note: str


def intraclass_correlation(
    ratings: pd.DataFrame | npt.ArrayLike,
    *,
    kind: Kind = "agreement",
    mean_of_raters: bool = False,
    alpha: float = 0.05,
) -> IntraclassCorrelation:
    r"""Estimate the share of the variance of graded ratings that is between items.

    Items and raters are random samples (two-way model). With mean squares :math:`MS_R` of the n
    items, :math:`MS_C` of the k raters and :math:`MS_E` of the rest, a single rating has

    .. math::
       ICC(A,1) = \frac{MS_R - MS_E}{MS_R + (k - 1) MS_E + k (MS_C - MS_E) / n}, \qquad
       ICC(C,1) = \frac{MS_R - MS_E}{MS_R + (k - 1) MS_E}

    Agreement (A) counts it as disagreement if a rater is stricter throughout; consistency (C) does
    not.

    Parameters
    ----------
    ratings : DataFrame or array_like of float, shape (items, raters)
        Grades as numbers with equal steps; NaN if missing. For labels without equal steps, see
        `fairstats.krippendorff_alpha`.
    kind : {"agreement", "consistency"}
        The kind of disagreement that counts.
    mean_of_raters : bool
        Whether to compute the reliability of the mean of these k raters instead of a single rating.
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
    The estimate equals that of the library pingouin. The F tables of the interval are those of
    McGraw and Wong. For agreement, the degrees of freedom are Satterthwaite's. Items without all
    ratings are left out, and counted in `n_left_out`.

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
    >>> round(intraclass_correlation(ratings, kind="consistency").estimate, 2)
    0.71
    """
    alpha = check_alpha(alpha)
    check_choice("kind", kind, get_args(Kind))
    table = _checked(ratings)
    whole = table[~np.isnan(table).any(axis=1)]
    name = _NAMES[kind, bool(mean_of_raters)]
    n, k = whole.shape
    note = ""
    if n < 2 or k < 2:
        note = "fewer than two raters, or fewer than two items that all of them rated"
    elif whole.size < _FEWEST:
        note = f"fewer than {_FEWEST} ratings of items that all raters rated"
    elif np.ptp(whole) == 0:
        note = "all ratings are equal"
    found = (np.nan,) * 3 if note else _estimate(whole, name, kind, mean_of_raters, alpha)
    return IntraclassCorrelation(name, *found, 1 - alpha, n, k, len(table) - n, note)


def _checked(ratings: pd.DataFrame | npt.ArrayLike) -> npt.NDArray[np.float64]:
    try:
        table = np.asarray(ratings, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("ratings must be numbers; code grades as 0, 1, 2, ...") from None
    if table.ndim != 2:
        raise ValueError(f"ratings have {table.ndim} dimension(s); expected items × raters")
    if np.isinf(table).any():
        raise ValueError("ratings must be finite; use NaN for a missing rating")
    return table


def _estimate(
    whole: npt.NDArray[np.float64], name: str, kind: Kind, mean_of_raters: bool, alpha: float
) -> tuple[float, float, float]:
    import pingouin

    n, k = whole.shape
    long = pd.DataFrame(whole).rename_axis("item").reset_index().melt("item", var_name="rater")
    with warnings.catch_warnings():
        # If raters agree throughout, the residual variance to divide by is 0.
        warnings.simplefilter("ignore", RuntimeWarning)
        rows = pingouin.intraclass_corr(long, targets="item", raters="rater", ratings="value")
    estimate = float(rows.set_index("Type").at[name, "ICC"])

    of_items, of_raters = whole.mean(axis=1), whole.mean(axis=0)
    rest = whole - of_items[:, None] - of_raters + whole.mean()
    items = k * of_items.var(ddof=1)
    raters = n * of_raters.var(ddof=1)
    error = float((rest**2).sum()) / ((n - 1) * (k - 1))
    squares = _Squares(items, raters, error, n, k)
    limit_of = _consistency if kind == "consistency" else _agreement
    low, high = limit_of(squares, 1 - alpha / 2), limit_of(squares, alpha / 2)
    if mean_of_raters:
        low, high = (k * limit / (1 + (k - 1) * limit) for limit in (low, high))
    return estimate, low, high


@dataclass(frozen=True)
class _Squares:
    """The mean squares of items, raters and the rest, of n items and k raters."""

    items: float
    raters: float
    error: float
    n: int
    k: int


def _consistency(of: _Squares, tail: float) -> float:
    ratio = scipy.stats.f.ppf(tail, of.n - 1, (of.n - 1) * (of.k - 1))
    return float((of.items - ratio * of.error) / (of.items + (of.k - 1) * ratio * of.error))


def _agreement(of: _Squares, tail: float) -> float:
    n, k, items, raters, error = of.n, of.k, of.items, of.raters, of.error
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
