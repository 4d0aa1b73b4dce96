"""Printed figures next to the same figures recomputed from answers, cell by cell.

A printed cell is recomputed by one rule (`RULE`), as its label claims: a figure of one model on
the variant set that the authors took, a change from one model to the next on one set for both.
Where that does not give what is printed, other rules are tried, each of them different in one
thing, and the first that gives it is named. What is printed is thereby explained, or it is not.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from fairstats._lib.resources import resource
from fairstats.answers.engine_frames import OpenAnswers, answers_where, open_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.terms import PLAIN
from fairstats.comparisons.change_verdicts import judge_changes
from fairstats.comparisons.compare import changes
from fairstats.comparisons.declared import VERSION, family_of
from fairstats.counts.missing_policies import CountingPolicy, apply_policy
from fairstats.counts.outcomes import PAIR_COLUMNS, count_outcomes
from fairstats.inference.mcnemar import McNemarMethod, mcnemar
from fairstats.metrics.accuracy import proportion
from fairstats.metrics.cfr import cfr
from fairstats.metrics.cohens_h import cohens_h
from fairstats.replication.printed_tables import BENCHMARK, CELL_COLUMNS, printed_cells

#: The columns of the table that `replicate` gives, in order.
REPLICATION_COLUMNS = (
    *CELL_COLUMNS,
    "printed_value",
    "recomputed",
    "difference",
    "status",
    "explained_by",
    "explained_value",
    "released",
    "missing",
    "verdict",
)
SAME, DIFFERS, NO_ANSWERS = "same", "differs", "no answers"
STATUSES = (SAME, DIFFERS, NO_ANSWERS)

_NUMBER = {"printed_value", "recomputed", "difference", "explained_value"}
_POLICIES: tuple[CountingPolicy, ...] = ("available", "complete", "incorrect")
_TESTS: tuple[McNemarMethod, ...] = ("exact", "midp", "asymptotic", "asymptotic_cc")
# What a word stands for, as the authors' scripts have it.
_WORDS = {
    "very significant": "< 0.001",
    "not significant": "> 0.05",
    "win-win": "1",
    "not win-win": "0",
}
_BOUND = re.compile(r"([<>])\s*(\S+)")
# Far below a printed digit, far above what a sum of floats is off by.
_ROUNDING_ERROR = 1e-9

#: Figures by name, of (benchmark version, model, attribute, groups, policy).
Figures = Mapping[tuple[str, ...], Mapping[str, float]]


@dataclass(frozen=True)
class Rule:
    """How a figure is computed, and whether its digits after the printed ones are cut off.

    Attributes
    ----------
    missing : {"available", "complete", "incorrect"}
        The policy for missing answers.
    test : {"exact", "midp", "asymptotic", "asymptotic_cc"}
        The version of McNemar's test.
    version : str, optional
        The variant set, of the older model where two are compared; by default that of the cell.
    cut : bool
        Cut off digits instead of rounding.
    """

    missing: CountingPolicy = "available"
    test: McNemarMethod = "exact"
    version: str | None = None
    cut: bool = False


#: What every printed cell is compared by. The papers say neither. Of the policies only "available"
#: gives table 3's rows of models with missing answers; of the tests only the exact one (or one by
#: χ²) gives its p-value of GPT-5-Mini on sex, and AMQA's script takes the exact one.
RULE = Rule()


def replicate(
    answers: Any, alpha: float, benchmarks: Mapping[str, Benchmark] | None = None
) -> pd.DataFrame:
    """Every printed cell next to what the answers of a release give.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers; those to FairMedQA by the plain strategy are used. A release's policy for
        missing ones does not enter: what was printed is compared by the rule that it was printed
        by.
    alpha : float
        1 − confidence level of the intervals behind ``verdict``.
    benchmarks : mapping of str to Benchmark, optional
        The release's benchmarks by name.

    Returns
    -------
    pandas.DataFrame
        `REPLICATION_COLUMNS`, one row a cell of
        `fairstats.replication.printed_tables.printed_cells`; none where the release holds no answer
        to FairMedQA. ``printed_value`` is 1 or 0 for win-win or not, and NaN for a bound or a word.
        ``recomputed`` is the figure by `RULE`, ``difference`` it less the printed one. ``status``
        is "same" where the two agree, see `agrees`, else "differs", or "no answers".
        ``explained_by`` names the rule that gives what is printed where `RULE` does not,
        ``explained_value`` is its figure. ``released``: do the listed files
        (`data/sources/fairmedqa.csv`) hold the answers. ``missing`` is the policy of `RULE`.
        ``verdict`` is that of `fairstats.compare` for two versions of a model on one variant set.

    Notes
    -----
    A change counts as a win-win, here as in print, where accuracy and CFR rise and AD falls in
    two decimals. ``verdict`` asks for more: that intervals and tests carry all three.
    """
    opened = open_answers(answers, benchmarks or ())
    if BENCHMARK not in opened.benchmarks:
        return _typed(pd.DataFrame(columns=list(REPLICATION_COLUMNS)))
    return replicate_cells(printed_cells(), opened, alpha)


def replicate_cells(
    cells: pd.DataFrame,
    answers: Any,
    alpha: float,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """`replicate` for other printed cells; columns `CELL_COLUMNS`."""
    opened = open_answers(answers, benchmarks)
    figures = _figures(opened, set(cells["benchmark"]))
    released = _released()
    rows = []
    for cell in cells.astype("object").where(cells.notna(), None).to_dict("records"):
        listed = all((cell["benchmark_version"], model) in released for model in _models(cell))
        rows.append(cell | _compared(cell, figures) | {"released": listed})
    table = pd.DataFrame(rows, columns=list(REPLICATION_COLUMNS)).assign(missing=RULE.missing)
    return _typed(_with_verdicts(table, opened, alpha))


def agrees(printed: str, value: float, *, cut: bool = False) -> bool:
    """Is a figure what is printed?

    Parameters
    ----------
    printed : str
        A number, a bound such as ``"<0.0001"``, or one of a printed table's words.
    value : float
        The figure. One halfway between two printed ones agrees with both: papers do not say which
        way they round.
    cut : bool
        Whether digits are cut off rather than rounded.

    Examples
    --------
    >>> agrees("0.04", 0.0443), agrees("0.05", 0.0443), agrees("<0.0001", 0.00007)
    (True, False, True)
    >>> agrees("0.06", 0.0699), agrees("0.06", 0.0699, cut=True)
    (False, True)
    """
    text = _WORDS.get(printed, printed)
    bound = _BOUND.fullmatch(text)
    if bound:
        limit = float(bound[2])
        return value < limit if bound[1] == "<" else value > limit
    number = Decimal(text)
    unit = 10.0 ** int(number.as_tuple().exponent)
    if cut:
        kept = math.trunc(abs(value) / unit + _ROUNDING_ERROR) * unit
        return abs(math.copysign(kept, value) - float(number)) < _ROUNDING_ERROR
    return abs(value - float(number)) <= unit / 2 + _ROUNDING_ERROR


def _compared(cell: Mapping[str, Any], figures: Figures) -> dict[str, Any]:
    """What the answers give for a cell, and how that compares with what is printed."""
    printed = cell["printed"]
    text = _WORDS.get(printed, printed)
    printed_value = math.nan if _BOUND.fullmatch(text) else float(text)
    value = _figure(cell, RULE, figures)
    found = {
        "printed_value": printed_value,
        "recomputed": value,
        "difference": value - printed_value,
        "explained_value": math.nan,
    }
    if math.isnan(value):
        return found | {"status": NO_ANSWERS}
    if agrees(printed, value):
        return found | {"status": SAME}
    for said, rule in _alternatives(cell, figures):
        other = _figure(cell, rule, figures)
        if not math.isnan(other) and agrees(printed, other, cut=rule.cut):
            return found | {"status": DIFFERS, "explained_by": said, "explained_value": other}
    return found | {"status": DIFFERS}


def _alternatives(cell: Mapping[str, Any], figures: Figures) -> Iterator[tuple[str, Rule]]:
    """Each other way to come to a figure, with its name: what is different from `RULE`."""
    model = cell["model_old"] or cell["model"]
    whose = "older model on variant set" if cell["model_old"] else "variant set"
    for version in sorted({key[0] for key in figures if key[1] == model}):
        if version != cell["benchmark_version"]:
            yield f"{whose} {version}", Rule(version=version)
    for policy in _POLICIES:
        if policy != RULE.missing:
            yield f"missing policy {policy}", Rule(missing=policy)
    for test in _TESTS:
        if test != RULE.test and cell["metric"] == "mcnemar":
            yield f"McNemar {test}", Rule(test=test)
    yield "last digit cut off, not rounded", Rule(cut=True)


def _figure(cell: Mapping[str, Any], rule: Rule, figures: Figures) -> float:
    """The figure of a cell by a rule; NaN where there are no answers."""

    def of(model: str, version: str, name: str) -> float:
        pair = (cell["attribute"], cell["group_a"], cell["group_b"])
        return figures.get((version, model, *pair, rule.missing), {}).get(name, math.nan)

    version, metric = rule.version or cell["benchmark_version"], cell["metric"]
    if cell["model_old"] is None:
        name = f"mcnemar {rule.test}" if metric == "mcnemar" else metric
        return of(cell["model"], version, name)
    changes = {
        f"delta_{name}": of(cell["model"], cell["benchmark_version"], name)
        - of(cell["model_old"], version, name)
        for name in ("accuracy", "cfr", "ad")
    }
    if metric != "win_win":
        return changes[metric]
    more_accurate, steadier, disparity = (round(change, 2) for change in changes.values())
    if any(map(math.isnan, changes.values())):
        return math.nan
    return float(more_accurate > 0 and steadier > 0 and disparity < 0)


def _figures(opened: OpenAnswers, benchmarks: set[str]) -> Figures:
    """Every figure of every model, under every policy."""
    counts = count_outcomes(opened)
    counts = counts[counts["benchmark"].isin(benchmarks) & (counts["strategy"] == PLAIN)]
    keys = [name for name in PAIR_COLUMNS if name not in ("benchmark", "strategy")]
    figures = {}
    for policy in _POLICIES:
        paired = apply_policy(counts, policy)
        own = [proportion(getattr(paired, f"correct_{s}"), getattr(paired, f"n_{s}")) for s in "ab"]
        tests = {
            f"mcnemar {test}": np.where(
                paired.n > 0, mcnemar(paired.n10, paired.n01, method=test).p_value, np.nan
            )
            for test in _TESTS
        }
        table = pd.DataFrame(
            {
                "accuracy": (own[0] + own[1]) / 2,
                "ad": np.abs(own[0] - own[1]),
                "cfr": cfr(paired.same, paired.n).estimate,
                "cohens_h": cohens_h(paired).estimate,
            }
            | tests
        )
        for key, values in zip(
            counts[keys].itertuples(index=False, name=None), table.to_dict("records"), strict=True
        ):
            figures[(*key, policy)] = {str(name): float(value) for name, value in values.items()}
    return figures


def _with_verdicts(table: pd.DataFrame, opened: OpenAnswers, alpha: float) -> pd.DataFrame:
    """Add the verdict of each change between two versions that were asked the same questions."""
    keys = ["benchmark", "benchmark_version", "model_old", "model"]
    pair = ["attribute", "group_a", "group_b"]
    there = table[table["model_old"].notna() & (table["status"] != NO_ANSWERS)]
    known, tables = opened.benchmarks, []
    for benchmark, version, *models in (
        there[keys].drop_duplicates().itertuples(index=False, name=None)
    ):
        unit = {"benchmark": benchmark, "benchmark_version": version, "strategy": PLAIN}
        old, new = (answers_where(opened, **unit, model=model) for model in models)
        found = changes(
            old,
            new,
            missing=None,
            alpha=alpha,
            allow_different_items=True,
            benchmarks=known,
        )
        family = family_of(VERSION, old.iloc[0], new.iloc[0], known)
        tables.append(found.assign(family=family))
    verdicts: dict[tuple[str, ...], str] = {}
    if tables:
        judged = judge_changes(pd.concat(tables, ignore_index=True), alpha=alpha)
        shown = judged[[*keys[:-1], "model_new", *pair, "verdict"]]
        verdicts = {row[:-1]: row[-1] for row in shown.itertuples(index=False, name=None)}
    named = table[[*keys, *pair]].itertuples(index=False, name=None)
    return table.assign(verdict=[verdicts.get(key) for key in named])


def _models(cell: Mapping[str, Any]) -> list[str]:
    return [model for model in (cell["model_old"], cell["model"]) if model is not None]


def _released() -> set[tuple[str, str]]:
    """Variant set and model of every listed file of plain answers."""
    path = resource("data", "sources", f"{BENCHMARK}.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["benchmark_version"], row["model"])
            for row in csv.DictReader(file)
            if row["strategy"] == PLAIN
        }


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    types = dict.fromkeys(REPLICATION_COLUMNS, "str")
    types |= dict.fromkeys(_NUMBER, "float64") | {"released": "bool"}
    return table[list(REPLICATION_COLUMNS)].astype(types)
