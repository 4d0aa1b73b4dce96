"""Errors that do not follow the items' difficulty: invented answers, or the key itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.counts.patterns import IntArray
from fairstats.screening.answer_sheets import Bools, Sheet
from fairstats.screening.findings import (
    FEWEST_ITEMS,
    FEWEST_MODELS,
    Finding,
    not_checked,
    p_above_zero,
    percent,
    separation,
    too_few_models,
)
from fairstats.screening.panels import Panel, Popularity

DIFFICULTY = "item_difficulty"
HARD_ITEMS = "hard_items"
#: An honest set follows the difficulty of items at least this part of the way to a model that
#: follows it as the others do; noise and another taste explain the rest.
FOLLOWED = 0.4
#: If other models show less about difficulty than this, the check is not possible.
INFORMATIVE = 0.1
#: An honest set is correct on items that all others miss at most this part of the way from what its
#: accuracy predicts to all of them.
HARD = 0.5
#: No accuracy is taken to be higher for hard items: a set without errors would be expected to have
#: none anywhere. Halfway from there to 1 is more than honest sets of accuracy 0.99 reach.
HIGHEST_ACCURACY = 0.985
# A set is no better than a guess if a share of items that it knows is not shown at 5%.
_ONE_SIDED = 1.645
#: Difficulties on the logit scale, for the integral over their distribution; steps of EM.
_LOGITS = np.linspace(-9, 9, 73)
_STEPS = 50


def check_difficulty(sheet: Sheet, panel: Panel) -> Finding:
    """Test if a set's errors are on the variants that other models also miss.

    The value is the probability that other models are more often correct on a variant which the set
    answers correctly than on one with the same key which it misses: a person-fit statistic. It is
    0.5 for answers that have nothing to do with the items, also if they lean to a letter as the
    other models do. Its limit depends on what a model of this accuracy is expected to reach with
    these other models, see `expected_correct`, if what it does not know is guessed. A model without
    skill cannot be checked: its errors follow no difficulty. A set that hardly ever gives one key,
    and knows the others, is asked about too.
    """
    usual = panel.others(sheet)
    if usual.models < FEWEST_MODELS:
        return too_few_models(DIFFICULTY, usual.models)
    correct, keys = panel.layout.correct(sheet), panel.layout.key
    scores = np.where(sheet.answered, usual.accuracy, np.nan)
    known = np.isfinite(scores)
    if scarce := _scarce(known, correct):
        return not_checked(DIFFICULTY, scarce)
    skill = _skill(np.ma.array(correct, mask=~known), keys)
    if skill is None:
        why = "it is no better than a guess; are the answers in the order of the items?"
        return not_checked(DIFFICULTY, why)
    missed = _missed_key(skill, panel.layout.benchmark.options)
    of_right, of_wrong = (keys[(known & own).any(axis=1)] for own in (correct, ~correct))
    scores[~np.isin(keys, np.intersect1d(of_right, of_wrong))] = np.nan
    if scarce := _scarce(np.isfinite(scores), correct):
        return missed or not_checked(DIFFICULTY, f"of keys with both, {scarce}")
    expected, without_guesses = (
        _expected_separation(scores, expected_correct(sheet, panel, guesses=shares), keys)
        for shares in (skill.guesses, ())
    )
    if without_guesses < 0.5 + INFORMATIVE:
        why = "other models show too little about the items' difficulty"
        return missed or not_checked(DIFFICULTY, why)
    limit = 0.5 + FOLLOWED * (expected - 0.5)
    value, p = separation(scores, correct, limit=limit, below=True, strata=keys)
    if missed and missed.p_value < p:
        return missed
    note = (
        "Other models are more often correct where this set is correct than where it errs with "
        f"probability {value:.2f}; {expected:.2f} is expected, and 0.50 if unrelated."
    )
    question = "Is each answer that of the model to this item?"
    return Finding(DIFFICULTY, value, limit, p, "look", note, question)


@dataclass(frozen=True)
class _Skill:
    """What a set knows, and how it guesses; arrays have one element per letter that is a key.

    If a model knows a share k of the items and guesses the others, with a share q of a letter, it
    is right where this letter is the key with probability k + (1 - k) q, and the q sum to 1.
    """

    letters: IntArray
    items: IntArray
    right: FloatArray
    knows: float
    guesses: tuple[float, ...]


def _skill(correct: np.ma.MaskedArray, keys: IntArray) -> _Skill | None:
    """Return the skill of a set; None if it knows nothing."""
    of_items = correct.mean(axis=1)
    there = ~np.ma.getmaskarray(of_items)
    letters, place, items = np.unique(keys[there], return_inverse=True, return_counts=True)
    shares = of_items.compressed()
    right = np.bincount(place, shares) / items
    if len(letters) == 1 or len(shares) <= len(letters):
        return None
    knows = (right.sum() - 1) / (len(letters) - 1)
    variance = ((shares - right[place]) ** 2).sum() / (len(shares) - len(letters))
    if knows * (len(letters) - 1) <= _ONE_SIDED * np.sqrt(variance * (1 / items).sum()):
        return None
    guessed = np.clip((right - knows) / (1 - knows), 0, None)
    # Few items say little about a letter.
    guessed = (items * guessed + FEWEST_ITEMS / len(letters)) / (items + FEWEST_ITEMS)
    guesses = np.zeros(keys.max() + 1)
    guesses[letters] = guessed / guessed.sum()
    return _Skill(letters, items, right, float(knows), tuple(guesses.tolist()))


def _missed_key(skill: _Skill, options: Sequence[str]) -> Finding | None:
    """Return the finding that one key is hardly ever right, though the set knows the others.

    A model that leans away from a letter still knows some of the items with this key. The limit is
    `FOLLOWED` of the share that it knows.
    """
    limit = FOLLOWED * skill.knows
    p = scipy.stats.binom.cdf(np.ceil(skill.items * skill.right), skill.items, limit)
    least = int(np.argmin(p))
    value, letter = float(skill.right[least]), options[int(skill.letters[least])]
    if value >= limit:
        return None
    note = (
        f"Where the key is {letter}, {percent(value)} of answers are correct, and "
        f"{percent(float(np.delete(skill.right, least).mean()))} on average where it is another."
    )
    question = f"Were all options shown, and can the parser read {letter}?"
    # The lowest of several, next to the other test of this check.
    p_value = min(2 * len(p) * float(p[least]), 1.0)
    return Finding(DIFFICULTY, value, limit, p_value, "look", note, question)


def _scarce(known: Bools, correct: Bools) -> str:
    """Return of which items there are too few; empty if of none."""
    wrong_items, right_items = ((known & own).any(axis=1).sum() for own in (~correct, correct))
    if min(wrong_items, right_items) >= FEWEST_ITEMS:
        return ""
    kind = "errors" if wrong_items < right_items else "correct answers"
    return f"fewer than {FEWEST_ITEMS} items have {kind}"


def check_hard_items(sheet: Sheet, panel: Panel) -> Finding:
    """Test if a set is correct on variants that all other models miss.

    A better model is correct on some of them: on as many as its accuracy predicts, see
    `expected_correct`. Some have a doubtful key, which a model cannot know. So a set with nearly
    all of them correct may contain the key.
    """
    usual = panel.others(sheet)
    if usual.models < FEWEST_MODELS:
        return too_few_models(HARD_ITEMS, usual.models)
    everyone = usual.counts.sum(axis=2) > usual.models - 0.5
    hard = sheet.answered & everyone & (usual.accuracy < 1e-4)
    n = hard.sum(axis=1)
    if np.count_nonzero(n) < FEWEST_ITEMS:
        return not_checked(HARD_ITEMS, f"all other models miss fewer than {FEWEST_ITEMS} items")
    right = (hard & panel.layout.correct(sheet)).sum(axis=1)
    value = float(right.sum() / n.sum())
    expected = float(expected_correct(sheet, panel, highest=HIGHEST_ACCURACY)[hard].mean())
    limit = expected + HARD * (1 - expected)
    # Student's t would be too sure if all are correct: items as units of a binomial law, too.
    whole = int(((right == n) & (n > 0)).sum())
    at_least = float(scipy.stats.binom.sf(whole - 1, np.count_nonzero(n), limit))
    p = max(p_above_zero((right - limit * n)[n > 0]), at_least)
    note = (
        f"{percent(value)} of answers are correct on the {int(n.sum())} variants that all "
        f"{usual.models} other models miss; {percent(expected)} are expected of its accuracy, "
        f"if that is taken as at most {HIGHEST_ACCURACY:.0%}."
    )
    question = "Is it a much better model, did it know these items, or could it see the key?"
    return Finding(HARD_ITEMS, value, limit, p, "look", note, question)


def expected_correct(
    sheet: Sheet, panel: Panel, *, highest: float = 1.0, guesses: tuple[float, ...] = ()
) -> FloatArray:
    """Return the probability that a model as accurate as `sheet` is correct, by item and variant.

    `guesses` has the share of each letter among the answers that it does not know, which have
    nothing to do with the difficulty. It is computed once per sheet and setting, for all checks.

    Notes
    -----
    The Rasch model: the log odds of a correct answer are an ability minus the difficulty. The
    others have one ability. Difficulties are normal; mean and variance maximise the likelihood of
    how many of the others are correct. The probability is the mean over the difficulties that are
    compatible with that number. So a variant that few models missed by chance is not taken to be
    the hardest. The set has an ability for each letter as the key, because a model that prefers a
    letter is more often right where it is the key. It gives the accuracy on these items, at most
    `highest`, with 10 items added whose accuracy is that of all items. Half an error is added to a
    set without errors, or without correct answers.

    References
    ----------
    Bock & Aitkin (1981), Psychometrika 46:443-459.
    """
    # The others are summed again for each model, so only if they are needed.
    key = ("expected", id(sheet), highest, guesses)
    return panel.once(key, lambda: _rasch(sheet, panel, highest, guesses))


def _difficulties(usual: Popularity) -> tuple[FloatArray, IntArray]:
    """Return distributions of difficulties, and which of them each item and variant has."""
    total = usual.counts.sum(axis=2, dtype=np.float64)
    # Cells with the same counts have the same answer.
    codes = np.rint(usual.right * 100.0) + 1e6 * np.rint(total * 100.0)
    known, place, times = np.unique(codes.astype(np.int64), return_inverse=True, return_counts=True)
    cells = np.stack([known % 10**6, known // 10**6], axis=1) / 100
    log_right, log_wrong = scipy.special.log_expit(_LOGITS), scipy.special.log_expit(-_LOGITS)
    likelihood = cells[:, :1] * log_right + (cells[:, 1:] - cells[:, :1]) * log_wrong
    likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    mean, deviation = 1.0, 1.5
    for _ in range(_STEPS):
        weights = likelihood * np.exp(-0.5 * ((_LOGITS - mean) / deviation) ** 2)
        weights /= weights.sum(axis=1, keepdims=True)
        spread = times @ weights / times.sum()
        mean = float(spread @ _LOGITS)
        deviation = max(float(np.sqrt(spread @ (_LOGITS - mean) ** 2)), 0.25)
    return weights, place.reshape(total.shape)


def _rasch(sheet: Sheet, panel: Panel, highest: float, guesses: tuple[float, ...]) -> FloatArray:
    """Return `expected_correct`, from the answers of the other models."""
    of_others = ("difficulties", id(sheet))
    weights, place = panel.once(of_others, lambda: _difficulties(panel.others(sheet)))
    key = np.broadcast_to(panel.layout.key[:, None], place.shape)
    correct = panel.layout.correct(sheet)
    shares = np.asarray(guesses or np.zeros(key.max() + 1))
    guess = shares[key]

    def ability(cells: Bools, added: int = 0, of_all: float = 0.0) -> float:
        here = sheet.answered & cells
        times = np.bincount(place[here], minlength=len(weights))
        known = ((correct[here] - guess[here]) / (1 - guess[here])).sum()
        return _ability(weights, times, known, highest, added, of_all)

    overall = ability(np.ones_like(correct))
    found = np.zeros(place.shape)
    for letter in np.unique(key):
        cells = key == letter
        own = ability(cells, FEWEST_ITEMS * place.shape[1], overall)
        found[cells] = (weights @ scipy.special.expit(_LOGITS + own))[place[cells]]
    return guess + (1 - guess) * found


def _ability(
    weights: FloatArray, times: IntArray, right: float, highest: float, added: int, of_all: float
) -> float:
    """Return the ability with which so many answers are right, and of those added, as `of_all`.

    `times` counts the answers with each row of `weights`, the distribution of their difficulty.
    """
    n = int(times.sum())
    if not n:
        return of_all

    share = (right + added * _share(of_all, weights, times)) / (n + added)
    target = np.clip(share, 0.5 / n, min(highest, 1 - 0.5 / n))
    # As arguments: scipy keeps the function until unused cycles are looked for.
    return float(scipy.optimize.brentq(_share, -30, 30, args=(weights, times, target)))


def _share(ability: float, weights: FloatArray, times: IntArray, less: float = 0.0) -> float:
    """Return the share of these answers that is right with an ability, less a number."""
    right = float(times @ (weights @ scipy.special.expit(_LOGITS + ability)))
    return right / int(times.sum()) - less


def _expected_separation(scores: FloatArray, correct: FloatArray, keys: IntArray) -> float:
    """Return the expected `separation` by keys if each cell is correct with its probability."""
    higher = pairs = 0.0
    for letter in np.unique(keys):
        here = np.isfinite(scores) & (keys == letter)[:, None]
        levels, place = np.unique(scores[here], return_inverse=True)
        right = np.bincount(place, weights=correct[here], minlength=len(levels))
        wrong = np.bincount(place, weights=1 - correct[here], minlength=len(levels))
        higher += float(right @ (np.cumsum(wrong) - wrong / 2))
        pairs += float(right.sum() * wrong.sum())
    return higher / pairs
