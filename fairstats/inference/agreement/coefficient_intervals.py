"""Agreement coefficients of counted ratings, with intervals and notes on their interpretation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np

from fairstats._lib.result_objects import Tabular
from fairstats.inference._checks import check_alpha, check_resampling
from fairstats.inference.agreement.bootstrap_laws import AgreementLaw, agreement_law
from fairstats.inference.agreement.rating_counts import Coefficient, Level, RatingCounts
from fairstats.inference.item_bootstrap import bounded_mean_interval

#: The coefficients, in table order.
COEFFICIENTS: tuple[Coefficient, ...] = get_args(Coefficient)
#: The note of a margin-based coefficient gives the agreement on the rarer of two categories under
#: two conditions. Percent agreement is at least the first value, and the coefficient is below the
#: second.
PARADOX = (0.8, 0.4)
#: If a coefficient is undefined in a larger share of resamples, it has no interval.
MOST_UNDEFINED = 0.05
#: Coefficients that estimate chance agreement from category frequencies.
BY_MARGINS = ("fleiss", "krippendorff")

_ROUNDING = 1e-12
# A smaller share of undefined resamples has no visible effect on the limits.
_NOTED = 0.001


@dataclass(frozen=True, repr=False)
class Agreement(Tabular):
    """An agreement coefficient with its interval.

    Attributes
    ----------
    coefficient : str
        One of `COEFFICIENTS`.
    level : str
        The level of measurement: nominal, ordinal or interval. It defines how close two ratings
        are.
    estimate, ci_low, ci_high : float
        NaN if undefined. The limits are for further items rated by these raters, with independent
        items.
    ci_level : float
        The confidence level.
    method : str
        The method used.
    n : int
        Items with two or more ratings; other items carry no information on agreement.
    n_ratings : int
        Their ratings.
    note : str
        Why there is no estimate, or what to consider with it; usually empty.
    """

    coefficient: Coefficient
    level: Level
    estimate: float
    ci_low: float
    ci_high: float
    ci_level: float
    method: str
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
    """Compute several coefficients of the same ratings, from the same resamples."""
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
            method=method,
            n=table.n_items,
            n_ratings=table.n_ratings,
            note=note,
        )


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
    observed, expected = (float(x) for x in table.disagreement(table.many, coefficient, level))
    estimate = 1 - observed / expected
    if coefficient == "krippendorff":
        estimate = _of_library(table, level)
    if coefficient not in BY_MARGINS or estimate >= PARADOX[1]:
        return estimate, ""
    return estimate, _on_the_rarer(table)


def _on_the_rarer(table: RatingCounts) -> str:
    """Return a note on how rarely raters agree on the rarer of two categories.

    With equally many ratings of every item, that agreement is κ + π (1 − κ), with π the category's
    share. So a low κ together with high percent agreement reflects it.
    """
    percent = 1 - float(table.disagreement(table.many, "percent", "nominal")[0])
    if len(table.categories) != 2 or percent < PARADOX[0] - _ROUNDING:
        return ""
    table = table.rarer_last()
    observed, expected = table.disagreement(table.many, "positive", "nominal")
    share = 1 - float(observed) / float(expected)
    return (
        f"{percent:.1%} of pairs agree, but if one rater says {table.categories[-1]!r}, "
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
    """Return the limits of percent agreement, on the original scale or Randolph's."""
    found = bounded_mean_interval(table.agreeing, table.many, method="percentile", alpha=alpha)
    chance = 1 / max(len(table.categories), 2) if coefficient == "randolph" else 0.0
    low, high = ((float(x) - chance) / (1 - chance) for x in (found.ci_low, found.ci_high))
    return low, high, str(found.method)


def _of_law(
    table: RatingCounts,
    law: AgreementLaw,
    coefficient: Coefficient,
    level: Level,
    estimate: float,
    alpha: float,
) -> tuple[float, float, str, str]:
    """Return the limits, their method, and a note on uninformative resamples."""
    resampled, undefined = law.of(coefficient, level)
    note = ""
    if undefined > _NOTED:
        without = "no such ratings" if coefficient == "positive" else "ratings in only one category"
        note = f"{undefined:.2g} of the resamples have {without}"
    if undefined > MOST_UNDEFINED:
        return float("nan"), float("nan"), "none (undefined in too many resamples)", note
    if resampled is not None and not (coefficient == "positive" and table.positive_is_constant):
        low, high = resampled.quantiles([alpha / 2, 1 - alpha / 2]).tolist()
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
    """Return limits, and their method, of a coefficient that is constant over resamples."""
    if coefficient == "positive":
        n = min(n_items, int(table.many[table.kinds[:, -1] > 0].sum()))
        found = bounded_mean_interval(np.full(n, min(max(estimate, 0.0), 1.0)), alpha=alpha)
        return float(found.ci_low), float(found.ci_high), "wilson over items in the category"
    # As many items could differ as percent agreement has not seen; chance agreement is held fixed.
    share = 1 - float(table.disagreement(table.many, "percent", "nominal")[0])
    percent = bounded_mean_interval(np.full(n_items, min(max(share, 0.0), 1.0)), alpha=alpha)
    expected = float(table.disagreement(table.many, coefficient, "nominal")[1])
    low, high = (
        float(np.clip(estimate + (float(limit) - share) / expected, -1.0, 1.0))
        for limit in (percent.ci_low, percent.ci_high)
    )
    return low, high, "percent agreement's, chance held"
