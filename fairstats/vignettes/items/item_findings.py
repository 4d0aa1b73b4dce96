"""Findings from the statistics of items, for a benchmark as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from fairstats.benchmarks.declaration import BASELINE, Benchmark, MissingPolicy
from fairstats.inference._checks import check_alpha
from fairstats.inference.agreement.cronbach_alpha import cronbach_alpha
from fairstats.inference.differences import mean_difference
from fairstats.inference.intervals import wilson
from fairstats.inference.item_bootstrap import bounded_mean_interval
from fairstats.vignettes.findings import findings_frame
from fairstats.vignettes.items.item_statistics import (
    ALL_VARIANTS,
    ALL_VERSIONS,
    marked_answers,
    shared_wrong,
)

ASPECT = "items"
#: With fewer models, a finding's note says that they are few.
FEW_MODELS = 10

Row = dict[str, Any]


def item_findings(
    answers: Any,
    statistics: pd.DataFrame,
    *,
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Compute findings on difficulty, discrimination, keys and reliability.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    statistics : pandas.DataFrame
        From `fairstats.vignettes.items.item_statistics.item_statistics` for these answers, with the
        same policy and level.
    missing, alpha, benchmarks
        As in that function.

    Returns
    -------
    pandas.DataFrame
        `FINDING_COLUMNS`, aspect "items", for each version and, with an empty version, over all
        versions if there are several. Measure ``difficulty``: ``mean difficulty`` of all variants
        combined and of each, and of the items ``share all right`` and ``share none right``.
        ``discrimination``: ``mean discrimination``, ``share negative`` and ``share negative beyond
        chance`` for the items with discrimination, and the ``share without``. ``key``: ``share
        sharing a wrong option``. ``reliability``: ``Cronbach's alpha`` of the items' scores over
        answer sets.

    Notes
    -----
    Items are resampled and models are fixed: the estimates are for these models' answers.
    """
    alpha = check_alpha(alpha)
    marked, _ = marked_answers(answers, missing, benchmarks)
    rows: list[Row] = []
    for (benchmark, version), own in statistics.groupby(
        ["benchmark", "benchmark_version"], sort=True
    ):
        unit = {"aspect": ASPECT, "benchmark": benchmark, "benchmark_version": version}
        part = marked[marked["benchmark"] == benchmark]
        if version != ALL_VERSIONS:
            part = part[part["benchmark_version"] == version]
        found = [
            *_difficulty(own, alpha),
            *_discrimination(own, alpha),
            _shared(own, alpha),
            _reliability(part, alpha),
        ]
        rows += [unit | row for row in found]
    return findings_frame(rows)


def _difficulty(own: pd.DataFrame, alpha: float) -> Iterator[Row]:
    for (attribute, group), table in own.groupby(["attribute", "group"], sort=True):
        values = table["difficulty"].dropna()
        mean = bounded_mean_interval(values.clip(0, 1), alpha=alpha)
        left_out = len(table) - len(values)
        yield {
            "measure": "difficulty",
            "quantity": "mean difficulty",
            "attribute": attribute,
            "group_a": group,
            "estimate": float(mean.estimate),
            "ci_low": float(mean.ci_low),
            "ci_high": float(mean.ci_high),
            "ci_level": mean.ci_level,
            "ci_method": str(mean.method),
            "n": len(values),
            "note": "; ".join(
                filter(None, [_asked(table), f"{left_out} items without" if left_out else ""])
            ),
        }
    whole = own[own["attribute"] == ALL_VARIANTS]
    answered = whole[whole["answers"] > 0]
    all_right = (answered["right"] == answered["answers"]) & (answered["missing_answers"] == 0)
    none_right = answered["right"] == 0
    note = "over all variants; " + _asked(whole)
    yield _share("difficulty", "share all right", all_right, alpha, note)
    yield _share("difficulty", "share none right", none_right, alpha, note)


def _discrimination(own: pd.DataFrame, alpha: float) -> Iterator[Row]:
    whole = own[own["attribute"] == ALL_VARIANTS]
    there = whole[whole["discrimination"].notna()]
    note = _asked(whole)
    mean = mean_difference(there["discrimination"], largest=1, alpha=alpha)
    yield {
        "measure": "discrimination",
        "quantity": "mean discrimination",
        "estimate": mean.estimate,
        "ci_low": mean.ci_low,
        "ci_high": mean.ci_high,
        "ci_level": mean.ci_level,
        "ci_method": mean.method,
        "p_value": mean.p_value,
        "test": mean.test,
        "n": mean.n,
        "note": note,
    }
    yield _share("discrimination", "share negative", there["discrimination"] < 0, alpha, note)
    chance = f"{alpha / 2:.2%} are expected where discrimination is 0; " + note
    beyond = there["discrimination_high"] < 0
    yield _share("discrimination", "share negative beyond chance", beyond, alpha, chance)
    without = whole["discrimination"].isna()
    reason = "too few answer sets, or all the same on the item; " + note
    yield _share("discrimination", "share without", without, alpha, reason)


def _shared(own: pd.DataFrame, alpha: float) -> Row:
    whole = own[(own["attribute"] == ALL_VARIANTS) & (own["answers"] > 0)]
    shared = whole["item_id"].isin(set(shared_wrong(own)["item_id"]))
    baseline = (own["attribute"] == BASELINE).any()
    texts = "original and neutralized text" if baseline else "all variants"
    note = f"one wrong option is more than half of the answers, on {texts}; "
    return _share("key", "share sharing a wrong option", shared, alpha, note + _asked(whole))


def _reliability(part: pd.DataFrame, alpha: float) -> Row:
    names = ["benchmark_version", "model", "strategy"]
    scores = part.groupby([*names, "item_id"])["right"].mean().unstack("item_id")
    complete = scores.dropna(axis=1)
    found = cronbach_alpha(complete.to_numpy(dtype=np.float64), alpha=alpha)
    models = part["model"].nunique()
    return {
        "measure": "reliability",
        "quantity": "Cronbach's alpha",
        "estimate": found.estimate,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "ci_level": found.ci_level,
        "ci_method": found.method,
        "n": found.items,
        "note": f"{found.takers} answer sets of {models} models, taken as drawn at random; an "
        "item's score is its share right",
    }


def _share(measure: str, quantity: str, hits: pd.Series, alpha: float, note: str) -> Row:
    k, n = int(hits.sum()), len(hits)
    limits = wilson(k, n, alpha=alpha)
    return {
        "measure": measure,
        "quantity": quantity,
        "estimate": k / n if n else np.nan,
        "ci_low": float(limits.ci_low),
        "ci_high": float(limits.ci_high),
        "ci_level": limits.ci_level,
        "ci_method": str(limits.method),
        "n": n,
        "note": f"{k} items; {note}",
    }


_COUNTS = ("answer_sets", "models")


def _asked(table: pd.DataFrame) -> str:
    sets, models = (int(table[name].max()) if table[name].notna().any() else 0 for name in _COUNTS)
    said = f"{sets} answer set{'s' * (sets != 1)} of {models} model{'s' * (models != 1)}"
    return f"{said}, which are few" if models < FEW_MODELS else said
