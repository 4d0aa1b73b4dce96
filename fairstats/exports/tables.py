"""Tables for papers: those of a release, or those on its pages, as LaTeX or an Excel workbook."""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from io import BytesIO
from numbers import Integral, Real
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from fairstats._lib.atomic_files import whole_file
from fairstats._lib.formatting import convert, decimal, escape_html, scientific
from fairstats._lib.problems import (
    Problem,
    input_error,
    keyword,
    parameter,
    refuse,
    wrong,
)
from fairstats._lib.safe_names import slug
from fairstats._lib.table_text import write_text
from fairstats._lib.untrusted_files import read_text
from fairstats.exports.export import Options, zip_bytes
from fairstats.release.contents import Release
from fairstats.release.tables import TABLES

# A page has at most some thousand rows.
_LARGEST_PAGE = 64 << 20
_LARGEST_SPAN = 100
_P_VALUES = ("p_value", "p_adjusted")
# The longest name of a sheet.
_LONGEST_TITLE = 31
_CORE = "docProps/core.xml"
_TIMES = re.compile(rb"(<dcterms:(created|modified)[^>]*>)[^<]*(</dcterms:)")


@dataclass
class Cell:
    """A cell.

    Its value is its number, if it is in a table of the release.
    """

    text: str
    columns: int = 1
    rows: int = 1
    right: bool = False
    value: float | None = None


@dataclass
class Grid:
    """A table of finished cells.

    Its name is a safe file name, unique among the chosen tables.
    """

    name: str
    caption: str = ""
    head: list[list[Cell]] = field(default_factory=list)
    body: list[list[Cell]] = field(default_factory=list)

    def html(self) -> str:
        """Return the table as HTML in which every text is escaped."""
        parts = ["<table>", f"<caption>{escape_html(self.caption)}</caption>" * bool(self.caption)]
        for tag, rows, cell in (("thead", self.head, "th"), ("tbody", self.body, "td")):
            lines = ("".join(_cell_html(one, cell) for one in row) for row in rows)
            parts += [f"<{tag}>", *(f"<tr>{line}</tr>" for line in lines), f"</{tag}>"]
        return "\n".join([*parts, "</table>"])


def _cell_html(cell: Cell, tag: str) -> str:
    spans = "".join(
        f' {name}="{number}"'
        for name, number in (("colspan", cell.columns), ("rowspan", cell.rows))
        if number > 1
    )
    right = ' style="text-align: right"' if cell.right else ""
    return f"<{tag}{spans}{right}>{escape_html(cell.text)}</{tag}>"


def chosen_grids(release: Release, options: Options) -> list[Grid]:
    """Return the chosen tables: one of the release, or those on its pages."""
    if options.table is not None:
        return [_release_grid(release, options)]
    pages = {
        path.relative_to(release.path).as_posix(): path for path in release.path.rglob("*.html")
    }
    if options.page is not None and options.page not in pages:
        remedy = f"use one of {', '.join(sorted(pages)[:20])}"
        message = f"{options.page!r} is not a page of the release"
        raise wrong("page", message, remedy)
    names = sorted(pages) if options.page is None else [options.page]
    grids = [
        grid for name in names for grid in page_grids(read_text(pages[name], _LARGEST_PAGE), name)
    ]
    if not grids:
        remedy = f"choose a table, e.g. {keyword('table', 'estimates')}"
        raise input_error(release.path, "has no tables on its pages", remedy)
    return grids


def _release_grid(release: Release, options: Options) -> Grid:
    table = options.table or ""
    if table not in TABLES:
        remedy = f"use one of {', '.join(TABLES)}"
        raise wrong("table", f"{table!r} is not a table of a release", remedy)
    frame = release.table(table)
    refuse(
        Problem(parameter(option), f"{name!r} is not a column of {table}", remedy)
        for remedy in [f"use one of {', '.join(frame)}"]
        for option, names in (("columns", options.columns), ("where", options.where))
        for name in names
        if name not in frame
    )
    for column, value in options.where.items():
        frame = frame[frame[column].astype("str") == value]
    if frame.empty:
        chosen = " and ".join(f"{column}={value}" for column, value in options.where.items())
        message = f"{table} has no row{f' with {chosen}' if chosen else ''}"
        raise wrong("table", message, "choose other rows")
    frame = frame[list(options.columns or frame.columns)]
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return Grid(
        table,
        f"{table.replace('_', ' ').capitalize()} of release {release.name}",
        [[Cell(str(name).replace("_", " ")) for name in frame]],
        [[_release_cell(str(name), value) for name, value in row.items()] for row in rows],
    )


def _release_cell(column: str, value: Any) -> Cell:
    if value is None:
        return Cell("")
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Integral, Real)):
        return Cell(str(value))
    if isinstance(value, Integral):
        return Cell(str(value), right=True, value=int(value))
    number = float(value)
    text = scientific(number) if column in _P_VALUES else decimal(number)
    return Cell(text, right=True, value=number if math.isfinite(number) else None)


def page_grids(page: str, path: str) -> list[Grid]:
    """Return the tables on a page that have a caption; charts are left out.

    Tables are named after `path`, the page's path in the release.

    Examples
    --------
    >>> page = "<table><caption>C</caption><tr><th>a<th colspan=2>b</tr><tr><td>1<td>2<td>3</table>"
    >>> (grid,) = page_grids(page, "reports/models/m.html")
    >>> grid.name, grid.caption, [[cell.text for cell in row] for row in grid.body]
    ('models-m-1', 'C', [['a', 'b'], ['1', '2', '3']])
    """
    reader = _Tables()
    reader.feed(page)
    place = PurePosixPath(path.removeprefix("reports/"))
    stem = "-".join(map(slug, place.with_suffix("").parts))
    found = [grid for grid in reader.grids if grid.caption and grid.body]
    for number, grid in enumerate(found, start=1):
        grid.name = f"{stem}-{number}"
    return found


class _Tables(HTMLParser):
    """Reads the tables of a page. Nested tables are not expected, and end the outer one."""

    def __init__(self) -> None:
        super().__init__()
        self.grids: list[Grid] = []
        self._grid: Grid | None = None
        self._rows: list[list[Cell]] = []
        self._cell: Cell | None = None
        self._in_caption = False
        self._chart = False

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._grid, self._cell, self._chart = Grid(""), None, False
            self._rows = self._grid.body
        elif self._grid is None:
            return
        elif tag == "svg":
            self._chart = True
        elif tag == "caption":
            self._in_caption = True
        elif tag in ("thead", "tbody"):
            self._rows = self._grid.head if tag == "thead" else self._grid.body
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th") and self._rows:
            has = dict(attrs)
            right = "gt_right" in (has.get("class") or "").split()
            self._cell = Cell("", _span(has.get("colspan")), _span(has.get("rowspan")), right)
            self._rows[-1].append(self._cell)
        elif tag == "br":
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag == "table" and self._grid is not None:
            if not self._chart:
                self.grids.append(_tidy(self._grid))
            self._grid = None
        elif tag == "caption":
            self._in_caption = False
        elif tag in ("td", "th", "tr"):
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._grid is not None and self._in_caption:
            self._grid.caption += data
        elif self._cell is not None:
            self._cell.text += data


def _span(text: str | None) -> int:
    return min(int(text), _LARGEST_SPAN) if text and re.fullmatch(r"[1-9][0-9]{0,3}", text) else 1


def _tidy(grid: Grid) -> Grid:
    """Return the grid without repeated white space and empty rows."""
    grid.caption = " ".join(grid.caption.split())
    for cell in _cells(grid):
        cell.text = " ".join(cell.text.split())
    grid.head, grid.body = ([row for row in rows if row] for rows in (grid.head, grid.body))
    return grid


def _cells(grid: Grid) -> Iterator[Cell]:
    for row in (*grid.head, *grid.body):
        yield from row


def write_latex(release: Release, folder: Path, options: Options) -> list[Path]:
    """Write each chosen table as a ``.tex`` file to be read with ``\\input``.

    It needs the packages ``longtable``, ``booktabs``, ``multirow`` and ``array``. All text is
    escaped.
    """
    return [
        write_text(
            convert(grid.html(), source="html", target="latex", options=["--wrap=none"]),
            folder / f"{grid.name}.tex",
        )
        for grid in chosen_grids(release, options)
    ]


def write_xlsx(release: Release, folder: Path, options: Options) -> list[Path]:
    """Write the chosen tables as a workbook, ``<table>.xlsx`` or ``tables.xlsx``, a sheet for each.

    Figures of a release's table are numbers, and infinite ones are text. Cells of pages are text as
    shown.
    """
    import openpyxl

    grids = chosen_grids(release, options)
    book = openpyxl.Workbook(write_only=True)
    for number, grid in enumerate(grids, start=1):
        sheet = book.create_sheet(_title(grid.name, number))
        for row in _rows(grid):
            sheet.append([_cell(sheet, cell) for cell in row])
    content = BytesIO()
    book.save(content)
    path = folder / f"{grids[0].name if len(grids) == 1 else 'tables'}.xlsx"
    with zipfile.ZipFile(content) as made:
        parts = {name: made.read(name) for name in made.namelist()}
    # Every time in it is that of the release, not of this call.
    time = f"{release.created_at.tz_convert('UTC'):%Y-%m-%dT%H:%M:%SZ}".encode()
    parts[_CORE] = _TIMES.sub(rb"\g<1>" + time + rb"\g<3>", parts[_CORE])
    with whole_file(path) as unfinished:
        unfinished.write_bytes(zip_bytes(parts))
    return [path]


def _title(name: str, number: int) -> str:
    """Return a sheet's name; a long one begins with its number to be unique."""
    return name if len(name) <= _LONGEST_TITLE else f"{number}-{name}"[:_LONGEST_TITLE]


def _rows(grid: Grid) -> Iterator[list[Cell]]:
    """Return the rows of a sheet: a cell that spans several is followed by empty ones."""
    waiting: dict[int, int] = {}
    for row in (*grid.head, *grid.body):
        filled: list[Cell] = []
        for cell in row:
            while waiting.get(len(filled)):
                waiting[len(filled)] -= 1
                filled.append(Cell(""))
            for place in range(cell.columns):
                waiting[len(filled)] = cell.rows - 1
                filled.append(cell if place == 0 else Cell(""))
        for place in range(len(filled), max(waiting, default=-1) + 1):
            waiting[place] = max(waiting[place] - 1, 0)
        yield filled
    if grid.caption:
        yield from ([], [Cell(grid.caption)])


def _cell(sheet: Any, cell: Cell) -> Any:
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    if cell.value is not None:
        return WriteOnlyCell(sheet, cell.value)
    written = WriteOnlyCell(
        sheet, ILLEGAL_CHARACTERS_RE.sub("\N{REPLACEMENT CHARACTER}", cell.text)
    )
    # A text that begins with = would be a formula.
    written.data_type = "s"
    return written
