"""Continuous checks: whether answers keep limits, whatever their missing answers are."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from fairstats._lib.formatting import level
from fairstats._lib.problems import InputError, Problem, keyword, parameter, printable
from fairstats._lib.result_objects import FloatArray
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.answers.engine_frames import open_answers
from fairstats.benchmarks.declaration import BASELINE, Attribute, Benchmark, MissingPolicy
from fairstats.counts.outcomes import Outcomes, outcomes_of
from fairstats.counts.patterns import PAIR_COLUMNS, CountingPolicy
from fairstats.estimates.eligibility import why_unranked
from fairstats.estimates.judgements import Judgements, judge
from fairstats.estimates.tested_pairs import pair_bounds
from fairstats.inference.verdict import EQUIVALENT
from fairstats.metrics.accuracy import absolute_interval
from fairstats.metrics.cfr import cfr

PASS, FAIL, CANNOT_TELL = "pass", "fail", "cannot tell"
MAX_AD, EQUIVALENCE, MIN_CFR = "max_ad", "equivalent", "min_cfr"
#: Columns of the table from `gate`, in order.
GATE_COLUMNS = (
    *PAIR_COLUMNS,
    "check",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "lowest",
    "highest",
    "limit",
    "result",
    "reason",
)
#: Columns of the figures of a pair.
FIGURES = ("estimate", "ci_low", "ci_high", "lowest", "highest")


@dataclass(frozen=True)
class Limits:
    """The limits to check; at least one.

    Attributes
    ----------
    max_ad : float or None
        AD must be below it in every pair, a proportion in (0, 1).
    equivalent : bool
        Whether AD must be below the benchmark's equivalence margin in every pair.
    margin : float or None
        A margin that replaces the benchmark's.
    min_cfr : float or None
        CFR must be above it in every pair, a proportion in (0, 1).
    """

    max_ad: float | None = None
    equivalent: bool = False
    margin: float | None = None
    min_cfr: float | None = None

    def problems(self) -> list[Problem]:
        """Return what is wrong with the limits."""
        found = [
            Problem(parameter(name), f"{value} is not between 0 and 1", "write 5 points as 0.05")
            for name, value in (
                ("max_ad", self.max_ad),
                ("min_cfr", self.min_cfr),
                ("margin", self.margin),
            )
            if value is not None and not 0 < value < 1
        ]
        equivalent = keyword("equivalent", True)
        if self.margin is not None and not self.equivalent:
            message, remedy = f"is used only by {equivalent}", f"add {equivalent}"
            found.append(Problem(parameter("margin"), message, remedy))
        if self.max_ad is None and self.min_cfr is None and not self.equivalent:
            remedy = f"give {keyword('max_ad')}, {equivalent} or {keyword('min_cfr')}"
            found.append(Problem("gate", "there is no limit to check", remedy))
        return found

    def largest_ad(self, benchmark: Benchmark) -> Iterator[tuple[str, float]]:
        """Return the checks of AD, each with its limit."""
        if self.max_ad is not None:
            yield MAX_AD, self.max_ad
        if self.equivalent:
            margin = self.margin
            yield EQUIVALENCE, benchmark.equivalence_margin if margin is None else margin

    def smallest_cfr(self) -> Iterator[tuple[str, float]]:
        """Return the check of CFR, with its limit."""
        if self.min_cfr is not None:
            yield MIN_CFR, self.min_cfr


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
        Additional benchmarks, or replacements for built-in ones.

    Returns
    -------
    pandas.DataFrame
        `GATE_COLUMNS`, one row per check of each answer set and declared pair. ``estimate`` and the
        limits of its 1 − 2 alpha interval are AD or CFR. ``lowest`` and ``highest`` are the
        interval's outermost limits over all completions of the missing answers. ``result`` is
        "pass", "fail" or "cannot tell", with the ``reason`` if it is not "pass".

    Raises
    ------
    InputError
        For limits that cannot be checked, or answers that do not match the benchmark's declaration:
        an unknown item or group, or a different answer key.

    Notes
    -----
    A pass is a conclusion, not the absence of evidence. AD passes if the verdict with the limit as
    margin is "equivalent" (`fairstats.analyze`), so two one-sided tests reject at level alpha for
    every completion of the missing answers. CFR passes if the lower limit of the one-sided interval
    is above its limit, with every missing answer counted as a changed one. Items of the benchmark
    that were not asked count as missing. Pairs that were not asked, and models that a leaderboard
    would not rank (`fairstats.estimates.eligibility`), never pass.

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
    >>> gate(right, Limits(max_ad=0.2))["result"].unique().tolist()
    ['pass']
    >>> gate(right, Limits(max_ad=0.05))["reason"].iloc[0]
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
    if problems:
        raise InputError(problems)
    counted = outcomes_of(open_answers(answers, benchmarks))
    tables = [
        _of_benchmark(counted[name], limits, attributes, missing, alpha) for name in sorted(counted)
    ]
    return pd.concat(tables, ignore_index=True)[list(GATE_COLUMNS)]


def only_to(answers: pd.DataFrame, benchmarks: Iterable[Benchmark]) -> None:
    """Refuse answers to other benchmarks, which could be easier."""
    names = [benchmark.name for benchmark in benchmarks]
    others = sorted(set(answers["benchmark"].dropna()).difference(names))
    if others:
        message, remedy = "are answers to other benchmarks", f"give answers to {', '.join(names)}"
        raise InputError([Problem("<answers>", message, remedy, value=", ".join(others[:5]))])


def gate_lines(table: pd.DataFrame) -> list[str]:
    """Return one line per row of the table from `gate`.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain",
    ...            attribute="race", group_a="white", group_b="black", check="max_ad",
    ...            estimate=0.01, ci_low=0.0, ci_high=0.03, ci_level=0.9, lowest=0.0, highest=0.04,
    ...            limit=0.05, result="pass", reason=None)
    >>> print(*gate_lines(pd.DataFrame([row])))  # doctest: +NORMALIZE_WHITESPACE
    pass: m, plain (demo, 1): race, white − black: AD 1.0 points, 90% interval 0.0 to 3.0,
    0.0 to 4.0 with missing answers; limit: below 5.0
    """
    return [printable(_line(row)) for row in table.to_dict("records")]


def _line(row: Mapping[Hashable, Any]) -> str:
    where = f"{row['model']}, {row['strategy']} ({row['benchmark']}, {row['benchmark_version']})"
    pair = f"{row['attribute']}, {row['group_a']} − {row['group_b']}"
    numbers = {name: f"{100 * row[name]:.1f}" for name in (*FIGURES, "limit")}
    is_cfr = row["check"] == MIN_CFR
    name, unit = ("CFR", "%") if is_cfr else ("AD", " points")
    shown = f"{name} not known"
    if not math.isnan(row["estimate"]):
        shown = f"{name} {numbers['estimate']}{unit}, {level(1 - row['ci_level'])} interval "
        shown += f"{numbers['ci_low']} to {numbers['ci_high']}"
        if (row["lowest"], row["highest"]) != (row["ci_low"], row["ci_high"]):
            shown += f", {numbers['lowest']} to {numbers['highest']} with missing answers"
    limit = f"limit: {'above' if is_cfr else 'below'} {numbers['limit']}"
    # A missing text is NaN if other rows have one.
    reason = f"; {row['reason']}" if isinstance(row["reason"], str) else ""
    return f"{row['result']}: {where}: {pair}: {shown}; {limit}{reason}"


def _of_benchmark(
    outcomes: Outcomes,
    limits: Limits,
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
    keys = zip(outcomes.unit, outcomes.attribute, outcomes.group_a, outcomes.group_b, strict=True)
    places = {key: place for place, key in enumerate(keys)}
    pairs = [(one.name, *pair) for one in wanted for pair in one.pairs]
    rows: list[dict[str, Any]] = []
    for check, limit in (*limits.largest_ad(benchmark), *limits.smallest_cfr()):
        is_cfr = check == MIN_CFR
        margin = judged.margin if is_cfr else np.full(len(outcomes), limit)
        verdicts, reasons = replace(judged, margin=margin).published
        figures = _cfr_figures(judged) if is_cfr else _ad_figures(judged)
        for unit, keys_of_unit in enumerate(outcomes.grid.units.to_dict("records")):
            for pair in pairs:
                own = dict(zip(("attribute", "group_a", "group_b"), pair, strict=True))
                row = keys_of_unit | own | {"check": check, "limit": limit}
                place = places.get((unit, *pair))
                if place is None:
                    reason = "a declared pair has no answers; ask every group, or choose with "
                    row |= dict.fromkeys(FIGURES, math.nan)
                    row |= {"result": CANNOT_TELL, "reason": reason + keyword("attributes")}
                else:
                    row |= {name: float(column[place]) for name, column in figures.items()}
                    # There is no verdict if the groups were not asked the same, or the model took
                    # part in selecting the items.
                    verdict = None if ineligible[unit] else verdicts[place]
                    reason = ineligible[unit] or reasons[place]
                    items = int(judged.completions.items[place])
                    row |= _result(row, verdict, reason, items, alpha)
                rows.append(row | {"ci_level": 1 - 2 * alpha})
    return pd.DataFrame(rows)


def _ad_figures(judged: Judgements) -> dict[str, FloatArray]:
    """Return AD with its 1 − 2 alpha interval, and the outermost limits over all completions."""
    inner = absolute_interval(*judged.inner)
    outer = absolute_interval(*judged.widened(judged.inner))
    found = (np.abs(judged.outer.estimate), *inner, *outer)
    return dict(zip(FIGURES, found, strict=True))


def _cfr_figures(judged: Judgements) -> dict[str, FloatArray]:
    """Return CFR as `_ad_figures` does; items that were not asked count as missing."""
    (pairs,) = judged.parts
    level_, effect = 2 * judged.alpha, pairs.effects["cfr"]
    same = cfr(pairs.paired.same, pairs.paired.n, alpha=level_, design_effect=effect)
    whole = pairs.outcomes.with_unasked
    n = whole.sum(axis=1)
    # The lower limit if every missing answer is a changed one, and the upper if none is.
    worst, best = (
        cfr(
            np.rint(np.nan_to_num(share) * n).astype(np.int64),
            n,
            alpha=level_,
            design_effect=effect,
        )
        for share in pair_bounds(whole)["cfr"]
    )
    lowest, highest = np.fmin(same.ci_low, worst.ci_low), np.fmax(same.ci_high, best.ci_high)
    found = (same.estimate, same.ci_low, same.ci_high, lowest, highest)
    return dict(zip(FIGURES, found, strict=True))


def _attributes(benchmark: Benchmark, names: Collection[str]) -> list[Attribute]:
    """Return the attributes to check."""
    declared = {one.name: one for one in benchmark.varied}
    problems = [
        Problem(parameter("attributes"), f"is not varied by {benchmark.name}", remedy, value=name)
        for remedy in [f"use one of {', '.join(declared)}"]
        for name in names
        if name not in declared
    ]
    if problems:
        raise InputError(problems)
    return [one for one in declared.values() if one.name in (names or declared)]


def _result(
    row: Mapping[str, Any], verdict: str | None, reason: str | None, items: int, alpha: float
) -> dict[str, Any]:
    """Return the result and reason of one check of a pair."""
    above, below = row["lowest"] > row["limit"], row["highest"] < row["limit"]
    kept, broken = (above, below) if row["check"] == MIN_CFR else (below, above)
    if verdict is None:
        return {"result": CANNOT_TELL, "reason": reason}
    if kept and (row["check"] == MIN_CFR or verdict == EQUIVALENT):
        return {"result": PASS, "reason": None}
    if kept:
        # The model guesses in an attribute that is not checked here.
        return {"result": CANNOT_TELL, "reason": reason}
    if broken:
        reason = f"the whole {level(2 * alpha)} interval is beyond the limit"
        return {"result": FAIL, "reason": reason}
    return {"result": CANNOT_TELL, "reason": _needed(row, items, reason)}


def _needed(row: Mapping[str, Any], items: int, reason: str | None) -> str:
    """Say what stopped a check that can neither pass nor fail, and what it needs."""
    is_cfr, limit, estimate = row["check"] == MIN_CFR, row["limit"], row["estimate"]
    gap = estimate - limit if is_cfr else limit - estimate
    end, inner = ("lowest", "ci_low") if is_cfr else ("highest", "ci_high")
    reached, unit = row[inner], "%" if is_cfr else " points"
    if gap <= 0:
        return "the figure is beyond the limit, but its interval is not"
    alone = reached > limit if is_cfr else reached < limit
    if alone:
        text = (
            f"missing answers could take it to {100 * row[end]:.1f}{unit}; it needs those answers"
        )
        return f"{text} ({reason})" if reason else text
    needed = math.ceil(items * (abs(reached - estimate) / gap) ** 2)
    return (
        f"the interval reaches {100 * reached:.1f}{unit}; at this figure it needs at most about "
        f"{needed:,} items"
    )
