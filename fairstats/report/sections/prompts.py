"""Answer the questions of a model's page about other prompts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairstats._lib.formatting import capital, level, listed, number_word, p_value
from fairstats.comparisons.compare import STRATEGY
from fairstats.inference.verdict import DISPARITY, EQUIVALENT
from fairstats.report.answer_sets import AnswerSet, Pair, prompts_of
from fairstats.report.changes.rows import Comparison, PairChange, gap_of
from fairstats.report.charts.marks import Axis, interval, tick
from fairstats.report.charts.rows import Cell, Chart, Row
from fairstats.report.figures import UNKNOWN, Figure
from fairstats.report.findings import prompt_label
from fairstats.report.page_output import ACCENT_A, ACCENT_B
from fairstats.report.sections.section import CANNOT, Answer, Mark, Section, axis_of
from fairstats.report.sections.versions import (
    change_of,
    change_tables,
    limited_change,
)
from fairstats.report.words import gap_name, signed_range, unsigned

# More changes than these are counted, not named.
_MOST_NAMED = 3


@dataclass(frozen=True)
class PromptChanges:
    """Compare a model's gaps between prompts.

    Parameters
    ----------
    sets : sequence of AnswerSet
        Its answers to one version of a benchmark, the reference first.
    compared : sequence of Comparison
        Their comparisons with the reference.
    """

    sets: Sequence[AnswerSet]
    compared: Sequence[Comparison]

    @property
    def plain(self) -> AnswerSet:
        """Return the answers with the prompt that the others are compared with."""
        return self.sets[0]

    def answer(self) -> Answer:
        """State whether another prompt closes the gaps."""
        first, others, text = self.plain, self.sets[1:], self._changes()
        verdicts = {pair: [_verdict(one, pair) for one in self.sets] for pair in first.pairs}
        open_pairs = {pair: own for pair, own in verdicts.items() if own[0] != EQUIVALENT}
        if all(own[0] is None for own in verdicts.values()):
            reason = next(filter(None, (p.reason for p in verdicts)), "there is no verdict")
            return Answer(CANNOT, f"{capital(reason)}. {text}")
        if not open_pairs:
            reference = prompt_label(first.board.strategy)
            return Answer("No gap to close", f"With the {reference} every gap is small. {text}")
        closing = [
            f"“{one.prompt}”"
            for place, one in enumerate(others, start=1)
            if all(
                own[place] == EQUIVALENT and self._moves(one, pair) > 0
                for pair, own in open_pairs.items()
            )
        ]
        if closing:
            return Answer("Yes", f"With {listed(closing, 'or')} every gap is equivalent. {text}")
        later = [verdict for own in open_pairs.values() for verdict in own[1:]]
        if all(verdict == DISPARITY for own in open_pairs.values() for verdict in own):
            narrower = all(any(self._moves(o, pair) > 0 for o in others) for pair in open_pairs)
            stays = "Every gap stays" if len(open_pairs) > 1 else "It stays"
            stays += " a disparity."
            if len(open_pairs) < len(verdicts):
                stays = "Each disparity stays one."
            return Answer("Only partly" if narrower else "No", f"{stays} {text}")
        small = later.count(EQUIVALENT)
        counts = {"equivalent": small, "inconclusive": len(later) - small - later.count(DISPARITY)}
        parts = listed(f"{number_word(n)} {word}" for word, n in counts.items() if n)
        of = f"Of {number_word(len(later))} gaps with other prompts"
        return Answer("Unclear", f"{of}, {parts or 'none equivalent'}. {text}")

    def _change(self, one: AnswerSet, pair: Pair) -> PairChange | None:
        found = (own for own in self.compared if own.prompt == one.board.strategy)
        return next((change for own in found if (change := change_of(own, pair))), None)

    def _moves(self, one: AnswerSet, pair: Pair) -> int:
        """1 if the prompt makes a gap significantly smaller, −1 if larger, else 0."""
        change = self._change(one, pair)
        return 0 if change is None else change.direction(f"delta_{one.kind.disparity}")

    def _changes(self) -> str:
        """State which changes of the gap are significant."""
        found = [
            (one, pair, change.gap)
            for one in self.sets[1:]
            for pair in self.plain.pairs
            if (change := self._change(one, pair)) is not None and not math.isnan(change.p)
        ]
        if not found:
            return "No change is tested."
        alpha, reference = self.plain.release.alpha, prompt_label(self.plain.board.strategy)
        shown = [change for change in found if self._moves(*change[:2])]
        against = f"Of {number_word(len(found))} change{'s' * (len(found) != 1)} of "
        against += f"{gap_of(self.plain.kind)} against the {reference}"
        if not shown:
            return f"{against}, none is significant (adjusted p above {alpha:g})."
        if len(shown) > _MOST_NAMED:
            less = sum(row["estimate"] < 0 for *_, row in shown)
            counts = f"{number_word(less)} are significant reductions and "
            return f"{against}, {counts}{number_word(len(shown) - less)} increases."
        named = "; ".join(_named(*change) for change in shown)
        verb = "is" if len(shown) == 1 else "are"
        return f"{against}, {number_word(len(shown))} {verb} significant: {named}."

    def charts(self, *, name: str) -> list[Chart]:
        """Draw one chart per pair with a row per prompt, all on one axis.

        Parameters
        ----------
        name : str
            The charts' name, unique on the page.
        """
        first = self.plain
        gaps = [_gap(one, pair) for one in self.sets for pair in first.charted]
        charts = []
        for number, pair in enumerate(first.charted):
            axis = axis_of(
                gaps,
                f"pair{number}",
                "" if pair.name != pair.label else pair.note,
                band=(-first.margin, first.margin),
                room=0.04,
                label=pair.name,
            )
            rows = [Row(capital(one.prompt), (self._cell(axis, one, pair),)) for one in self.sets]
            caption = f"{pair.name}: {gap_name(first.kind)} by prompt, {first.version}"
            charts.append(Chart(f"{name}-{number}", caption, "Prompt", (axis,), tuple(rows)))
        return charts

    def _cell(self, axis: Axis, one: AnswerSet, pair: Pair) -> Cell:
        """Draw a gap and its interval, and a line at the gap with the reference."""
        kind, gap, change = one.kind, _gap(one, pair), self._change(one, pair)
        at = _gap(self.plain, pair).estimate
        colour = ACCENT_B if self._moves(one, pair) else ACCENT_A
        marks = tick(axis, at, colour=ACCENT_A, reach=50, dashed=True)
        marks += interval(axis, *gap.all, colour=colour)
        said = gap.written(f" {kind.unit}")
        if change is not None:
            said += f"; change of {gap_of(kind)} {limited_change(change.gap, kind)}"
            said += "" if math.isnan(change.p) else f", adjusted {p_value(change.p)}"
        return Cell(marks, said)


def _named(one: AnswerSet, pair: Pair, row: Mapping[Any, Any]) -> str:
    """Describe a significant change of a gap."""
    verb, kind = "narrows" if row["estimate"] < 0 else "widens", one.kind
    size = f"{unsigned(kind, abs(row['estimate']))} {kind.unit}"
    limits = f"{level(one.release.alpha)} CI {signed_range(kind, row['ci_low'], row['ci_high'])}"
    return (
        f"“{one.prompt}” {verb} the gap for {pair.name} by {size} "
        f"(change {limits}, adjusted {p_value(row['p_adjusted'])})"
    )


def _verdict(own: AnswerSet, pair: Pair) -> str | None:
    found = own.like(pair)
    return None if found is None else found.verdict


def _gap(own: AnswerSet, pair: Pair) -> Figure:
    found = own.like(pair)
    return UNKNOWN if found is None else found.gap


def prompt_changes(own: AnswerSet) -> PromptChanges | None:
    """Compare a model's gaps between prompts on one version; None if nothing was compared.

    Parameters
    ----------
    own : AnswerSet
        The answers with the prompt that others are compared with.
    """
    compared = [one for one in own.comparisons[STRATEGY] if one.version == own.board.version]
    if not compared:
        return None
    sets = [one for one in own.siblings if one.board.version == own.board.version]
    first = compared[0].reference
    return PromptChanges(sorted(sets, key=lambda one: one.board.strategy != first), compared)


def _parts(own: AnswerSet) -> list[AnswerSet]:
    """Return the answers with the reference on each version with several prompts."""
    found = (prompt_changes(sets[0]) for sets in prompts_of(own.siblings))
    return [changes.plain for changes in found if changes is not None]


def _of(own: AnswerSet) -> PromptChanges:
    changes = prompt_changes(own)
    assert changes is not None
    return changes


def _key(own: AnswerSet) -> list[Mark]:
    unit = f" {own.kind.unit}" if own.kind.numeric else "-point"
    reference = prompt_label(own.board.strategy)
    return [
        Mark(f"{gap_name(own.kind)} with its interval"),
        Mark(f"dotted line: {reference}"),
        Mark(f"significant change of {gap_of(own.kind)} against the {reference}", "b"),
        Mark(f"shaded: ±{own.margin:g}{unit} margin"),
    ]


SECTION = Section(
    order=100,
    title=lambda own: "Does another prompt close the gap?",
    answer=lambda own: _of(own).answer(),
    applies=lambda own: bool(_parts(own)),
    charts=lambda own, name: _of(own).charts(name=name),
    key=_key,
    tables=lambda own: change_tables(own, STRATEGY),
    parts=_parts,
    wide=True,
)
