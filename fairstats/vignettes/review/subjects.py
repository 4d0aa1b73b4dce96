"""The view of a variant for reviewers, and the tasks of a round as an items file.

Reviewers see the neutral text with its options, and the variant. The key is marked, because it is
needed to judge whether an answer leaks. After disagreement they also see all judgements, without
names. They do not see the names of item, attribute and group, the intended direction, or the
validating model's answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import pandas as pd

from fairstats.ratings.rubrics import Choice
from fairstats.vignettes.building.built_benchmark import BuiltItem, Key
from fairstats.vignettes.review.rounds import Review, Round, dataset_of


def subject_lines(review: Review, keys: Iterable[Key], said: Mapping[Key, str]) -> str:
    """Return a round's tasks in the form of `fairstats.ratings.collection.subjects.read_subjects`.

    Parameters
    ----------
    review : Review
        The review with the texts.
    keys : iterable of Key
        The variants to assign.
    said : Mapping[Key, str]
        Earlier judgements of some of them, to be shown.
    """
    lines = []
    for key in keys:
        parts = [neutral_text(review.built.items[key[0]]), said.get(key, "")]
        row = {
            "item_id": key[0],
            "dataset": dataset_of(key),
            "question": "\n\n".join(filter(None, parts)),
            "answer": review.text(key),
        }
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines)


def neutral_text(item: BuiltItem) -> str:
    """Return the neutral vignette with its options, the key marked.

    Examples
    --------
    >>> print(neutral_text(BuiltItem("q1", {"A": "Yes", "B": "No"}, "B", "Is he?", "Are they?")))
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
