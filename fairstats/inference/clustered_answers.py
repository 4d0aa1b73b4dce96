"""Clustered answers: several samples of an item, or all attributes of an item.

Answers to one item are correlated, so items are independent, not answers. A cluster is described by
its counts. Clusters with the same counts form one row with a multiplicity, so every function here
takes a small table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray, Tabular, TestResult
from fairstats.inference._checks import (
    MOST,
    IntArray,
    check_choice,
    check_counts,
    check_integers,
    check_multiplicity,
    check_numbers,
)
from fairstats.inference.mcnemar import mcnemar

#: Above this sum, the normal distribution replaces the exact one.
LARGEST_EXACT_SUM = 100_000
# A p-value that underflows is not 0.
_LEAST_P = float(np.finfo(np.float64).tiny)


@lru_cache(maxsize=1024)
def _heads(n: int) -> tuple[npt.NDArray[np.float64], int]:
    """Return the probabilities of numbers of heads in n throws, and the smallest such number.

    Probabilities that underflow are left out. Cached because the same n recurs often.
    """
    law: npt.NDArray[np.float64] = scipy.stats.binom.pmf(np.arange(n + 1), n, 0.5)
    some = np.flatnonzero(law)
    law = law[some[0] : some[-1] + 1]
    law.setflags(write=False)
    return law, int(some[0])


def _law_of_flips(steps: IntArray, many: IntArray) -> tuple[npt.NDArray[np.float64], int]:
    """Return the law of Σ step · heads, heads out of `many` throws each, and its smallest value."""
    law, least = np.array([1.0]), 0
    for step, items in zip(steps.tolist(), many.tolist(), strict=True):
        heads, fewest = _heads(items)
        longer = np.zeros(len(law) + (len(heads) - 1) * step)
        # Direct sums of positive terms: unlike by a Fourier transform, even the smallest
        # probability keeps its digits.
        for phase in range(min(step, len(law))):
            longer[phase::step] = np.convolve(heads, law[phase::step])
        some = np.flatnonzero(longer)
        law, least = longer[some[0] : some[-1] + 1], least + fewest * step + int(some[0])
    return law, least


def sign_flip_test(
    differences: npt.ArrayLike,
    multiplicity: npt.ArrayLike | None = None,
    *,
    method: Literal["midp", "exact", "asymptotic"] = "midp",
) -> TestResult:
    """Test clustered pairs by flipping whole items: McNemar's test for several answers per item.

    If the groups make no difference, an item's difference d = n10 − n01 has either sign with
    probability ½. The sum of d over items, each with its size and a random sign, has a distribution
    that is a convolution of binomials. It is computed, not simulated.

    Parameters
    ----------
    differences : array_like of int, shape (k,)
        n10 − n01 of each item (or of each kind of item).
    multiplicity : array_like of int, shape (k,), optional
        Number of items with each difference (default: one).
    method : {"midp", "exact", "asymptotic"}
        The exact p-value minus half the probability of the observed \\|sum\\|; the exact p-value;
        or Obuchowski's χ² = (Σ d)² / Σ d². The last is used for every method, and named in the
        result, if Σ \\|d\\| exceeds 100,000.

    Returns
    -------
    TestResult
        p is 1 if the sum is 0, and so also if all differences are 0.

    Raises
    ------
    ValueError
        For a difference that is not whole, a multiplicity that is not a count or of another shape,
        or an unknown method.

    Notes
    -----
    With one answer per item it is McNemar's test, exact or mid-p. It does not matter which sample
    of one group is paired with which of the other: d is the same.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21; Obuchowski (1998), Statistics in
    Medicine 17:1495-1507. Checked against enumeration of all signs (tests/r/tests.R).

    Examples
    --------
    >>> float(sign_flip_test([1, -1], [7, 1]).p_value)
    0.0390625
    """
    (d,) = check_integers(differences=differences)
    d = d.ravel()
    many = check_multiplicity(multiplicity, len(d))
    check_choice("method", method, ("midp", "exact", "asymptotic"))
    size = float(np.abs(d).astype(np.float64) @ many)
    if size > MOST:
        raise ValueError(
            f"differences and multiplicity must have a sum of |differences| of at most {MOST}; "
            f"got {size:.3g}"
        )
    # Use floating point: squares of billions do not fit into 64 bits.
    total, squares = int(d @ many), float(d.astype(np.float64) ** 2 @ many)
    # Dividing all numbers by a common factor does not change the p-value.
    factor = max(int(np.gcd.reduce(d[many > 0])), 1) if (many > 0).any() else 1
    d = d // factor
    if total == 0:
        return TestResult(np.asarray(0.0), np.asarray(1.0), method)
    if method == "asymptotic" or int(np.abs(d) @ many) > LARGEST_EXACT_SUM:
        p = max(float(scipy.stats.chi2.sf(total**2 / squares, df=1)), _LEAST_P)
        return TestResult(np.asarray(float(total)), np.asarray(p), "asymptotic")
    if np.all(np.abs(d) <= 1):
        n10, n01 = (int(many[d == side].sum()) for side in (1, -1))
        p_value = mcnemar(n10=n10, n01=n01, method=method).p_value
        return TestResult(np.asarray(float(total)), p_value, method)
    # The sum is 2 Σ |d| · (flips up) − Σ |d|, so only the flips up are random.
    moved = (d != 0) & (many > 0)
    steps, place = np.unique(np.abs(d[moved]), return_inverse=True)
    law, least = _law_of_flips(steps, np.bincount(place, weights=many[moved]).astype(np.int64))
    size = int(np.abs(d) @ many)
    sums, observed = np.abs(2 * (least + np.arange(len(law))) - size), abs(total // factor)
    beyond, at = law[sums > observed].sum(), law[sums == observed].sum()
    p = float(min(beyond + (at / 2 if method == "midp" else at), 1.0))
    p = max(p, _LEAST_P)
    return TestResult(np.asarray(float(total)), np.asarray(p), method)


def design_effect(
    clusters: npt.ArrayLike,
    multiplicity: npt.ArrayLike,
    influence: npt.ArrayLike,
    *,
    copies: float = 1.0,
) -> float:
    """Compute the factor by which clustering multiplies the variance of an estimate.

    This is the cluster-robust (linearised) variance of the estimate, divided by its variance if
    every answer were a separate cluster:

        K / (K − 1) Σ_k (Σ_{i in k} ψ_i)²  over  N / (N − 1) Σ_i ψ_i²

    with ψ the influence of a pair on the estimate, K clusters and N pairs.

    Parameters
    ----------
    clusters : array_like of int, shape (k, patterns)
        Number of pairs with each pattern in a cluster.
    multiplicity : array_like of int, shape (k,)
        Number of clusters with these counts.
    influence : array_like of float, shape (patterns,)
        The influence of a pair with that pattern; its mean over all pairs is 0.
    copies : float
        Number of pairs that share an answer. N pairs then count as N / copies answers, and the
        effect is that of the answers: multiply it by `copies` to divide numbers of pairs.

    Returns
    -------
    float
        At least 1: samples that balance out by chance do not count as more information than
        independent ones. If no pair has an influence (no discordant pair), it is the mean size of a
        cluster. The answers of an item then count as one. The same holds for a single cluster,
        which has no variance.

    Raises
    ------
    ValueError
        If a count is invalid, an influence is not finite, or the shapes do not fit.

    References
    ----------
    Kish (1965), Survey Sampling, section 8.2; Rao & Scott (1992), Biometrics 48:577-585, for
    dividing the counts of a score interval by it.

    Examples
    --------
    >>> design_effect([[2, 0], [0, 2]], [5, 5], [1, -1])
    2.111111111111111
    """
    (whole,), (many,) = check_counts(clusters=clusters), check_counts(multiplicity=multiplicity)
    cells, psi = whole.astype(np.float64), check_numbers("influence", influence)
    if cells.ndim != 2 or cells.shape != (*many.shape, *psi.shape):
        raise ValueError(
            "clusters must have shape (k, patterns), multiplicity (k,) and influence (patterns,); "
            f"got {cells.shape}, {many.shape} and {psi.shape}"
        )
    k, n = float(many.sum()), float((cells.sum(axis=1) * many).sum()) / copies
    single = float((cells * many[:, None]).sum(axis=0) @ psi**2) * copies
    if single <= 0 or k < 2 or n <= 1:
        return max(n / max(k, 1.0), 1.0)
    together = float(many @ (cells @ psi) ** 2)
    return max(k / (k - 1) * together / (n / (n - 1) * single), 1.0)


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
