"""Compute the estimates table from answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from fairstats._lib.row_groups import group_rows, group_sums, row_keys, text_array
from fairstats.answers.engine_frames import (
    UNIT_COLUMNS,
    OpenAnswers,
    open_answers,
)
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.terms import MISSING_POLICIES, POOLED, MissingPolicy
from fairstats.counts.asked import Asked
from fairstats.counts.item_kinds import fold_pooled, pair_items, pooled_pairs
from fairstats.counts.missing_policies import CountingPolicy
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS, Folds, fold_answers, pair_counts
from fairstats.estimates.adjusted_pvalues import add_adjusted, families
from fairstats.estimates.attribute_estimates import PairEffects, attribute_bounds, attribute_tables
from fairstats.estimates.design_effects import design_effects
from fairstats.estimates.eligibility import why_not_above_chance
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


@dataclass(frozen=True)
class Folded:
    """Data for the estimates under every policy, counted once.

    Attributes
    ----------
    known : dict of str to Benchmark
        The benchmarks of the answers by name.
    folds : Folds
        The outcome patterns and letters.
    facts : pandas.DataFrame
        Each unit's snapshots and the highest number of samples of an item.
    items : pandas.DataFrame
        The kinds of items of pairs with clustered answers.
    counts : pandas.DataFrame
        The outcome counts of the declared pairs and of the pooled ones.
    asked : Asked
        The questions that each unit was asked, and the units that answer no better than a guess.
    """

    known: dict[str, Benchmark]
    folds: Folds
    facts: pd.DataFrame
    items: pd.DataFrame
    counts: pd.DataFrame
    asked: Asked


def fold_for_estimates(
    answers: Any, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> Folded:
    """Count answers into all data that `estimates_of` needs, for any policy.

    Raises
    ------
    InputError
        As `analyze`.
    """
    opened = open_answers(answers, benchmarks)
    return opened.once("estimates", lambda: _fold_for_estimates(opened))


def _fold_for_estimates(opened: OpenAnswers) -> Folded:
    known, folds = opened.benchmarks, fold_answers(opened)
    facts = _unit_facts(opened.cells, folds)
    items = _clustered_items(opened, folds, facts)
    counts = pair_counts(folds.outcomes, known)
    asked = _asked(opened.cells, folds, counts, known)
    pooled = _pooled_counts(items)
    counts = pd.concat([counts, pooled], ignore_index=True)
    return Folded(known, folds, facts, items, counts, asked)


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


def _clustered_items(opened: OpenAnswers, folds: Folds, facts: pd.DataFrame) -> pd.DataFrame:
    """Return the kinds of items of pooled pairs, and of all pairs of units with several samples."""
    pooled = fold_pooled(opened)
    if (facts["samples"] <= 1).all():
        return pooled
    several = facts.loc[facts["samples"] > 1, list(UNIT_COLUMNS)]
    return pd.concat([pooled, pair_items(folds).merge(several)], ignore_index=True)


def _pooled_counts(items: pd.DataFrame) -> pd.DataFrame:
    """Return the outcome counts of the pooled pairs."""
    pooled = items[items["attribute"] == POOLED]
    keys = {name: text_array(pooled[name]) for name in PAIR_COLUMNS}
    cells = {name: pooled[name].to_numpy() * pooled["items"].to_numpy() for name in PATTERNS}
    found = group_sums(keys | {"copies": pooled["copies"].to_numpy()}, cells)
    return pd.DataFrame(found | {name: pd.array(found[name], dtype="str") for name in keys})


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


def _unit_facts(cells: pd.DataFrame, folds: Folds) -> pd.DataFrame:
    """Return each unit's snapshots and the highest number of samples of an item."""
    kinds = [
        {name: text_array(table[name]) for name in UNIT_COLUMNS}
        | {
            "samples": table["samples"].to_numpy(),
            "weighted": (table["copies"] != table["samples"]).to_numpy(),
        }
        for table in folds.kinds.values()
    ]
    columns = {name: np.concatenate([table[name] for table in kinds]) for name in kinds[0]}
    groups, first = group_rows(columns[name] for name in UNIT_COLUMNS)
    samples = np.zeros(len(first), dtype=np.int64)
    np.maximum.at(samples, groups, columns["samples"])
    weighted = np.zeros(len(first), dtype=bool)
    np.logical_or.at(weighted, groups, columns["weighted"])
    units = zip(*(columns[name][first] for name in UNIT_COLUMNS), strict=True)
    of_unit = dict(zip(units, zip(samples, weighted, strict=True), strict=True))

    snapshots: dict[tuple[str, ...], set[str]] = {}
    keys = [*UNIT_COLUMNS, "snapshot"]
    for *unit, snapshot in set(row_keys(cells.reindex(columns=keys), keys)):
        snapshots.setdefault(tuple(unit), set()).update(() if pd.isna(snapshot) else (snapshot,))
    rows = [
        (*unit, ", ".join(sorted(names)) or None, *of_unit[unit])
        for unit, names in sorted(snapshots.items())
        if unit in of_unit
    ]
    texts = (*UNIT_COLUMNS, "snapshot")
    facts = pd.DataFrame(rows, columns=[*texts, "samples", "weighted"])
    return facts.assign(**{name: pd.array(facts[name], dtype="str") for name in texts})


def _asked(
    cells: pd.DataFrame, folds: Folds, counts: pd.DataFrame, known: Mapping[str, Benchmark]
) -> Asked:
    """Count the rows of each group and the items of each attribute, per unit."""

    keys = {
        name: np.concatenate([text_array(table[name]) for table in folds.kinds.values()])
        for name in UNIT_COLUMNS
    } | {
        "attribute": np.repeat(
            np.array([attribute for _, attribute in folds.kinds], dtype=object),
            [len(table) for table in folds.kinds.values()],
        )
    }
    many = np.concatenate([table["items"] for table in folds.kinds.values()])
    items = _sums_by_key(keys, many)
    guessing: dict[tuple[str, ...], str] = {}
    for name, places in places_of_benchmarks(counts).items():
        guessing |= why_not_above_chance(counts.take(places), items, known[name]).to_dict()
    by_group = {name: text_array(cells[name]) for name in (*keys, "group")}
    return Asked(_sums_by_key(by_group, cells["rows"]), items, guessing)


def _sums_by_key(keys: Mapping[str, Any], numbers: Any) -> dict[tuple[str, ...], int]:
    *columns, sums = group_sums(keys, {"sum": numbers}).values()
    return dict(zip(zip(*columns, strict=True), sums.tolist(), strict=True))


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
