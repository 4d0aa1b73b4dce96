"""Every bound against brute force: all ways to fill the missing answers in."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from fairstats.answers.engine_frames import open_answers
from fairstats.comparisons.item_tallies import completed_sums, pattern_tallies
from fairstats.comparisons.model_differences import accuracy, ad, cfr
from fairstats.counts.outcomes import Outcomes, outcomes_of
from fairstats.estimates.analyze import analyze
from fairstats.estimates.tested_pairs import pair_bounds
from fairstats.inference.mcnemar import mcnemar
from fairstats.metrics.mcnemar import mcnemar_bounds
from fairstats.metrics.metric import Groups, Range
from fairstats.metrics.registry import GROUPS_METRICS, METRICS

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


def rates(items: list[str], groups: int) -> list[float]:
    return [sum(item[i] == "A" for item in items) / len(items) for i in range(groups)]


def group_figures(items: list[str], groups: int) -> dict[str, float]:
    """The figures of an attribute without missing answers, from their definitions."""
    every, answerable = rates(items, groups), [item for item in items if item[-1] == "A"]
    own = rates(answerable, groups) if answerable else [np.nan]
    return {
        "overall_accuracy": sum(every) / groups,
        "dp": max(every) - min(every),
        "impact_ratio": min(every) / max(every) if max(every) else np.nan,
        "eo": max(own) - min(own),
    }


def pair_figures(items: list[str]) -> dict[str, float]:
    """The figures of a pair without missing answers, from their definitions."""
    n = len(items)
    n11, n10, n01 = (
        sum((item[0] == "A", item[1] == "A") == signs for item in items)
        for signs in ((True, True), (True, False), (False, True))
    )
    a, b = (n11 + n10) / n, (n11 + n01) / n
    p_values = {f"p {m}": float(mcnemar(n10=n10, n01=n01, method=m).p_value) for m in METHODS}
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
        "accuracy_ratio": a / b if b else (np.inf if a else np.nan),
        "neither_correct": (n - n11 - n10 - n01) / n,
    } | (group_figures(items, 2) | p_values)


def ranges_of(figures: list[dict[str, float]]) -> dict[str, tuple[float, float] | None]:
    """The lowest and highest value of each figure; None if it has none."""
    columns = {name: np.array([own[name] for own in figures]) for name in figures[0]}
    return {
        name: None if np.isnan(values).all() else (np.nanmin(values), np.nanmax(values))
        for name, values in columns.items()
    }


def race_bounds(outcomes: Outcomes) -> dict[str, Range]:
    """The bounds of the metrics of all groups, by metric."""
    groups = Groups(outcomes.groups["race"])
    return {
        metric.name: metric.bounds(groups)
        for metric in GROUPS_METRICS
        if metric.bounds and "choice" in metric.kinds
    }


@pytest.fixture(scope="module")
def two_groups(answers_of):
    """Tables, and their outcomes: one model a table."""
    tables = random_tables(2, seed=1)
    # In every second table, some variants without an answer have no row.
    written = [
        [text if "--" in text or i % 2 else text.replace("-", ".", 1) for text in table]
        for i, table in enumerate(tables)
    ]
    answers = [answers_of(table, model=f"{i:03}") for i, table in enumerate(written)]
    return tables, outcomes_of(open_answers(pd.concat(answers, ignore_index=True)))["demo"]


@pytest.fixture(scope="module")
def enumerated(two_groups):
    """Of each table and figure, the lowest and highest value over all fill-ins."""
    return [ranges_of([pair_figures(own) for own in fill_ins(table)]) for table in two_groups[0]]


@pytest.fixture(scope="module")
def bounds(two_groups) -> dict[str, Range]:
    """The bounds of all metrics of two groups, and of the p-values."""
    outcomes = two_groups[1]
    patterns = outcomes.patterns[outcomes.attribute == "race"]
    p_values = {f"p {method}": mcnemar_bounds(patterns, method=method) for method in METHODS}
    return pair_bounds(patterns) | race_bounds(outcomes) | p_values


def test_the_tables_are_worth_enumerating(two_groups, enumerated):
    assert sum("-" in "".join(table) for table in two_groups[0]) > 20
    assert any(ranges["eo"] is None for ranges in enumerated)
    assert sum(ranges["cfr"][0] < ranges["cfr"][1] for ranges in enumerated) > 20


def test_bounds_of_two_groups_are_attained_and_never_passed(enumerated, bounds):
    others = {name for name, metric in METRICS.items() if "choice" not in metric.kinds}
    assert set(bounds) - others == set(enumerated[0])
    for name in enumerated[0]:
        low, high = bounds[name]
        # Without a right or an answerable item in any completion there is no ratio or no gap.
        nothing = (0, np.inf if name == "accuracy_ratio" else 1)
        expected = [ranges[name] or nothing for ranges in enumerated]
        np.testing.assert_allclose(low, [least for least, _ in expected], atol=1e-12, err_msg=name)
        np.testing.assert_allclose(high, [most for _, most in expected], atol=1e-12, err_msg=name)


def test_completed_sums_are_those_of_extreme_fill_ins(two_groups, enumerated):
    own = two_groups[1].groups["race"]
    for unit, ranges in enumerate(enumerated):
        cells = own.pair(("white", "black"))[own.grid.unit == unit][:, None]
        tallies, n, ends = pattern_tallies(cells), len(cells), []
        for favourable in (False, True):
            of_accuracy, of_cfr, of_ad = (
                completed_sums(tallies, figure, favourable=favourable).sum(axis=0)[0]
                for figure in (accuracy, cfr, ad)
            )
            right = of_accuracy[0] + of_accuracy[2]
            assert right / (2 * n) == pytest.approx(ranges["overall_accuracy"][favourable])
            assert of_cfr[4] / n == pytest.approx(ranges["cfr"][favourable])
            ends.append((of_ad[0] - of_ad[2]) / n)
        assert abs(ends[0]) >= abs(ends[1])
        assert sorted(ends) == pytest.approx(ranges["accuracy_difference"])


def test_bounds_of_three_groups_are_never_passed(answers_of, three_groups):
    tables = random_tables(3, seed=2)
    groups = tuple(three_groups.attributes["race"].groups)
    answers = [
        answers_of(table, groups=groups, benchmark="three", model=f"{i:03}")
        for i, table in enumerate(tables)
    ]
    opened = open_answers(pd.concat(answers, ignore_index=True), [three_groups])
    found = race_bounds(outcomes_of(opened)["three"])
    for i, table in enumerate(tables):
        expected = ranges_of([group_figures(filled, 3) for filled in fill_ins(table)])
        for name, (lows, highs) in found.items():
            lowest, highest = expected[name] or (0, 1)
            assert 0 <= lows[i] <= lowest + 1e-12, name
            assert 1 + 1e-12 >= highs[i] >= highest - 1e-12, name
            # The lowest range and the highest ratio may not be attainable.
            if name in ("overall_accuracy", "impact_ratio"):
                assert lows[i] == pytest.approx(lowest), name
            if name != "impact_ratio":
                assert highs[i] == pytest.approx(highest), name


def test_bounds_of_several_samples_are_never_passed(answers_of):
    samples = [["AB/A", "A-/A", "BA/-", "AA/A"], ["-B/A", "AB/B"], ["AB/A"]]

    def answered(filled: list[str], model: str) -> pd.DataFrame:
        parts = enumerate((filled[:4], filled[4:6], filled[6:]))
        return pd.concat([answers_of(own, sample=i, model=model) for i, own in parts])

    every = [text for table in samples for text in table]
    models = [answered(filled, f"{i:03}") for i, filled in enumerate(fill_ins(every))]
    filled = analyze(pd.concat(models, ignore_index=True)).query("attribute == 'race'")
    ranges = filled.groupby("metric")["estimate"].agg(["min", "max"])
    found = analyze(answered(every, "m"), "bounds").query("attribute == 'race'").set_index("metric")
    attained = ["accuracy_a", "accuracy_b", "accuracy_difference", "ad", "dp", "accuracy_ratio"]
    within = [*attained, "cohens_h", "impact_ratio", "eo", "cfr", "both_correct", "only_a_correct"]
    for name in within:
        low, high = found.loc[name, ["ci_low", "ci_high"]]
        assert low <= ranges.loc[name, "min"] + 1e-12, name
        assert high >= ranges.loc[name, "max"] - 1e-12, name
        if name in attained:
            assert (low, high) == pytest.approx(tuple(ranges.loc[name])), name


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
    outcomes = outcomes_of(open_answers(answers, [three_groups]))["three"]
    low, high = pair_bounds(outcomes.patterns[outcomes.attribute == "race"])["ad"]
    assert len(low) == len(list(combinations(groups, 2)))
    assert race_bounds(outcomes)["dp"] == (max(low), max(high))
