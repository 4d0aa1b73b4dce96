"""Disparities: the range of a rate over groups. DP and EO share this code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import Estimate, Tabular
from fairstats._lib.row_groups import text_array
from fairstats.counts.missing_policies import CountingPolicy, IntArray, PolicyCounts
from fairstats.counts.outcomes import MISSING, OTHER
from fairstats.inference._checks import check_alpha, check_choice, check_counts
from fairstats.metrics.accuracy import absolute_interval, accuracy_difference
from fairstats.metrics.metric import Groups, Row


@dataclass(frozen=True, repr=False)
class Disparity(Tabular):
    """A disparity of one unit: max − min of a rate over groups, with its interval.

    Attributes
    ----------
    estimate : float
        In [0, 1]; NaN if a group has no answer that counts.
    ci_low, ci_high : float
        Limits. A range is never negative, so they cannot serve as a test of 0.
    method : str
        The method used for the limits.
    n : int
        Items with an answer that counts for every group. With several samples of an item:
        combinations of answers that count, for the pair of groups with the fewest.
    """

    estimate: float
    ci_low: float
    ci_high: float
    method: str
    n: int


#: Compares two groups, from `PolicyCounts`: `accuracy_difference` or `accuracy_ratio`.
Measure = Callable[..., Estimate]
#: Condition for an item to count: maps the joint outcome patterns of a unit to the matching rows.
Condition = Callable[[pd.DataFrame], pd.Series]


def pair_differences(
    outcomes: pd.DataFrame,
    *,
    condition: Condition | None = None,
    missing: CountingPolicy = "available",
    alpha: float = 0.05,
    design_effects: Mapping[tuple[int, int], float] | None = None,
) -> PairDifferences:
    """Compute the signed accuracy difference of every two groups, with simultaneous intervals.

    Parameters
    ----------
    outcomes : pandas.DataFrame
        The joint outcome patterns of one unit and attribute: columns ``outcomes`` (one sign per
        group: 1 correct, 0 wrong, x missing), ``answerable`` and ``n``.
    condition : callable, optional
        Maps the patterns to the rows of items that count; by default all count.
    missing : {"available", "complete", "incorrect"}
        The policy for missing answers; ``complete`` requires an answer for every group.
    alpha : float
        1 − the simultaneous confidence level of all intervals. By Bonferroni, each interval uses
        alpha / number of pairs.
    design_effects : mapping of (int, int) to float, optional
        The design effect of pairs of groups with clustered answers.

    Returns
    -------
    PairDifferences
        `pairs` are those of `itertools.combinations` of the groups; n is the number of items with
        an answer that counts for both.

    Raises
    ------
    ValueError
        For patterns with fewer than two groups, unknown signs or different lengths; for invalid
        counts of items, an unknown policy, or alpha outside (0, 1). Also for a design effect that
        is not positive, or for a pair of groups that does not exist.
    """
    alpha = check_alpha(alpha)
    counted = _counted(outcomes, condition, missing).with_effects(design_effects)
    return _estimated([counted], alpha)[0]


@dataclass(frozen=True)
class _Counted:
    """Input of `pair_differences`: each pair's `PolicyCounts` as a row, and its design effect."""

    pairs: tuple[tuple[int, int], ...]
    cells: IntArray
    copies: int
    n: int
    effects: Sequence[float] = ()

    def with_effects(self, design_effects: Mapping[tuple[int, int], float] | None) -> _Counted:
        effects = design_effects or {}
        if unknown := set(effects) - set(self.pairs):
            raise ValueError(
                f"design_effects has {min(unknown)}; use pairs of places among {self.pairs}"
            )
        return replace(self, effects=[effects.get(pair, 1.0) for pair in self.pairs])


def _counted(
    outcomes: pd.DataFrame, condition: Condition | None, missing: CountingPolicy
) -> _Counted:
    check_choice("missing", missing, get_args(CountingPolicy))
    k = _groups_of(outcomes)
    patterns, weights = text_array(outcomes["outcomes"]), np.asarray(outcomes["n"])
    if condition is not None:
        own = np.asarray(condition(outcomes), dtype=bool)
        patterns, weights = patterns[own], weights[own]
    (weights,) = check_counts(n=weights)
    # signs[i, g] is the sign of pattern i for group g.
    signs = np.array([list(text) for text in patterns], dtype="<U1").reshape(len(patterns), k)
    if missing == "complete":
        whole = (signs != MISSING).all(axis=1)
        signs, weights = signs[whole], weights[whole]
    elif missing == "incorrect":
        signs = np.where(signs == MISSING, "0", signs)
    pairs = tuple(combinations(range(k), 2))
    return _Counted(
        pairs,
        np.array([_cells(signs[:, a], signs[:, b], weights) for a, b in pairs]),
        _copies(outcomes),
        _whole(signs, weights),
    )


def _estimated(
    counted: Sequence[_Counted], alpha: float, measure: Measure = accuracy_difference
) -> list[PairDifferences]:
    """Return the differences of several units with the same number of pairs, in one call."""
    many = len(counted[0].pairs)
    paired = PolicyCounts(*np.concatenate([one.cells for one in counted]).T)
    estimate = measure(
        replace(paired, copies=np.repeat([one.copies for one in counted], many)),
        alpha=alpha / many,
        design_effect=np.concatenate([one.effects for one in counted]),
    )
    found = []
    for place, one in enumerate(counted):
        own = slice(place * many, (place + 1) * many)
        arrays: dict[str, Any] = {
            name: np.broadcast_to(value, len(paired.n))[own]
            for name, value in vars(estimate).items()
            if name != "ci_level"
        }
        found.append(PairDifferences(one.pairs, replace(estimate, **arrays), one.n))
    return found


def _copies(outcomes: pd.DataFrame) -> int:
    """Return the number of combinations that share an answer; 1 if each item was answered once."""
    if "copies" not in outcomes or outcomes.empty:
        return 1
    return int(outcomes["copies"].iloc[0] * outcomes["neutral_copies"].iloc[0])


def _whole(signs: npt.NDArray[np.str_], weights: IntArray) -> int:
    """Count the items with an answer for every group (for rows of two groups: the fewest)."""
    answered = (signs == "1") | (signs == "0")
    if (signs == OTHER).any():
        sides = combinations(range(signs.shape[1]), 2)
        return min(int(weights @ (answered[:, a] & answered[:, b])) for a, b in sides)
    return int(weights @ answered.all(axis=1))


def _groups_of(outcomes: pd.DataFrame) -> int:
    """Return the number of groups in the patterns, checked."""
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


def _cells(a: npt.NDArray[np.str_], b: npt.NDArray[np.str_], weights: IntArray) -> list[int]:
    """Return the fields of `PolicyCounts` of two groups; signs determine ``same`` only as n11."""
    right_a, right_b = a == "1", b == "1"
    wrong_a, wrong_b = a == "0", b == "0"
    of_a, of_b = a != OTHER, b != OTHER
    n11 = right_a & right_b
    cells = [n11, right_a & wrong_b, wrong_a & right_b, wrong_a & wrong_b, n11]
    cells += [right_a & of_b, (right_a | wrong_a) & of_b]
    cells += [of_a & right_b, of_a & (right_b | wrong_b)]
    return [int(weights @ cell) for cell in cells]


def disparity(condition: Condition | None, doc: str) -> Callable[..., Disparity]:
    """Build a disparity function, given the condition for an item to count.

    Parameters
    ----------
    condition : callable, optional
        Maps the joint outcome patterns of a unit (see `fairstats.counts.outcomes.Folds`) to the
        rows of items that count.
    doc : str
        The docstring of the new function; its parameters are appended.

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
    """Return the range over groups, from the differences of all pairs of groups."""
    differences = found.estimate
    # The range is the largest absolute difference, so it is between the largest of the lower limits
    # and the largest of the upper limits.
    limits = absolute_interval(differences.ci_low, differences.ci_high)
    low, high = (float(side.max()) for side in limits)
    # If a group has no answers, the range is unknown.
    estimate = float(np.abs(differences.estimate).max())
    effect = max((design_effects or {}).values(), default=1.0)
    return Disparity(estimate, low, high, method_of(found, "absolute", effect), found.n)


def method_of(found: PairDifferences, folded: str, design_effect: float) -> str:
    """Name the method of an interval that is derived from those of all pairs of groups."""
    method = " and ".join(sorted(set(np.asarray(found.estimate.method).tolist())))
    method += f", {folded}"
    if len(found.pairs) > 1:
        method += f", Bonferroni over {len(found.pairs)} pairs"
    if design_effect != 1:
        method += f", design effect up to {design_effect:.3g}"
    return method


@dataclass(frozen=True)
class DifferencesOf:
    """The `pair_differences` of an attribute's groups, for ``groups.once``.

    Attributes
    ----------
    condition : callable, optional
        As in `pair_differences`.
    effects : {"effects", "answerable_effects", "ratio_effects"}
        The attribute of `Groups` with the design effects.
    measure : callable
        What compares two groups, given their counts.
    """

    condition: Condition | None = None
    effects: Literal["effects", "answerable_effects", "ratio_effects"] = "effects"
    measure: Measure = accuracy_difference

    def __call__(self, groups: Groups) -> PairDifferences:
        """Return the differences of one unit."""
        return _estimated([self._counted(groups)], groups.alpha, self.measure)[0]

    def together(self, many: Sequence[Groups]) -> None:
        """Store the differences of many units, computed in one search for all units of a size."""
        by_size: dict[tuple[int, float], list[tuple[Groups, _Counted]]] = {}
        for groups in many:
            counted = self._counted(groups)
            by_size.setdefault((len(counted.pairs), groups.alpha), []).append((groups, counted))
        for (_, alpha), of_size in by_size.items():
            found = _estimated([counted for _, counted in of_size], alpha, self.measure)
            for (groups, _), differences in zip(of_size, found, strict=True):
                groups.keep(self, differences)

    def _counted(self, groups: Groups) -> _Counted:
        if self.condition is None:
            counted = groups.once(_counted_items)
        else:
            counted = _counted(groups.outcomes, self.condition, groups.missing)
        return counted.with_effects(getattr(groups, self.effects))


def _counted_items(groups: Groups) -> _Counted:
    return _counted(groups.pairs, None, groups.missing)


differences_of = DifferencesOf()


def disparity_row(found: Disparity, groups: Groups, note: str = "") -> Row:
    """Return a disparity's row of the estimates table."""
    note = "a range is never negative; not a test of 0" + note
    return found.to_row() | {"ci_level": 1 - groups.alpha, "method_note": note}


_PARAMETERS = """

    Parameters
    ----------
    outcomes : pandas.DataFrame
        The joint outcome patterns of one unit and attribute: columns ``outcomes`` (one sign per
        group: 1 correct, 0 wrong, x missing), ``answerable`` and ``n``.
    missing : {"available", "complete", "incorrect"}
        The policy for missing answers; ``complete`` requires an answer for every group.
    alpha : float
        1 − confidence level; the interval is derived from the simultaneous ones of the pairs.
    design_effects : mapping of (int, int) to float, optional
        The design effect of each pair of groups with clustered answers.

    Returns
    -------
    Disparity

    Raises
    ------
    ValueError
        For patterns with fewer than two groups, unknown signs or different lengths; for invalid
        counts of items, an unknown policy, or alpha outside (0, 1). Also for a design effect that
        is not positive, or for an unknown pair of groups.
    """
