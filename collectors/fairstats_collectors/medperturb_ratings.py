"""Clinicians' decisions on patients' messages, as MedPerturb's authors released them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats.ratings.collection.imported import COMMENT_COLUMNS, Imported
from fairstats.ratings.table import check_ratings
from fairstats_collectors.medperturb import CLINICIANS, DECISIONS, Context, read_medperturb

_VALUES = {"0": "no", "1": "yes"}


def import_medperturb(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read the clinicians' decisions into the ratings table.

    Parameters
    ----------
    path : path
        The released ``dataset.csv``.

    Returns
    -------
    pandas.DataFrame
        Ratings under the rubric ``triage``: three decisions by each of three clinicians on each of
        the texts. A task is a text, named by its ``context_id``. Its item is the text that it was
        made from, so the perturbed and the original text are tasks of one item.

    Raises
    ------
    InputError
        As `fairstats_collectors.medperturb.read_medperturb`.

    Notes
    -----
    In three texts of the release one clinician is in two of the three places. The second judgement
    is a ``repeat``, not another rater's.
    """
    rows = [row for context in read_medperturb(path) for row in _ratings(context)]
    return check_ratings(pd.DataFrame(rows), path=str(path))


def read_medperturb_ratings(paths: Sequence[Path]) -> Imported:
    """`import_medperturb` of several files, as `import_ratings` takes it."""
    frames = [import_medperturb(path) for path in paths]
    comments = pd.DataFrame(columns=list(COMMENT_COLUMNS))
    return Imported(pd.concat(frames, ignore_index=True), comments)


def _ratings(context: Context) -> Iterator[dict[str, Any]]:
    judged: Counter[str] = Counter()
    for number in CLINICIANS:
        rater = context.fields[f"Clinician_{number}"]
        for decision in DECISIONS:
            yield {
                "benchmark": "medperturb",
                "dataset": context.dataset,
                "rubric": "triage",
                "task_id": context.context_id,
                "item_id": context.original_id,
                "rater_id": rater,
                "rater_group": "physician",
                "repeat": judged[rater],
                "dimension": decision,
                "value": _VALUES[context.decisions(decision)[number - 1]],
                "duration_s": float(context.fields[f"Duration_{number}"]),
            }
        judged[rater] += 1
