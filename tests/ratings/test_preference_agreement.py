"""Agreement of raters on preferences between two models."""

from __future__ import annotations

import pandas as pd
import pytest

from fairstats.inference.agreement import agreement
from fairstats.ratings.agreement import AGREEMENT_COLUMNS, rating_agreement
from fairstats.ratings.table import check_ratings
from tests.drawn_ratings import drawn_ratings

CATEGORIES = ["answer_2", "tie", "answer_1"]  # the first model preferred, neither, the second


@pytest.fixture(scope="module")
def pairwise():
    ratings = drawn_ratings(items=20)
    return ratings[ratings["rubric"] == "pairwise"]


def of(table, **values):
    for column, value in values.items():
        table = table[table[column] == value]
    return table.set_index(["coefficient", "level"])


def test_the_coefficients_are_those_of_the_table_of_values(pairwise):
    found = rating_agreement(pairwise)
    assert tuple(found.columns) == AGREEMENT_COLUMNS
    own = pairwise[(pairwise["dimension"] == "bias") & (pairwise["model"] == "Model-1")]
    own = own[own["model_2"] == "Model-2"]
    table = own.pivot(index="task_id", columns="rater_id", values="value")
    here = of(found, model="Model-1", model_2="Model-2", dimension="bias", rater_group="pooled")
    options = {"categories": CATEGORIES}
    for name in ("percent", "fleiss", "gwet_ac1", "krippendorff"):
        figure = agreement(table, name, **options)
        row = here.loc[(name, "nominal")]
        assert row["estimate"] == pytest.approx(figure.estimate)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((figure.ci_low, figure.ci_high))
        assert (row["n_items"], row["n_ratings"]) == (figure.n, figure.n_ratings)
        assert row["crossed_low"] <= row["estimate"] <= row["crossed_high"]
    ordinal = agreement(table, "krippendorff", level="ordinal", **options)
    assert here.loc[("krippendorff", "ordinal"), "estimate"] == pytest.approx(ordinal.estimate)
    assert ("positive", "nominal") not in here.index


def test_model_order_does_not_matter(pairwise):
    half = pairwise["task_id"].str.endswith(("1", "3", "5", "7", "9"))
    turned = pairwise.copy()
    turned.loc[half, ["model", "model_2"]] = pairwise.loc[half, ["model_2", "model"]].to_numpy()
    other = {"answer_1": "answer_2", "answer_2": "answer_1", "tie": "tie"}
    turned.loc[half, "value"] = pairwise.loc[half, "value"].map(other)
    assert half.any()
    pd.testing.assert_frame_equal(
        rating_agreement(check_ratings(turned)), rating_agreement(pairwise)
    )


def test_both_orders_by_one_judge_are_not_agreement(pairwise):
    one = pairwise[pairwise["rater_id"] == pairwise["rater_id"].iloc[0]]
    again = pd.concat([one, one.assign(repeat=1)])
    judge = check_ratings(again.assign(rater_kind="model", rater_group="model"))
    found = rating_agreement(judge)
    assert found["estimate"].isna().all()
    assert found["note"].str.contains("one rater").all()
    assert (found["n_repeats"] > 0).all()
    kept = rating_agreement(judge, repeats="as_raters")
    assert (kept.loc[kept["coefficient"] == "percent", "estimate"] == 1).all()


def test_other_rubrics_do_not_change_preference_agreement(pairwise):
    both = rating_agreement(drawn_ratings(items=20))
    alone = both[both["rubric"] == "independent"]
    assert alone["model_2"].isna().all()
    compared = both[both["rubric"] == "pairwise"].reset_index(drop=True)
    pd.testing.assert_frame_equal(
        compared, rating_agreement(pairwise).reset_index(drop=True), check_dtype=False
    )
