"""Count answers into all that the estimates of every policy need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairstats._lib.row_groups import group_rows, group_sums, row_keys, text_array
from fairstats.answers.engine_frames import (
    UNIT_COLUMNS,
    OpenAnswers,
    open_answers,
)
from fairstats.benchmarks.declaration import POOLED, Benchmark
from fairstats.counts.asked import Asked
from fairstats.counts.item_kinds import fold_pooled, pair_items
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS, Folds, fold_answers, pair_counts
from fairstats.estimates.eligibility import why_not_above_chance
from fairstats.estimates.verdicts import places_of_benchmarks


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
