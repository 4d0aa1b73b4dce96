"""Letters and keys that do not fit: moved rows, one letter, stored replies that differ."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.result_objects import FloatArray
from fairstats.asking.answer_from_reply import parse_answer
from fairstats.asking.value_from_reply import read_reply
from fairstats.screening.answer_sheets import Layout, Panel, Sheet
from fairstats.screening.findings import (
    FEWEST_ITEMS,
    Finding,
    Flag,
    not_checked,
    p_above_zero,
    percent,
)

ALIGNMENT = "item_alignment"
LETTERS = "letter_shares"
REPLIES = "stored_replies"
MARKS = "stored_marks"
#: Agreement with another item's key above that of unrelated answers: what popular wrong answers can
#: give an honest set, and from where a set is blocked.
EXCESS, EXCESS_BLOCK = 0.05, 0.1
#: What to ask about answers in the rows of other items.
ROWS_MOVED = "Is each answer in the row of its item, and are letters counted from the same start?"
#: Share of the largest possible difference between the letters of answers and of keys. Three of 43
#: released sets have 0.25 to 0.27: their parser can read the article "a" as answer A.
DIFFERENCE = 0.4
#: Shares of stored replies that our parser reads differently. Another parser may differ on a few.
DIFFERENT_REPLIES, DIFFERENT_REPLIES_BLOCK = 0.02, 0.1
#: An optional column that is not part of the schema: whether a row counts as correct.
MARK_COLUMN = "correct"
_MARKS = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}


def check_alignment(sheet: Sheet, panel: Panel) -> Finding:
    """Compare the answers with the key moved by every number of items, and with renamed letters.

    Notes
    -----
    Agreement is computed for all rotations of the items at once, from the circular correlation of
    answers and keys. Under the null hypothesis, items and keys are matched at random. The mean and
    variance of agreement are then exact (Hoeffding 1951), and its distribution is close to normal.
    If the key of one item is often that of another, such as in sorted or periodic keys, accurate
    answers agree with moved keys too. The expected agreement is then higher, see `_explained`.
    The limit is `EXCESS` above. The p-value of the highest agreement is multiplied by the number of
    rotations and renamings. Answers that fit the keys of other items better than their own, by far,
    are no model's answers.
    """
    layout, options = panel.layout, panel.layout.options
    if options < 2:
        return not_checked(ALIGNMENT, "there is only one option")
    given = (sheet.letters[:, :, None] == np.arange(options)).sum(axis=1).astype(np.float64)
    key = (layout.key[:, None] == np.arange(options)).astype(np.float64)
    n, total = len(key), given.sum()
    if n < 3 or not total:
        return not_checked(ALIGNMENT, "there are too few items or answers")
    by_shift = np.rint(_rotations(given, key)[1:])
    by_name = [float((given * np.roll(key, k, axis=1)).sum()) for k in range(1, options)]
    moved = np.concatenate([by_shift, by_name])
    expected, variance = _moments(given, key)
    renamed = [_moments(given, np.roll(key, k, axis=1)) for k in range(1, options)]
    explained = np.maximum(expected, _explained(given, key, total))
    means = np.concatenate([explained, [mean for mean, _ in renamed]])
    variances = np.concatenate([np.full(n - 1, variance), [v for _, v in renamed]])
    excess = (moved - means) / total
    z = (moved - means - EXCESS * total) / np.sqrt(np.maximum(variances, 1e-12))
    best = int(np.argmax(z))
    p = min(1.0, float(scipy.stats.norm.sf(z[best])) * len(moved))
    own = float((given * key).sum() / total)
    if best < n - 1:
        lag = best + 1 if best + 1 <= n // 2 else best + 1 - n
        what = f"the key of the item {abs(lag)} {'later' if lag > 0 else 'earlier'}"
    else:
        what = f"the key with letters moved by {best - n + 2}"
    value = float(moved[best] / total)
    note = f"Agrees {percent(value)} with {what}, and {percent(own)} with the key itself."
    # Renamed letters may be an honest habit if options are in an order, e.g. one level too severe.
    moved_rows = best < n - 1 and value > own and excess[best] >= EXCESS_BLOCK
    worst: Flag = "block" if moved_rows else "look"
    return Finding(
        ALIGNMENT, value, float(means[best] / total) + EXCESS, p, worst, note, ROWS_MOVED
    )


def check_letters(sheet: Sheet, panel: Panel) -> Finding:
    """Compare the letters of the answers with those of the keys.

    The value is the total variation distance of the two distributions, divided by that of a set
    which always gives its most frequent letter: 0 for the same shares, 1 for one letter only.
    """
    layout, answered = panel.layout, sheet.answered
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
    question = "Does the parser read another word, such as the article a, as this answer?"
    return Finding(LETTERS, value, DIFFERENCE, p, "look", note, question)


def check_replies(rows: pd.DataFrame, layout: Layout) -> Finding | None:
    """Read the stored replies again, and count letters that differ from the stored ones.

    If the benchmark has no option texts, a reply from which no letter can be read is left out: it
    may give the text of an option. So is a reply without a decision, level or score that can be
    read: replies have many forms. These kinds are never blocked. Returns None without stored
    replies.
    """
    if "answer_raw" not in rows:
        return None
    stored = rows[rows["answer_raw"].notna() & (rows["status"] != "error")]
    if stored.empty:
        return None
    differ = known = 0
    for item, raw, letter in zip(
        stored["item_id"], stored["answer_raw"], stored["answer"], strict=True
    ):
        read = read_again(item, raw, layout)
        if read is None and (item not in layout.option_texts or not layout.has_letters):
            continue
        known += 1
        stored_as = None if pd.isna(letter) else layout.benchmark.canonical(letter)
        differ += read != stored_as
    if not known:
        return None
    share = differ / known
    p = float(scipy.stats.binom.sf(differ - 1, known, DIFFERENT_REPLIES))
    blocks = layout.has_letters and share >= DIFFERENT_REPLIES_BLOCK
    worst: Flag = "block" if blocks else "look"
    what = "letter" if layout.has_letters else "answer"
    note = f"{differ:,} of {known:,} stored replies give another {what} than the stored one."
    return Finding(REPLIES, share, DIFFERENT_REPLIES, p, worst, note)


def read_again(item: str, reply: str, layout: Layout) -> str | None:
    """Return the answer that our parser reads in a reply to an item."""
    texts = layout.option_texts.get(item)
    if not layout.has_letters:
        return read_reply(reply, layout.benchmark, texts).letter
    return parse_answer(reply, texts or dict.fromkeys(layout.benchmark.options, "")).letter


def check_marks(rows: pd.DataFrame) -> Finding | None:
    """Compare stored marks of correct answers with the letters.

    Returns None without marks, or without keys to compare them with.
    """
    if MARK_COLUMN not in rows or "answer_key" not in rows:
        return None
    marked = rows[rows[MARK_COLUMN].notna() & rows["answer_key"].notna()]
    if marked.empty:
        return None
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
    marks = given.map(lambda mark: _MARKS.get(str(mark).strip().lower(), np.nan))
    wrong = given.index[marks.isna() & given.notna()]
    if len(wrong):
        row = int(wrong[0])
        problem = Problem(
            "<frame>",
            "must be true or false",
            "correct it, or drop the column",
            row=row + 1,
            column=MARK_COLUMN,
            value=str(given[row])[:80],
        )
        raise InputError([problem])
    return marks.astype("float64")


def _rotations(given: FloatArray, key: FloatArray) -> FloatArray:
    """Return Σ_i given[i] · key[i + k] for every k, with items in a circle."""
    product = np.conj(np.fft.rfft(given, axis=0)) * np.fft.rfft(key, axis=0)
    return np.asarray(np.fft.irfft(product.sum(axis=1), n=len(key)))


def _explained(given: FloatArray, key: FloatArray, total: float) -> FloatArray:
    """Return the agreement with each moved key that follows from the accuracy alone.

    With accuracy a, and a share r of items that have the key of the item k later, this is
    a r + (1 − a)(1 − r) / (m − 1), if wrong answers are spread evenly over m − 1 options.
    """
    n, options = key.shape
    accuracy = (given * key).sum() / total
    same = np.rint(_rotations(key, key)[1:]) / n
    return np.asarray(total * (accuracy * same + (1 - accuracy) * (1 - same) / (options - 1)))


def _moments(given: FloatArray, key: FloatArray) -> tuple[float, float]:
    """Return mean and variance of Σ_i given[i] · key[π(i)] over all permutations π."""
    n = len(key)
    mean = float(given.sum(axis=0) @ key.sum(axis=0) / n)
    a, b = given - given.mean(axis=0), key - key.mean(axis=0)
    return mean, float(((a.T @ a) * (b.T @ b)).sum() / (n - 1))
