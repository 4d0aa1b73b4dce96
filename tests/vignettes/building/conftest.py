"""A scripted agent for every stage, and declarations and items to build from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fairstats.benchmarks.benchmark_files import toml_text
from tests.serving import only_loopback, served
from tests.vignettes.building import stubs
from tests.vignettes.building.scripted import Row, Service, declared


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    only_loopback(monkeypatch, "sk-planted-0123456789abcdef")
    with served(Service()) as server:
        yield server


@pytest.fixture
def ruled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the real rules with those of `stubs`."""
    stubs.put_in_place(monkeypatch.setattr)


Write = Callable[..., Path]


@pytest.fixture
def write(service: Service, tmp_path: Path) -> Write:
    """Write items and a declaration; return the declaration's path."""

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
