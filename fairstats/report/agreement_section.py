"""How far raters agree, and on what they differ, on pages."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.formatting import level, number_word
from fairstats.benchmarks.terms import POOLED
from fairstats.ratings.pooling import all_datasets
from fairstats.ratings.rubrics import Rubric
from fairstats.release.contents import Release
from fairstats.report.page_output import closed, show_markdown, show_table
from fairstats.report.ratings_parts import (
    caption_of,
    files_of,
    main_parts,
    own_rows,
    show_panels,
    shown_parts,
)
from fairstats.report.ratings_plots import votes_plot
from fairstats.report.ratings_tables import agreement_table, disputed_table, group_label, noun

#: Of the items that raters disagree on, so many stand on the page; all are in the release.
_DISPUTED = 10
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


def show_agreement(
    release: Release, name: str, rubric: Rubric, *, place: str, model: str | None = None
) -> None:
    """Coefficients of agreement, with what they mean; on answers of one model, or of all."""
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
                f"{number_word(repeats).capitalize()} judgement{'s' * (repeats != 1)} by a rater "
                "who had judged the same before are left out: agreement is between raters."
            )
        show_table(
            agreement_table(rows, rubric, name=f"agreement-{place}-{number}"),
            caption=caption_of(
                name,
                rubric,
                f"agreement between raters, with {level(release.alpha)} intervals for other "
                "raters and items, and (for these raters)",
                title,
            ),
            download=files_of(release, "rater_agreement"),
        )
    compared = rubric.compares == "models"
    what = "*which model is preferred, or neither*" if compared else "*reported or not*"
    with closed("How to read agreement"):
        show_markdown(_AGREEMENT.format(noun=noun(rubric, agreement), what=what))


def show_disagreement(release: Release, name: str, rubric: Rubric, *, place: str) -> None:
    """How many raters report each dimension, task by task, and where they differ most."""
    votes = own_rows(release, "rating_votes", name, rubric)
    # Numbers of raters of all groups together differ from task to task.
    votes = votes[all_datasets(votes) & (votes["rater_group"] != POOLED)]
    word = noun(rubric, votes)
    show_markdown(f"### {word.capitalize()} one by one")
    for usual, drawn in _usual_votes(votes, rubric).groupby("n_ratings"):
        show_markdown(
            f"How many of {number_word(int(usual))} raters report it, in % of the {word}:"
        )
        show_panels(
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
                caption=caption_of(
                    name, rubric, f"reports of raters, of the {word} with the least agreement"
                ),
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
