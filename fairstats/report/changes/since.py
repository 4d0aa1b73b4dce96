"""State what changed for an answer set since another release: answers, snapshot, rank, verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import Benchmark
from fairstats.release.contents import Release
from fairstats.report.findings import prompted, set_label

NEW, GONE, SAME = "new", "gone", "same"
#: The readers' names for the reasons of changed figures.
REASONS = {
    "answers": "different answers",
    "benchmark": "different benchmark file",
    "method": "different method",
}
_ANSWERS = {NEW: "new", GONE: "removed", SAME: "the same answers"}
#: What may differ between the two releases, with how it is written.
_SIDES = {
    "snapshot": "snapshot {}", "answers": "{} answers", "missing": "{} missing", "rank": "rank {}"
}  # fmt: skip
#: Answer sets that the difference of two releases names.
_LISTED = 20


@dataclass(frozen=True)
class SetChange:
    """What changed for the answers of one model to one version of a benchmark with one prompt.

    Attributes
    ----------
    model, name : str
        The model, and the readers' name for the vignettes and the prompt.
    facts : mapping
        Its row of the table ``answer_set_changes``.
    verdicts : tuple of str
        The changed verdicts, in words.
    figures : mapping of str to int
        The number of changed figures, by reason.
    """

    model: str
    name: str
    facts: Mapping[Any, Any]
    verdicts: tuple[str, ...]
    figures: Mapping[str, int]

    @property
    def change(self) -> str:
        """Return "new", "gone", "answers changed" or "same"."""
        return str(self.facts["change"])

    @property
    def matters(self) -> bool:
        """Check whether answers, snapshot, rank or a verdict changed."""
        return self.text != _ANSWERS[SAME]

    @property
    def text(self) -> str:
        """Return the changes as clauses, e.g. ``"new answers; rank 3 of 12 → 2 of 13"``."""
        return "; ".join(self.clauses)

    @property
    def clauses(self) -> tuple[str, ...]:
        """Return what changed, that of the answers first."""
        return tuple(self._clauses())

    def _clauses(self) -> Iterator[str]:
        yield _ANSWERS.get(self.change, "other answers")
        if self.change in (NEW, GONE):
            return
        for name, written in _SIDES.items():
            old, new = (self.facts[f"{name}_{side}"] for side in ("old", "new"))
            if old != new and not (pd.isna(old) and pd.isna(new)):
                yield written.format(f"{self._side(name, 'old')} → {self._side(name, 'new')}")
        if self.facts["benchmark_changed"]:
            yield "the benchmark is declared differently"
        yield from self.verdicts

    def _side(self, name: str, side: str) -> str:
        value = self.facts[f"{name}_{side}"]
        if pd.isna(value):
            return "none" if name == "rank" else "not known"
        of = f" of {self.facts[f'ranked_{side}']}" if name == "rank" else ""
        return f"{value if isinstance(value, str) else f'{value:,}'}{of}"


def set_changes(
    answer_sets: pd.DataFrame,
    verdicts: pd.DataFrame,
    figures: pd.DataFrame,
    *releases: Release,
) -> list[SetChange]:
    """Return what changed for each answer set of two releases.

    Parameters
    ----------
    answer_sets, verdicts, figures : pandas.DataFrame
        The tables of `fairstats.publishing.diff.ReleaseDiff`.
    *releases : Release
        Releases that declare the benchmarks, the newer one first.
    """
    unit = list(UNIT_COLUMNS)
    moved = figures.groupby([*unit, "why"]).size()
    found = []
    for row in answer_sets.to_dict("records"):
        key = tuple(row[name] for name in unit)
        benchmark = _declared(key[0], releases)
        own = verdicts[(verdicts[unit] == list(key)).all(axis=1)]
        changed = tuple(verdict_text(one, benchmark) for one in own.to_dict("records"))
        counts = moved.xs(key, level=unit).to_dict() if key in moved.index.droplevel("why") else {}
        found.append(SetChange(row["model"], set_name(row, *releases), row, changed, counts))
    return found


def _declared(name: str, releases: Sequence[Release]) -> Benchmark | None:
    return next((one.benchmarks[name] for one in releases if name in one.benchmarks), None)


def verdict_text(row: Mapping[Any, Any], benchmark: Benchmark | None) -> str:
    """Write a changed verdict, e.g. ``"Race: disparity → inconclusive (few items)"``."""
    pair = f"{row['group_a']} − {row['group_b']}"
    if benchmark is not None and row["attribute"] in benchmark.attributes:
        pair = benchmark.pair_name(row["attribute"], (row["group_a"], row["group_b"]))
    reason = row["verdict_reason"]
    note = f" ({reason})" if isinstance(reason, str) and reason else ""
    return f"{pair}: {row['old']} → {row['new']}{note}"


def set_name(row: Mapping[Any, Any], *releases: Release) -> str:
    """Name the vignettes of an answer set, and its prompt if there are several."""
    name, version = row["benchmark"], row["benchmark_version"]
    benchmark = _declared(name, releases)
    if benchmark is None:
        # Only the previous release declares it, which may not be there.
        return f"{name} {version}, {row['strategy']}"
    named = any(prompted(one, name) for one in releases)
    return set_label(benchmark, version, row["strategy"], prompted=named)


def diff_lines(changed: Sequence[SetChange], *, every: bool = False) -> Iterator[str]:
    """Yield what changed between two releases, a line per changed answer set, the verdicts first.

    Parameters
    ----------
    changed : sequence of SetChange
        All answer sets of both releases.
    every : bool
        Whether to name all answer sets; if not, at most 20 that changed.
    """
    shown = [one for one in changed if every or one.matters]
    kept = [one for one in shown if one.change not in (NEW, GONE)]
    kept = sorted(kept, key=lambda one: (not one.verdicts, one.change == SAME))
    most = len(changed) if every else _LISTED
    yield from (f"{one.model}, {one.name}: {one.text}" for one in kept[:most])
    for change in (NEW, GONE):
        names = [f"{one.model}, {one.name}" for one in shown if one.change == change]
        more = [f"{len(names) - most} more"] if len(names) > most else []
        if names:
            yield f"{_ANSWERS[change]}: {'; '.join([*names[:most], *more])}"
    if len(kept) > most:
        yield f"{len(kept) - most} more answer sets changed; --all lists them"
    if same := len(changed) - len(shown):
        yield f"{same} answer set{'s' * (same != 1)} with the same answers, rank and verdicts"
    counts = Counter[str]()
    for one in changed:
        counts.update(one.figures)
    reasons = ", ".join(f"{count:,} ({REASONS[why]})" for why, count in counts.most_common())
    if not counts:
        yield "no figure changed"
    elif every:
        yield f"changed figures: {reasons}"
    else:
        yield f"changed figures: {reasons}; --all, --csv or --json lists them"
