"""Effect sizes of two paired proportions with intervals: Cohen's h, the ratio, the odds ratio."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.inference._checks import check_alpha, check_design_effect, check_shapes
from fairstats.inference.intervals import own_counts, proportion_interval, square_and_add
from fairstats.inference.paired_counts import Pairs, discordant_counts, paired_counts

# Finite limits of the largest counts are inside exp(±_FURTHEST).
_FURTHEST = 120.0


def odds_ratio(
    n11: Pairs | None = None,
    n10: npt.ArrayLike | None = None,
    n01: npt.ArrayLike | None = None,
    n00: npt.ArrayLike | None = None,
    *,
    alpha: float = 0.05,
) -> Estimate:
    """Compute the conditional odds ratio of paired answers, n10 / n01, with its exact interval.

    In a discordant pair, the odds that a rather than b is correct. Given n10 + n01, the count n10
    is binomial with odds equal to the odds ratio. So the limits are those of Clopper and Pearson's
    interval, expressed as odds.

    Parameters
    ----------
    n11, n10, n01, n00 : array_like of int
        Pairs with both correct, only a, only b, neither; broadcast against each other. Or one
        table, or a frame of pairs: see `paired_counts`. Only ``n10=`` and ``n01=`` are needed.
    alpha : float
        1 − confidence level. The interval is conservative: its coverage is at least that level.

    Returns
    -------
    Estimate
        In [0, ∞]: infinite if n01 = 0 < n10. Without a discordant pair, NaN with limits 0 and ∞.
        `n` is the number of discordant pairs.

    Raises
    ------
    ValueError
        If a count is negative, not whole, not finite, above 2⁵⁰ or not a number, or alpha is
        outside (0, 1).

    References
    ----------
    Agresti (2013), Categorical Data Analysis, section 11.2. Checked against R's ``binom.test``
    (tests/r/intervals.R).

    Examples
    --------
    >>> found = odds_ratio(n10=40, n01=20)
    >>> [float(x.round(4)) for x in (found.estimate, *found.ci)]
    [2.0, 1.1419, 3.6111]
    """
    n10, n01 = discordant_counts(n11, n10, n01, n00)
    n = n10 + n01
    share = proportion_interval(n10, n, method="clopper_pearson", alpha=alpha)

    def odds(p: npt.ArrayLike, q: npt.ArrayLike) -> npt.NDArray[np.float64]:
        p, q = np.asarray(p, dtype=np.float64), np.asarray(q)
        return np.divide(p, q, out=np.full(p.shape, np.inf), where=q > 0)

    return Estimate(
        np.where(n > 0, odds(n10, n01), np.nan),
        odds(share.ci_low, 1 - share.ci_low),
        odds(share.ci_high, 1 - share.ci_high),
        share.ci_level,
        "exact conditional",
        n,
    )


def cohens_h_interval(
    n11: Pairs | None = None,
    n10: npt.ArrayLike | None = None,
    n01: npt.ArrayLike | None = None,
    n00: npt.ArrayLike | None = None,
    *,
    correct_a: npt.ArrayLike | None = None,
    n_a: npt.ArrayLike | None = None,
    correct_b: npt.ArrayLike | None = None,
    n_b: npt.ArrayLike | None = None,
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
    copies: npt.ArrayLike = 1.0,
) -> Estimate:
    """Compute Cohen's h with a confidence interval, for two paired accuracies.

    This is square-and-add on the arcsine scale. Wilson's limits of each accuracy are transformed to
    2 arcsin √p. Their distances from the estimates are added as lengths of correlated estimates.
    The correlation is φ of the pairs, corrected for continuity. If a group is always right or
    always wrong in the pairs, φ is not defined. If pairs are discordant, each limit then uses the
    most negative φ that Wilson's limits allow.

    Parameters
    ----------
    n11, n10, n01, n00 : array_like of int
        The pairs with both answers: both correct, only a, only b, neither. Or one table, or a
        frame of pairs: see `paired_counts`.
    correct_a, n_a, correct_b, n_b : array_like of int, optional
        Each group's correct answers and all its answers, if there are more than in the pairs.
    alpha : float
        1 − confidence level.
    design_effect : array_like of float
        Factor by which clustering (several answers per item) multiplies the variance; the counts
        are divided by it. See `fairstats.inference.clustered_answers`.
    copies : array_like of float
        Number of pairs that share an answer, if several samples are paired with each other. The
        continuity correction of φ is then that of n / copies pairs.

    Returns
    -------
    Estimate
        In [−π, π]; NaN with these limits if a group has no answers. `n` is the number of pairs.

    Raises
    ------
    ValueError
        As `partly_paired_interval`.

    References
    ----------
    Zou & Donner (2008), Statistics in Medicine 27:1693-1702, for square-and-add beyond the
    difference; Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, chapter 6.

    Examples
    --------
    >>> found = cohens_h_interval(60, 40, 20, 40)
    >>> [float(x.round(4)) for x in (found.estimate, found.ci_low, found.ci_high)]
    [0.2527, 0.0619, 0.4397]
    """
    cells = paired_counts(n11, n10, n01, n00)
    given = zip((correct_a, n_a, correct_b, n_b), cells.of_groups, strict=True)
    counts = (of_pairs if count is None else count for count, of_pairs in given)
    own = own_counts(cells, *counts, copies=copies, undefined=np.nan)
    low, high = square_and_add(
        *own,
        alpha=check_alpha(alpha),
        design_effect=design_effect,
        scale=arcsine,
        furthest=np.pi,
    )
    with np.errstate(invalid="ignore"):
        estimate = arcsine(own.correct_a / own.n_a) - arcsine(own.correct_b / own.n_b)
    return Estimate(estimate, low, high, 1 - alpha, "arcsine, paired", cells.n)


def arcsine(p: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return 2 arcsin √p, the scale on which Cohen's h is a difference."""
    return np.asarray(2 * np.arcsin(np.sqrt(p)))


def risk_ratio(
    n11: Pairs | None = None,
    n10: npt.ArrayLike | None = None,
    n01: npt.ArrayLike | None = None,
    n00: npt.ArrayLike | None = None,
    *,
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
) -> Estimate:
    """Compute the ratio of two paired proportions, p_a / p_b, with its score interval.

    The estimate is (n11 + n10) / (n11 + n01). The limits are the ratios θ at which the statistic

        T(θ) = ((n11 + n10) − θ (n11 + n01)) / √(n θ (p̂10(θ) + p̂01(θ)))

    equals ±z, with p̂ the maximum likelihood estimates under p_a = θ p_b.

    Parameters
    ----------
    n11, n10, n01, n00 : array_like of int
        Pairs with both correct, only a, only b, neither; broadcast against each other. Or one
        table, or a frame of pairs: see `paired_counts`.
    alpha : float
        1 − confidence level.
    design_effect : array_like of float
        Factor by which clustering (several answers per item) multiplies the variance; the counts
        are divided by it. See `fairstats.inference.clustered_answers`.

    Returns
    -------
    Estimate
        In [0, ∞]; `n` is the number of pairs. The ratio is 0 if a is never correct, and infinite if
        b is never correct. If neither ever is, or without pairs, it is NaN with limits 0 and ∞.
        Without discordant pairs it is 1, with limits 1 / (1 + z²/n11) and 1 + z²/n11.

    Raises
    ------
    ValueError
        If a count is invalid, alpha is outside (0, 1), or a design effect is not positive.

    Notes
    -----
    Pairs in which neither is correct affect only `n`: the likelihood of the ratio depends on the
    others. T(1) is the statistic of McNemar's asymptotic test, so the interval excludes 1 exactly
    if that test rejects. T decreases in θ, so each limit is found by a search of log θ.

    References
    ----------
    Nam & Blackwelder (2002), Statistics in Medicine 21:689-699; Tang, Tang & Chan (2003),
    Statistics in Medicine 22:1217-1233. Checked against numerical maximisation of the likelihood in
    R (tests/r/risk_ratio.R).

    Examples
    --------
    >>> found = risk_ratio(43, 9, 4, 44)
    >>> [float(x.round(4)) for x in (found.estimate, found.ci_low, found.ci_high)]
    [1.1064, 0.9538, 1.3074]
    """
    n11, n10, n01, n00 = paired_counts(n11, n10, n01, n00)
    alpha, effect = check_alpha(alpha), check_design_effect(design_effect)
    check_shapes(n11=n11, design_effect=effect)
    a, b = (n11 + n10).astype(np.float64), (n11 + n01).astype(np.float64)
    low, high = _ratio_limits(n11 / effect, n10 / effect, n01 / effect, alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = a / b
    n = np.broadcast_to(n11 + n10 + n01 + n00, low.shape)
    return Estimate(estimate, low, high, 1 - alpha, "tang", n)


def _ratio_limits(
    n11: FloatArray, n10: FloatArray, n01: FloatArray, alpha: float
) -> tuple[FloatArray, FloatArray]:
    from scipy.optimize import elementwise

    def beyond(
        log_ratio: FloatArray, target: FloatArray, n11: FloatArray, n10: FloatArray, n01: FloatArray
    ) -> FloatArray:
        return _ratio_statistic(n11, n10, n01, log_ratio) - target

    z = float(scipy.stats.norm.isf(alpha / 2))
    # Search both limits at once; the first axis is low and high.
    target = np.array([z, -z]).reshape(2, *[1] * n11.ndim)
    found = elementwise.find_root(beyond, (-_FURTHEST, _FURTHEST), args=(target, n11, n10, n01))
    low, high = np.exp(found.x)
    return np.where(n11 + n10 == 0, 0.0, low), np.where(n11 + n01 == 0, np.inf, high)


def _ratio_statistic(
    n11: FloatArray, n10: FloatArray, n01: FloatArray, log_ratio: FloatArray
) -> FloatArray:
    """Return T at this log θ."""
    # Below 1, use the ratio b / a: then all terms of the variance are positive.
    swap = log_ratio < 0
    ratio = np.exp(np.abs(log_ratio))
    first, second = np.where(swap, n01, n10), np.where(swap, n10, n01)
    some = n11 + n10 + n01
    # n p̂01 is the larger root of a x² + b x + c = 0, in the form without cancellation.
    a = 1 + ratio
    b = (n11 + second) * ratio**2 - (n11 + first + 2 * second)
    c = second * (1 - ratio) * some
    root = np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        p01 = np.where(b > 0, -2 * c / (b + root), (root - b) / (2 * a))
        statistic = (n11 + first - ratio * (n11 + second)) / np.sqrt(a * p01 + some * (ratio - 1))
    # At θ = 1 without discordant pairs, and without any correct answer, T is 0 / 0.
    statistic = np.where(np.isnan(statistic), 0.0, statistic)
    return np.asarray(np.where(swap, -statistic, statistic), dtype=np.float64)


def partly_paired_ratio(
    n11: Pairs | None = None,
    n10: npt.ArrayLike | None = None,
    n01: npt.ArrayLike | None = None,
    n00: npt.ArrayLike | None = None,
    *,
    correct_a: npt.ArrayLike,
    n_a: npt.ArrayLike,
    correct_b: npt.ArrayLike,
    n_b: npt.ArrayLike,
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
    copies: npt.ArrayLike = 1.0,
) -> Estimate:
    """Compute the ratio of two accuracies that share only some items, with an interval.

    This is square-and-add on the log scale: the distances of Wilson's log limits from the log
    accuracies are added as lengths of correlated estimates. The correlation is that of
    `fairstats.inference.differences.partly_paired_interval`, which has the same parameters.

    Returns
    -------
    Estimate
        In [0, ∞]; these are the limits if a group has no answers or no correct one.

    References
    ----------
    Zou & Donner (2008), Statistics in Medicine 27:1693-1702, section 3.

    Examples
    --------
    >>> own = dict(correct_a=100, n_a=160, correct_b=80, n_b=160)
    >>> found = partly_paired_ratio(60, 40, 20, 40, **own)
    >>> [float(x.round(4)) for x in (found.estimate, found.ci_low, found.ci_high)]
    [1.25, 1.056, 1.4884]
    """
    cells = paired_counts(n11, n10, n01, n00)
    own = own_counts(cells, correct_a, n_a, correct_b, n_b, copies=copies)
    known = (own.correct_a > 0) & (own.correct_b > 0)
    correct_a, n_a, correct_b, n_b = (np.where(known, count, 1) for count in own[:4])
    low, high = square_and_add(
        *(correct_a, n_a, correct_b, n_b, own.correlation),
        alpha=check_alpha(alpha),
        design_effect=design_effect,
        scale=np.log,
        furthest=np.inf,
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = (own.correct_a / own.n_a) / (own.correct_b / own.n_b)
    return Estimate(
        estimate,
        np.where(known, np.exp(low), 0.0),
        np.where(known, np.exp(high), np.inf),
        1 - alpha,
        "log, partly paired",
        cells.n,
    )
