"""Joint adjustment of the p-values of all pairs, by flipping the items that tests share."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairstats.answers.engine_frames import UNIT_COLUMNS, OpenAnswers
from fairstats.benchmarks.declaration import (
    BASELINE,
    POOLED,
    POOLED_GROUPS,
    Benchmark,
    MissingPolicy,
)
from fairstats.counts.item_kinds import pooled_pairs
from fairstats.counts.item_outcomes import item_patterns, item_sums
from fairstats.counts.outcomes import PAIR_COLUMNS
from fairstats.counts.sample_weights import common_copies
from fairstats.estimates.adjusted_pvalues import families
from fairstats.inference.multiplicity import max_t

_ITEM = ["benchmark", "benchmark_version", "item_id"]


def joint_pvalues(
    opened: OpenAnswers,
    missing: MissingPolicy | None,
    *,
    n_resamples: int,
    rng: np.random.Generator | int,
) -> pd.Series:
    """Compute step-down max-T p-values of the demographic pairs, and of the pooled ones.

    Parameters
    ----------
    opened
        From `fairstats.answers.engine_frames.open_answers`.
    missing : str, optional
        The policy for missing answers; by default each benchmark's.
    n_resamples, rng
        The flips, see `max_t`.

    Returns
    -------
    pandas.Series
        Adjusted p-values by `PAIR_COLUMNS`; each family is adjusted separately.

    Raises
    ------
    ValueError
        For the policy ``bounds``, which has no counts to test.
    """
    known, patterns = opened.benchmarks, item_patterns(opened)
    tables = []
    for name, rows in patterns.groupby("benchmark", sort=False):
        policy = missing or known[str(name)].missing
        if policy == "bounds":
            raise ValueError("adjust='max_t' needs counts; choose a policy other than bounds")
        tables.append(item_sums(rows[rows["attribute"] != BASELINE], policy))
    sums = pd.concat(tables, ignore_index=True)
    rng = np.random.default_rng(rng)
    rows = pd.concat([sums, _pooled(sums, known)], ignore_index=True)
    found = [
        _adjusted(family, n_resamples, rng)
        for _, family in rows.groupby(families(rows, known), sort=False)
    ]
    # If only the baseline was asked, there is no test.
    return pd.concat(found) if found else pd.Series(dtype="float64")


def _pooled(sums: pd.DataFrame, known: Mapping[str, Benchmark]) -> pd.DataFrame:
    pairs = {
        (name, attribute.name, a, b)
        for name, benchmark in known.items()
        for attribute, (a, b) in pooled_pairs(benchmark)
    }
    keys = pd.MultiIndex.from_frame(sums[["benchmark", "attribute", "group_a", "group_b"]])
    own = sums[keys.isin(list(pairs))]
    # A unit that was asked only one pair has nothing to pool.
    own = own.assign(pair=own["attribute"] + "/" + own["group_a"] + "/" + own["group_b"])
    own = own[own.groupby(list(UNIT_COLUMNS))["pair"].transform("nunique") > 1]
    # Attributes with different numbers of samples have different weights.
    scale = own.groupby(list(UNIT_COLUMNS))["copies"].transform(common_copies)
    own = own.assign(difference=own["difference"] * (scale // own["copies"]))
    table = own.groupby([*UNIT_COLUMNS, "item_id"], as_index=False, sort=False)["difference"].sum()
    return table.assign(attribute=POOLED, group_a=POOLED_GROUPS[0], group_b=POOLED_GROUPS[1])


def _adjusted(differences: pd.DataFrame, n_resamples: int, rng: np.random.Generator) -> pd.Series:
    items = differences.groupby(_ITEM).ngroup()
    tests = differences.groupby(list(PAIR_COLUMNS))
    matrix = np.zeros((items.max() + 1, tests.ngroups), dtype=np.int64)
    matrix[items, tests.ngroup()] = differences["difference"]
    result = max_t(matrix, n_resamples=n_resamples, rng=rng)
    keys = differences[list(PAIR_COLUMNS)].drop_duplicates().sort_values(list(PAIR_COLUMNS))
    return pd.Series(result.p_adjusted, index=pd.MultiIndex.from_frame(keys))
