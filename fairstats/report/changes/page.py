"""The pages that compare versions of models, and prompts."""

from __future__ import annotations

from collections.abc import Sequence

from fairstats._lib.formatting import capital, counted, escape_markdown
from fairstats.benchmarks.declaration import COMMON
from fairstats.benchmarks.kinds import CHOICE
from fairstats.comparisons.compare import STRATEGY, VERSION
from fairstats.release.contents import Release
from fairstats.report.changes.figures import change_chart, change_table, chart_key
from fairstats.report.changes.findings import prompt_finding, version_finding
from fairstats.report.changes.rows import Comparison, changes_of, comparisons_of_kind, gap_of
from fairstats.report.charts.rows import MOST_CHARTED, show_chart
from fairstats.report.page_output import (
    closed,
    download_links,
    output_format,
    show_html,
    show_markdown,
    show_table,
)
from fairstats.report.tables import labels_of
from fairstats.report.templates import filled, prose
from fairstats.report.words import meaning, words_of


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
        if warning := escape_markdown(benchmark.read_first.strip()):
            show_markdown(f"::: note\n**Read this first.** {warning}\n:::")
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
    pairs = {pair.pair: pair for _, pair in changes_of(compared)}
    parts += [f"{pair.name}: {pair.groups}" for pair in pairs.values() if pair.name != pair.groups]
    kind = benchmark.kind
    if compared[0].missing == COMMON:
        items = words_of(benchmark).items
        parts.append(f"Only {items} that both sides answered for both groups count")
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
