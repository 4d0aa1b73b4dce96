"""Mapping files (``data/importers``, or a user's), and the fields of records that they name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from sys import getsizeof
from time import thread_time
from typing import Annotated, Any

import pyarrow
import pyarrow.compute
from pydantic import AfterValidator, BeforeValidator, Field

from fairstats._lib.installation import resource
from fairstats._lib.problems import InputError, Problem, input_error, refuse
from fairstats._lib.records import Record
from fairstats._lib.toml_files import Fault, Table, must, parse, read_toml
from fairstats._lib.untrusted_files import (
    MAX_TEXT_MEMORY,
    REPORTED_LINES,
    SPLIT,
    refuse_many_values,
)
from fairstats.answers.schema import ANSWERS

#: The texts of the options, which a reply may name. Added to the columns of the answers table.
OPTIONS = "options"

#: The result of `found` if there is no such field.
ABSENT = object()

#: Seconds of computing that a file may take. Most take less than one.
MOST_SECONDS = 60

# Characters; the schema of answers refuses a text as long as this.
_TOO_LONG = 1_000_001
_MOST_FIELDS = 10

_IN_BRACES = re.compile(r"\{([^{}]+)\}")


def check_columns(named: Mapping[str, Any]) -> Mapping[str, Any]:
    for column in named:
        if column not in ANSWERS.columns and column != OPTIONS:
            known = f"use one of {', '.join(ANSWERS.columns)}, {OPTIONS}"
            raise Fault("is not a column of the answers table", known, column=column)
    return named


def _is_pattern(text: str) -> str:
    named_parts(text, "")
    return text


_COLUMNS = AfterValidator(check_columns)
# One text may be written without the brackets of a list.
_LISTED = BeforeValidator(lambda one: (one,) if isinstance(one, str) else one)
Texts = Annotated[tuple[str, ...], _LISTED]
_Names = Annotated[
    Texts,
    must(
        lambda names: all(
            name.strip("./") and not name.startswith("/") and ".." not in name.split("/")
            for name in names
        ),
        "must be names in the given folder",
        'write e.g. "*.csv"',
    ),
]


class Limits:
    """Limit the time and memory that a file takes with a mapping, as both may be from anybody.

    Every record may be matched with a thousand names or patterns of the mapping, have a hundred
    parts of the same text, or become one for every group.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.end = thread_time() + MOST_SECONDS
        self.values = self.memory = 0

    def check(self) -> None:
        """Raise a problem if the file has taken too long, or too much memory."""
        refuse_many_values(self.path, self.values)
        most = ""
        if self.memory > MAX_TEXT_MEMORY:
            most = f"{MAX_TEXT_MEMORY:,} bytes of memory"
        elif thread_time() > self.end:
            most = f"{MOST_SECONDS} seconds"
        if most:
            remedy = f"give fewer names and simpler patterns, or {SPLIT}"
            raise input_error(self.path, f"takes more than {most} with this mapping", remedy)

    def count(self, records: Sequence[Record]) -> Sequence[Record]:
        """Count the values of records that were made, and return them."""
        self.values += sum(len(record.fields) for record in records)
        self.check()
        return records

    def keep(self, made: Mapping[str, Any]) -> None:
        """Count the memory of texts that were made."""
        self.memory += sum(map(getsizeof, made.values()))
        self.check()

    def each(self, names: Iterable[str]) -> Iterator[str]:
        """Yield names as long as there is time."""
        for name in names:
            self.check()
            yield name


_FewFields = must(
    lambda text: len(_IN_BRACES.findall(text)) <= _MOST_FIELDS,
    f"must have up to {_MOST_FIELDS} fields in braces",
    "remove some",
)


class Pattern(Table):
    """Texts of fields, such as ``"{path}"``, and the pattern whose named parts become fields."""

    text: Annotated[tuple[Annotated[str, _FewFields], ...], _LISTED]
    pattern: Annotated[str, AfterValidator(_is_pattern)]


class Variant(Table):
    """The group of the records with these values."""

    where: dict[str, Texts]
    attribute: str
    group: str


class MappingFile(Table):
    """The content of a mapping's TOML file, as docs/import.md describes it."""

    benchmark: str | None = None
    files: _Names = ()
    patterns: tuple[Pattern, ...] = ()
    where: dict[str, Texts] = Field(default_factory=dict)
    map: Annotated[dict[str, Texts], _COLUMNS] = Field(default_factory=dict)
    set: Annotated[dict[str, Annotated[str, _FewFields]], _COLUMNS] = Field(default_factory=dict)
    values: Annotated[dict[str, dict[str, str]], _COLUMNS] = Field(default_factory=dict)
    split: dict[str, str] = Field(default_factory=dict)
    answers: dict[str, dict[str, str]] = Field(default_factory=dict)
    variants: tuple[Variant, ...] = ()

    def find(self, folder: Path) -> list[Path]:
        """Return the files of a folder that are in this format."""
        return [path for name in self.files for path in folder.rglob(name)]

    def parts(self, record: Record, path: Path, limits: Limits) -> Record:
        """Add the named parts of the patterns to a record's fields."""
        fields, file = record.fields, Path(record.path or path)
        place = file.resolve().as_posix() if self.patterns else ""
        for text, pattern in [(text, one.pattern) for one in self.patterns for text in one.text]:
            value = filled(text, {"path": place, **fields}) or ""
            found_parts = named_parts(pattern, value)
            if found_parts is None:
                column = ", ".join(fields_in(text))
                message = f"does not match {pattern}"
                remedy = "use the file as released, or correct the mapping"
                problem = Problem(str(file), message, remedy, row=record.row, column=column)
                raise InputError([replace(problem, value=value[-200:])])
            limits.keep(found_parts)
            fields = fields | {name: part for name, part in found_parts.items() if part}
        return replace(record, fields=fields)

    def with_parts(
        self, records: Iterable[Record], path: Path, limits: Limits | None = None
    ) -> list[Record]:
        """Add the parts to every record of a file."""
        full: list[Record] = []
        problems: list[Problem] = []
        limits = limits or Limits(path)
        for record in records:
            try:
                full += limits.count([self.parts(record, path, limits)])
            except InputError as error:
                limits.check()
                problems.extend(error.problems)
            if len(problems) >= REPORTED_LINES:
                break
        refuse(problems)
        return full


def read_mapping(source: str | Path) -> MappingFile:
    """Return the mapping of a known format, or of a TOML file."""
    path = Path(source) if str(source).endswith(".toml") else _shipped(str(source))
    return parse(MappingFile, read_toml(path), path, example="data/importers/medperturb.toml")


def _shipped(name: str) -> Path:
    folder = resource("data", "importers")
    known = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    if name not in known:
        remedy = f"use one of {', '.join(known)}, or a .toml file"
        raise input_error(name, "is not a known mapping", remedy)
    return known[name]


def found(fields: Any, path: str) -> Any:
    """Return the value at a path of names; lists by number, names with dots unchanged."""
    if isinstance(fields, dict):
        if path in fields:
            return fields[path]
        for dot in re.finditer(r"\.", path):
            name = path[: dot.start()]
            if name in fields and (value := found(fields[name], path[dot.end() :])) is not ABSENT:
                return value
    elif isinstance(fields, list):
        place, _, rest = path.partition(".")
        if place.isdecimal() and place.isascii() and len(place) < 7 and int(place) < len(fields):
            return found(fields[int(place)], rest) if rest else fields[int(place)]
    return ABSENT


def value_at(fields: Any, path: str) -> Any:
    """Return the value of a field, or of several joined as in ``race+sex``."""
    value = found(fields, path)
    if value is not ABSENT or "+" not in path:
        return value
    parts = [found(fields, part.strip()) for part in path.split("+")]
    for part in parts:
        if part is ABSENT or not isinstance(part, (str, int, float)):
            return part
    return "+".join(plain_number(part) for part in parts)


def plain_number(value: Any) -> str:
    """Return a value as text, and a number as a reader would write it: 3 for 3.0."""
    return f"{value:.15g}" if type(value) is float else str(value)


def fields_in(template: str) -> list[str]:
    """Return the names of the fields in the braces of a text."""
    return _IN_BRACES.findall(template)


def filled(template: str, fields: Mapping[str, Any]) -> str | None:
    """Return a text with its fields in the braces; None if one is missing."""
    values = {name: found(fields, name) for name in fields_in(template)}
    if any(value is ABSENT or value is None for value in values.values()):
        return None
    text = _IN_BRACES.sub(lambda name: str(values[name[1]])[:_TOO_LONG], template)
    return text[:_TOO_LONG]


def has_values(fields: Mapping[str, Any], wanted: Mapping[str, Sequence[str]]) -> bool:
    return all(str(found(fields, name)) in values for name, values in wanted.items())


def paths_of(
    fields: Mapping[str, Any], prefix: str = "", depth: int = 2, *, whole: bool = False
) -> Iterable[str]:
    for name, value in fields.items():
        shown = name if whole else name[:40]
        if isinstance(value, dict) and value and depth:
            yield from paths_of(value, f"{prefix}{shown}.", depth - 1, whole=whole)
        else:
            yield f"{prefix}{shown}"


def field_names(fields: Mapping[str, Any]) -> str:
    """Return the names of the first fields, to help the user choose one."""
    return ", ".join(islice(paths_of(fields), 20))


# Templates such as "{model}_{group}" and patterns are in mapping files, which may be from anybody.
# `re` could take for ever with them. Arrow's RE2 takes a time proportional to the text's length.
_PART = re.compile(r"\{([^{}:]+)(?::([^{}]*))?\}")
_MOST_PARTS = 4
_LONGEST = 200
#: The longest text that is matched with a pattern; paths have up to 4,096 characters.
_LONGEST_WITH_PATTERN = 5_000


def is_template(text: str) -> bool:
    """Return whether a text has parts in braces."""
    return _PART.search(text) is not None


def parts_of(template: str) -> tuple[str, ...]:
    """Return the names of a template's parts.

    Raises
    ------
    Fault
        If there are too many, or one is there twice.

    Examples
    --------
    >>> parts_of("{model}_{question:visit|manage}")
    ('model', 'question')
    """
    names = tuple(name for name, _ in _PART.findall(template))
    if len(names) > _MOST_PARTS or len(set(names)) < len(names):
        raise Fault(f"must have up to {_MOST_PARTS} different parts in braces", "correct it")
    return names


def matched(
    template: str, text: str, known: Mapping[str, Collection[str]] | None = None
) -> dict[str, str] | None:
    """Return the parts of a text that fits a template; None if it does not fit.

    Parameters
    ----------
    template : str
        E.g. ``"{model}_{group}"``, or with the possible values of a part:
        ``"{model}_{question:visit|manage}"``.
    text : str
        The text.
    known : Mapping[str, collection of str], optional
        The possible values of parts for which the template has none.

    Examples
    --------
    >>> matched("{model}_{group}_answer", "olmo2_7b_female_answer", {"group": ["male", "female"]})
    {'model': 'olmo2_7b', 'group': 'female'}
    >>> matched("{attribute}_{group}", "baseline") is None
    True
    """
    values = tuple((name, tuple(of)) for name, of in (known or {}).items() if of)
    names = parts_of(template)
    found = _matched(_pattern(template, values), text) if len(text) <= _LONGEST else None
    return None if found is None else dict(zip(names, found.values(), strict=True))


def named_parts(pattern: str, text: str) -> dict[str, str] | None:
    r"""Return the named groups of a regular expression that fits a whole text; None if none fits.

    Groups that are not part of the match are empty, and so are those of no text.

    Raises
    ------
    Fault
        If it is not a regular expression of RE2, or has groups without a name or of one name.

    Examples
    --------
    >>> named_parts(r"(?P<kind>[a-z]+)-(?:[0-9]|(?P<sign>[+]))", "b-2")
    {'kind': 'b', 'sign': ''}
    >>> named_parts("(?:[a-z]+)+", "a" * 1000 + "-") is None
    True
    """
    return _matched(pattern, text) if len(text) <= _LONGEST_WITH_PATTERN else None


# Many records have the same few values.
@lru_cache(maxsize=1024)
def _matched(pattern: str, text: str) -> dict[str, str] | None:
    try:
        match = pyarrow.compute.extract_regex(pyarrow.scalar(text), pattern=f"^(?:{pattern})$")
    except pyarrow.ArrowInvalid as error:
        message = str(error).removeprefix("Invalid regular expression: ")
        raise Fault(f"is not a regular expression ({message})", "correct it") from None
    names = [one.name for one in match.type]
    if len(set(names)) < len(names):
        raise Fault("has two groups of one name", "give each another name")
    return dict(match.as_py()) if match.is_valid else None


@lru_cache(maxsize=64)
def _pattern(template: str, known: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    values = dict(known)
    pattern, end = "", 0
    for number, part in enumerate(_PART.finditer(template)):
        listed = part[2].split("|") if part[2] else values.get(part[1], ())
        # Longest first: "high" must not match the beginning of "high_income".
        options = "|".join(map(re.escape, sorted(listed, key=len, reverse=True)))
        # A model's name may hold the sign that separates the parts.
        pattern += re.escape(template[end : part.start()])
        pattern += f"(?P<p{number}>{options or ('.+' if part[1] == 'model' else '.+?')})"
        end = part.end()
    return pattern + re.escape(template[end:])
