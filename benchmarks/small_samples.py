"""Measure where intervals hold less than their level: few items, or few that differ.

``excess``: the coverage of the 95% limits of ``excess_disagreement`` with 2 or 8 samples. In a
share ``moved`` of the items the group changes the answer; every sample is replaced by another
letter with probability ``noise``. ``differing`` is the expected number of items with an excess
other than 0.

``equivalence``: how often a true difference of exactly the margin is called equivalent, at level
5%. Some items favour group a: there its samples are right with probability ½ + ``effect``, and
those of group b with ½ − ``effect``. On the other items all samples are right, or all are wrong.

``repeated``: the same, if the group changes an item in all samples, or not at all. On every item, a
sample is the other one with probability ``noise``. ``interval`` is the share if the interval left
no room for rare items. ``coverage`` is that of the 95% limits, with room on the sides on which they
do not exclude 0, and ``bare`` that of limits without room.

``samples``: the coverage of the 95% limits of an accuracy, of Cohen's h, of CFR and of
``only_a_correct``, with three samples. The chance of a right answer to an item is Beta-distributed
with mean ``rate`` and the sum of parameters ``alike``; that of group a is 0.08 higher.

``moved``: the same for 3 to 20 samples, if the group changes a share ``moved`` of the items, in
all samples. Every sample is wrong where it would be right, or right, with probability ``noise``.

``wrong``: the same for 2 to 20 answers to an item, if a share ``wrong`` of the items is wrong in
all of them for both groups, or (``one_group``) for group b alone. On all items, an answer is the
other one with probability ``noise``. ``accuracy`` is that of group b, and ``bare`` the coverage of
its limits without room for rare items.

``changes``: the coverage of the limits of a mean of signed changes, such as the change of CFR
between two versions of a model. In a share ``down`` of the items the number is −1, in a share
``up`` it is 1. ``bootstrap`` is the coverage of the exact bootstrap alone.

``unequal``: how often two models with the same chances of a right answer differ at level 5%, if the
newer one has more samples. The chances are Beta-distributed with mean ``rate`` and the sum of
parameters ``alike``.

``corrected``: the coverage of the limits of the changes of accuracy and CFR if a newer model
corrects a share ``corrected`` of the items, in all of ``samples``; ``bare`` is that of accuracy
without room. The older one is wrong in 10% of the items, and every sample is the other one with
probability 0.01.

``favoured``: the same for AD, if a newer model favours a group on a share ``favoured`` of the items
on which the older one does not. Both favour it on a share ``gap``. At most 300 sets are drawn.

``controls``: how often the test of ``beyond_control`` rejects at level 5%, and the coverage of its
limits, if all answers to an item differ from the usual one with probability ``share``. Pairs are
all those of the groups of an attribute or control. The limits are those of all pairs of the
attribute.

``changing``: the coverage of the same limits if the group changes a share ``changing`` of the
items, in all ``samples``, and the control a share ``placebo``. Every sample is replaced by another
letter with probability 0.01. ``bare`` is the coverage of limits without room for rare items.
At most 300 sets are drawn.

``voted``: the coverage of the limits of the mean share of right answers to an item, the ``score``
of `vote_counts`, if a share ``wrong`` of the items is wrong for all ``groups``. An answer is the
other one with probability 0.01. ``bare`` is that of limits without room.

``shifted``: the coverage of the limits of ``moved_up``, ``net_moved`` and ``level_difference`` for
levels from 1 to 5. A share ``shifted`` of the items moves up by 2, in all ``samples``. A sample
differs by 1 with probability 0.01. ``bare`` is that of ``moved_up`` without room.

``alpha``: the coverage of the 95% limits of Krippendorff's α over items, with the same raters. A
rating is positive if a normal variable, item + rest with equal variances, exceeds a cut.

``grades``: the same for five grades by two raters, of Krippendorff's α of each level and of Fleiss'
κ. A grade is the number of cuts, from ``cut`` − 1.2 to ``cut`` + 1.3, that a normal variable
exceeds: item + rest of standard deviation 0.7. True coefficients are those of 200,000 items.

``rare_grades``: the coverage of the limits of α and κ if all raters give a share ``rare`` of the
items one of the two highest of ``grades``, 80% of them the same one, and 2% of the other ratings
are above the lowest grade. True coefficients are those of 200,000 items.

``reported``: the coverage of the limits of `crossed_interval` if ten raters rate each item, and do
not differ. A share ``reported`` of the items is reported with probability 0.97, others with 0.02.

``preferred``: the same if each item has one rating, of as many ``raters`` as often, and all
ratings that are not ties, ``preferring`` on average, prefer the same model.

``regression``: how often the tests of ``gee_logistic`` reject at level 5%. Clusters have 1 to 10
items, or ``cluster_items`` each, and differ in how they favour a group, by 0 on average. A skewed
covariate of clusters has no effect.

``planned``: how often equal levels from 1 to 5 are shown to be equivalent, next to the power by
``power_means``. The levels of a pair differ by 1 with probability ``differing``.

``rare``: how often a difference of exactly the margin is called equivalent, at level 5%, and by the
90% interval alone (``interval``). Scores from 0 to 100 differ by 60 with probability ``rare``, and
by ±1 with probability ``small``. ``coverage`` is that of the 95% interval.

``disagreeing``: the coverage of the limits of ``weighted_kappa`` for levels from 1 to 5. A share
``small`` of the items differs by 1, and a share ``rare`` by 3.

``positive``: the coverage of the limits of raters' agreement on reports, and of Krippendorff's α.
Raters report with probability ``certain`` if an item is one of a share, and with 0.02 if not.

``clusters``: the coverage of the 95% limits of a mean over clusters of unequal sizes, the means of
which have the distribution Beta(2, ½).

    python benchmarks/small_samples.py    # writes results/small_samples.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from fairstats._lib.result_objects import Estimate
from fairstats.comparisons.model_differences import accuracy, ad, cfr, model_difference
from fairstats.counts.unit_sums import UnitSums
from fairstats.estimates.logistic_regression import fit_rows
from fairstats.inference.agreement import Agreement, Level, coefficients_of
from fairstats.inference.bootstrap import bootstrap_counts
from fairstats.inference.clustered_answers import design_effect, flip_test
from fairstats.inference.crossed_means import crossed_interval
from fairstats.inference.effect_sizes import arcsine, cohens_h_interval
from fairstats.inference.intervals import tango_limits
from fairstats.inference.power_means import power_means
from fairstats.inference.rating_counts import Coefficient, counts_of_kinds
from fairstats.inference.unit_means import (
    effective_number,
    unit_mean,
    unit_mean_difference,
    unit_means,
)
from fairstats.inference.verdict import widened, with_room
from fairstats.inference.weighted_kappa import weighted_kappa
from fairstats.metrics.accuracy import estimate_proportion
from fairstats.metrics.beyond_control import compare_changes
from fairstats.metrics.mean_difference import mean_differences
from fairstats.metrics.metric import roomy, roomy_contrast
from fairstats.metrics.same_prompt import same_prompt

OUT = Path(__file__).resolve().parent / "results" / "small_samples.json"
# Discordant pairs of answers: only a is right, only b is.
_INFLUENCE = np.array([0.0, 1.0, -1.0, 0.0])
# Whether each pair has a right answer of group a, of b, both or neither, or of a alone.
_RIGHT_A, _RIGHT_B = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0])
_SAME, _ONLY_A = np.array([1.0, 0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0, 0.0])

# Clusters, items of each, the share of items that differ, and the margin.
PLANNED = (
    (20, 5, 0.2, 0.6),
    (12, 1, 0.3, 1.0),
    (20, 1, 0.2, 0.6),
    (40, 1, 0.1, 0.3),
    (100, 1, 0.1, 0.13),
    (150, 1, 0.3, 0.15),
    (400, 1, 0.2, 0.06),
)

# The coefficients of grades.
OF_GRADES: tuple[tuple[Coefficient, Level], ...] = (
    ("krippendorff", "nominal"),
    ("krippendorff", "ordinal"),
    ("krippendorff", "interval"),
    ("fleiss", "nominal"),
)
_NAMES_OF_GRADES = ("nominal", "ordinal", "interval", "fleiss")


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
            for design in product((50, 200, 800), (2, 8), (0.0, 0.02, 0.05), (0.005, 0.02, 0.1))
        ],
        "equivalence": [
            equivalence(*design, n)
            for design in product((30, 40, 100, 200), (2, 5, 8), (0.1, 0.2), (0.2, 0.45))
        ],
        "repeated": [
            repeated(*design, n)
            for design in product((30, 60, 100, 200), (3, 8, 20), (0.02, 0.05, 0.1), (0.01, 0.05))
        ],
        "samples": [samples(*design, n) for design in product((15, 40), (0.6, 0.9), (0.5, 3.0))],
        "moved": [
            moved(*design, n)
            for design in product((30, 100, 200), (3, 8, 20), (0.01, 0.02, 0.05), (0.01, 0.05))
        ],
        "wrong": [
            wrong(*design, n)
            for design in product(
                (30, 100, 200), (2, 5, 20), (0.01, 0.03, 0.05), (0.01,), (False, True)
            )
        ],
        "changes": [
            changes(*design, n)
            for design in product((30, 100, 400), ((0.005, 0.015), (0.02, 0.03), (0.03, 0.08)))
        ],
        "unequal": [
            unequal(*design, n)
            for design in product((15, 30, 100), (1, 4, 8), (0.5, 0.85), (0.6, 4.5))
        ],
        "corrected": [
            corrected(*design, n)
            for design in product((40, 100, 200), (1, 3, 10), (0.01, 0.02, 0.04))
        ],
        "favoured": [
            favoured(*design, min(n, 300))
            for design in product((40, 100, 200), (3, 20), (0.02, 0.04), (0.0, 0.1))
        ],
        "changing": [
            changing(*design, min(n, 300))
            for design in product((30, 60, 150), (3, 20), ((0.03, 0.0), (0.03, 0.03)))
        ],
        "voted": [voted(*design, n) for design in product((30, 60, 200), (6, 12), (0.01, 0.03))],
        "shifted": [
            shifted(*design, n) for design in product((30, 40, 60, 100, 200), (3, 20), (0.03, 0.05))
        ],
        "controls": [
            controls(*design, n)
            for design in product(
                (20, 60), (0.015, 0.05, 0.1), (2, 3, 6), ((1, 2), (2, 2), (6, 2), (1, 3), (2, 3))
            )
        ],
        "planned": [planned(*design, n) for design in PLANNED],
        "rare": [
            rare(*design, n) for design in product((50, 100, 200, 800), (0.01, 0.02), (0.2, 0.5))
        ],
        "disagreeing": [
            disagreeing(*design, n)
            for design in product((60, 100, 200, 400), (0.005, 0.01, 0.02), (0.05, 0.2))
        ],
        "positive": [
            positive(*design, min(n, 400))
            for design in (
                *product((30, 60, 150), (3, 5), (0.1, 0.3), (0.9,)),
                *product((60, 150), (3, 5, 10), (0.01, 0.03), (1.0,)),
            )
        ],
        "clusters": [clusters(number, n) for number in (10, 20, 40, 100)],
        "alpha": [
            alpha(*design, n) for design in product((30, 60, 150), (2, 3), (0.05, 0.1, 0.2, 0.5))
        ],
        "grades": [grades(*design, n) for design in product((30, 60, 150), (0.0, 1.5))],
        "rare_grades": [
            rare_grades(*design, min(n, 400))
            for design in (
                *product((60, 150), (3, 5, 10), (0.01, 0.03), (3,)),
                *product((60, 150), (2, 3), (0.03, 0.05), (5,)),
            )
        ],
        "reported": [
            reported(*design, n) for design in product((20, 30, 50, 100), (0.02, 0.03, 0.05))
        ],
        "preferred": [
            preferred(*design, n) for design in product((50, 100, 200), (4, 7, 10), (3, 10, 20))
        ],
        "regression": [
            regression(*design, n)
            for design in product((6, 10, 20), ("1 to 10", "5"), (0, 1), (0.6, 0.9))
        ],
    }
    parts = []
    for name, rows in found.items():
        lines = ",\n".join(json.dumps(row) for row in rows)
        parts.append(f'"{name}": [\n{lines}\n]')
    text = ",\n".join([f'{{"simulations": {n}', *parts]) + "}\n"
    given.out.write_text(text, encoding="utf-8")


def excess(items: int, many: int, moved: float, noise: float, simulations: int) -> dict[str, float]:
    """Return the coverage of the limits of ``excess_disagreement``."""
    rng = np.random.default_rng([40, items, many, round(1000 * moved), round(1000 * noise)])
    # Of four letters, a sample has the usual one, or any of the three others.
    usual = np.full(4, noise / 3)
    usual[0] = 1 - noise
    other = np.roll(usual, 1)
    truth = moved * float(((usual - other) ** 2).sum()) / 2
    covered, differing = 0, 0
    for _ in range(simulations):
        # The items are drawn, too.
        is_moved = rng.random(items)[:, None] < moved
        a, kept, changed = (rng.multinomial(many, p, items) for p in (usual, usual, other))
        b = np.where(is_moved, changed, kept)
        own = same_prompt(a, b).excess
        covered += bool(own.ci_low <= truth <= own.ci_high)
        again = ((a * (a - 1)).sum(axis=1) + (b * (b - 1)).sum(axis=1)) / (2 * many * (many - 1))
        differing += int((np.abs(again - (a * b).sum(axis=1) / many**2) > 1e-9).sum())
    return {
        "items": items,
        "samples": many,
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
        equivalent += _within(right_a, right_b, samples, margin)[0]
    return {
        "items": items,
        "samples": samples,
        "margin": margin,
        "effect": effect,
        "equivalent": round(equivalent / simulations, 3),
    }


def repeated(
    items: int, many: int, margin: float, noise: float, simulations: int
) -> dict[str, float]:
    """Return how often a difference of the margin, from few items, is called equivalent."""
    rng = np.random.default_rng([49, items, many, round(1000 * margin), round(1000 * noise)])
    called = np.zeros(4)
    for _ in range(simulations):
        right = rng.random(items) < 0.8
        changed = rng.random(items) < margin / (1 - 2 * noise)
        chances = (noise + (1 - 2 * noise) * side for side in (right | changed, right & ~changed))
        called += _within(*(rng.binomial(many, chance) for chance in chances), many, margin)
    shares = dict(
        zip(("equivalent", "interval", "coverage", "bare"), called / simulations, strict=True)
    )
    design = {"items": items, "samples": many, "margin": margin, "noise": noise}
    return design | {name: round(share, 3) for name, share in shares.items()}


def _within(right_a: np.ndarray, right_b: np.ndarray, many: int, margin: float) -> list[bool]:
    """Return whether limits with room and Tango's are inside the margin, and 95% ones cover it."""
    wrong_a, wrong_b = many - right_a, many - right_b
    cells = [right_a * right_b, right_a * wrong_b, wrong_a * right_b, wrong_a * wrong_b]
    pairs = np.column_stack(cells)
    n10, n01 = pairs.sum(axis=0)[1:3]
    n = len(pairs) * many**2
    once = np.ones(len(pairs), dtype=np.int64)
    influence = _INFLUENCE - (n10 - n01) / n
    widening = many * design_effect(pairs, once, influence, copies=many)
    bare = tango_limits(n10, n01, n, alpha=0.1, design_effect=widening)
    room = {"units": len(pairs), "ends": (-1, 1)}
    wide = with_room((n10 - n01) / n, *bare, **room, alpha=0.1)
    inside = [bool(-margin < low and high < margin) for low, high in (wide, bare)]
    bare = tango_limits(n10, n01, n, alpha=0.05, design_effect=widening)
    wide = widened(*bare, *with_room((n10 - n01) / n, *bare, **room, alpha=0.05), tested=0.0)
    return inside + [bool(low <= margin <= high) for low, high in (wide, bare)]


def samples(items: int, rate: float, alike: float, simulations: int) -> dict[str, float]:
    """Return the coverage of the limits of shares of right and equal answers, and of Cohen's h."""
    rng = np.random.default_rng([46, items, round(10 * rate), round(10 * alike)])

    def drawn(number: int) -> tuple[np.ndarray, np.ndarray]:
        b = rng.beta(alike * rate, alike * (1 - rate), number)
        return np.minimum(b + 0.08, 1), b

    def chances() -> tuple[np.ndarray, np.ndarray]:
        return drawn(items)

    truth = _shares(*drawn(1_000_000), np.ones(1))
    coverage = _coverage(rng, chances, truth, 3, simulations)
    return {"items": items, "rate": rate, "alike": alike, **coverage}


def moved(items: int, many: int, share: float, noise: float, simulations: int) -> dict[str, float]:
    """Return the coverage of the same limits if the group changes few items, in all samples."""
    rng = np.random.default_rng([47, items, many, round(1000 * share), round(1000 * noise)])
    right = 0.8
    # Right for both groups, for neither, for a alone, for b alone.
    kinds = np.array([right * (1 - share), (1 - right) * (1 - share), *[share / 2] * 2])
    a, b = np.array([1, 0, 1, 0]), np.array([1, 0, 0, 1])
    a, b = noise + (1 - 2 * noise) * a, noise + (1 - 2 * noise) * b

    def chances() -> tuple[np.ndarray, np.ndarray]:
        kind = rng.choice(4, items, p=kinds)
        return a[kind], b[kind]

    coverage = _coverage(rng, chances, _shares(a, b, 4 * kinds), many, simulations)
    return {"items": items, "samples": many, "moved": share, "noise": noise, **coverage}


def wrong(
    items: int, many: int, share: float, noise: float, one_group: bool, simulations: int
) -> dict[str, float]:
    """Return the coverage of the same limits if few items are wrong in all answers."""
    rng = np.random.default_rng(
        [50, items, many, round(1000 * share), round(1000 * noise), one_group]
    )
    kinds = np.array([share, 1 - share])
    b = np.array([noise, 1 - noise])
    a = np.full(2, 1 - noise) if one_group else b

    def chances() -> tuple[np.ndarray, np.ndarray]:
        kind = rng.choice(2, items, p=kinds)
        return a[kind], b[kind]

    truth = _shares(a, b, 2 * kinds)
    design = {
        "items": items,
        "answers": many,
        "wrong": share,
        "noise": noise,
        "one_group": one_group,
    }
    return design | _coverage(rng, chances, truth, many, simulations)


def _shares(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> dict[str, float]:
    """Return the figures of items with these chances of a right answer."""
    return {
        "accuracy": float((weights * b).mean()),
        "bare": float((weights * b).mean()),
        "cohens_h": float(arcsine((weights * a).mean()) - arcsine((weights * b).mean())),
        "cfr": float((weights * (a * b + (1 - a) * (1 - b))).mean()),
        "only_a": float((weights * a * (1 - b)).mean()),
    }


def _coverage(
    rng: np.random.Generator,
    chances: Callable[[], tuple[np.ndarray, np.ndarray]],
    truth: dict[str, float],
    many: int,
    simulations: int,
) -> dict[str, float]:
    """Return how often the limits from so many samples contain each true figure."""
    covered = dict.fromkeys(truth, 0)
    for _ in range(simulations):
        right_a, right_b = (rng.binomial(many, chance) for chance in chances())
        wrong_a, wrong_b = many - right_a, many - right_b
        cells = [right_a * right_b, right_a * wrong_b, wrong_a * right_b, wrong_a * wrong_b]
        pairs = np.column_stack(cells)
        total, once = pairs.sum(axis=0), np.ones(len(pairs), dtype=np.int64)
        n11, n10, n01, n00 = total
        share = total / total.sum()
        influences = {
            "accuracy": _RIGHT_B - share @ _RIGHT_B,
            "cohens_h": _scaled(_RIGHT_A, share) - _scaled(_RIGHT_B, share),
            "cfr": _SAME - share @ _SAME,
            "only_a": _ONLY_A - share @ _ONLY_A,
        }
        effects = {
            name: design_effect(pairs, once, influence, copies=many)
            for name, influence in influences.items()
        }
        paired = {name: many * effect for name, effect in effects.items()}
        of_b = estimate_proportion(
            right_b.sum(), many * len(pairs), design_effect=effects["accuracy"]
        )
        found = {
            "accuracy": roomy(of_b, len(pairs), (0.0, 1.0), 0.05),
            "bare": of_b,
            "cohens_h": roomy_contrast(
                cohens_h_interval(n11, n10, n01, n00, design_effect=paired["cohens_h"]),
                (share @ _RIGHT_A, share @ _RIGHT_B),
                lambda a, b: arcsine(a) - arcsine(b),
                units=len(pairs),
                alpha=0.05,
                tested=0.0,
            ),
            "cfr": _roomy(n11 + n00, total.sum(), paired["cfr"], len(pairs)),
            "only_a": _roomy(n10, total.sum(), paired["only_a"], len(pairs)),
        }
        for name, own in found.items():
            covered[name] += bool(own.ci_low <= truth[name] <= own.ci_high)
    return {name: round(number / simulations, 3) for name, number in covered.items()}


def _roomy(count: int, n: int, effect: float, units: int) -> Estimate:
    found = estimate_proportion(count, n, design_effect=effect)
    return roomy(found, units, (0.0, 1.0), 0.05)


def _scaled(right: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the influence on 2 arcsin √p."""
    p = share @ right
    return np.asarray((right - p) / (np.sqrt(p * (1 - p)) if 0 < p < 1 else 1))


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


def unequal(items: int, many: int, rate: float, alike: float, simulations: int) -> dict[str, float]:
    """Return how often two equal models with 1 and with more samples differ."""
    rng = np.random.default_rng([48, items, many, round(100 * rate), round(10 * alike)])
    differ = dict.fromkeys(("accuracy", "cfr"), 0)
    for _ in range(simulations):
        chance = rng.beta(alike * rate, alike * (1 - rate), items)
        sides = []
        for samples in (1, many):
            a, b = rng.binomial(samples, chance, (2, items))
            n = np.full(items, samples**2)
            same = a * b + (samples - a) * (samples - b)
            sums = np.column_stack([samples * a, n, samples * b, n, same, n])
            # As `compare`: an item has the same weight for both models.
            sides.append((sums * (many // samples) ** 2)[:, None])
        for figure in (accuracy, cfr):
            differ[figure.__name__] += model_difference(*sides, figure).p_value <= 0.05
    design = {"items": items, "samples": many, "rate": rate, "alike": alike}
    return design | {name: round(number / simulations, 3) for name, number in differ.items()}


def corrected(items: int, samples: int, share: float, simulations: int) -> dict[str, float]:
    """Return the coverage of the limits of changes between models if few items change."""
    rng = np.random.default_rng([52, items, samples, round(1000 * share)])
    low, high = 0.01, 0.99
    covered = dict.fromkeys(("accuracy", "cfr", "bare"), 0)
    # A pair whose answers differ by chance changes CFR as much in any item.
    truth = {"accuracy": share * (high - low), "cfr": 0.0}
    for _ in range(simulations):
        kind = rng.choice(3, items, p=[share, 0.1 - share, 0.9])
        sides = []
        for chances in ((low, low, high), (high, low, high)):
            a, b = rng.binomial(samples, np.array(chances)[kind], (2, items))
            n = np.full(items, samples**2)
            same = a * b + (samples - a) * (samples - b)
            sides.append(np.column_stack([samples * a, n, samples * b, n, same, n])[:, None])
        for figure in (accuracy, cfr):
            units = items if samples > 1 else np.inf
            name, found = figure.__name__, model_difference(*sides, figure, units=units)
            covered[name] += bool(found.ci_low <= truth[name] <= found.ci_high)
        found = model_difference(*sides, accuracy)
        covered["bare"] += bool(found.ci_low <= truth["accuracy"] <= found.ci_high)
    design = {"items": items, "samples": samples, "corrected": share}
    return design | {name: round(number / simulations, 3) for name, number in covered.items()}


def favoured(
    items: int, samples: int, share: float, gap: float, simulations: int
) -> dict[str, float]:
    """Return the coverage of the limits of the change of AD if few more items favour a group."""
    rng = np.random.default_rng([57, items, samples, round(1000 * share), round(1000 * gap)])
    low, high = 0.01, 0.99
    truth, covered = share * (high - low), dict.fromkeys(("ad", "bare"), 0)
    for _ in range(simulations):
        kind = rng.choice(4, items, p=[share, gap, 0.1, 0.9 - share - gap])
        sides = []
        for of_b in (high, low):
            chances = np.array([[high, high, low, high], [of_b, low, low, high]])
            a, b = rng.binomial(samples, chances[:, kind])
            n = np.full(items, samples**2)
            same = a * b + (samples - a) * (samples - b)
            sides.append(np.column_stack([samples * a, n, samples * b, n, same, n])[:, None])
        for name, units in (("ad", items), ("bare", np.inf)):
            found = model_difference(*sides, ad, units=units)
            covered[name] += bool(found.ci_low <= truth <= found.ci_high)
    design = {"items": items, "samples": samples, "favoured": share, "gap": gap}
    return design | {name: round(number / simulations, 3) for name, number in covered.items()}


def changing(
    items: int, samples: int, shares: tuple[float, float], simulations: int
) -> dict[str, float]:
    """Return the level of the test of ``beyond_control`` and the coverage of its limits."""
    rng = np.random.default_rng([58, items, samples, *(round(1000 * share) for share in shares)])
    usual = np.array([0.99, *[0.01 / 3] * 3])
    apart = usual @ usual - usual @ np.roll(usual, 1)
    truth, found = (shares[0] - shares[1]) * apart, np.zeros(3)
    for _ in range(simulations):
        columns = []
        for share in shares:
            a, b = rng.multinomial(samples, usual, (2, items))
            moves = rng.random(items)[:, None] < share
            b = np.where(moves, np.roll(b, 1, axis=1), b)
            columns.append(1 - (a * b).sum(axis=1) / samples**2)
        table = np.column_stack(columns)
        for place, room in enumerate((True, False)):
            own = compare_changes(table, np.arange(items), 1.0, 0.05, room=room)
            found[place] += bool(own["ci_low"] <= truth <= own["ci_high"])
        found[2] += own["p_value"] <= 0.05
    coverage, bare, rejected = (found / simulations).round(3).tolist()
    design = {"items": items, "samples": samples, "changing": shares[0], "placebo": shares[1]}
    return design | {"coverage": coverage, "bare": bare, "rejected": rejected}


def voted(items: int, groups: int, share: float, simulations: int) -> dict[str, float]:
    """Return the coverage of the limits of a mean share of right answers to an item."""
    rng = np.random.default_rng([59, items, groups, round(1000 * share)])
    truth, covered = 0.99 - 0.98 * share, np.zeros(2)
    for _ in range(simulations):
        right = rng.binomial(groups, np.where(rng.random(items) < share, 0.01, 0.99))
        values, many = np.unique(right / groups, return_counts=True)
        bare = unit_mean(values, np.ones_like(many), many, limits=(0, 1))
        for place, own in enumerate((roomy(bare, items, (0.0, 1.0), 0.05), bare)):
            covered[place] += bool(own.ci_low <= truth <= own.ci_high)
    coverage, bare_one = (covered / simulations).round(3).tolist()
    design = {"items": items, "groups": groups, "wrong": share}
    return design | {"coverage": coverage, "bare": bare_one}


def shifted(items: int, samples: int, share: float, simulations: int) -> dict[str, float]:
    """Return the coverage of the limits of moves of levels, and of their mean difference."""
    rng = np.random.default_rng([60, items, samples, round(1000 * share)])
    steps, chances = np.array([-1, 0, 1]), np.array([0.005, 0.99, 0.005])
    differences, both = np.subtract.outer(steps, steps), np.outer(chances, chances)
    up, down = (
        sum(
            part * both[side * (differences + move) > 0].sum()
            for part, move in ((1 - share, 0), (share, 2))
        )
        for side in (1, -1)
    )
    truth = {"moved_up": up, "bare": up, "net_moved": up - down, "level_difference": 2 * share}
    covered = dict.fromkeys(truth, 0)
    once, size, pairs = (np.full(items, samples**power) for power in (0, 1, 2))
    for _ in range(simulations):
        a, b = 2 + rng.choice(steps, (2, items, samples), p=chances)
        a += 2 * (rng.random(items)[:, None] < share)
        far = a[:, :, None] - b[:, None]
        ups, downs = ((side * far > 0).sum(axis=(1, 2)) for side in (1, -1))
        bare = unit_mean(ups, pairs, once, limits=(0, 1))
        net = unit_mean(ups - downs, pairs, once, limits=(-1, 1))
        # As for `net_moved`, limits that exclude 0 stay where its test rejects.
        rejects = flip_test(ups - downs, method="exact").p_value <= 0.05
        tested = 0.0 if rejects else np.nan
        found = {
            "moved_up": roomy(bare, items, (0.0, 1.0), 0.05),
            "bare": bare,
            "net_moved": roomy(net, items, (-1.0, 1.0), 0.05, tested=tested),
            "level_difference": unit_mean_difference(
                a.sum(axis=1), size, b.sum(axis=1), size, limits=(1, 5)
            ),
        }
        for name, own in found.items():
            covered[name] += bool(own.ci_low <= truth[name] <= own.ci_high)
    design = {"items": items, "samples": samples, "shifted": share}
    return design | {name: round(number / simulations, 3) for name, number in covered.items()}


def controls(
    items: int, share: float, groups: int, control: tuple[int, int], simulations: int
) -> dict[str, float]:
    """Return the level of the test of ``beyond_control`` and the coverage of its limits."""
    n_controls, control_groups = control
    rng = np.random.default_rng([44, items, round(1000 * share), groups, *control])
    rejected, covered = 0, 0
    for _ in range(simulations):
        own, *others = (
            _changes(rng, items, share, number)
            for number in (groups, *[control_groups] * n_controls)
        )
        columns = np.column_stack([own.mean(axis=1), *others])
        found = compare_changes(columns, np.arange(items), whole=1.0, alpha=0.05)
        rejected += found["p_value"] <= 0.05
        covered += found["ci_low"] <= 0 <= found["ci_high"]
    return {
        "items": items,
        "share": share,
        "groups": groups,
        "controls": n_controls,
        "control_groups": control_groups,
        "rejected": round(rejected / simulations, 3),
        "coverage": round(covered / simulations, 3),
    }


def _changes(rng: np.random.Generator, items: int, share: float, groups: int) -> np.ndarray:
    """Return whether the answers of each item differ, for all pairs of groups."""
    answers = np.where(rng.random((items, groups)) < share, rng.integers(1, 4, (items, groups)), 0)
    pairs = np.array(list(combinations(range(groups), 2))).T
    return np.asarray(answers[:, pairs[0]] != answers[:, pairs[1]], dtype=np.float64)


def regression(
    clusters: int, cluster_items: str, covariates: int, rate: float, simulations: int
) -> dict[str, float | str | None]:
    """Return the level of the tests of the group and of a covariate, of fits with an estimate."""
    rng = np.random.default_rng([45, clusters, len(cluster_items), covariates, round(10 * rate)])
    rejected, fitted = np.zeros(1 + covariates), 0
    for _ in range(simulations):
        sizes = (
            rng.integers(1, 11, clusters)
            if cluster_items == "1 to 10"
            else np.full(clusters, int(cluster_items))
        )
        unit = np.repeat(np.arange(clusters), sizes)
        easy = np.log(rate / (1 - rate)) + rng.normal(size=clusters)[unit]
        easy += rng.normal(size=len(unit))
        favour = 0.35 * rng.normal(size=clusters)[unit]
        data = pd.concat(
            pd.DataFrame(
                {
                    "item_id": np.arange(len(unit)),
                    "unit": unit,
                    "correct": (rng.logistic(size=len(unit)) < easy + sign * favour) * 1.0,
                    "group": (1 + sign) / 2,
                }
            )
            for sign in (1, -1)
        )
        for place in range(covariates):
            data[f"covariate {place}"] = np.exp(rng.normal(size=clusters))[data["unit"]]
        rows = fit_rows(data, 0.05)
        if rows[0]["ci_method"] != "none":
            fitted += 1
            rejected += [row["p_value"] <= 0.05 for row in rows[1:]]
    found: list[float | None] = (rejected / max(fitted, 1)).round(3).tolist()
    return {
        "clusters": clusters,
        "cluster_items": cluster_items,
        "covariates": covariates,
        "rate": rate,
        "given": round(fitted / simulations, 3),
        "group": found[0],
        "covariate": found[1] if covariates else None,
    }


def planned(
    clusters: int, cluster_items: int, differing: float, margin: float, simulations: int
) -> dict[str, float]:
    """Return the planned and the simulated power of equivalence."""
    rng = np.random.default_rng([47, clusters, cluster_items, round(10 * differing)])
    sizes = np.full(clusters, cluster_items)
    shares = [differing / 2, 1 - differing, differing / 2]
    equivalent = 0
    for _ in range(simulations):
        d = rng.choice([-1, 0, 1], (clusters, cluster_items), p=shares)
        a, b = ((2 + np.maximum(one, 0)).sum(axis=1) for one in (d, -d))
        equivalent += _equivalent(a, sizes, b, (1, 5), margin)
    given = {"margin": margin, "scale": 4, "cluster_size": cluster_items}
    power = power_means(clusters * cluster_items, 0, differing**0.5, **given)
    return {
        "clusters": clusters,
        "cluster_items": cluster_items,
        "differing": differing,
        "margin": margin,
        "planned": round(float(power), 3),
        "equivalent": round(equivalent / simulations, 3),
    }


def _equivalent(
    sum_a: np.ndarray,
    sizes: np.ndarray,
    sum_b: np.ndarray,
    limits: tuple[float, float],
    margin: float,
) -> bool:
    """Return whether the pair is called equivalent."""
    once = np.ones(len(sizes), dtype=np.int64)
    no = np.zeros(len(sizes))
    sums = UnitSums(sum_a, sizes, no, sum_b, sizes, no, sum_a - sum_b, sizes, no, no, once, once)
    found = mean_differences([sums], limits, 0.1)
    span, units = limits[1] - limits[0], effective_number(sizes, once)
    wide = roomy(found, units, (-span, span), 0.1)
    (low,), (high,) = wide.ci_low, wide.ci_high
    return bool(-margin < low and high < margin)


def rare(items: int, rare: float, small: float, simulations: int) -> dict[str, float]:
    """Return how often a difference of exactly the margin is called equivalent."""
    rng = np.random.default_rng([48, items, round(1000 * rare), round(10 * small)])
    margin, once = 60 * rare, np.ones(items, dtype=np.int64)
    called = np.zeros(3)
    for _ in range(simulations):
        shares = [rare, small / 2, small / 2, 1 - rare - small]
        d = rng.choice([60, 1, -1, 0], items, p=shares).astype(float)
        a, b = np.maximum(d, 0), np.maximum(-d, 0)
        outer, inner = (
            unit_mean_difference(a, once, b, once, limits=(0, 100), alpha=level)
            for level in (0.05, 0.1)
        )
        alone = -margin < inner.ci_low and inner.ci_high < margin
        verdict = alone and _equivalent(a, once, b, (0, 100), margin)
        called += verdict, alone, outer.ci_low <= margin <= outer.ci_high
    equivalent, alone, coverage = (round(float(x), 3) for x in called / simulations)
    return {
        "items": items,
        "rare": rare,
        "small": small,
        "equivalent": equivalent,
        "interval": alone,
        "coverage": coverage,
    }


def disagreeing(items: int, rare: float, small: float, simulations: int) -> dict[str, float]:
    """Return the coverage of the limits of kappa if levels differ by 1 often, and by 3 rarely."""
    rng = np.random.default_rng([55, items, round(1000 * rare), round(1000 * small)])
    a, b = (index.ravel() + 1 for index in np.indices((5, 5)))
    far = np.abs(a - b)
    # Levels of group a are equally likely. From level 3, the furthest differ by 2.
    near = (far == 1) * small / np.where(a % 4 == 1, 1, 2)
    furthest = np.where(a == 3, (far == 2) / 2, far == 3)
    cells = ((1 - rare) * np.where(far == 0, 1 - small, near) + rare * furthest) / 5
    whole = np.rint(cells * 1e9).astype(np.int64)
    truth = float(weighted_kappa(a, b, counts=whole, limits=(1, 5)).estimate)
    covered = 0
    for counts in rng.multinomial(items, cells, simulations):
        found = weighted_kappa(a, b, counts=counts, limits=(1, 5))
        covered += bool(found.ci_low <= truth <= found.ci_high)
    row = {"items": items, "rare": rare, "small": small}
    return row | {"coverage": round(covered / simulations, 3)}


def positive(
    items: int, raters: int, share: float, certain: float, simulations: int
) -> dict[str, float]:
    """Return the coverage of the limits of positive agreement and of α, where there are any."""
    rng = np.random.default_rng([56, items, raters, round(1000 * share)])
    both, one = (share * certain**power + (1 - share) * 0.02**power for power in (2, 1))
    truth = {"positive": both / one, "krippendorff": (both - one**2) / (one - one**2)}
    wanted: list[tuple[Coefficient, Level]] = [("positive", "nominal"), ("krippendorff", "nominal")]
    covered: dict[str, list[bool]] = {name: [] for name in truth}
    for _ in range(simulations):
        chance = np.where(rng.random(items) < share, certain, 0.02)[:, None]
        reports = (rng.random((items, raters)) < chance).sum(axis=1)
        table = counts_of_kinds(("no", "yes"), np.column_stack([raters - reports, reports]))
        for found in coefficients_of(table, wanted, alpha=0.05):
            if not np.isnan(found.ci_low):
                name = found.coefficient
                covered[name].append(bool(found.ci_low <= truth[name] <= found.ci_high))
    row = {"items": items, "raters": raters, "share": share, "certain": certain}
    row |= {"with_limits": len(covered["positive"])}
    coverages = {name: round(float(np.mean(own)), 3) for name, own in covered.items()}
    return row | {"coverage": coverages["positive"], "of_alpha": coverages["krippendorff"]}


def clusters(number: int, simulations: int) -> dict[str, float]:
    """Return the coverage of the limits of a mean over clusters with skewed means."""
    rng = np.random.default_rng([49, number])
    tables = []
    for _ in range(simulations):
        sizes = rng.geometric(0.2, number)
        tables.append((rng.binomial(10 * sizes, rng.beta(2, 0.5, number)) / 10, sizes, None))
    found = unit_means(tables, limits=(0, 1))
    covered = [bool(one.ci_low <= 0.8 <= one.ci_high) for one in found]
    return {"clusters": number, "coverage": round(float(np.mean(covered)), 3)}


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


def grades(items: int, cut: float, simulations: int) -> dict[str, float]:
    """Return the coverage of the limits of coefficients of five grades by two raters."""
    rng = np.random.default_rng([51, items, round(10 * cut)])

    def drawn(number: int, n_resamples: int) -> list[Agreement]:
        latent = rng.standard_normal((number, 1)) + 0.7 * rng.standard_normal((number, 2))
        grade = (latent[:, :, None] > cut + np.array([-1.2, -0.3, 0.5, 1.3])).sum(axis=2)
        table = counts_of_kinds((0, 1, 2, 3, 4), np.eye(5, dtype=int)[grade].sum(axis=1))
        return [*coefficients_of(table, OF_GRADES, alpha=0.05, n_resamples=n_resamples)]

    truth, covered = [own.estimate for own in drawn(200_000, 1)], np.zeros(len(OF_GRADES))
    for _ in range(simulations):
        found = zip(truth, drawn(items, 999), strict=True)
        covered += [own.ci_low <= one <= own.ci_high for one, own in found]
    shares = zip(_NAMES_OF_GRADES, (covered / simulations).round(3).tolist(), strict=True)
    return {"items": items, "cut": cut} | dict(shares)


def rare_grades(
    items: int, raters: int, rare: float, grades: int, simulations: int
) -> dict[str, float]:
    """Return the coverage of limits if few items have high grades, from all raters."""
    rng = np.random.default_rng([57, items, raters, round(1000 * rare), grades])

    def drawn(number: int, n_resamples: int) -> list[Agreement]:
        size = (number, raters)
        stray = np.where(rng.random(size) < 0.02, rng.integers(1, grades, size), 0)
        own, other = np.where(rng.random(number) < 0.5, 1, 2), rng.random(size) < 0.2
        high = grades - np.where(other, 3 - own[:, None], own[:, None])
        grade = np.where(rng.random((number, 1)) < rare, high, stray)
        counts = np.eye(grades, dtype=int)[grade].sum(axis=1)
        table = counts_of_kinds(tuple(range(grades)), counts)
        return [*coefficients_of(table, OF_GRADES, alpha=0.05, n_resamples=n_resamples)]

    truth = [own.estimate for own in drawn(200_000, 1)]
    covered: list[list[bool]] = [[] for _ in OF_GRADES]
    for _ in range(simulations):
        for one, own, cover in zip(truth, drawn(items, 999), covered, strict=True):
            if not np.isnan(own.ci_low):
                cover.append(own.ci_low <= one <= own.ci_high)
    row = {"items": items, "raters": raters, "rare": rare, "grades": grades}
    row |= {"with_limits": len(covered[0])}
    shares = [round(float(np.mean(cover)), 3) for cover in covered]
    return row | dict(zip(_NAMES_OF_GRADES, shares, strict=True))


def reported(items: int, share: float, simulations: int) -> dict[str, float]:
    """Return the coverage of crossed limits if nearly all raters report few items."""
    rng = np.random.default_rng([53, items, round(1000 * share)])
    truth, covered = share * 0.97 + (1 - share) * 0.02, 0
    item, rater = np.repeat(np.arange(items), 10), np.tile(np.arange(10), items)
    for _ in range(simulations):
        chance = np.where(rng.random(items) < share, 0.97, 0.02)
        found = crossed_interval((rng.random(len(item)) < chance[item]) * 1.0, item, rater)
        covered += bool(found.ci_low <= truth <= found.ci_high)
    return {"items": items, "reported": share, "coverage": round(covered / simulations, 3)}


def preferred(ratings: int, preferring: int, raters: int, simulations: int) -> dict[str, float]:
    """Return the coverage of crossed limits if few ratings prefer a model, all the same one."""
    rng = np.random.default_rng([54, ratings, preferring, raters])
    # A difference of preferences is twice the mean of 0, ½ and 1, minus 1.
    truth, covered, item = (1 + preferring / ratings) / 2, 0, np.arange(ratings)
    for _ in range(simulations):
        values = (1 + (rng.random(ratings) < preferring / ratings)) / 2
        found = crossed_interval(values, item, rng.permutation(item % raters))
        covered += bool(found.ci_low <= truth <= found.ci_high)
    row = {"ratings": ratings, "preferring": preferring, "raters": raters}
    return row | {"coverage": round(covered / simulations, 3)}


if __name__ == "__main__":
    main()
