"""Errors that do not follow the items' difficulty: invented answers, or the key itself."""

from __future__ import annotations

import numpy as np

from fairstats.screening.answer_sheets import Panel, Sheet
from fairstats.screening.findings import (
    FEWEST_ITEMS,
    FEWEST_MODELS,
    Finding,
    Flag,
    not_checked,
    p_above_zero,
    percent,
    separation,
    too_few_models,
)

DIFFICULTY = "item_difficulty"
HARD_ITEMS = "hard_items"
#: How well the accuracy of other models predicts a set's errors (0.5 for not at all).
PREDICTED, PREDICTED_BLOCK = 0.7, 0.6
#: Accuracy where all other models are wrong. It was at most 0.39 in 43 released sets.
HARD, HARD_BLOCK = 0.5, 0.9
#: The first limit if fewer models than these are wrong: this happens on easier items too.
ENOUGH_WRONG = 5
HARD_FEW_MODELS = 0.75


def check_difficulty(sheet: Sheet, panel: Panel) -> Finding:
    """Test if a set's errors are on the variants that other models also miss.

    The value is the probability that other models are more often correct on a variant which the set
    answers correctly than on one which it misses: a person-fit statistic. It is 0.5 for answers
    that have nothing to do with the items.
    """
    usual = panel.others(sheet)
    if usual.models < FEWEST_MODELS:
        return too_few_models(DIFFICULTY, usual.models)
    correct = panel.layout.correct(sheet)
    scores = np.where(sheet.answered, usual.accuracy, np.nan)
    known = np.isfinite(scores)
    wrong_items = (known & ~correct).any(axis=1).sum()
    if min(wrong_items, (known & correct).any(axis=1).sum()) < FEWEST_ITEMS:
        if not wrong_items or correct[known].mean() > 0.5:
            note = f"{wrong_items} items have errors, too few to compare with other models."
            return Finding(DIFFICULTY, np.nan, PREDICTED, 1.0, "ok", note)
        return not_checked(DIFFICULTY, f"fewer than {FEWEST_ITEMS} items have correct answers")
    value, p = separation(scores, correct, limit=PREDICTED, below=True)
    worst: Flag = "block" if value <= PREDICTED_BLOCK else "look"
    note = (
        "Other models are more often correct where this set is correct than where it errs with "
        f"probability {value:.2f} (0.5 if unrelated)."
    )
    return Finding(DIFFICULTY, value, PREDICTED, p, worst, note)


def check_hard_items(sheet: Sheet, panel: Panel) -> Finding:
    """Test if a set is correct on variants that all other models miss.

    Some of these have a doubtful key, which a model cannot know. So a set with nearly all of them
    correct is likely to contain the key.
    """
    usual = panel.others(sheet)
    if usual.models < FEWEST_MODELS:
        return too_few_models(HARD_ITEMS, usual.models)
    everyone = usual.counts.sum(axis=2) > usual.models - 0.5
    hard = sheet.answered & everyone & (usual.accuracy < 1e-4)
    n = hard.sum(axis=1)
    if np.count_nonzero(n) < FEWEST_ITEMS:
        return not_checked(HARD_ITEMS, f"all other models miss fewer than {FEWEST_ITEMS} items")
    right = (hard & panel.layout.correct(sheet)).sum(axis=1)
    value = float(right.sum() / n.sum())
    limit = HARD if usual.models >= ENOUGH_WRONG else HARD_FEW_MODELS
    p = p_above_zero((right - limit * n)[n > 0])
    worst: Flag = "block" if value >= HARD_BLOCK else "look"
    note = (
        f"{percent(value)} of answers are correct on the {int(n.sum())} variants that all "
        f"{usual.models} other models miss."
    )
    return Finding(HARD_ITEMS, value, limit, p, worst, note)
