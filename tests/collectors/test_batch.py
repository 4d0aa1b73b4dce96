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
from fairstats_collectors import batch
from fairstats_collectors.campaign import Unfinished
from fairstats_collectors.collect import collect

from fairstats._lib.problems import InputError
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from tests.serving import ModelServer, only_loopback, served

KEY = "sk-planted-0123456789abcdef"


def completion(text: str = "Answer: B") -> dict[str, Any]:
    return {
        "model": "tiny-1",
        "choices": [{"message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    }


class Batches(ModelServer):
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
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.seen: dict[str, int] = {}
        self.chats = 0
        self.dies_after_creating = False

    def requests(self, number: str) -> list[dict[str, Any]]:
        lines = self.files[self.batches[number]["input_file_id"]].splitlines()
        return [json.loads(line) for line in lines]


class Handler(BaseHTTPRequestHandler):
    server: Batches

    def do_POST(self) -> None:
        server = self.server
        content = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/v1/chat/completions":
            server.chats += 1
            self.say(completion())
        elif self.path == "/v1/files":
            boundary = re.search("boundary=(.*)", self.headers["content-type"])
            assert boundary
            parts = content.split(b"--" + boundary[1].strip('"').encode())
            (file,) = [part for part in parts if b'filename="requests.jsonl"' in part]
            assert any(b'name="purpose"\r\n\r\nbatch' in part for part in parts)
            number = f"file-{len(server.files)}"
            server.files[number] = file.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
            self.say({"id": number, "object": "file", "purpose": "batch"})
        else:
            asked = json.loads(content)
            number = f"batch-{len(server.batches)}"
            assert asked["endpoint"] == "/v1/chat/completions"
            server.batches[number] = {
                "id": number,
                "object": "batch",
                "status": "in_progress",
                "request_counts": {"total": 1, "completed": 0, "failed": 0},
                **asked,
            }
            if server.dies_after_creating:
                self.close_connection = True
                return
            self.say(server.batches[number])

    def do_GET(self) -> None:
        server = self.server
        *_, number = self.path.removesuffix("/content").split("/")
        if self.path.startswith("/v1/batches?"):
            self.say({"object": "list", "data": list(server.batches.values()), "has_more": False})
        elif self.path.startswith("/v1/batches/"):
            server.seen[number] = server.seen.get(number, 0) + 1
            found = server.batches[number]
            if server.seen[number] > server.looks:
                rows = [server.outcome(request) for request in server.requests(number)]
                # In random order, with unrequested replies in between.
                lines = [json.dumps(row) for row in reversed(rows) if row]
                lines += ["", "{", "[]", '{"custom_id": "other", "response": null}']
                server.files[f"out-{number}"] = "\n".join(lines).encode()
                found |= {"status": "completed", "output_file_id": f"out-{number}"}
            self.say(found)
        else:
            self.say(server.files[number])

    def say(self, body: Any) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


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
    requests = server.requests("batch-0")
    assert len(requests) == len({request["custom_id"] for request in requests}) == 15
    assert requests[0]["body"]["max_tokens"] == 24
    assert requests[0]["body"]["messages"][0]["role"] == "user"
    assert "batch batch-0 is in_progress, 0 replies" in capfd.readouterr().err
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
        number = [r["custom_id"] for r in server.requests("batch-0")].index(request["custom_id"])
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
    assert len(server.requests("batch-1")) == 3


def test_batch_that_may_exceed_the_budget_is_not_sent(server: Batches, run: Run) -> None:
    with pytest.raises(Unfinished, match="budget"):
        run(price=(100.0, 100.0), max_cost=0.001)
    assert not server.batches
    assert not server.chats
