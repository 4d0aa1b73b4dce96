"""The measures of a board: what each chart shows, and the words around it."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from fairstats._lib.formatting import capital, level, listed, p_value
from fairstats.benchmarks.kinds import CHOICE
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.release.contents import Release
from fairstats.report.answer_sets import MOST_PANELS
from fairstats.report.board.charts import (
    SIGNED_MEAN,
    Measure,
    groups_chart,
    interval_chart,
    moves_chart,
    verdict_colour,
)
from fairstats.report.board.figures import BoardFigures
from fairstats.report.figures import FOUR_FIFTHS
from fairstats.report.findings import pair_note
from fairstats.report.page_output import ACCENT_A, DIM
from fairstats.report.words import gap_name, higher_by, long_unit, meaning, named_test, noun, scaled

_MEASURES = Path(__file__).with_name("measures.toml")
#: Each verdict with its plural, in the order of sentences.
_VERDICTS = {DISPARITY: "disparities", EQUIVALENT: EQUIVALENT, INCONCLUSIVE: INCONCLUSIVE}
#: How each measure is drawn; the texts are in the file.
_DRAWN: dict[str, dict[str, Any]] = {
    "gap": {"colour": verdict_colour},
    "moves": {"draw": moves_chart},
    "ratio": {
        "signed": False,
        "band": FOUR_FIFTHS,
        "order": lambda ratio: abs(math.log(ratio)) if 0 < ratio < math.inf else 99.0,
    },
    "cfr": {"signed": False, "order": lambda share: -share},
    "groups": {"draw": groups_chart, "signed": False},
    "beyond": {
        "order": lambda change: change,
        "colour": lambda pair: ACCENT_A if pair.figure("beyond_control").low > 0 else DIM,
    },
}


def measures_of(figures: BoardFigures) -> dict[str, Measure]:
    """Return the measures that a board has, by their key."""
    benchmark, there = figures.board.benchmark, set(figures.board.estimates["metric"])
    margin = scaled(benchmark.kind, benchmark.equivalence_margin)
    words, found = _words(figures), {}
    for key, texts in tomllib.loads(_MEASURES.read_text(encoding="utf-8")).items():
        own = {name: text.format_map(words) for name, text in texts.items()}
        if own["metric"] in there:
            band = {"band": (-margin, margin)} if key == "gap" else {}
            own["note"] = " ".join(own["note"].split())
            found[key] = Measure(**{"draw": interval_chart} | own | band | _DRAWN[key])
    return found


def _words(figures: BoardFigures) -> dict[str, str]:
    """Return what the texts of measures name."""
    benchmark, kind = figures.board.benchmark, figures.board.benchmark.kind
    choice, first = kind == CHOICE, figures.overview[0].label if figures.overview else ""
    many = "Circles: one per {}, with the range of the figures." if figures.many else ""
    signed = (
        f"{SIGNED_MEAN}: all pairs counted together, so {noun(kind)}s in opposite directions "
        "cancel out."
    )
    own = SIGNED_MEAN if figures.pooled else first
    lists = {
        "signed_mean": (figures.pooled is not None, signed),
        "clinical": (choice, "clinical "),
        "right_or_wrong": (choice, ", right or wrong"),
        "rate_means": (not choice, meaning(benchmark)),
        "percent": (not kind.numeric, ", %"),
        "net": (figures.many, "Circles: one per pair, the first percentage minus the second."),
        "neutral": (figures.neutral, f"The upright mark is the {kind.figure} with neutral text."),
        "attribute_circles": (len(figures.attributes) > MOST_PANELS, "Circles: one per attribute."),
    }
    return {name: text if known else "" for name, (known, text) in lists.items()} | {
        "kind": kind.name,
        "difference": kind.difference,
        "rate": kind.rate_a,
        "unit": kind.unit,
        "long_unit": long_unit(kind),
        "Figure": capital(kind.figure),
        "Gap": capital(gap_name(kind)),
        "first": first,
        "gap_head": f"{own} gap" if choice else own,
        "pair": pair_note(benchmark),
        "limits": limits_note(figures.release),
        "better": "less swayed by the text" if benchmark.slanted else "fairer",
        "margin": kind.shown_margin(benchmark.equivalence_margin),
        "higher": higher_by(benchmark),
        "means": meaning(benchmark),
        "circles": many.format("pair"),
        "group_circles": many.format("group"),
        "verdicts": counted_verdicts(figures),
        "controls": listed(f"“{control.label}”" for control in benchmark.controls),
        "change": (
            "absolute difference of the two answers"
            if kind.numeric
            else "share of answers that differ"
        ),
    }


def limits_note(release: Release) -> str:
    """Describe the limits of the release's figures."""
    if release.policies == ["bounds"]:
        return "the range over all possible missing answers"
    return f"its {level(release.alpha)} interval"


def counted_verdicts(figures: BoardFigures) -> str:
    """Count the verdicts on the differences in the chart, those of unranked models too.

    Parameters
    ----------
    figures : BoardFigures
        The board's figures.

    Returns
    -------
    str
        A sentence; empty if there is no verdict.
    """
    kind = figures.board.benchmark.kind
    counts, n = Counter(pair.verdict for pair in figures.gaps), len(figures.gaps)
    left = counts.pop(None, 0)
    if not counts:
        return ""
    gap, models, pairs = noun(kind), len(figures.sets), len(figures.panels)
    every = {1: f"The {gap} is", 2: f"Both {gap}s are"}.get(n, f"All {n} {gap}s are")
    if n == models * pairs and min(models, pairs) > 1:
        every = f"All {n} {gap}s ({models} models × {pairs} pairs) are"
    if counts[DISPARITY] == n:
        p = figures.largest_p
        largest = p_value(p).replace("=", "≤") if p >= 0.001 else p_value(p)
        a = "a disparity" if n == 1 else "disparities"
        return f"{every} {a} (adjusted {named_test(kind)} {largest})."
    if n in counts.values():
        return f"{every} {next(iter(counts))}."
    parts = [
        f"{counts[verdict]} {verdict if counts[verdict] == 1 else plural}"
        for verdict, plural in _VERDICTS.items()
        if verdict in counts
    ]
    if left:
        parts.append(f"{left} not judged")
    return f"Of {n} {gap}s, {', '.join(parts)}."
