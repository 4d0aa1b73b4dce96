"""Plots of estimates, outcome counts, comparisons and ranks, for notebooks and papers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstats._lib.formatting import MINUS, points, quoted
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.declaration import BASELINE, POOLED, Benchmark
from fairstats.benchmarks.loading import builtin_benchmarks, by_name, load_benchmarks
from fairstats.comparisons.change_verdicts import BETTER, COMPARED_PAIR, LOSE_LOSE, WIN_WIN
from fairstats.counts.patterns import PAIR_COLUMNS, PATTERNS
from fairstats.estimates.specifications import CHOICES, SPECIFICATION_COLUMNS
from fairstats.inference._checks import check_choice, check_margin, check_number
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.metrics.registry import METRICS
from fairstats.report.board.charts import COLOURS
from fairstats.report.changes.rows import FIGURES
from fairstats.report.page_output import (
    ACCENT_A,
    ACCENT_B,
    BAND,
    DIM,
    INK,
    NEUTRAL_DARK,
    NEUTRAL_LIGHT,
)
from fairstats.report.plot_style import in_order, plot_theme
from fairstats.report.sensitivity import CHOICE_LABELS

if TYPE_CHECKING:
    from plotnine import ggplot, theme

Benchmarks = Iterable[Benchmark] | Mapping[str, Benchmark]
#: The colour of each verdict, as in the pages' charts.
VERDICT_COLOURS = {
    DISPARITY: COLOURS[DISPARITY],
    EQUIVALENT: COLOURS[EQUIVALENT],
    INCONCLUSIVE: DIM,
    "no verdict": NEUTRAL_LIGHT,
}
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
    >>> from fairstats import analyze, example_answers
    >>> answers = example_answers().query("attribute == 'race' and model == 'GPT-4.1'")
    >>> plot_forest(analyze(answers), metric="cfr").labels.x
    'CFR, counterfactual fairness rate, %'
    """
    import plotnine as p9
    from mizani.breaks import breaks_extended

    needed = [*PAIR_COLUMNS, "metric", *_LIMITS, "verdict"]
    _require_columns(estimates, needed, name="estimates", source="analyze")
    drawn = estimates.dropna(subset=["group_a", "ci_low"])
    drawn = drawn[drawn["attribute"] != BASELINE]
    _require_rows(drawn, name="estimates", what="intervals of pairs of groups")
    metric = check_choice("metric", metric, drawn["metric"].unique())
    drawn = drawn[drawn["metric"] == metric].copy()
    known = _declared(drawn["benchmark"], benchmarks)
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
    drawn = _placed(drawn, known)
    drawn["result"] = drawn["verdict"].fillna("no verdict") if directed else "no verdict"
    look: dict[str, Any] = {} if directed else {"color": ACCENT_B}
    plot = p9.ggplot(drawn, p9.aes("estimate", "row", color="result"))
    if margin is not None and gaps:
        band = {"xmin": -100 * margin if directed else 0, "xmax": 100 * margin}
        ends = {"ymin": -np.inf, "ymax": np.inf}
        plot += p9.annotate("rect", **band, **ends, fill=BAND)
    if gaps:
        plot += p9.geom_vline(xintercept=0, color=DIM, size=0.4)
    limits = p9.aes(x="ci_low", xend="ci_high", yend="row")
    plot = (
        plot
        + p9.geom_segment(limits, size=0.9, na_rm=True, **look)
        + p9.geom_point(size=2.2, na_rm=True, **look)
        + p9.facet_grid("board ~ pair", scales="free_y", space="free_y")
        + p9.scale_x_continuous(
            breaks=lambda limits: list(breaks_extended(n=3)(limits)),
            labels=(lambda values: [_signed(float(one)) for one in values]) if directed else True,
        )
        + p9.scale_color_manual(
            _in_use(VERDICT_COLOURS, drawn["result"]), guide="legend" if directed else None
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
    return _public_theme(max(width, least), high + row * rows)


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
    >>> from fairstats import count_outcomes, example_answers
    >>> answers = example_answers().query("attribute == 'race' and model == 'GPT-4.1'")
    >>> plot_outcomes(count_outcomes(answers)).data["share"].round(1).tolist()
    [75.9, 16.4, 1.5, 6.2, 0.0]
    """
    import plotnine as p9

    _require_columns(counts, [*PAIR_COLUMNS, *PATTERNS], name="counts", source="count_outcomes")
    total = counts[list(PATTERNS)].sum(axis=1)
    rows = counts[counts["attribute"].ne(BASELINE) & total.gt(0)]
    _require_rows(rows, name="counts", what="pairs of groups")
    known = _declared(rows["benchmark"], benchmarks)
    labelled = _placed(rows[list(PAIR_COLUMNS)], known)
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
        points). Lines of a win-win and of significant improvements, with the table's adjustment,
        are blue; those of a lose-lose and of significant losses are red. If the verdict on the pair
        is withheld, they are grey.

    Raises
    ------
    ValueError
        If the table has no figure for both models, or lacks a column.

    Examples
    --------
    >>> from fairstats import compare, example_answers
    >>> answers = example_answers().query("attribute == 'race'").groupby("model")
    >>> table = compare(answers.get_group("DeepSeek-V3"), answers.get_group("DeepSeek-V3.1"))
    >>> plot_versions(table[table["metric"] == "delta_cfr"]).data["change"].tolist()
    ['better']
    """
    import plotnine as p9
    from mizani.breaks import breaks_extended

    needed = [*COMPARED_PAIR, "metric", "old", "new", "estimate", "ci_level", "p_adjusted"]
    needed += ["verdict", "verdict_reason"]
    _require_columns(comparisons, needed, name="comparisons", source="compare")
    own = comparisons["metric"].isin(FIGURES) & comparisons["attribute"].ne(BASELINE)
    drawn = comparisons[own].dropna(subset=["old", "new"])
    _require_rows(drawn, name="comparisons", what="figure that both models have")
    titles = {
        name: f"{label}, {'points' if name == 'delta_ad' else '%'}"
        for name, (label, _) in FIGURES.items()
    }
    models = drawn["model_old"].map(quoted) + " → " + drawn["model_new"].map(quoted)
    for name in ("release_old", "benchmark_version"):
        if name in drawn and drawn[name].nunique(dropna=False) > 1:
            models += drawn[name].map(lambda one: f", {one}" if isinstance(one, str) else "")
    # The levels of tests and intervals sum to 1, up to rounding.
    changed = drawn["p_adjusted"] <= 1 - drawn["ci_level"] + 1e-12
    changed |= drawn["verdict"].isin([WIN_WIN, LOSE_LOSE])
    improves = drawn["metric"].map(BETTER) * drawn["estimate"] > 0
    withheld = drawn["verdict"].isna() | drawn["verdict_reason"].notna()
    known = _declared(drawn["benchmark"], benchmarks)
    drawn = drawn.assign(
        **100 * drawn[["old", "new"]],
        row=in_order(_pair_labels(drawn, known), reverse=True),
        figure=pd.Categorical(drawn["metric"].map(titles), list(titles.values())),
        models=in_order(_set_names(models, drawn["strategy"], before="\n")),
        change=np.select(
            [withheld, changed & improves, changed],
            ["no verdict", "better", "worse"],
            "no significant change",
        ),
    )
    colours = {"better": ACCENT_B, "worse": ACCENT_A}
    colours |= {"no significant change": DIM, "no verdict": NEUTRAL_LIGHT}
    plot = (
        p9.ggplot(drawn, p9.aes("new", "row", color="change"))
        + p9.geom_segment(p9.aes(x="old", xend="new", yend="row"), size=0.8)
        + p9.geom_point(p9.aes(x="old"), fill="white", color=DIM, size=2.2)
        + p9.geom_point(size=2.2)
        + p9.facet_grid("models ~ figure", scales="free", space="free_y")
        + p9.scale_color_manual(_in_use(colours, drawn["change"]))
        + p9.scale_x_continuous(
            breaks=lambda limits: list(breaks_extended(n=4)(limits)), expand=(0.08, 0)
        )
        + p9.labs(x="open: older, filled: newer", y="", color="")
    )
    rows = len(drawn[["models", "row"]].drop_duplicates())
    return plot + _public_theme(8.4, 1.4 + 0.3 * rows)


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
    >>> from fairstats import example_answers, rank_models
    >>> answers = example_answers().query("attribute == 'race' and model in ['GPT-4o', 'GPT-4.1']")
    >>> plot_ranks(rank_models(answers)).labels.x
    'rank by AD, 95% confidence set'
    """
    import plotnine as p9

    needed = [*_BOARD, "model", "metric", "may_be_best", "ci_level", *_RANKS]
    _require_columns(ranks, needed, name="ranks", source="rank_models")
    drawn = ranks.dropna(subset=_RANKS)
    drawn = drawn[drawn.groupby(_BOARD)["model"].transform("size") > 1].copy()
    _require_rows(drawn, name="ranks", what="board with two ranked models")
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
    size = _public_theme(min(panels, 2) * 4.4, 0.9 + high * (0.5 + 0.24 * rows))
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
    >>> from fairstats import example_answers, rank_differences
    >>> answers = example_answers().query("attribute == 'race' and model in ['GPT-4o', 'GPT-4.1']")
    >>> plot_pairwise(rank_differences(answers)).data["result"].tolist()
    ['better', 'worse']
    """
    import plotnine as p9

    needed = [*_BOARD, "metric", "model_a", "model_b", "difference", "differ"]
    _require_columns(differences, needed, name="differences", source="rank_differences")
    rows = differences.dropna(subset=["difference"])
    _require_rows(rows, name="differences", what="two models to compare")
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
    drawn["text"] = drawn["difference"].map(points)
    drawn["result"] = np.where(sign * drawn["difference"] > 0, "better", "worse")
    drawn.loc[~drawn["differ"].astype(bool), "result"] = "not significant"
    fills = {"better": "#a9c9d6", "worse": "#e3b7a5", "not significant": "#f0ede6"}
    plot = (
        p9.ggplot(drawn, p9.aes("column", "row", fill="result"))
        + p9.geom_tile(color="white", size=0.6)
        + p9.geom_text(p9.aes(label="text"), size=7.5, color=INK)
        + p9.scale_fill_manual(_in_use(fills, drawn["result"]))
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
    size = _public_theme(min(panels, 2) * side + 0.6, 0.8 + -(-panels // 2) * side)
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
    titles = _titles(table, _declared(table["benchmark"], benchmarks))
    return in_order(_set_names(titles, table["strategy"]))


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
    >>> from fairstats import example_answers, specification_curve
    >>> answers = example_answers().query("attribute == 'race' and model == 'GPT-4.1'")
    >>> plot_specification(specification_curve(answers, margin=[])).data["panel"].unique().tolist()
    ['Difference,\\npoints', 'Missing answers', 'Interval', 'Test', 'Adjustment']
    """
    import plotnine as p9

    _require_columns(
        specifications, SPECIFICATION_COLUMNS, name="specifications", source="specification_curve"
    )
    rows = specifications.dropna(subset=["estimate"])
    _require_rows(rows, name="specifications", what="known difference")
    pairs = rows[_PAIR].drop_duplicates()
    if len(pairs) > 1:
        raise ValueError(
            f"specifications has {len(pairs)} pairs of groups or models; select the rows of one, "
            "e.g. table[(table['model'] == 'm') & (table['attribute'] == 'race')]"
        )
    verdict = rows["verdict"].fillna("no verdict")
    used = _in_use(VERDICT_COLOURS, verdict)
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
        return [names.get(int(v), "") if v > _STEP / 2 else _signed(v) for v in numbers]

    (pair,) = _pair_labels(pairs, _declared(pairs["benchmark"], benchmarks))
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
            title=f"{quoted(model)}: {pair}",
            x=f"{len(rows):,} specifications, sorted by the difference",
            y="",
            color="",
        )
    )
    look = p9.theme(
        plot_title=p9.element_text(size=10, ha="left", color=INK),
        panel_grid_major_x=p9.element_blank(),
        axis_text_x=p9.element_blank(),
        panel_spacing=0.015,
    )
    return plot + _public_theme(8, 1.3 + 0.32 * sum(heights)) + look


def _name(column: str, value: object) -> str:
    if column == "margin":
        return f"±{100 * float(str(value)):g} points"
    if column == "strategy":
        return strategy_label(str(value))
    return _NAMES.get(str(value), str(value))


def _public_theme(width: float, height: float) -> theme:
    """Return the look of the pages' plots on white, for a notebook or a file."""
    import plotnine as p9

    return plot_theme() + p9.theme(
        figure_size=(width, height),
        plot_background=p9.element_rect(fill="white", color="none"),
        panel_spacing=0.03,
        legend_title=p9.element_text(size=8.5, color=DIM),
        plot_caption=p9.element_text(size=8, color=DIM, ha="left"),
    )


def _in_use(colours: Mapping[str, str], values: Iterable[object]) -> dict[str, str]:
    """Return the colours of the values that a plot has, in the order of the legend."""
    present = set(values)
    return {name: colour for name, colour in colours.items() if name in present}


def _require_columns(
    table: pd.DataFrame, columns: Sequence[str], *, name: str, source: str
) -> None:
    """Refuse a table that lacks a column, with the function that makes it."""
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"{name} must be a pandas data frame; give the table of {source}")
    absent = [column for column in columns if column not in table.columns]
    if absent:
        raise ValueError(f"{name} has no column {absent[0]!r}; give the table of {source}")


def _require_rows(rows: pd.DataFrame, *, name: str, what: str) -> None:
    """Refuse a table without rows to draw."""
    if rows.empty:
        raise ValueError(f"{name} has no {what}, so there is nothing to draw")


def _declared(names: Iterable[str], benchmarks: Benchmarks) -> dict[str, Benchmark]:
    """Return the benchmarks that are given or built in, by name; others are missing."""
    given = by_name(benchmarks)
    built_in = builtin_benchmarks()
    return load_benchmarks({n for n in names if n in given or n in built_in}, given)


def _pair_labels(table: pd.DataFrame, known: Mapping[str, Benchmark]) -> list[str]:
    """Return the label of each row's pair, e.g. ``"White − Black"``."""
    labels = []
    keys = table[["benchmark", "attribute", "group_a", "group_b"]]
    for name, attribute, a, b in keys.itertuples(index=False):
        of = known.get(name)
        if of is None or attribute not in of.attributes:
            label = f"{a} − {b}"
        else:
            label = of.pair_label(attribute, (a, b))
        labels.append(plain("All pairs" if attribute == POOLED else label))
    return labels


def _set_names(names: Iterable[str], strategies: pd.Series, *, before: str = ", ") -> list[str]:
    """Return the names of models or boards, each with its prompt if there are several."""
    several = strategies.nunique() > 1
    return [
        plain(f"{name}{before}{strategy_label(strategy)}" if several else name)
        for name, strategy in zip(names, strategies, strict=True)
    ]


def _titles(table: pd.DataFrame, known: Mapping[str, Benchmark]) -> list[str]:
    """Return the title of each row's vignettes, with the benchmark if there are several."""
    several = table["benchmark"].nunique() > 1
    titles = []
    for name, version in table[["benchmark", "benchmark_version"]].itertuples(index=False):
        title = known[name].versions.get(version) if name in known else None
        titles.append(f"{name}, {title or version}" if several else str(title or version))
    return titles


def _placed(table: pd.DataFrame, known: Mapping[str, Benchmark]) -> pd.DataFrame:
    """Add where a row is drawn: ``row``, its answer set; ``pair``; and ``board``, its vignettes."""
    titles = _titles(table, known)
    several = len(set(titles)) > 1
    names = table["model"].map(quoted) if table["strategy"].nunique() > 1 else table["model"]
    return table.assign(
        row=in_order(_set_names(names, table["strategy"]), reverse=True),
        pair=in_order(map(_in_lines, _pair_labels(table, known))),
        board=in_order(plain(fill(title, 18)) if several else "" for title in titles),
    )


def _signed(value: float) -> str:
    """Return a tick's label with its sign, as on the pages."""
    return f"{value:+g}".replace("-", MINUS) if value else "0"


def _in_lines(pair: str) -> str:
    """Break a long label of a pair after its minus sign."""
    return pair if len(pair) <= 20 else pair.replace(" − ", " −\n")


def plain(text: str) -> str:
    r"""Escape dollar signs, which matplotlib would take for a formula.

    Examples
    --------
    >>> plain("costs $1 to $2")
    'costs \\$1 to \\$2'
    """
    return text.replace("$", r"\$")
