"""Continuous checks: whether answers keep limits, whatever their missing answers are."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.formatting import level, listed, quoted
from fairstats._lib.problems import (
    InputError,
    Problem,
    input_error,
    keyword,
    parameter,
    printable,
    refuse,
)
from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.answers.engine_frames import UNIT_COLUMNS, OpenAnswers, open_answers
from fairstats.answers.strategies import vote_problems
from fairstats.benchmarks.declaration import BASELINE, Attribute, Benchmark, MissingPolicy
from fairstats.benchmarks.loading import load_benchmarks
from fairstats.counts.outcomes import EXTREMES, Outcomes, Texts, count_grid, outcomes_of
from fairstats.counts.patterns import PAIR_COLUMNS, CountingPolicy
from fairstats.counts.settings import BESIDES
from fairstats.estimates.analyze import estimates_of
from fairstats.estimates.cautions import cautions
from fairstats.estimates.eligibility import why_unranked
from fairstats.estimates.judgements import Judgements, judge
from fairstats.estimates.limits import Check, Limits
from fairstats.estimates.reading import why_not_read
from fairstats.estimates.tested_pairs import numbers_of, pairs_of
from fairstats.inference.verdict import EQUIVALENT, ROOM, rare_share, with_room
from fairstats.metrics.accuracy_ratio import ratio_of
from fairstats.metrics.metric import (
    GroupsMetric,
    KeyMetric,
    Metric,
    NumberMetric,
    Numbers,
    PairMetric,
    Pairs,
)
from fairstats.metrics.missing_difference import MISSING_DIFFERENCE
from fairstats.metrics.registry import METRICS
from fairstats.metrics.standardized import STANDARDIZED_DIFFERENCE, standard_spans

PASS, FAIL, CANNOT_TELL = "pass", "fail", "cannot tell"
#: Columns of the table from `gate`, in order.
GATE_COLUMNS = (
    *PAIR_COLUMNS,
    "check",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "has_room",
    "lowest",
    "highest",
    "limit",
    "result",
    "reason",
)
#: Items that are left out, or given twice under other names, could make a model pass.
_UNLISTED = (
    "the benchmark does not list its items, so left out or copied ones are not found; add "
    "keys_file, which `fairstats benchmark init` writes"
)
#: Figures of a pair; the limits ``bare_low`` and ``bare_high`` leave no room for rare units.
FIGURES = ("estimate", "bare_low", "bare_high", "ci_low", "ci_high", "lowest", "highest")
_UNKNOWN = dict.fromkeys(FIGURES, math.nan) | {"has_room": False}


def gate(
    answers: pd.DataFrame,
    limits: Limits,
    *,
    attributes: Collection[str] = (),
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Check that every declared pair of groups keeps the limits.

    Parameters
    ----------
    answers : pandas.DataFrame
        Answers, of one or more models.
    limits : Limits
        The limits.
    attributes : collection of str
        The attributes to check (default: every attribute that the benchmark declares).
    missing : {"available", "complete", "incorrect"}, optional
        The policy for missing answers (default: the benchmark's).
    alpha : float
        The level of each check: the probability that a pair beyond the limit passes.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.

    Returns
    -------
    pandas.DataFrame
        `GATE_COLUMNS`, one row per check of each answer set and declared pair; for a metric of a
        whole attribute, one row per attribute. ``estimate`` and the limits of its 1 − 2 alpha
        interval are those of what is limited, e.g. the absolute difference. ``lowest`` and
        ``highest`` are the interval's outermost limits over all completions of the missing answers;
        NaN if they are not known. ``has_room`` says whether the limits leave room for rare
        differences (`fairstats.inference.verdict.with_room`). ``result`` is "pass", "fail" or
        "cannot tell", with the ``reason`` if it is not "pass", or a caution
        (`fairstats.estimates.cautions`).

    Raises
    ------
    InputError
        For limits that cannot be checked, majority votes, or answers that do not match the
        benchmark's declaration: an unknown item or group, or a different answer key.

    Notes
    -----
    A pass is a conclusion, not the absence of evidence. The difference between groups passes if the
    verdict with the limit as margin is "equivalent" (`fairstats.analyze`), so two one-sided tests
    reject at level alpha for every completion of the missing answers. CFR passes if the lower limit
    of the one-sided interval is above its limit, with every missing answer counted as a changed
    one. If an independent unit has several answers, limits leave room for rare units that these do
    not show: many samples of few items are still few items. Other metrics of pairs pass if the 1 −
    2 alpha intervals of the given answers and of their extreme completions do. For metrics whose
    extreme completions are not known, such as those of whole attributes or with a key, no pair with
    missing answers passes. Items of the benchmark that were not asked count as missing. Pairs that
    were not asked, models that a leaderboard would not rank (`fairstats.estimates.eligibility`),
    and benchmarks that do not list their items never pass.

    The gate as a whole passes only if all checks do (an intersection-union test). So its level is
    alpha without an adjustment for the number of pairs and limits. Each of several models is a
    separate claim: if many are gated, some may pass by chance. "Fail" means that the interval is
    beyond the limit for every completion; it is not adjusted either.

    References
    ----------
    Berger (1982), Technometrics 24:295-300; Schuirmann (1987), Journal of Pharmacokinetics and
    Biopharmaceutics 15:657-680.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> demo = load_benchmark("demo")
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0)
    >>> right = pd.DataFrame(
    ...     [row | dict(item_id=item, attribute=attribute, group=group, answer=key, answer_key=key)
    ...      for item, key in demo.answer_keys.items() for attribute, group in demo.variants])
    >>> gate(right, Limits(largest={"ad": 0.2}))["result"].unique().tolist()
    ['pass']
    >>> gate(right, Limits(largest={"ad": 0.05}))["reason"].iloc[0]
    'the interval reaches 10.1 points; at this figure it needs at most about 99 items'
    """
    problems = limits.problems()
    if not 0 < alpha < 0.25:
        remedy = "give a number above 0 and below 0.25, e.g. 0.05"
        problems.append(Problem(parameter("alpha"), f"{alpha} is out of range", remedy))
    if answers.empty:
        problems.append(Problem("<answers>", "contain no answers", "give answers to check"))
    if missing == "bounds":
        remedy = "choose another policy; every check covers all completions of missing answers"
        problems.append(Problem(parameter("missing"), "bounds gives no interval", remedy))
    if not problems:
        # Variants without a row are no reason to stop; their pairs cannot pass.
        found = validate_answers(answers, benchmarks=benchmarks, path="<answers>")
        problems = [problem for problem in found if problem.row is not None]
        remedy = "give the answers that were voted on"
        problems += vote_problems(answers, "<answers>", remedy)
    refuse(problems)
    opened = open_answers(answers, benchmarks)
    counted = outcomes_of(opened)
    checks = {name: limits.checks(counted[name].benchmark) for name in sorted(counted)}
    tables = [
        _of_benchmark(opened, counted[name], own, attributes, missing, alpha)
        for name, own in checks.items()
    ]
    return pd.concat(tables, ignore_index=True)[list(GATE_COLUMNS)]


def only_to(answers: pd.DataFrame, benchmarks: Iterable[Benchmark]) -> None:
    """Refuse answers to other benchmarks, which could be easier."""
    names = [benchmark.name for benchmark in benchmarks]
    others = sorted(set(answers["benchmark"].dropna()).difference(names))
    if others:
        message, remedy = "are answers to other benchmarks", f"give answers to {', '.join(names)}"
        raise input_error("<answers>", message, remedy, value=", ".join(others[:5]))


def gate_lines(
    table: pd.DataFrame, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> list[str]:
    """Return one line per row of the table from `gate`, then one on their intervals.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain",
    ...            attribute="race", group_a="white", group_b="black", check="max_ad",
    ...            estimate=0.01, ci_low=0.0, ci_high=0.03, ci_level=0.9, has_room=False,
    ...            lowest=0.0, highest=0.04, limit=0.05, result="pass", reason=None)
    >>> print(*gate_lines(pd.DataFrame([row])))  # doctest: +NORMALIZE_WHITESPACE
    pass: “m”, “plain” (demo, 1): race, white − black: AD 1.0 points (0.0 to 4.0); limit: below 5.0
    in brackets: 90% intervals, for every completion of the missing answers
    """
    known = load_benchmarks(table["benchmark"].unique(), benchmarks)
    lines = [_line(row, known[row["benchmark"]]) for row in table.to_dict("records")]
    about = f"in brackets: {level(1 - table['ci_level'].iloc[0])} intervals"
    about += ROOM * bool(table["has_room"].any())
    if table["highest"].notna().any():
        about += ", for every completion of the missing answers"
    return [printable(line) for line in (*lines, about)]


def _line(row: Mapping[Hashable, Any], benchmark: Benchmark) -> str:
    side, _, metric = row["check"].partition("_")
    metric = metric or benchmark.kind.difference
    check = Check(row["check"], metric, side != "min", row["limit"], benchmark)
    own = quoted(row["model"], row["strategy"])
    where = f"{own} ({row['benchmark']}, {row['benchmark_version']})"
    has_pair = isinstance(row["group_a"], str)
    pair = row["attribute"] + (f", {row['group_a']} − {row['group_b']}" if has_pair else "")
    name = check.label(*((row["group_a"], row["group_b"]) if has_pair else (None, None)))
    shown = f"{name} not known"
    if not math.isnan(row["estimate"]):
        given = math.isnan(row["highest"])
        ends = ("ci_low", "ci_high") if given else ("lowest", "highest")
        reach = " to ".join(check.shown(row[end]) for end in ends)
        reach += " without missing answers" * given
        shown = f"{name} {check.shown(row['estimate'], unit=True)} ({reach})"
    limit = f"limit: {'below' if check.is_largest else 'above'} {check.shown(row['limit'])}"
    # A missing text is NaN if other rows have one.
    reason = f"; {row['reason']}" if isinstance(row["reason"], str) else ""
    return f"{row['result']}: {where}: {pair}: {shown}; {limit}{reason}"


def _of_benchmark(
    opened: OpenAnswers,
    outcomes: Outcomes,
    checks: Sequence[Check],
    attributes: Collection[str],
    missing: MissingPolicy | None,
    alpha: float,
) -> pd.DataFrame:
    """Check the answers to one benchmark."""
    benchmark = outcomes.benchmark
    policy = missing or benchmark.missing
    # Its verdicts come from another policy; every check covers the bounds in any case.
    counting: CountingPolicy = "available" if policy == "bounds" else policy
    wanted = _attributes(benchmark, attributes)
    judged = judge([outcomes], counting, alpha)
    ineligible = why_unranked(outcomes, attributes=[BASELINE, *(one.name for one in wanted)])
    careful, unread = outcomes.once(cautions), outcomes.once(why_not_read)
    keys = zip(outcomes.unit, outcomes.attribute, outcomes.group_a, outcomes.group_b, strict=True)
    places = {key: place for place, key in enumerate(keys)}
    rows: list[dict[str, Any]] = []
    for check in checks:
        margin = np.full(len(outcomes), check.limit) if check.judged else judged.margin
        published = replace(judged, margin=margin).published
        figures = _figures(check, judged, opened, counting)
        metric = METRICS.get(check.metric)
        of_groups = isinstance(metric, GroupsMetric)
        besides = metric.besides if isinstance(metric, GroupsMetric) else ""
        for unit, keys_of_unit in enumerate(outcomes.grid.units.to_dict("records")):
            other = outcomes.grid.settings[unit].besides.get(besides, "")
            obstacle = str(ineligible[unit]) or other
            for one in wanted:
                # Of a figure of all groups and of their pairs, each pair must keep the limit.
                known = any((unit, one.name, *pair) in figures for pair in one.pairs)
                whole = of_groups and not known
                for pair in ((None, None),) if whole else one.pairs:
                    own = {"attribute": one.name, "group_a": pair[0], "group_b": pair[1]}
                    row = keys_of_unit | own | {"check": check.name, "limit": check.limit}
                    rests_on = one.pairs if whole else (pair,)
                    parts = [places.get((unit, one.name, *each)) for each in rests_on]
                    row |= figures.get((unit, one.name, *pair), _UNKNOWN)
                    unreads = [unread[place] for place in parts if place is not None]
                    why = obstacle or next(filter(None, unreads), "")
                    result, reason = _result(check, row, parts, why, published, judged)
                    if not benchmark.items and result == PASS:
                        result, reason = CANNOT_TELL, _UNLISTED
                    elif result == PASS and careful[unit]:
                        reason = str(careful[unit])
                    found = {"result": result, "reason": reason, "ci_level": 1 - 2 * alpha}
                    rows.append(row | found)
    return pd.DataFrame(rows)


def _result(
    check: Check,
    row: Mapping[str, Any],
    parts: Sequence[int | None],
    ineligible: str,
    published: tuple[Texts, Texts],
    judged: Judgements,
) -> tuple[str, str | None]:
    """Return the result and reason of a check that rests on the pairs at these places."""
    there = [place for place in parts if place is not None]
    if len(there) < len(parts):
        lacking = "a declared pair has no answers; ask every group, or choose with "
        return CANNOT_TELL, lacking + keyword("attributes")
    verdicts, reasons = published
    first = there[0]
    # There is no verdict if the groups were not asked the same, or the model took part in selecting
    # the items.
    without = [place for place in there if verdicts[place] is None]
    if ineligible or without:
        return CANNOT_TELL, ineligible or reasons[without[0]]
    above, below = row["lowest"] > check.limit, row["highest"] < check.limit
    kept, broken = (below, above) if check.is_largest else (above, below)
    never = next(filter(None, judged.never_equivalent[there]), "")
    if kept and not never and (not check.judged or verdicts[first] == EQUIVALENT):
        return PASS, None
    if kept:
        # The model guesses in an attribute that is not checked here, or items were not asked.
        return CANNOT_TELL, reasons[first] if check.judged else never
    if broken:
        return FAIL, f"the whole {level(2 * judged.alpha)} interval is beyond the limit"
    # Those of other checks are of the pair's verdict.
    of_pair = reasons[first] if check.judged and len(there) == 1 else None
    return CANNOT_TELL, _needed(check, row, judged, first, of_pair)


_MOST_NEEDED = 10**6


def _needed(
    check: Check, row: Mapping[str, Any], judged: Judgements, place: int, reason: str | None
) -> str:
    """Say what stopped a check that can neither pass nor fail, and what it needs."""
    estimate = row["estimate"]
    if math.isnan(estimate):
        metric = METRICS.get(check.metric)
        if isinstance(metric, GroupsMetric) and metric.besides:
            return f"the figure is not known; it needs answers to {BESIDES[metric.besides]}"
        return "the figure is not known"
    gap = check.limit - estimate if check.is_largest else estimate - check.limit
    ends = ("lowest", "ci_low", "ci_high", "highest")
    start, near, far, end = ends if check.is_largest else ends[::-1]
    reached = row[far]
    if math.isnan(reached):
        return "the figure has no interval for clustered answers"
    if gap <= 0:
        if not (row[near] > check.limit if check.is_largest else row[near] < check.limit):
            return "the figure is beyond the limit, but its interval is not"
        could = "how far missing answers could take it is not known"
        if not math.isnan(row[start]):
            could = f"missing answers could take it to {check.shown(row[start], unit=True)}"
        return f"the interval is beyond the limit, but {could}"
    alone = reached < check.limit if check.is_largest else reached > check.limit
    if alone and math.isnan(row[end]):
        return "how far missing answers could take it is not known; it needs those answers"
    if alone:
        worst = check.shown(row[end], unit=True)
        text = f"missing answers could take it to {worst}; it needs those answers"
        return f"{text} ({reason})" if reason else text
    outcomes, noun = judged.parts[0].outcomes, "items"
    items = int(judged.completions.items[place])
    if len(outcomes.grid.cluster):
        noun = outcomes.benchmark.words.clusters
        items = int(outcomes.units_with_pairs[place])
    bare = abs(row["bare_high" if check.is_largest else "bare_low"] - estimate)
    times = (bare / gap) ** 2
    if abs(reached - estimate) > bare:
        # Room for rare units shrinks with their number, and an interval with its root.
        share = float(rare_share(judged.parts[0].units[place], 2 * judged.alpha))
        times = max(times, (abs(reached - estimate) / gap - share) / (1 - share))
    needed = math.ceil(items * times)
    many = f"at most about {needed:,}" if needed <= _MOST_NEEDED else "more than a million"
    reach = check.shown(reached, unit=True)
    return f"the interval reaches {reach}; at this figure it needs {many} {noun}"


_Key = tuple[int, str, str | None, str | None]


def _figures(
    check: Check, judged: Judgements, opened: OpenAnswers, counting: CountingPolicy
) -> dict[_Key, dict[str, float]]:
    """Return `FIGURES` of what is limited, by answer set, attribute and groups."""
    (pairs,), outcomes = judged.parts, judged.parts[0].outcomes
    metric, level_ = METRICS.get(check.metric), 2 * judged.alpha
    kind = outcomes.benchmark.kind
    if metric is not None and kind.name not in metric.kinds:
        # With a key, decisions and levels have accuracies too.
        metric = None
    # A limit below which a difference of means must be is a margin, whatever it is called.
    if check.judged:
        outer = judged.widened(judged.inner)
        columns = _columns(check, judged.outer.estimate, judged.bare, judged.inner, outer)
    elif isinstance(metric, PairMetric):
        own = pairs_of(outcomes, counting, level_, pairs.tests)
        # Items that were not asked count as missing.
        completed = (
            pairs_of(outcomes.completed(extreme), "complete", level_, pairs.tests)
            for extreme in EXTREMES
        )
        columns = _extreme_columns(check, metric, own, completed)
        if metric is MISSING_DIFFERENCE:
            # Of items that were not asked, one group's answer could be missing.
            unknown = np.where(outcomes.unasked[0] > 0, np.nan, 0.0)
            columns |= {end: columns[end] + unknown for end in ("lowest", "highest")}
    elif isinstance(metric, NumberMetric) and metric.name not in _NOT_MONOTONE:
        numbers = Numbers(outcomes, counting, level_, pairs.tests)
        # Missing answers at the ends of the scale.
        filled = (
            replace(numbers, fill=(of_a, of_b))
            for of_a, of_b in product(outcomes.benchmark.limits, repeat=2)
        )
        columns = _extreme_columns(check, metric, numbers, filled)
    else:
        return _published(check, judged, opened, counting)
    # A ratio has no ends, but its groups' rates have; a mean has those of its scale.
    roomy = metric is not None and (
        isinstance(metric, NumberMetric) or metric.ends is not None or metric.name in _RATIOS
    )
    has_room = judged.clustered & (check.judged or roomy)
    keys = zip(outcomes.unit, outcomes.attribute, outcomes.group_a, outcomes.group_b, strict=True)
    rows = pd.DataFrame(columns | {"has_room": has_room}).to_dict("records")
    return dict(zip(keys, rows, strict=True))


_RATIOS = ("accuracy_ratio", "selection_ratio")
# Their extremes are not at the extreme completions.
_NOT_MONOTONE = ("weighted_kappa", "standardized_difference")


def _extreme_columns(
    check: Check, metric: PairMetric | NumberMetric, own: Pairs | Numbers, extremes: Iterable[Any]
) -> dict[str, FloatArray]:
    """Return `FIGURES` of a metric of pairs, from its own answers and each extreme completion."""
    estimate, *inner = _limits_of(metric, own)
    bare = inner
    if np.isfinite(own.units).any():
        _, *bare = _limits_of(metric, replace(own, room=False))
    lowest, highest = inner
    for one in extremes:
        _, other_low, other_high = _limits_of(metric, one)
        lowest, highest = np.fmin(lowest, other_low), np.fmax(highest, other_high)
    return _columns(check, estimate, bare, inner, (lowest, highest))


def _limits_of(
    metric: PairMetric | NumberMetric, own: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a metric's estimate and the limits of its interval; NaN for an interval it lacks."""
    found = ratio_of(own, own.units) if metric.name in _RATIOS else metric.compute(own)
    row = found.to_row() if isinstance(found, Estimate) else found
    size = len(own.outcomes)
    estimate, low, high = (
        np.broadcast_to(np.asarray(row[name], dtype=np.float64), size)
        for name in ("estimate", "ci_low", "ci_high")
    )
    if isinstance(metric, PairMetric) and metric.influence is None:
        low, high = (np.where(own.clustered, np.nan, side) for side in (low, high))
    room = {"units": own.units, "ends": _ends(metric, own), "alpha": own.alpha}
    return estimate, *with_room(estimate, low, high, **room)


def _ends(metric: Metric, own: Any) -> tuple[Any, Any] | None:
    """Return the lowest and highest value of a unit, on the scale of levels or scores if needed."""
    if metric.ends is not None or not isinstance(metric, NumberMetric):
        return metric.ends
    benchmark = own.outcomes.benchmark
    if metric.side:
        return benchmark.limits
    span = standard_spans(own) if metric is STANDARDIZED_DIFFERENCE else benchmark.span
    return -span, span


def _columns(
    check: Check,
    estimate: FloatArray,
    *intervals: Sequence[FloatArray],
) -> dict[str, FloatArray]:
    found = [check.turned(estimate, estimate)[0]]
    for low, high in intervals:
        found += check.turned(low, high)
    return dict(zip(FIGURES, found, strict=True))


def _published(
    check: Check, judged: Judgements, opened: OpenAnswers, counting: CountingPolicy
) -> dict[_Key, dict[str, float]]:
    """Return `FIGURES` from the estimates; with missing answers, the outermost limits are NaN."""
    part = judged.parts[0]
    outcomes = part.outcomes
    table = estimates_of(opened, judge([outcomes], counting, 2 * judged.alpha))
    table = table[(table["metric"] == check.metric) & table["ci_low"].notna()]
    if table.empty:
        raise InputError([_no_figure(check)])
    places = {unit: at for at, unit in enumerate(outcomes.grid.units.itertuples(index=False))}
    metric = METRICS[check.metric]
    own = _of_keys(metric, part) if isinstance(metric, KeyMetric) else part
    base = metric.base if isinstance(metric, KeyMetric) else metric
    lowest, highest = (
        np.broadcast_to(np.asarray(end, dtype=np.float64), own.units.shape)
        for end in _ends(base, own) or (np.nan, np.nan)
    )
    lacking = {
        name: _lacks_answers(outcomes, metric, name)
        for name in table["attribute"].unique()
        if isinstance(metric, GroupsMetric)
    }
    keys, room, is_open = [], [], []
    for row in table.to_dict("records"):
        unit = places[tuple(row[name] for name in UNIT_COLUMNS)]
        sides = (row["group_a"], row["group_b"])
        pair = [side if isinstance(side, str) else None for side in sides]
        keys.append((unit, row["attribute"], pair[0], pair[1]))
        here = _is_of(outcomes, keys[-1])
        keyed = _is_of(own.outcomes, keys[-1])
        fewest = own.units[keyed].min(initial=np.inf)
        least = np.fmin.reduce(lowest[keyed], initial=np.nan)
        room.append((fewest, least, np.fmax.reduce(highest[keyed], initial=np.nan)))
        is_open.append(
            lacking[row["attribute"]][unit] if lacking else judged.completions.is_open[here].any()
        )
    estimate, low, high = table[["estimate", "ci_low", "ci_high"]].to_numpy(dtype=np.float64).T
    units, *ends = np.array(room).T
    inner = with_room(estimate, low, high, units=units, ends=tuple(ends), alpha=2 * judged.alpha)
    outer = np.where(is_open, np.nan, inner[0]), np.where(is_open, np.nan, inner[1])
    has_room = np.isfinite(units) & np.isfinite(ends[0])
    columns = _columns(check, estimate, (low, high), inner, outer)
    rows = pd.DataFrame(columns | {"has_room": has_room})
    return dict(zip(keys, rows.to_dict("records"), strict=True))


def _of_keys(metric: KeyMetric, part: Pairs | Numbers) -> Pairs | Numbers:
    """Return the answers to the items with a key that such a metric is of."""
    derived = count_grid(metric.derive(part.outcomes.grid))
    make = numbers_of if isinstance(metric.base, NumberMetric) else pairs_of
    return make(derived, part.missing, part.alpha)


def _is_of(outcomes: Outcomes, key: _Key) -> npt.NDArray[np.bool_]:
    """Return which pairs a row of the table is of: one pair, or all of an attribute."""
    unit, attribute, group_a, group_b = key
    here = (outcomes.unit == unit) & (outcomes.attribute == attribute)
    if group_a is not None:
        here &= (outcomes.group_a == group_a) & (outcomes.group_b == group_b)
    return np.asarray(here)


def _lacks_answers(
    outcomes: Outcomes, metric: GroupsMetric, attribute: str
) -> npt.NDArray[np.bool_]:
    """Return which answer sets lack an answer that a figure of a whole attribute needs."""
    whole = outcomes.with_unasked
    # Samples that all items lack are seen only next to those for the groups.
    most = whole.groups[attribute].copies
    controls = [one.name for one in outcomes.benchmark.controls] * (metric.besides == "controls")
    found = np.zeros(len(outcomes.grid.units), dtype=bool)
    for name in (attribute, *controls):
        if name not in whole.groups:
            return np.ones_like(found)
        own = whole.groups[name]
        unit = own.grid.unit
        found[np.setdiff1d(np.arange(len(found)), unit)] = True
        lacking = own.missing.any(axis=1)
        lacking |= own.samples < np.maximum(own.copies, most)[unit]
        if metric.besides == "neutralized":
            lacking |= own.neutral[:, 2] > 0
            lacking |= own.neutral.sum(axis=1) < np.maximum(own.neutral_copies, most)[unit]
        np.logical_or.at(found, unit, lacking)
    return found


def _no_figure(check: Check) -> Problem:
    """Return why a check's metric is none of the benchmark's answers."""
    metric, kinds = METRICS[check.metric], METRICS[check.metric].kinds
    side, kind = "largest" if check.is_largest else "smallest", check.benchmark.kind
    # Commands have an option of its own for AD.
    option = parameter(check.name)
    where = f"{parameter(side)} {check.metric}" if option == check.name else option
    message = f"is no figure of the answers to {check.benchmark.name} with an interval"
    if kind.name not in kinds:
        others = listed([f"{one}s" for one in kinds])
        message = f"is for {others}, and {check.benchmark.name} has {kind.name}s"
    elif isinstance(metric, GroupsMetric) and metric.besides:
        message = f"is of answers to {BESIDES[metric.besides]}, and there are none"
    remedy = "use a metric of `fairstats analyze`"
    if check.is_largest:
        remedy = f"use {keyword(side, {kind.difference: 'LIMIT'})}"
    return Problem(where, message, remedy)


def _attributes(benchmark: Benchmark, names: Collection[str]) -> list[Attribute]:
    """Return the attributes to check."""
    declared = {one.name: one for one in benchmark.varied if one.pairs}
    message = f"has no pair of groups that {benchmark.name} compares"
    remedy = f"use one of {', '.join(declared)}"
    refuse(
        Problem(parameter("attributes"), message, remedy, value=name)
        for name in names
        if name not in declared
    )
    return [one for one in declared.values() if one.name in (names or declared)]
