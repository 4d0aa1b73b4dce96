"""Wide tables: one row per item, one column of answers per group."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from fairstats._lib.json_csv_records import Record
from fairstats._lib.problems import InputError, Problem
from fairstats.benchmarks.declaration import Benchmark
from fairstats_collectors.import_mapping import ABSENT, Mapped, field_names, found

#: The columns of the answers table that the columns of a wide table give.
GIVEN = ("attribute", "group", "answer", "answer_raw", "status")

#: A group, with its attribute, and the column that holds its answers.
Groups = Mapping[tuple[str, str], str]


def wide_groups(wide: Mapping[str, str], mapped: Mapped) -> dict[tuple[str, str], str]:
    """Find the attribute of each group that a column is given for.

    Parameters
    ----------
    wide : Mapping[str, str]
        The column of each group; the group is ``"white"``, or ``"race:white"`` with its attribute.
    mapped : Mapped
        How records become answers; it must not map columns that the groups' columns provide.

    Returns
    -------
    dict
        The column by attribute and group.

    Raises
    ------
    InputError
        If a group or an attribute is not declared, a group is in several attributes, or a column is
        named for two groups.
    """
    problems = [
        Problem(
            "--wide", "is already given by the columns of the groups", "remove it", column=column
        )
        for column in GIVEN
        if column in mapped.columns or column in mapped.constants
    ]
    groups: dict[tuple[str, str], str] = {}
    for name, column in wide.items():
        variants = _variants(name, mapped.benchmark)
        if len(variants) != 1:
            problems.append(_unclear(name, variants, mapped.benchmark))
        elif variants[0] in groups:
            message = "the group is given twice"
            problems.append(Problem("--wide", message, "give it one column", value=name))
        elif column in groups.values():
            message = f"{column!r} is the column of two groups"
            problems.append(Problem("--wide", message, "give another column", value=name))
        else:
            groups[variants[0]] = column
    if problems:
        raise InputError(problems)
    return groups


def _variants(name: str, benchmark: Benchmark) -> list[tuple[str, str]]:
    return [(a, g) for a, g in benchmark.variants if name in (g, f"{a}:{g}")]


def _unclear(name: str, variants: Sequence[tuple[str, str]], benchmark: Benchmark) -> Problem:
    if variants:
        remedy = f"write {' or '.join(f'{a}:{g}' for a, g in variants)}"
        return Problem(
            "--wide", "several attributes have this group", remedy, column="group", value=name
        )
    declared = ", ".join(f"{a}:{g}" for a, g in benchmark.variants)
    message = f"{benchmark.name} has no such group"
    return Problem("--wide", message, f"use one of {declared}", column="group", value=name)


def long_records(
    records: Iterable[Record], groups: Groups, mapped: Mapped, path: str
) -> list[Record]:
    """Make one record per group of each record of a wide table.

    A cell with one capital letter, or a value mapped by ``--values answer:THEIRS=OURS``, is the
    answer itself. Every other cell is a reply to read. An empty cell is a missing answer.

    Parameters
    ----------
    records : iterable of Record
        The rows of the wide table.
    groups : mapping
        As `wide_groups` gives it.
    mapped : Mapped
        How records become answers.
    path : str
        The name of the file.

    Raises
    ------
    InputError
        If the table lacks a group's column.
    """
    records = list(records)
    problems = [
        Problem(path, f"has no column {column!r}", f"use one of {field_names(records[0].fields)}")
        for column in groups.values()
        if records and all(found(record.fields, column) is ABSENT for record in records)
    ]
    if problems:
        raise InputError(problems)
    told = mapped.values.get("answer", {})
    long: list[Record] = []
    for record in records:
        shared = {name: value for name, value in record.fields.items() if name not in GIVEN}
        for (attribute, group), column in groups.items():
            cell = found(record.fields, column)
            cell = None if cell is ABSENT else cell
            is_letter = isinstance(cell, str) and re.fullmatch(r"\s*[A-Z]\s*", cell)
            holds = "answer" if is_letter or str(cell) in told else "answer_raw"
            fields = shared | {"attribute": attribute, "group": group, holds: cell}
            long.append(Record(record.row, fields, {holds: column, "group": column}))
    return long
