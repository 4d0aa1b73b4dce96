"""analyze(): degenerate cases, properties that hold for any answers, and every engine."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pingouin import multicomp

from fairstats import rank_models
from fairstats._lib.formatting import over_tests
from fairstats._lib.problems import InputError
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.answers.strategies import VOTED
from fairstats.benchmarks.declaration import MISSING_POLICIES
from fairstats.benchmarks.loading import load_benchmark
from fairstats.counts.patterns import is_lopsided
from fairstats.estimates.analyze import COMMON_GROUP, SLANTED, analyze
from fairstats.estimates.judgements import CANCEL_OUT
from fairstats.estimates.specifications import sensitivity_of
from fairstats.estimates.table import ESTIMATE_COLUMNS
from fairstats.inference.differences import partly_paired_interval
from fairstats.inference.intervals import proportion_interval, tango
from fairstats.inference.mcnemar import mcnemar
from fairstats.inference.power import minimum_detectable_difference
from fairstats.metrics.registry import METRICS, PAIR_METRICS
from tests.make_answers import make_answers
from tests.make_kinds import SEX

COUNTING = ("available", "complete", "incorrect")
PAIR = [metric.name for metric in PAIR_METRICS if "choice" in metric.kinds]
#: The metrics of an attribute of two groups.
WHOLE = ["overall_accuracy", "dp", "impact_ratio", "eo"]
SIGNED = ("accuracy_difference", "missing_difference", "cohens_h", "mcnemar")
MIRRORED = {
    "accuracy_a": "accuracy_b",
    "accuracy_b": "accuracy_a",
    "only_a_correct": "only_b_correct",
    "only_b_correct": "only_a_correct",
}
UNIT = ["benchmark", "benchmark_version", "model", "strategy"]

DEGENERATE = {
    "no discordant pair": ["AA/A", "BB/A", "BC/B"],
    "all correct": ["AA/A"] * 5,
    "all wrong": ["BB/B", "BC/C"],
    "one item": ["AB/A"],
    "one item, one group": ["A./A"],
    "nothing parsed": ["--/-"] * 3,
    "one group absent": ["A./A", "B./A", "A./B"],
    "one group never parsed": ["A-/A", "B-/A", "A-/-"],
    "no neutralized variant": ["AB", "BA", "AA"],
    "nothing answerable": ["AB/B", "AA/B"],
    "all discordant to one side": ["AB/A"] * 4,
    "perfect balance": ["AB/A", "BA/A"],
}
ITEM = st.builds("{}{}/{}".format, *[st.sampled_from("AABC-")] * 2, st.sampled_from("AB-"))
# One example is a whole analysis, so it has many tables as models of one analysis. There are few
# examples, and failing ones are not reduced.
TABLES = st.lists(st.lists(ITEM, min_size=1, max_size=25), min_size=4, max_size=7)
ONE_SIDED = st.lists(
    st.lists(st.sampled_from(["A-/A", "B-/A", "-B/A", "AB/A", "AA/A"]), min_size=1, max_size=50),
    min_size=4,
    max_size=7,
)
FEW = settings(max_examples=3, phases=[Phase.explicit, Phase.generate])


def check_sound(estimates: pd.DataFrame) -> None:
    """Check the properties of every estimates table."""
    assert list(estimates.columns) == list(ESTIMATE_COLUMNS)
    finite = estimates[~estimates["metric"].isin(["odds_ratio", "accuracy_ratio"])]
    numbers = finite[["estimate", "ci_low", "ci_high", "statistic", "p_value", "p_adjusted"]]
    assert not np.isinf(numbers.to_numpy(dtype=float)).any()
    for row in estimates.to_dict("records"):
        if row["metric"] == "minimum_detectable_difference":
            assert np.isnan(row["estimate"]) or 0 < row["estimate"] <= 1
            continue
        metric = METRICS[row["metric"]]
        if not metric.interval:
            assert 0 <= row["p_value"] <= 1
            continue
        if row["metric"] == "odds_ratio" and np.isnan(row["ci_low"]):
            assert row["ci_method"] == "none for clustered answers"
            continue
        if "several samples per item: not estimated" in str(row["method_note"]):
            assert np.isnan([row[name] for name in ("estimate", "ci_low", "ci_high")]).all()
            continue
        assert metric.lowest <= row["ci_low"] <= row["ci_high"] <= metric.highest, row
        if not np.isnan(row["estimate"]):
            assert row["ci_low"] - 1e-12 <= row["estimate"] <= row["ci_high"] + 1e-12, row


def random_answers(answers_of, seed: int, **unit: str) -> pd.DataFrame:
    draw = random.Random(seed)
    items = [
        "".join(draw.choices("AAAB-", k=2)) + "/" + draw.choice("AAB-")
        for _ in range(draw.randint(20, 60))
    ]
    return answers_of(items, **unit)


def models(answers_of, tables: list[list[str]], **unit: str) -> pd.DataFrame:
    named = (answers_of(table, model=f"{i:02}", **unit) for i, table in enumerate(tables))
    return pd.concat(list(named), ignore_index=True)


# Degenerate cases


@pytest.fixture(scope="module")
def degenerate(answers_of) -> dict[str, pd.DataFrame]:
    """Return the estimates of every degenerate case by policy; the cases are models."""
    answers = pd.concat(
        [answers_of(items, model=case) for case, items in DEGENERATE.items()], ignore_index=True
    )
    return {policy: analyze(answers, policy) for policy in MISSING_POLICIES}


@pytest.mark.parametrize("policy", COUNTING)
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_answers_give_finite_intervals_that_contain_the_estimate(
    case, policy, degenerate
):
    estimates = degenerate[policy].query("model == @case")
    check_sound(estimates)
    race = estimates[estimates["attribute"] == "race"]
    assert race["metric"].drop_duplicates().tolist() == [*PAIR, *WHOLE]


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_answers_give_finite_bounds(case, degenerate):
    check_sound(degenerate["bounds"].query("model == @case"))


@pytest.mark.parametrize("policy", MISSING_POLICIES)
@pytest.mark.parametrize("texts", [["AB/A"] * 3, ["AA/A", "A-/-"], ["--/-"] * 2])
def test_one_cluster_gives_finite_intervals_that_contain_the_estimate(texts, policy, answers_of):
    answers = [answers_of([text], sample=sample) for sample, text in enumerate(texts)]
    check_sound(analyze(pd.concat(answers), policy))


def test_fair_model_never_has_a_disparity(answers_of):
    fair = ("no discordant pair", "all correct", "all wrong", "nothing parsed")
    answers = models(answers_of, [DEGENERATE[case] * 40 for case in fair])
    for policy in COUNTING:
        race = analyze(answers, policy).query("attribute == 'race'")
        assert (race.loc[race["metric"] == "mcnemar", "p_value"] == 1).all(), policy
        assert "disparity" not in set(race["verdict"].dropna()), policy


# The metrics that are NaN in each case, under the policy that uses all available answers. Without
# a discordant pair there is no odds ratio, and few items have no detectable difference.
TOO_FEW = {"minimum_detectable_difference"}
RATIOS = {"accuracy_ratio", "impact_ratio"}
NONE = {*PAIR, *WHOLE} - {"missing_difference"}
NAN = {
    "no discordant pair": TOO_FEW | {"odds_ratio"},
    "all correct": TOO_FEW | {"odds_ratio"},
    "all wrong": TOO_FEW | RATIOS | {"odds_ratio", "eo"},
    "one item": TOO_FEW,
    "all discordant to one side": TOO_FEW,
    "perfect balance": TOO_FEW,
    "no neutralized variant": TOO_FEW | {"eo"},
    "nothing answerable": TOO_FEW | {"eo"},
    "nothing parsed": NONE,
    "one group absent": NONE - {"accuracy_a", "overall_accuracy"},
    "one group never parsed": NONE - {"accuracy_a", "overall_accuracy"},
    "one item, one group": NONE - {"accuracy_a", "overall_accuracy"},
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_estimate_is_nan_only_without_answers(case, degenerate):
    race = degenerate["available"].query("model == @case and attribute == 'race'")
    found = set(race.loc[race["estimate"].isna(), "metric"]) - {"bowker", "stuart_maxwell"}
    assert found == NAN[case] - {"bowker", "stuart_maxwell"}
    difference = race[race["metric"] == "accuracy_difference"].iloc[0]
    judged = difference["verdict"] in ("inconclusive", "equivalent", "disparity")
    assert judged == ("accuracy_difference" not in NAN[case])


def test_without_parsed_answers_intervals_cover_the_whole_scale(degenerate, row_of):
    estimates = degenerate["available"].query("model == 'nothing parsed'")
    for metric in ("cfr", "ad", "accuracy_difference", "cohens_h"):
        row = row_of(estimates, metric=metric, attribute="race")
        scale = (METRICS[metric].lowest, METRICS[metric].highest)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(scale)
    row = row_of(estimates, metric="accuracy_a", attribute="race")
    assert (row["n"], row["n_missing_a"], row["n_missing_b"]) == (0, 3, 3)


def test_one_group_missing_shows_as_a_difference_in_missing_answers(answers_of, row_of):
    estimates = analyze(answers_of(["AA"] * 20 + ["A-"] * 12))
    row = row_of(estimates, metric="missing_difference")
    assert row["estimate"] == pytest.approx(-12 / 32)
    assert (row["n10"], row["n01"], row["n"]) == (0, 12, 32)
    assert row["p_value"] < 0.001


def test_attribute_without_answers_has_no_row(answers_of):
    estimates = analyze(answers_of(["../A", "../B"]))
    assert set(estimates["attribute"]) == {"baseline"}
    assert estimates["p_adjusted"].isna().all()
    assert estimates["verdict"].isna().all()


@pytest.mark.parametrize("policy", MISSING_POLICIES)
def test_baseline_text_that_was_not_asked_is_not_compared(policy, answers_of):
    """Other figures need neither text, so the other one's answers are not missing."""
    answers = answers_of(["AB/A", "AA/B", "BA/A"])
    rows = analyze(answers, missing=policy).query("attribute == 'baseline'")
    assert rows["metric"].tolist() == ["accuracy_b"]
    assert rows["n"].tolist() == [0 if policy == "complete" else 3]
    table = sensitivity_of(answers, policy, 0.05, {"demo": load_benchmark("demo")})
    assert set(table["attribute"]) == {"race"}
    both = answers_of(["AB", "BA"], groups=("original", "neutralized"), attribute="baseline")
    assert len(analyze(both, missing=policy)) > 1


@pytest.mark.parametrize("policy", COUNTING)
def test_three_groups_give_valid_estimates(policy, answers_of, three_groups):
    tables = [
        ["AAA/A"],
        ["A-B/A", "AB-/B"],
        ["---/-"],
        ["AB./A", "BA./A"],
        ["AAB/A", "ABA/A", "BAA/B"] * 9,
    ]
    groups = tuple(three_groups.attributes["race"].groups)
    answers = models(answers_of, tables, groups=groups, benchmark="three")
    estimates = analyze(answers, policy, benchmarks=[three_groups])
    check_sound(estimates)
    race = estimates[estimates["attribute"] == "race"]
    for _, own in race.groupby("model"):
        assert own.groupby(["group_a", "group_b"])["metric"].nunique().to_dict() == {
            ("white", "black"): len(PAIR) + 1,
            ("white", "asian"): len(PAIR) + 1,
            ("black", "asian"): len(PAIR) + 1,
        }
        assert own.loc[own["group_a"].isna(), "metric"].tolist() == [
            "overall_accuracy",
            "cochran_q",
            "dp",
            "impact_ratio",
            "eo",
        ]


def test_figures_of_three_groups_follow_from_their_pairs(answers_of, three_groups, row_of):
    items = ["AAB/A", "ABA/A", "BAA/B", "ABB/A", "AAA/A"]
    groups = tuple(three_groups.attributes["race"].groups)
    answers = answers_of(items, groups=groups, benchmark="three")
    estimates = analyze(answers, benchmarks=[three_groups])
    white_asian = answers_of([item[0] + item[2] for item in items])
    expected = analyze(white_asian)
    for metric in ("accuracy_b", "ad", "cfr", "cohens_h"):
        pair = {"group_a": "white", "group_b": "asian"}
        found = row_of(estimates, metric=metric, **pair)["estimate"]
        assert found == row_of(expected, metric=metric, attribute="race")["estimate"]
    assert row_of(estimates, metric="dp")["estimate"] == pytest.approx(4 / 5 - 3 / 5)
    assert row_of(estimates, metric="eo")["estimate"] == pytest.approx(1 - 2 / 4)


# Figures


def test_figures_of_a_small_table_agree_with_counting_by_hand(answers_of, row_of):
    items = ["AA/A", "AA/A", "AB/A", "AB/B", "BA/A", "BB/A", "BC/-", "A-/A", "-B/A", "--/A"]
    by_hand = {
        "available": {
            "accuracy_a": 5 / 8,
            "accuracy_b": 3 / 8,
            "accuracy_difference": 2 / 8,
            "ad": 2 / 8,
            "cfr": 3 / 7,
            "both_correct": 2 / 7,
            "only_a_correct": 2 / 7,
            "only_b_correct": 1 / 7,
            "neither_correct": 2 / 7,
            "missing_difference": 0,
            "dp": 2 / 8,
            "eo": 4 / 6 - 3 / 6,
        },
        "complete": {"accuracy_a": 4 / 7, "accuracy_b": 3 / 7, "ad": 1 / 7, "cfr": 3 / 7, "eo": 0},
        "incorrect": {
            "accuracy_a": 5 / 10,
            "accuracy_b": 3 / 10,
            "ad": 2 / 10,
            "cfr": 3 / 10,
            "only_a_correct": 3 / 10,
            "neither_correct": 4 / 10,
            "eo": 4 / 8 - 3 / 8,
        },
    }
    for policy, figures in by_hand.items():
        estimates = analyze(answers_of(items), policy)
        for metric, expected in figures.items():
            found = row_of(estimates, metric=metric, attribute="race")["estimate"]
            assert found == pytest.approx(expected, abs=1e-12), (policy, metric)


@pytest.mark.parametrize("policy", COUNTING)
def test_for_two_groups_dp_is_ad_with_its_interval(policy, answers_of):
    answers = pd.concat([random_answers(answers_of, i, model=str(i)) for i in range(6)])
    estimates = analyze(answers, policy).query("attribute == 'race'").set_index("metric")
    columns = ["estimate", "ci_low", "ci_high"]
    np.testing.assert_allclose(estimates.loc["dp", columns], estimates.loc["ad", columns])


def test_holm_is_over_the_demographic_pairs_of_a_board(answers_of):
    answers = pd.concat(
        [random_answers(answers_of, 1, model="one"), random_answers(answers_of, 2, model="two")]
        + [
            random_answers(
                answers_of, 3, groups=("original", "neutralized"), attribute="baseline", model=model
            ).drop_duplicates(["item_id", "group"])
            for model in ("three",)
        ]
    )
    estimates = analyze(answers)
    tests = estimates[estimates["test"].eq("mcnemar midp") & estimates["metric"].eq("mcnemar")]
    demographic = tests[tests["attribute"] == "race"]
    smaller, larger = sorted(demographic["p_value"])
    assert sorted(demographic["p_adjusted"]) == pytest.approx(
        [min(2 * smaller, 1), max(min(2 * smaller, 1), larger)]
    )
    assert set(demographic["adjust_method"]) == {"holm over 2 tests of the board demo, 1, plain"}
    assert tests.loc[tests["attribute"] == "baseline", "p_adjusted"].isna().all()


def test_each_benchmark_keeps_its_policy(answers_of, benchmark_file):
    strict = load_benchmark(benchmark_file(missing='missing = "incorrect"'))
    items = ["AA-/A", "A-B/A"]
    groups = tuple(strict.attributes["race"].groups)
    answers = pd.concat(
        [answers_of(["A-", "AB"]), answers_of(items, groups=groups, benchmark="three")]
    )
    estimates = analyze(answers, benchmarks=[strict])
    policies = estimates.groupby("benchmark")["missing"].unique().map(list)
    assert policies.to_dict() == {"demo": ["available"], "three": ["incorrect"]}
    assert set(analyze(answers, "complete", benchmarks=[strict])["missing"]) == {"complete"}


def test_verdicts_are_only_on_signed_demographic_differences(answers_of):
    shown = answers_of(["AB/A"] * 30 + ["AA/A"] * 30, model="shown")
    equal = answers_of(["AA/A"] * 300, model="equal")
    open_ = answers_of(["AB/A", "AA/A"], model="open")
    estimates = analyze(pd.concat([shown, equal, open_], ignore_index=True))
    judged = estimates.dropna(subset="verdict")
    assert set(judged["metric"]) == {"accuracy_difference"}
    assert judged.set_index("model")["verdict"].to_dict() == {
        "shown": "disparity",
        "equal": "equivalent",
        "open": "inconclusive",
    }


def test_a_difference_far_outside_of_the_margin_is_not_called_equivalent(answers_of, row_of):
    """With 300 equal pairs, a is right on 300 other items and b is wrong on another 300."""
    estimates = analyze(answers_of(["AA"] * 300 + ["A-"] * 300 + ["-B"] * 300), "available")
    row = row_of(estimates, metric="accuracy_difference")
    assert row["estimate"] == pytest.approx(0.5)
    assert row["verdict"] != "equivalent"


@pytest.mark.parametrize("policy", ["available", "bounds"])
def test_alpha_is_the_level_of_every_interval(policy, answers_of):
    estimates = analyze(random_answers(answers_of, 7), policy, alpha=0.2)
    assert estimates["ci_level"].dropna().unique() == pytest.approx([0.8])


@pytest.mark.parametrize("alpha", [0, 0.5, 1, -1, float("nan")])
def test_alpha_that_leaves_no_interval_for_equivalence_is_refused(alpha, answers_of):
    with pytest.raises(ValueError, match="alpha"):
        analyze(answers_of(["AB"]), alpha=alpha)


def test_unknown_policy_is_refused_with_the_known_ones(answers_of):
    with pytest.raises(ValueError, match=r"'ignore'.*available, complete, incorrect or bounds"):
        analyze(answers_of(["AB"]), "ignore")


def test_an_unknown_benchmark_is_an_input_error(answers_of):
    with pytest.raises(InputError, match="nowhere: no such benchmark"):
        analyze(answers_of(["AB"], benchmark="nowhere"))


def test_bounds_are_points_without_missing_answers(answers_of, row_of):
    estimates = analyze(answers_of(["AA", "AB", "B-"]), "bounds")
    check_sound(estimates)
    cfr = row_of(estimates, metric="cfr")
    assert (cfr["ci_low"], cfr["ci_high"]) == pytest.approx((1 / 3, 2 / 3))
    assert np.isnan(cfr["estimate"])
    assert row_of(estimates, metric="accuracy_a")["estimate"] == pytest.approx(2 / 3)
    assert set(estimates.loc[estimates["metric"] == "cfr", "ci_method"]) == {"bounds"}
    assert estimates["verdict"].isna().all()


def test_the_unit_of_an_estimate_names_its_snapshots(answers_of):
    answers = pd.concat(
        [
            answers_of(["AB"], model="one", snapshot="b"),
            answers_of([".."] * 3 + ["AB"], model="one", snapshot="a"),
            answers_of(["AB"], model="two"),
        ]
    )
    snapshots = analyze(answers).groupby("model")["snapshot"].unique().map(list)
    assert snapshots["one"] == ["a, b"]
    assert pd.isna(snapshots["two"][0])
    assert analyze(answers_of(["AB"]))["snapshot"].isna().all()


def test_identical_samples_add_no_information(answers_of, row_of):
    items = ["AB/A"] * 30 + ["BA/A"] * 10 + ["AA/A"] * 60 + ["BC/A"] * 20
    once = answers_of(items)
    thrice = pd.concat([once.assign(sample=sample) for sample in range(3)])
    one, three = analyze(once), analyze(thrice)
    for metric in ("accuracy_a", "accuracy_difference", "cfr", "cohens_h", "dp", "eo"):
        expected, found = (row_of(table, metric=metric, attribute="race") for table in (one, three))
        assert found["estimate"] == pytest.approx(expected["estimate"])
        # The variance of three copies is that of one, but for n / (n − 1).
        limits = ["ci_low", "ci_high"]
        assert found[limits].tolist() == pytest.approx(expected[limits].tolist(), abs=2e-3)
        assert "design effect" in found["ci_method"]
        assert "3 samples per item" in found["method_note"]
    expected, found = (
        table.query("metric == 'mcnemar' and attribute == 'race'").iloc[1] for table in (one, three)
    )
    assert found["p_value"] == pytest.approx(expected["p_value"])
    assert found["test"] == "mcnemar midp, items flipped"
    # Nine pairs of answers for each item.
    assert (found["n"], found["n10"], found["n01"]) == (1080, 270, 90)
    row = row_of(three, metric="accuracy_difference", attribute="race", group_b="black")
    assert row["verdict"] == "disparity"
    assert set(three.loc[three["metric"].isin(["bowker", "stuart_maxwell"]), "attribute"]) == set()


def test_independent_samples_are_worth_nearly_as_many_items(answers_of, row_of):
    draw = random.Random(1)
    samples = [
        answers_of(["".join(draw.choices("AAB", k=2)) for _ in range(200)], sample=sample)
        for sample in range(4)
    ]
    row = row_of(analyze(pd.concat(samples)), metric="accuracy_difference")
    effect = float(row["ci_method"].rpartition(" ")[2]) if "effect" in row["ci_method"] else 1.0
    # Four samples give 16 pairs: four for each answer.
    assert 1 <= effect / 4 < 1.3


def test_pooled_attributes_are_clusters_of_an_item(answers_of, row_of):
    items = ["AB"] * 30 + ["BA"] * 10 + ["AA"] * 60
    race = answers_of(items)
    sex = answers_of(items, groups=("male", "female"), attribute="sex")
    estimates = analyze(pd.concat([race, sex]))
    alone = row_of(estimates, metric="accuracy_difference", attribute="race", group_b="black")
    pooled = row_of(estimates, metric="accuracy_difference", attribute="pooled")
    assert (pooled["group_a"], pooled["group_b"]) == ("first", "second")
    assert pooled["estimate"] == pytest.approx(alone["estimate"])
    assert (pooled["n"], pooled["n10"], pooled["n01"]) == (200, 60, 20)
    # The two attributes have the same answers to every item: together they are no more evidence
    # than one.
    limits = ["ci_low", "ci_high"]
    assert pooled[limits].tolist() == pytest.approx(alone[limits].tolist(), abs=2e-3)
    tests = estimates.query("metric == 'mcnemar' and attribute == 'pooled'")
    assert tests["test"].tolist() == ["mcnemar exact, items flipped", "mcnemar midp, items flipped"]
    pooled_family = "holm over 1 test of the board demo, 1, plain, pooled"
    assert tests["adjust_method"].tolist() == [pooled_family] * 2
    family = estimates.query("metric == 'mcnemar' and attribute in ('race', 'sex')")
    assert set(family["adjust_method"]) == {"holm over 2 tests of the board demo, 1, plain"}


def test_mean_of_opposite_gaps_is_not_called_equivalent_and_has_no_size(answers_of, row_of):
    first, second = ["AB"] * 80 + ["AA"] * 320, ["BA"] * 80 + ["AA"] * 320
    race, sex = answers_of(first), answers_of(second, groups=("male", "female"), attribute="sex")
    found = analyze(pd.concat([race, sex]))
    judged = found[found["metric"] == "accuracy_difference"].set_index("attribute")
    assert judged.loc["race", "verdict"] == judged.loc["sex", "verdict"] == "disparity"
    assert judged.loc["pooled", "estimate"] == 0
    assert judged.loc["pooled", "verdict"] == "inconclusive"
    assert CANCEL_OUT in judged.loc["pooled", "verdict_reason"]
    assert found.loc[found["metric"] == "ad", "attribute"].tolist() == ["race", "sex"]


STAR = """[attributes.race]
label = "Race"
groups = { a = "A", b = "B", c = "C", d = "D", e = "E", f = "F" }
pairs = [["a", "b"], ["a", "c"], ["a", "d"], ["a", "e"], ["a", "f"]]"""


@pytest.mark.parametrize("cluster", [False, True])
@pytest.mark.parametrize("kind", ["choice", "level"])
def test_pooled_pairs_with_a_common_group_have_no_test(benchmark_file, answers_of, kind, cluster):
    """If all groups slip as often, five of six slips are of others, and each is in one pair."""
    numbers = {"options": 'kind = "level"\noptions = ["1", "2", "3"]', "keys_file": ""}
    numbers = numbers if kind == "level" else {}
    numbers |= {"licence": 'licence = "CC0"\ncluster = "case"'} if cluster else {}
    benchmark = load_benchmark(benchmark_file(race=STAR, **numbers))
    right, wrong = ("A", "B") if kind == "choice" else ("1", "2")
    texts = [right * place + wrong + right * (5 - place) for place in (1, 2, 3, 4, 5)] * 2
    variants = [("race", group) for group in "abcdef"]
    answers = answers_of([*texts, *[right * 6] * 90], variants=variants, benchmark=benchmark.name)
    answers = answers if benchmark.kind.needs_key else answers.drop(columns="answer_key")
    if cluster:
        answers["cluster"] = answers["item_id"].str[-1]
    found = analyze(answers, benchmarks=[benchmark])
    pooled = found[found["attribute"] == "pooled"].set_index("metric")
    own = pooled.loc[benchmark.kind.difference]
    assert abs(own["estimate"]) == pytest.approx(0.02)
    assert own["ci_low"] < 0 < own["ci_high"]
    assert pd.isna(own["verdict"])
    assert pooled.loc[benchmark.kind.test, "p_value"].isna().all()
    assert COMMON_GROUP in own["method_note"]
    assert "minimum_detectable_difference" not in pooled.index
    pairs = found[(found["attribute"] == "race") & (found["metric"] == benchmark.kind.test)]
    assert pairs["p_value"].notna().all()


@pytest.mark.parametrize(
    ("pairs", "lopsided"),
    [
        ('[["a", "b"], ["a", "c"]]', True),
        ('[["a", "b"], ["a", "c"], ["b", "c"]]', False),
        ('[["a", "b"], ["c", "d"]]', False),
        ('[["a", "b"], ["b", "c"]]', False),
        ('[["b", "a"], ["c", "a"], ["d", "a"]]', True),
    ],
)
def test_pairs_are_lopsided_if_only_one_group_is_in_several(benchmark_file, pairs, lopsided):
    text = STAR.partition("pairs")[0] + f"pairs = {pairs}"
    assert is_lopsided(load_benchmark(benchmark_file(race=text))) == lopsided


def test_single_attribute_is_not_pooled(answers_of):
    assert "pooled" not in set(analyze(answers_of(["AB", "AA"]))["attribute"])


def test_letters_can_change_without_a_change_in_accuracy(answers_of, row_of):
    # Wrong answers change from B to C, and never back; the number of right answers is unchanged.
    answers = answers_of(["BC"] * 20 + ["AA"] * 30)
    estimates = analyze(answers)
    assert row_of(estimates, metric="accuracy_difference")["estimate"] == 0
    assert row_of(estimates, metric="bowker")["p_value"] < 1e-4
    row = row_of(estimates, metric="stuart_maxwell")
    assert row["p_value"] < 1e-4
    assert row["test"] == "stuart_maxwell, 1 df"


def crossing(**replaced: str) -> str:
    parts = {
        "crosses": 'crosses = ["race", "sex"]',
        "groups": 'groups = { wm = "White men", bm = "Black men", wf = "White women", '
        'bf = "Black women" }',
        "levels": 'levels = { wm = ["white", "male"], bm = ["black", "male"], '
        'wf = ["white", "female"], bf = ["black", "female"] }',
    } | replaced
    return "\n".join(
        ["[attributes.race_sex]", 'label = "Race × sex"', 'pairs = [["wm", "bf"]]', *parts.values()]
    )


@pytest.fixture
def crossed_file(benchmark_file):
    """Write a benchmark with race_sex, which crosses race and sex."""
    race = (
        '[attributes.race]\nlabel = "Race"\ngroups = { white = "White", black = "Black" }\n'
        'pairs = [["white", "black"]]'
    )
    head = {"name": 'name = "crossed"', "race": race, "sex": SEX}
    return lambda parts, **more: benchmark_file(**head, **more, race_sex=parts)


def marked(benchmark, marks, groups):
    """Return answers to crossed groups that are right where a mark is 1."""
    texts = [
        "".join(key if mark == "1" else "BCA"["ABC".index(key)] for mark in own)
        for own, key in zip(marks, benchmark.answer_keys.values(), strict=True)
    ]
    variants = [("race_sex", group) for group in groups]
    return make_answers(texts, of=benchmark, variants=variants, models=("one", "two"))


@pytest.fixture
def crossed(crossed_file):
    return load_benchmark(crossed_file(crossing()))


def test_crossed_groups_next_to_own_variants_of_another_version_are_refused(crossed):
    """The figures of the first sets would be left out: answers to race alone are another task."""
    of = replace(crossed, versions={"1": "first", "2": "second"})
    sets = marked(of, ["1101", "1011", "1110"], ("wm", "bm", "wf", "bf"))
    assert {"race", "sex"} <= set(analyze(sets, benchmarks=[of])["attribute"])
    race = make_answers(["AA", "BB", "AA"], of=of, benchmark_version="2", models=("three",))
    both = pd.concat([sets, race], ignore_index=True)
    with pytest.raises(InputError, match="was asked race_sex in version 1, plain, without race"):
        analyze(both, benchmarks=[of])


@pytest.mark.parametrize(
    ("part", "text", "message"),
    [
        ("crosses", 'crosses = ["race", "age"]', "two other attributes"),
        ("crosses", 'crosses = ["race"]', "two other attributes"),
        ("crosses", "", "levels but no `crosses`"),
        ("levels", 'levels = { wm = ["white", "male"] }', "each group exactly once"),
        (
            "levels",
            'levels = { wm = ["white", "male"], bm = ["white", "male"], wf = ["white", "female"], '
            'bf = ["black", "female"] }',
            "each group exactly once",
        ),
        (
            "levels",
            'levels = { wm = ["white", "male"], bm = ["green", "male"], wf = ["white", "female"], '
            'bf = ["black", "female"] }',
            "unknown levels green, male",
        ),
    ],
)
def test_invalid_crossing_is_refused(part, text, message, benchmark_file):
    file = benchmark_file(sex=SEX, race_sex=crossing(**{part: text}))
    with pytest.raises(InputError, match=message):
        load_benchmark(file)


@pytest.mark.parametrize("name", ["white+female", "female_white"])
def test_levels_that_contradict_the_name_of_a_group_are_refused(name, benchmark_file):
    parts = {
        "groups": f'groups = {{ wm = "1", bf = "2", "{name}" = "3" }}',
        "levels": 'levels = { wm = ["white", "male"], bf = ["white", "female"], '
        f'"{name}" = ["black", "female"] }}',
    }
    file = benchmark_file(sex=SEX, race_sex=crossing(**parts))
    said = re.escape(f"{name} has the levels black, female, which contradict its name")
    with pytest.raises(InputError, match=said):
        load_benchmark(file)


def test_pooled_is_a_reserved_attribute_name(benchmark_file):
    file = benchmark_file(sex=SEX.replace("attributes.sex", "attributes.pooled"))
    with pytest.raises(InputError, match="reserved for all attributes together"):
        load_benchmark(file)


def test_an_interaction_in_few_items_may_be_one_in_the_other_direction(answers_of, row_of, crossed):
    answers = answers_of(
        ["AAAB"] * 3 + ["AAAA"] * 37,
        groups=("wm", "bm", "wf", "bf"),
        attribute="race_sex",
        benchmark="crossed",
    )
    row = row_of(analyze(answers, benchmarks=[crossed]), metric="interaction")
    assert row["p_value"] > 0.1
    assert row["ci_low"] < row["estimate"] < 0 < row["ci_high"]


def test_crossings_have_their_interaction(answers_of, row_of, crossed):
    # Only black women lose 30 of 100 items, and they gain 6.
    items = ["AAAB"] * 30 + ["BBBA"] * 6 + ["AAAA"] * 64
    groups = ("wm", "bm", "wf", "bf")
    answers = answers_of(items, groups=groups, attribute="race_sex", benchmark="crossed")
    estimates = analyze(answers, benchmarks=[crossed])
    row = row_of(estimates, metric="interaction")
    # (wm − bm) − (wf − bf) is −1 if only black women are wrong.
    assert row["estimate"] == pytest.approx(-0.24)
    assert (row["group_a"], row["group_b"]) == ("white - black | male", "white - black | female")
    assert -0.4 < row["ci_low"] < row["estimate"] < row["ci_high"] < -0.1
    assert row["p_value"] < 0.001
    # Race has no variants of its own: its gap is that of both sexes, with items as clusters.
    gap = row_of(estimates, metric="accuracy_difference", attribute="race", group_b="black")
    assert (gap["estimate"], gap["n"]) == (pytest.approx(0.12), 200)
    assert gap["ci_method"].startswith("tango")
    of_cells = estimates["attribute"] == "race_sex"
    of_cells &= estimates["metric"] == "accuracy_difference_simultaneous"
    simultaneous = estimates[of_cells]
    assert len(simultaneous) == 6
    wm_bf = simultaneous.query("group_a == 'wm' and group_b == 'bf'").iloc[0]
    alone = row_of(estimates, metric="accuracy_difference", attribute="race_sex")
    assert wm_bf["estimate"] == alone["estimate"]
    assert wm_bf["ci_low"] < alone["ci_low"] < alone["ci_high"] < wm_bf["ci_high"]
    assert wm_bf["ci_method"] == "tango, Bonferroni over 6 pairs"
    q = row_of(estimates, metric="cochran_q", attribute="race_sex")
    assert (q["test"], q["n"]) == ("cochran_q, 3 df", 100)
    assert q["p_value"] < 1e-4


KEYS = "\n".join(["item_id,answer_key", *(f"item-{i},{'ABC'[i % 3]}" for i in range(100))])
FOUR = {"race": ["white", "black"], "sex": ["male", "female"]}
THREE = {
    "groups": 'groups = { wm = "White men", bm = "Black men", wf = "White women" }',
    "levels": 'levels = { wm = ["white", "male"], bm = ["black", "male"], '
    'wf = ["white", "female"] }',
}


@pytest.mark.parametrize("pairs", ["[]", '[["wm", "bm"]]'])
def test_crossing_without_a_group_has_the_gaps_of_the_others(row_of, crossed_file, pairs):
    parts = crossing(**THREE).replace('[["wm", "bf"]]', pairs)
    benchmark = load_benchmark(crossed_file(parts, keys=KEYS))
    marks = ["110"] * 30 + ["101"] * 10 + ["111"] * 50 + ["000"] * 10
    answers = marked(benchmark, marks, ("wm", "bm", "wf"))
    estimates = analyze(answers, benchmarks=[benchmark]).query("model == 'one'")
    for attribute, gap in (("race", 0.1), ("sex", 0.3)):
        row = row_of(estimates, metric="accuracy_difference", attribute=attribute)
        # One pair per item: no variant is missing that cannot exist.
        assert (row["estimate"], row["n"], row["n_missing_a"]) == (pytest.approx(gap), 100, 0)
    assert "interaction" not in set(estimates["metric"])
    ranked = rank_models(answers, benchmarks=[benchmark])
    assert ranked["rank_low"].notna().all()
    assert not validate_answers(answers, benchmarks=[benchmark])


@pytest.mark.parametrize("pairs", ["[]", '[["wm", "bf"]]'])
def test_variants_that_only_one_model_has_are_refused(row_of, crossed_file, pairs):
    """Equal answers to "Black" patients hid the gaps of all models, which were those of women."""
    parts = crossing().replace('[["wm", "bf"]]', pairs)
    benchmark = load_benchmark(crossed_file(parts, keys=KEYS))
    four = marked(benchmark, ["1110"] * 30 + ["1111"] * 70, ("wm", "bm", "wf", "bf"))
    variants = [(name, group) for name in ("race", "sex") for group in FOUR[name]]
    texts = [4 * key for key in benchmark.answer_keys.values()]
    more = make_answers(texts, of=benchmark, variants=variants, models=("one",))
    found = validate_answers(pd.concat([four, more]), benchmarks=[benchmark])
    if pairs == "[]":
        assert {problem.message for problem in found} == {"has no variants of its own"}
        estimates = analyze(pd.concat([four, more]), benchmarks=[benchmark])
        for model in ("one", "two"):
            own = estimates[estimates["model"] == model]
            row = row_of(own, metric="accuracy_difference", attribute="race")
            assert (row["estimate"], row["verdict"]) == (pytest.approx(0.15), "disparity")
        assert analyze(more, benchmarks=[benchmark]).empty
    else:
        assert ["model=two" in problem.message for problem in found] == [True]


def test_attribute_without_comparable_crossed_groups_needs_variants(crossed_file):
    parts = crossing(
        groups='groups = { wm = "White men", bf = "Black women" }',
        levels='levels = { wm = ["white", "male"], bf = ["black", "female"] }',
    )
    benchmark = load_benchmark(crossed_file(parts, keys=KEYS))
    answers = marked(benchmark, ["10"] * 9 + ["11"] * 91, ("wm", "bf"))
    assert set(analyze(answers, benchmarks=[benchmark])["attribute"]) == {"race_sex"}
    found = validate_answers(answers, benchmarks=[benchmark])
    assert ["have no row" in problem.message for problem in found] == [True, True]


# Properties


@FEW
@given(tables=TABLES, policy=st.sampled_from(COUNTING))
def test_any_answers_give_valid_estimates(answers_of, tables, policy):
    check_sound(analyze(models(answers_of, tables), policy))


@FEW
@given(tables=ONE_SIDED)
def test_one_sided_missing_answers_leave_the_estimate_inside_of_its_interval(answers_of, tables):
    check_sound(analyze(models(answers_of, tables), "available"))


@FEW
@given(tables=TABLES, policy=st.sampled_from(COUNTING))
def test_swapping_the_groups_of_a_pair_only_flips_signs(answers_of, swapped_demo, tables, policy):
    race = "attribute == 'race'"
    one = analyze(models(answers_of, tables), policy).query(race)
    swapped = models(answers_of, tables, benchmark="swapped")
    other = analyze(swapped, policy, benchmarks=[swapped_demo]).query(race)
    mirrored = other.assign(
        benchmark="demo",
        group_a=other["group_b"],
        group_b=other["group_a"],
        n10=other["n01"],
        n01=other["n10"],
        n_a=other["n_b"],
        n_b=other["n_a"],
        n_missing_a=other["n_missing_b"],
        n_missing_b=other["n_missing_a"],
        metric=other["metric"].replace(MIRRORED),
    )
    # A ratio is turned over, and with a 0 in it the logarithm keeps no digit.
    odds = mirrored["metric"].isin(["odds_ratio", "accuracy_ratio"])
    for column, source in (("estimate", "estimate"), ("ci_low", "ci_high"), ("ci_high", "ci_low")):
        with np.errstate(divide="ignore"):
            mirrored.loc[odds, column] = 1 / other.loc[odds, source].to_numpy()
    signed = other["metric"].isin(SIGNED)
    mirrored.loc[signed, "estimate"] = -other.loc[signed, "estimate"]
    mirrored.loc[signed, "ci_low"] = -other.loc[signed, "ci_high"]
    mirrored.loc[signed, "ci_high"] = -other.loc[signed, "ci_low"]
    for column in ("adjust_method", "method_note"):
        mirrored[column] = mirrored[column].str.replace("swapped", "demo")
    # The reason gives the bounds of a difference with reversed signs.
    bounds = r"could be .*"
    mirrored, one = (
        table.assign(verdict_reason=table["verdict_reason"].str.replace(bounds, "", regex=True))
        for table in (mirrored, one)
    )
    keys = [*UNIT, "attribute", "metric", "test"]
    pd.testing.assert_frame_equal(
        mirrored.sort_values(keys, ignore_index=True),
        one.sort_values(keys, ignore_index=True),
        rtol=1e-12,
        atol=1e-12,
    )


@FEW
@given(tables=TABLES, seed=st.integers(0, 99))
def test_row_order_does_not_matter(answers_of, tables, seed):
    answers = models(answers_of, tables)
    shuffled = answers.sample(frac=1, random_state=seed)
    pd.testing.assert_frame_equal(analyze(shuffled), analyze(answers))


@FEW
@given(tables=TABLES)
def test_policies_agree_without_missing_answers(answers_of, tables):
    whole = [[item.replace("-", "B") for item in table] for table in tables]
    # The baseline's pair would lack its original variants.
    answers = models(answers_of, [[item + item[-1] for item in table] for table in whole])
    one, *others = (analyze(answers, policy).drop(columns="missing") for policy in COUNTING)
    for other in others:
        pd.testing.assert_frame_equal(other, one)
    keys = [*UNIT, "metric", "attribute", "test"]
    bounds = analyze(answers, "bounds").set_index(keys)
    points = bounds[bounds["ci_method"] == "bounds"]
    expected = one.set_index(keys).loc[points.index, "estimate"]
    np.testing.assert_allclose(points["estimate"], expected, atol=1e-12)


@FEW
@given(tables=TABLES)
def test_all_policies_are_inside_the_bounds(answers_of, tables):
    answers = models(answers_of, tables)
    keys = [*UNIT, "metric", "attribute", "test"]
    bounds = analyze(answers, "bounds").set_index(keys)
    found = analyze(answers, "incorrect").set_index(keys)["estimate"]
    pairs = bounds[bounds["ci_method"].eq("bounds") & bounds["ci_low"].notna()]
    inside = found.loc[pairs.index]
    # An item without a neutralized answer is not answerable there, and may be here. So eo covers
    # different items, but `incorrect` is one of the completions too.
    assert (inside.isna() | (inside >= pairs["ci_low"] - 1e-12)).all()
    assert (inside.isna() | (inside <= pairs["ci_high"] + 1e-12)).all()


def test_figures_do_not_depend_on_other_models(answers_of):
    one, two = (
        random_answers(answers_of, 1, model="one"),
        random_answers(answers_of, 2, model="two"),
    )
    together = analyze(pd.concat([one, two], ignore_index=True))
    alone = analyze(one)
    family = ["p_adjusted", "adjust_method", "verdict", "verdict_reason", "method_note"]
    together, alone = (
        table[table["metric"] != "minimum_detectable_difference"] for table in (together, alone)
    )
    found = together[together["model"] == "one"].reset_index(drop=True)
    alone = alone.reset_index(drop=True)
    pd.testing.assert_frame_equal(found.drop(columns=family), alone.drop(columns=family))


def test_the_interval_of_the_difference_is_that_of_the_answers_it_rests_on(answers_of, row_of):
    items = ["AA"] * 50 + ["AB"] * 20 + ["BA"] * 4 + ["BB"] * 30 + ["A-"] * 2
    row = row_of(analyze(answers_of(items), "available"), metric="accuracy_difference")
    own = {"correct_a": 72, "n_a": 106, "correct_b": 54, "n_b": 104}
    expected = partly_paired_interval(50, 20, 4, 30, **own)
    assert (row["ci_low"], row["ci_high"]) == (expected.ci_low, expected.ci_high)
    assert row["estimate"] == pytest.approx(72 / 106 - 54 / 104)
    assert row["method_note"] == "each group's own answers; the test over the pairs with both"


# Engines


def engine_table(case: str, answers_of) -> pd.DataFrame:
    answers = pd.concat(
        [random_answers(answers_of, 1, model="one"), random_answers(answers_of, 2, model="two")],
        ignore_index=True,
    )
    some = answers["model"].map({"one": "s-1"}).astype("str")
    others = [
        random_answers(answers_of, 3, benchmark="fairmedqa", benchmark_version="gpt-agent"),
        random_answers(answers_of, 4, benchmark="swapped"),
    ]
    return {
        "several benchmarks": lambda: pd.concat([answers, *others], ignore_index=True),
        "no answer at all": lambda: answers.assign(answer=None, status="unparsed"),
        "some snapshots": lambda: answers.assign(snapshot=some),
        "no snapshot at all": lambda: answers.assign(snapshot=None),
        "a version that is a number": lambda: answers.assign(benchmark_version=1),
    }[case]()


ENGINE_CASES = (
    "several benchmarks",
    "no answer at all",
    "some snapshots",
    "no snapshot at all",
    "a version that is a number",
)


@pytest.fixture(scope="module", params=ENGINE_CASES)
def answers_and_estimates(request, answers_of, swapped_demo):
    answers = engine_table(request.param, answers_of)
    return answers, analyze(answers, benchmarks=[swapped_demo])


@pytest.mark.parametrize("engine", ["polars", "duckdb", "pyspark"])
def test_every_engine_gives_the_same_estimates(
    engine, answers_and_estimates, in_engine, swapped_demo
):
    answers, expected = answers_and_estimates
    found = analyze(in_engine(answers, engine), benchmarks=[swapped_demo])
    pd.testing.assert_frame_equal(found, expected)


def test_duckdb_relation_over_a_file_can_be_analysed(answers_of, tmp_path, in_engine):
    """A DuckDB relation over a parquet file, as for answers that do not fit into memory."""
    duckdb = pytest.importorskip("duckdb")
    answers = random_answers(answers_of, 5)
    answers.to_parquet(tmp_path / "a.parquet", index=False)
    relation = duckdb.read_parquet(str(tmp_path / "a.parquet"))
    pd.testing.assert_frame_equal(analyze(relation), analyze(answers))


# What cannot be judged


def verdict_and_note(estimates, row_of):
    row = row_of(estimates, metric="accuracy_difference", attribute="race", group_b="black")
    notes = (row["verdict_reason"], row["method_note"])
    return row["verdict"], "; ".join(note for note in notes if isinstance(note, str) and note)


def test_many_samples_of_few_items_show_little(answers_of, row_of):
    answers = pd.concat([answers_of(["AB", "AB", "AA"], sample=sample) for sample in range(30)])
    verdict, note = verdict_and_note(analyze(answers), row_of)
    assert verdict == "inconclusive"
    assert "30 samples per item" in note


@pytest.mark.parametrize("policy", ["available", "incorrect"])
def test_groups_with_different_questions_are_not_judged(policy, answers_of, row_of):
    verdict, note = verdict_and_note(analyze(answers_of(["A."] * 200), policy), row_of)
    assert pd.isna(verdict)
    assert "different numbers of rows" in note


def test_unparsed_answers_are_not_equivalent(answers_of, row_of):
    verdict, note = verdict_and_note(analyze(answers_of(["--"] * 800), "incorrect"), row_of)
    assert pd.isna(verdict)
    assert "a group has no answers" in note


def test_complete_answers_are_judged(answers_of, row_of):
    verdict, note = verdict_and_note(analyze(answers_of(["AB"] * 40 + ["AA"] * 40)), row_of)
    assert (verdict, note) == ("disparity", "")


# Answers that are refused, since they would be miscounted


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"answer": "a"}, "answer = 'a': is not an option letter"),
        ({"answer": ""}, "answer = '': is not an option letter"),
        ({"answer_key": "Z"}, "answer_key = 'Z': is not an option letter"),
        ({"status": "refused"}, "an answer has a status other than ok"),
        ({"answer_key": "B"}, "the item has more than one answer key"),
        ({"item_id": "demo-01"}, "the answer key of item demo-01 differs from demo's"),
    ],
)
def test_answers_that_would_be_miscounted_are_refused(change, said, answers_of):
    answers = answers_of(["AB", "AA"])
    for column, value in change.items():
        answers.loc[0, column] = value
    with pytest.raises(InputError, match=said):
        analyze(answers)


def test_no_verdict_if_groups_and_pairs_disagree(answers_of, row_of):
    """Of the pairs b is better; on the many items of b's missing answers a is right."""
    items = ["AA"] * 200 + ["AB"] * 2 + ["BA"] * 30 + ["BB"] * 20 + ["-B"] * 600
    verdict, note = verdict_and_note(analyze(answers_of(items), "available"), row_of)
    assert verdict == "inconclusive"
    assert "could change the verdict" in note


@pytest.mark.parametrize(
    "missing",
    [["A-"] * 196 + ["B-"] * 5, ["A-"] * 98 + ["B-"] * 3 + ["-A"] * 97 + ["-B"] * 3, ["--"] * 201],
    ids=["in one group", "in either group", "in both groups"],
)
@pytest.mark.parametrize("policy", COUNTING)
def test_missing_answers_that_could_exceed_the_margin_leave_the_verdict_open(
    missing, policy, answers_of, row_of
):
    items = ["AA"] * 590 + ["AB"] * 4 + ["BA"] * 4 + ["BC"] * 2 + missing
    found, note = verdict_and_note(analyze(answers_of(items), policy), row_of)
    assert found != "equivalent"
    if found == "inconclusive":
        assert "could change the verdict" in note or note == ""


def test_refusing_items_with_differing_answers_gives_no_verdict(answers_of, row_of):
    """The worst case: all pairs left are the same, and as many are missing in both groups."""
    items = ["AA"] * 600 + ["AB"] * 80 + ["BA"] * 8 + ["BB"] * 112
    honest, _ = verdict_and_note(analyze(answers_of(items)), row_of)
    assert honest == "disparity"
    refused = [text if text[0] == text[1] else "--" for text in items]
    estimates = analyze(answers_of(refused))
    assert row_of(estimates, metric="cfr")["estimate"] == 1
    found, note = verdict_and_note(estimates, row_of)
    assert found == "inconclusive"
    assert "missing answers could change the verdict" in note
    assert "the 90% interval could reach −13.0 to +13.0 points, and the margin is ±5" in note


def test_chosen_items_give_no_verdict(answers_of, row_of):
    """The same by leaving items out: those that were not asked are missing as well."""
    fairmedqa = load_benchmark("fairmedqa")
    keys = dict(fairmedqa.answer_keys)
    unit = {"benchmark": "fairmedqa", "benchmark_version": "gpt-agent"}

    def judged(number):
        answers = answers_of(["AA/A"] * len(keys), **unit)
        answers["item_id"] = answers["item_id"].map(
            dict(zip(answers["item_id"].unique(), keys, strict=True))
        )
        answers["answer"] = answers["answer_key"] = answers["item_id"].map(keys)
        return verdict_and_note(
            analyze(answers[answers["item_id"].isin(list(keys)[:number])]), row_of
        )

    assert judged(801) == ("equivalent", SLANTED)
    found, note = judged(527)
    assert found == "inconclusive"
    assert "274 of 801 items that were not asked could change the verdict" in note
    last = most_missing(16, lambda k: float(tango(801 - k, 0, k, 0, alpha=0.1).ci_low) > -0.02)
    assert last > 3
    assert judged(801 - last)[0] == "equivalent"
    assert judged(801 - last - 1)[0] == "inconclusive"


def test_model_that_guesses_is_not_called_equivalent(answers_of, row_of):
    found, note = verdict_and_note(analyze(answers_of(["AA/A"] * 200 + ["BB/B"] * 600)), row_of)
    assert found == "inconclusive"
    assert "not called equivalent: accuracy in the neutralized variant is 25.0%" in note


# The rule of completions at its edges: one missing answer more decides.


def most_missing(n10, decided):
    """Return the most unanswered pairs for which the test of n10 against them still rejects."""
    return max(k for k in range(n10) if decided(k))


@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize("policy", COUNTING)
def test_disparity_requires_that_every_completion_rejects(mirror, policy, answers_of, row_of):
    """60 to 0 discordant pairs: k pairs without an answer could make them 60 to k."""
    last = most_missing(60, lambda k: float(mcnemar(n10=60, n01=k).p_value) <= 0.05)
    assert 30 < last < 50
    for missing, expected in ((last, "disparity"), (last + 1, "inconclusive")):
        texts = ["AB"] * 60 + ["AA"] * 400 + ["--"] * missing
        items = [text[::-1] for text in texts] if mirror else texts
        found, note = verdict_and_note(analyze(answers_of(items), policy), row_of)
        assert found == expected
        assert ("could change the verdict" in note) is (expected == "inconclusive")


@pytest.mark.parametrize("sign", ["A-", "-A", "--"])
def test_equivalent_requires_the_interval_of_every_completion(sign, answers_of, row_of):
    """At five points: the interval of 0 against k of 800 pairs must lie inside."""
    margin = load_benchmark("demo").equivalence_margin
    last = most_missing(40, lambda k: float(tango(800 - k, 0, k, 0, alpha=0.1).ci_low) > -margin)
    assert 10 < last < 39
    for missing, expected in ((last, "equivalent"), (last + 1, "inconclusive")):
        items = ["AA"] * (800 - missing) + [sign] * missing
        found, note = verdict_and_note(analyze(answers_of(items)), row_of)
        assert found == expected
        assert ("could change the verdict" in note) is (expected == "inconclusive")


@pytest.mark.parametrize("policy", COUNTING)
def test_refusing_some_discordant_pairs_does_not_hide_a_disparity_silently(
    policy, answers_of, row_of
):
    """35 to 10: refused for one group, 20 of the 35 could be anything."""
    unit = {"benchmark": "fairmedqa", "benchmark_version": "gpt-agent"}
    items = ["AB"] * 35 + ["BA"] * 10 + ["AA"] * 756
    honest, _ = verdict_and_note(analyze(answers_of(items, **unit)), row_of)
    assert honest == "disparity"
    refused = answers_of(["A-"] * 20 + items[20:], **unit)
    found, note = verdict_and_note(analyze(refused, policy), row_of)
    if found == "inconclusive":
        assert "missing answers could change the verdict" in note
    else:
        assert found == "disparity"


def test_refusing_the_privileged_group_does_not_demote_a_certain_disparity(answers_of, row_of):
    """160 to 20: 35 refusals leave at least 125 to 20, whatever the groups' refused answers
    were."""
    items = ["-B"] * 35 + ["AB"] * 125 + ["BA"] * 20 + ["AA"] * 600
    for policy in COUNTING:
        found, _ = verdict_and_note(analyze(answers_of(items), policy), row_of)
        assert found == "disparity", policy


def test_selective_refusals_do_not_make_a_pair_equivalent(answers_of, row_of):
    """15 to 0 of 801 is 1.87 points; its interval reaches beyond two points."""
    unit = {"benchmark": "fairmedqa", "benchmark_version": "gpt-agent"}
    items = ["AB"] * 15 + ["AA"] * 786
    honest, _ = verdict_and_note(analyze(answers_of(items, **unit)), row_of)
    assert honest == "disparity"
    found, note = verdict_and_note(analyze(answers_of(["A-"] * 15 + items[15:], **unit)), row_of)
    assert found == "inconclusive"
    assert "missing answers could change the verdict" in note


def test_model_that_guesses_only_if_a_group_is_named_is_not_called_equivalent(answers_of, row_of):
    items = ["AA/A"] * 200 + ["BB/A"] * 600
    found, note = verdict_and_note(analyze(answers_of(items)), row_of)
    assert found == "inconclusive"
    assert "not called equivalent: accuracy for White − Black is at most 25.0%" in note


def test_family_follows_the_declaration(answers_of):
    demo = load_benchmark("demo")
    tables = [
        random_answers(answers_of, seed, model=model, strategy=strategy)
        for seed, (model, strategy) in enumerate(
            [("one", "plain"), ("two", "plain"), ("one", "cot"), ("two", "cot")]
        )
    ]
    answers = pd.concat(tables, ignore_index=True).assign(benchmark="own")
    for family, size in (("model", 1), ("board", 2), ("release", 4)):
        known = [replace(demo, name="own", family=family)]
        tests = analyze(answers, benchmarks=known).query(
            "metric == 'mcnemar' and test == 'mcnemar midp' and attribute == 'race'"
        )
        for _, rows in tests.groupby("adjust_method"):
            assert len(rows) == size
            expected = multicomp(rows["p_value"], method="holm")[1]
            np.testing.assert_allclose(rows["p_adjusted"], expected)
        assert tests["adjust_method"].str.startswith(f"{over_tests('holm', size)} of ").all()


def test_other_boards_do_not_change_adjusted_p_values(answers_of):
    one = answers_of(["AB"] * 14 + ["BA"] * 5 + ["AA"] * 181, model="one")
    others = [one.assign(model=f"other {i}", strategy=f"s{i}") for i in range(12)]
    alone, together = (
        analyze(table).query("metric == 'mcnemar' and model == 'one'")["p_adjusted"].tolist()
        for table in (one, pd.concat([one, *others], ignore_index=True))
    )
    assert together == alone


def test_detectable_difference_is_that_of_the_adjusted_test(answers_of, row_of):
    items = ["AB"] * 60 + ["BA"] * 40 + ["AA"] * 700
    tables = [answers_of(items, model=f"{i:02}") for i in range(12)]
    alone = row_of(analyze(tables[0]), metric="minimum_detectable_difference")
    of_board = row_of(
        analyze(pd.concat(tables)), metric="minimum_detectable_difference", model="00"
    )
    share = float(proportion_interval(100, 800).ci_high)
    for row, level in ((alone, 0.05), (of_board, 0.05 / 12)):
        expected = float(minimum_detectable_difference(800, share, alpha=level))
        assert row["estimate"] == pytest.approx(expected)
    assert "level 0.05/12" in of_board["method_note"]


def test_verdict_needs_test_and_interval_to_agree(answers_of, row_of):
    items = ["AA"] * 300 + ["AB"] * 28 + ["BA"] * 13 + ["BC"] * 60
    items += ["A-"] * 90 + ["B-"] * 60 + ["-A"] * 95 + ["-B"] * 55
    # At a margin of two points.
    unit = {"benchmark": "fairmedqa", "benchmark_version": "gpt-agent"}
    estimates = analyze(answers_of(items, **unit), "available")
    row = row_of(estimates, metric="accuracy_difference")
    assert row["ci_low"] < 0 < row["ci_high"]
    assert row_of(estimates, metric="mcnemar", test="mcnemar midp")["p_adjusted"] < 0.05
    assert row["verdict"] == "inconclusive"
    assert "could change the verdict" in row["verdict_reason"]


# Families


@pytest.fixture(scope="module")
def family(answers_of) -> pd.DataFrame:
    items = ["AB"] * 30 + ["BA"] * 14 + ["AA"] * 156
    tables = [answers_of(items, model=f"copy {i}") for i in range(5)]
    return pd.concat([*tables, answers_of(items[::-1], attribute="sex", groups=("male", "female"))])


def test_jointly_adjusted_p_values_know_that_the_items_are_shared(family):
    def adjusted(**options) -> pd.DataFrame:
        rows = analyze(family, **options).query("metric == 'mcnemar' and test == 'mcnemar exact'")
        return rows.set_index(["model", "attribute"])

    holm, joint = adjusted(), adjusted(adjust="max_t")
    assert set(joint["adjust_method"]) == {"max_t over 6 tests of the board demo, 1, plain"}
    race = joint.xs("race", level="attribute")
    assert race["p_adjusted"].nunique() == 1
    # Five copies of one test and a stranger ask for the correction of two, not of six.
    p = holm["p_value"].iloc[0]
    assert race["p_adjusted"].iloc[0] == pytest.approx(2 * p, rel=0.25)
    assert holm["p_adjusted"].iloc[0] == pytest.approx(6 * p)
    pd.testing.assert_frame_equal(adjusted(adjust="max_t"), joint)


def test_baseline_alone_has_no_jointly_adjusted_p_value(answers_of):
    answers = answers_of(["../.A", "../.B"])
    assert analyze(answers, adjust="max_t")["p_adjusted"].isna().all()


def test_adjustment_procedure_is_named(family):
    for method in ("bh", "by", "hommel"):
        rows = analyze(family, adjust=method).query("test == 'mcnemar midp'")
        demographic = rows[rows["metric"] == "mcnemar"]
        assert demographic["adjust_method"].str.startswith(f"{method} over 6 tests of ").all()
    with pytest.raises(ValueError, match="use holm"):
        analyze(family, adjust="sidak")
    with pytest.raises(ValueError, match="a policy other than bounds"):
        analyze(family, "bounds", adjust="max_t")


def test_votes_are_named_in_every_row(answers_of):
    found = analyze(answers_of(["AB"] * 20 + ["AA"] * 20, strategy="majority_vote(cot)"))
    assert found["method_note"].str.contains(VOTED, regex=False).all()
