"""Ranks on the pages: ranges, possible best models, and models without a rank."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest

from fairstats._lib.formatting import escape_markdown, level, percent
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import KINDS, Words
from fairstats.publishing.feed import badge
from fairstats.publishing.json_api import leaderboard_document
from fairstats.release.contents import Release
from fairstats.report.about.data import benchmark_card
from fairstats.report.audit.sentences import limitations
from fairstats.report.board.figures import BoardFigures, asked_items
from fairstats.report.board.page import _key, show_leaderboard, why_unranked
from fairstats.report.board.tables import difference_matrix, matrix_caption, overview_table
from fairstats.report.board.terms import terms
from fairstats.report.findings import findings
from fairstats.report.page_output import drawing
from fairstats.report.words import counted_items

from .reading import shown
from .undrawn import undrawn

OTHER = {"A": "B", "B": "C", "C": "A"}
HOSTILE = "<b>x</b>"


@pytest.fixture(scope="module")
def benchmark(one_pair) -> Benchmark:
    return one_pair(60)


@pytest.fixture(scope="module")
def published(benchmark, all_right, tmp_path_factory):
    """Publish models with this many wrong items for one group, or for all."""

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
    rows = rows_of(overview_table(BoardFigures(board, ranked), name="board").as_raw_html())
    assert [row[1] for row in rows] == ["1–2", "1–2", "3", "–"]
    # It is also flagged by screening.
    assert rows[-1][0].endswith("† ‡")
    (reason,) = why_unranked(board)
    assert reason.startswith("† “guesses” is not ranked: accuracy")


def test_paper_has_the_first_and_the_last_models_of_a_long_board(ranked, monkeypatch):
    monkeypatch.setattr("fairstats.report.board.figures.MOST_SHOWN", 3)
    monkeypatch.setattr("fairstats.report.board.figures.ENDS", 1)
    figures = BoardFigures(ranked.boards[0], ranked)
    everyone = [own.model for own in figures.sets]
    assert everyone[2:] == ["unfair", "guesses"]
    found = {}
    for format in ("html", "typst"):
        with drawing(ranked.path, format):
            table = overview_table(figures, name="board").as_raw_html()
            text = shown(show_leaderboard, ranked)
        found[format] = [len(rows_of(table)), "The site has all 4" in text, "Discordant" in text]
    # On paper, the tables of single attributes are left out.
    assert found == {"html": [3, False, True], "typst": [2, True, False]}


def sure(release: Release) -> list[tuple[str, str]]:
    (board,) = release.boards
    return findings(board, release).sure


def test_models_that_may_be_the_best_are_named(ranked):
    (text,) = [text for degree, text in sure(ranked) if "best" in text and degree == "Not sure"]
    assert "“<b>x</b>” or “fair”" in text or "“fair” or “<b>x</b>”" in text


def test_one_best_model_is_named_as_sure(published):
    (degree, text) = sure(published({"fair": 0, "unfair": 30}))[-1]
    assert degree == "Sure"
    assert re.findall("“fair” has the smallest|“unfair” the largest|missing", text) == [
        "“fair” has the smallest",
        "“unfair” the largest",
    ]


def refusing(benchmark, all_right, folder, models: tuple[str, ...]) -> Release:
    """Publish models that refuse, for each group, some of the items that they know."""
    right = all_right(benchmark)
    tables = []
    for number, model in enumerate(models, start=1):
        gone = right["item_id"].isin([f"i{n:02}" for n in range(number)])
        gone &= right["group"].eq("black")
        answer, status = right["answer"].mask(gone), right["status"].mask(gone, "refused")
        tables.append(right.assign(model=model, answer=answer, status=status))
    wrong = right["item_id"].lt("i30") & right["group"].eq("black")
    answer = right["answer"].mask(wrong, right["answer_key"].map(OTHER))
    tables.append(right.assign(model="unfair", answer=answer))
    return undrawn(pd.concat(tables), folder, benchmarks=[benchmark])


def test_possible_effect_of_missing_answers_is_stated(benchmark, all_right, tmp_path):
    made = refusing(benchmark, all_right, tmp_path, ("one",))
    (board,) = made.boards
    least = board.ranked.set_index("model").loc["one", "least_favourable"]
    assert least > 0
    (text,) = [text for _, text in sure(made) if text.startswith("“one” has the smallest")]
    assert re.findall(r"\d+\.\d", text) == ["0.0", f"{100 * least:.1f}"]
    assert text.endswith(" against it.")


def test_largest_hidden_gap_of_several_best_models_is_stated(benchmark, all_right, tmp_path):
    made = refusing(benchmark, all_right, tmp_path, ("one", "two"))
    (board,) = made.boards
    best = board.ranked[board.ranked["may_be_best"].astype(bool)]
    assert set(best["model"]) == {"one", "two"}
    most = f"up to {100 * best['least_favourable'].max():.1f} "
    assert any(most in text and " against them." in text for _, text in sure(made))


def test_card_states_family_and_ranking_limits(benchmark):
    declared = replace(benchmark, family="model", largest_missing=0.4, common_items=0.3)
    text = benchmark_card(declared, 3).replace("\\", "")
    assert "**Tests adjusted together**: the pairs" in text
    assert f"at most {percent(0.4)}" in text
    guess = percent(benchmark.chance)
    assert benchmark.hash in benchmark_card(benchmark, 3)
    assert declared.hash in text
    assert f"must share**: {percent(0.3)}" in text
    higher = benchmark_card(replace(benchmark, lowest_accuracy=0.9), 3).replace("\\", "")
    assert f"{percent(0.9)} (declared; the best guess" in higher
    assert f"above {guess} (the best guess)" in benchmark_card(benchmark, 3).replace("\\", "")


def test_words_of_a_benchmark_are_text_in_its_card(benchmark):
    # Raw typst would run in the PDF, and raw HTML in the page.
    raw = '`#panic("x")`{=typst} `<script>alert(1)</script>`{=html}'
    words = Words(**dict.fromkeys(("item", "items", "cluster", "clusters", "source"), raw))
    for kind in KINDS.values():
        card = benchmark_card(replace(benchmark, words=words, kind=kind, cluster="patient"), 3)
        assert escape_markdown(raw) in card
        assert raw not in card


def test_clusters_are_named_and_counted_wherever_items_are(ranked, benchmark):
    wards = {item: f"w{place % 12}" for place, item in enumerate(benchmark.items)}
    named = Words(cluster="ward", clusters="wards")
    declared = replace(benchmark, cluster="ward", clusters=wards, words=named)
    assert "independent units: 12 wards" in benchmark_card(declared, 3).replace("\\", "")
    unnamed = replace(declared, words=Words())
    assert "independent units: 12 clusters (ward)" in benchmark_card(unnamed, 3).replace("\\", "")

    def asked(benchmark: Benchmark, items: int) -> str:
        estimates = pd.DataFrame({"metric": ["accuracy_difference"], "n_units": [9]})
        board = SimpleNamespace(benchmark=benchmark, models=["m"], estimates=estimates)
        release = SimpleNamespace(answers_of=lambda *_: [{"set_items": items}])
        return counted_items(benchmark, *asked_items(board, release))

    # All 60 items are of 12 wards, although the model was asked items of 9 only.
    assert asked(declared, 40) == asked(declared, 60) == "60 vignettes of 12 wards"
    stated = replace(declared, clusters={})
    assert asked(stated, 60) == "60 vignettes of 9 wards"
    assert asked(stated, 40) == "60 vignettes"
    assert asked(replace(stated, words=Words()), 60) == "60 vignettes of 9 clusters (ward)"

    other = Release(ranked.path)
    vars(other)["benchmarks"] = {"three": declared}
    vars(other)["estimates"] = ranked.estimates.assign(n_units=12)
    with drawing(ranked.path, "html"):
        assert " · 60 vignettes of 12 wards · " in shown(show_leaderboard, other)


def test_reading_notes_claim_no_limit_that_is_not_declared(ranked, benchmark):
    def notes(**declared: float) -> str:
        other = Release(ranked.path)
        vars(other)["benchmarks"] = {"three": replace(benchmark, **declared)}
        return terms(other)["Rank"]

    assert f"if more than {percent(0.05)}" in notes()
    assert f"if more than {percent(0.4)}" in notes(largest_missing=0.4)
    assert "more than" not in notes(largest_missing=1.0)
    assert f"not above {percent(0.9)} (declared;" in notes(lowest_accuracy=0.9)


def test_unusual_thresholds_are_shown_next_to_the_ranks(ranked, benchmark):
    (board,) = ranked.boards
    lax = replace(benchmark, largest_missing=0.4)
    shown = BoardFigures(replace(board, benchmark=lax), ranked)
    assert "up to 40.0% of the answers to a pair may be missing" in _key(shown, ranked)
    usual = _key(BoardFigures(board, ranked), ranked)
    assert f"declaration {benchmark.hash}, equivalence margin ±10 points." in usual


def test_only_model_has_a_reason_instead_of_a_rank(published):
    made = published({"one": 2}, guessing=("guesses",))
    (board,) = made.boards
    assert (board.ranked.empty, board.could_be_ranked) == (True, ["one"])
    assert board.ordered == ["one", "guesses"]
    guesses, alone = why_unranked(board)
    assert alone == "† “one” is not ranked: no other model on this board can be ranked."
    assert "accuracy" in guesses
    # The page is still about this model, and its badge about its verdicts.
    assert findings(board, made).models == ["one"]
    assert "not ranked" not in badge(made, "one")["message"]
    assert "not ranked" in badge(made, "guesses")["message"]


def test_level_is_never_rounded_to_certainty():
    for alpha in (1e-7, 1e-12, 1e-300):
        assert not level(alpha).startswith("100")


def test_summary_of_models_that_do_not_differ_names_no_leader(published):
    made = published({"one": 2, "two": 3})
    (board,) = made.boards
    assert len(board.ranked) == 2
    assert any("every ranked model" in text for degree, text in sure(made) if degree == "Not sure")


def test_board_without_a_ranked_model_gives_the_reasons(unranked):
    (board,) = unranked.boards
    assert board.ranked.empty
    assert board.ordered == ["guesses", "guesses too"]
    rows = rows_of(overview_table(BoardFigures(board, unranked), name="board").as_raw_html())
    assert [row[1] for row in rows] == ["–", "–"]
    assert all("is not ranked: accuracy" in reason for reason in why_unranked(board))
    assert findings(board, unranked).headline.startswith("No model can be ranked")
    (found,) = leaderboard_document(unranked)["boards"]
    for row in found["rows"]:
        assert row["rank"]["rank"] is None
        assert "not above the best guess" in row["rank"]["method_note"]


def test_reason_is_on_the_badge_and_in_the_audit_report(ranked):
    assert "; not ranked" in badge(ranked, "guesses")["message"]
    assert "not ranked" not in badge(ranked, "fair")["message"]
    assert "“guesses” has no rank (accuracy" in "\n".join(limitations(ranked, "guesses"))
    assert "no rank" not in "\n".join(limitations(ranked, "fair"))
