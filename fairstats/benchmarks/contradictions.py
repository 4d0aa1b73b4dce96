"""Declarations of a benchmark file that contradict each other or the answer keys."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from fairstats._lib.formatting import percent
from fairstats._lib.problems import Problem
from fairstats._lib.safe_names import normal_name
from fairstats.benchmarks.declaration import (
    BASELINE,
    NEUTRALIZED,
    ORIGINAL,
    POOLED,
    Attribute,
    Benchmark,
    decimal_number,
    folded,
    spelled_levels,
)


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
    yield from _lax_accuracy(benchmark, wrong)
    outside = sorted(
        {key for key in benchmark.answer_keys.values() if key != benchmark.canonical(key)}
    )
    if outside:
        message = f"keys that are not options: {', '.join(outside[:20])}"
        yield Problem(str(benchmark.keys_file), message, "correct the keys or the options")
    yield from _contradictory_kind(benchmark, wrong)
    yield from _impossible_names(benchmark, wrong)


def _lax_accuracy(benchmark: Benchmark, wrong: Callable[..., Problem]) -> Iterator[Problem]:
    """Return a problem for a required accuracy that a guess reaches, or that is not used."""
    key, least = "ranking.lowest_accuracy", benchmark.lowest_accuracy
    if least is None:
        return
    if not benchmark.kind.needs_key:
        yield wrong("is used for choices only", "remove it", key, f"{least:g}")
    elif benchmark.answer_keys and least < benchmark.chance:
        message = f"is below the accuracy of the best guess, {percent(benchmark.chance)}"
        guess = math.ceil(1000 * benchmark.chance) / 1000
        remedy = f"give at least {guess:g}, or remove it to require the best guess"
        yield wrong(message, remedy, key, f"{least:g}")


def _impossible_names(benchmark: Benchmark, wrong: Callable[..., Problem]) -> Iterator[Problem]:
    """Return a problem for each name that no answer can have."""
    remedy = f"use 1 to {_MOST_NAME} printable characters"
    named = [("name", benchmark.name), *((f"versions.{name}", name) for name in benchmark.versions)]
    for key, name in named:
        if name != normal_name(name):
            message = "has spaces at the ends, or is not in Unicode normal form NFKC"
            yield wrong(message, f"write {normal_name(name)!r}", key, name)
    for attribute in benchmark.attributes.values():
        named.append((f"attributes.{attribute.name}", attribute.name))
        named += [(f"attributes.{attribute.name}.groups", group) for group in attribute.groups]
    for key, name in named:
        if not _is_name(name):
            yield wrong("is not a possible name", remedy, key, name)
    for item in [name for name in benchmark.items if not _is_name(name)][:10]:
        message = "is not a possible name"
        yield Problem(str(benchmark.keys_file), message, remedy, column="item_id", value=item)


# The length of a name in the answers table.
_MOST_NAME = 200


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _MOST_NAME and text.isprintable()


# Squares of larger numbers lose digits or overflow.
_FAR = 1e9
# Comparisons of models count in millionths of the scale, which must be small next to the margin.
_FINEST = 10_000


def _contradictory_kind(benchmark: Benchmark, wrong: Callable[..., Problem]) -> Iterator[Problem]:
    """Return a problem for each declaration that does not fit the kind of answers."""
    kind, options = benchmark.kind.name, benchmark.options
    if kind == "score" and options:
        yield wrong("are not used by scores", 'remove them, or declare kind = "level"', "options")
    yield from _alike_options(benchmark, wrong)
    if kind == "decision":
        if not benchmark.favourable:
            yield wrong("is missing", "list the options that are good for the person", "favourable")
        for option in sorted(set(benchmark.favourable) - set(options)):
            yield wrong("is not an option", "correct it or the options", "favourable", option)
        if options and set(options) <= set(benchmark.favourable):
            yield wrong("contains every option", "list only the favourable ones", "favourable")
    elif benchmark.favourable:
        yield wrong(
            "is used for decisions only", 'remove it, or declare kind = "decision"', "favourable"
        )
    if kind == "level" and options:
        values = list(benchmark.values.values())
        if len(options) < 2 or values != sorted(values):
            yield wrong(
                "must be two or more, from lowest to highest", "put them in order", "options"
            )
    low, high = benchmark.limits
    if kind == "score" and not low < high:
        yield wrong("must be the lowest and the highest score", "e.g. limits = [0, 27]", "limits")
    elif kind in ("level", "score") and (max(-low, high) > _FAR or 0 < high - low < 1 / _FAR):
        message = f"must be within ±{_FAR:g} and more than {1 / _FAR:g} apart"
        key = "limits" if kind == "score" else "options"
        yield wrong(message, "choose another unit", key)
    if benchmark.span > 0 and not 0 < benchmark.equivalence_margin < benchmark.span:
        message = f"must be between 0 and {benchmark.span:g}"
        yield wrong(message, "correct it; it has the unit of the answers", "equivalence_margin")
    elif kind == "score" and _FINEST * benchmark.equivalence_margin < benchmark.span <= 2 * _FAR:
        message = f"must be at least 1/{_FINEST:,} of the scale"
        yield wrong(message, "correct it, or the limits", "equivalence_margin")
    if kind != "score" and benchmark.same_within:
        yield wrong("is used for scores only", "remove it", "same_within")
    elif benchmark.span > 0 and benchmark.same_within >= benchmark.span:
        remedy = f"give less than {benchmark.span:g}"
        yield wrong("makes any two scores the same", remedy, "same_within")
    for option in sorted(set(benchmark.labels) - set(options)):
        yield wrong("is not an option", "correct it or the options", f"labels.{option}")
    if benchmark.cluster in ("item_id", "answer_key"):
        yield wrong("must be another column", "name what items share", "cluster", benchmark.cluster)


def _alike_options(benchmark: Benchmark, wrong: Callable[..., Problem]) -> Iterator[Problem]:
    """Return a problem for options that an answer could not be assigned by."""
    options = benchmark.options
    if len(set(options)) < len(options):
        yield wrong("has an option twice", "remove one", "options")
        return
    read: dict[str, str] = {}
    for option in options:
        number = decimal_number(option)
        name = f"{number:.15g}" if number is not None else folded(option)
        if (other := read.setdefault(name, option)) != option:
            message = f"{other!r} and {option!r} are the same answer in another spelling"
            yield wrong(message, "remove one", "options")
    for option, label in benchmark.labels.items():
        other = read.get(folded(label), option)
        if option in options and other != option:
            yield wrong(f"is the option {other!r}", "use another label", f"labels.{option}", label)


def contradictory_attributes(attributes: Mapping[str, Attribute], path: Path) -> Iterator[Problem]:
    """Return a problem for each attribute with invalid pairs, or with levels of no group."""
    for attribute in attributes.values():
        of = f"attributes.{attribute.name}"
        as_sets = [frozenset(pair) for pair in attribute.pairs]
        if not as_sets and len(attributes) == len(attribute.groups) == 1:
            # Questions without variants, to compare models and strategies.
            continue
        invalid = len(set(as_sets)) < len(as_sets) or any(len(pair) < 2 for pair in as_sets)
        # The pairs of a crossing may be those of the two attributes only.
        if invalid or not (as_sets or attribute.crosses):
            remedy = "declare at least one pair of two groups, and each pair only once. "
            remedy += "Only a single attribute with a single group needs no pair"
            if attribute.name == BASELINE:
                remedy = f'declare {ORIGINAL} and {NEUTRALIZED}, and pairs = [["{ORIGINAL}", '
                remedy += f'"{NEUTRALIZED}"]]; answers to one of the two suffice'
            message, column = "has no pair, or an invalid pair", f"{of}.pairs"
            yield Problem(str(path), message, remedy, column=column)
        for message, remedy in _wrong_crossing(attribute, attributes):
            yield Problem(str(path), message, remedy, column=of)
        meant = {folded(group): group for group in attribute.groups}
        for group, label in attribute.groups.items():
            # Readers would take the figures of one group for those of the other.
            if (other := meant.setdefault(folded(label), group)) != group:
                message, column = f"is the name of the group {other!r}", f"{of}.groups.{group}"
                yield Problem(str(path), message, "use another label", column=column, value=label)


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
            'give each group its levels, e.g. levels = { white_male = ["white", "male"] }, or '
            "name it after them: white+male",
        )
        return
    first, second = (attributes[name] for name in crosses)
    for group, levels in attribute.levels.items():
        if len(levels) != 2 or levels[0] not in first.groups or levels[1] not in second.groups:
            remedy = f"give one group of {crosses[0]} and one of {crosses[1]}"
            yield f"unknown levels {', '.join(levels)}", remedy
            return
        spelled = spelled_levels(group, first.groups, second.groups)
        if spelled and levels not in spelled:
            message = f"{group} has the levels {', '.join(levels)}, which contradict its name"
            yield message, "correct the levels, or rename the group"
    if attribute.pairs:
        return
    # With `pairs = []`, a crossing gives the gaps of its two attributes only.
    for one, other in ((first, second), (second, first)):
        if one.pairs and not attribute.layers(one):
            message = f"no group of {other.name} is crossed with all groups of {one.name}"
            missing = ", ".join(one.groups)
            remedy = f"add a group of this attribute for each of {missing}, with the same "
            remedy += f"{other.name}; or remove groups and pairs that no variant has"
            yield f"{message}, so its pairs cannot be compared", remedy
