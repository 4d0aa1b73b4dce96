"""A board's repository takes submissions: its workflows' scripts run on a local bare repository."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from fairstats._lib.atomic_files import unfinished
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
    """Return a folder with a `fairstats` that reuses the tables of this run of the tests.

    It draws pages if DRAWS is set. The folder's `python` runs pip if INSTALLS is set: this version
    is installed already, and starting pip takes two seconds.
    """
    folder = Path(tempfile.mkdtemp())
    script = f"""#!{sys.executable}
import os
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from fairstats.cli import app
from fairstats.release.tables import TABLES
from tests.known_tables import known_tables
shared = Path({str(shared)!r})
TABLES.update(known_tables(shared / "tables"))
if "DRAWS" not in os.environ and sys.argv[1] in ("publish", "verify"):
    import fairstats.publishing.publish
    def render(release, *, site, pdf, **_):
        for path in (site / "index.html", pdf):
            path.write_text("page")
        return "nothing"
    fairstats.publishing.publish.render = render
app()
"""
    (folder / "fairstats").write_text(script)
    pip = '[ -n "$INSTALLS" ] || [ "$1 $2 $3" != "-I -m pip" ] || exit 0'
    (folder / "python").write_text(f'#!/bin/sh\n{pip}\nexec {sys.executable} "$@"\n')
    for name in ("fairstats", "python"):
        (folder / name).chmod(0o755)
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


class Runner:
    """A machine that runs one job of a workflow as GitHub does, with the actions that it uses.

    `more` are variables for its programs, see `commands`.
    """

    def __init__(self, folder: Path, origin: Path, artifacts: Path, **more: str) -> None:
        self.workspace, self.temporary = folder / "workspace", folder / "temporary"
        self.origin, self.artifacts, self.more = origin, artifacts, more
        for path in (self.workspace, self.temporary, artifacts):
            path.mkdir(parents=True, exist_ok=True)
        self.summary = folder / "summary.md"
        self.printed = ""

    def run(
        self,
        path: Path,
        job: str,
        ref: str = "main",
        *,
        skip: str = "",
        only: str = "",
        **variables: str,
    ) -> tuple[int, str]:
        """Run a job of a workflow's file; return its exit code and the name of the last step."""
        steps = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"][job]["steps"]
        for step in steps:
            name = step.get("name", step.get("uses"))
            if name == skip or only not in ("", name):
                continue
            if "uses" in step:
                self.use(step["uses"].partition("@")[0], step.get("with", {}), ref)
                continue
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
                cwd=self.workspace,
                env=environment(
                    RUNNER_TEMP=str(self.temporary),
                    GITHUB_STEP_SUMMARY=str(self.summary),
                    **{name: variables.get(name, "") for name in step.get("env", {})},
                    **{k: v for k, v in variables.items() if k.startswith("GITHUB_")},
                    **self.more,
                ),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="surrogateescape",
            )
            self.printed += done.stdout
            if done.returncode:
                return done.returncode, step["name"]
        return 0, ""

    def use(self, action: str, given: dict[str, str], ref: str) -> None:
        """Do what an action does."""
        match action.removeprefix("actions/"):
            case "checkout":
                folder = self.workspace / given.get("path", "")
                depth = f"--depth={given.get('fetch-depth', 1)}"
                git(self.workspace, "init", "--quiet", folder)
                git(folder, "remote", "add", "origin", f"file://{self.origin}")
                git(folder, "fetch", "--quiet", depth, "origin", ref)
                git(folder, "checkout", "--quiet", "FETCH_HEAD")
            case "upload-artifact" if given["name"] == "unsigned":
                shutil.copy(self.temporary / "site.tar", self.artifacts)
            case "download-artifact":
                name = {"unsigned": "site.tar", "github-pages": "artifact.tar"}[given["name"]]
                shutil.copy(self.artifacts / name, self.workspace)
            case "upload-pages-artifact":
                assert given["include-hidden-files"] is True
                tar = ["tar", "--dereference", "--hard-dereference", "--exclude=.git", "-cf"]
                tar += [self.artifacts / "artifact.tar", "--directory", given["path"], "."]
                subprocess.run(tar, cwd=self.workspace, check=True)
            case "setup-python" | "upload-artifact":
                pass
            case _:
                raise AssertionError(action)


class Repository:
    """A bare repository with the board, and the people who work with it."""

    def __init__(self, folder: Path, benchmark, honest) -> None:
        self.folder, self.origin = folder, folder / "origin.git"
        self.keeper = folder / "keeper"
        git(folder, "init", "--quiet", "--bare", "--initial-branch=main", self.origin)
        keeper = self.keeper
        git(folder, "clone", "--quiet", self.origin, keeper)
        create_board(keeper, title="A board", benchmarks=[benchmark])
        for one in honest:
            name = one["model"].iloc[0]
            write_answers(one, keeper / "accepted" / "first" / f"{name}.parquet")
        (keeper / "submissions" / "rival").mkdir()
        (keeper / "submissions" / "rival" / "submission.toml").write_text('model = "rival"\n')
        # This version is installed already.
        for name in ("requirements.txt", "signing.txt"):
            (keeper / name).write_text("# nothing\n")
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

    def check(self, branch: str, skip: str = "", **more: str) -> tuple[int, str, str, str]:
        """Run the check of a pull request; return its result and the summary for the page."""
        # GitHub merges the pull request, and takes the workflow from the result.
        clone = self.clone(f"merge-{branch}")
        git(clone, "merge", "--quiet", "--no-ff", "--no-edit", f"origin/{branch}")
        git(clone, "push", "--quiet", "origin", f"HEAD:refs/pull/{branch}/merge")
        place, artifacts = self.folder / f"check-{branch}", self.folder / "artifacts"
        runner = Runner(place, self.origin, artifacts, **more)
        workflow = self.keeper / ".github" / "workflows" / "check.yml"
        code, step = runner.run(workflow, "check", f"refs/pull/{branch}/merge", skip=skip)
        summary = runner.summary
        return code, step, runner.printed, summary.read_text() if summary.exists() else ""

    def publish(self, number: int, key: Path, **more: str) -> None:
        secret = key.read_text().strip()
        for job in ("publish", "sign", "save"):
            place, artifacts = self.folder / f"{job}-{number}", self.folder / f"artifacts-{number}"
            runner = Runner(place, self.origin, artifacts, **more)
            workflow = self.keeper / ".github" / "workflows" / "publish.yml"
            found = runner.run(
                workflow, job,
                GITHUB_RUN_NUMBER=str(number), SIGNED="true", SIGNING_KEY=secret,
            )  # fmt: skip
            assert found == (0, ""), runner.printed
            # Whatever is printed about answers is no command.
            assert (job == "publish") == ("::stop-commands::" in runner.printed)
            assert not list(runner.temporary.glob("*key*"))
            assert key.read_text().splitlines()[1] not in runner.printed


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

    for branch, change in (("good", good), ("fraud", fraud), ("broken", broken)):
        made.pull_request(branch, change)
    return made


@pytest.mark.parametrize(
    ("branch", "code", "step", "result"),
    [
        ("good", 0, "", "## Submission good: ok"),
        ("fraud", 1, "Check", "## Submission fraud: block"),
        ("broken", 1, "Check", "## Submission broken: invalid"),
    ],
)
def test_pull_request_is_checked_with_a_summary(repository, branch, code, step, result):
    found = repository.check(branch)
    assert found[:2] == (code, step), found[2]
    assert found[3].startswith(result)
    if branch != "broken":
        assert "What would change" in found[3]


ONLY_NEW = "Only new submissions"
SUBMITTED = Path("submissions") / "new" / "submission.toml"


def added(name: str | bytes) -> Callable[[Path], None]:
    """Return a change that adds a file."""

    def change(folder: Path) -> None:
        path = folder / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text\n")

    return change


def submissions_replaced_by_a_link(folder: Path) -> None:
    shutil.rmtree(folder / "submissions")
    (folder / "submissions").symlink_to("accepted")


def file_replaced_by_a_link(folder: Path) -> None:
    (folder / SUBMITTED).unlink()
    (folder / SUBMITTED).symlink_to("/etc/passwd")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (added("requirements.txt"), "requirements.txt"),
        (added("pip.py"), "pip.py"),
        (added("accepted/mine/a.csv"), "accepted/mine/a.csv"),
        (added(".github/workflows/check.yml"), ".github/workflows/check.yml"),
        (added("submissions/rival/more.csv"), "submissions/rival/more.csv"),
        (added("submissions/rival/submission.toml"), "submissions/rival/submission.toml"),
        (added("submissions/new/a/b.csv"), "submissions/new/a/b.csv"),
        (added("submissions/.hidden/b.csv"), "submissions/.hidden/b.csv"),
        (added("submissions/new/a\\b.csv"), "a\\\\b.csv"),
        (added(b"submissions/new/\xff.csv"), "$'submissions/new/\\377.csv'"),
        (added("submissions/new/\n::notice::ok"), "$'submissions/new/\\n::notice::ok'"),
        (added("submissions/new/##[error]ok"), r"submissions/new/##\[error\]ok"),
        (lambda folder: shutil.rmtree(folder / "submissions" / "rival"), "rival/submission.toml"),
        (submissions_replaced_by_a_link, "submissions/rival/submission.toml"),
        (file_replaced_by_a_link, str(SUBMITTED)),
    ],
)
def test_pull_request_that_changes_more_than_its_own_folder_is_refused(
    repository, request, change, named
):
    branch = f"refused-{request.node.callspec.indices['change']}"

    def change_more(folder: Path) -> None:
        added(str(SUBMITTED))(folder)
        change(folder)

    repository.pull_request(branch, change_more)
    code, step, printed, _ = repository.check(branch)
    assert (code, step) == (1, ONLY_NEW), printed
    assert named in printed
    for line in printed.splitlines():
        assert not line.startswith("::")
        assert "##[" not in line


@pytest.mark.parametrize("skip", ["", ONLY_NEW])
def test_no_code_of_a_pull_request_is_run(repository, skip):
    branch = f"code-{bool(skip)}"
    marker = repository.folder / f"{branch}.ran"

    def change(folder: Path) -> None:
        for place in (folder, folder / "submissions" / branch):
            place.mkdir(exist_ok=True)
            for name in ("pip", "fairstats", "sitecustomize", "typer"):
                (place / f"{name}.py").write_text(f"open({str(marker)!r}, 'w')\n")
        # Those of the board are installed.
        (folder / "requirements.txt").write_text("./none\n")

    repository.pull_request(branch, change)
    code, step, printed, _ = repository.check(branch, skip, INSTALLS="1")
    assert code != 0
    assert step == ("Check" if skip else ONLY_NEW), printed
    assert not marker.exists()


def test_names_of_a_submission_are_no_commands_to_the_runner(repository, honest):
    def change(folder: Path) -> None:
        # The first is a command at the start of a line only, the second anywhere in it.
        for name, model in (("one", "::notice title=Check::ok"), ("two", "##[error]ok")):
            submit(honest[0].assign(model=model), folder / "submissions" / name)

    repository.pull_request("commands", change)
    code, _, printed, _ = repository.check("commands")
    before, stopped, after = printed.partition("::stop-commands::")
    token, _, inside = stopped and after.partition("\n")
    inside, resumed, after = inside.partition(f"::{token}::")
    assert code == 0
    assert "::notice" in inside
    assert "[error]" in inside
    assert resumed
    assert "::notice" not in before + after
    assert "##[" not in printed


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
    # The pages of the one with a submission, an overruled model and a successor.
    repository.publish(2, key, DRAWS="1")

    site = repository.clone("reader", "site")
    results = verify(site, trust=key.with_name("board.key.pub"), pages=False)
    assert [problem for found in results for problem in found.problems] == []
    assert results[-1].signed_by
    first, second = releases_of(site)
    model = honest[0]["model"].iloc[0]
    assert model not in first.models
    assert model in second.models
    assert "copy" not in second.models
    overruled = {(key[2:], reason) for key, reason in second.overruled.items()}
    assert overruled == {(("own-copy", "plain"), "A fine-tune.")}
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


def test_keys_and_unfinished_files_are_not_committed(tmp_path):
    create_board(tmp_path)
    git(tmp_path, "init", "--quiet")
    left = unfinished(tmp_path / "killed")
    left.mkdir()
    for path in (left / "a.csv", tmp_path / "board.key", tmp_path / "a.csv"):
        path.touch()
    git(tmp_path, "add", "--all")
    staged = git(tmp_path, "ls-files").splitlines()
    assert "a.csv" in staged
    assert not [name for name in staged if name.endswith((".key", "/a.csv"))]


def scripts_of(job: dict[str, Any]) -> list[str]:
    """Return the scripts of a job's steps."""
    return [step["run"] for step in job["steps"] if "run" in step]


def test_workflows_have_only_the_needed_rights(tmp_path):
    create_board(tmp_path)
    texts = {
        name: (tmp_path / ".github" / "workflows" / f"{name}.yml").read_text()
        for name in ("check", "publish")
    }
    found = {name: yaml.safe_load(text) for name, text in texts.items()}
    assert all(one["permissions"] == {"contents": "read"} for one in found.values())
    jobs = {(name, job): of for name, one in found.items() for job, of in one["jobs"].items()}
    # The job that reads the answers has neither the key nor the right to write.
    assert {key: (job.get("permissions"), "environment" in job) for key, job in jobs.items()} == {
        ("check", "check"): (None, False),
        ("publish", "publish"): (None, False),
        ("publish", "sign"): (None, True),
        ("publish", "save"): ({"contents": "write"}, False),
        ("publish", "deploy"): ({"pages": "write", "id-token": "write"}, True),
    }
    assert {key[1] for key, job in jobs.items() if "secrets." in str(job)} == {"sign"}
    assert "fairstats" not in str(jobs["publish", "save"])
    # PyYAML reads the key `on` as true. With a list of paths, other changes would not be checked.
    assert found["check"][True] == "pull_request"
    (checkout,) = [s for s in jobs["check", "check"]["steps"] if "checkout" in s.get("uses", "")]
    assert checkout["with"]["persist-credentials"] is False
    # Texts of a pull request are never part of a script.
    scripts = [script for job in jobs.values() for script in scripts_of(job)]
    assert not any("${{" in script for script in scripts)
    # Python takes no module from the folder that it is started in.
    assert not any(re.search(r"\bpython (?!-I )", script) for script in scripts)
    # Nothing is installed before the files of a pull request were looked at.
    (first, *_) = [step["name"] for step in jobs["check", "check"]["steps"] if "run" in step]
    assert first == ONLY_NEW
    # Nor next to the key without a hash.
    installs = [s for s in scripts_of(jobs["publish", "sign"]) if "pip install" in s]
    assert installs
    assert all("--require-hashes --only-binary :all:" in script for script in installs)
    # The tests of the check show what this filter is for.
    shown = [s for s in scripts if re.search(r"fairstats (publish|submission check) ", s)]
    assert len(shown) == 2
    assert all(r"2>&1 | sed 's/#\[/# [/g; s/^/  /'" in script for script in shown)
    # Without a shell of its own, a step does not fail with the first program of a pipe.
    assert all(one["defaults"] == {"run": {"shell": "bash"}} for one in found.values())
    used = [line for text in texts.values() for line in text.splitlines() if "uses:" in line]
    assert all(re.search(r" actions/[a-z-]+@[0-9a-f]{40} # v[0-9.]+$", line) for line in used)


def test_key_is_removed_if_signing_fails(tmp_path):
    create_board(tmp_path / "board")
    workflow = tmp_path / "board" / ".github" / "workflows" / "publish.yml"
    runner = Runner(tmp_path / "sign", tmp_path, tmp_path / "artifacts")
    found = runner.run(workflow, "sign", only="Sign", SIGNING_KEY="no key")
    assert found == (1, "Sign"), runner.printed
    assert "board.key" in runner.printed
    assert not any(runner.temporary.iterdir())


def test_links_of_a_built_site_are_not_followed(tmp_path):
    create_board(tmp_path / "board")
    workflow = tmp_path / "board" / ".github" / "workflows" / "publish.yml"
    runner = Runner(tmp_path / "sign", tmp_path, tmp_path / "artifacts")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a").symlink_to("/etc/passwd")
    pack = ["tar", "-cf", runner.workspace / "site.tar", "--directory", tmp_path / "site", "."]
    subprocess.run(pack, check=True)
    assert runner.run(workflow, "sign", only="Unpack") == (1, "Unpack")
