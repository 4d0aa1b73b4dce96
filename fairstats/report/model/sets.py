"""The answer sets of one model, with the figures that its page shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from fairstats._lib.formatting import points, span
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, PLAIN, Benchmark
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.release.contents import Board, Release
from fairstats.report.board.figures import BoardFigures, Panel
from fairstats.report.charts.rows import MOST_CHARTED, largest
from fairstats.report.words import plain, scale_of, scaled


@dataclass(frozen=True)
class Figure:
    """An estimate with its limits, as on a chart's axis; NaN if it is not known.

    Shares are in percent and their differences in points; levels and scores in their own unit.
    """

    estimate: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Check whether there is an estimate; under ``bounds`` there may be a range only."""
        return not math.isnan(self.estimate)


UNKNOWN = Figure(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class AnswerSet:
    """A model's answers to one version of a benchmark with one prompt.

    Parameters
    ----------
    key : str
        The set's value in the page's controls.
    figures : BoardFigures
        The board that the set is on.
    model : str
        The model.
    """

    key: str
    figures: BoardFigures
    model: str

    @property
    def board(self) -> Board:
        """Return the board that the set is on."""
        return self.figures.board

    @property
    def benchmark(self) -> Benchmark:
        """Return the benchmark that was answered."""
        return self.board.benchmark

    @property
    def kind(self) -> Kind:
        """Return the kind of answers."""
        return self.benchmark.kind

    @property
    def prompt(self) -> str:
        """Return the readers' name of the prompt."""
        return strategy_label(self.board.strategy)

    @property
    def vignettes(self) -> str:
        """Return the readers' name of the benchmark's version."""
        return self.benchmark.versions.get(self.board.version, self.board.version)

    @property
    def label(self) -> str:
        """Vignettes and prompt, e.g. ``"GPT-written vignettes, plain"``."""
        return f"{self.vignettes}, {self.prompt}"

    @cached_property
    def alone(self) -> Board:
        """Return the board without the other models."""
        own = {
            name: table[table["model"] == self.model]
            for name in ("estimates", "ranks")
            if (table := getattr(self.board, name)) is not None
        }
        return replace(self.board, **own)

    @cached_property
    def pairs(self) -> list[Panel]:
        """Return the pairs of groups in the model's answers."""
        found = self.figures.pairs
        return [p for p in found if self.row(self.kind.difference, p) is not None]

    @property
    def many(self) -> bool:
        """Check whether there are more pairs than a chart or a table of columns can show."""
        return self.figures.many

    @cached_property
    def charted(self) -> Sequence[Panel]:
        """Return the pairs that charts show: of many, those with the largest gaps."""
        if len(self.pairs) <= MOST_CHARTED:
            return self.pairs
        sizes = {p: self.figure(self.kind.difference, p).estimate for p in self.pairs}
        known = [p for p in self.pairs if not math.isnan(sizes[p])]
        return largest(known or self.pairs, sizes.__getitem__)

    @cached_property
    def accuracies(self) -> dict[tuple[str, str], Figure]:
        """Return the accuracy, rate or mean of each group, by attribute and group."""
        return self.by_group(self.kind.rate_a, self.kind.rate_b)

    def by_group(self, first: str, second: str) -> dict[tuple[str, str], Figure]:
        """Return the figure of each group, from the metrics of both groups of its pairs."""
        return {
            (pair.attribute, group): self.figure(metric, pair)
            for pair in self.pairs
            for metric, group in zip((first, second), pair.pair, strict=True)
        }

    def group_name(self, attribute: str, group: str) -> str:
        """Return a group's label, after that of its attribute if there are several."""
        of = self.benchmark.attribute(attribute)
        label = of.groups.get(group, group)
        several = len({pair.attribute for pair in self.pairs}) > 1
        return f"{of.label}: {label}" if several else label

    @property
    def whole(self) -> Panel | None:
        """Return the panel of all pairs together, or of the only pair."""
        pooled = self.figures.pooled
        if pooled is not None and self.row(self.kind.difference, pooled) is not None:
            return pooled
        return self.pairs[0] if len(self.pairs) == 1 else None

    def row(self, metric: str, panel: Panel) -> pd.Series | None:
        """Return the estimate of a metric; None if the model has no such answers."""
        return self.figures.row(self.model, metric, panel)

    def figure(self, metric: str, panel: Panel) -> Figure:
        """Return a metric with its limits, as on a chart's axis."""
        return figure_of(self.row(metric, panel), scale_of(self.kind, metric))

    def verdict(self, panel: Panel) -> str | None:
        """Return the verdict on a pair; None if it is not judged."""
        row = self.row(self.kind.difference, panel)
        given = None if row is None else row["verdict"]
        return given if isinstance(given, str) else None

    def reason(self, panel: Panel) -> str:
        """Why a verdict is open or missing; empty if it follows from the figures."""
        if self.selected:
            return "the model took part in selecting the items"
        row = self.row(self.kind.difference, panel)
        given = None if row is None else row["verdict_reason"]
        if isinstance(given, str):
            return given
        return "" if self.verdict(panel) else "there is no test of this pair"

    def group(self, panel: Panel, side: int) -> str:
        """Return the label of a pair's first (0) or second (1) group."""
        group = panel.pair[side]
        return self.benchmark.attribute(panel.attribute).groups.get(group, group)

    def name(self, panel: Panel) -> str:
        """Return a pair's name in sentences: its attribute, or its groups if that has several."""
        if [p.label for p in self.pairs].count(panel.label) == 1:
            return panel.label
        if len({p.attribute for p in self.pairs}) == 1:
            return panel.note
        if [(p.label, p.note) for p in self.pairs].count((panel.label, panel.note)) == 1:
            return f"{panel.label} ({panel.note})"
        # Two attributes can have groups of the same name.
        return self.benchmark.pair_name(panel.attribute, panel.pair)

    def full_name(self, panel: Panel) -> str:
        """Return a pair's groups, after the label of their attribute if there are several."""
        several = len({p.attribute for p in self.pairs}) > 1
        return self.benchmark.pair_name(panel.attribute, panel.pair) if several else panel.note

    @property
    def sides(self) -> tuple[str, str]:
        """Return the readers' names of the first and second group of every pair."""
        if len(self.pairs) == 1:
            return self.group(self.pairs[0], 0), self.group(self.pairs[0], 1)
        first, second = self.benchmark.pair_terms
        noun = self.benchmark.side_noun
        return f"{first} {noun}", f"{second} {noun}"

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Return the manifest's entries on the answers, one per snapshot."""
        return self.figures.release.answers_of(self.board, self.model)

    @property
    def selected(self) -> bool:
        """Check whether the model helped select the items, which makes its figures meaningless."""
        return self.model in self.benchmark.selected_on

    @property
    def ranged(self) -> bool:
        """Check whether figures are ranges over the missing answers, without a test."""
        rows = self.board.estimates
        return bool((rows.loc[rows["model"] == self.model, "missing"] == "bounds").any())

    @property
    def margin(self) -> float:
        """Return the equivalence margin, as on a chart's axis."""
        return scaled(self.kind, self.benchmark.equivalence_margin)

    def variant_accuracy(self, group: str) -> Figure | None:
        """Return the figure with a baseline text, e.g. ``"neutralized"``, or None."""
        baseline = self.benchmark.attributes.get(BASELINE)
        for pair in () if baseline is None else baseline.pairs:
            if group in pair:
                panel = Panel("", "", "", BASELINE, pair)
                metric = (self.kind.rate_a, self.kind.rate_b)[pair.index(group)]
                return None if self.row(metric, panel) is None else self.figure(metric, panel)
        return None

    @cached_property
    def neutral(self) -> Figure | None:
        """Return the accuracy with the neutral text; None if it was not used."""
        return self.variant_accuracy(NEUTRALIZED)


def sets_of(release: Release, model: str) -> dict[str, list[AnswerSet]]:
    """Return the answer sets of a model by benchmark, those with the plain prompt first.

    Parameters
    ----------
    release : Release
        The release with the answer sets.
    model : str
        One of its models.
    """
    found: dict[str, list[AnswerSet]] = {}
    for board in release.boards:
        if model in board.models:
            own = found.setdefault(board.benchmark.name, [])
            own.append(AnswerSet(f"s{len(own)}", BoardFigures(board, release), model))
    return found


def prompts_of(sets: Iterable[AnswerSet]) -> list[list[AnswerSet]]:
    """Return each version's sets, plain prompt first, if that was one of several prompts."""
    versions: dict[str, list[AnswerSet]] = {}
    for own in sets:
        versions.setdefault(own.board.version, []).append(own)
    several = [own for own in versions.values() if len(own) > 1]
    return [own for own in several if own[0].board.strategy == PLAIN]


def figure_of(row: pd.Series | None, scale: float = 100.0) -> Figure:
    """Return a row's estimate and limits, by default in percent or points."""
    if row is None:
        return UNKNOWN
    return Figure(*(scale * float(row[name]) for name in ("estimate", "ci_low", "ci_high")))


def span_of(values: Iterable[float], kind: Kind = CHOICE, *, signed: bool = False) -> str:
    """Return the smallest and the largest value on a chart's axis, in points or their own unit.

    Examples
    --------
    >>> span_of([8.24, 10.36]), span_of([-1.0, 2.0], signed=True), span_of([3.0, 3.01])
    ('8.2 to 10.4', '−1.0 to +2.0', '3.0')
    """
    known = list(values)
    ends = min(known), max(known)
    if kind.numeric:
        return span(*(kind.signed(end) if signed else plain(kind, end) for end in ends))
    return span(*(points(value / 100, signed=signed) for value in ends))
