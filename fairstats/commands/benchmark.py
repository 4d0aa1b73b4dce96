"""Commands that propose and check benchmark files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from fairstats._lib.problems import InputError, Problem, printable
from fairstats.commands._options import (
    Map,
    Set,
    Split,
    Values,
    Where,
    Wide,
    import_files,
    typed_pairs,
)
from fairstats.commands._shared import print_problems, says_what_is_wrong

commands = typer.Typer(no_args_is_help=True, help="Propose and check benchmark files.")


@commands.command()
@says_what_is_wrong
def init(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Answer files or folders; or tables of answers as `fairstats import table` reads "
            "them, with its options."
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
        str | None,
        typer.Option(
            help="Name of the attribute, if the table has no such column (default: group, or the "
            "names of the columns of --map group=A+B)."
        ),
    ] = None,
    columns: Map = None,
    constants: Set = None,
    values: Values = None,
    where: Where = None,
    split: Split = None,
    wide: Wide = None,
) -> None:
    """Propose a benchmark file from answers, with comments on what you must decide.

    The items are written next to it, with their keys and clusters if the answers have them.
    Existing files with other content are not replaced.
    """
    from fairstats._lib.safe_names import slug
    from fairstats.answers.files import read_answers
    from fairstats.answers.partial_tables import complete_answers, of_benchmark
    from fairstats.answers.schema import ANSWERS
    from fairstats.benchmarks.authoring import likely_cluster, propose_benchmark
    from fairstats.benchmarks.benchmark_files import write_benchmark

    mapped = {
        "columns": columns,
        "constants": constants,
        "values": values,
        "where": where,
        "split": split,
        "wide": wide,
    }
    joined = typed_pairs("--map", columns).get("group", "").split("+")
    names = [re.sub(r"\W+", "_", name.strip().lower()).strip("_") for name in joined]
    attribute = attribute or "_".join(filter(None, names)) if len(names) > 1 else attribute
    crossed = {str(attribute): (names[0], names[1])} if len(names) == 2 else {}
    if any(mapped.values()) or not any(p.is_dir() or p.suffix == ".parquet" for p in paths):
        table = import_files("table", paths, None, {}, checked=False, **mapped)
        answers = complete_answers(
            table, benchmark=benchmark, attribute=attribute or "group", source=str(paths[0])
        )
    else:
        answers = read_answers(paths)
    answers = of_benchmark(answers, benchmark)
    if out is None:
        out = Path(f"{slug(str(answers['benchmark'].iloc[0]))}.toml")
    elif out.suffix != ".toml":
        problem = Problem("--out", "must be a .toml file", "end the name in .toml", value=str(out))
        raise InputError([problem])
    source = ", ".join(map(str, paths))
    others = [name for name in answers if name not in ANSWERS.columns]
    cluster = "cluster" if "cluster" in answers else likely_cluster(answers, others)
    field = typed_pairs("--map", columns).get("cluster", "cluster")
    if field != "cluster":
        # The benchmark names the column of the file.
        answers = answers.drop(columns=field, errors="ignore").rename(columns={"cluster": field})
        cluster = field
    files = propose_benchmark(
        answers, stem=out.stem, source=source, crossed=crossed, cluster=cluster
    )
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
