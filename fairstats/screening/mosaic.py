"""Answers put together from several answer sets: each unusual item is some other set's."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from fairstats.screening.copying import FEWEST_VARIANTS, unusual_items
from fairstats.screening.findings import (
    FEWEST_ITEMS,
    FEWEST_MODELS,
    RELATED_MODELS,
    Finding,
    Flag,
    not_checked,
    p_above_zero,
    percent,
    too_few_models,
)
from fairstats.screening.other_models import Panel
from fairstats.screening.sheets import Bools, Sheet

MOSAIC = "mosaic"
#: Limits as parts of the way from the median of other models to 1. The median is 0.20 for six
#: released models and 0.39 for twelve; the farthest set is at 0.23 of the way.
LIMIT, BLOCK = 0.35, 0.6


def check_mosaic(sheet: Sheet, panel: Panel) -> Finding | None:
    """Count the unusual items with the same answers to all variants as any set of another model.

    An unusual item has answers that vary and include one which other models rarely give. By chance,
    more of them agree with some set the more sets there are. So the share is compared with that of
    other models. Returns None for a benchmark with too few variants of an item.
    """
    if len(panel.sheets.layout.benchmark.variants) < FEWEST_VARIANTS:
        return None
    models = panel.others(sheet).models
    if models < FEWEST_MODELS:
        return too_few_models(MOSAIC, models)
    unusual, same = _same_as_any(sheet, panel.sheets.everything, panel)
    if np.count_nonzero(unusual) < FEWEST_ITEMS:
        return not_checked(MOSAIC, f"fewer than {FEWEST_ITEMS} items have unexpected answers")
    shares = panel.of_other_models(sheet, MOSAIC, lambda one: _share(one, panel))
    usual = median(shares) if shares else 0.0
    limit, block = (usual + part * (1 - usual) for part in (LIMIT, BLOCK))
    value = float(same[unusual].mean())
    p = p_above_zero(same[unusual] - limit)
    worst: Flag = "block" if value >= block else "look"
    note = (
        f"{percent(value)} of items with unexpected answers are the same as in some other model's "
        f"set; the median of other models is {percent(usual)}."
    )
    return Finding(MOSAIC, value, limit, p, worst, note, RELATED_MODELS)


def _share(sheet: Sheet, panel: Panel) -> float | None:
    """Return the share of a reference set; None if no item is unusual."""
    unusual, same = _same_as_any(sheet, panel.sheets.reference, panel)
    return float(same[unusual].mean()) if unusual.any() else None


def _same_as_any(sheet: Sheet, others: Sequence[Sheet], panel: Panel) -> tuple[Bools, Bools]:
    """Return which items are unusual, and which have the answers of any other model's sheet."""
    same = np.zeros(len(sheet.letters), dtype=np.bool_)
    for other in others:
        if other.family != sheet.family:
            same |= (other.letters == sheet.letters).all(axis=1)
    return unusual_items(sheet, panel.others(sheet)), same
