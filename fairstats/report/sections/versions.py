"""Answer the questions of a model's page about the previous version."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairstats._lib.formatting import capital, level, listed, number_word, p_value
from fairstats.benchmarks.declaration import PLAIN
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.comparisons.change_verdicts import BETTER, LOSE_LOSE, WIN_WIN
from fairstats.comparisons.compare import VERSION
from fairstats.report.answer_sets import AnswerSet, Pair
from fairstats.report.changes.charts import COLOURS, dumbbell
from fairstats.report.changes.page import change_table
from fairstats.report.changes.rows import (
    Comparison,
    PairChange,
    directed,
    gap_of,
    written_as,
)
from fairstats.report.charts.marks import axis_over
from fairstats.report.charts.rows import Cell, Chart, Row
from fairstats.report.sections.section import CANNOT, Answer, Mark, Section, Shown, by_pair
from fairstats.report.words import counted_items, plain, scaled, signed_range

#: The answer for a pair, by its verdict; and without one, by whether figures improved or worsened.
_VERDICTS = {WIN_WIN: "Yes", LOSE_LOSE: "No, worse"}
_MOVED = {(1, 1): "Mixed", (1, 0): "Partly", (0, 1): "No", (0, 0): "Unclear"}
#: The classes of the marks of changes, and their words.
_MARKS = {0: ("dim", ""), 1: ("b", ", significantly better"), -1: ("a", ", significantly worse")}


def compared_figures(kind: Kind) -> dict[str, str]:
    """Return the figures that are compared, as the charts name them."""
    gap = f"delta_{kind.disparity}"
    units = dict.fromkeys(directed(kind), ", %") | {gap: f", {kind.unit}"}
    if kind.numeric:
        units[f"delta_{kind.rate}"] = ""
    return {metric: f"{label}{units[metric]}" for metric, label in directed(kind).items()}


@dataclass(frozen=True)
class VersionChange:
    """Compare a model with the previous version, or with its answers in an earlier release.

    Parameters
    ----------
    own : AnswerSet
        The answers of the newer model.
    compared : Comparison
        Their comparison.
    """

    own: AnswerSet
    compared: Comparison

    def answer(self) -> Answer:
        """State whether the newer model is better."""
        words = {pair.name: self._word(change_of(self.compared, pair)) for pair in self.own.pairs}
        return Answer(by_pair(words), " ".join([self._result(), *self._notes()]))

    def _word(self, change: PairChange | None) -> str:
        if change is None or change.verdict is None:
            return CANNOT
        if change.verdict in _VERDICTS or change.reason:
            return _VERDICTS.get(change.verdict, "Unclear")
        found = {change.direction(metric) for metric in compared_figures(self.own.kind)}
        return _MOVED[int(1 in found), int(-1 in found)]

    @property
    def directions(self) -> list[int]:
        """Return the direction of each change: 1 if it is better, −1 if worse, 0 if unclear."""
        metrics = compared_figures(self.own.kind)
        return [pair.direction(metric) for pair in self.compared.pairs for metric in metrics]

    def _result(self) -> str:
        kind, found = self.own.kind, self.directions
        pairs, metrics = self.compared.pairs, compared_figures(kind)
        rows = [pair.figures[metric] for pair in pairs for metric in metrics]
        if all(math.isnan(row["p_value"]) for row in rows):
            return "Each change is a range, because missing answers could be anything."
        if not self.compared.alike:
            return "Changes between different questions are not judged."
        judged = [pair.figures[m] for pair in pairs for m in metrics if m in BETTER]
        if found.count(1) == len(judged):
            largest = p_value(max(row["p_adjusted"] for row in judged)).replace("=", "≤")
            more = "more accurate, more consistent" if kind == CHOICE else "more consistent"
            return f"It is {more} and has smaller gaps ({self._with(rows)}, adjusted {largest})."
        counts = {word: found.count(way) for way, word in ((1, "better"), (-1, "worse"))}
        named = listed(
            f"{number_word(count)} {'is' if count == 1 else 'are'} significantly {word}"
            for word, count in counts.items()
            if count
        )
        figures = "accuracy, CFR and AD" if kind == CHOICE else f"CFR and {gap_of(kind)}"
        of = f"Of {number_word(len(judged))} changes in {figures}"
        level = f"adjusted p at most {self.own.release.alpha:g}"
        return f"{of}, {named or 'none is significant'} ({self._with(rows)}, {level})."

    def _with(self, rows: list[Mapping[Any, Any]]) -> str:
        items = counted_items(self.own.benchmark, int(max(row["n"] for row in rows)))
        return f"{self.own.prompt} prompt, {items}" if self.compared.prompted else items

    def _notes(self) -> list[str]:
        """Why the comparison is open, or not like for like."""
        reasons = dict.fromkeys(pair.reason for pair in self.compared.pairs)
        return [f"{capital(text)}." for text in (*reasons, self.compared.note) if text]

    def charts(self, *, name: str) -> list[Chart]:
        """Draw one chart per figure, from the older to the newer model.

        Parameters
        ----------
        name : str
            The charts' name, unique on the page.
        """
        figures = compared_figures(self.own.kind)
        return [self._chart(metric, f"{name}-{metric}", title) for metric, title in figures.items()]

    def _chart(self, metric: str, name: str, title: str) -> Chart:
        benchmark, changes = self.own.benchmark, self.compared.pairs
        kind, limits = written_as(metric, benchmark.kind), (0.0, 100.0)
        if kind.numeric:
            gap = metric == f"delta_{kind.disparity}"
            limits = (0.0, benchmark.span) if gap else benchmark.limits
        axis = axis_over(
            [scaled(kind, one.figures[metric][side]) for one in changes for side in ("old", "new")],
            key=metric,
            label="",
            note=title,
            room=0.04,
            lead=0.04,
            limits=limits,
            signed=False,
            unit="%" if title.endswith("%") else "",
        )
        rows = []
        for pair in self.own.charted:
            if (change := change_of(self.compared, pair)) is not None:
                row = change.figures[metric]
                text = limited_change(row, kind)
                said = f"change {text}"
                if not math.isnan(row["old"] + row["new"]):
                    said = f"{plain(kind, row['old'])} to {plain(kind, row['new'])}, {said}"
                if not math.isnan(row["p_adjusted"]):
                    said += f", adjusted {p_value(row['p_adjusted'])}"
                colour = COLOURS[change.direction(metric)]
                rows.append(
                    Row(pair.name, (Cell(dumbbell(axis, row, kind, colour), said),), (text,))
                )
        caption = f"{title}: {self.compared.older} and {self.own.model}"
        heads = (f"Change, {kind.unit}",)
        return Chart(name, caption, "Pair", (axis,), tuple(rows), heads, height=24)

    def key(self) -> list[Mark]:
        """Return the marks of the charts."""
        found = set(self.directions)
        shown = [mark for way, mark in _MARKS.items() if way in found]
        return [
            Mark(self.compared.older, "hollow"),
            *(Mark(f"{self.own.model}{words}", css) for css, words in shown),
            Mark("change: newer − older; ↑ higher is better, ↓ lower is better"),
        ]


def version_change(own: AnswerSet, *, again: bool = False) -> VersionChange | None:
    """Compare a model with its previous version; None if the release has none.

    Parameters
    ----------
    own : AnswerSet
        One of the model's answer sets of a benchmark. That of the plain prompt is compared, if
        there is one.
    again : bool
        Whether to compare this answer set with the model's answers in an earlier release instead.
    """
    found = [one for one in own.comparisons[VERSION] if (one.old == own.model) == again]
    sides = [own] if again else own.siblings
    sets = {(one.board.version, one.board.strategy): one for one in sides}
    for compared in sorted(found, key=lambda one: one.strategy != PLAIN):
        if compared.key in sets:
            return VersionChange(sets[compared.key], compared)
    return None


def _of(own: AnswerSet) -> VersionChange:
    change = version_change(own)
    assert change is not None
    return change


def _parts(own: AnswerSet) -> list[AnswerSet]:
    change = version_change(own)
    return [change.own] if change else []


def change_tables(own: AnswerSet, kind: str) -> list[Shown]:
    """Return the table of a model's changes from other versions, or from other prompts."""
    changes = [(one, pair) for one in own.comparisons[kind] for pair in one.charted]
    if not changes:
        return []
    limits = "range" if own.ranged else f"{level(own.release.alpha)} CI"
    table = change_table(changes, name=f"changes-{kind}", limits=limits)
    return [Shown(table, "Changes of all figures. Bold: significant changes")]


def change_of(compared: Comparison, pair: Pair) -> PairChange | None:
    """Return the change of a pair of groups; None if it was not compared."""
    key = (pair.attribute, *pair.groups)
    return next((change for change in compared.pairs if change.pair == key), None)


def limited_change(row: Mapping[Any, Any], kind: Kind) -> str:
    """Return a change with its limits, without the unit."""
    # A line may break between the two, not inside the limits.
    limits = signed_range(kind, row["ci_low"], row["ci_high"]).replace(" ", "\u00a0")
    estimate = "" if math.isnan(row["estimate"]) else f"{kind.signed(row['estimate'])} "
    return f"{estimate}({limits})" if limits else estimate or "not known"


SECTION = Section(
    order=90,
    title=lambda own: f"Is it better than {_of(own).compared.older}?",
    answer=lambda own: _of(own).answer(),
    applies=lambda own: version_change(own) is not None,
    charts=lambda own, name: _of(own).charts(name=name),
    key=lambda own: _of(own).key(),
    tables=lambda own: change_tables(own, VERSION),
    parts=_parts,
)
