"""Exact power of McNemar's test and of equivalence, by enumerating all possible tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import (
    BoolArray,
    IntArray,
    check_alpha,
    check_choice,
    check_counts,
    check_margin,
    check_power,
    check_shapes,
    check_share,
)
from fairstats.inference.intervals import tango_statistic
from fairstats.inference.mcnemar import McNemarMethod, mcnemar

# From this number of discordant pairs on, the normal distribution gives the power to three digits.
_LARGEST_EXACT = 20_000
# Beyond 9 standard deviations a binomial count has a probability below 1e-16.
_DEVIATIONS = 9
# Below this, probabilities can overflow in the binomial code.
_LEAST = 1e-290
# Number of cells of arrays that are in memory together.
_LARGEST_CHUNK = 2**18
# Accuracy of a detectable difference.
_PRECISION = 1e-6


def power_mcnemar(
    n: npt.ArrayLike,
    p10: npt.ArrayLike,
    p01: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    method: McNemarMethod = "midp",
) -> FloatArray:
    """Compute the probability that McNemar's test rejects at level alpha.

    The number m of discordant pairs is Binomial(n, p10 + p01). Given m, the count n10 is
    Binomial(m, p10 / (p10 + p01)). The probabilities of the rejection regions of all m are summed.

    Parameters
    ----------
    n : array_like of int
        Number of pairs.
    p10, p01 : array_like of float
        Probabilities that only a is correct, and that only b is correct; broadcast against n.
    alpha : float
        Level of the two-sided test.
    method : str
        As in `mcnemar`.

    Returns
    -------
    ndarray
        In [0, 1]. With p10 = p01 it is the true level of the test. It is 0 if no pair can be
        discordant.

    Raises
    ------
    ValueError
        For p10 or p01 outside [0, 1], a sum of both above 1, an invalid count, alpha outside (0,
        1), or an unknown method.

    Notes
    -----
    If more than 20,000 discordant pairs are expected, Miettinen's normal approximation is used.

    References
    ----------
    Duffy (1984), Biometrics 40:1005-1015, for the exact power. Checked against enumeration of
    the trinomial (tests/r/power.R).

    Examples
    --------
    >>> round(float(power_mcnemar(801, 0.08, 0.04)), 4)
    0.911
    """
    (n,) = check_counts(n=n)
    critical = _Critical(alpha, method)
    n, p10, p01 = check_shapes(n=n, **check_cells(p10, p01))
    return _powers(n.ravel(), p10.ravel(), p01.ravel(), critical).reshape(n.shape)[()]


def check_cells(p10: npt.ArrayLike, p01: npt.ArrayLike) -> dict[str, FloatArray]:
    """Return the probabilities of discordant pairs, checked."""
    shares = {
        "p10": check_share("p10", p10, example="0.08"),
        "p01": check_share("p01", p01, example="0.04"),
    }
    both = check_shapes(**shares)
    if np.any(over := both[0] + both[1] > 1 + 1e-12):
        raise ValueError(
            f"p10={both[0][over][0]} and p01={both[1][over][0]} must sum to at most 1: they are "
            "the shares of pairs that only a, and only b, answers correctly"
        )
    return shares


class _Critical:
    """Largest min(n10, n01) at which the test of m discordant pairs rejects, cached for every m."""

    def __init__(self, alpha: float, method: McNemarMethod) -> None:
        self.alpha = check_alpha(alpha)
        self.method = check_choice("method", method, get_args(McNemarMethod))
        self.known: IntArray = np.empty(0, dtype=np.int64)

    def __call__(self, m: IntArray) -> IntArray:
        if (last := int(m.max())) >= len(self.known):
            more = np.arange(len(self.known), max(2 * last, 256))

            def rejects(fewer: IntArray) -> BoolArray:
                tested = mcnemar(n10=fewer, n01=np.maximum(more - fewer, 0), method=self.method)
                return np.asarray(tested.p_value <= self.alpha)

            # p rises with min(n10, n01).
            self.known = np.concatenate([self.known, _largest(rejects, (more + 1) // 2)])
        return self.known[m]


def _largest(fits: Callable[[IntArray], BoolArray], beyond: IntArray) -> IntArray:
    """Return the largest whole numbers below `beyond` that fit; −1 if 0 does not fit."""
    low, high = np.full(beyond.shape, -1), beyond
    while np.any(high - low > 1):
        middle = (low + high) // 2
        there = fits(np.maximum(middle, 0)) & (middle >= 0)
        low, high = np.where(there, middle, low), np.where(there, high, middle)
    return low


def _powers(n: IntArray, p10: FloatArray, p01: FloatArray, critical: _Critical) -> FloatArray:
    psi = np.minimum(p10 + p01, 1.0)
    found, normal = np.zeros(n.shape), n * psi > _LARGEST_EXACT
    found[normal] = normal_power(n[normal], psi[normal], np.abs(p10 - p01)[normal], critical.alpha)
    # With a smaller share of discordant pairs, the test never rejects.
    for rows in _chunks(n, psi, np.flatnonzero((psi >= _LEAST) & ~normal)):
        power_of = _power_by_share(n[rows], psi[rows], critical)
        found[rows] = power_of(p10[rows] / psi[rows], np.arange(len(rows)))
    return found


def normal_power(
    n: npt.ArrayLike, psi: npt.ArrayLike, difference: npt.ArrayLike, alpha: float
) -> FloatArray:
    """Return Miettinen's (1968) power, Biometrics 24:339-352: Var(p10 − p01) = (ψ − δ²) / n."""
    psi, difference = np.asarray(psi), np.asarray(difference)
    z, spread = scipy.stats.norm.isf(alpha / 2), np.sqrt(np.maximum(psi - difference**2, 1e-300))
    far, near = difference * np.sqrt(n), z * np.sqrt(psi)
    return np.asarray(
        scipy.special.ndtr((far - near) / spread) + scipy.special.ndtr((-far - near) / spread)
    )


def likely(n: int, psi: float) -> IntArray:
    """Return the counts of n, each with probability psi, that are not too improbable to matter."""
    half = float(_half_width(n, psi))
    return np.arange(max(0, int(n * psi - half)), min(n, int(n * psi + half) + 1) + 1)


def _half_width(n: npt.ArrayLike, psi: npt.ArrayLike) -> FloatArray:
    psi = np.asarray(psi)
    return np.asarray(_DEVIATIONS * np.sqrt(n * psi * (1 - psi)) + 30)


def _chunks(n: IntArray, psi: FloatArray, rows: IntArray) -> Iterator[IntArray]:
    """Split rows, the widest first, so that each part has at most `_LARGEST_CHUNK` cells."""
    widths = 2 * _half_width(n[rows], psi[rows]) + 3
    order = np.argsort(-widths, kind="stable")
    while order.size:
        many = max(1, int(_LARGEST_CHUNK / widths[order[0]]))
        yield rows[order[:many]]
        order = order[many:]


def _power_by_share(
    n: IntArray, psi: FloatArray, critical: _Critical
) -> Callable[[FloatArray, IntArray], FloatArray]:
    """Return the power of rows, by the probability that a discordant pair favours a."""
    # Let k be one more than the critical value of m - 1 pairs. The critical value of m pairs is k
    # or k - 1. The probability of at most this many is that of m - 1 pairs plus
    # ([it is k] - k / m) P(k of m). Summed by parts over m, the power therefore needs only single
    # binomial probabilities, which cost less than cumulative ones.
    half = _half_width(n, psi)
    start = np.maximum((n * psi - half).astype(np.int64), 0)
    m = start[:, None] + np.arange(int(2 * half.max()) + 3)
    most = critical(m)
    beyond = np.cumsum(scipy.stats.binom.pmf(m, n[:, None], psi[:, None])[:, ::-1], axis=1)[:, ::-1]
    first, of_first, first_beyond = m[:, 0], most[:, 0], beyond[:, 0]
    m, k = m[:, 1:], most[:, :-1] + 1.0
    weights = beyond[:, 1:] * ((most[:, 1:] >= k) - k / m)
    log_ways = (
        scipy.special.gammaln(m + 1.0)
        - scipy.special.gammaln(k + 1)
        - scipy.special.gammaln(m - k + 1)
    )

    def power(share: FloatArray, rows: IntArray) -> FloatArray:
        found = np.zeros(len(rows))
        for p, q in ((share, 1 - share), (1 - share, share)):
            log_p, log_q = (np.log(np.maximum(one, 1e-300))[:, None] for one in (p, q))
            logs = log_ways[rows] + k[rows] * (log_p - log_q) + m[rows] * log_q
            found += (weights[rows] * np.exp(logs)).sum(axis=1)
            lowest = scipy.special.bdtr(np.maximum(of_first[rows], 0), first[rows], p)
            found += np.where(of_first[rows] >= 0, first_beyond[rows] * lowest, 0.0)
        return np.clip(found, 0.0, 1.0)

    return power


def samplesize_mcnemar(
    p10: float,
    p01: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    method: McNemarMethod = "midp",
) -> int:
    """Compute the number of items with which McNemar's test reaches a given power.

    Parameters
    ----------
    p10, p01, alpha, method
        As in `power_mcnemar`; p10 and p01 must differ.
    power : float
        The power to reach, in (0, 1): 80% is 0.8.

    Returns
    -------
    int
        The smallest n for which the exact power stays at or above `power` for the next 100 values
        of n. The power of a discrete test rises in a saw-tooth.

    Raises
    ------
    ValueError
        If p10 = p01, since no number of items can show a difference of 0. Also as `power_mcnemar`,
        and for a power outside (0, 1).

    References
    ----------
    Duffy (1984), Biometrics 40:1005-1015. Checked against enumeration (tests/r/power.R).

    Examples
    --------
    >>> samplesize_mcnemar(0.08, 0.04)
    577
    """
    shares = check_cells(p10, p01)
    if any(share.ndim for share in shares.values()):
        raise ValueError(f"p10={p10!r} and p01={p01!r} must each be one number, e.g. 0.08 and 0.04")
    if shares["p10"] == shares["p01"]:
        raise ValueError(f"p10={p10} and p01={p01} must differ: there is no difference to show")
    power, critical = check_power(power), _Critical(alpha, method)

    def enough(n: IntArray) -> BoolArray:
        a, b = (np.broadcast_to(share, n.shape) for share in shares.values())
        return _powers(n, a, b, critical) >= power

    return smallest_number(enough)


def smallest_number(enough: Callable[[IntArray], BoolArray], *, beyond: int = 100) -> int:
    """Return the smallest n from which on n and the `beyond` next numbers are enough.

    `enough` may change to and fro near that number, as the power of discrete tests does.
    """
    high = 1
    while not enough(np.array([high])):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(np.array([middle])) else (middle, high)
    # Bisection ends at one tooth of the saw-tooth; check the neighbouring ones.
    numbers = np.arange(max(1, high - beyond), high + 2 * beyond + 1)
    short = np.flatnonzero(~enough(numbers))
    return int(numbers[min(short[-1] + 1, len(numbers) - beyond)] if short.size else numbers[0])


def minimum_detectable_difference(
    n: npt.ArrayLike,
    discordant: npt.ArrayLike,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    method: McNemarMethod = "midp",
) -> FloatArray:
    """Compute the smallest \\|p10 − p01\\| that McNemar's test detects with the given power.

    Parameters
    ----------
    n : array_like of int
        Number of pairs.
    discordant : array_like of float
        The share of discordant pairs, p10 + p01, in [0, 1]. A difference cannot exceed it: for
        larger differences, the share is taken to be the difference.
    power : float
        The power to reach, in (0, 1): 80% is 0.8.
    alpha, method
        As in `power_mcnemar`.

    Returns
    -------
    ndarray
        In (0, 1], accurate to 1e-6; NaN if n is too small to detect any difference with that power.

    Raises
    ------
    ValueError
        For an invalid count, a share outside [0, 1], power or alpha outside (0, 1), or an unknown
        method.

    References
    ----------
    Duffy (1984), Biometrics 40:1005-1015, for the exact power, which is solved for the difference.

    Examples
    --------
    >>> round(float(minimum_detectable_difference(801, 0.12)), 3)
    0.034
    """
    (n,) = check_counts(n=n)
    n, share = check_shapes(n=n, discordant=check_share("discordant", discordant))
    power, critical = check_power(power), _Critical(alpha, method)
    cases, back = np.unique(np.stack([n.ravel(), share.ravel()]), axis=1, return_inverse=True)
    found = _smallest(cases[0].astype(np.int64), cases[1], power, critical)
    return found[back.reshape(n.shape)]


def _smallest(n: IntArray, psi: FloatArray, power: float, critical: _Critical) -> FloatArray:
    alpha, method = critical.alpha, critical.method
    # The largest number of pairs of which none rejects, even if all favour a.
    (last,) = _largest(
        lambda m: np.asarray(mcnemar(n10=m, n01=0, method=method).p_value > alpha),
        np.array([n.max(initial=0) + 1]),
    )
    # A power that differs from the required one by rounding error is enough.
    power -= 1e-15
    # If all discordant pairs favour a, the test rejects if there are more than `last`.
    root = scipy.special.betaincinv(last + 1, n - last, power)
    normal = n * psi > _LARGEST_EXACT
    exact = (psi >= np.maximum(root, _LEAST)) & ~normal
    low, high = np.where(normal | exact, 0.0, psi), np.where(exact, psi, 1.0)
    root[normal] = _increasing_root(
        lambda d, n, psi: normal_power(n, np.maximum(psi, d), d, alpha) - power,
        high[normal],
        (n[normal], psi[normal]),
    )
    for rows in _chunks(n, psi, np.flatnonzero(exact)):
        power_of = _power_by_share(n[rows], psi[rows], critical)
        root[rows] = _increasing_root(
            lambda d, psi, row, power_of=power_of: power_of((1 + d / psi) / 2, row) - power,
            psi[rows],
            (psi[rows], np.arange(len(rows))),
        )
    # Round up to the grid of a halved interval.
    while np.any(wide := high - low > _PRECISION):
        middle = (low + high) / 2
        enough = middle >= root
        low, high = np.where(wide & ~enough, middle, low), np.where(wide & enough, middle, high)
    return np.where(n > last, high, np.nan)


def _increasing_root(
    function: Callable[..., FloatArray], high: FloatArray, args: tuple[npt.NDArray[Any], ...]
) -> FloatArray:
    """Return the roots from 0 to `high`; 0 if all values are positive, `high` if none is."""
    from scipy.optimize import elementwise

    found = elementwise.find_root(function, (np.zeros_like(high), high), args=args)
    return np.where(found.success, found.x, np.where(found.f_bracket[0] > 0, 0.0, high))


def power_equivalence(
    n: npt.ArrayLike,
    p10: npt.ArrayLike,
    p01: npt.ArrayLike,
    *,
    margin: npt.ArrayLike,
    alpha: float = 0.05,
) -> FloatArray:
    """Compute the probability of the verdict "equivalent": Tango's 1 − 2α interval is within ±δ.

    This is the power of two one-sided score tests at level α. The probabilities of the tables with
    an interval inside the margin are summed, as in `power_mcnemar`.

    Parameters
    ----------
    n : array_like of int
        Number of pairs.
    p10, p01 : array_like of float
        As in `power_mcnemar`; p10 − p01 is the true difference.
    margin : array_like of float
        The equivalence margin δ, a share in (0, 1); broadcast against the others.
    alpha : float
        The level of each one-sided test, in (0, 0.5).

    Returns
    -------
    ndarray
        In [0, 1]. If the true difference is ±δ, it is the level of the test. Without discordant
        pairs it is 1 if n is large enough for an interval inside the margin, z²/(n + z²) < δ, and 0
        if not.

    Raises
    ------
    ValueError
        As `power_mcnemar`, and for a margin outside (0, 1) or alpha outside (0, 0.5).

    Notes
    -----
    If more than 20,000 discordant pairs are expected, a normal approximation is used.

    References
    ----------
    Tango (1998), Statistics in Medicine 17:891-908; Schuirmann (1987), Journal of Pharmacokinetics
    and Biopharmaceutics 15:657-680. Checked against enumeration of all tables in R
    (tests/r/planning.R).

    Examples
    --------
    >>> round(float(power_equivalence(801, 0.02, 0.02, margin=0.02)), 3)
    0.721
    """
    alpha, delta = check_alpha(alpha, below=0.5), check_margin(margin)
    (n,) = check_counts(n=n)
    n, p10, p01, delta = check_shapes(n=n, **check_cells(p10, p01), margin=delta)
    flat = zip(n.ravel(), p10.ravel(), p01.ravel(), delta.ravel(), strict=True)
    powers = [_equivalence(int(i), float(a), float(b), float(d), alpha) for i, a, b, d in flat]
    return np.array(powers).reshape(n.shape)[()]


def _equivalence(n: int, p10: float, p01: float, delta: float, alpha: float) -> float:
    psi = min(p10 + p01, 1.0)
    if n == 0:
        return 0.0
    if n * psi > _LARGEST_EXACT:
        return _normal_equivalence(n, psi, p10 - p01, delta, alpha)
    m = likely(n, psi)
    most = _largest_difference(n, m, delta, alpha)
    share = p10 / psi if psi > 1e-300 else 0.5
    # |n10 − n01| ≤ most: n10 from (m − most) / 2 to (m + most) / 2.
    chance = scipy.special.bdtr((m + most) // 2, m, share) - np.where(
        m - most > 1, scipy.special.bdtr(np.maximum((m - most + 1) // 2 - 1, 0), m, share), 0.0
    )
    power = scipy.stats.binom.pmf(m, n, psi) @ np.where(most >= 0, chance, 0.0)
    return float(np.clip(power, 0.0, 1.0))


def _largest_difference(n: int, m: IntArray, delta: float, alpha: float) -> IntArray:
    """Return the largest n10 − n01 of m discordant pairs with an interval inside ±δ; −1 if none.

    The upper limit rises with n10 − n01, and the lower limit is its mirror image. The upper limit
    is below δ exactly if the score statistic at δ is below −z.
    """
    z, whole = scipy.stats.norm.isf(alpha), m.astype(np.float64)
    pairs, ends = np.full(m.shape, float(n)), np.full(m.shape, delta)

    def inside(half: IntArray) -> BoolArray:
        # The difference has the parity of m.
        n10 = np.clip((m + 1) // 2 + half, 0, m).astype(np.float64)
        return np.asarray(tango_statistic(n10, whole - n10, pairs, ends) < -z)

    half = _largest(inside, m // 2 + 1)
    return np.where(half < 0, -1, np.minimum(2 * half + m % 2, m))


def _normal_equivalence(n: int, psi: float, difference: float, delta: float, alpha: float) -> float:
    spread = np.sqrt(max(psi - difference**2, 1e-300) / n)
    # At the margin, the score statistic uses the variance under a difference of δ.
    reach = delta - scipy.stats.norm.isf(alpha) * np.sqrt(max(psi - delta**2, 1e-300) / n)
    power = scipy.stats.norm.cdf((reach - difference) / spread) - scipy.stats.norm.cdf(
        (-reach - difference) / spread
    )
    return float(max(power, 0.0)) if reach > 0 else 0.0


def samplesize_equivalence(
    p10: float, p01: float, *, margin: float, power: float = 0.8, alpha: float = 0.05
) -> int:
    """Compute the number of items with which equivalence is shown with a given power.

    Parameters
    ----------
    p10, p01, margin, alpha : float
        As in `power_equivalence`. The difference of p10 and p01 must be smaller than the margin.
    power : float
        The power to reach, in (0, 1): 80% is 0.8.

    Returns
    -------
    int
        The smallest n, as in `samplesize_mcnemar`.

    Raises
    ------
    ValueError
        If \\|p10 − p01\\| is not below the margin: no number of items then shows equivalence. Also
        as `power_equivalence`, and for a power outside (0, 1).

    References
    ----------
    As `power_equivalence`.

    Examples
    --------
    >>> samplesize_equivalence(0.02, 0.02, margin=0.02)
    922
    """
    checked = [*check_cells(p10, p01).values(), check_margin(margin)]
    if any(one.ndim for one in checked):
        raise ValueError(
            f"p10={p10!r}, p01={p01!r} and margin={margin!r} must each be one number, e.g. 0.02"
        )
    a, b, delta = (float(one) for one in checked)
    power, alpha = check_power(power), check_alpha(alpha, below=0.5)
    if abs(a - b) >= delta - 1e-12:
        raise ValueError(
            f"the difference of p10={a:g} and p01={b:g} is not below margin={delta:g}: give a "
            "smaller true difference or a wider margin"
        )
    return smallest_number(lambda n: power_equivalence(n, a, b, margin=delta, alpha=alpha) >= power)
