"""Kinds of answers: what an answer is, what is judged, and the words for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from fairstats._lib.formatting import points


@dataclass(frozen=True)
class Kind:
    """A kind of answers.

    Attributes
    ----------
    name : str
        ``choice``, ``decision``, ``level`` or ``score``.
    difference : str
        The metric that is judged, a minus b.
    disparity : str
        Its absolute value, by which models are compared and ranked.
    rate : str
        The figure of all groups, by which models are compared.
    rate_a, rate_b : str
        The metrics of the two groups whose difference it is.
    test : str
        The metric with the test of no difference.
    numeric : bool
        Whether the difference is one of means of numbers, not of shares.
    needs_key : bool
        Whether every item needs a right answer.
    figure : str
        What `rate_a` is, for sentences: ``"accuracy"``, ``"mean level"``.
    unit : str
        The unit of the difference, for sentences.
    """

    name: str
    difference: str
    disparity: str
    rate: str
    rate_a: str
    rate_b: str
    test: str
    numeric: bool
    needs_key: bool
    figure: str
    unit: str

    def shown(self, difference: float) -> str:
        """Return a signed difference with its unit.

        Examples
        --------
        >>> KINDS["choice"].shown(0.0312), KINDS["level"].shown(-0.142)
        ('+3.1 points', '−0.14 levels')
        """
        return f"{self.signed(difference)} {self.unit}"

    def shown_range(self, low: float, high: float) -> str:
        """Return the limits of a difference with their unit; empty if unknown.

        Examples
        --------
        >>> KINDS["score"].shown_range(-0.5, 0.25)
        '−0.50 to +0.25 score points'
        """
        if math.isnan(low) or math.isnan(high):
            return ""
        return f"{self.signed(low)} to {self.signed(high)} {self.unit}"

    def shown_margin(self, margin: float) -> str:
        """Return a margin with its unit, without needless decimals.

        Examples
        --------
        >>> KINDS["choice"].shown_margin(0.02), KINDS["score"].shown_margin(1.0)
        ('2 points', '1 score point')
        """
        size = self.plain_margin(margin)
        return f"{size} {self.unit.removesuffix('s') if size == '1' else self.unit}"

    def plain_margin(self, margin: float) -> str:
        """Return a margin in the unit of the kind, without the unit.

        Examples
        --------
        >>> KINDS["choice"].plain_margin(0.02), KINDS["level"].plain_margin(0.1)
        ('2', '0.1')
        """
        return f"{margin if self.numeric else 100 * margin:g}"

    def signed(self, difference: float) -> str:
        """Return a signed difference without its unit; one that rounds to 0 has no sign.

        Examples
        --------
        >>> KINDS["decision"].signed(0.0312), KINDS["score"].signed(-0.001)
        ('+3.1', '0.00')
        """
        if not self.numeric or math.isnan(difference):
            return points(difference)
        text = f"{difference:+.2f}"
        return text[1:] if float(text) == 0 else text.replace("-", "−")


CHOICE = Kind(
    name="choice",
    difference="accuracy_difference",
    disparity="ad",
    rate="accuracy",
    rate_a="accuracy_a",
    rate_b="accuracy_b",
    test="mcnemar",
    numeric=False,
    needs_key=True,
    figure="accuracy",
    unit="points",
)
DECISION = Kind(
    name="decision",
    difference="selection_difference",
    disparity="selection_disparity",
    rate="selection_rate",
    rate_a="selection_rate_a",
    rate_b="selection_rate_b",
    test="mcnemar",
    numeric=False,
    needs_key=False,
    figure="selection rate",
    unit="points",
)
LEVEL = Kind(
    name="level",
    difference="level_difference",
    disparity="level_disparity",
    rate="level",
    rate_a="level_a",
    rate_b="level_b",
    test="sign_flip",
    numeric=True,
    needs_key=False,
    figure="mean level",
    unit="levels",
)
SCORE = Kind(
    name="score",
    difference="score_difference",
    disparity="score_disparity",
    rate="score",
    rate_a="score_a",
    rate_b="score_b",
    test="sign_flip",
    numeric=True,
    needs_key=False,
    figure="mean score",
    unit="score points",
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (CHOICE, DECISION, LEVEL, SCORE)}
#: The metrics that are judged, one of each kind, and those that hold the test.
DIFFERENCES = tuple(kind.difference for kind in KINDS.values())
TESTS = tuple(dict.fromkeys(kind.test for kind in KINDS.values()))


@dataclass(frozen=True)
class Words:
    """The nouns of a benchmark's sentences; the defaults say nothing that could be untrue.

    Attributes
    ----------
    item, items : str
        What a model is asked about: ``"stay"``, ``"stays"``.
    cluster, clusters : str
        What items may share: ``"patient"``.
    subject, subjects : str
        Whom the items describe: ``"patient"``, ``"applicant"``.
    setting : str
        Where the answers would matter, to complete "in …": ``"emergency triage"``; may be empty.
    source : str
        What the items are: ``"records of real stays"``; may be empty.
    """

    item: str = "item"
    items: str = "items"
    cluster: str = "cluster"
    clusters: str = "clusters"
    subject: str = "person"
    subjects: str = "people"
    setting: str = ""
    source: str = ""
