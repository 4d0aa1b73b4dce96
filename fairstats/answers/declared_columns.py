"""Fill the columns of an answers table that follow from its benchmark."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats.benchmarks.declaration import Benchmark

_MOST_ROWS = 100


def with_declared_columns(table: pd.DataFrame, benchmark: Benchmark, *, path: str) -> pd.DataFrame:
    """Fill missing required columns; columns that the table has are not changed.

    Parameters
    ----------
    table : pandas.DataFrame
        A table of answers, not checked yet.
    benchmark : Benchmark
        The benchmark that its answers are for.
    path : str
        The file name used in problems.

    Returns
    -------
    pandas.DataFrame
        The table with the columns that can be filled.

    Raises
    ------
    InputError
        If a column can be filled, but not for every row: an item or a group that the benchmark does
        not have, a group of several attributes, or a benchmark of several versions.
    """
    columns: dict[str, object] = {"benchmark": benchmark.name, "strategy": "plain", "sample": 0}
    problems: list[Problem] = []
    if "benchmark_version" not in table:
        if len(benchmark.versions) > 1:
            versions = ", ".join(benchmark.versions)
            message = f"is missing, and {benchmark.name} has the versions {versions}"
            problems.append(Problem(path, message, "add it", column="benchmark_version"))
        columns["benchmark_version"] = next(iter(benchmark.versions))
    if "attribute" not in table and "group" in table:
        attributes: dict[str, list[str]] = {}
        for attribute, group in benchmark.variants:
            attributes.setdefault(group, []).append(attribute)
        known = {group: names[0] for group, names in attributes.items() if len(names) == 1}
        shared = {group: names for group, names in attributes.items() if len(names) > 1}
        columns["attribute"] = table["group"].map(known)
        for row, group in _first(table["group"], set(known)):
            if names := shared.get(group):
                message = f"is a group of {' and '.join(names)}"
                remedy = "add the column attribute"
            else:
                message = f"is no group of {benchmark.name}"
                remedy = f"use one of {', '.join(attributes)}"
            problems.append(Problem(path, message, remedy, row=row, column="group", value=group))
    if "answer_key" not in table and "item_id" in table:
        # Numbers in a CSV column of ids are read as numbers.
        items = table["item_id"].astype("str")
        columns["answer_key"] = items.map(dict(benchmark.answer_keys))
        for row, item in _first(items, set(benchmark.answer_keys)):
            message = f"is no item of {benchmark.name}, so its key is not known"
            remedy = "correct it, or add the column answer_key"
            problems.append(Problem(path, message, remedy, row=row, column="item_id", value=item))
    if "status" not in table and "answer" in table:
        columns["status"] = table["answer"].notna().map({True: "ok", False: "unparsed"})
    if problems:
        raise InputError(problems)
    return table.assign(**{name: v for name, v in columns.items() if name not in table})


def _first(values: pd.Series, known: set[str]) -> list[tuple[int, str]]:
    """Return the first row of each value that is not known, counted from 1."""
    # The schema reports empty cells.
    unknown = values[~values.isin(known)].dropna().drop_duplicates()
    rows = values.reset_index(drop=True)
    return [(int(rows.eq(v).argmax()) + 1, str(v)) for v in unknown.head(_MOST_ROWS)]
