"""Fixtures of the tests of publishing."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture
def drawn_text(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return the text that a function shows on a page, without Markdown's escapes."""

    def text(show: Callable[..., None], *arguments: object) -> str:
        parts: list[str] = []
        monkeypatch.setattr("IPython.display.display", lambda what: parts.append(what.data))
        show(*arguments)
        return "\n".join(parts).replace("\\", "")

    return text
