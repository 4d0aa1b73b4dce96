"""The command line: one app of the commands in `fairstats.commands`."""

from __future__ import annotations

from typing import Annotated

import typer

from fairstats.commands import (
    answers,
    benchmarks,
    collecting,
    estimates,
    exports,
    gate,
    items,
    levels,
    plan,
    published,
    rating_figures,
    ratings,
    releases,
    retrieval,
    screening,
    serve,
    signing,
    specifications,
    submissions,
    vignette_review,
    vignettes,
)

app = typer.Typer(
    rich_markup_mode="markdown",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    help="Statistics and reports for bias benchmarks of language models in medical QA.",
)
vignettes.vignettes.add_typer(vignette_review.commands)
for group in (
    answers,
    screening,
    collecting,
    vignettes,
    estimates,
    levels,
    items,
    gate,
    plan,
    retrieval,
    published,
    releases,
    exports,
    signing,
    specifications,
    serve,
):
    app.add_typer(group.commands)
ratings.commands.add_typer(rating_figures.commands)
app.add_typer(ratings.commands, name="ratings")
app.add_typer(benchmarks.commands, name="benchmark")
app.add_typer(submissions.commands, name="submission")
app.add_typer(submissions.site, name="site")


def _version(wanted: bool) -> None:
    if wanted:
        from fairstats._lib.installation import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Statistics and reports for bias benchmarks of language models in medical QA."""


if __name__ == "__main__":
    app()
