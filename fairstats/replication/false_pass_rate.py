"""How often a made-up figure passes the check of published tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from fairstats._lib.result_objects import FloatArray
from fairstats.inference.effect_sizes import arcsine
from fairstats.inference.mcnemar import McNemarMethod
from fairstats.replication.discordant_runs import MOST_LISTED, p_values
from fairstats.replication.printed_figures import MAX_DECIMALS, SHARES


@dataclass(frozen=True)
class PassRate:
    """The probability that a random figure is possible for n, each without the row's others.

    The random figure is uniform over all figures with these decimals in its range.

    Attributes
    ----------
    figure : str
        The metric.
    decimals : int
        Its decimals; those of the share, for a percentage.
    rounded : float
        The probability that it is the rounded value of a table.
    rounded_or_truncated : float
        The probability that it is the rounded or truncated value of a table.
    """

    figure: str
    decimals: int
    rounded: float
    rounded_or_truncated: float


@cache
def pass_rate(metric: str, decimals: int, n: int, test: McNemarMethod = "exact") -> PassRate | None:
    """Compute how often a random figure passes; None for an odds ratio, and for h and p at large n.

    An odds ratio has no largest value, so that no share of all can be given.

    Examples
    --------
    >>> round(pass_rate("cfr", 4, 801).rounded, 3), pass_rate("cfr", 2, 801).rounded
    (0.08, 1.0)
    """
    values = _values(metric, n, test)
    if values is None or not 0 <= decimals <= MAX_DECIMALS:
        return None
    scaled = values * 10.0**decimals
    # Shares are exact to far below a tie; a tie may go either way.
    nearest = np.r_[np.floor(scaled + 0.5 + 1e-9), np.ceil(scaled - 0.5 - 1e-9)]
    largest = math.pi if metric == "cohens_h" else 1.0
    number = math.floor(largest * 10**decimals + 0.5) + 1
    if metric == "accuracy_difference":
        number = 2 * number - 1
    rounded = len(np.unique(nearest))
    either = len(np.unique(np.r_[nearest, np.trunc(scaled + np.copysign(1e-9, scaled))]))
    return PassRate(metric, decimals, rounded / number, either / number)


def _values(metric: str, n: int, test: McNemarMethod) -> FloatArray | None:
    """Return every value of a figure alone; None if they are too many."""
    if metric in SHARES:
        low = -n if metric == "accuracy_difference" else 0
        return np.arange(low, n + 1) / n
    if metric == "odds_ratio" or n > MOST_LISTED:
        return None
    if metric == "p":
        values = np.unique(p_values(n, test))
        return values[~np.isnan(values)]
    angle = arcsine(np.arange(n + 1) / n)
    return np.unique(np.abs(angle[:, None] - angle))
