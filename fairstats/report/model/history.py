"""One model's figures over the releases of a site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.declaration import BASELINE, POOLED, Benchmark
from fairstats.benchmarks.kinds import DIFFERENCES
from fairstats.counts.patterns import PAIR_COLUMNS
from fairstats.release.contents import Release, plain_first
from fairstats.report.page_output import ACCENT_A
from fairstats.report.plot_style import difference_layers, in_order, plot_theme
from fairstats.report.words import scaled

if TYPE_CHECKING:
    from plotnine import ggplot

# Adjusted p-values depend on the other models: with them, every plot would be drawn again when one
# model changes.
_DRAWN = [*PAIR_COLUMNS, "metric", "estimate", "ci_low", "ci_high"]


def history_of(release: Release, model: str, benchmark: str) -> pd.DataFrame:
    """Return a model's differences between groups in this release and earlier ones.

    Parameters
    ----------
    release : Release
        The release, with the earlier ones next to it.
    model, benchmark : str
        The model and the benchmark of the figures.

    Returns
    -------
    pandas.DataFrame
        The figures to draw, and ``release``, oldest first. A release without the model has no row.
    """
    tables = []
    for one in (*release.earlier, release):
        own = one.estimates
        chosen = own[
            (own["model"] == model)
            & (own["benchmark"] == benchmark)
            & own["metric"].isin(DIFFERENCES)
            & ~own["attribute"].isin([BASELINE, POOLED])
        ]
        tables.append(chosen[_DRAWN].assign(release=one.name))
    return pd.concat(tables, ignore_index=True)


def history_plot(rows: pd.DataFrame, benchmark: Benchmark) -> ggplot:
    """Differences between groups with intervals from release to release, a column a pair.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `history_of`.
    benchmark : Benchmark
        Gives the labels of the pairs and the margin that is shaded.
    """
    from plotnine import aes, facet_grid, ggplot, labs

    drawn = rows.copy()
    drawn["release"] = in_order(drawn["release"])
    pairs = drawn[["attribute", "group_a", "group_b"]].itertuples(index=False)
    drawn["pair"] = in_order([benchmark.attribute(a).pair_label((x, y)) for a, x, y in pairs])
    drawn = plain_first(drawn)
    drawn["set"] = in_order(
        [
            f"{benchmark.versions.get(version, version)}\n{strategy_label(strategy)}"
            for version, strategy in zip(drawn["benchmark_version"], drawn["strategy"], strict=True)
        ]
    )
    kind = benchmark.kind
    for column in ("estimate", "ci_low", "ci_high"):
        drawn[column] = scaled(kind, 1) * drawn[column]
    margin = scaled(kind, benchmark.equivalence_margin)
    return (
        ggplot(drawn, aes("release", "estimate"))
        + difference_layers(margin, colour=ACCENT_A)
        + facet_grid("set ~ pair")
        + labs(x="release", y=f"difference, {kind.unit}")
        + plot_theme()
    )
