"""Draw the power of a test by number of items."""

from __future__ import annotations

import pandas as pd

from fairstats.report.page_output import ACCENT_B, DIM, NEUTRAL_DARK, plot_svg
from fairstats.report.plot_style import PLOT_WIDTH, plot_theme


def power_svg(curve: pd.DataFrame, *, target: float, needed: int | None) -> str:
    """Return the SVG text of a power curve.

    Parameters
    ----------
    curve : pandas.DataFrame
        ``n_items`` and ``power``.
    target : float
        The power to reach, drawn as a horizontal line.
    needed : int or None
        The number of items that reaches it, drawn as a vertical line.
    """
    from plotnine import (
        aes,
        annotate,
        geom_hline,
        geom_line,
        geom_vline,
        ggplot,
        labs,
        scale_y_continuous,
    )

    plot = (
        ggplot(curve, aes("n_items", "power"))
        + geom_hline(yintercept=target, color=NEUTRAL_DARK, size=0.5, linetype="dashed")
        + geom_line(color=ACCENT_B, size=1)
        + scale_y_continuous(limits=(0, 1), labels=lambda ticks: [f"{t:.0%}" for t in ticks])
        + labs(x="items", y="power")
        + plot_theme()
    )
    if needed is not None:
        plot += geom_vline(xintercept=needed, color=NEUTRAL_DARK, size=0.5, linetype="dashed")
        plot += annotate(
            "text", x=needed, y=0.04, label=f" {needed} items", ha="left", color=DIM, size=8.5
        )
    return plot_svg(plot, width=PLOT_WIDTH, height=3.2, name="power")
