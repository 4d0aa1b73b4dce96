"""The figures of a board as its charts and tables need them: by model, panel and metric."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import pandas as pd

from fairstats._lib.formatting import decimal, points
from fairstats.benchmarks.declaration import BASELINE, PLAIN, POOLED, POOLED_GROUPS, Attribute
from fairstats.benchmarks.kinds import Kind
from fairstats.estimates.table import is_primary_test
from fairstats.release.contents import Board, Release
from fairstats.report.answer_sets import MOST_PANELS
from fairstats.report.findings import pair_note
from fairstats.report.notes import flags_of, screening_of, selected_runs, submissions_of
from fairstats.report.words import plain

#: The published table with a board's rows for models without released answers.
PUBLISHED_TABLE = "fairmedqa-3"


@dataclass(frozen=True)
class Panel:
    """One pair of groups, all pairs together, or each pair of an attribute as a mark."""

    #: The name in the page's controls: the number of its attribute, or ``"all"``.
    key: str
    label: str
    note: str
    attribute: str
    pair: tuple[str, str]
    #: The pairs whose marks share the panel; empty if it shows one figure.
    members: tuple[Panel, ...] = ()


@dataclass(frozen=True)
class BoardFigures:
    """Index a board's estimates.

    Parameters
    ----------
    board : Board
        The board to show.
    release : Release
        Provides the published figures without answers, and the number of answers.
    """

    board: Board
    release: Release

    @cached_property
    def _rows(self) -> pd.DataFrame:
        rows = self.board.estimates
        tests = rows["metric"] == self.board.benchmark.kind.test
        rows = rows[~tests | is_primary_test(rows)]
        # A row of columns of one type is found ten times faster.
        return rows.astype(object)

    @cached_property
    def _places(self) -> dict[tuple[str, ...], int]:
        keys = self._rows[["model", "metric", "attribute", "group_a", "group_b"]].fillna("")
        return {tuple(key): place for place, key in enumerate(keys.itertuples(index=False))}

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

    def row(self, model: str, metric: str, panel: Panel) -> pd.Series | None:
        """Return the estimate of a metric for a model and pair; None if it does not exist."""
        whole = self._places.get((model, metric, panel.attribute, "", ""))
        place = self._places.get((model, metric, panel.attribute, *panel.pair), whole)
        return None if place is None else self._rows.iloc[place]

    @cached_property
    def attributes(self) -> list[Attribute]:
        """Return the varied attributes whose pairs were asked, in the benchmark's order."""
        asked = set(self.board.estimates["attribute"])
        return [a for a in self.board.benchmark.varied if a.name in asked and a.pairs]

    @cached_property
    def pairs(self) -> list[Panel]:
        """Return one panel per pair of groups."""
        return [panel for number in range(len(self.attributes)) for panel in self.of(number)]

    def of(self, number: int) -> list[Panel]:
        """Return the panels of one attribute, by its position."""
        attribute = self.attributes[number]
        # Pairs that all have the same first group are named by their second.
        against = len(attribute.pairs) > 1 and len({first for first, _ in attribute.pairs}) == 1
        return [
            Panel(
                f"a{number}",
                attribute.groups[pair[1]] if against else attribute.label,
                attribute.pair_label(pair),
                attribute.name,
                pair,
            )
            for pair in attribute.pairs
        ]

    @cached_property
    def pooled(self) -> Panel | None:
        """Return the panel of all attributes together; None if there is one pair only."""
        if POOLED not in set(self.board.estimates["attribute"]):
            return None
        return Panel("all", "All pairs", pair_note(self.board.benchmark), POOLED, POOLED_GROUPS)

    @cached_property
    def gaps(self) -> pd.DataFrame:
        """Return the judged differences of all models and pairs, one per row."""
        rows = self.board.estimates
        varied = [attribute.name for attribute in self.attributes]
        judged = rows["metric"] == self.board.benchmark.kind.difference
        return rows[judged & rows["attribute"].isin(varied)]

    @property
    def largest_p(self) -> float:
        """Return the largest adjusted p-value of the models that did not select the items."""
        rows = self._rows[self._rows["metric"] == self.board.benchmark.kind.test]
        named = rows["attribute"].isin(self.gaps["attribute"])
        own = rows[named & ~rows["model"].isin(self.board.benchmark.selected_on)]
        return float(own["p_adjusted"].max())

    @property
    def many(self) -> bool:
        """Check whether there are too many pairs for a panel each."""
        return self.pooled is not None and len(self.pairs) > MOST_PANELS

    @cached_property
    def overview(self) -> list[Panel]:
        """Return the panels next to each other in the overview.

        If there are too many pairs for a panel each, those of an attribute share one.
        """
        if self.pooled is None:
            return self.pairs
        return [self.pooled, *(self._shared if self.many else self.pairs)]

    @property
    def _shared(self) -> list[Panel]:
        """Return a panel per attribute with all of its pairs, or one with the pairs of all."""
        if len(self.attributes) > MOST_PANELS:
            # It is shown whatever attribute is chosen.
            keys = " ".join(dict.fromkeys(panel.key for panel in self.pairs))
            note = f"{len(self.pairs)} pairs of {len(self.attributes)} attributes"
            return [Panel(keys, "Each pair", note, "", ("", ""), tuple(self.pairs))]
        shared = []
        for number, attribute in enumerate(self.attributes):
            own = self.of(number)
            noun = self.board.benchmark.side_noun
            note = f"{len(attribute.groups)} {noun}s, {len(own)} pair{'s' * (len(own) > 1)}"
            shared.append(Panel(f"a{number}", attribute.label, note, "", ("", ""), tuple(own)))
        return shared

    @cached_property
    def neutral(self) -> Panel | None:
        """Return the panel of original and neutral vignettes; None if they were not used."""
        attribute = self.board.benchmark.attributes.get(BASELINE)
        if attribute is None or BASELINE not in set(self.board.estimates["attribute"]):
            return None
        return Panel("", attribute.label, "", BASELINE, attribute.pairs[0])

    def missing(self, model: str) -> tuple[int, int]:
        """Return the number of a model's missing answers, and of expected answers."""
        own = self.release.answers_of(self.board, model)
        return sum(e["missing"] for e in own), sum(e["answers"] for e in own)

    def rank(self, model: str) -> str:
        """Return the range of ranks of a model, e.g. ``2–3``."""
        return self._ranks.get(model, "–")

    @cached_property
    def _ranks(self) -> dict[str, str]:
        ranked = self.board.ranked
        if len(ranked) < 2:
            return {}
        ends = ranked[["rank_low", "rank_high"]].astype(int).itertuples(index=False)
        texts = [f"{low}" if low == high else f"{low}–{high}" for low, high in ends]
        return dict(zip(ranked["model"], texts, strict=True))

    @cached_property
    def unranked(self) -> dict[str, str]:
        """Return the reason of each model without a rank."""
        return self.board.why_unranked

    def why_unranked(self, model: str) -> str:
        """Return in short why a model has no rank; empty if it has one."""
        if model in self._ranks:
            return ""
        if model not in self.unranked:
            alone = self.unranked or len(self.board.models) == 1
            return "no other model to rank" if alone else ""
        # The first reason, without its details.
        whole = re.sub(r" \([^)]*\)", "", self.unranked[model])
        return f"not ranked: {re.split('; |: |, as if', whole)[0]}"

    def snapshot(self, model: str) -> str:
        """Return the exact version of a model; empty if it is not known."""
        names = self._snapshots.get(model, [])
        return str(names[0]) if len(names) == 1 else ""

    @cached_property
    def _snapshots(self) -> dict[str, list[str]]:
        known = self.board.estimates[["model", "snapshot"]].dropna().drop_duplicates()
        return known.groupby("model")["snapshot"].agg(list).to_dict()

    def published(self) -> Iterator[tuple[str, dict[tuple[str, str], float]]]:
        """Yield models without released answers, with their published figures.

        Yields
        ------
        model : str
            Its name.
        figures : dict
            The published value of each (attribute, metric).
        """
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


def asked_items(board: Board, release: Release) -> tuple[int, int | None]:
    """Return the number of a board's items and, if several share one, of their clusters."""
    own = [entry["items"] for model in board.models for entry in release.answers_of(board, model)]
    items = max([len(board.benchmark.items), *own])
    if board.benchmark.cluster is None:
        return items, None
    rows = board.estimates["metric"] == board.benchmark.kind.difference
    units = board.estimates.loc[rows, "n_units"].dropna()
    return items, int(units.max()) if len(units) else None


def ratio(value: float) -> str:
    """Format a ratio with two decimals."""
    return "not known" if math.isnan(value) else decimal(value, 2)


def figure_text(kind: Kind, metric: str) -> Callable[[float], str]:
    """Return the format of a metric's figures, in the unit of their axis."""
    if metric in (kind.difference, "beyond_control"):
        return kind.signed
    if kind.numeric and metric in (kind.rate_a, kind.rate_b):
        return partial(plain, kind)
    return {"selection_ratio": ratio, "net_moved": points}.get(metric, _share)


def _share(value: float) -> str:
    return f"{100 * value:.1f}"


def written(kind: Kind, row: pd.Series) -> tuple[str, str]:
    """Return a figure and its limits as text, without the unit; empty if it is not known."""
    text, ends = figure_text(kind, row["metric"]), [float(row[c]) for c in ("ci_low", "ci_high")]
    value = "" if pd.isna(row["estimate"]) else text(row["estimate"])
    if any(map(math.isnan, ends)):
        return value, ""
    # Shares are never negative, so a dash between them is no minus sign.
    return value, ("–" if text is _share else " to ").join(map(text, ends))


def with_limits(value: str, limits: str) -> str:
    """Return a figure with its limits in brackets, or what is known of the two."""
    return f"{value} ({limits})" if value and limits else value or limits
