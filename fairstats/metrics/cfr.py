"""Counterfactual fairness rate."""

from __future__ import annotations

from collections.abc import Mapping

import numpy.typing as npt

from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats.metrics.accuracy import estimate_proportion, share_of_pairs
from fairstats.metrics.metric import ANY, PairMetric, Range


def cfr(
    same: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    design_effect: npt.ArrayLike = 1.0,
) -> Estimate:
    """Compute the share of counterfactual pairs with the same letter: CFR = same / n.

    Parameters
    ----------
    same, n : array_like of int
        Pairs with the same letter, and all pairs that count under the missing policy. With several
        samples of an item, every answer of one group is paired with every answer of the other.
    alpha : float
        1 − confidence level of the Wilson interval.
    design_effect : array_like of float
        See `fairstats.inference.clustered_answers`; 1 if each item is answered once.

    Returns
    -------
    Estimate
        In [0, 1]; 1 if the group never changes the answer. With n = 0 the estimate is NaN and the
        interval is 0 to 1.

    Notes
    -----
    Two wrong answers agree only if they are the same wrong letter. So CFR can be lower than the
    share of pairs that agree in being right or wrong. Answers that vary between samples of one
    prompt also lower it: see `fairstats.metrics.same_prompt`. In the estimates, several answers to
    an item leave room for rare items that the group changes and that were not drawn
    (`fairstats.inference.verdict.with_room`).

    References
    ----------
    The estimand is that of FairMedQA; it reproduces the published table 3.

    Examples
    --------
    >>> round(float(cfr(701, 801).estimate), 4)
    0.8752
    """
    return estimate_proportion(same, n, alpha=alpha, design_effect=design_effect)


def _bounds(c: Mapping[str, FloatArray]) -> Range:
    same = (c["n11"] + c["n00_same"]) / c["n"]
    return same, same + (c["n1x"] + c["n0x"] + c["nx1"] + c["nx0"] + c["nxx"]) / c["n"]


CFR = PairMetric(
    name="cfr",
    label="CFR, counterfactual fairness rate",
    definition="Share of the pairs whose two answers are the same option, right or wrong; of "
    "scores, within the declared tolerance.",
    formula=r"\mathrm{CFR} = \text{pairs with the same answer} / n",
    interval="Wilson; if an item has several answers, room for rare items",
    order=50,
    lowest=0,
    highest=1,
    ideal=1,
    kinds=ANY,
    compute=lambda pairs: share_of_pairs(pairs, pairs.paired.same, pairs.effects["cfr"]),
    influence=lambda pair: pair.share(pair.one.same, pair.one.n),
    bounds=_bounds,
)
