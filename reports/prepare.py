"""Quarto runs this before the pages: style sheet, navigation, models' pages and downloads."""

import shutil
from pathlib import Path

from fairstats.release.contents import DOWNLOADS
from fairstats.report.page_context import load_release
from fairstats.report.site_pages import prepare, write_style_sheet

release = load_release()
write_style_sheet(Path())
prepare(Path(), release)
# A project that is staged for publishing has its downloads in the release already.
shutil.rmtree(DOWNLOADS, ignore_errors=True)
shutil.copytree(release.path / DOWNLOADS, DOWNLOADS)
