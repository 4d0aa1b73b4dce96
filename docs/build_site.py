"""Write the documentation as a static site: `make docs`, then open site/docs/index.html.

The pages are the Markdown files of this folder, in the order of navigation.toml, and the API pages
made from the docstrings. They have the template and the style sheet of a board's pages. The code of
the guides is run, and its output is shown below it. Nothing is loaded from other sites.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from api_pages import api_pages
from guide_cells import Ran, run_guide

import fairstats
from fairstats._lib.formatting import escape_markdown
from fairstats.report.render import html_page

DOCS = Path(__file__).parent
ROOT = DOCS.parent
NAVIGATION = DOCS / "navigation.toml"
FIRST, GUIDES = "index.md", "guides"
STYLE_SHEET = "style.css"
_SOURCE = "https://github.com/fairstats/fairstats"
_FOOTER = (
    f"fairstats {fairstats.__version__}, GPL-3.0-or-later. [Source code]({_SOURCE}) · "
    f"[Changes]({_SOURCE}/blob/main/CHANGELOG.md) · "
    f"[Contributing]({_SOURCE}/blob/main/CONTRIBUTING.md)"
)
_LINK = re.compile(r'(<(?:a|img)\b[^>]*? (?:href|src)=")([^"]*)(")')
_LONGEST_DESCRIPTION = 160
#: pandoc's names of syntaxes, if others are used. For one that it does not know, it reads all of
#: its syntaxes, which takes longer than to draw the page.
_SYNTAX = {"sh": "bash", "csv": "", "text": ""}


class SiteError(ValueError):
    """Raised when a page or a link is missing; the message names both ends."""


@dataclass(frozen=True)
class Group:
    """A group of pages in the navigation.

    Attributes
    ----------
    text, top : str
        Its name, and the entry at the top of the pages that it belongs to.
    pages : mapping of str to str
        The name of each page by its path below this folder.
    """

    text: str
    top: str
    pages: Mapping[str, str]


def build(out: Path, *, run: bool = True) -> list[Path]:
    """Write the site.

    Parameters
    ----------
    out : Path
        The folder to write to; it is emptied first. If it is in a board's site, pages link to it.
    run : bool
        Whether to run the code of the guides, which takes most of the time.

    Returns
    -------
    list of Path
        The pages.

    Raises
    ------
    SiteError
        If a file is not in the navigation, or a link leads nowhere.
    """
    made = api_pages()
    groups = navigation(made)
    texts = {
        path: made[path].text if path in made else (DOCS / path).read_text(encoding="utf-8")
        for group in groups
        for path in group.pages
    }
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    shutil.copyfile(ROOT / "reports" / STYLE_SHEET, out / STYLE_SHEET)
    guides = [path for path in texts if path == FIRST or path.startswith(f"{GUIDES}/")]
    ran = {path: run_guide(DOCS / path, DOCS / GUIDES) for path in guides if run}

    def draw(path: str) -> Path:
        text = texts[path]
        if path in ran:
            text = _written(ran[path], out / path)
        target = out / PurePosixPath(path).with_suffix(".html")
        target.parent.mkdir(parents=True, exist_ok=True)
        html = _page(path, text, groups, out)
        target.write_text(_with_links(html, path, set(texts), out), encoding="utf-8")
        return target

    # pandoc runs in other processes.
    with ThreadPoolExecutor() as pool:
        pages = list(pool.map(draw, texts))
    if wrong := list(broken_links(out)):
        raise SiteError("\n".join(wrong))
    return pages


def navigation(made: Mapping[str, object] = {}) -> list[Group]:
    """Return the groups of navigation.toml, which has to list every Markdown file once.

    Parameters
    ----------
    made : mapping of str to ApiPage
        The API pages by path.
    """
    declared = tomllib.loads(NAVIGATION.read_text(encoding="utf-8"))["group"]
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    listed = [path for group in declared for path in group.get("pages", {})]
    if unlisted := sorted(there - set(listed)):
        raise SiteError(f"{NAVIGATION} does not list {', '.join(unlisted)}; add a line for each")
    if twice := sorted({path for path in listed if listed.count(path) > 1}):
        raise SiteError(f"{NAVIGATION} lists {', '.join(twice)} twice; remove one line of each")
    groups = []
    for group in declared:
        if group.get("api"):
            pages = {path: page.name for path, page in made.items()}
        else:
            pages = {path: name for path, name in group["pages"].items() if path in there}
        if pages:
            groups.append(Group(group["text"], group.get("top", group["text"]), pages))
    return groups


def title_of(text: str) -> tuple[str, str]:
    """Return the title of a page, and the page without it."""
    first, _, rest = text.lstrip().partition("\n")
    if not first.startswith("# "):
        raise SiteError(f"a page has to begin with its title, # …, but begins with {first!r}")
    return first.removeprefix("# ").strip(), rest


def description_of(text: str) -> str:
    """Return the first paragraph of a page in plain words, cut at the end of a word.

    Examples
    --------
    >>> description_of("# T\\n\\n```sh\\nls\\n```\\n\\nRead `x` in [the\\nguide](a.md).\\n")
    'Read x in the guide.'
    """
    _, body = title_of(text)
    body = re.sub(r"(?ms)^```.*?^```$|^<.*?>$", "", body)
    for block in re.split(r"\n\s*\n", body):
        block = block.strip("\n")
        if not block.strip() or re.match(r" {4}|[#|!>-]|\d+\.", block):
            continue
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(block.split()))
        words = re.sub(r"[`*]|\$[^$]*\$", "", words).rstrip(":")
        if len(words) > _LONGEST_DESCRIPTION:
            words = words[:_LONGEST_DESCRIPTION].rsplit(" ", 1)[0] + " …"
        return words
    raise SiteError("a page has to have a paragraph, which describes it to search engines")


def _page(path: str, text: str, groups: list[Group], out: Path) -> str:
    """Draw a page; its links are still those of the sources."""

    def to(other: str) -> str:
        return PurePosixPath(os.path.relpath(other, PurePosixPath(path).parent)).as_posix()

    title, body = title_of(text)
    here = next(group for group in groups if path in group.pages)
    tops = {group.top: next(iter(group.pages)) for group in reversed(groups)}
    data = {
        "title": title,
        "description": escape_markdown(description_of(text)),
        "page": "docs",
        "home": to(FIRST),
        "frame": {"title": "fairstats"},
        "footer": _FOOTER,
        "pages": [
            {"text": top, "href": to(tops[top]), "current": top == here.top}
            for top in dict.fromkeys(group.top for group in groups)
        ],
        "groups": [
            {
                "text": group.text,
                "pages": [
                    {"text": name, "href": to(page), "current": page == path}
                    for page, name in group.pages.items()
                ],
            }
            for group in groups
        ],
    }
    if (out.parent / "releases.json").exists():
        data["board"] = os.path.relpath(out.parent / "index.html", (out / path).parent)
    with tempfile.TemporaryDirectory(prefix="fairstats-docs-") as folder:
        metadata = Path(folder, "page.json")
        # JSON is YAML.
        metadata.write_text(json.dumps(data), encoding="utf-8")
        return html_page(
            re.sub(r"(?m)^```(\w+)$", lambda fence: f"```{_SYNTAX.get(fence[1], fence[1])}", body),
            template=ROOT / "reports" / "template.html",
            style=to(STYLE_SHEET),
            metadata=[metadata],
            options=["--toc", "--toc-depth=2"],
            dialect="gfm",
        )


def _with_links(html: str, path: str, sources: set[str], out: Path) -> str:
    """Point links between sources at the pages, and others of the repository at its host."""

    def replaced(match: re.Match[str]) -> str:
        address, hash, fragment = match[2].partition("#")
        if not address or re.match(r"[a-z]+:", address):
            return match[0]
        file = Path(os.path.normpath((DOCS / path).parent / unquote(address)))
        inside = file.relative_to(DOCS).as_posix() if file.is_relative_to(DOCS) else None
        if inside in sources:
            address = str(PurePosixPath(address).with_suffix(".html"))
        elif Path(os.path.normpath((out / path).parent / unquote(address))).exists():
            pass
        elif not file.exists():
            raise SiteError(f"docs/{path} links to {address}, which does not exist")
        elif inside is not None and file.is_file() and file.suffix != ".py":
            (out / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, out / inside)
        else:
            kind = "tree" if file.is_dir() else "blob"
            address = f"{_SOURCE}/{kind}/main/{file.relative_to(ROOT).as_posix()}"
        return f"{match[1]}{address}{hash}{fragment}{match[3]}"

    # What scrolls can be reached by the keyboard.
    return _LINK.sub(replaced, html).replace("<pre", '<pre tabindex="0"')


def _written(ran: Ran, page: Path) -> str:
    """Write the notebook and the plots of a guide; return its page with a link to the notebook."""
    page.parent.mkdir(parents=True, exist_ok=True)
    notebook = page.with_suffix(".ipynb")
    notebook.write_text(ran.notebook, encoding="utf-8")
    for name, content in ran.images.items():
        (page.parent / name).write_bytes(content)
    title, body = title_of(ran.text)
    link = (
        f'<p class="downloads">Download: <a href="{notebook.name}">this page as a notebook</a></p>'
    )
    return f"# {title}\n\n{link}\n{body}"


class _Addresses(HTMLParser):
    """Collect the ids of a page, and the addresses that it links to or loads."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.addresses.append(value)


def broken_links(site: Path) -> Iterator[str]:
    """Name each link between the pages of a folder that leads nowhere.

    Parameters
    ----------
    site : Path
        A folder of pages.
    """
    pages = {}
    for page in sorted(site.rglob("*.html")):
        pages[page] = found = _Addresses()
        found.feed(page.read_text(encoding="utf-8"))
    for page, found in pages.items():
        for link in found.addresses:
            if re.match(r"[a-z]+:", link):
                continue
            address, _, fragment = link.partition("#")
            target = Path(os.path.normpath(page.parent / unquote(address))) if address else page
            name = page.relative_to(site).as_posix()
            if not target.exists():
                yield f"{name} links to {link}, which does not exist"
            elif fragment and target in pages and unquote(fragment) not in pages[target].ids:
                yield f"{name} links to {link}, which has no such heading"


def main() -> None:
    """Build the site, and print its first page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "site" / "docs", help="folder to write")
    parser.add_argument("--no-run", action="store_true", help="do not run the code of the guides")
    given = parser.parse_args()
    try:
        pages = build(given.out.resolve(), run=not given.no_run)
    except SiteError as error:
        sys.exit(str(error))
    print(f"{len(pages)} pages: {given.out / 'index.html'}")


if __name__ == "__main__":
    main()
