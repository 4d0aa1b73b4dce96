"""Figures over declared clusters: copies of an item in its cluster tell nothing new."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairstats.benchmarks.loading import load_benchmark
from fairstats.estimates.item_statistics import gap_heterogeneity
from fairstats.estimates.logistic_regression import gee_logistic
from fairstats.estimates.sampling_noise import sampling_noise
from fairstats.inference.variance_components import gap_components
from fairstats.retrieval.voting import vote_counts

ITEMS = 30
MODELS = 4


@pytest.fixture(scope="module")
def benchmark(benchmark_file):
    items = [f"i{number}{copy}" for number in range(ITEMS) for copy in "ab"]
    keys = "item_id,answer_key,patient\n" + "".join(f"{i},A,{i[:-1]}\n" for i in items)
    missing = 'missing = "available"\ncluster = "patient"'
    return load_benchmark(benchmark_file(keys=keys, missing=missing, baseline=""))


@pytest.fixture(scope="module")
def single():
    """Return two samples of four models' answers to the first item of each patient."""
    rng = np.random.default_rng(1)
    hard = rng.random(ITEMS)
    rows = [
        {"model": f"m{model}", "item_id": f"i{item}a", "group": group, "sample": sample}
        | {"answer": "A" if rng.random() > hard[item] * share else "B"}
        for model in range(MODELS)
        for item in range(ITEMS)
        for group, share in (("white", 0.7), ("black", 1.0), ("asian", 0.9))
        for sample in range(2)
    ]
    return pd.DataFrame(rows).assign(
        benchmark="three", benchmark_version="1", strategy="plain", attribute="race", answer_key="A"
    )


@pytest.fixture(scope="module")
def double(single):
    """Return the same with an equal item for each patient."""
    copies = single.assign(item_id=single["item_id"].str[:-1] + "b")
    return pd.concat([single, copies], ignore_index=True)


def test_copies_narrow_no_regression(benchmark, single, double):
    one, two = (gee_logistic(rows, benchmarks=[benchmark]) for rows in (single, double))
    np.testing.assert_allclose(two["std_error"], one["std_error"], rtol=1e-6)
    np.testing.assert_allclose(two["p_value"], one["p_value"], rtol=1e-4)
    assert two["method_note"].str.contains("by declared cluster").all()
    assert (two["n_items"] == 2 * ITEMS).all()


def test_copies_lower_no_sampling_noise(benchmark, single, double):
    one, two = (sampling_noise(rows, benchmarks=[benchmark]) for rows in (single, double))
    np.testing.assert_allclose(two["std_error"], one["std_error"])


def test_copies_narrow_no_limits_of_a_mean_gap(benchmark, single, double):
    one, two = (gap_heterogeneity(rows, benchmarks=[benchmark]) for rows in (single, double))
    same = ["estimate", "ci_low", "ci_high", "new_items_low", "model_sd", "n_items"]
    np.testing.assert_allclose(two[same], one[same])


def test_copies_narrow_no_limits_of_a_vote(benchmark, single, double):
    one, two = (
        vote_counts(rows[rows["sample"] == 0], benchmarks=[benchmark]) for rows in (single, double)
    )
    ends = ["score_low", "score_high", "accuracy_vote_low", "accuracy_gain_low"]
    np.testing.assert_allclose(two[ends], one[ends], atol=1e-9)


def test_gaps_over_clusters_of_one_item_are_those_over_items():
    d = np.random.default_rng(2).integers(-1, 2, (20, 5)).astype(float)
    d[3, 2] = np.nan
    plain, units = gap_components(d), gap_components(d, units=np.arange(20))
    for name in ("estimate", "ci_low", "item_variance", "rest_variance", "n_items"):
        assert getattr(units, name) == pytest.approx(getattr(plain, name), rel=1e-9), name
    with pytest.raises(ValueError, match="units must have shape"):
        gap_components(d, units=[1, 2])


def test_a_regression_over_one_cluster_has_no_standard_error(benchmark_file, single):
    keys = "item_id,answer_key,patient\n" + "".join(f"i{i}a,A,p\n" for i in range(ITEMS))
    missing = 'missing = "available"\ncluster = "patient"'
    declared = load_benchmark(benchmark_file(keys=keys, missing=missing, baseline=""))
    table = gee_logistic(single, benchmarks=[declared])
    assert table["method_note"].unique().tolist() == [
        "no standard error: there is only one cluster"
    ]
