"""Draw findings on vignettes: one dot and interval per label, one colour per series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats.release.contents import Release
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, INK, NEUTRAL_DARK
from fairstats.report.plot_style import plot_theme

if TYPE_CHECKING:
    from plotnine import ggplot

_COLOURS = (ACCENT_B, ACCENT_A, INK, NEUTRAL_DARK, DIM)


def findings_plot(rows: pd.DataFrame, declared: Release) -> ggplot:
    """Draw one dot per label and series, in panels.

    Parameters
    ----------
    rows : pandas.DataFrame
        ``label``, ``series``, ``panel`` (in the order they are drawn, from the top and the left),
        ``estimate``, ``ci_low``, ``ci_high``, and ``axis``, the label of the axis.
    declared : Release
        Not used; the names are in the rows.
    """
    from plotnine import (
        aes,
        coord_flip,
        facet_wrap,
        geom_hline,
        geom_point,
        ggplot,
        guide_legend,
        guides,
        labs,
        position_dodge,
        scale_color_manual,
    )

    from fairstats.report.interval_lines import geom_intervals

    # plotnine draws from the bottom. Reverse, so the first of each is on top, as in the legend.
    series = list(dict.fromkeys(rows["series"]))[::-1]
    drawn = rows.assign(
        label=pd.Categorical(rows["label"], list(dict.fromkeys(rows["label"]))[::-1]),
        series=pd.Categorical(rows["series"], series),
        panel=pd.Categorical(rows["panel"], list(dict.fromkeys(rows["panel"]))),
    )
    colours = [_COLOURS[i % len(_COLOURS)] for i in range(len(series))][::-1]
    apart = position_dodge(width=0.6)
    plot = (
        ggplot(drawn, aes("label", "estimate", color="series"))
        + geom_hline(yintercept=0, color=NEUTRAL_DARK, size=0.5)
        + geom_intervals(aes(ymin="ci_low", ymax="ci_high"), size=0.8, position=apart)
        + geom_point(size=1.9, position=apart)
        + coord_flip()
        + scale_color_manual(colours)
        + guides(color=guide_legend(reverse=True))
        + labs(x="", y=str(rows["axis"].iloc[0]), color="")
        + plot_theme()
    )
    return plot + facet_wrap("panel", nrow=1) if drawn["panel"].nunique() > 1 else plot
