"""Do answers go missing more for one group, and does the model prefer a letter or an option?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from fairstats._lib.formatting import number_word, percent
from fairstats.benchmarks.declaration import Attribute
from fairstats.benchmarks.kinds import CHOICE
from fairstats.counts.answer_tables import NO_ANSWER
from fairstats.report.answer_sets import AnswerSet, missing_reasons
from fairstats.report.charts.marks import Axis, axis_over, dot, tick
from fairstats.report.charts.rows import Cell, Chart, Row, chart_of
from fairstats.report.page_output import ACCENT_A, ACCENT_B
from fairstats.report.sections.section import CANNOT, Answer, Mark, Section, Shown, pair_table
from fairstats.report.words import NONE, option_label, option_noun, p_cell

#: The tests of other possible problems with the answers.
DIAGNOSTICS = ("bowker", "stuart_maxwell", "missing_difference")


def _missing_answer(own: AnswerSet) -> Answer:
    missing, whole = own.missing
    if not missing:
        return Answer("No answer is missing", "")
    p = {pair: pair.value("missing_difference", "p_value") for pair in own.pairs}
    uneven = [pair for pair, value in p.items() if value <= own.release.alpha]
    text = f"{missing:,} of {whole:,} answers are missing{missing_reasons(own.entries)}."
    if not uneven:
        return Answer("Not clearly", f"{text} No test of a difference is significant.")
    pairs = f"{number_word(len(uneven))} of {number_word(len(own.pairs))} pairs"
    return Answer(f"Yes, for {pairs}", f"{text} The tests are not adjusted.")


def table(own: AnswerSet) -> Sequence[Shown]:
    """Show the tests of missing answers and of the changes from one answer to another."""
    rows = {}
    for pair in own.charted:
        sides = [pair.difference[f"n_missing_{side}"] for side in "ab"]
        rows[pair.title] = {
            "missing": " : ".join(NONE if n != n else f"{int(n):,}" for n in sides),
            "difference": pair.figure("missing_difference").text or NONE,
        } | {metric: p_cell(pair.value(metric, "p_value")) for metric in DIAGNOSTICS}
    what = f"{option_noun(own.benchmark)}s" if own.kind == CHOICE else "answers"
    caption = "Tests of missing and changed answers; p-values are not adjusted"
    return pair_table("tests", rows, caption, what=what)


MISSING = Section(
    order=200,
    title=lambda own: "Do answers go missing more for one group?",
    answer=_missing_answer,
    tables=table,
    diagnostic=True,
)


#: A letter is named if it is answered so much more often than it is the key.
FREQUENT = 0.05
#: With fewer answers, this may be chance.
ENOUGH = 500
# Characters that a panel has room for.
_PANEL = 28


def frequent_letter(own: AnswerSet) -> str:
    """Name a letter given much more often than it is the key; empty if there is no such letter.

    Only choices are judged, and not if they are few.
    """
    rows = own.table("letters")
    given = rows[rows["letter"] != NO_ANSWER].groupby("letter")[["count", "key_count"]].sum()
    if own.kind != CHOICE or given["count"].sum() < ENOUGH:
        return ""
    shares = given / given.sum()
    letter = (shares["count"] - shares["key_count"]).idxmax()
    count, key = shares.loc[letter, ["count", "key_count"]]
    if count - key < FREQUENT:
        return ""
    return (
        f"The {option_noun(own.benchmark)} {letter} is {percent(count)} of the answers but "
        f"{percent(key)} of the keys. The model or the parser of its replies may prefer it."
    )


def _answer(own: AnswerSet) -> Answer:
    rows = own.table("letters")
    if own.kind != CHOICE:
        given = rows[rows["letter"] != NO_ANSWER].groupby("letter")["count"].sum()
        if not given.sum():
            return Answer(CANNOT, "No answer could be read.")
        most = str(given.idxmax())
        share = percent(given[most] / given.sum())
        return Answer(f"“{option_label(own.benchmark, most)}” most often", f"It is {share} of all.")
    if text := frequent_letter(own):
        return Answer("Perhaps", text)
    if rows.loc[rows["letter"] != NO_ANSWER, "count"].sum() < ENOUGH:
        return Answer("Too few answers to tell", f"There are fewer than {ENOUGH}.")
    what = option_noun(own.benchmark)
    text = f"No {what} is answered {100 * FREQUENT:g} points more often than it is the key."
    return Answer(f"No {what} clearly", text)


def _attributes(own: AnswerSet) -> list[Attribute]:
    letters = own.table("letters")
    there = set(letters.loc[letters["count"] > 0, "attribute"])
    return [attribute for attribute in own.benchmark.attributes.values() if attribute.name in there]


def _chart(own: AnswerSet, name: str) -> Chart:
    """Draw how often each option is answered for each group, and how often it is the key."""
    benchmark, letters = own.benchmark, own.table("letters")
    letters = letters[letters["letter"].isin(benchmark.options)]
    if not benchmark.has_key:
        letters = letters.assign(key_share=math.nan)
    shares = [100 * value for column in ("share", "key_share") for value in letters[column]]
    # With these, the labels of the axis enclose all marks.
    most = max((share for share in shares if share > 0), default=1.0)
    shares += [0.0, 20.0 * math.ceil(most / 20)]
    attributes = _attributes(own)
    scale: dict[str, Any] = {"room": 0.0, "limits": (0, 100), "signed": False, "unit": "%"}
    axes = [
        axis_over(shares, key=one.name, label=one.label, note=_groups(one), **scale)
        for one in attributes
    ]

    def cell(letter: str, attribute: Attribute, axis: Axis) -> Cell:
        chosen = (letters["letter"] == letter) & (letters["attribute"] == attribute.name)
        return _cell(axis, letters[chosen], attribute)

    key = ", and how often it is the key" if benchmark.has_key else ""
    caption = f"How often each option is answered, by group{key}"
    rows = ((Row(option_label(benchmark, letter)), letter) for letter in benchmark.options)
    columns = zip(attributes, axes, strict=True)
    return chart_of(name, caption, "Option", rows, columns, cell, height=22)


def _cell(axis: Axis, rows: pd.DataFrame, attribute: Attribute) -> Cell:
    marks: list[str] = []
    said: list[str] = []
    shares = rows.set_index("group")
    for number, (group, label) in enumerate(attribute.groups.items()):
        if group not in shares.index:
            continue
        share, key = (100 * float(shares.loc[group, name]) for name in ("share", "key_share"))
        if not said:
            marks.append(tick(axis, key, reach=40))
        # Two marks can be told apart.
        second = number == 1 and len(attribute.groups) == 2
        marks.append(dot(axis, share, colour=ACCENT_A if second else ACCENT_B, hollow=second))
        said.append(f"{label} {share:.1f}%")
    return Cell(Markup().join(marks), ", ".join(said))


def _groups(attribute: Attribute) -> str:
    """Return an attribute's groups, or their number if a narrow panel cannot fit them."""
    named = " / ".join(attribute.groups.values())
    return named if len(named) <= _PANEL else f"{len(attribute.groups)} groups"


def _key(own: AnswerSet) -> list[Mark]:
    circles = "how often each option is answered, one circle per group"
    if any(len(attribute.groups) == 2 for attribute in _attributes(own)):
        circles += ", hollow for the second of two"
    return [
        Mark(circles),
        *([Mark("how often it is the key", "bar")] if own.benchmark.has_key else []),
    ]


LETTERS = Section(
    order=210,
    title=lambda own: (
        f"Does it prefer {'a letter' if option_noun(own.benchmark) == 'letter' else 'an option'}?"
    ),
    answer=_answer,
    applies=lambda own: bool(own.benchmark.options and _attributes(own)),
    charts=lambda own, name: (_chart(own, name),),
    key=_key,
    diagnostic=True,
)
