"""Summarise a benchmark file for its author, count open decisions, and locate its faults."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairstats._lib.formatting import counted
from fairstats._lib.problems import InputError, Problem, first_of
from fairstats._lib.toml_files import read_toml
from fairstats._lib.untrusted_files import read_text
from fairstats.benchmarks.authoring import DECIDE
from fairstats.benchmarks.benchmark_files import toml_value
from fairstats.benchmarks.declaration import (
    BASELINE,
    FEWEST_UNITS,
    FEWEST_UNLIKE,
    Benchmark,
    is_number,
    numbered,
)
from fairstats.inference.unit_means import effective_number
from fairstats.inference.verdict import rare_share

# The level of verdicts, unless the publisher chooses another one.
_LEVEL = 0.05
_TABLE = re.compile(r"\s*\[([^\[\]]+)\]\s*(#.*)?")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*[A-Za-z0-9_-]+)*)\s*=""")
_LONG_TEXTS = ('"""', "'''")
_FAMILY = {
    "model": "those of one model and prompt",
    "board": "those of a board (version and prompt)",
    "release": "those of a release",
}


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
    options = f"{counted(len(benchmark.options), 'option')}, " if benchmark.options else ""
    items = counted(len(benchmark.items), "item") if benchmark.items else "items not listed"
    yield (
        f"{benchmark.name}: {items}, {options}"
        f"{counted(len(benchmark.versions), 'version')}, missing answers: {benchmark.missing}, "
        f"margin ±{benchmark.kind.shown_margin(benchmark.equivalence_margin)}"
    )
    for attribute in benchmark.varied + benchmark.controls:
        pairs = first_of([" − ".join(pair) for pair in attribute.pairs]) or "none"
        groups = len(attribute.groups)
        possible = groups * (groups - 1) // 2
        of = f" of {possible} possible" if possible > len(attribute.pairs) else ""
        declared = counted(len(attribute.pairs), "pair")
        noun = "control" if attribute.control else "attribute"
        crossing = f" ({' × '.join(attribute.crosses)})" if attribute.crosses else ""
        yield f"{noun} {attribute.name}{crossing}: {groups} groups, {declared}{of}: {pairs}"
        if attribute.crosses and (levels := benchmark.unspelled(attribute)):
            yield f"levels of {attribute.name}: {levels}"
    compared = sum(len(attribute.pairs) for attribute in benchmark.varied)
    family = _FAMILY[benchmark.family]
    comparisons = counted(compared, "comparison")
    yield f"{comparisons} per model and prompt; tests adjusted together: {family}"
    yield from _answers_and_units(benchmark)
    yield from _thresholds(benchmark)
    yield from _left_out(benchmark)
    marked = _marked(benchmark)
    if marked:
        yield f"still marked {DECIDE}: see lines {', '.join(map(str, marked))}"


def _answers_and_units(benchmark: Benchmark) -> Iterator[str]:
    """Return lines on what an answer is, its key, and the independent units."""
    kind, named = benchmark.kind.name, [_shown(benchmark, one) for one in benchmark.options]
    if kind == "choice":
        yield f"kind choice: an answer is one of {', '.join(named)}, of which one is right"
    elif kind == "decision":
        good = ", ".join(benchmark.favourable)
        yield f"kind decision: an answer is one of {', '.join(named)}; favourable: {good}"
    else:
        low, high = (f"{end:g}" for end in benchmark.limits)
        of_words = bool(named) and not all(map(is_number, benchmark.options))
        if of_words:
            named = numbered(named)
            low, high = named[0], named[-1]
        what = f"one of {', '.join(named)}" if named else f"a number from {low} to {high}"
        more = f"; more means {benchmark.higher}" * bool(benchmark.higher)
        yield f"kind {kind}: an answer is {what}{more}"
        if of_words and len(named) > 2 and [*benchmark.options] == sorted(benchmark.options):
            yield "levels are in alphabetical order; correct options if they are not ordered so"
        end = low if benchmark.worse == "lowest" else high
        yield f"worse: {benchmark.worse}; with --missing incorrect, a missing answer is {end}"
        if kind == "score":
            near = f"answers up to {benchmark.same_within:g} apart"
            near = near if benchmark.same_within else "only equal answers"
            yield f"same_within: {near} are the same"
    keyed, items = len(benchmark.answer_keys), len(benchmark.items)
    yield f"answer keys: {f'{keyed:,} of {items:,} items' if keyed else 'none'}"
    if benchmark.cluster is None:
        yield "independent units: the items"
        yield from _smallest_margin(benchmark, items, benchmark.words.items)
    elif benchmark.clusters:
        sizes = list(Counter(benchmark.clusters.values()).values())
        units = effective_number(sizes)
        text = f"{len(sizes):,} values of {benchmark.cluster} in the file of items"
        unequal = min(sizes) < max(sizes)
        alike = f", which count as {units:.1f} of equal size" * unequal
        few = f" ({benchmark.few_clusters})" if benchmark.few_clusters else ""
        yield f"independent units: {text}{alike}{few}"
        yield from _smallest_margin(benchmark, units, benchmark.words.clusters)
    else:
        yield f"independent units: {benchmark.cluster}, from the column cluster of the answers"


def _smallest_margin(benchmark: Benchmark, units: float, noun: str) -> Iterator[str]:
    """Return a line on the margins at which even equal answers would not be called equivalent."""
    if not units:
        return
    share = math.floor(1000 * float(rare_share(units, 2 * _LEVEL))) / 1000
    limit, margin = share * benchmark.span, benchmark.equivalence_margin
    text = f"equivalence: these {noun} cannot show it at a margin of "
    text += f"±{benchmark.kind.shown_margin(limit)} or less (level {_LEVEL:.0%})"
    yield text + ", so never at the declared one" * (margin <= limit)


def _shown(benchmark: Benchmark, option: str) -> str:
    label = benchmark.labels.get(option, option)
    return option if label == option else f"{option} ({label})"


def _thresholds(benchmark: Benchmark) -> Iterator[str]:
    """Return lines on the thresholds of a rank and of equivalence, as they are in force."""
    missing, common = benchmark.largest_missing, benchmark.common_items
    yield f"largest_missing: at most {missing:.1%} of the answers of a ranked model are missing"
    yield f"common_items: at least {common:.1%} of the items were asked of all ranked models"
    if benchmark.kind.needs_key:
        least, given = benchmark.lowest_accuracy, "lowest_accuracy"
        given, least = (given, least) if least is not None else ("best guess", benchmark.chance)
        yield f"{given}: the lower limit of a ranked model's accuracy is above {least:.1%}"
        return
    rule = f"informative: for every pair of groups, at least {FEWEST_UNLIKE} items have another"
    rule += (
        " answer than the most frequent one" + " by more than the margin" * benchmark.kind.numeric
    )
    rule += ", and the groups' answers to an item agree beyond chance (Spearman, 2.5%)"
    if benchmark.same_keys:
        rule += f"; {benchmark.same_keys}"
    elif benchmark.answer_keys:
        rule += ", also with the key"
    clusters = len(set(benchmark.clusters.values()))
    if 0 < clusters < FEWEST_UNITS:
        rule += f"; no model can be: fewer than {FEWEST_UNITS} {benchmark.words.clusters}"
    yield rule


def open_decisions(benchmark: Benchmark) -> int:
    """Return how many lines of a benchmark's file are still marked `DECIDE`."""
    return len(_marked(benchmark))


def _marked(benchmark: Benchmark) -> list[int]:
    return [number for number, line in _lines(benchmark.path) if f"# {DECIDE}:" in line]


def _left_out(benchmark: Benchmark) -> Iterator[str]:
    if benchmark.kind.numeric and not benchmark.higher:
        yield f"not declared: higher (what a higher {benchmark.kind.name} means)"
    if not benchmark.selected_on:
        yield "not declared: selected_on (models that took part in selecting the items)"
    if benchmark.same_variants_odds_ratio is None:
        yield "not declared: same_variants_odds_ratio, so shared flips get no verdict"
    if BASELINE not in benchmark.attributes and benchmark.kind.needs_key:
        yield "not declared: attributes.baseline, so there is no EO and no accuracy in the original"
    if benchmark.items_file is None:
        yield (
            "not declared: items_file, so `fairstats collect` cannot ask the items, and repeated "
            "items are not found (to make one: docs/import.md, Keep the texts of the items)"
        )
    if not benchmark.notes:
        yield "not declared: notes (what the results cannot show)"


def located(problems: Sequence[Problem], path: Path) -> list[Problem]:
    """Return problems of a benchmark file with the line of each key, and its value."""
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
