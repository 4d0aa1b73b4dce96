"""Is the difference big enough to matter?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from fairstats._lib.formatting import capital, level, listed, number_word, points
from fairstats.estimates.specifications import SMALLEST
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.report.answer_sets import AnswerSet, Pair, span_of
from fairstats.report.charts.marks import dot, interval
from fairstats.report.charts.rows import Cell, Chart, Row
from fairstats.report.figures import NONE, Figure, p_cell
from fairstats.report.page_output import NEUTRAL_DARK
from fairstats.report.sections.pair_charts import above, axis_of, pair_chart
from fairstats.report.sections.section import (
    CANNOT,
    MOST_NAMES,
    Answer,
    Mark,
    Section,
    Shown,
    by_pair,
    reasons,
    sure,
    unknown,
)
from fairstats.report.tables import breakable, written_table
from fairstats.report.words import (
    difference_name,
    gap_name,
    long_unit,
    noun,
    signed_range,
)

#: The standard sizes of differences with their headings, and the kinds of answers that have them.
_SIZES = {
    "odds_ratio": ("Odds ratio", ("choice", "decision")),
    "cohens_h": ("Cohen’s h", ("choice", "decision")),
    "weighted_kappa": ("Weighted κ", ("level",)),
    "standardized_difference": ("Standardized", ("score",)),
}


def answer(own: AnswerSet) -> Answer:
    """State whether the difference is larger than the equivalence margin."""
    kind, gaps = own.kind, {pair: pair.gap for pair in own.pairs}
    if own.ranged or own.selected or not all(gap.known for gap in gaps.values()):
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
    size = span_of((gap.estimate for gap in gaps.values()), kind, signed=True)
    text = f"The {noun(kind)}{' is' if len(gaps) == 1 else 's are'} {size} {kind.unit}"
    if len(gaps) == 1:
        text += f" ({level(own.release.alpha)} interval {own.pairs[0].gap.limits})"
    why = reasons(pair for pair, word in said.items() if word in ("Unclear", CANNOT))
    text += _against_margin(own, said, bool(why))
    return Answer(by_pair({pair.name: word for pair, word in said.items()}), f"{text}{why}")


def _against_margin(own: AnswerSet, said: dict[Pair, str], explained: bool) -> str:
    """State how the intervals relate to the margin, to follow the size of the gaps."""
    gap, words = noun(own.kind), list(said.values())
    margin, every, one = f"±{own.margin:g} {own.kind.unit}", set(words), len(words) == 1
    if every == {"Yes"}:
        return f", and {'the' if one else 'every'} interval is beyond the margin of {margin}."
    if every == {"No"}:
        return f", equivalent within the margin of {margin}."
    if every == {"Perhaps"}:
        return f". {'It is' if one else 'All are'} significant, but could be within {margin}."
    if every == {"Unclear"} and not explained:
        clear = [pair for pair in said if pair.gap.low > 0 or pair.gap.high < 0]
        if not clear:
            return f". No {gap} and a {gap} beyond {margin} are both possible."
        return f". {_only_unadjusted(own, clear)} The margin is {margin}."
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
            dot(axis, v, colour=NEUTRAL_DARK, hollow=True, y="80%") for v in there
        )
        marks += interval(axis, *gap.all) + above(axis, gap.middle, gap.label, "18%")
        said = f"{pair.note}: {gap.written(unit)}"
        if there:
            said += f"; the other models {replace(gap, low=min(there), high=max(there)).limits}"
        return Cell(marks, said)

    caption = f"{capital(gap_name(kind))}s in {long_unit(kind)}"
    return pair_chart(own, name, caption, axis, cell, height=54)


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

    rows = tuple(Row(pair.title, (cell(pair),)) for pair in own.charted)
    caption = f"{label}s with the equivalence margin: {own.label}"
    return Chart(name, caption, "Pair", (axis,), rows, height=20)


def _key(own: AnswerSet) -> Sequence[Mark]:
    margin, unit = f"±{own.margin:g}", f" {own.kind.unit}" if own.kind.numeric else "-point"
    others = [Mark("the other models with the same prompt", "hollow")]
    return [
        Mark(f"this model, {sure(own)}", "a"),
        *(others if any(own.others.values()) else []),
        Mark(f"shaded: {margin}{unit} margin, a convention of this benchmark"),
    ]


def table(own: AnswerSet) -> Sequence[Shown]:
    """Show the size of the differences: standard sizes, and the margin for equivalence."""
    if own.ranged:
        # The policy gives ranges, which are on the first page.
        return []
    kind, alpha, rows = own.kind, own.release.alpha, []
    sizes = {name: label for name, (label, kinds) in _SIZES.items() if kind.name in kinds}
    for pair in own.charted:
        choices = pair.rows(own.sensitivity)
        smallest = choices[choices["choice"] == SMALLEST].head(1).to_dict("records")
        inner = [signed_range(kind, row["ci_low"], row["ci_high"]) for row in smallest]
        margin = [row["estimate"] for row in smallest if not math.isnan(row["estimate"])]
        least = pair.value("minimum_detectable_difference")
        rows.append(
            {
                "pair": breakable(pair.title),
                **{name: _standard(pair.figure(name)) for name in sizes},
                "inner": next(iter(inner), ""),
                "margin": f"±{kind.signed(margin[0]).lstrip('+')}" if margin else NONE,
                "least": NONE if math.isnan(least) else points(least, signed=False),
                "p": p_cell(pair.value(kind.test, "p_value")),
            }
        )
    labels = {
        **{name: f"{label} ({level(alpha)} CI)" for name, label in sizes.items()},
        "inner": f"{level(2 * alpha)} CI, {kind.unit}",
        "margin": "Equivalent from",
        **({} if kind.numeric else {"least": "Detectable, points"}),
        "p": "p, unadjusted",
    }
    return [
        Shown(
            written_table(rows, labels, name="sizes", stub="pair", heading="Pair"),
            "Size of the differences. Equivalent from: the smallest margin at which the pair "
            f"counts as equivalent.{'' if kind.numeric else ' Detectable: with 80% power'}",
        )
    ]


def _standard(figure: Figure) -> str:
    return figure.written() if figure.known else NONE


SECTION = Section(
    order=50,
    title=lambda own: f"Is the {noun(own.kind)} big enough to matter?",
    answer=answer,
    charts=lambda own, name: (chart(own, name),),
    key=_key,
    tables=table,
)
