"""Distribution of agreement coefficients over resampled items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairstats._lib.result_objects import FloatArray
from fairstats.inference.agreement.rating_counts import Coefficient, IntArray, Level, RatingCounts
from fairstats.inference.exact_sums import DiscreteLaw, discrete_law, plane_law

# A smaller expected chance disagreement is rounding error.
_ROUNDING = 1e-12
# A smaller probability in the exact distribution is rounding error.
_NEGLIGIBLE = 1e-18


@dataclass(frozen=True)
class AgreementLaw:
    """D_o and D_e over resamples of items: the coefficient for each, with its probability."""

    table: RatingCounts
    source: str
    _points: tuple[FloatArray, FloatArray] | IntArray
    _weights: FloatArray

    def of(self, coefficient: Coefficient, level: Level) -> tuple[DiscreteLaw | None, float]:
        """Return the coefficient's distribution if defined, and the share of undefined resamples.

        The distribution is None if all resamples have the same value, or if all are undefined.
        """
        if isinstance(self._points, tuple):
            observed, expected = _of_two(self.table, *self._points, coefficient)
        else:
            observed, expected = self.table.disagreement(self._points, coefficient, level)
        defined = expected > _ROUNDING
        values = 1 - observed[defined] / expected[defined]
        weights = self._weights[defined]
        undefined = 1 - float(weights.sum() / self._weights.sum())
        if not len(values) or np.ptp(values) < _ROUNDING:
            return None, undefined
        return discrete_law(values, weights), undefined


def agreement_law(
    table: RatingCounts, *, n_resamples: int, rng: np.random.Generator | int
) -> AgreementLaw:
    """Return the distribution over resamples of items, computed if possible and simulated if not.

    Notes
    -----
    With two categories and equally many ratings for every item, all coefficients are functions of
    two sums over items. These are the pairs that agree, and the ratings in the second category.
    Their joint distribution is an n-fold convolution in the plane
    (`fairstats.inference.exact_sums`).
    """
    if len(table.categories) == 2 and len(np.unique(table.sizes)) == 1:
        pairs = (table.kinds * (table.kinds - 1)).sum(axis=1) // 2
        unit = max(int(np.gcd.reduce(pairs - pairs.min())), 1)
        steps = (pairs - pairs.min()) // unit
        n = table.n_items
        try:
            x, y, law = plane_law(n, steps, table.kinds[:, 1], table.many / n)
        except ValueError:
            pass  # The grid is too large.
        else:
            at = np.nonzero(law > _NEGLIGIBLE)
            agreeing = x[at[0], 0] * unit + n * pairs.min()
            return AgreementLaw(table, "exact", (agreeing, y[0, at[1]]), law[at])
    drawn = np.random.default_rng(rng).multinomial(
        table.n_items, table.many / table.n_items, size=n_resamples
    )
    return AgreementLaw(table, f"{n_resamples} resamples", drawn, np.ones(n_resamples))


def _of_two(
    table: RatingCounts, agreeing: FloatArray, second: FloatArray, coefficient: Coefficient
) -> tuple[FloatArray, FloatArray]:
    """Return D_o and D_e of two categories, from agreeing pairs and ratings in the second one."""
    n, m = table.n_items, int(table.sizes[0])
    observed = 1 - agreeing / (n * m * (m - 1) / 2)
    share = second / (n * m)
    by_margins = 2 * share * (1 - share)
    expected = {
        "percent": np.ones_like(observed),
        "positive": 2 * share,
        "randolph": np.full_like(observed, 0.5),
        "fleiss": by_margins,
        "gwet_ac1": 1 - by_margins,
        # Two categories are at distance one, at any level of measurement.
        "krippendorff": by_margins * (n * m) / (n * m - 1),
    }[coefficient]
    return np.asarray(observed), np.asarray(expected)
