"""The finding of a check, the rule that turns it into a flag, and tests with items as units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from fairstats._lib.formatting import quoted
from fairstats._lib.result_objects import FloatArray
from fairstats.answers.engine_frames import UNIT_COLUMNS, Unit
from fairstats.inference.differences import MeanDifference, mean_difference

Flag = Literal["ok", "declared", "look", "block", "not_checked"]
#: The flags that ask whoever made the answers something.
ASKING: tuple[Flag, ...] = ("look", "block")
#: The flag of what a declared relation explains.
DECLARED: Flag = "declared"
#: Adjusted p-values below which a value is flagged. Each tests the limit that honest sets keep, not
#: equality. So both levels are far stricter than the error rate for a typical honest set.
LOOK_LEVEL = 0.01
BLOCK_LEVEL = 1e-9
#: No p-value is 0: further digits of a t-test or a normal approximation mean nothing.
LEAST_P = 1e-300
#: Fewest items that a test needs. Below, a check is not carried out.
FEWEST_ITEMS = 10
#: Fewest other models from which the usual answers to an item can be estimated.
FEWEST_MODELS = 3


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes
    ----------
    check : str
        The name of the check.
    value : float
        The measured value; NaN if the check was not possible.
    reference : float
        The limit for honest answer sets, which `p_value` tests.
    p_value : float
        One-sided: the probability of a value at least as far beyond `reference` for a set that is
        exactly at `reference`. NaN if the value is not a matter of chance; else at least `LEAST_P`.
    worst : {"ok", "declared", "look", "block", "not_checked"}
        The flag of this value if the test is significant, or if there is no test. It is ``block``
        only for what no honest process produces.
    note : str
        The finding in a sentence.
    question : str
        What to ask the submitter about a flagged value; empty if the finding says it.
    """

    check: str
    value: float
    reference: float
    p_value: float
    worst: Flag
    note: str
    question: str = ""

    def __post_init__(self) -> None:
        if self.p_value < LEAST_P:
            object.__setattr__(self, "p_value", LEAST_P)

    def flag(self, p_adjusted: float) -> Flag:
        """Return the flag for a p-value that was adjusted over all checks of the set.

        Examples
        --------
        >>> finding = Finding("letters", 0.9, 0.4, 1e-12, "block", "")
        >>> finding.flag(1e-10), finding.flag(0.005), finding.flag(0.2)
        ('block', 'look', 'ok')
        """
        if np.isnan(self.p_value):
            return self.worst
        if p_adjusted >= LOOK_LEVEL:
            return "ok"
        return "look" if self.worst == "block" and p_adjusted >= BLOCK_LEVEL else self.worst


def not_checked(check: str, why: str) -> Finding:
    """Return the finding of a check that was not possible: a state of its own, which asks nothing.

    It does not clear a set either: "ok" would read as a pass.
    """
    return Finding(check, np.nan, np.nan, np.nan, "not_checked", f"Not checked: {why}.")


def too_few_models(check: str, models: int) -> Finding:
    """Return the finding of a check without enough other models to compare with."""
    why = f"it needs answers of at least {FEWEST_MODELS} other models, and there are {models}"
    return not_checked(check, why)


def p_above_zero(by_item: npt.NDArray[np.floating]) -> float:
    """Test that the mean of one number per item is above 0, by Student's t over items.

    The variants of an item are not independent, so the item is the unit.

    Examples
    --------
    >>> round(p_above_zero(np.array([0.2, 0.1, 0.3, -0.1, 0.2, 0.4])), 4)
    0.0239
    """
    return p_above(mean_difference(by_item))


def p_above(found: MeanDifference) -> float:
    """Return the p-value of the one-sided test that a mean is above the tested one."""
    return found.p_value / 2 if found.estimate > 0 else 1 - found.p_value / 2


def separation(
    scores: npt.NDArray[np.floating],
    marked: npt.NDArray[np.bool_],
    *,
    limit: float,
    below: bool = False,
    strata: npt.NDArray[np.integer] | None = None,
) -> tuple[float, float]:
    """Return the area under the ROC curve, and its one-sided p-value by a normal approximation.

    The area is the probability that a marked cell, of (items, variants), has a higher score than
    another one of its stratum; ties count 1/2, and NaN is left out. `strata` has one value per
    item. There must be cells of both kinds in a stratum. The test is for an area above the limit,
    or `below` it.

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
    n = len(scores)
    known = np.isfinite(scores)
    item = np.broadcast_to(np.arange(n)[:, None], scores.shape)
    of = np.broadcast_to((np.zeros(n, int) if strata is None else strata)[:, None], scores.shape)
    # For each cell, the pairs that it is part of, and those of them with a higher marked score.
    pairs, higher = np.zeros(scores.shape), np.zeros(scores.shape)
    for stratum in np.unique(of[known]):
        high, low = (known & (of == stratum) & own for own in (marked, ~marked))
        if not (high.any() and low.any()):
            continue
        pairs[high], pairs[low] = low.sum(), high.sum()
        higher[high] = low.sum() * _share_below(scores[high], scores[low])
        higher[low] = high.sum() * (1 - _share_below(scores[low], scores[high]))
    high, low = (known & (pairs > 0) & own for own in (marked, ~marked))
    area = float(higher[high].sum() / pairs[high].sum())
    a, b = (
        np.bincount(item[own], higher[own] - area * pairs[own], n) / pairs[own].sum()
        for own in (high, low)
    )
    answered = int((high | low).any(axis=1).sum())
    clusters = (len(np.unique(item[high])), len(np.unique(item[low])), answered)
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


def percent(share: float) -> str:
    """Return a share for a sentence.

    Examples
    --------
    >>> percent(0.9474), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{share:.1%}" if 0.99 < share < 1 or 0 < share < 0.01 else f"{share:.0%}"


def flags_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the checks with a flag that asks for something."""
    return rows[rows["flag"].isin(ASKING)]


def flag_notes(rows: pd.DataFrame, overruled: Mapping[Unit, str]) -> list[str]:
    """Return a sentence for each flag, and why the publisher shows answers that were blocked.

    Agreement with a declared relative is noted too, though it asks for nothing.
    """
    # Answers that are blocked only because of others are published if they are not without them.
    notes = []
    for row in rows[rows["flag"].isin([*ASKING, DECLARED])].to_dict("records"):
        note = f"{quoted(row['model'])}: {row['note']}"
        why = overruled.get(tuple(row[name] for name in UNIT_COLUMNS))
        if row["flag"] == "block" and why is not None:
            note += f" The publisher states: {quoted(why.rstrip('.'))}."
        notes.append(note)
    return notes
