"""How a model's figures moved to its next version, on the same items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

import numpy as np
import pandas as pd

from fairstats.benchmarks import Benchmark, MissingPolicy
from fairstats.bounds import Range, pair_bounds
from fairstats.counts import PATTERNS, fold, pair_counts
from fairstats.folding import UNIT_COLUMNS, distinct, open_answers
from fairstats.inference._checks import check_alpha, check_choice, check_resampling
from fairstats.inference.multiplicity import AdjustMethod, adjust_pvalues
from fairstats.items import SUMS, item_sums, patterns_of
from fairstats.model_differences import Figure, accuracy, ad, cfr, model_difference
from fairstats.problems import InputError, Problem
from fairstats.vignettes.same_variants import DIFFERENT, flips_of_items, is_declared, same_flips

#: The columns of the table that `compare` gives, in order.
COMPARISON_COLUMNS = (
    "benchmark",
    "benchmark_version",
    "model_old",
    "model_new",
    "strategy",
    "attribute",
    "group_a",
    "group_b",
    "metric",
    "old",
    "new",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "p_value",
    "p_adjusted",
    "adjust_method",
    "test",
    "n",
    "missing",
    "verdict",
    "method_note",
)
WIN_WIN = "win-win"
LOSE_LOSE = "lose-lose"
NOT_SHOWN = "not shown"

_FIGURES: dict[str, Figure] = {"delta_accuracy": accuracy, "delta_cfr": cfr, "delta_ad": ad}
# Which way a figure improves.
_BETTER = {"delta_accuracy": 1, "delta_cfr": 1, "delta_ad": -1}
_PAIR = ("attribute", "group_a", "group_b")
Row = dict[str, Any]


def compare(
    old: Any,
    new: Any,
    *,
    missing: MissingPolicy | None = None,
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
        The answers of one model by one strategy each, to the same version of a benchmark. They
        can be two models, or one model under two strategies.
    missing : {"available", "complete", "incorrect", "bounds"}, optional
        The policy for missing answers; by default the benchmark's.
    alpha : float
        1 − confidence level.
    adjust : {"holm", "hommel", "bh", "by"}
        How the p-values of the table are adjusted, over all of its rows.
    allow_different_items : bool
        Compare answers to different versions of a benchmark, or to other items, all the same.
        Every row is then marked: such a difference is of the questions as well as of the models.
    n_resamples, rng
        For what has no exact law, see Notes.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, or that replace built-in ones.

    Returns
    -------
    pandas.DataFrame
        For each declared pair of each demographic attribute, new − old of ``delta_accuracy`` (the
        mean of the two groups' accuracies), ``delta_cfr`` and ``delta_ad``; columns
        `COMPARISON_COLUMNS`, n being the number of items. ``verdict`` is "win-win" where the
        intervals carry all of a higher accuracy, a higher CFR and a lower AD and each of the three
        tests is at most alpha, "lose-lose" where they carry the reverse, else "not shown". Under
        ``bounds`` the limits are the lowest and highest value over all fill-ins, without a test.

    Raises
    ------
    InputError
        Where a table holds several models or strategies, where they are of different benchmarks,
        and, without `allow_different_items`, of different versions or items.

    Notes
    -----
    Items are what is drawn, each with all of its answers to both models. Where no answer is
    missing the intervals are exact bootstrap ones and the tests exact too, without a seed: they
    swap the two models' answers item by item; see `fairstats.model_differences`. Where one is
    missing items are resampled, and swapped, `n_resamples` times by `rng`.

    References
    ----------
    Davison & Hinkley (1997), Bootstrap Methods and their Application, section 3.8. The estimands
    are those of FairMedQA, table 2.

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
    alpha, adjust = check_alpha(alpha), check_choice("adjust", adjust, get_args(AdjustMethod))
    check_resampling(n_resamples, rng)
    sides = {"old": open_answers(old, benchmarks), "new": open_answers(new, benchmarks)}
    units = {side: _only_unit(frame, side) for side, (frame, _) in sides.items()}
    note = _different(units, allow_different_items)
    benchmark = sides["old"][1][units["old"]["benchmark"]]
    policy = missing or benchmark.missing
    patterns = {side: patterns_of(*opened) for side, opened in sides.items()}
    different = _different_items(patterns, units, allow_different_items)
    flips = _by_flips(patterns, units, benchmark, policy, alpha)
    note = "; ".join(filter(None, [note, different, flips]))
    if policy == "bounds":
        counts = {
            side: pair_counts(fold(frame, known).outcomes, known)
            for side, (frame, known) in sides.items()
        }
        rows = _bounds_rows(counts["old"], counts["new"], benchmark)
    else:
        sums = {side: item_sums(table, policy) for side, table in patterns.items()}
        rows = _rows(sums["old"], sums["new"], benchmark, alpha, n_resamples, rng)
    table = pd.DataFrame(rows).assign(
        benchmark=benchmark.name,
        benchmark_version=_joined(units, "benchmark_version"),
        model_old=units["old"]["model"],
        model_new=units["new"]["model"],
        strategy=_joined(units, "strategy"),
        ci_level=np.nan if policy == "bounds" else 1 - alpha,
        missing=policy,
        method_note=note,
    )
    table["p_adjusted"] = adjust_pvalues(table["p_value"], method=adjust)
    table["adjust_method"] = f"{adjust} over {int(table['p_value'].notna().sum())} tests"
    table["verdict"] = _verdicts(table, alpha) if policy != "bounds" else None
    return table[list(COMPARISON_COLUMNS)]


def answers_of_one(
    answers: pd.DataFrame,
    side: str,
    model: str,
    strategy: str,
    benchmark_version: str | None = None,
) -> pd.DataFrame:
    """The answers of one model by one strategy, to one version of a benchmark if it is named.

    `side` is what to call them in a problem: ``"old"`` or ``"new"``.

    Raises
    ------
    InputError
        Where there are none; the message names the models, strategies or versions that are there.
    """
    wanted = {"model": model, "strategy": strategy, "benchmark_version": benchmark_version}
    own = answers
    for column, value in wanted.items():
        if value is None:
            continue
        there = sorted(own[column].unique())
        own = own[own[column] == value]
        if own.empty:
            remedy = f"use one of {', '.join(there[:20])}"
            raise InputError(
                [Problem(f"<{side}>", "there is no such answer", remedy, None, column, value)]
            )
    return own


def _only_unit(frame: Any, side: str) -> dict[str, str]:
    units = distinct(frame, list(UNIT_COLUMNS)).astype(str).sort_values(list(UNIT_COLUMNS))
    if len(units) > 1:
        several = [column for column in UNIT_COLUMNS if units[column].nunique() > 1]
        message = "a comparison is of one model, strategy and benchmark version on each side"
        raise InputError(
            [
                Problem(
                    f"<{side}>",
                    message,
                    f"filter the answers first, or name one (--{side}-version)",
                    column=column,
                    value=", ".join(units[column].unique()[:5]),
                )
                for column in several
            ]
        )
    return {str(name): value for name, value in units.iloc[0].items()}


def _different(units: Mapping[str, Mapping[str, str]], allowed: bool) -> str:
    """Refuse answers to different questions, or say that they are."""
    old, new = units["old"], units["new"]
    if old["benchmark"] != new["benchmark"]:
        value = f"{old['benchmark']} and {new['benchmark']}"
        remedy = "compare answers to one benchmark"
        raise InputError([Problem("<new>", "another benchmark", remedy, None, "benchmark", value)])
    if old["benchmark_version"] == new["benchmark_version"]:
        return ""
    value = f"{old['benchmark_version']} and {new['benchmark_version']}"
    if not allowed:
        raise InputError(
            [
                Problem(
                    "<new>",
                    "the versions of the benchmark are different questions",
                    "compare answers to one of them, or pass allow_different_items=True "
                    "(--allow-different-items)",
                    column="benchmark_version",
                    value=value,
                )
            ]
        )
    return f"different questions: benchmark versions {value}"


def _different_items(
    patterns: Mapping[str, pd.DataFrame], units: Mapping[str, Mapping[str, str]], allowed: bool
) -> str:
    items = {
        side: set(table[["attribute", "item_id"]].itertuples(index=False, name=None))
        for side, table in patterns.items()
    }
    alone = {side: items[side] - items[other] for side, other in (("old", "new"), ("new", "old"))}
    counts = {side: len({item for _, item in own}) for side, own in alone.items()}
    if not any(counts.values()):
        return ""
    found = f"{counts['old']} items of {units['old']['model']} alone, {counts['new']} of "
    found += f"{units['new']['model']} alone"
    if not allowed:
        examples = sorted({item for own in alone.values() for _, item in own})[:3]
        raise InputError(
            [
                Problem(
                    "<new>",
                    f"the models were not asked the same items: {found}",
                    "compare on the items of both, or pass allow_different_items=True "
                    "(--allow-different-items)",
                    column="item_id",
                    value=", ".join(examples),
                )
            ]
        )
    return f"different items: {found}"


def _by_flips(
    patterns: Mapping[str, pd.DataFrame],
    units: Mapping[str, Mapping[str, str]],
    benchmark: Benchmark,
    policy: MissingPolicy,
    alpha: float,
) -> str:
    """Report what the flips show about the versions: always if these differ or are not declared,
    and for one declared version if they contradict it. Flips are not judged for a benchmark that
    does not declare ``same_variants_odds_ratio``."""
    versions = [units[side]["benchmark_version"] for side in ("old", "new")]
    undeclared = [v for v in dict.fromkeys(versions) if not is_declared(v, benchmark)]
    smallest = benchmark.same_variants_odds_ratio
    if smallest is None:
        return f"{benchmark.name} does not declare {', '.join(undeclared)}" if undeclared else ""
    old, new = (flips_of_items(patterns[side], benchmark, policy) for side in ("old", "new"))
    found = same_flips(old, new, smallest_same=smallest, alpha=alpha)
    if versions[0] == versions[1] and not undeclared:
        if found.verdict != DIFFERENT:
            return ""
        return f"one version is declared; by their flips {found.sentence()}"
    declared = f"{benchmark.name} does not declare {', '.join(undeclared)}; " if undeclared else ""
    return f"{declared}by their flips {found.sentence()}"


def _rows(
    old: pd.DataFrame,
    new: pd.DataFrame,
    benchmark: Benchmark,
    alpha: float,
    n_resamples: int,
    rng: np.random.Generator | int,
) -> list[Row]:
    rows = []
    for pair in _demographic_pairs(old, new, benchmark):
        a, b = (_of_pair(table, pair).set_index("item_id") for table in (old, new))
        items = a.index.union(b.index)
        one, other = (
            side[list(SUMS)].reindex(items, fill_value=0).to_numpy(dtype=np.int64)[:, None]
            for side in (a, b)
        )
        for metric, figure in _FIGURES.items():
            found = model_difference(
                one, other, figure, alpha=alpha, n_resamples=n_resamples, rng=rng
            )
            own: Row = found.to_frame().iloc[0].to_dict()
            rows.append(_named(pair) | {"metric": metric, "n": len(items)} | own)
    return rows


def _demographic_pairs(
    old: pd.DataFrame, new: pd.DataFrame, benchmark: Benchmark
) -> list[tuple[str, str, str]]:
    """The pairs that either model was asked, as the benchmark declares them."""
    there = {
        pair
        for table in (old, new)
        for pair in table[list(_PAIR)].drop_duplicates().itertuples(index=False, name=None)
    }
    declared = [
        (attribute.name, a, b) for attribute in benchmark.varied for a, b in attribute.pairs
    ]
    return [pair for pair in declared if pair in there]


def _of_pair(table: pd.DataFrame, pair: tuple[str, str, str]) -> pd.DataFrame:
    return table[(table[list(_PAIR)] == list(pair)).all(axis=1)]


def _named(pair: tuple[str, str, str]) -> Row:
    return dict(zip(_PAIR, pair, strict=True))


def _bounds_rows(old: pd.DataFrame, new: pd.DataFrame, benchmark: Benchmark) -> list[Row]:
    rows = []
    for pair in _demographic_pairs(old, new, benchmark):
        counts = [_of_pair(table, pair) for table in (old, new)]
        if any(own.empty for own in counts):
            continue
        one, other = (_figure_ranges(pair_bounds(own)) for own in counts)
        for metric in _FIGURES:
            (old_low, old_high), (new_low, new_high) = one[metric], other[metric]
            old_value = old_low if old_low == old_high else np.nan
            new_value = new_low if new_low == new_high else np.nan
            rows.append(
                _named(pair)
                | {
                    "metric": metric,
                    "old": old_value,
                    "new": new_value,
                    "estimate": new_value - old_value,
                    "ci_low": new_low - old_high,
                    "ci_high": new_high - old_low,
                    "ci_method": "bounds",
                    "p_value": np.nan,
                    "test": None,
                    "n": int(counts[1][list(PATTERNS)].to_numpy().sum()),
                }
            )
    return rows


def _figure_ranges(ranges: Mapping[str, Range]) -> dict[str, tuple[float, float]]:
    def limits(metric: str) -> tuple[float, float]:
        low, high = ranges[metric]
        return float(low[0]), float(high[0])

    (a_low, a_high), (b_low, b_high) = limits("accuracy_a"), limits("accuracy_b")
    return {
        "delta_accuracy": ((a_low + b_low) / 2, (a_high + b_high) / 2),
        "delta_cfr": limits("cfr"),
        "delta_ad": limits("ad"),
    }


def _verdicts(table: pd.DataFrame, alpha: float) -> pd.Series:
    """Of each pair, in all of its rows."""
    better = table["metric"].map(_BETTER)
    # Turned so that up is better.
    worst = np.where(better > 0, table["ci_low"], -table["ci_high"])
    best = np.where(better > 0, table["ci_high"], -table["ci_low"])
    keys = [table[name] for name in _PAIR]
    # A bootstrap interval is too narrow where few items changed: the test has to agree.
    shown = table["p_value"] <= alpha
    won, lost = (
        (shown & carried).groupby(keys).transform("all") for carried in (worst > 0, best < 0)
    )
    return pd.Series(
        np.where(won, WIN_WIN, np.where(lost, LOSE_LOSE, NOT_SHOWN)), index=table.index
    )


def _joined(units: Mapping[str, Mapping[str, str]], column: str) -> str:
    return " → ".join(dict.fromkeys([units["old"][column], units["new"][column]]))
