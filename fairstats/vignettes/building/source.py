"""Read the exam questions from which a benchmark is built."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.untrusted_json import read_json_lines
from fairstats.benchmarks.declaration import BASELINE, Attribute
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import Item, load_items
from fairstats.vignettes.rules.groups import ORIGINAL


def read_source(path: Path) -> list[Item]:
    """Read the questions, each with its text as the only variant, ``original``.

    Parameters
    ----------
    path : Path
        JSON Lines with ``item_id``, ``options``, ``answer_key``, and the text as ``question`` or as
        ``variants.original``; other fields are ignored.

    Returns
    -------
    list of Item
        In the order of the file; all have the same option letters as the first.

    Raises
    ------
    InputError
        If there is no such file, or an item cannot be used in a prompt. Each error is named.
    """
    if not path.is_file():
        raise InputError([Problem(str(path), "no such file", "check `items` in the build's file")])
    rows = read_json_lines(path)
    options = rows[0].get("options") if rows else None
    labels = MappingProxyType({ORIGINAL: "Original"})
    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder, "items.jsonl")
        lines = [json.dumps({**row, "variants": {ORIGINAL: _text(row)}}) + "\n" for row in rows]
        trial.write_text("".join(lines), encoding="utf-8")
        # Any benchmark will do: only the letters and the text are checked.
        benchmark = replace(
            load_benchmark("demo"),
            options=tuple(options) if isinstance(options, Mapping) else (),
            attributes=MappingProxyType({BASELINE: Attribute(BASELINE, "Baseline", labels, ())}),
            items_file=trial,
        )
        try:
            return load_items(benchmark)
        except InputError as error:
            problems = [replace(problem, path=str(path)) for problem in error.problems]
    raise InputError([_in_words_of_the_file(problem) for problem in problems])


def _text(row: Mapping[str, Any]) -> Any:
    variants = row.get("variants")
    text = variants.get(ORIGINAL) if isinstance(variants, Mapping) else None
    return row.get("question", text)


def _in_words_of_the_file(problem: Problem) -> Problem:
    if problem.column != f"variants.{ORIGINAL}":
        return problem
    message = "no text, neither here nor in variants.original"
    return replace(problem, column="question", message=message)
