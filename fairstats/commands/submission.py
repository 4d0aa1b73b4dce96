"""Commands for answers that others send in, and for the repository of a board."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairstats._lib.problems import input_error
from fairstats.commands._options import Benchmarks, Pairs, Paths, load_given, typed_pairs
from fairstats.commands._shared import print_problems, read_trusted, says_what_is_wrong

if TYPE_CHECKING:
    from fairstats.publishing.submission_check import SubmissionCheck

commands = typer.Typer(help="Submit answers to a board, check a submission, or accept one.")
site = typer.Typer(help="Set up the repository of a board.")

_RESULT = "submission"


@commands.command()
@says_what_is_wrong
def init(
    paths: Paths,
    out: Annotated[Path, typer.Option(help="Folder to write the submission to.")],
    snapshot: Annotated[str | None, typer.Option(help="Exact version of the model.")] = None,
    provider: Annotated[str | None, typer.Option(help="Who ran the model.")] = None,
    started: Annotated[str | None, typer.Option(help="First day of the run.")] = None,
    ended: Annotated[str | None, typer.Option(help="Last day of the run.")] = None,
    attempts: Annotated[
        int | None, typer.Option(help="Number of complete runs that were made, with this one.")
    ] = None,
    chosen_by: Annotated[
        str | None, typer.Option(help="How this run was chosen, if there were several.")
    ] = None,
    submitter: Annotated[str | None, typer.Option(help="Who sends the answers.")] = None,
    conflicts: Annotated[
        str | None, typer.Option(help='Interests in the result, or "none".')
    ] = None,
    training_data: Annotated[
        str | None, typer.Option(help="What is known about the items in the training data.")
    ] = None,
    setting: Annotated[
        Pairs, typer.Option(help="NAME=VALUE: a setting of the run. Repeatable.")
    ] = None,
    prompt: Annotated[
        Pairs,
        typer.Option(
            help="STRATEGY=FILE: the prompt template, of which only the hash is kept. Repeatable."
        ),
    ] = None,
) -> None:
    """Create a submission from the answers of one model.

    Reads what it can from the answers, and asks for the rest if it runs in a terminal.
    """
    from fairstats._lib.untrusted_files import read_once
    from fairstats.publishing.board_repository import create_submission
    from fairstats.submissions.declaration import SUBMISSION_FILE

    given = {
        "snapshot": snapshot,
        "provider": provider,
        "started": _day("--started", started),
        "ended": _day("--ended", ended),
        "attempts": attempts,
        "chosen_by": chosen_by,
        "submitter": submitter,
        "conflicts": conflicts,
        "training_data": training_data,
        "settings": {
            key: _number(value) for key, value in typed_pairs("--setting", setting).items()
        },
        "prompts": {
            key: read_once(path).sha256 for key, path in typed_pairs("--prompt", prompt).items()
        },
    }
    facts = {key: value for key, value in given.items() if value not in (None, {})}
    ask = _ask if sys.stdin.isatty() else None
    empty = create_submission(paths, out, facts, ask)
    typer.echo(out / SUBMISSION_FILE)
    if empty:
        typer.echo(f"fill in: {', '.join(empty)}", err=True)
    typer.echo(f"then run: fairstats submission check {out} --board BOARD", err=True)


def _ask(key: str) -> Any:
    """Ask for one value of a declaration; an empty reply leaves it empty."""
    from fairstats.submissions.declaration import KEYS

    typer.echo(KEYS[key], err=True)
    reply = typer.prompt(key, default="", show_default=False, err=True).strip()
    if key in ("started", "ended"):
        return _day(key, reply)
    return _number(reply) if key == "attempts" else reply


def _day(option: str, text: str | None) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise input_error(option, "is not a date", "write it like 2026-11-21", value=text) from None


def _number(text: str) -> str | int | float:
    """Return a number if the text is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@commands.command()
@says_what_is_wrong
def check(
    folders: Annotated[list[Path], typer.Argument(help="Folders of submissions.")],
    board: Annotated[
        Path | None, typer.Option(help="Folder of the board's repository, to compare with.")
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(help="Release, answer files or folders to compare with. Repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a comment for a pull request.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write submission.json and submission.md to.")
    ] = None,
    benchmark: Benchmarks = None,
) -> None:
    """Validate and screen submissions, and preview what would change on the board.

    Exits with 1 if a submission has a problem, or screening blocks it.
    """
    from fairstats._lib.atomic_files import whole_file
    from fairstats._lib.table_text import write_text
    from fairstats.publishing.board_repository import board_arguments
    from fairstats.publishing.submission_check import check_submission

    known = {one.name: one for one in load_given(benchmark)}
    options: dict[str, Any] = {"benchmarks": known}
    if against:
        trusted = read_trusted(against)
        options = {"present": trusted.answers, "benchmarks": trusted.benchmarks | known}
        options |= trusted.arguments
    if board is not None:
        if against:
            raise input_error("--board", "and --against exclude each other", "give one of them")
        options = board_arguments(board, known)
    found = [check_submission(one, **options) for one in folders]
    texts = {
        "json": f"[{','.join(one.to_json() for one in found)}]\n",
        "md": "\n".join(one.to_markdown() for one in found),
    }
    if out is not None:
        for suffix, text in texts.items():
            with whole_file(out / f"{_RESULT}.{suffix}") as temporary:
                write_text(text, temporary)
    if as_json or as_markdown:
        typer.echo(texts["json" if as_json else "md"], nl=False)
    else:
        for one in found:
            _print_check(one)
    if any(one.result in ("invalid", "block") for one in found):
        raise typer.Exit(1)


def _print_check(found: SubmissionCheck) -> None:
    from fairstats._lib.problems import printable
    from fairstats.publishing.submission_check import MEANINGS
    from fairstats.report import terminal
    from fairstats.screening.screen import count_flags, flagged

    typer.echo(printable(f"{found.path}: {found.result}: {MEANINGS[found.result]}"))
    print_problems(found.problems, err=False)
    if len(found.screening):
        rows = flagged(found.screening)
        if len(rows):
            terminal.print_table(rows.drop(columns=["benchmark", "p_value"]))
        typer.echo(f"screening: {count_flags(found.screening)}")
    for line in found.lines:
        typer.echo(printable(line))


@commands.command()
@says_what_is_wrong
def accept(
    folder: Annotated[Path, typer.Argument(help="Folder of the submission.")],
    board: Annotated[Path, typer.Option(help="Folder of the board's repository.")],
    by: Annotated[str, typer.Option(help="Who accepts it. It is published.")],
    overrule: Annotated[
        str,
        typer.Option(
            metavar="REASON",
            help="Accept it although screening blocks it, for this reason. It is published.",
        ),
    ] = "",
    benchmark: Benchmarks = None,
) -> None:
    """Check a submission, and move it to the board's accepted ones with a record of it."""
    from fairstats.publishing.board_repository import accept_submission

    target, found = accept_submission(
        folder, board, by=by, overrule=overrule, benchmarks=load_given(benchmark)
    )
    _print_check(found)
    typer.echo(f"accepted: {target}")


@site.command("init")
@says_what_is_wrong
def init_site(
    folder: Annotated[Path, typer.Argument(help="Folder of the new repository.")],
    title: Annotated[str, typer.Option(help="Name of the board.")] = "Leaderboard",
    publisher: Annotated[str, typer.Option(help="Who publishes it. Named on every page.")] = "",
    licence: Annotated[
        str, typer.Option(help="Licence of what is published. Named on every page.")
    ] = "",
    benchmark: Benchmarks = None,
) -> None:
    """Create the repository of a board: folders, instructions for submitters, and workflows."""
    from fairstats.publishing.board_repository import create_board

    for path in create_board(
        folder,
        title=title,
        publisher=publisher,
        licence=licence,
        benchmarks=load_given(benchmark),
    ):
        typer.echo(path)


@site.command("pages")
@says_what_is_wrong
def site_pages(
    folder: Annotated[Path, typer.Argument(help="New folder for the pages.")],
) -> None:
    """Write the pages, the style sheet and site.toml into a folder, to edit them.

    `fairstats publish --pages` draws a release with them. With Quarto, `quarto preview` shows them.
    """
    from fairstats.report.site_pages import write_built_in

    for name in write_built_in(folder):
        typer.echo(folder / name)
