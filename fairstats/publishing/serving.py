"""Preview a site's folder in a browser on the same machine, as a static host would serve it."""

from __future__ import annotations

import os
import socketserver
import sys
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Any

from fairstats._lib.problems import input_error, keyword, wrong

LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 8000

# Set here, because the media types that the system lists differ between machines.
_TYPES = {
    ".cff": "application/yaml",
    ".css": "text/css; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".toml": "application/toml",
    ".txt": "text/plain; charset=utf-8",
    # The one XML file of a site is its Atom feed.
    ".xml": "application/atom+xml; charset=utf-8",
}
# The pages that may be sent for a folder.
_PAGES = ("index.html", "index.htm")


class SiteServer(ThreadingHTTPServer):
    """Serve the files of one folder to this machine only.

    Parameters
    ----------
    folder : Path
        The site's folder.
    port : int
        The port to listen on; 0 takes any free port.

    Raises
    ------
    InputError
        If the folder is not a site, or the port is not available.
    """

    # Browsers open many connections at once; a further one than the default of 5 waits a second.
    request_queue_size = 256
    # On Windows the option would let two servers listen at one port.
    allow_reuse_address = os.name != "nt"

    def __init__(self, folder: Path, *, port: int = DEFAULT_PORT) -> None:
        _check_site(folder)
        self.root = folder.resolve()
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as error:
            message = f"{port} cannot be used ({getattr(error, 'strerror', None) or error})"
            other, free = keyword("port", 8765), keyword("port", 0)
            remedy = f"choose another, e.g. {other}, or {free} for any free port"
            raise wrong("port", message, remedy) from None

    def server_bind(self) -> None:
        """Bind without looking up the machine's name, as an HTTP server would."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.socket.getsockname()[1]

    @property
    def address(self) -> str:
        """Return the address to open in a browser."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error, unless the reader left or stopped reading in the middle of a file."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(SimpleHTTPRequestHandler):
    server: SiteServer
    server_version = "fairstats"
    #: Seconds that a client may be silent.
    timeout = 30

    def __init__(self, request: Any, client_address: Any, server: SiteServer) -> None:
        super().__init__(request, client_address, server, directory=str(server.root))

    def send_head(self) -> Any:
        # Without this, a page under another name that resolves to this machine could read the site.
        if self.headers.get("Host", "").partition(":")[0] not in (LOOPBACK, "localhost"):
            self.send_error(HTTPStatus.FORBIDDEN, "Open this site by its address on this machine")
            return None
        if not self._inside():
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return super().send_head()

    def _inside(self) -> bool:
        """Check whether the requested file is a file of the folder, after following links.

        A pipe would be waited for, for ever.
        """
        path = Path(self.translate_path(self.path))
        try:
            # For a folder, its page is sent, which may also be a link.
            found = [path.resolve(), *((path / name).resolve() for name in _PAGES)]
            plain = all(one.is_file() or one.is_dir() for one in found if one.exists())
        except (OSError, ValueError):
            # A file cannot have such a name.
            return False
        return plain and all(target.is_relative_to(self.server.root) for target in found)

    def list_directory(self, path: Any) -> None:
        """Refuse to list a folder that has no page."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def guess_type(self, path: Any) -> str:
        return _TYPES.get(PurePosixPath(path).suffix.lower(), "application/octet-stream")

    def end_headers(self) -> None:
        # A page that was drawn again must be seen at once.
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log no requests: a requested address must not control the terminal."""


def _check_site(folder: Path) -> None:
    if (folder / "index.html").is_file():
        return
    if not folder.is_dir():
        raise input_error(folder, "no such folder", "give the folder of a site")
    inside = folder / "site"
    there = (inside / "index.html").is_file()
    remedy = f"use {inside}" if there else "give the folder with the site's index.html"
    raise input_error(folder, "contains no site (no index.html)", remedy)
