"""Open an answers table in the engine that holds it, checked once for all that is computed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import pandas as pd

from fairstats._lib.problems import Note, Problem, input_error, refuse
from fairstats._lib.result_objects import Memo
from fairstats.answers.schema import KEY_COLUMNS
from fairstats.answers.schema_checks import how_to_add
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.benchmarks.loading import load_benchmarks

#: Columns that identify a unit, without its attribute and pair of groups.
UNIT_COLUMNS = ("benchmark", "benchmark_version", "model", "strategy")
#: Their values.
Unit = tuple[str, ...]
#: Columns that are compared as text.
TEXT_COLUMNS = (*UNIT_COLUMNS, "item_id", "attribute", "group", "answer", "answer_key")

#: Rows of texts that are in memory at a time.
PART_ROWS = 100_000

#: Label used for the letter of a missing answer.
NO_LETTER = ""
_problem = partial(Problem, "<answers>")


@dataclass(frozen=True)
class OpenAnswers(Memo):
    """A checked answers table, with cached results computed from it.

    Every function that takes answers also takes this, so that several metrics of the same answers
    share their counts.

    Attributes
    ----------
    frame : narwhals.LazyFrame
        The answers, in the engine that holds them.
    benchmarks : dict of str to Benchmark
        Their benchmarks by name.
    cells : pandas.DataFrame
        The number of ``rows`` by all columns except those that tell items and samples apart:
        `UNIT_COLUMNS`, ``attribute``, ``group``, ``answer``, ``answer_key`` and, if they are there,
        ``status`` and ``snapshot``.
    in_memory : bool
        Whether the engine holds them in memory, so that results can be kept for the next step.
    """

    frame: nw.LazyFrame[Any]
    benchmarks: dict[str, Benchmark]
    cells: pd.DataFrame
    in_memory: bool

    def asked(self) -> list[tuple[Benchmark, Attribute, Attribute]]:
        """Return the attributes that have answers, each with its `Benchmark.variants_from`."""
        there = self.cells.groupby("benchmark")["attribute"].agg(set)
        return [
            (benchmark, benchmark.attributes[name], source)
            for benchmark in self.benchmarks.values()
            for name, source in benchmark.variants_from(there.get(benchmark.name, ())).items()
        ]

    def choices(self) -> OpenAnswers:
        """Return the answers to benchmarks of choices: figures of right answers alone need them."""
        return self.only([name for name, one in self.benchmarks.items() if one.kind.needs_key])

    def only(self, names: Sequence[str]) -> OpenAnswers:
        """Return the answers to some of the benchmarks."""
        own = {name: one for name, one in self.benchmarks.items() if name in names}
        if len(own) == len(self.benchmarks):
            return self
        frame = self.frame.filter(nw.col("benchmark").is_in(list(own)))
        cells = self.cells[self.cells["benchmark"].isin(list(own))]
        return OpenAnswers(frame, own, cells, self.in_memory)


def open_answers(
    answers: Any,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    *,
    only_listed: bool = False,
) -> OpenAnswers:
    """Check an answers table, and load its benchmarks; an open one is returned unchanged.

    With `only_listed`, a table without a single item that the benchmark lists is refused. If not, a
    `Note` says so: such answers can be to other, easier questions.

    Raises
    ------
    InputError
        For answers that would be counted wrongly: an empty key, an answer that is not possible, a
        key that differs from the benchmark's, an unknown benchmark, attribute or group, unknown
        items among known ones, and an item in two clusters or none if the benchmark has clusters.
    """
    if isinstance(answers, OpenAnswers):
        return answers
    frame, in_memory = _lazy(answers)
    without_keys = "answer_key" not in frame.collect_schema().names()
    if without_keys:
        frame = frame.with_columns(answer_key=nw.lit(None, nw.String))
    frame = _text_columns(frame, TEXT_COLUMNS)
    _refuse_nulls(frame)
    _refuse_parts_of_samples(frame)
    cells = _cells(frame)
    known = _known_groups(cells, benchmarks)
    if without_keys:
        _refuse_absent_keys(known)
    if in_memory and (stored := _stored(cells, known)):
        frame = _canonical(frame, stored)
        cells = _cells(frame)
    _refuse_other_answers(cells, known)
    _refuse_wrong_keys(frame, known, only_listed=only_listed)
    _refuse_wrong_clusters(frame, known)
    return OpenAnswers(frame, known, cells, in_memory)


def open_pairs(
    answers: Any, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> OpenAnswers:
    """Open answers as `open_answers` does; refuse benchmarks without groups to compare."""
    opened = open_answers(answers, benchmarks)
    remedy = "compare models or strategies with `fairstats compare`"
    refuse(
        _problem(f"{name} has no groups to compare", remedy)
        for name, benchmark in opened.benchmarks.items()
        if not benchmark.has_pairs
    )
    return opened


def _lazy(answers: Any) -> tuple[nw.LazyFrame[Any], bool]:
    try:
        given = nw.from_native(answers)
    except TypeError:
        raise TypeError(
            f"answers must be a data frame, not {type(answers).__name__}; read files with "
            "fairstats.read_answers or scan_answers"
        ) from None
    frame = given.lazy()
    there = frame.collect_schema().names()
    remedy = "add it (see `fairstats schema`)"
    refuse(
        _problem("required column is missing", remedy, column=name)
        for name in (*KEY_COLUMNS, "answer")
        if name not in there
    )
    return frame, isinstance(given, nw.DataFrame)


def _stored(
    cells: pd.DataFrame, benchmarks: Mapping[str, Benchmark]
) -> dict[tuple[str, str], dict[str, str]]:
    """Return the answers and keys that are written otherwise than stored, by benchmark and column.

    A spreadsheet writes level 3 as 3.0. Letters are taken as they are.
    """
    found = {}
    for name, benchmark in benchmarks.items():
        own = cells[cells["benchmark"] == name]
        for column in ("answer", "answer_key") if not benchmark.kind.needs_key else ():
            meant = {text: benchmark.canonical(text) for text in own[column].dropna().unique()}
            other = {text: stored for text, stored in meant.items() if stored not in (None, text)}
            if other:
                found[name, column] = other
    return found


def _canonical(
    frame: nw.LazyFrame[Any], stored: Mapping[tuple[str, str], Mapping[str, str]]
) -> nw.LazyFrame[Any]:
    """Write answers and keys as they are stored."""
    table = frame.collect().to_pandas()
    for (name, column), meant in stored.items():
        own = (table["benchmark"] == name).to_numpy()
        table = table.assign(**{column: table[column].mask(own, table[column].replace(meant))})
    return nw.from_native(table).lazy()


def distinct(frame: nw.LazyFrame[Any], columns: Sequence[str]) -> pd.DataFrame:
    """Return distinct rows by group-by, since `unique` numbers all rows on DuckDB."""
    return count_rows(frame, columns)[list(columns)]


def count_rows(frame: nw.LazyFrame[Any], columns: Sequence[str]) -> pd.DataFrame:
    """Count the rows with the same values in these columns, in a column ``rows``."""
    columns = list(columns)
    native = frame.to_native()
    if isinstance(native, pd.DataFrame):
        return native.groupby(columns, sort=False, dropna=False).size().reset_index(name="rows")
    return frame.group_by(*columns).agg(rows=nw.len()).collect().to_pandas()


def batches(frame: nw.LazyFrame[Any], rows: int = 500_000) -> Iterator[pd.DataFrame]:
    """Yield the rows of an engine, in parts if it can give them."""
    native = frame.to_native()
    if hasattr(native, "to_arrow_reader"):
        for batch in native.to_arrow_reader(rows):
            yield batch.to_pandas()
    else:
        yield frame.collect().to_pandas()


def distinct_parts(frame: nw.LazyFrame[Any], columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield distinct rows as `distinct` returns them, in parts if the engine can give them."""
    if isinstance(frame.to_native(), pd.DataFrame):
        yield distinct(frame, columns)
        return
    for part in batches(frame.group_by(*columns).agg(rows=nw.len()), PART_ROWS):
        yield part[list(columns)]


def as_text(table: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return a table with these columns as text."""
    kinds = {name: "str" for name in names if table[name].dtype != "str"}
    return table.astype(kinds) if kinds else table


def refuse_repeated(table: pd.DataFrame, attribute: str) -> None:
    """Refuse a table of counts with a duplicate answer."""
    table = table[table["repeated"] > 1]
    if len(table):
        keys = ", ".join(f"{column}={table[column].iloc[0]}" for column in UNIT_COLUMNS)
        message = f"{int(table['items'].sum())} items have the same answer more than once "
        columns = ", ".join(KEY_COLUMNS)
        remedy = f"each ({columns}) may appear only once; read_answers lists the rows"
        raise input_error("<answers>", f"{message}({keys}, {attribute})", remedy)


def _text_columns(frame: nw.LazyFrame[Any], names: Sequence[str]) -> nw.LazyFrame[Any]:
    """Return the compared columns as text: categories and all-null columns compare differently."""
    native = frame.to_native()
    if isinstance(native, pd.DataFrame):
        names = [name for name in names if native[name].dtype != "str"]
    return frame.with_columns(nw.col(name).cast(nw.String) for name in names) if names else frame


def _refuse_nulls(frame: nw.LazyFrame[Any]) -> None:
    """Refuse rows without a key, which some engines would drop silently."""
    names = KEY_COLUMNS
    native = frame.to_native()
    if isinstance(native, pd.DataFrame):
        row = {name: pd.isna(native[name].array).sum() for name in names} | {"rows": len(native)}
    else:
        nulls = (nw.col(name).is_null().cast(nw.Int64).sum().alias(name) for name in names)
        row = frame.select(*nulls, rows=nw.len()).collect().to_pandas().iloc[0].to_dict()
    if row["rows"] == 0:
        raise input_error("<answers>", "the table has no rows", "check the path or filter")
    refuse(
        _problem(f"empty in {int(row[name])} rows", "fill it in", column=name)
        for name in names
        if row[name] > 0
    )


def _refuse_parts_of_samples(frame: nw.LazyFrame[Any]) -> None:
    """Refuse numbers of samples that are not whole: 0.2 and 0.4 would become the same sample."""
    if frame.collect_schema()["sample"].is_integer():
        return
    numbers = distinct(frame, ["sample"])["sample"].tolist()
    parts = [x for x in numbers if not (x.isdigit() if isinstance(x, str) else x == int(x))]
    if parts:
        message, remedy = "is not a whole number", "number the samples from 0"
        raise input_error("<answers>", message, remedy, column="sample", value=str(min(parts)))


def _refuse_absent_keys(benchmarks: Mapping[str, Benchmark]) -> None:
    """Refuse a table without keys if a benchmark has them."""
    refuse(
        _problem(*absent_keys(benchmark), column="answer_key")
        for benchmark in benchmarks.values()
        if benchmark.has_key
    )


def absent_keys(benchmark: Benchmark) -> tuple[str, str]:
    """Return the message and the remedy for a table without the benchmark's keys."""
    return f"is missing, and {benchmark.name} has answer keys", how_to_add("answer_key")


def _refuse_other_answers(cells: pd.DataFrame, benchmarks: Mapping[str, Benchmark]) -> None:
    """Refuse texts that are no possible answers, which would count as wrong instead of missing."""
    problems = []
    names = cells["benchmark"].to_numpy(dtype=object)
    for name in sorted(set(names)):
        own, benchmark = names == name, benchmarks[name]
        texts = {
            column: cells[column].to_numpy(dtype=object)[own]
            for column in cells
            if column != "rows"
        }
        for column in ("answer", "answer_key"):
            given = set(texts[column][~pd.isna(texts[column])]) - set(benchmark.options)
            if benchmark.kind.name == "score":
                given = {text for text in given if benchmark.canonical(text) != text}
            problems += [
                _problem(*not_an_answer(benchmark, value), column=column, value=value)
                for value in sorted(given)[:10]
            ]
        if benchmark.kind.needs_key and pd.isna(texts["answer_key"]).any():
            rows = int(cells["rows"].to_numpy()[own][pd.isna(texts["answer_key"])].sum())
            message = f"empty in {rows} rows"
            problems.append(_problem(message, "fill it in", column="answer_key"))
        if "status" in texts and (~pd.isna(texts["answer"]) & (texts["status"] != "ok")).any():
            message = "an answer has a status other than ok"
            problems.append(_problem(message, "make it null", column="status"))
    refuse(problems)


def not_an_answer(benchmark: Benchmark, value: str) -> tuple[str, str]:
    """Return the message and the remedy for a text that is no possible answer."""
    stored = benchmark.canonical(value)
    if stored is not None:
        return "is not written as it is stored", f"write it as {stored}"
    if benchmark.kind.name == "score":
        low, high = benchmark.limits
        limits = f"{benchmark.name} has scores from {low:g} to {high:g}"
        remedy = f"{limits}; a missing answer must be null, e.g. by --values of an import"
        return "is not a possible score", remedy
    message = "is not an option letter" if benchmark.kind.needs_key else "is not an option"
    options = ", ".join(benchmark.options)
    if benchmark.named(value.strip("()[].:;*\"' ")) is not None:
        read = "`fairstats import table` with --map answer_raw=answer"
        return message, f"{benchmark.name} has {options}; to read replies, use {read}"
    return message, f"{benchmark.name} has {options}; a missing answer must be null"


def _refuse_wrong_clusters(frame: nw.LazyFrame[Any], benchmarks: Mapping[str, Benchmark]) -> None:
    """Refuse items in two clusters or in none, if the answers have to name them."""
    problems = []
    there = frame.collect_schema().names()
    for name, benchmark in benchmarks.items():
        if benchmark.cluster is None or benchmark.clusters:
            continue
        remedy = f"fill in the column cluster, or list {benchmark.cluster} in the keys file"
        if "cluster" not in there:
            message = f"is missing, and {name} declares the cluster {benchmark.cluster}"
            problems.append(_problem(message, remedy, column="cluster"))
            continue
        own = distinct(frame.filter(nw.col("benchmark") == name), ["item_id", "cluster"])
        for item in own.loc[own["cluster"].isna(), "item_id"].tolist()[:10]:
            message = f"item {item} has no cluster"
            problems.append(_problem(message, remedy, column="cluster"))
        for item in own.loc[own["item_id"].duplicated(), "item_id"].unique().tolist()[:10]:
            message = f"item {item} is in more than one cluster"
            remedy = "give the item one cluster, or different items different names"
            problems.append(_problem(message, remedy, column="cluster"))
    refuse(problems)


def _refuse_wrong_keys(
    frame: nw.LazyFrame[Any], benchmarks: Mapping[str, Benchmark], *, only_listed: bool
) -> None:
    """Refuse keys that differ from the benchmark's: CFR and accuracy depend on them."""
    columns = ["benchmark", "benchmark_version", "item_id", "answer_key"]
    listed = {name: pd.Index(one.items, dtype=object) for name, one in benchmarks.items()}
    wrong: dict[str, list[tuple[str, object]]] = {name: [] for name in benchmarks}
    unknown: dict[str, set[str]] = {name: set() for name in benchmarks}
    matched: set[str] = set()
    undeclared = []
    # In parts: the rows of all items, as texts, would fill the memory.
    for part in distinct_parts(frame, columns):
        for benchmark, own in part.groupby("benchmark"):
            name = str(benchmark)
            given = own["answer_key"].astype(object).where(own["answer_key"].notna(), None)
            keys = map(benchmarks[name].answer_keys.get, own["item_id"])
            declared = pd.Series([*keys], own.index, dtype=object)
            other = declared.notna() & (declared != given)
            wrong[name] += zip(own.loc[other, "item_id"], given[other], strict=True)
            undeclared.append(own[declared.isna()])
            if len(listed[name]):
                is_listed = listed[name].get_indexer(own["item_id"]) >= 0
                unknown[name] |= {*own.loc[~is_listed, "item_id"]}
                if is_listed.any():
                    matched.add(name)
    # Of an item with a declared key, another one is wrong.
    others = pd.concat(undeclared)
    several = others.loc[others.duplicated(columns[:-1]), "item_id"]
    message = "the item has more than one answer key"
    problems = [
        _problem(message, _SEE_VALIDATE, column=f"item {item}") for item in several.head(10)
    ]
    for name in sorted(benchmarks):
        for item, given in wrong[name][:10]:
            message = f"the answer key of item {item} differs from {name}'s"
            problems.append(_problem(message, _SEE_VALIDATE, column="answer_key", value=str(given)))
        if unknown[name] and name not in matched and not only_listed:
            message = f"none of the {len(unknown[name]):,} items is an item of {name}, so no "
            message += "figure of theirs is a result on"
            warnings.warn(f"{message} {name}", Note, stacklevel=4)
            continue
        # Among known items, these would replace items that were left out, e.g. "12 " for "13".
        message = f"is not an item of {name}"
        problems += [
            _problem(message, _SEE_VALIDATE, column="item_id", value=item)
            for item in sorted(unknown[name])[:10]
        ]
    refuse(problems)


_SEE_VALIDATE = "`fairstats validate` lists every row"


def _cells(frame: nw.LazyFrame[Any]) -> pd.DataFrame:
    """Count the rows by the columns of few values, see `OpenAnswers`."""
    there = frame.collect_schema().names()
    optional = [name for name in ("status", "snapshot") if name in there]
    names = [name for name in TEXT_COLUMNS if name != "item_id"] + optional
    # Neither has to be text yet.
    cells = as_text(count_rows(_text_columns(frame, optional), names), names)
    return cells.assign(rows=cells["rows"].astype("int64"))


def _known_groups(
    cells: pd.DataFrame, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark]
) -> dict[str, Benchmark]:
    """Return the benchmarks of the answers; refuse undeclared attributes and groups."""
    names = cells[["benchmark", "attribute", "group"]].drop_duplicates()
    found = list(names.itertuples(index=False, name=None))
    known = load_benchmarks(list(dict.fromkeys(name for name, _, _ in found)), benchmarks)
    problems = []
    for name, attribute, group in sorted(found):
        declared = known[name].attributes
        if attribute not in declared:
            remedy = f"{name} declares {', '.join(declared)}; {_SEE_VALIDATE}"
            problems.append(
                _problem("unknown attribute", remedy, column="attribute", value=attribute)
            )
        elif group not in declared[attribute].groups:
            groups = ", ".join(declared[attribute].groups)
            remedy = f"{name} declares {groups} for {attribute}; {_SEE_VALIDATE}"
            problems.append(_problem("unknown group", remedy, column="group", value=group))
    refuse(problems)
    return known
