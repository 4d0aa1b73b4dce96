"""Show tables of ratings: rates, agreement in figures and words, raters, disputed items."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats._lib.formatting import MINUS, escape_html, percent, percent_range
from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.rubrics import Rubric
from fairstats.report.tables import breakable, written_table

if TYPE_CHECKING:
    from great_tables import GT

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
_AGGREGATIONS = {
    "pooled": "Of ratings",
    "majority": "Of {noun}, by most raters",
    "any": "Of {noun}, by any rater",
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
# Krippendorff (2004), Content Analysis, section 11.4.2, who calls it a convention.
_RELIABLE, _TENTATIVE = 0.8, 0.667


def dimension_label(dimension: str, rubric: Rubric) -> str:
    """Return the label of a dimension."""
    return rubric.question(dimension).label


def group_order(groups: Iterable[str], rubric: Rubric) -> list[str]:
    """Order groups of raters: as the rubric declares them, then all together, then models."""
    known = [*rubric.rater_groups, POOLED]
    return sorted(
        dict.fromkeys(groups), key=lambda g: (known.index(g) if g in known else len(known), g)
    )


def axis_label(dimension: str, rubric: Rubric) -> str:
    """Break the label of a dimension into lines for the axis of a plot."""
    return textwrap.fill(rubric.question(dimension).label, 28)


def group_label(group: str, rubric: Rubric) -> str:
    """Return the label of a group of raters."""
    if group == POOLED:
        return "All raters"
    # A group that the rubric does not declare is a model that rates.
    return rubric.rater_groups.get(group, f"{group} (a model)")


def noun(rubric: Rubric, rows: pd.DataFrame, *, several: bool = True) -> str:
    """Name a task of a rubric: an answer, a text, a comparison or a pair."""
    named = rows["model"].notna().any() if "model" in rows else False
    word = {"models": "comparison", "items": "pair"}.get(
        rubric.compares, "answer" if named else "text"
    )
    return f"{word}s" if several else word


def panel_label(row: Mapping[Any, Any], rows: pd.DataFrame) -> str:
    """Name the judged answers or texts: the dataset, and the model if its answers were judged."""
    several = rows["dataset"].nunique() > 1 or row["dataset"] not in (POOLED, row["benchmark"])
    named = [" against ".join(row[c] for c in ("model", "model_2") if isinstance(row.get(c), str))]
    named = [name for name in named if name]
    together = "all datasets" if named else "All datasets"
    dataset = together if row["dataset"] == POOLED else str(row["dataset"])
    return ", ".join([*named, *([dataset] if several or not named else [])])


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
    order = {dimension: place for place, dimension in enumerate(rubric.dimensions)}
    groups = group_order(rates["rater_group"], rubric)
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for row in sorted(rates.to_dict("records"), key=lambda r: order[r["dimension"]]):
        panel = escape_html(breakable(panel_label(row, rates)))
        label = escape_html(breakable(dimension_label(row["dimension"], rubric)))
        cells = rows.setdefault((panel, label), {"panel": panel, "dimension": label})
        place = groups.index(row["rater_group"])
        cells[f"{row['aggregation']}-{place}"] = _rate(row)
    present = set(rates["aggregation"])
    # Votes over all groups mix numbers of raters. A single rating is not a vote.
    voted = set(rates.loc[rates["n_ratings"] > rates["n_tasks"], "rater_group"]) - {POOLED}
    shown = {
        i: [a for a in _AGGREGATIONS if a in present and (a == "pooled" or group in voted)]
        for i, group in enumerate(groups)
    }
    of = noun(rubric, rates)
    labels = {f"{a}-{i}": _AGGREGATIONS[a].format(noun=of) for i, own in shown.items() for a in own}
    table = written_table(
        in_panels(pd.DataFrame(list(rows.values()))),
        labels,
        name=name,
        stub="dimension",
        heading="Dimension",
        group="panel",
        html=[*labels],
    )
    for place, group in enumerate(groups):
        if columns := [f"{aggregation}-{place}" for aggregation in shown[place]]:
            heading = f"{group_label(group, rubric)}, %"
            table = table.tab_spanner(heading, columns=columns, id=f"{name}-{place}")
    return table


def in_panels(frame: pd.DataFrame) -> pd.DataFrame:
    """Group rows by panel, in the order in which panels first appear."""
    names = list(dict.fromkeys(frame.sort_index()["panel"]))
    return frame.sort_values(
        "panel", key=lambda column: column.map(names.index), kind="stable", ignore_index=True
    )


def _rate(row: Mapping[Any, Any]) -> str:
    """Format a rate with both intervals: with clusters of items and raters, and without."""
    if math.isnan(row["estimate"]):
        return "no rating"
    n = row["n_ratings"] if row["aggregation"] == "pooled" else row["n_tasks"]
    of = f"<small>{row['n_reported']:,} of {n:,}</small>"
    ties = f"<br><small>{row['n_ties']:,} ties</small>" if row["n_ties"] else ""
    return f"<strong>{100 * row['estimate']:.1f}</strong> {of}<br>{limits(row)}{ties}"


def limits(row: Mapping[Any, Any], form: Callable[[float, float], str] = percent_range) -> str:
    """Format the limits with clusters, those without in parentheses, and a note."""
    over = form(row["ci_low"], row["ci_high"])
    wide = next((kind for kind in ("crossed", "clustered") if f"{kind}_low" in row), "crossed")
    low, high = row.get(f"{wide}_low", math.nan), row.get(f"{wide}_high", math.nan)
    method = str(row.get(f"{wide}_method", ""))
    marks = dict.fromkeys(mark for part, mark in _MARKS.items() if part in method)
    marked = f"<br>{', '.join(marks)}" if marks else ""
    first = "" if pd.isna(low) or pd.isna(high) else f"{form(low, high)}<br>"
    return f"<small>{first}({over}){marked}</small>"


def agreement_table(agreement: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show coefficients of agreement with their intervals, and their meaning in words.

    Parameters
    ----------
    agreement : pandas.DataFrame
        The table ``rater_agreement`` of one benchmark and rubric.
    rubric, name
        As for `rates_table`.
    """
    order = {dimension: place for place, dimension in enumerate(rubric.dimensions)}
    own = agreement[agreement["coefficient"].isin(list(COEFFICIENTS))]
    keys = ["dataset", "model", "model_2", "rater_kind", "rater_group", "dimension"]
    columns = {c: label for c, label in COEFFICIENTS.items() if c in set(own["coefficient"])}
    rows = []
    for _, figures in own.groupby(keys, dropna=False, sort=False):
        first = figures.iloc[0].to_dict()
        by_name = figures.drop_duplicates("coefficient").set_index("coefficient")
        panel = f"{panel_label(first, own)}: {group_label(first['rater_group'], rubric)}"
        rows.append(
            {
                "panel": escape_html(breakable(panel)),
                "place": order[first["dimension"]],
                "dimension": escape_html(breakable(dimension_label(first["dimension"], rubric))),
                **{
                    key: _coefficient(by_name.loc[key], key) if key in by_name.index else ""
                    for key in columns
                },
                "n": f"{first['n_items']:,} / {first['n_raters']:,}",
                "words": f'<span class="said">{escape_html(in_words(by_name))}</span>',
            }
        )
    frame = in_panels(pd.DataFrame(rows).sort_values("place", kind="stable"))
    counted = {"n": f"{noun(rubric, own).capitalize()} / raters", "words": "In words"}
    return written_table(
        frame,
        columns | counted,
        name=name,
        stub="dimension",
        heading="Dimension",
        group="panel",
        html=[*columns, "words"],
    )


def _coefficient(row: pd.Series, name: str) -> str:
    if math.isnan(row["estimate"]):
        return "not defined"
    if name in ("percent", "positive"):
        return f"<strong>{100 * row['estimate']:.1f}</strong><br>{limits(row.to_dict())}"
    known = not math.isnan(row["ci_low"])
    below = f"<br>{limits(row.to_dict(), _kappas)}" if known else ""
    return f"<strong>{_kappa(row['estimate'])}</strong>{below}"


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
    sign = MINUS if value < 0 and float(text) else ""
    return sign + (text[1:] if text.startswith("0") else text)


def in_words(by_name: pd.DataFrame) -> str:
    """State the meaning of the coefficients of one dimension.

    Parameters
    ----------
    by_name : pandas.DataFrame
        Rows of the table ``rater_agreement``, indexed by the coefficient.
    """
    figures = by_name.to_dict("index")
    alpha = figures.get("krippendorff", {}).get("estimate", math.nan)
    if math.isnan(alpha):
        note = figures.get("krippendorff", {}).get("note")
        text = f"Not defined: {note}" if isinstance(note, str) and note else "Not defined"
    elif alpha >= _RELIABLE:
        text = "Reliable"
    elif alpha >= _TENTATIVE:
        text = "Tentative conclusions only"
    else:
        low = figures["krippendorff"].get("crossed_low", math.nan)
        low = figures["krippendorff"]["ci_low"] if math.isnan(low) else low
        text = "Single ratings are not reliable"
        text += ", and may agree no better than by chance" if low <= 0 else ""
    positive = figures.get("positive", {}).get("estimate", math.nan)
    if not math.isnan(positive):
        text += f". If one rater reports it, another does in {percent(positive)}"
    return f"{text}."


def disputed_table(tasks: pd.DataFrame, rubric: Rubric, *, name: str, limit: int) -> GT:
    """Show the tasks on which raters differ most, with one column per dimension.

    Parameters
    ----------
    tasks : pandas.DataFrame
        The table ``disagreement`` of one benchmark and rubric.
    limit : int
        The number of tasks to show.
    rubric, name
        As for `rates_table`.
    """
    # If several groups judge, use all raters together.
    groups = set(tasks["rater_group"])
    own = tasks[(tasks["n_ratings"] > 1) & tasks["rater_group"].isin({POOLED} & groups or groups)]
    keys = ["dataset", "task_id", "rater_group"]
    lead = own["dimension"].isin(rubric.leading)
    # Order by the dimensions that are always asked; the others break ties. The disagreement is
    # the size of the smaller side, so three against three counts more than one against one.
    against = own[["n_reported"]].assign(other=own["n_ratings"] - own["n_reported"]).min(axis=1)
    own = own.assign(against=against)
    order = pd.DataFrame(
        {
            "lead": own[lead].groupby(keys, sort=False)["against"].sum(),
            "all": own.groupby(keys, sort=False)["against"].sum(),
        }
    ).sort_values(["lead", "all"], ascending=False, kind="stable")
    rows = []
    for key in order.index[:limit]:
        its = own[(own[keys] == list(key)).all(axis=1)]
        first = its.iloc[0]
        named = [str(first["item_id"]), first["model"], str(first["task_id"])]
        label = ", ".join(dict.fromkeys(part for part in named if isinstance(part, str)))
        cells = {
            row["dimension"]: f"{row['n_reported']} of {row['n_ratings']}"
            for row in its.to_dict("records")
        }
        rows.append({"task": escape_html(breakable(label)), **cells})
    present = [d for d in rubric.dimensions if any(d in row for row in rows)]
    labels = {d: rubric.question(d).label for d in present}
    return written_table(
        rows, labels, name=name, stub="task", heading="Item, model, task", html=["task"]
    )
