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
from fairstats.report.tables import (
    breakable,
    figure_cell,
    labels_of,
    prose_cell,
    share,
    written_table,
)

if TYPE_CHECKING:
    from great_tables import GT

Row = Mapping[Any, Any]
Form = tuple[Callable[[float], str], Callable[[float, float], str]]

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
    cells: Callable[[pd.DataFrame], Mapping[str, str]],
    *,
    name: str,
    by_group: bool = True,
) -> GT:
    """Make a table with a row per dimension and a panel per dataset, models and group of raters."""
    keys = ["dataset", "model", "model_2", *["rater_kind", "rater_group"] * by_group, "dimension"]
    found = []
    for _, own in rows.groupby([key for key in keys if key in rows], dropna=False, sort=False):
        first = own.iloc[0].to_dict()
        panel = judged_by(first, rows, rubric) if by_group else panel_label(first, rows)
        where = {
            "panel": breakable(panel),
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
    present, units = set(rates["aggregation"]), labels_of("ratings")["rates"]
    # Votes over all groups mix numbers of raters. A single rating is not a vote.
    voted = set(rates.loc[rates["n_ratings"] > rates["n_tasks"], "rater_group"]) - {POOLED}
    columns = {
        group: {
            f"{a}-{place}": unit.format(noun=noun(rubric, rates))
            for a, unit in units.items()
            if a in present and (a == "pooled" or group in voted)
        }
        for place, group in enumerate(groups)
    }

    def cells(own: pd.DataFrame) -> dict[str, str]:
        return {
            f"{row['aggregation']}-{groups.index(row['rater_group'])}": _counted(row)
            for row in own.to_dict("records")
        }

    labels = {column: label for own in columns.values() for column, label in own.items()}
    table = _by_dimension(rates, rubric, labels, cells, name=name, by_group=False)
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
    labels = labels_of("ratings")["preferences"]

    def cells(own: pd.DataFrame) -> dict[str, str]:
        figures = own.drop_duplicates("metric").set_index("metric").to_dict("index")
        difference, first = figures["preference_difference"], figures.get("position_difference")
        alone = f"({p_value(difference['p_value'])})"
        return {
            **{metric: _cell(row, _SHARE) for metric, row in figures.items() if metric in labels},
            "difference": _cell(difference, _POINTS),
            "p": figure_cell(difference["crossed_p_value"], p_value, alone, strong=False),
            "first": "not known"
            if first is None
            else _cell(first, _POINTS, p_value(first["crossed_p_value"])),
        }

    return _by_dimension(preferences, rubric, labels, cells, name=name)


def counterfactual_table(rates: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show bias in pairs judged as pairs: in all of them, and by the raters' view of the pair.

    Parameters
    ----------
    rates : pandas.DataFrame
        The table ``counterfactual_rates`` of one benchmark and rubric.
    rubric, name
        As for `rates_table`.
    """

    def cells(own: pd.DataFrame) -> dict[str, str]:
        return {
            f"{row['ideal_answers_differ']}, {row['contents_differ']}": _counted(row)
            for row in own.to_dict("records")
        }

    return _by_dimension(rates, rubric, labels_of("ratings")["pairs"], cells, name=name)


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
    labels = labels_of("ratings")
    # Votes of all groups together mix numbers of raters.
    mixed = (rates["rater_group"] == POOLED) & rates["aggregation"].isin(["majority", "any"])
    rows = [
        {
            "panel": breakable(judged_by(own.iloc[0].to_dict(), rates, rubric)),
            "aggregation": labels["judged"][str(key[-1])],
            **{row["metric"]: _cell(row, _SHARE) for row in own.to_dict("records")},
            "pairs": f"{own['n_pairs'].iloc[0]:,}",
        }
        for key, own in rates[~mixed].groupby(
            ["dataset", "model", "rater_group", "aggregation"], dropna=False, sort=False
        )
    ]
    shown = labels["judged_alone"]
    return written_table(
        rows, shown, name=name, stub="aggregation", heading="Judged", group="panel"
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
    coefficients = labels_of("ratings")["agreement"]
    own = agreement[agreement["coefficient"].isin(list(coefficients))]
    labels = {c: label for c, label in coefficients.items() if c in set(own["coefficient"])}
    labels |= {"n": f"{noun(rubric, own).capitalize()}s / raters", "words": "In words"}

    def cells(rows: pd.DataFrame) -> dict[str, str]:
        figures = rows.drop_duplicates("coefficient").set_index("coefficient")
        first = rows.iloc[0]
        forms = {"percent": _SHARE, "positive": _SHARE}
        return {
            **{
                str(key): _cell(row, forms.get(str(key), _KAPPA), unknown="not defined")
                for key, row in figures.iterrows()
            },
            "n": f"{first['n_items']:,} / {first['n_raters']:,}",
            "words": prose_cell(in_words(figures)),
        }

    return _by_dimension(own, rubric, labels, cells, name=name)


def _counted(row: Row) -> str:
    """Write a rate with its counts, and the number of ties of votes."""
    n = row["n_tasks"] if row.get("aggregation", "pooled") != "pooled" else row["n_ratings"]
    ties = f"{row['n_ties']:,} ties" if row.get("n_ties") else ""
    return _cell(row, _SHARE, ties, of=f"{row['n_reported']:,} of {n:,}")


def _cell(row: Row, form: Form, *below: str, of: str = "", unknown: str = "no rating") -> str:
    """Write a figure, its limits with clusters, those without in parentheses, and notes."""
    figure, limits = form
    wide = "clustered" if "clustered_low" in row else "crossed"
    clustered = (row.get(f"{wide}_{end}", math.nan) for end in ("low", "high"))
    first, exact = (
        "" if pd.isna(low) or pd.isna(high) else limits(low, high)
        for low, high in (clustered, (row["ci_low"], row["ci_high"]))
    )
    method, marks = str(row.get(f"{wide}_method", "")), labels_of("ratings")["limits"]
    notes = ", ".join(dict.fromkeys(note for part, note in marks.items() if part in method))
    lines = (first, f"({exact})" * bool(exact), notes, *below)
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


_SHARE: Form = (share, percent_range)
_POINTS: Form = (points, point_range)
_KAPPA: Form = (_kappa, _kappas)


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
