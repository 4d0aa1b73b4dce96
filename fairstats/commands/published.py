"""The command that checks published tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairstats._lib.problems import InputError, Problem, printable
from fairstats.commands._shared import AsJson, print_table, says_what_is_wrong

if TYPE_CHECKING:
    from fairstats.replication.check_table import CheckedTable

commands = typer.Typer()


@commands.command()
@says_what_is_wrong
def check_table(
    table: Annotated[Path, typer.Argument(help="CSV file, one row per pair of groups.")],
    n: Annotated[
        int | None,
        typer.Option(help="Number of pairs, for rows without a cell in a column n."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=METRIC", help="Metric of a column, e.g. Gap=ad; or ignore. Repeatable."
        ),
    ] = None,
    test: Annotated[
        Literal["exact", "midp", "asymptotic", "asymptotic_cc"] | None,
        typer.Option(help="Version of McNemar's test (default: each is tried)."),
    ] = None,
    rounding: Annotated[
        Literal["half_up", "half_even", "half_either", "truncated"] | None,
        typer.Option(help="How figures were rounded (default: each is tried)."),
    ] = None,
    max_missing: Annotated[
        int | None,
        typer.Option(
            help="Most missing answers per group to try (default: a tenth of n, at most 40)."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check whether the published figures of each row can all be true of n pairs of answers.

    Columns: accuracy_a, accuracy_b, ad, accuracy_difference, cfr, cohens_h, p, odds_ratio, n.

    Every table of whole counts is searched. Write figures with all their published decimals.
    """
    from fairstats._lib.table_text import json_text
    from fairstats.replication.check_table import check_table as check

    checked = check(
        table,
        n=n,
        columns=dict(map(_named, column or ())),
        test=test,
        rounding=rounding,
        max_missing=max_missing,
    )
    if as_json:
        typer.echo(json_text([row.to_dict() for row in checked.rows]), nl=False)
    else:
        _print(checked)


def _named(option: str) -> tuple[str, str]:
    key, equals, metric = option.rpartition("=")
    if not equals or not key or not metric:
        raise InputError(
            [Problem("--column", f"{option!r} is not KEY=METRIC", "write e.g. --column Gap=ad")]
        )
    return key, metric


def _print(checked: CheckedTable) -> None:
    frame = checked.to_frame()[["row", "label", "n", "verdict", "note"]]
    frame = frame.assign(label=frame["label"].map(printable))
    print_table(frame, as_json=False, as_csv=False)
    counts = frame["verdict"].value_counts(sort=False)
    typer.echo(", ".join(f"{number} {verdict}" for verdict, number in counts.items()))
    for line in checked.power_lines():
        typer.echo(line)
