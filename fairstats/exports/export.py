"""The export formats, and the export of a release that is intact."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import Problem, input_error, keyword, parameter, refuse
from fairstats._lib.safe_names import WEB_ADDRESS

if TYPE_CHECKING:  # The command line names the formats without loading pandas.
    from fairstats.release.contents import Release

# The earliest time that a zip can store.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_DATASET = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


@dataclass(frozen=True)
class Options:
    """What to export, and facts that a release does not contain.

    Attributes
    ----------
    table : str or None
        The name of a table of the release. By default, formats of tables export those on its pages.
    page : str or None
        The path of a page in the release, e.g. ``index.html``.
    columns : tuple of str
        The columns of `table`, in order; empty for all.
    where : mapping of str to str
        A column of `table` and the value that its rows must have.
    url : str or None
        The web address of the release's folder.
    dataset : mapping of str to str
        The name of a benchmark and its dataset on the Hugging Face Hub, ``organisation/name``.
    """

    table: str | None = None
    page: str | None = None
    columns: tuple[str, ...] = ()
    where: dict[str, str] = field(default_factory=dict)
    url: str | None = None
    dataset: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Export:
    """A format.

    Attributes
    ----------
    module : str
        The module in this folder that has its function, ``write_<format>``. It is loaded when it is
        needed. The function takes a release, a folder and `Options`. It writes the files into the
        folder and returns them: the same bytes at every call.
    takes : tuple of str
        The `Options` that it uses.
    """

    module: str
    takes: tuple[str, ...] = ()

    def load(self, name: str) -> Callable[[Release, Path, Options], list[Path]]:
        """Return the function that writes this format."""
        module = import_module(f"fairstats.exports.{self.module}")
        write: Callable[[Release, Path, Options], list[Path]] = getattr(module, f"write_{name}")
        return write


_OF_TABLES = ("table", "page", "columns", "where")
#: The formats by name.
EXPORTS = {
    "croissant": Export("catalogues", ("url",)),
    "eee": Export("every_eval_ever"),
    "hf": Export("hugging_face", ("url", "dataset")),
    "latex": Export("tables", _OF_TABLES),
    "xlsx": Export("tables", _OF_TABLES),
}
_NONE = Options()


def write_export(
    name: str, release: AnyPath, folder: AnyPath, options: Options = _NONE
) -> list[Path]:
    """Write a release in the format of another tool.

    `name` is one of `EXPORTS`, and `release` a folder or the name of a release in ``site/``. Files
    of the same names are replaced.

    Raises
    ------
    InputError
        If there is no such format or release, or files of the release were changed. If an option is
        not for this format, is not an address or a name, or names a table, page or column that does
        not exist.
    """
    from fairstats.release.manifest import open_release

    if name not in EXPORTS:
        remedy = f"use one of {', '.join(EXPORTS)}"
        raise input_error("FORMAT", f"{name!r} is not an export format", remedy)
    refuse(_problems(name, options))
    return EXPORTS[name].load(name)(open_release(release), Path(folder), options)


def _problems(name: str, options: Options) -> Iterator[Problem]:
    """Report options that the format does not use, or that contradict each other."""
    for option in (one.name for one in fields(Options)):
        given = getattr(options, option) != getattr(_NONE, option)
        if given and option not in EXPORTS[name].takes:
            yield Problem(parameter(option), f"has no effect on {name}", "remove it")
    if options.url is not None and not WEB_ADDRESS.fullmatch(options.url):
        message = f"{options.url!r} is not a web address"
        yield Problem(parameter("url"), message, "write it like https://example.org/v/2026.11")
    for dataset in options.dataset.values():
        if not _DATASET.fullmatch(dataset):
            message = f"{dataset!r} is not the id of a dataset"
            yield Problem(parameter("dataset"), message, "write it like organisation/name")
    if options.table is not None and options.page is not None:
        message = f"cannot be given with {parameter('table')}"
        yield Problem(parameter("page"), message, "keep one of them")
    if options.table is None and (options.columns or options.where):
        message = "is needed to choose columns or rows"
        remedy = f"name a table, e.g. {keyword('table', 'estimates')}"
        yield Problem(parameter("table"), message, remedy)


def zip_bytes(files: Mapping[str, bytes]) -> bytes:
    """Return a zip file whose bytes do not depend on when it is written.

    Examples
    --------
    >>> zip_bytes({"a": b"text"})[:2]
    b'PK'
    """
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _NO_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            # The same on every system.
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, content)
    return packed.getvalue()
