"""Power and sample size of a comparison of two models on the same items, by enumeration."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import (
    check_alpha,
    check_counts,
    check_power,
    check_share,
)
from fairstats.inference.power import (
    check_cells,
    likely,
    normal_power,
    power_mcnemar,
    samplesize_mcnemar,
    smallest_number,
)

# From this expected number of changed items on, use the normal distribution.
_LARGEST_EXACT = 250


def change_shares(old: tuple[float, float], new: tuple[float, float]) -> dict[int, float]:
    """Return the shares of items by change of n10 − n01, if two models answer independently.

    Parameters
    ----------
    old, new : (float, float)
        Each model's p10 and p01: the probabilities that only a is correct, and that only b is
        correct.

    Returns
    -------
    dict
        The probabilities of the changes −2, −1, 0, 1 and 2, from the old to the new model.

    Raises
    ------
    ValueError
        For a probability outside [0, 1], or a sum of two above 1.

    Notes
    -----
    Models usually fail on the same items. Their answers are then positively correlated, fewer items
    change, and the power is larger than with these shares. From a pilot, use the observed shares.

    References
    ----------
    The convolution of two distributions on −1, 0 and 1.

    Examples
    --------
    >>> {change: round(p, 4) for change, p in change_shares((0.1, 0.02), (0.05, 0.02)).items()}
    {-2: 0.002, -1: 0.1106, 0: 0.8238, 1: 0.0626, 2: 0.001}
    """
    laws = []
    for p10, p01 in (old, new):
        a, b = (float(share) for share in check_cells(p10, p01).values())
        laws.append(np.array([b, 1 - a - b, a]))
    shares = np.convolve(laws[1], laws[0][::-1])
    return {change: float(p) for change, p in zip(range(-2, 3), shares, strict=True)}


def power_comparison(
    n: npt.ArrayLike, shares: Mapping[int, float], *, alpha: float = 0.05
) -> FloatArray:
    """Compute the probability that a comparison of two models on the same items rejects.

    Each item has a change from the old to the new model, from −2 to 2. The test gives every change
    a random sign, and compares the sum with its distribution over all signs. It is the mid-p test
    of `fairstats.compare`.

    Parameters
    ----------
    n : array_like of int
        Number of items that both models answered.
    shares : mapping of int to float
        The probability of each change from −2 to 2. They must sum to 1, unless 0 is missing: its
        share is then the rest. For CFR, the change is 1 if only the new model gives both groups the
        same answer, and −1 if only the old one does. For the difference between groups it is the
        change of n10 − n01, see `change_shares`.
    alpha : float
        Level of the two-sided test.

    Returns
    -------
    ndarray
        In [0, 1]. It is 0 if no item can change. If the distribution of changes is symmetric, it is
        the level of the test.

    Raises
    ------
    ValueError
        For a change that is not a whole number from −2 to 2, a share outside [0, 1], a sum of
        shares above 1 (or, if that of 0 is given, other than 1), an invalid count, or alpha outside
        (0, 1).

    Notes
    -----
    The numbers k1 and k2 of items with a change of 1 or 2, in either direction, are multinomial.
    Given these, the distributions of the sum are computed. If more than 250 items are expected to
    change by 1 or 2, a normal approximation is used. If all changes have the same size, this is
    `power_mcnemar`.

    `fairstats.compare` tests the change of AD, the unsigned difference, at 99% of the level if the
    direction of both differences is clear: each has p ≤ alpha / 100. If not, its power is lower: in
    simulations of 200 items with differences of 23 and 11 points, 79%, and 83% as planned.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21. Checked against enumeration of all samples
    in R (tests/r/planning.R).

    Examples
    --------
    >>> shares = change_shares(old=(0.10, 0.02), new=(0.05, 0.02))
    >>> round(float(power_comparison(801, shares)), 3)
    0.913
    """
    (n,) = check_counts(n=n)
    test = _Test(_checked(shares), check_alpha(alpha))
    powers = [test.power(int(one)) for one in n.ravel()]
    return np.array(powers).reshape(n.shape)[()]


def samplesize_comparison(
    shares: Mapping[int, float], *, power: float = 0.8, alpha: float = 0.05
) -> int:
    """Compute the number of items with which two models are compared with a given power.

    Parameters
    ----------
    shares : mapping of int to float
        As in `power_comparison`.
    power : float
        The power to reach, in (0, 1): 80% is 0.8.
    alpha : float
        Level of the two-sided test.

    Returns
    -------
    int
        The smallest n for which the power stays at or above `power` for the next 20 values of n
        (the next 100 if all changes have the same size).

    Raises
    ------
    ValueError
        If the mean change is 0: no number of items can show it. Also as `power_comparison`, and for
        a power outside (0, 1).

    References
    ----------
    As `power_comparison`.

    Examples
    --------
    >>> samplesize_comparison({1: 0.06, -1: 0.02})
    381
    """
    test = _Test(_checked(shares), check_alpha(alpha))
    power = check_power(power)
    if abs(test.mean) < 1e-12:
        raise ValueError(f"shares={dict(shares)} have a mean change of 0: there is nothing to show")
    if test.single is not None:
        return samplesize_mcnemar(*test.single, power=power, alpha=alpha)
    return smallest_number(
        lambda numbers: np.array([test.power(int(n)) for n in numbers]) >= power, beyond=20
    )


def _checked(shares: Mapping[int, float]) -> dict[int, float]:
    if unknown := [change for change in shares if change not in (-2, -1, 0, 1, 2)]:
        raise ValueError(
            f"shares has the change {unknown[0]!r}: changes must be whole numbers from -2 to 2"
        )
    found = {
        change: float(check_share(f"shares[{change}]", shares.get(change, 0.0)))
        for change in (-2, -1, 1, 2)
    }
    unchanged = float(check_share("shares[0]", shares.get(0, 0.0)))
    total = sum(found.values()) + unchanged
    if total > 1 + 1e-9 or (0 in shares and total < 1 - 1e-6):
        raise ValueError(
            f"shares sum to {total:g}; they must sum to 1 (without a share of 0, to at most 1)"
        )
    return found


class _Test:
    """The test of a sum of changes with random signs, with its power by (k1, k2), cached."""

    def __init__(self, shares: dict[int, float], alpha: float) -> None:
        self.alpha = alpha
        self.sizes = {size: shares[size] + shares[-size] for size in (1, 2)}
        self.up = {size: shares[size] / max(self.sizes[size], 1e-300) for size in (1, 2)}
        self.mean = sum(change * share for change, share in shares.items())
        self.squares = self.sizes[1] + 4 * self.sizes[2]
        #: The two shares if all changes have the same size.
        self.single = next(
            ((shares[s], shares[-s]) for s in (1, 2) if self.sizes[3 - s] == 0), None
        )
        self.rejected = np.empty((0, 0))

    def power(self, n: int) -> float:
        if self.single is not None:
            return float(power_mcnemar(n, *self.single, alpha=self.alpha))
        if n * sum(self.sizes.values()) > _LARGEST_EXACT:
            return float(normal_power(n, self.squares, self.mean, self.alpha))
        k1, k2 = (likely(n, share) for share in self.sizes.values())
        if np.any(np.array(self.rejected.shape) <= (k1[-1], k2[-1])):
            self.rejected = self._rejected(*(max(int(1.25 * k[-1]), 32) for k in (k1, k2)))
        q1, q2 = self.sizes.values()
        chance = scipy.stats.binom.pmf(k1, n, q1)[:, None] * scipy.stats.binom.pmf(
            k2, (n - k1)[:, None], min(q2 / max(1 - q1, 1e-300), 1.0)
        )
        inner = self.rejected[k1[0] : k1[-1] + 1, k2[0] : k2[-1] + 1]
        return float(np.clip((chance * inner).sum(), 0.0, 1.0))

    def _rejected(self, most1: int, most2: int) -> FloatArray:
        """Return the probability of rejecting, by k1 and k2."""
        found = np.empty((most1 + 1, most2 + 1))
        # Laws of the sum, one row per k2; the middle column is a sum of 0.
        middle = most1 + 2 * most2
        laws = [np.zeros((most2 + 1, 2 * middle + 1)) for _ in range(2)]
        ups = ({1: 0.5, 2: 0.5}, self.up)
        for law, up in zip(laws, ups, strict=True):
            law[0, middle] = 1.0
            for k2 in range(most2):
                law[k2 + 1] = _stepped(law[k2], 2, up[2])
        for k1 in range(most1 + 1):
            found[k1] = self._rejecting(laws[0], laws[1], middle)
            laws = [_stepped(law, 1, up[1]) for law, up in zip(laws, ups, strict=True)]
        return found

    def _rejecting(self, null: FloatArray, law: FloatArray, middle: int) -> FloatArray:
        """Return the probability of a mid-p value of at most alpha, for each row."""
        # By the size of the sum.
        null, law = (
            one[:, middle + 1 :] + one[:, middle - 1 :: -1] if middle else one[:, :0]
            for one in (null, law)
        )
        beyond = np.cumsum(null[:, ::-1], axis=1)[:, ::-1]
        rejects = beyond - null / 2 <= self.alpha * (1 + 1e-12)
        return np.asarray((law * rejects).sum(axis=1))


def _stepped(law: FloatArray, step: int, up: float) -> FloatArray:
    """Return the law after one more change of this size, which is positive with this probability.

    The sum stays inside the columns, so what is rolled over the ends is 0.
    """
    rolled = up * np.roll(law, step, axis=-1) + (1 - up) * np.roll(law, -step, axis=-1)
    return np.asarray(rolled)
