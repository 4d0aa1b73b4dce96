"""Campaigns against a server in a separate local process that fails on purpose."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fairstats_collectors.campaign import Unfinished
from fairstats_collectors.collect import collect
from fairstats_collectors.journal import Journal, read_journal
from fairstats_collectors.merging import merge

from fairstats._lib.problems import InputError
from fairstats.asking.models import Reply
from fairstats.benchmarks.declaration import Benchmark
from tests.serving import only_loopback

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "collect.py"
KEY = "sk-planted-0123456789abcdef"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    only_loopback(monkeypatch, KEY)


@pytest.fixture
def benchmark(bench: Any, tmp_path: Path) -> Benchmark:
    made: Benchmark = bench.write_benchmark(tmp_path, 120)
    return made


Run = Callable[..., Path]


@pytest.fixture
def run(benchmark: Benchmark, address: str, tmp_path: Path) -> Run:
    def collected(**options: Any) -> Path:
        given = {"model": "m", "out": tmp_path / "out", "base_url": address, "progress": False}
        return collect(benchmark, **given | {"concurrency": 16} | options)

    return collected


def same(first: Path, second: Path) -> bool:
    drop = ["latency_s", "collected_at"]
    frames = [pd.read_parquet(path).drop(columns=drop) for path in (first, second)]
    return frames[0].equals(frames[1])


def journal_of(out: Path) -> Path:
    (path,) = out.glob("*.journal.sqlite")
    return path


def test_failing_server_gives_the_same_answers(bench: Any) -> None:
    found = bench.faults(200, 0.25)
    assert found["answers"] == found["expected"] == 200
    assert found["requests_made"] > 200
    assert found["same_as_undisturbed"]


def test_killed_runs_lose_no_reply_and_repeat_no_request(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--kills", "8", "--requests", "200"]
    command += ["--results", str(tmp_path / "r.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout).values()
    assert found["kills"] == 8
    assert found["counted_replies_lost"] == 0
    assert found["committed_replies_asked_again"] == 0
    assert found["answers"] == found["expected"] == 200
    assert found["errors"] == 0
    assert found["same_as_undisturbed"]


def test_interrupt_message_shows_how_to_continue(
    bench: Any, benchmark: Benchmark, tmp_path: Path
) -> None:
    with bench.loopback(delay=0.1) as slow:
        code = f"""
from fairstats_collectors.collect import collect
from fairstats.benchmarks.loading import load_benchmark
from pathlib import Path
collect(load_benchmark({str(benchmark.path)!r}), model="m", out=Path({str(tmp_path / "out")!r}),
        base_url={slow!r}, concurrency=4)
"""
        with subprocess.Popen(
            [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, cwd=ROOT
        ) as process:
            while not sum(bench.asked(slow).values()) > 4:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=20)
        assert process.returncode != 0
        assert "KeyboardInterrupt" in said
        assert "interrupted; 120 expected" in said.replace("\n", " ")
        assert "run it again to continue" in said
        answered = len(read_journal(journal_of(tmp_path / "out"))[1])
        # The requests in progress were completed, since they are paid for.
        assert answered == sum(bench.asked(slow).values())
        assert 4 < answered < 120
        assert not list((tmp_path / "out").glob("*.parquet"))
        assert not list((tmp_path / "out").glob("*.reserve"))
        before = set(bench.asked(slow))
        path = collect(
            benchmark,
            model="m",
            out=tmp_path / "out",
            base_url=slow,
            concurrency=64,
            progress=False,
        )
        assert len(pd.read_parquet(path)) == 120
        assert set(bench.asked(slow).values()) == {1}
        assert before < set(bench.asked(slow))


def test_key_is_in_no_file_during_and_after_a_run(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: list[bytes] = []
    keep = Journal.keep

    def look(self: Journal, replies: Any) -> None:
        keep(self, replies)
        seen.extend(file.read_bytes() for file in (tmp_path / "out").iterdir())

    monkeypatch.setattr(Journal, "keep", look)
    run(progress=True)
    seen += [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert any(b"item-7" in content for content in seen)
    assert not any(KEY[:10].encode() in content for content in seen)
    assert KEY[:10] not in "".join(capfd.readouterr())


def test_the_journal_names_the_service_without_its_password(
    run: Run, address: str, tmp_path: Path
) -> None:
    run(base_url=address.replace("//", "//user:hunter2@") + f"/{KEY}", limit=1)
    _, replies = read_journal(journal_of(tmp_path / "out"))
    assert {reply.endpoint for reply in replies} == {f"{address.removeprefix('http://')}/[key]"}
    for file in (tmp_path / "out").iterdir():
        assert b"hunter2" not in file.read_bytes()
        assert KEY.encode() not in file.read_bytes()


def test_run_stops_before_the_budget_is_exceeded(run: Run, tmp_path: Path) -> None:
    with pytest.raises(Unfinished, match=r"budget of \$0.02.*with a larger max_cost") as raised:
        run(price=(1.0, 1.0), max_cost=0.02)
    _, replies = read_journal(journal_of(tmp_path / "out"))
    used = sum((r.prompt_tokens or 0) + (r.completion_tokens or 0) for r in replies)
    # The budget is used except for the possible cost of one more request.
    assert 0.018 < used / 1e6 <= 0.02
    assert f"{len(replies)} answered" in str(raised.value)
    # Earlier costs count.
    with pytest.raises(Unfinished, match="budget"):
        run(price=(1.0, 1.0), max_cost=0.02)
    assert len(read_journal(journal_of(tmp_path / "out"))[1]) <= len(replies) + 1
    assert len(pd.read_parquet(run(price=(1.0, 1.0), max_cost=1.0))) == 120


def test_a_budget_needs_a_price(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the price of m is unknown; give price"):
        run(max_cost=1.0)
    assert not (tmp_path / "out").exists()


def test_full_disk_stops_the_run_and_keeps_replies(
    bench: Any, run: Run, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sum(bench.asked(address).values())
    commit = Journal._commit
    kept: list[str] = []

    def filling(self: Journal, statement: str, rows: Any) -> None:
        if len(kept) >= 20 and self.has_reserve:
            raise sqlite3.OperationalError("database or disk is full")
        commit(self, statement, rows)
        kept.extend(row.key for row in rows if isinstance(row, Reply))

    monkeypatch.setattr(Journal, "_commit", filling)
    with pytest.raises(
        Unfinished, match=r"the disk is full; .*all answers so far are stored; free some space"
    ):
        # With more at a time, a slow machine would store all of them in one commit.
        run(concurrency=4)
    monkeypatch.undo()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    _, replies = read_journal(journal_of(tmp_path / "out"))
    assert {reply.key for reply in replies} == set(kept)
    # The requests in progress were stored: every requested reply is there.
    assert 20 < len(kept) == sum(bench.asked(address).values()) - before < 120
    assert len(pd.read_parquet(run())) == 120


def test_run_stops_if_the_service_goes_away(
    bench: Any, benchmark: Benchmark, tmp_path: Path
) -> None:
    with bench.loopback(delay=0.002) as url:
        options: dict[str, Any] = {
            "model": "m",
            "out": tmp_path / "out",
            "base_url": url,
            "retries": 0,
            "progress": False,
        }
        collect(benchmark, limit=1, **options)
    journal = journal_of(tmp_path / "out")
    (path,) = (tmp_path / "out").glob("*.parquet")
    # The first request after a restart reports it.
    with pytest.raises(InputError, match="check base_url, and check that the service is running"):
        collect(benchmark, **options)
    assert len(read_journal(journal)[1]) == 4
    assert len(pd.read_parquet(path)) == 4


def test_run_stops_if_the_service_refuses_all_requests(
    bench: Any, benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = bench.loopback(delay=0.002)
    url = server.__enter__()
    keep = Journal.keep

    def keep_and_end(self: Journal, replies: Any) -> None:
        keep(self, replies)
        server.__exit__(None, None, None)
        monkeypatch.setattr(Journal, "keep", keep)

    monkeypatch.setattr(Journal, "keep", keep_and_end)
    with pytest.raises(Unfinished, match=r"in a row; .*missing.*check base_url"):
        collect(
            benchmark,
            model="m",
            out=tmp_path / "out",
            base_url=url,
            retries=0,
            progress=False,
            concurrency=4,
        )
    _, replies = read_journal(journal_of(tmp_path / "out"))
    failed = [reply for reply in replies if reply.status == "failed"]
    assert 20 <= len(failed) <= 28
    assert len(replies) < 120
    assert "Connection" in failed[0].text


def test_merged_shards_equal_a_single_run(run: Run, tmp_path: Path, benchmark: Benchmark) -> None:
    one = run()
    journals = [run(shard=f"{k}/3", out=tmp_path / str(k)) for k in (1, 2, 3)]
    counts = [len(read_journal(path)[1]) for path in journals]
    assert sum(counts) == 120
    assert min(counts) > 0
    assert all(count % 4 == 0 for count in counts)  # all variants of an item are in one part
    merged = merge(reversed(journals), out=tmp_path / "merged", benchmark=benchmark)
    assert merged.name == one.name
    assert same(merged, one)
    # The same again: no change. Collecting then continues, without any request left.
    before = merged.read_bytes()
    assert merge(journals, out=tmp_path / "merged", benchmark=benchmark) == merged
    assert same(merged, one)
    assert run(out=tmp_path / "merged", concurrency=1).read_bytes()
    assert len(before) > 0


def test_incomplete_merge_can_be_continued(run: Run, tmp_path: Path, benchmark: Benchmark) -> None:
    journal = run(shard="1/2")
    there = len(read_journal(journal)[1])
    with pytest.raises(Unfinished, match=rf"{120 - there} missing; first missing.*or run collect"):
        merge([journal], out=tmp_path / "merged", benchmark=benchmark)
    path = run(out=tmp_path / "merged")
    assert len(pd.read_parquet(path)) == 120


def change(journal: Path, statement: str) -> None:
    with sqlite3.connect(journal) as database:
        database.execute(statement)
    database.close()


def test_contradictions_are_refused_and_both_are_named(
    run: Run, tmp_path: Path, benchmark: Benchmark
) -> None:
    first = run(shard="1/1", out=tmp_path / "one")
    second = run(shard="1/1", out=tmp_path / "two")
    change(
        second,
        "UPDATE replies SET text = 'Answer: Z' WHERE item_id = 'item-3' AND variant = 'black'",
    )
    with pytest.raises(InputError) as raised:
        merge([first, second], out=tmp_path / "merged", benchmark=benchmark)
    (problem,) = raised.value.problems
    assert problem.path == str(second)
    assert str(first) in problem.message
    assert problem.value == "item-3, race, black, 0"
    assert not (tmp_path / "merged").exists()
    # A failure is not a contradiction.
    change(second, "UPDATE replies SET status = 'failed' WHERE text = 'Answer: Z'")
    merged = merge([second, first], out=tmp_path / "merged", benchmark=benchmark)
    assert "error" not in set(pd.read_parquet(merged)["status"])


def test_different_settings_are_a_contradiction(
    run: Run, tmp_path: Path, benchmark: Benchmark
) -> None:
    first = run(shard="1/1", out=tmp_path / "one")
    second = run(shard="1/1", out=tmp_path / "two", max_tokens=99)
    with pytest.raises(InputError, match="differs in service"):
        merge([first, second], out=tmp_path / "merged", benchmark=benchmark)
    third = run(shard="1/1", out=tmp_path / "three", model_name="n")
    with pytest.raises(InputError, match="from another campaign than"):
        merge([first, third], out=tmp_path / "merged", benchmark=benchmark)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE replies SET text = text || ' '", None),  # the key does not depend on the reply
        ("UPDATE replies SET sample = 1 WHERE item_id = 'item-0'", "key = "),
        ("UPDATE replies SET parameters = '{\"seed\": 0}'", "parameters = "),
        ("UPDATE replies SET parameters = '[]'", "parameters = "),
        ("UPDATE replies SET status = 'right'", "status = 'right'"),
        ("UPDATE replies SET item_id = 'a' || char(27) || '[31m'", "item_id = "),
        ("UPDATE replies SET latency_s = 1e999", "latency_s = "),
        ("UPDATE replies SET prompt_tokens = -1", "prompt_tokens = "),
        ("UPDATE replies SET collected_at = 'today'", "collected_at = "),
        ("UPDATE replies SET text = CAST(x'ff' AS TEXT)", "cannot be read"),
        ("UPDATE campaign SET value = '2' WHERE name = 'format'", "another version"),
        ("DELETE FROM campaign WHERE name = 'model'", "is missing from the journal"),
        ("CREATE TRIGGER t AFTER INSERT ON replies BEGIN SELECT 1; END", "is not a journal"),
        ("CREATE VIEW v AS SELECT * FROM replies", "is not a journal"),
        ("DROP TABLE campaign", "is not a journal"),
    ],
)
def test_a_journal_from_outside_is_not_trusted(
    run: Run, tmp_path: Path, benchmark: Benchmark, statement: str, message: str | None
) -> None:
    journal = run(shard="1/1", limit=2)
    change(journal, statement)
    if message is None:
        merge([journal], out=tmp_path / "merged", benchmark=benchmark)
        return
    with pytest.raises(InputError) as raised:
        merge([journal], out=tmp_path / "merged", benchmark=benchmark)
    assert message in str(raised.value)
    assert "\x1b" not in str(raised.value)
    assert not (tmp_path / "merged").exists()


def test_replies_to_other_prompts_are_not_merged(
    bench: Any, run: Run, tmp_path: Path, benchmark: Benchmark
) -> None:
    journal = run(shard="1/1")
    items = (tmp_path / "items.jsonl").read_text()
    (tmp_path / "items.jsonl").write_text(items.replace("cough for two weeks", "cough"))
    with pytest.raises(InputError, match="text that is not the benchmark's"):
        merge([journal], out=tmp_path / "merged", benchmark=benchmark)
    (tmp_path / "items.jsonl").write_text(items.replace("item-1", "item-x"))
    with pytest.raises(InputError, match="is not a variant of the benchmark"):
        merge([journal], out=tmp_path / "merged", benchmark=benchmark)


def test_samples_are_separate_requests(run: Run, tmp_path: Path) -> None:
    answers = pd.read_parquet(run(samples=3, limit=2, temperature=0.7))
    assert answers["sample"].tolist() == [0, 1, 2] * 8
    assert answers["seed"].tolist() == [0, 1, 2] * 8
    assert set(answers["temperature"]) == {0.7}
    assert answers["answer_raw"].nunique() == 24


def test_dry_run_sends_no_request(
    bench: Any, run: Run, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sum(bench.asked(address).values())
    run(dry_run=True, price=(1.0, 2.0))
    said = capsys.readouterr().out
    assert "120 requests" in said
    assert f"{120 * 24:,} completion tokens" in said
    assert "$" in said
    assert "Case 0, white." in said
    run(dry_run=True)
    assert "cost unknown" in capsys.readouterr().out
    assert sum(bench.asked(address).values()) == before
    assert not (tmp_path / "out").exists()


def test_spelling_of_a_setting_does_not_matter(bench: Any, run: Run, address: str) -> None:
    run(limit=2)
    before = sum(bench.asked(address).values())
    run(limit=2, temperature=0.0)
    assert sum(bench.asked(address).values()) == before


def test_hostile_item_cannot_control_the_terminal(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = (tmp_path / "items.jsonl").read_text()
    (tmp_path / "items.jsonl").write_text(items.replace("Case 0,", r"Case \u001b[2J\u202e0,"))
    run(dry_run=True)
    assert r"Case \x1b[2J\u202e0" in capsys.readouterr().out


def test_collecting_works_within_a_running_event_loop(run: Run) -> None:
    import asyncio

    async def cell() -> Path:
        return run(limit=1)

    assert len(pd.read_parquet(asyncio.run(cell()))) == 4


@pytest.mark.skipif(os.name == "nt", reason="has no such limit")
def test_a_rate_is_kept(run: Run) -> None:
    begin = time.monotonic()
    run(limit=2, rpm=1200)
    assert time.monotonic() - begin > 7 * 60 / 1200 * 0.8
