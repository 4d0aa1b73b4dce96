"""Parts of pages that no module of their own shows: boards, changes, sources, methods."""

from __future__ import annotations

from fairstats._lib.formatting import escape_markdown
from fairstats.metrics.registry import metrics_table
from fairstats.release.contents import Release
from fairstats.report.coverage_section import (
    coverage_text,
    point_table,
    points_caption,
    range_table,
    read_coverage,
)
from fairstats.report.page_output import show_markdown, show_table
from fairstats.report.prose import (
    benchmark_card,
    citation,
    kicker,
)
from fairstats.report.tables import sources_table
from fairstats.report.win_win_section import (
    read_win_win_error,
    win_win_caption,
    win_win_table,
    win_win_text,
)


def show_kicker(release: Release) -> None:
    """The line that says which release this is."""
    show_markdown(f"::: kicker\n{kicker(release)}\n:::")


def show_sources(release: Release) -> None:
    """Where the release's answers and items come from."""
    for benchmark in release.benchmarks.values():
        show_markdown(f"## {escape_markdown(benchmark.title)}\n\n{benchmark_card(benchmark)}")
    show_markdown("## Answers of this release")
    show_table(
        sources_table(release), caption="How many answers each model gave", css_class="sources"
    )


def show_citation(release: Release) -> None:
    """How to cite the release and its benchmarks."""
    show_markdown(citation(release))


def show_coverage() -> None:
    """Show the true coverage of the intervals, the same in every release."""
    coverage = read_coverage()
    show_markdown(coverage_text(coverage))
    show_table(range_table(coverage), caption="Lowest and highest true coverage of each interval")
    show_table(point_table(coverage), caption=points_caption(coverage))


def show_metrics() -> None:
    """Show what each figure of the table of estimates is."""
    region = '{.table-wrap role="region" tabindex="0" aria-label="Figures"}'
    show_markdown(f"::: {region}\n{metrics_table()}:::")


def show_win_win_error() -> None:
    """Show how often a win-win is false, the same in every release."""
    rates = read_win_win_error()
    show_markdown(win_win_text(rates))
    show_table(win_win_table(rates), caption=win_win_caption())
