"""The pages of versions and prompts: their text, and escaping of names."""

from __future__ import annotations

import html
import re
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from fairstats.answers.files import write_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.comparisons.compare import comparisons_of
from fairstats.publishing.publish import publish
from fairstats.report import render
from fairstats.report.changes.page import show_strategies, show_versions
from fairstats.report.model.page import show_model

from .changes import BETTER, NAMES, charted, compared, declared_successors, release_of, words_of
from .conftest import answers_of_models
from .undrawn import undrawn

ROOT = Path(__file__).parents[2]
HOSTILE = "<b>x</b> | $y$"


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A release with two versions of one model, and one model under two strategies."""
    folder = tmp_path_factory.mktemp("changes")
    old, new = answers_of_models(("GPT-4.1",)), answers_of_models(("GPT-5",))
    better = (new["group"] == "black") & new["answer"].notna()
    new.loc[better, "answer"] = new.loc[better, "answer_key"]
    plain = answers_of_models((HOSTILE,))
    aware = answers_of_models((HOSTILE,)).assign(strategy="aware")
    path = write_answers(pd.concat([old, new, plain, aware]), folder / "answers.parquet")
    models = declared_successors(folder, **{"GPT-5": "GPT-4.1"})
    draw = render.render_builtin

    def draw_these(release, project, pages, **options):
        return draw(release, project, ["reports/versions.qmd", "reports/strategies.qmd"], **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(render, "render_builtin", draw_these)
        return publish(path, release="1", out=folder / "out", renderer="builtin", models=models)


def page(published, name: str) -> str:
    return (published.path / "reports" / f"{name}.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows(changed):
    table = pd.read_parquet(changed.path / "downloads" / "comparisons.parquet")
    assert table["kind"].value_counts().to_dict() == {"version": 9, "strategy": 9}
    return table.to_dict("records")


def label_of(row) -> str:
    return load_benchmark("demo").attributes[row["attribute"]].label


def test_the_chart_of_versions_shows_every_published_change(changed, rows):
    own = [row for row in rows if row["kind"] == "version"]
    heading = "“GPT-4.1” → “GPT-5”"
    expected = {(heading, label_of(row), NAMES[row["metric"]]): words_of(row) for row in own}
    assert charted(page(changed, "versions")) == expected
    assert len(expected) == 9


def test_the_chart_of_prompts_shows_every_change(changed, rows):
    own = [row for row in rows if row["kind"] == "strategy"]
    heading = f"“{HOSTILE}”: plain → bias warning"
    expected = {(heading, label_of(row), NAMES[row["metric"]]): words_of(row) for row in own}
    assert charted(page(changed, "strategies")) == expected
    assert len(expected) == 9


def test_the_table_shows_every_change_with_its_interval_and_p(changed, rows):
    text = page(changed, "versions").partition('-Pair">Pair')[2]
    text = re.sub('<span class="cell-label.*?</span>', "", text)
    cells = [
        html.unescape(re.sub("<[^>]+>", "", cell)).replace("\u00a0", " ")
        for cell in re.findall(r"<td[^>]*>(.*?)</td>", text, re.DOTALL)
    ]
    for row in rows:
        if row["kind"] != "version":
            continue
        change = words_of(row).partition("change ")[2].partition(" points")[0]
        p = row["p_adjusted"]
        shown = "< 0.001" if p < 0.001 else "1" if p == 1 else f"{p:.3f}"
        assert (change, shown) in pairwise(cells)


def test_phone_shows_each_figure_and_verdict_without_scrolling(changed, browser):
    tab = browser.new_page(viewport={"width": 390, "height": 900})
    tab.goto((changed.path / "reports" / "versions.html").as_uri())
    table = tab.locator(".by-figure")
    assert table.evaluate("part => part.scrollWidth <= part.clientWidth")
    labels = table.locator(".cell-label:visible").all_inner_texts()
    assert set(labels) == {"Accuracy ↑", "CFR ↑", "AD ↓", "adjusted p", "Verdict"}
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
    tab.close()


def test_chart_of_one_pair_needs_no_scrolling(drawn, browser):
    part = drawn(show_versions, release_of([row | {"n": 60} for row in compared(BETTER)]))
    style = (ROOT / "reports" / "style.css").read_text(encoding="utf-8")
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.set_content(f"<!doctype html><style>{style}</style><main>{part}</main>")
    chart = tab.locator(".changed")
    assert chart.locator("tbody tr").count() == 1
    assert chart.evaluate("part => part.scrollHeight <= part.clientHeight")
    tab.close()


def test_pages_state_which_vignettes_count(changed):
    for name in ("versions", "strategies"):
        assert "that both sides answered" in page(changed, name)


@pytest.mark.parametrize("name", ["versions", "strategies"])
def test_pages_show_what_to_read_first_before_their_finding(name, changed):
    text = page(changed, name)
    warning = load_benchmark("demo").read_first
    assert text.count(warning) == 1
    assert text.index(warning) < text.index('class="lede"')


def test_same_answers_with_another_strategy_show_no_change(changed):
    text = page(changed, "strategies")
    assert "<h1>Compare prompts</h1>" in text
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    assert "<b>x</b>" not in text
    assert len(re.findall(r"Of 3 changes in AD .* none is significant\.", text)) == 1
    assert "0 of 3 comparisons" in text


def test_successor_with_other_questions_is_marked():
    old = answers_of_models(("GPT-4.1",)).assign(benchmark_version="0")
    new = answers_of_models(("GPT-5",))
    known = {"demo": load_benchmark("demo")}
    declared = {"GPT-5": "GPT-4.1"}
    table = comparisons_of(pd.concat([old, new]), None, 0.05, known, declared)
    assert len(table) == 9
    assert table["method_note"].str.startswith("different questions").all()
    both = pd.concat([old, new, new.assign(model="GPT-4.1")])
    alike = comparisons_of(both, None, 0.05, known, declared)
    assert (alike["method_note"] == "").all()
    assert len(alike) == 9


def test_model_without_the_plain_strategy_is_compared_with_the_most_common():
    own = answers_of_models(("One", "Two"))
    tables = [own.assign(strategy=strategy) for strategy in ("role", "cot")]
    tables.append(own[own["model"] == "Two"].assign(strategy="aware"))
    known = {"demo": load_benchmark("demo")}
    table = comparisons_of(pd.concat(tables), None, 0.05, known, {})
    pairs = table.groupby("model_new")["strategy"].unique().map(list).to_dict()
    assert pairs == {"One": ["cot → role"], "Two": ["cot → aware", "cot → role"]}


def test_no_page_names_a_plain_prompt_that_was_not_declared(tmp_path, drawn):
    own = answers_of_models(("One", "Two"))
    tables = [own.assign(strategy=strategy) for strategy in ("cot", "role")]
    release = undrawn(pd.concat(tables, ignore_index=True), tmp_path)
    for show in (show_strategies, lambda one: show_model(one, "one")):
        text = drawn(show, release)
        assert "plain prompt" not in text
        assert "prompt “reasoning first”" in text
