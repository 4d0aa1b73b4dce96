"""The rounds of a review in a folder: assignments, judgements and edits.

``review/round-1`` is an assignment, ``review/ratings-1`` its imported judgements, and
``review/edits-1.jsonl`` the edits made after it and before the next round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fairstats._lib.json_csv_records import json_lines
from fairstats._lib.problems import InputError, Problem
from fairstats.answers.files import COMMENTS_SUFFIX, RATINGS_SUFFIX
from fairstats.ratings.collection.assignment_folder import TASKS, HandedOut, load_handed_out
from fairstats.ratings.files import read_ratings
from fairstats.vignettes.building.built_benchmark import Built, Key
from fairstats.vignettes.building.folder import VARIANTS

REVIEW = "review"
#: File name of a round's ratings and comments.
STEM = "review"


@dataclass(frozen=True)
class Edit:
    """A variant's text as rewritten by a reviewer.

    Parameters
    ----------
    key : tuple of str
        Item, attribute and group.
    round : int
        The preceding round.
    text, editor, why : str
        The whole new text, its author (a pseudonym) and the reason.
    problems : tuple of str
        Results of the rules for clinical content.
    """

    key: Key
    round: int
    text: str
    editor: str
    why: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Round:
    """One round of a review.

    Parameters
    ----------
    number : int
        From 1.
    handed_out : HandedOut
        Its assignment.
    tasks : Mapping[str, Key]
        The variant of each task.
    texts : Mapping[Key, str]
        The text shown to reviewers for each variant.
    ratings : pandas.DataFrame or None
        The imported ratings, in normal form; None before the import.
    comments : pandas.DataFrame
        ``task_id`` and ``comment``.
    """

    number: int
    handed_out: HandedOut
    tasks: Mapping[str, Key]
    texts: Mapping[Key, str]
    ratings: pd.DataFrame | None
    comments: pd.DataFrame

    @property
    def missing(self) -> int:
        """Return the number of assigned judgements that are missing."""
        there = 0 if self.ratings is None else len(judgements(self.ratings))
        return len(self.handed_out.key) - there


@dataclass(frozen=True)
class Review:
    """A review and its rounds so far.

    Parameters
    ----------
    built : Built
        The built benchmark.
    rounds : tuple of Round
        In order.
    edits : tuple of Edit
        In order; the last edit of a variant counts.
    """

    built: Built
    rounds: tuple[Round, ...]
    edits: tuple[Edit, ...]

    @property
    def keys(self) -> tuple[Key, ...]:
        """Return the variants under review: those of items with all variants kept."""
        return tuple(key for item_id in self.built.complete for key in self.built.keys(item_id))

    def text(self, key: Key) -> str:
        """Return a variant's current text."""
        edited = self.edited
        return edited[key].text if key in edited else self.built.variants[key].text

    @property
    def edited(self) -> dict[Key, Edit]:
        """Return the last edit of each edited variant."""
        return {edit.key: edit for edit in self.edits}


def judgements(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return one row per non-empty judgement: its task and rater."""
    return ratings[ratings["value"].notna()][["task_id", "rater_id"]].drop_duplicates()


def round_folder(folder: Path, number: int) -> Path:
    return folder / REVIEW / f"round-{number}"


def ratings_files(folder: Path, number: int) -> tuple[Path, Path]:
    """Return the files of a round's ratings and comments."""
    of_round = folder / REVIEW / f"ratings-{number}"
    return of_round / f"{STEM}{RATINGS_SUFFIX}", of_round / f"{STEM}{COMMENTS_SUFFIX}"


def edits_file(folder: Path, number: int) -> Path:
    return folder / REVIEW / f"edits-{number}.jsonl"


def dataset_of(key: Key) -> str:
    """Return a variant's attribute and group as the dataset of its ratings (also pooled)."""
    return f"{key[1]}:{key[2]}"


def read_review(built: Built) -> Review:
    """Read the review of a built benchmark; one that has not begun has no rounds.

    Raises
    ------
    InputError
        If a file of it was changed, or a text differs from the one shown to reviewers.
    """
    rounds: list[Round] = []
    edits: list[Edit] = []
    while (path := round_folder(built.path, len(rounds) + 1)).is_dir():
        rounds.append(_round(built, path, len(rounds) + 1))
        edits += read_edits(built.path, len(rounds))
    review = Review(built, tuple(rounds), tuple(edits))
    _refuse_stale(review)
    return review


def read_edits(folder: Path, number: int) -> list[Edit]:
    """Return the edits after a round."""
    path = edits_file(folder, number)
    if not path.is_file() or path.stat().st_size == 0:
        return []
    return [
        Edit(
            (row["item_id"], row["attribute"], row["group"]),
            number,
            row["text"],
            row["editor"],
            row["why"],
            tuple(row["problems"]),
        )
        for row in (record.fields for record in json_lines(path))
    ]


def _round(built: Built, path: Path, number: int) -> Round:
    handed_out = load_handed_out(path)
    known = {(key[0], dataset_of(key)): key for key in built.variants}
    tasks: dict[str, Key] = {}
    texts: dict[Key, str] = {}
    for record in json_lines(path / TASKS):
        row = record.fields
        key = known.get((row["item_id"], row["dataset"]))
        if key is None:
            message, remedy = "is not a variant of the build", "use the build that was assigned"
            place, value = str(path / TASKS), f"{row['item_id']}, {row['dataset']}"
            raise InputError(
                [Problem(place, message, remedy, row=record.row, column="item_id", value=value)]
            )
        tasks[row["task_id"]] = key
        texts[key] = row["answer"]
    file, apart = ratings_files(built.path, number)
    ratings = None
    if file.is_file():
        ratings = read_ratings(file, rubrics=[handed_out.rubric])
        if not {*ratings["task_id"]} <= {*tasks}:
            message, remedy = (
                "contains ratings of other tasks",
                f"import only the judgements of {path}",
            )
            raise InputError([Problem(str(file), message, remedy)])
    comments = pd.DataFrame(columns=["task_id", "comment"])
    if apart.is_file():
        comments = pd.read_csv(apart, dtype=str, keep_default_na=False)[["task_id", "comment"]]
    return Round(number, handed_out, tasks, texts, ratings, comments)


def _refuse_stale(review: Review) -> None:
    """Refuse a text that changed without an edit: the judgements are about another text."""
    built = review.built
    texts = {key: variant.text for key, variant in built.variants.items()}
    for one in review.rounds:
        for key, text in one.texts.items():
            if text != texts[key]:
                message = f"differs from the text in round {one.number} of the review"
                remedy = "use the build as it was assigned, or start a new review"
                value = ", ".join(key)
                raise InputError(
                    [
                        Problem(
                            str(built.path / VARIANTS), message, remedy, column="text", value=value
                        )
                    ]
                )
        texts |= {edit.key: edit.text for edit in review.edits if edit.round == one.number}
