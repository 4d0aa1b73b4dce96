"""Servers on the loopback interface, for the duration of a test."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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


def send_answer(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    """Send an answer as JSON."""
    status, found = answer
    body = json.dumps(found).encode()
    handler.send_response(status)
    for name, value in (("content-type", "application/json"), ("content-length", len(body))):
        handler.send_header(name, str(value))
    handler.end_headers()
    handler.wfile.write(body)


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
