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
#: released sets exceed the first: their parser took the article "a" for an answer (0.25 to 0.27).
DIFFERENCE, DIFFERENCE_BLOCK = 0.2, 0.9
#: Accuracy above chance that an honest set should have, and below which it is blocked.
ABOVE_CHANCE, ABOVE_CHANCE_BLOCK = 0.1, 0.03


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
    """Test if accuracy is below chance plus `ABOVE_CHANCE`.

    A weak model may be near chance, and its answers then say nothing about groups.
    """
    answered = sheet.answered
    n = answered.sum(axis=1)
    if np.count_nonzero(n) < FEWEST_ITEMS:
        return not_checked(CHANCE, f"fewer than {FEWEST_ITEMS} items have answers")
    right = (layout.correct(sheet) & answered).sum(axis=1)
    value, chance = float(right.sum() / n.sum()), layout.benchmark.chance
    limit = chance + ABOVE_CHANCE
    p = p_above_zero((limit * n - right)[n > 0])
    worst: Flag = "block" if value <= chance + ABOVE_CHANCE_BLOCK else "look"
    note = f"{percent(value)} of answers are correct; guessing reaches {percent(chance)}."
    return Finding(CHANCE, value, limit, p, worst, note)
