"""Commands that get and check answers."""

from __future__ import annotations

import re
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fairstats._lib.problems import InputError, Problem
from fairstats.commands._shared import (
    AsCsv,
    AsJson,
    Files,
    Pairs,
    Paths,
    load_files,
    plugin,
    plugins,
    print_problems,
    print_table,
    says_what_is_wrong,
    typed_pairs,
)

commands = typer.Typer()


@commands.command()
@says_what_is_wrong
def validate(paths: Paths, benchmark_file: Files = None) -> None:
    """Check answer files and list every problem: row, column, value and remedy."""
    from fairstats.answers.validation import validate_files

    problems = validate_files(paths, benchmarks=load_files(benchmark_file))
    if problems:
        print_problems(problems, err=False)
        raise typer.Exit(1)
    typer.echo("no problems found")


@cache
def _layouts() -> str:
    """List the installed importers. Typer evaluates a help text several times in each command."""
    return ", ".join(plugins("fairstats.importers"))


@commands.command("import")
@says_what_is_wrong
def import_answers(
    layout: Annotated[
        str,
        typer.Argument(help=f"Format of the files: {_layouts()}."),
    ],
    files: Annotated[list[Path], typer.Argument(help="Files as released, or folders of them.")],
    out: Annotated[Path, typer.Option(help="Folder to write the answers to.")],
    model: Annotated[
        str | None, typer.Option(help="Name of the model that gave the answers.")
    ] = None,
    snapshot: Annotated[str | None, typer.Option(help="Exact version of the model.")] = None,
    strategy: Annotated[str | None, typer.Option(help="Prompting strategy.")] = None,
    benchmark: Annotated[
        str | None, typer.Option(help="Name or .toml file of the benchmark.")
    ] = None,
    benchmark_version: Annotated[
        str | None, typer.Option(help="Version of the benchmark's vignettes.")
    ] = None,
    map_: Annotated[
        Pairs,
        typer.Option("--map", help="COLUMN=FIELD: fill a column from this field. Repeatable."),
    ] = None,
    set_: Annotated[
        Pairs,
        typer.Option(
            "--set", help="COLUMN=VALUE: set a column to this value in every row. Repeatable."
        ),
    ] = None,
    values: Annotated[
        Pairs,
        typer.Option(help="COLUMN:THEIRS=OURS: replace a value in the files by ours. Repeatable."),
    ] = None,
    where: Annotated[
        Pairs, typer.Option(help="FIELD=VALUE: import only records with this value. Repeatable.")
    ] = None,
    wide: Annotated[
        Pairs,
        typer.Option(
            help="For tables with one row per item: the column of each group's answers, e.g. "
            "white=ColumnA,black=ColumnB or sex:male=ColumnC,female=ColumnD. Repeatable."
        ),
    ] = None,
) -> None:
    """Import answer files into the answers table, as one parquet file per answer set.

    If the folder already contains answers, the new ones are added. Duplicates are rejected.
    """
    from fairstats.answers.files import write_answer_sets

    facts = {
        "model": model,
        "snapshot": snapshot,
        "strategy": strategy,
        "benchmark_version": benchmark_version,
    }
    answers = plugin("fairstats.importers", layout)(
        files,
        benchmark=benchmark,
        columns=typed_pairs("--map", map_),
        constants={k: v for k, v in facts.items() if v} | typed_pairs("--set", set_),
        values=_values(values),
        where=typed_pairs("--where", where),
        wide=_wide(wide),
    )
    for path in write_answer_sets(answers, out, add=True):
        typer.echo(path)


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


@commands.command()
@says_what_is_wrong
def fetch(
    name: Annotated[str, typer.Argument(help="Name of the data set, e.g. fairmedqa.")],
    out: Annotated[Path, typer.Option(help="Folder to write the files to.")],
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Copy the files from this folder instead of downloading them."),
    ] = None,
) -> None:
    """Download released answer files and verify the sha256 of each."""
    say = partial(typer.echo, err=True)
    fetched = plugin("fairstats.fetchers", name)(out, source=source, say=say)
    for path in fetched.files:
        typer.echo(path)
    for missing in fetched.not_found:
        typer.echo(f"not in {source}: {missing}", err=True)
    typer.echo(f"{len(fetched.files)} files verified", err=True)


@commands.command()
@says_what_is_wrong
def reparse(
    paths: Paths,
    out: Annotated[Path, typer.Option(help="Folder to write the new files to.")],
    benchmark_file: Files = None,
    items: Annotated[
        Path | None,
        typer.Option(help="JSON Lines with item_id and options (default: the benchmark's items)."),
    ] = None,
    letters_only: Annotated[
        bool,
        typer.Option("--letters-only", help="Read option letters only; ignore the option texts."),
    ] = False,
    list_rows: Annotated[bool, typer.Option("--list", help="List every change.")] = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Parse stored replies again with the current parser. --json and --csv list every change."""
    reparsed, files = plugin("fairstats.collectors", "reparse")(
        paths,
        out,
        benchmarks=load_files(benchmark_file),
        items=items,
        letters_only=letters_only,
    )
    if as_json or as_csv:
        print_table(reparsed.changes, as_json=as_json, as_csv=as_csv)
    else:
        tables = [reparsed.moves(), reparsed.groups()]
        if list_rows:
            tables.append(reparsed.changes.assign(answer_raw=_shortened(reparsed.changes)))
        for table in tables:
            if len(table):
                print_table(table, as_json=False, as_csv=False)
    for path in files:
        typer.echo(path, err=True)
    total = reparsed.groups()[["rows", "changed", "without_raw", "errors"]].sum()
    typer.echo(
        f"{total['changed']} of {total['rows']} answers changed; not parsed: "
        f"{total['without_raw']} without a stored reply, {total['errors']} failed requests",
        err=True,
    )


def _shortened(changes: Any) -> Any:
    """Shorten replies for a list: their beginnings and ends, on one line."""

    def shortened(reply: str) -> str:
        line = " ".join(reply.split())
        return line if len(line) <= 120 else f"{line[:58]} … {line[-58:]}"

    return changes["answer_raw"].map(shortened)


@commands.command()
def schema() -> None:
    """Print the columns of the answers table."""
    from fairstats.answers.schema import answers_schema

    kinds = {"int64": "whole number", "float64": "number"}
    for name, column in answers_schema().columns.items():
        kind = kinds.get(str(column.dtype).lower(), "text")
        needed = "required" if column.required else "optional"
        checks = "; ".join(str(check.error) for check in column.checks)
        empty = ", may be empty" if column.nullable else ""
        typer.echo(f"{name:18} {kind:13} {needed}{empty:15} {checks}".rstrip())
