"""The prompt for a model's judgement."""

from __future__ import annotations

import json

from fairstats.asking.item_prompts import load_template, quoted
from fairstats.ratings.collection.subjects import Subject
from fairstats.ratings.collection.texts import Shown, shown
from fairstats.ratings.rubrics import Question, Rubric


def rating_prompt(rubric: Rubric, subject: Subject, *, swapped: bool = False) -> str:
    """Return all of a rubric's questions on one subject, as one prompt.

    Parameters
    ----------
    rubric : Rubric
        The questions.
    subject : Subject
        The texts to judge.
    swapped : bool
        Whether the second answer is shown first.

    Returns
    -------
    str
        The prompt names no model. Each line of the texts begins with a mark, so that it cannot pass
        for a line of the prompt.
    """
    named = {question.dimension: "..." for question in rubric.questions}
    return load_template("rating").substitute(
        instructions=rubric.instructions,
        material=_material(shown(subject, rubric, swapped=swapped)),
        questions="\n".join(_asked(question) for question in rubric.questions),
        form=json.dumps(named),
    )


def _material(shown: Shown) -> str:
    return "\n\n".join(f"{heading}:\n{quoted(text)}" for heading, text in shown.texts.items())


def _asked(question: Question) -> str:
    condition = ""
    if question.asked_if is not None:
        other, when = question.asked_if
        values = " or ".join(json.dumps(value) for value in when)
        condition = f" (only if {other} is {values})"
    values = ", ".join(
        f"{json.dumps(choice.value)} ({choice.label})" for choice in question.choices
    )
    return f"- {question.dimension}{condition}: {question.question}\n  Values: {values}"
