"""Compare a release with its recomputed tables, and with its other files and pages made again."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet

from fairstats._lib.installation import __version__
from fairstats._lib.problems import InputError, Problem, input_error, keyword
from fairstats._lib.untrusted_tables import check_parquet
from fairstats.answers.files import read_parquet
from fairstats.benchmarks.benchmark_files import copy_benchmarks
from fairstats.benchmarks.loading import builtin_benchmarks, load_benchmark
from fairstats.publishing.publish import (
    CHANGES,
    PDF,
    draw_pages,
    library_versions,
    write_changes,
    write_documents,
)
from fairstats.ratings.rubrics import copy_rubrics
from fairstats.release.contents import DOWNLOADS, Release
from fairstats.release.manifest import TAKE_AGAIN, file_problems, read_manifest
from fairstats.release.tables import TABLES, write_table
from fairstats.report.site_pages import SEARCH_INDEX, page_files
from fairstats.report.site_settings import OWN_PAGES, read_pages

_REMEDY = (
    "the answers in this release do not give this value; take the release from where it was "
    "published"
)
# A value that one library rounds to 0 may differ slightly in another.
_ROUNDING = 1e-15


def copy_problems(release: Release, again: Path, *, pages: bool) -> tuple[list[Problem], list[str]]:
    """Compare the files of a release with those that publishing makes from its tables.

    The release has correct hashes and recomputed tables. The folder `again` has the inputs of
    the tables, written again; the other files are added to it.

    Returns
    -------
    list of Problem
        Every file that differs, is missing or is not made by publishing.
    list of str
        The checks that were left out.
    """
    problems = list(_earlier_problems(release))
    if problems:
        return problems, []
    said: list[str] = []
    for name in TABLES:
        write_table(release.table(name), again / DOWNLOADS, name)
    problems += _write_changes(release, again)
    copy_benchmarks(release.benchmarks, again / "benchmarks")
    copy_rubrics(release.rubrics, again / "rubrics")
    write_documents(release, again)
    if (release.path / OWN_PAGES).is_dir():
        own = read_pages(release.path / OWN_PAGES)
        own.write(again / OWN_PAGES)
        # A style sheet can hide a column or write into a cell; an image can hold a sentence.
        if own.files:
            names = ", ".join(own.files)
            said = [f"not checked: what the publisher states or hides in {names}"]
    found, notes = _compare(release, again, None)
    problems += found
    if pages and not problems:
        # Quarto's pages are compared with Quarto's if it is installed.
        quarto = release.manifest["drawn_by"].startswith("quarto") and shutil.which("quarto")
        drawn_by = draw_pages(release, again, "quarto" if quarto else "builtin")
        problems, notes = _compare(release, again, drawn_by)
    return problems, [*notes, *said, *_declared_otherwise(release)]


def _declared_otherwise(release: Release) -> Iterator[str]:
    """Name benchmarks with a declaration that differs from the known one, e.g. in the margin."""
    built_in = builtin_benchmarks()
    for name, benchmark in release.benchmarks.items():
        if name not in built_in:
            continue
        if benchmark.sha256 != load_benchmark(built_in[name], confined=True).sha256:
            yield f"not checked: this version of fairstats declares benchmark {name} differently"


def _earlier_problems(release: Release) -> Iterator[Problem]:
    """Check the files of earlier releases, which the pages also read."""
    for earlier in release.earlier:
        yield from file_problems(earlier.path, read_manifest(earlier.path)["files"])
    oldest = release.earlier[0] if release.earlier else release
    previous = oldest.manifest.get("previous")
    if previous is not None:
        message = f"an earlier release, {previous['release']}, is missing"
        yield Problem(
            str(release.path),
            f"was not verified: {message}",
            "verify the whole site, with all releases",
        )


def _write_changes(release: Release, again: Path) -> list[Problem]:
    """Make the tables of changes again, and compare their figures like those of other tables."""
    if release.manifest.get("previous") is None:
        return []
    write_changes(release, again)
    problems: list[Problem] = []
    for name in CHANGES:
        found = read_parquet(again / DOWNLOADS / f"{name}.parquet")
        problems += table_problems(release, name, found, tuple(found.columns[:2]))
    if not problems:
        for name in CHANGES:
            write_table(release.table(name), again / DOWNLOADS, name)
    return problems


def _compare(
    release: Release, again: Path, drawn_by: str | None
) -> tuple[list[Problem], list[str]]:
    made = {p.relative_to(again).as_posix(): p for p in sorted(again.rglob("*")) if p.is_file()}
    listed = set(release.manifest["files"])
    undrawn = _page_names(release) & listed if drawn_by is None else set()
    documents = _other_software(release, None)
    tables = _other_software(release, None, ("pandas", "pyarrow"))
    drawings = _other_software(release, drawn_by)
    problems, not_drawn_again, not_written_again = [], [], []
    for name in sorted(set(made) - listed):
        problems.append(Problem(str(release.path / name), "is missing", TAKE_AGAIN))
    for name in sorted(listed - set(made) - undrawn):
        message = "is not a file that `fairstats publish` writes"
        problems.append(Problem(str(release.path / name), message, "remove it"))
    pages = _page_names(release) | {name for name in made if name.endswith(".html")}
    for name in sorted(set(made) & listed):
        path, other = release.path / name, drawings if name in pages else documents
        if path.read_bytes() == made[name].read_bytes():
            continue
        # The figures of these tables were compared earlier, except for their last digits.
        if path.suffix == ".parquet" and tables is not None:
            not_written_again.append(name)
            continue
        differ = _page_differences(path, made[name])
        what = f" ({', '.join(differ)})" if differ else ""
        if other is not None and name in pages:
            not_drawn_again.append(name + what)
            continue
        if other is None:
            message = f"does not match the tables of the release{what}"
            problems.append(Problem(str(path), message, TAKE_AGAIN))
        else:
            message = f"was not verified: {other}, and the file rebuilt here differs{what}"
            remedy = "verify with the software versions listed in manifest.json"
            problems.append(Problem(str(path), message, remedy))
    if not_drawn_again:
        message = (
            f"was not verified: {drawings}, which renders these differently: "
            f"{', '.join(not_drawn_again)}"
        )
        remedy = (
            "verify with the software versions listed in manifest.json, or skip the pages with "
            f"{keyword('pages', False)}"
        )
        problems.append(Problem(str(release.path), message, remedy))
    notes = []
    if not_written_again:
        names = ", ".join(not_written_again)
        notes.append(f"not checked: storage of the figures in {names} ({tables})")
    if undrawn:
        notes.append(f"not checked: {', '.join(sorted(undrawn))}")
    return problems, notes


def _page_names(release: Release) -> set[str]:
    """List the files that drawing may produce; a page without content is not drawn."""
    return {*page_files(release), SEARCH_INDEX, PDF}


def _page_differences(path: Path, made: Path) -> list[str] | None:
    """Compare two pages; return None for other kinds of file."""
    if path.name == SEARCH_INDEX:  # its words come from the pages, which were compared
        return []
    if path.suffix != ".html":
        return None
    texts = [one.read_text(encoding="utf-8", errors="replace") for one in (path, made)]
    return page_differences(*texts)


def _other_software(
    release: Release, drawn_by: str | None, libraries: tuple[str, ...] = ()
) -> str | None:
    """Describe the software versions of a release that differ from those here, or return None.

    The version of fairstats and `libraries` always count. With `drawn_by`, all libraries and the
    renderer do.
    """
    manifest = release.manifest
    said = manifest["libraries"]
    here = {"fairstats": __version__}
    if libraries or drawn_by is not None:
        here |= library_versions()
    named = {"fairstats": manifest["fairstats"]} | {name: said.get(name) for name in libraries}
    if drawn_by is not None:
        named |= said
        if manifest["drawn_by"] != drawn_by:
            named["pages"], here["pages"] = f"by {manifest['drawn_by']}", f"by {drawn_by}"
    for name, version in named.items():
        if version != here.get(name):
            return (
                f"the release was made with {name} {version}, but this machine has {here.get(name)}"
            )
    return None


def table_problems(
    release: Release, name: str, found: pd.DataFrame, keys: tuple[str, ...]
) -> tuple[Problem, ...]:
    """Compare a table of a release with the recomputed one; return the first difference.

    `keys` are the columns that name a row to a reader.
    """
    path = release.table_path(name)
    try:
        footer = _footer(path)
        # In the footer, to avoid reading a table that is too long.
        if footer.num_rows != len(found):
            message = f"has {footer.num_rows:,} rows; the answers give {len(found):,}"
            raise input_error(path, message, _REMEDY)
        if footer.schema.to_arrow_schema().names != list(found.columns):
            message = "has columns that differ from those of this version of fairstats"
            raise input_error(path, message, _REMEDY)
        refuse_hidden_columns(path)
        # With the checks for files from outside, because others may read it afterwards.
        check_parquet(path)
        _refuse_difference(release.table(name), found, keys, str(path))
    except InputError as error:
        return error.problems
    return ()


def _footer(path: Path) -> pyarrow.parquet.FileMetaData:
    try:
        return pyarrow.parquet.read_metadata(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise input_error(path, f"is not a parquet file ({error})", "publish it again") from None


def refuse_hidden_columns(path: Path) -> None:
    """Refuse a table with columns that pandas would read under another name, or not at all."""
    footer = _footer(path)
    schema, rows = footer.schema.to_arrow_schema(), footer.num_rows
    wrong = partial(input_error, path, remedy=_REMEDY)
    metadata = schema.metadata or {}
    if not set(metadata) <= {b"pandas", b"ARROW:schema"}:
        raise wrong("has metadata that `fairstats publish` does not write")
    try:
        of_pandas = json.loads(metadata.get(b"pandas", b"{}"))
        names = [column["name"] for column in of_pandas.get("columns", [])]
        plain = [{"kind": "range", "name": None, "start": 0, "stop": rows, "step": 1}]
        indexes = of_pandas.get("index_columns", plain)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise wrong("has metadata for pandas that pandas does not write") from None
    if names not in ([], schema.names) or indexes not in ([], plain):
        raise wrong("has different column names for pandas than for other readers")


def _refuse_difference(
    published: pd.DataFrame, found: pd.DataFrame, keys: tuple[str, ...], path: str
) -> None:
    """Refuse the first figure of a published table that differs from the recomputed one."""
    for column in found:
        if published[column].equals(found[column]):
            continue
        # A p-value is compared exactly, however small.
        least = 0.0 if column.startswith("p_") else _ROUNDING
        differ = _differ(published[column], found[column], least)
        if differ.any():
            place = int(np.flatnonzero(differ)[0])
            row = published.iloc[place]
            which = ", ".join(str(row[key]) for key in keys if not pd.isna(row[key]))
            message = f"{which}: recomputed as {found[column].iloc[place]}"
            value = str(row[column])
            raise input_error(path, message, _REMEDY, row=place + 1, column=column, value=value)


def _differ(
    published: pd.Series, found: pd.Series, least: float
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if pd.api.types.is_numeric_dtype(found):
        if not pd.api.types.is_numeric_dtype(published) and published.notna().any():
            # Text among the numbers, even if no number is expected.
            return published.notna().to_numpy()
        a, b = (
            pd.to_numeric(side, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
            for side in (published, found)
        )
        return ~np.isclose(a, b, rtol=1e-9, atol=least, equal_nan=True)
    a, b = (side.astype("object").where(side.notna(), None) for side in (published, found))
    return np.array([x != y for x, y in zip(a, b, strict=True)], dtype=bool)


_DRAWING = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
#: Not words of the page; formulas are written in other ways by other renderers.
_SILENT = ("script", "style", "svg", "math", "title")
_ACTIVE = ("script", "iframe", "frame", "object", "embed", "form", "base")


def page_differences(published: str, drawn: str) -> list[str]:
    """Name what differs between two HTML pages: words, drawings, scripts.

    Returns
    -------
    list of str
        Empty if both show the same words in the same order and the same drawings, and run the same
        scripts. Layout, styles and formulas may differ.

    Examples
    --------
    >>> page_differences("<p>CFR 91.9%</p>", "<div>CFR <b>91.9%</b></div>")
    []
    >>> page_differences("<p onclick='x()'>CFR 99%</p>", "<p>CFR 91.9%</p>")
    ['words', 'scripts']
    """
    one, other = _Content(published), _Content(drawn)
    sides = {
        "words": (one.words.split(), other.words.split()),
        "drawings": (_DRAWING.findall(published), _DRAWING.findall(drawn)),
        "scripts": (one.active, other.active),
    }
    return [name for name, (a, b) in sides.items() if a != b]


class _Content(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.words = ""
        self.active: list[object] = []
        self._silent: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent.append(tag)
        if tag in _ACTIVE or (tag == "meta" and ("http-equiv", "refresh") in attrs):
            self.active.append((tag, attrs))
        for name, value in attrs:
            address = re.sub(r"[\s\x00-\x1f]", "", value or "").lower()
            if name.startswith("on") or address.startswith("javascript:"):
                self.active.append((tag, name, value))

    def handle_endtag(self, tag: str) -> None:
        if self._silent and self._silent[-1] == tag:
            self._silent.pop()

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words += f"{data} "
        elif self._silent[-1] == "script":
            self.active.append(data)
