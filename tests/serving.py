"""Servers on the loopback interface, for the duration of a test."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest

_Server = TypeVar("_Server", bound=ThreadingHTTPServer)
#: The status and the body of an answer.
Answer = tuple[int, dict[str, Any]]
#: An answer that is not worth a second request.
FAULT: Answer = (400, {"error": {"message": "too long", "type": "x", "param": None, "code": None}})
_SETTINGS = ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS")


class ModelServer(ThreadingHTTPServer):
    """A server to which a client may open many connections at once."""

    daemon_threads = True
    # With the default of 5, a further connection may be lost; its client tries again in a second.
    request_queue_size = 64


def chat_reply(content: str | None, *, tokens: tuple[int, int] = (90, 10), **more: Any) -> Answer:
    """Return a chat completion, with the numbers of tokens sent and received."""
    message = {"role": "assistant", "content": content} | more
    choices = [{"index": 0, "finish_reason": "stop", "message": message}]
    sent, back = tokens
    usage = {"prompt_tokens": sent, "completion_tokens": back, "total_tokens": sent + back}
    return 200, {"model": "tiny-2026-01-01", "choices": choices, "usage": usage}


def send_answer(handler: BaseHTTPRequestHandler, answer: tuple[int, Any], **headers: str) -> None:
    """Send an answer as JSON, or as the bytes that it is; the headers are written with _ for -."""
    status, found = answer
    body = found if isinstance(found, bytes) else json.dumps(found).encode()
    handler.send_response(status)
    usual = {"content_type": "application/json", "content_length": str(len(body))}
    for name, value in (usual | headers).items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


class Service(ModelServer):
    """A service that stores the content of its requests; a subclass responds."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.requests: list[Any] = []
        self.keys: set[str] = set()
        self.lock = threading.Lock()

    def respond(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        raise NotImplementedError


class _Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        with self.server.lock:
            self.server.keys.add(self.headers["authorization"])
        # A client may hang up before the end.
        with suppress(OSError):
            self.server.respond(self, self.rfile.read(int(self.headers["content-length"] or 0)))

    do_GET = do_POST

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(server: _Server) -> Iterator[_Server]:
    """Answer requests to a server in a thread; close it at the end."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def only_loopback(monkeypatch: pytest.MonkeyPatch, key: str | None = None) -> None:
    """Remove the settings of other services and any proxy from the environment; set the key."""
    for name in _SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)


def benchmark_script(name: str) -> ModuleType:
    """Import a script from `benchmarks/`; its servers are separate processes."""
    path = Path(__file__).parents[1] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
