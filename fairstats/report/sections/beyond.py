"""Are the changes between groups larger than meaningless changes?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from fairstats._lib.formatting import capital, level, listed, p_value
from fairstats.report.answer_sets import AnswerSet
from fairstats.report.charts.marks import interval
from fairstats.report.charts.rows import Cell, Chart, Row
from fairstats.report.figures import Figure, figure_of, p_cell
from fairstats.report.sections.pair_charts import axis_of
from fairstats.report.sections.section import (
    CANNOT,
    Answer,
    Mark,
    Section,
    Shown,
    by_pair,
    sure,
    unknown,
)
from fairstats.report.tables import breakable, written_table
from fairstats.report.words import words_of

_METRIC = "beyond_control"


def _rows(own: AnswerSet) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the label, note and estimate of each attribute with a change beyond its controls."""
    for attribute in own.benchmark.varied:
        pairs = [pair for pair in own.pairs if pair.attribute == attribute.name]
        # The only pair of an attribute is the attribute.
        single = len(pairs) == 1
        row = (pairs[0].estimates if single else own.of_attribute(attribute.name)).get(_METRIC)
        if row is not None and not pd.isna(row["estimate"]):
            note = f"{len(pairs)} pairs" if len(pairs) > 1 else pairs[0].note
            yield attribute.label, note, row


def answer(own: AnswerSet) -> Answer:
    """State whether changes between groups are larger than those between controls."""
    rows = {label: row for label, _, row in _rows(own)}
    if own.ranged or not rows:
        return unknown(own)
    why = own.board.why_unranked.get(own.model, "")
    if why.startswith("every answer is"):
        return Answer(CANNOT, f"{capital(why)}.")
    alpha, said = own.release.alpha, {}
    for label, row in rows.items():
        clear = float(row["p_value"]) <= alpha
        side = "Yes" if row["ci_low"] > 0 else "Smaller" if row["ci_high"] < 0 else "Not clearly"
        said[label] = side if clear else "Not clearly"
    label = max(rows, key=lambda one: float(rows[one]["estimate"]))
    change, p = figure_of(own.kind, rows[label]), p_value(float(rows[label]["p_value"]))
    controls = listed(f"“{control.label}”" for control in own.benchmark.controls)
    which = f"largest change is that of {label}:" if len(rows) > 1 else "change is"
    text = (
        f"Compared with the controls ({controls}), the {which} {change.text} {own.kind.unit} "
        f"({level(alpha)} interval {change.limits}; {p}, not adjusted)."
    )
    return Answer(by_pair(said), text)


def chart(own: AnswerSet, name: str) -> Chart:
    """Draw the change of each attribute beyond that of controls."""
    unit = own.kind.unit
    found = [(label, note, figure_of(own.kind, row)) for label, note, row in _rows(own)]
    note = f"change beyond that of controls, {unit}"
    axis = axis_of((figure for *_, figure in found), "beyond", note, room=0.25)

    def cell(figure: Figure) -> Cell:
        marks = interval(axis, *figure.all, label=figure.text)
        return Cell(marks, figure.written(f" {unit}"))

    rows = tuple(Row(label, (cell(figure),), note=note) for label, note, figure in found)
    caption = f"Change beyond that of controls: {own.label}"
    return Chart(name, caption, "Attribute", (axis,), rows, height=34)


def table(own: AnswerSet) -> Sequence[Shown]:
    """Show how far changes exceed those between controls, for attributes and charted pairs."""
    kind = own.kind
    every = {label: row for label, note, row in _rows(own) if note.endswith(" pairs")}
    found = {f"{label}: all pairs": row for label, row in every.items()}
    for pair in own.charted:
        row = pair.estimates.get(_METRIC)
        if row is not None and isinstance(row["group_a"], str) and not pd.isna(row["estimate"]):
            found[pair.title] = row
    rows = [
        {
            "pair": breakable(label),
            "beyond": figure_of(kind, row).written(),
            "both": str(row["method_note"]).partition(";")[0],
            "p": p_cell(row["p_value"]),
            "items": f"{row['n']:,}",
        }
        for label, row in found.items()
    ]
    labels = {
        "beyond": f"Beyond controls ({level(own.release.alpha)} CI)",
        "both": "Both changes" if kind.numeric else "Both changes, shares",
        "items": capital(words_of(own.benchmark).items),
        "p": "p",
    }
    return [
        Shown(
            written_table(rows, labels, name="controls", stub="pair", heading="Pair"),
            f"Mean change beyond that of the controls, in {kind.unit}"
            f"{', in any direction' * kind.numeric}; p-values are not adjusted",
        )
    ]


SECTION = Section(
    order=70,
    title=lambda own: "Larger than meaningless changes?",
    answer=answer,
    applies=lambda own: any(True for _ in _rows(own)),
    charts=lambda own, name: (chart(own, name),),
    key=lambda own: [Mark(sure(own)), Mark("0: groups change answers as much as controls do")],
    tables=table,
)
