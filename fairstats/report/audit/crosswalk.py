"""The appendix of an audit report: what a published profile asks for, next to what it shows."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from fairstats._lib.formatting import capital, counted, escape_markdown
from fairstats._lib.installation import resource
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


@dataclass(frozen=True)
class Clause:
    """What a clause asks for, in this project's words.

    Attributes
    ----------
    name : str
        Its number in the text.
    asks : str
        What it asks for.
    shows : list of str
        The parts of the report that bear on it.
    lacks : str
        What no report shows of it.
    lacks_of_choices : str
        The same for questions with options.
    """

    name: str
    asks: str
    shows: list[str]
    lacks: str = ""
    lacks_of_choices: str = ""


@dataclass(frozen=True)
class Part:
    """A part of the report that clauses refer to.

    Attributes
    ----------
    name : str
        What is missing if the report does not show it.
    shows : str
        What it shows.
    section : str
        The heading under which it is; empty for the first page, which has none.
    of : str
        The noun of the figures that are counted.
    """

    name: str
    shows: str
    section: str = ""
    of: str = ""


@dataclass(frozen=True)
class Crosswalk:
    """Hold the content of `data/crosswalk.toml`."""

    heading: str
    introduction: str
    clauses: list[Clause]
    parts: dict[str, Part]


def read_crosswalk() -> Crosswalk:
    """Read the clauses, and the parts of a report that bear on them."""
    text = resource("data", "crosswalk.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    parts = {name: Part(**part) for name, part in content["parts"].items()}
    clauses = [Clause(**clause) for clause in content["clauses"]]
    return Crosswalk(content["heading"], content["introduction"], clauses, parts)


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

    @property
    def first(self) -> AnswerSet:
        """Return the answer set of the summary."""
        return self.sets[0]

    def known(self, metric: str, column: str = "estimate") -> int:
        """Count the pairs of the summary's answer set that have this figure."""
        return sum(not math.isnan(pair.value(metric, column)) for pair in self.first.pairs)


def _known_groups(audit: Audit) -> int:
    varied = audit.first.benchmark.varied
    groups = [group for attribute in varied for group in groups_of(audit.first, attribute)]
    return sum(pd.notna(group.row["ci_low"]) for group in groups)


def _intersections(audit: Audit) -> int:
    return sum(len(groups_of(audit.first, attribute)) for attribute in crossed(audit.first))


def _raters(audit: Audit) -> int:
    found = ratings_of(audit.release, audit.model)
    return sum(judged["rater_id"].nunique() for _, judged in found)


def _declared(name: str) -> Callable[[Audit], bool]:
    return lambda audit: bool(declared_facts(audit.release, audit.model, audit.facts)[name])


#: The number of figures, or whether there is any, by part of a report.
EVIDENCE: dict[str, Callable[[Audit], int]] = {
    "group_accuracy": _known_groups,
    "intersections": _intersections,
    "pairs": lambda audit: audit.known(audit.first.kind.difference, "ci_low"),
    "cfr": lambda audit: audit.known("cfr", "ci_low"),
    "tests": lambda audit: audit.known(audit.first.kind.test, "p_adjusted"),
    "reading_note": lambda audit: bool(audit.first.benchmark.read_first),
    "power": lambda audit: audit.known("minimum_detectable_difference"),
    "sensitivity": lambda audit: bool(len(audit.first.sensitivity) and audit.first.pairs),
    "missing_policies": lambda audit: True,
    "screening": lambda audit: len(audit.release.screening),
    "ratings": _raters,
    "limits": lambda audit: len(list(limitations(audit.release, audit.model))),
    "contamination": _declared("contamination"),
    "consulted": _declared("consulted"),
}


def shown_and_missing(clause: Clause, audit: Audit) -> tuple[list[tuple[str, str]], list[str]]:
    """Return what a report shows for a clause, by section, and what it does not show.

    Returns
    -------
    (list of (str, str), list of str)
        Each section with its text, in order, and the names of missing parts.
    """
    parts, kind = read_crosswalk().parts, audit.first.kind
    missing = any(entry["missing"] for own in audit.sets for entry in own.entries)
    words = {
        "figure": kind.figure,
        "difference": difference_name(kind),
        "missing": "the differences under four policies for missing answers"
        if missing
        else "no answers are missing",
    }
    shown: dict[str, list[str]] = {}
    lacking = []
    for name in clause.shows:
        part, n = parts[name], EVIDENCE[name](audit)
        if n:
            of = counted(n, part.of.format_map(words))
            shown.setdefault(part.section, []).append(part.shows.format_map(words | {"n": of}))
        else:
            lacking.append(part.name.format_map(words))
    return [(section, "; ".join(texts)) for section, texts in shown.items()], lacking


def show_crosswalk(release: Release, model: str, facts: AuditFacts) -> None:
    """Show the appendix."""
    crosswalk = read_crosswalk()
    show_markdown(f"# {crosswalk.heading}\n\n{crosswalk.introduction}")
    show_markdown("\n".join(_rows(crosswalk.clauses, Audit(release, model, facts))))


def _rows(clauses: list[Clause], audit: Audit) -> Iterator[str]:
    # Pandoc sets the column widths from the dashes.
    yield "| Clause | Asks for | This report shows | Not shown |"
    yield f"|:{'-' * 16}|:{'-' * 26}|:{'-' * 34}|:{'-' * 24}|"
    for clause in clauses:
        shown, missing = shown_and_missing(clause, audit)
        parts = [f"{_place(section)}: {_text(text)}" for section, text in shown]
        never = clause.lacks_of_choices if audit.first.kind == CHOICE else ""
        lacks = [capital("; ".join(missing)) + "." if missing else "", never or clause.lacks]
        cells = (
            _text(clause.name),
            _text(clause.asks),
            ". ".join(parts) + "." if parts else "**not shown**",
            _text(" ".join(filter(None, lacks))) or "–",
        )
        yield f"| {' | '.join(cells)} |"


def _place(section: str) -> str:
    if not section:
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
