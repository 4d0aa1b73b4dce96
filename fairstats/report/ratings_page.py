"""The page of ratings: what raters said of open answers, and how far they agree."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pandas as pd

from fairstats.benchmarks import POOLED
from fairstats.names import slug
from fairstats.ratings.rubrics import Rubric
from fairstats.report.comparison_tables import (
    counterfactual_table,
    paired_bias_table,
    preference_plot,
    preference_table,
    strengths_table,
)
from fairstats.report.context import DOWNLOADS, Release
from fairstats.report.display import closed, show_markdown, show_plot, show_table
from fairstats.report.plots import PLOT_WIDTH
from fairstats.report.ratings_plots import rates_plot, votes_plot
from fairstats.report.ratings_tables import (
    agreement_table,
    disputed_table,
    group_label,
    group_order,
    noun,
    raters_table,
    rates_table,
)
from fairstats.report.text import (
    escape_markdown,
    level,
    number_word,
)

if TYPE_CHECKING:
    from plotnine import ggplot

#: Of the items that raters disagree on, so many stand on the page; all are in the release.
_DISPUTED = 10
_ENDS = ("ci_low", "ci_high", "crossed_low", "crossed_high", "share")
#: Inches that a page has for a plot.
_TALLEST = 8.5
_NOTHING = (
    "This release holds no ratings of open answers. How to: `fairstats ratings assign`, "
    "`fairstats ratings import`, then `fairstats publish --ratings`."
)
_HOW_TO_READ = (
    "**Of ratings** is the share of ratings that report the dimension. Below it stands the {level} "
    "interval for other items and other raters of the same kind, and in parentheses the one that "
    "takes every rating for independent, as the EquityMedQA study does: it is too narrow where "
    "raters differ or an item is rated several times. **By most raters** is the share of {noun} "
    "that more than half of their raters report (a tie is not more than half), **by any rater** "
    "that at least one does; their intervals are for other items and these raters, and in "
    "parentheses as if all {noun} were independent; what a rater said a second time is one more "
    "vote. A rate by any rater grows with the number of raters, and only figures with as many can "
    "be compared. A dimension that was not asked, since "
    "no bias was reported, counts as not reported. *One rater* means that nothing is known of how "
    "raters differ, *all alike* that no rating differs from another: the interval is then over "
    "items alone. With few raters who differ widely on a rare event no interval keeps its level "
    "(see the methods)."
)
_AGREEMENT = (
    "All coefficients are of {what}, between different raters; a rater's second judgement of the "
    "same is left out. **Pairs that agree**: of two raters, how often they say the same. **Where "
    "one reports, another does**: how often (positive agreement). The others take off what chance "
    "would give: **Randolph's** κ by equal chances of each value, **Fleiss'** κ and "
    "**Krippendorff's** α by how often each value was given, **Gwet's** AC1 by a chance that is "
    "small where one value prevails. 1 is full agreement, 0 what chance gives. Where few ratings "
    "report anything, most pairs agree whatever raters do (the prevalence paradox): κ and α are "
    "then low, Randolph's κ and AC1 high, and positive agreement says what it comes to. The words "
    "go by Krippendorff's α and his limits .8 and .667, a convention. The first interval is for "
    "other raters and other items, the one in parentheses for these raters, with {noun} taken for "
    "independent."
)
_OF_RATINGS = (
    "what raters report, in percent; below it the interval, of ratings for other raters and items, "
    "of votes for other items and these raters, and (as if all were independent)"
)
_BY_VOTES = (
    "votes of raters, in percent; below them the interval for other items and these raters, and "
    "(as if all were independent)"
)
_PREFERENCES = (
    "Raters say which answer has more bias; the other one is preferred. The first interval, and "
    "the p-value above, are for other raters and items; the interval in parentheses takes every "
    "rating for independent, and the p-value in parentheses flips the sides of whole comparisons, "
    "given these raters. No p-value is adjusted. A dimension that was not asked, since neither "
    "answer was said to have more bias, counts as neither. **Position** is how much more often the "
    "answer that was shown first was preferred than the other, whichever model it was."
)


def show_ratings(release: Release) -> None:
    """Every benchmark and rubric of the release's ratings."""
    ratings = release.ratings
    if ratings.empty:
        show_markdown(_NOTHING)
        return
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
    show_markdown(
        f"## {title}: {escape_markdown(rubric.title.lower())}\n\n"
        f"::: lede\n{escape_markdown(_summary(ratings, rubric))}\n:::"
    )
    if rubric.compares == "models":
        show_preferences(release, name, rubric, place=place)
        show_markdown("### How far raters agree")
        show_agreement(release, name, rubric, place=place)
    else:
        show_rates(release, name, rubric, place=place)
        show_pairs(release, name, rubric, place=place)
        show_markdown("### How far raters agree")
        show_agreement(release, name, rubric, place=place)
        _show_disagreement(release, name, rubric, place)
    raters = own_rows(release, "raters", name, rubric)
    with closed("Raters: workload and time"):
        show_table(
            raters_table(raters, rubric, name=f"raters-{place}"),
            caption=_caption(name, rubric, f"{len(raters):,} raters; the ids are pseudonyms"),
            css_class="estimates",
            download=files_of(release, "raters"),
        )


def show_rates(
    release: Release, name: str, rubric: Rubric, *, place: str, model: str | None = None
) -> None:
    """The dot plot and the table of rates, all datasets first; of one model, or of all."""
    rates = own_rows(release, "bias_rates", name, rubric, model)
    first = all_datasets(rates)
    _show_rates_of(release, rates[first], rubric, place, name)
    votes = own_rows(release, "rating_votes", name, rubric, model)
    told = [_other_datasets(rates, rubric), _raters_a_task(votes, rubric)]
    if any(told):
        show_markdown(escape_markdown(" ".join(filter(None, told))))
    # The report on one model has the datasets in its release.
    if not first.all() and model is None:
        with closed("By dataset"):
            _show_rates_of(
                release, rates[~first], rubric, f"{place}-datasets", f"{name}, by dataset"
            )
    with closed("How to read the rates"):
        show_markdown(_HOW_TO_READ.format(level=level(release.alpha), noun=noun(rubric, rates)))


def _show_rates_of(
    release: Release, rates: pd.DataFrame, rubric: Rubric, place: str, name: str
) -> None:
    pooled = rates[rates["aggregation"] == "pooled"]
    groups = max(1, pooled["rater_group"].nunique() * 0.7)
    _show_panels(
        rates_plot,
        pooled,
        rubric,
        panels=["dataset", "model"],
        name=f"rates-{place}",
        alt="Rates by dimension and group of raters with intervals; the figures are in the table.",
        tall=0.35 + 0.24 * groups * pooled["dimension"].nunique(),
    )
    show_markdown(
        "Thin: the interval for other raters and other items of the same kind; of one rater alone, "
        "for other items. Thick: the one that takes every rating for independent."
    )
    # With many groups of raters a row of all their rates is wider than a page.
    many = rates.loc[rates["rater_group"] != POOLED, "rater_group"].nunique() > 2
    parts = {"": pooled if many else rates, "By votes": rates.drop(pooled.index) if many else None}
    for number, (title, rows) in enumerate(parts.items()):
        if rows is None:
            continue
        with closed(title) if title else nullcontext():
            show_table(
                rates_table(rows, rubric, name=f"rates-{place}-{number}"),
                caption=_caption(
                    name,
                    rubric,
                    _BY_VOTES if title else _OF_RATINGS,
                    title,
                ),
                css_class="estimates",
                download=files_of(release, "bias_rates"),
            )


def _other_datasets(rates: pd.DataFrame, rubric: Rubric) -> str:
    """Which groups of raters judged which datasets, where they differ."""
    own = rates[(rates["dataset"] != POOLED) & (rates["rater_group"] != POOLED)]
    judged = {
        str(group): tuple(sorted(rows["dataset"].unique()))
        for group, rows in own.groupby("rater_group", sort=False)
    }
    if len(set(judged.values())) < 2:
        return ""
    parts = [f"{group_label(g, rubric)}: {', '.join(names)}" for g, names in judged.items()]
    return (
        f"The groups judged different datasets ({'; '.join(parts)}): where datasets differ, a "
        "difference between groups can be one between datasets."
    )


def _raters_a_task(votes: pd.DataFrame, rubric: Rubric) -> str:
    """How many ratings the tasks of each group have, where groups or tasks differ in that."""
    own = votes[all_datasets(votes) & (votes["rater_group"] != POOLED)]
    ends = own.groupby("rater_group", sort=False)["n_ratings"].agg(["min", "max"])
    if own["n_ratings"].nunique() < 2:
        return ""
    parts = [
        f"{group_label(str(group), rubric)} {row['min']}"
        + (f" to {row['max']}" if row["max"] > row["min"] else "")
        for group, row in ends.iterrows()
    ]
    return f"Ratings of each of the {noun(rubric, votes)}: {', '.join(parts)}."


def _show_panels(
    draw: Callable[[pd.DataFrame, Rubric], ggplot],
    rows: pd.DataFrame,
    rubric: Rubric,
    *,
    panels: list[str],
    name: str,
    alt: str,
    tall: float,
) -> None:
    """A plot of panels below each other, cut into several where it would be taller than a page.

    `tall` is the height of a panel in inches; all plots have one scale.
    """
    ends = rows[[c for c in _ENDS if c in rows]].stack()
    number = rows.groupby(panels, dropna=False, sort=False).ngroup()
    rows = rows.assign(least=ends.min(), most=ends.max(), titled=number.max() > 0)
    each = max(1, int((_TALLEST - 0.9) / tall))
    for part, own in rows.groupby(number // each):
        drawn = own[panels].drop_duplicates().shape[0]
        show_plot(
            draw,
            own,
            rubric,
            name=f"{name}-{part}",
            alt=alt,
            width=PLOT_WIDTH,
            height=0.9 + drawn * tall,
        )


def show_agreement(
    release: Release, name: str, rubric: Rubric, *, place: str, model: str | None = None
) -> None:
    """Coefficients of agreement, with what they mean; on answers of one model, or of all."""
    agreement = own_rows(release, "rater_agreement", name, rubric, model)
    if agreement.empty:
        return
    first = all_datasets(agreement)
    lead = agreement["dimension"].isin(leading(rubric))
    parts = {
        "": agreement[first & lead],
        "Agreement on every dimension": agreement[first] if (first & ~lead).any() else None,
        "Agreement by dataset": agreement[~first & lead],
    }
    for number, (title, rows) in enumerate(parts.items()):
        # The report on one model has the rest in its release.
        if rows is None or rows.empty or (title and model is not None):
            continue
        with closed(title) if title else nullcontext():
            if repeats := int(rows["n_repeats"].max()):
                show_markdown(
                    f"{number_word(repeats).capitalize()} judgement{'s' * (repeats != 1)} by a "
                    "rater who had judged the same before are left out: agreement is between "
                    "raters."
                )
            show_table(
                agreement_table(rows, rubric, name=f"agreement-{place}-{number}"),
                caption=_caption(
                    name,
                    rubric,
                    f"agreement between raters, with {level(release.alpha)} intervals for other "
                    "raters and items, and (for these raters)",
                    title,
                ),
                css_class="estimates",
                download=files_of(release, "rater_agreement"),
            )
    compared = rubric.compares == "models"
    what = "*which model is preferred, or neither*" if compared else "*reported or not*"
    with closed("How to read agreement"):
        show_markdown(_AGREEMENT.format(noun=noun(rubric, agreement), what=what))


def show_preferences(
    release: Release, name: str, rubric: Rubric, *, place: str, model: str | None = None
) -> None:
    """Which of two models raters prefer, and where there are more, how strong each is."""
    preferences = own_rows(release, "preferences", name, rubric, model)
    if preferences.empty:
        return
    first, lead = all_datasets(preferences), preferences["dimension"].isin(leading(rubric))
    parts = {
        "": preferences[first & lead],
        "Every dimension": preferences[first] if (first & ~lead).any() else None,
        "By dataset": preferences[~first & lead],
    }
    for number, (title, rows) in enumerate(parts.items()):
        if rows is None or rows.empty or (title and model is not None):
            continue
        with closed(title) if title else nullcontext():
            _show_panels(
                preference_plot,
                rows[rows["metric"].isin(["preferred", "preferred_2"])],
                rubric,
                panels=["dataset", "model", "model_2", "rater_group"],
                name=f"preferences-{place}-{number}",
                alt="How often raters prefer either model; the figures are in the table.",
                tall=0.35 + 0.3 * rows["dimension"].nunique(),
            )
            show_table(
                preference_table(rows, rubric, name=f"preferences-{place}-{number}"),
                caption=_caption(
                    name,
                    rubric,
                    "which answer raters prefer, that is, find less biased; below it the interval "
                    "for other raters and items, and (over ratings alone)",
                    title,
                ),
                css_class="estimates",
                download=files_of(release, "preferences"),
            )
    strengths = own_rows(release, "strengths", name, rubric, None)
    if strengths["model"].nunique() > 2:
        show_markdown("### Models by strength")
        show_table(
            strengths_table(strengths, rubric, name=f"strengths-{place}"),
            caption=_caption(
                name,
                rubric,
                f"log strengths by Bradley, Terry and Davidson with {level(release.alpha)} "
                "intervals for other raters and items; the mean of all models is 0",
            ),
            css_class="estimates",
            download=files_of(release, "strengths"),
        )
    with closed("How to read preferences"):
        show_markdown(_PREFERENCES)


def show_pairs(
    release: Release, name: str, rubric: Rubric, *, place: str, model: str | None = None
) -> None:
    """Counterfactual pairs: judged as pairs, and answer by answer."""
    judged = own_rows(release, "counterfactual_rates", name, rubric, model)
    if len(judged):
        show_markdown("### By what raters say of the pair")
        judged = judged[all_datasets(judged)]
        lead = judged["dimension"].isin(leading(rubric))
        parts = {"": judged[lead], "Every dimension": judged if not lead.all() else None}
        for number, (title, rows) in enumerate(parts.items()):
            if rows is None or rows.empty or (title and model is not None):
                continue
            with closed(title) if title else nullcontext():
                show_table(
                    counterfactual_table(rows, rubric, name=f"pairs-{place}-{number}"),
                    caption=_caption(
                        name,
                        rubric,
                        "pairs in which bias is reported, by whether ideal answers and contents "
                        "differ, with the interval for other pairs and raters, and (over ratings "
                        "alone)",
                        title,
                    ),
                    css_class="estimates",
                    download=files_of(release, "counterfactual_rates"),
                )
    alone = own_rows(release, "paired_bias", name, rubric, model)
    if len(alone):
        show_markdown("### Counterfactual pairs, each answer judged alone")
        alone = alone[all_datasets(alone) & (alone["dimension"] == rubric.dimensions[0])]
        show_table(
            paired_bias_table(alone, rubric, name=f"paired-{place}"),
            caption=_caption(
                name,
                rubric,
                "pairs in which one answer alone, one or more, or both are reported as biased, "
                "with the interval for other sets of pairs and these raters, and (over pairs)",
            ),
            css_class="estimates",
            download=files_of(release, "paired_bias"),
        )


def _caption(name: str, rubric: Rubric, text: str, part: str = "") -> str:
    """A caption that no other table of the page has."""
    where = ", ".join(filter(None, (name, rubric.title.lower(), part.lower())))
    return f"{where}: {text}"


def leading(rubric: Rubric) -> list[str]:
    """The dimensions that are always asked; the others say more of the same."""
    return [question.dimension for question in rubric.questions if question.asked_if is None]


def all_datasets(rows: pd.DataFrame) -> pd.Series:
    """Which rows are of all datasets together, or of the only one that a model was judged on."""
    pooled = rows["dataset"] == POOLED
    whose = [rows[c].fillna("") for c in ("model", "model_2", "rater_kind") if c in rows]
    return pooled | ~pooled.groupby(whose).transform("any")


def _show_disagreement(release: Release, name: str, rubric: Rubric, place: str) -> None:
    votes = own_rows(release, "rating_votes", name, rubric)
    # Numbers of raters of all groups together differ from task to task.
    votes = votes[all_datasets(votes) & (votes["rater_group"] != POOLED)]
    word = noun(rubric, votes)
    show_markdown(f"### {word.capitalize()} one by one")
    for usual, drawn in _usual_votes(votes, rubric).groupby("n_ratings"):
        show_markdown(
            f"How many of {number_word(int(usual))} raters report it, in % of the {word}:"
        )
        _show_panels(
            votes_plot,
            drawn,
            rubric,
            panels=["panel"],
            name=f"votes-{place}-{usual}",
            alt=f"How many raters report each dimension, in percent of the {word}",
            tall=0.35 + 0.4 * drawn["dimension"].nunique(),
        )
    tasks = own_rows(release, "disagreement", name, rubric)
    if (tasks["n_ratings"] > 1).any():
        with closed(f"The {word} on which raters differ most"):
            show_table(
                disputed_table(tasks, rubric, name=f"disputed-{place}", limit=_DISPUTED),
                caption=_caption(
                    name, rubric, f"reports of raters, of the {word} with the least agreement"
                ),
                css_class="estimates",
                download=files_of(release, "disagreement"),
            )


def _usual_votes(votes: pd.DataFrame, rubric: Rubric) -> pd.DataFrame:
    """Of each group's tasks those with as many ratings as most have, if they have two or more."""
    parts = [votes.iloc[:0].assign(panel="", share=0.0)]
    keys = ["dataset", "model", "rater_group"]
    for (_, model, group), own in votes.groupby(keys, dropna=False, sort=False):
        tasks = own.groupby(["dimension", "n_ratings"])["n_tasks"].sum().groupby("n_ratings").max()
        usual = tasks.idxmax()
        drawn = own[own["n_ratings"] == usual]
        if usual < 2:
            continue
        on = f" on {model}" if isinstance(model, str) else ""
        part = f"{tasks[usual]:,} of {tasks.sum():,}" if len(tasks) > 1 else f"{tasks[usual]:,}"
        parts.append(
            drawn.assign(
                panel=f"{group_label(str(group), rubric)}{on}: {part}",
                share=100
                * drawn["n_tasks"]
                / drawn.groupby("dimension")["n_tasks"].transform("sum"),
            )
        )
    return pd.concat(parts, ignore_index=True)


def files_of(release: Release, table: str) -> str | None:
    """The table's name where its files lie beside the pages: not so in a report of one file."""
    return table if (release.path / DOWNLOADS / f"{table}.csv").exists() else None


def own_rows(
    release: Release, table: str, name: str, rubric: Rubric, model: str | None = None
) -> pd.DataFrame:
    """The rows of a release's table for one benchmark and rubric.

    With a model only those of ratings of its answers, or of no model's.
    """
    rows = release.table(table)
    rows = rows[(rows["benchmark"] == name) & (rows["rubric"] == rubric.name)]
    groups = group_order(rows["rater_group"], rubric)
    by = [c for c in ("model", "model_2") if c in rows and table != "strengths"]
    rows = rows.assign(place=rows["rater_group"].map(groups.index))
    rows = rows.sort_values([*by, "place"], kind="stable").drop(columns="place")
    if model is None:
        return rows
    judged = [c for c in ("model", "model_2") if c in rows]
    return rows[rows[judged].eq(model).any(axis=1) | rows["model"].isna()]


def _summary(ratings: pd.DataFrame, rubric: Rubric) -> str:
    """Who judged what, in a sentence or two."""
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
    return f"{text[:1].upper()}{text[1:]}"
