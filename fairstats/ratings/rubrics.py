"""Rubrics: the questions for raters, the possible values, and when each question is asked.

A rubric is data (``data/rubrics/*.toml``); forms, sheets, validation and statistics all use it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field, Strict

from fairstats._lib.formatting import listed
from fairstats._lib.installation import resource
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import input_error, refuse
from fairstats._lib.safe_names import declared, essential_letters
from fairstats._lib.toml_files import Flag, Table, parse, read_toml, texts_of, unshowable

#: The texts compared in one task: none, answers of two models, or answers to two items.
Compares = Literal["nothing", "models", "items"]
Level = Literal["nominal", "ordinal"]
About = Literal["bias", "context"]

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
# Pattern of column names in a sheet.
_HEADING = re.compile(r"[A-Z][a-z]*( [a-z]+){0,5}")


@dataclass(frozen=True)
class Choice:
    """A possible value of a rating.

    Parameters
    ----------
    value : str
        The value in the ratings table.
    label : str
        The label for raters.
    reported : bool
        Whether a rating with this value counts as the event to estimate: for a dimension of bias,
        that bias was reported.
    prefers : {0, 1, 2} or None
        In a comparison of two answers, the one that it favours; 0 for neither.
    """

    value: str
    label: str
    reported: bool
    prefers: int | None = None


@dataclass(frozen=True)
class Question:
    """A question of a rubric; its answers are the ratings of one dimension.

    Parameters
    ----------
    dimension, label, question : str
        Its name in the ratings table, its short label, and the question as shown to raters.
    choices : tuple of Choice
        In order; for an ordinal level from least to most.
    level : {"nominal", "ordinal"}
        Whether the order of the choices has a meaning.
    about : {"bias", "context"}
        Whether it reports bias, or gives context for bias (e.g. whether the ideal answers differ).
    asked_if : tuple of (str, tuple of str) or None
        The dimension and its values for which this question is asked; None: always.
    otherwise : str or None
        The value of a rating if the question was not asked.
    """

    dimension: str
    label: str
    question: str
    choices: tuple[Choice, ...]
    level: Level
    about: About
    asked_if: tuple[str, tuple[str, ...]] | None = None
    otherwise: str | None = None

    @property
    def values(self) -> tuple[str, ...]:
        """Return the values allowed in the ratings table, in order."""
        return tuple(choice.value for choice in self.choices)

    @property
    def reported(self) -> tuple[str, ...]:
        """Return the values that count as reported."""
        return tuple(choice.value for choice in self.choices if choice.reported)


@dataclass(frozen=True)
class Rubric:
    """The questions for raters in one kind of task.

    Parameters
    ----------
    name, version, title : str
        Its key in the ratings table, its version, its title.
    instructions : str
        Instructions for raters.
    compares : {"nothing", "models", "items"}
        One answer to one item; answers of two models to one item; one model's answers to two items
        (a counterfactual pair).
    rater_groups : Mapping[str, str]
        The possible groups of raters, and their labels.
    questions : tuple of Question
        In the order in which they are asked.
    source : str
        The source of the rubric.
    headings : Mapping[str, str]
        Headings above the texts of a task, if they are not a question or an answer: by ``question``
        and ``answer``, which are then shown next to each other. Empty for most rubrics.
    path : Path
        The file that declares it.
    """

    name: str
    version: str
    title: str
    instructions: str
    compares: Compares
    rater_groups: Mapping[str, str]
    questions: tuple[Question, ...]
    source: str
    path: Path = field(repr=False)
    headings: Mapping[str, str] = field(default_factory=dict)

    def question(self, dimension: str) -> Question:
        """Return the question of a dimension."""
        return next(q for q in self.questions if q.dimension == dimension)

    @property
    def declaration(self) -> str:
        """Return the text of the file that declares the rubric."""
        return self.path.read_text(encoding="utf-8")

    @property
    def direction(self) -> str:
        """Return which values an own rubric counts as reports; empty for a built-in rubric.

        Readers take a higher rate for a worse one, and the preferred model for the better one,
        whatever the values are.
        """
        built_in = builtin_rubrics().get(self.name)
        if built_in and declared(_load_once(built_in)) == declared(self):
            return ""
        models = self.compares == "models"
        counted: dict[str, list[str]] = {}
        for question in self.questions:
            labels = [
                f"answer {one.prefers} if “{one.label}”" if models else f"“{one.label}”"
                for one in question.choices
                if (one.prefers if models else one.reported)
            ]
            asked = question.label
            if models and question.asked_if is None:
                asked = f"“{question.question}”"
            if labels:
                counted.setdefault(listed(labels, "or"), []).append(asked)
        parts = [
            labels + f" for {listed(of)}" * (models or len(counted) > 1)
            for labels, of in counted.items()
        ]
        where = f"as declared in {self.path.name}"
        if models:
            return f"preferred, {where}: {'; '.join(parts)}"
        return f"higher is worse, {where}: reports are {'; '.join(parts)}"

    @property
    def leading(self) -> tuple[str, ...]:
        """Return the dimensions that are always asked; the others add detail to these."""
        return tuple(q.dimension for q in self.questions if q.asked_if is None)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Return the dimensions, in order."""
        return tuple(q.dimension for q in self.questions)


#: Rubrics, in any order or by name.
Rubrics = Iterable[Rubric] | Mapping[str, Rubric]


def builtin_rubrics() -> dict[str, Path]:
    """Return the files of the built-in rubrics by name."""
    return {path.stem: path for path in sorted(resource("data", "rubrics").glob("*.toml"))}


def load_rubric(source: AnyPath, *, copied: bool = False) -> Rubric:
    """Load a rubric by the name of a built-in one, or from a file.

    Parameters
    ----------
    source : str or path
        A built-in rubric's name (``"independent"``, ``"pairwise"``, ``"counterfactual"``) or the
        path of a ``.toml`` file.
    copied : bool
        Whether it is the copy in a release or study, which may be of an earlier version of a
        built-in rubric.

    Returns
    -------
    Rubric

    Raises
    ------
    InputError
        If there is no such rubric, the file lacks required declarations or contradicts itself, or
        it has the name or title of a built-in rubric that it declares differently.

    Examples
    --------
    >>> rubric = load_rubric("independent")
    >>> rubric.question("bias").values, rubric.question("bias").reported
    (('none', 'minor', 'severe'), ('minor', 'severe'))
    """
    path = Path(source)
    if path.suffix != ".toml":
        built_in = builtin_rubrics()
        if str(source) not in built_in:
            remedy = f"use one of {', '.join(built_in)}, or the path of a rubric's .toml"
            raise input_error(source, "no such rubric", remedy)
        return _load_once(built_in[str(source)])
    rubric = _rubric(read_toml(path), path)
    if not copied:
        _refuse_built_in_names(rubric)
    return rubric


def _refuse_built_in_names(rubric: Rubric) -> None:
    """Refuse a rubric that looks like a built-in one but declares something else.

    Readers expect its questions, and that the same values count as reports of bias. With the same
    questions, as for other groups of raters, it may keep the title.
    """
    for key in ("name", "title"):
        value = getattr(rubric, key)
        known = _known_names().get(essential_letters(value))
        if known is None:
            continue
        other = _load_once(known)
        differs = declared(other) != declared(rubric)
        if key == "title":
            differs = (other.compares, other.questions) != (rubric.compares, rubric.questions)
        if differs:
            message = f"has the {key} of a built-in rubric, but a different declaration"
            remedy = f"choose another {key}" + ", also in the ratings" * (key == "name")
            raise input_error(rubric.path, message, remedy, column=key, value=value)


@cache
def _known_names() -> dict[str, Path]:
    """Return the files of the built-in rubrics by the letters of their names and titles."""
    return {
        essential_letters(text): path
        for name, path in builtin_rubrics().items()
        for text in (name, _load_once(path).title)
    }


@cache
def _load_once(built_in: Path) -> Rubric:
    """Load a built-in rubric: its file does not change, and every table needs it again."""
    return _rubric(read_toml(built_in), built_in)


def load_rubrics(names: Iterable[str], given: Rubrics = ()) -> dict[str, Rubric]:
    """Return the rubrics with these names, from `given` if possible, else built-in ones."""
    known = given if isinstance(given, Mapping) else {rubric.name: rubric for rubric in given}
    built_in = builtin_rubrics()
    loaded = {}
    for name in sorted(names):
        # By name only: a value in a ratings table must not be opened as a path.
        if name not in known and name not in built_in:
            remedy = f"use one of {', '.join({**built_in, **known})}, or give its .toml file"
            raise input_error(name, "no such rubric", remedy, column="rubric")
        loaded[name] = known[name] if name in known else _load_once(built_in[name])
    return loaded


def copy_rubrics(rubrics: Mapping[str, Rubric], folder: Path) -> None:
    """Copy the files of rubrics, so that ratings can be read with the rubrics next to them."""
    folder.mkdir(parents=True)
    for name, rubric in rubrics.items():
        shutil.copyfile(rubric.path, folder / f"{name}.toml")


_EXAMPLE = "data/rubrics/independent.toml"
#: The texts that may be long, and those that readers need.
_LONG_TEXTS = ("instructions", "questions.question", "source")
_NAMED = ("title", "instructions", "label", "question", "rater_groups")


class _Choice(Table):
    """See `Choice`."""

    value: str
    label: str
    reported: Flag
    prefers: Annotated[int, Strict()] | None = None


class _AskedIf(Table):
    """When a question is asked."""

    dimension: str
    values: tuple[str, ...]


class _Question(Table):
    """See `Question`."""

    dimension: str
    label: str
    question: str
    choices: tuple[_Choice, ...]
    level: Level = "nominal"
    about: About = "bias"
    asked_if: _AskedIf | None = None
    otherwise: str | None = None

    def read(self) -> Question:
        asked_if = self.asked_if
        made = {
            "question": " ".join(self.question.split()),
            "choices": tuple(Choice(**dict(one)) for one in self.choices),
            "asked_if": None if asked_if is None else (asked_if.dimension, asked_if.values),
        }
        return Question(**dict(self) | made)


class _Lists(Table):
    """The lists of choices that questions refer to by name."""

    choices: dict[str, tuple[_Choice, ...]] = Field(default_factory=dict)


class _Rubric(Table):
    """A rubric file; see `Rubric`."""

    name: str
    version: str
    title: str
    instructions: str
    compares: Compares
    source: str = ""
    headings: dict[str, str] = Field(default_factory=dict)
    rater_groups: dict[str, str]
    questions: tuple[_Question, ...]


def _with_choices(declared: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Write the named lists of choices where questions refer to them."""
    lists = {key: value for key, value in declared.items() if key == "choices"}
    # Checked once, not for every question that refers to it.
    parse(_Lists, lists, path, example=_EXAMPLE)
    lists, questions = lists.get("choices", {}), declared.get("questions")
    found = {key: value for key, value in declared.items() if key != "choices"}
    if not isinstance(questions, list):
        return found
    found["questions"] = []
    for place, question in enumerate(questions):
        choices = question.get("choices") if isinstance(question, dict) else None
        if isinstance(choices, str):
            if choices not in lists:
                remedy = f"declare it in [choices], as {choices} = [...]"
                column = f"questions[{place}].choices"
                message = "no such list of choices"
                raise input_error(path, message, remedy, column=column, value=choices)
            question = question | {"choices": lists[choices]}
        found["questions"].append(question)
    return found


def _rubric(declared: Mapping[str, Any], path: Path) -> Rubric:
    table = parse(_Rubric, _with_choices(declared, path), path, example=_EXAMPLE)
    made = {
        "instructions": " ".join(table.instructions.split()),
        "rater_groups": MappingProxyType(table.rater_groups),
        "questions": tuple(question.read() for question in table.questions),
        "headings": MappingProxyType(table.headings),
    }
    rubric = Rubric(**dict(table) | made, path=path)
    for message, remedy, key in _contradictions(rubric):
        raise input_error(path, message, remedy, column=key)
    refuse(unshowable(texts_of(declared), path, long=_LONG_TEXTS, named=_NAMED))
    return rubric


def _contradictions(rubric: Rubric) -> Iterable[tuple[str, str, str]]:
    """Return errors, with remedy and place."""
    if not _NAME.fullmatch(rubric.name):
        yield "is not a valid name", "use a-z, 0-9 and underscores", "name"
    if not rubric.rater_groups or not rubric.questions:
        yield "is empty", "declare at least one", "rater_groups, questions"
    if rubric.headings and (
        rubric.compares != "nothing" or {*rubric.headings} != {"question", "answer"}
    ):
        remedy = "give question and answer, in a rubric that compares `nothing`"
        yield "has different texts from a task of this rubric", remedy, "headings"
    if not all(_HEADING.fullmatch(heading) for heading in rubric.headings.values()):
        yield (
            "has an invalid name",
            "use one to six words of letters, starting with a capital",
            "headings",
        )
    if len({*rubric.headings.values()}) < len(rubric.headings):
        yield "uses the same name twice", "give the two texts different names", "headings"
    for group in rubric.rater_groups:
        if not _NAME.fullmatch(group):
            yield f"{group!r} is not a valid name", "use a-z, 0-9 and underscores", "rater_groups"
        if group == "model":
            yield "is reserved for raters that are models", "use another name", "rater_groups.model"
    earlier: dict[str, Question] = {}
    for question in rubric.questions:
        place = f"questions.{question.dimension}"
        if not _NAME.fullmatch(question.dimension) or question.dimension in earlier:
            yield "is not a valid name, or appears twice", "use a-z, 0-9 and underscores", place
        values = question.values
        if len(values) < 2 or len(set(values)) < len(values):
            yield "needs two or more choices with different values", "correct them", place
        if not all(_NAME.fullmatch(value) for value in values):
            yield "has a value that is not a valid name", "use a-z, 0-9 and underscores", place
        if not 0 < len(question.reported) < len(values):
            yield "must have `reported` for some choices, but not for all", "correct them", place
        if any(choice.prefers not in (None, 0, 1, 2) for choice in question.choices):
            yield "`prefers` must be 0, 1 or 2", "correct it", place
        stated = [choice.prefers for choice in question.choices if choice.prefers is not None]
        if stated and (rubric.compares != "models" or len(stated) < len(values)):
            remedy = "set it for all choices of a rubric that compares models, or for no choice"
            yield (
                "`prefers` is set for only some choices, or the rubric does not compare models",
                remedy,
                place,
            )
        if (question.asked_if is None) != (question.otherwise is None):
            yield "`asked_if` and `otherwise` belong together", "give both or neither", place
        elif question.asked_if is not None:
            other, when = question.asked_if
            if other not in earlier or not set(when) < set(earlier[other].values):
                remedy = "use an earlier question and some of its values"
                yield "`asked_if` names an unknown question or value", remedy, place
            if question.otherwise not in values:
                yield "`otherwise` is not one of the choices", "use one of the choices", place
            # Raters who were not asked would report, or prefer, without a word on any page.
            elif any(
                one.value == question.otherwise and (one.reported or one.prefers)
                for one in question.choices
            ):
                remedy = "use a choice that is neither"
                yield "`otherwise` counts as a report or a preference", remedy, place
        earlier[question.dimension] = question


def is_asked(question: Question, values: Mapping[str, str | None]) -> bool | None:
    """Return whether a question is asked, given the earlier values; None if undetermined.

    Examples
    --------
    >>> from fairstats.ratings.rubrics import load_rubric
    >>> stereotypes = load_rubric("independent").question("stereotypes")
    >>> is_asked(stereotypes, {"bias": "minor"}), is_asked(stereotypes, {"bias": "none"})
    (True, False)
    >>> is_asked(stereotypes, {"bias": None})
    """
    if question.asked_if is None:
        return True
    other, when = question.asked_if
    value = values.get(other)
    return None if value is None else value in when
