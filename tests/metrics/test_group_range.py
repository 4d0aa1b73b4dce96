"""Demographic parity and equal opportunity: the range of a rate over any number of groups."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pytest

from fairstats.counts.grid import grid
from fairstats.counts.patterns import GroupAnswers
from fairstats.inference.intervals import tango
from fairstats.metrics.accuracy import absolute_interval
from fairstats.metrics.demographic_parity import DP
from fairstats.metrics.equal_opportunity import EO
from fairstats.metrics.group_range import compare_groups
from fairstats.metrics.metric import Groups
from tests.make_groups import make_groups, row_of, rows_of

POLICIES = ("available", "complete", "incorrect")
COLUMNS = ("estimate", "ci_low", "ci_high", "n")


def drawn_tables(seed: int) -> list[dict[str, int]]:
    """Return numbers of items by their answers for three groups and the neutralized variant."""
    draw = random.Random(seed)
    return [
        {
            "".join(draw.choices("AB-", k=3)) + f"/{draw.choice('AB-')}": draw.randint(1, 30)
            for _ in range(draw.randint(1, 8))
        }
        for _ in range(60)
    ]


TABLES = drawn_tables(1)


def rates(table: dict[str, int], policy: str) -> list[float]:
    """P(correct) of each group, item by item."""
    items = [text[:3] for text, n in table.items() for _ in range(n)]
    if policy == "complete":
        items = [signs for signs in items if "-" not in signs]
    shares = []
    for group in range(3):
        own = [signs[group] for signs in items]
        if policy == "available":
            own = [sign for sign in own if sign != "-"]
        shares.append(own.count("A") / len(own) if own else float("nan"))
    return shares


@pytest.mark.parametrize("policy", POLICIES)
def test_dp_is_the_range_of_the_rates(policy, three_groups):
    rows = rows_of(DP, make_groups(three_groups, *TABLES, missing=policy))
    unknown = 0
    for row, table in zip(rows, TABLES, strict=True):
        of_groups = rates(table, policy)
        expected = float("nan") if np.isnan(of_groups).any() else max(of_groups) - min(of_groups)
        assert row["estimate"] == pytest.approx(expected, nan_ok=True)
        assert 0 <= row["ci_low"] <= row["ci_high"] <= 1
        unknown += np.isnan(expected)
        assert np.isnan(expected) or row["ci_low"] <= expected <= row["ci_high"]
    # If a missing answer is wrong, every group has answers.
    assert (unknown > 0) == (policy != "incorrect")


@pytest.mark.parametrize("policy", POLICIES)
def test_eo_is_dp_over_the_answerable_items(policy, three_groups):
    tables = [{text: n for text, n in table.items() if text.endswith("/A")} for table in TABLES]
    assert {} in tables
    expected = rows_of(DP, make_groups(three_groups, *filter(None, tables), missing=policy))
    rows = rows_of(EO, make_groups(three_groups, *TABLES, missing=policy))
    for table, row in zip(tables, rows, strict=True):
        own = expected.pop(0) if table else dict(zip(COLUMNS, (np.nan, 0, 1, 0), strict=True))
        np.testing.assert_array_equal(
            [row[name] for name in COLUMNS], [own[name] for name in COLUMNS]
        )


def test_the_order_of_the_groups_does_not_matter(three_groups):
    expected = DP.compute(make_groups(three_groups, *TABLES))
    for order in ((1, 2, 0), (1, 0, 2)):
        moved = [
            {"".join(text[i] for i in order) + text[3:]: n for text, n in table.items()}
            for table in TABLES
        ]
        found = DP.compute(make_groups(three_groups, *moved))
        for name in COLUMNS:
            np.testing.assert_allclose(found[name], expected[name])


def test_every_pair_of_three_groups_has_a_simultaneous_interval(three_groups):
    table = {"AAB/A": 40, "ABB/A": 10, "AAA/A": 30, "BBB/A": 20}
    groups = make_groups(three_groups, table)
    pairs = compare_groups(groups).estimate
    assert groups.pairs == ((0, 1), (0, 2), (1, 2))
    np.testing.assert_allclose(pairs.estimate, [[0.1, 0.5, 0.4]])
    for n10, low in zip([10, 50, 40], pairs.ci_low[0], strict=True):
        assert low == tango(100 - n10, n10, 0, 0, alpha=0.05 / 3).ci_low
    row, widest = row_of(DP, groups), tango(50, 50, 0, 0, alpha=0.05 / 3)
    assert row["estimate"] == pytest.approx(0.5)
    assert (row["ci_low"], row["ci_high"]) == (widest.ci_low, widest.ci_high)
    assert row["ci_method"] == "tango, absolute, Bonferroni over 3 pairs"


def test_answers_of_single_groups_count_in_estimate_and_interval(demo):
    row = row_of(DP, make_groups(demo, {"AA": 200, "A-": 300, "-B": 300}))
    assert row["estimate"] == pytest.approx(0.6)
    assert row["ci_low"] < row["estimate"] < row["ci_high"]
    assert row["ci_method"] == "newcombe, partly paired, absolute"


def test_design_effect_of_several_samples_widens_the_interval_and_is_named(demo, answers_of):
    texts = ["AB/A"] * 40 + ["BA/A"] * 10 + ["AA/A"] * 150
    answers = pd.concat([answers_of(texts, sample=sample) for sample in range(2)])
    own = GroupAnswers.of(grid(answers)["demo"], demo.attributes["race"])
    twice = Groups(own)
    ((effect,),) = compare_groups(twice).effects
    assert effect == pytest.approx(4, rel=0.01)
    # Four pairs of answers for each item.
    expected = tango(600, 160, 40, 0, design_effect=effect)
    for metric in (DP, EO):
        row = row_of(metric, twice)
        assert row["estimate"] == pytest.approx(0.15)
        if metric is DP:
            assert (row["ci_low"], row["ci_high"]) == (expected.ci_low, expected.ci_high)
        assert row["ci_method"].startswith("tango, absolute, design effect up to ")


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
