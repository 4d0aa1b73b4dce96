"""A section of a model's page and of its audit report: one question with its answer."""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from great_tables import GT

import fairstats.report.sections
from fairstats._lib.formatting import capital, level, listed
from fairstats.report.answer_sets import AnswerSet, Pair, reasons_of
from fairstats.report.charts.marks import Axis, axis_over, words
from fairstats.report.charts.rows import Cell, Chart, Row, chart_of
from fairstats.report.tables import breakable, labels_of, written_table
from fairstats.report.words import NONE, Figure

CANNOT = "Cannot be judged"
# More groups than these are counted, not named.
MOST_NAMES = 4


@dataclass(frozen=True)
class Answer:
    """An answer in a word or two, and the figures behind it; plain text."""

    short: str
    text: str


class Mark(NamedTuple):
    """An entry of a chart's key: its text, and the class of the mark before it."""

    text: str
    css_class: str = ""


class Shown(NamedTuple):
    """A table and its caption."""

    table: GT
    caption: str


def _always(own: AnswerSet) -> bool:
    return bool(own.pairs)


@dataclass(frozen=True)
class Section:
    """Answer one question about an answer set.

    A file of this folder that declares one adds it to every model's page and audit report.

    Attributes
    ----------
    order : int
        The place among the sections.
    title : callable
        The question, for an answer set.
    answer : callable
        The answer in words. None if this answer set has no answer, but another one may.
    applies : callable
        Whether an answer set has what the section is about.
    charts : callable
        The charts of an answer set, drawn with the given name.
    key : callable
        What the marks of the charts mean.
    notes : callable
        Sentences below the charts of a report.
    tables : callable
        The tables of a report.
    every_pair : bool
        Whether the charts show all of many pairs, not those with the largest differences.
    parts : callable, optional
        The answer sets that the section is about, for one of the same model and benchmark. Without
        it, the section is about the given one.
    diagnostic : bool
        Whether the section is about the answers rather than the groups: it is in the report only.
    wide : bool
        Whether the charts are next to each other, over the whole width.
    """

    order: int
    title: Callable[[AnswerSet], str]
    answer: Callable[[AnswerSet], Answer | None]
    applies: Callable[[AnswerSet], bool] = _always
    charts: Callable[[AnswerSet, str], Sequence[Chart]] = lambda own, name: ()
    key: Callable[[AnswerSet], Sequence[Mark]] = lambda own: ()
    notes: Callable[[AnswerSet], Sequence[str]] = lambda own: ()
    tables: Callable[[AnswerSet], Sequence[Shown]] = lambda own: ()
    every_pair: bool = False
    parts: Callable[[AnswerSet], Sequence[AnswerSet]] | None = None
    diagnostic: bool = False
    wide: bool = False


def sections() -> list[Section]:
    """Return the `Section` of every file in this folder, in their order."""
    package = fairstats.report.sections
    found = []
    for file in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if file.name != __name__:
            values = vars(import_module(file.name)).values()
            found += [value for value in values if isinstance(value, Section)]
    return sorted(found, key=lambda section: section.order)


def pair_table(
    name: str, rows: Mapping[str, Mapping[str, str]], caption: str, **words: str
) -> Sequence[Shown]:
    """Return a table with a row per pair; a column without any figure is left out.

    `name` is the table's id, and the part of ``labels.toml`` with its columns, whose headings name
    `words`. `rows` are the cells of each pair, by its title.
    """
    labels = {
        column: label.format_map(words)
        for column, label in labels_of("sections")[name].items()
        if any(row.get(column) not in (None, "", NONE) for row in rows.values())
    }
    if not labels:
        return []
    cells = [
        {"pair": breakable(title)} | {column: row.get(column) or NONE for column in labels}
        for title, row in rows.items()
    ]
    table = written_table(cells, labels, name=name, stub="pair", heading="Pair", right=list(labels))
    return [Shown(table, caption)]


def by_pair(words: Mapping[str, str]) -> str:
    """Join the answers for each pair into one.

    Examples
    --------
    >>> by_pair({"Race": "Yes", "Sex": "Yes"})
    'Yes'
    >>> by_pair({"Race": "Yes", "Sex": "Unclear", "Income": "Yes"})
    'Yes for Race and Income, unclear for Sex'
    >>> by_pair({str(n): "Yes" if n else "No" for n in range(11)})
    'No for 0, yes for 10 of 11 pairs'
    """
    pairs: dict[str, list[str]] = {}
    for pair, word in words.items():
        pairs.setdefault(word, []).append(pair)
    if len(pairs) == 1:
        return next(iter(pairs))
    every = len(words)
    parts = [
        f"{word.lower()} for {listed(names)}"
        if len(names) <= MOST_NAMES
        else f"{word.lower()} for {len(names)} of {every} pairs"
        for word, names in pairs.items()
    ]
    return capital(", ".join(parts))


def unknown(own: AnswerSet) -> Answer:
    """Why there are no figures: ranges over missing answers, or no answers."""
    if own.ranged:
        return Answer(CANNOT, "Each figure is a range, because missing answers could be anything.")
    missing, answers = own.missing
    nothing = "No answer could be read." if missing == answers else "No such figure is known."
    return Answer(CANNOT, reasons(own, own.pairs).strip() or nothing)


def reasons(own: AnswerSet, pairs: Iterable[Pair]) -> str:
    """Why the verdict on these pairs is open or has a caution, as sentences to append."""
    return "".join(f" {capital(reason)}." for reason in reasons_of(pairs, own))


def sure(own: AnswerSet) -> str:
    """Describe the lines of a chart."""
    return "lines: ranges" if own.ranged else f"lines: {level(own.release.alpha)} intervals"


_Case = TypeVar("_Case")


def axis_of(figures: Iterable[Figure], key: str, note: str, **options: Any) -> Axis:
    """Return an axis that fits figures; the options are those of `axis_over`."""
    ends = [end for figure in figures for end in figure.all]
    return axis_over(ends, key=key, note=note, **{"lead": 0.04} | options)


def set_chart(
    own: AnswerSet,
    name: str,
    caption: str,
    axis: Axis,
    cases: Iterable[tuple[Row, _Case]],
    cell: Callable[[_Case], Cell],
    *,
    heading: str = "Group",
    height: int = 24,
) -> Chart:
    """Return a chart with a row per case, made by `cell`; `height` of a row in pixels."""
    caption = f"{caption}: {own.label}"
    return chart_of(
        name, caption, heading, cases, [(None, axis)], lambda case, *_: cell(case), height=height
    )


def pair_chart(
    own: AnswerSet,
    name: str,
    caption: str,
    axis: Axis,
    cell: Callable[[Pair], Cell],
    *,
    height: int,
) -> Chart:
    """Return a chart with a row per pair of groups."""
    cases = ((Row(pair.name), pair) for pair in own.charted)
    return set_chart(own, name, caption, axis, cases, cell, heading="Pair", height=height)


def above(axis: Axis, value: float, text: str, y: str) -> str:
    """Place a text centred above or below a value, but inside the panel."""
    if math.isnan(value):
        return words(axis, axis.low, text, y=y)
    share = (value - axis.low) / (axis.high - axis.low)
    anchor = "start" if share < 0.15 else "end" if share > 0.85 else "middle"
    return words(axis, value, text, anchor=anchor, shift=0, y=y)
