"""The gallery of plots: its code runs, and shows every public plot."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import fairstats

DOCS = Path(__file__).parents[1] / "docs"
PLOTS = {name for name in fairstats.__all__ if name.startswith("plot_")}
LARGEST = 120_000


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("gallery", DOCS / "build_gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_plot_has_an_example_with_a_picture(gallery):
    pictures = {picture: code for code, picture in gallery.examples()}
    assert {Path(picture).stem for picture in pictures} == PLOTS
    for picture, code in pictures.items():
        assert f"fairstats.{Path(picture).stem}(" in code
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert text.count("```python") == len(pictures) == len(PLOTS)
    assert set(re.findall(r"## .*`(\w+)`", text)) == PLOTS


def test_pictures_are_small_and_none_is_left_over(gallery):
    pictures = {DOCS / picture for _, picture in gallery.examples()}
    assert pictures == set((DOCS / "gallery").iterdir())
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size <= LARGEST


def test_code_of_page_draws_each_plot(gallery, monkeypatch):
    # A few models are enough to run the code, and quicker.
    answers = fairstats.example_answers()
    few = answers[answers["model"].str.startswith("Gemini")]
    monkeypatch.setattr(fairstats, "example_answers", lambda: few)
    names = {"fairstats": fairstats}
    for code, _ in gallery.examples():
        assert type(gallery.drawn(code, names)).__name__ == "ggplot"
