"""Read a TOML file as a pydantic model; each problem names its key and a remedy."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Strict,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import ErrorDetails

from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import InputError, Problem, input_error
from fairstats._lib.safe_names import is_plain_text
from fairstats._lib.untrusted_files import read_text

# Python's TOML reader needs memory quadratic in the number of parts of a dotted key: gigabytes for
# a key of 40 KB.
_BYTES = 2**20
_DOTS = 64
#: The most characters of texts.
_MOST_TEXT, _MOST_LONG_TEXT = 500, 5000


class Fault(ValueError):
    """What is wrong with a value, and the remedy; for validators of a `Table`.

    A validator of a whole table names the key, and may give its value.
    """

    def __init__(
        self, message: str, remedy: str, *, column: str = "", value: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.remedy, self.column, self.value = message, remedy, column, value


def must(
    holds: Callable[[Any], object],
    message: str,
    remedy: str,
    *,
    validator: type[AfterValidator | BeforeValidator] = AfterValidator,
) -> AfterValidator | BeforeValidator:
    """Return a validator that raises a `Fault` unless something holds for the value.

    `BeforeValidator` also gets values of other types.
    """

    def check(value: Any) -> Any:
        if not holds(value):
            raise Fault(message, remedy)
        return value

    return validator(check)


def _is_date(value: object) -> object:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise ValueError("must be a date")
    return value


#: TOML has its own types, so none is converted: a boolean is not a number, nor a text a date.
Number = Annotated[float, Strict()]
Proportion = Annotated[
    Number, must(lambda value: 0 <= value <= 1, "must be a proportion from 0 to 1", "correct it")
]
Flag = Annotated[bool, Strict()]
Day = Annotated[date, BeforeValidator(_is_date)]


class Table(BaseModel):
    """A table of a TOML file, with no keys other than its fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


T = TypeVar("T")


def read_toml(path: AnyPath) -> dict[str, Any]:
    """Read a TOML file, or raise `InputError` if it is missing or broken."""
    text = read_text(path, _BYTES)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > _DOTS:
            message = f"line {number} contains more than {_DOTS} dots"
            raise input_error(path, message, "write long texts on several lines")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise input_error(path, "is not valid TOML (nested too deeply)", "correct it") from None
    except ValueError as error:  # Also raised for a number with too many digits.
        raise input_error(path, f"is not valid TOML ({error})", "correct it") from None


def parse(expected: type[T], declared: Mapping[str, Any], path: Path, *, example: str) -> T:
    """Check the content of a file.

    `expected` is a `Table` with the keys and their types, or a dict of tables. `example` names a
    file with right values, for problems.

    Raises
    ------
    InputError
        Names every key that is unknown, missing or of another type, and every `Fault`.

    Examples
    --------
    >>> class Wards(Table):
    ...     names: tuple[str, ...]
    >>> parse(Wards, {"names": ["A", 1]}, Path("wards.toml"), example="a.toml")
    Traceback (most recent call last):
    fairstats.InputError: wards.toml: names: has the wrong type; write a list of texts (see a.toml)
    """
    try:
        return TypeAdapter(expected).validate_python(declared)
    except ValidationError as error:
        found = (_problem(expected, one, path, example) for one in error.errors())
        # A list with several wrong values is one problem.
        raise InputError(list(dict.fromkeys(found))) from None


def texts_of(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Return every text of a file with its key.

    Examples
    --------
    >>> list(texts_of({"title": "T", "wards": [{"label": "A"}, {"label": "B"}]}))
    [('title', 'T'), ('wards.label', 'A'), ('wards.label', 'B')]
    """
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from texts_of(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_of(inner, key)


def unshowable(
    texts: Iterable[tuple[str, str]],
    path: Path,
    *,
    long: Collection[str] = (),
    named: Collection[str] = (),
) -> Iterator[Problem]:
    """Return a problem for each text that a page or a terminal could not show as it is.

    Texts have their keys, see `texts_of`. Those of the keys `long` may have 5,000 characters,
    others 500. Those with a part of their keys in `named` must not be empty.
    """
    for key, text in texts:
        longest = _MOST_LONG_TEXT if key in long else _MOST_TEXT
        if not is_plain_text(text):
            wrong = "has a control character, or one that reverses the text", "remove it"
        elif len(text) > longest:
            wrong = f"has {len(text):,} characters", f"use at most {longest:,}"
        elif not text.strip() and not {*key.split(".")}.isdisjoint(named):
            wrong = "is empty", "write what readers should see"
        else:
            continue
        yield Problem(str(path), *wrong, column=key[:_MOST_TEXT], value=text[:80])


def unknown_keys(declared: Iterable[str], known: Sequence[str], path: Path) -> list[Problem]:
    """Return the problems of the unknown keys of a file."""
    return [_unknown_key(key, known, path, column=key) for key in declared if key not in known]


def _unknown_key(key: str, known: Sequence[str], path: Path, *, column: str) -> Problem:
    """Return the problem of an unknown key, with the closest known one: it may be misspelt."""
    closest = get_close_matches(key, known, n=1)
    remedy = f"did you mean {closest[0]}?" if closest else f"known keys: {', '.join(known)}"
    return Problem(str(path), "unknown key", remedy, column=column)


def _problem(whole: Any, error: ErrorDetails, path: Path, example: str) -> Problem:
    *_, (parent, _), (expected, column) = ((None, ""), *_steps(whole, error["loc"]))
    value, fault = error["input"], error.get("ctx", {}).get("error")
    # In a pair with one value, the other is missing.
    if error["type"] == "missing" and isinstance(error["loc"][-1], str):
        return Problem(str(path), "is missing", "add it", column=column)
    if error["type"] == "extra_forbidden":
        known = [field.alias or name for name, field in parent.model_fields.items()]
        return _unknown_key(str(error["loc"][-1]), known, path, column=column)
    if isinstance(fault, Fault):
        column = ".".join(filter(None, (column, fault.column)))
        said = fault.value if isinstance(value, dict | list) else str(value)
        return Problem(str(path), fault.message, fault.remedy, column=column or None, value=said)
    if error["type"] == "literal_error" and isinstance(value, str):
        remedy = f"use one of {', '.join(get_args(_plain(expected)))}"
        return Problem(str(path), "is unknown", remedy, column=column, value=value)
    remedy = f"write {_described(expected)} (see {example})"
    return Problem(str(path), "has the wrong type", remedy, column=column)


def _steps(expected: Any, place: tuple[int | str, ...]) -> Iterator[tuple[Any, str]]:
    """Yield the types on the way to a value, each with its key; texts in a list have none."""
    column = ""
    yield expected, column
    for step in place:
        if _is_table(expected):
            fields = {field.alias or name: field for name, field in expected.model_fields.items()}
            expected = _plain(fields[step].annotation) if step in fields else None
            column += f".{step}" if column else str(step)
        elif isinstance(step, str) and get_origin(expected) is dict and step != "[key]":
            expected = _plain(get_args(expected)[1])
            column += f".{step}" if column else step
        elif isinstance(step, int) and _is_table(inner := _plain(get_args(expected)[0])):
            expected = inner
            column += f"[{step}]"
        else:
            return
        yield expected, column


def _is_table(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _plain(annotation: Any) -> Any:
    """Return a type without its validators, and without None."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    some = [one for one in get_args(annotation) if one is not NoneType]
    return _plain(some[0]) if NoneType in get_args(annotation) else annotation


_NAMES = {str: "text", float: "number", int: "whole number"}


def _described(annotation: Any, *, many: bool = False) -> str:
    """Describe a type in words: "a list of texts"."""
    kind, inner = _plain(annotation), get_args(_plain(annotation))
    if kind is bool:
        return "true or false"
    if kind is date:
        return "a date such as 2026-11-21, without quotes"
    if get_origin(kind) is Literal:
        kind, inner = str, ()
    if get_origin(kind) is tuple:
        name = f"list{'s' * many} of " if inner[-1] is Ellipsis else f"pair{'s' * many} of "
        name += _described(inner[0], many=True)
    elif inner:
        name = f"table{'s' * many} of {_described(inner[-1], many=True)}"
    else:
        name = _NAMES.get(kind, "table") + "s" * many
    return name if many else f"a {name}"
