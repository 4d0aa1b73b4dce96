"""Variance of figures over items, split into the items and the repeated samples of a prompt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import FloatArray, Tabular
from fairstats.inference._checks import check_counts, check_multiplicity, check_numbers


@dataclass(frozen=True, repr=False)
class SamplingVariance(Tabular):
    """Result of `sampling_variance`.

    Attributes
    ----------
    estimate, std_error : float
        The mean over items, and its standard error over further items and samples.
    variance_items, variance_samples : float
        The parts of std_error² due to items and to samples; unbiased, so they can be negative.
    share_samples : float
        The samples' share of the variance, in [0, 1], with negative parts as 0; NaN if there is no
        variance.
    std_error_unlimited : float
        The standard error that unlimited samples of the same items would give.
    n : int
        Number of items.
    """

    estimate: float
    std_error: float
    variance_items: float
    variance_samples: float
    share_samples: float
    std_error_unlimited: float
    n: int


def sampling_variance(
    values: npt.ArrayLike, noise: npt.ArrayLike, multiplicity: npt.ArrayLike | None = None
) -> SamplingVariance:
    """Split the variance of a mean over items into items and repeated samples.

    Var(mean) = (σ²_items + mean noise) / I. The variance of the values over items estimates the sum
    in brackets.

    Parameters
    ----------
    values : array_like of float, shape (k,)
        Each item's figure, e.g. its share of right answers over its samples.
    noise : array_like of float, shape (k,)
        An unbiased estimate of the figure's variance over new samples of the same item, e.g.
        `proportion_noise`. NaN if the item has too few samples; all components are then NaN.
    multiplicity : array_like of int, shape (k,), optional
        Number of items of each kind (default: one).

    Returns
    -------
    SamplingVariance
        All NaN without items. With one item, the variance over items is unknown (NaN).

    Raises
    ------
    ValueError
        If shapes differ, or a value is not finite.

    References
    ----------
    Searle, Casella & McCulloch (1992), Variance Components, chapter 3. Checked against R's ``aov``
    (tests/r/sampling_variance.R).

    Examples
    --------
    >>> values = [1.0, 0.5, 0.5, 0.0, 1.0, 0.5]
    >>> found = sampling_variance(values, proportion_noise([2, 1, 1, 0, 2, 1], [2] * 6))
    >>> round(found.std_error**2, 4), round(found.variance_samples, 4)
    (0.0236, 0.0208)
    """
    x = check_numbers("values", values, example="0.5; leave out items without answers")
    of_samples = check_numbers("noise", noise, nan=True)
    if x.ndim != 1 or x.shape != of_samples.shape:
        raise ValueError(
            f"values and noise must have one shape (k,); got {x.shape} and {of_samples.shape}"
        )
    many = check_multiplicity(multiplicity, len(x))
    n = int(many.sum())
    nan = float("nan")
    if n == 0:
        return SamplingVariance(nan, nan, nan, nan, nan, nan, 0)
    mean = float(many @ x / n)
    samples = float(many @ of_samples / n) / n
    total = float(many @ (x - mean) ** 2 / (n - 1)) / n if n > 1 else nan
    items = total - samples
    known = max(items, 0.0) + max(samples, 0.0)
    share = max(samples, 0.0) / known if known > 0 else nan
    unlimited = float(np.sqrt(total * (1 - share))) if known > 0 else nan
    return SamplingVariance(mean, float(np.sqrt(total)), items, samples, share, unlimited, n)


def proportion_noise(correct: npt.ArrayLike, n: npt.ArrayLike) -> FloatArray:
    """Estimate the variance of an item's share of right answers over new samples, without bias.

    With p̂ the share of n answers, this is p̂ (1 − p̂) / (n − 1).

    Parameters
    ----------
    correct, n : array_like of int
        Right answers and answers of each item.

    Returns
    -------
    ndarray
        NaN for fewer than two answers.

    Raises
    ------
    ValueError
        For an invalid count.

    References
    ----------
    Cochran (1977), Sampling Techniques, theorem 3.1.

    Examples
    --------
    >>> proportion_noise([1, 2, 1], [2, 2, 1])
    array([0.25, 0.  ,  nan])
    """
    right, number = check_counts(correct=correct, n=n)
    share = right / np.maximum(number, 1)
    return np.where(number > 1, share * (1 - share) / np.maximum(number - 1, 1), np.nan)


def agreement_noise(
    letters_a: npt.ArrayLike, letters_b: npt.ArrayLike, n_a: npt.ArrayLike, n_b: npt.ArrayLike
) -> FloatArray:
    """Estimate the variance of an item's agreement between groups over new samples, without bias.

    The agreement C is the share of the n_a n_b pairs of an answer of each group with the same
    letter. C² minus its average over two pairs without a common answer estimates its variance.

    Parameters
    ----------
    letters_a, letters_b : array_like of int, shape (k, options)
        Number of times that each group gave each letter, for each item.
    n_a, n_b : array_like of int, shape (k,)
        Number of answers of each group. A missing answer that counts agrees with no other.

    Returns
    -------
    ndarray, shape (k,)
        NaN for fewer than two answers of a group. Single items can be below 0.

    Raises
    ------
    ValueError
        For an invalid count.

    References
    ----------
    Hoeffding (1948), Annals of Mathematical Statistics 19:293-325. Tested by enumeration of all
    samples.

    Examples
    --------
    >>> agreement_noise([[2, 0], [1, 1]], [[2, 0], [1, 1]], [2, 2], [2, 2])
    array([ 0.  , -0.25])
    """
    a, b = (counts.astype(float) for counts in check_counts(a=letters_a, b=letters_b))
    size_a, size_b = check_counts(n_a=n_a, n_b=n_b)
    same = (a * b).sum(axis=-1)
    # Two pairs without a common answer; a pair with itself was taken off twice.
    apart = same**2 - (a * b**2).sum(axis=-1) - (a**2 * b).sum(axis=-1) + same
    pairs = np.maximum(size_a * size_b, 1)
    others = np.maximum((size_a - 1) * (size_b - 1), 1)
    noise = (same / pairs) ** 2 - apart / (pairs * others)
    return np.where((size_a > 1) & (size_b > 1), noise, np.nan)
