"""Measure where intervals hold less than their level: few items, or few that differ.

``excess``: the coverage of the 95% limits of ``excess_disagreement`` with two samples. In a share
``moved`` of the items the group changes the answer; every sample is replaced by another letter with
probability ``noise``. ``differing`` is the expected number of items with an excess other than 0.

``equivalence``: how often a true difference of exactly the margin is called equivalent, at level
5%. Some items favour group a: there its samples are right with probability ½ + ``effect``, and
those of group b with ½ − ``effect``. On the other items all samples are right, or all are wrong.

``changes``: the coverage of the limits of a mean of signed changes, such as the change of CFR
between two versions of a model. In a share ``down`` of the items the number is −1, in a share
``up`` it is 1. ``bootstrap`` is the coverage of the exact bootstrap alone.

``controls``: how often the test of ``beyond_control`` rejects at level 5%, and the coverage of its
limits, if every pair of groups and every pair of a control changes with the same probability.

``alpha``: the coverage of the 95% limits of Krippendorff's α over items, with the same raters. A
rating is positive if a normal variable, item + rest with equal variances, exceeds a cut.

    python benchmarks/small_samples.py    # writes results/small_samples.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from scipy import stats

from fairstats.inference.agreement import coefficients_of
from fairstats.inference.bootstrap import bootstrap_counts
from fairstats.inference.clustered_answers import design_effect, flip_test
from fairstats.inference.intervals import tango_limits
from fairstats.inference.rating_counts import counts_of_kinds
from fairstats.inference.unit_means import unit_mean
from fairstats.metrics.same_prompt import same_prompt

OUT = Path(__file__).resolve().parent / "results" / "small_samples.json"
# Discordant pairs of answers: only a is right, only b is.
_INFLUENCE = np.array([0.0, 1.0, -1.0, 0.0])


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate all designs and write their rows."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="JSON file to write")
    parser.add_argument("--simulations", type=int, default=1000)
    given = parser.parse_args(arguments)
    n = given.simulations
    found = {
        "excess": [
            excess(*design, n)
            for design in product((50, 200, 800), (0.0, 0.02, 0.05), (0.005, 0.02, 0.1))
        ],
        "equivalence": [
            equivalence(*design, n)
            for design in product((30, 40, 100, 200), (2, 5, 8), (0.1, 0.2), (0.2, 0.45))
        ],
        "changes": [
            changes(*design, n)
            for design in product((30, 100, 400), ((0.005, 0.015), (0.02, 0.03), (0.03, 0.08)))
        ],
        "controls": [
            controls(*design, n)
            for design in product((20, 60, 200), (0.03, 0.1), ((1, 1), (1, 2), (1, 6), (3, 1)))
        ],
        "alpha": [
            alpha(*design, n) for design in product((30, 60, 150), (2, 3), (0.05, 0.1, 0.2, 0.5))
        ],
    }
    parts = []
    for name, rows in found.items():
        lines = ",\n".join(json.dumps(row) for row in rows)
        parts.append(f'"{name}": [\n{lines}\n]')
    text = ",\n".join([f'{{"simulations": {n}', *parts]) + "}\n"
    given.out.write_text(text, encoding="utf-8")


def excess(items: int, moved: float, noise: float, simulations: int) -> dict[str, float]:
    """Return the coverage of the limits of ``excess_disagreement``."""
    rng = np.random.default_rng([40, items, round(1000 * moved), round(1000 * noise)])
    # Of four letters, a sample has the usual one, or any of the three others.
    usual = np.full(4, noise / 3)
    usual[0] = 1 - noise
    other = np.roll(usual, 1)
    truth = moved * float(((usual - other) ** 2).sum()) / 2
    covered, differing = 0, 0
    for _ in range(simulations):
        # The items are drawn, too.
        is_moved = rng.random(items)[:, None] < moved
        a = rng.multinomial(2, usual, items)
        b = np.where(is_moved, rng.multinomial(2, other, items), rng.multinomial(2, usual, items))
        own = same_prompt(a, b).excess
        covered += bool(own.ci_low <= truth <= own.ci_high)
        again = ((a * (a - 1)).sum(axis=1) + (b * (b - 1)).sum(axis=1)) / 4
        differing += int((again != (a * b).sum(axis=1) / 4).sum())
    return {
        "items": items,
        "moved": moved,
        "noise": noise,
        "differing": round(differing / simulations, 1),
        "coverage": round(covered / simulations, 3),
    }


def equivalence(
    items: int, samples: int, margin: float, effect: float, simulations: int
) -> dict[str, float]:
    """Return how often a difference of exactly the margin is called equivalent."""
    rng = np.random.default_rng([41, items, samples, round(1000 * margin), round(1000 * effect)])
    favouring = margin / (2 * effect)
    shares = [favouring, 0.6 * (1 - favouring), 0.4 * (1 - favouring)]
    equivalent = 0
    for _ in range(simulations):
        kind = rng.choice(3, size=items, p=shares)
        right_a, right_b = (
            rng.binomial(samples, np.array([0.5 + own, 1.0, 0.0])[kind])
            for own in (effect, -effect)
        )
        wrong_a, wrong_b = samples - right_a, samples - right_b
        cells = [right_a * right_b, right_a * wrong_b, wrong_a * right_b, wrong_a * wrong_b]
        pairs = np.column_stack(cells)
        n10, n01 = pairs.sum(axis=0)[1:3]
        n = items * samples**2
        influence = _INFLUENCE - (n10 - n01) / n
        once = np.ones(items, dtype=np.int64)
        widening = samples * design_effect(pairs, once, influence, copies=samples)
        low, high = tango_limits(n10, n01, n, alpha=0.1, design_effect=widening)
        equivalent += bool(-margin < low and high < margin)
    return {
        "items": items,
        "samples": samples,
        "margin": margin,
        "effect": effect,
        "equivalent": round(equivalent / simulations, 3),
    }


def changes(items: int, shares: tuple[float, float], simulations: int) -> dict[str, float]:
    """Return the coverage of the limits of a mean of signed changes."""
    down, up = shares
    rng = np.random.default_rng([43, items, round(1000 * down), round(1000 * up)])
    covered = np.zeros(2)
    for counts in rng.multinomial(items, [down, 1 - down - up, up], simulations):
        worse, same, better = counts.tolist()
        score = unit_mean([-1, 0, 1], [1, 1, 1], counts, limits=(-1, 1))
        resampled = bootstrap_counts([same, better, worse, 0])
        for place, own in enumerate((score, resampled)):
            covered[place] += bool(own.ci_low <= up - down <= own.ci_high)
    coverage, bootstrap = (covered / simulations).round(3).tolist()
    return {
        "items": items,
        "down": down,
        "up": up,
        "coverage": coverage,
        "bootstrap": bootstrap,
    }


def controls(
    items: int, share: float, pairs: tuple[int, int], simulations: int
) -> dict[str, float]:
    """Return the level of the test of ``beyond_control`` and the coverage of its limits."""
    own, control = pairs
    rng = np.random.default_rng([44, items, round(1000 * share), own, control])
    rejected, covered = 0, 0
    for _ in range(simulations):
        means = [(rng.random((items, size)) < share).mean(axis=1) for size in pairs]
        excess = means[0] - means[1]
        rejected += bool(flip_test(excess).p_value <= 0.05)
        found = unit_mean(excess, np.ones(items, dtype=np.int64), limits=(-1, 1))
        covered += bool(found.ci_low <= 0 <= found.ci_high)
    return {
        "items": items,
        "share": share,
        "pairs": own,
        "controls": control,
        "rejected": round(rejected / simulations, 3),
        "coverage": round(covered / simulations, 3),
    }


def alpha(items: int, raters: int, share: float, simulations: int) -> dict[str, float | None]:
    """Return the coverage of the limits of Krippendorff's α, and how often there are limits."""
    rng = np.random.default_rng([42, items, raters, round(1000 * share)])
    cut = float(stats.norm.isf(share))
    both = float(stats.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]]).cdf([-cut, -cut]))
    truth = (both - share**2) / (share - share**2)
    covered = []
    for _ in range(simulations):
        latent = rng.standard_normal((items, 1)) + rng.standard_normal((items, raters))
        positive = (latent / np.sqrt(2) > cut).sum(axis=1)
        table = counts_of_kinds(("no", "yes"), np.column_stack([raters - positive, positive]))
        (own,) = coefficients_of(table, [("krippendorff", "nominal")], alpha=0.05)
        if not np.isnan(own.ci_low):
            covered.append(own.ci_low <= truth <= own.ci_high)
    return {
        "items": items,
        "raters": raters,
        "positive": share,
        "alpha": round(truth, 3),
        "given": round(len(covered) / simulations, 3),
        "coverage": round(float(np.mean(covered)), 3) if covered else None,
    }


if __name__ == "__main__":
    main()
