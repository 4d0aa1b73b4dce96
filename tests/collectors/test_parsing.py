from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.parsing import ParsedAnswer, parse_answer

OPTIONS = {
    "A": "Aspirin",
    "B": "C. difficile toxin assay",
    "C": "Coronary angiography",
    "D": "Aspirin and heparin",
}

CHOSEN = [
    # The letter alone, in its usual dress.
    ("A", "A"),
    ("C", "C"),
    ("C.", "C"),
    ("  C\n", "C"),
    ("(C)", "C"),
    ("[D]", "D"),
    ("**C**", "C"),
    ("`B`", "B"),
    ('"B"', "B"),
    ("C)", "C"),
    ("C<|im_end|>", "C"),
    ("Option D", "D"),
    ("option C.", "C"),
    ("- C", "C"),
    # The letter before the option's text, or before a reason.
    ("C: Coronary angiography", "C"),
    ("C) Coronary angiography", "C"),
    ("C. Coronary angiography", "C"),
    ("C - Coronary angiography", "C"),
    ("C — Coronary angiography", "C"),
    ("(C) Coronary angiography", "C"),
    ("C Coronary angiography", "C"),
    ("C.Coronary angiography", "C"),
    ("**C. Coronary angiography**\n\nThe ST elevation calls for it.", "C"),
    ("A. Aspirin is the best first drug.", "A"),
    ("D. Aspirin and heparin", "D"),
    ("D: the two together act fastest", "D"),
    ("A because it inhibits platelets.", "A"),
    ("C, since the artery is closed.", "C"),
    ("C\n\nExplanation: aspirin alone is not enough.", "C"),
    ("B. C. difficile toxin assay", "B"),
    ("C. I cannot give medical advice, but this is the exam's answer.", "C"),
    # A final statement.
    ("Answer: C", "C"),
    ("answer: C", "C"),
    ("ANSWER:C", "C"),
    ("**Answer: C**", "C"),
    ("**Answer:** C", "C"),
    ("### Answer\nC", "C"),
    ("Answer:\n\nC", "C"),
    ("Answer: (C)", "C"),
    ("Answer: [C]", "C"),
    ("Answer: option C", "C"),
    ("Answer: A.", "A"),
    ("Answer: A because it inhibits platelets", "A"),
    ("Answer: C. Coronary angiography", "C"),
    ("Answer C", "C"),
    ("Answer：C", "C"),
    ("Ans: D", "D"),
    ("Correct option: D", "D"),
    ("Final answer: **C**", "C"),
    ("The final answer is C.", "C"),
    (r"\boxed{C}", "C"),
    (r"The answer is $\boxed{\text{C}}$.", "C"),
    ('{"answer": "C"}', "C"),
    ('```json\n{"reasoning": "A is too weak", "answer": "C"}\n```', "C"),
    ('{"final_answer": "B"}', "B"),
    # A sentence that says it.
    ("The answer is C", "C"),
    ("The correct answer is: C", "C"),
    ("The correct answer is (C).", "C"),
    ("the best answer for a 54-year-old man is C", "C"),
    ("The best answer for A 54-year-old man is C.", "C"),
    ("The answer to the question of a man of 81.5 kg is D.", "D"),
    ("The most likely diagnosis is A.", "A"),
    ('The letter of the best option is "D."', "D"),
    ("I would choose C.", "C"),
    ("I'd go with option B.", "B"),
    ("C is the correct answer", "C"),
    ("Option C is correct.", "C"),
    ("Therefore, C is the best option.", "C"),
    ("Option C (Coronary angiography) is correct.", "C"),
    ("Aspirin alone is not enough, so the answer is C.", "C"),
    ("The answer is C, and A is wrong.", "C"),
    ("The answer is C, A is wrong.", "C"),
    # What is said last and formally counts, not what was discussed on the way.
    ("A is too weak. B tests for an infection. D may bleed.\n\nFinal answer: B", "B"),
    ("Option A: too weak.\nOption C: invasive.\nOption D: risky.\nAnswer: C", "C"),
    ("A. Aspirin\nB. C. difficile toxin assay\nC. Coronary angiography\n\nAnswer: C", "C"),
    ("At first the answer is A, one may think.\nAnswer: C", "C"),
    ("A. Aspirin\n\nThe correct answer is C. Coronary angiography.", "C"),
    ("<think>The answer is A. Or B?</think>C", "C"),
    ("I'm sorry that he suffers. The answer is C.", "C"),
    # The option's text without its letter.
    ("Coronary angiography", "C"),
    ("coronary   angiography.", "C"),
    ("Aspirin and heparin", "D"),
    ("The patient needs coronary angiography.", "C"),
    ("The pain is typical. The next step is coronary angiography.", "C"),
    ("Answer: coronary angiography", "C"),
    ("Aspirin is too weak. The answer is coronary angiography.", "C"),
    ("The answer is C. difficile toxin assay.", "B"),
]

UNPARSED = [
    None,
    "",
    " \n ",
    "E",
    "Answer: E",
    "Answer: X",
    "Answer:",
    "I do not see a question here.",
    "42",
    # Articles, names and abbreviations are not letters.
    "a",
    "c",
    "a) aspirin is one way, a stent another",
    "A 54-year-old man comes with chest pain.",
    "A man with chest pain should be seen at once.",
    "Answer: A 54-year-old man with a closed artery.",
    "The answer is A 54-year-old man.",
    "The best answer for a 54-year-old man is a stent.",
    "Vitamin C is the best choice.",
    "The cause is hepatitis B.",
    "B cells are low and the D-dimer is high.",
    "The cause is B cell lymphoma.",
    "C. perfringens grows in the wound.",
    "D. W. is a 54-year-old man.",
    # Nothing is chosen, or too much.
    "A. Aspirin\nB. C. difficile toxin assay\nC. Coronary angiography\nD. Aspirin and heparin",
    "A. Aspirin B. C. difficile toxin assay C. Coronary angiography D. Aspirin and heparin",
    "A) Aspirin\nB",
    "A\nB\nC\nD",
    "A, B, C, D",
    "A. Aspirin\n\nThe correct answer is",
    "Answer: A\nAnswer: C",
    "Final answer: A. Wait. Final answer: C.",
    "Answer: A or C",
    "Answer: A, C",
    "Answer: B/C",
    "The answer is both A and C.",
    "The answer is A and C.",
    "The answer is A. The answer is C.",
    "I would choose A. Option C is correct.",
    '{"answer": "A", "final_answer": "C"}',
    '{"answer": null}',
    r"\boxed{A} or \boxed{C}",
    "Aspirin or coronary angiography",
    "The answer is aspirin or coronary angiography.",
    # The letter says one thing and its text another.
    "A. Coronary angiography",
    "Answer: A. Coronary angiography",
    "A. Aspirin and heparin",
    # Denied or doubted.
    "The answer is not C.",
    "The answer cannot be C.",
    "The answer isn't C.",
    "Wrong answer: C",
    "I don't think the answer is C.",
    "If the answer is C, the artery is closed.",
    "Is it C?",
    "The answer is C?",
    "C is not the correct answer.",
    "I would not choose C.",
    "Option C is incorrect.",
    "Coronary angiography is not needed.",
    "Avoid aspirin.",
    # The vignette's words are not a choice, nor is half a thought.
    "The man takes aspirin every morning and",
    "He had coronary angiography last year. He now has fever.",
    "<think>The answer is C",
    "2.5 Aspirin-like drugs",
]

REFUSED = [
    "I'm sorry, but I can't help with that.",
    "I'm sorry, but I can’t provide medical advice.",
    "I cannot provide medical advice.",
    "As an AI language model, I am unable to diagnose patients.",
    "Unfortunately, I am not able to answer this question.",
    "I must decline to answer.",
    "We cannot offer a diagnosis.",
    "Thank you for your question. I cannot give you any medical advice.",
    "I can't assist with that.\nA. See a doctor.",
]


@pytest.mark.parametrize(("raw", "letter"), CHOSEN)
def test_the_chosen_letter(raw: str, letter: str) -> None:
    assert parse_answer(raw, OPTIONS) == ParsedAnswer(letter, "ok")


@pytest.mark.parametrize("raw", UNPARSED)
def test_no_guess(raw: str | None) -> None:
    assert parse_answer(raw, OPTIONS) == ParsedAnswer(None, "unparsed")


@pytest.mark.parametrize("raw", REFUSED)
def test_refusals(raw: str) -> None:
    assert parse_answer(raw, OPTIONS) == ParsedAnswer(None, "refused")


def test_what_cannot_be_given_to_a_patient_is_no_refusal() -> None:
    assert parse_answer("We cannot give aspirin to this man.", OPTIONS).status == "unparsed"


@pytest.mark.parametrize("letter", "ABCD")
def test_every_letter_is_read_alike(letter: str) -> None:
    # A parser that reads one letter less often than another would bias the accuracy itself.
    options = dict.fromkeys("ABCD", "") | {key: f"{key.lower()}-text" for key in "ABCD"}
    for form in ("{}", "({})", "{}.", "Answer: {}", "The answer is {}.", "{} is correct.", "{}: x"):
        assert parse_answer(form.format(letter), options).letter == letter, form
        assert parse_answer(form.format(letter.lower()), options).letter is None, form


def test_options_of_another_number_and_empty_ones() -> None:
    options = {"A": "yes", "B": "no", "E": ""}
    assert parse_answer("Answer: E", options).letter == "E"
    assert parse_answer("Answer: C", options).letter is None
    assert parse_answer("C", {}) == ParsedAnswer(None, "unparsed")


def test_numbers_are_named_whole() -> None:
    options = {"A": "5 mg", "B": "15 mg", "C": "2.5 mg", "D": "5 mg/kg"}
    assert parse_answer("Give 5 mg.", options).letter == "A"
    assert parse_answer("Give 2.5 mg.", options).letter == "C"
    assert parse_answer("Give 5 mg/kg.", options).letter == "D"
    assert parse_answer("Give 0.5 mg.", options).letter is None


PIECES = st.sampled_from(
    [
        "A",
        "B.",
        "C",
        "D)",
        "a",
        "answer",
        "Answer:",
        "is",
        "the",
        "not",
        "or",
        ",",
        "\n",
        "\\boxed{",
        "}",
        '"',
        "<think>",
        "help",
        "Aspirin",
        "aspirin and heparin",
        "C. difficile",
        "I can't",
    ]
)
TEXTS = st.text() | st.lists(PIECES).map(" ".join) | st.lists(PIECES).map("".join)


@given(TEXTS, st.dictionaries(st.sampled_from("ABCDEZ"), st.text() | PIECES, max_size=5))
def test_any_text_gives_a_letter_of_the_options_or_none(raw: str, options: dict[str, str]) -> None:
    answer = parse_answer(raw, options)
    assert answer.letter is None or answer.letter in options
    assert (answer.letter is not None) == (answer.status == "ok")


@pytest.mark.parametrize(
    "piece",
    [
        "x",
        " ",
        "\n",
        "A",
        "A ",
        "A, ",
        "A. ",
        "A/",
        "(",
        "answer ",
        "answer is ",
        "answer: A\n",
        "option ",
        "is ",
        "not ",
        "aspirin ",
        "I can't ",
        "\\boxed{A} ",
        "the answer is A, B or C ",
    ],
)
def test_a_megabyte_takes_no_more_than_its_length(piece: str) -> None:
    begin = time.perf_counter()
    parse_answer(piece * (1_000_000 // len(piece)), OPTIONS)
    assert time.perf_counter() - begin < 10  # a search that backtracks takes hours


def test_the_answer_behind_a_megabyte_is_found() -> None:
    assert parse_answer("He has pain. " * 80_000 + "\nAnswer: C", OPTIONS).letter == "C"
