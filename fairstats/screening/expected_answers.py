"""Answers that are expected of a model with some accuracy, and sets with too few others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from statistics import median

import numpy as np
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.screening.answer_sheets import Bools, Sheet, take
from fairstats.screening.findings import (
    FEWEST_ITEMS,
    FEWEST_MODELS,
    Finding,
    not_checked,
    p_above_zero,
    too_few_models,
)
from fairstats.screening.flips_and_labels import without_doubtful_keys
from fairstats.screening.panels import Panel, Popularity

MINORITY = "minority_answers"
#: An answer is unexpected if its expected probability is below this, and its share among other
#: models is below the second.
UNEXPECTED, POPULAR = 0.35, 0.5
#: A minority answer is expected with a probability below this, and fewer than this share of the
#: other models give it.
MINORITY_BELOW = 0.5
#: An honest set has at least this part of the minority answers that the median of other models has,
#: or that are expected. In 12 released sets, the first is 0.84 to 1.11.
FEWER = 0.7
#: No accuracy is taken to be closer to 0 or 1: a set without errors would have none anywhere.
CLOSEST = 0.005
#: Passes in which the weights of letters are fitted.
HABIT_STEPS = 3


def check_minority_answers(sheet: Sheet, panel: Panel) -> Finding | None:
    """Test if a set has too few answers that only a minority of models gives, for its accuracy.

    If the unexpected answers of a copy are replaced by usual ones, it has none in common with its
    source. The value is the number of minority answers divided by the number that is expected, see
    `_letter_probabilities`. Items with a doubtful key are left out: a strong model gives the usual
    letter where the key is wrong. Returns None for two options, with which the other letter is
    usual wherever others err.
    """
    layout = panel.layout
    if layout.options == 2:
        return None
    values = panel.of_other_models(sheet, MINORITY, partial(_relative, panel=panel))
    if len(values) < FEWEST_MODELS:
        return too_few_models(MINORITY, len(values))
    sure = without_doubtful_keys(sheet, panel)
    wrong = sure.answered & ~layout.correct(sure)
    if wrong.sum() < CLOSEST * sure.answered.sum():
        # More errors would be expected than it has.
        return not_checked(MINORITY, f"fewer than {CLOSEST:.1%} of answers are wrong")
    given, expected = _numbers(sheet, panel)
    usual = median(values)
    # Noise of the others is no sign that a set without it is too usual.
    limit = FEWER * min(usual, 1.0)
    if limit * expected.sum() < FEWEST_ITEMS:
        why = f"fewer than {FEWEST_ITEMS} minority answers are expected of its accuracy"
        return not_checked(MINORITY, why)
    # Student's t is too sure if hardly any are given, and Poisson's law if those of an item come
    # together.
    by_chance = scipy.stats.poisson.cdf(given.sum(), limit * expected.sum())
    p = max(p_above_zero(limit * expected - given), float(by_chance))
    value = float(given.sum() / expected.sum())
    note = (
        f"{int(given.sum()):,} answers are ones that only a minority of models gives: {value:.2f} "
        f"times as many as expected of its accuracy. The median of other models is {usual:.2f}."
    )
    question = (
        "Were answers replaced by those that most models give, or is it made of several models?"
    )
    return Finding(MINORITY, value, limit, p, "look", note, question)


def _relative(sheet: Sheet, panel: Panel) -> float | None:
    given, expected = _numbers(sheet, panel)
    return float(given.sum() / expected.sum()) if expected.any() else None


def _numbers(sheet: Sheet, panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Return how many answers to each item are minority answers, and how many are expected."""

    def compute() -> tuple[FloatArray, FloatArray]:
        usual, sure = panel.others(sheet), without_doubtful_keys(sheet, panel)
        chances = _chances(sure, usual) * habits_of(sure, panel)
        chances /= chances.sum(axis=2, keepdims=True)
        rare = (chances < MINORITY_BELOW) & (usual.smoothed < MINORITY_BELOW)
        counted = sure.answered.copy()
        if panel.layout.benchmark.swayed_by:
            counted[:, [second for _, _, second in panel.layout.pairs]] = False
        given = counted & take(rare, sheet.places)
        expected = np.where(counted, (chances * rare).sum(axis=2), 0)
        return given.sum(axis=1).astype(np.float64), expected.sum(axis=1)

    return panel.once((MINORITY, id(sheet)), compute)


def unexpected_of(
    sheet: Sheet, source: Sheet, usual: Popularity, habits: FloatArray
) -> Iterator[tuple[Bools, FloatArray]]:
    """Yield which letters of `source`, then which marks, are unexpected, and their probability.

    Those that many others give are not, if keys are wrong. If second versions suggest an answer,
    models that follow it share their changes to it.
    """
    layout = usual.layout
    marks = layout.correct(source)
    expected, right = _letter_probabilities(sheet, source, usual, habits)
    of_mark, share = (np.where(marks, p, 1 - p) for p in (right, usual.expected_right))
    for given, probability, popular in (
        (source.letters, expected, take(usual.smoothed, source.places)),
        (marks, of_mark, share),
    ):
        unexpected = np.asarray((probability < UNEXPECTED) & (popular < POPULAR))
        if layout.benchmark.swayed_by:
            for _, first, second in layout.pairs:
                unexpected[:, second] &= given[:, second] == given[:, first]
        yield unexpected, probability


def _letter_probabilities(
    sheet: Sheet, source: Sheet, usual: Popularity, habits: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the probability that a model like `sheet` gives letters of `source`, and is right.

    Its accuracy is that of `sheet`. Wrong letters keep their popularity. Then every letter is
    weighted by its `habits_of`.
    """
    right, wrong = _right_and_wrong(sheet, usual)
    of_key = habits[usual.layout.key][:, None]
    popular = take(usual.smoothed, source.places) * wrong
    own = np.where(source.places == usual.layout.key_places, right, popular)
    whole = right * of_key + wrong * (usual.smoothed @ habits - usual.expected_right * of_key)
    return own * habits[np.maximum(source.letters, 0)] / whole, right * of_key / whole


def _right_and_wrong(sheet: Sheet, usual: Popularity) -> tuple[FloatArray, FloatArray]:
    """Return the probability of each correct answer, and the factor of popularity of wrong ones.

    The log odds of a correct answer are those of the other models plus a constant, as in the Rasch
    model; the constant gives the sheet's own accuracy.
    """
    right = shift_accuracy(usual.odds, usual.layout.correct(sheet), sheet.answered)
    return right, (1 - right) / np.maximum(1 - usual.expected_right, 1e-9)


def _chances(sheet: Sheet, usual: Popularity) -> FloatArray:
    """Return the probability of each letter for a model as accurate as `sheet`, without habits."""
    right, wrong = (part[:, :, None] for part in _right_and_wrong(sheet, usual))
    options = usual.layout.options
    is_key = (usual.layout.key % options)[:, None, None] == np.arange(options)
    return np.where(is_key, right, usual.smoothed * wrong)


def habits_of(sheet: Sheet, panel: Panel) -> FloatArray:
    """Return the weight of each letter with which the expected letters are as many as the given.

    Two models that prefer a letter where they do not know the answer share many errors. An answer
    to each variant of a few items is added, since the answers to an item depend on each other.
    """

    def compute() -> FloatArray:
        usual, options = panel.others(sheet), panel.layout.options
        chances = _chances(sheet, usual)[sheet.answered]
        few = FEWEST_ITEMS * sheet.letters.shape[1]
        given = np.bincount(sheet.letters[sheet.answered], minlength=options)
        habits = np.ones(options)
        for _ in range(HABIT_STEPS):
            expected = habits * ((1 / (chances @ habits)) @ chances)
            habits = habits * (given + few) / (expected + few)
        return habits

    return panel.once(("habits", id(sheet)), compute)


def shift_accuracy(odds: FloatArray, correct: Bools, answered: Bools) -> FloatArray:
    """Multiply odds by a constant, so that the mean probability is the share of correct answers.

    Examples
    --------
    >>> odds = np.array([0.25, 1, 4])
    >>> shift_accuracy(odds, np.array([True, False, True]), np.array([True] * 3)).round(3)
    array([0.381, 0.711, 0.908])
    """
    if not answered.any():
        return odds / (1 + odds)
    target = np.clip(correct[answered].mean(), CLOSEST, 1 - CLOSEST)
    # Log odds are rounded to 0.01, so that there are few different ones.
    places = np.rint(100 * np.log(odds[answered])).astype(np.int64)
    lowest = int(places.min())
    times = np.bincount(places - lowest)
    values = np.exp(-(np.flatnonzero(times) + lowest) / 100)
    weights = times[times > 0] / len(places)

    def difference(shift: float) -> float:
        return float(weights @ (1 / (1 + values * math.exp(-shift))) - target)

    shifted = odds * math.exp(scipy.optimize.brentq(difference, -20, 20))
    return np.asarray(shifted / (1 + shifted))
