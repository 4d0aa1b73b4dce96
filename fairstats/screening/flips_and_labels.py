"""Altered pairs of groups: answers copied within pairs, hardly any flips, exchanged labels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.formatting import counted
from fairstats._lib.result_objects import FloatArray
from fairstats.counts.grid import MISSING
from fairstats.screening.answer_sheets import Bools, Layout, Sheet
from fairstats.screening.difficulty import expected_correct
from fairstats.screening.findings import (
    FEWEST_ITEMS,
    FEWEST_MODELS,
    Finding,
    not_checked,
    p_above_zero,
    percent,
    too_few_models,
)
from fairstats.screening.panels import Panel, Popularity

PAIR_FLIPS = "pair_flips"
FLIP_LEVEL = "flip_level"
GROUP_LABELS = "group_labels"
#: Limits of flips within pairs relative to exchanged partners, as a share of the same ratio in
#: other models, and at most 1. In 43 released sets the ratio itself is 0.96 to 1.08 for all pairs
#: together, and 0.87 to 1.20 for single pairs. The second limit also applies if only one attribute
#: is varied.
ALL_PAIRS, ONE_PAIR = 0.96, 0.8
#: Without other models, the ratio could be low for any honest set. So only a very low one counts.
ALONE = 0.5
#: How much honest models differ in their flips, given accuracy: the coefficient of variation. It is
#: 0.09 in released sets of one version, and 0.12 to 0.15 in simulated ones of any accuracy, with
#: their sampling error.
SPREAD = 0.15
#: The key of an item is doubtful if other models give it one other letter as often as this part of
#: their accuracy. At most the second part of items are: weak models err on more without any wrong
#: key.
DOUBTFUL, MOST_DOUBTFUL = 0.9, 0.2
#: Least share of changes in the usual direction minus that in the opposite one, in other models. If
#: they share less, the check says little.
SHARED_DIRECTION = 0.2
#: Part of that difference beyond which a set is looked at, in the opposite direction. If a share s
#: of labels is exchanged, the difference falls to 1 − 2s of its value.
LABELS = 0.5
EVERY_PAIR = "all pairs"

Places = npt.NDArray[np.integer[Any]]


def check_pair_flips(sheet: Sheet, panel: Panel) -> Finding | None:
    """Compare flips within declared pairs with flips after an exchange of partners.

    Notes
    -----
    Let (a, b) and (c, d) be declared pairs of two attributes. If a set was not altered, a and b
    differ about as often as a and d, or c and b: each compares a first with a second group. If b's
    answer was replaced by a's, only the first differ less often. The statistic is the number of
    flips within pairs divided by the mean number after the exchange, on items that have both. All
    pairs together, and each pair, are compared with the median of other models: texts of a pair may
    be closer to each other than texts of two attributes, and only one of these may have an effect.
    See `Layout.exchanges` for crossed attributes and for a single one. Returns None for a
    benchmark without variants outside its pairs.
    """
    layout = panel.layout
    if not layout.exchanges:
        return None
    within, exchanged = _by_pair(sheet, layout)
    if np.count_nonzero(exchanged.any(axis=1)) < FEWEST_ITEMS:
        return not_checked(PAIR_FLIPS, f"fewer than {FEWEST_ITEMS} items have different answers")

    def sums_of(one: Sheet) -> FloatArray:
        return np.array([part.sum(axis=0) for part in _by_pair(one, layout)])

    def ratio_of(one: Sheet, *, chosen: slice) -> float | None:
        # All pairs of a sheet are counted at once.
        sums = panel.once((PAIR_FLIPS, id(one)), partial(sums_of, one))
        within, exchanged = sums[:, chosen].sum(axis=1)
        return float(within / exchanged) if exchanged else None

    several = any(one != two for one, two, _, _ in layout.exchanges)
    found: list[tuple[float, float, float, str, int, float, float]] = []
    for what, chosen in _pairs(layout):
        w, c = within[:, chosen].sum(axis=1), exchanged[:, chosen].sum(axis=1)
        if np.count_nonzero(c) < FEWEST_ITEMS:
            continue
        # An attribute without an effect flips less often than its exchange with one that has one.
        of_each = partial(ratio_of, chosen=chosen)
        ratios = panel.of_other_models(sheet, f"{PAIR_FLIPS} {what}", of_each)
        usual = median(ratios) if len(ratios) >= FEWEST_MODELS else math.nan
        part = ALL_PAIRS if what == EVERY_PAIR and several else ONE_PAIR
        # Flips within pairs that are as frequent as others are no sign, whatever other models do.
        limit = ALONE if math.isnan(usual) else min(usual * part, 1.0)
        ratio = float(w.sum() / c.sum())
        p = p_above_zero(limit * c - w)
        found.append((p, ratio, limit, what, int(w.sum()), c.sum(), usual))
    p, ratio, limit, what, flips, others, usual = min(found)
    middle = "" if math.isnan(usual) else f"; the median of other models is {usual:.2f}"
    whole = what == EVERY_PAIR
    versions = "the versions of each pair" if whole else f"the versions “{what}”"
    changes, and_ = (
        (f"changes {flips:,} times", "and") if flips else ("never changes", "but changes")
    )
    note = (
        f"The answer {changes} between {versions}, {and_} about {others:,.0f} times between other "
        f"versions of the same items ({ratio:.2f} times as often{middle})."
    )
    which = "the groups" if whole else what.partition(":")[0]
    question = f"Does the model ignore {which}, or was one answer used for both versions?"
    return Finding(PAIR_FLIPS, ratio, limit, min(1.0, p * len(found)), "look", note, question)


def check_flip_level(sheet: Sheet, panel: Panel) -> Finding:
    """Compare the share of pairs that differ with that of other models, given accuracy and items.

    Notes
    -----
    The value is the number of pairs with two different answers, divided by the number that is
    expected if a model as accurate were correct on each variant independently. So a set with few
    errors is not expected to flip often. Errors on one item depend on each other, so the value is
    below 1; that of an honest set is expected to vary about the median of other models, by
    `SPREAD` or as much as theirs. Flips of one item come together, so there are fewer independent
    events: their number has a Poisson law with the dispersion of other models, and its mean a
    gamma law. Together that is a negative binomial law, which also holds for few flips. Items with
    a doubtful key are left out: a strong model gives one letter, the right one, where the key is
    wrong. It is never more than a question: a model may truly ignore the group.
    """
    layout = panel.layout
    if not _differing(sheet, layout)[2].any():
        return not_checked(FLIP_LEVEL, "no pair of groups has two answers")
    values = panel.of_other_models(sheet, FLIP_LEVEL, partial(relative_flips, panel=panel))
    if len(values) < FEWEST_MODELS:
        return too_few_models(FLIP_LEVEL, len(values))
    flips, expected = _expected_flips(sheet, panel)
    usual = median(values)
    if usual * expected.sum() < FEWEST_ITEMS:
        return not_checked(FLIP_LEVEL, f"fewer than {FEWEST_ITEMS} pairs are expected to differ")
    together = panel.of_other_models(sheet, "flips together", partial(_flips_together, panel=panel))
    size = median(together)
    # The median absolute deviation: a model that hardly ever flips does not set the limit for all.
    spread = max(SPREAD, 1.4826 * median(abs(value / usual - 1) for value in values))
    shape = 1 / (spread**2 * (1 + 1 / len(values)))
    events = usual * expected.sum() / size
    p = scipy.stats.nbinom.cdf(np.ceil(flips.sum() / size), shape, shape / (shape + events))
    value = float(flips.sum() / expected.sum())
    left_out = int(np.count_nonzero(_doubtful(sheet, panel)))
    note = (
        f"{percent(float(np.nanmean(flip_shares(sheet, layout))))} of pairs have two different "
        f"answers: {value:.2f} times as many as its accuracy predicts for independent answers. The "
        f"median of other models is {usual:.2f}."
    )
    if left_out:
        note += f" Left out: {counted(left_out, 'item')} with a doubtful key."
    question = (
        "Does the model see the group, was each version answered separately, were others sampled "
        "at a higher temperature, and are there wrong keys that it does not follow?"
    )
    return Finding(FLIP_LEVEL, value, usual, float(p), "look", note, question)


def check_labels(sheet: Sheet, panel: Panel) -> Finding | None:
    """Compare the direction of changed answers within pairs with other models.

    Notes
    -----
    If a set answers x to one group of a pair and y to the other, other models show whether this
    direction is usual: whether x is more popular for the first group, relative to y, than for the
    second. The value is the share of changed answers in the usual direction. It is far above 1/2
    if models follow the same text, and 1 minus that if all labels are exchanged. It is 1/2 for an
    honest model that is swayed in no direction, and near 1/2 for a noisy one. So the limit is on
    the other side of 1/2. All pairs together and each pair are tested, and whether items are
    exchanged whole (`_whole_items`); the p-value is multiplied by the number of tests. Changes
    count by how clear their usual direction is. Returns None if other models do not share
    directions.
    """
    layout = panel.layout
    models = panel.others(sheet).models
    if models < FEWEST_MODELS:
        return too_few_models(GROUP_LABELS, models)

    def direction(one: Sheet) -> float | None:
        ways = _directions(one, panel)
        clear = np.abs(ways).sum()
        return float(ways.sum() / clear) if clear >= FEWEST_ITEMS else None

    usual = median(panel.of_other_models(sheet, GROUP_LABELS, direction) or [0.0])
    if usual < SHARED_DIRECTION:
        return None
    ways = _directions(sheet, panel)
    found: list[tuple[float, float, str]] = []
    for what, chosen in _pairs(layout):
        own, clear = (part[:, chosen].sum(axis=1) for part in (ways, np.abs(ways)))
        if np.count_nonzero(clear) < FEWEST_ITEMS:
            continue
        value = float(own.sum() / clear.sum())
        found.append((p_above_zero(-LABELS * usual * clear - own), value, what))
        if what == EVERY_PAIR:
            away = p_above_zero(LABELS * usual * clear - own)
            found.append((max(away, _whole_items(sheet, panel)), value, what))
    if not found:
        return not_checked(GROUP_LABELS, f"fewer than {FEWEST_ITEMS} items have changed answers")
    p, value, what = min(found)
    note = (
        f"{percent((1 + value) / 2)} of changed answers of {what} go in the usual direction; the "
        f"median of other models is {percent((1 + usual) / 2)}."
    )
    question = (
        "Is the model swayed otherwise than other models, or are answers stored with another group?"
    )
    value, limit = (1 + value) / 2, (1 - LABELS * usual) / 2
    return Finding(GROUP_LABELS, value, limit, min(1.0, p * len(found)), "look", note, question)


def _whole_items(sheet: Sheet, panel: Panel) -> float:
    """Return the p-value that two attributes agree on a direction within items as in other models.

    If the labels of some items are exchanged, this agreement stays as it was, although the items
    together have no direction. In an honest set without a direction, there is none. The limit is a
    part `LABELS` of the others' median. The p-value is 1 if others hardly agree.
    """
    names = np.array([name.partition(":")[0] for name, _, _ in panel.layout.pairs])

    def products(one: Sheet) -> tuple[FloatArray, FloatArray]:
        ways = _directions(one, panel)
        found = []
        for part in (ways, np.abs(ways)):
            sums = np.array([part[:, names == name].sum(axis=1) for name in set(names)])
            found.append((sums.sum(axis=0) ** 2 - (sums**2).sum(axis=0)) / 2)
        return found[0], found[1]

    def ratio(one: Sheet) -> float | None:
        same, most = products(one)
        return float(same.sum() / most.sum()) if most.any() else None

    same, most = products(sheet)
    usual = median(panel.of_other_models(sheet, "whole items", ratio) or [0.0])
    if usual < SHARED_DIRECTION or np.count_nonzero(most) < FEWEST_ITEMS:
        return 1.0
    return p_above_zero(same - LABELS * usual * most)


def _pairs(layout: Layout) -> Iterator[tuple[str, slice]]:
    """Yield all pairs together, and each pair: its name, and its places among the columns."""
    yield EVERY_PAIR, slice(None)
    names = [name for name, _, _ in layout.pairs]
    for name in dict.fromkeys(names):
        start = names.index(name)
        yield name, slice(start, start + names.count(name))


def flip_shares(sheet: Sheet, layout: Layout) -> FloatArray:
    """Return the share of an item's declared pairs that differ; NaN without a complete pair."""
    _, _, there, differ = _differing(sheet, layout)
    n = there.sum(axis=1)
    return np.where(n > 0, differ.sum(axis=1) / np.maximum(n, 1), np.nan)


def _differing(sheet: Sheet, layout: Layout) -> tuple[Places, Places, Bools, Bools]:
    """Return the variants of each pair, and by item if both have answers, and if they differ."""
    a, b = (np.array([pair[side] for pair in layout.pairs]) for side in (1, 2))
    there = sheet.answered[:, a] & sheet.answered[:, b]
    return a, b, there, there & (sheet.letters[:, a] != sheet.letters[:, b])


def _expected_flips(sheet: Sheet, panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Return flips by item, and those that its accuracy predicts for independent answers.

    Items with a doubtful key count as not answered.
    """
    sheet = without_doubtful_keys(sheet, panel)
    a, b, there, differ = _differing(sheet, panel.layout)
    right = expected_correct(sheet, panel)
    expected = right[:, a] * (1 - right[:, b]) + right[:, b] * (1 - right[:, a])
    return differ.sum(axis=1).astype(np.float64), np.where(there, expected, 0).sum(axis=1)


def without_doubtful_keys(sheet: Sheet, panel: Panel) -> Sheet:
    """Return the sheet with the answers to items with a doubtful key missing."""

    def make() -> Sheet:
        doubtful = _doubtful(sheet, panel)
        if not doubtful.any():
            # What other checks computed from the sheet serves here too.
            return sheet
        kept = np.where(doubtful[:, None], MISSING, sheet.letters)
        return replace(sheet, letters=kept.astype(sheet.letters.dtype))

    return panel.once(("without doubtful keys", id(sheet)), make)


def _doubtful(sheet: Sheet, panel: Panel) -> Bools:
    """Return the items with a doubtful key, from the answers of the other models."""
    key = ("doubtful keys", sheet.family)
    return panel.once(key, lambda: _doubtful_items(panel.others(sheet)))


def _doubtful_items(others: Popularity) -> Bools:
    """Return the items to which others give one other letter about as often as usually the key.

    If there are too many, these are the clearest ones, without ties.
    """
    given = others.counts.sum(axis=1)
    total, is_key = given.sum(axis=1), others.layout.key[:, None] == np.arange(given.shape[1])
    accuracy = given[is_key].sum() / max(total.sum(), 1e-9)
    most = np.where(is_key, 0, given).max(axis=1, initial=0)
    clear = most / np.maximum(DOUBTFUL * accuracy * total, 1e-9)
    next_one = np.sort(clear)[-1 - int(MOST_DOUBTFUL * len(clear))]
    return np.asarray((clear >= 1) & (clear > next_one + 1e-6))


def relative_flips(sheet: Sheet, panel: Panel) -> float | None:
    """Return flips as a multiple of what accuracy predicts; None without a pair."""
    flips, expected = _expected_flips(sheet, panel)
    return float(flips.sum() / expected.sum()) if expected.any() else None


def _flips_together(sheet: Sheet, panel: Panel) -> float | None:
    """Return the variance of the number of flips, divided by that number, with items as units."""
    flips, _ = _expected_flips(sheet, panel)
    return float((flips**2).sum() / flips.sum()) if flips.any() else None


def _by_pair(sheet: Sheet, layout: Layout) -> tuple[FloatArray, FloatArray]:
    """Return flips within each pair, and after its exchanges, on items that have both."""
    letters, answered = sheet.letters, sheet.answered
    items, pairs = len(letters), len(layout.pairs)
    exchanged, n = np.zeros((items, pairs)), np.zeros((items, pairs))
    for one, two, first, second in layout.exchanges:
        there = answered[:, first] & answered[:, second]
        differ = there & (letters[:, first] != letters[:, second])
        for pair in {one, two}:
            exchanged[:, pair] += differ
            n[:, pair] += there
    _, _, there, differ = _differing(sheet, layout)
    both = (n > 0) & there
    return (both & differ).astype(np.float64), np.where(both, exchanged / np.maximum(n, 1), 0.0)


def _directions(sheet: Sheet, panel: Panel) -> FloatArray:
    """Return how clear the usual direction of a change is, by item and pair; negative if opposite.

    It is 0 without a change.
    """
    usual = panel.others(sheet).shares
    rows = np.arange(len(usual))
    letters = np.maximum(sheet.letters, 0)
    ways = np.zeros((len(rows), len(panel.layout.pairs)))
    for place, (_, a, b) in enumerate(panel.layout.pairs):
        x, y = letters[:, a], letters[:, b]
        way = usual[rows, a, x] + usual[rows, b, y] - usual[rows, a, y] - usual[rows, b, x]
        changed = sheet.answered[:, a] & sheet.answered[:, b] & (x != y)
        # Small differences are rounding errors; without other models' answers, the way is NaN.
        ways[:, place] = np.where(changed & (np.abs(way) > 1e-4), way, 0)
    return ways
