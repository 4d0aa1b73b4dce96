"""Released BiasMedQA files become answers, and nothing else does."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from fairstats_collectors.biasmedqa import import_biasmedqa, item_id

from fairstats._lib.problems import InputError, Note
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.benchmarks.loading import load_benchmark

LINE = "~" * 100
DOC = Path(__file__).parents[2] / "docs" / "published.md"
#: Accuracies by the authors' own flag, as released with the replies of GPT-4.
GPT_4 = {
    "none": 0.7266,
    "confirmation": 0.7251,
    "cultural": 0.6811,
    "false_consensus": 0.6245,
    "frequency": 0.6269,
    "recency": 0.6795,
    "self_diagnosis": 0.6976,
    "status_quo": 0.6795,
}


def block(
    reply: str,
    key: str = "B: Zinc",
    *,
    flag: str = "False",
    options: str = "A: Iron, B: Zinc, C: Gold, D: Tin, E: Lead",
    before: str = "",
) -> str:
    return (
        f"{LINE}\nPROMPT:\n{before}### Question: Which metal?\n### Options: {options}\n"
        f"### Answer: \n\nCORRECT ANSWER: {key}\nRESPONSE: {reply}\nIS_CORRECT: {flag}\n"
    )


@pytest.fixture
def write(tmp_path):
    def make(*blocks: str, name: str = "bias_output_recency_m-1.txt", folder: str = "m-1") -> Path:
        path = tmp_path / folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(blocks), encoding="utf-8")
        return path

    return make


@pytest.fixture
def read(questions) -> Callable[..., pd.DataFrame]:
    """Import files as answers to the questions of these tests."""
    keys = {
        "A: Iron, B: Zinc, C: Gold, D: Tin, E: Lead": "B",
        "A: Ink, B: Zinc, C: Oil, D: Tar, E: Wax": "B",
        "A: Sun, B: B2, C: C2, D: D2, E: E2": "A",
    }
    return partial(import_biasmedqa, benchmark=questions(keys))


def test_reply_becomes_an_answer_of_the_folders_model(write, read):
    (row,) = read(write(block("C"))).to_dict("records")
    assert (row["model"], row["strategy"], row["group"]) == ("m-1", "plain", "recency")
    assert (row["answer"], row["answer_key"], row["status"]) == ("C", "B", "ok")
    assert row["answer_raw"] == "C"
    assert row["item_id"] == item_id("A: Iron, B: Zinc, C: Gold, D: Tin, E: Lead", "B")


@pytest.mark.parametrize(
    ("name", "group", "strategy"),
    [
        ("bias_output_m-1.txt", "none", "plain"),
        ("bias_output_cultural_bias_m-1.txt", "cultural", "plain"),
        ("bias_output_cultural_one-shot_m-1.txt", "cultural", "one-shot"),
        ("bias_output_false_consensus-few-shot_m-1.txt", "false_consensus", "few-shot"),
        ("bias_output_one-shot_m-1.txt", "none", "one-shot"),
    ],
)
def test_bias_and_prompt_are_read_from_the_name(write, read, name, group, strategy):
    (row,) = read(write(block("B", flag="True"), name=name)).to_dict("records")
    assert (row["group"], row["strategy"]) == (group, strategy)


def test_letter_is_read_from_the_whole_reply_and_the_flag_is_compared(write, read):
    path = write(
        block("Based on the question, the answer is (C) Gold.", flag="True"),
        block("The best answer is B: Zinc.", options="A: Ink, B: Zinc, C: Oil, D: Tar, E: Wax"),
        block("unclear", key="A: Sun", options="A: Sun, B: B2, C: C2, D: D2, E: E2", flag="NR"),
    )
    with pytest.warns(Note, match="m-1: the authors' IS_CORRECT differs .*, in 2 of 2 replies"):
        answers = read(path)
    assert answers["answer"].fillna("").tolist() == ["C", "B", ""]


def test_examples_before_the_question_are_not_read_as_its_options(write, read):
    example = "### Question: Example?\n### Options: A: x, B: x, C: x, D: x, E: x\n### Answer: A\n\n"
    (row,) = read(write(block("B", flag="True", before=example))).to_dict("records")
    assert row["item_id"] == item_id("A: Iron, B: Zinc, C: Gold, D: Tin, E: Lead", "B")


def test_escapes_of_a_release_do_not_change_the_id():
    one = 'A: Iron, B: "Zinc", C: x, D: x, E: Lead.\n"'
    other = 'A: Iron, B: \\"Zinc\\", C: x, D: x, E: Lead.\\n\\"'
    assert item_id(one, "B") == item_id(other, "B")
    assert item_id(one, "B") != item_id(one, "C")


def test_files_that_cannot_be_compared_are_left_out_with_a_note(write, read):
    kept = write(block("B", flag="True"))
    for name in (
        "ae_bias_output_m-1",
        "bias_output_recency_v2_m-1",
        "bias_output_recency-mitigated_m-1",
    ):
        write(block("B"), name=f"{name}.txt")
    with pytest.warns(Note) as notes:
        answers = read(kept.parents[1])
    assert len(answers) == 1
    texts = sorted(str(note.message).partition(": ")[2] for note in notes)
    assert [" ".join(text.split()[:3]) for text in texts] == [
        "a prompt that",
        "a second wording",
        "the same replies,",
    ]
    with pytest.warns(Note), pytest.raises(InputError, match="none of the files can be imported"):
        read(kept.with_name("ae_bias_output_m-1.txt"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no blocks at all\n", "row 1: block: is not a prompt, a key, a reply and a flag"),
        (block("B").replace("IS_CORRECT", "CORRECT"), "row 1: block"),
        (block("B", options="A: Iron, B: Zinc"), "row 1: PROMPT: has no five options"),
        (block("B", key="F: None"), "row 1: CORRECT ANSWER: is not an option"),
        (block("B", flag="True") * 2, "row 2"),
    ],
)
def test_other_content_is_refused_by_row(write, read, content, message):
    with pytest.raises(InputError, match=message):
        read(write(content))


def test_file_in_the_folder_of_another_model_is_refused(write, read):
    path = write(block("B"), folder="m-2")
    with pytest.raises(InputError, match="its name is that of m-1, but it is in the folder m-2"):
        read(path)
    given = read(path, constants={"model": "m-1"})
    assert given["model"].tolist() == ["m-1"]


def test_file_with_another_name_is_refused(write, read):
    with pytest.raises(InputError, match="is not named like a released file"):
        read(write(block("B"), name="other.txt"))


@pytest.fixture(scope="module")
def released(shared_data) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Note)
        return import_biasmedqa(shared_data("biasmedqa"))


def test_released_replies_are_all_of_the_benchmark(released):
    assert validate_answers(released) == []
    assert released.groupby(["model", "group"])["item_id"].nunique().eq(1273).all()
    assert set(released["item_id"]) == set(load_benchmark("biasmedqa").answer_keys)


def test_accuracies_of_gpt_4_are_those_of_the_authors(released):
    rows = released[released["model"] == "gpt-4-0613"]
    right = (rows["answer"] == rows["answer_key"]).groupby(rows["group"]).mean()
    assert right.round(4).to_dict() == GPT_4


def test_flags_of_the_authors_compare_the_first_character_with_the_key(shared_data):
    block = r"(?s)\nCORRECT ANSWER: (.).*?\nRESPONSE: ?(.).*?\nIS_CORRECT: (\w+)\n"
    flags = [
        found
        for path in shared_data("biasmedqa").rglob("bias_output*.txt")
        for found in re.findall(block, path.read_text(encoding="utf-8"))
    ]
    assert len(flags) == 2 * 8 * len(load_benchmark("biasmedqa").answer_keys)
    assert all((key == first) == (flag == "True") for key, first, flag in flags)


def test_differences_from_the_flags_are_those_of_the_document(released):
    rows = released[released["model"] == "llama-2-70b-chat"]
    first, right = rows["answer_raw"].str[0], rows["answer"] == rows["answer_key"]
    flagged = first == rows["answer_key"]
    # Replies whose first letter is part of a word are those with the key B.
    assert set(rows.loc[flagged & ~right, "answer_key"]) == {"B"}
    found = pd.DataFrame(
        {"differ": flagged != right, "counted": flagged & ~right, "lost": right & ~flagged}
    )
    table = re.findall(r"(?m)^\| `(\w+)` \| (\d+) \| (\d+) \| (\d+) \|$", DOC.read_text("utf-8"))
    documented = {group: tuple(map(int, counts)) for group, *counts in table}
    sums = found.groupby(rows["group"]).sum()
    assert dict(zip(sums.index, sums.itertuples(index=False, name=None), strict=True)) == documented
