"""Commands on ratings: handing them out, and taking them in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fairstats._lib.problems import input_error, printable
from fairstats.commands._options import Raters, Requests, RubricFiles, stoppable
from fairstats.commands._shared import Output, plugin, print_table, says_what_is_wrong

commands = typer.Typer(
    no_args_is_help=True, help="Collect and analyse human ratings of open answers."
)

RatedBenchmark = Annotated[
    str | None,
    typer.Option(help="Name of the benchmark that is rated (default: the name of the items file)."),
]
Dataset = Annotated[str | None, typer.Option(help="Dataset of the items that do not name one.")]


@commands.command()
@says_what_is_wrong
def assign(
    items: Annotated[
        Path,
        typer.Option(
            help="CSV or JSON Lines, one row per answer: item_id, question, answer; model, "
            "dataset; "
            "for pairs model_2, answer_2, or item_id_2, question_2, answer_2."
        ),
    ],
    raters: Raters,
    out: Annotated[Path, typer.Option(help="New folder to write the forms, sheets and key to.")],
    rubric: Annotated[
        str,
        typer.Option(
            help="A built-in rubric (independent, pairwise, counterfactual, triage), or a .toml "
            "file."
        ),
    ],
    *,
    replicates: Annotated[
        list[str] | None,
        typer.Option(
            help="Number of raters of each group per task: a number, or GROUP=NUMBER for each "
            "group (default: 3)."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Random seed. The same seed gives the same assignment.")
    ] = 1,
    benchmark: RatedBenchmark = None,
    dataset: Dataset = None,
    output: Output,
) -> None:
    """Assign tasks to raters, balanced and blinded. Write a form and a sheet for each rater.

    Send each rater their form or sheet. Do not send key.csv or tasks.jsonl: they show which
    model is which.
    """
    from fairstats.ratings.collection import assignment

    assigned = assignment.assign(
        items,
        raters,
        rubric=rubric,
        replicates=_replicates(replicates or ["3"]),
        seed=seed,
        out=out,
        benchmark=benchmark,
        dataset=dataset,
    )
    for note in assigned.notes:
        typer.echo(printable(note), err=True)
    print_table(assigned.groups, output, _show_groups)
    typer.echo(f"do not show the raters key.csv and tasks.jsonl in {assigned.path}", err=True)


@commands.command("import")
@says_what_is_wrong
def import_ratings(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Exported forms and filled-in sheets, or folders of them; tidy tables; released "
            "files."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write the ratings to.")],
    assignment: Annotated[
        Path | None,
        typer.Option(help="Folder of the assignment that the forms and sheets came from."),
    ] = None,
    reader: Annotated[
        str | None,
        typer.Option("--format", help="Format of a released data set: equitymedqa or medperturb."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the files (default: benchmark and rubric).")
    ] = None,
    rubric_file: RubricFiles = None,
) -> None:
    """Import ratings to NAME.ratings.parquet. Comments go to a separate file, never published."""
    from fairstats.ratings.collection import import_ratings as ratings_import

    written = ratings_import.import_ratings(
        files,
        out=out,
        assignment=assignment,
        reader=None if reader is None else plugin("fairstats.rating_importers", reader),
        name=name,
        rubric_files=rubric_file or (),
    )
    for note in written.notes:
        typer.echo(printable(note), err=True)
    for path in written.paths:
        typer.echo(path)


@commands.command()
@says_what_is_wrong
def ask(
    model: Annotated[
        str,
        typer.Option(
            help="Model that rates: a known model, its name at the service, or `embedded`."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write the ratings to.")],
    *,
    items: Annotated[
        Path | None,
        typer.Option(
            help="CSV or JSON Lines, one row per task, as for assign; also task_id, benchmark."
        ),
    ] = None,
    rubric: Annotated[str | None, typer.Option(help="Name or .toml file of the rubric.")] = None,
    assignment: Annotated[
        Path | None,
        typer.Option(
            help="Assignment whose tasks the model rates, in place of --items and --rubric."
        ),
    ] = None,
    benchmark: RatedBenchmark = None,
    dataset: Dataset = None,
    model_name: Annotated[
        str | None,
        typer.Option(help="Name of the model in the ratings (default: the value of --model)."),
    ] = None,
    samples: Annotated[int, typer.Option(help="Number of replies to request for each task.")] = 1,
    limit: Annotated[
        int | None, typer.Option(help="Number of tasks to use, from the first (default: all).")
    ] = None,
    requests: Requests,
) -> None:
    """Let a model rate. Its ratings are marked as a model's and are never pooled with others.

    Each reply is stored as it arrives. Run the command again to request only what is missing.
    """
    from fairstats.ratings.collection import ask_judge

    with stoppable():
        path = ask_judge.ask(
            items,
            rubric,
            model=model,
            connect=plugin("fairstats.models", "chat"),
            out=out,
            assignment=assignment,
            benchmark=benchmark,
            dataset=dataset,
            model_name=model_name,
            samples=samples,
            limit=limit,
            **requests.arguments(),
        )
    if not requests.dry_run:
        typer.echo(path)


def _show_groups(groups: Any) -> None:
    """Show how the tasks were assigned, one line per group."""

    def between(name: str) -> Any:
        low, high = groups[f"{name}_min"], groups[f"{name}_max"]
        pairs = zip(low, high, strict=True)
        return [f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in pairs]

    shown = groups[["rater_group", "raters", "tasks"]].assign(
        **{
            "raters per task": groups["replicates"],
            "tasks per rater": between("load"),
            "tasks shared by two raters": between("shared"),
        }
    )
    typer.echo(shown.rename(columns={"rater_group": "group"}).to_string(index=False))


def _replicates(texts: list[str]) -> int | dict[str, int]:
    """Read one number for all groups, or one for each."""
    found: dict[str, int] = {}
    for text in texts:
        group, equals, number = text.rpartition("=")
        known = number.isascii() and number.isdigit() and len(number) < 5
        if not known or group in found or bool(equals) != bool(group) or (not group and texts[1:]):
            remedy = "write a number, or GROUP=NUMBER once for each group"
            raise input_error("--replicates", f"{text!r} is not valid", remedy)
        found[group] = int(number)
    return found.get("", found)
