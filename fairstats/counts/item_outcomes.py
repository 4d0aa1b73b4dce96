"""Answers item by item, for comparisons of models that need more than counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.row_groups import group_rows, stacked
from fairstats.answers.engine_frames import (
    NO_LETTER,
    UNIT_COLUMNS,
    OpenAnswers,
    as_text,
    open_answers,
    refuse_repeated,
)
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.crossed_answers import GroupAnswers, crossed
from fairstats.counts.missing_policies import CountingPolicy, of_each_pattern
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS
from fairstats.counts.sample_weights import common_copies, pair_weights

#: The sums of an item's answers to a pair from which estimates are computed.
SUMS = ("correct_a", "n_a", "correct_b", "n_b", "same", "n")
_ITEM = [*UNIT_COLUMNS, "item_id"]


def item_patterns(
    answers: Any, *, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> pd.DataFrame:
    """Return the outcome pattern of every counterfactual pair.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.

    Returns
    -------
    pandas.DataFrame
        `PAIR_COLUMNS`, ``item_id``, ``sample``, ``letter_a``, ``letter_b`` (empty if missing),
        ``answer_key`` and ``pattern``, one of `fairstats.counts.outcomes.PATTERNS`. The table is as
        long as the answers; for large ones `count_outcomes` is enough. With several samples of an
        item, the first row has the first answers of both groups, and the next row the second ones.
        ``sample`` is the lower of the two sample numbers. `item_sums` and `crossed_patterns` count
        every answer of one group with every answer of the other.

    Raises
    ------
    InputError
        As `count_outcomes`.
    """
    return asked_patterns(open_answers(answers, benchmarks)).drop(columns="asked")


def asked_patterns(opened: OpenAnswers) -> pd.DataFrame:
    """Return `item_patterns`, and whether both variants were ``asked``. Do not change it.

    A variant was asked if it has a row. A missing answer has a row; a variant that was left out
    does not.
    """
    return opened.once("patterns", lambda: _patterns_of(opened))


def answer_sets(opened: OpenAnswers) -> dict[tuple[str, ...], OpenAnswers]:
    """Return each answer set, opened, with its patterns counted; keyed by `UNIT_COLUMNS`, in order.

    The sets, and what is computed once for each, are kept with the answers.
    """
    return opened.once("answer sets", lambda: dict(_sets_of(opened)))


def _sets_of(opened: OpenAnswers) -> Iterator[tuple[tuple[str, ...], OpenAnswers]]:
    import narwhals as nw

    patterns = asked_patterns(opened)
    places = patterns.groupby(list(UNIT_COLUMNS)).indices
    for unit, cells in opened.cells.groupby(list(UNIT_COLUMNS), sort=True):
        here = [nw.col(name) == value for name, value in zip(UNIT_COLUMNS, unit, strict=True)]
        frame = opened.frame.filter(*here)
        own = OpenAnswers(frame, opened.benchmarks, cells, opened.in_memory)
        own.once("patterns", partial(patterns.take, places.get(unit, [])))
        yield unit, own


def _patterns_of(opened: OpenAnswers) -> pd.DataFrame:
    names = [*_ITEM, "attribute", "group", "answer", "answer_key"]
    table = as_text(opened.frame.select(*names, "sample").collect().to_pandas(), names)
    coded = {name: pd.factorize(table[name].array, sort=True) for name in names}
    code = {name: codes for name, (codes, _) in coded.items()}
    texts = {name: list(found) for name, (_, found) in coded.items()}
    letters = [NO_LETTER, *texts["answer"]]
    right = np.array([letters.index(key) if key in letters else -1 for key in texts["answer_key"]])
    sample = table["sample"].to_numpy()
    item, _ = group_rows((code[name] for name in _ITEM), sort=True)
    # A number for each item, sample and group; a group without a row comes after the others.
    many = len(texts["group"]) + 1
    number, _ = group_rows([item, sample])
    number *= many
    pairs: list[tuple[str, str]] = []
    none = np.zeros(0, dtype=np.int64)
    columns = ("row", "pair", "key", "letter_a", "letter_b")
    # A benchmark without pairs has no patterns.
    parts = [dict.fromkeys(columns, none) | {"asked": none > 0}]
    for benchmark, attribute in opened.asked():
        of_benchmark = code["benchmark"] == texts["benchmark"].index(benchmark.name)
        of_attribute = code["attribute"] == texts["attribute"].index(attribute.name)
        own = np.flatnonzero(of_benchmark & of_attribute)
        numbers = number[own] + code["group"][own]
        answer, once = group_rows([numbers])
        if len(once) < len(own):
            repeated = np.bincount(answer)[answer]
            refuse_repeated(table.take(own).assign(repeated=repeated, items=1), attribute.name)
        own = own[np.argsort(sample[own], kind="stable")]
        group = code["group"][own]
        # The groups' first answers to an item are in one turn, the second ones in the next, etc.
        place = _places(group_rows([item[own], group])[0])
        # In the order of the samples, the first row of a turn has the lowest one.
        turn, first = group_rows([item[own], place], sort=True)
        key = np.zeros(len(first), dtype=np.int64)
        np.maximum.at(key, turn, code["answer_key"][own])
        letter, asked = {}, {}
        for name in attribute.groups:
            of_group = texts["group"].index(name) if name in texts["group"] else many - 1
            here = group == of_group
            letter[name] = np.zeros(len(first), dtype=np.int64)
            letter[name][turn[here]] = code["answer"][own[here]] + 1
            asked[name] = np.isin(number[own[first]] + of_group, numbers)
        for a, b in attribute.pairs:
            part = {"row": own[first], "pair": np.full(len(first), len(pairs)), "key": key}
            part |= {"letter_a": letter[a], "letter_b": letter[b], "asked": asked[a] & asked[b]}
            parts.append(part)
            pairs.append((a, b))
    joined = stacked(parts)

    def taken(names: Sequence[str], codes: npt.NDArray[np.int64]) -> Any:
        return pd.array(list(names), dtype="str").take(codes)

    row, pair, key = (joined[name] for name in ("row", "pair", "key"))
    sides = joined["letter_a"], joined["letter_b"]
    sign_a, sign_b = (np.where(side == 0, 2, side == right[key]) for side in sides)
    same = (sign_a == 0) & (sign_b == 0) & (sides[0] == sides[1])
    pattern = np.where(same, PATTERNS.index("n00_same"), _OF_SIGNS[sign_a, sign_b])
    return pd.DataFrame(
        {
            **{name: table[name].array.take(row) for name in (*UNIT_COLUMNS, "attribute")},
            "group_a": taken([group for group, _ in pairs], pair),
            "group_b": taken([group for _, group in pairs], pair),
            "item_id": table["item_id"].array.take(row),
            "sample": sample[row],
            "letter_a": taken(letters, sides[0]),
            "letter_b": taken(letters, sides[1]),
            "answer_key": taken(texts["answer_key"], key),
            "pattern": taken(PATTERNS, pattern),
            "asked": joined["asked"],
        }
    )


def _places(groups: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Number the rows of each group, in their order."""
    sizes = np.bincount(groups)
    places = np.empty(len(groups), dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    places[np.argsort(groups, kind="stable")] = np.arange(len(groups)) - np.repeat(starts, sizes)
    return places


#: The place of the pattern of two answers that are wrong (0), right (1) or missing (2).
_OF_SIGNS = np.array(
    [
        [PATTERNS.index(name) for name in names]
        for names in (("n00_different", "n01", "n0x"), ("n10", "n11", "n1x"), ("nx0", "nx1", "nxx"))
    ]
)


def crossed_patterns(patterns: pd.DataFrame) -> pd.DataFrame:
    """Count outcome patterns over all pairs of an answer of a and one of b, per item.

    Parameters
    ----------
    patterns : pandas.DataFrame
        From `item_patterns`.

    Returns
    -------
    pandas.DataFrame
        `PAIR_COLUMNS`, ``item_id``, one column per pattern of `fairstats.counts.outcomes.PATTERNS`,
        and ``copies``. Weighted like the counts of `fairstats.counts.outcomes.count_outcomes`.
    """
    keys = [*PAIR_COLUMNS, "item_id"]
    if patterns.empty:
        return patterns[keys].reindex(columns=[*keys, *PATTERNS, "copies"])
    if not patterns.duplicated(keys).any():
        # One answer each gives a single pair, with a known pattern.
        cells = patterns["pattern"].to_numpy()[:, None] == np.array(PATTERNS)
        counted = dict(zip(PATTERNS, cells.T.astype(np.int64), strict=True))
        single = patterns[keys].assign(**counted, copies=np.int64(1))
        return single.sort_values(keys, ignore_index=True)
    key = patterns["answer_key"]
    numbers = {}
    for side in ("a", "b"):
        letter = patterns[f"letter_{side}"]
        numbers[f"right_{side}"] = (letter == key).astype("int64")
        numbers[f"missing_{side}"] = (letter == NO_LETTER).astype("int64")
    letters = sorted(set(patterns["letter_a"]) | set(patterns["letter_b"]) - {NO_LETTER})
    for place, option in enumerate(letters):
        for side in ("a", "b"):
            numbers[f"{place}_{side}"] = (patterns[f"letter_{side}"] == option).astype("int64")
    table = pd.concat([patterns[keys], pd.DataFrame(numbers)], axis=1).assign(samples=1)
    items = table.groupby(keys, as_index=False, sort=True).sum()

    def answers(side: str) -> GroupAnswers:
        right, missing = items[f"right_{side}"], items[f"missing_{side}"]
        return GroupAnswers(right, items["samples"] - right - missing, missing, None)

    same = sum(
        (items[f"{place}_a"] * items[f"{place}_b"] for place, o in enumerate(letters) if o),
        pd.Series(0, index=items.index),
    )
    units = [items[name] for name in (*UNIT_COLUMNS, "attribute")]
    copies = items["samples"].groupby(units).transform(common_copies).astype("int64")
    weights = pair_weights(copies, items["samples"])
    cells = crossed(answers("a"), answers("b"), same)
    return items[keys].assign(
        **{name: cell * weights for name, cell in cells.items()}, copies=copies
    )


def item_sums(patterns: pd.DataFrame, missing: CountingPolicy) -> pd.DataFrame:
    """Sum each item's contributions to the estimates of each pair, under a missing policy.

    Parameters
    ----------
    patterns : pandas.DataFrame
        From `item_patterns`.
    missing : {"available", "complete", "incorrect"}
        The policy.

    Returns
    -------
    pandas.DataFrame
        `PAIR_COLUMNS`, ``item_id``, `SUMS`, ``difference`` (n10 − n01) and ``copies``. The sums are
        over every answer of group a with every answer of b, weighted as in `crossed_patterns`. So
        correct_a / n_a, correct_b / n_b and same / n are the estimates of `fairstats.analyze`.
    """
    return sums_of_crossed(crossed_patterns(patterns), missing)


def sums_of_crossed(table: pd.DataFrame, missing: CountingPolicy) -> pd.DataFrame:
    """Compute the sums of `item_sums` from patterns counted by `crossed_patterns`."""
    one = of_each_pattern(missing)
    cells = table[list(PATTERNS)].to_numpy(dtype=np.int64)
    values = {name: cells @ getattr(one, name) for name in SUMS}
    sums = table[[*PAIR_COLUMNS, "item_id"]].assign(
        **values, difference=cells @ (one.n10 - one.n01)
    )
    return sums.assign(copies=table["copies"])
