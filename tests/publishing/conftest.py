"""Fixtures of the tests of publishing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fairstats.publishing.site_folder import Verification
from fairstats.release.manifest import chain_problems, file_problems, read_manifest
from fairstats.report.page_output import collected


@pytest.fixture
def drawn_text() -> Callable[..., str]:
    """Return the text that a function shows on a page, without Markdown's escapes."""

    def text(show: Callable[..., None], *arguments: object) -> str:
        with collected() as parts:
            show(*arguments)
        return "\n".join(parts).replace("\\", "")

    return text


@pytest.fixture
def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check hashes and chain only, in tests of what is signed: recomputing takes time."""

    def hashed(path: Path, *, pages: bool) -> Verification:
        manifest = read_manifest(path)
        problems = [*file_problems(path, manifest["files"]), *chain_problems(path, manifest)]
        return Verification(path, len(manifest["files"]), {}, tuple(problems))

    monkeypatch.setattr("fairstats.publishing.verify._verified", hashed)
