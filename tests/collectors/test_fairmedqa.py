"""Fetching the released files: over a real HTTP server on loopback, and from a folder."""

from __future__ import annotations

import socket

import pytest
from fairstats_collectors import amqa, fairmedqa, listed_files

from fairstats._lib.problems import InputError
from tests.released_server import served_release
from tests.serving import only_loopback

PLAIN = b'{"question_id": "0"}\n'
PACKED = b'{"question_id": "1"}\n'


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Start a server with one file, and an archive with another."""
    plain, packed = {"plain.jsonl": PLAIN}, {"packed.jsonl": PACKED}
    with served_release(tmp_path / "server", monkeypatch, plain, packed) as running:
        yield running


def test_files_and_members_of_an_archive_are_fetched_and_verified(server, tmp_path):
    fetched = fairmedqa.fetch_fairmedqa(tmp_path / "out")
    assert [path.read_bytes() for path in fetched.files] == [PLAIN, PACKED]
    assert fetched.files[1] == tmp_path / "out" / "Repo" / "packed.jsonl"


def test_existing_files_are_not_fetched_again(server, tmp_path):
    fairmedqa.fetch_fairmedqa(tmp_path / "out")
    (server.root / "plain.jsonl").unlink()
    assert len(fairmedqa.fetch_fairmedqa(tmp_path / "out").files) == 2


def test_a_changed_file_is_refused(server, tmp_path):
    (server.root / "plain.jsonl").write_bytes(b"changed")
    with pytest.raises(InputError, match="listed sha256"):
        fairmedqa.fetch_fairmedqa(tmp_path / "out")
    assert not list((tmp_path / "out").rglob("plain.jsonl"))


def test_download_is_announced_only_if_files_are_missing(server, tmp_path):
    said = []
    fairmedqa.fetch_fairmedqa(tmp_path / "out", say=said.append)
    fairmedqa.fetch_fairmedqa(tmp_path / "out", say=said.append)
    (line,) = said
    assert line.startswith("Downloading 2 files (0.0 MB) of who/Repo from 127.0.0.1:")


def test_announcement_of_all_listed_files_counts_the_archive_once(tmp_path, monkeypatch):
    monkeypatch.setattr(listed_files, "_download", lambda *args: None)
    said = []
    fairmedqa.fetch_fairmedqa(tmp_path, say=said.append)
    assert said == [
        "Downloading 14 files (3.8 MB) of XY-Showing/AMQA and XY-Showing/FairMedPrompt from "
        "raw.githubusercontent.com ..."
    ]


@pytest.mark.parametrize("fault", ["server error", "truncated"])
def test_file_is_named_and_not_kept_if_its_download_fails(server, tmp_path, fault):
    server.fault = fault
    with pytest.raises(InputError, match=r"/plain\.jsonl: could not be downloaded .*--from"):
        fairmedqa.fetch_fairmedqa(tmp_path / "out")
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []


def test_host_is_named_without_network(server, tmp_path, monkeypatch):
    # No server listens on port 9 of loopback.
    monkeypatch.setattr(listed_files, "_ADDRESS", "http://127.0.0.1:9/{repository}/{commit}/{path}")
    with pytest.raises(InputError, match=r"127\.0\.0\.1:9: cannot be reached.*--from"):
        fairmedqa.fetch_fairmedqa(tmp_path / "out")


def test_silent_server_is_given_up_after_the_timeout(tmp_path, monkeypatch):
    monkeypatch.setattr(listed_files, "_SECONDS", (0.2, 0.2))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr(listed_files, "_ADDRESS", address + "/{repository}/{commit}/{path}")
        only_loopback(monkeypatch)
        with pytest.raises(InputError, match=r"cannot be reached"):
            fairmedqa.fetch_fairmedqa(tmp_path / "out")


def test_files_in_a_folder_are_recognised_under_any_name(server, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "renamed.txt").write_bytes(PACKED)
    (source / "same-size.txt").write_bytes(PACKED[::-1])
    fetched = fairmedqa.fetch_fairmedqa(tmp_path / "out", source=source)
    assert [path.name for path in fetched.files] == ["packed.jsonl"]
    assert fetched.not_found == ("Repo/plain.jsonl",)
    with pytest.raises(InputError, match="is not a folder"):
        fairmedqa.fetch_fairmedqa(tmp_path / "out", source=tmp_path / "nowhere")


def test_the_list_names_each_file_once():
    files = amqa.released_files()
    assert len(files) == 40
    assert len({file.sha256 for file in files}) == 40
    assert all(file.rows == 801 and len(file.commit) == 40 for file in files)
    assert [archive.path for archive in amqa.released_archives()] == ["Raw_Results.zip"]
