"""Open an answers table wherever it lies, and lay an item's answers side by side.

What the folds of this package share: the checks that no fold may do without, and one row an item
and sample with the letters of all groups of an attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats.benchmarks import BASELINE, NEUTRALIZED, Attribute, Benchmark, load_benchmarks
from fairstats.problems import InputError, Problem
from fairstats.schema import KEY_COLUMNS

if TYPE_CHECKING:
    import narwhals as nw

#: What names a unit, but for its attribute and pair of groups.
UNIT_COLUMNS = ("benchmark", "benchmark_version", "model", "strategy")

#: What stands for the letter of a missing answer.
NO_LETTER = ""


def open_answers(
    answers: Any, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> tuple[nw.LazyFrame[Any], dict[str, Benchmark]]:
    """The answers as a checked lazy frame, and their benchmarks by name.

    Raises
    ------
    InputError
        For what would be counted wrong: an empty key, a letter that is no option, an item with
        another key than the benchmark's, an unknown benchmark, attribute or group.
    """

    frame = _text_columns(_lazy(answers))
    _refuse_nulls(frame)
    known = _known_groups(frame, benchmarks)
    _refuse_wrong_letters(frame, known)
    _refuse_wrong_keys(frame, known)
    return frame, known


def _lazy(answers: Any) -> nw.LazyFrame[Any]:
    import narwhals as nw

    try:
        frame = nw.from_native(answers).lazy()
    except TypeError:
        raise TypeError(
            f"answers is a {type(answers).__name__}, no frame: read files with "
            "fairstats.read_answers or scan_answers"
        ) from None
    there = frame.collect_schema().names()
    lacking = [name for name in (*KEY_COLUMNS, "answer", "answer_key") if name not in there]
    if lacking:
        remedy = "add it (see `fairstats schema`)"
        raise InputError(
            [Problem("<answers>", "required column is missing", remedy, column=c) for c in lacking]
        )
    return frame


def side_by_side(
    frame: nw.LazyFrame[Any], benchmark: Benchmark, attribute: Attribute
) -> nw.LazyFrame[Any]:
    """One row an item and sample, with what each group of the attribute was answered.

    Columns: `UNIT_COLUMNS`, ``item_id``, ``sample``, ``answer_key``; ``letter_0``, ``letter_1``,
    …: the answer for each group in declared order, `NO_LETTER` where it is missing;
    ``answerable``: was the item's neutralized variant answered correctly, 1 yes, 0 no, −1 not
    known; ``repeated``: how often the answer that stands there most often does.
    """
    import narwhals as nw

    item = [*UNIT_COLUMNS, "item_id", "sample"]
    own = frame.filter(nw.col("benchmark") == benchmark.name)
    answerable = own.filter(
        nw.col("attribute") == BASELINE,
        nw.col("group") == NEUTRALIZED,
        ~nw.col("answer").is_null(),
    ).select(*item, (nw.col("answer") == nw.col("answer_key")).cast(nw.Int64).alias("answerable"))

    columns: dict[str, nw.Expr] = {}
    for i, group in enumerate(attribute.groups):
        here = nw.col("group") == group
        columns[f"letter_{i}"] = nw.when(here).then(nw.col("answer"))
        columns[f"rows_{i}"] = here.cast(nw.Int64)
    letters = [name for name in columns if name.startswith("letter_")]
    rows = [name for name in columns if name.startswith("rows_")]
    return (
        own.filter(nw.col("attribute") == attribute.name)
        # The columns are made first and aggregated then: an aggregate over when/then inside agg()
        # is silently wrong on pandas (seen with narwhals 2.28).
        .with_columns(**columns)
        .group_by(*item)
        .agg(
            *(nw.col(name).max() for name in letters),
            *(nw.col(name).sum() for name in rows),
            nw.col("answer_key").max(),
        )
        .join(answerable, on=item, how="left")
        # A null as a key of a group-by is dropped by some engines: another value stands for it.
        .with_columns(
            *(nw.col(name).fill_null(NO_LETTER) for name in letters),
            answerable=nw.col("answerable").fill_null(-1).cast(nw.Int64),
            repeated=nw.max_horizontal(*(nw.col(name) for name in rows)),
        )
    )


def letter_columns(attribute: Attribute) -> list[str]:
    """The columns of `side_by_side` that hold the groups' answers."""
    return [f"letter_{i}" for i in range(len(attribute.groups))]


def distinct(frame: nw.LazyFrame[Any], columns: Sequence[str]) -> pd.DataFrame:
    """The distinct rows of these columns, by a group-by: `unique` numbers every row on DuckDB."""
    import narwhals as nw

    return frame.group_by(*columns).agg(rows=nw.len()).collect().to_pandas()[list(columns)]


def refuse_repeated(table: pd.DataFrame, attribute: str) -> None:
    """Refuse a fold's table in which an answer stands more than once."""
    if (table["repeated"] > 1).any():
        raise InputError([_repeated_problem(table[table["repeated"] > 1], attribute)])


_TEXT_COLUMNS = (*UNIT_COLUMNS, "item_id", "attribute", "group", "answer", "answer_key")


def _text_columns(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """The columns that are compared, as text: categories and all-null columns compare otherwise."""
    import narwhals as nw

    return frame.with_columns(nw.col(name).cast(nw.String) for name in _TEXT_COLUMNS)


def _refuse_nulls(frame: nw.LazyFrame[Any]) -> None:
    """A row without a key would be dropped without a word by some engines."""
    import narwhals as nw

    names = (*KEY_COLUMNS, "answer_key")
    row = (
        frame.select(
            *(nw.col(name).is_null().cast(nw.Int64).sum().alias(name) for name in names),
            rows=nw.len(),
        )
        .collect()
        .to_pandas()
        .iloc[0]
    )
    if row["rows"] == 0:
        raise InputError([Problem("<answers>", "the table has no row", "check the path or filter")])
    problems = [
        Problem("<answers>", f"empty in {int(row[name])} rows", "fill it in", column=name)
        for name in names
        if row[name] > 0
    ]
    if problems:
        raise InputError(problems)


def _refuse_wrong_letters(frame: nw.LazyFrame[Any], benchmarks: Mapping[str, Benchmark]) -> None:
    """A reply that is no option letter would count as wrong where it is no answer at all."""
    import narwhals as nw

    columns = ["benchmark", "answer", "answer_key"]
    if "status" in frame.collect_schema().names():
        frame = frame.with_columns(status=nw.col("status").cast(nw.String))
        columns.append("status")
    found = distinct(frame, columns)
    problems = []
    for name, rows in found.groupby("benchmark"):
        options = benchmarks[str(name)].options
        for column in ("answer", "answer_key"):
            wrong = sorted({str(v) for v in rows[column].dropna()} - set(options))
            problems += [
                Problem(
                    "<answers>",
                    "is not an option letter",
                    f"{name} has {', '.join(options)}; an answer that is missing is null",
                    column=column,
                    value=value,
                )
                for value in wrong[:10]
            ]
        if "status" in rows and (rows["answer"].notna() & (rows["status"] != "ok")).any():
            message = "an answer stands beside a status other than ok"
            problems.append(Problem("<answers>", message, "make it null", column="status"))
    if problems:
        raise InputError(problems)


def _refuse_wrong_keys(frame: nw.LazyFrame[Any], benchmarks: Mapping[str, Benchmark]) -> None:
    """Variants of an item have one key, the benchmark's: CFR and accuracy rest on it."""
    columns = ["benchmark", "benchmark_version", "item_id", "answer_key"]
    keys = distinct(frame, columns)
    several = keys[keys.duplicated(columns[:3])]
    problems = [
        Problem("<answers>", "the item has more than one key", _SEE_VALIDATE, column=f"item {item}")
        for item in several["item_id"].head(10)
    ]
    for name, rows in keys.groupby("benchmark"):
        declared = rows["item_id"].map(dict(benchmarks[str(name)].answer_keys))
        other = rows[declared.notna() & (declared != rows["answer_key"])]
        problems += [
            Problem(
                "<answers>",
                f"the key of item {row.item_id} is not {name}'s",
                _SEE_VALIDATE,
                column="answer_key",
                value=str(row.answer_key),
            )
            for row in other.head(10).itertuples()
        ]
    if problems:
        raise InputError(problems)


_SEE_VALIDATE = "`fairstats validate` names every row"


def _repeated_problem(table: pd.DataFrame, attribute: str) -> Problem:
    unit = table.iloc[0]
    keys = ", ".join(f"{column}={unit[column]}" for column in UNIT_COLUMNS)
    return Problem(
        "<answers>",
        f"{int(table['n'].sum())} items have an answer more than once ({keys}, {attribute})",
        f"each ({', '.join(KEY_COLUMNS)}) may stand there once; read_answers names the rows",
    )


def _known_groups(
    frame: nw.LazyFrame[Any], benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark]
) -> dict[str, Benchmark]:
    """The benchmarks of the answers, once every attribute and group is one they declare."""
    found = distinct(frame, ["benchmark", "attribute", "group"])
    known = load_benchmarks(found["benchmark"].unique().tolist(), benchmarks)
    problems = []
    for name, attribute, group in sorted(found.itertuples(index=False, name=None)):
        declared = known[name].attributes
        if attribute not in declared:
            remedy = f"{name} declares {', '.join(declared)}; {_SEE_VALIDATE}"
            problems.append(
                Problem("<answers>", "unknown attribute", remedy, None, "attribute", attribute)
            )
        elif group not in declared[attribute].groups:
            groups = ", ".join(declared[attribute].groups)
            remedy = f"{name} declares {groups} for {attribute}; {_SEE_VALIDATE}"
            problems.append(Problem("<answers>", "unknown group", remedy, None, "group", group))
    if problems:
        raise InputError(problems)
    return known
