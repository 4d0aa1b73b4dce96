"""Draw how many of the retrieved snippets the variants of an item have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats.benchmarks.declaration import POOLED, Benchmark
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, INK, NEUTRAL_DARK, RULE
from fairstats.report.plot_style import plot_theme

if TYPE_CHECKING:
    from plotnine import ggplot

_COLOURS = (ACCENT_B, ACCENT_A, INK, NEUTRAL_DARK, RULE, DIM)


def overlap_plot(overlap: pd.DataFrame, benchmark: Benchmark) -> ggplot:
    """Draw intersection over union against k: panels by attribute, colours by retriever.

    Parameters
    ----------
    overlap : pandas.DataFrame
        `fairstats.retrieval.overlap.retrieval_overlap` of one benchmark version.
    benchmark : Benchmark
        Gives the attributes' labels and order.
    """
    from plotnine import (
        aes,
        element_line,
        facet_wrap,
        geom_line,
        geom_linerange,
        geom_point,
        ggplot,
        labs,
        position_dodge,
        scale_color_manual,
        scale_x_continuous,
        scale_y_continuous,
        theme,
    )

    labels = {**{a.name: a.label for a in benchmark.varied}, POOLED: "All variants"}
    rows = overlap[
        (overlap["measure"] == "iou")
        & overlap["attribute"].isin(list(labels))
        & overlap["estimate"].notna()
    ]
    scaled = {c: 100 * rows[c] for c in ("estimate", "ci_low", "ci_high")}
    panel = pd.Categorical(rows["attribute"].map(labels), list(labels.values()))
    rows = rows.assign(panel=panel, **scaled)
    retrievers = sorted(rows["retriever"].unique())
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(retrievers)}
    apart = position_dodge(width=1.2)
    plot = (
        ggplot(rows, aes("top_k", "estimate", color="retriever"))
        + geom_linerange(aes(ymin="ci_low", ymax="ci_high"), size=0.7, position=apart)
        + geom_point(size=1.6, position=apart)
        + facet_wrap("panel", nrow=1)
        + scale_color_manual(colours)
        + scale_x_continuous(breaks=sorted(rows["top_k"].unique()))
        + scale_y_continuous(limits=(0, 100))
        + labs(x="k, snippets per vignette", y="in common, %", color="")
        + plot_theme()
        + theme(panel_grid_major_y=element_line(color=RULE, size=0.4))
    )
    # A line needs two values of k.
    return plot + geom_line(size=0.5, position=apart) if rows["top_k"].nunique() > 1 else plot
