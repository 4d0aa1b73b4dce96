"""Refuse to publish answers that screening blocks, unless the publisher overrules it by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.release.tables import ReleaseInputs
from fairstats.screening.screen import screen_checked


def overruled_models(named: Iterable[str], submissions: pd.DataFrame) -> list[str]:
    """Return the models whose answers are published even if screening blocks them.

    Parameters
    ----------
    named : iterable of str
        The models that the publisher names.
    submissions : pandas.DataFrame
        The release's submissions, of which some were accepted although screening blocks them.
    """
    return sorted({*named, *_overruled_when_accepted(submissions)})


def refuse_blocked(of: ReleaseInputs, screening: pd.DataFrame, overruled: Collection[str]) -> None:
    """Refuse answers that screening blocks, unless their model is overruled.

    Parameters
    ----------
    of : ReleaseInputs
        The inputs of the release.
    screening : pandas.DataFrame
        The release's table, see `fairstats.screen`.
    overruled : collection of str
        The models whose answers the publisher wants to publish nevertheless.

    Raises
    ------
    InputError
        If answers of another model are blocked, or a named model has no blocked answers.

    Notes
    -----
    A copy blocks the answers that it was copied from too. If the copy is overruled, the other
    answers are judged without it.
    """
    remedy = (
        "ask who sent these answers how they were made. To publish them nevertheless, name the "
        "model with --overrule; the pages then show it"
    )
    problems = [
        Problem("<answers>", message, remedy, column="model", value=model)
        for model, message in _not_overruled(of, screening, overruled)
    ]
    remedy = "name only models whose answers screening blocks"
    problems += [
        Problem("--overrule", "has no blocked answers", remedy, column="model", value=name)
        for name in _without_reason(of, screening, overruled)
    ]
    if problems:
        raise InputError(problems)


def overruling_problems(
    of: ReleaseInputs, screening: pd.DataFrame, overruled: Collection[str], manifest: str
) -> list[Problem]:
    """Compare the blocked answers of a release with the models that its manifest overrules.

    Parameters
    ----------
    of : ReleaseInputs
        The inputs of the release.
    screening : pandas.DataFrame
        The release's table, which the caller computed again.
    overruled : collection of str
        The models that the manifest names.
    manifest : str
        The manifest's path.
    """
    remedy = (
        "ask the publisher how these answers were made, and for a release without them or with "
        "--overrule and this model"
    )
    problems = [
        Problem(
            manifest,
            f"{message}, but the publisher did not overrule this by name",
            remedy,
            column="overruled",
            value=model,
        )
        for model, message in _not_overruled(of, screening, overruled)
    ]
    remedy = "ask the publisher for a release that names only models with blocked answers"
    return problems + [
        Problem(manifest, "has no blocked answers", remedy, column="overruled", value=name)
        for name in _without_reason(of, screening, overruled)
    ]


def blocked_sets(screening: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that block a set's publication."""
    return screening[screening["flag"] == "block"]


def _not_overruled(
    of: ReleaseInputs, screening: pd.DataFrame, overruled: Collection[str]
) -> list[tuple[str, str]]:
    """Return the model and the reason of each block that is not overruled."""
    blocked = blocked_sets(screening)
    rest = blocked[~blocked["model"].isin(overruled)]
    if len(rest) < len(blocked) and len(rest):
        kept = of.answers[~of.answers["model"].isin(overruled)]
        again = blocked_sets(screen_checked(kept, None, of.benchmarks).to_frame())
        still = pd.MultiIndex.from_frame(again[list(UNIT_COLUMNS)])
        rest = rest[pd.MultiIndex.from_frame(rest[list(UNIT_COLUMNS)]).isin(still)]
    return [
        (
            str(row["model"]),
            f"the answers with strategy {row['strategy']} are blocked by the check {row['check']} "
            f"({row['note'].rstrip('.')})",
        )
        for row in rest.to_dict("records")
    ]


def _without_reason(
    of: ReleaseInputs, screening: pd.DataFrame, overruled: Collection[str]
) -> list[str]:
    """Return the named models without blocked answers, now or when they were accepted."""
    blocked = blocked_sets(screening)["model"]
    return sorted(set(overruled) - set(blocked) - _overruled_when_accepted(of.submissions))


def _overruled_when_accepted(submissions: pd.DataFrame) -> set[str]:
    return set(submissions.loc[submissions["overruled"] != "", "model"])
