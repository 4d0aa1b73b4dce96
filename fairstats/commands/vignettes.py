"""Commands that make the variants of items, and judge them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairstats.commands._asking import DryRun, KeepFailures, stoppable
from fairstats.commands._shared import plugin, print_table, says_what_is_wrong
from fairstats.resources import resource

commands = typer.Typer()
vignettes = typer.Typer(no_args_is_help=True, help="Make the variants of items, and judge them.")
commands.add_typer(vignettes, name="vignettes")


@vignettes.command("from-amqa")
@says_what_is_wrong
def from_amqa(
    items: Annotated[Path, typer.Argument(help="items.parquet as the AMQA authors released it.")],
    out: Annotated[Path, typer.Option(help="The items file to write, a .jsonl.")],
    name: Annotated[str, typer.Option(help="What to call the benchmark.")] = "amqa",
    limit: Annotated[int | None, typer.Option(help="Take the first items only.")] = None,
) -> None:
    """Turn released AMQA items into a benchmark that models can be asked."""
    typer.echo(plugin("fairstats.vignettes", "from-amqa")(items, out=out, name=name, limit=limit))


@vignettes.command()
@says_what_is_wrong
def substitute(
    items: Annotated[Path, typer.Option(help="JSON Lines with the neutralized vignettes.")],
    out: Annotated[Path, typer.Option(help="Folder for the benchmark.")],
    name: Annotated[str, typer.Option(help="What to call the benchmark.")],
    groups: Annotated[
        Path | None, typer.Option(help="The groups and their words, a .toml; by default cpv.toml.")
    ] = None,
    keep_sex_specific: Annotated[
        bool, typer.Option("--keep-sex-specific", help="Keep items on what only one sex has.")
    ] = False,
) -> None:
    """Put the words for each group into neutralized vignettes, and nothing else."""
    made = plugin("fairstats.vignettes", "substitute")(
        items,
        groups=groups or resource("data", "substitutions", "cpv.toml"),
        out=out,
        name=name,
        keep_sex_specific=keep_sex_specific,
    )
    left_out = len(made.left_out)
    typer.echo(f"{made.items} items in {made.variants} variants, {left_out} left out", err=True)
    typer.echo(made.path)


@vignettes.command()
@says_what_is_wrong
def run(
    build: Annotated[Path, typer.Argument(help="What is built and by whom, a .toml.")],
    out: Annotated[Path, typer.Option(help="Folder for the variants and all replies.")],
    stage: Annotated[
        str | None,
        typer.Option(help="Stop after filter, neutralize, generate, fuse or validate."),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Take the first items only.")] = None,
    keep_failures: KeepFailures = False,
    dry_run: DryRun = False,
) -> None:
    """Build variants from exam questions: filter, neutralize, generate, fuse, validate.

    Every reply is kept before it counts; the same command again asks only what is missing.
    """
    with stoppable():
        built = plugin("fairstats.vignettes", "run")(
            build,
            out=out,
            stage=stage,
            limit=limit,
            keep_failures=keep_failures,
            dry_run=dry_run,
        )
    if built is None:
        return
    if built.triggered is not None and not built.triggered.empty:
        print_table(built.triggered, as_json=False, as_csv=False)
    typer.echo(built.summary.splitlines()[-1], err=True)
    typer.echo(built.path)
