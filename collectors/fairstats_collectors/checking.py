"""Check the inputs of a collection before any request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from fairstats._lib.arguments import path_in, wrong
from fairstats._lib.problems import InputError
from fairstats._lib.safe_names import slug
from fairstats.answers.schema_checks import check_answers
from fairstats.asking.models import Task
from fairstats.benchmarks.declaration import Benchmark


def answers_path(out: Path, facts: Mapping[str, str]) -> Path:
    """Return the file for these answers, after checking that its folder is writable.

    Raises
    ------
    InputError
        If it is not.
    """
    names = ("benchmark", "benchmark_version", "model", "strategy")
    return path_in(out, f"{'-'.join(slug(facts[name]) for name in names)}.parquet")


def check_writable(tasks: Iterable[Task], facts: Mapping[str, str]) -> None:
    """Refuse answers that could not be written, before any request."""
    rows = [
        dict(zip(("item_id", "attribute", "group", "sample"), task.slot, strict=True))
        | {"answer_key": task.prompt.item.answer_key, "answer": None, "status": "error", **facts}
        for task in tasks
    ]
    try:
        check_answers(pd.DataFrame(rows), path="collect")
    except InputError:
        # A bad name is in every row: report it only once.
        check_answers(pd.DataFrame(rows[:1]), path="collect")
        raise


def version_of(benchmark: Benchmark, version: str | None) -> str:
    """Return the version to use; by default the only one."""
    known = ", ".join(benchmark.versions)
    if version is None and len(benchmark.versions) == 1:
        return next(iter(benchmark.versions))
    if version is None or version not in benchmark.versions:
        what = f"benchmark_version = {version!r}"
        message = f"{benchmark.name} has several versions" if version is None else "unknown version"
        raise wrong(what, message, f"use one of {known}")
    return version
