"""Answer the question of what changed since the previous release."""

from __future__ import annotations

from fairstats._lib.formatting import capital
from fairstats.report.answer_sets import AnswerSet
from fairstats.report.changes.since import NEW, SetChange, set_changes
from fairstats.report.sections.section import Answer, Section
from fairstats.report.sections.versions import VersionChange, version_change


def _change(own: AnswerSet) -> SetChange | None:
    """Return the changes of an answer set; None if it is new, or the release is the first."""
    if own.release.manifest.get("previous") is None:
        return None
    names = ("answer_set_changes", "verdict_changes", "figure_changes")
    (change,) = set_changes(*map(own.table, names), own.release)
    return None if change.change == NEW else change


def _again(own: AnswerSet) -> VersionChange | None:
    """Compare the answers with those of the model in an earlier release."""
    return version_change(own, again=True)


def _answer(own: AnswerSet) -> Answer | None:
    change, compared = _change(own), _again(own)
    if change is None:
        return None
    short, *others = change.clauses
    text = f"{capital('; '.join(others))}." if others else ""
    if compared is not None:
        found = compared.answer()
        text += f" Better than in release {compared.compared.release}? {found.short}. {found.text}"
    return Answer(capital(short), text.strip())


SECTION = Section(
    order=95,
    title=lambda own: f"What changed since release {own.release.manifest['previous']['release']}?",
    answer=_answer,
    applies=lambda own: _change(own) is not None,
    charts=lambda own, name: compared.charts(name=name) if (compared := _again(own)) else (),
    key=lambda own: compared.key() if (compared := _again(own)) else (),
)
