"""Benchmark files: the items, the groups, and how to interpret the results."""

from __future__ import annotations

import math
import os
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.resources import resource
from fairstats._lib.safe_names import FoldedNames
from fairstats._lib.toml_types import (
    is_number,
    is_pairs,
    is_table,
    is_table_of_lists,
    is_table_of_texts,
    is_text,
    is_texts,
    other_types,
)
from fairstats._lib.untrusted_files import file_inside, read_json_lines, read_text
from fairstats._lib.untrusted_tables import load_csv
from fairstats.benchmarks.terms import (
    BASELINE,
    FAMILIES,
    MISSING_POLICIES,
    NEUTRALIZED,
    POOLED,
    POOLED_GROUPS,
    Family,
    MissingPolicy,
)


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


def load_benchmark(source: str | os.PathLike[str], *, confined: bool = False) -> Benchmark:
    """Load a benchmark by the name of a built-in one, or from a file.

    Parameters
    ----------
    source : str or path
        A built-in benchmark's name (``"fairmedqa"``, ``"demo"``) or the path of a ``.toml`` file.
    confined : bool
        Whether its keys and items must be regular files in the folder of the ``.toml`` file, as in
        a release.

    Returns
    -------
    Benchmark

    Raises
    ------
    InputError
        If there is no such benchmark, or the file lacks required declarations or contradicts
        itself.

    Examples
    --------
    >>> demo = load_benchmark("demo")
    >>> demo.attributes["race"].pairs
    (('white', 'black'),)
    """
    path = Path(source)
    if path.suffix != ".toml":
        built_in = builtin_benchmarks()
        if str(source) not in built_in:
            remedy = f"use one of {', '.join(built_in)}, or the path of a benchmark's .toml"
            raise _no_such_benchmark(str(source), remedy)
        path = built_in[str(source)]
    declared = read_toml(path)
    if confined:
        _refuse_other_folders(declared, path)
    return _benchmark(declared, path)


def _refuse_other_folders(declared: Mapping[str, Any], path: Path) -> None:
    """Refuse keys and items that are not regular files in the folder of the file."""
    for key in ("keys_file", "items_file"):
        name = declared.get(key)
        if name is None:
            continue
        file = path.parent / str(name)
        if Path(str(name)).name != name or file.is_symlink() or not file.is_file():
            message, remedy = "is not a regular file in the same folder", "give the name of one"
            raise InputError([Problem(str(path), message, remedy, column=key, value=str(name))])


# Python's TOML reader needs memory quadratic in the number of parts of a dotted key: gigabytes for
# a key of 40 KB.
_TOML_BYTES = 2**20
_TOML_DOTS = 64


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a TOML file, or raise `InputError` if it is missing or broken."""
    text = read_text(path, _TOML_BYTES)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > _TOML_DOTS:
            message = f"line {number} contains more than {_TOML_DOTS} dots"
            raise InputError([Problem(str(path), message, "write long texts on several lines")])
    try:
        return tomllib.loads(text)
    except RecursionError:
        message = "is not valid TOML (nested too deeply)"
        raise InputError([Problem(str(path), message, "correct it")]) from None
    except ValueError as error:  # Also raised for a number with too many digits.
        raise InputError(
            [Problem(str(path), f"is not valid TOML ({error})", "correct it")]
        ) from None


def unknown_keys(
    declared: Mapping[str, Any], known: Collection[str], path: Path, *, table: str = ""
) -> list[Problem]:
    """List unknown keys: a misspelt key would have no effect.

    Parameters
    ----------
    declared : mapping
        The content of the file, or of one of its tables.
    known : collection of str
        The known keys.
    path : Path
        The file.
    table : str
        The name of the table, if it is not the top level of the file.

    Returns
    -------
    list of Problem
        One per unknown key, with the known key that is closest to it.
    """
    problems = []
    for key in declared:
        if key in known:
            continue
        closest = get_close_matches(key, known, n=1)
        remedy = f"did you mean {closest[0]}?" if closest else f"known keys: {', '.join(known)}"
        name = f"{table}.{key}" if table else key
        problems.append(Problem(str(path), "unknown key", remedy, column=name))
    return problems


def refuse_unknown_keys(
    declared: Mapping[str, Any], known: Collection[str], path: Path, *, table: str = ""
) -> None:
    """Refuse the keys that `unknown_keys` lists.

    Parameters
    ----------
    declared, known, path, table
        As in `unknown_keys`.

    Raises
    ------
    InputError
        Names every unknown key, and the known key closest to it.
    """
    if problems := unknown_keys(declared, known, path, table=table):
        raise InputError(problems)


def builtin_benchmarks() -> dict[str, Path]:
    """Return the files of the built-in benchmarks by name."""
    return {path.stem: path for path in sorted(resource("data", "benchmarks").glob("*.toml"))}


def load_benchmarks(
    names: Iterable[str], given: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> dict[str, Benchmark]:
    """Return the benchmarks with these names, from `given` if possible, else built-in ones.

    Raises
    ------
    InputError
        If a name is neither given nor built in.
    """
    known = by_name(given)
    built_in = builtin_benchmarks()
    loaded = {}
    for name in sorted(names):
        # By name only: a value in an answers table must not be opened as a path.
        if name not in known and name not in built_in:
            names = ", ".join({**built_in, **known})
            remedy = (
                f"use one of {names}, or give its .toml file: --benchmark-file, or benchmarks=[…]"
            )
            raise _no_such_benchmark(name, remedy)
        loaded[name] = known[name] if name in known else load_benchmark(built_in[name])
    return loaded


def by_name(given: Iterable[Benchmark] | Mapping[str, Benchmark]) -> Mapping[str, Benchmark]:
    """Return benchmarks by name."""
    return given if isinstance(given, Mapping) else {b.name: b for b in given}


def _no_such_benchmark(name: str, remedy: str) -> InputError:
    return InputError([Problem(name, "no such benchmark", remedy)])


_KEYS = (
    "name",
    "title",
    "description",
    "options",
    "items_file",
    "keys_file",
    "publish_items",
    "missing",
    "equivalence_margin",
    "same_variants_odds_ratio",
    "family",
    "ranking",
    "sources",
    "licence",
    "citation",
    "notes",
    "slanted",
    "swayed_by",
    "changes",
    "pair_terms",
    "read_first",
    "versions",
    "selected_on",
    "attributes",
)
_RANKING_KEYS = ("largest_missing", "lowest_accuracy", "common_items")
_ATTRIBUTE_KEYS = ("label", "groups", "pairs", "crosses", "levels")


_TYPES = {
    **dict.fromkeys(("name", "title", "description", "missing", "licence", "citation"), is_text),
    **dict.fromkeys(("items_file", "keys_file", "family"), is_text),
    **dict.fromkeys(("changes", "read_first", "swayed_by"), is_text),
    **dict.fromkeys(("options", "sources", "notes", "pair_terms"), is_texts),
    **dict.fromkeys(("versions", "selected_on"), is_table_of_texts),
    **dict.fromkeys(("equivalence_margin",), is_number),
    **dict.fromkeys(("attributes", "ranking"), is_table),
}
_NEEDED = (
    "name",
    "title",
    "description",
    "options",
    "missing",
    "equivalence_margin",
    "sources",
    "licence",
    "citation",
    "versions",
    "attributes",
)
_ATTRIBUTE_TYPES = {
    "label": is_text,
    "groups": is_table_of_texts,
    "pairs": is_pairs,
    "crosses": is_texts,
    "levels": is_table_of_lists,
}


def _number_or_none(value: Any) -> float | None:
    return None if value is None else float(value)


def _benchmark(declared: Mapping[str, Any], path: Path) -> Benchmark:
    def wrong(message: str, remedy: str, key: str) -> InputError:
        return InputError([Problem(str(path), message, remedy, column=key)])

    if problems := list(_wrong_layout(declared, path)):
        raise InputError(problems)
    groups, ranking = declared["attributes"], declared.get("ranking", {})
    named = {
        key: file_inside(path.parent, declared[key], path=path, key=key)
        for key in ("items_file", "keys_file")
        if key in declared
    }
    keys: dict[str, str] = {}
    unreadable: tuple[Problem, ...] = ()
    try:
        keys = _answer_keys(named.get("keys_file") or named["items_file"])
    except InputError as error:
        unreadable = error.problems
    try:
        attributes = {
            name: Attribute(
                name=name,
                label=str(entry["label"]),
                groups=MappingProxyType({str(k): str(v) for k, v in entry["groups"].items()}),
                pairs=tuple((str(a), str(b)) for a, b in entry["pairs"]),
                crosses=tuple(str(other) for other in entry.get("crosses", ())),
                levels=MappingProxyType(
                    {
                        str(group): tuple(str(level) for level in levels)
                        for group, levels in entry.get("levels", {}).items()
                    }
                ),
            )
            for name, entry in groups.items()
        }
        items_file = named.get("items_file")
        keys_file = named.get("keys_file") or named["items_file"]
        benchmark = Benchmark(
            name=str(declared["name"]),
            title=str(declared["title"]),
            description=str(declared["description"]),
            versions=MappingProxyType(dict(declared["versions"])),
            attributes=MappingProxyType(attributes),
            options=tuple(declared["options"]),
            answer_keys=MappingProxyType(keys),
            missing=declared["missing"],
            equivalence_margin=float(declared["equivalence_margin"]),
            same_variants_odds_ratio=_number_or_none(declared.get("same_variants_odds_ratio")),
            selected_on=dict(declared.get("selected_on", {})),
            family=declared.get("family", "board"),
            largest_missing=float(ranking.get("largest_missing", 0.05)),
            lowest_accuracy=_number_or_none(ranking.get("lowest_accuracy")),
            common_items=float(ranking.get("common_items", 0.95)),
            sources=tuple(declared["sources"]),
            licence=str(declared["licence"]),
            citation=str(declared["citation"]),
            notes=tuple(declared.get("notes", ())),
            slanted=declared.get("slanted", False) is True,
            swayed_by=str(declared.get("swayed_by", "")),
            changes=str(declared.get("changes") or _changes(attributes)),
            pair_terms=_pair_terms(declared.get("pair_terms", ("first", "second"))),
            read_first=str(declared.get("read_first") or next(iter(declared.get("notes", ())), "")),
            items_file=items_file,
            publish_items=declared.get("publish_items", False) is True,
            keys_file=keys_file,
            path=path,
        )
    except KeyError as error:
        raise wrong("is missing", "add it", str(error.args[0])) from None
    except (AttributeError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise wrong(f"has an invalid layout ({error})", "see demo.toml", "file") from None
    if problems := [*unreadable, *_contradictions(benchmark)]:
        raise InputError(problems)
    return benchmark


def _wrong_layout(declared: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    """Return unknown keys, missing ones, and values of the wrong type."""
    yield from unknown_keys(declared, _KEYS, path)
    yield from other_types(declared, _TYPES, path, needed=_NEEDED)
    ranking = declared.get("ranking", {})
    if is_table(ranking):
        yield from unknown_keys(ranking, _RANKING_KEYS, path, table="ranking")
        numbers = dict.fromkeys(_RANKING_KEYS, is_number)
        yield from other_types(ranking, numbers, path, table="ranking")
    attributes = declared.get("attributes", {})
    for name, entry in attributes.items() if is_table(attributes) else ():
        of = f"attributes.{name}"
        if not is_table(entry):
            yield from other_types(attributes, {name: is_table}, path, table="attributes")
            continue
        yield from unknown_keys(entry, _ATTRIBUTE_KEYS, path, table=of)
        needed = ("label", "groups", "pairs")
        yield from other_types(entry, _ATTRIBUTE_TYPES, path, table=of, needed=needed)
    smallest = declared.get("same_variants_odds_ratio", 2.5)
    if not is_number(smallest) or not 1 < smallest < math.inf:
        message, remedy = "must be a number above 1", "correct it, or remove it"
        yield Problem(str(path), message, remedy, column="same_variants_odds_ratio")
    for key in ("publish_items", "slanted"):
        if not isinstance(declared.get(key, False), bool):
            message, remedy = "must be true or false", "write true or false"
            yield Problem(str(path), message, remedy, column=key)
    terms = declared.get("pair_terms", ["", ""])
    if is_texts(terms) and len(terms) != 2:
        remedy = "give a word for the first and one for the second group"
        yield Problem(str(path), "must be two words", remedy, column="pair_terms")
    if declared.get("options") == []:
        remedy = "declare at least one option"
        yield Problem(str(path), "is empty", remedy, column="options")
    if "keys_file" not in declared and "items_file" not in declared:
        yield Problem(str(path), "is missing", "add it, or add items_file", column="keys_file")


def _contradictions(benchmark: Benchmark) -> Iterator[Problem]:
    """Return invalid values of a benchmark, and declarations that contradict each other."""

    def wrong(message: str, remedy: str, key: str, value: str | None = None) -> Problem:
        return Problem(str(benchmark.path), message, remedy, column=key, value=value)

    attributes = benchmark.attributes
    for attribute in attributes.values():
        of = f"attributes.{attribute.name}"
        as_sets = [frozenset(pair) for pair in attribute.pairs]
        if not as_sets and len(attributes) == len(attribute.groups) == 1:
            # Questions without variants, to compare models and strategies.
            continue
        if not as_sets or len(set(as_sets)) < len(as_sets) or min(map(len, as_sets)) < 2:
            remedy = "declare at least one pair of two groups, and each pair only once. "
            remedy += "Only a single attribute with a single group needs no pair"
            yield wrong("has no pair, or an invalid pair", remedy, f"{of}.pairs")
        in_pairs = dict.fromkeys(group for pair in attribute.pairs for group in pair)
        for group in in_pairs:
            if group not in attribute.groups:
                remedy = f"add it to the groups of {attribute.name}"
                yield wrong("unknown group", remedy, f"{of}.pairs", group)
        for message, remedy in _wrong_crossing(attribute, attributes):
            yield wrong(message, remedy, of)
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
    if benchmark.missing not in MISSING_POLICIES:
        remedy = f"use one of {', '.join(MISSING_POLICIES)}"
        yield wrong("unknown policy", remedy, "missing", benchmark.missing)
    outside = sorted(set(benchmark.answer_keys.values()) - set(benchmark.options))
    if outside:
        message = f"keys that are not options: {', '.join(outside)}"
        yield Problem(str(benchmark.keys_file), message, "correct the keys or the options")
    if not 0 < benchmark.equivalence_margin < 1:
        value = str(benchmark.equivalence_margin)
        yield wrong("must be between 0 and 1", "correct it", "equivalence_margin", value)
    if benchmark.family not in FAMILIES:
        remedy = f"use one of {', '.join(FAMILIES)}"
        yield wrong("unknown family", remedy, "family", benchmark.family)
    for key in _RANKING_KEYS:
        number = getattr(benchmark, key)
        if number is not None and not 0 <= number <= 1:
            message = "must be a proportion from 0 to 1"
            yield wrong(message, "correct it", f"ranking.{key}", str(number))


def _changes(attributes: Mapping[str, Attribute]) -> str:
    """Return the varied attributes, worded to complete "depends on …"."""
    names = [a.label[:1].lower() + a.label[1:] for a in attributes.values() if a.name != BASELINE]
    return "the " + " or ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def _pair_terms(declared: Iterable[str]) -> tuple[str, str]:
    first, second, *_ = (*map(str, declared), "", "")
    return first, second


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


def _answer_keys(path: Path) -> dict[str, str]:
    # A device or a pipe might never end.
    if not path.is_file():
        raise InputError([Problem(str(path), "no such file", "correct keys_file or items_file")])
    rows: list[dict[str, Any]]
    if path.suffix == ".jsonl":
        rows = read_json_lines(path)
    else:
        table = load_csv(path).astype(object)
        for column in ("item_id", "answer_key"):
            if column not in table:
                raise InputError([Problem(str(path), "is missing", "add it", column=column)])
        rows = table.where(table.notna(), None).to_dict("records")
    keys: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        for column in ("item_id", "answer_key"):
            if not isinstance(row.get(column), str | int) or isinstance(row[column], bool):
                remedy = "write the item's name and the letter of its answer key"
                raise InputError(
                    [Problem(str(path), "must be text", remedy, row=number, column=column)]
                )
        item = str(row["item_id"])
        if item in keys:
            message = "the item appears twice"
            raise InputError(
                [Problem(str(path), message, "drop one", row=number, column="item_id", value=item)]
            )
        keys[item] = str(row["answer_key"])
    return keys
