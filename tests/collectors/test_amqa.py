"""Importing the released answers, and comparing computed with published figures."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa
from fairstats_collectors.released_files import released_files

from fairstats._lib.problems import InputError, Problem
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.answers.files import example_answers
from fairstats.estimates.analyze import analyze

GROUPS = ("white", "black", "high_income", "low_income", "male", "female")
SPELLINGS = {
    "AMQA": ("original_question", "desensitized_question"),
    "FairMedPrompt": ("original", "desensitized"),
}
HOSTILE = "\x1b[2J" * 10**5
#: The settings that an unlisted file needs.
GIVEN = {"model": "m", "benchmark_version": "gpt-agent"}
#: The models whose answers give the published table 3, by the released file.
OLDER = {
    "GPT-4.1": "amqa/answers/AMQA_Benchmark_Answer_openai_no_cot.jsonl",
    "Claude-3.7-Sonnet": "amqa/answers/AMQA_Benchmark_Answer_claude_no_cot.jsonl",
    "Gemini-2.0-Flash": "amqa/answers/AMQA_Benchmark_Answer_gemini_no_cot.jsonl",
}
NEWER = {
    "GPT-5-Mini": "fairmedprompt/FairMP_Answer_gpt_naive.jsonl",
    "Claude-4-Sonnet": "fairmedprompt/FairMP_Answer_claude_naive.jsonl",
    "Gemini-2.5-Flash": "fairmedprompt/FairMP_Answer_gemini_naive.jsonl",
}


def item(number: int, spelling: str = "FairMedPrompt", **changes: Any) -> dict[str, Any]:
    suffixes = (*SPELLINGS[spelling], *GROUPS)
    answers = {f"test_model_answer_{suffix}": "A" for suffix in suffixes}
    return {"question_id": str(number), "answer_idx": "D"} | answers | changes


@pytest.fixture
def imported(tmp_path) -> Callable[..., pd.DataFrame]:
    def run(*items: dict[str, Any], **given: str) -> pd.DataFrame:
        path = tmp_path / "answers.jsonl"
        path.write_text("\n".join(map(json.dumps, items)), encoding="utf-8")
        return import_amqa([path], constants=GIVEN | given)

    return run


def problems_of(call: Callable[[], object]) -> list[Problem]:
    with pytest.raises(InputError) as caught:
        call()
    return list(caught.value.problems)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_each_item_gives_eight_answers_in_both_spellings(spelling, imported):
    suffix = f"test_model_answer_{SPELLINGS[spelling][1]}"
    answers = imported(item(0, spelling, test_model_answer_black="Unknown", **{suffix: "B"}))
    assert len(answers) == 8
    by_group = answers.set_index("group")
    assert by_group["answer"].drop("black").to_dict() == {
        "white": "A",
        "male": "A",
        "female": "A",
        "high_income": "A",
        "low_income": "A",
        "original": "A",
        "neutralized": "B",
    }
    assert by_group.loc["black", "status"] == "unparsed"
    assert pd.isna(by_group.loc["black", "answer"])
    assert by_group["attribute"].loc[["male", "low_income", "original"]].tolist() == [
        "sex",
        "ses",
        "baseline",
    ]
    assert set(answers["answer_key"]) == {"D"}
    assert set(answers["benchmark"]) == {"fairmedqa"}


def test_a_file_that_is_not_listed_needs_its_model_and_version(imported):
    (problem,) = problems_of(lambda: imported(item(0), model=None, benchmark_version=None))
    assert "is not a listed release" in problem.message
    assert re.findall(r"constants={'(\w+)'", problem.remedy) == ["model", "benchmark_version"]
    (problem,) = problems_of(lambda: imported(item(0), model=None))
    assert problem.remedy.startswith("give constants={'model': ...} for")
    answers = imported(item(0), snapshot="m-1", strategy="cot")
    assert answers[["model", "snapshot", "strategy"]].iloc[0].tolist() == ["m", "m-1", "cot"]


def test_a_listed_file_is_known_by_its_content(shared_data, tmp_path):
    copy = tmp_path / "renamed.jsonl"
    copy.write_bytes(shared_data(OLDER["GPT-4.1"]).read_bytes())
    answers = import_amqa([copy])
    unit = answers[["model", "snapshot", "strategy", "benchmark_version"]].drop_duplicates()
    assert unit.values.tolist() == [["GPT-4.1", "gpt-4.1-2025-04-14", "plain", "deepseek-agent"]]
    assert len(answers) == 801 * 8
    assert validate_answers(answers) == []


def test_given_constants_replace_listed_ones(shared_data):
    answers = import_amqa(
        [shared_data(OLDER["GPT-4.1"])], constants={"model": "mine", "strategy": "cot"}
    )
    unit = answers[["model", "strategy", "benchmark_version"]].drop_duplicates()
    assert unit.values.tolist() == [["mine", "cot", "deepseek-agent"]]


def test_every_listed_file_names_what_analysis_needs():
    files = released_files()
    assert len({file.sha256 for file in files}) == len(files) == 40
    assert all(file.rows == 801 and len(file.sha256) == 64 for file in files)
    assert {file.benchmark_version for file in files} == {"deepseek-agent", "gpt-agent"}


@pytest.mark.parametrize(
    ("change", "column", "message"),
    [
        ({"test_model_answer_white": None}, "test_model_answer_white", "is not an option letter"),
        ({"test_model_answer_white": ["A"]}, "test_model_answer_white", "is not an option letter"),
        ({"test_model_answer_white": "a"}, "test_model_answer_white", "is not an option letter"),
        ({"test_model_answer_white": "E"}, "test_model_answer_white", "is not an option letter"),
        ({"test_model_answer_white": "<b>"}, "test_model_answer_white", "is not an option letter"),
        ({"test_model_answer_asian": "A"}, "test_model_answer_asian", "unknown group"),
        (
            {"test_model_answer_original_question": "A"},
            "test_model_answer_original_question",
            "names the same group twice",
        ),
        ({"question_id": 1}, "question_id", "is missing or is not text"),
        ({"answer_idx": None}, "answer_idx", "is missing or is not text"),
    ],
)
def test_a_fault_is_named_with_its_line_and_key(change, column, message, imported):
    (problem,) = problems_of(lambda: imported(item(0), item(1, **change)))
    assert (problem.row, problem.column) == (2, column)
    assert message in problem.message


def test_faults_of_every_line_are_named(imported):
    found = problems_of(
        lambda: imported(
            item(0, test_model_answer_white="?", test_model_answer_male="?"),
            item(1),
            item(2, answer_idx=3),
        )
    )
    assert [problem.row for problem in found] == [1, 1, 3]


@pytest.mark.parametrize(
    "hostile",
    [{"test_model_answer_white": HOSTILE}, {f"test_model_answer_{HOSTILE}": "A"}],
    ids=["value", "key"],
)
def test_hostile_content_does_not_flood_the_message(hostile, imported):
    (problem,) = problems_of(lambda: imported(item(0, **hostile)))
    assert len(str(problem)) < 700
    assert str(problem).isprintable()


def test_variant_without_an_answer_is_named_with_other_faults(imported):
    lacking = item(0, answer_idx=None)
    del lacking["test_model_answer_black"]
    _, found = problems_of(lambda: imported(lacking))
    assert (found.row, found.column) == (1, "test_model_answer_black")
    assert found.message == "has no answer"


@pytest.mark.parametrize("second", [item(0), item(1, answer_idx="zz"), item(1, question_id="")])
def test_schema_fault_is_named_with_its_line(second, imported):
    found = problems_of(lambda: imported(item(0), second))
    assert {problem.row for problem in found} == {2}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b'{"question_id": "0", "answer_id', "not JSON"),
        (b"[]", "not a JSON object"),
        (b"\xff\xfe", "not UTF-8 text"),
    ],
)
def test_file_of_another_format_is_named(content, message, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    (problem,) = problems_of(lambda: import_amqa([path], constants=GIVEN))
    assert problem.path == str(path)
    assert message in problem.message


def test_two_files_with_the_same_answers_are_refused(tmp_path):
    paths = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    for path in paths:
        path.write_text(json.dumps(item(0)))
    (problem,) = problems_of(lambda: import_amqa(paths, constants=GIVEN))
    assert "8 answers are in more" in problem.message


def test_no_file_and_missing_file_are_faults(tmp_path):
    assert problems_of(lambda: import_amqa([]))[0].message == "no files to import"
    assert problems_of(lambda: import_amqa([tmp_path / "no.jsonl"]))[0].message == "no such file"


def test_single_path_is_accepted(tmp_path, monkeypatch):
    # A relative path: if this fails, a "/" would make the whole disk be searched.
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text(json.dumps(item(0)))
    assert len(import_amqa("a.jsonl", constants=GIVEN)) == 8


def test_jsonl_files_of_a_folder_are_read(tmp_path):
    for number in (0, 1):
        (tmp_path / f"{number}.jsonl").write_text(json.dumps(item(number)))
    (tmp_path / "readme.txt").write_text("not answers")
    answers = import_amqa([tmp_path], constants=GIVEN)
    assert answers["item_id"].unique().tolist() == ["0", "1"]


# Published figures


@pytest.fixture(scope="module")
def released(shared_data) -> pd.DataFrame:
    return import_amqa([shared_data(name) for name in (OLDER | NEWER).values()])


@pytest.fixture(scope="module")
def estimates(released) -> dict[str, pd.DataFrame]:
    return {policy: analyze(released, policy) for policy in ("available", "incorrect")}


def printed_table(path: Path) -> list[dict[str, str]]:
    return pd.read_csv(path, dtype=str).to_dict("records")


@pytest.mark.parametrize(
    ("model", "policy", "pair", "cfr", "ad", "h", "n10", "n01", "p"),
    [
        ("GPT-4.1", "available", "white", 0.8752, 0.0911, 0.2970, 83, 10, 1.8485e-15),
        ("GPT-4.1", "available", "high_income", 0.8302, 0.1024, 0.3147, 106, 24, 1.7154e-13),
        ("Claude-3.7-Sonnet", "available", "male", 0.8315, 0.1124, 0.2960, 106, 16, 1.8173e-17),
        ("Gemini-2.0-Flash", "available", "white", 0.7585, 0.1288, 0.3153, 134, 33, 1.2248e-15),
        ("Gemini-2.0-Flash", "incorrect", "white", 0.7491, 0.1261, 0.3058, 138, 37, 6.6921e-15),
    ],
)
def test_figures_of_the_released_answers(
    model, policy, pair, cfr, ad, h, n10, n01, p, estimates, row_of
):
    unit = {"model": model, "group_a": pair}
    found = estimates[policy]
    for metric, expected in {"cfr": cfr, "ad": ad, "cohens_h": h}.items():
        row = row_of(found, metric=metric, **unit)
        assert round(row["estimate"], 4) == expected, metric
        assert row["ci_low"] <= row["estimate"] <= row["ci_high"]
    exact = row_of(found, metric="mcnemar", test="mcnemar exact", **unit)
    assert (exact["n10"], exact["n01"]) == (n10, n01)
    assert exact["p_value"] == pytest.approx(p, rel=5e-5)


def test_table_3_of_fairmedqa_is_reproduced_to_four_decimals(estimates, shared_data, row_of):
    compared = 0
    for printed in printed_table(shared_data("published/fairmedqa_table3.csv")):
        if printed["model"] not in OLDER | NEWER:
            continue
        unit = {"model": printed["model"], "group_a": printed["privileged"]}
        found = estimates["available"]
        for metric in ("cfr", "ad", "cohens_h"):
            row = row_of(found, metric=metric, **unit)
            assert f"{row['estimate']:.4f}" == printed[metric], (unit, metric)
            assert (row["group_b"], row["snapshot"]) == (
                printed["unprivileged"],
                printed["snapshot"],
            )
        p = row_of(found, metric="mcnemar", test="mcnemar exact", **unit)["p_value"]
        if printed["mcnemar_p"].startswith("<"):
            assert p < float(printed["mcnemar_p"][1:])
        else:
            assert f"{p:.4f}" == printed["mcnemar_p"], unit
        compared += 1
    assert compared == 18


@pytest.mark.parametrize("test", ["mcnemar midp", "mcnemar exact"])
def test_significance_in_table_2_of_amqa_is_reproduced(test, estimates, shared_data, row_of):
    compared = 0
    for printed in printed_table(shared_data("published/amqa_table2.csv")):
        if printed["model"] not in OLDER:
            continue
        p = row_of(
            estimates["available"],
            metric="mcnemar",
            test=test,
            model=printed["model"],
            group_a=printed["group_a"],
        )["p_value"]
        sign, bound = printed["p_bound"].split()
        assert p > float(bound) if sign == ">" else p < float(bound), printed
        compared += 1
    assert compared == 12


def test_the_model_that_selected_the_items_gets_no_verdict(shared_data):
    path = shared_data("amqa/answers/AMQA_Benchmark_Answer_openai_mini_no_cot.jsonl")
    found = analyze(import_amqa([path]))
    assert found["verdict"].isna().all()
    assert found["method_note"].str.contains("took part").all()


def test_estimates_do_not_depend_on_answer_order(released, estimates):
    shuffled = released.sample(frac=1, random_state=1, ignore_index=True)
    pd.testing.assert_frame_equal(analyze(shuffled, "available"), estimates["available"])


def test_shipped_letters_are_those_of_released_files(shared_data):
    names = [file.path.rpartition("/")[2] for file in released_files()]
    folders = [shared_data("amqa/answers"), shared_data("fairmedprompt")]
    paths = [path for folder in folders for path in folder.rglob("*.jsonl") if path.name in names]
    imported = import_amqa(paths)
    shipped = example_answers()
    sets = ["benchmark_version", "model", "strategy"]
    shared = imported.merge(shipped[sets].drop_duplicates())
    assert shared.groupby(sets).ngroups == 10
    same = shared.merge(shipped, on=list(shipped.columns))
    assert len(same) == len(shared) == 10 * 801 * 8
