"""The regression on raters compared with R, in closed form, and cases without an estimate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.discrete.discrete_model import Logit

from fairstats._lib.problems import InputError
from fairstats.inference.logistic import bias_reduced_errors
from fairstats.ratings.rater_models import RATER_REGRESSION_COLUMNS, _figures, rater_regression
from fairstats.ratings.rubrics import load_rubric
from fairstats.ratings.table import check_ratings

R = Path(__file__).parents[1] / "r"
DIMENSIONS = load_rubric("independent").dimensions


def judged(rows):
    """Return ratings from rows of (task, rater, dataset, 1, 0 or None)."""
    words = {1: "minor", 0: "none"}
    return check_ratings(
        pd.DataFrame(
            [
                {
                    "benchmark": "demo",
                    "dataset": dataset,
                    "rubric": "independent",
                    "task_id": str(task),
                    "item_id": str(task),
                    "rater_id": rater,
                    "rater_group": "consumer",
                    "dimension": dimension,
                    "value": None
                    if reported is None
                    else words[reported]
                    if dimension == "bias"
                    else "absent",
                }
                for task, rater, dataset, reported in rows
                for dimension in DIMENSIONS
            ]
        )
    )


def by_rater(**reports):
    """Return ratings from one text per rater: 1 reported, 0 not, - missing."""
    return judged(
        (f"t{task}", rater, "d", {"1": 1, "0": 0, "-": None}[sign])
        for rater, text in reports.items()
        for task, sign in enumerate(text)
    )


def levels(raters, **columns):
    return pd.DataFrame({"rater_id": list(raters)} | {k: list(v) for k, v in columns.items()})


def test_odds_ratios_and_their_limits_agree_with_r():
    """Covariates of raters with clubSandwich for glm; by dataset also for lm."""
    data = pd.read_csv(R / "rater_models_data.csv")
    rows = data[["task", "rater", "dataset", "reported"]].itertuples(index=False, name=None)
    raters = data.drop_duplicates("rater").rename(columns={"rater": "rater_id"})
    ratings = judged(rows)
    for model, covariates in (
        ("raters", ["gender", "age", "years"]),
        ("dataset", ["gender", "age", "years", "dataset"]),
    ):
        reference = {"gender": "man", "age": "55+", "dataset": "easy"}
        table = rater_regression(
            ratings,
            raters[["rater_id", "gender", "age", "years"]],
            covariates=covariates,
            reference=reference,
        )
        assert list(table.columns) == list(RATER_REGRESSION_COLUMNS)
        expected = (
            pd.read_csv(R / "rater_models.csv").set_index("model").loc[model].set_index("term")
        )
        found = table[table["method_note"] == ""].copy()
        found["term"] = (found["covariate"] + found["level"]).replace("intercept", "(Intercept)")
        found = found.set_index("term")
        assert set(found.index) == set(expected.index)
        for ours, theirs in (
            ("estimate", "estimate"),
            ("std_error", "std_error"),
            ("df", "df"),
            ("ci_low", "low"),
            ("ci_high", "high"),
            ("p_value", "p"),
        ):
            np.testing.assert_allclose(
                found[ours].reindex(expected.index), expected[theirs], rtol=1e-6
            )
        # Few raters chose other: fewer degrees of freedom than raters.
        assert found.loc["genderother", "df"] < 3
        told = table[table["method_note"] == "the reference"]
        assert list(told["level"]) == [reference[c] for c in covariates if c in reference]
        assert (told["odds_ratio"] == 1).all()
        # The only difference is the other square root that clubSandwich uses for glm.
        np.testing.assert_allclose(
            found["std_error"].reindex(expected.index), expected["glm_std_error"], rtol=2e-3
        )


def test_the_odds_ratio_of_two_levels_in_closed_form():
    ratings = by_rater(a="11000000", b="1110", c="1100", d="11110")
    table = rater_regression(
        ratings, levels("abcd", sex=["m", "m", "f", "f"]), covariates=["sex"]
    ).set_index("level")
    # Most raters is two each: the first by name is the reference.
    row = table.loc["m"]
    assert row["reference"] == "f"
    assert row["odds_ratio"] == pytest.approx((5 / 7) / (6 / 3))
    # s_g = Σ (y − p) of each rater, divided by Σ p (1 − p) of the level and by the root of 1 − n_g
    # / n.
    m, f = np.array([2 - 8 * 5 / 12, 3 - 4 * 5 / 12]), np.array([2 - 4 * 6 / 9, 4 - 5 * 6 / 9])
    m2, f2 = m**2 / (1 - np.array([8, 4]) / 12), f**2 / (1 - np.array([4, 5]) / 9)
    variance = m2.sum() / (5 * 7 / 12) ** 2 + f2.sum() / (6 * 3 / 9) ** 2
    assert row["std_error"] == pytest.approx(np.sqrt(variance))
    assert (row["n_raters"], row["n_ratings"], row["n_reported"]) == (2, 12, 5)
    assert row["ci_method"] == row["test"]
    assert row["test"].startswith("wald t, clustered by rater")
    half = stats.t.isf(0.025, row["df"]) * row["std_error"]
    assert row["ci_high"] == pytest.approx(row["odds_ratio"] * np.exp(half))
    # Two levels of two raters: about one degree of freedom each.
    assert 1 < row["df"] < 2


def test_identical_raters_give_no_standard_error():
    ratings = by_rater(a="1100", b="1010", c="1000", d="1110")
    table = rater_regression(ratings, levels("abcd", sex="mmff"), covariates=["sex"])
    found = table.set_index(["covariate", "level"])
    assert np.isfinite(found.loc[("sex", "m"), "std_error"])
    turned = rater_regression(
        ratings, levels("abcd", sex="mmff"), covariates=["sex"], reference={"sex": "m"}
    )
    intercept = turned.set_index("covariate").loc["intercept"]
    assert intercept["odds_ratio"] == pytest.approx(1)
    assert np.isnan([intercept["std_error"], intercept["ci_low"], intercept["p_value"]]).all()
    assert intercept["method_note"].startswith("no standard error: all raters")


def test_a_level_of_few_raters_keeps_the_tests_level():
    """Two raters against twelve: with as many degrees of freedom as raters 22% were wrong."""
    rng, wrong = np.random.default_rng(2), []
    number = np.repeat(np.arange(14), 25)
    few = np.where(number >= 12, 1.0, 0.0)
    design = np.column_stack([np.ones(len(number)), few])
    for _ in range(300):
        latent = rng.standard_normal(len(number)) + 0.6 * rng.standard_normal(14)[number]
        y = latent > 0.5
        params = Logit(y.astype(float), design).fit(disp=0, warn_convergence=False).params
        rate = 1 / (1 + np.exp(-design @ params))
        deviation = np.sqrt(rate * (1 - rate))
        error, df = bias_reduced_errors(
            design * deviation[:, None], (y - rate) / deviation, number, np.eye(2)
        )
        wrong.append(
            [2 * stats.t.sf(abs(params[1]) / error[1], freedom) < 0.05 for freedom in (df[1], 13)]
        )
    assert np.mean(wrong, axis=0)[0] < 0.05
    assert np.mean(wrong, axis=0)[1] > 0.1


def test_level_without_reports_is_noted_and_others_estimated():
    ratings = by_rater(a="1100", b="1010", c="1000", d="1110", e="0000", f="000", g="1111")
    raters = levels("abcdefg", sex=["m", "m", "f", "f", "x", "x", "y"])
    table = rater_regression(ratings, raters, covariates=["sex"], reference={"sex": "m"})
    found = table.set_index("level")
    assert found.loc["x", "method_note"].endswith("never report")
    assert found.loc["y", "method_note"].endswith("always report")
    assert found.loc[["x", "y"], ["estimate", "ci_low", "p_value"]].isna().all(axis=None)
    assert (found.loc["x", "n_ratings"], found.loc["x", "n_raters"]) == (7, 2)
    without = by_rater(a="1100", b="1010", c="1000", d="1110")
    alone = rater_regression(without, raters, covariates=["sex"], reference={"sex": "m"})
    assert found.loc["f", "odds_ratio"] == alone.set_index("level").loc["f", "odds_ratio"]
    assert np.isfinite(found.loc["f", "ci_high"])


def test_reference_without_reports_is_noted():
    ratings = by_rater(a="000", b="0000", c="10", d="0100")
    table = rater_regression(
        ratings, levels("abcd", sex="mmff"), covariates=["sex"], reference={"sex": "m"}
    )
    rows = table[table["level"] != "m"]
    assert rows["estimate"].isna().all()
    assert rows["method_note"].str.contains("the reference m never reports").all()


def test_joint_separation_is_noted():
    # All of one combination report and none of the opposite one: no level alone is constant.
    ratings = by_rater(a="11", b="00", c="10", d="01")
    raters = levels("abcd", sex="fmfm", age="onno")
    table = rater_regression(ratings, raters, covariates=["sex", "age"])
    rows = table[table["odds_ratio"] != 1]
    assert len(rows) == 3
    assert rows["estimate"].isna().all()
    assert rows["method_note"].str.endswith("separated by sex m, age o").all()


def test_separation_by_a_number_is_noted():
    ratings = by_rater(a="00", b="00", c="11", d="11")
    table = rater_regression(ratings, levels("abcd", years=[1, 2, 30, 40]), covariates=["years"])
    assert table["estimate"].isna().all()
    assert table["method_note"].str.contains("reports are separated by").all()


def test_one_rater_of_a_level_has_no_standard_error():
    ratings = by_rater(a="1100", b="1010", c="1000", d="1110")
    table = rater_regression(ratings, levels("abcd", sex="mmmx"), covariates=["sex"])
    row = table.set_index("level").loc["x"]
    assert row["odds_ratio"] == pytest.approx(3 / (5 / 7))
    assert np.isnan(row["std_error"])
    assert np.isnan(row["ci_high"])
    assert row["method_note"].endswith("only one rater is x")
    turned = rater_regression(
        ratings, levels("abcd", sex="mmmx"), covariates=["sex"], reference={"sex": "x"}
    )
    estimated = turned[turned["level"] != "x"]
    assert estimated["odds_ratio"].notna().all()
    assert estimated["std_error"].isna().all()


def test_fewer_raters_than_terms():
    ratings = by_rater(a="1100", b="1010", c="1000", d="1110")
    raters = levels("abcd", sex="mmff", age="ooyy", home="cucu")
    table = rater_regression(ratings, raters, covariates=["sex", "home"])
    assert table["std_error"].notna().any()
    both = rater_regression(ratings, raters, covariates=["sex", "age"])
    assert both["method_note"].str.contains("follows from others").sum() == 3


@pytest.mark.parametrize(
    ("reports", "note"),
    [
        ({"a": "000", "b": "00"}, "all judgements report bias, or none does"),
        ({"a": "11", "b": "11"}, "all judgements report bias, or none does"),
        ({"a": "--", "b": "-"}, "there are no judgements"),
    ],
)
def test_identical_judgements_give_no_estimate(reports, note):
    table = rater_regression(by_rater(**reports), levels("ab", sex="mf"), covariates=["sex"])
    rows = table[table["odds_ratio"] != 1]
    assert rows["estimate"].isna().all()
    assert (rows["method_note"] == f"no estimate: {note}").all()
    assert table["n_missing"].max() == (3 if note == "there are no judgements" else 0)


def test_models_and_other_dimensions_are_left_out():
    ratings = by_rater(a="110", b="100")
    models = by_rater(gpt="111").assign(rater_kind="model", rater_group="model")
    whole = pd.concat([ratings, models])
    raters = levels("ab", sex="mf")
    pd.testing.assert_frame_equal(
        rater_regression(whole, raters, covariates=["sex"]),
        rater_regression(ratings, raters, covariates=["sex"]),
    )
    with pytest.raises(InputError, match="rater_id = 'gpt': the rater is missing"):
        rater_regression(whole, raters, covariates=["sex"], rater_kind="model")
    assert rater_regression(whole, raters, covariates=["sex"], rubric="pairwise").empty


def test_missing_covariate_is_a_level():
    ratings = by_rater(a="110", b="100", c="10", d="100")
    table = rater_regression(ratings, levels("abcd", sex=["m", "m", None, ""]), covariates=["sex"])
    assert set(table["level"]) == {"", "m", "not stated"}


def test_wrong_raters_are_refused():
    ratings = by_rater(a="110", b="100")
    good = levels("ab", sex="mf")
    with pytest.raises(InputError, match="rater_id: is missing"):
        rater_regression(ratings, good.drop(columns="rater_id"), covariates=["sex"])
    with pytest.raises(InputError, match="rater_id = 'a': appears twice"):
        rater_regression(ratings, pd.concat([good, good]), covariates=["sex"])
    with pytest.raises(InputError, match="age: is not a column of the raters"):
        rater_regression(ratings, good, covariates=["age"])
    with pytest.raises(InputError, match="years: a number is missing"):
        rater_regression(ratings, levels("ab", years=[1.0, np.nan]), covariates=["years"])
    with pytest.raises(InputError, match="sex = 'x': no rating has this reference level"):
        rater_regression(ratings, good, covariates=["sex"], reference={"sex": "x"})
    with pytest.raises(ValueError, match="at least one covariate"):
        rater_regression(ratings, good, covariates=[])
    with pytest.raises(ValueError, match="dimension='x'"):
        rater_regression(ratings, good, covariates=["sex"], dimension="x")


def test_raters_by_index_and_a_level_without_used_ratings():
    ratings = by_rater(a="110", b="100", c="000", d="0000", e="1100")
    raters = levels("abcde", sex="mmxxm", home="uuvvw").set_index("rater_id")
    table = rater_regression(ratings, raters, covariates=["sex", "home"])
    found = table.set_index(["covariate", "level"])["method_note"]
    assert found[("sex", "x")].endswith("never report")
    assert "at an excluded level" in found[("home", "v")]


def test_an_odds_ratio_per_large_unit_is_infinite_without_a_warning():
    ratings = by_rater(a="10000", b="11000", c="01100", d="11101", e="11011")
    years = [0.000, 0.001, 0.001, 0.002, 0.002]  # of a thousand, so the log odds ratio is above 709
    table = rater_regression(ratings, levels("abcde", years=years), covariates=["years"])
    row = table.set_index("covariate").loc["years"]
    assert 709 < row["estimate"] < np.inf
    assert row["odds_ratio"] == np.inf
    assert 0 < row["p_value"] < 1


def test_the_origin_and_the_unit_of_a_number_do_not_matter():
    rng = np.random.default_rng(4)
    born = rng.integers(1950, 2000, 9)
    reports = {
        f"r{i}": "".join("01"[int(rng.random() < 0.3 + 0.4 * (year > 1975))] for _ in range(12))
        for i, year in enumerate(born)
    }
    ratings = by_rater(**reports)
    one, other = (
        rater_regression(ratings, levels(reports, born=values), covariates=["born"]).set_index(
            "covariate"
        )
        for values in (born - 1975.0, born * 1e6 + 1e12)
    )
    assert one.loc["born", "estimate"] > 0
    scale = one.loc["born", "estimate"] / other.loc["born", "estimate"]
    assert scale == pytest.approx(1e6, rel=1e-6)
    for column in ("statistic", "p_value"):
        assert one.loc["born", column] == pytest.approx(other.loc["born", column], rel=1e-5)
    # The intercept is that of the number 0.
    moved = rater_regression(
        ratings, levels(reports, born=born - 1974.0), covariates=["born"]
    ).set_index("covariate")
    step = one.loc["born", "estimate"]
    assert moved.loc["intercept", "estimate"] == pytest.approx(
        one.loc["intercept", "estimate"] - step
    )


@pytest.mark.parametrize("value", [0.0, 3.3, 1e9])
def test_constant_number_is_noted(value):
    ratings = by_rater(a="110", b="100", c="10", d="100")
    table = rater_regression(ratings, levels("abcd", years=[value] * 4), covariates=["years"])
    assert table["estimate"].isna().all()
    assert table["method_note"].str.contains("a covariate is constant").all()


def test_levels_that_judged_separate_items_are_noted():
    rows = [
        (f"{level}{task}", f"{level}{rater}", "d", int((task + rater) % 3 == 0))
        for level in "xy"
        for rater in range(4)
        for task in range(8 - rater)
    ]
    raters = pd.DataFrame({"rater_id": [f"{level}{i}" for level in "xy" for i in range(4)]})
    raters["group"] = raters["rater_id"].str[0]
    table = rater_regression(judged(rows), raters, covariates=["group"])
    notes = dict(zip(table["level"], table["method_note"], strict=True))
    assert notes == {
        "": "",
        "x": "the reference",
        "y": "for these items only: none has ratings at both levels",
    }


def test_a_p_value_that_underflows_is_not_zero():
    """400 raters report 1 or 19 of 20, and one of them one more."""
    assert 0 < _figures(-5.8836, 0.0052, 398, 0.05)["p_value"] < 1e-300
