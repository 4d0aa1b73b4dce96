"""Changes between groups compared with those between controls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairstats import analyze
from fairstats.metrics.beyond_control import compare_changes
from tests.make_kinds import CONTROLLED, declared


@pytest.mark.parametrize("seed", range(12))
def test_p_is_at_most_alpha_where_the_limits_exclude_0(seed):
    rng = np.random.default_rng(seed)
    changed = (rng.random((40, 2)) < [rng.uniform(0.1, 0.6), 0.1]).astype(float)
    p_value = compare_changes(changed, np.arange(40), 1.0, 0.05)["p_value"]
    for alpha in (0.9 * p_value, min(1.1 * p_value, 0.99)):
        found = compare_changes(changed, np.arange(40), 1.0, alpha)
        assert (p_value <= alpha) == (found["ci_low"] > 0 or found["ci_high"] < 0)


@pytest.mark.parametrize("differ", [1, 2, 4])
def test_few_units_that_differ_are_little_evidence(differ):
    changed = np.array([[1.0, 0.0]] * differ)
    assert compare_changes(changed, np.arange(differ), 1.0, 0.05)["p_value"] == 0.5**differ
    # All items of a cluster are one unit.
    units = np.arange(differ).repeat(9)
    clustered = compare_changes(np.repeat(changed, 9, axis=0), units, 1.0, 0.05)
    assert clustered["p_value"] == 0.5**differ


def test_equal_changes_have_p_1():
    assert compare_changes(np.eye(2), np.arange(2), 1.0, 0.05)["p_value"] == 1


def test_no_answers_have_a_reason():
    found = compare_changes(np.full((3, 2), np.nan), np.arange(3), 1.0, 0.05)
    assert (found["p_value"], found["test"]) == (1, "none (no answers)")


@pytest.mark.parametrize("pairs", [1, 6])
def test_a_mean_of_several_pairs_next_to_one_control_is_no_evidence(pairs):
    """Small frequent changes of the mean, rare large ones of the control.

    An exchange of the two rejected in up to 29% of simulations without an effect.
    """
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(60):
        own, control = (rng.random((20, number)) < 0.06 for number in (pairs, 1))
        changed = np.column_stack([own.mean(axis=1), control])
        rejected += compare_changes(changed, np.arange(20), 1.0, 0.05)["p_value"] <= 0.05
    assert rejected <= 3


def test_limits_have_room_for_rare_items_that_change_in_all_samples():
    rng = np.random.default_rng(3)
    # Of 400 answers to a pair, few differ by chance.
    changed = rng.binomial(400, 0.02, (30, 2)) / 400
    with_room, without = (
        compare_changes(changed, np.arange(30), 1.0, 0.05, room=room) for room in (True, False)
    )
    # Of 30 more items, two could change.
    assert with_room["ci_low"] < -2 / 30 < without["ci_low"]
    assert without["ci_high"] < 2 / 30 < with_room["ci_high"]
    assert with_room["ci_method"] == "square-and-add of two means with room for rare differences"
    assert with_room["p_value"] == without["p_value"]
    # Limits that exclude 0 stay there, as the test does.
    changed[:10, 0] = 1
    with_room, without = (
        compare_changes(changed, np.arange(30), 1.0, 0.05, room=room) for room in (True, False)
    )
    assert 0 < with_room["ci_low"] == without["ci_low"]
    assert with_room["p_value"] < 0.05


@pytest.mark.parametrize("differ", [1, 2, 4])
def test_limits_with_room_include_0_if_few_units_differ(differ):
    changed = np.zeros((4, 2))
    changed[:differ, 0] = 1
    found = compare_changes(changed, np.arange(4), 1.0, 0.05, room=True)
    assert found["p_value"] > 0.05
    assert found["ci_low"] <= 0 <= found["ci_high"]


@pytest.mark.parametrize(("own", "others"), [(1, 4), (4, 1)])
@pytest.mark.parametrize("kind", ["decision", "level", "score"])
def test_the_number_of_samples_of_controls_does_not_matter(kind, own, others, benchmark_file):
    """Means over more samples are closer together, pairs of answers are not."""
    benchmark = declared(benchmark_file, kind, race=CONTROLLED)
    signs, rng = {"decision": "YN"}.get(kind, "1234"), np.random.default_rng(2)
    variants = {"race": ("white", "black", own), "placebo": ("car", "none", others)}
    answers = pd.concat(
        pd.DataFrame(
            {
                "item_id": [f"q{number}" for number in range(400)],
                "attribute": attribute,
                "group": group,
                "sample": sample,
                "answer": rng.choice(list(signs), 400),
            }
        )
        for attribute, (*groups, samples) in variants.items()
        for group in groups
        for sample in range(samples)
    ).assign(
        benchmark=benchmark.name, benchmark_version="1", model="m", strategy="plain", status="ok"
    )
    table = analyze(answers.assign(answer_key=None), benchmarks=[benchmark])
    row = table[table["metric"] == "beyond_control"].iloc[0]
    assert row["p_value"] > 0.01


@pytest.mark.parametrize(
    ("kind", "own", "others", "cluster", "room"),
    [
        ("decision", 1, 1, None, False),
        ("decision", 3, 1, None, True),
        ("decision", 1, 3, None, True),
        ("decision", 3, 3, "ward", False),
        ("level", 3, 3, None, False),
    ],
)
def test_several_samples_of_choices_have_room(kind, own, others, cluster, room, benchmark_file):
    benchmark = declared(benchmark_file, kind, race=CONTROLLED)
    variants = {"race": ("white", "black", own), "placebo": ("car", "none", others)}
    no, yes = {"decision": "NY"}.get(kind, "12")
    # One answer differs, of a group with several samples if there is one.
    other = ("black", "none")[others > own], 0, 0
    answers = pd.DataFrame(
        {
            "item_id": f"q{item}",
            "attribute": attribute,
            "group": group,
            "sample": sample,
            "answer": yes if (group, item, sample) == other else no,
            "cluster": f"w{item % 10}",
        }
        for attribute, (*groups, samples) in variants.items()
        for group in groups
        for sample in range(samples)
        for item in range(30)
    ).assign(
        benchmark=benchmark.name, benchmark_version="1", model="m", strategy="plain", status="ok"
    )
    declares = replace(benchmark, cluster=cluster)
    table = analyze(answers.assign(answer_key=None), benchmarks=[declares])
    row = table[table["metric"] == "beyond_control"].iloc[0]
    assert ("room" in row["ci_method"]) == room
    assert row["ci_low"] <= 0 <= row["ci_high"]
