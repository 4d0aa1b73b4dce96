"""Judge one row of published figures: every way of rounding, and every version of the test."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from fairstats.inference.effect_sizes import arcsine
from fairstats.inference.mcnemar import McNemarMethod
from fairstats.replication.missing_answers import Alternatives, Answered, fewest_missing
from fairstats.replication.possible_tables import (
    FEW,
    Ranges,
    Search,
    Table,
    is_possible,
    runs_of,
    search,
)
from fairstats.replication.printed_figures import Figure, Range, Rounding

Verdict: TypeAlias = Literal["impossible", "possible", "unique", "possible_with_missing"]

ROUNDINGS: tuple[Rounding, ...] = get_args(Rounding)[:-1]
#: Tried if no other rounding gives a table: without it, figures of honest software are impossible.
LAST: Rounding = "truncated_either"
TESTS: tuple[McNemarMethod, ...] = ("exact", "midp", "asymptotic", "asymptotic_cc")
#: What may be exchanged in a table if the figures are the same afterwards.
GROUPS, ANSWERS = "groups", "right and wrong answers"


@dataclass(frozen=True)
class Reading:
    """A way of rounding and a version of McNemar's test that explain all figures of a row.

    Attributes
    ----------
    rounding : {"half_up", "half_even", "half_either", "truncated", "truncated_either"}
        The rounding.
    test : {"exact", "midp", "asymptotic", "asymptotic_cc"} or None
        The test; None for a row without p-value.
    n_tables : int
        The number of tables that give the figures.
    """

    rounding: Rounding
    test: McNemarMethod | None
    n_tables: int


@dataclass(frozen=True)
class Change:
    """A change of one figure that makes an impossible row possible.

    Its units are those of the last decimal.
    """

    figure: str
    published: str
    changed: str
    units: int


@dataclass(frozen=True)
class Row:
    """The figures of a row, and how they are read.

    Attributes
    ----------
    figures : mapping of str to Figure
        The figures by metric.
    n : int
        The number of pairs.
    signed_h : bool
        Whether the sign of h shows which group is more accurate.
    roundings : sequence of str
        The ways of rounding to try; one holds for the whole row.
    tests : sequence of str
        The versions of McNemar's test to try.
    """

    figures: Mapping[str, Figure]
    n: int
    signed_h: bool
    roundings: Sequence[Rounding] = ROUNDINGS
    tests: Sequence[McNemarMethod] = TESTS

    @property
    def mirror_images(self) -> tuple[str, ...]:
        """Return what may be exchanged without a change of any figure."""
        given = set(self.figures)
        directed = {"accuracy_a", "accuracy_b", "accuracy_difference", "odds_ratio"} & given
        groups = not directed and not ("cohens_h" in given and self.signed_h)
        answers = not {"accuracy_a", "accuracy_b"} & given
        return (GROUPS,) * groups + (ANSWERS,) * answers

    def ranges(self, rounding: Rounding, change: Mapping[str, int] | None = None) -> Ranges:
        """Return the values that each figure may have been; `change` widens some of them."""
        return {
            self._name(metric): figure.range(rounding, change=(change or {}).get(metric, 0))
            for metric, figure in self.figures.items()
        }

    def _name(self, metric: str) -> str:
        return "abs_h" if metric == "cohens_h" and not self.signed_h else metric

    def without(self, *metrics: str) -> Row:
        """Return the row without these figures."""
        figures = {name: one for name, one in self.figures.items() if name not in metrics}
        return replace(self, figures=figures)

    @property
    def computed(self) -> tuple[str, ...]:
        """Return the figures that follow from the published accuracies as they are rounded."""
        published = [self.figures.get(name) for name in ("accuracy_a", "accuracy_b")]
        shares = [one.value for one in published if one is not None and one.relation == "="]
        if len(shares) < 2:
            return ()
        a, b = map(float, shares)
        values = {"ad": abs(a - b), "accuracy_difference": a - b}
        values["cohens_h"] = float(arcsine(a) - arcsine(b))
        if not self.signed_h:
            values["cohens_h"] = abs(values["cohens_h"])
        given = {name: np.asarray(value) for name, value in values.items() if name in self.figures}
        return tuple(
            name
            for name, value in given.items()
            if any(self.figures[name].range(one).has(value) for one in self.roundings)
        )

    def moved(self, metric: str, units: int) -> Row:
        """Return the row with a figure changed by some units of its last decimal."""
        figure = self.figures[metric]
        figure = replace(figure, units=figure.units + units)
        return replace(self, figures={**self.figures, metric: figure})

    def tried(self) -> list[tuple[Rounding, McNemarMethod | None]]:
        """Return every reading to try."""
        tests: Sequence[McNemarMethod | None] = self.tests if "p" in self.figures else (None,)
        return [(rounding, test) for rounding in self.roundings for test in tests]

    def alternatives(self, change: Mapping[str, int] | None = None) -> Alternatives:
        """Return the ranges of every reading that is not part of a wider one."""
        # Half up and half even are cases of half either.
        narrow = ("half_up", "half_even") if "half_either" in self.roundings else ()
        return [
            (self.ranges(rounding, change), test or TESTS[0])
            for rounding, test in self.tried()
            if rounding not in narrow
        ]


@dataclass(frozen=True)
class Judgement:
    """The verdict on a row, with the counts that all of its tables share; None if they differ.

    `computed` names figures that are only possible if authors computed them from their published,
    rounded accuracies.
    """

    verdict: Verdict
    readings: tuple[Reading, ...] = ()
    correct: tuple[int, int] | None = None
    discordant: tuple[int, int] | None = None
    same: int | None = None
    table: Table | None = None
    missing: tuple[Answered, ...] = ()
    computed: tuple[str, ...] = ()


def judge(row: Row, most_missing: int) -> Judgement:
    """Search the tables of a row; if there are none, search with missing answers."""
    # Authors also subtract the accuracies that they publish: 83.3% − 71.7% is 11.6, not 11.7.
    ways: dict[tuple[str, ...], Row] = {(): row, row.computed: row.without(*row.computed)}
    readings = [(computed, own) for computed, one in ways.items() for own in (one, *_cut(one))]
    for computed, one in readings:
        if found := _explained(one):
            return _judgement(one, found, computed)
    for computed, one in readings:
        missing = fewest_missing(one.alternatives(), one.n, min(most_missing, one.n - 1))
        if missing:
            return Judgement("possible_with_missing", missing=tuple(missing), computed=computed)
    return Judgement("impossible")


def _judgement(
    row: Row, found: list[tuple[Reading, Search]], computed: tuple[str, ...]
) -> Judgement:
    """Return the verdict on a row that is possible with all answers."""
    results = [result for _, result in found]
    table = _shared_table(results, row)
    images = row.mirror_images
    same = set.union(*(result.same for result in results))
    return Judgement(
        "possible" if table is None else "unique",
        tuple(reading for reading, _ in found),
        _shared(set.union(*(result.correct for result in results)), row.n, images),
        _shared(set.union(*(result.discordant for result in results)), None, images),
        same.pop() if len(same) == 1 else None,
        table,
        computed=computed,
    )


def _cut(row: Row) -> list[Row]:
    """Return a row whose digits were cut by software, unless its rounding is given."""
    several = "truncated" in row.roundings and len(row.roundings) > 1
    return [replace(row, roundings=(LAST,))] * several


def _explained(row: Row) -> list[tuple[Reading, Search]]:
    """Return the readings that explain a row, with their tables."""
    searched: dict[Hashable, Search] = {}
    found = []
    for rounding, test in row.tried():
        ranges = row.ranges(rounding)
        runs = runs_of(ranges, row.n, test or TESTS[0])
        others = (_same_counts(name, one, row.n) for name, one in ranges.items())
        key = (runs.first.tobytes(), runs.last.tobytes(), *others)
        if key not in searched:
            searched[key] = search(ranges, row.n, test or TESTS[0])
        if searched[key].n_tables:
            found.append((Reading(rounding, test, searched[key].n_tables), searched[key]))
    return found


def _same_counts(name: str, allowed: Range, n: int) -> Hashable:
    """Return what makes two ranges the same for n pairs: of shares, the counts they allow.

    Ranges of p and odds ratio are the same if they allow the same discordant counts.
    """
    if name in ("p", "odds_ratio"):
        return name
    return allowed.counts(n) if name in ("accuracy_a", "accuracy_b", "ad", "cfr") else allowed


def smallest_change(row: Row) -> tuple[Change, ...]:
    """Return the smallest changes of one figure that make an impossible row possible.

    Bounds such as ``<0.0001`` are not changed. The result is empty if no change of one figure
    suffices; it has several changes if they are equally small.
    """
    found: list[tuple[int, str]] = []
    for metric, figure in row.figures.items():
        if figure.relation == "=" and _possible(row.without(metric)):
            units = _fewest_units(row, metric)
            if units is not None:
                found.append((units, metric))
    least = min(found, default=(0, ""))[0]
    return tuple(
        Change(metric, row.figures[metric].text, row.figures[metric].changed(step), step)
        for units, metric in found
        if units == least
        for step in (-units, units)
        if _possible(row.moved(metric, step))
    )


def _possible(row: Row, change: Mapping[str, int] | None = None) -> bool:
    return any(is_possible(ranges, row.n, test) for ranges, test in row.alternatives(change))


def _fewest_units(row: Row, metric: str) -> int | None:
    """Return the fewest units by which a figure must change; None if no change suffices."""
    largest = row.n if metric == "odds_ratio" else 4
    most = int(largest / row.figures[metric].unit) + 1
    low, high = 0, 1
    while not _possible(row, {metric: high}):
        if high > most:
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _possible(row, {metric: middle}) else (middle, high)
    return high


def _shared(
    pairs: set[tuple[int, int]], n: int | None, images: Sequence[str]
) -> tuple[int, int] | None:
    """Return the pair of counts that all tables share, up to mirror images; None if they differ.

    Of the mirror images with a table, return the one with more correct answers, and more in group
    a.
    """

    def image(pair: tuple[int, int]) -> tuple[int, int]:
        a, b = pair
        if GROUPS in images and b > a:
            a, b = b, a
        if n is not None and ANSWERS in images and a + b < n:
            a, b = n - b, n - a
        return a, b

    if len({image(pair) for pair in pairs}) > 1:
        return None
    return max(pairs, key=lambda pair: (sum(pair), pair))


def _shared_table(results: Sequence[Search], row: Row) -> Table | None:
    """Return the only table, up to mirror images; None if there are several."""
    if any(result.n_tables > FEW for result in results):
        return None
    tables = set.union(*(result.tables for result in results))
    best = max(tables, key=lambda table: (2 * table[0] + table[1] + table[2], table[1]))
    return best if tables <= set(_images(best, row.mirror_images)) else None


def _images(table: Table, images: Sequence[str]) -> Iterator[Table]:
    """Yield a table and its mirror images."""
    n11, n10, n01, same, different = table
    # With right and wrong exchanged, n11 and n00 change places; the equal answers stay as many.
    exchanged = (same + different, n10, n01, n11 - different, different)
    for one in (table, exchanged) if ANSWERS in images else (table,):
        yield one
        if GROUPS in images:
            yield (one[0], one[2], one[1], one[3], one[4])
