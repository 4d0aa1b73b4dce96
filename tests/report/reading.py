"""Read the words of a drawn page, without the spaces between them.

Line ends and the width of spaces differ between formats, and do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.release.contents import Release
from fairstats.report.page_output import collected

#: The marks before each verdict.
MARKS = {"disparity": "▲", "equivalent": "●", "inconclusive": "○"}
_NO_WORDS = ("script", "style", "svg", "title")


def shown(show: Callable[..., None], *arguments: object) -> str:
    """Return the Markdown that a part of a page shows."""
    with collected() as parts:
        show(*arguments)
    return "\n".join(parts)


def squeezed(text: str) -> str:
    """Return a text without spaces, also zero-width ones; typst chooses the way of quotes."""
    return re.sub(r"[\s\u200b\u2060]+", "", text).replace("‘", "’")


def tight(text: str) -> str:
    """Return plain text of pandoc without wide spaces, the lines of tables, and empty lines."""
    text = re.sub(r"[+=-]{3,}| {2,}|(\+  )+\+", "  ", text)
    return re.sub(r"\s*\n(\s*\n)*", "\n", text)


def signed(share: float) -> str:
    """Return a difference in points as shown; 0 has no sign."""
    text = f"{100 * share:+.1f}"
    return text[1:] if float(text) == 0 else text.replace("-", "−")


def pdf_words(path: Path, *, title: str = "") -> str:
    """Return the text of a PDF; with `title`, without the line below each page."""
    pypdf = pytest.importorskip("pypdf", reason="pypdf reads the PDF's text")
    pages = pypdf.PdfReader(path).pages
    texts = [squeezed(page.extract_text()) for page in pages]
    if title:
        feet = [f"{squeezed(title)}{n}/{len(pages)}" for n in range(1, len(pages) + 1)]
        assert all(text.endswith(foot) for text, foot in zip(texts, feet, strict=True))
        texts = [text.removesuffix(foot) for text, foot in zip(texts, feet, strict=True)]
    return "".join(texts)


class Markup(HTMLParser):
    """The tags of a page with their attributes, and its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._silent = 0
        self._words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._silent += tag in _NO_WORDS

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in _NO_WORDS

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._words.append(data)

    @property
    def words(self) -> str:
        return squeezed("".join(self._words))


def region_names(markup: str) -> list[str]:
    """Return the names that assistive technology gives for the tables and plots of a page."""
    # The box around a wide plot has the plot's name.
    tags = Markup(markup).tags
    return [a["aria-label"] or "" for _, a in tags if a.get("role") in ("region", "img")]


def broken_links(site: Path) -> list[tuple[str, str]]:
    """Return every page and link of a folder with a target outside of it or missing."""
    pages = {
        path.resolve(): Markup(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")
    }
    ids = {path: {a.get("id") for _, a in page.tags} for path, page in pages.items()}
    broken, links = [], 0
    for path, page in pages.items():
        # A link without an address has no target; the icon is not a link.
        targets = [a.get("href") for tag, a in page.tags if tag == "a" or "href" in a]
        targets = [target or "#" for target in targets if target != "data:,"]
        links += len(targets)
        for target in targets:
            file, _, place = target.partition("#")
            there = (path.parent / file).resolve() if file else path
            found = there.is_file() and there.is_relative_to(site.resolve())
            if not found or target == "#" or (place and place not in ids[there]):
                broken.append((path.relative_to(site.resolve()).as_posix(), target))
    assert links > 100
    return broken


def figures(estimates: pd.DataFrame, **values: str) -> pd.DataFrame:
    """Return the estimates with these values by metric; of McNemar's tests the one for the
    verdict."""
    rows = estimates[(estimates[list(values)] == list(values.values())).all(axis=1)]
    other = (rows["metric"] == "mcnemar") & ~rows["test"].str.startswith("mcnemar midp")
    assert rows.loc[~other, "metric"].is_unique
    return rows[~other].set_index("metric")


def board_rows(release: Release) -> dict[tuple[str, ...], list[str]]:
    """Return the rows of a PDF's boards by answer set, without the spaces: the overview, then
    each pair with every figure behind its verdict.
    """
    rows = {}
    for keys, own in release.estimates.groupby(list(UNIT_COLUMNS)):
        benchmark = release.benchmarks[keys[0]]
        pairs = {
            (attribute.name, *pair): figures(
                own, attribute=attribute.name, group_a=pair[0], group_b=pair[1]
            )
            for attribute in benchmark.varied
            for pair in attribute.pairs
        }
        original = figures(own, attribute="baseline").loc["accuracy_a"]
        overview = _share(original)
        for metric in ("ad", "cfr"):
            overview += "".join(_share(pair.loc[metric]) for pair in pairs.values())
        rows[keys] = [squeezed(overview), *(squeezed(_pair(pair)) for pair in pairs.values())]
    return rows


def _pair(pair: pd.DataFrame) -> str:
    gap = pair.loc["accuracy_difference"]
    known = "" if pd.isna(gap["estimate"]) else signed(gap["estimate"])
    text = f"{known}({signed(gap['ci_low'])}to{signed(gap['ci_high'])})"
    text += f"{MARKS[gap['verdict']]}{gap['verdict']}"
    text += gap["verdict_reason"] if isinstance(gap["verdict_reason"], str) else ""
    return text + "".join(_share(pair.loc[name]) for name in ("accuracy_a", "accuracy_b", "cfr"))


def p_words(p: float) -> str:
    """Return a p-value as shown, without its spaces."""
    return "p<0.001" if p < 0.001 else "p=1" if p == 1 else f"p={p:.3f}"


def _share(row: pd.Series) -> str:
    """Return a share in percent with its limits."""
    known = "" if pd.isna(row["estimate"]) else f"{100 * row['estimate']:.1f}"
    return f"{known}({100 * row['ci_low']:.1f}–{100 * row['ci_high']:.1f})"
