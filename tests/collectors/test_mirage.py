"""Released MIRAGE predictions become answers, and nothing else does."""

from __future__ import annotations

import json

import pytest
from fairstats_collectors.mirage import import_mirage
from typer.testing import CliRunner

from fairstats import InputError, load_benchmark
from fairstats.answers.files import write_answer_sets
from fairstats.cli import app

COT = "bioasq/cot/OpenAI/gpt-4-32k"
RAG = "bioasq/rag_32/OpenAI/gpt-4-32k/medcorp/RRF-4"
#: Three questions of the data set.
ITEMS = ("5be44bef133db5eb78000014", "5be44f50133db5eb78000017", "5be47bff133db5eb78000018")


def reply(choice: str) -> str:
    return json.dumps({"step_by_step_thinking": 'Not "A".', "answer_choice": choice})


@pytest.fixture
def write(tmp_path):
    def make(path: str, replies: object, item: str = ITEMS[0], split: str = "test"):
        file = tmp_path / "prediction" / path / f"{split}_{item}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(replies))
        return tmp_path / "prediction"

    return make


@pytest.mark.filterwarnings("ignore::fairstats._lib.problems.Note")
@pytest.mark.parametrize(
    ("said", "letter", "status"),
    [
        (reply("A"), "A", "ok"),
        (reply("B. no"), "B", "ok"),
        (reply("(B) no"), "B", "ok"),
        (reply("No"), "B", "ok"),
        (reply("C"), None, "unparsed"),
        (reply("A. yes or B. no"), None, "unparsed"),
        (reply("None of the above"), None, "unparsed"),
        ('{"step_by_step_thinking": "an "odd" quote", "answer_choice": "B"}', "B", "ok"),
        ('{"step_by_step_thinking": "cut off, so option', None, "unparsed"),
        ('{"answer_choice": null}', None, "unparsed"),
        ("[" * 100_000, None, "unparsed"),
        (None, None, "error"),
    ],
)
def test_letter_is_read_from_the_choice_alone(write, said, letter, status):
    answers = import_mirage(write(COT, [] if said is None else [said]))
    (row,) = answers.astype(object).where(answers.notna(), None).to_dict("records")
    assert (row["answer"], row["status"]) == (letter, status)
    assert row["benchmark"] == "mirage-bioasq"


def test_path_names_data_set_model_and_strategy(write):
    write("mmlu/cot/OpenAI/gpt-35-turbo-16k", [reply("A")], "anatomy-000")
    item = "0009b2fd-7e72-4ed0-b486-92ccb24e43f3"
    write("medmcqa/cot/OpenAI/gpt-4-32k", [reply("B")], item, "dev")
    answers = import_mirage(write(RAG, [reply("A")]))
    keys = ["benchmark", "model", "strategy", "item_id"]
    assert sorted(answers[keys].values.tolist()) == [
        ["mirage-bioasq", "gpt-4-32k", "cot+medcorp-rrf-4@32", ITEMS[0]],
        ["mirage-medmcqa", "gpt-4-32k", "cot", item],
        ["mirage-mmlu", "gpt-35-turbo-16k", "cot", "anatomy-000"],
    ]


@pytest.mark.parametrize(
    ("path", "replies", "item", "text"),
    [
        (COT, [reply("A"), reply("B")], ITEMS[0], "is not a list of one reply"),
        (COT, [7], ITEMS[0], "is not a list of one reply"),
        (COT, "A", ITEMS[0], "is not a list of replies"),
        (COT, [reply("A")], "unknown", "mirage-bioasq has no such item"),
        ("other/cot/OpenAI/m", [reply("A")], ITEMS[0], "mirage-other: no such benchmark"),
        ("bioasq/few/OpenAI/m", [reply("A")], ITEMS[0], "path = .*: does not match"),
        ("bioasq/rag_32/OpenAI/m", [reply("A")], ITEMS[0], "path = .*: does not match"),
    ],
)
def test_files_in_another_layout_are_refused(write, path, replies, item, text):
    with pytest.raises(InputError, match=text):
        import_mirage(write(path, replies, item))


def test_settings_that_paths_name_are_refused(write):
    with pytest.raises(InputError, match=r"mirage: does not accept constants={'model': ...}"):
        import_mirage(write(COT, [reply("A")]), constants={"model": "m"})


def test_compare_shows_what_retrieval_changes(write, tmp_path):
    keys = [load_benchmark("mirage-bioasq").answer_keys[item] for item in ITEMS]
    for item, key, change in zip(ITEMS, keys, ("gain", "gain", "none"), strict=True):
        wrong = "B" if key == "A" else "A"
        write(COT, [reply(wrong if change == "gain" else key)], item)
        folder = write(RAG, [reply(key)], item)
    write_answer_sets(import_mirage(folder), tmp_path / "answers")
    arguments = ["compare", str(tmp_path / "answers"), "--old", "gpt-4-32k", "--new", "gpt-4-32k"]
    arguments += ["--strategy", "cot", "--new-strategy", "cot+medcorp-rrf-4@32", "--json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.output)
    assert (row["gains"], row["losses"], row["n"]) == (2, 0, 3)
    assert row["estimate"] == pytest.approx(2 / 3)
    # 615 questions were not asked.
    assert row["lowest"] == pytest.approx((2 - 615) / 618)
    for command in ("analyze", "rank", "screen"):
        done = CliRunner().invoke(app, [command, str(tmp_path / "answers")])
        assert done.exit_code == 1
        assert "mirage-bioasq has no groups" in done.output
