"""The lists of released files, and fetching: over HTTP on loopback, and from a folder."""

from __future__ import annotations

import hashlib
import socket
from itertools import product
from pathlib import Path

import pytest
from fairstats_collectors import released_files
from fairstats_collectors.biasmedqa import import_biasmedqa
from fairstats_collectors.released_files import fetch_biasmedqa, fetch_fairmedqa, released_replies

from fairstats._lib.problems import InputError
from fairstats.benchmarks.loading import load_benchmark
from tests.released_server import served_release
from tests.serving import only_loopback

PLAIN = b'{"question_id": "0"}\n'
PACKED = b'{"question_id": "1"}\n'
BLOCK = """~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
PROMPT:
### Question: Which metal?
### Options: A: Iron, B: Zinc, C: Gold, D: Tin, E: Lead
### Answer:\x20

CORRECT ANSWER: B: Zinc
RESPONSE: B
IS_CORRECT: True
"""
METALS = "A: Iron, B: Zinc, C: Gold, D: Tin, E: Lead"


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Start a server with one file, and an archive with another."""
    plain, packed = {"plain.jsonl": PLAIN}, {"packed.jsonl": PACKED}
    with served_release(tmp_path / "server", monkeypatch, plain, packed) as running:
        yield running


def test_files_and_members_of_an_archive_are_fetched_and_verified(server, tmp_path):
    fetched = fetch_fairmedqa(tmp_path / "out")
    assert [path.read_bytes() for path in fetched.files] == [PLAIN, PACKED]
    assert fetched.files[1] == tmp_path / "out" / "Repo" / "packed.jsonl"


def test_existing_files_are_not_fetched_again(server, tmp_path):
    fetch_fairmedqa(tmp_path / "out")
    (server.root / "plain.jsonl").unlink()
    assert len(fetch_fairmedqa(tmp_path / "out").files) == 2


def test_a_changed_file_is_refused(server, tmp_path):
    (server.root / "plain.jsonl").write_bytes(b"changed")
    with pytest.raises(InputError, match="listed sha256"):
        fetch_fairmedqa(tmp_path / "out")
    assert not list((tmp_path / "out").rglob("plain.jsonl"))


def test_download_is_announced_only_if_files_are_missing(server, tmp_path):
    said = []
    fetch_fairmedqa(tmp_path / "out", say=said.append)
    fetch_fairmedqa(tmp_path / "out", say=said.append)
    (line,) = said
    assert line.startswith("Downloading 2 files (0.0 MB) ")


def test_announcement_of_all_listed_files_counts_the_archive_once(tmp_path, monkeypatch):
    monkeypatch.setattr(released_files, "_download", lambda *args: None)
    said = []
    fetch_fairmedqa(tmp_path, say=said.append)
    (line,) = said
    assert line.startswith("Downloading 14 files (3.8 MB) ")
    assert "XY-Showing/AMQA and XY-Showing/FairMedPrompt" in line


@pytest.mark.parametrize("fault", ["server error", "truncated"])
def test_file_is_named_and_not_kept_if_its_download_fails(server, tmp_path, fault):
    server.fault = fault
    with pytest.raises(InputError, match=r"/plain\.jsonl: could not be downloaded .*source=\.\.\."):
        fetch_fairmedqa(tmp_path / "out")
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []


def test_host_is_named_without_network(server, tmp_path, monkeypatch):
    # No server listens on port 9 of loopback.
    monkeypatch.setattr(
        released_files, "_ADDRESS", "http://127.0.0.1:9/{repository}/{commit}/{path}"
    )
    with pytest.raises(
        InputError, match=r"127\.0\.0\.1:9: cannot be reached.*source=\.\.\."
    ) as raised:
        fetch_fairmedqa(tmp_path / "out")
    repositories = {one.repository for one in released_files.released_files()}
    assert all(name in str(raised.value) for name in repositories)
    assert not (tmp_path / "out").exists()


def test_silent_server_is_given_up_after_the_timeout(tmp_path, monkeypatch):
    monkeypatch.setattr(released_files, "_SECONDS", (0.2, 0.2))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr(released_files, "_ADDRESS", address + "/{repository}/{commit}/{path}")
        only_loopback(monkeypatch)
        with pytest.raises(InputError, match=r"cannot be reached"):
            fetch_fairmedqa(tmp_path / "out")


def test_files_in_a_folder_are_recognised_under_any_name(server, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "renamed.txt").write_bytes(PACKED)
    (source / "same-size.txt").write_bytes(PACKED[::-1])
    fetched = fetch_fairmedqa(tmp_path / "out", source=source)
    assert [path.name for path in fetched.files] == ["packed.jsonl"]
    assert fetched.not_found == ("Repo/plain.jsonl",)
    with pytest.raises(InputError, match="is not a folder"):
        fetch_fairmedqa(tmp_path / "out", source=tmp_path / "nowhere")


def test_the_list_names_each_file_once():
    files = released_files.released_files()
    assert len(files) == 40
    assert len({file.sha256 for file in files}) == 40
    assert all(file.rows == 801 and len(file.commit) == 40 for file in files)
    assert [archive.path for archive in released_files.released_archives()] == ["Raw_Results.zip"]


def test_list_has_each_importable_file_once(tmp_path, questions):
    listed = released_replies()
    assert len({one.sha256 for one in listed.values()}) == len(listed)
    assert {len(one.commit) for one in listed.values()} == {40}
    for name in listed:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(BLOCK, encoding="utf-8")
    answers = import_biasmedqa(tmp_path, benchmark=questions({METALS: "B"}))
    biases = load_benchmark("biasmedqa").attributes["bias"].groups
    assert answers["model"].nunique() == 6
    variants = product(answers["model"].unique(), ("plain", "one-shot"), biases)
    found = answers[["model", "strategy", "group"]].itertuples(index=False, name=None)
    assert sorted(found) == sorted(variants)


def test_fetched_files_are_importable_in_the_folders_of_their_models(
    tmp_path, monkeypatch, questions
):
    rows = [
        {
            "repository": "who/Repo",
            "commit": "c0",
            "path": f"final/{model}/bias_output_{model}.txt",
            "bytes": str(len(content)),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        for model in ("m-1", "m-2", "m-3")
        for content in [BLOCK.replace("Gold", model).encode()]
    ]
    monkeypatch.setattr(released_files, "read_list", lambda name: rows)
    source = tmp_path / "source"
    source.mkdir()
    for name, model in (("one.txt", "m-1"), ("two.txt", "m-2")):
        (source / name).write_text(BLOCK.replace("Gold", model), encoding="utf-8")
    fetched = fetch_biasmedqa(tmp_path / "out", source=source)
    assert fetched.not_found == ("Repo/m-3/bias_output_m-3.txt",)
    assert [path.relative_to(tmp_path / "out").parts[:2] for path in fetched.files] == [
        ("Repo", "m-1"),
        ("Repo", "m-2"),
    ]
    keys = {METALS.replace("Gold", model): "B" for model in ("m-1", "m-2")}
    answers = import_biasmedqa(tmp_path / "out", benchmark=questions(keys))
    assert answers["model"].tolist() == ["m-1", "m-2"]


def test_released_files_are_found_by_their_sha256(shared_data, tmp_path):
    source: Path = shared_data("biasmedqa")
    fetched = fetch_biasmedqa(tmp_path, source=source)
    found = {path.relative_to(tmp_path / "cog-bias-med-LLMs") for path in fetched.files}
    assert found == {path.relative_to(source) for path in source.rglob("bias_output*.txt")}
    assert len(fetched.not_found) == len(released_replies()) - len(found)
