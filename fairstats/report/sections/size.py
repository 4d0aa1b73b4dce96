"""How large is the difference: enough to matter, as a ratio, and beyond controls?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from markupsafe import Markup

from fairstats._lib.formatting import capital, level, listed, number_word, p_value, points
from fairstats.estimates.specifications import SMALLEST
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE, ROOM
from fairstats.report.answer_sets import AnswerSet, Pair, span_of
from fairstats.report.charts.marks import Axis, dot, interval, tick
from fairstats.report.charts.rows import Cell, Chart, Row
from fairstats.report.page_output import NEUTRAL_DARK
from fairstats.report.sections.section import (
    CANNOT,
    MOST_NAMES,
    Answer,
    Mark,
    Section,
    Shown,
    above,
    axis_of,
    by_pair,
    pair_chart,
    pair_table,
    reasons,
    set_chart,
    sure,
    unknown,
)
from fairstats.report.tables import labels_of
from fairstats.report.words import (
    FOUR_FIFTHS,
    MOST_RATIO,
    NONE,
    Figure,
    difference_name,
    figure_of,
    gap_name,
    noun,
    p_cell,
    signed_range,
    unsigned,
    words_of,
)

#: The standard sizes of differences; each kind of answers has some.
_SIZES = ("odds_ratio", "cohens_h", "weighted_kappa", "standardized_difference")
#: With more other models than these, dots that nearly coincide are drawn once.
_MOST_DOTS = 50


def answer(own: AnswerSet) -> Answer:
    """State whether the difference is larger than the equivalence margin."""
    kind, gaps = own.kind, {pair: pair.gap for pair in own.pairs}
    if own.ranged or own.selected or not any(gap.known for gap in gaps.values()):
        return unknown(own)
    said = {}
    for pair, gap in gaps.items():
        beyond = max(gap.low, -gap.high) > own.margin
        word = {
            DISPARITY: "Yes" if beyond else "Perhaps",
            EQUIVALENT: "No",
            INCONCLUSIVE: "Unclear",
        }
        said[pair] = word.get(pair.verdict or "", CANNOT)
    known = [gap.estimate for gap in gaps.values() if gap.known]
    size = span_of(known, kind, signed=True)
    text = f"The {noun(kind)}{' is' if len(known) == 1 else 's are'} {size} {kind.unit}"
    if len(gaps) == 1:
        text += f" ({level(own.release.alpha)} interval {own.pairs[0].gap.limits})"
    why = reasons(own, (pair for pair, word in said.items() if word in ("Unclear", CANNOT)))
    text += _against_margin(own, said, bool(why))
    why += reasons(own, (pair for pair in gaps if pair.caution))
    return Answer(by_pair({pair.name: word for pair, word in said.items()}), f"{text}{why}")


def _against_margin(own: AnswerSet, said: dict[Pair, str], explained: bool) -> str:
    """State how the intervals relate to the margin, to follow the size of the gaps."""
    words, margin = list(said.values()), f"±{own.shown_margin}"
    if len(set(words)) == 1 and words[0] in (sentences := labels_of("sections")["margin"]):
        clear = [pair for pair in said if pair.gap.low > 0 or pair.gap.high < 0]
        if words[0] == "Unclear" and clear and not explained:
            return f". {_only_unadjusted(own, clear)} The margin is {margin}."
        if words[0] != "Unclear" or not explained:
            return str(sentences[words[0]]).format(
                every="the" if len(words) == 1 else "every",
                all_are="It is" if len(words) == 1 else "All are",
                gap=noun(own.kind),
                margin=margin,
            )
    if beyond := words.count("Yes"):
        of = f"{capital(number_word(beyond))} of {number_word(len(words))}"
        return f". {of} {'is' if beyond == 1 else 'are'} beyond {margin}."
    return f". The margin is {margin}."


def _only_unadjusted(own: AnswerSet, clear: Sequence[Pair]) -> str:
    """Name the pairs whose interval excludes 0, although the adjusted test is not significant."""
    names = listed(pair.name for pair in clear)
    if len(clear) > MOST_NAMES:
        names = f"{len(clear)} of {len(own.pairs)} pairs"
    whose = (
        "Its interval excludes" if len(own.pairs) == 1 else f"For {names}, the interval excludes"
    )
    return f"{whose} 0, but the test is not significant once adjusted."


def chart(own: AnswerSet, name: str) -> Chart:
    """Draw each gap with its interval, the margin, and the gaps of the board's other models."""
    others, kind, unit = own.others, own.kind, f" {own.kind.unit}"
    there = (Figure(one, one, one) for pair in own.charted for one in others[pair])
    axis = axis_of(
        [*(pair.gap for pair in own.charted), *there],
        "gap",
        f"{gap_name(kind)}, {kind.unit}",
        band=(-own.margin, own.margin),
        room=0.06,
    )

    def cell(pair: Pair) -> Cell:
        gap, there = pair.gap, others[pair]
        marks = Markup().join(
            dot(axis, v, colour=NEUTRAL_DARK, hollow=True, y="80%") for v in _apart(there, axis)
        )
        marks += interval(axis, *gap.all) + above(axis, gap.middle, gap.label, "18%")
        said = f"{pair.note}: {gap.written(unit)}"
        if there:
            said += f"; the other models {replace(gap, low=min(there), high=max(there)).limits}"
        return Cell(marks, said)

    caption = f"{capital(gap_name(kind))}s{'' if kind.numeric else ' in percentage points'}"
    return pair_chart(own, name, caption, axis, cell, height=54)


def _apart(values: Sequence[float], axis: Axis) -> Sequence[float]:
    """Return the values; of many, those that are not drawn on top of another one."""
    if len(values) <= _MOST_DOTS:
        return values
    kept: list[float] = []
    for value in sorted(values):
        if not kept or axis.place(value) - axis.place(kept[-1]) >= 1:
            kept.append(value)
    return kept


def differences_chart(own: AnswerSet, *, name: str) -> Chart:
    """Draw the differences with their intervals and the margin, in low rows for a first page."""
    kind, label = own.kind, capital(difference_name(own.kind))
    axis = axis_of(
        (pair.gap for pair in own.charted),
        "difference",
        f"with its {'range' if own.ranged else 'interval'}; shaded: ±{own.shown_margin}",
        band=(-own.margin, own.margin),
        room=0.03,
        lead=0.0,
        label=f"{label}, {kind.unit}",
    )

    def cell(pair: Pair) -> Cell:
        gap = pair.gap
        return Cell(interval(axis, *gap.all), gap.written(f" {kind.unit}"), gap.estimate)

    cases = ((Row(pair.title), pair) for pair in own.charted)
    caption = f"{label}s with the equivalence margin"
    return set_chart(own, name, caption, axis, cases, cell, heading="Pair", height=20)


def _key(own: AnswerSet) -> Sequence[Mark]:
    others = [Mark("the other models with the same prompt", "hollow")]
    return [
        Mark(f"this model, {sure(own)}", "a"),
        *(others if any(own.others.values()) else []),
        Mark(f"shaded: margin of ±{own.shown_margin}, which the benchmark declares"),
    ]


def table(own: AnswerSet) -> Sequence[Shown]:
    """Show the size of the differences: standard sizes, and the margin for equivalence."""
    if own.ranged:
        # The policy gives ranges, which are on the first page.
        return []
    kind, alpha, rows = own.kind, own.release.alpha, {}
    for pair in own.charted:
        inner = [signed_range(kind, row["ci_low"], row["ci_high"]) for row in _smallest(pair, own)]
        least = pair.value("minimum_detectable_difference")
        rows[pair.title] = {name: _standard(pair.figure(name)) for name in _SIZES} | {
            "inner": next(iter(inner), ""),
            "margin": smallest_margin(pair, own) or NONE,
            "least": NONE if math.isnan(least) else points(least, signed=False),
            "p": NONE if pair.empty else p_cell(pair.value(kind.test, "p_value")),
        }
    roomy = kind.numeric or own.clustered
    caption = (
        "Size of the differences. Equivalent from: the smallest margin at which the pair counts as "
        "equivalent" + f". CI for equivalence:{ROOM}" * roomy
    )
    caption += ". Detectable: with 80% power" * (not kind.numeric)
    words = {"inner": f"{level(2 * alpha)} CI", "unit": kind.unit}
    for name in _SIZES:
        # The odds ratio of clustered answers has no interval.
        limits = any(pair.figure(name).limits for pair in own.charted)
        words[name] = f" ({level(alpha)} CI)" * limits
    words["inner"] += " for equivalence" * roomy
    return pair_table("sizes", rows, caption, **words)


def _smallest(pair: Pair, own: AnswerSet) -> list[dict[str, Any]]:
    """Return the row of the table of sensitivity with a pair's smallest margin, if there is one."""
    choices = pair.rows(own.sensitivity)
    return choices[choices["choice"] == SMALLEST].head(1).to_dict("records")


def smallest_margin(pair: Pair, own: AnswerSet) -> str:
    """Return the smallest margin at which a pair counts as equivalent; empty if there is none."""
    known = [row["estimate"] for row in _smallest(pair, own) if not math.isnan(row["estimate"])]
    return f"±{unsigned(own.kind, known[0])}" if known else ""


def _standard(figure: Figure) -> str:
    return figure.written() if figure.known else NONE


SIZE = Section(
    order=50,
    title=lambda own: f"Is the {noun(own.kind)} big enough to matter?",
    answer=answer,
    charts=lambda own, name: (chart(own, name),),
    key=_key,
    tables=table,
)


#: Whether a ratio is within four fifths, and whether its interval is on the same side, in a word.
_RATIO_WORDS = {
    (True, True): "No",
    (True, False): "Not clearly",
    (False, True): "Yes",
    (False, False): "Perhaps",
}


def four_fifths(own: AnswerSet) -> Answer:
    """State whether a group's selection rate is below four fifths of the other's."""
    ratios = {pair: pair.figure("selection_ratio") for pair in own.pairs}
    known = {pair: figure for pair, figure in ratios.items() if figure.known}
    if not own.ranged and not known and any(figure.known for figure in own.by_group.values()):
        return Answer(CANNOT, "No decision is favourable, so there is no ratio.")
    if own.ranged or not known:
        return unknown(own)
    low, high = FOUR_FIFTHS
    said = dict.fromkeys((pair.name for pair in own.pairs), CANNOT)
    for pair, figure in known.items():
        inside = low <= figure.estimate <= high
        clear = figure.high < low or figure.low > high
        if inside:
            clear = low <= figure.low and figure.high <= high
        said[pair.name] = "Unclear" if clear and pair.reason else _RATIO_WORDS[inside, clear]

    def distance(pair: Pair) -> float:
        value = known[pair].estimate
        return min(value, 1 / value) if value else 0.0

    pair = min(known, key=distance)
    figure = known[pair]
    one, other = (own.group_name(pair.attribute, group) for group in pair.groups)
    if figure.estimate > 1:
        # The rate that is lower is named, and divided by the other.
        one, other = other, one
        estimate, low, high = map(_inverse, (figure.estimate, figure.high, figure.low))
        figure = replace(figure, estimate=estimate, low=low, high=high)
    text = (
        f"The selection rate for {one} is {figure.text} times that for {other} "
        f"({level(own.release.alpha)} interval {figure.limits})"
    )
    text += ", the furthest from 1 of all pairs." if len(known) > 1 else "."
    return Answer(by_pair(said), f"{text} {_parity(own)}".rstrip())


def _inverse(ratio: float) -> float:
    return math.inf if ratio == 0 else 1 / ratio


def _parity(own: AnswerSet) -> str:
    """State the largest demographic parity difference."""
    attributes = dict.fromkeys(pair.attribute for pair in own.pairs)
    every = {
        name: figure_of(own.kind, own.of_attribute(name).get("demographic_parity"))
        for name in attributes
    }
    found = {name: figure for name, figure in every.items() if figure.known}
    if not found:
        return ""
    name = max(found, key=lambda one: found[one].estimate)
    label = own.benchmark.attribute(name).label
    which = f"largest for {label}: " if len(found) > 1 else ""
    return (
        "The demographic parity difference, highest minus lowest rate of the groups, is "
        f"{which}{found[name].text} points ({found[name].limits})."
    )


def ratio_chart(own: AnswerSet, name: str) -> Chart:
    """Draw the selection ratio of each pair, with the limits of the four-fifths rule shaded."""
    ratios = {pair: pair.figure("selection_ratio") for pair in own.charted}
    axis = axis_of(
        (one.at_most(MOST_RATIO) for one in ratios.values()),
        "ratio",
        "selection ratio",
        band=FOUR_FIFTHS,
        room=0.06,
        signed=False,
    )

    def cell(pair: Pair) -> Cell:
        found = ratios[pair]
        marks = tick(axis, 1, reach=50)
        marks += interval(axis, found.estimate, found.low, min(found.high, axis.high))
        at = min(found.estimate, axis.high) if found.known else 1
        marks += above(axis, at, found.label, "18%")
        return Cell(marks, f"{pair.note}: {found.written()}")

    return pair_chart(own, name, "Selection ratios", axis, cell, height=54)


RATIO = Section(
    order=60,
    title=lambda own: "Is a rate below four fifths of the other?",
    answer=four_fifths,
    applies=lambda own: any("selection_ratio" in pair.estimates for pair in own.pairs),
    charts=lambda own, name: (ratio_chart(own, name),),
    key=lambda own: [
        Mark(sure(own)),
        Mark("shaded: from .80 to 1.25, the limits of the four-fifths rule"),
    ],
)


_BEYOND = "beyond_control"


def _beyond_rows(own: AnswerSet) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the label, note and estimate of each attribute with a change beyond its controls."""
    for attribute in own.benchmark.varied:
        pairs = [pair for pair in own.pairs if pair.attribute == attribute.name]
        # The only pair of an attribute is the attribute.
        single = len(pairs) == 1
        row = (pairs[0].estimates if single else own.of_attribute(attribute.name)).get(_BEYOND)
        if row is not None and not pd.isna(row["estimate"]):
            note = f"{len(pairs)} pairs" if len(pairs) > 1 else pairs[0].note
            yield attribute.label, note, row


def beyond_controls(own: AnswerSet) -> Answer:
    """State whether changes between groups are larger than those between controls."""
    rows = {label: row for label, _, row in _beyond_rows(own)}
    if own.ranged or not rows:
        return unknown(own)
    why = own.board.why_unranked.get(own.model, "")
    if "every answer is" in why:
        return Answer(CANNOT, f"{capital(why)}.")
    alpha, said = own.release.alpha, {}
    for label, row in rows.items():
        clear = float(row["p_value"]) <= alpha
        side = "Yes" if row["ci_low"] > 0 else "Smaller" if row["ci_high"] < 0 else "Not clearly"
        said[label] = side if clear else "Not clearly"
    label = max(rows, key=lambda one: float(rows[one]["estimate"]))
    change, p = figure_of(own.kind, rows[label]), _tested(rows[label])
    controls = listed(f"“{control.label}”" for control in own.benchmark.controls)
    which = f"largest change is that of {label}:" if len(rows) > 1 else "change is"
    text = (
        f"Compared with the controls ({controls}), the {which} {change.text} {own.kind.unit} "
        f"({level(alpha)} interval {change.limits}; {p})."
    )
    return Answer(by_pair(said), text)


def _untested(row: Mapping[str, Any]) -> str:
    """Return why a row has no test; empty if it has one."""
    kind, _, reason = str(row["test"]).partition(" (")
    return reason.rstrip(")") if kind == "none" else ""


def _tested(row: Mapping[str, Any]) -> str:
    """Return the p-value of a row, or why it has no test."""
    if reason := _untested(row):
        return f"no test: {reason}"
    return f"{p_value(float(row['p_value']))}, not adjusted"


def beyond_chart(own: AnswerSet, name: str) -> Chart:
    """Draw the change of each attribute beyond that of controls."""
    unit = own.kind.unit
    found = [(label, note, figure_of(own.kind, row)) for label, note, row in _beyond_rows(own)]
    note = f"change beyond that of controls, {unit}"
    axis = axis_of((figure for *_, figure in found), "beyond", note, room=0.25)

    def cell(figure: Figure) -> Cell:
        marks = interval(axis, *figure.all, label=figure.text)
        return Cell(marks, figure.written(f" {unit}"))

    cases = ((Row(label, note=note), figure) for label, note, figure in found)
    caption = "Change beyond that of controls"
    return set_chart(own, name, caption, axis, cases, cell, heading="Attribute", height=34)


def beyond_table(own: AnswerSet) -> Sequence[Shown]:
    """Show how far changes exceed those between controls, for attributes and charted pairs."""
    kind = own.kind
    every = {label: row for label, note, row in _beyond_rows(own) if note.endswith(" pairs")}
    found = {f"{label}: all pairs": row for label, row in every.items()}
    for pair in own.charted:
        row = pair.estimates.get(_BEYOND)
        if row is not None and isinstance(row["group_a"], str) and not pd.isna(row["estimate"]):
            found[pair.title] = row
    rows = {
        label: {
            "beyond": figure_of(kind, row).written(),
            "both": str(row["method_note"]).partition(";")[0],
            "p": "no test" if _untested(row) else p_cell(row["p_value"]),
            "items": f"{row['n']:,}",
        }
        for label, row in found.items()
    }
    caption = (
        f"Mean change beyond that of the controls, in {kind.unit}"
        f"{', in any direction' * kind.numeric}; p-values are not adjusted"
    )
    return pair_table(
        "controls",
        rows,
        caption,
        level=level(own.release.alpha),
        shares="" if kind.numeric else ", shares",
        Items=capital(words_of(own.benchmark).items),
    )


BEYOND = Section(
    order=70,
    title=lambda own: "Larger than meaningless changes?",
    answer=beyond_controls,
    applies=lambda own: any(True for _ in _beyond_rows(own)),
    charts=lambda own, name: (beyond_chart(own, name),),
    key=lambda own: [Mark(sure(own)), Mark("0: groups change answers as much as controls do")],
    tables=beyond_table,
)
