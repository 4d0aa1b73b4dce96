"""Clinicians' decisions on patients' messages, as MedPerturb's authors released them.

The importer of tables reads the models' decisions, by ``data/importers/medperturb.toml``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import Problem, input_error, refuse
from fairstats._lib.records import Record, csv_records, importable_files
from fairstats.ratings.collection.import_tables import COMMENT_COLUMNS, Imported
from fairstats.ratings.table import check_ratings
from fairstats_collectors.mapping_files import read_mapping

#: The decisions, as in the rubric ``triage``.
DECISIONS = ("manage", "visit", "resource")
CLINICIANS = (1, 2, 3)
_VALUES = {"0": "no", "1": "yes"}
_AS_RELEASED = "use the file as released"
_DECIDED = [f"{decision.upper()}_{number}" for decision in DECISIONS for number in CLINICIANS]


def import_medperturb(path: AnyPath) -> pd.DataFrame:
    """Read the clinicians' decisions in the released ``dataset.csv`` into the ratings table.

    Returns
    -------
    pandas.DataFrame
        Ratings under the rubric ``triage``: three decisions by each of three clinicians on each of
        the texts. A task is a text, named by its ``context_id``. Its item is the text that it was
        made from, so the perturbed and the original text are tasks of one item.

    Raises
    ------
    InputError
        If the file is missing, is not this file or lacks a column. If it has content that is not in
        the release: another dataset, a ``context_id`` that does not fit it, a decision other than 0
        and 1.

    Notes
    -----
    In three texts of the release one clinician is in two of the three places. The second judgement
    is a ``repeat``, not another rater's.
    """
    rows = [row for text in _texts(path) for row in _ratings(text.fields)]
    return check_ratings(pd.DataFrame(rows), path=str(path))


def read_medperturb_ratings(paths: Sequence[Path]) -> Imported:
    """`import_medperturb` of several files, as `import_ratings` takes it."""
    frames = [import_medperturb(path) for path in paths]
    comments = pd.DataFrame(columns=list(COMMENT_COLUMNS))
    return Imported(pd.concat(frames, ignore_index=True), comments)


def medperturb_keys(path: AnyPath) -> pd.DataFrame:
    """Return the majority decision of the three clinicians on each original message.

    Returns
    -------
    pandas.DataFrame
        ``item_id`` and ``answer_key``: the benchmark's ``medperturb.keys.csv``.
    """
    return pd.DataFrame(
        [
            {"item_id": f"{text.fields['message']}-{decision}", "answer_key": "AB"[yes < 2]}
            for text in _texts(path)
            if text.fields["dataset"] != "conversational" and text.fields["dataset_id"] == "1"
            for decision in DECISIONS
            for yes in [[text.fields[f"{decision.upper()}_{n}"] for n in CLINICIANS].count("1")]
        ],
        columns=["item_id", "answer_key"],
    )


def _texts(path: AnyPath) -> list[Record]:
    """Return the rows of the file, each a text; ``message`` is the part of the id they share."""
    declared = read_mapping("medperturb")
    (file,) = importable_files(path, declared.find, (".csv",))
    records = csv_records(file)
    if not records:
        raise input_error(file, "the file is empty", _AS_RELEASED)
    named = [f"{name}_{number}" for name in ("Clinician", "Duration") for number in CLINICIANS]
    lacking = [name for name in (*named, *_DECIDED) if name not in records[0].fields]
    message = "required column is missing"
    refuse(Problem(str(file), message, _AS_RELEASED, column=column) for column in lacking)
    texts = declared.with_parts(records, file)
    counts = Counter(text.fields["context_id"] for text in texts)
    refuse(
        Problem(str(file), message, _AS_RELEASED, row=text.row, column=column, value=value)
        for text in texts
        for column, message in _faults(text.fields, counts)
        for value in [str(text.fields[column] or "")]
    )
    return texts


def _faults(fields: dict[str, Any], counts: Counter[str]) -> Iterator[tuple[str, str]]:
    """Return the problems of a row, with their columns."""
    if counts[fields["context_id"]] > 1:
        yield "context_id", "appears twice"
    for column in _DECIDED:
        if fields[column] not in _VALUES:
            yield column, "must be 0 or 1"
    for number in CLINICIANS:
        if not fields[f"Clinician_{number}"]:
            yield f"Clinician_{number}", "does not name a clinician"
        if not _is_duration(fields[f"Duration_{number}"]):
            yield f"Duration_{number}", "must be a number of seconds"


def _is_duration(text: str | None) -> bool:
    try:
        return 0 <= float(text or "") < math.inf
    except ValueError:
        return False


def _ratings(fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
    judged: Counter[str] = Counter()
    prefix = "v-" if fields["dataset"] == "conversational" else ""
    for number in CLINICIANS:
        rater = fields[f"Clinician_{number}"]
        for decision in DECISIONS:
            yield {
                "benchmark": "medperturb",
                "dataset": fields["dataset"],
                "rubric": "triage",
                "task_id": fields["context_id"],
                "item_id": prefix + fields["message"],
                "rater_id": rater,
                "rater_group": "physician",
                "repeat": judged[rater],
                "dimension": decision,
                "value": _VALUES[fields[f"{decision.upper()}_{number}"]],
                "duration_s": float(fields[f"Duration_{number}"]),
            }
        judged[rater] += 1
