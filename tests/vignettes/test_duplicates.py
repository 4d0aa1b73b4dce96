"""Near-duplicate items and variants."""

from dataclasses import replace

import pytest

from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.vignettes.duplicates import (
    LIKE_NEUTRAL,
    LIKE_OTHER_GROUP,
    SAME_CASE_OTHER_OPTIONS,
    SAME_ITEM,
    SAME_QUESTION_OTHER_KEY,
    duplicate_findings,
    duplicate_flags,
    duplicate_measures,
    jaccard,
    near_duplicates,
)


@pytest.fixture(scope="module")
def vignettes():
    return read_vignettes("demo")


def test_jaccard_by_hand():
    assert jaccard("", "") == 1
    assert jaccard("fever", "") == 0
    assert jaccard("Fever", "fever.") == 1
    assert jaccard("fever", "rash") == 0
    words = [f"w{number}" for number in range(100)]
    other = [*words[:50], "else", *words[51:]]
    # One word replaced touches 5 of the 96 5-grams.
    assert jaccard(" ".join(words), " ".join(other)) == pytest.approx(91 / 101)


@pytest.mark.parametrize("threshold", [0, -1, 1.1])
def test_a_threshold_that_makes_no_sense_is_refused(vignettes, threshold):
    with pytest.raises(ValueError, match="threshold"):
        near_duplicates(vignettes.items, threshold=threshold)


def test_no_item_and_one_item_have_no_duplicate(vignettes):
    assert near_duplicates([]) == []
    assert near_duplicates(vignettes.items[:1]) == []
    assert duplicate_measures(replace(vignettes, items=())).empty
    assert duplicate_findings(duplicate_measures(replace(vignettes, items=()))).empty
    one = duplicate_measures(replace(vignettes, items=vignettes.items[:1]))
    assert "nearest_item" not in set(one["measure"])


def test_the_pairwise_product_is_jaccard_of_every_pair(vignettes):
    measured = duplicate_measures(vignettes)
    nearest = measured[measured["measure"] == "nearest_item"].set_index("item_id")["value"]
    texts = {item.item_id: item.variants["neutralized"] for item in vignettes.items}
    for name, text in texts.items():
        best = max(jaccard(text, other) for key, other in texts.items() if key != name)
        assert nearest[name] == pytest.approx(best)


@pytest.mark.parametrize(
    ("options", "key", "flag"),
    [
        ({}, None, SAME_ITEM),
        ({"A": "Something else"}, None, SAME_CASE_OTHER_OPTIONS),
        ({}, "A", SAME_QUESTION_OTHER_KEY),
    ],
)
def test_the_same_item_twice_is_flagged(vignettes, options, key, flag):
    item = vignettes.items[0]
    assert item.answer_key == "C"
    twin = replace(
        item, item_id="twin", options=dict(item.options) | options, answer_key=key or "C"
    )
    both = replace(vignettes, items=(*vignettes.items, twin))
    flags = duplicate_flags(both)
    found = flags[flags["detail"].str.contains("twin")]
    assert found[["item_id", "flag"]].values.tolist() == [[item.item_id, flag]]
    shares = duplicate_findings(duplicate_measures(both)).set_index("measure")["estimate"]
    assert shares["nearest_item"] == pytest.approx(2 / 25)


def test_variants_that_hardly_differ_are_flagged(vignettes):
    item = vignettes.items[0]
    same = dict(item.variants) | {"white": item.variants["neutralized"]}
    same["low_income"] = same["high_income"]
    flags = duplicate_flags(replace(vignettes, items=(replace(item, variants=same),)))
    assert set(map(tuple, flags[["group", "flag"]].to_numpy())) == {
        ("white", LIKE_NEUTRAL),
        ("high_income", LIKE_OTHER_GROUP),
        ("low_income", LIKE_OTHER_GROUP),
    }


def test_released_items_have_one_duplicate_case(shared_data):
    vignettes = read_vignettes(shared_data("amqa") / "items.parquet")
    (pair,) = near_duplicates(vignettes.items)
    assert (pair.first, pair.second) == ("189", "231")
    assert pair.same_key
    assert not pair.same_options
