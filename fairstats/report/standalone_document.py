"""Draw one page of a release as a separate file: self-contained HTML, or a PDF."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from fairstats._lib.atomic_files import whole_file
from fairstats._lib.formatting import escape_markdown
from fairstats.release.contents import Release
from fairstats.report.builtin_renderer import render_document
from fairstats.report.tables import with_breaks

_TYPST = """\
format:
  typst:
    template: template.typ
"""


def draw_document(
    release: Release,
    project: Path,
    page: str,
    body: str,
    *,
    title: str,
    to: Literal["pdf", "html"],
    target: Path,
    headline: bool = False,
    keywords: str = "",
    finish: Callable[[bytes], bytes] = bytes,
) -> None:
    """Draw a separate page, and write it whole or not at all.

    Parameters
    ----------
    release : Release
        The release that it reports.
    project : Path
        A folder with the pages, see `fairstats.report.site_pages.copy_pages`.
    page : str
        The page's name in that folder and in the style sheet.
    body : str
        The page without its header.
    title : str
        Plain text.
    to : {"pdf", "html"}
        A typeset PDF, or one HTML file.
    target : Path
        The file to write.
    headline : bool
        Whether the page shows its title itself.
    keywords : str
        The keywords of a PDF.
    finish : callable
        Makes the content of the file from the drawn one, e.g. signs it.

    Raises
    ------
    fairstats.report.builtin_renderer.PageError
        If it cannot be drawn. Then no file is written.
    """
    typeset = to == "pdf"
    said = escape_markdown(with_breaks(title) if typeset else title)
    said = json.dumps(said, ensure_ascii=False)
    shown = "headline: true\n" if headline else ""
    typst = _TYPST if typeset else ""
    if typeset and keywords:
        # As code of typst, because pandoc would format text.
        typst += f"keywords: {json.dumps(f'`{json.dumps(keywords)}`{{=typst}}')}\n"
    header = f"---\ntitle: {said}\nroot: ../\npage: {page}\n{shown}{typst}---\n"
    source, drawn = f"reports/{page}.qmd", project / f"{page}.{to}"
    (project / source).write_text(header + body, encoding="utf-8")
    render_document(release, project, source, out=drawn)
    content = finish(drawn.read_bytes())
    with whole_file(target) as building:
        building.write_bytes(content)
