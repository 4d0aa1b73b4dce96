"""Settings of an import that would change what the answers show, found over all of its files."""

from __future__ import annotations

import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import pandas as pd

from fairstats._lib.formatting import counted, listed
from fairstats._lib.problems import Note, Problem, first_of, keyword
from fairstats._lib.records import Record
from fairstats.benchmarks.declaration import folded, is_number
from fairstats.benchmarks.refusals import odd_numbers
from fairstats_collectors.import_mapping import Mapped
from fairstats_collectors.mapping_files import (
    ABSENT,
    OPTIONS,
    Limits,
    field_names,
    found,
    has_values,
    plain_number,
    value_at,
)

# Rows that spreadsheets have below a table.
_TOTAL = re.compile("(?:(?:grand |sub)?total|sum|mean|average)s?:?", re.IGNORECASE)
# Fewer answers may all be right by chance.
_FEWEST = 20
# The columns whose translations change what an answer is.
_TOLD = ("answer", "answer_raw", "status", "answer_key", "item_id")
# The columns that can change a verdict although no answer changes.
_SETTINGS = (
    *("benchmark_version", "sample", "snapshot"),
    *("temperature", "seed", "prompt_sha256"),
)
# The columns whose values are named otherwise, see `Guards.check`.
_NAMES = ("group", "model", "strategy")
_LONGEST = 200
_MOST_TOLD = 30
#: Problems of a record: (column, value, message, remedy).
Wrong = list[tuple[str, str | None, str, str]]


@dataclass
class Guards:
    """Collect over the files of an import what no single file shows.

    Attributes
    ----------
    mapped : Mapped
        How records become answers.
    paths : list of str
        The files.
    given_as : dict
        The options that the files have for each option that translated values make of them.
    told : dict
        How often each column, text and meaning was translated, by model and strategy.
    called : dict
        What the files call each model and strategy.
    origins : Counter
        How many answers are from which fields, except for columns of groups.
    right, answers : int
        The answers that are their key, and all.
    fields : set of str
        The fields of the answers.
    others : dict
        For each other field, whether all of its values are options, and whether one is not the key.
    options : dict
        The text of each option of an item, by letter, without and with case and outer signs: in the
        benchmark, or in the first record of the item if the benchmark has no texts.
    unread : set of str
        The fields with the name of a setting, if it is read from another field or given.
    reordered : set
        The places of records that list the options in another order than the benchmark.
    """

    mapped: Mapped
    paths: list[str] = field(default_factory=list)
    given_as: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    told: dict[tuple[str, str], Counter[tuple[str, str, str]]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    called: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    origins: Counter[str] = field(default_factory=Counter)
    right: int = 0
    answers: int = 0
    fields: set[str] = field(default_factory=set)
    others: dict[str, tuple[bool, bool]] = field(default_factory=dict)
    options: dict[str, tuple[dict[str, str], dict[str, str]]] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    reordered: set[tuple[str, str, int]] = field(default_factory=set)

    def read(self, path: Path, kept: Sequence[Record], limits: Limits) -> Iterator[Problem]:
        """Report fields that all records lack, that are both answer and key, and rows of totals."""
        mapped = self.mapped
        self.paths.append(str(path))
        for column, name in mapped.columns.items():
            # The name was probably mistyped.
            if kept and all(value_at(record.fields, name) is ABSENT for record in kept):
                message = f"no record has the field {name!r}"
                remedy = f"use one of {field_names(kept[0].fields)}"
                yield Problem(str(path), message, remedy, column=column)
        both: dict[str, set[str]] = {"answer": set(), "answer_raw": set()}
        totals = {}
        settings = {column: column for column in _SETTINGS}
        if mapped.benchmark.cluster and not mapped.benchmark.clusters:
            settings["cluster"] = mapped.benchmark.cluster
        for record in kept:
            of_key = mapped.fields_of(record, "answer_key")
            for column, names in both.items():
                names |= mapped.sources_of(record, column) & of_key
            for column, own in settings.items():
                given = record.fields.get(own)
                known = given in (None, "", mapped.constants.get(column))
                if not known and own not in mapped.sources_of(record, column):
                    self.unread.add(own)
            named = record.fields.get("benchmark")
            if isinstance(named, str) and folded(named) != folded(mapped.benchmark.name):
                self.unread.add("benchmark")
            if (answer := mapped.translated(mapped.value(record.fields, "answer"))) is not None:
                self.given_as[answer[1]].add(answer[0])
            for column in ("model", "item_id"):
                value = mapped.value(record.fields, column)
                if isinstance(value, str) and _TOTAL.fullmatch(value.strip()):
                    totals[record.path, record.row] = named_column(record, column), value
            limits.check()
        for column, names in both.items():
            message = "is also the field of the column answer_key, so every answer would be right"
            remedy = f"give the field of the model's answers with {from_field(column)}"
            for name in sorted(names):
                yield Problem(str(path), message, remedy, column=column, value=name)
        message, remedy = "is a row of totals, not of answers", "remove this row"
        for (of, row), (place, value) in totals.items():
            yield Problem(of or str(path), message, remedy, row=row, column=place, value=value)

    def _translations(self, record: Record) -> Iterator[tuple[str, str, str]]:
        """Yield the values of a record that are translated: column, text and meaning."""
        mapped = self.mapped
        for column, told in mapped.values.items():
            if column in mapped.constants or column in _NAMES:
                continue
            # A cell without an answer may be the text of a status.
            names = {"status", "answer"} if column == "status" else {column}
            texts = {str(mapped.value(record.fields, name)) for name in names}
            for text in texts & told.keys():
                if mapped.benchmark.named(text) != told[text] and text != told[text]:
                    yield column, text, told[text]

    def check(self, kept: Sequence[Record], answers: pd.DataFrame) -> None:
        """Count answers by where they are from; look for keys in place of answers."""
        for column in ("model", "strategy"):
            for record, name in zip(kept, answers[column], strict=True):
                if isinstance(text := self.mapped.value(record.fields, column), str | int | float):
                    self.called[column, name].add(plain_number(text))
        names = (answers[name] for name in ("model", "strategy", "attribute", "group"))
        for record, model, strategy, attribute, group in zip(kept, *names, strict=True):
            told = self.told[model, strategy]
            told.update(self._translations(record))
            origin = self._of_answer(record)
            # Columns of groups hold answers too, and importers fill the fields of these names.
            if not record.columns and origin.isdisjoint(("answer", "answer_raw")):
                self.origins[" and ".join(sorted(origin))] += 1
            text = _group_source(record, attribute, group, self.mapped)
            label = self.mapped.benchmark.attributes[attribute].groups[group]
            # "black" is a word of "Answer black", and not of "white_run2".
            if not any(_words(name) <= _words(text) for name in (group, label)):
                told["group", text, group] += 1
        if "answer_key" not in answers:
            return
        right = (answers["answer"] == answers["answer_key"]).fillna(False)
        self.answers += len(answers)
        self.right += int(right.sum())
        if self.right < self.answers or not self.mapped.benchmark.kind.needs_key:
            return
        for record, key in zip(kept, answers["answer_key"], strict=True):
            if self.place(record) in self.reordered:
                continue  # Letters of other fields are those of another order.
            used = {name for column in answers for name in self.mapped.sources_of(record, column)}
            self.fields |= self._of_answer(record)
            for name, value in record.fields.items():
                if name in used or value is None or value == "":
                    continue
                option = (
                    self.mapped.benchmark.named(plain_number(value))
                    if isinstance(value, (str, int, float))
                    else None
                )
                possible, differs = self.others.get(name, (True, False))
                self.others[name] = possible and option is not None, differs or option != key

    def own_letters(
        self, item: str, texts: Mapping[str, str], wrong: Wrong, *, has_key: bool
    ) -> dict[str, str]:
        """Return the benchmark's letter of each option of a record; empty in the same order."""
        known = self.mapped.texts.get(item)
        if item not in self.options:
            first = known or texts
            self.options[item] = plain_options(first), plain_options(first, folds=False)
        (own, exact), shown = self.options[item], plain_options(texts)
        if len(set(own.values())) < len(own):
            # Only case or outer signs tell them apart: "AA", "Aa".
            exactly = plain_options(texts, folds=False)
            if own != shown or set(exact.values()) == set(exactly.values()):
                own, shown = exact, exactly
        letters = {text: letter for letter, text in own.items()}
        found = {
            letter: letter if own.get(letter) == text else letters[text]
            for letter, text in shown.items()
            if text in letters
        }
        others = [letter for letter in shown if letter not in found]
        if len(others) == 1:
            # One text may be written otherwise.
            found |= dict(zip(others, own.keys() - set(found.values()), strict=False))
        moved = any(letter != one for letter, one in found.items())
        if not moved and (len(others) <= 1 or has_key or not known):
            return {}
        if known and sorted(found.values()) == sorted(shown):
            return found
        of, remedy = "the benchmark", "give the texts of the benchmark's options, or the keys"
        if not known:
            of, remedy = "an earlier record of the item", "add items_file to the benchmark"
        message = f"are not those of {of}, or in another order"
        wrong.append((OPTIONS, None, message, remedy))
        return {}

    def place(self, record: Record) -> tuple[str, str, int]:
        """Return where a record of the file that is read is, as rows of several files are alike."""
        return self.paths[-1], record.path, record.row

    def _of_answer(self, record: Record) -> set[str]:
        of = self.mapped.sources_of(record, "answer")
        return of or self.mapped.sources_of(record, "answer_raw")

    def problems(self) -> Iterator[Problem]:
        """Report options that become one answer, and a field of the keys in place of answers."""
        path = first_of(self.paths)
        for option, names in self.given_as.items():
            if len(names) > 1:
                message = f"the options {listed(sorted(names))} would become one answer"
                remedy = f"translate only texts that are no options: {keyword('values')}"
                yield Problem(path, message, remedy, column="answer", value=option)
        if not self._all_right:
            return
        others = [name for name, found in self.others.items() if all(found)]
        if others:
            message = f"is the key in all {self.answers:,} rows, and the answers could be in "
            message += listed(sorted(others), "or")
            remedy = f"give the field of the model's answers with {from_field('answer')}; if the "
            remedy += "model is always right, remove the other fields"
            yield Problem(path, message, remedy, column="answer", value=listed(sorted(self.fields)))

    @property
    def _all_right(self) -> bool:
        return self.right == self.answers >= _FEWEST

    def notes(self, answers: pd.DataFrame) -> None:
        """Tell which values were translated how often, and other settings that choose answers."""
        for field_name, values in self.mapped.where.items():
            message = f"only records with {field_name} = {listed(values, 'or')}"
            warnings.warn(message, Note, stacklevel=2)
        if self.reordered:
            number = len(self.reordered)
            verb, they = ("lists", "its") if number == 1 else ("list", "their")
            warnings.warn(
                f"{counted(number, 'record')} {verb} the options in another order than the "
                f"benchmark, so {they} letters became the benchmark's; replies that would be read "
                "otherwise in the benchmark's order are not kept",
                Note,
                stacklevel=2,
            )
        if self.unread:
            message = f"not read, as the mapping says otherwise: {listed(sorted(self.unread))}"
            warnings.warn(message, Note, stacklevel=2)
        origins = [
            f"{name} ({counted(rows, 'row')})" for name, rows in self.origins.items() if name
        ]
        if len(origins) > 1:
            warnings.warn(f"answers are from {listed(origins)}", Note, stacklevel=2)
        for (column, name), given in self.called.items():
            if len(given) > 1:
                message = f"{column} {name!r} is {listed(sorted(given))} in the files"
                warnings.warn(message, Note, stacklevel=2)
        if told := sum(self.told.values(), Counter[tuple[str, str, str]]()):
            texts = [
                f"{column} {text!r} → {meant or 'missing'} ({counted(count, 'row')})"
                for (column, text, meant), count in sorted(told.items())
            ]
            warnings.warn(f"translated: {first_of(texts, _MOST_TOLD)}", Note, stacklevel=2)
        if "answer_raw" in answers and all(map(is_number, self.mapped.benchmark.options)):
            unread = answers.loc[answers["status"] == "unparsed", "answer_raw"]
            if note := odd_numbers(unread.dropna()):
                warnings.warn(note, Note, stacklevel=2)
        if self._all_right:
            warnings.warn(
                f"all {self.answers:,} answers are the key; check that "
                f"{listed(sorted(self.fields)) or 'their field'} is not the field of the keys",
                Note,
                stacklevel=2,
            )

    def collectors(self, answers: pd.DataFrame) -> list[str]:
        """Return the importer's name for each answer, with the translations of its answer set."""
        names = {of: self._with(told) for of, told in self.told.items()}
        return [names[of] for of in zip(answers["model"], answers["strategy"], strict=True)]

    def _with(self, translations: Iterable[tuple[str, str, str]]) -> str:
        told = [
            f"{column} {text} → {meant or 'missing'}"
            for column, text, meant in translations
            if column in _TOLD
        ]
        if not told:
            return self.mapped.layout
        full = f"{self.mapped.layout}; {', '.join(sorted(told))}"
        return full if len(full) <= _LONGEST else f"{full[: _LONGEST - 2]} …"


def _group_source(record: Record, attribute: str, group: str, mapped: Mapped) -> str:
    """Return the text of the file that says which group an answer is of, or its column."""
    if "group" in record.columns:
        return record.columns["group"]
    for one in mapped.declared.variants:
        if (one.attribute, one.group) == (attribute, group) and has_values(
            record.fields, one.where
        ):
            return ", ".join(f"{name} = {found(record.fields, name)}" for name in one.where)
    names = sorted(mapped.sources_of(record, "group")) or ["group"]
    values = [value_at(record.fields, name) for name in names]
    texts = [plain_number(value) for value in values if isinstance(value, str | int | float)]
    return "+".join(texts) or group


@lru_cache(maxsize=1024)
def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


def from_field(column: str) -> str:
    """Return how a caller names the field that fills a column."""
    return keyword("columns", {column: "FIELD"})


def named_column(record: Record, column: str | None) -> str | None:
    """Return the file's name of a column."""
    return None if column is None else record.columns.get(column, column)


def plain_options(texts: Mapping[str, str], *, folds: bool = True) -> dict[str, str]:
    """Return texts for comparison, without marks that all have: "A. Aspirin", "- Aspirin".

    If it `folds`, they have no case and no outer signs.
    """
    own = {letter: " ".join(text.split()) for letter, text in texts.items()}
    for mark in (r"(?i)\W{0,2}{letter}[.):]+ ", r"[-•*] "):
        marks = {one: re.compile(mark.replace("{letter}", one)) for one in own}
        if all(marks[one].match(text) for one, text in own.items()):
            own = {one: marks[one].sub("", text, count=1) for one, text in own.items()}
    return {one: folded(text).strip(" .,:;") if folds else text for one, text in own.items()}
