"""Show how strongly benchmarks show bias, and how the selection of their items affects this."""

from __future__ import annotations

from collections.abc import Iterator

from fairstats._lib.formatting import decimal, escape_markdown
from fairstats._lib.safe_names import fold_name
from fairstats.benchmarks.declaration import Benchmark
from fairstats.estimates.table import is_primary_test
from fairstats.release.contents import Release
from fairstats.replication.printed_tables import BENCHMARK
from fairstats.report.findings import prompted, set_label
from fairstats.report.page_output import show_markdown, show_table
from fairstats.report.replication.page import above_others, counted_cells, replication_table
from fairstats.report.templates import prose

# The published table with several benchmarks.
_TABLE = "fairmedqa-1"
_RELATED = (
    " The two models in the published table, GPT-4-turbo and GPT-4o, are by the maker of "
    "GPT-4o-mini."
)


def has_benchmarks(release: Release) -> bool:
    """Check whether benchmarks have published figures, or items selected on a model."""
    selected = any(benchmark.selected_on for benchmark in release.benchmarks.values())
    return selected or (release.replication["published"] == _TABLE).any().item()


def show_benchmarks(release: Release) -> None:
    """Show the same models on several benchmarks, and the effect of selecting items."""
    rows = release.replication[release.replication["published"] == _TABLE]
    if not rows.empty:
        ours = rows["benchmark"] == BENCHMARK
        low, high = (decimal(f, 3) for f in rows.loc[ours, "printed_value"].agg(["min", "max"]))
        others = " and ".join(rows.loc[~ours, "benchmark"].unique())
        least = decimal(above_others(rows, "printed_value"), 3)
        text = prose("benchmarks-published", low=low, high=high, least=least, others=others)
        show_markdown(f"::: lede\n{text} {counted_cells(rows)}\n:::")
        show_table(
            replication_table(rows, release, name=_TABLE),
            caption="AD of the same models on several benchmarks: published and recomputed",
            css_class="estimates changes",
            download="replication",
        )
    for benchmark in release.benchmarks.values():
        if benchmark.selected_on:
            title = f"## {escape_markdown(benchmark.title)}: how its items were selected"
            show_markdown(f"{title}\n\n{selection_text(benchmark, release)}")


def selection_text(benchmark: Benchmark, release: Release) -> str:
    """State what follows if a benchmark's items were selected on a model's answers."""
    ours = benchmark.name == BENCHMARK
    models = escape_markdown(", ".join(benchmark.selected_on))
    counts = [" ".join(_discordant(model, benchmark, release)) for model in benchmark.selected_on]
    return "\n\n".join(
        [
            *map(escape_markdown, counts),
            *([prose("benchmarks-fairmedqa")] if ours else []),
            prose("benchmarks-selection", models=models, related=_RELATED if ours else ""),
        ]
    )


def _discordant(model: str, benchmark: Benchmark, release: Release) -> Iterator[str]:
    """Count the discordant pairs of a model that the items were selected on."""
    yield f"{model} was used to select the items ({benchmark.selected_on[model]})."
    estimates = release.estimates
    own = estimates[
        (estimates["benchmark"] == benchmark.name)
        & (estimates["model"].map(fold_name) == fold_name(model))
        & is_primary_test(estimates)
        & estimates["attribute"].isin([a.name for a in benchmark.varied])
    ]
    if own.empty:
        yield "This release has no answers from it."
    named = prompted(release, benchmark.name)
    for (version, strategy), rows in own.groupby(["benchmark_version", "strategy"], sort=True):
        answers = set_label(benchmark, str(version), str(strategy), prompted=named)
        pairs = [
            f"{benchmark.attributes[row.attribute].pair_label((row.group_a, row.group_b))} "
            f"{row.n10} against {row.n01}"
            for row in rows.itertuples(index=False)
        ]
        yield (
            f"Pairs it gets right for the first group only, against those it gets right for the "
            f"second only ({answers}): {'; '.join(pairs)}."
        )
