"""Verdicts on pairs, from adjusted p-values and intervals; when a verdict is withheld."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.formatting import level, point_range
from fairstats._lib.result_objects import FloatArray
from fairstats._lib.row_groups import row_keys, text_array
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import BASELINE, POOLED, Benchmark
from fairstats.counts.asked import Asked
from fairstats.counts.missing_policies import missing_per_group
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS
from fairstats.estimates.adjusted_pvalues import families
from fairstats.estimates.extreme_completions import completions
from fairstats.estimates.table import PRIMARY_TEST, Rows, add_note, is_mcnemar
from fairstats.inference.multiplicity import AdjustMethod
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE, verdict
from fairstats.metrics.accuracy import accuracy_difference
from fairstats.metrics.metric import Pairs

#: Why a model has no verdict on a benchmark.
SELECTED = "model took part in selecting the items"
#: A note on differences that were built into the texts.
SLANTED = "the texts were written to sway the model: not a rate of bias in practice"


def places_of_benchmarks(table: pd.DataFrame) -> dict[str, IntArray]:
    """Return the places of each benchmark's rows, by name."""
    names = text_array(table["benchmark"])
    return {name: np.flatnonzero(names == name) for name in dict.fromkeys(names)}


def add_verdicts(
    columns: Rows,
    counts: pd.DataFrame,
    known: Mapping[str, Benchmark],
    alpha: float,
    asked: Asked,
    pairs_of: Mapping[str, Pairs],
    adjust: AdjustMethod | Literal["max_t"] = "holm",
) -> None:
    """Add a verdict on the signed difference of each pair that can be judged, and notes.

    `pairs_of` holds the pairs of each benchmark by name, except under the policy ``bounds``.
    """
    selected_on = {name: known[name].selected_on for name in set(columns["benchmark"])}
    for place, (name, model) in enumerate(row_keys(columns, ("benchmark", "model"))):
        if model in selected_on[name]:
            add_note(columns, place, SELECTED)
    keys = row_keys(columns, PAIR_COLUMNS)
    tests = np.flatnonzero(is_mcnemar(columns, PRIMARY_TEST))
    p_adjusted = {keys[row]: columns["p_adjusted"][row] for row in tests}
    signed = columns["metric"] == "accuracy_difference"
    differences = signed & (columns["attribute"] != BASELINE)
    effects = {name: own.effects["accuracy_difference"] for name, own in pairs_of.items()}
    completed = completions_of(columns, counts, known, alpha, asked, effects, adjust)
    for name, places in places_of_benchmarks(counts).items():
        benchmark = known[name]
        here = np.flatnonzero(differences & (columns["benchmark"] == name))
        if name not in pairs_of:
            columns["verdict_reason"][here] = "the policy bounds gives ranges, not tests"
            continue
        rows = counts.take(places)
        pairs = row_keys(rows, PAIR_COLUMNS)
        difference = accuracy_difference(
            pairs_of[name].paired, alpha=2 * alpha, design_effect=effects[name]
        )
        found, reasons = judge(
            rows,
            [p_adjusted.get(pair, np.nan) for pair in pairs],
            (difference.ci_low, difference.ci_high),
            completed.take(places),
            asked=asked,
            margin=benchmark.equivalence_margin,
            alpha=alpha,
        )
        judgements = zip(found, reasons, _not_judged(rows, asked), strict=True)
        of_pair = dict(zip(pairs, judgements, strict=True))
        for row in here.tolist():
            judgement, reason, obstacle = of_pair[keys[row]]
            if not obstacle and columns["model"][row] in benchmark.selected_on:
                obstacle = SELECTED
            columns["verdict"][row] = None if obstacle else str(judgement)
            columns["verdict_reason"][row] = obstacle or str(reason) or None
            columns["margin"][row] = benchmark.equivalence_margin
            if benchmark.slanted:
                add_note(columns, row, SLANTED)


Limits = tuple[npt.ArrayLike, npt.ArrayLike]
IntArray = npt.NDArray[np.int64]
Texts = npt.NDArray[np.str_]
#: The columns of the completions that `robust_verdict` takes.
COMPLETED = ("inner_low", "inner_high", "p_highest")


def completions_of(
    estimates: pd.DataFrame | Rows,
    counts: pd.DataFrame,
    known: Mapping[str, Benchmark],
    alpha: float,
    asked: Asked,
    effects: Mapping[str, FloatArray],
    adjust: AdjustMethod | Literal["max_t"] = "holm",
) -> pd.DataFrame:
    """Apply `fairstats.estimates.extreme_completions.completions` to the pairs of estimates."""
    keys, p_values = row_keys(estimates, PAIR_COLUMNS), np.asarray(estimates["p_value"])
    tests = np.flatnonzero(is_mcnemar(estimates, PRIMARY_TEST))
    return completions(
        counts,
        {keys[row]: p_values[row] for row in tests},
        families(counts, known),
        known,
        asked,
        effects,
        alpha=alpha,
        adjust="holm" if adjust == "max_t" else adjust,
    )


def judge(
    counts: pd.DataFrame,
    p_adjusted: npt.ArrayLike,
    inner: Limits,
    completed: pd.DataFrame,
    *,
    asked: Asked,
    margin: float,
    alpha: float,
) -> tuple[Texts, Texts]:
    """Return the verdict on the difference of each pair, and the reason if it stays open.

    Parameters
    ----------
    counts : pandas.DataFrame
        The outcome counts of one benchmark's pairs, one row per unit and pair.
    p_adjusted : array_like of float
        The adjusted p-values of the test used for the verdict.
    inner : (array_like, array_like)
        The limits of the 1 − 2 alpha interval.
    completed : pandas.DataFrame
        Their rows of `fairstats.estimates.extreme_completions.completions`.
    asked : Asked
        The questions asked, with the units that answer no better than a guess.
    margin, alpha : float
        The margin and the level of the verdicts.

    Returns
    -------
    (ndarray of str, ndarray of str)
        Verdicts, see `fairstats.inference.verdict.verdict`, and reasons, empty if a verdict
        follows from the interval and the test alone.

    Notes
    -----
    No verdict may depend on missing answers. "Disparity" requires that the test rejects for every
    completion of the missing answers. "Equivalent" requires that the interval is inside the margin
    for every completion. These rules can leave a verdict open that the given answers, or some
    completion of the missing ones, would decide. In that case the reason is given.
    """
    p, (low, high) = np.asarray(p_adjusted, dtype=np.float64), map(np.asarray, inner)
    units = row_keys(counts, UNIT_COLUMNS)
    guessing = np.array([asked.guessing.get(unit, "") for unit in units], dtype=str)
    is_open = completed["open"].to_numpy(dtype=bool)
    limits = {name: completed[name].to_numpy() for name in COMPLETED}
    found = robust_verdict(p, low, high, **limits, is_open=is_open, margin=margin, alpha=alpha)
    alone = verdict(p, low, high, margin=margin, alpha=alpha)
    could_change = (found == INCONCLUSIVE) & is_open
    could_change &= (alone != INCONCLUSIVE) | (completed["p_lowest"].to_numpy() <= alpha)
    guesses = (found == EQUIVALENT) & (guessing != "")
    reasons = np.where(guesses, np.char.add("not called equivalent: ", guessing), "").tolist()
    places = np.flatnonzero(could_change)
    for place, row in zip(places, completed.take(places).itertuples(), strict=True):
        limits_ = np.fmin(low[place], row.inner_low), np.fmax(high[place], row.inner_high)
        reasons[place] = _could_change(row, alone[place], limits_, margin, alpha)
    return np.where(guesses, INCONCLUSIVE, found), np.array(reasons, dtype=str)


def robust_verdict(
    p_adjusted: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    *,
    inner_low: npt.ArrayLike,
    inner_high: npt.ArrayLike,
    p_highest: npt.ArrayLike,
    is_open: npt.ArrayLike,
    margin: npt.ArrayLike,
    alpha: float,
) -> Texts:
    """Return the verdict that holds for the answers and for every completion of missing ones.

    `low` and `high` are the limits of the 1 − 2 alpha interval. `COMPLETED` and `is_open` are
    columns of `fairstats.estimates.extreme_completions.completions`. All broadcast against each
    other.
    """
    found = verdict(
        p_adjusted, np.fmin(low, inner_low), np.fmax(high, inner_high), margin=margin, alpha=alpha
    )
    uncertain = np.asarray(is_open) & (np.asarray(p_highest) > alpha)
    return np.where((found == DISPARITY) & uncertain, INCONCLUSIVE, found)


def _could_change(
    row: Any, alone: str, limits: tuple[float, float], margin: float, alpha: float
) -> str:
    """Say how missing answers could change the verdict that the given ones lead to."""
    subject = "missing answers"
    if row.unasked:
        subject = f"{row.unasked} of {row.items} items that were not asked"
    if alone == EQUIVALENT:
        reach = f"the {level(2 * alpha)} interval could reach {point_range(*limits)} points"
        how = f"{reach}, and the margin is ±{100 * margin:g}"
    else:
        how = f"the difference could be {point_range(row.lowest, row.highest)} points"
    if alone == DISPARITY:
        how += f", with an adjusted p of up to {row.p_highest:.2g}"
    return f"{subject} could change the verdict: {how}"


def _not_judged(counts: pd.DataFrame, asked: Asked) -> npt.NDArray[np.object_]:
    """Return why a pair cannot be judged, from how its groups were asked; empty if it can."""
    missing_a, missing_b = missing_per_group(counts)
    n, names = _pairs(counts), (*UNIT_COLUMNS, "attribute")
    rows_a, rows_b = (
        np.array([asked.rows.get(key, 0) for key in row_keys(counts, (*names, side))])
        for side in ("group_a", "group_b")
    )
    reasons = np.full(len(counts), "", dtype=object)
    reasons[(missing_a == n) | (missing_b == n)] = "a group has no answers"
    reasons[_unequal_samples(counts, asked)] = "items have different numbers of samples"
    # A variant that was never asked is not a missing answer, but can only be counted as one.
    reasons[rows_a != rows_b] = (
        "the groups have different numbers of rows, so some variants are missing"
    )
    return reasons


def _pairs(counts: pd.DataFrame) -> IntArray:
    return np.sum([counts[name].to_numpy(dtype=np.int64) for name in PATTERNS], axis=0)


def _unequal_samples(counts: pd.DataFrame, asked: Asked) -> npt.NDArray[np.bool_]:
    """Return where items have different numbers of samples, so that some items count more.

    An item with s samples contributes `copies` × s weighted pairs. If all items have the same
    number of samples, `copies` is this number.
    """
    attributes = row_keys(counts, (*UNIT_COLUMNS, "attribute"))
    items = np.array([asked.items.get(key, 0) for key in attributes])
    copies = counts["copies"].to_numpy()
    unequal = _pairs(counts) != copies.astype(float) ** 2 * items
    # Pooled pairs cover all attributes, which may also have different numbers of samples.
    of_unit: dict[tuple[str, ...], set[int]] = {}
    mixed = set()
    for (*unit, attribute), number, differ in zip(attributes, copies, unequal, strict=True):
        if attribute not in (POOLED, BASELINE):
            of_unit.setdefault(tuple(unit), set()).add(int(number))
            if differ:
                mixed.add(tuple(unit))
    mixed |= {unit for unit, numbers in of_unit.items() if len(numbers) > 1}
    return np.array(
        [
            tuple(unit) in mixed if attribute == POOLED else differ
            for (*unit, attribute), differ in zip(attributes, unequal, strict=True)
        ],
        dtype=bool,
    )
