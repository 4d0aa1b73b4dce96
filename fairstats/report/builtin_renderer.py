"""Draw the same pages as Quarto with the built-in renderer: nbclient, pandoc and typst.

It supports the part of Quarto's dialect that the pages use (tests/report/test_dialect.py): a YAML
header, pandoc's Markdown, ``{python}`` cells with hidden code, and the ``include`` shortcode.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairstats._lib.atomic_files import temporary_folder
from fairstats._lib.formatting import convert
from fairstats._lib.problems import RenderError
from fairstats.release.contents import Release
from fairstats.report.page_context import (
    FORMAT_VARIABLE,
    PUBLISHED_VARIABLE,
    RELEASE_VARIABLE,
    Format,
)
from fairstats.report.site_pages import (
    HTML_TEMPLATE,
    NAVIGATION,
    PDF_PAGE,
    PROJECT,
    STYLE_SHEET,
    TYPST_TEMPLATE,
)

_CELL = re.compile(r"^```\{python\}[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_INCLUDE = re.compile(r"^\{\{< include (\S+) >\}\}[ \t]*$", re.MULTILINE)
_TO_PAGE = re.compile(r'(<a\b[^>]*? href=")(/?)([^":#]+)\.qmd([#"])')
_SECONDS_A_CELL = 600
#: Paths of sockets have 104 bytes on macOS and 108 on Linux; a number follows this one.
_LONGEST_SOCKET = 100
_PAGES_A_KERNEL = 8


class PageError(RenderError):
    """Raised when a cell of a page fails; the message names the page and the error."""


@dataclass
class _Page:
    """Hold a page's Markdown with its cells cut out, and the cells' output."""

    path: Path
    format: Format
    parts: list[str]
    cells: list[str]
    shown: list[str] = field(default_factory=list)

    @property
    def markdown(self) -> str:
        pieces = [self.parts[0]]
        for shown, part in zip(self.shown, self.parts[1:], strict=True):
            pieces += ["\n", shown, "\n", part]
        return "".join(pieces)


def render_builtin(
    release: Release, project: Path, pages: Sequence[str], *, site: Path, pdf: Path
) -> str:
    """Draw a staged project.

    Parameters
    ----------
    release : Release
        The release that the pages report.
    project : Path
        The folder that `fairstats.report.site_pages.stage` made.
    pages : sequence of str
        The pages of the site.
    site, pdf : Path
        Where to.

    Returns
    -------
    str
        The renderer and its parts with their versions.
    """
    import pypandoc

    html = [_read(project / page, "html") for page in pages]
    document = _read(project / PDF_PAGE, "typst")
    _execute([*html, document], _settings(release) | {PUBLISHED_VARIABLE: "1"})

    site.mkdir(parents=True, exist_ok=True)

    def write(page: _Page) -> None:
        with _named(page):
            _write_html(page, project, site)

    # Each page is a process of pandoc.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(write, html))
    (site / STYLE_SHEET).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(project / STYLE_SHEET, site / STYLE_SHEET)
    with _named(document):
        _write_pdf(document, project, pdf)
    return f"built-in, pandoc {pypandoc.get_pandoc_version()}"


def render_document(release: Release, project: Path, page: str, *, out: Path) -> None:
    """Draw one page of a staged project as a self-contained file.

    Parameters
    ----------
    release : Release
        The release that the page reports.
    project : Path
        The folder that `fairstats.report.site_pages.stage` made.
    page : str
        The page, below `project`.
    out : Path
        The file to write. Its suffix sets the format: ``.pdf``, or ``.html`` with style sheet and
        drawings in the file.
    """
    document = _read(project / page, "typst" if out.suffix == ".pdf" else "html")
    _execute([document], _settings(release))
    with _named(document):
        if out.suffix == ".pdf":
            _write_pdf(document, project, out)
            return
        text = html_page(
            document.markdown,
            template=project / HTML_TEMPLATE,
            style=str(project / STYLE_SHEET),
            metadata=[project / PROJECT],
            options=[
                "--embed-resources",
                "--metadata=document",
                # The title is the only heading of the first level.
                "--shift-heading-level-by=1",
            ],
        )
        out.write_text(text, encoding="utf-8")


@contextmanager
def _named(page: _Page) -> Iterator[None]:
    """Name the page that pandoc or typst could not process."""
    try:
        yield
    except RuntimeError as error:  # pypandoc's; typst's is one too
        raise PageError(f"{page.path.name} could not be drawn: {error}") from error


def _read(path: Path, format: Format) -> _Page:
    text = path.read_text(encoding="utf-8")
    # An included file may include others, one level deep.
    for _ in range(2):
        text = _INCLUDE.sub(
            lambda match: (path.parent / match[1]).read_text(encoding="utf-8"), text
        )
    pieces = _CELL.split(text)
    return _Page(path, format, parts=pieces[0::2], cells=pieces[1::2])


def _settings(release: Release) -> dict[str, str]:
    return {RELEASE_VARIABLE: str(release.path.resolve())}


def _execute(pages: Sequence[_Page], settings: dict[str, str]) -> None:
    """Run the cells of all pages in one kernel per core, since drawing takes most of the time.

    Each kernel runs several pages, since starting it and importing the plotting libraries takes
    longer than a page. Pages are dealt out in turn, because neighbouring pages are of one kind.
    """
    kernels = min(os.cpu_count() or 1, math.ceil(len(pages) / _PAGES_A_KERNEL))
    shares = [pages[number::kernels] for number in range(kernels)]
    loop = asyncio.new_event_loop()
    drawing = loop.create_task(_execute_all(shares, settings))
    try:
        # In the main thread nbclient would handle SIGINT itself: it ends the kernel and goes on.
        with ThreadPoolExecutor(1) as thread:
            done = thread.submit(loop.run_until_complete, drawing)
            try:
                done.result()
            except KeyboardInterrupt:
                loop.call_soon_threadsafe(drawing.cancel)
                raise
    finally:
        loop.close()


async def _execute_all(shares: Sequence[Sequence[_Page]], settings: dict[str, str]) -> None:
    """Run all shares at once; the first page that fails ends them all."""
    try:
        async with asyncio.TaskGroup() as group:
            for pages in shares:
                group.create_task(_execute_share(pages, settings))
    except ExceptionGroup as failed:
        first = failed.exceptions[0]
        raise first from first.__cause__


async def _execute_share(pages: Sequence[_Page], settings: dict[str, str]) -> None:
    """Run the cells of these pages in one kernel, each page in a separate namespace and folder."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.v4.new_notebook()
    owners: list[_Page | None] = []
    for page in pages:
        folder = str(page.path.parent.resolve())
        # Resetting collects garbage, which takes a second unless libraries are left out.
        opening = (
            f"%reset -f\nimport gc, os; gc.freeze(); os.chdir({folder!r}); "
            f"os.environ[{FORMAT_VARIABLE!r}] = {page.format!r}"
        )
        notebook.cells.append(nbformat.v4.new_code_cell(opening))
        owners.append(None)
        for cell in page.cells:
            notebook.cells.append(nbformat.v4.new_code_cell(cell))
            owners.append(page)
    async with page_kernel(settings) as manager:
        client = NotebookClient(notebook, km=manager, timeout=_SECONDS_A_CELL)
        try:
            await client.async_execute(cleanup_kc=True)
        except CellExecutionError as error:
            failed = next(
                owner.path.name
                for cell, owner in zip(notebook.cells, owners, strict=True)
                if owner and any(output.output_type == "error" for output in cell.outputs)
            )
            cause = f"{error.ename}: {error.evalue}"
            raise PageError(f"a cell of {failed} failed: {cause}") from error
    for cell, owner in zip(notebook.cells, owners, strict=True):
        if owner is not None:
            owner.shown.append("\n\n".join(_shown(output) for output in cell["outputs"]))


@asynccontextmanager
async def page_kernel(settings: dict[str, str]) -> AsyncIterator[Any]:
    """A kernel of this Python, independent of the kernels registered on the machine."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    with temporary_folder("kernel") as folder, _sockets(folder) as sockets:
        description = {
            "argv": [
                *(sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"),
                "--HistoryManager.enabled=False",
            ],
            "display_name": "fairstats",
            "language": "python",
            "env": settings | {"PYTHONWARNINGS": os.environ.get("PYTHONWARNINGS", "ignore")},
        }
        spec = folder / "fairstats" / "kernel.json"
        spec.parent.mkdir()
        spec.write_text(json.dumps(description), encoding="utf-8")
        manager = AsyncKernelManager(
            **sockets,
            kernel_name="fairstats",
            # Asked to end, a kernel often ignores the request, and would be killed 3 seconds later.
            shutdown_wait_time=0,
            # In this folder too, which is swept if the program is killed.
            connection_file=str(folder / "connection.json"),
            kernel_spec_manager=KernelSpecManager(
                kernel_dirs=[str(folder)], ensure_native_kernel=False
            ),
        )
        try:
            yield manager
        finally:
            if manager.has_kernel:
                await manager.shutdown_kernel(now=True)


@contextmanager
def _sockets(folder: Path) -> Iterator[dict[str, str]]:
    """Return sockets that only this user can open, if the system has them."""
    if os.name == "nt":
        yield {}
    elif len(os.fsencode(path := f"{folder}/socket")) <= _LONGEST_SOCKET:
        yield {"transport": "ipc", "ip": path}
    else:
        with temporary_folder("sockets", within=Path("/tmp")) as short:
            yield {"transport": "ipc", "ip": f"{short}/socket"}


def _shown(output: Any) -> str:
    """Return a cell's output in Markdown; printed text is not part of a page."""
    return str(output.get("data", {}).get("text/markdown", ""))


def html_page(
    markdown: str,
    *,
    template: Path,
    style: str,
    metadata: Sequence[Path],
    options: Sequence[str] = (),
    dialect: str = "markdown",
) -> str:
    """Return a page of the template, as HTML.

    Parameters
    ----------
    markdown : str
        The page, in the dialect that pandoc calls `dialect`.
    template : Path
        The template of the pages, ``reports/template.html``.
    style : str
        The address of the style sheet.
    metadata : sequence of Path
        YAML files with the values of the template.
    options : sequence of str
        Other options of pandoc.
    dialect : str
        ``markdown`` for pages of a release, ``gfm`` for documents that GitHub shows too.
    """
    arguments = [
        "--standalone",
        f"--template={template}",
        f"--css={style}",
        *(f"--metadata-file={path}" for path in metadata),
        "--mathml",
        "--wrap=none",
        *options,
    ]
    return convert(markdown, source=dialect, target="html5", options=arguments)


def _write_html(page: _Page, project: Path, site: Path) -> None:
    target = site / page.path.relative_to(project).with_suffix(".html")
    target.parent.mkdir(parents=True, exist_ok=True)
    text = html_page(
        page.markdown,
        template=project / HTML_TEMPLATE,
        style=Path(os.path.relpath(site / STYLE_SHEET, target.parent)).as_posix(),
        # Quarto reads these too: title, footer, search and navigation.
        metadata=[project / PROJECT, project / NAVIGATION],
        # In a site, which has other releases to link to.
        options=["--metadata=published"],
    )
    root = Path(os.path.relpath(site, target.parent)).as_posix()
    target.write_text(_to_pages(text, root), encoding="utf-8")


def _to_pages(text: str, root: str) -> str:
    """Point links to the pages' sources at the pages, as Quarto does.

    Examples
    --------
    >>> _to_pages('<a class="brand" href="/reports/data.qmd#files">, <a href="a.qmd">', "..")
    '<a class="brand" href="../reports/data.html#files">, <a href="a.html">'
    """
    return _TO_PAGE.sub(lambda m: f"{m[1]}{root + '/' if m[2] else ''}{m[3]}.html{m[4]}", text)


def _write_pdf(page: _Page, project: Path, pdf: Path) -> None:
    import typst

    source = page.path.with_suffix(".typ")
    convert(
        page.markdown,
        source="markdown",
        target="typst",
        options=["--standalone", f"--template={project / TYPST_TEMPLATE}", "--wrap=none"],
        out=source,
    )
    # Only typst's fonts, to make the PDF the same on every machine.
    typst.compile(str(source), output=str(pdf), root=str(project), ignore_system_fonts=True)
