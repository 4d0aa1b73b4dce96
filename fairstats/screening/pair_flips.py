"""Pairs of groups that agree more often than their texts allow: answers copied within pairs."""

from __future__ import annotations

from statistics import median

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
    too_few_models,
)
from fairstats.screening.other_models import Panel
from fairstats.screening.sheets import Layout, Sheet

PAIR_FLIPS = "pair_flips"
FLIP_LEVEL = "flip_level"
#: Limits of flips within pairs relative to exchanged partners, as a share of the same ratio in
#: other models. In 43 released sets the ratio itself is 0.96 to 1.08 for all pairs together, and
#: 0.87 to 1.20 for single pairs. The second limits also apply if only one attribute is varied.
ALL_PAIRS, ALL_PAIRS_BLOCK = 0.96, 0.88
ONE_PAIR, ONE_PAIR_BLOCK = 0.8, 0.65
#: Without other models, the ratio could be low for any honest set. So only a very low one counts.
ALONE = 0.5
#: Share of the other models' median flips below which a set is looked at.
FEW_FLIPS = 1 / 8


def check_pair_flips(sheet: Sheet, panel: Panel) -> Finding | None:
    """Compare flips within declared pairs with flips after an exchange of partners.

    Notes
    -----
    Let (a, b) and (c, d) be declared pairs of two attributes. If a set was not altered, a and b
    differ about as often as a and d, or c and b: each compares a first with a second group. If b's
    answer was replaced by a's, only the first differ less often. The statistic is the number of
    flips within pairs divided by the mean number after the exchange, on items that have both. A set
    is compared with the median of other models, since texts of a pair may be closer to each other
    than texts of two attributes. See `Layout.crossed` for a single attribute. Returns None for a
    benchmark without variants outside its pairs.
    """
    layout = panel.sheets.layout
    if not layout.crossed:
        return None
    within, crossed = _by_pair(sheet, layout)
    if np.count_nonzero(crossed.any(axis=1)) < FEWEST_ITEMS:
        return not_checked(PAIR_FLIPS, f"fewer than {FEWEST_ITEMS} items have different answers")
    ratios = panel.of_other_models(sheet, PAIR_FLIPS, lambda one: _ratio(one, layout))
    usual = median(ratios) if len(ratios) >= FEWEST_MODELS else None
    names = [name for name, _, _ in layout.pairs]
    exchanged = any(one != two for one, two, _, _ in layout.crossed)
    found: list[tuple[float, float, float, str, Flag]] = []
    for place in (None, *range(len(names))):
        w = within.sum(axis=1) if place is None else within[:, place]
        c = crossed.sum(axis=1) if place is None else crossed[:, place]
        if np.count_nonzero(c) < FEWEST_ITEMS:
            continue
        ratio = float(w.sum() / c.sum())
        if usual is None:
            limit, block = ALONE, -1.0
        else:
            share = (ONE_PAIR, ONE_PAIR_BLOCK)
            if place is None and exchanged:
                share = (ALL_PAIRS, ALL_PAIRS_BLOCK)
            limit, block = (usual * one for one in share)
        worst: Flag = "block" if ratio <= block else "look"
        what = "all pairs" if place is None else names[place]
        found.append((p_above_zero(limit * c - w), ratio, limit, what, worst))
    p, ratio, limit, what, worst = min(found)
    middle = "" if usual is None else f"; the median of other models is {usual:.2f}"
    note = f"Flips within {what} are {ratio:.2f} times those with exchanged partners{middle}."
    return Finding(PAIR_FLIPS, ratio, limit, min(1.0, p * len(found)), worst, note)


def check_flip_level(sheet: Sheet, panel: Panel) -> Finding:
    """Compare the share of pairs that differ with that of other models.

    It can never be more than a reason to look: a model may truly ignore the group.
    """
    layout = panel.sheets.layout
    levels = panel.of_other_models(sheet, FLIP_LEVEL, lambda one: _level(one, layout))
    if len(levels) < FEWEST_MODELS:
        return too_few_models(FLIP_LEVEL, len(levels))
    own = _flips(sheet, layout)
    by_item = own[np.isfinite(own)]
    if len(by_item) < FEWEST_ITEMS:
        return not_checked(FLIP_LEVEL, f"fewer than {FEWEST_ITEMS} items have answers to a pair")
    usual = median(levels)
    limit, value = usual * FEW_FLIPS, float(by_item.mean())
    note = (
        f"{percent(value)} of pairs have two different answers; the median of other models is "
        f"{percent(usual)}."
    )
    # Without a flip, at most a share p^(1/n) of items could still flip.
    p = (1 - limit) ** len(by_item) if value == 0 else p_above_zero(limit - by_item)
    return Finding(FLIP_LEVEL, value, limit, p, "look", note)


def _flips(sheet: Sheet, layout: Layout) -> FloatArray:
    """Return the share of an item's declared pairs that differ; NaN without a complete pair."""
    a, b = (np.array([pair[side] for pair in layout.pairs]) for side in (1, 2))
    there = sheet.answered[:, a] & sheet.answered[:, b]
    differ = there & (sheet.letters[:, a] != sheet.letters[:, b])
    n = there.sum(axis=1)
    return np.where(n > 0, differ.sum(axis=1) / np.maximum(n, 1), np.nan)


def _by_pair(sheet: Sheet, layout: Layout) -> tuple[FloatArray, FloatArray]:
    """Return flips within each pair, and after its exchanges, on items that have both."""
    letters, answered = sheet.letters, sheet.answered
    items, pairs = len(letters), len(layout.pairs)
    crossed, n = np.zeros((items, pairs)), np.zeros((items, pairs))
    for one, two, first, second in layout.crossed:
        there = answered[:, first] & answered[:, second]
        differ = there & (letters[:, first] != letters[:, second])
        for pair in {one, two}:
            crossed[:, pair] += differ
            n[:, pair] += there
    a, b = (np.array([pair[side] for pair in layout.pairs]) for side in (1, 2))
    both = (n > 0) & answered[:, a] & answered[:, b]
    within = np.where(both, letters[:, a] != letters[:, b], 0).astype(np.float64)
    return within, np.where(both, crossed / np.maximum(n, 1), 0.0)


def _ratio(sheet: Sheet, layout: Layout) -> float | None:
    """Return the ratio of all pairs; None if no exchange gives a flip."""
    within, crossed = _by_pair(sheet, layout)
    return float(within.sum() / crossed.sum()) if crossed.sum() else None


def _level(sheet: Sheet, layout: Layout) -> float | None:
    """Return the mean share of pairs that differ; None without a complete pair."""
    flips = _flips(sheet, layout)
    return float(np.nanmean(flips)) if np.isfinite(flips).any() else None
