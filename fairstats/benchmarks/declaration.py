"""Benchmark files: the items, the groups, and how to interpret the results."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from fairstats._lib.formatting import own_level, percent, uncapital
from fairstats._lib.model_names import ModelNames
from fairstats._lib.problems import first_of
from fairstats._lib.safe_names import declared, text_sha256
from fairstats.benchmarks.kinds import Kind, Words

MissingPolicy = Literal["available", "complete", "incorrect", "bounds"]
MISSING_POLICIES: tuple[MissingPolicy, ...] = get_args(MissingPolicy)
#: Missing policy for comparisons of two models; the default uses pairs answered by both.
COMMON = "common"
ComparisonPolicy = Literal["common", "available", "complete", "incorrect", "bounds"]
COMPARISON_POLICIES: tuple[ComparisonPolicy, ...] = get_args(ComparisonPolicy)
Family = Literal["model", "board", "release"]

#: The attribute that compares the original vignette with the neutralized one, and its groups.
BASELINE = "baseline"
ORIGINAL = "original"
NEUTRALIZED = "neutralized"
#: A model is uninformative if fewer items have another answer than the most frequent one.
FEWEST_UNLIKE = 5
#: Fewer items, or declared clusters, cannot show that answers agree beyond chance.
FEWEST_UNITS = 4
# Intervals and tests assume many independent units, none of which decides the result.
_FEW_CLUSTERS, _LARGEST_CLUSTER = 10, 0.2
# Groups that are each compared with one group are two steps apart.
_MOST_STEPS = 2
#: The defaults of `Benchmark.largest_missing` and `Benchmark.common_items`.
LARGEST_MISSING = 0.05
COMMON_ITEMS = 0.95
#: The strategy with which the others are compared.
PLAIN = "plain"
#: The attribute and group name for all demographic pairs of an item combined.
POOLED = "pooled"
POOLED_GROUPS = ("first", "second")


@dataclass(frozen=True)
class Attribute:
    """An attribute that the benchmark varies.

    Parameters
    ----------
    name : str
        E.g. ``"race"``.
    label : str
        The name for readers.
    groups : Mapping[str, str]
        Each group's name and its label, in the declared order; any number of groups.
    pairs : tuple of (str, str)
        The compared pairs; differences are first minus second.
    crosses : tuple of str
        The attributes that this one crosses, e.g. ``("race", "sex")``; empty for most.
    levels : Mapping[str, tuple of str]
        For an attribute that crosses others, the group of each of these attributes, by group.
    control : bool
        Whether the variants differ in nothing that could matter, e.g. a placebo or a paraphrase. A
        control attribute is in no family, pooled figure or rank.
    """

    name: str
    label: str
    groups: Mapping[str, str]
    pairs: tuple[tuple[str, str], ...]
    crosses: tuple[str, ...] = ()
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    control: bool = False

    def pair_label(self, pair: tuple[str, str]) -> str:
        """Return the pair's label for readers, e.g. ``"White − Black"``."""
        return " − ".join(self.groups.get(group, group) for group in pair)

    def layers(self, crossed: Attribute) -> dict[str, dict[str, str]]:
        """Return the variants for the groups of an attribute that this one crosses, or of itself.

        By the group of the other crossed attribute (empty for itself), each has the group of this
        attribute for each group of `crossed`. Those that lack a group are left out: groups would
        be compared that differ in both attributes, or count as asked if they cannot be.

        Examples
        --------
        >>> race = Attribute("race", "Race", {"w": "White", "b": "Black"}, (("w", "b"),))
        >>> levels = {"w+m": ("w", "m"), "b+m": ("b", "m"), "w+f": ("w", "f")}
        >>> groups = dict.fromkeys(levels, "")
        >>> Attribute("both", "Both", groups, (), ("race", "sex"), levels).layers(race)
        {'m': {'w': 'w+m', 'b': 'b+m'}}
        """
        if crossed.name == self.name:
            return {"": {group: group for group in self.groups}}
        axis = self.crosses.index(crossed.name)
        found: dict[str, dict[str, str]] = {}
        for group in self.groups:
            levels = self.levels[group]
            found.setdefault(levels[1 - axis], {})[levels[axis]] = group
        every = crossed.groups.keys()
        return {other: layer for other, layer in found.items() if layer.keys() >= every}

    @property
    def apart(self) -> list[str]:
        """Return the groups that no pairs connect to the first pair, not even in several steps."""
        reached = self._steps(self.pairs[0][0]) if self.pairs else self.groups
        return [group for group in self.groups if group not in reached]

    @property
    def farthest(self) -> tuple[int, str, str]:
        """Return the most pairs that lie between two connected groups, and these groups."""
        between = [
            (steps, one, two) for one in self.groups for two, steps in self._steps(one).items()
        ]
        return max(between, key=lambda found: found[0])

    def _steps(self, start: str) -> dict[str, int]:
        """Return how many pairs lie between a group and each that is connected to it."""
        steps = {start: 0}
        for _ in self.pairs:
            edge = {group for pair in self.pairs if steps.keys() & {*pair} for group in pair}
            steps |= dict.fromkeys(edge - steps.keys(), max(steps.values()) + 1)
        return steps


@dataclass(frozen=True)
class Benchmark:
    """A set of items with its declared attributes, groups, pairs and missing-answer policy.

    Parameters
    ----------
    name, title, description : str
        Its key in the answers table, its title, and a description in one or two sentences.
    versions : Mapping[str, str]
        Each version (set of variants) with its description.
    attributes : Mapping[str, Attribute]
        The varied attributes and, under ``"baseline"``, original against neutralized.
    kind : Kind
        What an answer is.
    options : tuple of str
        What an answer can be; for ``level`` in order. Empty for ``score``.
    labels : Mapping[str, str]
        The options' names for readers, if they differ from the options.
    favourable : tuple of str
        For ``decision``: the options that are good for the person.
    higher : str
        For ``level`` and ``score``: what a higher value means, e.g. ``"less urgent"``.
    limits : (float, float)
        For ``level`` and ``score``: the lowest and the highest value.
    same_within : float
        For ``score``: two answers that are this close are the same.
    worse : {"lowest", "highest"}
        For ``level`` and ``score``: the end of the scale that the policy ``incorrect`` gives to a
        missing answer.
    cluster : str or None
        What several items share, e.g. ``"subject_id"``; clusters are then the independent units.
    words : Words
        The nouns of sentences.
    listed : tuple of str
        The ``item_id`` of every item that a file lists, see `items`.
    clusters : Mapping[str, str]
        The cluster of each item, if a file lists them; if not, the answers have it.
    answer_keys : Mapping[str, str]
        The key of each item by its ``item_id``; empty if nothing is right or wrong.
    missing : {"available", "complete", "incorrect", "bounds"}
        The policy for missing answers used for the published estimates.
    equivalence_margin : float
        The margin δ: a signed difference inside ±δ counts as equivalent. A share, or for ``level``
        and ``score`` in their own unit.
    same_variants_odds_ratio : float or None
        The smallest odds ratio of shared flips for which two answer sets count as the same variants
        (`fairstats.estimates.same_variants`). None if it has not been derived; there is then no
        verdict.
    selected_on : Mapping[str, str]
        Models that took part in selecting the items, each with its role. Their results on this
        benchmark are not informative. Look-ups also find other spellings of a name and snapshots
        of the model, see `fairstats._lib.model_names.same_model`.
    family : {"model", "board", "release"}
        Which tests are adjusted together: those of one answer set, of one board (version and
        strategy), or of everything analysed in one call.
    largest_missing : float
        The largest share of missing answers, among the variants of a pair's groups, for which a
        model is ranked.
    lowest_accuracy : float or None
        The value that the lower limit of a model's accuracy in the baseline variant must exceed for
        a rank; None for `chance`.
    common_items : float
        The smallest share of a board's items that all of its models must have been asked for a
        ranking.
    sources : tuple of str
        The source of the benchmark.
    licence, citation : str
        The items' licence and how to cite them.
    notes : tuple of str
        Notes for readers of its results.
    slanted : bool
        Whether the text for the first group of each pair was written to help a model, and that for
        the second to mislead it. The results then show how easily a model is swayed.
    swayed_by : str
        What sways a model if `slanted`, to complete "… sways the model": e.g. ``"a suggested wrong
        answer"``, if the versions for the first groups are unchanged questions. Empty for text that
        is written to help for first groups and to mislead for second ones.
    changes : str
        The difference between the variants of an item, to complete "depends on …": e.g. ``"the
        patient's race, sex or income"``. By default built from the attributes' labels.
    pair_terms : (str, str)
        Readers' names for the first and the second group of every pair, e.g. ``("privileged",
        "unprivileged")``; by default ``("first", "second")``.
    read_first : str
        A note to be read before the results; by default the first of `notes`.
    items_file : Path or None
        The vignettes' text, if available.
    publish_items : bool
        Whether a release may contain that text, and pages may show it.
    path : Path
        The file that declares it.
    of_release : bool
        Whether this is the copy in a release, which may be of an earlier version of a built-in
        benchmark.
    """

    name: str
    title: str
    description: str
    versions: Mapping[str, str]
    attributes: Mapping[str, Attribute]
    kind: Kind
    options: tuple[str, ...]
    labels: Mapping[str, str]
    favourable: tuple[str, ...]
    higher: str
    limits: tuple[float, float]
    same_within: float
    worse: Literal["lowest", "highest"]
    cluster: str | None
    words: Words
    listed: tuple[str, ...]
    clusters: Mapping[str, str]
    answer_keys: Mapping[str, str]
    missing: MissingPolicy
    equivalence_margin: float
    same_variants_odds_ratio: float | None
    selected_on: Mapping[str, str]
    family: Family
    largest_missing: float
    lowest_accuracy: float | None
    common_items: float
    sources: tuple[str, ...]
    licence: str
    citation: str
    notes: tuple[str, ...]
    slanted: bool
    swayed_by: str
    changes: str
    pair_terms: tuple[str, str]
    read_first: str
    items_file: Path | None
    publish_items: bool
    keys_file: Path | None = field(repr=False)
    path: Path = field(repr=False)
    of_release: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "selected_on", ModelNames(self.selected_on))

    @property
    def varied(self) -> tuple[Attribute, ...]:
        """Return the demographic attributes: all but the baseline and controls."""
        return tuple(a for a in self.attributes.values() if a.name != BASELINE and not a.control)

    @property
    def varied_names(self) -> list[str]:
        """Return the names of the demographic attributes."""
        return [one.name for one in self.varied]

    @property
    def only_crossed(self) -> set[str]:
        """Return the attributes without variants of their own: a crossing gives their gaps."""
        crossings = [one for one in self.varied if one.crosses and not one.pairs]
        return {n for one in crossings for n in one.crosses if one.layers(self.attributes[n])}

    def variants_from(self, asked: Container[str]) -> dict[str, Attribute]:
        """Return the attribute whose variants give the figures of each, if these were asked.

        It is the attribute itself, or one that crosses it.
        """
        own = {name: one for name, one in self.attributes.items() if name in asked}
        found = {name: one for name, one in own.items() if name not in self.only_crossed}
        for crossing in list(found.values()):
            for name in crossing.crosses:
                if crossing.layers(self.attributes[name]):
                    found.setdefault(name, crossing)
        return {name: found[name] for name in self.attributes if name in found}

    def variant(self, attribute: str, group: str, within: str = "") -> tuple[str, str]:
        """Return the variant of a group; if it is a crossed one, `within` is the other group.

        Examples
        --------
        >>> from fairstats.benchmarks.loading import load_benchmark
        >>> load_benchmark("demo").variant("race", "white")
        ('race', 'white')
        """
        if not within:
            return attribute, group
        return next(
            (crossing.name, layers[within][group])
            for crossing in self.varied
            if attribute in crossing.crosses
            if within in (layers := crossing.layers(self.attributes[attribute]))
        )

    @property
    def controls(self) -> tuple[Attribute, ...]:
        """Return the control attributes."""
        return tuple(a for a in self.attributes.values() if a.control)

    @property
    def span(self) -> float:
        """Return the largest possible difference of two answers."""
        return self.limits[1] - self.limits[0] if self.kind.numeric else 1.0

    @property
    def items(self) -> tuple[str, ...]:
        """Return the ``item_id`` of every item; empty if no file lists them."""
        return tuple(self.answer_keys) if self.kind.needs_key else self.listed

    @property
    def few_units(self) -> bool:
        """Return whether intervals of clustered answers must hold for few, unequal units.

        Exam questions are many, and their intervals are those of the published studies.
        """
        return self.cluster is not None or self.kind.name != "choice"

    @property
    def has_key(self) -> bool:
        """Return whether items have right answers."""
        return bool(self.answer_keys)

    @property
    def values(self) -> Mapping[str, float]:
        """Return the number of each option of a level: the option itself, or its place from 1."""
        return level_values(self.options)

    @property
    def scale(self) -> str:
        """Return the ends of the scale; of words, the number of each, which their order gives."""
        if all(map(is_number, self.options)):
            return "{:g} to {:g}".format(*self.limits)
        return ", ".join(numbered(self.options))

    @property
    def has_pairs(self) -> bool:
        """Whether there are groups to compare; if not, only models and strategies are."""
        return any(attribute.pairs for attribute in self.attributes.values())

    @property
    def chance(self) -> float:
        """Return the accuracy of the best guess without reading the vignette.

        It is 1 / the number of options, or the share of the most frequent key if that is larger. A
        model that always gives this letter reaches it.
        """
        keys = Counter(self.answer_keys.values())
        most_frequent = max(keys.values()) / keys.total() if keys else 0.0
        return max(1 / len(self.options), most_frequent)

    @property
    def pooled(self) -> Attribute:
        """Return the attribute that combines all demographic attributes."""
        groups = MappingProxyType(dict(zip(POOLED_GROUPS, self.pair_terms, strict=True)))
        label = "All attributes" if len(self.varied) > 1 else "All pairs"
        return Attribute(POOLED, label, groups, (POOLED_GROUPS,))

    @property
    def few_clusters(self) -> str:
        """Return that listed clusters are few, or that one has many items; empty if not."""
        sizes = Counter(self.clusters.values())
        if not sizes:
            return ""
        words, largest = self.words, max(sizes.values())
        if len(sizes) < _FEW_CLUSTERS:
            return f"only {len(sizes)} {words.cluster if len(sizes) == 1 else words.clusters}"
        if largest > _LARGEST_CLUSTER * len(self.clusters):
            return f"one {words.cluster} has {largest:,} of {len(self.clusters):,} {words.items}"
        return ""

    @property
    def same_keys(self) -> str:
        """Return why agreement with the keys is not required, if all are the same."""
        if self.kind.needs_key or len(keys := set(self.answer_keys.values())) != 1:
            return ""
        key = min(keys)
        return f"all keys are {self.labels.get(key, key)}, so agreement with them is not required"

    @property
    def own_thresholds(self) -> list[str]:
        """Return each threshold that is not the default, and what else verdicts rest on."""
        found = []
        if self.largest_missing != LARGEST_MISSING:
            share, usual = percent(self.largest_missing), percent(LARGEST_MISSING)
            found.append(
                f"up to {share} of the answers to a pair may be missing (default: {usual})"
            )
        if self.common_items != COMMON_ITEMS:
            share, usual = percent(self.common_items), percent(COMMON_ITEMS)
            found.append(f"ranked models share at least {share} of the items (default: {usual})")
        if self.lowest_accuracy is not None:
            share, usual = percent(self.lowest_accuracy), percent(self.chance)
            found.append(f"accuracy must exceed {share} (default: the best guess, {usual})")
        if (ratio := self.same_variants_odds_ratio) is not None:
            found.append(
                "no verdict if flips fit those of other models with an odds ratio below "
                f"{ratio:g} (default: not checked)"
            )
        if self.same_within:
            found.append(f"scores up to {self.same_within:g} apart are the same (default: 0)")
        if self.kind.name == "level":
            values = list(self.values.values())
            gaps = [high - low for low, high in pairwise(values)]
            each = dict.fromkeys(f"{one:g}" for one in (min(gaps), max(gaps)))
            if [*each] != ["1"]:
                found.append(f"levels are {' to '.join(each)} apart")
        if not self.items:
            found.append(f"{self.words.items} are not listed, so those left out are not found")
        keyed = len(self.answer_keys)
        if keyed < len(self.items) and not self.kind.needs_key:
            some = f"keys of {keyed:,} of {len(self.items):,} {self.words.items}"
            found.append(some if keyed else "no right answers are listed")
        if self.same_keys:
            found.append(self.same_keys)
        if self.favourable:
            names = first_of([self.labels.get(one, one) for one in self.favourable], 8)
            found.append(f"favourable: {names}")
        if self.slanted:
            text = self.swayed_by or "slanted text"
            found.append(f"differences are put down to {text}, not to the group alone")
        if self.family != "board":
            found.append(f"tests of a {self.family} are adjusted together (default: of a board)")
        if self.cluster is not None:
            stated = "" if self.clusters else ", which the answers state"
            units = f"{self.words.clusters} ({self.cluster}){stated}"
            found.append(f"the independent units are {units}")
        if few := self.few_clusters:
            found.append(few)
        if BASELINE in self.attributes:
            found += _in_baseline(self.attributes[BASELINE])
        for one in self.controls:
            found.append(f"{uncapital(one.label)} is a control, so it is not judged")
        for one in self.varied:
            if apart := one.apart:
                names = first_of([one.groups[group] for group in apart], 8)
                first = one.groups[one.pairs[0][0]]
                found.append(f"{uncapital(one.label)}: {names} not compared with {first}")
            steps, *ends = one.farthest
            if steps > _MOST_STEPS:
                names = " and ".join(one.groups[group] for group in ends)
                found.append(
                    f"{uncapital(one.label)}: {names} are compared in {steps} steps, each of up to "
                    "the margin"
                )
            if one.crosses and (unspelled := self.unspelled(one)):
                found.append(f"{uncapital(one.label)}: {unspelled}")
            if one.crosses and one.pairs:
                found.append(f"{uncapital(one.label)} is in no rank and no average")
            crossed = [self.attributes[name] for name in one.crosses if not one.pairs]
            found += [
                f"{uncapital(of.label)}: compared for {names} only"
                for of, by in zip(crossed, crossed[::-1], strict=True)
                if of.pairs and (names := _compared_for(one, of, by))
            ]
            for of, by in zip(crossed, crossed[::-1], strict=True):
                if of.pairs and len(one.layers(of)) > 1:
                    names = f"gaps of {uncapital(of.label)} that {uncapital(by.label)} reverses"
                    found.append(f"{names} can cancel out")
                    # By symmetry, those of the other attribute can too.
                    break
        return found

    def unspelled(self, crossing: Attribute) -> str:
        """Return the levels of crossed groups with names that do not spell them out."""
        first, second = (self.attributes[name].groups for name in crossing.crosses)
        return ", ".join(
            f"{group} is {' and '.join(levels)}"
            for group, levels in crossing.levels.items()
            if levels not in spelled_levels(group, first, second)
        )

    def basis(self, margin: float | None = None, *, alpha: float = 0.05) -> str:
        """Return in short what verdicts rest on: declaration, margin, unusual thresholds and level.

        `margin` is the margin that was used, if it is not the declared one; `alpha` is the
        significance level.

        Examples
        --------
        >>> from fairstats.benchmarks.loading import load_benchmark
        >>> load_benchmark("demo").basis(0.1).partition(", ")[2]
        'equivalence margin ±10 points (declared: ±5)'
        """
        used = self.equivalence_margin if margin is None else margin
        of_margin = f"equivalence margin ±{self.kind.shown_margin(used)}"
        if self.kind.numeric:
            of_margin += f" on a scale of {self.scale}"
        declared = self.kind.plain_margin(self.equivalence_margin)
        of_margin += f" (declared: ±{declared})" * (self.kind.plain_margin(used) != declared)
        own = filter(None, [*self.own_thresholds, own_level(alpha)])
        return "; ".join([f"declaration {self.hash}, {of_margin}", *own])

    def attribute(self, name: str) -> Attribute:
        """Return an attribute by name, including the pooled one."""
        return self.pooled if name == POOLED else self.attributes[name]

    def pair_name(self, attribute: str, pair: tuple[str, str]) -> str:
        """Return a pair's name for readers, e.g. ``"Race: White − Black"``.

        If the benchmark varies this attribute only, its groups suffice.
        """
        of = self.attribute(attribute)
        label = of.pair_label(pair)
        return label if self.varied_names == [attribute] else f"{of.label}: {label}"

    def pair_label(self, attribute: str, pair: tuple[str, str]) -> str:
        """Return a pair's groups, after the attribute if another one has a pair of this label."""
        label = self.attribute(attribute).pair_label(pair)
        alike = sum(label in map(one.pair_label, one.pairs) for one in self.varied)
        return label if alike < 2 else self.pair_name(attribute, pair)

    @property
    def side_noun(self) -> str:
        """Return what the two sides of a pair are: groups, or versions of a question."""
        return "version" if self.swayed_by else "group"

    @cached_property
    def sha256(self) -> str:
        """Return the hash of everything that is declared, keys included."""
        return text_sha256(declared(self))

    @property
    def hash(self) -> str:
        """Return the first 16 digits of the hash, for readers: fewer could be forged by trying."""
        return self.sha256[:16]

    def canonical(self, text: str) -> str | None:
        """Return an answer as it is stored; None if it is not a possible answer.

        Examples
        --------
        >>> from fairstats.benchmarks.loading import load_benchmark
        >>> load_benchmark("demo").canonical("E") is None
        True
        """
        if text in self.options:
            return text
        number = decimal_number(text)
        if number is None:
            return None
        if self.kind.name == "score":
            stored, (low, high) = f"{number:.15g}", self.limits
            # The limits that `benchmark init` proposes are stored answers.
            return stored if low <= float(stored) <= high else None
        # A spreadsheet turns 3 into 3.0.
        return next((option for option in self.options if decimal_number(option) == number), None)

    def named(self, text: str) -> str | None:
        """Return the option or score that a text names; None if it names none, or several.

        An option may be in other letters (``YES``), and be named by its label.

        Examples
        --------
        >>> from fairstats.benchmarks.loading import load_benchmark
        >>> load_benchmark("demo").named(" c ")
        'C'
        """
        text = text.strip()
        if (stored := self.canonical(text)) is not None:
            return stored
        return self._folded.get(folded(text))

    @cached_property
    def _folded(self) -> dict[str, str | None]:
        """Return the option of each name in lower case; None for a name of several."""
        names: dict[str, set[str]] = {}
        for option in self.options:
            for name in (option, self.labels.get(option, option)):
                names.setdefault(folded(name), set()).add(option)
        return {name: min(of) if len(of) == 1 else None for name, of in names.items()}

    @property
    def variants(self) -> tuple[tuple[str, str], ...]:
        """Return every (attribute, group) for which an item has a variant."""
        return tuple((a.name, group) for a in self.attributes.values() for group in a.groups)


# How English labels of the two groups of a baseline begin.
_BASELINE_LABELS = {ORIGINAL: "original", NEUTRALIZED: "neutral"}


def _in_baseline(baseline: Attribute) -> Iterator[str]:
    """Name groups that the baseline hides; and the baseline itself if its labels do not show it."""
    more = [label for group, label in baseline.groups.items() if group not in _BASELINE_LABELS]
    if more:
        yield f"{uncapital(baseline.label)}: {first_of(more, 8)} not judged, as in the baseline"
    own = {group: label for group, label in baseline.groups.items() if group in _BASELINE_LABELS}
    shown = all(folded(own[group]).startswith(_BASELINE_LABELS[group]) for group in own)
    if not shown or BASELINE not in folded(baseline.label):
        names = " and ".join(own.values())
        yield f"{uncapital(baseline.label)} ({names}) is the baseline, so it is not judged"


def _compared_for(crossing: Attribute, of: Attribute, by: Attribute) -> str:
    """Return the groups of `by` for which a crossing has all groups of `of`; empty if for all."""
    there = crossing.layers(of)
    names = [label for group, label in by.groups.items() if group in there]
    return ", ".join(names) if len(names) < len(by.groups) else ""


def is_number(text: str) -> bool:
    """Return whether a text is a plain decimal number."""
    return decimal_number(text) is not None


def decimal_number(text: str) -> float | None:
    """Return a plain decimal number; None for other texts."""
    if not re.fullmatch(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?\s*", text):
        return None
    number = float(text) + 0.0
    return number if math.isfinite(number) else None


def level_values(options: tuple[str, ...]) -> dict[str, float]:
    """Return the numbers of ordered options: their own if all are numbers, or their places from 1.

    Examples
    --------
    >>> level_values(("0", "5", "10")), level_values(("low", "high"))
    ({'0': 0.0, '5': 5.0, '10': 10.0}, {'low': 1.0, 'high': 2.0})
    """
    try:
        return {option: float(option) for option in options}
    except ValueError:
        return {option: float(place) for place, option in enumerate(options, start=1)}


def numbered(levels: Iterable[str]) -> list[str]:
    """Return levels that are words with their numbers, which their order gives.

    Examples
    --------
    >>> numbered(["urgent", "routine"])
    ['1 = urgent', '2 = routine']
    """
    return [f"{place} = {level}" for place, level in enumerate(levels, start=1)]


def spelled_levels(
    group: str, first: Container[str], second: Container[str]
) -> list[tuple[str, str]]:
    """Return the levels that the name of a crossed group spells out, such as ``white+male``.

    They are in the order of the crossed attributes, also if the name has the other order. A name
    may spell several.

    Examples
    --------
    >>> spelled_levels("male_white", ["white", "black"], ["male", "female"])
    [('white', 'male')]
    """
    parts = [
        (group[:place], group[place + 1 :]) for place, sign in enumerate(group) if sign in "+_"
    ]
    in_order = [(a, b) for a, b in parts if a in first and b in second]
    return in_order or [(b, a) for a, b in parts if b in first and a in second]


def folded(text: str) -> str:
    """Return a text for comparison: in lower case, with single spaces."""
    return " ".join(text.casefold().split())
