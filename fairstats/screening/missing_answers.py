"""Missing answers and rows, earlier answers of the same name, and samples that repeat another."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, groupby
from operator import itemgetter

import numpy as np
import pandas as pd

from fairstats._lib.formatting import listed
from fairstats.counts.grid import NOT_ASKED
from fairstats.inference.clustered_answers import sign_flip_test
from fairstats.screening.answer_sheets import Layout, Sheet
from fairstats.screening.findings import (
    LOOK_LEVEL,
    Finding,
    Flag,
    not_checked,
)
from fairstats.screening.flips_and_labels import flip_shares
from fairstats.screening.letters_and_keys import DISAGREE, read_again
from fairstats.screening.panels import Panel

MISSING_BY_GROUP = "missing_by_group"
ROWS = "missing_rows"
RESUBMITTED = "resubmitted"
REPEATED_SAMPLES = "repeated_samples"
#: At most this temperature, a model may always answer the same.
NEARLY_ZERO = 0.1
#: At least one in so many items whose answers depend on the version has another answer if asked
#: again.
MOST_DECIDED = 10
#: What to ask about missing answers.
WHY_MISSING = "Did the model not answer, or was its answer not read or left out?"


def check_missing_by_group(sheet: Sheet, panel: Panel) -> Finding:
    """Test if more answers are missing for one group of a pair than for the other.

    The neutralized version and controls count too, if they were asked.

    The exact test that flips items, or clusters: McNemar's, if an item has one answer for each
    group. The smallest p-value of all pairs is multiplied by their number. Models may truly refuse
    more often for one group: stored replies can show that (see `confirm_missing`).
    """
    layout, found = panel.layout, []
    missing = ~sheet.answered & panel.in_benchmark
    units = layout.independent
    others = [pair for pair in layout.other_pairs if sheet.asked[[*pair[1:]]].all()]
    for name, variants in groupby((*layout.pairs, *others), key=itemgetter(0)):
        _, a, b = (list(column) for column in zip(*variants, strict=True))
        if not sheet.asked[a + b].any():
            continue
        only_a = int((missing[:, a] & ~missing[:, b]).sum())
        only_b = int((missing[:, b] & ~missing[:, a]).sum())
        change = missing[:, a].sum(axis=1) - missing[:, b].sum(axis=1)
        by_unit = np.bincount(units, weights=change).astype(np.int64)
        p = float(sign_flip_test(by_unit, method="exact").p_value)
        found.append((p, -abs(only_a - only_b), only_a, only_b, name, missing[:, a].size))
    if not found:
        return not_checked(MISSING_BY_GROUP, "no pair of groups was asked")
    p, _, only_a, only_b, name, n = min(found, key=itemgetter(0, 1))
    value = (only_a - only_b) / n
    note = f"{name}: only the first group's answer is missing in {only_a} pairs, and only the "
    note += f"second's in {only_b}."
    p = min(1.0, p * len(found))
    return Finding(MISSING_BY_GROUP, value, 0.0, p, "look", note, WHY_MISSING)


def check_rows(sheet: Sheet, panel: Panel) -> Finding:
    """Count the variants without a row, except variants that no item has a row for."""
    expected = panel.in_benchmark & sheet.asked
    n, number = int((expected & (sheet.letters == NOT_ASKED)).sum()), int(expected.sum())
    note = f"{n:,} of {number:,} asked variants have no row."
    flag: Flag = "look" if n else "ok"
    question = "Were they not asked, or left out?"
    return Finding(ROWS, n / max(number, 1), 0.0, np.nan, flag, note, question)


def check_resubmission(sheet: Sheet, panel: Panel) -> Finding | None:
    """Compare a sheet with the reference sheet of the same model, strategy and sample, if any.

    A set also replaces another one with other samples, from which these may have been chosen.
    """
    own = {one.sample for one in panel.screened if one.name == sheet.name}
    before = {
        other.sample: other
        for other in panel.reference
        if other.name == sheet.name and other not in panel.screened
    }
    if not before:
        return None
    if before.keys() != own:
        was, now = (listed(map(str, sorted(samples))) for samples in (before, own))
        many = "Samples {} were" if len(before) > 1 else "Sample {} was"
        note = f"{many.format(was)} given before under the same name, and now {now}."
        question = "Why were other samples given, and how were they chosen?"
        return Finding(RESUBMITTED, np.nan, 0.0, np.nan, "look", note, question)
    differ = int((before[sheet.sample].letters != sheet.letters).sum())
    note = f"{differ:,} answers differ from those given before under the same name."
    flag: Flag = "look" if differ else "ok"
    question = "Why were the answers given again?"
    return Finding(RESUBMITTED, differ / sheet.letters.size, 0.0, np.nan, flag, note, question)


def check_samples(samples: list[Sheet], rows: pd.DataFrame, layout: Layout) -> Finding | None:
    """Count the samples of a set with the same answers as an earlier one.

    At temperature 0, a model may always answer the same, and near 0, which some servers need
    instead. At a higher one, other samples show how many answers change. If none does, a model is
    expected to be undecided where its answer depends on the version, and to change some of these
    answers, if there are enough. Returns None for a single sample.
    """
    if len(samples) < 2:
        return None
    distinct = list({sheet.letters.tobytes(): sheet for sheet in samples}.values())
    repeated = len(samples) - len(distinct)
    note = f"Samples with the same answers as an earlier one: {repeated} of {len(samples)}."
    if repeated:
        note += " They hold no further information."
    sampled = "temperature" in rows and bool((rows["temperature"] > NEARLY_ZERO).all())
    if len(distinct) == 1:
        usual = float(np.count_nonzero(flip_shares(samples[0], layout) > 0)) / MOST_DECIDED
    else:
        changes = [np.count_nonzero(a.letters != b.letters) for a, b in combinations(distinct, 2)]
        usual = float(np.mean(changes))
    # Two samples that differ by Poisson(usual) answers are the same with probability exp(-usual).
    chance = math.comb(len(samples), 2) * math.exp(-usual)
    flag: Flag = "look" if repeated and sampled and chance < LOOK_LEVEL else "ok"
    question = "Did the temperature take effect, or is one sample there twice?"
    return Finding(REPEATED_SAMPLES, repeated / len(samples), 0.0, np.nan, flag, note, question)


def confirm_missing(
    findings: list[Finding | None], rows: pd.DataFrame, layout: Layout
) -> list[Finding | None]:
    """Return the findings of a set, where that on missing answers is "ok" if replies confirm.

    Models do fail to name a letter more often in some versions of a question, e.g. in sentences.
    Such answers cannot flatter a model: no verdict may depend on them, and ranks count them as
    wrong.
    """

    def cleared(one: Finding | None) -> Finding | None:
        if one is None or one.check != MISSING_BY_GROUP or one.p_value >= LOOK_LEVEL:
            return one
        note = f"{one.note} The stored replies give no {layout.noun}."
        return replace(one, worst="ok", note=note)

    clear = [cleared(one) for one in findings]
    # Reading the replies takes long, so only if it can make a difference.
    return clear if clear != findings and _replies_lack_letters(rows, layout) else findings


def _replies_lack_letters(rows: pd.DataFrame, layout: Layout) -> bool:
    """Return whether stored replies confirm the missing answers: no letter can be read in them.

    Most missing answers must have such a reply. A parser that knew the options' texts, which a
    benchmark may not ship, may have read a few of them differently.
    """
    missing = rows[rows["answer"].isna()]
    if missing.empty or "answer_raw" not in missing:
        return False
    replied = missing["answer_raw"].map(lambda raw: isinstance(raw, str) and raw.strip() != "")
    confirmed = (replied & read_again(missing, layout)["read"].isna()).sum()
    return bool(confirmed >= (1 - DISAGREE) * len(missing))
