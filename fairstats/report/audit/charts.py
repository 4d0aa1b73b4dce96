"""The charts of an audit report: rows of pairs, with the answer sets as groups of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from fairstats._lib.formatting import capital
from fairstats.benchmarks.declaration import Attribute
from fairstats.report.answer_sets import AnswerSet, Pair
from fairstats.report.charts.marks import Axis, axis_over, dot, interval, tick
from fairstats.report.charts.rows import Cell, Chart, Row, show_chart
from fairstats.report.page_output import (
    ACCENT_A,
    ACCENT_B,
    NEUTRAL_DARK,
    NEUTRAL_LIGHT,
    show_markdown,
)
from fairstats.report.words import (
    difference_name,
    option_label,
    scale_of,
    signed_range,
)

#: The paired outcomes from left to right, with their colours.
OUTCOMES = {
    "both_correct": NEUTRAL_LIGHT,
    "only_a_correct": ACCENT_B,
    "only_b_correct": ACCENT_A,
    "neither_correct": NEUTRAL_DARK,
}
# Characters that a panel of letters has room for.
_PANEL = 28


def show_differences(sets: Sequence[AnswerSet], *, name: str) -> None:
    """Show the differences with their intervals, with the equivalence margin shaded.

    Parameters
    ----------
    sets : sequence of AnswerSet
        The answer sets of one benchmark. The chart is left out if no difference is known.
    name : str
        The chart's name, unique in the report.
    """
    kind = sets[0].kind
    values = [
        end
        for answers in sets
        for pair in answers.charted
        for end in (pair.gap.estimate, pair.gap.low, pair.gap.high)
    ]
    if all(map(math.isnan, values)):
        return
    margin, scale = sets[0].margin, scale_of(kind, kind.difference)
    label = capital(difference_name(kind))
    what = "range" if sets[0].ranged else "interval"
    axis = axis_over(
        values,
        key="difference",
        label=f"{label}, {kind.unit}",
        note=f"with its {what}; shaded: ±{sets[0].shown_margin}",
        band=(-margin, margin),
        room=0.03,
    )

    def cell(pair: Pair) -> Cell:
        gap = pair.gap
        limits = signed_range(kind, gap.low / scale, gap.high / scale)
        said = f"{kind.signed(gap.estimate / scale)} ({limits}) {kind.unit}"
        return Cell(interval(axis, gap.estimate, gap.low, gap.high), said, gap.estimate)

    show_chart(
        Chart(
            name=name,
            caption=f"{label}s with the equivalence margin: {_whose(sets)}",
            heading="Pair",
            axes=(axis,),
            rows=tuple(_rows(sets, lambda answers, pair: Row(pair.title, (cell(pair),)))),
            height=20,
        )
    )


def show_letters(answers: AnswerSet, *, name: str) -> None:
    """Show how often each option is answered for each group, next to its share of the keys."""
    benchmark, letters = answers.benchmark, answers.table("letters")
    attributes = [a for a in benchmark.attributes.values() if a.name in set(letters["attribute"])]
    if letters["count"].sum() == 0 or not attributes or not benchmark.options:
        return
    letters = letters[letters["letter"].isin(benchmark.options)]
    if not benchmark.has_key:
        letters = letters.assign(key_share=math.nan)
    shares = [100 * value for column in ("share", "key_share") for value in letters[column]]
    axes = {
        attribute.name: axis_over(
            shares,
            key=attribute.name,
            label=attribute.label,
            note=_groups(attribute),
            room=0,
            limits=(0, 100),
            signed=False,
            unit="%",
        )
        for attribute in attributes
    }

    def row(letter: str) -> Row:
        own = letters[letters["letter"] == letter]
        cells = tuple(
            _letter_cell(axes[a.name], own[own["attribute"] == a.name], a) for a in attributes
        )
        return Row(option_label(benchmark, letter), cells)

    said = "How often each option is answered, one circle per group in the order above it."
    show_markdown(f"{said} Upright line: how often it is the key." if benchmark.has_key else said)
    key = ", and how often it is the key" if benchmark.has_key else ""
    show_chart(
        Chart(
            name=name,
            caption=f"How often each option is answered, by group{key}",
            heading="Option",
            axes=tuple(axes.values()),
            rows=tuple(map(row, benchmark.options)),
            height=22,
        )
    )


def _letter_cell(axis: Axis, rows: pd.DataFrame, attribute: Attribute) -> Cell:
    marks = ""
    said: list[str] = []
    shares = rows.set_index("group")
    for number, (group, label) in enumerate(attribute.groups.items()):
        if group not in shares.index:
            continue
        share, key = (100 * float(shares.loc[group, name]) for name in ("share", "key_share"))
        if not said:
            marks += tick(axis, key, reach=40)
        colour = (ACCENT_B, ACCENT_A)[number % 2]
        marks += dot(axis, share, colour=colour, hollow=bool(number % 2))
        said.append(f"{label} {share:.1f}%")
    return Cell(marks, ", ".join(said))


def _rows(sets: Sequence[AnswerSet], row: Callable[[AnswerSet, Pair], Row]) -> Iterator[Row]:
    """Return one row per pair; several answer sets have headings."""
    for answers in sets:
        if len(sets) > 1:
            yield Row(_heading(answers, sets))
        for pair in answers.charted:
            yield row(answers, pair)


def _heading(answers: AnswerSet, sets: Sequence[AnswerSet]) -> str:
    """Return the prompt, and the vignettes if there are several sets of them."""
    same = len({other.title for other in sets}) == 1
    prompt = capital(answers.prompt)
    return prompt if same else f"{prompt}; {answers.version}"


def _groups(attribute: Attribute) -> str:
    """Return an attribute's groups, or their number if a narrow panel cannot fit them."""
    named = " / ".join(attribute.groups.values())
    return named if len(named) <= _PANEL else f"{len(attribute.groups)} groups"


def _whose(sets: Sequence[AnswerSet]) -> str:
    return (
        sets[0].label if len(sets) == 1 else f"{sets[0].benchmark.title}, {len(sets)} answer sets"
    )
