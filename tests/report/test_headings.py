"""Headings of tables show the names of benchmark files as they are."""

from __future__ import annotations

import html
import re

import great_tables
import pytest

from fairstats.report.tables import as_label, written_table

HOSTILE = "race {{x}} <script>alert(1)</script> {{[a](javascript:b)}} {{{>}}}"


@pytest.mark.parametrize("label", [HOSTILE, great_tables.html(html.escape(HOSTILE))])
def test_units_in_a_heading_are_text(label):
    table = written_table([{"a": "1", "x": "2"}], {"x": label}, name="t", stub="a", heading=HOSTILE)
    table = table.tab_spanner(as_label(label), columns=["x"], id="s")
    markup = table.as_raw_html()
    assert not re.search("<script|href|<blockquote", markup)
    assert html.unescape(re.sub("<[^>]*>", "", markup)).count(HOSTILE) == 3
