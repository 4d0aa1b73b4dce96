"""Show the figures of the Methods and Benchmarks pages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd
from great_tables import GT

from fairstats._lib.formatting import decimal, escape_markdown, percent, percent_range, quoted
from fairstats._lib.installation import resource
from fairstats._lib.model_names import same_model
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import KINDS
from fairstats.estimates.table import is_primary_test
from fairstats.metrics.registry import metrics_table
from fairstats.release.contents import Release
from fairstats.replication.printed_tables import BENCHMARK
from fairstats.report.findings import prompted, set_label
from fairstats.report.page_output import prose, show_markdown, show_table
from fairstats.report.replication.page import above_others, counted_cells, replication_table
from fairstats.report.tables import labels_of, written_table

#: The coverage that a 95% interval should have everywhere.
LEAST, MOST = 0.94, 0.975
#: The mean accuracy for intervals that depend on the accuracies, in the table of points.
ACCURACY = 0.75
#: The interval that a release uses for each estimand.
DEFAULTS = {"proportion": "wilson", "difference": "tango", "cohens_h": "arcsine"}


def show_kicker(release: Release) -> None:
    """Show the line that names the benchmarks, the release and its date."""
    titles = sorted({benchmark.title for benchmark in release.benchmarks.values()})
    day = pd.Timestamp(release.manifest["created_at"]).date()
    text = f"{', '.join(titles)} · release {release.name} · {day}"
    show_markdown(f"::: kicker\n{escape_markdown(text)}\n:::")


def show_metrics(release: Release) -> None:
    """Show the definition of each figure in the release's table of estimates."""
    used = {benchmark.kind.name for benchmark in release.benchmarks.values()}
    kinds = [kind for kind in KINDS if kind in used] or ["choice"]
    region = '{.table-wrap role="region" tabindex="0" aria-label="Figures"}'
    there = set(release.estimates["metric"])
    show_markdown(f"::: {region}\n{metrics_table(kinds, there)}:::")


def show_coverage() -> None:
    """Show the true coverage of the intervals, the same in every release."""
    coverage = pd.read_csv(resource("data", "coverage.csv"))
    show_markdown(prose("coverage"))
    show_table(range_table(coverage), caption="Lowest and highest true coverage of each interval")
    show_table(
        point_table(coverage),
        caption=f"Coverage with {coverage['n'].max()} pairs. Mean accuracy for Newcombe and "
        f"Cohen's h: {ACCURACY:.0%}. All points are in data/coverage.csv.",
    )


def range_table(coverage: pd.DataFrame) -> GT:
    """Show each method's lowest and highest coverage, and the points where they occur."""
    labels = labels_of("about")["coverage"]
    rows = []
    for estimand, method in _intervals(coverage):
        own = coverage[(coverage["estimand"] == estimand) & (coverage["method"] == method)]
        low, high = (own.loc[place] for place in own["coverage"].agg(["idxmin", "idxmax"]))
        default = " (default)" * (DEFAULTS[estimand] == method)
        rows.append(
            {
                "of": labels["estimands"][estimand],
                "method": labels["methods"][method] + default,
                "low": percent(low["coverage"]),
                "low_at": _point(low),
                "high": percent(high["coverage"]),
                "high_at": _point(high),
                "below": str((own["coverage"] < LEAST).sum()),
                "above": str((own["coverage"] > MOST).sum()),
                "points": str(len(own)),
            }
        )
    return written_table(
        rows,
        labels["ranges"],
        name="coverage-range",
        stub="method",
        heading="Method",
        group="of",
        right=["low", "high", "below", "above", "points"],
    )


def point_table(coverage: pd.DataFrame) -> GT:
    """Show the coverage of all methods for pairs at the largest n, one row per p10 and p01."""
    labels = labels_of("about")["coverage"]
    rows = at_largest_n(coverage)
    named = {
        f"{estimand}-{method}": labels["methods" if estimand == "difference" else "estimands"][
            method if estimand == "difference" else estimand
        ]
        for estimand, method in rows.columns
    }
    shown = rows.map(percent).set_axis(list(named), axis=1).reset_index()
    shown[["p10", "p01"]] = shown[["p10", "p01"]].map("{:g}".format)
    return written_table(
        shown,
        {"p01": "p01", **named},
        name="coverage-points",
        stub="p10",
        heading="p10",
        right=["p10", "p01", *named],
    )


def at_largest_n(coverage: pd.DataFrame) -> pd.DataFrame:
    """Return coverage at the largest n: rows (p10, p01), columns (estimand, method)."""
    paired = coverage[
        (coverage["n"] == coverage["n"].max())
        & coverage["p10"].notna()
        & (coverage["p"].isna() | (coverage["p"] == ACCURACY))
    ]
    wide = paired.pivot(index=["p10", "p01"], columns=["estimand", "method"], values="coverage")
    return wide[_intervals(paired)]


def _intervals(coverage: pd.DataFrame) -> list[tuple[str, str]]:
    """Return each estimand with its methods, in the order of their labels."""
    methods = list(labels_of("about")["coverage"]["methods"])
    found = coverage[["estimand", "method"]].drop_duplicates().itertuples(index=False, name=None)
    return sorted(found, key=lambda one: methods.index(one[1]))


def _point(row: pd.Series) -> str:
    named = {name: row[name] for name in ("n", "p", "p10", "p01") if pd.notna(row[name])}
    return ", ".join(f"{name}\u00a0=\u00a0{value:g}" for name, value in named.items())


def show_win_win_error() -> None:
    """Show how often a win-win is false; the figure is the same in every release."""
    show_markdown(prose("win-win"))
    show_table(
        win_win_table(pd.read_csv(resource("data", "win_win_error.csv"))),
        caption="Share of families with any win-win, and of single pairs with a win-win, with 95% "
        "intervals. The last row of each group is power.",
    )


def win_win_table(rates: pd.DataFrame) -> GT:
    """Show the share of win-wins by both rules, one row per design and set of improved figures."""
    labels = labels_of("about")["win_win"]
    rows = [
        {
            "design": f"{row['items']:,} items, a family of {row['pairs']} pairs",
            "changed": labels["figures"][row["changed"]],
            **{
                name: f"{percent(row[name])} "
                f"({percent_range(row[f'{name}_low'], row[f'{name}_high'])})"
                for name in labels["rates"]
            },
        }
        for _, row in rates.iterrows()
    ]
    return written_table(
        rows,
        labels["rates"],
        name="win-win-error",
        stub="changed",
        heading="What improves",
        group="design",
        right=["changed", *labels["rates"]],
    )


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
    yield f"{quoted(model)} was used to select the items ({benchmark.selected_on[model]})."
    estimates = release.estimates
    own = estimates[
        (estimates["benchmark"] == benchmark.name)
        & estimates["model"].map(partial(same_model, model))
        & is_primary_test(estimates)
        & estimates["attribute"].isin(benchmark.varied_names)
    ]
    if own.empty:
        yield "This release has no answers from it."
    named = prompted(release, benchmark.name)
    for (version, strategy), rows in own.groupby(["benchmark_version", "strategy"], sort=True):
        answers = set_label(benchmark, str(version), str(strategy), prompted=named)
        pairs = [
            f"{benchmark.pair_label(row.attribute, (row.group_a, row.group_b))} "
            f"{row.n10} against {row.n01}"
            for row in rows.itertuples(index=False)
        ]
        yield (
            f"Pairs it gets right for the first group only, against those it gets right for the "
            f"second only ({answers}): {'; '.join(pairs)}."
        )
