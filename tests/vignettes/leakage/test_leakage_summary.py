"""The summary of leakage by group and pair."""

import math

import numpy as np
import pandas as pd
import pytest

from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.vignettes.findings import FINDING_COLUMNS
from fairstats.vignettes.leakage.equal_length import at_equal_length
from fairstats.vignettes.leakage.leakage_measures import leakage_measures
from fairstats.vignettes.leakage.leakage_summary import leakage_findings
from fairstats.vignettes.measures import measures_frame
from tests.vignette_texts import OPTIONS, item, vignettes

KEY_NAMED = "Friends discuss cross-linking of DNA eagerly."
DISTRACTOR_NAMED = "Neighbours fear that it generates free radicals."


def findings(*items, **options):
    found = vignettes(*items)
    return leakage_findings(leakage_measures(found), found.benchmark, **options)


def row(table, quantity, group, measure="leakage_overlap", against=""):
    rows = table[
        (table["quantity"] == quantity)
        & (table["group_a"] == group)
        & (table["group_b"] == against)
        & (table["measure"] == measure)
    ]
    assert len(rows) == 1
    return rows.iloc[0]


def test_no_measure_gives_no_finding():
    found = leakage_findings(measures_frame([]), vignettes().benchmark)
    assert found.empty
    assert tuple(found.columns) == FINDING_COLUMNS


def test_leakage_is_zero_without_added_text():
    table = findings(*(item(str(n)) for n in range(20)))
    advantage = row(table, "advantage difference", "white", against="black")
    assert advantage["estimate"] == 0
    assert advantage["p_value"] == 1
    assert -1 < advantage["ci_low"] < 0 < advantage["ci_high"] < 1
    assert row(table, "brings in a word of any distractor", "white")["ci_high"] < 0.2
    points = row(table, "points to the key", "white")
    assert math.isnan(points["estimate"])
    assert (points["n"], points["p_value"]) == (0, 1)
    assert row(table, "points to an option", "white")["estimate"] == 0
    level = row(table, "advantage difference at equal length", "white", against="black")
    assert (level["estimate"], level["note"]) == (0, "all texts have the same length")
    assert -1 < level["ci_low"] < 0 < level["ci_high"] < 1


def test_single_item_has_no_chance_figures():
    table = findings(item(white=KEY_NAMED, black=DISTRACTOR_NAMED))
    assert row(table, "advantage", "white")["estimate"] == 1
    assert row(table, "advantage", "black")["estimate"] == pytest.approx(-1 / 3)
    assert row(table, "names the key", "white")["estimate"] == 1
    assert row(table, "names a distractor", "black")["estimate"] == pytest.approx(1 / 3)
    assert row(table, "names any distractor", "black")["estimate"] == 1
    beyond = row(table, "advantage beyond chance", "white")
    assert math.isnan(beyond["estimate"])
    assert (beyond["n"], beyond["p_value"]) == (0, 1)
    assert math.isnan(row(table, "advantage by chance", "white")["estimate"])
    difference = row(table, "advantage difference", "white", against="black")
    assert difference["estimate"] == pytest.approx(4 / 3)
    assert difference["p_value"] > 0.3


def test_figures_counted_by_hand():
    table = findings(
        item("a", white=KEY_NAMED, black=DISTRACTOR_NAMED),
        item("b", white="They mention DNA.", black="They mention radicals and a proteasome."),
        item("c", white="They mention free time.", black="They mention nothing."),
        item("d"),
    )
    # Overlaps of the key A: 1, 1/3, 0, 0; of the distractors: "free" of B in c.
    assert row(table, "key", "white")["estimate"] == pytest.approx((1 + 1 / 3) / 4)
    assert row(table, "distractors", "white")["estimate"] == pytest.approx(1 / 9 / 4)
    advantage = (1 + 1 / 3 - 1 / 9) / 4
    assert row(table, "advantage", "white")["estimate"] == pytest.approx(advantage)
    # Black: B in a; B 1/3 and C 1/2 in b.
    other = -(1 / 3 + (1 / 3 + 1 / 2) / 3) / 4
    assert row(table, "advantage", "black")["estimate"] == pytest.approx(other)
    difference = row(table, "advantage difference", "white", against="black")
    assert difference["estimate"] == pytest.approx(advantage - other)
    key = row(table, "key difference", "white", against="black")
    assert key["estimate"] == pytest.approx((1 + 1 / 3) / 4)
    # a and b point to A, c to B.
    points = row(table, "points to the key", "white")
    assert (points["estimate"], points["n"]) == (pytest.approx(2 / 3), 3)
    assert row(table, "points to an option", "white")["estimate"] == 3 / 4
    assert row(table, "points to the key", "black")["estimate"] == 0
    assert row(table, "brings in a word of the key", "white")["estimate"] == 1 / 2
    assert row(table, "brings in a word of a distractor", "black")["estimate"] == (
        pytest.approx((1 + 2) / 3 / 4)
    )
    assert row(table, "brings in a word of any distractor", "black")["estimate"] == 1 / 2
    # By chance, since all items have the same options: for a, 1/3 of the others' 4/9; for b, (1 +
    # 0) / 3; for c, (1 + 1/3) / 3; and for d, without additions, 0.
    chance = row(table, "advantage by chance", "white")["estimate"]
    a, b, c = (1 / 3 - 1 / 9) / 3, (1 - 1 / 9) / 3, (1 + 1 / 3) / 3
    assert chance == pytest.approx((a + b + c) / 4)
    assert row(table, "advantage beyond chance", "white")["estimate"] == (
        pytest.approx(advantage - chance)
    )


def test_words_in_every_text_are_attributed_to_chance():
    # All variants have the key's words, and all items the same options: none is beyond chance.
    table = findings(*(item(str(n), white=KEY_NAMED) for n in range(5)))
    assert row(table, "advantage", "white")["estimate"] == 1
    assert row(table, "advantage by chance", "white")["estimate"] == pytest.approx(1)
    beyond = row(table, "advantage beyond chance", "white")
    assert beyond["estimate"] == pytest.approx(0, abs=1e-12)
    assert beyond["p_value"] == 1


def test_item_with_none_of_the_above_as_key_is_left_out():
    options = dict(OPTIONS) | {"D": "None of the above"}
    table = findings(item("a", white=KEY_NAMED, options=options, key="D"), item("b"), item("c"))
    assert row(table, "advantage", "white")["n"] == 2
    assert row(table, "advantage", "white")["estimate"] == 0
    assert row(table, "points to the key", "white")["n"] == 0
    assert row(table, "names any distractor", "white")["n"] == 2


def test_guessing_is_among_the_options_that_can_be_pointed_to():
    options = dict(OPTIONS) | {"D": "None of the above"}
    table = findings(*(item(n, white=KEY_NAMED, options=options) for n in "abc"))
    assert row(table, "points to the key", "white")["note"] == "by guessing 0.3333"


def test_equal_length_against_statsmodels():
    import statsmodels.api as sm

    x = pd.Series([0.0, 3, -2, 5, 1, -4, 2, 2])
    y = pd.Series([0.1, 0.5, -0.4, 0.3, 0.0, -0.6, 0.4, 0.1])
    fit = sm.OLS(y, sm.add_constant(x)).fit(cov_type="HC3", use_t=True)
    found = at_equal_length(y, x, alpha=0.1)
    assert found["estimate"] == pytest.approx(fit.params.iloc[0])
    assert (found["ci_low"], found["ci_high"]) == pytest.approx(tuple(fit.conf_int(0.1).iloc[0]))
    assert found["p_value"] == pytest.approx(fit.pvalues.iloc[0])


@pytest.mark.parametrize(
    ("y", "x", "note"),
    [
        ([], [], "fewer than three items"),
        ([1.0, 2], [0.0, 1], "fewer than three items"),
        ([1.0, 2, 3], [2.0, 2, 2], "the difference in length is the same in every item"),
        ([1.0, 2, 3], [0.0, 0, 5], "only one item has texts of different length"),
        (
            [1.0, 2, 3, 4],
            [0.0, 1, 2, 3],
            "the values follow the length exactly, so there is no interval",
        ),
    ],
)
def test_uninformative_lengths_are_reported(y, x, note):
    found = at_equal_length(pd.Series(y, dtype=float), pd.Series(x, dtype=float))
    assert found["note"] == note
    assert "p_value" not in found


def test_the_level_of_confidence_is_used():
    texts = [item(str(n), white=KEY_NAMED if n % 3 else "They mention DNA.") for n in range(9)]
    wide, narrow = findings(*texts, alpha=0.01), findings(*texts, alpha=0.2)
    for quantity in ("key", "advantage", "names the key"):
        a, b = row(wide, quantity, "white"), row(narrow, quantity, "white")
        assert a["estimate"] == b["estimate"]
        assert a["ci_high"] - a["ci_low"] > b["ci_high"] - b["ci_low"]
        assert (a["ci_level"], b["ci_level"]) == (0.99, 0.8)


def test_every_row_has_a_value_or_note():
    demo = read_vignettes("demo")
    table = leakage_findings(leakage_measures(demo), demo.benchmark)
    assert set(table["aspect"]) == {"leakage"}
    assert not table.duplicated(["measure", "quantity", "attribute", "group_a", "group_b"]).any()
    tested = table[table["test"] != ""]
    assert tested["p_value"].between(0, 1, inclusive="right").all()
    limits = table.dropna(subset=["ci_low", "estimate"])
    assert (limits["ci_low"] <= limits["estimate"] + 1e-12).all()
    assert (limits["estimate"] <= limits["ci_high"] + 1e-12).all()


@pytest.fixture(scope="module")
def released(shared_data):
    found = read_vignettes(shared_data("amqa") / "items.parquet")
    return leakage_findings(leakage_measures(found), found.benchmark)


# From a first rough count, before the measure existed: the key and the mean distractor.
CRUDE = {
    "white": (0.094, 0.027),
    "black": (0.077, 0.200),
    "high_income": (0.091, 0.021),
    "low_income": (0.072, 0.157),
    "male": (0.086, 0.026),
    "female": (0.072, 0.187),
}


@pytest.mark.parametrize("group", list(CRUDE))
def test_the_released_items_agree_with_the_first_count(released, group):
    found = [row(released, role, group)["estimate"] for role in ("key", "distractors")]
    assert found == pytest.approx(CRUDE[group], abs=0.014)


def test_the_released_items_main_figures(released):
    for pair, expected in {
        ("white", "black"): (0.179, 0.159, 0.198),
        ("high_income", "low_income"): (0.146, 0.127, 0.165),
        ("male", "female"): (0.160, 0.142, 0.178),
    }.items():
        found = row(released, "advantage difference", pair[0], against=pair[1])
        assert found["n"] == 800
        limits = found[["estimate", "ci_low", "ci_high"]].astype(float).to_numpy()
        assert np.round(limits, 3) == pytest.approx(expected)
    # Distractor words shared with the key hide that the texts have different amounts of the key.
    for measure, low, high in (
        ("leakage_overlap", -0.006, 0.031),
        ("leakage_distinct", 0.023, 0.060),
    ):
        key = row(released, "key difference", "white", measure, against="black")
        assert (key["ci_low"], key["ci_high"]) == pytest.approx((low, high), abs=5e-4)
        others = row(released, "distractors difference", "white", measure, against="black")
        assert others["ci_high"] < -0.14
    # The case itself does not point to the key more than to the distractors.
    neutral = row(released, "advantage of the neutral text", "neutralized", "leakage_tfidf")
    assert abs(neutral["estimate"]) < 0.002
