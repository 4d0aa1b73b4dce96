"""Complete a table that has some columns of the answers table, to propose a benchmark from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from fairstats._lib.problems import InputError, Problem, input_error, keyword, refuse, wrong
from fairstats.answers.schema import ANSWER_LENGTH, ANSWERS, KEY_COLUMNS
from fairstats.answers.schema_checks import check_answers
from fairstats.benchmarks.answer_columns import ATTRIBUTES, baseline_variants, plain
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, ORIGINAL

_NEEDED = ("item_id", "group")


def complete_answers(
    table: pd.DataFrame,
    *,
    benchmark: str | None,
    attribute: str,
    source: str,
    crossed: bool = False,
) -> pd.DataFrame:
    """Return a table with the columns of the answers table that do not describe the benchmark.

    Parameters
    ----------
    table : pandas.DataFrame
        At least the columns ``item_id`` and ``group``. A row that has a group but no attribute,
        although others have one, is an answer for every attribute. The index has the rows of the
        file, for problems.
    benchmark : str, optional
        The benchmark, if the table has no such column.
    attribute : str
        The attribute, if the table has no such column.
    source : str
        The name of the table's file, for problems.
    crossed : bool
        Whether the attribute crosses two others. If it does, or groups are of people, the groups
        `original` and `neutralized` are variants of the baseline.

    Returns
    -------
    pandas.DataFrame
        Checked answers, with the table's other columns. Answers that are too long for an option are
        missing.

    Raises
    ------
    InputError
        If a needed column or the benchmark is missing, or a value violates the schema.
    """
    found = ", ".join(map(str, table.columns[:8])) or "none"
    refuse(
        Problem(
            source,
            "required column is missing",
            f"use {keyword('columns', {column: 'FIELD'})}; the columns are {found}",
            column=column,
        )
        for column in _NEEDED
        if column not in table
    )
    if "benchmark" not in table and benchmark is None:
        message, remedy = "is not in the table", f"add it, or give {keyword('benchmark')}"
        raise input_error(source, message, remedy, column="benchmark")
    defaults = {
        "benchmark": benchmark,
        "benchmark_version": "1",
        "model": "model",
        "strategy": "plain",
        "attribute": _attributes(table["group"], attribute, crossed),
    }
    table = table.assign(**{k: v for k, v in defaults.items() if k not in table})
    table = _for_every_attribute(table)
    rows, table = table.index, table.reset_index(drop=True)
    answer = table["answer"] if "answer" in table else pd.Series(None, table.index, dtype=object)
    table["answer"] = answer.map(_short)
    table["status"] = table["answer"].notna().map({True: "ok", False: "unparsed"})
    keys = [column for column in KEY_COLUMNS if column != "sample"]
    # Repeats are numbered: whether they are duplicates is not decided here.
    table["sample"] = table.astype(dict.fromkeys(keys, str)).groupby(keys, dropna=False).cumcount()
    kept = [*KEY_COLUMNS, "answer", "status", *({"answer_key", "cluster"} & set(table))]
    try:
        checked = check_answers(table[kept], path=source)
    except InputError as error:
        raise InputError([_in_file(one, rows) for one in error.problems]) from None
    return checked.assign(**{c: table[c] for c in table if c not in ANSWERS.columns})


def _attributes(groups: pd.Series, attribute: str, crossed: bool) -> pd.Series:
    """Return the attribute of each group, which is the baseline for the original of others."""
    variants = groups.isin([ORIGINAL, NEUTRALIZED])
    several = groups[~variants].nunique() > 1
    people = crossed or plain(attribute) in ATTRIBUTES
    people = people or bool(baseline_variants(groups.dropna().unique()))
    return pd.Series(attribute, groups.index).mask(variants & several & people, BASELINE)


def of_benchmark(answers: pd.DataFrame, benchmark: str | None) -> pd.DataFrame:
    """Return the answers of one benchmark, or all of them."""
    if benchmark is None:
        return answers
    kept = answers[answers["benchmark"] == benchmark]
    if kept.empty:
        names = ", ".join(sorted(answers["benchmark"].unique())[:10])
        message, remedy = "is not in the answers", f"use one of: {names}"
        raise wrong("benchmark", message, remedy, value=benchmark)
    return kept


def _in_file(problem: Problem, rows: pd.Index) -> Problem:
    return problem if problem.row is None else replace(problem, row=int(rows[problem.row - 1]))


def _for_every_attribute(table: pd.DataFrame) -> pd.DataFrame:
    """Repeat the rows without an attribute for each attribute; as references, they come first."""
    shared = table["attribute"].isna() & table["group"].notna()
    names = table.loc[~shared, "attribute"].dropna().unique()
    if not len(names):
        return table
    repeated = [table[shared].assign(attribute=name) for name in names if shared.any()]
    return pd.concat([*repeated, table[~shared]])


def _short(value: Any) -> str | None:
    text = value.strip() if isinstance(value, str) else None
    return text if text and len(text) <= ANSWER_LENGTH and text.isprintable() else None
