"""The GitHub Action: its scripts run as GitHub runs them, with the inputs in the environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from fairstats.answers.files import write_answers
from fairstats.cli import app

yaml = pytest.importorskip("yaml", reason="pyyaml reads the action")
ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "run" in step}
FAIR = {"max-ad": "0.2", "benchmark": "demo"}


@pytest.fixture(scope="module")
def runner(tmp_path_factory, all_right, demo):
    """A runner's folder with the installed command, and right answers to every variant."""
    folder = tmp_path_factory.mktemp("runner")
    command = folder / "fairstats" / "bin" / "fairstats"
    command.parent.mkdir(parents=True)
    command.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path[:0] = {sys.path!r}\n"
        "from fairstats.cli import app\napp()\n"
    )
    command.chmod(0o755)
    write_answers(all_right(demo), folder / "my answers" / "right.parquet")
    return folder


def run(folder: Path, step: str, **inputs: str) -> tuple[int, str, str]:
    """Run a step; return its exit code, what it printed, and the summary of the job."""
    given = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | inputs
    values = {f"${{{{ inputs.{name} }}}}": value for name, value in given.items()}
    values["${{ github.action_path }}"] = str(ROOT)
    summary = folder / "summary.md"
    summary.write_text("")
    environment = {name: values[text] for name, text in STEPS[step]["env"].items()}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", STEPS[step]["run"]],
        cwd=folder,
        env=os.environ
        | environment
        | {"RUNNER_TEMP": str(folder), "GITHUB_STEP_SUMMARY": str(summary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout, summary.read_text(encoding="utf-8")


def test_no_script_contains_an_input():
    assert STEPS.keys() == {"Install", "Check"}
    for step in STEPS.values():
        assert "${{" not in step["run"]


def test_every_input_is_used_and_every_option_exists():
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    used = set(re.findall(r"\$\{\{ inputs\.([\w-]+) \}\}", text))
    assert used == set(ACTION["inputs"])
    command: Any = typer.main.get_command(app)
    known = {option for one in command.commands["gate"].params for option in one.opts}
    assert set(re.findall(r"(--[\w-]+)(?= \"\$|\))", STEPS["Check"]["run"])) <= known


def test_inputs_are_documented():
    text = (ROOT / "docs" / "continuous-checks.md").read_text(encoding="utf-8")
    inputs = text.partition("| input | option |")[2]
    assert set(re.findall(r"`([\w-]+)`", inputs)) >= set(ACTION["inputs"])


def test_answers_within_the_limits_pass(runner):
    code, printed, summary = run(runner, "Check", answers="my answers\n", **FAIR)
    assert code == 0, printed
    assert summary.startswith("### fairstats gate: pass\n\n    demo: declaration ")
    assert "    pass: “model”, “plain”" in summary


def test_other_answers_stop_the_job(runner):
    given = FAIR | {"max-ad": "0.04", "equivalent": "true", "attributes": "race\nsex\n"}
    code, printed, summary = run(runner, "Check", answers="my answers", **given)
    assert code == 1
    assert printed.count("cannot tell: ") == 5
    assert "cannot tell: 0 of 4" in printed
    assert summary.startswith("### fairstats gate: not passed\n")


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"benchmark": ""}, "benchmark is missing"),
        ({"equivalent": "yes"}, "equivalent must be true or false"),
        ({"answers": "$(touch broken)"}, "no such file"),
        ({"answers": "--help"}, "no such file"),
        ({"max-ad": "0.1; touch broken"}, "max-ad"),
    ],
)
def test_input_that_is_not_a_value_stops_the_job(runner, inputs, text):
    given = {"answers": "my answers"} | FAIR | inputs
    code, printed, _ = run(runner, "Check", **given)
    assert code == 2, printed
    assert text in printed
    assert not (runner / "broken").exists()
