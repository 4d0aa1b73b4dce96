"""The command that screens answer sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fairstats.commands._shared import (
    AsCsv,
    AsJson,
    Files,
    Paths,
    load_files,
    print_table,
    read_trusted,
    says_what_is_wrong,
)

commands = typer.Typer()

_COLUMNS = ["model", "strategy", "check", "value", "reference", "p_adjusted", "flag", "note"]


@commands.command()
@says_what_is_wrong
def screen(
    paths: Paths,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            help="Trusted answers to compare with: a release, answer files or folders "
            "(default: the other answer sets). Repeatable."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write the table to, as CSV, JSON and Markdown.")
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    benchmark_file: Files = None,
) -> None:
    """Check answer sets for copied, shifted, forced or invented answers.

    Exits with 1 if a check has the flag "block".
    """
    from fairstats.answers.files import read_answers
    from fairstats.screening.screen import count_flags, write_screening
    from fairstats.screening.screen import screen as run

    known = {one.name: one for one in load_files(benchmark_file)}
    answers = read_answers(paths)
    trusted = None
    if against:
        reference = read_trusted(against)
        trusted, known = reference.answers, reference.benchmarks | known
    found = run(answers, trusted, benchmarks=known)
    table = found.to_frame()
    if out is not None:
        for path in write_screening(found, out):
            typer.echo(path, err=True)
    print_table(table, as_json=as_json, as_csv=as_csv, show=_print_flagged)
    typer.echo(count_flags(table), err=True)
    if len(found.blocked):
        raise typer.Exit(1)


def _print_flagged(table: Any) -> None:
    """Print the rows that are not "ok"."""
    from fairstats.report import terminal
    from fairstats.screening.screen import flagged

    rows = flagged(table)
    sets = table[["benchmark", "benchmark_version"]].drop_duplicates()
    extra = [] if len(sets) == 1 else ["benchmark_version"]
    if len(rows):
        terminal.print_table(rows[[*extra, *_COLUMNS]])
