"""The recipe for a page works: it is published and in the navigation."""

from __future__ import annotations

from fairstats.answers.files import write_answers


def test_recipe_gives_a_page(follow, tmp_path, demo, all_right):
    run = follow("A page")
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
