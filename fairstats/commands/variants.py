"""Commands that make the variants of items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairstats.commands._shared import plugin, says_what_is_wrong

commands = typer.Typer()
variants = typer.Typer(no_args_is_help=True, help="Make the variants of items.")
commands.add_typer(variants, name="variants")


@variants.command("from-amqa")
@says_what_is_wrong
def from_amqa(
    items: Annotated[Path, typer.Argument(help="items.parquet as the AMQA authors released it.")],
    out: Annotated[Path, typer.Option(help="The items file to write, a .jsonl.")],
    name: Annotated[str, typer.Option(help="What to call the benchmark.")] = "amqa",
    limit: Annotated[int | None, typer.Option(help="Take the first items only.")] = None,
) -> None:
    """Turn released AMQA items into a benchmark that models can be asked."""
    typer.echo(plugin("fairstats.variants", "from-amqa")(items, out=out, name=name, limit=limit))
