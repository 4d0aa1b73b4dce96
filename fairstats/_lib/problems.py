"""Problems of files and arguments, with a remedy for each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from fairstats._lib.paths import AnyPath


@dataclass(frozen=True)
class Problem:
    """One problem of an input file.

    Parameters
    ----------
    path : str
        The file, ``"<frame>"`` for a frame in memory, or a `parameter`.
    message : str
        The problem.
    remedy : str
        The remedy.
    row : int, optional
        The data row, counted from 1 (without a CSV file's header line); of a workbook, the sheet's.
    column : str, optional
        The column.
    value : str, optional
        The value in that cell, as text.

    Examples
    --------
    >>> print(Problem("a.csv", "no such group", "use one of: white, black",
    ...               row=3, column="group", value="wite"))
    a.csv: row 3: group = 'wite': no such group; use one of: white, black
    """

    path: str
    message: str
    remedy: str
    _: KW_ONLY
    row: int | None = None
    column: str | None = None
    value: str | None = None

    def __str__(self) -> str:
        return self._said("" if self.row is None else f"row {self.row}")

    def _said(self, rows: str) -> str:
        where = [self.path]
        if rows:
            where.append(rows)
        if self.column is not None:
            shown = "" if self.value is None else f" = {_shorten(self.value)!r}"
            where.append(f"{_shorten(self.column, 80)}{shown}")
        said = ": ".join([*where, f"{_shorten(self.message, 1000)}; {self.remedy}"])
        return printable(said)


class InputError(ValueError):
    """Raised for input that cannot be used; ``problems`` lists each problem.

    The message shows only the first problems, so that a traceback stays readable. ``problems`` has
    all of them.
    """

    def __init__(self, problems: Sequence[Problem], shown: int = 10) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[:shown]]
        if len(self.problems) > shown:
            lines.append(f"... and {len(self.problems) - shown} more")
        super().__init__("\n".join(lines))


class ArgumentError(ValueError):
    """Raised for the value of an argument that a statistic cannot use."""

    def __init__(self, argument: str, said: str) -> None:
        super().__init__(f"{parameter(argument)}{said}")


# Tracebacks show the public name.
InputError.__module__ = "fairstats"


# Returns the option of a command for a parameter and its value, or None if it has no such option.
_option: ContextVar[Callable[[str, object], str | None]] = ContextVar(
    "_option", default=lambda parameter, value: None
)


@contextmanager
def naming_options(option: Callable[[str, object], str | None]) -> Iterator[None]:
    """Name a command's options in messages, in the place of parameters, while it runs."""
    token = _option.set(option)
    try:
        yield
    finally:
        _option.reset(token)


def parameter(name: str) -> str:
    """Return a parameter's name for a message: in a command, that of its option.

    Examples
    --------
    >>> parameter("max_ad")
    'max_ad'
    """
    return _option.get()(name, ...) or name


def keyword(name: str, value: object = ...) -> str:
    """Return how a parameter is given, for a message: in a command, as its option.

    Examples
    --------
    >>> print(keyword("trust"), keyword("pages", False), keyword("columns", {"answer": "FIELD"}))
    trust=... pages=False columns={'answer': 'FIELD'}
    """
    return _shorten(_option.get()(name, value) or f"{name}={_python(value)}")


def _python(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_python(item)}' for key, item in value.items())}}}"
    return "..." if value is ... else repr(value)


def input_error(
    path: AnyPath,
    message: str,
    remedy: str,
    *,
    row: int | None = None,
    column: str | None = None,
    value: str | None = None,
) -> InputError:
    """Return the error for an input with one `Problem`."""
    name = os.fspath(path)
    return InputError([Problem(name, message, remedy, row=row, column=column, value=value)])


def refuse(problems: Iterable[Problem]) -> None:
    """Raise an `InputError` if there are problems."""
    if found := list(problems):
        raise InputError(found)


@contextmanager
def collected(problems: list[Problem]) -> Iterator[None]:
    """Add the problems of an `InputError` to others, and go on after the block."""
    try:
        yield
    except InputError as error:
        problems += error.problems


def wrong(name: str, message: str, remedy: str, *, value: object = ...) -> InputError:
    """Return the error for a parameter, and its value if that helps."""
    given = parameter(name) if value is ... else keyword(name, value)
    return input_error(given, message, remedy)


def path_in(out: Path, name: str) -> Path:
    """Return the path of a file in a folder; refuse a folder that is not writable."""
    path = Path(out) / name
    folder = next(parent for parent in path.parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError([Problem(str(folder), "cannot be written to", "use another folder")])
    return path


def check_numbers(**numbers: float | None) -> None:
    """Refuse counts below 1; None means the default."""
    for name, number in numbers.items():
        if number is not None and not 1 <= number < float("inf"):
            raise wrong(name, "must be at least 1", "use 1 or more", value=number)


@contextmanager
def laid_out(path: AnyPath, message: str, remedy: str) -> Iterator[None]:
    """Refuse a file or folder if reading it fails because of an unexpected layout.

    Examples
    --------
    >>> with laid_out("a.json", "is not a manifest", "publish again"):
    ...     {}["files"]
    Traceback (most recent call last):
    fairstats.InputError: a.json: is not a manifest (KeyError); publish again
    """
    try:
        yield
    except InputError:
        raise
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        said = f"{message} ({type(error).__name__})"
        raise InputError([Problem(os.fspath(path), said, remedy)]) from None


class RenderError(RuntimeError):
    """Raised when a page could not be drawn; the message names the page and the cause."""


class Note(UserWarning):
    """A note on an input for its owner, who need not change anything."""


# Of problems with one remedy in a column.
_MOST_LINES = 10


def in_lines(problems: Iterable[Problem]) -> list[str]:
    """Return one line per problem; a problem in more than three rows is reported once.

    A row of a table with several answers in a row is named once. Of many problems of a column with
    one remedy, the first ten are listed.

    Examples
    --------
    >>> rows = range(1, 9)
    >>> print(*in_lines(Problem("a.csv", "no such model", "name one", row=row) for row in rows))
    a.csv: rows 1, 2, 3 and 5 more: no such model; name one
    >>> print(*in_lines(Problem("a.csv", "no such model", "name one", row=1) for row in rows))
    a.csv: row 1: no such model; name one
    """
    alike: dict[Problem, list[int | None]] = {}
    for problem in problems:
        alike.setdefault(replace(problem, row=None), []).append(problem.row)
    lines: list[str] = []
    kinds: Counter[Problem] = Counter()
    for problem, rows in alike.items():
        rows = list(dict.fromkeys(rows))
        numbers = [row for row in rows if row is not None]
        if len(numbers) > 3:
            said = [problem._said(f"rows {first_of(numbers)}")]
        else:
            said = [str(replace(problem, row=row)) for row in rows]
        kind = replace(problem, message="", value=None)
        lines += said[: max(_MOST_LINES - kinds[kind], 0)]
        kinds[kind] += len(said)
    return lines + [
        str(replace(kind, message=f"{many - _MOST_LINES:,} more like these"))
        for kind, many in kinds.items()
        if many > _MOST_LINES
    ]


def first_of(names: Sequence[object], most: int = 3) -> str:
    """Return the first of these names, and the number of remaining ones.

    Examples
    --------
    >>> first_of(["a", "b"]), first_of(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    first = ", ".join(map(str, names[:most]))
    return f"{first} and {len(names) - most:,} more" if len(names) > most else first


def printable(text: str) -> str:
    r"""Return a text without characters that control a terminal.

    Examples
    --------
    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _shorten(text: str, limit: int = 240) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
