"""The command that repeats the verdicts under all combinations of the analyst's choices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from fairstats._lib.problems import InputError, Problem
from fairstats.commands._shared import (
    Alpha,
    AsCsv,
    AsJson,
    Files,
    Paths,
    check_alpha,
    load_files,
    print_table,
    says_what_is_wrong,
)

commands = typer.Typer()


@commands.command()
@says_what_is_wrong
def specifications(
    paths: Paths,
    by: Annotated[
        Literal["pair", "model"], typer.Option(help="Print one row per pair, or per model.")
    ] = "pair",
    margin: Annotated[
        list[float] | None,
        typer.Option(
            help="Equivalence margin, next to the benchmark's (default: 0.01, 0.02, 0.03 and "
            "0.05). Repeatable."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write all specifications to (.parquet).")
    ] = None,
    alpha: Alpha = 0.05,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    benchmark_file: Files = None,
) -> None:
    """Print how often each verdict holds, over all combinations of policy, interval and test.

    The adjustment, the equivalence margin and the prompt are further choices.
    """
    from fairstats.answers.files import read_answers, write_parquet
    from fairstats.estimates.specification_shares import specification_shares
    from fairstats.estimates.specifications import MARGINS, specification_curve

    check_alpha(alpha)
    for value in margin or ():
        if not 0 < value < 1:
            remedy = "give a share between 0 and 1, e.g. 0.02 for 2 points"
            raise InputError([Problem("--margin", f"{value:g} is out of range", remedy)])
    if out is not None and out.suffix != ".parquet":
        raise InputError([Problem(str(out), "must be a .parquet file", "end the name in .parquet")])
    table = specification_curve(
        read_answers(paths),
        margin=margin or MARGINS,
        alpha=alpha,
        benchmarks=load_files(benchmark_file),
    )
    if out is not None:
        write_parquet(table, out)
        typer.echo(f"{len(table)} rows written to {out}", err=True)
    print_table(specification_shares(table, by=by), as_json=as_json, as_csv=as_csv)
