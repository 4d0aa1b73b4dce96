"""Disparities: the range of a rate over groups. DP and EO are one idea, made here once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import Estimate
from fairstats.counts.missing_policies import CountingPolicy, PairedCounts
from fairstats.counts.outcomes import OTHER
from fairstats.inference._checks import check_alpha, check_choice, check_counts
from fairstats.metrics.accuracy import absolute_interval, accuracy_difference
from fairstats.metrics.metric import Groups, Row


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
        Items with an answer that counts for every group. With several samples of an item: the
        combinations of answers that count, of the pair of groups with the fewest.
    """

    estimate: float
    ci_low: float
    ci_high: float
    ci_method: str
    n: int


#: What makes an item count: takes the joint outcome patterns of a unit, gives the rows that do.
Condition = Callable[[pd.DataFrame], pd.Series]


def pair_differences(
    outcomes: pd.DataFrame,
    *,
    condition: Condition | None = None,
    missing: CountingPolicy = "available",
    alpha: float = 0.05,
    design_effects: Mapping[tuple[int, int], float] | None = None,
) -> PairDifferences:
    """The signed accuracy difference of every two groups, with simultaneous intervals.

    Parameters
    ----------
    outcomes : pandas.DataFrame
        The joint outcome patterns of one unit and attribute: columns ``outcomes`` (one sign a
        group: 1 correct, 0 wrong, x missing), ``answerable`` and ``n``.
    condition : callable, optional
        Takes the patterns and gives the rows whose items count; by default all.
    missing : {"available", "complete", "incorrect"}
        The policy for missing answers; ``complete`` asks for an answer for every group.
    alpha : float
        1 − the level at which all intervals hold at once: by Bonferroni, each is at
        1 − alpha / number of pairs.
    design_effects : mapping of (int, int) to float, optional
        The design effect of a pair of groups whose answers are clustered.

    Returns
    -------
    PairDifferences
        `pairs` are those of `itertools.combinations` of the groups; n is the number of items with
        an answer that counts for both.

    Raises
    ------
    ValueError
        For patterns of fewer than two groups, of other signs or of unlike lengths, counts of items
        that are not counts, an unknown policy, alpha outside (0, 1), a design effect that is not
        positive, or one of a pair of groups that does not exist.
    """
    alpha = check_alpha(alpha)
    check_choice("missing", missing, get_args(CountingPolicy))
    k = _groups_of(outcomes)
    rows = outcomes if condition is None else outcomes[condition(outcomes)]
    signs = rows["outcomes"]
    if missing == "complete":
        rows = rows[~signs.str.contains("x")]
        signs = rows["outcomes"]
    elif missing == "incorrect":
        signs = signs.str.replace("x", "0")
    (weights,) = check_counts(n=rows["n"])
    # states[i, g]: the sign of pattern i for group g
    states = np.array([list(text) for text in signs], dtype="<U1").reshape(len(rows), k)
    pairs = tuple(combinations(range(k), 2))
    cells = np.array([_cells(states[:, a], states[:, b], weights) for a, b in pairs])
    if unknown := set(design_effects or {}) - set(pairs):
        raise ValueError(f"design_effects has {min(unknown)}; use pairs of places among {pairs}")
    effects = [(design_effects or {}).get(pair, 1.0) for pair in pairs]
    estimate = accuracy_difference(
        replace(PairedCounts(*cells.T), copies=_copies(outcomes)),
        alpha=alpha / len(pairs),
        design_effect=effects,
    )
    return PairDifferences(pairs, estimate, _whole(states, weights))


def _copies(outcomes: pd.DataFrame) -> int:
    """In how many combinations of answers each answer is; 1 if each item was answered once."""
    if "copies" not in outcomes or outcomes.empty:
        return 1
    return int(outcomes["copies"].iloc[0] * outcomes["neutral_copies"].iloc[0])


def _whole(states: npt.NDArray[np.str_], weights: npt.NDArray[np.int64]) -> int:
    """The items with an answer for every group; of rows of two groups, the fewest of a pair."""
    k = states.shape[1]
    answered = [
        int(weights[np.isin(states[:, [a, b]], ["0", "1"]).all(axis=1)].sum())
        for a, b in combinations(range(k), 2)
    ]
    if (states == OTHER).any():
        return min(answered)
    return int(weights[(states != "x").all(axis=1)].sum()) if len(states) else 0


def _groups_of(outcomes: pd.DataFrame) -> int:
    """The number of groups that the patterns are of, checked."""
    if outcomes.empty:
        raise ValueError("outcomes has no row: give the patterns of one unit and attribute")
    k = len(str(outcomes["outcomes"].iloc[0]))
    signs = set(f"10x{OTHER}")
    for pattern in outcomes["outcomes"]:
        if not isinstance(pattern, str) or len(pattern) != k or k < 2 or set(pattern) - signs:
            raise ValueError(
                f"outcomes={pattern!r} must have one of 1, 0 and x for each of the same two or "
                "more groups, e.g. '10'"
            )
    return k


@dataclass(frozen=True)
class PairDifferences:
    """The differences of all pairs of groups: `pairs` of places, their `estimate`, and `n`, the
    items with an answer that counts for every group.
    """

    pairs: tuple[tuple[int, int], ...]
    estimate: Estimate
    n: int


def _cells(
    a: npt.NDArray[np.str_], b: npt.NDArray[np.str_], weights: npt.NDArray[np.int64]
) -> list[int]:
    """The fields of `PairedCounts` of two groups; ``same`` is not known from signs, and n11."""

    def count(first: str, second: str) -> int:
        return int(weights[np.isin(a, list(first)) & np.isin(b, list(second))].sum())

    n11 = count("1", "1")
    cells = [n11, count("1", "0"), count("0", "1"), count("0", "0"), n11]
    return [*cells, count("1", "10x"), count("10", "10x"), count("10x", "1"), count("10x", "10")]


def disparity(condition: Condition | None, doc: str) -> Callable[..., Disparity]:
    """Make a disparity from the condition that an item has to meet to count.

    Parameters
    ----------
    condition : callable, optional
        Takes the joint outcome patterns of a unit (see `fairstats.counts.outcomes.Folds`), gives
        the rows whose items count.
    doc : str
        What the function that is made computes; its parameters are added.

    Returns
    -------
    callable
        ``(outcomes, *, missing="available", alpha=0.05, design_effects=None) -> Disparity``.
    """

    def compute(
        outcomes: pd.DataFrame,
        *,
        missing: CountingPolicy = "available",
        alpha: float = 0.05,
        design_effects: Mapping[tuple[int, int], float] | None = None,
    ) -> Disparity:
        found = pair_differences(
            outcomes,
            condition=condition,
            missing=missing,
            alpha=alpha,
            design_effects=design_effects,
        )
        return range_of(found, design_effects)

    compute.__doc__ = doc + _PARAMETERS
    return compute


def range_of(
    found: PairDifferences, design_effects: Mapping[tuple[int, int], float] | None = None
) -> Disparity:
    """The range over groups, from the differences of all pairs of them."""
    differences = found.estimate
    # The range is the largest of the absolute differences, so that it lies between the
    # largest of their limits.
    limits = absolute_interval(differences.ci_low, differences.ci_high)
    low, high = (float(side.max()) for side in limits)
    # Without an answer for one group the range is not known.
    estimate = float(np.abs(differences.estimate).max())
    method = " and ".join(sorted(set(np.asarray(differences.ci_method).tolist())))
    method += ", absolute"
    if len(found.pairs) > 1:
        method += f", Bonferroni over {len(found.pairs)} pairs"
    effect = max((design_effects or {}).values(), default=1.0)
    if effect != 1:
        method += f", design effect up to {effect:.3g}"
    return Disparity(estimate, low, high, method, found.n)


def differences_of(groups: Groups) -> PairDifferences:
    """`pair_differences` over all items of an attribute, for ``groups.once``."""
    return pair_differences(
        groups.pairs, missing=groups.missing, alpha=groups.alpha, design_effects=groups.effects
    )


def disparity_row(found: Disparity, groups: Groups, note: str = "") -> Row:
    """A disparity's row of the estimates table."""
    note = "a range is never negative; not a test of 0" + note
    return vars(found) | {"ci_level": 1 - groups.alpha, "method_note": note}


_PARAMETERS = """

    Parameters
    ----------
    outcomes : pandas.DataFrame
        The joint outcome patterns of one unit and attribute: columns ``outcomes`` (one sign a
        group: 1 correct, 0 wrong, x missing), ``answerable`` and ``n``.
    missing : {"available", "complete", "incorrect"}
        The policy for missing answers; ``complete`` asks for an answer for every group.
    alpha : float
        1 − confidence level; the interval is made from the simultaneous ones of the pairs.
    design_effects : mapping of (int, int) to float, optional
        The design effect of a pair of groups whose answers are clustered.

    Returns
    -------
    Disparity

    Raises
    ------
    ValueError
        For patterns of fewer than two groups, of other signs or of unlike lengths, counts of items
        that are not counts, an unknown policy, alpha outside (0, 1), a design effect that is not
        positive, or one of a pair of groups that does not exist.
    """
