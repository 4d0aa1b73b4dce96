"""The workflow that publishes the site: its commands exist, and it has only the needed rights."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer

from fairstats.cli import app

yaml = pytest.importorskip("yaml", reason="pyyaml reads the workflow")
PATH = Path(__file__).parents[1] / ".github" / "workflows" / "pages.yml"


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    return yaml.safe_load(PATH.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def scripts(workflow) -> list[str]:
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    return [step["run"] for step in steps if "run" in step]


def calls(script: str) -> list[list[str]]:
    """Yield the arguments of every call of the command line in a script."""
    lines = [line.strip() for line in script.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("fairstats ")]


def parsed(arguments: list[str]) -> dict[str, Any]:
    """Parse a call's parameters like the command line, without running it."""
    group: Any = typer.main.get_command(app)
    context = group.commands[arguments[0]].make_context(arguments[0], arguments[1:])
    return dict(context.params)


def test_every_command_exists_with_its_options(scripts):
    found = {arguments[0]: parsed(arguments) for script in scripts for arguments in calls(script)}
    assert set(found) == {"publish", "demo", "verify"}
    assert Path(found["publish"]["out"]) == Path(found["demo"]["out"]) == Path("site")
    assert Path(found["verify"]["path"]).parts[:2] == ("site", "v")


def test_check_detects_an_unknown_option():
    with pytest.raises(Exception, match="No such option: --thoroughly"):
        parsed(["verify", "--thoroughly", "site"])
    with pytest.raises(Exception, match="Missing parameter: release"):
        parsed(["publish", "--answers", "answers"])


def test_published_and_verified_site_is_deployed(workflow):
    build, deploy = workflow["jobs"]["build"]["steps"], workflow["jobs"]["deploy"]["steps"]
    (upload,) = [step for step in build if "upload-pages-artifact" in step.get("uses", "")]
    assert upload["with"] == {"path": "site"}
    assert build.index(upload) == len(build) - 1
    assert 'fairstats verify "site/v/' in build[-3]["run"]
    # The documents come after the board, to which their pages then link.
    assert build[-2]["run"].endswith("python docs/build_site.py --out site/docs\n")
    assert (PATH.parents[2] / "docs" / "build_site.py").is_file()
    assert workflow["jobs"]["deploy"]["needs"] == "build"
    assert [step["uses"].partition("@")[0] for step in deploy] == ["actions/deploy-pages"]


def test_workflow_has_only_the_needed_permissions(workflow):
    assert workflow["permissions"] == {"contents": "read"}
    rights = {name: job.get("permissions") for name, job in workflow["jobs"].items()}
    assert rights == {
        "build": None,
        "deploy": {"pages": "write", "id-token": "write"},
        "provenance": {"attestations": "write", "id-token": "write"},
    }
    assert workflow["concurrency"] == {"group": "pages", "cancel-in-progress": False}
    (checkout,) = [s for s in workflow["jobs"]["build"]["steps"] if "checkout" in s.get("uses", "")]
    assert checkout["with"]["persist-credentials"] is False
    assert "secrets." not in PATH.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["pages.yml", "tests.yml", "../../action.yml"])
def test_actions_are_pinned_by_hash(name):
    text = (PATH.parent / name).read_text(encoding="utf-8")
    for used in re.findall(r"uses: (.+)", text):
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v[0-9.]+", used), used


def test_provenance_is_of_the_manifests_that_are_deployed(workflow, tmp_path):
    job = workflow["jobs"]["provenance"]
    assert job["needs"] == "build"
    download, unpack, attest = job["steps"]
    assert download["with"] == {"name": "github-pages"}
    assert attest["uses"].startswith("actions/attest-build-provenance@")
    # As actions/upload-pages-artifact packs a site.
    (tmp_path / "site" / "v" / "1").mkdir(parents=True)
    (tmp_path / "site" / "v" / "1" / "manifest.json").touch()
    pack = ["tar", "--directory", "site", "-cf", "artifact.tar", "."]
    subprocess.run(pack, cwd=tmp_path, check=True)
    subprocess.run(["bash", "-ec", unpack["run"]], cwd=tmp_path, check=True)
    found = tmp_path.glob(attest["with"]["subject-path"])
    assert [path.parent.name for path in found] == ["1"]


def test_no_script_has_an_expression_in_it(scripts):
    # GitHub inserts their values into the script's text: anyone who sets one could change the
    # script.
    assert not [script for script in scripts if "${{" in script]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on the path")
def test_the_scripts_can_be_read_by_bash(scripts):
    for script in scripts:
        done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_pull_requests_run_the_readmes_command_and_may_only_read():
    tests = yaml.safe_load(PATH.with_name("tests.yml").read_text(encoding="utf-8"))
    assert tests["permissions"] == {"contents": "read"}
    # YAML reads the key `on` as true.
    assert "pull_request" in tests[True]
    (job,) = tests["jobs"].values()
    assert job["steps"][-2:] == [{"run": "make test"}, {"run": "make test-all"}]


def test_installed_packages_exist():
    assert (PATH.parents[2] / "constraints.txt").is_file()
