"""Sensitivity of an accuracy difference and its verdict to the analyst's choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import FloatArray
from fairstats._lib.row_groups import row_keys, stacked, text_array
from fairstats.answers.engine_frames import OpenAnswers
from fairstats.benchmarks.declaration import MISSING_POLICIES, Benchmark, MissingPolicy
from fairstats.counts.asked import Asked
from fairstats.counts.missing_policies import CountingPolicy, PolicyCounts, apply_policy
from fairstats.counts.outcomes import PAIR_COLUMNS
from fairstats.estimates.adjusted_pvalues import families
from fairstats.estimates.analyze import estimates_of
from fairstats.estimates.counts_for_estimates import Folded, fold_for_estimates
from fairstats.estimates.design_effects import design_effects
from fairstats.estimates.extreme_completions import adjusted_within, completions
from fairstats.estimates.table import PRIMARY_TEST, is_mcnemar
from fairstats.estimates.verdicts import completions_of, judge, places_of_benchmarks
from fairstats.inference.differences import DifferenceMethod, difference_interval
from fairstats.inference.mcnemar import McNemarMethod, mcnemar
from fairstats.inference.multiplicity import AdjustMethod
from fairstats.inference.verdict import EQUIVALENT
from fairstats.metrics.accuracy import accuracy_difference, proportion

#: Columns of the table from `sensitivity_of`, in order.
SENSITIVITY_COLUMNS = (
    *PAIR_COLUMNS,
    "aspect",
    "choice",
    "estimate",
    "ci_low",
    "ci_high",
    "p_value",
    "p_adjusted",
    "verdict",
    "published",
)
#: The choices, in row order within a pair.
MISSING, INTERVAL, TEST, MARGIN = ASPECTS = ("missing", "interval", "test", "margin")
INTERVALS: tuple[DifferenceMethod, ...] = get_args(DifferenceMethod)
TESTS: tuple[McNemarMethod, ...] = get_args(McNemarMethod)
#: The tests that exist for clustered answers, by flipping items.
FLIPPING = ("midp", "exact")
#: The margins for which verdicts are given, in addition to the benchmark's margin.
MARGINS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
#: For this choice, the estimate is the smallest margin at which a pair counts as equivalent.
SMALLEST = "smallest"

_KEYS = list(PAIR_COLUMNS)
_P_VALUES: tuple[Literal["p_value", "p_adjusted"], ...] = ("p_value", "p_adjusted")
_NUMBERS = ("estimate", "ci_low", "ci_high", *_P_VALUES)
_DTYPES = (
    dict.fromkeys(SENSITIVITY_COLUMNS, "str")
    | dict.fromkeys(_NUMBERS, "float64")
    | {"published": "bool"}
)
Limits = tuple[FloatArray, FloatArray]
Columns = dict[str, Any]


def sensitivity_of(
    answers: pd.DataFrame | OpenAnswers,
    missing: MissingPolicy | None,
    alpha: float,
    benchmarks: Mapping[str, Benchmark],
) -> pd.DataFrame:
    """Compute each pair's accuracy difference and verdict under each choice, varied one at a time.

    Parameters
    ----------
    answers : pandas.DataFrame
        The answers of a release.
    missing : {"available", "complete", "incorrect", "bounds"} or None
        The release's published policy; None for the one declared by each benchmark.
    alpha : float
        1 − confidence level, and the level of the verdicts.
    benchmarks : mapping of str to Benchmark
        The benchmarks by name.

    Returns
    -------
    pandas.DataFrame
        `SENSITIVITY_COLUMNS`, one row per pair and choice, with pairs in the order of the
        estimates. ``published`` marks the published choice, with the same values as in the
        estimates table. ``aspect`` names the choice:

        ``missing``
            The policy for missing answers. Under ``bounds``, the limits are the range over all
            fill-ins, p is the highest, and there is no verdict.
        ``interval``
            The interval's method, `INTERVALS`, applied to the pairs used by the policy's paired
            estimates: those with both answers, or all under ``incorrect``. p is that of the
            published test. The verdict takes equivalence from that method's 1 − 2 alpha interval.
            If the published estimate uses all answers of each group, its method is listed as a
            separate choice, named as in the estimates.
        ``test``
            McNemar's test, `TESTS`, adjusted by Holm's procedure over the published family. The
            estimate and its limits are the published ones.
        ``margin``
            The equivalence margin, as a proportion: `MARGINS` and the benchmark's margin. The
            values are the published ones. The choice ``smallest`` has another meaning. Its estimate
            is the margin above which the pair counts as equivalent. Its limits are those of the 1 −
            2 alpha interval, and its verdict is the one below that margin.

    Raises
    ------
    InputError
        As `fairstats.analyze`.

    Notes
    -----
    A changed policy applies to the whole release: the p-values of all pairs are computed under it
    and adjusted together.

    Some pairs have no published verdict (the baseline, a model that selected the items, groups that
    were not asked the same). These have no verdict under other intervals, tests or margins either,
    and no smallest margin. A verdict under another choice is "inconclusive" if missing answers
    could change *it*. The intervals of all completions of the missing answers must also be inside
    the smallest margin. A guessing model is not called equivalent at any margin.

    For clustered answers (several samples of an item, pooled attributes), only choices that exist
    for clusters are given. These are the published interval, widened by its design effect, and the
    tests that flip items, mid-p and exact. In the families of the other tests they keep their
    mid-p. If the release publishes ``bounds``, there is no interval, test or margin to choose, and
    only the policies are given.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> demo = load_benchmark("demo")
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            attribute="race")
    >>> answers = pd.DataFrame(
    ...     [row | dict(item_id=item, group=group, answer_key=key, answer=key if right else None)
    ...      for place, (item, key) in enumerate(demo.answer_keys.items())
    ...      for group, right in (("white", True), ("black", place > 7))])
    >>> table = sensitivity_of(answers, None, 0.05, {"demo": demo})
    >>> table.loc[table["aspect"] == "missing", ["choice", "estimate"]].round(3).values.tolist()
    [['available', 0.0], ['complete', 0.0], ['incorrect', 0.333], ['bounds', nan]]
    """
    if isinstance(answers, pd.DataFrame) and answers.empty:
        return pd.DataFrame(columns=list(SENSITIVITY_COLUMNS)).astype(_DTYPES)
    folded = fold_for_estimates(answers, benchmarks)
    estimates = estimates_of(folded, missing, alpha, whole=False)
    published = figures_of(estimates)
    judged = list(judged_pairs(folded, published, estimates, alpha))
    tables = [
        *_policies(folded, published, alpha),
        *(table for pairs in judged for table in _intervals(pairs)),
        *_tests(folded, judged, published, estimates, alpha),
        *(table for pairs in judged for table in _margins(pairs)),
    ]
    found = stacked(tables)
    # The tables are in the order of aspects and choices; a stable sort keeps it within a pair.
    order = np.argsort(found["row"], kind="stable")
    columns = {name: column[order] for name, column in found.items()}
    keys = {name: text_array(published.index.get_level_values(name)) for name in _KEYS}
    columns |= {name: key[columns["row"]] for name, key in keys.items()}
    return pd.DataFrame({name: columns[name] for name in SENSITIVITY_COLUMNS}).astype(_DTYPES)


def figures_of(estimates: pd.DataFrame) -> pd.DataFrame:
    """Return each pair's difference, its verdict and the test used, by `PAIR_COLUMNS`."""
    shown = ["estimate", "ci_low", "ci_high", "ci_method", "missing", "verdict"]
    rows = np.flatnonzero(text_array(estimates["metric"]) == "accuracy_difference")
    differences = estimates[[*_KEYS, *shown]].take(rows)
    keys = row_keys(differences, _KEYS)
    tests = {name: p_values_of_test(estimates, PRIMARY_TEST, name) for name in _P_VALUES}
    found = {name: [by_pair.get(key, np.nan) for key in keys] for name, by_pair in tests.items()}
    return differences.assign(**found).set_index(_KEYS)


def p_values_of_test(
    estimates: pd.DataFrame, test: str, column: Literal["p_value", "p_adjusted"] = "p_value"
) -> dict[tuple[str, ...], float]:
    """Return a test's p-values by `PAIR_COLUMNS`."""
    rows = np.flatnonzero(is_mcnemar(estimates, test))
    keys = zip(*(text_array(estimates[name])[rows] for name in _KEYS), strict=True)
    return dict(zip(keys, estimates[column].to_numpy()[rows].tolist(), strict=True))


def _policies(folded: Folded, published: pd.DataFrame, alpha: float) -> Iterator[Columns]:
    everything = np.arange(len(published))
    for policy in MISSING_POLICIES:
        own = np.asarray(published["missing"] == policy)
        table = _figures(published)
        if not own.all():
            other = figures_of(estimates_of(folded, policy, alpha, whole=False))
            other = other.reindex(published.index)
            # If other benchmarks have another policy, the published p-values have another family.
            table = {name: np.where(own, table[name], other[name]) for name in table}
        yield _rows(everything, table, MISSING, policy, own)


@dataclass(frozen=True)
class JudgedPairs:
    """The pairs of one benchmark under a policy that gives counts, as published."""

    counts: pd.DataFrame
    #: Their places in the counts of all pairs, and their rows in the published figures.
    places: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    published: pd.DataFrame
    clustered: npt.NDArray[np.bool_]
    missing: CountingPolicy
    benchmark: Benchmark
    asked: Asked
    completed: pd.DataFrame
    alpha: float
    #: Design effects of the differences.
    effect: FloatArray
    #: Limits of the published 1 − 2 alpha interval.
    inner: Limits

    @property
    def margin(self) -> float:
        """Return the published margin."""
        return self.benchmark.equivalence_margin

    @property
    def paired(self) -> PolicyCounts:
        return apply_policy(self.counts, self.missing)

    @property
    def judged(self) -> npt.NDArray[np.bool_]:
        """Return the pairs with a published verdict."""
        return self.published["verdict"].notna().to_numpy()

    def verdicts(
        self, p_adjusted: npt.ArrayLike, inner: Limits, margin: float
    ) -> npt.NDArray[np.object_]:
        """Return verdicts for changed values, with the same rules for open verdicts."""
        found = text_array(self._judged_at(p_adjusted, inner, margin))
        found[~self.judged] = None
        return found

    @property
    def never_equivalent(self) -> npt.NDArray[np.bool_]:
        """Return pairs that are never called equivalent, e.g. because the model guesses."""
        nothing = (np.zeros(len(self.published)),) * 2
        found = self._judged_at(np.ones(len(self.published)), nothing, 1 - 1e-9)
        return np.asarray(found != EQUIVALENT)

    def _judged_at(
        self, p_adjusted: npt.ArrayLike, inner: Limits, margin: float
    ) -> npt.NDArray[np.str_]:
        return judge(
            self.counts,
            p_adjusted,
            inner,
            self.completed,
            asked=self.asked,
            margin=margin,
            alpha=self.alpha,
        )[0]


def judged_pairs(
    folded: Folded, published: pd.DataFrame, estimates: pd.DataFrame, alpha: float
) -> Iterator[JudgedPairs]:
    benchmarks = published.index.get_level_values("benchmark")
    policies = dict(zip(benchmarks, published["missing"], strict=True))
    effects = {}
    effect = np.full(len(folded.counts), np.nan)
    kinds = text_array(folded.items["benchmark"])
    for name, places in places_of_benchmarks(folded.counts).items():
        if (policy := policies.get(name, "bounds")) != "bounds":
            rows, items = folded.counts.take(places), folded.items[kinds == name]
            effects[name] = design_effects(rows, items, policy)["accuracy_difference"]
            effect[places] = effects[name]
    completed = completions_of(estimates, folded.counts, folded.known, alpha, folded.asked, effects)
    place_of = {key: place for place, key in enumerate(row_keys(folded.counts, _KEYS))}
    clustered = set(row_keys(folded.items, _KEYS))
    for name, rows in places_of_benchmarks(published.index.to_frame()).items():
        if (policy := policies[name]) == "bounds":
            continue
        figures = published.take(rows)
        places = np.array([place_of[key] for key in figures.index])
        own = folded.counts.take(places).reset_index(drop=True)
        inner = accuracy_difference(
            apply_policy(own, policy), alpha=2 * alpha, design_effect=effect[places]
        )
        yield JudgedPairs(
            counts=own,
            places=places,
            rows=rows,
            published=figures,
            clustered=np.array([key in clustered for key in figures.index], dtype=bool),
            missing=policy,
            benchmark=folded.known[name],
            asked=folded.asked,
            completed=completed.take(places),
            alpha=alpha,
            effect=effect[places],
            inner=(inner.ci_low, inner.ci_high),
        )


def _intervals(pairs: JudgedPairs) -> Iterator[Columns]:
    published, paired = _figures(pairs.published), pairs.paired
    method_used = text_array(pairs.published["ci_method"])
    # Cases that none of the methods below covers: unpaired answers, and clusters.
    other = ~np.isin(method_used, INTERVALS) | pairs.clustered
    yield _rows(pairs.rows, published, INTERVAL, method_used, True, only=other)
    cells = (paired.n11, paired.n10, paired.n01, paired.n00)
    # Use the published computation, so that results are identical to the last bit.
    right_a, right_b = paired.n11 + paired.n10, paired.n11 + paired.n01
    estimate = proportion(right_a, paired.n) - proportion(right_b, paired.n)
    for method in INTERVALS:
        shown, inner = (
            (interval.ci_low, interval.ci_high)
            for interval in (
                difference_interval(*cells, method=method, alpha=level)
                for level in (pairs.alpha, 2 * pairs.alpha)
            )
        )
        table = published | {
            "estimate": estimate,
            "ci_low": shown[0],
            "ci_high": shown[1],
            "verdict": pairs.verdicts(published["p_adjusted"], inner, pairs.margin),
        }
        used, only = method_used == method, ~pairs.clustered
        yield _rows(pairs.rows, table, INTERVAL, method, used, only=only)


def _tests(
    folded: Folded,
    judged: list[JudgedPairs],
    published: pd.DataFrame,
    estimates: pd.DataFrame,
    alpha: float,
) -> Iterator[Columns]:
    family = families(folded.counts, folded.known)
    effects = effects_of(folded, judged)
    for test in TESTS:
        p_values = p_values_of(judged, published, estimates, test)
        p_adjusted = adjusted_in_families(p_values, folded.known)
        completed = completions(
            folded.counts, p_values, family, folded.known, folded.asked, effects,
            alpha=alpha, test=test,
        )  # fmt: skip
        for pairs in judged:
            table = _figures(pairs.published)
            for name, by_pair in (("p_value", p_values), ("p_adjusted", p_adjusted)):
                table[name] = [by_pair.get(key, np.nan) for key in pairs.published.index]
            completing = replace(pairs, completed=completed.take(pairs.places))
            table["verdict"] = completing.verdicts(table["p_adjusted"], pairs.inner, pairs.margin)
            used, only = f"mcnemar {test}" == PRIMARY_TEST, ~pairs.clustered | (test in FLIPPING)
            yield _rows(pairs.rows, table, TEST, test, used, only=only)


def effects_of(folded: Folded, judged: list[JudgedPairs]) -> dict[str, FloatArray]:
    """Return the design effects of each benchmark's differences, in the order of its counts."""
    effect = np.full(len(folded.counts), np.nan)
    for pairs in judged:
        effect[pairs.places] = pairs.effect
    places = places_of_benchmarks(folded.counts)
    return {pairs.benchmark.name: effect[places[pairs.benchmark.name]] for pairs in judged}


def p_values_of(
    judged: list[JudgedPairs],
    published: pd.DataFrame,
    estimates: pd.DataFrame,
    test: McNemarMethod,
) -> dict[tuple[str, ...], float]:
    """Return every pair's p-value by this test; clustered pairs have no χ² and keep their mid-p."""
    if test in FLIPPING:
        return p_values_of_test(estimates, f"mcnemar {test}")
    p_values = dict(zip(published.index, published["p_value"], strict=True))
    for pairs in judged:
        paired, single = pairs.paired, ~pairs.clustered
        result = mcnemar(n10=paired.n10, n01=paired.n01, method=test)
        p_values |= zip(pairs.published.index[single], result.p_value[single], strict=True)
    return p_values


def adjusted_in_families(
    p_values: Mapping[tuple[str, ...], float],
    known: Mapping[str, Benchmark],
    adjust: AdjustMethod = "holm",
) -> dict[tuple[str, ...], float]:
    """Return p-values, by `PAIR_COLUMNS`, adjusted over their families; NaN if in none."""
    keys = np.array(list(p_values), dtype=object).reshape(-1, len(_KEYS))
    family = families(dict(zip(_KEYS, keys.T, strict=True)), known)
    adjusted = adjusted_within(family, np.array(list(p_values.values()), dtype=float), adjust)
    return dict(zip(p_values, adjusted, strict=True))


def _margins(pairs: JudgedPairs) -> Iterator[Columns]:
    published = _figures(pairs.published)
    p_adjusted = published["p_adjusted"]
    for margin in sorted({*MARGINS, pairs.margin}):
        table = published | {"verdict": pairs.verdicts(p_adjusted, pairs.inner, margin)}
        yield _rows(pairs.rows, table, MARGIN, f"{margin:g}", margin == pairs.margin)
    # Limits that are inside no margin give the verdict below the smallest margin.
    everything = (np.full(len(pairs.rows), -1.0), np.full(len(pairs.rows), 1.0))
    table = published | {
        "estimate": smallest_margin(pairs),
        "ci_low": pairs.inner[0],
        "ci_high": pairs.inner[1],
        "verdict": pairs.verdicts(p_adjusted, everything, pairs.margin),
    }
    yield _rows(pairs.rows, table, MARGIN, SMALLEST, False)


def smallest_margin(pairs: JudgedPairs) -> FloatArray:
    """Return the margin above which each pair counts as equivalent; NaN if at none."""
    completed = (pairs.completed["inner_low"], pairs.completed["inner_high"])
    limits = (pairs.inner, completed)
    reach = np.fmax.reduce([np.abs(side) for both in limits for side in both])
    return np.where(pairs.judged & ~pairs.never_equivalent, reach, np.nan)


def _figures(published: pd.DataFrame) -> Columns:
    return {name: published[name].to_numpy() for name in (*_NUMBERS, "verdict")}


def _rows(
    rows: npt.NDArray[np.int64],
    table: Columns,
    aspect: str,
    choice: str | npt.NDArray[np.object_],
    published: bool | npt.NDArray[np.bool_],
    *,
    only: npt.NDArray[np.bool_] | slice = slice(None),
) -> Columns:
    """Return the columns of the table, with their rows in the published figures in ``row``."""
    columns = table | {"aspect": aspect, "choice": choice, "published": published, "row": rows}
    kinds = dict.fromkeys(("aspect", "choice", "verdict"), object)
    return {
        name: np.broadcast_to(np.asarray(column, dtype=kinds.get(name)), len(rows))[only]
        for name, column in columns.items()
    }
