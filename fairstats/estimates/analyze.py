"""Compute the estimates table from answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from fairstats._lib.row_groups import row_keys
from fairstats.answers.engine_frames import (
    UNIT_COLUMNS,
    open_answers,
)
from fairstats.benchmarks.declaration import MISSING_POLICIES, POOLED, Benchmark, MissingPolicy
from fairstats.counts.item_kinds import pair_items, pooled_pairs
from fairstats.counts.missing_policies import CountingPolicy
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS, Folds
from fairstats.estimates.adjusted_pvalues import add_adjusted, families
from fairstats.estimates.attribute_estimates import PairEffects, attribute_bounds, attribute_tables
from fairstats.estimates.counts_for_estimates import Folded, fold_for_estimates
from fairstats.estimates.design_effects import design_effects
from fairstats.estimates.pair_estimates import (
    DECISIVE,
    bounds_tables,
    counted_tables,
    pairs_of,
)
from fairstats.estimates.sample_estimates import sample_table
from fairstats.estimates.table import Rows, add_note, estimates_table, joined
from fairstats.estimates.verdicts import add_verdicts, places_of_benchmarks
from fairstats.estimates.westfall_young import joint_pvalues
from fairstats.inference._checks import (
    check_alpha,
    check_choice,
    check_margin,
    check_number,
    check_resampling,
)
from fairstats.inference.multiplicity import AdjustMethod
from fairstats.metrics.metric import Columns
from fairstats.metrics.registry import METRICS, PAIR_METRICS


def analyze(
    answers: Any,
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    *,
    adjust: AdjustMethod | Literal["max_t"] = "holm",
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 1,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    margin: float | None = None,
    attributes: Collection[str] | None = None,
    metrics: Collection[str] | None = None,
) -> pd.DataFrame:
    """Compute all estimates for every unit.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    missing : {"available", "complete", "incorrect", "bounds"}, optional
        The policy for missing answers; by default the one declared by each benchmark.
    alpha : float
        1 − confidence level of the intervals, and the level of the verdicts. Must be below 0.5,
        since equivalence uses the 1 − 2 alpha interval.
    adjust : {"holm", "hommel", "bh", "by", "max_t"}
        How p-values are adjusted over their family: see `adjust_pvalues`, and `max_t` for the last
        method. ``max_t`` flips the items that the tests share. It is a separate test and replaces
        both versions of McNemar's.
    n_resamples, rng
        The flips of ``max_t``; nothing else is random.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.
    margin : float, optional
        The equivalence margin of all benchmarks, e.g. 0.05 for five points; by default the one
        that each declares.
    attributes, metrics : collection of str, optional
        The attributes and metrics whose rows are returned. This changes no figure: p-values are
        adjusted over all attributes of the answers.

    Returns
    -------
    pandas.DataFrame
        One row per estimate, with columns `ESTIMATE_COLUMNS`. An estimate without any answers is
        NaN, and its interval is the whole range of the estimand. The attribute ``pooled`` combines
        the pairs of all demographic attributes, if there are several.

    Raises
    ------
    InputError
        For an unknown benchmark, attribute or group, or a duplicate answer.
    ValueError
        For an unknown policy, procedure, attribute or metric, a margin outside (0, 1), or alpha
        outside (0, 0.5).

    Notes
    -----
    p-values of McNemar's test are adjusted over a family of tests. By default, that is the
    demographic pairs of all models on one board, i.e. one benchmark version and strategy. A
    benchmark can declare another `family`. Each version of the test is adjusted separately. The
    pooled pairs form a separate family, and the baseline pair is in none. `adjust_method` names the
    family and its size.

    Items are the independent units. If an item is answered more than once (several samples, or
    pooled attributes), the design effect widens intervals, and the test flips items. With several
    samples, every answer of one group is paired with every answer of the other, so their numbering
    does not matter; see `fairstats.count_outcomes`.

    There is no verdict for a model that took part in selecting the items, or for a group without
    answers. There is also none if the groups were not asked the same questions. A verdict does not
    depend on missing answers. "Disparity" requires that the test rejects for every completion of
    the missing answers. "Equivalent" requires that the interval is inside the margin for every
    completion, and that the model answers better than a guess. Items of the benchmark that were not
    asked count as missing. If the requirements are not met, the verdict is "inconclusive".
    `verdict_reason` gives the reason. "Equivalent" is decided for each pair separately; it is not
    adjusted over the family.
    """
    _check_level(alpha)
    check_choice("adjust", adjust, (*get_args(AdjustMethod), "max_t"))
    check_resampling(n_resamples, rng)
    if missing is not None and missing not in MISSING_POLICIES:
        raise ValueError(
            f"missing={missing!r} is unknown; use one of {', '.join(MISSING_POLICIES)}"
        )
    if margin is not None:
        margin = float(check_margin(check_number("margin", margin)))
    opened = open_answers(answers, benchmarks)
    folded = fold_for_estimates(opened)
    joint = None
    if adjust == "max_t":
        joint = joint_pvalues(opened, missing, n_resamples=n_resamples, rng=rng)
    if margin is not None:
        folded = replace(
            folded,
            known={
                name: replace(benchmark, equivalence_margin=margin)
                for name, benchmark in folded.known.items()
            },
        )
    estimates = estimates_of(folded, missing, alpha, adjust=adjust, joint=joint)
    return rows_with(rows_with(estimates, "attribute", attributes), "metric", metrics)


def rows_with(estimates: pd.DataFrame, column: str, values: Collection[str] | None) -> pd.DataFrame:
    """Return the rows with these values (None: all rows), refusing one that has no row."""
    if values is None:
        return estimates
    values = {values} if isinstance(values, str) else set(values)
    known = list(estimates[column].unique())
    if unknown := sorted(values - set(known)):
        raise ValueError(
            f"{column}s={unknown[0]!r} is not in the estimates; use {', '.join(known)}"
        )
    return estimates[estimates[column].isin(values)].reset_index(drop=True)


def estimates_of(
    folded: Folded,
    missing: MissingPolicy | None,
    alpha: float,
    *,
    adjust: AdjustMethod | Literal["max_t"] = "holm",
    joint: pd.Series | None = None,
    whole: bool = True,
) -> pd.DataFrame:
    """Compute the estimates table of `analyze`, given folded answers.

    If `adjust` is "max_t", `joint` holds the adjusted p-values by `PAIR_COLUMNS`. With `whole`
    false, only the rows used for verdicts are guaranteed (accuracy differences and McNemar's
    tests), at a quarter of the cost. They are the same as with `whole`.
    """
    alpha, known = _check_level(alpha), folded.known
    family = families(folded.counts, known)
    sizes = Counter(family)
    in_family = np.array([1 if name is None else sizes[name] for name in family], dtype=np.int64)
    judged = {}
    only = () if whole else DECISIVE
    tables: list[Columns] = []
    for name, places in places_of_benchmarks(folded.counts).items():
        benchmark = known[name]
        policy = missing or benchmark.missing
        own = folded.counts.take(places).reset_index(drop=True)
        outcomes, letters, kinds = (
            table[table["benchmark"] == name]
            for table in (folded.folds.outcomes, folded.folds.letters, folded.items)
        )
        tests = in_family[places]
        if policy == "bounds":
            # The few metrics that are not ranges do not depend on the policy.
            pairs = pairs_of(own, kinds, letters, "complete", alpha, tests)
            found = bounds_tables(pairs, only)
            if whole:
                found.append(attribute_bounds(outcomes, benchmark))
        else:
            pairs = pairs_of(own, kinds, letters, policy, alpha, tests)
            judged[name] = pairs
            found = counted_tables(pairs, only)
            if whole:
                by_pair = _attribute_effects(folded.folds, benchmark, folded.facts, policy)
                found.append(attribute_tables(outcomes, benchmark, policy, alpha, **by_pair))
                found.append(sample_table(folded.folds, benchmark, policy, alpha))
        tables += [{**table, "missing": policy} for table in found if table]
    columns = _in_order(joined(tables), known)
    _add_snapshots(columns, folded.facts)
    _add_pooled_notes(columns, folded.counts, known)
    add_adjusted(columns, known, adjust, joint)
    add_verdicts(columns, folded.counts, known, alpha, folded.asked, judged, adjust)
    return estimates_table(columns)


def _check_level(alpha: float) -> float:
    alpha = check_alpha(alpha)
    if alpha >= 0.5:
        raise ValueError(f"alpha={alpha!r} must be below 0.5: equivalence needs 1 - 2 alpha")
    return alpha


def _attribute_effects(
    folds: Folds, benchmark: Benchmark, facts: pd.DataFrame, policy: CountingPolicy
) -> dict[str, PairEffects]:
    """Return the design effects of every two groups, for units with several samples of an item.

    The names are those of `fairstats.metrics.metric.Groups`.
    """
    if (facts["samples"] <= 1).all():
        return {}
    several = facts.loc[
        (facts["samples"] > 1) & (facts["benchmark"] == benchmark.name), list(UNIT_COLUMNS)
    ]
    if several.empty:
        return {}
    found: dict[str, PairEffects] = {}
    estimates = {
        False: {"effects": "accuracy_difference", "ratio_effects": "accuracy_ratio"},
        True: {"answerable_effects": "accuracy_difference"},
    }
    for answerable, metrics in estimates.items():
        items = pair_items(folds, all_groups=True, answerable=answerable).merge(several)
        units = items[[*PAIR_COLUMNS, "copies"]].drop_duplicates()
        sizes = design_effects(units, items, policy)
        for name, metric in metrics.items():
            by_unit: dict[tuple[str, ...], dict[tuple[int, int], float]] = {}
            keys = units[list(PAIR_COLUMNS)].itertuples(index=False, name=None)
            for key, size in zip(keys, sizes[metric], strict=True):
                *unit, a, b = key
                groups = list(benchmark.attributes[unit[-1]].groups)
                pair = (groups.index(a), groups.index(b))
                by_unit.setdefault(tuple(unit), {})[pair] = float(size)
            found[name] = by_unit
    return found


def _add_snapshots(columns: Rows, facts: pd.DataFrame) -> None:
    """Fill in the units' snapshots, and add a note on several samples."""
    by_unit = dict(zip(row_keys(facts, UNIT_COLUMNS), facts.itertuples(), strict=True))
    for place, key in enumerate(row_keys(columns, UNIT_COLUMNS)):
        unit = by_unit[key]
        columns["snapshot"][place] = unit.snapshot
        if unit.samples > 1:
            weights = ", weighted to give all answers the same weight" if unit.weighted else ""
            add_note(
                columns,
                place,
                f"{unit.samples} samples per item, every answer of one group with every answer of "
                f"the other{weights}; items are the independent units",
            )


def _add_pooled_notes(columns: Rows, counts: pd.DataFrame, known: Mapping[str, Benchmark]) -> None:
    """Add a note on the answers used for a pooled difference, if some are missing."""
    missing = [
        columns[name].to_numpy("int64", na_value=0) for name in ("n_missing_a", "n_missing_b")
    ]
    of_answers = [metric.name for metric in PAIR_METRICS if metric.rests_on != "pairs"]
    here = (
        (columns["attribute"] == POOLED)
        & (columns["missing"] == "available")
        & np.isin(columns["metric"], of_answers)
        & ((missing[0] > 0) | (missing[1] > 0))
    )
    if not here.any():
        return
    attributes = {
        (name, attribute.name, *pair): (attribute, pair)
        for name, benchmark in known.items()
        for attribute, pair in pooled_pairs(benchmark)
    }
    empty: dict[tuple[str, ...], list[str]] = {}
    for row in counts.to_dict("records"):
        key = tuple(row[name] for name in ("benchmark", "attribute", "group_a", "group_b"))
        both = sum(row[pattern] for pattern in PATTERNS if "x" not in pattern)
        if key in attributes and both == 0:
            attribute, pair = attributes[key]
            unit = tuple(row[name] for name in UNIT_COLUMNS)
            label = f"{attribute.label}, {attribute.pair_label(pair)}"
            empty.setdefault(unit, []).append(f"{label} has no such pair, so it is not included")
    units = row_keys(columns, UNIT_COLUMNS)
    for place in np.flatnonzero(here):
        lacking = empty.get(units[place], [])
        add_note(columns, int(place), "; ".join(["over the pairs with both answers", *lacking]))


def _in_order(columns: Rows, known: Mapping[str, Benchmark]) -> Rows:
    attributes = {
        (name, attribute): number
        for name, benchmark in known.items()
        for number, attribute in enumerate([*benchmark.attributes, POOLED])
    }
    metrics = {name: number for number, name in enumerate(METRICS)}
    places = {
        (name, attribute.name, group): place
        for name, benchmark in known.items()
        for attribute in benchmark.attributes.values()
        for place, group in enumerate(attribute.groups)
    }

    def place_of(row: tuple[Any, ...]) -> tuple[Any, ...]:
        *unit, attribute, a, b, metric, test = row
        # Rows for a whole attribute come after its pairs.
        whole = a is None or metric == "interaction"
        sides = (places.get((unit[0], attribute, side), -1) for side in (a, b))
        number = attributes[unit[0], attribute]
        return (*unit, number, whole, *sides, metrics[metric], test is None, test or "")

    rows = [place_of(row) for row in row_keys(columns, (*PAIR_COLUMNS, "metric", "test"))]
    order = sorted(range(len(rows)), key=rows.__getitem__)
    return {name: column[order] for name, column in columns.items()}
