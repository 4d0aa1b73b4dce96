"""Import the samples that lm-evaluation-harness writes with ``--log_samples``."""

from __future__ import annotations

import glob
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from fairstats._lib.paths import Paths
from fairstats._lib.problems import InputError, Problem, input_error, keyword, refuse
from fairstats._lib.records import Record, importable_files, json_lines, json_value
from fairstats.benchmarks.declaration import Benchmark
from fairstats_collectors.import_answers import imported
from fairstats_collectors.import_mapping import Given, Mapped, mapping
from fairstats_collectors.mapping_files import found

SUFFIXES = (".jsonl",)


def import_lm_eval(paths: Paths, **given: Unpack[Given]) -> pd.DataFrame:
    """Read ``samples_*.jsonl`` files into the answers table.

    Parameters
    ----------
    paths : path, or iterable of paths
        The files, or folders of ``samples_*.jsonl``. The model's name is read from the results file
        of the same run, if that is in the same folder.
    **given
        See `fairstats_collectors.import_mapping.Given`. By default ``item_id``, ``attribute`` and
        ``group`` are fields of ``doc``. The field ``task`` is the task's name from the file name.
        If a task has several filters, ``filter=NAME`` picks one.

    Returns
    -------
    pandas.DataFrame
        Answers, one for each repeat of a generated reply. A reply is read by this package, from
        ``resps``. Among scored options the most likely one is the answer; two that are equally
        likely give a missing answer.
    """
    mapped = mapping("lm-eval", given)
    files = importable_files(paths, mapped.declared.find, SUFFIXES)
    try:
        return imported(files, _read, mapped)
    except InputError as error:
        tasks = sorted({_task(path) for path in files})
        if len(tasks) == 1:
            raise
        raise InputError([_of_two_tasks(problem, tasks) for problem in error.problems]) from None


def _task(path: Path) -> str:
    """Return the task that a file is named after, as in ``samples_TASK_2026-01-31T….jsonl``."""
    return re.sub(r"_\d{4}-\d\d-\d\dT[^_]*$", "", path.stem).removeprefix("samples_")


def _of_two_tasks(problem: Problem, tasks: Sequence[str]) -> Problem:
    """Report answers that are in two tasks, and how the tasks differ."""
    if problem.column != "key":
        return problem
    one, both = keyword("where", {"task": tasks[0]}), keyword("columns", {"strategy": "task"})
    remedy = f"choose a task, e.g. {one}, or keep both: {both}"
    return replace(problem, remedy=remedy)


def _model(path: Path) -> dict[str, str]:
    """Return the model's name as the results file of the same run has it, if there is one.

    The harness writes ``results_DATE.json`` next to ``samples_TASK_DATE.jsonl``, in older versions
    without a date. Files of several runs in one folder count if they name the same model.
    """
    date = path.stem.rpartition("_")[2]
    same_run = [*path.parent.glob(f"*_{glob.escape(date)}.json")]
    others = [*path.parent.glob("results*.json")]
    names = {_model_name(results) for results in sorted(same_run or others)} - {""}
    return {"model_name": names.pop()} if len(names) == 1 else {}


def _model_name(path: Path) -> str:
    (file,) = importable_files(path, None, (".json",))
    name = found(json_value(file), "model_name")
    return name if isinstance(name, str) else ""


def _read(path: Path, mapped: Mapped) -> Sequence[Record]:
    task = {"task": _task(path)}
    if task["task"] not in mapped.where.get("task", task.values()):
        return []
    if "model" not in mapped.constants and "model" not in mapped.columns:
        task |= _model(path)
    records = [Record(one.row, task | one.fields) for one in json_lines(path, unicode=False)]
    filters = sorted({str(record.fields.get("filter")) for record in records})
    if len(filters) > 1 and "filter" not in mapped.where:
        message = f"contains each answer once per filter: {', '.join(filters)}"
        remedy = f"choose one, e.g. {keyword('where', {'filter': filters[0]})}"
        raise input_error(path, message, remedy, column="filter")
    remedy = "use the file as the harness wrote it"
    refuse(
        Problem(str(path), message, remedy, row=record.row, column=column)
        for record in records
        for column, message in _wrong(record.fields, mapped.benchmark)
    )
    return [answer for record in records for answer in _answers(record, mapped.benchmark)]


def _wrong(fields: Mapping[str, Any], benchmark: Benchmark) -> Iterator[tuple[str, str]]:
    options = len(benchmark.options)
    if not isinstance(fields.get("doc"), dict):
        yield "doc", "is missing or is not an object"
    resps = fields.get("resps")
    if not isinstance(resps, list) or not resps or not all(isinstance(r, list) for r in resps):
        yield "resps", "is missing or is not a list of replies"
    elif len(resps) == 1 and not all(isinstance(reply, str) for reply in resps[0]):
        yield "resps", "must be a list of texts"
    elif len(resps) > 1 and not benchmark.kind.needs_key and None in _scored(fields, benchmark):
        yield "arguments", f"the scored texts are not the options of {benchmark.name} or its labels"
    elif benchmark.kind.needs_key and len(resps) not in (1, options):
        yield "resps", f"has {len(resps)} options, the benchmark has {options}"
    elif len(resps) > 1 and not all(_log_likelihood(replies) is not None for replies in resps):
        yield "resps", "must have a log-likelihood for each option"


def _answers(record: Record, benchmark: Benchmark) -> Iterator[Record]:
    """Return a record for each answer: each repeat of a reply, or of the scored options."""
    resps = record.fields["resps"]
    key = _key(record.fields.get("target"), benchmark)
    fields = record.fields | ({} if key is None else {"answer_key": key})
    if len(resps) == 1:
        for sample, reply in enumerate(resps[0]):
            yield Record(record.row, fields | {"sample": sample, "answer_raw": reply})
        return
    scores = [_log_likelihood(replies) for replies in resps]
    highest = max(score for score in scores if score is not None)
    best = [place for place, score in enumerate(scores) if score == highest]
    options = _scored(record.fields, benchmark)
    answer = options[best[0]] if len(best) == 1 else None
    yield Record(record.row, fields | {"sample": 0, "answer": answer})


def _scored(fields: Mapping[str, Any], benchmark: Benchmark) -> Sequence[str | None]:
    """Return the option of each scored text: letters in their order, others by name."""
    if benchmark.kind.needs_key:
        return benchmark.options
    requests = fields.get("arguments")
    requests = list(requests.values()) if isinstance(requests, dict) else requests
    # The prompt and its continuation, as an object or as a list.
    texts = [
        next((t for name in ("arg_1", "1") if isinstance(t := found(one, name), str)), "")
        for one in (requests if isinstance(requests, list) else [])
    ]
    names = [benchmark.named(text) for text in texts]
    return names if len(names) == len(fields["resps"]) == len(set(names)) else [None]


def _log_likelihood(replies: Sequence[Any]) -> float | None:
    """Return the first number of ``[[log-likelihood, is greedy]]``, which is stored as text."""
    try:
        score = float(replies[0][0])
    except (TypeError, ValueError, IndexError, KeyError):
        return None
    return None if math.isnan(score) else score


def _key(target: Any, benchmark: Benchmark) -> str | None:
    """Return the key; for letters, a number is the option's position, as in ``doc_to_target``."""
    text = str(target).strip()
    if not benchmark.kind.needs_key:
        return benchmark.named(text) if benchmark.has_key else None
    if text in benchmark.options:
        return text
    if text.isdecimal() and text.isascii() and len(text) < 3 and int(text) < len(benchmark.options):
        return benchmark.options[int(text)]
    return None
