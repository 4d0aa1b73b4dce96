"""Answers copied from another answer set: more unexpected letters in common than models share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairstats._lib.result_objects import FloatArray
from fairstats.screening.findings import (
    FEWEST_ITEMS,
    FEWEST_MODELS,
    Finding,
    Flag,
    not_checked,
    p_above_zero,
    percent,
)
from fairstats.screening.panel import Panel, Popularity
from fairstats.screening.sheets import Layout, Sheet

COPIED = "copied_answers"
#: An answer is unexpected if its expected probability is below this.
UNEXPECTED = 0.35
#: Limits of the repeated share. Two released sets of different models repeat at most 0.38 of each
#: other's unexpected answers (GPT-4.1 and GPT-4o, of one provider), and those of one model 0.83.
DIFFERENT_MODELS, DIFFERENT_MODELS_BLOCK = 0.38, 0.45
SAME_MODEL, SAME_MODEL_BLOCK = 0.75, 0.97
#: The same limits if fewer than `FEWEST_MODELS` other models show which answers are usual.
FEW_MODELS, FEW_MODELS_BLOCK = 0.75, 0.9


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
    """

    repeated: float
    same_wrong: float
    excess: FloatArray
    room: FloatArray


def check_copying(sheet: Sheet, panel: Panel) -> Finding:
    """Compare a sheet with every other one, and return the comparison with the smallest p-value.

    Sheets of the same model and strategy are not compared: they are samples of one answer set.
    """
    layout = panel.sheets.layout
    found: list[tuple[float, float, Sheet, Overlap, float, Flag]] = []
    others = [other for other in panel.sheets.everything if other.name != sheet.name]
    for other in others:
        usual = panel.without(sheet.family, other.family)
        both = overlap(sheet, other, usual)
        if np.count_nonzero(both.room) < FEWEST_ITEMS:
            continue
        limit, block = limits(sheet, other, usual.models)
        p = p_above_zero(both.excess - limit * both.room)
        worst: Flag = "block" if both.repeated >= block else "look"
        found.append((p, -both.repeated, other, both, limit, worst))
    if not others:
        return not_checked(COPIED, "there are no other answer sets to compare with")
    if not found:
        return not_checked(COPIED, f"fewer than {FEWEST_ITEMS} items have unexpected answers")
    p, _, other, both, limit, worst = min(found, key=lambda one: one[:2])
    name = f"{other.model} ({other.strategy})"
    note = (
        f"Repeats {percent(max(both.repeated, 0))} of the unexpected answers in common with {name}"
        f"; {percent(both.same_wrong)} of shared errors have the same letter."
    )
    p = min(1.0, p * len(found))
    return Finding(COPIED, both.repeated, limit, p, worst, note)


def limits(sheet: Sheet, other: Sheet, models: int) -> tuple[float, float]:
    """Return the repeated share from which two sheets are flagged "look" and "block"."""
    if sheet.family == other.family:
        return SAME_MODEL, SAME_MODEL_BLOCK
    if models < FEWEST_MODELS:
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
    excess, room = np.zeros(len(both)), np.zeros(len(both))
    for source, copier in ((one, two), (two, one)):
        expected = _letter_probabilities(copier, source, usual)
        unexpected = both & (expected < UNEXPECTED)
        excess += np.where(unexpected, same - expected, 0).sum(axis=1)
        room += np.where(unexpected, 1 - expected, 0).sum(axis=1)
    wrong = both & ~layout.correct(one) & ~layout.correct(two)
    same_wrong = float(same[wrong].mean()) if wrong.any() else np.nan
    repeated = float(excess.sum() / room.sum()) if room.any() else np.nan
    return Overlap(repeated, same_wrong, excess, room)


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


def shift_accuracy(right: FloatArray, correct: FloatArray, answered: FloatArray) -> FloatArray:
    """Shift probabilities on the logit scale until their mean is the share of correct answers.

    Examples
    --------
    >>> right = np.array([0.2, 0.5, 0.8])
    >>> shift_accuracy(right, np.array([1, 0, 1]), np.array([True] * 3)).round(3)
    array([0.393, 0.721, 0.912])
    """
    odds = np.clip(right, 0.005, 0.995)
    logits = np.log(odds / (1 - odds))
    target = np.clip(correct[answered].mean() if answered.any() else 0.5, 0.005, 0.995)
    values, weights = np.unique(logits[answered].round(2), return_counts=True)
    low, high = -20.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        mean = np.average(1 / (1 + np.exp(-values - middle)), weights=weights) if len(values) else 0.5
        low, high = (middle, high) if mean < target else (low, middle)
    return np.asarray(1 / (1 + np.exp(-logits - (low + high) / 2)))
