"""Show comparisons on their pages: a chart and a table with a row per pair of groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from great_tables import GT
from markupsafe import Markup

from fairstats._lib.formatting import capital, counted, escape_markdown, level, span
from fairstats.benchmarks.declaration import COMMON
from fairstats.benchmarks.kinds import CHOICE
from fairstats.comparisons.change_verdicts import LOSE_LOSE, UNCLEAR, WIN_WIN
from fairstats.comparisons.compare import STRATEGY, VERSION
from fairstats.release.contents import Release
from fairstats.report.changes.findings import prompt_finding, version_finding
from fairstats.report.changes.rows import (
    Change,
    Comparison,
    PairChange,
    change_text,
    change_words,
    changes_of,
    comparisons_of_kind,
    directed,
    figures_of,
    gap_of,
    written_as,
)
from fairstats.report.charts.marks import Axis, axis_over, dot, line, words
from fairstats.report.charts.rows import MOST_CHARTED, Cell, Chart, Row, show_chart
from fairstats.report.findings import prompt_label
from fairstats.report.page_output import (
    ACCENT_A,
    ACCENT_B,
    DIM,
    INK,
    closed,
    download_links,
    filled,
    output_format,
    prose,
    read_first,
    show_html,
    show_markdown,
    show_table,
)
from fairstats.report.tables import in_cell, labels_of, two_lines, written_table
from fairstats.report.words import meaning, p_cell, scaled, words_of

#: The colours of changes that are better, worse or unclear.
_COLOURS = {1: ACCENT_B, -1: ACCENT_A, 0: DIM}
# The share of a panel's range that the written change needs at the right.
_ROOM = 1.4
_MARKS = {WIN_WIN: "▲ ", LOSE_LOSE: "▼ ", UNCLEAR: ""}
_P = "adjusted p"
#: The classes of the marks in a key.
_CLASSES = ("hollow", "dim", "b", "a")


def change_chart(compared: Sequence[Comparison], *, name: str) -> Chart:
    """Draw each figure of both sides and its change, one row per pair of groups."""
    kind = compared[0].benchmark.kind
    axes = {metric: _axis(metric, compared) for metric in figures_of(kind)}
    several = len({one.context for one in compared}) > 1
    # Comparisons of one pair each need no heading above it.
    alone = all(len(one.charted) == 1 for one in compared)
    rows = []
    for one in compared:
        notes = [one.context] * several + ["different questions, no verdict"] * (not one.alike)
        if not alone:
            rows.append(Row(one.title, note=", ".join(notes)))
        for pair in one.charted:
            cells = tuple(_cell(axis, metric, pair) for metric, axis in axes.items())
            alone_note = ", ".join([pair.name, *notes])
            rows.append(Row(one.title, cells, note=alone_note) if alone else Row(pair.name, cells))
    rate, cfr, gap = (label for label, _ in figures_of(kind).values())
    gap = gap if kind == CHOICE else gap.lower()
    caption = f"{rate}, {cfr} and {gap} of both sides of each comparison, by pair of groups"
    return Chart(name, caption, "Pair", (*axes.values(),), (*rows,), height=24, css_class="changed")


def _axis(metric: str, compared: Sequence[Comparison]) -> Axis:
    """Return an axis from 0 for the gap; the same axis, up to 100%, for all shares."""
    benchmark = compared[0].benchmark
    kind, gap = benchmark.kind, f"delta_{benchmark.kind.disparity}"
    own, (label, note) = written_as(metric, kind), figures_of(kind)[metric]
    shown = {metric} if metric == gap or kind.numeric else set(figures_of(kind)) - {gap}
    values = [
        scaled(written_as(m, kind), pair.figures[m][side])
        for one in compared for pair in one.charted for m in shown for side in ("old", "new")
    ]  # fmt: skip
    options: dict[str, Any] = {"limits": benchmark.limits}
    if metric == gap:
        margin = scaled(kind, benchmark.equivalence_margin)
        options = {"limits": (0.0, math.inf), "band": (0.0, margin)}
    elif not own.numeric:
        values.append(100.0)
        options = {"limits": (0.0, 100.0), "unit": "%"}
    heading = directed(kind)[metric]
    axis = axis_over(values, key=label, label=heading, note=note, room=0, signed=False, **options)
    axis = replace(axis, high=axis.high + _ROOM * (axis.high - axis.low), end=axis.high)
    # Labels that begin above the smallest value would make it look larger.
    while len(axis.ticks) > 1 and axis.ticks[0] > max(axis.low, axis.limits[0]):
        axis = replace(axis, low=2 * axis.ticks[0] - axis.ticks[1])
    return axis


def _cell(axis: Axis, metric: str, pair: PairChange) -> Cell:
    """Draw a line from the older to the newer value, and write the change."""
    row, direction = pair.figures[metric], pair.direction(metric)
    kind, colour = written_as(metric, pair.kind), _COLOURS[direction]
    old, new = scaled(kind, row["old"]), scaled(kind, row["new"])
    marks = line(axis, old, new, colour=colour)
    marks += dot(axis, old, colour=DIM, hollow=True) + dot(axis, new, colour=colour)
    ink = INK if direction else DIM
    marks += words(axis, axis.high, change_text(row, kind), anchor="end", shift=6, colour=ink)
    return Cell(marks, change_words(metric, pair), row["estimate"])


def chart_key(compared: Sequence[Comparison], alpha: float) -> list[tuple[str, str]]:
    """Return what the marks of `change_chart` mean, each with its class in the style sheet."""
    one, say = compared[0], labels_of("changes")["key"]
    kind = one.benchmark.kind
    words = {
        "reference": prompt_label(one.reference),
        "unit": f"{kind.unit} or points" if kind.numeric else kind.unit,
        "gap": gap_of(kind),
        "margin": kind.shown_margin(one.benchmark.equivalence_margin),
        "alpha": f"{alpha:g}",
        "level": level(alpha),
    }
    sides = (text.format_map(words) for text in say["prompt" if one.reference else "version"])
    words |= dict(zip(("older", "newer"), sides, strict=True))
    shown = ("range",) if one.ranged else ("hollow", "dim", "b", "a", "figures", "shaded")
    return [(say[key].format_map(words), key if key in _CLASSES else "") for key in shown]


def change_table(changes: Sequence[Change], *, name: str) -> tuple[GT, str]:
    """Make a table of changes with their p-values, and the caption with what all rows share."""
    (one, first), kind = changes[0], changes[0][1].kind
    limits = "range" if one.ranged else f"{level(first.alpha)} CI"
    labels: dict[str, Any] = {}
    for metric, label in directed(kind).items():
        note = f"change, {written_as(metric, kind).unit} ({limits})"
        labels[metric] = two_lines(Markup("<b>{}</b>").format(label), note)
        # Ranges are not tested.
        if not all(math.isnan(pair.figures[metric]["p_adjusted"]) for _, pair in changes):
            labels[f"{metric}_p"] = _P
    caption = f"{capital(kind.figure)} is the mean of the two groups"
    if kind.numeric:
        caption = f"The {kind.figure} is that of both groups"
    caption += "" if one.ranged else ". Bold: significant changes"
    verdicts = {(pair.verdict, pair.reason) for _, pair in changes}
    if len(changes) > 1 and len(verdicts) == 1 and first.verdict and first.reason is None:
        # A verdict that all rows share is in the caption.
        caption += f". Verdict on every row: {first.verdict}"
    elif any(pair.verdict for _, pair in changes):
        labels |= {"verdict": "Verdict", "verdict_p": _P}
    several = len({one.context for one, _ in changes}) > 1
    table = written_table(
        [_row(one, pair, several) for one, pair in changes],
        labels,
        name=name,
        stub="pair",
        heading="Pair",
        group="comparison",
        right=[column for column in labels if column != "verdict"],
    )
    return table, caption


def _row(one: Comparison, pair: PairChange, several: bool) -> Mapping[str, str]:
    heading = f"{one.title} ({one.context})" if several else one.title
    if note := one.note if one.alike else "different questions":
        heading += f". Not like for like: {note}"
    row = {"comparison": heading, "pair": pair.name}
    for metric, label in directed(pair.kind).items():
        figures = pair.figures[metric]
        estimate, _, limits = change_text(figures, written_as(metric, pair.kind)).partition(" (")
        row[metric] = filled(
            "change_cell",
            label=in_cell(label),
            estimate=estimate,
            limits=limits,
            strong=pair.significant(metric),
            css_class={1: "better", -1: "worse", 0: ""}[pair.direction(metric)],
        )
        row[f"{metric}_p"] = _p(figures["p_adjusted"])
    if pair.verdict is None:
        return row
    verdict, mark, reason = "no verdict", "", None
    if one.alike:
        verdict, mark, reason = pair.verdict, _MARKS[pair.verdict], pair.reason
        row["verdict_p"] = _p(pair.gap["p_pair_adjusted"])
    label = in_cell("Verdict")
    cell = filled("change_verdict", label=label, mark=mark, verdict=verdict, reason=reason)
    return row | {"verdict": cell}


def _p(p: float) -> str:
    return filled("labelled_cell", label=in_cell(_P), text=p_cell(p), note="")


def show_versions(release: Release) -> None:
    """Show which models are better than the version before them."""
    _show_comparisons(release, VERSION)


def show_strategies(release: Release) -> None:
    """Show whether other prompts than the reference make gaps smaller."""
    _show_comparisons(release, STRATEGY)


def _show_comparisons(release: Release, kind: str) -> None:
    """Show the comparisons of a kind, benchmark by benchmark."""
    number, found = 0, comparisons_of_kind(release, kind)
    for of_benchmark in found.values():
        benchmark = of_benchmark[0].benchmark
        if len(found) > 1:
            show_markdown(f"## {escape_markdown(benchmark.title)}")
        if note := read_first(benchmark.read_first):
            show_markdown(note)
        for reference in dict.fromkeys(one.reference for one in of_benchmark):
            _show([one for one in of_benchmark if one.reference == reference], release, number)
            number += 1
    if output_format() == "html":
        links = f"All comparisons: {download_links('comparisons')}"
        if any(one.release for of_benchmark in found.values() for one in of_benchmark):
            links += f". With earlier releases: {download_links('earlier_comparisons')}"
        show_html(f'<p class="downloads">{links}</p>')
    with closed("How to read the figures"):
        show_markdown(how_to_read_changes(release))


def _show(compared: Sequence[Comparison], release: Release, number: int) -> None:
    """Show the finding, chart and table of comparisons with one reference."""
    first, changes = compared[0], changes_of(compared)
    finding = prompt_finding(compared, release) if first.reference else version_finding(compared)
    show_markdown(
        f"::: lede\n{escape_markdown(finding)}\n:::\n\n::: small\n{_shared_facts(compared)}\n:::"
    )
    show_html(filled("key", marks=chart_key(compared, release.alpha)))
    name = "prompt" if first.reference else "version"
    show_chart(change_chart(compared, name=f"{name}s-{number}"))
    about = ""
    if first.reference and not first.ranged:
        # Most changes between prompts are not significant.
        every, changes = len(changes), [each for each in changes if each[1].any_significant]
        about = f"With a significant change: {len(changes)} of {counted(every, 'comparison')}"
    if not changes:
        show_markdown(f"::: small\n{about}.\n:::")
        return
    table, caption = change_table(changes, name=f"{name}-changes-{number}")
    caption = ". ".join(filter(None, (about, caption)))
    show_table(table, caption=caption, css_class="estimates compact changes by-figure")


def _shared_facts(compared: Sequence[Comparison]) -> str:
    """State what all rows share, and explain the figures, as Markdown."""
    benchmark, contexts = compared[0].benchmark, {one.context for one in compared}
    parts = [capital(one) for one in contexts if len(contexts) == 1]
    changes = [pair for _, pair in changes_of(compared)]
    pairs = {pair.pair: pair for pair in changes}.values()
    parts += [f"{pair.name}: {pair.groups}" for pair in pairs if pair.groups not in pair.name]
    kind = benchmark.kind
    if compared[0].missing == COMMON:
        items, many = words_of(benchmark).items, [pair.gap["n"] for pair in changes]
        number = span(f"{min(many):,}", f"{max(many):,}")
        parts.append(f"Only {items} that both sides answered for both groups count: {number}")
    if any(len(one.charted) < len(one.pairs) for one in compared):
        change = f"the largest change in {gap_of(kind)}"
        parts.append(f"Chart: the {MOST_CHARTED} pairs of a comparison with {change}")
    means = escape_markdown(meaning(benchmark))
    terms = prose("changes-terms-kinds", unit=kind.unit, meaning=means, figure=kind.figure)
    if kind == CHOICE:
        terms = prose("changes-terms-choices")
    return escape_markdown(". ".join([*parts, ""])) + terms


def how_to_read_changes(release: Release) -> str:
    """Explain the words of a table of changes, with this release's level, as Markdown."""
    if release.policies == ["bounds"]:
        return prose("changes-bounds")
    benchmarks = release.benchmarks.values()
    families = {labels_of("changes")["family"][benchmark.family] for benchmark in benchmarks}
    words = {"alpha": f"{release.alpha:g}", "family": " or ".join(sorted(families))}
    kinds = sorted({"choices" if one.kind == CHOICE else "kinds" for one in benchmarks})
    return "\n\n".join(prose(f"changes-{kind}", **words) for kind in kinds)
