"""Share error messages, plugins and printed tables between the commands."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial, wraps
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, get_args, get_type_hints

import typer
from typer.models import OptionInfo

from fairstats._lib.installation import how_to_install
from fairstats._lib.problems import (
    ArgumentError,
    ArgumentProblem,
    InputError,
    Note,
    Problem,
    RenderError,
    in_lines,
    printable,
)

if TYPE_CHECKING:
    import pandas as pd

    from fairstats.benchmarks.declaration import Benchmark

P = ParamSpec("P")
R = TypeVar("R")


def says_what_is_wrong(command: Callable[P, R]) -> Callable[P, R]:
    """Print an input's problems, one per line, and exit with 1."""
    return exits_on_problems(1)(command)


def exits_on_problems(code: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Print an input's problems, one per line, and exit with this code."""
    return lambda command: _guarded(command, code)


def _guarded(command: Callable[P, R], code: int) -> Callable[P, R]:
    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return _run(command, code, *args, **kwargs)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            # The exit code of shells for a program that SIGINT ended.
            raise typer.Exit(130) from None

    return run


def _show(others: Callable[..., None], message: Any, category: type[Warning], *rest: Any) -> None:
    """Print a note as a line; leave warnings of libraries to their usual display."""
    if issubclass(category, Note):
        typer.echo(f"note: {printable(str(message))}", err=True)
    else:
        others(message, category, *rest)


def _run(command: Callable[P, R], code: int, /, *args: P.args, **kwargs: P.kwargs) -> R:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", Note)
            warnings.showwarning = partial(_show, warnings.showwarning)
            return command(*args, **kwargs)
    except InputError as error:
        print_problems(_with_option(problem, command) for problem in error.problems)
    except ArgumentError as error:
        typer.echo(f"{_option(error.argument, command)}{error.said}", err=True)
    except ModuleNotFoundError as error:
        remedy = how_to_install(error.name or "")
        if remedy is None:
            raise
        print_problems([Problem(str(error.name), "is not installed", remedy)])
    except RenderError as error:
        typer.echo(str(error), err=True)
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does.
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
        raise typer.Exit(0) from None
    except OSError as error:
        print_problems([_os_problem(error)])
    raise typer.Exit(code)


def _os_problem(error: OSError) -> Problem:
    """Describe an error of the operating system with the path and a remedy."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    remedy = "free some space and run the command again" if full else "choose another path"
    # When copying, the error names its source first, but that is not full. Some errors have no
    # path.
    path = (full and error.filename2) or error.filename or "a file or folder"
    return Problem(str(path), error.strerror or str(error) or type(error).__name__, remedy)


def print_problems(problems: Iterable[Problem], *, err: bool = True) -> None:
    for line in in_lines(problems):
        typer.echo(line, err=err)


def _with_option(problem: Problem, command: Callable[..., Any]) -> Problem:
    """Name an argument of the API, e.g. ``limit = 0``, by the command's option."""
    if not isinstance(problem, ArgumentProblem):
        return problem
    names, equals, value = problem.path.partition(" = ")
    options = ", ".join(_option(name, command) for name in names.split(", "))
    return replace(problem, path=f"{options}{equals}{value}")


def _option(argument: str, command: Callable[..., Any]) -> str:
    """Return the option of the command's parameter with this name; without one, the name."""
    for info in get_args(get_type_hints(command, include_extras=True).get(argument)):
        if isinstance(info, OptionInfo):
            # In `Annotated`, the first name of an option is in the place of a default.
            names = [str(name) for name in (info.default, *(info.param_decls or ()))]
            own = (name for name in names if name.startswith("--"))
            return next(own, f"--{argument.replace('_', '-')}")
    return argument


def print_table(
    table: Any, *, as_json: bool, as_csv: bool, show: Callable[[Any], None] | None = None
) -> None:
    """Print a table as JSON or CSV, or as `show` does; by default with all of its columns."""
    from fairstats._lib.table_text import table_csv, table_json
    from fairstats.report import terminal

    if as_json:
        typer.echo(table_json(table), nl=False)
    elif as_csv:
        typer.echo(table_csv(table), nl=False)
    else:
        (show or terminal.print_table)(table)


def plugins(group: str) -> dict[str, EntryPoint]:
    """Return the installed entry points of a group, by name."""
    return {entry.name: entry for entry in sorted(entry_points(group=group))}


def plugin(group: str, name: str) -> Callable[..., Any]:
    """Load a collector by its entry point: fairstats does not import collectors itself."""
    found = plugins(group)
    if name not in found:
        kind = group.removeprefix("fairstats.").replace("_", " ")
        remedy = f"use one of: {', '.join(found)}" if found else "install one"
        raise InputError([Problem(name, f"is not one of the installed {kind}", remedy)])
    loaded: Callable[..., Any] = found[name].load()
    return loaded


@dataclass(frozen=True)
class Trusted:
    """Answers to compare with, the benchmarks of their releases, and the newest one's arguments."""

    answers: pd.DataFrame
    benchmarks: dict[str, Benchmark]
    arguments: dict[str, Any]


def read_trusted(paths: list[Path]) -> Trusted:
    """Read releases and answer files."""
    from fairstats.answers.files import join_answers, read_answer_file, read_answers
    from fairstats.answers.schema_checks import duplicate_problems
    from fairstats.release.contents import is_release
    from fairstats.release.manifest import open_release

    releases = [open_release(path) for path in paths if is_release(path)]
    files = [path for path in paths if not is_release(path)]
    names = [str(release.answers_path) for release in releases]
    frames = [read_answer_file(release.answers_path) for release in releases]
    if files:
        names.append(", ".join(map(str, files)))
        frames.append(read_answers(files))
    if problems := duplicate_problems(frames, names):
        raise InputError(problems)
    declared = {name: one for release in releases for name, one in release.benchmarks.items()}
    newest = max(releases, key=lambda release: release.created_at, default=None)
    given = {} if newest is None else newest.manifest["arguments"]
    arguments = {name: given[name] for name in ("missing", "alpha") if name in given}
    return Trusted(join_answers(frames), declared, arguments)
