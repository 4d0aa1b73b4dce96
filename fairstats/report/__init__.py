"""Tables, plots and pages. They read a release's estimates and compute no statistic."""

from fairstats.release.contents import Release
from fairstats.report.page_output import load_release

__all__ = ["Release", "load_release"]
