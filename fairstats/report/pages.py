"""Parts of pages that no module of their own shows: boards, changes, sources, methods."""

from __future__ import annotations

from fairstats._lib.formatting import escape_markdown
from fairstats.benchmarks.terms import COMMON
from fairstats.comparisons.declared import STRATEGY, VERSION
from fairstats.metrics.registry import metrics_table
from fairstats.release.contents import Release
from fairstats.report.change_plots import change_arrows, change_forest
from fairstats.report.change_tables import change_table
from fairstats.report.coverage_section import (
    coverage_text,
    point_table,
    points_caption,
    range_table,
    read_coverage,
)
from fairstats.report.page_output import show_markdown, show_plot, show_table
from fairstats.report.prose import (
    benchmark_card,
    citation,
    how_to_read_changes,
    kicker,
    ranges,
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


def show_versions(release: Release) -> None:
    """Show how models' figures changed in their next versions."""
    _show_changes(
        release,
        VERSION,
        "Each row compares a model with the version before it, for one pair of groups.",
    )


def show_strategies(release: Release) -> None:
    """Show how a model's figures change with the strategy."""
    _show_changes(
        release,
        STRATEGY,
        "Each row compares a model's answers under another strategy with its plain answers, for "
        "one pair of groups.",
    )


def _show_changes(release: Release, kind: str, lede: str) -> None:
    rows = release.comparisons[release.comparisons["kind"] == kind]
    if rows.empty:
        return
    if rows["missing"].eq(COMMON).all():
        lede += " An item counts if both answer sets answer both of its variants."
    show_markdown(
        f"::: lede\n{lede} Changes are newer − older, in percentage points, each with "
        f"{ranges(release)}. The arrow in a column head shows which direction is better.\n:::"
    )
    drawn = rows.dropna(subset=["old", "new"])
    if kind == VERSION and not drawn.empty:
        show_plot(
            change_arrows,
            drawn,
            release,
            name="arrows",
            alt="Accuracy against AD, an arrow from old to new; the figures are in the table.",
            width=9,
            height=3.2,
        )
    compared = len(rows) / 3
    show_plot(
        change_forest,
        rows,
        release,
        name=f"changes-{kind}",
        alt="Changes of accuracy, CFR and AD with intervals; the figures are in the table.",
        width=9,
        height=1.1 + 0.32 * compared,
    )
    show_table(
        change_table(rows, release, name=kind),
        caption=f"Every {kind} compared: changes in points, each with {ranges(release)}; "
        "accuracy is the mean of the two groups",
        css_class="estimates changes",
        download="comparisons",
    )
    show_markdown(f"::: foot\n{how_to_read_changes(release)}\n:::")


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
    """The true coverage of the intervals, the same in every release."""
    coverage = read_coverage()
    show_markdown(coverage_text(coverage))
    show_table(range_table(coverage), caption="True coverage: worst, best")
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
