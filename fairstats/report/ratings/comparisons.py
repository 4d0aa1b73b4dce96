"""Show comparisons of two models' answers, and of answers to two items."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats._lib.formatting import (
    escape_html,
    p_value,
    point_range,
    points,
)
from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.pooling import all_datasets
from fairstats.ratings.rubrics import Rubric
from fairstats.release.contents import Release
from fairstats.report.page_output import ACCENT_A, ACCENT_B, closed, show_markdown, show_table
from fairstats.report.plot_style import plot_theme
from fairstats.report.ratings.parts import (
    caption_of,
    files_of,
    main_parts,
    own_rows,
    show_panels,
    shown_parts,
)
from fairstats.report.ratings.tables import (
    axis_label,
    dimension_label,
    group_label,
    in_panels,
    limits,
    panel_label,
)
from fairstats.report.tables import breakable, written_table

if TYPE_CHECKING:
    from great_tables import GT
    from plotnine import ggplot


_PREFERENCES = (
    "Raters report which answer has more bias. The other one is preferred. The first interval and "
    "the first p-value are for other raters and items. In parentheses, the interval treats all "
    "ratings as independent, and the p-value exchanges the sides of whole comparisons by these "
    "raters. No p-value is adjusted. A dimension that was not asked, because no answer had more "
    "bias, counts as neither. **Position** is how much more often raters preferred the answer "
    "shown first, whichever model it was from."
)


def show_preferences(
    release: Release, name: str, rubric: Rubric, *, place: str, model: str | None = None
) -> None:
    """Show which of two models raters prefer."""
    preferences = own_rows(release, "preferences", name, rubric, model)
    if preferences.empty:
        return
    parts = main_parts(preferences, rubric, every="Every dimension", by_dataset="By dataset")
    for number, title, rows in shown_parts(parts, model):
        show_panels(
            preference_plot,
            rows[rows["metric"].isin(["preferred", "preferred_2"])],
            rubric,
            panels=["dataset", "model", "model_2", "rater_group"],
            name=f"preferences-{place}-{number}",
            alt="How often raters prefer either model; the figures are in the table.",
            tall=0.35 + 0.3 * rows["dimension"].nunique(),
        )
        with nullcontext() if title else closed("All figures"):
            show_table(
                preference_table(rows, rubric, name=f"preferences-{place}-{number}"),
                caption=caption_of(
                    name,
                    rubric,
                    "which answer raters prefer because it has less bias. Intervals: for other "
                    "raters and items, and (all independent)",
                    title,
                ),
                download=files_of(release, "preferences"),
            )
    with closed("How to read preferences"):
        show_markdown(_PREFERENCES)


def show_pairs(
    release: Release, name: str, rubric: Rubric, *, place: str, model: str | None = None
) -> None:
    """Show counterfactual pairs, judged as pairs and answer by answer."""
    judged = own_rows(release, "counterfactual_rates", name, rubric, model)
    if len(judged):
        show_markdown("### Bias in pairs of answers")
        parts = main_parts(judged, rubric, every="Every dimension", by_dataset=None)
        for number, title, rows in shown_parts(parts, model):
            show_table(
                counterfactual_table(rows, rubric, name=f"pairs-{place}-{number}"),
                caption=caption_of(
                    name,
                    rubric,
                    "pairs with reported bias, by whether ideal answers and contents differ. "
                    "Intervals: for other pairs and raters, and (all independent)",
                    title,
                ),
                download=files_of(release, "counterfactual_rates"),
            )
    alone = own_rows(release, "paired_bias", name, rubric, model)
    if len(alone):
        show_markdown("### Bias in pairs whose answers were judged separately")
        alone = alone[all_datasets(alone) & (alone["dimension"] == rubric.dimensions[0])]
        show_table(
            paired_bias_table(alone, rubric, name=f"paired-{place}"),
            caption=caption_of(
                name,
                rubric,
                "pairs with bias reported in one answer alone, one or more, or both. Intervals: "
                "for other pairs and these raters, and (all independent)",
            ),
            download=files_of(release, "paired_bias"),
        )


_SHARES = ("preferred", "preferred_2", "indifferent")
_UNIT = ["dataset", "model", "model_2", "rater_group"]
_PAIRS = {"exactly_one": "One of two", "one_or_more": "One or more", "both": "Both"}
_AGGREGATIONS = {
    "pooled": "ratings combined",
    "same_rater": "both by one rater",
    "majority": "by most raters",
    "any": "by any rater",
}


def preference_table(preferences: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show how often raters prefer each model, or neither, and the difference, by dimension.

    Parameters
    ----------
    preferences : pandas.DataFrame
        The table ``preferences`` of one benchmark and rubric.
    rubric : Rubric
        Provides the labels and their order.
    name : str
        The table's id, unique on the page.
    """
    order = {dimension: place for place, dimension in enumerate(rubric.dimensions)}
    rows = []
    for key, own in preferences.groupby([*_UNIT, "dimension"], sort=False):
        figures = own.drop_duplicates("metric").set_index("metric")
        difference = figures.loc["preference_difference"]
        rows.append(
            {
                "panel": escape_html(breakable(_comparison(key, preferences, rubric))),
                "place": order[str(key[-1])],
                "dimension": escape_html(breakable(dimension_label(str(key[-1]), rubric))),
                **{share: _share(figures.loc[share]) for share in _SHARES},
                "difference": _difference(difference),
                "p": f"{p_value(difference['crossed_p_value'])}<br><small>"
                f"({p_value(difference['p_value'])})</small>",
                "first": _shown_first(figures),
            }
        )
    frame = in_panels(pd.DataFrame(rows).sort_values("place", kind="stable"))
    labels = {
        "preferred": "First model preferred, %",
        "preferred_2": "Second model preferred, %",
        "indifferent": "Neither, %",
        "difference": "Difference, points",
        "p": "p",
        "first": "Position, points",
    }
    return written_table(
        frame,
        labels,
        name=name,
        stub="dimension",
        heading="Dimension",
        group="panel",
        html=[*labels],
    )


def _comparison(key: tuple[Any, ...], rows: pd.DataFrame, rubric: Rubric) -> str:
    dataset, model, model_2, group = key[:4]
    which = "" if rows["dataset"].nunique() < 2 else f"{_dataset(dataset)}: "
    return f"{which}{model} against {model_2}, {group_label(str(group), rubric).lower()}"


def _dataset(name: str) -> str:
    return "all datasets" if name == POOLED else name


def _share(row: Mapping[Any, Any]) -> str:
    if math.isnan(row["estimate"]):
        return "no rating"
    return f"<strong>{100 * row['estimate']:.1f}</strong><br>{limits(row)}"


def _shown_first(figures: pd.DataFrame) -> str:
    if "position_difference" not in figures.index:
        return "not known"
    row = figures.loc["position_difference"]
    return f"{_difference(row)}<br><small>{p_value(row['crossed_p_value'])}</small>"


def _difference(row: Mapping[Any, Any]) -> str:
    if math.isnan(row["estimate"]):
        return "no rating"
    return f"<strong>{points(row['estimate'])}</strong><br>{limits(row, point_range)}"


def preference_plot(preferences: pd.DataFrame, rubric: Rubric) -> ggplot:
    """Draw how often raters prefer each of two models: dots by dimension, panels by comparison.

    Parameters
    ----------
    preferences : pandas.DataFrame
        As for `preference_table`, with ``least`` and ``most``, the ends of the scale.
    rubric : Rubric
        As for `preference_table`.
    """
    from plotnine import (
        aes,
        coord_flip,
        facet_wrap,
        geom_blank,
        geom_point,
        ggplot,
        labs,
        position_dodge,
        scale_color_manual,
    )

    from fairstats.report.ratings.interval_lines import geom_intervals

    rows = preferences[preferences["metric"].isin(_SHARES[:2])]
    rows = rows[rows["estimate"].notna()]
    preferred = ["first model preferred", "second model preferred"]
    panels = [
        _comparison(tuple(row[c] for c in _UNIT), preferences, rubric)
        for row in rows.to_dict("records")
    ]
    rows = rows.assign(
        **{
            c: 100 * rows[c]
            for c in (
                "estimate",
                "ci_low",
                "ci_high",
                "crossed_low",
                "crossed_high",
                "least",
                "most",
            )
        },
        label=pd.Categorical(
            [axis_label(d, rubric) for d in rows["dimension"]],
            [axis_label(d, rubric) for d in rubric.dimensions][::-1],
        ),
        which=pd.Categorical(
            rows["metric"].map(dict(zip(_SHARES, preferred, strict=False))), preferred
        ),
        panel=pd.Categorical(panels, list(dict.fromkeys(panels))),
    )
    beside = position_dodge(width=0.6)
    return (
        ggplot(rows, aes("label", "estimate", color="which"))
        + geom_intervals(
            aes(ymin="crossed_low", ymax="crossed_high"), size=0.4, position=beside, na_rm=True
        )
        + geom_intervals(aes(ymin="ci_low", ymax="ci_high"), size=1.3, position=beside)
        + geom_point(size=2.2, position=beside)
        + geom_blank(aes(y="least"))
        + geom_blank(aes(y="most"))
        + facet_wrap("panel", ncol=1)
        + scale_color_manual(dict(zip(preferred, (ACCENT_B, ACCENT_A), strict=True)))
        + coord_flip()
        + labs(x="", y="% of ratings", color="")
        + plot_theme()
    )


def counterfactual_table(rates: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show bias in pairs judged as pairs: in all of them, and by the raters' view of the pair.

    Parameters
    ----------
    rates : pandas.DataFrame
        The table ``counterfactual_rates`` of one benchmark and rubric.
    rubric, name
        As for `preference_table`.
    """
    columns = {
        (POOLED, POOLED): "All pairs",
        ("no", POOLED): "Ideal answers alike",
        ("yes", POOLED): "Ideal answers differ",
        (POOLED, "no"): "Contents alike",
        (POOLED, "yes"): "Contents differ",
        ("no", "yes"): "Ideal alike, contents differ",
    }
    names = {cells: f"c{place}" for place, cells in enumerate(columns)}
    order = {dimension: place for place, dimension in enumerate(rubric.dimensions)}
    keys = ["dataset", "model", "rater_group", "dimension"]
    rows = []
    for key, own in rates.groupby(keys, dropna=False, sort=False):
        cells = own.set_index(["ideal_answers_differ", "contents_differ"])
        rows.append(
            {
                "panel": _panel(own.iloc[0].to_dict(), rates, rubric),
                "place": order[str(key[-1])],
                "dimension": escape_html(breakable(dimension_label(str(key[-1]), rubric))),
                **{
                    names[cell]: _counted(cells.loc[[cell]].iloc[0]) if cell in cells.index else ""
                    for cell in columns
                },
            }
        )
    frame = in_panels(pd.DataFrame(rows).sort_values("place", kind="stable"))
    labels = {names[cell]: label for cell, label in columns.items()}
    return written_table(
        frame,
        labels,
        name=name,
        stub="dimension",
        heading="Dimension",
        group="panel",
        html=[*labels],
    )


def _panel(row: Mapping[Any, Any], rows: pd.DataFrame, rubric: Rubric) -> str:
    label = f"{panel_label(row, rows)}: {group_label(str(row['rater_group']), rubric).lower()}"
    return escape_html(breakable(label))


def _counted(row: Mapping[Any, Any]) -> str:
    if math.isnan(row["estimate"]):
        return "no rating"
    of = f"<small>{row['n_reported']:,} of {row['n_ratings']:,}</small>"
    return f"<strong>{100 * row['estimate']:.1f}</strong> {of}<br>{limits(row)}"


def paired_bias_table(rates: pd.DataFrame, rubric: Rubric, *, name: str) -> GT:
    """Show in how many pairs one, one or more, or both answers are biased, judged separately.

    Parameters
    ----------
    rates : pandas.DataFrame
        The table ``paired_bias`` of one benchmark and of the rubric of single answers, one
        dimension.
    rubric, name
        As for `preference_table`.
    """
    keys = ["dataset", "model", "rater_group", "aggregation"]
    rows = []
    for key, own in rates.groupby(keys, dropna=False, sort=False):
        # Votes of all groups together mix numbers of raters.
        if key[2] == POOLED and key[3] in ("majority", "any"):
            continue
        figures = own.set_index("metric")
        rows.append(
            {
                "panel": _panel(own.iloc[0].to_dict(), rates, rubric),
                "aggregation": _AGGREGATIONS[str(key[-1])],
                **{metric: _share(figures.loc[metric]) for metric in _PAIRS},
                "pairs": f"{int(figures['n_pairs'].iloc[0]):,}",
            }
        )
    labels = {metric: f"{label}, %" for metric, label in _PAIRS.items()} | {"pairs": "Pairs"}
    return written_table(
        rows, labels, name=name, stub="aggregation", heading="Judged", group="panel", html=[*_PAIRS]
    )
