"""`fairstats demo`: its steps, its releases, and the commands it names."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from fairstats_collectors.amqa import import_amqa
from fairstats_collectors.released_files import fetch_fairmedqa
from fairstats_collectors.retrieve import retrieve
from typer.testing import CliRunner

from fairstats._lib.problems import InputError
from fairstats.answers.files import read_answers, write_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.cli import app
from fairstats.publishing.demo import demo_answers, demo_retrievals, publish_next, taken_answers
from fairstats.release.contents import Release
from tests.released_server import served_release
from tests.report.conftest import answers_of_models

pytestmark = pytest.mark.usefixtures("without_pages")

GROUPS = ("original", "desensitized", "white", "black", "male", "female", "high_income")


def released(every: int) -> bytes:
    """A file in the authors' format, whose low-income variant is wrong for some items."""
    lines = []
    for place, (item, key) in enumerate(load_benchmark("fairmedqa").answer_keys.items()):
        answers = {f"test_model_answer_{group}": key for group in GROUPS}
        wrong = "B" if key == "A" else "A"
        answers["test_model_answer_low_income"] = wrong if place % every == 0 else key
        lines.append(json.dumps({"question_id": item, "answer_idx": key, **answers}) + "\n")
    return "".join(lines).encode()


@pytest.fixture
def said():
    return []


def collector(benchmark, *, model, out, strategy):
    """Stands in for the embedded model, which tests/collectors asks for real."""
    assert (benchmark.name, model) == ("demo", "embedded")
    frame = answers_of_models(("SmolLM2",)).assign(strategy=strategy)
    return write_answers(frame, out / f"demo-1-smollm2-{strategy}.parquet")


def test_model_is_asked_once(tmp_path, said):
    path = demo_answers(tmp_path, collector, say=said.append)
    assert read_answers(path)["strategy"].value_counts().to_dict() == {"plain": 192}
    assert demo_answers(tmp_path, None, say=said.append) == path
    assert sum("there already" in line for line in said) == 1


def test_what_is_shipped_is_looked_up_and_published(tmp_path, said):
    path = demo_retrievals(tmp_path, retrieve, say=said.append)
    assert demo_retrievals(tmp_path, retrieve, say=said.append) == path
    answers = demo_answers(tmp_path, collector, say=said.append)
    made = publish_next([answers], name="demo", out=tmp_path / "out", retrievals=[path])
    overlap = Release(made.path).table("overlap").set_index(["top_k", "attribute", "measure"])
    # Words for race and income draw other snippets; were they not read, all would be the same.
    assert 0 < overlap.loc[(10, "race", "iou"), "estimate"] < 1
    assert overlap.loc[(10, "pooled", "iou"), "n"] == 24


def test_a_release_with_other_answers_gets_the_next_name(tmp_path):
    one = write_answers(answers_of_models(("One",)), tmp_path / "1.parquet")
    two = write_answers(answers_of_models(("Two",)), tmp_path / "2.parquet")
    out = tmp_path / "out"
    names = [publish_next([path], name="demo", out=out).path.name for path in (one, two, one)]
    assert names == ["demo", "demo.2", "demo"]


@pytest.fixture
def take(tmp_path, said):
    kept = {"fetcher": fetch_fairmedqa, "importer": import_amqa, "say": said.append}
    return lambda folder: taken_answers(folder, tmp_path / "kept", **kept)


def test_answers_in_the_schema_are_taken_as_they_are(tmp_path, take):
    write_answers(answers_of_models(("One",)), tmp_path / "in" / "a.parquet")
    assert take(tmp_path / "in") == [tmp_path / "in"]
    with pytest.raises(InputError, match="is not a folder"):
        take(tmp_path / "nowhere")


def test_released_files_are_imported_and_others_named(take, said, shared_data):
    taken = take(shared_data("amqa").parent)
    assert len(taken) == 15
    assert len(read_answers(taken)) == 15 * 801 * 8
    left_out = [line for line in said if line.startswith("Left out")]
    assert len(left_out) == 3
    assert any("deepseek_cot2_t.jsonl" in line for line in left_out)


# --- The command


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """Lists files that `released` writes as released ones."""
    with served_release(tmp_path / "server", monkeypatch, {"GPT-Old.jsonl": released(3)}, {}):
        yield


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the answers of the embedded model, in which pages are not drawn."""

    folder = tmp_path / "place"
    asked = answers_of_models(("SmolLM2",))
    write_answers(asked, folder / "answers" / "demo" / "demo-1-smollm2-plain.parquet")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [".venv/bin/fairstats", "demo"])
    return folder


def demo(*options: str) -> tuple[list[str], list[str]]:
    """Run the demonstration; return what it printed, and the releases by age."""
    done = CliRunner().invoke(app, ["demo", *options])
    assert done.exit_code == 0, done.output
    manifests = [json.loads(path.read_text()) for path in Path("site", "v").glob("*/manifest.json")]
    manifests.sort(key=lambda manifest: manifest["created_at"])
    return done.output.splitlines(), [manifest["release"] for manifest in manifests]


def next_commands(lines: list[str]) -> dict[str, list[str]]:
    """The command that the last lines name for each user, without the program."""
    found = {}
    for line in lines[-3:]:
        user, _, command = line.partition(":")
        program, *arguments = shlex.split(command)
        assert program == ".venv/bin/fairstats"
        found[user.strip()] = arguments
    return found


def test_demo_ends_on_shipped_board_and_printed_commands_run(place):
    demo()
    # Again: the same answers are the same releases.
    lines, releases = demo()
    assert releases == ["demo", "fairmedqa"]
    assert any("answers of 12 models" in line for line in lines)
    assert lines[-5].startswith("Open site/v/fairmedqa/index.html in a browser")
    commands = next_commands(lines)
    assert list(commands) == ["publisher", "auditor", "statistician"]
    for arguments in commands.values():
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, f"{arguments}\n{done.output}"
    assert len(list(Path().glob("*-audit-fairmedqa.pdf"))) == 1
    (published,) = Path("out").glob("*/v/*/manifest.json")
    assert published.is_file()


@pytest.mark.parametrize("kind", ["answers", "released files"])
def test_folder_is_published_instead_of_shipped_answers(listed, place, tmp_path, kind):
    folder = tmp_path / "own"
    if kind == "answers":
        write_answers(answers_of_models(("Own",)), folder / "own.parquet")
    else:
        folder.mkdir()
        (folder / "renamed.jsonl").write_bytes(released(3))
    lines, (first, second) = demo("--answers", str(folder))
    assert first == "demo"
    assert lines[-5].startswith(f"Open site/v/{second}/index.html in a browser")
    commands = next_commands(lines)
    model = "Own" if kind == "answers" else "GPT-Old"
    assert commands["auditor"] == ["report", model, "--release", f"site/v/{second}"]


def test_unreadable_folder_is_refused_before_the_model_is_asked(place, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "other.jsonl").write_bytes(b'{"question_id": "0"}\n')
    done = CliRunner().invoke(app, ["demo", "--answers", str(folder)])
    assert done.exit_code == 1
    assert "fairstats import" in done.output
    assert not Path("site").exists()


def test_program_on_the_path_is_named_without_its_folder(place, tmp_path, monkeypatch):
    program = place / "bin" / "fairstats"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setattr(sys, "argv", [str(program), "demo"])
    write_answers(answers_of_models(("Own",)), tmp_path / "own" / "own.parquet")
    lines, _ = demo("--answers", str(tmp_path / "own"))
    (auditor,) = [line.split() for line in lines if line.startswith("  auditor:")]
    assert auditor[1:3] == ["fairstats", "report"]
