"""Letters and keys that do not fit: moved rows, one letter, stored replies that differ."""

from __future__ import annotations

import re
from functools import cache, partial
from statistics import median

import numpy as np
import pandas as pd
import scipy

from fairstats._lib.problems import input_error
from fairstats._lib.result_objects import FloatArray
from fairstats.asking.answer_from_reply import parse_answer, read_reply
from fairstats.asking.own_turn import before_next_turn, is_short
from fairstats.inference.differences import mean_beyond
from fairstats.screening.answer_sheets import Codes, Layout, Sheet
from fairstats.screening.findings import (
    FEWEST_ITEMS,
    FEWEST_MODELS,
    LOOK_LEVEL,
    Finding,
    Flag,
    not_checked,
    p_above,
    p_above_zero,
    percent,
)
from fairstats.screening.panels import Panel

ALIGNMENT = "item_alignment"
LETTERS = "letter_shares"
REPLIES = "stored_replies"
MARKS = "stored_marks"
#: Agreement with another item's key above that of unrelated answers: what popular wrong answers can
#: give an honest set, and from where a set is blocked.
EXCESS, EXCESS_BLOCK = 0.05, 0.1
#: Level of the test that items next to each other in the moved order are both moved.
CHAINS = 0.001
#: What to ask about answers in the rows of other items.
ROWS_MOVED = "Is each answer in the row of its item, and are letters counted from the same start?"
#: Share of the largest possible difference between the letters of answers and of keys. Three of 43
#: released sets have 0.25 to 0.27: their parser can read the article "a" as answer A.
DIFFERENCE = 0.4
#: Share of stored replies that our parser reads differently. Another parser may differ on a few.
DIFFERENT_REPLIES = 0.02
#: The number of tests of stored replies besides that of the share, by which p is multiplied.
TESTS_OF_REPLIES = 3
#: Share of stored marks, or of replies behind missing answers, that may disagree with the answers.
DISAGREE = 0.1
#: Share of items in which the stored letter is the key, of those where it or the reply's letter is.
EITHER_LETTER = 0.5
#: Odds that a letter is wrong in replies that were stored without one, relative to all replies. Of
#: 32 stricter parsers of the replies of GPT-4 and Llama-2-70B, one has higher odds.
UNREAD_ODDS = 3
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
    If the key of one item often goes with that of another, such as in sorted or periodic keys,
    honest answers agree with moved keys too. The expected agreement is then higher, see
    `_explained`.
    The limit is `EXCESS` above; for renamed letters also above the agreement with the key itself.
    The p-value of the highest agreement is multiplied by the number of
    rotations and renamings. Answers that fit the keys of other items better than their own, by far,
    are no model's answers, unless these items are statements and the others their negations, which
    the model ignores, see `_chained`.
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
    explained = np.maximum(expected, _explained(given, key))
    means = np.concatenate([explained, [mean for mean, _ in renamed]])
    variances = np.concatenate([np.full(n - 1, variance), [v for _, v in renamed]])
    own = float((given * key).sum() / total)
    # A rater who is often one level too severe is no sign of letters from another start.
    means[n - 1 :] = np.maximum(means[n - 1 :], own * total)
    variances *= _spread(by_shift - explained, variance)
    z = (moved - means - EXCESS * total) / np.sqrt(np.maximum(variances, 1e-12))
    best = int(np.argmax(z))
    p = min(1.0, float(scipy.stats.norm.sf(z[best])) * len(moved))
    if best < n - 1:
        lag = best + 1 if best + 1 <= n // 2 else best + 1 - n
        what = f"the key of the item {abs(lag)} {'later' if lag > 0 else 'earlier'}"
    else:
        what = f"the key with letters moved by {best - n + 2}"
    value = float(moved[best] / total)
    note = f"Agrees {percent(value)} with {what}, and {percent(own)} with the key itself."
    mean = float(means[best] / total)
    # Renamed letters may be an honest habit if options are in an order, e.g. one level too severe.
    moved_rows = (
        best < n - 1
        and value >= max(own, mean + EXCESS_BLOCK)
        and _chained(given, layout.key, best + 1)
    )
    worst: Flag = "block" if moved_rows and _only_this_set(sheet, panel, best + 1) else "look"
    return Finding(ALIGNMENT, value, mean + EXCESS, p, worst, note, ROWS_MOVED)


def _spread(by_shift: FloatArray, variance: float) -> float:
    """Return how much more agreement varies over rotations than over matchings, beyond chance.

    It does if items of one case are next to each other, with one key and one answer. The highest
    agreement is left out.
    """
    others = np.delete(by_shift, by_shift.argmax())
    by_chance = max(variance, 1e-12) * float(scipy.stats.chi2.ppf(0.99, len(others)))
    return max(1.0, float(((others - others.mean()) ** 2).sum()) / by_chance)


def _chained(given: FloatArray, key: Codes, shift: int) -> bool:
    """Check that answers are moved in chains of three items, by an exact sign test.

    A model that ignores negations gives a negation the answer of its statement, but the statement
    its key. So if an item has another key than the item whose key it fits, and that one another
    than the next, then at most one of the two is moved, wherever statements and negations are.
    """
    items, other = np.arange(len(key)), np.roll(key, -shift)
    known = (key >= 0) & (other >= 0) & (key != other)
    votes = np.where(known, np.sign(given[items, other] - given[items, key]), 0)
    pairs = votes + np.roll(votes, -shift)
    both, mixed = (pairs == 2).sum(), ((pairs == 0) & (votes != 0)).sum()
    return bool(scipy.stats.binom.sf(both - 1, both + mixed, 0.5) < CHAINS)


def _only_this_set(sheet: Sheet, panel: Panel, shift: int) -> bool:
    """Check that other models fit the key better than the moved one; if not, keys may be moved."""
    fits = partial(_fits_better, layout=panel.layout, shift=shift)
    others = panel.of_other_models(sheet, f"{ALIGNMENT} {shift}", fits)
    return len(others) >= FEWEST_MODELS and median(others) <= -EXCESS_BLOCK


def _fits_better(sheet: Sheet, layout: Layout, shift: int) -> float:
    """Return by how much answers agree more with the key of so many items later."""
    moved = np.roll(layout.key, -shift)[:, None]
    there = sheet.answered
    if not there.any():
        return 0.0
    return float((sheet.letters == moved)[there].mean() - layout.correct(sheet)[there].mean())


def check_letters(sheet: Sheet, panel: Panel) -> Finding:
    """Look for a letter that is given more often than it is the key.

    The value is the excess of the most over-given letter as a share of the largest possible one: 0
    if no letter is given more often than it is the key, and 1 if all answers are one letter.
    """
    layout, answered = panel.layout, sheet.answered
    items = answered.any(axis=1)
    if np.count_nonzero(items) < FEWEST_ITEMS:
        return not_checked(LETTERS, f"fewer than {FEWEST_ITEMS} items have answers")
    n = answered.sum(axis=1)
    given = np.bincount(sheet.letters[answered], minlength=layout.options) / n.sum()
    asked = (layout.key[:, None] == np.arange(layout.options)) * n[:, None]
    keys = asked.sum(axis=0) / n.sum()
    values = np.where(keys < 1, (given - keys) / np.maximum(1 - keys, 1e-9), 0.0)
    top = int(values.argmax())
    excess = (sheet.letters == top).sum(axis=1) - asked[:, top] - DIFFERENCE * (n - asked[:, top])
    p = min(1.0, p_above_zero(excess[items]) * layout.options)
    name = layout.benchmark.options[top]
    note = f"{name} is {percent(given[top])} of the answers and {percent(keys[top])} of the keys."
    question = "Does the model prefer this answer, or does the parser read another word as it"
    question += ", such as the article a?" if name == "A" else "?"
    return Finding(LETTERS, max(float(values[top]), 0.0), DIFFERENCE, p, "look", note, question)


def check_replies(rows: pd.DataFrame, layout: Layout) -> Finding | None:
    """Read the stored replies again, and count answers that differ from the stored ones.

    A reply from which no answer can be read shows nothing: replies have many forms. Answers may be
    those of another parser, or majorities stored with one of their replies. If options were asked
    in a shuffled order, the stored letter is that of the benchmark's order. So no set is blocked.
    Letters that their replies do not contain are also asked about if they are the key more often
    than those of the replies. Replies that were stored without an answer are counted apart: a
    stricter parser reads fewer. They are asked about if their answers are wrong far more often.
    Returns None if no reply is stored, or none is readable and no answer is stored with one.
    """
    if "answer_raw" not in rows:
        return None
    stored = rows[rows["answer_raw"].notna() & (rows["status"] != "error")]
    again = read_again(stored, layout)
    table = stored.assign(read=again["read"].where(again["compared"], None))
    for column in ("answer", "answer_key"):
        table[column] = table[column].map(layout.benchmark.canonical, na_action="ignore")
    there = table[table["read"].notna()]
    known, without = there[there["answer"].notna()], there[there["answer"].isna()]
    what = layout.noun
    if there.empty:
        if table["answer"].isna().all():
            return None
        return not_checked(
            REPLIES, f"no {what} could be read in any of {len(stored):,} stored replies"
        )
    other = known[known["read"] != known["answer"]]
    # A parser may stop at the first line, before what a base model adds: then it does so for most.
    stopped = 0
    if len(other):
        line = known["answer_raw"].str.strip().str.split("\n", n=1).str[0]
        first = read_again(known.assign(answer_raw=line), layout)["read"]
        of_line = first == known["answer"]
        if of_line[first.notna() & (first != known["read"])].mean() > 0.5:
            stopped = int(of_line[other.index].sum())
            other = other[~of_line[other.index]]
    share = len(other) / max(len(known), 1)
    # Replies to one item are not independent: its options may be shown in another order.
    differs = pd.Series(known.index.isin(other.index), dtype="float64")
    by_item = differs.groupby(known["item_id"].to_numpy()).mean()
    p = p_above(mean_beyond(by_item, DIFFERENT_REPLIES, limits=(0, 1)))
    note = f"{len(other):,} of {len(known):,} stored replies give another {what} than the stored "
    note += "one."
    if stopped:
        note += f" {stopped:,} more give the stored one in their first line, and then another."
    if unread := int(table["answer"].notna().sum()) - len(known):
        # Replies with two answers could hide what was changed.
        note += f" {unread:,} more with a stored one give none, or more than one."
    if len(without):
        note += f" {len(without):,} more give one, and are stored without."
    question = "Are the answers those of another parser or run, or majorities of several replies"
    question += ", or were options asked in another order?" if layout.has_letters else "?"
    found = Finding(REPLIES, share, DIFFERENT_REPLIES, p, "look", note, question)
    if layout.has_letters:
        found = _towards_key(found, other)
    found = _between_groups(found, other, known, layout)
    return _wrong_without(found, there[there["answer_key"].notna()], what)


def _towards_key(found: Finding, other: pd.DataFrame) -> Finding:
    """Return the finding that letters are the key more often than those of replies, if clearer.

    Letters of another parser or another run are not. Each item has one vote, in an exact McNemar
    test. Letters that their replies contain do not count.
    """
    absent = [
        not re.search(rf"\b{re.escape(str(letter))}\b", str(raw))
        for letter, raw in zip(other["answer"], other["answer_raw"], strict=True)
    ]
    counted = other[np.array(absent, dtype=bool)]
    gain = (counted["answer"] == counted["answer_key"]).astype(int)
    gain -= counted["read"] == counted["answer_key"]
    votes = gain.groupby(counted["item_id"]).sum()
    up, down = int((votes > 0).sum()), int((votes < 0).sum())
    p = min(1.0, TESTS_OF_REPLIES * float(scipy.stats.binom.sf(up - 1, up + down, EITHER_LETTER)))
    if p >= found.p_value:
        return found
    note = (
        f"{found.note} Only the stored letter is right for {up:,} items, only that of the reply "
        f"for {down:,}."
    )
    question = "Are the letters majorities of several replies, or were options asked in another "
    question += "order? If not, why do they favour the key?"
    return Finding(REPLIES, up / (up + down), EITHER_LETTER, p, "look", note, question)


def _between_groups(
    found: Finding, other: pd.DataFrame, known: pd.DataFrame, layout: Layout
) -> Finding:
    """Return the finding that answers change a pair's gap in one direction, if clearer.

    Whoever exchanges the answers of two versions keeps the accuracy and changes few answers. Those
    of another parser or another order of the options change a gap in either direction. Each item
    has one vote, in an exact sign test; the smallest p-value is multiplied by the pairs.
    """
    judged = [_judged(other[name], other, layout) for name in ("answer", "read")]
    gain, usual = judged[0] - judged[1], _judged(known["read"], known, layout)
    moves = []
    for attribute in layout.benchmark.varied:
        own, asked = (rows["attribute"] == attribute.name for rows in (other, known))
        for pair in attribute.pairs:
            sign = (other["group"] == pair[0]).astype(int) - (other["group"] == pair[1])
            moved = (gain * sign)[own].groupby(other["item_id"][own]).sum()
            counts = int((moved > 0).sum()), int((moved < 0).sum())
            first, second = (usual[asked & (known["group"] == group)].to_numpy() for group in pair)
            up = _expected_ups(first, second, gain[own & other["group"].isin(pair)].to_numpy())
            name = attribute.pair_label(pair)
            # Errors make a gap smaller more often than larger, above all those that go one way.
            moves += [
                (name, counts, max(up, EITHER_LETTER)),
                (name, counts[::-1], max(1 - up, EITHER_LETTER)),
            ]
    tests = len(moves) * TESTS_OF_REPLIES
    p_values = [
        tests * float(scipy.stats.binom.sf(most - 1, most + least, limit))
        for _, (most, least), limit in moves
    ]
    p = min(p_values, default=1.0)
    if p >= min(found.p_value, LOOK_LEVEL):
        return found
    name, (most, least), limit = moves[p_values.index(p)]
    note = (
        f"{found.note} The stored {layout.noun}s move the gap of {name} one way in {most:,} items, "
        f"and the other way in {least:,}."
    )
    question = f"Are the {layout.noun}s majorities of several replies? If not, why do they move "
    question += "this gap?"
    return Finding(REPLIES, most / (most + least), limit, p, "look", note, question)


def _expected_ups(first: FloatArray, second: FloatArray, gain: FloatArray) -> float:
    """Return how often the gap of two groups grows, of as many changes up and down as there are.

    An answer that is replaced by a higher one is any of those below another one of the pair, and
    there are more of them in the group with lower answers.
    """
    every = np.sort(np.concatenate([first, second]))
    groups = first, second
    above = [(len(every) - np.searchsorted(every, own, "right")).sum() for own in groups]
    below = [np.searchsorted(every, own, "left").sum() for own in groups]
    ups, downs = int((gain > 0).sum()), int((gain < 0).sum())
    # Each two answers that differ count once above and once below.
    pairs = sum(above)
    if ups + downs == 0 or pairs == 0:
        return EITHER_LETTER
    return float((ups * above[0] + downs * below[1]) / pairs / (ups + downs))


def _judged(answers: pd.Series, rows: pd.DataFrame, layout: Layout) -> pd.Series:
    """Return what gaps are of: right letters, favourable decisions, or levels and scores."""
    benchmark = layout.benchmark
    if layout.has_letters:
        return (answers == rows["answer_key"]).astype(float)
    if benchmark.kind.numeric:
        return pd.to_numeric(answers.map(benchmark.values) if benchmark.options else answers)
    return answers.isin(benchmark.favourable).astype(float)


def _wrong_without(found: Finding, keyed: pd.DataFrame, what: str) -> Finding:
    """Return the finding that replies stored without an answer are mostly wrong, if clearer.

    Whoever stores wrong answers as unparsed raises the accuracy of the others. Each item has one
    vote, of most of its replies. The limit is that of all readable replies, with `UNREAD_ODDS`.
    """
    wrong = keyed["read"] != keyed["answer_key"]
    without = keyed["answer"].isna()
    if not without.any():
        return found
    by_item = wrong[without].groupby(keyed["item_id"][without]).mean()
    items, votes = len(by_item), int((by_item > 0.5).sum())
    usual = float(wrong.mean())
    limit = UNREAD_ODDS * usual / (1 + (UNREAD_ODDS - 1) * usual)
    p = min(1.0, TESTS_OF_REPLIES * float(scipy.stats.binom.sf(votes - 1, items, limit)))
    if p >= found.p_value:
        return found
    note = (
        f"{found.note} These {what}s are wrong for {votes:,} of {items:,} items, and in "
        f"{percent(usual)} of all readable replies."
    )
    question = f"Why was no {what} read in these replies?"
    return Finding(REPLIES, votes / items, limit, p, "look", note, question)


def read_again(rows: pd.DataFrame, layout: Layout) -> pd.DataFrame:
    """Return what our parser reads in the replies of an answer set: ``read``, and ``compared``.

    If there is no answer before a line such as "Question:", the model may have made the question
    up: its own answer may be in words that are not read, or a parser may have stopped there. So an
    answer after it is compared only if most of those that are stored with one are the same, and not
    after a short line that could be an option's text, if texts are not known.
    """
    blank = dict.fromkeys(layout.benchmark.options, "")

    # Without texts, the same reply to any item is read once.
    @cache
    def one(known: str | None, raw: object) -> tuple[str | None, str]:
        texts = layout.option_texts[known] if known else None

        def read(part: str) -> str | None:
            if not layout.has_letters:
                return read_reply(part, layout.benchmark, texts).letter
            return parse_answer(part, texts or blank).letter

        reply = raw if isinstance(raw, str) else ""
        found, before = read(reply), before_next_turn(reply)
        if found is None or not before or read(before) is not None:
            return found, "own"
        return found, "words" if layout.has_letters and not texts and is_short(before) else "open"

    known = (item if item in layout.option_texts else None for item in rows["item_id"])
    pairs = [one(*given) for given in zip(known, rows["answer_raw"], strict=True)]
    table = pd.DataFrame(pairs, columns=["read", "whose"], index=rows.index, dtype=object)
    stored = (table["whose"] == "open") & rows["answer"].notna()
    agree = (table["read"] == rows["answer"])[stored].mean() > 0.5
    compared = table["whose"].isin(["own", "open"] if agree else ["own"])
    return pd.DataFrame({"read": table["read"], "compared": compared})


def check_marks(rows: pd.DataFrame, layout: Layout) -> Finding | None:
    """Compare stored marks of correct answers with the letters.

    A judge may have marked replies in which no letter was read: these are not compared. Marks may
    be those of a judge, of majorities or of a corrected key, so no set is blocked. Returns None
    without marks, or without answers and keys to compare them with.
    """
    if MARK_COLUMN not in rows or "answer_key" not in rows:
        return None
    marked = rows[rows[[MARK_COLUMN, "answer_key", "answer"]].notna().all(axis=1)]
    if marked.empty:
        return None
    same = marked["answer"] == marked["answer_key"]
    wrong = same.astype("float64") != marked[MARK_COLUMN]
    if layout.benchmark.same_within:
        # A score next to the key can be right or not.
        away = (pd.to_numeric(marked["answer"]) - pd.to_numeric(marked["answer_key"])).abs()
        wrong &= same | (away > layout.benchmark.same_within + 1e-9)
    by_item = wrong.groupby(marked["item_id"]).any()
    share, items = float(wrong.mean()), int(by_item.sum())
    # A corrected key changes the marks of whole items.
    p = float(scipy.stats.binom.sf(items - 1, len(by_item), DISAGREE))
    note = f"{int(wrong.sum()):,} of {len(marked):,} stored marks disagree with the {layout.noun}s."
    worst: Flag = "look" if items else "ok"
    question = "Were the marks made with another version of the key, or by another rule?"
    return Finding(MARKS, share, DISAGREE, p, worst, note, question)


def read_marks(answers: pd.DataFrame) -> pd.Series | None:
    """Return stored marks as 1, 0 or NaN."""
    if MARK_COLUMN not in answers:
        return None
    given = answers[MARK_COLUMN].reset_index(drop=True)
    marks = given.map(lambda mark: _MARKS.get(str(mark).strip().lower(), np.nan))
    wrong = given.index[marks.isna() & given.notna()]
    if len(wrong):
        row = int(wrong[0])
        raise input_error(
            "<frame>",
            "must be true or false",
            "correct it, or drop the column",
            row=row + 1,
            column=MARK_COLUMN,
            value=str(given[row])[:80],
        )
    return marks.astype("float64")


def _rotations(given: FloatArray, key: FloatArray) -> FloatArray:
    """Return Σ_i given[i] · key[i + k] for every k, with items in a circle."""
    product = np.conj(np.fft.rfft(given, axis=0)) * np.fft.rfft(key, axis=0)
    return np.asarray(np.fft.irfft(product.sum(axis=1), n=len(key)))


def _explained(given: FloatArray, key: FloatArray) -> FloatArray:
    """Return the agreement with each moved key if answers depend on the item's own key alone.

    It is the sum over keys a and b of the items that have key a, and key b so many items later,
    times the mean number of answers b to items with key a. So an honest habit, such as answers one
    level too severe, explains agreement with sorted or periodic keys.
    """
    n, options = key.shape
    with np.errstate(invalid="ignore"):
        answers = np.nan_to_num((key.T @ given) / key.sum(axis=0)[:, None])
    found = np.zeros(n)
    spectrum = np.fft.rfft(key, axis=0)
    for a in range(options):
        followed = np.conj(spectrum[:, a]) * (spectrum @ answers[a])
        found += np.fft.irfft(followed, n=n)
    return found[1:]


def _moments(given: FloatArray, key: FloatArray) -> tuple[float, float]:
    """Return mean and variance of Σ_i given[i] · key[π(i)] over all permutations π."""
    n = len(key)
    mean = float(given.sum(axis=0) @ key.sum(axis=0) / n)
    a, b = given - given.mean(axis=0), key - key.mean(axis=0)
    return mean, float(((a.T @ a) * (b.T @ b)).sum() / (n - 1))
