"""A board with more models than the first page shows: its first rows, all of them, and filters."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.publishing.verify import _inputs
from fairstats.release.contents import Release
from fairstats.release.manifest import facts_of, read_manifest
from fairstats.release.tables import TABLES
from fairstats.report.board.figures import BoardFigures
from fairstats.report.board.page import show_all_models, show_leaderboard
from fairstats.report.board.tables import model_filters
from fairstats.report.model.page import show_model
from fairstats.report.render import _read, _run, _site_page
from fairstats.report.site_pages import STYLE_SHEET, stage
from tests.serving import served

from .conftest import answers_of_models
from .undrawn import contents, undrawn, whole

HOSTILE = '"><script>alert(1)</script>'
MODELS = ("one", "two", HOSTILE, "four", "five")
SHOWN = 3
DECLARED = {
    "one": {"family": "Atlas", "size": "70B", "open": "true"},
    "two": {"family": '"><b>At</b>', "size": "1.5T", "open": "true"},
    "four": {"family": "Atlas", "size": "8B", "open": "true", "licence": "MIT"},
    "five": {"licence": "MIT"},
    HOSTILE: {"licence": "MIT", "size": "about 8B"},
}


def declared(folder: Path, facts: dict[str, dict[str, str]] = DECLARED) -> Path:
    """Write a file that declares facts about models."""
    lines = []
    for model, own in facts.items():
        lines.append(f"[models.'{model}']")
        lines += [f"{key} = {text if key == 'open' else repr(text)}" for key, text in own.items()]
    path = folder / "models.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module", autouse=True)
def _shown():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairstats.report.board.figures.MOST_SHOWN", SHOWN)
        yield


@pytest.fixture(scope="module")
def long(tmp_path_factory, without_screening) -> Release:
    folder = tmp_path_factory.mktemp("long")
    answers = answers_of_models(MODELS)
    # Only one model lacks answers.
    lacking = answers["model"].eq("two")
    answers = pd.concat([whole(answers[~lacking]), answers[lacking]])
    # The board of another prompt is short.
    other = answers[answers["model"].isin(["one", "five"])].assign(strategy="cot")
    answers = pd.concat([answers, other], ignore_index=True)
    return undrawn(answers, folder, every=True, models=declared(folder))


def parts_of(page: str) -> dict[str, tuple[str, list[str]]]:
    """Return the head and the rows of each named table; the links lead nowhere."""
    page = re.sub(r'href="[^"]*/', 'href="', page)
    found = re.findall(r'<div id="([\w-]+-part)">.*?<thead.*?</thead>.*?</tbody>', page, re.DOTALL)
    tables = re.findall(
        r'<div id="[\w-]+-part">.*?(<thead.*?</thead>).*?<tbody[^>]*>(.*?)</tbody>', page, re.DOTALL
    )
    rows = [re.findall(r"<tr.*?</tr>", body, re.DOTALL) for _, body in tables]
    return {name: (head, own) for name, (head, _), own in zip(found, tables, rows, strict=True)}


def test_first_page_has_the_first_rows_of_each_table(long, drawn):
    first, every = drawn(show_leaderboard, long), drawn(show_all_models, long)
    assert "All models" in contents(long)
    parts, complete = parts_of(first), parts_of(every)
    # Charts of three measures, the table of all attributes, and one of each.
    assert len(parts) >= 5
    assert parts.keys() == complete.keys()
    for name, (head, rows) in parts.items():
        assert head == complete[name][0], name
        assert len(rows) == SHOWN
        assert rows == complete[name][1][:SHOWN], name
        assert len(complete[name][1]) == len(MODELS)
    links = re.findall(r'href="[./]*reports/all-models.html#([^"]+)">All models', first)
    assert links == list(parts)
    assert first.count("3 of 5 models.") == len(parts)
    assert "Shown are the first 3 of 5 models" in first
    assert "first-rows" not in every
    assert "<script" not in first + every


def test_short_board_is_on_the_first_page(long, drawn, monkeypatch):
    monkeypatch.setattr("fairstats.report.board.figures.MOST_SHOWN", len(MODELS))
    page = drawn(show_leaderboard, long)
    assert "All models" not in contents(long)
    assert not re.search("first-rows|-part|all-models|Missing answers <select", page)


def test_models_are_filtered_by_what_they_differ_in(long):
    boards = [BoardFigures(board, long) for board in long.boards]
    found = {key: options for key, (_, options) in model_filters(boards, long).items()}
    options = {key: list(own) for key, own in found.items()}
    assert options["family"] == ['"><b>At</b>', "Atlas", "not declared"]
    # In the order of size; texts that are no size come first.
    assert options["size"] == ["about 8B", "8B", "70B", "1.5T", "not declared"]
    assert options["open"] == ["open", "not declared"]
    assert options["missing"][0] == "none"
    assert len(found["missing"]["none"].split()) == len(MODELS) - 1 + 2
    assert found["family"]["Atlas"] == f"{long.slugs['four']} {long.slugs['one']}"
    shares = {
        f"b{number}/{long.slugs[own.model]}": own.missing[0] / own.missing[1]
        for number, figures in enumerate(boards)
        for own in figures.sets
    }
    limits = {"none": 0, "at most 1%": 0.01, "at most 5%": 0.05, "at most 20%": 0.2}
    for option, models in found["missing"].items():
        assert set(models.split()) == {m for m, share in shares.items() if share <= limits[option]}


def test_fact_that_all_models_share_is_no_filter(tmp_path, without_screening):
    models = declared(tmp_path, {name: {"family": "Atlas", "open": "false"} for name in MODELS})
    made = undrawn(whole(answers_of_models(MODELS)), tmp_path, models=models)
    (board,) = made.boards
    assert model_filters([BoardFigures(board, made)], made) == {}


def test_declared_facts_are_in_the_manifest_and_on_the_model_page(long, drawn):
    facts = {"family": '"><b>At</b>', "size": "1.5T", "open": True}
    assert long.manifest["models"]["two"] == facts
    page = drawn(show_model, long, long.slugs["two"])
    box = page.partition("Declared by the publisher</dt>")[2].partition("</dd>")[0]
    assert "Family: &#34;&gt;&lt;b&gt;At&lt;/b&gt; · Size: 1.5T · Weights: open" in box
    assert "Licence" not in box


def test_other_facts_are_other_content(tmp_path, without_screening):
    answers = whole(answers_of_models(("one", "two")))
    undrawn(answers, tmp_path, models=declared(tmp_path, {"one": {"open": "true"}}))
    undrawn(answers, tmp_path, models=declared(tmp_path, {"one": {"open": "true"}}))
    with pytest.raises(InputError, match="is already published with different models"):
        undrawn(answers, tmp_path, models=declared(tmp_path, {"one": {"open": "false"}}))


def test_declared_facts_are_part_of_the_verified_content(long, tmp_path):
    of = _inputs(long, tmp_path)
    tables = {name: long.table(name) for name in TABLES}
    assert facts_of(of, tables)["content"] == long.manifest["content"]
    other = facts_of(replace(of, model_facts={"one": {"open": False}}), tables)["content"]
    assert {n for n, sha in other.items() if sha != long.manifest["content"][n]} == {"models"}


@pytest.mark.parametrize("facts", [{"open": "yes"}, {"family": "x" * 61}, {"maker": "Atlas"}])
def test_manifest_with_wrong_facts_is_refused(long, tmp_path, facts):
    manifest = long.manifest | {"models": {"one": facts}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(InputError, match="is not the manifest of a release"):
        read_manifest(tmp_path)


@pytest.fixture(scope="module")
def site(long, tmp_path_factory) -> Path:
    """The two pages of the board, drawn with the template."""
    project, site = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("site")
    stage(long, project)
    for name in ("index.qmd", "reports/all-models.qmd"):
        page = _read(project / name, "html")
        target = (site / name).with_suffix(".html")
        target.parent.mkdir(exist_ok=True)
        target.write_text(_site_page(page, _run(page, long.path, True), project), encoding="utf-8")
    (site / STYLE_SHEET).write_bytes((project / STYLE_SHEET).read_bytes())
    return site


@pytest.fixture
def tab(browser, site):
    """The board on a loopback server, and what was read from it."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    context, said, asked = browser.new_context(), [], []
    opened = context.new_page()
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: asked.append(request.url))
    handler = functools.partial(Quiet, directory=site)
    with served(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        opened.goto(f"http://127.0.0.1:{server.server_port}/index.html")
        yield opened
    context.close()
    assert said == []
    # The other page is read once.
    assert len([url for url in asked if "all-models" in url]) == 1


CHART = '[data-measure="gap"] .chart tbody tr:visible'


def rows(tab) -> int:
    return tab.locator(CHART).count()


def test_search_finds_models_that_are_not_on_the_page(tab, long):
    assert rows(tab) == SHOWN
    last = BoardFigures(long.boards[0], long).sets[-1].model
    tab.get_by_label("Find a model").fill(last)
    tab.locator(".tools output", has_text="1 of 5 rows").wait_for()
    assert tab.locator(f"{CHART} th").inner_text().startswith(last)
    link = tab.locator(f"{CHART} th a").evaluate("link => new URL(link.href).pathname")
    assert link == f"/reports/models/{long.slugs[last]}.html"
    tab.get_by_label("Find a model").fill("")
    assert rows(tab) == len(MODELS)
    assert tab.locator(".first-rows").count() == 0
    assert tab.locator("script").count() == 1


def test_filters_are_combined_and_kept_in_the_address(tab):
    tab.get_by_label("Family").select_option("Atlas")
    tab.locator(".tools output", has_text="2 of 5 rows").wait_for()
    tab.get_by_label("Size").select_option("8B")
    tab.locator(".tools output", has_text="1 of 5 rows").wait_for()
    tab.get_by_label("Size").select_option("")
    tab.get_by_label("Missing answers").select_option("none")
    assert rows(tab) == 2
    assert "boards-0-family=Atlas" in tab.url
    tab.get_by_label("Family").select_option(DECLARED["two"]["family"])
    assert rows(tab) == 0
    # The choices hold for the board of the other prompt, too.
    tab.get_by_label("Family").select_option("Atlas")
    tab.get_by_role("radio", name="Reasoning first").check(force=True)
    assert rows(tab) == 1


def test_heading_sorts_all_models(tab):
    tab.locator('[data-measure="gap"] .chart thead button').first.click()
    tab.locator(".first-rows").first.wait_for(state="detached")
    names = [text.split()[0] for text in tab.locator(f"{CHART} th").all_inner_texts()]
    assert names == sorted(MODELS)


def test_link_inserts_the_rows_in_place(tab):
    tab.locator('[data-measure="gap"] .first-rows a').click()
    tab.locator(".first-rows").first.wait_for(state="detached")
    assert rows(tab) == len(MODELS)
    assert tab.url.endswith("/index.html")
    assert tab.evaluate("document.activeElement.matches('[data-measure=gap] .table-wrap')")


def test_pages_in_a_folder_lead_to_the_other_page(browser, site):
    context = browser.new_context()
    tab = context.new_page()
    tab.goto((site / "index.html").as_uri())
    box = tab.get_by_label("Find a model")
    box.fill("four")
    assert rows(tab) == SHOWN
    box.press("Enter")
    tab.wait_for_url("**/reports/all-models.html#boards-0-find=four")
    assert rows(tab) == 1
    context.close()
