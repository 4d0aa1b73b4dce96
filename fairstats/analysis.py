"""From answers to the estimates table, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from fairstats.benchmarks import BASELINE, MISSING_POLICIES, Benchmark, MissingPolicy
from fairstats.counts import (
    PAIR_COLUMNS,
    PATTERNS,
    UNIT_COLUMNS,
    fold_outcomes,
    pair_counts,
)
from fairstats.estimates import (
    ESTIMATE_COLUMNS,
    METRICS,
    bounds_tables,
    counted_tables,
    typed,
)
from fairstats.inference._checks import check_alpha
from fairstats.inference.equivalence import verdict
from fairstats.inference.multiplicity import adjust_pvalues
from fairstats.metrics.accuracy import accuracy_difference, proportion
from fairstats.missing import apply_policy, missing_per_group

#: The test whose adjusted p-value carries the verdict.
PRIMARY_TEST = "mcnemar midp"


def analyze(
    answers: Any,
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    *,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Estimate every figure of every unit.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    missing : {"available", "complete", "incorrect", "bounds"}, optional
        The policy for missing answers; by default the one that each benchmark declares.
    alpha : float
        1 − confidence level of the intervals, and the level of the verdicts; below 0.5, since
        equivalence is read from the 1 − 2 alpha interval.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, or that replace built-in ones.

    Returns
    -------
    pandas.DataFrame
        One row an estimate, columns `ESTIMATE_COLUMNS`. An estimate that has no answer to rest on
        is NaN, with the whole range of the estimand as its interval.

    Raises
    ------
    InputError
        For an unknown benchmark, attribute or group, and for an answer that stands there twice.
    ValueError
        For an unknown policy, or alpha outside (0, 0.5).

    Notes
    -----
    p-values are Holm-adjusted over the family of all demographic pairs of all models, strategies
    and benchmark versions in the call, for each test apart; the baseline pair is not part of it.
    Several samples of an item count as pairs of their own. The note says so, and there is no
    verdict then: the tests take them as independent. Nor is there one for a model that took part
    in selecting the items, where a group has no answer, or where the groups were not asked alike.
    """
    alpha = check_alpha(alpha)
    if alpha >= 0.5:
        raise ValueError(f"alpha={alpha!r} must be below 0.5: equivalence needs 1 - 2 alpha")
    if missing is not None and missing not in MISSING_POLICIES:
        raise ValueError(
            f"missing={missing!r} is unknown; use one of {', '.join(MISSING_POLICIES)}"
        )
    folded, known = fold_outcomes(answers, benchmarks=benchmarks)
    facts = _unit_facts(answers)
    counts = pair_counts(folded, known)
    tables = []
    for name, rows in counts.groupby("benchmark", sort=False):
        policy = missing or known[str(name)].missing
        own = rows.reset_index(drop=True)
        patterns = folded[folded["benchmark"] == name]
        if policy == "bounds":
            tables += bounds_tables(own, patterns, alpha)
        else:
            tables += counted_tables(own, patterns, policy, alpha)
        for table in tables:
            if "missing" not in table:
                table["missing"] = policy
    estimates = pd.concat([typed(table) for table in tables], ignore_index=True)
    estimates = _with_snapshots(estimates, facts)
    estimates = _in_order(estimates, known)
    estimates = _with_adjusted(estimates, known)
    estimates = _with_verdicts(estimates, counts, known, missing, alpha, _asked(answers))
    return estimates[list(ESTIMATE_COLUMNS)]


def _unit_facts(answers: Any) -> pd.DataFrame:
    """Each unit's snapshots and the highest number of samples of an item."""
    import narwhals as nw

    frame = nw.from_native(answers).lazy()
    samples = (
        frame.select(*UNIT_COLUMNS, "item_id", "sample")
        .unique()
        .group_by(*UNIT_COLUMNS, "item_id")
        .agg(samples=nw.len())
        .group_by(*UNIT_COLUMNS)
        .agg(nw.col("samples").max())
        .collect()
        .to_pandas()
    )
    columns = [*UNIT_COLUMNS]
    has_snapshot = "snapshot" in frame.collect_schema().names()
    if has_snapshot:
        columns.append("snapshot")
    facts = frame.select(*columns).unique().collect().to_pandas()
    if not has_snapshot:
        facts["snapshot"] = None
    facts["snapshot"] = facts["snapshot"].astype("str")
    snapshots = facts.groupby(list(UNIT_COLUMNS), as_index=False).agg(
        snapshot=("snapshot", lambda s: ", ".join(sorted(s.dropna().unique())) or None)
    )
    text = dict.fromkeys(UNIT_COLUMNS, "str")
    return snapshots.astype(text).merge(samples.astype(text), on=list(UNIT_COLUMNS))


def _asked(answers: Any) -> pd.Series:
    """How many rows each group of each unit has, by unit, attribute and group."""
    import narwhals as nw

    keys = [*UNIT_COLUMNS, "attribute", "group"]
    frame = nw.from_native(answers).lazy().group_by(*keys).agg(rows=nw.len())
    table = frame.collect().to_pandas().astype(dict.fromkeys(keys, "str"))
    return table.set_index(keys)["rows"].astype("int64")


def _with_snapshots(estimates: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    joined = estimates.drop(columns="snapshot").merge(facts, on=list(UNIT_COLUMNS), how="left")
    several = joined["samples"] > 1
    note = (
        joined["samples"].astype(str)
        + " samples an item, counted as independent; the interval is too narrow for that"
    )
    joined.loc[several, "method_note"] = _join_notes(
        joined.loc[several, "method_note"], note[several]
    )
    joined["snapshot"] = joined["snapshot"].astype("str")
    return joined


def _with_adjusted(estimates: pd.DataFrame, known: Mapping[str, Benchmark]) -> pd.DataFrame:
    for test in ("mcnemar midp", "mcnemar exact"):
        family = (
            (estimates["metric"] == "mcnemar")
            & (estimates["test"] == test)
            & (estimates["attribute"] != BASELINE)
        )
        estimates.loc[family, "p_adjusted"] = adjust_pvalues(estimates.loc[family, "p_value"])
        estimates.loc[family, "adjust_method"] = f"holm over {int(family.sum())} tests"
    selected = pd.Series(
        [
            model in known[benchmark].selected_on
            for benchmark, model in zip(estimates["benchmark"], estimates["model"], strict=True)
        ],
        index=estimates.index,
    )
    note = pd.Series("model took part in selecting the items", index=estimates.index)
    estimates.loc[selected, "method_note"] = _join_notes(
        estimates.loc[selected, "method_note"], note[selected]
    )
    return estimates


def _with_verdicts(
    estimates: pd.DataFrame,
    counts: pd.DataFrame,
    known: Mapping[str, Benchmark],
    missing: MissingPolicy | None,
    alpha: float,
    asked: pd.Series,
) -> pd.DataFrame:
    """Verdicts on the signed differences of the demographic pairs that can be judged."""
    keys = list(PAIR_COLUMNS)
    by_pair = estimates.set_index(keys)
    tests = by_pair["test"].eq(PRIMARY_TEST) & by_pair["metric"].eq("mcnemar")
    differences = estimates["metric"].eq("accuracy_difference") & estimates["attribute"].ne(
        BASELINE
    )
    for name, rows in counts.groupby("benchmark", sort=False):
        benchmark = known[str(name)]
        policy = missing or benchmark.missing
        if policy == "bounds":
            continue
        pairs = pd.MultiIndex.from_frame(rows[keys])
        paired = apply_policy(rows, policy)
        own = proportion(paired.correct_a, paired.n_a) - proportion(paired.correct_b, paired.n_b)
        # The same estimate as is published, its interval widened alike.
        difference = accuracy_difference(
            paired.n10, paired.n01, paired.n, estimate=own, alpha=2 * alpha
        )
        verdicts = pd.Series(
            verdict(
                by_pair.loc[tests, "p_adjusted"].reindex(pairs),
                difference.ci_low,
                difference.ci_high,
                margin=benchmark.equivalence_margin,
                alpha=alpha,
            ),
            index=pairs,
        )
        reasons = _not_judged(rows, asked).set_axis(pairs)
        widened = np.char.find(np.asarray(difference.ci_method, dtype=str), "widened") >= 0
        reasons = reasons.mask(
            widened & (reasons == ""), "the groups' own answers and the pairs disagree"
        )
        here = differences & estimates["benchmark"].eq(name)
        published = pd.MultiIndex.from_frame(estimates.loc[here, keys])
        reason = reasons.reindex(published).set_axis(estimates.index[here])
        judged = (reason == "") & ~(estimates.loc[here, "samples"] > 1)
        judged &= ~estimates.loc[here, "model"].isin(list(benchmark.selected_on))
        found = verdicts.reindex(published).set_axis(estimates.index[here])
        estimates.loc[here, "verdict"] = found.where(judged)
        told = reason[reason != ""].index
        estimates.loc[told, "method_note"] = _join_notes(
            estimates.loc[told, "method_note"], reason[told]
        )
    return estimates


def _not_judged(counts: pd.DataFrame, asked: pd.Series) -> pd.Series:
    """Why a pair cannot be judged, from how its groups were asked; empty where it can."""
    missing_a, missing_b = missing_per_group(counts)
    n = counts[list(PATTERNS)].sum(axis=1).to_numpy()
    rows_a, rows_b = (
        asked.reindex(pd.MultiIndex.from_frame(counts[[*UNIT_COLUMNS, "attribute", group]]))
        .fillna(0)
        .to_numpy()
        for group in ("group_a", "group_b")
    )
    reasons = pd.Series("", index=counts.index)
    reasons = reasons.mask((missing_a == n) | (missing_b == n), "a group has no answer")
    # A variant that was never asked is no missing answer; it can only be counted as one.
    return reasons.mask(
        rows_a != rows_b, "the groups were not asked alike; a variant without a row is missing"
    )


def _in_order(estimates: pd.DataFrame, known: Mapping[str, Benchmark]) -> pd.DataFrame:
    attributes = {
        (name, attribute): number
        for name, benchmark in known.items()
        for number, attribute in enumerate(benchmark.attributes)
    }
    position = [
        attributes[key] for key in zip(estimates["benchmark"], estimates["attribute"], strict=True)
    ]
    metric = estimates["metric"].map({name: i for i, name in enumerate(METRICS)})
    ordered = estimates.assign(_attribute=position, _metric=metric).sort_values(
        [*UNIT_COLUMNS, "_attribute", "group_a", "group_b", "_metric", "test"],
        kind="stable",
        ignore_index=True,
        na_position="last",
    )
    return ordered.drop(columns=["_attribute", "_metric"])


def _join_notes(first: pd.Series, second: pd.Series) -> pd.Series:
    return (first.fillna("") + "; " + second).str.removeprefix("; ")
