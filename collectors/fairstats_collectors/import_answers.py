"""From the records of a file to the answers of a declared benchmark, and the importer of tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median_low
from typing import Any, Unpack

import pandas as pd

from fairstats._lib.paths import Paths
from fairstats._lib.problems import InputError, Problem, collected, input_error, keyword, refuse
from fairstats._lib.records import (
    SEPARATORS,
    NoValue,
    Record,
    csv_records,
    importable_files,
    json_lines,
    json_value,
    xlsx_records,
)
from fairstats._lib.untrusted_files import REPORTED_LINES
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.answers.schema import ANSWERS, STATUSES
from fairstats.answers.schema_checks import check_answers, duplicate_problems
from fairstats.asking.answer_from_reply import ParsedAnswer, are_letters, read_reply
from fairstats.benchmarks.declaration import Benchmark, folded, is_number
from fairstats.benchmarks.refusals import (
    decimal_point,
    is_no_answer,
    is_refusal,
    may_group_thousands,
)
from fairstats_collectors.import_guards import (
    Guards,
    Wrong,
    from_field,
    named_column,
    plain_options,
)
from fairstats_collectors.import_mapping import Given, Mapped, mapping, undeclared
from fairstats_collectors.mapping_files import (
    ABSENT,
    OPTIONS,
    Limits,
    MappingFile,
    field_names,
    plain_number,
    read_mapping,
    value_at,
)

_SUFFIXES = (".csv", ".tsv", ".xlsx", ".jsonl", ".json")
#: If rows usually have as many cells, one with a single long cell is a note.
_FEWEST_CELLS = 3
#: If rows usually have as many cells, one with any single cell is no answer.
_MANY_CELLS = 6

# These columns follow from another column, and so need no mapping.
_FOLLOWS = {"answer_key": "item_id", "attribute": "group", "status": "answer"}

_SCALARS = (str, int, float, bool)


def import_table(
    paths: Paths, *, layout: str | Path = "table", checked: bool = True, **given: Unpack[Given]
) -> pd.DataFrame:
    """Read tables of answers into the answers table.

    Parameters
    ----------
    paths : path, or iterable of paths
        CSV (with commas, semicolons or tabs), Excel (``.xlsx``), JSON Lines or
        JSON files (an object, or a list of objects), one row or object per answer; or folders of
        such files. JSON files of a folder are read if it has no others.
    layout : str or path
        The mapping: the name of a file in ``data/importers``, or the path of another TOML file.
    checked : bool
        Whether the answers belong to a declared benchmark. If not, the fields of each record are
        returned as texts, with their rows in the files as index, to propose a benchmark from them.
    **given
        See `fairstats_collectors.import_mapping.Given`. Columns of the same name need no mapping;
        the file's other columns are ignored.

    Returns
    -------
    pandas.DataFrame
        Answers. Without a column for ``answer`` the letter is read from ``answer_raw``.

    Raises
    ------
    InputError
        If a file cannot be read, or a row is not valid. Each is named with its row, column and
        remedy, and no answers are returned.
    """
    declared = MappingFile() if layout == "table" else read_mapping(layout)
    if not checked:
        given["benchmark"] = undeclared()
    mapped = mapping(Path(layout).stem, given, declared, wide=True)
    files = _table_files(paths, declared)
    # Many tools write a JSON file for each answer.
    alone = [path for path in files if path.suffix.lower() == ".json"]
    together = alone[0].parent if len(alone) > 1 else None

    def read(path: Path, mapped: Mapped) -> Sequence[Record]:
        if path != together:
            return _table_records(path, given.get("sheet"))
        return [replace(record, path=str(one)) for one in alone for record in _table_records(one)]

    if together is not None:
        files = [*(path for path in files if path not in alone), together]
    if checked:
        return imported(files, read, mapped)
    frames = [_fields(path, mapped.records(read(path, mapped), path), mapped) for path in files]
    return pd.concat(frames)


def _fields(path: Path, kept: Sequence[Record], mapped: Mapped) -> pd.DataFrame:
    """Return the columns that the mapping fills, and the other fields under their names."""
    refuse(Guards(mapped).read(path, kept, Limits(path)))
    rows = []
    problems: list[Problem] = []
    for record in kept:
        wrong: Wrong = []
        filled = {column: _value(record, column, mapped, wrong) for column in ANSWERS.columns}
        named = [one for one in wrong if one[0] in mapped.columns or one[0] in record.columns]
        problems += _problems(path, record, named)
        scalars = {name: v for name, v in record.fields.items() if type(v) in _SCALARS}
        row: dict[str, Any] = {name: plain_number(value) for name, value in scalars.items()}
        row |= {name: v for name, v in filled.items() if v is not ABSENT}
        if row.get("answer") is None and "answer_raw" in row:
            row["answer"] = row["answer_raw"]
        rows.append(row)
    refuse(problems)
    # Problems found later name the rows of the file.
    return pd.DataFrame(rows, index=[record.row for record in kept], dtype=object)


def _table_files(paths: Paths, declared: MappingFile) -> list[Path]:
    def find(folder: Path) -> list[Path]:
        if declared.files:
            return declared.find(folder)
        found = [path for suffix in _SUFFIXES for path in folder.rglob(f"*{suffix}")]
        # Next to tables, JSON files describe them.
        return [path for path in found if path.suffix != ".json"] or found

    return importable_files(paths, find, _SUFFIXES)


def _table_records(path: Path, sheet: str | None = None) -> Sequence[Record]:
    if path.suffix.lower() == ".json":
        value = json_value(path, unicode=False)
        listed = value if isinstance(value, list) else [value]
        if not all(isinstance(one, dict) for one in listed):
            remedy = "give an object for each answer, or a list of such objects"
            raise input_error(path, "is not a JSON object", remedy)
        return [Record(row, fields) for row, fields in enumerate(listed, start=1)]
    if path.suffix.lower() == ".jsonl":
        return json_lines(path, unicode=False)
    if path.suffix.lower() == ".xlsx":
        records = xlsx_records(path, sheet)
    else:
        records = csv_records(path, separators=SEPARATORS)
    refuse(_notes_among(records, path))
    return records


def _notes_among(records: Sequence[Record], path: Path) -> Iterator[Problem]:
    """Report rows with a single cell, such as a note below the table."""
    filled = [sum(value is not None for value in one.fields.values()) for one in records]
    usual = median_low(filled) if filled else 0
    if usual < _FEWEST_CELLS:
        return
    others = [one.fields for one, cells in zip(records, filled, strict=True) if cells > 1]
    longest: dict[str, int] = {}
    message = "has a value in one column only"
    remedy = "delete the row if it is a note, or fill in its other cells"
    for record in (one for one, cells in zip(records, filled, strict=True) if cells == 1):
        name, value = next(cell for cell in record.fields.items() if cell[1] is not None)
        if name not in longest:
            texts = (str(one[name]) for one in others if one[name] is not None)
            longest[name] = max(map(len, texts), default=0)
        # A short one among few cells may identify an item without answers.
        if usual >= _MANY_CELLS or len(str(value)) > longest[name]:
            yield Problem(str(path), message, remedy, row=record.row, column=name, value=value)


def imported(
    files: Iterable[Path], read: Callable[[Path, Mapped], Sequence[Record]], mapped: Mapped
) -> pd.DataFrame:
    """Return the answers of files, checked against the schema and the benchmark's declaration."""
    without: list[Problem] = []
    guards = Guards(mapped)

    def answers_of(path: Path) -> pd.DataFrame | None:
        found = read(path, mapped)
        limits = Limits(path)
        kept = mapped.records(found, path, limits)
        if kept:
            return _file_answers(path, kept, guards, limits)
        wanted = ", ".join(f"{field} = {' or '.join(v)}" for field, v in mapped.where.items())
        message = f"contains no answers with {wanted}" if wanted else "contains no answers"
        without.append(Problem(str(path), message, "remove the file"))
        # One of several files may have only records that `where` leaves out.
        if not wanted:
            raise InputError(without[-1:])
        return None

    joined = join_files(files, answers_of)
    if joined.empty:
        raise InputError(without)
    refuse(guards.problems())
    guards.notes(joined)
    joined["collector"] = guards.collectors(joined)
    return joined[[column for column in ANSWERS.columns if column in joined]]


def join_files(
    files: Iterable[Path], answers_of: Callable[[Path], pd.DataFrame | None]
) -> pd.DataFrame:
    """Return the answers of all files; two files must not contain the same answer.

    `answers_of` returns None for a file without relevant answers.
    """
    names: list[str] = []
    frames: list[pd.DataFrame] = []
    problems: list[Problem] = []
    for path in files:
        with collected(problems):
            answers = answers_of(path)
            if answers is not None:
                names.append(str(path))
                frames.append(answers)
    refuse(problems or duplicate_problems(frames, names))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _file_answers(
    path: Path, kept: Sequence[Record], guards: Guards, limits: Limits
) -> pd.DataFrame:
    mapped = guards.mapped
    refuse(guards.read(path, kept, limits))
    problems: list[Problem] = []
    rows: list[dict[str, Any]] = []
    for record in kept:
        if len(problems) >= REPORTED_LINES:
            message = f"rows from {record.row} on were not checked"
            problems.append(Problem(record.path or str(path), message, "correct these first"))
            break
        row, wrong = _row(record, guards)
        limits.keep(row)
        rows.append(row)
        problems += _problems(path, record, wrong)
    refuse(problems)
    frame = pd.DataFrame(rows, dtype=object).assign(collector=mapped.layout)
    try:
        checked = check_answers(frame, path=str(path))
        # `fairstats validate` checks all files together for missing variants.
        wrongs = validate_answers(checked, benchmarks=[mapped.benchmark], path=str(path))
        refuse(problem for problem in wrongs if problem.row is not None)
    except InputError as error:
        # Problems name rows of the resulting table; the file has different row numbers.
        raise InputError([_in_file(one, kept) for one in error.problems]) from None
    guards.check(kept, checked)
    return checked


def _problems(path: Path, record: Record, wrong: Wrong) -> Iterator[Problem]:
    for column, value, message, remedy in wrong:
        where = named_column(record, column)
        place: dict[str, Any] = {"row": record.row, "column": where, "value": value}
        yield Problem(record.path or str(path), message, remedy, **place)


def _in_file(problem: Problem, kept: Sequence[Record]) -> Problem:
    """Name the row and the column of the file, not those of the table that was made."""
    if problem.row is None:
        return problem
    record = kept[problem.row - 1]
    message = _IN_ROW.sub(lambda row: _place(kept[int(row[1]) - 1]), problem.message)
    place: dict[str, Any] = {"row": record.row, "column": named_column(record, problem.column)}
    return replace(problem, path=record.path or problem.path, message=message, **place)


_IN_ROW = re.compile(r"in row (\d+)$")


def _place(record: Record) -> str:
    return f"in {record.path}" if record.path else f"in row {record.row}"


def _row(record: Record, guards: Guards) -> tuple[dict[str, Any], Wrong]:
    """Return the row of a record, and its problems: (column, value, message, remedy)."""
    wrong: Wrong = []
    mapped = guards.mapped
    benchmark = mapped.benchmark
    row: dict[str, Any] = {"benchmark": benchmark.name}
    for column in (*ANSWERS.columns, OPTIONS):
        if column in ("benchmark", "collector"):
            continue
        value = _value(record, column, mapped, wrong)
        if value is not ABSENT:
            row[column] = value
    options = row.pop(OPTIONS, None)
    _fill_status(row, record, mapped)
    row.setdefault("strategy", "plain")
    row.setdefault("sample", 0)
    if "benchmark_version" not in row and len(benchmark.versions) == 1:
        row["benchmark_version"] = next(iter(benchmark.versions))
    key = row.get("answer_key")
    for column, source, known in (
        ("attribute", "group", mapped.attributes),
        ("answer_key", "item_id", benchmark.answer_keys),
    ):
        if row.get(column) is None and row.get(source) in known:
            row[column] = known[row[source]]
    meant = _fill_answer(row, options, guards, wrong, has_key=key is not None)
    if isinstance(key, str) and key in meant:
        row["answer_key"] = meant[key]
        if meant[key] != benchmark.answer_keys.get(str(row.get("item_id")), meant[key]):
            message = "is another option than the benchmark's key, in the order of the record"
            remedy = f"if letters are the benchmark's, remove the field {OPTIONS}"
            wrong.append(("answer_key", key, message, remedy))
    if meant:
        guards.reordered.add(guards.place(record))
    told = {column for column, *_ in wrong}
    # A cell with a formula is a reply that cannot be read.
    wrong += _untold(row, record, benchmark, told | {"answer"} if "answer_raw" in told else told)
    return row, wrong


def _fill_status(row: dict[str, Any], record: Record, mapped: Mapped) -> None:
    """Fill in the status that a column has, or that the text of a cell without an answer means."""
    status = row.pop("status", None)
    if status:
        known = str(status).strip().casefold()
        row["status"] = known if known in STATUSES else status
    if status or "answer" not in row:
        return
    given = str(mapped.value(record.fields, "answer")).strip()
    meant = mapped.values.get("status", {}).get(given)
    if meant is None and row["answer"] is None and is_refusal(given):
        meant = "refused"
    if meant is not None and meant != "ok":
        row.update(answer=None, status=meant, answer_raw=row.get("answer_raw") or given)


def _untold(
    row: Mapping[str, Any], record: Record, benchmark: Benchmark, told: set[str]
) -> Iterator[tuple[str, str | None, str, str]]:
    """Report missing required columns, except those explained by an earlier problem."""
    required = [name for name, column in ANSWERS.columns.items() if column.required]
    for column in sorted(required, key=lambda name: name in _FOLLOWS):
        source = _FOLLOWS.get(column)
        if column in row or column in told or source in told:
            continue
        told.add(column)
        how = f"{from_field(column)} or {keyword('constants', {column: 'VALUE'})}"
        if column == "answer":
            how = f"{from_field('answer')} for letters or {from_field('answer_raw')} for replies"
        groups = [group for _, group in benchmark.variants]
        if source in ("item_id", "group") and row[source] is None:
            yield source, None, "must not be empty", f"fill it in, or map {source} to another field"
        elif column == "answer_key":
            remedy = f"{benchmark.name} has no such item; give the benchmark that has it"
            yield "item_id", str(row["item_id"]), "unknown item", remedy
        elif column == "attribute" and row["group"] not in groups:
            alike = [one for one in groups if folded(one) == folded(str(row["group"]))]
            pair = {str(row["group"]): alike[0]} if alike else {"THEIRS": "OURS"}
            meant = keyword("values", {"group": pair})
            remedy = f"{benchmark.name} declares {', '.join(groups)}; use {meant}"
            yield "group", str(row["group"]), "unknown group", remedy
        else:
            remedy = f"use {how}; the fields are {field_names(record.fields)}"
            yield column, None, "is missing from the record", remedy


def _value(record: Record, column: str, mapped: Mapped, wrong: Wrong) -> Any:
    if column in mapped.constants:
        return mapped.constants[column]
    value, path = mapped.value(record.fields, column), mapped.columns.get(column, "")
    if column in mapped.columns and value is ABSENT and column in ANSWERS.columns:
        # JSON leaves out unknown values.
        if ANSWERS.columns[column].nullable:
            return None
        remedy = f"use {field_names(record.fields)}"
        wrong.append((column, None, f"there is no field {path!r}", remedy))
    if value is None and "+" in path and column != OPTIONS and not ANSWERS.columns[column].nullable:
        blank = [one for one in path.split("+") if value_at(record.fields, one.strip()) is None]
        message = f"is made of {path}, and {' and '.join(blank) or 'it'} is empty"
        wrong.append((column, None, message, f"fill it in, or use {from_field(column)}"))
        return ABSENT
    if value is ABSENT or value is None or column == OPTIONS:
        return value
    if not isinstance(value, (str, int, float)):
        if isinstance(value, NoValue):
            wrong.append((column, None, f"is {value.kind}, not a value", value.remedy))
            return ABSENT
        kind = "a list" if isinstance(value, (list, tuple)) else "an object"
        wrong.append((column, None, f"is {kind}, not one value", "map a field inside it"))
        return ABSENT
    meant = mapped.values.get(column, {}).get(str(value))
    if meant is not None:
        return meant or None
    if isinstance(value, str) and mapped.has_numbers(column):
        if may_group_thousands(value):
            point, plain = value.replace(",", "."), value.replace(",", "")
            remedy = (
                f"write it without a comma, or use {keyword('values', {column: {value: point}})}"
            )
            wrong.append((column, value, f"could be {point} or {plain}", remedy))
            return ABSENT
        value = decimal_point(value)
    # Item 7 of a JSON file is the benchmark's item "7", and version 4.1 is "4.1"; a truth value is
    # not a name.
    is_name = ANSWERS.columns[column].dtype == "str"
    if is_name and type(value) is float:
        value = plain_number(value)
    if column == "answer_key":
        return mapped.benchmark.named(str(value)) or str(value)
    if is_name and isinstance(value, bool) and not _is_named(column, str(value), mapped.benchmark):
        meant = keyword("values", {column: {str(value): "OURS"}})
        wrong.append((column, str(value), "is not text", f"write it as text, or use {meant}"))
        return ABSENT
    return str(value) if is_name else value


def _is_named(column: str, text: str, benchmark: Benchmark) -> bool:
    """Return whether a truth value is an option or group, or could be one that is not declared."""
    if column == "group":
        return not benchmark.variants or text in [group for _, group in benchmark.variants]
    return column == "answer" and (not benchmark.name or benchmark.named(text) is not None)


def _fill_answer(
    row: dict[str, Any], options: Any, guards: Guards, wrong: Wrong, *, has_key: bool
) -> Mapping[str, str]:
    """Fill in the answer and its status, read from the reply if the file has no answer.

    Return the benchmark's letter of each option, if the record lists them in another order.
    """
    benchmark, meant = guards.mapped.benchmark, dict[str, str]()
    raw = row.get("answer_raw")
    if isinstance(raw, str):
        # A reply that was cut off within a sign ends in half of it, which no file can hold.
        row["answer_raw"] = raw = raw.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if "answer" not in row and row.get("status") == "error":
        row["answer"] = None
    elif "answer" in row or "answer_raw" in row:
        texts: Mapping[str, str] | None = options_of(options, benchmark)
        lettered = benchmark.kind.needs_key
        item, given = str(row.get("item_id")), row.get("answer")
        if lettered and options is not None and texts is None:
            unclear = not has_key and _is_letter(given, benchmark, {})
            remedy = f"map them as a list or an object of {', '.join(benchmark.options)}"
            remedy += f"; if letters are the benchmark's, remove the field {OPTIONS}" * unclear
            if "answer" not in row or unclear:
                wrong.append((OPTIONS, None, "do not match the benchmark's options", remedy))
        if lettered and texts is not None:
            meant = guards.own_letters(item, texts, wrong, has_key=has_key)
        known = guards.mapped.texts.get(item, {})
        texts = {one: known[own] for one, own in meant.items()} or texts or known
        if "answer" in row:
            if meant and not has_key and _is_letter(given, benchmark, texts):
                message = "could be that of the benchmark's order of options or of the record's"
                remedy = "give the option's text, or the reply as answer_raw; if letters are the "
                remedy += f"benchmark's, remove the field {OPTIONS}"
                wrong.append(("answer", given, message, remedy))
            _read_answer(row, benchmark, texts)
        else:
            parsed = read_reply(raw, benchmark, texts)
            row["answer"], row["status"] = parsed.letter, parsed.status
        row["answer"] = meant.get(row["answer"], row["answer"])
        if meant and (reply := row.get("answer_raw")) is not None:
            # Who reads the reply again does not know the order in which the options were shown.
            again = read_reply(reply, benchmark, known).letter
            row["answer_raw"] = reply if again == row["answer"] else None
    return meant


def _is_letter(given: Any, benchmark: Benchmark, texts: Mapping[str, str]) -> bool:
    """Return whether an answer has an option's letter without an option's text."""
    if not isinstance(given, str) or not are_letters(benchmark.options):
        return False
    # The text of an option may be a letter, such as a blood group.
    words = (text for text in plain_options(texts).values() if len(text) > 1)
    if any(re.search(rf"(?<!\w){re.escape(text)}(?!\w)", folded(given)) for text in words):
        return False
    unnamed = dict.fromkeys(texts or benchmark.options, "")
    return read_reply(given, benchmark, unnamed).letter is not None


def _read_answer(
    row: dict[str, Any], benchmark: Benchmark, texts: Mapping[str, str] | None
) -> None:
    """Write an answer as it is stored; read and keep a text that is none as the reply."""
    given = row["answer"].strip() if isinstance(row["answer"], str) else row["answer"]
    row["answer"], status = given or None, "ok" if given else "unparsed"
    if isinstance(given, str) and given:
        could_be = is_number(given) or (len(given) == 1 and given.isupper())
        if (named := benchmark.named(given)) is not None:
            row["answer"] = named
        elif not could_be or is_no_answer(given):
            read = ParsedAnswer(None, "unparsed")
            if row.get("answer_raw") is None:
                row["answer_raw"] = given
                read = read_reply(given, benchmark, texts)
            row["answer"], status = read.letter, read.status
    row.setdefault("status", status)


def options_of(options: Any, benchmark: Benchmark) -> dict[str, str] | None:
    """Options as texts by letter, from such an object or from a list in the letters' order."""
    if isinstance(options, Sequence) and not isinstance(options, str):
        if len(options) != len(benchmark.options):
            return None
        named = [benchmark.named(text) if isinstance(text, str) else None for text in options]
        # Options that are words are named by a list, in whatever order; letters have its order.
        own = named if not (are_letters(benchmark.options) or None in named) else benchmark.options
        options = dict(zip(own, options, strict=True))
    if not isinstance(options, Mapping) or set(options) != set(benchmark.options):
        return None
    if not all(isinstance(text, str) for text in options.values()):
        return None
    return {letter: options[letter] for letter in benchmark.options}
