"""The pages that compare versions of models, and prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats._lib.formatting import capital, escape_markdown, level
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.declaration import COMMON, Benchmark
from fairstats.benchmarks.kinds import CHOICE
from fairstats.comparisons.change_verdicts import LOSE_LOSE, UNCLEAR, WIN_WIN
from fairstats.comparisons.compare import STRATEGY, VERSION
from fairstats.release.contents import Release
from fairstats.report.changes.charts import prompt_chart, version_chart
from fairstats.report.changes.findings import how_to_read_changes, prompt_finding, version_finding
from fairstats.report.changes.rows import (
    Change,
    Comparison,
    PairChange,
    change_text,
    changes_of,
    comparisons_of_kind,
    directed,
    figures_of,
    gap_of,
    written_as,
)
from fairstats.report.charts.rows import MOST_CHARTED, show_chart
from fairstats.report.figures import p_cell
from fairstats.report.findings import prompt_label
from fairstats.report.page_output import (
    closed,
    download_links,
    output_format,
    show_html,
    show_markdown,
    show_table,
)
from fairstats.report.tables import written_table
from fairstats.report.templates import filled, prose
from fairstats.report.words import meaning, words_of

if TYPE_CHECKING:
    from great_tables import GT
    from markupsafe import Markup


_BOUNDS = "bounds"


def _terms(benchmark: Benchmark) -> str:
    """Explain the figures; all texts of the benchmark in it are escaped."""
    kind = benchmark.kind
    if kind == CHOICE:
        return prose("changes-terms-choices")
    means = escape_markdown(meaning(benchmark))
    return prose("changes-terms-kinds", unit=kind.unit, meaning=means, figure=kind.figure)


def show_versions(release: Release) -> None:
    """Show which models are better than the version before them."""

    def show(compared: Sequence[Comparison], number: int) -> None:
        _show_text(version_finding(compared), compared)
        kind = compared[0].benchmark.kind
        unit = f"{kind.unit} or points" if kind.numeric else "points"
        interval = f"change in {unit}, with its {level(release.alpha)} interval"
        marks = f"○ older version, ● newer version. Figures: {interval}"
        _show_key(compared, marks, release.alpha, better="better", worse="worse")
        show_chart(version_chart(compared, name=f"versions-{number}"), css_class="changed")
        _show_table(changes_of(compared), release.alpha, name=f"version-changes-{number}")

    _show_benchmarks(release, VERSION, show)


def show_strategies(release: Release) -> None:
    """Show whether other prompts than the reference make gaps smaller."""

    def show(compared: Sequence[Comparison], number: int) -> None:
        _show_text(prompt_finding(compared, release), compared)
        kind, margin = compared[0].benchmark.kind, compared[0].benchmark.equivalence_margin
        gap, reference = capital(gap_of(kind)), escape_markdown(prompt_label(compared[0].reference))
        marks = (
            f"○ {gap} with the {reference}. ● {gap} with another prompt, and the "
            f"{level(release.alpha)} interval of the change. Figures: change in {kind.unit}. "
            f"Shaded: {gap_of(kind)} up to {kind.shown_margin(margin)} {kind.unit}, the "
            "equivalence margin"
        )
        _show_key(compared, marks, release.alpha, better="smaller gap", worse="larger gap")
        show_chart(prompt_chart(compared, name=f"prompts-{number}"), css_class="changed prompts")
        changes = changes_of(compared)
        shown = [(one, pair) for one, pair in changes if pair.any_significant]
        about = f"{len(shown)} of {len(changes)} comparisons have a significant change. "
        if shown:
            _show_table(shown, release.alpha, name=f"prompt-changes-{number}", about=about)
        elif _policies(compared) != {_BOUNDS}:
            figures = f"{kind.figure}, CFR or {gap_of(kind)}"
            show_markdown(f"::: small\nNo change in {figures} is significant.\n:::")

    _show_benchmarks(release, STRATEGY, show)


def _show_benchmarks(
    release: Release, kind: str, show: Callable[[Sequence[Comparison], int], None]
) -> None:
    """Show the comparisons of a kind, benchmark by benchmark."""
    number, compared = 0, comparisons_of_kind(release, kind)
    for of_benchmark in compared.values():
        if len(compared) > 1:
            show_markdown(f"## {escape_markdown(of_benchmark[0].benchmark.title)}")
        if warning := escape_markdown(of_benchmark[0].benchmark.read_first.strip()):
            show_markdown(f"::: note\n**Read this first.** {warning}\n:::")
        for reference in dict.fromkeys(one.reference for one in of_benchmark):
            show([one for one in of_benchmark if one.reference == reference], number)
            number += 1
    if output_format() == "html":
        every = [one for of_benchmark in compared.values() for one in of_benchmark]
        links = f"All comparisons: {download_links('comparisons')}"
        if any(one.release for one in every):
            links += f". With earlier releases: {download_links('earlier_comparisons')}"
        show_html(f'<p class="downloads">{links}</p>')
    with closed("How to read the figures"):
        show_markdown(how_to_read_changes(release))


def _policies(compared: Sequence[Comparison]) -> set[str]:
    """Return the policies for missing answers."""
    return {row["missing"] for _, pair in changes_of(compared) for row in pair.figures.values()}


def _show_text(finding: str, compared: Sequence[Comparison]) -> None:
    """Show the finding, then the facts that all rows share."""
    contexts, benchmark = {one.context for one in compared}, compared[0].benchmark
    parts = [capital(one) for one in contexts if len(contexts) == 1]
    pairs = {pair.pair: pair for _, pair in changes_of(compared)}
    parts += [f"{p.name}: {p.groups}" for p in pairs.values() if p.name != p.groups]
    about = escape_markdown(". ".join([*parts, ""]))
    if _policies(compared) == {COMMON}:
        items = escape_markdown(words_of(benchmark).items)
        about += f"Only {items} that both sides answered for both groups count. "
    if any(len(one.charted) < len(one.pairs) for one in compared):
        change = f"the largest change in {gap_of(benchmark.kind)}"
        about += f"Chart: the {MOST_CHARTED} pairs of a comparison with {change}. "
    terms = _terms(benchmark)
    show_markdown(f"::: lede\n{escape_markdown(finding)}\n:::\n\n::: small\n{about}{terms}\n:::")


def _show_key(
    compared: Sequence[Comparison], marks: str, alpha: float, *, better: str, worse: str
) -> None:
    """Show the meanings of a chart's signs."""
    kind = compared[0].benchmark.kind
    text = (
        f"{marks}. In colour: significant changes (adjusted p at most {alpha:g}), "
        f"[●\u00a0{better}]{{.better}}, [●\u00a0{worse}]{{.worse}}."
    )
    if _policies(compared) == {_BOUNDS}:
        text = f"Figures: the range of the change, in {kind.unit if kind.numeric else 'points'}."
    show_markdown(f"::: small\n{text}\n:::")


def _show_table(changes: Sequence[Change], alpha: float, *, name: str, about: str = "") -> None:
    """Show the changes of all three figures; the caption has the facts that all rows share."""
    bounds = _policies([one for one, _ in changes]) == {_BOUNDS}
    kind = changes[0][1].kind
    caption = f"{about}{capital(kind.figure)} is the mean of the two groups."
    if kind.numeric:
        caption = f"{about}The {kind.figure} is that of both groups."
    if not bounds:
        caption += " Bold: significant changes."
    verdict = shared_verdict(changes)
    if verdict is not None:
        caption += f" All {len(changes)} verdicts: {verdict}."
    limits = "range" if bounds else f"{level(alpha)} CI"
    table = change_table(changes, name=name, limits=limits)
    show_table(table, caption=caption, css_class="estimates compact")


_MARKS = {WIN_WIN: "▲ ", LOSE_LOSE: "▼ ", UNCLEAR: ""}


def change_table(changes: Sequence[Change], *, name: str, limits: str) -> GT:
    """Make a table of one row per pair of groups, with the change of each figure.

    Parameters
    ----------
    changes : sequence of (Comparison, PairChange)
        The rows.
    name : str
        The table's id, unique on the page.
    limits : str
        The meaning of the limits in parentheses, e.g. ``"95% CI"``.
    """
    from great_tables import html

    several, kind = len({one.context for one, _ in changes}) > 1, changes[0][1].kind
    labels: dict[str, Any] = {}
    for metric, label in directed(kind).items():
        note = f"change, {written_as(metric, kind).unit} ({limits})"
        labels[metric] = html(filled("change_heading", label=label, note=note))
        # Bounds are not tested.
        if any(pd.notna(pair.figures[metric]["p_adjusted"]) for _, pair in changes):
            labels[f"{metric}_p"] = "adjusted p"
    judged = any(pair.verdict is not None for _, pair in changes)
    # A verdict that all rows have is in the caption.
    if judged and shared_verdict(changes) is None:
        labels |= {"verdict": "Verdict", "verdict_p": "adjusted p"}
    return written_table(
        [_row(one, pair, several) for one, pair in changes],
        labels,
        name=name,
        stub="pair",
        heading="Pair",
        group="comparison",
        right=[column for column in labels if column != "verdict"],
    )


def shared_verdict(changes: Sequence[Change]) -> str | None:
    """Return the verdict that all rows share; None if they differ or a reason is given."""
    found = {(pair.verdict, pair.reason) for _, pair in changes}
    verdict, reason = next(iter(found))
    return verdict if len(changes) > 1 and len(found) == 1 and reason is None else None


def _row(one: Comparison, pair: PairChange, several: bool) -> dict[str, str]:
    row = {"comparison": _heading(one, several), "pair": pair.name}
    if one.reference:
        row["pair"] = f"{strategy_label(one.prompt)}: {pair.name}"
    for metric in figures_of(pair.kind):
        figures = pair.figures[metric]
        text = change_text(figures, written_as(metric, pair.kind))
        row[metric] = _change(text, pair.direction(metric), pair.significant(metric))
        row[f"{metric}_p"] = p_cell(figures["p_adjusted"])
    verdict = pair.verdict
    if verdict is None or not one.alike:
        return row | {"verdict": "" if verdict is None else "no verdict"}
    cell = filled("change_verdict", mark=_MARKS[verdict], verdict=verdict, reason=pair.reason)
    return row | {"verdict": cell, "verdict_p": p_cell(pair.gap["p_pair_adjusted"])}


def _heading(one: Comparison, several: bool) -> str:
    """Name the two sides of a comparison, and the reason if they are not like for like."""
    text = f"{one.models} ({one.context})" if several else one.models
    note = one.note if one.alike else "different questions"
    return f"{text}. Not like for like: {note}" if note else text


def _change(text: str, direction: int, significant: bool) -> Markup:
    estimate, _, limits = text.partition(" (")
    css = {1: "better", -1: "worse", 0: ""}[direction]
    strong = bool(direction) or significant
    return filled("change_cell", estimate=estimate, limits=limits, strong=strong, css_class=css)
