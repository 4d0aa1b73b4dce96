"""The standardized difference compared with R's geepack and by hand, and cases without one."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairstats.estimates.standardized_differences import (
    accuracy_difference_of,
    standardized_difference,
)
from fairstats.inference.fieller import fieller

R = Path(__file__).parents[1] / "r"


@pytest.fixture(scope="module")
def reference():
    return pd.read_csv(R / "gee_variants.csv").set_index("quantity")


@pytest.fixture(scope="module")
def rows():
    data = pd.read_csv(R / "gee_variants_data.csv").rename(columns={"item": "item_id"})
    return data.astype({"correct": float, "group": float})


def rows_of(pairs, **covariates):
    rows = [
        {"item_id": f"i{i:03}", "correct": float(letter == "A"), "group": group}
        for i, pair in enumerate(pairs)
        for group, letter in zip((1.0, 0.0), pair, strict=True)
        if letter != "."
    ]
    return pd.DataFrame(rows).assign(**covariates)


def test_it_agrees_with_geepack(rows, reference):
    found = standardized_difference(rows)
    assert found.estimate == pytest.approx(reference.loc["adjusted", "estimate"], abs=1e-8)
    assert found.std_error == pytest.approx(reference.loc["adjusted", "std_error"], abs=1e-8)


def test_the_share_of_the_plain_difference_agrees_with_r(rows, reference):
    adjusted, plain = standardized_difference(rows), accuracy_difference_of(rows)
    found = fieller(
        adjusted.estimate,
        plain.estimate,
        variance_numerator=adjusted.std_error**2,
        variance_denominator=plain.std_error**2,
        covariance=float(adjusted.influence @ plain.influence),
    )
    expected = reference.loc["share"]
    assert found.estimate == pytest.approx(expected["estimate"], abs=1e-7)
    assert found.ci_low == pytest.approx(expected["ci_low"], abs=1e-6)
    assert found.ci_high == pytest.approx(expected["ci_high"], abs=1e-6)


@pytest.mark.parametrize("constant", [{}, {"key": 0.25}])
def test_without_a_covariate_that_varies_it_is_the_plain_difference(constant):
    pairs = ["AA"] * 9 + ["AB"] * 6 + ["BA"] * 2 + ["BB"] * 4 + ["A."] * 3 + [".B"]
    data = rows_of(pairs, **constant)
    found, plain = standardized_difference(data), accuracy_difference_of(data)
    assert plain.estimate == pytest.approx(18 / 24 - 11 / 22)
    assert found.estimate == pytest.approx(plain.estimate)
    np.testing.assert_allclose(found.influence, plain.influence, atol=1e-9)


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        (["AA", "AB"] * 5, "all right or all wrong"),
        (["BB"] * 5, "all right or all wrong"),
        (["A.", "B."], "a group has no answers"),
    ],
)
def test_missing_estimate_is_reported(pairs, reason):
    found = standardized_difference(rows_of(pairs))
    assert np.isnan(found.estimate)
    assert reason in found.reason


def test_covariate_equal_to_the_group_gives_no_estimate():
    data = rows_of(["AA", "AB", "BA", "BB"] * 5)
    found = standardized_difference(data.assign(key=3 * data["group"]))
    assert "follows from the others" in found.reason
    assert np.isnan(found.std_error)


def test_single_group_has_no_difference():
    assert accuracy_difference_of(rows_of(["A.", "B."])).reason == "a group has no answers"
