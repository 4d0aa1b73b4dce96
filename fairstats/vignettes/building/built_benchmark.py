"""A built benchmark: its items, its variants, and their outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

from fairstats._lib.json_csv_records import (
    Record,
    csv_records,
    importable_files,
    json_lines,
    json_value,
)
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.untrusted_files import refuse_links
from fairstats.benchmarks.benchmark_files import check_name
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, POOLED
from fairstats.ratings.collection.subjects import MAX_TEXT, is_name
from fairstats.vignettes.building.attempts import OUTCOMES
from fairstats.vignettes.building.declaration import Keep
from fairstats.vignettes.building.folder import (
    BUILD,
    FILTERED,
    ITEMS,
    NEUTRALIZED_ITEMS,
    VARIANTS,
)
from fairstats.vignettes.rules.groups import ORIGINAL

#: Item, attribute and group: the key of a variant.
Key = tuple[str, str, str]
_DECLARED = ("name", "title", "licence", "citation", "agents", "keep", "attributes", "options")


@dataclass(frozen=True)
class BuiltItem:
    """An item that was neutralized.

    Parameters
    ----------
    item_id : str
        Its name.
    options : Mapping[str, str]
        The text of each option by letter.
    answer_key : str
        The letter of the right option.
    original, neutralized : str
        The original vignette, and the one without demographic words.
    """

    item_id: str
    options: Mapping[str, str]
    answer_key: str
    original: str
    neutralized: str


@dataclass(frozen=True)
class Variant:
    """One variant after the last round.

    Parameters
    ----------
    key : tuple of str
        Its item, attribute and group.
    text : str
        The whole vignette; empty if there is none.
    outcome : str
        The outcome of validation.
    kept : bool
        Whether the build's rule keeps it.
    problems : tuple of str
        Its errors.
    """

    key: Key
    text: str
    outcome: str
    kept: bool
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Built:
    """A folder of ``fairstats vignettes run``.

    Parameters
    ----------
    path : Path
        The folder.
    declared : Mapping
        The content of ``build.json``.
    items : Mapping[str, BuiltItem]
        The items that were neutralized, in order.
    variants : Mapping[Key, Variant]
        The variants of these items.
    filtered : tuple of Mapping
        ``item_id``, ``kept`` (boolean), ``decided_by`` and ``reason`` of every source item.
    not_neutral : Mapping[str, str]
        Why an item that passed the filter has no neutral text.
    """

    path: Path
    declared: Mapping[str, Any]
    items: Mapping[str, BuiltItem]
    variants: Mapping[Key, Variant]
    filtered: tuple[Mapping[str, Any], ...]
    not_neutral: Mapping[str, str]

    @property
    def name(self) -> str:
        return str(self.declared["name"])

    @property
    def groups(self) -> tuple[tuple[str, str], ...]:
        """Return every attribute and group for which an item has a variant, in order."""
        attributes = self.declared["attributes"]
        return tuple((name, group) for name, one in attributes.items() for group in one["groups"])

    def keys(self, item_id: str) -> tuple[Key, ...]:
        """Return the required variants of an item."""
        return tuple((item_id, attribute, group) for attribute, group in self.groups)

    def kept(self, key: Key) -> bool:
        """Return whether this variant exists and the build's rule keeps it."""
        variant = self.variants.get(key)
        return variant is not None and variant.text != "" and variant.kept

    @property
    def complete(self) -> tuple[str, ...]:
        """Return the items with every variant kept by the build; only these can be released."""
        return tuple(i for i in self.items if all(map(self.kept, self.keys(i))))


def read_built(folder: Path) -> Built:
    """Read the result of building a benchmark from its folder.

    Raises
    ------
    InputError
        If a file is missing, or does not have the format that ``fairstats vignettes run`` writes.
    """
    if not (folder / BUILD).is_file():
        remedy = "give the folder written by `fairstats vignettes run`"
        raise InputError([Problem(str(folder), f"contains no {BUILD}", remedy)])
    refuse_links([path for path in folder.iterdir() if path.suffix in (".json", ".jsonl", ".csv")])
    declared = json_value(folder / BUILD)
    if problems := list(_wrong_build(declared, str(folder / BUILD))):
        raise InputError(problems)
    check_name(str(declared["name"]))
    groups = [(n, g) for n, one in declared["attributes"].items() for g in one["groups"]]
    problems = []
    items: dict[str, BuiltItem] = {}
    for record in _records(folder / ITEMS):
        problems += _said(_wrong_item(record.fields, items, declared["options"]), folder / ITEMS,
                          record)  # fmt: skip
        if not problems and record.fields["neutralized"]:
            items[record.fields["item_id"]] = _item(record.fields, declared["options"])
    variants: dict[Key, Variant] = {}
    known = {item.item_id for item in items.values()}
    for record in _records(folder / VARIANTS) if not problems else ():
        wrong = list(_wrong_variant(record.fields, variants, known, groups))
        problems += _said(wrong, folder / VARIANTS, record)
        if not wrong:
            variant = _variant(record.fields)
            variants[variant.key] = variant
    filtered = []
    for record in _records(folder / FILTERED):
        kept = {"true": True, "false": False}.get(str(record.fields.get("kept")).lower())
        if not record.fields.get("item_id") or kept is None:
            no_row: Wrong = ("kept", record.fields.get("kept"), "must have item_id and kept")
            problems += _said([no_row], folder / FILTERED, record)
        filtered.append(
            {name: record.fields.get(name) or "" for name in ("item_id", "decided_by", "reason")}
            | {"kept": kept}
        )
    if problems:
        raise InputError(problems)
    return Built(folder, declared, items, variants, tuple(filtered), _not_neutral(folder))


def _not_neutral(folder: Path) -> dict[str, str]:
    path = folder / NEUTRALIZED_ITEMS
    rows = [record.fields for record in _records(path)] if path.is_file() else []
    return {str(row.get("item_id")): str(row["reason"]) for row in rows if row.get("reason")}


def _records(path: Path) -> list[Record]:
    """Return the rows of a file; one of JSON Lines may be empty."""
    if path.suffix == ".jsonl" and path.is_file() and path.stat().st_size == 0:
        return []
    importable_files(path, None, (".jsonl", ".csv"))
    return json_lines(path) if path.suffix == ".jsonl" else csv_records(path)


Wrong = tuple[str, Any, str]


def _said(wrong: Iterable[Wrong], path: Path, record: Record) -> list[Problem]:
    remedy = "use the folder as `fairstats vignettes run` wrote it"
    return [
        Problem(
            str(path),
            message,
            remedy,
            row=record.row,
            column=column,
            value=None if v is None else str(v),
        )
        for column, v, message in wrong
    ]


def _wrong_build(declared: Any, path: str) -> Iterator[Problem]:
    remedy = "use the folder as `fairstats vignettes run` wrote it"
    if not isinstance(declared, dict):
        yield Problem(path, "must be an object", remedy)
        return
    for name in _DECLARED:
        if name not in declared:
            yield Problem(path, "is missing", remedy, column=name)
    if declared.get("keep", "sound") not in get_args(Keep):
        yield Problem(path, "is unknown", remedy, column="keep", value=str(declared["keep"]))
    for name in ("name", "title", "licence", "citation"):
        if not isinstance(declared.get(name, ""), str):
            yield Problem(path, "must be text", remedy, column=name)
    options = declared.get("options", [])
    if not isinstance(options, list) or not all(isinstance(o, str) and o for o in options):
        yield Problem(path, "must be a list of letters", remedy, column="options")
    agents = declared.get("agents", {})
    if not isinstance(agents, dict) or not all(isinstance(a, dict) for a in agents.values()):
        yield Problem(path, "must be a table of stages", remedy, column="agents")
    seen: set[str] = {ORIGINAL, NEUTRALIZED}
    attributes = declared.get("attributes", {})
    for name, one in attributes.items() if isinstance(attributes, dict) else [("", None)]:
        column = f"attributes.{name}"
        one = one if isinstance(one, dict) else {}
        groups = one.get("groups")
        if not is_name(name) or name in (BASELINE, POOLED) or not isinstance(groups, dict):
            yield Problem(path, "must be an attribute with groups", remedy, column=column)
            continue
        if not {"label", "pairs"} <= {*one}:
            yield Problem(path, "needs label and pairs", remedy, column=column)
        for group in groups:
            # An item's variants are named by their groups alone.
            if not is_name(group) or group in seen:
                message = "is not a valid name, or is also a group of another attribute"
                yield Problem(path, message, "rename the group", column=column, value=group)
            seen.add(group)


def _wrong_item(
    row: Mapping[str, Any], seen: Mapping[str, object], letters: list[str]
) -> Iterator[Wrong]:
    item_id, options = row.get("item_id"), row.get("options")
    if not isinstance(item_id, str) or not is_name(item_id) or item_id in seen:
        yield "item_id", item_id, "is not a valid name, or appears twice"
    if not isinstance(options, dict) or {*options} != {*letters}:
        yield "options", options, f"must have the letters {', '.join(letters)}"
    elif not all(isinstance(text, str) for text in options.values()):
        yield "options", options, "must contain only text"
    if row.get("answer_key") not in letters:
        yield "answer_key", row.get("answer_key"), "must be one of the options"
    for name in (ORIGINAL, NEUTRALIZED):
        if not _is_text(row.get(name)):
            yield name, None, "must be text"


def _item(row: Mapping[str, Any], letters: list[str]) -> BuiltItem:
    options = MappingProxyType({letter: row["options"][letter] for letter in letters})
    return BuiltItem(
        row["item_id"], options, row["answer_key"], row[ORIGINAL], row[NEUTRALIZED]
    )  # fmt: skip


def _wrong_variant(
    row: Mapping[str, Any],
    seen: Mapping[Key, object],
    items: set[str],
    groups: list[tuple[str, str]],
) -> Iterator[Wrong]:
    item_id, attribute, group = (row.get(name) for name in ("item_id", "attribute", "group"))
    if item_id not in items:
        yield "item_id", item_id, "is not a neutralized item"
    elif (attribute, group) not in groups:
        yield "group", f"{attribute}, {group}", "is not declared"
    elif (item_id, attribute, group) in seen:
        yield "item_id", item_id, f"has two variants for {attribute}, {group}"
    if row.get("text") is not None and not _is_text(row["text"]):
        yield "text", None, "must be text that is not too long to judge"
    if row.get("outcome") not in OUTCOMES:
        yield "outcome", row.get("outcome"), f"must be one of {', '.join(OUTCOMES)}"
    if not isinstance(row.get("kept"), bool):
        yield "kept", row.get("kept"), "must be true or false"
    if not isinstance(row.get("problems", []), list):
        yield "problems", row["problems"], "must be a list"


def _variant(row: Mapping[str, Any]) -> Variant:
    key = (row["item_id"], row["attribute"], row["group"])
    problems = tuple(map(str, row.get("problems", [])))
    return Variant(key, row.get("text") or "", row["outcome"], row["kept"], problems)


def _is_text(value: object) -> bool:
    """Return whether UTF-8 can encode this, and a person can read it."""
    return (
        isinstance(value, str)
        and len(value) <= MAX_TEXT
        and not any("\ud800" <= character <= "\udfff" for character in value)
    )
