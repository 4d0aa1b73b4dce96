"""The Batch API: a server on this machine that implements /files and /batches."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fairstats_collectors import batch, http_clients
from fairstats_collectors.campaign import Unfinished
from fairstats_collectors.collect import collect

from fairstats._lib.problems import InputError
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from tests.serving import Service, only_loopback, send_answer, served

KEY = "sk-planted-0123456789abcdef"


def completion(text: str = "Answer: B") -> dict[str, Any]:
    return {
        "model": "tiny-1",
        "choices": [{"message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    }


class Batches(Service):
    """Stores the batches it receives; each is done after a number of status checks."""

    looks = 2
    outcome: Callable[[dict[str, Any]], dict[str, Any] | None] = staticmethod(
        lambda request: {
            "custom_id": request["custom_id"],
            "response": {"status_code": 200, "body": completion()},
            "error": None,
        }
    )

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.seen: dict[str, int] = {}
        self.chats = 0
        self.dies_after_creating = False

    def sent(self, number: str) -> list[dict[str, Any]]:
        lines = self.files[self.batches[number]["input_file_id"]].splitlines()
        return [json.loads(line) for line in lines]

    def respond(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        if handler.command == "GET":
            return send_answer(handler, (200, self.found(handler.path)))
        if handler.path == "/v1/chat/completions":
            self.chats += 1
            return send_answer(handler, (200, completion()))
        if handler.path == "/v1/files":
            boundary = re.search("boundary=(.*)", handler.headers["content-type"])
            assert boundary
            parts = content.split(b"--" + boundary[1].strip('"').encode())
            (file,) = [part for part in parts if b'filename="requests.jsonl"' in part]
            assert any(b'name="purpose"\r\n\r\nbatch' in part for part in parts)
            number = f"file-{len(self.files)}"
            self.files[number] = file.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
            return send_answer(handler, (200, {"id": number, "object": "file", "purpose": "batch"}))
        asked = json.loads(content)
        number = f"batch-{len(self.batches)}"
        assert asked["endpoint"] == "/v1/chat/completions"
        counts = {"total": 1, "completed": 0, "failed": 0}
        made = {"id": number, "object": "batch", "status": "in_progress", "request_counts": counts}
        self.batches[number] = made | asked
        if self.dies_after_creating:
            handler.close_connection = True
            return None
        return send_answer(handler, (200, self.batches[number]))

    def found(self, path: str) -> Any:
        *_, number = path.removesuffix("/content").split("/")
        if path.startswith("/v1/batches?"):
            return {"object": "list", "data": list(self.batches.values()), "has_more": False}
        if not path.startswith("/v1/batches/"):
            return self.files[number]
        self.seen[number] = self.seen.get(number, 0) + 1
        if self.seen[number] > self.looks:
            rows = [self.outcome(request) for request in self.sent(number)]
            # In random order, with unrequested replies in between.
            lines = [json.dumps(row) for row in reversed(rows) if row]
            lines += ["", "{", "[]", '{"custom_id": "other", "response": null}']
            self.files[f"out-{number}"] = "\n".join(lines).encode()
            self.batches[number] |= {"status": "completed", "output_file_id": f"out-{number}"}
        return self.batches[number]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Batches]:
    only_loopback(monkeypatch, KEY)
    with served(Batches()) as made:
        yield made


@pytest.fixture
def benchmark() -> Benchmark:
    return load_benchmark("demo")


@pytest.fixture
def run(server: Batches, benchmark: Benchmark, tmp_path: Path) -> Callable[..., pd.DataFrame]:
    def collected(**options: Any) -> pd.DataFrame:
        given = {
            "model": "tiny",
            "out": tmp_path / "out",
            "base_url": server.url,
            "limit": 2,
            "batch": True,
            "poll_s": 0.01,
            "progress": False,
            "retries": 0,
        }
        return pd.read_parquet(collect(benchmark, **given | options))

    return collected


Run = Callable[..., pd.DataFrame]


def test_a_batch_is_built_sent_waited_for_and_fetched(
    server: Batches, run: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    answers = run(progress=True)
    assert len(answers) == 16
    assert set(answers["answer"]) == {"B"}
    assert server.chats == 1  # the request that found the accepted settings
    requests = server.sent("batch-0")
    assert len(requests) == len({request["custom_id"] for request in requests}) == 15
    assert requests[0]["body"]["max_tokens"] == 24
    assert requests[0]["body"]["messages"][0]["role"] == "user"
    assert "batch-0 is in_progress, 0 replies" in capfd.readouterr().err
    run()
    assert len(server.batches) == 1
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or KEY[:10].encode() not in file.read_bytes()
    assert KEY.encode() not in b"".join(server.files.values())


def test_batch_gives_the_same_answers_as_single_requests(
    server: Batches, run: Run, tmp_path: Path
) -> None:
    drop = ["latency_s", "collected_at"]
    first, second = run().drop(columns=drop), run(batch=False, out=tmp_path / "one")
    assert first.equals(second.drop(columns=drop))


def test_restart_waits_for_the_existing_batch(
    server: Batches, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleep = batch.asyncio.sleep

    async def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(batch.asyncio, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt, match=r"15 missing.*run it again to continue"):
        run()
    monkeypatch.setattr(batch.asyncio, "sleep", sleep)
    assert len(run()) == 16
    assert len(server.batches) == 1
    assert server.chats == 1


def test_batch_with_unknown_number_is_recovered(server: Batches, run: Run) -> None:
    server.dies_after_creating = True
    with pytest.raises(InputError, match="check whether the service has a Batch API"):
        run()
    server.dies_after_creating = False
    assert len(run()) == 16
    assert len(server.batches) == 1


def test_failed_and_missing_replies_are_requested_again(server: Batches, run: Run) -> None:
    outcome = server.outcome

    def some(request: dict[str, Any]) -> dict[str, Any] | None:
        number = [r["custom_id"] for r in server.sent("batch-0")].index(request["custom_id"])
        if number == 0:
            return None
        if number == 1:
            return {"custom_id": request["custom_id"], "response": {"status_code": 500}}
        if number == 2:
            return {"custom_id": request["custom_id"], "response": {"status_code": 200}}
        return outcome(request)

    server.outcome = some  # type: ignore[method-assign]
    with pytest.raises(Unfinished, match=r"13 answered, 2 failed, 1 missing.*request the rest"):
        run()
    server.outcome = outcome  # type: ignore[method-assign]
    assert set(run()["status"]) == {"ok"}
    assert len(server.sent("batch-1")) == 3


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ({"response": None, "error": {"message": "batch expired"}}, "batch expired"),
        ({"response": {"status_code": 500, "body": "out of memory"}}, "out of memory"),
    ],
)
def test_answer_to_a_failed_request_gives_the_reason(
    server: Batches, run: Run, outcome: dict[str, Any], reason: str
) -> None:
    server.outcome = lambda request: {"custom_id": request["custom_id"]} | outcome  # type: ignore[method-assign]
    answers = run()
    failed = answers[answers["status"] == "error"]
    assert len(failed) == 15
    assert failed["answer_raw"].str.contains(reason, regex=False).all()


def test_batch_that_may_exceed_the_budget_is_not_sent(server: Batches, run: Run) -> None:
    with pytest.raises(Unfinished, match="budget"):
        run(price=(100.0, 100.0), max_cost=0.001)
    assert not server.batches
    assert not server.chats


def test_line_that_is_too_long_is_skipped(server: Batches, run: Run) -> None:
    outcome = server.outcome

    def some(request: dict[str, Any]) -> dict[str, Any]:
        number = [r["custom_id"] for r in server.sent("batch-0")].index(request["custom_id"])
        return outcome(request) | {0: {"p": "x" * 2**20}, 1: {"p": [{}] * 30_000}}.get(number, {})

    server.outcome = some  # type: ignore[method-assign,assignment]
    with pytest.raises(Unfinished, match=r"14 answered, 0 failed, 2 missing"):
        run()


def test_file_that_is_too_long_is_reported(
    server: Batches, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_clients, "MAX_BATCH_BYTES", 1_000)
    with pytest.raises(InputError, match="the reply is longer than 1,000 bytes"):
        run()
    monkeypatch.undo()
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert len(run()) == 16
    assert len(server.batches) == 1


@pytest.mark.parametrize(
    "state",
    [
        {"status": None},
        {"request_counts": "x"},
        {"request_counts": {"completed": "x"}},
        {"errors": {"data": [1]}},
        {"output_file_id": ["a"]},
        {"id": {"a": 1}},
        [],
        b"x",
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "path", ["/v1/files", "/v1/batches", "/v1/batches/batch-0", "/v1/batches?"]
)
def test_reply_of_another_kind_is_an_input_error(
    server: Batches, run: Run, monkeypatch: pytest.MonkeyPatch, path: str, state: Any
) -> None:
    if path == "/v1/batches?":
        server.dies_after_creating = True
        with pytest.raises(InputError):
            run()
        state = {"data": [state]} if isinstance(state, dict) else state
    if path == "/v1/files":
        state = {"id": 5} if isinstance(state, dict) else state
    sound = server.respond

    def respond(handler: BaseHTTPRequestHandler, content: bytes) -> None:
        if not handler.path.startswith(path) or (path[-1] == "s" and handler.command == "GET"):
            return sound(handler, content)
        batch = {"id": "batch-0", "status": "completed"}
        broken = batch | state if isinstance(state, dict) else state
        return send_answer(handler, (200, broken))

    monkeypatch.setattr(server, "respond", respond)
    with pytest.raises(InputError, match="of the Batch API"):
        run()
