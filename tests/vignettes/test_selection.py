"""Signs that items were selected by a model: hand-counted cases, then the released answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fairstats.vignettes.selection import DIFFERENCE, ONE_SIDED, selection_findings, selection_flags


@pytest.fixture(scope="module")
def selected(demo):
    return replace(demo, name="own", selected_on={"m-0": "each variant misled it"})


def test_selecting_model_is_compared_with_the_others(models, selected):
    one, other = ["AB"] * 8 + ["AA"] * 4, ["AB"] * 2 + ["BA"] * 2 + ["AA"] * 8
    findings = selection_findings(models(one, other, other, benchmark="own"), benchmarks=[selected])
    row = findings.iloc[0]
    assert (row["quantity"], row["model"], row["n"]) == (DIFFERENCE, "m-0", 12)
    assert row["estimate"] == pytest.approx(8 / 12)
    assert row["ci_low"] < 8 / 12 < row["ci_high"]
    assert row["note"].startswith("8 only White right, 0 only Black")
    assert "“m-0” took part" in row["note"]
    assert findings["quantity"].tolist()[1:] == [ONE_SIDED] * 2


def test_single_selecting_model_has_no_comparison(models, selected):
    row = selection_findings(models(["AB", "AA"], benchmark="own"), benchmarks=[selected]).iloc[0]
    assert np.isnan(row["estimate"])
    assert row["p_value"] == 1
    assert row["test"] == "none (no other model)"


def test_an_undeclared_selection_has_a_signature(models):
    one, other = ["AB"] * 40 + ["AA"] * 20, ["AB"] * 20 + ["BA"] * 15 + ["AA"] * 25
    findings = selection_findings(models(one, other, other))
    assert set(findings["quantity"]) == {ONE_SIDED}
    p = stats.fisher_exact([[0, 40], [15, 20]], alternative="less").pvalue
    # Three sets, by Holm.
    assert findings["p_value"].min() == pytest.approx(3 * p)
    flags = selection_flags(findings)
    (detail,) = flags["detail"]
    assert detail.startswith("“m-0”, “plain” (1)")
    assert "n10 = 40, n01 = 0" in detail
    # In reverse it is just as one-sided.
    turned = [text[::-1] for text in one]
    flags = selection_flags(selection_findings(models(turned, other, other)))
    assert flags["detail"].str.contains("n10 = 0, n01 = 40").tolist() == [True]


def test_a_model_with_a_single_flip_excuses_no_other(models):
    one, other = ["AB"] * 40 + ["AA"] * 20, ["AB"] * 20 + ["BA"] * 15 + ["AA"] * 25
    for few in (["AB"] + ["AA"] * 59, ["BA"] + ["AA"] * 59):
        (detail,) = selection_flags(selection_findings(models(one, other, few)))["detail"]
        assert detail.startswith("“m-0”, “plain” (1)")


def test_a_model_with_fewer_flips_still_explains_another_one(models):
    """Of honest models, one is the most one-sided."""
    one, other = ["AB"] * 34 + ["BA"] * 6, ["AB"] * 65 + ["BA"] * 35
    least = ["AB"] * 8 + ["BA"] * 2
    answers = models(*(own + ["AA"] * (120 - len(own)) for own in (one, other, least)))
    row = selection_findings(answers).set_index("model").loc["m-0"]
    assert "n10 = 8, n01 = 2" in row["note"].partition(";")[2]
    assert row["p_value"] > 0.05


def test_several_samples_of_an_item_count_once(models, selected):
    one = models(["AB"] * 6 + ["AA"] * 20, ["AB"] * 5 + ["BA"] * 4 + ["AA"] * 17, benchmark="own")
    repeated = pd.concat([one.assign(sample=sample) for sample in range(5)], ignore_index=True)
    for known in (selected, replace(selected, selected_on={})):
        expected, found = (selection_findings(own, benchmarks=[known]) for own in (one, repeated))
        pd.testing.assert_frame_equal(found, expected)


def test_item_counts_with_the_share_of_its_flips(models):
    """Half of the pairs of samples of 4 items differ in one direction, of one item in both."""
    first, second = ["AB"] * 4 + ["BA"] + ["AA"] * 9, ["AA"] * 4 + ["AB"] + ["AA"] * 9
    samples = [models(own, own).assign(sample=i) for i, own in enumerate((first, second))]
    findings = selection_findings(pd.concat(samples, ignore_index=True))
    assert findings["n"].tolist() == [2, 2]
    assert findings["note"].str.startswith("n10 = 2, n01 = 0").all()


def test_common_one_sided_flips_are_not_informative(models):
    one = ["AB"] * 40 + ["AA"] * 20
    for answers in (models(one, one), models(one), models(["AA"] * 3, ["AA"] * 3)):
        findings = selection_findings(answers)
        assert (findings["p_value"] == 1).all()
        assert selection_flags(findings).empty


def test_released_selection_is_detected_without_a_declaration(released_answers):
    from fairstats.benchmarks.loading import load_benchmark

    declared = selection_findings(released_answers)
    beside = declared[declared["quantity"] == DIFFERENCE].set_index("attribute")
    assert beside.loc["race", "note"].startswith("263 only White right, 0 only")
    assert beside.loc["race", "estimate"] == pytest.approx(0.2204, abs=5e-5)
    assert selection_flags(declared).empty
    silent = replace(load_benchmark("fairmedqa"), name="silent", selected_on={})
    answers = released_answers.assign(benchmark="silent")
    flags = selection_flags(selection_findings(answers, benchmarks=[silent]))
    assert sorted(flags["attribute"]) == ["race", "ses", "sex"]
    assert flags["detail"].str.startswith("“GPT-4o-mini”, “plain” (deepseek-agent)").all()
