"""The appendix of an audit report: what a published profile asks for, next to what it shows."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import pandas as pd

from fairstats._lib.formatting import capital, counted, quoted
from fairstats._lib.installation import resource
from fairstats.benchmarks.kinds import CHOICE
from fairstats.report.audit.document import FACTS, AuditReport
from fairstats.report.audit.groups import crossed, groups_of
from fairstats.report.audit.sentences import limitations
from fairstats.report.audit.summary import NOT_STATED, plain, section_link
from fairstats.report.notes import stated_settings
from fairstats.report.page_output import show_markdown
from fairstats.report.ratings.page import ratings_of
from fairstats.report.tables import labels_of
from fairstats.report.words import difference_name


@cache
def read_crosswalk() -> Mapping[str, Any]:
    """Read the clauses, and the parts of a report that bear on them; the file describes both."""
    return tomllib.loads(resource("data", "crosswalk.toml").read_text(encoding="utf-8"))


def _known(report: AuditReport, metric: str, column: str = "estimate") -> int:
    """Count the pairs of the summary's answer set that have this figure."""
    return sum(not math.isnan(pair.value(metric, column)) for pair in report.first.pairs)


def _known_groups(report: AuditReport) -> int:
    varied = report.first.benchmark.varied
    groups = [group for attribute in varied for group in groups_of(report.first, attribute)]
    return sum(group.row is not None and pd.notna(group.row["ci_low"]) for group in groups)


def _intersections(report: AuditReport) -> int:
    return sum(len(groups_of(report.first, attribute)) for attribute in crossed(report.first))


def _raters(report: AuditReport) -> int:
    found = ratings_of(report.release, report.model)
    return sum(judged["rater_id"].nunique() for _, judged in found)


def _declared(name: str) -> Callable[[AuditReport], bool]:
    return lambda report: bool(declared_facts(report)[name])


#: The number of figures, or whether there is any, by part of a report.
EVIDENCE: dict[str, Callable[[AuditReport], int]] = {
    "group_accuracy": _known_groups,
    "intersections": _intersections,
    "pairs": lambda report: _known(report, report.first.kind.difference, "ci_low"),
    "cfr": lambda report: _known(report, "cfr", "ci_low"),
    "tests": lambda report: _known(report, report.first.kind.test, "p_adjusted"),
    "reading_note": lambda report: bool(report.first.benchmark.read_first),
    "power": lambda report: _known(report, "minimum_detectable_difference"),
    "sensitivity": lambda report: bool(len(report.first.sensitivity) and report.first.pairs),
    "missing_policies": lambda report: True,
    "screening": lambda report: len(report.release.screening),
    "ratings": _raters,
    "limits": lambda report: len(list(limitations(report.release, report.model))),
    "contamination": _declared("contamination"),
    "consulted": _declared("consulted"),
}


def shown_and_missing(
    clause: Mapping[str, Any], report: AuditReport
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return what a report shows for a clause, by section, and what it does not show."""
    parts, kind = read_crosswalk()["parts"], report.first.kind
    missing = any(entry["missing"] for own in report.sets for entry in own.entries)
    words = {
        "figure": kind.figure,
        "difference": difference_name(kind),
        "missing": "the differences under four policies for missing answers"
        if missing
        else "no answers are missing",
    }
    shown: dict[str, list[str]] = {}
    lacking = []
    for name in clause["shows"]:
        part, n = parts[name], EVIDENCE[name](report)
        if n:
            of = counted(n, part.get("of", "").format_map(words))
            text = part["shows"].format_map(words | {"n": of})
            shown.setdefault(part.get("section", ""), []).append(text)
        else:
            lacking.append(part["name"].format_map(words))
    return [(section, "; ".join(texts)) for section, texts in shown.items()], lacking


def show_crosswalk(report: AuditReport) -> None:
    """Show the appendix, if the report has it."""
    if report.crosswalk:
        crosswalk = read_crosswalk()
        show_markdown(f"# {crosswalk['heading']}\n\n{crosswalk['introduction']}")
        show_markdown("\n".join(_rows(crosswalk["clauses"], report)))


def _rows(clauses: list[Mapping[str, Any]], report: AuditReport) -> Iterator[str]:
    # Pandoc sets the column widths from the dashes.
    yield "| Clause | Asks for | This report shows | Not shown |"
    yield f"|:{'-' * 16}|:{'-' * 26}|:{'-' * 34}|:{'-' * 24}|"
    for clause in clauses:
        shown, missing = shown_and_missing(clause, report)
        parts = [
            f"{section_link(section) if section else 'First page'}: {plain(text)}"
            for section, text in shown
        ]
        never = clause.get("lacks", "")
        if report.first.kind == CHOICE:
            never = clause.get("lacks_of_choices", never)
        lacks = [capital("; ".join(missing)) + "." if missing else "", never]
        cells = (
            plain(clause["name"]),
            plain(clause["asks"]),
            ". ".join(parts) + "." if parts else "**not shown**",
            plain(" ".join(filter(None, lacks))) or "–",
        )
        yield f"| {' | '.join(cells)} |"


def declared_facts(report: AuditReport) -> dict[str, str]:
    """Return each fact of `FACTS` as text: the auditor's, else the submitters', else empty.

    What the answers record comes first. Facts from there, and of submitters, state whose they are.
    """
    submitted = _submitted(pd.concat([own.submissions for own in report.sets]))
    recorded, found = _recorded(report), {}
    for name in FACTS:
        value = getattr(report.facts, name)
        stated = submitted.get(name, "") if value is None else str(value)
        found[name] = "; ".join(dict.fromkeys(filter(None, (recorded.get(name), stated))))
    return found


def _recorded(report: AuditReport) -> dict[str, str]:
    """Return the facts that the answers record."""
    own = report.answers
    first, last = own.days
    service = f"queried {own.services}" * bool(own.services)
    settings = "; ".join(filter(None, (own.settings, service)))
    found = {"answers_from": first, "answers_until": last, "settings": settings}
    return {name: f"{text} (recorded with the answers)" for name, text in found.items() if text}


def declarations(report: AuditReport) -> list[str]:
    """Return one line per fact; a missing one is "not stated"."""
    found = declared_facts(report)
    labels = labels_of("audit")["facts"]
    return [f"{labels[name]}: {text or NOT_STATED}" for name, text in found.items()]


def _submitted(rows: pd.DataFrame) -> dict[str, str]:
    """Return the facts that submitters of the model's answers declare."""
    if rows.empty:
        return {}
    settings = dict.fromkeys(map(stated_settings, rows["settings"]))
    whose = " (stated by who sent the answers)"
    return {
        "answers_from": f"{rows['started'].min()}{whose}",
        "answers_until": f"{rows['ended'].max()}{whose}",
        "settings": "; ".join(settings) + whose,
        "contamination": quoted(*dict.fromkeys(rows["training_data"])) + whose,
    }
