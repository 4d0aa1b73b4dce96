"""Intervals drawn as text, one line each."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairstats._lib.formatting import decimal
from fairstats._lib.problems import printable

#: Number of characters of a drawn interval.
WIDTH = 41


def draw_intervals(
    estimates: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    *,
    reference: float | None = None,
    width: int = WIDTH,
) -> list[str]:
    """Draw intervals on a common scale: ``├──●──┤``, with ``┊`` or ``┼`` at the reference.

    Parameters
    ----------
    estimates, lows, highs : sequence of float
        The intervals. A limit that is NaN is not drawn, and an infinite one ends in ``─``.
    reference : float, optional
        A value to mark, e.g. 0 for differences. The scale includes it.
    width : int
        Number of characters per line.

    Returns
    -------
    list of str
        One line per interval, then the line of the scale with its ends.

    Examples
    --------
    >>> print(*draw_intervals([0.1, 0], [0, -0.2], [0.2, 0.2], reference=0, width=21), sep="\\n")
              ├────●────┤
    ├─────────●─────────┤
    −0.2000        0.2000
    """
    shown = [
        x for x in (*estimates, *lows, *highs, reference) if x is not None and math.isfinite(x)
    ]
    least, most = min(shown, default=0.0), max(shown, default=1.0)
    if least == most:
        least, most = least - 0.5, most + 0.5

    def scaled(x: float) -> int:
        return round((min(max(x, least), most) - least) / (most - least) * (width - 1))

    zero = None if reference is None else scaled(reference)

    def place(x: float) -> int:
        # Only the reference itself is drawn in its place.
        if zero is None or x == reference:
            return scaled(x)
        return max(scaled(x), zero + 1) if x > (reference or 0) else min(scaled(x), zero - 1)

    lines = []
    for estimate, low, high in zip(estimates, lows, highs, strict=True):
        line = [" "] * width
        if zero is not None:
            line[zero] = "┊"
        if not (math.isnan(low) or math.isnan(high)):
            line[place(low) : place(high) + 1] = "─" * (place(high) - place(low) + 1)
            if zero is not None and place(low) < zero < place(high):
                line[zero] = "┼"
            for limit, end in ((low, "├"), (high, "┤")):
                if math.isfinite(limit):
                    line[place(limit)] = end
        if math.isfinite(estimate):
            line[place(estimate)] = "●"
        lines.append("".join(line).rstrip())
    ends = decimal(least), decimal(most)
    return [*lines, f"{ends[0]}{ends[1]:>{max(width - len(ends[0]), 1)}}"]


def align(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """Return rows of cells as lines of text; columns in `right` are aligned to the right.

    Examples
    --------
    >>> align([["plain", "0.5"], ["few", "12"]], right=[1])
    ['plain  0.5', 'few     12']
    """
    from rich.cells import cell_len

    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        blanks = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        padded = [
            blank + cell if place in right else cell + blank
            for place, (cell, blank) in enumerate(zip(row, blanks, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return lines
