"""A benchmark written as TOML is read back unchanged."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from fairstats.benchmarks.benchmark_files import toml_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PLAIN = st.one_of(TEXTS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.lists(TEXTS))
TABLES = st.recursive(
    st.dictionaries(TEXTS, PLAIN), lambda inner: st.dictionaries(TEXTS, PLAIN | inner), max_leaves=9
)


@given(TABLES)
def test_written_toml_is_read_back_unchanged(values):
    assert tomllib.loads(toml_text(values)) == values
