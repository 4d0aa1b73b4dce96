"""Quarto runs this before the pages: navigation, models' pages and downloads."""

import shutil
from pathlib import Path

from fairstats.release.contents import DOWNLOADS
from fairstats.report.page_output import load_release
from fairstats.report.site_pages import prepare

release = load_release()
prepare(Path(), release)
# A project that is staged for publishing has its downloads in the release already.
shutil.rmtree(DOWNLOADS, ignore_errors=True)
shutil.copytree(release.path / DOWNLOADS, DOWNLOADS)
