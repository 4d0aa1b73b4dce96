"""E-values: evidence against equal paired proportions that survives repeated looks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray, Tabular
from fairstats.inference._checks import LEAST_P, check_alpha, check_between, check_numbers
from fairstats.inference.paired_counts import Pairs, discordant_counts

# The rounding error of log B(a, a) is about a × 1e-15: above, it would be evidence.
_MOST = 1e6


@dataclass(frozen=True, repr=False)
class McNemarEvalue(Tabular):
    """Result of `mcnemar_evalue`.

    Attributes
    ----------
    e_value : ndarray
        At least 0; its expected value is 1 if the proportions are equal. Infinite if it is larger
        than a floating-point number can be.
    log_e_value : ndarray
        Its natural logarithm, which is always finite.
    p_value : ndarray
        min(1, 1 / e_value), valid at any stopping time. After several looks, the smallest of their
        p-values is valid.
    method : str
        The distribution of alternatives, e.g. ``"Beta(0.5, 0.5) mixture"``.
    n_discordant : ndarray of int
        The number of discordant pairs.
    """

    e_value: FloatArray
    log_e_value: FloatArray
    p_value: FloatArray
    method: str
    n_discordant: npt.NDArray[np.int64]


def mcnemar_evalue(
    n11: Pairs | None = None,
    n10: npt.ArrayLike | None = None,
    n01: npt.ArrayLike | None = None,
    n00: npt.ArrayLike | None = None,
    *,
    a: float = 0.5,
) -> McNemarEvalue:
    r"""Compute an e-value against the hypothesis that two paired proportions are equal.

    It is the Bayes factor of "a discordant pair favours a with probability q, q ~ Beta(a, a)"
    against q = 1/2:

    .. math::
       E = 2^{n_{10} + n_{01}} \, \frac{B(a + n_{10}, a + n_{01})}{B(a, a)}

    If the hypothesis is true, E is a nonnegative martingale with expected value 1, from one
    discordant pair to the next. By Ville's inequality, the probability that it ever reaches 1 / α
    is at most α. So you may look after every item, and stop or continue as you like.

    Parameters
    ----------
    n11, n10, n01, n00 : array_like of int, or table, or DataFrame
        Pairs with both correct, only a, only b, neither; see `fairstats.inference.paired_counts`.
        Only n10 and n01 matter; the others may be missing. For several looks, give the cumulative
        counts at each look.
    a : float
        The parameter of the Beta distribution, above 0 and below 1,000,000 (rounding errors grow
        with it). A larger value expects smaller differences: with 0.5 every share is expected, with
        50 shares near 1/2.

    Returns
    -------
    McNemarEvalue
        With 20 or more, the hypothesis is rejected at level 0.05. Without discordant pairs the
        e-value is 1. It falls below 1 if the data support equality, but it is not a measure of
        equivalence.

    Raises
    ------
    ValueError
        If a count is invalid, counts are missing, or `a` is outside its range.

    Notes
    -----
    The guarantee holds for one hypothesis (one model snapshot and one pair of groups) and for items
    that accumulate. Let the discordant pairs be in an order that does not depend on the answers.
    Given all earlier answers, the next one must favour a with probability 1/2. This holds if items
    are a random sample in random order, each answered once per group. For fixed items it holds if,
    for every single item, a and b are equally likely to be the only correct one.

    Answers of a new snapshot to the same items belong to a new hypothesis, with an e-value that
    starts at 1. Do not multiply e-values of the same items: the answers are dependent. Their mean
    is an e-value for the hypothesis that all are fair, whatever the dependence. For many models and
    releases, see `adjust_evalues`.

    At a single look, McNemar's test has more power. The logarithm is accurate to about 1e-15 times
    the number of discordant pairs.

    References
    ----------
    Robbins (1970), Annals of Mathematical Statistics 41:1397-1409; Ramdas, Grünwald, Vovk & Shafer
    (2023), Statistical Science 38:576-601. Checked against numerical integration in R
    (tests/r/evalues.R), and by enumeration of all sequences.

    Examples
    --------
    >>> found = mcnemar_evalue(n10=83, n01=10)
    >>> round(float(found.log_e_value), 2), bool(found.p_value < 1e-10)
    (30.22, True)
    >>> float(mcnemar_evalue(n10=0, n01=0).e_value)
    1.0
    """
    first, second = discordant_counts(n11, n10, n01, n00)
    a = check_between("a", a, high=_MOST, example="0.5")
    n = first + second
    log = n * np.log(2) + scipy.special.betaln(a + first, a + second) - scipy.special.betaln(a, a)
    # Without discordant pairs, there is no rounding error.
    log = np.where(n == 0, 0.0, log)
    with np.errstate(over="ignore"):
        e_value = np.exp(log)
    p_value = np.clip(np.exp(-np.maximum(log, 0.0)), LEAST_P, 1.0)
    return McNemarEvalue(e_value, log, p_value, f"Beta({a:g}, {a:g}) mixture", n)


def adjust_evalues(e_values: npt.ArrayLike) -> FloatArray:
    r"""Adjust e-values over their family: the smallest α at which e-BH rejects each hypothesis.

    With the e-values in descending order, :math:`e_{(1)} \ge \dots \ge e_{(K)}`, the adjusted value
    of the i-th is

    .. math::
       \min\left(1, \min_{k \ge i} \frac{K}{k \, e_{(k)}}\right)

    Parameters
    ----------
    e_values : array_like of float
        The family, at least 0, or infinite; one per hypothesis, e.g. per model snapshot and pair of
        groups. NaN (no data) stays NaN and does not count.

    Returns
    -------
    ndarray
        In (0, 1], of the same shape. Rejecting those of at most α keeps the expected share of false
        rejections among the rejections (FDR) at or below α, whatever the dependence.

    Raises
    ------
    ValueError
        If an e-value is negative or not a number.

    Notes
    -----
    This is the Benjamini-Hochberg procedure of the p-values 1 / e. For p-values, it needs positive
    dependence; for e-values, it needs no assumption. To control the probability of any false
    rejection, use ``adjust_pvalues(1 / e_values)``, which is Holm's procedure.

    A board that publishes releases has one hypothesis per model snapshot and pair of groups. Its
    family are the hypotheses of all releases so far, also those of models that were removed. The
    FDR then holds for the list of rejections of each release. It does not hold for the union of the
    lists: as the family grows, an earlier rejection can be withdrawn. If the time of a release
    depends on the answers, it may depend only on items that are already counted for every model.

    References
    ----------
    Wang & Ramdas (2022), JRSS B 84:822-852. Checked against R's ``p.adjust`` (tests/r/evalues.R).

    Examples
    --------
    >>> adjust_evalues([200, 45, 30, 0.5])
    array([0.02      , 0.04444444, 0.04444444, 1.        ])
    """
    e = _checked(e_values)
    there = ~np.isnan(e)
    adjusted = np.full(e.shape, np.nan)
    if there.any():
        p = 1 / np.maximum(e[there], 1.0)
        adjusted[there] = np.maximum(scipy.stats.false_discovery_control(p, method="bh"), LEAST_P)
    return adjusted


def e_bh(e_values: npt.ArrayLike, *, alpha: float = 0.05) -> npt.NDArray[np.bool_]:
    """Return which hypotheses the e-BH procedure rejects at a false discovery rate of alpha.

    It rejects the k hypotheses with the largest e-values, for the largest k at which the k-th of
    them is at least K / (α k), with K the number of hypotheses.

    Parameters
    ----------
    e_values : array_like of float
        The family, as in `adjust_evalues`.
    alpha : float
        The false discovery rate, in (0, 1).

    Returns
    -------
    ndarray of bool
        Of the same shape; False for NaN.

    Raises
    ------
    ValueError
        If an e-value is negative or not a number, or alpha is outside (0, 1).

    Notes
    -----
    See `adjust_evalues` for the family and the guarantee.

    References
    ----------
    Wang & Ramdas (2022), JRSS B 84:822-852.

    Examples
    --------
    >>> e_bh([200, 45, 30, 0.5])
    array([ True,  True,  True, False])
    """
    # The tolerance is for rounding: 20 is enough for a single hypothesis at level 0.05.
    return np.asarray(adjust_evalues(e_values) <= check_alpha(alpha) * (1 + 1e-12))


def _checked(e_values: npt.ArrayLike) -> FloatArray:
    """Return e-values as an array, which may contain NaN and ∞."""
    given = np.asarray(e_values)
    infinite = given.dtype.kind == "f" and np.isposinf(given)
    finite = np.where(infinite, 0.0, given) if np.any(infinite) else e_values
    checked = check_numbers("e_values", finite, low=0, nan=True, kind="e-value", example="20")
    return np.where(infinite, np.inf, checked)
