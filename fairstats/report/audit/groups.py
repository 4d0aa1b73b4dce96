"""The groups of an audit report: rates or means, missing answers, ratios and errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
from great_tables import GT

from fairstats._lib.formatting import capital, decimal, level, listed
from fairstats.benchmarks.declaration import Attribute
from fairstats.benchmarks.kinds import CHOICE, DECISION
from fairstats.report.answer_sets import AnswerSet
from fairstats.report.audit.sentences import clauses
from fairstats.report.page_output import columns, show_markdown, show_table
from fairstats.report.tables import breakable, labels_of, written_table
from fairstats.report.words import FOUR_FIFTHS, NONE, Figure, figure_of, heading, number

#: Groups with a smaller share of the answers are marked.
SMALL = 0.02
# Levels and scores have no figure of all groups.
_OVERALL = {"choice": "overall_accuracy", "decision": "overall_selection_rate"}
Estimate = Mapping[str, Any]


@dataclass(frozen=True)
class GroupFigures:
    """Hold the rate or mean of one group.

    Attributes
    ----------
    label : str
        The group's term for readers.
    row : mapping or None
        The estimate of the rate or mean; None if there is none.
    n : int
        The answers that it rests on.
    missing : int or None
        The answers that are missing; None if that is not known.
    share : float
        The group's share of the attribute's answers, with the missing ones.
    """

    label: str
    row: Estimate | None
    n: int
    missing: int | None
    share: float

    @property
    def small(self) -> bool:
        """Check whether the group has less than 2% of the attribute's answers."""
        return self.share < SMALL


def groups_of(own: AnswerSet, attribute: Attribute) -> list[GroupFigures]:
    """Return the groups of an attribute that have estimates, in the declared order."""
    found: dict[str, tuple[Estimate, int, int | None]] = {}
    sources = own.sources(own.kind.rate_a, own.kind.rate_b)
    for (name, group), (pair, metric) in sources.items():
        if name == attribute.name and (row := pair.estimates.get(metric)):
            unknown = row["n_missing_a" if metric == own.kind.rate_a else "n_missing_b"]
            missing = None if pd.isna(unknown) else int(unknown)
            found[group] = row, int(row["n"]), missing
    # The n of a range counts the missing answers too.
    asked = {
        group: n if own.ranged else n + (missing or 0) for group, (_, n, missing) in found.items()
    }
    total = sum(asked.values()) or 1
    return [
        GroupFigures(label, *found[group], share=asked[group] / total)
        for group, label in attribute.groups.items()
        if group in found
    ]


def overall_of(own: AnswerSet, attribute: Attribute) -> Estimate | None:
    """Return the estimate of the rate over all groups of an attribute; None if not known."""
    return _whole(own, attribute, _OVERALL.get(own.kind.name, ""))


def _whole(own: AnswerSet, attribute: Attribute, metric: str) -> Estimate | None:
    """Return an estimate of all groups of an attribute; None if not known."""
    row = own.of_attribute(attribute.name).get(metric)
    known = row and not (pd.isna(row["estimate"]) and pd.isna(row["ci_low"]))
    return row if known else None


def small_groups(own: AnswerSet) -> list[str]:
    """Return the groups with less than 2% of their attribute's answers."""
    return [
        group.label
        for attribute in own.benchmark.varied
        for group in groups_of(own, attribute)
        if group.small
    ]


def crossed(own: AnswerSet) -> list[Attribute]:
    """Return the attributes that cross others and have estimates."""
    return [a for a in own.benchmark.varied if a.crosses and groups_of(own, a)]


def show_groups(own: AnswerSet) -> None:
    """Show rates or means, missing answers, ratios and errors, for the summary's answer set."""
    varied, figure = own.benchmark.varied, own.kind.figure
    if not any(groups_of(own, attribute) for attribute in varied):
        show_markdown("No group has an estimate.")
        return
    limits = "range" if own.ranged else f"{level(own.release.alpha)} CI"
    whole = own.kind == CHOICE or any(overall_of(own, attribute) for attribute in varied)
    caption = (
        f"{capital(figure)} by group{', next to that of all groups' if whole else ''}. Unknown: "
        "answers that are missing or could not be read"
    )
    if own.kind.numeric:
        show_table(groups_table(own, limits), caption=caption)
    else:
        parity = ". Demographic parity difference: the highest minus the lowest selection rate, "
        with columns() as second:
            show_table(groups_table(own, limits), caption=caption)
            second()
            show_table(
                ratios_table(own, limits),
                caption=f"{capital(figure)} ratios. Impact ratio: the lowest {figure} of a group "
                "divided by the highest; its interval covers all pairs of groups"
                f"{f'{parity}points' if own.kind == DECISION else ''}",
            )
    if heads := _errors(own):
        caption = f"Answers compared with the key, by group, with {limits}"
        show_table(errors_table(own, heads), caption=caption)
    show_markdown(" ".join(_notes(own)))


def _errors(own: AnswerSet) -> dict[str, str]:
    """Return the metrics against the key that have estimates, by name without the side."""
    if own.kind == CHOICE:
        return {}
    there = set(own.rows.dropna(subset=["estimate", "ci_low"], how="all")["metric"])
    heads = labels_of("audit")["against_key"]
    return {name: head for name, head in heads.items() if f"{name}_a" in there}


def errors_table(own: AnswerSet, heads: Mapping[str, str]) -> GT:
    """Make the table of the groups' answers compared with the key."""
    sides = {name: own.sides(f"{name}_a", f"{name}_b") for name in heads}
    rows = [
        _head(attribute)
        | {"group": breakable(label)}
        | {name: of[attribute.name, group].written() for name, of in sides.items()}
        for attribute in own.benchmark.varied
        for group, label in attribute.groups.items()
        if all((attribute.name, group) in of for of in sides.values())
    ]
    units = {name: own.kind.unit if name.endswith("_error") else "%" for name in heads}
    labels = {name: f"{head}, {units[name]}" for name, head in heads.items()}
    return written_table(
        rows, labels, name="group-errors", stub="group", heading="Group", group="attribute"
    )


def groups_table(own: AnswerSet, limits: str) -> GT:
    """Make the table of rates or means and missing answers by group."""
    rows, rate = [], own.kind.figure.replace(" ", "-")
    for attribute in own.benchmark.varied:
        groups, overall = groups_of(own, attribute), overall_of(own, attribute)
        # It is not estimated for means, and not for answers that are not independent.
        if groups and (overall is not None or not own.benchmark.few_units):
            known = [one.missing for one in groups if one.missing is not None]
            missing = sum(known) if len(known) == len(groups) else None
            n = sum(one.n for one in groups)
            groups.append(GroupFigures("All groups", overall, n, missing, share=1))
        rows += [
            {
                **_head(attribute, " (intersections)" * bool(attribute.crosses)),
                "group": breakable(group.label),
                "n": f"{group.n:,}",
                "missing": NONE if group.missing is None else f"{group.missing:,}",
                rate: figure_of(own.kind, group.row).written(),
                "note": "under 2% of the answers" * group.small,
            }
            for group in groups
        ]
    labels = {"n": "Answers", "missing": "Unknown", rate: f"{heading(own.kind)} ({limits})"}
    if small_groups(own):
        labels["note"] = "Note"
    return written_table(
        rows,
        labels,
        name="group-accuracies",
        stub="group",
        heading="Group",
        group="attribute",
        right=["n", "missing"],
    )


def ratios_table(own: AnswerSet, limits: str) -> GT:
    """Make the table of impact ratios, and of the ratios of pairs."""
    rows = []
    metric = "accuracy_ratio" if own.kind == CHOICE else "selection_ratio"
    for attribute in own.benchmark.varied:
        pairs = [pair for pair in own.pairs if pair.attribute == attribute.name]
        cells = {"Impact ratio": _ratio(_whole(own, attribute, "impact_ratio"))} if pairs else {}
        if parity := _whole(own, attribute, "demographic_parity"):
            cells["Demographic parity difference"] = figure_of(own.kind, parity).written()
        cells |= {" / ".join(pair.terms): _ratio(pair.estimates.get(metric)) for pair in pairs}
        rows += [
            _head(attribute) | {"ratio": breakable(name), "value": value}
            for name, value in cells.items()
        ]
    return written_table(
        rows,
        {"value": f"Ratio ({limits})"},
        name="accuracy-ratios",
        stub="ratio",
        heading="Ratio",
        group="attribute",
    )


def _notes(own: AnswerSet) -> list[str]:
    varied = own.benchmark.varied
    ratios = {one.label: _whole(own, one, "impact_ratio") for one in varied}
    low = [name for name, row in ratios.items() if row and row["estimate"] < FOUR_FIFTHS[0]]
    overall = own.rows[own.rows["metric"] == _OVERALL.get(own.kind.name)]
    unknown = overall.loc[overall["ci_low"].isna(), "method_note"].astype("str")
    facts = {
        "several samples": bool(unknown.str.startswith("several samples").any()),
        "small groups": bool(small_groups(own)),
        "combinations possible": own.kind == CHOICE or len(varied) > 1,
        "combinations": bool(crossed(own)),
        "combinations asked": any(one.crosses for one in varied),
        "low ratio": bool(low),
    }
    return clauses("groups", own, facts, low=listed(low))


def _head(attribute: Attribute, note: str = "") -> dict[str, str]:
    return {"attribute": breakable(f"{attribute.label}{note}")}


def _ratio(row: Estimate | None) -> str:
    if row is None:
        return "not known"
    estimate, low, high = (number(row[name]) for name in ("estimate", "ci_low", "ci_high"))
    return Figure(estimate, low, high, partial(decimal, places=3)).written()
