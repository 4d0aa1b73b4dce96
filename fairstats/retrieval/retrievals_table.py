"""The retrievals table, the snippets found for each variant: schema, reading and writing.

One row is one snippet at one rank for one variant of one item. If a model is prompted with the
first k snippets, its strategy is ``prompt+retriever@k`` (`fairstats.answers.strategies`). A table
up to rank 20 contains the retrievals of every smaller k.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from fairstats._lib.paths import AnyPath, Paths, each_path
from fairstats._lib.problems import Problem, input_error, refuse
from fairstats._lib.safe_names import text_sha256
from fairstats._lib.table_schemas import (
    NAME,
    SHA256_TEXT,
    Column,
    Rule,
    TableSchema,
    printable,
    text_rule,
)
from fairstats._lib.untrusted_files import already_read
from fairstats._lib.untrusted_tables import load_parquet
from fairstats.answers.files import RETRIEVALS_SUFFIX, files_ending, write_parquet

#: Columns that identify a list of retrieved snippets.
LIST_COLUMNS = ("benchmark", "benchmark_version", "item_id", "attribute", "group", "retriever")
#: Columns that identify one row.
RETRIEVAL_KEY = (*LIST_COLUMNS, "rank")
_SEARCHED = ("benchmark", "benchmark_version", "retriever")
_VARIANT = tuple(column for column in LIST_COLUMNS if column != "retriever")
#: Columns of the table in a release, in order.
RETRIEVAL_COLUMNS = (
    *RETRIEVAL_KEY,
    "snippet_id",
    "score",
    "snippet_sha256",
    "query_sha256",
    "settings",
    "corpus",
    "corpus_sha256",
)
#: Columns that are used in prompts but not published; they stay with the owner of the corpus.
TEXT_COLUMNS = ("title", "text")

_RETRIEVER = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")
_MOST_TEXT = Rule(lambda texts: texts.str.len() <= 100_000, "is longer than 100,000 characters")
#: The single definition of the table's columns. `RETRIEVAL_KEY` is unique because of the ranks,
#: which `check_retrievals` checks.
RETRIEVALS = TableSchema(
    {
        **{name: Column("str", NAME) for name in LIST_COLUMNS},
        "retriever": Column(
            "str",
            text_rule(
                _RETRIEVER.fullmatch, "must be up to 40 of a-z, 0-9, dot, hyphen, underscore"
            ),
        ),
        "rank": Column("int64", Rule(lambda ranks: ranks.between(1, 9999), "must be 1 to 9999")),
        "snippet_id": Column("str", NAME),
        "score": Column("float64", Rule(np.isfinite, "must be a finite number")),
        **{name: Column("str", SHA256_TEXT) for name in ("snippet_sha256", "query_sha256")},
        "settings": Column("str", printable(1_000)),
        "corpus": Column("str", NAME),
        "corpus_sha256": Column("str", SHA256_TEXT),
        **{name: Column("str", _MOST_TEXT, required=False) for name in TEXT_COLUMNS},
    }
)
_REMEDY = "create the file again with `fairstats rag retrieve`"


def context_sha256(snippets: Iterable[str]) -> str:
    """Return a hash that identifies the snippets in a prompt, and their order.

    Given the sha256 of each snippet's text, by rank, it is the sha256 of these, one per line: the
    column of that name in the answers.

    Examples
    --------
    >>> context_sha256([])[:8], context_sha256(["0" * 64])[:8]
    ('e3b0c442', '60e05bd1')
    """
    return text_sha256("\n".join(snippets))


def check_retrievals(retrievals: pd.DataFrame, *, path: str = "<frame>") -> pd.DataFrame:
    """Return a frame's rows with the types of the schema, sorted by `RETRIEVAL_KEY`.

    Problems name the file `path`.

    Raises
    ------
    InputError
        For a missing, unknown or duplicate column, or a row that violates the schema. For ranks
        that are not whole numbers or do not run from 1 without a gap, and scores that increase with
        rank. For a snippet that is twice in a list, a list or a variant with two queries, or two
        lists of one retriever for the same query on one benchmark version. For lists of one
        retriever on one benchmark version from different corpora, or a snippet id with two texts.
    """
    frame = retrievals.reset_index(drop=True)
    wrong = set(RETRIEVAL_COLUMNS) - set(frame.columns)
    unknown = [c for c in frame.columns if c not in (*RETRIEVAL_COLUMNS, *TEXT_COLUMNS)]
    if wrong or unknown or frame.columns.has_duplicates:
        named = ", ".join(sorted(map(str, [*wrong, *unknown]))) or "repeated"
        raise input_error(path, "is not a retrievals table", _REMEDY, column=named)
    if frame.empty:
        raise input_error(path, "the table has no rows", _REMEDY)
    # The schema would truncate them to whole numbers.
    rank = pd.to_numeric(frame["rank"], errors="coerce")
    message, remedy = "must be a whole number", "number the snippets of a list from 1"
    refuse(
        Problem(path, message, remedy, row=int(row) + 1, column="rank", value=str(value)[:200])
        for row, value in frame["rank"][rank.notna() & (rank != rank.round())].head(20).items()
    )
    checked, problems = RETRIEVALS.check(frame, path)
    refuse(replace(problem, remedy=_REMEDY) for problem in problems[:20])
    columns = [c for c in (*RETRIEVAL_COLUMNS, *TEXT_COLUMNS) if c in checked]
    checked = checked[columns].sort_values(list(RETRIEVAL_KEY), ignore_index=True)
    refuse([*_list_problems(checked, path), *_corpus_problems(checked, path)])
    return checked


def _list_problems(frame: pd.DataFrame, path: str) -> list[Problem]:
    """Report lists that no retriever returns; rows are sorted by `RETRIEVAL_KEY`."""
    lists = frame.groupby(list(LIST_COLUMNS), sort=False)["rank"]
    place, length = lists.cumcount() + 1, lists.transform("size")
    score, query, snippet = frame["score"], frame["query_sha256"], frame["snippet_id"]
    # By number, which is cheaper than by name if checked for every rank.
    same_query = frame.groupby([*_SEARCHED, "query_sha256"], sort=False).ngroup()
    first_snippet = snippet.groupby([same_query, frame["rank"]], sort=False).transform("first")
    first_length = length.groupby(same_query, sort=False).transform("first")
    first_query = query.groupby([frame[c] for c in _VARIANT], sort=False).transform("first")
    two_queries = (place > 1) & (query != query.shift())
    found = [
        (
            frame["rank"] != place,
            "rank",
            "the ranks of a list must run from 1 without gaps",
            _REMEDY,
        ),
        (
            frame.duplicated([*LIST_COLUMNS, "snippet_id"]),
            "snippet_id",
            "the snippet is in this list twice",
            _REMEDY,
        ),
        (
            (place > 1) & (score > score.shift()),
            "score",
            "the scores of a list must not rise with its ranks",
            "rank the highest score first",
        ),
        (two_queries, "query_sha256", "the list has two queries", _REMEDY),
        (
            (place == 1) & (query != first_query),
            "query_sha256",
            "another retriever used a different query for this variant",
            "use the same vignettes with each retriever",
        ),
        (
            (snippet != first_snippet) | (length != first_length),
            "query_sha256",
            "this retriever has a different list for the same query",
            _REMEDY,
        ),
    ]
    problems = []
    for wrong, column, message, remedy in found:
        for row in frame[wrong].head(1).to_dict("records"):
            value = f"{row[column]} of {row['item_id']}, {row['group']}"
            problems.append(Problem(path, message, remedy, column=column, value=value))
    return problems


def _corpus_problems(frame: pd.DataFrame, path: str) -> list[Problem]:
    problems = []
    searched = frame.groupby(["benchmark", "benchmark_version", "retriever"])
    for column, what in (("corpus_sha256", "corpora were"), ("settings", "settings were")):
        for (_, _, retriever), number in searched[column].nunique().items():
            if number > 1:
                message = f"{number} {what} used by {retriever} for the same benchmark"
                remedy = "retrieve again, with a different name for each"
                problems.append(Problem(path, message, remedy, column=column))
    texts = frame.groupby(["corpus_sha256", "snippet_id"])["snippet_sha256"].nunique()
    for (_, snippet), _ in texts[texts > 1].head(20).items():
        message = "a snippet of this corpus has two texts"
        problems.append(Problem(path, message, _REMEDY, column="snippet_id", value=str(snippet)))
    return problems


def retrieval_files(source: Paths) -> list[Path]:
    """Return the retrievals files among these paths and inside folders, each once.

    Examples
    --------
    >>> [path.name for path in retrieval_files(["answers.parquet", "bm25.retrievals.parquet"])]
    ['bm25.retrievals.parquet']
    """
    return files_ending(source, RETRIEVALS_SUFFIX)


def read_retrievals(source: Paths) -> pd.DataFrame:
    """Read retrievals from files written by ``fairstats rag retrieve``.

    Parameters
    ----------
    source : path, or iterable of paths
        One or more files, which are combined. Rows may be in several of them.

    Returns
    -------
    pandas.DataFrame
        Checked by `check_retrievals`.

    Raises
    ------
    InputError
        If a file cannot be read, or its rows, or all files together, violate the schema.
    """
    given = each_path(source)
    paths, read = [Path(path) for path in given], already_read(given)
    frames = []
    for path in paths:
        if path.is_dir():
            there = ", ".join(file.name for file in sorted(path.glob(f"*{RETRIEVALS_SUFFIX}"))[:5])
            raise input_error(path, "is a folder", f"give a file in it: {there or 'no such file'}")
        if not path.name.endswith(RETRIEVALS_SUFFIX):
            message = f"is not a file of retrievals (its name must end in {RETRIEVALS_SUFFIX})"
            remedy = "create one with `fairstats rag retrieve`"
            raise input_error(path, message, remedy)
        frames.append(check_retrievals(load_parquet(read.get(path, path)), path=str(path)))
    if len(frames) == 1:
        return frames[0]
    # Lists that several submissions used are in the file of each.
    together = pd.concat(frames).drop_duplicates(list(RETRIEVAL_COLUMNS), ignore_index=True)
    return check_retrievals(together, path=str(paths[-1]))


def write_retrievals(retrievals: pd.DataFrame, path: AnyPath) -> Path:
    """Write checked retrievals as one parquet file, by renaming a temporary file.

    Raises
    ------
    InputError
        If a row violates the schema or the name has another ending. Nothing is then written.
    """
    path = Path(path)
    if not path.name.endswith(RETRIEVALS_SUFFIX):
        raise input_error(
            path, "is not a valid name for retrievals", f"end the name in {RETRIEVALS_SUFFIX}"
        )
    return write_parquet(check_retrievals(retrievals, path=str(path)), path)
