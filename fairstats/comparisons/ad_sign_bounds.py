"""Bound AD's test and interval over the signs of many differences, without trying every choice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray

#: Up to this number, every choice of signs is tested. With five pairs there are at most 1,024.
MOST_CHOICES = 1024


@dataclass(frozen=True)
class SignedChange:
    r"""The change of AD between two models as a sum over items, with the observed signs.

    Parameters
    ----------
    values : ndarray of float, shape (kinds, 2 * pairs)
        Each kind of item's part of −\|D\| of the old model, for each pair, and of \|D\| of the new
        one. The sum over all items is the change of AD.
    many : ndarray of int, shape (kinds,)
        The number of items of each kind.
    """

    values: FloatArray
    many: npt.NDArray[np.int64]

    @classmethod
    def of(cls, cells: npt.NDArray[np.int64], many: npt.NDArray[np.int64]) -> SignedChange:
        """Return the change given each kind's sums, of shape (kinds, old and new, pairs, 6)."""
        answers = np.maximum(np.einsum("k,k...->...", many, cells[..., [1, 3]]), 1)
        shares = cells[..., [0, 2]] / answers
        difference = (shares[..., 0] - shares[..., 1]) / cells.shape[2]
        signs = np.where(np.einsum("k,k...->...", many, difference) > 0, 1, -1)
        signed = difference * signs * np.array([[-1], [1]])
        return cls(signed.reshape(len(cells), -1), many)

    def range(self, unknown: npt.NDArray[np.bool_]) -> tuple[float, float]:
        """Return the lowest and highest change if these signs may be the other ones."""
        totals = self.many @ self.values
        # Reversing a sign reverses its part of the sum.
        moved = -2 * totals[unknown]
        whole = float(totals.sum())
        return whole + float(moved[moved < 0].sum()), whole + float(moved[moved > 0].sum())

    def deviation(self, unknown: npt.NDArray[np.bool_]) -> float:
        """Return the largest standard deviation over all swaps, for any choice of these signs."""
        known = np.abs(self.values[:, ~unknown].sum(axis=1))
        largest = known + np.abs(self.values[:, unknown]).sum(axis=1)
        return math.sqrt(float(self.many @ largest**2))

    def p_value(self, unknown: npt.NDArray[np.bool_]) -> float:
        """Return an upper limit of the swap test's p-value over all choices of these signs."""
        low, high = self.range(unknown)
        if low <= 0 <= high:
            return 1.0
        deviation = self.deviation(unknown)
        return float(2 * scipy.stats.norm.sf(min(abs(low), abs(high)) / deviation))

    def interval(self, unknown: npt.NDArray[np.bool_], alpha: float) -> tuple[float, float]:
        """Return limits that contain the normal interval of every choice of these signs."""
        low, high = self.range(unknown)
        reach = float(scipy.stats.norm.isf(alpha / 2)) * self.deviation(unknown)
        return low - reach, high + reach


def largest_p_value(change: SignedChange, against: Sequence[float]) -> float:
    """Return an upper limit of the p-value over all choices of signs that differ from the observed.

    Parameters
    ----------
    change : SignedChange
        The change of AD.
    against : sequence of float
        The p-value of the other sign of each difference. A choice is at most as plausible as its
        least plausible sign.

    Notes
    -----
    A choice whose least plausible sign has the p-value p only reverses signs with at least p. So it
    suffices to bound one set of signs per p-value, instead of 2^n choices. The bound takes the
    smallest change and the largest variance of any choice, which may be of different choices.

    Examples
    --------
    >>> values = np.array([[-0.001, 0.004], [0.0, -0.004]])
    >>> change = SignedChange(values, np.array([100, 20]))
    >>> clear, open_ = (largest_p_value(change, against) for against in ([1, 1e-9], [1, 1]))
    >>> clear < 1e-3, open_
    (True, 1.0)
    """
    other = np.asarray(against)
    limits = [min(change.p_value(other >= p), float(p)) for p in np.unique(other)]
    return max(limits, default=0.0)
