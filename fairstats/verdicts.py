"""What the estimates say together: p-values adjusted over their families, and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.benchmarks import BASELINE, POOLED, Benchmark, MissingPolicy
from fairstats.bounds import pair_bounds
from fairstats.counts import PAIR_COLUMNS, PATTERNS
from fairstats.estimates import PRIMARY_TEST
from fairstats.folding import UNIT_COLUMNS
from fairstats.inference.equivalence import EQUIVALENT, INCONCLUSIVE, SHOWN, verdict
from fairstats.inference.mcnemar import mcnemar
from fairstats.inference.multiplicity import AdjustMethod, adjust_pvalues
from fairstats.metrics.accuracy import accuracy_difference
from fairstats.missing import (
    CountingPolicy,
    apply_policy,
    missing_flags,
    missing_per_group,
    per_sample,
)
from fairstats.results import FloatArray


def with_adjusted(
    estimates: pd.DataFrame,
    known: Mapping[str, Benchmark],
    adjust: AdjustMethod | Literal["max_t"],
    joint: pd.Series | None,
) -> pd.DataFrame:
    """The estimates with adjusted p-values, and a note where a model selected the items.

    `joint` holds the adjusted p-values by `PAIR_COLUMNS` where `adjust` is "max_t".
    """
    estimates = estimates.copy()
    for test in (PRIMARY_TEST, "mcnemar exact"):
        tests = estimates["metric"].eq("mcnemar") & estimates["test"].str.startswith(test)
        for members in families(estimates["attribute"]):
            family = tests & members
            if adjust != "max_t":
                p_values = estimates.loc[family, "p_value"]
                estimates.loc[family, "p_adjusted"] = adjust_pvalues(p_values, method=adjust)
            elif joint is not None:
                keys = pd.MultiIndex.from_frame(estimates.loc[family, list(PAIR_COLUMNS)])
                # Flips at random can fall a little below the exact test's own p-value.
                raw = estimates.loc[family, "p_value"].to_numpy()
                estimates.loc[family, "p_adjusted"] = np.maximum(
                    joint.reindex(keys).to_numpy(), raw
                )
            estimates.loc[family, "adjust_method"] = f"{adjust} over {int(family.sum())} tests"
    selected = pd.Series(
        [
            model in known[benchmark].selected_on
            for benchmark, model in zip(estimates["benchmark"], estimates["model"], strict=True)
        ],
        index=estimates.index,
    )
    note = pd.Series("model took part in selecting the items", index=estimates.index)
    estimates.loc[selected, "method_note"] = join_notes(
        estimates.loc[selected, "method_note"], note[selected]
    )
    return estimates


def families(attributes: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Which pairs are tested together: the demographic ones, and the pooled; no baseline."""
    pooled = attributes == POOLED
    return (attributes != BASELINE) & ~pooled, pooled


def with_verdicts(
    estimates: pd.DataFrame,
    counts: pd.DataFrame,
    known: Mapping[str, Benchmark],
    missing: MissingPolicy | None,
    alpha: float,
    asked: pd.Series,
    effects: Mapping[str, FloatArray],
) -> pd.DataFrame:
    """The estimates with a verdict on each signed difference of a pair that can be judged."""
    estimates = estimates.copy()
    keys = list(PAIR_COLUMNS)
    by_pair = estimates.set_index(keys)
    tests = by_pair["test"].str.startswith(PRIMARY_TEST) & by_pair["metric"].eq("mcnemar")
    signed = by_pair["metric"].eq("accuracy_difference")
    differences = signed.to_numpy() & estimates["attribute"].ne(BASELINE)
    for name, rows in counts.groupby("benchmark", sort=False):
        benchmark = known[str(name)]
        policy = missing or benchmark.missing
        if policy == "bounds":
            continue
        pairs = pd.MultiIndex.from_frame(rows[keys])
        paired = apply_policy(rows, policy)
        effect = effects[str(name)]
        difference = accuracy_difference(paired, alpha=2 * alpha, design_effect=effect)
        verdicts = pd.Series(
            verdict(
                by_pair.loc[tests, "p_adjusted"].reindex(pairs),
                difference.ci_low,
                difference.ci_high,
                margin=benchmark.equivalence_margin,
                alpha=alpha,
            ),
            index=pairs,
        )
        reasons = _not_judged(rows, asked).set_axis(pairs)
        # McNemar's test is of the pairs with both answers. Where the difference of the groups'
        # own answers lies outside of what those pairs allow, the two figures disagree.
        of_pairs = accuracy_difference(
            apply_policy(rows, "complete" if policy == "available" else policy),
            alpha=2 * alpha,
            design_effect=effect,
        )
        own = difference.estimate
        disagree = (own < of_pairs.ci_low) | (own > of_pairs.ci_high)
        reasons = reasons.mask(
            disagree & (reasons == ""), "the groups' own answers and the pairs disagree"
        )
        interval = by_pair.loc[signed, ["ci_low", "ci_high"]].reindex(pairs)
        left_open = why_open(
            rows,
            verdicts.to_numpy(),
            interval["ci_low"].to_numpy(),
            interval["ci_high"].to_numpy(),
            missing=policy,
            margin=benchmark.equivalence_margin,
            alpha=alpha,
        )
        reasons = reasons.mask(reasons == "", pd.Series(left_open, index=pairs))
        here = differences & estimates["benchmark"].eq(name)
        published = pd.MultiIndex.from_frame(estimates.loc[here, keys])
        reason = reasons.reindex(published).set_axis(estimates.index[here])
        judged = (reason == "") & ~estimates.loc[here, "model"].isin(list(benchmark.selected_on))
        found = verdicts.reindex(published).set_axis(estimates.index[here])
        estimates.loc[here, "verdict"] = found.where(judged)
        told = reason[reason != ""].index
        estimates.loc[told, "method_note"] = join_notes(
            estimates.loc[told, "method_note"], reason[told]
        )
    return estimates


def why_open(
    counts: pd.DataFrame,
    verdicts: npt.NDArray[np.str_],
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    *,
    missing: CountingPolicy,
    margin: float,
    alpha: float,
) -> npt.NDArray[np.str_]:
    """Why missing answers leave a verdict open; empty where they do not.

    Parameters
    ----------
    counts : pandas.DataFrame
        The pairs' outcome counts, one row a unit and pair.
    verdicts : ndarray of str
        What `fairstats.inference.equivalence.verdict` says of each.
    low, high : array_like of float
        The limits that are shown beside it.
    missing : {"available", "complete", "incorrect"}
        The policy for missing answers.
    margin, alpha : float
        The margin and the level of the verdicts.
    """
    paired = apply_policy(counts, missing)
    partly = (paired.n_a != paired.n) | (paired.n_b != paired.n)
    covers_0 = (np.asarray(low) <= 0) & (np.asarray(high) >= 0)
    # Answers are not missing alike, and some fill-in of them contradicts the verdict.
    lowest, highest = pair_bounds(counts)["accuracy_difference"]
    contradicted = np.where(
        verdicts == EQUIVALENT,
        (lowest < -margin) | (highest > margin),
        (lowest <= 0) & (highest >= 0),
    )
    return np.select(
        [
            partly & covers_0 & (verdicts == SHOWN),
            missing_unlike(counts, alpha) & contradicted & (verdicts != INCONCLUSIVE),
        ],
        [
            "the test of the pairs and the interval of the groups' own answers disagree",
            "more answers of one group are missing, and what they were could change the verdict",
        ],
        default="",
    )


def missing_unlike(counts: pd.DataFrame, alpha: float) -> npt.NDArray[np.bool_]:
    """Where more answers of one group are missing than of the other."""
    flags = missing_flags(per_sample(counts))
    return np.asarray(mcnemar(flags.n10, flags.n01).p_value <= alpha)


def _not_judged(counts: pd.DataFrame, asked: pd.Series) -> pd.Series:
    """Why a pair cannot be judged, from how its groups were asked; empty where it can."""
    missing_a, missing_b = missing_per_group(counts)
    n = counts[list(PATTERNS)].sum(axis=1).to_numpy()
    rows_a, rows_b = (
        asked.reindex(pd.MultiIndex.from_frame(counts[[*UNIT_COLUMNS, "attribute", group]]))
        .fillna(0)
        .to_numpy()
        for group in ("group_a", "group_b")
    )
    reasons = pd.Series("", index=counts.index)
    reasons = reasons.mask((missing_a == n) | (missing_b == n), "a group has no answer")
    # A variant that was never asked is no missing answer; it can only be counted as one.
    return reasons.mask(
        rows_a != rows_b, "the groups were not asked alike; a variant without a row is missing"
    )


def join_notes(first: pd.Series, second: pd.Series) -> pd.Series:
    """Two notes as one."""
    return (first.fillna("") + "; " + second).str.removeprefix("; ")
