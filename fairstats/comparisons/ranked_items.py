"""Input of a ranking: the items that all of its models were asked, and the eligible models."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.row_groups import group_sums, row_keys, text_array
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.item_kinds import pooled_pairs
from fairstats.counts.item_outcomes import crossed_patterns
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS
from fairstats.estimates.eligibility import why_other_variants, why_unranked

IntArray = npt.NDArray[np.int64]
_MISSING = PATTERNS.index("nxx")


@dataclass(frozen=True)
class RankItems:
    """The answers by which the models of one board are ranked.

    Attributes
    ----------
    patterns : dict of str to ndarray of int, shape (items, pairs, 10)
        By eligible model, the number of pairs of answers of each item and pair of groups with each
        of the patterns of `fairstats.counts.outcomes.PATTERNS`. The items are those that any of
        these models was asked. An item that the model itself was not asked has only missing
        answers.
    common : ndarray of bool, shape (items,)
        The items that all of these models were asked.
    unranked : dict of str to ndarray of int, shape (items, pairs, 10)
        The same for models without a rank, over the items that they were asked.
    reasons : dict of str to str
        The reason why each of these has no rank.
    notes : dict of str to str
        A note on a ranked model's answers; often empty.
    """

    patterns: dict[str, IntArray]
    common: npt.NDArray[np.bool_]
    unranked: dict[str, IntArray]
    reasons: dict[str, str]
    notes: dict[str, str]


def rank_items(rows: pd.DataFrame, benchmark: Benchmark, *, alpha: float) -> RankItems:
    """Find the items that all models of a board were asked, and the models that may be ranked.

    Parameters
    ----------
    rows : pandas.DataFrame
        The rows of `asked_patterns` of one benchmark version and strategy.
    benchmark : Benchmark
        Declares the pairs, and which models are ranked.
    alpha : float
        As in `fairstats.estimates.eligibility.why_unranked`.

    Returns
    -------
    RankItems

    Raises
    ------
    InputError
        If the items that all these models were asked are fewer than `benchmark.common_items` of
        those that any of them was asked. The message names each model that lacks items.

    Notes
    -----
    A model was asked an item if it has a row for both groups of every pair that any model was asked
    for this item. Models without a rank do not affect which items these are. If items have several
    samples, ranks use the first ones, as many as all of these items have. Extra samples of selected
    items would give those items more weight.
    """
    reasons = _reasons(rows, benchmark, alpha)
    declared = {(a.name, *pair): i for i, (a, pair) in enumerate(pooled_pairs(benchmark))}
    of_rows = zip(rows["attribute"], rows["group_a"], rows["group_b"], strict=True)
    cells = rows.assign(pair=[declared.get(pair, -1) for pair in of_rows])
    cells = cells[cells["pair"] >= 0]
    may = cells["model"].map(reasons).eq("")
    asked, others = cells[may & cells["asked"]], cells[~may]
    pairs = sorted((others if asked.empty else asked)["pair"].unique())
    ranked = sorted(model for model, reason in reasons.items() if not reason)
    if asked.empty:
        reasons |= dict.fromkeys(ranked, "no pair of groups has answers")
        ranked = []
    others = others[others["pair"].isin(pairs)]
    unranked = {}
    for model in sorted(set(reasons) - set(ranked)):
        own = others[others["model"] == model]
        unranked[model] = _array(own, pd.Index(own["item_id"].unique()), pairs)
    why = {model: reason for model, reason in reasons.items() if reason}
    if not ranked:
        return RankItems({}, np.zeros(0, dtype=bool), unranked, why, {})

    items = pd.Index(asked["item_id"].unique()).sort_values()
    whole = _whole_samples(asked)
    samples = _samples(whole).reindex(index=items, columns=ranked, fill_value=0)
    common = (samples > 0).all(axis=1).to_numpy()
    if common.sum() < benchmark.common_items * len(items) - 1e-9:
        raise InputError(_lacking(samples, common, rows, benchmark))
    # With common_items = 0 there may be no common item.
    used = samples[common].min() if common.any() else samples.max()
    number = whole.groupby(["model", "item_id", "pair"]).cumcount()
    first = whole[number < whole["model"].map(used)]
    any_asked = np.zeros((len(items), len(pairs)), dtype=bool)
    any_asked[items.get_indexer(asked["item_id"]), np.searchsorted(pairs, asked["pair"])] = True
    patterns = {}
    for model in ranked:
        array = _array(first[first["model"] == model], items, pairs)
        # Pair each answer of one group with each answer of the other.
        array[..., _MISSING] += any_asked * int(used[model]) ** 2 - array.sum(axis=-1)
        patterns[model] = array
    notes = {model: _note(samples[model], int(used[model])) for model in ranked}
    return RankItems(patterns, common, unranked, why, notes)


def _whole_samples(asked: pd.DataFrame) -> pd.DataFrame:
    """Return the samples that were asked for every pair of their item, in order."""
    keys = ["model", "item_id", "sample"]
    pairs = asked.groupby("item_id")["pair"].nunique()
    whole = asked.groupby(keys)["pair"].transform("size") == asked["item_id"].map(pairs)
    return asked[whole].sort_values(keys, kind="stable")


def _samples(whole: pd.DataFrame) -> pd.DataFrame:
    """Return the number of samples of each item (row) for each model (column)."""
    rows = whole.drop_duplicates(["model", "item_id", "sample"])
    return rows.groupby(["item_id", "model"]).size().unstack(fill_value=0)


def _reasons(rows: pd.DataFrame, benchmark: Benchmark, alpha: float) -> dict[str, str]:
    """Return why each model has no rank; empty if it has one."""
    keys = {name: text_array(rows[name]) for name in PAIR_COLUMNS}
    patterns = text_array(rows["pattern"])
    cells = {name: patterns == name for name in PATTERNS}
    counts = pd.DataFrame(group_sums(keys, cells, sort=True))
    asked = set(row_keys(rows, (*UNIT_COLUMNS, "attribute", "item_id")))
    items = Counter(question[:-1] for question in asked)
    found = why_unranked(counts, items, benchmark, alpha=alpha)
    reasons = dict(zip(found.index.get_level_values("model"), found, strict=True))
    may = rows[rows["model"].map(reasons).eq("")]
    return reasons | why_other_variants(may, benchmark, alpha=alpha)


def _array(rows: pd.DataFrame, items: pd.Index, pairs: list[int]) -> IntArray:
    """Count the pairs of answers of each item, pair of groups and pattern."""
    array = np.zeros((len(items), len(pairs), len(PATTERNS)), dtype=np.int64)
    places = items.get_indexer(rows["item_id"]), np.searchsorted(pairs, rows["pair"])
    np.add.at(array, (*places, pd.Index(PATTERNS).get_indexer(rows["pattern"])), 1)
    if array.sum(axis=-1).max(initial=0) <= 1:
        return array
    # Several samples: each answer of one group with each answer of the other.
    for pair, own in rows.groupby("pair"):
        crossed = crossed_patterns(own)
        place = items.get_indexer(crossed["item_id"])
        array[place, pairs.index(int(pair))] = crossed[list(PATTERNS)].to_numpy()
    return array


def _lacking(
    samples: pd.DataFrame, common: npt.NDArray[np.bool_], rows: pd.DataFrame, benchmark: Benchmark
) -> list[Problem]:
    version, strategy = rows["benchmark_version"].iloc[0], rows["strategy"].iloc[0]
    board = f"{benchmark.name} {version}, {strategy}"
    lacking = (samples == 0).sum()
    return [
        Problem(
            "<answers>",
            f"has no rows for {number:,} of the {len(samples):,} items of this board "
            f"({board}); all models share {int(common.sum()):,} items, less than "
            f"{benchmark.common_items:.0%}",
            "collect the other items, remove the model, or lower `common_items` in the benchmark's "
            "[ranking]",
            column="model",
            value=str(model),
        )
        for model, number in lacking[lacking > 0].items()
    ]


def _note(samples: pd.Series, used: int) -> str:
    """Return a note on special items and samples of a ranked model."""
    notes = []
    if lacking := int((samples == 0).sum()):
        notes.append(
            f"{lacking:,} item{'s' if lacking > 1 else ''} that other models answered "
            f"count{'' if lacking > 1 else 's'} as not answered"
        )
    if samples.max() > used:
        notes.append(
            f"{used} of up to {samples.max()} samples per item used, as not every item has more"
        )
    return "; ".join(notes)
