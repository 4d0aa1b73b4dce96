"""What a quick look at a table allows, pandera allows too, and changes nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pandera.errors import SchemaErrors

from fairstats._lib.table_schemas import NAME, Column, Rule, TableSchema

SCHEMA = TableSchema(
    {
        "name": Column("str", NAME),
        "note": Column("str", NAME, nullable=True, required=False),
        "count": Column("int64", Rule(lambda n: n >= 0, "must not be negative")),
        "size": Column(
            "Int64", Rule(lambda n: n < 9, "is too large"), nullable=True, required=False
        ),
        "share": Column(
            "float64", Rule(lambda x: x.between(0, 1), "must be 0 to 1"), nullable=True
        ),
        "flag": Column("boolean", nullable=True, required=False),
    },
    unique=("name", "count"),
    rule=Rule(lambda frame: frame["name"] != frame["note"], "the note is the name"),
)


def table(**columns):
    given = {
        "name": ["a", "b"],
        "note": ["x", None],
        "count": [0, 0],
        "size": pd.array([1, None], dtype="Int64"),
        "share": [0.5, np.nan],
        "flag": pd.array([True, None], dtype="boolean"),
    }
    return pd.DataFrame({name: c for name, c in (given | columns).items() if c is not None})


@pytest.mark.parametrize("dropped", [(), ("size",), ("flag",), ("size", "flag")])
def test_table_without_a_fault_is_left_alone_by_pandera_too(dropped):
    frame = table(**dict.fromkeys(dropped))
    assert SCHEMA.allows(frame)
    checked, problems = SCHEMA.check(frame, "t.csv")
    assert problems == []
    pd.testing.assert_frame_equal(checked, SCHEMA.to_pandera().validate(frame, lazy=True))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"name": ["a", ""]}, "row 2: name = '': must be 1 to 200 printable characters"),
        ({"name": ["a", None]}, "row 2: name: must not be empty; fill it in"),
        ({"note": ["x\n", None]}, "row 1: note = 'x\\n': must be 1 to 200"),
        ({"count": [0, -1]}, "row 2: count = '-1': must not be negative; correct the value"),
        ({"size": pd.array([9, None], dtype="Int64")}, "row 1: size = '9': is too large"),
        ({"share": [0.5, 1.5]}, "row 2: share = '1.5': must be 0 to 1"),
        ({"share": ["much", None]}, "share"),
        ({"other": [1, 2]}, "other"),
        ({"name": ["a", "a"]}, "row 2: key = 'a': the row is there twice; delete one"),
        ({"note": ["a", None]}, "row 1: key = 'a': the note is the name"),
    ],
)
def test_every_fault_is_found_by_both_and_named(columns, said):
    frame = table(**columns)
    assert not SCHEMA.allows(frame)
    with pytest.raises(SchemaErrors):
        SCHEMA.to_pandera().validate(frame, lazy=True)
    _, problems = SCHEMA.check(frame, "t.csv", of_row=lambda row: ("key", frame["name"][row]))
    assert any(said in str(problem) for problem in problems), problems


@pytest.mark.parametrize(
    "columns",
    [
        {"count": ["0", "1"]},
        {"count": pd.array([0, 1], dtype="Int64")},
        {"name": pd.Categorical(["a", "b"])},
        {"share": [0, 1]},
        {"note": [None, None]},
        {"flag": [True, False]},
        {"size": [1, 2]},
    ],
)
def test_columns_of_other_types_are_converted(columns):
    frame = table(**columns)
    assert not SCHEMA.allows(frame)
    checked, problems = SCHEMA.check(frame, "t.csv")
    assert problems == []
    assert SCHEMA.allows(checked)
    pd.testing.assert_frame_equal(checked, SCHEMA.to_pandera().validate(frame, lazy=True))


def test_columns_given_twice_are_not_allowed():
    frame = table()
    assert not SCHEMA.allows(pd.concat([frame, frame[["note"]]], axis=1))


def test_lack_of_a_column_is_not_allowed():
    assert not SCHEMA.allows(table(name=None))
