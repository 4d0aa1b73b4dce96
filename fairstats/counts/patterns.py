"""Outcome patterns of counterfactual pairs, and the counts used under each missing policy."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from fairstats.answers.engine_frames import UNIT_COLUMNS, OpenAnswers
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, Attribute, Benchmark
from fairstats.counts.grid import NOT_ASKED, Grid, item_grid
from fairstats.inference._checks import check_choice, check_counts, check_parts

IntArray = npt.NDArray[np.int64]

PAIR_COLUMNS = (*UNIT_COLUMNS, "attribute", "group_a", "group_b")
#: The outcome patterns of a counterfactual pair. The first sign is group a's, the second group b's:
#: 1 right (or a favourable decision), 0 wrong, x missing. Two wrong answers can be the same or
#: different, and so can two favourable decisions if several options are favourable.
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
    "n11_different",
)
#: Whether each pattern lacks an answer.
INCOMPLETE = np.array(["x" in pattern for pattern in PATTERNS])
#: The policies that give counts; `bounds` gives a range of estimates instead.
CountingPolicy = Literal["available", "complete", "incorrect"]
# Above it, weights are rounded: their relative error is then at most s / 2 divided by this number.
_LARGEST = 10**7
# Combinations of pairs with neutral answers have to fit into 64 bits.
_LARGEST_NEUTRAL = 10**5


@dataclass(frozen=True, eq=False)
class GroupAnswers:
    """The answers for all groups of one attribute, over the items that were asked for any of them.

    An item with s samples for each group has s² pairs of answers, every answer of one group with
    every answer of the other, and each answer is in s of them. So a pair gets the weight L / s,
    with L the least common multiple of the numbers of samples of the answer set's items. Each
    answer then counts L times, whatever its item. With equal numbers of samples, every weight is 1.

    Attributes
    ----------
    grid : Grid
        The rows that were asked.
    attribute : Attribute
        The attribute.
    rows : ndarray of int
        The places of these rows in the grid of all answers.
    least : int
        The least number of samples of an item; those that it lacks are missing.
    per_item : int
        The number of rows of an item: several if they are the groups of another, crossed attribute.
    crossing : Attribute or None
        The attribute that has the variants, if it crosses this one.
    """

    grid: Grid
    attribute: Attribute
    rows: IntArray
    least: int = 0
    per_item: int = 1
    crossing: Attribute | None = None

    @classmethod
    def of(cls, grid: Grid, attribute: Attribute) -> Self:
        """Select the rows of a grid that were asked for the attribute."""
        columns = [grid.columns[attribute.name, group] for group in attribute.groups]
        asked = (grid.answers[:, columns] != NOT_ASKED).any(axis=(1, 2))
        return cls(grid if asked.all() else grid.rows(asked), attribute, np.flatnonzero(asked))

    @classmethod
    def marginal(cls, grid: Grid, attribute: Attribute, crossed: Attribute) -> Self:
        """Select the answers for the groups of one attribute from those of a crossed one.

        A row is an item with one group of the other attribute, so pairs differ in one attribute
        only. The rows of an item are a cluster.
        """
        layers = crossed.layers(attribute)
        row = np.repeat(np.arange(len(grid.unit)), len(layers))
        own = grid.rows(row)
        answers = np.array(own.answers)
        answers[:, [grid.columns[attribute.name, group] for group in attribute.groups]] = NOT_ASKED
        for place, layer in enumerate(layers.values()):
            here = slice(place, None, len(layers))
            for group in attribute.groups:
                to, source = (attribute.name, group), (crossed.name, layer[group])
                answers[here, grid.columns[to]] = grid.answers[:, grid.columns[source]]
        cluster = own.cluster if len(own.cluster) else row
        made = cls.of(replace(own, answers=answers, cluster=cluster), attribute)
        rows = row[made.rows]
        return replace(made, rows=rows, per_item=len(layers), crossing=crossed)

    def joined(self) -> Self:
        """Join the rows with the same key and answers, of the groups and the neutral variant.

        Their places in the grid of all answers are then lost. Clusters cannot be joined.
        """
        if len(self.grid.cluster):
            return self
        columns = [*self._columns]
        if BASELINE in self.grid.benchmark.attributes:
            columns.append(self.grid.columns[BASELINE, NEUTRALIZED])
        answers = self.grid.answers[:, columns].reshape(len(self.rows), -1).astype(np.int64)
        grid = self.grid.joined(np.column_stack([self.grid.key, answers]))
        return type(self)(grid, self.attribute, np.arange(len(grid.unit)), self.least)

    def answers_of(self, group: int) -> npt.NDArray[np.signedinteger[Any]]:
        """Return the answers for a group, by its place, (rows, samples)."""
        return self.grid.answers[:, self._columns[group]]

    @property
    def answers(self) -> npt.NDArray[np.signedinteger[Any]]:
        """Return the answers for all groups, (rows, groups, samples)."""
        return self.grid.answers[:, self._columns]

    @property
    def _columns(self) -> list[int]:
        return [self.grid.columns[self.attribute.name, group] for group in self.attribute.groups]

    @cached_property
    def _hits(self) -> npt.NDArray[np.int8]:
        """Return whether each answer is a hit, (rows, groups, samples)."""
        return self.grid.hits[:, self._columns]

    @cached_property
    def _counts(self) -> npt.NDArray[np.signedinteger[Any]]:
        """Return wrong, right and all answers, (3, rows, groups), in few bytes.

        They are kept as long as the answers.
        """
        return _counted(self._hits)

    @property
    def asked(self) -> IntArray:
        """Return the number of answers, missing ones included, (rows, groups)."""
        return self._counts[2].astype(np.int64)

    @property
    def right(self) -> IntArray:
        """Return the number of right answers, (rows, groups)."""
        return self._counts[1].astype(np.int64)

    @property
    def wrong(self) -> IntArray:
        """Return the number of wrong answers, (rows, groups)."""
        return self._counts[0].astype(np.int64)

    @property
    def samples(self) -> IntArray:
        """Return the number of answers for the group with the most, (rows,)."""
        return np.maximum(self._counts[2].max(axis=1).astype(np.int64), self.least)

    @property
    def missing(self) -> IntArray:
        """Return the number of missing answers; a group with fewer rows lacks the rest."""
        return self.samples[:, None] - self.right - self.wrong

    @cached_property
    def copies(self) -> IntArray:
        """Return the weight of all pairs of one answer together, L, (answer sets,).

        With equal numbers of samples, it is the number of pairs that share an answer.
        """
        return common_copies(self.grid.unit, self.samples, len(self.grid.units))

    @property
    def neutral(self) -> IntArray:
        """Return right, wrong and missing answers to the neutralized variant, (rows, 3).

        An item that was not asked in it has one missing answer.
        """
        if BASELINE not in self.grid.benchmark.attributes:
            return np.tile(np.array([0, 0, 1]), (len(self.grid.unit), 1))
        wrong, right, asked = self._neutral_counts.astype(np.int64)
        return np.stack([right, wrong, np.maximum(asked, 1) - right - wrong], axis=1)

    @cached_property
    def _neutral_counts(self) -> npt.NDArray[np.signedinteger[Any]]:
        return _counted(self.grid.hits[:, self.grid.columns[BASELINE, NEUTRALIZED]])

    @cached_property
    def neutral_copies(self) -> IntArray:
        """Return the number of neutral answers that share a pair, (answer sets,)."""
        samples = self.neutral.sum(axis=1)
        return common_copies(self.grid.unit, samples, len(self.grid.units), _LARGEST_NEUTRAL)

    @property
    def neutral_weights(self) -> IntArray:
        """Return the weight of each neutral answer, so that all items count the same, (rows,)."""
        return pair_weights(self.neutral_copies[self.grid.unit], self.neutral.sum(axis=1))

    def letters(self, group: int, rows: slice = slice(None)) -> IntArray:
        """Return how often each option was chosen for a group, (rows, options)."""
        answers, options = self.answers_of(group)[rows], len(self.grid.options)
        places = np.arange(len(answers))[:, None] * options + answers
        counts = np.bincount(places[answers >= 0], minlength=len(answers) * options)
        return counts.reshape(len(answers), options)

    @property
    def chosen(self) -> IntArray:
        """Return how often each answer set chose each option, (answer sets, options)."""
        shape = len(self.grid.units), len(self.grid.options)
        found = np.zeros(math.prod(shape), dtype=np.int64)
        # Group by group: places take more bytes than answers.
        for group in range(len(self.attribute.groups)):
            row, sample = np.nonzero(self.answers_of(group) >= 0)
            places = self.grid.unit[row].astype(np.int64) * shape[1]
            places += self.answers_of(group)[row, sample]
            found += np.bincount(places, self.grid.many[row], len(found)).astype(np.int64)
        return found.reshape(shape)

    def cells(self, a: int, b: int, copies: IntArray | None = None) -> IntArray:
        """Count the outcome patterns of two groups' answers, weighted, (rows, 11).

        `copies` are those of the answer sets, if other attributes determine them too.
        """
        right, wrong, missing = (
            (table[:, a], table[:, b]) for table in (self.right, self.wrong, self.missing)
        )
        same, both = self.same(a, b), right[0] * right[1]
        n11 = both
        if len(self.grid.benchmark.favourable) > 1:
            good = np.isin(
                np.array(self.grid.options, dtype=object), self.grid.benchmark.favourable
            )
            n11 = (self.letters(a) * self.letters(b))[:, good].sum(axis=1)
        patterns = np.stack(
            [
                n11,
                right[0] * wrong[1],
                wrong[0] * right[1],
                same - n11,
                wrong[0] * wrong[1] - (same - n11),
                right[0] * missing[1],
                wrong[0] * missing[1],
                missing[0] * right[1],
                missing[0] * wrong[1],
                missing[0] * missing[1],
                both - n11,
            ],
            axis=1,
        )
        copies = self.copies if copies is None else copies
        if (copies == 1).all():
            return patterns
        return patterns * pair_weights(copies[self.grid.unit], self.samples)[:, None]

    def same(self, a: int, b: int) -> IntArray:
        """Count the pairs of answers of two groups, by place, that are the same, (rows,)."""
        one, other = self.answers_of(a), self.answers_of(b)
        if self.grid.benchmark.same_within:
            return np.asarray((self.letters(a) @ self.grid.alike * self.letters(b)).sum(axis=1))
        if one.shape[1] == 1:
            return ((one == other) & (one >= 0)).sum(axis=1, dtype=np.int64)
        return np.asarray((self.letters(a) * self.letters(b)).sum(axis=1))

    def pair(self, pair: tuple[str, str], copies: IntArray | None = None) -> IntArray:
        """Return `cells` of two groups by name."""
        places = list(self.attribute.groups)
        return self.cells(places.index(pair[0]), places.index(pair[1]), copies)


@dataclass(frozen=True, eq=False)
class Layer:
    """The variants that give an attribute's groups, over the rows that were asked any of them.

    Attributes
    ----------
    variants : dict of str to (str, str)
        The variant of each group.
    within : str
        The group of the other attribute if they are crossed groups; empty if not.
    columns : dict of str to int
        The column of each group's variant in the grid.
    row, turn : ndarray of int
        The row of the grid and the place among the samples, of each sample that was asked.
    """

    variants: dict[str, tuple[str, str]]
    within: str
    columns: dict[str, int]
    row: IntArray
    turn: IntArray


def layers_asked(opened: OpenAnswers) -> Iterator[tuple[Grid, Attribute, Layer]]:
    """Yield each attribute that has answers, once for each group of one that it is crossed with."""
    for benchmark, attribute, source in opened.asked():
        grid = item_grid(opened, benchmark)
        for within, layer in source.layers(attribute).items():
            variants = {group: (source.name, layer[group]) for group in attribute.groups}
            columns = {group: grid.columns[variant] for group, variant in variants.items()}
            asked = (grid.answers[:, [*columns.values()]] != NOT_ASKED).any(axis=1)
            yield grid, attribute, Layer(variants, within, columns, *np.nonzero(asked))


def _counted(hits: npt.NDArray[np.int8]) -> npt.NDArray[np.signedinteger[Any]]:
    """Count wrong, right and all answers over the samples, the last axis."""
    few = np.int8 if hits.shape[-1] < 128 else np.int32
    return np.stack(
        [own.sum(axis=-1, dtype=few) for own in (hits == 0, hits == 1, hits != NOT_ASKED)]
    )


def pooled_pairs(benchmark: Benchmark) -> list[tuple[Attribute, tuple[str, str]]]:
    """Return the declared pairs of all demographic attributes, except crossed ones."""
    return [
        (attribute, pair)
        for attribute in benchmark.varied
        if not attribute.crosses
        for pair in attribute.pairs
    ]


def pooled_attributes(benchmark: Benchmark) -> set[str]:
    """Return the names of the attributes in `pooled_pairs`, by which models also rank."""
    return {attribute.name for attribute, _ in pooled_pairs(benchmark)}


def is_lopsided(benchmark: Benchmark) -> bool:
    """Return whether one group is compared with several others, and these with no other.

    An item's differences then have no symmetric distribution if the groups are alike: one slip of
    this group changes all of them, and a slip of another group only one.
    """
    net: dict[str, Counter[str]] = defaultdict(Counter)
    for attribute, (a, b) in pooled_pairs(benchmark):
        net[attribute.name][a] += 1
        net[attribute.name][b] -= 1
    return any(sorted(own.values()) != sorted(-n for n in own.values()) for own in net.values())


def sums_by_unit(unit: IntArray, table: npt.NDArray[Any], units: int) -> npt.NDArray[Any]:
    """Add the rows of a table up by answer set; `unit` is ascending."""
    found = np.zeros((units, *table.shape[1:]), dtype=table.dtype)
    if len(unit):
        starts = np.flatnonzero(np.diff(unit, prepend=-1))
        found[unit[starts]] = np.add.reduceat(table, starts, axis=0)
    return found


def common_copies(
    unit: IntArray, samples: IntArray, units: int, largest: int = _LARGEST
) -> IntArray:
    """Return the least common multiple of the numbers of samples of each answer set, or `largest`.

    Examples
    --------
    >>> common_copies(np.array([0, 0, 1]), np.array([2, 3, 1]), 2)
    array([6, 1])
    """
    found = np.ones(units, dtype=np.int64)
    if samples.max(initial=1) > 1:
        sizes = np.unique(np.stack([unit, np.maximum(samples, 1)], axis=1), axis=0)
        for place, size in sizes.tolist():
            found[place] = min(math.lcm(int(found[place]), size), largest)
    return found


def pair_weights(copies: npt.ArrayLike, samples: npt.ArrayLike) -> IntArray:
    """Return the weight of each pair of answers, for items with these numbers of samples.

    Examples
    --------
    >>> pair_weights(6, [1, 2, 3])
    array([6, 3, 2])
    """
    sizes = np.maximum(np.asarray(samples, dtype=np.int64), 1)
    return np.rint(np.asarray(copies, dtype=np.int64) / sizes).astype(np.int64)


def per_answer(counted: npt.ArrayLike, copies: npt.ArrayLike) -> IntArray:
    """Convert numbers of pairs to numbers of answers, if each answer is in `copies` pairs.

    Examples
    --------
    >>> per_answer([12, 0], 6)
    array([2, 0])
    """
    return np.rint(np.asarray(counted) / np.asarray(copies)).astype(np.int64)


@dataclass(frozen=True)
class PolicyCounts:
    """The counts from which the estimates of a pair of groups are computed, one element per unit.

    Attributes
    ----------
    n11, n10, n01, n00 : ndarray of int
        The paired table, over the pairs used for paired estimates: both correct, only a, only b,
        neither.
    same : ndarray of int
        Number of these pairs with the same letter.
    correct_a, n_a, correct_b, n_b : ndarray of int
        Correct answers of each group, and the number of its answers that count.
    copies : ndarray of int
        With several samples per item, all counts are numbers of pairs of answers; each answer is in
        this many pairs.
    """

    n11: IntArray
    n10: IntArray
    n01: IntArray
    n00: IntArray
    same: IntArray
    correct_a: IntArray
    n_a: IntArray
    correct_b: IntArray
    n_b: IntArray
    copies: IntArray | int = 1

    @property
    def n(self) -> IntArray:
        """Return the number of pairs."""
        return self.n11 + self.n10 + self.n01 + self.n00

    @property
    def cells(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return the paired table."""
        return self.n11, self.n10, self.n01, self.n00

    @property
    def own(self) -> dict[str, IntArray]:
        """Return each group's answer counts by name, as the intervals take them."""
        return {name: getattr(self, name) for name in ("correct_a", "n_a", "correct_b", "n_b")} | {
            "copies": np.asarray(self.copies, dtype=np.int64)
        }


def complete_counts(
    n11: npt.ArrayLike,
    n10: npt.ArrayLike,
    n01: npt.ArrayLike,
    n00: npt.ArrayLike,
    *,
    same: npt.ArrayLike | None = None,
) -> PolicyCounts:
    """Build the counts of pairs without missing answers.

    Pairs with the same letter are by default those with both correct.

    Raises
    ------
    ValueError
        For an invalid count. Also for fewer pairs with the same letter than with both correct, or
        more than with both correct or both wrong.
    """
    n11, n10, n01, n00, alike = check_counts(
        n11=n11, n10=n10, n01=n01, n00=n00, same=n11 if same is None else same
    )
    check_parts("n11", n11, "same", alike)
    check_parts("same", alike, "n11 + n00", n11 + n00)
    n = n11 + n10 + n01 + n00
    return PolicyCounts(n11, n10, n01, n00, alike, n11 + n10, n, n11 + n01, n)


def apply_policy(
    patterns: npt.ArrayLike,
    missing: CountingPolicy,
    *,
    copies: npt.ArrayLike = 1,
    pooled: npt.ArrayLike = False,
) -> PolicyCounts:
    """Convert numbers of the outcome patterns to the counts used under a policy.

    Parameters
    ----------
    patterns : array_like of int, shape (..., 11)
        The number of pairs with each of `PATTERNS`.
    missing : {"available", "complete", "incorrect"}
        ``available``: paired estimates use the pairs with both answers, and each group's accuracy
        uses all its answers; ``complete``: everything uses the pairs with both answers;
        ``incorrect``: a missing answer is wrong, and differs from every other answer, including
        another missing one.
    copies : array_like of int
        See `PolicyCounts`.
    pooled : array_like of bool
        Whether the pairs are those of several attributes. Under ``available`` their accuracies use
        the pairs with both answers: accuracy differs between attributes, so all answers of each
        group would mix the attributes in different proportions, and the groups could differ even if
        no pair does.

    Raises
    ------
    ValueError
        For an unknown policy.

    Examples
    --------
    >>> counts = apply_policy([6, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0], "available")
    >>> int(counts.n), int(counts.correct_a), int(counts.n_a)
    (9, 9, 10)
    """
    check_choice("missing", missing, get_args(CountingPolicy))
    c = dict(zip(PATTERNS, np.moveaxis(np.asarray(patterns, dtype=np.int64), -1, 0), strict=True))
    n11, n10, n01 = c["n11"] + c["n11_different"], c["n10"], c["n01"]
    n00 = c["n00_same"] + c["n00_different"]
    same = c["n11"] + c["n00_same"]
    if missing == "incorrect":
        n10 = n10 + c["n1x"]
        n01 = n01 + c["nx1"]
        n00 = n00 + c["n0x"] + c["nx0"] + c["nxx"]
    correct_a, correct_b = n11 + n10, n11 + n01
    n_a = n_b = n11 + n10 + n01 + n00
    if missing == "available":
        own = 1 - np.asarray(pooled, dtype=np.int64)
        correct_a, n_a = correct_a + own * c["n1x"], n_a + own * (c["n1x"] + c["n0x"])
        correct_b, n_b = correct_b + own * c["nx1"], n_b + own * (c["nx1"] + c["nx0"])
    each = np.broadcast_to(np.asarray(copies, dtype=np.int64), n11.shape)
    return PolicyCounts(n11, n10, n01, n00, same, correct_a, n_a, correct_b, n_b, each)


def of_each_pattern(missing: CountingPolicy, *, pooled: bool = False) -> PolicyCounts:
    """Return one pair's contribution to the counts, for each outcome pattern of `PATTERNS`."""
    return apply_policy(np.eye(len(PATTERNS), dtype=np.int64), missing, pooled=pooled)


def missing_per_group(patterns: IntArray) -> tuple[IntArray, IntArray]:
    """Count the pairs without an answer of group a, and those without an answer of group b."""
    lacks_a, lacks_b = (np.array([name[side] == "x" for name in PATTERNS]) for side in (1, 2))
    return patterns[..., lacks_a].sum(axis=-1), patterns[..., lacks_b].sum(axis=-1)


def missing_flags(patterns: IntArray) -> PolicyCounts:
    """Return the paired table of missing answers, in which "correct" means missing."""
    c = dict(zip(PATTERNS, np.moveaxis(patterns, -1, 0), strict=True))
    there = patterns[..., ~INCOMPLETE].sum(axis=-1)
    return complete_counts(c["nxx"], c["nx1"] + c["nx0"], c["n1x"] + c["n0x"], there)
