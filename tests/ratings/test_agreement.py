"""Agreement of raters unit by unit: degenerate cases, then compared with the coefficients."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.inference.agreement import COEFFICIENTS, agreement
from fairstats.inference.reliability import intraclass_correlation
from fairstats.ratings.agreement import (
    AGREEMENT_COLUMNS,
    DISAGREEMENT_COLUMNS,
    VOTE_COLUMNS,
    rating_agreement,
)
from fairstats.ratings.rates import bias_rates
from fairstats.ratings.rubrics import load_rubric
from fairstats.ratings.summaries import RATING_TABLES
from fairstats.ratings.table import check_ratings
from tests.drawn_ratings import drawn_ratings


def made(name: str, ratings: pd.DataFrame) -> pd.DataFrame:
    return RATING_TABLES[name].make(check_ratings(ratings), alpha=0.05, rubrics=())


def of(table: pd.DataFrame, **at: str) -> pd.DataFrame:
    for name, wanted in at.items():
        table = table[table[name] == wanted]
    return table


def test_one_rating_per_task_gives_no_agreement(ratings_of):
    found = of(rating_agreement(ratings_of({"t1": "y", "t2": "n-", "t3": "--"})), dimension="visit")
    assert found["coefficient"].tolist() == list(COEFFICIENTS)
    assert found["estimate"].isna().all()
    assert found["note"].str.startswith("only one rater").all()
    assert (found["n_items"] == 0).all()
    assert (found["n_raters"] == 1).all()
    found = of(rating_agreement(ratings_of({"t1": "y.", "t2": ".n"})), dimension="visit")
    assert set(found["note"]) == {"no item has two ratings"}
    assert set(found["n_raters"]) == {2}
    assert found.set_index("coefficient").loc[
        "percent", ["crossed_low", "crossed_high"]
    ].tolist() == [0, 1]
    nothing = of(rating_agreement(ratings_of({"t1": "--"})), dimension="visit")
    assert set(nothing["note"]) == {"no item has two ratings"}
    assert set(nothing["n_raters"]) == set(nothing["n_repeats"]) == {0}


def test_agreement_of_raters_who_never_report(ratings_of):
    found = of(rating_agreement(ratings_of({f"t{i}": "nnn" for i in range(9)})), dimension="visit")
    found = found.set_index("coefficient")
    assert found.loc[["percent", "randolph", "gwet_ac1"], "estimate"].tolist() == [1, 1, 1]
    undefined = found.loc[["fleiss", "krippendorff"]]
    assert undefined["estimate"].isna().all()
    assert undefined["note"].str.endswith("all ratings are 'not reported'").all()
    assert found.loc["positive", "note"].endswith("no ratings are 'reported'")
    assert found["estimate"].isna().equals(found["crossed_low"].isna())
    assert (found.loc[["percent", "randolph", "gwet_ac1"], "crossed_low"] < 1).all()


def test_coefficients_are_those_of_the_table_of_raters(ratings_of):
    tasks = {"t1": "smn", "t2": "nn-", "t3": "nnn", "t4": "mm", "t5": "s", "t6": "snn", "t7": "ms"}
    ratings = ratings_of(tasks, rubric="independent", model="m")
    found = of(rating_agreement(ratings), dimension="bias")
    assert tuple(found.columns) == AGREEMENT_COLUMNS
    values = [list(text.ljust(3, "-")) for text in tasks.values()]
    table = pd.DataFrame(values).replace("-", None)
    reports = table.replace({"s": "reported", "m": "reported", "n": "not reported"})
    positive = {"positive": {"positive": "reported"}}
    expected = [agreement(reports, name, **positive.get(name, {})) for name in COEFFICIENTS]
    severity = ["n", "m", "s"]
    expected.append(agreement(table, "krippendorff", level="ordinal", categories=severity))
    *found_rows, intraclass = found.itertuples()
    assert (intraclass.coefficient, intraclass.level) == ("intraclass", "interval")
    for row, own in zip(found_rows, expected, strict=True):
        assert (row.coefficient, row.level) == (own.coefficient, own.level)
        assert row.estimate == own.estimate
        assert (row.ci_low, row.ci_high, row.ci_method) == (own.ci_low, own.ci_high, own.method)
        assert (row.n_items, row.n_ratings, row.note) == (6, 15, own.note)
    # A question without an order has no ordinal coefficient.
    other = of(rating_agreement(ratings), dimension="inclusion")
    assert set(other["level"]) == {"nominal"}


def test_intraclass_correlation_is_that_of_the_tasks_that_all_raters_rated(ratings_of):
    tasks = {"t1": "smn", "t2": "nn-", "t3": "nnn", "t4": "mm", "t5": "ssm", "t6": "snn"}
    once = ratings_of(tasks, rubric="independent", model="m")
    again = ratings_of({"t1": "nnn"}, rubric="independent", model="m").assign(repeat=1)
    grades = [[2, 1, 0], [0, 0, 0], [2, 2, 1], [2, 0, 0]]  # t1, t3, t5, t6
    own = intraclass_correlation(grades, alpha=0.1)
    for ratings, repeats in ((once, "leave_out"), (pd.concat([once, again]), "as_raters")):
        table = rating_agreement(ratings, alpha=0.1, repeats=repeats)
        (row,) = of(table, dimension="bias", coefficient="intraclass").itertuples()
        assert row.estimate == own.estimate
        assert np.isnan([row.ci_low, row.ci_high, row.crossed_low, row.crossed_high]).all()
        assert (row.n_items, row.n_ratings, row.n_raters) == (4, 12, 3)
        assert row.crossed_method == f"none ({own.note})"


def test_intraclass_correlation_without_shared_tasks_has_a_note(ratings_of):
    ratings = ratings_of({"t1": "sm-", "t2": "-nn", "t3": "m-n"}, rubric="independent", model="m")
    (row,) = of(rating_agreement(ratings), dimension="bias", coefficient="intraclass").itertuples()
    assert np.isnan([row.estimate, row.crossed_low, row.crossed_high]).all()
    assert "that all of them rated" in row.note


def test_repeats_are_left_out_or_count_as_raters(ratings_of):
    once = ratings_of({"t1": "yn", "t2": "nn", "t3": "-y"})
    again = ratings_of({"t1": "n", "t2": "n", "t3": "y"}).assign(repeat=1)
    both = pd.concat([again, once])
    left = of(rating_agreement(both), dimension="visit").set_index("coefficient")
    # Of the third task the first value of the rater is in the repeat.
    assert left.loc["percent", ["estimate", "n_items", "n_ratings"]].tolist() == [2 / 3, 3, 6]
    assert set(left["n_repeats"]) == {2}
    assert set(left["n_raters"]) == {2}
    counted = of(rating_agreement(both, repeats="as_raters"), dimension="visit")
    counted = counted.set_index("coefficient")
    assert counted.loc["percent", "estimate"] == pytest.approx((1 / 3 + 1 + 1) / 3)
    assert counted.loc["percent", ["n_items", "n_ratings"]].tolist() == [3, 8]
    assert set(counted["n_repeats"]) == {2}
    assert set(counted["n_raters"]) == {2}
    with pytest.raises(ValueError, match="repeats='both' is unknown; use leave_out or as_raters"):
        rating_agreement(both, repeats="both")


def test_single_rater_has_no_agreement(ratings_of):
    once = ratings_of({"t1": "y", "t2": "n"})
    again = pd.concat([once, ratings_of({"t1": "n", "t2": "n"}).assign(repeat=1)])
    found = of(rating_agreement(again), dimension="visit")
    assert found["estimate"].isna().all()
    assert found["note"].str.startswith("only one rater").all()
    assert set(found["n_raters"]) == {1}
    assert set(found["n_repeats"]) == {2}
    itself = of(rating_agreement(again, repeats="as_raters"), dimension="visit")
    itself = of(itself, coefficient="percent")
    assert itself["estimate"].tolist() == [0.5]
    assert itself["crossed_method"].str.contains("one rater: the variance").all()


def test_judgements_are_counted_task_by_task(ratings_of):
    once = ratings_of({"t1": "y", "t2": "n"})
    again = pd.concat([once, ratings_of({"t1": "n", "t2": "n"}).assign(repeat=1)])
    tasks = of(made("disagreement", again), dimension="visit")
    assert tasks["n_ratings"].tolist() == [2, 2]
    assert tasks["agreement"].tolist() == [0, 1]
    assert set(made("rating_votes", again)["n_ratings"]) == {2}


def test_two_raters_have_no_crossed_limits(ratings_of):
    signs = ["yy", "nn", "ny", "nn", "yn", "nn", "yy", "nn"]
    ratings = ratings_of({f"t{i}": text for i, text in enumerate(signs)})
    found = of(rating_agreement(ratings), dimension="visit")
    assert found["crossed_method"].str.startswith("none (two raters: ").all()
    assert found[["crossed_low", "crossed_high"]].isna().all(axis=None)
    assert found["ci_low"].notna().all()


def test_tasks_of_one_item_are_left_out_together(ratings_of):
    rng = np.random.default_rng(3)
    texts = {f"t{i}": "".join(rng.choice(list("yn"), 4)) for i in range(30)}
    apart = ratings_of(texts)
    # Every text three times: as one item it is no more evidence than once.
    thrice = pd.concat([apart.assign(task_id=apart["task_id"] + f"-{copy}") for copy in range(3)])
    once, again = (of(rating_agreement(r), dimension="visit") for r in (apart, thrice))
    np.testing.assert_allclose(again["crossed_low"], once["crossed_low"], atol=0.02)
    width, apart = (table["ci_high"] - table["ci_low"] for table in (again, once))
    assert (width < 0.7 * apart).all()


def test_pooled_agreement_includes_pairs_across_groups(ratings_of):
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
    tasks = made("disagreement", pd.concat([person, judge]))
    assert tasks["n_ratings"].tolist() == [1] * 6
    assert tasks["agreement"].isna().all()


def test_disagreement_by_hand(ratings_of):
    ratings = pd.concat(
        [
            ratings_of({"t1": "mmn-", "t2": "n", "t3": "--"}, rubric="independent", model="m"),
            ratings_of({"t1": "s"}, rubric="independent", model="m", group="consumer"),
        ]
    )
    found = made("disagreement", ratings)
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


def test_votes_agree_with_vote_rates_and_agreement(ratings_of):
    rng = np.random.default_rng(2)
    tasks = {f"t{i}": "".join(rng.choice(list("ynn-."), size=4)) for i in range(60)}
    ratings = ratings_of({task: text for task, text in tasks.items() if text.strip(".")})
    votes = of(made("rating_votes", ratings), dimension="manage")
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


TABLES = ("rater_agreement", "disagreement", "rating_votes")


@pytest.mark.parametrize("name", TABLES)
def test_comparisons_of_models_are_left_out_and_wrong_tables_refused(ratings_of, name):
    pairs = ratings_of({"p1": "12="}, rubric="pairwise", model="a", model_2="b")
    # Preferring a model is a different question from reporting bias.
    assert name == "rater_agreement" or made(name, pairs).empty
    with pytest.raises(InputError, match="is reserved for all groups together"):
        made(name, ratings_of({"t1": "y"}).assign(dataset="pooled"))


@pytest.mark.parametrize("name", TABLES)
def test_table_does_not_depend_on_row_order(ratings_of, name):
    rng = np.random.default_rng(5)
    ratings = ratings_of({f"t{i}": "".join(rng.choice(list("ynn-"), size=5)) for i in range(30)})
    found = made(name, ratings)
    pd.testing.assert_frame_equal(made(name, ratings.sample(frac=1, random_state=1)), found)
    pd.testing.assert_frame_equal(made(name, ratings), found)


@pytest.mark.parametrize(
    ("repeats", "n_ratings", "printed"),
    [
        ("as_raters", 2400, (0.2833, 0.2773, 0.5233, 0.3265, 0.4283, 0.3331)),
        ("leave_out", 2397, (0.2825, 0.2764, 0.5233, 0.3254, 0.4283, 0.3322)),
    ],
)
def test_medperturb_with_and_without_repeats(medperturb, repeats, n_ratings, printed):
    found = rating_agreement(medperturb, repeats=repeats)
    assert set(found["n_ratings"]) == {n_ratings}
    assert set(found["n_repeats"]) == {3}
    assert set(found["n_raters"]) == {17}
    two = found[found["coefficient"].isin(["randolph", "krippendorff"])]
    assert tuple(two["estimate"].round(4)) == printed


def test_medperturb_for_other_clinicians(medperturb):
    found = of(rating_agreement(medperturb), coefficient="fleiss").set_index("dimension")
    assert set(found["crossed_method"]) == {"two-way jackknife, wilson t"}
    width = found["ci_high"] - found["ci_low"]
    assert (found["crossed_high"] - found["crossed_low"] > 2 * width).all()
    # Compared with resamples of both items and raters, with replacement (Owen's pigeonhole).
    pivot = medperturb[(medperturb["dimension"] == "manage") & (medperturb["repeat"] == 0)]
    rater = pd.factorize(pivot["rater_id"])[0]
    task = pd.factorize(pivot["task_id"])[0]
    yes = (pivot["value"] == "yes").to_numpy()
    pairs = [
        (task[a], rater[a], rater[b], yes[a], yes[b])
        for rows in pd.Series(range(len(task))).groupby(task).agg(list)
        for a, b in combinations(rows, 2)
    ]
    item, one, other, first, second = (np.array(column) for column in zip(*pairs, strict=True))
    rng = np.random.default_rng(1)
    kappas = []
    for _ in range(400):
        items = np.bincount(rng.integers(800, size=800), minlength=800)
        raters = np.bincount(rng.integers(17, size=17), minlength=17)
        weight = items[item] * raters[one] * raters[other]
        share = (weight * (first.astype(float) + second)).sum() / (2 * weight.sum())
        apart = (weight * (first != second)).sum() / weight.sum()
        kappas.append(1 - apart / (2 * share * (1 - share)))
    low, high = np.quantile(kappas, [0.025, 0.975])
    row = found.loc["manage"]
    assert row["crossed_low"] == pytest.approx(low, abs=0.06)
    assert row["crossed_high"] == pytest.approx(high, abs=0.06)


CATEGORIES = ["answer_2", "tie", "answer_1"]  # the first model preferred, neither, the second


@pytest.fixture(scope="module")
def pairwise():
    ratings = drawn_ratings(items=10)
    return ratings[ratings["rubric"] == "pairwise"]


def comparison(table, **values):
    for column, value in values.items():
        table = table[table[column] == value]
    return table.set_index(["coefficient", "level"])


def test_the_coefficients_are_those_of_the_table_of_values(pairwise):
    found = rating_agreement(pairwise)
    assert tuple(found.columns) == AGREEMENT_COLUMNS
    own = pairwise[(pairwise["dimension"] == "bias") & (pairwise["model"] == "Model-1")]
    own = own[own["model_2"] == "Model-2"]
    table = own.pivot(index="task_id", columns="rater_id", values="value")
    here = comparison(
        found, model="Model-1", model_2="Model-2", dimension="bias", rater_group="pooled"
    )
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
    both = rating_agreement(drawn_ratings(items=10))
    alone = both[both["rubric"] == "independent"]
    assert alone["model_2"].isna().all()
    compared = both[both["rubric"] == "pairwise"].reset_index(drop=True)
    pd.testing.assert_frame_equal(
        compared, rating_agreement(pairwise).reset_index(drop=True), check_dtype=False
    )


@pytest.mark.parametrize("reports", [dict.fromkeys((0, 7, 14, 21), "minor"), {0: "severe"}, {}])
def test_limits_of_grades_are_those_of_reports_if_two_grades_are_used(reports):
    row = {"benchmark": "b", "rubric": "independent", "rater_group": "physician", "model": "M"}
    dimensions = load_rubric("independent").dimensions
    rows = [
        row
        | {"task_id": f"t{n // 3}", "item_id": f"i{n // 3}", "rater_id": f"r{n % 3}"}
        | {"dimension": name, "value": value if name == "bias" else "absent"}
        for n in range(36)
        for value in [reports.get(n, "none")]
        for name in (dimensions if n in reports else ["bias"])
    ]
    table = rating_agreement(check_ratings(pd.DataFrame(rows)))
    alpha = table[(table["dimension"] == "bias") & (table["coefficient"] == "krippendorff")]
    limits = alpha.set_index("level")[["ci_low", "ci_high", "crossed_low", "crossed_high"]]
    assert limits.loc["ordinal"].to_list() == pytest.approx(
        limits.loc["nominal"].to_list(), nan_ok=True
    )
