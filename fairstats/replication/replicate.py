"""Published values next to the same values recomputed from answers, cell by cell.

A published cell is recomputed by one rule (`RULE`), according to its label. The label is a metric
of one model on the authors' variant set, or a change between two models on the same set. If the
result differs from the published value, other rules are tried, each with one difference. The first
rule that reproduces the published value is named. A published value is thus explained or
unexplained.
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

from fairstats._lib.installation import resource
from fairstats.answers.engine_frames import UNIT_COLUMNS, OpenAnswers, distinct, open_answers
from fairstats.benchmarks.declaration import PLAIN, Benchmark
from fairstats.comparisons.compare import VERSION, answer_sets, judged_comparisons
from fairstats.counts.outcomes import count_outcomes
from fairstats.counts.patterns import PAIR_COLUMNS, PATTERNS, CountingPolicy, apply_policy
from fairstats.inference.mcnemar import McNemarMethod, mcnemar
from fairstats.metrics.accuracy import proportion
from fairstats.metrics.cfr import cfr
from fairstats.metrics.cohens_h import cohens_h
from fairstats.replication.printed_tables import (
    BENCHMARK,
    CELL_COLUMNS,
    printed_cells,
)

#: What names a row of a published table.
ROW_COLUMNS = ("published", "row", "attribute")
#: The file with the verdict of each row, which never changes, and the counts behind it in words.
POSSIBLE = "possible.csv"
VERDICT_COLUMNS = ("possible", "possible_note")
#: Columns of the table from `replicate`, in order.
REPLICATION_COLUMNS = (
    *CELL_COLUMNS,
    *("printed_value", "recomputed", "difference", "status", "explained_by", "explained_value"),
    *("released", "missing", "verdict"),
    *VERDICT_COLUMNS,
)
SAME, DIFFERS, NO_ANSWERS = "same", "differs", "no answers"
STATUSES = (SAME, DIFFERS, NO_ANSWERS)

_NUMBER = {"printed_value", "recomputed", "difference", "explained_value"}
_POLICIES: tuple[CountingPolicy, ...] = ("available", "complete", "incorrect")
_TESTS: tuple[McNemarMethod, ...] = ("exact", "midp", "asymptotic", "asymptotic_cc")
# The meaning of a word, as in the authors' scripts.
_WORDS = {
    "very significant": "< 0.001",
    "not significant": "> 0.05",
    "win-win": "1",
    "not win-win": "0",
}
_BOUND = re.compile(r"([<>])\s*(\S+)")
# Far below a published digit, and far above floating-point error of a sum.
_ROUNDING_ERROR = 1e-9

#: Values by name, for (benchmark version, model, attribute, groups, policy).
Figures = Mapping[tuple[str, ...], Mapping[str, float]]


@dataclass(frozen=True)
class Rule:
    """How a value is computed, and whether it is truncated after the published digits.

    Attributes
    ----------
    missing : {"available", "complete", "incorrect"}
        The policy for missing answers.
    test : {"exact", "midp", "asymptotic", "asymptotic_cc"}
        The version of McNemar's test.
    version : str, optional
        The variant set, for the older model if two are compared; by default that of the cell.
    cut : bool
        Whether to truncate instead of rounding.
    """

    missing: CountingPolicy = "available"
    test: McNemarMethod = "exact"
    version: str | None = None
    cut: bool = False


#: The rule for every published cell. The papers state neither policy nor test. Only the policy
#: "available" reproduces table 3's rows of models with missing answers. Only the exact test (or one
#: by χ²) reproduces its p-value of GPT-5-Mini on sex, and AMQA's script uses the exact test.
RULE = Rule()


def replicate(
    answers: Any, alpha: float, benchmarks: Mapping[str, Benchmark] | None = None
) -> pd.DataFrame:
    """Compare every published cell with the value from the answers of a release.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers; those to FairMedQA with the plain strategy are used, if all of its items were
        asked. A release's missing policy is not used: published values are compared under the rule
        with which they were published.
    alpha : float
        1 − confidence level of the intervals used for ``verdict``.
    benchmarks : mapping of str to Benchmark, optional
        The release's benchmarks by name.

    Returns
    -------
    pandas.DataFrame
        `REPLICATION_COLUMNS`, one row per cell of
        `fairstats.replication.printed_tables.printed_cells`; empty if the release has no answers to
        FairMedQA. ``printed_value`` is 1 or 0 for win-win or not, and NaN for a bound or a word.
        ``recomputed`` is the value by `RULE`; ``difference`` is recomputed − published. ``status``
        is "same" if the two agree (see `agrees`), "differs" if not, or "no answers". If `RULE` does
        not reproduce the published value, ``explained_by`` names the rule that does, and
        ``explained_value`` is its value. ``released`` is whether the listed files
        (`data/sources/fairmedqa.csv`) contain the answers. ``missing`` is the policy of `RULE`.
        ``verdict`` is that of `fairstats.compare` for two versions of a model on one variant set.
        ``possible`` and ``possible_note`` are whether the figures of the row can all be true
        (`fairstats.check_table`), whatever the answers are.

    Notes
    -----
    Another run of a model gives other values. Nothing shows that the answers are the released ones.

    As in the papers, a change counts as a win-win if accuracy and CFR rise and AD falls, in two
    decimals. ``verdict`` requires more: intervals and tests must support all three.
    """
    opened = open_answers(answers, benchmarks or ())
    if BENCHMARK not in opened.benchmarks:
        return _typed(pd.DataFrame(columns=list(REPLICATION_COLUMNS)))
    items = len(opened.benchmarks[BENCHMARK].items)
    return replicate_cells(printed_cells(), opened, alpha, fewest=items)


def replicate_cells(
    cells: pd.DataFrame,
    answers: Any,
    alpha: float,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    *,
    fewest: int = 0,
) -> pd.DataFrame:
    """Apply `replicate` to other published cells; columns `CELL_COLUMNS`.

    Figures of fewer than `fewest` items do not count as answers.
    """
    opened = open_answers(answers, benchmarks)
    figures = _figures(opened, set(cells["benchmark"]), fewest)
    released = _released()
    rows = []
    for cell in cells.astype("object").where(cells.notna(), None).to_dict("records"):
        models = filter(None, (cell["model_old"], cell["model"]))
        listed = all((cell["benchmark_version"], model) in released for model in models)
        rows.append(cell | _compared(cell, figures) | {"released": listed})
    table = pd.DataFrame(rows, columns=list(REPLICATION_COLUMNS)).assign(missing=RULE.missing)
    return _typed(_with_possible(_with_verdicts(table, opened, alpha)))


def agrees(printed: str, value: float, *, cut: bool = False) -> bool:
    """Return whether a value agrees with the published one.

    Parameters
    ----------
    printed : str
        A number, a bound such as ``"<0.0001"``, or a word used in a published table.
    value : float
        The value. A value halfway between two published ones agrees with both, since papers do not
        state how they round.
    cut : bool
        Whether digits are truncated instead of rounded.

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
    """Return the values from the answers for a cell, compared with the published value."""
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
    """Return each alternative rule for a value, with a name for its difference from `RULE`."""
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
    """Return the value of a cell by a rule; NaN without answers."""

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


def _figures(opened: OpenAnswers, benchmarks: set[str], fewest: int) -> Figures:
    """Return every value of every model with enough items, under every policy."""
    counts = count_outcomes(opened)
    counts = counts[counts["benchmark"].isin(benchmarks) & (counts["strategy"] == PLAIN)]
    # Several samples of an item are one item.
    of_items = [*UNIT_COLUMNS, "attribute", "item_id"]
    items = distinct(opened.frame, of_items).groupby(of_items[:-1]).size()
    asked = items.reindex(pd.MultiIndex.from_frame(counts[of_items[:-1]])).to_numpy()
    counts = counts[asked >= fewest]
    keys = [name for name in PAIR_COLUMNS if name not in ("benchmark", "strategy")]
    patterns = counts[list(PATTERNS)].to_numpy()
    figures = {}
    for policy in _POLICIES:
        paired = apply_policy(patterns, policy)
        own = [proportion(getattr(paired, f"correct_{s}"), getattr(paired, f"n_{s}")) for s in "ab"]
        tests = {
            f"mcnemar {test}": np.where(
                paired.n > 0, mcnemar(n10=paired.n10, n01=paired.n01, method=test).p_value, np.nan
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
    sets = answer_sets(opened, opened.benchmarks) if len(there) else {}
    pairs = [
        (VERSION, sets[benchmark, version, old, PLAIN], sets[benchmark, version, new, PLAIN])
        for benchmark, version, old, new in there[keys].drop_duplicates().to_numpy().tolist()
    ]
    judged = judged_comparisons(pairs, None, alpha)
    shown = judged[[*keys[:-1], "model_new", *pair, "verdict"]]
    verdicts = {row[:-1]: row[-1] for row in shown.itertuples(index=False, name=None)}
    named = table[[*keys, *pair]].itertuples(index=False, name=None)
    return table.assign(verdict=[verdicts.get(key) for key in named])


def _with_possible(table: pd.DataFrame) -> pd.DataFrame:
    """Add whether the published figures of each row can all be true, if `check_table` can tell."""
    found = pd.read_csv(resource("data", "published", POSSIBLE), dtype="str", keep_default_na=False)
    joined = table[list(ROW_COLUMNS)].merge(found, "left", validate="many_to_one")
    return table.assign(**joined[list(VERDICT_COLUMNS)].set_index(table.index))


def _released() -> set[tuple[str, str]]:
    """Return variant set and model of every listed file of plain answers."""
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
