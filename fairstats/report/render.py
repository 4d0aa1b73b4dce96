"""Draw a release's pages, with Quarto if it is available, or with the built-in renderer.

The built-in renderer is Python, pandoc and typst. It supports the part of Quarto's dialect that the
pages use (tests/report/test_dialect.py): a YAML header, pandoc's Markdown, ``{python}`` cells with
hidden code, conditional content and callouts (quarto.lua). Cells run in this process, each page in
a separate namespace.
"""

from __future__ import annotations

import ast
import importlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import (
    AbstractContextManager,
    chdir,
    contextmanager,
    nullcontext,
    redirect_stdout,
)
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from fairstats._lib.atomic_files import temporary_folder, whole_file
from fairstats._lib.formatting import convert, counted, escape_markdown
from fairstats._lib.installation import __version__
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import InputError, RenderError, input_error, keyword
from fairstats._lib.processes import Watch, cores, pool_of_copies, unwatched
from fairstats._lib.safe_names import file_sha256
from fairstats.answers.files import write_parquet
from fairstats.release.contents import DOWNLOADS, MANIFEST, Release
from fairstats.report.page_output import (
    PUBLISHED_VARIABLE,
    RELEASE_VARIABLE,
    Format,
    collected,
    drawing,
    output_format,
    show_figure,
    show_html,
    show_markdown,
    show_text,
    typst_block,
)
from fairstats.report.site_pages import (
    HTML_TEMPLATE,
    NAVIGATION,
    PDF_PAGE,
    PROJECT,
    STYLE_SHEET,
    TYPST_TEMPLATE,
    copy_pages,
    images,
    stage,
    with_page_texts,
    write_search_index,
)
from fairstats.report.site_settings import (
    CELL,
    OWN_PAGES,
    SETTINGS,
    dialect_problems,
    read_settings,
)
from fairstats.report.tables import with_breaks

#: The first Quarto that draws the pages; `_quarto.yml` requires it too.
_OLDEST_QUARTO = (1, 9)
#: The modules with which Quarto runs the cells in this Python.
_QUARTO_NEEDS = ("ipykernel", "nbclient", "yaml")

#: The name of this stage of publishing.
DRAWING = "drawing pages"
#: As many pages are drawn in less time than copies of a process take.
_FEW_PAGES = 16
#: Libraries with which pages draw tables.
_LIBRARIES = ("great_tables", "scipy.stats")

Renderer = Literal["auto", "quarto", "builtin"]


def render(
    release: Release,
    *,
    site: Path,
    pdf: Path,
    renderer: Renderer = "auto",
    watch: Watch = unwatched,
) -> str:
    """Draw the site and the PDF of a release; return the renderer with its version.

    ``auto`` uses Quarto 1.9 or newer if it is on the path, else the built-in renderer. `watch` gets
    the pages that are drawn.
    """
    program = None
    if renderer != "builtin" and all(map(find_spec, _QUARTO_NEEDS)):
        program = shutil.which("quarto")
    if renderer == "quarto" and program is None:
        raise RenderError(
            "Quarto cannot be used: there is no `quarto` on the path, or no "
            f"{', '.join(_QUARTO_NEEDS)} in this Python. Run pip install 'fairstats[quarto]' for "
            f"all of them, or use {keyword('renderer', 'builtin')}, which draws the same pages"
        )
    version = quarto_version(program) if program else ""
    if program and _parts(version) < _OLDEST_QUARTO:
        if renderer == "quarto":
            raise RenderError(
                f"Quarto {version} is too old: install 1.9 or newer, or use "
                f"{keyword('renderer', 'builtin')}, which draws the same pages"
            )
        program = None
    # Pages read many single cells, which is slow from the arrays of arrow.
    quick = pd.option_context("mode.string_storage", "python")
    with temporary_folder("pages") as project, quick:
        pages = stage(release, project)
        watch(DRAWING, 0, len(pages))
        if program is None:
            drawn_by = render_builtin(release, project, pages, site=site, pdf=pdf, watch=watch)
        else:
            _render_quarto(program, release, project, site=site, pdf=pdf)
            drawn_by = f"quarto {version}"
        for image in images(project):
            shutil.copyfile(project / image, site / image)
    write_search_index(site)
    return drawn_by


def quarto_version(program: str) -> str:
    """Return the version that a Quarto program reports, e.g. ``1.10.18``."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _parts(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, for comparison; empty if it has no number."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _render_quarto(program: str, release: Release, project: Path, *, site: Path, pdf: Path) -> None:
    environment = {
        **os.environ,
        RELEASE_VARIABLE: str(release.path.resolve()),
        PUBLISHED_VARIABLE: "1",
        # The pages' cells have to run where fairstats is installed.
        "QUARTO_PYTHON": sys.executable,
    }
    _call([program, "render", "--metadata", "published:true"], project, environment)
    shutil.copytree(project / "_site", site, dirs_exist_ok=True)
    # Outside the website project: there, Quarto would add the PDF to the site.
    folder = project / "pdf"
    shutil.copytree(project / "reports", folder)
    page = folder / Path(PDF_PAGE).name
    _call([program, "render", page.name, "--to", "typst"], folder, environment)
    shutil.move(page.with_suffix(".pdf"), pdf)


def _call(command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        command, cwd=folder, env=dict(environment), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise RenderError(f"{' '.join(command)} failed:\n{last}")


#: What Quarto's filters do, for pandoc.
_QUARTO = f"--lua-filter={Path(__file__).with_name('quarto.lua')}"
_TO_PAGE = re.compile(r'(<a\b[^>]*? href=")(/?)([^":#]+)\.qmd([#"])')


class PageError(RenderError):
    """Raised when a cell of a page fails; the message names the page and the error."""


@dataclass(frozen=True)
class _Page:
    """A page's Markdown with its cells cut out; ``parts`` are before, between and after them."""

    path: Path
    format: Format
    parts: list[str]
    cells: list[str]


def render_builtin(
    release: Release,
    project: Path,
    pages: Sequence[str],
    *,
    site: Path,
    pdf: Path,
    watch: Watch = unwatched,
) -> str:
    """Draw the pages that `fairstats.report.site_pages.stage` put into a folder, as `render`."""
    import pypandoc

    # Cells run in the folder of their page.
    site, pdf, project = site.resolve(), pdf.resolve(), project.resolve()
    path = release.path.resolve()
    document = _read(project / PDF_PAGE, "typst")
    html = [_read(project / page, "html") for page in pages]
    with _pool(len(html)) as pool:
        if isinstance(pool, ProcessPoolExecutor):
            drawn = [pool.submit(_drawn_page, page, path, project) for page in html]
            # Here, because typst waits for ever in a copy of a process that has used it before.
            _write_pdf(document, _run(document, path, True), project, pdf)
        else:
            # Pandoc, a process, formats a page while the next pages run their cells.
            typeset = pool.submit(_write_pdf, document, _run(document, path, True), project, pdf)
            drawn = [pool.submit(_site_page, p, _run(p, path, True), project) for p in html]
            typeset.result()
        texts = []
        for one in drawn:
            texts.append(one.result())
            watch(DRAWING, len(texts), len(pages))
    for page, text in zip(html, texts, strict=True):
        target = site / page.path.relative_to(project).with_suffix(".html")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    shutil.copyfile(project / STYLE_SHEET, site / STYLE_SHEET)
    return f"built-in, pandoc {pypandoc.get_pandoc_version()}"


def _drawn_page(page: _Page, release: Path, project: Path) -> str:
    """Run the cells of a page of a site; return it as HTML."""
    return _site_page(page, _run(page, release, True), project)


def _pool(pages: int) -> AbstractContextManager[Executor]:
    """Give copies of this process if they are possible and worth it, else threads."""
    if cores() == 1 or pages <= _FEW_PAGES:
        return ThreadPoolExecutor(os.cpu_count() or 1)
    # Loaded before the process is copied: each copy would load them again.
    for name in _LIBRARIES:
        importlib.import_module(name)
    return pool_of_copies("draws pages")


def render_document(release: Release, project: Path, page: str, *, out: Path) -> None:
    """Draw one page of a staged project as a self-contained file.

    The suffix of `out` sets the format: ``.pdf``, or ``.html`` with style sheet and drawings in it.
    """
    project, out = project.resolve(), out.resolve()
    document = _read(project / page, "typst" if out.suffix == ".pdf" else "html")
    markdown = _run(document, release.path.resolve(), False)
    if out.suffix == ".pdf":
        _write_pdf(document, markdown, project, out)
        return
    with _named(document):
        text = html_page(
            markdown,
            template=project / HTML_TEMPLATE,
            style=str(project / STYLE_SHEET),
            metadata=[project / PROJECT],
            options=[
                _QUARTO,
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
    except RuntimeError as error:  # pandoc's; typst's is one too
        raise PageError(f"{page.path.name} could not be drawn: {error}") from error


def _read(path: Path, format: Format) -> _Page:
    text = path.read_text(encoding="utf-8")
    if problems := list(dialect_problems(path, text)):
        raise PageError(str(InputError(problems)))
    pieces = CELL.split(text)
    return _Page(path, format, parts=pieces[0::2], cells=pieces[1::2])


def _run(page: _Page, release: Path, in_site: bool) -> str:
    """Run the cells of a page in its folder; return its Markdown with their output."""
    names: dict[str, Any] = {"__name__": "__main__"}
    pieces = [page.parts[0]]
    page_of = drawing(release, page.format, in_site=in_site)
    with page_of, chdir(page.path.parent), _isolated():
        for number, (cell, text) in enumerate(zip(page.cells, page.parts[1:], strict=True), 1):
            name = f"{page.path.stem}-{number}"
            with collected() as shown, redirect_stdout(io.StringIO()) as printed:
                try:
                    with _showing_figures(name):
                        _execute(cell, name, names)
                except (Exception, SystemExit) as error:
                    cause = f"{type(error).__name__}: {error}"
                    output = printed.getvalue().strip()
                    more = f"; it printed: {output}" if output else ""
                    raise PageError(
                        f"cell {number} of {page.path.name} failed: {cause}{more}"
                    ) from error
                show_text(printed.getvalue())
            pieces += ["\n", "\n\n".join(shown), "\n", text]
    return "".join(pieces)


def _execute(cell: str, name: str, names: dict[str, Any]) -> None:
    """Run a cell, and show the value of its last line as Jupyter does."""
    body = ast.parse(cell, name).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), name, "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), name, "eval"), names)
        if value is not None:
            _show(value, name)


def _show(value: Any, name: str) -> None:
    """Show a value as Jupyter does, or refuse one that would need its scripts."""
    if (written := getattr(value, "_repr_markdown_", lambda: None)()) is not None:
        show_markdown(written)
    elif hasattr(value, "draw") and type(value).__module__.startswith("plotnine"):
        show_figure(value.draw(), name=f"{name}-plot")
    elif (written := getattr(value, "_repr_html_", lambda: None)()) is not None:
        show_html(written) if output_format() == "html" else show_markdown(typst_block(written))
    elif hasattr(value, "_repr_mimebundle_") or hasattr(value, "_ipython_display_"):
        message = "cannot be shown without Jupyter; show a table, a matplotlib figure or text"
        raise TypeError(f"{type(value).__name__} {message}")
    elif type(value).__module__.partition(".")[0] != "matplotlib":
        show_text(repr(value))


def _figures() -> set[int]:
    """Return the numbers of matplotlib's open figures; without loading it, which takes time."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return {*pyplot.get_fignums()} if pyplot else set()


@contextmanager
def _showing_figures(name: str) -> Iterator[None]:
    """Show the figures of matplotlib that a cell leaves open, and close them."""
    before = _figures()
    yield
    for number in sorted(_figures() - before):
        pyplot = sys.modules["matplotlib.pyplot"]
        show_figure(pyplot.figure(number), name=f"{name}-{number}")
        pyplot.close(number)


@contextmanager
def _isolated() -> Iterator[None]:
    """Keep what cells set in libraries for plots, and their warnings, from other code."""
    before, mpl = _figures(), sys.modules.get("matplotlib")
    with mpl.rc_context() if mpl else nullcontext(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            for number in _figures() - before:
                sys.modules["matplotlib.pyplot"].close(number)
            if not mpl and "matplotlib" in sys.modules:
                sys.modules["matplotlib"].rc_file_defaults()


def html_page(
    markdown: str,
    *,
    template: Path,
    style: str,
    metadata: Sequence[Path],
    options: Sequence[str] = (),
    dialect: str = "markdown",
) -> str:
    """Return a page as HTML, from a template whose values are in YAML files (`metadata`).

    `style` is the address of the style sheet. Pandoc's `dialect` is ``markdown`` for pages of a
    release, and ``gfm`` for documents that GitHub shows too.
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


def _site_page(page: _Page, markdown: str, project: Path) -> str:
    """Return a page of a site as HTML."""
    style, root = (
        Path(os.path.relpath(path, page.path.parent)).as_posix()
        for path in (project / STYLE_SHEET, project)
    )
    with _named(page):
        text = html_page(
            markdown,
            template=project / HTML_TEMPLATE,
            style=style,
            # Quarto reads these too: title, footer, search and navigation.
            metadata=[project / PROJECT, project / NAVIGATION],
            # In a site, which has other releases to link to.
            options=[_QUARTO, "--metadata=published"],
        )
    return _to_pages(text, root)


def _to_pages(text: str, root: str) -> str:
    """Point links to the pages' sources at the pages, as Quarto does.

    Examples
    --------
    >>> _to_pages('<a class="brand" href="/reports/data.qmd#files">, <a href="a.qmd">', "..")
    '<a class="brand" href="../reports/data.html#files">, <a href="a.html">'
    """
    return _TO_PAGE.sub(lambda m: f"{m[1]}{root + '/' if m[2] else ''}{m[3]}.html{m[4]}", text)


def _write_pdf(page: _Page, markdown: str, project: Path, pdf: Path) -> None:
    import typst

    source = page.path.with_suffix(".typ")
    with _named(page):
        convert(
            markdown,
            source="markdown",
            target="typst",
            options=[
                "--standalone",
                f"--template={project / TYPST_TEMPLATE}",
                "--wrap=none",
                _QUARTO,
            ],
            out=source,
        )
        # Only typst's fonts, to make the PDF the same on every machine.
        typst.compile(str(source), output=str(pdf), root=str(project), ignore_system_fonts=True)


def write_tables(
    folder: Path,
    tables: Mapping[str, pd.DataFrame],
    *,
    title: str,
    alpha: float,
    sources: Iterable[Path],
    **facts: Any,
) -> Release:
    """Write what a report reads, as a release without a site; `facts` go into its manifest."""
    for name, table in tables.items():
        write_parquet(table, folder / DOWNLOADS / f"{name}.parquet")
    manifest = {
        "release": title,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "fairstats": __version__,
        "arguments": {"alpha": alpha},
        **facts,
        "sources": [{"name": path.name, "sha256": file_sha256(path)} for path in sources],
    }
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return Release(folder)


def report_file(out: AnyPath, to: str) -> Path:
    """Return the file to write, with a suffix; the given name may lack it, and may have dots."""
    path = Path(out)
    suffix = path.suffix.lower()
    if suffix == f".{to}":
        return path
    if suffix in (".pdf", ".html"):
        remedy = f"name a file that ends in .{to}, or use {keyword('to', suffix[1:])}"
        raise input_error(path, f"is not a name for {to}", remedy)
    return path.with_name(f"{path.name}.{to}")


def draw_report(
    release: Release,
    page: str,
    values: Mapping[str, str] | None = None,
    *,
    title: str,
    to: Literal["html", "pdf"],
    target: Path,
    headline: bool = False,
    keywords: str = "",
    conditions: Mapping[str, bool] | None = None,
    finish: Callable[[bytes], bytes] = bytes,
) -> None:
    """Draw the report ``reports/_<page>_report.qmd``, and write it whole or not at all.

    `values` replace ``{{name}}`` in the page's cells, and `conditions` are what its conditional
    content depends on. With `headline`, the page shows its title itself. `finish` makes the content
    of the file from the drawn one, e.g. signs it.
    """
    with temporary_folder("report") as project:
        copy_pages(project)
        if (own := release.path / OWN_PAGES / SETTINGS).is_file():
            shutil.copyfile(own, project / SETTINGS)
        # A document is one file, without the logo.
        frame = {k: v for k, v in read_settings(project).metadata.items() if k != "logo"}
        metadata: dict[str, Any] = {
            "title": escape_markdown(with_breaks(title) if to == "pdf" else title),
            "root": "../",
            "page": page,
            "has": dict(conditions or {}),
            "frame": frame,
        }
        if headline:
            metadata["headline"] = True
        if to == "pdf" and keywords:
            # As code of typst, because pandoc would format text.
            metadata["keywords"] = f"`{json.dumps(keywords)}`{{=typst}}"
        body = (project / "reports" / f"_{page}_report.qmd").read_text(encoding="utf-8")
        for key, value in (values or {}).items():
            body = body.replace(f"{{{{{key}}}}}", value)
        # A value of JSON is one of YAML.
        lines = (f"{key}: {json.dumps(v, ensure_ascii=False)}\n" for key, v in metadata.items())
        text = f"---\n{''.join(lines)}---\n{with_page_texts(body, project)}"
        source, drawn = f"reports/{page}.qmd", project / f"{page}.{to}"
        (project / source).write_text(text, encoding="utf-8")
        render_document(release, project, source, out=drawn)
        content = finish(drawn.read_bytes())
    with whole_file(target) as building:
        building.write_bytes(content)


def show_head(release: Release) -> None:
    """Show when the report was made, and from what."""
    manifest = release.manifest
    facts = [str(release.created_at.date())]
    if version := manifest.get("benchmark_version"):
        facts.append(f"version {version}")
    if "items" in manifest:
        facts.append(counted(manifest["items"], "item"))
    facts.append(counted(len(manifest["sources"]), "file"))
    show_markdown(f"::: kicker\n{escape_markdown(' · '.join(facts))}\n:::")


def show_sources(release: Release) -> None:
    """Show the hashes of the files, the rubrics of ratings, the level and the versions."""
    rubrics = ", ".join(f"{rubric.name} {rubric.version}" for rubric in release.rubrics.values())
    lines = [
        *(f"{source['name']}: sha256 {source['sha256']}" for source in release.manifest["sources"]),
        "; ".join(
            [
                *([f"Rubrics: {rubrics}"] if rubrics else []),
                f"alpha = {release.alpha}",
                f"fairstats {__version__}, Python {platform.python_version()}",
            ]
        ),
    ]
    listed = "\n".join(f"- {escape_markdown(line)}" for line in lines)
    show_markdown(f"## Input files and versions\n\n{listed}")
