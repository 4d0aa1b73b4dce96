"""Answers compared with their benchmark: every problem is listed, and reading continues."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa

from fairstats import example_answers
from fairstats._lib.problems import InputError, Problem
from fairstats.answers.benchmark_checks import validate_answers, validate_files
from fairstats.answers.files import check_answers, write_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.estimates.analyze import analyze


@pytest.fixture(scope="module")
def whole(demo, all_right) -> pd.DataFrame:
    """Return an answer to every variant of the demonstration items."""
    return check_answers(all_right(demo))


def changed(answers: pd.DataFrame, row: int, **values: str) -> pd.DataFrame:
    answers = answers.copy()
    for column, value in values.items():
        answers.loc[row - 1, column] = value
    return answers


def apart_from_lacking(problems: list[Problem]) -> list[Problem]:
    return [problem for problem in problems if "have no row" not in problem.message]


def test_complete_answers_have_no_problem(whole):
    assert validate_answers(whole) == []


def test_unparsed_answer_is_valid(whole):
    answers = whole.assign(answer=None, status="unparsed")
    assert validate_answers(answers) == []


@pytest.mark.parametrize(
    ("change", "message", "remedy"),
    [
        ({"benchmark": "nowhere"}, "unknown benchmark", "benchmarks=..."),
        ({"benchmark_version": "9"}, "unknown version", "demo has 1"),
        ({"attribute": "height"}, "unknown attribute", "demo has race, sex, ses, baseline"),
        ({"group": "wite"}, "unknown group", "demo has white, black for race"),
        ({"group": "male"}, "unknown group", "demo has white, black for race"),
        ({"answer": "E"}, "is not an option letter", "demo has A, B, C, D"),
        ({"answer_key": "E"}, "is not an option letter", "demo has A, B, C, D"),
        (
            {"answer": "(b)"},
            "is not an option letter",
            "demo has A, B, C, D; to read replies, use `fairstats import table` with --map "
            "answer_raw=answer",
        ),
        ({"item_id": "demo-99"}, "unknown item", "demo has no such item"),
    ],
)
def test_a_cell_that_the_benchmark_does_not_know_is_named(change, message, remedy, whole):
    found = validate_answers(changed(whole, 10, **change), path="a.csv")
    (problem,) = apart_from_lacking(found)
    ((column, value),) = change.items()
    assert (problem.path, problem.row, problem.column, problem.value) == (
        "a.csv",
        10,
        column,
        value,
    )
    assert problem.message == message
    assert remedy in problem.remedy


def test_a_key_that_disagrees_is_named_with_both_keys(whole, demo):
    item = whole.loc[9, "item_id"]
    key = demo.answer_keys[item]
    other = "A" if key != "A" else "B"
    (problem,) = validate_answers(changed(whole, 10, answer_key=other))
    assert (problem.row, problem.column, problem.value) == (10, "answer_key", other)
    assert problem.message.endswith(f"'s key {key}")
    assert item in problem.remedy


def test_empty_key_is_named_with_the_benchmarks(whole, demo):
    (problem,) = validate_answers(changed(whole, 10, answer_key=None))
    assert (problem.row, problem.column, problem.value) == (10, "answer_key", None)
    assert problem.message.endswith(demo.answer_keys[whole.loc[9, "item_id"]])


@pytest.fixture(scope="module")
def stays(benchmark_file):
    """Return a benchmark of levels without keys, its clusters in the answers, and answers to it."""
    kind = 'kind = "level"\noptions = [1, 2, 3]\ncluster = "patient"'
    benchmark = load_benchmark(benchmark_file(options=kind, keys_file="", baseline=""))
    groups = list(benchmark.attributes["race"].groups)
    row = {"benchmark": "three", "benchmark_version": "1", "model": "m", "strategy": "plain"}
    row |= {"attribute": "race", "sample": 0, "status": "ok", "answer": "2"}
    cells = [
        row | {"item_id": item, "group": group, "cluster": cluster}
        for item, cluster in (("s1", "p1"), ("s2", "p1"), ("s3", "p2"))
        for group in groups
    ]
    return benchmark, check_answers(pd.DataFrame(cells))


def test_answers_without_keys_have_no_problem(stays):
    benchmark, answers = stays
    assert validate_answers(answers, benchmarks=[benchmark]) == []
    assert len(analyze(answers, benchmarks=[benchmark]))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("cluster", "item s3 is in more than one cluster"),
        ("answer_key", "more than one answer key"),
    ],
)
def test_clusters_and_keys_that_differ_between_files_are_named(column, message, stays, tmp_path):
    benchmark, answers = stays
    answers = answers.assign(answer_key="1")
    other = answers.assign(model="n")
    other.loc[other["item_id"] == "s3", column] = "3"
    for name, table in (("m", answers), ("n", other)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    (problem,) = validate_files([tmp_path], benchmarks=[benchmark])
    assert (problem.path, problem.column) == (str(tmp_path / "n.csv"), column)
    assert message in problem.message


@pytest.mark.parametrize(
    ("row", "change", "message"),
    [
        (2, {"answer": "4"}, "is not an option"),
        (2, {"answer": "2.0"}, "is not written as it is stored"),
        (2, {"cluster": None}, "is missing, and three declares the cluster patient"),
        (2, {"cluster": "p9"}, "the item is in more than one cluster"),
        (2, {"answer_key": "3"}, "the item has more than one answer key"),
    ],
)
def test_what_analyze_would_refuse_is_named_by_its_row(row, change, message, stays):
    benchmark, answers = stays
    wrong = changed(answers.assign(answer_key="1"), row, **change)
    (problem,) = validate_answers(wrong, benchmarks=[benchmark])
    ((column, value),) = change.items()
    assert (problem.row, problem.column, problem.value) == (row, column, value)
    assert problem.message == message
    if change != {"answer": "2.0"}:
        with pytest.raises(InputError):
            analyze(wrong, benchmarks=[benchmark])


def test_column_of_the_cluster_that_is_missing_is_one_problem(stays):
    benchmark, answers = stays
    (problem,) = validate_answers(answers.drop(columns="cluster"), benchmarks=[benchmark])
    assert (problem.column, problem.row) == ("cluster", None)
    assert "declares the cluster patient" in problem.message


def test_every_problem_is_listed_in_the_order_of_the_rows(whole):
    answers = changed(whole, 3, answer="E", group="wite")
    answers = changed(answers, 2, answer_key="F")
    answers = changed(answers, 9, item_id="demo-99")
    found = apart_from_lacking(validate_answers(answers))
    assert [(p.row, p.column) for p in found] == [
        (2, "answer_key"),
        (3, "group"),
        (3, "answer"),
        (9, "item_id"),
    ]


def test_incomplete_items_are_one_problem_per_unit(whole):
    lacking = pd.concat(
        [whole.iloc[8:20], whole.assign(model="other").iloc[1:], whole.assign(model="third")],
        ignore_index=True,
    )
    first, second = validate_answers(lacking)
    assert first.message.startswith("only 1 of 24 ")
    assert "model=model" in first.message
    assert "180 of 192 variants" in first.message
    assert "item demo-01, race, white" in first.message
    assert second.message.startswith("only 23 of 24 ")
    assert "model=other" in second.message


def test_variant_of_the_baseline_may_be_left_out_for_all_items_only(whole):
    without = whole[whole["attribute"] != "baseline"].reset_index(drop=True)
    for left_out in ("original", "neutralized"):
        rows = whole["group"] == left_out
        assert validate_answers(whole[~rows].reset_index(drop=True)) == []
        (problem,) = validate_answers(whole[~rows | rows.duplicated()].reset_index(drop=True))
        assert "only 23 of 24 items" in problem.message
    assert validate_answers(without) == []
    (problem,) = validate_answers(without[without["attribute"] != "ses"].reset_index(drop=True))
    assert "48 of 144 variants" in problem.message


def test_released_file_with_402_items_is_incomplete(shared_data):
    path = shared_data("amqa/answers/AMQA_Benchmark_Answer_deepseek_cot2.jsonl")
    answers = import_amqa(
        [path], constants={"model": "DeepSeek", "benchmark_version": "deepseek-agent"}
    )
    (problem,) = validate_answers(answers)
    assert problem.message.startswith("only 402 of 801 ")
    assert re.search("3192 of 6408 .* item 402", problem.message)


def test_a_benchmark_that_was_given_is_used(answers_of, three_groups):
    groups = tuple(three_groups.attributes["race"].groups)
    answers = check_answers(answers_of(["ABC"], groups=groups, benchmark="three"))
    (problem, *_) = validate_answers(answers)
    assert problem.message == "unknown benchmark"
    for given in ([three_groups], {"three": three_groups}):
        found = apart_from_lacking(validate_answers(answers, benchmarks=given))
        assert {p.message for p in found} == {"unknown item"}


def test_files_are_validated_together(whole, tmp_path):
    write_answers(whole.iloc[:100], tmp_path / "1.parquet")
    write_answers(whole.iloc[100:], tmp_path / "2.parquet")
    assert validate_files(tmp_path) == []
    (problem,) = validate_files(tmp_path / "1.parquet")
    assert problem.message.startswith("only 12 of 24 ")
    assert problem.path == str(tmp_path / "1.parquet")


def test_every_kind_of_problem_is_listed_at_once(whole, tmp_path):
    write_answers(whole, tmp_path / "1.parquet")
    changed(whole.head(16), 4, answer="E").to_csv(tmp_path / "2.csv", index=False)
    (tmp_path / "3.jsonl").write_text("{")
    (tmp_path / "4.csv").write_bytes(b"")
    changed(whole.assign(model="other"), 5, group="").to_csv(tmp_path / "5.csv", index=False)
    (tmp_path / "6.parquet").write_bytes(b"PK\x03\x04 not parquet")
    said = [str(problem) for problem in validate_files(tmp_path)]
    for name, fault in {
        "2.csv": "row 4: answer = 'E': is not an option letter",
        "3.jsonl": "row 1: line: not JSON",
        "4.csv": "the file is empty",
        "5.csv": "row 5: group",
        "6.parquet": "not a parquet file",
        "": "16 answers are in more than one of the files",
    }.items():
        assert sum(name in text and fault in text for text in said) == 1, fault
    assert len(said) == 6


def test_repeated_answers_do_not_hide_other_problems(whole, tmp_path):
    answers = changed(changed(whole, 3, group="wite"), 5, answer="Z")
    path = tmp_path / "answers.csv"
    pd.concat([answers, answers.iloc[[7]]]).to_csv(path, index=False)
    found = validate_files(path)
    places = {(problem.row, problem.column) for problem in apart_from_lacking(found)}
    assert places == {(3, "group"), (5, "answer"), (len(answers) + 1, "key")}
    assert any(problem.message.endswith(" in row 8") for problem in found)


def test_missing_path_is_a_problem(tmp_path):
    (problem,) = validate_files(tmp_path / "nowhere.csv")
    assert problem.message == "no such file or folder"


def test_a_benchmark_named_like_a_file_is_unknown_and_not_opened(whole, benchmark_file):
    answers = whole.assign(benchmark=str(benchmark_file()))
    messages = {problem.message for problem in validate_answers(answers)}
    assert messages == {"unknown benchmark"}


def test_benchmarks_may_come_from_a_generator(whole, swapped_demo, tmp_path):
    for sample in (0, 1):
        answers = whole.assign(benchmark="swapped", sample=sample)
        write_answers(answers, tmp_path / f"{sample}.parquet")
    assert validate_files(tmp_path, benchmarks=(b for b in [swapped_demo])) == []


def test_rows_are_counted_from_one_for_any_index(whole):
    answers = changed(whole, 192, answer="E").iloc[::-1]
    (problem,) = validate_answers(answers)
    assert (problem.row, problem.value) == (1, "E")


@pytest.mark.parametrize("column", ["benchmark_version", "model", "strategy"])
@pytest.mark.parametrize("name", ["1 ", "\t1", "1\N{NO-BREAK SPACE}", "1\N{ZERO WIDTH SPACE}1"])
def test_name_with_hidden_characters_is_a_problem(column, name, whole):
    found = validate_answers(changed(whole, 10, **{column: name}), path="a.csv")
    (problem,) = [one for one in found if "invisible" in one.message]
    assert (problem.row, problem.column, problem.value) == (10, column, name)


def test_strategy_that_readers_see_under_the_name_of_another_is_reported():
    answers = example_answers().query("model == 'GPT-4.1'")
    posing = answers.assign(strategy="reasoning first")
    both = pd.concat([answers.assign(strategy="cot"), posing], ignore_index=True)
    (problem,) = validate_answers(both)
    assert problem.message == "look the same to a reader: 'cot' and 'reasoning first'"
    assert validate_answers(posing) == []


def test_answers_with_snippets_need_a_strategy_that_names_them(whole):
    given = whole.assign(context_sha256="0" * 64)
    assert validate_answers(given.assign(strategy="plain+bm25@10")) == []
    problems = validate_answers(given)
    assert len(problems) == len(given)
    assert problems[0].column == "strategy"
    assert "snippets" in problems[0].message
