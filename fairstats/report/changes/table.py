"""The table of changes between versions or prompts, one row per pair of groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairstats._lib.formatting import capital, level
from fairstats.answers.strategies import strategy_label
from fairstats.comparisons.change_verdicts import LOSE_LOSE, UNCLEAR, WIN_WIN
from fairstats.report.changes.rows import (
    Change,
    Comparison,
    PairChange,
    change_text,
    directed,
    written_as,
)
from fairstats.report.figures import p_cell
from fairstats.report.page_output import output_format
from fairstats.report.tables import written_table
from fairstats.report.templates import filled

if TYPE_CHECKING:
    from great_tables import GT

_MARKS = {WIN_WIN: "▲ ", LOSE_LOSE: "▼ ", UNCLEAR: ""}
_P = "adjusted p"


def change_table(changes: Sequence[Change], *, name: str) -> tuple[GT, str]:
    """Make a table with the change of each figure, and the caption with what all rows share.

    Parameters
    ----------
    changes : sequence of (Comparison, PairChange)
        The rows.
    name : str
        The table's id, unique on the page.
    """
    from great_tables import html

    (one, first), kind = changes[0], changes[0][1].kind
    limits = "range" if one.ranged else f"{level(first.alpha)} CI"
    labels: dict[str, Any] = {}
    for metric, label in directed(kind).items():
        note = f"change, {written_as(metric, kind).unit} ({limits})"
        labels[metric] = html(filled("change_heading", label=label, note=note))
        # Bounds are not tested.
        if any(not math.isnan(pair.figures[metric]["p_adjusted"]) for _, pair in changes):
            labels[f"{metric}_p"] = _P
    caption = f"{capital(kind.figure)} is the mean of the two groups"
    if kind.numeric:
        caption = f"The {kind.figure} is that of both groups"
    caption += "" if one.ranged else ". Bold: significant changes"
    verdicts = {(pair.verdict, pair.reason) for _, pair in changes}
    if len(changes) > 1 and len(verdicts) == 1 and first.verdict and first.reason is None:
        # A verdict that all rows share is in the caption.
        caption += f". Verdict on every row: {first.verdict}"
    elif any(pair.verdict is not None for _, pair in changes):
        labels |= {"verdict": "Verdict", "verdict_p": _P}
    several = len({one.context for one, _ in changes}) > 1
    table = written_table(
        [_row(one, pair, several) for one, pair in changes],
        labels,
        name=name,
        stub="pair",
        heading="Pair",
        group="comparison",
        right=[column for column in labels if column != "verdict"],
    )
    return table, caption


def _row(one: Comparison, pair: PairChange, several: bool) -> Mapping[str, str]:
    row = {"comparison": _heading(one, several), "pair": pair.name}
    if one.reference:
        row["pair"] = f"{strategy_label(one.prompt)}: {pair.name}"
    for metric, label in directed(pair.kind).items():
        figures, direction = pair.figures[metric], pair.direction(metric)
        estimate, _, limits = change_text(figures, written_as(metric, pair.kind)).partition(" (")
        row[metric] = filled(
            "change_cell",
            label=_in_cell(label),
            estimate=estimate,
            limits=limits,
            strong=pair.significant(metric),
            css_class={1: "better", -1: "worse", 0: ""}[direction],
        )
        row[f"{metric}_p"] = _p(figures["p_adjusted"])
    if pair.verdict is None:
        return row
    verdict, mark, reason = "no verdict", "", None
    if one.alike:
        verdict, mark, reason = pair.verdict, _MARKS[pair.verdict], pair.reason
        row["verdict_p"] = _p(pair.gap["p_pair_adjusted"])
    cell = filled(
        "change_verdict", label=_in_cell("Verdict"), mark=mark, verdict=verdict, reason=reason
    )
    return row | {"verdict": cell}


def _p(p: float) -> str:
    return filled("labelled_cell", label=_in_cell(_P), text=p_cell(p), note="")


def _in_cell(label: str) -> str:
    """Return the column's name to repeat in a cell, for screens too narrow for columns."""
    return label if output_format() == "html" else ""


def _heading(one: Comparison, several: bool) -> str:
    """Name the two sides of a comparison, and the reason if they are not like for like."""
    text = f"{one.models} ({one.context})" if several else one.models
    note = one.note if one.alike else "different questions"
    return f"{text}. Not like for like: {note}" if note else text
