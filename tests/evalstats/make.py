"""Make the reference values in this folder with evalstats, on invented scores.

In a separate environment: pip install evalstats==0.3.3; python make.py
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
from evalstats.core.paired import pairwise_differences

HERE = Path(__file__).parent
LEVELS = ("plain", "reasoning", "examples", "role")
SCORES = ("correct", "grade", "similarity")


def scores() -> pd.DataFrame:
    """Return scores of 60 items at four levels: right or wrong, a grade, a similarity."""
    rng = np.random.default_rng(20)
    hard = rng.normal(size=(60, 1))
    latent = np.array([0.0, 0.9, 0.3, 0.0]) - hard + rng.normal(size=(60, 4))
    table = pd.DataFrame(
        [(f"q{i:02}", level) for i in range(60) for level in LEVELS], columns=["item", "prompt"]
    )
    table["correct"] = (latent > 0).astype(int).ravel()
    table["grade"] = np.clip(np.round(3 + latent), 1, 5).astype(int).ravel()
    table["similarity"] = (1 / (1 + np.exp(-latent))).round(6).ravel()
    return table


def main() -> None:
    """Write the scores, and one row per score and pair of levels."""
    table = scores()
    table.to_csv(HERE / "scores.csv", index=False)
    pairs = list(itertools.combinations(LEVELS, 2))
    rows = []
    for score in SCORES:
        wide = table.pivot(index="item", columns="prompt", values=score)[list(LEVELS)]
        matrix = wide.to_numpy(float).T
        for a, b in pairs:
            one = pairwise_differences(
                matrix,
                LEVELS.index(a),
                LEVELS.index(b),
                a,
                b,
                method="tango" if score == "correct" else "t_interval",
                rng=np.random.default_rng(1),
            )
            rows.append(
                {
                    "score": score,
                    "level_a": a,
                    "level_b": b,
                    "estimate": one.point_diff,
                    "ci_low": one.ci_low,
                    "ci_high": one.ci_high,
                    "p_value": one.p_value,
                }
            )
    pd.DataFrame(rows).to_csv(HERE / "pairs.csv", index=False)


main()
