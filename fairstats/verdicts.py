"""What the estimates say together: p-values adjusted over their families, and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.asked import Asked, difference_bounds
from fairstats.benchmarks import BASELINE, POOLED, Benchmark, MissingPolicy
from fairstats.counts import PAIR_COLUMNS, PATTERNS
from fairstats.estimates import PRIMARY_TEST
from fairstats.folding import UNIT_COLUMNS
from fairstats.inference.equivalence import EQUIVALENT, INCONCLUSIVE, SHOWN, verdict
from fairstats.inference.multiplicity import AdjustMethod, adjust_pvalues
from fairstats.metrics.accuracy import accuracy_difference, proportion
from fairstats.missing import CountingPolicy, apply_policy, missing_per_group
from fairstats.names import named_in
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
    family = families(estimates, known)
    for test in (PRIMARY_TEST, "mcnemar exact"):
        tests = estimates["metric"].eq("mcnemar") & estimates["test"].str.startswith(test)
        for name, rows in estimates[tests].groupby(family[tests], sort=False):
            if adjust != "max_t":
                adjusted = adjust_pvalues(rows["p_value"], method=adjust)
                estimates.loc[rows.index, "p_adjusted"] = adjusted
            elif joint is not None:
                keys = pd.MultiIndex.from_frame(rows[list(PAIR_COLUMNS)])
                # Flips at random can fall a little below the exact test's p-value.
                estimates.loc[rows.index, "p_adjusted"] = np.maximum(
                    joint.reindex(keys).to_numpy(), rows["p_value"].to_numpy()
                )
            estimates.loc[rows.index, "adjust_method"] = (
                f"{adjust} over {len(rows)} tests of {name}"
            )
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


def families(pairs: pd.DataFrame, known: Mapping[str, Benchmark]) -> pd.Series:
    """Name the family of tests that each pair's p-value is adjusted over.

    Parameters
    ----------
    pairs : pandas.DataFrame
        With the columns of `UNIT_COLUMNS` and ``attribute``.
    known : mapping of str to Benchmark
        The benchmarks by name; `Benchmark.family` says how far a family reaches.

    Returns
    -------
    pandas.Series
        E.g. ``"the board fairmedqa, gpt-agent, plain"``. Pooled pairs repeat the evidence of the
        demographic ones, so they are a family of their own. NaN for the baseline pair, which
        is not tested for a disparity.
    """
    names = []
    for name, version, model, strategy, attribute in zip(
        *(pairs[column] for column in (*UNIT_COLUMNS, "attribute")), strict=True
    ):
        board = f"{name}, {version}, {strategy}"
        family = {
            "model": f"the answer set {board}, {model}",
            "board": f"the board {board}",
            "release": "everything analysed together",
        }[known[name].family]
        pooled = ", pooled" if attribute == POOLED else ""
        names.append(None if attribute == BASELINE else family + pooled)
    return pd.Series(names, index=pairs.index, dtype="str")


def with_verdicts(
    estimates: pd.DataFrame,
    counts: pd.DataFrame,
    known: Mapping[str, Benchmark],
    missing: MissingPolicy | None,
    alpha: float,
    asked: Asked,
    effects: Mapping[str, FloatArray],
) -> pd.DataFrame:
    """Give a verdict on the signed difference of each pair that can be judged."""
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
            here = differences & estimates["benchmark"].eq(name)
            estimates.loc[here, "verdict_reason"] = "the policy bounds gives ranges and no test"
            continue
        pairs = pd.MultiIndex.from_frame(rows[keys])
        difference = accuracy_difference(
            apply_policy(rows, policy), alpha=2 * alpha, design_effect=effects[str(name)]
        )
        interval = by_pair.loc[signed, ["ci_low", "ci_high"]].reindex(pairs)
        found, reasons = judge(
            rows,
            by_pair.loc[tests, "p_adjusted"].reindex(pairs),
            (difference.ci_low, difference.ci_high),
            (interval["ci_low"].to_numpy(), interval["ci_high"].to_numpy()),
            asked=asked,
            benchmark=benchmark,
            missing=policy,
            alpha=alpha,
            effect=effects[str(name)],
        )
        not_judged = _not_judged(rows, asked).set_axis(pairs)
        verdicts = pd.Series(found, index=pairs)
        notes = not_judged.where(not_judged != "", pd.Series(reasons, index=pairs))
        here = differences & estimates["benchmark"].eq(name)
        published = pd.MultiIndex.from_frame(estimates.loc[here, keys])
        selected = named_in(estimates.loc[here, "model"], benchmark.selected_on)
        judged = not_judged.reindex(published).eq("").set_axis(estimates.index[here]) & ~selected
        verdicts = verdicts.reindex(published).set_axis(estimates.index[here])
        estimates.loc[here, "verdict"] = verdicts.where(judged)
        notes = notes.reindex(published).set_axis(estimates.index[here])
        given = notes[notes != ""].index
        estimates.loc[given, "verdict_reason"] = notes[given]
    return estimates


Limits = tuple[npt.ArrayLike, npt.ArrayLike]
Texts = npt.NDArray[np.str_]


def judge(
    counts: pd.DataFrame,
    p_adjusted: npt.ArrayLike,
    inner: Limits,
    shown: Limits,
    *,
    asked: Asked,
    benchmark: Benchmark,
    missing: CountingPolicy,
    alpha: float,
    effect: npt.ArrayLike = 1.0,
    margin: float | None = None,
) -> tuple[Texts, Texts]:
    """Give the verdict on the difference of each pair, and the reason if it has to stay open.

    Parameters
    ----------
    counts : pandas.DataFrame
        The outcome counts of one benchmark's pairs, one row per unit and pair.
    p_adjusted : array_like of float
        The adjusted p-values of the test that carries the verdict.
    inner, shown : (array_like, array_like)
        The limits of the 1 − 2 alpha interval, and those that are shown next to the verdict.
    asked : Asked
        What the units were asked.
    benchmark : Benchmark
        Declares the items and the accuracy that "equivalent" asks for.
    missing : {"available", "complete", "incorrect"}
        The policy for missing answers.
    alpha : float
        The level of the verdicts.
    effect : array_like of float
        The design effects of the differences.
    margin : float, optional
        The margin of the verdicts; by default the benchmark's.

    Returns
    -------
    (ndarray of str, ndarray of str)
        Verdicts, see `fairstats.inference.equivalence.verdict`, and reasons, empty if a verdict
        follows from the interval and the test alone.

    Notes
    -----
    No verdict may depend on answers that are not there (Manski 2003, Partial Identification of
    Probability Distributions). "Disparity" requires that every completion of the missing answers
    leaves a difference of that sign, "equivalent" that every completion stays within the
    margin. Items of the benchmark that were not asked are missing as well: chosen items prove
    nothing.
    """
    delta = benchmark.equivalence_margin if margin is None else margin
    (low, high), bounds = map(np.asarray, inner), difference_bounds(counts, asked, benchmark)
    lowest, highest = bounds
    found = verdict(
        p_adjusted,
        np.fmin(low, lowest),
        np.fmax(high, highest),
        margin=delta,
        alpha=alpha,
    )
    equivalent, disparity = found == EQUIVALENT, found == SHOWN
    inside = (low > -delta) & (high < delta)
    could_change = np.where(
        disparity, (lowest <= 0) & (highest >= 0), inside & (found == INCONCLUSIVE)
    )
    units = pd.MultiIndex.from_frame(counts[list(UNIT_COLUMNS)])
    guessing = asked.guessing.reindex(units).fillna("").to_numpy(dtype=str)
    unasked, items = asked.unasked(counts, benchmark)
    ranges = [
        f"{100 * a:+.1f} to {100 * b:+.1f} points".replace("-", "−")
        for a, b in zip(*bounds, strict=True)
    ]
    subjects = [
        f"{absent} of {whole} items that were not asked" if absent else "missing answers"
        for absent, whole in zip(unasked, items, strict=True)
    ]
    reasons = [
        (
            _groups_and_pairs_disagree(counts, missing, alpha, effect),
            ["the groups' own answers and the pairs disagree"] * len(counts),
        ),
        (
            disparity
            & _partly_paired(counts, missing)
            & (np.asarray(shown[0]) <= 0)
            & (np.asarray(shown[1]) >= 0),
            ["the test of the pairs and the interval of the groups' own answers disagree"]
            * len(counts),
        ),
        (
            could_change,
            [
                f"{subject} could change the verdict: the difference could be {span}"
                for subject, span in zip(subjects, ranges, strict=True)
            ],
        ),
        (
            equivalent & (guessing != ""),
            [f"not called equivalent: {reason}" for reason in guessing],
        ),
    ]
    given = np.select(
        [condition for condition, _ in reasons],
        [np.array(text, dtype=str) for _, text in reasons],
        default="",
    )
    return np.where(given != "", INCONCLUSIVE, found), given


def _partly_paired(counts: pd.DataFrame, missing: CountingPolicy) -> npt.NDArray[np.bool_]:
    """Where a group has answers that are in no pair."""
    paired = apply_policy(counts, missing)
    return np.asarray((paired.n_a != paired.n) | (paired.n_b != paired.n))


def _groups_and_pairs_disagree(
    counts: pd.DataFrame, missing: CountingPolicy, alpha: float, effect: npt.ArrayLike
) -> npt.NDArray[np.bool_]:
    """Where the groups' own answers give a difference outside what the pairs allow.

    McNemar's test is of the pairs with both answers.
    """
    own = apply_policy(counts, missing)
    difference = proportion(own.correct_a, own.n_a) - proportion(own.correct_b, own.n_b)
    of_pairs = accuracy_difference(
        apply_policy(counts, "complete" if missing == "available" else missing),
        alpha=2 * alpha,
        design_effect=effect,
    )
    return np.asarray((difference < of_pairs.ci_low) | (difference > of_pairs.ci_high))


def _not_judged(counts: pd.DataFrame, asked: Asked) -> pd.Series:
    """Why a pair cannot be judged, from how its groups were asked; empty where it can."""
    missing_a, missing_b = missing_per_group(counts)
    n = counts[list(PATTERNS)].sum(axis=1).to_numpy()
    rows_a, rows_b = (
        asked.rows.reindex(pd.MultiIndex.from_frame(counts[[*UNIT_COLUMNS, "attribute", group]]))
        .fillna(0)
        .to_numpy()
        for group in ("group_a", "group_b")
    )
    reasons = pd.Series("", index=counts.index)
    reasons = reasons.mask((missing_a == n) | (missing_b == n), "a group has no answer")
    reasons = reasons.mask(
        _unequal_samples(counts, asked), "items have different numbers of samples"
    )
    # A variant that was never asked is no missing answer; it can only be counted as one.
    return reasons.mask(
        rows_a != rows_b, "the groups were not asked alike; a variant without a row is missing"
    )


def _unequal_samples(counts: pd.DataFrame, asked: Asked) -> npt.NDArray[np.bool_]:
    """Where items have different numbers of samples: items with more of them count more.

    An item with s samples adds `copies` × s weighted pairs. If all items have the same number of
    samples, `copies` is this number.
    """
    attributes = pd.MultiIndex.from_frame(counts[[*UNIT_COLUMNS, "attribute"]])
    items = asked.items.reindex(attributes).fillna(0).to_numpy()
    pairs, copies = counts[list(PATTERNS)].sum(axis=1).to_numpy(), counts["copies"]
    unequal = pd.Series(pairs != copies.astype(float) ** 2 * items, index=counts.index)
    # Pooled pairs are of all attributes, whose numbers of samples may differ as well.
    pooled = counts["attribute"] == POOLED
    varied = ~pooled & (counts["attribute"] != BASELINE)
    units = pd.MultiIndex.from_frame(counts[list(UNIT_COLUMNS)])
    of_units = counts.assign(unequal=unequal)[varied].groupby(list(UNIT_COLUMNS))
    mixed = of_units["unequal"].any() | (of_units["copies"].nunique() > 1)
    return np.where(pooled, mixed.reindex(units, fill_value=False).to_numpy(), unequal)


def join_notes(first: pd.Series, second: pd.Series) -> pd.Series:
    """Two notes as one."""
    return (first.fillna("") + "; " + second).str.removeprefix("; ")
