"""GEE compared with R's geepack and the odds in the table, and cases without an estimate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy

from fairstats._lib.problems import InputError
from fairstats.estimates.logistic_regression import REGRESSION_COLUMNS, fit_rows, gee_logistic
from fairstats.inference.logistic import clustered_fit
from tests.make_answers import make_answers

R = Path(__file__).parents[1] / "r"


def test_estimates_agree_with_geepack_and_errors_with_their_formula():
    data = pd.read_csv(R / "gee_data.csv").rename(columns={"item": "item_id"})
    data = data.astype({"correct": float, "group": float}).assign(unit=data["item_id"])
    rows = fit_rows(data[["item_id", "unit", "correct", "group", "covariate"]], 0.05)
    expected = pd.read_csv(R / "gee.csv").query("corstr == 'independence'").set_index("term")
    for row in rows:
        assert row["estimate"] == pytest.approx(expected.loc[row["term"], "estimate"], abs=1e-7)
        error = expected.loc[row["term"], "small_sample_error"]
        assert row["std_error"] == pytest.approx(error, abs=1e-7)


def test_the_odds_ratio_is_that_of_the_two_accuracies(answers_of):
    table = gee_logistic(answers_of(["AA"] * 50 + ["AB"] * 20 + ["BA"] * 5 + ["BB"] * 25))
    assert list(table.columns) == list(REGRESSION_COLUMNS)
    row = table.set_index("term").loc["group"]
    assert row["odds_ratio"] == pytest.approx((70 / 30) / (55 / 45))
    assert (row["n"], row["n_items"]) == (200, 100)
    # The variance of a paired log odds ratio, by the delta method.
    a, b = np.repeat([1, 1, 0, 0], [50, 20, 5, 25]), np.repeat([1, 0, 1, 0], [50, 20, 5, 25])
    influence = (a - 0.7) / (0.7 * 0.3) - (b - 0.55) / (0.55 * 0.45)
    assert row["std_error"] == pytest.approx(influence.std(ddof=1) / 10, rel=1e-6)
    assert row["p_value"] == pytest.approx(2 * scipy.stats.t.sf(row["statistic"], 100 - 1))


def test_a_covariate_of_the_items_is_adjusted_for(answers_of):
    rng = np.random.default_rng(1)
    hard = rng.random(300) < 0.5
    items = ["".join("A" if rng.random() < p else "B" for _ in "ab") for p in 0.9 - 0.5 * hard]
    covariates = pd.DataFrame(
        {"hard": hard.astype(float)},
        index=pd.Index([f"item-{i}" for i in range(300)], name="item_id"),
    )
    table = gee_logistic(answers_of(items), covariates=covariates).set_index("term")
    assert table.loc["covariate hard", "odds_ratio"] < 0.2
    assert table.loc["covariate hard", "p_value"] < 1e-6
    assert table.loc["group", "p_value"] > 0.01


def test_a_missing_answer_is_left_out_or_wrong(answers_of):
    answers = answers_of(["AA", "AB", "BA", "BB", "A-"] * 10)
    n = {
        policy: int(gee_logistic(answers, missing=policy)["n"].iloc[0])
        for policy in ("available", "complete", "incorrect")
    }
    assert n == {"available": 90, "complete": 80, "incorrect": 100}


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        (["AA"] * 20, "all right or all wrong"),
        (["BC"] * 20, "all right or all wrong"),
        (["AB"] * 20 + ["AA"], "all right or all wrong"),
        (["A-", "B-"] * 9, "a group has no answers"),
        (["A."], "a group has no answers"),
    ],
)
def test_missing_finite_estimate_is_reported(items, reason, answers_of):
    table = gee_logistic(answers_of(items))
    assert table["estimate"].isna().all()
    assert table["p_value"].isna().all()
    assert table["method_note"].str.contains(reason).all()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("items", [["AA"] * 13 + ["BC"] * 7, ["AA"] * 5 + ["BB"] * 35])
def test_group_that_changes_no_answer_has_p_of_1_and_no_interval(items, answers_of):
    x = pd.DataFrame({"item_id": [f"item-{i}" for i in range(len(items))]})
    x["x"] = np.arange(len(items)) % 3 * 1e-3
    for covariates in (None, x):
        table = gee_logistic(answers_of(items), covariates=covariates).set_index("term")
        row = table.loc["group"]
        assert row[["estimate", "std_error", "odds_ratio", "statistic", "p_value"]].tolist() == [
            0,
            0,
            1,
            0,
            1,
        ]
        assert row[["ci_low", "ci_high", "odds_ratio_low", "odds_ratio_high"]].isna().all()
        assert row["ci_method"] == "none"
        assert "as often right in both groups" in row["method_note"]
        assert table.loc["intercept", "ci_low"] < table.loc["intercept", "ci_high"]


def test_one_changed_answer_has_an_interval(answers_of):
    table = gee_logistic(answers_of(["AA"] * 13 + ["BB"] * 7 + ["AB"])).set_index("term")
    assert table.loc["group", "p_value"] == pytest.approx(0.317, abs=0.02)
    assert table["ci_low"].notna().all()


def test_wrong_covariates_are_refused(answers_of):
    answers = answers_of(["AB", "AA"])
    with pytest.raises(InputError, match="the covariates of the item are missing") as error:
        gee_logistic(answers, covariates=pd.DataFrame({"item_id": ["item-0"], "x": [1.0]}))
    assert "item-1" in str(error.value)
    with pytest.raises(InputError, match="item_id: is missing; add the column"):
        gee_logistic(answers, covariates=pd.DataFrame({"x": [1.0]}, index=["item-0"]))
    words = pd.DataFrame({"item_id": ["item-0", "item-1"], "x": ["a", "b"]})
    with pytest.raises(InputError, match="is not a number"):
        gee_logistic(answers, covariates=words)
    with pytest.raises(ValueError, match="no answers to fit"):
        gee_logistic(answers, missing="bounds")


@pytest.mark.parametrize("second", [lambda x: x * 0 + 3, lambda x: 2 * x + 1])
def test_redundant_covariate_is_reported(second, answers_of):
    answers = answers_of(["AA", "AB", "BA", "BB"] * 5)
    x = pd.Series(range(20), dtype=float)
    covariates = pd.DataFrame(
        {"item_id": [f"item-{i}" for i in range(20)], "x": 1000 * x, "y": second(x)}
    )
    table = gee_logistic(answers, covariates=covariates)
    assert table["estimate"].isna().all()
    assert table["method_note"].str.contains("constant, or follows from the others").all()
    assert gee_logistic(answers, covariates=covariates[["item_id", "x"]])["estimate"].notna().all()


def test_the_units_of_a_covariate_do_not_matter(answers_of):
    answers = answers_of(["AA", "AB", "BA", "BB", "AA"] * 8)
    rng = np.random.default_rng(1)
    x = pd.Series(rng.normal(size=40))
    items = [f"item-{i}" for i in range(40)]
    one, small = (
        gee_logistic(answers, covariates=pd.DataFrame({"item_id": items, "x": x * unit}))
        for unit in (1.0, 1e-4)
    )
    np.testing.assert_allclose(one["p_value"], small["p_value"], rtol=1e-6)
    np.testing.assert_allclose(small["estimate"].iloc[2], 1e4 * one["estimate"].iloc[2], rtol=1e-6)


def variants_of(data):
    """The rows of R's data as answers, and as covariates of the variants."""
    groups = {1: "white", 0: "black"}
    names = data["item"].map(lambda item: f"item-{item:02}")
    variants = pd.DataFrame(
        {"item_id": names, "attribute": "race", "group": data["group"].map(groups)}
    )
    answers = variants.assign(
        benchmark="demo",
        benchmark_version="1",
        model="model",
        strategy="plain",
        sample=0,
        answer=np.where(data["correct"] == 1, "A", "B"),
        answer_key="A",
    )
    return answers, variants.join(data[["key", "distractor"]])


def test_covariates_of_variants_agree_with_geepack():
    answers, covariates = variants_of(pd.read_csv(R / "gee_variants_data.csv"))
    expected = pd.read_csv(R / "gee_variants.csv").set_index("quantity")
    # For any names and order of the variants.
    indexed = covariates[::-1].set_index(["group", "item_id", "attribute"])
    for given in (covariates, indexed):
        table = gee_logistic(answers, covariates=given)
        assert table["term"].tolist() == [
            "intercept",
            "group",
            "covariate key",
            "covariate distractor",
        ]
        for row in table.itertuples():
            found = expected.loc[row.term.removeprefix("covariate ")]
            assert row.estimate == pytest.approx(found["estimate"], abs=1e-7)
            assert row.std_error == pytest.approx(found["small_sample_error"], abs=1e-7)


def test_wrong_covariates_of_variants_are_refused():
    answers, covariates = variants_of(pd.read_csv(R / "gee_variants_data.csv"))
    with pytest.raises(InputError, match="group: is missing"):
        gee_logistic(answers, covariates=covariates.drop(columns="group"))
    with pytest.raises(InputError, match="attribute: is missing"):
        gee_logistic(answers, covariates=covariates.drop(columns="attribute"))
    with pytest.raises(
        InputError, match=r"covariates of the variant are missing.*or remove its answers"
    ) as error:
        gee_logistic(answers, covariates=covariates.iloc[1:])
    assert "item-01, race, black" in str(error.value)
    with pytest.raises(InputError, match="a variant appears twice"):
        gee_logistic(answers, covariates=pd.concat([covariates, covariates.iloc[:1]]))


def test_errors_with_covariates_of_variants_agree_with_their_formula():
    data = pd.read_csv(R / "gee_variants_data.csv").rename(columns={"item": "item_id"})
    rows = fit_rows(data.astype({"correct": float}).assign(unit=data["item_id"]), 0.05)
    expected = pd.read_csv(R / "gee_variants.csv")["small_sample_error"].iloc[:4]
    np.testing.assert_allclose([row["std_error"] for row in rows], expected, atol=1e-8)


def separated_by_a_covariate(answers_of):
    """Every answer to an item with x = 1 is right; the others are mixed in both groups."""
    texts = ["AA"] * 4 + ["AA", "AB", "BA", "BB"] * 3
    answers = answers_of(texts)
    covariates = pd.DataFrame(
        {
            "item_id": [f"item-{place}" for place in range(len(texts))],
            "x": [1] * 4 + [0] * 12,
            "z": np.random.default_rng(1).normal(size=len(texts)),
        }
    )
    return answers, covariates


def test_separation_by_a_covariate_has_no_estimate(answers_of):
    """The robust errors of such a fit are small, so they do not reveal that it diverges."""
    answers, covariates = separated_by_a_covariate(answers_of)
    table = gee_logistic(answers, covariates=covariates)
    assert table["estimate"].isna().all()
    assert table["p_value"].isna().all()
    reason = "no finite estimate: right and wrong are separated by the terms"
    assert table["method_note"].str.startswith(reason).all()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("origin", [0.0, 100.0])
def test_one_answer_against_the_rule_gives_a_finite_estimate(answers_of, scale, origin):
    """With one wrong answer at x = 1 there is a maximum, for any unit and origin of x."""
    answers, covariates = separated_by_a_covariate(answers_of)
    answers.loc[0, "answer"] = "B"
    covariates = covariates.assign(x=origin + scale * covariates["x"])
    table = gee_logistic(answers, covariates=covariates)
    assert table["estimate"].notna().all()
    plain = separated_by_a_covariate(answers_of)[1]
    same = gee_logistic(answers, covariates=plain).set_index("term")["estimate"]
    found = table.set_index("term")["estimate"]
    assert found["group"] == pytest.approx(same["group"], rel=1e-6)
    assert found["covariate x"] * scale == pytest.approx(same["covariate x"], rel=1e-6)


def test_limits_are_on_the_scale_of_their_estimate(answers_of):
    table = gee_logistic(answers_of(["AA"] * 50 + ["AB"] * 20 + ["BA"] * 5 + ["BB"] * 25))
    for estimate, low, high in (
        ("estimate", "ci_low", "ci_high"),
        ("odds_ratio", "odds_ratio_low", "odds_ratio_high"),
    ):
        assert (table[low] < table[estimate]).all()
        assert (table[estimate] < table[high]).all()
    np.testing.assert_allclose(np.exp(table["ci_low"]), table["odds_ratio_low"])


def covered_by(covariate: str, clusters: int) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(clusters), 6)
    data = pd.DataFrame({"item_id": np.arange(len(unit)) // 2, "unit": unit})
    data["group"] = np.tile([0.0, 1.0], len(unit) // 2)
    data["correct"] = (rng.random(len(unit)) < 0.6) * 1.0
    data["covariate"] = (unit == 0) * 1.0 if covariate == "one cluster" else (unit < 2) * 1.0
    return pd.DataFrame(fit_rows(data, 0.05)).set_index("term")


def test_effect_of_one_cluster_alone_has_no_error() -> None:
    # With 60 clusters, 85% of such covariates without an effect were significant.
    table = covered_by("one cluster", 20)
    assert table.loc["covariate", ["std_error", "ci_low", "p_value"]].isna().all()
    assert table.loc["covariate", "test"] == "none"
    assert "one cluster alone" in table.loc["covariate", "method_note"]
    assert table.loc["group", "p_value"] > 0


def test_effect_of_two_clusters_has_about_one_degree_of_freedom() -> None:
    row = covered_by("two clusters", 20).loc["covariate"]
    half = (row["ci_high"] - row["ci_low"]) / 2 / row["std_error"]
    assert scipy.stats.t.sf(half, 2) < 0.025 < scipy.stats.t.sf(half, 1) * 1.6


def test_degrees_of_freedom_are_those_of_the_quadratic_form() -> None:
    rng = np.random.default_rng(4)
    clusters, n = np.repeat(np.arange(7), [1, 2, 2, 3, 4, 6, 8]), 26
    group, correct = rng.permutation([0.0, 1.0] * 13), rng.permutation([0.0, 1.0] * 13)
    x = np.column_stack([np.ones(n), group])
    params, _, freedom = clustered_fit(x, correct == 1, clusters, np.eye(2))
    chance = scipy.special.expit(x @ params)
    x *= np.sqrt(chance * (1 - chance))[:, None]
    bread = np.linalg.inv(x.T @ x)
    hat = x @ bread @ x.T
    for term, contrast in enumerate(np.eye(2)):
        rows = []
        for unit in range(7):
            own = clusters == unit
            root = scipy.linalg.inv(scipy.linalg.sqrtm(np.eye(own.sum()) - hat[np.ix_(own, own)]))
            rows.append(contrast @ bread @ x[own].T @ root @ (np.eye(n) - hat)[own])
        form = np.array(rows) @ np.array(rows).T
        expected = np.trace(form) ** 2 / np.trace(form @ form)
        assert freedom[term] == pytest.approx(expected)


def test_crossed_groups_give_the_odds_of_both_attributes(crossed_demo):
    variants = [variant for variant in crossed_demo.variants if variant[0] == "race_sex"]
    drawn = make_answers(0.6, of=crossed_demo)
    answers = drawn[drawn["attribute"] == "race_sex"].reset_index(drop=True)
    table = gee_logistic(answers, benchmarks=[crossed_demo])
    right = answers["answer"] == answers["answer_key"]
    for attribute, pair in (("race", ("white", "black")), ("sex", ("male", "female"))):
        row = table[(table["attribute"] == attribute) & (table["term"] == "group")].iloc[0]
        a, b = (right[[group in one.split("+") for one in answers["group"]]] for group in pair)
        odds = [own.mean() / (1 - own.mean()) for own in (a, b)]
        assert row["odds_ratio"] == pytest.approx(odds[0] / odds[1])
        # Four answers of each of 24 items, which are the clusters.
        assert (row["n"], row["n_items"]) == (96, 24)
        assert row["method_note"] == "items are clusters; working independence"
    # Covariates of variants are those of the crossed groups.
    covariates = pd.DataFrame(
        [
            {"item_id": item, "attribute": "race_sex", "group": group, "words": float(len(group))}
            for item in crossed_demo.answer_keys
            for _, group in variants
        ]
    )
    given = gee_logistic(answers, covariates=covariates, benchmarks=[crossed_demo])
    assert set(given["term"]) == {"intercept", "group", "covariate words"}
    with pytest.raises(InputError, match=r"demo-01, race_sex, white\+male"):
        gee_logistic(answers, covariates=covariates.iloc[1:], benchmarks=[crossed_demo])
