"""Words, content words and stems."""

import unicodedata

import pytest

from fairstats.vignettes.text.words import STOP_WORDS, content_stems, word_spans, words


@pytest.mark.parametrize("text", ["", " \n", "…—?!", "↓ ↑", "_ _"])
def test_text_without_words_has_no_words(text):
    assert words(text) == ()
    assert content_stems(text) == ()


def test_the_places_of_words_are_those_of_the_text():
    text = "Naïve T‑cells: “HLA-B27”, 37.5 °C; the patient’s ﬁrst 1,200 mm³"
    assert [text[start:end] for _, start, end in word_spans(text)] == [
        *("Naïve", "T", "cells", "HLA", "B27", "37.5", "C", "the", "patient’s"),
        *("ﬁrst", "1,200", "mm³"),
    ]
    assert words(text)[-3:] == ("first", "1,200", "mm3")


@pytest.mark.parametrize("word", ["Ménière", "STRASSE", "İstanbul", "ﬁbrose", "हिन्दी", "Ǆ"])
def test_a_word_is_one_word_in_any_spelling(word):
    forms = [unicodedata.normalize(form, word) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    assert {words(form) for form in forms} == {words(word)}
    assert len(words(word)) == 1


def test_case_does_not_matter_even_if_it_changes_the_length():
    assert words("STRASSE") == words("Straße")


def test_apostrophes_belong_to_words_only_inside():
    assert words("'the patient's' parents’ don’t") == (*("the", "patient's", "parents", "don't"),)


def test_numbers_are_not_split():
    assert words("38.5, 1,200/mm 3.") == ("38.5", "1,200", "mm", "3")


def test_references_between_options_are_not_content():
    assert content_stems("All of the above") == ()
    assert content_stems("None of these") == ()
    assert content_stems("Neither of them") == ()


def test_words_of_medicine_are_content():
    # Each is a stop word of scikit-learn.
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    for word in ("system", "serious", "cry"):
        assert word in ENGLISH_STOP_WORDS
        assert content_stems(word)


def test_stop_words_are_written_as_words_are_compared():
    assert {words(word) for word in STOP_WORDS} == {(word,) for word in STOP_WORDS}


def test_inflections_have_one_stem():
    assert content_stems("Generation of free radicals") == content_stems(
        "it generates a free radical"
    )
    assert content_stems("weakness weak") == ("weak", "weak")
    assert content_stems("vitamin B, hepatitis C") == ("vitamin", "b", "hepat", "c")
