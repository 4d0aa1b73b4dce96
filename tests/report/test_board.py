"""The board's charts: their axes, the reasons in their rows, and the sentences around them."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pandas as pd
import pytest

from fairstats.release.contents import Release
from fairstats.report.board.charts import counted_verdicts, measures_of
from fairstats.report.board.figures import BoardFigures
from fairstats.report.board.page import show_leaderboard
from fairstats.report.charts.rows import chart_html

from .undrawn import undrawn

OTHER = {"A": "B", "B": "C", "C": "A"}


@pytest.fixture(scope="module")
def release(one_pair, all_right, tmp_path_factory) -> Release:
    """Four models with 60 items, of which one guesses, and one with answers to two items."""
    benchmark = one_pair(60)
    right = all_right(benchmark)
    wrong, black = right["answer_key"].map(OTHER), right["group"].eq("black")
    tables = [right.assign(model="guesses", answer="A")]
    for model, number in {"fair": 1, "middle": 6, "unfair": 30}.items():
        items = right["item_id"].isin([f"i{n:02}" for n in range(number)])
        tables.append(right.assign(model=model, answer=right["answer"].mask(items & black, wrong)))
    few = right["item_id"].le("i01")
    answered = right["answer"].mask(black, wrong).where(few)
    status = right["status"].where(few, "refused")
    tables.append(right.assign(model="few", answer=answered, status=status))
    folder = tmp_path_factory.mktemp("board")
    return undrawn(pd.concat(tables), folder, benchmarks=[benchmark])


@pytest.fixture
def figures(release) -> BoardFigures:
    (board,) = release.boards
    return BoardFigures(board, release)


def chart_of(figures: BoardFigures, key: str):
    measure = measures_of(figures)[key]
    return measure.draw(figures, measure, key)


@pytest.mark.parametrize("key", ["gap", "cfr"])
def test_model_with_few_answers_does_not_stretch_the_axis(key, figures):
    chart = chart_of(figures, key)
    (few,) = [row for row in chart.rows if row.label.startswith("few")]
    others = [row for row in chart.rows if row is not few]
    assert 'class="beyond"' in few.cells[0].marks
    assert not any('class="beyond"' in row.cells[0].marks for row in others)
    # Its figures are text.
    assert re.search(r"\d.* \(", few.cells[0].words)
    assert few.texts[-1] in re.sub(r" points|%", "", few.cells[0].words)
    (axis,) = chart.axes
    assert axis.limits[1] - axis.limits[0] < 100


def test_row_without_a_rank_has_the_reason(figures):
    rows = {row.label.split()[0]: row for row in chart_of(figures, "gap").rows}
    for model, row in rows.items():
        assert (row.texts[0] == "–") == bool(row.reason), model
    assert rows["few"].reason == "not ranked: more than 5.0% of the answers are missing"
    assert "accuracy" in rows["guesses"].reason
    assert not re.search(r"[(;:]", rows["guesses"].reason.partition(": ")[2])
    markup = chart_html(chart_of(figures, "gap"))
    assert f'<small class="reason">{rows["few"].reason}</small></span></th>' in markup


def test_verdicts_are_counted_over_the_models_of_the_chart(figures):
    text = counted_verdicts(figures)
    assert len(figures.gaps) == len(chart_of(figures, "gap").rows)
    assert f"Of {len(figures.gaps)} gaps" in text
    assert sum(map(int, re.findall(r"(\d+) (?:disp|equi|inco|not)", text))) == len(figures.gaps)


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        (["disparity", "equivalent", "equivalent"], "Of 3 gaps, 1 disparity, 2 equivalent."),
        (["disparity", "disparity", None], "Of 3 gaps, 2 disparities, 1 not judged."),
        (["inconclusive"], "The gap is inconclusive."),
        (["inconclusive"] * 2, "Both gaps are inconclusive."),
        ([None], ""),
    ],
)
def test_counts_agree_with_their_noun(verdicts, found, figures):
    vars(figures)["gaps"] = [SimpleNamespace(verdict=verdict) for verdict in verdicts]
    assert counted_verdicts(figures) == found


def test_large_board_lists_no_names(release, figures, drawn, monkeypatch):
    names = [f"m{number:03}" for number in range(200)]
    board = figures.board
    one = board.estimates[board.estimates["model"] == "few"]
    estimates = pd.concat(
        [board.estimates, *(one.assign(model=name) for name in names)], ignore_index=True
    )
    (rank,) = board.ranks[board.ranks["model"] == "few"].to_dict("records")
    ranks = pd.concat([board.ranks, pd.DataFrame([rank | {"model": name} for name in names])])
    large = type(board)(
        board.benchmark, board.version, board.strategy, estimates, ranks, board.differences
    )
    again = Release(release.path)
    vars(again)["boards"] = [large]
    vars(again)["slugs"] = {name: name for name in [*board.models, *names]}
    monkeypatch.setattr(Release, "answers_of", lambda *_: [])
    page = drawn(show_leaderboard, again)
    said = re.sub(r"<table.*?</table>", "", page, flags=re.DOTALL)
    # Each is in the rows of charts and tables only.
    assert not any(name in said for name in names)
    assert "201 models" in said
