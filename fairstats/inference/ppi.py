"""Prediction-powered inference: a judge rates all units, people a random subset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray, Tabular
from fairstats.inference._checks import check_alpha, check_numbers
from fairstats.inference.crossed_means import wilson_limits
from fairstats.inference.differences import mean_difference
from fairstats.inference.intervals import wilson
from fairstats.inference.unit_means import checked_limits, unit_mean

# Smaller differences are rounding error.
_ROUNDING = 1e-12


@dataclass(frozen=True, repr=False)
class PredictionPowered(Tabular):
    """Result of `ppi_mean`.

    Attributes
    ----------
    estimate, ci_low, ci_high, ci_level : float
        The mean of people's ratings over all units, and its limits.
    method : str
        The method of the interval.
    weight : float
        The weight of the judge, from 0 (not used) to 1.
    correlation : float
        The correlation of the judge's and people's ratings; NaN if either does not vary.
    bias : float
        The mean of judge − people over the units that both rated.
    judge, people : float
        The mean of the judge's ratings of all units, and of people's.
    n_effective : float
        Number of units that people alone would have to rate for the same precision.
    n_people, n : int
        Number of units that people rated, and of all units.
    """

    estimate: float
    ci_low: float
    ci_high: float
    ci_level: float
    method: str
    weight: float
    correlation: float
    bias: float
    judge: float
    people: float
    n_effective: float
    n_people: int
    n: int


def ppi_mean(
    people: npt.ArrayLike,
    judge: npt.ArrayLike,
    *,
    limits: tuple[float, float] | None = (0.0, 1.0),
    alpha: float = 0.05,
) -> PredictionPowered:
    """Estimate the mean of people's ratings of all units, of which they rated a random subset.

    A judge, e.g. a language model, rated all N units, and people n of them. With Y people's and f
    the judge's ratings, and f' those of the N − n other units,

        estimate = mean(Y) + λ (mean(f') − mean(f))

    whatever the judge's errors are: its bias is measured on the n units and removed. λ is chosen
    for the smallest variance, λ = cov(Y, f) / (var(f) (1 + n / (N − n))), between 0 and 1.

    Parameters
    ----------
    people : array_like of float, shape (N,)
        People's rating of each unit, e.g. 1 if bias is reported, or the share of raters who report
        it; NaN for the units that they did not rate.
    judge : array_like of float, shape (N,)
        The judge's rating of each unit.
    limits : (float, float), optional
        The lowest and highest possible rating; None if ratings have no bounds.
    alpha : float
        1 − confidence level.

    Returns
    -------
    PredictionPowered
        Its interval is for the mean over units like these, as rated by people like these. If
        people's or the judge's ratings do not vary on the n units, the judge is not used (λ = 0).
        If nobody rated a unit, the estimate is NaN and the limits are those of the scale.

    Raises
    ------
    ValueError
        For arrays of different shapes, a rating that is not a number or outside the limits, a
        missing rating of the judge, limits that are not two increasing numbers, or alpha outside
        (0, 1).

    Notes
    -----
    **The n units must be a random subset.** If people rated units that seemed difficult or biased,
    neither estimate nor interval is valid, however many they rated.

    The variance is V = var(Y − λ f) / n + λ² var(f') / (N − n). The usual limits, ± z √V, are too
    narrow for small n: a judge who agrees with people on all n units would be taken to agree on all
    others. So, with limits, half a unit is added for each complete disagreement (people lowest,
    judge highest, and the reverse) before variances are computed. The interval is Wilson's for the
    number of units p (1 − p) / V, with the quantile of Student's t for n − 2 degrees of freedom. If
    the judge is not used, it is that of people's ratings alone: Wilson's if all are at the limits,
    else `fairstats.inference.unit_means.unit_mean`. Without limits, it is ± t √V, and NaN if
    people's ratings are a linear function of the judge's on the n units.

    With two or three units of graded ratings, and a judge who is used, 95% limits cover in 70 to
    90%. In simulations with 10 to 150 units rated by people (``benchmarks/ppi_coverage.py``: good,
    biased, useless, reversed and constant judges), the lowest coverage was 91%, as for Wilson's
    interval of people's ratings alone. That of ± z √V was 16%. With few units the interval can be
    wider than people's alone. These ratings were 0 or 1. If 3% of graded ratings are near the top
    and all others near the bottom, limits cover in 58% with 10 units, 70% with 20 and 85% with 50,
    and if 10% are, in 78% with 10: units that were not drawn do not show.

    Without limits, the interval assumes roughly normal ratings. For lognormal ones, it covers 82%
    with 10 units, 86% with 50 and 90% with 150.

    The interval is for these raters. If raters differ and are few, others would judge differently,
    which this does not include (see `crossed_interval`).

    References
    ----------
    Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), Science 382:669-674; Angelopoulos, Duchi
    & Zrnic (2023), PPI++, arXiv:2311.01453, for λ; Wilson (1927), JASA 22:209-212. Estimate and λ
    are checked against ppi-python 0.2.3 (tests/ppi).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = (rng.random(1000) < 0.2).astype(float)
    >>> judge = np.where(rng.random(1000) < 0.1, 1 - truth, truth)  # wrong one time in ten
    >>> people = np.where(np.arange(1000) < 100, truth, np.nan)
    >>> found = ppi_mean(people, judge)
    >>> [round(float(x), 3) for x in (found.judge, found.people, found.estimate)]
    [0.261, 0.19, 0.212]
    """
    alpha = check_alpha(alpha)
    y_all = check_numbers("people", people, nan=True, booleans=True)
    f_all = check_numbers("judge", judge, booleans=True)
    if y_all.ndim != 1 or y_all.shape != f_all.shape:
        raise ValueError(
            f"people and judge must have one shape (N,); got {y_all.shape} and {f_all.shape}"
        )
    least, most = 0.0, 1.0
    if limits is not None:
        least, most = checked_limits(limits)
        for name, values in (("people", y_all), ("judge", f_all)):
            check_numbers(name, values, low=least, high=most, nan=name == "people")
    span = most - least
    y_all, f_all = (y_all - least) / span, (f_all - least) / span
    there = ~np.isnan(y_all)
    y, f, rest = y_all[there], f_all[there], f_all[~there]
    n, left = len(y), len(rest)

    varies = n > 1 and np.ptp(y) > _ROUNDING and np.ptp(f) > _ROUNDING
    covariance = float(np.mean((y - y.mean()) * (f - f.mean()))) if varies else 0.0
    weight = 0.0
    if varies and left:
        # The judge's variance is known better from all units.
        weight = float(np.clip(covariance / (f_all.var() * (1 + n / left)), 0, 1))
    estimate = float(y.mean()) if n else float("nan")
    effective = float(n)
    if weight > 0:
        estimate += weight * float(rest.mean() - f.mean())
        low, high, effective, method = _limits(y, f, rest, estimate, weight, limits, alpha)
        if limits is not None:
            estimate = min(max(estimate, 0.0), 1.0)
    else:
        low, high, method = _people_alone(y, limits, alpha)
    correlation = float(np.corrcoef(y, f)[0, 1]) if varies else float("nan")
    return PredictionPowered(
        estimate=least + span * estimate,
        ci_low=least + span * low,
        ci_high=least + span * high,
        ci_level=1 - alpha,
        method=method,
        weight=weight,
        correlation=correlation,
        bias=span * float((f - y).mean()) if n else float("nan"),
        judge=least + span * float(f_all.mean()) if len(f_all) else float("nan"),
        people=least + span * float(y.mean()) if n else float("nan"),
        n_effective=effective,
        n_people=n,
        n=n + left,
    )


def _limits(
    y: FloatArray,
    f: FloatArray,
    rest: FloatArray,
    estimate: float,
    weight: float,
    limits: tuple[float, float] | None,
    alpha: float,
) -> tuple[float, float, float, str]:
    """Return the limits, the effective number of units, and the method."""
    n = len(y)
    quantile = float(scipy.stats.t.isf(alpha / 2, max(n - 2, 1)))
    of_judge = weight**2 * float(rest.var(ddof=1) if len(rest) > 1 else f.var(ddof=1)) / len(rest)
    if limits is None:
        df = max(n - 2, 1)
        residual = y - weight * f
        variance = float(((residual - residual.mean()) ** 2).sum()) / df / n + of_judge
        if abs(np.corrcoef(y, f)[0, 1]) >= 1 - _ROUNDING:
            return float("nan"), float("nan"), float(n), "none (people follow from the judge)"
        half = quantile * np.sqrt(variance)
        effective = float(y.var(ddof=1)) / variance
        return estimate - half, estimate + half, effective, "ppi t"
    # Half a unit for each complete disagreement.
    y, f = np.append(y, [0.0, 1.0]), np.append(f, [1.0, 0.0])
    many = np.append(np.ones(n), [0.5, 0.5])
    mean = float(np.average(y, weights=many))
    residual = y - weight * f
    spread = np.average((residual - np.average(residual, weights=many)) ** 2, weights=many)
    variance = float(spread) / n + of_judge
    effective = float(np.average((y - mean) ** 2, weights=many)) / variance
    # Wilson's interval for this number of units of right and wrong ratings.
    size = mean * (1 - mean) / variance
    p = min(max(estimate, 0.0), 1.0)
    low, high = (
        wilson_limits(p, p * (1 - p) / size, quantile) if 0 < p < 1 else _at_end(p, size, quantile)
    )
    return low, high, effective, "ppi wilson t"


def _at_end(p: float, size: float, quantile: float) -> tuple[float, float]:
    """Return Wilson's limits for 0 or all of `size` units."""
    reach = quantile**2 / (size + quantile**2)
    return (0.0, reach) if p == 0 else (1 - reach, 1.0)


def _people_alone(
    y: FloatArray, limits: tuple[float, float] | None, alpha: float
) -> tuple[float, float, str]:
    """Return the limits without the judge."""
    if limits is None:
        found = mean_difference(y, alpha=alpha)
        return found.ci_low, found.ci_high, f"people alone, {found.method}"
    if not len(y):
        return 0.0, 1.0, "none (no ratings by people)"
    if np.isin(y, (0, 1)).all():
        share = wilson(int(y.sum()), len(y), alpha=alpha)
        return float(share.ci_low), float(share.ci_high), "people alone, wilson"
    once = np.ones(len(y), dtype=np.int64)
    mean = unit_mean(np.clip(y, 0, 1), once, limits=(0.0, 1.0), alpha=alpha)
    return float(mean.ci_low), float(mean.ci_high), f"people alone, {mean.method}"
