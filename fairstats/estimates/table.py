"""The estimates table, and its main columns in one row per pair, as a paper prints them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.benchmarks.kinds import DIFFERENCES, KINDS, TESTS
from fairstats.counts.patterns import PAIR_COLUMNS
from fairstats.metrics.metric import Columns

#: The columns of the estimates table, in order.
ESTIMATE_COLUMNS = (
    "benchmark",
    "benchmark_version",
    "model",
    "snapshot",
    "strategy",
    "attribute",
    "group_a",
    "group_b",
    "metric",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "statistic",
    "p_value",
    "p_adjusted",
    "adjust_method",
    "test",
    "n",
    "n_units",
    "n_a",
    "n_b",
    "n10",
    "n01",
    "n_missing_a",
    "n_missing_b",
    "missing",
    "margin",
    "verdict",
    "verdict_reason",
    "method_note",
)
_WHOLE = {"n", "n_units", "n_a", "n_b", "n10", "n01", "n_missing_a", "n_missing_b"}
_LIMITS = {"ci_low", "ci_high", "ci_level"}
_NUMBER = {"estimate", "statistic", "p_value", "p_adjusted", "margin"} | _LIMITS

#: The estimates table before it is a data frame: `ESTIMATE_COLUMNS` by name, arrays of one length.
Rows = dict[str, Any]

#: Note on every range over fill-ins.
BOUNDS_NOTE = "lowest and highest value over all fill-ins; no sampling error"

#: Prefixes of the names of the tests with the adjusted p-value used for the verdict.
PRIMARY_TESTS = ("mcnemar midp", "sign flip midp")


def is_primary_test(estimates: pd.DataFrame) -> pd.Series:
    """Return which rows are the test used for the verdict, with or without flipped units."""
    return pd.Series(is_test(estimates, *PRIMARY_TESTS), index=estimates.index, dtype=bool)


def is_test(estimates: pd.DataFrame | Columns, *tests: str) -> npt.NDArray[np.bool_]:
    """Return which rows are a test of no difference in this form, e.g. ``"mcnemar exact"``."""
    found = [
        metric in TESTS and isinstance(name, str) and name.startswith(tests)
        for metric, name in zip(estimates["metric"], estimates["test"], strict=True)
    ]
    return np.array(found, dtype=bool)


def joined(tables: Sequence[Columns]) -> Rows:
    """Join rows with different columns; columns that a table lacks are missing in its rows.

    Texts are arrays of objects, with None if one is missing; counts are nullable integers.
    """
    sizes = [len(table["benchmark"]) if table else 0 for table in tables]
    stops = np.cumsum(sizes).tolist()
    places = [slice(stop - size, stop) for stop, size in zip(stops, sizes, strict=True)]
    return {
        name: _joined(
            name,
            sum(sizes),
            [
                (rows, table[name])
                for rows, table in zip(places, tables, strict=True)
                if name in table
            ],
        )
        for name in ESTIMATE_COLUMNS
    }


def _joined(name: str, size: int, parts: list[tuple[slice, Any]]) -> Any:
    if name in _WHOLE:
        counts, absent = np.zeros(size, dtype="int64"), np.ones(size, dtype=bool)
        for rows, column in parts:
            absent[rows] = pd.isna(column)
            counts[rows] = np.where(absent[rows], 0, column)
        return pd.arrays.IntegerArray(counts, absent)
    found = np.full(size, np.nan) if name in _NUMBER else np.full(size, None, dtype=object)
    for rows, column in parts:
        found[rows] = column
    return found


def add_note(columns: Rows, place: int, note: str) -> None:
    """Add a note on how a row was computed."""
    known = columns["method_note"][place]
    columns["method_note"][place] = f"{known}; {note}" if known else note


def estimates_table(columns: Rows) -> pd.DataFrame:
    """Return the estimates table of its columns."""
    texts = [name for name in ESTIMATE_COLUMNS if name not in _NUMBER | _WHOLE]
    return pd.DataFrame(
        {name: columns[name] for name in ESTIMATE_COLUMNS}
        | {name: pd.array(columns[name], dtype="str") for name in texts}
    )


_INTERVAL = {"estimate": "", "ci_low": "_low", "ci_high": "_high"}
_KEYS = list(PAIR_COLUMNS)

#: The columns of `publication_table`, in order.
PUBLICATION_COLUMNS = (
    *_KEYS,
    "metric",
    "n",
    "rate_a",
    "rate_b",
    *(f"difference{end}" for end in _INTERVAL.values()),
    "p_value",
    "p_adjusted",
    *(f"cfr{end}" for end in _INTERVAL.values()),
    *(f"cohens_h{end}" for end in _INTERVAL.values()),
    "verdict",
    "verdict_reason",
    "margin",
    "ci_level",
    "missing",
    "method_note",
)
_JUDGED = ("n", "verdict", "verdict_reason", "margin", "ci_level", "missing", "method_note")


def publication_table(estimates: pd.DataFrame) -> pd.DataFrame:
    """Return the main estimates of each pair of groups in one row.

    Parameters
    ----------
    estimates : pandas.DataFrame
        The table from `analyze`, or some of its rows: each model, attribute or policy may be left
        out, but no metric that the table shows.

    Returns
    -------
    pandas.DataFrame
        One row per pair, with columns `PUBLICATION_COLUMNS`, in the order of the estimates. By the
        kind of answers, `metric` is the judged difference, such as ``"accuracy_difference"``, and
        `rate_a` and `rate_b` are each group's accuracy, selection rate, mean level or mean score.
        `difference` (a − b), `cfr` and `cohens_h` (of shares only) have their limits (``_low``,
        ``_high``). The p-value is that of the mid-p test that decides the verdict, with its
        adjusted value. `n` is the number of pairs of answers of the difference. The margin, the
        level of the intervals, the policy for missing answers and notes say how it was judged. What
        was not estimated is NaN; the baseline pair has no verdict.

    Raises
    ------
    ValueError
        If a column or a metric is missing, or a pair has two rows of a metric.

    Examples
    --------
    >>> from fairstats import analyze, example_answers
    >>> answers = example_answers().query("attribute == 'race' and model in ['GPT-4o', 'GPT-4.1']")
    >>> table = publication_table(analyze(answers))
    >>> table[["model", "rate_a", "rate_b", "difference", "cfr", "verdict"]].round(3)
         model  rate_a  rate_b  difference    cfr    verdict
    0  GPT-4.1   0.923   0.774       0.149  0.804  disparity
    1   GPT-4o   0.912   0.727       0.186  0.777  disparity
    """
    columns = {*_KEYS, *_INTERVAL, *_JUDGED, "metric", "test", "p_value", "p_adjusted"}
    if missing := sorted(columns - set(estimates)):
        raise ValueError(
            f"estimates lacks the column {missing[0]}: give the table from fairstats.analyze"
        )
    counted = estimates[estimates["missing"] != "bounds"]
    there = set(counted["metric"])
    kinds = [kind for kind in KINDS.values() if kind.difference in there]
    needed = {"cfr"}.union(*({one.rate_a, one.rate_b, one.test} for one in kinds))
    if any(not kind.numeric for kind in kinds):
        needed.add("cohens_h")
    absent = sorted(needed - there) if kinds else ["the difference between groups"]
    if len(counted) and absent:
        raise ValueError(f"estimates lacks {absent[0]}: leave metrics= out of fairstats.analyze")
    wide = estimates[estimates["metric"].isin(DIFFERENCES)].set_index(_KEYS)
    wide = wide[["metric", *_JUDGED]]
    shown = {"difference": DIFFERENCES, "cfr": ["cfr"], "cohens_h": ["cohens_h"]}
    for name, metrics in shown.items():
        own = _by_pair(estimates, metrics)
        for column, end in _INTERVAL.items():
            wide[name + end] = own[column].reindex(wide.index)
    tests = _by_pair(estimates[is_primary_test(estimates)], TESTS)
    for column in ("p_value", "p_adjusted"):
        wide[column] = tests[column].reindex(wide.index).astype("float64")
    for name in ("rate_a", "rate_b"):
        wide[name] = np.nan
        # Levels can have an accuracy, too.
        for kind in kinds:
            own = wide.index[wide["metric"] == kind.difference]
            rates = _by_pair(estimates, [getattr(kind, name)])
            wide.loc[own, name] = rates["estimate"].reindex(own)
    return wide.reset_index()[list(PUBLICATION_COLUMNS)]


def _by_pair(estimates: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    rows = estimates[estimates["metric"].isin(metrics)]
    twice = rows.duplicated(_KEYS)
    if twice.any():
        metric = rows.loc[twice, "metric"].iloc[0]
        pair = " · ".join(rows.loc[twice, _KEYS].iloc[0].astype("str"))
        raise ValueError(
            f"{pair} has two rows of {metric}: give the estimates of one analysis and one policy"
        )
    return rows.set_index(_KEYS)
