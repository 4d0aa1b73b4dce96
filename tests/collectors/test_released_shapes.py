"""The commands of docs/import.md take three released data sets from their files to figures."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fairstats.answers.files import read_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.cli import app
from fairstats.estimates.analyze import analyze

DOC = Path(__file__).parents[2] / "docs" / "import.md"


@pytest.fixture
def follow(tmp_path, monkeypatch, shared_data):
    """Return a function that runs the commands of a section of the document."""

    def run(heading, *files):
        for name in files:
            shutil.copy(shared_data(name), tmp_path)
        monkeypatch.chdir(tmp_path)
        section = DOC.read_text(encoding="utf-8").partition(f"\n### {heading}")[2]
        text = re.split(r"\n##", section, maxsplit=1)[0]
        for block in re.findall(r"(?s)```bash\n(.*?)```", text):
            for line in block.replace("\\\n", " ").splitlines():
                done = CliRunner().invoke(app, shlex.split(line)[1:])
                assert done.exit_code == 0, (line, done.output)

    return run


def estimates(folder, benchmark):
    return analyze(read_answers(folder), benchmarks=[load_benchmark(benchmark)])


def test_triage_levels(follow):
    follow("Levels", "triage/triage_levels.csv")
    text = Path("triage.toml").read_text()
    assert 'cluster = "subject_id"' in text
    pairs = 'crosses = ["race", "sex"]\npairs = [["White+Men", "Black+Men"]]'
    Path("triage.toml").write_text(text.replace('crosses = ["race", "sex"]\npairs = []', pairs))
    found = estimates("answers/triage", "triage.toml")
    rows = found[(found["group_b"] == "Black+Men") & (found["strategy"] == "zero-shot")]
    haiku = rows[rows["model"].str.contains("haiku")].set_index("metric")
    assert haiku.loc["level_difference", "estimate"] == pytest.approx(0.14211, abs=5e-6)
    assert haiku.loc["level_difference", ["n", "n_units"]].tolist() == [190, 50]
    assert (haiku.loc["sign_flip", "p_value"] < 1e-4).all()
    gpt = rows[(rows["model"] == "gpt-4o") & (rows["metric"] == "level_difference")]
    assert gpt["estimate"].item() == pytest.approx(0.01053, abs=5e-6)


def test_hiring_decisions_and_scores(follow, tmp_path, shared_data):
    released = shared_data("hiring/hiring.csv").parent
    (tmp_path / "results").mkdir()
    for path in released.glob("*.json"):
        shutil.copy(path, tmp_path / "results")
    follow("Decisions and scores", "hiring/hiring.csv")
    found = estimates("answers/hiring", "hiring.toml")
    rates = found[found["metric"] == "selection_rate_b"].set_index(["model", "group_b"])
    for model, yes in {
        "gemini-2.5-flash": (19, 20),
        "mistral-large": (25, 31),
        "mistral-small": (14, 12),
    }.items():
        for group, count in zip(("james-smith", "aisha-okonkwo"), yes, strict=True):
            rate = rates.loc[(model, group)]
            assert (rate["n"], rate["estimate"]) == (85, pytest.approx(count / 85))
    found = estimates("answers/hiring-score", "hiring-score.toml")
    means = found[found["metric"] == "score_b"].set_index(["model", "group_b"])["estimate"]
    assert means["gemini-2.5-flash", "james-smith"] == pytest.approx(5.282, abs=5e-4)
    assert means["mistral-small", "aisha-okonkwo"] == pytest.approx(5.565, abs=5e-4)


def test_diagnosis_choices(follow):
    follow("Choices", "diagnosis_arena/diagnosis_arena_results.xlsx")
    found = estimates("answers/diagnosis", "diagnosis-arena.toml")
    own = found[found["model"] == "deepseek_r1"].set_index("metric")
    # Female minus male.
    assert own.loc["accuracy_difference", ["n", "n10", "n01"]].tolist() == [605, 61, 79]
    assert own.loc["cfr", "estimate"] == pytest.approx(356 / 605)
