"""Read the parts of a release for an audit report: a model's answer sets, and their pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from fairstats._lib.formatting import listed, span
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.declaration import BASELINE, POOLED, Attribute, Benchmark
from fairstats.benchmarks.kinds import TESTS, Kind
from fairstats.estimates.table import is_primary_test
from fairstats.release.contents import Board, Release
from fairstats.report.charts.rows import largest

_UNIT = ["benchmark", "benchmark_version", "strategy"]
_PAIR = ["attribute", "group_a", "group_b"]


@dataclass(frozen=True)
class Pair:
    """Hold one pair of groups and its estimates.

    Attributes
    ----------
    attribute : Attribute
        The attribute that the groups are values of.
    groups : (str, str)
        The groups' names in the answers.
    label : str
        The pair's name for readers, e.g. ``"Race: White − Black"``.
    figures : pandas.DataFrame
        The estimates by metric. That of the kind's test is the one that the verdict is based on.
    kind : Kind
        The kind of the answers.
    """

    attribute: Attribute
    groups: tuple[str, str]
    label: str
    figures: pd.DataFrame
    kind: Kind

    @property
    def terms(self) -> tuple[str, str]:
        """Return the groups' terms for readers."""
        a, b = (self.attribute.groups.get(group, group) for group in self.groups)
        return a, b

    @property
    def difference(self) -> pd.Series:
        """Return the estimate of the signed difference that is judged."""
        return self.figures.loc[self.kind.difference]

    @property
    def verdict(self) -> str | None:
        """Return the verdict; None if the pair was not judged."""
        found = self.difference["verdict"]
        return found if isinstance(found, str) else None

    @property
    def reason(self) -> str:
        """Why the verdict was left open or not given; empty if it follows from the figures."""
        found = self.difference["verdict_reason"]
        return found if isinstance(found, str) else ""

    def value(self, metric: str, column: str = "estimate") -> float:
        """Return one figure of the pair; NaN if it is missing."""
        if metric not in self.figures.index:
            return math.nan
        found = self.figures.loc[metric, column]
        return math.nan if pd.isna(found) else float(found)


@dataclass(frozen=True)
class AnswerSet:
    """Hold the report's model's answers on one board, and the release's results on them."""

    release: Release
    board: Board
    model: str

    @property
    def benchmark(self) -> Benchmark:
        """Return the benchmark that was answered."""
        return self.board.benchmark

    @property
    def version(self) -> str:
        """Return the readers' name of the vignettes' version, e.g. ``"GPT-written vignettes"``."""
        named = self.benchmark.versions.get(self.board.version)
        return named or f"version {self.board.version}"

    @property
    def vignettes(self) -> str:
        """Benchmark and version."""
        return f"{self.benchmark.title}, {self.version}"

    @property
    def prompt(self) -> str:
        """Return the readers' name of the prompt."""
        return strategy_label(self.board.strategy)

    @property
    def label(self) -> str:
        """Vignettes and prompt."""
        return f"{self.vignettes}, prompt: {self.prompt}"

    @property
    def kind(self) -> Kind:
        """Return the kind of the answers."""
        return self.benchmark.kind

    @property
    def margin(self) -> str:
        """Return the equivalence margin with its unit, without needless decimals."""
        return f"{self.kind.shown_margin(self.benchmark.equivalence_margin)} {self.kind.unit}"

    @property
    def selected(self) -> str:
        """Return the model's part in selecting the items; empty if it had none."""
        chosen = self.benchmark.selected_on
        return str(chosen[self.model]) if self.model in chosen else ""

    @cached_property
    def rows(self) -> pd.DataFrame:
        """Return all estimates of the answer set."""
        own = self.board.estimates
        return own[own["model"] == self.model]

    @cached_property
    def pairs(self) -> list[Pair]:
        """Return the pairs that are compared, in the order of the benchmark."""
        rows, controls = self.rows, [one.name for one in self.benchmark.controls]
        aside = rows["attribute"].isin([BASELINE, POOLED, *controls]) | rows["group_a"].isna()
        other = rows["metric"].isin(TESTS) & ~is_primary_test(rows)
        found = []
        for (name, a, b), own in rows[~aside & ~other].groupby(_PAIR, sort=False):
            figures = own.set_index("metric")
            if self.kind.difference in figures.index:
                attribute, groups = self.benchmark.attribute(str(name)), (str(a), str(b))
                label = self.benchmark.pair_name(attribute.name, groups)
                found.append(Pair(attribute, groups, label, figures, self.kind))
        return found

    @cached_property
    def charted(self) -> Sequence[Pair]:
        """Return the pairs on the first page: of many, those with the largest differences."""
        return largest(self.pairs, lambda pair: pair.value(self.kind.difference))

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Return the manifest's entries, one per snapshot."""
        return self.release.answers_of(self.board, self.model)

    @property
    def units(self) -> int:
        """Return the number of independent units: items, or the declared clusters."""
        known = [pair.value(self.kind.difference, "n_units") for pair in self.pairs]
        known = [number for number in known if not math.isnan(number)]
        return int(max(known)) if known else sum(entry["items"] for entry in self.entries)

    @property
    def ranges(self) -> bool:
        """Check whether the figures are ranges over the missing answers, without estimates."""
        return bool((self.rows["missing"] == "bounds").all())

    def table(self, name: str) -> pd.DataFrame:
        """Return the rows of one of the release's tables that belong to this answer set."""
        table = self.release.table(name)
        unit = [self.benchmark.name, self.board.version, self.board.strategy]
        own = (table[_UNIT] == unit).all(axis=1) & (table["model"] == self.model)
        return table[own]

    def choices(self, pair: Pair) -> pd.DataFrame:
        """Return the rows of the table of sensitivity that belong to one pair."""
        rows = self.table("sensitivity")
        return rows[(rows[_PAIR] == [pair.attribute.name, *pair.groups]).all(axis=1)]


def answer_sets(release: Release, model: str) -> list[AnswerSet]:
    """Return the answer sets of a model; the first is the one in the summary."""
    return [AnswerSet(release, board, model) for board in release.boards if model in board.models]


def names_of(pairs: Sequence[Pair], among: Sequence[Pair]) -> str:
    """Name pairs in a sentence: an attribute for all of its pairs, else the groups.

    Parameters
    ----------
    pairs : sequence of Pair
        The pairs to name.
    among : sequence of Pair
        All pairs of their answer set.
    """
    names: list[str] = []
    for attribute in dict.fromkeys(pair.attribute.name for pair in pairs):
        own = [pair for pair in pairs if pair.attribute.name == attribute]
        label = own[0].attribute.label
        if len(own) == sum(pair.attribute.name == attribute for pair in among):
            # An abbreviation keeps its capitals.
            names.append(label if label[1:2].isupper() else label[:1].lower() + label[1:])
        elif len({first for first, _ in own[0].attribute.pairs}) == 1:
            # All have the same first group.
            names += [pair.terms[1] for pair in own]
        else:
            names += [pair.attribute.pair_label(pair.groups) for pair in own]
    if len(names) > 5:
        return f"{len(pairs)} of {len(among)} pairs"
    return listed(names)


def differences_of(pairs: Sequence[Pair]) -> str:
    """Return the smallest and largest difference of pairs, with its unit, if any is known."""
    known = [value for pair in pairs if not math.isnan(value := pair.difference["estimate"])]
    if not known:
        return ""
    kind = pairs[0].kind
    return f"{span(kind.signed(min(known)), kind.signed(max(known)))} {kind.unit}"
