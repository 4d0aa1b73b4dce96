"""Commands that build variants of items, audit, review and release them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fairstats._lib.installation import resource
from fairstats._lib.problems import printable
from fairstats.commands._options import Alpha, DryRun, KeepFailures, Limit, Raters, stoppable
from fairstats.commands._shared import Output, plugin, print_table, says_what_is_wrong

commands = typer.Typer(
    no_args_is_help=True, help="Build variants of benchmark items and audit them."
)
review = typer.Typer(
    no_args_is_help=True, help="Have people review the variants of a built benchmark."
)
commands.add_typer(review, name="review")


@commands.command("from-amqa")
@says_what_is_wrong
def from_amqa(
    items: Annotated[Path, typer.Argument(help="items.parquet, as released by the AMQA authors.")],
    out: Annotated[Path, typer.Option(help="Items file to write (.jsonl).")],
    name: Annotated[str, typer.Option(help="Name of the new benchmark.")] = "amqa",
    limit: Limit = None,
) -> None:
    """Convert released AMQA items into a benchmark that can be used to query models."""
    typer.echo(
        plugin("fairstats.item_sources", "from-amqa")(items, out=out, name=name, limit=limit)
    )


@commands.command()
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


@commands.command()
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
    benchmark: Annotated[
        str | None,
        typer.Option(help="Name or .toml file of the benchmark that declares the items' groups."),
    ] = None,
    benchmark_version: Annotated[
        str | None,
        typer.Option(help="Version of the benchmark's vignettes that the items belong to."),
    ] = None,
    alpha: Alpha = 0.05,
) -> None:
    """Audit the variants of a benchmark: leakage, added text, content, duplicates, selection."""
    from fairstats.report.vignettes.page import report_vignettes

    written = report_vignettes(
        items,
        out=out,
        answers=answers or (),
        benchmark=benchmark,
        benchmark_version=benchmark_version,
        alpha=alpha,
    )
    for path in written.pages:
        typer.echo(path)
    counted = f"{len(written.audit.findings):,} findings, {len(written.audit.flags):,} flags"
    typer.echo(f"{counted} in {written.folder}", err=True)


@commands.command()
@says_what_is_wrong
def run(
    build: Annotated[Path, typer.Argument(help="The .toml file that describes the build.")],
    out: Annotated[Path, typer.Option(help="Folder to write the variants and all replies to.")],
    stage: Annotated[
        str | None,
        typer.Option(help="Stop after filter, neutralize, generate, fuse or validate."),
    ] = None,
    limit: Limit = None,
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
        print_table(built.triggered)
    typer.echo(built.summary.splitlines()[-1], err=True)
    typer.echo(built.path)


Folder = Annotated[Path, typer.Argument(help="Folder written by `fairstats vignettes run`.")]

Seed = Annotated[int, typer.Option(help="Random seed. The same seed gives the same forms.")]


@review.command()
@says_what_is_wrong
def assign(
    folder: Folder,
    raters: Raters,
    rubric: Annotated[
        str, typer.Option(help="A built-in rubric for single texts, or a .toml file.")
    ] = "vignette_review",
    replicates: Annotated[
        int, typer.Option(help="Number of reviewers of each group per variant.")
    ] = 4,
    seed: Seed = 1,
) -> None:
    """Assign the variants that the build kept. Write a form and a sheet for each reviewer."""
    from fairstats.vignettes.review.assigning import assign_review

    assigned = assign_review(folder, raters, rubric=rubric, replicates=replicates, seed=seed)
    _say_assigned(assigned)


@review.command("import")
@says_what_is_wrong
def import_review(
    folder: Folder,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="All exported forms and sheets of the last round, or folders of them."),
    ] = None,
    edits: Annotated[
        Path | None,
        typer.Option(help="CSV of edited texts: item_id, attribute, group, text, editor, why."),
    ] = None,
) -> None:
    """Import the judgements of the last round, and edited texts."""
    from fairstats.vignettes.review import importing

    taken = importing.import_review(folder, files or (), edits=edits)
    _say(taken.notes)
    for path in taken.paths:
        typer.echo(path)


@review.command()
@says_what_is_wrong
def consensus(
    folder: Folder,
    *,
    raters: Annotated[
        Path | None,
        typer.Option(
            help="CSV of the raters of the next round (default: those of the first round)."
        ),
    ] = None,
    incomplete: Annotated[
        bool, typer.Option("--incomplete", help="Continue although some judgements are missing.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the state of the review. Assign no variants.")
    ] = False,
    seed: Seed = 1,
    output: Output,
) -> None:
    """Assign disputed and edited variants again, and show the decisions made so far."""
    from fairstats.vignettes.review.assigning import next_round

    found = next_round(folder, raters=raters, incomplete=incomplete, seed=seed, dry_run=dry_run)
    _say(found.notes)
    print_table(found.decisions, output, _show_decisions)
    if found.assigned is not None:
        _say_assigned(found.assigned)


@commands.command()
@says_what_is_wrong
def release(
    folder: Folder,
    version: Annotated[str, typer.Option(help="Version of this set of variants, e.g. 1.")],
    out: Annotated[Path, typer.Option(help="Folder to write the release to.")],
    unreviewed: Annotated[
        bool,
        typer.Option(
            "--unreviewed", help="Release variants that were not reviewed. The release states this."
        ),
    ] = False,
) -> None:
    """Release the items with all variants accepted, with a data card and hashes."""
    from fairstats.vignettes.releasing.releasing import release_vignettes

    made = release_vignettes(folder, version=version, out=out, unreviewed=unreviewed)
    typer.echo(made.stages.to_string(index=False), err=True)
    typer.echo(f"{made.items} items in {made.variants} variants", err=True)
    typer.echo(made.path)


def _say_assigned(assigned: Any) -> None:
    _say(assigned.notes)
    tasks = int(assigned.groups["tasks"].max())
    typer.echo(
        f"{tasks:,} variants to judge in {assigned.path}; send out its forms/ or sheets/", err=True
    )
    typer.echo(f"do not show the reviewers key.csv and tasks.jsonl in {assigned.path}", err=True)
    typer.echo(assigned.path)


def _say(notes: tuple[str, ...]) -> None:
    for note in notes:
        typer.echo(printable(note), err=True)


def _show_decisions(decisions: Any) -> None:
    """Show the number of variants with each decision, and the reasons."""
    counts = decisions.groupby(["decision", "reason"]).size().rename("variants").reset_index()
    typer.echo(counts.to_string(index=False) if len(counts) else "no variants reviewed")
