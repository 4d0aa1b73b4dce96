"""The pages of a release: their text, and escaping of everything from outside."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd

from fairstats._lib.formatting import percent_range, point_range, points
from fairstats.release.contents import Release
from fairstats.report.board.figures import BoardFigures
from fairstats.report.board.page import show_leaderboard
from fairstats.report.board.terms import show_limits, show_terms
from fairstats.report.model.page import show_model
from fairstats.report.site_pages import PAGES
from tests.wrong_words import wrong_words

from .conftest import HOSTILE, answers_of_models
from .reading import board_rows, broken_links, pdf_words, squeezed
from .undrawn import undrawn


class _Page(HTMLParser):
    """Tags, links and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words)).replace("\u2060", "")


def test_every_model_has_a_page(release, pages):
    models = [name for name in pages if name.startswith("reports/models/")]
    assert len(models) == 1 + len(HOSTILE)
    assert {"index.html", "reports/methods.html", "reports/data.html"} <= pages.keys()


def test_pages_without_content_are_left_out(pages):
    shown = ["Leaderboard", "Vignettes", "Methods", "Data"]
    linked = ["Releases"]
    for text in pages.values():
        navigation = text.partition('<nav aria-label="Pages">')[2].partition("</nav>")[0]
        assert re.findall(r">(\w+)</a>", navigation) == shown
    own = {name for name in pages if not name.startswith("reports/models/")}
    assert own == {
        page.path.replace(".qmd", ".html") for page in PAGES if page.text in [*shown, *linked]
    }


def test_the_board_shows_the_estimates(release, pages):
    text = re.sub(r"\s", " ", _Page(pages["index.html"]).text)
    estimates = pd.read_parquet(release.path / "downloads" / "estimates.parquet")
    own = estimates[(estimates["model"] == "Model-1") & (estimates["attribute"] == "race")]
    main = own.drop_duplicates("metric").set_index("metric")
    gap, ad, cfr = (main.loc[name] for name in ("accuracy_difference", "ad", "cfr"))
    assert f"{points(gap['estimate'])} ({point_range(gap['ci_low'], gap['ci_high'])})" in text
    for row in (ad, cfr):
        limits = percent_range(row["ci_low"], row["ci_high"])
        assert f"{100 * row['estimate']:.1f} ({limits})" in text


def test_a_models_page_shows_the_figures_of_every_pair(release, pages):
    text = _Page(pages["reports/models/model-1.html"]).text
    estimates = pd.read_parquet(release.path / "downloads" / "estimates.parquet")
    own = estimates[(estimates["model"] == "Model-1") & (estimates["attribute"] != "baseline")]
    own = own[own["metric"].isin(["accuracy_a", "accuracy_b", "accuracy_difference", "cfr"])]
    assert len(own) == 4 * 4
    for row in own.itertuples():
        limits = f"{100 * row.ci_low:.1f}–{100 * row.ci_high:.1f}"
        shown = f"{100 * row.estimate:.1f} ({limits})"
        if row.metric == "accuracy_difference":
            shown = f"{points(row.estimate)} ({point_range(row.ci_low, row.ci_high)})"
        assert shown in text


def test_hostile_names_are_text_and_no_markup(pages):
    board = _Page(pages["index.html"]).text
    assert [name for name in HOSTILE if re.sub(r"\s+", " ", name) not in board] == []
    for text in pages.values():
        page = _Page(text)
        # Our script is the only one that runs, without event handlers or external resources.
        scripts = [attributes for tag, attributes in page.tags if tag == "script"]
        assert [one for one in scripts if one.get("type") != "application/ld+json"] == [{}]
        assert not [tag for tag, _ in page.tags if tag in ("img", "iframe", "object", "embed")]
        assert not [a for _, attributes in page.tags for a in attributes if a.startswith("on")]
        assert "hatchling" not in text, "an include of a name was followed"


def test_a_name_is_alone_or_in_quotation_marks(pages):
    # A name may then have any words: "GPT #1 (equivalent)" is not read as a result.
    for page in pages.values():
        for text in _Page(re.sub(r"(?s)<(style|script)\b.*?</\1>", "", page)).words:
            text = re.sub("“[^“”]*”|[\u2060†‡§]", "", text).strip()
            for name in HOSTILE:
                assert name not in text or text in (name, f"{name[:190]}-1")


def test_no_page_needs_the_network(pages):
    for name, text in pages.items():
        for tag, attributes in _Page(text).tags:
            for key in ("src", "href"):
                value = attributes.get(key) or ""
                assert "://" not in value, (name, tag, value)
                assert not value.startswith("//"), (name, tag, value)
    assert "url(" not in (Path(__file__).parents[2] / "reports/style.css").read_text()


def test_links_of_the_site_lead_to_existing_places(release):
    assert broken_links(release.path.parents[1]) == []


def test_pages_are_small_and_accessible(pages):
    for name, text in pages.items():
        page = _Page(text)
        assert len(text.encode()) < 1_000_000, name
        assert [tag for tag, _ in page.tags].count("h1") == 1
        assert ("html", {"lang": "en"}) in page.tags
        for tag, attributes in page.tags:
            if tag == "svg":
                assert attributes.get("aria-label") or attributes.get("aria-hidden"), name
            if tag == "th":
                assert (
                    attributes.get("scope")
                    or "gt_group_heading" in (attributes.get("class") or "")
                    or name == "reports/methods.html"
                ), (name, attributes)


def test_pages_have_no_wrong_words(pages):
    for name, text in pages.items():
        words = re.sub(r"<(script|style|math)\b.*?</\1>", "", text, flags=re.DOTALL)
        assert wrong_words(unescape(re.sub(r"<[^>]+>", " ", words))) == [], name


def test_ids_of_a_page_are_unique(pages):
    for name, text in pages.items():
        ids = [attributes["id"] for _, attributes in _Page(text).tags if attributes.get("id")]
        assert len(ids) == len(set(ids)), name


def test_the_pdf_has_every_row_of_the_boards_and_the_hostile_names(release):
    read = Release(release.path)
    text = pdf_words(release.pdf)
    for name in HOSTILE:
        # Typst's fonts have no emoji; the rest of such a name is shown.
        assert squeezed(name.encode("ascii", "ignore").decode()) in text
    rows = board_rows(read)
    assert len(rows) == 1 + len(HOSTILE)
    for unit, texts in rows.items():
        for row in texts:
            assert row in text, unit


def test_downloaded_csv_has_no_formulas(release):
    rows = pd.read_csv(release.path / "downloads" / "estimates.csv", dtype=str)
    text = rows[["model", "snapshot", "metric", "method_note"]].stack()
    assert not text.str.startswith(("=", "+", "-", "@")).any()
    assert text.str.startswith("'=HYPERLINK").any()


def test_a_release_is_read_as_it_was_written(release):
    read = Release(release.path)
    assert read.name == "2026.11"
    assert read.models == sorted(["Model-1", *HOSTILE])
    assert len(set(read.slugs.values())) == len(read.models)
    assert read.benchmarks["demo"].answer_keys["demo-01"] == "C"


def show_board(release: Release) -> None:
    """Show the first page."""
    for show in (show_leaderboard, show_terms, show_limits):
        show(release)


def test_levels_and_policies_on_the_pages_are_those_of_the_release(tmp_path, drawn):
    made = undrawn(answers_of_models(("Model-1",)), tmp_path, alpha=0.1, missing="incorrect")
    text = _Page(drawn(show_board, made)).text
    assert "with its 90% interval" in text
    assert "p is at most 0.1" in text
    assert "the whole 80% interval" in text
    assert "Policy: incorrect" in text
    assert "95%" not in text
    model = drawn(show_model, made, "model-1")
    assert "90%" in model
    assert "95%" not in model


def test_under_bounds_a_figure_is_its_range_and_no_interval(tmp_path, drawn):
    made = undrawn(answers_of_models(("Model-1",)), tmp_path, missing="bounds")
    text = _Page(drawn(show_board, made)).text
    assert "over all possible missing answers" in text
    assert "McNemar p" not in text.partition("What the terms mean")[2]
    assert "nan" not in text.lower().split()
    row = made.estimates.query("metric == 'accuracy_difference' and attribute == 'race'")
    (low,), (high,) = row["ci_low"], row["ci_high"]
    assert low < high
    assert f"range ({points(low)} to {points(high)}) points" in text


def test_two_snapshots_of_a_model_share_a_row(tmp_path):
    answers = answers_of_models(("Model-1",))
    answers.loc[answers["item_id"] < "demo-10", "snapshot"] = "another"
    read = undrawn(answers, tmp_path)
    assert [entry["items"] for entry in read.manifest["answers"]] == [15, 9]
    (board,) = read.boards
    figures = BoardFigures(board, read)
    assert board.ordered == ["Model-1"]
    (own,) = figures.sets
    assert own.snapshot == "Model-1-1, another"
    assert own.missing == (int(answers["answer"].isna().sum()), len(answers))
