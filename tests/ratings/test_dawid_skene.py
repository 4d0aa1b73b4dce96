"""Dawid and Skene's EM compared with R on their data, by its likelihood, and on poor data."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.ratings.dawid_skene import dawid_skene
from fairstats.ratings.rubrics import load_rubric
from fairstats.ratings.table import check_ratings

R = Path(__file__).parents[1] / "r"
ALWAYS = "assumes that raters err independently given the truth; no standard errors"


@pytest.fixture(scope="module")
def anaesthetists():
    """Patients × observers; the first observer three times."""
    data = pd.read_csv(R / "dawid_skene_data.csv", dtype=str)
    reading = data.groupby(["patient", "observer"]).cumcount()
    wide = data.set_index(["patient", "observer", reading])["class"].unstack([1, 2])
    return wide.set_axis(wide.columns.get_level_values(0), axis=1)


def test_the_papers_example_agrees_with_r(anaesthetists):
    assert anaesthetists.shape == (45, 7)
    found = dawid_skene(anaesthetists, tolerance=1e-13)
    expected = pd.read_csv(R / "dawid_skene.csv", dtype={"a": str, "b": str, "c": str})
    by = dict(list(expected.groupby("what")))
    assert found.log_likelihood == pytest.approx(by["log_likelihood"]["value"].iloc[0], abs=1e-9)
    assert found.converged
    assert found.note == (
        f"{ALWAYS}; another start gives a log likelihood 0.21 higher; use start='highest'"
    )
    prevalence = found.prevalence.set_index("category")["prevalence"]
    for row in by["prevalence"].itertuples():
        assert prevalence[row.a] == pytest.approx(row.value, abs=1e-10)
    error = found.raters.set_index(["rater_id", "true_category", "category"])["probability"]
    for row in by["error"].itertuples():
        assert error[row.a, row.b, row.c] == pytest.approx(row.value, abs=1e-10)
    posterior = found.items.set_index(["item_id", "category"])["posterior"]
    for row in by["posterior"].itertuples():
        assert posterior[row.a, row.b] == pytest.approx(row.value, abs=1e-10)
    # Seven readings a patient, 21 of them expected of each.
    assert found.raters.groupby("rater_id")["expected"].sum().tolist() == pytest.approx(
        [135, 45, 45, 45, 45]
    )
    best = found.items[found.items["most_probable"]]
    assert best["category"].value_counts().to_dict() == {"1": 18, "2": 19, "3": 5, "4": 3}


def log_likelihood(found, table):
    """Of the estimates, term by term."""
    prevalence = found.prevalence.set_index("category")["prevalence"]
    error = found.raters.set_index(["rater_id", "true_category", "category"])["probability"]
    total = 0.0
    for _, row in table.iterrows():
        joint = [
            share * np.prod([error[rater, true, said] for rater, said in row.dropna().items()])
            for true, share in prevalence.items()
        ]
        total += np.log(sum(joint))
    return total


def test_start_highest_finds_a_higher_likelihood(anaesthetists):
    paper, highest = (
        dawid_skene(anaesthetists, start=start, tolerance=1e-12) for start in ("votes", "highest")
    )
    for found in (paper, highest):
        assert found.log_likelihood == pytest.approx(log_likelihood(found, anaesthetists))
    assert highest.log_likelihood == pytest.approx(paper.log_likelihood + 0.2086, abs=1e-4)
    assert highest.converged
    assert highest.note == ALWAYS
    # It has more error rates that are 0 or 1: its maximum is at the boundary.
    extreme = [found.raters["probability"].isin([0, 1]).sum() for found in (paper, highest)]
    assert extreme[0] < extreme[1]


def test_equal_starts_give_the_papers_result():
    table = pd.DataFrame({r: list("xyxyxxyy") for r in "abc"} | {"d": list("xyxyxxyx")})
    one, other = dawid_skene(table), dawid_skene(table, start="highest")
    pd.testing.assert_frame_equal(one.raters, other.raters)
    assert (one.iterations, one.note) == (other.iterations, other.note)
    smooth = dawid_skene(table, start="highest", smoothing=0.5)
    assert smooth.note == ALWAYS
    assert smooth.log_likelihood < one.log_likelihood


def test_ratings_in_their_normal_form_are_the_same_as_their_table():
    rng = np.random.default_rng(3)
    truth = rng.random(40) < 0.4
    dimensions = load_rubric("triage").dimensions
    rows, table = [], pd.DataFrame(index=[f"t{i:02d}" for i in range(40)], columns=list("abcd"))
    for i, rater in product(range(40), "abcd"):
        if rng.random() < 0.2:
            continue
        value = "yes" if truth[i] ^ (rng.random() < 0.15) else "no"
        table.loc[f"t{i:02d}", rater] = value
        rows += [
            {
                "benchmark": "demo",
                "rubric": "triage",
                "task_id": f"t{i:02d}",
                "item_id": "the same",
                "rater_id": rater,
                "rater_group": "physician",
                "dimension": dimension,
                "value": value if dimension == "visit" else "no",
            }
            for dimension in dimensions
        ]
    ratings = check_ratings(pd.DataFrame(rows))
    one, other = dawid_skene(ratings, dimension="visit"), dawid_skene(table)
    pd.testing.assert_frame_equal(one.raters, other.raters)
    pd.testing.assert_frame_equal(one.items, other.items)
    told = one.items.query("most_probable").set_index("item_id")["category"]
    assert (told == np.where(truth, "yes", "no")).mean() > 0.9
    with pytest.raises(InputError, match=r"dimension: contains several: .*choose one with"):
        dawid_skene(ratings)
    mixed = pd.concat([ratings, ratings.assign(rater_kind="model")])
    with pytest.raises(InputError, match="rater_kind: contains several"):
        dawid_skene(mixed, dimension="visit")


def test_a_constant_table():
    found = dawid_skene(pd.DataFrame({"a": ["x"] * 4, "b": ["x"] * 4, "c": ["x"] * 4}))
    assert found.prevalence["prevalence"].tolist() == [1]
    assert found.raters["probability"].tolist() == [1, 1, 1]
    assert found.log_likelihood == 0
    assert found.note == f"{ALWAYS}; only one category, so error rates cannot be estimated"


def test_unused_category_has_no_prevalence_and_error_rates():
    table = pd.DataFrame({"a": list("xxy"), "b": list("xxy"), "c": list("xxy")})
    found = dawid_skene(table, categories=["x", "y", "z"])
    assert found.prevalence["prevalence"].tolist() == pytest.approx([2 / 3, 1 / 3, 0])
    assert found.raters.query("true_category == 'z'")["probability"].isna().all()
    assert np.isfinite(found.log_likelihood)
    assert found.items["posterior"].notna().all()


def test_a_rater_with_one_judgement():
    table = pd.DataFrame({r: list("xyxyx") for r in "abc"} | {"d": ["y", *[None] * 4]})
    found = dawid_skene(table)
    d = found.raters.query("rater_id == 'd'").set_index(["true_category", "category"])
    assert d.loc[("x", "y"), "probability"] == 1
    assert d.loc["y", "probability"].isna().all()
    assert d["n_ratings"].tolist() == [1] * 4
    assert found.note == f"{ALWAYS}; the error rates of 1 of the raters are based on one rating"
    smooth = dawid_skene(table, smoothing=1).raters.query("rater_id == 'd'")
    smooth = smooth.set_index(["true_category", "category"])["probability"]
    assert smooth["x", "y"] == pytest.approx(2 / 3, abs=0.01)
    assert smooth["y", "x"] == pytest.approx(1 / 2, abs=0.01)


def test_two_raters_are_reported_as_not_identified():
    table = pd.DataFrame({"a": list("xxxyyy"), "b": list("xxyyyx")})
    assert dawid_skene(table).note.startswith(f"{ALWAYS}; not identified: no item has three raters")
    # Three raters, of whom no item has more than two.
    table["c"] = None
    table.loc[0, ["a", "c"]] = [None, "x"]
    assert dawid_skene(table).note.startswith(f"{ALWAYS}; not identified")


def test_em_never_decreases_and_reports_non_convergence(anaesthetists):
    values = [dawid_skene(anaesthetists, max_iterations=n) for n in (1, 2, 4, 8)]
    likelihoods = [found.log_likelihood for found in values]
    assert likelihoods == sorted(likelihoods)
    assert likelihoods[0] < likelihoods[-1]
    assert not values[0].converged
    assert values[0].note.startswith(f"{ALWAYS}; EM did not converge within max_iterations")


def test_the_order_of_rows_and_raters_does_not_matter(anaesthetists):
    turned = anaesthetists.iloc[::-1, ::-1]
    one, other = dawid_skene(anaesthetists), dawid_skene(turned)
    pd.testing.assert_frame_equal(one.items, other.items)
    pd.testing.assert_frame_equal(one.raters, other.raters)


def test_wrong_input_is_refused():
    table = pd.DataFrame({"a": list("xy")}, index=["i", "i"])
    with pytest.raises(InputError, match="index = 'i': the item appears twice"):
        dawid_skene(table)
    good = table.set_axis(["i", "j"])
    with pytest.raises(InputError, match="value = 'y': is not a category; use one of x"):
        dawid_skene(good, categories=["x"])
    with pytest.raises(InputError, match="there are no ratings"):
        dawid_skene(good.where(good == "z"))
    with pytest.raises(ValueError, match="smoothing=-1 must be a finite number of at least 0"):
        dawid_skene(good, smoothing=-1)
    with pytest.raises(ValueError, match="start='best' is unknown"):
        dawid_skene(good, start="best")
    with pytest.raises(ValueError, match="tolerance=0 must be positive"):
        dawid_skene(good, tolerance=0)


def test_the_clinicians_of_a_real_table(shared_data):
    data = pd.read_csv(shared_data("medperturb/dataset.csv"))
    long = pd.concat(
        pd.DataFrame(
            {
                "item": data.index,
                "rater": data[f"Clinician_{i}"].astype(str),
                "value": data[f"VISIT_{i}"].map({0: "no", 1: "yes"}),
            }
        )
        for i in (1, 2, 3)
    )
    number = long.groupby(["item", "rater"]).cumcount()
    wide = long.set_index(["item", "rater", number])["value"].unstack([1, 2])
    found = dawid_skene(wide.set_axis(wide.columns.get_level_values(0), axis=1))
    assert found.converged
    assert found.raters["rater_id"].nunique() == 17
    share = found.prevalence.set_index("category")["prevalence"]["yes"]
    assert abs(share - (long["value"] == "yes").mean()) < 0.25
    said = found.raters.query("category == 'yes'").pivot(
        index="rater_id", columns="true_category", values="probability"
    )
    weights = found.raters.groupby("rater_id")["n_ratings"].first()
    assert np.average(said["yes"], weights=weights) > np.average(said["no"], weights=weights)
