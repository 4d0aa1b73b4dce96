"""State what the screening of a release's answers found, in plain text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
from great_tables import GT

from fairstats._lib.formatting import (
    capital,
    counted,
    level,
    number_word,
    percent,
    points,
    quoted,
    span,
)
from fairstats.benchmarks.declaration import BASELINE, Benchmark
from fairstats.benchmarks.kinds import CHOICE
from fairstats.comparisons.change_verdicts import PAIR
from fairstats.release.contents import Board, Release
from fairstats.report.tables import breakable, rows_with, written_table
from fairstats.screening.findings import flags_of

_BOARD = ("benchmark", "benchmark_version", "strategy")


def screening_of(release: Release, board: Board) -> pd.DataFrame:
    """Return the screening of a board's answers."""
    unit = (board.benchmark.name, board.version, board.strategy)
    return rows_with(release.screening, _BOARD, unit)


def submissions_of(release: Release, board: Board) -> pd.DataFrame:
    """Return who sent in a board's answers."""
    unit = (board.benchmark.name, board.version, board.strategy)
    return rows_with(release.submissions, _BOARD, unit)


def screening_summary(rows: pd.DataFrame) -> str:
    """State how many checks were made and how many flags they gave; empty without any check."""
    if rows.empty:
        return ""
    checked, flags = rows["flag"] != "not_checked", len(flags_of(rows))
    asks = "no question" if not flags else counted(flags, "question")
    text = (
        f"In {counted(int(checked.sum()), 'check')} of how the answers were made, screening has "
        f"{asks}."
    )
    if flags:
        text += " A question is not a proof."
    if missing := int((~checked).sum()):
        were = "check was" if missing == 1 else "checks were"
        text += f" {capital(number_word(missing))} more {were} not possible."
    return text


_LABELS = {
    "submitter": "Sent by",
    "provider": "Run by",
    "run": "Run",
    "attempts": "Attempts",
    "conflicts": "Interests",
    "accepted": "Accepted by",
}


def _stated(text: str) -> str:
    """Return what somebody states in quotation marks: it is not a sentence of the page."""
    return quoted(text.rstrip("."))


def selected_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the submissions that were chosen among several runs."""
    return rows[rows["attempts"] > 1]


def selection_notes(rows: pd.DataFrame) -> list[str]:
    """Return a sentence for each submission that was chosen among several runs."""
    return [
        f"{quoted(row['model'])}: one of {row['attempts']:,} complete runs, chosen by the "
        f"submitter ({_stated(row['chosen_by'])}). The best of several runs looks better than a "
        "typical one."
        for row in selected_runs(rows).to_dict("records")
    ]


def has_none(conflicts: str) -> bool:
    """Check whether a statement of conflicts of interest is "none"."""
    return conflicts.strip(" .").casefold() == "none"


def submission_caveats(rows: pd.DataFrame) -> list[str]:
    """Return what limits the trust in submitted answers, one sentence or two each."""
    notes = selection_notes(rows)
    for row in rows.to_dict("records"):
        if not has_none(row["conflicts"]):
            notes.append(
                f"The submitter states an interest in the result: {_stated(row['conflicts'])}."
            )
        if row["overruled"]:
            who = row["accepted_by"]
            notes.append(
                f"{who} accepted answers that screening blocks: {_stated(row['overruled'])}."
            )
    return notes


def stated_settings(text: str) -> str:
    """Return the settings that a submitter declares, from their JSON."""
    settings = json.loads(text).items()
    return quoted(*(f"{name} = {value}" for name, value in settings)) or "default settings"


def submission_facts(rows: pd.DataFrame) -> list[str]:
    """Return who sent answers, how they were made and who accepted them, each sentence once."""
    facts = []
    for row in rows.to_dict("records"):
        runs = f"{counted(row['attempts'], 'complete run')} made"
        facts += [
            f"Sent by {_stated(row['submitter'])}. Interests: {_stated(row['conflicts'])}.",
            f"Run {_days(row)} by {_stated(row['provider'])}, {stated_settings(row['settings'])}; "
            f"{runs}.",
            f"Training data: {_stated(row['training_data'])}.",
            f"Accepted by {_stated(row['accepted_by'])} on {row['accepted_at'][:10]}.",
        ]
    return list(dict.fromkeys(facts))


def submissions_table(rows: pd.DataFrame, models: list[str], *, name: str) -> GT:
    """Make a table of who sent which model's answers."""
    sent = {
        row["model"]: row
        | {
            "run": _days(row),
            "attempts": f"{row['attempts']:,}",
            "accepted": f"{row['accepted_by']}, {row['accepted_at'][:10]}",
        }
        for row in rows.to_dict("records")
    }
    own = dict.fromkeys(_LABELS, "–") | {"submitter": "added by the publisher"}
    cells = [sent.get(model, own) | {"model": breakable(model)} for model in models]
    return written_table(
        cells, _LABELS, name=name, stub="model", heading="Model", right=["attempts"]
    )


def _days(row: dict[str, str]) -> str:
    """Return the days of the run."""
    return span(row["started"], row["ended"])


# More pairs than these are counted, not named.
_MOST_PAIRS = 4


def noise_line(rows: pd.DataFrame, benchmark: Benchmark, release: Release) -> str:
    """Return one paragraph on the pairs of one answer set; empty without several samples."""
    rows = rows[(rows["attribute"] != BASELINE) & rows["estimate"].notna()]
    agreement, excess = (
        rows[rows["metric"] == metric].set_index([*PAIR])
        for metric in ("same_prompt_agreement", "excess_disagreement")
    )
    excess = excess.assign(differ=1 - agreement["estimate"]).dropna(subset=["differ"])
    if excess.empty:
        return ""
    asked = "Each prompt was asked several times."
    if benchmark.kind != CHOICE and len(excess) > _MOST_PAIRS:
        varied = excess.index.isin(benchmark.varied_names, level="attribute")
        return f"{asked} {_of_many(excess[varied])}"
    sure = level(release.alpha)
    clauses = [
        f"{benchmark.pair_label(str(attribute), (str(a), str(b)))}: two samples of the "
        f"same prompt differ in {percent(row['differ'])} of cases, the two groups in "
        f"{percent(row['differ'] + row['estimate'])} of the same cases ({points(row['estimate'])} "
        f"points, {sure} interval {points(row['ci_low'])} to {points(row['ci_high'])}). "
        f"{_beyond_noise(row)}"
        for (attribute, a, b), row in excess.to_dict("index").items()
    ]
    return " ".join([asked, *clauses])


def _beyond_noise(row: Mapping[Any, Any]) -> str:
    if row["ci_low"] > 0:
        return "So the group changes answers beyond sampling noise."
    if row["ci_high"] < 0:
        return (
            "Samples that differ more often than the groups may not be repetitions of one prompt."
        )
    return "So no change beyond sampling noise was found."


def _of_many(excess: pd.DataFrame) -> str:
    """Sum up more pairs than can be named."""
    differ = span(percent(excess["differ"].min()), percent(excess["differ"].max()))
    beyond, below = int((excess["ci_low"] > 0).sum()), int((excess["ci_high"] < 0).sum())
    text = (
        f"Two samples of the same prompt differ in {differ} of cases. In {beyond} of {len(excess)} "
        "pairs, the groups change answers clearly more often than that (intervals not adjusted)."
    )
    # One interval of many can miss the true value.
    if 2 * below > len(excess):
        text += (
            f" In {below}, samples of the same prompt differ clearly more often than the groups, "
            "so they may not be repetitions of one prompt."
        )
    return text
