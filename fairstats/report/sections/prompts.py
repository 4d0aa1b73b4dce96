"""Answer the questions of a model's page about other prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from fairstats._lib.formatting import (
    capital,
    level,
    listed,
    number_word,
    p_value,
)
from fairstats.comparisons.compare import STRATEGY
from fairstats.inference.verdict import DISPARITY, EQUIVALENT
from fairstats.report.answer_sets import UNKNOWN, AnswerSet, Figure, Pair, prompts_of
from fairstats.report.changes.rows import gap_of
from fairstats.report.charts.marks import axis_over, interval, tick
from fairstats.report.charts.rows import Cell, Chart, Row
from fairstats.report.findings import prompt_label
from fairstats.report.page_output import ACCENT_A, ACCENT_B
from fairstats.report.sections.section import CANNOT, Answer, Mark, Section
from fairstats.report.sections.versions import change_tables, change_text, comparisons, of_pair
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
    rows : pandas.DataFrame
        Their comparisons with the reference.
    """

    sets: Sequence[AnswerSet]
    rows: pd.DataFrame

    @property
    def plain(self) -> AnswerSet:
        """Return the answers with the prompt that the others are compared with."""
        return self.sets[0]

    @property
    def reference(self) -> str:
        """Return the readers' name of that prompt."""
        return prompt_label(self.plain.board.strategy)

    def answer(self) -> Answer:
        """State whether another prompt closes the gaps."""
        plain, others = self.plain, self.sets[1:]
        verdicts = {p: [_verdict(one, p) for one in self.sets] for p in plain.pairs}
        open_pairs = {p: found for p, found in verdicts.items() if found[0] != EQUIVALENT}
        text = self._changes()
        if all(found[0] is None for found in verdicts.values()):
            reason = next(filter(None, (p.reason for p in verdicts)), "there is no verdict")
            return Answer(CANNOT, f"{capital(reason)}. {text}")
        if not open_pairs:
            return Answer(
                "No gap to close", f"With the {self.reference} every gap is small. {text}"
            )
        closing = [
            one
            for place, one in enumerate(others, start=1)
            if all(
                found[place] == EQUIVALENT and self._narrows(one, pair)
                for pair, found in open_pairs.items()
            )
        ]
        if closing:
            names = listed((f"“{one.prompt}”" for one in closing), "or")
            return Answer("Yes", f"With {names} every gap is equivalent. {text}")
        if all(verdict == DISPARITY for found in open_pairs.values() for verdict in found):
            stays = (
                "Every gap stays a disparity." if len(open_pairs) > 1 else "It stays a disparity."
            )
            if len(open_pairs) < len(verdicts):
                stays = "Each disparity stays one."
            narrower = all(any(self._narrows(o, pair) for o in others) for pair in open_pairs)
            return Answer("Only partly" if narrower else "No", f"{stays} {text}")
        return Answer("Unclear", f"{self._open(open_pairs)} {text}")

    def _open(self, pairs: Mapping[Pair, list[str | None]]) -> str:
        """State how many gaps are not a disparity, in a sentence."""
        later = [verdict for found in pairs.values() for verdict in found[1:]]
        small = later.count(EQUIVALENT)
        unsure = len(later) - small - later.count(DISPARITY)
        parts = [f"{number_word(small)} equivalent" if small else ""]
        parts += [f"{number_word(unsure)} inconclusive" if unsure else ""]
        counted = listed(filter(None, parts)) if small or unsure else "none equivalent"
        return f"Of {number_word(len(later))} gaps with other prompts, {counted}."

    def _row(self, one: AnswerSet, pair: Pair) -> pd.Series | None:
        gap = f"delta_{self.plain.kind.disparity}"
        own = of_pair(self.rows[self.rows["metric"] == gap], pair)
        own = own[own["strategy"] == f"{self.plain.board.strategy} → {one.board.strategy}"]
        return own.iloc[0] if len(own) else None

    def _narrows(self, one: AnswerSet, pair: Pair) -> bool:
        row = self._row(one, pair)
        return row is not None and self._significant(row) and row["estimate"] < 0

    def _significant(self, row: pd.Series) -> bool:
        return bool(row["p_adjusted"] <= self.plain.release.alpha)

    def _changes(self) -> str:
        """State which changes of the gap are significant."""
        found = [
            (one, pair, row)
            for one in self.sets[1:]
            for pair in self.plain.pairs
            if (row := self._row(one, pair)) is not None
        ]
        known = [change for change in found if not pd.isna(change[2]["p_adjusted"])]
        if not known:
            return "No change is tested."
        alpha = self.plain.release.alpha
        shown = [change for change in known if self._significant(change[2])]
        n = number_word(len(known))
        gap = gap_of(self.plain.kind)
        against = f"Of {n} change{'s' * (len(known) != 1)} of {gap} against the {self.reference}"
        if not shown:
            return f"{against}, none is significant (adjusted p above {alpha:g})."
        if len(shown) > _MOST_NAMED:
            less = sum(row["estimate"] < 0 for *_, row in shown)
            more = number_word(len(shown) - less)
            return (
                f"{against}, {number_word(less)} are significant reductions and {more} increases."
            )
        named = "; ".join(self._named(*change) for change in shown)
        verb = "is" if len(shown) == 1 else "are"
        return f"{against}, {number_word(len(shown))} {verb} significant: {named}."

    def _named(self, one: AnswerSet, pair: Pair, row: pd.Series) -> str:
        verb, kind = "narrows" if row["estimate"] < 0 else "widens", self.plain.kind
        size = f"{unsigned(kind, abs(row['estimate']))} {kind.unit}"
        limits = f"{level(self.plain.release.alpha)} CI "
        limits += signed_range(kind, row["ci_low"], row["ci_high"])
        return (
            f"“{one.prompt}” {verb} the gap for {pair.name} by {size} "
            f"(change {limits}, adjusted {p_value(row['p_adjusted'])})"
        )

    def charts(self, *, name: str) -> list[Chart]:
        """Draw one chart per pair with a row per prompt, all on one axis.

        Parameters
        ----------
        name : str
            The charts' name, unique on the page.
        """
        plain, kind = self.plain, self.plain.kind
        gaps = {
            (one.board.strategy, pair): _gap(one, pair)
            for one in self.sets
            for pair in plain.charted
        }
        ends = [end for gap in gaps.values() for end in (gap.estimate, gap.low, gap.high)]
        charts = []
        for number, pair in enumerate(plain.charted):
            axis = axis_over(
                ends,
                key=f"pair{number}",
                label=pair.name,
                note="" if pair.name != pair.label else pair.note,
                band=(-plain.margin, plain.margin),
                room=0.04,
                lead=0.04,
            )
            rows = []
            for one in self.sets:
                gap, row = gaps[(one.board.strategy, pair)], self._row(one, pair)
                shown = row is not None and self._significant(row)
                plainly = gaps[(plain.board.strategy, pair)].estimate
                marks = tick(axis, plainly, colour=ACCENT_A, reach=50, dashed=True)
                colour = ACCENT_B if shown else ACCENT_A
                marks += interval(axis, gap.estimate, gap.low, gap.high, colour=colour)
                size = 1 if kind.numeric else 100
                said = kind.shown(gap.estimate / size) if gap.known else "range"
                said += f", {signed_range(kind, gap.low / size, gap.high / size)}"
                if row is not None:
                    said += f"; change of {gap_of(kind)} {change_text(row, kind)}"
                    if not pd.isna(row["p_adjusted"]):
                        said += f", adjusted {p_value(row['p_adjusted'])}"
                label = capital(one.prompt)
                rows.append(Row(label, (Cell(marks, said),)))
            caption = f"{pair.name}: {gap_name(kind)} by prompt, {plain.version}"
            charts.append(Chart(f"{name}-{number}", caption, "Prompt", (axis,), tuple(rows)))
        return charts


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
    rows = comparisons(own.release, STRATEGY, own)
    version = rows["benchmark_version"] == own.board.version
    rows = rows[version & (rows["model_new"] == own.model)]
    sets = [one for one in own.siblings() if one.board.version == own.board.version]
    if rows.empty:
        return None
    reference = str(rows["strategy"].iloc[0]).partition(" → ")[0]
    return PromptChanges(sorted(sets, key=lambda one: one.board.strategy != reference), rows)


def _parts(own: AnswerSet) -> list[AnswerSet]:
    """Return the answers with the reference on each version with several prompts."""
    found = (prompt_changes(sets[0]) for sets in prompts_of(own.siblings()))
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
