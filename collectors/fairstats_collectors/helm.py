"""Import the requests and predictions that HELM writes for a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from fairstats._lib.paths import Paths
from fairstats._lib.problems import Problem, input_error, refuse
from fairstats._lib.records import Record, importable_files, json_value
from fairstats.asking.answer_from_reply import lettered, read_reply
from fairstats.benchmarks.declaration import Benchmark
from fairstats_collectors.import_answers import imported
from fairstats_collectors.import_mapping import Given, Mapped, mapping
from fairstats_collectors.mapping_files import ABSENT, OPTIONS, found

SUFFIXES = (".json",)
STATE = "scenario_state.json"
PREDICTIONS = "display_predictions.json"
_INSTANCES, _RUN = "instances.json", "run_spec.json"
#: First parts of the names of HELM's methods that score each option in a separate request.
_APART = "multiple_choice_separate"
_LABELS = "declare these texts as its labels"


def import_helm(paths: Paths, **given: Unpack[Given]) -> pd.DataFrame:
    """Read HELM's ``scenario_state.json`` or ``display_predictions.json`` into the answers table.

    Parameters
    ----------
    paths : path, or iterable of paths
        Such files, or the folders of runs. If a run has both, the first is read, because it has
        more details. If the run scored each option separately, the choices are in the second.
        ``display_predictions.json`` needs ``instances.json`` in its folder; its model is in
        ``run_spec.json``.
    **given
        See `fairstats_collectors.import_mapping.Given`. By default ``item_id``, ``attribute`` and
        ``group`` are fields of ``instance.extra_data``; else the item is ``instance.id`` and the
        group is ``instance.perturbation.name``.

    Returns
    -------
    pandas.DataFrame
        Answers, one for each completion of each trial, read by this package from its text. The
        options are the instance's references in their order, and the key is the one tagged
        ``correct``. For decisions, levels and scores, a letter means the option of its text in
        ``output_mapping``.

    Raises
    ------
    InputError
        As `fairstats_collectors.import_answers.import_table`; also if a run scored each option
        separately and has no predictions, or does not record the chosen option.
    """
    mapped = mapping("helm", given)
    files = [_with_choices(path) for path in importable_files(paths, _runs, SUFFIXES)]
    return imported(dict.fromkeys(files), _read, mapped)


def _runs(folder: Path) -> Sequence[Path]:
    states = list(folder.rglob(STATE))
    have = {path.parent for path in states}
    return states + [path for path in folder.rglob(PREDICTIONS) if path.parent not in have]


def _with_choices(path: Path) -> Path:
    """Return the file with a run's choices; separately scored options do not contain them."""
    predictions, run = path.with_name(PREDICTIONS), path.with_name(_RUN)
    if path.name != STATE or not predictions.is_file():
        return path
    method = found(json_value(run if run.is_file() else path), "adapter_spec.method")
    apart = isinstance(method, str) and method.startswith(_APART)
    return predictions if apart else path


def _read(path: Path, mapped: Mapped) -> Sequence[Record]:
    value = json_value(path, unicode=False)
    if isinstance(value, dict) and isinstance(value.get("request_states"), list):
        return _of_state(path, value, mapped.benchmark)
    if isinstance(value, list):
        return _of_predictions(path, value, mapped.benchmark)
    message = f"is neither HELM's {STATE} nor its {PREDICTIONS}"
    raise input_error(path, message, "give one of these, or the folder of a run")


def _of_state(path: Path, state: Mapping[str, Any], benchmark: Benchmark) -> list[Record]:
    records: list[Record] = []
    problems: list[Problem] = []
    adapter = {"adapter_spec": state.get("adapter_spec")}
    for row, request in enumerate(state["request_states"], start=1):
        if not isinstance(request, dict) or not isinstance(request.get("instance"), dict):
            problems.append(_wrong(path, row, "instance", "is missing or is not an object"))
            continue
        if request.get("reference_index") is not None:
            message = "requests each option separately, so no request contains the answer"
            remedy = f"import {PREDICTIONS} of the same run"
            problems.append(_wrong(path, row, "reference_index", message, remedy))
            continue
        result = request.get("result")
        result = result if isinstance(result, dict) else {}
        fields = request | adapter | _of_instance(request["instance"], benchmark)
        seconds = result.get("request_datetime")
        if isinstance(seconds, int) and 0 <= seconds < 2**33:
            fields["collected_at"] = datetime.fromtimestamp(seconds, UTC).isoformat()
        shown = request.get("output_mapping")
        if benchmark.kind.needs_key or not isinstance(shown, dict):
            shown = {}
        elif lettered([*shown.values()], benchmark) is None:
            message = f"has texts that are not the options of {benchmark.name}"
            problems.append(_wrong(path, row, "output_mapping", message, _LABELS))
            continue
        trial = request.get("train_trial_index", 0)
        completions = result.get("completions")
        if not result or result.get("success") is False:
            reason = str(result.get("error", "the request has no result"))
            failed = {"sample": trial, "status": "error", "answer_raw": reason}
            records.append(Record(row, fields | failed))
        elif not isinstance(completions, list) or not completions:
            problems.append(_wrong(path, row, "result.completions", "is missing or empty"))
        elif not all(isinstance(found(c, "text"), str) for c in completions):
            message = "contains a completion without text"
            problems.append(_wrong(path, row, "result.completions", message))
        elif not isinstance(trial, int):
            problems.append(_wrong(path, row, "train_trial_index", "must be a whole number"))
        else:
            first = trial * len(completions)
            for sample, reply in enumerate(completions, start=first):
                own = {"sample": sample, "answer_raw": reply["text"]}
                if shown:
                    parsed = read_reply(reply["text"], benchmark, shown)
                    own |= {"answer": parsed.letter, "status": parsed.status}
                records.append(Record(row, fields | own))
    refuse(problems)
    return records


def _of_predictions(path: Path, predictions: Sequence[Any], benchmark: Benchmark) -> list[Record]:
    beside = path.with_name(_INSTANCES)
    if not beside.is_file():
        message = f"needs {_INSTANCES}, with the items, in the same folder"
        raise input_error(path, message, "put both files of the run in one folder")
    listed = json_value(beside)
    instances = {
        _key(instance.get("id"), instance): instance
        for instance in (listed if isinstance(listed, list) else [])
        if isinstance(instance, dict)
    }
    run = path.with_name(_RUN)
    spec = json_value(run) if run.is_file() else {}
    adapter = {"adapter_spec": spec.get("adapter_spec") if isinstance(spec, dict) else None}
    records: list[Record] = []
    problems: list[Problem] = []
    scored: dict[tuple[tuple[str, str], str], int] = {}
    for row, prediction in enumerate(predictions, start=1):
        if not isinstance(prediction, dict) or not isinstance(
            prediction.get("predicted_text"), str
        ):
            problems.append(_wrong(path, row, "predicted_text", "is missing or is not text"))
            continue
        instance = instances.get(_key(prediction.get("instance_id"), prediction))
        if instance is None:
            remedy = f"put the {_INSTANCES} of the same run in the same folder"
            message = f"is not in {_INSTANCES}"
            problems.append(_wrong(path, row, "instance_id", message, remedy))
            continue
        fields = prediction | adapter | {"instance": instance} | _of_instance(instance, benchmark)
        fields["sample"] = prediction.get("train_trial_index", 0)
        chosen = prediction.get("reference_index")
        trial = (_key(prediction["instance_id"], prediction), str(fields["sample"]))
        first = scored.setdefault(trial, row)
        if chosen is not None and first != row:
            message = (
                f"is a different option of the instance in row {first}, and no option is marked "
                "as chosen"
            )
            remedy = "summarize the run again with the metric predicted_index"
            problems.append(_wrong(path, row, "reference_index", message, remedy))
        elif chosen is None:
            fields["answer_raw"] = prediction["predicted_text"]
            # HELM has mapped the letter of a decision or level to its text.
            named = prediction.get("mapped_output")
            if not benchmark.kind.needs_key and isinstance(named, str) and benchmark.named(named):
                fields["answer"] = benchmark.named(named)
        elif (option := _option(chosen, instance, benchmark)) is not None:
            # Each option was scored separately; the stored prediction is that of the chosen one.
            fields["answer_raw"] = option
        else:
            message = "is not the position of an option"
            problems.append(_wrong(path, row, "reference_index", message))
        records.append(Record(row, fields))
    refuse(problems)
    return records


def _option(chosen: Any, instance: Mapping[str, Any], benchmark: Benchmark) -> str | None:
    """Return the option at a position: a letter, or for other kinds of answers the named one."""
    if not isinstance(chosen, int) or chosen < 0:
        return None
    if benchmark.kind.needs_key:
        return benchmark.options[chosen] if chosen < len(benchmark.options) else None
    text = found(instance, f"references.{chosen}.output.text")
    return benchmark.named(text) if isinstance(text, str) else None


def _key(instance_id: Any, holder: Mapping[str, Any]) -> tuple[str, str]:
    """Return the key of an instance in a run: its id and its perturbation."""
    perturbation = found(holder, "perturbation.name")
    return str(instance_id), str(perturbation) if perturbation is not ABSENT else ""


def _of_instance(instance: Mapping[str, Any], benchmark: Benchmark) -> dict[str, Any]:
    """Return the options and the key: HELM letters the references in their order."""
    references = instance.get("references")
    if not benchmark.kind.needs_key:
        return _value_key(references, benchmark)
    if not isinstance(references, list) or len(references) != len(benchmark.options):
        return {}
    texts = [found(reference, "output.text") for reference in references]
    tags = [found(reference, "tags") for reference in references]
    correct = [
        place for place, tag in enumerate(tags) if isinstance(tag, list) and "correct" in tag
    ]
    told: dict[str, Any] = {}
    if all(isinstance(text, str) for text in texts):
        told[OPTIONS] = texts
    if len(correct) == 1:
        told["answer_key"] = benchmark.options[correct[0]]
    return told


def _value_key(references: Any, benchmark: Benchmark) -> dict[str, str]:
    """Return the one reference tagged ``correct``, if the benchmark has keys."""
    listed = references if isinstance(references, list) and benchmark.has_key else []
    tagged = ((one, found(one, "tags")) for one in listed)
    correct = [one for one, tags in tagged if isinstance(tags, list) and "correct" in tags]
    text = found(correct[0], "output.text") if len(correct) == 1 else None
    key = benchmark.named(text) if isinstance(text, str) else None
    return {} if key is None else {"answer_key": key}


def _wrong(
    path: Path, row: int, column: str, message: str, remedy: str = "use the file as HELM wrote it"
) -> Problem:
    return Problem(str(path), message, remedy, row=row, column=column)
