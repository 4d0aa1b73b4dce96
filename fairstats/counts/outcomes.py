"""Count the outcome patterns of answers, inside the engine that holds them.

Every statistic is a function of the small tables made here. The counting is done through narwhals
by pandas, Polars, DuckDB or PySpark (see `fairstats.counts.packed_answers`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.row_groups import group_rows, group_sums, stacked, text_array
from fairstats.answers.engine_frames import (
    UNIT_COLUMNS,
    OpenAnswers,
    open_pairs,
)
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, Attribute, Benchmark
from fairstats.counts.crossed_answers import (
    Columns,
    answers_of_groups,
    crossed_kinds,
    letter_columns,
)
from fairstats.counts.packed_answers import Kinds, item_answers
from fairstats.counts.sample_weights import common_copies, pair_weights, per_answer

PAIR_COLUMNS = (*UNIT_COLUMNS, "attribute", "group_a", "group_b")

#: The outcome patterns of a counterfactual pair. The first sign is group a's, the second group b's:
#: 1 correct, 0 wrong, x missing. Two wrong answers can be the same letter or different letters.
PATTERNS = (
    "n11",
    "n10",
    "n01",
    "n00_same",
    "n00_different",
    "n1x",
    "n0x",
    "nx1",
    "nx0",
    "nxx",
)
MISSING = "x"
#: The sign of a group that is not one of the row's two groups.
OTHER = "."
# Whether the two letters agree; unknown if an answer is missing.
_SAME = {"n11": "1", "n00_same": "1", "n10": "0", "n01": "0", "n00_different": "0"}


@dataclass(frozen=True)
class Folds:
    """Tables of counts of the answers of all units.

    Attributes
    ----------
    outcomes : pandas.DataFrame
        `UNIT_COLUMNS`, ``attribute``, ``outcomes`` (one sign per group in declared order: 1, 0 or x
        for missing), ``same`` (one sign per two groups, in the order of `itertools.combinations`:
        whether the letters agree), ``answerable`` (1, 0 or x: whether the neutralized variant of
        the item was answered correctly) and ``n``, the number of items. With several samples of an
        item, a row is about two groups, and the signs of the others are `OTHER`. ``n`` then counts
        every answer of one group with every answer of the other and every neutralized answer.
        Weights make all answers count the same: each is in ``copies`` pairs, and each pair in
        ``neutral_copies`` combinations with a neutralized answer.
    letters : pandas.DataFrame
        `PAIR_COLUMNS` of the declared pairs, ``letter_a``, ``letter_b`` and ``n``, the number of
        pairs without a missing answer, for items answered once.
    benchmarks : dict of str to Benchmark
        The benchmarks of the answers by name.
    kinds : dict of (str, str) to pandas.DataFrame
        By benchmark and attribute with answers, the kinds of items: `UNIT_COLUMNS`; ``answer_key``;
        ``letter_0_A``, …, the number of a group's answers with that letter (groups in declared
        order); ``samples``, the number of answers of the group with the most, including missing
        ones (a group with fewer rows has the rest missing); ``neutral_right``, ``neutral_wrong``
        and ``neutral``, the number of right, wrong and all answers to the neutralized variant;
        ``copies``; ``neutral_copies``; and ``items``, the number of items of that kind.
    """

    outcomes: pd.DataFrame
    letters: pd.DataFrame
    benchmarks: dict[str, Benchmark]
    kinds: dict[tuple[str, str], pd.DataFrame]


def count_outcomes(
    answers: Any, *, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> pd.DataFrame:
    """Count the outcome patterns of every counterfactual pair of every unit.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table; counting runs in the engine that holds it.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.

    Returns
    -------
    pandas.DataFrame
        One row per unit: its keys, ``group_a``, ``group_b``, and the number of pairs with each of
        the ten patterns of `PATTERNS`. The pairs of an item combine all of its answers for one
        group with all of those for the other. So the numbering of samples does not matter.
        Each answer is in ``copies`` of the pairs. If every item has the same number of samples,
        ``copies`` is that number. If the numbers differ, it is their least common multiple, and
        pairs are weighted (`fairstats.counts.sample_weights`). A variant without a row counts as
        missing, like one with an answer that could not be parsed.

    Raises
    ------
    InputError
        For an unknown benchmark, attribute or group, or a duplicate answer.

    Examples
    --------
    >>> import pandas as pd
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain",
    ...            item_id="demo-01", attribute="race", sample=0, answer_key="C")
    >>> answers = pd.DataFrame([row | dict(group="white", answer="C"),
    ...                         row | dict(group="black", answer="B")])
    >>> counts = count_outcomes(answers)
    >>> int(counts.loc[counts["attribute"] == "race", "n10"].item())
    1
    """
    folds = fold_answers(answers, benchmarks=benchmarks)
    return pair_counts(folds.outcomes, folds.benchmarks)


def fold_answers(
    answers: Any, *, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> Folds:
    """Count joint outcome patterns over all groups of each attribute, and letters.

    These tables are sufficient: the pairs' counts, and the disparities over any number of groups,
    follow from them.

    Raises
    ------
    InputError
        As `count_outcomes`.
    """
    opened = open_pairs(answers, benchmarks)
    return opened.once("folds", lambda: _fold(opened))


def _fold(opened: OpenAnswers) -> Folds:
    known = opened.benchmarks
    kinds = {
        (benchmark.name, attribute.name): _fold_items(opened, benchmark, attribute)
        for benchmark, attribute in opened.asked()
    }
    tables = [
        (table, known[benchmark], known[benchmark].attributes[attribute])
        for (benchmark, attribute), table in kinds.items()
    ]
    return Folds(_outcomes(tables), _pair_letters(tables), known, kinds)


def pair_counts(folded: pd.DataFrame, benchmarks: Mapping[str, Benchmark]) -> pd.DataFrame:
    """Count the outcomes of the declared pairs, from `Folds.outcomes`."""
    text = {name: text_array(folded[name]) for name in (*UNIT_COLUMNS, "attribute")}
    of_attribute, first = group_rows([text["benchmark"], text["attribute"]])
    scales = {name: folded[name].to_numpy() for name in ("copies", "neutral_copies")}
    outcomes, same, n = (folded[name].to_numpy() for name in ("outcomes", "same", "n"))
    pairs: list[tuple[str, str]] = []
    found = []
    for place, row in enumerate(first):
        name, attribute_name = text["benchmark"][row], text["attribute"][row]
        attribute = benchmarks[name].attributes[attribute_name]
        groups = list(attribute.groups)
        in_order = list(combinations(range(len(groups)), 2))
        rows = np.flatnonzero(of_attribute == place)
        signs, agree = (_signs(texts[rows]) for texts in (outcomes, same))
        for group_a, group_b in attribute.pairs:
            a, b = groups.index(group_a), groups.index(group_b)
            alike = agree[:, in_order.index((min(a, b), max(a, b)))]
            own = (signs[:, a] != OTHER) & (signs[:, b] != OTHER)
            pattern = _pattern_places(signs[own, a], signs[own, b], alike[own])
            found.append((rows[own], np.full(own.sum(), len(pairs)), pattern))
            pairs.append((group_a, group_b))
    row, pair, pattern = (np.concatenate(parts) for parts in zip(*found, strict=True))
    # Sort by each key in turn, in the order in which its values first appear.
    names = np.array(pairs, dtype=object)[pair]
    columns = [*(texts[row] for texts in text.values()), *names.T]
    columns += [scale[row] for scale in scales.values()]
    group, one = group_rows((pd.factorize(column)[0] for column in columns), sort=True)
    cells = np.zeros((len(one), len(PATTERNS)), dtype=np.int64)
    np.add.at(cells, (group, pattern), n[row])
    of_row = row[one]
    names = names[one]
    return pd.DataFrame(
        {
            **{name: pd.array(texts[of_row], dtype="str") for name, texts in text.items()},
            "group_a": pd.array(names[:, 0], dtype="str"),
            "group_b": pd.array(names[:, 1], dtype="str"),
            **dict(
                zip(
                    PATTERNS,
                    per_answer(cells, scales["neutral_copies"][of_row, None]).T,
                    strict=True,
                )
            ),
            "copies": scales["copies"][of_row],
        }
    )


def _signs(texts: Any) -> npt.NDArray[np.str_]:
    """Return texts of one length as an array of their signs, one row per text."""
    return np.array([list(text) for text in texts], dtype="<U1").reshape(len(texts), -1)


def _pattern_places(
    a: npt.NDArray[np.str_], b: npt.NDArray[np.str_], same: npt.NDArray[np.str_]
) -> npt.NDArray[np.int64]:
    """Return each pair's index among `PATTERNS`, given its signs and whether the letters agree."""
    found = np.full(len(a), -1)
    for place, pattern in enumerate(PATTERNS):
        signs, _, letters = pattern.removeprefix("n").partition("_")
        here = (a == signs[0]) & (b == signs[1])
        if letters:
            here &= same == _SAME[pattern]
        found[here] = place
    return found


def whatever_the_neutral_answer(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return one unit's outcome patterns over all items, answerable or not, as numbers of pairs."""
    if (outcomes["neutral_copies"] == 1).all():
        return outcomes
    keys = [name for name in outcomes if name not in ("answerable", "n")]
    merged = outcomes.groupby(keys, as_index=False, sort=True)["n"].sum()
    return merged.assign(
        n=per_answer(merged["n"], merged["neutral_copies"]), answerable=MISSING, neutral_copies=1
    )


def _fold_items(opened: OpenAnswers, benchmark: Benchmark, attribute: Attribute) -> pd.DataFrame:
    """Count the items of each unit by the letters of their answers, key and neutral answers."""
    answers = item_answers(opened, benchmark)
    groups = [(attribute.name, group) for group in attribute.groups]
    names = [name for of_group in letter_columns(attribute, benchmark) for name in of_group]
    parts = [_kinds(part, names) for part in answers.of([*groups, (BASELINE, NEUTRALIZED)])]
    columns = stacked(parts)
    items = columns.pop("items")
    columns = group_sums(columns, {"items": items})
    unit, key = columns.pop("unit"), columns.pop("key")
    texts = {name: answers.units[name].array.take(unit) for name in UNIT_COLUMNS}
    texts["answer_key"] = pd.array(np.array(list(benchmark.options))[key], dtype="str")
    for name, samples in (("copies", "samples"), ("neutral_copies", "neutral")):
        columns[name] = _common_copies(columns[samples], unit)
    return pd.DataFrame(texts | columns)


def _kinds(part: Kinds, names: Sequence[str]) -> Columns:
    """Return the columns of `Folds.kinds`; the last variant is the neutralized one."""
    letters, neutral = part.letters[:, :-1], part.letters[:, -1]
    right = np.take_along_axis(neutral, part.key[:, None], axis=1)[:, 0]
    columns = {"unit": part.unit, "key": part.key}
    columns |= dict(zip(names, letters.reshape(len(part.key), len(names)).T, strict=True))
    columns |= {
        "samples": part.rows[:, :-1].max(axis=1),
        "neutral_right": right,
        "neutral_wrong": neutral.sum(axis=1) - right,
        "neutral": part.rows[:, -1],
        "items": part.items,
    }
    # Leave out the items of which only the neutralized variant was asked.
    asked = columns["samples"] > 0
    return {name: column[asked] for name, column in columns.items()}


def _common_copies(
    samples: npt.NDArray[np.int64], unit: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return `common_copies` of each row's unit."""
    if (samples <= 1).all():
        return np.ones(len(samples), dtype=np.int64)
    copies = [common_copies(samples[unit == place]) for place in range(unit.max() + 1)]
    return np.array(copies, dtype=np.int64)[unit]


def _outcomes(tables: Sequence[tuple[pd.DataFrame, Benchmark, Attribute]]) -> pd.DataFrame:
    """Spell the outcomes of the kinds of items as signs.

    With one sample per item a row has a sign for every group. With several samples its signs are
    those of one pair of groups: every answer of one against every answer of the other.
    """
    parts = []
    for place, (kinds, benchmark, attribute) in enumerate(tables):
        signs = [_joint_signs(kinds, benchmark, attribute)]
        if (kinds["samples"] > 1).any():
            units = [kinds[name] for name in UNIT_COLUMNS]
            several = kinds["samples"].groupby(units).transform("max") > 1
            signs = [_joint_signs(kinds[~several], benchmark, attribute)]
            signs.append(_pair_signs(kinds[several], benchmark, attribute))
        parts += [_with_place(part, place, attribute=attribute.name) for part in signs]
    columns = stacked(parts)
    there = columns["n"] > 0
    keys = [*UNIT_COLUMNS, "attribute", "outcomes", "same", "answerable"]
    keys += ["copies", "neutral_copies"]
    return _added_up({name: columns[name][there] for name in ("place", *keys, "n")}, keys)


def _added_up(columns: Columns, keys: Sequence[str]) -> pd.DataFrame:
    """Add n up over the rows with the same keys, sorted by attribute and then by key."""
    sums = group_sums(
        {name: columns[name] for name in ("place", *keys)}, {"n": columns["n"]}, sort=True
    )
    return pd.DataFrame(
        {
            name: pd.array(sums[name], dtype="str") if sums[name].dtype == object else sums[name]
            for name in (*keys, "n")
        }
    )


def _with_place(part: Columns, place: int, **texts: str) -> Columns:
    """Add the number of the attribute, and texts that are the same in every row."""
    size = len(part["n"])
    same = {name: np.full(size, text, dtype=object) for name, text in texts.items()}
    return part | same | {"place": np.full(size, place)}


def _joint_signs(kinds: pd.DataFrame, benchmark: Benchmark, attribute: Attribute) -> Columns:
    groups = answers_of_groups(kinds, benchmark, attribute)
    outcomes = np.column_stack(
        [np.where(g.missing > 0, MISSING, np.where(g.right > 0, "1", "0")) for g in groups]
    )
    same = np.column_stack(
        [
            np.where(
                (a.missing > 0) | (b.missing > 0),
                MISSING,
                np.where((a.letters * b.letters).sum(axis=1) > 0, "1", "0"),
            )
            for a, b in combinations(groups, 2)
        ]
    )
    return _by_neutral_answer(kinds, _joined(outcomes), _joined(same), 1)


def _pair_signs(kinds: pd.DataFrame, benchmark: Benchmark, attribute: Attribute) -> Columns:
    groups = answers_of_groups(kinds, benchmark, attribute)
    size, places = len(groups), list(combinations(range(len(groups)), 2))
    tables = []
    for place, (i, j) in enumerate(places):
        cells = crossed_kinds(kinds, groups[i], groups[j])
        for pattern in PATTERNS:
            signs, _, _ = pattern.removeprefix("n").partition("_")
            outcomes, same = [OTHER] * size, [OTHER] * len(places)
            outcomes[i], outcomes[j] = signs[0], signs[1]
            same[place] = _SAME.get(pattern, MISSING)
            names = ["".join(outcomes)] * len(kinds), ["".join(same)] * len(kinds)
            tables.append(_by_neutral_answer(kinds, *names, cells[pattern]))
    return stacked(tables)


def _by_neutral_answer(
    kinds: pd.DataFrame, outcomes: list[str], same: list[str], pairs: Any
) -> Columns:
    """Spread pairs of answers over the neutralized answers of their items, evenly."""
    names = ("neutral", "neutral_right", "neutral_wrong", "neutral_copies", "items")
    neutral, right, wrong, copies, items = (kinds[name].to_numpy() for name in names)
    # An item without a row for its neutralized variant has one missing neutral answer.
    missing = np.where(neutral == 0, 1, neutral - right - wrong)
    many = pairs * items * pair_weights(copies, neutral)
    table = {name: text_array(kinds[name]) for name in UNIT_COLUMNS}
    table |= {"copies": kinds["copies"].to_numpy(), "neutral_copies": copies}
    table |= {"outcomes": text_array(outcomes), "same": text_array(same)}
    states = {"1": right, "0": wrong, MISSING: missing}
    return stacked(
        [
            table | {"answerable": np.full(len(kinds), state, dtype=object), "n": many * number}
            for state, number in states.items()
        ]
    )


def _joined(marks: npt.NDArray[np.str_]) -> list[str]:
    return ["".join(row) for row in marks]


def _pair_letters(tables: Sequence[tuple[pd.DataFrame, Benchmark, Attribute]]) -> pd.DataFrame:
    """Count the letters of pairs, for items answered once."""
    parts = []
    for place, (kinds, benchmark, attribute) in enumerate(tables):
        once = kinds[kinds["samples"] == 1]
        units = {name: text_array(once[name]) for name in UNIT_COLUMNS}
        groups, columns = list(attribute.groups), letter_columns(attribute, benchmark)
        options = np.array(list(benchmark.options), dtype=object)
        items = once["items"].to_numpy()
        for a, b in attribute.pairs:
            one, other = (
                np.column_stack([once[name].to_numpy() for name in columns[groups.index(g)]])
                for g in (a, b)
            )
            both = (one.sum(axis=1) > 0) & (other.sum(axis=1) > 0)
            part = {name: texts[both] for name, texts in units.items()}
            part["letter_a"] = options[one[both].argmax(axis=1)]
            part["letter_b"] = options[other[both].argmax(axis=1)]
            part["n"] = items[both]
            parts.append(_with_place(part, place, attribute=attribute.name, group_a=a, group_b=b))
    return _added_up(stacked(parts), [*PAIR_COLUMNS, "letter_a", "letter_b"])
