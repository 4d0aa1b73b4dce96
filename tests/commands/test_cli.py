"""The command line, run as its users run it."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

import fairstats
from fairstats.answers.files import write_answers
from fairstats.cli import DOCS, GUIDES, PANELS, app, guide_of
from fairstats.estimates.table import ESTIMATE_COLUMNS
from fairstats.report.terminal import print_table
from tests.report.conftest import answers_of_models

ROOT = Path(__file__).parents[2]


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch):
    """The width of the terminal that runs the tests is not that of a file."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def answers(tmp_path):
    return write_answers(answers_of_models(("One", "Two")), tmp_path / "in" / "answers.parquet")


def test_validate_is_silent_about_nothing(answers):
    done = run("validate", answers)
    assert (done.exit_code, done.stdout) == (0, "no problems found\n")


def test_validate_lists_every_problem_and_exits_with_1(tmp_path):
    frame = answers_of_models(("One",))
    frame.loc[3, "group"] = "wite"
    frame.loc[5, ["answer", "status"]] = ["Z", "ok"]
    path = write_answers(frame, tmp_path / "answers.parquet")
    done = run("validate", path)
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert any("row 4: group = 'wite': " in line for line in lines)
    assert any("row 6: answer = 'Z': " in line for line in lines)
    assert any("variants have no row" in line for line in lines)
    assert len(lines) == 3


def test_a_hostile_value_does_not_steer_the_terminal(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("benchmark,model\x1b[2J\ndemo,\x1b]0;owned\x07\n")
    done = run("validate", path)
    assert done.exit_code == 1
    assert "\x1b" not in done.output
    assert "\x07" not in done.output


def test_json_is_an_array_with_one_object_an_estimate(answers):
    done = run("analyze", answers, "--json")
    rows = json.loads(done.stdout)
    assert len(rows) == 2 * (4 * 18 + 15 + 3 * 4)
    assert tuple(rows[0]) == (*ESTIMATE_COLUMNS, "declaration")
    assert "NaN" not in done.stdout


def test_estimates_are_written_and_printed_alike(answers, tmp_path):
    out = tmp_path / "new" / "estimates.parquet"
    done = run("analyze", answers, "--csv", "--out", out)
    assert done.exit_code == 0
    (tmp_path / "printed.csv").write_text(done.stdout)
    printed = pd.read_csv(tmp_path / "printed.csv")
    assert (printed["estimate"] - pd.read_parquet(out)["estimate"]).abs().max() < 1e-12


def test_margin_and_attributes_can_be_chosen(answers):
    done = run("analyze", answers, "--margin", "0.3", "--attribute", "sex", "--csv")
    table = pd.read_csv(io.StringIO(done.stdout))
    assert set(table["attribute"]) == {"sex"}
    assert set(table["margin"].dropna()) == {0.3}


def test_plain_output_is_a_table(answers):
    done = run("analyze", answers)
    assert "race: white − black" in done.stdout
    assert "1, “Two”, “plain”; missing: available" in done.stdout
    assert "intervals" not in done.stdout
    assert "available; 90% intervals" in run("analyze", answers, "--alpha", "0.1").stdout
    assert "available; adjusted: bh" in run("analyze", answers, "--adjust", "bh").stdout
    assert run("analyze", answers, "--missing", "bounds").exit_code == 0
    head = next(line for line in done.stdout.splitlines() if line.startswith("pair"))
    assert ("mid-p" in head, "margin" in head, "left out" in done.stdout) == (True, True, False)


def test_estimates_fit_a_narrow_terminal_and_name_the_columns_left_out(answers, monkeypatch):
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = run("analyze", answers).stdout.splitlines()
        assert max(map(len, lines)) <= width
        head = next(line for line in lines if line.startswith("pair"))
        assert {"difference", "interval", "adjusted", "verdict"} <= set(head.split())
        shown = "\n".join(lines)
        left_out = shown.partition("left out at this width: ")[2].partition(". Use")[0]
        assert "mid-p" in left_out.split("; ")
        assert not set(left_out.split("; ")) & set(head.split())
        assert "…" not in shown


def test_tables_are_divided_on_a_narrow_terminal(answers, monkeypatch):
    name, *options = "compare", "--old", "One", "--new", "Two"
    wanted = pd.read_csv(io.StringIO(run(name, answers, *options, "--csv").stdout))
    monkeypatch.setenv("COLUMNS", "80")
    # Rich takes the output for that of a terminal.
    monkeypatch.setenv("FORCE_COLOR", "1")
    done = run(name, answers, *options)
    assert done.exit_code == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in done.stdout
    varied = [column for column in wanted if wanted[column].nunique(dropna=False) > 1]
    heads = [line for line in lines if line.startswith("┃")]
    assert len(heads) > 1
    assert set(varied) <= set(" ".join(heads).replace("┃", " ").split())


@pytest.mark.parametrize("width", [None, "120"])
def test_long_sentences_in_a_pipe_leave_room_for_other_columns(width, monkeypatch, capsys):
    """The notes of `screen` left one letter of each model and check, and were cut off."""
    if width is not None:
        monkeypatch.setenv("COLUMNS", width)
    notes = [" ".join(f"{start}{word}" for word in range(150)) for start in "ab"]
    named = {"model": ["The first model", "The second model"], "value": [0.25, 0.5]}
    print_table(pd.DataFrame(named | {"note": notes}))
    shown = capsys.readouterr().out
    words = re.sub(r"[^\w.]+", " ", shown).split()
    assert {*" ".join(notes).split(), "0.2500"} <= {*words}
    assert "The second model" in shown
    assert max(map(len, shown.splitlines())) < 150


@pytest.mark.parametrize("name", ["items", "heterogeneity", "noise"])
def test_table_without_rows_is_named_as_empty(name, tmp_path):
    """These commands ended with an error if no pair has an answer of both groups."""
    frame = answers_of_models(("One", "Two"))
    frame.loc[frame["group"].eq("black"), ["answer", "status"]] = [None, "refused"]
    path = write_answers(frame[frame["attribute"] == "race"], tmp_path / "a.parquet")
    done = run("explore", name, path)
    assert (done.exit_code, done.stdout) == (0, "The table has no rows.\n")


def test_reason_of_a_verdict_is_printed(tmp_path):
    frame = answers_of_models(("One",))
    frame.loc[frame["group"].eq("black"), ["answer", "status"]] = [None, "refused"]
    done = run("analyze", write_answers(frame, tmp_path / "a.parquet"))
    assert "race: white − black: no verdict: a group has no answers" in done.stdout.splitlines()


@pytest.mark.usefixtures("few_tables")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("analyze", "nowhere.parquet"), "nowhere.parquet: no such file or folder"),
        (("analyze", "{answers}", "--alpha", "2"), "2.0 is out of range"),
        (("rank", "{answers}", "--alpha", "0.95"), "0.95 is out of range"),
        (("analyze", "{answers}", "--out", "x.csv"), "end the name in .parquet"),
        (("analyze", "{answers}", "--margin", "5"), "--margin: must be between 0 and 1"),
        (("analyze", "{answers}", "--attribute", "age"), "'age' is not in the estimates; use race"),
        (("validate", "{answers}", "--benchmark", "no.toml"), "no.toml: no such file"),
        (("publish", "--answers", "{answers}", "--release", "a b", "--out", "."), "release name"),
        (
            ("publish", "--answers", "{answers}", "--release", "r", "--out", "{answers}"),
            "directory",
        ),
        (("import", "unknown", "file", "--out", "."), "use one of: amqa"),
    ],
)
def test_wrong_use_is_said_in_a_line_and_exits_with_1(answers, arguments, said):
    done = run(*(argument.format(answers=answers) for argument in arguments))
    assert done.exit_code == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "choices"),
    [
        (("analyze", "x", "--missing"), "'available', 'complete', 'incorrect', 'bounds'"),
        (("analyze", "x", "--engine"), "'pandas', 'duckdb', 'spark'"),
        (("analyze", "x", "--adjust"), "'holm', 'hommel', 'bh', 'by', 'max_t'"),
        (("compare", "x", "--missing"), "'common', 'available', 'complete', 'incorrect', 'bounds'"),
        (("compare", "x", "--adjust"), "'holm', 'hommel', 'bh', 'by'"),
        (("rank", "x", "--metric"), "'ad', 'cfr', 'accuracy', 'selection_disparity'"),
        (("publish", "--renderer"), "'auto', 'quarto', 'builtin'"),
        (("report", "x", "--to"), "'pdf', 'html'"),
        (("rag", "vote", "x", "--linkage"), "'average', 'complete'"),
        (("ratings", "report", "x", "--to"), "'html', 'pdf'"),
    ],
)
def test_a_choice_that_does_not_exist_is_refused_with_those_that_do(arguments, choices):
    done = run(*arguments, "other")
    assert done.exit_code == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert f"Invalid value for '{arguments[-1]}'" in said
    assert f"one of {choices}" in said


def test_schema_names_every_column():
    done = run("schema")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0].startswith("benchmark ")
    assert "completion_tokens" in done.stdout


def test_schema_gives_the_meaning_of_a_tables_columns_and_of_metrics():
    assert "\nn10\n  Number of pairs with a correct answer" in run("schema", "estimates").stdout
    assert "cfr\n  CFR, counterfactual fairness rate" in run("schema", "metrics").stdout


def test_schema_of_an_unknown_table_names_the_known_ones():
    done = run("schema", "figures")
    assert done.exit_code == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert "'figures' is not one of answers, metrics, estimates" in said


def test_two_versions_are_compared(answers):
    done = run("compare", answers, "--old", "One", "--new", "Two")
    assert done.exit_code == 0
    assert "delta_accuracy" in done.stdout
    assert "model_new: Two" in done.stdout
    said = "One and Two are answers from your files, not from a release. They are not screened here"
    assert said in done.stderr
    released = Path(answers).with_name("manifest.json")
    released.write_text("{}", encoding="utf-8")
    done = run("compare", answers, "--old", "One", "--new", "Two")
    released.unlink()
    assert "from your files" not in done.stderr
    done = run("compare", answers, "--old", "One", "--new", "Two", "--json")
    assert {row["metric"] for row in json.loads(done.stdout)} == {
        "delta_accuracy",
        "delta_cfr",
        "delta_ad",
    }


def test_snapshots_under_one_name_are_compared(tmp_path):
    for model, snapshot in (("One", "m-2026-01"), ("Two", "m-2026-06")):
        frame = answers_of_models((model,)).assign(model="M", snapshot=snapshot)
        write_answers(frame, tmp_path / f"{snapshot}.parquet")
    words = ("compare", tmp_path, "--old", "M", "--new", "M")
    done = run(*words)
    assert done.exit_code == 1
    assert "are the answers of --old" in done.output
    assert "--old-snapshot and --new-snapshot" in done.output
    done = run("analyze", tmp_path)
    assert "they are of the snapshots m-2026-01 and m-2026-06: name the model" in done.output

    named = ("--old-snapshot", "m-2026-01", "--new-snapshot", "m-2026-06")
    done = run(*words, *named, "--csv")
    assert done.exit_code == 0, done.output
    table = pd.read_csv(io.StringIO(done.stdout))
    assert set(table["model_old"]) == {"M (m-2026-01)"}
    assert set(table["model_new"]) == {"M (m-2026-06)"}
    one, two = (answers_of_models((model,)) for model in ("One", "Two"))
    expected = fairstats.compare(one, two)
    assert table["estimate"].tolist() == pytest.approx(expected["estimate"].tolist())
    assert run(*words, *named, "--csv", "--engine", "duckdb").stdout == done.stdout

    for engine in ("pandas", "duckdb"):
        done = run(*words, "--old-snapshot", "m-2025", "--engine", engine)
        assert "snapshot = 'm-2025': there are no such answers; use one of m-2026-01" in done.output


@pytest.mark.parametrize("engine", ["pandas", "duckdb"])
def test_a_model_that_is_not_there_is_named(answers, engine):
    done = run("compare", answers, "--old", "One", "--new", "Three", "--engine", engine)
    assert done.exit_code == 1
    assert "model = 'Three': there are no such answers; use one of One, Two" in done.output


def test_models_are_ranked(answers):
    done = run("rank", answers, "--csv")
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 3
    assert "rank_low" in done.stdout
    assert "choose another policy" in run("rank", answers, "--missing", "bounds").output


def test_the_adjustment_is_chosen_by_name(answers):
    done = run("analyze", answers, "--adjust", "by", "--csv")
    assert "by over 6 tests" in done.stdout


def test_the_version_is_printed():
    assert run("--version").stdout.strip() == fairstats.__version__


def test_answers_that_the_benchmark_does_not_declare_are_analyzed_but_it_is_said(tmp_path):
    frame = answers_of_models(("One",)).assign(benchmark_version="v9")
    path = write_answers(frame, tmp_path / "answers.parquet")
    done = run("analyze", path, "--csv")
    assert done.exit_code == 0
    assert "not match the benchmark's declaration" in done.stderr
    assert "rows 1, 2, 3 and" in done.stderr
    assert len(pd.read_csv(io.StringIO(done.stdout))) > 50


def test_whoever_reads_the_output_may_stop(tmp_path):
    frame = answers_of_models(tuple(f"model {i}" for i in range(40)))
    frame["item_id"] = frame["item_id"] + frame["model"]
    path = write_answers(frame, tmp_path / "answers.parquet")
    command = f'"{sys.executable}" -m fairstats.cli validate "{path}" | head -n 1'
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert "unknown item" in done.stdout
    assert done.stderr == ""


def test_every_figure_is_shown_under_every_policy(answers):
    done = run("explore", "policies", answers)
    assert done.exit_code == 0
    assert "accuracy_difference" in done.stdout
    rows = pd.read_csv(io.StringIO(run("explore", "policies", answers, "--csv").stdout))
    assert {"ci_low_complete", "lowest", "highest"} <= set(rows.columns)


@pytest.mark.usefixtures("without_pages", "few_tables")
def test_a_release_is_verified_and_compared_with_another(answers, tmp_path):
    out = tmp_path / "site"
    for name in ("1", "2"):
        options = ("--answers", answers, "--release", name, "--out", out, "--renderer", "builtin")
        assert run("publish", *options).exit_code == 0
    done = run("verify", out)
    assert done.exit_code == 0
    assert done.stdout.count(": verified") == 3
    releases = (out / "v" / "1", out / "v" / "2")
    assert "no figure changed" in run("diff", *releases).stdout
    assert len(pd.read_csv(io.StringIO(run("diff", *releases, "--csv").stdout))) == 0
    (out / "v" / "2" / "index.html").write_text("changed")
    done = run("verify", out)
    assert done.exit_code == 1
    assert "was changed after" in done.stdout


def test_note_is_a_line_of_its_own_and_no_failure(tmp_path):
    frame = answers_of_models(("One", "Two"))
    frame.sample(frac=1, random_state=0).to_parquet(tmp_path / "a.parquet")
    for arguments in (("validate",), ("analyze", "--json")):
        done = run(arguments[0], tmp_path / "a.parquet", *arguments[1:])
        assert done.exit_code == 0, done.output
        lines = done.stderr.splitlines()
        assert [line for line in lines if "__index_level_0__ is ignored" in line] == lines
        assert lines[0].startswith("note: ")


def test_help_lists_every_command_in_its_panel():
    known = typer.main.get_command(app).commands
    assert {name for names in PANELS.values() for name in names} == set(known)
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"}).stdout
    places = [shown.index(f"─ {panel} ─") for panel in PANELS]
    places += [len(shown)]
    assert places == sorted(places)
    for number, names in enumerate(PANELS.values()):
        panel = shown[places[number] : places[number + 1]]
        assert re.findall(r"^│ (\S+) ", panel, re.MULTILINE) == list(names)


def commands(group, path=()):
    """Return the words of every command and group, with the command."""
    for name, command in group.commands.items():
        yield (*path, name), command
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))


def test_help_of_every_command_ends_with_a_page_that_shows_it():
    known = dict(commands(typer.main.get_command(app)))
    assert set(GUIDES) - {""} <= {" ".join(words) for words in known}
    for words, command in known.items():
        name, spaced = " ".join(words), r"\s+".join(words)
        assert command.epilog == f"Guide: {DOCS}/{guide_of(name)}"
        text = (ROOT / "docs" / guide_of(name)).read_text(encoding="utf-8")
        assert re.search(rf"fairstats\s+{spaced}\b(?!-)", text), name
    shown = run("site", "pages", "--help").stdout
    assert shown.split()[-2:] == ["Guide:", f"{DOCS}/site.md"]


def test_answers_of_another_tool_belong_to_one_benchmark(answers):
    given = ("--benchmark", "demo", "--benchmark", "fairmedqa")
    done = run("analyze", answers, "--from", "table", *given)
    assert done.exit_code == 1
    assert done.stderr.startswith("--benchmark: is given several times")


def test_gate_takes_answers_to_any_given_benchmark(answers):
    limits = ("--max-ad", "0.99", "--min-cfr", "0.01")
    assert run("gate", answers, *limits, "--benchmark", "fairmedqa").exit_code == 2
    both = run("gate", answers, *limits, "--benchmark", "fairmedqa", "--benchmark", "demo")
    assert both.exit_code in (0, 1), both.output


@pytest.mark.parametrize(
    "arguments", [("gate", "", "--max-ad", "0.9"), ("analyze", ""), ("site", "init", "")]
)
def test_empty_argument_is_not_the_current_folder(arguments, answers, monkeypatch):
    monkeypatch.chdir(answers.parent)
    found = run(*arguments)
    assert found.exit_code == 2
    assert "argument is empty" in found.output
    assert [*answers.parent.iterdir()] == [answers]


def test_groups_are_named_that_have_a_command():
    found = run("init")
    assert found.exit_code == 2
    assert "fairstats benchmark init" in " ".join(found.output.split())
