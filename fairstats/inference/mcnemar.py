"""McNemar's test for two paired proportions, and Cochran's Q for several."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray, TestResult
from fairstats.inference._checks import LEAST_P, IntArray, check_choice, check_counts
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
    return TestResult(np.asarray(statistic), np.maximum(p_value, LEAST_P), method)


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


def cochran_q(patterns: npt.ArrayLike, counts: npt.ArrayLike) -> TestResult:
    """Test equal accuracy of k groups on the same items (Cochran's Q).

    Q = (k − 1) (k Σ_g G_g² − T²) / (k T − Σ_i L_i²), compared with χ² with k − 1 degrees of
    freedom. G_g is the number of correct answers of group g, L_i that of item i, and T the total.

    Parameters
    ----------
    patterns : array_like of {0, 1}, shape (m, k)
        Patterns of correct (1) and wrong (0) over the k ≥ 2 groups.
    counts : array_like of int, shape (m,)
        Number of items with each pattern.

    Returns
    -------
    TestResult
        If all groups agree on every item, the statistic is 0 and p is 1.

    Raises
    ------
    ValueError
        For fewer than two groups, patterns with values other than 0 and 1, invalid counts, or
        shapes that do not fit.

    Notes
    -----
    For two groups Q is McNemar's asymptotic χ² without correction. χ² is an approximation. By
    enumeration with three groups, the test at level 5% wrongly rejects in up to 11% with three
    items that differ between groups, 9% with seven, and 7% with 8 to 30.

    References
    ----------
    Cochran (1950), Biometrika 37:256-266. `statsmodels.stats.contingency_tables.cochrans_q` takes
    one row per item; this function takes counts. Checked against it and tests/r/tests.R.

    Examples
    --------
    >>> result = cochran_q([[1, 1, 0], [1, 0, 0], [0, 0, 0]], [12, 6, 20])
    >>> float(result.statistic), int(result.df)
    (28.0, 2)
    """
    right = np.asarray(patterns)
    # Patterns may be booleans here; counts may not.
    (states,) = check_counts(patterns=right.astype(int) if right.dtype == bool else patterns)
    (many,) = check_counts(counts=counts)
    if states.ndim != 2 or states.shape[1] < 2 or many.shape != states.shape[:1]:
        raise ValueError(
            "patterns must have shape (m, k), k at least 2, and counts (m,); "
            f"got {states.shape} and {many.shape}"
        )
    if np.any(states > 1):
        raise ValueError(f"patterns holds {states.max()}; it must contain only 0 and 1")
    k = states.shape[1]
    # Python integers: squares of billions do not fit into 64 bits.
    groups = [int(group) for group in many @ states]
    total, items = sum(groups), int(many.astype(object) @ states.sum(axis=1) ** 2)
    spread = k * total - items
    q = (k - 1) * (k * sum(group**2 for group in groups) - total**2) / spread if spread else 0.0
    return TestResult(
        np.asarray(q),
        np.maximum(scipy.stats.chi2.sf(q, k - 1), LEAST_P),
        "cochran",
        df=np.asarray(k - 1),
        n=np.asarray(many.sum()),
    )
