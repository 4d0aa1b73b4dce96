"""Answers against the key, for decisions, levels and scores that have one.

Equalized odds (Hardt, Price & Srebro 2016, NeurIPS 29) compares the true and false positive rates
of the groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from fairstats.benchmarks.kinds import DECISION, SCORE
from fairstats.counts.grid import Grid
from fairstats.metrics.accuracy import ACCURACY_A, ACCURACY_B, ACCURACY_DIFFERENCE
from fairstats.metrics.mean_difference import SCORE_A, SCORE_B, SCORE_DIFFERENCE
from fairstats.metrics.metric import (
    DECISIONS,
    LEVELS,
    NUMERIC,
    KeyMetric,
    NumberMetric,
    PairMetric,
)


def _keyed(grid: Grid) -> Grid:
    return grid.rows(grid.key >= 0)


def right_or_wrong(grid: Grid) -> Grid:
    """Return answers of the items with a key as right (the favourable option) or wrong."""
    own = _keyed(grid)
    return _derived(own, own.right, ("wrong", "right"), "right")


def if_favourable(grid: Grid, favourable: bool) -> Grid:
    """Return the decisions on the items whose key is favourable, or is not."""
    good = np.isin(np.array(grid.options, dtype=object), grid.benchmark.favourable)
    own = _keyed(grid)
    return own.rows(good[own.key] == favourable)


def sides_of_key(grid: Grid, side: str) -> Grid:
    """Return answers as too high, too low, or neither; the asked-for side is favourable."""
    own = _keyed(grid)
    error = np.sign(_errors(own)).astype(np.int64) + 1
    places = np.where(own.answers < 0, own.answers, error)
    return _derived(own, places, ("too low", "exact", "too high"), side)


def errors(grid: Grid, absolute: bool) -> Grid:
    """Return answers minus keys as scores."""
    own = _keyed(grid)
    error = np.round(np.abs(_errors(own)) if absolute else _errors(own), 12) + 0.0
    there = own.answers >= 0
    values = np.unique(error[there])
    places = np.where(there, np.searchsorted(values, error), own.answers)
    span = own.benchmark.span
    benchmark = replace(
        own.benchmark,
        kind=SCORE,
        limits=(0.0 if absolute else -span, span),
        same_within=0.0,
        worse="highest",
        answer_keys=MappingProxyType({}),
    )
    options = tuple(f"{value!r}" for value in values.tolist())
    return replace(own, benchmark=benchmark, options=options, answers=places)


def _errors(own: Grid) -> npt.NDArray[np.float64]:
    """Return answer minus key, of missing answers as well."""
    found: npt.NDArray[np.float64] = (
        own.values[np.maximum(own.answers, 0)] - own.values[own.key][:, None, None]
    )
    return found


def _derived(
    own: Grid, places: npt.NDArray[np.signedinteger], options: tuple[str, ...], favourable: str
) -> Grid:
    benchmark = replace(
        own.benchmark,
        kind=DECISION,
        options=options,
        favourable=(favourable,),
        same_within=0.0,
        answer_keys=MappingProxyType({}),
    )
    return replace(own, benchmark=benchmark, options=options, answers=places)


Derive = Callable[[Grid], Grid]


def _of_both(
    name: str,
    label: str,
    definition: str,
    order: float,
    kinds: tuple[str, ...],
    derive: Derive,
    bases: tuple[PairMetric | NumberMetric, ...] = (ACCURACY_A, ACCURACY_B, ACCURACY_DIFFERENCE),
    *,
    ideal: float = 0,
    lowest: float | None = None,
) -> tuple[KeyMetric, ...]:
    """Return the metric of group a, that of group b and, if `bases` has one, their difference.

    Those of a group are `ideal` at that value and have that `lowest` one, by default that of their
    bases; a difference is ideal at 0.
    """
    named = [
        (f"{name}_a", f"{label}, {{a}}", "group a"),
        (f"{name}_b", f"{label}, {{b}}", "group b"),
        (f"{name}_difference", f"{label}, difference", "group a, minus that of group b"),
    ]
    return tuple(
        KeyMetric(
            name=one,
            label=text,
            definition=f"{definition} {of}.",
            interval=base.interval,
            order=order + place / 10,
            lowest=base.lowest if lowest is None or place == 2 else lowest,
            highest=base.highest,
            ideal=ideal if place < 2 else 0,
            kinds=kinds,
            base=base,
            derive=derive,
        )
        for place, ((one, text, of), base) in enumerate(zip(named, bases, strict=False))
    )


TPR_A, TPR_B, TPR_DIFFERENCE = _of_both(
    "true_positive_rate",
    "True positive rate",
    "Share of favourable decisions on the items whose key is favourable, for",
    240,
    DECISIONS,
    partial(if_favourable, favourable=True),
    ideal=1,
)
FPR_A, FPR_B, FPR_DIFFERENCE = _of_both(
    "false_positive_rate",
    "False positive rate",
    "Share of favourable decisions on the items whose key is not favourable, for",
    241,
    DECISIONS,
    partial(if_favourable, favourable=False),
)
# These have the names that they have for choices.
RIGHT_A, RIGHT_B = (
    KeyMetric(
        name=base.name,
        label=base.label,
        definition=base.definition,
        interval=base.interval,
        order=base.order,
        lowest=0,
        highest=1,
        ideal=1,
        kinds=(*DECISIONS, *LEVELS),
        base=base,
        derive=right_or_wrong,
    )
    for base in (ACCURACY_A, ACCURACY_B)
)
TOO_HIGH_A, TOO_HIGH_B, TOO_HIGH_DIFFERENCE = _of_both(
    "too_high",
    "Above the key",
    "Share of the answers that are above the key, for",
    243,
    LEVELS,
    partial(sides_of_key, side="too high"),
)
TOO_LOW_A, TOO_LOW_B, TOO_LOW_DIFFERENCE = _of_both(
    "too_low",
    "Below the key",
    "Share of the answers that are below the key, for",
    244,
    LEVELS,
    partial(sides_of_key, side="too low"),
)
SIGNED_A, SIGNED_B = _of_both(
    "signed_error",
    "Mean signed error",
    "Mean of answer minus key, for",
    245,
    NUMERIC,
    partial(errors, absolute=False),
    (SCORE_A, SCORE_B),
)
ABSOLUTE_A, ABSOLUTE_B, ABSOLUTE_DIFFERENCE = _of_both(
    "absolute_error",
    "Mean absolute error",
    "Mean of the absolute value of answer minus key, for",
    246,
    NUMERIC,
    partial(errors, absolute=True),
    (SCORE_A, SCORE_B, SCORE_DIFFERENCE),
    lowest=0,
)
