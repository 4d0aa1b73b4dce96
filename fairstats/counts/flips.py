"""Counterfactual pairs with two different letters, item by item."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairstats.answers.engine_frames import UNIT_COLUMNS, open_answers
from fairstats.benchmarks.declaration import BASELINE, Benchmark
from fairstats.counts.item_outcomes import item_patterns
from fairstats.counts.outcomes import PAIR_COLUMNS

#: Columns of the table from `flips_of`, in order.
FLIP_COLUMNS = (
    *PAIR_COLUMNS,
    "item_id",
    "sample",
    "answer_a",
    "answer_b",
    "answer_key",
    "change",
)
ONLY_A, ONLY_B, BOTH_WRONG = "only a right", "only b right", "both wrong"
#: Columns of the table from `flipping_items`, in order.
FLIPPING_COLUMNS = (*UNIT_COLUMNS, "item_id", "pairs", "flips")

_CHANGES = {"n10": ONLY_A, "n01": ONLY_B, "n00_different": BOTH_WRONG}
_DTYPES = dict.fromkeys(FLIP_COLUMNS, "str") | {"sample": "int64"}
_ITEM = [*UNIT_COLUMNS, "item_id"]


def flips_of(answers: pd.DataFrame, benchmarks: Mapping[str, Benchmark]) -> pd.DataFrame:
    """Return every counterfactual pair of a demographic attribute with two different letters.

    Parameters
    ----------
    answers : pandas.DataFrame
        The answers. A pair with a missing answer has no row under any policy, since its change is
        unknown.
    benchmarks : mapping of str to Benchmark
        The benchmarks by name.

    Returns
    -------
    pandas.DataFrame
        `FLIP_COLUMNS`, sorted by unit, declared attribute and pair, item and sample. ``change`` is
        the effect of the flip: `ONLY_A`, `ONLY_B` (group b's letter is the key) or `BOTH_WRONG`.
        The first two are the n10 and n01 of McNemar's test.

    Raises
    ------
    InputError
        As `fairstats.analyze`.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            attribute="race", item_id="demo-01", answer_key="C")
    >>> answers = pd.DataFrame([row | dict(group="white", answer="C"),
    ...                         row | dict(group="black", answer="B")])
    >>> table = flips_of(answers, {"demo": load_benchmark("demo")})
    >>> table[["answer_a", "answer_b", "change"]].values.tolist()
    [['C', 'B', 'only a right']]
    """
    if isinstance(answers, pd.DataFrame) and answers.empty:
        return pd.DataFrame(columns=list(FLIP_COLUMNS)).astype(_DTYPES)
    opened = open_answers(answers, benchmarks)
    pairs = item_patterns(opened)
    differ = pairs[pairs["pattern"].isin(list(_CHANGES)) & (pairs["attribute"] != BASELINE)]
    table = differ.assign(change=differ["pattern"].map(_CHANGES)).rename(
        columns={"letter_a": "answer_a", "letter_b": "answer_b"}
    )
    places = {
        (name, attribute.name, *pair): place
        for name, benchmark in opened.benchmarks.items()
        for place, (attribute, pair) in enumerate(
            (attribute, pair) for attribute in benchmark.varied for pair in attribute.pairs
        )
    }
    keys = ["benchmark", "attribute", "group_a", "group_b"]
    place = [places[key] for key in table[keys].itertuples(index=False, name=None)]
    table = table.assign(_place=np.array(place, dtype=np.int64))
    table = table.sort_values([*UNIT_COLUMNS, "_place", "item_id", "sample"], ignore_index=True)
    return table[list(FLIP_COLUMNS)].astype(_DTYPES)


def flipping_items(flips: pd.DataFrame) -> pd.DataFrame:
    """Return the items of each unit that flip, with the most affected items first.

    Parameters
    ----------
    flips : pandas.DataFrame
        From `flips_of`.

    Returns
    -------
    pandas.DataFrame
        `FLIPPING_COLUMNS`: ``pairs`` is the number of pairs of groups for which the item flips in
        at least one sample. ``flips`` is the number of flips over all pairs and samples. Rows are
        sorted by unit, then by most pairs, most flips and item name.
    """
    pair = flips["attribute"].str.cat([flips["group_a"], flips["group_b"]], sep="\0")
    found = (
        flips.assign(pair=pair)
        .groupby(_ITEM, as_index=False)
        .agg(pairs=("pair", "nunique"), flips=("pair", "size"))
        .astype(dict.fromkeys(_ITEM, "str") | {"pairs": "int64", "flips": "int64"})
    )
    return found.sort_values(
        [*UNIT_COLUMNS, "pairs", "flips", "item_id"],
        ascending=[True] * len(UNIT_COLUMNS) + [False, False, True],
        ignore_index=True,
    )[list(FLIPPING_COLUMNS)]
