"""Verdicts under every combination of the analyst's choices: the specification curve."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import FloatArray
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.missing_policies import CountingPolicy
from fairstats.counts.outcomes import PAIR_COLUMNS
from fairstats.estimates.adjusted_pvalues import families
from fairstats.estimates.analyze import estimates_of, rows_with
from fairstats.estimates.counts_for_estimates import Folded, fold_for_estimates
from fairstats.estimates.extreme_completions import adjusted_completions, unadjusted_completions
from fairstats.estimates.sensitivity import (
    FLIPPING,
    INTERVALS,
    TESTS,
    JudgedPairs,
    adjusted_in_families,
    effects_of,
    figures_of,
    judged_pairs,
    p_values_of,
)
from fairstats.estimates.verdicts import COMPLETED, robust_verdict
from fairstats.inference._checks import check_alpha, check_choice, check_margin
from fairstats.inference.differences import DifferenceMethod, difference_interval
from fairstats.inference.mcnemar import McNemarMethod
from fairstats.inference.multiplicity import AdjustMethod
from fairstats.inference.verdict import EQUIVALENT, INCONCLUSIVE
from fairstats.metrics.accuracy import proportion

#: The choices that make up a specification; the prompt is the column ``strategy``.
CHOICES = ("missing", "interval", "test", "adjust", "margin")
#: The interval of the estimates table: Tango's, or the one that its answers need.
DEFAULT: Literal["default"] = "default"
#: The margins that are always among the choices, with the benchmark's margin.
MARGINS = (0.01, 0.02, 0.03, 0.05)
#: Columns of the table from `specification_curve`, in order.
SPECIFICATION_COLUMNS = (
    *PAIR_COLUMNS,
    *CHOICES,
    "estimate",
    "ci_low",
    "ci_high",
    "p_value",
    "p_adjusted",
    "verdict",
    "published",
)
IntervalChoice = DifferenceMethod | Literal["default"]
_KEYS = list(PAIR_COLUMNS)
_NUMBERS = ("margin", "estimate", "ci_low", "ci_high", "p_value", "p_adjusted")
_DTYPES = (
    dict.fromkeys(SPECIFICATION_COLUMNS, "str")
    | dict.fromkeys(_NUMBERS, "float64")
    | {"published": "bool"}
)


@dataclass(frozen=True)
class _Choices:
    missing: tuple[CountingPolicy, ...]
    interval: tuple[IntervalChoice, ...]
    test: tuple[McNemarMethod, ...]
    adjust: tuple[AdjustMethod, ...]
    margin: tuple[float, ...]

    def margins(self, benchmark: Benchmark) -> FloatArray:
        return np.array(sorted({*self.margin, benchmark.equivalence_margin}))


def specification_curve(
    answers: Any,
    *,
    missing: Sequence[CountingPolicy] = get_args(CountingPolicy),
    interval: Sequence[IntervalChoice] = ("default", "bonett_price", "newcombe"),
    test: Sequence[McNemarMethod] = TESTS,
    adjust: Sequence[AdjustMethod] = get_args(AdjustMethod),
    margin: Sequence[float] = MARGINS,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    attributes: Collection[str] | None = None,
) -> pd.DataFrame:
    """Compute each pair's accuracy difference and verdict under all combinations of choices.

    A specification is one policy for missing answers, interval, test, adjustment and margin. The
    prompt is one more choice: answer sets of the same model with different prompts are rows with a
    different ``strategy``. `specification_shares` counts the verdicts.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    missing : sequence of {"available", "complete", "incorrect"}
        The policies for missing answers. The policy ``bounds`` has no verdict; but no verdict of
        this table depends on missing answers.
    interval : sequence of {"default", "tango", "bonett_price", "newcombe", "wald", "bootstrap"}
        The intervals. ``default`` is the one of `analyze`. The others apply to the pairs that the
        policy's test uses, see `difference_interval`.
    test : sequence of {"midp", "exact", "asymptotic", "asymptotic_cc"}
        The tests, see `mcnemar`.
    adjust : sequence of {"holm", "hommel", "bh", "by"}
        The adjustments of the p-values over their families, see `adjust_pvalues`.
    margin : sequence of float
        The equivalence margins, shares in (0, 1). The margin that the benchmark declares is always
        added.
    alpha : float
        1 − confidence level, and the level of the verdicts; below 0.5.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.
    attributes : collection of str, optional
        The attributes whose rows are returned.

    Returns
    -------
    pandas.DataFrame
        `SPECIFICATION_COLUMNS`, one row per pair and specification, with pairs in the order of the
        estimates. ``published`` marks the specification with the benchmark's policy and margin,
        the default interval, mid-p and Holm: it has the values of `analyze`.

    Raises
    ------
    InputError
        As `analyze`.
    ValueError
        For a choice that is unknown or has no value, an unknown attribute, a margin outside
        (0, 1), or alpha outside (0, 0.5).

    Notes
    -----
    A choice applies to all answers at once: p-values are adjusted together with those of the other
    pairs under the same policy and test. "Equivalent" uses the 1 − 2 alpha interval of the same
    method. "Disparity" and "equivalent" hold for every completion of the missing answers, with the
    same test and adjustment. Tango's interval is used for the completions.

    A pair without a verdict in `analyze` (the baseline, a model that selected the items, groups
    that were not asked the same) has none under any specification. A group without answers has a
    NaN estimate. For clustered answers (several samples of an item, pooled attributes), only the
    specifications that exist for clusters are given: the default interval, with mid-p or exact.

    Wald's interval and the bootstrap are not among the default choices. Without discordant pairs
    they are a single point, and would call two items equivalent.

    References
    ----------
    Simonsohn, Simmons & Nelson (2020), Nature Human Behaviour 4:1208-1214.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            attribute="race")
    >>> answers = pd.DataFrame(
    ...     [row | dict(item_id=item, group=group, answer_key=key, answer=key if right else None)
    ...      for place, (item, key) in enumerate(load_benchmark("demo").answer_keys.items())
    ...      for group, right in (("white", True), ("black", place > 7))])
    >>> table = specification_curve(answers, test="midp", adjust="holm", margin=[])
    >>> table.loc[table["interval"] == "default", ["missing", "estimate"]].round(3).values.tolist()
    [['available', 0.0], ['complete', 0.0], ['incorrect', 0.333]]
    """
    alpha = check_alpha(alpha, below=0.5)
    choices = _Choices(
        _checked("missing", missing, get_args(CountingPolicy)),
        _checked("interval", interval, (DEFAULT, *INTERVALS)),
        _checked("test", test, TESTS),
        _checked("adjust", adjust, get_args(AdjustMethod)),
        tuple(np.atleast_1d(check_margin(margin)).tolist()),
    )
    if isinstance(answers, pd.DataFrame) and answers.empty:
        return pd.DataFrame(columns=list(SPECIFICATION_COLUMNS)).astype(_DTYPES)
    folded = fold_for_estimates(answers, benchmarks)
    tables = [
        table
        for number, policy in enumerate(choices.missing)
        for table in _under(folded, policy, choices, alpha, number)
    ]
    found = pd.concat(tables, ignore_index=True)
    # A stable sort keeps the order of the specifications within a pair.
    order = np.lexsort((found["_policy"], found["_place"]))
    found = found.iloc[order][list(SPECIFICATION_COLUMNS)].reset_index(drop=True).astype(_DTYPES)
    return rows_with(found, "attribute", attributes)


def _checked(name: str, given: Any, allowed: Sequence[str]) -> Any:
    one = isinstance(given, str) or not isinstance(given, Iterable)
    values = [check_choice(name, value, allowed) for value in ([given] if one else given)]
    if not values:
        raise ValueError(f"{name} is empty; give at least one of {', '.join(allowed)}")
    return tuple(dict.fromkeys(values))


def _under(
    folded: Folded, policy: CountingPolicy, choices: _Choices, alpha: float, number: int
) -> Iterator[pd.DataFrame]:
    """Yield the specifications with this policy, one table per benchmark."""
    estimates = estimates_of(folded, policy, alpha, whole=False)
    figures = figures_of(estimates)
    places = pd.Series(np.arange(len(figures)), index=figures.index)
    judged = list(judged_pairs(folded, figures, estimates, alpha))
    family, effects = families(folded.counts, folded.known), effects_of(folded, judged)
    p_values = {name: p_values_of(judged, figures, estimates, name) for name in choices.test}
    open_tables = {
        name: unadjusted_completions(
            folded.counts, p, family, folded.known, folded.asked, effects, alpha=alpha, test=name
        )
        for name, p in p_values.items()
    }
    steps = list(product(choices.test, choices.adjust))
    p_adjusted = {
        (name, method): adjusted_in_families(p_values[name], folded.known, method)
        for name, method in steps
    }
    completed = {
        (name, method): adjusted_completions(open_tables[name], method) for name, method in steps
    }
    for pairs in judged:
        index = pairs.published.index
        tests = _Tests(
            np.array([[p_values[name].get(key, np.nan) for key in index] for name, _ in steps]),
            np.array([[p_adjusted[step].get(key, np.nan) for key in index] for step in steps]),
            {
                column: np.array([completed[step][column].take(pairs.places) for step in steps])
                for column in COMPLETED
            },
            completed[steps[0]]["open"].to_numpy(dtype=bool)[pairs.places],
        )
        yield _combined(pairs, steps, tests, choices).assign(
            _policy=number,
            _place=lambda table, index=index: places[index].iloc[table["_pair"]].to_numpy(),
        )


@dataclass(frozen=True)
class _Tests:
    """The p-values of each test with each adjustment, with a column per pair."""

    p_value: FloatArray
    p_adjusted: FloatArray
    completed: dict[str, FloatArray]
    is_open: npt.NDArray[np.bool_]


def _combined(
    pairs: JudgedPairs,
    steps: list[tuple[McNemarMethod, AdjustMethod]],
    tests: _Tests,
    choices: _Choices,
) -> pd.DataFrame:
    """Return the rows of one benchmark: interval × (test, adjustment) × margin × pair."""
    margins = choices.margins(pairs.benchmark)
    limits = [_limits(pairs, method) for method in choices.interval]
    estimate, low, high, inner_low, inner_high = (
        np.array(part) for part in zip(*limits, strict=True)
    )
    shape = (len(limits), len(steps), len(margins), len(pairs.published))
    by_interval, by_step = np.s_[:, None, None, :], np.s_[None, :, None, :]
    verdicts = robust_verdict(
        tests.p_adjusted[by_step],
        inner_low[by_interval],
        inner_high[by_interval],
        **{name: values[by_step] for name, values in tests.completed.items()},
        is_open=tests.is_open,
        margin=margins[None, None, :, None],
        alpha=pairs.alpha,
    )
    verdicts = np.where((verdicts == EQUIVALENT) & pairs.never_equivalent, INCONCLUSIVE, verdicts)
    which, step, margin, pair = (part.ravel() for part in np.indices(shape))
    names, methods = (np.array(part, dtype=object) for part in zip(*steps, strict=True))
    interval = np.array(choices.interval, dtype=object)

    def spread(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.broadcast_to(values, shape).ravel()

    keys = {column: pairs.published.index.get_level_values(column)[pair] for column in _KEYS}
    table = pd.DataFrame(
        keys
        | {
            "missing": pairs.missing,
            "interval": interval[which],
            "test": names[step],
            "adjust": methods[step],
            "margin": margins[margin],
            "estimate": spread(estimate[by_interval]),
            "ci_low": spread(low[by_interval]),
            "ci_high": spread(high[by_interval]),
            "p_value": spread(tests.p_value[by_step]),
            "p_adjusted": spread(tests.p_adjusted[by_step]),
            "verdict": verdicts.ravel(),
            "_pair": pair,
        }
    )
    table["verdict"] = table["verdict"].astype("str").where(pairs.judged[pair])
    table["published"] = (
        (table["missing"] == pairs.benchmark.missing)
        & (table["interval"] == DEFAULT)
        & (table["test"] == "midp")
        & (table["adjust"] == "holm")
        & (table["margin"] == pairs.margin)
    )
    exists = (table["interval"] == DEFAULT) & table["test"].isin(FLIPPING)
    return table[exists | ~pairs.clustered[pair]]


def _limits(pairs: JudgedPairs, method: IntervalChoice) -> tuple[npt.ArrayLike, ...]:
    """Return the estimates, and the limits at 1 − alpha and at 1 − 2 alpha."""
    if method == DEFAULT:
        own = pairs.published
        return own["estimate"], own["ci_low"], own["ci_high"], *pairs.inner
    paired = pairs.paired
    cells = (paired.n11, paired.n10, paired.n01, paired.n00)
    outer, inner = (
        difference_interval(*cells, method=method, alpha=level)
        for level in (pairs.alpha, 2 * pairs.alpha)
    )
    right_a, right_b = paired.n11 + paired.n10, paired.n11 + paired.n01
    estimate = proportion(right_a, paired.n) - proportion(right_b, paired.n)
    return estimate, outer.ci_low, outer.ci_high, inner.ci_low, inner.ci_high
