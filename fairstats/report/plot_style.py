"""Set the look and the width of all plots of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairstats.report.page_output import (
    DIM,
    INK,
    RULE,
)

if TYPE_CHECKING:
    from plotnine import theme

#: Inches: narrow enough that a phone shows the words of a plot at a size to read.
PLOT_WIDTH = 5.2


def plot_theme() -> theme:
    """Return the theme of every plot: the pages' ink, no boxes, few lines."""
    from plotnine import element_blank, element_line, element_rect, element_text, theme

    return theme(
        figure_size=(7, 3),
        text=element_text(family="DejaVu Sans", color=INK, size=9),
        axis_text=element_text(color=INK, size=8.5),
        axis_title=element_text(color=DIM, size=8.5),
        axis_ticks=element_blank(),
        panel_background=element_blank(),
        plot_background=element_rect(fill="none", color="none"),
        panel_grid_major_x=element_line(color=RULE, size=0.4),
        panel_grid_major_y=element_blank(),
        panel_grid_minor=element_blank(),
        strip_background=element_blank(),
        strip_text_y=element_text(angle=0, color=DIM, size=8.5, ha="left"),
        strip_text_x=element_text(color=DIM, size=8.5, ha="left"),
        legend_position="top",
        legend_direction="horizontal",
        legend_key_size=10,
        legend_background=element_blank(),
        legend_text=element_text(size=8.5),
        panel_spacing=0.02,
    )
