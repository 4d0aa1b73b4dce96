"""Charts of rows: their marks, axes, HTML and SVG."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import pytest

from fairstats.report.charts.marks import axis_over, bar, dot, interval, words
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


def shown(axis, value: float) -> float:
    return float(axis.at(value)[:-1])


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("values", [(0.31, 0.33), (41.2, 43.9), (-0.02, 0.04), (7.1, 22.4)])
def test_axis_has_ticks_that_show_its_scale(values, signed):
    ticks = axis_over(values, signed=signed).ticks
    assert 2 <= len(ticks) <= 6
    assert len({f"{tick:g}" for tick in ticks}) == len(ticks)


def test_axis_has_room_for_its_labels():
    labels = [(30.0, "+30.0"), (-14.1, "−14.1 to +11.8")]
    before = [(-20.0, "−20.0")]
    axis = axis_over([-20, 30], labels=labels, before=before, width=200)
    assert all(shown(axis, value) + 100 * 6 * len(text) / 200 < 100 for value, text in labels)
    assert all(shown(axis, value) - 100 * 6 * len(text) / 200 > 0 for value, text in before)
    # Labels wider than the panel leave room for the marks.
    axis = axis_over([-1, 1], labels=[(1, 40 * "x")], width=100)
    assert shown(axis, 1) - shown(axis, -1) > 15


def test_value_beyond_the_axis_is_an_arrow_with_its_figure():
    axis = axis_over([0, 10])
    inside = interval(axis, 5, 2, 9, label="+5.0")
    assert 'class="beyond"' not in inside
    beyond = interval(axis, 90, 60, 120, label="+90.0")
    assert beyond.count('class="beyond"') == 2
    assert "<circle" not in beyond
    assert "+90.0" in beyond
    # The line of an interval that leaves the axis keeps its dot.
    assert interval(axis, 5, 2, math.inf, label="5").count('class="beyond"') == 1
    assert "<circle" in interval(axis, 5, 2, math.inf)
    assert 'class="beyond"' in dot(axis, -30)
    assert bar(axis, 0, 40).count('class="beyond"') == 1


def test_names_of_several_lines_do_not_collide_on_paper():
    names = [
        "a-model-with-a-very-long-name-2026-instruct",
        "b",
        "another-model-with-a-long-name-it",
    ]
    rows = [Row(name, (Cell("", ""),), note="version", reason="not ranked: why") for name in names]
    axis = axis_over([0, 1])
    drawn = chart_svg(Chart("c", "", "Model", (axis,), tuple(rows)))
    lines = [
        (float(y), text) for y, text in re.findall(r'<text x="0" y="([\d.]+)"[^>]*>([^<]*)', drawn)
    ]
    heights = [y for y, _ in lines]
    assert all(after - before > 9 for before, after in pairwise(heights))
    assert sum("not ranked" in text for _, text in lines) == 3
    assert all(len(text) < 45 for _, text in lines)


def test_head_of_several_words_stays_on_paper():
    chart = Chart("c", "", "Model", (AXIS,), (), ("Selection rate of all groups, %",))
    places = re.findall(r'y="(-?[\d.]+)" dx="0" dy="4"[^>]*font-size="11"', chart_svg(chart))
    assert places
    assert all(float(place) >= 0 for place in places)


def test_names_of_groups_are_whole_on_paper():
    note = "High income − Low income"
    axes = tuple(axis_over([0, 40], key=k, label="Income", note=note) for k in "abcd")
    row = Row("Claude-4-Sonnet", tuple(Cell(dot(axis, 1), "") for axis in axes), ("2–3", "90.1"))
    drawn = chart_svg(Chart("c", "", "Model", axes, (row,), ("Rank", "Accuracy")))
    assert "…" not in drawn
    assert drawn.count("income") == 2 * len(axes)
