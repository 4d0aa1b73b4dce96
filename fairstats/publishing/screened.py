"""Refuse to publish answers that screening blocks, unless the publisher overrules it by name."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from fairstats._lib.problems import InputError, Problem


def refuse_blocked(screening: pd.DataFrame, overruled: Collection[str]) -> None:
    """Refuse answers that screening blocks, unless their model is named.

    Parameters
    ----------
    screening : pandas.DataFrame
        The release's table, see `fairstats.screen`.
    overruled : collection of str
        The models whose answers the publisher wants to publish nevertheless.

    Raises
    ------
    InputError
        If answers of another model are blocked, or a named model has no blocked answers.
    """
    remedy = (
        "ask who sent these answers how they were made. To publish them nevertheless, name the "
        "model with --overrule; the pages then show it"
    )
    problems = [
        Problem("<answers>", message, remedy, column="model", value=model)
        for model, message in _not_named(screening, overruled)
    ]
    remedy = "name only models whose answers screening blocks"
    problems += [
        Problem("--overrule", "has no blocked answers", remedy, column="model", value=name)
        for name in _without_reason(screening, overruled)
    ]
    if problems:
        raise InputError(problems)


def overruling_problems(
    screening: pd.DataFrame, overruled: Collection[str], manifest: str
) -> list[Problem]:
    """Compare the blocked answers of a release with the models that its manifest overrules.

    Parameters
    ----------
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
        for model, message in _not_named(screening, overruled)
    ]
    remedy = "ask the publisher for a release that names only models with blocked answers"
    return problems + [
        Problem(manifest, "has no blocked answers", remedy, column="overruled", value=name)
        for name in _without_reason(screening, overruled)
    ]


def blocked_sets(screening: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that block a set's publication."""
    return screening[screening["flag"] == "block"]


def _not_named(screening: pd.DataFrame, overruled: Collection[str]) -> list[tuple[str, str]]:
    """Return the model and the reason of each block that is not overruled."""
    blocked = blocked_sets(screening)
    return [
        (
            str(row["model"]),
            f"the answers with strategy {row['strategy']} are blocked by the check {row['check']} "
            f"({row['note'].rstrip('.')})",
        )
        for row in blocked[~blocked["model"].isin(overruled)].to_dict("records")
    ]


def _without_reason(screening: pd.DataFrame, overruled: Collection[str]) -> list[str]:
    """Return the named models without blocked answers."""
    return sorted(set(overruled) - set(blocked_sets(screening)["model"]))
