"""Agreement coefficients of counted ratings, with their intervals and what to read them with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np

from fairstats._lib.result_objects import Tabular
from fairstats.inference._checks import check_alpha, check_resampling
from fairstats.inference.agreement.bootstrap_laws import AgreementLaw, agreement_law
from fairstats.inference.agreement.rating_counts import Coefficient, Level, RatingCounts
from fairstats.inference.bounded_mean import bounded_mean_interval

#: The coefficients, in the order in which tables have them.
COEFFICIENTS: tuple[Coefficient, ...] = get_args(Coefficient)
#: Where percent agreement reaches the first and a coefficient that takes chance from the margins
#: stays below the second, its note says how often raters agree on the rarer of two categories.
PARADOX = (0.8, 0.4)
#: A larger share of resamples for which a coefficient is undefined leaves it without an interval.
MOST_UNDEFINED = 0.05
#: The coefficients that take chance from how often each category was chosen.
BY_MARGINS = ("fleiss", "krippendorff")

_ROUNDING = 1e-12
# A smaller share of undefined resamples moves no limit by what one could see.
_NOTED = 0.001


@dataclass(frozen=True)
class Agreement(Tabular):
    """An agreement coefficient with its interval.

    Attributes
    ----------
    coefficient : str
        Which of `COEFFICIENTS`.
    level : str
        nominal, ordinal or interval: what counts as near.
    estimate, ci_low, ci_high : float
        NaN where there is no true answer. The limits are for further items by these raters, items
        taken for independent.
    ci_level : float
        The confidence level.
    ci_method : str
        The method that was used.
    n : int
        Items that have two or more ratings; others say nothing of agreement.
    n_ratings : int
        Their ratings.
    note : str
        Why there is no estimate, or what it has to be read with; empty mostly.
    """

    coefficient: Coefficient
    level: Level
    estimate: float
    ci_low: float
    ci_high: float
    ci_level: float
    ci_method: str
    n: int
    n_ratings: int
    note: str


def coefficients_of(
    table: RatingCounts,
    wanted: Iterable[tuple[Coefficient, Level]],
    *,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 0,
    alpha: float = 0.05,
) -> Iterator[Agreement]:
    """Several coefficients of the same ratings, from one law of its resamples."""
    alpha = check_alpha(alpha)
    check_resampling(n_resamples, rng)
    law: AgreementLaw | None = None
    for coefficient, level in wanted:
        estimate, note = _estimate(table, coefficient, level)
        low, high, method = float("nan"), float("nan"), f"none ({note})"
        if coefficient in ("percent", "randolph"):
            low, high, method = _of_percent(table, coefficient, alpha)
        elif not np.isnan(estimate):
            law = law or agreement_law(table, n_resamples=n_resamples, rng=rng)
            low, high, method, undefined = _of_law(table, law, coefficient, level, estimate, alpha)
            note = "; ".join(filter(None, (note, undefined)))
        yield Agreement(
            coefficient=coefficient,
            level=level,
            estimate=estimate,
            ci_low=low,
            ci_high=high,
            ci_level=1 - alpha,
            ci_method=method,
            n=table.n_items,
            n_ratings=table.n_ratings,
            note=note,
        )


def _estimate(table: RatingCounts, coefficient: Coefficient, level: Level) -> tuple[float, str]:
    """The coefficient, and what it has to be read with."""
    if table.n_items == 0:
        return float("nan"), "no item has two ratings"
    counts = table.many @ table.kinds
    if coefficient in BY_MARGINS and table.used == 1:
        only = table.categories[int(np.argmax(counts))]
        return float("nan"), f"0 / 0: all ratings are {only!r}"
    if coefficient == "positive" and counts[-1] == 0:
        return float("nan"), f"0 / 0: no rating is {table.categories[-1]!r}"
    observed, expected = (float(x) for x in table.disagreement(table.many, coefficient, level))
    estimate = 1 - observed / expected
    if coefficient == "krippendorff":
        estimate = _of_library(table, level)
    if coefficient not in BY_MARGINS or estimate >= PARADOX[1]:
        return estimate, ""
    return estimate, _on_the_rarer(table)


def _on_the_rarer(table: RatingCounts) -> str:
    """What high percent agreement hides: how seldom raters agree on the rarer of two categories.

    With as many ratings of every item that is κ + π (1 − κ), with π the category's share: there is
    no low κ beside a high one.
    """
    percent = 1 - float(table.disagreement(table.many, "percent", "nominal")[0])
    if len(table.categories) != 2 or percent < PARADOX[0] - _ROUNDING:
        return ""
    table = table.rarer_last()
    observed, expected = table.disagreement(table.many, "positive", "nominal")
    share = 1 - float(observed) / float(expected)
    return (
        f"{percent:.1%} of pairs agree, but where one rater says {table.categories[-1]!r} "
        f"another does so in only {share:.1%}"
    )


def _of_library(table: RatingCounts, level: Level) -> float:
    import krippendorff

    domain = table.categories if level == "interval" else range(len(table.categories))
    return float(
        krippendorff.alpha(
            value_counts=np.repeat(table.kinds, table.many, axis=0),
            value_domain=np.asarray(domain, dtype=np.float64),
            level_of_measurement=level,
        )
    )


def _of_percent(
    table: RatingCounts, coefficient: Coefficient, alpha: float
) -> tuple[float, float, str]:
    """The limits of percent agreement on the scale of Randolph's kappa, or its own."""
    found = bounded_mean_interval(table.agreeing, table.many, method="percentile", alpha=alpha)
    chance = 1 / max(len(table.categories), 2) if coefficient == "randolph" else 0.0
    low, high = ((float(x) - chance) / (1 - chance) for x in (found.ci_low, found.ci_high))
    return low, high, str(found.ci_method)


def _of_law(
    table: RatingCounts,
    law: AgreementLaw,
    coefficient: Coefficient,
    level: Level,
    estimate: float,
    alpha: float,
) -> tuple[float, float, str, str]:
    """The limits, their method, and a note on resamples that say nothing."""
    resampled, undefined = law.of(coefficient, level)
    note = ""
    if undefined > _NOTED:
        without = "no such rating" if coefficient == "positive" else "ratings in one category alone"
        note = f"{undefined:.2g} of the resamples have {without}"
    if undefined > MOST_UNDEFINED:
        return float("nan"), float("nan"), "none (undefined in too many resamples)", note
    if resampled is not None and not (coefficient == "positive" and table.positive_is_constant):
        low, high = resampled.lower_quantile(alpha / 2), resampled.upper_quantile(alpha / 2)
        if coefficient == "positive":
            low, high = (min(max(limit, 0.0), 1.0) for limit in (low, high))
        return low, high, f"bootstrap percentile, {law.source}", note
    low, high, method = unvaried_limits(
        table, coefficient, estimate, n_items=table.n_items, alpha=alpha
    )
    return low, high, f"{method} (the resamples do not vary)", note


def unvaried_limits(
    table: RatingCounts,
    coefficient: Coefficient,
    estimate: float,
    *,
    n_items: int,
    alpha: float,
) -> tuple[float, float, str]:
    """The limits of a coefficient that no resample moves, of so many items, and their method."""
    if coefficient == "positive":
        n = min(n_items, int(table.many[table.kinds[:, -1] > 0].sum()))
        found = bounded_mean_interval(np.full(n, min(max(estimate, 0.0), 1.0)), alpha=alpha)
        return float(found.ci_low), float(found.ci_high), "wilson over items in the category"
    # As many items could be otherwise as percent agreement has not seen; chance is held.
    share = 1 - float(table.disagreement(table.many, "percent", "nominal")[0])
    percent = bounded_mean_interval(np.full(n_items, min(max(share, 0.0), 1.0)), alpha=alpha)
    expected = float(table.disagreement(table.many, coefficient, "nominal")[1])
    low, high = (
        float(np.clip(estimate + (float(limit) - share) / expected, -1.0, 1.0))
        for limit in (percent.ci_low, percent.ci_high)
    )
    return low, high, "percent agreement's, chance held"
