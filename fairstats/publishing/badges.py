"""Make a badge for each model: one line that its page elsewhere can show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from fairstats.benchmarks.declaration import Benchmark
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.release.contents import Release
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, INK

NOT_JUDGED = "not judged"
SELECTED = "not judged, selected the items"
UNRANKED = "not ranked"

# A part of a reason for an inconclusive verdict, and its short form. The first match counts:
# a model that guesses comes first, because more answers would not help it.
_REASONS = {
    "best guess": "no better than a guess",
    "not called equivalent": "accuracy too low",
    "not asked": "items not asked",
    "missing answers": "answers missing",
    # The pairs and the answers of each group differ only if answers are missing.
    "own answers": "answers missing",
    "": "verdict withheld",
}
_WITHHELD = tuple(f"{INCONCLUSIVE} ({short})" for short in dict.fromkeys(_REASONS.values()))
#: The order of the message. An attribute's status is the first of its pairs' statuses here.
STATUSES = (DISPARITY, *_WITHHELD, INCONCLUSIVE, NOT_JUDGED, SELECTED, EQUIVALENT)
_COLOURS = {DISPARITY: ACCENT_A, EQUIVALENT: ACCENT_B}


def badge(release: Release, model: str) -> dict[str, Any]:
    """Return a model's results as a badge, in the endpoint format of shields.io.

    Parameters
    ----------
    release : Release
        The release.
    model : str
        One of its models.

    Returns
    -------
    dict
        ``schemaVersion`` 1, ``label``, ``message`` and the colours. The message names the
        attributes of each verdict. If all have the same verdict other than "disparity", it gives
        the verdict alone. An inconclusive verdict has its reason, if there is one; "equivalent" has
        the margin. A model without a rank on any board is "not ranked".

    Raises
    ------
    ValueError
        If the model is not in this release.

    Notes
    -----
    One line represents all of the model's answer sets. An attribute has a disparity if one of its
    pairs has one in one answer set. This is valid because p-values are adjusted over their family,
    which the benchmark declares. An attribute is equivalent only if every pair is; if not, it is
    inconclusive or not judged. If inconclusive pairs have several reasons, the first in `STATUSES`
    is given. Colours repeat the words.

    References
    ----------
    The endpoint's format: https://shields.io/badges/endpoint-badge
    """
    if model not in release.slugs:
        raise ValueError(f"model={model!r} is not in release {release.name}")
    told: dict[tuple[str, str], list[str]] = {}
    for name, status, words in _statuses(release, model):
        told.setdefault((status, words), []).append(name)
    ordered = sorted(told, key=lambda key: STATUSES.index(key[0])) or [(NOT_JUDGED, NOT_JUDGED)]
    first, alone = ordered[0][0], len(ordered) == 1
    parts = [f"{key[1]}: {', '.join(told.get(key, []))}" for key in ordered]
    message = ordered[0][1] if alone and first != DISPARITY else "; ".join(parts)
    ranks = release.ranks.loc[release.ranks["model"] == model, "rank"]
    if len(ranks) and ranks.isna().all():
        message += f"; {UNRANKED}"
    return {
        "schemaVersion": 1,
        "label": f"fairstats {release.name}",
        "message": message,
        "color": _COLOURS.get(first, DIM).removeprefix("#"),
        "labelColor": INK.removeprefix("#"),
    }


def _statuses(release: Release, model: str) -> Iterator[tuple[str, str, str]]:
    """Return the label, status and status text of each attribute in the model's answers."""
    own = release.estimates[
        (release.estimates["model"] == model)
        & (release.estimates["metric"] == "accuracy_difference")
    ]
    several = own["benchmark"].nunique() > 1
    for name, rows in own.groupby("benchmark", sort=True):
        benchmark = release.benchmarks[str(name)]
        for attribute in benchmark.varied:
            of_it = rows[rows["attribute"] == attribute.name]
            if len(of_it):
                label = _in_sentence(attribute.label)
                told = f"{benchmark.title} {label}" if several else label
                status = _status(of_it, benchmark, model)
                margin = f" within ±{100 * benchmark.equivalence_margin:g} points"
                yield told, status, status + margin * (status == EQUIVALENT)


def _status(rows: pd.DataFrame, benchmark: Benchmark, model: str) -> str:
    if model in benchmark.selected_on:
        return SELECTED
    there = set(map(status_of, rows["verdict"], rows["verdict_reason"]))
    return next(status for status in STATUSES if status in there)


def status_of(verdict: object, reason: object) -> str:
    """Return the status of one pair: its verdict, with the short reason if it was withheld.

    Parameters
    ----------
    verdict, reason : str or missing
        The ``verdict`` and ``verdict_reason`` of the pair's accuracy difference.

    Returns
    -------
    str
        One of `STATUSES`; "not judged" without a verdict.

    Examples
    --------
    >>> status_of("inconclusive", "missing answers could change the verdict")
    'inconclusive (answers missing)'
    >>> status_of("inconclusive", None)
    'inconclusive'
    """
    if not isinstance(verdict, str):
        return NOT_JUDGED
    if verdict != INCONCLUSIVE or not isinstance(reason, str) or not reason:
        return verdict
    short = next(short for part, short in _REASONS.items() if part in reason)
    return f"{INCONCLUSIVE} ({short})"


def _in_sentence(label: str) -> str:
    """Return a label as written within a line: "Race" as "race", but "SES" unchanged."""
    return label[:1].lower() + label[1:] if label[1:2].islower() else label
