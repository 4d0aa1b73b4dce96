"""The wording of variants."""

from dataclasses import replace

import pytest

from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.vignettes.wording import (
    WORDING_MEASURES,
    added_sentences,
    hedging,
    reading_ease,
    sentiment,
    syllables,
    wording_findings,
    wording_measures,
    words,
)


@pytest.mark.parametrize("text", ["", "  ", "...", "?"])
def test_a_text_without_a_word_has_no_value(text):
    assert words(text) == []
    assert reading_ease(text) is None
    assert hedging(text) is None


def test_no_sentence_has_no_sentiment():
    assert sentiment([]) is None
    assert sentiment(["Table."]) == 0


def test_reading_ease_by_hand():
    # 6 words, 1 sentence, 6 syllables; then 1 word of 1 syllable.
    assert reading_ease("The cat sat on the mat.") == pytest.approx(206.835 - 1.015 * 6 - 84.6)
    assert reading_ease("Fever") == pytest.approx(206.835 - 1.015 - 84.6 * syllables("fever"))
    assert reading_ease("发热") is not None


def test_words_and_syllables():
    assert words("A 67-year-old’s 37.5 °C, 120/80 mm Hg.") == [
        *("A", "67-year-old's", "37.5", "C", "120/80", "mm", "Hg")
    ]
    assert syllables("patient") == 2
    assert syllables("37.5") == 1


def test_a_long_dash_parts_words():
    assert words("agents—especially those—used") == ["agents", "especially", "those", "used"]


def test_hedges_are_words_of_the_text():
    assert hedging("They may be ill.") == 0.25
    assert hedging("In May it rains.") == 0.25  # the month is not distinguished
    assert hedging("Maybelline dismays Thinkers.") == 0
    assert hedging("likely to") == 1
    assert hedging("Which is most likely?") == 0


def test_added_sentences_are_those_the_neutral_text_has_not():
    assert added_sentences("A fever. Next?", "A fever! They teach. Next?") == ["They teach."]
    assert added_sentences("", "A fever.") == ["A fever."]
    assert added_sentences("A fever.", "") == []


def test_measures_and_findings_of_the_demonstration():
    vignettes = read_vignettes("demo")
    measures = wording_measures(vignettes)
    assert set(measures["measure"]) == set(WORDING_MEASURES)
    assert not measures.duplicated(["item_id", "attribute", "group", "measure"]).any()
    neutral = measures[measures["group"] == "neutralized"]
    assert set(neutral["measure"]) == {"words", "sentences", "reading_ease", "hedging"}
    wide = measures.pivot(index=["item_id", "group"], columns="measure", values="value")
    added = (
        wide["words"]
        - wide["words"]
        .xs("neutralized", level="group")
        .reindex(wide.index.get_level_values("item_id"))
        .to_numpy()
    )
    variants = wide.index.get_level_values("group") != "neutralized"
    assert (added[variants] == wide["added_words"][variants]).all()
    found = wording_findings(measures, vignettes.benchmark)
    assert set(found["quantity"]) == {
        "group minus neutral",
        "mean",
        "first minus second",
    }
    assert (found["p_value"] > 0).all()
    row = found[(found["measure"] == "words") & (found["group_a"] == "black")].iloc[0]
    of_group = wide["added_words"].xs("black", level="group")
    assert row["estimate"] == pytest.approx(of_group.mean())


def test_variants_equal_to_the_neutral_text_do_not_differ():
    vignettes = read_vignettes("demo")
    same = [
        replace(i, variants=dict.fromkeys(i.variants, i.variants["neutralized"]))
        for i in vignettes.items
    ]
    measures = wording_measures(replace(vignettes, items=tuple(same)))
    assert "sentiment" not in set(measures["measure"])
    found = wording_findings(measures, vignettes.benchmark)
    known = found[found["measure"] != "sentiment"]
    assert (known["estimate"] == 0).all()
    assert (known["p_value"] == 1).all()
    assert (found[found["measure"] == "sentiment"]["n"] == 0).all()


def test_no_item():
    vignettes = replace(read_vignettes("demo"), items=())
    measures = wording_measures(vignettes)
    assert measures.empty
    assert (wording_findings(measures, vignettes.benchmark)["n"] == 0).all()


def test_the_released_items(shared_data):
    vignettes = read_vignettes(shared_data("amqa") / "items.parquet")
    found = wording_findings(wording_measures(vignettes), vignettes.benchmark)
    row = found.set_index(["measure", "quantity", "group_a"])["estimate"]
    # Words split at white space differ from ours only by punctuation.
    plain = [
        len(i.variants["white"].split()) - len(i.variants["black"].split()) for i in vignettes.items
    ]
    mean = sum(plain) / len(plain)
    assert row["words", "first minus second", "white"] == pytest.approx(mean, abs=0.5)
    assert row["words", "first minus second", "white"] == pytest.approx(-14.0, abs=0.1)
    assert row["sentiment", "first minus second", "high_income"] > 0.1
    assert row["hedging", "first minus second", "white"] < -0.005
