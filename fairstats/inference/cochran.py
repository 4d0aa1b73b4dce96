"""Cochran's Q: do any of several groups differ in accuracy on the same items?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import TestResult
from fairstats.inference._checks import check_counts


def cochran_q(patterns: npt.ArrayLike, counts: npt.ArrayLike) -> TestResult:
    """Test equal accuracy of k groups on the same items (Cochran's Q).

    Q = (k − 1) (k Σ_g G_g² − T²) / (k T − Σ_i L_i²), compared with χ² with k − 1 degrees of
    freedom. G_g is the number of correct answers of group g, L_i that of item i, and T the total.

    Parameters
    ----------
    patterns : array_like of {0, 1}, shape (m, k)
        Patterns of correct (1) and wrong (0) over the k ≥ 2 groups.
    counts : array_like of int, shape (m,)
        Number of items with each pattern.

    Returns
    -------
    TestResult
        If all groups agree on every item, the statistic is 0 and p is 1.

    Raises
    ------
    ValueError
        For fewer than two groups, patterns with values other than 0 and 1, invalid counts, or
        shapes that do not fit.

    Notes
    -----
    For two groups Q is McNemar's asymptotic χ² without correction.

    References
    ----------
    Cochran (1950), Biometrika 37:256-266. `statsmodels.stats.contingency_tables.cochrans_q` takes
    one row per item; this function takes counts. Checked against it and tests/r/tests.R.

    Examples
    --------
    >>> result = cochran_q([[1, 1, 0], [1, 0, 0], [0, 0, 0]], [12, 6, 20])
    >>> float(result.statistic), int(result.df)
    (28.0, 2)
    """
    right = np.asarray(patterns)
    # Patterns may be booleans here; counts may not.
    (states,) = check_counts(patterns=right.astype(int) if right.dtype == bool else patterns)
    (many,) = check_counts(counts=counts)
    if states.ndim != 2 or states.shape[1] < 2 or many.shape != states.shape[:1]:
        raise ValueError(
            "patterns must have shape (m, k), k at least 2, and counts (m,); "
            f"got {states.shape} and {many.shape}"
        )
    if np.any(states > 1):
        raise ValueError(f"patterns holds {states.max()}; it must contain only 0 and 1")
    k = states.shape[1]
    # Python integers: squares of billions do not fit into 64 bits.
    groups = [int(group) for group in many @ states]
    total, items = sum(groups), int(many.astype(object) @ states.sum(axis=1) ** 2)
    spread = k * total - items
    q = (k - 1) * (k * sum(group**2 for group in groups) - total**2) / spread if spread else 0.0
    return TestResult(
        np.asarray(q),
        np.asarray(scipy.stats.chi2.sf(q, k - 1)),
        "cochran",
        df=np.asarray(k - 1),
        n=np.asarray(many.sum()),
    )
