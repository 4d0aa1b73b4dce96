"""The command that exports a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairstats.commands._shared import Pairs, says_what_is_wrong, typed_pairs
from fairstats.exports.export import EXPORTS, Options, write_export

commands = typer.Typer()


@commands.command(name="export")
@says_what_is_wrong
def export_release(
    format_: Annotated[str, typer.Argument(metavar="FORMAT", help=f"One of {', '.join(EXPORTS)}.")],
    release: Annotated[
        Path, typer.Option(help="Folder of a release, or the name of one in `site/`.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the files.")],
    table: Annotated[
        str | None,
        typer.Option(
            help="For latex and xlsx: a table of the release, e.g. estimates "
            "(default: the tables on its pages)."
        ),
    ] = None,
    page: Annotated[
        str | None,
        typer.Option(help="For latex and xlsx: only this page, e.g. index.html."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="For a --table: its columns, e.g. model,metric,estimate.")
    ] = None,
    where: Annotated[
        Pairs,
        typer.Option(metavar="COLUMN=VALUE", help="For a --table: only these rows. Repeatable."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="For croissant and hf: web address of the release's folder."),
    ] = None,
    dataset: Annotated[
        Pairs,
        typer.Option(
            metavar="BENCHMARK=DATASET",
            help="For hf: a benchmark's dataset on the Hub, e.g. mine=organisation/name. "
            "Repeatable.",
        ),
    ] = None,
) -> None:
    """Export a release for other tools, or its tables for a paper.

    The release is checked against its manifest first. The same release gives the same files.
    """
    names = tuple(name.strip() for name in columns.split(",")) if columns else ()
    datasets = typed_pairs("--dataset", dataset)
    options = Options(table, page, names, typed_pairs("--where", where), url, datasets)
    for path in write_export(format_, release, out, options):
        typer.echo(path)
