"""A strip over margins: up to which a pair is not equivalent, and from which it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import points
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.terms import BASELINE
from fairstats.estimates.sensitivity import MARGIN, SMALLEST
from fairstats.inference.equivalence import EQUIVALENT, INCONCLUSIVE, SHOWN
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, INK, RULE
from fairstats.report.plots import answer_sets, pair_labels, plot_theme
from fairstats.report.sensitivity_tables import NOT_JUDGED

if TYPE_CHECKING:
    from plotnine import ggplot

# Each verdict's line in the strip: colour, kind of line and width say the same.
_LINES = {
    SHOWN: (ACCENT_A, "dashed", 1.3),
    INCONCLUSIVE: (DIM, "dotted", 1.3),
    EQUIVALENT: (ACCENT_B, "solid", 2.2),
    NOT_JUDGED: (DIM, "solid", 0.5),
}
#: Margins up to here are drawn, in points, and further where a pair needs it.
LEAST_REACH = 10.0


def has_margins(rows: pd.DataFrame) -> bool:
    """Whether a pair of these rows has a smallest margin, so that a strip has something to show."""
    return bool(_smallest(rows)["estimate"].notna().any())


def margin_strip(rows: pd.DataFrame, benchmark: Benchmark) -> ggplot:
    """What each pair's verdict would be over margins, with the benchmark's own marked.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `fairstats.estimates.sensitivity.sensitivity_of`, of one model and benchmark; one facet
        a version and strategy. The baseline has no verdict and is left out; under ``bounds`` there
        is nothing to draw, see `has_margins`.
    benchmark : Benchmark
        Gives the labels of the pairs and the margin.
    """
    from plotnine import (
        aes,
        element_blank,
        element_line,
        facet_wrap,
        geom_point,
        geom_segment,
        geom_text,
        geom_vline,
        ggplot,
        labs,
        scale_color_manual,
        scale_linetype_manual,
        scale_size_manual,
        scale_x_continuous,
        theme,
    )

    smallest = _smallest(rows).copy()
    labels = pair_labels(smallest, benchmark)
    order = list(dict.fromkeys(labels))[::-1]
    smallest["pair"] = pd.Categorical(labels, categories=order, ordered=True)
    smallest["set"] = answer_sets(smallest)
    smallest["points"] = 100 * smallest["estimate"]
    smallest["label"] = [points(x, signed=False) for x in smallest["estimate"]]
    reach = float((1.08 * smallest["points"]).fillna(0).clip(lower=LEAST_REACH).max())
    step = 2 if reach < 15 else 5 if reach < 40 else 20
    below = smallest.assign(
        start=0.0,
        end=smallest["points"].fillna(reach),
        verdict=smallest["verdict"].fillna(NOT_JUDGED),
    )
    known = smallest.dropna(subset="points")
    above = known.assign(start=known["points"], end=reach, verdict=EQUIVALENT)
    lines = pd.concat([below, above], ignore_index=True)
    there = [name for name in _LINES if name in set(lines["verdict"])]
    lines["verdict"] = pd.Categorical(lines["verdict"], categories=there, ordered=True)
    colours, kinds, widths = ({name: _LINES[name][place] for name in there} for place in range(3))
    by_verdict = dict.fromkeys(("color", "linetype", "size"), "verdict")
    margin = 100 * benchmark.equivalence_margin
    return (
        ggplot(lines)
        + geom_vline(xintercept=margin, color=INK, size=0.5)
        + geom_segment(aes(x="start", xend="end", y="pair", yend="pair", **by_verdict))
        + geom_point(aes(x="points", y="pair"), data=known, color=ACCENT_B, size=2.2)
        + geom_text(
            aes(x="points", y="pair", label="label"), data=known, color=INK, size=8, nudge_y=0.32
        )
        + facet_wrap("set", ncol=1)
        + scale_color_manual(colours, breaks=there)
        + scale_linetype_manual(kinds, breaks=there)
        + scale_size_manual(widths, breaks=there)
        + scale_x_continuous(
            limits=(0, reach), breaks=range(0, int(reach) + 1, step), expand=(0, 0, 0.01, 0)
        )
        + labs(
            x=f"margin, points; the upright line is the benchmark's, {margin:g}",
            y="",
            **dict.fromkeys(by_verdict, ""),
        )
        + plot_theme()
        + theme(
            panel_grid_major_x=element_line(color=RULE, size=0.4),
            panel_grid_minor_x=element_blank(),
            legend_key_width=34,
        )
    )


def _smallest(rows: pd.DataFrame) -> pd.DataFrame:
    own = (rows["aspect"] == MARGIN) & (rows["choice"] == SMALLEST)
    return rows[own & (rows["attribute"] != BASELINE)]
