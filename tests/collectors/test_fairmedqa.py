"""Fetching the released files: over a real HTTP server on loopback, and from a folder."""

from __future__ import annotations

import functools
import hashlib
import zipfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from fairstats_collectors import amqa, fairmedqa
from fairstats_collectors.amqa import ReleasedArchive, ReleasedFile

from fairstats._lib.problems import InputError
from tests.serving import served


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


PLAIN = b'{"question_id": "0"}\n'
PACKED = b'{"question_id": "1"}\n'


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server with one file and one archive at the addresses that the list gives them."""
    root = tmp_path / "server" / "who" / "Repo" / "c0"
    root.mkdir(parents=True)
    (root / "plain.jsonl").write_bytes(PLAIN)
    with zipfile.ZipFile(root / "all.zip", "w") as archive:
        archive.writestr("in/packed.jsonl", PACKED)
    listed = {"repository": "who/Repo", "commit": "c0"}
    facts = {"model": "M", "snapshot": "m-1", "strategy": "plain", "rows": 1}
    version = {"benchmark": "fairmedqa", "benchmark_version": "gpt-agent"}
    files = tuple(
        ReleasedFile(
            path=path, bytes=len(content), sha256=sha256(content), **listed, **facts, **version
        )
        for path, content in (("plain.jsonl", PLAIN), ("all.zip!in/packed.jsonl", PACKED))
    )
    archives = (
        ReleasedArchive(path="all.zip", sha256=sha256((root / "all.zip").read_bytes()), **listed),
    )
    monkeypatch.setattr(fairmedqa, "released_files", lambda: files)
    monkeypatch.setattr(fairmedqa, "released_archives", lambda: archives)
    handler = functools.partial(SimpleHTTPRequestHandler, directory=tmp_path / "server")
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *args: None)
    with served(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as running:
        address = f"http://127.0.0.1:{running.server_port}"
        monkeypatch.setattr(fairmedqa, "_ADDRESS", address + "/{repository}/{commit}/{path}")
        yield root


def test_files_and_members_of_an_archive_are_fetched_and_verified(server, tmp_path):
    fetched = fairmedqa.fetch_fairmedqa(tmp_path / "out")
    assert [path.read_bytes() for path in fetched.files] == [PLAIN, PACKED]
    assert fetched.files[1] == tmp_path / "out" / "Repo" / "packed.jsonl"


def test_what_is_there_is_not_fetched_again(server, tmp_path):
    fairmedqa.fetch_fairmedqa(tmp_path / "out")
    (server / "plain.jsonl").unlink()
    assert len(fairmedqa.fetch_fairmedqa(tmp_path / "out").files) == 2


def test_a_changed_file_is_refused(server, tmp_path):
    (server / "plain.jsonl").write_bytes(b"changed")
    with pytest.raises(InputError, match="another sha256"):
        fairmedqa.fetch_fairmedqa(tmp_path / "out")
    assert not list((tmp_path / "out").rglob("plain.jsonl"))


def test_without_a_network_it_says_what_to_do_instead(server, tmp_path, monkeypatch):
    # Port 9 of loopback: nothing listens there.
    monkeypatch.setattr(fairmedqa, "_ADDRESS", "http://127.0.0.1:9/{repository}/{commit}/{path}")
    with pytest.raises(InputError, match=r"could not be reached.*--from"):
        fairmedqa.fetch_fairmedqa(tmp_path / "out")


def test_files_are_taken_from_a_folder_whatever_their_names(server, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "renamed.txt").write_bytes(PACKED)
    (source / "same-size.txt").write_bytes(PACKED[::-1])
    fetched = fairmedqa.fetch_fairmedqa(tmp_path / "out", source=source)
    assert [path.name for path in fetched.files] == ["packed.jsonl"]
    assert fetched.not_found == ("Repo/plain.jsonl",)
    with pytest.raises(InputError, match="is no folder"):
        fairmedqa.fetch_fairmedqa(tmp_path / "out", source=tmp_path / "nowhere")


def test_the_list_names_each_file_once():
    files = amqa.released_files()
    assert len(files) == 40
    assert len({file.sha256 for file in files}) == 40
    assert all(file.rows == 801 and len(file.commit) == 40 for file in files)
    assert [archive.path for archive in amqa.released_archives()] == ["Raw_Results.zip"]
