from __future__ import annotations

import math

import pytest

from fairstats._lib.formatting import align, convert, draw_intervals

NAN, INF = math.nan, math.inf


def test_limits_are_drawn_on_their_side_of_the_reference():
    # On this scale, 0.001 would round to the place of 0.
    *lines, scale = draw_intervals(
        [0.5, -0.5, 0.001], [0.001, -1, -0.001], [1, -0.001, 1], reference=0, width=21
    )
    assert lines == [
        "          ┊├───●────┤",
        "├────●───┤┊",
        "         ├┼●────────┤",
    ]
    assert scale == "−1.0000        1.0000"


def test_unknown_and_infinite_limits():
    *lines, _ = draw_intervals([0.0, NAN, 1.0], [NAN, NAN, -INF], [NAN, NAN, INF], width=5)
    assert lines == ["●", "", "────●"]


@pytest.mark.parametrize("values", [[], [NAN], [2.0]])
def test_scale_without_spread_is_drawn(values):
    *lines, scale = draw_intervals(values, values, values, width=11)
    assert len(lines) == len(values)
    assert len(scale) >= 11


def test_cells_are_aligned_by_their_width_on_screen():
    assert align([["日本", "1"], ["a", "10"]], right=[1]) == ["日本   1", "a     10"]
    assert align([["\x1b[2J", "x"]]) == ["\\x1b[2J  x"]


@pytest.mark.parametrize(
    ("limit", "message"),
    [({"memory": 64}, "more than 64 MB of memory"), ({"seconds": 0.1}, "longer than 0.1 seconds")],
)
def test_pandoc_stops_at_a_limit(limit, message):
    with pytest.raises(RuntimeError, match=message):
        convert("![" * 20_000, source="markdown", target="json", **limit)
