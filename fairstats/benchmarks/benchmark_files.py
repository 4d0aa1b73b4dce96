"""Write and copy the files of a benchmark: its declaration, its keys and its items."""

from __future__ import annotations

import csv
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from fairstats._lib.atomic_files import whole_file
from fairstats._lib.problems import InputError, Problem, refuse, wrong
from fairstats._lib.safe_names import slug
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.benchmarks.loading import builtin_benchmarks, load_benchmark
from fairstats.benchmarks.vignette_items import load_items

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def check_name(name: str) -> None:
    """Raise `InputError` for a name that a new benchmark and its files cannot have."""
    if not _NAME.fullmatch(name):
        remedy = "use up to 60 letters, digits, dots, hyphens and underscores"
        raise wrong("name", "is not a valid file name", remedy, value=name)
    if name in builtin_benchmarks():
        raise wrong("name", "is a built-in benchmark", "use another name", value=name)


def attribute_table(attribute: Attribute) -> dict[str, Any]:
    """Return an attribute in the form of a benchmark's file."""
    table: dict[str, Any] = {
        "label": attribute.label,
        "groups": dict(attribute.groups),
        "pairs": [list(pair) for pair in attribute.pairs],
    }
    if attribute.control:
        table["control"] = True
    if attribute.crosses:
        levels = {group: list(level) for group, level in attribute.levels.items()}
        table |= {"crosses": list(attribute.crosses), "levels": levels}
    return table


def item_lines(items: Iterable[Mapping[str, Any]]) -> str:
    """Return items as JSON Lines."""
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)


def toml_text(values: Mapping[str, Any]) -> str:
    """Return texts, numbers, dates, lists of texts and tables of these as TOML.

    Examples
    --------
    >>> print(toml_text({"name": "a", "versions": {"1": 'the "first"'}}), end="")
    name = "a"
    <BLANKLINE>
    [versions]
    1 = "the \\"first\\""
    """
    return "\n".join(_toml_lines(values, ())) + "\n"


def _toml_lines(values: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    tables = {key: value for key, value in values.items() if isinstance(value, Mapping)}
    plain = {key: value for key, value in values.items() if key not in tables}
    if path and (plain or not tables):
        yield ""
        yield f"[{'.'.join(map(_toml_key, path))}]"
    for key, value in plain.items():
        yield f"{_toml_key(key)} = {toml_value(value)}"
    for key, value in tables.items():
        yield from _toml_lines(value, (*path, key))


def _toml_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else toml_value(key)


def toml_value(value: object) -> str:
    """Return a text, number, date or list of texts as TOML.

    Examples
    --------
    >>> print(toml_value(["a", 'the "first"']))
    ["a", "the \\"first\\""]
    """
    if isinstance(value, date):
        return value.isoformat()
    # A JSON text, list or number is valid TOML, except for one control character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def write_benchmark(
    folder: Path, contents: Mapping[str, str], *, source: Path, items: bool = True
) -> Path:
    """Write all of a benchmark's files or none, if they can be loaded.

    `contents` has each file's text by name, with the declaration (``.toml``) last. With
    `items`, `fairstats collect` must be able to use the items in prompts. Problems name the
    `source`.

    Raises
    ------
    InputError
        If the benchmark cannot be loaded or used, or a different file of that name exists.
    """
    *_, declaration = contents
    with tempfile.TemporaryDirectory() as trial:
        for name, text in contents.items():
            _write(Path(trial, name), text)
        try:
            benchmark = load_benchmark(Path(trial, declaration))
            if items:
                load_items(benchmark)
        except InputError as error:
            raise InputError([replace(p, path=str(source)) for p in error.problems]) from None
    message, remedy = "already exists with different content", "remove it, or choose another name"
    # Never change items that may already have been used in prompts.
    refuse(
        Problem(str(folder / name), message, remedy)
        for name, text in contents.items()
        if (folder / name).exists() and (folder / name).read_bytes() != text.encode()
    )
    with ExitStack() as written:
        # The files replace earlier ones in the order opposite to this: the declaration last.
        for name in reversed(list(contents)):
            _write(written.enter_context(whole_file(folder / name)), contents[name])
    return folder / declaration


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def copy_benchmarks(benchmarks: Mapping[str, Benchmark], folder: Path) -> None:
    """Copy the benchmark files with their keys, so that the release can be recomputed from them."""
    folder.mkdir()
    for name, benchmark in benchmarks.items():
        text = benchmark.path.read_text(encoding="utf-8")
        text = _NAMED_FILES.sub("", text)
        if benchmark.items:
            keys = f"{slug(name)}.keys.csv"
            with (folder / keys).open("w", encoding="utf-8", newline="") as file:
                rows = csv.writer(file, lineterminator="\n")
                columns = {"answer_key": benchmark.answer_keys} if benchmark.has_key else {}
                if benchmark.clusters:
                    columns[str(benchmark.cluster)] = benchmark.clusters
                rows.writerow(["item_id", *columns])
                for item in benchmark.items:
                    rows.writerow([item, *(known.get(item, "") for known in columns.values())])
            text = f'keys_file = "{keys}"\n{text}'
        if benchmark.publish_items and benchmark.items_file is not None:
            items = f"{slug(name)}.items.jsonl"
            shutil.copyfile(benchmark.items_file, folder / items)
            text = f'items_file = "{items}"\n{text}'
        copy = folder / f"{slug(name)}.toml"
        copy.write_text(text, encoding="utf-8")
        copied = load_benchmark(copy, confined=True)
        if _of_items(copied) != _of_items(benchmark):
            raise RuntimeError(f"{copy.name} does not match the benchmark it was copied from")


_NAMED_FILES = re.compile(r"""^["']?(?:items_file|keys_file)["']?\s*=.*(?:\n|\Z)""", re.MULTILINE)


def _of_items(benchmark: Benchmark) -> tuple[object, ...]:
    return benchmark.items, benchmark.answer_keys, benchmark.clusters
