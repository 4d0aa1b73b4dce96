"""Joint adjustment of the p-values of all pairs, by flipping the items that tests share."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairstats.answers.engine_frames import OpenAnswers
from fairstats.benchmarks.declaration import BASELINE, POOLED, MissingPolicy
from fairstats.counts.grid import item_grid
from fairstats.counts.outcomes import item_patterns_of, outcomes_of
from fairstats.counts.patterns import PAIR_COLUMNS, apply_policy
from fairstats.estimates.judgements import families
from fairstats.inference.multiplicity import max_t

Pair = tuple[str, ...]


def joint_pvalues(
    opened: OpenAnswers,
    missing: MissingPolicy | None,
    *,
    n_resamples: int,
    rng: np.random.Generator | int,
) -> dict[Pair, float]:
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
    dict of (str, ...) to float
        Adjusted p-values by `PAIR_COLUMNS`; each family is adjusted separately.

    Raises
    ------
    ValueError
        For the policy ``bounds``, which has no counts to test.
    """
    tests: dict[str, dict[Pair, pd.Series]] = {}
    pooled: dict[str, dict[Pair, pd.Series]] = {}
    for outcomes in outcomes_of(opened).values():
        benchmark = outcomes.benchmark
        policy = missing or benchmark.missing
        if policy == "bounds":
            raise ValueError("adjust='max_t' needs counts; choose a policy other than bounds")
        keys = zip(*(outcomes.keys[name] for name in PAIR_COLUMNS), strict=True)
        family = dict(zip(keys, families(outcomes), strict=True))
        found: dict[Pair, pd.Series] = {}
        for names, rows, cells in item_patterns_of(item_grid(opened, benchmark)):
            counts = apply_policy(cells, policy, pooled=names[0] == POOLED)
            for unit in np.unique(rows.unit).tolist():
                here = rows.span(unit)
                own = rows.units.iloc[unit]
                item = f"{benchmark.name}\0{own['benchmark_version']}\0" + rows.items[here]
                difference = pd.Series((counts.n10 - counts.n01)[here], index=item)
                found[(*own, *names)] = difference
        for key in sorted(found):
            if key[len(own)] != BASELINE:
                of = pooled if key[len(own)] == POOLED else tests
                of.setdefault(family[key], {})[key] = found[key]
    rng = np.random.default_rng(rng)
    adjusted: dict[Pair, float] = {}
    for members in (*tests.values(), *pooled.values()):
        matrix = pd.DataFrame(members).fillna(0).to_numpy(dtype=np.int64)
        result = max_t(matrix, n_resamples=n_resamples, rng=rng)
        adjusted |= dict(zip(members, result.p_adjusted.tolist(), strict=True))
    return adjusted
