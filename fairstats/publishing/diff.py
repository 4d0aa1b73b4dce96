"""Compare two releases: list the changes and their reasons."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairstats._lib.problems import laid_out
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.answers.schema import KEY_COLUMNS
from fairstats.benchmarks.kinds import DIFFERENCES
from fairstats.release.contents import Release
from fairstats.release.manifest import open_release

ANSWERS, BENCHMARK, METHOD = "answers", "benchmark", "method"
_ROW = (*UNIT_COLUMNS, "attribute", "group_a", "group_b", "metric")
#: The columns of `ReleaseDiff.figures`, in order.
FIGURE_COLUMNS = (*_ROW, "test", "what", "old", "new", "change", "why")
#: The columns of `ReleaseDiff.verdicts`, in order.
VERDICT_COLUMNS = (*_ROW, "old", "new", "verdict_reason")
NO_VERDICT = "no verdict"
#: The figures of a row that are compared.
_NUMBERS = ("estimate", "ci_low", "ci_high", "p_value")


@dataclass(frozen=True)
class ReleaseDiff:
    """Hold the differences between two releases.

    Attributes
    ----------
    answer_sets : pandas.DataFrame
        `UNIT_COLUMNS` and ``change``: "new", "gone", "answers changed" or "same".
    figures : pandas.DataFrame
        `FIGURE_COLUMNS`: every changed figure of a row that is in both releases. ``what`` names it
        (estimate, limits, p-value). Adjusted p-values are left out, because they depend on the
        other models. A figure that one release lacks is NaN there, and so is its ``change``.
        ``why`` is the reason: its answers changed, else its benchmark's file did, else the method
        (the version of fairstats or the arguments).
    verdicts : pandas.DataFrame
        `VERDICT_COLUMNS`: each changed verdict. It can change although no figure of the pair did,
        since p-values are adjusted over all models. ``verdict_reason`` is the newer verdict's
        reason; missing if it has no reason.
    """

    answer_sets: pd.DataFrame
    figures: pd.DataFrame
    verdicts: pd.DataFrame


def diff_releases(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> ReleaseDiff:
    """Compare two releases.

    Parameters
    ----------
    old, new : path
        The releases' folders.

    Returns
    -------
    ReleaseDiff

    Raises
    ------
    InputError
        As `fairstats.release.manifest.open_release`.
    """
    releases = open_release(old), open_release(new)
    where = " and ".join(str(release.path) for release in releases)
    message = "one of them does not have the tables of a release"
    with laid_out(where, message, "run `fairstats verify` on both"):
        return changes(*releases)


def changes(one: Release, other: Release) -> ReleaseDiff:
    """Compare two releases; either may still be unpublished."""
    sets = (
        _answer_hashes(one).to_frame("old").join(_answer_hashes(other).rename("new"), how="outer")
    )
    change = np.select(
        [sets["old"].isna(), sets["new"].isna(), sets["old"] == sets["new"]],
        ["new", "gone", "same"],
        "answers changed",
    )
    answer_sets = sets.index.to_frame(index=False).assign(change=change)
    verdicts = verdict_changes(one.estimates, other.estimates)
    return ReleaseDiff(answer_sets, _figures(one, other, answer_sets), verdicts)


def _answer_hashes(release: Release) -> pd.Series:
    """Hash the answers of each unit, ignoring their order and optional columns."""
    answers = pd.read_parquet(release.answers_path)
    columns = [*KEY_COLUMNS, "answer", "answer_key", "cluster"]
    answers = answers[[name for name in columns if name in answers]]
    answers = answers.sort_values(list(KEY_COLUMNS))
    hashes = {
        key: hashlib.sha256(rows.to_csv(index=False).encode()).hexdigest()
        for key, rows in answers.groupby(list(UNIT_COLUMNS))
    }
    index = pd.MultiIndex.from_tuples(list(hashes), names=list(UNIT_COLUMNS))
    return pd.Series(list(hashes.values()), index=index)


def _figures(old: Release, new: Release, answer_sets: pd.DataFrame) -> pd.DataFrame:
    keys = [*_ROW, "test"]
    both = old.estimates[[*keys, *_NUMBERS]].merge(
        new.estimates[[*keys, *_NUMBERS]], on=keys, suffixes=("_old", "_new")
    )
    # The detectable difference depends on the family of tests, and so on the other models.
    both = both[both["metric"] != "minimum_detectable_difference"]
    parts = []
    for what in _NUMBERS:
        sides = both.rename(columns={f"{what}_old": "old", f"{what}_new": "new"})
        sides = sides[[*keys, "old", "new"]].assign(what=what)
        same = np.isclose(sides["old"], sides["new"], rtol=1e-9, atol=1e-12, equal_nan=True)
        parts.append(sides[~same])
    moved = pd.concat(parts).merge(answer_sets, on=list(UNIT_COLUMNS))
    declared = {
        name: old.benchmarks[name].declaration == new.benchmarks[name].declaration
        for name in moved["benchmark"].unique()
    }
    unlike = ~moved["benchmark"].map(declared).astype(bool)
    why = np.select([moved["change"] == "answers changed", unlike], [ANSWERS, BENCHMARK], METHOD)
    moved = moved.assign(change=moved["new"] - moved["old"], why=why)
    return moved[list(FIGURE_COLUMNS)].reset_index(drop=True)


def verdict_changes(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Return the changed verdicts of pairs that are in both estimates, with `VERDICT_COLUMNS`."""
    keys = list(_ROW)
    before, after = (rows[rows["metric"].isin(DIFFERENCES)] for rows in (old, new))
    if "verdict_reason" not in after:
        # Older releases have no reasons.
        after = after.assign(verdict_reason=pd.Series(index=after.index, dtype="str"))
    both = before[[*keys, "verdict"]].merge(
        after[[*keys, "verdict", "verdict_reason"]], on=keys, suffixes=("_old", "_new")
    )
    both = both.rename(columns={"verdict_old": "old", "verdict_new": "new"}).fillna(
        {"old": NO_VERDICT, "new": NO_VERDICT}
    )
    return both.loc[both["old"] != both["new"], list(VERDICT_COLUMNS)].reset_index(drop=True)
