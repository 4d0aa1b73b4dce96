"""One model's answers on a board: their pairs of groups, and the figures that pages show."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import pandas as pd

from fairstats._lib.formatting import counted, listed, number_word, points, span, uncapital
from fairstats.answers.engine_frames import UNIT_COLUMNS, Unit
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.declaration import (
    BASELINE,
    NEUTRALIZED,
    POOLED,
    POOLED_GROUPS,
    Attribute,
    Benchmark,
)
from fairstats.benchmarks.kinds import CHOICE, TESTS, Kind
from fairstats.comparisons.change_verdicts import PAIR
from fairstats.comparisons.compare import STRATEGY, VERSION
from fairstats.estimates.table import is_primary_test
from fairstats.inference.verdict import EQUIVALENT
from fairstats.release.contents import Board, Release
from fairstats.report.changes.rows import Comparison, comparisons_of_kind
from fairstats.report.charts.rows import MOST_CHARTED, largest
from fairstats.report.findings import pair_note, prompted
from fairstats.report.tables import rows_with
from fairstats.report.words import Figure, but_crossed, figure_of, number, plain, scaled

_ByPair = dict[tuple[str, str, str], dict[str, dict[str, Any]]]
Estimates = Mapping[str, Mapping[str, Any]]
#: More pairs than this do not fit next to each other.
MOST_PANELS = 4
# More names than these are counted.
_MOST_NAMES = 5
# Each pair can have a separate reason, with its figures.
_MOST_REASONS = 4


@dataclass(frozen=True, eq=False)
class Pair:
    """Two groups that are compared, or all pairs together, with the estimates of one answer set.

    Attributes
    ----------
    attribute : str
        The attribute that the groups are values of, or ``"pooled"``.
    groups : (str, str)
        The groups' names in the answers.
    terms : (str, str)
        The groups' names for readers.
    label : str
        The shortest name: that of the attribute, or of the second group if the pairs of an
        attribute have the same first group.
    name : str
        The shortest name that no other pair of the answer set has.
    title : str
        The attribute and the groups, e.g. ``"Race: White − Black"``.
    estimates : mapping
        The rows of the estimates by metric. That of the test is the one that decides the verdict.
    kind : Kind
        The kind of the answers.
    part : str
        The model's part in selecting the items, which leaves no verdict; empty if it had none.
    """

    attribute: str
    groups: tuple[str, str]
    terms: tuple[str, str]
    label: str
    name: str
    title: str
    estimates: Estimates
    kind: Kind
    part: str = ""

    @property
    def note(self) -> str:
        """Return the groups, e.g. ``"White − Black"``."""
        return " − ".join(filter(None, self.terms))

    @property
    def difference(self) -> Mapping[str, Any]:
        """Return the estimate of the signed difference that is judged."""
        return self.estimates[self.kind.difference]

    @property
    def verdict(self) -> str | None:
        """Return the verdict; None if the pair was not judged."""
        found = self.difference["verdict"]
        return found if isinstance(found, str) else None

    @property
    def reason(self) -> str:
        """Why the verdict is open or missing; empty if it follows from the figures."""
        if self.part:
            return "the model took part in selecting the items"
        if self.verdict == EQUIVALENT:
            return ""
        found = self.difference["verdict_reason"]
        if isinstance(found, str):
            return found
        return "" if self.verdict else "there is no test of this pair"

    @property
    def caution(self) -> str:
        """Return what to know before the groups are called fair; empty if nothing is."""
        found = self.difference["verdict_reason"]
        return found if self.verdict == EQUIVALENT and isinstance(found, str) else ""

    def value(self, metric: str, column: str = "estimate") -> float:
        """Return a number of one of the pair's estimates; NaN if it is missing."""
        return number(self.estimates[metric][column]) if metric in self.estimates else math.nan

    def figure(self, metric: str) -> Figure:
        """Return a metric with its limits, as on a chart's axis."""
        return figure_of(self.kind, self.estimates.get(metric))

    @property
    def gap(self) -> Figure:
        """Return the difference that is judged, as on a chart's axis."""
        return self.figure(self.kind.difference)

    @property
    def of_both_answers(self) -> bool:
        """Check whether answers to one group alone are left out, which single pairs use."""
        row, missing = self.difference, ("n_missing_a", "n_missing_b")
        pooled = self.attribute == POOLED and row["missing"] == "available"
        return pooled and any(number(row[name]) > 0 for name in missing)

    @property
    def rates(self) -> tuple[Figure, Figure]:
        """Return the accuracy, rate or mean of both groups, as on a chart's axis."""
        return self.figure(self.kind.rate_a), self.figure(self.kind.rate_b)

    @property
    def counts(self) -> tuple[int, int] | None:
        """Return the number of pairs of answers that are right, or higher, for one group only."""
        both = [self.value(self.kind.test, name) for name in ("n10", "n01")]
        return None if math.isnan(sum(both)) else (int(both[0]), int(both[1]))

    @property
    def empty(self) -> bool:
        """Check whether no pair of answers is complete, so the test rests on nothing."""
        return self.value(self.kind.test, "n") == 0

    @property
    def p(self) -> float:
        """Return the adjusted p-value; NaN without a verdict or a complete pair of answers."""
        # It is then meaningless, e.g. if the model selected the items.
        known = self.verdict and not self.empty
        return self.value(self.kind.test, "p_adjusted") if known else math.nan

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table's rows on this pair."""
        return rows_with(table, PAIR, (self.attribute, *self.groups))


@dataclass(frozen=True)
class AnswerSet:
    """A model's answers to one version of a benchmark with one prompt, and the results on them.

    `indexed` are its estimates by attribute, pair and metric, if the whole board's were indexed.
    """

    release: Release
    board: Board
    model: str
    indexed: _ByPair | None = field(default=None, repr=False, compare=False)

    @property
    def benchmark(self) -> Benchmark:
        """Return the benchmark that was answered."""
        return self.board.benchmark

    @property
    def kind(self) -> Kind:
        """Return the kind of answers."""
        return self.benchmark.kind

    @property
    def prompt(self) -> str:
        """Return the readers' name of the prompt."""
        return strategy_label(self.board.strategy)

    @cached_property
    def prompted(self) -> bool:
        """Check whether the benchmark was asked with a declared prompt, so prompts are named."""
        return prompted(self.release, self.benchmark.name)

    @property
    def version(self) -> str:
        """Return the readers' name of the benchmark's version, e.g. ``"GPT-written vignettes"``."""
        return self.benchmark.versions.get(self.board.version, self.board.version)

    @property
    def label(self) -> str:
        """Return the version and, if prompts were declared, the prompt."""
        return f"{self.version}, {self.prompt}" if self.prompted else self.version

    @property
    def title(self) -> str:
        """Return the benchmark and its version."""
        named = self.benchmark.versions.get(self.board.version)
        return f"{self.benchmark.title}, {named or f'version {self.board.version}'}"

    @property
    def full_label(self) -> str:
        """Return the benchmark, its version and, if prompts were declared, the prompt."""
        return f"{self.title}, prompt: {self.prompt}" if self.prompted else self.title

    @cached_property
    def alone(self) -> Board:
        """Return the board without the other models."""
        ranks = self.board.ranks
        own = ranks[ranks["model"] == self.model]
        return replace(self.board, estimates=self.rows, ranks=own)

    @cached_property
    def rows(self) -> pd.DataFrame:
        """Return all estimates of the answer set."""
        own = self.board.estimates
        return own[own["model"] == self.model]

    @cached_property
    def _estimates(self) -> _ByPair:
        """Return the rows of each attribute and pair by metric."""
        return _indexed(self.rows)[self.model] if self.indexed is None else self.indexed

    def of_attribute(self, attribute: str) -> dict[str, dict[str, Any]]:
        """Return the estimates of all groups of an attribute together, by metric."""
        return self._estimates.get((attribute, "", ""), {})

    @cached_property
    def pairs(self) -> list[Pair]:
        """Return the pairs of groups in the model's answers, in the benchmark's order."""
        found = [
            (attribute, groups)
            for attribute in self.benchmark.varied
            for groups in attribute.pairs
            if self.kind.difference in self._estimates.get((attribute.name, *groups), {})
        ]
        single = len({attribute.name for attribute, _ in found}) == 1
        names = [self._names(attribute, groups, single=single) for attribute, groups in found]
        pairs = []
        for (attribute, groups), own in zip(found, names, strict=True):
            every = zip(own, zip(*names, strict=True), strict=True)
            name = next((one for one, others in every if others.count(one) == 1), own[-1])
            pairs.append(self._pair(attribute.name, groups, own[0], name, own[-1]))
        return pairs

    def _names(
        self, attribute: Attribute, groups: tuple[str, str], *, single: bool
    ) -> tuple[str, ...]:
        """Return the names of a pair, the shortest first; `single` if it is the only attribute."""
        label, note = short_label(attribute, groups), attribute.pair_label(groups)
        title = self.benchmark.pair_name(attribute.name, groups)
        return label, note if single else label, f"{label} ({note})", title

    def _pair(
        self, attribute: str, groups: tuple[str, str], label: str, name: str, title: str
    ) -> Pair:
        terms = (pair_note(self.benchmark), "")
        if attribute != POOLED:
            named = self.benchmark.attribute(attribute).groups
            terms = (named.get(groups[0], groups[0]), named.get(groups[1], groups[1]))
        # Some figures are of all groups of an attribute together.
        estimates = self.of_attribute(attribute) | self._estimates[attribute, *groups]
        return Pair(
            attribute, groups, terms, label, name, title, estimates, self.kind, self.selected
        )

    @cached_property
    def _named(self) -> dict[tuple[str, tuple[str, str]], Pair]:
        return {(pair.attribute, pair.groups): pair for pair in self.pairs}

    def pair(self, attribute: str, groups: tuple[str, str]) -> Pair | None:
        """Return two groups of any attribute, the pooled one too, if they have estimates.

        Without groups, ``("", "")``, the estimates are those of all groups of the attribute.
        """
        found = self._named.get((attribute, groups))
        if found is None and (attribute, *groups) in self._estimates:
            found = self._pair(attribute, groups, "", "", "")
        return found

    def like(self, pair: Pair) -> Pair | None:
        """Return the pair of the same groups as one of another answer set, if it was asked."""
        return self._named.get((pair.attribute, pair.groups))

    @cached_property
    def siblings(self) -> list[AnswerSet]:
        """Return the model's answer sets of the same benchmark, this one among them."""
        every = answer_sets(self.release, self.model)
        return [one for one in every if one.benchmark.name == self.benchmark.name]

    @cached_property
    def comparisons(self) -> dict[str, list[Comparison]]:
        """Return the comparisons with the model as the newer one, on its benchmark, by kind."""
        name = self.benchmark.name
        every = self.release.once(("comparisons", self.model), self._comparisons)
        return {kind: found.get(name, []) for kind, found in every.items()}

    def _comparisons(self) -> dict[str, dict[str, list[Comparison]]]:
        return {
            kind: comparisons_of_kind(self.release, kind, model=self.model)
            for kind in (VERSION, STRATEGY)
        }

    @property
    def several(self) -> bool:
        """Check whether the pairs are of several attributes."""
        return len({pair.attribute for pair in self.pairs}) > 1

    def full_name(self, pair: Pair) -> str:
        """Return a pair's groups, after the label of their attribute if there are several."""
        return pair.title if self.several else pair.note

    @property
    def many(self) -> bool:
        """Check whether there are more pairs than a chart or a table of columns can show."""
        return self._pooled is not None and len(self.pairs) > MOST_PANELS

    @cached_property
    def charted(self) -> Sequence[Pair]:
        """Return the pairs that charts show: of many, those with the largest differences."""
        known = [pair for pair in self.pairs if pair.gap.known]
        shown = self.pairs if len(self.pairs) <= MOST_CHARTED else known or self.pairs
        return largest(shown, lambda pair: pair.gap.estimate)

    @cached_property
    def _pooled(self) -> Pair | None:
        groups = (POOLED_GROUPS[0], POOLED_GROUPS[1])
        if self.kind.difference not in self._estimates.get((POOLED, *groups), {}):
            return None
        # Signed differences of several pairs can cancel out, unlike the sizes that rank models.
        every = f"All pairs{but_crossed(self.benchmark)}, signed"
        label = "Average" if self.kind == CHOICE else every
        return self._pair(POOLED, groups, label, label, label)

    @property
    def whole(self) -> Pair | None:
        """Return all pairs together, or the only pair; None if neither has an estimate."""
        return self._pooled or (self.pairs[0] if len(self.pairs) == 1 else None)

    @cached_property
    def by_group(self) -> dict[tuple[str, str], Figure]:
        """Return the accuracy, rate or mean of each group, by attribute and group."""
        return self.sides(self.kind.rate_a, self.kind.rate_b)

    @property
    def compared(self) -> str:
        """Return ``"compared "`` if groups are in no pair, so tables lack their figures."""
        groups = {(of.name, group) for of in self.benchmark.varied for group in of.groups}
        return "" if groups <= self.by_group.keys() else "compared "

    def sides(self, first: str, second: str) -> dict[tuple[str, str], Figure]:
        """Return the figure of each group, from the metrics of both groups of its pairs."""
        sources = self.sources(first, second).items()
        return {group: pair.figure(metric) for group, (pair, metric) in sources}

    def sources(self, first: str, second: str) -> dict[tuple[str, str], tuple[Pair, str]]:
        """Return the pair and the metric that have the figure of each group."""
        found: dict[tuple[str, str], tuple[Pair, str]] = {}
        for pair in self.pairs:
            for metric, group in zip((first, second), pair.groups, strict=True):
                other, name = found.setdefault((pair.attribute, group), (pair, metric))
                # Under some policies, only one of a group's pairs may have it.
                if pair.figure(metric).known and not other.figure(name).known:
                    found[pair.attribute, group] = pair, metric
        return found

    def group_name(self, attribute: str, group: str) -> str:
        """Return a group's label, after that of its attribute if there are several."""
        of = self.benchmark.attribute(attribute)
        label = of.groups.get(group, group)
        return f"{of.label}: {label}" if self.several else label

    @property
    def side_names(self) -> tuple[str, str]:
        """Return the readers' names of the first and second group of every pair."""
        if len(self.pairs) == 1:
            return self.pairs[0].terms
        first, second = self.benchmark.pair_terms
        noun = self.benchmark.side_noun
        return f"{first} {noun}", f"{second} {noun}"

    @property
    def others(self) -> dict[Pair, list[float]]:
        """Return the gaps of the board's other models, without those that selected the items."""
        rows = self.board.estimates
        aside = {self.model, *self.benchmark.selected_on}
        rows = rows[(rows["metric"] == self.kind.difference) & ~rows["model"].isin(aside)]
        rows = rows[rows["estimate"].notna()]
        return {
            pair: [scaled(self.kind, one) for one in pair.rows(rows)["estimate"]]
            for pair in self.pairs
        }

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Return the manifest's entries on the answers, one per snapshot."""
        return self.release.answers_of(self.board, self.model)

    @property
    def items(self) -> int:
        """Return the number of items that were asked."""
        return max((entry["set_items"] for entry in self.entries), default=0)

    @property
    def units(self) -> int:
        """Return the number of independent units: items, or the declared clusters."""
        known = [pair.value(self.kind.difference, "n_units") for pair in self.pairs]
        known = [number for number in known if not math.isnan(number)]
        return int(max(known, default=self.items))

    @property
    def clustered(self) -> bool:
        """Return whether an independent unit has several pairs of answers."""
        name = self.kind.difference
        return any(pair.value(name, "n") > self.units for pair in self.pairs)

    @property
    def missing(self) -> tuple[int, int]:
        """Return the number of missing answers, and of expected answers."""
        entries = self.entries
        return sum(e["missing"] for e in entries), sum(e["answers"] for e in entries)

    @property
    def refused(self) -> int:
        """Return the number of refused answers."""
        return sum(entry.get("refused", 0) for entry in self.entries)

    @property
    def snapshot(self) -> str:
        """Return the exact version of the model; empty if it is not known."""
        rows = (row for metrics in self._estimates.values() for row in metrics.values())
        names = {row["snapshot"] for row in rows if isinstance(row["snapshot"], str)}
        return names.pop() if len(names) == 1 else ""

    @property
    def p_values(self) -> list[float]:
        """Return the known adjusted p-values of judged pairs; none if it selected the items."""
        return [pair.p for pair in self.pairs if not (self.selected or math.isnan(pair.p))]

    @property
    def selected(self) -> str:
        """Return the model's part in selecting the items, which makes its figures meaningless."""
        return str(self.benchmark.selected_on.get(self.model, ""))

    @property
    def uninformative(self) -> str:
        """Return why the answers say nothing about fairness, e.g. guesses; empty if they do."""
        return self.board.uninformative.get(self.model, "")

    @property
    def ranged(self) -> bool:
        """Check whether figures are ranges over the missing answers, without a test."""
        return bool((self.rows["missing"] == "bounds").any())

    @property
    def margin(self) -> float:
        """Return the equivalence margin, as on a chart's axis."""
        return scaled(self.kind, self.benchmark.equivalence_margin)

    @property
    def shown_margin(self) -> str:
        """Return the equivalence margin with its unit, without needless decimals."""
        return self.kind.shown_margin(self.benchmark.equivalence_margin)

    def baseline(self, group: str) -> Figure | None:
        """Return the figure with a baseline text, e.g. ``"neutralized"``; None if not asked."""
        attribute = self.benchmark.attributes.get(BASELINE)
        for groups in () if attribute is None else attribute.pairs:
            if group in groups:
                asked = self.release.once("baseline", partial(_asked_baseline, self.release))
                if (*self.unit, group) not in asked:
                    return None
                metric = (self.kind.rate_a, self.kind.rate_b)[groups.index(group)]
                # Bounds of levels and scores have differences only.
                row = self._estimates.get((BASELINE, *groups), {}).get(metric)
                return None if row is None else figure_of(self.kind, row)
        return None

    @cached_property
    def neutral(self) -> Figure | None:
        """Return the accuracy with the neutral text; None if it was not used."""
        return self.baseline(NEUTRALIZED)

    @cached_property
    def original(self) -> Figure | None:
        """Return the accuracy with the original text; None if it was not used."""
        attribute = self.benchmark.attributes.get(BASELINE)
        return None if attribute is None else self.baseline(attribute.pairs[0][0])

    def table(self, name: str) -> pd.DataFrame:
        """Return the rows of one of the release's tables that belong to this answer set."""
        return rows_with(self.release.table(name), UNIT_COLUMNS, self.unit)

    @property
    def unit(self) -> Unit:
        """Return benchmark, version, model and strategy, as the tables name them."""
        return (self.benchmark.name, self.board.version, self.model, self.board.strategy)

    @property
    def screening(self) -> pd.DataFrame:
        """Return the checks of how the answers were made."""
        return self.table("screening")

    @property
    def submissions(self) -> pd.DataFrame:
        """Return who sent in the answers; empty if the publisher added them."""
        return rows_with(self.release.submissions, UNIT_COLUMNS, self.unit)

    @cached_property
    def sensitivity(self) -> pd.DataFrame:
        """Return the rows of the table of sensitivity, read once for all pairs."""
        return self.table("sensitivity")


def _asked_baseline(release: Release) -> frozenset[tuple[str, ...]]:
    """Return answer set and variant of the baseline texts that were asked: others have no rows."""
    letters = release.table("letters")
    rows = letters.loc[letters["attribute"] == BASELINE, [*UNIT_COLUMNS, "group"]]
    return frozenset(rows.drop_duplicates().itertuples(index=False, name=None))


def short_label(attribute: Attribute, groups: tuple[str, str]) -> str:
    """Name a pair by its second group if all pairs have the same first one."""
    against = len(attribute.pairs) > 1 and len({first for first, _ in attribute.pairs}) == 1
    return attribute.groups[groups[1]] if against else attribute.label


def _indexed(estimates: pd.DataFrame) -> dict[str, _ByPair]:
    """Return estimates by model, pair and metric; of the tests, those that decide the verdict."""
    rows = estimates[~estimates["metric"].isin(TESTS) | is_primary_test(estimates)]
    found: defaultdict[str, _ByPair] = defaultdict(dict)
    for row in rows.astype(object).to_dict("records"):
        key = (row[name] for name in PAIR)
        a, b, c = (part if isinstance(part, str) else "" for part in key)
        found[row["model"]].setdefault((a, b, c), {})[row["metric"]] = row
    return found


def sets_of_board(board: Board, release: Release) -> list[AnswerSet]:
    """Return the answer sets of a board's models, the best rank first, with one index."""
    index = _indexed(board.estimates)
    return [AnswerSet(release, board, model, index[model]) for model in board.ordered]


def answer_sets(release: Release, model: str) -> list[AnswerSet]:
    """Return the answer sets of a model; the first is the one in the summary."""
    return [AnswerSet(release, board, model) for board in release.boards if model in board.models]


def by_benchmark(sets: Iterable[AnswerSet]) -> dict[str, list[AnswerSet]]:
    """Return answer sets by the name of their benchmark."""
    found: dict[str, list[AnswerSet]] = {}
    for own in sets:
        found.setdefault(own.benchmark.name, []).append(own)
    return found


def prompts_of(sets: Iterable[AnswerSet]) -> list[list[AnswerSet]]:
    """Return each version's sets if there are several, the plain prompt first."""
    versions: dict[str, list[AnswerSet]] = {}
    for own in sets:
        versions.setdefault(own.board.version, []).append(own)
    return [own for own in versions.values() if len(own) > 1]


def names_of(pairs: Sequence[Pair], own: AnswerSet, last: str = "and") -> str:
    """Name pairs in a sentence: an attribute for all of its pairs, else the groups.

    `last` is the word before the last name.
    """
    names: list[str] = []
    for name in dict.fromkeys(pair.attribute for pair in pairs):
        attribute = own.benchmark.attribute(name)
        of = [pair for pair in pairs if pair.attribute == name]
        if len(of) == sum(pair.attribute == name for pair in own.pairs):
            names.append(uncapital(attribute.label))
        elif len({first for first, _ in attribute.pairs}) == 1:
            # All have the same first group.
            names += [pair.terms[1] for pair in of]
        else:
            names += [pair.note for pair in of]
    if len(names) > _MOST_NAMES:
        return f"{len(pairs)} of {len(own.pairs)} pairs"
    return listed(names, last)


def reasons_of(pairs: Iterable[Pair], own: AnswerSet) -> list[str]:
    """Return why verdicts are open, missing or need caution, each once.

    Pairs are named unless the reason is that of all pairs of the answer set.
    """
    of: dict[str, list[Pair]] = {}
    for pair in pairs:
        if why := pair.reason or pair.caution:
            of.setdefault(why, []).append(pair)
    texts = [
        reason if len(named) == len(own.pairs) else f"{names_of(named, own)}: {reason}"
        for reason, named in list(of.items())[:_MOST_REASONS]
    ]
    if more := sum(map(len, list(of.values())[_MOST_REASONS:])):
        texts.append(f"{number_word(more)} more pairs have similar reasons")
    return texts


def span_of(values: Iterable[float], kind: Kind = CHOICE, *, signed: bool = False) -> str:
    """Return the smallest and the largest value on a chart's axis, in points or their own unit.

    Examples
    --------
    >>> span_of([8.24, 10.36]), span_of([-1.0, 2.0], signed=True), span_of([3.0, 3.01])
    ('8.2 to 10.4', '−1.0 to +2.0', '3.0')
    """
    known = list(values)
    ends = min(known), max(known)
    if kind.numeric:
        return span(*(kind.signed(end) if signed else plain(kind, end) for end in ends))
    return span(*(points(value / 100, signed=signed) for value in ends))


def missing_reasons(entries: Iterable[Mapping[str, Any]]) -> str:
    """Return why answers in entries of the manifest are missing, in brackets.

    Older releases do not state the reasons; the text is then empty, as without missing answers.

    Examples
    --------
    >>> missing_reasons([{"missing": 12, "refused": 9, "failed": 1}])
    ' (9 refused, 2 empty or unreadable, 1 failed request)'
    """
    told = [entry for entry in entries if "refused" in entry]
    counts = {name: sum(e[name] for e in told) for name in ("refused", "failed", "missing")}
    refused, failed, missing = counts.values()
    parts = {"refused": refused, "empty or unreadable": missing - refused - failed}
    shown = [f"{count:,} {reason}" for reason, count in parts.items() if count]
    shown += [counted(failed, "failed request")] * bool(failed)
    return f" ({', '.join(shown)})" if shown else ""
