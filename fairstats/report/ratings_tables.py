"""Tables of ratings: rates, agreement in figures and words, raters, disputed items."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats.benchmarks import POOLED
from fairstats.ratings.rubrics import Rubric
from fairstats.report.tables import breakable
from fairstats.report.text import MINUS, escape_html, percent, percent_range

if TYPE_CHECKING:
    from great_tables import GT

#: The coefficients of agreement, in the order of the table's columns.
COEFFICIENTS = {
    "percent": "Pairs that agree, %",
    "randolph": "Randolph's κ",
    "fleiss": "Fleiss' κ",
    "gwet_ac1": "Gwet's AC1",
    "krippendorff": "Krippendorff's α",
}
_AGGREGATIONS = {
    "pooled": "Of ratings",
    "majority": "Of items, by most raters",
    "any": "Of items, by any rater",
}
# Landis & Koch (1977), Biometrics 33:159-174; a convention, as the authors say.
_WORDS = ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))


def dimension_label(dimension: str, rubric: Rubric) -> str:
    """A dimension as readers see it."""
    return rubric.question(dimension).label


def axis_label(dimension: str, rubric: Rubric) -> str:
    """The same in lines short enough for the axis of a plot."""
    return textwrap.fill(rubric.question(dimension).label, 28)


def group_label(group: str, rubric: Rubric) -> str:
    """A group of raters as readers see it."""
    if group == POOLED:
        return "All raters"
    # What is no group of the rubric is a model that judges.
    return rubric.rater_groups.get(group, f"{group} (a model)")


def panel_label(row: Mapping[Any, Any], rows: pd.DataFrame) -> str:
    """What was judged: the dataset, and the model where answers of models were."""
    several = rows["dataset"].nunique() > 1 or row["dataset"] not in (POOLED, row["benchmark"])
    model = row.get("model")
    named = [str(model)] if isinstance(model, str) else []
    together = "all datasets" if named else "All datasets"
    dataset = together if row["dataset"] == POOLED else str(row["dataset"])
    return ", ".join([*named, *([dataset] if several or not named else [])])


def rates_table(rates: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Rates by dimension: for each group of raters a column an aggregation.

    Parameters
    ----------
    rates : pandas.DataFrame
        `fairstats.bias_rates` of one benchmark and rubric.
    rubric : Rubric
        Gives the labels and their order.
    name : str
        The table's id, its own on the page.
    """
    from great_tables import GT

    order = {dimension: place for place, dimension in enumerate(rubric.dimensions)}
    groups = list(dict.fromkeys(rates["rater_group"]))
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for row in sorted(rates.to_dict("records"), key=lambda r: order[r["dimension"]]):
        panel = escape_html(breakable(panel_label(row, rates)))
        label = escape_html(dimension_label(row["dimension"], rubric))
        cells = rows.setdefault((panel, label), {"panel": panel, "dimension": label})
        place = groups.index(row["rater_group"])
        cells[f"{row['aggregation']}-{place}"] = _rate(row)
    columns = [f"{aggregation}-{i}" for i in range(len(groups)) for aggregation in _AGGREGATIONS]
    frame = pd.DataFrame(list(rows.values())).reindex(columns=["panel", "dimension", *columns])
    frame = in_panels(frame).fillna("")
    table = (
        GT(frame, rowname_col="dimension", groupname_col="panel", id=name)
        .tab_stubhead("Dimension")
        .fmt_passthrough(columns=columns, escape=False)
        .cols_align("left")
    )
    for place, group in enumerate(groups):
        own = {f"{key}-{place}": label for key, label in _AGGREGATIONS.items()}
        table = table.cols_label(cases=own)  # type: ignore[arg-type]
        heading = f"{group_label(group, rubric)}, %"
        table = table.tab_spanner(heading, columns=list(own), id=f"{name}-{place}")
    return table


def in_panels(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of one panel together, panels in the order in which they first stood."""
    names = list(dict.fromkeys(frame.sort_index()["panel"]))
    return frame.sort_values(
        "panel", key=lambda column: column.map(names.index), kind="stable", ignore_index=True
    )


def _rate(row: Mapping[Any, Any]) -> str:
    """The rate, the interval that knows of raters and items, and the one over ratings alone."""
    if math.isnan(row["estimate"]):
        return "no rating"
    figure = f"<strong>{100 * row['estimate']:.1f}</strong>"
    over = percent_range(row["ci_low"], row["ci_high"])
    if row["aggregation"] != "pooled":
        return f"{figure}<br><small>{over}</small>"
    crossed = percent_range(row["crossed_low"], row["crossed_high"])
    return f"{figure}<br><small>{crossed}<br>({over})</small>"


def agreement_table(agreement: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Coefficients of agreement with their intervals, and what they mean in words.

    Parameters
    ----------
    agreement : pandas.DataFrame
        The table ``rater_agreement`` of one benchmark and rubric.
    rubric, name
        As for `rates_table`.
    """
    from great_tables import GT

    order = {dimension: place for place, dimension in enumerate(rubric.dimensions)}
    own = agreement[agreement["coefficient"].isin(list(COEFFICIENTS))]
    keys = ["dataset", "model", "rater_kind", "rater_group", "dimension"]
    rows = []
    for _, figures in own.groupby(keys, dropna=False, sort=False):
        first = figures.iloc[0].to_dict()
        by_name = figures.drop_duplicates("coefficient").set_index("coefficient")
        panel = f"{panel_label(first, own)}: {group_label(first['rater_group'], rubric)}"
        rows.append(
            {
                "panel": escape_html(breakable(panel)),
                "place": order[first["dimension"]],
                "dimension": escape_html(dimension_label(first["dimension"], rubric)),
                **{
                    key: _coefficient(by_name.loc[key], key) if key in by_name.index else ""
                    for key in COEFFICIENTS
                },
                "words": f'<span class="said">{escape_html(in_words(by_name))}</span>',
            }
        )
    frame = in_panels(pd.DataFrame(rows).sort_values("place", kind="stable"))
    return (
        GT(frame.drop(columns="place"), rowname_col="dimension", groupname_col="panel", id=name)
        .tab_stubhead("Dimension")
        .cols_label(cases={**COEFFICIENTS, "words": "In words"})
        .fmt_passthrough(columns=[*COEFFICIENTS, "words"], escape=False)
        .cols_align("left")
    )


def _coefficient(row: pd.Series, name: str) -> str:
    if math.isnan(row["estimate"]):
        return "not defined"
    if name == "percent":
        limits = percent_range(row["ci_low"], row["ci_high"])
        return f"<strong>{100 * row['estimate']:.1f}</strong><br><small>{limits}</small>"
    limits = f"{_kappa(row['ci_low'])} to {_kappa(row['ci_high'])}"
    known = not math.isnan(row["ci_low"])
    return f"<strong>{_kappa(row['estimate'])}</strong>" + (
        f"<br><small>{limits}</small>" if known else ""
    )


def _kappa(value: float) -> str:
    """Without the 0 before the point, as coefficients up to 1 are printed.

    Examples
    --------
    >>> _kappa(0.2773), _kappa(-0.05), _kappa(1.0)
    ('.277', '−.050', '1.000')
    """
    text = f"{abs(value):.3f}"
    sign = MINUS if value < 0 and float(text) else ""
    return sign + (text[1:] if text.startswith("0") else text)


def in_words(by_name: pd.DataFrame) -> str:
    """What the coefficients of one dimension say.

    Parameters
    ----------
    by_name : pandas.DataFrame
        Rows of the table ``rater_agreement``, indexed by the coefficient.
    """
    said = []
    if "randolph" in by_name.index and not math.isnan(by_name.loc["randolph", "estimate"]):
        kappa = float(by_name.loc["randolph", "estimate"])
        said.append(f"{_word(kappa)} by κ")
    if "krippendorff" in by_name.index:
        alpha = float(by_name.loc["krippendorff", "estimate"])
        if math.isnan(alpha):
            said.append("α is not defined")
        elif alpha >= 0.8:
            said.append("reliable by α")
        elif alpha >= 0.667:
            said.append("for tentative conclusions by α")
        else:
            said.append("by α no single rating can be relied on")
    # The notes in full are in the table of the release.
    if by_name["note"].fillna("").str.contains("prevalence paradox").any():
        said.append("nearly all ratings are alike (prevalence paradox)")
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}"


def _word(kappa: float) -> str:
    if kappa < 0:
        return _WORDS[0][1]
    below = [word for limit, word in _WORDS[1:] if kappa <= limit]
    return below[0] if below else "almost perfect"


def raters_table(raters: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """One row a rater: how many judgements, how long, how often something is reported.

    Parameters
    ----------
    raters : pandas.DataFrame
        The table ``raters`` of one benchmark and rubric.
    rubric, name
        As for `rates_table`.
    """
    from great_tables import GT

    rows = [
        {
            "group": escape_html(group_label(row["rater_group"], rubric)),
            "rater": escape_html(breakable(row["rater_id"])),
            "judgements": f"{row['n_judgements']:,}",
            "repeats": f"{row['n_repeats']:,}" if row["n_repeats"] else "–",
            "hours": _hours(row["duration_s"]),
            "median": _seconds(row["median_duration_s"]),
            "reported": percent(row["share_reported"]),
        }
        for row in raters.to_dict("records")
    ]
    frame = pd.DataFrame(rows)
    return (
        GT(frame, rowname_col="rater", groupname_col="group", id=name)
        .tab_stubhead("Rater")
        .cols_label(
            judgements="Judgements",
            repeats="Of these again",
            hours="Hours",
            median="Median time",
            reported="Reported",
        )
        .fmt_passthrough(columns=list(frame), escape=False)
        .cols_align("right", columns=["judgements", "repeats", "hours", "median", "reported"])
    )


def _hours(seconds: float) -> str:
    return "not known" if math.isnan(seconds) else f"{seconds / 3600:.1f}"


def _seconds(seconds: float) -> str:
    return "not known" if math.isnan(seconds) else f"{seconds:.0f} s"


def disputed_table(tasks: pd.DataFrame, rubric: Rubric, *, name: str, limit: int) -> GT:
    """The tasks on which raters differ most: reports of raters, a column a dimension.

    Parameters
    ----------
    tasks : pandas.DataFrame
        The table ``disagreement`` of one benchmark and rubric.
    limit : int
        How many tasks stand in it.
    rubric, name
        As for `rates_table`.
    """
    from great_tables import GT

    order = {dimension: place for place, dimension in enumerate(rubric.dimensions)}
    keys = ["dataset", "task_id", "rater_group"]
    # All raters together, where several groups judge.
    groups = set(tasks["rater_group"])
    own = tasks[(tasks["n_ratings"] > 1) & tasks["rater_group"].isin({POOLED} & groups or groups)]
    mean = own.groupby(keys, sort=False)["agreement"].mean().sort_values(kind="stable")
    rows = []
    for dataset, task, group in mean.index[:limit]:
        its = own[(own["dataset"] == dataset) & (own["task_id"] == task)]
        its = its[its["rater_group"] == group]
        cells = {
            f"d{order[row['dimension']]}": f"{row['n_reported']} of {row['n_ratings']}"
            for row in its.to_dict("records")
        }
        rows.append({"task": escape_html(f"{dataset}, {task}"), **cells})
    present = [d for d in rubric.dimensions if any(f"d{order[d]}" in row for row in rows)]
    columns = [f"d{order[d]}" for d in present]
    frame = pd.DataFrame(rows).reindex(columns=["task", *columns]).fillna("")
    labels = {f"d{order[d]}": rubric.question(d).label for d in present}
    return (
        GT(frame, rowname_col="task", id=name)
        .tab_stubhead("Item")
        .cols_label(cases=labels)  # type: ignore[arg-type]
        .fmt_passthrough(columns=["task"], escape=False)
        .cols_align("left")
    )
