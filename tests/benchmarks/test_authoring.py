"""A benchmark file proposed from answers can be loaded, and fits these answers."""

from __future__ import annotations

import pandas as pd
import pytest
from typer.testing import CliRunner

import fairstats
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.benchmarks.authoring import MOST_GROUPS, propose_benchmark
from fairstats.benchmarks.benchmark_files import write_benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.cli import app

TWELVE = tuple(f"group_{number}" for number in range(12))
HOSTILE = ('the "first"', "it's", "a\\b", "[x]", "# y", "é = 1", "pairs", "=1+1")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def answers(answers_of):
    """Return answers of one model for some groups of one attribute."""

    def build(groups, attribute="origin", **unit):
        items = ["".join("ABE"[(n + i) % 3] for i in range(len(groups))) for n in range(6)]
        unit = {"benchmark": "mine"} | unit
        return answers_of(items, groups=groups, attribute=attribute, **unit)

    return build


def proposed(frame, folder):
    return load_benchmark(
        write_benchmark(folder, propose_benchmark(frame), source=folder, items=False)
    )


@pytest.mark.parametrize("groups", [("b", "a"), TWELVE, HOSTILE])
def test_proposal_declares_what_the_answers_contain(groups, answers, tmp_path):
    frame = answers(groups)
    benchmark = proposed(frame, tmp_path)
    assert validate_answers(frame, benchmarks=[benchmark]) == []
    attribute = benchmark.attributes["origin"]
    assert tuple(attribute.groups) == groups
    assert attribute.pairs == tuple((groups[0], other) for other in groups[1:])
    assert benchmark.options == ("A", "B", "C", "D", "E")


def test_proposal_has_neutralized_variant_if_answers_have_a_baseline(answers, tmp_path):
    baseline = answers(("original", "neutralized"), attribute="baseline")
    frame = pd.concat([answers(("b", "a")), baseline])
    assert list(proposed(frame, tmp_path).attributes["baseline"].groups) == [
        "original",
        "neutralized",
    ]


def test_groups_that_no_answer_can_have_are_refused(answers, tmp_path):
    with pytest.raises(fairstats.InputError, match=r"groups = 'a\\nb': is not a possible name"):
        proposed(answers(("a\nb", "c")), tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"group": [f"g{n}" for n in range(MOST_GROUPS + 1)]}, "61 different groups; use at most"),
        ({"group": "one"}, "origin has a single group"),
        ({"benchmark": ["x", "y"]}, "has 2 benchmarks: x, y"),
        ({"benchmark": "demo"}, "'demo': is a built-in benchmark"),
        ({"attribute": "baseline", "group": ["original", "x"]}, "not a variant of the baseline"),
        ({"attribute": "pooled"}, "is reserved"),
        ({"answer_key": ["A", "B"]}, "'item-0': has several answer keys: A, B"),
    ],
)
def test_answers_that_determine_no_benchmark_are_refused(change, said, answers):
    frame = answers(tuple(f"g{number}" for number in range(MOST_GROUPS + 1)))
    few = {"group": ["a", "b"]} | change
    frame = frame.iloc[: len(few["group"]) if isinstance(few["group"], list) else 2]
    frame = frame.assign(item_id="item-0", **few)
    with pytest.raises(fairstats.InputError, match=said):
        propose_benchmark(frame)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "xlsx"])
def test_commands_propose_check_and_analyze(suffix, answers, tmp_path):
    frame = answers(TWELVE)
    path = tmp_path / f"answers.{suffix}"
    if suffix == "xlsx":
        frame[["item_id", "group", "answer_key", "answer"]].to_excel(path, index=False)
        options = ("--benchmark", "mine", "--attribute", "origin")
    else:
        getattr(frame, f"to_{suffix}")(path, index=False)
        options = ()
    toml = tmp_path / "new" / "mine.toml"
    done = run("benchmark", "init", path, "--out", toml, *options)
    assert done.exit_code == 0, done.output
    checked = run("benchmark", "check", toml)
    assert checked.exit_code == 0
    assert "12 groups, 11 pairs of 66" in checked.stdout
    assert "DECIDE: see lines 8, 11" in checked.stdout
    if suffix == "parquet":
        analyzed = run("analyze", path, "--benchmark", toml, "--json")
        assert analyzed.exit_code == 0
        assert '"group_11"' in analyzed.stdout


def test_control_characters_in_a_table_are_refused_with_row_and_value(answers, tmp_path):
    path = tmp_path / "answers.csv"
    answers(("a\nb", "c\x1b[2J")).to_csv(path, index=False)
    done = run("benchmark", "init", path, "--out", tmp_path / "mine.toml")
    assert done.exit_code == 1
    assert "rows 1, 3, 5 and 3 more: group = 'a\\nb': " in done.output
    assert "\x1b" not in done.output
    assert not (tmp_path / "mine.toml").exists()


def test_init_keeps_a_file_that_was_edited(answers, tmp_path):
    path, toml = tmp_path / "answers.parquet", tmp_path / "mine.toml"
    answers(("a", "b")).to_parquet(path)
    assert run("benchmark", "init", path, "--out", toml).exit_code == 0
    edited = toml.read_text().replace("0.02\n", "0.05\n")
    toml.write_text(edited)
    done = run("benchmark", "init", path, "--out", toml)
    assert (done.exit_code, toml.read_text()) == (1, edited)
    assert "already exists with different content" in done.output


def test_check_lists_every_problem_with_line_and_value(answers, tmp_path):
    path, toml = tmp_path / "answers.parquet", tmp_path / "mine.toml"
    answers(("a", "b")).to_parquet(path)
    run("benchmark", "init", path, "--out", toml)
    text = toml.read_text()
    toml.write_text(
        text.replace("equivalence_margin = 0.02", "equivalence_margin = 2")
        .replace('missing = "available"', 'missing = "guess"')
        .replace('["a", "b"]', '["a", "c"]')
    )
    done = run("benchmark", "check", toml)
    lines = [line.removeprefix(f"{toml}: ") for line in done.stdout.splitlines()]
    assert done.exit_code == 1
    assert len(lines) == 3
    assert "missing = 'guess': is unknown" in lines[0]
    assert "equivalence_margin = '2': must be" in lines[1]
    assert "attributes.origin.pairs = 'c': unknown group" in lines[2]
    number = text.split("\n").index("equivalence_margin = 0.02") + 1
    assert lines[1].startswith(f"line {number}: ")


def test_check_lists_every_wrong_type_and_missing_key(benchmark_file):
    path = benchmark_file(missing="missing = 3", licence='license = "CC0"')
    done = run("benchmark", "check", path)
    assert done.exit_code == 1
    assert "licence: is missing; add it" in done.stdout
    assert "missing = '3': " in done.stdout
    assert "did you mean licence?" in done.stdout
