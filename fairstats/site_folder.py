"""A site's folder: every release as it was published, and what is made from them.

    v/<release>/        a release; nothing in it changes
    latest/             the pages of the newest release
    api/<release>/      its figures as JSON; also api/latest/
    releases.json       the releases, the oldest first
    feed.xml            the releases as an Atom feed
    index.html          leads to latest/

Everything but ``v/`` is made from ``v/`` alone, so that it can be made again and verified.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairstats.names import digest
from fairstats.report.context import RELEASES, Release, releases_of
from fairstats.report.feed import FEED, atom_feed, release_entry
from fairstats.whole_files import whole_file

try:
    import fcntl
except ImportError:  # not on this system: publications are not kept apart there
    fcntl = None  # type: ignore[assignment]

LATEST = "latest"
API = "api"
_INDEX = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>fairstats</title>
<link rel="canonical" href="{LATEST}/index.html">
<meta http-equiv="refresh" content="0; url={LATEST}/index.html">
</head>
<body><main>
<h1>fairstats</h1>
<p>The newest release is <a href="{LATEST}/index.html">here</a>.</p>
</main></body>
</html>
"""


@contextmanager
def locked(site: Path) -> Iterator[None]:
    """Hold a site for one publication at a time; another on this machine waits for its end.

    The system lets go of the lock when its process ends, however that is.
    """
    name = digest(str(site.resolve()))
    with (Path(tempfile.gettempdir()) / f"fairstats-{name}.lock").open("w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def assemble(site: Path) -> None:
    """Make everything of a site that is made from its releases, and remove what is not.

    Parameters
    ----------
    site : Path
        The site's folder, with at least one release.

    Notes
    -----
    Each file is written under another name and renamed, so that a reader of a folder that is
    served meets no half file.
    """
    made = set()
    for name, content in derived_files(site):
        made.add(name)
        path = site / name
        if path.is_file() and path.read_bytes() == content:
            continue
        with whole_file(path) as temporary:
            temporary.write_bytes(content)
    for name in extra_files(site, made):
        (site / name).unlink()
    for folder in (site / LATEST, site / API):
        _remove_empty(folder)


def derived_files(site: Path) -> Iterator[tuple[str, bytes]]:
    """Every file that is made from the releases: its path below `site`, and its content."""
    releases = releases_of(site)
    if not releases:
        return
    newest = releases[-1]
    for path in _files(newest.path):
        name = path.relative_to(newest.path).as_posix()
        yield f"{LATEST}/{name}", _for_latest(path, name)
    for release in releases:
        folder = release.path / API
        for path in _files(folder):
            name = path.relative_to(folder).as_posix()
            content = _for_api(path, name, release)
            yield f"{API}/{release.name}/{name}", content
            if release is newest:
                yield f"{API}/{LATEST}/{name}", content
    entries = [release_entry(r, path=f"{RELEASES}/{r.name}/index.html") for r in releases]
    yield FEED, atom_feed(entries).encode()
    yield "releases.json", _release_list(releases).encode()
    yield "index.html", _INDEX.encode()
    # Else GitHub Pages would run the pages through its own generator.
    yield ".nojekyll", b""


def extra_files(site: Path, made: set[str]) -> list[str]:
    """Files in the folders of derived files that are none of them."""
    return [
        name
        for folder in (site / LATEST, site / API)
        for path in _files(folder)
        if (name := path.relative_to(site).as_posix()) not in made
    ]


def _for_latest(path: Path, name: str) -> bytes:
    """A file of the newest release as it is under ``latest/``, one folder nearer to the root.

    A link with more steps up than its page lies deep leaves the release: it takes one less.
    """
    content = path.read_bytes()
    if path.suffix != ".html":
        return content
    up = "../" * name.count("/")
    leaving, shorter = f'"{up}../../', f'"{up}../'
    return content.replace(leaving.encode(), shorter.encode())


def _for_api(path: Path, name: str, release: Release) -> bytes:
    """A document of a release as it is under ``api/``: the models' pages lie in the release."""
    up = "../" * (name.count("/") + 1)
    here, there = f'"page": "{up}reports/', f'"page": "{up}../{RELEASES}/{release.name}/reports/'
    return path.read_bytes().replace(here.encode(), there.encode())


def _release_list(releases: list[Release]) -> str:
    entries = [
        {
            "release": release.name,
            "created_at": release.manifest["created_at"],
            "fairstats": release.manifest["fairstats"],
            "models": len(release.models),
            "path": f"{RELEASES}/{release.name}/index.html",
        }
        for release in releases
    ]
    return json.dumps(entries, indent=1, ensure_ascii=False) + "\n"


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _remove_empty(folder: Path) -> None:
    for path in sorted((p for p in folder.rglob("*") if p.is_dir()), reverse=True):
        if not any(path.iterdir()):
            shutil.rmtree(path)
