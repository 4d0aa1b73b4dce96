"""The table of measures: its columns, and all possible faults."""

import numpy as np
import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.vignettes.tables import check_measures, no_measures, read_measures, write_measures

ROW = {
    "benchmark": "demo",
    "benchmark_version": "1",
    "item_id": "i1",
    "attribute": "race",
    "group": "white",
    "measure": "leakage_overlap",
    "option": "A",
    "role": "key",
    "value": 0.5,
}


def test_empty_measures_are_a_table(tmp_path):
    assert check_measures(no_measures()).empty
    assert read_measures(tmp_path).empty


def test_written_measures_are_read_back(tmp_path):
    rows = [ROW, ROW | {"option": "B", "role": "distractor", "value": np.nan}]
    table = check_measures(pd.DataFrame(rows))
    path = write_measures(table, tmp_path / "a.measures.parquet")
    pd.testing.assert_frame_equal(read_measures(tmp_path), table)
    assert read_measures([path, path.parent]).shape == (2, 9)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"value": np.inf}, "row 1: value = 'inf': must be a finite number"),
        ({"value": "high"}, "row 1: value = 'high': must be a finite number"),
        ({"value": 7.0}, "row 1: value = '7.0': must be a share"),
        ({"role": "other"}, "row 1: role = 'other': does not fit the option"),
        ({"option": ""}, "row 1: role = 'key': does not fit the option"),
        ({"item_id": ""}, "row 1: item_id"),
        ({"group": "a\nb"}, "row 1: group"),
        ({"measure": "x" * 201}, "row 1: measure"),
        ({"benchmark": 7}, "row 1: benchmark"),
        ({"benchmark": None}, "row 1: benchmark"),
    ],
)
def test_a_fault_is_named(changed, said):
    with pytest.raises(InputError) as raised:
        check_measures(pd.DataFrame([ROW | changed], dtype=object))
    assert said in str(raised.value)


def test_other_columns_and_duplicate_measures_are_refused(tmp_path):
    with pytest.raises(InputError, match="does not have the columns"):
        check_measures(pd.DataFrame([ROW]).drop(columns="role"))
    for name in "ab":
        write_measures(pd.DataFrame([ROW]), tmp_path / f"{name}.measures.parquet")
    with pytest.raises(InputError, match="is measured twice"):
        read_measures(tmp_path)


def test_file_that_is_not_parquet_is_named(tmp_path):
    (tmp_path / "a.measures.parquet").write_text("text")
    with pytest.raises(InputError, match=r"a\.measures\.parquet: is not a parquet file"):
        read_measures(tmp_path)
