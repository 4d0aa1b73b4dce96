"""Commands that get and check answers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fairstats.commands._importing import (
    Map,
    Model,
    Set,
    Strategy,
    Values,
    Where,
    Wide,
    import_files,
    layouts,
)
from fairstats.commands._shared import (
    AsCsv,
    AsJson,
    Files,
    Paths,
    load_files,
    plugin,
    print_problems,
    print_table,
    says_what_is_wrong,
)

commands = typer.Typer()


@commands.command()
@says_what_is_wrong
def validate(paths: Paths, benchmark_file: Files = None) -> None:
    """Check answer files and list every problem: row, column, value and remedy."""
    from fairstats.answers.benchmark_checks import validate_files

    problems = validate_files(paths, benchmarks=load_files(benchmark_file))
    if problems:
        print_problems(problems, err=False)
        raise typer.Exit(1)
    typer.echo("no problems found")


@commands.command("import")
@says_what_is_wrong
def import_answers(
    layout: Annotated[
        str,
        typer.Argument(help=f"Format of the files: {layouts()}; or the .toml file of a mapping."),
    ],
    files: Annotated[list[Path], typer.Argument(help="Files as released, or folders of them.")],
    out: Annotated[Path, typer.Option(help="Folder to write the answers to.")],
    model: Model = None,
    snapshot: Annotated[str | None, typer.Option(help="Exact version of the model.")] = None,
    strategy: Strategy = None,
    benchmark: Annotated[
        str | None, typer.Option(help="Name or .toml file of the benchmark.")
    ] = None,
    benchmark_version: Annotated[
        str | None, typer.Option(help="Version of the benchmark's vignettes.")
    ] = None,
    map_: Map = None,
    set_: Set = None,
    values: Values = None,
    where: Where = None,
    wide: Wide = None,
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
    answers = import_files(
        layout,
        files,
        benchmark,
        facts,
        map_=map_,
        set_=set_,
        values=values,
        where=where,
        wide=wide,
    )
    for path in write_answer_sets(answers, out, add=True):
        typer.echo(path)


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
    from fairstats.answers.schema import ANSWERS

    kinds = {"int64": "whole number", "float64": "number"}
    for name, column in ANSWERS.columns.items():
        kind = kinds.get(column.dtype.lower(), "text")
        needed = "required" if column.required else "optional"
        rule = column.rule.message if column.rule else ""
        empty = ", may be empty" if column.nullable else ""
        typer.echo(f"{name:18} {kind:13} {needed}{empty:15} {rule}".rstrip())
