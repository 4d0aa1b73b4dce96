"""The context of a page that is being drawn: its release, its format, and whether it has a site.

Renderers pass it to the process of a page in environment variables, which only this module reads.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

from fairstats._lib.problems import InputError, Problem
from fairstats.release.contents import DEFAULT_SITE, Release, named_release, newest_release

#: The folder or name of the release to draw; by default the newest of `DEFAULT_SITE`.
RELEASE_VARIABLE = "FAIRSTATS_RELEASE"
#: Set by the built-in renderer for each page.
FORMAT_VARIABLE = "FAIRSTATS_FORMAT"
#: Set by Quarto for each page: a JSON file that includes the output format.
QUARTO_VARIABLE = "QUARTO_EXECUTE_INFO"
#: Set if the pages become part of a site with other releases to link to.
PUBLISHED_VARIABLE = "FAIRSTATS_PUBLISHED"

Format = Literal["html", "typst"]


def load_release(path: str | os.PathLike[str] | None = None) -> Release:
    """Load the release that the pages report.

    Parameters
    ----------
    path : path, optional
        The release's folder, or the name of a release in ``site/``. By default the release named in
        the environment variable ``FAIRSTATS_RELEASE``, or the newest in ``site/``. A path, and
        ``site/``, may be in the current folder or in one above it.

    Raises
    ------
    InputError
        If there is none.
    """
    chosen = path or os.environ.get(RELEASE_VARIABLE) or None
    found = newest_release() if chosen is None else named_release(Path(chosen))
    if found is None:
        message = "there is no release to draw" if chosen is None else "is not a release"
        remedy = (
            f"run `make demo` or `fairstats publish`, or set {RELEASE_VARIABLE} to the folder or "
            f"the name of a release"
        )
        raise InputError([Problem(str(chosen or DEFAULT_SITE), message, remedy)])
    return Release(found)


def output_format() -> Format:
    """Return the output format of the running page.

    Raises
    ------
    InputError
        If Quarto uses a format other than HTML and typst, in which tables and plots would be
        missing.
    """
    if FORMAT_VARIABLE in os.environ or QUARTO_VARIABLE not in os.environ:
        return "typst" if os.environ.get(FORMAT_VARIABLE) == "typst" else "html"
    info = Path(os.environ[QUARTO_VARIABLE])
    to = str(json.loads(info.read_text(encoding="utf-8"))["format"]["pandoc"]["to"])
    if to == "typst":
        return "typst"
    if to in ("html", "html4", "html5"):
        return "html"
    message = f"the tables and plots cannot be drawn for {to}"
    raise InputError([Problem("--to", message, "use html or typst")])


def is_in_site() -> bool:
    """Return whether the page becomes part of a site with other releases to link to."""
    return bool(os.environ.get(PUBLISHED_VARIABLE))
