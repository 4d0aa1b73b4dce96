"""Make the reference values in this folder with ppi-python and evalstats.

In a separate environment: pip install ppi-python==0.2.3 evalstats==0.3.3; python make.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from evalstats import judge_debias_mean_ci
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

HERE = Path(__file__).parent


def ratings() -> pd.DataFrame:
    """Return ratings of 400 units: reported or not, and a grade; people's of the first 80."""
    rng = np.random.default_rng(11)
    rows = []
    for kind in ("good", "strict", "useless", "grade"):
        truth = rng.random(400) < 0.3
        u = rng.random(400)
        judge = {
            "good": np.where(truth, u < 0.85, u < 0.1),
            "strict": np.where(truth, u < 0.98, u < 0.4),
            "useless": u < 0.3,
            "grade": np.clip(0.3 + 0.4 * truth + 0.15 * rng.normal(size=400), 0, 1),
        }[kind]
        people = truth
        if kind == "grade":
            people = np.clip(judge - 0.1 + 0.2 * rng.normal(size=400), 0, 1)
        rows.append(
            pd.DataFrame(
                {
                    "kind": kind,
                    "people": np.where(np.arange(400) < 80, people, np.nan).round(6),
                    "judge": judge.astype(float).round(6),
                }
            )
        )
    return pd.concat(rows, ignore_index=True)


def main() -> None:
    """Write the ratings, and one row per kind of judge."""
    table = ratings()
    table.to_csv(HERE / "ratings.csv", index=False)
    rows = []
    for kind, own in table.groupby("kind", sort=False):
        there = own["people"].notna()
        y, f = own.loc[there, "people"].to_numpy(), own.loc[there, "judge"].to_numpy()
        rest = own.loc[~there, "judge"].to_numpy()
        low, high = ppi_mean_ci(y, f, rest, alpha=0.05)
        other = judge_debias_mean_ci(own["judge"].to_numpy(), own["people"].to_numpy())
        rows.append(
            {
                "kind": kind,
                "ppi_estimate": float(np.squeeze(ppi_mean_pointestimate(y, f, rest))),
                "ppi_low": float(np.squeeze(low)),
                "ppi_high": float(np.squeeze(high)),
                "evalstats_mean": other.mean,
                "evalstats_low": other.ci_low,
                "evalstats_high": other.ci_high,
            }
        )
    pd.DataFrame(rows).to_csv(HERE / "means.csv", index=False)


main()
