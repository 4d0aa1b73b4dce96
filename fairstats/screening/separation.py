"""How well a number separates two kinds of cells, with items as clusters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray


def separation(
    scores: npt.NDArray[np.floating],
    marked: npt.NDArray[np.bool_],
    *,
    limit: float,
    below: bool = False,
) -> tuple[float, float]:
    """Return the area under the ROC curve, and the p-value of the limit.

    Parameters
    ----------
    scores : ndarray, shape (items, variants)
        The numbers; NaN is left out.
    marked : ndarray of bool, shape (items, variants)
        Whether a cell is of the kind that should have the higher scores. There must be some of both
        kinds.
    limit : float
        The null hypothesis.
    below : bool
        Whether to test for an area below the limit; by default above.

    Returns
    -------
    (float, float)
        The probability that a marked cell has a higher score than another (ties count 1/2), and the
        one-sided p-value by the normal approximation.

    References
    ----------
    Obuchowski (1997), Biometrics 53:567-578, for the variance of clustered data.

    Examples
    --------
    >>> scores = np.array([[0.1], [0.3], [0.2], [0.9], [0.8]])
    >>> marked = np.array([[False], [False], [True], [True], [True]])
    >>> area, p = separation(scores, marked, limit=0.5)
    >>> round(area, 3), round(p, 3)
    (0.833, 0.079)
    """
    known = np.isfinite(scores)
    item = np.broadcast_to(np.arange(len(scores))[:, None], scores.shape)
    high, low = known & marked, known & ~marked
    above = _share_below(scores[high], scores[low])
    under = 1 - _share_below(scores[low], scores[high])
    area = float(above.mean())
    n = len(scores)
    a: FloatArray = np.bincount(item[high], above - area, n) / len(above)
    b: FloatArray = np.bincount(item[low], under - area, n) / len(under)
    clusters = (len(np.unique(item[high])), len(np.unique(item[low])), known.any(axis=1).sum())
    sums = ((a * a).sum(), (b * b).sum(), 2 * (a * b).sum())
    variance = sum(k / max(k - 1, 1) * v for k, v in zip(clusters, sums, strict=True))
    error = float(np.sqrt(max(variance, 0.0)))
    distance = (limit - area) if below else (area - limit)
    if error == 0:
        # Perfect separation: at most the share p^(1/n) of the smaller kind could still differ.
        size = min(clusters[:2])
        return area, float((limit if not below else 1 - limit) ** size) if distance > 0 else 1.0
    return area, float(scipy.stats.norm.sf(distance / error))


def _share_below(values: npt.NDArray[np.floating], others: npt.NDArray[np.floating]) -> FloatArray:
    """Return, for each value, the share of the others below it; ties count 1/2."""
    ordered = np.sort(others)
    left, right = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    return np.asarray((left + right) / (2 * len(ordered)))
