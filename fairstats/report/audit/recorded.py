"""What a model's answers record about how they were collected: days, settings, service."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd
import pyarrow.dataset

from fairstats._lib.formatting import listed, percent
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.answers.files import read_parquet
from fairstats.release.contents import Release
from fairstats.report.answer_sets import AnswerSet

_COLUMNS = ("status", "collected_at", "temperature", "max_tokens", "seed", "endpoint")
#: How a setting is stated.
_SETTINGS = {"temperature": "temperature {}", "max_tokens": "at most {} tokens", "seed": "seed {}"}
# More values than these are given as a range.
_MOST_VALUES = 3


@dataclass(frozen=True)
class Recorded:
    """Hold what answers record; each method returns an empty text for what they do not."""

    rows: pd.DataFrame

    def of(self, sets: Iterable[AnswerSet]) -> Recorded:
        """Return the answers of these answer sets only."""
        units = [
            (one.benchmark.name, one.board.version, one.model, one.board.strategy) for one in sets
        ]
        own = pd.MultiIndex.from_frame(self.rows[list(UNIT_COLUMNS)]).isin(units)
        return Recorded(self.rows[own])

    @property
    def days(self) -> tuple[str, str]:
        """Return the first and the last day on which answers were collected (UTC)."""
        if (texts := self._values("collected_at")).empty:
            return "", ""
        times = pd.to_datetime(texts, utc=True, format="ISO8601")
        return f"{times.min():%Y-%m-%d}", f"{times.max():%Y-%m-%d}"

    @property
    def settings(self) -> str:
        """Return the settings, e.g. ``"temperature 0, at most 24 tokens, seed 0"``."""
        named = {name: self._numbers(name) for name in _SETTINGS}
        return ", ".join(_SETTINGS[name].format(value) for name, value in named.items() if value)

    @property
    def services(self) -> str:
        """Return the host and path of each service that answered."""
        return listed(sorted(self._values("endpoint").astype(str)))

    def unanswered(self, missing: int, expected: int) -> str:
        """State how many expected answers were refused, or are missing for other reasons."""
        if not missing:
            return f"none of {expected:,}"
        refused = int((self.rows["status"] == "refused").sum())
        counts = {
            "refused": refused,
            "empty or unreadable": int((self.rows["status"] == "unparsed").sum()),
            "failed": int((self.rows["status"] == "error").sum()),
        }
        counts["not in the file"] = missing - sum(counts.values())
        parts = [
            f"{count:,} {name} ({percent(count / expected)})"
            for name, count in counts.items()
            if count > 0
        ]
        # Not all tools distinguish refusals.
        return ", ".join(["none marked as refused"] * (not refused) + parts)

    def _values(self, column: str) -> pd.Series:
        """Return the different known values of a column."""
        there = self.rows.get(column, pd.Series(dtype="object"))
        return there.dropna().drop_duplicates()

    def _numbers(self, column: str) -> str:
        values = [f"{value:g}" for value in sorted(self._values(column))]
        if len(values) > _MOST_VALUES:
            return f"{values[0]} to {values[-1]}"
        return listed(values, "or")


def read_recorded(release: Release, model: str) -> Recorded:
    """Read what a model's answers record, from the release's file of answers."""
    there = pyarrow.dataset.dataset(release.answers_path).schema.names
    columns = [*UNIT_COLUMNS, *(name for name in _COLUMNS if name in there)]
    rows = read_parquet(release.answers_path, columns=columns, filters=[("model", "==", model)])
    return Recorded(rows)
