"""A board as a list of answer sets, with the panels that its charts and tables have for pairs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from fairstats._lib.formatting import capital
from fairstats.benchmarks.declaration import PLAIN, POOLED, POOLED_GROUPS, Attribute
from fairstats.comparisons.ranking import rank_ranges
from fairstats.release.contents import Board, Release
from fairstats.report.answer_sets import MOST_PANELS, AnswerSet, Pair, sets_of_board, short_label
from fairstats.report.findings import pair_note
from fairstats.report.notes import screening_of, selected_runs, submissions_of
from fairstats.report.page_output import output_format
from fairstats.screening.findings import flags_of

#: The published table with a board's rows for models without released answers.
PUBLISHED_TABLE = "fairmedqa-3"
#: With more models than these, the site has the first ones on its first page and all on another.
#: Paper has this many of the first and of the last ones.
MOST_SHOWN, ENDS = 50, 10


@dataclass(frozen=True)
class Panel:
    """One pair of groups, all pairs together, or each pair of an attribute as a mark."""

    #: The name in the page's controls: the number of its attribute, or ``"all"``.
    key: str
    label: str
    note: str
    #: The attribute and groups of each pair.
    pairs: tuple[tuple[str, tuple[str, str]], ...]
    #: Whether each pair is a mark.
    shared: bool = False

    @property
    def attribute(self) -> str:
        """Return the attribute of the first pair."""
        return self.pairs[0][0]

    def of(self, own: AnswerSet, metric: str = "") -> list[Pair]:
        """Return the pairs of an answer set that the panel shows, if they have this metric."""
        found = (own.pair(*key) for key in self.pairs)
        return [pair for pair in found if pair and (not metric or metric in pair.estimates)]


@dataclass(frozen=True)
class BoardFigures:
    """Show a board as its answer sets.

    Parameters
    ----------
    board : Board
        The board to show.
    release : Release
        Provides the published figures without answers, and the number of answers.
    every : bool
        Whether to show all models of a long board.
    """

    board: Board
    release: Release
    every: bool = False

    @cached_property
    def sets(self) -> list[AnswerSet]:
        """Return the answer sets of the models, the best rank first."""
        return sets_of_board(self.board, self.release)

    @property
    def shortened(self) -> bool:
        """Check whether there are too many models for the page, which then shows some of them."""
        return is_long(self.board) and not self.every

    @property
    def rows(self) -> list[AnswerSet]:
        """Return the answer sets that charts and tables show, the best rank first."""
        if not self.shortened:
            return self.sets
        if output_format() == "html":
            return self.sets[:MOST_SHOWN]
        ranked = [own for own in self.sets if own.model in self._ranks] or self.sets
        return ranked if len(ranked) <= 2 * ENDS else [*ranked[:ENDS], *ranked[-ENDS:]]

    @property
    def label(self) -> str:
        """Return the readers' name of the version and, if prompts were declared, the prompt."""
        return capital(self.sets[0].label)

    @cached_property
    def screening(self) -> pd.DataFrame:
        """Return the screening of the board's answers."""
        return screening_of(self.release, self.board)

    @cached_property
    def flagged(self) -> frozenset[str]:
        """Return the models whose answers have a flag."""
        return frozenset(flags_of(self.screening)["model"])

    @cached_property
    def submissions(self) -> pd.DataFrame:
        """Return who sent the board's answers."""
        return submissions_of(self.release, self.board)

    @cached_property
    def chosen(self) -> frozenset[str]:
        """Return the models whose answers were chosen among several runs."""
        return frozenset(selected_runs(self.submissions)["model"])

    @cached_property
    def _asked(self) -> frozenset[str]:
        return frozenset(self.board.estimates["attribute"])

    @cached_property
    def attributes(self) -> list[Attribute]:
        """Return the varied attributes whose pairs were asked, in the benchmark's order."""
        return [a for a in self.board.benchmark.varied if a.name in self._asked and a.pairs]

    @cached_property
    def panels(self) -> list[Panel]:
        """Return one panel per pair of groups."""
        return [
            Panel(
                f"a{number}",
                short_label(attribute, groups),
                self.board.benchmark.pair_label(attribute.name, groups),
                ((attribute.name, groups),),
            )
            for number, attribute in enumerate(self.attributes)
            for groups in attribute.pairs
        ]

    @cached_property
    def pooled(self) -> Panel | None:
        """Return the panel of all attributes together; None if there is one pair only."""
        if POOLED not in self._asked:
            return None
        groups = (POOLED_GROUPS[0], POOLED_GROUPS[1])
        return Panel("all", "All pairs", pair_note(self.board.benchmark), ((POOLED, groups),))

    @cached_property
    def gaps(self) -> list[Pair]:
        """Return the judged pairs of all models."""
        return [pair for own in self.sets for pair in own.pairs]

    @property
    def largest_p(self) -> float:
        """Return the largest adjusted p-value of the models that did not select the items."""
        return max((p for own in self.sets for p in own.p_values), default=math.nan)

    @property
    def many(self) -> bool:
        """Check whether there are too many pairs for a panel each."""
        return self.pooled is not None and len(self.panels) > MOST_PANELS

    @cached_property
    def overview(self) -> list[Panel]:
        """Return the panels next to each other in the overview.

        If there are too many pairs for a panel each, those of an attribute share one.
        """
        if self.pooled is None:
            return self.panels
        return [self.pooled, *(self.by_attribute() if self.many else self.panels)]

    def by_attribute(self, *, whole: bool = False) -> list[Panel]:
        """Return a panel per attribute, or one of all attributes if there are many.

        Each has all pairs of its attribute as marks or, if `whole`, their common figure.
        """
        noun, panels = self.board.benchmark.side_noun, []
        for number, attribute in enumerate(self.attributes):
            keys = tuple((attribute.name, groups) for groups in attribute.pairs)
            note = f"{len(attribute.groups)} {noun}s, {len(keys)} pairs"
            if len(keys) == 1:
                # The only pair of an attribute is the attribute.
                note = attribute.pair_label(attribute.pairs[0])
            elif whole:
                keys = ((attribute.name, ("", "")),)
            panels.append(Panel(f"a{number}", attribute.label, note, keys, shared=len(keys) > 1))
        if len(panels) <= MOST_PANELS:
            return panels
        # It is shown whatever attribute is chosen.
        shown = " ".join(panel.key for panel in panels)
        label, note = "Each pair", f"{len(self.panels)} pairs of {len(panels)} attributes"
        if whole:
            label, note = "Each attribute", f"{len(panels)} attributes"
        return [Panel(shown, label, note, tuple(k for p in panels for k in p.pairs), shared=True)]

    @property
    def neutral(self) -> bool:
        """Check whether a model was asked the neutral text."""
        return any(own.neutral is not None for own in self.sets)

    @property
    def original(self) -> bool:
        """Check whether a model was asked the original text."""
        return any(own.original is not None for own in self.sets)

    def rank(self, model: str) -> str:
        """Return the range of ranks of a model, e.g. ``2–3``."""
        return self._ranks.get(model, "–")

    @cached_property
    def _ranks(self) -> dict[str, str]:
        ranked = self.board.ranked
        if len(ranked) < 2:
            return {}
        return dict(zip(ranked["model"], rank_ranges(ranked), strict=True))

    @cached_property
    def unranked(self) -> dict[str, str]:
        """Return the reason of each model without a rank."""
        return self.board.why_unranked

    def why_unranked(self, model: str) -> str:
        """Return in short why a model has no rank; empty if it has one."""
        if model in self._ranks:
            return ""
        if model not in self.unranked:
            alone = self.unranked or len(self.sets) == 1
            return "no other model to rank" if alone else ""
        # The first reason, without its details.
        whole = re.sub(r" \([^)]*\)", "", self.unranked[model])
        return f"not ranked: {re.split('; |: |, as if', whole)[0]}"

    def published(self) -> Iterator[tuple[str, dict[tuple[str, str], float]]]:
        """Yield models without released answers, with their published figures."""
        board = self.board
        if board.strategy != PLAIN:
            return
        cells = self.release.table("replication")
        own = cells[
            (cells["published"] == PUBLISHED_TABLE)
            & (cells["benchmark"] == board.benchmark.name)
            & (cells["benchmark_version"] == board.version)
            & ~cells["released"].astype(bool)
            & ~cells["model"].isin(board.models)
        ]
        for model, rows in own.groupby("model", sort=False):
            keys = zip(rows["attribute"], rows["metric"], strict=True)
            yield str(model), dict(zip(keys, rows["printed_value"], strict=True))


def is_long(board: Board) -> bool:
    """Check whether a board has more models than the first page shows."""
    return len(board.models) > MOST_SHOWN


def asked_items(board: Board, release: Release) -> tuple[int, int | None]:
    """Return the number of a board's items and, if several share one, of their clusters."""
    own = [one["set_items"] for model in board.models for one in release.answers_of(board, model)]
    items = max([len(board.benchmark.items), *own])
    if items == len(board.benchmark.clusters):
        # The file of items has all clusters, also those of items that no model was asked.
        return items, len(set(board.benchmark.clusters.values()))
    if board.benchmark.cluster is None or items > max(own, default=0):
        return items, None
    rows = board.estimates["metric"] == board.benchmark.kind.difference
    units = board.estimates.loc[rows, "n_units"].dropna()
    return items, int(units.max()) if len(units) else None
