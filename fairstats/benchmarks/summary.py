"""Summarise a benchmark file for its author: what it declares, and what it leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairstats._lib.formatting import counted
from fairstats._lib.problems import InputError, Problem, first_of
from fairstats._lib.toml_files import read_toml
from fairstats._lib.untrusted_files import read_text
from fairstats.benchmarks.benchmark_files import toml_value
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.proposal import DECIDE
from fairstats.benchmarks.terms import BASELINE

_TABLE = re.compile(r"\s*\[([^\[\]]+)\]\s*(#.*)?")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*[A-Za-z0-9_-]+)*)\s*=""")
_LONG_TEXTS = ('"""', "'''")


def summary(benchmark: Benchmark) -> Iterator[str]:
    """Return lines on what a benchmark declares, and on what it leaves out.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> print(*list(summary(load_benchmark("demo")))[1:3], sep="\\n")
    demo: 24 items, 4 options, 1 version, missing answers: available, margin ±5 points
    attribute race: 2 groups, 1 pair: white − black
    """
    yield f"{benchmark.path}: ok"
    yield (
        f"{benchmark.name}: {counted(len(benchmark.answer_keys), 'item')}, "
        f"{counted(len(benchmark.options), 'option')}, "
        f"{counted(len(benchmark.versions), 'version')}, missing answers: {benchmark.missing}, "
        f"margin ±{100 * benchmark.equivalence_margin:g} points"
    )
    for attribute in benchmark.varied:
        pairs = first_of([" − ".join(pair) for pair in attribute.pairs])
        groups = len(attribute.groups)
        possible = groups * (groups - 1) // 2
        of = f" of {possible} possible" if possible > len(attribute.pairs) else ""
        declared = counted(len(attribute.pairs), "pair")
        yield f"attribute {attribute.name}: {groups} groups, {declared}{of}: {pairs}"
    compared = sum(len(attribute.pairs) for attribute in benchmark.varied)
    family = _FAMILY[benchmark.family]
    comparisons = counted(compared, "comparison")
    yield f"{comparisons} per model and prompt; tests adjusted together: {family}"
    yield from _left_out(benchmark)
    marked = [number for number, line in _lines(benchmark.path) if f"# {DECIDE}:" in line]
    if marked:
        yield f"still marked {DECIDE}: see lines {', '.join(map(str, marked))}"


_FAMILY = {
    "model": "those of one model and prompt",
    "board": "those of a board (version and prompt)",
    "release": "those of a release",
}


def _left_out(benchmark: Benchmark) -> Iterator[str]:
    if not benchmark.selected_on:
        yield "not declared: selected_on (models that took part in selecting the items)"
    if benchmark.same_variants_odds_ratio is None:
        yield "not declared: same_variants_odds_ratio, so shared flips get no verdict"
    if BASELINE not in benchmark.attributes:
        yield "not declared: attributes.baseline, so there is no EO and no accuracy in the original"
    if benchmark.items_file is None:
        yield "not declared: items_file, so `fairstats collect` cannot ask the items"
    if not benchmark.notes:
        yield "not declared: notes (what the results cannot show)"


def located(problems: Sequence[Problem], path: Path) -> list[Problem]:
    """Return problems of a benchmark file with the line of each key, and its value.

    Parameters
    ----------
    problems : sequence of Problem
        The problems that `load_benchmark` raised.
    path : Path
        The file.
    """
    try:
        declared, lines = read_toml(path), _key_lines(path)
    except InputError:
        return list(problems)
    return [
        _located(problem, declared, lines) if problem.path == str(path) else problem
        for problem in problems
    ]


def _located(problem: Problem, declared: Mapping[str, Any], lines: Mapping[str, int]) -> Problem:
    key = problem.column or ""
    # A missing key belongs to its table.
    line = lines.get(key) or lines.get(key.rpartition(".")[0])
    value = _value(declared, key)
    path = f"{problem.path}: line {line}" if line else problem.path
    shown = problem.value if value is None or problem.value is not None else toml_value(value)
    return replace(problem, path=path, value=shown)


def _value(declared: Any, key: str) -> Any:
    for part in key.split("."):
        if not isinstance(declared, dict) or part not in declared:
            return None
        declared = declared[part]
    return None if isinstance(declared, dict) else declared


def _key_lines(path: Path) -> dict[str, int]:
    """Return the first line of each table and key, by dotted name."""
    found: dict[str, int] = {}
    table, inside = "", False
    for number, line in _lines(path):
        if not inside:
            if named := _TABLE.fullmatch(line):
                table = _plain(named[1])
                found.setdefault(table, number)
            elif key := _KEY.match(line):
                found.setdefault(".".join(filter(None, (table, _plain(key[1])))), number)
        inside ^= sum(line.count(mark) for mark in _LONG_TEXTS) % 2 == 1
    return found


def _plain(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))


def _lines(path: Path) -> list[tuple[int, str]]:
    return list(enumerate(read_text(path).split("\n"), start=1))
