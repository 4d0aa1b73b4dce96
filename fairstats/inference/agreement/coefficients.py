"""Agreement between raters: shares of agreeing pairs, and four chance-corrected coefficients.

All functions take a table of items × raters and return an `Agreement`. The four coefficients define
chance agreement differently, so they differ if nearly all ratings are in one category. In that
case, `positive_agreement` shows how often raters agree on the other category.

All intervals are for further items rated by these raters, with independent items.
`fairstats.rating_agreement` knows who gave which rating, and also gives intervals for further
raters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.inference._checks import check_choice
from fairstats.inference.agreement.coefficient_intervals import Agreement, coefficients_of
from fairstats.inference.agreement.rating_counts import (
    Coefficient,
    Level,
    RatingCounts,
    rating_counts,
)

Ratings: TypeAlias = pd.DataFrame | npt.ArrayLike


def percent_agreement(
    ratings: Ratings,
    *,
    categories: Sequence[Hashable] | None = None,
    alpha: float = 0.05,
) -> Agreement:
    """Compute the mean, over items, of the share of an item's pairs of ratings that agree.

    With n_ik of the m_i ratings of item i in category k, and n items,

        P_o = 1/n Σ_i Σ_k n_ik (n_ik − 1) / (m_i (m_i − 1))

    Parameters
    ----------
    ratings : pandas.DataFrame or array_like, shape (items, raters)
        Labels; null if a rater has not rated an item. Items may have different raters and different
        numbers of raters. Items with fewer than two ratings are left out.
    categories : sequence, optional
        The possible categories of a rating, in order; by default those that occur, sorted.
    alpha : float
        1 − confidence level.

    Returns
    -------
    Agreement
        The interval is the percentile bootstrap over items, without a seed. It is for these raters,
        with independent items.

    Raises
    ------
    ValueError
        For a label that is not among `categories`, or ratings that are not a table.

    References
    ----------
    Fleiss (1971), Psychological Bulletin 76:378-382; Gwet (2014), Handbook of Inter-Rater
    Reliability, 4th ed., chapter 2, for unequal numbers of ratings. Checked against pairs counted
    individually in R (tests/r/agreement.R).

    Examples
    --------
    >>> ratings = [["yes", "yes", "no"], ["no", "no", None], ["no", "no", "no"]]
    >>> found = percent_agreement(ratings)
    >>> round(found.estimate, 4), found.n, found.n_ratings
    (0.7778, 3, 8)
    """
    table = rating_counts(ratings, categories, ordered=False)
    return _coefficient(table, "percent", alpha=alpha)


def positive_agreement(
    ratings: Ratings,
    *,
    positive: Hashable | list[Hashable] | set[Hashable],
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 0,
    alpha: float = 0.05,
) -> Agreement:
    """Compute positive specific agreement: if one rater reports a label, how often another does.

    With y_i of the m_i ratings of item i positive,

        P_pos = Σ_i y_i (y_i − 1) / Σ_i y_i (m_i − 1),

    and for two raters 2 P(both) / (P(one) + P(other)).

    Parameters
    ----------
    ratings, alpha
        As in `percent_agreement`.
    positive : hashable, or list or set of hashable
        The label of interest, or several labels that count as the same, e.g. minor and severe.
    n_resamples, rng
        As in `fleiss_kappa`.

    Returns
    -------
    Agreement
        The coefficient ``positive``, from 0 to 1, with an interval as in `fleiss_kappa`.

    Raises
    ------
    ValueError
        As `percent_agreement`, and without a label in `positive`.

    Notes
    -----
    Agreement on negative ratings is not counted, and there is no correction for chance. If raters
    report the label at random, each for a share π of items, P_pos = π. Pairs of ratings are
    counted, so items with more ratings have more weight.

    If no rating is positive, it is 0 / 0: the estimate is NaN, and `note` states the reason.
    Resamples without a positive rating are handled as in `fleiss_kappa`. If resamples do not vary
    (all or no pairs agree), the limits are Wilson's, over the items with a positive rating.

    References
    ----------
    Spitzer & Fleiss (1974), British Journal of Psychiatry 125:341-347; Fleiss (1975), Biometrics
    31:651-659; Cicchetti & Feinstein (1990), Journal of Clinical Epidemiology 43:551-558; for
    several raters Mackinnon (2000), Computers in Biology and Medicine 30:127-134. Checked against
    pairs counted individually; the interval against enumeration of all resamples.

    Examples
    --------
    >>> ratings = ["yes yes yes", "yes yes no", "yes no no", "no no no", "no no no"]
    >>> found = positive_agreement([row.split() for row in ratings], positive="yes")
    >>> round(found.estimate, 4), found.method
    (0.6667, 'bootstrap percentile, exact')
    """
    labels = positive if isinstance(positive, list | set) else [positive]
    if len(labels) == 0:
        raise ValueError("positive has no label")
    cells = pd.DataFrame(ratings).astype(object)
    said = cells.isin(list(labels)).where(cells.notna(), None)
    table = rating_counts(said, (False, True), ordered=False)
    table = replace(table, categories=("other", "positive"))
    return _coefficient(table, "positive", n_resamples=n_resamples, rng=rng, alpha=alpha)


def randolph_kappa(
    ratings: Ratings,
    *,
    categories: Sequence[Hashable] | None = None,
    alpha: float = 0.05,
) -> Agreement:
    """Compute Randolph's kappa: agreement beyond raters who choose all K categories equally often.

        κ = (P_o − 1/K) / (1 − 1/K)

    with P_o the `percent_agreement`.

    Parameters
    ----------
    ratings, categories, alpha
        As in `percent_agreement`. K is the number of `categories`, including those that were never
        chosen, so declare all. K is at least two.

    Returns
    -------
    Agreement
        As `percent_agreement`. From −1 / (K − 1) to 1; 1 if all ratings are equal.

    Raises
    ------
    ValueError
        As `percent_agreement`.

    References
    ----------
    Randolph (2005), Free-marginal multirater kappa, Joensuu Learning and Instruction Symposium;
    Brennan & Prediger (1981), Educational and Psychological Measurement 41:687-699.

    Examples
    --------
    >>> ratings = [["yes", "yes", "no"], ["no", "no", None], ["no", "no", "no"]]
    >>> round(randolph_kappa(ratings).estimate, 4)
    0.5556
    """
    table = rating_counts(ratings, categories, ordered=False)
    return _coefficient(table, "randolph", alpha=alpha)


def fleiss_kappa(
    ratings: Ratings,
    *,
    categories: Sequence[Hashable] | None = None,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 0,
    alpha: float = 0.05,
) -> Agreement:
    """Compute Fleiss' kappa: agreement beyond raters who draw from the observed shares.

        κ = (P_o − P_e) / (1 − P_e),  P_e = Σ_k π_k²,  π_k = 1/n Σ_i n_ik / m_i

    with P_o, n_ik and m_i as in `percent_agreement`.

    Parameters
    ----------
    ratings, categories, alpha
        As in `percent_agreement`.
    n_resamples : int
        Number of resamples of items, if the distribution cannot be computed.
    rng : numpy.random.Generator or int
        Generator or seed for the resamples. The default seed is fixed, so that the interval can be
        reproduced.

    Returns
    -------
    Agreement
        The interval is the percentile bootstrap over items, for these raters, with independent
        items. It needs no seed for two categories and equally many ratings of every item, up to
        some thousands of items with three ratings each.

    Raises
    ------
    ValueError
        As `percent_agreement`.

    Notes
    -----
    If all ratings are in one category, it is 0 / 0: the estimate is NaN, and `note` states the
    reason. Such resamples are left out; `note` gives their share from 1 in 1,000 on. If they are
    more than 5%, there is no interval. If resamples do not vary (all items unanimous, or one item),
    the limits are those of percent agreement, with estimated chance agreement held fixed.

    If one of two categories is rare, percent agreement is high however raters use it. With percent
    agreement of at least .80 and the coefficient below .40, `note` gives the agreement on the rarer
    category (`positive_agreement`). With equally many ratings of every item, that is κ + π (1 − κ),
    with π its share. So a low κ with high percent agreement is not a paradox of chance: the raters
    seldom report the same items.

    Items with one rating are excluded from π_k as well; irrCAC in R counts them there. With equally
    many ratings of every item, both equal Fleiss' original formula.

    References
    ----------
    Fleiss (1971), Psychological Bulletin 76:378-382; Gwet (2014), Handbook of Inter-Rater
    Reliability, 4th ed., chapters 2 and 5; Cicchetti & Feinstein (1990), Journal of Clinical
    Epidemiology 43:551-558, for what to report with a low κ. Checked in R (tests/r/agreement.R);
    the interval against enumeration of all resamples.

    Examples
    --------
    >>> ratings = ["yes yes yes", "yes yes no", "yes no no", "no no no", "no no no"]
    >>> found = fleiss_kappa([row.split() for row in ratings])
    >>> round(found.estimate, 4), found.method
    (0.4444, 'bootstrap percentile, exact')
    """
    table = rating_counts(ratings, categories, ordered=False)
    return _coefficient(table, "fleiss", n_resamples=n_resamples, rng=rng, alpha=alpha)


def gwet_ac1(
    ratings: Ratings,
    *,
    categories: Sequence[Hashable] | None = None,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 0,
    alpha: float = 0.05,
) -> Agreement:
    """Compute Gwet's AC1: agreement beyond raters who sometimes choose at random.

        AC1 = (P_o − P_e) / (1 − P_e),  P_e = 1 / (K − 1) Σ_k π_k (1 − π_k)

    with P_o and π_k as in `percent_agreement` and `fleiss_kappa`.

    Parameters
    ----------
    ratings, alpha
        As in `percent_agreement`.
    categories : sequence, optional
        The K categories, including those that were never chosen; at least two.
    n_resamples, rng
        As in `fleiss_kappa`.

    Returns
    -------
    Agreement
        As `fleiss_kappa`. It is 1 if all ratings are equal. It is close to 1 if nearly all are
        equal, whether or not raters agree on the rest.

    Raises
    ------
    ValueError
        As `percent_agreement`.

    References
    ----------
    Gwet (2008), British Journal of Mathematical and Statistical Psychology 61:29-48; Gwet (2014),
    Handbook of Inter-Rater Reliability, 4th ed., chapter 4. Checked in R against the value
    documented by irrCAC (tests/r/agreement.R).

    Examples
    --------
    >>> ratings = [["yes", "yes", "no"], ["no", "no", "no"], ["no", "no", "no"]]
    >>> round(gwet_ac1(ratings).estimate, 4)
    0.6604
    """
    table = rating_counts(ratings, categories, ordered=False)
    return _coefficient(table, "gwet_ac1", n_resamples=n_resamples, rng=rng, alpha=alpha)


def krippendorff_alpha(
    ratings: Ratings,
    level: Level = "nominal",
    *,
    categories: Sequence[Hashable] | None = None,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 0,
    alpha: float = 0.05,
) -> Agreement:
    """Compute Krippendorff's alpha, 1 − D_o / D_e: observed over chance disagreement.

    D_o is the mean squared distance δ² between two ratings of one item, with items weighted by
    their number of ratings. D_e is that between any two of the ratings. δ² is 0 or 1 for a nominal
    level. It is the squared difference for an interval level, and the squared difference of
    mid-ranks for an ordinal level.

    Parameters
    ----------
    ratings, alpha
        As in `percent_agreement`.
    level : {"nominal", "ordinal", "interval"}
        Level of measurement. Labels of an interval level must be numbers.
    categories : sequence, optional
        In order; required for an ordinal level if labels are text.
    n_resamples, rng
        As in `fleiss_kappa`.

    Returns
    -------
    Agreement
        As `fleiss_kappa`.

    Raises
    ------
    ValueError
        As `percent_agreement`. Also for an unknown level, an ordinal level of text without
        `categories`, or an interval level of text.

    Notes
    -----
    The estimate equals that of the library krippendorff. As with `fleiss_kappa`, it is NaN if all
    ratings are equal (the library refuses these), with the same rules for intervals and notes.

    References
    ----------
    Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, University of Pennsylvania;
    Hayes & Krippendorff (2007), Communication Methods and Measures 1:77-89.

    Examples
    --------
    >>> ratings = [["minor", "severe"], ["none", "none"], ["none", "minor"], ["none", "none"]]
    >>> severity = ["none", "minor", "severe"]
    >>> round(krippendorff_alpha(ratings, "ordinal", categories=severity).estimate, 4)
    0.5972
    """
    check_choice("level", level, get_args(Level))
    table = rating_counts(ratings, categories, ordered=level != "nominal")
    if level == "interval" and any(isinstance(label, str) for label in table.categories):
        raise ValueError("labels of an interval level must be numbers")
    return _coefficient(
        table, "krippendorff", level=level, n_resamples=n_resamples, rng=rng, alpha=alpha
    )


def _coefficient(
    table: RatingCounts,
    coefficient: Coefficient,
    *,
    level: Level = "nominal",
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 0,
    alpha: float = 0.05,
) -> Agreement:
    wanted = [(coefficient, level)]
    return next(coefficients_of(table, wanted, n_resamples=n_resamples, rng=rng, alpha=alpha))
