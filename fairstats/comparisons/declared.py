"""The comparisons that a release publishes: versions of a model, and strategies of a model."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from fairstats._lib.installation import resource
from fairstats.answers.engine_frames import UNIT_COLUMNS, open_answers
from fairstats.benchmarks.declaration import PLAIN, Benchmark, MissingPolicy
from fairstats.comparisons.change_verdicts import judge_changes
from fairstats.comparisons.compare import COMPARISON_COLUMNS, changes
from fairstats.counts.item_outcomes import answer_sets

VERSION, STRATEGY = "version", "strategy"
RELEASE_COMPARISON_COLUMNS = ("kind", *COMPARISON_COLUMNS)
_UNIT = list(UNIT_COLUMNS)


def successors() -> list[tuple[str, str]]:
    """Return pairs of models (older, newer), in which the newer is the next version of the older.

    They are those of FairMedQA, table 2.
    """
    path = resource("data", "models", "successors.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return [(row["older"], row["newer"]) for row in csv.DictReader(file)]


def comparisons_of(
    answers: Any,
    missing: MissingPolicy | None,
    alpha: float,
    benchmarks: Mapping[str, Benchmark],
) -> pd.DataFrame:
    """Compute every comparison that the answers of a release allow.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers.
    missing, alpha, benchmarks
        As in `compare`.

    Returns
    -------
    pandas.DataFrame
        `RELEASE_COMPARISON_COLUMNS`, on the pairs that both answered unless `missing` names another
        policy. p-values are adjusted over the family that the benchmark declares, and
        ``adjust_method`` names it. ``kind`` is "version" for a model and its successor, on one
        version of a benchmark with one strategy. It is "strategy" for one model with the plain and
        another strategy. If a model's successor was only asked other questions, the comparison is
        made and every row is marked.
    """
    sets = answer_sets(open_answers(answers, benchmarks))
    units = pd.DataFrame(list(sets), columns=_UNIT)
    tables = [
        changes(
            sets[tuple(old[_UNIT])],
            sets[tuple(new[_UNIT])],
            missing=missing,
            alpha=alpha,
            allow_different_items=True,
            benchmarks=benchmarks,
        ).assign(kind=kind, family=family_of(kind, old, new, benchmarks))
        for kind, old, new in (*_versions(units), *_strategies(units))
    ]
    if not tables:
        return pd.DataFrame(columns=list(RELEASE_COMPARISON_COLUMNS))
    judged = judge_changes(pd.concat(tables, ignore_index=True), alpha=alpha)
    return judged[list(RELEASE_COMPARISON_COLUMNS)]


def family_of(
    kind: str, old: pd.Series, new: pd.Series, benchmarks: Mapping[str, Benchmark]
) -> str:
    """Name the comparisons that are adjusted together.

    On a board, these are all versions compared with one strategy, or all strategies compared with
    the plain one.
    """
    name, version, strategy = old["benchmark"], old["benchmark_version"], old["strategy"]
    if new["benchmark_version"] != version:
        version += f" → {new['benchmark_version']}"
    own = " → ".join(dict.fromkeys([old["model"], new["model"]]))
    if kind == STRATEGY:
        strategy = "strategies"
    return {
        "model": f"{own} on {name}, {version}, {strategy}",
        "board": f"the board {name}, {version}, {strategy}",
        "release": "all comparisons of the release",
    }[benchmarks[name].family]


def _versions(units: pd.DataFrame) -> Iterator[tuple[str, pd.Series, pd.Series]]:
    for older, newer in successors():
        old, new = units[units["model"] == older], units[units["model"] == newer]
        both = old.merge(new, on=["benchmark", "strategy"], suffixes=("", "_new"))
        alike = both[both["benchmark_version"] == both["benchmark_version_new"]]
        for _, row in (both if alike.empty else alike).iterrows():
            renamed = {"benchmark_version": row["benchmark_version_new"], "model": newer}
            yield VERSION, row, pd.Series(row.to_dict() | renamed)


def _strategies(units: pd.DataFrame) -> Iterator[tuple[str, pd.Series, pd.Series]]:
    plain = units[units["strategy"] == PLAIN]
    others = units[units["strategy"] != PLAIN]
    keys = ["benchmark", "benchmark_version", "model"]
    for _, row in plain.merge(others, on=keys, suffixes=("", "_new")).iterrows():
        yield STRATEGY, row, pd.Series(row.to_dict() | {"strategy": row["strategy_new"]})
