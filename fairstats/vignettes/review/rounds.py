"""The rounds of a review in a folder, and reviewers' decisions on each variant, by one rule.

``review/round-1`` is an assignment, ``review/ratings-1`` its imported judgements, and
``review/edits-1.jsonl`` the edits made after it and before the next round.

Reviewers first judge a text independently. If they disagree, they judge it once more, with all
first judgements shown. It is accepted

- in the first round, if no reviewer reports a problem;
- in the second round, if for each dimension fewer than half report a problem;

and rejected in all other cases, except after disagreement in the first round: it then stays open.
If all report a problem in a dimension, it is rejected at once. Fewer than two judgements decide
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.problems import Problem, input_error, refuse
from fairstats._lib.records import json_lines
from fairstats.answers.files import COMMENTS_SUFFIX, RATINGS_SUFFIX
from fairstats.ratings.collection.assignment import TASKS, HandedOut, load_handed_out
from fairstats.ratings.files import read_ratings
from fairstats.vignettes.building.agents import Key
from fairstats.vignettes.building.folder import KEY, VARIANTS, Built, OfVariant, read_rows

REVIEW = "review"
#: File name of a round's ratings and comments.
STEM = "review"


class Edit(OfVariant):
    """A variant's text as rewritten by a reviewer.

    Parameters
    ----------
    text, editor, why : str
        The whole new text, its author (a pseudonym) and the reason.
    problems : list of str
        Results of the rules for clinical content.
    round : int
        The preceding round.
    """

    text: str
    editor: str
    why: str
    problems: list[str]
    round: int = 0


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
        there = 0
        if self.ratings is not None:
            judged = self.ratings[self.ratings["value"].notna()]
            there = len(judged[["task_id", "rater_id"]].drop_duplicates())
        return len(self.handed_out.key) - there


@dataclass(frozen=True)
class Review:
    """A review and its rounds so far."""

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
        edits += _edits(edits_file(built.path, len(rounds)), len(rounds))
    review = Review(built, tuple(rounds), tuple(edits))
    _refuse_stale(review)
    return review


def _edits(path: Path, number: int) -> list[Edit]:
    """Return the edits after a round."""
    problems: list[Problem] = []
    rows = read_rows(Edit, path, problems) if path.is_file() else []
    refuse(problems)
    return [edit.model_copy(update={"round": number}) for _, _, edit in rows]


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
            raise input_error(place, message, remedy, row=record.row, column="item_id", value=value)
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
            raise input_error(file, message, remedy)
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
                place = str(built.path / VARIANTS)
                raise input_error(place, message, remedy, column="text", value=value)
        texts |= {edit.key: edit.text for edit in review.edits if edit.round == one.number}


ACCEPTED, EDITED, REJECTED, OPEN = "accepted", "edited", "rejected", "open"
#: Possible decisions on a variant. `EDITED` means accepted after a reviewer's rewrite.
DECISIONS = (ACCEPTED, EDITED, REJECTED, OPEN)
#: Columns of a table of decisions, in order. `round` is the deciding round, 0 if there is none;
#: `times` is how often this text was judged; `faults` is the number of reported problems, out of
#: the number of judgements.
DECISION_COLUMNS = (*KEY, "decision", "reason", "round", "times", "judgements", "faults")
#: Minimum number of judgements for a decision: a single reviewer cannot disagree.
FEWEST = 2


def decisions(review: Review) -> pd.DataFrame:
    """Return the decision on each variant under review.

    Returns
    -------
    pandas.DataFrame
        `DECISION_COLUMNS`, one row per variant.
    """
    found = [_faults(one) for one in review.rounds]
    rows = [dict(zip(KEY, key, strict=True)) | _decided(review, key, found) for key in review.keys]
    types = dict.fromkeys(DECISION_COLUMNS, "str")
    types |= dict.fromkeys(("round", "times", "judgements"), "int64")
    return pd.DataFrame(rows, columns=list(DECISION_COLUMNS)).astype(types)


def _faults(one: Round) -> dict[Key, tuple[int, dict[str, int]]]:
    """Return each variant's number of judgements in a round, and reported problems by dimension."""
    if one.ratings is None:
        return {}
    rubric = one.handed_out.rubric
    faulty = {(q.dimension, value) for q in rubric.questions for value in q.reported}
    given = one.ratings[one.ratings["value"].notna()]
    pairs = zip(given["dimension"], given["value"], strict=True)
    given = given.assign(fault=[pair in faulty for pair in pairs])
    found = {}
    for task_id, rows in given.groupby("task_id", sort=False):
        counts = rows.groupby("dimension")["fault"].sum()
        found[one.tasks[str(task_id)]] = (
            rows["rater_id"].nunique(),
            {name: int(counts.get(name, 0)) for name in rubric.dimensions},
        )
    return found


def _decided(
    review: Review, key: Key, found: list[dict[Key, tuple[int, dict[str, int]]]]
) -> dict[str, Any]:
    text, edited = review.text(key), key in review.edited
    seen = [one for one in review.rounds if one.texts.get(key) == text]
    if not seen:
        reason = "the edited text has no judgements" if edited else "was not assigned"
        empty = {"round": 0, "times": 0, "judgements": 0, "faults": ""}
        return {"decision": OPEN, "reason": reason} | empty
    last = seen[-1]
    judged, faults = found[last.number - 1].get(key, (0, {}))

    def dimensions(holds: Callable[[int], bool]) -> str:
        question = last.handed_out.rubric.question
        return ", ".join(question(name).label.lower() for name, n in faults.items() if holds(n))

    every = dimensions(lambda n: n == judged)
    half = dimensions(lambda n: 2 * n >= judged)
    some = dimensions(lambda n: 0 < n < judged)
    if judged < FEWEST:
        said = "no judgements" if judged == 0 else "only one judgement"
        decision, reason = OPEN, f"{said} this text in round {last.number}"
    elif len(seen) > 1 and half:
        decision, reason = REJECTED, f"at least half report a problem: {half}"
    elif len(seen) == 1 and every:
        decision, reason = REJECTED, f"all report a problem: {every}"
    elif len(seen) == 1 and some:
        decision, reason = OPEN, f"reviewers disagree: {some}"
    else:
        decision = EDITED if edited else ACCEPTED
        reason = "fewer than half report a problem" if some else "no reviewer reports a problem"
    return {
        "decision": decision,
        "reason": reason,
        "round": last.number,
        "times": len(seen),
        "judgements": judged,
        "faults": ", ".join(f"{name} {n}" for name, n in faults.items() if n),
    }
