"""Make tables and plots of ratings: rates, preferences, pairs, agreement, disputed tasks."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd
import plotnine as p9
from great_tables import GT
from plotnine import ggplot

from fairstats._lib.formatting import (
    MINUS,
    p_value,
    percent,
    percent_range,
    point_range,
    points,
    quoted,
)
from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.rubrics import Rubric
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, INK, NEUTRAL_DARK, NEUTRAL_LIGHT
from fairstats.report.plot_style import in_order, plot_theme
from fairstats.report.tables import (
    as_label,
    breakable,
    figure_cell,
    labels_of,
    prose_cell,
    share,
    written_table,
)

Row = Mapping[Any, Any]

#: The number of disputed tasks on the page; the release has all of them.
_DISPUTED = 10
# Krippendorff (2004), Content Analysis, section 11.4.2, who calls it a convention.
_RELIABLE, _TENTATIVE = 0.8, 0.667
_COLOURS = (ACCENT_B, ACCENT_A, INK, NEUTRAL_DARK, DIM)
# The figures of a row that name its ratings without a value: those of pairs have no such key.
_OF_ALL = ("pooled", "preferred", None)
#: The metrics of the plot of preferences.
PREFERRED = {"preferred": "first model preferred", "preferred_2": "second model preferred"}


def group_order(groups: Iterable[str], rubric: Rubric) -> list[str]:
    """Order groups of raters: as the rubric declares them, then all together, then models."""
    known = [*rubric.rater_groups, POOLED]
    return sorted(
        dict.fromkeys(groups), key=lambda g: (known.index(g) if g in known else len(known), g)
    )


def group_label(group: str, rubric: Rubric) -> str:
    """Return the label of a group of raters."""
    if group == POOLED:
        return "All raters"
    # A group that the rubric does not declare is a model that rates.
    return rubric.rater_groups.get(group, f"{quoted(group)} (a model)")


def noun(rubric: Rubric, rows: pd.DataFrame) -> str:
    """Name a task of a rubric: an answer, a text, a comparison or a pair."""
    named = rows["model"].notna().any() if "model" in rows else False
    single = "answer" if named else "text"
    return {"models": "comparison", "items": "pair"}.get(rubric.compares, single)


def panel_label(row: Row, rows: pd.DataFrame) -> str:
    """Name the judged answers or texts: the dataset, and the model if its answers were judged."""
    several = rows["dataset"].nunique() > 1 or row["dataset"] not in (POOLED, row["benchmark"])
    models = " against ".join(
        quoted(row[c]) for c in ("model", "model_2") if isinstance(row.get(c), str)
    )
    together = "all datasets" if models else "All datasets"
    dataset = together if row["dataset"] == POOLED else str(row["dataset"])
    return ", ".join(filter(None, [models, dataset if several or not models else ""]))


def judged_by(row: Row, rows: pd.DataFrame, rubric: Rubric) -> str:
    """Name the judged answers or texts, and the group of raters."""
    return f"{panel_label(row, rows)}: {group_label(row['rater_group'], rubric)}"


def _by_panel(
    rows: pd.DataFrame,
    rubric: Rubric,
    labels: Mapping[str, str],
    *,
    name: str,
    stub: str = "dimension",
    by_group: bool = True,
    more: Callable[[pd.DataFrame], Mapping[str, str]] = lambda own: {},
) -> GT:
    """Make a table of figures, each in its ``column``, with a panel per dataset, models and group.

    `more` returns further cells of a row of the table. A row is a dimension or another `stub`.
    """
    stubs = {"dimension": {q.dimension: q.label for q in rubric.questions}}
    stubs["aggregation"] = labels_of("ratings")["judged"]
    keys = ["dataset", "model", "model_2", *["rater_kind", "rater_group"] * by_group, stub]
    found = []
    for _, own in rows.groupby([key for key in keys if key in rows], dropna=False, sort=False):
        first = own.iloc[0].to_dict()
        panel = judged_by(first, rows, rubric) if by_group else panel_label(first, rows)
        found.append(
            {"panel": breakable(panel), stub: first[stub]}
            | {row["column"]: _cell(row) for row in own.to_dict("records")[::-1]}
            | dict(more(own))
        )
    panels, order = list(dict.fromkeys(row["panel"] for row in found)), list(stubs[stub])
    found.sort(key=lambda row: (panels.index(row["panel"]), order.index(row[stub])))
    found = [row | {stub: breakable(stubs[stub][row[stub]])} for row in found]
    labels = {column: text for column, text in labels.items() if any(column in r for r in found)}
    heading = {"dimension": "Dimension", "aggregation": "Judged"}[stub]
    return written_table(found, labels, name=name, stub=stub, heading=heading, group="panel")


def rates_table(rates: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show rates by dimension, with one column per group of raters and aggregation."""
    groups = group_order(rates["rater_group"], rubric)
    # Votes over all groups mix numbers of raters. A single rating is not a vote.
    voted = set(rates.loc[rates["n_ratings"] > rates["n_tasks"], "rater_group"]) - {POOLED}
    rates = rates[(rates["aggregation"] == "pooled") | rates["rater_group"].isin(voted)]
    places = rates["rater_group"].map(groups.index).astype(str)
    rates = rates.assign(column=rates["aggregation"] + "-" + places)
    labels = {
        f"{aggregation}-{place}": unit.format(noun=noun(rubric, rates))
        for place in range(len(groups))
        for aggregation, unit in labels_of("ratings")["rates"].items()
    }
    table = _by_panel(rates, rubric, labels, name=name, by_group=False)
    for place, group in enumerate(groups):
        own = [c for c in labels if c.endswith(f"-{place}") and c in set(rates["column"])]
        if own:
            heading = f"{group_label(group, rubric)}, %"
            table = table.tab_spanner(as_label(heading), columns=own, id=f"{name}-{place}")
    return table


def preference_table(preferences: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show how often raters prefer each model, or neither, and the difference, by dimension."""

    def test(own: pd.DataFrame) -> dict[str, str]:
        row = own[own["metric"] == "preference_difference"].iloc[0]
        alone = f"({p_value(row['p_value'])})"
        return {"p": figure_cell(row["crossed_p_value"], p_value, alone, strong=False)}

    labels, rows = labels_of("ratings")["preferences"], preferences
    return _by_panel(rows.assign(column=rows["metric"]), rubric, labels, name=name, more=test)


def counterfactual_table(rates: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show bias in pairs judged as pairs: in all of them, and by the raters' view of the pair."""
    rates = rates.assign(column=rates["ideal_answers_differ"] + ", " + rates["contents_differ"])
    return _by_panel(rates, rubric, labels_of("ratings")["pairs"], name=name)


def paired_bias_table(rates: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show in how many pairs one, one or more, or both answers are biased, judged separately."""
    # Votes of all groups together mix numbers of raters.
    mixed = (rates["rater_group"] == POOLED) & rates["aggregation"].isin(["majority", "any"])
    return _by_panel(
        rates[~mixed].assign(column=rates["metric"]),
        rubric,
        labels_of("ratings")["judged_alone"],
        name=name,
        stub="aggregation",
        more=lambda own: {"pairs": f"{own['n_pairs'].iloc[0]:,}"},
    )


def agreement_table(agreement: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show coefficients of agreement with their intervals, and their meaning in words."""
    coefficients = labels_of("ratings")["agreement"]
    own = agreement[agreement["coefficient"].isin(list(coefficients))]
    labels = coefficients | {
        "n": f"{noun(rubric, own).capitalize()}s / raters",
        "words": "In words",
    }

    def more(rows: pd.DataFrame) -> dict[str, str]:
        first, figures = rows.iloc[0], rows.drop_duplicates("coefficient")
        return {
            "n": f"{first['n_items']:,} / {first['n_raters']:,}",
            "words": prose_cell(in_words(figures.set_index("coefficient"))),
        }

    rows = own.assign(column=own["coefficient"])
    return _by_panel(rows, rubric, labels, name=name, more=more)


def _cell(row: Row) -> str:
    """Write a figure, its limits with clusters, those without in parentheses, and notes."""
    kind = row.get("coefficient", row.get("metric"))
    figure, limits = share, percent_range
    if kind in ("preference_difference", "position_difference"):
        figure, limits = points, point_range
    elif "coefficient" in row and kind not in ("percent", "positive"):
        figure, limits = _kappa, _kappas
    wide = "clustered" if "clustered_low" in row else "crossed"
    clustered = (row.get(f"{wide}_{end}", math.nan) for end in ("low", "high"))
    first, exact = (
        "" if pd.isna(low) or pd.isna(high) else limits(low, high)
        for low, high in (clustered, (row["ci_low"], row["ci_high"]))
    )
    method, marks = str(row.get(f"{wide}_method", "")), labels_of("ratings")["limits"]
    notes = ", ".join(dict.fromkeys(note for part, note in marks.items() if part in method))
    lines = [first, f"({exact})" * bool(exact), notes]
    if row.get("n_ties"):
        lines.append(f"{row['n_ties']:,} ties")
    if row.get("n_missing") and row.get("aggregation", row.get("metric")) in _OF_ALL:
        lines.append(f"{row['n_missing']:,} without a value")
    if kind == "position_difference":
        lines.append(p_value(row["crossed_p_value"]))
    of, unknown = "", "not defined" if "coefficient" in row else "no rating"
    if "n_reported" in row:
        n = row["n_tasks" if row.get("aggregation", "pooled") != "pooled" else "n_ratings"]
        of = f"{row['n_reported']:,} of {n:,}"
    return figure_cell(row["estimate"], figure, *lines, of=of, unknown=unknown)


def _kappas(low: float, high: float) -> str:
    return f"{_kappa(low)} to {_kappa(high)}"


def _kappa(value: float) -> str:
    """Format a coefficient without the 0 before the point.

    Examples
    --------
    >>> _kappa(0.2773), _kappa(-0.05), _kappa(1.0)
    ('.277', '−.050', '1.000')
    """
    text = f"{abs(value):.3f}"
    return (MINUS if value < 0 and float(text) else "") + text.removeprefix("0")


def in_words(by_name: pd.DataFrame) -> str:
    """State the meaning of the coefficients of one dimension.

    `by_name` has rows of the table ``rater_agreement``, indexed by the coefficient.
    """
    figures = by_name.to_dict("index")
    main = figures.get("krippendorff", {})
    alpha, low = main.get("estimate", math.nan), main.get("crossed_low", math.nan)
    if math.isnan(alpha):
        note = main.get("note")
        note = note.removeprefix("0 / 0: ") if isinstance(note, str) else ""
        text = f"Not defined: {note}" if note else "Not defined"
    elif alpha >= _TENTATIVE:
        text = "Reliable" if alpha >= _RELIABLE else "Tentative conclusions only"
    else:
        text = "Single ratings are not reliable"
        if (main["ci_low"] if math.isnan(low) else low) <= 0:
            text += ", and may agree no better than by chance"
    positive = figures.get("positive", {}).get("estimate", math.nan)
    if not math.isnan(positive):
        text += f". If one rater reports it, another does in {percent(positive)} of cases"
    return f"{text}."


def disputed_table(tasks: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show the tasks on which raters differ most, with one column per dimension."""
    # If several groups judge, use all raters together.
    groups = set(tasks["rater_group"])
    own = tasks[(tasks["n_ratings"] > 1) & tasks["rater_group"].isin({POOLED} & groups or groups)]
    # Order by the dimensions that are always asked; the others break ties. The disagreement is
    # the size of the smaller side, so three against three counts more than one against one.
    against = own["n_reported"].combine(own["n_ratings"] - own["n_reported"], min)
    lead = against.where(own["dimension"].isin(rubric.leading), 0)
    keys = ["dataset", "task_id", "rater_group"]
    order = own.assign(lead=lead, all=against).groupby(keys, sort=False)[["lead", "all"]].sum()
    order = order.sort_values(["lead", "all"], ascending=False, kind="stable").head(_DISPUTED)
    parts = dict(list(own.groupby(keys, sort=False)))
    rows = []
    for its in (parts[key] for key in order.index):
        first = its.iloc[0]
        named = (str(first["item_id"]), first["model"], str(first["task_id"]))
        label = ", ".join(dict.fromkeys(part for part in named if isinstance(part, str)))
        counts = its[["dimension", "n_reported", "n_ratings"]].itertuples(index=False)
        rows.append({"task": breakable(label)} | {d: f"{k} of {n}" for d, k, n in counts})
    labels = {q.dimension: q.label for q in rubric.questions if any(q.dimension in r for r in rows)}
    return written_table(rows, labels, name=name, stub="task", heading="Item, model, task")


#: The function that shows each of the release's tables of ratings.
TABLES: dict[str, Callable[..., GT]] = {
    "bias_rates": rates_table,
    "preferences": preference_table,
    "counterfactual_rates": counterfactual_table,
    "paired_bias": paired_bias_table,
    "rater_agreement": agreement_table,
    "disagreement": disputed_table,
}


def rates_plot(rates: pd.DataFrame, rubric: Rubric) -> ggplot:
    """Draw one dot per dimension and group of raters, in panels by dataset and model.

    The rates are of one rubric, aggregation ``pooled``, with ``panel``, the panel's name or "", and
    ``least`` and ``most``, the ends of the scale.
    """
    # A group has one colour in all plots of a rubric.
    places = [*rubric.rater_groups, POOLED]
    colours = {
        group_label(group, rubric): _COLOURS[
            (places.index(group) if group in places else len(places)) % len(_COLOURS)
        ]
        for group in group_order(rates["rater_group"], rubric)
    }
    series = [group_label(group, rubric) for group in rates["rater_group"]]
    return _intervals(rates.assign(series=series), rubric, colours, "reported, % of ratings")


def preference_plot(preferences: pd.DataFrame, rubric: Rubric) -> ggplot:
    """Draw how often raters prefer each of two models: dots by dimension, panels by comparison."""
    colours = dict(zip(PREFERRED.values(), (ACCENT_B, ACCENT_A), strict=True))
    rows = preferences.assign(series=preferences["metric"].map(PREFERRED))
    return _intervals(rows, rubric, colours, "% of ratings")


def _intervals(rows: pd.DataFrame, rubric: Rubric, colours: dict[str, str], title: str) -> ggplot:
    """Draw shares with their intervals in percent, one colour per series.

    The thick line is the interval with all ratings treated as independent. The thin line treats
    only raters and items as independent.
    """
    labels = list(_axis(rows, rubric).categories)
    series = pd.Categorical(rows["series"], list(colours))
    # From the top: the dimensions, and on each the series as in the legend.
    apart = 0.6 * ((series.codes + 0.5) / len(colours) - 0.5)
    rows = rows.assign(series=series, y=_axis(rows, rubric).codes - apart)
    ends = ["estimate", "ci_low", "ci_high", "crossed_low", "crossed_high", "least", "most"]
    rows[ends] *= 100
    legend = p9.guide_legend(title="", nrow=(len(colours) + 1) // 2)
    plot = (
        p9.ggplot(rows, p9.aes("estimate", "y", color="series", yend="y"))
        + p9.geom_segment(p9.aes(x="crossed_low", xend="crossed_high"), size=0.4, na_rm=True)
        + p9.geom_segment(p9.aes(x="ci_low", xend="ci_high"), size=1.3, na_rm=True)
        + p9.geom_point(size=2.2, na_rm=True)
        + p9.geom_blank(p9.aes(x="least"))
        + p9.geom_blank(p9.aes(x="most"))
        + p9.scale_y_continuous(
            breaks=range(len(labels)), labels=labels, limits=(-0.5, len(labels) - 0.5)
        )
        + p9.scale_color_manual(colours)
        + p9.guides(color=legend if len(colours) > 1 else False)
        + p9.labs(x=title, y="", color="")
        + plot_theme()
    )
    panels = in_order(rows["panel"])
    rows["panel"] = panels
    return plot + p9.facet_wrap("panel", ncol=1) if any(panels.categories) else plot


def _axis(rows: pd.DataFrame, rubric: Rubric) -> pd.Categorical:
    """Return the label of each row's dimension in lines, in the order of the rubric from below."""
    labels = {q.dimension: textwrap.fill(q.label, 28) for q in rubric.questions[::-1]}
    return pd.Categorical(
        rows["dimension"].map(labels), list(labels.values())
    ).remove_unused_categories()


def votes_plot(votes: pd.DataFrame, rubric: Rubric) -> ggplot:
    """Draw how many of a task's raters report each dimension: one stacked bar per dimension.

    The votes are of tasks with equally many ratings, with ``panel``, the panel's name, and
    ``share``, in percent.
    """
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
