"""Plots of ranks and of the differences between every two models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairstats._lib.formatting import MINUS
from fairstats.answers.strategies import strategy_label
from fairstats.estimates.specifications import CHOICES, SPECIFICATION_COLUMNS
from fairstats.report.page_output import ACCENT_B, DIM, INK
from fairstats.report.plot_style import (
    VERDICT_COLOURS,
    Benchmarks,
    declared,
    in_order,
    in_use,
    pair_labels,
    plain,
    public_theme,
    require_columns,
    require_rows,
    signed,
)
from fairstats.report.sensitivity import CHOICE_LABELS

if TYPE_CHECKING:
    from plotnine import ggplot


_BOARD = ["benchmark", "benchmark_version", "strategy"]
_RANKS = ["rank", "rank_low", "rank_high"]
_LABELS = {"ad": "AD", "cfr": "CFR", "accuracy": "accuracy"}


def plot_ranks(ranks: pd.DataFrame, *, benchmarks: Benchmarks = ()) -> ggplot:
    """Draw the models in order of their rank, with the confidence sets of the ranks.

    Parameters
    ----------
    ranks : pandas.DataFrame
        The table of `rank_models`. Models without a rank are left out, and boards with only one.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, for labels.

    Returns
    -------
    plotnine.ggplot
        One panel per benchmark version and strategy. Lines that overlap are models whose order is
        not certain. Models that may be the best are blue.

    Raises
    ------
    ValueError
        If no two models have a rank, there is more than one metric, or a column is missing.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", strategy="plain", model="x",
    ...            metric="ad", rank=1, rank_low=1, rank_high=2, may_be_best=True, ci_level=0.95)
    >>> table = pd.DataFrame([row, row | dict(model="y", rank=2, may_be_best=False)])
    >>> plot_ranks(table).labels.x
    'rank by AD, 95% confidence set'
    """
    import plotnine as p9

    needed = [*_BOARD, "model", "metric", "may_be_best", "ci_level", *_RANKS]
    require_columns(ranks, needed, name="ranks", source="rank_models")
    drawn = ranks.dropna(subset=_RANKS)
    drawn = drawn[drawn.groupby(_BOARD)["model"].transform("size") > 1].copy()
    require_rows(drawn, name="ranks", what="board with two ranked models")
    metric = _only(drawn, "metric", "ranks")
    drawn["panel"] = _panels(drawn, benchmarks)
    drawn[_RANKS] = drawn[_RANKS].astype("float64")
    drawn = drawn.sort_values(["panel", "rank", "rank_high", "model"], kind="stable")
    # A model has another place in each panel, so its row is one panel's.
    drawn["row"] = in_order(
        (f"{panel}\t{model}" for panel, model in zip(drawn["panel"], drawn["model"], strict=True)),
        reverse=True,
    )
    drawn["best"] = np.where(drawn["may_be_best"].astype(bool), "may be the best", "not the best")
    level = f"{100 * float(drawn['ci_level'].iloc[0]):g}%"
    plot = (
        p9.ggplot(drawn, p9.aes("rank", "row", color="best"))
        + p9.geom_segment(p9.aes(x="rank_low", xend="rank_high", yend="row"), size=0.9)
        + p9.geom_point(size=2.4)
        + p9.scale_color_manual({"may be the best": ACCENT_B, "not the best": DIM})
        + p9.scale_x_continuous(breaks=_whole)
        + p9.scale_y_discrete(labels=lambda rows: [plain(str(row).split("\t")[-1]) for row in rows])
        + p9.labs(
            x=f"rank by {_LABELS.get(metric, metric)}, {level} confidence set", y="", color=""
        )
    )
    panels = drawn["panel"].nunique()
    rows = int(drawn.groupby("panel", observed=True).size().max())
    if panels > 1:
        plot += p9.facet_wrap("panel", scales="free", ncol=2)
    high = -(-panels // 2)
    size = public_theme(min(panels, 2) * 4.4, 0.9 + high * (0.5 + 0.24 * rows))
    return plot + size + p9.theme(axis_text_y=p9.element_text(color=INK, size=8.5))


def plot_pairwise(differences: pd.DataFrame, *, benchmarks: Benchmarks = ()) -> ggplot:
    """Draw the difference between every two models as a matrix.

    Parameters
    ----------
    differences : pandas.DataFrame
        The table of `rank_differences`.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, for labels.

    Returns
    -------
    plotnine.ggplot
        The row's figure minus the column's, in percentage points. Coloured cells are significant
        differences, adjusted over the board: blue if the row's model is better, red if it is worse.

    Raises
    ------
    ValueError
        If there is no pair of models, more than one metric, or a column is missing.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", strategy="plain", metric="ad",
    ...            model_a="a", model_b="b", difference=-0.05, differ=True)
    >>> plot_pairwise(pd.DataFrame([row])).data["result"].tolist()
    ['better', 'worse']
    """
    import plotnine as p9

    needed = [*_BOARD, "metric", "model_a", "model_b", "difference", "differ"]
    require_columns(differences, needed, name="differences", source="rank_differences")
    rows = differences.dropna(subset=["difference"])
    require_rows(rows, name="differences", what="two models to compare")
    metric = _only(rows, "metric", "differences")
    mirrored = rows.rename(columns={"model_a": "model_b", "model_b": "model_a"})
    drawn = pd.concat([rows, mirrored.assign(difference=-rows["difference"])], ignore_index=True)
    drawn["panel"] = _panels(drawn, benchmarks)
    # Models in order of their mean difference, the best first.
    sign = -1 if metric == "ad" else 1
    better = (sign * drawn["difference"]).groupby(drawn["model_a"]).mean()
    order = better.sort_values(ascending=False, kind="stable").index
    names = [plain(str(name)) for name in order]
    drawn["row"] = pd.Categorical(drawn["model_a"].map(plain), names[::-1])
    drawn["column"] = pd.Categorical(drawn["model_b"].map(plain), names)
    drawn["text"] = [f"{100 * v:+.1f}".replace("-", MINUS) for v in drawn["difference"]]
    drawn["result"] = np.where(sign * drawn["difference"] > 0, "better", "worse")
    drawn.loc[~drawn["differ"].astype(bool), "result"] = "not significant"
    fills = {"better": "#a9c9d6", "worse": "#e3b7a5", "not significant": "#f0ede6"}
    plot = (
        p9.ggplot(drawn, p9.aes("column", "row", fill="result"))
        + p9.geom_tile(color="white", size=0.6)
        + p9.geom_text(p9.aes(label="text"), size=7.5, color=INK)
        + p9.scale_fill_manual(in_use(fills, drawn["result"]))
        + p9.coord_equal()
        + p9.labs(
            x=f"{_LABELS.get(metric, metric)} of the row minus that of the column, points",
            y="",
            fill="the row's model is",
        )
    )
    panels = drawn["panel"].nunique()
    if panels > 1:
        plot += p9.facet_wrap("panel", ncol=2)
    side = 1.6 + 0.5 * len(order)
    size = public_theme(min(panels, 2) * side + 0.6, 0.8 + -(-panels // 2) * side)
    return (
        plot
        + size
        + p9.theme(
            axis_text_x=p9.element_text(rotation=40, ha="right", color=INK, size=8.5),
            panel_grid_major_x=p9.element_blank(),
            legend_key_size=11,
        )
    )


def _only(table: pd.DataFrame, column: str, name: str) -> str:
    values = table[column].unique()
    if len(values) > 1:
        raise ValueError(
            f"{name} has several values of {column} ({', '.join(map(str, values))}); select one"
        )
    return str(values[0])


def _panels(table: pd.DataFrame, benchmarks: Benchmarks) -> pd.Categorical:
    """Return the label of each row's board."""
    known = declared(table["benchmark"], benchmarks)
    labels = []
    for name, version, strategy in table[_BOARD].itertuples(index=False, name=None):
        titles = known[name].versions if name in known else {}
        labels.append(plain(f"{titles.get(version, version)}, {strategy_label(strategy)}"))
    return in_order(labels)


def _whole(limits: tuple[float, float]) -> list[int]:
    low, high = int(np.ceil(limits[0])), int(np.floor(limits[1]))
    return list(range(low, high + 1, max(1, (high - low) // 8 + ((high - low) > 8))))


_PAIR = ["benchmark", "benchmark_version", "model", "attribute", "group_a", "group_b"]
_TITLES = {
    "missing": "Missing answers",
    "interval": "Interval",
    "test": "Test",
    "adjust": "Adjustment",
    "margin": "Margin",
    "strategy": "Prompt",
}
_NAMES = CHOICE_LABELS | {
    "asymptotic_cc": "χ², corrected",
    "holm": "Holm",
    "hommel": "Hommel",
    "bh": "Benjamini–Hochberg",
    "by": "Benjamini–Yekutieli",
}
# Panels have separate scales; the choices of panel k are at 1000 k, 1000 k + 1, …, so that a
# function of a scale's limits knows their names.
_STEP = 1000


def plot_specification(specifications: pd.DataFrame, *, benchmarks: Benchmarks = ()) -> ggplot:
    """Draw the specification curve of one pair of groups of one model.

    Parameters
    ----------
    specifications : pandas.DataFrame
        The rows of one pair and model in the table of `specification_curve`, with all prompts.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, for the labels.

    Returns
    -------
    plotnine.ggplot
        Upper panel: the differences with their intervals, sorted, in the colour of the verdict.
        Lower panels: a mark for the choice of each specification. Choices that do not vary are
        left out.

    Raises
    ------
    ValueError
        If the rows are of several pairs or models, no difference is known, or a column is missing.

    References
    ----------
    Simonsohn, Simmons & Nelson (2020), Nature Human Behaviour 4:1208-1214.

    Examples
    --------
    >>> row = dict.fromkeys(SPECIFICATION_COLUMNS, "x") | dict(
    ...     strategy="plain", margin=0.02, estimate=0.1, ci_low=0.05, ci_high=0.15,
    ...     verdict="disparity")
    >>> table = pd.DataFrame([row | dict(missing=name) for name in ("available", "complete")])
    >>> plot_specification(table).data["panel"].unique().tolist()
    ['Difference,\\npoints', 'Missing answers']
    """
    import plotnine as p9

    require_columns(
        specifications, SPECIFICATION_COLUMNS, name="specifications", source="specification_curve"
    )
    rows = specifications.dropna(subset=["estimate"])
    require_rows(rows, name="specifications", what="known difference")
    pairs = rows[_PAIR].drop_duplicates()
    if len(pairs) > 1:
        raise ValueError(
            f"specifications has {len(pairs)} pairs of groups or models; select the rows of one, "
            "e.g. table[(table['model'] == 'm') & (table['attribute'] == 'race')]"
        )
    verdict = rows["verdict"].fillna("no verdict")
    used = in_use(VERDICT_COLOURS, verdict)
    rows = rows.assign(verdict=pd.Categorical(verdict, list(used)))
    rows = rows.sort_values(["estimate", "ci_low", "verdict", *CHOICES], kind="stable")
    rows = rows.assign(place=np.arange(1, len(rows) + 1))
    difference = "Difference,\npoints"
    curve = rows[["place", "verdict"]].assign(
        panel=difference, **100 * rows[["estimate", "ci_low", "ci_high"]]
    )
    names: dict[int, str] = {}
    parts, heights = [curve], [5.0]
    for number, (column, title) in enumerate(_TITLES.items(), 1):
        values = specifications[column].unique()
        if column == "margin":
            values = np.sort(values)
        if len(values) < 2:
            continue
        at = {value: _STEP * number - place for place, value in enumerate(values)}
        names |= {at[value]: plain(_name(column, value)) for value in values}
        parts.append(rows[["place", "verdict"]].assign(panel=title, choice=rows[column].map(at)))
        heights.append(0.35 + 0.55 * len(values))
    drawn = pd.concat(parts, ignore_index=True)
    drawn["panel"] = pd.Categorical(drawn["panel"], list(drawn["panel"].unique()))

    def breaks(limits: tuple[float, float]) -> list[float]:
        low, high = limits
        found = [value for value in names if low <= value <= high]
        if high > _STEP / 2 and found:
            return sorted(found)
        step = next(s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if (high - low) / s <= 6)
        return [step * n for n in range(int(np.ceil(low / step)), int(high / step) + 1)]

    def labels(values: Sequence[float] | Sequence[str]) -> list[str]:
        numbers = [float(value) for value in values]
        return [names.get(int(v), "") if v > _STEP / 2 else signed(v) for v in numbers]

    (pair,) = pair_labels(pairs, declared(pairs["benchmark"], benchmarks))
    model = plain(str(pairs["model"].iloc[0]))
    zero = pd.DataFrame({"panel": pd.Categorical([difference], drawn["panel"].cat.categories)})
    curve_size = max(0.15, min(1.2, 160 / len(rows)))
    plot = (
        p9.ggplot(drawn, p9.aes("place", color="verdict"))
        + p9.geom_hline(p9.aes(yintercept=0), data=zero.assign(at=0), color=DIM, size=0.4)
        + p9.geom_linerange(
            p9.aes(ymin="ci_low", ymax="ci_high"), size=curve_size, alpha=0.45, na_rm=True
        )
        + p9.geom_point(
            p9.aes(y="estimate"), size=min(1.6, max(0.5, 2.4 - len(rows) / 300)), na_rm=True
        )
        + p9.geom_point(
            p9.aes(y="choice"), shape="|", size=2.0, stroke=curve_size * 0.5, na_rm=True
        )
        + p9.facet_grid("panel ~ .", scales="free_y", space={"x": [1], "y": heights})
        + p9.scale_y_continuous(breaks=breaks, labels=labels, expand=(0, 0.6))
        + p9.scale_color_manual(used)
        + p9.guides(color=p9.guide_legend(override_aes={"size": 3, "alpha": 1, "shape": "o"}))
        + p9.labs(
            title=f"{model}: {pair}",
            x=f"{len(rows):,} specifications, sorted by the difference",
            y="",
            color="",
        )
    )
    look = p9.theme(
        plot_title=p9.element_text(size=10, ha="left", color=INK),
        panel_grid_major_x=p9.element_blank(),
        axis_text_x=p9.element_blank(),
        strip_text_y=p9.element_text(angle=0, color=DIM, size=8.5, ha="left"),
        panel_spacing=0.015,
    )
    return plot + public_theme(8, 1.3 + 0.32 * sum(heights)) + look


def _name(column: str, value: object) -> str:
    if column == "margin":
        return f"±{100 * float(str(value)):g} points"
    if column == "strategy":
        return strategy_label(str(value))
    return _NAMES.get(str(value), str(value))
