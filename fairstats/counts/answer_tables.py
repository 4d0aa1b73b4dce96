"""Tables of answers: option letters by group, and counterfactual pairs item by item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.answers.engine_frames import NO_LETTER, UNIT_COLUMNS, OpenAnswers, open_answers
from fairstats.benchmarks.declaration import BASELINE, Benchmark
from fairstats.counts.grid import MISSING, NOT_ASKED, Grid, joined_grid
from fairstats.counts.outcomes import Texts
from fairstats.counts.patterns import PAIR_COLUMNS, PATTERNS, IntArray, layers_asked

#: Columns of the table from `letters_of`, in order.
LETTER_COLUMNS = (
    *UNIT_COLUMNS,
    "attribute",
    "group",
    "letter",
    "count",
    "share",
    "key_count",
    "key_share",
)
#: Label used for a missing answer.
NO_ANSWER = "missing"
#: Columns of the table from `item_patterns`, in order.
PATTERN_COLUMNS = (
    *PAIR_COLUMNS,
    "within",
    "item_id",
    "sample",
    "letter_a",
    "letter_b",
    "answer_key",
    "pattern",
)
#: Columns of the table from `flips_of`, in order.
FLIP_COLUMNS = (
    *PAIR_COLUMNS,
    "within",
    "item_id",
    "sample",
    "answer_a",
    "answer_b",
    "answer_key",
    "change",
)
ONLY_A, ONLY_B, BOTH_WRONG = "only a right", "only b right", "both wrong"
FAVOURS_A, FAVOURS_B = "only a favourable", "only b favourable"
BOTH_FAVOURABLE, NEITHER_FAVOURABLE = "both favourable", "neither favourable"
HIGHER_A, HIGHER_B = "a higher", "b higher"
#: Columns of the table from `flipping_items`, in order.
FLIPPING_COLUMNS = (*UNIT_COLUMNS, "item_id", "pairs", "flips")

_CHANGES = {"n10": ONLY_A, "n01": ONLY_B, "n00_different": BOTH_WRONG}
_DECISION_CHANGES = {
    "n10": FAVOURS_A,
    "n01": FAVOURS_B,
    "n00_different": NEITHER_FAVOURABLE,
    "n11_different": BOTH_FAVOURABLE,
}
_NUMBERS = {"sample": "int64", "count": "int64", "key_count": "int64"} | {
    "share": "float64",
    "key_share": "float64",
}
# The place of the pattern of two hits: 0, 1, and `MISSING`, which is the last place.
_OF_HITS = np.array(
    [
        [PATTERNS.index(name) for name in names]
        for names in (("n00_different", "n01", "n0x"), ("n10", "n11", "n1x"), ("nx0", "nx1", "nxx"))
    ]
)


def _empty(columns: Iterable[str]) -> pd.DataFrame:
    """Return a table without rows, with the types of one that has rows."""
    return pd.DataFrame({name: pd.Series(dtype=_NUMBERS.get(name, "str")) for name in columns})


def _texts(names: Iterable[str], places: npt.ArrayLike) -> Any:
    return pd.array(list(names), dtype="str").take(np.asarray(places, dtype=np.int64))


def _unit_texts(own: Grid, unit: npt.NDArray[np.int64]) -> dict[str, Any]:
    return {name: _texts(own.units[name], unit) for name in UNIT_COLUMNS}


def letters_of(answers: Any, benchmarks: Mapping[str, Benchmark]) -> pd.DataFrame:
    """Count how often each letter is the answer, and how often it is the key, per group.

    Some letter is far more frequent in the answers than in the keys if a model guesses, or if a
    parser reads the article "a" as an answer.

    Letters are counted the same under every policy for missing answers.

    Returns
    -------
    pandas.DataFrame
        `LETTER_COLUMNS`: one row per unit, attribute, group and option letter, and one row
        (`NO_ANSWER`) for missing answers. Groups that were not asked have no rows. ``share`` is the
        share of the group's answers, NaN if it has none; for missing answers it is the share of all
        that the group was asked. ``key_count`` and ``key_share`` count the keys of all that the
        group was asked, answered or not, once per sample.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            attribute="race", group="white")
    >>> answers = pd.DataFrame([row | dict(item_id="demo-01", answer="A", answer_key="C"),
    ...                         row | dict(item_id="demo-02", answer=None, answer_key="A")])
    >>> table = letters_of(answers, {"demo": load_benchmark("demo")})
    >>> table.set_index("letter").loc[["A", "C", "missing"], ["share", "key_share"]].values.tolist()
    [[1.0, 0.5], [0.0, 0.5], [0.5, 0.0]]
    """
    if isinstance(answers, pd.DataFrame) and answers.empty:
        return _empty(LETTER_COLUMNS)
    opened = open_answers(answers, benchmarks)
    grids = [joined_grid(opened, known) for known in opened.benchmarks.values()]
    return pd.concat([_letters(own) for own in grids], ignore_index=True)


def _letters(own: Grid) -> pd.DataFrame:
    letters = [*own.options, NO_ANSWER]
    variants, size = own.benchmark.variants, len(letters)
    shape = (len(own.units), len(variants), size)
    count, key_count = np.zeros((2, *shape), dtype=np.int64)
    places = own.unit.astype(np.int64) * size
    # One variant at a time: the places of all answers would be eight times as large.
    for variant, sample in np.ndindex(own.answers.shape[1:]):
        answer = own.answers[:, variant, sample]
        asked, keyed = answer != NOT_ASKED, own.key >= 0
        for table, given, there in ((count, answer, asked), (key_count, own.key, asked & keyed)):
            # A missing answer, -1, is in the last place.
            cell = places[there] + given[there].astype(np.int64) % size
            # Sums of whole numbers below 2**53 are exact.
            own_count = np.bincount(cell, own.many[there], minlength=shape[0] * size)
            table[:, variant] += own_count.astype(np.int64).reshape(-1, size)
    unit, variant = np.nonzero(count.any(axis=2))
    count, key_count = count[unit, variant], key_count[unit, variant]
    asked = count.sum(axis=1, keepdims=True)
    answered = asked - count[:, -1:]
    of = np.where(np.arange(size) == size - 1, asked, answered)
    unit, variant = np.repeat(unit, size), np.repeat(variant, size)
    return pd.DataFrame(
        {
            **_unit_texts(own, unit),
            "attribute": _texts((attribute for attribute, _ in variants), variant),
            "group": _texts((group for _, group in variants), variant),
            "letter": _texts(letters, np.tile(np.arange(size), len(count))),
            "count": count.ravel(),
            "share": np.where(of > 0, count / np.maximum(of, 1), np.nan).ravel(),
            "key_count": key_count.ravel(),
            "key_share": (key_count / asked).ravel(),
        }
    )


def item_patterns(
    answers: Any, *, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> pd.DataFrame:
    """Return the outcome pattern of every counterfactual pair.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.

    Returns
    -------
    pandas.DataFrame
        `PATTERN_COLUMNS`: the letters are empty if missing, and ``pattern`` is one of
        `fairstats.counts.patterns.PATTERNS`. The table is as long as the answers; for large ones
        `count_outcomes` is enough. With several samples of an item, the first row has the first
        answers of all groups of the attribute, and the next row the second ones; ``sample`` is the
        lowest of their sample numbers. `count_outcomes` pairs every answer of one group with every
        answer of the other. An attribute without variants of its own has the pairs of crossed
        groups, one row for each group of the other attribute, which is ``within``; it is empty if
        not.

    Raises
    ------
    InputError
        As `count_outcomes`.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            attribute="race", item_id="demo-01", answer_key="C")
    >>> answers = pd.DataFrame([row | dict(group="white", answer="C"),
    ...                         row | dict(group="black", answer=None)])
    >>> item_patterns(answers)[["letter_a", "letter_b", "pattern"]].values.tolist()
    [['C', '', 'n1x']]
    """
    tables = _pattern_tables(open_answers(answers, benchmarks))
    found = pd.concat([_empty(PATTERN_COLUMNS), *tables], ignore_index=True)
    return found[list(PATTERN_COLUMNS)]


def _pattern_tables(opened: OpenAnswers, *, flips: bool = False) -> Iterator[pd.DataFrame]:
    """Yield `item_patterns` of each pair of groups, sorted by answer set, item and sample.

    With `flips`, only the demographic pairs with two different answers.
    """
    for own, attribute, layer in layers_asked(opened):
        if flips and attribute.name == BASELINE:
            continue
        columns, row, turn = [*layer.columns.values()], layer.row, layer.turn
        given, numbers = own.answers[:, columns], own.numbers[:, columns]
        answer, number = given[row, :, turn], numbers[row, :, turn]
        sample = np.where(answer != NOT_ASKED, number, np.iinfo(np.int64).max).min(axis=1)
        answer = np.maximum(answer, MISSING).astype(np.int64)
        hits = np.maximum(own.hits[:, columns][row, :, turn], MISSING)
        letters = [*own.options, NO_LETTER]
        for pair in attribute.pairs:
            a, b = (list(attribute.groups).index(group) for group in pair)
            pattern = _OF_HITS[hits[:, a], hits[:, b]]
            alike = _alike(own, answer[:, a], answer[:, b])
            pattern[alike & (hits[:, a] == 0)] = PATTERNS.index("n00_same")
            other = ~alike & (hits[:, a] == 1) & (hits[:, b] == 1)
            pattern[other] = PATTERNS.index("n11_different")
            change = _changes(own, answer[:, a], answer[:, b], pattern)
            # The texts of all pairs would be several times as large as those of the flips.
            kept = np.flatnonzero(change != "") if flips else np.arange(len(row))
            of, one, other = row[kept], answer[kept, a], answer[kept, b]
            texts = (attribute.name, *pair, layer.within)
            named = zip(("attribute", "group_a", "group_b", "within"), texts, strict=True)
            yield pd.DataFrame(
                {
                    **_unit_texts(own, own.unit[of]),
                    **{name: _texts([text], np.zeros(len(of))) for name, text in named},
                    "item_id": _texts(own.items, of),
                    "sample": sample[kept],
                    "letter_a": _texts(letters, one % len(letters)),
                    "letter_b": _texts(letters, other % len(letters)),
                    "answer_key": _texts(letters, own.key[of]),
                    "pattern": _texts(PATTERNS, pattern[kept]),
                    "change": change[kept],
                }
            )


def _alike(own: Grid, a: IntArray, b: IntArray) -> npt.NDArray[np.bool_]:
    """Return whether two answers are there and the same."""
    there = (a >= 0) & (b >= 0)
    if not own.benchmark.same_within:
        return there & (a == b)
    return there & own.alike[a, b]


def _changes(own: Grid, a: IntArray, b: IntArray, pattern: IntArray) -> Texts:
    """Return what differs between two answers; empty if nothing does, or one is missing."""
    if own.benchmark.kind.numeric:
        higher = np.where(own.values[a] > own.values[b], HIGHER_A, HIGHER_B).astype(object)
        return np.where((a < 0) | (b < 0) | _alike(own, a, b), "", higher)
    words = _DECISION_CHANGES if own.benchmark.kind.name == "decision" else _CHANGES
    return _texts([words.get(name, "") for name in PATTERNS], pattern)


def flips_of(answers: Any, benchmarks: Mapping[str, Benchmark]) -> pd.DataFrame:
    """Return every counterfactual pair of a demographic attribute with two different letters.

    A pair with a missing answer has no row under any policy, since its change is unknown.

    Returns
    -------
    pandas.DataFrame
        `FLIP_COLUMNS`, sorted by unit, declared attribute, ``within`` (as in `item_patterns`),
        pair, item and sample. ``change`` is the effect of the flip: `ONLY_A`, `ONLY_B` (group b's
        letter is the key) or `BOTH_WRONG`. The first two are the n10 and n01 of McNemar's test. For
        decisions it is which answer is favourable, and for levels and scores which is higher.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            attribute="race", item_id="demo-01", answer_key="C")
    >>> answers = pd.DataFrame([row | dict(group="white", answer="C"),
    ...                         row | dict(group="black", answer="B")])
    >>> table = flips_of(answers, {"demo": load_benchmark("demo")})
    >>> table[["answer_a", "answer_b", "change"]].values.tolist()
    [['C', 'B', 'only a right']]
    """
    if isinstance(answers, pd.DataFrame) and answers.empty:
        return _empty(FLIP_COLUMNS)
    differ = _pattern_tables(open_answers(answers, benchmarks), flips=True)
    table = pd.concat([_empty((*PATTERN_COLUMNS, "change")), *differ], ignore_index=True)
    table = table.astype({"change": "str"})
    # The sort is stable, so the pairs, items and samples of a unit stay in order.
    table = table.sort_values(list(UNIT_COLUMNS), kind="stable", ignore_index=True)
    names = {"letter_a": "answer_a", "letter_b": "answer_b"}
    return table.rename(columns=names)[list(FLIP_COLUMNS)]


def flipping_items(flips: pd.DataFrame) -> pd.DataFrame:
    """Return the items in the table from `flips_of`, `FLIPPING_COLUMNS`.

    ``pairs`` is the number of pairs of groups for which the item flips in at least one sample, or
    with one group of a crossed attribute. ``flips`` is the number of all flips. Rows are sorted by
    unit, then by most pairs, most flips and item name.
    """
    items = [*UNIT_COLUMNS, "item_id"]
    pair = flips["attribute"].str.cat([flips["group_a"], flips["group_b"]], sep="\0")
    found = (
        flips.assign(pair=pair)
        .groupby(items, as_index=False)
        .agg(pairs=("pair", "nunique"), flips=("pair", "size"))
        .astype(dict.fromkeys(items, "str") | {"pairs": "int64", "flips": "int64"})
    )
    return found.sort_values(
        [*UNIT_COLUMNS, "pairs", "flips", "item_id"],
        ascending=[True] * len(UNIT_COLUMNS) + [False, False, True],
        ignore_index=True,
    )[list(FLIPPING_COLUMNS)]
