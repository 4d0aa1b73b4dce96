"""A plot is drawn again only when its data, its benchmark or the code changed."""

from __future__ import annotations

import pandas as pd
import pytest

from fairstats.report import drawing_cache
from fairstats.report.drawing_cache import CACHE_VARIABLE, drawn_once


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """Draw, and count the drawings."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    times = []

    def draw(*parts):
        def new():
            times.append(parts)
            return f"<svg>{len(times)}</svg>"

        return drawn_once(parts, new), len(times)

    return draw


def test_equal_parts_are_drawn_once(drawn):
    rows = pd.DataFrame({"x": [0.1, None]})
    assert drawn("forest", rows) == ("<svg>1</svg>", 1)
    assert drawn("forest", rows.copy()) == ("<svg>1</svg>", 1)


def test_different_parts_are_drawn_separately(drawn):
    rows = pd.DataFrame({"x": [0.1, None]})
    several = [
        ("forest", rows),
        ("bars", rows),
        ("forest", rows.assign(x=0.1)),
        ("forest", rows + 1e-16),
        ("forest", rows.rename(columns={"x": "y"})),
        ("for", "est", rows),
        ("forest",),
    ]
    assert [drawn(*parts)[1] for parts in several] == [1, 2, 3, 4, 5, 6, 7]
    assert [drawn(*parts)[1] for parts in several] == [7] * 7


def test_changed_code_draws_again(drawn, monkeypatch):
    assert drawn("forest")[1] == 1
    monkeypatch.setattr(drawing_cache, "_code", lambda: "another version")
    assert drawn("forest")[1] == 2


def test_without_a_folder_it_is_drawn_each_time(drawn, tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, "")
    assert [drawn("forest")[1], drawn("forest")[1]] == [1, 2]
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
    assert [drawn("forest")[1], drawn("forest")[1]] == [3, 4]
