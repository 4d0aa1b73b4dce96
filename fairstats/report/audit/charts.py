"""The charts of an audit report: rows of pairs, with the answer sets as groups of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from fairstats._lib.formatting import capital, escape_markdown
from fairstats.benchmarks.declaration import BASELINE, Attribute
from fairstats.benchmarks.kinds import CHOICE, DECISION
from fairstats.report.answer_sets import AnswerSet, Pair
from fairstats.report.charts.marks import Axis, axis_over, bar, dot, interval, tick
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
    heading,
    option_label,
    plain,
    plain_range,
    scaled,
    signed_range,
)

#: The paired outcomes from left to right, with their colours.
OUTCOMES = {
    "both_correct": NEUTRAL_LIGHT,
    "only_a_correct": ACCENT_B,
    "only_b_correct": ACCENT_A,
    "neither_correct": NEUTRAL_DARK,
}
_DECISIONS = ("both_selected", "only_a_selected", "only_b_selected", "neither_selected")
_MOVES = {"moved_up": ACCENT_B, "moved_down": ACCENT_A}
_HEADS = {
    CHOICE.name: ("Both right", "Only first", "Only second", "Both wrong"),
    DECISION.name: ("Both", "Only first", "Only second", "Neither"),
}
_WHICH = {CHOICE.name: "right", DECISION.name: "favourable"}
# Characters that a panel of letters has room for.
_PANEL = 28
_LIMITS = ["estimate", "ci_low", "ci_high"]


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
        scaled(kind, pair.value(kind.difference, column))
        for answers in sets
        for pair in answers.charted
        for column in _LIMITS
    ]
    if all(map(math.isnan, values)):
        return
    margin = scaled(kind, sets[0].benchmark.equivalence_margin)
    label = capital(difference_name(kind))
    what = "range" if sets[0].ranges else "interval"
    axis = axis_over(
        values,
        key="difference",
        label=f"{label}, {kind.unit}",
        note=f"with its {what}; shaded: ±{sets[0].margin}",
        band=(-margin, margin),
        room=0.03,
    )

    def cell(pair: Pair) -> Cell:
        figures = [pair.value(kind.difference, column) for column in _LIMITS]
        marks = interval(axis, *(scaled(kind, value) for value in figures))
        limits = signed_range(kind, *figures[1:])
        said = f"{kind.signed(figures[0])} ({limits}) {kind.unit}"
        return Cell(marks, said, figures[0])

    show_chart(
        Chart(
            name=name,
            caption=f"{label}s with the equivalence margin: {_whose(sets)}",
            heading="Pair",
            axes=(axis,),
            rows=tuple(_rows(sets, lambda answers, pair: Row(pair.label, (cell(pair),)))),
            height=20,
        )
    )


def show_rates(sets: Sequence[AnswerSet], *, name: str) -> None:
    """Show the rates or means of both groups of each pair, next to that for the neutral text."""
    kind = sets[0].kind
    rates = (kind.rate_a, kind.rate_b)
    neutral = {id(answers): _neutral(answers) for answers in sets}
    values = [
        scaled(kind, pair.value(metric, column))
        for answers in sets
        for pair in answers.charted
        for metric in rates
        for column in _LIMITS
    ]
    if all(map(math.isnan, values)):
        return
    axis = axis_over(
        [*values, *(scaled(kind, value) for value in neutral.values())],
        key=kind.figure.replace(" ", "-"),
        label=heading(kind),
        note="with its interval",
        room=0.03,
        limits=sets[0].benchmark.limits if kind.numeric else (0, 100),
        signed=False,
    )

    def row(answers: AnswerSet, pair: Pair) -> Row:
        marks, texts = tick(axis, scaled(kind, neutral[id(answers)]), reach=40), []
        for metric, y, colour in zip(rates, ("35%", "67%"), (ACCENT_B, ACCENT_A), strict=True):
            figures = [scaled(kind, pair.value(metric, column)) for column in _LIMITS]
            marks += interval(axis, math.nan, *figures[1:], colour=colour, y=y)
            marks += dot(axis, figures[0], colour=colour, hollow=metric == kind.rate_b, y=y)
            texts.append(rate_with_limits(pair, metric))
        words = f"{pair.terms[0]} {texts[0]}, {pair.terms[1]} {texts[1]}"
        return Row(pair.label, (Cell(marks, words),), tuple(texts))

    first, second = sets[0].benchmark.pair_terms
    noun = sets[0].benchmark.side_noun
    show_markdown(
        escape_markdown(
            f"Filled: {kind.figure} for the {first} {noun} of each pair. "
            f"Hollow: for the {second} {noun}."
        )
        + ("" if all(map(math.isnan, neutral.values())) else " Upright line: text without a group.")
    )
    show_chart(
        Chart(
            name=name,
            caption=f"{capital(kind.figure)} for both groups of each pair",
            heading="Pair",
            heads=("First", "Second") if kind.numeric else ("First, %", "Second, %"),
            axes=(axis,),
            rows=tuple(_rows(sets, row)),
        )
    )


def show_outcomes(sets: Sequence[AnswerSet], *, name: str) -> None:
    """Show which of the two answers of a pair is right, favourable or higher, in shares."""
    kind, outcomes = sets[0].kind, OUTCOMES
    if kind.numeric:
        outcomes = _MOVES
    elif kind == DECISION:
        outcomes = dict(zip(_DECISIONS, OUTCOMES.values(), strict=True))
    if not any(math.isfinite(pair.value(m)) for s in sets for pair in s.pairs for m in outcomes):
        return
    axis = Axis(
        "outcomes", "Share of pairs, %", "in the order of the columns", 0, 100, signed=False
    )

    def row(answers: AnswerSet, pair: Pair) -> Row:
        shares = [100 * pair.value(metric) for metric in outcomes]
        texts = ["" if math.isnan(share) else f"{share:.1f}" for share in shares]
        parts = list(zip(shares, outcomes.values(), strict=True))
        if kind.numeric:
            # In the middle: pairs in which neither answer is higher.
            up, down = shares
            parts.insert(1, (100 - up - down, NEUTRAL_LIGHT))
        start, marks = 0.0, ""
        for share, colour in parts:
            marks += bar(axis, start, start + share, colour=colour)
            start += 0 if math.isnan(share) else share
        return Row(pair.label, (Cell(marks, ", ".join(texts)),), tuple(texts))

    show_chart(
        Chart(
            name=name,
            caption=f"Pairs by which of their two answers is {_WHICH.get(kind.name, 'higher')}, %",
            heading="Pair",
            heads=_HEADS.get(kind.name, ("First higher", "Second higher")),
            axes=(axis,),
            rows=tuple(_rows(sets, row)),
            height=22,
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


def rate_with_limits(pair: Pair, metric: str) -> str:
    """Return a share in percent, or a mean, with its limits, e.g. ``"92.4 (90.3–94.0)"``.

    If it is known as a range only, return the limits alone.
    """
    estimate, low, high = (pair.value(metric, column) for column in _LIMITS)
    limits, known = plain_range(pair.kind, low, high), plain(pair.kind, estimate)
    return f"{known} ({limits})" if known and limits else known or limits


def _neutral(answers: AnswerSet) -> float:
    """Return the rate or mean for the text without a group."""
    rows = answers.rows
    own = rows[(rows["attribute"] == BASELINE) & (rows["metric"] == answers.kind.rate_b)]
    return float(own["estimate"].iloc[0]) if len(own) else math.nan


def _rows(sets: Sequence[AnswerSet], row: Callable[[AnswerSet, Pair], Row]) -> Iterator[Row]:
    """Return one row per pair; several answer sets have headings."""
    for answers in sets:
        if len(sets) > 1:
            yield Row(_heading(answers, sets))
        for pair in answers.charted:
            yield row(answers, pair)


def _heading(answers: AnswerSet, sets: Sequence[AnswerSet]) -> str:
    """Return the prompt, and the vignettes if there are several sets of them."""
    same = len({other.vignettes for other in sets}) == 1
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
