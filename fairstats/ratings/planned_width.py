"""The width of the interval of a rate that a study of some size gives, before there is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import check_alpha

# What differs by less differs by floating point alone.
_ROUNDING = 1e-12
# More items than this is no plan.
_MOST = 1e15


@dataclass(frozen=True)
class PlannedStudy:
    """What is known of a study before its size is, and what any size gives."""

    p: FloatArray
    m: FloatArray
    of_items: FloatArray
    of_raters: FloatArray
    alpha: float

    def variance(self, items: FloatArray, k: FloatArray) -> FloatArray:
        """Of the rate, over p (1 − p)."""
        # No more raters than ratings can have a part in it.
        k = np.minimum(k, items * self.m)
        raters = np.divide(self.of_raters, k, out=np.zeros_like(k), where=self.of_raters > 0)
        rest = 1 - self.of_items - self.of_raters
        return np.asarray(self.of_items / items + raters + rest / (items * self.m))

    def df(self, items: FloatArray, k: FloatArray) -> FloatArray:
        """Satterthwaite's, as of `crossed_interval`; NaN without a number of raters."""
        n = items * self.m
        k = np.minimum(k, n)
        parts = (
            ((1 + (self.m - 1) * self.of_items) / n, items),
            ((1 + (n / k - 1) * self.of_raters) / n, k),
            (1 / n, n),
        )
        # A single item, or rater, tells nothing of how they differ.
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
        """The width that items without end leave."""
        some = self.of_raters > 0
        n = np.divide(k, self.of_raters, out=np.ones_like(k), where=some)
        quantile = t_quantile(self.alpha, np.where(k > 1, k - 1, np.nan))
        width = np.where(some, wilson_width(self.p, n, quantile), 0.0)
        return np.where(some & (k == 1), 1.0, width)

    def least_raters(self, width: FloatArray) -> FloatArray:
        # By the normal quantile it takes no more than by Student's.
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
        """The number of items that is enough where one fewer is not.

        It is found by halving; where items without end leave too much it is meaningless.
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
    """Student's, and the normal one where there are no degrees of freedom."""
    return np.asarray(stats.t.isf(check_alpha(alpha) / 2, np.where(np.isnan(df), np.inf, df)))


def wilson_width(p: FloatArray, n: FloatArray, quantile: FloatArray) -> FloatArray:
    """Upper less lower limit of Wilson's interval at the rate p of n, which need not be whole."""
    z = quantile
    return np.asarray(2 * z * np.sqrt(p * (1 - p) / n + (z / n) ** 2 / 4) / (1 + z**2 / n))


def binomial_size(p: FloatArray, width: FloatArray, quantile: FloatArray) -> FloatArray:
    """The n at which Wilson's interval is so wide: the root of a square equation in 1 / n."""
    z2 = quantile**2
    a, b = z2**2 * (width**2 - 1), 2 * z2 * (width**2 - 2 * p * (1 - p))
    return np.asarray(-2 * a / (b + np.sqrt(b**2 - 4 * a * width**2)))


def whole(n: FloatArray) -> FloatArray:
    """The next whole number, but for rounding."""
    return np.ceil(n - 1e-9)
