"""Commands that make the variants of items, and judge them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairstats._lib.installation import resource
from fairstats.commands._asking import DryRun, KeepFailures, stoppable
from fairstats.commands._shared import (
    Alpha,
    check_alpha,
    plugin,
    print_table,
    says_what_is_wrong,
)

commands = typer.Typer()
vignettes = typer.Typer(
    no_args_is_help=True, help="Build variants of benchmark items and audit them."
)
commands.add_typer(vignettes, name="vignettes")


@vignettes.command("from-amqa")
@says_what_is_wrong
def from_amqa(
    items: Annotated[Path, typer.Argument(help="items.parquet, as released by the AMQA authors.")],
    out: Annotated[Path, typer.Option(help="Items file to write (.jsonl).")],
    name: Annotated[str, typer.Option(help="Name of the new benchmark.")] = "amqa",
    limit: Annotated[
        int | None, typer.Option(help="Number of items to use, from the first (default: all).")
    ] = None,
) -> None:
    """Convert released AMQA items into a benchmark that can be used to query models."""
    typer.echo(
        plugin("fairstats.item_sources", "from-amqa")(items, out=out, name=name, limit=limit)
    )


@vignettes.command()
@says_what_is_wrong
def substitute(
    items: Annotated[Path, typer.Option(help="JSON Lines file of the neutralized vignettes.")],
    out: Annotated[Path, typer.Option(help="Folder to write the benchmark to.")],
    name: Annotated[str, typer.Option(help="Name of the new benchmark.")],
    groups: Annotated[
        Path | None,
        typer.Option(help="The .toml file of the groups and their words (default: cpv.toml)."),
    ] = None,
    keep_sex_specific: Annotated[
        bool,
        typer.Option(
            "--keep-sex-specific", help="Keep items about conditions that only one sex has."
        ),
    ] = False,
) -> None:
    """Insert the words for each group into neutralized vignettes; change no other text."""
    from fairstats.vignettes.rules import substitute as rules

    made = rules.substitute(
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
def audit(
    items: Annotated[
        str,
        typer.Argument(
            help="Items: JSON Lines, a benchmark's name or .toml file, or AMQA's items.parquet."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write the report and its tables to.")],
    answers: Annotated[
        list[Path] | None, typer.Option(help="Answers to these items. Repeatable.")
    ] = None,
    benchmark_file: Annotated[
        Path | None, typer.Option(help="The .toml file that declares the groups of an items file.")
    ] = None,
    benchmark_version: Annotated[
        str | None,
        typer.Option(help="Version of the benchmark's vignettes that the items belong to."),
    ] = None,
    alpha: Alpha = 0.05,
) -> None:
    """Audit the variants of a benchmark: leakage, added text, content, duplicates, selection."""
    from fairstats.report.vignettes_document import report_vignettes

    check_alpha(alpha)
    written = report_vignettes(
        items,
        out=out,
        answers=answers or (),
        benchmark=benchmark_file,
        benchmark_version=benchmark_version,
        alpha=alpha,
    )
    for path in written.pages:
        typer.echo(path)
    counted = f"{len(written.audit.findings):,} findings, {len(written.audit.flags):,} flags"
    typer.echo(f"{counted} in {written.folder}", err=True)


@vignettes.command()
@says_what_is_wrong
def run(
    build: Annotated[Path, typer.Argument(help="The .toml file that describes the build.")],
    out: Annotated[Path, typer.Option(help="Folder to write the variants and all replies to.")],
    stage: Annotated[
        str | None,
        typer.Option(help="Stop after filter, neutralize, generate, fuse or validate."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Number of items to use, from the first (default: all).")
    ] = None,
    keep_failures: KeepFailures = False,
    dry_run: DryRun = False,
) -> None:
    """Build variants from exam questions: filter, neutralize, generate, fuse, validate.

    Each reply is stored as it arrives. Run the command again to request only what is missing.
    """
    from fairstats.vignettes.building import run as building

    with stoppable():
        built = building.run(
            build,
            out=out,
            connect=plugin("fairstats.models", "chat"),
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
