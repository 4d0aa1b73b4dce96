"""Set the look and the width of all plots of a release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd

from fairstats.report.page_output import (
    ACCENT_B,
    DIM,
    INK,
    NEUTRAL_DARK,
    RULE,
    plot_svg,
)

if TYPE_CHECKING:
    from plotnine import theme


#: Inches: narrow enough that a phone shows the words of a plot at a size to read.
PLOT_WIDTH = 5.2


def plot_theme() -> theme:
    """Return the theme of every plot: the pages' ink, no boxes, few lines."""
    import plotnine as p9

    return p9.theme(
        figure_size=(7, 3),
        text=p9.element_text(family="DejaVu Sans", color=INK, size=9),
        axis_text=p9.element_text(color=INK, size=8.5),
        axis_title=p9.element_text(color=DIM, size=8.5),
        axis_ticks=p9.element_blank(),
        panel_background=p9.element_blank(),
        plot_background=p9.element_rect(fill="none", color="none"),
        panel_grid_major_x=p9.element_line(color=RULE, size=0.4),
        panel_grid_major_y=p9.element_blank(),
        panel_grid_minor=p9.element_blank(),
        strip_background=p9.element_blank(),
        strip_text_y=p9.element_text(angle=0, color=DIM, size=8.5, ha="left"),
        strip_text_x=p9.element_text(color=DIM, size=8.5, ha="left"),
        legend_position="top",
        legend_direction="horizontal",
        legend_key_size=10,
        legend_background=p9.element_blank(),
        legend_text=p9.element_text(size=8.5),
        panel_spacing=0.02,
    )


def in_order(labels: Iterable[object], *, reverse: bool = False) -> pd.Categorical:
    """Return a categorical with its categories in order of appearance."""
    listed = list(labels)
    categories = list(dict.fromkeys(listed))
    return pd.Categorical(listed, categories[::-1] if reverse else categories, ordered=True)


def power_svg(curve: pd.DataFrame, *, target: float, needed: int | None) -> str:
    """Return the SVG text of a power curve.

    `target` is drawn as a horizontal line, and `needed`, the number of items that reaches it, as a
    vertical one.
    """
    import plotnine as p9

    plot = (
        p9.ggplot(curve, p9.aes("n_items", "power"))
        + p9.geom_hline(yintercept=target, color=NEUTRAL_DARK, size=0.5, linetype="dashed")
        + p9.geom_line(color=ACCENT_B, size=1)
        + p9.scale_y_continuous(limits=(0, 1), labels=lambda ticks: [f"{t:.0%}" for t in ticks])
        + p9.labs(x="items", y="power")
        + plot_theme()
    )
    if needed is not None:
        plot += p9.geom_vline(xintercept=needed, color=NEUTRAL_DARK, size=0.5, linetype="dashed")
        plot += p9.annotate(
            "text", x=needed, y=0.04, label=f" {needed} items", ha="left", color=DIM, size=8.5
        )
    return plot_svg(plot, width=PLOT_WIDTH, height=3.2, name="power")
