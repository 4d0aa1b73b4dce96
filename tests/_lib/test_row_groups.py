"""Groups of rows, checked against the group-by of a data frame."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairstats._lib.row_groups import group_rows, group_sums, row_keys


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    draw = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "text": draw.choice(["b", "é", "B", "", "a b"], 500),
            "small": draw.integers(0, 3, 500),
            "large": draw.choice([-5, 0, 2**40, 2**62], 500),
            "n": draw.integers(0, 2**40, 500),
        }
    )


@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("columns", [["text"], ["small", "text"], ["large", "text", "small"]])
def test_sums_equal_those_of_a_data_frame(table, columns, sort):
    keys = {name: table[name].to_numpy() for name in columns}
    found = pd.DataFrame(group_sums(keys, {"n": table["n"].to_numpy()}, sort=sort))
    expected = table.groupby(columns, sort=sort, as_index=False)["n"].sum()
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_missing_values_form_one_group():
    groups, first = group_rows([np.array(["a", None, "a", np.nan], dtype=object)])
    assert groups.tolist() == [0, 1, 0, 1]
    assert first.tolist() == [0, 1]


def test_many_columns_do_not_overflow():
    columns = [np.arange(300) % 150 for _ in range(60)]
    groups, first = group_rows(columns)
    assert groups.tolist() == [*range(150)] * 2
    assert first.tolist() == [*range(150)]


def test_no_rows_and_no_columns():
    groups, first = group_rows([np.array([], dtype=object), np.array([], dtype=np.int64)])
    assert len(groups) == len(first) == 0
    with pytest.raises(ValueError, match="at least one array"):
        group_rows([])


def test_row_keys_are_the_values_of_each_row(table):
    keys = row_keys(table, ["text", "small"])
    assert keys == list(zip(table["text"], table["small"], strict=True))
