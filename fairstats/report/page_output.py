"""Show the output of cells, in HTML and on paper: Markdown, tables, plots and boxes."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fairstats._lib.formatting import convert, escape_html, escape_markdown
from fairstats._lib.installation import resource
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import InputError, Problem, input_error
from fairstats.release.contents import (
    DEFAULT_SITE,
    DOWNLOADS,
    Release,
    formats_of,
    named_release,
    newest_release,
)
from fairstats.report.site_settings import read_settings

if TYPE_CHECKING:
    from great_tables import GT
    from matplotlib.figure import Figure
    from plotnine import ggplot


class FormatError(InputError):
    """Raised for a format in which tables and plots would be missing."""

    def _render_traceback_(self) -> list[str]:
        """Return what Jupyter shows in the place of a traceback."""
        return [str(self)]


@contextmanager
def box(name: str) -> Iterator[None]:
    """Put the output of the context into a box.

    `name` is the element's class, and the function of the typst template.
    """
    _show_raw(f'<div class="{name}">', f"#{name}[")
    yield
    _show_raw("</div>", "]")


@contextmanager
def columns() -> Iterator[Callable[[], None]]:
    """Show two columns next to each other; call the yielded function to begin the second."""
    _show_raw('<div class="two"><div>', "#two-columns[")
    yield lambda: _show_raw("</div><div>", "][")
    _show_raw("</div></div>", "]")


@contextmanager
def on_one_page() -> Iterator[None]:
    """Keep the output of the context on one page, on paper; it must not be longer."""
    if output_format() == "html":
        yield
    else:
        with box("on-one-page"):
            yield


def pieces(name: str, *texts: str) -> str:
    """Return texts next to each other, as Markdown.

    `name` is as in `box`; the function takes each text, which has no paragraphs.
    """
    if output_format() == "html":
        return f"[{' '.join(f'[{text}]{{.piece}}' for text in texts)}]{{.{name}}}"
    return f"`#{name}[`{{=typst}}{'`][`{=typst}'.join(texts)}`]`{{=typst}}"


def _show_raw(html: str, typst: str) -> None:
    if output_format() == "html":
        show_html(html)
    else:
        show_markdown(f"```{{=typst}}\n{typst}\n```")


#: The folder or name of the release to draw; by default the newest of `DEFAULT_SITE`.
RELEASE_VARIABLE = "FAIRSTATS_RELEASE"
#: Set by Quarto for each page: a JSON file that includes the output format.
QUARTO_VARIABLE = "QUARTO_EXECUTE_INFO"
#: Set for Quarto if the pages become part of a site with other releases to link to.
PUBLISHED_VARIABLE = "FAIRSTATS_PUBLISHED"

Format = Literal["html", "typst"]

# The colours of the plots, and the style sheet's names for them. In HTML a plot takes the page's
# colours, and so follows the reader's light or dark mode.
INK, DIM, RULE = "#1c2430", "#5b6675", "#d9d5cb"
ACCENT_A, ACCENT_B, BAND = "#b3471d", "#1f5f7a", "#e8eef0"
NEUTRAL_LIGHT, NEUTRAL_DARK = "#c9cfd4", "#8a949e"
# Inches, above which a plot is not squeezed into the width of a phone.
_NARROW = 6
# Rows of a table, up to which it is kept on one page.
_SHORT = 16
# The classes of great_tables' cells in the pages' style sheet and script.
_DRESSED = {
    "gt_right", "gt_center", "gt_stub",
    "gt_col_headings", "gt_group_heading_row", "gt_group_heading",
}  # fmt: skip
_VARIABLES = {
    INK: "ink", DIM: "dim", RULE: "rule", ACCENT_A: "a", ACCENT_B: "b", BAND: "band",
    NEUTRAL_LIGHT: "n1", NEUTRAL_DARK: "n2",
}  # fmt: skip


@dataclass(frozen=True)
class _Drawing:
    """A page that the built-in renderer draws."""

    release: Path
    format: Format
    in_site: bool


_DRAWING: ContextVar[_Drawing | None] = ContextVar("drawing", default=None)
#: The output collected so far, see `collected`.
_COLLECTED: ContextVar[list[str] | None] = ContextVar("collected", default=None)


@contextmanager
def drawing(release: Path, format: Format, *, in_site: bool = False) -> Iterator[None]:
    """Draw a page of this release, in this format; `in_site` if there are others to link to."""
    before = _DRAWING.set(_Drawing(release, format, in_site))
    try:
        yield
    finally:
        _DRAWING.reset(before)


@contextmanager
def collected() -> Iterator[list[str]]:
    """Give a list, to which all output until the end is added, as Markdown."""
    parts: list[str] = []
    before = _COLLECTED.set(parts)
    try:
        yield parts
    finally:
        _COLLECTED.reset(before)


def load_release(path: AnyPath | None = None) -> Release:
    """Load the release that the pages report.

    Parameters
    ----------
    path : path, optional
        The release's folder, or the name of a release in ``site/``. By default the release that is
        drawn, the one named in the environment variable ``FAIRSTATS_RELEASE``, or the newest in
        ``site/``. A path, and ``site/``, may be in the current folder or, in a Quarto project, in
        one above it up to the project's.
    """
    output_format()
    page = _DRAWING.get()
    chosen = path or (page and page.release) or os.environ.get(RELEASE_VARIABLE) or None
    found = newest_release() if chosen is None else named_release(Path(chosen))
    if found is None:
        message = "there is no release to draw" if chosen is None else "is not a release"
        remedy = (
            f"run `make demo` or `fairstats publish`, or set {RELEASE_VARIABLE} to the folder or "
            f"the name of a release"
        )
        raise input_error(chosen or DEFAULT_SITE, message, remedy)
    return Release(found)


def output_format() -> Format:
    """Return the output format of the running page.

    Other formats of Quarto are refused: tables and plots would be missing in them.
    """
    page = _DRAWING.get()
    if page is not None:
        return page.format
    if QUARTO_VARIABLE not in os.environ:
        return "html"
    info = Path(os.environ[QUARTO_VARIABLE])
    to = str(json.loads(info.read_text(encoding="utf-8"))["format"]["pandoc"]["to"])
    if to == "typst":
        return "typst"
    if to in ("html", "html4", "html5"):
        return "html"
    message = f"the tables and plots cannot be drawn for {to}"
    raise FormatError([Problem("--to", message, "use html, or typst for a PDF")])


def is_in_site() -> bool:
    """Return whether the page becomes part of a site with other releases to link to."""
    page = _DRAWING.get()
    return bool(os.environ.get(PUBLISHED_VARIABLE)) if page is None else page.in_site


def show_markdown(text: str) -> None:
    """Show text that is pandoc's Markdown; names in it have to be escaped."""
    parts = _COLLECTED.get()
    if parts is not None:
        parts.append(text)
        return
    # Quarto runs the cells in Jupyter.
    from IPython.display import Markdown, display

    display(Markdown(text))


def read_first(text: str) -> str:
    """Return what readers should know before the figures, as Markdown; empty if nothing is."""
    text = escape_markdown(text.strip())
    return f"::: note\n**Read this first.** {text}\n:::" if text else ""


def show_text(text: str) -> None:
    """Show text as it is, e.g. what a cell printed."""
    if text.strip():
        show_markdown(_fenced(text.rstrip()))


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

    `download` is the release's table with these figures; its files are named below this one.
    """
    # Without this, Quarto would take the table apart and drop what it does not know.
    whole = table.tab_options(quarto_disable_processing=True).as_raw_html()
    markup = slim(re.sub(r"<style>.*?</style>", "", whole, flags=re.DOTALL))
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
    with collected() as parts:
        yield
    show_markdown("\n\n".join([_fenced(opening, "html"), *parts, _fenced(closing, "html")]))


def download_links(table: str) -> str:
    """Links to the files of one of the release's tables, as HTML."""
    address = f"{page_root()}{DOWNLOADS}/{table}"
    names = {"csv": "CSV", "parquet": "Parquet"}
    return " · ".join(f'<a href="{address}.{kind}">{names[kind]}</a>' for kind in formats_of(table))


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


def _fenced(text: str, format: str = "") -> str:
    """Return a block of Markdown that its content cannot close: of code, or raw for a format."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(4, longest + 1)
    return f"{fence}{f'{{={format}}}' if format else ''}\n{text}\n{fence}"


def show_plot(plot: ggplot, *, name: str, alt: str, width: float, height: float) -> None:
    """Show a plot as SVG of this size in inches, with a text alternative."""
    svg = plot_svg(plot, width=width, height=height, name=name)
    svg = in_page_colours(svg) if output_format() == "html" else svg
    _show_svg(svg, name=name, alt=alt, width=width)


def show_figure(figure: Figure, *, name: str) -> None:
    """Show a figure of matplotlib, as SVG in its own colours; its title is the text alternative."""
    titles = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
    alt = next((title for title in titles if title), "Figure")
    svg = _saved(figure.savefig, {"svg.hashsalt": name}, bbox_inches="tight")
    _show_svg(svg, name=name, alt=alt)


def _show_svg(svg: str, *, name: str, alt: str, width: float | None = None) -> None:
    """Show a drawing; one that is too wide for a phone scrolls there, also by the keyboard."""
    if output_format() != "html":
        size = f"{{width={width}in}}" if width else ""
        show_markdown(f"![{escape_markdown(alt)}]({save_asset(f'{name}.svg', svg)}){size}")
        return
    label = f'aria-label="{escape_html(alt)}"'
    markup = svg[svg.index("<svg") :].replace("<svg ", f'<svg role="img" {label} ', 1)
    wide = (width or 0) > _NARROW
    box = f'"plot wide" role="group" tabindex="0" {label}' if wide else '"plot"'
    show_html(f"<figure class={box}>{markup}</figure>")


def in_page_colours(svg: str) -> str:
    """Give an SVG the colours of the page: in HTML those of the style sheet, by name.

    They change with light and dark mode. On paper, they are the publisher's.
    """
    if output_format() == "html":
        own = {name: f"var(--{name})" for name in _VARIABLES.values()}
    else:
        own = dict(read_settings(Path(page_root())).colours)
    return re.sub("|".join(_VARIABLES), lambda found: own.get(_VARIABLES[found[0]], found[0]), svg)


def save_asset(name: str, content: str) -> str:
    """Write an SVG next to the running page, in the page's colours; return its path from there."""
    folder = Path("assets")
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(in_page_colours(content), encoding="utf-8")
    return f"{folder.name}/{name}"


def plot_svg(plot: ggplot, *, width: float, height: float, name: str) -> str:
    """Return the SVG text of a plot; the same plot gives the same text."""
    # In a page text stays text, small and searchable. On paper it becomes outlines, which look the
    # same with any fonts. A name with dollar signs is a name, not a formula.
    kind = "none" if output_format() == "html" else "path"
    size = {"width": width, "height": height, "units": "in", "verbose": False}
    settings = {"svg.hashsalt": name, "svg.fonttype": kind, "text.parse_math": False}
    svg = _saved(plot.save, settings, **size, transparent=True)
    # The name keeps the ids of two plots of a page different.
    svg = re.sub(r'(id|href)="(#?)', rf'\1="\2{name}-', svg)
    return svg.replace("url(#", f"url(#{name}-")


def _saved(save: Callable[..., object], settings: Mapping[Any, Any], **how: Any) -> str:
    """Return what matplotlib saves as SVG."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    # A fixed salt keeps the ids the same at every run, and leaving out the date the file.
    with mpl.rc_context(dict(settings)):
        save(buffer, format="svg", metadata={"Date": None}, **how)
    return buffer.getvalue().decode()


def switch(name: str, legend: str, options: Mapping[str, str]) -> Markup:
    """Return radio buttons as HTML; the first one is chosen."""
    return filled("switch", name=name, legend=legend, options=options)


def switch_rules(scope: str, name: str, attribute: str, values: Sequence[str]) -> str:
    """Return the CSS that hides elements of values that are not chosen.

    `scope` is the id of the element that contains the control `name`, see `switch`, and what it
    switches. An element lists the values that it is shown for in its ``data-`` attribute, separated
    by spaces. One without it is always shown.

    Examples
    --------
    >>> print(switch_rules("board", "measure", "measure", ["cfr"]))
    #board:has(input[name="measure"][value="cfr"]:checked) \
[data-measure]:not([data-measure~="cfr"]){display:none}
    """
    rules = []
    for value in values:
        # A JSON string is a CSS string; "<" is escaped for the style element around it.
        quoted, control = (json.dumps(text).replace("<", "\\3c ") for text in (value, name))
        rules.append(
            f"#{scope}:has(input[name={control}][value={quoted}]:checked) "
            f"[data-{attribute}]:not([data-{attribute}~={quoted}]){{display:none}}"
        )
    return "\n".join(rules)


def filled(name: str, /, **values: Any) -> Markup:
    """Fill a template of `fairstats/report/templates`, named without its suffix.

    A text is escaped. `markupsafe.Markup`, which only this function makes, is not: templates can
    contain filled ones.
    """
    return Markup(_environment().get_template(f"{name}.html").render(values))


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("fairstats.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def page_root() -> str:
    """Return the path from the running page's folder to the site's first page, e.g. ``../``."""
    for depth, folder in enumerate((Path.cwd(), *Path.cwd().parents)):
        if (folder / "_quarto.yml").is_file():
            return "../" * depth
    return ""


_NOTES = ("reports", "_notes")


def prose(name: str, /, **words: str) -> str:
    """Return a note that sections show as it is, as Markdown.

    `words` replace ``{{name}}`` in it; names from outside have to be escaped. The project's own
    file comes first.
    """
    own = Path(page_root(), *_NOTES, f"{name}.md")
    path = own if own.is_file() else resource(*_NOTES, f"{name}.md")
    text = path.read_text(encoding="utf-8").strip()
    for word, value in words.items():
        text = text.replace(f"{{{{{word}}}}}", value)
    return text
