"""p-values adjusted for the number of tests in a family."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairstats.results import FloatArray


def adjust_pvalues(p_values: npt.ArrayLike, *, method: str = "holm") -> FloatArray:
    """Adjust p-values over the family they form.

    Holm's step-down procedure controls the probability of any false rejection in the family
    without an assumption on how the tests depend on each other; that is why it is the default:
    the models of a benchmark answer the same items.

    Parameters
    ----------
    p_values : array_like of float
        The family. NaN (no test was possible) stays NaN and does not count.
    method : {"holm"}
        The procedure.

    Returns
    -------
    ndarray
        Adjusted p-values, in [0, 1], of the same length.

    Raises
    ------
    ValueError
        When the method is unknown or a p-value lies outside [0, 1].

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6:65-70; computed by
    `statsmodels.stats.multitest`, checked against R's ``p.adjust`` (tests/r/paired.R).

    Examples
    --------
    >>> adjust_pvalues([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    from statsmodels.stats.multitest import multipletests

    if method != "holm":
        raise ValueError(f"method={method!r} is unknown; use holm")
    p = np.asarray(p_values, dtype=np.float64)
    there = ~np.isnan(p)
    if np.any((p[there] < 0) | (p[there] > 1)):
        raise ValueError("p_values must lie in [0, 1]")
    adjusted = np.full(p.shape, np.nan)
    if there.any():
        adjusted[there] = multipletests(p[there], method=method)[1]
    return adjusted
