"""Show the parts of pages that have no separate module: changes, sources, methods."""

from __future__ import annotations

from fairstats._lib.formatting import escape_markdown, listed, number_word
from fairstats.benchmarks.kinds import KINDS
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
from fairstats.report.tables import sources_caption, sources_table
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
        caption=sources_caption(release),
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


def show_metrics(release: Release) -> None:
    """Show the definition of each figure in the table of estimates."""
    used = {benchmark.kind.name for benchmark in release.benchmarks.values()}
    kinds = [kind for kind in KINDS if kind in used] or ["choice"]
    region = '{.table-wrap role="region" tabindex="0" aria-label="Figures"}'
    # Without choices, figures that need a key are explained only if there is one.
    there = None if "choice" in kinds else set(release.estimates["metric"])
    show_markdown(f"::: {region}\n{metrics_table(kinds, there)}:::")


#: What the methods page says of each kind of answers.
_KINDS = {
    "decision": """\
**Decisions.** Nothing is right or wrong. A decision counts as 1 if it is favourable and as 0 if
not, and every statistic of accuracy is that of this share. So $n_{10}$ are the pairs in which
only group $a$ gets a favourable decision. With a key, true and false positive rates compare the
decisions with it (equalized odds; Hardt, Price & Srebro 2016).""",
    "level": """\
**Levels.** The difference $d$ is that of the mean levels; its margin is in levels.""",
    "score": """\
**Scores.** The difference $d$ is that of the mean scores; its margin is in points of the score.""",
}
_NUMBERS = """\
**Tests and intervals of levels and scores.** If the group made no difference, the sum of $y_a -
y_b$ of an independent unit could as well have the other sign. The test flips the signs of all
units (Fisher 1935), exactly or on a fine grid; mid-p decides. The interval is Student's $t$ with
the bias-reduced variance CR2 over units and Satterthwaite's degrees of freedom (Bell & McCaffrey
2002; Pustejovsky & Tipton 2018). It reaches at least as far as Tango's score interval for the
effective number of units that differ, so that a few differing units do not make it narrow. A
missing answer may be anywhere between the ends of the scale. A model is uninformative, and not
called equivalent, if its answers do not depend on the item: if fewer than five items have another
answer than the most frequent one, if they vary as much within items as between them, or if levels
agree with the key no better than by chance."""
_CLUSTERS = """\
**Independent units.** If a benchmark declares that items share a patient, a message or another
cluster, tests flip whole clusters, and intervals are over clusters. Those of shares divide their
counts by the design effect, with a correction for few clusters of unequal size."""


def show_kinds(release: Release) -> None:
    """Explain the kinds of answers in this release, other than choices."""
    known = list(release.benchmarks.values())
    used = {benchmark.kind.name for benchmark in known}
    parts = [text for kind, text in _KINDS.items() if kind in used]
    parts += [_NUMBERS] if any(benchmark.kind.numeric for benchmark in known) else []
    parts += [_CLUSTERS] if any(benchmark.cluster for benchmark in known) else []
    if parts:
        show_markdown("\n\n".join(parts))


def show_win_win_error() -> None:
    """Show how often a win-win is false; the figure is the same in every release."""
    rates = read_win_win_error()
    show_markdown(win_win_text(rates))
    show_table(win_win_table(rates), caption=win_win_caption())
