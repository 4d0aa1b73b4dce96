"""Plots of estimates, outcome counts and comparisons, for notebooks and papers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.declaration import BASELINE
from fairstats.comparisons.change_verdicts import BETTER, COMPARED_PAIR
from fairstats.counts.patterns import PAIR_COLUMNS, PATTERNS
from fairstats.inference._checks import check_choice, check_margin, check_number
from fairstats.metrics.registry import METRICS
from fairstats.report.audit import charts as audit_charts
from fairstats.report.changes.rows import FIGURES
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM
from fairstats.report.plot_style import (
    VERDICT_COLOURS,
    Benchmarks,
    board_labels,
    declared,
    difference_layers,
    in_lines,
    in_order,
    pair_labels,
    plain,
    public_theme,
    require_columns,
    require_rows,
    set_labels,
    signed,
)

if TYPE_CHECKING:
    from plotnine import ggplot

_LIMITS = ["estimate", "ci_low", "ci_high"]
#: What a pair's answers can be, from left to right, with the patterns and the colour.
OUTCOMES = {
    "both correct": (("n11",), audit_charts.OUTCOMES["both_correct"]),
    "only first correct": (("n10",), audit_charts.OUTCOMES["only_a_correct"]),
    "only second correct": (("n01",), audit_charts.OUTCOMES["only_b_correct"]),
    "both wrong": (("n00_same", "n00_different"), audit_charts.OUTCOMES["neither_correct"]),
    "answer missing": (("n1x", "n0x", "nx1", "nx0", "nxx"), "#f0ede6"),
}


def plot_forest(
    estimates: pd.DataFrame,
    *,
    metric: str = "accuracy_difference",
    margin: float | None = None,
    benchmarks: Benchmarks = (),
) -> ggplot:
    """Draw a metric of all models with intervals: a row per answer set, a panel per pair.

    Parameters
    ----------
    estimates : pandas.DataFrame
        The table of `analyze`. Baseline rows are left out; select rows to draw fewer models.
    metric : str
        A metric of pairs with an interval, e.g. ``"accuracy_difference"``, ``"cfr"`` or ``"ad"``.
    margin : float, optional
        The equivalence margin that is shaded, a share in (0, 1), for differences; by default the
        one of the verdicts in the table, or the one that the benchmark declares.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, for labels and margin.

    Returns
    -------
    plotnine.ggplot
        Values in percentage points, or percent. Accuracy differences have the colours of the
        verdicts. Policies that give ranges have no dot.

    Raises
    ------
    ValueError
        If no pair has an interval of this metric, or a column is missing; for a margin outside
        (0, 1), or other than that of the verdicts that are drawn.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain",
    ...            attribute="race", group_a="white", group_b="black", metric="cfr",
    ...            estimate=0.9, ci_low=0.8, ci_high=0.95, verdict=None)
    >>> plot_forest(pd.DataFrame([row]), metric="cfr").labels.x
    'CFR, counterfactual fairness rate, %'
    """
    from plotnine import aes, facet_grid, ggplot, labs, scale_color_manual, scale_x_continuous

    needed = [*PAIR_COLUMNS, "metric", *_LIMITS, "verdict"]
    require_columns(estimates, needed, name="estimates", source="analyze")
    drawn = estimates[
        estimates["group_a"].notna()
        & estimates["attribute"].ne(BASELINE)
        & estimates["ci_low"].notna()
    ]
    require_rows(drawn, name="estimates", what="intervals of pairs of groups")
    metric = check_choice("metric", metric, drawn["metric"].unique())
    if margin is not None:
        margin = float(check_margin(check_number("margin", margin)))
    drawn = drawn[drawn["metric"] == metric].copy()
    known = declared(drawn["benchmark"], benchmarks)
    directed = metric == "accuracy_difference"
    drawn[_LIMITS] = 100 * drawn[_LIMITS]
    drawn["row"] = in_order(set_labels(drawn), reverse=True)
    drawn["pair"] = in_order(map(in_lines, pair_labels(drawn, known)))
    drawn["board"] = in_order(board_labels(drawn, known))
    drawn["result"] = drawn["verdict"].fillna("no verdict") if directed else "no verdict"
    judged = set(estimates["margin"].dropna()) if "margin" in estimates else set()
    declared_ = {known[name].equivalence_margin for name in drawn["benchmark"] if name in known}
    margins = judged or declared_
    if margin is None and len(margins) == 1:
        (margin,) = margins
    if directed and judged and margin not in {None, *judged}:
        used = ", ".join(f"{one:g}" for one in sorted(judged))
        raise ValueError(
            f"margin={margin:g} is not that of the verdicts in the table ({used}): give it to "
            "fairstats.analyze"
        )
    band = 100 * margin if margin is not None and metric in ("accuracy_difference", "ad") else None
    gaps = metric in ("accuracy_difference", "ad")
    unit = "percentage points" if gaps else "%"
    label = METRICS[metric].label if metric in METRICS else metric
    plot = (
        ggplot(drawn, aes("estimate", "row", color="result"))
        + difference_layers(
            band,
            along="x",
            colour=None if directed else ACCENT_B,
            lowest=-1 if directed else 0,
            zero=gaps,
        )
        + facet_grid("board ~ pair", scales="free_y", space="free_y")
        + scale_x_continuous(breaks=_few, labels=_signs if directed else True)
        + scale_color_manual(
            {
                name: VERDICT_COLOURS[name]
                for name in VERDICT_COLOURS
                if name in set(drawn["result"])
            },
            guide="legend" if directed else None,
        )
        + labs(x=f"{label}, {unit}", y="", color="")
    )
    rows = len(drawn[["board", "row"]].drop_duplicates())
    boards = drawn["board"].nunique()
    width = 2.4 + 1.9 * drawn["pair"].nunique() + 1.4 * (boards > 1)
    return plot + public_theme(max(width, 5), 1.5 + 0.24 * rows)


def _signs(values: Sequence[float] | Sequence[str]) -> list[str]:
    return [signed(float(value)) for value in values]


def plot_outcomes(counts: pd.DataFrame, *, benchmarks: Benchmarks = ()) -> ggplot:
    """Draw which answers of the pairs are correct: a bar per answer set, a panel per pair.

    Parameters
    ----------
    counts : pandas.DataFrame
        The table of `count_outcomes`. Baseline rows are left out.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, for labels.

    Returns
    -------
    plotnine.ggplot
        Shares of all pairs in percent: both answers correct, only that of the first or second
        group, both wrong, or an answer missing. The share of pairs that differ in correctness is
        the coloured part.

    Raises
    ------
    ValueError
        If the table has no pairs, or lacks a column.

    Examples
    --------
    >>> patterns = dict.fromkeys(PATTERNS, 0) | dict(n11=8, n10=2)
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain",
    ...            attribute="race", group_a="white", group_b="black")
    >>> plot_outcomes(pd.DataFrame([row | patterns])).data["share"].tolist()
    [80.0, 20.0, 0.0, 0.0, 0.0]
    """
    from plotnine import (
        aes,
        coord_flip,
        facet_grid,
        geom_col,
        ggplot,
        guide_legend,
        guides,
        labs,
        position_stack,
        scale_fill_manual,
        scale_y_continuous,
    )

    require_columns(counts, [*PAIR_COLUMNS, *PATTERNS], name="counts", source="count_outcomes")
    total = counts[list(PATTERNS)].sum(axis=1)
    rows = counts[counts["attribute"].ne(BASELINE) & total.gt(0)]
    require_rows(rows, name="counts", what="pairs of groups")
    known = declared(rows["benchmark"], benchmarks)
    labelled = rows[list(PAIR_COLUMNS)].assign(
        row=in_order(set_labels(rows), reverse=True),
        pair=in_order(map(in_lines, pair_labels(rows, known))),
        board=in_order(board_labels(rows, known)),
    )
    drawn = pd.concat(
        [
            labelled.assign(
                outcome=name, share=100 * rows[list(patterns)].sum(axis=1) / total[rows.index]
            )
            for name, (patterns, _) in OUTCOMES.items()
        ],
        ignore_index=True,
    )
    drawn["outcome"] = pd.Categorical(drawn["outcome"], list(OUTCOMES))
    plot = (
        ggplot(drawn, aes("row", "share", fill="outcome"))
        + geom_col(width=0.72, position=position_stack(reverse=True))
        + coord_flip()
        + scale_y_continuous(breaks=[0, 50, 100])
        + facet_grid("board ~ pair", scales="free_y", space="free_y")
        + scale_fill_manual({name: colour for name, (_, colour) in OUTCOMES.items()})
        + guides(fill=guide_legend(nrow=2))
        + labs(x="", y="share of pairs, %", fill="")
    )
    bars = len(labelled[["board", "row"]].drop_duplicates())
    width = 2.4 + 1.7 * labelled["pair"].nunique() + 1.4 * (labelled["board"].nunique() > 1)
    return plot + public_theme(max(width, 5.2), 1.6 + 0.26 * bars)


def _few(limits: tuple[float, float], n: int = 3) -> list[float]:
    from mizani.breaks import breaks_extended

    return [float(value) for value in breaks_extended(n=n)(limits)]


def plot_versions(comparisons: pd.DataFrame, *, benchmarks: Benchmarks = ()) -> ggplot:
    """Draw accuracy, CFR and AD of an older and a newer model, a row per pair of groups.

    Parameters
    ----------
    comparisons : pandas.DataFrame
        The table of `compare`, or several joined with `pandas.concat`. Baseline rows are left out.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, for labels.

    Returns
    -------
    plotnine.ggplot
        Open circles for the older model, filled ones for the newer, in percent (AD: percentage
        points). The line is blue if the interval of the change is on the good side of 0, red if it
        is on the bad side, and grey if it includes 0.

    Raises
    ------
    ValueError
        If the table has no figure for both models, or lacks a column.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", model_old="a", model_new="b",
    ...            strategy="plain", attribute="race", group_a="white", group_b="black",
    ...            metric="delta_cfr", old=0.8, new=0.9, estimate=0.1, ci_low=0.02, ci_high=0.18)
    >>> plot_versions(pd.DataFrame([row])).data["change"].tolist()
    ['better']
    """
    from plotnine import (
        aes,
        facet_grid,
        geom_point,
        geom_segment,
        ggplot,
        labs,
        scale_color_manual,
        scale_x_continuous,
    )

    needed = [*COMPARED_PAIR, "metric", "old", "new", "ci_low", "ci_high"]
    require_columns(comparisons, needed, name="comparisons", source="compare")
    own = comparisons["metric"].isin(FIGURES) & comparisons["attribute"].ne(BASELINE)
    drawn = comparisons[own].dropna(subset=["old", "new"]).copy()
    require_rows(drawn, name="comparisons", what="figure that both models have")
    known = declared(drawn["benchmark"], benchmarks)
    drawn["row"] = in_order(pair_labels(drawn, known), reverse=True)
    titles = {
        name: f"{label}, {'points' if name == 'delta_ad' else '%'}"
        for name, (label, _) in FIGURES.items()
    }
    drawn["figure"] = pd.Categorical(drawn["metric"].map(titles), list(titles.values()))
    strategies = drawn["strategy"].nunique() > 1
    drawn["models"] = in_order(
        plain(f"{old} → {new}" + (f"\n{strategy_label(strategy)}" if strategies else ""))
        for old, new, strategy in zip(
            drawn["model_old"], drawn["model_new"], drawn["strategy"], strict=True
        )
    )
    drawn[["old", "new"]] *= 100
    good = drawn["metric"].map(BETTER)
    side = (drawn["ci_low"] > 0).astype(int) - (drawn["ci_high"] < 0).astype(int)
    names = {1: "better", -1: "worse", 0: "no clear change"}
    drawn["change"] = (good * side).map(names)
    colours = {"better": ACCENT_B, "worse": ACCENT_A, "no clear change": DIM}
    plot = (
        ggplot(drawn, aes("new", "row", color="change"))
        + geom_segment(aes(x="old", xend="new", yend="row"), size=0.8)
        + geom_point(aes(x="old"), fill="white", color=DIM, size=2.2)
        + geom_point(size=2.2)
        + facet_grid("models ~ figure", scales="free", space="free_y")
        + scale_color_manual({n: colours[n] for n in colours if n in set(drawn["change"])})
        + scale_x_continuous(breaks=partial(_few, n=4), expand=(0.08, 0))
        + labs(x="open: older, filled: newer", y="", color="")
    )
    rows = len(drawn[["models", "row"]].drop_duplicates())
    return plot + public_theme(8.4, 1.4 + 0.3 * rows)
