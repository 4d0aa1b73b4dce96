"""From the records of a file to the answers of a declared benchmark, by named fields.

A mapping says which field fills which column. It is a TOML file, one for each known format in
``data/importers``, and what a caller adds to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, TypedDict

from fairstats._lib.problems import (
    Problem,
    input_error,
    keyword,
    parameter,
    refuse,
    wrong,
)
from fairstats._lib.records import Record
from fairstats._lib.toml_files import Fault
from fairstats._lib.untrusted_files import REPORTED_LINES, read_json_lines
from fairstats.answers.schema import ANSWERS
from fairstats.benchmarks.declaration import Benchmark, is_number
from fairstats.benchmarks.kinds import DECISION
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.refusals import decimal_point, may_group_thousands
from fairstats_collectors.mapping_files import (
    ABSENT,
    Limits,
    MappingFile,
    check_columns,
    field_names,
    fields_in,
    filled,
    found,
    has_values,
    is_template,
    matched,
    parts_of,
    paths_of,
    read_mapping,
    value_at,
)

_SETTINGS = ("benchmark", "columns", "values", "where", "split", "wide", "sheet")
#: The constants that have separate options in `fairstats import`.
FACTS = ("model", "snapshot", "strategy", "benchmark_version")
# What a cell of a group's column says; the group is that of the column, not of the row.
_OF_A_CELL = ("answer", "answer_raw", "status")
_NAMED_GROUP = re.compile(r"\(\?P<(\w+)>")


class Given(TypedDict, total=False):
    """Hold a caller's description of the files; an importer refuses settings that it cannot use.

    Each setting takes precedence over the mapping's.

    Attributes
    ----------
    benchmark : str, path or Benchmark
        The benchmark that the answers belong to.
    columns : mapping
        A column of the answers table and the file's column that fills it; ``metadata.item_id``
        names one inside another, and ``race+sex`` joins the values of two with a ``+``.
    constants : mapping
        A column and its value in every row; it takes precedence over fields.
    values : mapping
        A column, a value as the file writes it, and its meaning.
    where : mapping
        A field and its value: other records are skipped.
    split : mapping
        A field, and the fields that its value is made of: ``"{attribute}_{group}"``. A value
        without an attribute is the group of every attribute that has such a group.
    wide : mapping
        For a table with one row per item: the column of each group's answers, by ``"GROUP"`` or
        ``"ATTRIBUTE:GROUP"``. Its cells hold options or replies; an empty one is a missing answer.
        ``"{model}_male"`` means every such column, and fills the column ``model``. A key that
        is such a template itself, e.g. ``"{model}_{group}"``, names no group.
    sheet : str
        The sheet of workbooks, by default the first one.
    """

    benchmark: str | Path | Benchmark | None
    columns: Mapping[str, str]
    constants: Mapping[str, str | None]
    values: Mapping[str, Mapping[str, str]]
    where: Mapping[str, str]
    split: Mapping[str, str]
    wide: Mapping[str, str]
    sheet: str | None


@dataclass(frozen=True)
class Mapped:
    """Hold the rules that turn fields of records into answers.

    Parameters
    ----------
    layout : str
        The importer's name.
    benchmark : Benchmark
        The benchmark of the answers.
    columns, constants : Mapping
        As the caller gave them, see `Given`.
    values, where : Mapping
        Those of the mapping, and the caller's.
    split : Mapping
        The fields that are split, and their templates.
    answers : Mapping
        The columns that each hold an answer, or templates of such columns, and the fields that such
        an answer has: the mapping's, or the caller's groups.
    declared : MappingFile
        The mapping. A column that it does not name is filled by the field of the same name.
    """

    layout: str
    benchmark: Benchmark
    columns: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    split: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    declared: MappingFile = field(default_factory=MappingFile)

    @cached_property
    def texts(self) -> Mapping[str, Mapping[str, str]]:
        """Return the shipped options of each item; empty if the benchmark does not ship them."""
        path = self.benchmark.items_file
        if path is None or not path.is_file():
            return {}
        rows = read_json_lines(path)
        return {
            str(row["item_id"]): {one: text or "" for one, text in row["options"].items()}
            for row in rows
            if "options" in row
        }

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """Return the attribute of each group that belongs to one attribute only."""
        groups = [group for _, group in self.benchmark.variants]
        return {g: a for a, g in self.benchmark.variants if groups.count(g) == 1}

    @cached_property
    def _named(self) -> str:
        """Return the texts that may name a field: one that fills a column, or is compared."""
        declared = self.declared
        texts = [*ANSWERS.columns, *self.columns.values(), *declared.set.values(), *self.where]
        texts += chain(*declared.map.values(), *(one.where for one in declared.variants))
        return "\n".join(texts)

    def _template(self, column: str) -> str | None:
        return None if column in self.columns else self.declared.set.get(column)

    def _paths(self, column: str) -> Sequence[str]:
        """Return the fields that fill a column, of which the first that exists counts."""
        if column in self.columns:
            return (self.columns[column],)
        if column == "cluster" and column not in self.declared.map:
            # Other columns of that name have another meaning.
            of = self.benchmark
            return (of.cluster, "cluster") if of.cluster and not of.clusters else ()
        return self.declared.map.get(column, (column,))

    def value(self, fields: Mapping[str, Any], column: str) -> Any:
        """Return the value of the fields that fill a column."""
        if (template := self._template(column)) is not None:
            text = filled(template, fields)
            return ABSENT if text is None else text
        values = (value_at(fields, path) for path in self._paths(column))
        return next((value for value in values if value is not ABSENT), ABSENT)

    def fields_of(self, record: Record, column: str) -> set[str]:
        """Return the names of the file's fields that fill a column; empty if it is a constant."""
        if column in self.constants:
            return set()
        if (template := self._template(column)) is not None:
            return {record.columns.get(name, name) for name in fields_in(template)}
        there = (p for p in self._paths(column) if value_at(record.fields, p) is not ABSENT)
        path = next(there, "")
        whole = found(record.fields, path) is not ABSENT
        names = [path] if whole else [part.strip() for part in path.split("+")]
        return {record.columns.get(name, name) for name in names if name}

    def sources_of(self, record: Record, column: str) -> set[str]:
        """Return `fields_of`, and the fields of which patterns and splits make these."""
        names, seen = self.fields_of(record, column), 0
        while len(names) > seen:
            seen = len(names)
            names |= {of for name in names for of in self._made_of.get(name, ())}
        return names

    @cached_property
    def _made_of(self) -> dict[str, set[str]]:
        """Return the fields of which each part of a single field is made, by its name."""
        parts = [
            (fields_in(text), part)
            for one in self.declared.patterns
            for text in one.text
            for part in _NAMED_GROUP.findall(one.pattern)
        ]
        parts += [([name], part) for name, form in self.split.items() for part in parts_of(form)]
        made: dict[str, set[str]] = {}
        for fields, part in parts:
            # A text of several fields is another text than each of them.
            if len(fields) == 1:
                made.setdefault(part, set()).add(fields[0])
        return made

    def translated(self, value: Any) -> tuple[str, str] | None:
        """Return the option that a cell names and the one that it means, if values are translated.

        None if one of them is no option, or no answer is translated.
        """
        told = self.values.get("answer")
        if not told or "answer" in self.constants or not isinstance(value, (str, int, float)):
            return None
        text = str(value)
        named, meant = self._option(text), self._option(told.get(text, text))
        return None if named is None or meant is None else (named, meant)

    @cached_property
    def _option(self) -> Callable[[str], str | None]:
        """Return the benchmark's reader of options; many cells are the same few."""
        return lru_cache(maxsize=1024)(self.benchmark.named)

    def is_meant(self, record: Record) -> bool:
        """Check whether a record has the wanted values."""
        return has_values(record.fields, self.where)

    def records(
        self, read: Iterable[Record], path: Path, limits: Limits | None = None
    ) -> list[Record]:
        """Return a record for each answer of each record of a file."""
        limits = limits or Limits(path)
        records = self.declared.with_parts(read, path, limits)
        if self.split:
            records = self._split(records, path, limits)
        if self.answers:
            answers = self._answer_columns(records, path, limits)
            cells = (limits.count(list(self._cells(record, answers))) for record in records)
            records = list(chain.from_iterable(cells))
        if self.declared.variants:
            variants = (limits.count(self._of_variants(record, path)) for record in records)
            records = list(chain.from_iterable(variants))
        return [record for record in records if self.is_meant(record)]

    def _of_variants(self, record: Record, path: Path) -> list[Record]:
        """Return a record for each attribute whose variant it is: one answer, one group of each."""
        found: dict[str, str] = {}
        for one in self.declared.variants:
            fits = has_values(record.fields, one.where)
            if fits and found.setdefault(one.attribute, one.group) != one.group:
                message = f"is an answer to two groups of {one.attribute}"
                remedy = "correct `where` of the variants: each group needs answers of its own"
                place: dict[str, Any] = {"row": record.row, "column": "group", "value": one.group}
                raise input_error(record.path or str(path), message, remedy, **place)
        variants = [{"attribute": name, "group": group} for name, group in found.items()]
        return [replace(record, fields=record.fields | one) for one in variants]

    def _split(self, records: Sequence[Record], path: Path, limits: Limits) -> list[Record]:
        """Add the parts of split fields to records, see `Given`.

        A value without an attribute, such as ``baseline``, gives a record for every attribute that
        has it as a group.
        """
        full = list(records)
        problems: list[Problem] = []
        attributes = list(self.benchmark.attributes)
        for name, template in self.split.items():
            if all(value_at(record.fields, name) is ABSENT for record in full):
                remedy = f"use one of {field_names(full[0].fields) if full else ''}"
                problems.append(Problem(str(path), f"has no column {name!r}", remedy))
                continue
            split: list[Record] = []
            for record in full:
                value = str(value_at(record.fields, name))
                parts = matched(template, value, {"attribute": attributes})
                each = [parts] if parts else self._shared(template, value)
                split += limits.count([replace(record, fields=record.fields | o) for o in each])
                if not each and self.is_meant(record):
                    message = f"does not match {template}"
                    message += f", and is not a group of {self.benchmark.name}" * bool(attributes)
                    remedy = f"correct it, or select other records with {keyword('where')}"
                    place: dict[str, Any] = {"row": record.row, "column": name, "value": value}
                    problems.append(Problem(record.path or str(path), message, remedy, **place))
                if len(problems) >= REPORTED_LINES:
                    break
            full = split
        refuse(problems)
        return full

    def _shared(self, template: str, value: str) -> list[dict[str, str]]:
        """Return the attributes that have a value without an attribute as a group."""
        if not {"attribute", "group"} <= set(parts_of(template)):
            return []
        own = [{"attribute": a, "group": g} for a, g in self.benchmark.variants if g == value]
        # Without a benchmark, it is left open.
        return own if self.benchmark.attributes else [{"group": value}]

    def _answer_columns(
        self, records: Sequence[Record], path: Path, limits: Limits
    ) -> dict[str, Mapping[str, str]]:
        """Return the columns that hold answers, with those that templates match."""
        columns: dict[str, Mapping[str, str]] = {}
        problems: list[Problem] = []
        variants = self.benchmark.variants
        known = {"attribute": {a for a, _ in variants}, "group": {g for _, g in variants}}
        taken = {*ANSWERS.columns, *self.columns.values()}
        every = dict.fromkeys(n for one in records for n in paths_of(one.fields, whole=True))
        names = [name for name in every if name not in taken]
        for column, own in self.answers.items():
            limits.check()
            if is_template(column):
                fits = {name: matched(column, name, known) for name in limits.each(names)}
                found_here = {name: {**parts, **own} for name, parts in fits.items() if parts}
                message = f"has no column like {column!r}"
            else:
                there = any(found(record.fields, column) is not ABSENT for record in records)
                found_here = {column: dict(own)} if there else {}
                message = f"has no column {column!r}"
            if not found_here and records:
                remedy = f"use one of {field_names(records[0].fields)}"
                problems.append(Problem(str(path), message, remedy))
            for name in columns.keys() & found_here.keys():
                remedy = f"correct {parameter('wide')}"
                problems.append(Problem(str(path), "fits two groups", remedy, column=name))
            columns |= found_here
        refuse(problems)
        return columns

    def _cells(self, record: Record, answers: Mapping[str, Mapping[str, str]]) -> Iterator[Record]:
        """Return a record for each column that holds an answer.

        A cell that is an option, or that could be one, or a value that is translated, is the answer
        itself. Every other cell is a reply to read. An empty cell is a missing answer.
        """
        told = {**self.values.get("answer", {}), **self.values.get("status", {})}
        # Answers of other groups would be in every record again.
        others = {name for name in answers if name not in self._named}
        fields = {name: v for name, v in record.fields.items() if name not in others}
        for column, own in answers.items():
            cell = found(record.fields, column)
            cell = None if cell is ABSENT else cell
            holds = "answer" if str(cell) in told or self._is_answer(cell) else "answer_raw"
            shared = {n: v for n, v in fields.items() if n not in (*_OF_A_CELL, *own)}
            named = {holds: column} | dict.fromkeys(own, column)
            yield replace(record, fields={**shared, **own, holds: cell}, columns=named)

    def _is_answer(self, cell: Any) -> bool:
        if self.benchmark.kind.needs_key:
            return isinstance(cell, str) and re.fullmatch(r"\s*[A-Z]\s*", cell) is not None
        if not isinstance(cell, str):
            return cell is not None
        if self.benchmark.named(cell) is not None or is_number(cell):
            return True
        return self.has_numbers("answer") and (
            may_group_thousands(cell) or is_number(decimal_point(cell))
        )

    def has_numbers(self, column: str) -> bool:
        """Return whether the cells of a column are numbers, in which a comma is a decimal one."""
        if column in ("answer", "answer_key"):
            return not self.benchmark.kind.needs_key and all(map(is_number, self.benchmark.options))
        return column in ANSWERS.columns and ANSWERS.columns[column].dtype != "str"


def mapping(
    layout: str,
    given: Given,
    declared: MappingFile | None = None,
    *,
    wide: bool = False,
) -> Mapped:
    """Return a checked `Mapped` from a caller's settings.

    They are added to `declared`, by default the mapping of the importer's name. `wide` is
    whether the importer reads tables with a column per group.
    """
    declared = read_mapping(layout) if declared is None else declared
    constants = {name: v for name, v in given.get("constants", {}).items() if v is not None}
    taken = [name for name in _SETTINGS if wide or name not in ("wide", "sheet")]
    refuse_others(layout, given, taken, constants)
    named = constants.pop("benchmark", None)
    source = given.get("benchmark") or named or declared.benchmark
    if source is None:
        raise wrong("benchmark", "is missing", "give a benchmark's name or .toml file")
    columns, values = given.get("columns", {}), given.get("values", {})
    problems = []
    for setting, names in (("columns", columns), ("constants", constants), ("values", values)):
        try:
            check_columns(names)
        except Fault as fault:
            given_as = parameter(setting)
            problems.append(Problem(given_as, fault.message, fault.remedy, column=fault.column))
    if "benchmark" in columns:
        message, remedy = "cannot be read from a field", f"use {keyword('benchmark')}"
        problems.append(Problem(parameter("columns"), message, remedy, column="benchmark"))
    refuse(problems)
    where = {name: (value,) for name, value in given.get("where", {}).items()}
    mapped = Mapped(
        layout,
        source if isinstance(source, Benchmark) else load_benchmark(str(source)),
        columns,
        constants,
        declared.values | {c: {**declared.values.get(c, {}), **values[c]} for c in values},
        {**declared.where, **where},
        {**declared.split, **given.get("split", {})},
        declared.answers,
        declared,
    )
    groups = given.get("wide")
    if groups:
        return replace(mapped, answers=_wide_columns(groups, mapped))
    if declared.answers:
        _refuse_given(mapped)
    return mapped


def _refuse_given(mapped: Mapped) -> None:
    """Refuse another source of the answers that columns hold: it would be that of all groups."""
    declared = mapped.declared
    given = (mapped.columns, mapped.constants, declared.map, declared.set)
    refuse(
        Problem(
            mapped.layout, "is already given by the columns in `answers`", "remove it", column=c
        )
        for c in _OF_A_CELL
        if any(c in one for one in given)
    )


def undeclared() -> Benchmark:
    """Return a benchmark that declares nothing, for records of one that is yet to be declared."""
    nothing: dict[str, Any] = {"attributes": {}, "options": (), "answer_keys": {}, "listed": ()}
    nothing |= {"items_file": None, "keys_file": None, "labels": {}}
    return replace(load_benchmark("demo"), name="", kind=DECISION, **nothing)


def _wide_columns(wide: Mapping[str, str], mapped: Mapped) -> dict[str, dict[str, str]]:
    """Return the attribute and group of each column of a table with one row per item."""
    groups: dict[str, dict[str, str]] = {}
    problems: list[Problem] = []
    given = set(_OF_A_CELL)
    for name, column in wide.items():
        try:
            parts = set(parts_of(column))
        except Fault as fault:
            problems.append(Problem(parameter("wide"), fault.message, fault.remedy, value=column))
            continue
        given |= parts
        if name == column and is_template(name):
            groups[column] = {}
            continue
        variants = _named_variants(name, mapped.benchmark)
        if len(variants) != 1:
            problems.append(_unclear(name, variants, mapped.benchmark))
            continue
        own = variants[0]
        given |= set(own)
        if own in groups.values():
            message = "the group is given twice"
            problems.append(Problem(parameter("wide"), message, "give it one column", value=name))
        elif column in groups:
            message = f"{column!r} is the column of two groups"
            problems.append(Problem(parameter("wide"), message, "give another column", value=name))
        groups[column] = own
    if "group" in given:
        given.add("attribute")
    message = "is already given by the columns of the groups"
    twice = [
        Problem(parameter("wide"), message, "remove it", column=column)
        for column in ("attribute", "group", *_OF_A_CELL, *ANSWERS.columns)
        if column in given and (column in mapped.columns or column in mapped.constants)
    ]
    refuse([*dict.fromkeys(twice), *problems])
    return groups


def _named_variants(name: str, benchmark: Benchmark) -> list[dict[str, str]]:
    """Return the variants that ``GROUP`` or ``ATTRIBUTE:GROUP`` may mean."""
    if not benchmark.attributes:
        attribute, _, group = name.rpartition(":")
        return [{"attribute": attribute, "group": group} if attribute else {"group": group}]
    return [{"attribute": a, "group": g} for a, g in benchmark.variants if name in (g, f"{a}:{g}")]


def _unclear(name: str, variants: Sequence[Mapping[str, str]], benchmark: Benchmark) -> Problem:
    if variants:
        message = "several attributes have this group"
        remedy = f"write {' or '.join(':'.join(one.values()) for one in variants)}"
    else:
        message = f"{benchmark.name} has no such group"
        remedy = f"use one of {', '.join(f'{a}:{g}' for a, g in benchmark.variants)}"
    return Problem(parameter("wide"), message, remedy, column="group", value=name)


def refuse_others(
    layout: str, given: Given, taken: Collection[str] = (), constants: Collection[str] = ()
) -> None:
    """Refuse settings that an importer cannot use: its files provide them, or they are unknowable.

    `taken` are the settings that it accepts, and `constants` the columns that may be constants.
    """
    refused = [parameter(one) for one in _SETTINGS if given.get(one) and one not in taken]
    refused += [
        constant(name)
        for name, value in given.get("constants", {}).items()
        if value is not None and name not in constants
    ]
    if refused:
        message = f"does not accept {', '.join(refused)}"
        raise input_error(layout, message, "remove it, or use the importer `table`")


def constant(column: str) -> str:
    """Return how a caller gives a column's value: commands have own options for the usual ones."""
    option = parameter(column)
    return keyword("constants", {column: ...}) if option == column else option
