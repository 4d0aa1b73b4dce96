"""Show how many changed answers exceed the noise between samples of the same prompt."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.formatting import level, percent, points, span
from fairstats.benchmarks.declaration import BASELINE, Benchmark
from fairstats.benchmarks.kinds import CHOICE
from fairstats.release.contents import Release

# More pairs than these are counted, not named.
_MOST_PAIRS = 4
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


def _of_many(own: pd.DataFrame, benchmark: Benchmark) -> str:
    """Return one paragraph on more pairs than can be named."""
    own = own[own["attribute"].isin([attribute.name for attribute in benchmark.varied])]
    agreement = own.loc[own["metric"] == "same_prompt_agreement", "estimate"].dropna()
    excess = own[(own["metric"] == "excess_disagreement") & own["estimate"].notna()]
    if agreement.empty or excess.empty:
        return ""
    differ = span(percent(1 - agreement.max()), percent(1 - agreement.min()))
    beyond = int((excess["ci_low"] > 0).sum())
    below = int((excess["ci_high"] < 0).sum())
    text = (
        f"Each prompt was asked several times. Two samples of the same prompt differ in {differ} "
        f"of cases. In {beyond} of {len(excess)} pairs, the groups change answers clearly more "
        "often than that (intervals not adjusted)."
    )
    if below:
        text += (
            f" In {below}, samples of the same prompt differ clearly more often than the groups, "
            "so they may not be repetitions of one prompt."
        )
    return text


def noise_line(rows: pd.DataFrame, benchmark: Benchmark, release: Release) -> str:
    """Return one paragraph on the pairs of one answer set; empty without several samples."""
    own = rows[
        rows["metric"].isin(["same_prompt_agreement", "excess_disagreement"])
        & (rows["attribute"] != BASELINE)
    ]
    if benchmark.kind != CHOICE and len(own) > 2 * _MOST_PAIRS:
        return _of_many(own, benchmark)
    clauses = []
    for (attribute, a, b), pair in own.groupby(_PAIR, sort=False):
        label = benchmark.attribute(str(attribute)).pair_label((str(a), str(b)))
        said = _beyond_noise(pair.set_index("metric"), release)
        clauses.append(f"{label}: {said}.")
    if not clauses:
        return ""
    return "Each prompt was asked several times. " + " ".join(clauses)
