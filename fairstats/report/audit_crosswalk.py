"""The appendix of an audit report: what laws and standards ask for, next to what it shows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import field_validator

from fairstats._lib.formatting import capital, escape_markdown
from fairstats._lib.resources import resource
from fairstats._lib.toml_files import Day, Fault, Table, parse, read_toml
from fairstats.release.contents import Release
from fairstats.report.audit_facts import AuditFacts
from fairstats.report.audit_summary import page_number, section_id
from fairstats.report.crosswalk_evidence import EVIDENCE, FIRST_PAGE, Audit
from fairstats.report.page_output import show_markdown
from fairstats.report.tables import breakable

#: The heading of the appendix.
CROSSWALK = "Laws and standards"
_INTRODUCTION = (
    "This appendix maps parts of this report to what laws, standards and guidelines ask for. It "
    "certifies nothing and is no legal advice. “Shown” means that the report has figures or "
    "facts on the subject, not that they are sufficient. Most of the clauses do not apply to a "
    "benchmark of language models."
)
_CHECKED = {
    "text": "its text was read again",
    "earlier": "its text was read when the list was made",
    "summary": "known from summaries",
    "contents": "known from its contents or abstract",
    "no": "not checked",
}


class Clause(Table):
    """What a clause asks for, and which parts of a report bear on it; see data/crosswalk.toml."""

    clause: str
    asks: str
    shows: tuple[str, ...]
    lacks: str = ""
    citation: str
    checked: Literal["text", "earlier", "summary", "contents", "no"]

    @field_validator("shows")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [name for name in names if name not in EVIDENCE]:
            raise Fault(f"{unknown[0]!r} is unknown", f"use some of {', '.join(EVIDENCE)}")
        return names


class Framework(Table):
    """A law, standard or guideline, with its clauses."""

    name: str
    status: str
    clause: tuple[Clause, ...]


class Crosswalk(Table):
    """The laws, standards and guidelines, and when their list was checked."""

    checked_on: Day
    framework: tuple[Framework, ...]


def load_crosswalk(path: str | os.PathLike[str] | None = None) -> Crosswalk:
    """Load the list of clauses; by default the one that is shipped.

    Raises
    ------
    InputError
        If the file cannot be read, or for an unknown key, an invalid value or an unknown part.

    Examples
    --------
    >>> load_crosswalk().framework[1].clause[1].clause
    'Annex IV 3: accuracy for groups'
    """
    source = Path(path) if path else resource("data", "crosswalk.toml")
    return parse(Crosswalk, read_toml(source), source, example="data/crosswalk.toml")


def shown_and_missing(clause: Clause, audit: Audit) -> tuple[list[tuple[str, str]], list[str]]:
    """Return what a report shows for a clause, by section, and what it does not show.

    Returns
    -------
    (list of (str, str), list of str)
        Each section with its text, in order, and the names of missing parts.
    """
    shown: dict[str, list[str]] = {}
    missing = []
    for name in clause.shows:
        evidence = EVIDENCE[name]
        if text := evidence.find(audit):
            about = f"{evidence.name}: {text}" if evidence.section == "Declarations" else text
            shown.setdefault(evidence.section, []).append(about)
        else:
            missing.append(evidence.name)
    return [(section, "; ".join(texts)) for section, texts in shown.items()], missing


def show_crosswalk(release: Release, model: str, facts: AuditFacts) -> None:
    """Show the appendix."""
    audit, crosswalk = Audit(release, model, facts), load_crosswalk()
    show_markdown(f"# {CROSSWALK}\n\n{_INTRODUCTION}")
    for framework in crosswalk.framework:
        show_markdown(f"## {_text(framework.name)}\n\n{_text(framework.status)}")
        show_markdown("\n".join(_rows(framework, audit)))
    sources = "\n".join(
        f"- {_text(clause.clause)}: {_text(clause.citation)} ({_CHECKED[clause.checked]})"
        for framework in crosswalk.framework
        for clause in framework.clause
    )
    show_markdown(f"## Sources of the clauses\n\nAs of {crosswalk.checked_on}.\n\n{sources}")


def _rows(framework: Framework, audit: Audit) -> Iterator[str]:
    # Pandoc sets the column widths from the dashes.
    yield "| Clause | Asks for | This report shows | Not shown |"
    yield f"|:{'-' * 16}|:{'-' * 26}|:{'-' * 34}|:{'-' * 24}|"
    for clause in framework.clause:
        shown, missing = shown_and_missing(clause, audit)
        parts = [f"{_place(section)}: {_text(text)}" for section, text in shown]
        lacks = [capital("; ".join(missing)) + "." if missing else "", clause.lacks]
        cells = (
            _text(clause.clause),
            _text(clause.asks),
            ". ".join(parts) + "." if parts else "**not shown**",
            _text(" ".join(filter(None, lacks))) or "–",
        )
        yield f"| {' | '.join(cells)} |"


def _place(section: str) -> str:
    if section == FIRST_PAGE:
        return "First page"
    slug = section_id(section)
    return f"[{section}](#{slug}){page_number(slug)}"


def _text(text: str) -> str:
    return escape_markdown(breakable(text))
