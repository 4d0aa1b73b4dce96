"""Bootstrap of counts: exact, without a seed, if the distribution can be computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.inference._checks import (
    IntArray,
    check_alpha,
    check_choice,
    check_counts,
    check_resampling,
)
from fairstats.inference.effect_sizes import arcsine, cohens_h_interval, odds_ratio
from fairstats.inference.exact_sums import discrete_law, law_of_sum, plane_law
from fairstats.inference.intervals import tango, wilson
from fairstats.inference.paired_counts import Pairs, paired_counts

BootstrapMethod = Literal["bca", "percentile", "basic"]
#: A function that maps counts of shape (..., k) to an array of shape (...).
CountsFunction = Callable[[npt.NDArray[np.int64]], npt.ArrayLike]

StatisticName = Literal[
    "difference", "accuracy_a", "accuracy_b", "proportion", "cohens_h", "ratio", "odds_ratio"
]
_A, _B = (1, 1, 0, 0), (1, 0, 1, 0)
_ONLY_A, _ONLY_B = (0, 1, 0, 0), (0, 0, 1, 0)


class Law(Protocol):
    """The distribution of a statistic over resamples, from which intervals are computed."""

    def share_below(self, x: float) -> npt.ArrayLike: ...
    def quantiles(self, levels: npt.ArrayLike) -> npt.NDArray[Any]: ...


def interval_of_law(
    law: Law, estimate: float, acceleration: float, method: BootstrapMethod, alpha: float
) -> tuple[float, float, str]:
    """Return the limits that a method takes from a distribution, and the method used."""
    levels, used = limit_levels(law.share_below(estimate), acceleration, method, alpha)
    low, high = law.quantiles(levels).tolist()
    if method == "basic":
        low, high = 2 * estimate - high, 2 * estimate - low
    return low, high, str(used)


def limit_levels(
    share_below: npt.ArrayLike, acceleration: npt.ArrayLike, method: BootstrapMethod, alpha: float
) -> tuple[FloatArray, npt.NDArray[np.str_]]:
    """Return the levels of the two limits, on the last axis, and the method that gives them."""
    method, alpha = check_choice("method", method, get_args(BootstrapMethod)), check_alpha(alpha)
    plain = np.array([alpha / 2, 1 - alpha / 2])
    share = np.asarray(share_below, dtype=np.float64)[..., None]
    if method != "bca":
        return np.broadcast_to(plain, (*share.shape[:-1], 2)), np.full(share.shape[:-1], method)
    z0, acceleration = scipy.special.ndtri(share), np.asarray(acceleration)[..., None]
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = z0 + scipy.special.ndtri(plain)
        slope = 1 - acceleration * moved
        levels = scipy.special.ndtr(z0 + moved / slope)
        defined = (np.isfinite(moved) & (slope > 0)).all(axis=-1)
    return (
        np.where(defined[..., None], levels, plain),
        np.where(defined, "bca", "percentile (bca undefined)"),
    )


def mean_acceleration(values: IntArray, many: IntArray) -> FloatArray:
    """Return the acceleration of a mean: one sixth of the skewness of the mean.

    Leaving out a value moves the mean by the value's deviation / (n − 1). The factor is the same
    for all values.
    """
    n = np.maximum(many.sum(axis=-1, keepdims=True), 1)
    deviation = values - (many @ values)[..., None] / n
    spread = np.asarray((many * deviation**2).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((many * deviation**3).sum(axis=-1) / (6 * spread**1.5))


def acceleration_of(counts: IntArray, compute: CountsFunction) -> float:
    """Return the acceleration from leaving out one of the counted observations at a time.

    With l the mean leave-one-out value minus each such value, it is Σ l³ / (6 (Σ l²)^1.5).
    """
    there = (counts > 0) & (counts.sum() > 1)
    left_out: FloatArray = np.zeros(len(counts))
    if there.any():
        one_less = counts - np.eye(len(counts), dtype=np.int64)
        left_out[there] = np.asarray(compute(one_less[there]))
    # An infinite leave-one-out value (a ratio over 0) leaves the acceleration undefined.
    with np.errstate(invalid="ignore"):
        mean = counts @ left_out / max(int(counts[there].sum()), 1)
        deviation = np.where(there, mean - left_out, 0.0)
        spread = float(counts @ deviation**2)
    return float(counts @ deviation**3 / (6 * spread**1.5)) if spread > 0 else float("nan")


@dataclass(frozen=True)
class _Statistic:
    """A function of one or two sums over the pairs, and of n."""

    of_sums: Callable[..., FloatArray]
    sums: tuple[tuple[int, ...], ...]
    #: The range of possible values.
    span: tuple[float, float]

    def __call__(self, counts: npt.NDArray[np.int64]) -> FloatArray:
        return self.of_sums(*(counts @ np.array(values) for values in self.sums), counts.sum(-1))


def _share(total: FloatArray, n: FloatArray) -> FloatArray:
    return np.asarray(total / n)


def _h(a: FloatArray, b: FloatArray, n: FloatArray) -> FloatArray:
    return np.asarray(arcsine(a / n) - arcsine(b / n))


def _ratio(a: FloatArray, b: FloatArray, n: FloatArray) -> FloatArray:
    """Return a / b: infinite if only b is 0, and 1 if both are 0 (neither group is ahead)."""
    a, b = np.broadcast_arrays(np.asarray(a, dtype=np.float64), b)
    quotient = np.divide(a, b, out=np.full(a.shape, np.inf), where=b > 0)
    return np.where((a == 0) & (b == 0), 1.0, quotient)


_STATISTICS = {
    "difference": _Statistic(_share, ((0, 1, -1, 0),), (-1.0, 1.0)),
    "accuracy_a": _Statistic(_share, (_A,), (0.0, 1.0)),
    "accuracy_b": _Statistic(_share, (_B,), (0.0, 1.0)),
    "proportion": _Statistic(_share, ((1, 0),), (0.0, 1.0)),
    "cohens_h": _Statistic(_h, (_A, _B), (-np.pi, np.pi)),
    "ratio": _Statistic(_ratio, (_A, _B), (0.0, np.inf)),
    "odds_ratio": _Statistic(_ratio, (_ONLY_A, _ONLY_B), (0.0, np.inf)),
}


def bootstrap(
    n11: Pairs | None = None,
    n10: npt.ArrayLike | None = None,
    n01: npt.ArrayLike | None = None,
    n00: npt.ArrayLike | None = None,
    *,
    statistic: StatisticName | CountsFunction = "difference",
    method: BootstrapMethod = "bca",
    n_resamples: Literal["exact"] | int = "exact",
    alpha: float = 0.05,
    rng: np.random.Generator | int | None = None,
) -> Estimate:
    """Compute a statistic of paired counts with its exact bootstrap interval, without a seed.

    Parameters
    ----------
    n11, n10, n01, n00 : array_like of int
        Pairs with both correct, only a, only b, neither; broadcast against each other. Or one
        table, or a frame of pairs: see `paired_counts`.
    statistic : str or callable
        ``"difference"``, ``"accuracy_a"``, ``"accuracy_b"``, ``"cohens_h"``, ``"ratio"``,
        ``"odds_ratio"``, or a function: see `bootstrap_counts`, which also takes other counts than
        those of pairs.
    method, n_resamples, alpha, rng
        As in `bootstrap_counts`.

    Returns
    -------
    Estimate
        `method` names the interval: an exact one if the bootstrap is not informative.

    Raises
    ------
    ValueError
        As `paired_counts` and `bootstrap_counts`.

    References
    ----------
    Efron (1987), JASA 82:171-185.

    Examples
    --------
    >>> found = bootstrap(60, 40, 20, 40)
    >>> [float(x) for x in (found.estimate, *found.ci)]
    [0.125, 0.03125, 0.21875]
    """
    counts = np.stack(paired_counts(n11, n10, n01, n00), axis=-1)
    if statistic == "proportion":
        raise ValueError(
            "statistic='proportion' is not of pairs; use bootstrap_counts([successes, failures], "
            "'proportion')"
        )
    return bootstrap_counts(
        counts, statistic, method=method, n_resamples=n_resamples, alpha=alpha, rng=rng
    )


def bootstrap_counts(
    counts: npt.ArrayLike,
    statistic: StatisticName | CountsFunction = "difference",
    *,
    method: BootstrapMethod = "bca",
    n_resamples: Literal["exact"] | int = "exact",
    alpha: float = 0.05,
    rng: np.random.Generator | int | None = None,
) -> Estimate:
    """Compute a bootstrap interval of a statistic of paired counts.

    Resampling n pairs with replacement draws the counts from Multinomial(n, counts / n), so single
    pairs are never handled. For the named statistics, the distribution over resamples is computed,
    not simulated. A sum over pairs (difference, accuracies, proportion) is an n-fold convolution of
    the distribution of one pair. A function of two sums (Cohen's h, ratios) needs a convolution in
    the plane.

    Parameters
    ----------
    counts : array_like of int, shape (..., 4)
        n11, n10, n01, n00: both correct, only a, only b, neither. For ``"proportion"``, shape (...,
        2): successes (e.g. pairs with the same letter, for CFR) and failures. For a function, any
        number of categories.
    statistic : str or callable
        ``"difference"``: (n10 − n01) / n; ``"accuracy_a"``, ``"accuracy_b"``; ``"proportion"``;
        ``"cohens_h"``; ``"ratio"``: Acc_a / Acc_b; ``"odds_ratio"``: n10 / n01. Or a vectorised
        function from counts of shape (..., k) to values of shape (...).
    method : {"bca", "percentile", "basic"}
        Bias-corrected and accelerated; the quantiles of the distribution; or these quantiles
        reflected at the estimate and cut at the ends of the scale.
    n_resamples : "exact" or int
        The exact distribution, or this number of resamples drawn with `rng`.
    alpha : float
        1 − confidence level.
    rng : numpy.random.Generator or int
        Required for resampling, so that the interval can be reproduced.

    Returns
    -------
    Estimate
        With the leading shape of `counts`; `ci_method` names the method used.

    Raises
    ------
    ValueError
        For counts of a wrong shape, an unknown statistic or method, a function without
        `n_resamples`, or resampling without `rng`. Also if an exact distribution in the plane is
        too large (n of some tens of thousands or more).

    Notes
    -----
    BCa takes the bias correction z0 from P(θ* < θ̂) + P(θ* = θ̂) / 2. It takes the acceleration
    from the leave-one-out values. Counts have at most one such value per category, so this is a
    closed form. The limits of BCa and the percentiles are values that the statistic can take: the
    smallest x with P(θ* ≤ x) ≥ level, and the same from above. So swapping the groups mirrors the
    interval.

    The bootstrap is not informative if all resamples are the same (no discordant pair, all correct,
    all wrong). The same holds if the estimate is infinite or 0 / 0, or if a function is NaN for
    some resample. The interval is then Tango's for the difference and Wilson's for shares. It is
    the exact conditional interval for the odds ratio and the arcsine interval for Cohen's h. For a
    ratio or a function it is NaN. `ci_method` names the method. In other cases in which BCa is
    undefined, the percentile interval is used.

    References
    ----------
    Efron (1987), JASA 82:171-185; Davison & Hinkley (1997), Bootstrap Methods and their
    Application, chapter 5. Checked against R's ``boot`` and against enumeration of the
    multinomial (tests/r/bootstrap.R).

    Examples
    --------
    >>> found = bootstrap_counts([60, 40, 20, 40])
    >>> float(found.estimate), float(found.ci_low), float(found.ci_high), str(found.method)
    (0.125, 0.03125, 0.21875, 'bootstrap bca, exact')
    """
    alpha = check_alpha(alpha)
    check_choice("method", method, get_args(BootstrapMethod))
    (cells,) = check_counts(counts=counts)
    if cells.ndim == 0 or cells.shape[-1] == 0:
        raise ValueError("counts must have the categories on its last axis")
    named = _named(statistic, cells)
    if isinstance(n_resamples, str) and n_resamples == "exact":
        if named is None:
            raise ValueError(
                "the exact law is known for the named statistics; for a function give "
                "n_resamples=9999, rng=1"
            )
        source = "exact"
    else:
        rng = check_resampling(n_resamples, rng)
        source = f"{n_resamples} resamples"
    compute: CountsFunction = named if named is not None else statistic  # type: ignore[assignment]
    flat = cells.reshape(-1, cells.shape[-1])
    n = flat.sum(axis=-1)
    if n_resamples == "exact" and named is not None and len(named.sums) == 1:
        estimate, low, high, used = _of_one_sum(flat, n, named, method, alpha)
    else:
        found = []
        for row in flat:
            law = _law(row, named, compute, n_resamples, rng)
            found.append(_of_one_table(row, compute, law, method, alpha))
        estimate, low, high = (np.array([row[i] for row in found]) for i in range(3))
        used = np.array([row[3] for row in found], dtype=str)
    if method == "basic" and named is not None:
        # A reflected limit can leave the scale.
        low, high = np.maximum(low, named.span[0]), np.minimum(high, named.span[1])
    if statistic in ("ratio", "odds_ratio") and named is not None:
        over_zero = (flat @ np.array(named.sums).T).max(axis=-1) == 0
        estimate = np.where(over_zero, np.nan, estimate)
    methods = _with_fallback(flat, statistic, alpha, low, high, used, method, source)
    shape = cells.shape[:-1]
    return Estimate(
        estimate.reshape(shape),
        low.reshape(shape),
        high.reshape(shape),
        1 - alpha,
        methods.reshape(shape),
        n.reshape(shape),
    )


def _named(statistic: object, cells: IntArray) -> _Statistic | None:
    if callable(statistic):
        return None
    if not isinstance(statistic, str) or statistic not in _STATISTICS:
        raise ValueError(
            f"statistic={statistic!r} is unknown; use {', '.join(_STATISTICS)} or a function"
        )
    named = _STATISTICS[str(statistic)]
    k = len(named.sums[0])
    if cells.shape[-1] != k:
        order = "n11, n10, n01, n00" if k == 4 else "successes, failures"
        raise ValueError(
            f"counts for {statistic} must have shape (..., {k}): {order}; got {cells.shape}"
        )
    return named


def _of_one_sum(
    flat: IntArray, n: IntArray, statistic: _Statistic, method: BootstrapMethod, alpha: float
) -> tuple[FloatArray, FloatArray, FloatArray, npt.NDArray[np.str_]]:
    """Return the exact intervals of all tables at once, if the statistic is a sum over pairs."""
    values = np.array(statistic.sums[0])
    trials = np.maximum(n, 1)
    total = flat @ values
    law = law_of_sum(trials, values, flat / trials[:, None])
    estimate = np.where(n > 0, total / trials, np.nan)
    # The mean's acceleration is one sixth of its skewness, which is that of the sum.
    levels, used = limit_levels(law.share_below(total), law.skewness / 6, method, alpha)
    low, high = law.quantiles(levels).T / trials
    if method == "basic":
        low, high = 2 * estimate - high, 2 * estimate - low
    return estimate, low, high, np.where(law.deviation > 0, used, "")


def _of_one_table(
    row: IntArray, compute: CountsFunction, law: Law | None, method: BootstrapMethod, alpha: float
) -> tuple[float, float, float, str]:
    estimate = float(np.asarray(compute(row[None]))[0]) if row.sum() else float("nan")
    if law is None or not np.isfinite(estimate):
        return estimate, float("nan"), float("nan"), ""
    acceleration = acceleration_of(row, compute)
    return estimate, *interval_of_law(law, estimate, acceleration, method, alpha)


def _law(
    row: IntArray,
    named: _Statistic | None,
    compute: CountsFunction,
    n_resamples: Literal["exact"] | int,
    rng: np.random.Generator | int | None,
) -> Law | None:
    """Return the distribution over resamples; None if it is a single value or contains NaN."""
    n = int(row.sum())
    if n == 0:
        return None
    if n_resamples == "exact":
        assert named is not None
        first, second = (np.array(values) for values in named.sums)
        x, y, probability = plane_law(n, first, second, row / n)
        at = np.nonzero(probability)
        values = named.of_sums(x[at[0], 0], y[0, at[1]], np.asarray(n))
        law = discrete_law(values, probability[at])
        alike = (row > 0).sum() <= 1 or _one_value(values[probability[at] > 1e-13])
    else:
        drawn = np.random.default_rng(rng).multinomial(n, row / n, size=n_resamples)
        values = np.asarray(compute(drawn), dtype=np.float64)
        if np.isnan(values).any():
            return None
        law = discrete_law(values)
        alike = _one_value(values)
    return None if alike else law


def _one_value(values: FloatArray) -> bool:
    return bool(np.all(values == values[0]))


def _with_fallback(
    flat: IntArray,
    statistic: object,
    alpha: float,
    low: FloatArray,
    high: FloatArray,
    used: npt.NDArray[np.str_],
    method: str,
    source: str,
) -> npt.NDArray[np.str_]:
    """Fill in, in place, intervals that the bootstrap cannot give; name every method."""
    names = [f"bootstrap {text}, {source}" for text in used]
    for i in np.flatnonzero(used == ""):
        found = _other_interval(flat[i], statistic, alpha)
        low[i], high[i] = (np.nan, np.nan) if found is None else found.ci
        name = "none" if found is None else found.method
        why = f"bootstrap {method} is not informative here" if flat[i].sum() else "no pairs"
        names[i] = f"{name} ({why})"
    return np.array(names, dtype=str)


def _other_interval(row: IntArray, statistic: object, alpha: float) -> Estimate | None:
    if statistic == "difference":
        return tango(*row, alpha=alpha)
    if statistic == "odds_ratio":
        return odds_ratio(*row, alpha=alpha)
    if statistic == "cohens_h":
        return cohens_h_interval(*row, alpha=alpha)
    if statistic in ("accuracy_a", "accuracy_b", "proportion"):
        return wilson(row @ np.array(_STATISTICS[str(statistic)].sums[0]), row.sum(), alpha=alpha)
    return None
