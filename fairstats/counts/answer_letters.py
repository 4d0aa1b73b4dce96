"""The option letters that a model answers, compared with how often each is the key."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmarks

#: Columns of the table from `letters_of`, in order.
LETTER_COLUMNS = (
    *UNIT_COLUMNS,
    "attribute",
    "group",
    "letter",
    "count",
    "share",
    "key_count",
    "key_share",
)
#: Label used for a missing answer.
NO_ANSWER = "missing"

_GROUP = [*UNIT_COLUMNS, "attribute", "group"]
_DTYPES = {
    **dict.fromkeys((*_GROUP, "letter"), "str"),
    **dict.fromkeys(("count", "key_count"), "int64"),
    **dict.fromkeys(("share", "key_share"), "float64"),
}


def letters_of(answers: pd.DataFrame, benchmarks: Mapping[str, Benchmark]) -> pd.DataFrame:
    """Count how often each letter is the answer, and how often it is the key, per group.

    Some letter is far more frequent in the answers than in the keys if a model guesses, or if a
    parser reads the article "a" as an answer.

    Parameters
    ----------
    answers : pandas.DataFrame
        The answers. Letters are counted the same under every policy for missing answers.
    benchmarks : mapping of str to Benchmark
        The benchmarks by name.

    Returns
    -------
    pandas.DataFrame
        `LETTER_COLUMNS`: one row per unit, attribute, group and option letter, and one row
        (`NO_ANSWER`) for missing answers. Groups that were not asked have no rows. ``share`` is the
        share of the group's answers, NaN if it has none; for missing answers it is the share of all
        that the group was asked. ``key_count`` and ``key_share`` count the keys of all that the
        group was asked, answered or not, once per sample.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            attribute="race", group="white")
    >>> answers = pd.DataFrame([row | dict(item_id="demo-01", answer="A", answer_key="C"),
    ...                         row | dict(item_id="demo-02", answer=None, answer_key="A")])
    >>> table = letters_of(answers, {"demo": load_benchmark("demo")})
    >>> table.set_index("letter").loc[["A", "C", "missing"], ["share", "key_share"]].values.tolist()
    [[1.0, 0.5], [0.0, 0.5], [0.5, 0.0]]
    """
    if answers.empty:
        return pd.DataFrame(columns=list(LETTER_COLUMNS)).astype(_DTYPES)
    rows = answers[[*_GROUP, "answer", "answer_key"]].astype("str")
    rows = rows.assign(answer=rows["answer"].fillna(NO_ANSWER))
    known = load_benchmarks(rows["benchmark"].unique().tolist(), benchmarks)
    tables = []
    for name, own in rows.groupby("benchmark", sort=True):
        benchmark = known[str(name)]
        letters = [*benchmark.options, NO_ANSWER]
        counts, keys = (
            own.groupby([*_GROUP, column], sort=False)
            .size()
            .unstack(fill_value=0)
            .reindex(columns=letters, fill_value=0)
            .rename_axis(columns="letter")
            .stack()
            for column in ("answer", "answer_key")
        )
        table = pd.DataFrame({"count": counts, "key_count": keys}).reset_index()
        places = {variant: place for place, variant in enumerate(benchmark.variants)}
        place = [places[v] for v in zip(table["attribute"], table["group"], strict=True)]
        table = table.assign(_place=place, _letter=table["letter"].map(letters.index))
        tables.append(table.sort_values([*UNIT_COLUMNS, "_place", "_letter"]))
    return _with_shares(pd.concat(tables, ignore_index=True))


def _with_shares(table: pd.DataFrame) -> pd.DataFrame:
    there = table["letter"] != NO_ANSWER
    keys = [table[column] for column in _GROUP]
    asked = table["count"].groupby(keys).transform("sum")
    answered = table["count"].where(there, 0).groupby(keys).transform("sum")
    of = np.where(there, answered, asked)
    table = table.assign(
        share=(table["count"] / of).where(of > 0), key_share=table["key_count"] / asked
    )
    return table[list(LETTER_COLUMNS)].astype(_DTYPES)
