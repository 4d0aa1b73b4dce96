"""The two answer sets of a comparison: their choice, and whether their questions are the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats.answers.engine_frames import UNIT_COLUMNS, OpenAnswers, distinct
from fairstats.benchmarks.declaration import Benchmark, MissingPolicy
from fairstats.estimates.same_variants import DIFFERENT, flips_of_set, is_declared, same_flips


def answers_of_one(
    answers: pd.DataFrame,
    side: str,
    model: str,
    strategy: str,
    benchmark_version: str | None = None,
) -> pd.DataFrame:
    """Select the answers of one model with one strategy, and of one benchmark version if named.

    `side` is their name in a problem: ``"old"`` or ``"new"``.

    Raises
    ------
    InputError
        If there are none; the message lists the available models, strategies or versions.
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
                [
                    Problem(
                        f"<{side}>", "there are no such answers", remedy, column=column, value=value
                    )
                ]
            )
    return own


def only_unit(frame: Any, side: str) -> dict[str, str]:
    """Return the keys of the only answer set of a frame; refuse several."""
    units = distinct(frame, list(UNIT_COLUMNS)).astype(str).sort_values(list(UNIT_COLUMNS))
    if len(units) > 1:
        several = [column for column in UNIT_COLUMNS if units[column].nunique() > 1]
        message = "each side must be one model, strategy and benchmark version"
        raise InputError(
            [
                Problem(
                    f"<{side}>",
                    message,
                    f"filter the answers first, or choose one (--{side}-version)",
                    column=column,
                    value=", ".join(units[column].unique()[:5]),
                )
                for column in several
            ]
        )
    return {str(name): value for name, value in units.iloc[0].items()}


def different_questions(units: Mapping[str, Mapping[str, str]], allowed: bool) -> str:
    """Refuse answers to different questions, or return a note on the difference."""
    old, new = units["old"], units["new"]
    if old["benchmark"] != new["benchmark"]:
        value = f"{old['benchmark']} and {new['benchmark']}"
        remedy = "compare answers to the same benchmark"
        raise InputError(
            [Problem("<new>", "different benchmarks", remedy, column="benchmark", value=value)]
        )
    if old["benchmark_version"] == new["benchmark_version"]:
        return ""
    value = f"{old['benchmark_version']} and {new['benchmark_version']}"
    if not allowed:
        raise InputError(
            [
                Problem(
                    "<new>",
                    "the two versions of the benchmark have different questions",
                    "compare answers to the same version, or set allow_different_items=True "
                    "(--allow-different-items)",
                    column="benchmark_version",
                    value=value,
                )
            ]
        )
    return f"different questions: benchmark versions {value}"


def different_items(
    patterns: Mapping[str, pd.DataFrame], units: Mapping[str, Mapping[str, str]], allowed: bool
) -> str:
    """Refuse answers to different items, or return a note on the difference."""
    items = {
        side: set(table[["attribute", "item_id"]].itertuples(index=False, name=None))
        for side, table in patterns.items()
    }
    alone = {side: items[side] - items[other] for side, other in (("old", "new"), ("new", "old"))}
    counts = {side: len({item for _, item in own}) for side, own in alone.items()}
    if not any(counts.values()):
        return ""
    found = f"{counts['old']} items only for {units['old']['model']}, {counts['new']} only for "
    found += f"{units['new']['model']}"
    if not allowed:
        examples = sorted({item for own in alone.values() for _, item in own})[:3]
        raise InputError(
            [
                Problem(
                    "<new>",
                    f"the models answered different items: {found}",
                    "keep only the shared items, or set allow_different_items=True "
                    "(--allow-different-items)",
                    column="item_id",
                    value=", ".join(examples),
                )
            ]
        )
    return f"different items: {found}"


def shown_by_flips(
    sides: Mapping[str, OpenAnswers],
    units: Mapping[str, Mapping[str, str]],
    benchmark: Benchmark,
    policy: MissingPolicy,
    alpha: float,
) -> str:
    """Return a sentence on what the flips show about the versions, or an empty text.

    Flips are judged for one declared version too, but reported only if they contradict it. They are
    not judged if the benchmark declares no ``same_variants_odds_ratio``.
    """
    versions = [units[side]["benchmark_version"] for side in ("old", "new")]
    undeclared = [v for v in dict.fromkeys(versions) if not is_declared(v, benchmark)]
    smallest = benchmark.same_variants_odds_ratio
    if smallest is None:
        return f"{benchmark.name} does not declare {', '.join(undeclared)}" if undeclared else ""
    old, new = (flips_of_set(sides[side], benchmark, policy) for side in ("old", "new"))
    found = same_flips(old, new, smallest_same=smallest, alpha=alpha)
    if versions[0] == versions[1] and not undeclared:
        if found.verdict != DIFFERENT:
            return ""
        return f"the same version is declared; judged by changes of answer: {found.sentence()}"
    declared = f"{benchmark.name} does not declare {', '.join(undeclared)}; " if undeclared else ""
    return f"{declared}judged by changes of answer: {found.sentence()}"


def why_no_verdict(questions: str, flips: str) -> str:
    """Return why a comparison gets no verdict; empty if it can get one."""
    if questions:
        return "the questions are different"
    return "the changes of answer contradict the declared version" if DIFFERENT in flips else ""


def joined_values(units: Mapping[str, Mapping[str, str]], column: str) -> str:
    """Return a value of both sides, once if it is the same."""
    return " → ".join(dict.fromkeys([units["old"][column], units["new"][column]]))
