"""State what the screening of a release's answers found, in plain text."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from fairstats._lib.formatting import number_word
from fairstats.release.contents import Board, Release
from fairstats.screening.findings import NOT_CHECKED


def screening_of(release: Release, board: Board, model: str | None = None) -> pd.DataFrame:
    """Return the screening of a board's answers, or of one model's."""
    rows = release.screening
    rows = rows[
        (rows["benchmark"] == board.benchmark.name)
        & (rows["benchmark_version"] == board.version)
        & (rows["strategy"] == board.strategy)
    ]
    return rows if model is None else rows[rows["model"] == model]


def flags_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the checks with a flag, without those that were not possible."""
    return rows[_checked(rows) & (rows["flag"] != "ok")]


def flag_notes(rows: pd.DataFrame, overruled: Collection[str]) -> list[str]:
    """Return a sentence for each flag, see `flags_of`; these models were overruled."""
    blocked = "Screening blocks these answers; the publisher overruled it. "
    # Such answers are published only if they are not blocked without the overruled ones.
    indirect = "Screening blocks these answers because of others that the publisher overruled. "
    return [
        f"{row['model']}: "
        + ("" if row["flag"] != "block" else blocked if row["model"] in overruled else indirect)
        + str(row["note"])
        for row in flags_of(rows).to_dict("records")
    ]


def screening_summary(rows: pd.DataFrame) -> str:
    """State how many checks were made and how many flags they gave; empty without any check."""
    if rows.empty:
        return ""
    checked = _checked(rows)
    flags = len(flags_of(rows))
    what = "of copied, shifted, forced or invented answers"
    found = "no sign" if not flags else "one sign" if flags == 1 else f"{number_word(flags)} signs"
    n = int(checked.sum())
    text = f"Screening found {found} {what} in {n:,} check{'s' * (n != 1)}."
    if flags:
        text += " A flag is a reason to ask, not a proof."
    if missing := int((~checked).sum()):
        were = "check was" if missing == 1 else "checks were"
        text += f" {number_word(missing).capitalize()} more {were} not possible."
    return text


def _checked(rows: pd.DataFrame) -> pd.Series:
    return ~rows["note"].str.startswith(NOT_CHECKED)
