"""Commands that get answers: fetch, import, collect, validate."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer

from fairstats._lib.problems import input_error
from fairstats.commands._options import (
    BenchmarkName,
    Benchmarks,
    BenchmarkVersion,
    Limit,
    Model,
    Paths,
    Requests,
    Strategy,
    TableOptions,
    import_files,
    layouts,
    load_given,
    stoppable,
)
from fairstats.commands._shared import (
    Output,
    plugin,
    print_counts,
    print_problems,
    print_table,
    says_what_is_wrong,
)

commands = typer.Typer()
collecting = typer.Typer(invoke_without_command=True)
commands.add_typer(collecting, name="collect")


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


@commands.command("import")
@says_what_is_wrong
def import_answers(
    layout: Annotated[
        str,
        typer.Argument(help=f"Format of the files: {layouts()}; or the .toml file of a mapping."),
    ],
    files: Annotated[list[Path], typer.Argument(help="Files as released, or folders of them.")],
    out: Annotated[Path, typer.Option(help="Folder to write the answers to.")],
    *,
    model: Model = None,
    snapshot: Annotated[str | None, typer.Option(help="Exact version of the model.")] = None,
    strategy: Strategy = None,
    benchmark: Annotated[
        str | None, typer.Option(help="Name or .toml file of the benchmark.")
    ] = None,
    benchmark_version: BenchmarkVersion = None,
    table: TableOptions,
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
    answers = import_files(layout, files, benchmark, facts, table)
    for path in write_answer_sets(answers, out, add=True):
        typer.echo(path)
    print_counts(answers)


def _print_counts_of(path: Path) -> None:
    """Count the answers of a file; a journal of a part holds replies that were not read yet."""
    from fairstats.answers.files import read_answers

    if path.suffix == ".parquet":
        print_counts(read_answers(path))


@collecting.callback()
@says_what_is_wrong
def collect(
    context: typer.Context,
    *,
    model: Annotated[
        str | None, typer.Option(help="Name of the model, e.g. GPT-4.1, or `embedded`. Required.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write the answers to. Required.")
    ] = None,
    benchmark: BenchmarkName = "demo",
    strategy: Annotated[
        str,
        typer.Option(
            help="Prompting strategy: plain, cot, role, aware, few, counterfactual or adversarial."
        ),
    ] = "plain",
    retrievals: Annotated[
        Path | None,
        typer.Option(
            help="Add snippets from this file, written by `fairstats rag retrieve`, to the prompts."
        ),
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(help="Number of snippets to include in each prompt (default: 10).")
    ] = None,
    benchmark_version: BenchmarkVersion = None,
    model_name: Annotated[
        str | None,
        typer.Option(help="Name of the model in the answers (default: the value of --model)."),
    ] = None,
    samples: Annotated[
        int, typer.Option(help="Number of replies to request for each variant.")
    ] = 1,
    limit: Limit = None,
    shard: Annotated[
        str | None,
        typer.Option(help="Use part k of n of the items, given as k/n (default: all items)."),
    ] = None,
    requests: Requests,
) -> None:
    """Query a model with every variant of a benchmark's items and store the replies.

    Each reply is stored as it arrives. Run the command again to request only what is missing.
    """
    from fairstats.benchmarks.loading import load_benchmark

    if context.invoked_subcommand:
        return
    if model is None or out is None:
        option = "--out" if model else "--model"
        raise input_error(option, "is missing", "see `fairstats collect --help`")
    with stoppable():
        path = plugin("fairstats.collectors", "chat")(
            load_benchmark(benchmark),
            model=model,
            out=out,
            strategy=strategy,
            retrievals=retrievals,
            top_k=top_k,
            benchmark_version=benchmark_version,
            model_name=model_name,
            samples=samples,
            limit=limit,
            shard=shard,
            **requests.arguments(),
        )
    if not requests.dry_run:
        typer.echo(path)
        _print_counts_of(path)


@collecting.command()
@says_what_is_wrong
def merge(
    journals: Annotated[list[Path], typer.Argument(help="Journals of the parts.")],
    out: Annotated[
        Path, typer.Option(help="Folder to write the merged journal and the answers to.")
    ],
    benchmark: Annotated[
        str | None, typer.Option(help="Name or .toml file of the benchmark, if it is not built in.")
    ] = None,
    retrievals: Annotated[
        Path | None, typer.Option(help="File of the retrievals, if the prompts included snippets.")
    ] = None,
) -> None:
    """Merge the journals of a campaign. Different replies to the same question are rejected."""
    from fairstats.benchmarks.loading import load_benchmark

    merged = plugin("fairstats.mergers", "chat")(
        journals,
        out=out,
        benchmark=load_benchmark(benchmark) if benchmark else None,
        retrievals=retrievals,
    )
    typer.echo(merged)
    _print_counts_of(merged)


@commands.command()
@says_what_is_wrong
def validate(paths: Paths, benchmark: Benchmarks = None) -> None:
    """Check answer files and list every problem: row, column, value and remedy."""
    from fairstats.answers.benchmark_checks import validate_files

    problems = validate_files(paths, benchmarks=load_given(benchmark))
    if problems:
        print_problems(problems, err=False)
        raise typer.Exit(1)
    typer.echo("no problems found")


@commands.command()
@says_what_is_wrong
def reparse(
    paths: Paths,
    out: Annotated[Path, typer.Option(help="Folder to write the new files to.")],
    *,
    benchmark: Benchmarks = None,
    items: Annotated[
        Path | None,
        typer.Option(help="JSON Lines with item_id and options (default: the benchmark's items)."),
    ] = None,
    letters_only: Annotated[
        bool,
        typer.Option("--letters-only", help="Read option letters only; ignore the option texts."),
    ] = False,
    list_rows: Annotated[bool, typer.Option("--list", help="List every change.")] = False,
    output: Output,
) -> None:
    """Parse stored replies again with the current parser. --json and --csv list every change."""
    reparsed, files = plugin("fairstats.collectors", "reparse")(
        paths,
        out,
        benchmarks=load_given(benchmark),
        items=items,
        letters_only=letters_only,
    )
    if not output.as_text:
        print_table(reparsed.changes, output)
    else:
        tables = [reparsed.moves(), reparsed.groups()]
        if list_rows:
            tables.append(reparsed.changes.assign(answer_raw=_shortened(reparsed.changes)))
        for table in tables:
            if len(table):
                print_table(table)
    for path in files:
        typer.echo(path, err=True)
    total = reparsed.groups()[["rows", "changed", "without_raw", "errors"]].sum()
    typer.echo(
        f"{total['changed']} of {total['rows']} answers changed; not parsed: "
        f"{total['without_raw']} without a stored reply, {total['errors']} failed requests",
        err=True,
    )
    print_counts(reparsed.answers)


def _shortened(changes: Any) -> Any:
    """Shorten replies for a list: their beginnings and ends, on one line."""

    def shortened(reply: str) -> str:
        line = " ".join(reply.split())
        return line if len(line) <= 120 else f"{line[:58]} … {line[-58:]}"

    return changes["answer_raw"].map(shortened)


@commands.command()
def schema(
    table: Annotated[
        str,
        typer.Argument(help="Table of a release, e.g. estimates; or metrics (default: answers)."),
    ] = "answers",
) -> None:
    """Print the columns of the answers table or of a release's table, or all metrics."""
    if table != "answers":
        for name, text in _meanings(table).items():
            typer.echo(f"{name}\n{fill(text, 80, initial_indent='  ', subsequent_indent='  ')}")
        return
    from fairstats.answers.schema import ANSWERS

    kinds = {"int64": "whole number", "float64": "number"}
    for name, column in ANSWERS.columns.items():
        kind = kinds.get(column.dtype.lower(), "text")
        needed = "required" if column.required else "optional"
        rule = column.rule.message if column.rule else ""
        empty = ", may be empty" if column.nullable else ""
        typer.echo(f"{name:18} {kind:13} {needed}{empty:15} {rule}".rstrip())


def _meanings(table: str) -> dict[str, str]:
    """Return what each column of a release's table means, or each metric."""
    from fairstats.metrics.registry import METRICS, kinds_of
    from fairstats.publishing.json_api import described_columns

    tables = described_columns()
    if table == "metrics":
        return {
            name: f"{one.label_of()} ({', '.join(kinds_of(one))}). {one.definition}"
            for name, one in METRICS.items()
        }
    if table not in tables:
        known = ", ".join(["answers", "metrics", *tables])
        raise typer.BadParameter(f"{table!r} is not one of {known}.", param_hint="TABLE")
    return tables[table]
