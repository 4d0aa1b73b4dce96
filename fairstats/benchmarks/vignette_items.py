"""The items of a benchmark: texts in all their variants, and their released files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import Problem, input_error, keyword, refuse
from fairstats._lib.safe_names import file_sha256
from fairstats._lib.untrusted_files import is_unicode, read_json_lines
from fairstats._lib.untrusted_tables import load_parquet
from fairstats.benchmarks.declaration import BASELINE, Benchmark
from fairstats.benchmarks.loading import load_benchmark

#: Columns of the released AMQA items: one per option, and one per group's vignette.
AMQA_OPTIONS = MappingProxyType({letter: f"option_{letter}" for letter in "ABCD"})
AMQA_VARIANTS = MappingProxyType(
    {
        "original": "original_question",
        "neutralized": "desensitized_question",
        "white": "adv_question_white",
        "black": "adv_question_black",
        "male": "adv_question_male",
        "female": "adv_question_female",
        "high_income": "adv_question_high_income",
        "low_income": "adv_question_low_income",
    }
)


@dataclass(frozen=True)
class Item:
    """One item, such as a clinical vignette, in all its variants.

    Parameters
    ----------
    item_id : str
        Its name, unique in the benchmark.
    options : Mapping[str, str]
        The text of each option by letter, in the benchmark's order; for other kinds of answers the
        label of each option, and none for scores.
    answer_key : str
        The correct option or number; empty if there is none.
    variants : Mapping[str, str]
        The text as written for each group, by group name.
    cluster : str or None
        What it shares with other items, if only the items file has it.
    """

    item_id: str
    options: Mapping[str, str]
    answer_key: str
    variants: Mapping[str, str]
    cluster: str | None = None


@dataclass(frozen=True)
class Vignettes:
    """The items of a benchmark with their text.

    Parameters
    ----------
    benchmark : Benchmark
        Declares their attributes, groups and pairs.
    items : tuple of Item
        Every item has a neutralized variant, and one for each group of each declared attribute.
    path : Path
        The file with the text.
    sha256 : str
        Of that file.
    """

    benchmark: Benchmark
    items: tuple[Item, ...]
    path: Path
    sha256: str

    def variants(self) -> Iterator[tuple[Item, str, str, str]]:
        """Return every variant of every demographic attribute: item, attribute, group, text."""
        for item in self.items:
            for attribute in self.benchmark.varied:
                for group in attribute.groups:
                    if group in item.variants:
                        yield item, attribute.name, group, item.variants[group]


def load_items(benchmark: Benchmark) -> list[Item]:
    """Read the items of a benchmark and check that every variant can be used in a prompt.

    Parameters
    ----------
    benchmark : Benchmark
        Its ``items_file`` has one JSON object per line, with ``item_id`` and ``variants``, and for
        a choice ``options`` and ``answer_key``; other fields are ignored. Other kinds of answers
        have the options of the benchmark. An attribute that another one crosses may have no
        variants.

    Raises
    ------
    InputError
        If the benchmark has no vignettes, or an item lacks the vignette of a declared group, has
        different options from the benchmark, repeats another item's name, or is in no cluster if
        the benchmark has them. Its ``problems`` name each file, row, field and value.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> sorted(load_items(load_benchmark("demo"))[0].options)
    ['A', 'B', 'C', 'D']
    """
    if benchmark.items_file is None:
        raise input_error(
            benchmark.path,
            f"{benchmark.name} is shipped without the texts of its vignettes, so models cannot "
            "be queried",
            "declare an items_file, or collect the answers elsewhere and import them",
        )
    path = str(benchmark.items_file)
    if not benchmark.items_file.is_file():
        raise input_error(path, "no such file", "correct items_file")
    rows = read_json_lines(benchmark.items_file)
    if not rows:
        raise input_error(path, "the file contains no items", "add items to it")
    groups = _written_groups(rows, benchmark)
    if benchmark.kind.needs_key:
        return _checked(rows, benchmark.options, groups, path)
    labels = {option: benchmark.labels.get(option, option) for option in benchmark.options}
    column = None if benchmark.clusters else benchmark.cluster
    return [
        replace(
            item,
            options=MappingProxyType(labels),
            answer_key=benchmark.answer_keys.get(item.item_id, ""),
            cluster=None if column is None else str(row[column]),
        )
        for item, row in zip(_checked(rows, (), groups, path, cluster=column), rows, strict=True)
    ]


def _written_groups(rows: Sequence[Mapping[str, Any]], benchmark: Benchmark) -> list[str]:
    """Return the groups that items need, without those of crossed attributes if no item has any."""
    crossed = {name for attribute in benchmark.attributes.values() for name in attribute.crosses}
    there: set[str] = set()
    for row in rows:
        there.update(row["variants"] if isinstance(row.get("variants"), Mapping) else ())
    return [
        group
        for attribute in benchmark.attributes.values()
        if attribute.name not in crossed or there & set(attribute.groups)
        for group in attribute.groups
    ]


def read_vignettes(source: AnyPath, *, benchmark: AnyPath | Benchmark | None = None) -> Vignettes:
    """Read the items of a benchmark with the text of all their variants.

    Parameters
    ----------
    source : path or str
        A benchmark's ``.toml``, or the name of a built-in one with vignettes; JSON Lines as read by
        `fairstats.benchmarks.vignette_items.load_items`; or the parquet file of items released by
        the AMQA authors.
    benchmark : str, path or Benchmark, optional
        The benchmark that declares the attributes and groups of an items file. By default, the
        ``.toml`` of the same name for JSON Lines, and ``fairmedqa`` for the released parquet file.

    Raises
    ------
    InputError
        If a file is missing or has another format, no benchmark declares its groups, or an item
        lacks something that the benchmark declares. Its ``problems`` name file, row, column and
        value.

    Examples
    --------
    >>> vignettes = read_vignettes("demo")
    >>> len(vignettes.items), vignettes.benchmark.varied_names
    (24, ['race', 'sex', 'ses'])
    """
    path = Path(source)
    if path.suffix == ".parquet":
        declared = _declared(benchmark or "fairmedqa")
        lacking = [group for _, group in declared.variants if group not in AMQA_VARIANTS]
        if lacking:
            message = f"{declared.name} has a group that is not in the released items"
            remedy = "give the benchmark that these items belong to"
            raise input_error(path, message, remedy, value=lacking[0])
        items, file = read_amqa_items(path), path
    elif path.suffix in {".jsonl", ".ndjson"}:
        beside = path.with_suffix(".toml")
        if not path.is_file():
            raise input_error(path, "no such file", "check the path")
        if benchmark is None and not beside.is_file():
            message = "no benchmark declares the groups of these items"
            remedy = f"give one with {keyword('benchmark')}"
            raise input_error(path, message, remedy, column=str(beside))
        declared = replace(_declared(benchmark or beside), items_file=path)
        items, file = load_items(declared), path
    else:
        declared = load_benchmark(source)
        items = load_items(declared)
        assert declared.items_file is not None  # load_items refuses anything else.
        file = declared.items_file
    if BASELINE not in declared.attributes:
        message = "has no neutralized variants to compare the others with"
        raise input_error(path, message, "add them", column="attributes.baseline")
    return Vignettes(declared, tuple(items), file, file_sha256(file))


def _declared(benchmark: AnyPath | Benchmark) -> Benchmark:
    return benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark)


def read_amqa_items(path: Path) -> list[Item]:
    """Read ``items.parquet`` as released by the AMQA authors.

    Parameters
    ----------
    path : Path
        With ``question_id``, ``option_A`` to ``option_D``, ``answer_idx``, and one column for each
        of the eight variants.
    """
    if not path.is_file():
        raise input_error(path, "no such file", "check the path")
    needed = ["question_id", "answer_idx", *AMQA_OPTIONS.values(), *AMQA_VARIANTS.values()]
    table = load_parquet(path, needed)
    if lacking := [column for column in needed if column not in table]:
        remedy = "use items.parquet as the AMQA authors released it"
        raise input_error(path, "is missing", remedy, column=", ".join(lacking))
    rows = [
        {
            "item_id": row["question_id"],
            "options": {letter: row[column] for letter, column in AMQA_OPTIONS.items()},
            "answer_key": row["answer_idx"],
            "variants": {group: row[column] for group, column in AMQA_VARIANTS.items()},
        }
        for row in table[needed].astype(object).to_dict("records")
    ]
    columns = {"item_id": "question_id", "answer_key": "answer_idx"}
    columns |= {f"options.{letter}": column for letter, column in AMQA_OPTIONS.items()}
    columns |= {f"variants.{group}": column for group, column in AMQA_VARIANTS.items()}
    return _checked(rows, tuple(AMQA_OPTIONS), list(AMQA_VARIANTS), str(path), columns=columns)


def _checked(
    rows: Sequence[Mapping[str, Any]],
    letters: Sequence[str],
    groups: Sequence[str],
    path: str,
    *,
    columns: Mapping[str, str] = MappingProxyType({}),
    cluster: str | None = None,
) -> list[Item]:
    """Return the items, or refuse all faulty ones; `columns` renames fields in problems.

    Without `letters`, items have no options and no keys.
    """
    problems: list[Problem] = []
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        faults = [*_faults(row, letters, groups, seen), *_cluster_faults(row, cluster)]
        for field, value, message, remedy in faults:
            column, shown = columns.get(field, field), None if value is None else str(value)
            problems.append(Problem(path, message, remedy, row=number, column=column, value=shown))
        seen.add(str(row.get("item_id")))
    refuse(problems)
    return [
        Item(
            item_id=row["item_id"],
            options=MappingProxyType({letter: row["options"][letter] for letter in letters}),
            answer_key=row["answer_key"] if letters else "",
            variants=MappingProxyType({group: row["variants"][group] for group in groups}),
        )
        for row in rows
    ]


def _faults(
    row: Mapping[str, Any], letters: Sequence[str], groups: Sequence[str], seen: set[str]
) -> Iterator[tuple[str, Any, str, str]]:
    """Yield the errors in one item: (field, value, message, remedy)."""
    item_id, options = row.get("item_id"), row.get("options")
    key, variants = row.get("answer_key"), row.get("variants")
    named = ", ".join(letters)
    if not is_text(item_id):
        yield "item_id", item_id, "must be text", "name the item"
    elif item_id in seen:
        yield "item_id", item_id, "another item has the same name", "give each item a unique name"
    if letters and (not isinstance(options, Mapping) or set(options) != set(letters)):
        found = list(options) if isinstance(options, Mapping) else options
        message = "the letters differ from the benchmark's"
        yield "options", found, message, f"give one text for each of {named}"
    elif isinstance(options, Mapping) and letters:
        for letter, text in options.items():
            if not is_text(text):
                yield f"options.{letter}", text, "must be text", "write the text of the option"
    if letters and key not in letters:
        yield "answer_key", key, "is not one of the option letters", f"use one of {named}"
    if not isinstance(variants, Mapping):
        yield "variants", variants, "must contain one vignette for each group", "add them"
        return
    for group in groups:
        if not is_text(variants.get(group)):
            yield f"variants.{group}", variants.get(group), "no vignette for this group", "write it"


def _cluster_faults(
    row: Mapping[str, Any], column: str | None
) -> Iterator[tuple[str, Any, str, str]]:
    """Yield the error if an item is in no cluster."""
    if column is not None and type(row.get(column)) not in (str, int):
        yield column, row.get(column), "must be text", "write what the item belongs to"


def is_text(value: object) -> bool:
    """Return whether this is non-empty text that UTF-8 can encode."""
    return isinstance(value, str) and value.strip() != "" and is_unicode(value)
