"""The preview of a site: this machine alone, the site's folder alone, and a clean end."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from fairstats._lib.problems import InputError
from fairstats.publishing import serving
from fairstats.publishing.serving import LOOPBACK, SiteServer
from tests.serving import served as running

TYPES = {
    "index.html": "text/html; charset=utf-8",
    "feed.xml": "application/atom+xml; charset=utf-8",
    "api/1/leaderboard.json": "application/json",
    "drawing.svg": "image/svg+xml",
    "downloads/estimates.parquet": "application/vnd.apache.parquet",
    "downloads/estimates.csv": "text/csv; charset=utf-8",
    "CITATION.cff": "application/yaml",
    "unknown.suffix": "application/octet-stream",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A site with what it may send, and beside it and behind links what it may not."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "secret.txt").write_text("secret")
    (folder / "site-2").mkdir()
    (folder / "site-2" / "index.html").write_text("secret")
    site = folder / "site"
    for name in TYPES:
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name} ü", encoding="utf-8")
    (site / "v").mkdir()
    (site / "v" / "page.html").write_text("a release")
    try:
        (site / "link.txt").symlink_to(folder / "secret.txt")
        (site / "out").symlink_to(folder / "site-2")
        (site / "linked").mkdir()
        (site / "linked" / "index.html").symlink_to(folder / "site-2" / "index.html")
        (site / "latest").symlink_to("v")
        (site / "piped").mkdir()
        os.mkfifo(site / "pipe")
        os.mkfifo(site / "piped" / "index.html")
    except (AttributeError, OSError):
        pytest.skip("this system makes no symbolic links or no pipes")
    return site


@pytest.fixture(scope="module")
def served(site) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command as its users run it, on a free port: its process and its address."""
    process = start(site, "--port", "0")
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.match(r"(http://127\.0\.0\.1:\d+/) serves ", line)
    assert found, line
    yield process, found[1]
    process.kill()
    process.communicate()


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "fairstats.cli", "serve", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def raw(address: str, path: str, **headers: str) -> http.client.HTTPResponse:
    """What a client gets that sends the path as it is, without tidying it up."""
    connection = http.client.HTTPConnection(address.split("/")[2], timeout=20)
    connection.putrequest("GET", path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    return connection.getresponse()


@pytest.mark.parametrize("name", TYPES)
def test_a_file_is_sent_as_what_it_is(served, name):
    with urlopen(f"{served[1]}{name}", timeout=20) as answer:
        assert answer.read().decode() == f"content of {name} ü"
        assert answer.headers["Content-Type"] == TYPES[name]
        assert answer.headers["Cache-Control"] == "no-cache"


def test_the_first_page_and_a_link_inside_the_site_are_sent(served):
    with urlopen(served[1], timeout=20) as answer:
        assert answer.read().decode() == "content of index.html ü"
    with urlopen(f"{served[1]}latest/page.html", timeout=20) as answer:
        assert answer.read() == b"a release"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/api/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/..%5csecret.txt",
        "/%2e%2e%2f%2e%2e%2fsecret.txt",
        "//../secret.txt",
        "/../site-2/index.html",
        "/link.txt",
        "/out/",
        "/out/index.html",
        "/linked/",
        "/linked/index.html",
        "/index.html%00.txt",
        "/" + "x" * 5000,
        "/%ff%fe",
        "/nothing.html",
    ],
)
def test_nothing_outside_of_the_site_is_sent(served, path):
    answer = raw(served[1], path)
    assert answer.status == 404
    assert b"secret" not in answer.read()


@pytest.mark.parametrize("path", ["/pipe", "/pipe/", "/piped/", "/piped/index.html"])
def test_pipes_are_not_waited_for(served, path):
    assert raw(served[1], path).status == 404


def test_many_connections_are_accepted_at_once(site):
    with SiteServer(site, port=0) as server, ExitStack() as opened:
        # Nobody accepts them: the system keeps them waiting.
        for _ in range(200):
            address = (LOOPBACK, server.server_port)
            opened.enter_context(socket.create_connection(address, timeout=1))


def test_silent_client_is_hung_up_on(site, monkeypatch):
    assert serving._Handler.timeout is not None
    monkeypatch.setattr(serving._Handler, "timeout", 0.2)
    with running(SiteServer(site, port=0)) as server:
        address = (LOOPBACK, server.server_port)
        with socket.create_connection(address, timeout=20) as silent:
            silent.sendall(b"GET / HT")
            assert silent.recv(100) == b""


@pytest.mark.parametrize("path", ["/v/", "/api/", "/downloads/", "/latest/"])
def test_a_folder_without_a_page_is_not_listed(served, path):
    with pytest.raises(HTTPError) as caught:
        urlopen(f"{served[1].rstrip('/')}{path}", timeout=20)
    assert caught.value.code == 404
    assert "page.html" not in caught.value.read().decode()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", ""])
def test_a_page_of_another_name_cannot_read_the_site(served, host):
    assert raw(served[1], "/", Host=host).status == 403
    assert raw(served[1], "/", Host="localhost:9").status == 200


def test_only_reading_is_possible(served):
    connection = http.client.HTTPConnection(served[1].split("/")[2], timeout=20)
    connection.request("PUT", "/index.html", body="changed")
    assert connection.getresponse().status == 501
    connection.close()
    connection.request("HEAD", "/index.html")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"")


def test_other_machines_are_not_listened_to(site):
    with SiteServer(site, port=0) as server:
        assert server.socket.getsockname()[0] == LOOPBACK


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_it_without_a_traceback(site):
    process = start(site, "--port", "0")
    assert process.stdout is not None
    address = process.stdout.readline().split()[0]
    assert urlopen(address, timeout=20).status == 200
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "stopped\n", "")


def test_a_port_that_is_taken_is_said_with_what_to_do(site):
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = start(site, "--port", port)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert err.startswith(f"--port: {port} cannot be used (")
    assert "--port 0" in err


def test_a_folder_without_a_site_is_said_with_what_to_do(site, tmp_path):
    with pytest.raises(InputError, match="no such folder; give the folder of a site"):
        SiteServer(tmp_path / "nowhere")
    with pytest.raises(
        InputError, match=re.escape("contains no site (no index.html); give the folder")
    ):
        SiteServer(tmp_path)
    with pytest.raises(InputError, match=re.escape(f"use {site}")):
        SiteServer(site.parent)
