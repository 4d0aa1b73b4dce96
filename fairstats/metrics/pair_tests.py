"""Tests of a pair of groups (McNemar, sign flips, letters), and the difference that they detect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import TestResult
from fairstats.counts.patterns import PATTERNS, IntArray, PolicyCounts, apply_policy
from fairstats.inference.clustered_answers import flip_test, sign_flip_test
from fairstats.inference.intervals import proportion_interval
from fairstats.inference.letters import bowker, stuart_maxwell
from fairstats.inference.mcnemar import McNemarMethod, mcnemar
from fairstats.inference.power import minimum_detectable_difference
from fairstats.metrics.metric import (
    NUMERIC,
    SHARES,
    Columns,
    NumberMetric,
    Numbers,
    PairMetric,
    Pairs,
    Range,
)

Flippable = Literal["midp", "exact"]
#: The tests that exist for clustered answers, by flipping items.
FLIPPING: tuple[Flippable, ...] = ("midp", "exact")


def mcnemar_bounds(patterns: IntArray, *, method: McNemarMethod = "midp") -> Range:
    """Return the lowest and highest p-value of McNemar's test over all fill-ins.

    The p-value falls as the discordant counts move apart. It is lowest if every open pair becomes
    discordant in the same direction, and highest if the counts come closest to balance.
    """
    c = dict(zip(PATTERNS, np.moveaxis(patterns, -1, 0), strict=True))
    n10, n01 = c["n10"], c["n01"]
    more10, more01 = c["n1x"] + c["nx0"] + c["nxx"], c["n0x"] + c["nx1"] + c["nxx"]
    lowest = np.minimum(
        mcnemar(n10=n10 + more10, n01=n01, method=method).p_value,
        mcnemar(n10=n10, n01=n01 + more01, method=method).p_value,
    )
    to_balance = n10 - n01
    highest = mcnemar(
        n10=n10 + np.clip(-to_balance, 0, more10),
        n01=n01 + np.clip(to_balance, 0, more01),
        method=method,
    ).p_value
    return lowest, highest


def flip_tests(
    pairs: Pairs, paired: PolicyCounts, method: Flippable, differences: IntArray | None = None
) -> dict[str, Any]:
    """Test every pair by McNemar's test; pairs with clustered answers by sign flips of items.

    `differences` are of one pair of each pattern; by default n10 − n01 under the policy.
    """
    result = mcnemar(n10=paired.n10, n01=paired.n01, method=method)
    statistic, p_value = (
        np.array(column, dtype=np.float64) for column in (result.statistic, result.p_value)
    )
    tests = np.full(len(p_value), f"mcnemar {method}", dtype=object)
    for place, (cells, many) in pairs.outcomes.clusters.items():
        if differences is None:
            pooled = bool(pairs.outcomes.pooled[place])
            own = apply_policy(cells, pairs.missing, pooled=pooled)
            change = own.n10 - own.n01
        else:
            change = cells @ differences
        found = sign_flip_test(change, many, method=method)
        statistic[place], p_value[place] = found.statistic, found.p_value
        tests[place] = f"mcnemar {method}, items flipped"
        if found.method != method:
            tests[place] += f" ({found.method})"
    return {"statistic": statistic, "p_value": p_value, "test": tests}


def mcnemar_of(pairs: Pairs) -> dict[Flippable, dict[str, Any]]:
    """Return both tests of every pair, for ``pairs.once``."""
    return {method: flip_tests(pairs, pairs.paired, method) for method in FLIPPING}


def _rows(pairs: Pairs) -> Columns:
    paired = pairs.paired
    estimate = np.where(paired.n > 0, (paired.n10 - paired.n01) / np.maximum(paired.n, 1), np.nan)
    rows = pairs.rows(paired=paired) | {"estimate": estimate, "n": paired.n}
    return stacked_rows([rows | own for own in pairs.once(mcnemar_of).values()])


def _rows_of_bounds(pairs: Pairs) -> Columns:
    # The range of the p-value is for independent pairs; clustered pairs have none.
    single = ~pairs.clustered
    patterns = pairs.outcomes.patterns[single]
    tables = []
    for method in FLIPPING:
        lowest, highest = mcnemar_bounds(patterns, method=method)
        notes = [f"highest p over all fill-ins; the lowest is {p:.4g}" for p in lowest]
        own = {
            "p_value": highest,
            "test": np.full(len(patterns), f"mcnemar {method}", dtype=object),
            "n": patterns.sum(axis=1),
            "n10": patterns[:, PATTERNS.index("n10")],
            "n01": patterns[:, PATTERNS.index("n01")],
            "method_note": np.array(notes, dtype=object),
        }
        tables.append({name: column[single] for name, column in pairs.rows().items()} | own)
    return stacked_rows(tables)


def stacked_rows(tables: list[dict[str, Any]]) -> Columns:
    """Return the rows of all tables, one table after the other."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


MCNEMAR = PairMetric(
    name="mcnemar",
    label="McNemar",
    definition="McNemar's test of equal accuracy or selection, in two rows: mid-p, which the "
    "verdict uses, and exact. With several answers per item, whole items are flipped. The "
    "estimate is the difference over the pairs.",
    formula=r"(n_{10} - n_{01}) / n",
    order=100,
    lowest=-1,
    highest=1,
    ideal=0,
    kinds=SHARES,
    compute=_rows,
    bounds_rows=_rows_of_bounds,
)


def flip_tests_of(numbers: Numbers) -> dict[Flippable, dict[str, Any]]:
    """Return both tests of every pair, for ``numbers.once``."""
    found: dict[Flippable, dict[str, Any]] = {}
    for method in FLIPPING:
        results = [flip_test(s.difference, s.many, method=method) for s in numbers.sums]
        text = f"sign flip {method}, units flipped"
        found[method] = {
            "statistic": np.array([float(one.statistic) for one in results]),
            "p_value": np.array([float(one.p_value) for one in results]),
            "test": np.array(
                [text if one.method == method else f"{text} ({one.method})" for one in results],
                dtype=object,
            ),
        }
    return found


def _flip_rows(numbers: Numbers) -> Columns:
    n = np.array([sums.n for sums in numbers.sums], dtype=np.int64)
    total = np.array([float(sums.difference @ sums.many) for sums in numbers.sums])
    estimate = np.where(n > 0, total / np.maximum(n, 1), np.nan)
    rows = numbers.rows() | numbers.moves | {"estimate": estimate, "n": n}
    return stacked_rows([rows | own for own in numbers.once(flip_tests_of).values()])


SIGN_FLIP = NumberMetric(
    name="sign_flip",
    label="Sign-flip test",
    definition="Test of no difference between the groups, in two rows: mid-p, which the verdict "
    "uses, and exact. Each independent unit's difference could as well have the other sign. The "
    "estimate is the mean difference over the pairs.",
    formula=r"\sum_k \pm d_k",
    order=100,
    ideal=0,
    kinds=NUMERIC,
    compute=_flip_rows,
)


def _letter_test(
    test: Callable[[npt.ArrayLike], TestResult], order: int, label: str, definition: str
) -> PairMetric:
    def rows(pairs: Pairs) -> Columns:
        # The tests assume independent pairs, so clustered pairs have no test.
        single = ~pairs.clustered
        tables = pairs.outcomes.letters[single]
        result = test(tables)
        return {name: column[single] for name, column in pairs.outcomes.keys.items()} | {
            "statistic": result.statistic,
            "p_value": result.p_value,
            "test": [f"{test.__name__}, {df} df" for df in np.ravel(np.asarray(result.df))],
            "n": tables.sum(axis=(1, 2)),
            "method_note": "on the letters, right or wrong; not adjusted",
        }

    definition += " No test for clustered answers."
    return PairMetric(
        name=test.__name__,
        label=label,
        definition=definition,
        order=order,
        kinds=SHARES,
        compute=rows,
        bounds_rows=rows,
    )


BOWKER = _letter_test(
    bowker,
    160,
    "Letters, symmetry",
    "Bowker's test on the options, right or wrong: is a change from one option to another as "
    "frequent as the change back?",
)
STUART_MAXWELL = _letter_test(
    stuart_maxwell,
    170,
    "Letters, equal margins",
    "Stuart and Maxwell's test on the options, right or wrong: is each option given equally "
    "often to both groups?",
)


#: The power for which the difference is computed.
POWER = 0.8


def _smallest_rows(pairs: Pairs) -> Columns:
    """Return one row per pair.

    Holm's procedure compares the smallest p-value of m tests with alpha / m. At this level, a pair
    is detected regardless of the other pairs in the family.
    """
    paired, alpha, tests = pairs.paired, pairs.alpha, pairs.tests
    effect = pairs.effects["accuracy_difference"]
    n = np.floor(paired.n / effect).astype(np.int64)
    discordant = proportion_interval(
        paired.n10 + paired.n01, paired.n, alpha=alpha, design_effect=effect
    ).ci_high
    smallest = np.empty(len(n))
    for size in np.unique(tests):
        own = tests == size
        smallest[own] = minimum_detectable_difference(
            n[own], discordant[own], power=POWER, alpha=alpha / int(size)
        )
    return pairs.rows(paired=paired) | {
        "estimate": smallest,
        "n": paired.n,
        "test": "mcnemar midp",
        "method_note": [
            f"detected with {POWER:.0%} power by a test at level {alpha:g}/{size}, as Holm's "
            "procedure requires for the smallest p-value of the family, at the upper limit of "
            "the share of discordant pairs"
            if size > 1
            else f"detected with {POWER:.0%} power by one test at level {alpha:g}, at the upper "
            "limit of the share of discordant pairs"
            for size in tests
        ],
    }


DETECTABLE_DIFFERENCE = PairMetric(
    name="minimum_detectable_difference",
    label="Detectable difference (80% power, adjusted test)",
    definition="Smallest difference that the mid-p test detects with 80% power. The share "
    "of discordant pairs is taken at its upper limit. The level is alpha / (tests in the family), "
    "as Holm's procedure requires of the smallest p-value.",
    order=110,
    lowest=0,
    highest=1,
    kinds=SHARES,
    compute=_smallest_rows,
)
