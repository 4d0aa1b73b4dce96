"""Draw ratings: rates and preferences with intervals, and agreement on single items."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.rubrics import Rubric
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, INK, NEUTRAL_DARK, NEUTRAL_LIGHT
from fairstats.report.plot_style import in_order, plot_theme
from fairstats.report.ratings.tables import group_label, group_order, judged_by, panel_label

if TYPE_CHECKING:
    from plotnine import ggplot

_COLOURS = (ACCENT_B, ACCENT_A, INK, NEUTRAL_DARK, DIM)
_PREFERRED = {"preferred": "first model preferred", "preferred_2": "second model preferred"}
#: The columns of shares, which are drawn in percent; `least` and `most` are the ends of the scale.
_SHARES = ["estimate", "ci_low", "ci_high", "crossed_low", "crossed_high", "least", "most"]


def rates_plot(rates: pd.DataFrame, rubric: Rubric) -> ggplot:
    """Draw one dot per dimension and group of raters, in panels by dataset and model.

    Parameters
    ----------
    rates : pandas.DataFrame
        `fairstats.bias_rates` of one rubric, aggregation ``pooled``, with ``least`` and ``most``,
        the ends of the scale, and ``titled``, which shows if panels need a name.
    rubric : Rubric
        Provides the labels and their order.
    """
    # A group has one colour in all plots of a rubric.
    places = [*rubric.rater_groups, POOLED]
    colours = {
        group_label(group, rubric): _COLOURS[
            (places.index(group) if group in places else len(places)) % len(_COLOURS)
        ]
        # plotnine draws from the bottom. Reverse, so the first group is on top, as in the legend.
        for group in group_order(rates["rater_group"], rubric)[::-1]
    }
    rows = rates.assign(
        series=[group_label(group, rubric) for group in rates["rater_group"]],
        panel=[panel_label(row, rates) for row in rates.to_dict("records")],
    )
    return _intervals(rows, rubric, colours, "reported, % of ratings", reverse=True)


def preference_plot(preferences: pd.DataFrame, rubric: Rubric) -> ggplot:
    """Draw how often raters prefer each of two models: dots by dimension, panels by comparison.

    Parameters
    ----------
    preferences : pandas.DataFrame
        The table ``preferences`` of one benchmark and rubric, with columns as for `rates_plot`.
    rubric : Rubric
        As for `rates_plot`.
    """
    rows = preferences[preferences["metric"].isin(_PREFERRED) & preferences["estimate"].notna()]
    rows = rows.assign(
        series=rows["metric"].map(_PREFERRED),
        panel=[judged_by(row, preferences, rubric) for row in rows.to_dict("records")],
        titled=True,
    )
    colours = dict(zip(_PREFERRED.values(), (ACCENT_B, ACCENT_A), strict=True))
    return _intervals(rows, rubric, colours, "% of ratings", reverse=False)


def _intervals(
    rows: pd.DataFrame, rubric: Rubric, colours: Mapping[str, str], title: str, *, reverse: bool
) -> ggplot:
    """Draw shares with their intervals in percent, one colour per series.

    The thick line is the interval with all ratings treated as independent. The thin line treats
    only raters and items as independent.
    """
    import plotnine as p9

    from fairstats.report.ratings.interval_lines import geom_intervals

    rows = rows.assign(
        **100 * rows[_SHARES],
        label=_axis(rows, rubric),
        series=pd.Categorical(rows["series"], list(colours)),
        panel=in_order(rows["panel"]),
    )
    apart = p9.position_dodge(width=0.6)
    legend = p9.guide_legend(title="", reverse=reverse, nrow=(len(colours) + 1) // 2)
    plot = (
        p9.ggplot(rows, p9.aes("label", "estimate", color="series"))
        + geom_intervals(
            p9.aes(ymin="crossed_low", ymax="crossed_high"), size=0.4, position=apart, na_rm=True
        )
        + geom_intervals(p9.aes(ymin="ci_low", ymax="ci_high"), size=1.3, position=apart)
        + p9.geom_point(size=2.2, position=apart, na_rm=True)
        + p9.geom_blank(p9.aes(y="least"))
        + p9.geom_blank(p9.aes(y="most"))
        + p9.scale_color_manual(dict(colours))
        + p9.guides(color=legend if len(colours) > 1 else False)
        + p9.coord_flip()
        + p9.labs(x="", y=title, color="")
        + plot_theme()
    )
    return plot + p9.facet_wrap("panel", ncol=1) if rows["titled"].any() else plot


def _axis(rows: pd.DataFrame, rubric: Rubric) -> pd.Categorical:
    """Return the label of each row's dimension in lines, in the order of the rubric."""
    labels = {q.dimension: textwrap.fill(q.label, 28) for q in rubric.questions}
    return pd.Categorical(rows["dimension"].map(labels), list(labels.values())[::-1])


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
    import plotnine as p9

    most = int(votes["n_ratings"].max())
    names = [f"{count} of {most}" for count in range(most + 1)]
    # The more raters report it, the stronger the colour; 0 is grey. The last digits are opacity.
    fills = [NEUTRAL_LIGHT] + [
        f"{ACCENT_A}{round(255 * max(0.25, count / most)):02x}" for count in range(1, most + 1)
    ]
    rows = votes.assign(
        label=_axis(votes, rubric),
        reports=pd.Categorical.from_codes(votes["n_reported"], names, ordered=True),
        panel=in_order(votes["panel"]),
    )
    return (
        p9.ggplot(rows, p9.aes("label", "share", fill="reports"))
        + p9.geom_col(width=0.62, position=p9.position_stack(reverse=True))
        + p9.scale_fill_manual(dict(zip(names, fills, strict=True)), drop=False)
        + p9.guides(fill=p9.guide_legend(title="", nrow=1))
        + p9.facet_wrap("panel", ncol=1)
        + p9.coord_flip()
        + p9.labs(x="", y="%")
        + plot_theme()
    )
