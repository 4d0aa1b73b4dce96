"""Plots of a release: functions from an estimates frame to a plotnine plot, or to an SVG."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import point_range, points
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.terms import BASELINE, PLAIN
from fairstats.counts.outcomes import PAIR_COLUMNS
from fairstats.report.page_output import (
    ACCENT_A,
    ACCENT_B,
    BAND,
    DIM,
    INK,
    NEUTRAL_DARK,
    NEUTRAL_LIGHT,
    RULE,
)

if TYPE_CHECKING:
    from plotnine import ggplot, theme

#: Paired outcomes in the order they are stacked, their names and colours.
OUTCOMES = {
    "both_correct": ("both right", NEUTRAL_LIGHT),
    "only_a_correct": ("only privileged right", ACCENT_A),
    "only_b_correct": ("only unprivileged right", ACCENT_B),
    "neither_correct": ("both wrong", NEUTRAL_DARK),
}


# What plots of a model's estimates draw. Adjusted p-values depend on the other models: were they
# handed over, every plot would be drawn again when one model changes.
#: Inches: narrow enough that a phone shows the words of a plot at a size to read.
PLOT_WIDTH = 5.2
DRAWN = [*PAIR_COLUMNS, "metric", "estimate", "ci_low", "ci_high"]


def forest(estimates: pd.DataFrame, benchmark: Benchmark) -> ggplot:
    """A forest plot of the signed accuracy differences, a row for each pair and answer set.

    Parameters
    ----------
    estimates : pandas.DataFrame
        Estimates of one benchmark; its ``accuracy_difference`` rows are drawn, one facet a
        benchmark version and strategy.
    benchmark : Benchmark
        Gives the labels of the pairs and the margin that is shaded.
    """
    from plotnine import (
        aes,
        annotate,
        coord_flip,
        facet_wrap,
        geom_hline,
        geom_linerange,
        geom_point,
        ggplot,
        labs,
        scale_color_manual,
    )

    rows = estimates[estimates["metric"] == "accuracy_difference"].copy()
    labels = pair_labels(rows, benchmark)
    order = list(dict.fromkeys(labels))[::-1]
    rows["pair"] = pd.Categorical(labels, categories=order, ordered=True)
    rows["set"] = answer_sets(rows)
    rows["kind"] = (rows["attribute"] == BASELINE).map({True: "baseline", False: "groups"})
    for column in ("estimate", "ci_low", "ci_high"):
        rows[column] = 100 * rows[column]
    margin = 100 * benchmark.equivalence_margin
    return (
        ggplot(rows, aes(x="pair", y="estimate", color="kind"))
        + annotate("rect", xmin=-math.inf, xmax=math.inf, ymin=-margin, ymax=margin, fill=BAND)
        + geom_hline(yintercept=0, color=DIM, size=0.4)
        + geom_linerange(aes(ymin="ci_low", ymax="ci_high"), size=0.9)
        + geom_point(size=2.4, na_rm=True)
        + facet_wrap("set", ncol=1)
        + scale_color_manual({"groups": ACCENT_A, "baseline": DIM}, guide=None)
        + coord_flip()
        + labs(x="", y="accuracy difference, percentage points")
        + plot_theme()
    )


def outcome_bars(estimates: pd.DataFrame, benchmark: Benchmark) -> ggplot:
    """Stacked bars of the four paired outcomes, a bar for each pair and answer set."""
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
        scale_y_continuous,
    )

    rows = estimates[estimates["metric"].isin(list(OUTCOMES))].copy()
    labels = pair_labels(rows, benchmark)
    order = list(dict.fromkeys(labels))[::-1]
    rows["pair"] = pd.Categorical(labels, categories=order, ordered=True)
    rows["set"] = answer_sets(rows)
    names = [name for name, _ in OUTCOMES.values()]
    rows["outcome"] = pd.Categorical(
        rows["metric"].map({metric: name for metric, (name, _) in OUTCOMES.items()}),
        categories=names,
        ordered=True,
    )
    rows["estimate"] = 100 * rows["estimate"]
    return (
        ggplot(rows, aes(x="pair", y="estimate", fill="outcome"))
        + geom_col(position=position_stack(reverse=True), width=0.62, na_rm=True)
        + coord_flip()
        + facet_wrap("set", ncol=1)
        + scale_fill_manual(dict(OUTCOMES.values()), breaks=names)
        + scale_y_continuous(expand=(0, 0, 0.02, 0))
        + guides(fill=guide_legend(nrow=2))
        + labs(x="", y="share of counterfactual pairs, %", fill="")
        + plot_theme()
    )


def pair_labels(rows: pd.DataFrame, benchmark: Benchmark) -> list[str]:
    """The pair of each row as readers see it."""
    return [
        benchmark.attribute(attribute).pair_label((a, b))
        for attribute, a, b in zip(rows["attribute"], rows["group_a"], rows["group_b"], strict=True)
    ]


def answer_sets(rows: pd.DataFrame) -> pd.Categorical:
    """The answer set of each row, benchmark version and strategy; plain answers come first."""
    keys = list(zip(rows["benchmark_version"], rows["strategy"], strict=True))
    order = sorted(set(keys), key=lambda key: (key[0], key[1] != PLAIN, key[1]))
    return pd.Categorical(
        [", ".join(key) for key in keys], categories=[", ".join(key) for key in order]
    )


def whisker(
    estimate: float, low: float, high: float, *, margin: float, reach: tuple[float, float]
) -> str:
    """A dot and whisker for a table cell, as SVG.

    Parameters
    ----------
    estimate, low, high : float
        A signed difference and its limits, as proportions. A NaN estimate draws the range alone.
    margin : float
        The equivalence margin, shaded.
    reach : (float, float)
        The values at the left and right edge, the same for all cells of a table.
    """
    width, height, middle = 180.0, 22.0, 11.0
    left, right = reach

    def x(value: float) -> float:
        inside = min(max(value, left), right)
        return 6 + (inside - left) / (right - left) * (width - 12)

    if math.isnan(low) or math.isnan(high):
        return ""
    label = f"interval {point_range(low, high)} points"
    if not math.isnan(estimate):
        label = f"difference {points(estimate)} points, {label}"
    band = (
        f'<rect x="{x(-margin):.1f}" y="2" width="{x(margin) - x(-margin):.1f}" height="18" '
        f'fill="{BAND}"/>'
    )
    zero = f'<line x1="{x(0):.1f}" x2="{x(0):.1f}" y1="0" y2="22" stroke="{DIM}"/>'
    line = (
        f'<line x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{middle}" y2="{middle}" '
        f'stroke="{ACCENT_A}" stroke-width="2.4" stroke-linecap="round"/>'
    )
    dot = (
        ""
        if math.isnan(estimate)
        else f'<circle cx="{x(estimate):.1f}" cy="{middle}" r="4.2" fill="{ACCENT_A}"/>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="whisker" viewBox="0 0 {width:.0f} '
        f'{height:.0f}" preserveAspectRatio="xMinYMid" role="img" aria-label="{label}">'
        f"{band}{zero}{line}{dot}</svg>"
    )


def axis(*, margin: float, reach: tuple[float, float]) -> str:
    """The scale of a column of whiskers, for its heading: 0, and round numbers of points.

    Parameters
    ----------
    margin, reach
        As for `whisker`.
    """
    width = 180.0
    left, right = (100 * value for value in reach)
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100) if (right - left) / s <= 5)
    ticks = range(math.ceil(left / step) * step, math.floor(right / step) * step + 1, step)

    def x(value: float) -> float:
        return 6 + (value - left) / (right - left) * (width - 12)

    lines = "".join(
        f'<line x1="{x(t):.1f}" x2="{x(t):.1f}" y1="15" y2="20" stroke="{DIM}"/>' for t in ticks
    )
    labels = "".join(
        f'<text x="{x(t):.1f}" y="12" font-size="12" text-anchor="middle" fill="{DIM}">'
        f"{points(t / 100).removesuffix('.0')}</text>"
        for t in ticks
    )
    start, end = x(-100 * margin), x(100 * margin)
    band = f'<rect x="{start:.1f}" y="15" width="{end - start:.1f}" height="7" fill="{BAND}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="whisker" viewBox="0 0 {width:.0f} 22" '
        f'preserveAspectRatio="xMinYMid" aria-hidden="true">{band}{lines}{labels}</svg>'
    )


def reach_of(low: pd.Series, high: pd.Series, margin: float) -> tuple[float, float]:
    """One scale for all whiskers of a table: every limit, 0 and the margin are inside."""
    lowest = min(float(low.min(skipna=True)), -margin)
    highest = max(float(high.max(skipna=True)), margin)
    return (lowest, highest) if highest > lowest else (-1.0, 1.0)


def plot_theme() -> theme:
    """The look of every plot: the pages' ink, no boxes, few lines."""
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
