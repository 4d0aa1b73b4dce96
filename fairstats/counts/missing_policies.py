"""The four policies for missing answers: from outcome patterns to the counts used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.row_groups import text_array
from fairstats.benchmarks.declaration import POOLED
from fairstats.counts.outcomes import MISSING, PATTERNS
from fairstats.inference._checks import check_choice, check_counts, check_parts

IntArray = npt.NDArray[np.int64]

#: The policies that give counts; `bounds` gives a range of estimates instead.
CountingPolicy = Literal["available", "complete", "incorrect"]


@dataclass(frozen=True)
class PolicyCounts:
    """The counts from which the estimates of a pair of groups are computed, one element per unit.

    Attributes
    ----------
    n11, n10, n01, n00 : ndarray of int
        The paired table, over the pairs used for paired estimates: both correct, only a, only b,
        neither.
    same : ndarray of int
        Number of these pairs with the same letter.
    correct_a, n_a, correct_b, n_b : ndarray of int
        Correct answers of each group, and the number of its answers that count.
    copies : ndarray of int
        With several samples per item, all counts are numbers of pairs of answers; each answer is in
        this many pairs.
    """

    n11: IntArray
    n10: IntArray
    n01: IntArray
    n00: IntArray
    same: IntArray
    correct_a: IntArray
    n_a: IntArray
    correct_b: IntArray
    n_b: IntArray
    copies: IntArray | int = 1

    @property
    def n(self) -> IntArray:
        """Return the number of pairs."""
        return self.n11 + self.n10 + self.n01 + self.n00

    @property
    def own(self) -> dict[str, IntArray]:
        """Return each group's answer counts by name, as the intervals take them."""
        return {name: getattr(self, name) for name in ("correct_a", "n_a", "correct_b", "n_b")} | {
            "copies": np.asarray(self.copies, dtype=np.int64)
        }


def complete_counts(
    n11: npt.ArrayLike,
    n10: npt.ArrayLike,
    n01: npt.ArrayLike,
    n00: npt.ArrayLike,
    *,
    same: npt.ArrayLike | None = None,
) -> PolicyCounts:
    """Build the counts of pairs without missing answers.

    Parameters
    ----------
    n11, n10, n01, n00 : array_like of int
        Pairs with both correct, only a, only b, neither; broadcast against each other.
    same : array_like of int, optional
        Pairs with the same letter (default: those with both correct).

    Returns
    -------
    PolicyCounts

    Raises
    ------
    ValueError
        For an invalid count. Also for fewer pairs with the same letter than with both correct, or
        more than with both correct or both wrong.
    """
    n11, n10, n01, n00, alike = check_counts(
        n11=n11, n10=n10, n01=n01, n00=n00, same=n11 if same is None else same
    )
    check_parts("n11", n11, "same", alike)
    check_parts("same", alike, "n11 + n00", n11 + n00)
    n = n11 + n10 + n01 + n00
    return PolicyCounts(n11, n10, n01, n00, alike, n11 + n10, n, n11 + n01, n)


def apply_policy(counts: pd.DataFrame, missing: CountingPolicy) -> PolicyCounts:
    """Convert the ten outcome patterns to the counts used under a policy.

    Parameters
    ----------
    counts : pandas.DataFrame
        With the columns of `fairstats.counts.outcomes.PATTERNS`, one row per unit. Rows of the
        attribute ``pooled`` follow `pooled_policy`.
    missing : {"available", "complete", "incorrect"}
        ``available``: paired estimates use the pairs with both answers, and each group's accuracy
        uses all its answers; ``complete``: everything uses the pairs with both answers;
        ``incorrect``: a missing answer is wrong, and differs from every other answer, including
        another missing one.

    Returns
    -------
    PolicyCounts

    Raises
    ------
    ValueError
        For an unknown policy.
    """
    check_choice("missing", missing, get_args(CountingPolicy))
    c = {name: counts[name].to_numpy(dtype=np.int64) for name in counts if name.startswith("n")}
    n11, n10, n01 = c["n11"], c["n10"], c["n01"]
    n00 = c["n00_same"] + c["n00_different"]
    same = n11 + c["n00_same"]
    if missing == "incorrect":
        n10 = n10 + c["n1x"]
        n01 = n01 + c["nx1"]
        n00 = n00 + c["n0x"] + c["nx0"] + c["nxx"]
    correct_a, correct_b = n11 + n10, n11 + n01
    n_a = n_b = n11 + n10 + n01 + n00
    if missing == "available":
        own = np.ones(len(counts), dtype=np.int64)
        if "attribute" in counts:
            own = (text_array(counts["attribute"]) != POOLED).astype(np.int64)
        correct_a, n_a = correct_a + own * c["n1x"], n_a + own * (c["n1x"] + c["n0x"])
        correct_b, n_b = correct_b + own * c["nx1"], n_b + own * (c["nx1"] + c["nx0"])
    copies = copies_of(counts)
    return PolicyCounts(n11, n10, n01, n00, same, correct_a, n_a, correct_b, n_b, copies)


def pooled_policy(missing: CountingPolicy) -> CountingPolicy:
    """Return the policy for the pooled attributes: ``complete`` in place of ``available``.

    Accuracy differs between attributes. If a group lacks answers in one attribute, using all
    answers of each group would mix attributes in different proportions. The groups would then
    differ even if no pair does.
    """
    return "complete" if missing == "available" else missing


def copies_of(counts: pd.DataFrame) -> IntArray:
    """Return the number of pairs that share an answer, per row; 1 if the table has no copies."""
    if "copies" not in counts:
        return np.ones(len(counts), dtype=np.int64)
    return counts["copies"].to_numpy(dtype=np.int64)


def missing_per_group(counts: pd.DataFrame) -> tuple[IntArray, IntArray]:
    """Count the pairs without an answer of group a, and those without an answer of group b."""
    c = {name: counts[name].to_numpy(dtype=np.int64) for name in PATTERNS if MISSING in name}
    return c["nx1"] + c["nx0"] + c["nxx"], c["n1x"] + c["n0x"] + c["nxx"]


def of_each_pattern(missing: CountingPolicy) -> PolicyCounts:
    """Return one pair's contribution to the counts, for each outcome pattern of `PATTERNS`."""
    one_of_each = pd.DataFrame(np.eye(len(PATTERNS), dtype=np.int64), columns=list(PATTERNS))
    return apply_policy(one_of_each, missing)


def missing_flags(counts: pd.DataFrame) -> PolicyCounts:
    """Return the paired table of missing answers, in which "correct" means missing."""
    c = {name: counts[name].to_numpy(dtype=np.int64) for name in PATTERNS}
    there = sum(c[name] for name in PATTERNS if MISSING not in name)
    return complete_counts(c["nxx"], c["nx1"] + c["nx0"], c["n1x"] + c["n0x"], there)
