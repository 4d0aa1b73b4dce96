"""Cronbach's alpha: how well a test's scores would be reproduced with other, similar items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import Tabular
from fairstats.inference._checks import check_alpha, check_numbers


@dataclass(frozen=True, repr=False)
class Reliability(Tabular):
    """Result of `cronbach_alpha`: estimate, limits, level, method and sample sizes."""

    estimate: float
    ci_low: float
    ci_high: float
    ci_level: float
    method: str
    takers: int
    items: int


def cronbach_alpha(scores: npt.ArrayLike, *, alpha: float = 0.05) -> Reliability:
    """Compute Cronbach's alpha, k / (k − 1) · (1 − Σ s²ᵢ / s²), with Feldt's interval.

    s²ᵢ is the variance of item i's scores over the test takers, and s² that of their sums. For
    scores of 0 and 1 it is Kuder and Richardson's formula 20.

    Parameters
    ----------
    scores : array_like of float, shape (takers, items)
        Each test taker's score on each item.
    alpha : float
        1 − confidence level.

    Returns
    -------
    Reliability
        NaN with limits −∞ and 1 for fewer than two takers or items, or if all takers have the same
        sum.

    Raises
    ------
    ValueError
        For scores that are not finite or not of shape (takers, items).

    Notes
    -----
    Feldt's interval assumes randomly drawn takers, and normal scores with equal variances and
    covariances. For a few models it is a rough guide.

    References
    ----------
    Cronbach (1951), Psychometrika 16:297-334; Kuder & Richardson (1937), Psychometrika 2:151-160;
    Feldt, Woodruff & Salih (1987), Applied Psychological Measurement 11:93-103.

    Examples
    --------
    >>> found = cronbach_alpha([[1, 1, 1], [1, 1, 0], [0, 1, 0], [0, 0, 0]])
    >>> round(found.estimate, 4)
    0.75
    """
    alpha = check_alpha(alpha)
    table = check_numbers("scores", scores, booleans=True, example="1")
    if table.ndim != 2:
        raise ValueError(f"scores must have shape (takers, items); got {table.shape}")
    takers, items = table.shape
    total = float(table.sum(axis=1).var(ddof=1)) if takers > 1 else 0.0
    if items < 2 or total <= 1e-20:
        nothing = "none (too few takers or items, or all alike)"
        return Reliability(np.nan, -np.inf, 1.0, 1 - alpha, nothing, takers, items)
    estimate = items / (items - 1) * (1 - float(table.var(axis=0, ddof=1).sum()) / total)
    degrees = takers - 1, (takers - 1) * (items - 1)
    low, high = (
        1 - (1 - estimate) * float(scipy.stats.f.ppf(level, *degrees))
        for level in (1 - alpha / 2, alpha / 2)
    )
    return Reliability(estimate, low, high, 1 - alpha, "Feldt", takers, items)
