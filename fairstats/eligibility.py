"""Which models a board ranks: those that answered enough, and better than a guess."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairstats.benchmarks import BASELINE, NEUTRALIZED, Benchmark
from fairstats.counts import PATTERNS
from fairstats.folding import UNIT_COLUMNS
from fairstats.inference.intervals import wilson
from fairstats.missing import apply_policy, missing_per_group
from fairstats.names import named_in

_UNIT = list(UNIT_COLUMNS)


def why_unranked(
    counts: pd.DataFrame, items: pd.Series, benchmark: Benchmark, *, alpha: float = 0.05
) -> pd.Series:
    """Give the reason why a model is listed without a rank.

    Parameters
    ----------
    counts : pandas.DataFrame
        The outcome counts of one benchmark's declared pairs, see `fairstats.counts.pair_counts`.
    items : pandas.Series
        The number of items that each unit was asked, by `UNIT_COLUMNS` and attribute.
    benchmark : Benchmark
        Declares who is ranked: `selected_on`, `largest_missing` and `lowest_accuracy`.
    alpha : float
        1 − confidence level of the interval of accuracy.

    Returns
    -------
    pandas.Series
        A sentence without its full stop, by `UNIT_COLUMNS`; empty if the model is ranked.
    """
    guessing = why_not_above_chance(counts, items, benchmark, alpha=alpha)
    missing = _too_many_missing(counts, benchmark).reindex(guessing.index, fill_value="")
    models = guessing.index.get_level_values("model")
    selected = np.where(
        named_in(models, benchmark.selected_on), "model took part in selecting the items", ""
    )
    reasons = pd.DataFrame({"selected": selected, "missing": missing, "guessing": guessing})
    return reasons.apply(lambda row: "; ".join(filter(None, row)), axis=1).astype("str")


def why_not_above_chance(
    counts: pd.DataFrame, items: pd.Series, benchmark: Benchmark, *, alpha: float = 0.05
) -> pd.Series:
    """Say which models answer no better than the benchmark asks of a model that is ranked.

    A model that guesses is fair in the way a coin is: its accuracy does not depend on the group
    because it does not depend on the vignette.

    Parameters
    ----------
    counts, items, benchmark, alpha
        As for `why_unranked`.

    Returns
    -------
    pandas.Series
        By `UNIT_COLUMNS`: empty if the lower limit of the Wilson interval of accuracy exceeds
        `benchmark.lowest_accuracy`, by default `benchmark.chance`; else the reason.

    Notes
    -----
    Accuracy is that in the neutralized variant, and over the variants of the declared pairs for a
    model that was not asked it. A missing answer is wrong: a model must not reach the limit by
    refusing what it does not know. Items are what is independent, so several samples of an item,
    or several variants, count as one answer in the interval.
    """
    least = benchmark.chance if benchmark.lowest_accuracy is None else benchmark.lowest_accuracy
    rows = []
    for unit, own in counts.groupby(_UNIT, sort=False):
        baseline = own[own["attribute"] == BASELINE]
        neutralized = baseline[
            baseline["group_a"].eq(NEUTRALIZED) | baseline["group_b"].eq(NEUTRALIZED)
        ].head(1)
        used = own[own["attribute"] != BASELINE] if neutralized.empty else neutralized
        paired = apply_policy(used, "incorrect")
        where = "of the variants"
        correct, answers = int((paired.correct_a + paired.correct_b).sum()), int(2 * paired.n.sum())
        if not neutralized.empty:
            where = "in the neutralized variant"
            is_a = neutralized["group_a"].iloc[0] == NEUTRALIZED
            correct = int((paired.correct_a if is_a else paired.correct_b)[0])
            answers = int(paired.n[0])
        asked = max(
            (int(items.get((*unit, name), 0)) for name in used["attribute"].unique()), default=0
        )
        limit = 0.0
        if answers and asked:
            effect = max(answers / asked, 1.0)
            limit = float(wilson(correct, answers, alpha=alpha, design_effect=effect).low)
        reason = ""
        if limit <= least:
            shown = f"{correct / answers:.1%}" if answers else "not known"
            needed = "the required" if benchmark.lowest_accuracy is not None else "the best guess,"
            reason = (
                f"accuracy {where} is {shown} (lower limit {limit:.1%}), not above {needed} "
                f"{least:.1%}"
            )
        rows.append((*unit, reason))
    table = pd.DataFrame(rows, columns=[*_UNIT, "reason"])
    return table.set_index(_UNIT)["reason"].astype("str")


def _too_many_missing(counts: pd.DataFrame, benchmark: Benchmark) -> pd.Series:
    own = counts[counts["attribute"].isin([a.name for a in benchmark.varied])]
    missing_a, missing_b = missing_per_group(own)
    share = (missing_a + missing_b) / (2 * own[list(PATTERNS)].sum(axis=1)).clip(lower=1)
    labels = [
        benchmark.attributes[name].pair_label((a, b))
        for name, a, b in zip(own["attribute"], own["group_a"], own["group_b"], strict=True)
    ]
    over = own[_UNIT].assign(text=[f"{a} {b:.1%}" for a, b in zip(labels, share, strict=True)])
    listed = over[share > benchmark.largest_missing].groupby(_UNIT, sort=False)["text"]
    limit = f"more than {benchmark.largest_missing:.1%} of the answers are missing: "
    return limit + listed.agg(", ".join).astype("str")
