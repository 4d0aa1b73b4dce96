"""Tables of all figures of pairs of groups: one row per pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from great_tables import GT
from great_tables._text import BaseText

from fairstats._lib.formatting import capital, decimal, level
from fairstats.benchmarks.kinds import CHOICE, DECISION
from fairstats.report.answer_sets import AnswerSet, Pair
from fairstats.report.page_output import filled, output_format
from fairstats.report.tables import MARKS, breakable, two_lines, written_table
from fairstats.report.words import NONE, heading, named_test, p_cell

#: The columns of a model's page, and those that an audit report has room for.
EVERY = ("gap", "verdict", "a", "b", "ratio", "cfr", "eo", "h", "counts", "p")
ON_PAPER = ("rates", "gap", "cfr", "counts", "p", "verdict")


def pairs_table(
    sets: Sequence[AnswerSet],
    *,
    name: str,
    columns: Sequence[str] = ON_PAPER,
    every: bool = False,
    whole: bool = False,
) -> GT:
    """Show rates or means, difference, CFR, pairs that differ, test and verdict.

    Several answer sets are groups of rows. A column without any figure is left out. `every` is
    whether to show all of many pairs, not only those with the largest differences. `whole` adds a
    row for all pairs together.
    """
    cases = []
    for own in sets:
        pairs = list(own.pairs if every else own.charted)
        if whole and own.whole is not None and own.whole not in pairs:
            pairs.append(own.whole)
        for pair in pairs:
            label = pair.title if pair in own.pairs else f"{pair.label}: {pair.note}"
            cases.append(({"set": breakable(own.full_label), "pair": breakable(label)}, pair))
    group = "set" if len(sets) > 1 else None
    sides = sets[0].side_names
    return named_pairs(
        cases, sets[0], columns, sides=sides, name=name, stub="pair", heading="Pair", group=group
    )


def named_pairs(
    cases: Sequence[tuple[dict[str, str], Pair]],
    own: AnswerSet,
    columns: Sequence[str],
    *,
    sides: tuple[str, str],
    narrow: bool = False,
    most: int | None = None,
    **options: Any,
) -> GT:
    """Show pairs with their names in other columns, as `pairs_table`.

    A case is a pair after the cells that name it. `own` is one of the answer sets, which gives kind
    and level. `sides` are the names of the first and second groups. `narrow` is whether columns are
    narrow on paper, and `most` the number of pairs to show. `options` are those of `written_table`.
    """
    rows = [names | _cells(pair, columns, narrow=narrow) for names, pair in cases]
    labels = _labels(own, sides)
    there = {column: labels[column] for column in columns if any(row[column] for row in rows)}
    right = [column for column in there if column != "verdict"]
    return written_table(rows[:most], there, right=right, **options)


def _labels(own: AnswerSet, sides: tuple[str, str]) -> dict[str, str | BaseText]:
    """Return the heading of each column, with a second line on paper."""
    kind, unit = own.kind, "" if own.kind.numeric else ", %"
    sure = "range" if own.ranged else f"{level(own.release.alpha)} CI"
    first, second = sides
    rates = "Selected, %" if kind == DECISION else heading(kind)
    return {
        "a": f"{capital(kind.figure)}, {first}{unit}",
        "b": f"{capital(kind.figure)}, {second}{unit}",
        "rates": two_lines(rates, "both groups"),
        "gap": two_lines(f"Difference{' (AD)' * (kind == CHOICE)}", f"{kind.unit}, {sure}"),
        "ratio": "Ratio",
        "cfr": two_lines("Same answer (CFR)", f"%, {sure}"),
        "eo": "EO ↓ of all groups, points",
        "h": "Cohen’s h",
        "counts": two_lines("Moved" if kind.numeric else "Discordant", "n10 : n01"),
        "p": two_lines(f"{capital(named_test(kind))} p", "adjusted"),
        "verdict": "Verdict",
    }


def _cells(pair: Pair, columns: Sequence[str], *, narrow: bool) -> dict[str, str]:
    """Return the cells of a pair by column; empty if the kind has no such figure."""
    kind, paper = pair.kind, output_format() != "html"
    metrics = {"a": kind.rate_a, "b": kind.rate_b, "gap": kind.difference}
    metrics["ratio"] = "selection_ratio"
    cells = {}
    for column in columns:
        metric = metrics.get(column, column)
        if column == "verdict":
            cells[column] = _verdict(pair, explained=narrow or not paper)
        elif column in _OTHERS:
            cells[column] = _OTHERS[column](pair)
        elif metric in pair.estimates:
            strong, broken = column not in ("a", "b"), narrow and paper
            cells[column] = pair.figure(metric).cell(strong=strong, broken=broken)
        else:
            cells[column] = NONE if column == "cfr" else ""
    return cells


def _rates(pair: Pair) -> str:
    sides = (figure.text or figure.limits * figure.ranged or NONE for figure in pair.rates)
    return " / ".join(sides)


def _counts(pair: Pair) -> str:
    both = [pair.value(pair.kind.difference, name) for name in ("n10", "n01")]
    return NONE if math.isnan(sum(both)) else f"{both[0]:,.0f} : {both[1]:,.0f}"


def _p(pair: Pair) -> str:
    return p_cell(pair.p)


#: The cells that are not one figure with its limits.
_OTHERS: dict[str, Callable[[Pair], str]] = {
    "rates": _rates,
    "h": lambda pair: decimal(pair.value("cohens_h"), 2),
    "counts": _counts,
    "p": _p,
}


def _verdict(pair: Pair, *, explained: bool) -> str:
    """Return the verdict with its mark, and the reason why it is open."""
    if pair.verdict is None:
        return "not judged"
    reason = pair.difference["verdict_reason"]
    shown = reason if explained and isinstance(reason, str) else ""
    return filled("verdict", verdict=pair.verdict, mark=MARKS[pair.verdict], reason=shown)
