"""Decisions, levels and scores: figures, verdicts, bounds and independent units."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairstats import analyze
from fairstats.answers.engine_frames import open_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import DIFFERENCES, KINDS, Words
from fairstats.counts.grid import grid, item_grid
from fairstats.counts.outcomes import outcomes_of
from fairstats.estimates.analyze import NO_REPETITIONS
from fairstats.estimates.gate import gate
from fairstats.estimates.judgements import judge
from fairstats.estimates.limits import Limits
from fairstats.inference.clustered_answers import flip_test, sign_flip_test
from fairstats.inference.intervals import tango, wilson
from fairstats.inference.mcnemar import mcnemar
from fairstats.inference.unit_means import unit_mean_difference
from fairstats.inference.verdict import EQUIVALENT
from fairstats.metrics.registry import METRICS
from fairstats.report.terminal import print_estimates
from tests.make_answers import make_answers
from tests.make_kinds import CONTROLLED, DECLARED, ONE_PAIR, PLACEBO, SIGNS, answers_to, declared

ALPHA = 0.05


@pytest.fixture(scope="module")
def declare(benchmark_file: Callable[..., Path]) -> Callable[..., Benchmark]:
    """Return a benchmark without a key and a baseline, of one kind of answers."""

    return partial(declared, benchmark_file)


def rows_of(benchmark: Benchmark, items: list[str], *, missing: Any = None, **columns: Any) -> Any:
    """Return the estimates of White and Black, by metric."""
    table = analyze(answers_to(benchmark, items, **columns), missing, benchmarks=[benchmark])
    own = table[(table["attribute"] == "race") & (table["group_b"] == "black")]
    return own.drop_duplicates("metric").set_index("metric")


# Figures


def test_decisions_are_counted_as_choices_are_with_favourable_for_right(declare, demo):
    signs = ["YY", "YN", "YM", "NY", "MN", "NN", "MM", "YY"] * 4
    decision = rows_of(declare("decision"), signs)
    letters = [text.translate(str.maketrans("YMN", "ABC")) for text in signs]
    choice = rows_of(demo, letters, answer_key="A")
    names = {
        "accuracy_a": "selection_rate_a",
        "accuracy_b": "selection_rate_b",
        "accuracy_difference": "selection_difference",
        "accuracy_ratio": "selection_ratio",
        "only_a_correct": "only_a_selected",
        "cfr": "cfr",
        "cohens_h": "cohens_h",
        "mcnemar": "mcnemar",
        "stuart_maxwell": "stuart_maxwell",
    }
    columns = ["estimate", "ci_low", "ci_high", "p_value", "n", "n10", "n01"]
    pd.testing.assert_frame_equal(
        decision.loc[list(names.values()), columns].reset_index(drop=True),
        choice.loc[list(names), columns].reset_index(drop=True),
    )


def test_two_favourable_decisions_can_differ(declare):
    both = {"options": DECLARED["decision"].replace('["Y"]', '["Y", "M"]')}
    rows = rows_of(declare("decision", **both), ["YM", "MY", "YY", "NN", "YN", "NM"])
    assert rows.loc["cfr", "estimate"] == pytest.approx(2 / 6)
    assert rows.loc["both_selected", "estimate"] == pytest.approx(3 / 6)
    assert rows.loc["selection_rate_a", "estimate"] == pytest.approx(4 / 6)
    assert rows.loc["selection_difference", "estimate"] == 0


@pytest.mark.parametrize("kind", ["level", "score"])
def test_rows_of_both_answers_say_so(kind, declare, capsys):
    """The pooled mean is that of the pairs with both answers, and no mean of the others."""
    pairs = """[attributes.race]
label = "Race"
groups = { white = "White", black = "Black", asian = "Asian" }
pairs = [["white", "black"], ["white", "asian"]]"""
    benchmark = declare(kind, race=pairs)
    answers = answers_to(
        benchmark, ["311", "22-", "145", "553", "431"], groups=["white", "black", "asian"]
    )
    table = analyze(answers, "available", benchmarks=[benchmark])
    rows = table[table["metric"].isin([KINDS[kind].difference, KINDS[kind].rate_a])]
    noted = rows["method_note"].fillna("").str.contains("over the pairs with both answers")
    assert (noted == (rows["attribute"] == "pooled")).all()
    assert noted.sum() == 2
    print_estimates(table)
    assert "pooled differences are over the pairs with both answers" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["level", "score"])
def test_means_of_single_answers_are_those_of_their_differences(kind, declare):
    items = ["31", "22", "14", "55", "43", "21", "33", "44", "52", "12"] * 2
    rows, kinds = rows_of(declare(kind), items), KINDS[kind]
    a, b = np.array([[int(sign) for sign in text] for text in items]).T
    assert rows.loc[kinds.rate_a, "estimate"] == pytest.approx(a.mean())
    assert rows.loc[kinds.rate_b, "estimate"] == pytest.approx(b.mean())
    judged, one = rows.loc[kinds.difference], np.ones(len(a), dtype=int)
    found = unit_mean_difference(a, one, b, one, limits=declare(kind).limits)
    limits = [float(found.estimate), float(found.ci_low), float(found.ci_high)]
    assert judged[["estimate", "ci_low", "ci_high"]].tolist() == pytest.approx(limits)
    assert (judged["n"], judged["n_units"]) == (20, 20)
    assert (judged["n10"], judged["n01"]) == ((a > b).sum(), (a < b).sum())
    assert rows.loc["moved_up", "estimate"] == pytest.approx((a > b).mean())
    assert rows.loc["net_moved", "estimate"] == pytest.approx(np.sign(a - b).mean())
    p_value = float(sign_flip_test(a - b, method="exact").p_value)
    assert rows.loc["sign_flip", "p_value"] == pytest.approx(p_value)


def test_every_sample_is_paired_with_every_other(declare):
    level = declare("level")
    first, second = answers_to(level, ["31", "22"]), answers_to(level, ["42", "15"], sample=1)
    table = analyze(pd.concat([first, second]), benchmarks=[level])
    rows = table[table["group_b"] == "black"].drop_duplicates("metric").set_index("metric")
    pairs = [(a, b) for own in ("34 12", "21 25") for a, b in itertools.product(*own.split())]
    differences = np.array([int(a) - int(b) for a, b in pairs])
    assert rows.loc["level_difference", "estimate"] == pytest.approx(differences.mean())
    assert rows.loc["sign_flip", "n"] == len(pairs)
    assert rows.loc["moved_up", "estimate"] == pytest.approx((differences > 0).mean())
    assert rows.loc["level_a", "n"] == 4


@pytest.mark.parametrize(
    ("samples", "cluster", "room"), [(1, None, False), (5, None, True), (5, "ward", False)]
)
def test_moves_in_several_samples_have_room_for_rare_items(samples, cluster, room, declare):
    level = replace(declare("level"), cluster=cluster)
    # In the first sample, two answers of each group are higher by chance.
    texts = ["32", "32", "23", "23", *["22"] * 26]
    answers = pd.concat(
        answers_to(level, ["22"] * 30 if sample else texts, sample=sample)
        for sample in range(samples)
    )
    answers["cluster"] = answers["item_id"]
    table = analyze(answers, benchmarks=[level])
    rows = table[table["group_b"] == "black"].drop_duplicates("metric").set_index("metric")
    for metric in ("moved_up", "moved_down", "net_moved"):
        row = rows.loc[metric]
        assert ("room" in row["ci_method"]) == room
        # Of 30 more items, three could move in all samples.
        assert row["ci_high"] > 3 / 30 or not room
        assert row["ci_low"] < -3 / 30 or not room or metric != "net_moved"
    assert "room" not in rows.loc["level_difference", "ci_method"]


def test_net_moves_exclude_0_as_their_test_does(declare):
    level = declare("level")
    # Ten items move in one of three samples.
    answers = [
        answers_to(level, [*["22" if sample else "32"] * 10, *["22"] * 20], sample=sample)
        for sample in range(3)
    ]
    table = analyze(pd.concat(answers), benchmarks=[level])
    rows = table[table["group_b"] == "black"].drop_duplicates("metric").set_index("metric")
    row = rows.loc["net_moved"]
    assert row["p_value"] < ALPHA
    assert row["ci_low"] > 0
    assert "with room" in row["ci_method"]


def test_scores_within_the_tolerance_are_the_same(declare):
    exact, close = (
        declare("score"),
        declare("score", missing='missing = "available"\nsame_within = 1'),
    )
    items = ["34", "31", "77", "98", "52"]
    assert rows_of(exact, items).loc["cfr", "estimate"] == pytest.approx(1 / 5)
    near = rows_of(close, items)
    assert near.loc["cfr", "estimate"] == pytest.approx(3 / 5)
    assert near.loc["moved_up", "estimate"] == pytest.approx(2 / 5)
    assert near.loc["score_difference", "estimate"] == pytest.approx(np.mean([-1, 2, 0, 1, 3]))


def test_scores_with_keys_within_the_tolerance_are_the_same(declare):
    """Of two answers that are the same, one can be the key."""
    items = ["34", "31", "77", "98", "52"]
    keys = "item_id,answer_key\n" + "".join(f"item-{i},{text[0]}\n" for i, text in enumerate(items))
    listed = 'keys_file = "keys.csv"\nsame_within = 1'
    close = declare("score", keys=keys, keys_file=listed)
    near = rows_of(close, items, answer_key=np.repeat([text[0] for text in items], 2))
    assert near.loc["cfr", "estimate"] == pytest.approx(3 / 5)


def test_levels_that_are_words_have_their_places_from_1(declare):
    words = {"options": 'kind = "level"\noptions = ["low", "mid", "top"]'}
    level = declare("level", **words)
    answers = answers_to(level, ["13", "22"]).replace(
        {"answer": {"1": "low", "2": "mid", "3": "top"}}
    )
    table = analyze(answers, benchmarks=[level])
    own = table[table["group_b"] == "black"].drop_duplicates("metric").set_index("metric")
    assert own.loc["level_difference", "estimate"] == pytest.approx(-1)
    assert level.limits == (1, 3)


def test_a_number_is_the_option_that_a_spreadsheet_made_it_from(declare):
    level = declare("level")
    texts = answers_to(level, ["31", "2-"])
    numbers = texts.assign(answer=pd.to_numeric(texts["answer"]))
    pd.testing.assert_frame_equal(
        analyze(numbers, benchmarks=[level]), analyze(texts, benchmarks=[level])
    )


# Answers against a key


def test_decisions_with_a_key_have_error_rates_by_group(declare):
    keys = "item_id,answer_key\n" + "".join(f"item-{i},{key}\n" for i, key in enumerate("YYYYNNNM"))
    decision = declare("decision", keys=keys, keys_file='keys_file = "keys.csv"')
    items = ["YY", "YN", "NY", "YN", "YN", "NN", "NM", "MY"]
    answers = answers_to(decision, items)
    answers["answer_key"] = answers["item_id"].map(dict(decision.answer_keys))
    table = analyze(answers, benchmarks=[decision])
    rows = table[table["group_b"] == "black"].drop_duplicates("metric").set_index("metric")
    expected = {
        "true_positive_rate_a": 3 / 4,
        "true_positive_rate_b": 2 / 4,
        "true_positive_rate_difference": 1 / 4,
        "false_positive_rate_a": 1 / 4,
        "false_positive_rate_b": 1 / 4,
        "accuracy_a": (3 + 2 + 1) / 8,
        "accuracy_b": (2 + 2 + 0) / 8,
        "selection_rate_a": 4 / 8,
    }
    assert rows.loc[list(expected), "estimate"].to_dict() == pytest.approx(expected)


def test_levels_with_a_key_have_their_errors_by_group(declare):
    keys = "item_id,answer_key\n" + "".join(f"item-{i},{key}.0\n" for i, key in enumerate("2345"))
    level = declare("level", keys=keys, keys_file='keys_file = "keys.csv"')
    answers = answers_to(level, ["22", "42", "4-", "35"])
    answers["answer_key"] = answers["item_id"].map(dict(level.answer_keys))
    table = analyze(answers, benchmarks=[level])
    rows = table[table["group_b"] == "black"].drop_duplicates("metric").set_index("metric")
    expected = {
        "accuracy_a": 2 / 4,
        "accuracy_b": 2 / 3,
        "too_high_a": 1 / 4,
        "too_low_a": 1 / 4,
        "too_low_b": 1 / 3,
        "signed_error_a": -1 / 4,
        "signed_error_b": -1 / 3,
        "absolute_error_a": 3 / 4,
        "absolute_error_b": 1 / 3,
    }
    assert rows.loc[list(expected), "estimate"].to_dict() == pytest.approx(expected)


# Verdicts


@pytest.mark.parametrize(
    ("kind", "constant"), [("decision", "NN"), ("decision", "YY"), ("level", "33"), ("score", "77")]
)
def test_a_model_that_always_answers_the_same_is_not_equivalent(kind, constant, declare):
    judged = rows_of(declare(kind), [constant] * 2000).loc[KINDS[kind].difference]
    assert judged["verdict"] == "inconclusive"
    assert judged["verdict_reason"].startswith("not called equivalent")
    one_slip = [constant] * 1999 + [SIGNS[kind][0] * 2, SIGNS[kind][-1] * 2]
    assert rows_of(declare(kind), one_slip).loc[KINDS[kind].difference, "verdict"] == "inconclusive"


@pytest.mark.parametrize("kind", DECLARED)
def test_answers_at_random_are_not_equivalent(kind, declare):
    rng = np.random.default_rng(3)
    items = {"decision": 2_000, "level": 5_000, "score": 20_000}[kind]
    signs = rng.choice(list(SIGNS[kind]), (items, 2))
    judged = rows_of(declare(kind), ["".join(pair) for pair in signs]).loc[KINDS[kind].difference]
    assert judged["verdict"] == "inconclusive"
    assert "between the groups could be chance" in judged["verdict_reason"]


@pytest.mark.parametrize("kind", DECLARED)
def test_equal_and_different_models_have_their_verdicts(kind, declare):
    first, last = SIGNS[kind][0], SIGNS[kind][-1]
    fair = [first * 2, last * 2] * 400
    judged = rows_of(declare(kind), fair).loc[KINDS[kind].difference]
    assert (judged["verdict"], judged["estimate"]) == ("equivalent", 0)
    unfair = [first * 2, last * 2] * 100 + [first + last] * 60
    assert rows_of(declare(kind), unfair).loc[KINDS[kind].difference, "verdict"] == "disparity"


def judged_with_keys(declare, kind, given, key):
    """Return the judged row of answers that are alike for both groups."""
    keys = "item_id,answer_key\n" + "".join(f"item-{i},{k}\n" for i, k in enumerate(key))
    own = declare(kind, keys=keys, keys_file='keys_file = "keys.csv"')
    found = rows_of(own, [f"{sign}{sign}" for sign in given], answer_key=np.repeat(key, 2))
    return found.loc[KINDS[kind].difference]


@pytest.mark.parametrize("kind", DECLARED)
def test_answers_that_do_not_agree_with_the_key_are_not_equivalent(kind, declare):
    given, key = np.random.default_rng(5).choice(list(SIGNS[kind]), (2, 3000))
    judged = judged_with_keys(declare, kind, given, key)
    assert judged["verdict"] == "inconclusive"
    assert "with the key could be chance" in judged["verdict_reason"]


@pytest.mark.parametrize("kind", DECLARED)
def test_opposites_of_the_key_are_not_equivalent(kind, declare):
    signs = list(SIGNS[kind])
    key = np.resize(signs, 3000)
    given = [signs[-1 - signs.index(sign)] for sign in key]
    judged = judged_with_keys(declare, kind, given, key)
    assert judged["verdict"] == "inconclusive"
    assert "with the key could be chance" in judged["verdict_reason"]


@pytest.mark.parametrize("kind", DECLARED)
def test_answers_are_judged_without_a_key_that_varies(kind, declare):
    given = np.random.default_rng(5).choice(list(SIGNS[kind]), 3000)
    judged = judged_with_keys(declare, kind, given, np.full(3000, SIGNS[kind][-1]))
    assert judged["verdict"] == "equivalent"


# Missing answers


def fill_ins(items: list[str], signs: str) -> Any:
    """Yield every completion of the missing answers, as differences of items."""
    for text in itertools.product(
        *(
            [
                (int(a), int(b))
                for a in (signs if p[0] == "-" else p[0])
                for b in (signs if p[1] == "-" else p[1])
            ]
            for p in items
        )
    ):
        yield np.array([a - b for a, b in text])


@pytest.mark.parametrize(
    "items",
    [["31", "2-", "55", "44"], ["-1", "-5", "42"], ["--", "33", "51"], ["31", "52", "4-", "5-"]],
)
def test_level_bounds_are_attained_and_never_passed(items, declare):
    level = declare("level")
    answers = answers_to(level, items)
    rows = analyze(answers, "bounds", benchmarks=[level])
    (found,) = rows[(rows["metric"] == "level_difference") & (rows["group_b"] == "black")].to_dict(
        "records"
    )
    completions = list(fill_ins(items, "12345"))
    means = [d.mean() for d in completions]
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((min(means), max(means)))
    assert found["verdict"] is None or pd.isna(found["verdict"])
    judged = judge(outcomes_of(open_answers(answers, [level])).values(), "available", ALPHA)
    place = int(np.flatnonzero(judged.keys["group_b"] == "black")[0])
    assert judged.completions.lowest[place] == pytest.approx(min(means))
    assert judged.completions.highest[place] == pytest.approx(max(means))
    p_values = [float(flip_test(d).p_value) for d in completions]
    assert judged.p_range()[1][place] >= max(p_values) - 1e-12


def test_missing_levels_can_keep_a_disparity_open(declare):
    level = declare("level")
    items = ["51", "31"] * 15 + ["11", "33"] * 5
    assert rows_of(level, items).loc["level_difference", "verdict"] == "disparity"
    judged = rows_of(level, items + ["--"] * 30).loc["level_difference"]
    assert judged["verdict"] == "inconclusive"
    assert "could change the verdict" in judged["verdict_reason"]
    assert "levels" in judged["verdict_reason"]


def test_items_that_were_not_asked_count_as_missing(declare):
    keys = "item_id\n" + "".join(f"item-{i}\n" for i in range(100))
    level = declare("level", keys=keys, keys_file='keys_file = "keys.csv"')
    judged = rows_of(level, ["51", "31"] * 15 + ["11"] * 5).loc["level_difference"]
    assert judged["verdict"] == "inconclusive"
    assert "items that were not asked" in judged["verdict_reason"]


@pytest.mark.parametrize(("worse", "end"), [("lowest", 1), ("highest", 5)])
def test_incorrect_puts_missing_levels_at_the_worse_end(worse, end, declare):
    level = declare("level", missing=f'missing = "incorrect"\nworse = "{worse}"')
    rows = rows_of(level, ["3-", "42", "-5"])
    expected = np.mean([3 - end, 2, end - 5])
    assert rows.loc["level_difference", "estimate"] == pytest.approx(expected)


# Independent units


@pytest.mark.parametrize("kind", ["choice", *DECLARED])
def test_whole_clusters_are_flipped(kind, declare, demo):
    first, last = ("A", "B") if kind == "choice" else (SIGNS[kind][-1], SIGNS[kind][0])
    texts = [first + last] * 12 + [last * 2] * 20 + [first * 2] * 8
    cluster = [f"c{i // 4}" for i in range(len(texts)) for _ in range(2)]
    if kind == "choice":
        declared = replace(demo, name="own", cluster="patient")
        rows = rows_of(declared, texts, answer_key="A", cluster=cluster)
        step = 1
    else:
        declared = declare(kind, missing='missing = "available"\ncluster = "patient"')
        rows = rows_of(declared, texts, cluster=cluster)
        step = 1 if kind == "decision" else abs(int(first) - int(last))
        step = -step if kind == "decision" else step
    test = KINDS[kind].test
    p_value = rows.loc[test, "p_value"]
    assert p_value == pytest.approx(float(sign_flip_test([4 * step] * 3, method="exact").p_value))
    assert rows.loc[test, "n_units"] == 10
    assert rows.loc[test, "n"] == 40
    assert ", clusters flipped" in rows.loc[test, "test"]
    alone = float(mcnemar(n10=12, n01=0, method="exact").p_value)
    assert alone < 0.001 < p_value
    width = rows.loc[KINDS[kind].difference, "ci_high"] - rows.loc[KINDS[kind].difference, "ci_low"]
    if kind == "choice":
        narrow = tango(8, 12, 0, 20)
        assert width > 1.5 * float(narrow.ci_high - narrow.ci_low)


@pytest.mark.parametrize("clustered", [False, True])
def test_printed_title_states_what_is_flipped(clustered, demo, capsys):
    own = replace(
        demo,
        name="own",
        cluster="ward" if clustered else None,
        words=Words(clusters="wards", items="cases"),
    )
    once = answers_to(own, ["AB"] * 12 + ["AA"] * 8, answer_key="A")
    if clustered:
        once["cluster"] = once["item_id"].str[-1]
    twice = pd.concat([once, once.assign(sample=1)])
    print_estimates(analyze(twice, "available", benchmarks=[own]))
    shown = "2 samples per item, tests flip " + ("wards" if clustered else "cases")
    assert shown in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("absent", ["Y-", ".."], ids=["missing", "not asked"])
def test_clusters_without_answers_could_be_those_that_differ(absent, declare):
    clusters = [place // 10 for place in range(400)]
    keys = "item_id,patient\n"
    keys += "".join(f"item-{place},{cluster}\n" for place, cluster in enumerate(clusters))
    missing = 'missing = "available"\ncluster = "patient"'
    parts = {"keys": keys, "keys_file": 'keys_file = "keys.csv"', "missing": missing}
    decision = declare("decision", race=ONE_PAIR, **parts)
    usual = ["YN", "NY"] + ["YY"] * 12 + ["NN"] * 5

    def results(of_two_clusters: str) -> tuple[str, str]:
        texts = [
            of_two_clusters if cluster in (3, 17) else usual[place % len(usual)]
            for place, cluster in enumerate(clusters)
        ]
        limits = Limits(smallest={"cfr": 0.8})
        checked = gate(answers_to(decision, texts), limits, benchmarks=[decision])
        rows = rows_of(decision, texts)
        return rows.loc["selection_difference", "verdict"], checked.loc[0, "result"]

    assert results("YY") == (EQUIVALENT, "pass")
    assert results("YN") == ("inconclusive", "cannot tell")
    assert results(absent) == ("inconclusive", "cannot tell")


def test_a_cluster_of_the_keys_file_is_that_of_the_answers(declare):
    texts = ["51", "31", "22", "43", "15", "44"]
    names = ["p1", "p1", "p1", "p2", "p2", "p3"]
    keys = "item_id,patient\n" + "".join(f"item-{i},{name}\n" for i, name in enumerate(names))
    missing = 'missing = "available"\ncluster = "patient"'
    listed = declare("level", keys=keys, keys_file='keys_file = "keys.csv"', missing=missing)
    given_ = declare("level", missing=missing)
    own = rows_of(given_, texts, cluster=[name for name in names for _ in range(2)])
    pd.testing.assert_frame_equal(rows_of(listed, texts), own)


CROSSED = """[attributes.race]
label = "Race"
groups = { white = "White", black = "Black" }
pairs = [["white", "black"]]
[attributes.sex]
label = "Sex"
groups = { man = "Man", woman = "Woman" }
pairs = [["man", "woman"]]
[attributes.race_sex]
label = "Race and sex"
crosses = ["race", "sex"]
groups = { wm = "White man", bm = "Black man", ww = "White woman", bw = "Black woman" }
pairs = [["wm", "bm"]]
[attributes.race_sex.levels]
wm = ["white", "man"]
bm = ["black", "man"]
ww = ["white", "woman"]
bw = ["black", "woman"]"""


def test_marginal_gaps_are_made_from_the_crossed_cells(declare):
    level = declare("level", race=CROSSED)
    items = ["4312", "5521", "32-4", "2244", "5141"]
    groups = ("wm", "bm", "ww", "bw")
    answers = make_answers(
        items, benchmark=level.name, attribute="race_sex", groups=groups, answer_key=None
    )
    table = analyze(answers, benchmarks=[level])
    differences = {
        "race": [[1, -1], [0, 1], [1], [0, 0], [4, 3]],
        "sex": [[3, 1], [3, 4], [-2], [-2, -2], [1, 0]],
    }
    for attribute, own in differences.items():
        rows = table[table["attribute"] == attribute].drop_duplicates("metric").set_index("metric")
        assert rows.loc["sign_flip", "estimate"] == pytest.approx(
            np.mean([d for values in own for d in values])
        )
        sums = [sum(values) for values in own]
        exact = float(sign_flip_test(sums, method="exact").p_value)
        assert rows.loc["sign_flip", "p_value"] == pytest.approx(exact)
        assert (rows.loc["sign_flip", "n"], rows.loc["sign_flip", "n_units"]) == (9, 5)


def test_crossed_groups_without_pairs_have_no_flips_to_compare(declare):
    ratio = "same_variants_odds_ratio = 2.5"
    crossed = CROSSED.replace('pairs = [["wm", "bm"]]', "pairs = []")
    level = declare("level", race=crossed, missing=f'missing = "available"\n{ratio}')
    given = {"benchmark": level.name, "attribute": "race_sex", "answer_key": None}
    answers = [
        make_answers(["4312", "5521", "3244"], model=name, groups=("wm", "bm", "ww", "bw"), **given)
        for name in ("one", "two", "three")
    ]
    assert len(analyze(pd.concat(answers), benchmarks=[level]))


# Controls

VARIANTS = [("race", "white"), ("race", "black"), ("placebo", "car"), ("placebo", "none")]


@pytest.mark.parametrize("kind", DECLARED)
def test_controls_are_not_judged_and_show_what_is_beyond_them(kind, declare):
    benchmark, (first, *_, last) = declare(kind, race=CONTROLLED), SIGNS[kind]
    items = [first + last + first * 2] * 12 + [first * 4] * 8 + [last * 2 + first + last] * 2
    answers = make_answers(items, benchmark=benchmark.name, variants=VARIANTS, answer_key=None)
    table = analyze(answers, benchmarks=[benchmark])
    control = table[table["attribute"] == "placebo"]
    assert control["verdict"].isna().all()
    assert control["p_adjusted"].isna().all()
    assert control.loc[control["metric"].isin(DIFFERENCES), "verdict_reason"].isna().all()
    race = table[table["attribute"] == "race"].drop_duplicates("metric").set_index("metric")
    assert "over 1 test" in race.loc[KINDS[kind].test, "adjust_method"]
    step = abs(int(first) - int(last)) if kind in ("level", "score") else 1
    beyond = race.loc["beyond_control"]
    assert beyond["estimate"] == pytest.approx(step * (12 - 2) / 22)
    assert 0 < beyond["ci_low"] < beyond["estimate"]
    assert 0.5**14 < beyond["p_value"] < 0.05
    assert "pooled" not in set(table["attribute"])


def test_the_mean_of_all_pairs_next_to_one_control_is_no_evidence(declare):
    """The mean change of nine pairs is small and frequent, that of one control large and rare."""
    groups = [f"g{number}" for number in range(10)]
    names = ", ".join(f'{group} = "{group}"' for group in groups)
    pairs = ", ".join(f'["g0", "{group}"]' for group in groups[1:])
    race = f'[attributes.race]\nlabel = "Race"\ngroups = {{ {names} }}\npairs = [{pairs}]\n'
    benchmark = declare("decision", race=race + PLACEBO)
    usual, odd = SIGNS["decision"][0], SIGNS["decision"][-1]
    # In 40 items, another group's answer is odd; in two, an answer to the control.
    items = [
        "".join(odd if 1 + item % 9 == place else usual for place in range(10)) + usual * 2
        for item in range(40)
    ]
    items += [usual * 11 + odd] * 2
    variants = [("race", group) for group in groups]
    variants += [("placebo", "car"), ("placebo", "none")]
    answers = make_answers(items, benchmark=benchmark.name, variants=variants, answer_key=None)
    table = analyze(answers, benchmarks=[benchmark])
    beyond = table[(table["metric"] == "beyond_control") & (table["attribute"] == "race")]
    every = beyond["group_a"].isna()
    (one,) = beyond[every]["p_value"]
    assert one > 0.05
    assert len(beyond) == 10


@pytest.mark.parametrize("kind", ["level", "score"])
def test_small_differences_do_not_exclude_rare_large_ones(kind, declare):
    benchmark = declare(kind, race=ONE_PAIR)
    answers = answers_to(benchmark, ["12"] * 15 + ["54"] * 15 + ["11", "33", "55"] * 10)
    # Wilson's 90% upper limit for 0 of 60 items that differ by the whole scale.
    reach = benchmark.span * float(wilson(0, 60, alpha=0.1).ci_high)
    for share, verdict in ((0.97, "inconclusive"), (1.03, "equivalent")):
        table = analyze(answers, benchmarks=[benchmark], margin=share * reach)
        (row,) = table[table["metric"] == benchmark.kind.difference].to_dict("records")
        assert row["verdict"] == verdict
        if verdict == "inconclusive":
            assert "rare large differences" in row["verdict_reason"]


# Degenerate answers, engines, other choices


@pytest.mark.parametrize("policy", ["available", "complete", "incorrect", "bounds"])
@pytest.mark.parametrize("kind", DECLARED)
def test_degenerate_answers_give_no_flattering_verdict(kind, policy, declare):
    benchmark, sign = declare(kind), SIGNS[kind][1]
    sets = {
        "one item": [sign * 2],
        "nothing parsed": ["--"] * 9,
        "one group absent": [f"{sign}."] * 9,
        "one group never parsed": [f"{sign}-"] * 9,
        "constant": [sign * 2] * 900,
    }
    # Each strategy is a board of its own.
    answers = [answers_to(benchmark, items, strategy=shape) for shape, items in sets.items()]
    table = analyze(pd.concat(answers), policy, benchmarks=[benchmark])
    assert set(table["strategy"]) == set(sets)
    check_sound(table)


def check_sound(table: pd.DataFrame) -> None:
    assert "equivalent" not in set(table["verdict"])
    assert "disparity" not in set(table["verdict"])
    tested = table["p_value"].dropna()
    assert ((tested > 0) & (tested <= 1)).all()
    there = table[table["estimate"].notna() & table["ci_low"].notna()]
    assert (there["ci_low"] <= there["estimate"] + 1e-12).all()
    assert (there["estimate"] <= there["ci_high"] + 1e-12).all()
    for row in there.to_dict("records"):
        lowest, highest = METRICS[row["metric"]].lowest, METRICS[row["metric"]].highest
        assert lowest is None or row["ci_low"] >= lowest - 1e-12
        assert highest is None or row["ci_high"] <= highest + 1e-12


@pytest.mark.parametrize("kind", DECLARED)
def test_any_answers_give_valid_estimates(kind, declare):
    benchmark = declare(kind)
    texts = st.lists(st.text(SIGNS[kind] + "-.", min_size=2, max_size=2), min_size=1, max_size=7)

    @settings(max_examples=8)
    @given(items=texts, policy=st.sampled_from(["available", "complete", "incorrect", "bounds"]))
    def check(items: list[str], policy: str) -> None:
        answers = answers_to(benchmark, items)
        if len(answers):
            check_limits(analyze(answers, policy, benchmarks=[benchmark]))

    check()


def check_limits(table: pd.DataFrame) -> None:
    tested = table["p_value"].dropna()
    assert ((tested > 0) & (tested <= 1)).all()
    there = table[table["estimate"].notna() & table["ci_low"].notna()]
    assert (there["ci_low"] <= there["estimate"] + 1e-9).all()
    assert (there["estimate"] <= there["ci_high"] + 1e-9).all()


@pytest.mark.parametrize("kind", DECLARED)
@pytest.mark.parametrize("clustered", [False, True])
def test_duckdb_gives_the_estimates_of_pandas(kind, clustered, declare):
    rng = np.random.default_rng(7)
    signs = rng.choice([*SIGNS[kind], "-"], (60, 2))
    items = ["".join(pair) for pair in signs]
    columns = {"cluster": [f"c{i // 5}" for i in range(60) for _ in range(2)]} if clustered else {}
    missing = 'missing = "available"' + '\ncluster = "patient"' * clustered
    benchmark = declare(kind, missing=missing)
    answers = pd.concat(
        [
            answers_to(benchmark, items, **columns),
            answers_to(benchmark, items[::-1], sample=1, **columns),
        ]
    )
    table = duckdb.connect().from_df(answers)
    pd.testing.assert_frame_equal(
        analyze(table, benchmarks=[benchmark]), analyze(answers, benchmarks=[benchmark])
    )


@pytest.mark.parametrize(
    ("race", "variants"),
    [
        (CONTROLLED, VARIANTS),
        (CROSSED, [("race_sex", group) for group in ("wm", "bm", "ww", "bw")]),
    ],
    ids=["controls", "crossed groups"],
)
def test_duckdb_gives_the_estimates_of_pandas_that_need_each_item(race, variants, declare):
    rng = np.random.default_rng(3)
    decision = declare("decision", race=race)
    texts = ["".join(rng.choice(["Y", "N"], len(variants))) for _ in range(80)]
    samples = [make_answers(own, variants=variants) for own in (texts, texts[1:] + texts[:1])]
    answers = pd.concat([own.assign(sample=n) for n, own in enumerate(samples)])
    answers = answers.assign(benchmark=decision.name, answer_key=None)
    table = duckdb.connect().from_df(answers)
    pd.testing.assert_frame_equal(
        analyze(table, benchmarks=[decision]), analyze(answers, benchmarks=[decision])
    )


def test_duckdb_counts_each_decision_that_agrees_with_its_key(declare):
    decision = declare("decision", race=ONE_PAIR)
    items = ["YY", "NN"] * 60
    answers = answers_to(decision, items, answer_key=[key for text in items for key in text])
    for own in (duckdb.connect().from_df(answers), answers):
        found = analyze(own, benchmarks=[decision])
        judged = found[found["metric"] == "selection_difference"].iloc[0]
        assert judged["verdict"] == EQUIVALENT, judged["verdict_reason"]


def test_released_triage_levels_have_their_reference_values(shared_data, declare):
    table = pd.read_csv(shared_data("triage/triage_levels.csv"))
    own = table[
        table["model"].isin(["claude-3-haiku-20240307", "gpt-4o"])
        & (table["prompt"] == "zero-shot")
        & (table["Sex"] == "Men")
        & table["Race"].isin(["White", "Black"])
    ]
    level = declare("level", missing='missing = "available"\ncluster = "subject_id"')
    answers = pd.DataFrame(
        {
            "benchmark": level.name,
            "benchmark_version": "1",
            "model": own["model"],
            "strategy": "plain",
            "item_id": own["stay_id"].astype(str),
            "attribute": "race",
            "group": own["Race"].str.lower(),
            "sample": 0,
            "answer": own["Estimated_Acuity"],
            "cluster": own["subject_id"].astype(str),
            "status": "ok",
        }
    )
    found = analyze(answers, benchmarks=[level])
    found = found[found["group_b"] == "black"].set_index(["model", "metric"])
    haiku = found.loc[("claude-3-haiku-20240307", "level_difference")]
    # The values, computed with numpy alone.
    assert haiku["estimate"] == pytest.approx(0.14211, abs=1e-5)
    assert (haiku["n10"], haiku["n01"], haiku["n"], haiku["n_units"]) == (29, 2, 190, 50)
    assert (haiku["ci_high"] - haiku["ci_low"]) / 2 / 0.0220 == pytest.approx(2.08, abs=0.05)
    tests = found.loc[("claude-3-haiku-20240307", "sign_flip")]
    # 200,000 random flips gave 4e-5, with a standard error of 1.4e-5.
    assert 1e-5 < tests["p_value"].max() < 8e-5
    gpt = found.loc[("gpt-4o", "level_difference")]
    assert (gpt["n10"], gpt["n01"]) == (8, 7)
    assert gpt["estimate"] == pytest.approx(0.01053, abs=1e-5)


def test_grid_keeps_scores_in_order(declare):
    score = declare("score")
    own = grid(answers_to(score, ["93", "1-"]), benchmarks=[score])[score.name]
    assert own.options == ("0", "1", "3", "9")
    assert own.values.tolist() == [0, 1, 3, 9]
    opened = open_answers(answers_to(score, ["93", "1-"]), [score])
    assert item_grid(opened, score).hits.max() == 0


@pytest.mark.parametrize("kind", ["level", "score"])
def test_figures_of_several_samples_without_any_answer_are_unknown(kind, declare):
    keys = "item_id,answer_key\nitem-0,1\nitem-1,2\n"
    own = declare(kind, keys=keys, keys_file='keys_file = "keys.csv"')
    columns = {"answer_key": ["1", "1", "2", "2"]}
    runs = [answers_to(own, ["--", "--"], sample=s, **columns) for s in range(2)]
    table = analyze(pd.concat(runs), benchmarks=[own])
    judged = table[table["metric"].isin(DIFFERENCES)]
    assert len(judged)
    assert judged["estimate"].isna().all()


def test_runs_that_differ_more_than_the_groups_are_named(declare):
    level = declare("level")
    runs = [answers_to(level, [f"{run}{run}"] * 30, sample=run - 1) for run in (1, 2, 3, 4)]
    # Each run pairs with itself between groups; within a group no two runs agree.
    table = analyze(pd.concat(runs), benchmarks=[level])
    excess = table[(table["metric"] == "excess_disagreement") & (table["group_b"] == "black")]
    assert excess["estimate"].item() == pytest.approx(-0.25)
    assert NO_REPETITIONS in excess["method_note"].item()
    same = [answers_to(level, ["11", "33"] * 15, sample=run) for run in range(3)]
    table = analyze(pd.concat(same), benchmarks=[level])
    assert not table["method_note"].str.contains("not repetitions").any()


def test_agreement_of_samples_is_over_clusters_where_they_are_declared(declare):
    level = declare("level", missing='missing = "available"\ncluster = "patient"')
    cluster = [f"c{i // 10}" for i in range(40) for _ in range(2)]
    items = ["11"] * 20 + ["23"] * 20
    runs = [answers_to(level, items, sample=s, cluster=cluster) for s in range(2)]
    table = analyze(pd.concat(runs), benchmarks=[level])
    excess = table[(table["metric"] == "excess_disagreement") & (table["group_b"] == "black")]
    # Two of four clusters differ, which says little.
    assert excess["estimate"].item() == pytest.approx(0.5)
    assert excess["ci_low"].item() < 0
    assert excess["n_units"].isna().item()
