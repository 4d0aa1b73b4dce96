"""Show how strongly benchmarks show bias, and how the selection of their items affects this."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from fairstats._lib.formatting import decimal, escape_markdown
from fairstats._lib.safe_names import fold_name
from fairstats.benchmarks.declaration import Benchmark
from fairstats.estimates.table import is_primary_test
from fairstats.release.contents import Release
from fairstats.replication.printed_tables import BENCHMARK
from fairstats.report.findings import set_label
from fairstats.report.page_output import show_markdown, show_table
from fairstats.report.replication.page import counted, replication_table

# The published table with several benchmarks.
_TABLE = "fairmedqa-1"


def has_benchmarks(release: Release) -> bool:
    """Check whether benchmarks have published figures, or items selected on a model."""
    selected = any(benchmark.selected_on for benchmark in release.benchmarks.values())
    return selected or (release.replication["published"] == _TABLE).any().item()


def show_benchmarks(release: Release) -> None:
    """Show the same models on several benchmarks, and the effect of selecting items."""
    rows = release.replication[release.replication["published"] == _TABLE]
    if not rows.empty:
        show_markdown(f"::: lede\n{benchmark_summary(rows)}\n:::")
        show_table(
            replication_table(rows, release, name=_TABLE),
            caption="AD of the same models on several benchmarks: published and recomputed",
            css_class="estimates changes",
            download="replication",
        )
    for benchmark in release.benchmarks.values():
        if benchmark.selected_on:
            title = escape_markdown(benchmark.title)
            show_markdown(
                f"## {title}: what its selection means\n\n{selection_text(benchmark, release)}"
            )


def benchmark_summary(rows: pd.DataFrame) -> str:
    """State how far apart the published figures of the benchmarks are for the same model."""
    ours = rows["benchmark"] == BENCHMARK
    keys = ["model", "attribute"]
    highest = rows[~ours].groupby(keys)["printed_value"].max()
    more = rows[ours].set_index(keys)["printed_value"] - highest
    low, high = (decimal(f, 3) for f in rows.loc[ours, "printed_value"].agg(["min", "max"]))
    others = " and ".join(rows.loc[~ours, "benchmark"].unique())
    text = (
        f"In the same models the published accuracy disparity (AD) is {low} to {high} on "
        f"FairMedQA, at least {decimal(more.min(), 3)} above {others}. So FairMedQA is more "
        "sensitive to bias. It does not show how common bias is."
    )
    return f"{escape_markdown(text)} {counted(rows)}"


def selection_text(benchmark: Benchmark, release: Release) -> str:
    """State what follows if a benchmark's items were selected on a model's answers."""
    models = escape_markdown(", ".join(benchmark.selected_on))
    parts = [
        *(_own_table(model, benchmark, release) for model in benchmark.selected_on),
        _HOW.get(benchmark.name, ""),
        "If variants are rewritten until a model's answer changes, that model must look biased, "
        "whatever it is like. Its figures measure the search. They get no verdict and no rank.",
        f"A model that resembles {models} can be expected to fail more often on the same items, "
        "and so to look worse. Examples are an earlier or later version, or another model by the "
        "same maker. These answers do not show how much worse. A comparison of models on such "
        f"items is partly a comparison of how much they resemble {models}."
        f"{_RELATED if benchmark.name == BENCHMARK else ''}",
        "The AD of such a benchmark is not a prevalence, because its variants were searched for a "
        "change of answer. A large AD shows that such variants exist, and which models resist "
        "them. It does not show how often a model would answer two patients differently. Compared "
        "with a benchmark without such a search, it shows which of the two is more sensitive, not "
        "where bias is more common.",
    ]
    return "\n\n".join(filter(None, parts))


def _own_table(model: str, benchmark: Benchmark, release: Release) -> str:
    """Count the discordant pairs of a model that the items were selected on."""
    name = f"{model} was used to select the items ({benchmark.selected_on[model]})."
    estimates = release.estimates
    own = estimates[
        (estimates["benchmark"] == benchmark.name)
        & (estimates["model"].map(fold_name) == fold_name(model))
        & is_primary_test(estimates)
        & estimates["attribute"].isin([a.name for a in benchmark.varied])
    ]
    if own.empty:
        return escape_markdown(f"{name} This release has no answers from it.")
    return escape_markdown(" ".join([name, *_discordant(own, benchmark)]))


def _discordant(own: pd.DataFrame, benchmark: Benchmark) -> Iterator[str]:
    for (version, strategy), rows in own.groupby(["benchmark_version", "strategy"], sort=True):
        pairs = [
            f"{benchmark.attributes[row.attribute].pair_label((row.group_a, row.group_b))} "
            f"{row.n10} against {row.n01}"
            for row in rows.itertuples(index=False)
        ]
        yield (
            f"Pairs it gets right for the first group only, against those it gets right for the "
            f"second only ({set_label(benchmark, str(version), str(strategy))}): "
            f"{'; '.join(pairs)}."
        )


# From the authors' released script (XY-Showing/AMQA at 335b1752ba49, the functions
# generate_adversarial_description_prompt and classify_attack_result, and the loop around them).
_HOW = {
    BENCHMARK: "The authors' script shows how the variants were written "
    "(`Scripts/AMQA_generation_batch.py`). For the privileged group of a pair, the variant was to "
    "make the right answer more likely. For the other group, it was to make a wrong answer more "
    "likely. Each was written in up to three attempts, until GPT-4o-mini answered as intended. So "
    "the direction of the disparity was set in advance, for every model. The privileged group "
    "does better because of how the items were made. A model's figures show how strongly it "
    "follows such hints."
}
_RELATED = (
    " The two models in the published table, GPT-4-turbo and GPT-4o, are by the maker of "
    "GPT-4o-mini."
)
