"""Quarto runs this ahead of the pages: it writes the models' pages and the downloads."""

from pathlib import Path

from fairstats.report.context import load_release
from fairstats.report.site import prepare

prepare(Path(), load_release())
