"""Share the options of importers between the commands that read other tools' files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairstats._lib.installation import resource
from fairstats._lib.problems import InputError, Problem
from fairstats.commands._shared import Pairs, plugin, plugins, typed_pairs

if TYPE_CHECKING:
    import pandas as pd


@cache
def layouts() -> str:
    """List the known formats. Typer evaluates a help text several times in each command."""
    mappings = [path.stem for path in resource("data", "importers").glob("*.toml")]
    return ", ".join(sorted({*plugins("fairstats.importers"), *mappings}))


From = Annotated[
    str | None,
    typer.Option(
        "--from",
        help=f"Format of the files, if they are another tool's: {layouts()}; or the .toml file of "
        "a mapping.",
    ),
]
Model = Annotated[str | None, typer.Option(help="Name of the model that gave the answers.")]
Strategy = Annotated[str | None, typer.Option(help="Prompting strategy.")]
Map = Annotated[
    Pairs,
    typer.Option("--map", help="COLUMN=FIELD: fill a column from this field. Repeatable."),
]
Set = Annotated[
    Pairs,
    typer.Option(
        "--set", help="COLUMN=VALUE: set a column to this value in every row. Repeatable."
    ),
]
Values = Annotated[
    Pairs,
    typer.Option(help="COLUMN:THEIRS=OURS: replace a value in the files by ours. Repeatable."),
]
Where = Annotated[
    Pairs, typer.Option(help="FIELD=VALUE: import only records with this value. Repeatable.")
]
Wide = Annotated[
    Pairs,
    typer.Option(
        help="For tables with one row per item: the column of each group's answers, e.g. "
        "white=ColumnA,black=ColumnB or sex:male=ColumnC,female=ColumnD. Repeatable."
    ),
]


def import_files(
    layout: str,
    files: Iterable[Path],
    benchmark: str | None,
    facts: dict[str, str | None],
    *,
    map_: Pairs = None,
    set_: Pairs = None,
    values: Pairs = None,
    where: Pairs = None,
    wide: Pairs = None,
) -> pd.DataFrame:
    """Import files with the options of the command line.

    A format without an importer of its own is a mapping for the importer of tables.
    """
    if layout in plugins("fairstats.importers"):
        importer = plugin("fairstats.importers", layout)
    elif layout.endswith(".toml") or layout in layouts().split(", "):
        importer = partial(plugin("fairstats.importers", "table"), layout=layout)
    else:
        remedy = f"use one of: {layouts()}, or the .toml file of a mapping"
        raise InputError([Problem(layout, "is not a known format", remedy)])
    return importer(
        files,
        benchmark=benchmark,
        columns=typed_pairs("--map", map_),
        constants={k: v for k, v in facts.items() if v} | typed_pairs("--set", set_),
        values=_values(values),
        where=typed_pairs("--where", where),
        wide=_wide(wide),
    )


def read_given(
    paths: list[Path],
    layout: str | None,
    benchmark: str | None,
    facts: dict[str, str | None],
    **options: Any,
) -> pd.DataFrame:
    """Read answer files; if `layout` names an importer, import another tool's files."""
    from fairstats.answers.files import read_answers

    if layout is not None:
        return import_files(layout, paths, benchmark, facts, **options)
    refuse_import_options(**facts, **options)
    return read_answers(paths)


def refuse_import_options(**options: Any) -> None:
    """Refuse options that are used only with ``--from``."""
    given = [f"--{name.strip('_')}" for name, value in options.items() if value]
    if given:
        remedy = "name the format of the files with --from, or remove it"
        raise InputError([Problem(", ".join(given), "is used only with --from", remedy)])


def _values(texts: Pairs) -> dict[str, dict[str, str]]:
    """Return the meanings of values, by column."""
    meant: dict[str, dict[str, str]] = {}
    for text in texts or []:
        column, colon, pair = text.partition(":")
        theirs, equals, ours = pair.rpartition("=")
        if not (column and colon and theirs and equals):
            remedy = "write it like group:W=white"
            raise InputError(
                [Problem("--values", "must be COLUMN:THEIRS=OURS", remedy, value=text)]
            )
        if theirs in meant.setdefault(column, {}):
            raise InputError([Problem("--values", "is given twice", "keep one", value=text)])
        meant[column][theirs] = ours
    return meant


def _wide(texts: Pairs) -> dict[str, str]:
    """Return the column of each group from ``[ATTRIBUTE:]GROUP=COLUMN[,GROUP=COLUMN...]`` options.

    A column's name may hold commas.

    Examples
    --------
    >>> _wide(["race:white=Answer, W,black=Answer, B", "male=M"])
    {'race:white': 'Answer, W', 'race:black': 'Answer, B', 'male': 'M'}
    """
    groups: dict[str, str] = {}
    for text in texts or []:
        attribute = ""
        for pair in re.split(r",(?=[^,=]+=)", text):
            name, equals, column = pair.partition("=")
            prefix, colon, group = name.strip().rpartition(":")
            attribute = prefix if colon else attribute
            if not (group and equals and column):
                remedy = "write it like white=ColumnA,black=ColumnB"
                raise InputError([Problem("--wide", "must be GROUP=COLUMN", remedy, value=pair)])
            full = f"{attribute}:{group}" if attribute else group
            if full in groups:
                message = "the group is given twice"
                raise InputError([Problem("--wide", message, "give it one column", value=full)])
            groups[full] = column
    return groups
