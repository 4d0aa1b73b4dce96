"""A publication that is interrupted, killed or out of space leaves nothing half written."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fairstats._lib.atomic_files import temporary_folder, unfinished
from fairstats.answers.files import write_answers
from fairstats.cli import app
from fairstats.publishing.publish import publish
from fairstats.publishing.site_folder import locked
from fairstats.publishing.verify import verify
from tests.report.conftest import answers_of_models


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupted")
    return write_answers(answers_of_models(("One",)), folder / "in" / "answers.parquet")


@pytest.fixture(scope="module")
def published(answers, tmp_path_factory, without_pages, few_tables):
    """A site with one release; tests must not change it."""
    folder = tmp_path_factory.mktemp("published")
    publish(answers, release="1", out=folder / "site")
    return folder / "site"


@pytest.fixture
def site(published, tmp_path):
    """A copy to be changed."""
    return shutil.copytree(published, tmp_path / "site")


@pytest.fixture
def temporary(tmp_path_factory):
    """A folder for temporary files."""
    return tmp_path_factory.mktemp("t")


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def temporaries(*folders: Path) -> list[str]:
    return [p.name for f in folders for p in f.rglob("*") if p.name.endswith(".tmp")]


def start(answers: Path, site: Path, temporary: Path, **others: object) -> subprocess.Popen[str]:
    """Start `fairstats publish` in a process of its own, and wait until it draws pages."""
    command = [sys.executable, "-m", "fairstats.cli", "publish", "--renderer", "builtin"]
    process = subprocess.Popen(
        [*command, "--answers", str(answers), "--release", "1", "--out", str(site)],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **others,
    )
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline:
        if [*temporary.glob("fairstats-pages-*/reports/models/*.qmd")]:
            break
        time.sleep(0.05)
    return process


def test_an_interruption_ends_with_130_and_leaves_no_trace(answers, temporary, tmp_path):
    site = tmp_path / "site"
    process = start(answers, site, temporary)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    # If the signal arrives while Python runs a text as code, as dataclasses do, Python ends itself
    # with the signal. A shell shows 130 for both.
    assert process.returncode in (130, -signal.SIGINT), err
    assert (out, err) == ("", "interrupted\n")
    assert not list(site.rglob("*"))
    assert list(temporary.iterdir()) == []


@pytest.mark.usefixtures("without_pages", "few_tables")
def test_what_a_killed_publication_left_is_swept_by_the_next(
    answers, temporary, tmp_path, monkeypatch
):
    site = tmp_path / "site"
    process = start(answers, site, temporary)
    process.kill()
    process.communicate(timeout=60)
    assert temporaries(site)
    assert list(temporary.glob("fairstats-pages-*"))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    assert publish(answers, release="1", out=site).new
    assert temporaries(site) == []
    # Drawing pages, which is left out here, takes such a folder.
    with temporary_folder("pages"):
        assert len(list(temporary.iterdir())) == 1


@pytest.mark.usefixtures("without_pages", "few_tables")
def test_an_interruption_of_the_command_in_process_is_130(answers, tmp_path, monkeypatch):
    def interrupt(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fairstats.publishing.publish.render", interrupt)
    done = CliRunner().invoke(app, command(answers, tmp_path / "site", "1"))
    assert (done.exit_code, done.output) == (130, "interrupted\n")
    assert not list((tmp_path / "site").rglob("*"))


def command(answers: Path, site: Path, release: str) -> list[str]:
    given = {"--answers": answers, "--release": release, "--out": site}
    return ["publish", *(str(part) for pair in given.items() for part in pair)]


def test_leftovers_are_swept_and_files_of_others_stay(site, answers):
    for place, name in (("v/9", "downloads/a"), ("site", "latest/x"), ("feed.xml", "")):
        left = unfinished(site / place) / name
        left.parent.mkdir(parents=True, exist_ok=True)
        left.write_text("half")
    of_others = [".git/a.1.tmp", ".notes.tmp", "v/.9.0123abcd-7.tmp", "v/.keep"]
    for name in of_others:
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text("of somebody")
    publish(answers, release="1", out=site)
    assert temporaries(site) == [".notes.tmp", "a.1.tmp", ".9.0123abcd-7.tmp"]
    assert all((site / name).exists() for name in of_others)


def test_lock_holds_for_processes_with_other_temporary_folders(site, temporary):
    before = content(site)
    script = (
        "import sys, time; from pathlib import Path; site = Path(sys.argv[1]);"
        "from fairstats._lib.atomic_files import unfinished;"
        "from fairstats.publishing.site_folder import locked;"
        "lock = locked(site); lock.__enter__();"
        "left = unfinished(site / 'v' / '9'); left.mkdir();"
        "print(left, flush=True); time.sleep(300)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(site)],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert other.stdout is not None
        left = Path(other.stdout.readline().strip())
        entered = threading.Event()

        def enter() -> None:
            with locked(site):
                entered.set()

        waiting = threading.Thread(target=enter)
        waiting.start()
        assert not entered.wait(0.5)
        assert left.is_dir()
    finally:
        other.kill()
        other.communicate()
        waiting.join(60)
    assert entered.is_set()
    assert not left.exists()
    assert content(site) == before


def test_temporary_folders_of_ended_processes_alone_are_swept(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with temporary_folder("pages") as folder:
        ours = folder.name.removesuffix(folder.name.rpartition("-")[2]) + "abc"
    own = f"-{os.getpid()}-"
    left = ours.replace(own, f"-{ended.pid}-")
    machine = ours.split("-")[2]
    others = {ours, left.replace(machine, "0123abcd"), f"other-{ended.pid}-abc", "fairstats-mine"}
    for name in {left, *others}:
        (tmp_path / name).mkdir()
    with temporary_folder("verify") as folder:
        assert {path.name for path in tmp_path.iterdir()} == others | {folder.name}


# --- A full disk


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 6 MB, if this user may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    done = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)], capture_output=True
    )
    if not done or done.returncode:
        pytest.skip("this user may not mount a file system")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.usefixtures("without_pages", "few_tables")
@pytest.mark.parametrize("left", [60_000, 300_000])
def test_a_full_disk_is_named_and_leaves_the_site_as_it_was(small_disk, answers, tmp_path, left):
    site = small_disk / "site"
    publish(answers, release="1", out=site)
    before = content(site)
    other = write_answers(answers_of_models(("Two",)), tmp_path / "other.parquet")
    free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    with (small_disk / "filler").open("wb") as file:
        file.write(bytes(max(0, free - left)))
    done = CliRunner().invoke(app, command(other, site, "2"))
    assert done.exit_code == 1
    assert str(site) in done.output
    assert "No space left on device" in done.output
    assert len(done.output.splitlines()) == 1
    after = content(site)
    # The release may be whole already; the files around it are those of one release or the other.
    assert {name: after.get(name) for name in before} == before
    assert temporaries(site) == []
    (small_disk / "filler").unlink()
    assert CliRunner().invoke(app, command(other, site, "2")).exit_code == 0
    assert all(found.problems == () for found in verify(site))


@pytest.mark.parametrize("at", [1, 3, 6])
def test_a_disk_that_is_full_while_the_site_is_assembled_leaves_it_as_it_was(
    site, answers, tmp_path, monkeypatch, at
):
    before = {name: data for name, data in content(site).items() if not name.startswith("v/")}
    other = write_answers(answers_of_models(("Two",)), tmp_path / "other.parquet")
    written, write = 0, Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        nonlocal written
        written += ".site." in str(path)
        if written == at:
            write(path, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    done = CliRunner().invoke(app, command(other, site, "2"))
    assert done.exit_code == 1
    assert ".site." in done.output
    assert "None" not in done.output
    after = {name: data for name, data in content(site).items() if not name.startswith("v/")}
    assert after == before
    monkeypatch.undo()
    assert CliRunner().invoke(app, command(other, site, "2")).exit_code == 0


@pytest.mark.parametrize("place", ["latest", "api"])
def test_a_publication_that_was_killed_between_two_renames_is_made_whole(site, answers, place):
    building = unfinished(site / "site") / ".old"
    building.mkdir(parents=True)
    (site / place).rename(building / place)
    publish(answers, release="1", out=site)
    assert temporaries(site) == []
    assert verify(site, pages=False)[-1].problems == ()


def test_a_limit_of_file_size_is_named(answers, temporary, tmp_path):
    limit = 20_000
    process = start(
        answers,
        tmp_path / "site",
        temporary,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "File too large" in err
    assert str(tmp_path / "site") in err
    assert "Traceback" not in err
    assert not list((tmp_path / "site").rglob("*"))
