"""Labels of groups that were exchanged: changes of answer in the opposite direction."""

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
from fairstats.screening.sheets import Sheet

GROUP_LABELS = "group_labels"
#: Other models must agree on directions at least this often. If not, the check says little.
SHARED_DIRECTION = 0.6
#: Parts of (agreement of other models − 1/2) that are the limits of "look" and "block". If a
#: share s of labels is exchanged, agreement − 1/2 falls to 1 − 2s of its value.
LIMIT, BLOCK = 0.75, 0.5


def check_labels(sheet: Sheet, panel: Panel) -> Finding | None:
    """Compare the direction of changed answers within pairs with other models.

    Notes
    -----
    If a set answers x to one group of a pair and y to the other, other models show whether this
    direction is usual: whether x is more popular for the first group, relative to y, than for the
    second. The value is the share of changed answers in the usual direction. It is far above 1/2
    if models follow the same text, and 1 minus that if all labels are exchanged. All pairs together
    and each pair are tested; the p-value is multiplied by their number. Changes count by how clear
    their usual direction is. Returns None if other models do not share directions.
    """
    layout = panel.sheets.layout
    models = panel.others(sheet).models
    if models < FEWEST_MODELS:
        return too_few_models(GROUP_LABELS, models)
    agreements = panel.of_other_models(sheet, GROUP_LABELS, lambda one: _agreement(one, panel))
    usual = median(agreements) if agreements else 0.0
    if usual < SHARED_DIRECTION:
        return None
    agree, informative = _directions(sheet, panel)
    limit, block = (0.5 + part * (usual - 0.5) for part in (LIMIT, BLOCK))
    found: list[tuple[float, float, str, Flag]] = []
    for place in (None, *range(len(layout.pairs))):
        chosen = slice(None) if place is None else slice(place, place + 1)
        a, n = agree[:, chosen].sum(axis=1), informative[:, chosen].sum(axis=1)
        if np.count_nonzero(n) < FEWEST_ITEMS:
            continue
        value = float(a.sum() / n.sum())
        worst: Flag = "block" if value <= block else "look"
        what = "all pairs" if place is None else layout.pairs[place][0]
        found.append((p_above_zero(limit * n - a), value, what, worst))
    if not found:
        return not_checked(GROUP_LABELS, f"fewer than {FEWEST_ITEMS} items have changed answers")
    p, value, what, worst = min(found)
    note = (
        f"{percent(value)} of changed answers of {what} go in the usual direction; the median of "
        f"other models is {percent(usual)}."
    )
    return Finding(GROUP_LABELS, value, limit, min(1.0, p * len(found)), worst, note)


def _directions(sheet: Sheet, panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Return, by item and pair, if a change is in the usual direction, and if there is one."""
    usual = panel.others(sheet).shares
    rows = np.arange(len(usual))
    letters = np.maximum(sheet.letters, 0)
    agree = np.zeros((len(rows), len(panel.sheets.layout.pairs)))
    informative = np.zeros_like(agree)
    for place, (_, a, b) in enumerate(panel.sheets.layout.pairs):
        x, y = letters[:, a], letters[:, b]
        direction = usual[rows, a, x] + usual[rows, b, y] - usual[rows, a, y] - usual[rows, b, x]
        changed = sheet.answered[:, a] & sheet.answered[:, b] & (x != y)
        # Small differences are rounding errors.
        known = changed & (np.nan_to_num(np.abs(direction)) > 1e-4)
        informative[:, place] = np.where(known, np.abs(direction), 0)
        agree[:, place] = np.where(known & (direction > 0), direction, 0)
    return agree, informative


def _agreement(sheet: Sheet, panel: Panel) -> float | None:
    """Return the agreement of a set with all models but its own; None for too few changes."""
    agree, informative = _directions(sheet, panel)
    if informative.sum() < FEWEST_ITEMS:
        return None
    return float(agree.sum() / informative.sum())
