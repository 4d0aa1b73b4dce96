"""Show tables, plots and text in a page, in the format that the page is drawn for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from fairstats._lib.formatting import convert, escape_html, escape_markdown
from fairstats.release.contents import DOWNLOADS
from fairstats.report.drawing_cache import drawn_once
from fairstats.report.page_context import output_format

if TYPE_CHECKING:
    import pandas as pd
    from great_tables import GT
    from plotnine import ggplot


class _Declared(Protocol):
    @property
    def declaration(self) -> str: ...


T = TypeVar("T", bound=_Declared)

# The colours of the plots, and the style sheet's names for them. In HTML a plot takes the page's
# colours, and so follows the reader's light or dark mode.
INK, DIM, RULE, ACCENT_A, ACCENT_B, BAND = (
    "#1c2430",
    "#5b6675",
    "#d9d5cb",
    "#b3471d",
    "#1f5f7a",
    "#e8eef0",
)
NEUTRAL_LIGHT, NEUTRAL_DARK = "#c9cfd4", "#8a949e"
# Inches, above which a plot is not squeezed into the width of a phone.
_NARROW = 6
# Rows of a table, up to which it is kept on one page.
_SHORT = 16
# The classes of great_tables' cells in the pages' style sheet and script.
_DRESSED = {
    "gt_right",
    "gt_center",
    "gt_col_headings",
    "gt_group_heading_row",
    "gt_group_heading",
    "gt_stub",
}
#: The files that each table comes as.
KINDS = ("csv", "json", "parquet")
_VARIABLES = {
    INK: "var(--ink)",
    DIM: "var(--dim)",
    RULE: "var(--rule)",
    ACCENT_A: "var(--a)",
    ACCENT_B: "var(--b)",
    BAND: "var(--band)",
    NEUTRAL_LIGHT: "var(--n1)",
    NEUTRAL_DARK: "var(--n2)",
}


#: The output collected so far for a part of a page, see `closed`.
_COLLECTED: ContextVar[list[str] | None] = ContextVar("collected", default=None)


def show_markdown(text: str) -> None:
    """Show text that is pandoc's Markdown; names in it have to be escaped."""
    from IPython.display import Markdown, display

    collected = _COLLECTED.get()
    if collected is None:
        display(Markdown(text))
    else:
        collected.append(text)


def show_html(markup: str) -> None:
    """Show HTML in an HTML page.

    It is a raw block of Markdown: for output of the type text/html, Quarto loads libraries from the
    network.
    """
    show_markdown(_fenced(markup, "html"))


def show_table(
    table: GT, *, caption: str, css_class: str = "estimates", download: str | None = None
) -> None:
    """Show a great_tables table.

    In HTML its markup is used, with the pages' style sheet. For typst, pandoc converts the markup
    here, and both renderers typeset the same table. Quarto's conversion of HTML tables shows
    escaped text as entities.

    Parameters
    ----------
    table : great_tables.GT
        The table.
    caption : str
        The table's content, in plain text; names in it need no escaping.
    css_class : str
        Its class in the style sheet.
    download : str, optional
        The release's table with these figures; its files are named below this one.
    """
    markup = slim(re.sub(r"<style>.*?</style>", "", _markup(table), flags=re.DOTALL))
    opening = re.search(r"<table[^>]*>", markup)
    assert opening is not None
    at = opening.end()
    markup = f"{markup[:at]}<caption><span>{escape_html(caption)}</span></caption>{markup[at:]}"
    if output_format() != "html":
        show_markdown(typst_block(markup))
        return
    # A region that scrolls sideways has to be reachable by the keyboard, and to have a name.
    region = f'role="region" tabindex="0" aria-label="{escape_html(caption)}"'
    markup = f'<div class="table-wrap {css_class}" {region}>{markup}</div>'
    if download is not None:
        markup += f'<p class="downloads">{download}: {download_links(download)}</p>'
    show_html(markup)


@contextmanager
def closed(summary: str) -> Iterator[None]:
    """Hide the following output behind a line that opens it, in HTML; on paper it is open."""
    opening = f"<details><summary>{escape_html(summary)}</summary>"
    with enclosed(opening, "</details>"):
        yield


@contextmanager
def enclosed(opening: str, closing: str) -> Iterator[None]:
    """Enclose the following output in HTML; on paper, show it alone.

    It becomes one output of the cell. Quarto puts each output into a separate element, which would
    close an element that another output opens.
    """
    if output_format() != "html":
        yield
        return
    parts = [_fenced(opening, "html")]
    collecting = _COLLECTED.set(parts)
    try:
        yield
    finally:
        _COLLECTED.reset(collecting)
    show_markdown("\n\n".join([*parts, _fenced(closing, "html")]))


def download_links(table: str) -> str:
    """Links to the files of one of the release's tables, as HTML."""
    address = f"{page_root()}{DOWNLOADS}/{table}"
    names = {"csv": "CSV", "json": "JSON", "parquet": "Parquet"}
    return " · ".join(f'<a href="{address}.{kind}">{names[kind]}</a>' for kind in KINDS)


def slim(markup: str) -> str:
    """Remove from a table's markup what only great_tables' style sheet and script would use.

    Scopes connect headings and cells for screen readers. Naming the headings in every cell as well
    makes a page of figures half as long again.
    """
    markup = re.sub(r' (headers|rowspan="1"|colspan="1")(="[^"]*")?', "", markup)
    markup = re.sub(r' id="[^"]*-stub-\d+"', "", markup)
    return re.sub(
        r'class="([^"]*\bgt_[^"]*)"',
        lambda match: f'class="{" ".join(c for c in match[1].split() if c in _DRESSED)}"',
        markup,
    ).replace(' class=""', "")


def page_root() -> str:
    """Return the path from the running page's folder to the site's first page, e.g. ``../``."""
    for depth, folder in enumerate((Path.cwd(), *Path.cwd().parents)):
        if (folder / "_quarto.yml").is_file():
            return "../" * depth
    return ""


def _markup(table: GT) -> str:
    # Without this, Quarto would take the table apart and drop what it does not know.
    return str(table.tab_options(quarto_disable_processing=True).as_raw_html())


def typst_block(markup: str) -> str:
    """Return a raw typst block, in pandoc's Markdown, with the same content as an HTML table."""
    # pandoc reads the alignment of a cell from its style, great_tables gives it by class.
    aligned = re.sub(
        r'class="([^"]*\bgt_(right|center)\b[^"]*)"',
        r'class="\1" style="text-align: \2"',
        markup,
    )
    typst = convert(aligned, source="html", target="typst", options=["--wrap=none"])
    # pandoc centres every table; ours are set by their columns.
    typst = typst.replace("align(center)", "align(left)")
    # It makes columns equally wide if a cell has several lines: each is as wide as it needs.
    typst = re.sub(r"columns: \((?:([\d.]+%)(?:, \1)+)\)", _needed, typst)
    # A short table that a page break splits is hard to read.
    if markup.count("<tr") <= _SHORT:
        typst = f"#block(breakable: false)[\n{typst}\n]"
    return _fenced(typst, "typst")


def _needed(columns: re.Match[str]) -> str:
    return f"columns: {columns[0].count('%')}"


def _fenced(text: str, kind: str) -> str:
    """Return a raw block of Markdown, in a fence that its content cannot close."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(4, longest + 1)
    return f"{fence}{{={kind}}}\n{text}\n{fence}"


def show_plot(
    draw: Callable[[pd.DataFrame, T], ggplot],
    rows: pd.DataFrame,
    declared: T,
    *,
    name: str,
    alt: str,
    width: float,
    height: float,
) -> None:
    """Show a plot as SVG, with a text alternative.

    Parameters
    ----------
    draw : callable
        Returns the plot, in the colours of this module, from `rows` and `declared`.
    rows : pandas.DataFrame
        The figures to draw.
    declared : Benchmark or Release
        Provides their names. With `rows` it decides whether the plot was drawn before.
    name : str
        The plot's name, unique on the page.
    alt : str
        The plot's content, in a sentence.
    width, height : float
        Size in inches.
    """
    parts = [draw.__name__, name, output_format(), f"{width} {height}", declared.declaration, rows]
    svg = drawn_once(
        parts, lambda: plot_svg(draw(rows, declared), width=width, height=height, name=name)
    )
    if output_format() == "html":
        svg = in_page_colours(svg)
        label = f'role="img" aria-label="{escape_html(alt)}"'
        markup = svg[svg.index("<svg") :].replace("<svg ", f"<svg {label} ", 1)
        # A plot too wide for a phone scrolls there, also by the keyboard.
        wide = width > _NARROW
        scrolls = f' wide" role="group" tabindex="0" aria-label="{escape_html(alt)}' if wide else ""
        show_html(f'<figure class="plot{scrolls}">{markup}</figure>')
        return
    file = save_asset(f"{name}.svg", svg)
    show_markdown(f"![{escape_markdown(alt)}]({file}){{width={width}in}}")


def in_page_colours(svg: str) -> str:
    """Give an SVG the style sheet's colours, which change with light and dark mode."""
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    return svg


def save_asset(name: str, content: str) -> str:
    """Write an image next to the running page and return its path from there."""
    folder = Path("assets")
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(content, encoding="utf-8")
    return f"{folder.name}/{name}"


def plot_svg(plot: ggplot, *, width: float, height: float, name: str) -> str:
    """Return the SVG text of a plot; the same plot gives the same text."""
    import io

    import matplotlib as mpl

    buffer = io.BytesIO()
    # A fixed salt keeps the ids the same at every run, and leaving out the date keeps the file the
    # same. The name keeps the ids of two plots of a page different. In a page text stays text,
    # small and searchable. On paper it becomes outlines, which look the same with any fonts. A name
    # with dollar signs is a name, not a formula.
    kind = "none" if output_format() == "html" else "path"
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": kind, "text.parse_math": False}):
        plot.save(
            buffer,
            format="svg",
            width=width,
            height=height,
            units="in",
            verbose=False,
            metadata={"Date": None},
            transparent=True,
        )
    return re.sub(r'(id|href)="(#?)', rf'\1="\2{name}-', buffer.getvalue().decode()).replace(
        "url(#", f"url(#{name}-"
    )
