"""An agent of every stage, and the declarations and items to build from."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fairstats.benchmarks.benchmark_files import toml_text
from tests.vignettes.building import stubs
from tests.vignettes.building.scripted import Row, Service, declared


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Service()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def ruled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of `stubs` in the place of the real ones."""
    stubs.put_in_place(monkeypatch.setattr)


Write = Callable[..., Path]


@pytest.fixture
def write(service: Service, tmp_path: Path) -> Write:
    """Write items and a declaration; the declaration's path."""

    def written(
        items: list[Row], changes: Mapping[str, Any] | None = None, folder: str = "."
    ) -> Path:
        path = tmp_path / folder
        path.mkdir(exist_ok=True)
        lines = [json.dumps(row) + "\n" for row in items]
        (path / "items.jsonl").write_text("".join(lines), encoding="utf-8")
        build = path / "build.toml"
        build.write_text(toml_text(declared(service.url, **changes or {})), encoding="utf-8")
        return build

    return written
