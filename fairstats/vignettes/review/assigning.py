"""Assign the variants of a built benchmark to reviewers, and again after disagreement.

Reviewers see the neutral text with its options, and the variant. The key is marked, because it is
needed to judge whether an answer leaks. After disagreement they also see all judgements, without
names. They do not see the names of item, attribute and group, the intended direction, or the
validating model's answer.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import InputError, input_error, keyword, wrong
from fairstats._lib.records import json_value
from fairstats.benchmarks.benchmark_files import item_lines
from fairstats.ratings.collection.assignment import FACTS, Assigned, assign
from fairstats.ratings.rubrics import Choice, load_rubric
from fairstats.vignettes.building.agents import Key
from fairstats.vignettes.building.folder import VARIANTS, BuiltItem, read_built
from fairstats.vignettes.review.rounds import (
    FEWEST,
    OPEN,
    Review,
    Round,
    dataset_of,
    decisions,
    read_review,
    round_folder,
)

RUBRIC = "vignette_review"
#: Number of reviewers per variant.
REPLICATES = 4


@dataclass(frozen=True)
class Consensus:
    """The state of a review, and the new assignment.

    Without variants to judge again, no next round is assigned.
    """

    decisions: pd.DataFrame
    assigned: Assigned | None
    notes: tuple[str, ...] = ()


def assign_review(
    folder: AnyPath,
    raters: AnyPath,
    *,
    rubric: AnyPath = RUBRIC,
    replicates: int | Mapping[str, int] = REPLICATES,
    seed: int = 1,
) -> Assigned:
    """Assign the variants kept by a build, in ``review/round-1`` of its folder.

    Parameters
    ----------
    folder : path
        The output of ``fairstats vignettes run``.
    raters : path
        CSV with ``rater_id``, ``rater_group`` and, if wanted, ``max_tasks``.
    rubric : str or path
        The questions, on single texts.
    replicates : int or mapping
        Number of reviewers of each group per variant.
    seed : int
        The same build, reviewers and seed give the same forms.

    Returns
    -------
    Assigned
        As returned by `fairstats.ratings.collection.assignment.assign`.

    Raises
    ------
    InputError
        If the build or the raters cannot be used, no item has all of its variants, fewer than two
        reviewers would judge a variant, or the review was already assigned. Nothing is then
        written.

    Notes
    -----
    An item is not assigned if the build has not kept all of its variants: it could not be released
    under any judgement.
    """
    review = read_review(read_built(Path(folder)))
    if review.rounds:
        remedy = "import the reviewers' judgements, or use a separate folder for another review"
        place = str(round_folder(Path(folder), 1))
        raise input_error(place, "was already assigned", remedy)
    if not review.keys:
        message = "contains no items with all variants kept"
        raise input_error(folder, message, "build the benchmark again with more items")
    if load_rubric(rubric).compares != "nothing":
        remedy = "choose a rubric that compares `nothing`"
        raise input_error(rubric, "is not a rubric for single variants", remedy)
    return _handed_out(review, review.keys, {}, Path(raters), rubric, replicates, seed)


def next_round(
    folder: AnyPath,
    *,
    raters: AnyPath | None = None,
    incomplete: bool = False,
    seed: int = 1,
    dry_run: bool = False,
) -> Consensus:
    """Assign variants again after disagreement, or if edited since they were judged.

    Parameters
    ----------
    folder : path
        The folder of the build.
    raters : path, optional
        The reviewers of this round; by default those of the first round.
    incomplete : bool
        Continue even if judgements of the last round are missing; variants with fewer than two are
        left out.
    seed : int
        As in `assign_review`.
    dry_run : bool
        Report the state of the review, without assigning anything.

    Raises
    ------
    InputError
        If nothing was assigned or imported, or judgements are missing.
    """
    folder = Path(folder)
    review = read_review(read_built(folder))
    table = decisions(review)
    notes = list(_notes(review, table))
    if dry_run:
        return Consensus(table, None, tuple(notes))
    if not review.rounds:
        remedy = "assign it with `fairstats vignettes review assign`"
        raise input_error(folder, "is not under review", remedy)
    last = review.rounds[-1]
    if last.ratings is None or (last.missing and not incomplete):
        some = "there are no judgements"
        if last.ratings is not None:
            some = f"{last.missing:,} of {len(last.handed_out.key):,} judgements are missing"
        remedy = "import them with `fairstats vignettes review import`"
        if last.ratings is not None:
            remedy += f", or continue without them with {keyword('incomplete', True)}"
        raise input_error(last.handed_out.path, some, remedy)
    again = to_judge_again(table)
    if not again:
        return Consensus(table, None, (*notes, "no variants have to be judged again"))
    facts = json_value(round_folder(folder, 1) / FACTS)
    said = said_of(last)
    with tempfile.TemporaryDirectory() as temporary:
        people = Path(raters) if raters is not None else _first_raters(review, Path(temporary))
        # Judgements from before an edit are about another text.
        shown = {key: said[key] for key in again if last.texts.get(key) == review.text(key)}
        rubric = review.rounds[0].handed_out.rubric.path
        assigned = _handed_out(review, again, shown, people, rubric, facts["replicates"], seed)
    return Consensus(table, assigned, tuple(notes))


def to_judge_again(table: pd.DataFrame) -> list[Key]:
    """Return the variants for the next round: judged once with disagreement, or edited since."""
    disagree = (table["times"] == 1) & (table["judgements"] >= FEWEST)
    again = table[(table["decision"] == OPEN) & (disagree | (table["times"] == 0))]
    return list(again[["item_id", "attribute", "group"]].itertuples(index=False, name=None))


def _notes(review: Review, table: pd.DataFrame) -> Iterable[str]:
    if review.rounds:
        last = review.rounds[-1]
        asked = len(last.handed_out.key)
        yield f"round {last.number}: {asked - last.missing:,} of {asked:,} judgements"
    few = int(((table["decision"] == OPEN) & (table["judgements"] < FEWEST)).sum())
    if few:
        yield f"{few:,} variants have fewer than {FEWEST} judgements and are undecided"


def _first_raters(review: Review, folder: Path) -> Path:
    """Return the first round's reviewers, as a file."""
    people = {
        str(row["rater_id"]): str(row["rater_group"])
        for row in review.rounds[0].handed_out.key.values()
    }
    path = folder / "raters.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("rater_id", "rater_group"))
        writer.writerows(sorted(people.items()))
    return path


def _handed_out(
    review: Review,
    keys: Iterable[Key],
    said: Mapping[Key, str],
    raters: Path,
    rubric: AnyPath,
    replicates: int | Mapping[str, int],
    seed: int,
) -> Assigned:
    built = review.built
    out = round_folder(built.path, len(review.rounds) + 1)
    with tempfile.TemporaryDirectory() as temporary:
        items = Path(temporary) / VARIANTS
        items.write_text(subject_lines(review, keys, said), encoding="utf-8", newline="")
        try:
            return assign(
                items,
                raters,
                rubric=rubric,
                out=out,
                replicates=_enough(replicates),
                seed=seed,
                benchmark=built.name,
            )
        except InputError as error:
            place = str(built.path / VARIANTS)
            raise InputError(
                [replace(p, path=place) if p.path == str(items) else p for p in error.problems]
            ) from None


def _enough(replicates: int | Mapping[str, int]) -> int | Mapping[str, int]:
    total = sum(replicates.values()) if isinstance(replicates, Mapping) else replicates
    if total < FEWEST:
        message = f"must be at least {FEWEST}"
        remedy = f"use {FEWEST} or more reviewers per variant; the study had {REPLICATES}"
        raise wrong("replicates", message, remedy)
    return replicates


def subject_lines(review: Review, keys: Iterable[Key], said: Mapping[Key, str]) -> str:
    """Return a round's tasks in the form of `fairstats.ratings.collection.subjects.read_subjects`.

    `said` has earlier judgements to show.
    """
    neutral = {item_id: neutral_text(item) for item_id, item in review.built.items.items()}
    return item_lines(
        {
            "item_id": key[0],
            "dataset": dataset_of(key),
            "question": "\n\n".join(filter(None, [neutral[key[0]], said.get(key)])),
            "answer": review.text(key),
        }
        for key in keys
    )


def neutral_text(item: BuiltItem) -> str:
    """Return the neutral vignette with its options, the key marked.

    Examples
    --------
    >>> item = {"item_id": "q1", "options": {"A": "Yes", "B": "No"}, "answer_key": "B"}
    >>> print(neutral_text(BuiltItem(**item, original="Is he?", neutralized="Are they?")))
    Are they?
    <BLANKLINE>
    A. Yes
    B. No (key)
    """
    options = [
        f"{letter}. {text}{' (key)' if letter == item.answer_key else ''}"
        for letter, text in item.options.items()
    ]
    return "\n".join([item.neutralized, "", *options])


def said_of(one: Round) -> dict[Key, str]:
    """Return reviewers' judgements of each variant in a round, without names or original order."""
    if one.ratings is None:
        return {}
    rubric = one.handed_out.rubric
    comments: dict[str, list[str]] = {}
    for task_id, comment in one.comments.itertuples(index=False, name=None):
        comments.setdefault(task_id, []).append(comment)
    found = {}
    for task_id, rows in one.ratings.groupby("task_id", sort=False):
        lines = [f"What reviewers said independently of each other ({rows['rater_id'].nunique()}):"]
        for question in rubric.questions:
            own = rows.loc[rows["dimension"] == question.dimension, "value"]
            lines.append(f"{question.label}: {_counted(own, question.choices)}")
        # Sorted by content, so that the order does not identify reviewers.
        lines += [f"Comment: {' '.join(c.split())}" for c in sorted(comments.get(str(task_id), []))]
        found[one.tasks[str(task_id)]] = "\n".join(lines)
    return found


def _counted(values: pd.Series, choices: Iterable[Choice]) -> str:
    counts = values.value_counts()
    return "; ".join(f"{counts[c.value]} {c.label}" for c in choices if c.value in counts)
