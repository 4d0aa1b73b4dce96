"""Charts, tables and sentences on twelve groups, in more pairs than charts have rows."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairstats.benchmarks.loading import load_benchmark
from fairstats.counts.answer_tables import flips_of
from fairstats.estimates.analyze import analyze
from fairstats.release.contents import Board
from fairstats.report.answer_sets import AnswerSet
from fairstats.report.board.charts import measures_of
from fairstats.report.board.figures import BoardFigures
from fairstats.report.board.page import _show_tables, overview_table
from fairstats.report.changed_items import flip_table
from fairstats.report.changes.rows import Comparison
from fairstats.report.charts.rows import MOST_CHARTED
from fairstats.report.sections.chance import chart as discordant_chart
from fairstats.report.sections.chance import could_be_chance
from fairstats.report.sections.groups import chart as accuracy_chart
from fairstats.report.sections.groups import extremes
from fairstats.report.sections.size import chart as size_chart
from fairstats.report.words import p_cell

GROUPS = tuple(f"g{number:02}" for number in range(12))
PAIRS = [(GROUPS[0], other) for other in GROUPS[1:]] + [GROUPS[1:3], GROUPS[2:4]]
RANKS = ["model", "rank", "rank_low", "rank_high", "may_be_best", "method_note"]


@pytest.fixture(scope="module")
def own(benchmark_file, answers_of) -> AnswerSet:
    groups = ", ".join(f'{group} = "Group {group[1:]}"' for group in GROUPS)
    pairs = ", ".join(f'["{a}", "{b}"]' for a, b in PAIRS)
    keys = "item_id,answer_key\n" + "".join(f"item-{n},A\n" for n in range(30))
    race = f'[attributes.origin]\nlabel = "Origin"\ngroups = {{ {groups} }}\npairs = [{pairs}]'
    benchmark = load_benchmark(benchmark_file(keys=keys, race=race, baseline=""))
    rng = np.random.default_rng(1)
    texts = ["".join(rng.choice(list("AABC"), 12)) for _ in range(30)]
    answers = answers_of(
        texts, groups=GROUPS, attribute="origin", benchmark=benchmark.name, model="One"
    )
    estimates = analyze(answers, benchmarks=[benchmark])
    board = Board(benchmark, "1", "plain", estimates, pd.DataFrame(columns=RANKS), pd.DataFrame())
    release = SimpleNamespace(
        alpha=0.05,
        policies=["available"],
        slugs={"One": "one"},
        benchmarks={benchmark.name: benchmark},
        answers=answers,
        estimates=board.estimates,
        answers_of=lambda board, model: [],
        table=lambda name: pd.DataFrame(columns=["model"]),
    )
    return AnswerSet(release, board, "One")


@pytest.fixture
def figures(own, monkeypatch) -> BoardFigures:
    figures = BoardFigures(own.board, own.release)
    # The parts of a release that these charts do not depend on.
    vars(figures).update(flagged=frozenset(), chosen=frozenset())
    monkeypatch.setattr(BoardFigures, "published", lambda _: iter(()))
    return figures


@pytest.mark.parametrize("chart", ["gap", "cfr"])
def test_board_has_one_panel_for_all_pairs_of_an_attribute(chart, figures):
    measure = measures_of(figures)[chart]
    drawn = measure.draw(figures, measure, "c")
    assert [axis.label for axis in drawn.axes] == [
        "Signed mean" if chart == "gap" else "All pairs",
        "Origin",
    ]
    assert drawn.axes[1].note == "12 groups, 13 pairs"
    ((_, shared),) = [row.cells for row in drawn.rows]
    assert shared.marks.count("<circle") == 13
    assert shared.words.startswith("13 pairs, from ")


def test_overview_table_has_no_column_per_pair(figures):
    table = overview_table(figures, name="t")
    assert len([column for column in table._tbl_data if str(column).startswith("ad")]) == 1


def test_overview_table_has_the_mean_size_of_gaps_in_which_signs_do_not_cancel_out(figures):
    table = overview_table(figures, name="t")
    (row,) = table._tbl_data.to_dict("records")
    sizes = [abs(pair.gap.estimate) for pair in figures.sets[0].pairs]
    assert row["ad0"].strip() == f"{np.mean(sizes):.1f}"
    assert "Mean size" in table.as_raw_html()


def test_caption_names_no_interval_of_the_mean_size(figures, own, drawn):
    text = drawn(lambda release: _show_tables(figures, release, name="t"), own.release)
    assert "The mean size of AD, and CFR with its 95% interval." in text


def test_extreme_p_and_h_are_those_of_the_pairs_and_not_of_the_average(figures):
    (row,) = overview_table(figures, name="t")._tbl_data.to_dict("records")
    pairs = figures.sets[0].pairs
    assert row["p"] == p_cell(min(pair.value("mcnemar", "p_adjusted") for pair in pairs))
    h = [abs(pair.value("cohens_h")) for pair in pairs]
    assert row["h"] == f"{min(h):.2f}–{max(h):.2f}"


def test_model_charts_show_groups_and_the_largest_gaps(own):
    assert [row.label for row in accuracy_chart(own, "a").rows] == [
        f"Group {number:02}" for number in range(12)
    ]
    sizes = {pair: abs(pair.gap.estimate) for pair in own.pairs}
    assert min(sizes[p] for p in own.charted) >= sorted(sizes.values())[-MOST_CHARTED]
    for chart in (discordant_chart, size_chart):
        assert len(chart(own, "c").rows) == MOST_CHARTED
    assert all(row.label.startswith("Group") for row in discordant_chart(own, "d").rows)


def test_model_answers_count_groups_and_pairs(own):
    answer = extremes(own)
    assert answer.short.endswith("% of answers are right")
    assert answer.text.startswith("Lowest for Group ")
    assert len(could_be_chance(own).short) < 80


def test_changed_items_have_one_cell_of_letters(own):
    release = own.release
    flips = flips_of(release.answers, release.benchmarks)
    html = flip_table(flips, release, name="f", limit=3).as_raw_html()
    assert "Answers that differ" in html
    assert "Origin" not in html
    assert "<strong>A</strong>: Group" in html


def test_comparison_charts_the_pairs_with_the_largest_changes(own):
    changes = tuple(SimpleNamespace(gap={"estimate": size / 100}) for size in range(-10, 5))
    compared = Comparison(own.benchmark, "1", "One", "Two", "plain", "", changes)
    shown = [pair.gap["estimate"] for pair in compared.charted]
    assert shown == sorted(shown)
    assert len(shown) == MOST_CHARTED
    assert -0.1 in shown
    assert 0.0 not in shown


def test_only_attribute_is_not_named_with_its_groups(own, demo):
    assert own.pairs[0].title == "Group 00 − Group 01"
    assert own.benchmark.pair_name("origin", ("g00", "g01")) == "Group 00 − Group 01"
    assert own.benchmark.pooled.label == "All pairs"
    assert demo.pair_name("race", ("white", "black")) == "Race: White − Black"
