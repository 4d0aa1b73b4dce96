"""Every bound against brute force: all ways to fill the missing answers in."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.counts.outcomes import fold_answers, pair_counts
from fairstats.estimates.missing_answer_bounds import pair_bounds
from fairstats.inference.mcnemar import mcnemar
from fairstats.metrics.group_range_bounds import disparity_bounds
from fairstats.metrics.impact_ratio import impact_ratio_bounds
from fairstats.metrics.mcnemar import mcnemar_bounds

TABLES = 40
METHODS = ("midp", "exact", "asymptotic", "asymptotic_cc")


def random_tables(groups: int, seed: int) -> list[list[str]]:
    """Tables of up to 5 items and 5 missing answers, the neutralized variant's included."""
    draw = random.Random(seed)
    tables: list[list[str]] = []
    while len(tables) < TABLES:
        share = draw.choice([0.1, 0.3, 0.6])
        table = [
            "".join("-" if draw.random() < share else draw.choice("AABC") for _ in range(groups))
            + "/"
            + draw.choice("AAB-")
            for _ in range(draw.randint(1, 5))
        ]
        if "".join(table).count("-") <= 5:
            tables.append(table)
    return tables


def fill_ins(table: list[str]) -> Iterator[list[str]]:
    """The table with every missing answer replaced by every letter."""
    text = "|".join(table)
    for letters in product("ABC", repeat=text.count("-")):
        filled = text
        for letter in letters:
            filled = filled.replace("-", letter, 1)
        yield filled.split("|")


def rate_range(items: list[str], groups: int) -> float:
    if not items:
        return float("nan")
    shares = [sum(item[group] == "A" for item in items) / len(items) for group in range(groups)]
    return max(shares) - min(shares)


def pair_figures(items: list[str]) -> dict[str, float]:
    """The figures of a pair without missing answers, from their definitions."""
    n = len(items)
    n11, n10, n01 = (
        sum((item[0] == "A", item[1] == "A") == signs for item in items)
        for signs in ((True, True), (True, False), (False, True))
    )
    a, b = (n11 + n10) / n, (n11 + n01) / n
    ratio = a / b if b else (np.inf if a else np.nan)
    return {
        "accuracy_a": a,
        "accuracy_b": b,
        "accuracy_difference": a - b,
        "ad": abs(a - b),
        "cfr": sum(item[0] == item[1] for item in items) / n,
        "cohens_h": 2 * np.arcsin(np.sqrt(a)) - 2 * np.arcsin(np.sqrt(b)),
        "both_correct": n11 / n,
        "only_a_correct": n10 / n,
        "only_b_correct": n01 / n,
        "accuracy_ratio": ratio,
        "impact_ratio": min(ratio, 1 / ratio) if ratio else ratio,
        "neither_correct": (n - n11 - n10 - n01) / n,
        "dp": rate_range(items, 2),
        "eo": rate_range([item for item in items if item[-1] == "A"], 2),
    } | {f"p {m}": float(mcnemar(n10=n10, n01=n01, method=m).p_value) for m in METHODS}


@pytest.fixture(scope="module")
def two_groups(answers_of):
    """Tables, and their fold: one model a table."""
    tables = random_tables(2, seed=1)
    answers = [answers_of(table, model=f"{i:03}") for i, table in enumerate(tables)]
    folds = fold_answers(pd.concat(answers, ignore_index=True))
    return tables, folds.outcomes, folds.benchmarks


@pytest.fixture(scope="module")
def enumerated(two_groups):
    """Of each table and figure, the lowest and highest value over all fill-ins."""
    ranges = []
    for table in two_groups[0]:
        figures = [pair_figures(filled) for filled in fill_ins(table)]
        ranges.append(
            {
                name: (np.nanmin(values), np.nanmax(values)) if not np.isnan(values).all() else None
                for name in figures[0]
                for values in [np.array([f[name] for f in figures])]
            }
        )
    return ranges


def test_the_tables_are_worth_enumerating(two_groups, enumerated):
    assert sum("-" in "".join(table) for table in two_groups[0]) > 20
    assert any(ranges["eo"] is None for ranges in enumerated)
    assert sum(ranges["cfr"][0] < ranges["cfr"][1] for ranges in enumerated) > 20


def test_pair_bounds_are_attained_and_never_passed(two_groups, enumerated):
    _, folded, known = two_groups
    counts = pair_counts(folded, known).query("attribute == 'race'")
    for metric, (low, high) in pair_bounds(counts).items():
        # Without a right answer in any completion there is no ratio.
        expected = [ranges[metric] or (0, np.inf) for ranges in enumerated]
        np.testing.assert_allclose(low, [least for least, _ in expected], atol=1e-12)
        np.testing.assert_allclose(high, [most for _, most in expected], atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_mcnemar_bounds_are_attained_and_never_passed(method, two_groups, enumerated):
    _, folded, known = two_groups
    counts = pair_counts(folded, known).query("attribute == 'race'")
    low, high = mcnemar_bounds(counts, method=method)
    np.testing.assert_allclose(low, [r[f"p {method}"][0] for r in enumerated], rtol=1e-12)
    np.testing.assert_allclose(high, [r[f"p {method}"][1] for r in enumerated], rtol=1e-12)


def test_impact_ratio_bounds_of_two_groups_are_attained_and_never_passed(two_groups, enumerated):
    _, folded, _ = two_groups
    race = folded[folded["attribute"] == "race"]
    units = race.groupby(list(UNIT_COLUMNS), sort=True)
    for (_, outcomes), ranges in zip(units, enumerated, strict=True):
        expected = ranges["impact_ratio"] or (0, 1)
        np.testing.assert_allclose(impact_ratio_bounds(outcomes), expected, atol=1e-12)


@pytest.mark.parametrize("metric", ["dp", "eo"])
def test_disparity_bounds_of_two_groups_are_attained_and_never_passed(
    metric, two_groups, enumerated
):
    _, folded, _ = two_groups
    race = folded[folded["attribute"] == "race"]
    units = race.groupby(list(UNIT_COLUMNS), sort=True)
    for (_, outcomes), ranges in zip(units, enumerated, strict=True):
        found = disparity_bounds(outcomes, answerable_only=metric == "eo")
        # Without an answerable item in any completion there is no estimate.
        expected = ranges[metric] or (0, 1)
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("answerable_only", [False, True])
def test_of_three_groups_the_highest_is_attained_and_the_lowest_never_passed(
    answerable_only, answers_of, three_groups
):
    tables = random_tables(3, seed=2)
    groups = tuple(three_groups.attributes["race"].groups)
    answers = [
        answers_of(table, groups=groups, benchmark="three", model=f"{i:03}")
        for i, table in enumerate(tables)
    ]
    folded = fold_answers(pd.concat(answers, ignore_index=True), benchmarks=[three_groups]).outcomes
    race = folded[folded["attribute"] == "race"]
    for (_, outcomes), table in zip(race.groupby("model", sort=True), tables, strict=True):
        values = [
            rate_range([i for i in filled if not answerable_only or i[-1] == "A"], 3)
            for filled in fill_ins(table)
        ]
        low, high = disparity_bounds(outcomes, answerable_only=answerable_only)
        if np.isnan(values).all():
            assert (low, high) == (0, 1)
        else:
            assert high == pytest.approx(np.nanmax(values))
            assert 0 <= low <= np.nanmin(values) + 1e-12


def test_without_missing_answers_every_range_is_a_point(counts_of):
    counts = counts_of(n11=7, n10=3, n01=1, n00_same=2, n00_different=1)
    for low, high in pair_bounds(counts).values():
        assert low == high
    low, high = mcnemar_bounds(counts)
    assert low == high == mcnemar(n10=3, n01=1).p_value


def test_without_known_answers_bounds_cover_the_whole_scale(counts_of):
    ranges = pair_bounds(counts_of(nxx=9))
    assert [float(limit[0]) for limit in ranges["accuracy_difference"]] == [-1, 1]
    assert [float(limit[0]) for limit in ranges["cfr"]] == [0, 1]
    assert [float(limit[0]) for limit in ranges["cohens_h"]] == pytest.approx([-np.pi, np.pi])


def test_lowest_and_highest_p_are_right_for_larger_tables(counts_of):
    """Try all completions of each kind of open pair, for tables too large to enumerate."""
    draw = random.Random(3)
    for _ in range(30):
        open_pairs = {name: draw.randint(0, 4) for name in ("n1x", "n0x", "nx1", "nx0", "nxx")}
        n10, n01 = draw.randint(0, 25), draw.randint(0, 25)
        counts = counts_of(n10=n10, n01=n01, n11=30, **open_pairs)
        to10 = open_pairs["n1x"] + open_pairs["nx0"]
        to01 = open_pairs["n0x"] + open_pairs["nx1"]
        either = open_pairs["nxx"]
        reachable = [
            (n10 + i + k, n01 + j + m)
            for i, j in product(range(to10 + 1), range(to01 + 1))
            for k, m in product(range(either + 1), repeat=2)
            if k + m <= either
        ]
        n10s, n01s = np.array(reachable).T
        p = mcnemar(n10=n10s, n01=n01s).p_value
        low, high = mcnemar_bounds(counts)
        assert (low[0], high[0]) == pytest.approx((p.min(), p.max()), rel=1e-12)


def test_the_pairs_of_more_groups_each_bound_the_range(answers_of, three_groups):
    groups = tuple(three_groups.attributes["race"].groups)
    items = ["AB-/A", "A-B/A", "BBA/-", "AAB/B"]
    answers = answers_of(items, groups=groups, benchmark="three")
    folds = fold_answers(answers, benchmarks=[three_groups])
    race = folds.outcomes[folds.outcomes["attribute"] == "race"]
    pairs = pair_bounds(pair_counts(race, folds.benchmarks))["ad"]
    assert len(pairs[0]) == len(list(combinations(groups, 2)))
    assert disparity_bounds(race, answerable_only=False) == (max(pairs[0]), max(pairs[1]))
