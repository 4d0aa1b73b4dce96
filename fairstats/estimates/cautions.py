"""Cautions: answers that may be equal for all groups for another reason than fairness."""

from __future__ import annotations

import numpy as np

from fairstats._lib.formatting import listed, percent, uncapital
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.grid import Grid
from fairstats.counts.outcomes import Outcomes, Texts
from fairstats.counts.patterns import GroupAnswers, IntArray, sums_by_unit
from fairstats.estimates.reading import counted_alike
from fairstats.inference._checks import FloatArray

STATED_KEYS = "keys are those that the answers state"
# A very accurate model may change no answer by chance.
_FEWEST_WRONG, _WRONG_PER_CHANGE = 10, 20
# Answers hardly vary if fewer than this share differs from the most frequent kind, or fewer than
# this part of the keys that differ from theirs.
_FEW, _PART_OF_KEYS = 0.1, 0.5
# Scores that differ by up to this part of the margin are the same: such noise can be added to any.
_PART_OF_MARGIN = 0.1


def cautions(outcomes: Outcomes) -> Texts:
    """Return what to know about each answer set before its equal groups are called fair.

    No verdict is withheld: an honest model could be like this.

    The note of an answer set is without its full stop; empty if there is nothing to note.

    Notes
    -----
    There are four. At most one item has answers that change with a group per 20 items with wrong
    answers that do not, of at least 10: a vote over the versions of an item gives such answers,
    under whatever name, and so does a system that does not see the group. It needs keys, and is
    made per attribute; scores that differ by up to a tenth of the margin, or ``same_within``, are
    the same. Or nearly all answers are of one kind: fewer than 10% differ from it, or fewer than
    half as many as keys differ from their own most frequent kind. Or a setting is recorded for some
    groups only, see `fairstats.counts.settings`. Or the answers state the keys, not the benchmark.
    """
    unrecorded = [own.caution for own in outcomes.grid.settings]
    stated = stated_keys(outcomes.grid)
    found = zip(_never_changed(outcomes), _seldom_varies(outcomes), unrecorded, stated, strict=True)
    return np.array(["; ".join(filter(None, notes)) for notes in found], dtype=object)


def stated_keys(grid: Grid) -> list[str]:
    """Return a note on each answer set that states keys which the benchmark does not have."""
    if grid.benchmark.answer_keys:
        return [""] * len(grid.units)
    keyed = sums_by_unit(grid.unit, (grid.key >= 0)[:, None], len(grid.units))[:, 0]
    return [STATED_KEYS * bool(some) for some in keyed]


def _never_changed(outcomes: Outcomes) -> list[str]:
    room = _room(outcomes.benchmark)
    by = f" by more than {room:g}" * (room > 0)
    tables = {
        attribute.label: _changes(outcomes.groups[attribute.name])
        for attribute in outcomes.benchmark.varied
        if attribute.name in outcomes.groups
    }
    notes = []
    for unit in range(len(outcomes.grid.units)):
        several = any(own.copies[unit] > 1 for own in outcomes.groups.values())
        changes = f"item's samples change{by}" if several else f"answer changes{by}"
        # Changed, wrong and all compared items, by attribute.
        found = {label: table[unit].tolist() for label, table in tables.items() if table[unit, 2]}
        few = {
            uncapital(label): (changed, wrong)
            for label, (changed, wrong, _) in found.items()
            if wrong >= max(_FEWEST_WRONG, _WRONG_PER_CHANGE * changed)
        }
        never = [label for label, (changed, _) in few.items() if not changed]
        parts = []
        if never:
            which = "the group" if len(never) == len(found) else listed(never)
            parts.append(f"no {changes} with {which}")
        hardly = [
            f"{label} ({changed:,}, and {wrong:,} wrong ones do not)"
            for label, (changed, wrong) in few.items()
            if changed
        ]
        if hardly:
            parts.append(f"hardly any {changes} with {listed(hardly)}")
        why = ", as in votes over the versions of an item or if the group is not shown to the model"
        notes.append((", and ".join(parts) + why) * bool(parts))
    return notes


def _room(benchmark: Benchmark) -> float:
    """Return how far two scores may be apart that are the same; 0 for other kinds of answers."""
    if benchmark.kind.name != "score":
        return 0.0
    return max(_PART_OF_MARGIN * benchmark.equivalence_margin, benchmark.same_within)


def _changes(own: GroupAnswers) -> IntArray:
    """Count changed, wrong unchanged and all compared items, (answer sets, 3).

    An item counts once, and is changed if it is in any pair. The samples of an item are compared
    together: if votes are made for each sample, samples differ, but each answer of one group is one
    of the other.
    """
    room = _room(own.grid.benchmark)
    values = own.grid.values if room else np.arange(float(len(own.grid.options)))
    # Smaller differences are rounding error.
    room += 1e-9
    # What is missing has a negative place.
    values = np.append(values, [np.nan, np.nan])
    key, groups = values[own.grid.key], list(own.attribute.groups)
    answers = {}
    for name in {name for pair in own.attribute.pairs for name in pair}:
        # After the last answer comes one that is missing.
        places = np.pad(own.answers_of(groups.index(name)), [(0, 0), (0, 1)], constant_values=-1)
        answers[name] = np.sort(values[places], axis=1)
    changed, wrong, compared = np.zeros((3, len(key)), dtype=bool)
    for a, b in own.attribute.pairs:
        one, other = answers[a], answers[b]
        # With a missing sample, only the given ones can change.
        least = np.minimum(*(np.isfinite(side).sum(axis=1) for side in (one, other)))
        away = np.abs(np.concatenate([one, other], axis=1) - key[:, None])
        changed |= _in_common(one, other, room) < least
        wrong |= (away > room).any(axis=1) & (least > 0)
        compared |= least > 0
    found = np.stack([changed, wrong & ~changed, compared], axis=1) * own.grid.many[:, None]
    return sums_by_unit(own.grid.unit, found, len(own.grid.units))


def _in_common(one: FloatArray, other: FloatArray, room: float) -> IntArray:
    """Count the answers of one group that each have one of the other within `room`, (rows,).

    Answers are ascending and end with NaN.
    """
    rows = np.arange(len(one))
    i, j, found = np.zeros((3, len(one)), dtype=np.int64)
    for _ in range(one.shape[1] + other.shape[1] - 2):
        a, b = one[rows, i], other[rows, j]
        near = np.abs(a - b) <= room
        found += near
        i += near | (a < b)
        j += near | (b < a)
    return found


def _seldom_varies(outcomes: Outcomes) -> list[str]:
    given, keys = _counts(outcomes)
    notes = []
    for own, of_keys in zip(given, keys, strict=True):
        most, alike = counted_alike(outcomes.grid, own)
        total, of, varying = own.sum(), "", 0.0
        if of_keys.any():
            _, usual = counted_alike(outcomes.grid, of_keys)
            varying = float(of_keys[~usual].sum() / of_keys.sum())
            of = f", and {percent(float(of_keys[alike].sum() / of_keys.sum()))} of keys"
        notes.append("")
        if own[~alike].sum() < max(_FEW, _PART_OF_KEYS * varying) * total:
            option = outcomes.grid.options[most]
            what = f"“{outcomes.benchmark.labels.get(option, option)}”"
            what += " or count as the same" * bool(own[alike].sum() > own[most])
            notes[-1] = (
                f"{percent(own[alike].sum() / total)} of answers are {what}{of}: answers that "
                "seldom vary also seldom vary with the group"
            )
    return notes


def _counts(outcomes: Outcomes) -> tuple[IntArray, IntArray]:
    """Return the answers and the keys of each answer set by option, over all judged attributes."""
    shape = len(outcomes.grid.units), len(outcomes.grid.options)
    given, keys = np.zeros((2, *shape), dtype=np.int64)
    for attribute in outcomes.benchmark.varied:
        own = outcomes.groups.get(attribute.name)
        if own is None:
            continue
        given += own.chosen
        known = own.grid.key >= 0
        np.add.at(keys, (own.grid.unit[known], own.grid.key[known]), own.grid.many[known])
    return given, keys
