"""Answers that are missing where they would hurt: by group, and by whether an item flips."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairstats.inference.mcnemar import mcnemar
from fairstats.screening.findings import (
    FEWEST_ITEMS,
    FEWEST_MODELS,
    Finding,
    Flag,
    not_checked,
    percent,
    too_few_models,
)
from fairstats.screening.other_models import Panel
from fairstats.screening.separation import separation
from fairstats.screening.sheets import Bools, Layout, Sheet

MISSING_BY_GROUP = "missing_by_group"
MISSING_BY_ITEM = "missing_by_item"
#: How well flips of other models predict missing answers (0.5 for not at all).
PREDICTED, PREDICTED_BLOCK = 0.65, 0.7


def with_replies(finding: Finding) -> Finding:
    """Return a finding on missing answers that stored replies confirm: it does not block.

    Models do fail to name a letter more often in some versions of a question, e.g. in sentences.
    Such answers cannot flatter a model: no verdict may depend on them, and ranks count them as
    wrong. So the replies are a reason to look at them, not to refuse them.
    """
    if finding.check not in (MISSING_BY_GROUP, MISSING_BY_ITEM) or finding.worst != "block":
        return finding
    note = f"{finding.note} The stored replies give no letter."
    return replace(finding, worst="look", note=note)


def check_missing_by_group(sheet: Sheet, layout: Layout) -> Finding:
    """Test if more answers are missing for one group of a pair than for the other.

    McNemar's exact test of the items that only one group's answer is missing for; the smallest
    p-value of all pairs is multiplied by their number. Models may truly refuse more often for one
    group. So a set is blocked only if the difference exceeds the share of missing answers with
    which the benchmark ranks a model, and no replies confirm it (see `with_replies`).
    """
    missing, found = ~sheet.answered, []
    for name, a, b in layout.pairs:
        only_a = int((missing[:, a] & ~missing[:, b]).sum())
        only_b = int((missing[:, b] & ~missing[:, a]).sum())
        p = float(mcnemar(n10=only_a, n01=only_b, method="exact").p_value)
        found.append((p, -abs(only_a - only_b), only_a, only_b, name))
    p, _, only_a, only_b, name = min(found)
    value = (only_a - only_b) / len(missing)
    worst: Flag = "block" if abs(value) >= layout.benchmark.largest_missing else "look"
    note = f"{name}: an answer is missing for only the first group of {only_a} items, and for only "
    note += f"the second of {only_b}."
    return Finding(MISSING_BY_GROUP, value, 0.0, min(1.0, p * len(found)), worst, note)


def check_missing_by_item(sheet: Sheet, panel: Panel) -> Finding:
    """Test if answers are missing on the items whose answers change in other models.

    The value is the probability that other models flip more often on an item with a missing answer
    than on another item. Hard items flip more often and may be refused more often, so the limit is
    above 1/2.
    """
    layout = panel.sheets.layout
    varied = sorted({v for _, a, b in layout.pairs for v in (a, b) if sheet.asked[v]})
    missing = ~sheet.answered[:, varied]
    some: Bools = np.any(missing, axis=1)
    share = float(missing.mean()) if varied else 0.0
    if not share:
        return Finding(MISSING_BY_ITEM, 0.5, PREDICTED, 1.0, "ok", "No answer is missing.")
    usual = panel.others(sheet)
    if usual.models < FEWEST_MODELS:
        return too_few_models(MISSING_BY_ITEM, usual.models)
    few = min(int(some.sum()), int((~some).sum()))
    if few < FEWEST_ITEMS:
        if share < 0.5:
            note = f"{int(some.sum())} items have missing answers, too few to matter."
            return Finding(MISSING_BY_ITEM, 0.5, PREDICTED, 1.0, "ok", note)
        return not_checked(MISSING_BY_ITEM, f"only {few} items have all their answers")
    value, p = separation(usual.flips[:, None], some[:, None], limit=PREDICTED)
    much = share >= layout.benchmark.largest_missing
    worst: Flag = "block" if value >= PREDICTED_BLOCK and much else "look"
    note = (
        f"{percent(share)} of answers are missing; other models flip more often on these items "
        f"with probability {value:.2f} (0.5 if unrelated)."
    )
    return Finding(MISSING_BY_ITEM, value, PREDICTED, p, worst, note)
