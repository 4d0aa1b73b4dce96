"""Answers that come in clusters: several samples of an item, or all attributes of an item.

Answers to one item are alike, so that it is items that are independent, not answers. A cluster is
described by its counts; clusters with the same counts are one row with a multiplicity, so that
everything here is a function of a small table again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from fairstats._lib.result_objects import Tabular
from fairstats.inference._checks import (
    MOST,
    check_choice,
    check_counts,
    check_integers,
    check_multiplicity,
    check_numbers,
)
from fairstats.inference.mcnemar import mcnemar

#: From here on the normal law stands in for the exact one of the sum.
LARGEST_EXACT_SUM = 100_000
# A p-value that underflows is not 0.
_LEAST_P = float(np.finfo(np.float64).tiny)


@lru_cache(maxsize=1024)
def _heads(n: int) -> npt.NDArray[np.float64]:
    """The probabilities of 0 to n heads; the comparisons of a board ask for the same n often."""
    law: npt.NDArray[np.float64] = stats.binom.pmf(np.arange(n + 1), n, 0.5)
    law.setflags(write=False)
    return law


@dataclass(frozen=True)
class SignFlipResult(Tabular):
    """Result of `sign_flip_test`: statistic (Σ d), p_value and method."""

    statistic: float
    p_value: float
    method: str


def sign_flip_test(
    differences: npt.ArrayLike,
    multiplicity: npt.ArrayLike | None = None,
    *,
    method: Literal["midp", "exact", "asymptotic"] = "midp",
) -> SignFlipResult:
    """McNemar's test where an item is answered several times: items are flipped, not answers.

    Where the groups do not matter, an item's difference d = n10 − n01 has either sign with
    probability ½. The sum of the d over items, each with its own size and a random sign, has a
    law that is a convolution of binomials; it is computed, not simulated.

    Parameters
    ----------
    differences : array_like of int, shape (k,)
        n10 − n01 of each item (or of each kind of item).
    multiplicity : array_like of int, shape (k,), optional
        How many items have it; by default one.
    method : {"midp", "exact", "asymptotic"}
        The exact p-value less half the probability of the observed \\|sum\\|; the exact one; or
        Obuchowski's χ² = (Σ d)² / Σ d², which also stands in, and is named, where Σ \\|d\\|
        exceeds 100,000.

    Returns
    -------
    SignFlipResult
        p is 1 where the sum is 0, and so where no item has a difference.

    Raises
    ------
    ValueError
        For a difference that is not whole, a multiplicity that is not a count or of another shape,
        or an unknown method.

    Notes
    -----
    With one answer an item it is McNemar's test, exact or mid-p. Which sample of one group is
    paired with which of the other does not matter: d is the same.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21; Obuchowski (1998), Statistics in
    Medicine 17:1495-1507. Checked against enumeration of all signs (tests/r/tests.R).

    Examples
    --------
    >>> sign_flip_test([1, -1], [7, 1]).p_value
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
    # In floating point: squares of billions do not fit into 64 bits.
    total, squares = int(d @ many), float(d.astype(np.float64) ** 2 @ many)
    # Sums of multiples have the law of the numbers without their common factor.
    factor = max(int(np.gcd.reduce(d[many > 0])), 1) if (many > 0).any() else 1
    d = d // factor
    if total == 0:
        return SignFlipResult(0.0, 1.0, method)
    if method == "asymptotic" or int(np.abs(d) @ many) > LARGEST_EXACT_SUM:
        p = max(float(stats.chi2.sf(total**2 / squares, df=1)), _LEAST_P)
        return SignFlipResult(float(total), p, "asymptotic")
    if np.all(np.abs(d) <= 1):
        p_value = mcnemar(int(many[d == 1].sum()), int(many[d == -1].sum()), method=method).p_value
        return SignFlipResult(float(total), float(p_value), method)
    # The sum is 2 Σ |d| · (flips up) − Σ |d|: only the flips up have a law.
    law = np.array([1.0])
    for step in map(int, np.unique(np.abs(d[(d != 0) & (many > 0)]))):
        items = int(many[np.abs(d) == step].sum())
        longer = np.zeros(len(law) + items * step)
        # Sums of positive terms: even the smallest probability keeps its digits.
        for heads, share in enumerate(_heads(items)):
            longer[heads * step : heads * step + len(law)] += share * law
        law = longer
    sums, observed = np.abs(2 * np.arange(len(law)) - (len(law) - 1)), abs(total // factor)
    beyond, at = law[sums > observed].sum(), law[sums == observed].sum()
    p = float(min(beyond + (at / 2 if method == "midp" else at), 1.0))
    p = max(p, _LEAST_P)
    return SignFlipResult(float(total), p, method)


def design_effect(
    clusters: npt.ArrayLike,
    multiplicity: npt.ArrayLike,
    influence: npt.ArrayLike,
    *,
    copies: float = 1.0,
) -> float:
    """By how much clustering multiplies the variance of an estimate.

    The cluster-robust (linearised) variance of the estimate over the variance it would have if
    every answer were a cluster of its own:

        K / (K − 1) Σ_k (Σ_{i in k} ψ_i)²  over  N / (N − 1) Σ_i ψ_i²

    with ψ the influence of a pair on the estimate, K clusters and N pairs.

    Parameters
    ----------
    clusters : array_like of int, shape (k, patterns)
        How many pairs with each pattern a cluster has.
    multiplicity : array_like of int, shape (k,)
        How many clusters are like that.
    influence : array_like of float, shape (patterns,)
        The influence of a pair with that pattern; its mean over all pairs is 0.
    copies : float
        In how many pairs each answer is. N pairs then count as N / copies answers, and the effect
        is that of the answers: multiply it by `copies` to divide numbers of pairs.

    Returns
    -------
    float
        At least 1: samples that happen to balance out are not taken for more information than
        independent ones. Where no pair has an influence (no discordant pair), the mean size of a
        cluster: the answers of an item then count as one. The same with a single cluster, for
        which there is no variance.

    Raises
    ------
    ValueError
        If a count is not one, an influence is not finite, or the shapes do not fit each other.

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
