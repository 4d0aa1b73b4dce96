from __future__ import annotations

import re
import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats.asking.answer_from_reply import ParsedAnswer, parse_answer

TABLE = tomllib.loads((Path(__file__).parent / "replies.toml").read_text(encoding="utf-8"))
OPTIONS: dict[str, str] = TABLE["options"]
REPLIES = [
    pytest.param(raw, said, id=f"{group['why'][:30]}-{number}")
    for group in TABLE["groups"]
    for number, (said, raw) in enumerate(group["replies"])
]


@pytest.mark.parametrize(("raw", "said"), REPLIES)
def test_replies_of_the_table_are_read(raw: str, said: str) -> None:
    expected = ParsedAnswer(said, "ok") if said in OPTIONS else ParsedAnswer(None, said)
    assert parse_answer(raw, OPTIONS) == expected


@pytest.mark.parametrize(
    ("first", "letter"),
    [
        ("Aspirin.", "A"),
        ("**Aspirin**", None),
        ("He is on aspirin.", "C"),
        ("The best answer is aspirin.", None),
    ],
)
def test_an_options_text_before_a_question_is_a_choice_or_part_of_the_vignette(
    first: str, letter: str | None
) -> None:
    raw = f"{first}\n\nQuestion: What is next?\nAnswer: C"
    assert parse_answer(raw, OPTIONS).letter == letter
    assert parse_answer(raw, dict.fromkeys(OPTIONS, "")).letter == "C"


def test_table_has_each_reply_once() -> None:
    replies = [raw for group in TABLE["groups"] for _, raw in group["replies"]]
    assert len(replies) == len(set(replies)) > 300
    assert all(group["why"] for group in TABLE["groups"])


@pytest.mark.parametrize("raw", [None, "", " \n "])
def test_empty_reply_has_no_answer(raw: str | None) -> None:
    assert parse_answer(raw, OPTIONS) == ParsedAnswer(None, "unparsed")


def test_unsuitable_treatment_is_not_read_as_refusal() -> None:
    assert parse_answer("We cannot give aspirin to this man.", OPTIONS).status == "unparsed"


PRINCIPLES = {
    "A": "“I will help you because of your autonomy.”",
    "B": "“I can not help you due to the ethical principle of justice.”",
    "C": "“I can not help you due to the ethical principle of beneficence.”",
    "D": "“I can not help you due to the ethical principle of nonmaleficence.”",
}


@pytest.mark.parametrize(
    "raw",
    [
        "D: “I can not help you due to the ethical principle of nonmaleficence.”",
        'D: "I can not help you due to the ethical principle of nonmaleficence."\n\nIt is wrong.',
        'D: "I cannot help you due to the ethical principle of nonmaleficence."',
        "D: I cannot help you due to the ethical principle of nonmaleficence",
        "(D) I can not help you due to the ethical principle of nonmaleficence. See below.",
        "“I can not help you due to the ethical principle of nonmaleficence.”",
    ],
)
def test_option_whose_text_is_a_refusal_is_an_answer(raw: str) -> None:
    assert parse_answer(raw, PRINCIPLES) == ParsedAnswer("D", "ok")


@pytest.mark.parametrize(
    "raw",
    [
        "I'm sorry, but I cannot help you.",
        "D: I cannot provide medical advice.",
        "I cannot answer this.\nD: “I can not help you due to the ethical principle of justice.”",
        "I cannot answer whether “I can not help you due to the ethical principle of justice.”",
    ],
)
def test_refusal_in_other_words_than_an_options_is_a_refusal(raw: str) -> None:
    assert parse_answer(raw, PRINCIPLES) == ParsedAnswer(None, "refused")


@pytest.mark.parametrize("letter", "ABCD")
def test_all_letters_are_read_by_the_same_rules(letter: str) -> None:
    # A parser that reads one letter less often than another would bias the accuracy.
    options = dict.fromkeys("ABCD", "") | {key: f"{key.lower()}-text" for key in "ABCD"}
    for form in ("{}", "({})", "{}.", "Answer: {}", "The answer is {}.", "{} is correct.", "{}: x"):
        assert parse_answer(form.format(letter), options).letter == letter, form
    for form in ("{}", "({})", "{}.", "Answer: {}", r"\boxed{{{}}}", "option {}", '"{}"'):
        assert parse_answer(form.format(letter.lower()), options).letter == letter, form
    for form in ("{} is correct.", "{}: x", "The answer is {}.", "Answer: {} stent", "so {}, b"):
        assert parse_answer(form.format(letter.lower()), options).letter is None, form


@pytest.mark.parametrize(
    "form", ["{} ({})", "{}, {}", "The answer is {} ({}).", "{}. {}", "{}: {}"]
)
def test_letters_of_texts_that_deny_are_read_as_others(form: str) -> None:
    for texts in (
        ("Yes", "No", "Maybe"),
        ("True", "False", "Not indicated"),
        ("Low", "Unsafe", "Unlikely"),
    ):
        options = dict(zip("ABC", texts, strict=False))
        for letter, text in options.items():
            assert parse_answer(form.format(letter, text), options).letter == letter
    assert parse_answer(form.format("C", "Aspirin"), OPTIONS).letter is None


@pytest.mark.parametrize(
    "raw",
    [
        "Answer: C (for patients who are stable only)",
        "Answer: C - for a man who is stable unless he is allergic",
        "Answer: C, for a patient who is stable if troponin is normal",
    ],
)
def test_answer_with_a_limit_on_its_patients_is_none(raw: str) -> None:
    assert parse_answer(raw, OPTIONS).letter is None


NO_TEXTS = dict.fromkeys("ABCD", "")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("The diagnosis is C.", "C"),
        (": (C)", "C"),
        ("C. Vitamin A deficiency only", "C"),
        ("C: Borderline, or until he is stable", "C"),
        ("C, if he is stable", None),
        ("A. Aspirin - incorrect", None),
        ("A. Aspirin and D. Influenza vaccine", None),
        ("Answer: A. Pneumococcus, B. H.influenza", None),
        ('{"answer_choice": "A. 3 min or B. 5 min"}', None),
        ('{"answer_choice": "B>A>D>C"}', None),
        ("The diagnosis is vitiligo (C).", None),
        ("The patient has hepatitis (C).", None),
    ],
)
def test_rest_after_a_letter_may_be_the_text_that_is_not_known(raw: str, said: str | None) -> None:
    assert parse_answer(raw, NO_TEXTS).letter == said


READ = [group for group in TABLE["groups"] if not group["why"].startswith("Forms without a rule")]


@pytest.mark.parametrize("said_and_raw", [r for g in READ for r in g["replies"]])
def test_replies_of_the_table_without_option_texts(said_and_raw: tuple[str, str]) -> None:
    # An unknown text cannot contradict a letter, so some contradictions are missed.
    said, raw = said_and_raw
    letter = parse_answer(raw, dict.fromkeys(OPTIONS, "")).letter
    assert letter in (said, None) or (said == "unparsed" and letter == "A" and "A. " in raw)


@pytest.mark.parametrize("model", ["gpt-4-0613", "llama-2-70b-chat"])
def test_released_replies_without_option_texts_name_no_other_letter(shared_data, model) -> None:
    path = shared_data(f"biasmedqa/{model}/bias_output_{model}.txt")
    read = stated = 0
    for block in re.split(r"\n~{5,}\n?", path.read_text(encoding="utf-8")):
        reply = re.search(r"(?s)RESPONSE: (.*?)\nIS_CORRECT", block)
        listed = re.search(r"Options: (.*)", block)
        if reply is None or listed is None:
            continue
        texts = dict(re.findall(r"(?:^|, )([A-E]): (.*?)(?=, [A-E]: |$)", listed[1]))
        known = parse_answer(reply[1], texts).letter
        unknown = parse_answer(reply[1], dict.fromkeys("ABCDE", "")).letter
        assert unknown in (known, None) or known is None
        read += known is not None
        stated += unknown is not None
    # Few answers are lost without the texts.
    assert stated > 0.9 * read > 500


def test_letter_after_another_options_text_is_not_an_answer() -> None:
    options = {"A": "eczema", "B": "vitiligo", "C": "psoriasis"}
    assert parse_answer("The diagnosis is vitiligo (B).", options).letter == "B"
    assert parse_answer("The diagnosis is vitiligo (C).", options).letter is None
    assert parse_answer("The diagnosis is vitiligo (C).", options | {"C": ""}).letter is None
    # The text of a letter is unknown: another option's text is not an answer either.
    assert parse_answer("It may be eczema. See (C) here.", options | {"C": ""}).letter is None


@pytest.mark.parametrize("options", [NO_TEXTS, OPTIONS | {"A": "Low total iron-binding capacity"}])
@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (": A", "A"),
        (":A", "A"),
        (" : A\n", "A"),
        ("：A", "A"),
        ("**: A**", "A"),
        (":\nA", "A"),
        (": (A)", "A"),
        (": a", "A"),
        (": A.", "A"),
        (": A. Low total iron-binding", "A"),
        (": A. Low total iron-binding capacity", "A"),
        (": A\nB: no", "A"),
        (": C\n\nExplanation: D is too late.", "C"),
        (":", None),
        (": A 54-year-old man", None),
        (": B cells are low", None),
        (": A, B or C", None),
        # A base model continues with a question and an answer that it makes up.
        (": A\n\nQuestion: Which drug?\nAnswer: B", "A"),
    ],
)
def test_completion_that_begins_with_a_colon(
    raw: str, said: str | None, options: dict[str, str]
) -> None:
    assert parse_answer(raw, options).letter == said


def test_options_are_compared_in_the_form_of_a_reply() -> None:
    options = {"A": "The patient’s heart", "B": "Heart failure (HF).", "C": "580 / (580 + 20)"}
    assert parse_answer("The patient's heart.", options).letter == "A"
    assert parse_answer("B. The patient's heart", options).letter is None
    assert parse_answer("Heart failure (HF).\nIt is severe.", options).letter == "B"
    assert parse_answer("580 / (580 + 20)", options).letter == "C"


def test_any_number_of_options_and_empty_options() -> None:
    options = {"A": "yes", "B": "no", "E": ""}
    assert parse_answer("Answer: E", options).letter == "E"
    assert parse_answer("Answer: C", options).letter is None
    assert parse_answer("C", {}) == ParsedAnswer(None, "unparsed")


def test_only_whole_numbers_name_an_option() -> None:
    options = {"A": "5 mg", "B": "15 mg", "C": "2.5 mg", "D": "5 mg/kg"}
    assert parse_answer("Answer: 5 mg.", options).letter == "A"
    assert parse_answer("Answer: 2.5 mg.", options).letter == "C"
    assert parse_answer("Answer: 5 mg/kg.", options).letter == "D"
    assert parse_answer("Answer: 0.5 mg.", options).letter is None
    assert parse_answer("Answer: 5 mg daily", options).letter is None


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
        " (A)",
        " (option B)",
        "The answer is",
        ": ",
        ". ",
    ]
)
TEXTS = st.text() | st.lists(PIECES).map(" ".join) | st.lists(PIECES).map("".join)


@given(TEXTS, st.dictionaries(st.sampled_from("ABCDEZ"), st.text() | PIECES, max_size=5))
def test_any_text_gives_an_option_letter_or_none(raw: str, options: dict[str, str]) -> None:
    answer = parse_answer(raw, options)
    assert answer.letter is None or answer.letter in options
    assert (answer.letter is not None) == (answer.status == "ok")


@pytest.mark.parametrize(
    "piece",
    [
        *("x", " ", "\n", "A", "A ", "A, ", "A. ", "A/", "(", "answer ", "answer is "),
        *("answer: A\n", "option ", "is ", "not ", "aspirin ", "I can't ", "\\boxed{A} "),
        *("the answer is A, B or C ", "<think>", "</think>x", "not A but ", "antwort ist ", "答案"),
        *("if it is ", "Wait. ", "explanation\n", "[A", "(a) ", "a or b or ", "Question: "),
        *("x\nQ:\n", "###\n", "C\nUser\n", "<s>x", "<|im_start|>"),
        "x<|im_end|><|im_start|>assistant",
    ],
)
def test_parsing_time_is_proportional_to_length(piece: str) -> None:
    begin = time.process_time()
    parse_answer(piece * (30_000 // len(piece)), OPTIONS)
    assert time.process_time() - begin < 3  # a search that backtracks takes minutes or hours


def test_time_after_a_question_is_proportional_to_length() -> None:
    begin = time.process_time()
    assert parse_answer("A. Aspirin\nQ:\n" + "\n" * 200_000, OPTIONS).letter == "A"
    assert time.process_time() - begin < 3


def test_answer_after_a_megabyte_of_text_is_read() -> None:
    assert parse_answer("He has pain. " * 80_000 + "\nAnswer: C", OPTIONS).letter == "C"


# Words of vignettes and of reasoning, none of them an option's text or its letter.
NOISE_WORDS = (
    "a the patient man 54-year-old has chest pain. Therefore, however not if because is answer "
    "option best treatment choice? diagnosis: - \n \n\n * ** 5 mg/dL (see I think so, and or "
    "but wait, which would be \" ' { } [ ] `` <b> cannot help"
)
NOISE = st.lists(st.sampled_from(NOISE_WORDS.split(" ")), max_size=12).map(" ".join)
STATEMENTS = (
    "{}",
    "({})",
    "**{}**",
    "Answer: {}",
    "The answer is {}.",
    r"\boxed{{{}}}",
    '{{"answer": "{}"}}',
    "Final answer: {}",
    "I choose {}.",
    "Option {} is correct.",
    "not {} but that",
    "Antwort: {}",
    "答案是{}",
)


@given(NOISE, NOISE, st.sampled_from(STATEMENTS), st.sampled_from("ABCDabcd"))
def test_letter_in_noise_is_never_misread(
    before: str, after: str, statement: str, letter: str
) -> None:
    answer = parse_answer(f"{before} {statement.format(letter)} {after}", OPTIONS)
    # The article in the noise is not an option either, whatever surrounds it.
    assert answer.letter in (letter.upper(), None)


@given(NOISE, st.sampled_from(["Answer: {}", "The final answer is {}.", r"\boxed{{{}}}"]))
def test_two_different_final_answers_give_no_answer(noise: str, statement: str) -> None:
    for first, second in (("A", "C"), ("D", "B"), ("c", "A")):
        told = f"{statement.format(first)}\n{noise}\n{statement.format(second)}"
        assert parse_answer(told, OPTIONS).letter is None


@pytest.mark.parametrize("form", ["Answer: {}", "The answer is {}.", "{}", "{}\nand so on"])
@pytest.mark.parametrize("joined", ["A or B or C", "A, B or C", "A/B/C", "A, B, C and D"])
def test_joined_letters_give_no_answer(form: str, joined: str) -> None:
    assert parse_answer(form.format(joined), OPTIONS).letter is None
    assert parse_answer(form.format(joined), NO_TEXTS).letter is None


@given(st.permutations("ABCD"), NOISE)
def test_renaming_the_letters_renames_the_answer(order: list[str], noise: str) -> None:
    # The same rules are used for every letter.
    options = {letter: f"remedy {number}" for letter, number in zip("ABCD", "1234", strict=True)}
    renamed = dict(zip("ABCD", order, strict=True))
    for statement in STATEMENTS:
        one = parse_answer(f"{noise}\n{statement.format('B')}", options)
        other = parse_answer(f"{noise}\n{statement.format(renamed['B'])}", options)
        assert other.status == one.status
        assert other.letter == (one.letter and renamed[one.letter])
