"""The figures of continuous checks: AD and CFR of each pair, over every completion."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairstats._lib.result_objects import FloatArray
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.asked import IntArray
from fairstats.counts.missing_policies import CountingPolicy, apply_policy
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS
from fairstats.estimates.counts_for_estimates import Folded
from fairstats.estimates.design_effects import design_effects
from fairstats.estimates.missing_answer_bounds import pair_bounds
from fairstats.estimates.verdicts import completions_of
from fairstats.metrics.accuracy import absolute_interval, accuracy_difference
from fairstats.metrics.cfr import cfr

#: Columns of the figures of a pair.
FIGURES = ("estimate", "ci_low", "ci_high", "lowest", "highest")


def gate_figures(
    folded: Folded,
    estimates: pd.DataFrame,
    benchmark: Benchmark,
    policy: CountingPolicy,
    alpha: float,
) -> dict[str, pd.DataFrame]:
    """Return AD and CFR of each pair, with 1 − 2 alpha intervals.

    Parameters
    ----------
    folded : Folded
        The answers to one benchmark.
    estimates : pandas.DataFrame
        The estimates of McNemar's test, as from `fairstats.estimates.analyze.estimates_of`.
    benchmark : Benchmark
        The benchmark.
    policy : {"available", "complete", "incorrect"}
        The policy of the estimates.
    alpha : float
        The level of the checks.

    Returns
    -------
    dict of str to DataFrame
        For ``"ad"`` and ``"cfr"``, the columns `FIGURES` and ``items``, the number of items of the
        pair, by `PAIR_COLUMNS`. ``lowest`` and ``highest`` are the interval's outermost limits over
        all completions of the missing answers. Items that were not asked count as missing.
    """
    counts, name = folded.counts, benchmark.name
    kinds = folded.items[folded.items["benchmark"] == name]
    effects = design_effects(counts, kinds, policy)
    unasked, items = folded.asked.unasked(counts, benchmark)
    index = pd.MultiIndex.from_frame(counts[list(PAIR_COLUMNS)])
    paired = apply_policy(counts, policy)

    def table(estimate: FloatArray, *limits: FloatArray) -> pd.DataFrame:
        columns = dict(zip(FIGURES, (estimate, *limits), strict=True))
        return pd.DataFrame(columns | {"items": items}, index=index)

    effect = effects["accuracy_difference"]
    difference = accuracy_difference(paired, alpha=2 * alpha, design_effect=effect)
    completed = completions_of(estimates, counts, folded.known, alpha, folded.asked, {name: effect})
    outer = absolute_interval(
        np.fmin(difference.ci_low, completed["inner_low"].to_numpy()),
        np.fmax(difference.ci_high, completed["inner_high"].to_numpy()),
    )
    inner = absolute_interval(difference.ci_low, difference.ci_high)
    same = cfr(paired.same, paired.n, alpha=2 * alpha, design_effect=effects["cfr"])
    worst = _completed_cfr(counts, unasked, items, effects["cfr"], alpha)
    return {
        "ad": table(np.abs(difference.estimate), *inner, *outer),
        "cfr": table(
            same.estimate,
            same.ci_low,
            same.ci_high,
            np.fmin(same.ci_low, worst[0]),
            np.fmax(same.ci_high, worst[1]),
        ),
    }


def _completed_cfr(
    counts: pd.DataFrame,
    unasked: IntArray,
    items: IntArray,
    effect: FloatArray,
    alpha: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the lower limit if every missing answer is a changed one, and the upper if none is."""
    answered = counts[list(PATTERNS)].sum(axis=1).to_numpy(dtype=np.int64)
    # With several samples, an item has several pairs, whether or not it was asked.
    more = np.rint(answered * unasked / np.maximum(items - unasked, 1)).astype(np.int64)
    whole = counts.assign(nxx=counts["nxx"].to_numpy() + more)
    n = answered + more
    low, high = (
        np.rint(np.nan_to_num(share) * n).astype(np.int64) for share in pair_bounds(whole)["cfr"]
    )
    return (
        cfr(low, n, alpha=2 * alpha, design_effect=effect).ci_low,
        cfr(high, n, alpha=2 * alpha, design_effect=effect).ci_high,
    )
