"""Share error messages, plugins and printed tables between the commands."""

from __future__ import annotations

import errno
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache, partial, wraps
from importlib.metadata import EntryPoint, entry_points
from inspect import Parameter, isfunction, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.models import OptionInfo

from fairstats._lib.formatting import counted, listed, quoted
from fairstats._lib.installation import how_to_install
from fairstats._lib.problems import (
    ArgumentError,
    InputError,
    Note,
    Problem,
    RenderError,
    in_lines,
    input_error,
    naming_options,
    printable,
    refuse,
)

if TYPE_CHECKING:
    import pandas as pd

    from fairstats.benchmarks.declaration import Benchmark

AsJson = Annotated[bool, typer.Option("--json", help="Print the table as JSON.")]


@dataclass(frozen=True)
class Output:
    """The options for how a table is printed."""

    as_json: AsJson = False
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")] = False

    @property
    def as_text(self) -> bool:
        return not (self.as_json or self.as_csv)


def says_what_is_wrong(command: Callable[..., Any], code: int = 1) -> Callable[..., Any]:
    """Print an input's problems, one per line, and exit with this code.

    A parameter that is a dataclass takes several options: one for each of its fields. A function in
    the annotation of an option checks its value.
    """

    @wraps(command)
    def run(**options: Any) -> Any:
        try:
            return _run(command, code, options)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            # The exit code of shells for a program that SIGINT ended.
            raise typer.Exit(130) from None

    # Only for these commands: evaluating the annotations of all would delay every start.
    names = map(str, command.__annotations__.values())
    if any(is_dataclass(command.__globals__.get(name)) for name in names):
        expanded = signature(command).replace(parameters=[*_options(command)])
        run.__signature__ = expanded  # type: ignore[attr-defined]
    return run


def _is_group(parameter: Parameter) -> bool:
    return is_dataclass(parameter.annotation)


@cache
def _parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    return tuple(signature(function, eval_str=True).parameters.values())


def _options(function: Callable[..., Any]) -> Iterator[Parameter]:
    """Yield the parameters of a command, with the fields in the place of each dataclass."""
    for one in _parameters(function):
        if _is_group(one):
            yield from _options(one.annotation)
        else:
            yield one.replace(kind=Parameter.KEYWORD_ONLY)


def _arguments(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a command: its options, and dataclasses of them."""
    made = {}
    for one in _parameters(function):
        if _is_group(one):
            made[one.name] = one.annotation(**_arguments(one.annotation, options))
        elif one.name in options:
            made[one.name] = options[one.name]
    return made


def _check_options(command: Callable[..., Any], options: Mapping[str, Any]) -> None:
    for one in _options(command):
        for check in filter(isfunction, get_args(one.annotation)):
            check(options[one.name])


def _show(others: Callable[..., None], message: Any, category: type[Warning], *rest: Any) -> None:
    """Print a note as a line; leave warnings of libraries to their usual display."""
    if issubclass(category, Note):
        typer.echo(f"note: {printable(str(message))}", err=True)
    else:
        others(message, category, *rest)


def _run(command: Callable[..., Any], code: int, options: dict[str, Any]) -> Any:
    try:
        with warnings.catch_warnings(), naming_options(partial(_option, command)):
            warnings.simplefilter("always", Note)
            warnings.showwarning = partial(_show, warnings.showwarning)
            _check_options(command, options)
            return command(**_arguments(command, options))
    except InputError as error:
        print_problems(error.problems)
    except ModuleNotFoundError as error:
        remedy = how_to_install(error.name or "")
        if remedy is None:
            raise
        print_problems([Problem(str(error.name), "is not installed", remedy)])
    except (ArgumentError, RenderError) as error:
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


def _option(command: Callable[..., Any], parameter: str, value: object) -> str | None:
    """Return the command's option for a parameter of the API, with a value unless it is ``...``."""
    flag = _flag(command, parameter)
    if flag is None:
        return None
    on, _, off = flag.partition("/")
    if isinstance(value, bool):
        return on if value else off
    if isinstance(value, Mapping):
        return " ".join(f"{on} {shlex.quote(pair)}" for pair in _pairs(value))
    return on if value is ... else f"{on} {shlex.quote(str(value))}"


def _pairs(given: Mapping[str, Any]) -> Iterator[str]:
    """Return a mapping as options take it: NAME=VALUE, or NAME:OLD=NEW if it has mappings."""
    for name, value in given.items():
        if isinstance(value, Mapping):
            yield from (f"{name}:{pair}" for pair in _pairs(value))
        else:
            yield name if value is ... else f"{name}={value}"


@cache
def _flag(command: Callable[..., Any], parameter: str) -> str | None:
    """Return the names of an option, e.g. ``--limit`` or ``--pages/--no-pages``.

    A parameter with several values may be an option that is given once for each, in the singular.
    """
    annotations = {one.name: one.annotation for one in _options(command)}
    for name in (parameter, parameter.removesuffix("s")):
        for info in get_args(annotations.get(name)):
            if isinstance(info, OptionInfo):
                # In `Annotated`, the first name of an option is in the place of a default.
                names = [str(name) for name in (info.default, *(info.param_decls or ()))]
                own = (name for name in names if name.startswith("--"))
                return next(own, f"--{name.replace('_', '-')}")
    return None


def print_table(
    table: Any, output: Output = Output(), show: Callable[[Any], None] | None = None
) -> None:
    """Print a table as JSON or CSV, or as `show` does; by default with all of its columns."""
    from fairstats._lib.table_text import table_csv, table_json
    from fairstats.report import terminal

    if output.as_text:
        (show or terminal.print_table)(table)
    else:
        typer.echo(table_json(table) if output.as_json else table_csv(table), nl=False)


def with_basis(
    table: pd.DataFrame,
    known: Iterable[Benchmark],
    margin: float | None = None,
    *,
    alpha: float,
) -> Any:
    """Return a table with what the verdicts of each row's benchmark rest on, as a last column."""
    of = basis_of(table, known, margin, alpha=alpha)
    return table.assign(declaration=table["benchmark"].map(of))


def basis_of(
    table: pd.DataFrame,
    known: Iterable[Benchmark],
    margin: float | None = None,
    attributes: Container[str] | None = None,
    *,
    alpha: float,
) -> dict[str, str]:
    """Return what verdicts rest on by benchmark: declaration, margin, unusual thresholds and level.

    If only some `attributes` were checked, the others are named.
    """
    from fairstats.benchmarks.loading import load_benchmarks

    names, found = [str(name) for name in table["benchmark"].unique()], {}
    for name, one in load_benchmarks(names, known).items():
        left_out = [
            of.label for of in one.varied if attributes and of.pairs and of.name not in attributes
        ]
        found[name] = one.basis(margin, alpha=alpha)
        found[name] += f"; not checked: {listed(left_out)}" * bool(left_out)
    return found


def plugins(group: str) -> dict[str, EntryPoint]:
    """Return the installed entry points of a group, by name."""
    return {entry.name: entry for entry in sorted(entry_points(group=group))}


def plugin(group: str, name: str) -> Callable[..., Any]:
    """Load a collector by its entry point: fairstats does not import collectors itself."""
    found = plugins(group)
    if name not in found:
        kind = group.removeprefix("fairstats.").replace("_", " ")
        remedy = f"use one of: {', '.join(found)}" if found else "install one"
        raise input_error(name, f"is not one of the installed {kind}", remedy)
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
    from fairstats.answers.files import join_answers, read_answers
    from fairstats.answers.schema_checks import duplicate_problems
    from fairstats.release.contents import is_release
    from fairstats.release.manifest import open_release

    releases = [open_release(path) for path in paths if is_release(path)]
    files = [path for path in paths if not is_release(path)]
    names = [str(release.answers_path) for release in releases]
    frames = [read_answers(release.answers_path) for release in releases]
    if files:
        names.append(", ".join(map(str, files)))
        frames.append(read_answers(files))
    refuse(duplicate_problems(frames, names))
    declared = {name: one for release in releases for name, one in release.benchmarks.items()}
    newest = max(releases, key=lambda release: release.created_at, default=None)
    given = {} if newest is None else newest.manifest["arguments"]
    arguments = {name: given[name] for name in ("missing", "alpha") if name in given}
    return Trusted(join_answers(frames), declared, arguments)


def print_counts(answers: pd.DataFrame, *, missing_only: bool = False) -> None:
    """Print how many answers of each answer set there are, and why others are missing."""
    for line in _counted_answers(answers, missing_only):
        typer.echo(line, err=True)


def _counted_answers(answers: pd.DataFrame, missing_only: bool) -> Iterator[str]:
    """Return a line for each answer set: how many answers there are, and how many are missing."""
    sets = answers.groupby(["benchmark_version", "model", "strategy"], sort=False)
    several = answers["benchmark_version"].nunique() > 1
    for (version, model, strategy), rows in sets:
        counts = rows["status"].value_counts()
        if missing_only and counts.get("ok", 0) == len(rows):
            continue
        line = f"{quoted(model, strategy)}{f', {version}' if several else ''}: "
        line += f"{counted(int(counts.get('ok', 0)), 'answer')}"
        for status in ("refused", "unparsed", "error"):
            if status in counts or status != "error":
                line += f", {int(counts.get(status, 0)):,} {status}"
        missing = rows[rows["status"] == "unparsed"]
        if "answer_raw" in missing:
            common = missing["answer_raw"].fillna("").map(_beginning).value_counts().head(3)
            shown = ", ".join(f"{text} {number:,}" for text, number in common.items())
            line += f" ({shown})" if shown else ""
        if cut := _cut_off(rows):
            line += f"; {cut:,} reached max_tokens and may be cut off: allow more"
        yield printable(line)


def _cut_off(rows: pd.DataFrame) -> int:
    """Return how many replies have as many tokens as was allowed."""
    if not {"max_tokens", "completion_tokens"} <= set(rows):
        return 0
    return int((rows["completion_tokens"] >= rows["max_tokens"]).sum())


def _beginning(text: str) -> str:
    """Return the first words of a reply in quotes, or that it is empty."""
    words = " ".join(text.split())
    if len(words) > 40:
        words = f"{words[:39].rpartition(' ')[0]} …" if " " in words[:39] else f"{words[:39]}…"
    return repr(words) if words else "empty"
