"""Show tables of the changes between two versions of a model, or between two prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats.answers.strategies import strategy_label
from fairstats.comparisons.change_verdicts import LOSE_LOSE, UNCLEAR, WIN_WIN
from fairstats.report.changes.rows import (
    Comparison,
    PairChange,
    change_text,
    directed,
    figures_of,
    written_as,
)
from fairstats.report.figures import p_cell
from fairstats.report.tables import written_table
from fairstats.report.templates import filled

if TYPE_CHECKING:
    from great_tables import GT
    from markupsafe import Markup

_MARKS = {WIN_WIN: "▲ ", LOSE_LOSE: "▼ ", UNCLEAR: ""}


def change_table(changes: Sequence[tuple[Comparison, PairChange]], *, name: str, limits: str) -> GT:
    """Make a table of one row per pair of groups, with the change of each figure.

    Parameters
    ----------
    changes : sequence of (Comparison, PairChange)
        The rows.
    name : str
        The table's id, unique on the page.
    limits : str
        The meaning of the limits in parentheses, e.g. ``"95% CI"``.
    """
    from great_tables import html

    several, kind = len({one.context for one, _ in changes}) > 1, changes[0][1].kind
    labels: dict[str, Any] = {}
    for metric, label in directed(kind).items():
        note = f"change, {written_as(metric, kind).unit} ({limits})"
        labels[metric] = html(filled("change_heading", label=label, note=note))
        # Bounds are not tested.
        if any(pd.notna(pair.figures[metric]["p_adjusted"]) for _, pair in changes):
            labels[f"{metric}_p"] = "adjusted p"
    judged = any(pair.verdict is not None for _, pair in changes)
    # A verdict that all rows have is in the caption.
    if judged and shared_verdict(changes) is None:
        labels |= {"verdict": "Verdict", "verdict_p": "adjusted p"}
    return written_table(
        [_row(one, pair, several) for one, pair in changes],
        labels,
        name=name,
        stub="pair",
        heading="Pair",
        group="comparison",
        right=[column for column in labels if column != "verdict"],
    )


def shared_verdict(changes: Sequence[tuple[Comparison, PairChange]]) -> str | None:
    """Return the verdict that all rows share; None if they differ or a reason is given."""
    found = {(pair.verdict, pair.reason) for _, pair in changes}
    verdict, reason = next(iter(found))
    return verdict if len(changes) > 1 and len(found) == 1 and reason is None else None


def _row(one: Comparison, pair: PairChange, several: bool) -> dict[str, str]:
    row = {"comparison": _heading(one, several), "pair": pair.name}
    if one.reference:
        row["pair"] = f"{strategy_label(one.prompt)}: {pair.name}"
    for metric in figures_of(pair.kind):
        figures = pair.figures[metric]
        text = change_text(figures, written_as(metric, pair.kind))
        row[metric] = _change(text, pair.direction(metric), pair.significant(metric))
        row[f"{metric}_p"] = p_cell(figures["p_adjusted"])
    verdict = pair.verdict
    if verdict is None or not one.alike:
        return row | {"verdict": "" if verdict is None else "no verdict"}
    cell = filled("change_verdict", mark=_MARKS[verdict], verdict=verdict, reason=pair.reason)
    return row | {"verdict": cell, "verdict_p": p_cell(pair.gap["p_pair_adjusted"])}


def _heading(one: Comparison, several: bool) -> str:
    """Name the two sides of a comparison, and the reason if they are not like for like."""
    text = f"{one.models} ({one.context})" if several else one.models
    note = one.note if one.alike else "different questions"
    return f"{text}. Not like for like: {note}" if note else text


def _change(text: str, direction: int, significant: bool) -> Markup:
    estimate, _, limits = text.partition(" (")
    css = {1: "better", -1: "worse", 0: ""}[direction]
    strong = bool(direction) or significant
    return filled("change_cell", estimate=estimate, limits=limits, strong=strong, css_class=css)
