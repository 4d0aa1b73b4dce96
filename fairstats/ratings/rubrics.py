"""Rubrics: the questions for raters, the possible values, and when each question is asked.

A rubric is data (``data/rubrics/*.toml``); forms, sheets, validation and statistics all use it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.resources import resource
from fairstats.benchmarks.declaration import read_toml, refuse_unknown_keys, unknown_keys

#: The texts compared in one task: none, answers of two models, or answers to two items.
Compares = Literal["nothing", "models", "items"]
Level = Literal["nominal", "ordinal"]

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
    about: Literal["bias", "context"]
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
    def leading(self) -> tuple[str, ...]:
        """Return the dimensions that are always asked; the others add detail to these."""
        return tuple(q.dimension for q in self.questions if q.asked_if is None)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Return the dimensions, in order."""
        return tuple(q.dimension for q in self.questions)


def builtin_rubrics() -> dict[str, Path]:
    """Return the files of the built-in rubrics by name."""
    return {path.stem: path for path in sorted(resource("data", "rubrics").glob("*.toml"))}


def load_rubric(source: str | os.PathLike[str]) -> Rubric:
    """Load a rubric by the name of a built-in one, or from a file.

    Parameters
    ----------
    source : str or path
        A built-in rubric's name (``"independent"``, ``"pairwise"``, ``"counterfactual"``) or the
        path of a ``.toml`` file.

    Returns
    -------
    Rubric

    Raises
    ------
    InputError
        If there is no such rubric, or the file lacks required declarations or contradicts itself.

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
            raise InputError([Problem(str(source), "no such rubric", remedy)])
        path = built_in[str(source)]
    return _rubric(read_toml(path), path)


def load_rubrics(
    names: Iterable[str], given: Iterable[Rubric] | Mapping[str, Rubric] = ()
) -> dict[str, Rubric]:
    """Return the rubrics with these names, from `given` if possible, else built-in ones.

    Raises
    ------
    InputError
        If a name is neither given nor built in.
    """
    known = given if isinstance(given, Mapping) else {rubric.name: rubric for rubric in given}
    built_in = builtin_rubrics()
    loaded = {}
    for name in sorted(names):
        # By name only: a value in a ratings table must not be opened as a path.
        if name not in known and name not in built_in:
            remedy = f"use one of {', '.join({**built_in, **known})}, or give its .toml file"
            raise InputError([Problem(name, "no such rubric", remedy, column="rubric")])
        loaded[name] = known[name] if name in known else load_rubric(built_in[name])
    return loaded


def copy_rubrics(rubrics: Mapping[str, Rubric], folder: Path) -> None:
    """Copy the files of rubrics, so that ratings can be read with the rubrics next to them."""
    folder.mkdir(parents=True)
    for name, rubric in rubrics.items():
        shutil.copyfile(rubric.path, folder / f"{name}.toml")


_KEYS = (
    "name",
    "version",
    "title",
    "instructions",
    "compares",
    "source",
    "headings",
    "rater_groups",
    "choices",
    "questions",
)
_QUESTION_KEYS = (
    "dimension",
    "label",
    "question",
    "choices",
    "level",
    "about",
    "asked_if",
    "otherwise",
)
_ASKED_IF_KEYS = ("dimension", "values")
_CHOICE_KEYS = ("value", "label", "reported", "prefers")


def _unknown_keys(declared: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    """Report unknown keys of the questions and their choices."""
    named = declared.get("choices", {})
    lists = {f"choices.{name}": choices for name, choices in named.items()}
    for question in declared["questions"]:
        table = f"questions.{question.get('dimension', '')}"
        yield from unknown_keys(question, _QUESTION_KEYS, path, table=table)
        asked_if = question.get("asked_if", {})
        yield from unknown_keys(asked_if, _ASKED_IF_KEYS, path, table=f"{table}.asked_if")
        if not isinstance(question["choices"], str):
            lists[f"{table}.choices"] = question["choices"]
    for table, choices in lists.items():
        for choice in choices:
            name = f"{table}.{choice.get('value', '')}"
            yield from unknown_keys(choice, _CHOICE_KEYS, path, table=name)
            if not isinstance(choice.get("reported", False), bool):
                message, remedy = "must be true or false", "write true or false"
                yield Problem(str(path), message, remedy, column=f"{name}.reported")


def _rubric(declared: Mapping[str, Any], path: Path) -> Rubric:
    def wrong(message: str, remedy: str, key: str) -> InputError:
        return InputError([Problem(str(path), message, remedy, column=key)])

    refuse_unknown_keys(declared, _KEYS, path)
    try:
        if problems := list(_unknown_keys(declared, path)):
            raise InputError(problems)
        rubric = Rubric(
            name=str(declared["name"]),
            version=str(declared["version"]),
            title=str(declared["title"]),
            instructions=" ".join(str(declared["instructions"]).split()),
            compares=declared["compares"],
            rater_groups=MappingProxyType(
                {str(k): str(v) for k, v in declared["rater_groups"].items()}
            ),
            questions=tuple(_question(entry, declared) for entry in declared["questions"]),
            source=str(declared.get("source", "")),
            path=path,
            headings=MappingProxyType(
                {str(k): str(v) for k, v in declared.get("headings", {}).items()}
            ),
        )
    except KeyError as error:
        raise wrong("is missing", "add it", str(error.args[0])) from None
    except (AttributeError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        message = f"has an invalid layout ({error})"
        raise wrong(message, "see data/rubrics/independent.toml", "file") from None
    for message, remedy, key in _contradictions(rubric):
        raise wrong(message, remedy, key)
    return rubric


def _question(entry: Mapping[str, Any], declared: Mapping[str, Any]) -> Question:
    choices = entry["choices"]
    if isinstance(choices, str):
        choices = declared["choices"][choices]
    asked_if = entry.get("asked_if")
    return Question(
        dimension=str(entry["dimension"]),
        label=str(entry["label"]),
        question=" ".join(str(entry["question"]).split()),
        choices=tuple(
            Choice(
                str(one["value"]), str(one["label"]), one["reported"] is True, one.get("prefers")
            )
            for one in choices
        ),
        level=entry.get("level", "nominal"),
        about=entry.get("about", "bias"),
        asked_if=None
        if asked_if is None
        else (str(asked_if["dimension"]), tuple(map(str, asked_if["values"]))),
        otherwise=entry.get("otherwise"),
    )


def _contradictions(rubric: Rubric) -> Iterable[tuple[str, str, str]]:
    """Return errors, with remedy and place."""
    if not _NAME.fullmatch(rubric.name):
        yield "is not a valid name", "use a-z, 0-9 and underscores", "name"
    if rubric.compares not in ("nothing", "models", "items"):
        yield "is unknown", "use nothing, models or items", "compares"
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
        if question.level not in ("nominal", "ordinal") or question.about not in (
            "bias",
            "context",
        ):
            remedy = "level: nominal, ordinal; about: bias, context"
            yield "has an unknown `level` or `about`", remedy, place
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
        earlier[question.dimension] = question
