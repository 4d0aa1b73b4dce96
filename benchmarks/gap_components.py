"""Measure how often the limits of `gap_components` cover, by simulation.

Each design draws items and models from the same populations. With ``outlying``, one model in ten
has a gap that is larger by so much; otherwise the models' gaps are normal. With ``swayed``, such a
share of the items sways all models, and the others differ in 2% by chance. ``interval`` is the
share of intervals that contain the mean of the populations. ``same_items`` and ``new_items`` are
the shares of prediction limits that contain the observed gap of one more model. ``meta_analysis``
is the average of the standard deviation between models that a random-effects meta-analysis
(DerSimonian and Laird) of the models' gaps finds, ``model_sd`` the one of `gap_components`, and
``true_sd`` the true one.

    python benchmarks/gap_components.py    # writes benchmarks/results/gap_components.csv
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from statsmodels.stats.meta_analysis import combine_effects

from fairstats.inference.variance_components import gap_components

RESULTS = Path(__file__).parent / "results" / "gap_components.csv"
REPEATS = 1000
DISCORDANT = 0.5
GAP = 0.05
# The share of outlying models.
OUTLYING = 0.1


def drawn(rng, items, models, item_sd, model_sd, outlying=0.0):
    """Draw differences of items × models, from −1, 0 and 1."""
    shift = GAP + rng.normal(0, item_sd, items)[:, None] + rng.normal(0, model_sd, models)
    if outlying:
        shift += outlying * (rng.random(models) < OUTLYING)
    shift = np.clip(shift, -DISCORDANT, DISCORDANT)
    u = rng.random((items, models))
    return (u < (DISCORDANT + shift) / 2).astype(int) - (u > 1 - (DISCORDANT - shift) / 2)


def swayed_alike(rng, items, models, swayed):
    """Draw differences of items × models, of which so many items sway all models."""
    chance = rng.choice([-1, 0, 1], (items, models), p=[0.01, 0.98, 0.01])
    return np.where(rng.random((items, 1)) < swayed, 1, chance)


def measured(rng, items, models, item_sd, model_sd, outlying=0.0, swayed=0.0, repeats=REPEATS):
    """Return the shares of covering limits in one design."""
    covered, sds, truth = [], [], swayed or GAP + OUTLYING * outlying
    for _ in range(repeats):
        # The same model on new items: a model's effect is drawn with its table.
        first, other = (
            swayed_alike(rng, items, many, swayed)
            if swayed
            else drawn(rng, items, many, item_sd, model_sd, outlying)
            for many in (models + 1, 1)
        )
        d, new = first[:, :-1], first[:, -1].mean()
        found = gap_components(d)
        covered.append(
            (
                found.ci_low <= truth <= found.ci_high,
                found.same_items_low <= new <= found.same_items_high,
                found.new_items_low <= other.mean() <= found.new_items_high,
            )
        )
        variances = np.maximum(d.var(axis=0, ddof=1) / items, 1e-12)
        with np.errstate(invalid="ignore"):
            pooled = combine_effects(d.mean(axis=0), variances, method_re="dl")
        sds.append((found.model_variance, pooled.tau2))
    shares = np.mean(covered, axis=0)
    # Averages of variances, since roots of unbiased variances are biased.
    model, meta = np.sqrt(np.maximum(np.mean(sds, axis=0), 0))
    return dict(
        zip(("interval", "same_items", "new_items"), shares.round(4), strict=True),
        true_sd=round((model_sd**2 + OUTLYING * (1 - OUTLYING) * outlying**2) ** 0.5, 4),
        model_sd=round(float(model), 4),
        meta_analysis=round(float(meta), 4),
    )


if __name__ == "__main__":
    rng = np.random.default_rng(7)
    rows = [
        {"items": items, "models": models, "item_sd": item_sd, "outlying": outlying, "swayed": 0.0}
        | measured(rng, items, models, item_sd, model_sd, outlying)
        for outlying, sizes in (
            (0.0, ((100, 5), (100, 12), (400, 5), (400, 12))),
            (0.1, ((400, 5), (400, 12), (400, 30))),
            (0.3, ((400, 5), (400, 12), (400, 30))),
        )
        for items, models in sizes
        for item_sd in ((0.0, 0.2) if not outlying else (0.2,))
        for model_sd in ((0.0, 0.03) if not outlying else (0.03,))
    ]
    rows += [
        {"items": items, "models": models, "item_sd": 0.0, "outlying": 0.0, "swayed": 0.05}
        | measured(rng, items, models, 0.0, 0.0, swayed=0.05)
        for items in (50, 100, 200, 800)
        for models in (5, 12)
    ]
    pd.DataFrame(rows).to_csv(RESULTS, index=False)
    print(pd.DataFrame(rows).to_string(index=False))
