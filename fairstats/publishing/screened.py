"""Refuse to publish answers that screening blocks."""

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
    blocked = screening[screening["flag"] == "block"]
    remedy = (
        "ask who sent these answers how they were made. To publish them nevertheless, name the "
        "model with --overrule; the pages then show it"
    )
    problems = [
        Problem(
            "<answers>",
            f"the answers with strategy {row['strategy']} are blocked by the check {row['check']} "
            f"({row['note'].rstrip('.')})",
            remedy,
            column="model",
            value=row["model"],
        )
        for row in blocked[~blocked["model"].isin(overruled)].to_dict("records")
    ]
    remedy = "name only models whose answers screening blocks"
    problems += [
        Problem("--overrule", "has no blocked answers", remedy, column="model", value=name)
        for name in sorted(set(overruled) - set(blocked["model"]))
    ]
    if problems:
        raise InputError(problems)
