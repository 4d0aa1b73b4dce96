"""The recipes for a page and a section work: pages and an audit report show them."""

from __future__ import annotations

from fairstats.answers.files import write_answers


def test_recipes_give_a_page_and_a_section(follow, tmp_path, demo, all_right):
    run = follow("A page", "A section")
    answers = write_answers(all_right(demo), tmp_path / "answers" / "a.parquet")
    run(
        *("publish", "--answers", answers, "--release", "1"),
        *("--out", tmp_path / "site", "--renderer", "builtin"),
    )
    release = tmp_path / "site" / "v" / "1"
    index = (release / "index.html").read_text(encoding="utf-8")
    navigation = index.partition("<nav")[2].partition("</nav>")[0]
    assert '<a href="./reports/toy.html">Toy</a>' in navigation
    page = (release / "reports" / "toy.html").read_text(encoding="utf-8")
    assert "<span>CFR by model</span>" in page
    assert page.count(">100.0") >= 3

    report = tmp_path / "report.html"
    run("report", "model", "--release", release, "--to", "html", "--out", report)
    model = (release / "reports" / "models" / "model.html").read_text(encoding="utf-8")
    audit = report.read_text(encoding="utf-8")
    for text in (model, audit):
        assert "How often is the answer the same?" in text
        assert "100.0%" in text
        assert "This is the lowest share, for Race: White − Black." in text
    # It is between its neighbours.
    assert audit.index("Could the accuracy gap be chance?") < audit.index(
        "How often is the answer the same?"
    )
    assert audit.index("How often is the answer the same?") < audit.index("big enough to matter?")
