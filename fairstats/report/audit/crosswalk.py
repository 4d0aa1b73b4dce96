"""The appendix of an audit report: what a published profile asks for, next to what it shows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial

import pandas as pd

from fairstats._lib.formatting import capital, counted, escape_markdown
from fairstats.benchmarks.kinds import CHOICE
from fairstats.release.contents import Release
from fairstats.report.answer_sets import AnswerSet, answer_sets
from fairstats.report.audit.facts import FACTS, AuditFacts
from fairstats.report.audit.groups import crossed, groups_of
from fairstats.report.audit.limits import limitations
from fairstats.report.audit.summary import page_number, section_id
from fairstats.report.notes import submissions_of
from fairstats.report.page_output import show_markdown
from fairstats.report.ratings.page import ratings_of
from fairstats.report.tables import breakable
from fairstats.report.words import difference_name

#: The heading of the appendix.
CROSSWALK = "NIST AI 600-1"
_INTRODUCTION = (
    "This appendix maps parts of this report to what NIST AI 600-1, Generative AI Profile, asks "
    "for (version of July 2024, doi:10.6028/NIST.AI.600-1; voluntary). It certifies nothing. "
    "“Shown” means that the report has figures or facts on the subject, not that they are "
    "sufficient. The second column is in the words of this project."
)
# The first page has no heading of its own.
_FIRST_PAGE = ""


@dataclass(frozen=True)
class Clause:
    """What a clause asks for, in this project's words.

    Attributes
    ----------
    name : str
        Its number in the text.
    asks : str
        What it asks for.
    shows : tuple of str
        The parts of the report that bear on it, see `EVIDENCE`.
    lacks : str
        What no report shows of it.
    """

    name: str
    asks: str
    shows: tuple[str, ...]
    lacks: str = ""


# Only clauses that were read in the text itself. Add a law or a standard only after you have read
# it there, and name its version: people sign this report.
CLAUSES = (
    Clause(
        "MS-2.11-001",
        "Benchmarks that fit the use, with their assumptions and limits, including test items that "
        "may be in training data.",
        ("reading_note", "limits", "contamination"),
    ),
    Clause(
        "MS-2.11-002",
        "Performance for groups and subgroups, counterfactual prompts, and general fairness "
        "measures and tests of hypotheses.",
        ("group_accuracy", "intersections", "cfr", "pairs", "tests"),
        "Field tests, and measures in use.",
    ),
    Clause(
        "MS-2.11-003",
        "Which people the system affects, found out by engaging with them.",
        ("consulted", "ratings"),
    ),
    Clause(
        "MS-2.11-004",
        "Sources of bias in training and test data, with differences between and across groups, "
        "and proxies.",
        ("screening", "reading_note"),
        "Bias in training data.",
    ),
    Clause(
        "MS-2.13-001",
        "Models of measurement error: does a measure capture the concept, and how much does it "
        "vary?",
        ("sensitivity", "missing_policies", "power"),
        "A test of construct validity.",
    ),
)


@dataclass(frozen=True)
class Audit:
    """Hold the content of an audit report."""

    release: Release
    model: str
    facts: AuditFacts = field(default_factory=AuditFacts)

    @cached_property
    def sets(self) -> list[AnswerSet]:
        """Return the model's answer sets; the first is the one of the summary."""
        return answer_sets(self.release, self.model)

    def known(self, metric: str, column: str = "estimate") -> int:
        """Count the pairs of the summary's answer set that have this figure."""
        return sum(not math.isnan(pair.value(metric, column)) for pair in self.sets[0].pairs)


@dataclass(frozen=True)
class Evidence:
    """Hold a part of the report.

    Attributes
    ----------
    section : str
        The heading under which it is; empty for the first page.
    name : str
        What is missing if the report does not show it.
    find : callable
        States what an `Audit` shows; empty if it does not.
    """

    section: str
    name: str
    find: Callable[[Audit], str]


def _group_accuracy(audit: Audit) -> str:
    first = audit.sets[0]
    groups = [g for attribute in first.benchmark.varied for g in groups_of(first, attribute)]
    known = counted(sum(not math.isnan(group.low) for group in groups), "group")
    figure = first.kind.figure
    return "" if known.startswith("0") else f"{figure} of {known}, with intervals and numbers"


def _intersections(audit: Audit) -> str:
    first = audit.sets[0]
    cells = sum(len(groups_of(first, attribute)) for attribute in crossed(first))
    figure = first.kind.figure
    return f"{figure} and number of {counted(cells, 'intersection')}" if cells else ""


def _pairs(audit: Audit) -> str:
    kind = audit.sets[0].kind
    known = audit.known(kind.difference, "ci_low")
    return f"{counted(known, difference_name(kind))} with intervals" if known else ""


def _cfr(audit: Audit) -> str:
    known = audit.known("cfr", "ci_low")
    return f"how often the answer stays the same, for {counted(known, 'pair')}" if known else ""


def _tests(audit: Audit) -> str:
    known = audit.known(audit.sets[0].kind.test, "p_adjusted")
    return f"{counted(known, 'test')} of no difference, adjusted" if known else ""


def _power(audit: Audit) -> str:
    known = audit.known("minimum_detectable_difference")
    return "the difference that each test could detect" if known else ""


def _sensitivity(audit: Audit) -> str:
    first = audit.sets[0]
    shown = len(first.table("sensitivity")) and first.pairs
    return "the same figures with other methods" if shown else ""


def _missing(audit: Audit) -> str:
    if any(entry["missing"] for answers in audit.sets for entry in answers.entries):
        return "the differences under four policies for missing answers"
    return "no answers are missing"


def _screening(audit: Audit) -> str:
    shown = len(audit.release.screening)
    return "checks for copied, shifted or invented answers" if shown else ""


def _ratings(audit: Audit) -> str:
    found = ratings_of(audit.release, audit.model)
    raters = sum(judged["rater_id"].nunique() for _, judged in found)
    return f"judgements of {counted(raters, 'rater')}, with their agreement" if found else ""


def _limits(audit: Audit) -> str:
    return counted(len(list(limitations(audit.release, audit.model))), "limit")


def _reading_note(audit: Audit) -> str:
    return "how to read the benchmark" if audit.sets[0].benchmark.read_first else ""


def _fact(name: str, audit: Audit) -> str:
    declared = declared_facts(audit.release, audit.model, audit.facts)[name]
    return f"{_fact_name(name)}: declared, not checked" if declared else ""


def _fact_name(name: str) -> str:
    return FACTS[name][:1].lower() + FACTS[name][1:]


#: The parts of a report by their names in `CLAUSES`.
EVIDENCE = {
    "group_accuracy": Evidence("Groups", "{figure} by group", _group_accuracy),
    "intersections": Evidence("Groups", "intersections of attributes", _intersections),
    "pairs": Evidence(_FIRST_PAGE, "{difference}s", _pairs),
    "cfr": Evidence(_FIRST_PAGE, "changed answers", _cfr),
    "tests": Evidence(_FIRST_PAGE, "tests", _tests),
    "reading_note": Evidence(_FIRST_PAGE, "a note on the benchmark’s limits", _reading_note),
    "power": Evidence("Results", "detectable differences", _power),
    "sensitivity": Evidence("Sensitivity", "sensitivity to the methods", _sensitivity),
    "missing_policies": Evidence("Sensitivity", "handling of missing answers", _missing),
    "screening": Evidence("Diagnostics", "screening of the answers", _screening),
    "ratings": Evidence("What raters report", "judgements of people", _ratings),
    "limits": Evidence("Limits", "limits", _limits),
    **{
        name: Evidence("Declarations", _fact_name(name), partial(_fact, name))
        for name in ("contamination", "consulted")
    },
}


def shown_and_missing(clause: Clause, audit: Audit) -> tuple[list[tuple[str, str]], list[str]]:
    """Return what a report shows for a clause, by section, and what it does not show.

    Returns
    -------
    (list of (str, str), list of str)
        Each section with its text, in order, and the names of missing parts.
    """
    shown: dict[str, list[str]] = {}
    missing, kind = [], audit.sets[0].kind
    names = {"figure": kind.figure, "difference": difference_name(kind)}
    for evidence in map(EVIDENCE.__getitem__, clause.shows):
        if text := evidence.find(audit):
            shown.setdefault(evidence.section, []).append(text)
        else:
            missing.append(evidence.name.format(**names))
    return [(section, "; ".join(texts)) for section, texts in shown.items()], missing


def show_crosswalk(release: Release, model: str, facts: AuditFacts) -> None:
    """Show the appendix."""
    show_markdown(f"# {CROSSWALK}\n\n{_INTRODUCTION}")
    show_markdown("\n".join(_rows(Audit(release, model, facts))))


def _rows(audit: Audit) -> Iterator[str]:
    # Pandoc sets the column widths from the dashes.
    yield "| Clause | Asks for | This report shows | Not shown |"
    yield f"|:{'-' * 16}|:{'-' * 26}|:{'-' * 34}|:{'-' * 24}|"
    for clause in CLAUSES:
        shown, missing = shown_and_missing(clause, audit)
        parts = [f"{_place(section)}: {_text(text)}" for section, text in shown]
        lacks = [capital("; ".join(missing)) + "." if missing else "", _lacks(clause, audit)]
        cells = (
            _text(clause.name),
            _text(clause.asks),
            ". ".join(parts) + "." if parts else "**not shown**",
            _text(" ".join(filter(None, lacks))) or "–",
        )
        yield f"| {' | '.join(cells)} |"


def _lacks(clause: Clause, audit: Audit) -> str:
    if clause.name == "MS-2.11-004" and audit.sets[0].kind == CHOICE:
        return f"{clause.lacks[:-1]}; the audit of the vignettes is on the site's page Vignettes."
    return clause.lacks


def _place(section: str) -> str:
    if section == _FIRST_PAGE:
        return "First page"
    slug = section_id(section)
    return f"[{section}](#{slug}){page_number(slug)}"


def _text(text: str) -> str:
    return escape_markdown(breakable(text))


NOT_STATED = "not stated"


def declared_facts(release: Release, model: str, facts: AuditFacts) -> dict[str, str]:
    """Return each fact of `FACTS` as text: the auditor's, else the submitters', else empty.

    Facts of submitters state that they are theirs.
    """
    submitted = _submitted(
        pd.concat([submissions_of(release, a.board, model) for a in answer_sets(release, model)])
    )
    found = {}
    for name in FACTS:
        value = getattr(facts, name)
        found[name] = submitted.get(name, "") if value is None else str(value)
    return found


def declarations(release: Release, model: str, facts: AuditFacts) -> list[str]:
    """Return one line per fact; a missing one is "not stated"."""
    found = declared_facts(release, model, facts)
    return [f"{about}: {found[name] or NOT_STATED}" for name, about in FACTS.items()]


def _submitted(rows: pd.DataFrame) -> dict[str, str]:
    """Return the facts that submitters of the model's answers declare."""
    if rows.empty:
        return {}
    settings = [
        ", ".join(f"{name} = {value}" for name, value in json.loads(text).items())
        or "default settings"
        for text in rows["settings"]
    ]
    whose = " (stated by who sent the answers)"
    return {
        "answers_from": f"{rows['started'].min()}{whose}",
        "answers_until": f"{rows['ended'].max()}{whose}",
        "settings": "; ".join(dict.fromkeys(settings)) + whose,
        "contamination": "; ".join(dict.fromkeys(rows["training_data"])) + whose,
    }
