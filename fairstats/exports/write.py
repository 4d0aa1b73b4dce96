"""Write an export of a release that is intact."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import WEB_ADDRESS
from fairstats.exports.export import Export, Options
from fairstats.exports.registry import load_export
from fairstats.release.folder import open_release

_NONE = Options()


def write_export(
    name: str,
    release: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    options: Options = _NONE,
) -> list[Path]:
    """Write a release in the format of another tool.

    Parameters
    ----------
    name : str
        The format, one of `fairstats.exports.registry.export_names`.
    release : path
        The release's folder, or the name of a release in ``site/``.
    folder : path
        The target folder. Files of the same names are replaced.
    options : Options
        The table, its columns and rows, for formats of tables.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    InputError
        If there is no such format or release, or files of the release were changed. If an option is
        not for this format, is not an address or a name, or names a table, page or column that does
        not exist.
    """
    export = load_export(name)
    if problems := list(_problems(name, export, options)):
        raise InputError(problems)
    return export.write(open_release(release), Path(folder), options)


_DATASET = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


def _problems(name: str, export: Export, options: Options) -> Iterator[Problem]:
    """Report options that the format does not use, or that contradict each other."""
    for field in fields(Options):
        if field.name not in export.takes and getattr(options, field.name) != getattr(
            _NONE, field.name
        ):
            yield Problem(f"--{field.name}", f"has no effect on {name}", "remove it")
    if options.url is not None and not WEB_ADDRESS.fullmatch(options.url):
        message = f"{options.url!r} is not a web address"
        yield Problem("--url", message, "write it like https://example.org/v/2026.11")
    for dataset in options.dataset.values():
        if not _DATASET.fullmatch(dataset):
            message = f"{dataset!r} is not the id of a dataset"
            yield Problem("--dataset", message, "write it like organisation/name")
    if options.table is not None and options.page is not None:
        yield Problem("--page", "cannot be given with --table", "keep one of them")
    if options.table is None and (options.columns or options.where):
        message = "is needed to choose columns or rows"
        yield Problem("--table", message, "name a table, e.g. --table estimates")
