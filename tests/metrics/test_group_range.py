"""Demographic parity and equal opportunity: the range of a rate over any number of groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats.inference.intervals import tango
from fairstats.metrics.accuracy import absolute_interval
from fairstats.metrics.demographic_parity import demographic_parity
from fairstats.metrics.equal_opportunity import equal_opportunity
from fairstats.metrics.group_range import pair_differences

POLICIES = ("available", "complete", "incorrect")
PATTERN = st.tuples(st.text("10x", min_size=3, max_size=3), st.sampled_from("10x"))
TABLE = st.dictionaries(PATTERN, st.integers(1, 30), min_size=1, max_size=8)


def outcomes_of(table: dict[tuple[str, str], int]) -> pd.DataFrame:
    signs, answerable = zip(*table, strict=True)
    return pd.DataFrame({"outcomes": signs, "answerable": answerable, "n": list(table.values())})


def rates(table: dict[tuple[str, str], int], policy: str) -> list[float]:
    """P(correct) of each group, item by item."""
    items = [signs for (signs, _), n in table.items() for _ in range(n)]
    if policy == "complete":
        items = [signs for signs in items if "x" not in signs]
    shares = []
    for group in range(len(next(iter(table))[0])):
        own = [signs[group] for signs in items]
        if policy == "available":
            own = [sign for sign in own if sign != "x"]
        shares.append(own.count("1") / len(own) if own else float("nan"))
    return shares


@pytest.mark.parametrize("policy", POLICIES)
@given(table=TABLE)
def test_dp_is_the_range_of_the_rates(policy, table):
    found = demographic_parity(outcomes_of(table), missing=policy)
    expected = max(rates(table, policy)) - min(rates(table, policy))
    if any(np.isnan(rates(table, policy))):
        expected = float("nan")
    assert found.estimate == pytest.approx(expected, nan_ok=True)
    assert 0 <= found.ci_low <= found.ci_high <= 1
    assert np.isnan(found.estimate) or found.ci_low <= found.estimate <= found.ci_high


@pytest.mark.parametrize("policy", POLICIES)
@given(table=TABLE)
def test_eo_is_dp_over_the_answerable_items(policy, table):
    answerable = {key: n for key, n in table.items() if key[1] == "1"}
    found = equal_opportunity(outcomes_of(table), missing=policy)
    if not answerable:
        assert np.isnan(found.estimate)
        assert (found.ci_low, found.ci_high, found.n) == (0, 1, 0)
        return
    expected = demographic_parity(outcomes_of(answerable), missing=policy)
    assert found.n == expected.n
    np.testing.assert_array_equal(
        [found.estimate, found.ci_low, found.ci_high],
        [expected.estimate, expected.ci_low, expected.ci_high],
    )


@given(table=TABLE, order=st.permutations(range(3)))
def test_the_order_of_the_groups_does_not_matter(table, order):
    moved = {}
    for (signs, answerable), n in table.items():
        moved["".join(signs[i] for i in order), answerable] = n
    one, other = (demographic_parity(outcomes_of(t)) for t in (table, moved))
    np.testing.assert_allclose(
        [one.estimate, one.ci_low, one.ci_high], [other.estimate, other.ci_low, other.ci_high]
    )


def test_three_groups_share_the_level_between_their_pairs():
    table = {("110", "1"): 40, ("100", "1"): 10, ("111", "1"): 30, ("000", "1"): 20}
    found = demographic_parity(outcomes_of(table))
    widest = tango(50, 50, 0, 0, alpha=0.05 / 3)
    assert found.estimate == pytest.approx(0.5)
    assert (found.ci_low, found.ci_high) == (widest.ci_low, widest.ci_high)
    assert found.method == "tango, absolute, Bonferroni over 3 pairs"


def test_answers_of_single_groups_count_in_estimate_and_interval():
    table = {("11", "1"): 200, ("1x", "1"): 300, ("x0", "1"): 300}
    found = demographic_parity(outcomes_of(table))
    assert found.estimate == pytest.approx(0.6)
    assert found.ci_low < found.estimate < found.ci_high
    assert found.method == "newcombe, partly paired, absolute"


def test_a_design_effect_widens_the_interval_and_is_named():
    table = {("10", "1"): 40, ("01", "1"): 10, ("11", "1"): 150}
    one = demographic_parity(outcomes_of(table))
    wide = demographic_parity(outcomes_of(table), design_effects={(0, 1): 2.0})
    assert wide.ci_low < one.ci_low < one.ci_high < wide.ci_high
    assert wide.method == "tango, absolute, design effect up to 2"


def test_every_pair_has_a_simultaneous_interval():
    table = {("110", "1"): 40, ("100", "1"): 10, ("111", "1"): 30, ("000", "1"): 20}
    found = pair_differences(outcomes_of(table))
    assert found.pairs == ((0, 1), (0, 2), (1, 2))
    np.testing.assert_allclose(found.estimate.estimate, [0.1, 0.5, 0.4])
    for (n10, n01), low in zip([(10, 0), (50, 0), (40, 0)], found.estimate.ci_low, strict=True):
        assert low == tango(100 - n10 - n01, n10, n01, 0, alpha=0.05 / 3).ci_low


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-0.2, 0.1, (0, 0.2)),
        (0.1, 0.3, (0.1, 0.3)),
        (-0.3, -0.1, (0.1, 0.3)),
        (0.0, 0.0, (0, 0)),
        (0.0, 0.4, (0, 0.4)),
    ],
)
def test_absolute_interval(low, high, expected):
    assert absolute_interval(low, high) == expected
