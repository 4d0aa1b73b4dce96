"""Messages of the API name parameters; those of a command name its options instead."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
import typer

from fairstats._lib.problems import ArgumentError, keyword, parameter, wrong
from fairstats.commands._options import Benchmarks, TableOptions
from fairstats.commands._shared import says_what_is_wrong

File = Annotated[Path | None, typer.Option("--from")]
Pages = Annotated[bool, typer.Option("--pages/--no-pages")]
MemoryLimit = Annotated[str | None, typer.Option(help="Any.")]


def in_command(name, value):
    """Return a parameter and its value as a command names them."""

    @says_what_is_wrong
    def command(
        *,
        table: TableOptions,
        release: Annotated[Path | None, typer.Argument()] = None,
        source: File = None,
        pages: Pages = True,
        memory_limit: MemoryLimit = None,
        benchmark: Benchmarks = None,
    ) -> tuple[str, str]:
        return parameter(name), keyword(name, value)

    return command()


def test_parameter_is_named_by_its_option_in_a_command():
    names = ("source", "pages", "attributes", "benchmarks")
    named = [in_command(name, ...)[0] for name in names]
    assert named == ["--from", "--pages", "attributes", "--benchmark"]


@pytest.mark.parametrize(
    ("name", "value", "in_api", "option"),
    [
        ("source", ..., "source=...", "--from"),
        ("pages", True, "pages=True", "--pages"),
        ("pages", False, "pages=False", "--no-pages"),
        ("memory_limit", "1 GB", "memory_limit='1 GB'", "--memory-limit '1 GB'"),
        ("columns", {"group": ...}, "columns={'group': ...}", "--map group"),
        ("columns", {"a": "b", "c": "d"}, "columns={'a': 'b', 'c': 'd'}", "--map a=b --map c=d"),
        ("values", {"a": {"b": "c"}}, "values={'a': {'b': 'c'}}", "--values a:b=c"),
        ("benchmarks", ..., "benchmarks=...", "--benchmark"),
        ("release", "1", "release='1'", None),
        ("other", ..., "other=...", None),
    ],
)
def test_keyword_is_an_option_in_a_command_that_has_it(name, value, in_api, option):
    assert (parameter(name), keyword(name, value)) == (name, in_api)
    assert in_command(name, value)[1] == (option or in_api)
    assert keyword(name, value) == in_api


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (lambda: wrong("source", "is missing", "give one"), "--from: is missing; give one"),
        (lambda: wrong("source", "is odd", "change it", value=3), "--from 3: is odd; change it"),
        (lambda: ArgumentError("source", "[1]=3 must be 2"), "--from[1]=3 must be 2"),
    ],
)
def test_error_of_a_command_names_the_option(capsys, error, text):
    @says_what_is_wrong
    def command(source: File = None) -> None:
        raise error()

    with pytest.raises(typer.Exit):
        command()
    assert capsys.readouterr().err == f"{text}\n"
    assert str(error()).startswith("source")
