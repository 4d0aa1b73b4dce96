"""Answers beyond memory: sorted and checked in parts, and stored as the parts of a release.

One pass over the sorted answers writes the parts, counts what the manifest states, and computes the
hash that the same answers in memory would have. Everything else is counted in DuckDB, from the
parts themselves: a release is computed from what it holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from fairstats._lib.paths import Paths
from fairstats._lib.problems import InputError, Problem, refuse
from fairstats._lib.processes import give_memory_back
from fairstats._lib.table_text import hash_rows
from fairstats.answers import MEMORY_LIMIT
from fairstats.answers.benchmark_checks import (
    needed_variants,
    part_problems,
    same_looking_problems,
)
from fairstats.answers.engine_frames import UNIT_COLUMNS, batches, count_rows, distinct
from fairstats.answers.engines import READ_COLUMNS, engine_problems, file_columns, scan_answers
from fairstats.answers.files import answer_files, write_parquet
from fairstats.answers.schema import ANSWERS, KEY_COLUMNS
from fairstats.answers.schema_checks import check_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmarks

#: Rows of a part, which is read into memory; an item's answers are in one part.
PART_ROWS = 250_000


#: What identifies an answer set in the manifest.
SUMMARY_KEYS = ("benchmark", "benchmark_version", "model", "snapshot", "strategy", "collector")


@dataclass(frozen=True, eq=False)
class StoredAnswers:
    """Answers that are not in memory.

    Attributes
    ----------
    folder : Path
        The folder of the parts.
    frame : duckdb.DuckDBPyRelation
        The answers, read from the parts at each use.
    sha256 : str
        The hash of the table as CSV.
    summary : pandas.DataFrame
        The counts of each answer set, see `summary_of`.
    benchmarks : mapping of str to Benchmark
        The benchmarks of the answers.
    """

    folder: Path
    frame: Any
    sha256: str
    summary: pd.DataFrame
    benchmarks: Mapping[str, Benchmark]

    def __len__(self) -> int:
        return int(self.summary["answers"].sum())

    @property
    def units(self) -> pd.DataFrame:
        """Return `UNIT_COLUMNS` of each answer set."""
        return self.summary[list(UNIT_COLUMNS)].drop_duplicates(ignore_index=True)


def store_answers(
    source: Paths,
    folder: Path,
    *,
    benchmarks: Mapping[str, Benchmark],
    memory_limit: str = MEMORY_LIMIT,
) -> StoredAnswers:
    """Sort, check and store answers as parts.

    The folder must be empty; `source` is as for `fairstats.answers.engines.scan_answers`, and
    `benchmarks` are those that are not built in.

    Raises
    ------
    InputError
        As `fairstats.read_answers` and `fairstats.answers.benchmark_checks.read_valid`; of rows
        with a problem, those of the first part that has one. Also if a file has a column that
        engines do not read.
    """
    files = answer_files(source)
    refuse_unread(files)
    with engine_problems("duckdb"):
        given = scan_answers(files, memory_limit=memory_limit)
        names = [name for name in ANSWERS.columns if name in given.columns]
        names_of = distinct(nw.from_native(given).lazy(), ["benchmark"])["benchmark"]
        known = load_benchmarks(sorted(names_of), benchmarks)
        order = ", ".join(f'"{name}"' for name in KEY_COLUMNS)
        rows = given.project(", ".join(f'"{name}"' for name in names)).order(order)
        sha256, summaries = hashlib.sha256(), []
        path = ", ".join(str(file) for file in files[:3]) + (" ..." if len(files) > 3 else "")
        for number, part in enumerate(_parts(rows)):
            checked = _checked(part, known, path)
            hash_rows(sha256, checked, header=number == 0)
            summaries.append(summary_of(checked))
            write_parquet(checked, folder / f"{number:05}.parquet")
        frame = scan_answers(folder, memory_limit=memory_limit)
        summary = _added_up(summaries)
        units = summary[list(UNIT_COLUMNS)].drop_duplicates()
        problems = same_looking_problems(units.assign(_path=path))
        refuse([*problems, *_incomplete(frame, known, path)])
    give_memory_back()
    return StoredAnswers(folder, frame, sha256.hexdigest(), summary, known)


def refuse_unread(files: Iterable[Path]) -> None:
    """Refuse columns that would silently not be in the release, and what is no parquet file."""
    problems = []
    for path in files:
        for name in file_columns(path):
            if name in ANSWERS.columns and name not in READ_COLUMNS:
                message = "is not read by an engine, so the release would not have it"
                remedy = f"remove it (an engine reads {', '.join(READ_COLUMNS)})"
                problems.append(Problem(str(path), message, remedy, column=name))
    refuse(problems)


def _parts(rows: Any) -> Iterator[pd.DataFrame]:
    """Yield sorted rows in parts that end with an item, always the same ones."""
    waiting = pd.DataFrame()
    for batch in batches(nw.from_native(rows).lazy(), PART_ROWS // 5):
        waiting = pd.concat([waiting, batch], ignore_index=True)
        while len(waiting) > PART_ROWS:
            end = _last_start(waiting.iloc[: PART_ROWS + 1])
            yield waiting.iloc[:end].reset_index(drop=True)
            waiting = waiting.iloc[end:]
    if len(waiting):
        yield waiting.reset_index(drop=True)


def _last_start(rows: pd.DataFrame) -> int:
    """Return the place of the first row of the last item; all of it if there is only one."""
    keys = rows[[*UNIT_COLUMNS, "item_id"]]
    other = (keys != keys.iloc[-1]).any(axis=1).to_numpy()
    return int(np.flatnonzero(other)[-1]) + 1 if other.any() else len(rows)


def _checked(part: pd.DataFrame, known: Mapping[str, Benchmark], path: str) -> pd.DataFrame:
    """Return a part with the schema's types; its numbers of rows are not those of a file."""
    try:
        checked = check_answers(part, path=path)
    except InputError as error:
        raise InputError([replace(problem, row=None) for problem in error.problems]) from None
    problems = part_problems(checked, path=path, known=known)
    refuse(dict.fromkeys(replace(one, row=None) for one in problems))
    return checked


def _incomplete(frame: Any, known: Mapping[str, Benchmark], path: str) -> Iterator[Problem]:
    """Report answer sets with variants that lack a row; the answers are otherwise valid."""
    unit = [*UNIT_COLUMNS, "sample"]
    opened = nw.from_native(frame).lazy()
    counts = count_rows(opened, [*unit, "attribute", "group"])
    unlisted = any(not one.items for one in known.values())
    found = (
        opened.group_by(*unit).agg(items=nw.col("item_id").n_unique()).collect().to_pandas()
        if unlisted
        else None
    )
    for key, rows in counts.groupby(unit):
        benchmark = known[str(key[0])]
        variants = needed_variants(benchmark, rows)
        items = len(benchmark.items)
        if not items and found is not None:
            own = (found[unit] == list(key)).all(axis=1)
            items = int(found.loc[own, "items"].iloc[0])
        lacking = items * len(variants) - int(rows["rows"].sum())
        if lacking:
            where = ", ".join(f"{name}={value}" for name, value in zip(unit, key, strict=True))
            message = f"{lacking:,} of {items * len(variants):,} variants have no row ({where})"
            remedy = (
                "collect the rest; an answer that cannot be obtained needs a row with its status"
            )
            yield Problem(path, message, remedy, column="item_id")


def summary_of(answers: pd.DataFrame) -> pd.DataFrame:
    """Count the answers and missing answers of each answer set, by snapshot and collector.

    ``set_items`` are the items of the whole answer set: its samples, or its corrected answers, can
    have another snapshot or collector.
    """
    optional = {c: answers.get(c) for c in ("snapshot", "collector")}
    whole = answers.groupby(list(UNIT_COLUMNS))["item_id"].transform("nunique")
    reasons = {"refused": answers["status"] == "refused", "failed": answers["status"] == "error"}
    missing = answers["answer"].isna()
    frame = answers.assign(**optional, missing=missing, set_items=whole, **reasons)
    return frame.groupby(list(SUMMARY_KEYS), as_index=False, dropna=False).agg(
        items=("item_id", "nunique"),
        set_items=("set_items", "first"),
        answers=("status", "size"),
        missing=("missing", "sum"),
        refused=("refused", "sum"),
        failed=("failed", "sum"),
    )


def _added_up(summaries: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Add up the summaries of parts, of which no two have the same item of an answer set."""
    unit = list(UNIT_COLUMNS)
    each = pd.concat([one.drop_duplicates(unit) for one in summaries])
    every = pd.concat(summaries).groupby(list(SUMMARY_KEYS), as_index=False, dropna=False).sum()
    # A part may lack some of a set's snapshots.
    whole = each.groupby(unit)["set_items"].sum().loc[pd.MultiIndex.from_frame(every[unit])]
    return every.assign(set_items=whole.to_numpy())
