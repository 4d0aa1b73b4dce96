"""Accuracy difference of two groups, standardized to the same covariates of their variants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.estimates.logistic_regression import fit_gee


@dataclass(frozen=True)
class ItemEstimate:
    """An estimate and each item's linearised contribution to it.

    Attributes
    ----------
    estimate : float
        NaN if there is no estimate.
    influence : ndarray, shape (items,)
        In the order of the items' names; the sum of squares is the estimate's variance.
    reason : str
        The reason why there is no estimate; empty if there is one.
    """

    estimate: float
    influence: FloatArray
    reason: str = ""

    @property
    def std_error(self) -> float:
        """Return the standard error, with items as independent units."""
        return float(np.sqrt(self.influence @ self.influence))


def accuracy_difference_of(data: pd.DataFrame) -> ItemEstimate:
    """Return the unadjusted Acc_a − Acc_b of the rows of `answer_rows`."""
    if data["group"].nunique() < 2:
        return ItemEstimate(np.nan, np.array([np.nan]), "a group has no answers")
    means = data.groupby("group")["correct"].transform("mean")
    sizes = data.groupby("group")["correct"].transform("size")
    sign = np.where(data["group"] == 1, 1.0, -1.0)
    own = sign * (data["correct"] - means) / sizes
    accuracies = data.groupby("group")["correct"].mean()
    influence = own.groupby(data["item_id"]).sum().to_numpy()
    return ItemEstimate(float(accuracies[1.0] - accuracies[0.0]), influence)


def standardized_difference(data: pd.DataFrame) -> ItemEstimate:
    """Compute the accuracy difference that a logistic regression leaves to the group.

    This is g-computation. With P̂(g, x) the fitted probability of a correct answer in group g with
    covariates x, it is

        (1 / N) Σ [P̂(a, x) − P̂(b, x)]

    over all N answers of both groups, each with its observed covariates.

    Parameters
    ----------
    data : pandas.DataFrame
        From `fairstats.estimates.logistic_regression.answer_rows`: item_id, correct, group (1 for
        group a) and columns of covariates. Covariates that are constant over the rows are left out.

    Returns
    -------
    ItemEstimate

    Notes
    -----
    The influence of an item is by the delta method. It combines the item's contribution to the
    coefficients, with the robust covariance as cross product, and the contribution of its
    covariates to the mean. So the interval is for items like these, not only for these items'
    covariates. Without covariates, it is the unadjusted difference with its paired standard error.

    References
    ----------
    Robins (1986), Mathematical Modelling 7:1393-1512, for the standardized difference; Liang &
    Zeger (1986), Biometrika 73:13-22, for the covariance. Checked against R's geepack
    (tests/r/gee.R).

    Examples
    --------
    >>> rows = [dict(item_id=f"i{i}", correct=float(letter == "A"), group=group)
    ...         for i, pair in enumerate(["AA"] * 6 + ["AB"] * 4 + ["BA"] * 2 + ["BB"] * 3)
    ...         for group, letter in zip((1.0, 0.0), pair)]
    >>> found = standardized_difference(pd.DataFrame(rows))
    >>> round(found.estimate, 4), round(found.std_error, 4)
    (0.1333, 0.1596)
    """
    fixed = [n for n in data if n not in ("item_id", "correct", "group") and data[n].nunique() == 1]
    data = data.drop(columns=fixed)
    fit = fit_gee(data)
    if fit.reason:
        return ItemEstimate(np.nan, np.array([np.nan]), fit.reason)
    design = np.column_stack([np.ones(len(data)), data[list(fit.terms[1:])].to_numpy(float)])
    place = fit.terms.index("group")
    as_group = []
    for value in (1.0, 0.0):
        design[:, place] = value
        chance = scipy.special.expit(design @ fit.params)
        as_group.append((chance, design.T @ (chance * (1 - chance)) / len(data)))
    (chance_a, slope_a), (chance_b, slope_b) = as_group
    change = pd.Series(chance_a - chance_b)
    estimate = float(change.mean())
    own = (change - estimate).groupby(data["item_id"].to_numpy()).sum().to_numpy() / len(data)
    return ItemEstimate(estimate, own + fit.influence @ (slope_a - slope_b))
