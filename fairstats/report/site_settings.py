"""A publisher's site: its settings in site.toml, and the pages and images next to it.

Pages come with a release, and `fairstats verify` draws them again. So a page is Markdown, and its
cells are those of the built-in pages: code that came with a release is never run.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, product
from pathlib import Path
from typing import Annotated, Any
from xml.parsers import expat

from pydantic import Field

from fairstats._lib.formatting import convert, escape_markdown
from fairstats._lib.installation import resource
from fairstats._lib.problems import InputError, Problem, collected, input_error, refuse
from fairstats._lib.toml_files import Table, must, parse, read_toml
from fairstats._lib.untrusted_files import read_once, read_text, refuse_links
from fairstats.release.contents import Release

SETTINGS = "site.toml"
#: The folder of a release with what its publisher changed.
OWN_PAGES = "pages"
#: The folder of paragraphs that sections show as they are, see `fairstats.report.page_output`.
NOTES = "reports/_notes"
#: The custom properties of the style sheet that are colours.
COLOURS = ("ink", "dim", "rule", "a", "b", "band", "n1", "n2", "paper", "tint", "good", "bad")
#: The colours of text, and those of the grounds that any of it may be on.
_TEXT, _GROUNDS = ("ink", "dim", "a", "b"), ("paper", "tint")
#: The least contrast of text with its ground: WCAG 2.2, level AA.
_LEAST_CONTRAST = 4.5
#: What Quarto and `fairstats.report.site_pages.prepare` make in ``reports/``.
MADE = (
    "models", "assets", ".quarto", "__pycache__", "navigation.yml", "leaderboard.qmd",
    "leaderboard.pdf",
)  # fmt: skip
#: A `{python}` cell of a page.
CELL = re.compile(r"^```\{python\}[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)

_LARGEST_PAGE, _LARGEST_IMAGE, _MOST_FILES = 1 << 20, 256 << 10, 100
#: The most megabytes and seconds that pandoc may need to read a page, and pixels of an image. A
#: built-in page takes a second; a page from somebody else can be written to take any amount.
_MOST_MEMORY_MB, _MOST_SECONDS, _MOST_PIXELS = 512, 60.0, 25_000_000
_LONGEST_FORMULA, _LARGEST_TEMPLATE, _MOST_LOOPS = 1_000, 1 << 16, 2
_PAGE_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,59}\.qmd")
_IMAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}\.(png|svg)")
#: The header of a page.
HEADER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_HEADER_LINE = re.compile(r"(title|root|page|headline): [^\n]*")
#: What opens a block that Quarto runs or passes to a format as it is.
_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[ \t]*(\{+[ \t]*=?[ \t]*\w[^\n]*)$", re.MULTILINE)
#: Syntax of Quarto that the built-in renderer does not have, with the remedy.
_UNKNOWN = {
    r"\{\{<": ("is a shortcode", "write its content into the page"),
    r"(?<![\w.@\\])@(?:fig|tbl|sec|eq|lst|thm)-[\w-]+": (
        "is a cross-reference",
        "link to the part instead, e.g. [the figure](#fig-x)",
    ),
    r"(?<!`)`\{+\w+\}+ ": ("is code within a text", "show its result in a cell"),
    r"^#\|.*$": ("is an option of a cell", "remove it: cells show only their output"),
}
_SVG = "http://www.w3.org/2000/svg"
_DRAWN = re.compile(
    "svg|g|defs|title|desc|path|rect|circle|ellipse|line|polyline|polygon|text|tspan"
    "|linearGradient|radialGradient|stop|clipPath|mask|pattern|use|symbol|style"
)
_PLAIN_SVG = "save it as a plain SVG with paths only, or as PNG"

_Text = Annotated[
    str,
    must(
        lambda text: len(text) <= 200 and text.isprintable(), "must be one short line", "shorten it"
    ),
]
_Title = Annotated[_Text, must(lambda text: text.strip(), "is empty", "write the name of the site")]
_Colour = Annotated[
    str, must(re.compile("#[0-9a-fA-F]{6}").fullmatch, "is not a colour", 'write e.g. "#1f5f7a"')
]
_Colours = Annotated[
    dict[str, _Colour],
    must(
        lambda found: set(found) <= set(COLOURS),
        "has a colour that the style sheet does not have",
        f"choose from: {', '.join(COLOURS)}",
    ),
]
_Pages = Annotated[
    tuple[str, ...],
    must(lambda names: len(set(names)) == len(names), "has a page twice", "name each page once"),
]
_Image = Annotated[
    str, must(_IMAGE_NAME.fullmatch, "is not the name of an image", 'write e.g. "logo.svg"')
]


class SiteSettings(Table):
    """The keys of site.toml.

    Attributes
    ----------
    title : str
        The site's name, on every page.
    publisher, licence : str
        Named at the end of every page; empty if not stated.
    logo : str
        An image in ``reports/``, next to the title.
    navigation : tuple of str
        The pages of the navigation in order, each by its file name without suffix. By default the
        built-in pages, then the publisher's.
    colours, dark_colours : dict of str to str
        Colours of the style sheet by name, for light and dark mode.
    """

    title: _Title = "fairstats"
    publisher: _Text = ""
    licence: _Text = ""
    logo: _Image | None = None
    navigation: _Pages = ()
    colours: _Colours = Field(default_factory=dict)
    dark_colours: _Colours = Field(default_factory=dict)

    @property
    def metadata(self) -> dict[str, Any]:
        """Return what the template shows, as metadata of pandoc."""

        def listed(colours: Mapping[str, str]) -> list[dict[str, str]]:
            return [{"name": name, "value": value[1:]} for name, value in colours.items()]

        shown = {
            "title": shown_text(self.title),
            "publisher": shown_text(self.publisher),
            "licence": shown_text(self.licence),
            "logo": self.logo or "",
            "colours": listed(self.colours),
            "dark-colours": listed(self.dark_colours),
        }
        return {"search": True} | {key: value for key, value in shown.items() if value}


def shown_text(text: str) -> str:
    """Return plain text as Markdown in metadata of Quarto, which takes the name of a file for it.

    Examples
    --------
    >>> shown_text("fairstats")
    '&#102;airstats'
    """
    return f"&#{ord(text[0])};{escape_markdown(text[1:])}" if text else ""


def read_settings(folder: Path) -> SiteSettings:
    """Read the settings of a folder; without a file, those of fairstats."""
    path = folder / SETTINGS
    if not path.is_file():
        return SiteSettings()
    settings = parse(SiteSettings, read_toml(path), path, example=f"docs/site.md, {SETTINGS}")
    refuse(_contrast_problems(str(path), settings))
    return settings


def settings_of(release: Release) -> SiteSettings:
    """Return the settings that a release was published with."""
    return read_settings(release.path / OWN_PAGES)


@dataclass(frozen=True)
class OwnPages:
    """What a publisher changed, as checked: the content of each file by its path."""

    settings: SiteSettings
    files: Mapping[str, bytes]

    def write(self, folder: Path) -> None:
        """Write the files into a folder."""
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)


def read_pages(folder: Path) -> OwnPages:
    """Read and check the files of a publisher's site.

    Parameters
    ----------
    folder : Path
        A folder with any of site.toml, index.qmd, and ``reports/`` with pages, images, style.css,
        template.html and the notes in ``_notes/``. Files that are the same as fairstats' are left
        out.
    """
    if not folder.is_dir():
        remedy = "give a folder; `fairstats site pages` writes one"
        raise input_error(folder, "is not a folder", remedy)
    folders = [folder / "reports", folder / NOTES]
    paths = [*(folder / name for name in (SETTINGS, "index.qmd", "_quarto.yml")), *folders]
    paths = [path for path in paths if path.is_symlink() or path.exists()]
    refuse_links(paths)
    inside = [path for one in folders if one.is_dir() for path in sorted(one.iterdir())]
    paths = [path for path in (*paths, *inside) if path not in folders]
    paths = [path for path in paths if path.name not in MADE and not path.name.startswith(".")]
    refuse_links(paths)
    if len(paths) > _MOST_FILES:
        message = f"has {len(paths)} files; the limit is {_MOST_FILES}"
        raise input_error(folder, message, "remove files that are not shown")
    files: dict[str, bytes] = {}
    problems: list[Problem] = []
    for path in paths:
        name = path.relative_to(folder).as_posix()
        with collected(problems):
            limit = _LARGEST_IMAGE if _IMAGE_NAME.fullmatch(path.name) else _LARGEST_PAGE
            content = read_once(path, limit).content
            if content != _built_in(name):
                problems += _file_problems(path, name, content)
                files[name] = content
    settings = SiteSettings()
    with collected(problems):
        settings = read_settings(folder)
        problems += _missing(folder, settings, files)
    refuse(problems)
    return OwnPages(settings, files)


def _built_in(name: str) -> bytes | None:
    """Return the content of the file of fairstats with this name, if there is one."""
    try:
        path = resource(*name.split("/"))
    except FileNotFoundError:
        return None
    return path.read_bytes() if path.is_file() else None


def _file_problems(path: Path, name: str, content: bytes) -> Iterator[Problem]:
    """Check one file that differs from that of fairstats."""
    if name == SETTINGS:
        return
    if name == "index.qmd" or _PAGE_NAME.fullmatch(path.name):
        yield from _page_problems(path, read_text(path, _LARGEST_PAGE))
    elif name.startswith(f"{NOTES}/") and _built_in(name) is not None:
        text = read_text(path, _LARGEST_PAGE)
        yield from dialect_problems(path, text)
        yield from _raw_problems(path, text)
    elif _IMAGE_NAME.fullmatch(path.name):
        yield from _image_problems(path, content)
    elif name == "reports/template.html":
        yield from _template_problems(path, read_text(path, _LARGEST_TEMPLATE))
    elif name == "reports/style.css":
        read_text(path)
    else:
        message = "cannot be part of a publisher's pages"
        remedy = (
            "restore the file of fairstats"
            if _built_in(name) is not None
            else "remove it; pages are named like own-page.qmd, images like logo.png or logo.svg"
        )
        yield Problem(str(path), message, remedy)


def _template_problems(path: Path, text: str) -> Iterator[Problem]:
    """Check what pandoc would do with a template."""
    # pandoc would read the file that a partial names.
    if match := re.search(r"\$\{?\s*[^\s${}():]*(?::[^\s${}()]*)?\(\)", text):
        message, remedy = "includes another file", "write its text"
        yield Problem(str(path), message, remedy, column="template", value=match[0])
    # Loops multiply the text in them.
    steps = (-1 if end else 1 for end in re.findall(r"\$\{?\s*(end)?for\b", text))
    if max(accumulate(steps), default=0) > _MOST_LOOPS:
        yield Problem(str(path), "has loops in loops in loops", "write them one after the other")


def _missing(folder: Path, settings: SiteSettings, files: Mapping[str, bytes]) -> Iterator[Problem]:
    """Check that what the settings name is there."""
    path = str(folder / SETTINGS)
    if settings.logo and f"reports/{settings.logo}" not in files:
        remedy = f"put it into {folder / 'reports'}"
        yield Problem(path, "no such image", remedy, column="logo", value=settings.logo)
    shipped = {one.stem for one in resource("reports").glob("[!_]*.qmd")} | {"index"}
    there = shipped | {Path(name).stem for name in files if name.endswith(".qmd")}
    for name in settings.navigation:
        if name not in there:
            remedy = f"choose from: {', '.join(sorted(there))}"
            yield Problem(path, "no such page", remedy, column="navigation", value=name)


def _contrast_problems(path: str, settings: SiteSettings) -> Iterator[Problem]:
    """Report text that the publisher's colours would make hard to read."""
    css = resource("reports", "style.css").read_text(encoding="utf-8")
    modes = re.findall(r":root\{(.*?)\}", css, re.DOTALL)
    of_publisher = {"colours": settings.colours, "dark_colours": settings.dark_colours}
    for (key, own), mode in zip(of_publisher.items(), modes, strict=True):
        used = dict(re.findall(r"--(\w+):(#[0-9a-f]{6});", mode)) | own
        for text, ground in product(_TEXT, _GROUNDS):
            ratio = contrast(used[text], used[ground])
            if ratio < _LEAST_CONTRAST and own.keys() & {text, ground}:
                name, other = (text, ground) if text in own else (ground, text)
                yield Problem(
                    path,
                    f"is too close to {other} ({used[other]}): text and its ground have a contrast "
                    f"of {ratio:.2f} to 1, and need {_LEAST_CONTRAST} (WCAG 2.2, level AA)",
                    "choose a darker colour for the text or a lighter one for the ground"
                    if key == "colours"
                    else "choose a lighter colour for the text or a darker one for the ground",
                    column=f"{key}.{name}",
                    value=used[name],
                )


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours as WCAG 2.2 defines it, from 1 to 21.

    Examples
    --------
    >>> contrast("#ffffff", "#000000")
    21.0
    """

    def luminance(colour: str) -> float:
        shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (
            share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
            for share in shares
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


@cache
def _known_cells() -> frozenset[str]:
    """Return the cells of the built-in pages."""
    pages = [resource("index.qmd"), *resource("reports").glob("[!_]*.qmd")]
    texts = (page.read_text(encoding="utf-8") for page in pages)
    return frozenset(cell.strip() for text in texts for cell in CELL.findall(text))


def dialect_problems(path: Path, text: str) -> Iterator[Problem]:
    """Report syntax of Quarto that the built-in renderer would not draw."""
    for pattern, (message, remedy) in _UNKNOWN.items():
        for match in re.finditer(pattern, text, re.MULTILINE):
            yield Problem(str(path), message, remedy, column=_line(text, match), value=match[0])
    for match in _FENCE.finditer(text):
        if match[0].rstrip() != "```{python}" and not match[1].startswith("{="):
            message, remedy = "is not a cell of the pages", "begin cells with ```{python}"
            yield Problem(str(path), message, remedy, column=_line(text, match), value=match[1])


def _line(text: str, match: re.Match[str]) -> str:
    return f"line {text.count(chr(10), 0, match.start()) + 1}"


def _page_problems(path: Path, text: str) -> Iterator[Problem]:
    """Check a publisher's page: Markdown, and cells of the built-in pages."""
    yield from dialect_problems(path, text)
    header = HEADER.match(text)
    lines = header[1].split("\n") if header else []
    if not any(line.startswith("title: ") for line in lines):
        yield Problem(str(path), "has no title", "begin it with ---, title: …, and ---")
    for line in lines:
        if not _HEADER_LINE.fullmatch(line):
            remedy = "a header has title, root, page and headline, one a line"
            message = "cannot be in the header of a page"
            yield Problem(str(path), message, remedy, column="header", value=line)
    if path.name != "index.qmd" and 'root: "../"' not in lines:
        yield Problem(str(path), "has no root in its header", 'add the line root: "../"')
    for number, cell in enumerate(CELL.findall(text), start=1):
        if cell.strip() not in _known_cells():
            message = "is not a cell of the built-in pages"
            remedy = (
                "remove it: `fairstats verify` draws the pages again, and runs no code that came "
                "with a release"
            )
            first = cell.strip().split("\n")[0]
            yield Problem(str(path), message, remedy, column=f"cell {number}", value=first)
    yield from _raw_problems(path, text)


def _raw_problems(path: Path, text: str) -> Iterator[Problem]:
    """Check what pandoc reads in Markdown: metadata and raw blocks."""
    raw: set[str] = set()
    longest = 0

    def note(node: dict[str, Any]) -> dict[str, Any]:
        nonlocal longest
        if node.get("t") in ("RawBlock", "RawInline"):
            raw.add(str(node["c"][0]))
        elif node.get("t") == "Math":
            longest = max(longest, len(node["c"][1]))
        return node

    try:
        limits: dict[str, Any] = {"memory": _MOST_MEMORY_MB, "seconds": _MOST_SECONDS}
        parsed = convert(text, source="markdown", target="json", **limits)
        document = json.loads(parsed, object_hook=note)
    except RuntimeError as error:  # pandoc's
        yield Problem(str(path), f"cannot be read ({error})", "correct it")
        return
    for key in sorted(set(document["meta"]) - {"title", "root", "page", "headline"}):
        yield Problem(str(path), "cannot be set by a page", "remove it", column=key)
    if longest > _LONGEST_FORMULA:
        # Typst ends the process if a formula is nested very deeply.
        message = f"has a formula of {longest:,} characters"
        yield Problem(str(path), message, f"use at most {_LONGEST_FORMULA:,}")
    for kind in sorted(raw - {"html", "tex"}):
        message = "is a raw block of a format that pages cannot have"
        yield Problem(str(path), message, "write Markdown or HTML", column="raw text", value=kind)


def _image_problems(path: Path, content: bytes) -> Iterator[Problem]:
    if path.suffix == ".png":
        if content[:16] != b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" or len(content) < 24:
            yield Problem(str(path), "is not a PNG file", "save the image as PNG")
        elif math.prod(struct.unpack(">II", content[16:24])) > _MOST_PIXELS:
            # A few kilobytes can unpack to gigabytes.
            yield Problem(str(path), f"has more than {_MOST_PIXELS:,} pixels", "make it smaller")
        return
    parser = expat.ParserCreate(namespace_separator=" ")

    def refuse(what: str) -> None:
        raise input_error(path, f"contains {what}", _PLAIN_SVG)

    def opened(name: str, attributes: dict[str, str]) -> None:
        space, _, tag = name.rpartition(" ")
        if space != _SVG or not _DRAWN.fullmatch(tag):
            refuse(f"<{tag}>, which is not part of a plain drawing")
        for key, value in attributes.items():
            local = key.rpartition(" ")[2].lower()
            if local.startswith("on") or (local == "href" and not value.startswith("#")):
                refuse(f"{local}={value[:40]!r}")

    parser.StartElementHandler = opened
    parser.StartDoctypeDeclHandler = lambda *_: refuse("a document type")
    parser.ProcessingInstructionHandler = lambda *_: refuse("a processing instruction")
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        yield Problem(str(path), f"is not an SVG file ({error})", _PLAIN_SVG)
    except InputError as error:
        yield from error.problems
