"""Forms in which paired counts are given, and messages for others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairstats.inference.paired_counts import discordant_counts, paired_counts

PAIRS = pd.DataFrame(
    {"a": [True] * 52 + [False] * 48, "b": [True] * 43 + [False] * 9 + [True] * 4 + [False] * 44}
)
WITHOUT_AN_ANSWER = PAIRS.astype("boolean")
WITHOUT_AN_ANSWER.loc[7, "a"] = pd.NA
TABLE = [[43, 9], [4, 44]]


@pytest.mark.parametrize(
    "given",
    [
        TABLE,
        np.array(TABLE),
        PAIRS,
        PAIRS.astype("boolean"),
        PAIRS.astype(int),
        PAIRS.rename(columns={"a": "correct_a", "b": "correct_b"}).assign(item_id="x"),
        pd.crosstab(PAIRS["a"], PAIRS["b"]),
        pd.crosstab(PAIRS["a"].astype(int), PAIRS["b"].astype(int)),
        pd.crosstab(PAIRS["a"], PAIRS["b"]).iloc[::-1, ::-1],
        pd.DataFrame({"n00": [44], "n01": [4], "n10": [9], "n11": [43], "model": ["m"]}),
    ],
)
def test_same_counts_in_every_form(given):
    assert [int(np.squeeze(count)) for count in paired_counts(given)] == [43, 9, 4, 44]
    assert int(np.squeeze(paired_counts(given).n)) == 100


def test_tables_are_stacked_and_counts_broadcast():
    assert paired_counts([TABLE, [[1, 2], [3, 4]]]).n10.tolist() == [9, 2]
    assert paired_counts(1, [2, 3], 4, 5).n.tolist() == [12, 13]


def test_discordant_counts_need_no_others_if_named():
    assert [int(count) for count in discordant_counts(n10=9, n01=4)] == [9, 4]
    assert [int(count) for count in discordant_counts(TABLE)] == [9, 4]
    with pytest.raises(ValueError, match=r"name them, n10=\.\.\. and n01="):
        discordant_counts(9, 4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1, 2, 3), "n00 missing: give the four counts"),
        (([43, 9, 4, 44],), r"must have shape \(\.\.\., 2, 2\), got \(4,\)"),
        (([[1, 2], [3]],), r"must have shape"),
        ((), "n11, n10, n01, n00 missing"),
        ((pd.DataFrame({"a": [1], "b": [1], "c": [1]}),), "neither counts nor pairs"),
        ((PAIRS.astype(object).replace({True: "yes"}),), "row 0, column 'a': 'yes' is neither"),
        ((WITHOUT_AN_ANSWER,), "row 7, column 'a': <NA> .* drop the"),
        (([[1, -2], [3, 4]],), "n10=-2 must be a whole number"),
    ],
)
def test_other_forms_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        paired_counts(*given)


def test_frames_of_other_libraries_are_read():
    pyarrow = pytest.importorskip("pyarrow")
    assert [int(count) for count in paired_counts(pyarrow.Table.from_pandas(PAIRS))] == [
        43,
        9,
        4,
        44,
    ]
