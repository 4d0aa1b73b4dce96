"""Effect sizes of a paired difference with intervals: Cohen's h and the odds ratio."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import Estimate
from fairstats.inference._checks import check_alpha, check_counts
from fairstats.inference.intervals import proportion_interval
from fairstats.inference.paired_counts import Pairs, discordant_counts, paired_counts
from fairstats.inference.square_and_add import (
    check_own_answers,
    corrected_phi,
    overlap,
    square_and_add,
)


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
    The correlation is φ of the pairs, corrected for continuity.

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
        are divided by it. See `fairstats.inference.sign_flip`.
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
    n11, n10, n01, n00 = paired_counts(n11, n10, n01, n00)
    n = n11 + n10 + n01 + n00
    correct_a, n_a, correct_b, n_b = check_counts(
        correct_a=n11 + n10 if correct_a is None else correct_a,
        n_a=n if n_a is None else n_a,
        correct_b=n11 + n01 if correct_b is None else correct_b,
        n_b=n if n_b is None else n_b,
    )
    check_own_answers(
        n, n11 + n10, n11 + n01, correct_a=correct_a, n_a=n_a, correct_b=correct_b, n_b=n_b
    )
    alpha = check_alpha(alpha)
    low, high = square_and_add(
        correct_a,
        n_a,
        correct_b,
        n_b,
        corrected_phi(n11, n10, n01, n00, copies) * overlap(n, n_a, n_b),
        alpha=alpha,
        design_effect=design_effect,
        scale=arcsine,
        furthest=np.pi,
    )
    with np.errstate(invalid="ignore"):
        estimate = arcsine(correct_a / n_a) - arcsine(correct_b / n_b)
    return Estimate(estimate, low, high, 1 - alpha, "arcsine, paired", n)


def arcsine(p: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return 2 arcsin √p, the scale on which Cohen's h is a difference."""
    return np.asarray(2 * np.arcsin(np.sqrt(p)))
