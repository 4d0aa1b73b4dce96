"""Parts of the variance of figures, compared with R and with their true values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairstats
from fairstats.benchmarks.loading import load_benchmark
from fairstats.estimates.sampling_noise import SAMPLING_NOISE_COLUMNS, sampling_noise
from tests.make_answers import make_answers

R = Path(__file__).parents[1] / "r"
VARIANCES = ["variance_items", "variance_groups", "variance_samples"]
SHARES = ["share_items", "share_groups", "share_samples"]


@pytest.fixture(scope="module")
def answers_of_r():
    data = pd.read_csv(R / "sampling_variance_data.csv")
    return make_answers(
        ["C."] * len(data),
        item_id="i" + data["item"].astype(str),
        group=data["group"],
        sample=data["sample"],
        answer=np.where(data["right"] == 1, "C", "B"),
        answer_key="C",
    )


def samples_of(texts):
    """Build answers to three items from a text per sample; C is right."""
    return pd.concat(
        make_answers([text] * 3, answer_key="C", sample=sample) for sample, text in enumerate(texts)
    )


def test_variances_agree_with_r(answers_of_r):
    table = sampling_noise(answers_of_r)
    assert list(table) == list(SAMPLING_NOISE_COLUMNS)
    table = table.set_index("metric")
    expected = pd.read_csv(R / "sampling_variance.csv").set_index("metric")
    for metric, row in expected.iterrows():
        for name, value in row.items():
            assert table.loc[metric, name] == pytest.approx(value, abs=1e-12), (metric, name)
    assert table["std_error"].to_numpy() ** 2 == pytest.approx(table[VARIANCES].sum(axis=1))
    assert table[SHARES].sum(axis=1).to_numpy() == pytest.approx(1)
    assert (table["n"] == 40).all()
    assert (table["samples"] == 5).all()
    saved = 1 - table["std_error_unlimited"] / table["std_error"]
    assert table["interval_saved"].to_numpy() == pytest.approx(saved)
    assert table["items_equivalent"].to_numpy() == pytest.approx(40 / (1 - saved) ** 2)


def test_estimates_are_those_of_analyze(answers_of_r):
    table = sampling_noise(answers_of_r).set_index("metric")["estimate"]
    found = fairstats.analyze(answers_of_r)
    found = found[found["test"].isna()].set_index("metric")["estimate"]
    for metric in ("accuracy_difference", "cfr"):
        assert table[metric] == pytest.approx(found[metric].item())


def test_one_sample_has_a_standard_error_without_parts():
    answers = make_answers(["CC", "CB", "BB", "CB"], answer_key="C")
    table = sampling_noise(answers).set_index("metric")
    assert (table["std_error"] > 0).all()
    assert table[[*SHARES, "std_error_unlimited", "interval_saved"]].isna().all(axis=None)
    assert (table["n"] == 4).all()


def test_equal_answers_have_no_variance():
    table = sampling_noise(samples_of(["CC", "CC"]))
    assert (table["std_error"] == 0).all()
    assert table[SHARES].isna().all(axis=None)


def test_missing_answers_follow_the_policy():
    answers = samples_of(["CC", "CC", "--", "--"])
    available = sampling_noise(answers, missing="available").set_index("metric")
    assert available.loc["accuracy", ["estimate", "samples"]].tolist() == [1, 2]
    wrong = sampling_noise(answers, missing="incorrect").set_index("metric")
    assert wrong.loc["accuracy", ["estimate", "samples"]].tolist() == [0.5, 4]
    assert wrong.loc["cfr", "estimate"] == 0.25
    nothing = sampling_noise(answers.assign(answer=None), missing="available")
    assert list(nothing) == list(SAMPLING_NOISE_COLUMNS)
    assert nothing.empty


def test_bounds_are_refused():
    answers = make_answers(["C."], answer_key="C")
    with pytest.raises(ValueError, match="missing='bounds'"):
        sampling_noise(answers, missing="bounds")
    bounded = replace(load_benchmark("demo"), name="bounded", missing="bounds")
    with pytest.raises(fairstats.InputError, match="choose another policy"):
        sampling_noise(answers.assign(benchmark="bounded"), benchmarks=[bounded])


def test_negative_variance_of_groups_is_noted():
    # Every item has one right answer of two for each group: items vary less than samples would.
    table = sampling_noise(samples_of(["CB", "BC"])).set_index("metric")
    row = table.loc["accuracy"]
    assert row["variance_groups"] < 0
    assert row["share_samples"] == 1
    assert np.isnan(row["items_equivalent"])
    assert "variance of groups" in row["method_note"]
    assert not np.isinf(table["items_equivalent"]).any()
