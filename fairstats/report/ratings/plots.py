"""Draw ratings: rates by dimension and group of raters, and agreement on single items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.rubrics import Rubric
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, INK, NEUTRAL_DARK, NEUTRAL_LIGHT
from fairstats.report.plot_style import plot_theme
from fairstats.report.ratings.tables import axis_label, group_label, group_order, panel_label

if TYPE_CHECKING:
    from plotnine import ggplot

_COLOURS = (ACCENT_B, ACCENT_A, INK, NEUTRAL_DARK, DIM)


def rates_plot(rates: pd.DataFrame, rubric: Rubric) -> ggplot:
    """Draw one dot per dimension and group of raters, in panels by dataset and model.

    The thick line is the interval with all ratings treated as independent. The thin line treats
    only raters and items as independent.

    Parameters
    ----------
    rates : pandas.DataFrame
        `fairstats.bias_rates` of one rubric, aggregation ``pooled``, with ``least`` and ``most``,
        the ends of the scale, and ``titled``, which shows if panels need a name.
    rubric : Rubric
        Provides the labels and their order.
    """
    from plotnine import (
        aes,
        coord_flip,
        facet_wrap,
        geom_blank,
        geom_point,
        ggplot,
        guide_legend,
        guides,
        labs,
        position_dodge,
        scale_color_manual,
    )

    from fairstats.report.ratings.interval_lines import geom_intervals

    # plotnine draws from the bottom. Reverse, so the first group is on top, as in the legend.
    groups = [group_label(g, rubric) for g in group_order(rates["rater_group"], rubric)][::-1]
    # A group has one colour in all plots of a rubric.
    own = [group_label(g, rubric) for g in (*rubric.rater_groups, POOLED)]
    places = {name: own.index(name) if name in own else len(own) for name in groups}
    dimensions = [axis_label(name, rubric) for name in rubric.dimensions][::-1]
    scaled = {
        c: 100 * rates[c]
        for c in ("estimate", "ci_low", "ci_high", "crossed_low", "crossed_high", "least", "most")
    }
    panels = [panel_label(row, rates) for row in rates.to_dict("records")]
    rows = rates.assign(
        **scaled,
        label=pd.Categorical([axis_label(name, rubric) for name in rates["dimension"]], dimensions),
        group=pd.Categorical([group_label(name, rubric) for name in rates["rater_group"]], groups),
        panel=pd.Categorical(panels, list(dict.fromkeys(panels))),
    )
    apart = position_dodge(width=0.6)
    colours = {name: _COLOURS[place % len(_COLOURS)] for name, place in places.items()}
    plot = (
        ggplot(rows, aes("label", "estimate", color="group"))
        + geom_intervals(
            aes(ymin="crossed_low", ymax="crossed_high"), size=0.4, position=apart, na_rm=True
        )
        + geom_intervals(aes(ymin="ci_low", ymax="ci_high"), size=1.3, position=apart)
        + geom_point(size=2.2, position=apart, na_rm=True)
        + geom_blank(aes(y="least"))
        + geom_blank(aes(y="most"))
        + scale_color_manual(colours)
        + coord_flip()
        + labs(x="", y="reported, % of ratings", color="")
        + plot_theme()
    )
    legend = guide_legend(title="", reverse=True, nrow=(len(groups) + 1) // 2)
    plot = plot + guides(color=legend if len(groups) > 1 else False)
    return plot + facet_wrap("panel", ncol=1) if rates["titled"].any() else plot


def votes_plot(votes: pd.DataFrame, rubric: Rubric) -> ggplot:
    """Draw how many of a task's raters report each dimension: one stacked bar per dimension.

    Parameters
    ----------
    votes : pandas.DataFrame
        The table ``rating_votes`` of one rubric, for tasks with equally many ratings. It also has
        ``panel``, the panel's name, and ``share``, in percent.
    rubric : Rubric
        Provides the labels and their order.
    """
    from plotnine import (
        aes,
        coord_flip,
        facet_wrap,
        geom_col,
        ggplot,
        guide_legend,
        guides,
        labs,
        position_stack,
        scale_fill_manual,
    )

    most = int(votes["n_ratings"].max())
    names = [f"{count} of {most}" for count in range(most + 1)]
    rows = votes.assign(
        label=pd.Categorical(
            [axis_label(name, rubric) for name in votes["dimension"]],
            [axis_label(name, rubric) for name in rubric.dimensions][::-1],
        ),
        reports=pd.Categorical(
            [f"{count} of {most}" for count in votes["n_reported"]], names, ordered=True
        ),
        panel=pd.Categorical(votes["panel"], list(dict.fromkeys(votes["panel"]))),
    )
    # The more raters report it, the stronger the colour; 0 is grey. The last digits are opacity.
    fills = {
        name: f"{ACCENT_A}{round(255 * max(0.25, count / most)):02x}" if count else NEUTRAL_LIGHT
        for count, name in enumerate(names)
    }
    return (
        ggplot(rows, aes("label", "share", fill="reports"))
        + geom_col(width=0.62, position=position_stack(reverse=True))
        + scale_fill_manual(fills, drop=False)
        + guides(fill=guide_legend(title="", nrow=1))
        + facet_wrap("panel", ncol=1)
        + coord_flip()
        + labs(x="", y="%")
        + plot_theme()
    )
