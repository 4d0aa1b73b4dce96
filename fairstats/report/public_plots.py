"""Plots of estimates, outcome counts and comparisons, for notebooks and papers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from fairstats.benchmarks.declaration import BASELINE
from fairstats.comparisons.change_verdicts import BETTER, COMPARED_PAIR
from fairstats.counts.patterns import PAIR_COLUMNS, PATTERNS
from fairstats.inference._checks import check_choice, check_margin, check_number
from fairstats.metrics.registry import METRICS
from fairstats.report.changes.rows import FIGURES
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, NEUTRAL_DARK, NEUTRAL_LIGHT
from fairstats.report.plot_style import (
    VERDICT_COLOURS,
    Benchmarks,
    declared,
    difference_layers,
    in_order,
    in_use,
    pair_labels,
    placed,
    public_theme,
    require_columns,
    require_rows,
    set_names,
    signed,
)

if TYPE_CHECKING:
    from plotnine import ggplot, theme

_LIMITS = ["estimate", "ci_low", "ci_high"]
#: What a pair's answers can be, from left to right, with the patterns and the colour.
OUTCOMES = {
    "both correct": (("n11",), NEUTRAL_LIGHT),
    "only first correct": (("n10",), ACCENT_B),
    "only second correct": (("n01",), ACCENT_A),
    "both wrong": (("n00_same", "n00_different"), NEUTRAL_DARK),
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
    import plotnine as p9

    needed = [*PAIR_COLUMNS, "metric", *_LIMITS, "verdict"]
    require_columns(estimates, needed, name="estimates", source="analyze")
    drawn = estimates.dropna(subset=["group_a", "ci_low"])
    drawn = drawn[drawn["attribute"] != BASELINE]
    require_rows(drawn, name="estimates", what="intervals of pairs of groups")
    metric = check_choice("metric", metric, drawn["metric"].unique())
    drawn = drawn[drawn["metric"] == metric].copy()
    known = declared(drawn["benchmark"], benchmarks)
    directed, gaps = metric == "accuracy_difference", metric in ("accuracy_difference", "ad")
    judged = set(estimates["margin"].dropna()) if "margin" in estimates else set()
    margins = judged or {known[n].equivalence_margin for n in drawn["benchmark"] if n in known}
    if margin is not None:
        margin = float(check_margin(check_number("margin", margin)))
    elif len(margins) == 1:
        (margin,) = margins
    if directed and judged and margin not in {None, *judged}:
        used = ", ".join(f"{one:g}" for one in sorted(judged))
        raise ValueError(
            f"margin={margin:g} is not that of the verdicts in the table ({used}): give it to "
            "fairstats.analyze"
        )
    drawn[_LIMITS] *= 100
    drawn = placed(drawn, known)
    drawn["result"] = drawn["verdict"].fillna("no verdict") if directed else "no verdict"
    plot = (
        p9.ggplot(drawn, p9.aes("estimate", "row", color="result"))
        + difference_layers(
            100 * margin if margin is not None and gaps else None,
            along="x",
            colour=None if directed else ACCENT_B,
            lowest=-1 if directed else 0,
            zero=gaps,
        )
        + p9.facet_grid("board ~ pair", scales="free_y", space="free_y")
        + p9.scale_x_continuous(breaks=_few, labels=_signs if directed else True)
        + p9.scale_color_manual(
            in_use(VERDICT_COLOURS, drawn["result"]), guide="legend" if directed else None
        )
        + p9.labs(
            x=f"{METRICS[metric].label if metric in METRICS else metric}, "
            f"{'percentage points' if gaps else '%'}",
            y="",
            color="",
        )
    )
    return plot + _size(drawn, wide=1.9, least=5, high=1.5, row=0.24)


def _size(drawn: pd.DataFrame, *, wide: float, least: float, high: float, row: float) -> theme:
    """Return the look of panels by pair (`wide` inches each) and rows by answer set."""
    rows = len(drawn[["board", "row"]].drop_duplicates())
    width = 2.4 + wide * drawn["pair"].nunique() + 1.4 * (drawn["board"].nunique() > 1)
    return public_theme(max(width, least), high + row * rows)


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
    import plotnine as p9

    require_columns(counts, [*PAIR_COLUMNS, *PATTERNS], name="counts", source="count_outcomes")
    total = counts[list(PATTERNS)].sum(axis=1)
    rows = counts[counts["attribute"].ne(BASELINE) & total.gt(0)]
    require_rows(rows, name="counts", what="pairs of groups")
    known = declared(rows["benchmark"], benchmarks)
    labelled = placed(rows[list(PAIR_COLUMNS)], known)
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
        p9.ggplot(drawn, p9.aes("row", "share", fill="outcome"))
        + p9.geom_col(width=0.72, position=p9.position_stack(reverse=True))
        + p9.coord_flip()
        + p9.scale_y_continuous(breaks=[0, 50, 100])
        + p9.facet_grid("board ~ pair", scales="free_y", space="free_y")
        + p9.scale_fill_manual({name: colour for name, (_, colour) in OUTCOMES.items()})
        + p9.guides(fill=p9.guide_legend(nrow=2))
        + p9.labs(x="", y="share of pairs, %", fill="")
    )
    return plot + _size(labelled, wide=1.7, least=5.2, high=1.6, row=0.26)


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
    import plotnine as p9

    needed = [*COMPARED_PAIR, "metric", "old", "new", "ci_low", "ci_high"]
    require_columns(comparisons, needed, name="comparisons", source="compare")
    own = comparisons["metric"].isin(FIGURES) & comparisons["attribute"].ne(BASELINE)
    drawn = comparisons[own].dropna(subset=["old", "new"])
    require_rows(drawn, name="comparisons", what="figure that both models have")
    titles = {
        name: f"{label}, {'points' if name == 'delta_ad' else '%'}"
        for name, (label, _) in FIGURES.items()
    }
    models = drawn["model_old"] + " → " + drawn["model_new"]
    side = (drawn["ci_low"] > 0).astype(int) - (drawn["ci_high"] < 0).astype(int)
    names = {1: "better", -1: "worse", 0: "no clear change"}
    known = declared(drawn["benchmark"], benchmarks)
    drawn = drawn.assign(
        **100 * drawn[["old", "new"]],
        row=in_order(pair_labels(drawn, known), reverse=True),
        figure=pd.Categorical(drawn["metric"].map(titles), list(titles.values())),
        models=in_order(set_names(models, drawn["strategy"], before="\n")),
        change=(drawn["metric"].map(BETTER) * side).map(names),
    )
    colours = {"better": ACCENT_B, "worse": ACCENT_A, "no clear change": DIM}
    plot = (
        p9.ggplot(drawn, p9.aes("new", "row", color="change"))
        + p9.geom_segment(p9.aes(x="old", xend="new", yend="row"), size=0.8)
        + p9.geom_point(p9.aes(x="old"), fill="white", color=DIM, size=2.2)
        + p9.geom_point(size=2.2)
        + p9.facet_grid("models ~ figure", scales="free", space="free_y")
        + p9.scale_color_manual(in_use(colours, drawn["change"]))
        + p9.scale_x_continuous(breaks=partial(_few, n=4), expand=(0.08, 0))
        + p9.labs(x="open: older, filled: newer", y="", color="")
    )
    rows = len(drawn[["models", "row"]].drop_duplicates())
    return plot + public_theme(8.4, 1.4 + 0.3 * rows)
