"""Import the samples of Every Eval Ever: JSON Lines, with their aggregate file next to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from fairstats._lib.paths import Paths
from fairstats._lib.problems import Problem, input_error, refuse
from fairstats._lib.records import Record, importable_files, json_lines, json_value
from fairstats._lib.safe_names import canonical_json, file_sha256
from fairstats.answers.schema import STATUSES
from fairstats.asking.answer_from_reply import lettered
from fairstats_collectors.import_answers import imported
from fairstats_collectors.import_mapping import Given, Mapped, mapping
from fairstats_collectors.mapping_files import ABSENT, OPTIONS, found

SUFFIXES = (".jsonl",)

_SETTINGS = ("temperature", "max_tokens")
# What differs between two records of one sample that belong to different figures.
_OF_THE_FIGURE = ("evaluation_result_id", "evaluation_name", "evaluation")


def import_eee(paths: Paths, **given: Unpack[Given]) -> pd.DataFrame:
    """Read samples of Every Eval Ever 0.3.0 into the answers table.

    Parameters
    ----------
    paths : path, or iterable of paths
        ``.jsonl`` files of samples, or folders with them. The aggregate file of the same name, if
        it is in the same folder, gives the model's name and the settings. If it states the hash of
        the samples, they must match.
    **given
        See `fairstats_collectors.import_mapping.Given`. By default ``item_id``, ``attribute``,
        ``group``, ``strategy`` and ``benchmark_version`` are fields of ``metadata``, as in the
        files of ``fairstats export eee``.

    Returns
    -------
    pandas.DataFrame
        Answers, one row per sample. The answer is the extracted one if that is an option, else it
        is read from the output by this package. A sample with an ``error`` is a missing answer.
        A sample that is repeated for several figures counts once.

    Raises
    ------
    InputError
        If samples were changed after the aggregate file was written, or belong to another
        benchmark, and as `fairstats_collectors.import_answers.import_table`.
    """
    mapped = mapping("eee", given)
    return imported(importable_files(paths, mapped.declared.find, SUFFIXES), _read, mapped)


def _read(path: Path, mapped: Mapped) -> Sequence[Record]:
    shared = _shared(path)
    seen: set[str] = set()
    records = []
    problems: list[Problem] = []
    for record in json_lines(path, unicode=False):
        fields = record.fields
        problems += [
            Problem(str(path), message, remedy, row=record.row, column=column, value=value)
            for column, value, message, remedy in _wrong(fields, mapped)
        ]
        same = canonical_json({k: v for k, v in fields.items() if k not in _OF_THE_FIGURE})
        if problems or (same in seen and "evaluation_result_id" in fields):
            continue
        seen.add(same)
        records.append(Record(record.row, shared | fields | _answer(fields, mapped)))
    refuse(problems)
    return records


def _shared(path: Path) -> dict[str, Any]:
    """Return the model's name and the settings, from the aggregate file of the same evaluation."""
    aggregate = path.with_name(f"{path.stem.removesuffix('_samples')}.json")
    if not aggregate.is_file():
        return {}
    (file,) = importable_files(aggregate, None, (".json",))
    content = json_value(file, unicode=False)
    stated = found(content, "detailed_evaluation_results.checksum")
    method = found(content, "detailed_evaluation_results.hash_algorithm")
    if method == "sha256" and stated is not ABSENT and stated != file_sha256(path):
        message = f"does not have the sha256 that {aggregate.name} states"
        raise input_error(path, message, "use both files as they were written")
    shared: dict[str, Any] = {}
    if isinstance(name := found(content, "model_info.name"), str):
        shared["model_name"] = name
    arguments = found(content, "evaluation_results.0.generation_config.generation_args")
    if isinstance(arguments, dict):
        shared["settings"] = {name: arguments[name] for name in _SETTINGS if name in arguments}
    return shared


def _wrong(fields: Mapping[str, Any], mapped: Mapped) -> Iterator[tuple[str, str | None, str, str]]:
    remedy = "use the file as it was written"
    if not isinstance(found(fields, "input"), dict):
        yield "input", None, "is missing or is not an object", remedy
    raw = found(fields, "output.raw")
    if not isinstance(raw, list) or not all(isinstance(text, str) for text in raw):
        message = "must be a list of texts (conversations of several turns cannot be imported)"
        yield "output.raw", None, message, remedy
    benchmark = found(fields, "metadata.benchmark")
    if benchmark is not ABSENT and benchmark != mapped.benchmark.name:
        message = f"is not the given benchmark, {mapped.benchmark.name}"
        yield "metadata.benchmark", str(benchmark)[:200], message, "give the other benchmark"


def _answer(fields: Mapping[str, Any], mapped: Mapped) -> dict[str, Any]:
    """Return the answer, its key and its status, as columns of the answers table name them."""
    read: dict[str, Any] = {"sample": _repeat(fields)}
    benchmark = mapped.benchmark
    choices = found(fields, "input.choices")
    letters = list(benchmark.options)
    texts = choices if isinstance(choices, list) and len(choices) == len(letters) else letters
    shown = lettered(choices, benchmark) if isinstance(choices, list) else None

    def option(value: Any) -> str | None:
        if benchmark.kind.needs_key:
            return _letter(value, letters, texts)
        text = value if isinstance(value, str) else ""
        return benchmark.named(text) or benchmark.named((shown or {}).get(text, ""))

    if benchmark.has_key and (key := option(found(fields, "input.reference.0"))) is not None:
        read["answer_key"] = key
    if benchmark.kind.needs_key and texts != letters:
        read[OPTIONS] = texts
    replies = fields["output"]["raw"]
    extracted, method = _extracted(fields)
    # fairstats writes the letter as the output if it does not have the reply.
    if replies and not (method == "unknown" and replies == [extracted]):
        read["answer_raw"] = replies[-1]
    if isinstance(milliseconds := found(fields, "performance.latency_ms"), (int, float)):
        read["latency_s"] = milliseconds / 1000
    status = found(fields, "metadata.status")
    error = fields.get("error")
    answer = option(extracted)
    if error:
        known = status in STATUSES and status != "ok"
        read |= {"answer": None, "status": status if known else "error"}
    elif answer is not None or not replies:
        read["answer"] = answer
    return read


def _repeat(fields: Mapping[str, Any]) -> Any:
    """Return the number of the repeat; text of digits is a number here."""
    number = found(fields, "metadata.sample")
    if isinstance(number, str) and number.isdecimal() and number.isascii() and len(number) < 10:
        return int(number)
    return number if number is not ABSENT else 0


def _extracted(fields: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the value and the method of the last terminal attribution."""
    attributions = fields.get("answer_attribution")
    for one in reversed(attributions if isinstance(attributions, list) else []):
        if isinstance(one, dict) and one.get("is_terminal", True):
            return one.get("extracted_value"), one.get("extraction_method")
    return None, None


def _letter(value: Any, letters: Sequence[str], texts: Sequence[Any]) -> str | None:
    """Return the letter of an option that is given as its letter or its text."""
    if not isinstance(value, str):
        return None
    if (text := value.strip()) in letters:
        return text
    places = [place for place, option in enumerate(texts) if option == value]
    return letters[places[0]] if len(places) == 1 else None
