"""Agreement of raters unit by unit: what has no answer first, then beside the coefficients."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairstats.agreement import (
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
    randolph_kappa,
)
from fairstats.problems import InputError
from fairstats.ratings.agreement import (
    AGREEMENT_COLUMNS,
    DISAGREEMENT_COLUMNS,
    VOTE_COLUMNS,
    disagreement,
    rating_agreement,
    rating_votes,
)
from fairstats.ratings.rates import bias_rates

FUNCTIONS = {
    "percent": percent_agreement,
    "randolph": randolph_kappa,
    "fleiss": fleiss_kappa,
    "gwet_ac1": gwet_ac1,
    "krippendorff": krippendorff_alpha,
}


def of(table: pd.DataFrame, **at: str) -> pd.DataFrame:
    for name, wanted in at.items():
        table = table[table[name] == wanted]
    return table


def test_one_rating_a_task_says_nothing_of_agreement(ratings_of):
    found = of(rating_agreement(ratings_of({"t1": "y", "t2": "n-", "t3": "--"})), dimension="visit")
    assert found["coefficient"].tolist() == list(FUNCTIONS)
    assert found["estimate"].isna().all()
    assert set(found["note"]) == {"no item has two ratings"}
    assert (found["n_items"] == 0).all()


def test_raters_who_all_say_no(ratings_of):
    found = of(rating_agreement(ratings_of({f"t{i}": "nnn" for i in range(9)})), dimension="visit")
    found = found.set_index("coefficient")
    assert found.loc[["percent", "randolph", "gwet_ac1"], "estimate"].tolist() == [1, 1, 1]
    undefined = found.loc[["fleiss", "krippendorff"]]
    assert undefined["estimate"].isna().all()
    assert set(undefined["note"]) == {"0 / 0: all ratings are 'not reported'"}


def test_coefficients_are_those_of_the_table_of_raters(ratings_of):
    tasks = {"t1": "smn", "t2": "nn-", "t3": "nnn", "t4": "mm", "t5": "s", "t6": "snn", "t7": "ms"}
    ratings = ratings_of(tasks, rubric="independent", model="m")
    found = of(rating_agreement(ratings), dimension="bias")
    assert tuple(found.columns) == AGREEMENT_COLUMNS
    values = [list(text.ljust(3, "-")) for text in tasks.values()]
    table = pd.DataFrame(values).replace("-", None)
    reports = table.replace({"s": "reported", "m": "reported", "n": "not reported"})
    expected = [function(reports) for function in FUNCTIONS.values()]
    severity = ["n", "m", "s"]
    expected.append(krippendorff_alpha(table, "ordinal", categories=severity))
    for row, own in zip(found.itertuples(), expected, strict=True):
        assert (row.coefficient, row.level) == (own.coefficient, own.level)
        assert row.estimate == own.estimate
        assert (row.ci_low, row.ci_high, row.ci_method) == (own.ci_low, own.ci_high, own.ci_method)
        assert (row.n_items, row.n_ratings, row.note) == (6, 15, own.note)
    # A question without an order has no ordinal coefficient.
    other = of(rating_agreement(ratings), dimension="inclusion")
    assert set(other["level"]) == {"nominal"}


def test_a_repeat_is_a_further_column(ratings_of):
    once = ratings_of({"t1": "y", "t2": "n"})
    again = pd.concat([once, ratings_of({"t1": "n", "t2": "n"}).assign(repeat=1)])
    found = of(rating_agreement(again), dimension="visit", coefficient="percent")
    assert found["estimate"].tolist() == [0.5]
    assert found["n_items"].tolist() == [2]


def test_groups_agree_within_and_between_them_where_they_are_pooled(ratings_of):
    both = pd.concat(
        [
            ratings_of({"t1": "mm", "t2": "nn"}, rubric="independent", model="m"),
            ratings_of(
                {"t1": "nn", "t2": "nn"},
                rubric="independent",
                model="m",
                group="health_equity_expert",
            ),
        ]
    )
    found = of(rating_agreement(both), dimension="bias", coefficient="percent")
    estimates = found.set_index("rater_group")["estimate"]
    assert estimates["physician"] == estimates["health_equity_expert"] == 1
    assert estimates["pooled"] == pytest.approx((2 / 6 + 1) / 2)


def test_persons_and_models_are_never_together(ratings_of):
    person = ratings_of({"t1": "y"})
    judge = ratings_of({"t1": "n"}).assign(
        rater_kind="model", rater_group="model", rater_id="judge"
    )
    found = rating_agreement(pd.concat([person, judge]))
    assert (found["n_items"] == 0).all()
    tasks = disagreement(pd.concat([person, judge]))
    assert tasks["n_ratings"].tolist() == [1] * 6
    assert tasks["agreement"].isna().all()


def test_disagreement_by_hand(ratings_of):
    ratings = pd.concat(
        [
            ratings_of({"t1": "mmn-", "t2": "n", "t3": "--"}, rubric="independent", model="m"),
            ratings_of({"t1": "s"}, rubric="independent", model="m", group="consumer"),
        ]
    )
    found = disagreement(ratings)
    assert tuple(found.columns) == DISAGREEMENT_COLUMNS
    own = of(found, dimension="bias", rater_group="physician")
    assert own["task_id"].tolist() == ["t1", "t2", "t3"]
    assert own["n_ratings"].tolist() == [3, 1, 0]
    assert own["n_reported"].tolist() == [2, 0, 0]
    assert own["n_missing"].tolist() == [1, 0, 2]
    np.testing.assert_allclose(own["agreement"], [1 / 3, np.nan, np.nan])
    together = of(found, dimension="bias", rater_group="pooled", task_id="t1")
    np.testing.assert_allclose(together["agreement"], [(3 + 0) / 6])
    assert together["n_reported"].tolist() == [3]


def test_votes_are_what_rates_by_vote_and_agreement_are_made_of(ratings_of):
    rng = np.random.default_rng(2)
    tasks = {f"t{i}": "".join(rng.choice(list("ynn-."), size=4)) for i in range(60)}
    ratings = ratings_of({task: text for task, text in tasks.items() if text.strip(".")})
    votes = of(rating_votes(ratings), dimension="manage")
    assert tuple(votes.columns) == VOTE_COLUMNS
    there = votes[votes["n_ratings"] > 0]
    rates = of(bias_rates(ratings), dimension="manage").set_index("aggregation")
    assert there["n_tasks"].sum() == rates.loc["any", "n_tasks"]
    won = there[2 * there["n_reported"] > there["n_ratings"]]
    assert won["n_tasks"].sum() == rates.loc["majority", "n_reported"]
    assert (there["n_tasks"] * there["n_reported"]).sum() == rates.loc["pooled", "n_reported"]
    several = votes[votes["n_ratings"] > 1]
    n, yes = several["n_ratings"], several["n_reported"]
    share = (yes * (yes - 1) + (n - yes) * (n - yes - 1)) / (n * (n - 1))
    percent = of(rating_agreement(ratings), dimension="manage", coefficient="percent")
    mean = (share * several["n_tasks"]).sum() / several["n_tasks"].sum()
    assert percent["estimate"].tolist() == [pytest.approx(mean)]


@pytest.mark.parametrize("function", [rating_agreement, disagreement, rating_votes])
def test_comparisons_of_models_are_left_out_and_wrong_tables_refused(ratings_of, function):
    pairs = ratings_of({"p1": "12="}, rubric="pairwise", model="a", model_2="b")
    assert function(pairs).empty
    with pytest.raises(InputError, match="is the name of all together"):
        function(ratings_of({"t1": "y"}).assign(dataset="pooled"))


@pytest.mark.parametrize("function", [rating_agreement, disagreement, rating_votes])
def test_the_same_table_whatever_the_order(ratings_of, function):
    rng = np.random.default_rng(5)
    ratings = ratings_of({f"t{i}": "".join(rng.choice(list("ynn-"), size=5)) for i in range(30)})
    found = function(ratings)
    pd.testing.assert_frame_equal(function(ratings.sample(frac=1, random_state=1)), found)
    pd.testing.assert_frame_equal(function(ratings), found)
