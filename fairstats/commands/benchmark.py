"""Commands that propose and check benchmark files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairstats._lib.problems import InputError, Problem, printable
from fairstats.commands._shared import print_problems, says_what_is_wrong

commands = typer.Typer(no_args_is_help=True, help="Propose and check benchmark files.")


@commands.command()
@says_what_is_wrong
def init(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Answer files or folders; or a table (.csv, .tsv, .xlsx) with the columns "
            "item_id, group and answer_key."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="File to write (default: NAME.toml in the current folder)."),
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(help="Name of the benchmark, if the answers have several or none."),
    ] = None,
    attribute: Annotated[
        str, typer.Option(help="Name of the attribute, if the table has no such column.")
    ] = "group",
) -> None:
    """Propose a benchmark file from answers, with comments on what you must decide.

    The answer keys are written next to it. Existing files with other content are not replaced.
    """
    from fairstats._lib.safe_names import slug
    from fairstats.answers.partial_tables import read_partial_answers
    from fairstats.benchmarks.authoring import propose_benchmark
    from fairstats.benchmarks.benchmark_files import write_benchmark

    answers = read_partial_answers(paths, benchmark=benchmark, attribute=attribute)
    if out is None:
        out = Path(f"{slug(str(answers['benchmark'].iloc[0]))}.toml")
    elif out.suffix != ".toml":
        problem = Problem("--out", "must be a .toml file", "end the name in .toml", value=str(out))
        raise InputError([problem])
    source = ", ".join(map(str, paths))
    files = propose_benchmark(answers, stem=out.stem, source=source)
    path = write_benchmark(out.parent, files, source=Path(source), items=False)
    typer.echo(printable(str(path)))
    for name in list(files)[:-1]:
        typer.echo(printable(str(out.parent / name)))
    typer.echo(
        "Next: decide the lines with the mark DECIDE, then run `fairstats benchmark check`.",
        err=True,
    )


@commands.command()
@says_what_is_wrong
def check(
    file: Annotated[Path, typer.Argument(help="The benchmark's .toml file.")],
) -> None:
    """Check a benchmark file: list every problem, or summarise what it declares."""
    from fairstats.benchmarks.authoring import located, summary
    from fairstats.benchmarks.loading import load_benchmark

    try:
        benchmark = load_benchmark(file)
    except InputError as error:
        print_problems(located(error.problems, file), err=False)
        raise typer.Exit(1) from None
    for line in summary(benchmark):
        typer.echo(printable(line))
