"""The tables of an audit of vignettes: measures of each variant, findings from them, and flags.

Measures are numbers, without any of the vignettes' text. A release can contain them even if the
text may not be published.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.paths import Paths, each_path
from fairstats._lib.problems import Problem, input_error, printable, refuse
from fairstats._lib.table_schemas import typed_rows
from fairstats._lib.untrusted_files import already_read
from fairstats.answers.files import MEASURES_SUFFIX, files_ending, load_table, write_parquet
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, Benchmark
from fairstats.inference.differences import MeanDifference, mean_difference
from fairstats.inference.intervals import tango_limits
from fairstats.inference.item_bootstrap import bounded_mean_interval
from fairstats.inference.mcnemar import mcnemar
from fairstats.metrics.accuracy import estimate_proportion

#: Columns of the table of findings, in order. ``aspect`` is the question (`ASPECTS`), ``measure``
#: the measure, and ``quantity`` the estimate. A row for one group has no ``group_b``. A row for a
#: pair is group a minus group b. A row without a model is about the text alone.
FINDING_COLUMNS = (
    "aspect",
    "measure",
    "quantity",
    "benchmark",
    "benchmark_version",
    "model",
    "strategy",
    "attribute",
    "group_a",
    "group_b",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "p_value",
    "test",
    "n",
    "note",
)
#: Columns of the table of flags, in order: what to check, with the text concerned.
FLAG_COLUMNS = ("aspect", "item_id", "attribute", "group", "flag", "detail")

#: The questions of an audit, in order.
ASPECTS = ("leakage", "added text", "content", "duplicates", "keys", "selection", "variant sets")

MEAN = "mean"
GROUP_MINUS_NEUTRAL = "group minus neutral"
PAIR_DIFFERENCE = "first minus second"
SHARE = "share of variants"

_NUMBERS = ("estimate", "ci_low", "ci_high", "ci_level", "p_value")
_TYPES = dict.fromkeys(_NUMBERS, "float64") | {"n": "int64"}

Row = dict[str, Any]
#: Item, attribute, group, measure and value.
MeasureRow = tuple[str, str, str, str, float]


def findings_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows of findings as a table; missing texts are empty, missing numbers NaN, `n` 0."""
    blank = {
        name: float("nan") if name in _NUMBERS else 0 if name == "n" else ""
        for name in FINDING_COLUMNS
    }
    return typed_rows([blank | dict(row) for row in rows], FINDING_COLUMNS, _TYPES)


def flags_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows of flags as a table; missing values are empty."""
    blank = dict.fromkeys(FLAG_COLUMNS, "")
    table = pd.DataFrame([blank | dict(row) for row in rows], columns=list(FLAG_COLUMNS))
    return table.astype("str")


def mean_row(values: npt.ArrayLike, largest: float, alpha: float) -> Row:
    """Return the mean of one number per item, at most `largest` in size, and its test of 0."""
    # Rounding may exceed the possible range.
    clipped = np.clip(np.asarray(values, dtype=np.float64), -largest, largest)
    return difference_row(mean_difference(clipped, largest=largest, alpha=alpha))


def difference_row(found: MeanDifference) -> Row:
    """Return a mean with its test of 0 as a row of findings."""
    return {
        "estimate": found.estimate,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "ci_level": found.ci_level,
        "ci_method": found.method,
        "p_value": found.p_value,
        "test": found.test,
        "n": found.n,
    }


def mean_share_row(shares: npt.ArrayLike, alpha: float) -> Row:
    """Return the mean of one share per item, with the bootstrap's interval and no test."""
    clipped = np.clip(np.asarray(shares, dtype=np.float64), 0.0, 1.0)
    return bounded_mean_interval(clipped, alpha=alpha).to_row()


def share_row(holds: npt.ArrayLike, alpha: float) -> Row:
    """Return the share of items or variants for which something holds, with Wilson's interval."""
    hits = np.asarray(holds, dtype=bool)
    return estimate_proportion(hits.sum(), len(hits), alpha=alpha).to_row()


def pair_means(
    measures: pd.DataFrame,
    benchmark: Benchmark,
    names: Collection[str],
    *,
    aspect: str,
    shares: bool = False,
    against_neutral: Collection[str] = (),
    alpha: float = 0.05,
) -> Iterator[Row]:
    """Return rows of findings on means: each group's, and each pair's difference.

    The group means of the measures in `against_neutral` are those of differences from the neutral
    text. `shares` says that all values are in [0, 1]. Each row is for the items with all values
    that are compared.
    """
    largest = 1.0 if shares else np.inf
    for measure in names:
        wide = _wide(measures, measure)
        for attribute in benchmark.varied:
            keys = {"aspect": aspect, "measure": measure, "benchmark": benchmark.name}
            keys |= {"attribute": attribute.name}
            for group in attribute.groups:
                values = _column(wide, attribute.name, group)
                quantity = MEAN
                if measure in against_neutral:
                    quantity = GROUP_MINUS_NEUTRAL
                    values = values - _column(wide, BASELINE, NEUTRALIZED)
                values = values.dropna()
                row = mean_share_row(values, alpha) if shares else mean_row(values, largest, alpha)
                yield keys | {"quantity": quantity, "group_a": group} | row
            for a, b in attribute.pairs:
                change = _column(wide, attribute.name, a) - _column(wide, attribute.name, b)
                pair = {"quantity": PAIR_DIFFERENCE, "group_a": a, "group_b": b}
                yield keys | pair | mean_row(change.dropna(), largest, alpha)


def pair_shares(
    holds: pd.DataFrame, benchmark: Benchmark, *, aspect: str, alpha: float = 0.05
) -> Iterator[Row]:
    """Return rows of findings on shares of variants: each group's, and each pair's difference.

    `holds` has value 1 if something holds for a variant, and 0 if not. Shares have Wilson's
    intervals; differences have Tango's, with McNemar's mid-p test.
    """
    for measure in dict.fromkeys(holds["measure"]):
        wide = _wide(holds, measure)
        for attribute in benchmark.varied:
            if attribute.name not in wide.columns.get_level_values(0):
                continue
            keys = {"aspect": aspect, "measure": measure, "benchmark": benchmark.name}
            keys |= {"attribute": attribute.name}
            for group in attribute.groups:
                row = share_row(_column(wide, attribute.name, group).dropna(), alpha)
                yield keys | {"quantity": SHARE, "group_a": group} | row
            for a, b in attribute.pairs:
                change = _column(wide, attribute.name, a) - _column(wide, attribute.name, b)
                change = change.dropna()
                n, n10, n01 = len(change), int((change > 0).sum()), int((change < 0).sum())
                low, high = tango_limits(n10, n01, n, alpha=alpha)
                yield keys | {
                    "quantity": PAIR_DIFFERENCE,
                    "group_a": a,
                    "group_b": b,
                    "estimate": (n10 - n01) / n if n else np.nan,
                    "ci_low": float(low),
                    "ci_high": float(high),
                    "ci_level": 1 - alpha,
                    "ci_method": "tango",
                    "p_value": float(mcnemar(n10=n10, n01=n01).p_value),
                    "test": "mcnemar midp",
                    "n": n,
                }


def _wide(measures: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return one row per item, one column per variant."""
    one = measures[measures["measure"] == measure]
    return one.pivot(index="item_id", columns=["attribute", "group"], values="value")


def _column(wide: pd.DataFrame, attribute: str, group: str) -> pd.Series[float]:
    if (attribute, group) in wide.columns:
        return wide[(attribute, group)]
    return pd.Series(np.nan, index=wide.index, dtype="float64")


#: Columns of a table of measures, in order. One row per variant and measure, or per variant,
#: measure and option, without duplicates. Without ``benchmark_version``, the set of variants is
#: unknown.
MEASURE_COLUMNS = (
    "benchmark",
    "benchmark_version",
    "item_id",
    "attribute",
    "group",
    "measure",
    "option",
    "role",
    "value",
)
#: The role of an option in its item; empty if a measure is not per option.
KEY, DISTRACTOR, NO_OPTION = "key", "distractor", ""

_DTYPES = dict.fromkeys(MEASURE_COLUMNS, "str") | {"value": "float64"}
_EMPTY = ("benchmark_version", "option", "role")
_REMEDY = "create it again with `fairstats vignettes audit`"
_LONGEST = 200
# Smaller differences are rounding error.
_ROUNDING = 1e-9
_SHARES = ("leakage_overlap", "leakage_distinct", "numbers_kept", "drugs_kept", "findings_kept")


def measures_frame(benchmark: str, rows: Iterable[MeasureRow]) -> pd.DataFrame:
    """Return measures that are not per option as a table.

    Examples
    --------
    >>> table = measures_frame("demo", [("demo-01", "race", "white", "words", 61)])
    >>> table[["measure", "option", "value"]].values.tolist()
    [['words', '', 61.0]]
    """
    columns = ["item_id", "attribute", "group", "measure", "value"]
    table = pd.DataFrame(list(rows), columns=columns)
    table = table.assign(benchmark=benchmark, **dict.fromkeys(_EMPTY, ""))
    return table[list(MEASURE_COLUMNS)].astype(_DTYPES)


def no_measures() -> pd.DataFrame:
    """Return a table of measures without rows."""
    return measures_frame("", ())


def read_measures(source: Paths) -> pd.DataFrame:
    """Read measures from files, or from the files ``*.measures.parquet`` in folders."""
    given = each_path(source)
    files, read = files_ending(given, MEASURES_SUFFIX), already_read(given)
    tables = [check_measures(load_table(read.get(f, f)), path=str(f)) for f in files]
    if not tables:
        return no_measures()
    together = ", ".join(map(str, files))
    return check_measures(pd.concat(tables, ignore_index=True), path=together)


def write_measures(measures: pd.DataFrame, path: Path) -> Path:
    """Write checked measures as one parquet file."""
    return write_parquet(check_measures(measures, path=str(path)), path)


def check_measures(measures: pd.DataFrame, *, path: str = "<measures>") -> pd.DataFrame:
    """Return measures with their types, or raise their problems.

    Raises
    ------
    InputError
        For missing or unknown columns, a text that is empty, unprintable or too long, a value that
        is neither a finite number nor missing, a role that does not fit its option, or a duplicate
        measure.
    """
    if list(measures.columns) != list(MEASURE_COLUMNS):
        found = ", ".join(map(str, measures.columns))[:_LONGEST]
        message = "does not have the columns of a table of measures"
        raise input_error(path, message, _REMEDY, value=printable(found))
    problems: list[Problem] = []

    def report(column: str, wrong: npt.ArrayLike, message: str) -> None:
        for row in np.flatnonzero(wrong)[:10].tolist():
            value = printable(str(measures[column].iloc[row])[:80])
            problems.append(
                Problem(path, message, _REMEDY, row=row + 1, column=column, value=value)
            )

    for column in MEASURE_COLUMNS[:-1]:
        message = f"must be printable text of at most {_LONGEST} characters"
        report(column, _faulty(measures[column], column in _EMPTY), message)
    numbers = pd.to_numeric(measures["value"], errors="coerce").to_numpy(dtype=float)
    # Some measures are undefined for some variants: those are NaN.
    wrong = np.isinf(numbers) | (np.isnan(numbers) & measures["value"].notna().to_numpy())
    report("value", wrong, "must be a finite number")
    refuse(problems)
    table = measures.astype(_DTYPES)
    of_option = table["option"] != NO_OPTION
    wrong = np.where(of_option, ~table["role"].isin([KEY, DISTRACTOR]), table["role"] != NO_OPTION)
    report("role", wrong, "does not fit the option")
    share = table["measure"].isin(_SHARES) & table["value"].notna()
    wrong = share & ~table["value"].between(-_ROUNDING, 1 + _ROUNDING)
    report("value", wrong, "must be a share from 0 to 1")
    names = [name for name in MEASURE_COLUMNS if name not in ("role", "value")]
    for row in np.flatnonzero(table.duplicated(names))[:10].tolist():
        one = table.iloc[row]
        said = f"{one['item_id']}, {one['group']}, {one['measure']}"
        remedy = "give only one file of it"
        problems.append(Problem(path, "is measured twice", remedy, row=row + 1, value=said))
    refuse(problems)
    return table.sort_values(names, ignore_index=True)


def _faulty(values: pd.Series, may_be_empty: bool) -> pd.Series:
    return values.isin(
        [
            value
            for value in values.unique()
            if not isinstance(value, str)
            or len(value) > _LONGEST
            or not (value or may_be_empty)
            or not value.isprintable()
        ]
    )
