"""The effect of an analyst's choices, compared with separate computations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa
from pingouin import multicomp
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar as peer_mcnemar

from fairstats.answers.engine_frames import OpenAnswers, open_answers
from fairstats.benchmarks.declaration import MISSING_POLICIES
from fairstats.benchmarks.loading import load_benchmark
from fairstats.counts.outcomes import outcomes_of
from fairstats.counts.patterns import PAIR_COLUMNS
from fairstats.estimates.analyze import analyze
from fairstats.estimates.judgements import judge
from fairstats.estimates.specifications import (
    ASPECTS,
    INTERVALS,
    SENSITIVITY_COLUMNS,
    SENSITIVITY_MARGINS,
    SMALLEST,
    TESTS,
    sensitivity_of,
    specification_curve,
)
from fairstats.inference.differences import difference_interval
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE

KEYS = list(PAIR_COLUMNS)
FIGURES = ["estimate", "ci_low", "ci_high", "p_value", "p_adjusted", "verdict"]
RELEASED = (
    "amqa/answers/AMQA_Benchmark_Answer_gemini_no_cot.jsonl",
    "amqa/answers/AMQA_Benchmark_Answer_openai_mini_no_cot.jsonl",
    "amqa/answers/AMQA_D2_Benchmark_Answer_gemini_no_cot.jsonl",
    "fairmedprompt/FairMP_Answer_gemini_naive.jsonl",
    "fairmedprompt/FairMP_Answer_gpt_naive.jsonl",
    "fairmedprompt/FairMP_Answer_gpt_cot.jsonl",
)


@pytest.fixture(scope="module")
def released(shared_data) -> pd.DataFrame:
    return import_amqa([shared_data(name) for name in RELEASED])


@pytest.fixture(scope="module")
def several(answers_of) -> pd.DataFrame:
    """Two models, three attributes and the baseline; of one model some answers are missing."""
    pairs = {"race": ("white", "black"), "sex": ("male", "female")}
    texts = {
        "race": ["AB/AA"] * 30 + ["BA/AB"] * 9 + ["AA/BB"] * 80 + ["A-/AA"] * 3 + ["BC/AA"] * 8,
        "sex": ["AB"] * 6 + ["BA"] * 5 + ["AA"] * 119,
    }
    tables = [
        answers_of(texts[name], groups=groups, attribute=name, model=model)
        for model in ("one", "two")
        for name, groups in pairs.items()
    ]
    answers = pd.concat(tables, ignore_index=True)
    gone = (
        (answers["model"] == "two")
        & (answers["attribute"] == "sex")
        & answers["item_id"].isin([f"item-{i}" for i in range(2, 130, 9)])
    )
    answers.loc[gone, "answer"] = None
    return answers.assign(status=np.where(answers["answer"].isna(), "unparsed", "ok"))


@pytest.fixture(scope="module")
def known() -> dict:
    return {name: load_benchmark(name) for name in ("demo", "fairmedqa")}


@pytest.fixture(scope="module")
def opened(several, known) -> OpenAnswers:
    """The same, checked and counted once."""
    return open_answers(several, known)


@pytest.fixture(scope="module")
def table(opened, known) -> pd.DataFrame:
    return sensitivity_of(opened, None, 0.05, known)


def published(
    answers: pd.DataFrame | OpenAnswers, missing, known, alpha: float = 0.05, **options
) -> pd.DataFrame:
    """The figures of a release's estimates table that the rows have to be."""
    estimates = analyze(answers, missing, alpha, benchmarks=known, **options)
    rows = estimates[estimates["metric"] == "accuracy_difference"].set_index(KEYS)
    tests = estimates[
        (estimates["metric"] == "mcnemar") & estimates["test"].str.startswith("mcnemar midp")
    ].set_index(KEYS)
    for column in ("p_value", "p_adjusted"):
        rows[column] = tests[column].reindex(rows.index)
    return rows


def assert_published(table: pd.DataFrame, answers, missing, known, alpha: float = 0.05) -> None:
    """In every aspect one row a pair is the published one, to the last digit."""
    expected = published(answers, missing, known, alpha)[FIGURES].reset_index()
    for _, rows in table[table["published"]].groupby("aspect"):
        found = rows[[*KEYS, *FIGURES]].reset_index(drop=True)
        pd.testing.assert_frame_equal(found, expected, check_exact=True)


def row(table: pd.DataFrame, aspect: str, choice: str, **keys: str) -> pd.Series:
    found = table[(table["aspect"] == aspect) & (table["choice"] == choice)]
    for column, value in keys.items():
        found = found[found[column] == value]
    assert len(found) == 1, (aspect, choice, keys, len(found))
    return found.iloc[0]


def plain_counts(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs with both answers, from pandas only; a is the first named."""
    unit = KEYS[:5]
    order = {"white": 0, "male": 0, "high_income": 0, "original": 0}
    side = answers["group"].map(order).fillna(1).astype(int)
    right = (answers["answer"] == answers["answer_key"]).where(answers["answer"].notna())
    wide = (
        answers.assign(side=side, right=right.astype("float64"))
        .pivot(index=[*unit, "item_id", "sample"], columns="side", values="right")
        .dropna()
    )
    cells = {
        "n11": (wide[0] == 1) & (wide[1] == 1),
        "n10": (wide[0] == 1) & (wide[1] == 0),
        "n01": (wide[0] == 0) & (wide[1] == 1),
        "n00": (wide[0] == 0) & (wide[1] == 0),
    }
    return pd.DataFrame(cells).groupby(level=list(range(5))).sum()


def peers_p_value(test: str, n10: int, n01: int) -> float:
    """McNemar's test by scipy and statsmodels; the latter corrects perfect balance to p < 1."""
    n = n10 + n01
    if n10 == n01:
        return 1.0
    if test == "exact":
        return float(stats.binomtest(n10, n).pvalue)
    if test == "midp":
        return float(stats.binomtest(n10, n).pvalue - stats.binom.pmf(n10, n, 0.5))
    correction = test == "asymptotic_cc"
    return float(peer_mcnemar([[0, n10], [n01, 0]], exact=False, correction=correction).pvalue)


# The shape


def test_every_pair_has_every_choice_in_order(table):
    assert list(table.columns) == list(SENSITIVITY_COLUMNS)
    single = table[(table["attribute"] == "race") & (table["model"] == "one")]
    partly = "newcombe, partly paired"
    expected = [
        *(("missing", policy) for policy in MISSING_POLICIES),
        *(("interval", method) for method in (partly, *INTERVALS)),
        *(("test", test) for test in TESTS),
        *(("margin", f"{margin:g}") for margin in SENSITIVITY_MARGINS),
        ("margin", SMALLEST),
    ]
    assert list(zip(single["aspect"], single["choice"], strict=True)) == expected
    assert single.groupby("aspect")["published"].sum().to_dict() == dict.fromkeys(ASPECTS, 1)
    assert table[KEYS].drop_duplicates()["attribute"].tolist() == [
        "race", "sex", "baseline", "pooled"
    ] * 2  # fmt: skip
    assert not table.duplicated([*KEYS, "aspect", "choice"]).any()


def test_no_answers_give_an_empty_table_of_the_same_types(table, several, known):
    empty = sensitivity_of(several.iloc[:0], None, 0.05, known)
    assert len(empty) == 0
    assert empty.dtypes.to_dict() == table.dtypes.to_dict()


def test_answer_order_does_not_matter(several, known):
    shuffled = several.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(
        sensitivity_of(several, None, 0.05, known),
        sensitivity_of(shuffled, None, 0.05, known),
        check_exact=True,
    )


@pytest.mark.parametrize(
    ("missing", "alpha"),
    [(None, 0.05), ("available", 0.1), ("complete", 0.05), ("incorrect", 0.1), ("bounds", 0.05)],
)
def test_published_rows_are_the_estimates(missing, alpha, opened, known):
    table = sensitivity_of(opened, missing, alpha, known)
    assert_published(table, opened, missing, known, alpha)
    aspects = ["missing"] if missing == "bounds" else list(ASPECTS)
    assert sorted(table["aspect"].unique()) == sorted(aspects)


def test_published_rows_equal_estimates_with_mixed_policies(several, known, answers_of):
    other = replace(known["demo"], name="swapped", missing="incorrect")
    bounds = replace(known["demo"], name="bounded", missing="bounds")
    both = {"demo": known["demo"], "swapped": other, "bounded": bounds}
    answers = pd.concat([several.assign(benchmark=name) for name in both], ignore_index=True)
    table = sensitivity_of(answers, None, 0.05, both)
    expected = published(answers, None, both)[FIGURES]
    found = table[table["published"] & (table["aspect"] == "missing")].set_index(KEYS)
    pd.testing.assert_frame_equal(found[FIGURES], expected, check_exact=True)
    policies = found["choice"].groupby(level="benchmark").unique()
    assert policies.map(list).to_dict() == {
        "demo": ["available"], "swapped": ["incorrect"], "bounded": ["bounds"]
    }  # fmt: skip
    left = table[table["aspect"] != "missing"]
    assert set(left["benchmark"]) == {"demo", "swapped"}
    published_rows = left[left["published"]].set_index(KEYS)
    for _, rows in published_rows.groupby("aspect"):
        pd.testing.assert_frame_equal(rows[FIGURES], expected.loc[rows.index], check_exact=True)
    # The tests of a board are one family, for every kind of test.
    chosen = left[(left["choice"] == "asymptotic") & (left["attribute"] != "baseline")]
    for _, family in chosen.groupby("benchmark"):
        assert len(family) == 4
        adjusted = multicomp(family["p_value"], method="holm")[1]
        np.testing.assert_allclose(family["p_adjusted"], adjusted)


def test_release_family_is_adjusted_over_all_benchmarks(several, known, answers_of):
    own = replace(known["demo"], name="own", family="release")
    both = {"own": own, "swapped": replace(own, name="swapped")}
    answers = pd.concat([several.assign(benchmark=name) for name in both], ignore_index=True)
    table = sensitivity_of(answers, None, 0.05, both)
    family = table[(table["choice"] == "asymptotic") & (table["attribute"] != "baseline")]
    assert len(family) == 8
    adjusted = multicomp(family["p_value"], method="holm")[1]
    np.testing.assert_allclose(family["p_adjusted"], adjusted)


# Each aspect


def test_each_policy_is_analyze_under_it(table, opened, known):
    for policy in MISSING_POLICIES:
        rows = table[(table["aspect"] == "missing") & (table["choice"] == policy)]
        expected = published(opened, policy, known)[FIGURES].reset_index()
        pd.testing.assert_frame_equal(
            rows[[*KEYS, *FIGURES]].reset_index(drop=True), expected, check_exact=True
        )


def test_intervals_are_those_of_the_pairs_with_both_answers(table, several):
    counts = plain_counts(several)
    checked = 0
    for key, cells in counts.iterrows():
        keys = dict(zip(KEYS[:5], key, strict=True))
        n10, n01, n = cells["n10"], cells["n01"], cells.sum()
        d, z = (n10 - n01) / n, stats.norm.isf(0.025)
        for method in INTERVALS:
            found = row(table, "interval", method, **keys)
            assert found["estimate"] == pytest.approx(d)
            more = {"wald": 0, "bonett_price": 1}.get(method)
            if more is not None:
                a, b, m = n10 + more, n01 + more, n + 2 * more
                half = z * np.sqrt((a + b - (a - b) ** 2 / m) / m**2)
                assert found["ci_low"] == pytest.approx((a - b) / m - half)
                assert found["ci_high"] == pytest.approx((a - b) / m + half)
                checked += 1
            assert found["ci_low"] <= d <= found["ci_high"]
    assert checked == 2 * len(counts) == 2 * 6


def test_score_at_tangos_limits_is_z(several, known):
    cells = plain_counts(several).loc[("demo", "1", "one", "plain", "race")]
    n10, n01, n = cells["n10"], cells["n01"], cells.sum()

    def likelihood(p01: float, delta: float) -> float:
        p10 = p01 + delta
        rest = 1 - p10 - p01
        return -(n10 * np.log(p10) + n01 * np.log(p01) + (n - n10 - n01) * np.log(rest))

    def score(delta: float) -> float:
        span = (max(-delta, 0) + 1e-12, (1 - delta) / 2 - 1e-12)
        p01 = optimize.minimize_scalar(
            likelihood, args=(delta,), bounds=span, method="bounded", options={"xatol": 1e-13}
        ).x
        return (n10 - n01 - n * delta) / np.sqrt(n * (2 * p01 + delta - delta**2))

    found = row(
        sensitivity_of(several, None, 0.05, known), "interval", "tango",
        model="one", attribute="race",
    )  # fmt: skip
    z = stats.norm.isf(0.025)
    d = (n10 - n01) / n
    assert found["ci_low"] == pytest.approx(
        optimize.brentq(lambda x: score(x) - z, -0.5, d), abs=1e-6
    )
    assert found["ci_high"] == pytest.approx(
        optimize.brentq(lambda x: score(x) + z, d, 0.9), abs=1e-6
    )


def test_equivalence_uses_the_intervals_two_alpha_level(answers_of, known):
    # 6 of 400 pairs a, 5 of 400 b: inside five points by any interval.
    near = answers_of(["AB"] * 6 + ["BA"] * 5 + ["AA"] * 389)
    table = sensitivity_of(near, None, 0.05, known)
    rows = table[(table["aspect"] == "interval")]
    assert set(rows["verdict"]) == {EQUIVALENT}
    # One pair of 30 is discordant: Wald's 90% interval is within 10 points, Tango's is not.
    few = answers_of(["AB"] + ["AA"] * 29).assign(benchmark="own")
    wide = {"own": replace(known["demo"], name="own", equivalence_margin=0.1)}
    table = sensitivity_of(few, None, 0.05, wide)
    assert row(table, "interval", "wald")["verdict"] == EQUIVALENT
    assert row(table, "interval", "tango")["verdict"] == INCONCLUSIVE
    assert row(table, "interval", "bonett_price")["verdict"] == INCONCLUSIVE
    half = stats.norm.isf(0.05) * np.sqrt((1 / 30 - 1 / 900) / 30)
    assert 1 / 30 + half < 0.1 < row(table, "margin", SMALLEST)["estimate"]


def test_tests_are_those_of_scipy_and_statsmodels(table, several):
    rows = table[(table["aspect"] == "test") & (table["attribute"] != "pooled")]
    counts = plain_counts(several)
    for test in TESTS:
        found = rows[rows["choice"] == test].set_index(KEYS[:5])
        expected = pd.Series(
            {
                key: peers_p_value(test, int(cells["n10"]), int(cells["n01"]))
                for key, cells in counts.iterrows()
            }
        )
        np.testing.assert_allclose(found["p_value"].reindex(expected.index), expected)
        family = expected[expected.index.get_level_values(4) != "baseline"]
        assert len(family) == 4
        adjusted = multicomp(family, method="holm")[1]
        np.testing.assert_allclose(found["p_adjusted"].reindex(family.index), adjusted)
        baseline = found[found.index.get_level_values(4) == "baseline"]
        assert baseline[["p_adjusted", "verdict"]].isna().all(axis=None)


def test_a_test_can_change_the_verdict(answers_of, known):
    # 9 against 2: mid-p .0386, exact .0654, χ² .0348, corrected .0704.
    answers = answers_of(["AB"] * 9 + ["BA"] * 2 + ["AA"] * 60)
    table = sensitivity_of(answers, None, 0.05, known)
    verdicts = table[table["aspect"] == "test"].set_index("choice")["verdict"].to_dict()
    assert verdicts == {
        "midp": DISPARITY,
        "exact": INCONCLUSIVE,
        "asymptotic": DISPARITY,
        "asymptotic_cc": INCONCLUSIVE,
    }


def test_each_margin_is_analyze_at_it(table, opened, known):
    given = published(opened, None, known)["verdict"].notna()
    for margin in (*SENSITIVITY_MARGINS, 0.05):
        expected = published(opened, None, known, margin=margin)["verdict"].where(given)
        rows = table[(table["aspect"] == "margin") & (table["choice"] == f"{margin:g}")]
        pd.testing.assert_series_equal(rows.set_index(KEYS)["verdict"], expected)


def test_declared_margin_is_one_of_the_choices(several, known):
    own = {"own": replace(known["demo"], name="own", equivalence_margin=0.04)}
    table = sensitivity_of(several.assign(benchmark="own"), None, 0.05, own)
    one = table[(table["aspect"] == "margin") & (table["attribute"] == "sex")]
    choices = one[one["model"] == "one"].set_index("choice")["published"]
    assert choices.index.tolist() == [
        "0.005",
        "0.01",
        "0.02",
        "0.03",
        "0.04",
        "0.05",
        "0.1",
        SMALLEST,
    ]
    assert choices[choices].index.tolist() == ["0.04"]


@pytest.mark.parametrize("missing", ["available", "incorrect"])
def test_above_the_smallest_margin_a_pair_is_equivalent_and_below_it_is_not(missing, opened, known):
    counted = outcomes_of(opened).values()
    table = sensitivity_of(opened, missing, 0.05, known)
    smallest = table[table["choice"] == SMALLEST].set_index(KEYS)
    assert smallest["estimate"].isna().any()
    for key, own in smallest.dropna(subset="estimate").iterrows():
        for factor in (1 - 1e-9, 1 + 1e-9):
            margin = own["estimate"] * factor
            judged = judge(counted, missing, margin=margin)
            keys = list(zip(*(judged.keys[name] for name in KEYS), strict=True))
            found = judged.published[0][keys.index(key)]
            assert (found == EQUIVALENT) == (factor > 1), (key, margin)
            if factor < 1:
                assert found == own["verdict"] or (pd.isna(found) and pd.isna(own["verdict"]))


def test_below_the_smallest_margin_an_equivalent_completion_withholds_disparity(answers_of, known):
    # Without the two missing answers the interval reaches 7.6 points; with them 8.5 or 7.1.
    answers = answers_of(["AB"] * 20 + ["AA"] * 378 + ["-A", "A-"])
    table = sensitivity_of(answers, None, 0.05, known)
    assert row(table, "margin", "0.02")["verdict"] == DISPARITY
    smallest = row(table, "margin", SMALLEST)
    margin = smallest["estimate"] * (1 - 1e-9)
    below = judge(outcomes_of(open_answers(answers, known)).values(), "available", margin=margin)
    assert below.published[0][0] == INCONCLUSIVE
    assert smallest["verdict"] == INCONCLUSIVE


# Withheld verdicts


def test_missing_answers_that_could_change_a_verdict_withhold_it(answers_of, known):
    # Ten answers of one group are missing: the difference is between −2.5 and +2.5 points. The
    # intervals of these two completions reach farther.
    answers = answers_of(["AA"] * 380 + ["-A"] * 10 + ["BB"] * 10)
    table = sensitivity_of(answers, None, 0.05, known)
    assert row(table, "margin", "0.05")["verdict"] == EQUIVALENT
    smallest = row(table, "margin", SMALLEST)
    assert max(abs(smallest["ci_low"]), abs(smallest["ci_high"])) < 10 / 400
    completed = difference_interval(0, 10, 0, 390, method="tango", alpha=0.1)
    assert smallest["estimate"] == pytest.approx(completed.ci_high)
    assert 0.03 < smallest["estimate"] < 0.05
    assert row(table, "margin", "0.03")["verdict"] == INCONCLUSIVE
    narrow = {"own": replace(known["demo"], name="own", equivalence_margin=0.02)}
    withheld = sensitivity_of(answers.assign(benchmark="own"), None, 0.05, narrow)
    changeable = withheld[withheld["aspect"].isin(["interval", "test"])]
    assert set(changeable["verdict"]) == {INCONCLUSIVE}
    assert row(withheld, "margin", SMALLEST)["estimate"] == smallest["estimate"]


def test_model_that_guesses_is_equivalent_at_no_margin(answers_of, known):
    answers = answers_of(["AA/A"] * 100 + ["BB/B"] * 300)
    table = sensitivity_of(answers, None, 0.05, known)
    race = table[(table["aspect"] == "margin") & (table["attribute"] == "race")]
    assert set(race["verdict"]) == {INCONCLUSIVE}
    assert race.loc[race["choice"] == SMALLEST, "estimate"].isna().all()


def test_a_model_that_selected_the_items_has_no_verdict_under_any_choice(answers_of, known):
    selecting = {"own": replace(known["demo"], name="own", selected_on={"one": "how"})}
    answers = pd.concat(
        [
            answers_of(["AB"] * 30 + ["AA"] * 70, model=model, benchmark="own")
            for model in ("one", "two")
        ]
    )
    table = sensitivity_of(answers, None, 0.05, selecting)
    own = table[table["model"] == "one"]
    assert own["verdict"].isna().all()
    assert own.loc[own["choice"] == SMALLEST, "estimate"].isna().all()
    other = table[(table["model"] == "two") & ~table["choice"].isin(["bounds", SMALLEST])]
    assert (other["verdict"] == DISPARITY).all()
    assert len(own) == len(table) / 2


def test_a_group_without_an_answer_has_limits_and_no_verdict(answers_of, known):
    table = sensitivity_of(answers_of(["A-"] * 5), None, 0.05, known)
    assert table["verdict"].isna().all()
    for method in INTERVALS:
        found = row(table, "interval", method)
        assert np.isnan(found["estimate"])
        assert (found["ci_low"], found["ci_high"]) == (-1, 1)
    assert set(table.loc[table["aspect"] == "test", "p_value"]) == {1}
    assert np.isnan(row(table, "margin", SMALLEST)["estimate"])


def test_a_group_that_was_not_asked_has_no_verdict(answers_of, known):
    table = sensitivity_of(answers_of(["A."] * 5), None, 0.05, known)
    assert len(table) == 4 + 6 + 4 + 7
    assert table["verdict"].isna().all()


def test_without_a_discordant_pair_no_test_shows_anything(answers_of, known):
    table = sensitivity_of(answers_of(["AA"] * 40), None, 0.05, known)
    tests = table[table["aspect"] == "test"]
    assert tests[["p_value", "p_adjusted"]].eq(1).all(axis=None)
    # Wald's interval is a point there, so it would call two items equivalent.
    wald = row(table, "interval", "wald")
    assert (wald["ci_low"], wald["ci_high"], wald["verdict"]) == (0, 0, EQUIVALENT)
    assert row(table, "interval", "tango")["verdict"] == INCONCLUSIVE
    z = stats.norm.isf(0.05)
    assert row(table, "margin", SMALLEST)["estimate"] == pytest.approx(z**2 / (40 + z**2))


def test_one_item_has_every_choice(answers_of, known):
    table = sensitivity_of(answers_of(["AB"]), None, 0.05, known)
    assert len(table) == 4 + 5 + 4 + 7
    assert row(table, "test", "exact")["p_value"] == 1
    assert row(table, "test", "midp")["p_value"] == 0.5
    assert row(table, "margin", SMALLEST)["verdict"] == INCONCLUSIVE


# Clusters


def test_limits_with_room_for_rare_items_are_the_published_ones(answers_of, known):
    once = answers_of(["AA"] * 40, model="one")
    answers = pd.concat([once.assign(sample=n) for n in range(8)], ignore_index=True)
    # One answer of one item differs.
    answers.loc[0, "answer"] = "B"
    expected = published(answers, None, known)
    assert expected["ci_method"].str.contains("room").all()
    assert_published(sensitivity_of(answers, None, 0.05, known), answers, None, known)
    curve = specification_curve(answers, benchmarks=known.values())
    (found,) = curve[curve["published"]].to_dict("records")
    assert [found["ci_low"], found["ci_high"]] == expected[["ci_low", "ci_high"]].iloc[0].tolist()


def test_clustered_answers_have_the_choices_that_exist_for_them(answers_of, known):
    single = answers_of(["AB"] * 9 + ["BA"] * 2 + ["AA"] * 60, model="single")
    once = answers_of(["AB"] * 9 + ["BA"] * 2 + ["AA"] * 60, model="twice")
    answers = pd.concat([single, once, once.assign(sample=1)], ignore_index=True)
    table = sensitivity_of(answers, None, 0.05, known)
    assert_published(table, answers, None, known)
    twice = table[table["model"] == "twice"]
    assert twice.loc[twice["aspect"] == "test", "choice"].tolist() == ["midp", "exact"]
    (interval,) = twice.loc[twice["aspect"] == "interval", "choice"]
    # Four pairs of answers per item, worth one.
    assert interval == "tango, design effect 4.03"
    assert len(twice[twice["aspect"] == "margin"]) == 7
    # Repeated samples add no information: the tests that flip items equal those of one sample.
    for test in ("midp", "exact"):
        one, two = (row(table, "test", test, model=model) for model in ("single", "twice"))
        assert two["p_value"] == pytest.approx(one["p_value"])
    # The family of the asymptotic test includes the clustered pair, with its mid-p.
    chi2 = row(table, "test", "asymptotic", model="single")
    own = stats.chi2.sf(7**2 / 11, 1)
    assert chi2["p_value"] == pytest.approx(own)
    flipped = row(table, "test", "midp", model="twice")["p_value"]
    assert own < flipped
    assert chi2["p_adjusted"] == pytest.approx(min(2 * own, 1))


def test_pooled_pairs_have_a_separate_family(table):
    pooled = table[(table["attribute"] == "pooled") & (table["aspect"] == "test")]
    assert pooled.groupby("model")["choice"].agg(list).tolist() == [["midp", "exact"]] * 2
    for _, rows in pooled.groupby("choice"):
        np.testing.assert_allclose(rows["p_adjusted"], multicomp(rows["p_value"], method="holm")[1])


# The released answers


def test_released_answers_published_rows_are_the_estimates(released, known):
    table = sensitivity_of(released, None, 0.05, known)
    assert_published(table, released, None, known)
    given = published(released, None, known)["verdict"].notna()
    for margin in (0.005, 0.1):
        other = {"own": replace(known["fairmedqa"], name="own", equivalence_margin=margin)}
        renamed = published(released.assign(benchmark="own"), None, other)["verdict"]
        expected = renamed.rename({"own": "fairmedqa"}, level="benchmark").where(given)
        rows = table[(table["aspect"] == "margin") & (table["choice"] == f"{margin:g}")]
        pd.testing.assert_series_equal(rows.set_index(KEYS)["verdict"], expected)


def test_released_answers_tests_are_those_of_peers(released, known):
    table = sensitivity_of(released, None, 0.05, known)
    counts = plain_counts(released)
    assert len(counts) == 6 * 4
    rows = table[(table["aspect"] == "test") & (table["attribute"] != "pooled")]
    for test in TESTS:
        found = rows[rows["choice"] == test].set_index(KEYS[:5]).reindex(counts.index)
        for key, cells in counts.iterrows():
            p = peers_p_value(test, int(cells["n10"]), int(cells["n01"]))
            assert found.loc[key, "p_value"] == pytest.approx(p, rel=1e-6), (key, test)
        demographic = found[found.index.get_level_values(4) != "baseline"]
        for _, family in demographic.groupby(["benchmark", "benchmark_version", "strategy"]):
            np.testing.assert_allclose(
                family["p_adjusted"], multicomp(family["p_value"], method="holm")[1]
            )
