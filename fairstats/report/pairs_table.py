"""The table of all figures: one row per pair of groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fairstats._lib.formatting import capital, decimal, escape_html, level, percent_range
from fairstats.benchmarks.kinds import CHOICE, DECISION, Kind
from fairstats.report.answer_sets import AnswerSet, Pair
from fairstats.report.board.tables import p_cell
from fairstats.report.page_output import output_format
from fairstats.report.tables import MARKS, breakable, written_table
from fairstats.report.words import heading, named_test, plain, plain_range, signed_range

if TYPE_CHECKING:
    from great_tables import GT
    from great_tables._text import BaseText

#: The columns of a model's page, and those that an audit report has room for.
EVERY = ("a", "b", "gap", "ratio", "cfr", "eo", "h", "counts", "p", "verdict")
ON_PAPER = ("rates", "gap", "cfr", "counts", "p", "verdict")
_NONE = "–"


def pairs_table(
    sets: Sequence[AnswerSet],
    *,
    name: str,
    columns: Sequence[str] = ON_PAPER,
    every: bool = False,
    whole: bool = False,
) -> GT:
    """Show rates or means, difference, CFR, pairs that differ, test and verdict.

    Parameters
    ----------
    sets : sequence of AnswerSet
        Several are groups of rows.
    name : str
        The table's id, unique on the page.
    columns : sequence of str
        The columns that are wanted; one without any figure is left out.
    every : bool
        Whether to show all of many pairs, not only those with the largest differences.
    whole : bool
        Whether to add a row for all pairs together.
    """
    rows = []
    for own in sets:
        pairs = list(own.pairs if every else own.charted)
        if whole and own.whole is not None and own.whole not in pairs:
            pairs.append(own.whole)
        for pair in pairs:
            cells = {column: _CELLS[column](pair) for column in columns}
            label = breakable(pair.title if pair in own.pairs else f"{pair.label}: {pair.note}")
            rows.append({"set": breakable(own.full_label), "pair": label} | cells)
    there = [column for column in columns if any(row[column] for row in rows)]
    return written_table(
        rows,
        {column: _labels(sets[0])[column] for column in there},
        name=name,
        stub="pair",
        heading="Pair",
        group="set" if len(sets) > 1 else None,
        html=[column for column in there if column not in ("rates", "counts")],
        right=[column for column in there if column != "verdict"],
    )


def _labels(own: AnswerSet) -> dict[str, str | BaseText]:
    """Return the heading of each column, with a second line on paper."""
    kind, unit = own.kind, "" if own.kind.numeric else ", %"
    sure = "range" if own.ranged else f"{level(own.release.alpha)} CI"
    first, second = own.side_names
    rates = "Selected, %" if kind == DECISION else heading(kind)
    counts = "n10 : n01" if kind == CHOICE else "first : second"
    return {
        "a": f"{capital(kind.figure)}, {first}{unit}",
        "b": f"{capital(kind.figure)}, {second}{unit}",
        "rates": _lines(rates, "both groups"),
        "gap": _lines(f"Difference{' (AD)' * (kind == CHOICE)}", f"{kind.unit}, {sure}"),
        "ratio": "Ratio",
        "cfr": _lines("Same answer (CFR)", f"%, {sure}"),
        "eo": "EO ↓ points",
        "h": "Cohen’s h",
        "counts": _lines("Moved" if kind.numeric else "Discordant", counts),
        "p": _lines(f"{capital(named_test(kind))} p", "adjusted"),
        "verdict": "Verdict",
    }


def _lines(text: str, below: str) -> BaseText:
    from great_tables import html

    return html(f"{escape_html(text)}<br><small>{escape_html(below)}</small>")


def _with_limits(figure: str, limits: str) -> str:
    """Return a figure, or its range, and its limits in HTML."""
    small = f"<small>({limits})</small>" if limits else ""
    return " ".join(filter(None, (f"<strong>{figure}</strong>" * bool(figure), small)))


def _rate(metric: Callable[[Kind], str]) -> Callable[[Pair], str]:
    def cell(pair: Pair) -> str:
        low, high = (pair.value(metric(pair.kind), name) for name in ("ci_low", "ci_high"))
        figure = plain(pair.kind, pair.value(metric(pair.kind)))
        limits = plain_range(pair.kind, low, high)
        return f"{figure} <small>({limits})</small>" if figure and limits else figure or limits

    return cell


def _rates(pair: Pair) -> str:
    sides = []
    for metric in (pair.kind.rate_a, pair.kind.rate_b):
        low, high = (pair.value(metric, name) for name in ("ci_low", "ci_high"))
        known = plain(pair.kind, pair.value(metric))
        sides.append(known or (plain_range(pair.kind, low, high) if _ranged(pair, metric) else ""))
    return " / ".join(side or _NONE for side in sides)


def _gap(pair: Pair) -> str:
    metric = pair.kind.difference
    limits = signed_range(pair.kind, *(pair.value(metric, name) for name in ("ci_low", "ci_high")))
    known = pair.value(metric)
    shown = _unknown(pair, metric) if math.isnan(known) else pair.kind.signed(known)
    return _with_limits(shown, limits)


def _share(metric: str) -> Callable[[Pair], str]:
    def cell(pair: Pair) -> str:
        if metric not in pair.estimates:
            return _NONE if metric == "cfr" else ""
        known = pair.value(metric)
        limits = percent_range(*(pair.value(metric, name) for name in ("ci_low", "ci_high")))
        shown = _unknown(pair, metric) if math.isnan(known) else f"{100 * known:.1f}"
        return _with_limits(shown, limits)

    return cell


def _ratio(pair: Pair) -> str:
    if "selection_ratio" not in pair.estimates:
        return ""
    known, low, high = (pair.value("selection_ratio", n) for n in ("estimate", "ci_low", "ci_high"))
    limits = "" if math.isnan(low) else f"{decimal(low, 2)} to {decimal(high, 2)}"
    return _with_limits("not known" if math.isnan(known) else decimal(known, 2), limits)


def _h(pair: Pair) -> str:
    return "" if math.isnan(h := pair.value("cohens_h")) else decimal(h, 2)


def _counts(pair: Pair) -> str:
    both = [pair.value(pair.kind.difference, name) for name in ("n10", "n01")]
    return _NONE if math.isnan(sum(both)) else f"{both[0]:,.0f} : {both[1]:,.0f}"


def _p(pair: Pair) -> str:
    # Without a verdict, a p-value is meaningless, e.g. if the model selected the items.
    p = pair.value(pair.kind.test, "p_adjusted") if pair.verdict else math.nan
    return escape_html(p_cell(p))


def _unknown(pair: Pair, metric: str) -> str:
    return "range" if _ranged(pair, metric) else "not known"


def _ranged(pair: Pair, metric: str) -> bool:
    """Check whether a figure is known only as a range over the missing answers."""
    return metric in pair.estimates and pair.estimates[metric]["ci_method"] == "bounds"


def verdict_mark(verdict: object) -> str:
    """Return a verdict with its mark, as HTML; "not judged" if it is missing."""
    if not isinstance(verdict, str):
        return "not judged"
    return (
        f'<span class="verdict {verdict}"><span aria-hidden="true">{MARKS[verdict]}</span> '
        f"{verdict}</span>"
    )


def _verdict(pair: Pair) -> str:
    cell = verdict_mark(pair.verdict)
    reason = pair.difference["verdict_reason"]
    if output_format() == "html" and pair.verdict and isinstance(reason, str):
        cell += f'<br><small class="said">{escape_html(reason)}</small>'
    return cell


#: Each column's cell for a pair.
_CELLS: dict[str, Callable[[Pair], str]] = {
    "a": _rate(lambda kind: kind.rate_a),
    "b": _rate(lambda kind: kind.rate_b),
    "rates": _rates,
    "gap": _gap,
    "ratio": _ratio,
    "cfr": _share("cfr"),
    "eo": _share("eo"),
    "h": _h,
    "counts": _counts,
    "p": _p,
    "verdict": _verdict,
}
