"""Compute the estimates table from answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count
from typing import Any, Literal, TypeVar, cast, get_args

import numpy as np
import pandas as pd

from fairstats._lib.result_objects import Estimate, FloatArray, naming_effect
from fairstats.answers.engine_frames import UNIT_COLUMNS, OpenAnswers, open_answers
from fairstats.answers.strategies import VOTED, votes_among
from fairstats.benchmarks.declaration import (
    BASELINE,
    MISSING_POLICIES,
    POOLED,
    Benchmark,
    MissingPolicy,
)
from fairstats.benchmarks.kinds import DIFFERENCES, KINDS
from fairstats.counts.outcomes import Outcomes, count_grid, outcomes_of, texts_asked
from fairstats.counts.patterns import (
    INCOMPLETE,
    PAIR_COLUMNS,
    GroupAnswers,
    per_answer,
    pooled_pairs,
)
from fairstats.estimates.cautions import stated_keys
from fairstats.estimates.eligibility import SELECTED
from fairstats.estimates.joint_tests import joint_pvalues
from fairstats.estimates.judgements import Judgements, judge
from fairstats.estimates.table import BOUNDS_NOTE, Rows, add_note, estimates_table, joined
from fairstats.estimates.tested_pairs import numbers_of, pair_bounds, pairs_of
from fairstats.inference._checks import (
    check_alpha,
    check_choice,
    check_number,
    check_resampling,
)
from fairstats.inference.multiplicity import AdjustMethod
from fairstats.metrics.mcnemar import FLIPPING
from fairstats.metrics.metric import (
    Columns,
    Groups,
    Metric,
    NumberMetric,
    Numbers,
    PairMetric,
    Pairs,
    Range,
    Samples,
    columns_of,
)
from fairstats.metrics.registry import (
    GROUPS_METRICS,
    KEY_METRICS,
    METRICS,
    NUMBER_METRICS,
    PAIR_METRICS,
    SAMPLE_METRICS,
)
from fairstats.metrics.same_prompt import EXCESS_DISAGREEMENT

#: A warning if samples of the same prompt agree less than the answers for different groups.
NO_REPETITIONS = (
    "warning: the samples differ more from each other than the groups do, so they are not "
    "repetitions of one prompt"
)
#: A note on pooled figures if answers are missing; other pairs use each group's own answers.
BOTH_ANSWERS = "over the pairs with both answers"
#: A note on pooled pairs with a common group.
COMMON_GROUP = "one group is part of several of these pairs, so there is no test"
#: A note on differences that were built into the texts.
SLANTED = "the texts were written to sway the model: not a rate of bias in practice"


def analyze(
    answers: Any,
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    *,
    adjust: AdjustMethod | Literal["max_t"] = "holm",
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 1,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    margin: float | None = None,
    attributes: Collection[str] | None = None,
    metrics: Collection[str] | None = None,
) -> pd.DataFrame:
    """Compute all estimates for every unit.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    missing : {"available", "complete", "incorrect", "bounds"}, optional
        The policy for missing answers; by default the one declared by each benchmark.
    alpha : float
        1 − confidence level of the intervals, and the level of the verdicts. Must be below 0.5,
        since equivalence uses the 1 − 2 alpha interval.
    adjust : {"holm", "hommel", "bh", "by", "max_t"}
        How p-values are adjusted over their family: see `adjust_pvalues`, and `max_t` for the last
        method. ``max_t`` flips the items that the tests share. It is a separate test and replaces
        both versions of McNemar's.
    n_resamples, rng
        The flips of ``max_t``; nothing else is random.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.
    margin : float, optional
        The equivalence margin of all benchmarks, e.g. 0.05 for five points; by default the one
        that each declares.
    attributes, metrics : collection of str, optional
        The attributes and metrics whose rows are returned. This changes no figure: p-values are
        adjusted over all attributes of the answers.

    Returns
    -------
    pandas.DataFrame
        One row per estimate, with columns `ESTIMATE_COLUMNS`. An estimate without any answers is
        NaN, and its interval is the whole range of the estimand. The attribute ``pooled`` combines
        the pairs of all demographic attributes, if there are several.

    Raises
    ------
    InputError
        For an unknown benchmark, attribute or group, or a duplicate answer.
    ValueError
        For an unknown policy, procedure, attribute or metric, a margin outside (0, 1), or alpha
        outside (0, 0.5).

    Notes
    -----
    p-values of McNemar's test are adjusted over a family of tests. By default, that is the
    demographic pairs of all models on one board, i.e. one benchmark version and strategy. A
    benchmark can declare another `family`. Each version of the test is adjusted separately. The
    pooled pairs form a separate family, and the baseline pair is in none. `adjust_method` names the
    family and its size.

    Items are the independent units. If an item is answered more than once (several samples, or
    pooled attributes), the design effect widens intervals, and the test flips items. With several
    samples, every answer of one group is paired with every answer of the other, so their numbering
    does not matter; see `fairstats.count_outcomes`.

    There is no verdict for a model that took part in selecting the items, or for a group without
    answers. There is also none if the groups were not asked the same questions. A verdict does not
    depend on missing answers. "Disparity" requires that the test rejects for every completion of
    the missing answers. "Equivalent" requires that the interval is inside the margin for every
    completion, and that the model answers better than a guess. It leaves room for rare differences
    of the whole scale (`fairstats.inference.verdict.with_room`). Items of the benchmark that were
    not asked count as missing. If the requirements are not met, the verdict is "inconclusive".
    `verdict_reason` gives the reason. "Equivalent" is decided for each pair separately; it is not
    adjusted over the family.

    Examples
    --------
    >>> from fairstats import example_answers
    >>> answers = example_answers().query("model == 'GPT-4.1'")
    >>> table = analyze(answers, metrics=["accuracy_difference"], attributes=["race", "sex"])
    >>> table[["attribute", "estimate", "ci_low", "ci_high", "verdict"]].round(3)
      attribute  estimate  ci_low  ci_high    verdict
    0      race     0.149   0.122    0.177  disparity
    1       sex     0.109   0.083    0.136  disparity
    """
    # Equivalence uses the 1 − 2 alpha interval.
    alpha = check_alpha(alpha, below=0.5)
    check_choice("adjust", adjust, (*get_args(AdjustMethod), "max_t"))
    check_resampling(n_resamples, rng)
    if missing is not None:
        check_choice("missing", missing, MISSING_POLICIES)
    if margin is not None:
        margin = check_number("margin", margin, low=0, example="0.02 for 2 percentage points")
    opened = open_answers(answers, benchmarks)
    joint = None
    if adjust == "max_t":
        joint = joint_pvalues(opened, missing, n_resamples=n_resamples, rng=rng)
    if margin is not None:
        for name, known in opened.benchmarks.items():
            if not 0 < margin < known.span:
                limit = "a share between 0 and 1, e.g. 0.02"
                if known.kind.numeric:
                    limit = f"between 0 and {known.span:g} for {name}"
                raise ValueError(f"margin={margin!r} must be {limit}")
    counted = outcomes_of(opened).values()
    judged = judge(counted, missing, alpha, adjust=adjust, joint=joint, margin=margin)
    estimates = estimates_of(opened, judged)
    return rows_with(rows_with(estimates, "attribute", attributes), "metric", metrics)


def rows_with(estimates: pd.DataFrame, column: str, values: Collection[str] | None) -> pd.DataFrame:
    """Return the rows with these values (None: all rows), refusing one that has no row."""
    if values is None:
        return estimates
    values = {values} if isinstance(values, str) else set(values)
    known = list(estimates[column].unique())
    if unknown := sorted(values - set(known)):
        raise ValueError(
            f"{column}s={unknown[0]!r} is not in the estimates; use {', '.join(known)}"
        )
    return estimates[estimates[column].isin(values)].reset_index(drop=True)


def estimates_of(opened: OpenAnswers, judged: Judgements) -> pd.DataFrame:
    """Compute the estimates table of `analyze`, given the judgements of the same answers."""
    tables: list[Columns] = []
    for tested, is_bounds, verdicts in zip(
        judged.tested, judged.split(judged.bounds), _verdict_columns(judged), strict=True
    ):
        bounds, pairs = bool(is_bounds.all()), tested.pairs
        if isinstance(pairs, Numbers):
            found = [*_number_tables(pairs, verdicts, tested.fill_ins if bounds else None)]
            # Whether two answers are the same, and which are missing, needs no numbers.
            pairs = pairs_of(pairs.outcomes, pairs.missing, pairs.alpha, pairs.tests)
        else:
            found = []
        found += [*_pair_tables(pairs, verdicts, bounds), *_group_tables(pairs, bounds)]
        found += [] if bounds else [_sample_table(pairs), *_key_tables(pairs)]
        policy = "bounds" if bounds else pairs.missing
        tables += [{**table, "missing": policy} for table in found if table]
    columns = joined(tables)
    counted = [part.outcomes for part in judged.parts]
    lopsided = {outcomes.benchmark.name for outcomes in counted if outcomes.lopsided.any()}
    _add_notes(columns, opened, judged, lopsided)
    table = estimates_table(_in_order(columns, judged))
    asked = texts_asked(table, counted)
    kinds = [outcomes.benchmark.kind for outcomes in counted]
    of_a, of_b = (table["metric"].isin([getattr(k, f"rate_{s}") for k in kinds]) for s in "ab")
    kept = (asked["a"] & (asked["b"] | of_a)) | (asked["b"] & of_b)
    # Opposite gaps cancel out in a mean of several pairs, so its size says nothing. Without a test,
    # there is no power, and standardized limits have no ends for room.
    without = table["metric"].isin(["minimum_detectable_difference", "standardized_difference"])
    without &= table["benchmark"].isin(lopsided)
    kept &= ~((table["attribute"] == POOLED) & (without | (table["metric"] == "ad")))
    return table[kept].reset_index(drop=True)


def _verdict_columns(judged: Judgements) -> Iterator[dict[str, dict[str, Any]]]:
    """Yield each benchmark's columns of verdicts and adjusted p-values, by metric."""
    verdict, reason = judged.published
    margin = np.where(judged.bounds | judged.untested, np.nan, judged.margin)
    adjusted = [judged.split(judged.p_adjusted(test)) for test in FLIPPING]
    columns = (verdict, reason, margin, judged.adjusted_over)
    # McNemar's rows are those of each test in turn.
    kinds = [part.outcomes.benchmark.kind for part in judged.parts]
    for kind, *split, midp, exact in zip(
        kinds, *map(judged.split, columns), *adjusted, strict=True
    ):
        yield {
            kind.difference: dict(
                zip(("verdict", "verdict_reason", "margin"), split[:3], strict=True)
            ),
            kind.test: {
                "p_adjusted": np.concatenate([midp, exact]),
                "adjust_method": np.tile(split[3], len(FLIPPING)),
            },
        }


def _pair_tables(
    pairs: Pairs, verdicts: Mapping[str, dict[str, Any]], bounds: bool
) -> Iterator[Columns]:
    """Yield the rows of each metric of pairs, some of the columns `ESTIMATE_COLUMNS`."""
    ranges = pair_bounds(pairs.outcomes.patterns) if bounds else {}
    single = np.tile(~pairs.clustered, len(FLIPPING))
    for metric in _of_kind(PAIR_METRICS, pairs.outcomes.benchmark):
        own = verdicts.get(metric.name, {})
        if not bounds:
            yield _counted_table(metric, pairs) | own
            continue
        if metric.bounds_rows:
            # Clustered pairs have no range of a p-value.
            tested = {name: column[single] for name, column in own.items()}
            yield _named(metric, metric.bounds_rows(pairs), pairs) | tested
        if metric.name in ranges:
            yield _range_table(metric, pairs, ranges[metric.name]) | own


M = TypeVar("M", bound=Metric)


def _of_kind(metrics: Iterable[M], benchmark: Benchmark) -> list[M]:
    return [metric for metric in metrics if benchmark.kind.name in metric.kinds]


def _number_tables(
    numbers: Numbers, verdicts: Mapping[str, dict[str, Any]], fill_ins: Range | None
) -> Iterator[Columns]:
    """Yield the rows of each metric of levels or scores; with `fill_ins`, only the ranges."""
    benchmark = numbers.outcomes.benchmark
    for metric in _of_kind(NUMBER_METRICS, benchmark):
        own = verdicts.get(metric.name, {})
        if fill_ins is None:
            yield _number_table(metric, numbers) | own
        elif metric.name == benchmark.kind.difference:
            yield numbers.rows() | _range_columns(*fill_ins) | {"metric": metric.name} | own


def _number_table(metric: NumberMetric, numbers: Numbers) -> dict[str, Any]:
    found = metric.compute(numbers)
    rows = numbers.rows(found) if isinstance(found, Estimate) else found
    if metric.name == numbers.outcomes.benchmark.kind.difference:
        rows = {**rows, **numbers.moves, **numbers.own_counts}
    return {"method_note": "", **rows, "metric": metric.name}


def _key_tables(pairs: Pairs) -> Iterator[Columns]:
    """Yield the rows of each metric that compares answers with the key."""
    grid = pairs.outcomes.grid
    if not (grid.key >= 0).any():
        return
    # The metrics of both groups share the derived answers.
    derived: dict[Any, Pairs | Numbers] = {}
    for metric in _of_kind(KEY_METRICS, grid.benchmark):
        if metric.derive not in derived:
            counted = count_grid(metric.derive(grid))
            make = numbers_of if isinstance(metric.base, NumberMetric) else pairs_of
            derived[metric.derive] = make(counted, pairs.missing, pairs.alpha)
        own = derived[metric.derive]
        keep = own.outcomes.attribute != POOLED
        if not keep.any():
            continue
        if isinstance(own, Numbers):
            table = _number_table(cast(NumberMetric, metric.base), own)
        else:
            table = _counted_table(cast(PairMetric, metric.base), own)
        kept = {
            name: np.asarray(column)[keep] if np.ndim(column) else column
            for name, column in table.items()
        }
        yield kept | {"metric": metric.name}


def _counted_table(metric: PairMetric, pairs: Pairs) -> dict[str, Any]:
    found = metric.compute(pairs)
    if isinstance(found, Estimate):
        paired = pairs.paired
        if metric.rests_on == "both groups":
            found = pairs.rows(found, paired) | {
                "n_a": per_answer(paired.n_a, paired.copies),
                "n_b": per_answer(paired.n_b, paired.copies),
                "method_note": np.where(
                    (paired.n_a != paired.n) | (paired.n_b != paired.n),
                    "each group's own answers; the test over the pairs with both",
                    "",
                ),
            }
        else:
            found = pairs.rows(found)
    return _named(metric, found, pairs)


def _range_table(metric: PairMetric, pairs: Pairs, limits: Range) -> dict[str, Any]:
    """Return the range of a metric over all fill-ins of missing answers."""
    n = pairs.outcomes.patterns.sum(axis=1)
    answers = per_answer(n, pairs.outcomes.copies)
    table = pairs.rows() | _range_columns(*limits) | {"metric": metric.name}
    table["n"] = answers if metric.rests_on == "one group" else n
    if metric.rests_on == "both groups":
        table |= {"n_a": answers, "n_b": answers}
    return table


def _range_columns(low: FloatArray, high: FloatArray) -> dict[str, Any]:
    # A range of one value is that value; with several values, there is no estimate.
    estimate = np.where(low == high, low, np.nan)
    notes = {"ci_method": "bounds", "method_note": BOUNDS_NOTE}
    return {"estimate": estimate, "ci_low": low, "ci_high": high} | notes


def _named(metric: PairMetric, table: Columns, pairs: Pairs) -> dict[str, Any]:
    """Name the metric, and the design effect of its interval; drop the interval if it has none."""
    named = {"method_note": "", **table, "metric": metric.name}
    if metric.influence:
        effects = pairs.effects[metric.name]
        methods = np.broadcast_to(np.asarray(named["ci_method"], dtype=object), len(effects))
        named["ci_method"] = [
            naming_effect(method, effect) for method, effect in zip(methods, effects, strict=True)
        ]
    elif metric.interval and pairs.clustered.any():
        none = {"ci_method": "none for clustered answers"}
        for name in ("ci_low", "ci_high", "ci_level", "ci_method"):
            named[name] = np.where(pairs.clustered, none.get(name, np.nan), named[name])
    return named


def _group_tables(pairs: Pairs, bounds: bool) -> Iterator[Columns]:
    """Yield the rows of each metric of a whole demographic attribute."""
    own = pairs.outcomes.groups
    controls = tuple(own[c.name] for c in pairs.outcomes.benchmark.controls if c.name in own)
    for name, answers in own.items():
        if name == BASELINE or answers.attribute.control:
            continue
        groups = Groups(answers, pairs.missing, pairs.alpha, controls)
        for metric in _of_kind(GROUPS_METRICS, pairs.outcomes.benchmark):
            if not metric.applies(groups):
                continue
            named = {"attribute": name, "metric": metric.name}
            if not bounds:
                # A crossing without all four groups of two pairs has no interaction.
                if found := metric.compute(groups):
                    yield {**found} | named
            elif metric.bounds:
                n = np.where(groups.clustered, groups.pairs_asked, groups.items_asked)
                yield groups.rows() | _range_columns(*metric.bounds(groups)) | named | {"n": n}


def _sample_table(pairs: Pairs) -> Columns:
    """Return the estimates of each declared pair that need several samples of an item."""
    rows = []
    for name, own in pairs.outcomes.groups.items():
        several = own.samples > 1
        for unit in np.unique(own.grid.unit[several]):
            here = several & (own.grid.unit == unit)
            part = GroupAnswers(own.grid.rows(here), own.attribute, own.rows[here])
            letters = dict(zip(own.attribute.groups, map(part.letters, count()), strict=False))
            keys = own.grid.units.iloc[unit].to_dict()
            for a, b in own.attribute.pairs:
                samples = Samples(
                    letters[a],
                    letters[b],
                    part.grid.many,
                    part.samples,
                    pairs.missing,
                    pairs.alpha,
                    part.grid.cluster if len(part.grid.cluster) else None,
                    part.grid.alike if part.grid.benchmark.same_within else None,
                )
                for metric in SAMPLE_METRICS:
                    estimate = metric.compute(samples)
                    # A pair has no row if no item has two answers for each group.
                    if estimate.n > 0:
                        named = {"attribute": name, "group_a": a, "group_b": b}
                        named |= {"metric": metric.name, "method_note": metric.note}
                        if metric is EXCESS_DISAGREEMENT and estimate.ci_high < 0:
                            # Runs with other settings or prompts are no repetitions.
                            named["method_note"] += f"; {NO_REPETITIONS}"
                        rows.append(keys | named | estimate.to_row())
    return columns_of(rows)


def _add_notes(
    columns: Rows, opened: OpenAnswers, judged: Judgements, lopsided: Collection[str]
) -> None:
    """Fill in the snapshots, and add notes on samples, pooling, selection, votes, keys, slants.

    The pooled pairs of benchmarks that are `lopsided` have no test.
    """
    facts: dict[tuple[str, ...], tuple[str | None, Mapping[str, str], str, tuple[str, ...]]] = {}
    besides: dict[tuple[str, ...], Mapping[str, str]] = {}
    needed = {metric.name: metric.besides for metric in GROUPS_METRICS if metric.besides}
    snapshots = _snapshots(opened)
    slanted = set()
    for pairs in judged.parts:
        outcomes, benchmark = pairs.outcomes, pairs.outcomes.benchmark
        lacking, stated = _without_pairs(outcomes), stated_keys(outcomes.grid)
        sampled = _samples_notes(outcomes)
        slanted |= {benchmark.name} if benchmark.slanted else set()
        for place, unit in enumerate(outcomes.grid.units.itertuples(index=False, name=None)):
            besides[unit] = outcomes.grid.settings[place].besides
            pooled = "; ".join([BOTH_ANSWERS, *lacking.get(place, [])])
            selected = SELECTED * bool(outcomes.grid.selecting[place])
            voted = VOTED if votes_among([unit[3]]) else ""
            own = (selected, voted, stated[place])
            facts[unit] = (snapshots.get(unit), sampled[place], pooled, own)
    differ = np.isin(columns["metric"].astype(str), DIFFERENCES)
    judged_rows = differ & (columns["attribute"] != BASELINE) & (columns["missing"] != "bounds")
    missing = [columns[f"n_missing_{side}"].to_numpy("int64", na_value=0) for side in "ab"]
    tests = ["missing_difference", "net_moved"]
    tests += [name for kind in KINDS.values() for name in (kind.difference, kind.test)]
    is_whole = (columns["attribute"] == POOLED) & np.isin(columns["metric"].astype(str), tests)
    of_answers = [metric.name for metric in METRICS.values() if metric.rests_on != "pairs"]
    is_pooled = (columns["attribute"] == POOLED) & (columns["missing"] == "available")
    is_pooled &= np.isin(columns["metric"].astype(str), of_answers)
    is_pooled &= (missing[0] > 0) | (missing[1] > 0)
    units = zip(*(columns[name] for name in UNIT_COLUMNS), strict=True)
    for row, unit in enumerate(units):
        columns["snapshot"][row], samples_of, pooled, of_set = facts[unit]
        samples = samples_of.get(columns["attribute"][row], "")
        slant = SLANTED if judged_rows[row] and unit[0] in slanted else ""
        common = COMMON_GROUP if is_whole[row] and unit[0] in lopsided else ""
        other = besides[unit].get(needed.get(columns["metric"][row], ""), "")
        for note in (samples, pooled if is_pooled[row] else "", *of_set, slant, common, other):
            if note:
                add_note(columns, row, note)


def _samples_notes(outcomes: Outcomes) -> list[dict[str, str]]:
    """Say how samples and clusters are counted, for each attribute of each answer set."""
    benchmark = outcomes.benchmark
    shared = ""
    if benchmark.cluster is not None:
        shared = f"the independent units are {benchmark.words.clusters} ({benchmark.cluster})"
    # The least and the largest number of an item.
    found: list[dict[str, tuple[int, int]]] = [{} for _ in outcomes.grid.units.index]
    for name, own in outcomes.groups.items():
        units, starts = np.unique(own.grid.unit, return_index=True)
        ends = (side.reduceat(own.samples, starts).tolist() for side in (np.minimum, np.maximum))
        for unit, *both in zip(units.tolist(), *ends, strict=True):
            found[unit][name] = (both[0], both[1])
    pooled = {attribute.name for attribute, _ in pooled_pairs(benchmark)}
    notes: list[dict[str, str]] = []
    for numbers in found:
        if parts := [numbers[name] for name in numbers.keys() & pooled]:
            numbers[POOLED] = (min(least for least, _ in parts), max(most for _, most in parts))
        notes.append({})
        for name, (least, most) in numbers.items():
            uneven, note = least < most, ""
            if most > 1:
                note = (
                    f"{'up to ' * uneven}{most} samples per item, every answer of one group with "
                    "every answer of the other"
                    f"{', weighted to give all answers the same weight' * uneven}"
                    f"{'; items are the independent units' * (not shared)}"
                )
            notes[-1][name] = "; ".join(filter(None, [note, shared]))
    return notes


def _snapshots(opened: OpenAnswers) -> dict[tuple[str, ...], str]:
    """Return the snapshots of each answer set that has any, joined."""
    if "snapshot" not in opened.cells:
        return {}
    rows = opened.cells[[*UNIT_COLUMNS, "snapshot"]].dropna().drop_duplicates()
    found: dict[tuple[str, ...], list[str]] = {}
    for *unit, snapshot in rows.itertuples(index=False, name=None):
        found.setdefault(tuple(unit), []).append(snapshot)
    return {unit: ", ".join(sorted(names)) for unit, names in found.items()}


def _without_pairs(outcomes: Outcomes) -> dict[int, list[str]]:
    """Say which pooled pairs of each answer set have no item with both answers."""
    found: dict[int, list[str]] = {}
    complete = outcomes.patterns[:, ~INCOMPLETE].sum(axis=1)
    labels = {
        (attribute.name, *pair): f"{attribute.label}, {attribute.pair_label(pair)}"
        for attribute, pair in pooled_pairs(outcomes.benchmark)
    }
    for place in np.flatnonzero(complete == 0).tolist():
        key = tuple(getattr(outcomes, n)[place] for n in ("attribute", "group_a", "group_b"))
        if key in labels:
            text = f"{labels[key]} has no such pair, so it is not included"
            found.setdefault(int(outcomes.unit[place]), []).append(text)
    return found


def _in_order(columns: Rows, judged: Judgements) -> Rows:
    known = [pairs.outcomes.benchmark for pairs in judged.parts]
    attributes = {
        (benchmark.name, attribute): number
        for benchmark in known
        for number, attribute in enumerate([*benchmark.attributes, POOLED])
    }
    metrics = {name: number for number, name in enumerate(METRICS)}
    places = {
        (benchmark.name, attribute.name, group): place
        for benchmark in known
        for attribute in benchmark.attributes.values()
        for place, group in enumerate(attribute.groups)
    }

    def place_of(row: tuple[Any, ...]) -> tuple[Any, ...]:
        *unit, attribute, a, b, metric, test = row
        # Rows for a whole attribute come after its pairs.
        whole = a is None or metric == "interaction"
        sides = (places.get((unit[0], attribute, side), -1) for side in (a, b))
        number = attributes[unit[0], attribute]
        return (*unit, number, whole, *sides, metrics[metric], test is None, test or "")

    names = (*PAIR_COLUMNS, "metric", "test")
    rows = [place_of(row) for row in zip(*(columns[name] for name in names), strict=True)]
    order = sorted(range(len(rows)), key=rows.__getitem__)
    return {name: column[order] for name, column in columns.items()}
