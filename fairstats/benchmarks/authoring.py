"""Help the author of a benchmark file: propose one from answers, and summarise or locate faults."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.formatting import capital, counted
from fairstats._lib.problems import InputError, Problem, first_of
from fairstats._lib.safe_names import slug
from fairstats._lib.toml_files import read_toml
from fairstats._lib.untrusted_files import read_text
from fairstats.benchmarks.benchmark_files import item_lines, toml_text, toml_value
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, POOLED, Benchmark
from fairstats.benchmarks.loading import builtin_benchmarks

#: The mark of a line that needs a person's decision.
DECIDE = "DECIDE"
#: Above these limits, a column holds something other than groups, attributes or versions.
MOST_GROUPS = 60
MOST_ATTRIBUTES = 60
MOST_VERSIONS = 60

_TABLE = re.compile(r"\s*\[([^\[\]]+)\]\s*(#.*)?")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*[A-Za-z0-9_-]+)*)\s*=""")
_LONG_TEXTS = ('"""', "'''")
_FAMILY = {
    "model": "those of one model and prompt",
    "board": "those of a board (version and prompt)",
    "release": "those of a release",
}

_HEAD = """\
# Proposed by `fairstats benchmark init` from answers. Check every line. Lines with the mark
# {decide} need your decision: correct the value below, then delete the mark.
# `fairstats benchmark check` lists the remaining marks."""

_PAIRS = """\
# {decide}: the compared pairs. Differences are first minus second, so the first group of a pair is
# the reference, e.g. the privileged group. Proposed: the first group in the answers with each
# other one ({proposed} of {possible} possible pairs). More pairs mean larger adjusted p-values."""


def propose_benchmark(
    answers: pd.DataFrame, *, stem: str | None = None, source: str = "<frame>"
) -> dict[str, str]:
    """Propose the files of a benchmark from answers to it.

    Parameters
    ----------
    answers : pandas.DataFrame
        Answers of one benchmark that follow the schema, as returned by `fairstats.read_answers`.
    stem : str, optional
        The files' name without suffix; by default that of the benchmark.
    source : str
        The name of the answers' file, for problems.

    Returns
    -------
    dict of str
        The text of each file by its name: the answer keys, and last the declaration (TOML).

    Raises
    ------
    InputError
        If the answers are of several benchmarks or a built-in one, an item has two answer keys, an
        attribute has a single group, or there are more groups than a person could declare.

    Examples
    --------
    >>> rows = [{"benchmark": "b", "benchmark_version": "1", "item_id": "q1", "attribute": "age",
    ...          "group": group, "answer": "A", "answer_key": "B"} for group in ("young", "old")]
    >>> files = propose_benchmark(pd.DataFrame(rows))
    >>> list(files)
    ['b.keys.jsonl', 'b.toml']
    >>> '["young", "old"]' in files["b.toml"]
    True
    """
    if problems := list(_problems(answers, source)):
        raise InputError(problems)
    name = str(answers["benchmark"].iloc[0])
    stem = stem or slug(name)
    keys = answers[["item_id", "answer_key"]].drop_duplicates().sort_values("item_id")
    keys_file = f"{stem}.keys.jsonl"
    parts = [
        _HEAD.format(decide=DECIDE),
        *_entries(answers, name, keys_file),
        *_tables(answers),
        *(_attribute(attribute, rows) for attribute, rows in _by_attribute(answers)),
    ]
    texts = {str(column): keys[column].astype(str).tolist() for column in keys}
    rows = [dict(zip(texts, row, strict=True)) for row in zip(*texts.values(), strict=True)]
    return {keys_file: item_lines(rows), f"{stem}.toml": "\n\n".join(parts) + "\n"}


def _by_attribute(answers: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    return [(str(n), rows) for n, rows in answers.groupby("attribute", sort=False)]


def _problems(answers: pd.DataFrame, source: str) -> Iterator[Problem]:
    def problem(message: str, remedy: str, column: str, value: str | None = None) -> Problem:
        return Problem(source, message, remedy, column=column, value=value)

    names = answers["benchmark"].unique().tolist()
    if len(names) != 1:
        remedy = "give the answers of one benchmark"
        yield problem(f"has {len(names)} benchmarks: {first_of(names)}", remedy, "benchmark")
    elif names[0] in builtin_benchmarks():
        remedy = "use the built-in file, or rename the benchmark in the answers"
        yield problem("is a built-in benchmark", remedy, "benchmark", names[0])
    for column, most in (("attribute", MOST_ATTRIBUTES), ("benchmark_version", MOST_VERSIONS)):
        if (count := answers[column].nunique()) > most:
            remedy = f"use at most {most}; check that the column is the right one"
            yield problem(f"has {count:,} different values", remedy, column)
            return
    keys = answers[["item_id", "answer_key"]].drop_duplicates()
    for item in keys.loc[keys["item_id"].duplicated(), "item_id"].unique()[:20]:
        found = sorted(keys.loc[keys["item_id"] == item, "answer_key"])
        remedy = "correct the keys, or give different questions different item ids"
        yield problem(f"has several answer keys: {', '.join(found)}", remedy, "item_id", str(item))
    varied = [name for name in answers["attribute"].unique() if name != BASELINE]
    if not varied:
        remedy = "add the answers for the attribute that is varied"
        yield problem("has only the baseline", remedy, "attribute")
    if POOLED in varied:
        remedy = "use another name"
        yield problem("is reserved for all attributes together", remedy, "attribute", POOLED)
    for name, rows in _by_attribute(answers):
        count = rows["group"].nunique()
        if count > MOST_GROUPS:
            remedy = f"use at most {MOST_GROUPS}; check that the column holds the patients' groups"
            yield problem(f"attribute {name} has {count:,} different groups", remedy, "group")
        elif count < 2 and name != BASELINE:
            remedy = "add the answers for the other groups, or remove these"
            yield problem(
                f"attribute {name} has a single group", remedy, "group", rows["group"].iloc[0]
            )
        elif name == BASELINE and (others := set(rows["group"]) - {"original", NEUTRALIZED}):
            remedy = f"use original and {NEUTRALIZED}, or another name for the attribute"
            yield problem("is not a variant of the baseline", remedy, "group", min(others))


def _entries(answers: pd.DataFrame, name: str, keys_file: str) -> Iterator[str]:
    items, missing = answers["item_id"].nunique(), int(answers["answer"].isna().sum())
    found = answers["answer_key"].value_counts().add(answers["answer"].value_counts(), fill_value=0)
    last = max(found.index)
    options = [chr(code) for code in range(ord("A"), ord(last) + 1)]
    unseen = [letter for letter in options if letter not in found.index]
    about = f"The option letters, up to {last}, the last one in the answers and keys."
    if unseen:
        about += f" Not in any answer or key: {', '.join(unseen)}."
    yield _entry("The name in the answers' column benchmark.", name=name)
    yield _entry(f"{DECIDE}: the title on pages.", title=name)
    yield _entry(
        f"{DECIDE}: one or two sentences for readers.", description=f"{items:,} items of {name}."
    )
    yield _entry(about, options=options)
    yield _entry("The key of each item, from the answers' column answer_key.", keys_file=keys_file)
    yield _entry(
        "How missing answers count: available, complete, incorrect or bounds.\n"
        f"{missing:,} of {len(answers):,} answers are missing.",
        missing="available",
    )
    yield _entry(
        f"{DECIDE}: the equivalence margin. An accuracy difference within ± this counts as\n"
        "equivalent (0.02: 2 percentage points). Choose it before you look at results.",
        equivalence_margin=0.02,
    )
    yield _entry(f"{DECIDE}: where the items come from, e.g. a URL.", sources=[])
    yield _entry(f"{DECIDE}: the licence of the items.", licence="Not stated")
    yield _entry(f"{DECIDE}: how to cite the items.", citation="Not stated")
    yield _entry("Tests that are adjusted together: model, board or release.", family="board")
    yield _entry(
        f"{DECIDE}: true if the text for the first group of each pair was written to help,\n"
        "and that for the second to mislead, a model.",
        slanted=False,
    )
    yield _entry(
        f'{DECIDE}: words for the two groups of every pair, e.g. ["privileged", "unprivileged"].',
        pair_terms=["first", "second"],
    )
    yield _entry(
        f"{DECIDE}: what the results cannot show. The first note is shown above them.", notes=[]
    )


def _tables(answers: pd.DataFrame) -> Iterator[str]:
    versions = sorted(map(str, answers["benchmark_version"].unique()))
    yield _entry(
        f"{DECIDE}: each version in the answers' column benchmark_version, with a description.",
        versions={version: f"vignettes of version {version}" for version in versions},
    )
    yield _entry(
        f"{DECIDE}: models that took part in writing or selecting the items, each with its role.\n"
        'They get no verdict and no rank. For example: "Model 1" = "wrote the variants"',
        selected_on={},
    )


def _attribute(name: str, rows: pd.DataFrame) -> str:
    groups = list(map(str, rows["group"].unique()))
    if name == BASELINE:
        groups = ["original", NEUTRALIZED]
    first, *others = groups
    # One pair per line: all pairs on a line would be too long to read.
    pairs = [f"  {toml_value([first, other])}," for other in others]
    possible = len(groups) * (len(groups) - 1) // 2
    about = _PAIRS.format(decide=DECIDE, proposed=len(pairs), possible=possible)
    return "\n".join(
        [
            _comment(f"{DECIDE}: the attribute's name for readers."),
            toml_text({"attributes": {name: {"label": _label(name)}}}).strip("\n"),
            *([] if name == BASELINE else [about]),
            "pairs = [",
            *pairs,
            "]",
            "",
            _comment(f"{DECIDE}: the groups' names for readers."),
            toml_text(
                {"attributes": {name: {"groups": {group: _label(group) for group in groups}}}}
            ).strip("\n"),
        ]
    )


def _label(name: str) -> str:
    """Return a name for readers, e.g. ``"High income"`` for ``"high_income"``."""
    return capital(name.replace("_", " ").strip() or name)


def _entry(about: str, **value: Any) -> str:
    return f"{_comment(about)}\n{toml_text(value).strip()}"


def _comment(text: str) -> str:
    return "\n".join(f"# {line}" for line in text.split("\n"))


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
