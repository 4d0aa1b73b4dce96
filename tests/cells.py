"""Run the cells of pages in the process of the tests: starting a kernel takes longer than a page.

`tests/report/test_renderers.py` compares the result with that of kernels.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import warnings
from collections.abc import Sequence
from unittest import mock

import matplotlib as mpl

from fairstats.report import builtin_renderer
from fairstats.report.page_context import FORMAT_VARIABLE


def execute_here(pages: Sequence[builtin_renderer._Page], settings: dict[str, str]) -> None:
    """Replace `fairstats.report.builtin_renderer._execute`; each page has its own namespace."""
    folder = os.getcwd()  # noqa: PTH109
    try:
        with mock.patch.dict(os.environ, settings), mpl.rc_context(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for page in pages:
                os.chdir(page.path.parent.resolve())
                os.environ[FORMAT_VARIABLE] = page.format
                _execute(page)
    finally:
        os.chdir(folder)


#: What cells showed that take nothing from a release, by format.
_CONSTANT: dict[tuple[str, str], str] = {}


def _execute(page: builtin_renderer._Page) -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    for cell in page.cells:
        constant = re.fullmatch(r"shared_sections\.show_\w+\(\)\n", cell) is not None
        if constant and (cell, page.format) in _CONSTANT:
            page.shown.append(_CONSTANT[cell, page.format])
            continue
        shown: list[str] = []

        def show(*objects, shown=shown):
            shown += [one._repr_markdown_() for one in objects]

        with mock.patch("IPython.display.display", show), contextlib.redirect_stdout(io.StringIO()):
            try:
                exec(compile(cell, page.path.name, "exec"), namespace)
            except Exception as error:
                cause = f"{type(error).__name__}: {error}"
                raise builtin_renderer.PageError(
                    f"a cell of {page.path.name} failed: {cause}"
                ) from error
        page.shown.append("\n\n".join(shown))
        if constant:
            _CONSTANT[cell, page.format] = page.shown[-1]
