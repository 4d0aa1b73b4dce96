"""Installation: the wheel in a new environment, and every extra with the pinned versions."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
UV = Path(sys.executable).with_name("uv")
# Variables of the checkout, which users of the wheel do not have.
ENVIRONMENT = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}

_MAIN_JOB = """
import fairstats
from fairstats.benchmarks.loading import load_benchmark

keys = load_benchmark("demo").answer_keys
letters = "ABCD"
rows = [
    dict(benchmark="demo", benchmark_version="1", model=model, strategy="plain", item_id=item,
         attribute=attribute, group=group, sample=0, answer_key=key, status="ok",
         answer=letters[(letters.index(key) + (place % every == 0) * wrong) % 4])
    for model, every in (("one", 3), ("two", 5))
    for place, (item, key) in enumerate(keys.items())
    for attribute, pair in (("baseline", ("original", "neutralized")), ("race", ("white", "black")),
                            ("sex", ("male", "female")), ("ses", ("high_income", "low_income")))
    for wrong, group in enumerate(pair)
]
import pandas as pd

answers = pd.DataFrame(rows)
estimates = fairstats.analyze(answers)
race = estimates[(estimates.attribute == "race") & (estimates.metric == "accuracy_difference")]
print(race.set_index("model")["estimate"].mul(24).round(9).to_dict())
answers.to_parquet("answers.parquet")
"""


def _run(*command, cwd, env=ENVIRONMENT):
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _needs_registry():
    """Skip if packages cannot be downloaded: installing is then impossible."""
    if not UV.is_file():
        pytest.skip("uv is not installed here")
    command = [UV, "pip", "compile", "--quiet", "--no-header", "-"]
    done = subprocess.run(command, input="packaging", capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the package registry cannot be reached: {done.stderr.strip()[:200]}")


@pytest.fixture(scope="module", autouse=True)
def resolving():
    """Resolve every extra with the pins, by version of Python, while other tests are running.

    Most of the time goes into waiting for the registry.
    """
    extras = [name for name in PROJECT["optional-dependencies"] if name != "quarto"]
    options = [part for name in extras for part in ("--extra", name)]
    command = [UV, "pip", "compile", "pyproject.toml", *options, "--constraint", "constraints.txt"]
    command += ["--no-annotate", "--quiet", "--no-python-downloads", "--python-version"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    versions = ("3.11", "3.14") if UV.is_file() else ()
    running = {one: subprocess.Popen([*command, one], cwd=ROOT, **pipes) for one in versions}
    yield running
    for process in running.values():
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Return the programs of a new environment with the wheel and its requirements."""
    _needs_registry()
    folder = tmp_path_factory.mktemp("installed")
    _run(UV, "venv", "--python", sys.executable, folder / "env", cwd=folder)
    programs = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    _run(UV, "pip", "install", "--python", programs / "python", wheel, cwd=folder)
    return programs


@pytest.fixture(scope="module")
def analysed(installed, tmp_path_factory):
    """Return a folder in which answers were analysed with the wheel, and what was printed."""
    own = tmp_path_factory.mktemp("analysed")
    # Folders of other packages with these names are not ours.
    site = next((installed.parent / "lib").glob("python*/site-packages"))
    for name in ("data", "reports", "collectors"):
        for folder in (site, own):
            (folder / name).mkdir()
            (folder / name / "__init__.py").touch()
    (own / "job.py").write_text(_MAIN_JOB, encoding="utf-8")
    return own, _run(installed / "python", "job.py", cwd=own)


def test_wheel_analyses_publishes_verifies_and_reports(installed, analysed):
    folder, shown = analysed
    assert shown.strip() == "{'one': 8.0, 'two': 5.0}"
    fairstats = installed / "fairstats"
    publish = ("publish", "--answers", "answers.parquet", "--release", "1", "--out", "site")
    _run(fairstats, *publish, cwd=folder)
    assert (folder / "site" / "latest" / "index.html").is_file()
    _run(fairstats, "verify", "site", cwd=folder)
    report = ("report", "one", "--release", "site/v/1", "--to", "pdf")
    _run(fairstats, *report, cwd=folder)
    (paper,) = folder.glob("*.pdf")
    assert paper.read_bytes().startswith(b"%PDF")


def test_commands_without_their_extra_name_it(installed, analysed, tmp_path):
    answers = str(analysed[0] / "answers.parquet")
    for command, module, extra in (
        (("vignettes", "audit", "demo", "--out", "audit"), "nltk", "audit"),
        (("analyze", answers, "--engine", "duckdb"), "duckdb", "duckdb"),
        (("keygen", "--out", "key"), "cryptography", "submit"),
        (("report", "one", "--release", "1", "--sign", "a.p12"), "pyhanko", "pades"),
        (("verify", "a.pdf", "--release", "1"), "pyhanko", "pades"),
    ):
        done = subprocess.run(
            [str(installed / "fairstats"), *command],
            cwd=tmp_path,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1
        expected = f"{module}: is not installed; install it: pip install 'fairstats[{extra}]'"
        assert done.stderr.splitlines()[-1] == expected


@pytest.mark.parametrize("version", ["3.11", "3.14"])
def test_all_extras_can_be_installed_with_the_pins(version, resolving):
    _needs_registry()
    found, problems = resolving[version].communicate()
    assert resolving[version].returncode == 0, problems
    resolved = {line for line in found.splitlines() if "==" in line and not line.startswith(" ")}
    pinned = set((ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())
    if version == "3.11":
        assert resolved <= pinned
    assert {line.partition("==")[0] for line in resolved} > {
        "inspect-ai",
        "pyspark",
        "krippendorff",
    }
