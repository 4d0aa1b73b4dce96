"""Limits over items and raters: degenerate cases, then compared with pairs counted one by one."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairstats.inference.agreement import coefficients_of, crossed_agreement, jackknife_parts
from fairstats.inference.intervals import wilson
from fairstats.inference.rating_counts import counts_of_kinds, leave_one_out
from tests.serving import benchmark_script

ROOT = Path(__file__).parents[2]
NOMINAL = ("percent", "positive", "randolph", "fleiss", "gwet_ac1", "krippendorff")
CATEGORIES = ("no", "yes")


def prepared(value, task, rater, item=None, categories=CATEGORIES):
    value, task, rater = (np.asarray(x, dtype=np.int64) for x in (value, task, rater))
    item = task if item is None else np.asarray(item, dtype=np.int64)
    k = len(categories)
    counts = np.zeros((int(task.max(initial=-1)) + 1, k), dtype=np.int64)
    np.add.at(counts, (task, value), 1)
    table = counts_of_kinds(categories, counts)
    return table, leave_one_out(table, value, task, item, rater)


def limits(name, *ratings, level="nominal", alpha=0.05, **options):
    table, left = prepared(*ratings, **options)
    found = next(coefficients_of(table, [(name, level)], n_resamples=99, alpha=alpha))
    return found, crossed_agreement(left, found, alpha=alpha)


def rows(text):
    """Read items as words with one sign per rater, ``.`` for none: values, tasks, raters."""
    cells = [
        ("ny".index(sign), i, r)
        for i, word in enumerate(text.split())
        for r, sign in enumerate(word)
        if sign != "."
    ]
    return tuple(np.array(column) for column in zip(*cells, strict=True))


def drawn(seed, *, n_tasks=24, n_raters=7, k=2, tasks_an_item=2, repeats=True):
    """Ratings with gaps, several tasks of an item, and raters who rate a task twice."""
    rng = np.random.default_rng(seed)
    task, rater = [], []
    for i in range(n_tasks):
        who = rng.permutation(n_raters)[: rng.integers(1, 6)]
        who = np.append(who, who[:1]) if repeats and i % 5 == 0 else who
        task += [i] * len(who)
        rater += who.tolist()
    task, rater = np.array(task), np.array(rater)
    value = (rng.random(len(task)) ** 1.3 * k).astype(int)
    return value, task, rater, task // tasks_an_item


def by_pairs(value, task, name, level, k, weights):
    """A coefficient from its pairs one by one, each with the weight that its task gives it."""
    apart = together = margin_weight = both = either = 0.0
    shares, totals, tables = np.zeros(k), np.zeros(k), np.zeros((k, k))
    for t in np.unique(task):
        own = value[task == t]
        m = weights[t]
        if len(own) < 2:
            continue
        for a, b in combinations(own, 2):
            together += 2 / (m * (m - 1))
            apart += 2 / (m * (m - 1)) * (a != b)
            tables[a, b] += 1 / (m - 1)
            tables[b, a] += 1 / (m - 1)
            both += 2 * int(a == b == k - 1)
            either += int(a == k - 1) + int(b == k - 1)
        for a in own:
            shares[a] += 1 / m
            totals[a] += 1
            margin_weight += 1 / m
    if name == "positive":
        return both / either
    if name == "krippendorff":
        place = np.cumsum(totals) - totals / 2 if level == "ordinal" else None
        d = 1 - np.eye(k) if place is None else (place[:, None] - place[None, :]) ** 2
        n = totals.sum()
        chance = (np.outer(totals, totals) * d).sum() / (n * (n - 1))
        return 1 - (tables * d).sum() / tables.sum() / chance
    observed = 1 - apart / together
    pi = shares / margin_weight
    chance = {
        "percent": 0.0,
        "randolph": 1 / k,
        "fleiss": (pi**2).sum(),
        "gwet_ac1": (pi * (1 - pi)).sum() / (k - 1),
    }[name]
    return (observed - chance) / (1 - chance)


@pytest.mark.parametrize(
    ("name", "level", "k"),
    [*((name, "nominal", 2) for name in NOMINAL), ("krippendorff", "ordinal", 3)],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_leaving_out_is_counting_the_pairs_that_remain(name, level, k, seed):
    value, task, rater, item = drawn(seed, k=k)
    table, left = prepared(value, task, rater, item, categories=tuple(range(k)))
    weights = np.bincount(task)
    used = weights[task] >= 2
    cell = np.unique(np.stack([item, rater]), axis=1, return_inverse=True)[1].ravel()
    estimate = by_pairs(value, task, name, level, k, weights)
    observed, expected = table.disagreement(table.many, name, level)
    assert 1 - observed / expected == pytest.approx(estimate, abs=1e-12)
    for sums, of in ((left.items, item), (left.raters, rater), (left.cells, cell)):
        expected = [
            by_pairs(value[of != g], task[of != g], name, level, k, weights)
            for g in np.unique(of[used])
        ]
        np.testing.assert_allclose(left.without(sums, name, level), expected, atol=1e-11)
        part, degrees = jackknife_parts(left, {"": sums}, name, level, estimate)[""]
        squares = ((np.array(expected) - estimate) ** 2).sum()
        assert part == pytest.approx(squares * (len(expected) - 1) / len(expected))
        assert degrees == len(expected) - 1


def test_the_items_part_is_the_variance_of_a_mean():
    rng = np.random.default_rng(4)
    ratings = (rng.random((40, 3)) < rng.random((40, 1))).astype(int)
    task, rater = np.indices(ratings.shape)
    _, left = prepared(ratings.ravel(), task.ravel(), rater.ravel())
    shares = np.array([np.mean([a == b, a == c, b == c]) for a, b, c in ratings])
    part, _ = jackknife_parts(left, {"items": left.items}, "percent", "nominal", shares.mean())[
        "items"
    ]
    assert part == pytest.approx(shares.var(ddof=1) / 40)


def test_the_variance_of_percent_agreement_is_that_of_pairs_that_share_an_item_or_a_rater():
    # 1,200 items, each by 3 of 60 raters. Each left-out part is a small share, so the jackknife
    # equals the sum over two pairs. The exception is two pairs with both raters in common.
    rng = np.random.default_rng(9)
    raters = np.array([rng.permutation(60)[:3] for _ in range(1200)])
    bent = rng.standard_normal(60)[raters] + rng.standard_normal((1200, 1))
    values = (bent + rng.standard_normal(raters.shape) > 0.5).astype(int)
    task = np.repeat(np.arange(1200), 3)
    _, left = prepared(values.ravel(), task, raters.ravel())
    agree = np.array([[v[a] == v[b] for a, b in combinations(range(3), 2)] for v in values])
    e = agree - agree.mean()
    total = 0.0
    members = np.array([[(w[a], w[b]) for a, b in combinations(range(3), 2)] for w in raters])
    flat, who, of = e.ravel(), members.reshape(-1, 2), np.repeat(np.arange(1200), 3)
    for x, (a, b), i in zip(flat, who, of, strict=True):
        shared = ((who == a) | (who == b)).sum(axis=1)
        # A pair of the same item counts once, a pair of another item once per common rater.
        weight = np.where(of == i, 1, shared)
        total += x * float(weight @ flat)
    clusters = {"items": left.items, "raters": left.raters, "cells": left.cells}
    parts = jackknife_parts(left, clusters, "percent", "nominal", float(agree.mean()))
    two_way = parts["items"][0] + parts["raters"][0] - parts["cells"][0]
    assert two_way == pytest.approx(total / len(flat) ** 2, rel=0.1)
    assert parts["items"][0] < two_way / 2


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("yy nn ny nn yn nn yy nn nn yy", "two raters"),
        ("yy nn", "two raters"),
        ("yn", "two raters"),
        # a with b, a with c: without a there is no pair.
        ("yy. nn. y.n n.n yn. y.y", "one rater is in every pair"),
    ],
)
def test_limits_need_pairs_that_show_how_raters_differ(text, who):
    _, (low, high, method) = limits("percent", *rows(text))
    assert np.isnan([low, high]).all()
    assert method == f"none ({who}: the variance between raters is unknown)"


def test_single_repeating_rater_has_no_limits():
    _, (low, high, method) = limits("percent", [1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 2, 2], [0] * 6)
    assert np.isnan([low, high]).all()
    assert method.startswith("none (one rater: ")


def test_one_item_gives_limits_over_raters_only():
    found, (low, high, method) = limits("percent", *rows("yyynn"))
    assert method.startswith("raters jackknife, wilson t (one")
    assert 0 <= low < found.estimate < high <= 1
    # Several tasks of it are still one.
    value, task, rater = rows("yyynn nnnyn")
    _, (_, _, method) = limits("percent", value, task, rater, item=np.zeros(10))
    assert method.startswith("raters jackknife")


@pytest.mark.parametrize("name", NOMINAL)
def test_without_an_estimate_crossed_limits_equal_the_plain_ones(name):
    for text in ("y.. .n. ..y", "nnn nnn nnn"):
        found, crossed = limits(name, *rows(text))
        if np.isnan(found.estimate):
            np.testing.assert_array_equal(crossed[:2], (found.ci_low, found.ci_high))
            assert crossed[2] == found.method


@pytest.mark.parametrize("name", ["percent", "randolph", "gwet_ac1"])
def test_raters_who_always_agree_leave_room_for_items_that_were_not_seen(name):
    found, (low, high, method) = limits(name, *rows("nnn " * 30))
    assert (found.estimate, high) == (1, 1)
    # Chance is .5 for Randolph's kappa of two categories, and 0 for the others here.
    least = float(wilson(30, 30).ci_low)
    assert low == pytest.approx(2 * least - 1 if name == "randolph" else least)
    assert method.startswith("percent agreement's, chance held")


def test_items_are_counted_and_not_tasks():
    value, task, rater = rows("nnn " * 30)
    _, (low, _, _) = limits("percent", value, task, rater, item=task // 3)
    assert low == pytest.approx(float(wilson(10, 10).ci_low))


def test_positive_agreement_of_unshared_reports():
    # Without any one rater, still no two agree on a report.
    found, (low, high, method) = limits("positive", *rows("ynn nyn nny ynn nyn" + " nnn" * 20))
    assert found.estimate == 0
    # With four more items in which all report: 24 of 24 pairs of theirs, of 24 + 10.
    assert (low, high) == pytest.approx((0, 24 / 34))
    assert method.startswith("wilson over items in the category (")


@pytest.mark.parametrize("name", ["fleiss", "krippendorff"])
def test_kappa_of_unshared_reports(name):
    # κ is near −π without any one rater, but a few more pairs might agree. 200 items have two of
    # eight raters each, who report twice each and never the same.
    task = np.repeat(np.arange(200), 2)
    rater = (np.arange(400) + task // 4) % 8
    value = np.zeros(400, dtype=int)
    for r in range(8):
        of_rater = np.flatnonzero(rater == r)
        value[of_rater[[r, 20 + r]]] = 1
    assert np.bincount(task, value).max() == 1
    share = 16 / 400
    least = (float(wilson(0, 16).ci_high) - share) / (1 - share)
    # Of 204 items, four are reported by both raters, and 16 by one.
    of_pairs, shares = 16 / 204, (4 + 16 / 2) / 204
    unseen = 1 - of_pairs / (2 * shares * (1 - shares))
    for reported in (value, 1 - value):
        found, (low, high, method) = limits(name, reported, task, rater)
        assert method.startswith("two-way jackknife, wilson t, at least")
        assert low < found.estimate < 0
        assert high == pytest.approx(unseen, abs=0.002)
        assert high > least


@pytest.mark.parametrize("name", ["positive", "fleiss", "krippendorff"])
def test_coefficient_that_depends_on_one_rater(name):
    # All reports of one item.
    found, (low, high, method) = limits(name, *rows("yyn" + " nnn" * 20))
    assert np.isfinite(found.estimate)
    assert np.isnan([low, high]).all()
    assert method.startswith("none (")
    assert "items" in method
    # All reports by one rater.
    found, (low, high, method) = limits(name, *rows("ynn ynn ynn" + " nnn" * 20))
    assert np.isfinite(found.estimate)
    assert np.isnan([low, high]).all()
    assert method.startswith("none (")
    assert "raters" in method
    assert np.isfinite(limits("gwet_ac1", *rows("ynn ynn ynn" + " nnn" * 20))[1][:2]).all()


@pytest.mark.parametrize("name", NOMINAL)
def test_limits_are_within_the_scale_and_wider_for_a_smaller_alpha(name):
    value, task, rater, _ = drawn(3, n_tasks=60, tasks_an_item=1, repeats=False)
    found, (low, high, method) = limits(name, value, task, rater)
    assert method == "two-way jackknife, wilson t"
    least = 0 if name in ("percent", "positive") else -1
    assert least <= low < found.estimate < high <= 1
    _, (narrow_low, narrow_high, _) = limits(name, value, task, rater, alpha=0.3)
    assert low < narrow_low < narrow_high < high


def test_raters_who_differ_widen_the_limits():
    rng = np.random.default_rng(2)
    task = np.repeat(np.arange(200), 3)
    rater = np.concatenate([rng.permutation(6)[:3] for _ in range(200)])
    same = (rng.random(600) < 0.3).astype(int)
    # Half of the raters report almost everything.
    apart = (rng.random(600) < np.where(rater < 3, 0.05, 0.9)).astype(int)
    width = {}
    for name, value in (("same", same), ("apart", apart)):
        found, (low, high, _) = limits("percent", value, task, rater)
        width[name] = (high - low) / (found.ci_high - found.ci_low)
    assert width["apart"] > 2 * width["same"]


def test_limits_do_not_depend_on_order_and_names():
    value, task, rater, item = drawn(5)
    shuffled = np.random.default_rng(1).permutation(len(value))
    for name in NOMINAL:
        _, once = limits(name, value, task, rater, item=item)
        other = (value[shuffled], task[shuffled], 40 - 3 * rater[shuffled])
        _, again = limits(name, *other, item=70 - 2 * item[shuffled])
        assert again[:2] == pytest.approx(once[:2], abs=1e-12)
        assert again[2] == once[2]


def script():
    return benchmark_script("agreement_coverage")


def test_the_simulation_has_the_coefficients_of_all_raters():
    coverage = script()
    true = coverage.true_agreement(0.3, 1.5, 0.5)
    rng = np.random.default_rng(7)
    threshold = 0.5244005 * np.sqrt(1 + 1.5**2 + 0.5**2)
    # Two new raters for each item.
    latent = 1.5 * rng.standard_normal((400_000, 1)) + np.sqrt(1.25) * rng.standard_normal(
        (400_000, 2)
    )
    one, other = (latent > threshold).T
    assert true["percent"] == pytest.approx((one == other).mean(), abs=0.004)
    assert true["positive"] == pytest.approx((one & other).sum() / one.sum(), abs=0.006)
    rows = list(coverage.coverage(0, ((40, 3, 6), 0.3, 1.5, 0.5), 20))
    assert {row["coefficient"] for row in rows} == set(NOMINAL)
    crossed = [row for row in rows if row["method"] == "crossed"]
    assert min(row["coverage"] for row in crossed) > 0.7
    items = [row for row in rows if row["method"] == "items"]
    assert all(a["mean_width"] < b["mean_width"] for a, b in zip(items, crossed, strict=True))


COVERAGE = pd.read_csv(ROOT / "benchmarks" / "results" / "agreement_coverage.csv")


def test_the_simulation_is_that_of_the_script():
    """Run fewer simulations of one design with the script that wrote its file."""
    found = pd.DataFrame(script().coverage(0, ((50, 3, 11), 0.3, 1.5, 0.5), 100))
    keys = ["items", "rate", "of_items", "of_raters", "coefficient", "method"]
    both = found.merge(COVERAGE, on=keys, suffixes=("", "_file"))
    assert len(both) == len(found) == 24
    np.testing.assert_allclose(both["true"], both["true_file"], atol=1e-4)
    np.testing.assert_allclose(both["mean_width"], both["mean_width_file"], rtol=0.1)
    np.testing.assert_allclose(both["coverage"], both["coverage_file"], atol=0.08)


def test_docstring_gives_the_coverage():
    least = COVERAGE.pivot_table("coverage", "coefficient", "method", aggfunc="min")
    assert (least.loc[["fleiss", "krippendorff", "positive"], "crossed"] >= 0.94).all()
    others = ["percent", "randolph", "gwet_ac1"]
    assert least.loc[others, "crossed"].min().round(2) == 0.89
    little = COVERAGE[(COVERAGE["of_raters"] < 1) & (COVERAGE["method"] == "crossed")]
    assert little["coverage"].min() > 0.93
    assert (least["items"].min().round(2), least["items"].max().round(2)) == (0.28, 0.43)
    # Symmetric limits cover less; so does a variance below its components, if other methods have
    # limits too.
    assert (least["crossed"] > least["symmetric"] - 1e-9).all()
    assert (least.loc[others, "crossed"] > least.loc[others, "least_items"]).all()


def test_gwets_limits_leave_room_if_agreement_is_the_same_in_every_item():
    """Two of four raters agree on each answer: only the chance term varies."""
    text = " ".join(["yynn", "ynyn", "nyyn", "nnyy", "ynny"] * 3)
    found, (low, high, method) = limits("gwet_ac1", *rows(text))
    assert low <= found.ci_low < found.ci_high <= high
    assert "leaving one out changes nothing" in method
