"""A board's repository takes submissions: its workflows' scripts run on a local bare repository."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from fairstats._lib.problems import InputError
from fairstats.answers.files import write_answers
from fairstats.cli import app
from fairstats.publishing.board_repository import BENCHMARKS, board_benchmarks, create_board
from fairstats.publishing.inputs import blocked_sets
from fairstats.publishing.signing_keys import create_key
from fairstats.publishing.verify import verify
from fairstats.release.contents import releases_of
from tests.screening.frauds import copied
from tests.submission_files import benchmark_for_submissions, honest_sets, submit

yaml = pytest.importorskip("yaml", reason="pyyaml reads the workflows")

ROOT = Path(__file__).parents[2]
FLAGS = ("--provider", "An API", "--snapshot", "not known", "--started", "2026-11-02")
FLAGS += ("--ended", "2026-11-03", "--attempts", "1", "--submitter", "A submitter")
FLAGS += ("--conflicts", "none", "--training-data", "not known")


def git(folder: Path, *arguments: object) -> str:
    """Run git as a person with a name, without the settings of this machine."""
    identity = ("-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=0")
    done = subprocess.run(
        ["git", *identity, *map(str, arguments)], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@cache
def commands(shared: Path) -> Path:
    """Return a folder with a `fairstats` that reuses the tables of this run of the tests."""
    folder = Path(tempfile.mkdtemp())
    script = f"""#!{sys.executable}
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from fairstats.cli import app
from fairstats.release.tables import TABLES
from tests.known_tables import known_tables
shared = Path({str(shared)!r})
TABLES.update(known_tables(shared / "tables"))
app()
"""
    (folder / "fairstats").write_text(script)
    (folder / "fairstats").chmod(0o755)
    atexit.register(shutil.rmtree, folder)
    return folder


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a step."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("FAIRSTATS")}
    programs = commands(Path(tempfile.gettempdir()).parent)
    return kept | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"} | more


def fairstats(*arguments: object) -> Result:
    """Run a command of a person; the workflows start theirs in processes."""
    return CliRunner().invoke(app, list(map(str, arguments)))


def run_steps(folder: Path, workflow: str, job: str, **variables: str) -> tuple[int, str, str]:
    """Run the scripts of a workflow's job as GitHub does, except for the installation.

    Returns
    -------
    The exit code, the name of the last step that ran, and what the steps printed.
    """
    path = folder / ".github" / "workflows" / f"{workflow}.yml"
    steps = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"][job]["steps"]
    printed = ""
    for step in steps:
        if "run" not in step or step["name"] == "Install":
            continue
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=folder,
            env=environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        printed += done.stdout
        if done.returncode:
            return done.returncode, step["name"], printed
    return 0, steps[-1].get("name", ""), printed


class Repository:
    """A bare repository with the board, and the people who work with it."""

    def __init__(self, folder: Path, benchmark, honest) -> None:
        self.folder, self.origin = folder, folder / "origin.git"
        git(folder, "init", "--quiet", "--bare", "--initial-branch=main", self.origin)
        keeper = folder / "keeper"
        git(folder, "clone", "--quiet", self.origin, keeper)
        create_board(keeper, title="A board", benchmarks=[benchmark])
        for one in honest:
            name = one["model"].iloc[0]
            write_answers(one, keeper / "accepted" / "first" / f"{name}.parquet")
        self.commit(keeper, "Start the board")
        git(keeper, "push", "--quiet", "origin", "HEAD:main")

    def clone(self, name: str, branch: str = "main") -> Path:
        folder = self.folder / name
        git(self.folder, "clone", "--quiet", "--branch", branch, self.origin, folder)
        return folder

    def commit(self, folder: Path, message: str) -> None:
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", message)

    def pull_request(self, branch: str, change) -> None:
        """Push a branch on which a submitter changed the board's folder."""
        clone = self.clone(f"submitter-{branch}")
        git(clone, "switch", "--quiet", "--create", branch)
        change(clone)
        self.commit(clone, f"Submit {branch}")
        git(clone, "push", "--quiet", "origin", branch)

    def check(self, branch: str) -> tuple[int, str, str, str]:
        """Run the check of a pull request; return its result and the summary for the page."""
        clone = self.clone(f"check-{branch}", branch)
        temporary = self.folder / f"runner-{branch}"
        temporary.mkdir()
        summary = temporary / "summary.md"
        base = git(clone, "rev-parse", "origin/main")
        code, step, printed = run_steps(
            clone, "check", "check",
            BASE=base, RUNNER_TEMP=str(temporary), GITHUB_STEP_SUMMARY=str(summary),
        )  # fmt: skip
        return code, step, printed, summary.read_text() if summary.exists() else ""

    def publish(self, number: int, key: Path) -> None:
        clone = self.clone(f"publish-{number}")
        temporary = self.folder / f"runner-{number}"
        temporary.mkdir()
        code, step, printed = run_steps(
            clone, "publish", "publish",
            GITHUB_RUN_NUMBER=str(number), RUNNER_TEMP=str(temporary),
            SIGNING_KEY=key.read_text().strip(),
        )  # fmt: skip
        assert code == 0, (step, printed)
        assert not any(temporary.iterdir())
        assert key.read_text().splitlines()[1] not in printed


@pytest.fixture(scope="module")
def benchmark(benchmark_file):
    return benchmark_for_submissions(benchmark_file)


@pytest.fixture(scope="module")
def honest(benchmark):
    return honest_sets(benchmark)


@pytest.fixture(scope="module")
def repository(tmp_path_factory, benchmark, honest):
    """The board after a good submission, a fraud, a broken file and a change of other files."""
    made = Repository(tmp_path_factory.mktemp("board"), benchmark, honest[1:4])

    def good(folder: Path) -> None:
        answers = write_answers(honest[0], folder.with_name("good.parquet"))
        out = folder / "submissions" / "good"
        done = fairstats("submission", "init", answers, "--out", out, *FLAGS,
                         "--prompt", f"plain={folder / 'README.md'}")  # fmt: skip
        assert done.exit_code == 0, done.stderr
        assert "fill in" not in done.stderr

    def fraud(folder: Path) -> None:
        answers = copied(1.0)(honest[0], honest[1], benchmark, np.random.default_rng(5))
        submit(answers.assign(model="copy"), folder / "submissions" / "fraud")

    def broken(folder: Path) -> None:
        path = submit(honest[0].assign(model="broken"), folder / "submissions" / "broken")
        (file,) = path.glob("*.parquet")
        file.write_bytes(file.read_bytes()[:-100])

    def other(folder: Path) -> None:
        good(folder)
        (folder / "requirements.txt").write_text("something-else\n")

    for branch, change in (("good", good), ("fraud", fraud), ("broken", broken), ("other", other)):
        made.pull_request(branch, change)
    return made


@pytest.mark.parametrize(
    ("branch", "code", "step", "result"),
    [
        ("good", 0, "", "## Submission good: ok"),
        ("fraud", 1, "Check", "## Submission fraud: block"),
        ("broken", 1, "Check", "## Submission broken: invalid"),
        ("other", 1, "Only submissions", ""),
    ],
)
def test_pull_request_is_checked_with_a_summary(repository, branch, code, step, result):
    found = repository.check(branch)
    assert found[:2] == (code, step), found[2]
    assert found[3].startswith(result)
    if branch == "other":
        assert found[2].splitlines()[-1] == "requirements.txt"
    elif branch != "broken":
        assert "What would change" in found[3]


def test_accepted_submission_is_published_in_a_signed_chain_of_releases(
    repository, benchmark, honest, tmp_path, monkeypatch
):
    # Other tests verify made-up answers, which screening may block.
    monkeypatch.setattr("fairstats.publishing.inputs.blocked_sets", blocked_sets)
    key = tmp_path / "board.key"
    create_key(key)
    repository.publish(1, key)

    keeper = repository.clone("keeper-again")
    for branch in ("good", "fraud", "broken"):
        git(keeper, "merge", "--quiet", "--no-edit", f"origin/{branch}")
    codes = {}
    for name in ("good", "fraud", "broken"):
        folder = keeper / "submissions" / name
        done = fairstats("submission", "accept", folder, "--board", keeper, "--by", "A keeper")
        codes[name] = done.exit_code
    assert codes == {"good": 0, "fraud": 1, "broken": 1}
    assert not (keeper / "submissions" / "good").exists()
    # Answers of the keeper's own, which screening blocks, and a successor.
    own = copied(1.0)(honest[0], honest[1], benchmark, np.random.default_rng(5))
    write_answers(own.assign(model="own-copy"), keeper / "accepted" / "own" / "copy.parquet")
    newer, older = honest[2]["model"].iloc[0], honest[3]["model"].iloc[0]
    (keeper / "models.toml").write_text(
        f'[models."{newer}"]\nsuccessor_of = "{older}"\n[overrule]\nown-copy = "A fine-tune."\n'
    )
    repository.commit(keeper, "Accept a submission")
    git(keeper, "push", "--quiet", "origin", "HEAD:main")
    repository.publish(2, key)

    site = repository.clone("reader", "site")
    results = verify(site, trust=key.with_name("board.key.pub"), pages=False)
    assert [problem for found in results for problem in found.problems] == []
    assert results[-1].signed_by
    first, second = releases_of(site)
    model = honest[0]["model"].iloc[0]
    assert model not in first.models
    assert model in second.models
    assert "copy" not in second.models
    assert second.overruled == {"own-copy": "A fine-tune."}
    assert second.manifest["successors"] == {newer: older}
    (row,) = second.submissions.to_dict("records")
    assert (row["model"], row["accepted_by"]) == (model, "A keeper")


def test_first_release_is_published_without_a_branch_for_the_site(repository):
    """The workflow creates the branch `site`; it has no file of the branch `main`."""
    site = repository.clone("site-only", "site")
    assert {path.name for path in site.iterdir()} >= {"v", "latest", "releases.json"}
    assert not (site / "accepted").exists()


def test_board_has_its_benchmarks(tmp_path, benchmark):
    create_board(tmp_path / "board", benchmarks=[benchmark])
    found = board_benchmarks(tmp_path / "board")["submitted"]
    assert found.answer_keys == benchmark.answer_keys
    assert (tmp_path / "board" / BENCHMARKS).is_dir()


def test_folder_with_files_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty; choose a new folder"):
        create_board(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_workflows_have_only_the_needed_rights(tmp_path):
    create_board(tmp_path)
    found = {
        name: yaml.safe_load((tmp_path / ".github" / "workflows" / f"{name}.yml").read_text())
        for name in ("check", "publish")
    }
    assert all(one["permissions"] == {"contents": "read"} for one in found.values())
    rights = {
        (name, job): steps.get("permissions")
        for name, one in found.items()
        for job, steps in one["jobs"].items()
    }
    assert rights == {
        ("check", "check"): None,
        ("publish", "publish"): {"contents": "write"},
        ("publish", "deploy"): {"pages": "write", "id-token": "write"},
    }
    # PyYAML reads the key `on` as true.
    assert set(found["check"][True]) == {"pull_request"}
    (checkout,) = [
        s for s in found["check"]["jobs"]["check"]["steps"] if "checkout" in s.get("uses", "")
    ]
    assert checkout["with"]["persist-credentials"] is False
    # Texts of a pull request are never part of a script.
    scripts = [s["run"] for s in found["check"]["jobs"]["check"]["steps"] if "run" in s]
    assert not any("${{" in script for script in scripts)
