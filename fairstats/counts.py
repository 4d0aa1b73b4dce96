"""Fold answers into the counts of outcome patterns, where the answers lie.

Every statistic behind this module is a function of the small table made here. The fold is two
joins and two group-bys through narwhals, so that it runs on pandas, Polars, DuckDB or PySpark;
what leaves it is a small pandas frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats.benchmarks import BASELINE, NEUTRALIZED, Attribute, Benchmark, load_benchmarks
from fairstats.problems import InputError, Problem
from fairstats.schema import KEY_COLUMNS

if TYPE_CHECKING:
    import narwhals as nw

#: What names a unit, but for its attribute and pair of groups.
UNIT_COLUMNS = ("benchmark", "benchmark_version", "model", "strategy")
PAIR_COLUMNS = (*UNIT_COLUMNS, "attribute", "group_a", "group_b")

#: The outcome patterns of a counterfactual pair. The first sign is group a's, the second group
#: b's: 1 correct, 0 wrong, x missing. Two wrong answers can be the same letter or two letters.
PATTERNS = (
    "n11",
    "n10",
    "n01",
    "n00_same",
    "n00_different",
    "n1x",
    "n0x",
    "nx1",
    "nx0",
    "nxx",
)
MISSING = "x"
_STATES = {1: "1", 0: "0", -1: MISSING}


def count_outcomes(
    answers: Any, *, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> pd.DataFrame:
    """Count the outcome patterns of every counterfactual pair of every unit.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table; the counting runs in the engine that holds it.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, or that replace built-in ones.

    Returns
    -------
    pandas.DataFrame
        One row a unit: its keys, ``group_a`` (privileged), ``group_b``, and the number of pairs
        with each of the ten patterns of `PATTERNS`. A pair is one item and sample. A variant
        without a row counts as missing, as one whose answer could not be parsed.

    Raises
    ------
    InputError
        For an unknown benchmark, attribute or group, and for an answer that stands there twice.

    Examples
    --------
    >>> import pandas as pd
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain",
    ...            item_id="demo-01", attribute="race", sample=0, answer_key="C")
    >>> answers = pd.DataFrame([row | dict(group="white", answer="C"),
    ...                         row | dict(group="black", answer="B")])
    >>> counts = count_outcomes(answers)
    >>> int(counts.loc[counts["attribute"] == "race", "n10"].item())
    1
    """
    folded, known = fold_outcomes(answers, benchmarks=benchmarks)
    return pair_counts(folded, known)


def fold_outcomes(
    answers: Any, *, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> tuple[pd.DataFrame, dict[str, Benchmark]]:
    """Fold answers into joint outcome patterns over all groups of each attribute.

    The sufficient table of the package: `pair_counts` and the disparities over any number of
    groups follow from it.

    Returns
    -------
    pandas.DataFrame
        ``UNIT_COLUMNS``, ``attribute``, ``outcomes`` (one sign a group in declared order: 1, 0 or
        x for missing), ``same`` (one sign for each two groups, in the order of
        `itertools.combinations`: do the letters agree), ``answerable`` (1, 0 or x: was the
        neutralized variant of the item answered correctly) and ``n``, the number of items.
    dict of str to Benchmark
        The benchmarks of the answers by name.
    """
    import narwhals as nw

    frame = _text_columns(nw.from_native(answers).lazy())
    _refuse_nulls(frame)
    known = _known_groups(frame, benchmarks)
    _refuse_wrong_letters(frame, known)
    _refuse_wrong_keys(frame, known)
    folds = [
        _fold_attribute(frame, benchmark, attribute)
        for benchmark in known.values()
        for attribute in benchmark.attributes.values()
    ]
    return pd.concat(folds, ignore_index=True), known


def pair_counts(folded: pd.DataFrame, benchmarks: Mapping[str, Benchmark]) -> pd.DataFrame:
    """The outcome counts of the declared pairs, from `fold_outcomes`."""
    frames = []
    for (name, attribute_name), rows in folded.groupby(["benchmark", "attribute"], sort=False):
        attribute = benchmarks[str(name)].attributes[str(attribute_name)]
        groups = list(attribute.groups)
        in_order = list(combinations(range(len(groups)), 2))
        declared = [(groups.index(a), groups.index(b)) for a, b in attribute.pairs]
        for a, b in declared:
            same = rows["same"].str[in_order.index((min(a, b), max(a, b)))]
            pattern = "n" + rows["outcomes"].str[a] + rows["outcomes"].str[b]
            both_wrong = pattern == "n00"
            pattern = pattern.mask(both_wrong & (same == "1"), "n00_same")
            pattern = pattern.mask(both_wrong & (same == "0"), "n00_different")
            frames.append(rows.assign(group_a=groups[a], group_b=groups[b], pattern=pattern))
    long = pd.concat(frames, ignore_index=True)
    wide = long.pivot_table(
        index=list(PAIR_COLUMNS),
        columns="pattern",
        values="n",
        aggfunc="sum",
        fill_value=0,
        sort=False,
    )
    return wide.reindex(columns=list(PATTERNS), fill_value=0).astype("int64").reset_index()


def _fold_attribute(
    frame: nw.LazyFrame[Any], benchmark: Benchmark, attribute: Attribute
) -> pd.DataFrame:
    import narwhals as nw

    item = [*UNIT_COLUMNS, "item_id", "sample"]
    correct = (nw.col("answer") == nw.col("answer_key")).cast(nw.Int64)
    own = frame.filter(nw.col("benchmark") == benchmark.name)
    answerable = own.filter(
        nw.col("attribute") == BASELINE,
        nw.col("group") == NEUTRALIZED,
        ~nw.col("answer").is_null(),
    ).select(*item, correct.alias("answerable"))

    groups = list(attribute.groups)
    columns = []
    for i, group in enumerate(groups):
        here = nw.col("group") == group
        columns += [
            nw.when(here).then(nw.col("answer")).alias(f"letter_{i}"),
            nw.when(here & ~nw.col("answer").is_null()).then(correct).alias(f"correct_{i}"),
            here.cast(nw.Int64).alias(f"rows_{i}"),
        ]
    indices = range(len(groups))
    # The columns are made first and aggregated then: an aggregate over when/then inside agg() is
    # silently wrong on pandas (seen with narwhals 2.28).
    items = (
        own.filter(nw.col("attribute") == attribute.name)
        .with_columns(*columns)
        .group_by(*item)
        .agg(
            *(nw.col(f"letter_{i}").max() for i in indices),
            *(nw.col(f"correct_{i}").max() for i in indices),
            *(nw.col(f"rows_{i}").sum() for i in indices),
        )
        .join(answerable, on=item, how="left")
    )
    same = {
        # Where a letter is missing, some engines would say that it differs: it is not known.
        f"same_{a}_{b}": nw.when(
            ~nw.col(f"letter_{a}").is_null() & ~nw.col(f"letter_{b}").is_null()
        ).then((nw.col(f"letter_{a}") == nw.col(f"letter_{b}")).cast(nw.Int64))
        for a, b in combinations(indices, 2)
    }
    signs = [f"correct_{i}" for i in indices]
    marks = [*signs, *same, "answerable"]
    patterns = (
        items.with_columns(**same)
        # A null as a key of a group-by is dropped by some engines: -1 stands for it.
        .with_columns(
            *(
                nw.when(nw.col(mark).is_null())
                .then(nw.lit(-1))
                .otherwise(nw.col(mark))
                .cast(nw.Int64)
                .alias(mark)
                for mark in marks
            ),
            repeated=nw.max_horizontal(*(nw.col(f"rows_{i}") for i in indices)),
        )
        .group_by(*UNIT_COLUMNS, *marks, "repeated")
        .agg(n=nw.len())
    )
    table = patterns.collect().to_pandas()
    if (table["repeated"] > 1).any():
        raise InputError([_repeated_problem(table[table["repeated"] > 1], attribute.name)])

    def joined(names: list[str]) -> pd.Series:
        text = pd.Series("", index=table.index, dtype=str)
        for name in names:
            text = text + table[name].astype("int64").map(_STATES)
        return text

    return pd.DataFrame(
        {
            **{column: table[column].astype(str) for column in UNIT_COLUMNS},
            "attribute": attribute.name,
            "outcomes": joined(signs),
            "same": joined(list(same)),
            "answerable": joined(["answerable"]),
            "n": table["n"].astype("int64"),
        }
    ).sort_values([*UNIT_COLUMNS, "outcomes", "same", "answerable"], ignore_index=True)


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
    found = frame.select(*columns).unique().collect().to_pandas()
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
    keys = frame.select(*columns).unique().collect().to_pandas()
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
    found = frame.select("benchmark", "attribute", "group").unique().collect().to_pandas()
    known = load_benchmarks(found["benchmark"].unique().tolist(), benchmarks)
    problems = []
    for name, attribute, group in sorted(found.itertuples(index=False, name=None)):
        declared = known[name].attributes
        if attribute not in declared:
            remedy = f"{name} declares {', '.join(declared)}"
            problems.append(
                Problem("<answers>", "unknown attribute", remedy, None, "attribute", attribute)
            )
        elif group not in declared[attribute].groups:
            remedy = f"{name} declares {', '.join(declared[attribute].groups)} for {attribute}"
            problems.append(Problem("<answers>", "unknown group", remedy, None, "group", group))
    if problems:
        raise InputError(problems)
    return known
