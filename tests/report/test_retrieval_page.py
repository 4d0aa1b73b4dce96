"""The retrieval page: its figures are those of the release's tables, and names are escaped."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from fairstats._lib.formatting import percent_range, points
from fairstats._lib.installation import resource
from fairstats.benchmarks.declaration import POOLED
from fairstats.report.retrieval.page import (
    answer_sets,
    printed_scores,
    printed_strategies,
    show_retrieval,
)
from tests.make_answers import make_answers
from tests.retrieval_tables import drawn_lists, retrievals_of

from .conftest import HOSTILE
from .reading import region_names, shown
from .undrawn import contents, undrawn

MODEL = HOSTILE[0]
STRATEGIES = ("plain", "cot", "plain+bm25@5", "cot+bm25@5", "plain+dense@10")


@pytest.fixture(scope="module")
def retrieved(tmp_path_factory):
    """Make a release of a hostile model, with snippets of a corpus with a hostile name."""
    from fairstats.benchmarks.loading import load_benchmark

    demo = load_benchmark("demo")
    own = make_answers(0.6, strategies=STRATEGIES, missing=0.05, models=[MODEL])
    other = make_answers(0.6, missing=0.05, models=["never asked with snippets"], seed=2)
    answers = pd.concat([own, other], ignore_index=True)
    lists = drawn_lists(demo, depth=12, replaced=0.05)
    found = [retrievals_of(lists, corpus=HOSTILE[1])]
    found.append(retrievals_of(lists, retriever="dense", corpus=HOSTILE[1]))
    retrievals = pd.concat(found, ignore_index=True)
    return undrawn(answers, tmp_path_factory.mktemp("retrieved"), retrievals=retrievals, every=True)


@pytest.fixture(scope="module")
def page(retrieved):
    return shown(show_retrieval, retrieved)


def row_with(page: str, *texts: str) -> str:
    found = [
        row
        for row in re.findall(r"<tr.*?</tr>", page, flags=re.DOTALL)
        if all(text in row for text in texts)
    ]
    assert found, texts
    return found[0]


def test_each_answer_set_has_the_figures_of_the_tables(retrieved, page):
    votes = retrieved.table("votes").set_index(["model", "strategy"])
    overlap = retrieved.table("overlap").set_index(["retriever", "top_k", "attribute", "measure"])
    estimates = retrieved.estimates.set_index(["model", "strategy", "attribute", "metric"])
    for strategy, label in (
        ("plain", "plain, no snippets"),
        ("plain+bm25@5", "plain, bm25, k = 5"),
        ("cot+bm25@5", "reasoning first, bm25, k = 5"),
        ("plain+dense@10", "plain, dense, k = 10"),
    ):
        row = row_with(page, f">{label}<")
        vote = votes.loc[(MODEL, strategy)]
        assert f"<strong>{100 * vote['score']:.1f}</strong>" in row
        assert percent_range(vote["score_low"], vote["score_high"]) in row
        for attribute in ("race", "sex", "ses"):
            for metric in ("dp", "eo"):
                figure = estimates.loc[(MODEL, strategy, attribute, metric), "estimate"]
                assert f"<strong>{points(figure, signed=False)}</strong>" in row
        if "@" in strategy:
            retriever, k = strategy.split("+")[1].split("@")
            common = overlap.loc[(retriever, int(k), POOLED, "iou"), "estimate"]
            assert f">{100 * common:.1f}<" in row


def test_every_table_and_plot_has_a_different_name(page):
    names = region_names(page)
    assert len(names) > 6
    assert len(set(names)) == len(names)


def test_votes_are_shown_with_the_number_left_open(retrieved, page):
    row = row_with(page, ">plain, bm25, k = 5<")
    vote = retrieved.table("votes").set_index(["model", "strategy"]).loc[(MODEL, "plain+bm25@5")]
    decided = vote["n_right"] + vote["n_wrong"]
    assert vote["n"] > decided > 0
    assert f"<strong>{100 * vote['accuracy_vote']:.1f}</strong>" in row
    assert f"{vote['n_right']} of {decided}; {vote['n'] - decided} open" in row


def test_answers_without_their_retrievals_are_not_called_unretrieved(tmp_path, demo):
    answers = make_answers(0.6, strategies=["plain+bm25@5"])
    release = undrawn(answers, tmp_path, without_retrievals=True, every=True)
    assert "no record of the snippets" in " ".join(shown(show_retrieval, release).split())
    assert "Retrieval" in contents(release)


def test_models_without_snippets_are_left_out(retrieved):
    sets = answer_sets(retrieved, "demo", "1")
    assert set(sets["model"]) == {MODEL}
    assert sets["strategy"].tolist() == [
        "plain",
        "plain+bm25@5",
        "plain+dense@10",
        "cot",
        "cot+bm25@5",
    ]


def test_wrong_answers_are_counted_as_the_table_counts_them(retrieved, page):
    effects = retrieved.table("retrieval_effects")
    own = effects[(effects["strategy"] == "plain+bm25@5") & (effects["attribute"] == "race")]
    figures = own.set_index(["of", "metric"])
    at = page.index("Wrong answers and retrieved snippets")
    heading = page.index("plain, 5 snippets (bm25)", at)
    row = row_with(page[heading:], "Race: White")
    cells = [re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)]
    kinds = ["other_snippets_other_answer", "other_snippets_same_answer"]
    kinds += ["same_snippets_other_answer", "same_snippets_same_answer"]
    wrong = [figures.loc[("wrong_b", kind), "count"] for kind in kinds]
    assert [int(cell) for cell in cells[:5]] == [sum(wrong), *wrong]
    assert "Baseline" not in page[at : page.index("Results of a majority vote")]


def test_names_from_outside_are_text(page):
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert "<img src=x" not in page


def test_retrieval_page_needs_retrievals(retrieved, page, tmp_path, demo):
    assert "Retrieval" in contents(retrieved)
    assert "Table 2 as published" in page
    release = undrawn(make_answers(0.6), tmp_path, every=True)
    assert "Retrieval" not in contents(release)


def test_under_bounds_a_figure_is_its_range(tmp_path, demo):
    answers = make_answers(0.6, strategies=["plain+bm25@5"], missing=0.05)
    retrievals = retrievals_of(drawn_lists(demo, depth=5))
    made = undrawn(answers, tmp_path, retrievals=retrievals, every=True, missing="bounds")
    page = shown(show_retrieval, made)
    assert "<small>range " in row_with(page, ">plain, bm25, k = 5<")
    assert not re.search(r"\bnan\b", page)


def test_published_tables_are_complete():
    markup = printed_scores().as_raw_html() + printed_strategies().as_raw_html()
    scores = pd.read_csv(resource("data", "published", "rag_table2.csv"))
    for row in scores.to_dict("records"):
        assert f"{row['score_percent']:.1f} ({row['retrieval_overlap_percent']:.1f})" in markup
    fairness = pd.read_csv(resource("data", "published", "rag_fairness.csv"))
    assert markup.count("Table 5") == 1
    for row in fairness.to_dict("records"):
        assert f">{100 * row['dp']:.0f}<" in markup
        assert f">{row['score_percent']:.1f}<" in markup
