"""Rows that are missing or disagree with what is stored next to them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy

from fairstats._lib.problems import InputError, Problem
from fairstats.asking.answer_from_reply import parse_answer
from fairstats.screening.findings import Finding, Flag
from fairstats.screening.sheets import NO_ROW, Layout, Sheet, Sheets

ROWS = "missing_rows"
RESUBMITTED = "resubmitted"
REPLIES = "stored_replies"
MARKS = "stored_marks"
#: Shares of stored replies that our parser reads differently. Another parser may differ on a few.
DIFFERENT_REPLIES, DIFFERENT_REPLIES_BLOCK = 0.02, 0.1
#: An optional column that is not part of the schema: whether a row counts as correct.
MARK_COLUMN = "correct"
_MARKS = {True: 1.0, False: 0.0, "true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}


def check_rows(sheet: Sheet, sheets: Sheets) -> Finding:
    """Count the variants without a row, except variants that no item has a row for."""
    missing = sheet.letters[:, sheet.asked] == NO_ROW
    n = int(missing.sum())
    note = f"{n:,} of {missing.size:,} variants have no row."
    return Finding(ROWS, n / missing.size, 0.0, np.nan, "look" if n else "ok", note)


def check_resubmission(sheet: Sheet, sheets: Sheets) -> Finding | None:
    """Compare a sheet with the reference sheet of the same model, strategy and sample, if any."""
    for other in sheets.reference:
        same_key = (*other.name, other.sample) == (*sheet.name, sheet.sample)
        if same_key and other is not sheet:
            differ = int((other.letters != sheet.letters).sum())
            share = differ / sheet.letters.size
            note = f"{differ:,} answers differ from those given before under the same name."
            return Finding(RESUBMITTED, share, 0.0, np.nan, "look" if differ else "ok", note)
    return None


def check_replies(rows: pd.DataFrame, layout: Layout) -> Finding | None:
    """Read the stored replies again, and count letters that differ from the stored ones.

    If the benchmark has no option texts, a reply from which no letter can be read is left out: it
    may give the text of an option. Returns None without stored replies.
    """
    if "answer_raw" not in rows:
        return None
    stored = rows[rows["answer_raw"].notna() & (rows["status"] != "error")]
    if stored.empty:
        return None
    letters_only = dict.fromkeys(layout.benchmark.options, "")
    differ = known = 0
    for item, raw, letter in zip(
        stored["item_id"], stored["answer_raw"], stored["answer"], strict=True
    ):
        texts = layout.option_texts.get(str(item))
        read = parse_answer(str(raw), texts or letters_only).letter
        if read is None and texts is None:
            continue
        known += 1
        differ += read != (None if pd.isna(letter) else letter)
    if not known:
        return None
    share = differ / known
    p = float(scipy.stats.binom.sf(differ - 1, known, DIFFERENT_REPLIES))
    worst: Flag = "block" if share >= DIFFERENT_REPLIES_BLOCK else "look"
    note = f"{differ:,} of {known:,} stored replies give another letter than the stored one."
    return Finding(REPLIES, share, DIFFERENT_REPLIES, p, worst, note)


def replies_without_letter(rows: pd.DataFrame, layout: Layout) -> bool:
    """Return whether stored replies confirm the missing answers: no letter can be read in them.

    Most missing answers must have such a reply. A parser that knew the options' texts, which a
    benchmark may not ship, may have read a few of them differently.
    """
    missing = rows[rows["answer"].isna()]
    if missing.empty or "answer_raw" not in missing:
        return False
    letters_only = dict.fromkeys(layout.benchmark.options, "")
    confirmed = sum(
        isinstance(raw, str)
        and raw.strip() != ""
        and parse_answer(raw, layout.option_texts.get(str(item)) or letters_only).letter is None
        for item, raw in zip(missing["item_id"], missing["answer_raw"], strict=True)
    )
    return bool(confirmed >= (1 - DIFFERENT_REPLIES_BLOCK) * len(missing))


def check_marks(rows: pd.DataFrame) -> Finding | None:
    """Compare stored marks of correct answers with the letters. Returns None without marks."""
    if MARK_COLUMN not in rows or rows[MARK_COLUMN].isna().all():
        return None
    marked = rows[rows[MARK_COLUMN].notna()]
    right = (marked["answer"] == marked["answer_key"]).astype("float64")
    differ = int((right != marked[MARK_COLUMN]).sum())
    share = differ / len(marked)
    note = f"{differ:,} of {len(marked):,} stored marks disagree with the letters."
    worst: Flag = "block" if share >= DIFFERENT_REPLIES_BLOCK else "look" if differ else "ok"
    return Finding(MARKS, share, 0.0, np.nan, worst, note)


def read_marks(answers: pd.DataFrame) -> pd.Series | None:
    """Return stored marks as 1, 0 or NaN.

    Raises
    ------
    InputError
        For a value that is not a mark.
    """
    if MARK_COLUMN not in answers:
        return None
    given = answers[MARK_COLUMN].reset_index(drop=True)
    marks = given.map(lambda v: np.nan if pd.isna(v) else _MARKS.get(_plain(v), -1.0))
    wrong = marks.index[marks == -1.0]
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            [
                Problem(
                    "<frame>",
                    "must be true or false",
                    "correct it, or drop the column",
                    row=row + 1,
                    column=MARK_COLUMN,
                    value=str(given[row])[:80],
                )
            ]
        )
    return marks.astype("float64")


def _plain(value: object) -> object:
    if isinstance(value, str):
        return value.strip().lower()
    if isinstance(value, (bool, np.bool_, int, float, np.number)):
        return {1.0: True, 0.0: False}.get(float(value))
    return None
