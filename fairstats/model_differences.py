"""How far two models differ in a figure, compared on the items that both answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairstats.inference.bootstrap import interval_of_law, p_value_of_law
from fairstats.inference.cluster_bootstrap import (
    cluster_acceleration,
    mean_interval,
    resample_clusters,
)
from fairstats.inference.clusters import sign_flip_test
from fairstats.inference.lattice import discrete_law, plane_law
from fairstats.inference.tango import tango
from fairstats.items import SUMS
from fairstats.results import FloatArray, Tabular

IntArray = npt.NDArray[np.int64]
#: A function of sums of shape (..., pairs, 6), in the order of `SUMS`, that gives shape (...).
Figure = Callable[[npt.NDArray[np.int64]], FloatArray]

# Probabilities of the exact laws are known to about this.
_LEAST_P = 1e-12
_NEGLIGIBLE = 1e-13


def accuracy(sums: IntArray) -> FloatArray:
    """The mean of the two groups' accuracies, and over the pairs."""
    a, b = _rates(sums)
    return np.asarray((a + b).mean(axis=-1) / 2)


def cfr(sums: IntArray) -> FloatArray:
    """The counterfactual fairness rate, its mean over the pairs."""
    return np.asarray(_quotient(sums[..., 4], sums[..., 5]).mean(axis=-1))


def ad(sums: IntArray) -> FloatArray:
    """The accuracy disparity, its mean over the pairs."""
    a, b = _rates(sums)
    return np.asarray(np.abs(a - b).mean(axis=-1))


def _rates(sums: IntArray) -> tuple[FloatArray, FloatArray]:
    return _quotient(sums[..., 0], sums[..., 1]), _quotient(sums[..., 2], sums[..., 3])


def _quotient(part: IntArray, whole: IntArray) -> FloatArray:
    return np.asarray(np.where(whole > 0, part / np.maximum(whole, 1), np.nan))


@dataclass(frozen=True)
class ModelDifference(Tabular):
    """A figure of the new model less that of the old one.

    Attributes
    ----------
    old, new : float
        The models' own figures.
    estimate, ci_low, ci_high : float
        new − old and its limits.
    ci_method, test : str
        What was used.
    p_value : float
        Of no difference; never 0.
    """

    old: float
    new: float
    estimate: float
    ci_low: float
    ci_high: float
    ci_method: str
    p_value: float
    test: str


def model_difference(
    old: IntArray,
    new: IntArray,
    figure: Figure,
    *,
    alpha: float = 0.05,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 1,
) -> ModelDifference:
    """The difference of two models in a figure, items being what is drawn.

    Parameters
    ----------
    old, new : ndarray of int, shape (items, pairs, 6)
        What each item adds to the sums of each pair, in the order of `SUMS`; zeros where a model
        was not asked an item.
    figure : callable
        `accuracy`, `cfr` or `ad`.
    alpha : float
        1 − confidence level.
    n_resamples, rng
        For figures whose exact law is not known.

    Returns
    -------
    ModelDifference

    Notes
    -----
    Where every item has as many answers as the next (nothing is missing), accuracy and CFR are
    means of a whole number an item: the exact bootstrap gives the interval and the flips of the
    two models' names, item by item, the test. AD of one pair is then a function of two sums, whose
    law is computed; its p-value is the alpha at which its interval comes to exclude 0. Otherwise
    items are resampled, and p-values are of the same kind.
    """
    size = old.shape[1]
    both = np.concatenate([old, new], axis=1).reshape(len(old), -1)
    kinds, many = np.unique(both, axis=0, return_counts=True)
    totals = (many @ kinds).reshape(2 * size, len(SUMS))
    values = (float(figure(totals[:size])), float(figure(totals[size:])))
    if np.isnan(values).any():
        nothing = "none (a model has no answer for a group)"
        return ModelDifference(*values, np.nan, -1.0, 1.0, nothing, 1.0, "none")
    cells = kinds.reshape(len(kinds), 2, size, len(SUMS))
    answers = np.unique(cells[..., [1, 3, 5]])
    if len(answers) == 1 and figure in (accuracy, cfr):
        per_item = cells[..., 0] + cells[..., 2] if figure is accuracy else cells[..., 4]
        change = (per_item[:, 1] - per_item[:, 0]).sum(axis=-1)
        scale = int(answers[0]) * size * (2 if figure is accuracy else 1)
        return _of_mean(change, many, scale, values, alpha)
    if len(answers) == 1 and figure is ad and size == 1:
        differences = cells[:, :, 0, 0] - cells[:, :, 0, 2]
        return _of_two_sums(differences, many, int(answers[0]), values, alpha)
    return _resampled(kinds, many, figure, size, values, alpha, n_resamples, rng)


def _of_mean(
    change: IntArray, many: IntArray, scale: int, values: tuple[float, float], alpha: float
) -> ModelDifference:
    found = mean_interval(change, many, largest=scale, alpha=alpha)
    test = sign_flip_test(change, many)
    return ModelDifference(
        *values,
        float(found.estimate) / scale,
        float(found.ci_low) / scale,
        float(found.ci_high) / scale,
        str(found.ci_method),
        test.p_value,
        f"models swapped item by item, {test.method}",
    )


def _of_two_sums(
    differences: IntArray, many: IntArray, size: int, values: tuple[float, float], alpha: float
) -> ModelDifference:
    """AD of one pair, from each item's difference between the groups in either model."""
    n = int(many.sum())
    old, new = differences.T
    estimate = values[1] - values[0]
    x, y, probability = plane_law(n, old, new, many / n)
    changes = (np.abs(y) - np.abs(x)) / (size * n)
    at = probability > 0
    law = discrete_law(changes[at], probability[at])
    if np.ptp(changes[probability > _NEGLIGIBLE]) == 0:
        half = float(tango(0, 0, n, alpha=alpha).high)
        method = "tango (bootstrap says nothing here)"
        limits = (max(estimate - half, -1.0), min(estimate + half, 1.0))
        p = 1.0 if estimate == 0 else _least(n)
        return ModelDifference(*values, estimate, *limits, method, p, "bootstrap inverted")
    left_out = (np.abs(many @ new - new) - np.abs(many @ old - old)) / (size * max(n - 1, 1))
    deviation = float(many @ left_out) / n - left_out
    spread = float(many @ deviation**2)
    acceleration = float(many @ deviation**3) / (6 * spread**1.5) if spread > 0 else np.nan
    low, high, used = interval_of_law(law, estimate, acceleration, "bca", alpha)
    p_value = max(p_value_of_law(law, estimate, acceleration), _least(n))
    return ModelDifference(
        *values, estimate, low, high, f"bootstrap {used}, exact", p_value, "bootstrap inverted"
    )


def _least(n: int) -> float:
    """The smallest p-value of n items: that of all of them pointing to one side by chance."""
    return max(_LEAST_P, 2.0 ** min(1 - n, 0))


def _resampled(
    kinds: IntArray,
    many: IntArray,
    figure: Figure,
    size: int,
    values: tuple[float, float],
    alpha: float,
    n_resamples: int,
    rng: np.random.Generator | int,
) -> ModelDifference:
    def statistic(totals: IntArray) -> FloatArray:
        sums = totals.reshape(*totals.shape[:-1], 2, size, len(SUMS))
        return figure(sums[..., 1, :, :]) - figure(sums[..., 0, :, :])

    resampled = resample_clusters(kinds, many, statistic, n_resamples, rng)
    estimate = values[1] - values[0]
    # Where no resample differs they say nothing: any difference is left possible.
    low, high, used, p_value = -1.0, 1.0, "none, the resamples do not vary", 1.0
    if not np.isnan(resampled).any() and np.ptp(resampled) > 0:
        acceleration = cluster_acceleration(kinds, many, statistic)
        law = discrete_law(resampled)
        low, high, used = interval_of_law(law, estimate, acceleration, "bca", alpha)
        p_value = p_value_of_law(law, estimate, acceleration)
    elif estimate != 0:
        p_value = _least(int(many.sum()))
    least = max(2 / (n_resamples + 1), _least(int(many.sum())))
    return ModelDifference(
        *values,
        estimate,
        low,
        high,
        f"bootstrap {used}, {n_resamples} resamples",
        min(max(p_value, least), 1.0),
        f"bootstrap inverted, {n_resamples} resamples",
    )
