"""Answers copied from other answer sets: more unexpected letters in common than models share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from fairstats._lib.formatting import quoted
from fairstats._lib.model_names import names_model, snapshot_key, snapshots_in
from fairstats._lib.problems import first_of
from fairstats._lib.result_objects import FloatArray
from fairstats.screening.answer_sheets import Bools, Codes, Sheet
from fairstats.screening.expected_answers import habits_of, unexpected_of
from fairstats.screening.findings import (
    DECLARED,
    FEWEST_ITEMS,
    FEWEST_MODELS,
    LOOK_LEVEL,
    Finding,
    Flag,
    not_checked,
    p_above_zero,
    percent,
    too_few_models,
)
from fairstats.screening.panels import Panel, Popularity

COPIED = "copied_answers"
COPIED_ITEMS = "copied_items"
COPIED_MARKS = "copied_marks"
MOSAIC = "mosaic"
SNAPSHOT = "shared_snapshot"
#: Limit of the repeated share for two models. Two released sets of different models repeat 0.08 of
#: each other's unexpected answers on average, and at most 0.38 (GPT-4.1 and GPT-4o, of one
#: provider). With few other models, or few errors of theirs on a variant, usual wrong answers are
#: badly known: then they repeat up to 0.60.
DIFFERENT_MODELS, FEW_MODELS, ENOUGH_MODELS, ENOUGH_ERRORS = 0.3, 0.6, 5, 0.5
#: From this share of unexpected answers and of all answers, two models' sets are one file.
SAME_FILE, SAME_FILE_ALL = 0.99, 0.995
#: Fewest items with the same answers in both sets of one file that include two wrong letters. Two
#: models that are nearly always right give the same letters where the key is wrong, or wrong for
#: some versions. Two that follow suggestions give the same wrong letters to these versions.
SAME_FILE_ITEMS = 5
#: Limit for two prompts of one model, which repeat up to 0.83.
SAME_MODEL = 0.9
#: Limit for marks, unless usual answers are badly known. Two released sets of different models
#: repeat 0.05 of each other's unexpected marks on average, and at most 0.33. Those with the same
#: strengths share more marks than answers: GPT-5-Mini and Gemini-2.5-Flash 0.29 and 0.22.
MARKS = 0.5
#: The limits for whole items. Released sets repeat at most 0.23 (different models, with any number
#: of others) and 0.53 (one model).
ITEMS, ITEMS_SAME_MODEL = 0.2, 0.7
#: Limit of a mosaic as a part of the way from the median of other models to 1. The median is 0.20
#: for six released models and 0.39 for twelve; the farthest set is at 0.23 of the way.
MOSAIC_LIMIT = 0.35
#: What to ask about answers that are those of another model.
RELATED_MODELS = (
    "Is it another version of the same model, a fine-tuned, quantised or re-hosted copy, one model "
    "under two names or made of several, or do both read the same retrieved texts? If so, is that "
    "declared? If it is none of these, are there wrong keys that neither follows?"
)
#: What to ask, too, about right answers that are those of another model.
SAME_STRENGTHS = "Or have both the same strengths, such as a topic or a language?"
#: What to ask about two answer sets of one model that are almost the same.
SAME_MODEL_TWICE = "Have the two prompts the same effect, or is one file there twice?"
#: Fewest variants for which it is unusual that all answers to an item agree.
FEWEST_VARIANTS = 6
#: A set is compared with so many sets of other models, and of its own: those most like it.
MOST_COMPARED = 20


@dataclass(frozen=True)
class Overlap:
    """What two sheets have in common.

    Attributes
    ----------
    same_wrong : float
        The share of variants on which both are wrong that have the same wrong letter.
    letters, marks : ndarray, shape (2, items)
        Observed − expected repetitions of unexpected answers, and n − expected ones, by item. Marks
        are right or wrong.
    items_repeated, items_unusual : ndarray, shape (items,)
        In how many directions an item's answers are all repeated, and could be: if they vary and
        include an unexpected one.
    """

    same_wrong: float
    letters: FloatArray
    marks: FloatArray
    items_repeated: FloatArray
    items_unusual: FloatArray


def check_copying(sheet: Sheet, panel: Panel) -> Finding:
    """Compare the answers of a sheet with every other one, and return the most unusual comparison.

    The value is (observed − expected) / (n − expected) repeated answers among the unexpected ones.
    Sheets of the same model and strategy are not compared: they are samples of one answer set.
    """
    return _most_unusual(COPIED, "unexpected answers", sheet, panel)


def check_copied_items(sheet: Sheet, panel: Panel) -> Finding | None:
    """Compare whole items: all answers to an item that vary and include an unexpected one.

    If only some items were copied, their answers all agree, and those of other items rarely do.
    Returns None for a benchmark with too few variants of an item.
    """
    if len(panel.layout.benchmark.variants) < FEWEST_VARIANTS:
        return None
    return _most_unusual(COPIED_ITEMS, "items with unexpected answers", sheet, panel)


def check_copied_marks(sheet: Sheet, panel: Panel) -> Finding | None:
    """Compare which answers are right: a copy with other wrong letters has the same marks.

    Returns None for two options, with which a mark is a letter.
    """
    if panel.layout.options == 2:
        return None
    return _most_unusual(COPIED_MARKS, "unexpected marks (right or wrong)", sheet, panel)


def _most_unusual(check: str, what: str, sheet: Sheet, panel: Panel) -> Finding:
    """Return the comparison with the smallest p-value, which is multiplied by their number.

    One with a declared relative does not hide another one to ask about.
    """
    others = [other for other in panel.everything if other.name != sheet.name]
    if not others:
        return not_checked(check, "there are no other answer sets to compare with")
    found = []
    alike = _most_alike(sheet, others, panel)
    for other in alike:
        # Both directions are in it, and two checks use it.
        pair = frozenset((id(sheet), id(other)))
        tested = panel.once(pair, partial(_compare, sheet, other, panel))
        if check in tested:
            p, value, limit, wrong = tested[check]
            found.append((p, -value, other.name, limit, wrong, other))
    if not found:
        return not_checked(check, f"there are fewer than {FEWEST_ITEMS} {what}")
    tests = len(found) + len(others) - len(alike)

    def place(one: tuple[float, float, tuple[str, str], float, float, Sheet]) -> tuple[Any, ...]:
        notable = one[0] * tests < LOOK_LEVEL
        return not notable, notable and _is_declared(sheet, one[-1], -one[1], panel), *one[:3]

    most = min(found, key=place)
    p, value, _, limit, wrong, other = most
    declared, same_model = place(most)[1], sheet.family == other.family
    # Unexpected answers that were repeated are answers of both, so there are some.
    one_file = not same_model and -value >= SAME_FILE and _is_one_file(sheet, other, panel)
    note = f"Shares {percent(max(-value, 0))} of {what} with {quoted(other.model, other.strategy)}"
    note += ", which is declared as related" if declared else ""
    note += "." if np.isnan(wrong) else f"; {percent(wrong)} of shared errors are the same answer."
    question = SAME_MODEL_TWICE if same_model else RELATED_MODELS
    question += f" {SAME_STRENGTHS}" * (check == COPIED_MARKS and not same_model)
    worst: Flag = "block" if check == COPIED and one_file else DECLARED if declared else "look"
    return Finding(check, -value, limit, min(1.0, p * tests), worst, note, question)


def _is_declared(one: Sheet, two: Sheet, shared: float, panel: Panel) -> bool:
    """Check that two models are declared as related; no declaration explains one file of both."""
    related = one.family != two.family and panel.line(one) == panel.line(two)
    return related and shared < SAME_FILE and _share_of_same(one, two) < SAME_FILE_ALL


def _share_of_same(one: Sheet, two: Sheet) -> float:
    return float((one.letters == two.letters)[one.answered | two.answered].mean())


def _most_alike(sheet: Sheet, others: list[Sheet], panel: Panel) -> list[Sheet]:
    """Return the sheets to compare with: all if they are few, else those most like it.

    Every two sheets of a large board are too many for the exact comparison.
    """
    own = np.array([other.family == sheet.family for other in others])
    related = ~own & [panel.line(other) == panel.line(sheet) for other in others]
    groups = (own, related, ~own & ~related)
    if max(group.sum() for group in groups) <= MOST_COMPARED:
        return others
    place = {id(one): number for number, one in enumerate(panel.everything)}
    columns = [place[id(other)] for other in others]
    chosen = np.zeros(len(others), dtype=bool)
    for alike in panel.once("alike", partial(_alike, panel)):
        values = alike[place[id(sheet)], columns]
        for group in groups:
            places = np.flatnonzero(group)
            chosen[places[np.argsort(-values[places], kind="stable")[:MOST_COMPARED]]] = True
    return [other for other, yes in zip(others, chosen, strict=True) if yes]


def _alike(panel: Panel) -> tuple[FloatArray, ...]:
    """Return how alike every two sheets are in unexpected answers and marks, and unusual items.

    It is as in `overlap`, but each sheet's answers are expected from all other models, with its own
    accuracy.
    """
    sheets = panel.everything
    of_letters, of_marks, unusual = zip(*(_unexpected(one, panel) for one in sheets), strict=True)
    letters = np.stack([sheet.letters for sheet in sheets])
    marks = np.stack([panel.layout.correct(sheet) for sheet in sheets])

    def share(given: Codes | Bools, seen: Sequence[tuple[Bools, float]]) -> FloatArray:
        expected = np.array([expected for _, expected in seen])
        room = np.array([np.count_nonzero(at) for at, _ in seen]) - expected
        excess = np.empty((len(seen), len(seen)))
        for place, (at, _) in enumerate(seen):
            excess[place] = ((given == given[place]) & at).sum(axis=(1, 2)) - expected[place]
        return (excess + excess.T) / np.maximum(np.add.outer(room, room), 1e-9)

    items = np.array(
        [
            ((letters == own).all(axis=2) & at).sum(axis=1)
            for own, at in zip(letters, unusual, strict=True)
        ]
    )
    whole = np.count_nonzero(unusual, axis=1)
    items = (items + items.T) / np.maximum(np.add.outer(whole, whole), 1)
    return share(letters, of_letters), items, share(marks, of_marks)


def _unexpected(
    sheet: Sheet, panel: Panel
) -> tuple[tuple[Bools, float], tuple[Bools, float], Bools]:
    """Return unexpected answers and marks, each with expected repetitions, and unusual items."""

    def compute() -> tuple[tuple[Bools, float], tuple[Bools, float], Bools]:
        usual, habits = panel.others(sheet), habits_of(sheet, panel)
        letters, marks = (
            (at & sheet.answered, float(expected[at & sheet.answered].sum()))
            for at, expected in unexpected_of(sheet, sheet, usual, habits)
        )
        return letters, marks, np.asarray(letters[0].any(axis=1) & _varies(sheet, sheet.answered))

    return panel.once(("unexpected", id(sheet)), compute)


def _is_one_file(one: Sheet, two: Sheet, panel: Panel) -> bool:
    """Check that two sets are the same, and not because both are right or follow suggestions.

    Such models give at most one wrong letter to an item, or err on all of some versions.
    """
    correct = panel.layout.correct(one)
    usual = correct.sum(axis=0) > one.answered.sum(axis=0) / 2
    same = (one.letters == two.letters).all(axis=1)
    alike = np.count_nonzero(same & _varies(one, one.answered & ~correct & usual))
    return bool(alike >= SAME_FILE_ITEMS) and _share_of_same(one, two) >= SAME_FILE_ALL


def _compare(one: Sheet, two: Sheet, panel: Panel) -> dict[str, tuple[float, float, float, float]]:
    """Return p-value, value, limit and share of equal errors of each check of two sheets.

    Only numbers are kept, since a board of 200 models has 19,900 pairs of them.
    """
    usual = panel.without(one.family, two.family)
    if one.family == two.family:
        limits = SAME_MODEL, ITEMS_SAME_MODEL, SAME_MODEL
    else:
        known = usual.models >= ENOUGH_MODELS and usual.errors >= ENOUGH_ERRORS
        limits = (DIFFERENT_MODELS, ITEMS, MARKS) if known else (FEW_MODELS, ITEMS, FEW_MODELS)
    both, found = overlap(one, two, usual, (habits_of(one, panel), habits_of(two, panel))), {}
    some, units = both.items_unusual > 0, panel.layout.independent
    counts = {
        COPIED: (units, *both.letters),
        COPIED_ITEMS: (units[some], both.items_repeated[some], both.items_unusual[some]),
        COPIED_MARKS: (units, *both.marks),
    }
    for (check, (unit, repeated, possible)), limit in zip(counts.items(), limits, strict=True):
        if np.count_nonzero(possible) >= FEWEST_ITEMS:
            value = float(repeated.sum() / possible.sum())
            if value < SAME_FILE and panel.layout.units is not None:
                # Models share errors on a whole case. No case explains that they share all.
                place = np.unique(unit, return_inverse=True)[1]
                repeated, possible = (np.bincount(place, each) for each in (repeated, possible))
            p = p_above_zero(repeated - limit * possible)
            there = possible > 0
            if np.array_equal(repeated[there], possible[there]):
                # Few items of accurate sets count, so t is small even for copies. Independent items
                # that are repeated with a mean probability of at most the limit are all repeated
                # with at most this one. It is doubled for the choice between two tests.
                p = min(p, 2 * limit ** np.count_nonzero(there))
            found[check] = p, value, limit, both.same_wrong
    return found


def check_mosaic(sheet: Sheet, panel: Panel) -> Finding | None:
    """Count the unusual items with the same answers to all variants as any set of another model.

    A declared relative is not another model.

    An unusual item has answers that vary and include one which other models rarely give. By chance,
    more of them agree with some set the more sets there are. So the share is compared with that of
    other models. Returns None for a benchmark with too few variants of an item.
    """
    if len(panel.layout.benchmark.variants) < FEWEST_VARIANTS:
        return None
    models = panel.others(sheet).models
    if models < FEWEST_MODELS:
        return too_few_models(MOSAIC, models)
    unusual, same = _same_as_any(sheet, panel.everything, panel)
    if np.count_nonzero(unusual) < FEWEST_ITEMS:
        return not_checked(MOSAIC, f"fewer than {FEWEST_ITEMS} items have unexpected answers")

    def share(one: Sheet) -> float | None:
        unusual, same = _same_as_any(one, panel.reference, panel)
        return float(same[unusual].mean()) if unusual.any() else None

    shares = panel.of_other_models(sheet, MOSAIC, share)
    usual = median(shares) if shares else 0.0
    limit = usual + MOSAIC_LIMIT * (1 - usual)
    value = float(same[unusual].mean())
    p = p_above_zero(same[unusual] - limit)
    note = (
        f"{percent(value)} of items with unexpected answers are the same as in some other model's "
        f"set; the median of other models is {percent(usual)}."
    )
    note += " Declared relatives are left out." if panel.lines else ""
    return Finding(MOSAIC, value, limit, p, "look", note, RELATED_MODELS)


def check_snapshot(
    model: str, snapshots: Iterable[str], models: Mapping[str, Set[str]]
) -> Finding | None:
    """Look for other models that state a snapshot of this one, or have its name.

    Returns None if there are none, or the snapshot does not name a model, see `names_model`.
    `models` is of `models_of_snapshots`.
    """
    stated = {name: models[snapshot_key(name)] for one in snapshots for name in snapshots_in(one)}
    shared = {name: found for name, found in stated.items() if found > {model}}
    name = max(
        (one for one, found in shared.items() if names_model(one, found)),
        key=lambda one: len(shared[one]),
        default=None,
    )
    if name is None:
        return None
    others = [*map(quoted, sorted(shared[name] - {model}))]
    note = f"The snapshot {quoted(name)} is also the snapshot or the name of {first_of(others)}."
    question = "Is it the same model? If not, which one gave these answers?"
    return Finding(SNAPSHOT, len(others), 0, math.nan, "look", note, question)


def _same_as_any(sheet: Sheet, others: Sequence[Sheet], panel: Panel) -> tuple[Bools, Bools]:
    """Return which items are unusual, and which have the answers of any other model's sheet."""
    givers = panel.once((MOSAIC, "givers", len(others)), partial(_givers, others, panel))
    own = panel.line(sheet)
    same = [givers.get(row, own) != own for row in enumerate(_rows(sheet))]
    return _unexpected(sheet, panel)[2], np.array(same)


def _givers(sheets: Sequence[Sheet], panel: Panel) -> dict[tuple[int, bytes], str | None]:
    """Return the line of models that gives each row of answers to an item; None for several."""
    found: dict[tuple[int, bytes], str | None] = {}
    for sheet in sheets:
        for row in enumerate(_rows(sheet)):
            if found.setdefault(row, panel.line(sheet)) != panel.line(sheet):
                found[row] = None
    return found


def _rows(sheet: Sheet) -> list[bytes]:
    return [row.tobytes() for row in sheet.letters]


def overlap(
    one: Sheet, two: Sheet, usual: Popularity, habits: tuple[FloatArray, FloatArray]
) -> Overlap:
    """Count repeated unexpected answers in both directions.

    `usual` has the answers of other models than these two, and `habits` the weight of each letter
    for each sheet.

    Notes
    -----
    As in Wollack's ω, the answers of one sheet are fixed, and each is repeated by the other with
    the probability that the other gives this letter. This probability comes from the letter's
    popularity among other models, and from the accuracy of the repeating sheet. Only answers with a
    probability below `UNEXPECTED`, and a popularity below `POPULAR`, count: models share the others
    anyway.
    """
    layout = usual.layout
    both = one.answered & two.answered
    same = one.letters == two.letters
    right_one, right_two = layout.correct(one), layout.correct(two)
    letters, marks = np.zeros((2, 2, len(both)))
    repeated_items, unusual_items = np.zeros((2, len(both)))
    whole = (same | ~both).all(axis=1)
    for source, copier, habit in ((one, two, habits[1]), (two, one, habits[0])):
        of_letters, of_marks = unexpected_of(copier, source, usual, habit)
        letters += _repetitions(both & of_letters[0], same, of_letters[1])
        marks += _repetitions(both & of_marks[0], right_one == right_two, of_marks[1])
        unusual = (both & of_letters[0]).any(axis=1) & _varies(source, both)
        unusual_items += unusual
        repeated_items += unusual & whole
    wrong = both & ~right_one & ~right_two
    same_wrong = float(same[wrong].mean()) if wrong.any() else np.nan
    return Overlap(same_wrong, letters, marks, repeated_items, unusual_items)


def _repetitions(unexpected: Bools, same: Bools, expected: FloatArray) -> FloatArray:
    """Return observed − expected, and n − expected repetitions of each item."""
    return np.stack([np.where(unexpected, of - expected, 0).sum(axis=1) for of in (same, 1)])


def _varies(sheet: Sheet, there: Bools) -> Bools:
    """Return the items with at least two different letters."""
    letters = sheet.letters
    highest = np.where(there, letters, -1).max(axis=1)
    lowest = np.where(there, letters, np.iinfo(letters.dtype).max).min(axis=1)
    return np.asarray(there.any(axis=1) & (highest != lowest))
