"""The items and the models of a board that are ranked, with the tallies of their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.formatting import counted, listed, uncapital
from fairstats._lib.problems import InputError, Problem
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.comparisons.item_tallies import (
    TALLIES,
    all_missing,
    completed_sums,
    steps_of,
    tallies_of,
)
from fairstats.comparisons.model_differences import SUMS, Figure, IntArray
from fairstats.counts.grid import NOT_ASKED, Grid
from fairstats.counts.outcomes import Outcomes, groups_of
from fairstats.counts.patterns import pooled_pairs
from fairstats.estimates.cautions import cautions
from fairstats.estimates.eligibility import why_uninformative, why_unranked

#: So many models do not lack a variant of an item by chance.
SEVERAL_MODELS = 4
# Items whose tallies are computed at a time, and below which their numbers are kept in a byte.
_BLOCK, _SMALL = 2**15, 16


@dataclass(frozen=True)
class RankItems:
    """The answers by which the models of one board are ranked.

    Attributes
    ----------
    benchmark : Benchmark
        What was asked.
    models : tuple of str
        The eligible models, sorted.
    tallies : callable
        Returns the `fairstats.comparisons.item_tallies.TALLIES` of an eligible model for each item
        and pair of groups, (items, pairs, 9), small numbers in few bytes. The items are those that
        any of these models was asked. An item that the model itself was not asked has only missing
        answers.
    clusters : ndarray of str, shape (items,)
        The cluster of each item; empty if items are independent.
    asked : dict of str to ndarray of bool, shape (items,)
        The items that each of these models was asked.
    unranked : dict of str to ndarray of int, shape (items, pairs, 9)
        The same for models without a rank, over the items that they were asked.
    reasons : dict of str to str
        The reason why each of these has no rank.
    notes : dict of str to str
        A note on a ranked model's answers; often empty.
    uninformative : dict of str to str
        Why the answers of a model say nothing about fairness, if they do not.
    """

    benchmark: Benchmark
    models: tuple[str, ...]
    tallies: Callable[[str], IntArray]
    clusters: npt.NDArray[np.str_]
    asked: dict[str, npt.NDArray[np.bool_]]
    unranked: dict[str, IntArray]
    reasons: dict[str, str]
    notes: dict[str, str]
    uninformative: dict[str, str]


def rank_items(grid: Grid, outcomes: Outcomes, units: npt.ArrayLike, *, alpha: float) -> RankItems:
    """Find the items that all models of a board were asked, and the models that may be ranked.

    The items are those of the answer sets `units`, of one benchmark version and strategy.

    Raises
    ------
    InputError
        If the items that all these models were asked are fewer than `benchmark.common_items` of
        those that any of them was asked. The message names each model that lacks items.

    Notes
    -----
    A model was asked an item if it has a row for both groups of every pair that any model was asked
    for this item. Models without a rank do not affect which items these are. Of four or more
    models, a pair that only one was asked does not count if others were asked the item, nor does
    an item that only one was asked and the benchmark does not list: it could have made them up, and
    all others would lack them. They count if there are more than may lack. If items have several
    samples, ranks use the first ones, as many as all of these items have. Extra samples of selected
    items would give those items more weight.
    """
    benchmark, names = grid.benchmark, grid.units["model"]
    found, careful = why_unranked(outcomes, alpha=alpha), outcomes.once(cautions)
    reasons = {int(unit): str(found[unit]) for unit in np.asarray(units)}
    guesses = outcomes.once(why_uninformative)
    uninformative = {str(names[unit]): str(guesses[unit]) for unit in reasons if guesses[unit]}
    ranked = [unit for unit, reason in reasons.items() if not reason]
    declared = _asked_pairs(outcomes)
    # One answer set at a time: numbers of all rows would fill the memory.
    sets = {unit: grid.of_unit(unit) for unit in sorted(reasons)}
    asked = {unit: _asked(sets[unit], declared) for unit in ranked}
    asked_of = np.zeros(len(grid.item_names), dtype=np.int32)
    times = np.zeros((len(asked_of), len(declared)), dtype=np.int32)
    for unit, table in asked.items():
        asked_of[sets[unit].item] += 1
        times[sets[unit].item] += table.any(axis=2)
    any_asked = times > 0
    if len(ranked) >= SEVERAL_MODELS:
        # What only one was asked, it could have made up; a listed item it has not. Too many such
        # items, or a whole attribute, are rather what the others left out.
        in_benchmark = pd.Index(grid.item_names).isin(benchmark.items)
        made_up = (times == 1) & ~(in_benchmark & (asked_of == 1))[:, None]
        few = made_up.sum(axis=0) <= (1 - benchmark.common_items) * any_asked.sum(axis=0)
        any_asked &= ~(made_up & few)
    there = np.asarray(any_asked.any(axis=0))
    if not there.any():
        reasons |= dict.fromkeys(ranked, "no pair of groups has answers")
        ranked = []
        there = np.any(
            [
                [
                    (own.answers[:, [own.columns[a.name, g] for g in pair]] != NOT_ASKED).any()
                    for _, a, pair in declared
                ]
                for own in sets.values()
            ],
            axis=0,
        )
    steps = steps_of([grid])
    pairs = [pair for pair, kept in zip(declared, there, strict=True) if kept]
    unranked = {}
    for unit in sorted(set(reasons) - set(ranked), key=lambda unit: names[unit]):
        rows = sets[unit]
        copies = {name: own.copies for name, own in groups_of(rows).items()}
        cells = np.concatenate(
            [
                _few_bytes(_added_up(_cells(block, pairs, steps, copies=copies), pairs))
                for block in rows.blocks(_BLOCK)
            ]
        )
        unranked[str(names[unit])] = cells[cells.any(axis=(1, 2))]
    why = {str(names[unit]): reason for unit, reason in reasons.items() if reason}
    if not ranked:
        none = np.zeros(0, dtype=np.str_)
        return RankItems(
            benchmark, (), unranked.__getitem__, none, {}, unranked, why, {}, uninformative
        )

    items = np.flatnonzero(any_asked.any(axis=1))
    any_asked = any_asked[items][:, there]
    number = np.full(len(grid.item_names), -1, dtype=np.int32)
    number[items] = np.arange(len(items))
    # A sample counts if it was asked for every pair that any model was asked for the item.
    whole = {}
    samples = np.zeros((len(items), len(ranked)), np.min_scalar_type(grid.answers.shape[2]))
    for column, unit in enumerate(ranked):
        table = asked.pop(unit)
        kept = table.any(axis=(1, 2)) & (number[sets[unit].item] >= 0)
        sets[unit] = sets[unit].rows(kept)
        place = number[sets[unit].item]
        whole[unit] = (table[kept][:, there] | ~any_asked[place][:, :, None]).all(axis=1)
        samples[place, column] = whole[unit].sum(axis=1)
    common = np.asarray((samples > 0).all(axis=1))
    if common.sum() < benchmark.common_items * len(items) - 1e-9:
        lacking = pd.DataFrame(samples, columns=names[ranked])
        absent = {str(names[unit]): _never_asked(sets[unit], pairs) for unit in ranked}
        raise InputError(_lacking(lacking, common, absent, grid.units.iloc[ranked[0]], benchmark))
    # With common_items = 0 there may be no common item.
    used = samples[common].min(axis=0) if common.any() else samples.max(axis=0)
    for unit, limit in zip(ranked, used, strict=True):
        first = whole[unit] & (np.cumsum(whole[unit], axis=1, dtype=np.int32) <= limit)
        if not first.all():
            answers = np.where(first[:, None], sets[unit].answers, np.int8(NOT_ASKED))
            sets[unit] = replace(sets[unit], answers=answers)
    columns = {str(names[unit]): column for column, unit in enumerate(ranked)}

    def tallies(model: str) -> IntArray:
        most, own = int(used[columns[model]]), sets[ranked[columns[model]]]
        place, parts = number[own.item], []
        for start in range(0, len(items), _BLOCK):
            asked_for = any_asked[start : start + _BLOCK]
            table = np.zeros((*asked_for.shape, len(TALLIES)), dtype=np.int64)
            low, high = np.searchsorted(place, [start, start + _BLOCK])
            at = place[low:high]
            # Every item has as many samples; those that it lacks are missing.
            cells = _cells(own.rows(slice(low, high)), pairs, steps, samples=most)
            table[at - start] = cells * any_asked[at][..., None]
            lacking = asked_for * most**2 * steps - table[..., TALLIES.index("n")]
            parts.append(_few_bytes(_added_up(table + all_missing(lacking), pairs)))
        return np.concatenate(parts)

    notes = {}
    for model, column in columns.items():
        own_notes = _note(samples[:, column], int(used[column])), careful[ranked[column]]
        notes[model] = "; ".join(filter(None, own_notes))
    clusters = np.zeros(0, dtype=np.str_)
    if len(grid.cluster):
        of_item = {name: own for unit in ranked for name, own in sets[unit].unit_of_item.items()}
        clusters = np.array([of_item[name] for name in grid.item_names[items]], dtype=np.str_)
    models = tuple(sorted(columns))
    of_model = {model: samples[:, columns[model]] > 0 for model in models}
    return RankItems(
        benchmark, models, tallies, clusters, of_model, unranked, why, notes, uninformative
    )


def completed_items(
    items: RankItems, pairs: int, samples: Mapping[str, int], figure: Figure
) -> IntArray:
    """Complete the sums of models against them, (models, items, pairs, 6).

    They are rescaled to equal numbers of `samples`, with unchanged metrics.
    """
    whole = lcm(*samples.values())
    # Small numbers in few bytes, as the tallies have.
    kind = np.int8 if set(samples.values()) == {whole} and whole < _SMALL else np.int64
    number = max((len(asked) for asked in items.asked.values()), default=0)
    found = np.empty((len(samples), number, pairs, len(SUMS)), dtype=kind)
    for place, (model, own) in enumerate(samples.items()):
        sums = completed_sums(items.tallies(model), figure, favourable=False)
        np.multiply(sums, whole // own, out=found[place], dtype=kind)
    return found


def _few_bytes(tallies: IntArray) -> npt.NDArray[np.signedinteger[Any]]:
    """Return small numbers in few bytes, with room for sums and differences of some of them."""
    return tallies.astype(np.int8) if tallies.max(initial=0) < _SMALL else tallies


#: The number of a declared pair, and the variants that are compared: those of its attribute, or
#: those of an attribute that crosses it, which may be several.
_AskedPair = tuple[int, Attribute, tuple[str, str]]


def _asked_pairs(outcomes: Outcomes) -> list[_AskedPair]:
    """Return the variants that the declared pairs compare."""
    found = []
    for number, (attribute, pair) in enumerate(pooled_pairs(outcomes.benchmark)):
        own = outcomes.groups.get(attribute.name)
        source = attribute if own is None else own.crossing or attribute
        for layer in source.layers(attribute).values():
            found.append((number, source, (layer[pair[0]], layer[pair[1]])))
    return found


def _asked(grid: Grid, pairs: Sequence[_AskedPair]) -> npt.NDArray[np.bool_]:
    """Return which samples of each row were asked for both groups, (rows, pairs, samples)."""
    given = grid.answers != NOT_ASKED
    return np.stack(
        [
            np.logical_and(*(given[:, grid.columns[a.name, group]] for group in pair))
            for _, a, pair in pairs
        ],
        axis=1,
    )


def _cells(
    grid: Grid,
    pairs: Sequence[_AskedPair],
    steps: int,
    *,
    samples: int = 0,
    copies: Mapping[str, IntArray] | None = None,
) -> IntArray:
    """Return the `TALLIES` of each row for the compared variants, (rows, pairs, 9)."""
    found = np.zeros((len(grid.unit), len(pairs), len(TALLIES)), dtype=np.int64)
    groups = groups_of(grid)
    for place, (_, attribute, pair) in enumerate(pairs):
        if attribute.name in groups:
            own = replace(groups[attribute.name], least=samples)
            weights = None if copies is None else copies[attribute.name]
            found[own.rows, place] = tallies_of(own, pair, steps, weights)
    return found


def _added_up(cells: IntArray, pairs: Sequence[_AskedPair]) -> IntArray:
    """Add up the variants of each declared pair."""
    numbers = np.array([number for number, *_ in pairs])
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    return cells if len(starts) == len(pairs) else np.add.reduceat(cells, starts, axis=1)


def _never_asked(grid: Grid, pairs: Sequence[_AskedPair]) -> str:
    """Return the attributes that an answer set was not asked, for a message; empty if none."""
    asked = np.any(_asked(grid, pairs), axis=(0, 2))
    labels = dict.fromkeys(pairs[place][1].label for place in np.flatnonzero(~asked).tolist())
    return f"{listed(map(uncapital, labels))}, so for " if labels else ""


def _lacking(
    samples: pd.DataFrame,
    common: npt.NDArray[np.bool_],
    absent: Mapping[str, str],
    unit: pd.Series,
    benchmark: Benchmark,
) -> list[Problem]:
    """Report each model that lacks items, and the attributes that are `absent` from its rows."""
    board = f"{benchmark.name} {unit['benchmark_version']}, {unit['strategy']}"
    lacking = (samples == 0).sum()
    return [
        Problem(
            "<answers>",
            f"has no rows for {absent[str(model)]}{number:,} of the {len(samples):,} items of this "
            f"board ({board}); all models share {int(common.sum()):,} items, less than "
            f"{benchmark.common_items:.0%}",
            "collect the other items, remove the model, or lower `common_items` in the benchmark's "
            "[ranking]",
            column="model",
            value=str(model),
        )
        for model, number in lacking[lacking > 0].items()
    ]


def _note(samples: npt.NDArray[np.int32], used: int) -> str:
    """Return a note on special items and samples of a ranked model."""
    notes = []
    if lacking := int((samples == 0).sum()):
        notes.append(
            f"{counted(lacking, 'item')} that other models answered "
            f"count{'s' * (lacking == 1)} as not answered"
        )
    if samples.max() > used:
        notes.append(
            f"{used} of up to {samples.max()} samples per item used, as not every item has more"
        )
    return "; ".join(notes)
