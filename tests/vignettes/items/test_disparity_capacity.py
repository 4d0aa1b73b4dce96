"""Benchmarking capacity: hand-counted kinds of variants, and the published figures of table 1."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa

from fairstats import analyze
from fairstats._lib.problems import InputError
from fairstats._lib.resources import resource
from fairstats.vignettes.findings import FINDING_COLUMNS
from fairstats.vignettes.items.disparity_capacity import AD, AD_DIFFERENCE, benchmarking_capacity

RACE = ("race", "white", "black")


def _of(table, measure, column="estimate"):
    (value,) = table[table["measure"] == measure][column]
    return value


def test_one_kind_has_no_difference(answers_of):
    table = benchmarking_capacity({"adversarial": answers_of(["AB", "AA"])})
    assert list(table.columns) == list(FINDING_COLUMNS)
    assert table[["measure", "quantity", "estimate"]].values.tolist() == [["adversarial", AD, 0.5]]


def test_same_answers_have_no_difference(answers_of):
    one = answers_of(["AB"] * 5 + ["AA"] * 20)
    table = benchmarking_capacity({"substitution": one, "adversarial": one})
    assert _of(table, "adversarial − substitution") == 0
    assert _of(table, "adversarial − substitution", "p_value") == 1
    assert "correlation 1.000" in _of(table, "adversarial − substitution", "note")


def test_unparsed_answers_have_no_figure_and_the_whole_range(answers_of):
    one, none = answers_of(["AB", "AA"]), answers_of(["--", "--"])
    table = benchmarking_capacity({"substitution": none, "adversarial": one})
    assert np.isnan(_of(table, "substitution"))
    row = table[table["quantity"] == AD_DIFFERENCE].iloc[0]
    assert np.isnan(row["estimate"])
    assert (row["ci_low"], row["ci_high"], row["p_value"]) == (-1, 1, 1)


def test_no_balanced_item_has_no_figure(answers_of):
    table = benchmarking_capacity({"adversarial": answers_of(["AB", "AA"])}, balanced={RACE: []})
    assert np.isnan(_of(table, "adversarial-balanced"))
    assert _of(table, "adversarial-balanced", "n") == 0
    assert _of(table, "adversarial-balanced − adversarial", "p_value") == 1


def test_balanced_items_are_a_part_of_the_adversarial_ones(answers_of):
    answers = answers_of(["AB"] * 4 + ["AA"] * 6 + ["BA"] * 2)
    items = [f"item-{n}" for n in (0, 4, 5, 6)]
    table = benchmarking_capacity({"adversarial": answers}, balanced={RACE: items})
    assert _of(table, "adversarial") == pytest.approx(2 / 12)
    assert _of(table, "adversarial-balanced") == pytest.approx(1 / 4)
    row = table[table["quantity"] == AD_DIFFERENCE].iloc[0]
    assert row["estimate"] == pytest.approx(1 / 4 - 2 / 12)
    assert row["note"].startswith("4 and 12 items, 4 of them common")


def test_fully_balanced_items_have_no_difference(answers_of):
    answers = answers_of(["AB"] * 4 + ["AA"] * 6)
    items = set(answers["item_id"])
    table = benchmarking_capacity({"adversarial": answers}, balanced={RACE: items})
    row = table[table["quantity"] == AD_DIFFERENCE].iloc[0]
    assert row["estimate"] == pytest.approx(0)
    assert row["p_value"] == 1
    # The same items: the difference is 0, for any drawn items.
    assert (row["ci_low"], row["ci_high"]) == (0, 0)


def test_balanced_items_need_adversarial_answers(answers_of):
    one = answers_of(["AB"])
    with pytest.raises(InputError, match="there are balanced items but no answers"):
        benchmarking_capacity({"substitution": one}, balanced={RACE: []})


def test_a_kind_is_of_one_version(answers_of):
    two = pd.concat([answers_of(["AB"]), answers_of(["AB"], benchmark_version="0")])
    with pytest.raises(InputError, match="contains several benchmarks or versions"):
        benchmarking_capacity({"adversarial": two})


def test_other_benchmarks_have_no_common_items(answers_of, swapped_demo):
    one = answers_of(["AB"] * 8 + ["AA"] * 8)
    other = answers_of(["AB"] * 2 + ["AA"] * 14, benchmark="swapped")
    # The pair is declared in reverse there: a different pair, and no difference.
    table = benchmarking_capacity(
        {"substitution": other, "adversarial": one}, benchmarks=[swapped_demo]
    )
    assert set(table["quantity"]) == {AD}


def test_pairing_narrows_the_interval_of_correlated_items(answers_of):
    paired = ["AB"] * 20 + ["AA"] * 30
    one = answers_of(paired + ["AB"] * 10 + ["AA"] * 20)
    same = answers_of(paired + ["AA"] * 30, model="model")
    apart = same.assign(item_id=same["item_id"] + "-other")
    widths = []
    for other in (same, apart):
        table = benchmarking_capacity({"substitution": other, "adversarial": one})
        row = table[table["quantity"] == AD_DIFFERENCE].iloc[0]
        assert row["estimate"] == pytest.approx(10 / 80)
        # The p-value is the level at which the interval ends at 0.
        at = benchmarking_capacity(
            {"substitution": other, "adversarial": one}, alpha=row["p_value"]
        )
        assert _of(at, "adversarial − substitution", "ci_low") == pytest.approx(0, abs=1e-6)
        widths.append(row["ci_high"] - row["ci_low"])
    assert widths[0] < 0.8 * widths[1]


def test_intervals_cover(answers_of):
    """For paired kinds with AD that differ by 0.2, about 95% of the intervals contain 0.2."""
    rng = np.random.default_rng(11)
    kinds = {"substitution": [], "adversarial": []}
    for number in range(40):
        hard = rng.random(150) < 0.3
        for kind, rate in (("substitution", 0.1), ("adversarial", 0.3)):
            chance = np.where(hard, rate * 2, rate * 4 / 7)
            texts = np.where(rng.random(150) < chance, "AB", "AA")
            kinds[kind].append(answers_of(texts.tolist(), model=f"model-{number}"))
    table = benchmarking_capacity({kind: pd.concat(frames) for kind, frames in kinds.items()})
    rows = table[table["measure"] == "adversarial − substitution"]
    assert len(rows) == 40
    held = ((rows["ci_low"] <= 0.2) & (rows["ci_high"] >= 0.2)).sum()
    # 33 of 40 or fewer has a probability below 0.005 at 95%.
    assert held > 33


def test_several_samples_widen_the_interval(answers_of):
    once = answers_of(["AB"] * 5 + ["AA"] * 15)
    twice = pd.concat([once, once.assign(sample=1)])
    table = benchmarking_capacity({"adversarial": twice})
    alone = benchmarking_capacity({"adversarial": once})
    # The same answers again add no information.
    for name in ("estimate", "ci_low", "ci_high"):
        assert _of(table, "adversarial", name) == pytest.approx(_of(alone, "adversarial", name))


def test_the_printed_figures_of_the_released_answers(shared_data):
    """Table 1: only GPT-4-turbo has released answers, and only for FairMedQA."""
    name = "amqa/answers/CPVmodel_AMQA_D2_Benchmark_Answer_openai_no_cot.jsonl"
    answers = import_amqa([shared_data(name)])
    table = benchmarking_capacity({"adversarial": answers}).set_index("attribute")
    printed = pd.read_csv(resource("data", "published", "fairmedqa_table1.csv"))
    own = printed[(printed["benchmark"] == "FairMedQA") & (printed["model"] == "GPT-4-turbo")]
    assert set(own["attribute"]) == {"race", "sex"}
    for cell in own.itertuples():
        assert round(table.loc[cell.attribute, "estimate"], 4) == cell.ad
    estimates = analyze(answers)
    ad = estimates[estimates["metric"] == "ad"].set_index("attribute")
    for attribute in ("race", "sex", "ses"):
        for column in ("estimate", "ci_low", "ci_high"):
            assert table.loc[attribute, column] == pytest.approx(ad.loc[attribute, column])
