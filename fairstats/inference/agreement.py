"""Agreement between raters: coefficients, with intervals for further items and further raters.

`agreement` takes a table of items × raters. Its intervals are for further items rated by these
raters, with independent items. `fairstats.ratings.agreement.rating_agreement` knows who gave which
rating, and also gives intervals for further raters (`crossed_agreement`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from fairstats._lib.result_objects import FloatArray, Tabular
from fairstats.inference._checks import check_alpha, check_choice, check_resampling
from fairstats.inference.crossed_means import wilson_limits
from fairstats.inference.intervals import wilson
from fairstats.inference.item_bootstrap import bounded_mean_interval
from fairstats.inference.rating_counts import (
    ROUNDING,
    SOME,
    AgreementLaw,
    Coefficient,
    IntArray,
    LeaveOneOut,
    Level,
    RatingCounts,
    agreement_law,
    rating_counts,
)
from fairstats.inference.reliability import Intraclass, intraclass_correlation

#: The coefficients of counted ratings, in table order.
COEFFICIENTS: tuple[Coefficient, ...] = get_args(Coefficient)
AnyCoefficient: TypeAlias = Coefficient | Intraclass
#: Coefficients that estimate chance agreement from category frequencies.
BY_MARGINS = ("fleiss", "krippendorff")
#: The note of a margin-based coefficient gives the agreement on the rarer of two categories under
#: two conditions. Percent agreement is at least the first value, and the coefficient is below the
#: second.
PARADOX = (0.8, 0.4)
#: If a coefficient is undefined in a larger share of resamples, it has no interval.
MOST_UNDEFINED = 0.05
#: If fewer items have the rarer of two categories, resamples vary too little.
FEW = 40
Limits: TypeAlias = tuple[float, float, str]

# A smaller share of undefined resamples has no visible effect on the limits.
_NOTED = 0.001
_KINDS = ("items", "raters", "cells")
_AT_LEAST = "at least wilson's over items in the rarer category"


@dataclass(frozen=True, repr=False)
class Agreement(Tabular):
    """Result of `agreement`.

    Attributes
    ----------
    coefficient, level : str
        The coefficient, and the level of measurement, which defines how close two ratings are.
    estimate, ci_low, ci_high, ci_level : float
        NaN if undefined.
    method : str
        The method of the interval.
    n, n_ratings : int
        Items with two or more ratings (for ICC: with all), and their ratings. Other items carry no
        information on agreement.
    note : str
        Why there is no estimate, or what to consider with it; usually empty.
    """

    coefficient: AnyCoefficient
    level: Level
    estimate: float
    ci_low: float
    ci_high: float
    ci_level: float
    method: str
    n: int
    n_ratings: int
    note: str


def agreement(
    ratings: pd.DataFrame | npt.ArrayLike,
    coefficient: AnyCoefficient,
    *,
    level: Level = "nominal",
    categories: Sequence[Hashable] | None = None,
    positive: Hashable | list[Hashable] | set[Hashable] | None = None,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 0,
    alpha: float = 0.05,
) -> Agreement:
    """Compute a coefficient of agreement between raters.

    With n_ik of the m_i ratings of item i in category k, and n items,

        P_o = 1/n Σ_i Σ_k n_ik (n_ik − 1) / (m_i (m_i − 1)),  π_k = 1/n Σ_i n_ik / m_i

    ``percent`` is P_o. Three coefficients are (P_o − P_e) / (1 − P_e): ``randolph`` with P_e = 1/K
    for K categories, ``fleiss`` with Σ_k π_k², and ``gwet_ac1`` with Σ_k π_k (1 − π_k) / (K − 1).

    Parameters
    ----------
    ratings : pandas.DataFrame or array_like, shape (items, raters)
        Labels, or grades for ICC; null if a rater has not rated an item. Items may have different
        raters and different numbers of raters. Items with fewer than two ratings are left out.
    coefficient : str
        Also ``positive``, if one rater gives the label `positive`, how often another does:
        Σ_i y_i (y_i − 1) / Σ_i y_i (m_i − 1), with y_i such ratings of item i. ``krippendorff`` is
        α = 1 − D_o / D_e: the mean squared distance of two ratings of one item, relative to that of
        any two ratings. ``ICC(A,1)``, ``ICC(A,k)``, ``ICC(C,1)`` and ``ICC(C,k)`` are intraclass
        correlations (`fairstats.inference.reliability.intraclass_correlation`).
    level : {"nominal", "ordinal", "interval"}
        For Krippendorff's α. The distance is 0 or 1, that of mid-ranks, or that of numbers.
    categories : sequence, optional
        The possible labels, in order, including those that were never chosen; by default those that
        occur, sorted. K is at least two. Required for an ordinal level of text.
    positive : hashable, or list or set of hashable, optional
        The label of interest, or several labels that count as the same, e.g. minor and severe.
    n_resamples, rng
        Number of resamples of items, and generator or seed, if the distribution cannot be computed.
        The default seed is fixed, so that the interval can be reproduced.
    alpha : float
        1 − confidence level.

    Returns
    -------
    Agreement
        The interval is the bootstrap over items, for these raters: BCa for ``percent`` and
        ``randolph``, percentile for the others. If fewer than 40 items have the rarer of two
        categories, the limits of κ and α are at least Wilson's for the agreement on that category,
        over these items. The upper limit is at least what k = ⌈ln(2 / alpha)⌉ more items would give
        that all raters put in a category but the most frequent one. With three or more categories,
        the lower limit is at most what k more items would give in which one rater differs, such as
        from the lowest to the highest. It needs no seed for ``percent`` and ``randolph``, and for
        two categories and equally many ratings of every item, up to some thousands of items with
        three ratings each.

    Raises
    ------
    ValueError
        For an unknown coefficient or level, a label that is not among `categories`, ordered text
        without `categories`, an interval level of text, or ratings that are not a table. For
        `positive` without its coefficient, or the reverse.

    Notes
    -----
    The coefficients define chance agreement differently, so they differ if nearly all ratings are
    in one category. Percent agreement is then high, and so is AC1, whether or not raters agree on
    the rest. With percent agreement of at least .80 and κ or α below .40, `note` gives the
    agreement on the rarer of two categories (``positive``). With equally many ratings of every
    item, that is κ + π (1 − κ), with π its share. So a low κ with high percent agreement is not a
    paradox of chance: the raters seldom report the same items.

    If all ratings are in one category, κ and α are 0 / 0, and so is ``positive`` without such a
    rating: the estimate is NaN, and `note` states the reason. Such resamples are left out; `note`
    gives their share from 1 in 1,000 on. If they are more than 5%, there is no interval. If
    resamples do not vary (all items unanimous, or one item), the limits are those of percent
    agreement, with estimated chance agreement held fixed; for ``positive``, Wilson's over the items
    with such a rating.

    In simulations with 30 to 150 items, 2 or 3 raters and 5 to 50% positive ratings, 95% limits of
    α covered at least 92% (benchmarks/small_samples.py). If all raters report 1 or 3% of 60 or
    150 items and 2% of the other ratings are reports, those of α and positive agreement covered at
    least 96%, and 80 to 88% without room for such items that are not in the sample. With three
    grades, those of α and κ covered at least 94%, and 56 to 88% without it. If one of 2 or 3 raters
    gives the opposite of three or five grades in 1 or 2% of the items, they covered 92% or more,
    and 74 to 89% without room (single simulations). In single simulations of 2 to 5 raters, those
    of percent agreement did so too. Those of AC1 covered 89 to 94% if few items have different
    ratings: 30 items with 89% agreement of two raters, or 150 with 99% of five. They are for items
    that resemble the given ones, rated by the same raters.

    Items with one rating are excluded from π_k as well; irrCAC in R counts them there. α is that of
    the library krippendorff, and the intraclass correlation that of pingouin. The others equal
    statsmodels' ``fleiss_kappa`` where it is defined: for equally many ratings of every item.

    References
    ----------
    Fleiss (1971), Psychological Bulletin 76:378-382; Randolph (2005), Joensuu Learning and
    Instruction Symposium; Gwet (2014), Handbook of Inter-Rater Reliability, 4th ed., chapters 2, 4
    and 5; Krippendorff (2011), Computing Krippendorff's Alpha-Reliability; Spitzer & Fleiss (1974),
    British Journal of Psychiatry 125:341-347, and Mackinnon (2000), Computers in Biology and
    Medicine 30:127-134, for positive agreement; Cicchetti & Feinstein (1990), Journal of Clinical
    Epidemiology 43:551-558, for what to report with a low κ. Checked in R (tests/r/agreement.R);
    the interval against enumeration of all resamples.

    Examples
    --------
    >>> ratings = ["yes yes yes", "yes yes no", "yes no no", "no no no", "no no no"]
    >>> table = [row.split() for row in ratings]
    >>> found = agreement(table, "fleiss")
    >>> [round(x, 4) for x in (found.estimate, found.ci_low, found.ci_high)]
    [0.4444, -0.3206, 1.0]
    >>> round(agreement(table, "positive", positive="yes").estimate, 4)
    0.6667
    """
    alpha = check_alpha(alpha)
    check_resampling(n_resamples, rng)
    check_choice("coefficient", coefficient, (*COEFFICIENTS, *get_args(Intraclass)))
    check_choice("level", level, get_args(Level))
    if level != "nominal" and coefficient != "krippendorff":
        raise ValueError(f"level={level!r} is only for coefficient='krippendorff'")
    if (positive is None) == (coefficient == "positive"):
        raise ValueError("positive= and coefficient='positive' belong together: give both")
    if coefficient in get_args(Intraclass):
        of = intraclass_correlation(ratings, cast("Intraclass", coefficient), alpha=alpha)
        method = f"none ({of.note})" if of.note else f"F, effective items, {coefficient}"
        limits = of.estimate, of.ci_low, of.ci_high, 1 - alpha
        n_ratings = of.n_items * of.n_raters
        return Agreement(coefficient, "interval", *limits, method, of.n_items, n_ratings, of.note)
    if positive is None:
        table = rating_counts(ratings, categories, ordered=level != "nominal")
        if level == "interval" and any(isinstance(label, str) for label in table.categories):
            raise ValueError("labels of an interval level must be numbers")
    else:
        labels = positive if isinstance(positive, list | set) else [positive]
        if len(labels) == 0:
            raise ValueError("positive has no label")
        cells = pd.DataFrame(ratings).astype(object)
        said = cells.isin(list(labels)).where(cells.notna(), None)
        table = rating_counts(said, (False, True), ordered=False)
        table = replace(table, categories=("other", "positive"))
    wanted = [(cast("Coefficient", coefficient), level)]
    return next(coefficients_of(table, wanted, alpha=alpha, n_resamples=n_resamples, rng=rng))


def coefficients_of(
    table: RatingCounts,
    wanted: Iterable[tuple[Coefficient, Level]],
    *,
    alpha: float,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 0,
) -> Iterator[Agreement]:
    """Compute several coefficients of the same ratings, from the same resamples."""
    law: AgreementLaw | None = None
    for coefficient, level in wanted:
        estimate, note = _estimate(table, coefficient, level)
        low, high, method = float("nan"), float("nan"), f"none ({note})"
        if coefficient in ("percent", "randolph"):
            low, high, method = _of_percent(table, coefficient, alpha)
        elif not np.isnan(estimate):
            law = law or agreement_law(table, n_resamples=n_resamples, rng=rng)
            (low, high, method), undefined = _of_law(law, coefficient, level, estimate, alpha)
            note = "; ".join(filter(None, (note, undefined)))
        limits = estimate, low, high, 1 - alpha
        yield Agreement(coefficient, level, *limits, method, table.n_items, table.n_ratings, note)


def _estimate(table: RatingCounts, coefficient: Coefficient, level: Level) -> tuple[float, str]:
    """Return the coefficient, and a note on its interpretation."""
    if table.n_items == 0:
        return float("nan"), "no item has two ratings"
    counts = table.many @ table.kinds
    if coefficient in BY_MARGINS and table.used == 1:
        only = table.categories[int(np.argmax(counts))]
        return float("nan"), f"0 / 0: all ratings are {only!r}"
    if coefficient == "positive" and counts[-1] == 0:
        return float("nan"), f"0 / 0: no ratings are {table.categories[-1]!r}"
    if coefficient == "krippendorff":
        import krippendorff

        domain = table.categories if level == "interval" else range(len(table.categories))
        estimate = float(
            krippendorff.alpha(
                value_counts=np.repeat(table.kinds, table.many, axis=0),
                value_domain=np.asarray(domain, dtype=np.float64),
                level_of_measurement=level,
            )
        )
    else:
        estimate = table.coefficient(coefficient)
    if coefficient not in BY_MARGINS or estimate >= PARADOX[1]:
        return estimate, ""
    percent = table.coefficient("percent")
    rarer = table.rarer_last()
    if rarer is None or percent < PARADOX[0] - ROUNDING:
        return estimate, ""
    return estimate, (
        f"{percent:.1%} of pairs agree, but if one rater says {rarer.categories[-1]!r}, "
        f"another does so in only {rarer.coefficient('positive'):.1%}"
    )


def _of_percent(table: RatingCounts, coefficient: Coefficient, alpha: float) -> Limits:
    """Return the limits of percent agreement, on the original scale or Randolph's."""
    found = bounded_mean_interval(table.agreeing, table.many, alpha=alpha)
    chance = 1 / max(len(table.categories), 2) if coefficient == "randolph" else 0.0
    low, high = ((float(x) - chance) / (1 - chance) for x in (found.ci_low, found.ci_high))
    return low, high, str(found.method)


def _of_law(
    law: AgreementLaw, coefficient: Coefficient, level: Level, estimate: float, alpha: float
) -> tuple[Limits, str]:
    """Return the limits with their method, and a note on uninformative resamples."""
    table = law.table
    resampled, undefined = law.of(coefficient, level)
    note = ""
    if undefined > _NOTED:
        without = "no such ratings" if coefficient == "positive" else "ratings in only one category"
        note = f"{undefined:.2g} of the resamples have {without}"
    if undefined > MOST_UNDEFINED:
        return (float("nan"), float("nan"), "none (undefined in too many resamples)"), note
    if resampled is None or (coefficient == "positive" and table.positive_is_constant):
        low, high, method = unvaried_limits(
            table, coefficient, estimate, n_items=table.n_items, alpha=alpha
        )
        alike = low, high, f"{method} (the resamples do not vary)"
        return _roomy(alike, table, coefficient, level, alpha), note
    low, high = resampled.quantiles([alpha / 2, 1 - alpha / 2]).tolist()
    method = f"bootstrap percentile, {law.source}"
    if coefficient == "positive":
        low, high = (min(max(limit, 0.0), 1.0) for limit in (low, high))
    if (
        coefficient in BY_MARGINS
        and (rarer := table.rarer_last())
        and rarer.many[rarer.kinds[:, -1] > 0].sum() < FEW
    ):
        by_rarer = _of_the_rarer(rarer, n_items=table.n_items, alpha=alpha)
        if by_rarer[0] < low or by_rarer[1] > high:
            method = f"{method}, {_AT_LEAST}"
        low, high = min(low, by_rarer[0]), max(high, by_rarer[1])
    return _roomy((low, high, method), table, coefficient, level, alpha), note


def unvaried_limits(
    table: RatingCounts,
    coefficient: Coefficient,
    estimate: float,
    *,
    n_items: int,
    alpha: float,
) -> Limits:
    """Return limits, and their method, of a coefficient that is constant over resamples."""
    if coefficient == "positive":
        n = min(n_items, int(table.many[table.kinds[:, -1] > 0].sum()))
        found = bounded_mean_interval(np.full(n, min(max(estimate, 0.0), 1.0)), alpha=alpha)
        return float(found.ci_low), float(found.ci_high), "wilson over items in the category"
    # As many items could differ as percent agreement has not seen; chance agreement is held fixed.
    share = table.coefficient("percent")
    percent = bounded_mean_interval(np.full(n_items, min(max(share, 0.0), 1.0)), alpha=alpha)
    expected = float(table.disagreement(table.many, coefficient, "nominal")[1])
    low, high = (
        float(np.clip(estimate + (float(limit) - share) / expected, -1.0, 1.0))
        for limit in (percent.ci_low, percent.ci_high)
    )
    return low, high, "percent agreement's, chance held"


def crossed_agreement(left: LeaveOneOut, found: Agreement, *, alpha: float) -> Limits:
    """Return limits of a coefficient for further items and raters, and their method.

    Parameters
    ----------
    left : LeaveOneOut
        The sums without each item, rater and cell.
    found : Agreement
        The coefficient of all ratings.
    alpha : float
        1 − confidence level.

    Returns
    -------
    float, float, str
        NaN if the coefficient is undefined without some item or rater. Also NaN with two raters, or
        one rater in every pair: no pair then shows how the others differ from each other.

    Notes
    -----
    Let θ be the coefficient, θ_(g) the coefficient without cluster g, and G the number of clusters.
    One part of the variance is S = (G − 1) / G Σ_g (θ_(g) − θ)². It is computed for items, for
    raters and for cells, and

        V = max(S_items + S_raters − S_cells, S_items, S_raters, S_cells)

    For percent agreement, the first term sums products of contributions over all two pairs of
    ratings that share an item or a rater. Two pairs of different items with both raters in common
    count twice. The limits are Wilson's for a share with this variance, on the scale from the
    coefficient's minimum to 1. They use Student's t with Satterthwaite's degrees of freedom, as in
    `crossed_interval`. With two categories, κ hardly moves if agreement on the rarer one
    is the same (usually 0) in every item that has it. Its limits then reach at least as far as the
    corresponding Wilson limits for that agreement. The upper limit of κ, α and positive agreement
    has room for rare items that all raters would report, see `_roomy`.

    References
    ----------
    MacKinnon, Nielsen & Webb (2024), Jackknife inference with two-way clustering, arXiv:2406.08880;
    Aronow, Samii & Assenova (2015), Political Analysis 23:564-577, for pairs that share a member.
    """
    if np.isnan(found.estimate):
        return found.ci_low, found.ci_high, found.method
    coefficient = cast("Coefficient", found.coefficient)
    if not np.all(left.raters[:, 0] > SOME):
        named = {1: "one rater", 2: "two raters"}
        who = named.get(len(left.raters), "one rater is in every pair")
        reason = f"none ({who}: the variance between raters is unknown)"
        return float("nan"), float("nan"), reason
    clusters, unknown = {"raters": left.raters}, ""
    if len(left.items) > 1:
        clusters = dict(zip(_KINDS, (left.items, left.raters, left.cells), strict=True))
    else:
        unknown = " (one item: the variance between items is unknown)"
    parts = jackknife_parts(left, clusters, coefficient, found.level, found.estimate)
    for kind, (part, _) in parts.items():
        if np.isnan(part):
            return float("nan"), float("nan"), f"none (undefined without one of the {kind})"
    variance = seen = _two_way(parts)
    if coefficient == "gwet_ac1":
        # Its chance term alone can vary, which does not show how agreement would.
        percent = left.table.coefficient("percent")
        agreed = jackknife_parts(left, clusters, "percent", "nominal", percent)
        seen = min(variance, _two_way(agreed))
    least = 0.0 if found.coefficient in ("percent", "positive") else -1.0
    share = (found.estimate - least) / (1 - least)
    if seen <= ROUNDING**2 or not 0 < share < 1:
        low, high, method = unvaried_limits(
            left.table, coefficient, found.estimate, n_items=len(left.items), alpha=alpha
        )
        alike = low, high, f"{method} (leaving one out changes nothing){unknown}"
        return _roomy(alike, left.table, coefficient, found.level, alpha)
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts.values())
    fewest = min(degrees for _, degrees in parts.values())
    quantile = float(scipy.stats.t.isf(alpha / 2, max(min(freedom, left.n_ratings - 1.0), fewest)))
    of_share = wilson_limits(share, variance / (1 - least) ** 2, quantile)
    low, high = (least + (1 - least) * limit for limit in of_share)
    name = "two-way" if len(parts) == len(_KINDS) else " and ".join(parts)
    if (
        found.coefficient in BY_MARGINS
        and (rarer := left.table.rarer_last())
        and rarer.positive_is_constant
    ):
        by_rarer = _of_the_rarer(rarer, n_items=len(left.items), alpha=alpha)
        low, high = min(low, by_rarer[0]), max(high, by_rarer[1])
        unknown = f", {_AT_LEAST}{unknown}"
    limits = low, high, f"{name} jackknife, wilson t{unknown}"
    return _roomy(limits, left.table, coefficient, found.level, alpha)


def _roomy(
    limits: Limits, table: RatingCounts, coefficient: Coefficient, level: Level, alpha: float
) -> Limits:
    """Return limits with room for items that are not in the sample.

    The upper limit is at least the coefficient with k = ⌈ln(2 / alpha)⌉ items more that all raters
    would put in one category in use (for an interval level, any) but the most frequent one. With
    three or more categories, the lower limit is at most that with k items more in which one rater
    differs from the others. So many may be missing by chance: none of n items is among those of a
    share k / n with probability exp(−k).
    """
    low, high, method = limits
    if coefficient not in ("positive", *BY_MARGINS):
        return limits
    counts = table.many @ table.kinds
    order = np.argsort(-counts, kind="stable")
    used = order[: table.used]
    rare = [-1] if coefficient == "positive" else (order if level == "interval" else used)[1:]
    raters, one = table.sizes.max(), np.eye(len(counts), dtype=table.kinds.dtype)
    unseen = _with_more(table, raters * one[rare], coefficient, level, alpha)
    upper, lower = max(high, unseen.max(initial=-1.0)), low
    if coefficient != "positive" and len(used) > 2:
        ends = used[0], used.min(), used.max()
        apart = [(raters - 1) * one[a] + one[b] for a in ends for b in ends if a != b]
        lower = min(low, _with_more(table, np.array(apart), coefficient, level, alpha).min())
    if (lower, upper) == (low, high):
        return limits
    return lower, upper, f"{method} with room for rare items"


def _with_more(
    table: RatingCounts, kinds: IntArray, coefficient: Coefficient, level: Level, alpha: float
) -> FloatArray:
    """Return the coefficient with ⌈ln(2 / alpha)⌉ items more, of each of these kinds."""
    many = np.append(table.many, np.zeros(len(kinds), dtype=table.many.dtype))
    more = np.eye(len(kinds), len(many), len(table.many)) * np.ceil(np.log(2 / alpha))
    every = RatingCounts(table.categories, np.vstack([table.kinds, kinds]), many)
    observed, expected = every.disagreement(many + more, coefficient, level)
    return np.asarray(1 - observed / expected)


def _of_the_rarer(table: RatingCounts, *, n_items: int, alpha: float) -> tuple[float, float]:
    """Return limits of κ from Wilson's for agreement on the last category, over its items.

    If few items have a rare category, or no two raters agree on it, κ hardly moves over resamples,
    or whichever rater is left out. It is (P_pos − π) / (1 − π), with π the category's share.
    """
    share = float((table.many @ table.kinds)[-1]) / table.n_ratings
    if table.positive_is_constant:
        agreed = table.coefficient("positive")
        low, high, _ = unvaried_limits(table, "positive", agreed, n_items=n_items, alpha=alpha)
    else:
        last, others = table.kinds[:, -1], table.sizes - 1
        together, all_of_them = (int(table.many @ (last * of)) for of in (last - 1, others))
        per_item = all_of_them / int(table.many[last > 0].sum())
        found = wilson(together, all_of_them, alpha=alpha, design_effect=per_item)
        low, high = float(found.ci_low), float(found.ci_high)
    return (low - share) / (1 - share), (high - share) / (1 - share)


def _two_way(parts: Mapping[str, tuple[float, int]]) -> float:
    """Return the variance of the parts of items, raters and cells, see `crossed_agreement`."""
    variance = max((part for part, _ in parts.values()), default=0.0)
    if len(parts) < len(_KINDS):
        return variance
    of_items, of_raters, of_cells = (parts[kind][0] for kind in _KINDS)
    return max(variance, of_items + of_raters - of_cells)


def jackknife_parts(
    left: LeaveOneOut,
    clusters: Mapping[str, FloatArray],
    coefficient: Coefficient,
    level: Level,
    estimate: float,
) -> dict[str, tuple[float, int]]:
    """Return the jackknife variance for each kind of cluster, and its degrees of freedom."""
    parts = {}
    for kind, sums in clusters.items():
        values = left.without(sums, coefficient, level)
        spread = float(((values - estimate) ** 2).sum())
        parts[kind] = spread * (len(values) - 1) / len(values), len(values) - 1
    return parts
