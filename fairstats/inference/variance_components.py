"""Shares of the variance of ratings due to items, raters and the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import Tabular
from fairstats.inference._checks import check_numbers

_SINGULAR = 1e-9


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
