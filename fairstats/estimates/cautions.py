"""Cautions: answers that are equal for all groups because they hardly vary at all."""

from __future__ import annotations

import numpy as np

from fairstats._lib.formatting import percent
from fairstats.counts.outcomes import Outcomes, Texts
from fairstats.counts.patterns import PATTERNS, IntArray, sums_by_unit
from fairstats.estimates.eligibility import counted_alike

# A very accurate model may change no answer by chance.
_FEWEST_WRONG = 10
# Without a key, answers hardly vary if fewer than this share differs from the most frequent kind.
# With one, if fewer differ than this part of the keys.
_FEW, _PART_OF_KEYS = 0.1, 0.5


def cautions(outcomes: Outcomes) -> Texts:
    """Return what to know about each answer set before its equal groups are called fair.

    No verdict is withheld: an honest model could be like this.

    Parameters
    ----------
    outcomes : Outcomes
        The outcomes of one benchmark.

    Returns
    -------
    ndarray of str
        Per answer set, a note without its full stop; empty if there is nothing to note.

    Notes
    -----
    There are two. Not a single choice changes with the group, although at least 10 pairs of every
    attribute are wrong: a vote over the versions of an item gives such answers, under whatever
    name, and so does a system that does not see the group. Or nearly all answers are of one kind:
    fewer than half as many differ from it as keys do; without a key, fewer than 10% differ.
    """
    found = zip(_never_changed(outcomes), _seldom_varies(outcomes), strict=True)
    return np.array(["; ".join(filter(None, notes)) for notes in found], dtype=object)


def _never_changed(outcomes: Outcomes) -> list[str]:
    units = len(outcomes.grid.units)
    cells = dict(zip(PATTERNS, outcomes.patterns.T, strict=True))
    judged = ~outcomes.untested & ~outcomes.pooled & outcomes.benchmark.kind.needs_key
    changed = (cells["n10"] + cells["n01"] + cells["n00_different"])[judged]
    wrong = (cells["n00_same"] // np.maximum(outcomes.copies, 1) ** 2)[judged]
    ever, fewest = np.zeros(units, dtype=np.int64), np.full(units, np.inf)
    np.add.at(ever, outcomes.unit[judged], changed)
    np.minimum.at(fewest, outcomes.unit[judged], wrong)
    note = (
        "no answer changes with the group, as in votes over the versions of an item or if the "
        "group is not shown to the model"
    )
    return [
        note * bool(never) for never in (ever == 0) & (fewest >= _FEWEST_WRONG) & (fewest < np.inf)
    ]


def _seldom_varies(outcomes: Outcomes) -> list[str]:
    given, keys = _counts(outcomes)
    notes = []
    for own, of_keys in zip(given, keys, strict=True):
        most, total = int(own.argmax()), own.sum()
        alike = counted_alike(outcomes.grid, most)
        limit, of = _FEW * total, ""
        if of_keys.any():
            share = float(of_keys[alike].sum() / of_keys.sum())
            limit, of = _PART_OF_KEYS * (1 - share) * total, f", and {percent(share)} of keys"
        notes.append("")
        if own[~alike].sum() < limit:
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
        unit, many = own.grid.unit, own.grid.many
        letters = np.sum([own.letters(group) for group in range(len(attribute.groups))], axis=0)
        given += sums_by_unit(unit, letters * many[:, None], shape[0])
        known = own.grid.key >= 0
        np.add.at(keys, (unit[known], own.grid.key[known]), many[known])
    return given, keys
