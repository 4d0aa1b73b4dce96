"""Ranks on the pages: ranges, the models that may be the best, and those without a rank."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from fairstats.benchmarks import Benchmark, load_benchmark
from fairstats.report.api import leaderboard_document
from fairstats.report.audit_prose import limitations
from fairstats.report.badges import badge
from fairstats.report.board import leaderboard
from fairstats.report.context import Release
from fairstats.report.prose import board_summary, how_to_read
from fairstats.report.rank_table import difference_matrix, matrix_caption

from .undrawn import undrawn

OTHER = {"A": "B", "B": "C", "C": "A"}
HOSTILE = "<b>x</b>"


@pytest.fixture(scope="module")
def benchmark(benchmark_file) -> Benchmark:
    keys = "item_id,answer_key\n" + "".join(f"i{n:02},{'ABC'[n % 3]}\n" for n in range(60))
    race = (
        '[attributes.race]\nlabel = "Race"\n'
        'groups = { white = "White", black = "Black" }\npairs = [["white", "black"]]'
    )
    return load_benchmark(benchmark_file(keys=keys, race=race))


@pytest.fixture(scope="module")
def published(benchmark, all_right, tmp_path_factory):
    """Publish models that answer so many of the items wrong for one group, or for all."""

    def publish(unfair: dict[str, int], guessing: tuple[str, ...] = ()) -> Release:
        right = all_right(benchmark)
        wrong = right["answer_key"].map(OTHER)
        tables = []
        for model, number in unfair.items():
            items = right["item_id"].isin([f"i{n:02}" for n in range(number)])
            answer = right["answer"].mask(items & right["group"].eq("black"), wrong)
            tables.append(right.assign(model=model, answer=answer))
        tables += [right.assign(model=model, answer="A") for model in guessing]
        folder = tmp_path_factory.mktemp("ranks")
        return undrawn(pd.concat(tables), folder, benchmarks=[benchmark])

    return publish


@pytest.fixture(scope="module")
def ranked(published) -> Release:
    return published({"fair": 0, HOSTILE: 2, "unfair": 30}, ("guesses",))


@pytest.fixture(scope="module")
def unranked(published) -> Release:
    return published({}, ("guesses", "guesses too"))


def rows_of(markup: str) -> list[list[str]]:
    """The text of each cell of a table's body."""
    body = markup[markup.index("<tbody") :]
    rows = re.findall(r"<tr.*?</tr>", body, flags=re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.DOTALL) for row in rows]
    return [[re.sub(r"<[^>]*>", " ", cell).strip() for cell in row] for row in cells]


def test_matrix_has_a_mark_and_a_p_value_for_every_pair(ranked):
    (board,) = ranked.boards
    markup = difference_matrix(board, name="differences").as_raw_html()
    first, second, third = rows_of(markup)
    assert first[1:] == ["", ""]
    assert second[1].split()[0] == "n.s."
    assert second[2] == ""
    assert [cell.split()[0] for cell in third[1:]] == ["≠", "≠"]
    p_values = [float(cell.split()[-1]) for cell in (second[1], third[2]) if "&lt;" not in cell]
    known = [f"{p:.3f}" for p in ranked.rank_differences["p_adjusted"]]
    assert all(f"{p:.3f}" in known for p in p_values)
    assert "&lt;b&gt;x" in markup
    assert HOSTILE not in markup
    assert "at most 0.05" in matrix_caption(ranked)


def test_board_shows_the_range_of_ranks(ranked):
    (board,) = ranked.boards
    rows = rows_of(leaderboard(board, ranked, name="board").as_raw_html())
    assert [row[1].split()[-1] for row in rows] == ["1–2", "1–2", "3", "–"]
    assert "not ranked: accuracy" in rows[-1][0]


def test_summary_begins_with_the_models_that_may_be_the_best(ranked):
    (board,) = ranked.boards
    text = board_summary(board, ranked).replace("\\", "")
    assert text.startswith("<b>x</b> and fair may have") or text.startswith("fair and <b>x</b> may")
    assert "One model is not ranked." in text


def test_summary_names_the_one_best_model(published):
    made = published({"fair": 0, "unfair": 30})
    (board,) = made.boards
    assert board_summary(board, made).startswith("fair has the smallest differences")


def test_summary_of_models_that_do_not_differ_names_no_leader(published):
    made = published({"one": 2, "two": 3})
    (board,) = made.boards
    assert "Any of the two ranked models may be the best" in board_summary(board, made)


def test_board_without_a_ranked_model_gives_the_reasons(unranked):
    (board,) = unranked.boards
    assert board.ranked.empty
    assert board.ordered == ["guesses", "guesses too"]
    rows = rows_of(leaderboard(board, unranked, name="board").as_raw_html())
    assert [row[1] for row in rows] == ["–", "–"]
    assert all("not ranked: accuracy" in row[0] for row in rows)
    assert board_summary(board, unranked).startswith("No model is ranked")
    (found,) = leaderboard_document(unranked)["boards"]
    for row in found["rows"]:
        assert row["rank"]["rank"] is None
        assert "not above the best guess" in row["rank"]["method_note"]


def test_reason_is_on_the_badge_and_in_the_audit_report(ranked):
    assert badge(ranked, "guesses")["message"].endswith("not ranked")
    assert "not ranked" not in badge(ranked, "fair")["message"]
    assert "guesses has no rank (accuracy" in "\n".join(limitations(ranked, "guesses"))
    assert "no rank" not in "\n".join(limitations(ranked, "fair"))


def test_reading_notes_explain_ranks(ranked):
    assert "A missing answer counts against the model" in how_to_read(ranked)
