"""Tables contain every figure exactly, in files that any reader can open."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pandas as pd
import pytest

from fairstats._lib.table_text import json_text, records, table_csv, table_json
from fairstats.exports.catalogues import citation_cff
from fairstats.release.tables import write_table

from .undrawn import undrawn

yaml = pytest.importorskip("yaml", reason="pyyaml reads the citation")
TABLES = ("estimates", "ranks", "comparisons")


def from_json(text: str, like: pd.DataFrame) -> pd.DataFrame:
    """Read a table from its JSON, following the notes of `records`."""
    rows = json.loads(text, parse_constant=pytest.fail)
    for row in rows:
        for name, sign in row.pop("infinite", {}).items():
            assert row[name] is None
            row[name] = sign * math.inf
    return pd.DataFrame(rows, columns=like.columns).astype(like.dtypes)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("kind", ["hostile", "bounds"])
def test_table_is_read_back_exactly_from_every_format(request, tmp_path, kind, name):
    table = getattr(request.getfixturevalue(kind), name)
    written = write_table(table, tmp_path / "new", name)
    assert [path.name for path in written] == [f"{name}.{s}" for s in ("csv", "parquet")]
    pd.testing.assert_frame_equal(pd.read_parquet(written[1]), table, check_exact=True)
    pd.testing.assert_frame_equal(from_json(table_json(table), table), table, check_exact=True)
    as_csv = pd.read_csv(written[0])
    assert list(as_csv.columns) == list(table.columns)
    assert len(as_csv) == len(table)
    for column in table.select_dtypes("float"):
        np.testing.assert_array_equal(as_csv[column].astype(float), table[column])


def test_tables_have_difficult_values(hostile, bounds):
    assert np.isinf(hostile.estimates["estimate"]).any()
    assert bounds.ranks.empty
    assert bounds.comparisons["verdict"].isna().all()
    assert len(hostile.comparisons) > 0


def test_infinite_number_is_null_and_marked_as_infinite(hostile):
    rows = json.loads(table_json(hostile.estimates))
    (row,) = [row for row in rows if "infinite" in row and row["metric"] == "odds_ratio"]
    assert row["model"] == "GPT-5"
    assert row["infinite"] == {"estimate": 1, "ci_high": 1}
    assert (row["estimate"], row["ci_high"]) == (None, None)
    assert row["ci_low"] > 1
    assert records(pd.DataFrame({"low": [-np.inf]})) == [{"low": None, "infinite": {"low": -1}}]


def test_json_has_no_number_that_json_does_not_know():
    for number in (math.nan, math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            json_text({"estimate": number})
    assert json_text({"é": 0.1 + 0.2}) == '{\n "é": 0.30000000000000004\n}\n'


def test_other_readers_of_json_get_the_same_numbers(hostile):
    polars = pytest.importorskip("polars")
    text = io.StringIO(table_json(hostile.estimates))
    found = polars.read_json(text, infer_schema_length=None)["estimate"].to_numpy()
    expected = hostile.estimates["estimate"].replace(np.inf, np.nan)
    np.testing.assert_array_equal(found.astype(float), expected)


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_csv_has_no_formulas(sign):
    text = table_csv(pd.DataFrame({"model": [f"{sign}1", f"m{sign}"], "estimate": [-1.5, -0.0]}))
    (_, first, second) = csv.reader(io.StringIO(text, newline=""))
    in_csv = sign.replace("\r", "\n")
    assert first == [f"'{in_csv}1", "-1.5"]
    assert second == [f"m{in_csv}", "-0.0"]


#: Texts that a spreadsheet would run, and how they are written; then one that it would not.
FORMULAS = {
    "=1+cmd|'/C calc'!A0": "'=1+cmd|'/C calc'!A0",
    "+1+cmd|'/C calc'!A0": "'+1+cmd|'/C calc'!A0",
    "-1.5 (-2 to 1)+A1": "'-1.5 (-2 to 1)+A1",
    "@1": "'@1",
    "＝1": "'＝1",
    "＋1+A1": "'＋1+A1",
    "a;=1+1;b": "a;'=1+1;b",
    "a; b-1=c": "a; b-1=c",
}


def test_csv_has_no_formulas_in_any_cell():
    (_, *rows) = csv.reader(io.StringIO(table_csv(pd.DataFrame({"model": [*FORMULAS]}))))
    assert [text for (text,) in rows] == [*FORMULAS.values()]


@pytest.mark.parametrize("column", [[], [None, None], [True, None], [pd.Timestamp(0), None]])
def test_a_column_of_any_kind_can_be_written(column):
    table = pd.DataFrame({"name": column})
    assert table_csv(table).count("\n") == 1 + len(column)


def test_a_table_without_rows_is_written(tmp_path):
    table = pd.DataFrame(columns=["model", "estimate"])
    paths = write_table(table, tmp_path, "ranks")
    assert paths[0].read_text() == "model,estimate\n"
    assert table_json(table) == "[]\n"


def test_citation_has_all_required_fields(hostile):
    cited = yaml.safe_load(citation_cff(hostile))
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= cited.keys()
    assert (cited["type"], cited["version"]) == ("dataset", "2026.11")
    assert cited["date-released"] == hostile.manifest["created_at"][:10]
    assert cited["authors"] == [{"name": "The publishers of this release"}]
    for reference in cited["references"]:
        assert {"type", "title", "authors"} <= reference.keys()
        assert all(author["name"] for author in reference["authors"])
    software, benchmark = cited["references"]
    assert (software["title"], software["version"]) == ("fairstats", hostile.manifest["fairstats"])
    assert (benchmark["type"], benchmark["title"]) == ("data", "Demonstration items")
    assert "fairstats, demonstration items" in benchmark["notes"]
    # Its source is a file and not an address, so the format cannot include it.
    assert "url" not in benchmark


def test_the_citation_of_hostile_texts_is_text(tmp_path, benchmark_file, all_right):
    from fairstats.benchmarks.loading import load_benchmark

    title = 'a: "b" # c- {x: [y]} \U0001f917'
    benchmark = load_benchmark(
        benchmark_file(
            title=f"title = {json.dumps(title, ensure_ascii=False)}",
            citation='citation = "!!python/object:x & *y %z\\n---\\n"',
            sources='sources = ["ftp://x", "https://example.org/a b", "https://example.org/a"]',
        )
    )
    made = undrawn(all_right(benchmark), tmp_path, benchmarks=[benchmark])
    text = citation_cff(made, publisher='O\'Neil: "us"')
    cited = yaml.safe_load(text)
    assert cited["authors"] == [{"name": 'O\'Neil: "us"'}]
    assert cited["references"][1]["title"] == 'a: "b" # c- {x: [y]} \U0001f917'
    assert cited["references"][1]["notes"].startswith("Cite as: !!python/object:x & *y %z\n---")
    assert cited["references"][1]["url"] == "https://example.org/a"
    assert text.endswith("\n")
    assert all(c.isprintable() for c in text.replace("\n", ""))
