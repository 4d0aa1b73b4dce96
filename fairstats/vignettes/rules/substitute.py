"""Write variants of items by plain substitution, like counterfactual patient variations (CPV).

Only the words that name a group are inserted into the neutralized vignette, before the noun that
first mentions the patient. The article is corrected. Everything else stays the same, including the
neutral pronouns.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import pandas as pd
from pydantic import Field

from fairstats._lib.formatting import capital
from fairstats._lib.problems import InputError, Problem, input_error, refuse
from fairstats._lib.safe_names import file_sha256
from fairstats._lib.table_text import table_csv
from fairstats._lib.toml_files import Flag, Number, Table, must, parse, read_toml
from fairstats._lib.untrusted_files import read_json_lines
from fairstats.benchmarks.benchmark_files import (
    attribute_table,
    check_name,
    item_lines,
    toml_text,
    write_benchmark,
)
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, ORIGINAL, POOLED, Attribute
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import Item, load_items
from fairstats.vignettes.rules.filtering import left_over_group, sex_specific_word
from fairstats.vignettes.rules.persons import Mention, NotFound, find_mention, put_in

_EXAMPLE = "data/substitutions/cpv.toml"


@dataclass(frozen=True)
class Groups:
    """The attributes for which variants are written.

    Parameters
    ----------
    attributes : tuple of Attribute
        As declared by the benchmark, without the baseline.
    words : Mapping[str, str]
        The text inserted for each group, by the group's name.
    sex_specific : bool
        Whether one of them is unsound for items on sex-specific conditions.
    minimum_age : float
        The age in years below which one of them is unsound.
    """

    attributes: tuple[Attribute, ...]
    words: Mapping[str, str]
    sex_specific: bool
    minimum_age: float


def load_groups(path: Path) -> Groups:
    """Read a declaration of groups as in ``data/substitutions/cpv.toml``."""
    tables = parse(_Groups, read_toml(path), path, example=_EXAMPLE).attributes
    problems = [
        Problem(str(path), message, remedy, column=f"attributes.{where}")
        for where, message, remedy in _faults(tables)
    ]
    refuse(problems)
    words: dict[str, str] = {}
    attributes: dict[str, Attribute] = {}
    for name, table in tables.items():
        levels: dict[str, tuple[str, str]] = {}
        if table.crosses:
            first, second = (attributes[other] for other in table.crosses)
            # The reference of each comes first, so that the crossing's reference does too.
            cells = list(itertools.product(_reference_first(first), _reference_first(second)))
            levels = {"_".join(cell): cell for cell in cells}
            words |= {group: " ".join(words[level] for level in levels[group]) for group in levels}
        words |= table.groups
        groups = list(levels or table.groups)
        reference = table.reference or groups[0]
        attributes[name] = Attribute(
            name=name,
            label=table.label,
            groups=MappingProxyType({group: capital(words[group]) for group in groups}),
            pairs=tuple((reference, group) for group in groups if group != reference),
            crosses=table.crosses or (),
            levels=MappingProxyType(levels),
        )
    return Groups(
        attributes=tuple(attributes.values()),
        words=MappingProxyType(words),
        sex_specific=any(table.sex_specific for table in tables.values()),
        minimum_age=max(table.minimum_age for table in tables.values()),
    )


def _reference_first(attribute: Attribute) -> list[str]:
    reference = attribute.pairs[0][0]
    return [reference, *(group for group in attribute.groups if group != reference)]


def is_name(value: str) -> bool:
    """Return whether this may be a name of a group, or a word to insert into a text."""
    return 0 < len(value) <= 60 and value.isprintable() and value == value.strip()


_Word = Annotated[
    str,
    must(
        is_name, "must be up to 60 printable characters", "write the words to insert into the text"
    ),
]
_Age = Annotated[
    Number,
    must(lambda value: 0 <= value < 150, "must be an age in years", "write a number"),
]


class _Attribute(Table):
    label: _Word
    groups: dict[str, _Word] = Field(default_factory=dict)
    reference: str | None = None
    crosses: tuple[str, str] | None = None
    sex_specific: Flag = False
    minimum_age: _Age = 0


class _Groups(Table):
    attributes: Annotated[dict[str, _Attribute], must(bool, "has no attribute", f"see {_EXAMPLE}")]


def _faults(tables: Mapping[str, _Attribute]) -> Iterator[tuple[str, str, str]]:
    """Return contradictions of the declared attributes: (key, message, remedy)."""
    seen = {ORIGINAL, NEUTRALIZED}
    plain: dict[str, list[str]] = {}
    for name, table in tables.items():
        if name in (BASELINE, POOLED):
            yield name, "is a reserved name", "use another name"
        if table.crosses is not None:
            first, second = table.crosses
            if first == second or first not in plain or second not in plain:
                remedy = "give two earlier attributes that do not cross others"
                yield f"{name}.crosses", "must cross two other attributes", remedy
                continue
            if table.groups or table.reference is not None:
                yield name, "must not declare groups", "remove them: they follow from `crosses`"
            groups = ["_".join(cell) for cell in itertools.product(plain[first], plain[second])]
        else:
            groups = plain[name] = list(table.groups)
            if len(groups) < 2:
                message, remedy = "must have two or more groups", "give each group its word"
                yield f"{name}.groups", message, remedy
                continue
            if len({word.lower() for word in table.groups.values()}) < len(groups):
                remedy = "give each group a different word"
                yield f"{name}.groups", "has the same word twice", remedy
            if table.reference not in groups:
                remedy = "give the privileged group, with which the others are compared"
                yield f"{name}.reference", "must be one of the groups", remedy
        for group in groups:
            if not is_name(group):
                yield f"{name}.groups", f"{group!r} is not a valid name", "use up to 60 characters"
            if group in seen:
                message = "is already the name of another variant"
                yield f"{name}.groups.{group}", message, "use another name"
            seen.add(group)


@dataclass(frozen=True)
class Substituted:
    """The result of a substitution."""

    path: Path
    items: int
    variants: int
    left_out: pd.DataFrame


def substitute(
    items: Path, *, groups: Path, out: Path, name: str, keep_sex_specific: bool = False
) -> Substituted:
    """Write variants of items for declared groups, and the benchmark that uses them.

    Parameters
    ----------
    items : Path
        JSON Lines with ``item_id``, ``options``, ``answer_key`` and ``variants``. Of the variants,
        only ``neutralized`` and, if present, ``original`` are read.
    groups : Path
        The groups and their words, as in ``data/substitutions/cpv.toml``.
    out : Path
        The folder for ``<name>.toml``, ``<name>.jsonl`` and ``<name>.left_out.csv``.
    name : str
        The name of the benchmark.
    keep_sex_specific : bool
        Whether to keep items on sex-specific conditions, which are left out if the groups require
        it.

    Raises
    ------
    InputError
        If the items or the groups cannot be used, no item is left, or different files with these
        names exist. Nothing is then written.
    """
    check_name(name)
    declared = load_groups(groups)
    given = _load_items(items)
    written = []
    left_out = []
    for item in given:
        mention = _sound_mention(item, declared, keep_sex_specific=keep_sex_specific)
        if isinstance(mention, NotFound):
            left_out.append((item.item_id, mention.reason))
        else:
            written.append(_with_variants(item, mention, declared))
    if not written:
        raise InputError(
            [
                Problem(str(items), reason, "no items are left", column="item_id", value=item_id)
                for item_id, reason in left_out
            ]
        )
    table = pd.DataFrame(left_out, columns=["item_id", "reason"], dtype="str")
    made_from = (
        f"{len(written)} of the {len(given)} items of {items.name} (sha256 {file_sha256(items)}), "
        f"with the words of {groups.name} (sha256 {file_sha256(groups)})"
        + (", sex-specific items kept" if keep_sex_specific else "")
    )
    declaration = _declaration(name, written[0], declared, made_from)
    if ORIGINAL not in given[0].variants:
        declaration["notes"].append(
            "The items had no original vignette. The neutralized one is used in its place, so the "
            "baseline is not informative."
        )
    contents = {
        f"{name}.left_out.csv": table_csv(table),
        f"{name}.jsonl": item_lines(written),
        f"{name}.toml": toml_text(declaration),
    }
    path = write_benchmark(out, contents, source=items)
    return Substituted(path, len(written), len(written[0]["variants"]), table)


def _sound_mention(item: Item, groups: Groups, *, keep_sex_specific: bool) -> Mention | NotFound:
    """Return the first mention of an item's patient, or why the item is left out."""
    text = item.variants[NEUTRALIZED]
    mention = find_mention(text)
    if isinstance(mention, NotFound):
        return mention
    if mention.age is not None and mention.age < groups.minimum_age:
        return NotFound(f"the patient is younger than {groups.minimum_age:g} years")
    whole = "\n".join([text, *item.options.values()])
    if named := left_over_group(whole, groups.words.values()):
        return NotFound(f"the neutralized text or an option still names a group: {named}")
    if groups.sex_specific and not keep_sex_specific and (word := sex_specific_word(whole)):
        return NotFound(f"sex-specific: {word}")
    return mention


def _with_variants(item: Item, mention: Mention, groups: Groups) -> dict[str, Any]:
    """Return the item as a line of an items file, in all its variants."""
    neutral = item.variants[NEUTRALIZED]
    variants = {group: put_in(neutral, mention.start, w) for group, w in groups.words.items()}
    return {
        "item_id": item.item_id,
        "options": dict(item.options),
        "answer_key": item.answer_key,
        "variants": {ORIGINAL: neutral} | dict(item.variants) | variants,
    }


def _load_items(path: Path) -> list[Item]:
    """Return the items, checked as those of a benchmark; the neutralized vignette is required."""
    if not path.is_file():
        raise input_error(path, "no such file", "check the path")
    rows = read_json_lines(path)
    has_original = any(
        isinstance(row.get("variants"), Mapping) and ORIGINAL in row["variants"] for row in rows
    )
    groups = [ORIGINAL, NEUTRALIZED] if has_original else [NEUTRALIZED]
    if rows and not (isinstance(rows[0].get("options"), Mapping) and rows[0]["options"]):
        remedy = "give the text of each option by its letter"
        raise input_error(path, "the first item has none", remedy, row=1, column="options")
    return unnamed_items(path, rows[0].get("options") if rows else None, groups)


def unnamed_items(path: Path, options: object, groups: Iterable[str]) -> list[Item]:
    """Read items that belong to no benchmark yet."""
    # Any benchmark will do: only the letters and the groups are checked.
    benchmark = replace(
        load_benchmark("demo"),
        options=tuple(options) if isinstance(options, Mapping) else (),
        attributes=MappingProxyType({BASELINE: baseline_of(groups)}),
        items_file=path,
    )
    return load_items(benchmark)


def baseline_of(groups: Iterable[str] = (ORIGINAL, NEUTRALIZED)) -> Attribute:
    """Return the attribute that compares the original vignette with the neutralized one."""
    labels = MappingProxyType({group: group.capitalize() for group in groups})
    return Attribute(BASELINE, "Baseline", labels, ((ORIGINAL, NEUTRALIZED),))


def _declaration(
    name: str, item: Mapping[str, Any], groups: Groups, made_from: str
) -> dict[str, Any]:
    notes = [
        "Made by plain substitution: the words for a group were put before the noun of the first "
        "mention of the patient in the neutralized vignette. Nothing else differs; neutral "
        "pronouns stay.",
        "It has not been judged item by item whether the right answer is the same for every group.",
    ]
    return {
        "name": name,
        "title": name,
        "description": "Clinical vignettes. Their variants differ only in the words for a group.",
        "options": list(item["options"]),
        "items_file": f"{name}.jsonl",
        "missing": "available",
        "equivalence_margin": 0.02,
        "sources": [made_from],
        "licence": "That of the items it was made from",
        "citation": "The items it was made from",
        "notes": notes,
        "versions": {"1": made_from},
        "attributes": {
            attribute.name: attribute_table(attribute)
            for attribute in (*groups.attributes, baseline_of())
        },
    }
