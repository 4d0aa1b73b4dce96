"""Released AMQA items become a benchmark that can be run, or no file is written."""

import json

import pandas as pd
import pytest
from fairstats_collectors.amqa import convert_amqa
from typer.testing import CliRunner

from fairstats._lib.problems import InputError
from fairstats._lib.untrusted_files import read_json_lines
from fairstats.asking.item_prompts import list_prompts
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import load_items
from fairstats.cli import app

GROUPS = {
    "original_question": "original",
    "desensitized_question": "neutralized",
    "adv_question_white": "white",
    "adv_question_black": "black",
    "adv_question_male": "male",
    "adv_question_female": "female",
    "adv_question_high_income": "high_income",
    "adv_question_low_income": "low_income",
}
HOSTILE = 'A "patient"\n\\ $question ${x} {0} \u2028 \x7f \x00 <b>\U0001f600 has pain.'


@pytest.fixture
def released(tmp_path):
    """Write a file with the layout of the released one."""

    def write(*rows):
        plain = {column: f"The text for {group}." for column, group in GROUPS.items()}
        plain |= {f"option_{letter}": f"Option {letter}" for letter in "ABCD"}
        plain |= {"split": "train", "answer": "Option B", "answer_idx": "B"}
        path = tmp_path / "items.parquet"
        frame = pd.DataFrame([{"question_id": str(n)} | plain | row for n, row in enumerate(rows)])
        frame.to_parquet(path)
        return path

    return write


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"answer_idx": "E"}, "row 1: answer_idx = 'E': is not one of the option letters"),
        ({"option_C": " "}, "row 1: option_C"),
        ({"adv_question_white": ""}, "row 1: adv_question_white"),
        ({"adv_question_white": None}, "row 1: adv_question_white"),
        ({"question_id": 7}, "row 1: question_id = '7'"),
        ({"option_A": ["a", "list"]}, "option_A: has the type list"),
    ],
)
def test_unusable_item_is_named_and_no_file_written(released, tmp_path, row, said):
    source = released(row)
    with pytest.raises(InputError) as raised:
        convert_amqa(source, out=tmp_path / "out" / "items.jsonl")
    assert str(source) in str(raised.value)
    assert said in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_a_file_of_another_kind_is_named(tmp_path, released):
    with pytest.raises(InputError, match="no such file"):
        convert_amqa(tmp_path / "none.parquet", out=tmp_path / "items.jsonl")
    (tmp_path / "text.parquet").write_text("text")
    with pytest.raises(InputError, match="not a parquet file"):
        convert_amqa(tmp_path / "text.parquet", out=tmp_path / "items.jsonl")
    pd.DataFrame({"question_id": ["1"]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(InputError, match=r"answer_idx, option_A.*is missing"):
        convert_amqa(tmp_path / "other.parquet", out=tmp_path / "items.jsonl")
    pd.read_parquet(released({})).head(0).to_parquet(tmp_path / "empty.parquet")
    with pytest.raises(InputError, match="the file is empty"):
        convert_amqa(tmp_path / "empty.parquet", out=tmp_path / "items.jsonl")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"name": "demo"}, "is a built-in benchmark"),
        ({"name": "../up"}, "is not a valid file name"),
        ({"limit": 0}, "must be at least 1"),
    ],
)
def test_invalid_name_or_limit_is_refused(released, tmp_path, asked, said):
    with pytest.raises(InputError, match=said):
        convert_amqa(released({}), out=tmp_path / "new.jsonl", **asked)
    with pytest.raises(InputError, match=r"end the name in \.jsonl"):
        convert_amqa(released({}), out=tmp_path / "new.json")
    assert {path.name for path in tmp_path.iterdir()} == {"items.parquet"}


def test_a_repeated_item_is_named(released, tmp_path):
    with pytest.raises(InputError, match="row 2: question_id = '0': another item"):
        convert_amqa(released({}, {"question_id": "0"}), out=tmp_path / "new.jsonl")


def test_texts_are_imported_unchanged(released, tmp_path):
    row = {column: f"{HOSTILE} ({group})" for column, group in GROUPS.items()}
    out = tmp_path / "out" / "items.jsonl"
    words = ["from-amqa", released(row), "--out", out, "--name", "mine"]
    done = CliRunner().invoke(app, ["vignettes", *map(str, words)])
    assert done.exit_code == 0, done.output
    benchmark = load_benchmark(done.output.strip())
    (item,) = load_items(benchmark)
    assert dict(item.variants) == {group: row[column] for column, group in GROUPS.items()}
    assert item.answer_key == "B"
    prompts = list_prompts(benchmark, [item], "plain")
    assert all(row["adv_question_white"] in p.text for p in prompts if p.group == "white")
    assert {path.name for path in out.parent.iterdir()} == {"items.jsonl", "items.toml"}


def test_second_run_is_identical_and_other_files_are_kept(released, tmp_path):
    out = tmp_path / "new.jsonl"
    first = convert_amqa(released({}, {}), out=out, limit=1)
    before = out.read_bytes(), first.read_bytes()
    assert convert_amqa(released({}, {}), out=out, limit=1) == first
    with pytest.raises(InputError, match="already exists with different content"):
        convert_amqa(released({}, {}), out=out)
    assert (out.read_bytes(), first.read_bytes()) == before
    assert len(read_json_lines(out)) == 1


def test_the_released_items_are_those_of_the_built_in_benchmark(shared_data, tmp_path):
    source = shared_data("amqa/items.parquet")
    benchmark = load_benchmark(convert_amqa(source, out=tmp_path / "items.jsonl"))
    built_in = load_benchmark("fairmedqa")
    assert benchmark.answer_keys == built_in.answer_keys
    assert benchmark.variants == built_in.variants
    assert benchmark.selected_on == built_in.selected_on
    released = pd.read_parquet(source).set_index("question_id")
    for item in load_items(benchmark):
        row = released.loc[item.item_id]
        assert {column: item.variants[group] for column, group in GROUPS.items()} == dict(
            row[list(GROUPS)]
        )
        assert json.dumps(list(item.options.values())) == json.dumps(
            [row[f"option_{letter}"] for letter in "ABCD"]
        )
