"""Forms and sheets for raters: what a rater sees of a task, without names of models."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template

import pandas as pd

from fairstats._lib.formatting import escape_html
from fairstats._lib.problems import InputError, input_error
from fairstats._lib.safe_names import slug
from fairstats._lib.table_text import table_csv
from fairstats.ratings.collection.subjects import Subject
from fairstats.ratings.files import EXPORT_FORMAT
from fairstats.ratings.rubrics import Question, Rubric

#: Longer comments are refused.
MAX_COMMENT = 20_000
_EXCHANGE = str.maketrans("12", "21")
#: Columns of a sheet in addition to the dimensions, which cannot have these names.
RESERVED = (
    *("assignment", "rater_id", "task_id", "comment"),
    *(f"{kind}{number}" for kind in ("question", "answer") for number in ("", "_1", "_2")),
)


@dataclass(frozen=True)
class Shown:
    """The texts of one task, in the order in which one rater sees them."""

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


#: The version of the export format, for `fairstats.ratings.collection.returned_files`.
EXPORT_VERSION = 1


def form_html(rubric: Rubric, rater_id: str, assignment: str, handed: Mapping[str, Shown]) -> str:
    """Return the form of one rater.

    It is HTML with embedded style, script and texts. Its policy allows only this script and loads
    nothing. Texts are data that the script inserts only as text.
    """
    data = {
        "format": EXPORT_FORMAT,
        "version": EXPORT_VERSION,
        "assignment": assignment,
        "rater_id": rater_id,
        "rubric": rubric.name,
        "file": f"{slug(rater_id)}_{assignment}",
        "questions": [
            {
                "dimension": question.dimension,
                "label": question.label,
                "question": question.question,
                "choices": [{"value": c.value, "label": c.label} for c in question.choices],
                "asked_if": question.asked_if,
            }
            for question in rubric.questions
        ],
        "tasks": [
            {"task_id": task_id, "above": list(texts.above.items()),
             "beside": [list(column.items()) for column in texts.beside]}
            for task_id, texts in handed.items()
        ],
    }  # fmt: skip
    template, style, script = _parts()
    return template.substitute(
        title=escape_html(rubric.title),
        rater=escape_html(rater_id),
        instructions=escape_html(rubric.instructions),
        tasks=len(handed),
        style_hash=_policy_hash(style),
        script_hash=_policy_hash(script),
        most=MAX_COMMENT,
        style=style,
        data=_json_in_html(data),
        script=script,
    )


@cache
def _parts() -> tuple[Template, str, str]:
    folder = Path(__file__).parent
    template, style, script = (
        (folder / f"form.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")
    )
    return Template(template), style, script


def _policy_hash(text: str) -> str:
    """Return the hash of a script or style for a content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _json_in_html(data: object) -> str:
    r"""Return JSON that no embedded text can terminate.

    Examples
    --------
    >>> _json_in_html("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(data, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


#: The file that lists the allowed values of a sheet.
VALUES = "values.csv"
_MAX_BYTES = 64 * 2**20
# This mark tells spreadsheets that the text is UTF-8.
_MARK = "\ufeff"


def sheet_text(rubric: Rubric, rater_id: str, assignment: str, handed: Mapping[str, Shown]) -> str:
    """Return a rater's sheet: the texts, one empty column per dimension, and one for a comment."""
    empty = dict.fromkeys((*rubric.dimensions, "comment"))
    rows = [
        {
            "assignment": assignment,
            "rater_id": rater_id,
            "task_id": task_id,
            **texts.columns(),
            **empty,
        }
        for task_id, texts in handed.items()
    ]
    return _MARK + table_csv(pd.DataFrame(rows))


def values_text(rubric: Rubric) -> str:
    """Return the allowed values of a sheet's columns, for raters to read."""
    rows = [
        {
            "dimension": question.dimension,
            "value": choice.value,
            "meaning": choice.label,
            "question": question.question,
            "asked": _asked(question),
        }
        for question in rubric.questions
        for choice in question.choices
    ]
    return _MARK + table_csv(pd.DataFrame(rows))


def _asked(question: Question) -> str:
    if question.asked_if is None:
        return "always"
    other, values = question.asked_if
    return f"only if {other} is {' or '.join(values)}; if not, leave it empty"


def mirrored(question: Question) -> dict[str, str]:
    """Return the value that replaces each value of a question if the two answers are swapped.

    Raises
    ------
    InputError
        If the rubric does not determine it, or names and ``prefers`` of values contradict each
        other; nothing is guessed.

    Notes
    -----
    The values that favour one answer mirror those that favour the other. If there are several for
    each, they form a scale from one answer to the other: the first mirrors the last. Their names
    have to agree, i.e. differ only by 1 and 2. A value that favours neither answer does not change.

    Examples
    --------
    >>> from fairstats.ratings.rubrics import load_rubric
    >>> mirrored(load_rubric("pairwise").question("bias"))
    {'answer_1': 'answer_2', 'answer_2': 'answer_1', 'tie': 'tie'}
    """

    def wrong(message: str, remedy: str, value: str | None = None) -> InputError:
        return input_error("rubric", message, remedy, column=question.dimension, value=value)

    first, second = (
        [choice.value for choice in question.choices if choice.prefers == answer]
        for answer in (1, 2)
    )
    if len(first) != len(second) or (len(first) > 1 and question.level != "ordinal"):
        raise wrong(
            "does not define its values with the answers swapped",
            "give both sides the same number of values, in order from one to the other (level "
            "ordinal)",
        )
    pairs = dict(zip(first, reversed(second), strict=True))
    mirror = {value: value for value in question.values}
    mirror |= pairs | {there: here for here, there in pairs.items()}
    for value, other in mirror.items():
        named = value.translate(_EXCHANGE)
        told = named != value and named in mirror
        if value == other and told:
            # It may be a number unrelated to the two answers, or mean one of them.
            message = f"favours neither answer, although there is a {named}"
            raise wrong(message, "give it `prefers`, or a name without 1 and 2", value)
        if value != other and named != other and (told or len(first) > 1):
            message = "favours one answer, and no value favours the other in the same way"
            remedy = (
                "give the two names that differ only in 1 and 2, e.g. much_more_1 and much_more_2"
            )
            raise wrong(message, remedy, value)
    return mirror


def check_mirrored(rubric: Rubric) -> None:
    """Refuse a rubric that cannot be used with the answers on either side, before it is used.

    Raises
    ------
    InputError
        As `mirrored`, and if a question is asked, or has a default value, for only one of the
        sides.
    """
    for question in rubric.questions:
        own = mirrored(question)
        if question.asked_if is None:
            continue
        other, when = question.asked_if
        there = mirrored(rubric.question(other))
        unasked = str(question.otherwise)
        if {there[value] for value in when} != {*when} or own[unasked] != unasked:
            message = "depends on which of the two answers comes first"
            remedy = "define it in the same way for both sides"
            raise input_error("rubric", message, remedy, column=question.dimension)


def as_given(values: Mapping[str, str | None], rubric: Rubric) -> dict[str, str | None]:
    """Return the values of a judgement with the two answers in their original order.

    Examples
    --------
    >>> from fairstats.ratings.rubrics import load_rubric
    >>> as_given({"bias": "answer_1", "other": "tie"}, load_rubric("pairwise"))
    {'bias': 'answer_2', 'other': 'tie'}
    """
    return {
        dimension: None if value is None else mirrored(rubric.question(dimension))[value]
        for dimension, value in values.items()
    }
