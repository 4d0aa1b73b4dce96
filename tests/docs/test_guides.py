"""The code of the guides runs as written, and what they say about its results is true."""

from __future__ import annotations

import math
import re
import runpy

import guide_cells
import pytest

from fairstats import analyze, load_benchmark, read_answers
from tests.docs.guide_runs import DOCS, GUIDES, prose, run


def test_start_page_counts_the_verdicts(tmp_path, monkeypatch):
    shown, _ = run(DOCS / "index.md", tmp_path, monkeypatch)
    verdicts = shown[-1]["verdict"].value_counts().to_dict()
    assert verdicts == {"inconclusive": 6, "equivalent": 4, "disparity": 2}
    assert "Four models are equivalent, and two have a disparity. For the other six" in prose(
        "index.md"
    )
    assert shown[0].p_value < 0.001


@pytest.fixture(scope="module")
def reanalysis(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        yield run(GUIDES / "reanalysis.md", tmp_path_factory.mktemp("reanalysis"), patch)


def test_reanalysis_takes_fewer_than_twenty_lines():
    code = [
        line
        for _, cell in guide_cells.cells((GUIDES / "reanalysis.md").read_text(encoding="utf-8"))
        for line in cell.splitlines()
        if line.strip() and not line.startswith(("import ", "from "))
    ]
    assert len(code) < 20


def test_reanalysis_names_the_models_of_each_verdict(reanalysis):
    _, names = reanalysis
    found = {verdict: ", ".join(rows.index) for verdict, rows in names["table"].groupby("verdict")}
    text = prose("guides/reanalysis.md")
    assert found["equivalent"] == "Alder, Ash, Beech, Larch"
    assert "margin of 5 points**: Alder, Ash, Beech and Larch." in text
    assert found["disparity"] == "Oak, Rowan"
    columns = ["difference", "difference_low", "difference_high"]
    oak, rowan = (100 * names["table"].loc[["Oak", "Rowan"], columns]).to_numpy()
    assert "Oak ({:.1f} points, 95% interval {:.1f} to {:.1f})".format(*oak) in text
    assert "Rowan ({:.1f} points, {:.1f} to {:.1f})".format(*rowan) in text


def test_reanalysis_rechecks_the_figures_of_the_table(reanalysis):
    shown, names = reanalysis
    assert shown[0] == []
    counts = shown[2].iloc[:, 0]
    assert counts["n11":"n00_different"].tolist() == [116, 30, 9, 37, 8]
    difference, p = shown[3]
    assert difference == pytest.approx(names["table"].loc["Oak", "difference"])
    assert p == pytest.approx(names["table"].loc["Oak", "p_value"])
    assert 11 * p == pytest.approx(names["table"].loc["Oak", "p_adjusted"])
    assert round(p, 5) == 0.00068


def test_reanalysis_states_the_smallest_margins(reanalysis):
    shown, names = reanalysis
    margins = shown[5]
    text = prose("guides/reanalysis.md")
    assert list(margins)[:4] == ["Ash", "Larch", "Beech", "Alder"]
    # At the margin itself, the claim does not hold.
    up = {model: math.ceil(10 * margin) / 10 for model, margin in margins.items()}
    assert [up[m] for m in ("Ash", "Beech", "Larch", "Alder")] == [2.7, 3.4, 3.4, 3.8]
    assert "Ash from 2.7 points, Beech and Larch from 3.4, Alder from 3.8." in text
    assert min(margins.values()) > 2
    table = names["margins"]
    inside = table[table[["ci_low", "ci_high"]].abs().max(axis=1) < 0.05]
    assert set(shown[6]) == set(inside.index[inside["smallest_margin"] > 0.05])
    assert all("missing answers could change the verdict" in why for why in shown[6].values())
    assert shown[-1] == ["Ash"]


def test_reanalysis_states_the_truth_of_the_simulation():
    models = runpy.run_path(str(GUIDES / "make_answers.py"))["MODELS"]
    gaps = {name: round(100 * (a - b), 1) for name, (_, a, b, *_) in models.items()}
    small = [name for name, gap in gaps.items() if abs(gap) <= 1]
    large = {name: gap for name, gap in gaps.items() if abs(gap) > 1}
    assert ", ".join(small) == "Alder, Ash, Beech, Cedar, Elm, Fir, Pine"
    assert large == {"Hazel": 3.5, "Larch": 4, "Maple": 8, "Oak": 12, "Rowan": 18.5}
    assert "are 3.5, 4, 8, 12 and 18.5 points" in prose("guides/reanalysis.md")


def test_answers_of_the_guides_are_those_of_their_script(tmp_path):
    namespace = runpy.run_path(str(GUIDES / "make_answers.py"))
    namespace["main"].__globals__["FOLDER"] = tmp_path
    for write in ("main", "decisions", "referrals", "levels", "scores"):
        namespace[write]()
    for name in sorted(path.name for path in tmp_path.iterdir()):
        assert (tmp_path / name).read_bytes() == (GUIDES / name).read_bytes()
    assert len(list(tmp_path.iterdir())) == 7


@pytest.mark.usefixtures("without_pages")
def test_audit_is_published_reported_and_verified(tmp_path, monkeypatch):
    shown, _ = run(GUIDES / "audit.md", tmp_path, monkeypatch)
    assert shown[0] == (0.05, (("male", "female"),))
    assert round(shown[1], 2) == 0.06
    assert "fail: “Oak”" in shown[3]
    assert (tmp_path / "oak.pdf").read_bytes().startswith(b"%PDF")
    last = re.findall(r"(?m)^.*\S.*$", shown[-1])[-1]
    assert re.search(r"sha256 [0-9a-f]{64}", last)


@pytest.mark.usefixtures("without_pages")
def test_own_data_of_each_kind_are_imported_judged_and_published(tmp_path, monkeypatch):
    shown, names = run(GUIDES / "own-data.md", tmp_path, monkeypatch)
    text = prose("guides/own-data.md")
    judged = {}
    for kind in ("decisions", "levels", "scores"):
        benchmark = load_benchmark(GUIDES / f"{kind}.toml")
        table = analyze(read_answers(tmp_path / "answers" / kind), benchmarks=[benchmark])
        own = table[(table["metric"] == benchmark.kind.difference) & table["verdict"].notna()]
        judged[kind] = own.set_index("model")
    verdicts = {kind: own["verdict"].to_dict() for kind, own in judged.items()}
    assert verdicts == {
        "decisions": {"Alder": "equivalent", "Pine": "disparity", "Rowan": "inconclusive"},
        "levels": {"Alder": "equivalent", "Elm": "disparity", "Fir": "inconclusive"},
        "scores": {"Alder": "equivalent", "Oak": "disparity"},
    }
    elm, oak = judged["levels"].loc["Elm"], judged["scores"].loc["Oak"]
    assert (elm["n10"], elm["n01"], elm["n"], elm["n_units"]) == (0, 30, 90, 30)
    assert "in 30 of 90 stays, and never a lower one" in text
    assert f"Oak scores Black patients {oak['estimate']:.2f} points lower." in text
    beyond = names["beyond"]
    assert beyond.loc["Pine", "p_value"] < 0.001 < 0.1 < beyond.loc["Alder", "p_value"]
    assert "2 unparsed" in shown[3]
    assert "win-win" in shown[-1]
