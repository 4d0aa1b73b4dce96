"""Answer the question of what changed since the previous release."""

from __future__ import annotations

from collections.abc import Sequence

from fairstats._lib.formatting import capital
from fairstats.report.answer_sets import AnswerSet
from fairstats.report.changes.since import NEW, SetChange, set_changes
from fairstats.report.charts.rows import Chart
from fairstats.report.sections.section import Answer, Mark, Section
from fairstats.report.sections.versions import version_change


def _change(own: AnswerSet) -> SetChange | None:
    """Return the changes of an answer set; None if it is new, or the release is the first."""
    if own.release.manifest.get("previous") is None:
        return None
    names = ("answer_set_changes", "verdict_changes", "figure_changes")
    (change,) = set_changes(*map(own.table, names), own.release)
    return None if change.change == NEW else change


def _answer(own: AnswerSet) -> Answer | None:
    change, compared = _change(own), version_change(own, again=True)
    if change is None:
        return None
    short, *others = change.clauses
    text = f"{capital('; '.join(others))}." if others else ""
    if compared is not None:
        found = compared.answer()
        text += f" Better than in release {compared.compared.release}? {found.short}. {found.text}"
    return Answer(capital(short), text.strip())


def _charts(own: AnswerSet, name: str) -> Sequence[Chart]:
    compared = version_change(own, again=True)
    return () if compared is None else compared.charts(name=name)


def _key(own: AnswerSet) -> Sequence[Mark]:
    compared = version_change(own, again=True)
    return () if compared is None else compared.key()


SECTION = Section(
    order=95,
    title=lambda own: f"What changed since release {own.release.manifest['previous']['release']}?",
    answer=_answer,
    applies=lambda own: _change(own) is not None,
    charts=_charts,
    key=_key,
)
