"""Benchmarking capacity: the disparity that each kind of variant shows for the same models."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import scipy

from fairstats._lib.problems import InputError, Problem
from fairstats.answers.engine_frames import open_answers
from fairstats.benchmarks.declaration import BASELINE, Benchmark, MissingPolicy
from fairstats.counts.item_outcomes import crossed_patterns, item_patterns
from fairstats.counts.missing_policies import (
    CountingPolicy,
    PolicyCounts,
    apply_policy,
    of_each_pattern,
)
from fairstats.counts.outcomes import PATTERNS
from fairstats.inference._checks import check_alpha
from fairstats.metrics.accuracy import absolute_interval, accuracy_difference
from fairstats.vignettes.findings import findings_frame

ASPECT = "benchmarking capacity"
AD, AD_DIFFERENCE = "ad", "ad difference"
ADVERSARIAL, BALANCED = "adversarial", "adversarial-balanced"

#: A pair of groups: attribute, group a, group b.
Pair = tuple[str, str, str]
Row = dict[str, Any]
_SMALLEST_ALPHA = 1e-15


@dataclass(frozen=True)
class _Figures:
    """The accuracy difference of one model for one pair of groups and kind of variants.

    `paired` are its counts, `effects` the design effect of several samples, and `influence` each
    item's contribution to the estimate, with mean 0.
    """

    kind: str
    version: str
    paired: PolicyCounts
    effect: float
    influence: pd.Series

    @property
    def n(self) -> int:
        return len(self.influence)

    def ad(self, alpha: float) -> tuple[float, float, float, str]:
        """Return the accuracy disparity, its limits, and their method."""
        found = accuracy_difference(self.paired, alpha=alpha, design_effect=self.effect)
        low, high = absolute_interval(found.ci_low, found.ci_high)
        method = f"{np.ravel(found.method)[0]}, absolute"
        return abs(float(found.estimate[0])), float(low[0]), float(high[0]), method

    @property
    def sign(self) -> float:
        found = accuracy_difference(self.paired)
        return float(np.sign(found.estimate[0]))


def benchmarking_capacity(
    answers: Mapping[str, Any],
    *,
    balanced: Mapping[Pair, Collection[str]] | None = None,
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    r"""Compute the AD of the same models under several kinds of variants, and the differences.

    Parameters
    ----------
    answers : mapping of str to frame
        Answers by kind of variants, e.g. ``{"substitution": …, "adversarial": …}``; each for one
        version of a benchmark.
    balanced : mapping of (str, str, str) to collection of str, optional
        The items of the kind "adversarial" with balanced leakage, by attribute and pair of groups.
        These items form the kind "adversarial-balanced".
    missing : {"available", "complete", "incorrect", "bounds"}, optional
        By default the benchmark's; ``bounds`` is replaced by ``complete`` here.
    alpha : float
        1 − confidence level.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.

    Returns
    -------
    pandas.DataFrame
        `FINDING_COLUMNS`, aspect "benchmarking capacity". Quantity "ad", with the kind as its
        measure, for every model, strategy, kind and demographic pair. Quantity "ad difference",
        with the measure "kind − other kind", for every two kinds that a model was asked for the
        same pair of groups; the kind that is later in `answers` comes first (the balanced one
        last).

    Raises
    ------
    InputError
        If a kind has several benchmarks or versions, or balanced items are given without
        "adversarial" answers.

    Notes
    -----
    The interval of a difference combines the intervals of the two AD (Zou & Donner's method of
    variance estimates recovery). Their correlation depends on the items that both kinds share: all
    of them, some (a subset and its whole), or none. Items are the same if ``item_id`` and benchmark
    are the same. Across benchmarks, the kinds are treated as independent. p is the level at which
    the interval ends at 0, down to 1e-15. Near an AD of 0, its interval is cut there and that of
    the difference is rather wide.

    Which items are balanced is determined from the text, not from the answers. The interval
    accounts for the smaller number of items, but not for the choice of the rule.

    References
    ----------
    FairMedQA, table 1 (``data/published/fairmedqa_table1.csv``). Its CPV and CPV-USMLE answers and
    those of GPT-4o are not released, so only its rows for GPT-4-turbo on FairMedQA can be
    recomputed. Zou & Donner (2008), Statistics in Medicine 27:1693-1702.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", strategy="plain", sample=0, model="m",
    ...            attribute="race", answer_key="C")
    >>> def asked(letters):
    ...     return pd.DataFrame([row | dict(item_id=item, group=group, answer=letter)
    ...                          for item, pair in zip(("demo-01", "demo-05"), letters)
    ...                          for group, letter in zip(("white", "black"), pair)])
    >>> from dataclasses import replace
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> demo = replace(load_benchmark("demo"), answer_keys={})
    >>> table = benchmarking_capacity(
    ...     {"substitution": asked(["CC", "CC"]), "adversarial": asked(["CB", "CC"])},
    ...     benchmarks=[demo])
    >>> table[["measure", "quantity", "estimate"]].values.tolist()  # doctest: +NORMALIZE_WHITESPACE
    [['substitution', 'ad', 0.0], ['adversarial', 'ad', 0.5],
     ['adversarial − substitution', 'ad difference', 0.5]]
    """
    alpha = check_alpha(alpha)
    if balanced is not None and (ADVERSARIAL not in answers or BALANCED in answers):
        remedy = f'give the answers of "{ADVERSARIAL}" and not those of "{BALANCED}"'
        raise InputError([Problem("<answers>", "there are balanced items but no answers", remedy)])
    figures: dict[tuple[str, str, Pair], list[tuple[str, _Figures]]] = {}
    for kind, table in answers.items():
        name, patterns, policy = _opened(kind, table, missing, benchmarks)
        for key, own in _by_pair(patterns):
            figures.setdefault(key, []).append((name, _figures(kind, own, policy)))
            if kind == ADVERSARIAL and balanced is not None and key[2] in balanced:
                kept = own[own["item_id"].isin([str(item) for item in balanced[key[2]]])]
                figures[key].append((name, _figures(BALANCED, kept, policy, like=own)))
    rows: list[Row] = []
    for (model, strategy, (attribute, a, b)), found in figures.items():
        unit = {
            "aspect": ASPECT,
            "model": model,
            "strategy": strategy,
            "attribute": attribute,
            "group_a": a,
            "group_b": b,
            "ci_level": 1 - alpha,
        }
        rows += [unit | _ad_row(name, one, alpha) for name, one in found]
        # The balanced items were added after the whole set, but are listed last of all.
        ordered = sorted(found, key=lambda pair: pair[1].kind == BALANCED)
        rows += [
            unit | _difference_row(later, earlier, alpha)
            for earlier, later in combinations(ordered, 2)
        ]
    return findings_frame(rows)


def _opened(
    kind: str,
    answers: Any,
    missing: MissingPolicy | None,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark],
) -> tuple[str, pd.DataFrame, CountingPolicy]:
    opened = open_answers(answers, benchmarks)
    known, patterns = opened.benchmarks, item_patterns(opened)
    versions = patterns[["benchmark", "benchmark_version"]].drop_duplicates()
    if len(versions) > 1:
        value = ", ".join(versions["benchmark"] + " " + versions["benchmark_version"])
        message, remedy = "contains several benchmarks or versions", "filter the answers first"
        raise InputError([Problem(f"<{kind}>", message, remedy, value=value)])
    (name,) = known
    policy = missing or known[name].missing
    counting: CountingPolicy = "complete" if policy == "bounds" else policy
    return name, patterns[patterns["attribute"] != BASELINE], counting


def _by_pair(patterns: pd.DataFrame) -> list[tuple[tuple[str, str, Pair], pd.DataFrame]]:
    keys = ["model", "strategy", "attribute", "group_a", "group_b"]
    found = []
    for (model, strategy, *pair), own in patterns.groupby(keys, sort=True):
        attribute, a, b = map(str, pair)
        found.append(((str(model), str(strategy), (attribute, a, b)), own))
    return found


def _figures(
    kind: str, patterns: pd.DataFrame, policy: CountingPolicy, like: pd.DataFrame | None = None
) -> _Figures:
    items = crossed_patterns(patterns)
    cells = items[list(PATTERNS)].to_numpy(dtype=np.int64)
    counts = pd.DataFrame([cells.sum(axis=0)], columns=list(PATTERNS))
    paired = apply_policy(counts, policy)
    one, totals = of_each_pattern(policy), cells.sum(axis=0)
    of_pair = np.zeros(len(totals))
    for side, sign in (("a", 1), ("b", -1)):
        right, n = getattr(one, f"correct_{side}"), getattr(one, f"n_{side}")
        if (size := float(totals @ n)) > 0:
            of_pair += sign * (right - float(totals @ right) / size * n) / size
    influence = pd.Series(cells @ of_pair, index=items["item_id"])
    version = str((patterns if like is None else like)["benchmark_version"].iloc[0])
    copies = int(items["copies"].max()) if len(items) else 1
    single = float(totals @ of_pair**2)
    effect = 1.0
    if copies > 1:
        # Variance by items over variance by single pairs; each answer is in `copies` pairs.
        effect = max(float(copies), float((influence**2).sum()) / single if single > 0 else 1.0)
    return _Figures(kind, version, paired, effect, influence)


def _ad_row(name: str, one: _Figures, alpha: float) -> Row:
    estimate, low, high, method = one.ad(alpha)
    n10, n01 = int(one.paired.n10[0]), int(one.paired.n01[0])
    return {
        "measure": one.kind,
        "quantity": AD,
        "benchmark": name,
        "benchmark_version": one.version,
        "estimate": estimate,
        "ci_low": low,
        "ci_high": high,
        "ci_method": method,
        "n": one.n,
        "note": f"n10 = {n10}, n01 = {n01}" if one.n else "no item",
    }


def _difference_row(
    later: tuple[str, _Figures], earlier: tuple[str, _Figures], alpha: float
) -> Row:
    (name, one), (other_name, other) = later, earlier
    common = one.influence.index.intersection(other.influence.index)
    if name != other_name:
        common = common[:0]
    correlation = _correlation(one, other, common)
    row = {
        "measure": f"{one.kind} − {other.kind}",
        "quantity": AD_DIFFERENCE,
        "benchmark": " → ".join(dict.fromkeys([other_name, name])),
        "benchmark_version": " → ".join(dict.fromkeys([other.version, one.version])),
        "n": len(one.influence.index.union(other.influence.index))
        if name == other_name
        else one.n + other.n,
        "note": f"{one.n} and {other.n} items, {len(common)} of them common; correlation "
        f"{correlation:.3f}",
    }
    estimate, low, high = _difference(one, other, correlation, alpha)
    if one.kind == BALANCED and other.kind == ADVERSARIAL and one.n == other.n:
        same = "none (all items are balanced)"
        limits = {"estimate": 0.0, "ci_low": 0.0, "ci_high": 0.0, "ci_method": same}
        return row | limits | {"p_value": 1.0, "test": same}
    if np.isnan(estimate):
        nothing = "none (no answer for a group)"
        limits = {"ci_low": -1.0, "ci_high": 1.0, "ci_method": nothing}
        return row | limits | {"p_value": 1.0, "test": nothing}
    return row | {
        "estimate": estimate,
        "ci_low": low,
        "ci_high": high,
        "ci_method": "MOVER, paired by items" if len(common) else "MOVER, independent items",
        "p_value": _p_value(one, other, correlation),
        "test": "the interval's level at 0",
    }


def _correlation(one: _Figures, other: _Figures, common: pd.Index) -> float:
    """Return the correlation of the two AD: that of the differences, with their signs."""
    size = float((one.influence**2).sum() * (other.influence**2).sum())
    if size <= 0 or not len(common):
        return 0.0
    together = float((one.influence[common] * other.influence[common]).sum())
    return float(np.clip(one.sign * other.sign * together / np.sqrt(size), -1.0, 1.0))


def _difference(
    one: _Figures, other: _Figures, correlation: float, alpha: float
) -> tuple[float, float, float]:
    a, a_low, a_high, _ = one.ad(alpha)
    b, b_low, b_high, _ = other.ad(alpha)

    def length(x: float, y: float) -> float:
        return float(np.sqrt(max(x**2 - 2 * correlation * x * y + y**2, 0.0)))

    low = max(a - b - length(a - a_low, b_high - b), -1.0)
    high = min(a - b + length(a_high - a, b - b_low), 1.0)
    return a - b, low, high


def _p_value(one: _Figures, other: _Figures, correlation: float) -> float:
    """Return the smallest level at which the interval excludes 0."""
    estimate, *_ = _difference(one, other, correlation, 0.5)
    # Differences from rounding alone do not count.
    if abs(estimate) < 1e-12 or np.isnan(estimate):
        return 1.0

    def beyond(log_level: float) -> float:
        _, low, high = _difference(one, other, correlation, float(np.exp(log_level)))
        return low if estimate > 0 else -high

    # Start near the level from the normal distribution, since each step of the search costs four
    # intervals.
    _, low, high = _difference(one, other, correlation, 0.05)
    distance = (estimate - low if estimate > 0 else high - estimate) / scipy.stats.norm.isf(0.025)
    guess = np.log(2) + scipy.stats.norm.logsf(abs(estimate) / max(distance, 1e-12))
    smallest, largest = np.log(_SMALLEST_ALPHA), np.log(1 - 1e-9)
    lower, upper = np.clip([guess - 0.3, guess + 0.3], smallest, largest)
    while beyond(lower) > 0:
        if lower <= smallest:
            return _SMALLEST_ALPHA
        lower, upper = max(2 * lower, smallest), lower
    while beyond(upper) < 0:
        if upper >= largest:
            return 1.0
        lower, upper = upper, min(upper / 2 + 1e-3, largest)
    return float(np.exp(scipy.optimize.brentq(beyond, lower, upper, xtol=1e-6)))
