"""Benchmark files: the items, the groups, and how to interpret the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from fairstats._lib.problems import Problem
from fairstats._lib.safe_names import FoldedNames

MissingPolicy = Literal["available", "complete", "incorrect", "bounds"]
MISSING_POLICIES: tuple[MissingPolicy, ...] = get_args(MissingPolicy)
#: Missing policy for comparisons of two models; the default uses pairs answered by both.
COMMON = "common"
ComparisonPolicy = Literal["common", "available", "complete", "incorrect", "bounds"]
COMPARISON_POLICIES: tuple[ComparisonPolicy, ...] = get_args(ComparisonPolicy)
Family = Literal["model", "board", "release"]
FAMILIES: tuple[Family, ...] = get_args(Family)

#: The attribute that compares the original vignette with the neutralized one, and its groups.
BASELINE = "baseline"
ORIGINAL = "original"
NEUTRALIZED = "neutralized"
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
    """

    name: str
    label: str
    groups: Mapping[str, str]
    pairs: tuple[tuple[str, str], ...]
    crosses: tuple[str, ...] = ()
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def pair_label(self, pair: tuple[str, str]) -> str:
        """Return the pair's label for readers, e.g. ``"White − Black"``."""
        return " − ".join(self.groups.get(group, group) for group in pair)


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
    options : tuple of str
        The option letters.
    answer_keys : Mapping[str, str]
        The key of each item by its ``item_id``.
    missing : {"available", "complete", "incorrect", "bounds"}
        The policy for missing answers used for the published estimates.
    equivalence_margin : float
        The margin δ: a signed accuracy difference inside ±δ counts as equivalent.
    same_variants_odds_ratio : float or None
        The smallest odds ratio of shared flips for which two answer sets count as the same variants
        (`fairstats.estimates.same_variants`). None if it has not been derived; there is then no
        verdict.
    selected_on : Mapping[str, str]
        Models that took part in selecting the items, each with its role. Their results on this
        benchmark are not informative. Look-ups also match other spellings of a name, see
        `fairstats._lib.safe_names.FoldedNames`.
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
    """

    name: str
    title: str
    description: str
    versions: Mapping[str, str]
    attributes: Mapping[str, Attribute]
    options: tuple[str, ...]
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
    keys_file: Path = field(repr=False)
    path: Path = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "selected_on", FoldedNames(self.selected_on))

    @property
    def varied(self) -> tuple[Attribute, ...]:
        """Return the demographic attributes: all but the baseline."""
        return tuple(a for a in self.attributes.values() if a.name != BASELINE)

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

    def attribute(self, name: str) -> Attribute:
        """Return an attribute by name, including the pooled one."""
        return self.pooled if name == POOLED else self.attributes[name]

    def pair_name(self, attribute: str, pair: tuple[str, str]) -> str:
        """Return a pair's name for readers, e.g. ``"Race: White − Black"``.

        If the benchmark varies this attribute only, its groups suffice.
        """
        of = self.attribute(attribute)
        label = of.pair_label(pair)
        alone = [varied.name for varied in self.varied] == [attribute]
        return label if alone else f"{of.label}: {label}"

    @property
    def side_noun(self) -> str:
        """Return what the two sides of a pair are: groups, or versions of a question."""
        return "version" if self.swayed_by else "group"

    @property
    def declaration(self) -> str:
        """Return the text of the files that declare the benchmark."""
        return "".join(p.read_text(encoding="utf-8") for p in (self.path, self.keys_file))

    @property
    def variants(self) -> tuple[tuple[str, str], ...]:
        """Return every (attribute, group) for which an item has a variant."""
        return tuple((a.name, group) for a in self.attributes.values() for group in a.groups)


def contradictions(benchmark: Benchmark) -> Iterator[Problem]:
    """Return a problem for each declaration that contradicts another or the answer keys."""

    def wrong(message: str, remedy: str, key: str, value: str | None = None) -> Problem:
        return Problem(str(benchmark.path), message, remedy, column=key, value=value)

    attributes = benchmark.attributes
    yield from contradictory_attributes(attributes, benchmark.path)
    if POOLED in attributes:
        message, remedy = "is reserved for all attributes together", "use another name"
        yield wrong(message, remedy, f"attributes.{POOLED}")
    if not benchmark.varied:
        message, remedy = "contain only the baseline", "add the attribute that is varied"
        yield wrong(message, remedy, "attributes")
    if BASELINE in attributes and NEUTRALIZED not in attributes[BASELINE].groups:
        remedy = "declare it, or remove the baseline"
        yield wrong("has no group `neutralized`", remedy, f"attributes.{BASELINE}")
    if BASELINE not in attributes and benchmark.lowest_accuracy is not None:
        remedy = f"declare attributes.{BASELINE}, or remove this"
        yield wrong("needs the neutralized variant", remedy, "ranking.lowest_accuracy")
    outside = sorted(set(benchmark.answer_keys.values()) - set(benchmark.options))
    if outside:
        message = f"keys that are not options: {', '.join(outside)}"
        yield Problem(str(benchmark.keys_file), message, "correct the keys or the options")


def contradictory_attributes(attributes: Mapping[str, Attribute], path: Path) -> Iterator[Problem]:
    """Return a problem for each attribute with invalid pairs, or with levels of no group."""
    for attribute in attributes.values():
        of = f"attributes.{attribute.name}"
        as_sets = [frozenset(pair) for pair in attribute.pairs]
        if not as_sets and len(attributes) == len(attribute.groups) == 1:
            # Questions without variants, to compare models and strategies.
            continue
        if not as_sets or len(set(as_sets)) < len(as_sets) or min(map(len, as_sets)) < 2:
            remedy = "declare at least one pair of two groups, and each pair only once. "
            remedy += "Only a single attribute with a single group needs no pair"
            message, column = "has no pair, or an invalid pair", f"{of}.pairs"
            yield Problem(str(path), message, remedy, column=column)
        for message, remedy in _wrong_crossing(attribute, attributes):
            yield Problem(str(path), message, remedy, column=of)


def _wrong_crossing(
    attribute: Attribute, attributes: Mapping[str, Attribute]
) -> Iterator[tuple[str, str]]:
    """Return errors in the declaration of a crossed attribute, with remedies."""
    crosses = attribute.crosses
    if not crosses:
        if attribute.levels:
            yield "has levels but no `crosses`", "list the attributes in `crosses`"
        return
    unknown = [name for name in crosses if name not in attributes or name == attribute.name]
    if len(crosses) != 2 or unknown:
        yield "must cross two other attributes of this file", "correct `crosses`"
        return
    cells = [attribute.levels.get(group) for group in attribute.groups]
    if set(attribute.levels) != set(attribute.groups) or len(set(cells)) < len(cells):
        yield (
            "levels must include each group exactly once",
            'give each group its levels, e.g. levels = { white_male = ["white", "male"] }',
        )
    for levels in attribute.levels.values():
        pairs = zip(crosses, levels, strict=False)
        if len(levels) != 2 or any(level not in attributes[name].groups for name, level in pairs):
            remedy = f"give one group of {crosses[0]} and one of {crosses[1]}"
            yield f"unknown levels {', '.join(levels)}", remedy
