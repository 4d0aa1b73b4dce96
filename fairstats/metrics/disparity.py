"""Disparities: the range of a rate over groups. AD, DP and EO are one idea, made here once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from fairstats.inference.intervals import tango
from fairstats.missing import CountingPolicy


@dataclass(frozen=True)
class Disparity:
    """A disparity of one unit: max − min over groups of a rate, with its interval.

    Attributes
    ----------
    estimate : float
        In [0, 1]; NaN where a group has no answer that counts.
    ci_low, ci_high : float
        Limits. A range is never negative, so that they are not to be read as a test of 0.
    ci_method : str
        How they were made.
    n : int
        Items with an answer that counts for every group.
    """

    estimate: float
    ci_low: float
    ci_high: float
    ci_method: str
    n: int


def disparity(condition: Callable[[pd.DataFrame], pd.Series], doc: str) -> Callable[..., Disparity]:
    """Make a disparity from the condition that an item has to meet to count.

    Parameters
    ----------
    condition : callable
        Takes the joint outcome patterns of a unit (see `fairstats.counts.fold_outcomes`), gives
        the rows whose items count.
    doc : str
        The docstring of the function that is made.

    Returns
    -------
    callable
        ``(outcomes, *, missing="available", alpha=0.05) -> Disparity``.
    """

    def compute(
        outcomes: pd.DataFrame, *, missing: CountingPolicy = "available", alpha: float = 0.05
    ) -> Disparity:
        rows = outcomes[condition(outcomes)]
        signs = rows["outcomes"]
        if missing == "complete":
            rows = rows[~signs.str.contains("x")]
            signs = rows["outcomes"]
        elif missing == "incorrect":
            signs = signs.str.replace("x", "0")
        weights = rows["n"].to_numpy(dtype=np.int64)
        k = len(outcomes["outcomes"].iloc[0])
        # states[i, g]: the sign of pattern i for group g
        states = np.array([list(text) for text in signs], dtype="<U1").reshape(len(rows), k)
        correct = np.array([weights[states[:, g] == "1"].sum() for g in range(k)])
        n = np.array([weights[states[:, g] != "x"].sum() for g in range(k)])
        whole = int(weights[(states != "x").all(axis=1)].sum()) if len(rows) else 0
        rates = correct / np.maximum(n, 1)
        estimate = float(rates.max() - rates.min()) if (n > 0).all() else float("nan")

        pairs = list(combinations(range(k), 2))
        # Every pair's signed interval at a level that holds for all of them at once; the range is
        # the largest of their absolute values, so it lies between the largest of the limits.
        limits = []
        for a, b in pairs:
            n10 = int(weights[(states[:, a] == "1") & (states[:, b] == "0")].sum())
            n01 = int(weights[(states[:, a] == "0") & (states[:, b] == "1")].sum())
            both = int(weights[(states[:, a] != "x") & (states[:, b] != "x")].sum())
            interval = tango(n10, n01, both, alpha=alpha / len(pairs))
            limits.append(absolute_interval(float(interval.low), float(interval.high)))
        low, high = max(low for low, _ in limits), max(high for _, high in limits)
        method = "tango, absolute"
        if len(pairs) > 1:
            method += f", Bonferroni over {len(pairs)} pairs"
        if estimate < low or estimate > high:
            low, high = min(low, estimate), max(high, estimate)
            method += ", widened to the estimate"
        return Disparity(estimate, low, high, method, whole)

    compute.__doc__ = doc
    return compute


def absolute_interval(low: float, high: float) -> tuple[float, float]:
    """The values that \\|d\\| takes while d runs from low to high."""
    if low <= 0 <= high:
        return 0.0, max(-low, high)
    return min(abs(low), abs(high)), max(abs(low), abs(high))


_PARAMETERS = """

    Parameters
    ----------
    outcomes : pandas.DataFrame
        The joint outcome patterns of one unit and attribute: columns ``outcomes`` (one sign a
        group: 1 correct, 0 wrong, x missing), ``answerable`` and ``n``.
    missing : {"available", "complete", "incorrect"}
        The policy for missing answers; ``complete`` asks for an answer for every group.
    alpha : float
        1 − confidence level; the interval is made from Tango intervals of the pairs.

    Returns
    -------
    Disparity
    """

demographic_parity = disparity(
    lambda outcomes: pd.Series(True, index=outcomes.index),
    "Demographic parity disparity: max − min over groups of P(correct)." + _PARAMETERS,
)

equal_opportunity = disparity(
    lambda outcomes: outcomes["answerable"] == "1",
    "Equal opportunity disparity: max − min over groups of P(correct | answerable).\n\n"
    "    An item is answerable for a model that answers its neutralized variant correctly."
    + _PARAMETERS,
)
