"""Quarto runs this before the pages, and with the argument "finish" after them."""

import os
import sys
from pathlib import Path

try:
    from fairstats._lib.problems import InputError
    from fairstats.report.page_output import PUBLISHED_VARIABLE, QUARTO_VARIABLE, load_release
    from fairstats.report.site_pages import finish, prepare
except ModuleNotFoundError as error:
    sys.exit(
        f"{error.name} is not installed in the Python that Quarto runs, {sys.executable}. Set "
        "QUARTO_PYTHON to the one of fairstats, e.g. QUARTO_PYTHON=.venv/bin/python, or run: "
        f"{sys.executable} -m pip install 'fairstats[quarto]'"
    )

# In a preview it describes the page that was drawn last.
os.environ.pop(QUARTO_VARIABLE, None)
published = bool(os.environ.get(PUBLISHED_VARIABLE))
try:
    release = load_release()
    if "finish" not in sys.argv:
        prepare(Path(), release, preview=not published)
    elif not published:
        finish(Path(os.environ["QUARTO_PROJECT_OUTPUT_DIR"]), Path(), release)
except InputError as error:
    sys.exit(str(error))
