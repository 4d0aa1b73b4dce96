"""Read a benchmark with the text of its vignettes, in the released file formats."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256
from fairstats._lib.untrusted_tables import load_parquet
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.terms import BASELINE
from fairstats.benchmarks.vignette_items import Item, load_items

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
                    yield item, attribute.name, group, item.variants[group]


def read_vignettes(
    source: str | os.PathLike[str], *, benchmark: str | os.PathLike[str] | Benchmark | None = None
) -> Vignettes:
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

    Returns
    -------
    Vignettes

    Raises
    ------
    InputError
        If a file is missing or has another format, no benchmark declares its groups, or an item
        lacks something that the benchmark declares. Its ``problems`` name file, row, column and
        value.

    Examples
    --------
    >>> vignettes = read_vignettes("demo")
    >>> len(vignettes.items), [a.name for a in vignettes.benchmark.varied]
    (24, ['race', 'sex', 'ses'])
    """
    path = Path(source)
    if path.suffix == ".parquet":
        found = _released(path, _declared(benchmark or "fairmedqa"))
    elif path.suffix in {".jsonl", ".ndjson"}:
        beside = path.with_suffix(".toml")
        if not path.is_file():
            raise InputError([Problem(str(path), "no such file", "check the path")])
        if benchmark is None and not beside.is_file():
            message, remedy = (
                "no benchmark declares the groups of these items",
                "give one with --benchmark-file",
            )
            raise InputError([Problem(str(path), message, remedy, column=str(beside))])
        declared = replace(_declared(benchmark or beside), items_file=path)
        found = Vignettes(declared, tuple(load_items(declared)), path, file_sha256(path))
    else:
        declared = load_benchmark(source)
        items = tuple(load_items(declared))
        assert declared.items_file is not None  # load_items refuses anything else.
        found = Vignettes(declared, items, declared.items_file, file_sha256(declared.items_file))
    if BASELINE not in found.benchmark.attributes:
        message = "has no neutralized variants to compare the others with"
        problem = Problem(str(path), message, "add them", column="attributes.baseline")
        raise InputError([problem])
    return found


def _declared(benchmark: str | os.PathLike[str] | Benchmark) -> Benchmark:
    return benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark)


def _released(path: Path, benchmark: Benchmark) -> Vignettes:
    """Read the items as released by the AMQA authors."""
    items = tuple(read_amqa_items(path))
    lacking = [group for _, group in benchmark.variants if group not in AMQA_VARIANTS]
    if lacking:
        message = f"{benchmark.name} has a group that is not in the released items"
        remedy = "give the benchmark that these items belong to"
        raise InputError([Problem(str(path), message, remedy, value=lacking[0])])
    return Vignettes(benchmark, items, path, file_sha256(path))


def read_amqa_items(path: Path) -> list[Item]:
    """Read ``items.parquet`` as released by the AMQA authors.

    Parameters
    ----------
    path : Path
        With ``question_id``, ``option_A`` to ``option_D``, ``answer_idx``, and one column for each
        of the eight variants.

    Returns
    -------
    list of Item
        In the order of the file.

    Raises
    ------
    InputError
        If there is no such file, a column is missing, a value is not text, an item's name is
        duplicated, or a key is not one of the letters.
    """
    if not path.is_file():
        raise InputError([Problem(str(path), "no such file", "check the path")])
    needed = ["question_id", "answer_idx", *AMQA_OPTIONS.values(), *AMQA_VARIANTS.values()]
    table = load_parquet(path, needed)
    if lacking := [column for column in needed if column not in table]:
        remedy = "use items.parquet as the AMQA authors released it"
        raise InputError([Problem(str(path), "is missing", remedy, column=", ".join(lacking))])
    rows = table[needed].astype(object).to_dict("records")
    remedy = "use the file as released"
    problems = [
        Problem(str(path), "is not text", remedy, row=number, column=str(column), value=str(value))
        for number, row in enumerate(rows, start=1)
        for column, value in row.items()
        if not isinstance(value, str) or not value.strip()
    ]
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        name, key = str(row["question_id"]), str(row["answer_idx"])
        if name in seen:
            message = "another item has the same name"
            problems.append(
                Problem(str(path), message, remedy, row=number, column="question_id", value=name)
            )
        if key not in AMQA_OPTIONS:
            message = "is not one of the option letters"
            problems.append(
                Problem(str(path), message, remedy, row=number, column="answer_idx", value=key)
            )
        seen.add(name)
    if problems:
        raise InputError(problems)
    return [
        Item(
            item_id=row["question_id"],
            options=MappingProxyType({k: row[column] for k, column in AMQA_OPTIONS.items()}),
            answer_key=row["answer_idx"],
            variants=MappingProxyType({k: row[column] for k, column in AMQA_VARIANTS.items()}),
        )
        for row in rows
    ]
