"""A real browser for tests of pages, and what axe finds on a page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

#: The same engine without windows starts faster and takes half of the time.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
_QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
#: Options to start it with.
OPTIONS: dict[str, Any] = {"executable_path": CHROMIUM, "args": _QUIET}
#: The rules of WCAG 2.2, levels A and AA, and axe's best practices.
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    """Return Playwright; its event loop would disturb the tests of other modules."""
    if CHROMIUM is None:
        pytest.skip("no chromium on the path")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    with playwright.sync_playwright() as started:
        yield started


@pytest.fixture(scope="module")
def browser(driver: Any) -> Iterator[Any]:
    started = driver.chromium.launch(**OPTIONS)
    yield started
    started.close()


def violations(tab: Any) -> list[tuple[str, list[Any]]]:
    """Return the rules of axe that a page breaks, each with the first parts that break it.

    The page's context needs ``bypass_csp=True``: its policy allows no other script.
    """
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe checks what readers need")
    if not tab.evaluate("'axe' in window"):
        tab.add_script_tag(path=str(axe.AXE_FILE_PATH))
    # Details of what is right take half of the time.
    found = tab.evaluate(
        """rules => axe.run({
          runOnly: {type: "tag", values: rules}, resultTypes: ["violations"],
        })""",
        _RULES,
    )
    assert len(found["passes"]) > 10
    return [
        (one["id"], [node["target"] for node in one["nodes"]][:5]) for one in found["violations"]
    ]
