"""Contradictions in a benchmark's declaration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from fairstats._lib.problems import Problem
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.benchmarks.terms import BASELINE, NEUTRALIZED, POOLED


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
