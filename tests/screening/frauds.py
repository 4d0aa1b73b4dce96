"""Frauds made from an honest answer set.

Each fraud takes an answers table of one set (and, to copy from, of another), and returns a table
that passes validation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from fairstats.benchmarks.declaration import Benchmark

Fraud = Callable[[pd.DataFrame, pd.DataFrame, Benchmark, np.random.Generator], pd.DataFrame]
_CELL = ["item_id", "attribute", "group"]


def _letters(answers: pd.DataFrame) -> pd.Series:
    """Return the letters by item, attribute and group."""
    return answers.set_index(_CELL)["answer"]


def _with_letters(answers: pd.DataFrame, letters: object) -> pd.DataFrame:
    """Return the answers with other letters, and the status that belongs to them."""
    new = answers.assign(answer=np.asarray(letters, dtype=object))
    there = new["answer"].notna()
    new["answer"] = new["answer"].where(there, None).astype("str").where(there)
    return new.assign(status=np.where(there, "ok", "unparsed"))


def _items(answers: pd.DataFrame, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return which rows are of a random share of the items."""
    items = answers["item_id"].unique()
    chosen = rng.permutation(items)[: round(share * len(items))]
    return answers["item_id"].isin(chosen).to_numpy()


def copied(share: float) -> Fraud:
    """Copy this share of the answers from another set."""

    def make(answers, other, benchmark, rng):
        source = _letters(other).reindex(pd.MultiIndex.from_frame(answers[_CELL])).to_numpy()
        taken = rng.random(len(answers)) < share
        return _with_letters(answers, np.where(taken, source, answers["answer"].astype(object)))

    return make


def copied_items(share: float) -> Fraud:
    """Copy all answers to this share of the items from another set."""

    def make(answers, other, benchmark, rng):
        source = _letters(other).reindex(pd.MultiIndex.from_frame(answers[_CELL])).to_numpy()
        taken = _items(answers, share, rng)
        return _with_letters(answers, np.where(taken, source, answers["answer"].astype(object)))

    return make


def copied_marks(share: float) -> Fraud:
    """Copy this share of the answers, with the wrong letters of each item exchanged."""

    def make(answers, other, benchmark, rng):
        exchanged = {}
        for item, key in benchmark.answer_keys.items():
            wrong = rng.permutation([letter for letter in benchmark.options if letter != key])
            exchanged |= {(item, a): b for a, b in zip(wrong, np.roll(wrong, 1), strict=True)}
        cells = zip(other["item_id"], other["answer"], strict=True)
        letters = [exchanged.get(cell, cell[1]) for cell in cells]
        return copied(share)(answers, _with_letters(other, letters), benchmark, rng)

    return make


def moved(order: Callable[[np.ndarray, np.random.Generator], np.ndarray]) -> Fraud:
    """Give each item the answers of the item at the same place of another order."""

    def make(answers, other, benchmark, rng):
        items = np.array(list(benchmark.answer_keys))
        source = dict(zip(items, order(items, rng), strict=True))
        cells = pd.MultiIndex.from_arrays(
            [answers["item_id"].map(source), answers["attribute"], answers["group"]]
        )
        return _with_letters(answers, _letters(answers).reindex(cells).to_numpy())

    return make


def forced(share: float, *, by_item: bool = False) -> Fraud:
    """Replace the second answer of this share of the declared pairs by the first.

    With `by_item`, all pairs of an item are replaced together.
    """

    def make(answers, other, benchmark, rng):
        letters = _letters(answers).astype(object)
        items = list(benchmark.answer_keys)
        of_item = rng.random(len(items)) < share
        for attribute in benchmark.varied:
            for a, b in attribute.pairs:
                chosen = of_item if by_item else rng.random(len(items)) < share
                taken = [item for item, yes in zip(items, chosen, strict=True) if yes]
                first = [(item, attribute.name, a) for item in taken]
                second = [(item, attribute.name, b) for item in taken]
                letters[second] = letters[first].to_numpy()
        return _with_letters(answers, letters.to_numpy())

    return make


def mosaic(share: float) -> Fraud:
    """Copy this share of the items, each from a random one of several sets."""

    def make(answers, other, benchmark, rng):
        models = other["model"].unique()
        of_item = dict(
            zip(benchmark.answer_keys, rng.choice(models, len(benchmark.answer_keys)), strict=True)
        )
        source = other.set_index(["model", *_CELL])["answer"]
        cells = pd.MultiIndex.from_arrays(
            [answers["item_id"].map(of_item), *(answers[column] for column in _CELL)]
        )
        taken = _items(answers, share, rng)
        letters = np.where(
            taken, source.reindex(cells).to_numpy(), answers["answer"].astype(object)
        )
        return _with_letters(answers, letters)

    return make


def levelled(share: float) -> Fraud:
    """Give all variants of this share of the items the answer to the item's first variant."""

    def make(answers, other, benchmark, rng):
        first = answers.groupby("item_id")["answer"].transform("first").astype(object)
        taken = _items(answers, share, rng)
        return _with_letters(answers, np.where(taken, first, answers["answer"].astype(object)))

    return make


def swapped(share: float) -> Fraud:
    """Exchange the two labels of every pair, on this share of the items."""

    def make(answers, other, benchmark, rng):
        partner = {}
        for attribute in benchmark.varied:
            for a, b in attribute.pairs[:1]:
                partner |= {(attribute.name, a): b, (attribute.name, b): a}
        taken = _items(answers, share, rng)
        groups = [
            partner.get((attribute, group), group) if swap else group
            for attribute, group, swap in zip(
                answers["attribute"], answers["group"], taken, strict=True
            )
        ]
        cells = pd.MultiIndex.from_arrays([answers["item_id"], answers["attribute"], groups])
        return _with_letters(answers, _letters(answers).reindex(cells).to_numpy())

    return make


def swapped_apart(share: float) -> Fraud:
    """Exchange the two labels of every pair, on this share of the items for each attribute."""

    def make(answers, other, benchmark, rng):
        letters = answers["answer"].astype(object)
        for attribute in benchmark.varied:
            of_it = (answers["attribute"] == attribute.name).to_numpy()
            made = swapped(share)(answers, other, benchmark, rng)["answer"].astype(object)
            letters = np.where(of_it, made, letters)
        return _with_letters(answers, letters)

    return make


def levelled_most(share: float) -> Fraud:
    """Give all variants of the items that flip most the item's most frequent answer."""

    def make(answers, other, benchmark, rng):
        letters = _letters(answers).astype(object).unstack([1, 2])
        flips = sum(
            (letters[attribute.name, a] != letters[attribute.name, b]).astype(float)
            for attribute in benchmark.varied
            for a, b in attribute.pairs
        )
        order = (flips + 1e-3 * rng.random(len(flips))).sort_values(ascending=False)
        taken = answers["item_id"].isin(order.index[: round(share * len(order))])
        mode = answers.groupby("item_id")["answer"].agg(lambda own: [*own.mode(), None][0])
        made = answers["item_id"].map(mode)
        return _with_letters(answers, np.where(taken, made, answers["answer"].astype(object)))

    return make


def _with_key(answers, share, order):
    """Give all variants the key, for the first items with an error of this order."""
    wrong = answers.loc[answers["answer"] != answers["answer_key"], "item_id"].unique()
    erring = [item for item in order if item in set(wrong)]
    taken = answers["item_id"].isin(erring[: round(share * len(erring))])
    letters = np.where(taken, answers["answer_key"], answers["answer"].astype(object))
    return _with_letters(answers, letters)


def key_of_errors(share: float) -> Fraud:
    """Give all variants the key, for this random share of the items with an error."""

    def make(answers, other, benchmark, rng):
        return _with_key(answers, share, rng.permutation(answers["item_id"].unique()))

    return make


def key_of_easiest(share: float) -> Fraud:
    """Give all variants the key, for the items with an error that the other sets find easiest."""

    def make(answers, other, benchmark, rng):
        right = (other["answer"] == other["answer_key"]).groupby(other["item_id"]).mean()
        return _with_key(answers, share, right.sort_values(ascending=False, kind="stable").index)

    return make


def usual_answers(share: float, *, renamed: bool = False) -> Fraud:
    """Replace this share of the answers that few of the other sets give by the most frequent ones.

    They are the set's own answers, or those of a random other set under a new name.
    """

    def make(answers, other, benchmark, rng):
        cells = pd.MultiIndex.from_frame(answers[_CELL])
        others = other.set_index([*_CELL, "model"])["answer"].unstack("model").reindex(cells)
        own = _letters(answers) if not renamed else others[rng.choice(others.columns)]
        few = others.eq(own, axis=0).mean(axis=1) < 1 / 3
        taken = few.to_numpy() & (rng.random(len(few)) < share)
        usual = others.astype(object).mode(axis=1)[0].to_numpy()
        return _with_letters(answers, np.where(taken, usual, own.astype(object)))

    return make


def unparsed(answers, other, benchmark, rng):
    """Drop the second group's answer wherever it is wrong and the first group's is right."""
    letters, key = _letters(answers).astype(object), dict(benchmark.answer_keys)
    for attribute in benchmark.varied:
        for a, b in attribute.pairs:
            for item in key:
                first, second = (item, attribute.name, a), (item, attribute.name, b)
                if letters[first] == key[item] != letters[second]:
                    letters[second] = None
    return _with_letters(answers, letters.to_numpy())


def unparsed_pairs(answers, other, benchmark, rng):
    """Drop both answers of every pair that differs."""
    letters = _letters(answers).astype(object)
    for attribute in benchmark.varied:
        for a, b in attribute.pairs:
            for item in benchmark.answer_keys:
                first, second = (item, attribute.name, a), (item, attribute.name, b)
                if letters[first] != letters[second]:
                    letters[first] = letters[second] = None
    return _with_letters(answers, letters.to_numpy())


def one_letter(answers, other, benchmark, rng):
    """Always give the first letter."""
    return _with_letters(answers, [benchmark.options[0]] * len(answers))


def random_letters(answers, other, benchmark, rng):
    """Give random letters."""
    return _with_letters(answers, rng.choice(benchmark.options, len(answers)))


def the_key(answers, other, benchmark, rng):
    """Submit the key."""
    return _with_letters(answers, answers["answer_key"])


def most_popular(answers, other, benchmark, rng):
    """Give all variants of an item the letter that the other set gives most often."""
    mode = other.groupby("item_id")["answer"].agg(lambda letters: letters.mode().iloc[0])
    return _with_letters(answers, answers["item_id"].map(mode))


def laundered(answers, other, benchmark, rng):
    """Give all variants the key if any of them has it, and else the first variant's answer."""
    right = answers["answer"] == answers["answer_key"]
    ever = right.groupby(answers["item_id"]).transform("any")
    first = answers.groupby("item_id")["answer"].transform("first").astype(object)
    return _with_letters(answers, np.where(ever, answers["answer_key"], first))


def in_part(fraud: Fraud, share: float) -> Fraud:
    """Make a fraud of this share of the items."""

    def make(answers, other, benchmark, rng):
        made = fraud(answers, other, benchmark, rng)["answer"].astype(object)
        taken = _items(answers, share, rng)
        return _with_letters(answers, np.where(taken, made, answers["answer"].astype(object)))

    return make


#: Answers without skill, which have no verdict and no rank.
GUESSES: dict[str, Fraud] = {
    "in the order of a hash": moved(lambda items, rng: rng.permutation(items)),
    "random letters": random_letters,
}
#: The frauds by name, with the checks that must flag them.
FRAUDS: dict[str, tuple[Fraud, tuple[str, ...]]] = {
    "copied, 99%": (copied(0.99), ("copied_answers",)),
    "copied with other wrong letters": (copied_marks(1), ("copied_marks",)),
    "copied, half": (copied_items(0.5), ("copied_answers", "copied_items")),
    "moved by one item": (moved(lambda items, rng: np.roll(items, 1)), ("item_alignment",)),
    "CFR forced to 1": (forced(1), ("pair_flips",)),
    "90% copied within pairs": (forced(0.9), ("pair_flips",)),
    "labels swapped": (swapped(1), ("group_labels",)),
    "labels swapped, half": (swapped(0.5), ("group_labels",)),
    "selectively unparsed": (unparsed, ("missing_by_group",)),
    "one letter": (one_letter, ("letter_shares",)),
    "the key": (the_key, ("hard_items",)),
    "one letter for all variants": (most_popular, ("flip_level",)),
    "the key for all variants if one has it": (laundered, ("flip_level",)),
    "85% of items with one letter": (levelled(0.85), ("flip_level",)),
    "one letter for the 30% of items that flip most": (levelled_most(0.3), ("flip_level",)),
}


#: Those that no honest process produces, which block a set.
BLOCKED = ("copied, 99%", "moved by one item")
