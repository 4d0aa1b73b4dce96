"""The answers item by item, compared with their totals."""

from __future__ import annotations

import random

import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.counts.item_kinds import count_items
from fairstats.counts.item_outcomes import SUMS, crossed_patterns, item_patterns, item_sums
from fairstats.counts.missing_policies import apply_policy
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS, count_outcomes


@pytest.fixture(scope="module")
def sampled(answers_of) -> pd.DataFrame:
    """Two samples of 60 items of two attributes, with answers missing."""
    draw = random.Random(1)

    def items() -> list[str]:
        return ["".join(draw.choices("AAAB-C", k=2)) + "/A" for _ in range(60)]

    parts = [
        answers_of(items(), groups=groups, attribute=attribute, sample=sample)
        for attribute, groups in (("race", ("white", "black")), ("sex", ("male", "female")))
        for sample in (0, 1)
    ]
    return pd.concat(parts).drop_duplicates(["item_id", "attribute", "group", "sample"])


def test_patterns_add_up_to_the_counts(sampled):
    found = crossed_patterns(item_patterns(sampled))
    found = found.groupby(list(PAIR_COLUMNS))[list(PATTERNS)].sum()
    counts = count_outcomes(sampled).set_index(list(PAIR_COLUMNS))[list(PATTERNS)]
    pd.testing.assert_frame_equal(found.sort_index(), counts.sort_index())


def test_patterns_have_a_row_per_sample(sampled):
    rows = item_patterns(sampled).groupby([*PAIR_COLUMNS, "item_id"])["sample"].agg(list)
    assert set(map(tuple, rows)) == {(0, 1)}


@pytest.mark.parametrize("policy", ["available", "complete", "incorrect"])
def test_sums_add_up_to_the_counts_of_the_policy(sampled, policy):
    sums = item_sums(item_patterns(sampled), policy)
    totals = sums.groupby(list(PAIR_COLUMNS))[[*SUMS, "difference"]].sum()
    counts = count_outcomes(sampled)
    paired = apply_policy(counts, policy)
    for i, key in enumerate(counts[list(PAIR_COLUMNS)].itertuples(index=False, name=None)):
        row = totals.loc[key]
        assert row["difference"] == paired.n10[i] - paired.n01[i]
        for name in SUMS:
            assert row[name] == getattr(paired, name)[i], name


def test_kinds_of_items_add_up_to_the_counts(sampled):
    kinds = count_items(sampled)
    counts = count_outcomes(sampled).set_index(list(PAIR_COLUMNS))
    pooled = dict.fromkeys(PATTERNS, 0)
    for key, rows in kinds.groupby(list(PAIR_COLUMNS)):
        assert rows["items"].sum() == 60
        total = {pattern: int((rows[pattern] * rows["items"]).sum()) for pattern in PATTERNS}
        if key[-3] == "pooled":
            pooled = total
        else:
            assert total == counts.loc[key, list(PATTERNS)].to_dict()
    demographic = counts.query("attribute in ('race', 'sex')")
    assert pooled == demographic[list(PATTERNS)].sum().to_dict()


@pytest.mark.parametrize("engine", ["polars", "polars lazy", "duckdb", "pyarrow", "pyspark"])
def test_every_engine_gives_the_same_items(engine, sampled, in_engine):
    pd.testing.assert_frame_equal(count_items(in_engine(sampled, engine)), count_items(sampled))
    keys = [*PAIR_COLUMNS, "item_id", "sample"]
    one, other = (
        item_patterns(table).sort_values(keys, ignore_index=True)
        for table in (sampled, in_engine(sampled, engine))
    )
    pd.testing.assert_frame_equal(other.astype({"sample": "int64"}), one)


def test_benchmark_without_groups_has_no_patterns(answers_of):
    answers = answers_of(["A"], benchmark="mirage-medqa", groups=("asked",), attribute="question")
    patterns = item_patterns(answers)
    assert patterns.empty
    assert {*PAIR_COLUMNS, "pattern"} < set(patterns)


def test_duplicate_answer_is_refused(answers_of):
    twice = pd.concat([answers_of(["AB"]), answers_of(["AB"])])
    with pytest.raises(InputError, match="more than once"):
        item_patterns(twice)
