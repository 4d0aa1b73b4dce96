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
    near_duplicates,
)


@pytest.fixture(scope="module")
def vignettes():
    return read_vignettes("demo")


def jaccard(one, other):
    """Return the Jaccard index of the texts of two items, as it is measured."""
    demo = read_vignettes("demo")
    variants = demo.items[0].variants
    items = tuple(
        replace(demo.items[0], item_id=name, variants=dict.fromkeys(variants, text))
        for name, text in (("x", one), ("y", other))
    )
    measured = duplicate_measures(replace(demo, items=items))
    nearest = measured.loc[measured["measure"] == "nearest_item", "value"]
    assert nearest.nunique() == 1
    return nearest.iloc[0]


def test_similarity_by_hand():
    assert jaccard("", "") == 1
    assert jaccard("fever", "") == 0
    assert jaccard("Fever", "fever.") == 1
    assert jaccard("fever", "rash") == 0
    assert jaccard("a b c d e f", "a b c d e g") == 1 / 3
    words = [f"w{number}" for number in range(100)]
    other = [*words[:50], "else", *words[51:]]
    # One word replaced touches 5 of the 96 5-grams.
    assert jaccard(" ".join(words), " ".join(other)) == pytest.approx(91 / 101)


def test_no_item_and_one_item_have_no_duplicate(vignettes):
    assert near_duplicates([]) == []
    assert near_duplicates(vignettes.items[:1]) == []
    assert duplicate_measures(replace(vignettes, items=())).empty
    assert duplicate_findings(duplicate_measures(replace(vignettes, items=()))).empty
    one = duplicate_measures(replace(vignettes, items=vignettes.items[:1]))
    assert "nearest_item" not in set(one["measure"])


def test_the_pairwise_product_is_jaccard_of_every_pair(vignettes):
    texts = {item.item_id: item.variants["neutralized"] for item in vignettes.items[:6]}
    few = duplicate_measures(replace(vignettes, items=vignettes.items[:6]))
    nearest = few[few["measure"] == "nearest_item"].set_index("item_id")["value"]
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
    flags = duplicate_flags(both, duplicate_measures(both))
    found = flags[flags["detail"].str.contains("twin")]
    assert found[["item_id", "flag"]].values.tolist() == [[item.item_id, flag]]
    shares = duplicate_findings(duplicate_measures(both)).set_index("measure")["estimate"]
    assert shares["nearest_item"] == pytest.approx(2 / 25)


def test_variants_that_hardly_differ_are_flagged(vignettes):
    item = vignettes.items[0]
    same = dict(item.variants) | {"white": item.variants["neutralized"]}
    same["low_income"] = same["high_income"]
    changed = replace(vignettes, items=(replace(item, variants=same),))
    flags = duplicate_flags(changed, duplicate_measures(changed))
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
