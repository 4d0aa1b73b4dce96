"""Import the logs of inspect_ai, through its own reader."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from fairstats._lib.paths import Paths
from fairstats._lib.problems import InputError, Problem, input_error, refuse
from fairstats._lib.records import MAX_BYTES, Record, importable_files
from fairstats.asking.answer_from_reply import lettered, read_reply
from fairstats_collectors.import_answers import imported
from fairstats_collectors.import_mapping import Given, Mapped, mapping
from fairstats_collectors.mapping_files import OPTIONS

#: The usual format of inspect_ai; a log may also be one JSON file.
SUFFIXES = (".eval", ".json")


def import_inspect(paths: Paths, **given: Unpack[Given]) -> pd.DataFrame:
    """Read inspect_ai's logs into the answers table.

    Parameters
    ----------
    paths : path, or iterable of paths
        ``.eval`` files, or logs written as JSON; or folders of ``.eval`` files.
    **given
        See `fairstats_collectors.import_mapping.Given`. A record has the sample's ``id``,
        ``epoch``, ``metadata``, ``target`` and ``scores`` and the log's ``task``; by default
        ``item_id``, ``attribute`` and ``group`` are in ``metadata``.

    Returns
    -------
    pandas.DataFrame
        Answers, one row per sample and epoch. They are read by this package from the model's
        output, not taken from inspect_ai's scorer; a failed sample is an ``error``. For decisions,
        levels and scores, the letters of ``choices`` mean the options of their texts.

    Raises
    ------
    InputError
        If inspect_ai is not installed or cannot read a file, and as
        `fairstats_collectors.import_answers.import_table`.
    """
    mapped = mapping("inspect", given)
    files = importable_files(paths, mapped.declared.find, SUFFIXES)
    refuse(problem for path in files for problem in _too_large(path))
    return imported(files, partial(_read, read=_reader()), mapped)


def _reader() -> Any:
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        message = f"its reader, inspect_ai, cannot be imported ({error})"
        remedy = "install it with `pip install fairstats[inspect]`"
        raise input_error("inspect", message, remedy) from None
    return read_eval_log


def _read(path: Path, mapped: Mapped, *, read: Any) -> Sequence[Record]:
    try:
        log = read(str(path), resolve_attachments=True)
    except Exception as error:  # its reader may raise anything for a file that is not a log
        message = f"inspect_ai cannot read it ({type(error).__name__}: {error})"
        remedy = "use the file as inspect_ai wrote it, or update inspect_ai"
        raise input_error(path, message, remedy) from None
    if not log.samples:
        message = f"contains no samples (its status is {log.status})"
        raise input_error(path, message, "remove it, or finish the evaluation with `inspect`")
    config = log.plan.config.model_dump(exclude_none=True)
    config |= log.eval.model_generate_config.model_dump(exclude_none=True)
    shared = {
        "task": log.eval.task,
        "model": log.eval.model,
        "collected_at": log.eval.created,
        **{name: config[name] for name in ("temperature", "max_tokens", "seed") if name in config},
    }
    own = _letter_fields if mapped.benchmark.kind.needs_key else _value_fields
    records: list[Record] = []
    problems: list[Problem] = []
    for row, sample in enumerate(log.samples, start=1):
        try:
            records.append(Record(row, shared | _fields(sample) | own(sample, mapped)))
        except InputError as error:
            problems += [replace(one, path=str(path), row=row) for one in error.problems]
    refuse(problems)
    return records


def _fields(sample: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": sample.id,
        "epoch": sample.epoch,
        "sample": sample.epoch - 1,
        "metadata": dict(sample.metadata or {}),
        "target": sample.target,
        "scores": {
            name: {"value": score.value, "answer": score.answer}
            for name, score in (sample.scores or {}).items()
        },
        "answer_raw": sample.output.completion,
        "latency_s": sample.output.time,
    }
    if sample.output.model:
        fields["snapshot"] = sample.output.model
    if usage := sample.output.usage:
        fields |= {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
    if completed := getattr(sample, "completed_at", None):
        fields["collected_at"] = str(completed)
    if sample.error is not None:
        fields |= {"status": "error", "answer_raw": sample.error.message}
    return fields


def _letter_fields(sample: Any, mapped: Mapped) -> dict[str, Any]:
    """Return the options and the key."""
    fields = {OPTIONS: list(sample.choices)} if sample.choices else {}
    target = _target(sample)
    return fields | ({"answer_key": target} if target in mapped.benchmark.options else {})


def _value_fields(sample: Any, mapped: Mapped) -> dict[str, Any]:
    """Return the key, and the answers to a prompt that listed the options with letters."""
    benchmark = mapped.benchmark
    fields: dict[str, Any] = {}
    shown = lettered(list(sample.choices or ()), benchmark)
    if shown is None:
        message = f"are not the options of {benchmark.name}"
        remedy = "declare these texts as its labels"
        value = ", ".join(map(str, sample.choices))[:200]
        raise input_error("", message, remedy, column="choices", value=value)
    if benchmark.has_key:
        target = _target(sample)
        key = benchmark.named(shown.get(target, target))
        fields |= {"answer_key": key} if key is not None else {}
    if shown:
        fields["scores"] = {
            name: {"value": score.value, "answer": shown.get(score.answer or "", score.answer)}
            for name, score in (sample.scores or {}).items()
        }
    if shown and sample.error is None and "answer" not in mapped.columns:
        parsed = read_reply(sample.output.completion, benchmark, shown)
        fields |= {"answer": parsed.letter, "status": parsed.status}
    return fields


def _target(sample: Any) -> str:
    return sample.target if isinstance(sample.target, str) else "".join(sample.target)


def _too_large(path: Path) -> Iterator[Problem]:
    """Check in its index whether an archive would unpack to more than the machine can hold."""
    if path.suffix.lower() != ".eval":
        return
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        message = f"is not a log of inspect_ai ({error})"
        yield Problem(str(path), message, "use the file as inspect_ai wrote it")
        return
    if size > MAX_BYTES:
        message = f"unpacks to {size:,} bytes; the limit is {MAX_BYTES:,}"
        yield Problem(str(path), message, "split the evaluation into several logs")
