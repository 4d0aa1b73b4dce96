"""Show how many changed answers exceed the noise between samples of the same prompt."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.formatting import level, percent, points
from fairstats.benchmarks.declaration import BASELINE, Benchmark
from fairstats.release.contents import Release

_PAIR = ["attribute", "group_a", "group_b"]


def _beyond_noise(figures: pd.DataFrame, release: Release) -> str:
    """Return one clause for a pair from its estimates by metric; empty without several samples."""
    if "excess_disagreement" not in figures.index:
        return ""
    agreement = figures.loc["same_prompt_agreement", "estimate"]
    excess = figures.loc["excess_disagreement"]
    low, high = points(excess["ci_low"]), points(excess["ci_high"])
    return (
        f"two samples of the same prompt differ in {percent(1 - agreement)} of cases, so "
        f"{points(excess['estimate'])} points of the change are beyond sampling noise "
        f"({level(release.alpha)} interval {low} to {high})"
    )


def noise_line(rows: pd.DataFrame, benchmark: Benchmark, release: Release) -> str:
    """Return one paragraph on the pairs of one answer set; empty without several samples."""
    own = rows[
        rows["metric"].isin(["same_prompt_agreement", "excess_disagreement"])
        & (rows["attribute"] != BASELINE)
    ]
    clauses = []
    for (attribute, a, b), pair in own.groupby(_PAIR, sort=False):
        label = benchmark.attribute(str(attribute)).pair_label((str(a), str(b)))
        said = _beyond_noise(pair.set_index("metric"), release)
        clauses.append(f"{label}: {said}.")
    if not clauses:
        return ""
    return "Each prompt was asked several times. " + " ".join(clauses)
