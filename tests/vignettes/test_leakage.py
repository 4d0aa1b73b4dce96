"""Leakage of the key and of distractors: its measures, estimates and flags."""

import math
from itertools import islice, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.vignettes.added_text import added_words
from fairstats.vignettes.leakage import (
    DISTINCT,
    MOST_FLAGS,
    OVERLAP,
    leakage_findings,
    leakage_flags,
    leakage_measures,
)
from fairstats.vignettes.tables import FINDING_COLUMNS, MEASURE_COLUMNS
from fairstats.vignettes.text.words_and_sentences import content_stems
from tests.serving import benchmark_script
from tests.vignette_texts import OPTIONS, item, vignettes

ERRORS = pd.read_csv(Path(__file__).parents[2] / "benchmarks" / "results" / "leakage_errors.csv")
KEY_NAMED = "Friends discuss cross-linking of DNA eagerly."
DISTRACTOR_NAMED = "Neighbours fear that it generates free radicals."


def values(measures, measure, group, item_id="x"):
    """Return the values of a measure by option."""
    rows = measures[
        (measures["measure"] == measure)
        & (measures["group"] == group)
        & (measures["item_id"] == item_id)
    ]
    return rows.set_index("option")["value"].to_dict()


def findings(*items, **options):
    found = vignettes(*items)
    return leakage_findings(leakage_measures(found), found.benchmark, **options)


def row(table, quantity, group, measure=OVERLAP, against=""):
    rows = table[
        (table["quantity"] == quantity)
        & (table["group_a"] == group)
        & (table["group_b"] == against)
        & (table["measure"] == measure)
    ]
    assert len(rows) == 1
    return rows.iloc[0]


def test_no_item_has_no_measure_finding_or_flag():
    measures = leakage_measures(vignettes())
    assert measures.empty
    assert tuple(measures.columns) == MEASURE_COLUMNS
    assert leakage_flags(vignettes(), measures).empty
    found = leakage_findings(measures, vignettes().benchmark)
    assert found.empty
    assert tuple(found.columns) == FINDING_COLUMNS


def test_variants_that_are_the_neutral_text_do_not_leak():
    same = vignettes(item(), item("y"))
    measures = leakage_measures(same)
    assert (measures["value"] == 0).all()
    assert leakage_flags(same, measures).empty


def test_one_item_has_no_others_to_be_compared_with():
    measures = leakage_measures(vignettes(item(white=KEY_NAMED, black=DISTRACTOR_NAMED)))
    assert values(measures, OVERLAP, "white")["A"] == 1
    chance = measures[measures["measure"].str.endswith("by_chance")]
    assert len(chance)
    assert chance["value"].isna().all()


def test_option_named_in_full():
    found = vignettes(item(white=KEY_NAMED, black=DISTRACTOR_NAMED), item("y"))
    measures = leakage_measures(found)
    assert values(measures, OVERLAP, "white") == {"A": 1, "B": 0, "C": 0, "D": 0}
    assert values(measures, OVERLAP, "black") == {"A": 0, "B": 1, "C": 0, "D": 0}
    flags = leakage_flags(found, measures).set_index("group")
    assert flags["flag"].to_dict() == {"black": "names a distractor", "white": "names the key"}
    assert flags["detail"]["white"].startswith("A (Cross-linking of DNA) by cross, linking, DNA ")


def test_the_overlap_counts_new_words_over_all_of_an_options():
    # "drug" is in the neutral text: repeating it adds no word, but it is a word of D.
    found = vignettes(item(white="Any drug binds, DNA included."), item("y"))
    overlap = values(leakage_measures(found), OVERLAP, "white")
    assert overlap == pytest.approx({"A": 1 / 3, "B": 0, "C": 0, "D": 1 / 2})


def test_an_option_without_a_content_word_has_no_value():
    options = dict(OPTIONS) | {"D": "All of the above"}
    texts = item(white=KEY_NAMED, options=options), item("y", options=options)
    found = values(leakage_measures(vignettes(*texts)), OVERLAP, "white")
    assert math.isnan(found.pop("D"))
    assert all(math.isfinite(value) for value in found.values())


def test_items_without_any_word_can_be_measured():
    options = dict.fromkeys("ABCD", "↑ ↓")
    found = vignettes(item(options=options, neutral="?"))
    measures = leakage_measures(found)
    assert measures["value"].isna().all()
    assert (leakage_findings(measures, found.benchmark)["n"] == 0).all()
    assert leakage_flags(found, measures).empty


def test_hint_to_a_contained_option_is_recognised():
    options = dict(OPTIONS) | {"A": "Aspirin", "B": "Aspirin and clopidogrel"}
    texts = item(white="Grandmother always took aspirin.", options=options), item("y")
    measures = leakage_measures(vignettes(*texts))
    assert values(measures, OVERLAP, "white") == {"A": 1, "B": 0.5, "C": 0, "D": 0}


def test_shared_words_do_not_distinguish_options():
    options = {"A": "High sodium", "B": "High chloride", "C": "High", "D": "Low serum iron"}
    texts = item(white="They fear high chloride.", options=options), item("y")
    measures = leakage_measures(vignettes(*texts))
    assert values(measures, OVERLAP, "white") == {"A": 0.5, "B": 1, "C": 1, "D": 0}
    distinct = values(measures, DISTINCT, "white")
    assert math.isnan(distinct.pop("C"))
    assert distinct == {"A": 0, "B": 1, "D": 0}


def test_chance_is_the_mean_over_all_other_items():
    texts = [
        item("x", white="Friends discuss DNA eagerly."),
        item("y", white="Proteasome inhibition is feared, DNA too."),
        item("z", white="Nothing whatever is feared."),
        item("w"),
    ]
    measures = leakage_measures(vignettes(*texts))
    # Among y and z, which add words, y has "DNA", "inhibition" and "proteasome".
    chance = values(measures, "leakage_overlap_by_chance", "white")
    assert chance == pytest.approx({"A": 1 / 6, "B": 0, "C": 1 / 2, "D": 0})
    # A text without additions has none by chance either.
    assert set(values(measures, "leakage_overlap_by_chance", "white", "w").values()) == {0}


def test_chance_is_that_of_every_pair_of_items():
    found = read_vignettes("demo")
    measures = leakage_measures(found)
    for one in found.items[:4]:
        known = set(content_stems(one.variants["neutralized"]))
        texts = [
            set(added_words(other.variants["neutralized"], other.variants["black"])) - known
            for other in found.items
            if other is not one
        ]
        chance = values(measures, "leakage_overlap_by_chance", "black", one.item_id)
        for letter, option in one.options.items():
            stems = set(content_stems(option))
            mean = np.mean([len(stems & text) / len(stems) for text in texts])
            assert chance[letter] == pytest.approx(mean)


def test_other_items_words_count_only_if_the_item_lacks_them():
    other = item("y", white="Any drug binds.", neutral="A child coughs. Why?")
    measures = leakage_measures(vignettes(item(white="Nothing whatever."), other))
    assert values(measures, "leakage_overlap_by_chance", "white")["D"] == 1 / 2


def test_rows_are_unique_and_in_a_fixed_order():
    found = read_vignettes("demo")
    measures = leakage_measures(found)
    assert not measures.duplicated(list(MEASURE_COLUMNS[:-1])).any()
    assert measures.equals(leakage_measures(found))
    assert len(measures[measures["measure"] == OVERLAP]) == 24 * 6 * 4


def test_flags_are_at_most_so_many():
    found = vignettes(*(item(str(n), white=KEY_NAMED) for n in range(MOST_FLAGS + 1)))
    assert len(leakage_flags(found, leakage_measures(found))) == MOST_FLAGS


def test_a_flag_of_a_single_inserted_word_names_the_word():
    found = vignettes(item(white="Proteasome."))
    flags = leakage_flags(found, leakage_measures(found))
    assert flags["flag"].tolist() == ["points to a distractor"]
    assert flags["detail"][0].endswith(" by Proteasome in: Proteasome.")


def test_leakage_is_zero_without_added_text():
    table = findings(*(item(str(n)) for n in range(20)))
    advantage = row(table, "advantage difference", "white", against="black")
    assert advantage["estimate"] == 0
    assert advantage["p_value"] == 1
    assert -1 < advantage["ci_low"] < 0 < advantage["ci_high"] < 1
    assert row(table, "distractors", "white")["ci_high"] < 0.2


def test_single_item_has_no_chance_figures():
    table = findings(item(white=KEY_NAMED, black=DISTRACTOR_NAMED))
    assert row(table, "advantage", "white")["estimate"] == 1
    assert row(table, "advantage", "black")["estimate"] == pytest.approx(-1 / 3)
    for which in ("key", "distractors", "advantage"):
        beyond = row(table, f"{which} beyond chance", "white")
        assert math.isnan(beyond["estimate"])
        assert (beyond["n"], beyond["p_value"]) == (0, 1)
        assert math.isnan(row(table, f"{which} by chance", "white")["estimate"])
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
    # By chance, since all items have the same options: the words of the others of a, b and c; d,
    # without additions, has 0.
    for which, (a, b, c) in {
        "key": ((1 / 3) / 2, 1 / 2, (1 + 1 / 3) / 2),
        "distractors": ((1 / 9) / 2, (1 / 9) / 2, 0),
        "advantage": ((1 / 3 - 1 / 9) / 2, (1 - 1 / 9) / 2, (1 + 1 / 3) / 2),
    }.items():
        chance = row(table, f"{which} by chance", "white")["estimate"]
        assert chance == pytest.approx((a + b + c) / 4)
        own = row(table, which, "white")["estimate"]
        beyond = row(table, f"{which} beyond chance", "white")
        assert beyond["estimate"] == pytest.approx(own - chance)
        assert beyond["ci_low"] < beyond["estimate"] < beyond["ci_high"]


def others_named(n, named=()):
    """Return items whose texts name the key of the next item, or their own (`named`)."""
    words = ["".join(letters) for letters in islice(product("bdfgklmn", "aou", "rvz"), n + 3)]
    keys = [f"{word}ix" for word in words]
    return [
        item(
            str(i),
            white=f"{(keys[i] if i in named else keys[(i + 1) % n]).capitalize()}.",
            options=dict(zip("ABCD", (keys[i], *keys[-3:]), strict=True)),
        )
        for i in range(n)
    ]


def test_key_that_is_named_for_another_item_does_not_leak():
    # By chance, one text in 60 names the item's key. Without any, every item is below chance.
    table = findings(*others_named(60))
    assert row(table, "key", "white")["estimate"] == 0
    assert row(table, "key by chance", "white")["estimate"] == pytest.approx(1 / 59)
    beyond = row(table, "key beyond chance", "white")
    assert beyond["p_value"] > 0.3
    assert beyond["ci_low"] == pytest.approx(-1 / 59)
    assert beyond["ci_high"] > 0.02


def test_single_text_that_names_its_key_is_chance():
    # No other text has a word of any option.
    other = "They mention nothing."
    table = findings(*(item(str(n), white=KEY_NAMED if n == 7 else other) for n in range(9)))
    beyond = row(table, "key beyond chance", "white")
    assert beyond["p_value"] > 0.05
    assert beyond["ci_low"] < 0 < beyond["ci_high"]


@pytest.mark.parametrize("n", [2, 3])
def test_few_texts_with_words_show_no_leak(n):
    # Of two texts, each names its own item's key or the other's with even chance.
    named = [item(str(i), white=KEY_NAMED if i < n else "") for i in range(60)]
    options = [OPTIONS | {"A": f"{word}ix"} for word in ("Bad", "Gov", "Lur")]
    named[:n] = [item(str(i), white=f"{options[i]['A']}.", options=options[i]) for i in range(n)]
    assert row(findings(*named), "key beyond chance", "white")["p_value"] > 0.05


def test_key_is_named_by_chance_if_all_texts_with_words_name_it():
    table = findings(*(item(str(n), white=KEY_NAMED if n % 2 else "") for n in range(20)))
    assert row(table, "key by chance", "white")["estimate"] == 0.5
    assert row(table, "key beyond chance", "white")["p_value"] == 1


def test_only_text_with_words_has_no_others_to_be_compared_with():
    measures = leakage_measures(vignettes(item(white=KEY_NAMED), item("y"), item("z")))
    chance = values(measures, "leakage_overlap_by_chance", "white")
    assert all(math.isnan(value) for value in chance.values())


def test_keys_named_in_a_tenth_of_the_texts_leak():
    table = findings(*others_named(60, {*range(0, 60, 10)}))
    for quantity in ("key beyond chance", "advantage beyond chance", "advantage"):
        found = row(table, quantity, "white")
        assert found["p_value"] < 0.05
        assert found["ci_low"] > 0


def test_honest_texts_seldom_leak_and_leaks_are_found_as_documented():
    tests = ["key", "distractors", "beyond", "advantage"]
    honest, leaking = (ERRORS[(ERRORS["leaking"] > 0) == leak] for leak in (False, True))
    assert honest[tests].max().max() < 0.055
    assert honest.loc[honest["items"] == 60, tests].max().max() < 0.035
    assert honest["key t"].max() == 0.76
    assert leaking[[f"{name} covers" for name in tests]].min().min() > 0.935
    for test in ("key", "beyond", "advantage"):
        assert (leaking[test] > leaking[f"{test} t"] - 0.01).all()
    of_60 = leaking[leaking["items"] == 60]
    assert (of_60["key"].min(), of_60["key"].max().round(2)) == (0.8, 0.99)
    assert (of_60["key t"].min(), of_60["key t"].max()) == (0.605, 0.78)


def test_honest_texts_seldom_leak_in_simulations():
    found = benchmark_script("leakage_errors").errors(60, 4, 0.5, False, 0.0, 30)
    assert found["key t"] > 0.3
    for quantity in ("key", "distractors", "beyond", "advantage"):
        assert found[quantity] <= 0.1
        assert found[f"{quantity} covers"] == pytest.approx(1 - found[quantity])


def test_words_in_every_text_are_attributed_to_chance():
    # All variants have the key's words, and all items the same options: none is beyond chance.
    table = findings(*(item(str(n), white=KEY_NAMED) for n in range(5)))
    for which in ("key", "advantage"):
        assert row(table, which, "white")["estimate"] == 1
        assert row(table, f"{which} by chance", "white")["estimate"] == pytest.approx(1)
        beyond = row(table, f"{which} beyond chance", "white")
        assert beyond["estimate"] == pytest.approx(0, abs=1e-12)
        assert beyond["p_value"] == 1


def test_item_with_none_of_the_above_as_key_is_left_out():
    options = dict(OPTIONS) | {"D": "None of the above"}
    table = findings(item("a", white=KEY_NAMED, options=options, key="D"), item("b"), item("c"))
    assert row(table, "advantage", "white")["n"] == 2
    assert row(table, "advantage", "white")["estimate"] == 0


def test_the_level_of_confidence_is_used():
    texts = [item(str(n), white=KEY_NAMED if n % 3 else "They mention DNA.") for n in range(9)]
    wide, narrow = findings(*texts, alpha=0.01), findings(*texts, alpha=0.2)
    for quantity in ("key", "advantage"):
        a, b = row(wide, quantity, "white"), row(narrow, quantity, "white")
        assert a["estimate"] == b["estimate"]
        assert a["ci_high"] - a["ci_low"] > b["ci_high"] - b["ci_low"]
        assert (a["ci_level"], b["ci_level"]) == (0.99, 0.8)


def test_every_estimate_is_within_its_limits():
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
    for measure, low, high in ((OVERLAP, -0.006, 0.031), (DISTINCT, 0.023, 0.060)):
        key = row(released, "key difference", "white", measure, against="black")
        assert (key["ci_low"], key["ci_high"]) == pytest.approx((low, high), abs=5e-4)
        others = row(released, "distractors difference", "white", measure, against="black")
        assert others["ci_high"] < -0.14
