"""Jackknife limits of agreement coefficients for further items and further raters.

An item has several raters, and a rater rates many items. Each coefficient is recomputed without
each item, without each rater, and without each rater's ratings of each item. The changes show how
far other items and raters would move it. The remaining pairs of ratings keep their weights, so an
item counts less if it loses ratings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import check_alpha
from fairstats.inference.agreement.coefficient_intervals import (
    BY_MARGINS,
    Agreement,
    unvaried_limits,
)
from fairstats.inference.agreement.rating_counts import (
    Coefficient,
    IntArray,
    Level,
    RatingCounts,
    item_terms,
)
from fairstats.inference.crossed_means import wilson_limits

# A smaller variance or expected chance disagreement is rounding error.
_ROUNDING = 1e-12
# A smaller weight of pairs is rounding error.
_SOME = 1e-9
_KINDS = ("items", "raters", "cells")
Limits = tuple[float, float, str]


@dataclass(frozen=True)
class LeaveOneOut:
    """The sums of `item_terms` without one item, one rater, or one cell.

    A cell is one rater's ratings of one item.

    Attributes
    ----------
    table : RatingCounts
        The sums over all ratings.
    n_ratings : int
        The sums over tasks with two or more ratings.
    items, raters, cells : ndarray of float, shape (number, terms)
        The sums without each item, rater or cell.
    """

    table: RatingCounts
    n_ratings: int
    items: FloatArray
    raters: FloatArray
    cells: FloatArray

    def without(self, sums: FloatArray, coefficient: Coefficient, level: Level) -> FloatArray:
        """Return the coefficient from each of the sums; NaN if undefined."""
        values = np.full(len(sums), np.nan)
        rated = sums[:, 0] > _SOME
        observed, expected = self.table.disagreement_of(sums[rated], coefficient, level)
        defined = expected > _ROUNDING
        places = np.flatnonzero(rated)[defined]
        values[places] = 1 - observed[defined] / expected[defined]
        return values


def leave_one_out(
    table: RatingCounts, value: IntArray, task: IntArray, item: IntArray, rater: IntArray
) -> LeaveOneOut:
    """Compute the sums without each item, rater and cell, from each task's contribution.

    Parameters
    ----------
    table : RatingCounts
        The counts of these ratings.
    value : ndarray of int, shape (n,)
        The index of each rating's category.
    task, item, rater : ndarray of int, shape (n,)
        The task of each rating, the task's item, and the rater.
    """
    k = len(table.categories)
    task = _numbered(task)
    several = np.bincount(task)[task] >= 2
    value = value[several]
    task, item, rater = (_numbered(numbers[several]) for numbers in (task, item, rater))
    n_raters = int(rater.max(initial=-1)) + 1
    counts = _by_category(task, value, k)
    terms = item_terms(counts)
    # All of a rater's ratings of a task are left out together.
    _, first, own = np.unique(task * n_raters + rater, return_index=True, return_inverse=True)
    whole = counts[task[first]]
    # The remaining pairs keep their weights.
    left = item_terms(whole - _by_category(own, value, k), whole.sum(axis=1))
    lost = terms[task[first]] - left
    cell = _numbered(item[first] * n_raters + rater[first])
    item_of = item[np.unique(task, return_index=True)[1]]
    total = terms.sum(axis=0)
    return LeaveOneOut(
        table=table,
        n_ratings=len(value),
        items=total - _sums(terms, item_of),
        raters=total - _sums(lost, rater[first]),
        cells=total - _sums(lost, cell),
    )


def crossed_agreement(left: LeaveOneOut, found: Agreement, *, alpha: float) -> Limits:
    """Return limits of a coefficient for further items and raters, and their method.

    Parameters
    ----------
    left : LeaveOneOut
        The sums without each item, rater and cell.
    found : Agreement
        The coefficient of all ratings.
    alpha : float
        1 − confidence level.

    Returns
    -------
    float, float, str
        NaN if the coefficient is undefined without some item or rater.

    Notes
    -----
    Let θ be the coefficient, θ_(g) the coefficient without cluster g, and G the number of clusters.
    One part of the variance is S = (G − 1) / G Σ_g (θ_(g) − θ)². It is computed for items, for
    raters and for cells, and

        V = max(S_items + S_raters − S_cells, S_items, S_raters, S_cells)

    For percent agreement, the first term sums products of contributions over all two pairs of
    ratings that share an item or a rater. Two pairs of different items with both raters in common
    count twice. The limits are Wilson's for a share with this variance, on the scale from the
    coefficient's minimum to 1. They use Student's t with Satterthwaite's degrees of freedom, as in
    `fairstats.crossed_interval`. With two categories, κ hardly moves if agreement on the rarer one
    is the same (usually 0) in every item that has it. Its limits then reach at least as far as the
    corresponding Wilson limits for that agreement.

    References
    ----------
    MacKinnon, Nielsen & Webb (2024), Jackknife inference with two-way clustering, arXiv:2406.08880;
    Aronow, Samii & Assenova (2015), Political Analysis 23:564-577, for pairs that share a member.
    """
    alpha = check_alpha(alpha)
    if np.isnan(found.estimate):
        return found.ci_low, found.ci_high, found.method
    clusters, unknown = _clusters(left)
    parts = jackknife_parts(left, clusters, found.coefficient, found.level, found.estimate)
    for kind, (part, _) in parts.items():
        if np.isnan(part):
            return float("nan"), float("nan"), f"none (undefined without one of the {kind})"
    variance = max((part for part, _ in parts.values()), default=0.0)
    if len(parts) == len(_KINDS):
        of_items, of_raters, of_cells = (parts[kind][0] for kind in _KINDS)
        variance = max(variance, of_items + of_raters - of_cells)
    least = 0.0 if found.coefficient in ("percent", "positive") else -1.0
    share = (found.estimate - least) / (1 - least)
    if variance <= _ROUNDING**2 or not 0 < share < 1:
        low, high, method = unvaried_limits(
            left.table, found.coefficient, found.estimate, n_items=len(left.items), alpha=alpha
        )
        return low, high, f"{method} (leaving one out changes nothing){unknown}"
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts.values())
    fewest = min(degrees for _, degrees in parts.values())
    quantile = float(scipy.stats.t.isf(alpha / 2, max(min(freedom, left.n_ratings - 1.0), fewest)))
    limits = wilson_limits(share, variance / (1 - least) ** 2, quantile)
    low, high = (least + (1 - least) * limit for limit in limits)
    name = "two-way" if len(parts) == len(_KINDS) else " and ".join(parts)
    if (
        found.coefficient in BY_MARGINS
        and len(left.table.categories) == 2
        and (rarer := left.table.rarer_last()).positive_is_constant
    ):
        by_rarer = _of_the_rarer(rarer, n_items=len(left.items), alpha=alpha)
        low, high = min(low, by_rarer[0]), max(high, by_rarer[1])
        unknown = f", at least wilson's over items in the rarer category{unknown}"
    return low, high, f"{name} jackknife, wilson t{unknown}"


def _of_the_rarer(table: RatingCounts, *, n_items: int, alpha: float) -> tuple[float, float]:
    """Return limits of κ from those of the constant agreement on the last category.

    If no two raters agree on a rare category, κ hardly moves, whichever rater is left out. It is
    (P_pos − π) / (1 − π), with π the category's share.
    """
    observed, expected = table.disagreement(table.many, "positive", "nominal")
    low, high, _ = unvaried_limits(
        table, "positive", 1 - float(observed) / float(expected), n_items=n_items, alpha=alpha
    )
    share = float((table.many @ table.kinds)[-1]) / table.n_ratings
    return (low - share) / (1 - share), (high - share) / (1 - share)


def jackknife_parts(
    left: LeaveOneOut,
    clusters: Mapping[str, FloatArray],
    coefficient: Coefficient,
    level: Level,
    estimate: float,
) -> dict[str, tuple[float, int]]:
    """Return the jackknife variance for each kind of cluster, and its degrees of freedom."""
    parts = {}
    for kind, sums in clusters.items():
        values = left.without(sums, coefficient, level)
        spread = float(((values - estimate) ** 2).sum())
        parts[kind] = spread * (len(values) - 1) / len(values), len(values) - 1
    return parts


def _clusters(left: LeaveOneOut) -> tuple[dict[str, FloatArray], str]:
    """Return the kinds of clusters that can be left out, and a note on those that cannot."""
    n_raters = len(left.raters)
    several_items = len(left.items) > 1
    # If one rater is in every pair, no pair shows how the others differ from each other.
    others = bool(np.all(left.raters[:, 0] > _SOME))
    unknown = []
    if not several_items:
        unknown.append("one item: the variance between items is unknown")
    if not others:
        who = {1: "one rater", 2: "two raters"}.get(n_raters, "one rater is in every pair")
        unknown.append(f"{who}: the variance between raters is unknown")
    known = (several_items, others, several_items and others)
    sums = (left.items, left.raters, left.cells)
    clusters = {kind: of for kind, of, use in zip(_KINDS, sums, known, strict=True) if use}
    return clusters, f" ({'; '.join(unknown)})" if unknown else ""


def _numbered(of: IntArray) -> IntArray:
    """Renumber from 0, without gaps."""
    return np.asarray(np.unique(of, return_inverse=True)[1], dtype=np.int64)


def _by_category(group: IntArray, value: IntArray, k: int) -> IntArray:
    """Count the ratings of each group in each category."""
    size = int(group.max(initial=-1)) + 1
    cells = np.bincount(group * k + value, minlength=size * k)
    return np.asarray(cells.reshape(size, k), dtype=np.int64)


def _sums(terms: FloatArray, group: IntArray) -> FloatArray:
    """Return the sums of rows of each group."""
    return np.stack([np.bincount(group, column) for column in terms.T], axis=-1)
