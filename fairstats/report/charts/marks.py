"""The axis of a chart's panel, and the marks on it, as parts of an SVG.

Positions are percentages of a panel's width, so one drawing fits every screen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from markupsafe import Markup

from fairstats._lib.formatting import MINUS
from fairstats.report.page_output import ACCENT_A, ACCENT_B, BAND, DIM, INK, RULE, filled

# Percent of a panel's width that is free at its left and right edge.
_EDGE = 3.0
# Pixels of a character, between a label and its mark, and of the arrow at an edge;
# the arrow's length in percent of the panel's width.
_CHARACTER, _GAP, _ARROW = 6.9, 9, 8
_TIP = 3.0
# Distances of ticks.
_STEPS = [m * 10.0**e for e in range(-4, 4) for m in (1, 2, 5)]


@dataclass(frozen=True)
class Axis:
    """The horizontal axis of a chart's panel, the same in all rows.

    Attributes
    ----------
    key : str
        The panel's name for the page's controls.
    label, note : str
        The panel's heading, and its content, e.g. ``"Race"`` and ``"White − Black"``.
    low, high : float
        The values at the left and right edge, in the unit of the ticks.
    band : (float, float), optional
        A range to shade, e.g. the equivalence margin.
    signed : bool
        Whether ticks have a sign.
    unit : str
        The unit after the last tick, e.g. ``"%"``.
    end : float
        The value after which there are no ticks, only room for labels.
    labelled : bool
        Whether ticks are drawn; if not, only 0 is.
    limits : (float, float)
        The values to draw between; an arrow shows that there is one beyond.
    """

    key: str
    label: str
    note: str
    low: float
    high: float
    band: tuple[float, float] | None = None
    signed: bool = True
    unit: str = ""
    end: float = math.inf
    labelled: bool = True
    limits: tuple[float, float] = (-math.inf, math.inf)

    def place(self, value: float) -> float:
        """Return the position of a value, in percent of the panel's width."""
        inside = min(max(value, self.low), self.high)
        share = (inside - self.low) / (self.high - self.low)
        return round(_EDGE + share * (100 - 2 * _EDGE), 2)

    def at(self, value: float) -> str:
        """Return the position of a value, as SVG has it."""
        return f"{self.place(value):.2f}%"

    def inside(self, value: float) -> float:
        """Return a value, or the limit that it is beyond."""
        return min(max(value, self.limits[0]), self.limits[1])

    @property
    def ticks(self) -> list[float]:
        """Return two to about five round values on the axis; for a percentage, at most 100."""
        if not self.labelled:
            return [0.0]
        high = min(self.high, self.end, 100.0 if self.unit == "%" else math.inf)
        # Labels with a sign need more room.
        most = 4.5 if self.signed or self.low <= -0.15 * high else 5.5
        if self.end - self.low < 0.5 * (self.high - self.low):
            most = 3.5
        place = next((n for n, s in enumerate(_STEPS) if (high - self.low) / s <= most), -1)
        found: list[float] = []
        # A single tick shows no scale, so a smaller step is better.
        for step in _STEPS[place::-1]:
            first, last = math.ceil(self.low / step - 1e-9), math.floor(high / step + 1e-9)
            found = [step * n for n in range(first, last + 1)]
            if len(found) > 1:
                break
        return found

    def grid(self) -> Markup:
        """Return the shaded band, the ticks' lines and the zero line."""
        parts = []
        if self.band is not None:
            left, right = map(self.place, self.band)
            width = f"{right - left:.2f}%"
            parts.append(element("rect", x=f"{left:.2f}%", width=width, height="100%", fill=BAND))
        for tick in self.ticks:
            colour = DIM if tick == 0 and self.signed else RULE
            parts.append(_line(self.at(tick), self.at(tick), "0", "100%", colour, 1))
        return Markup().join(parts)

    def scale(self) -> Markup:
        """Return the ticks' labels."""
        labels: list[Markup] = []
        if not self.labelled:
            return Markup()
        for number, tick in enumerate(self.ticks):
            text = f"{tick:+g}" if self.signed and tick else f"{tick:g}"
            text = text.replace("-", MINUS) + self.unit * (number == len(self.ticks) - 1)
            place = self.place(tick)
            anchor = "start" if place < 6 else "end" if place > 92 else "middle"
            labels.append(svg_text(self.at(tick), text, anchor=anchor, colour=DIM, size=12))
        return Markup().join(labels)


def axis_over(
    values: Iterable[float],
    *,
    key: str = "",
    label: str = "",
    note: str = "",
    band: tuple[float, float] | None = None,
    room: float = 0.28,
    lead: float = 0.0,
    limits: tuple[float, float] | None = None,
    signed: bool = True,
    unit: str = "",
    labels: Iterable[tuple[float, str]] = (),
    before: Iterable[tuple[float, str]] = (),
    width: float = math.inf,
) -> Axis:
    """Return an axis that fits these values, and labels to their right.

    Parameters
    ----------
    values : iterable of float
        Every value that is drawn; NaN is skipped.
    key, label, note, band, signed, unit
        See `Axis`. The band and, if `signed`, 0 are on the axis.
    room, lead : float
        The shares of the range that are added at the right and at the left, for labels.
    limits : (float, float), optional
        Values that the axis does not exceed, e.g. 0 and 100 for percentages; `room` may.
    labels, before : iterable of (float, str)
        Texts to the right and to the left of these values, for which the axis has room.
    width : float
        Pixels of the panel, for `labels`.
    """
    known = [value for value in values if not math.isnan(value)]
    known += [*(band or ()), *([0.0] if signed else [])]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if high - low < 1e-9:
        low, high = low - 1, high + 1
    pad = 0.04 * (high - low)
    low, high = low - pad, high + pad
    if limits is not None:
        low, high = max(low, limits[0]), min(high, limits[1])
    limits, reach = (low, high), high - low
    low, high = low - lead * reach, high + room * reach
    after, ahead = ([(min(max(v, limits[0]), limits[1]), _GAP + _CHARACTER * len(text))
                     for v, text in texts] for texts in (labels, before))  # fmt: skip
    # Labels that would leave less than a quarter for the marks are wider than their room.
    wide = sum(max((pixels for _, pixels in texts), default=0) for texts in (after, ahead))
    width = max(width, 1.3 * wide)
    # Room for a label makes the panel's unit smaller, so the next label needs more of it.
    for _ in range(30):
        pixel = (high - low) / width
        low = min([low, *(value - pixels * pixel for value, pixels in ahead)])
        high = max([high, *(value + pixels * pixel for value, pixels in after)])
    return Axis(key, label, note, low, high, band, signed, unit, limits=limits)


def interval(
    axis: Axis,
    estimate: float,
    low: float,
    high: float,
    *,
    label: str = "",
    colour: str = ACCENT_A,
    y: str = "50%",
) -> Markup:
    """Draw a dot and its interval, in the unit of the axis; without an estimate, no dot.

    The label is the figure as text, to the right; `y` is the height in the row.
    """
    marks = line(axis, low, high, colour=colour, y=y, width=2.2)
    if not math.isnan(estimate) and axis.inside(estimate) == estimate:
        marks += element("circle", cx=axis.at(estimate), cy=y, r=4.2, fill=colour)
    elif math.isnan(low + high):
        marks += _arrow(axis, estimate, colour, y)
    end = next((v for v in (high, estimate) if not math.isnan(v)), None)
    if label and end is not None:
        beyond = _ARROW * (end > axis.limits[1])
        marks += svg_text(axis.at(axis.inside(end)), label, y=y, shift=7 + beyond)
    return marks


def dot(
    axis: Axis, value: float, *, colour: str = ACCENT_A, hollow: bool = False, y: str = "50%"
) -> Markup:
    """Draw a dot, filled or hollow; an arrow if the value is beyond the axis."""
    if math.isnan(value) or axis.inside(value) != value:
        return _arrow(axis, value, colour, y)
    fill = "none" if hollow else colour
    at = axis.at(value)
    return element("circle", cx=at, cy=y, r=4, fill=fill, stroke=colour, stroke_width=1.4)


def _arrow(axis: Axis, value: float, colour: str, y: str = "50%") -> Markup:
    """Draw an arrow at the edge that a value is beyond; nothing for another value."""
    if math.isnan(value) or axis.inside(value) == value:
        return Markup()
    sign = 1 if value > axis.limits[1] else -1
    edge, middle = axis.place(axis.inside(value)), float(y[:-1])
    tip = f"{edge + sign * _TIP:.2f}%"
    sides = (
        _line(f"{edge:.2f}%", tip, f"{middle + up:g}%", f"{middle:g}%", colour, 2.2)
        for up in (-15, 0, 15)
    )
    return element("g", *sides, class_="beyond")


def tick(axis: Axis, value: float, *, reach: float = 22) -> Markup:
    """Draw an upright mark; `reach` from the middle, in percent of the row's height."""
    if math.isnan(value):
        return Markup()
    at = axis.at(value)
    return _line(at, at, f"{50 - reach:g}%", f"{50 + reach:g}%", INK, 2)


def bar(
    axis: Axis,
    start: float,
    end: float,
    *,
    colour: str = ACCENT_A,
    y: float = 50,
    reach: float = 26,
) -> Markup:
    """Draw a bar between two values; `y` and `reach` in percent of the row's height."""
    if math.isnan(start) or math.isnan(end):
        return Markup()
    left, right = (axis.place(axis.inside(value)) for value in sorted((start, end)))
    x, width, top, height = (
        f"{value}%"
        for value in (f"{left:.2f}", f"{right - left:.2f}", f"{y - reach:g}", f"{2 * reach:g}")
    )
    arrows = (_arrow(axis, value, colour, f"{y:g}%") for value in (start, end))
    return Markup().join(
        [element("rect", x=x, width=width, y=top, height=height, fill=colour), *arrows]
    )


def two_bars(
    axis: Axis,
    right: float,
    left: float,
    form: Callable[[float], str],
    *,
    y: float = 50,
    reach: float = 26,
) -> Markup:
    """Draw two sizes as bars on both sides of 0, with their figures; `y` as for `tick`."""
    marks = bar(axis, 0, right, colour=ACCENT_B, y=y, reach=reach)
    marks += bar(axis, -left, 0, colour=ACCENT_A, y=y, reach=reach)
    marks += words(axis, axis.inside(right), form(right), shift=5, y=f"{y:g}%")
    at = axis.inside(-left)
    return marks + words(axis, at, form(left), anchor="end", shift=-5, y=f"{y:g}%")


def line(
    axis: Axis, start: float, end: float, *, colour: str = DIM, y: str = "50%", width: float = 1.6
) -> Markup:
    """Draw a line between two values, with an arrow at an end that is beyond the axis."""
    if math.isnan(start) or math.isnan(end):
        return Markup()
    x1, x2 = axis.at(axis.inside(start)), axis.at(axis.inside(end))
    arrows = (_arrow(axis, value, colour, y) for value in (start, end))
    return Markup().join([_line(x1, x2, y, y, colour, width), *arrows])


def words(
    axis: Axis,
    value: float,
    text: str,
    *,
    anchor: str = "start",
    shift: float = 7,
    colour: str = INK,
    y: str = "50%",
) -> Markup:
    """Write a text next to a value; `shift` in pixels."""
    return svg_text(axis.at(value), text, anchor=anchor, shift=shift, colour=colour, y=y)


def _line(x1: str, x2: str, y1: str, y2: str, colour: str, width: float) -> Markup:
    return element("line", x1=x1, x2=x2, y1=y1, y2=y2, stroke=colour, stroke_width=width)


def svg_text(
    x: str,
    text: str,
    *,
    y: str = "50%",
    anchor: str = "start",
    shift: float = 0,
    colour: str = INK,
    size: float = 12.5,
    weight: int | None = None,
) -> Markup:
    """Return a text; `shift` in pixels, everything else as in SVG."""
    place: dict[str, str | float] = {"x": x, "y": y, "dx": f"{shift:g}", "dy": 4}
    font = {"fill": colour, "font_size": f"{size:g}", "font_weight": weight}
    return element("text", text, **place, text_anchor=anchor, **font)


def element(tag: str, *inside: str, **attributes: str | float | None) -> Markup:
    """Return an element of an SVG, with its texts and attributes escaped.

    Names of attributes have an underscore for a hyphen, and after a keyword; None leaves one out.
    """
    given = {key.rstrip("_").replace("_", "-"): v for key, v in attributes.items() if v is not None}
    return filled("element", tag=tag, inside=inside, attributes=given)
