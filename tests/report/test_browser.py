"""The site in a real browser: sorting, filtering, narrow screens, and no network requests."""

from __future__ import annotations

import csv
import functools
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd
import pytest

from fairstats.report.model.page import show_model
from tests.browsing import violations
from tests.serving import served

from .conftest import answers_of_models
from .test_downloads import FORMULAS
from .undrawn import undrawn, whole

#: The pages of the drawn release, and one of a model.
PAGES = ["index.html", *(f"reports/{name}.html" for name in (
    "vignettes", "releases", "methods", "data", "models/model-1",
))]  # fmt: skip


@pytest.fixture(scope="module")
def address(release):
    """The release of the site, on a loopback server."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    site = release.path.parents[1]
    handler = functools.partial(Quiet, directory=site)
    with served(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}/v/{release.path.name}"


@pytest.fixture
def visit(browser, address):
    """Open a page; console messages and external requests fail the test."""
    contexts, said, asked = [], [], []

    def opened(page="index.html", *, width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(f"{address}/{page}")
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert said == []
    assert asked
    # Chromium requests an icon automatically.
    assert all(url.startswith(address) or url.endswith("/favicon.ico") for url in asked)


CHART = '.boards [data-measure="gap"] .chart table'


def names(tab):
    rows = tab.locator(CHART).first.locator("tbody tr:visible > *:first-child")
    return [text.split("\n")[0].lower() for text in rows.all_inner_texts()]


def chosen(tab, name):
    """Return a radio button of the first board."""
    return tab.locator(".boards").first.get_by_role("radio", name=name, exact=True)


def more(tab):
    """Open the controls that are closed initially."""
    tab.locator(".boards summary").first.click()
    return tab.locator(".boards .tools").first


def test_chart_is_sorted_by_a_click_or_the_enter_key(visit):
    tab = visit()
    first = tab.locator(CHART).first
    before = names(tab)
    model = first.locator("thead button").first
    model.click()
    assert names(tab) == sorted(before)
    assert first.locator("thead th").first.get_attribute("aria-sort") == "ascending"
    model.focus()
    tab.keyboard.press("Enter")
    assert names(tab) == sorted(before, reverse=True)
    race = first.locator("thead th", has_text="Race")
    race.locator("button").click()
    cells = first.locator('tbody td[data-panel="a0"]')
    gaps = [float(cell.get_attribute("data-value")) for cell in cells.all()]
    assert len(set(gaps)) > 2
    assert gaps == sorted(gaps)


def test_table_is_sorted_by_the_column_below_a_common_heading(visit):
    tab = visit()
    table = tab.locator('[data-attribute="all"] .compact table').first
    # The first of two columns below "AD".
    table.locator("thead th", has_text="Race").first.locator("button").click()
    rows = table.locator("tbody tr")
    texts = [row.locator("> *").nth(3).inner_text() for row in rows.all()]
    found = [float(text.split()[0]) for text in texts]
    assert len(set(found)) > 2
    assert found == sorted(found)


def test_search_finds_a_model_by_name(visit):
    tab = visit()
    everyone = names(tab)
    box = more(tab).get_by_label("Find a model")
    box.fill("model 1")
    found = names(tab)
    assert 0 < len(found) < len(everyone)
    assert all("model" in name and "1" in name for name in found)
    status = tab.locator(".tools output").first
    assert status.inner_text() == f"{len(found)} of {len(everyone)} rows"
    box.fill("")
    assert names(tab) == everyone


def test_link_keeps_the_selection(visit, address):
    tab = visit()
    chosen(tab, "Same answer (CFR)").check(force=True)
    chosen(tab, "Sex").check(force=True)
    more(tab).get_by_label("Find a model").fill("model")
    link = tab.evaluate("location.href").removeprefix(f"{address}/")
    assert "#" in link
    again = visit(link)
    assert chosen(again, "Same answer (CFR)").is_checked()
    assert chosen(again, "Sex").is_checked()
    assert again.locator(".tools input").first.input_value() == "model"
    assert again.locator('[data-measure="cfr"]').first.is_visible()
    assert again.locator('[data-measure="gap"]').first.is_hidden()


def test_table_that_is_shown_is_saved_as_csv(visit):
    tab = visit(accept_downloads=True)
    chosen(tab, "Sex").check(force=True)
    button = more(tab).get_by_role("button", name="Download this table (CSV)")
    with tab.expect_download() as started:
        button.click()
    rows = list(csv.reader(started.value.path().read_text(encoding="utf-8").splitlines()))
    shown = tab.locator(".compact table:visible").first
    assert rows[0] == [text.strip() for text in shown.locator("thead th").all_text_contents()]
    assert len(rows) == 1 + shown.locator("tbody tr").count()
    # A spreadsheet must not evaluate a name as a formula.
    assert not any(cell.startswith(("=", "@")) for row in rows for cell in row)


def test_saved_csv_has_no_formulas(visit):
    figures = ["+4.1", "\u22124.1 (\u22125.0 to +3.1)"]
    script = """texts => {
        const table = document.createElement("table");
        texts.forEach(text => table.insertRow().insertCell().textContent = text);
        return csv(table);
    }"""
    written = visit().evaluate(script, [*FORMULAS, *figures])
    rows = [text for (text,) in csv.reader(written.splitlines())]
    assert rows == [*FORMULAS.values(), "+4.1", "-4.1 (-5.0 to +3.1)"]


def test_controls_are_reached_by_the_keyboard(visit):
    tab = visit()
    chosen(tab, "Accuracy gap").focus()
    tab.keyboard.press("ArrowRight")
    assert chosen(tab, "Same answer (CFR)").is_checked()
    assert tab.locator('[data-measure="cfr"]').first.is_visible()


def test_search_finds_a_page_by_its_words(visit):
    tab = visit("reports/models/model-1.html")
    box = tab.get_by_label("Search")
    results = tab.locator(".search li")
    box.fill("zzzz")
    tab.get_by_text("No page has these words.").wait_for()
    box.fill("methods")
    tab.wait_for_function("document.querySelectorAll('.search li a').length > 0")
    # Pages with the words in their title come before those with the words in their text.
    assert results.first.inner_text() == "Methods"
    box.fill("")
    assert results.first.is_hidden()
    box.fill("methods")
    results.first.locator("a").click()
    tab.wait_for_url("**/reports/methods.html")
    assert tab.locator("nav [aria-current=page]").all_inner_texts() == ["Methods"]


def test_search_box_needs_scripts(visit):
    assert visit(java_script_enabled=False).locator(".search").is_hidden()


@pytest.mark.parametrize("page", ["", "index.html"])
def test_the_open_page_is_marked_in_the_navigation(visit, page):
    tab = visit(page)
    assert tab.locator("nav [aria-current=page]").all_inner_texts() == ["Leaderboard"]


@pytest.mark.parametrize("script", [True, False])
def test_one_attribute_can_be_looked_at(visit, script):
    tab = visit(java_script_enabled=script)
    heads = tab.locator(CHART).first.locator("thead th:visible")
    everything = heads.count()
    chosen(tab, "Sex").check(force=True)
    assert heads.count() == everything - 3
    shown = " ".join(heads.all_inner_texts())
    assert "Sex" in shown
    assert "Race" not in shown
    assert tab.locator('[data-attribute="a1"]').first.is_visible()
    assert tab.locator('[data-attribute="all"]').first.is_hidden()
    chosen(tab, "All").check(force=True)
    assert heads.count() == everything


def test_board_is_complete_without_scripts(visit):
    tab = visit(java_script_enabled=False)
    assert len(names(tab)) > 5
    assert tab.locator(".tools").first.is_hidden()
    assert "Race" in tab.locator(CHART).first.locator("thead").inner_text()


def test_phone_shows_every_panel_sideways_until_one_is_chosen(visit):
    tab = visit(width=390)
    chart = tab.locator(CHART).first
    panels = chart.locator("thead .panel:visible")
    assert "Signed mean" in panels.first.inner_text()
    assert panels.count() > 1
    # The shadow at its edge shows that there is more.
    assert chart.evaluate("of => of.scrollWidth > of.parentElement.clientWidth")
    chosen(tab, "Race").check(force=True)
    assert panels.count() == 1
    assert "Race" in panels.inner_text()


def test_dark_mode_has_dark_paper(visit):
    def paper(scheme):
        tab = visit(color_scheme=scheme)
        return tab.evaluate("getComputedStyle(document.body).backgroundColor")

    assert paper("light") == "rgb(253, 252, 249)"
    assert paper("dark") == "rgb(20, 24, 29)"


@pytest.mark.parametrize("page", PAGES)
def test_page_fits_a_narrow_screen(visit, page):
    tab = visit(page, width=360)
    # Only scrollable parts may be wider than the screen.
    cut = tab.evaluate(
        """() => [...document.querySelectorAll("body *")].filter(e =>
          !e.closest(".table-wrap, .plot.wide, math")
          && e.getBoundingClientRect().right > innerWidth + 1
          && getComputedStyle(e).position !== "absolute").map(e => e.outerHTML.slice(0, 90))"""
    )
    assert cut == []
    assert tab.evaluate("document.documentElement.scrollWidth") == 360
    # A shadow at their edge shows that they scroll.
    bare = tab.evaluate(
        """() => [...document.querySelectorAll(".table-wrap, .plot.wide")].filter(e =>
          e.scrollWidth > e.clientWidth + 1
          && getComputedStyle(e).backgroundImage === "none").map(e => e.outerHTML.slice(0, 90))"""
    )
    assert bare == []


@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_no_violation(visit, page):
    tab = visit(page, bypass_csp=True)
    tab.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        assert violations(tab) == [], scheme


@pytest.mark.parametrize("page", ["index.html", "reports/models/model-1.html"])
def test_axe_finds_no_violation_on_a_phone(visit, page):
    tab = visit(page, width=390, bypass_csp=True)
    tab.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert violations(tab) == []


def test_phone_shows_names_and_verdicts_without_scrolling(visit):
    tab = visit(width=390)
    chosen(tab, "Sex").check(force=True)
    table = tab.locator(".compact:visible").first
    cells = table.locator(".verdict")
    assert cells.count() > 5
    ends = [cell.bounding_box() for cell in cells.all()]
    assert all(end["x"] + end["width"] <= 390 for end in ends)
    # The names stay in view while the table scrolls.
    name = table.locator("tbody th").first
    before = name.bounding_box()["x"]
    table.evaluate("part => { part.scrollLeft = 200; }")
    assert name.bounding_box()["x"] == before


def test_phone_shows_definitions_without_scrolling(visit):
    tab = visit("reports/methods.html", width=390)
    cells = tab.get_by_role("region", name="Figures").locator("tbody tr > *:visible")
    ends = cells.evaluate_all("cells => cells.map(cell => cell.getBoundingClientRect().right)")
    assert len(ends) > 20
    assert max(ends) <= 390


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("measure", ["Accuracy gap", "Same answer (CFR)", "Accuracy by group"])
def test_labels_are_inside_their_panel(visit, width, measure):
    tab = visit(width=width)
    chosen(tab, measure).check(force=True)
    cut = tab.evaluate(
        """() => [...document.querySelectorAll(".boards tbody .panel text")].filter(text => {
          const at = text.getBoundingClientRect();
          const panel = text.closest("td").getBoundingClientRect();
          return at.width && (at.right > panel.right + 1 || at.left < panel.left - 1);
        }).map(text => text.textContent)"""
    )
    assert cut == []


def test_prompt_of_a_model_is_chosen_without_a_script(browser, drawn, tmp_path):
    answers = whole(answers_of_models(("Model-1",)))
    made = undrawn(pd.concat([answers, answers.assign(strategy="cot")]), tmp_path)
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.set_content(drawn(show_model, made, "model-1"))
    plain, reasoning = (tab.locator(f'[data-set="{key}"]') for key in ("s0", "s1"))
    assert plain.count() == reasoning.count() > 4
    assert all(part.is_visible() for part in plain.all())
    assert not any(part.is_visible() for part in reasoning.all())
    tab.get_by_role("radio", name="Reasoning first").check(force=True)
    assert not any(part.is_visible() for part in plain.all())
    assert all(part.is_visible() for part in reasoning.all())
    context.close()


@pytest.mark.parametrize("place", ["file", "http"])
def test_a_page_in_latest_leads_to_that_of_the_newest_release(browser, release, address, place):
    site = {"file": release.path.parents[1].as_uri(), "http": address.rpartition("/v/")[0]}[place]
    context = browser.new_context()
    tab = context.new_page()
    for page in ("index.html", "latest/index.html", "latest/reports/methods.html"):
        tab.goto(f"{site}/{page}")
        tab.wait_for_url(f"{site}/v/{release.path.name}/{page.removeprefix('latest/')}")
    assert tab.get_by_role("heading", level=1).inner_text() == "Methods"
    context.close()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_tables_can_be_downloaded(visit, kind):
    tab = visit(accept_downloads=True)
    link = tab.locator(".downloads a", has_text=kind).first
    answer = tab.request.get(link.evaluate("link => link.href"))
    assert answer.ok
    assert len(answer.body()) > 1000
