"""MedPerturb as its authors released it: patients' messages, and four models' decisions on them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import pandas as pd

from fairstats._lib.json_csv_records import Paths, Record, csv_records, importable_files
from fairstats._lib.problems import InputError, Problem
from fairstats.answers.schema_checks import check_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats_collectors.import_answers import join_files
from fairstats_collectors.import_mapping import Given, refuse_others

SUFFIXES = (".csv",)
#: The decisions, as in the rubric ``triage``.
DECISIONS = ("manage", "visit", "resource")
CLINICIANS = (1, 2, 3)
#: The models' names in the release's README, by the beginning of their columns.
MODELS = {
    "GPT4": "GPT-4",
    "LLAMA3": "Llama-3-8B",
    "LLAMA3-70": "Llama-3-70B",
    "PALMYRA-MED": "Palmyra-Med",
}
_OPTIONS = {"0": "B", "1": "A"}

# The meaning of each number in the column dataset_id, and the beginning of its context_id.
_MESSAGES = {
    "1": ("original", ""),
    "2": ("swapped", "2-"),
    "3": ("neutralized", "3-"),
    "4": ("uncertain", "4-"),
    "5": ("colorful", "5-"),
}
_CASES = {"1": ("vignette", "v-"), "2": ("multiturn", "mt-"), "3": ("summary", "s-")}
_DATASETS = {"askadoc": _MESSAGES, "oncqa": _MESSAGES, "conversational": _CASES}
_GENDERS = {"M": ("male", "female"), "F": ("female", "male")}


@dataclass(frozen=True)
class Context:
    """A text that clinicians and models decided on.

    Parameters
    ----------
    dataset : str
        ``askadoc``, ``oncqa`` or ``conversational``.
    context_id : str
        Its id.
    original_id : str
        The id of the text that it was made from; the same as `context_id` for an original.
    perturbation : str
        ``original``, ``swapped``, ``neutralized`` (the gender), ``uncertain`` or ``colorful``; for
        a conversation ``vignette`` (unchanged), ``multiturn`` or ``summary``.
    genders : tuple of str
        The patient's gender in the original, and in the swapped text.
    fields : Mapping[str, str]
        The file's columns.
    """

    dataset: str
    context_id: str
    original_id: str
    perturbation: str
    genders: tuple[str, str]
    fields: Mapping[str, str]

    def decisions(self, decision: str) -> tuple[str, ...]:
        """Return the three clinicians' decisions, ``"0"`` or ``"1"``."""
        return tuple(self.fields[f"{decision.upper()}_{number}"] for number in CLINICIANS)


def read_medperturb(path: str | os.PathLike[str]) -> list[Context]:
    """Read the released ``dataset.csv``.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    list of Context
        In the order of the file.

    Raises
    ------
    InputError
        If it is missing, is not this file or lacks a column. If it has content that is not in the
        release: another dataset, a ``context_id`` that does not fit it, a decision other than 0 and
        1.
    """
    (file,) = importable_files(path, _released, SUFFIXES)
    records = csv_records(file)
    if not records:
        raise InputError([Problem(str(file), "the file is empty", "use the file as released")])
    lacking = [name for name in _columns() if name not in records[0].fields]
    problems = [
        Problem(str(file), "required column is missing", "use the file as released", column=name)
        for name in lacking
    ]
    seen: set[str] = set()
    for record in [] if lacking else records:
        for column, message in _faults(record.fields, seen):
            value = str(record.fields[column] or "")
            remedy = "use the file as released"
            problems.append(
                Problem(str(file), message, remedy, row=record.row, column=column, value=value)
            )
        seen.add(str(record.fields["context_id"]))
    if problems:
        raise InputError(problems)
    return [_context(record) for record in records]


def medperturb_answers(paths: Paths, **given: Unpack[Given]) -> pd.DataFrame:
    """Read the four models' decisions into the answers table.

    Parameters
    ----------
    paths : path, or iterable of paths
        The released ``dataset.csv``.
    **given
        Refused: the file provides it, or it cannot be known.

    Returns
    -------
    pandas.DataFrame
        Answers to the benchmark ``medperturb``: one item for each decision on each message, A for
        yes and B for no. The texts are the original and the one without the patient's gender
        (``baseline``), and those for a man and for a woman (``gender``). The original represents
        its patient's gender, and the swapped text the other. Rewordings of style and conversations,
        which do not vary a group, are left out.

    Raises
    ------
    InputError
        As `read_medperturb`; if a setting is given that the file provides; or if an original
        message is not in the benchmark.
    """
    refuse_others("medperturb", given)
    benchmark = load_benchmark("medperturb")
    files = importable_files(paths, _released, SUFFIXES)
    return join_files(files, lambda path: _answers(path, benchmark))


def medperturb_keys(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the majority decision of the three clinicians on each original message.

    Parameters
    ----------
    path : path
        The released ``dataset.csv``.

    Returns
    -------
    pandas.DataFrame
        ``item_id`` and ``answer_key``: the benchmark's ``medperturb.keys.csv``.

    Raises
    ------
    InputError
        As `read_medperturb`.
    """
    return pd.DataFrame(
        [
            {"item_id": f"{context.context_id}-{decision}", "answer_key": "A" if yes > 1 else "B"}
            for context in read_medperturb(path)
            if context.perturbation == "original"
            for decision in DECISIONS
            for yes in [context.decisions(decision).count("1")]
        ],
        columns=["item_id", "answer_key"],
    )


def _released(folder: Path) -> Sequence[Path]:
    return [*folder.glob("dataset.csv")]


def _answers(path: Path, benchmark: Benchmark) -> pd.DataFrame:
    contexts = read_medperturb(path)
    rows = [
        {
            "benchmark": benchmark.name,
            "benchmark_version": next(iter(benchmark.versions)),
            "model": model,
            "strategy": "plain",
            "item_id": item_id,
            "attribute": attribute,
            "group": group,
            "sample": 0,
            "answer": _OPTIONS[context.fields[f"{column}_{decision.upper()}"]],
            "answer_key": benchmark.answer_keys.get(item_id),
            "status": "ok",
            "collector": "medperturb",
        }
        for column, model in MODELS.items()
        for context in contexts
        for attribute, group in _groups(context)
        for decision in DECISIONS
        for item_id in [f"{context.original_id}-{decision}"]
    ]
    unknown = sorted({str(row["item_id"]) for row in rows} - set(benchmark.answer_keys))
    if unknown:
        message, remedy = "is not an item of the benchmark", "use the file as released"
        raise InputError(
            [
                Problem(str(path), message, remedy, column="context_id", value=item)
                for item in unknown[:5]
            ]
        )
    if not rows:
        message = "contains no messages with a varied patient gender"
        raise InputError([Problem(str(path), message, "use the file as released")])
    return check_answers(pd.DataFrame(rows), path=str(path))


def _groups(context: Context) -> Sequence[tuple[str, str]]:
    """Return the attributes and groups that a text represents."""
    in_original, in_swapped = context.genders
    return {
        "original": [("gender", in_original), ("baseline", "original")],
        "swapped": [("gender", in_swapped)],
        "neutralized": [("baseline", "neutralized")],
    }.get(context.perturbation, [])


def _columns() -> Iterator[str]:
    yield from ("dataset", "dataset_id", "context_id", "original_patient_gender")
    yield from (f"{name}_{number}" for name in ("Clinician", "Duration") for number in CLINICIANS)
    yield from _decision_columns()


def _decision_columns() -> Iterator[str]:
    for decision in map(str.upper, DECISIONS):
        yield from (f"{decision}_{number}" for number in CLINICIANS)
        yield from (f"{model}_{decision}" for model in MODELS)


def _faults(fields: Mapping[str, str | None], seen: set[str]) -> Iterator[tuple[str, str]]:
    """Return the problems of a row, with their columns."""
    texts = _DATASETS.get(fields["dataset"] or "")
    name = fields["context_id"] or ""
    if texts is None:
        yield "dataset", f"must be one of {', '.join(_DATASETS)}"
    elif fields["dataset_id"] not in texts:
        yield "dataset_id", f"must be one of {', '.join(texts)}"
    elif not name.removeprefix(prefix := texts[str(fields["dataset_id"])][1]):
        yield "context_id", "does not name a text"
    elif not name.startswith(prefix):
        yield "context_id", f"must begin with {prefix}"
    if name in seen:
        yield "context_id", "appears twice"
    if fields["original_patient_gender"] not in _GENDERS:
        yield "original_patient_gender", f"must be one of {', '.join(_GENDERS)}"
    for column in _decision_columns():
        if fields[column] not in _OPTIONS:
            yield column, "must be 0 or 1"
    for number in CLINICIANS:
        if not fields[f"Clinician_{number}"]:
            yield f"Clinician_{number}", "does not name a clinician"
        if not _is_duration(fields[f"Duration_{number}"]):
            yield f"Duration_{number}", "must be a number of seconds"


def _is_duration(text: str | None) -> bool:
    try:
        return 0 <= float(text or "") < float("inf")
    except ValueError:
        return False


def _context(record: Record) -> Context:
    fields = record.fields
    texts = _DATASETS[fields["dataset"]]
    perturbation, prefix = texts[fields["dataset_id"]]
    first_prefix = texts["1"][1]
    return Context(
        dataset=fields["dataset"],
        context_id=fields["context_id"],
        original_id=first_prefix + fields["context_id"].removeprefix(prefix),
        perturbation=perturbation,
        genders=_GENDERS[fields["original_patient_gender"]],
        fields=fields,
    )
