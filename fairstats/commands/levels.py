"""Command that compares the levels of any column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairstats._lib.formatting import align
from fairstats._lib.problems import InputError, Problem
from fairstats.commands._shared import (
    Alpha,
    AsCsv,
    AsJson,
    check_alpha,
    print_table,
    says_what_is_wrong,
    typed_pairs,
)

if TYPE_CHECKING:
    import pandas as pd

commands = typer.Typer()


@commands.command()
@says_what_is_wrong
def levels(
    paths: Annotated[
        list[Path],
        typer.Argument(help="A table of scores (.csv, .jsonl, .parquet), or folders of answers."),
    ],
    column: Annotated[str, typer.Option(help="Column to compare, e.g. prompt or model.")],
    item: Annotated[
        list[str] | None,
        typer.Option(help="Column that identifies an item (default: item_id). Repeatable."),
    ] = None,
    score: Annotated[
        str, typer.Option(help="Column of scores; answers need none to compare correctness.")
    ] = "correct",
    match: Annotated[
        list[str] | None,
        typer.Option(help="Column in which compared scores must agree, e.g. group. Repeatable."),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=VALUE: use only these rows. Repeatable."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Compare all levels only with this one.")
    ] = None,
    limits: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Lowest and highest possible score, e.g. 1 5."),
    ] = None,
    adjust: Annotated[
        Literal["holm", "hommel", "bh", "by"],
        typer.Option(help="Method for adjusting p-values for multiple tests."),
    ] = "holm",
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Make all intervals of differences hold at once.")
    ] = False,
    disagreements: Annotated[
        int | None,
        typer.Option(help="Show this many items whose scores differ most, not the comparison."),
    ] = None,
    alpha: Alpha = 0.05,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Compare the levels of a column, such as prompts or models, on the same items.

    No benchmark is needed. The intervals of means and differences are drawn as text.
    """
    from fairstats.answers.files import load_table, read_answers
    from fairstats.comparisons.levels import compare_levels

    check_alpha(alpha)
    is_table = len(paths) == 1 and not paths[0].is_dir()
    table = load_table(paths[0]) if is_table else read_answers(paths)
    for name, value in typed_pairs("--where", where).items():
        if name not in table:
            remedy = f"choose from: {', '.join(map(str, table.columns))}"
            raise InputError([Problem("--where", "there is no such column", remedy, value=name)])
        table = table[table[name].astype(str) == value]
    try:
        found = compare_levels(
            table,
            column,
            item=item or "item_id",
            score=score,
            match=match or (),
            baseline=baseline,
            limits=limits,
            adjust=adjust,
            simultaneous=simultaneous,
            alpha=alpha,
        )
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        remedy = "see `fairstats levels --help`"
        raise InputError([Problem("the comparison", str(error), remedy)]) from None
    if disagreements is not None:
        print_table(
            found.disagreements(top=disagreements), as_json=as_json, as_csv=as_csv, show=_show
        )
        return
    print_table(
        found.pairs, as_json=as_json, as_csv=as_csv, show=lambda _: typer.echo(found.summary())
    )


def _show(table: pd.DataFrame) -> None:
    """Print all columns, also those with one value."""
    cells = [[f"{x:g}" if isinstance(x, float) else str(x) for x in row] for row in table.values]
    for line in align([list(map(str, table.columns)), *cells]):
        typer.echo(line)
