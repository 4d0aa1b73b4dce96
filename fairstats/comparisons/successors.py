"""What is declared about models: facts, the next version, and reasons to overrule screening."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from fairstats._lib.installation import resource
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import Problem, refuse
from fairstats._lib.toml_files import Fault, Flag, Table, must, parse, read_toml

#: The facts about a model, with their names for readers.
FACTS = {"family": "Family", "size": "Size", "open": "Weights", "licence": "Licence"}
_EXAMPLE = "docs/site.md"
# Each is a choice on the leaderboard.
_LONGEST = 60
_Fact = Annotated[
    str,
    must(
        lambda text: 0 < len(text) <= _LONGEST and text == text.strip() and text.isprintable(),
        f"must be 1 to {_LONGEST} printable characters without spaces around them",
        "shorten or correct it",
    ),
]


class ModelFacts(Table):
    """Facts about a model; `open` is whether its weights can be downloaded."""

    family: _Fact | None = None
    size: _Fact | None = None
    open: Flag | None = None
    licence: _Fact | None = None


class _Model(ModelFacts):
    successor_of: Annotated[str, must(len, "is empty", "name the older model")] | None = None

    @model_validator(mode="after")
    def _something(self) -> _Model:
        if not self.model_fields_set:
            raise Fault("declares nothing", f"add one of successor_of, {', '.join(FACTS)}")
        return self


class _File(Table):
    models: dict[str, _Model] = Field(default_factory=dict)
    overrule: dict[str, str] = Field(default_factory=dict)


def read_overruled(path: AnyPath) -> dict[str, str]:
    """Return the models of a file whose answers are published although screening blocks them.

    The file is that of `read_successors`, with a reason for each model in a table ``[overrule]``.
    """
    return dict(_declared_in(path).overrule)


def _declared_in(path: AnyPath) -> _File:
    return parse(_File, read_toml(Path(path)), Path(path), example=_EXAMPLE)


def read_successors(path: AnyPath) -> dict[str, str]:
    """Return the older model of each newer one, as a file declares them.

    It is a TOML file with one table per newer model, e.g. ``[models."GPT-5"]`` with ``successor_of
    = "GPT-4.1"``.

    Raises
    ------
    InputError
        If a key is unknown or has the wrong type, or a model succeeds itself, also indirectly.
    """
    models = _declared_in(path).models
    older = {name: one.successor_of for name, one in models.items() if one.successor_of}
    _refuse_cycles(older, older, Path(path))
    return older


def facts_of_models(
    models: Collection[str], earlier: Collection[str], path: AnyPath
) -> dict[str, dict[str, str | bool]]:
    """Return the declared facts about the models of a release.

    They are those of `FACTS` in the table of a model, in a file as of `read_successors`.
    """
    declared = _declared_in(path).models
    there = {*models, *earlier}
    refuse(_unknown(path, name, there, f"models.{name}") for name in declared if name not in there)
    facts = {
        name: one.model_dump(include=set(FACTS), exclude_none=True)
        for name, one in sorted(declared.items())
        if name in models
    }
    return {name: own for name, own in facts.items() if own}


def _unknown(
    path: AnyPath, name: str, there: Collection[str], column: str, value: str = ""
) -> Problem:
    """Report a model that is not among those of the releases, with the closest one."""
    closest = get_close_matches(name, sorted(there), n=1)
    remedy = f"did you mean {closest[0]}?" if closest else "correct or remove it"
    message = f"{name} is not a model of this release or an earlier one"
    return Problem(str(path), message, remedy, column=column, value=value or name)


def known_successors(benchmarks: Collection[str]) -> dict[str, str]:
    """Return the successors that the studies of these benchmarks compare, as `read_successors`."""
    known: dict[str, str] = {}
    for path in sorted(resource("data", "models").glob("*.toml")):
        if path.stem in benchmarks:
            known |= read_successors(path)
    return known


def successors_of(
    models: Collection[str],
    earlier: Collection[str],
    benchmarks: Collection[str],
    path: AnyPath | None = None,
) -> dict[str, str]:
    """Return the older model of each newer one in a release; it may be in an earlier release.

    Some benchmarks have known successors. The publisher's file goes before what is known.

    Raises
    ------
    InputError
        As `read_successors`; also names every model of the file without answers, and the closest
        known one.
    """
    known = known_successors(benchmarks)
    if path is None:
        return _newer_in(known, models)
    declared = read_successors(path)
    there = {*models, *earlier}
    problems = []
    for newer, older in declared.items():
        for unknown in sorted({newer, older} - there):
            column = f"models.{newer}.successor_of"
            problems.append(_unknown(path, unknown, there - {newer, older}, column, older))
    refuse(problems)
    _refuse_cycles(known | declared, declared, path)
    return _newer_in(known | declared, models)


def _newer_in(older: Mapping[str, str], models: Collection[str]) -> dict[str, str]:
    return {name: older[name] for name in sorted(older) if name in models}


def predecessors(older: Mapping[str, str], model: str) -> list[str]:
    """Return the models before a model, the next one first; a circle, if forged, ends.

    Examples
    --------
    >>> predecessors({"c": "b", "b": "a"}, "c")
    ['b', 'a']
    """
    found: list[str] = []
    while (model := older.get(model, "")) and model not in found:
        found.append(model)
    return found


def _refuse_cycles(older: Mapping[str, str], declared: Collection[str], path: AnyPath) -> None:
    """Refuse a declared model that is before itself."""
    problems = []
    for newer in declared:
        if newer in predecessors(older, newer):
            message = "makes the model a successor of itself"
            remedy = "name the version before it, or remove the line"
            column, value = f"models.{newer}.successor_of", older[newer]
            problems.append(Problem(str(path), message, remedy, column=column, value=value))
    refuse(problems)
