"""Open an answers table in the engine that holds it, and count an item's answers.

All counts share the required checks. They also share one row per item with the number of times that
each group of an attribute gave each letter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.row_groups import group_rows
from fairstats.answers.schema import KEY_COLUMNS
from fairstats.benchmarks.declaration import Attribute, Benchmark, load_benchmarks
from fairstats.benchmarks.terms import BASELINE, NEUTRALIZED

if TYPE_CHECKING:
    import narwhals as nw

T = TypeVar("T")

#: Columns that identify a unit, without its attribute and pair of groups.
UNIT_COLUMNS = ("benchmark", "benchmark_version", "model", "strategy")

#: Label used for the letter of a missing answer.
NO_LETTER = ""


@dataclass(frozen=True)
class OpenAnswers:
    """A checked answers table, with cached results computed from it.

    Every function that takes answers also takes this, so that several metrics of the same answers
    share their counts.

    Attributes
    ----------
    frame : narwhals.LazyFrame
        The answers, in the engine that holds them.
    benchmarks : dict of str to Benchmark
        Their benchmarks by name.
    in_memory : bool
        Whether the engine holds them in memory, so that results can be kept for the next step.
    """

    frame: nw.LazyFrame[Any]
    benchmarks: dict[str, Benchmark]
    in_memory: bool
    _made: dict[Any, Any] = field(default_factory=dict, repr=False)

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """Return the result of `make`, computed once per key. Do not change it."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


def open_answers(
    answers: Any, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> OpenAnswers:
    """Check an answers table, and load its benchmarks; an open one is returned unchanged.

    Raises
    ------
    InputError
        For answers that would be counted wrongly: an empty key, a letter that is not an option, a
        key that differs from the benchmark's, an unknown benchmark, attribute or group, and unknown
        items among known ones.
    """
    if isinstance(answers, OpenAnswers):
        return answers
    frame, in_memory = _lazy(answers)
    frame = _text_columns(frame)
    _refuse_nulls(frame)
    known = _known_groups(frame, benchmarks)
    _refuse_wrong_letters(frame, known)
    _refuse_wrong_keys(frame, known)
    return OpenAnswers(frame, known, in_memory)


def open_pairs(
    answers: Any, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> OpenAnswers:
    """Open answers as `open_answers` does; refuse benchmarks without groups to compare.

    Raises
    ------
    InputError
        As `open_answers`, and if a benchmark declares no pairs of groups.
    """
    opened = open_answers(answers, benchmarks)
    remedy = "compare models or strategies with `fairstats compare`"
    problems = [
        Problem("<answers>", f"{name} has no groups to compare", remedy)
        for name, benchmark in opened.benchmarks.items()
        if not benchmark.has_pairs
    ]
    if problems:
        raise InputError(problems)
    return opened


def _lazy(answers: Any) -> tuple[nw.LazyFrame[Any], bool]:
    import narwhals as nw

    try:
        given = nw.from_native(answers)
    except TypeError:
        raise TypeError(
            f"answers must be a data frame, not {type(answers).__name__}; read files with "
            "fairstats.read_answers or scan_answers"
        ) from None
    frame = given.lazy()
    there = frame.collect_schema().names()
    lacking = [name for name in (*KEY_COLUMNS, "answer", "answer_key") if name not in there]
    if lacking:
        remedy = "add it (see `fairstats schema`)"
        raise InputError(
            [Problem("<answers>", "required column is missing", remedy, column=c) for c in lacking]
        )
    return frame, isinstance(given, nw.DataFrame)


def item_answers(
    opened: OpenAnswers, benchmark: Benchmark, attribute: Attribute
) -> nw.LazyFrame[Any]:
    """Count how often each group of the attribute gave each letter, one row per item.

    Columns: `UNIT_COLUMNS`, ``item_id``, ``answer_key``; ``letter_0_A``, …: the number of a group's
    answers with that letter (groups in declared order); ``samples``: the number of answers of the
    group with the most, including missing ones (a group with fewer rows has the rest missing);
    ``neutral_right``, ``neutral_wrong``, ``neutral``: right, wrong and all answers to the
    neutralized variant; ``repeated``: the largest number of times that one answer is in the table.
    """

    import narwhals as nw

    def make() -> nw.LazyFrame[Any]:
        if opened.in_memory:
            return nw.from_native(items_in_memory(opened, benchmark, attribute)).lazy()
        once = opened.once("asked once", lambda: _asked_once(opened.frame))
        return _item_answers(opened.frame, benchmark, attribute, once=once)

    return opened.once(("item_answers", benchmark.name, attribute.name), make)


def items_in_memory(
    opened: OpenAnswers, benchmark: Benchmark, attribute: Attribute
) -> pd.DataFrame:
    """Return the rows of `item_answers` of answers that are in memory.

    Two more columns, ``unit`` and ``item``, number the units and their items, over all attributes.
    """

    def make() -> pd.DataFrame:
        coded = opened.once("coded", lambda: _coded(opened.frame))
        return _item_answers_in_memory(coded, benchmark, attribute)

    return opened.once(("items_in_memory", benchmark.name, attribute.name), make)


@dataclass(frozen=True)
class _Coded:
    """Answers in memory: text columns as codes and values; the numbers of units and of items."""

    unit: npt.NDArray[np.int64]
    item: npt.NDArray[np.int64]
    columns: dict[str, tuple[npt.NDArray[np.int64], pd.Index]]

    def places(self, column: str, values: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return each row's index among these values, or their number if it has none of them."""
        codes, names = self.columns[column]
        places = pd.Index(values).get_indexer(names)
        return np.append(np.where(places < 0, len(values), places), len(values))[codes]

    def values(self, column: str, rows: npt.NDArray[np.int64]) -> pd.Index:
        """Return the values of a column without nulls in these rows."""
        codes, names = self.columns[column]
        return names.take(codes[rows])


def _coded(frame: nw.LazyFrame[Any]) -> _Coded:
    rows = frame.select(*_TEXT_COLUMNS, "sample").collect().to_pandas()
    columns = {name: pd.factorize(rows[name]) for name in (*_TEXT_COLUMNS, "sample")}
    unit, _ = group_rows(columns[name][0] for name in UNIT_COLUMNS)
    item, _ = group_rows([unit, columns["item_id"][0]])
    return _Coded(unit, item, columns)


def _item_answers_in_memory(
    coded: _Coded, benchmark: Benchmark, attribute: Attribute
) -> pd.DataFrame:
    """Compute `_item_answers` with an array: items x groups x letters."""
    groups, options = list(attribute.groups), list(benchmark.options)
    of_benchmark = coded.places("benchmark", [benchmark.name]) == 0
    own = np.flatnonzero(of_benchmark & (coded.places("attribute", [attribute.name]) == 0))
    item, items = pd.factorize(coded.item[own])
    shape = (len(items), len(groups), len(options) + 1)
    group = coded.places("group", groups)[own]
    letter = coded.places("answer", options)
    cell = np.ravel_multi_index((item, group, letter[own]), shape)
    letters = np.bincount(cell, minlength=np.prod(shape)).reshape(shape)
    sample = coded.columns["sample"]
    cells, times = np.unique(
        np.ravel_multi_index((item, group, sample[0][own]), (*shape[:2], len(sample[1]))),
        return_counts=True,
    )
    repeated = np.zeros(len(items), dtype=np.int64)
    np.maximum.at(repeated, cells // (shape[1] * len(sample[1])), times)

    is_neutral = (coded.places("attribute", [BASELINE]) == 0) & of_benchmark
    neutral = np.flatnonzero(is_neutral & (coded.places("group", [NEUTRALIZED]) == 0))
    right = letter[neutral] == coded.places("answer_key", options)[neutral]
    wrong = ~right & (letter[neutral] < len(options))

    def of_items(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        return np.bincount(coded.item[neutral][flags], minlength=coded.item.max() + 1)[items]

    first = own[np.unique(item, return_index=True)[1]]
    names = [name for of_group in letter_columns(attribute, benchmark) for name in of_group]
    return pd.DataFrame(
        {
            **{
                name: coded.values(name, first) for name in (*UNIT_COLUMNS, "item_id", "answer_key")
            },
            **dict(zip(names, letters[:, :, :-1].reshape(len(items), len(names)).T, strict=True)),
            "samples": letters.sum(axis=2).max(axis=1),
            "neutral_right": of_items(right),
            "neutral_wrong": of_items(wrong),
            "neutral": of_items(np.ones(len(neutral), dtype=bool)),
            "repeated": repeated,
            "unit": coded.unit[first],
            "item": items,
        }
    )


def _asked_once(frame: nw.LazyFrame[Any]) -> bool:
    """Return whether all answers have the same sample number."""
    import narwhals as nw

    number = nw.col("sample")
    ends = frame.select(number.min().alias("least"), number.max().alias("most"))
    row = ends.collect().to_pandas().iloc[0]
    return bool(row["least"] == row["most"])


def _item_answers(
    frame: nw.LazyFrame[Any], benchmark: Benchmark, attribute: Attribute, *, once: bool
) -> nw.LazyFrame[Any]:
    import narwhals as nw

    item = [*UNIT_COLUMNS, "item_id"]
    of_attribute = nw.col("attribute") == attribute.name
    is_neutral = (nw.col("attribute") == BASELINE) & (nw.col("group") == NEUTRALIZED)
    right = nw.col("answer") == nw.col("answer_key")
    # Create the columns first, then aggregate: an aggregate over when/then inside agg() is silently
    # wrong on pandas (seen with narwhals 2.28).
    neutral = {
        "neutral_right": _flag(is_neutral & right),
        # In pandas, null differs from every text.
        "neutral_wrong": _flag(is_neutral & ~right & ~nw.col("answer").is_null()),
        "neutral": _flag(is_neutral),
    }
    letters = {
        name: _flag(of_attribute & (nw.col("group") == group) & (nw.col("answer") == letter))
        for group, names in zip(attribute.groups, letter_columns(attribute, benchmark), strict=True)
        for name, letter in zip(names, benchmark.options, strict=True)
    }
    rows = {
        f"rows_{i}": _flag(of_attribute & (nw.col("group") == group))
        for i, group in enumerate(attribute.groups)
    }
    counted = [*letters, *rows, *neutral]
    samples = nw.max_horizontal(*(nw.col(name) for name in rows))
    table = (
        frame.filter(nw.col("benchmark") == benchmark.name)
        .with_columns(**letters, **rows, **neutral)
        .filter(of_attribute | (nw.col("neutral") == 1))
        .group_by(*item, *([] if once else ["sample"]))
        .agg(*(nw.col(name).sum() for name in counted), nw.col("answer_key").max())
        .with_columns(repeated=samples)
    )
    if not once:
        table = table.group_by(*item).agg(
            *(nw.col(name).sum() for name in counted),
            nw.col("answer_key").max(),
            nw.col("repeated").max(),
        )
    return (
        table.with_columns(*(nw.col(name).cast(nw.Int64) for name in neutral), samples=samples)
        # Leave out the items of which only the neutralized variant was asked.
        .filter(nw.col("samples") > 0)
    )


def answers_by_item(
    opened: OpenAnswers, benchmark: Benchmark, attributes: Sequence[Attribute]
) -> nw.LazyFrame[Any]:
    """Count each group's answers with each letter, of several attributes, one row per item.

    Columns: `UNIT_COLUMNS`, ``item_id``, ``answer_key``; the columns of `item_answers` for letters
    and ``samples``, with the attribute's place and ``_`` before their names. All are 0 if the item
    was not asked for the attribute.
    """
    import narwhals as nw

    flags, samples = {}, {}
    for place, attribute in enumerate(attributes):
        rows: list[str] = []
        for group, names in zip(
            attribute.groups, letter_columns(attribute, benchmark), strict=True
        ):
            own = (nw.col("attribute") == attribute.name) & (nw.col("group") == group)
            for name, letter in zip(names, benchmark.options, strict=True):
                flags[f"{place}_{name}"] = _flag(own & (nw.col("answer") == letter))
            rows.append(f"{place}_rows_{len(rows)}")
            flags[rows[-1]] = _flag(own)
        samples[f"{place}_samples"] = nw.max_horizontal(*(nw.col(name) for name in rows))
    names = [attribute.name for attribute in attributes]
    return (
        opened.frame.filter(nw.col("benchmark") == benchmark.name, nw.col("attribute").is_in(names))
        .with_columns(**flags)
        .group_by(*UNIT_COLUMNS, "item_id")
        .agg(*(nw.col(name).sum() for name in flags), nw.col("answer_key").max())
        .with_columns(**samples)
    )


def _flag(condition: nw.Expr) -> nw.Expr:
    """Return 1 if the condition is true, 0 if it is false or null."""
    import narwhals as nw

    return condition.cast(nw.Int64).fill_null(0)


def answers_where(opened: OpenAnswers, **values: str) -> pd.DataFrame:
    """Return the answers with these values in these columns, in memory."""
    import narwhals as nw

    own = opened.frame.filter(*(nw.col(name) == value for name, value in values.items()))
    return own.collect().to_pandas().reset_index(drop=True)


def letter_columns(attribute: Attribute, benchmark: Benchmark) -> list[list[str]]:
    """Return the columns of `item_answers` that count letters, one list per group."""
    return [
        [f"letter_{i}_{letter}" for letter in benchmark.options]
        for i in range(len(attribute.groups))
    ]


def distinct(frame: nw.LazyFrame[Any], columns: Sequence[str]) -> pd.DataFrame:
    """Return distinct rows by group-by, since `unique` numbers all rows on DuckDB."""
    return count_rows(frame, columns)[list(columns)]


def count_rows(frame: nw.LazyFrame[Any], columns: Sequence[str]) -> pd.DataFrame:
    """Count the rows with the same values in these columns, in a column ``rows``."""
    import narwhals as nw

    columns = list(columns)
    native = frame.to_native()
    if isinstance(native, pd.DataFrame):
        groups, first = group_rows(native[name].array for name in columns)
        table = native[columns].take(first).reset_index(drop=True)
        return table.assign(rows=np.bincount(groups, minlength=len(first)))
    return frame.group_by(*columns).agg(rows=nw.len()).collect().to_pandas()


def refuse_repeated(table: pd.DataFrame, attribute: str) -> None:
    """Refuse a table of counts with a duplicate answer."""
    if (table["repeated"] > 1).any():
        raise InputError([_repeated_problem(table[table["repeated"] > 1], attribute)])


_TEXT_COLUMNS = (*UNIT_COLUMNS, "item_id", "attribute", "group", "answer", "answer_key")


def _text_columns(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Return the compared columns as text: categories and all-null columns compare differently."""
    import narwhals as nw

    return frame.with_columns(nw.col(name).cast(nw.String) for name in _TEXT_COLUMNS)


def _refuse_nulls(frame: nw.LazyFrame[Any]) -> None:
    """Refuse rows without a key, which some engines would drop silently."""
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
        raise InputError(
            [Problem("<answers>", "the table has no rows", "check the path or filter")]
        )
    problems = [
        Problem("<answers>", f"empty in {int(row[name])} rows", "fill it in", column=name)
        for name in names
        if row[name] > 0
    ]
    if problems:
        raise InputError(problems)


def _refuse_wrong_letters(frame: nw.LazyFrame[Any], benchmarks: Mapping[str, Benchmark]) -> None:
    """Refuse replies that are not option letters, which would count as wrong instead of missing."""
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
                    f"{name} has {', '.join(options)}; a missing answer must be null",
                    column=column,
                    value=value,
                )
                for value in wrong[:10]
            ]
        if "status" in rows and (rows["answer"].notna() & (rows["status"] != "ok")).any():
            message = "an answer has a status other than ok"
            problems.append(Problem("<answers>", message, "make it null", column="status"))
    if problems:
        raise InputError(problems)


def _refuse_wrong_keys(frame: nw.LazyFrame[Any], benchmarks: Mapping[str, Benchmark]) -> None:
    """Refuse keys that differ from the benchmark's: CFR and accuracy depend on them."""
    columns = ["benchmark", "benchmark_version", "item_id", "answer_key"]
    keys = distinct(frame, columns)
    several = keys[keys.duplicated(columns[:3])]
    problems = [
        Problem(
            "<answers>",
            "the item has more than one answer key",
            _SEE_VALIDATE,
            column=f"item {item}",
        )
        for item in several["item_id"].head(10)
    ]
    for name, rows in keys.groupby("benchmark"):
        declared = rows["item_id"].map(dict(benchmarks[str(name)].answer_keys))
        other = rows[declared.notna() & (declared != rows["answer_key"])]
        problems += [
            Problem(
                "<answers>",
                f"the answer key of item {row.item_id} differs from {name}'s",
                _SEE_VALIDATE,
                column="answer_key",
                value=str(row.answer_key),
            )
            for row in other.head(10).itertuples()
        ]
        if declared.notna().any():
            problems += _unknown_items(rows.loc[declared.isna(), "item_id"], str(name))
    if problems:
        raise InputError(problems)


def _unknown_items(items: pd.Series, benchmark: str) -> list[Problem]:
    """Return items that do not belong to the benchmark, among others that do.

    They would replace items that were left out, e.g. "12 " for "13".
    """
    message = f"is not an item of {benchmark}, but other items of the table are"
    return [
        Problem("<answers>", message, _SEE_VALIDATE, column="item_id", value=str(item))
        for item in sorted(items.unique())[:10]
    ]


_SEE_VALIDATE = "`fairstats validate` lists every row"


def _repeated_problem(table: pd.DataFrame, attribute: str) -> Problem:
    unit = table.iloc[0]
    keys = ", ".join(f"{column}={unit[column]}" for column in UNIT_COLUMNS)
    return Problem(
        "<answers>",
        f"{int(table['items'].sum())} items have the same answer more than once ({keys}, "
        f"{attribute})",
        f"each ({', '.join(KEY_COLUMNS)}) may appear only once; read_answers lists the rows",
    )


def _known_groups(
    frame: nw.LazyFrame[Any], benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark]
) -> dict[str, Benchmark]:
    """Return the benchmarks of the answers; refuse undeclared attributes and groups."""
    found = distinct(frame, ["benchmark", "attribute", "group"])
    known = load_benchmarks(found["benchmark"].unique().tolist(), benchmarks)
    problems = []
    for name, attribute, group in sorted(found.itertuples(index=False, name=None)):
        declared = known[name].attributes
        if attribute not in declared:
            remedy = f"{name} declares {', '.join(declared)}; {_SEE_VALIDATE}"
            problems.append(
                Problem(
                    "<answers>", "unknown attribute", remedy, column="attribute", value=attribute
                )
            )
        elif group not in declared[attribute].groups:
            groups = ", ".join(declared[attribute].groups)
            remedy = f"{name} declares {groups} for {attribute}; {_SEE_VALIDATE}"
            problems.append(
                Problem("<answers>", "unknown group", remedy, column="group", value=group)
            )
    if problems:
        raise InputError(problems)
    return known
