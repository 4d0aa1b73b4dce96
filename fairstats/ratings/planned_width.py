"""Expected interval width of a rate, for a study of a given size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import check_alpha

# Smaller differences are rounding error.
_ROUNDING = 1e-12
# A larger number of items is not a plan.
_MOST = 1e15


@dataclass(frozen=True)
class PlannedStudy:
    """Known parameters of a study of unknown size, and results for any size."""

    p: FloatArray
    m: FloatArray
    of_items: FloatArray
    of_raters: FloatArray
    alpha: float

    def variance(self, items: FloatArray, k: FloatArray) -> FloatArray:
        """Return the variance of the rate, divided by p (1 − p)."""
        # There cannot be more raters than ratings.
        k = np.minimum(k, items * self.m)
        raters = np.divide(self.of_raters, k, out=np.zeros_like(k), where=self.of_raters > 0)
        rest = 1 - self.of_items - self.of_raters
        return np.asarray(self.of_items / items + raters + rest / (items * self.m))

    def df(self, items: FloatArray, k: FloatArray) -> FloatArray:
        """Return Satterthwaite's degrees of freedom (`crossed_interval`); NaN without raters."""
        n = items * self.m
        k = np.minimum(k, n)
        parts = (
            ((1 + (self.m - 1) * self.of_items) / n, items),
            ((1 + (n / k - 1) * self.of_raters) / n, k),
            (1 / n, n),
        )
        # A single item, or rater, gives no information on differences.
        spread = sum(
            np.divide(part**2, many - 1, out=np.zeros_like(n), where=many > 1)
            for part, many in parts
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.clip(self.variance(items, k) ** 2 / spread, np.minimum(items, k) - 1, n - 1)
        alone = np.where(items == 1, k, items) - 1
        found = np.where((items == 1) | (k == 1), np.where(alone > 0, alone, np.nan), found)
        return np.where(np.isnan(k), np.nan, found)

    def width(self, items: FloatArray, k: FloatArray) -> FloatArray:
        quantile = t_quantile(self.alpha, self.df(items, k))
        return wilson_width(self.p, 1 / self.variance(items, k), quantile)

    def left(self, k: FloatArray) -> FloatArray:
        """Return the width that remains with infinitely many items."""
        some = self.of_raters > 0
        n = np.divide(k, self.of_raters, out=np.ones_like(k), where=some)
        quantile = t_quantile(self.alpha, np.where(k > 1, k - 1, np.nan))
        width = np.where(some, wilson_width(self.p, n, quantile), 0.0)
        return np.where(some & (k == 1), 1.0, width)

    def least_raters(self, width: FloatArray) -> FloatArray:
        # The normal quantile needs no more items than Student's.
        size = binomial_size(self.p, width, t_quantile(self.alpha, np.full_like(width, np.nan)))
        least = np.maximum(np.floor(size * self.of_raters) + 1, self.m)
        while np.any(few := self.left(least) >= width):
            least = least + few
        return least

    def items_without_raters(self, width: FloatArray) -> FloatArray:
        size = binomial_size(self.p, width, t_quantile(self.alpha, np.full_like(width, np.nan)))
        return whole(size * (self.of_items + (1 - self.of_items) / self.m))

    def fewest_items(
        self, width: FloatArray, raters: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        """Return the smallest sufficient number of items.

        It is found by bisection. The result is meaningless if infinitely many items are not enough.
        """

        def enough(items: FloatArray) -> npt.NDArray[np.bool_]:
            k = raters(items)
            alone = (k == 1) & (self.of_raters > 0)
            return (self.width(items, k) <= width + _ROUNDING) & ~alone

        high = self.items_without_raters(width)
        low = np.zeros_like(high)
        while np.any(few := ~enough(high) & (high < _MOST)):
            low, high = np.where(few, high, low), np.where(few, 2 * high, high)
        while np.any(high - low > 1):
            middle = np.ceil((low + high) / 2)
            found = enough(middle)
            low, high = np.where(found, low, middle), np.where(found, middle, high)
        return high


def t_quantile(alpha: float, df: FloatArray) -> FloatArray:
    """Return the quantile of Student's t; the normal one without degrees of freedom."""
    return np.asarray(scipy.stats.t.isf(check_alpha(alpha) / 2, np.where(np.isnan(df), np.inf, df)))


def wilson_width(p: FloatArray, n: FloatArray, quantile: FloatArray) -> FloatArray:
    """Return the width of Wilson's interval at rate p of n, which need not be whole."""
    z = quantile
    return np.asarray(2 * z * np.sqrt(p * (1 - p) / n + (z / n) ** 2 / 4) / (1 + z**2 / n))


def binomial_size(p: FloatArray, width: FloatArray, quantile: FloatArray) -> FloatArray:
    """Return the n at which Wilson's interval has this width: the root of a quadratic in 1 / n."""
    z2 = quantile**2
    a, b = z2**2 * (width**2 - 1), 2 * z2 * (width**2 - 2 * p * (1 - p))
    return np.asarray(-2 * a / (b + np.sqrt(b**2 - 4 * a * width**2)))


def whole(n: FloatArray) -> FloatArray:
    """Return the next whole number, allowing for rounding error."""
    return np.ceil(n - 1e-9)
