"""How far raters agree: shares of pairs that agree, and four coefficients that take off chance.

All take a table of items × raters and give an `Agreement`. The four differ in what they hold chance
to be, and so in what they say where nearly all ratings are in one category; there
`positive_agreement` says how often raters agree on the other one.

All intervals are for further items by these raters, items taken for independent. Those over
further raters too are in `fairstats.rating_agreement`, which knows who gave which rating.
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
    """The mean over items of the share of an item's pairs of ratings that agree.

    With n_ik of the m_i ratings of item i in category k, and n items,

        P_o = 1/n Σ_i Σ_k n_ik (n_ik − 1) / (m_i (m_i − 1))

    Parameters
    ----------
    ratings : pandas.DataFrame or array_like, shape (items, raters)
        Labels; null where a rater has not rated an item. Items may have different raters and
        numbers of them; those with fewer than two ratings are left out.
    categories : sequence, optional
        The categories that a rating could have, in order; by default those that occur, sorted.
    alpha : float
        1 − confidence level.

    Returns
    -------
    Agreement
        The interval is the percentile one of the bootstrap over items, without a seed: for these
        raters, items taken for independent.

    Raises
    ------
    ValueError
        For a label that is not among `categories`, or a table that is none.

    References
    ----------
    Fleiss (1971), Psychological Bulletin 76:378-382; Gwet (2014), Handbook of Inter-Rater
    Reliability, 4th ed., chapter 2, for unequal numbers of ratings. Checked against pairs counted
    one by one in R (tests/r/agreement.R).

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
    """Positive specific agreement: where one rater says so, how often another one does.

    With y_i of the m_i ratings of item i positive,

        P_pos = Σ_i y_i (y_i − 1) / Σ_i y_i (m_i − 1),

    of two raters 2 P(both) / (P(one) + P(other)).

    Parameters
    ----------
    ratings, alpha
        As for `percent_agreement`.
    positive : hashable, or list or set of hashable
        The label that is asked about, or several that are the same here, e.g. minor and severe.
    n_resamples, rng
        As for `fleiss_kappa`.

    Returns
    -------
    Agreement
        Of the coefficient ``positive``, from 0 to 1; the interval as that of `fleiss_kappa`.

    Raises
    ------
    ValueError
        As `percent_agreement`, and without a label in `positive`.

    Notes
    -----
    Agreement that there is nothing does not enter, and no chance is taken off: raters who say so
    at random, each in a share π of items, have P_pos = π. Pairs of ratings are counted, so that
    items with more ratings weigh more.

    Where no rating is positive it is 0 / 0: the estimate is NaN, and `note` says so. The rules for
    resamples without one are those of `fleiss_kappa`. Where resamples do not vary (all or no pairs
    agree) the limits are Wilson's, over the items with a positive rating.

    References
    ----------
    Spitzer & Fleiss (1974), British Journal of Psychiatry 125:341-347; Fleiss (1975), Biometrics
    31:651-659; Cicchetti & Feinstein (1990), Journal of Clinical Epidemiology 43:551-558; for
    several raters Mackinnon (2000), Computers in Biology and Medicine 30:127-134. Checked against
    pairs counted one by one; the interval against enumeration of all resamples.

    Examples
    --------
    >>> ratings = ["yes yes yes", "yes yes no", "yes no no", "no no no", "no no no"]
    >>> found = positive_agreement([row.split() for row in ratings], positive="yes")
    >>> round(found.estimate, 4), found.ci_method
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
    """Randolph's kappa: agreement beyond that of raters who choose all K categories alike.

        κ = (P_o − 1/K) / (1 − 1/K)

    with P_o the `percent_agreement`.

    Parameters
    ----------
    ratings, categories, alpha
        As for `percent_agreement`. K is the number of `categories`, also of those that nobody
        chose: declare them. It is at least two.

    Returns
    -------
    Agreement
        As `percent_agreement`. From −1 / (K − 1) to 1; 1 where all ratings are equal.

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
    """Fleiss' kappa: agreement beyond that of raters who draw from the observed shares.

        κ = (P_o − P_e) / (1 − P_e),  P_e = Σ_k π_k²,  π_k = 1/n Σ_i n_ik / m_i

    with P_o, n_ik and m_i those of `percent_agreement`.

    Parameters
    ----------
    ratings, categories, alpha
        As for `percent_agreement`.
    n_resamples : int
        How many resamples of items are drawn where their law cannot be computed.
    rng : numpy.random.Generator or int
        What they are drawn with. The seed is fixed, so that an interval can be recomputed.

    Returns
    -------
    Agreement
        The interval is the percentile one of the bootstrap over items, for these raters, items
        taken for independent: without a seed for two categories and as many ratings of every item,
        up to some thousands of items with three ratings each.

    Raises
    ------
    ValueError
        As `percent_agreement`.

    Notes
    -----
    Where all ratings are in one category it is 0 / 0: the estimate is NaN, and `note` says so.
    So it is in resamples; these are left out (from one in a thousand on `note` says how many),
    and with more than 5% of them there is no interval. Where resamples do not vary (all items
    unanimous, one item) the limits are those of percent agreement, chance held where it is
    estimated.

    Where of two categories one is rare, percent agreement is high whatever raters do with it. With
    percent agreement of at least .80 and the coefficient below .40 `note` says how often raters
    agree on the rarer one (`positive_agreement`): with as many ratings of every item that is
    κ + π (1 − κ), with π its share, so that a low κ beside high agreement is no paradox of chance
    but raters who seldom find the same.

    Items with one rating are left out of π_k too; irrCAC in R counts them there. With as many
    ratings of every item both are Fleiss' own formula.

    References
    ----------
    Fleiss (1971), Psychological Bulletin 76:378-382; Gwet (2014), Handbook of Inter-Rater
    Reliability, 4th ed., chapters 2 and 5; Cicchetti & Feinstein (1990), Journal of Clinical
    Epidemiology 43:551-558, for what to report beside a low κ. Checked in R (tests/r/agreement.R);
    the interval against enumeration of all resamples.

    Examples
    --------
    >>> ratings = ["yes yes yes", "yes yes no", "yes no no", "no no no", "no no no"]
    >>> found = fleiss_kappa([row.split() for row in ratings])
    >>> round(found.estimate, 4), found.ci_method
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
    """Gwet's AC1: agreement beyond that of raters who sometimes choose at random.

        AC1 = (P_o − P_e) / (1 − P_e),  P_e = 1 / (K − 1) Σ_k π_k (1 − π_k)

    with P_o and π_k those of `percent_agreement` and `fleiss_kappa`.

    Parameters
    ----------
    ratings, alpha
        As for `percent_agreement`.
    categories : sequence, optional
        The K categories, also those that nobody chose; at least two.
    n_resamples, rng
        As for `fleiss_kappa`.

    Returns
    -------
    Agreement
        As `fleiss_kappa`. 1 where all ratings are equal, and near it where nearly all are,
        whether raters agree on the others or not.

    Raises
    ------
    ValueError
        As `percent_agreement`.

    References
    ----------
    Gwet (2008), British Journal of Mathematical and Statistical Psychology 61:29-48; Gwet (2014),
    Handbook of Inter-Rater Reliability, 4th ed., chapter 4. Checked in R against the value that
    irrCAC documents (tests/r/agreement.R).

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
    """Krippendorff's alpha: 1 − D_o / D_e, disagreement beside that of shuffled ratings.

    D_o is the mean squared distance δ² of two ratings of one item (an item counts by its number of
    ratings), D_e that of any two of the ratings. δ² is 0 or 1 for a nominal level, the squared
    difference for an interval level, and that of mid-ranks for an ordinal one.

    Parameters
    ----------
    ratings, alpha
        As for `percent_agreement`.
    level : {"nominal", "ordinal", "interval"}
        Labels of an interval level are numbers.
    categories : sequence, optional
        In their order, which an ordinal level needs for labels that are text.
    n_resamples, rng
        As for `fleiss_kappa`.

    Returns
    -------
    Agreement
        As `fleiss_kappa`.

    Raises
    ------
    ValueError
        As `percent_agreement`, for an unknown level, and for an ordinal level of text without
        `categories` or an interval level of text.

    Notes
    -----
    The estimate is that of the library krippendorff. As for `fleiss_kappa`, it is NaN where all
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
        raise ValueError("labels of an interval level have to be numbers")
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
