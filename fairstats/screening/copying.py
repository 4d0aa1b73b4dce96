"""Answers copied from another answer set: more unexpected letters in common than models share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from fairstats._lib.result_objects import FloatArray
from fairstats.screening.findings import (
    FEWEST_ITEMS,
    RELATED_MODELS,
    Finding,
    Flag,
    not_checked,
    p_above_zero,
    percent,
)
from fairstats.screening.other_models import Panel, Popularity
from fairstats.screening.sheets import Bools, Layout, Sheet

COPIED = "copied_answers"
COPIED_ITEMS = "copied_items"
#: An answer is unexpected if its expected probability is below this.
UNEXPECTED = 0.35
#: Limits of the repeated share, for the p-value and for "block". Two released sets of different
#: models repeat 0.08 of each other's unexpected answers on average, and at most 0.38 (GPT-4.1 and
#: GPT-4o, of one provider); the next pair has 0.30. Sets of one model repeat up to 0.83.
DIFFERENT_MODELS, DIFFERENT_MODELS_BLOCK = 0.3, 0.45
SAME_MODEL, SAME_MODEL_BLOCK = 0.72, 0.97
#: The first two limits if fewer models than these show which answers are usual. Without any other
#: model, two released sets repeat at most 0.60.
ENOUGH_MODELS = 5
FEW_MODELS, FEW_MODELS_BLOCK = 0.6, 0.7
#: The same limits for whole items. Released sets repeat at most 0.23 (different models, with any
#: number of others) and 0.53 (one model).
ITEMS, ITEMS_BLOCK = 0.2, 0.28
ITEMS_SAME_MODEL, ITEMS_SAME_MODEL_BLOCK = 0.55, 0.9
#: What explains two answer sets of one model that are almost the same.
SAME_MODEL_TWICE = (
    "The two prompts may have the same effect, or one file may be there twice. Submitters can "
    "check that; the board's keeper can overrule a block by the model's name."
)
#: Fewest variants for which it is unusual that all answers to an item agree.
FEWEST_VARIANTS = 6


@dataclass(frozen=True)
class Overlap:
    """What two sheets have in common.

    Attributes
    ----------
    repeated : float
        (observed − expected) / (n − expected) repeated answers among the unexpected ones.
    same_wrong : float
        The share of variants on which both are wrong that have the same wrong letter.
    excess : ndarray, shape (items,)
        Observed − expected repetitions, by item.
    room : ndarray, shape (items,)
        n − expected repetitions, by item.
    items_repeated, items_unusual : ndarray, shape (items,)
        In how many directions an item's answers are all repeated, and could be: if they vary and
        include an unexpected one.
    """

    repeated: float
    same_wrong: float
    excess: FloatArray
    room: FloatArray
    items_repeated: FloatArray
    items_unusual: FloatArray


def check_copying(sheet: Sheet, panel: Panel) -> Finding:
    """Compare the answers of a sheet with every other one, and return the most unusual comparison.

    Sheets of the same model and strategy are not compared: they are samples of one answer set.
    """
    found = []
    for other, both in _overlaps(sheet, panel):
        if np.count_nonzero(both.room) >= FEWEST_ITEMS:
            limit, block = limits(sheet, other, panel.without(sheet.family, other.family).models)
            p = p_above_zero(both.excess - limit * both.room)
            found.append(_Comparison(p, both.repeated, limit, block, other, both))
    return _most_unusual(COPIED, "unexpected answers", found, panel, sheet)


def check_copied_items(sheet: Sheet, panel: Panel) -> Finding | None:
    """Compare whole items: all answers to an item that vary and include an unexpected one.

    If only some items were copied, their answers all agree, and those of other items rarely do.
    Returns None for a benchmark with too few variants of an item.
    """
    if len(panel.sheets.layout.benchmark.variants) < FEWEST_VARIANTS:
        return None
    found = []
    for other, both in _overlaps(sheet, panel):
        if np.count_nonzero(both.items_unusual) >= FEWEST_ITEMS:
            same = sheet.family == other.family
            limit = ITEMS_SAME_MODEL if same else ITEMS
            block = ITEMS_SAME_MODEL_BLOCK if same else ITEMS_BLOCK
            by_item = (both.items_repeated - limit * both.items_unusual)[both.items_unusual > 0]
            value = float(both.items_repeated.sum() / both.items_unusual.sum())
            found.append(_Comparison(p_above_zero(by_item), value, limit, block, other, both))
    return _most_unusual(COPIED_ITEMS, "items with unexpected answers", found, panel, sheet)


@dataclass(frozen=True)
class _Comparison:
    """The comparison of a sheet with another one."""

    p_value: float
    value: float
    limit: float
    block: float
    other: Sheet
    overlap: Overlap


def _overlaps(sheet: Sheet, panel: Panel) -> Iterator[tuple[Sheet, Overlap]]:
    for other in panel.sheets.everything:
        if other.name != sheet.name:
            usual = panel.without(sheet.family, other.family)
            make = partial(overlap, sheet, other, usual)
            # Both directions are in it, and two checks use it.
            yield other, panel.once(frozenset((id(sheet), id(other))), make)


def _most_unusual(
    check: str, what: str, found: list[_Comparison], panel: Panel, sheet: Sheet
) -> Finding:
    if not any(other.name != sheet.name for other in panel.sheets.everything):
        return not_checked(check, "there are no other answer sets to compare with")
    if not found:
        return not_checked(check, f"there are fewer than {FEWEST_ITEMS} {what}")
    one = min(found, key=lambda one: (one.p_value, -one.value))
    worst: Flag = "block" if one.value >= one.block else "look"
    wrong = one.overlap.same_wrong
    note = f"Shares {percent(max(one.value, 0))} of {what} with {one.other.model}"
    note += f" ({one.other.strategy})"
    note += "." if np.isnan(wrong) else f"; {percent(wrong)} of shared errors have the same letter."
    explanation = SAME_MODEL_TWICE if sheet.family == one.other.family else RELATED_MODELS
    p = min(1.0, one.p_value * len(found))
    return Finding(check, one.value, one.limit, p, worst, note, explanation)


def limits(sheet: Sheet, other: Sheet, models: int) -> tuple[float, float]:
    """Return the repeated share from which two sheets are flagged "look" and "block"."""
    if sheet.family == other.family:
        return SAME_MODEL, SAME_MODEL_BLOCK
    if models < ENOUGH_MODELS:
        return FEW_MODELS, FEW_MODELS_BLOCK
    return DIFFERENT_MODELS, DIFFERENT_MODELS_BLOCK


def overlap(one: Sheet, two: Sheet, usual: Popularity) -> Overlap:
    """Count repeated unexpected answers in both directions.

    Parameters
    ----------
    one, two : Sheet
        The sheets.
    usual : Popularity
        The answers of models other than these two.

    Notes
    -----
    As in Wollack's ω, the answers of one sheet are fixed, and each is repeated by the other with
    the probability that the other gives this letter. This probability comes from the letter's
    popularity among other models, and from the accuracy of the repeating sheet. Only answers with a
    probability below `UNEXPECTED` count, since models share the others anyway.
    """
    layout = usual.layout
    both = one.answered & two.answered
    same = one.letters == two.letters
    excess, room, repeated_items, unusual_items = np.zeros((4, len(both)))
    whole = (same | ~both).all(axis=1)
    for source, copier in ((one, two), (two, one)):
        expected = _letter_probabilities(copier, source, usual)
        unexpected = both & (expected < UNEXPECTED)
        excess += np.where(unexpected, same - expected, 0).sum(axis=1)
        room += np.where(unexpected, 1 - expected, 0).sum(axis=1)
        unusual = unexpected.any(axis=1) & _varies(source, both)
        unusual_items += unusual
        repeated_items += unusual & whole
    wrong = both & ~layout.correct(one) & ~layout.correct(two)
    same_wrong = float(same[wrong].mean()) if wrong.any() else np.nan
    repeated = float(excess.sum() / room.sum()) if room.any() else np.nan
    return Overlap(repeated, same_wrong, excess, room, repeated_items, unusual_items)


def _varies(sheet: Sheet, there: Bools) -> Bools:
    """Return the items with at least two different letters."""
    letters = sheet.letters
    highest = np.where(there, letters, -1).max(axis=1)
    lowest = np.where(there, letters, np.iinfo(letters.dtype).max).min(axis=1)
    return np.asarray(there.any(axis=1) & (highest != lowest))


def unusual_items(sheet: Sheet, usual: Popularity) -> Bools:
    """Return the items with answers that vary and include an unexpected one."""
    expected = _letter_probabilities(sheet, sheet, usual)
    unexpected = sheet.answered & (expected < UNEXPECTED)
    return np.asarray(unexpected.any(axis=1) & _varies(sheet, sheet.answered))


def _letter_probabilities(sheet: Sheet, source: Sheet, usual: Popularity) -> FloatArray:
    """Return the probability that a model as accurate as `sheet` gives the letters of `source`.

    The log odds of a correct answer are those of the other models plus a constant, as in the Rasch
    model; the constant gives the sheet's own accuracy. Wrong letters keep their popularity.
    """
    layout: Layout = usual.layout
    rows, columns = np.indices(sheet.letters.shape)
    shares = usual.smoothed
    right = shares[rows, columns, layout.key[:, None]].astype(np.float64)
    shifted = shift_accuracy(right, layout.correct(sheet), sheet.answered)
    letters = np.maximum(source.letters, 0)
    given = shares[rows, columns, letters]
    wrong = given * (1 - shifted) / np.maximum(1 - right, 1e-9)
    return np.asarray(np.where(letters == layout.key[:, None], shifted, wrong))


def shift_accuracy(right: FloatArray, correct: Bools, answered: Bools) -> FloatArray:
    """Shift probabilities on the logit scale until their mean is the share of correct answers.

    Examples
    --------
    >>> right = np.array([0.2, 0.5, 0.8])
    >>> shift_accuracy(right, np.array([True, False, True]), np.array([True] * 3)).round(3)
    array([0.381, 0.711, 0.908])
    """
    if not answered.any():
        return right
    odds = np.clip(right, 0.005, 0.995)
    logits = np.log(odds / (1 - odds))
    target = np.clip(correct[answered].mean(), 0.005, 0.995)
    values, weights = np.unique(logits[answered].round(2), return_counts=True)
    low, high = -20.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        mean = float(weights @ (1 / (1 + np.exp(-values - middle)))) / weights.sum()
        low, high = (middle, high) if mean < target else (low, middle)
    return np.asarray(1 / (1 + np.exp(-logits - (low + high) / 2)))
