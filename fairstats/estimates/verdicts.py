"""Verdicts, from p-values adjusted over their families."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import FloatArray
from fairstats._lib.row_groups import row_keys
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.terms import BASELINE, POOLED
from fairstats.counts.asked import Asked
from fairstats.counts.missing_policies import missing_per_group
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS
from fairstats.estimates.completions import completions
from fairstats.estimates.table import PRIMARY_TEST, is_primary_test
from fairstats.inference.equivalence import EQUIVALENT, INCONCLUSIVE, SHOWN, verdict
from fairstats.inference.multiplicity import AdjustMethod, adjust_pvalues
from fairstats.metrics.accuracy import accuracy_difference
from fairstats.metrics.metric import Pairs


def with_adjusted(
    estimates: pd.DataFrame,
    known: Mapping[str, Benchmark],
    adjust: AdjustMethod | Literal["max_t"],
    joint: pd.Series | None,
) -> pd.DataFrame:
    """Return the estimates with adjusted p-values, and a note if a model selected the items.

    If `adjust` is "max_t", `joint` holds the adjusted p-values by `PAIR_COLUMNS`.
    """
    estimates = estimates.copy()
    family = families(estimates, known)
    for test in (PRIMARY_TEST, "mcnemar exact"):
        tests = estimates["metric"].eq("mcnemar") & estimates["test"].str.startswith(test)
        for name in family[tests].dropna().unique():
            rows = estimates[tests & (family == name)]
            if adjust != "max_t":
                adjusted = adjust_pvalues(rows["p_value"], method=adjust)
                estimates.loc[rows.index, "p_adjusted"] = adjusted
            elif joint is not None:
                keys = pd.MultiIndex.from_frame(rows[list(PAIR_COLUMNS)])
                # Random flips can give slightly less than the exact test's p-value.
                estimates.loc[rows.index, "p_adjusted"] = np.maximum(
                    joint.reindex(keys).to_numpy(), rows["p_value"].to_numpy()
                )
            estimates.loc[rows.index, "adjust_method"] = (
                f"{adjust} over {len(rows)} tests of {name}"
            )
    selected = pd.Series(
        [
            model in known[benchmark].selected_on
            for benchmark, model in row_keys(estimates, ("benchmark", "model"))
        ],
        index=estimates.index,
    )
    if selected.any():
        note = pd.Series("model took part in selecting the items", estimates.index[selected])
        estimates.loc[selected, "method_note"] = join_notes(
            estimates.loc[selected, "method_note"], note
        )
    return estimates


def families(pairs: pd.DataFrame, known: Mapping[str, Benchmark]) -> pd.Series:
    """Name the family of tests over which each pair's p-value is adjusted.

    Parameters
    ----------
    pairs : pandas.DataFrame
        With the columns of `UNIT_COLUMNS` and ``attribute``.
    known : mapping of str to Benchmark
        The benchmarks by name; `Benchmark.family` defines the extent of a family.

    Returns
    -------
    pandas.Series
        E.g. ``"the board fairmedqa, gpt-agent, plain"``. Pooled pairs repeat the evidence of the
        demographic ones, so they form a separate family. NaN for the baseline pair, which is not
        tested for a disparity.
    """
    names = []
    for name, version, model, strategy, attribute in row_keys(pairs, (*UNIT_COLUMNS, "attribute")):
        board = f"{name}, {version}, {strategy}"
        family = {
            "model": f"the answer set {board}, {model}",
            "board": f"the board {board}",
            "release": "all analysed answers",
        }[known[name].family]
        pooled = ", pooled" if attribute == POOLED else ""
        names.append(None if attribute == BASELINE else family + pooled)
    return pd.Series(names, index=pairs.index, dtype="str")


def with_verdicts(
    estimates: pd.DataFrame,
    counts: pd.DataFrame,
    known: Mapping[str, Benchmark],
    alpha: float,
    asked: Asked,
    pairs_of: Mapping[str, Pairs],
    adjust: AdjustMethod | Literal["max_t"] = "holm",
) -> pd.DataFrame:
    """Add a verdict on the signed difference of each pair that can be judged.

    `pairs_of` holds the pairs of each benchmark by name, except under the policy ``bounds``.
    """
    estimates = estimates.copy()
    keys = list(PAIR_COLUMNS)
    tests = estimates[is_primary_test(estimates)]
    p_adjusted = dict(zip(row_keys(tests, keys), tests["p_adjusted"], strict=True))
    signed = estimates["metric"].eq("accuracy_difference")
    differences = signed & estimates["attribute"].ne(BASELINE)
    effects = {name: own.effects["accuracy_difference"] for name, own in pairs_of.items()}
    completed = completions_of(estimates, counts, known, alpha, asked, effects, adjust)
    for name, rows in counts.groupby("benchmark", sort=False):
        benchmark = known[str(name)]
        if str(name) not in pairs_of:
            here = differences & estimates["benchmark"].eq(name)
            estimates.loc[here, "verdict_reason"] = "the policy bounds gives ranges, not tests"
            continue
        pairs = row_keys(rows, keys)
        difference = accuracy_difference(
            pairs_of[str(name)].paired, alpha=2 * alpha, design_effect=effects[str(name)]
        )
        found, reasons = judge(
            rows,
            [p_adjusted.get(pair, np.nan) for pair in pairs],
            (difference.ci_low, difference.ci_high),
            completed[completed.index.get_level_values("benchmark") == name],
            asked=asked,
            margin=benchmark.equivalence_margin,
            alpha=alpha,
        )
        judgements = zip(found, reasons, _not_judged(rows, asked), strict=True)
        of_pair = dict(zip(pairs, judgements, strict=True))
        here = differences & estimates["benchmark"].eq(name)
        published = estimates.loc[here]
        verdicts, notes = [], []
        for pair, model in zip(row_keys(published, keys), published["model"], strict=True):
            judgement, reason, obstacle = of_pair[pair]
            open_ = obstacle or model in benchmark.selected_on
            verdicts.append(None if open_ else str(judgement))
            notes.append(obstacle or str(reason) or None)
        estimates.loc[here, "verdict"] = pd.Series(verdicts, published.index, dtype="str")
        estimates.loc[here, "verdict_reason"] = pd.Series(notes, published.index, dtype="str")
    return estimates


Limits = tuple[npt.ArrayLike, npt.ArrayLike]
Texts = npt.NDArray[np.str_]
#: The columns of the completions that `robust_verdict` takes.
COMPLETED = ("inner_low", "inner_high", "p_highest")


def completions_of(
    estimates: pd.DataFrame,
    counts: pd.DataFrame,
    known: Mapping[str, Benchmark],
    alpha: float,
    asked: Asked,
    effects: Mapping[str, FloatArray],
    adjust: AdjustMethod | Literal["max_t"] = "holm",
) -> pd.DataFrame:
    """Apply `fairstats.estimates.completions.completions` to the pairs of an estimates table."""
    tests = is_primary_test(estimates)
    return completions(
        counts,
        estimates[tests].set_index(list(PAIR_COLUMNS))["p_value"],
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
        The rows of `fairstats.estimates.completions.completions` of these pairs.
    asked : Asked
        The questions asked, with the units that answer no better than a guess.
    margin, alpha : float
        The margin and the level of the verdicts.

    Returns
    -------
    (ndarray of str, ndarray of str)
        Verdicts, see `fairstats.inference.equivalence.verdict`, and reasons, empty if a verdict
        follows from the interval and the test alone.

    Notes
    -----
    No verdict may depend on missing answers. "Disparity" requires that the test rejects for every
    completion of the missing answers. "Equivalent" requires that the interval is inside the margin
    for every completion. These rules can leave a verdict open that the given answers, or some
    completion of the missing ones, would decide. In that case the reason is given.
    """
    p, (low, high) = np.asarray(p_adjusted, dtype=np.float64), map(np.asarray, inner)
    reason_of = dict(zip(asked.guessing.index, asked.guessing, strict=True))
    units = row_keys(counts, UNIT_COLUMNS)
    guessing = np.array([reason_of.get(unit, "") for unit in units], dtype=str)
    is_open = completed["open"].to_numpy(dtype=bool)
    limits = {name: completed[name].to_numpy() for name in COMPLETED}
    found = robust_verdict(p, low, high, **limits, is_open=is_open, margin=margin, alpha=alpha)
    alone = verdict(p, low, high, margin=margin, alpha=alpha)
    could_change = (found == INCONCLUSIVE) & is_open
    could_change &= (alone != INCONCLUSIVE) | (completed["p_lowest"].to_numpy() <= alpha)
    guesses = (found == EQUIVALENT) & (guessing != "")
    reasons = [
        _could_change(row) if open_ else f"not called equivalent: {reason}" if guess else ""
        for row, open_, guess, reason in zip(
            completed.itertuples(), could_change, guesses, guessing, strict=True
        )
    ]
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
    columns of `fairstats.estimates.completions.completions`. All broadcast against each other.
    """
    found = verdict(
        p_adjusted, np.fmin(low, inner_low), np.fmax(high, inner_high), margin=margin, alpha=alpha
    )
    uncertain = np.asarray(is_open) & (np.asarray(p_highest) > alpha)
    return np.where((found == SHOWN) & uncertain, INCONCLUSIVE, found)


def _could_change(row: Any) -> str:
    subject = "missing answers"
    if row.unasked:
        subject = f"{row.unasked} of {row.items} items that were not asked"
    span = f"{100 * row.lowest:+.1f} to {100 * row.highest:+.1f} points".replace("-", "−")
    return f"{subject} could change the verdict: the difference could be {span}"


def _not_judged(counts: pd.DataFrame, asked: Asked) -> pd.Series:
    """Return why a pair cannot be judged, from how its groups were asked; empty if it can."""
    missing_a, missing_b = missing_per_group(counts)
    n = counts[list(PATTERNS)].sum(axis=1).to_numpy()
    rows = dict(zip(asked.rows.index, asked.rows, strict=True))
    rows_a, rows_b = (
        np.array([rows.get(key, 0) for key in row_keys(counts, (*UNIT_COLUMNS, "attribute", side))])
        for side in ("group_a", "group_b")
    )
    reasons = pd.Series("", index=counts.index)
    reasons = reasons.mask((missing_a == n) | (missing_b == n), "a group has no answers")
    reasons = reasons.mask(
        _unequal_samples(counts, asked), "items have different numbers of samples"
    )
    # A variant that was never asked is not a missing answer, but can only be counted as one.
    return reasons.mask(
        rows_a != rows_b, "the groups have different numbers of rows, so some variants are missing"
    )


def _unequal_samples(counts: pd.DataFrame, asked: Asked) -> npt.NDArray[np.bool_]:
    """Return where items have different numbers of samples, so that some items count more.

    An item with s samples contributes `copies` × s weighted pairs. If all items have the same
    number of samples, `copies` is this number.
    """
    of_attribute = dict(zip(asked.items.index, asked.items, strict=True))
    attributes = row_keys(counts, (*UNIT_COLUMNS, "attribute"))
    items = np.array([of_attribute.get(key, 0) for key in attributes])
    pairs, copies = counts[list(PATTERNS)].sum(axis=1).to_numpy(), counts["copies"]
    unequal = pd.Series(pairs != copies.astype(float) ** 2 * items, index=counts.index)
    # Pooled pairs cover all attributes, which may also have different numbers of samples.
    pooled = counts["attribute"] == POOLED
    varied = ~pooled & (counts["attribute"] != BASELINE)
    units = pd.MultiIndex.from_frame(counts[list(UNIT_COLUMNS)])
    of_units = counts.assign(unequal=unequal)[varied].groupby(list(UNIT_COLUMNS))
    mixed = of_units["unequal"].any() | (of_units["copies"].nunique() > 1)
    return np.where(pooled, mixed.reindex(units, fill_value=False).to_numpy(), unequal)


def join_notes(first: pd.Series, second: pd.Series) -> pd.Series:
    """Join two notes."""
    return (first.fillna("") + "; " + second).str.removeprefix("; ")
