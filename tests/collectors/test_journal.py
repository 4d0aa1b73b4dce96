from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fairstats_collectors.journal import Journal, read_journal, reply_key

from fairstats._lib.problems import InputError
from fairstats._lib.safe_names import canonical_json
from fairstats.asking.models import Reply

CAMPAIGN = {"benchmark": "small", "benchmark_version": "1", "model": "m", "strategy": "plain"}


def made(number: int = 0, **changed: Any) -> Reply:
    parts: dict[str, Any] = {
        "model": "m",
        "endpoint": "h/v1",
        "parameters": canonical_json({"seed": 0}),
        "prompt_sha256": "0" * 64,
        "sample": 0,
    }
    key = reply_key(**parts, variant=(f"item-{number}", "race", "white"))
    reply = Reply(
        key=key,
        **parts,
        item_id=f"item-{number}",
        attribute="race",
        variant="white",
        status="answered",
        text="B",
        snapshot=None,
        latency_s=None,
        prompt_tokens=None,
        completion_tokens=None,
        collected_at="2026-01-01T00:00:00Z",
    )
    return reply._replace(**changed)


def test_stored_replies_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "j.sqlite"
    replies = [made(n, text=f"B\n{n} é", latency_s=0.5, prompt_tokens=n) for n in range(3)]
    with Journal(path, CAMPAIGN) as journal:
        journal.keep(replies)
        journal.note("names", "{}")
    # One file is left, which can be copied.
    assert [file.name for file in path.parent.iterdir()] == ["j.sqlite"]
    with Journal(path, CAMPAIGN) as journal:
        assert list(journal.replies().values()) == replies
        assert journal.campaign() == {**CAMPAIGN, "format": "1", "names": "{}"}


def test_failures_are_replaced_and_replies_are_not(tmp_path: Path) -> None:
    failed, answered = made(status="failed", text="busy"), made(text="B")
    with Journal(tmp_path / "j", CAMPAIGN) as journal:
        journal.keep([failed])
        journal.keep([made(status="failed", text="busy again")])
        assert journal.replies()[failed.key].text == "busy again"
        journal.keep([answered])
        journal.keep([made(text="C"), failed])
        assert journal.replies() == {failed.key: answered}


@pytest.mark.parametrize(
    "change",
    [
        {"model": "n"},
        {"endpoint": "h/v2"},
        {"parameters": '{"seed":1}'},
        {"prompt_sha256": "1" * 64},
        {"sample": 1},
        {"variant": ("item-0", "race", "black")},
    ],
)
def test_key_covers_all_inputs_of_a_reply(change: dict[str, Any]) -> None:
    parts: dict[str, Any] = {
        "model": "m",
        "endpoint": "h/v1",
        "parameters": '{"seed":0}',
        "prompt_sha256": "0" * 64,
        "variant": ("item-0", "race", "white"),
        "sample": 0,
    }
    assert reply_key(**parts) == reply_key(**parts)
    assert reply_key(**parts | change) != reply_key(**parts)


def test_another_campaign_does_not_write_into_a_journal(tmp_path: Path) -> None:
    Journal(tmp_path / "j", CAMPAIGN).close()
    with pytest.raises(InputError, match="a campaign with model = 'm'"):
        Journal(tmp_path / "j", CAMPAIGN | {"model": "n"})


def test_two_runs_do_not_write_at_once(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from fairstats_collectors.journal import Journal
try:
    Journal(Path({str(tmp_path / "j")!r}), {CAMPAIGN!r})
except ValueError as error:
    print(error)
"""

    def other() -> str:
        command = [sys.executable, "-c", code]
        root = Path(__file__).parents[2]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
        return done.stdout

    with Journal(tmp_path / "j", CAMPAIGN) as journal:
        assert "is in use by" in other()
        journal.keep([made()])
    assert other() == ""


def test_journal_of_a_killed_process_can_be_continued(tmp_path: Path) -> None:
    code = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from test_journal import CAMPAIGN, Journal, made
journal = Journal(Path({str(tmp_path / "j")!r}), CAMPAIGN)
journal.keep([made(1), made(2)])
os._exit(9)
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], check=False, cwd=root)
    assert done.returncode == 9
    assert (tmp_path / "j-wal").stat().st_size
    assert read_journal(tmp_path / "j")[1] == [made(1), made(2)]
    with Journal(tmp_path / "j", CAMPAIGN) as journal:
        journal.keep([made(3)])
        assert len(journal.replies()) == 3
        with pytest.raises(InputError, match="is in use by another run"):
            read_journal(tmp_path / "j")
    assert not (tmp_path / "j-wal").exists()


@pytest.mark.parametrize("content", [b"no database at all " * 100, b"\x00" * 5000])
def test_file_that_is_not_a_journal_is_left_unchanged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "j").write_bytes(content)
    with pytest.raises(InputError, match="is not a journal"):
        Journal(tmp_path / "j", CAMPAIGN)
    assert (tmp_path / "j").read_bytes() == content


def test_other_database_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "j") as database:
        database.execute("CREATE TABLE campaign (name TEXT, value TEXT)")
    database.close()
    with pytest.raises(InputError, match="is not a journal of this version of fairstats"):
        Journal(tmp_path / "j", CAMPAIGN)


def test_read_only_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written to"):
        Journal(tmp_path / "file" / "j", CAMPAIGN)


def test_reserved_space_is_used_if_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(tmp_path / "j", CAMPAIGN) as journal:
        reserve = tmp_path / "j.reserve"
        assert reserve.stat().st_size >= 2**20
        commit = journal._commit

        def full(statement: str, rows: Any) -> None:
            if reserve.exists():
                raise sqlite3.OperationalError("database or disk is full")
            commit(statement, rows)

        monkeypatch.setattr(journal, "_commit", full)
        journal.keep([made()])
        assert not journal.has_reserve
        assert len(journal.replies()) == 1
        monkeypatch.setattr(
            journal, "_commit", lambda s, rows: commit(s, [*rows, made()._replace(text=None)])
        )
        # All or none: the second one violates the schema.
        with pytest.raises(sqlite3.Error):
            journal.keep([made(1)])
        assert len(journal.replies()) == 1
        monkeypatch.setattr(journal, "_commit", commit)
        journal.keep([made(1)])
        assert len(journal.replies()) == 2


def edited(path: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(path) as database:
        database.execute(statement, values)
    database.close()


@pytest.mark.parametrize("text", ["", "[]", '"x"', "[" * 100_000, "9" * 5000, b"\xff\xfe"])
def test_a_damaged_reply_is_refused_on_resuming(text, tmp_path: Path) -> None:
    path = tmp_path / "j"
    with Journal(path, CAMPAIGN) as journal:
        journal.keep([made()])
    edited(path, "UPDATE replies SET parameters = CAST(? AS TEXT)", text)
    with Journal(path, CAMPAIGN) as journal, pytest.raises(InputError, match=str(path)):
        journal.replies()
    with pytest.raises(InputError, match=str(path)):
        read_journal(path)


def test_journal_with_triggers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with Journal(path, CAMPAIGN) as journal:
        journal.keep([made()])
    edited(path, "CREATE TRIGGER t AFTER INSERT ON replies BEGIN DELETE FROM replies; END")
    with pytest.raises(InputError, match="is not a journal of this version of fairstats"):
        Journal(path, CAMPAIGN)
