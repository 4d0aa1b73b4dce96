"""Joint adjustment of the p-values of all pairs, by flipping the items that tests share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.answers.engine_frames import UNIT_COLUMNS, OpenAnswers
from fairstats.benchmarks.declaration import POOLED, Benchmark, MissingPolicy
from fairstats.counts.grid import item_grid
from fairstats.counts.outcomes import Outcomes, count_grid, item_patterns_of, outcomes_of
from fairstats.counts.patterns import PAIR_COLUMNS, CountingPolicy, apply_policy
from fairstats.counts.unit_sums import unit_sums
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

    They are by `PAIR_COLUMNS`; each family is adjusted separately.

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
        found = dict(_differences(item_outcomes(opened, benchmark), policy))
        for key in sorted(found):
            if family[key] is not None:
                of = pooled if key[len(UNIT_COLUMNS)] == POOLED else tests
                of.setdefault(family[key], {})[key] = found[key]
    rng = np.random.default_rng(rng)
    adjusted: dict[Pair, float] = {}
    for members in (*tests.values(), *pooled.values()):
        matrix = pd.DataFrame(members).fillna(0).to_numpy(dtype=np.float64)
        result = max_t(matrix, n_resamples=n_resamples, rng=rng)
        adjusted |= dict(zip(members, result.p_adjusted.tolist(), strict=True))
    return adjusted


def item_outcomes(opened: OpenAnswers, benchmark: Benchmark) -> Outcomes:
    """Return the outcomes of a benchmark with the names of items, counted once."""
    counted = outcomes_of(opened)[benchmark.name]
    if len(counted.grid.item):
        return counted
    key = ("item outcomes", benchmark.name)
    return opened.once(key, lambda: count_grid(item_grid(opened, benchmark)))


def _differences(outcomes: Outcomes, policy: CountingPolicy) -> Iterator[tuple[Pair, pd.Series]]:
    """Yield each pair with the difference of each independent unit, by its name."""
    grid = outcomes.grid
    if grid.benchmark.kind.numeric:
        for place in range(len(outcomes)):
            sums = unit_sums(outcomes, place, policy)
            key = tuple(outcomes.keys[name][place] for name in PAIR_COLUMNS)
            labels = sums.unit if len(grid.cluster) else grid.items[sums.unit]
            yield key, _named(sums.difference, grid.benchmark.name, key[1], labels)
        return
    for names, rows, cells in item_patterns_of(grid, outcomes.groups):
        counts = apply_policy(cells, policy, pooled=names[0] == POOLED)
        for unit in np.unique(rows.unit).tolist():
            here = rows.span(unit)
            own = tuple(rows.units.iloc[unit])
            units = rows.cluster[here] if len(grid.cluster) else rows.items[here]
            difference = (counts.n10 - counts.n01)[here]
            yield (*own, *names), _named(difference, grid.benchmark.name, own[1], units)


def _named(
    differences: npt.ArrayLike, benchmark: str, version: str, units: npt.ArrayLike
) -> pd.Series:
    """Return differences by unit, those of one unit added up."""
    index = [f"{benchmark}\0{version}\0{unit}" for unit in np.asarray(units).tolist()]
    return pd.Series(differences, index=index).groupby(level=0, sort=False).sum()
