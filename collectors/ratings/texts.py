"""What a rater is shown of a task: its texts under headings, and nothing that names a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from collectors.ratings.subjects import Subject
from fairstats.problems import InputError, Problem
from fairstats.ratings.rubrics import Question, Rubric

#: The columns of a sheet beside the dimensions, which therefore cannot have these names.
RESERVED = (
    *("assignment", "rater_id", "task_id", "comment"),
    *(f"{kind}{number}" for kind in ("question", "answer") for number in ("", "_1", "_2")),
)


@dataclass(frozen=True)
class Shown:
    """The texts of one task in the order in which one rater sees them.

    Parameters
    ----------
    above : Mapping[str, str]
        Texts by heading that stand over everything.
    beside : tuple of Mapping[str, str]
        Those that stand side by side.
    """

    above: Mapping[str, str]
    beside: tuple[Mapping[str, str], ...] = ()

    def columns(self) -> dict[str, str]:
        """The texts by the names of a sheet's columns.

        Examples
        --------
        >>> Shown({"Question": "Why?"}, ({"Answer 1": "So."}, {"Answer 2": "Thus."})).columns()
        {'question': 'Why?', 'answer_1': 'So.', 'answer_2': 'Thus.'}
        """
        texts = {
            heading: text for part in (self.above, *self.beside) for heading, text in part.items()
        }
        return {heading.lower().replace(" ", "_"): text for heading, text in texts.items()}


def shown(subject: Subject, rubric: Rubric, *, swapped: bool) -> Shown:
    """What one rater sees of a subject."""
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
    return Shown(
        {name.capitalize(): texts[name] for name in ("question", "answer") if name in texts}
    )


def mirrored(question: Question) -> dict[str, str]:
    """What each value of a question means when the two answers change places.

    Raises
    ------
    InputError
        When a value that favours one answer has no counterpart that favours the other.

    Examples
    --------
    >>> from fairstats.ratings.rubrics import load_rubric
    >>> mirrored(load_rubric("pairwise").question("bias"))
    {'answer_1': 'answer_2', 'answer_2': 'answer_1', 'tie': 'tie'}
    """
    favours = {choice.value: choice.prefers or 0 for choice in question.choices}
    ones, twos = ([v for v, favoured in favours.items() if favoured == n] for n in (1, 2))
    only = dict(zip(ones + twos, twos + ones, strict=True)) if len(ones) == len(twos) == 1 else {}
    exchange = str.maketrans("12", "21")
    mirror = {}
    for value, favoured in favours.items():
        other = only.get(value) or value.translate(exchange)
        if other not in favours:
            other = value
        if favours[other] != {0: 0, 1: 2, 2: 1}[favoured]:
            message = "favours one answer, and no value says the same of the other"
            remedy = "name the two alike but for 1 and 2, e.g. much_more_1 and much_more_2"
            raise InputError(
                [Problem("rubric", message, remedy, column=question.dimension, value=value)]
            )
        mirror[value] = other
    return mirror
