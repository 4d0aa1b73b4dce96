"""A service that sends too much, too slowly, or redirects: collecting ends with one line."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from fairstats_collectors import chat_requests, http_clients
from fairstats_collectors.collect import collect
from fairstats_collectors.embeddings import service_embedder

from fairstats._lib.problems import InputError
from fairstats.answers.files import read_answers
from fairstats.benchmarks.declaration import Benchmark
from tests.collectors.test_collect import reply, write_benchmark
from tests.serving import Service, only_loopback, send_answer, served

Respond = Callable[[BaseHTTPRequestHandler], None]


class Server(Service):
    """A service that answers every request with one function."""

    def __init__(self, answer: Respond) -> None:
        super().__init__()
        self.answer = answer
        self.ended = threading.Event()

    def respond(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        self.requests.append(content)
        self.answer(handler)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Respond], Server]]:
    only_loopback(monkeypatch, "sk-planted-0123456789abcdef")
    with ExitStack() as running:

        def start(respond: Respond) -> Server:
            server = running.enter_context(served(Server(respond)))
            running.callback(server.ended.set)
            return server

        yield start


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return write_benchmark(tmp_path)


def refused(server: Server, benchmark: Benchmark, folder: Path, **options: Any) -> str:
    given = {"model": "tiny", "base_url": server.url, "progress": False, "retries": 0} | options
    with pytest.raises(InputError) as caught:
        collect(benchmark, out=folder / "out", **given)
    (problem,) = caught.value.problems
    return str(problem)


def send(handler: BaseHTTPRequestHandler, status: int, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def endless(handler: BaseHTTPRequestHandler) -> None:
    """Send megabytes until the client hangs up."""
    send(handler, 200, content_type="application/json")
    while True:
        handler.wfile.write(b" " * 2**20)


def dripping(handler: Any) -> None:
    """Send a blank now and then, like a service that is about to reply."""
    send(handler, 200, content_type="application/json")
    while not handler.server.ended.wait(0.02):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def compressed(handler: BaseHTTPRequestHandler) -> None:
    """Send a few kilobytes that unpack to a hundred megabytes."""
    body = gzip.compress(bytes(100 * 2**20))
    send(handler, 200, content_encoding="gzip", content_length=str(len(body)))
    handler.wfile.write(body)


def test_reply_without_end_is_cut_off(serve, benchmark, tmp_path, monkeypatch):
    monkeypatch.setattr(http_clients, "MAX_REPLY_BYTES", 2**20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = refused(serve(endless), benchmark, tmp_path)
    assert "longer than 1,048,576 bytes" in said
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_reply_that_is_too_long_fails_once(serve, benchmark, tmp_path, monkeypatch):
    monkeypatch.setattr(http_clients, "MAX_REPLY_BYTES", 2**20)
    long: list[bytes] = []

    def respond(handler: BaseHTTPRequestHandler) -> None:
        prompt = handler.server.requests[-1]
        if prompt == long[-1] if long else long.append(prompt) is None:
            endless(handler)
        else:
            send_answer(handler, reply())

    server = serve(respond)
    path = collect(
        benchmark, out=tmp_path / "out", model="t", base_url=server.url, progress=False, retries=3
    )
    assert server.requests.count(long[0]) == 1
    failed = read_answers(path).query("status == 'error'")
    assert len(failed) == 1


def padded(
    size: int, part: str, *, head: str = '{"choices":[{"message":{"content":"B"}}],"p":['
) -> bytes:
    """A reply of this size with many small values, the first of them a completion."""
    return f"{head}{part * ((size - len(head)) // len(part))}0]}}".encode()


NAMES = b'{"choices":{' + b",".join(b'"%x":0' % number for number in range(160_000)) + b"}}"


#: Body, status and kind of hostile replies.
LARGE = {
    "issue": (padded(16 * 2**20 - 99, '{"":0},', head='{"choices":['), 200, "chat"),
    "short": (padded(2**20 - 99, '{"":0},', head='{"choices":['), 200, "chat"),
    "valid": (padded(2**20 - 99, '{"":0},'), 200, "chat"),
    "numbers": (padded(2**20 - 99, "1e9,"), 200, "chat"),
    "names": (NAMES, 200, "chat"),
    "error": (padded(16 * 2**20 - 99, '{"":0},'), 400, "chat"),
    "embeddings": (padded(6 * 2**20 - 99, '{"":0},'), 200, "embeddings"),
    "vectors": (padded(6 * 2**20 - 99, "1e9,"), 200, "embeddings"),
    # Few texts, lists and objects: the length has a limit of its own.
    "long": (padded(16 * 2**20, "1e9,"), 200, "chat"),
    "long error": (padded(16 * 2**20, "1e9,"), 400, "chat"),
    "long vectors": (padded(16 * 2**20, "1e9,"), 200, "embeddings"),
}


def test_no_reply_takes_much_memory(serve, tmp_path):
    services = []
    for body, status, kind in LARGE.values():
        answer = (status, body)
        server = serve(lambda handler, answer=answer: send_answer(handler, answer))
        services += [kind, server.url]
    script = Path(__file__).with_name("collect_within_memory.py")
    command = [sys.executable, script, tmp_path, *services]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    peaks = dict(zip(LARGE, map(int, done.stdout.split()), strict=True))
    assert [name for name, peak in peaks.items() if peak >= 300_000_000] == []


@pytest.mark.parametrize("answer", [(200, b"[]"), (400, b"[]")])
def test_fault_of_a_request_does_not_hold_its_reply(
    serve, benchmark, tmp_path, monkeypatch, answer
):
    faults = []
    ask = chat_requests.Service._ask

    async def kept(*given: Any) -> Any:
        reply, fault = await ask(*given)
        faults.append(fault)
        return reply, fault

    monkeypatch.setattr(chat_requests.Service, "_ask", kept)
    refused(serve(lambda handler: send_answer(handler, answer)), benchmark, tmp_path)
    # Frames of a traceback hold the reply, as bytes and parsed.
    assert [fault.__traceback__ for fault in faults] == [None] * len(faults) != []


def test_compressed_reply_is_not_unpacked(serve, benchmark, tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "compressed (gzip)" in refused(serve(compressed), benchmark, tmp_path)
    # The server is in this process; only its 100 megabytes are held.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 190_000


def test_compressed_replies_are_not_requested(serve, benchmark, tmp_path):
    asked = []

    def plain(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.headers["accept-encoding"])
        send_answer(handler, reply())

    collect(benchmark, out=tmp_path, model="t", base_url=serve(plain).url, progress=False)
    assert set(asked) == {"identity"}


def test_dripping_reply_ends_at_the_deadline(serve, benchmark, tmp_path, monkeypatch):
    monkeypatch.setattr(http_clients, "DEADLINE_S", 0.5)
    started = time.monotonic()
    said = refused(serve(dripping), benchmark, tmp_path, retries=5)
    assert "within 0.5 seconds" in said
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_is_not_followed(serve, benchmark, tmp_path, status):
    other = serve(lambda handler: send_answer(handler, reply()))
    target = other.url.replace("127.0.0.1", "localhost") + "/chat/completions?token=secret"
    first = serve(lambda handler: send(handler, status, location=target, content_length="0"))
    said = refused(first, benchmark, tmp_path)
    assert "the service redirects to localhost" in said
    assert "secret" not in said
    assert other.requests == []
    assert len(first.requests) == 1


@pytest.mark.parametrize("target", ["http://[::1", "http://[x]/", "//\u2100.example"])
def test_redirect_to_an_invalid_address_is_reported(serve, benchmark, tmp_path, target):
    location = target.encode().decode("latin-1")
    server = serve(lambda handler: send(handler, 307, location=location, content_length="0"))
    assert "the service redirects to" in refused(server, benchmark, tmp_path)


def test_reply_with_a_duplicate_name_is_invalid(serve, benchmark, tmp_path):
    def twice(handler: BaseHTTPRequestHandler) -> None:
        body = json.dumps(reply("A")[1])[:-1] + ', "choices": [{"message": {"content": "D"}}]}'
        send_answer(handler, (200, body.encode()))

    said = refused(serve(twice), benchmark, tmp_path)
    assert "'choices' appears more than once" in said


@pytest.mark.parametrize("respond", [endless, compressed, dripping])
def test_embeddings_have_the_same_limits(respond, serve, monkeypatch):
    monkeypatch.setattr(http_clients, "MAX_REPLY_BYTES", 2**20)
    monkeypatch.setattr(http_clients, "DEADLINE_S", 0.5)
    embedder = service_embedder("m", base_url=serve(respond).url, key="", retries=0)
    with pytest.raises(InputError) as caught:
        embedder.ask(["a text"], lambda texts, vectors: None)
    assert "\n" not in str(caught.value)
