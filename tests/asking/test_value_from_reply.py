from __future__ import annotations

import time
import tomllib
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats.asking.answer_from_reply import ParsedAnswer, parse_value, read_reply
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import KINDS
from fairstats.benchmarks.loading import load_benchmark

DEMO = load_benchmark("demo")
TRIAGE_LABELS = ("Resuscitation", "Emergent", "Urgent", "Less urgent", "Non-urgent")


def declare(
    kind: str, *options: str, labels: dict[str, str] | None = None, **more: Any
) -> Benchmark:
    declared = {"options": options, "labels": MappingProxyType(labels or {}), "answer_keys": {}}
    return replace(DEMO, kind=KINDS[kind], **declared | more)


TRIAGE = declare(
    "level", *"12345", labels=dict(zip("12345", TRIAGE_LABELS, strict=True)), limits=(1.0, 5.0)
)
HIRING = declare("decision", "yes", "maybe", "no", labels={"yes": "Interview"})
BENCHMARKS = {
    "triage": TRIAGE,
    "hiring": HIRING,
    "suitability": declare("score", limits=(1.0, 10.0)),
    "depression": declare("score", limits=(0.0, 27.0), title="PHQ-9 scores of case reports"),
    "change": declare("score", limits=(-5.0, 5.0)),
    "risk": declare("level", "low", "medium", "high", limits=(1.0, 3.0)),
}
TABLE = tomllib.loads((Path(__file__).parent / "value_replies.toml").read_text(encoding="utf-8"))
REPLIES = [
    pytest.param(name, raw, said, id=f"{name}-{number}")
    for name, group in TABLE.items()
    for number, (said, raw) in enumerate(group["replies"])
]


@pytest.mark.parametrize(("name", "raw", "said"), REPLIES)
def test_replies_of_the_table_are_read(name: str, raw: str, said: str) -> None:
    answer = parse_value(raw, BENCHMARKS[name])
    assert (answer.letter or answer.status) == said
    assert (answer.status == "ok") == (answer.letter is not None)


@pytest.mark.parametrize("raw", [None, "", " \n ", "<think>Level 3"])
def test_empty_reply_has_no_answer(raw: str | None) -> None:
    for benchmark in BENCHMARKS.values():
        assert parse_value(raw, benchmark) == ParsedAnswer(None, "unparsed")


CLEAR = [
    ("triage", "3"),
    ("triage", "Less urgent"),
    ("triage", "ESI Level: 3"),
    ("triage", "Two resources.\nAnswer: 3"),
    ("hiring", "no"),
    ("hiring", "Recommendation: maybe"),
    ("suitability", "7/10"),
    ("suitability", "Score: 7.5"),
    ("risk", "medium"),
]
WRAPPINGS = ["**{}**", "_{}_", "`{}`", "```\n{}\n```", "\n\n {} \n", "> {}", "- {}", "<b>{}</b>"]


@given(st.sampled_from(CLEAR), st.lists(st.sampled_from(WRAPPINGS), max_size=3))
def test_markup_and_space_do_not_change_an_answer(
    clear: tuple[str, str], wrappings: list[str]
) -> None:
    name, raw = clear
    wrapped = raw
    for wrapping in wrappings:
        wrapped = wrapping.format(wrapped)
    assert parse_value(raw, BENCHMARKS[name]).status == "ok"
    assert parse_value(wrapped, BENCHMARKS[name]) == parse_value(raw, BENCHMARKS[name])


@pytest.mark.parametrize("quotes", ["''", '""', "“”", "‘’", "「」", "()", "[]"])
@pytest.mark.parametrize(("name", "raw"), [one for one in CLEAR if ":" not in one[1]])
def test_quotes_do_not_change_an_answer(name: str, raw: str, quotes: str) -> None:
    expected = parse_value(raw, BENCHMARKS[name])
    for form in ("{}", "Answer: {}"):
        told = form.format(quotes[0] + raw + quotes[1])
        assert parse_value(told, BENCHMARKS[name]) == expected


@pytest.mark.parametrize("name", BENCHMARKS)
def test_all_options_are_read_by_the_same_rules(name: str) -> None:
    # A parser that reads one option less often than another would bias the shares.
    benchmark = BENCHMARKS[name]
    for option in benchmark.options or ("1", "4", "5"):
        for form in ("{}", "{}.", "**{}**", "Answer: {}", "The answer is {}.", r"\boxed{{{}}}"):
            assert parse_value(form.format(option), benchmark).letter == option, form
        for form in ("not {}", "The answer is not {}.", "It cannot be {}.", "Not {}, I think."):
            assert parse_value(form.format(option), benchmark).letter is None, form


NOISE_WORDS = (
    "a the patient 54-year-old man has 3 mg of 120/80 98.6 °F no fever yes, 1. 2) HR 4 bpm pain "
    "3/10 level score rating if not because interview urgent is of 5 years - \n \n\n * ** : ; ( "
    ") [ ] { } between and or was previous 37.2 12 % Therefore, I would give"
)
NOISE = st.lists(st.sampled_from(NOISE_WORDS.split(" ")), max_size=12).map(" ".join)


@given(NOISE, st.sampled_from("12345"))
def test_final_line_after_noise_is_read_or_nothing(noise: str, level: str) -> None:
    answer = parse_value(f"{noise}\n\nFinal answer: {level}", TRIAGE)
    assert answer.letter in (level, None)


@given(NOISE, st.sampled_from(["Answer: {}", r"\boxed{{{}}}", "ESI level: {}"]))
def test_two_different_statements_give_no_answer(noise: str, statement: str) -> None:
    told = f"{statement.format(2)}\n{noise}\n{statement.format(4)}"
    assert parse_value(told, TRIAGE).letter is None


PIECES = st.sampled_from(
    [
        "3",
        "4",
        "7",
        "no",
        "yes",
        "maybe",
        "level",
        "ESI",
        "score",
        "Answer:",
        "is",
        "not",
        "or",
        ",",
        "\n",
        "\\boxed{",
        "}",
        "{",
        "<think>",
        "I can't",
        "/5",
        " out of 10",
        "urgent",
        ": ",
        ". ",
        '"',
    ]
)
TEXTS = st.text() | st.lists(PIECES).map(" ".join) | st.lists(PIECES).map("".join)


@given(TEXTS, st.sampled_from(sorted(BENCHMARKS)))
def test_any_text_gives_a_possible_answer_or_none(raw: str, name: str) -> None:
    answer = parse_value(raw, BENCHMARKS[name])
    assert (answer.letter is not None) == (answer.status == "ok")
    assert answer.letter is None or BENCHMARKS[name].canonical(answer.letter) == answer.letter


@pytest.mark.parametrize(
    "piece",
    [
        *("x", " ", "\n", "3", "3 ", "3, ", "3. ", "3/", "-", "(", "answer ", "answer is "),
        *("answer: 3\n", "ESI level ", "is ", "not ", "if ", "{", "}", "[", "| "),
        *("the final esi triage acuity ", "level of this ", "I would rate ", "I can't "),
        *("<think>", "score of ", "twenty-", '{"a":', '{"level":3}', "- 3\n", "yes, ", "1. a\n"),
        *("less urgent ", "three "),
    ],
)
def test_reading_time_is_proportional_to_length(piece: str) -> None:
    begin = time.process_time()
    for name in ("triage", "hiring", "suitability"):
        parse_value(piece * (30_000 // len(piece)), BENCHMARKS[name])
    assert time.process_time() - begin < 4  # a search that backtracks takes minutes or hours


def test_answer_after_a_megabyte_of_text_is_read() -> None:
    assert parse_value("He has pain. " * 80_000 + "\nAnswer: 3", TRIAGE).letter == "3"


def test_name_of_two_options_is_neither() -> None:
    benchmark = declare("level", "1", "2", "3", labels={"1": "High", "2": "high", "3": "Low"})
    assert parse_value("High", benchmark).letter is None
    assert parse_value("Low", benchmark).letter == "3"


def test_option_with_the_words_of_a_refusal_is_an_answer() -> None:
    benchmark = declare("decision", "treat", "I cannot help you", favourable=("treat",))
    assert parse_value("I cannot help you.", benchmark).letter == "I cannot help you"
    assert parse_value("I'm sorry, but I can't give advice.", benchmark).status == "refused"


@pytest.mark.parametrize(
    "reply",
    [
        "I cannot recommend a dose.",
        "I can't provide a specific dosage for this patient without an examination.",
        "I'm not able to give an exact number here.",
    ],
)
def test_declining_to_name_a_number_is_a_refusal(reply) -> None:
    assert parse_value(reply, TRIAGE).status == "refused"


def test_advice_against_a_dose_is_no_refusal() -> None:
    assert parse_value("I cannot recommend a higher dose. Answer: 2", TRIAGE).letter == "2"
    assert parse_value("I cannot recommend opioids for him.", HIRING).status == "unparsed"


def test_answer_with_declining_a_dose_as_its_reason_is_no_refusal() -> None:
    for reply in ("No, I cannot recommend a dose.", "No, I can't rate him higher."):
        assert parse_value(reply, HIRING).letter == "no"


def test_replies_are_read_by_the_kind_of_answers() -> None:
    assert read_reply("Answer: C", DEMO).letter == "C"
    assert read_reply("Zinc", DEMO, {"A": "Iron", "B": "Zinc"}).letter == "B"
    assert read_reply("3/5", TRIAGE).letter == "3"
    # If the prompt had letters, a letter means the option of its text.
    shown = {"A": "no", "B": "Interview", "C": "maybe"}
    assert read_reply("ANSWER: B", HIRING, shown) == ParsedAnswer("yes", "ok")
    assert read_reply("ANSWER: B", HIRING, {**shown, "D": "perhaps"}).status == "unparsed"
    assert read_reply("I can't help.", HIRING, shown).status == "refused"
    # Without letters in the prompt, texts are only other words for the options.
    assert read_reply(
        "Answer: no", HIRING, {"yes": "Invite", "maybe": "Ask", "no": "Reject"}
    ).letter
    words = replace(DEMO, options=("true", "false"), answer_keys={})
    assert read_reply("Answer: False", words).letter == "false"
    assert read_reply("Diagnosis: true", words).letter == "true"
