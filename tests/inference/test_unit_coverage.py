"""Coverage over few units: the recorded results, compared with a repeated part and the text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.serving import benchmark_script

ROOT = Path(__file__).parents[2]
COVERAGE = pd.read_csv(ROOT / "benchmarks" / "results" / "unit_coverage.csv", dtype={"law": str})
AT_95 = COVERAGE[COVERAGE["level"] == 0.95]
OURS = ["unit_mean_difference", "few_clusters_effect", "weighted_kappa"]


@pytest.fixture(scope="module")
def script():
    return benchmark_script("unit_coverage")


def test_file_has_the_rows_of_the_script(script):
    rng = np.random.default_rng(1)
    columns = ["data", "law", "units", "sizes", "icc", "statistic", "method", "level"]
    assert not COVERAGE.duplicated(columns).any()
    for simulated, law in (
        (script.of_levels, "skewed"),
        (script.of_pairs, "many discordant"),
        (script.of_kappa, "0.2"),
    ):
        rows = pd.DataFrame(simulated(20, ("uneven", 0.1), law, 60, rng))
        both = rows.merge(COVERAGE, on=columns, suffixes=("", "_file"))
        assert len(both) == len(rows)
        np.testing.assert_allclose(both["mean_width"], both["mean_width_file"], rtol=0.2)
        np.testing.assert_allclose(both["coverage"], both["coverage_file"], atol=0.15)
        assert list(rows.columns) == list(COVERAGE.columns)


def test_pairs_of_a_unit_have_the_intraclass_correlation(script):
    cells = script.drawn(40_000, ("uneven", 0.4), (0.7, 0.3), np.random.default_rng(1))
    size = cells.sum(axis=1)
    assert cells[:, 1].sum() / size.sum() == pytest.approx(0.3, abs=0.01)
    deviation = cells[:, 1] - 0.3 * size
    expected = 0.21 * (size + 0.4 * size * (size - 1))
    assert (deviation**2).sum() / expected.sum() == pytest.approx(1, abs=0.03)


def test_text_states_the_lowest_coverage(script):
    lowest = AT_95.groupby(["data", "statistic", "method", "units"])["coverage"].min().unstack()
    stated = {
        tuple(line.split()[:3]): [float(x) for x in line.split()[3:]]
        for line in script.__doc__.splitlines()
        if line.startswith("    ") and line.split()[0] in ("levels", "pairs", "kappa")
    }
    assert len(stated) == len(lowest)
    for key, values in stated.items():
        assert values == pytest.approx((100 * lowest.loc[key]).tolist(), abs=0.05)


def test_chosen_intervals_keep_their_level():
    ours = AT_95[AT_95["method"].isin(OURS)]
    others = AT_95[~AT_95["method"].isin(OURS)]
    by_data = ours.groupby(["data", "statistic"])["coverage"]
    assert by_data.min().min() > 0.88
    assert by_data.mean().min() > 0.94
    least = others.groupby(["data", "statistic"])["coverage"].min()
    assert (by_data.min() >= least).all()
    # They cost little width if many units differ.
    dense = AT_95[(AT_95["law"] == "dense") & (AT_95["units"] >= 50)]
    width = dense.groupby("method")["mean_width"].mean()
    assert width["unit_mean_difference"] < 1.02 * width["t"]


def test_tests_between_equal_groups_keep_their_level():
    equal = AT_95[AT_95["law"].str.startswith("equal") & AT_95["rejected"].notna()]
    assert equal["rejected"].max() < 0.075
    many = equal[equal["units"] == 190].groupby("law")["rejected"].mean()
    assert many.between(0.04, 0.06).all()
    levels = AT_95[AT_95["method"] == "unit_mean_difference"]
    assert levels["interval_alone"].max() < 0.045
    assert levels["test_alone"].max() == pytest.approx(0.41, abs=0.01)
