"""Notes: a project's own comes first, every one is shown, and what they name is replaced."""

from __future__ import annotations

import re
from pathlib import Path

from fairstats.report.page_output import prose

ROOT = Path(__file__).parents[2]
NOTES = sorted((ROOT / "reports" / "_notes").glob("*.md"))


def test_an_edited_note_of_the_project_is_shown(tmp_path, monkeypatch):
    notes = tmp_path / "reports" / "_notes"
    notes.mkdir(parents=True)
    (tmp_path / "_quarto.yml").touch()
    (notes / "retrieval-effects.md").write_text("Edited {{by}} a publisher.\n")
    monkeypatch.chdir(notes.parent)
    assert prose("retrieval-effects", by="by") == "Edited by a publisher."
    assert "majority" in prose("retrieval-figures")


def test_every_note_is_shown_with_its_words():
    code = "".join(path.read_text() for path in (ROOT / "fairstats" / "report").rglob("*.py"))
    named = set(re.findall(r"""prose\(\s*["']([\w-]+)["']""", code))
    # Some names begin in the same way, and end with a kind of answers.
    begun = tuple(re.findall(r"""prose\(\s*f["']([\w-]+-)\{""", code))
    notes = {note.stem for note in NOTES}
    assert named <= notes
    assert not [name for name in notes - named if not name.startswith(begun)]
    for note in NOTES:
        for word in re.findall(r"\{\{(\w+)\}\}", note.read_text(encoding="utf-8")):
            assert re.search(rf"\b{word}=|\"{word}\":", code), (note.name, word)
