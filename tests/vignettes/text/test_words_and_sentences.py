"""Words, content words, stems and sentences."""

import re
import unicodedata

import pytest

from fairstats._lib.installation import resource
from fairstats.benchmarks.declaration import NEUTRALIZED
from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.vignettes.text.words_and_sentences import (
    STOP_WORDS,
    content_stems,
    final_sentence,
    sentences,
    word_spans,
    words,
)


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
    # Each is in the longer list of stop words that findings leave out.
    longer = resource("data", "vignettes", "stop_words.txt").read_text(encoding="utf-8").split()
    for word in ("system", "serious", "cry"):
        assert word in longer
        assert content_stems(word)


def test_stop_words_are_written_as_words_are_compared():
    assert {words(word) for word in STOP_WORDS} == {(word,) for word in STOP_WORDS}


def test_inflections_have_one_stem():
    assert content_stems("Generation of free radicals") == content_stems(
        "it generates a free radical"
    )
    assert content_stems("weakness weak") == ("weak", "weak")
    assert content_stems("vitamin B, hepatitis C") == ("vitamin", "b", "hepat", "c")


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t \n"])
def test_no_text_has_no_sentence(text):
    assert sentences(text) == ()
    assert final_sentence(text) == ""


@pytest.mark.parametrize("text", ["Fever", "Fever.", "fever?", "...", "37.5", "发热", "حمى"])
def test_one_word_is_one_sentence(text):
    assert sentences(f" {text}\n") == (text,)


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith notes a fever.",
        "They saw Mrs. Jones and Prof. A. Miller in St. Louis.",
        "Temperature is 37.5 °C, e.g. no fever.",
        "Type 1 vs. Type 2 is unclear.",
        "They say, “It hurts.” and leave.",
        'The patient asks "Why me?" twice.',
        "Caused by E. coli or S. aureus.",
        "At approx. 5 cm, see fig. 2 and no. 3.",
        "John A. Smith served in the U.S. Army.",
    ],
)
def test_stop_within_a_sentence_does_not_end_it(text):
    assert sentences(text) == (text,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is 120/80 mm Hg. The pulse is 80.", 2),
        ("It lasts 130 ms. Next comes a shock.", 2),
        ("At 8 p.m. The pain began.", 2),
        ("They lack vitamin C. The gums bleed.", 2),
        ("They have hepatitis B. Which drug is next?", 2),
        ("No pain! Why? Nobody knows.", 3),
        ('They say "I am ill." She agrees. (Nobody asks.) 5 days pass.', 4),
        ("The pH falls. pH is 7.1.", 2),
        ("Hemoglobin 9 g/dL\nPlatelets 5\n\nWhich is next?", 3),
        ("A line that is broken\nin the middle. Another.", 2),
        ("患者发热。下一步？", 2),
        ("रोगी को बुखार है। आगे क्या?", 2),
    ],
)
def test_sentences_are_counted_by_hand(text, expected):
    assert len(sentences(text)) == expected


def test_the_final_sentence_needs_no_question_mark():
    assert final_sentence("Fever. The best drug is:") == "The best drug is:"


def test_released_texts_are_split_without_loss(shared_data):
    texts = [
        item.variants[NEUTRALIZED]
        for item in read_vignettes(shared_data("amqa") / "items.parquet").items
    ]
    cut = [sentences(text) for text in texts]
    for text, found in zip(texts, cut, strict=True):
        assert re.sub(r"\s", "", "".join(found)) == re.sub(r"\s", "", text)
    assert sum(found[-1].endswith("?") for found in cut) == 793
    # A stop before a capital is kept within a sentence only if it belongs to a title.
    inside = [m for found in cut for s in found for m in re.findall(r"\S+[.!?]\s+[A-Z]\S*", s)]
    assert inside == ["St. Louis,"]
