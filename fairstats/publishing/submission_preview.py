"""Preview how a submission would change a board: its figures, and those of the other models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import BASELINE, Benchmark, MissingPolicy
from fairstats.comparisons.ranking import no_ranking
from fairstats.publishing.diff import verdict_changes
from fairstats.release.tables import TABLES, ReleaseInputs

_BOARD = ["benchmark", "benchmark_version", "strategy"]
_PAIR = [*UNIT_COLUMNS, "attribute", "group_a", "group_b"]
#: Columns of `Preview.figures`, in order.
PREVIEW_COLUMNS = (
    *_PAIR,
    "accuracy_difference",
    "ci_low",
    "ci_high",
    "cfr",
    "p_adjusted",
    "verdict",
    "verdict_reason",
)
#: Columns of `Preview.ranks`, in order; the ranks are ranges such as "2–3".
RANK_CHANGE_COLUMNS = (*_BOARD, "model", "rank_before", "rank_after", "method_note")


@dataclass(frozen=True)
class Preview:
    """How a submission would change a board.

    Attributes
    ----------
    figures : pandas.DataFrame
        `PREVIEW_COLUMNS`, one row per pair of groups of the submitted answer sets.
    ranks : pandas.DataFrame
        `RANK_CHANGE_COLUMNS`: the submitted sets, and each other model with a changed range. A
        range is empty if the model has no rank, and None before if it was not on the board.
    verdicts : pandas.DataFrame
        `fairstats.publishing.diff.VERDICT_COLUMNS`: changed verdicts on other models, whose
        p-values are adjusted together with the new ones.
    replaced : tuple of str
        Labels of the answer sets on the board that the submission would replace.
    """

    figures: pd.DataFrame
    ranks: pd.DataFrame
    verdicts: pd.DataFrame
    replaced: tuple[str, ...]


def preview(
    submitted: pd.DataFrame,
    present: pd.DataFrame | None,
    *,
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    benchmarks: Mapping[str, Benchmark],
) -> Preview:
    """Compute the estimates and ranks of a board with and without submitted answers.

    Parameters
    ----------
    submitted, present : pandas.DataFrame
        The submitted answers, and those on the board; None for an empty board.
    missing, alpha, benchmarks
        As in `fairstats.analyze`.
    """
    keys = list(UNIT_COLUMNS)
    new = pd.MultiIndex.from_frame(submitted[keys].drop_duplicates())
    before, replaced, after = None, list[str](), submitted
    if present is not None:
        present = present[present["benchmark"].isin(submitted["benchmark"].unique())]
    if present is not None and len(present):
        old = pd.MultiIndex.from_frame(present[keys])
        replaced = [" / ".join(key) for key in new if key in old]
        after = pd.concat([without_sets(present, submitted), submitted], ignore_index=True)
        before = ReleaseInputs.of_answers(present, missing, alpha, benchmarks)
    tables = ReleaseInputs.of_answers(after, missing, alpha, benchmarks)
    estimates = _estimates(tables)
    own = pd.MultiIndex.from_frame(estimates[keys]).isin(new)
    verdicts = verdict_changes(
        estimates[:0] if before is None else _estimates(before), estimates[~own]
    )
    ranks = _rank_changes(_ranks(before), _ranks(tables), new)
    return Preview(_figures(estimates[own]), ranks, verdicts, tuple(replaced))


def without_sets(answers: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Return answers without those of the answer sets that are in another table."""
    keys = list(UNIT_COLUMNS)
    sets = pd.MultiIndex.from_frame(others[keys].drop_duplicates())
    return answers[~pd.MultiIndex.from_frame(answers[keys]).isin(sets)]


def _estimates(of: ReleaseInputs) -> pd.DataFrame:
    return TABLES["estimates"].make(of)


def _figures(estimates: pd.DataFrame) -> pd.DataFrame:
    rows = estimates[(estimates["attribute"] != BASELINE) & estimates["group_a"].notna()]
    rows = rows[rows["metric"].isin(["accuracy_difference", "cfr"])].set_index(_PAIR)
    gaps = rows[rows["metric"] == "accuracy_difference"]
    shares = rows.loc[rows["metric"] == "cfr", "estimate"].rename("cfr")
    table = gaps.rename(columns={"estimate": "accuracy_difference"}).join(shares).reset_index()
    return table[list(PREVIEW_COLUMNS)]


def _ranks(of: ReleaseInputs | None) -> pd.DataFrame:
    """Return the range of ranks and the note of each model, by board and model."""
    table = no_ranking().ranks if of is None else TABLES["ranks"].make(of)
    ranges = [
        "" if pd.isna(low) else str(low) if low == high else f"{low}–{high}"
        for low, high in zip(table["rank_low"], table["rank_high"], strict=True)
    ]
    columns = [*_BOARD, "model", "rank", "method_note"]
    return table.assign(rank=ranges)[columns].set_index([*_BOARD, "model"])


def _rank_changes(before: pd.DataFrame, after: pd.DataFrame, new: pd.MultiIndex) -> pd.DataFrame:
    both = after.join(before["rank"].rename("rank_before"), how="left").reset_index()
    both = both.rename(columns={"rank": "rank_after"})
    both["rank_before"] = (
        both["rank_before"].astype(object).where(both["rank_before"].notna(), None)
    )
    own = pd.MultiIndex.from_frame(both[list(UNIT_COLUMNS)]).isin(new)
    changed = own | (both["rank_before"] != both["rank_after"]).to_numpy()
    return both.loc[changed, list(RANK_CHANGE_COLUMNS)].reset_index(drop=True)
