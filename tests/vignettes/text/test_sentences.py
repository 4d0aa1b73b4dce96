"""Splitting a vignette into sentences."""

import re

import pytest

from fairstats.benchmarks.declaration import NEUTRALIZED
from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.vignettes.text.sentences import final_sentence, sentences


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t \n"])
def test_no_text_has_no_sentence(text):
    assert sentences(text) == []
    assert final_sentence(text) == ""


@pytest.mark.parametrize("text", ["Fever", "Fever.", "fever?", "...", "37.5", "发热", "حمى"])
def test_one_word_is_one_sentence(text):
    assert sentences(f" {text}\n") == [text]


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
    assert sentences(text) == [text]


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
