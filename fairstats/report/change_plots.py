"""Plots of what changed between two versions of a model, or two strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats.release.contents import Release
from fairstats.report.change_tables import METRICS, PAIR
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, INK
from fairstats.report.plots import plot_theme

if TYPE_CHECKING:
    from plotnine import ggplot

_ACCURACY, _AD = "delta_accuracy", "delta_ad"
# Of the height of a panel: what a label needs to stand clear of the next.
_LABEL_HEIGHT = 0.06


def change_arrows(rows: pd.DataFrame, release: Release) -> ggplot:
    """Accuracy against AD, an arrow from the old to the new model, a panel a pair of groups.

    Parameters
    ----------
    rows : pandas.DataFrame
        Comparisons of versions, from `fairstats.comparisons.declared.comparisons_of`, of which both
        figures are known.
    release : Release
        Names the benchmarks' attributes.

    Notes
    -----
    Down and to the right is better. What is not like for like is dashed.
    """
    from plotnine import (
        aes,
        arrow,
        facet_wrap,
        geom_point,
        geom_segment,
        geom_text,
        ggplot,
        labs,
        scale_linetype_manual,
        scale_x_continuous,
        scale_y_continuous,
    )

    keys = ["benchmark", "benchmark_version", "model_old", "model_new", "strategy", *PAIR]
    chosen = rows[rows["metric"].isin([_ACCURACY, _AD])]
    wide = chosen.pivot_table(index=keys, columns="metric", values=["old", "new"], sort=False) * 100
    wide = wide.set_axis([f"{side}_{metric}" for side, metric in wide.columns], axis=1)
    wide = wide.dropna().reset_index()
    wide["panel"] = _in_order(_pairs(wide, release))
    unlike = wide["benchmark_version"].str.contains(" → ")
    wide["like"] = unlike.map({True: "not like for like", False: "like for like"})
    highest = max(float(wide[[f"old_{_AD}", f"new_{_AD}"]].max(axis=None)), 2.0) * 1.08
    lowest_x = float(wide[[f"old_{_ACCURACY}", f"new_{_ACCURACY}"]].min(axis=None))
    highest_x = float(wide[[f"old_{_ACCURACY}", f"new_{_ACCURACY}"]].max(axis=None))
    width = max(highest_x - lowest_x, 2.0)
    for _, own in wide.groupby("panel", observed=True):
        wide.loc[own.index, "label_y"] = _apart(own[f"new_{_AD}"], _LABEL_HEIGHT * highest)
    wide["label_x"] = wide[f"new_{_ACCURACY}"] + 0.03 * width
    start, end = (f"old_{_ACCURACY}", f"old_{_AD}"), (f"new_{_ACCURACY}", f"new_{_AD}")
    return (
        ggplot(wide)
        + geom_point(aes(*start), color=DIM, size=1.6)
        + geom_segment(
            aes(*start, xend=end[0], yend=end[1], linetype="like"),
            color=ACCENT_B,
            size=0.7,
            arrow=arrow(length=0.07, type="closed"),
        )
        + geom_text(aes("label_x", "label_y", label="model_new"), color=INK, size=7.5, ha="left")
        + facet_wrap("panel", nrow=1)
        + scale_linetype_manual(
            {"like for like": "solid", "not like for like": "dashed"}, guide=None
        )
        # Room on the right for the names.
        + scale_x_continuous(limits=(lowest_x - 0.05 * width, highest_x + 0.75 * width))
        + scale_y_continuous(limits=(0, highest))
        + labs(x="accuracy, %: right is better", y="AD, points: lower is better")
        + plot_theme()
    )


def change_forest(rows: pd.DataFrame, release: Release) -> ggplot:
    """What changed, with intervals: a column a figure, a row a pair, a panel a comparison.

    Parameters
    ----------
    rows : pandas.DataFrame
        Comparisons, from `fairstats.comparisons.declared.comparisons_of`.
    release : Release
        Names the benchmarks' attributes.
    """
    from plotnine import (
        aes,
        facet_grid,
        geom_hline,
        geom_linerange,
        geom_point,
        ggplot,
        labs,
        scale_color_manual,
        scale_shape_manual,
    )
    from plotnine import coord_flip as flipped

    drawn = rows[rows["metric"].isin(list(METRICS))].copy()
    for column in ("estimate", "ci_low", "ci_high"):
        drawn[column] = 100 * drawn[column]
    drawn["figure"] = _in_order([METRICS[metric][0] for metric in drawn["metric"]])
    pairs = _pairs(drawn, release)
    drawn["pair"] = pd.Categorical(pairs, categories=list(dict.fromkeys(pairs))[::-1], ordered=True)
    drawn["comparison"] = _in_order(
        [
            f"{old}\n{strategy}" if old == new else f"{old}\n→ {new}"
            for old, new, strategy in zip(
                drawn["model_old"], drawn["model_new"], drawn["strategy"], strict=True
            )
        ]
    )
    signs = drawn["metric"].map({metric: sign for metric, (_, sign) in METRICS.items()})
    tested = drawn["p_adjusted"] <= release.alpha
    drawn["shown"] = "no change shown"
    drawn.loc[tested & (signs * drawn["estimate"] > 0), "shown"] = "better"
    drawn.loc[tested & (signs * drawn["estimate"] < 0), "shown"] = "worse"
    return (
        ggplot(drawn, aes("pair", "estimate", color="shown", shape="shown"))
        + geom_hline(yintercept=0, color=DIM, size=0.4)
        + geom_linerange(aes(ymin="ci_low", ymax="ci_high"), size=0.8, show_legend=False)
        + geom_point(size=2.3, na_rm=True)
        + facet_grid("comparison ~ figure", scales="free_x")
        + scale_color_manual({"better": ACCENT_B, "worse": ACCENT_A, "no change shown": DIM})
        + scale_shape_manual({"better": "^", "worse": "v", "no change shown": "o"})
        + flipped()
        + labs(x="", y="new less old, points", color="", shape="")
        + plot_theme()
    )


def _pairs(rows: pd.DataFrame, release: Release) -> list[str]:
    return [
        release.benchmarks[name].attribute(attribute).pair_label((a, b))
        for name, attribute, a, b in zip(
            rows["benchmark"], rows["attribute"], rows["group_a"], rows["group_b"], strict=True
        )
    ]


def _in_order(labels: list[str]) -> pd.Categorical:
    """Labels in the order in which they come."""
    return pd.Categorical(labels, categories=list(dict.fromkeys(labels)), ordered=True)


def _apart(values: pd.Series, least: float) -> pd.Series:
    """Heights as near to the values as labels that must not overlap allow, from below."""
    placed = values.sort_values()
    for place in range(1, len(placed)):
        placed.iloc[place] = max(placed.iloc[place], placed.iloc[place - 1] + least)
    return placed
