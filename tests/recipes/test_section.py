"""The recipe for a section works: it is on a model's page and in its audit report."""

from __future__ import annotations

from fairstats.answers.files import write_answers


def test_recipe_gives_a_section(follow, tmp_path, demo, all_right):
    run = follow("A section")
    answers = write_answers(all_right(demo), tmp_path / "answers" / "a.parquet")
    site = tmp_path / "site"
    run(
        *("publish", "--answers", answers, "--release", "1"),
        *("--out", site, "--renderer", "builtin"),
    )
    report = tmp_path / "report.html"
    run("report", "model", "--release", site / "v" / "1", "--to", "html", "--out", report)
    page = (site / "v" / "1" / "reports" / "models" / "model.html").read_text(encoding="utf-8")
    audit = report.read_text(encoding="utf-8")
    for text in (page, audit):
        assert "How often is the answer the same?" in text
        assert "100.0%" in text
        assert "This is the lowest share, for Race: White − Black." in text
    # It is between its neighbours.
    assert audit.index("Could the accuracy gap be chance?") < audit.index(
        "How often is the answer the same?"
    )
    assert audit.index("How often is the answer the same?") < audit.index("big enough to matter?")
