"""Agreement of two groups' levels, weighted by how far apart they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairstats._lib.result_objects import Estimate
from fairstats.counts.unit_sums import level_pairs
from fairstats.inference.weighted_kappa import weighted_kappa
from fairstats.metrics.mean_difference import stacked
from fairstats.metrics.metric import LEVELS, NumberMetric, Numbers


def _kappas(numbers: Numbers) -> Estimate:
    outcomes, found = numbers.outcomes, []
    for place, sums in enumerate(numbers.sums):
        pairs = level_pairs(outcomes, place)
        one = weighted_kappa(*pairs, limits=outcomes.benchmark.limits, alpha=numbers.alpha)
        found.append(replace(one, n=np.asarray(sums.n)))
    return stacked(found, numbers.alpha)


WEIGHTED_KAPPA = NumberMetric(
    name="weighted_kappa",
    label="Weighted kappa",
    definition="Agreement of the two groups' levels beyond chance, with quadratic weights; 1 if "
    "every pair has the same level.",
    formula=r"1 - D_o / D_e",
    interval="jackknife over the independent units",
    order=55,
    lowest=-1,
    highest=1,
    ideal=1,
    kinds=LEVELS,
    compute=_kappas,
)
