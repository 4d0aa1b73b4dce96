"""The regression within items compared with R, statsmodels and by hand; cases without one."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from fairstats.vignettes.items.within_items import within_items

R = Path(__file__).parents[2] / "r"


def series(values):
    return pd.Series(values, dtype=float)


def changes(key, distractor=None):
    distractor = [0.0] * len(key) if distractor is None else distractor
    return pd.DataFrame({"key": key, "distractor": distractor}, dtype=float)


def test_it_agrees_with_r():
    data = pd.read_csv(R / "gee_variants_data.csv")
    a, b = (data[data["group"] == g].set_index("item") for g in (1, 0))
    difference = (a - b)[["correct", "key", "distractor"]]
    found = within_items(difference["correct"], difference[["key", "distractor"]])
    reference = pd.read_csv(R / "gee_variants.csv").set_index("quantity")
    for place, name in enumerate(["intercept", "key", "distractor"]):
        row, expected = found.row(place), reference.loc[f"within {name}"]
        assert row["estimate"] == pytest.approx(expected["estimate"], abs=1e-10)
        assert row["ci_low"] == pytest.approx(expected["ci_low"], abs=1e-10)
        assert row["ci_high"] == pytest.approx(expected["ci_high"], abs=1e-10)
    assert found.adjusted.std_error == pytest.approx(reference.loc["within intercept", "std_error"])


def test_agrees_with_statsmodels_in_any_units():
    rng = np.random.default_rng(3)
    values = rng.integers(-1, 2, 50).astype(float)
    moved = rng.normal(size=(50, 2))
    fit = sm.OLS(values, sm.add_constant(moved)).fit(cov_type="HC3", use_t=True)
    found = within_items(series(values), changes(*(1e6 * moved).T))
    assert found.row(0)["estimate"] == pytest.approx(fit.params[0])
    assert found.row(0)["p_value"] == pytest.approx(fit.pvalues[0])
    assert found.row(1)["estimate"] == pytest.approx(fit.params[1] / 1e6)
    assert found.row(2)["p_value"] == pytest.approx(fit.pvalues[2])


def test_with_two_kinds_of_items_it_is_the_mean_of_equal_ones():
    found = within_items(
        series([1, 1, 0, -1, 1, 1, 1, 0]), changes([0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5])
    )
    assert found.row(0)["estimate"] == pytest.approx(0.25)
    assert found.row(1)["estimate"] == pytest.approx((0.75 - 0.25) / 0.5)
    assert found.adjusted.std_error == pytest.approx(np.sqrt(2.75) / 3)
    assert found.plain.estimate == 0.5
    assert found.row(2)["note"] == "the covariate does not change for any item"


def test_without_a_change_it_is_the_plain_mean():
    found = within_items(series([1, 0, 0, 1, -1]), changes([0] * 5))
    assert found.row(0)["estimate"] == pytest.approx(0.2)
    assert found.row(0)["test"] == "paired t"
    assert found.row(0)["note"] == "no covariate changes for any item"
    np.testing.assert_array_equal(found.adjusted.influence, found.plain.influence)


def test_limits_have_a_width_if_no_answer_differs():
    row = within_items(series([0] * 9), changes(range(9))).row(0)
    assert (row["estimate"], row["p_value"]) == (0, 1)
    assert row["ci_low"] < 0 < row["ci_high"]


@pytest.mark.parametrize(
    ("values", "key", "distractor", "reason"),
    [
        ([], [], [], "no item has answers for both groups"),
        ([1], [0.5], [0], "same way for all items"),
        ([1, 0, 0], [0.5, 0.5, 0.5], [0, 0, 0], "same way for all items"),
        ([1, 1, 1], [0.5, 0.5, 0.5], [0, 0, 0], "same way for all items"),
        ([1, 0, 0, 1], [0, 1, 2, 3], [0, 2, 4, 6], "follows from another"),
        ([1, 0], [0, 1], [0, 0], "too few items"),
        ([1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], "too few items"),
        ([1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0], "too few items"),
    ],
)
def test_missing_estimate_is_reported(values, key, distractor, reason):
    found = within_items(series(values), changes(key, distractor))
    for place in range(3):
        assert "estimate" not in found.row(place)
        assert reason in found.row(place)["note"]
    assert reason in found.adjusted.reason


def test_single_unchanged_item_is_reported():
    found = within_items(series([1]), changes([0]))
    assert found.row(0)["estimate"] == 1
    assert found.row(0)["ci_low"] < 0
    assert found.plain.reason == "only one item"
