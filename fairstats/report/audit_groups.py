"""The groups of an audit report: accuracy, missing answers and ratios, group by group."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import decimal, level, percent_range
from fairstats.benchmarks.declaration import Attribute
from fairstats.report.audit_answer_sets import AnswerSet
from fairstats.report.layout_boxes import columns
from fairstats.report.page_output import show_markdown, show_table
from fairstats.report.tables import breakable, written_table

if TYPE_CHECKING:
    from great_tables import GT

#: Groups with a smaller share of the answers are marked.
SMALL = 0.02
_NONE = "–"


@dataclass(frozen=True)
class GroupFigures:
    """Hold the accuracy of one group, or of all groups of an attribute.

    Attributes
    ----------
    label : str
        The group's term for readers.
    estimate, low, high : float
        The accuracy and its limits.
    n : int
        The answers that it rests on.
    missing : int or None
        The answers that are missing; None if that is not known.
    share : float
        The group's share of the attribute's answers, with the missing ones.
    """

    label: str
    estimate: float
    low: float
    high: float
    n: int
    missing: int | None
    share: float

    @property
    def small(self) -> bool:
        """Check whether the group has less than 2% of the attribute's answers."""
        return self.share < SMALL


def groups_of(answers: AnswerSet, attribute: Attribute) -> list[GroupFigures]:
    """Return the groups of an attribute that have estimates, in the declared order."""
    rows = answers.rows[answers.rows["attribute"] == attribute.name]
    found = {}
    for group in attribute.groups:
        for side in "ab":
            own = rows[(rows["metric"] == f"accuracy_{side}") & (rows[f"group_{side}"] == group)]
            if len(own) and group not in found:
                found[group] = own.iloc[0], _count(own.iloc[0], f"n_missing_{side}")
    asked = {group: int(row["n"]) + (missing or 0) for group, (row, missing) in found.items()}
    if answers.ranges:
        # Then n counts the missing answers too.
        asked = {group: int(row["n"]) for group, (row, _) in found.items()}
    total = sum(asked.values())
    return [
        GroupFigures(
            attribute.groups[group],
            float(row["estimate"]),
            float(row["ci_low"]),
            float(row["ci_high"]),
            int(row["n"]),
            missing,
            asked[group] / total if total else 0.0,
        )
        for group, (row, missing) in found.items()
    ]


def overall_of(answers: AnswerSet, attribute: Attribute) -> pd.Series | None:
    """Return the estimate of the accuracy over all groups of an attribute; None if not known."""
    return _whole(answers, attribute, "overall_accuracy")


def impact_ratio_of(answers: AnswerSet, attribute: Attribute) -> pd.Series | None:
    """Return the estimate of an attribute's impact ratio; None if not known."""
    return _whole(answers, attribute, "impact_ratio")


def _whole(answers: AnswerSet, attribute: Attribute, metric: str) -> pd.Series | None:
    rows = answers.rows
    own = rows[(rows["attribute"] == attribute.name) & (rows["metric"] == metric)]
    known = own[own[["estimate", "ci_low"]].notna().any(axis=1)]
    return known.iloc[0] if len(known) else None


def small_groups(answers: AnswerSet) -> list[str]:
    """Return the groups with less than 2% of their attribute's answers."""
    return [
        group.label
        for attribute in answers.benchmark.varied
        for group in groups_of(answers, attribute)
        if group.small
    ]


def crossed(answers: AnswerSet) -> list[Attribute]:
    """Return the attributes that cross others and have estimates."""
    return [a for a in answers.benchmark.varied if a.crosses and groups_of(answers, a)]


def show_groups(answers: AnswerSet) -> None:
    """Show accuracy, missing answers and ratios by group, for the answer set of the summary."""
    if not any(groups_of(answers, attribute) for attribute in answers.benchmark.varied):
        show_markdown("No group has an estimate.")
        return
    kind = "range" if answers.ranges else f"{level(answers.release.alpha)} CI"
    with columns() as second:
        show_table(
            groups_table(answers, kind),
            caption="Accuracy by group, next to that of all groups. Unknown: answers that are "
            "missing or could not be read",
        )
        second()
        show_table(
            ratios_table(answers, kind),
            caption="Accuracy ratios. Impact ratio: the lowest accuracy of a group divided by the "
            "highest; its interval covers all pairs of groups",
        )
    show_markdown(" ".join(_notes(answers)))


def groups_table(answers: AnswerSet, kind: str) -> GT:
    """Make the table of accuracy and missing answers by group."""
    rows = []
    for attribute in answers.benchmark.varied:
        groups = groups_of(answers, attribute)
        if not groups:
            continue
        crosses = " (intersections)" if attribute.crosses else ""
        head = {"attribute": breakable(f"{attribute.label}{crosses}")}
        rows += [
            head
            | {
                "group": breakable(group.label),
                "n": f"{group.n:,}",
                "missing": _NONE if group.missing is None else f"{group.missing:,}",
                "accuracy": _share(group.estimate, group.low, group.high),
                "note": "under 2% of the answers" if group.small else "",
            }
            for group in groups
        ]
        known = [group.missing for group in groups if group.missing is not None]
        row = overall_of(answers, attribute)
        rows.append(
            head
            | {
                "group": "All groups",
                "n": f"{sum(group.n for group in groups):,}",
                "missing": f"{sum(known):,}" if len(known) == len(groups) else _NONE,
                "accuracy": "not known" if row is None else _share(*_limits(row)),
            }
        )
    labels = {
        "n": "Answers",
        "missing": "Unknown",
        "accuracy": f"Accuracy, % ({kind})",
        "note": "Note",
    }
    if not small_groups(answers):
        del labels["note"]
    return written_table(
        rows,
        labels,
        name="group-accuracies",
        stub="group",
        heading="Group",
        group="attribute",
        right=["n", "missing"],
    )


def ratios_table(answers: AnswerSet, kind: str) -> GT:
    """Make the table of impact ratios, and of the accuracy ratios of pairs."""
    rows = []
    for attribute in answers.benchmark.varied:
        pairs = [pair for pair in answers.pairs if pair.attribute.name == attribute.name]
        if not pairs:
            continue
        whole = impact_ratio_of(answers, attribute)
        cells = [("Impact ratio", "not known" if whole is None else _ratio(*_limits(whole)))]
        for pair in pairs:
            figures = [pair.value("accuracy_ratio", name) for name in _LIMITS]
            cells.append((" / ".join(pair.terms), _ratio(*figures)))
        rows += [
            {"attribute": breakable(attribute.label), "ratio": breakable(name), "value": value}
            for name, value in cells
        ]
    return written_table(
        rows,
        {"value": f"Ratio ({kind})"},
        name="accuracy-ratios",
        stub="ratio",
        heading="Ratio",
        group="attribute",
    )


def _notes(answers: AnswerSet) -> Iterator[str]:
    small = small_groups(answers)
    if small:
        yield "Figures of groups with less than 2% of the answers rest on little data."
    else:
        yield "Every group has at least 2% of the answers for its attribute."
    if not crossed(answers):
        yield "No combinations of attributes were tested."
    yield (
        "The four-fifths rule of US employment law (a ratio below 0.80) is a convention for hiring "
        "and no criterion for medical answers."
    )


_LIMITS = ("estimate", "ci_low", "ci_high")


def _limits(row: pd.Series) -> tuple[float, float, float]:
    estimate, low, high = (float(row[name]) for name in _LIMITS)
    return estimate, low, high


def _count(row: pd.Series, name: str) -> int | None:
    return None if pd.isna(row[name]) else int(row[name])


def _share(estimate: float, low: float, high: float) -> str:
    limits = percent_range(low, high)
    if math.isnan(estimate):
        return limits or "not known"
    return f"{100 * estimate:.1f} ({limits})" if limits else f"{100 * estimate:.1f}"


def _ratio(estimate: float, low: float, high: float) -> str:
    limits = "" if math.isnan(low) else f"{decimal(low, 3)} to {decimal(high, 3)}"
    if math.isnan(estimate):
        return limits or "not known"
    return f"{decimal(estimate, 3)} ({limits})" if limits else decimal(estimate, 3)
