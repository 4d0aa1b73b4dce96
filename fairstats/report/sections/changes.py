"""Answer how a model's answers changed: since the release before, its older version, by prompt."""

from __future__ import annotations

from fairstats._lib.formatting import capital
from fairstats.benchmarks.declaration import PLAIN
from fairstats.comparisons.compare import STRATEGY, VERSION
from fairstats.report.answer_sets import AnswerSet, prompts_of
from fairstats.report.changes.findings import prompt_answer, version_answer, version_finding
from fairstats.report.changes.page import change_chart, change_table, chart_key
from fairstats.report.changes.rows import NEW, Comparison, SetChange, set_changes
from fairstats.report.charts.rows import Chart
from fairstats.report.sections.section import CANNOT, Answer, Mark, Section, Shown, by_pair, reasons

_Compared = list[Comparison]


def _charts(compared: _Compared, name: str) -> list[Chart]:
    return [change_chart(compared, name=name)] if compared else []


def _key(compared: _Compared, own: AnswerSet) -> list[Mark]:
    return [Mark(*mark) for mark in chart_key(compared, own.release.alpha)] if compared else []


def _tables(own: AnswerSet, kind: str) -> list[Shown]:
    """Return the table of a model's changes from other versions, or from other prompts."""
    changes = [(one, pair) for one in own.comparisons[kind] for pair in one.charted]
    return [Shown(*change_table(changes, name=f"changes-{kind}"))] if changes else []


# What changed since the release before?


def _since(own: AnswerSet) -> SetChange | None:
    """Return the changes of an answer set; None if it is new, or the release is the first."""
    if own.release.manifest.get("previous") is None:
        return None
    names = ("answer_set_changes", "verdict_changes", "figure_changes")
    (change,) = set_changes(*map(own.table, names), own.release, *own.release.earlier[-1:])
    return None if change.change == NEW else change


def _again(own: AnswerSet) -> _Compared:
    """Return the comparison of the answers with the model's own in an earlier release."""
    key = (own.board.version, own.board.strategy)
    found = own.comparisons[VERSION]
    return [one for one in found if one.old == own.model and one.key == key][:1]


def _since_answer(own: AnswerSet) -> Answer | None:
    change = _since(own)
    if change is None:
        return None
    short, *others = change.clauses()
    texts = [f"{capital('; '.join(others))}."] if others else []
    if compared := _again(own):
        texts.append(version_finding(compared))
    return Answer(capital(short), " ".join(texts))


SINCE = Section(
    order=95,
    title=lambda own: f"What changed since release {own.release.manifest['previous']['release']}?",
    answer=_since_answer,
    applies=lambda own: _since(own) is not None,
    charts=lambda own, name: _charts(_again(own), name),
    key=lambda own: _key(_again(own), own),
    wide=True,
)


# Is it better than the version before?


def _before(own: AnswerSet) -> list[tuple[AnswerSet, Comparison]]:
    """Return the model's comparison with its older version, with the plain prompt if there is one.

    The answer set is the newer side.
    """
    sets = {(one.board.version, one.board.strategy): one for one in own.siblings}
    found = [one for one in own.comparisons[VERSION] if one.old != own.model and one.key in sets]
    found.sort(key=lambda one: one.strategy != PLAIN)
    return [(sets[one.key], one) for one in found[:1]]


def _older(own: AnswerSet) -> Comparison:
    ((_, compared),) = _before(own)
    return compared


def _version_answer(own: AnswerSet) -> Answer:
    words, text = version_answer(_older(own))
    return Answer(by_pair({pair: word or CANNOT for pair, word in words.items()}), text)


VERSIONS = Section(
    order=90,
    title=lambda own: f"Is it better than {_older(own).older}?",
    answer=_version_answer,
    applies=lambda own: bool(_before(own)),
    charts=lambda own, name: _charts([_older(own)], name),
    key=lambda own: _key([_older(own)], own),
    tables=lambda own: _tables(own, VERSION),
    parts=lambda own: [newer for newer, _ in _before(own)],
    wide=True,
)


# Does another prompt close the gap?


def _prompts(own: AnswerSet) -> _Compared:
    """Return the model's comparisons of prompts on the same version of the benchmark."""
    return [one for one in own.comparisons[STRATEGY] if one.version == own.board.version]


def _references(own: AnswerSet) -> list[AnswerSet]:
    """Return the answers with the reference on each version with several prompts."""
    return [
        one
        for sets in prompts_of(own.siblings)
        for one in sets
        if any(one.board.strategy == compared.reference for compared in _prompts(one))
    ]


def _prompt_answer(own: AnswerSet) -> Answer:
    short, text = prompt_answer(_prompts(own), own.release)
    return Answer(short or CANNOT, text if short else f"{reasons(own, own.pairs)} {text}".strip())


PROMPTS = Section(
    order=100,
    title=lambda own: "Does another prompt close the gap?",
    answer=_prompt_answer,
    applies=lambda own: bool(_references(own)),
    charts=lambda own, name: _charts(_prompts(own), name),
    key=lambda own: _key(_prompts(own), own),
    tables=lambda own: _tables(own, STRATEGY),
    parts=_references,
    wide=True,
)
