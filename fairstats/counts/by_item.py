"""Answers item by item, for comparisons of models that need more than counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.row_groups import group_rows, text_array
from fairstats.answers.engine_frames import (
    NO_LETTER,
    UNIT_COLUMNS,
    OpenAnswers,
    open_answers,
    refuse_repeated,
)
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.counts.missing_policies import CountingPolicy, of_each_pattern
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS, GroupAnswers, crossed
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
    opened = open_answers(answers, benchmarks)
    return opened.once("patterns", lambda: _patterns_of(opened)).copy(deep=False)


def answer_sets(opened: OpenAnswers) -> dict[tuple[str, ...], OpenAnswers]:
    """Return each answer set, opened, with its patterns counted; keyed by `UNIT_COLUMNS`, in order.

    The sets, and what is computed once for each, are kept with the answers.
    """
    return opened.once("answer sets", lambda: dict(_sets_of(opened)))


def _sets_of(opened: OpenAnswers) -> Iterator[tuple[tuple[str, ...], OpenAnswers]]:
    import narwhals as nw

    patterns = item_patterns(opened)
    places = patterns.groupby(list(UNIT_COLUMNS)).indices
    for unit, cells in opened.cells.groupby(list(UNIT_COLUMNS), sort=True):
        here = [nw.col(name) == value for name, value in zip(UNIT_COLUMNS, unit, strict=True)]
        frame = opened.frame.filter(*here)
        own = OpenAnswers(frame, opened.benchmarks, cells, opened.in_memory)
        own.once("patterns", partial(patterns.take, places.get(unit, [])))
        yield unit, own


def _patterns_of(opened: OpenAnswers) -> pd.DataFrame:
    import narwhals as nw

    tables = []
    for benchmark, attribute in opened.asked():
        rows = (
            opened.frame.filter(
                nw.col("benchmark") == benchmark.name, nw.col("attribute") == attribute.name
            )
            .select(*_ITEM, "group", "sample", "answer", "answer_key")
            .collect()
            .to_pandas()
        )
        items = _in_turn(rows, attribute)
        for a, b in attribute.pairs:
            pair = items[[*_ITEM, "sample", "answer_key"]].assign(
                attribute=attribute.name,
                group_a=a,
                group_b=b,
                letter_a=items[f"letter {a}"],
                letter_b=items[f"letter {b}"],
            )
            tables.append(pair.assign(pattern=_pattern(pair)))
    columns = [*PAIR_COLUMNS, "item_id", "sample", "letter_a", "letter_b", "answer_key", "pattern"]
    return pd.concat(tables, ignore_index=True)[columns]


def _in_turn(rows: pd.DataFrame, attribute: Attribute) -> pd.DataFrame:
    """Pair the groups' first answers to an item in one row, the second ones in the next, etc."""
    group, key = (text_array(rows[name].astype("str")) for name in ("group", "answer_key"))
    answer = text_array(rows["answer"].astype("str").fillna(NO_LETTER))
    item, _ = group_rows((text_array(rows[name].astype("str")) for name in _ITEM), sort=True)
    cell, _ = group_rows([item, group])
    same, _ = group_rows([cell, rows["sample"].to_numpy()])
    refuse_repeated(rows.assign(repeated=np.bincount(same)[same], items=1), attribute.name)
    order = np.argsort(rows["sample"].to_numpy(), kind="stable")
    rows = rows.take(order)
    group, key, answer = group[order], key[order], answer[order]
    item, cell = item[order], cell[order]
    place = pd.Series(cell).groupby(cell).cumcount().to_numpy()
    # In the order of the samples, the first row of a turn has the lowest one.
    turn, first = group_rows([item, place], sort=True)
    table = rows[_ITEM].astype("str").take(first).reset_index(drop=True)
    codes, keys = pd.factorize(key, sort=True)
    highest = np.zeros(len(first), dtype=np.int64)
    np.maximum.at(highest, turn, codes)
    letters = {}
    for name in attribute.groups:
        letter = np.full(len(first), NO_LETTER, dtype=object)
        letter[turn[group == name]] = answer[group == name]
        letters[f"letter {name}"] = pd.array(letter, dtype="str")
    return table.assign(
        sample=rows["sample"].to_numpy()[first],
        answer_key=pd.array(keys[highest], dtype="str"),
        **letters,
    )


#: The pattern of two answers that are wrong (0), right (1) or missing (2).
_OF_SIGNS = np.array(
    [["n00_different", "n01", "n0x"], ["n10", "n11", "n1x"], ["nx0", "nx1", "nxx"]]
)


def _pattern(pair: pd.DataFrame) -> npt.NDArray[np.str_]:
    key, a, b = (text_array(pair[name]) for name in ("answer_key", "letter_a", "letter_b"))
    sign_a, sign_b = (np.where(letter == NO_LETTER, 2, letter == key) for letter in (a, b))
    wrong = (sign_a == 0) & (sign_b == 0)
    return np.where(wrong & (a == b), "n00_same", _OF_SIGNS[sign_a, sign_b])


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
