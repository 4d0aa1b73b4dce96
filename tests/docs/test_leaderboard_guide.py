"""The guide to a leaderboard, without the tables that it does not read."""

from __future__ import annotations

import pytest

from tests.docs.guide_runs import GUIDES, run


@pytest.mark.usefixtures("few_tables", "without_pages")
def test_leaderboard_is_published_and_read(tmp_path, monkeypatch):
    shown, names = run(GUIDES / "leaderboard.md", tmp_path, monkeypatch)
    lines = shown[0].splitlines()
    assert sum(line.endswith(".parquet") for line in lines) == 12
    assert sum("answers, 0 refused" in line for line in lines) == 12
    assert shown[1] == "no problems found\n"
    assert "cases: 12 models" in shown[2]
    assert shown[3].to_dict() == {"inconclusive": 6, "equivalent": 4, "disparity": 2}
    ranks = names["ranks"]
    assert ranks.index[ranks["rank_low"] > 1].tolist() == ["Rowan"]
    assert "site: verified" in shown[-1]
