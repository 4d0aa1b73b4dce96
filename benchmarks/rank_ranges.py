"""Compare ways to adjust the comparisons behind rank ranges, by simulation.

Models answer the same items; a model is right if a normal variable, shared by all models with
correlation `CORRELATION`, is above its cut. Every two models are compared by the standardised sum
of their differences. Compared are

- ``holm``: Holm's adjustment over all pairs, as in `fairstats.rank_models`;
- ``step_down``: the step-down procedure of Romano and Wolf over the joint distribution of all
  pairs, by flipping whole items (Mogstad, Romano, Shaikh and Wilhelm 2024);
- ``own_rank``: for each model the joint distribution of its own comparisons alone. This is no
  simultaneous set: each range has its own 95%;
- ``unadjusted``: every comparison at 5%.

``error`` is how often any comparison errs (for `own_rank`, how often the range of a model does not
contain its rank), ``width`` the mean width of the ranges, and ``best`` the mean worst rank of the
model with the highest accuracy.

    python benchmarks/rank_ranges.py    # writes results/rank_ranges.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from fairstats.inference.multiplicity import adjust_pvalues, rank_sets

OUT = Path(__file__).resolve().parent / "results" / "rank_ranges.json"
ITEMS, CORRELATION, FLIPS, ALPHA = 801, 0.6, 999, 0.05
# Models, the lowest and the highest accuracy, and the number of boards.
DESIGNS = ((12, 0.8, 0.8, 400), (12, 0.6, 0.9, 400), (50, 0.6, 0.9, 50), (200, 0.6, 0.9, 8))
METHODS = ("holm", "step_down", "own_rank", "unadjusted")


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate all designs and write their rows."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="JSON file to write")
    out = parser.parse_args(arguments).out
    rows = [row for design in DESIGNS for row in compared(*design)]
    lines = ",\n".join(json.dumps(row) for row in rows)
    text = f'{{"items": {ITEMS}, "correlation": {CORRELATION}, "designs": [\n{lines}\n]}}\n'
    out.write_text(text, encoding="utf-8")


def compared(models: int, lowest: float, highest: float, boards: int) -> list[dict[str, object]]:
    """Return one row per method for boards of so many models."""
    rng = np.random.default_rng([43, models, round(100 * lowest)])
    true = np.linspace(highest, lowest, models)
    found = {method: np.zeros(3) for method in METHODS}
    for _ in range(boards):
        latent = np.sqrt(CORRELATION) * rng.standard_normal((ITEMS, 1))
        latent = latent + np.sqrt(1 - CORRELATION) * rng.standard_normal((ITEMS, models))
        right = (latent > stats.norm.isf(true)).astype(float)
        for method, shown in decisions(right, rng).items():
            found[method] += outcome(right.sum(axis=0), shown, true, method)
    return [
        {"models": models, "accuracy": [lowest, highest], "boards": boards, "method": method}
        | dict(zip(("error", "width", "best"), (sums / boards).round(3).tolist(), strict=True))
        for method, sums in found.items()
    ]


def decisions(right: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return which models each method shows to differ, (models, models)."""
    totals, products = right.sum(axis=0), right.T @ right
    squares = np.diag(products)[:, None] + np.diag(products) - 2 * products
    deviation = np.sqrt(np.maximum(squares, 1e-9))
    size = np.abs(totals[:, None] - totals) / deviation
    flips = rng.choice([-1.0, 1.0], (FLIPS, len(right))) @ right
    first, second = np.triu_indices(len(totals), 1)
    p_values = 2 * stats.norm.sf(size[first, second])
    holm = np.zeros(size.shape, dtype=bool)
    holm[first, second] = adjust_pvalues(p_values) <= ALPHA
    is_open, own = np.triu(np.ones(size.shape, dtype=bool), 1), np.empty((FLIPS, len(totals)))
    while True:
        largest = np.empty(FLIPS)
        for number, flip in enumerate(flips):
            flipped = np.abs(flip[:, None] - flip) / deviation
            largest[number] = flipped[is_open].max(initial=0)
            own[number] = flipped.max(axis=1)
        shown = is_open & (size > np.quantile(largest, 1 - ALPHA, method="higher"))
        if not shown.any():
            break
        is_open &= ~shown
    of_own = size > np.quantile(own, 1 - ALPHA, axis=0, method="higher")[:, None]
    return {
        "holm": holm | holm.T,
        "step_down": ~(is_open | is_open.T),
        "own_rank": of_own,
        "unadjusted": size > stats.norm.isf(ALPHA / 2),
    }


def outcome(totals: np.ndarray, shown: np.ndarray, true: np.ndarray, method: str) -> np.ndarray:
    """Return the error, the mean width of the ranges and the worst rank of the best model."""
    k = len(totals)
    better = shown & (totals[None, :] > totals[:, None])
    worse = shown & (totals[None, :] < totals[:, None])
    low, high = 1 + better.sum(axis=1), k - worse.sum(axis=1)
    if method == "holm":
        found = rank_sets(totals, np.where(shown, 0.0, 1.0))
        assert (found.rank_low == low).all()
        assert (found.rank_high == high).all()
    wrong = shown & ((true[None, :] == true[:, None]) | (better & (true[None, :] < true[:, None])))
    wrong[np.diag_indices(k)] = False
    error = float(wrong.any())
    if method == "own_rank":
        above = (true[None, :] > true[:, None]).sum(axis=1)
        below = (true[None, :] < true[:, None]).sum(axis=1)
        error = float(((low > 1 + above) | (high < k - below)).mean())
    return np.array([error, float((high - low).mean()), float(high[totals.argmax()])])


if __name__ == "__main__":
    main()
