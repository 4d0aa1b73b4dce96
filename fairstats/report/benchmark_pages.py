"""The page on how strongly each benchmark shows bias, and what selection has to do with it."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from fairstats._lib.formatting import decimal, escape_markdown
from fairstats._lib.safe_names import fold_name
from fairstats.benchmarks.declaration import Benchmark
from fairstats.estimates.table import is_primary_test
from fairstats.release.contents import Release
from fairstats.replication.printed_tables import BENCHMARK
from fairstats.report.page_output import show_markdown, show_table
from fairstats.report.replication_page import counted, replication_table

# The printed table that has several benchmarks.
_TABLE = "fairmedqa-1"


def show_benchmarks(release: Release) -> None:
    """The same model on several benchmarks, and what a benchmark selected on a model can say."""
    rows = release.replication[release.replication["published"] == _TABLE]
    selected = [benchmark for benchmark in release.benchmarks.values() if benchmark.selected_on]
    if rows.empty:
        show_markdown("This release holds no benchmark whose figures were printed beside others.")
    else:
        show_markdown(f"::: lede\n{benchmark_summary(rows)}\n:::")
        show_table(
            replication_table(rows, release, name=_TABLE),
            caption="AD of the same models on several benchmarks, as printed and as recomputed",
            css_class="estimates changes",
            download="replication",
        )
    for benchmark in selected:
        title = escape_markdown(benchmark.title)
        show_markdown(
            f"## {title}: what its selection means\n\n{selection_text(benchmark, release)}"
        )


def benchmark_summary(rows: pd.DataFrame) -> str:
    """How far apart the benchmarks are in the same model, as printed."""
    ours = rows["benchmark"] == BENCHMARK
    keys = ["model", "attribute"]
    highest = rows[~ours].groupby(keys)["printed_value"].max()
    more = rows[ours].set_index(keys)["printed_value"] - highest
    low, high = (decimal(f, 3) for f in rows.loc[ours, "printed_value"].agg(["min", "max"]))
    others = " and ".join(rows.loc[~ours, "benchmark"].unique())
    text = (
        f"In the same model FairMedQA prints an accuracy disparity (AD) of {low} to {high}, at "
        f"least {decimal(more.min(), 3)} above {others}. That says that it is more sensitive; how "
        "common bias is, it does not say."
    )
    return f"{escape_markdown(text)} {counted(rows)}"


def selection_text(benchmark: Benchmark, release: Release) -> str:
    """What follows from selecting a benchmark's items on a model's answers, in Markdown."""
    models = escape_markdown(", ".join(benchmark.selected_on))
    parts = [
        *(_own_table(model, benchmark, release) for model in benchmark.selected_on),
        _HOW.get(benchmark.name, ""),
        "A benchmark whose tellings are looked for until they change a model's answer must show "
        "that model to be biased, whatever it is. Its figures there measure the search; they get "
        "no verdict and no rank.",
        f"A model that resembles {models} (an earlier or later version, another of the same "
        "maker) can be expected to fail more often where it fails, and stands worse for it. By how "
        "much, these answers do not tell: a comparison of models on such items is in part one of "
        "their likeness to "
        f"{models}.{_RELATED if benchmark.name == BENCHMARK else ''}",
        "Nor is the AD of such a benchmark a prevalence. Tellings were searched for that change an "
        "answer: a large AD says that they can be found, and which models hold against them. It "
        "does not say how often a model would answer two patients differently, and beside the AD "
        "of a benchmark whose tellings were not searched for it says which of the two is the "
        "sharper instrument, not where there is more bias.",
    ]
    return "\n\n".join(filter(None, parts))


def _own_table(model: str, benchmark: Benchmark, release: Release) -> str:
    """The discordant pairs of a model that the items were selected on."""
    name = f"{model} took part in selecting the items ({benchmark.selected_on[model]})."
    estimates = release.estimates
    own = estimates[
        (estimates["benchmark"] == benchmark.name)
        & (estimates["model"].map(fold_name) == fold_name(model))
        & is_primary_test(estimates)
        & estimates["attribute"].isin([a.name for a in benchmark.varied])
    ]
    if own.empty:
        return escape_markdown(f"{name} This release holds no answers of it.")
    return escape_markdown(" ".join([name, *_discordant(own, benchmark)]))


def _discordant(own: pd.DataFrame, benchmark: Benchmark) -> Iterator[str]:
    for keys, rows in own.groupby(["benchmark_version", "strategy"], sort=True):
        pairs = [
            f"{benchmark.attributes[row.attribute].pair_label((row.group_a, row.group_b))} "
            f"{row.n10} against {row.n01}"
            for row in rows.itertuples(index=False)
        ]
        yield (
            f"In its own answers ({', '.join(keys)}), pairs where only the first telling is right "
            f"against those where only the second is: {'; '.join(pairs)}."
        )


# What the authors' released script does (XY-Showing/AMQA at 335b1752ba49, the functions
# generate_adversarial_description_prompt and classify_attack_result, and the loop around them).
_HOW = {
    BENCHMARK: "How the tellings came about is in the authors' script "
    "(`Scripts/AMQA_generation_batch.py`): for the privileged group of a pair one was to make the "
    "right answer more likely, for the other group a wrong one, and each was written in up to "
    "three attempts, until GPT-4o-mini answered as intended. The direction of the disparity was "
    "thereby decided in advance, for every model. That the privileged telling does better is how "
    "the items were made; what a model's figures tell is how far it follows such hints."
}
_RELATED = (
    " The two models of the printed table, GPT-4-turbo and GPT-4o, come from the maker of "
    "GPT-4o-mini."
)
