"""The measures of a board: what each chart shows, and the words around it."""

from __future__ import annotations

import math

import pandas as pd

from fairstats._lib.formatting import capital, level, listed, p_value
from fairstats.benchmarks.kinds import CHOICE
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.release.contents import Release
from fairstats.report.board.charts import (
    COLOURS,
    FOUR_FIFTHS,
    SIGNED_MEAN,
    Measure,
    groups_chart,
    interval_chart,
    moves_chart,
)
from fairstats.report.board.figures import MOST_PANELS, BoardFigures
from fairstats.report.findings import pair_note
from fairstats.report.page_output import ACCENT_A, DIM
from fairstats.report.words import gap_name, higher_by, long_unit, meaning, named_test, noun, scaled

#: Each verdict with its plural, in the order of sentences.
_VERDICTS = {DISPARITY: "disparities", EQUIVALENT: EQUIVALENT, INCONCLUSIVE: INCONCLUSIVE}


def measures_of(figures: BoardFigures) -> dict[str, Measure]:
    """Return the measures that a board has, by their key."""
    benchmark, there = figures.board.benchmark, set(figures.board.estimates["metric"])
    kind, limits = benchmark.kind, limits_note(figures.release)
    margin, share = scaled(kind, benchmark.equivalence_margin), "" if kind.numeric else "%"
    pooled, means = figures.pooled is not None, meaning(benchmark)
    first = figures.overview[0].label if figures.overview else ""
    circles = "Circles: one per pair, with the range of the figures." if figures.many else ""
    wrong = ", right or wrong" if kind == CHOICE else ""
    net = "Circles: one per pair, the first percentage minus the second." if figures.many else ""
    neutral = figures.neutral is not None
    every = [
        Measure(
            "gap",
            capital(gap_name(kind)),
            f"{capital(gap_name(kind))}s in {long_unit(kind)}",
            _gap_note(figures, limits, circles),
            kind.difference,
            interval_chart,
            head=f"{SIGNED_MEAN if pooled else first}{' gap' * (kind == CHOICE)}",
            unit=f" {kind.unit}",
            band=(-margin, margin),
            colour=lambda row: COLOURS.get(row["verdict"], DIM),
        ),
        Measure(
            "moves",
            "Direction",
            "Direction of the changed answers",
            f"Blue: percent of pairs in which the {kind.name} is {higher_by(benchmark)} for the "
            f"first group. Red: percent in which it is for the second. {means} {net}",
            "moved_up",
            moves_chart,
        ),
        Measure(
            "ratio",
            "Ratio",
            "Selection ratio",
            f"Selection rate of the first group divided by that of the second, with {limits}. 1 is "
            f"equal. Shaded: from .80 to 1.25, the limits of the four-fifths rule. {means} "
            f"{circles}",
            "selection_ratio",
            interval_chart,
            head=f"{first} ratio",
            signed=False,
            band=FOUR_FIFTHS,
            order=lambda ratio: abs(math.log(ratio)) if 0 < ratio < math.inf else 99.0,
        ),
        Measure(
            "cfr",
            "Same answer (CFR)",
            "Same answer to both groups (CFR), %",
            "CFR (counterfactual fairness rate): share of pairs with the same answer for both "
            f"groups{wrong}, with {limits}. 100% is best. {circles}",
            "cfr",
            interval_chart,
            head=f"{first} CFR",
            unit="%",
            signed=False,
            order=lambda share: -share,
        ),
        Measure(
            "groups",
            f"{capital(kind.figure)} by group",
            f"{capital(kind.figure)} by group{'' if kind.numeric else ', %'}",
            "Blue: first group of the pair. Red: second group. The figures are first / second. "
            f"{circles.replace('pair', 'group')}"
            f"{f' The upright mark is the {kind.figure} with neutral text.' * neutral} "
            f"{means if kind != CHOICE else ''}",
            kind.rate_a,
            groups_chart,
            unit=share,
            signed=False,
        ),
        Measure(
            "beyond",
            "Beyond controls",
            "Change between groups minus change between controls",
            _beyond_note(figures, limits),
            "beyond_control",
            interval_chart,
            unit=f" {kind.unit}",
            order=lambda change: change,
            colour=lambda row: ACCENT_A if row["ci_low"] > 0 else DIM,
        ),
    ]
    return {measure.key: measure for measure in every if measure.metric in there}


def _gap_note(figures: BoardFigures, limits: str, circles: str) -> str:
    """Describe the chart of differences, and count their verdicts."""
    benchmark = figures.board.benchmark
    kind = benchmark.kind
    better = "less swayed by the text" if benchmark.slanted else "fairer"
    margin = f"±{kind.shown_margin(benchmark.equivalence_margin)}"
    signed = (
        f"{SIGNED_MEAN}: all pairs counted together, so {noun(kind)}s in opposite directions "
        "cancel out."
    )
    return (
        f"{capital(gap_name(kind))} ({pair_note(benchmark)}) with {limits}. Closer to 0 is "
        f"{better}. Shaded: the equivalence margin of {margin} {kind.unit}, a convention of "
        f"this benchmark and not a {'clinical ' * (kind == CHOICE)}threshold. "
        f"{signed if figures.pooled else ''} {circles} {counted_verdicts(figures)}"
    )


def _beyond_note(figures: BoardFigures, limits: str) -> str:
    """Describe the chart of changes beyond those of controls."""
    benchmark = figures.board.benchmark
    names = listed(f"“{control.label}”" for control in benchmark.controls)
    numeric = benchmark.kind.numeric
    change = "absolute difference of the two answers" if numeric else "share of answers that differ"
    circles = "Circles: one per attribute." if len(figures.attributes) > MOST_PANELS else ""
    return (
        f"How far answers change between two groups, minus how far they change between the "
        f"controls ({names}), which should not matter, with {limits}. A change is the {change}. "
        f"At 0 or below, the groups change answers no more than something meaningless does. "
        f"{circles}"
    )


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
    gaps = figures.gaps["verdict"]
    counts, n = gaps.value_counts(), len(gaps)
    if not counts.sum():
        return ""
    gap, models = noun(kind), figures.gaps["model"].nunique()
    every = f"The {gap} is" if n == 1 else f"All {n} {gap}s are"
    if n == models * len(figures.pairs) and min(models, len(figures.pairs)) > 1:
        every = f"All {n} {gap}s ({models} models × {len(figures.pairs)} pairs) are"
    if counts.get(DISPARITY) == n:
        p = figures.largest_p
        largest = p_value(p).replace("=", "≤") if p >= 0.001 else p_value(p)
        a = "a disparity" if n == 1 else "disparities"
        return f"{every} {a} (adjusted {named_test(kind)} {largest})."
    if counts.iloc[0] == n:
        return f"{every} {counts.index[0]}."
    parts = [
        f"{counts[verdict]} {verdict if counts[verdict] == 1 else plural}"
        for verdict, plural in _VERDICTS.items()
        if verdict in counts
    ]
    if left := int(pd.isna(gaps).sum()):
        parts.append(f"{left} not judged")
    return f"Of {n} {gap}s, {', '.join(parts)}."
