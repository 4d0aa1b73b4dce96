"""Show how well raters agree, and where they differ."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.formatting import level, number_word
from fairstats.benchmarks.declaration import POOLED
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
