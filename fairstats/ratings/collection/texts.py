"""A rater's view of a task: its texts under headings, without names of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairstats.ratings.collection.subjects import Subject
from fairstats.ratings.rubrics import Rubric

#: Columns of a sheet in addition to the dimensions, which cannot have these names.
RESERVED = (
    *("assignment", "rater_id", "task_id", "comment"),
    *(f"{kind}{number}" for kind in ("question", "answer") for number in ("", "_1", "_2")),
)


@dataclass(frozen=True)
class Shown:
    """The texts of one task, in the order in which one rater sees them.

    Parameters
    ----------
    above : Mapping[str, str]
        Texts at the top, by heading.
    beside : tuple of Mapping[str, str]
        Texts shown next to each other.
    """

    above: Mapping[str, str]
    beside: tuple[Mapping[str, str], ...] = ()

    @property
    def texts(self) -> dict[str, str]:
        """Return all texts by heading, in order."""
        return {
            heading: text for part in (self.above, *self.beside) for heading, text in part.items()
        }

    def columns(self) -> dict[str, str]:
        """Return the texts by the names of a sheet's columns.

        Examples
        --------
        >>> Shown({"Question": "Why?"}, ({"Answer 1": "So."}, {"Answer 2": "Thus."})).columns()
        {'question': 'Why?', 'answer_1': 'So.', 'answer_2': 'Thus.'}
        """
        return {_column(heading): text for heading, text in self.texts.items()}


def text_columns(rubric: Rubric) -> tuple[str, ...]:
    """Return the sheet columns of a rubric's headings.

    Examples
    --------
    >>> from fairstats.ratings.rubrics import load_rubric
    >>> text_columns(load_rubric("vignette_review")), text_columns(load_rubric("triage"))
    (('neutral_vignette_with_options', 'variant'), ())
    """
    return tuple(map(_column, rubric.headings.values()))


def _column(heading: str) -> str:
    return heading.lower().replace(" ", "_")


def shown(subject: Subject, rubric: Rubric, *, swapped: bool) -> Shown:
    """Return one rater's view of a subject."""
    texts = subject.texts
    if rubric.compares == "items":
        pairs = (("question", "answer"), ("question_2", "answer_2"))
        return Shown(
            {},
            tuple(
                {f"Question {n}": texts[question], f"Answer {n}": texts[answer]}
                for n, (question, answer) in enumerate(pairs, start=1)
            ),
        )
    if rubric.compares == "models":
        answers = [texts["answer"], texts["answer_2"]]
        if swapped:
            answers.reverse()
        return Shown(
            {"Question": texts["question"]},
            tuple({f"Answer {n}": text} for n, text in enumerate(answers, start=1)),
        )
    if rubric.headings:
        return Shown(
            {}, tuple({rubric.headings[n]: texts[n]} for n in ("question", "answer") if n in texts)
        )
    return Shown(
        {name.capitalize(): texts[name] for name in ("question", "answer") if name in texts}
    )
