"""Commands on a built benchmark: having people review its variants, and releasing it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fairstats._lib.problems import printable
from fairstats.commands._shared import (
    AsCsv,
    AsJson,
    print_table,
    says_what_is_wrong,
)

commands = typer.Typer()
review = typer.Typer(
    no_args_is_help=True, help="Have people review the variants of a built benchmark."
)
commands.add_typer(review, name="review")

Folder = Annotated[Path, typer.Argument(help="Folder written by `fairstats vignettes run`.")]
Seed = Annotated[int, typer.Option(help="Random seed. The same seed gives the same forms.")]


@review.command()
@says_what_is_wrong
def assign(
    folder: Folder,
    raters: Annotated[
        Path,
        typer.Option(
            help="CSV with rater_id, rater_group and optionally max_tasks. Use pseudonyms as ids: "
            "they are published with the ratings."
        ),
    ],
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
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Assign disputed and edited variants again, and show the decisions made so far."""
    from fairstats.vignettes.review.assigning import next_round

    found = next_round(folder, raters=raters, incomplete=incomplete, seed=seed, dry_run=dry_run)
    _say(found.notes)
    print_table(found.decisions, as_json=as_json, as_csv=as_csv, show=_show_decisions)
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
