"""Import the logs of inspect_ai, through its own reader."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.records import MAX_BYTES, Paths, Record, importable_files
from fairstats.benchmarks.declaration import Benchmark
from fairstats_collectors.import_answers import imported
from fairstats_collectors.import_mapping import OPTIONS, Given, Mapped, mapping

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
        Answers, one row per sample and epoch. The letter is read by this package from the model's
        output, not taken from inspect_ai's scorer; a failed sample is an ``error``.

    Raises
    ------
    InputError
        If inspect_ai is not installed or cannot read a file, and as
        `fairstats_collectors.import_answers.import_table`.
    """
    mapped = mapping("inspect", given)
    files = importable_files(paths, mapped.declared.find, SUFFIXES)
    if problems := [problem for path in files for problem in _too_large(path)]:
        raise InputError(problems)
    return imported(files, partial(_read, read=_reader()), mapped)


def _reader() -> Any:
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        message = f"its reader, inspect_ai, cannot be imported ({error})"
        remedy = "install it with `pip install fairstats[inspect]`"
        raise InputError([Problem("inspect", message, remedy)]) from None
    return read_eval_log


def _read(path: Path, mapped: Mapped, *, read: Any) -> Sequence[Record]:
    try:
        log = read(str(path), resolve_attachments=True)
    except Exception as error:  # its reader may raise anything for a file that is not a log
        message = f"inspect_ai cannot read it ({type(error).__name__}: {error})"
        remedy = "use the file as inspect_ai wrote it, or update inspect_ai"
        raise InputError([Problem(str(path), message, remedy)]) from None
    if not log.samples:
        message = f"contains no samples (its status is {log.status})"
        raise InputError(
            [Problem(str(path), message, "remove it, or finish the evaluation with `inspect`")]
        )
    config = log.plan.config.model_dump(exclude_none=True)
    config |= log.eval.model_generate_config.model_dump(exclude_none=True)
    shared = {
        "task": log.eval.task,
        "model": log.eval.model,
        "collected_at": log.eval.created,
        **{name: config[name] for name in ("temperature", "max_tokens", "seed") if name in config},
    }
    return [
        Record(row, shared | _fields(sample, mapped.benchmark))
        for row, sample in enumerate(log.samples, start=1)
    ]


def _fields(sample: Any, benchmark: Benchmark) -> dict[str, Any]:
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
    if sample.choices:
        fields[OPTIONS] = list(sample.choices)
    target = sample.target if isinstance(sample.target, str) else "".join(sample.target)
    if target in benchmark.options:
        fields["answer_key"] = target
    if usage := sample.output.usage:
        fields |= {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
    if completed := getattr(sample, "completed_at", None):
        fields["collected_at"] = str(completed)
    if sample.error is not None:
        fields |= {"status": "error", "answer_raw": sample.error.message}
    return fields


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
