"""A loopback server with released files at the addresses in their list."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from fairstats_collectors import amqa, released_files
from fairstats_collectors.released_files import ListedFile, ReleasedFile

from tests.serving import only_loopback, served

ARCHIVE = "all.zip"


@dataclass
class ReleasedServer:
    """The served folder, and whether files are sent in full, in half or not at all."""

    root: Path
    fault: str = ""


@contextmanager
def served_release(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    plain: Mapping[str, bytes],
    packed: Mapping[str, bytes],
) -> Iterator[ReleasedServer]:
    """Serve some files, and others in an archive; each is listed under the model in its name."""
    server = ReleasedServer(folder / "who" / "Repo" / "c0")
    server.root.mkdir(parents=True)
    for name, content in plain.items():
        (server.root / name).write_bytes(content)
    with zipfile.ZipFile(server.root / ARCHIVE, "w") as archive:
        for name, content in packed.items():
            archive.writestr(f"in/{name}", content)
    listed = {"repository": "who/Repo", "commit": "c0"}
    files = tuple(
        ReleasedFile(
            **listed,
            path=path,
            bytes=len(content),
            sha256=_sha256(content),
            rows=content.count(b"\n"),
            model=path.rpartition("/")[2].removesuffix(".jsonl"),
            snapshot="m-1",
            strategy="plain",
            benchmark="fairmedqa",
            benchmark_version="gpt-agent",
        )
        for path, content in (
            *plain.items(),
            *((f"{ARCHIVE}!in/{name}", content) for name, content in packed.items()),
        )
    )
    content = (server.root / ARCHIVE).read_bytes()
    archives = (ListedFile(**listed, path=ARCHIVE, bytes=len(content), sha256=_sha256(content)),)
    for module in (amqa, released_files):
        monkeypatch.setattr(module, "released_files", lambda: files)
    monkeypatch.setattr(released_files, "released_archives", lambda: archives)
    only_loopback(monkeypatch)
    with served(ThreadingHTTPServer(("127.0.0.1", 0), _handler(server, folder))) as running:
        address = f"http://127.0.0.1:{running.server_port}"
        monkeypatch.setattr(released_files, "_ADDRESS", address + "/{repository}/{commit}/{path}")
        yield server


def _handler(server: ReleasedServer, folder: Path) -> type[SimpleHTTPRequestHandler]:
    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

        def do_GET(self) -> None:
            if server.fault == "server error":
                self.send_error(HTTPStatus.SERVICE_UNAVAILABLE)
            elif server.fault == "truncated":
                content = Path(self.translate_path(self.path)).read_bytes()
                self.send_response(HTTPStatus.OK)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2])
            else:
                super().do_GET()

        def log_message(self, *args: object) -> None:
            pass

    return Handler


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
