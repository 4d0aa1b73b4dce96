"""Show the parts of pages that have no separate module: changes, sources, methods."""

from __future__ import annotations

from fairstats._lib.formatting import escape_markdown, listed, number_word
from fairstats.metrics.registry import metrics_table
from fairstats.release.contents import Release
from fairstats.report.benchmark_pages import has_benchmarks
from fairstats.report.coverage_section import (
    coverage_text,
    point_table,
    points_caption,
    range_table,
    read_coverage,
)
from fairstats.report.page_output import output_format, show_markdown, show_table
from fairstats.report.release_sentences import (
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
    """Show the line that names the benchmarks and the release."""
    show_markdown(f"::: kicker\n{kicker(release)}\n:::")


def show_sources(release: Release) -> None:
    """Show the release's benchmarks, and the number of answers from each model."""
    for benchmark in release.benchmarks.values():
        show_markdown(f"## {escape_markdown(benchmark.title)}\n\n{benchmark_card(benchmark)}")
    if has_benchmarks(release) and output_format() == "html":
        show_markdown(
            "What selection does to a benchmark, and how strongly different benchmarks show bias: "
            "[Benchmarks](/reports/benchmarks.qmd)."
        )
    show_markdown("## Answers in this release")
    show_table(
        sources_table(release),
        caption="Answers by model, set of vignettes and prompt",
        css_class="sources",
    )


def show_contents(release: Release) -> None:
    """State the release's number of answers and models."""
    titles = escape_markdown(listed(benchmark.title for benchmark in release.benchmarks.values()))
    answers = sum(entry["answers"] for entry in release.manifest["answers"])
    models = len(release.models)
    show_markdown(
        f"::: lede\nThis release has {answers:,} answers from {number_word(models)} "
        f"model{'s' * (models != 1)} to {titles}. "
        "Every figure can be downloaded and recomputed.\n:::"
    )


def show_citation(release: Release) -> None:
    """Show how to cite the release and its benchmarks."""
    show_markdown(citation(release))


def show_coverage() -> None:
    """Show the true coverage of the intervals, the same in every release."""
    coverage = read_coverage()
    show_markdown(coverage_text(coverage))
    show_table(range_table(coverage), caption="Lowest and highest true coverage of each interval")
    show_table(point_table(coverage), caption=points_caption(coverage))


def show_metrics() -> None:
    """Show the definition of each figure in the table of estimates."""
    region = '{.table-wrap role="region" tabindex="0" aria-label="Figures"}'
    show_markdown(f"::: {region}\n{metrics_table()}:::")


def show_win_win_error() -> None:
    """Show how often a win-win is false; the figure is the same in every release."""
    rates = read_win_win_error()
    show_markdown(win_win_text(rates))
    show_table(win_win_table(rates), caption=win_win_caption())
