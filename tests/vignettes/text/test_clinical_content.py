"""Quantities, drugs and findings of a text, and their changes in a variant."""

import pytest

from fairstats.vignettes.text.clinical_content import (
    PROBLEM_KINDS,
    compare_content,
    content_of,
    content_problems,
)
from fairstats.vignettes.text.drugs_and_findings import drugs, findings
from fairstats.vignettes.text.quantities import is_among, quantities


def kinds(neutral, variant):
    return [problem.kind for problem in content_problems(neutral, variant)]


@pytest.mark.parametrize("text", ["", " ", "?", "Which is next?", "发热", "حمى", "Fever"])
def test_texts_with_hardly_anything(text):
    assert content_of(text).quantities == ()
    assert content_of(text).drugs == {}
    assert content_problems(text, text) == []
    found = compare_content(text, text)
    assert (found.numbers, found.drugs, found.new_quantities) == (0, 0, 0)


def test_empty_variant_keeps_no_content():
    found = compare_content("A fever of 39 °C on aspirin. What is next?", "")
    assert (found.numbers_kept, found.drugs_kept, found.findings_kept) == (0, 0, 0)
    assert found.question_asked is False


@pytest.mark.parametrize(
    ("text", "values", "unit"),
    [
        ("45 dB", (45,), "dB"),
        ("37.5 °C", (37.5,), "°C"),
        ("37.5℃", (37.5,), "°C"),
        ("98.6 degrees F", (98.6,), "°F"),
        ("120/80 mm Hg", (120, 80), "mmHg"),
        ("120/80mmHg", (120, 80), "mmHg"),
        ("3-day", (3,), "day"),
        ("3 days", (3,), "day"),
        ("two weeks", (2,), "week"),
        ("twenty-five years", (25,), "year"),
        ("3-5 days", (3, 5), "day"),
        ("3–5 days", (3, 5), "day"),
        ("3 to 5 days", (3, 5), "day"),
        ("3- to 5-day", (3, 5), "day"),
        ("two or three times", (2, 3), "time"),
        ("40%", (40,), "%"),
        ("40 percent", (40,), "%"),
        ("12,000/mm3", (12000,), "/mm3"),
        ("12,000 cells/mm³", (12000,), "/mm3"),
        ("88 beats per minute", (88,), "/minute"),
        ("88/min", (88,), "/minute"),
        ("88 bpm", (88,), "/minute"),
        ("5 mg/kg/day", (5,), "mg/kg/day"),
        ("20-pack-year", (20,), "pack-year"),
        ("8 a.m.", (8,), "am"),
    ],
)
def test_numbers_have_their_units(text, values, unit):
    (found,) = quantities(f"It was {text} then.")
    assert (found.values, found.unit) == (tuple(map(float, values)), unit)


@pytest.mark.parametrize("text", ["B12 and CO2", "T4 at S1", "HbA1c", "one of them", "no numbers"])
def test_numbers_within_words_are_ignored(text):
    assert quantities(text) == []


@pytest.mark.parametrize(
    ("text", "clinical"),
    [
        ("two children", False),
        ("2 friends", False),
        ("type 2 diabetes", False),
        ("worked for 20 years as a teacher", False),
        ("in 1999", False),
        ("a 67-year-old patient", True),
        ("smoked for 20 years", True),
        ("pulse is 88", True),
        ("HR 88", True),
        ("pH of 7.1", True),
        ("5 days", True),
        ("a week ago", False),
    ],
)
def test_clinical_quantities_are_recognised(text, clinical):
    (found,) = quantities(text)
    assert found.clinical is clinical


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        ("two weeks", "2-week", True),
        ("1 week", "a week", True),
        ("2-3 weeks", "two weeks, then three weeks", True),
        ("1 pack per day", "1 pack daily", True),
        ("HR 88", "88/min", True),
        ("2 weeks", "2 months", False),
        ("45 dB", "54 dB", False),
        ("120/80 mm Hg", "120/90 mm Hg", False),
        ("30 µg/mL", "30 µg/dL", False),
    ],
)
def test_quantity_in_other_words_is_kept(one, other, kept):
    (quantity,) = quantities(one)
    assert is_among(quantity, quantities(other)) is kept


def test_drugs_by_stem_and_by_list():
    text = (
        "Lisinopril, atorvastatin, vancomycin, adalimumab, aspirin, two beta-blockers and insulin."
    )
    assert list(drugs(text)) == [
        *("lisinopril", "atorvastatin", "vancomycin", "adalimumab", "aspirin", "beta blocker"),
        "insulin",
    ]
    assert drugs("Loop diuretics") == {"loop diuretic": "Loop diuretics"}


def test_a_long_dash_parts_a_drug_from_the_next_word():
    assert list(drugs("They take antacids—remedies of old—and aspirin.")) == ["antacid", "aspirin"]


def test_word_with_a_drugs_ending_is_not_a_drug():
    words = (
        "cholesterol concept accept April person peptide mongrel thymidine somatostatin Mrs. Cephal"
    )
    assert drugs(words) == {}


@pytest.mark.parametrize(
    ("text", "denied", "affirmed"),
    [
        ("No fever, chills, or cough.", "fever chills cough", ""),
        ("They deny fever and chills but have a cough.", "fever chills", "cough"),
        ("No fever, and the skin is pale.", "fever", "skin pale"),
        ("Negative for rash. A cough.", "rash", "cough"),
        ("Edema is absent.", "Edema", ""),
        ("Cocaine positive, rash negative", "rash", ""),
        ("There is no rash or itching; edema is marked.", "rash itching", "edema marked"),
        ("A nontender, non-distended abdomen.", "nontender nondistended", "abdomen"),
        ("They do not smoke and drink wine.", "smoke", "drink wine"),
        ("Not only pain but fever.", "", "pain fever"),
        ("They are afebrile.", "afebrile", ""),
    ],
)
def test_negated_findings(text, denied, affirmed):
    found = {finding.text: finding for finding in findings(text).values()}
    for word in denied.split():
        assert found[word].negated, word
        assert not found[word].affirmed, word
    for word in affirmed.split():
        assert found[word].affirmed, word
        assert not found[word].negated, word


NEUTRAL = (
    "A 67-year-old patient has a fever of 38.5 °C for 3 days and no rash. They take aspirin and "
    "report crushing substernal pressure. Which drug is next?"
)


def test_background_does_not_change_clinical_content():
    variant = NEUTRAL.replace(
        "They take", "They have two children, taught for 20 years and live at 5 Elm Road. They take"
    )
    assert content_problems(NEUTRAL, variant) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("38.5 °C", "high degree", ["number missing"]),
        ("38.5 °C", "38.5 °F", ["unit changed", "new quantity"]),
        ("3 days", "5 days", ["number missing", "new quantity"]),
        ("3 days", "three days", []),
        ("aspirin", "ibuprofen", ["drug missing", "new drug"]),
        ("no rash", "a rash", ["negation changed"]),
        ("report crushing substernal pressure", "rest", ["finding missing"]),
        ("Which drug is next?", "Which drug comes next?", ["final sentence changed"]),
        ("Which drug is next?", "", ["question missing"]),
        ("Which drug is next?", "The drug next is aspirin.", ["question turned into a statement"]),
        ("They take", "With a pulse of 110/min they take", ["new quantity"]),
    ],
)
def test_exactly_the_changes_are_detected(old, new, expected):
    assert kinds(NEUTRAL, NEUTRAL.replace(old, new)) == expected
    assert set(expected) <= set(PROBLEM_KINDS)


def test_typography_of_the_question_does_not_count_but_letters_do():
    asked = "What is this patient's next step?"
    assert kinds(asked, "What is this  patient’s next step?") == []
    assert kinds(asked, "What is the patient's next step?") == ["final sentence changed"]


def test_a_number_changed_in_the_released_texts_is_found(shared_data):
    import re

    from fairstats.benchmarks.declaration import NEUTRALIZED
    from fairstats.benchmarks.vignette_items import read_vignettes

    changed = found = 0
    for item in read_vignettes(shared_data("amqa") / "items.parquet").items:
        text = item.variants[NEUTRALIZED]
        assert content_problems(text, text) == []
        if match := re.search(r"\b\d{2,3}(?=/\d| mg|/min)", text):
            other = text.replace(match.group(), str(int(match.group()) + 7), 1)
            changed += 1
            found += "new quantity" in kinds(text, other)
    assert changed > 400
    assert found / changed > 0.97
