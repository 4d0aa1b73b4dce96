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
review = typer.Typer(no_args_is_help=True, help="Have people review the variants of a build.")
commands.add_typer(review, name="review")

Folder = Annotated[Path, typer.Argument(help="The folder that `fairstats vignettes run` wrote.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same forms.")]


@review.command()
@says_what_is_wrong
def assign(
    folder: Folder,
    raters: Annotated[
        Path,
        typer.Option(
            help="CSV with rater_id, rater_group and, if wanted, max_tasks. The ids are published "
            "with the ratings: pseudonyms."
        ),
    ],
    rubric: Annotated[
        str, typer.Option(help="A rubric for single texts, or the .toml of one's own.")
    ] = "vignette_review",
    replicates: Annotated[
        int, typer.Option(help="How many reviewers of each group judge a variant.")
    ] = 4,
    seed: Seed = 1,
) -> None:
    """Hand out the variants that the build kept: a form and a sheet for each reviewer."""
    from fairstats.vignettes.review.handing_out import assign_review

    assigned = assign_review(folder, raters, rubric=rubric, replicates=replicates, seed=seed)
    _say_assigned(assigned)


@review.command("import")
@says_what_is_wrong
def import_review(
    folder: Folder,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="All exports and sheets of the last round, or folders of them."),
    ] = None,
    edits: Annotated[
        Path | None,
        typer.Option(
            help="CSV of texts written anew: item_id, attribute, group, text, editor, why."
        ),
    ] = None,
) -> None:
    """Take in judgements of the last round, and edited texts."""
    from fairstats.vignettes.review import taking_in

    taken = taking_in.import_review(folder, files or (), edits=edits)
    _say(taken.notes)
    for path in taken.paths:
        typer.echo(path)


@review.command()
@says_what_is_wrong
def consensus(
    folder: Folder,
    raters: Annotated[
        Path | None, typer.Option(help="Who judges now; by default those of the first round.")
    ] = None,
    incomplete: Annotated[
        bool, typer.Option("--incomplete", help="Go on without judgements that are missing.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say where the review stands, and hand nothing out.")
    ] = False,
    seed: Seed = 1,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Hand out again what reviewers disagree on and what was edited, and say what was decided."""
    from fairstats.vignettes.review.handing_out import next_round

    found = next_round(folder, raters=raters, incomplete=incomplete, seed=seed, dry_run=dry_run)
    _say(found.notes)
    print_table(found.decisions, as_json=as_json, as_csv=as_csv, show=_show_decisions)
    if found.assigned is not None:
        _say_assigned(found.assigned)


@commands.command()
@says_what_is_wrong
def release(
    folder: Folder,
    version: Annotated[str, typer.Option(help="The version of this set of variants, e.g. 1.")],
    out: Annotated[Path, typer.Option(help="Folder for the release.")],
    unreviewed: Annotated[
        bool,
        typer.Option("--unreviewed", help="Release what nobody has reviewed; the release says so."),
    ] = False,
) -> None:
    """Release the items of which every variant was accepted, with a data card and hashes."""
    from fairstats.vignettes.releasing.releasing import release_vignettes

    made = release_vignettes(folder, version=version, out=out, unreviewed=unreviewed)
    typer.echo(made.stages.to_string(index=False), err=True)
    typer.echo(f"{made.items} items in {made.variants} variants", err=True)
    typer.echo(made.path)


def _say_assigned(assigned: Any) -> None:
    _say(assigned.notes)
    tasks = int(assigned.groups["tasks"].max())
    typer.echo(f"{tasks:,} variants to judge in {assigned.path}: send forms/ or sheets/", err=True)
    typer.echo(f"keep key.csv and tasks.jsonl in {assigned.path} from the reviewers", err=True)
    typer.echo(assigned.path)


def _say(notes: tuple[str, ...]) -> None:
    for note in notes:
        typer.echo(printable(note), err=True)


def _show_decisions(decisions: Any) -> None:
    """How many variants have which decision, and why."""
    counts = decisions.groupby(["decision", "reason"]).size().rename("variants").reset_index()
    typer.echo(counts.to_string(index=False) if len(counts) else "no variant is reviewed")
