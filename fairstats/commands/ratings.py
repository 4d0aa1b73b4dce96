"""Commands on ratings: handing them out, and taking them in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairstats.commands._shared import (
    AsCsv,
    AsJson,
    RubricFiles,
    plugin,
    print_table,
    says_what_is_wrong,
)
from fairstats.problems import InputError, Problem

commands = typer.Typer(
    no_args_is_help=True, help="Ratings of open answers: hand out, take in, analyze."
)


@commands.command()
@says_what_is_wrong
def assign(
    items: Annotated[
        Path,
        typer.Option(
            help="CSV or JSON Lines, a row a subject: item_id, question, answer; model, dataset; "
            "for pairs model_2, answer_2, or item_id_2, question_2, answer_2."
        ),
    ],
    raters: Annotated[
        Path,
        typer.Option(
            help="CSV with rater_id, rater_group and, if wanted, max_tasks. The ids are published "
            "with the ratings: pseudonyms."
        ),
    ],
    out: Annotated[Path, typer.Option(help="A new folder for forms, sheets and the key.")],
    rubric: Annotated[
        str | None, typer.Option(help="A built-in rubric: independent, pairwise, counterfactual, …")
    ] = None,
    rubric_file: Annotated[
        Path | None, typer.Option(help="A rubric's .toml that is not built in.")
    ] = None,
    replicates: Annotated[
        list[str] | None,
        typer.Option(
            help="How many raters of each group judge a task: a number, or GROUP=NUMBER for each "
            "group; by default 3."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same assignment.")] = 1,
    benchmark: Annotated[
        str | None, typer.Option(help="What is rated; by default the name of the items file.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="The dataset of items that name none.")
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Assign tasks to raters, balanced and blind: a form and a sheet for each of them.

    Send raters their form or sheet, and keep key.csv from them: it says which model is which.
    """
    if (rubric is None) == (rubric_file is None):
        problem = Problem("--rubric, --rubric-file", "name no rubric, or two", "give one of them")
        raise InputError([problem])
    assigned = plugin("fairstats.ratings", "assign")(
        items,
        raters,
        rubric=rubric if rubric_file is None else rubric_file,
        replicates=_replicates(replicates or ["3"]),
        seed=seed,
        out=out,
        benchmark=benchmark,
        dataset=dataset,
    )
    for note in assigned.notes:
        typer.echo(note, err=True)
    print_table(assigned.groups, as_json=as_json, as_csv=as_csv)
    typer.echo(f"keep {assigned.path / 'key.csv'} from the raters", err=True)


@commands.command("import")
@says_what_is_wrong
def import_ratings(
    files: Annotated[
        list[Path],
        typer.Argument(help="Exports of forms and filled sheets, tidy tables, or released files."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the ratings.")],
    assignment: Annotated[
        Path | None,
        typer.Option(help="The folder of the assignment that the forms and sheets came from."),
    ] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="A released data set, e.g. equitymedqa.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What to call the files; by default benchmark and rubric.")
    ] = None,
    rubric_file: RubricFiles = None,
) -> None:
    """Take in ratings: NAME.ratings.parquet, and comments apart, which are never published."""
    written = plugin("fairstats.ratings", "import")(
        files,
        out=out,
        assignment=assignment,
        format=format_,
        name=name,
        rubric_files=rubric_file or (),
    )
    for note in written.notes:
        typer.echo(note, err=True)
    for path in written.paths:
        typer.echo(path)


def _replicates(texts: list[str]) -> int | dict[str, int]:
    """A number for all groups, or one for each."""
    found: dict[str, int] = {}
    for text in texts:
        group, equals, number = text.rpartition("=")
        known = number.isascii() and number.isdigit() and len(number) < 5
        if not known or group in found or bool(equals) != bool(group) or (not group and texts[1:]):
            remedy = "write a number, or GROUP=NUMBER once for each group"
            raise InputError([Problem("--replicates", f"{text!r} is unclear", remedy)])
        found[group] = int(number)
    return found.get("", found)
