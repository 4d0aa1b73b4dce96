"""Letters given regardless of the item: one letter for all, or an accuracy at chance."""

from __future__ import annotations

import numpy as np

from fairstats.screening.findings import (
    FEWEST_ITEMS,
    Finding,
    Flag,
    not_checked,
    p_above_zero,
    percent,
)
from fairstats.screening.sheets import Layout, Sheet

LETTERS = "letter_shares"
CHANCE = "accuracy_above_chance"
#: Share of the largest possible difference between the letters of answers and of keys. Three of 43
#: released sets exceed the first (0.25 to 0.27): their parser can read the article "a" as answer A.
DIFFERENCE, DIFFERENCE_BLOCK = 0.15, 0.9
#: Agreement with the key, corrected for chance, that a model should exceed.
ABOVE_CHANCE = 0.1


def check_letters(sheet: Sheet, layout: Layout) -> Finding:
    """Compare the letters of the answers with those of the keys.

    The value is the total variation distance of the two distributions, divided by that of a set
    which always gives its most frequent letter: 0 for the same shares, 1 for one letter only.
    """
    answered = sheet.answered
    items = answered.any(axis=1)
    if np.count_nonzero(items) < FEWEST_ITEMS:
        return not_checked(LETTERS, f"fewer than {FEWEST_ITEMS} items have answers")
    letters = np.arange(layout.options)
    given = np.bincount(sheet.letters[answered], minlength=layout.options) / answered.sum()
    asked = (layout.key[:, None] == letters) * answered.sum(axis=1)[:, None]
    keys = asked.sum(axis=0) / answered.sum()
    largest = 1 - keys[given.argmax()]
    value = float(np.abs(given - keys).sum() / 2 / largest) if largest else 0.0
    over = given > keys
    n = answered.sum(axis=1)
    excess = np.isin(sheet.letters, letters[over]).sum(axis=1) - over[layout.key] * n
    p = p_above_zero((excess - DIFFERENCE * largest * n)[items])
    top = int(given.argmax())
    name = layout.benchmark.options[top]
    note = f"{name} is {percent(given[top])} of the answers and {percent(keys[top])} of the keys."
    worst: Flag = "block" if value >= DIFFERENCE_BLOCK else "look"
    return Finding(LETTERS, value, DIFFERENCE, p, worst, note)


def check_chance(sheet: Sheet, layout: Layout) -> Finding:
    """Test if the letters agree with the key hardly more often than unrelated letters would.

    The value is Cohen's kappa of answers and key: 0 if a set's letters have nothing to do with the
    key, and 1 if all are correct. Weak models are near 0 too, so this is only a reason to look.
    """
    answered = sheet.answered
    n = answered.sum(axis=1)
    if np.count_nonzero(n) < FEWEST_ITEMS:
        return not_checked(CHANCE, f"fewer than {FEWEST_ITEMS} items have answers")
    given = np.bincount(sheet.letters[answered], minlength=layout.options) / n.sum()
    expected = given[layout.key] * n
    right = (layout.correct(sheet) & answered).sum(axis=1)
    room = float((n - expected).sum())
    value = float((right - expected).sum()) / room if room else 1.0
    p = p_above_zero((ABOVE_CHANCE * (n - expected) - (right - expected))[n > 0])
    note = (
        f"{percent(right.sum() / n.sum())} of answers are correct; unrelated letters with the same "
        f"shares reach {percent(expected.sum() / n.sum())}."
    )
    return Finding(CHANCE, value, ABOVE_CHANCE, p, "look", note)
