"""The guide from a spreadsheet to a signed board, without the tables that it does not read."""

from __future__ import annotations

import pytest

from fairstats.benchmarks.authoring_summary import open_decisions
from fairstats.benchmarks.loading import load_benchmark
from tests.docs.guide_runs import GUIDES, prose, run


@pytest.mark.usefixtures("few_tables", "without_pages")
def test_spreadsheet_becomes_signed_board(tmp_path, monkeypatch):
    shown, names = run(GUIDES / "spreadsheet.md", tmp_path, monkeypatch)
    # The page shows the command that `init` printed, with other files.
    printed = "import table referrals.csv --benchmark referrals.toml --map item_id=case_id --wide"
    assert printed in shown[0]
    assert "“Dogwood”, “plain”: 713 answers, 7 refused, 0 unparsed" in shown[1]
    assert "referrals: 4 models" in shown[2]
    gaps = names["gaps"]
    found = gaps.loc[("Birch", "race", "black")]
    assert found["verdict"] == "disparity"
    assert f"by {100 * found['estimate']:.1f} percentage points" in prose("guides/spreadsheet.md")
    others = gaps[gaps.index.get_level_values("attribute") == "race"].drop(found.name)
    assert set(others["verdict"]) == {"equivalent"}
    assert "site: verified" in shown[-1]
    assert "site: signed by key" in shown[-1]


def test_decided_file_is_proposed_file_with_decisions(tmp_path, monkeypatch):
    run_only_first = (GUIDES / "spreadsheet.md").read_text(encoding="utf-8").split("## Import")[0]
    page = tmp_path / "page.md"
    page.write_text(run_only_first, encoding="utf-8")
    run(page, tmp_path, monkeypatch)
    proposed, decided = (load_benchmark(tmp_path / f"{n}.toml") for n in ("referrals", "decided"))
    assert open_decisions(proposed) > 0 == open_decisions(decided)
    assert proposed.items == decided.items
    assert proposed.variants == decided.variants
