"""The groups of an audit report: rates or means, missing answers, ratios and errors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import capital, decimal, level, listed
from fairstats.benchmarks.declaration import Attribute
from fairstats.benchmarks.kinds import CHOICE, DECISION, LEVEL, Kind
from fairstats.report.answer_sets import AnswerSet
from fairstats.report.page_output import columns, show_markdown, show_table
from fairstats.report.tables import breakable, written_table
from fairstats.report.words import heading, plain, plain_range, signed_range

if TYPE_CHECKING:
    from great_tables import GT

#: Groups with a smaller share of the answers are marked.
SMALL = 0.02
_FOUR_FIFTHS = 0.8
_NONE = "–"
# Levels and scores have no figure of all groups.
_OVERALL = {"choice": "overall_accuracy", "decision": "overall_selection_rate"}
# Figures that need a key, without the side of the pair, with their headings.
_AGAINST_KEY = {
    "accuracy": "Equal to the key",
    "true_positive_rate": "Favourable if the key is",
    "false_positive_rate": "Favourable if the key is not",
    "too_high": "Above the key",
    "too_low": "Below the key",
    "signed_error": "Mean of answer − key",
    "absolute_error": "Mean distance from the key",
}
# Those in the unit of the answers.
_SIZES = ("signed_error", "absolute_error")


@dataclass(frozen=True)
class GroupFigures:
    """Hold the rate or mean of one group.

    Attributes
    ----------
    label : str
        The group's term for readers.
    estimate, low, high : float
        The rate or mean, and its limits.
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
            metric = getattr(answers.kind, f"rate_{side}")
            own = rows[(rows["metric"] == metric) & (rows[f"group_{side}"] == group)]
            if len(own) and group not in found:
                found[group] = own.iloc[0], _count(own.iloc[0], f"n_missing_{side}")
    asked = {group: int(row["n"]) + (missing or 0) for group, (row, missing) in found.items()}
    if answers.ranged:
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
    """Return the estimate of the rate over all groups of an attribute; None if not known."""
    return whole_of(answers, attribute, _OVERALL.get(answers.kind.name, ""))


def impact_ratio_of(answers: AnswerSet, attribute: Attribute) -> pd.Series | None:
    """Return the estimate of an attribute's impact ratio; None if not known."""
    return whole_of(answers, attribute, "impact_ratio")


def whole_of(answers: AnswerSet, attribute: Attribute, metric: str) -> pd.Series | None:
    """Return an estimate of all groups of an attribute; None if not known."""
    rows = answers.rows
    own = rows[(rows["attribute"] == attribute.name) & (rows["metric"] == metric)]
    known = own[own["group_a"].isna() & own[["estimate", "ci_low"]].notna().any(axis=1)]
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
    """Show rates or means, missing answers, ratios and errors, for the summary's answer set."""
    if not any(groups_of(answers, attribute) for attribute in answers.benchmark.varied):
        show_markdown("No group has an estimate.")
        return
    kind = "range" if answers.ranged else f"{level(answers.release.alpha)} CI"
    figure = answers.kind.figure
    whole = any(
        overall_of(answers, attribute) is not None for attribute in answers.benchmark.varied
    )
    all_groups = ", next to that of all groups" if whole or answers.kind == CHOICE else ""
    caption = (
        f"{capital(figure)} by group{all_groups}. Unknown: answers that are missing or could not "
        "be read"
    )
    if answers.kind.numeric:
        show_table(groups_table(answers, kind), caption=caption)
    else:
        with columns() as second:
            show_table(groups_table(answers, kind), caption=caption)
            second()
            show_table(
                ratios_table(answers, kind),
                caption=f"{capital(figure)} ratios. Impact ratio: the lowest {figure} of a group "
                "divided by the highest; its interval covers all pairs of groups"
                f"{_parity(answers)}",
            )
    if _errors(answers):
        show_table(
            errors_table(answers),
            caption=f"Answers compared with the key, by group, with {kind}",
        )
    show_markdown(" ".join(_notes(answers)))


def _parity(answers: AnswerSet) -> str:
    if answers.kind != DECISION:
        return ""
    return ". Demographic parity difference: the highest minus the lowest selection rate, points"


def _errors(answers: AnswerSet) -> dict[str, str]:
    """Return the metrics against the key that have estimates, by name without the side."""
    if answers.kind == CHOICE:
        return {}
    known = answers.rows[answers.rows[["estimate", "ci_low"]].notna().any(axis=1)]
    there = set(known["metric"])
    return {name: head for name, head in _AGAINST_KEY.items() if f"{name}_a" in there}


def errors_table(answers: AnswerSet) -> GT:
    """Make the table of the groups' answers compared with the key."""
    heads = _errors(answers)
    rows = []
    for attribute in answers.benchmark.varied:
        own = answers.rows[answers.rows["attribute"] == attribute.name]
        for group, label in attribute.groups.items():
            cells = {}
            for name in heads:
                for side in "ab":
                    found = own[
                        (own["metric"] == f"{name}_{side}") & (own[f"group_{side}"] == group)
                    ]
                    if len(found):
                        cells[name] = _error(name, *_limits(found.iloc[0]))
            if cells:
                head = {"attribute": breakable(attribute.label), "group": breakable(label)}
                rows.append(head | cells)
    units = {name: answers.kind.unit if name in _SIZES else "%" for name in heads}
    labels = {name: f"{head}, {units[name]}" for name, head in heads.items()}
    return written_table(
        rows, labels, name="group-errors", stub="group", heading="Group", group="attribute"
    )


def _error(name: str, estimate: float, low: float, high: float) -> str:
    kind = LEVEL if name in _SIZES else DECISION
    if name != "signed_error":
        return _rate(kind, estimate, low, high)
    limits = signed_range(kind, low, high)
    known = "" if math.isnan(estimate) else kind.signed(estimate)
    return f"{known} ({limits})" if known and limits else known or limits or "not known"


def groups_table(answers: AnswerSet, kind: str) -> GT:
    """Make the table of rates or means and missing answers by group."""
    rows, rate = [], answers.kind.figure.replace(" ", "-")
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
                rate: _rate(answers.kind, group.estimate, group.low, group.high),
                "note": "under 2% of the answers" if group.small else "",
            }
            for group in groups
        ]
        row = overall_of(answers, attribute)
        if row is None and answers.benchmark.few_units:
            # It is not estimated for means, and not for answers that are not independent.
            continue
        known = [group.missing for group in groups if group.missing is not None]
        rows.append(
            head
            | {
                "group": "All groups",
                "n": f"{sum(group.n for group in groups):,}",
                "missing": f"{sum(known):,}" if len(known) == len(groups) else _NONE,
                rate: "not known" if row is None else _rate(answers.kind, *_limits(row)),
            }
        )
    labels = {
        "n": "Answers",
        "missing": "Unknown",
        rate: f"{heading(answers.kind)} ({kind})",
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
    """Make the table of impact ratios, and of the ratios of pairs."""
    rows = []
    ratio = "accuracy_ratio" if answers.kind == CHOICE else "selection_ratio"
    for attribute in answers.benchmark.varied:
        pairs = [pair for pair in answers.pairs if pair.attribute == attribute.name]
        if not pairs:
            continue
        whole = impact_ratio_of(answers, attribute)
        cells = [("Impact ratio", "not known" if whole is None else _ratio(*_limits(whole)))]
        parity = whole_of(answers, attribute, "demographic_parity")
        if parity is not None:
            cells.append(("Demographic parity difference", _rate(DECISION, *_limits(parity))))
        for pair in pairs:
            figures = [pair.value(ratio, name) for name in _LIMITS]
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
    if not crossed(answers) and (answers.kind == CHOICE or len(answers.benchmark.varied) > 1):
        yield "No combinations of attributes were tested."
    if answers.kind == CHOICE:
        yield (
            "The four-fifths rule of US employment law (a ratio below 0.80) is a convention for "
            "hiring and no criterion for medical answers."
        )
    elif answers.kind == DECISION:
        yield (
            "The four-fifths rule of US employment law takes a ratio below 0.80, or above 1.25, as "
            "a sign of adverse impact. It is a convention for hiring and similar decisions, and no "
            "test."
        )
        low = [
            attribute.label
            for attribute in answers.benchmark.varied
            if (whole := impact_ratio_of(answers, attribute)) is not None
            and whole["estimate"] < _FOUR_FIFTHS
        ]
        if low:
            yield f"The impact ratio is below 0.80 for {listed(low)}."


_LIMITS = ("estimate", "ci_low", "ci_high")


def _limits(row: pd.Series) -> tuple[float, float, float]:
    estimate, low, high = (float(row[name]) for name in _LIMITS)
    return estimate, low, high


def _count(row: pd.Series, name: str) -> int | None:
    return None if pd.isna(row[name]) else int(row[name])


def _rate(kind: Kind, estimate: float, low: float, high: float) -> str:
    limits, known = plain_range(kind, low, high), plain(kind, estimate)
    return f"{known} ({limits})" if known and limits else known or limits or "not known"


def _ratio(estimate: float, low: float, high: float) -> str:
    limits = "" if math.isnan(low) else f"{decimal(low, 3)} to {decimal(high, 3)}"
    if math.isnan(estimate):
        return limits or "not known"
    return f"{decimal(estimate, 3)} ({limits})" if limits else decimal(estimate, 3)
