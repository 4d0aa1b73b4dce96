"""Commands on ratings: handing them out, and taking them in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fairstats._lib.problems import InputError, Problem, printable
from fairstats.commands._asking import (
    BaseUrl,
    Batch,
    Concurrency,
    DryRun,
    KeepFailures,
    MaxCost,
    MaxTokens,
    Price,
    RequestsAMinute,
    Retries,
    Temperature,
    Timeout,
    TokensAMinute,
    read_price,
    stoppable,
)
from fairstats.commands._shared import (
    AsCsv,
    AsJson,
    RubricFiles,
    plugin,
    print_table,
    says_what_is_wrong,
)

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
        str,
        typer.Option(
            help="A built-in rubric (independent, pairwise, counterfactual, triage), or the .toml "
            "of one's own."
        ),
    ],
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

    Send raters their form or sheet, and keep key.csv and tasks.jsonl from them: they say which
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
    print_table(assigned.groups, as_json=as_json, as_csv=as_csv, show=_show_groups)
    typer.echo(f"keep key.csv and tasks.jsonl in {assigned.path} from the raters", err=True)


@commands.command("import")
@says_what_is_wrong
def import_ratings(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Exports of forms and filled sheets, or folders of them; tidy tables; released "
            "files."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the ratings.")],
    assignment: Annotated[
        Path | None,
        typer.Option(help="The folder of the assignment that the forms and sheets came from."),
    ] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="A released data set: equitymedqa or medperturb.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What to call the files; by default benchmark and rubric.")
    ] = None,
    rubric_file: RubricFiles = None,
) -> None:
    """Take in ratings: NAME.ratings.parquet, and comments apart, which are never published."""
    from fairstats.ratings.collection import importing

    written = importing.import_ratings(
        files,
        out=out,
        assignment=assignment,
        reader=None if format_ is None else plugin("fairstats.rating_importers", format_),
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
        str, typer.Option(help="The rater: a known model, its name at the service, or embedded.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the ratings.")],
    items: Annotated[
        Path | None,
        typer.Option(help="CSV or JSON Lines, a row a task, as for assign; task_id, benchmark."),
    ] = None,
    rubric: Annotated[str | None, typer.Option(help="A rubric's name or .toml.")] = None,
    assignment: Annotated[
        Path | None,
        typer.Option(help="Instead of items and rubric: judge the tasks that people were given."),
    ] = None,
    benchmark: Annotated[
        str | None, typer.Option(help="What is rated; by default the name of the items file.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="The dataset of items that name none.")
    ] = None,
    base_url: BaseUrl = None,
    model_name: Annotated[str | None, typer.Option(help="Its name in the ratings.")] = None,
    max_tokens: MaxTokens = None,
    temperature: Temperature = 0.0,
    samples: Annotated[int, typer.Option(help="How often to ask each task.")] = 1,
    limit: Annotated[int | None, typer.Option(help="Ask the first tasks only.")] = None,
    concurrency: Concurrency = 8,
    rpm: RequestsAMinute = None,
    tpm: TokensAMinute = None,
    price: Price = None,
    max_cost: MaxCost = None,
    timeout: Timeout = 120.0,
    retries: Retries = 5,
    keep_failures: KeepFailures = False,
    batch: Batch = False,
    dry_run: DryRun = False,
) -> None:
    """Let a model rate: its ratings are marked as a model's, and pooled with nobody's.

    Every reply is kept before it counts; the same command again asks only what is missing.
    """
    from fairstats.ratings.collection import ask as asking

    with stoppable():
        path = asking.ask(
            items,
            rubric,
            model=model,
            connect=plugin("fairstats.models", "chat"),
            out=out,
            assignment=assignment,
            benchmark=benchmark,
            dataset=dataset,
            base_url=base_url,
            model_name=model_name,
            samples=samples,
            max_tokens=max_tokens,
            temperature=temperature,
            concurrency=concurrency,
            limit=limit,
            rpm=rpm,
            tpm=tpm,
            price=None if price is None else read_price(price),
            max_cost=max_cost,
            timeout=timeout,
            retries=retries,
            keep_failures=keep_failures,
            batch=batch,
            dry_run=dry_run,
        )
    if not dry_run:
        typer.echo(path)


def _show_groups(groups: Any) -> None:
    """How the tasks were assigned, a line a group."""

    def between(name: str) -> Any:
        low, high = groups[f"{name}_min"], groups[f"{name}_max"]
        pairs = zip(low, high, strict=True)
        return [f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in pairs]

    shown = groups[["rater_group", "raters", "tasks"]].assign(
        **{
            "raters a task": groups["replicates"],
            "tasks a rater": between("load"),
            "tasks two raters share": between("shared"),
        }
    )
    typer.echo(shown.rename(columns={"rater_group": "group"}).to_string(index=False))


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
