"""State who sent in a model's answers, how they were made, and who accepted them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import escape_html
from fairstats.release.contents import Board, Release
from fairstats.report.tables import breakable, written_table

if TYPE_CHECKING:
    from great_tables import GT

#: What a submitter without an interest in the result writes.
_NONE = "none"
_LABELS = {
    "submitter": "Sent by",
    "provider": "Run by",
    "run": "Run",
    "attempts": "Attempts",
    "conflicts": "Interests",
    "accepted": "Accepted by",
}


def submissions_of(release: Release, board: Board, model: str | None = None) -> pd.DataFrame:
    """Return the submissions of a board, or of one model on it."""
    rows = release.submissions
    rows = rows[
        (rows["benchmark"] == board.benchmark.name)
        & (rows["benchmark_version"] == board.version)
        & (rows["strategy"] == board.strategy)
    ]
    return rows if model is None else rows[rows["model"] == model]


def selected_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the submissions that were chosen among several runs."""
    return rows[rows["attempts"] > 1]


def selection_notes(rows: pd.DataFrame) -> list[str]:
    """Return a sentence for each submission that was chosen among several runs."""
    return [
        f"{row['model']}: one of {row['attempts']:,} complete runs, chosen by the submitter "
        f"({row['chosen_by'].rstrip('.')}). The best of several runs looks better than a typical "
        "one."
        for row in selected_runs(rows).to_dict("records")
    ]


def submission_caveats(rows: pd.DataFrame) -> list[str]:
    """Return what limits the trust in submitted answers, one sentence or two each."""
    notes = selection_notes(rows)
    for row in rows.to_dict("records"):
        if row["conflicts"].strip(" .").casefold() != _NONE:
            notes.append(f"The submitter states an interest in the result: {row['conflicts']}.")
        if row["overruled"]:
            who = row["accepted_by"]
            notes.append(f"{who} accepted answers that screening blocks: {row['overruled']}.")
    return [note.replace("..", ".") for note in notes]


def submission_facts(rows: pd.DataFrame) -> list[str]:
    """Return who sent answers, how they were made and who accepted them, each sentence once."""
    facts = []
    for row in rows.to_dict("records"):
        settings = json.loads(row["settings"])
        listed = ", ".join(f"{name} = {value}" for name, value in settings.items())
        runs = f"{row['attempts']:,} complete run{'s' * (row['attempts'] > 1)} made"
        facts += [
            f"Sent by {row['submitter']}. Interests: {row['conflicts']}",
            f"Run {_days(row)} by {row['provider']}, {listed or 'default settings'}; {runs}",
            f"Training data: {row['training_data']}",
            f"Accepted by {row['accepted_by']} on {row['accepted_at'][:10]}",
        ]
    return list(dict.fromkeys(fact.rstrip(".") + "." for fact in facts))


def submissions_table(rows: pd.DataFrame, models: list[str], *, name: str) -> GT:
    """Make a table of who sent which model's answers.

    Parameters
    ----------
    rows : pandas.DataFrame
        The submissions of a board.
    models : list of str
        The models of the board, in its order.
    name : str
        The table's id, unique on the page.
    """
    by_model = rows.set_index("model").to_dict("index")
    cells = []
    for model in models:
        cell = {"model": escape_html(breakable(model))}
        row = by_model.get(model)
        if row is None:
            cell |= dict.fromkeys(_LABELS, "–") | {"submitter": "added by the publisher"}
        else:
            cell |= {key: row[key] for key in ("submitter", "provider", "conflicts")}
            cell |= {"run": _days(row), "attempts": f"{row['attempts']:,}"}
            cell["accepted"] = f"{row['accepted_by']}, {row['accepted_at'][:10]}"
        cells.append(cell)
    return written_table(
        cells, _LABELS, name=name, stub="model", heading="Model", html=["model"], right=["attempts"]
    )


def _days(row: dict[str, str]) -> str:
    """Return the days of the run."""
    return (
        row["started"] if row["started"] == row["ended"] else f"{row['started']} to {row['ended']}"
    )
