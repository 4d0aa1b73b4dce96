"""Load benchmark files: a TOML file with a declaration, and a file with the answer keys."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from fairstats._lib.formatting import counted, number_word, uncapital
from fairstats._lib.installation import resource
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import InputError, Problem, input_error, keyword, refuse
from fairstats._lib.safe_names import essential_letters, plain_letters
from fairstats._lib.toml_files import (
    Fault,
    Flag,
    Number,
    Proportion,
    Table,
    must,
    parse,
    read_toml,
    texts_of,
    unshowable,
)
from fairstats._lib.untrusted_files import file_inside, read_json_lines
from fairstats._lib.untrusted_tables import load_csv
from fairstats.benchmarks.contradictions import contradictions
from fairstats.benchmarks.declaration import (
    BASELINE,
    COMMON_ITEMS,
    LARGEST_MISSING,
    Attribute,
    Benchmark,
    Family,
    MissingPolicy,
    folded,
    level_values,
    spelled_levels,
)
from fairstats.benchmarks.kinds import KINDS, Words

if TYPE_CHECKING:
    import pandas as pd

#: The longest option; its full text can be a label.
MOST_OPTION = 60


def _option(value: Any) -> Any:
    # Numbers are options as a reader would write them.
    return str(value) if type(value) is int else f"{value:g}" if type(value) is float else value


def _are_options(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return tuple(map(_option, value))


Options = Annotated[
    tuple[str, ...],
    BeforeValidator(_are_options),
    must(
        lambda options: all(
            0 < len(one) <= MOST_OPTION and one == one.strip() and one.isprintable()
            for one in options
        ),
        f"must be texts of 1 to {MOST_OPTION} characters without spaces at the ends",
        "shorten them; the full texts can be declared as labels",
    ),
]
Limits = Annotated[
    tuple[float, float],
    BeforeValidator(
        lambda value: (
            tuple(map(float, value))
            if isinstance(value, list) and all(type(one) in (int, float) for one in value)
            else value
        )
    ),
]
NotNegative = Annotated[
    Number, must(lambda value: value >= 0, "must not be negative", "correct it")
]
AboveOne = Annotated[
    float,
    must(
        lambda value: type(value) in (int, float) and 1 < value < math.inf,
        "must be a number above 1",
        "correct it, or remove it",
        validator=BeforeValidator,
    ),
]


class AttributeTable(Table):
    """The declaration of an `Attribute`."""

    label: str
    groups: dict[str, str]
    pairs: tuple[tuple[str, str], ...]
    crosses: tuple[str, ...] = ()
    levels: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    control: Flag = False

    @model_validator(mode="after")
    def _has_groups(self) -> Self:
        for group in (group for pair in self.pairs for group in pair):
            if group not in self.groups:
                message, remedy = "unknown group", "add it to the groups of the attribute"
                raise Fault(message, remedy, column="pairs", value=group)
        return self

    def named(self, name: str) -> Attribute:
        """Return the attribute."""
        groups, levels = MappingProxyType(self.groups), MappingProxyType(self.levels)
        made = (name, self.label, groups, self.pairs, self.crosses, levels)
        return Attribute(*made, control=self.control)


class _Words(Table):
    """The nouns of a benchmark's sentences, see `Words`."""

    item: str = "item"
    items: str = ""
    cluster: str = "cluster"
    clusters: str = ""
    subject: str = "person"
    subjects: str = ""
    setting: str = ""
    source: str = ""

    def full(self) -> Words:
        """Return the words; a plural that is not given ends in s."""
        given = self.model_dump()
        if given["subject"] == Words.subject:
            given["subjects"] = given["subjects"] or Words.subjects
        plurals = {
            f"{name}s": given[f"{name}s"] or f"{given[name]}s"
            for name in ("item", "cluster", "subject")
        }
        return Words(**given | plurals)


class _Ranking(Table):
    """The rules for a rank."""

    largest_missing: Proportion = LARGEST_MISSING
    lowest_accuracy: Proportion | None = None
    common_items: Proportion = COMMON_ITEMS


class _Declaration(Table):
    """A benchmark file; see `fairstats.benchmarks.declaration.Benchmark`."""

    name: str
    title: str
    description: str
    kind: Literal["choice", "decision", "level", "score"] = "choice"
    options: Options = ()
    labels: dict[str, str] = Field(default_factory=dict)
    favourable: Options = ()
    higher: str = ""
    limits: Limits | None = None
    same_within: NotNegative = 0.0
    worse: Literal["lowest", "highest"] = "lowest"
    cluster: str | None = None
    words: _Words = Field(default_factory=_Words)
    items_file: str | None = None
    keys_file: str | None = None
    publish_items: Flag = False
    missing: MissingPolicy
    equivalence_margin: Number
    same_variants_odds_ratio: AboveOne | None = None
    family: Family = "board"
    ranking: _Ranking = Field(default_factory=_Ranking)
    sources: tuple[str, ...]
    licence: str
    citation: str
    notes: tuple[str, ...] = ()
    slanted: Flag = False
    swayed_by: str = ""
    changes: str = ""
    pair_terms: tuple[str, str] = ("first", "second")
    read_first: str = ""
    versions: dict[str, str]
    selected_on: dict[str, str] = Field(default_factory=dict)
    attributes: dict[str, AttributeTable]

    @field_validator("equivalence_margin")
    @classmethod
    def _is_share(cls, margin: float, of: ValidationInfo) -> float:
        # `contradictions` checks other units, but only if the rest of the file is right.
        kind = KINDS.get(of.data.get("kind", ""))
        if kind is not None and not kind.numeric and not 0 < margin < 1:
            raise Fault("must be between 0 and 1", "correct it; it is a share")
        return margin

    @model_validator(mode="after")
    def _has_keys(self) -> Self:
        if self.kind == "choice" and self.keys_file is None and self.items_file is None:
            raise Fault("is missing", "add it, or add items_file", column="keys_file")
        if self.kind != "score" and not self.options:
            raise Fault("is missing", "add it", column="options")
        if self.kind == "score" and self.limits is None:
            remedy = "give the lowest and the highest score, e.g. limits = [0, 27]"
            raise Fault("is missing", remedy, column="limits")
        if self.kind != "score" and self.limits is not None:
            remedy = "remove it; the limits are the first and the last option"
            raise Fault("is used for scores only", remedy, column="limits")
        return self


def load_benchmark(source: AnyPath, *, confined: bool = False) -> Benchmark:
    """Load a benchmark by the name of a built-in one, or from a file.

    Parameters
    ----------
    source : str or path
        A built-in benchmark's name (``"fairmedqa"``, ``"demo"``) or the path of a ``.toml`` file.
    confined : bool
        Whether it is the copy in a release. Its keys and items must then be regular files in the
        folder of the ``.toml`` file.

    Returns
    -------
    Benchmark

    Raises
    ------
    InputError
        If there is no such benchmark, or the file lacks required declarations, contradicts itself
        or has the name of a built-in benchmark that it declares differently, also as its title.

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
        return _load_once(built_in[str(source)])
    declared = read_toml(path)
    if confined:
        _refuse_other_folders(declared, path)
        return replace(_benchmark(declared, path), of_release=True)
    benchmark = _benchmark(declared, path)
    _refuse_built_in_names([benchmark], keys=("name", "title"))
    return benchmark


@cache
def _load_once(built_in: Path) -> Benchmark:
    """Load a built-in benchmark: its files do not change, and every analysis needs it again."""
    return _benchmark(read_toml(built_in), built_in)


def _refuse_other_folders(declared: Mapping[str, Any], path: Path) -> None:
    """Refuse keys and items that are not regular files in the folder of the file."""
    for key in ("keys_file", "items_file"):
        name = declared.get(key)
        if name is None:
            continue
        file = path.parent / str(name)
        if Path(str(name)).name != name or file.is_symlink() or not file.is_file():
            message, remedy = "is not a regular file in the same folder", "give the name of one"
            raise input_error(path, message, remedy, column=key, value=str(name))


def builtin_benchmarks() -> dict[str, Path]:
    """Return the files of the built-in benchmarks by name."""
    return {path.stem: path for path in sorted(resource("data", "benchmarks").glob("*.toml"))}


def load_benchmarks(
    names: Iterable[str], given: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> dict[str, Benchmark]:
    """Return the benchmarks with these names, from `given`, else built-in ones."""
    known = by_name(given)
    built_in = builtin_benchmarks()
    loaded = {}
    for name in sorted(names):
        # By name only: a value in an answers table must not be opened as a path.
        if name not in known and name not in built_in:
            names = ", ".join({**built_in, **known})
            remedy = f"use one of {names}, or give its declaration with {keyword('benchmarks')}"
            raise _no_such_benchmark(name, remedy)
        loaded[name] = known[name] if name in known else _load_once(built_in[name])
    return loaded


def by_name(given: Iterable[Benchmark] | Mapping[str, Benchmark]) -> Mapping[str, Benchmark]:
    """Return benchmarks by name.

    Raises
    ------
    InputError
        If one has the name of a built-in benchmark or of another one given, but declares something
        else.
    """
    named = list(given.values() if isinstance(given, Mapping) else given)
    _refuse_built_in_names(named)
    found: dict[str, Benchmark] = {}
    for benchmark in named:
        first = found.setdefault(benchmark.name, benchmark)
        if first is not benchmark and first.sha256 != benchmark.sha256:
            message = f"has the name of {first.path}, but a different declaration"
            place = {"column": "name", "value": benchmark.name}
            raise input_error(benchmark.path, message, "give only one", **place)
    return found


def _refuse_built_in_names(
    benchmarks: Iterable[Benchmark], keys: Iterable[str] = ("name",)
) -> None:
    """Refuse benchmarks that have a built-in one's name but declare something else.

    Readers expect the benchmark that they know by this name, with its margin, its limits and its
    list of models that selected the items. A name that looks the same is the same to them.
    """
    problems = []
    for benchmark in benchmarks:
        taken = [key for key in keys if _is_replaced(benchmark, key)]
        if taken and not benchmark.of_release:
            key = taken[0]
            message = "has the name of a built-in benchmark, but a different declaration"
            remedy = f"choose another {key}"
            remedy += ", also in the answers' column `benchmark`" * (key == "name")
            place = {"column": key, "value": getattr(benchmark, key)}
            problems.append(Problem(str(benchmark.path), message, remedy, **place))
    refuse(problems)


def _is_replaced(benchmark: Benchmark, key: str) -> bool:
    """Return whether a name or title looks like a built-in one, but the benchmark is another."""
    path = _known_names().get(essential_letters(getattr(benchmark, key)))
    return path is not None and benchmark.sha256 != _load_once(path).sha256


@cache
def _known_names() -> dict[str, Path]:
    known: dict[str, Path] = {}
    for name, path in builtin_benchmarks().items():
        # The demonstration is made to be copied: its title names no known benchmark.
        title = name if name == "demo" else read_toml(path)["title"]
        known |= {essential_letters(text): path for text in (name, title)}
    return known


def _no_such_benchmark(name: str, remedy: str) -> InputError:
    return input_error(name, "no such benchmark", remedy)


def _benchmark(declared: Mapping[str, Any], path: Path) -> Benchmark:
    table = parse(_Declaration, declared, path, example="demo.toml")
    named = {
        key: file_inside(path.parent, name, path=path, key=key)
        for key, name in (("items_file", table.items_file), ("keys_file", table.keys_file))
        if name is not None
    }
    keys_file = named.get("keys_file") or named.get("items_file")
    rows: list[_Item] = []
    unreadable: tuple[Problem, ...] = ()
    kind = KINDS[table.kind]
    # Keys and items can be in one file.
    lines_of = cache(read_json_lines)
    try:
        if keys_file is not None:
            rows = _listed_items(keys_file, table.cluster, lines_of, needs_key=kind.needs_key)
        items_file = named.get("items_file")
        if items_file not in (None, keys_file) and items_file.is_file():
            unreadable = tuple(repeated_items(lines_of(items_file), items_file))
    except InputError as error:
        unreadable = error.problems
    limits = table.limits or (0.0, 1.0)
    if table.kind == "level" and table.options:
        values = list(level_values(table.options).values())
        limits = (values[0], values[-1])
    attributes = {name: entry.named(name) for name, entry in table.attributes.items()}
    attributes = {name: _with_levels(one, attributes) for name, one in attributes.items()}
    same = {
        one.name: getattr(table, one.name)
        for one in fields(Benchmark)
        if one.name in _Declaration.model_fields
    }
    made = {
        "versions": MappingProxyType(table.versions),
        "attributes": MappingProxyType(attributes),
        "kind": kind,
        "labels": MappingProxyType(table.labels),
        "words": table.words.full(),
        "limits": limits,
        "listed": tuple(row.item for row in rows),
        "clusters": MappingProxyType({r.item: r.cluster for r in rows if r.cluster is not None}),
        "answer_keys": MappingProxyType({r.item: r.key for r in rows if r.key is not None}),
        "changes": table.changes or _changes(attributes, table.words.subject),
        "read_first": table.read_first or next(iter(table.notes), ""),
        "items_file": named.get("items_file"),
        "keys_file": keys_file,
        "path": path,
    }
    benchmark = Benchmark(**same | table.ranking.model_dump() | made)
    # A spreadsheet writes level 2 as 2.0.
    keys = {item: benchmark.canonical(key) or key for item, key in benchmark.answer_keys.items()}
    benchmark = replace(benchmark, answer_keys=MappingProxyType(keys))
    if not unreadable:
        unreadable = _unvaried(benchmark, lines_of)
    refuse(
        [
            *unreadable,
            *unshowable(_shown(declared), path, long=_LONG_TEXTS, named=_NAMED),
            *contradictions(benchmark),
        ]
    )
    return benchmark


#: What may be long.
_LONG_TEXTS = ("description", "notes", "read_first", "citation", "licence", "sources")
#: The keys of names that readers need.
_NAMED = ("title", "label", "groups", "labels", "item", "cluster", "subject")


def _shown(declared: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the texts of a file that are shown, with their keys; names are checked as such."""
    for key, text in texts_of(declared):
        if key != "name" and not key.endswith(".pairs"):
            yield key, text
    selected_on = declared.get("selected_on")
    for model in selected_on if isinstance(selected_on, Mapping) else ():
        yield "selected_on", model


def _with_levels(attribute: Attribute, attributes: Mapping[str, Attribute]) -> Attribute:
    """Return a crossed attribute with levels from its groups' names, such as ``white+male``."""
    if attribute.levels or len(attribute.crosses) != 2:
        return attribute
    first, second = (attributes[n].groups if n in attributes else {} for n in attribute.crosses)
    levels = {}
    for group in attribute.groups:
        found = spelled_levels(group, first, second)
        if len(found) != 1:
            return attribute
        levels[group] = found[0]
    return replace(attribute, levels=MappingProxyType(levels))


# More attributes than these are counted in "depends on …", not named.
_MOST_NAMES = 4


def _changes(attributes: Mapping[str, Attribute], subject: str) -> str:
    """Return the varied attributes, worded to complete "depends on …"."""
    whose = "" if subject == Words.subject else f"the {subject}’s "
    labels = [
        attribute.label
        for attribute in attributes.values()
        if attribute.name != BASELINE and not attribute.control
        # With `pairs = []`, a crossing gives the gaps of its two attributes only.
        if attribute.pairs or not attribute.crosses
    ]
    names = [uncapital(label) for label in labels]
    if len(names) > _MOST_NAMES:
        of = "" if subject == Words.subject else f" of the {subject}"
        return f"any of {number_word(len(names))} attributes{of}"
    return whose + " or ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


#: Reads the objects of a JSON Lines file.
_LinesOf = Callable[[Path], list[dict[str, Any]]]
#: The columns of a file without variants that have an item's text, and its fewest characters.
_TEXT_COLUMNS = ("question", "vignette", "text", "prompt")
_LEAST_TEXT = 40


def repeated_items(rows: Iterable[Mapping[str, Any]], path: Path) -> list[Problem]:
    """Return a problem for each item with the texts, options and key of an earlier one.

    Copies of an item are no further evidence, but would count as such. Rows without texts cannot
    be compared.
    """
    first: dict[tuple[object, ...], object] = {}
    problems = []
    for number, row in enumerate(rows, start=1):
        options, variants = (
            own if isinstance(own, Mapping) else {}
            for own in (row.get("options"), row.get("variants"))
        )
        written = (*map(row.get, _TEXT_COLUMNS), *variants.values())
        texts = {text for text in map(_same_text, written) if len(text) >= _LEAST_TEXT}
        key = row.get("answer_key")
        named = _same_text(options.get(key, key)) if isinstance(key, str) else str(key)
        item = (frozenset(texts), frozenset(map(_same_text, options.values())), named)
        known = first.setdefault(item, row.get("item_id")) if texts else row.get("item_id")
        if known != row.get("item_id"):
            message = f"has the texts and the key of item {known}"
            value = str(row.get("item_id"))
            problem = Problem(
                str(path), message, "remove one", row=number, column="item_id", value=value
            )
            problems.append(problem)
    return problems


def _unvaried(benchmark: Benchmark, lines_of: _LinesOf) -> tuple[Problem, ...]:
    """Return a problem for each pair of groups with one text: every model would be fair."""
    if benchmark.items_file is None or not benchmark.items_file.is_file():
        return ()
    found = [row.get("variants") for row in lines_of(benchmark.items_file)]
    texts = [
        {group: _same_text(text) for group, text in own.items()} if isinstance(own, Mapping) else {}
        for own in found
    ]
    problems = []
    for attribute, pairs in _compared(benchmark):
        for a, b in pairs:
            same = sum(len(own.get(a, "")) >= _LEAST_TEXT and own[a] == own.get(b) for own in texts)
            if same > benchmark.largest_missing * len(texts):
                message = f"{a} and {b} have the same text in {counted(same, 'item')}"
                remedy = (
                    "write a variant for each group, or leave these items out; for what makes no "
                    "difference, declare control = true"
                )
                path, column = str(benchmark.items_file), f"attributes.{attribute.name}"
                problems.append(Problem(path, message, remedy, column=column))
    return tuple(problems)


def _compared(benchmark: Benchmark) -> Iterator[tuple[Attribute, Sequence[tuple[str, str]]]]:
    """Yield each attribute with the pairs of its own variants that give its gaps, or others'."""
    for one in benchmark.varied:
        yield one, one.pairs
        for of in (benchmark.attributes[name] for name in one.crosses if not one.pairs):
            for layer in one.layers(of).values():
                yield one, [(layer[a], layer[b]) for a, b in of.pairs]


def _same_text(value: object) -> str:
    """Return a text without what nobody sees in a copy: case, white space, other such letters."""
    if not isinstance(value, str):
        return ""
    return folded(value if value.isascii() else plain_letters(value))


class _Item(NamedTuple):
    item: str
    key: str | None
    cluster: str | None


def _records(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows one at a time: a million dictionaries at once take half a gigabyte."""
    return (dict(zip(table, row, strict=True)) for row in table.itertuples(index=False, name=None))


def _listed_items(
    path: Path, cluster: str | None, lines_of: _LinesOf, *, needs_key: bool
) -> list[_Item]:
    """Return the items that a file lists, with their keys and clusters if it has them."""
    wrong = partial(input_error, path)
    # A device or a pipe might never end.
    if not path.is_file():
        raise wrong("no such file", "correct keys_file or items_file")
    rows: Callable[[], Iterator[dict[str, Any]]]
    if path.suffix == ".jsonl":
        rows = partial(iter, lines_of(path))
    else:
        table = load_csv(path).astype(object)
        for column in ("item_id", "answer_key") if needs_key else ("item_id",):
            if column not in table:
                raise wrong("is missing", "add it", column=column)
        rows = partial(_records, table.where(table.notna(), None))
    found: dict[str, _Item] = {}
    clustered = cluster is not None and any(row.get(cluster) is not None for row in rows())
    remedies = {
        "item_id": "write the item's name",
        "answer_key": "write the item's answer key",
        str(cluster): f"write what the item belongs to, in every row or in none ({cluster})",
    }
    needed = ["item_id", *["answer_key"] * needs_key, *[str(cluster)] * clustered]
    refuse(repeated_items(rows(), path))
    for number, row in enumerate(rows(), start=1):
        for column in needed:
            if type(row.get(column)) not in (str, int):
                raise wrong("must be text", remedies[column], row=number, column=column)
        item = str(row["item_id"])
        # Two names that look alike would be two items.
        if item != item.strip() or not item.isprintable():
            message = "must be visible characters without spaces at the ends"
            raise wrong(message, "correct the name", row=number, column="item_id", value=item)
        if item in found:
            message = "the item appears twice"
            raise wrong(message, "drop one", row=number, column="item_id", value=item)
        given = row.get("answer_key")
        key = f"{given:.15g}" if type(given) is float else None if given is None else str(given)
        found[item] = _Item(item, key, str(row[str(cluster)]) if clustered else None)
    return list(found.values())
