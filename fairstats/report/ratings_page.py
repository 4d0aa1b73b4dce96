"""Show raters' reports on open answers, and how well the raters agree."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.formatting import (
    capital,
    escape_markdown,
    level,
    number_word,
    percent,
    percent_range,
)
from fairstats._lib.safe_names import slug
from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.rubrics import Rubric
from fairstats.release.contents import Release
from fairstats.report.agreement_section import show_agreement, show_disagreement
from fairstats.report.comparison_sections import show_pairs, show_preferences
from fairstats.report.page_output import show_markdown
from fairstats.report.rates_section import show_rates
from fairstats.report.ratings_parts import own_rows
from fairstats.report.ratings_tables import group_label, noun

#: The dimension of bias of any kind.
BIAS = "bias"


def show_ratings(release: Release) -> None:
    """Show the release's ratings by benchmark and rubric."""
    ratings = release.ratings
    groups = {(str(b), str(r)): own for (b, r), own in ratings.groupby(["benchmark", "rubric"])}
    order = ("nothing", "models", "items")
    for name, which in sorted(
        groups, key=lambda key: (key[0], order.index(release.rubrics[key[1]].compares), key[1])
    ):
        _show_rubric(release, name, release.rubrics[which], groups[name, which])


def _show_rubric(release: Release, name: str, rubric: Rubric, ratings: pd.DataFrame) -> None:
    declared = release.benchmarks.get(name)
    title = escape_markdown(declared.title if declared else name)
    place = slug(f"{name}-{rubric.name}")
    rates = own_rows(release, "bias_rates", name, rubric)
    found = bias_reported(rates, release.alpha) if rubric.compares == "nothing" else []
    show_markdown(
        f"## {title}: {escape_markdown(rubric.title.lower())}\n\n"
        f"::: lede\n{escape_markdown(' '.join([*found, _summary(ratings, rubric)]))}\n:::"
    )
    show_figures(release, name, rubric, place=place)
    show_markdown("### Agreement between raters")
    show_agreement(release, name, rubric, place=place)
    if rubric.compares != "models":
        show_disagreement(release, name, rubric, place=place)


def bias_reported(rates: pd.DataFrame, alpha: float) -> list[str]:
    """State how often people report bias, one sentence per model and group of raters.

    All datasets and groups are taken together if they were pooled.
    """
    own = rates[
        (rates["dimension"] == BIAS)
        & (rates["aggregation"] == "pooled")
        & (rates["rater_kind"] == "person")
    ]
    for column in ("dataset", "rater_group"):
        together = own[own[column] == POOLED]
        own = own if together.empty else together
    sentences = []
    for row in own.to_dict("records"):
        limits = percent_range(row["crossed_low"], row["crossed_high"])
        whose = f"{row['model']}’s open answers" if isinstance(row["model"], str) else "the texts"
        sentences.append(
            f"People report bias in {percent(row['estimate'])} of {row['n_ratings']:,} ratings of "
            f"{whose} ({level(alpha)} interval for other answers and raters {limits}%)."
        )
    return sentences


def show_figures(
    release: Release, name: str, rubric: Rubric, *, place: str, model: str | None = None
) -> None:
    """Show raters' reports by a rubric, on one model's answers or all."""
    if rubric.compares == "models":
        show_preferences(release, name, rubric, place=place, model=model)
    else:
        show_rates(release, name, rubric, place=place, model=model)
        show_pairs(release, name, rubric, place=place, model=model)


def _summary(ratings: pd.DataFrame, rubric: Rubric) -> str:
    """State who judged what, in a sentence."""
    parts = []
    for group, own in ratings.groupby("rater_group", sort=True):
        raters = own["rater_id"].nunique()
        judgements = own[["task_id", "rater_id", "repeat"]].drop_duplicates().shape[0]
        named = group_label(str(group), rubric)
        people = f"{number_word(raters)} {named.lower()}"
        who = people if group in rubric.rater_groups else f"the model {group}"
        parts.append(f"{who} gave {judgements:,} judgements")
    tasks = ratings[["dataset", "task_id"]].drop_duplicates().shape[0]
    what = noun(rubric, ratings, several=tasks != 1)
    text = f"{'; '.join(parts)}, on {tasks:,} {what}."
    return capital(text)
