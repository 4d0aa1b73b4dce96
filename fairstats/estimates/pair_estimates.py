"""Estimates of the pairs of groups, metric by metric, from their outcome counts."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import Estimate, naming_effect
from fairstats._lib.row_groups import text_array
from fairstats.counts.missing_policies import CountingPolicy, copies_of
from fairstats.counts.outcomes import PATTERNS
from fairstats.counts.sample_weights import per_answer
from fairstats.estimates.design_effects import design_effects
from fairstats.estimates.missing_answer_bounds import pair_bounds
from fairstats.estimates.table import BOUNDS_NOTE
from fairstats.metrics.metric import Columns, PairMetric, Pairs
from fairstats.metrics.registry import PAIR_METRICS

#: The metrics used for verdicts.
DECISIVE = ("accuracy_difference", "mcnemar")


def pairs_of(
    counts: pd.DataFrame,
    items: pd.DataFrame,
    letters: pd.DataFrame,
    missing: CountingPolicy,
    alpha: float,
    tests: npt.ArrayLike = 1,
) -> Pairs:
    """Assemble the input of the metrics for one benchmark's pairs, see `Pairs`."""
    effects = design_effects(counts, items, missing)
    tests = np.broadcast_to(np.asarray(tests, dtype=np.int64), len(counts))
    return Pairs(counts, items, letters, missing, alpha, effects, tests)


def counted_tables(pairs: Pairs, only: Collection[str] = ()) -> list[Columns]:
    """Compute the estimates of one benchmark's pairs, under a policy that gives counts.

    Returns the rows of each metric, with some of the columns
    `fairstats.estimates.table.ESTIMATE_COLUMNS`; of all metrics, or of those named in `only`.
    """
    return [_table(metric, pairs) for metric in PAIR_METRICS if not only or metric.name in only]


def bounds_tables(pairs: Pairs, only: Collection[str] = ()) -> list[Columns]:
    """Return the ranges of one benchmark's pair estimates over all fill-ins of missing answers.

    As `counted_tables`, under the policy ``bounds``.
    """
    n = pairs.counts[list(PATTERNS)].sum(axis=1).to_numpy(np.int64)
    answers = per_answer(n, copies_of(pairs.counts))
    ranges = pair_bounds(pairs.counts)
    tables = []
    for metric in PAIR_METRICS:
        if only and metric.name not in only:
            continue
        if metric.bounds_rows:
            tables.append(_named(metric, metric.bounds_rows(pairs), pairs))
        if metric.name not in ranges:
            continue
        low, high = ranges[metric.name]
        table = pairs.rows() | {
            "metric": metric.name,
            # A range of one value is that value; with several values, there is no estimate.
            "estimate": np.where(low == high, low, np.nan),
            "ci_low": low,
            "ci_high": high,
            "ci_method": "bounds",
            "n": answers if metric.rests_on == "one group" else n,
            "method_note": BOUNDS_NOTE,
        }
        if metric.rests_on == "both groups":
            table |= {"n_a": answers, "n_b": answers}
        tables.append(table)
    return tables


def _table(metric: PairMetric, pairs: Pairs) -> Columns:
    found = metric.compute(pairs)
    if isinstance(found, Estimate):
        paired, copies = pairs.paired, copies_of(pairs.counts)
        if metric.rests_on == "both groups":
            found = pairs.rows(found, paired) | {
                "n_a": per_answer(paired.n_a, copies),
                "n_b": per_answer(paired.n_b, copies),
                "method_note": np.where(
                    (paired.n_a != paired.n) | (paired.n_b != paired.n),
                    "each group's own answers; the test over the pairs with both",
                    "",
                ),
            }
        else:
            found = pairs.rows(found)
    return _named(metric, found, pairs)


def _named(metric: PairMetric, table: Columns, pairs: Pairs) -> Columns:
    """Name the metric, and the design effect of its interval; drop the interval if it has none."""
    named = {"method_note": "", **table, "metric": metric.name}
    if metric.influence:
        effects = pairs.effects[metric.name]
        methods = np.broadcast_to(text_array(named["ci_method"]), len(effects))
        named["ci_method"] = [
            naming_effect(method, effect) for method, effect in zip(methods, effects, strict=True)
        ]
    elif metric.interval and pairs.clustered.any():
        none = {"ci_method": "none for clustered answers"}
        for name in ("ci_low", "ci_high", "ci_level", "ci_method"):
            named[name] = np.where(pairs.clustered, none.get(name, np.nan), named[name])
    return named
