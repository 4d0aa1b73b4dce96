"""Changes of a model's metrics to its next version, on the same items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, cast, get_args

import numpy as np
import pandas as pd

from fairstats.answers.engine_frames import UNIT_COLUMNS, open_answers
from fairstats.benchmarks.declaration import (
    COMMON,
    COMPARISON_POLICIES,
    Benchmark,
    ComparisonPolicy,
    MissingPolicy,
)
from fairstats.comparisons.change_bounds import (
    FIGURES,
    PAIR,
    Row,
    bounds_rows,
    change_ranges,
    demographic_pairs,
    pair_values,
    rows_of_pair,
    worst_p_values,
)
from fairstats.comparisons.change_verdicts import COMPARED_PAIR, judge_changes
from fairstats.comparisons.compared_sets import (
    different_items,
    different_questions,
    joined_values,
    only_unit,
    shown_by_flips,
    why_no_verdict,
)
from fairstats.comparisons.paired_differences import model_difference
from fairstats.counts.item_outcomes import SUMS, crossed_patterns, item_patterns, sums_of_crossed
from fairstats.counts.missing_policies import CountingPolicy
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS
from fairstats.estimates.eligibility import why_not_above_chance
from fairstats.inference._checks import check_alpha, check_choice, check_resampling
from fairstats.inference.multiplicity import AdjustMethod

#: Columns of the table from `compare`, in order.
COMPARISON_COLUMNS = (
    *COMPARED_PAIR,
    "metric",
    "old",
    "new",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "lowest",
    "highest",
    "p_value",
    "p_adjusted",
    "p_pair",
    "p_pair_adjusted",
    "p_worst",
    "p_worst_adjusted",
    "adjust_method",
    "test",
    "n",
    "missing",
    "verdict",
    "verdict_reason",
    "method_note",
)


def compare(
    old: Any,
    new: Any,
    *,
    missing: ComparisonPolicy | None = None,
    alpha: float = 0.05,
    adjust: AdjustMethod = "holm",
    allow_different_items: bool = False,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 1,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Compare the answers of two versions of a model, item by item.

    Parameters
    ----------
    old, new : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        Two answer sets, each from one model with one strategy, to the same version of a benchmark.
        They can be from two models, or from one model with two strategies.
    missing : {"common", "available", "complete", "incorrect", "bounds"}, optional
        ``common``, the default, uses the pairs that both models answered: an item counts for a pair
        of groups if neither model has a missing answer to it. The other policies are those of
        `analyze`, with all answers of each model. ``bounds`` is the default if the benchmark
        declares it.
    alpha : float
        1 − confidence level, and the level of the verdicts.
    adjust : {"holm", "hommel", "bh", "by"}
        How p-values are adjusted. p-values of single metrics are adjusted over all rows of the
        table. Those of pairs, which decide the verdicts, are adjusted over all pairs.
    allow_different_items : bool
        Allow different versions of a benchmark, or different items. The estimates then use the
        items that both models were asked, and every row is marked. Between versions of a benchmark
        there is no verdict, since the questions differ too.
    n_resamples, rng
        For resampling, if there is no exact distribution (see Notes).
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.

    Returns
    -------
    pandas.DataFrame
        For each declared pair of each demographic attribute, new − old of ``delta_accuracy`` (the
        mean of the two groups' accuracies), ``delta_cfr`` and ``delta_ad``; columns
        `COMPARISON_COLUMNS`, with n the number of items. ``lowest`` and ``highest`` bound the
        change over all completions of missing answers of either model, including items of the
        benchmark that were not asked. ``p_pair`` is the largest of a pair's three p-values.
        ``p_worst`` is the same if the missing answers are completed against the change. ``verdict``
        is "win-win" if ``p_pair_adjusted`` and ``p_worst_adjusted`` are at most alpha and both
        intervals and bounds show a higher accuracy, a higher CFR and a lower AD. It is "lose-lose"
        if they show the reverse, and "unclear" in all other cases, with a ``verdict_reason`` if it
        was withheld. The better model must answer better than a guess. Under ``bounds``, the limits
        are those over all completions of the answers to the items that were asked, without a test
        or verdict.

    Raises
    ------
    InputError
        If a table holds several models or strategies, or the benchmarks differ. Also, without
        `allow_different_items`, if versions or items differ.

    Notes
    -----
    Items are resampled, each with all of its answers from both models. Under ``common`` no answer
    is missing, so intervals are exact bootstrap ones and tests are exact, without a seed. The tests
    swap the two models' answers item by item, see `fairstats.comparisons.paired_differences`. If an
    answer is missing, items are resampled, and swapped, `n_resamples` times with `rng`.

    "Win-win" asserts three changes at once. It is tested by an intersection-union test. The
    hypothesis that at least one change is absent is rejected if all three tests reject. So the
    largest of the three p-values is its p-value and needs no correction for the three.

    References
    ----------
    Davison & Hinkley (1997), Bootstrap Methods and their Application, section 3.8; Berger (1982),
    Technometrics 24:295-300, for intersection-union tests. The estimands are those of FairMedQA,
    table 2.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", strategy="plain", sample=0,
    ...            attribute="race", answer_key="C")
    >>> def answers(model, letters):
    ...     return pd.DataFrame([row | dict(model=model, item_id="demo-01", group=g, answer=a)
    ...                          for g, a in zip(("white", "black"), letters)])
    >>> table = compare(answers("m-1", "CB"), answers("m-2", "CC"))
    >>> table[["metric", "estimate"]].values.tolist()
    [['delta_accuracy', 0.5], ['delta_cfr', 1.0], ['delta_ad', -1.0]]
    """
    check_choice("adjust", adjust, get_args(AdjustMethod))
    table = changes(
        old,
        new,
        missing=missing,
        alpha=alpha,
        allow_different_items=allow_different_items,
        n_resamples=n_resamples,
        rng=rng,
        benchmarks=benchmarks,
    )
    judged = judge_changes(table.assign(family="this comparison"), alpha=alpha, adjust=adjust)
    return judged[list(COMPARISON_COLUMNS)]


def changes(
    old: Any,
    new: Any,
    *,
    missing: ComparisonPolicy | None,
    alpha: float,
    allow_different_items: bool,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark],
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 1,
) -> pd.DataFrame:
    """Run `compare` without the parts that depend on the family: adjusted p-values and verdicts.

    Its column ``no_verdict`` gives the reason why a comparison gets no verdict; empty if it can.
    """
    alpha = check_alpha(alpha)
    check_resampling(n_resamples, rng)
    if missing is not None:
        check_choice("missing", missing, COMPARISON_POLICIES)
    sides = {"old": open_answers(old, benchmarks), "new": open_answers(new, benchmarks)}
    units = {
        side: opened.once("unit", partial(only_unit, opened.frame, side))
        for side, opened in sides.items()
    }
    questions = different_questions(units, allow_different_items)
    benchmark = sides["old"].benchmarks[units["old"]["benchmark"]]
    policy: ComparisonPolicy = missing or ("bounds" if benchmark.missing == "bounds" else "common")
    patterns = {side: item_patterns(opened) for side, opened in sides.items()}
    items = different_items(patterns, units, allow_different_items)
    flips = shown_by_flips(sides, units, benchmark, _counted(policy), alpha)
    crossed = {
        side: opened.once("crossed", partial(crossed_patterns, patterns[side]))
        for side, opened in sides.items()
    }
    counts = {
        side: table.groupby(list(PAIR_COLUMNS), as_index=False, sort=False)[list(PATTERNS)].sum()
        for side, table in crossed.items()
    }
    ranges = change_ranges(counts, patterns, benchmark)
    if policy == "bounds":
        rows = bounds_rows(counts["old"], counts["new"], benchmark)
    else:
        one, other = _sums(crossed["old"], crossed["new"], policy)
        pairs = demographic_pairs(counts["old"], counts["new"], benchmark)
        rows = _rows(one, other, pairs, alpha, n_resamples, rng)
    columns = None if rows else [*PAIR, "metric", "p_value", "estimate"]
    table = pd.DataFrame(rows, columns=columns).assign(
        benchmark=benchmark.name,
        benchmark_version=joined_values(units, "benchmark_version"),
        model_old=units["old"]["model"],
        model_new=units["new"]["model"],
        strategy=joined_values(units, "strategy"),
        ci_level=np.nan if policy == "bounds" else 1 - alpha,
        missing=policy,
        method_note="; ".join(filter(None, [questions, items, flips])),
        no_verdict=why_no_verdict(questions, flips),
        judged=policy != "bounds",
    )
    guessing = {
        side: _guessing(table_of, patterns[side], benchmark) for side, table_of in counts.items()
    }
    table = table.merge(ranges, on=[*PAIR, "metric"], how="left")
    table["p_worst"] = worst_p_values(table, crossed, benchmark, n_resamples, rng)
    return table.assign(guessing_old=guessing["old"], guessing_new=guessing["new"])


def _counted(policy: ComparisonPolicy) -> MissingPolicy:
    """Return the policy of `analyze` that the estimates of a comparison follow."""
    return "complete" if policy == COMMON else cast(MissingPolicy, policy)


def _sums(
    old: pd.DataFrame, new: pd.DataFrame, policy: ComparisonPolicy
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return each item's contributions to the estimates, for items that both models were asked.

    Under ``common``, these are the items without a missing answer from either model.
    """
    counted = cast(CountingPolicy, _counted(policy))
    keys = [*PAIR, "item_id"]
    sides = []
    for crossed in (old, new):
        sums = sums_of_crossed(crossed, counted)
        if policy == COMMON:
            every = sums_of_crossed(crossed, "incorrect")
            sums = sums[sums["n"].eq(every["n"])]
        sides.append(sums.set_index(keys))
    common = sides[0].index.intersection(sides[1].index)
    one, other = (side.loc[common].reset_index() for side in sides)
    return one, other


def _guessing(counts: pd.DataFrame, patterns: pd.DataFrame, benchmark: Benchmark) -> str:
    items = patterns.groupby([*UNIT_COLUMNS, "attribute"])["item_id"].nunique().to_dict()
    return str(why_not_above_chance(counts, items, benchmark).iloc[0])


def _rows(
    old: pd.DataFrame,
    new: pd.DataFrame,
    pairs: list[tuple[str, str, str]],
    alpha: float,
    n_resamples: int,
    rng: np.random.Generator | int,
) -> list[Row]:
    rows = []
    for pair in pairs:
        # Both tables have the same items in the same order.
        one, other = (
            rows_of_pair(table, pair)[list(SUMS)].to_numpy(dtype=np.int64)[:, None]
            for table in (old, new)
        )
        for metric, figure in FIGURES.items():
            found = model_difference(
                one, other, figure, alpha=alpha, n_resamples=n_resamples, rng=rng
            )
            own: Row = found.to_estimates().iloc[0].to_dict()
            rows.append(pair_values(pair) | {"metric": metric, "n": len(one)} | own)
    return rows
