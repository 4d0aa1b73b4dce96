"""A benchmark written as TOML is read back unchanged."""

import tomllib
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats.benchmarks.benchmark_files import copy_benchmarks, toml_text
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PLAIN = st.one_of(TEXTS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.lists(TEXTS))
TABLES = st.recursive(
    st.dictionaries(TEXTS, PLAIN), lambda inner: st.dictionaries(TEXTS, PLAIN | inner), max_leaves=9
)


@given(TABLES)
def test_written_toml_is_read_back_unchanged(values):
    assert tomllib.loads(toml_text(values)) == values


DECISION = 'kind = "decision"\noptions = ["yes", "no"]\nfavourable = ["yes"]'
LEVEL = 'kind = "level"\noptions = [1, 2, 3]\nhigher = "worse"\ncluster = "patient"'
SCORE = 'kind = "score"\nlimits = [0, 10]\nsame_within = 0.5\nworse = "highest"'
CROSSED = (
    '[attributes.race]\nlabel = "Race"\ngroups = { w = "W", b = "B" }\npairs = [["w", "b"]]\n'
    '[attributes.sex]\nlabel = "Sex"\ngroups = { m = "M", f = "F" }\npairs = [["m", "f"]]\n'
    '[attributes.race_sex]\nlabel = "Both"\ncrosses = ["race", "sex"]\npairs = []\n'
    'groups = { w_m = "WM", w_f = "WF", b_m = "BM", b_f = "BF" }'
)


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"options": DECISION},
        {"options": DECISION, "keys_file": ""},
        {"options": DECISION, "keys": "item_id,answer_key\ni1,yes\ni2,\n"},
        {"options": LEVEL, "keys": "item_id,answer_key,patient\n7,2.0,p1\n8,3,p1\n"},
        {"options": LEVEL, "keys": 'item_id,patient\n"a, b",p 1\nNA,"p ""2"""\n'},
        {"options": LEVEL, "keys": "item_id\ni1\n"},
        {"options": SCORE, "keys": "item_id,answer_key\ni1,2.5\n"},
        {"options": SCORE, "keys_file": "", "race": CROSSED, "baseline": ""},
        {"title": 'title = "T"\n"keys_file" = "keys.csv"', "keys_file": ""},
        {"keys_file": "", "title": "title = 'T'", "baseline": "", "name": 'name = "a b"'}
        | {"options": DECISION},
    ],
)
def test_copy_in_a_release_is_the_same_benchmark(parts, benchmark_file, tmp_path):
    keys = "item_id,answer_key\ni1,A\n" if "options" not in parts else "item_id\ni1\n"
    benchmark = load_benchmark(benchmark_file(**{"keys": keys} | parts))
    copy_benchmarks({benchmark.name: benchmark}, tmp_path / "copies")
    (path,) = (tmp_path / "copies").glob("*.toml")
    copied = load_benchmark(path, confined=True)
    of_files = {"path", "keys_file", "items_file", "of_release"}
    for name in {field.name for field in fields(Benchmark)} - of_files:
        assert getattr(copied, name) == getattr(benchmark, name), name
    # A copy of a copy has the same bytes.
    copy_benchmarks({copied.name: copied}, tmp_path / "again")
    for file in (tmp_path / "copies").iterdir():
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()
