"""The estimates of the pairs of groups, metric by metric, from their outcome counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.counts.missing_policies import (
    CountingPolicy,
    PairedCounts,
    apply_policy,
    copies_of,
    missing_flags,
    missing_per_group,
)
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS
from fairstats.counts.sample_weights import per_answer
from fairstats.estimates.bounds import mcnemar_bounds, pair_bounds
from fairstats.estimates.design_effects import design_effects, naming_effect
from fairstats.estimates.table import BOUNDS_NOTE
from fairstats.inference.effect_sizes import odds_ratio
from fairstats.inference.intervals import proportion_interval
from fairstats.inference.letter_symmetry import bowker, stuart_maxwell
from fairstats.inference.mcnemar import mcnemar
from fairstats.inference.power import minimum_detectable_difference
from fairstats.inference.sign_flip import sign_flip_test
from fairstats.metrics.accuracy import accuracy, accuracy_difference, estimate_proportion
from fairstats.metrics.cfr import cfr
from fairstats.metrics.cohens_h import cohens_h
from fairstats.metrics.disparity import absolute_interval

#: The power at which the minimum detectable difference is given.
POWER = 0.8

#: The metrics that compare each group's own answers, so that n alone does not give their number.
OF_BOTH_GROUPS = ("accuracy_difference", "ad", "cohens_h")

_TESTS: tuple[Literal["midp", "exact"], ...] = ("midp", "exact")


def counted_tables(
    counts: pd.DataFrame,
    items: pd.DataFrame,
    letters: pd.DataFrame,
    missing: CountingPolicy,
    alpha: float,
    effects: Mapping[str, FloatArray],
    tests: npt.NDArray[np.int64],
) -> list[pd.DataFrame]:
    """The estimates of one benchmark's pairs under a policy that gives counts.

    Parameters
    ----------
    counts : pandas.DataFrame
        The pairs' outcome counts, from `fairstats.counts.outcomes.pair_counts`.
    items : pandas.DataFrame
        The kinds of items of those pairs whose answers are clustered, see `design_effects`.
    letters : pandas.DataFrame
        The pairs' letters, `fairstats.counts.outcomes.Folds.letters`.
    missing : {"available", "complete", "incorrect"}
        The policy.
    alpha : float
        1 − confidence level.
    effects : mapping of str to ndarray
        The figures' design effects, from `design_effects`.
    tests : ndarray of int
        How many tests each pair's p-value is adjusted over.

    Returns
    -------
    list of pandas.DataFrame
        One a metric, with some of the columns `fairstats.estimates.table.ESTIMATE_COLUMNS`.
    """
    paired = apply_policy(counts, missing)
    difference = accuracy_difference(
        paired, alpha=alpha, design_effect=effects["accuracy_difference"]
    )
    note = _denominators(paired)

    def table(metric: str, estimate: Estimate, *options: Any) -> pd.DataFrame:
        clustered = effects["accuracy_difference" if metric == "ad" else metric]
        return _table(counts, metric, _naming(estimate, clustered), *options)

    def own(side: str) -> Estimate:
        correct, n = (
            per_answer(getattr(paired, f"{name}_{side}"), copies_of(counts))
            for name in ("correct", "n")
        )
        return accuracy(correct, n, alpha=alpha, design_effect=effects[f"accuracy_{side}"])

    same = cfr(paired.same, paired.n, alpha=alpha, design_effect=effects["cfr"])
    h = cohens_h(paired, alpha=alpha, design_effect=effects["cohens_h"])
    tables = [
        *difference_tables(counts, items, missing, alpha, effects),
        table("accuracy_a", own("a")),
        table("accuracy_b", own("b")),
        _with_own(table("ad", absolute(difference), paired, note), counts, paired),
        table("cfr", same),
        _with_own(table("cohens_h", h, paired, note), counts, paired),
        _odds_ratio_table(counts, items, paired, alpha),
    ]
    for metric, cell in {
        "both_correct": paired.n11,
        "only_a_correct": paired.n10,
        "only_b_correct": paired.n01,
        "neither_correct": paired.n00,
    }.items():
        share = estimate_proportion(cell, paired.n, alpha=alpha, design_effect=effects[metric])
        tables.append(table(metric, share))
    detectable = _detectable_table(counts, paired, effects["accuracy_difference"], alpha, tests)
    missing_table = _missing_table(counts, items, effects["missing_difference"], alpha)
    return [*tables, detectable, *_letter_tables(counts, letters, items), missing_table]


def difference_tables(
    counts: pd.DataFrame,
    items: pd.DataFrame,
    missing: CountingPolicy,
    alpha: float,
    effects: Mapping[str, FloatArray],
) -> list[pd.DataFrame]:
    """Of `counted_tables` those that verdicts rest on: the difference and McNemar's tests."""
    paired = apply_policy(counts, missing)
    effect = effects["accuracy_difference"]
    found = _naming(accuracy_difference(paired, alpha=alpha, design_effect=effect), effect)
    differences = _item_differences(items, missing)
    table = _table(counts, "accuracy_difference", found, paired, _denominators(paired))
    return [
        _with_own(table, counts, paired),
        *(_mcnemar_table(counts, paired, differences, method) for method in _TESTS),
    ]


def bounds_tables(
    counts: pd.DataFrame, items: pd.DataFrame, letters: pd.DataFrame, alpha: float
) -> list[pd.DataFrame]:
    """The ranges of one benchmark's pair figures over all fill-ins of missing answers.

    Parameters and result as for `counted_tables`; alpha is for the test on the missing flags.
    """
    n = counts[list(PATTERNS)].sum(axis=1).to_numpy(np.int64)
    answers = per_answer(n, copies_of(counts))
    tables = []
    for metric, (low, high) in pair_bounds(counts).items():
        table = _table(counts, metric, None)
        if metric in OF_BOTH_GROUPS:
            table = table.assign(n_a=answers, n_b=answers)
        tables.append(
            table.assign(
                # A range of one value is that value; of several, none is the estimate.
                estimate=np.where(low == high, low, np.nan),
                ci_low=low,
                ci_high=high,
                ci_method="bounds",
                n=answers if metric in ("accuracy_a", "accuracy_b") else n,
                method_note=BOUNDS_NOTE,
            )
        )
    # The range of the p-value is that of independent pairs: clustered ones have none.
    single = ~_clustered(counts, items)
    for method in _TESTS:
        lowest, highest = mcnemar_bounds(counts[single], method=method)
        table = _table(counts[single], "mcnemar", None)
        tables.append(
            table.assign(
                p_value=highest,
                test=f"mcnemar {method}",
                n=n[single],
                n10=counts.loc[single, "n10"],
                n01=counts.loc[single, "n01"],
                method_note=[f"highest p over all fill-ins; the lowest is {p:.4g}" for p in lowest],
            )
        )
    effects = design_effects(counts, items, "complete")["missing_difference"]
    return [
        *tables,
        *_letter_tables(counts, letters, items),
        _missing_table(counts, items, effects, alpha),
    ]


def _with_own(table: pd.DataFrame, counts: pd.DataFrame, paired: PairedCounts) -> pd.DataFrame:
    """Add how many answers of each group a difference of their accuracies rests on."""
    copies = copies_of(counts)
    return table.assign(n_a=per_answer(paired.n_a, copies), n_b=per_answer(paired.n_b, copies))


def _denominators(paired: PairedCounts) -> npt.NDArray[np.str_]:
    """The note where a difference and its test rest on other answers."""
    return np.where(
        (paired.n_a != paired.n) | (paired.n_b != paired.n),
        "each group's own answers; the test over the pairs with both",
        "",
    )


def _clustered(counts: pd.DataFrame, items: pd.DataFrame) -> npt.NDArray[np.bool_]:
    keys = list(PAIR_COLUMNS)
    return np.asarray(
        pd.MultiIndex.from_frame(counts[keys]).isin(pd.MultiIndex.from_frame(items[keys]))
    )


def _item_differences(items: pd.DataFrame, missing: CountingPolicy) -> pd.DataFrame:
    """n10 − n01 of each kind of item."""
    paired = apply_policy(items, missing)
    return items[[*PAIR_COLUMNS, "items"]].assign(difference=paired.n10 - paired.n01)


def _mcnemar_table(
    counts: pd.DataFrame,
    paired: PairedCounts,
    differences: pd.DataFrame,
    method: Literal["midp", "exact"],
) -> pd.DataFrame:
    """McNemar's test; where an item is answered more than once, its sign flips decide."""
    result = mcnemar(paired.n10, paired.n01, method=method)
    n = np.maximum(paired.n, 1)
    table = _table(counts, "mcnemar", None, paired).assign(
        estimate=np.where(paired.n > 0, (paired.n10 - paired.n01) / n, np.nan),
        n=paired.n,
        statistic=result.statistic,
        p_value=result.p_value,
        test=f"mcnemar {method}",
    )
    return _with_flips(table, differences, method)


def _with_flips(
    table: pd.DataFrame, differences: pd.DataFrame, method: Literal["midp", "exact"]
) -> pd.DataFrame:
    table = table.reset_index(drop=True)
    places = {
        key: place
        for place, key in enumerate(table[list(PAIR_COLUMNS)].itertuples(index=False, name=None))
    }
    for key, rows in differences.groupby(list(PAIR_COLUMNS), sort=False):
        place = places[key]
        result = sign_flip_test(rows["difference"], rows["items"], method=method)
        name = f"mcnemar {method}, items flipped"
        if result.method != method:
            name += f" ({result.method})"
        table.loc[place, ["statistic", "p_value"]] = [result.statistic, result.p_value]
        table.loc[place, "test"] = name
    return table


def _odds_ratio_table(
    counts: pd.DataFrame, items: pd.DataFrame, paired: PairedCounts, alpha: float
) -> pd.DataFrame:
    table = _table(counts, "odds_ratio", odds_ratio(paired.n10, paired.n01, alpha=alpha), paired)
    # Its exact interval is that of independent pairs.
    clustered = _clustered(counts, items)
    table.loc[clustered, ["ci_low", "ci_high", "ci_level"]] = np.nan
    table.loc[clustered, "ci_method"] = "none for clustered answers"
    return table


def _detectable_table(
    counts: pd.DataFrame,
    paired: PairedCounts,
    effect: FloatArray,
    alpha: float,
    tests: npt.NDArray[np.int64],
) -> pd.DataFrame:
    """The smallest difference that the adjusted test shows.

    Holm's procedure compares the smallest p-value of m tests with alpha / m: with this level a
    pair is detected whatever the other pairs of the family give.
    """
    pairs = np.floor(paired.n / effect).astype(np.int64)
    discordant = proportion_interval(
        paired.n10 + paired.n01, paired.n, alpha=alpha, design_effect=effect
    ).high
    smallest = np.empty(len(counts))
    for size in np.unique(tests):
        own = tests == size
        smallest[own] = minimum_detectable_difference(
            pairs[own], discordant[own], power=POWER, alpha=alpha / int(size)
        )
    levels = [f"{alpha:g}/{size}" if size > 1 else f"{alpha:g}" for size in tests]
    table = _table(counts, "minimum_detectable_difference", None, paired)
    return table.assign(
        estimate=smallest,
        n=paired.n,
        test="mcnemar midp",
        method_note=[
            f"detected with {POWER:.0%} power by a test at level {level}, which Holm's procedure "
            "asks of the smallest p-value of the family, at the upper limit of the share of "
            "discordant pairs"
            if size > 1
            else f"detected with {POWER:.0%} power by one test at level {level}, at the upper "
            "limit of the share of discordant pairs"
            for level, size in zip(levels, tests, strict=True)
        ],
    )


def _letter_tables(
    counts: pd.DataFrame, letters: pd.DataFrame, items: pd.DataFrame
) -> list[pd.DataFrame]:
    """Bowker's and Stuart and Maxwell's tests on the letters of the pairs with both answers.

    They take the pairs to be independent: of clustered ones there is no test.
    """
    keys = list(PAIR_COLUMNS)
    pairs = counts.loc[~_clustered(counts, items), keys]
    cells = dict(list(letters.groupby(keys, sort=False)))
    nothing = letters.iloc[:0]
    contingency = [
        _letter_table(cells.get(key, nothing)) for key in pairs.itertuples(index=False, name=None)
    ]
    tables = []
    for test in (bowker, stuart_maxwell):
        results = [test(table) for table in contingency]
        tables.append(
            pairs.assign(
                metric=test.__name__,
                statistic=[float(result.statistic) for result in results],
                p_value=[float(result.p_value) for result in results],
                test=[f"{test.__name__}, {int(result.df)} df" for result in results],
                n=[int(table.sum()) for table in contingency],
                method_note="on the letters, right or wrong; not adjusted",
            )
        )
    return tables


def _letter_table(cells: pd.DataFrame) -> npt.NDArray[np.int64]:
    """Pairs by the letter of group a (rows) and of group b."""
    names = pd.Index(sorted(set(cells["letter_a"]) | set(cells["letter_b"])))
    table = np.zeros((len(names), len(names)), dtype=np.int64)
    a, b = (names.get_indexer(cells[side]) for side in ("letter_a", "letter_b"))
    np.add.at(table, (a, b), cells["n"].to_numpy(dtype=np.int64))
    return table


def _missing_table(
    counts: pd.DataFrame, items: pd.DataFrame, effect: FloatArray, alpha: float
) -> pd.DataFrame:
    """Does one group go unanswered more often? The same test, on the missing flags."""
    flags = missing_flags(counts)
    result = mcnemar(flags.n10, flags.n01)
    difference = accuracy_difference(flags, alpha=alpha, design_effect=effect)
    table = _table(counts, "missing_difference", _naming(difference, effect), flags).assign(
        statistic=result.statistic,
        p_value=result.p_value,
        test="mcnemar midp",
        method_note="share of missing answers, a minus b; n10: only a missing",
    )
    kinds = missing_flags(items)
    differences = items[[*PAIR_COLUMNS, "items"]].assign(difference=kinds.n10 - kinds.n01)
    return _with_flips(table, differences, "midp")


def _naming(estimate: Estimate, effect: FloatArray) -> Estimate:
    """The estimate, its method naming the design effect where there is one."""
    methods = np.broadcast_to(estimate.ci_method, np.shape(effect))
    named = [naming_effect(method, size) for method, size in zip(methods, effect, strict=True)]
    return replace(estimate, ci_method=np.array(named, dtype=str))


def _table(
    counts: pd.DataFrame,
    metric: str,
    estimate: Estimate | None,
    paired: PairedCounts | None = None,
    note: Any = "",
) -> pd.DataFrame:
    missing_a, missing_b = (
        per_answer(missing, copies_of(counts)) for missing in missing_per_group(counts)
    )
    table = counts[list(PAIR_COLUMNS)].assign(
        metric=metric, n_missing_a=missing_a, n_missing_b=missing_b, method_note=note
    )
    if estimate is not None:
        table = table.assign(**estimate.to_frame())
    if paired is not None:
        table = table.assign(n10=paired.n10, n01=paired.n01)
    return table


def absolute(difference: Estimate) -> Estimate:
    """\\|a − b\\| from a − b."""
    low, high = absolute_interval(difference.ci_low, difference.ci_high)
    methods = np.broadcast_to(difference.ci_method, low.shape)
    method = np.array([f"{text}, absolute" for text in methods])
    estimate = np.abs(difference.estimate)
    return replace(difference, estimate=estimate, ci_low=low, ci_high=high, ci_method=method)
