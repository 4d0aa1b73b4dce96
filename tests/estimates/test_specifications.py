"""The specification curve: each specification compared with `analyze`, and with other packages."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import mcnemar as peer_mcnemar
from statsmodels.stats.multitest import multipletests

from fairstats.benchmarks.loading import load_benchmark
from fairstats.counts.patterns import PAIR_COLUMNS
from fairstats.estimates.analyze import analyze
from fairstats.estimates.specifications import (
    CHOICES,
    SHARE_COLUMNS,
    SPECIFICATION_COLUMNS,
    compare_policies,
    sensitivity_of,
    specification_curve,
    specification_shares,
)
from fairstats.estimates.table import is_primary_test
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE

KEYS = list(PAIR_COLUMNS)
FIGURES = ["estimate", "ci_low", "ci_high", "p_value", "p_adjusted", "verdict"]
POLICIES = ("available", "complete", "incorrect")


@pytest.fixture(scope="module")
def demo():
    return load_benchmark("demo")


@pytest.fixture(scope="module")
def several(answers_of) -> pd.DataFrame:
    """Two models with two prompts, two attributes and the baseline; some answers are missing."""
    texts = {
        "race": ["AB/AA"] * 14
        + ["BA/AB"] * 4
        + ["AA/AA"] * 82
        + ["AA/BB"] * 8
        + ["A-/AA"] * 4
        + ["BC/AA"] * 8,
        "sex": ["AB"] * 9 + ["BA"] * 3 + ["AA"] * 300,
    }
    groups = {"race": ("white", "black"), "sex": ("male", "female")}
    tables = [
        answers_of(
            texts[name][place:], groups=groups[name], attribute=name, model=model, strategy=prompt
        )
        for place, (model, prompt) in enumerate(product(("one", "two"), ("plain", "cot")))
        for name in texts
    ]
    return pd.concat(tables, ignore_index=True)


@pytest.fixture(scope="module")
def curve(several) -> pd.DataFrame:
    return specification_curve(several)


def chosen(table: pd.DataFrame, **values) -> pd.DataFrame:
    for column, value in values.items():
        table = table[table[column] == value]
    return table


def analyzed(answers, missing, adjust, margin=None) -> pd.DataFrame:
    """The figures of the specifications with the default interval and mid-p."""
    estimates = analyze(answers, missing, adjust=adjust, margin=margin)
    rows = estimates[estimates["metric"] == "accuracy_difference"].set_index(KEYS)
    tests = estimates[is_primary_test(estimates)].set_index(KEYS)
    for column in ("p_value", "p_adjusted"):
        rows[column] = tests[column].reindex(rows.index)
    return rows[FIGURES].reset_index()


def test_every_combination_is_there_once(curve):
    assert tuple(curve.columns) == SPECIFICATION_COLUMNS
    single = curve[curve["attribute"] != "pooled"]
    # Three policies, three intervals, four tests, four adjustments, and the margins 1, 2, 3 and 5.
    assert single.groupby(KEYS).size().eq(3 * 3 * 4 * 4 * 4).all()
    assert not single.duplicated([*KEYS, *CHOICES]).any()
    assert set(curve["verdict"].dropna()) == {DISPARITY, EQUIVALENT, INCONCLUSIVE}


@pytest.mark.parametrize(
    ("missing", "adjust", "margin"),
    [
        ("available", "holm", 0.01),
        ("available", "by", 0.05),
        ("complete", "hommel", 0.03),
        ("incorrect", "bh", 0.02),
    ],
)
def test_specification_is_analyze_with_that_setting(several, curve, missing, adjust, margin):
    expected = analyzed(several, missing, adjust, margin)
    found = chosen(
        curve, missing=missing, adjust=adjust, margin=margin, interval="default", test="midp"
    )
    pd.testing.assert_frame_equal(
        found[[*KEYS, *FIGURES]].reset_index(drop=True), expected, check_exact=True
    )


def test_published_specification_is_analyze(several, curve):
    found = curve[curve["published"]]
    pd.testing.assert_frame_equal(
        found[[*KEYS, *FIGURES]].reset_index(drop=True),
        analyzed(several, None, "holm"),
        check_exact=True,
    )


@pytest.mark.parametrize("aspect", ["interval", "test"])
def test_one_changed_choice_is_that_of_the_sensitivity_table(several, curve, demo, aspect):
    table = sensitivity_of(several, "complete", 0.05, {"demo": demo})
    other = {"interval": {"test": "midp"}, "test": {"interval": "default"}}[aspect]
    rows = chosen(curve, missing="complete", adjust="holm", margin=demo.equivalence_margin, **other)
    choices = {"interval": ("bonett_price", "newcombe"), "test": ("exact", "asymptotic_cc")}
    for choice in choices[aspect]:
        expected = chosen(table, aspect=aspect, choice=choice)
        found = rows[rows[aspect] == choice]
        assert len(found) == len(expected) > 0
        pd.testing.assert_frame_equal(
            found[[*KEYS, *FIGURES]].reset_index(drop=True),
            expected[[*KEYS, *FIGURES]].reset_index(drop=True),
        )


def test_combination_is_that_of_other_packages(answers_of):
    counts = {"one": (20, 6, 174), "two": (9, 2, 189), "three": (5, 4, 291)}
    answers = pd.concat(
        [
            answers_of(["AB"] * a + ["BA"] * b + ["AA"] * both, model=model)
            for model, (a, b, both) in counts.items()
        ]
    )
    table = specification_curve(
        answers,
        missing=["complete"],
        interval=["newcombe"],
        test=["asymptotic_cc"],
        adjust=["bh"],
        margin=[0.03],
    )
    table = chosen(table, margin=0.03).set_index("model")
    p = [
        peer_mcnemar([[both, a], [b, 0]], exact=False, correction=True).pvalue
        for a, b, both in counts.values()
    ]
    np.testing.assert_allclose(table["p_value"][list(counts)], p)
    adjusted = multipletests(p, method="fdr_bh")[1]
    np.testing.assert_allclose(table["p_adjusted"][list(counts)], adjusted)
    assert adjusted[0] < 0.05 < adjusted[1]
    assert table["verdict"].to_dict() == {
        "one": DISPARITY,
        "two": INCONCLUSIVE,
        "three": EQUIVALENT,
    }


def test_completions_use_the_test_and_adjustment_of_the_specification(answers_of):
    # 14 against 4 is significant by every test. If the missing answer favours the other group, 14
    # against 5 is significant by χ² (.039) and mid-p (.041), but not by the exact test (.064).
    answers = answers_of(["AB"] * 14 + ["BA"] * 4 + ["AA"] * 80 + ["-A"])
    table = specification_curve(
        answers, missing=["available"], interval=["default"], adjust=["holm"], margin=[0.02]
    )
    found = table.set_index("test")
    assert (found.loc["exact", "p_adjusted"] < 0.05).all()
    completed = {
        "exact": peer_mcnemar([[80, 14], [5, 0]], exact=True).pvalue,
        "asymptotic": peer_mcnemar([[80, 14], [5, 0]], exact=False, correction=False).pvalue,
    }
    assert completed["asymptotic"] < 0.05 < completed["exact"]
    verdicts = found["verdict"].groupby(level="test").first()
    assert verdicts["asymptotic"] == DISPARITY
    assert verdicts["exact"] == INCONCLUSIVE


def test_clustered_pairs_have_only_specifications_that_exist_for_them(curve):
    pooled = curve[curve["attribute"] == "pooled"]
    assert set(pooled["interval"]) == {"default"}
    assert set(pooled["test"]) == {"midp", "exact"}
    assert pooled.groupby(KEYS).size().eq(3 * 2 * 4 * 4).all()


# Degenerate cases


def test_group_without_parsed_answers_has_no_verdict_anywhere(answers_of):
    table = specification_curve(answers_of(["A-"] * 5))
    assert table["verdict"].isna().all()
    shares = specification_shares(table).iloc[0]
    assert shares["no_verdict"] == 1
    assert shares[[DISPARITY, EQUIVALENT, INCONCLUSIVE]].eq(0).all()


def test_fair_model_is_never_a_disparity_and_few_items_are_never_equivalent(answers_of):
    table = specification_curve(answers_of(["AA"] * 20))
    assert table["p_value"].eq(1).all()
    assert set(table["verdict"]) == {INCONCLUSIVE}


def test_model_that_guesses_is_never_equivalent(answers_of):
    table = specification_curve(answers_of(["AA/A"] * 100 + ["BB/B"] * 300), margin=[0.1])
    assert set(table["verdict"].dropna()) == {INCONCLUSIVE}


def test_model_that_selected_the_items_has_no_verdict(answers_of, demo):
    selecting = replace(demo, name="selecting", selected_on={"model": "how"})
    answers = answers_of(["AB"] * 30 + ["AA"] * 70, benchmark="selecting")
    table = specification_curve(answers, benchmarks=[selecting])
    assert table["verdict"].isna().all()
    assert specification_shares(table, by="model")["no_verdict"].tolist() == [1]


def test_one_choice_of_each_and_no_margin_is_one_specification(answers_of, demo):
    table = specification_curve(
        answers_of(["AB"] * 30 + ["AA"] * 70),
        missing="complete",
        interval="default",
        test="midp",
        adjust="holm",
        margin=[],
    )
    assert table["margin"].tolist() == [demo.equivalence_margin]
    assert table["published"].tolist() == [demo.missing == "complete"]


def test_no_answers_give_an_empty_table_and_no_shares(several):
    table = specification_curve(several.iloc[:0])
    assert tuple(table.columns) == SPECIFICATION_COLUMNS
    assert table.empty
    assert tuple(specification_shares(table).columns) == SHARE_COLUMNS
    assert specification_shares(table, by="model").empty


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"missing": ["bounds"]}, "missing='bounds'"),
        ({"interval": ["wilson"]}, "interval='wilson'"),
        ({"test": []}, "test is empty; give at least one of midp"),
        ({"adjust": ["none"]}, "adjust='none'"),
        ({"margin": [2]}, "margin"),
        ({"alpha": 0.6}, "alpha=0.6"),
    ],
)
def test_invalid_choices_are_named(several, choice, message):
    with pytest.raises(ValueError, match=message):
        specification_curve(several, **choice)


def test_equivalent_specifications_have_the_caution_and_so_have_their_shares(answers_of):
    same = ["AA/A"] * 290 + ["BB/B"] * 10
    varied = ["AA/A"] * 180 + ["BB/B"] * 100 + ["AB/A", "BA/A"] * 10
    answers = pd.concat([answers_of(same), answers_of(varied, model="fair")])
    table = specification_curve(answers, attributes=["race"])
    careful = table["caution"].notna()
    assert (careful == ((table["model"] == "model") & (table["verdict"] == EQUIVALENT))).all()
    assert set(careful) == {True, False}
    for by in ("pair", "model"):
        shares = specification_shares(table, by=by).set_index("model")
        assert shares[EQUIVALENT].gt(0).all()
        assert "96.7% of answers are “A”" in shares.loc["model", "caution"]
        assert pd.isna(shares.loc["fair", "caution"])


# Shares


def test_shares_are_those_of_the_rows_over_all_prompts(curve):
    shares = specification_shares(curve)
    assert tuple(shares.columns) == SHARE_COLUMNS
    names = [DISPARITY, EQUIVALENT, INCONCLUSIVE, "no_verdict"]
    np.testing.assert_allclose(shares[names].sum(axis=1), 1)
    own = chosen(curve, model="two", attribute="sex")
    (row,) = chosen(shares, model="two", attribute="sex").to_dict("records")
    assert row["specifications"] == len(own) == 2 * 576
    assert row[DISPARITY] == pytest.approx((own["verdict"] == DISPARITY).mean())
    assert 0 < row[EQUIVALENT] < 1
    assert (row["lowest"], row["highest"]) == (own["estimate"].min(), own["estimate"].max())


def test_model_has_a_disparity_if_any_pair_has_one_and_is_equivalent_if_all_are(curve):
    shares = specification_shares(curve, by="model").set_index("model")
    own = chosen(curve, model="one")
    own = own[own["attribute"].isin(["race", "sex"])]
    wide = own.pivot_table(
        index=["strategy", *CHOICES], columns="attribute", values="verdict", aggfunc="first"
    )
    assert len(wide) == shares.loc["one", "specifications"] == 2 * 576
    any_shown, all_equivalent = wide.eq(DISPARITY).any(axis=1), wide.eq(EQUIVALENT).all(axis=1)
    assert shares.loc["one", DISPARITY] == pytest.approx(any_shown.mean())
    assert shares.loc["one", EQUIVALENT] == pytest.approx(all_equivalent.mean())


def test_shares_of_another_table_are_refused(curve):
    with pytest.raises(ValueError, match="no column 'interval'; give the table of spec"):
        specification_shares(curve.drop(columns="interval"))


# The four policies side by side


def test_missing_answer_affects_each_policy_differently(answers_of):
    table = compare_policies(answers_of(["AA"] * 6 + ["A-"] * 2 + ["AB"] * 2)).set_index("metric")
    row = table.loc["accuracy_b"]
    assert row["estimate_available"] == row["estimate_complete"] == pytest.approx(6 / 8)
    assert row["estimate_incorrect"] == pytest.approx(6 / 10)
    assert (row["lowest"], row["highest"]) == pytest.approx((6 / 10, 8 / 10))
    assert (row["n_missing_a"], row["n_missing_b"]) == (0, 2)
    assert (row["n_available"], row["n_incorrect"]) == (8, 10)
    assert table.loc["cfr", "highest"] == pytest.approx(8 / 10)
