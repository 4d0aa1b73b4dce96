"""Measure how far an added text points to each option."""

import math

import numpy as np
import pandas as pd
import pytest

from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.vignettes.leakage.leakage_flags import leakage_flags
from fairstats.vignettes.leakage.leakage_measures import leakage_measures
from fairstats.vignettes.measures import MEASURE_COLUMNS
from fairstats.vignettes.text.added_text import added_text
from fairstats.vignettes.text.words import content_stems
from tests.vignette_texts import NEUTRAL, OPTIONS, item, vignettes

KEY_NAMED = "Friends discuss cross-linking of DNA eagerly."
DISTRACTOR_NAMED = "Neighbours fear that it generates free radicals."


def embed(texts):
    """Return vectors by hand: the counts of letters, with length 1."""
    assert len(set(texts)) == len(texts), "each text is embedded once"
    letters = "abcdefghijklmnopqrstuvwxyz"
    counts = np.array([[text.lower().count(c) for c in letters] for text in texts], dtype=float)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def values(measures, measure, group, item_id="x"):
    """Return the values of a measure by option; a single value for a measure without options."""
    rows = measures[
        (measures["measure"] == measure)
        & (measures["group"] == group)
        & (measures["item_id"] == item_id)
    ]
    found = rows.set_index("option")["value"].to_dict()
    return found[""] if list(found) == [""] else found


def test_no_item_has_no_measure():
    measures = leakage_measures(vignettes(), embed=embed)
    assert measures.empty
    assert tuple(measures.columns) == MEASURE_COLUMNS
    assert leakage_flags(vignettes(), measures).empty


def test_variants_that_are_the_neutral_text_point_nowhere():
    measures = leakage_measures(vignettes(item(), item("y")), embed=embed)
    of_options = measures[measures["role"].ne("") & measures["group"].ne("neutralized")]
    assert (of_options["value"] == 0).all()
    pointing = measures[measures["measure"].str.startswith("pointing")]
    assert pointing["value"].isna().all()
    assert (measures.loc[measures["measure"] == "new_words", "value"] == 0).all()
    assert leakage_flags(vignettes(item(), item("y")), measures).empty


def test_one_item_has_no_others_to_be_compared_with():
    measures = leakage_measures(vignettes(item(white=KEY_NAMED, black=DISTRACTOR_NAMED)))
    assert values(measures, "leakage_overlap", "white")["A"] == 1
    chance = measures[measures["measure"].str.endswith("by_chance")]
    assert len(chance)
    assert chance["value"].isna().all()


def test_option_named_in_full():
    found = vignettes(item(white=KEY_NAMED, black=DISTRACTOR_NAMED), item("y"))
    measures = leakage_measures(found)
    assert values(measures, "leakage_overlap", "white") == {"A": 1, "B": 0, "C": 0, "D": 0}
    assert values(measures, "leakage_overlap", "black") == {"A": 0, "B": 1, "C": 0, "D": 0}
    for kind in ("overlap", "tfidf"):
        assert values(measures, f"pointing_{kind}", "white") == 1
        assert values(measures, f"pointing_{kind}", "black") == 0
    flags = leakage_flags(found, measures)
    # Both overlaps are 1; the shorter text points more.
    flags = leakage_flags(found, measures).set_index("group")
    assert flags["flag"].to_dict() == {"black": "names a distractor", "white": "names the key"}
    assert flags["detail"]["white"] == (
        "A (Cross-linking of DNA) by cross, linking, DNA in: "
        "Friends discuss cross-linking of DNA eagerly"
    )
    assert len(leakage_flags(found, measures, most=1)) == 1


def test_the_overlap_counts_new_words_over_all_of_an_options():
    # "drug" is in the neutral text: repeating it adds no word, but it is a word of D.
    found = vignettes(item(white="Any drug binds, DNA included."), item("y"))
    overlap = values(leakage_measures(found), "leakage_overlap", "white")
    assert overlap == pytest.approx({"A": 1 / 3, "B": 0, "C": 0, "D": 1 / 2})


def test_an_option_without_a_content_word_has_no_value_and_is_never_pointed_to():
    options = dict(OPTIONS) | {"D": "All of the above"}
    texts = item(white=KEY_NAMED, options=options), item("y", options=options)
    measures = leakage_measures(vignettes(*texts), embed=embed)
    for kind in ("overlap", "tfidf", "embedding"):
        found = values(measures, f"leakage_{kind}", "white")
        assert math.isnan(found.pop("D"))
        assert all(math.isfinite(value) for value in found.values())
    without_key = item(white=DISTRACTOR_NAMED, options=options, key="D")
    measures = leakage_measures(vignettes(without_key, item("y")), embed=embed)
    assert math.isnan(values(measures, "pointing_overlap", "white"))


def test_items_without_any_word_can_be_measured():
    options = dict.fromkeys("ABCD", "↑ ↓")
    measures = leakage_measures(vignettes(item(options=options, neutral="?")))
    assert measures.loc[measures["role"] != "", "value"].isna().all()


def test_hint_to_a_contained_option_is_recognised():
    options = dict(OPTIONS) | {"A": "Aspirin", "B": "Aspirin and clopidogrel"}
    texts = item(white="Grandmother always took aspirin.", options=options), item("y")
    measures = leakage_measures(vignettes(*texts))
    assert values(measures, "leakage_overlap", "white") == {"A": 1, "B": 0.5, "C": 0, "D": 0}
    assert values(measures, "pointing_overlap", "white") == 1


def test_options_that_tie_share_the_first_place():
    options = {"A": "High sodium", "B": "High chloride", "C": "High iron", "D": "Low iron"}
    texts = item(white="They live high above town.", options=options), item("y")
    assert values(leakage_measures(vignettes(*texts)), "pointing_overlap", "white") == (
        pytest.approx(1 / 3)
    )


def test_shared_words_do_not_distinguish_options():
    options = {"A": "High sodium", "B": "High chloride", "C": "High", "D": "Low serum iron"}
    texts = item(white="They fear high chloride.", options=options), item("y")
    measures = leakage_measures(vignettes(*texts))
    overlap = values(measures, "leakage_overlap", "white")
    assert overlap == {"A": 0.5, "B": 1, "C": 1, "D": 0}
    distinct = values(measures, "leakage_distinct", "white")
    assert math.isnan(distinct.pop("C"))
    assert distinct == {"A": 0, "B": 1, "D": 0}
    assert values(measures, "pointing_distinct", "white") == 0


def test_chance_is_the_mean_over_all_other_items():
    texts = [
        item("x", white="Friends discuss DNA eagerly."),
        item("y", white="Proteasome inhibition is feared, DNA too."),
        item("z", white="Nothing whatever is feared."),
        item("w"),
    ]
    measures = leakage_measures(vignettes(*texts))
    # Among y, z and w, y has "DNA", "inhibition" and "proteasome".
    chance = values(measures, "leakage_overlap_by_chance", "white")
    assert chance == pytest.approx({"A": 1 / 9, "B": 0, "C": 1 / 3, "D": 0})
    assert values(measures, "brings_in_overlap_by_chance", "white") == pytest.approx(
        {"A": 1 / 3, "B": 0, "C": 1 / 3, "D": 0}
    )
    assert values(measures, "names_overlap_by_chance", "white") == pytest.approx(
        {"A": 0, "B": 0, "C": 1 / 3, "D": 0}
    )
    # Only y points to one of x's options, to C; only x points to one of y's, to A, the key.
    assert values(measures, "pointing_overlap_by_chance", "white") == 0
    assert values(measures, "pointing_overlap_by_chance", "white", "y") == 1
    # A text without additions has none by chance either.
    assert set(values(measures, "leakage_overlap_by_chance", "white", "w").values()) == {0}


def test_other_items_words_count_only_if_the_item_lacks_them():
    other = item("y", white="Any drug binds.", neutral="A child coughs. Why?")
    measures = leakage_measures(vignettes(item(white="Nothing whatever."), other))
    assert values(measures, "leakage_overlap_by_chance", "white")["D"] == 1 / 2


def test_tfidf_is_that_of_scikit_learn():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    found = read_vignettes("demo")
    measures = leakage_measures(found)
    every = [" ".join(item.options.values()) for item in found.items]
    documents = [
        f"{item.variants['neutralized']} {options}"
        for item, options in zip(found.items, every, strict=True)
    ]
    for item_ in found.items[:6]:
        neutral, text = item_.variants["neutralized"], item_.variants["black"]
        added = " ".join(added_text(neutral, text)) or "nothing"
        # Each word of the added text is in the vocabulary, even if it is in no document.
        words = {stem for text in [*documents, added] for stem in content_stems(text)}
        weigh = TfidfVectorizer(tokenizer=content_stems, token_pattern=None, vocabulary=words)
        weigh.fit(documents)
        for letter, option in item_.options.items():
            texts = weigh.transform([option, added, neutral])
            similar = cosine_similarity(texts[0], texts[1:])[0]
            got = values(measures, "similarity_tfidf", "black", item_.item_id)[letter]
            assert got == pytest.approx(similar[0] if added != "nothing" else 0)
            base = values(measures, "similarity_tfidf", "neutralized", item_.item_id)[letter]
            assert base == pytest.approx(similar[1])
            net = values(measures, "leakage_tfidf", "black", item_.item_id)[letter]
            assert net == pytest.approx(got - base if added != "nothing" else 0)


def test_tfidf_by_hand():
    # One document: every weight is tf * 1, also of words in none, tf * (ln(2) + 1).
    measures = leakage_measures(vignettes(item(white="Proteasome inhibition means inhibition.")))
    unknown = math.log(2) + 1
    similar = (2 + 1) / math.sqrt(2) / math.sqrt(4 + 1 + unknown**2)
    found = values(measures, "similarity_tfidf", "white")
    assert found == pytest.approx({"A": 0, "B": 0, "C": similar, "D": 0})
    # The neutral text has "drug", of D's two words.
    words = content_stems(NEUTRAL)
    assert values(measures, "leakage_tfidf", "white")["D"] == pytest.approx(
        -1 / math.sqrt(2) / math.sqrt(len(words))
    )


def test_embeddings_are_compared_by_their_product():
    texts = item(white=KEY_NAMED, black=DISTRACTOR_NAMED), item("y")
    measures = leakage_measures(vignettes(*texts), embed=embed)
    key, added, neutral = embed([OPTIONS["A"], KEY_NAMED, NEUTRAL])
    found = values(measures, "leakage_embedding", "white")["A"]
    assert found == pytest.approx(key @ added - key @ neutral)
    assert values(measures, "similarity_embedding", "white")["A"] == pytest.approx(key @ added)
    without = leakage_measures(vignettes(*texts))
    assert not without["measure"].str.contains("embedding").any()
    pd.testing.assert_frame_equal(
        without, measures[~measures["measure"].str.contains("embedding")].reset_index(drop=True)
    )


def test_rows_are_unique_and_in_a_fixed_order():
    found = read_vignettes("demo")
    measures = leakage_measures(found)
    assert not measures.duplicated(list(MEASURE_COLUMNS[:-1])).any()
    pd.testing.assert_frame_equal(measures, leakage_measures(found))
    assert len(measures[measures["measure"] == "leakage_overlap"]) == 24 * 6 * 4


def test_many_items_are_compared_in_blocks(monkeypatch):
    found = read_vignettes("demo")
    whole = leakage_measures(found)
    monkeypatch.setattr("fairstats.vignettes.leakage.leakage_measures._BLOCK", 5)
    pd.testing.assert_frame_equal(whole, leakage_measures(found), rtol=1e-12)


def test_flags_are_at_most_so_many():
    found = vignettes(item(white=KEY_NAMED))
    with pytest.raises(ValueError, match="must be at least 0"):
        leakage_flags(found, leakage_measures(found), most=-1)


def test_a_flag_of_a_single_inserted_word_names_the_word():
    found = vignettes(item(white="Proteasome."))
    flags = leakage_flags(found, leakage_measures(found))
    assert flags["flag"].tolist() == ["points to a distractor"]
    assert flags["detail"][0] == "C (Inhibition of proteasome) by Proteasome"
