"""Show tables of ratings: rates, preferences, pairs, agreement, and the most disputed tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats._lib.formatting import (
    MINUS,
    p_value,
    percent,
    percent_range,
    point_range,
    points,
)
from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.rubrics import Rubric
from fairstats.report.tables import breakable, figure_cell, prose_cell, share, written_table

if TYPE_CHECKING:
    from great_tables import GT

Row = Mapping[Any, Any]

#: The coefficients of agreement, in column order; the first two are shares.
COEFFICIENTS = {
    "percent": "Pairs that agree, %",
    "positive": "If one reports, another does, %",
    "randolph": "Randolph's κ",
    "fleiss": "Fleiss' κ",
    "gwet_ac1": "Gwet's AC1",
    "krippendorff": "Krippendorff's α",
}
#: The unit of each aggregation's rate; the noun names a task of the rubric.
_RATES = {
    "pooled": "Of ratings",
    "majority": "Of {noun}s, by most raters",
    "any": "Of {noun}s, by any rater",
}
_PREFERENCES = {
    "preferred": "First model preferred, %",
    "preferred_2": "Second model preferred, %",
    "indifferent": "Neither, %",
    "difference": "Difference, points",
    "p": "p",
    "first": "Position, points",
}
#: The kinds of pairs: whether ideal answers differ, and whether contents do.
_PAIRS = {
    f"{POOLED}, {POOLED}": "All pairs",
    f"no, {POOLED}": "Ideal answers alike",
    f"yes, {POOLED}": "Ideal answers differ",
    f"{POOLED}, no": "Contents alike",
    f"{POOLED}, yes": "Contents differ",
    "no, yes": "Ideal alike, contents differ",
}
_JUDGED_ALONE = {"exactly_one": "One of two, %", "one_or_more": "One or more, %", "both": "Both, %"}
_JUDGED = {
    "pooled": "ratings combined",
    "same_rater": "both by one rater",
    "majority": "by most raters",
    "any": "by any rater",
}
#: Short notes on an interval's limits, by a part of its method's description.
_MARKS = {
    "one rater": "one rater",
    "two raters": "two raters",
    "in every pair": "one rater in all pairs",
    "one item": "one item",
    "all ratings are equal": "all alike",
    "are alike": "all alike",
    "changes nothing": "all alike",
    "undefined without": "one of them decides",
}
#: The number of disputed tasks on the page; the release has all of them.
_DISPUTED = 10
# Krippendorff (2004), Content Analysis, section 11.4.2, who calls it a convention.
_RELIABLE, _TENTATIVE = 0.8, 0.667


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
    return rubric.rater_groups.get(group, f"{group} (a model)")


def noun(rubric: Rubric, rows: pd.DataFrame) -> str:
    """Name a task of a rubric: an answer, a text, a comparison or a pair."""
    named = rows["model"].notna().any() if "model" in rows else False
    single = "answer" if named else "text"
    return {"models": "comparison", "items": "pair"}.get(rubric.compares, single)


def panel_label(row: Row, rows: pd.DataFrame) -> str:
    """Name the judged answers or texts: the dataset, and the model if its answers were judged."""
    several = rows["dataset"].nunique() > 1 or row["dataset"] not in (POOLED, row["benchmark"])
    models = " against ".join(row[c] for c in ("model", "model_2") if isinstance(row.get(c), str))
    together = "all datasets" if models else "All datasets"
    dataset = together if row["dataset"] == POOLED else str(row["dataset"])
    return ", ".join(filter(None, [models, dataset if several or not models else ""]))


def judged_by(row: Row, rows: pd.DataFrame, rubric: Rubric) -> str:
    """Name the judged answers or texts, and the group of raters."""
    return f"{panel_label(row, rows)}: {group_label(row['rater_group'], rubric)}"


def _by_dimension(
    rows: pd.DataFrame,
    rubric: Rubric,
    labels: Mapping[str, str],
    *,
    name: str,
    by: list[str],
    panel: Callable[[Row], str],
    cells: Callable[[pd.DataFrame], Mapping[str, str]],
) -> GT:
    """Make a table with a row per dimension and a panel per value of `by`, as they appear."""
    found = []
    for _, own in rows.groupby([*by, "dimension"], dropna=False, sort=False):
        first = own.iloc[0].to_dict()
        where = {
            "panel": breakable(panel(first)),
            "place": rubric.dimensions.index(first["dimension"]),
            "dimension": breakable(rubric.question(first["dimension"]).label),
        }
        found.append(where | dict(cells(own)))
    panels = list(dict.fromkeys(row["panel"] for row in found))
    found.sort(key=lambda row: (panels.index(row["panel"]), row["place"]))
    return written_table(
        found, labels, name=name, stub="dimension", heading="Dimension", group="panel"
    )


def rates_table(rates: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show rates by dimension, with one column per group of raters and aggregation.

    Parameters
    ----------
    rates : pandas.DataFrame
        `fairstats.bias_rates` of one benchmark and rubric.
    rubric : Rubric
        Gives the labels and their order.
    name : str
        The table's id, unique on the page.
    """
    groups = group_order(rates["rater_group"], rubric)
    present = [a for a in _RATES if a in set(rates["aggregation"])]
    # Votes over all groups mix numbers of raters. A single rating is not a vote.
    voted = set(rates.loc[rates["n_ratings"] > rates["n_tasks"], "rater_group"]) - {POOLED}
    columns = {
        group: {
            f"{a}-{place}": _RATES[a].format(noun=noun(rubric, rates))
            for a in present
            if a == "pooled" or group in voted
        }
        for place, group in enumerate(groups)
    }

    def cells(own: pd.DataFrame) -> dict[str, str]:
        return {
            f"{row['aggregation']}-{groups.index(row['rater_group'])}": _counted(row)
            for row in own.to_dict("records")
        }

    table = _by_dimension(
        rates,
        rubric,
        {column: label for own in columns.values() for column, label in own.items()},
        name=name,
        by=["dataset", "model"],
        panel=lambda row: panel_label(row, rates),
        cells=cells,
    )
    for place, (group, own) in enumerate(columns.items()):
        if own:
            heading = f"{group_label(group, rubric)}, %"
            table = table.tab_spanner(heading, columns=[*own], id=f"{name}-{place}")
    return table


def preference_table(preferences: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show how often raters prefer each model, or neither, and the difference, by dimension.

    Parameters
    ----------
    preferences : pandas.DataFrame
        The table ``preferences`` of one benchmark and rubric.
    rubric, name
        As for `rates_table`.
    """

    def cells(own: pd.DataFrame) -> dict[str, str]:
        figures = own.drop_duplicates("metric").set_index("metric").to_dict("index")
        difference, first = figures["preference_difference"], figures.get("position_difference")
        return {
            **{metric: _share(figures[metric]) for metric in list(_PREFERENCES)[:3]},
            "difference": _difference(difference),
            "p": figure_cell(
                difference["crossed_p_value"],
                p_value,
                f"({p_value(difference['p_value'])})",
                strong=False,
            ),
            "first": "not known"
            if first is None
            else _difference(first, p_value(first["crossed_p_value"])),
        }

    return _by_dimension(
        preferences,
        rubric,
        _PREFERENCES,
        name=name,
        by=["dataset", "model", "model_2", "rater_group"],
        panel=lambda row: judged_by(row, preferences, rubric),
        cells=cells,
    )


def counterfactual_table(rates: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show bias in pairs judged as pairs: in all of them, and by the raters' view of the pair.

    Parameters
    ----------
    rates : pandas.DataFrame
        The table ``counterfactual_rates`` of one benchmark and rubric.
    rubric, name
        As for `rates_table`.
    """
    return _by_dimension(
        rates,
        rubric,
        _PAIRS,
        name=name,
        by=["dataset", "model", "rater_group"],
        panel=lambda row: judged_by(row, rates, rubric),
        cells=lambda own: {
            f"{row['ideal_answers_differ']}, {row['contents_differ']}": _counted(row)
            for row in own.to_dict("records")
        },
    )


def paired_bias_table(rates: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show in how many pairs one, one or more, or both answers are biased, judged separately.

    Parameters
    ----------
    rates : pandas.DataFrame
        The table ``paired_bias`` of one benchmark and of the rubric of single answers, one
        dimension.
    rubric, name
        As for `rates_table`.
    """
    # Votes of all groups together mix numbers of raters.
    mixed = (rates["rater_group"] == POOLED) & rates["aggregation"].isin(["majority", "any"])
    rows = [
        {
            "panel": breakable(judged_by(own.iloc[0].to_dict(), rates, rubric)),
            "aggregation": _JUDGED[str(key[-1])],
            **{row["metric"]: _share(row) for row in own.to_dict("records")},
            "pairs": f"{own['n_pairs'].iloc[0]:,}",
        }
        for key, own in rates[~mixed].groupby(
            ["dataset", "model", "rater_group", "aggregation"], dropna=False, sort=False
        )
    ]
    labels = _JUDGED_ALONE | {"pairs": "Pairs"}
    return written_table(
        rows, labels, name=name, stub="aggregation", heading="Judged", group="panel"
    )


def agreement_table(agreement: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show coefficients of agreement with their intervals, and their meaning in words.

    Parameters
    ----------
    agreement : pandas.DataFrame
        The table ``rater_agreement`` of one benchmark and rubric.
    rubric, name
        As for `rates_table`.
    """
    own = agreement[agreement["coefficient"].isin(list(COEFFICIENTS))]
    known = {c: label for c, label in COEFFICIENTS.items() if c in set(own["coefficient"])}

    def cells(rows: pd.DataFrame) -> dict[str, str]:
        figures = rows.drop_duplicates("coefficient").set_index("coefficient")
        first = rows.iloc[0]
        return {
            **{str(key): _coefficient(row, str(key)) for key, row in figures.iterrows()},
            "n": f"{first['n_items']:,} / {first['n_raters']:,}",
            "words": prose_cell(in_words(figures)),
        }

    return _by_dimension(
        own,
        rubric,
        known | {"n": f"{noun(rubric, own).capitalize()}s / raters", "words": "In words"},
        name=name,
        by=["dataset", "model", "model_2", "rater_kind", "rater_group"],
        panel=lambda row: judged_by(row, own, rubric),
        cells=cells,
    )


def _counted(row: Row) -> str:
    """Write a rate with its counts, and the number of ties of votes."""
    n = row["n_tasks"] if row.get("aggregation", "pooled") != "pooled" else row["n_ratings"]
    ties = f"{row['n_ties']:,} ties" if row.get("n_ties") else ""
    return _share(row, ties, of=f"{row['n_reported']:,} of {n:,}")


def _share(row: Row, *below: str, of: str = "", unknown: str = "no rating") -> str:
    lines = (*_limits(row, percent_range), *below)
    return figure_cell(row["estimate"], share, *lines, of=of, unknown=unknown)


def _difference(row: Row, *below: str) -> str:
    lines = (*_limits(row, point_range), *below)
    return figure_cell(row["estimate"], points, *lines, unknown="no rating")


def _coefficient(row: Row, name: str) -> str:
    if name in ("percent", "positive"):
        return _share(row, unknown="not defined")
    lines = () if math.isnan(row["ci_low"]) else _limits(row, _kappas)
    return figure_cell(row["estimate"], _kappa, *lines, unknown="not defined")


def _limits(row: Row, form: Callable[[float, float], str]) -> list[str]:
    """Write the limits with clusters, those without in parentheses, and notes, as lines."""
    wide = "clustered" if "clustered_low" in row else "crossed"
    low, high = (row.get(f"{wide}_{end}", math.nan) for end in ("low", "high"))
    method = str(row.get(f"{wide}_method", ""))
    notes = dict.fromkeys(note for part, note in _MARKS.items() if part in method)
    first = "" if pd.isna(low) or pd.isna(high) else form(low, high)
    return [first, f"({form(row['ci_low'], row['ci_high'])})", ", ".join(notes)]


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

    Parameters
    ----------
    by_name : pandas.DataFrame
        Rows of the table ``rater_agreement``, indexed by the coefficient.
    """
    figures = by_name.to_dict("index")
    main = figures.get("krippendorff", {})
    alpha, low = main.get("estimate", math.nan), main.get("crossed_low", math.nan)
    if math.isnan(alpha):
        note = main.get("note")
        text = f"Not defined: {note}" if isinstance(note, str) and note else "Not defined"
    elif alpha >= _TENTATIVE:
        text = "Reliable" if alpha >= _RELIABLE else "Tentative conclusions only"
    else:
        text = "Single ratings are not reliable"
        if (main["ci_low"] if math.isnan(low) else low) <= 0:
            text += ", and may agree no better than by chance"
    positive = figures.get("positive", {}).get("estimate", math.nan)
    if not math.isnan(positive):
        text += f". If one rater reports it, another does in {percent(positive)}"
    return f"{text}."


def disputed_table(tasks: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show the tasks on which raters differ most, with one column per dimension.

    Parameters
    ----------
    tasks : pandas.DataFrame
        The table ``disagreement`` of one benchmark and rubric.
    rubric, name
        As for `rates_table`.
    """
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
