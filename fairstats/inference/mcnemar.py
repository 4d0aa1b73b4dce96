"""McNemar's test for two paired proportions."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray, TestResult
from fairstats.inference._checks import IntArray, check_choice
from fairstats.inference.paired_counts import Pairs, discordant_counts

McNemarMethod = Literal["midp", "exact", "asymptotic", "asymptotic_cc"]


def mcnemar(
    n11: Pairs | None = None,
    n10: npt.ArrayLike | None = None,
    n01: npt.ArrayLike | None = None,
    n00: npt.ArrayLike | None = None,
    *,
    method: McNemarMethod = "midp",
) -> TestResult:
    """Test whether two paired proportions are equal, from the discordant counts.

    Under the null hypothesis, a discordant pair favours either group with probability 1/2. So,
    given n = n10 + n01, the count n10 is Binomial(n, 1/2). All p-values are two-sided.

    Parameters
    ----------
    n11, n10, n01, n00 : array_like of int
        Pairs with both correct, only a, only b, neither; broadcast against each other. Or one
        table, or a frame of pairs: see `paired_counts`. The test needs only ``n10=`` and ``n01=``.
    method : {"midp", "exact", "asymptotic", "asymptotic_cc"}
        ``midp``: the exact p-value minus the probability of the observed table; ``exact``: twice
        the smaller binomial tail, at most 1; ``asymptotic``: χ² = (n10 − n01)² / n with 1 degree of
        freedom; ``asymptotic_cc``: the same with (\\|n10 − n01\\| − 1)².

    Returns
    -------
    TestResult
        ``statistic`` is min(n10, n01) for ``midp`` and ``exact``, and χ² for the other methods.

    Raises
    ------
    ValueError
        If a count is negative, not whole, not finite, above 2⁵⁰ or not a number, or the method is
        unknown.

    Notes
    -----
    If n10 = n01, also without any discordant pair, p is 1 and χ² is 0. No continuity correction is
    applied in that case, since it would turn perfect balance into evidence. For n10 = n01, some
    authors define the mid-p as 1 minus half the probability of the table (½ with no discordant
    pair). This function returns twice the smaller mid-p tail, which is 1.

    References
    ----------
    McNemar (1947), Psychometrika 12:153-157. Fagerland, Lydersen & Laake (2013), BMC Medical
    Research Methodology 13:91, for the mid-p version and its example. Checked against R's
    ``binom.test`` and ``mcnemar.test`` (tests/r/paired.R).

    Examples
    --------
    >>> mcnemar(1, 1, 7, 12)
    TestResult(statistic=1, p_value=0.0390625, method='midp')
    >>> statistic, p_value = mcnemar(n10=1, n01=7, method="exact")
    >>> float(p_value)
    0.0703125
    """
    check_choice("method", method, get_args(McNemarMethod))
    n10, n01 = discordant_counts(n11, n10, n01, n00)
    n, fewer = n10 + n01, np.minimum(n10, n01)
    if method in ("midp", "exact"):
        p_value = _binomial(n10, n01, method)
        statistic = fewer.astype(np.float64)
    else:
        correction = 1.0 if method == "asymptotic_cc" else 0.0
        distance = np.maximum(np.abs(n10 - n01) - correction, 0.0)
        statistic = distance**2 / np.maximum(n, 1)
        p_value = scipy.stats.chi2.sf(statistic, df=1)
    # A p-value that underflows is not 0.
    p_value = np.maximum(p_value, np.finfo(np.float64).tiny)
    return TestResult(np.asarray(statistic), np.asarray(p_value), method)


def _binomial(n10: IntArray, n01: IntArray, method: McNemarMethod) -> FloatArray:
    """Return twice the smaller tail; for mid-p, minus the probability of the observed table."""
    n, fewer = n10 + n01, np.minimum(n10, n01)
    if method == "midp":
        # Computed as a sum: a difference of two numbers that underflow can fall below 0.
        p_value = scipy.stats.binom.cdf(np.stack([fewer, fewer - 1]), n, 0.5).sum(axis=0)
    else:
        p_value = 2 * scipy.stats.binom.cdf(fewer, n, 0.5)
    # If n10 = n01, both tails contain the middle, and rounding can move the sum away from 1.
    return np.where(n10 == n01, 1.0, np.minimum(p_value, 1.0))
