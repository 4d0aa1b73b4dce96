"""The recipe for an importer works: the command line detects and runs it."""

from __future__ import annotations

import json

from fairstats.answers.files import read_answers


def test_recipe_gives_an_importer(follow, tmp_path):
    run = follow("An importer")
    assert "toy" in run("import", "--help")
    cases = (("white", "The answer is C."), ("black", "(a)"))
    lines = [
        json.dumps({"llm": "m", "case": {"id": "demo-01", "patient": group}, "reply": reply})
        for group, reply in cases
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    run("import", "toy", tmp_path / "a.jsonl", "--benchmark", "demo", "--out", tmp_path / "out")
    answers = read_answers(tmp_path / "out")
    assert dict(zip(answers["group"], answers["answer"], strict=True)) == {
        "white": "C",
        "black": "A",
    }
    assert set(answers["collector"]) == {"toy"}
