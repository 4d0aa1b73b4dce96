"""Show how well raters agree, and where they differ."""

from __future__ import annotations

from contextlib import nullcontext

import pandas as pd

from fairstats._lib.formatting import escape_markdown, level, number_word
from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.pooling import all_datasets
from fairstats.ratings.rubrics import Rubric
from fairstats.release.contents import Release
from fairstats.report.page_output import closed, show_markdown, show_table
from fairstats.report.ratings.parts import (
    caption_of,
    files_of,
    main_parts,
    own_rows,
    show_panels,
    shown_parts,
)
from fairstats.report.ratings.plots import rates_plot, votes_plot
from fairstats.report.ratings.tables import (
    agreement_table,
    disputed_table,
    group_label,
    noun,
    rates_table,
)

#: The number of disputed items on the page; the release has all of them.
_DISPUTED = 10
_AGREEMENT = (
    "All coefficients are for {what}, between different raters. A rater's second judgement of the "
    "same task is left out.\n\n"
    "- **Pairs that agree**: how often two raters give the same rating.\n"
    "- **If one reports, another does**: positive agreement.\n"
    "- The other coefficients subtract agreement by chance. 1 is full agreement and 0 is chance. "
    "**Randolph's** κ assumes equal chances of each value. **Fleiss'** κ and **Krippendorff's** α "
    "use the frequency of each value. **Gwet's** AC1 uses a chance that is small if one value "
    "dominates.\n"
    "- If few ratings report anything, most pairs agree whatever raters do (the prevalence "
    "paradox). κ and α are then low, and Randolph's κ and AC1 high. Positive agreement shows what "
    "this means.\n"
    "- The words follow the conventional limits of Krippendorff's α, .8 and .667.\n"
    "- The first interval is for other raters and other items. The one in parentheses is for these "
    "raters, with {noun} treated as independent."
)


def show_agreement(
    release: Release, name: str, rubric: Rubric, *, place: str, model: str | None = None
) -> None:
    """Show coefficients of agreement and their meaning; for answers of one model or all."""
    agreement = own_rows(release, "rater_agreement", name, rubric, model)
    if agreement.empty:
        return
    parts = main_parts(
        agreement,
        rubric,
        every="Agreement on every dimension",
        by_dataset="Agreement by dataset",
    )
    for number, title, rows in shown_parts(parts, model):
        if repeats := int(rows["n_repeats"].max()):
            show_markdown(
                f"Left out: {number_word(repeats)} repeated judgement{'s' * (repeats != 1)} by the "
                "same rater. Agreement is between raters."
            )
        show_table(
            agreement_table(rows, rubric, name=f"agreement-{place}-{number}"),
            caption=caption_of(
                name,
                rubric,
                f"agreement between raters, with {level(release.alpha)} intervals for other "
                "raters and items, and (for these raters only)",
                title,
            ),
            download=files_of(release, "rater_agreement"),
        )
    compared = rubric.compares == "models"
    what = "*which model is preferred, or neither*" if compared else "*reported or not*"
    with closed("How to read agreement"):
        show_markdown(_AGREEMENT.format(noun=noun(rubric, agreement), what=what))


def show_disagreement(release: Release, name: str, rubric: Rubric, *, place: str) -> None:
    """Show the number of raters who report each dimension, and the most disputed tasks."""
    votes = own_rows(release, "rating_votes", name, rubric)
    # Over all groups together, the number of raters differs between tasks.
    votes = votes[all_datasets(votes) & (votes["rater_group"] != POOLED)]
    word = noun(rubric, votes)
    show_markdown(f"### Agreement on single {word}")
    for usual, drawn in _usual_votes(votes, rubric).groupby("n_ratings"):
        show_markdown(
            f"Number of raters out of {number_word(int(usual))} who report each dimension, in % of "
            f"the {word}:"
        )
        show_panels(
            votes_plot,
            drawn,
            rubric,
            panels=["panel"],
            name=f"votes-{place}-{usual}",
            alt=f"Number of raters who report each dimension, in percent of the {word}",
            tall=0.35 + 0.4 * drawn["dimension"].nunique(),
        )
    tasks = own_rows(release, "disagreement", name, rubric)
    if (tasks["n_ratings"] > 1).any():
        with closed(f"The {word} on which raters differ most"):
            show_table(
                disputed_table(tasks, rubric, name=f"disputed-{place}", limit=_DISPUTED),
                caption=caption_of(
                    name,
                    rubric,
                    "number of raters who report each dimension, least agreement first",
                ),
                download=files_of(release, "disagreement"),
            )


def _usual_votes(votes: pd.DataFrame, rubric: Rubric) -> pd.DataFrame:
    """Select each group's tasks with the most frequent number of ratings, if at least two."""
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


_HOW_TO_READ = (
    "- **Of ratings** is the share of ratings that report the dimension. The {level} interval "
    "below it is for other items and other raters of the same kind. The interval in parentheses "
    "treats all ratings as independent, as the EquityMedQA study does. It is too narrow if raters "
    "differ or an item is rated several times.\n"
    "- **By most raters** is the share of {noun} that more than half of their raters report (a tie "
    "is not more than half). **By any rater** means that at least one rater reports it. Their "
    "intervals are for other items and these raters. In parentheses, all {noun} are treated as "
    "independent. A rater's second judgement counts as one more vote.\n"
    "- A rate by any rater grows with the number of raters. Compare only figures with the same "
    "number of raters.\n"
    "- A dimension that was not asked, because no bias was reported, counts as not reported.\n"
    "- *One rater* means that differences between raters cannot be estimated. *All alike* means "
    "that all ratings are the same. The interval is then for other items only.\n"
    "- If few raters differ widely on a rare event, no interval keeps its level (see Methods)."
)
_OF_RATINGS = (
    "what raters report, in percent. Intervals: of ratings for other raters and items, of votes "
    "for other items and these raters, and (all independent)"
)
_BY_VOTES = (
    "votes of raters, in percent. Intervals: for other items and these raters, and (all "
    "independent)"
)


def show_rates(
    release: Release, name: str, rubric: Rubric, *, place: str, model: str | None = None
) -> None:
    """Show the plot and the table of rates, all datasets first; for one model or all."""
    rates = own_rows(release, "bias_rates", name, rubric, model)
    first = all_datasets(rates)
    _show_rates_of(release, rates[first], rubric, place, name)
    votes = own_rows(release, "rating_votes", name, rubric, model)
    notes = [_other_datasets(rates, rubric), _raters_per_task(votes, rubric)]
    if any(notes):
        show_markdown(escape_markdown(" ".join(filter(None, notes))))
    # The report on one model leaves the datasets to its release.
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
    show_panels(
        rates_plot,
        pooled,
        rubric,
        panels=["dataset", "model"],
        name=f"rates-{place}",
        alt="Rates by dimension and group of raters with intervals; the figures are in the table.",
        tall=0.35 + 0.24 * groups * pooled["dimension"].nunique(),
    )
    show_markdown(
        "Thin line: interval for other raters and other items of the same kind (with one rater, "
        "for other items only). Thick line: interval with all ratings treated as independent."
    )
    # With many groups of raters, a row of all rates would be wider than a page.
    many = rates.loc[rates["rater_group"] != POOLED, "rater_group"].nunique() > 2
    votes = rates.drop(pooled.index)
    parts = {"": pooled, "By votes": votes} if many else {"": rates}
    for number, title, rows in shown_parts(parts):
        with nullcontext() if title else closed("All figures"):
            show_table(
                rates_table(rows, rubric, name=f"rates-{place}-{number}"),
                caption=caption_of(name, rubric, _BY_VOTES if title else _OF_RATINGS, title),
                download=files_of(release, "bias_rates"),
            )


def _other_datasets(rates: pd.DataFrame, rubric: Rubric) -> str:
    """Name the datasets of each group of raters, if they differ."""
    own = rates[(rates["dataset"] != POOLED) & (rates["rater_group"] != POOLED)]
    judged = {
        str(group): tuple(sorted(rows["dataset"].unique()))
        for group, rows in own.groupby("rater_group", sort=False)
    }
    if len(set(judged.values())) < 2:
        return ""
    parts = [f"{group_label(g, rubric)}: {', '.join(names)}" for g, names in judged.items()]
    return (
        f"The groups of raters judged different datasets ({'; '.join(parts)}). So a difference "
        "between groups may be a difference between datasets."
    )


def _raters_per_task(votes: pd.DataFrame, rubric: Rubric) -> str:
    """State the number of ratings per task by group, if groups or tasks differ."""
    own = votes[all_datasets(votes) & (votes["rater_group"] != POOLED)]
    ends = own.groupby("rater_group", sort=False)["n_ratings"].agg(["min", "max"])
    if own["n_ratings"].nunique() < 2:
        return ""
    parts = [
        f"{group_label(str(group), rubric)} {row['min']}"
        + (f" to {row['max']}" if row["max"] > row["min"] else "")
        for group, row in ends.iterrows()
    ]
    return f"Ratings per {noun(rubric, votes, several=False)}: {', '.join(parts)}."
