"""Charts of rows: their marks, axes, HTML and SVG."""

from __future__ import annotations

import pytest

from fairstats.report.charts.marks import axis_over, dot, words
from fairstats.report.charts.rows import Cell, Chart, Row, chart_html, chart_svg

HOSTILE = "<script>alert('1')</script>"
AXIS = axis_over([0, 10], key=HOSTILE, label=HOSTILE, note=HOSTILE)


@pytest.mark.parametrize("drawn", [chart_html, chart_svg])
def test_charts_escape_every_text(drawn):
    rows = [
        Row(HOSTILE, (Cell(words(AXIS, 1, HOSTILE), HOSTILE),), (HOSTILE,), HOSTILE, HOSTILE),
        Row(HOSTILE, (Cell(HOSTILE, "marks that no function made"),), ("",)),
        Row(HOSTILE, note=HOSTILE),
    ]
    markup = drawn(Chart("c", HOSTILE, HOSTILE, (AXIS,), tuple(rows), (HOSTILE,)))
    assert "<script" not in markup
    assert "&lt;script&gt;" in markup
    assert "<circle" in drawn(Chart("c", "", "", (AXIS,), (Row("", (Cell(dot(AXIS, 1), ""),)),)))
