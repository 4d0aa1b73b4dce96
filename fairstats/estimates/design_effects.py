"""How far the figures of clustered answers are less certain than their number says."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import FloatArray
from fairstats.benchmarks.terms import POOLED
from fairstats.counts.missing_policies import (
    CountingPolicy,
    PairedCounts,
    copies_of,
    of_each_pattern,
    pooled_policy,
)
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS
from fairstats.inference.sign_flip import design_effect

#: The figures of a pair that have an interval, and so a design effect.
FIGURES = (
    "accuracy_a",
    "accuracy_b",
    "accuracy_difference",
    "cfr",
    "cohens_h",
    "both_correct",
    "only_a_correct",
    "only_b_correct",
    "neither_correct",
    "missing_difference",
)


def design_effects(
    counts: pd.DataFrame, items: pd.DataFrame, missing: CountingPolicy
) -> dict[str, FloatArray]:
    """The design effect of each figure of each pair.

    Parameters
    ----------
    counts : pandas.DataFrame
        The pairs' outcome counts, one row per unit and pair, and ``copies`` (1 if absent): in how
        many of the pairs each answer is.
    items : pandas.DataFrame
        The kinds of items of those of them whose answers are clustered, from
        `fairstats.counts.item_kinds.count_items`.
    missing : {"available", "complete", "incorrect"}
        The policy for missing answers.

    Returns
    -------
    dict of str to ndarray
        By figure (`FIGURES`), one element per row of `counts`; 1 where its answers are not
        clustered. It divides numbers of pairs, and numbers of answers for the two accuracies.

    Notes
    -----
    With s samples of an item there are s² pairs of answers, but only s answers of a group. The
    effect of a figure of pairs is therefore never below ``copies``: the pairs never count for more
    than one independent pair per answer.
    """
    effects = {name: np.ones(len(counts)) for name in FIGURES}
    copies = copies_of(counts)
    kinds = dict(list(items.groupby(list(PAIR_COLUMNS), sort=False)))
    for place, key in enumerate(counts[list(PAIR_COLUMNS)].itertuples(index=False, name=None)):
        if key not in kinds:
            continue
        cells = kinds[key][list(PATTERNS)].to_numpy(dtype=np.int64)
        many = kinds[key]["items"].to_numpy(dtype=np.int64)
        policy = pooled_policy(missing) if key[-3] == POOLED else missing
        for name, influence in _influences(many @ cells, policy).items():
            effect = design_effect(cells, many, influence, copies=copies[place])
            of_answers = name in ("accuracy_a", "accuracy_b")
            effects[name][place] = effect if of_answers else effect * copies[place]
    return effects


def naming_effect(method: str, effect: float) -> str:
    """An interval's method, with the design effect where there is one."""
    return method if effect == 1 else f"{method}, design effect {effect:.3g}"


def _influences(totals: FloatArray, missing: CountingPolicy) -> dict[str, FloatArray]:
    """What one pair of each pattern adds to each estimate, linearised; 0 on the mean of all."""
    one = of_each_pattern(missing)

    def share(part: npt.ArrayLike, whole: npt.ArrayLike) -> FloatArray:
        part, whole = np.asarray(part), np.asarray(whole)
        size = float(totals @ whole)
        if size == 0:
            return np.zeros(len(totals))
        return (part - float(totals @ part) / size * whole) / size

    a, b = share(one.correct_a, one.n_a), share(one.correct_b, one.n_b)
    missing_a, missing_b = (_is_missing(side) for side in (0, 1))
    everything = np.ones(len(totals))
    return {
        "accuracy_a": a,
        "accuracy_b": b,
        "accuracy_difference": a - b,
        "cfr": share(one.same, one.n),
        "cohens_h": _on_arcsine_scale(a, totals, one, "a") - _on_arcsine_scale(b, totals, one, "b"),
        "both_correct": share(one.n11, one.n),
        "only_a_correct": share(one.n10, one.n),
        "only_b_correct": share(one.n01, one.n),
        "neither_correct": share(one.n00, one.n),
        "missing_difference": share(missing_a - missing_b, everything),
    }


def _on_arcsine_scale(
    influence: FloatArray, totals: FloatArray, one: PairedCounts, side: str
) -> FloatArray:
    """The influence on 2 arcsin √p, whose derivative is 1 / √(p (1 − p))."""
    n = float(totals @ getattr(one, f"n_{side}"))
    p = float(totals @ getattr(one, f"correct_{side}")) / max(n, 1.0)
    spread = np.sqrt(p * (1 - p))
    return influence / spread if spread > 0 else influence


def _is_missing(side: int) -> FloatArray:
    return np.array([float(pattern.removeprefix("n")[side] == "x") for pattern in PATTERNS])
