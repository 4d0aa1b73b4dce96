"""Agreement coefficients: degenerate cases, then R, the literature and enumeration."""

from __future__ import annotations

import re
from functools import partial
from itertools import combinations, product
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd
import pytest
import scipy
from statsmodels.stats import inter_rater

from fairstats.inference.agreement import COEFFICIENTS, agreement
from fairstats.inference.intervals import wilson
from fairstats.inference.item_bootstrap import bounded_mean_interval
from fairstats.inference.rating_counts import rating_counts

R = Path(__file__).parents[1] / "r"
VALUES = pd.read_csv(R / "agreement.csv")
DATA = pd.read_csv(R / "agreement_data.csv")
FUNCTIONS = {
    name: partial(agreement, coefficient=name) for name in COEFFICIENTS if name != "positive"
}
BY_LAW = ("fleiss", "gwet_ac1", "krippendorff")
BY_MARGINS = ("fleiss", "krippendorff")


def limits(found) -> tuple[float, float]:
    return found.ci_low, found.ci_high


def binary(rng, n, m, rate=0.3):
    shares = rng.beta(2 * rate, 2 * (1 - rate), size=(n, 1))
    return (rng.random((n, m)) < shares).astype(int)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "ratings", [[], np.empty((0, 3)), [["a", None], [None, "b"]], [[None, None]]]
)
def test_without_a_twice_rated_item_there_is_no_estimate(name, ratings):
    found = FUNCTIONS[name](ratings)
    assert np.isnan(found.estimate)
    assert (found.n, found.n_ratings) == (0, 0)
    assert found.note == "no item has two ratings"
    expected = {"percent": (0, 1), "randolph": (-1, 1)}.get(name)
    if expected is None:
        assert np.isnan(limits(found)).all()
        assert found.method == f"none ({found.note})"
    else:
        assert limits(found) == expected
        assert found.method.startswith("none")


@pytest.mark.parametrize("categories", [None, ["absent", "present"], ["absent", "x", "y"]])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_ratings_that_are_all_equal(name, categories):
    ratings = [["absent"] * 3] * 30
    found = FUNCTIONS[name](ratings, categories=categories)
    if name in BY_MARGINS:
        assert np.isnan([found.estimate, *limits(found)]).all()
        assert found.note.startswith("0 / 0: ")
        assert found.note in found.method
        return
    assert found.estimate == 1
    assert found.note == ""
    # The interval always has a width: thirty items are limited evidence.
    assert found.ci_high == 1
    k = len(categories or "ab")
    least = float(wilson(30, 30).ci_low)
    chance = {"percent": 0, "randolph": 1 / k, "gwet_ac1": 0}[name]
    assert found.ci_low == pytest.approx((least - chance) / (1 - chance))


@pytest.mark.parametrize("name", BY_LAW)
def test_unanimous_items_of_two_categories_have_a_width_with_fixed_chance_agreement(name):
    found = FUNCTIONS[name]([["yes"] * 3] * 20 + [["no"] * 3] * 30)
    assert (found.estimate, found.ci_high) == (1, 1)
    assert "do not vary" in found.method
    chance = {"fleiss": 0.52, "gwet_ac1": 0.48, "krippendorff": 1 - 0.48 * 150 / 149}[name]
    least = float(wilson(50, 50).ci_low)
    assert found.ci_low == pytest.approx((least - chance) / (1 - chance))


@pytest.mark.parametrize("n", [2, 200, 1500])
@pytest.mark.parametrize("name", BY_LAW)
def test_identical_items_have_no_variance(name, n):
    found = FUNCTIONS[name]([["yes", "yes", "no"]] * n)
    assert "do not vary" in found.method
    assert found.ci_low < found.estimate < found.ci_high


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_item(name):
    found = FUNCTIONS[name]([["yes", "no", "no"]])
    assert found.n == 1
    assert np.isfinite(found.estimate)
    assert -1 <= found.ci_low < found.estimate < found.ci_high <= 1


@pytest.mark.parametrize("name", BY_MARGINS)
def test_interval_needs_informative_resamples(name):
    # 1 of 100 items has a report: 0.99¹⁰⁰, 37% of the resamples, have none.
    found = FUNCTIONS[name]([["yes", "yes", "no"]] + [["no"] * 3] * 99)
    assert np.isfinite(found.estimate)
    assert np.isnan(limits(found)).all()
    assert found.method.startswith("none (")
    assert "0.37 of the resamples" in found.note
    assert np.isfinite(
        limits(agreement([["yes", "yes", "no"]] + [["no"] * 3] * 99, "gwet_ac1"))
    ).all()
    # 4 of 100 items: e⁻⁴, less than 5%.
    found = FUNCTIONS[name]([["yes", "yes", "no"]] * 4 + [["no"] * 3] * 96)
    assert found.ci_low < found.estimate < found.ci_high
    assert "0.017 of the resamples" in found.note


@pytest.mark.parametrize(
    "row", list(VALUES.itertuples()), ids=lambda row: f"{row.set} {row.coefficient}"
)
def test_r_gives_the_same(row):
    ratings = DATA[DATA["set"] == row.set].pivot(index="item", columns="rater", values="rating")
    categories = range(1, row.categories + 1)
    if row.coefficient in FUNCTIONS:
        found = FUNCTIONS[row.coefficient](ratings, categories=categories)
    else:
        found = agreement(ratings, "krippendorff", level=row.coefficient, categories=categories)
    assert found.estimate == pytest.approx(row.estimate, abs=1e-12)
    assert found.ci_low < found.estimate < found.ci_high
    rated = ratings.notna().sum(axis=1)
    assert found.n == (rated >= 2).sum()
    assert found.n_ratings == rated[rated >= 2].sum()


@pytest.mark.parametrize(
    ("name", "set_", "level", "printed"),
    [
        ("fleiss", "ten", "nominal", "0.20993"),
        ("randolph", "ten", "nominal", "0.22253"),
        ("krippendorff", "three", "nominal", "0.69136"),
        ("krippendorff", "three", "interval", "0.81084"),
    ],
)
def test_worked_examples(name, set_, level, printed):
    ratings = DATA[DATA["set"] == set_].pivot(index="item", columns="rater", values="rating")
    assert f"{FUNCTIONS[name](ratings, level=level).estimate:.5f}" == printed


def enumerated(ratings, name, alpha):
    """The limits from every one of the nⁿ resamples of items, undefined ones left out."""
    n, m = ratings.shape
    values = []
    for draw in product(range(n), repeat=n):
        x = ratings[list(draw)]
        p, k = x.mean(), x.sum(axis=1)
        if name == "positive":
            if p:
                values.append((k * (k - 1)).sum() / ((m - 1) * k.sum()))
            continue
        observed = ((k * (k - 1) + (m - k) * (m - k - 1)) / (m * (m - 1))).mean()
        if name == "gwet_ac1":
            chance = 2 * p * (1 - p)
        elif p in (0, 1):
            continue
        elif name == "fleiss":
            chance = p**2 + (1 - p) ** 2
        else:
            chance = 1 - 2 * p * (1 - p) * n * m / (n * m - 1)
        values.append((observed - chance) / (1 - chance))
    values = np.sort(values)
    share = np.arange(1, len(values) + 1) / len(values)
    low = values[np.flatnonzero(share >= alpha / 2 - 1e-9)[0]]
    high = values[np.flatnonzero(1 - share + 1 / len(values) >= alpha / 2 - 1e-9)[-1]]
    return low, high


@pytest.mark.parametrize("alpha", [0.05, 0.3])
@pytest.mark.parametrize("name", [*BY_LAW, "positive"])
def test_the_exact_law_is_that_of_all_resamples(name, alpha, monkeypatch):
    ratings = np.array([[1, 1, 1], [0, 0, 1], [0, 0, 0], [1, 0, 1], [0, 0, 0]])
    monkeypatch.setattr("fairstats.inference.agreement.FEW", 0)
    found = agreement(ratings, name, positive=1 if name == "positive" else None, alpha=alpha)
    assert found.method == "bootstrap percentile, exact"
    assert found.ci_level == 1 - alpha
    assert limits(found) == pytest.approx(enumerated(ratings, name, alpha), abs=1e-9)


@pytest.mark.parametrize("name", ["fleiss", "krippendorff"])
def test_few_items_of_the_rarer_category_have_wide_limits(name):
    # In three of 30 items, one of three raters reports a bias; in one item, two do.
    ratings = np.array([[1, 0, 0]] * 3 + [[1, 1, 0]] + [[0, 0, 0]] * 26)
    found = agreement(ratings, name)
    assert "at least wilson's over items in the rarer category" in found.method
    # With each of five such ratings go two others, of which two in all are such, over four items.
    share = ratings.mean()
    highest = float(wilson(2, 10, design_effect=10 / 4).ci_high)
    assert found.ci_high >= (highest - share) / (1 - share)
    # Four items in which all raters report may be missing by chance: (1 − 4 / n)ⁿ is about 2.5%.
    assert found.method.endswith("with room for rare items")
    more = np.vstack([ratings, np.ones((4, 3), dtype=int)])
    assert found.ci_high == pytest.approx(agreement(more, name).estimate)
    mirrored = agreement(1 - ratings, name)
    assert limits(mirrored) == pytest.approx(limits(found))
    often = agreement(np.repeat(ratings, 11, axis=0), name)
    assert often.method == "bootstrap percentile, exact with room for rare items"


@pytest.mark.parametrize(("name", "level"), [("fleiss", "nominal"), ("krippendorff", "ordinal")])
def test_one_report_of_another_grade_leaves_the_room_for_rare_items(name, level):
    # In seven of 60 items, one of five raters reports something; in another one, three do.
    grades = ["none", "minor", "severe"]
    ratings = np.full((60, 5), "none", dtype=object)
    ratings[range(7), 0] = "minor"
    ratings[10, :3] = "minor"
    found = {}
    for last in ("minor", "severe"):
        ratings[6, 0] = last
        found[last] = agreement(ratings, name, level=level, categories=grades)
    assert found["severe"].ci_high == pytest.approx(found["minor"].ci_high, abs=0.05)
    more = [
        agreement(np.vstack([ratings, [[grade] * 5] * 4]), name, level=level, categories=grades)
        for grade in grades[1:]
    ]
    assert found["severe"].ci_high == pytest.approx(max(one.estimate for one in more))


@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_unseen_large_disagreements_of_grades_have_room(level):
    ratings = np.repeat([[1, 1, 1], [2, 2, 2], [3, 3, 3], [1, 1, 2]], [20, 20, 18, 2], axis=0)
    found = agreement(ratings, "krippendorff", level=level)
    more = [[a, a, b] for a, b in [(1, 3), (3, 1), (2, 1), (2, 3), (1, 2), (3, 2)]]
    lowest = [
        agreement(np.vstack([ratings, [one] * 4]), "krippendorff", level=level).estimate
        for one in more
    ]
    assert found.ci_low == pytest.approx(min(lowest))
    assert found.method.endswith("with room for rare items")


def test_an_unused_grade_far_away_has_room_at_an_interval_level():
    ratings = np.array([[0, 0, 0]] * 57 + [[0, 0, 1]] * 3)
    found = agreement(ratings, "krippendorff", level="interval", categories=[0, 1, 4])
    more = np.vstack([ratings, [[4, 4, 4]] * 4])
    highest = agreement(more, "krippendorff", level="interval", categories=[0, 1, 4]).estimate
    assert found.ci_high == pytest.approx(highest)


@pytest.mark.parametrize("name", BY_LAW)
def test_the_exact_law_is_that_of_many_resamples(name):
    ratings = binary(np.random.default_rng(4), 150, 4)
    found = FUNCTIONS[name](ratings)
    # With a gap, one item has fewer ratings, and the distribution is resampled.
    gap = ratings.astype(float)
    gap[0, 0] = np.nan
    drawn = FUNCTIONS[name](gap, n_resamples=20_000, rng=3)
    assert drawn.method == "bootstrap percentile, 20000 resamples"
    assert limits(drawn) == pytest.approx(limits(found), abs=0.012)


@pytest.mark.parametrize(("name", "method"), [("fleiss", "fleiss"), ("randolph", "randolph")])
def test_statsmodels_gives_the_same_for_equally_many_ratings(name, method):
    ratings = np.random.default_rng(11).choice(["a", "b", "c"], size=(25, 4), p=[0.6, 0.3, 0.1])
    library = inter_rater.fleiss_kappa(inter_rater.aggregate_raters(ratings)[0], method=method)
    assert FUNCTIONS[name](ratings).estimate == pytest.approx(library, abs=1e-12)


def test_limits_of_percent_agreement_cover_it_if_few_items_disagree():
    n, share = 30, 0.885
    found = [agreement([[0, 0]] * same + [[0, 1]] * (n - same), "percent") for same in range(n + 1)]
    covers = [one.ci_low <= share <= one.ci_high for one in found]
    # The percentile bootstrap covers in 85%.
    assert scipy.stats.binom.pmf(range(n + 1), n, share) @ covers > 0.94


def test_percent_and_randolph_are_means_over_items():
    ratings = binary(np.random.default_rng(4), 60, 3)
    shares = [np.mean([a == b, a == c, b == c]) for a, b, c in ratings]
    expected = bounded_mean_interval(shares)
    found = agreement(ratings, "percent")
    assert limits(found) == (float(expected.ci_low), float(expected.ci_high))
    assert found.method == "bootstrap bca, exact"
    kappa = agreement(ratings, "randolph")
    assert limits(kappa) == pytest.approx((2 * found.ci_low - 1, 2 * found.ci_high - 1))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_resamples_are_computed_as_the_library_does(level):
    rng = np.random.default_rng(8)
    for _ in range(20):
        ratings = rng.integers(1, 5, size=(12, 4)).astype(float)
        ratings[rng.random(ratings.shape) < 0.3] = np.nan
        table = rating_counts(ratings, [1, 2, 3, 4], ordered=False)
        observed, expected = table.disagreement(table.many, "krippendorff", level)
        library = krippendorff.alpha(
            ratings.T, value_domain=[1, 2, 3, 4], level_of_measurement=level
        )
        assert 1 - observed / expected == pytest.approx(library, abs=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_interval_does_not_depend_on_item_or_rater_order(name):
    rng = np.random.default_rng(6)
    ratings = rng.choice(["a", "b", "c"], size=(30, 4), p=[0.6, 0.3, 0.1]).astype(object)
    ratings[rng.random(ratings.shape) < 0.2] = None
    found = FUNCTIONS[name](ratings)
    shuffled = np.array([rng.permutation(row) for row in rng.permutation(ratings)], dtype=object)
    assert FUNCTIONS[name](shuffled) == found
    assert FUNCTIONS[name](pd.DataFrame(ratings)) == found
    assert found.to_frame().columns.tolist()[2:5] == ["estimate", "ci_low", "ci_high"]


def test_note_gives_agreement_on_the_rarer_category():
    # 95 items unanimous, five with one of three reports: 96.7% of pairs agree, kappa is below 0.
    rare = [["yes", "no", "no"]] * 5 + [["no"] * 3] * 95
    for name in BY_MARGINS:
        found = FUNCTIONS[name](rare)
        assert found.estimate < 0
        assert re.match(r"96\.7% .*'yes', .* 0\.0%", found.note)
        # The rarer one is also named if it is the first.
        turned = FUNCTIONS[name](rare, categories=["yes", "no"])
        assert turned.note == found.note
    for name in ("percent", "randolph", "gwet_ac1"):
        found = FUNCTIONS[name](rare)
        assert found.estimate > 0.9
        assert found.note == ""
    # Raters who do disagree, and raters who agree by any measure.
    yes, no, apart = ["yes", "yes"], ["no", "no"], ["yes", "no"]
    assert agreement([apart] * 5 + [no, yes], "fleiss").note == ""
    assert agreement([yes] * 40 + [no] * 40 + [apart], "fleiss").note == ""
    # With three categories, the note is about none of them.
    found = agreement([*rare, ["other", "no", "no"]], "fleiss")
    assert found.estimate < 0
    assert "agree" not in found.note


def test_a_low_kappa_is_low_agreement_on_the_rarer_category():
    rng = np.random.default_rng(3)
    for _ in range(5):
        ratings = binary(rng, 80, 4, rate=0.1)
        share = ratings.mean()
        kappa = agreement(ratings, "fleiss").estimate
        found = agreement(ratings, "positive", positive=1).estimate
        assert found == pytest.approx(kappa + share * (1 - kappa))


def by_pairs(ratings, positive):
    """For pairs of raters: twice the pairs with both, divided by those with one and with the
    other."""
    both = ones = 0
    for row in ratings:
        own = [label in positive for label in row if label is not None]
        for one, other in combinations(own, 2):
            both += 2 * int(one and other)
            ones += int(one) + int(other)
    return both / ones


@pytest.mark.parametrize("seed", range(4))
def test_positive_agreement_counts_pairs(seed):
    rng = np.random.default_rng(seed)
    ratings = rng.choice(["none", "minor", "severe"], size=(40, 5), p=[0.6, 0.3, 0.1])
    ratings = ratings.astype(object)
    ratings[rng.random(ratings.shape) < 0.3] = None
    found = agreement(ratings, "positive", positive="minor")
    assert found.estimate == pytest.approx(by_pairs(ratings, {"minor"}))
    assert found.ci_low < found.estimate < found.ci_high
    several = agreement(ratings, "positive", positive={"minor", "severe"})
    assert several.estimate == pytest.approx(by_pairs(ratings, {"minor", "severe"}))
    again = agreement(pd.DataFrame(ratings), "positive", positive=["severe", "minor"])
    assert again == several
    assert (several.coefficient, several.level) == ("positive", "nominal")
    assert agreement([["y", "n"], ["y", "y"]] * 9, "positive", positive="y").ci_low >= 0


def test_positive_agreement_of_two_raters_is_that_of_their_fourfold_table():
    # Cicchetti & Feinstein's p_pos, 2a / (2a + b + c), of a = 40, b = 9, c = 6, d = 45.
    table = [["y", "y"]] * 40 + [["y", "n"]] * 9 + [["n", "y"]] * 6 + [["n", "n"]] * 45
    assert agreement(table, "positive", positive="y").estimate == pytest.approx(80 / 95)
    assert agreement(table, "positive", positive="n").estimate == pytest.approx(90 / 105)


@pytest.mark.parametrize("ratings", [[], [["y", None]], [[None, None]]])
def test_positive_agreement_needs_two_ratings(ratings):
    found = agreement(ratings, "positive", positive="y")
    assert np.isnan([found.estimate, *limits(found)]).all()
    assert (found.n, found.note) == (0, "no item has two ratings")


@pytest.mark.parametrize("positive", ["absent", ["absent", "other"]])
def test_positive_agreement_without_reports(positive):
    found = agreement([["n", "n", "n"]] * 9, "positive", positive=positive)
    assert np.isnan([found.estimate, *limits(found)]).all()
    assert found.note.startswith("0 / 0: no ratings")
    assert found.n == 9
    with pytest.raises(ValueError, match="positive has no label"):
        agreement([["n", "n"]], "positive", positive=[])


def test_positive_agreement_that_does_not_vary_is_of_the_items_with_a_report():
    name = "wilson over items in the category (the resamples do not vary)"
    never = agreement([["y", "n", "n"]] * 8 + [["n"] * 3] * 50, "positive", positive="y")
    assert (never.estimate, never.method) == (0, f"{name} with room for rare items")
    # With four more items in which all report: 24 of 24 pairs of theirs, of 24 + 16.
    assert limits(never) == pytest.approx((0, 24 / 40))
    always = agreement([["y"] * 3] * 8 + [["n"] * 3] * 50, "positive", positive="y")
    assert (always.estimate, always.method) == (1, name)
    assert limits(always) == pytest.approx((float(wilson(8, 8).ci_low), 1))
    one = agreement([["y", "y", "n"]], "positive", positive="y")
    assert one.estimate == 0.5
    assert 0 <= one.ci_low < 0.5 < one.ci_high <= 1


def test_positive_agreement_needs_resamples_with_a_report():
    found = agreement([["y", "y", "n"]] * 2 + [["n"] * 3] * 98, "positive", positive="y")
    assert found.estimate == 0.5
    assert np.isnan(limits(found)).all()
    assert "0.13 of the resamples" in found.note


def test_declared_categories_count_for_randolph_and_for_order():
    ratings = [["none", "none"], ["severe", "none"], ["severe", "severe"]]
    severity = ["none", "minor", "severe"]
    assert agreement(ratings, "randolph").estimate == pytest.approx(1 / 3)
    assert agreement(ratings, "randolph", categories=severity).estimate == pytest.approx(1 / 2)
    apart = agreement(ratings, "krippendorff", level="ordinal", categories=severity)
    # The value minor never occurs: two categories in use, at any level.
    assert apart.estimate == pytest.approx(agreement(ratings, "krippendorff").estimate)


def test_ordinal_weights_depend_on_the_distance_of_levels():
    near = [["none", "minor"], ["severe", "severe"], ["none", "none"], ["minor", "none"]]
    severity = ["none", "minor", "severe"]
    ordinal = agreement(near, "krippendorff", level="ordinal", categories=severity)
    assert ordinal.estimate > agreement(near, "krippendorff", categories=severity).estimate
    assert ordinal.level == "ordinal"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categories": ["a"]}, "'b' is not among"),
        ({"categories": ["a", "b", "a"]}, "'a' twice"),
        ({"level": "ordinal"}, "categories= must give the order"),
        ({"level": "interval", "categories": ["a", "b"]}, "must be numbers"),
        ({"level": "ratio"}, "level='ratio' is unknown"),
        ({"level": "ordinal", "coefficient": "fleiss"}, "only for coefficient='krippendorff'"),
        ({"coefficient": "cohen"}, "coefficient='cohen' is unknown"),
        ({"coefficient": "positive"}, "belong together"),
        ({"positive": "a"}, "belong together"),
        ({"ratings": [["a", 1]]}, "cannot be sorted"),
        ({"alpha": 1}, "alpha"),
        ({"n_resamples": 0}, "n_resamples"),
        ({"rng": None}, "rng"),
    ],
)
def test_invalid_agreement_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        agreement(**{"ratings": [["a", "b"]], "coefficient": "krippendorff"} | options)
