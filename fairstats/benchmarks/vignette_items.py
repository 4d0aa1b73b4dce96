"""The items of a benchmark: clinical vignettes in all their variants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.untrusted_json import read_json_lines
from fairstats.benchmarks.declaration import Benchmark


@dataclass(frozen=True)
class Item:
    """One clinical vignette in all its variants.

    Parameters
    ----------
    item_id : str
        Its name, unique in the benchmark.
    options : Mapping[str, str]
        The text of each option by letter, in the benchmark's order.
    answer_key : str
        The letter of the correct option.
    variants : Mapping[str, str]
        The vignette as written for each group, by group name.
    """

    item_id: str
    options: Mapping[str, str]
    answer_key: str
    variants: Mapping[str, str]


def load_items(benchmark: Benchmark) -> list[Item]:
    """Read the items of a benchmark and check that every variant can be used in a prompt.

    Parameters
    ----------
    benchmark : Benchmark
        Its ``items_file`` has one JSON object per line, with ``item_id``, ``options``,
        ``answer_key`` and ``variants``; other fields are ignored.

    Returns
    -------
    list of Item
        In the order of the file.

    Raises
    ------
    InputError
        If the benchmark has no vignettes, or an item lacks the vignette of a declared group, has
        different options from the benchmark, or repeats another item's name. Its ``problems`` name
        each file, row, field and value.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> sorted(load_items(load_benchmark("demo"))[0].options)
    ['A', 'B', 'C', 'D']
    """
    if benchmark.items_file is None:
        problem = Problem(
            str(benchmark.path),
            f"{benchmark.name} is shipped without the texts of its vignettes, so models cannot "
            "be queried",
            "declare an items_file, or collect the answers elsewhere and import them",
        )
        raise InputError([problem])
    path = str(benchmark.items_file)
    if not benchmark.items_file.is_file():
        raise InputError([Problem(path, "no such file", "correct items_file")])
    rows = read_json_lines(benchmark.items_file)
    problems = [] if rows else [Problem(path, "the file contains no items", "add items to it")]
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        faults = list(_faults(row, benchmark, seen))
        problems += [
            Problem(
                path,
                message,
                remedy,
                row=number,
                column=column,
                value=None if value is None else str(value),
            )
            for column, value, message, remedy in faults
        ]
        seen.add(str(row.get("item_id")))
    if problems:
        raise InputError(problems)
    groups = [group for _, group in benchmark.variants]
    return [
        Item(
            item_id=row["item_id"],
            options=_pick(row["options"], benchmark.options),
            answer_key=row["answer_key"],
            variants=_pick(row["variants"], groups),
        )
        for row in rows
    ]


def _pick(texts: Mapping[str, str], names: Iterable[str]) -> Mapping[str, str]:
    return MappingProxyType({name: texts[name] for name in names})


def _faults(
    row: Mapping[str, Any], benchmark: Benchmark, seen: set[str]
) -> Iterator[tuple[str, Any, str, str]]:
    """Return the errors in one item: (field, value, message, remedy)."""
    item_id, options = row.get("item_id"), row.get("options")
    key, variants = row.get("answer_key"), row.get("variants")
    letters = ", ".join(benchmark.options)
    if not _is_text(item_id):
        yield "item_id", item_id, "must be text", "name the item"
    elif item_id in seen:
        yield "item_id", item_id, "another item has the same name", "give each item a unique name"

    if not isinstance(options, Mapping) or set(options) != set(benchmark.options):
        found = list(options) if isinstance(options, Mapping) else options
        yield (
            "options",
            found,
            "the letters differ from the benchmark's",
            f"give one text for each of {letters}",
        )
    else:
        for letter, text in options.items():
            if not _is_text(text):
                yield f"options.{letter}", text, "must be text", "write the text of the option"
    if key not in benchmark.options:
        yield "answer_key", key, "is not one of the option letters", f"use one of {letters}"

    if not isinstance(variants, Mapping):
        yield "variants", variants, "must contain one vignette for each group", "add them"
        return
    for attribute, group in benchmark.variants:
        if not _is_text(variants.get(group)):
            message = f"no vignette for this group of {attribute}"
            yield f"variants.{group}", variants.get(group), message, "write it"


def _is_text(value: object) -> bool:
    """Return whether this is non-empty text that UTF-8 can encode."""
    if not isinstance(value, str) or not value.strip():
        return False
    try:
        value.encode()  # JSON can escape half of a surrogate pair, which no request can send.
    except UnicodeEncodeError:
        return False
    return True
