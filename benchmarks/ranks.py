"""Measure how long the ranks of a board take, by its number of models and its missing answers.

The answers are made up: items with three demographic pairs and a neutralized variant, which most
models answer alike. A share of the answers is missing. With ``--partial`` a share of the items
lacks one of the pairs, which gives the pairs unlike weights. Without it the seconds go into a file.

    python benchmarks/ranks.py                    # 10, 54 and 100 models, 801 items
    python benchmarks/ranks.py --models 20 --partial 0.25
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.comparisons.ranking import rank_boards

RESULTS = Path(__file__).with_name("results") / "ranks.json"
OPTIONS = ("A", "B", "C", "D")
GROUPS = {
    "race": ("white", "black"),
    "sex": ("male", "female"),
    "ses": ("high_income", "low_income"),
    "baseline": ("original", "neutralized"),
}
VARIANTS = [(attribute, group) for attribute, groups in GROUPS.items() for group in groups]


def write_benchmark(folder: Path, items: int) -> Benchmark:
    """Declare a benchmark of so many items; the key is always A."""
    keys = "".join(f"item-{number},{OPTIONS[number % 4]}\n" for number in range(items))
    (folder / "keys.csv").write_text(f"item_id,answer_key\n{keys}", encoding="utf-8")
    lines = [
        'name = "ranks"',
        'title = "Ranks"',
        'description = "Made-up items that measure the machine."',
        f"options = {json.dumps(OPTIONS)}",
        'keys_file = "keys.csv"',
        'missing = "available"',
        "equivalence_margin = 0.02",
        'sources = ["benchmarks/ranks.py"]',
        'licence = "CC0"',
        'citation = "none"',
        "[versions]",
        '1 = "the only one"',
    ]
    for attribute, (a, b) in GROUPS.items():
        lines += [
            f"[attributes.{attribute}]",
            f'label = "{attribute}"',
            f'groups = {{ {a} = "{a}", {b} = "{b}" }}',
            f'pairs = [["{a}", "{b}"]]',
        ]
    path = folder / "ranks.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return load_benchmark(path)


def draw_answers(models: int, items: int, *, missing: float, partial: float) -> pd.DataFrame:
    """Draw the answers of models whose accuracy and disparity differ by little."""
    draw = np.random.default_rng(1)
    keys = np.arange(items) % 4
    difficulty = draw.normal(0, 1, (items, 1))
    tables = []
    for model in range(models):
        skill = 0.8 + 0.4 * draw.random()
        shift = draw.normal(0.1, 0.1, 3)
        # One shift for the second group of each pair; baseline variants are the same.
        effect = np.concatenate([np.stack([np.zeros(3), shift], axis=1).ravel(), np.zeros(2)])
        noise = draw.normal(0, 0.5, (items, len(VARIANTS)))
        right = difficulty + noise < skill - effect
        letter = np.where(
            right, keys[:, None], (keys[:, None] + draw.integers(1, 4, right.shape)) % 4
        )
        given = draw.random(right.shape) >= missing
        asked = np.ones(right.shape, dtype=bool)
        asked[: round(partial * items), 4:6] = False
        place, variant = np.nonzero(asked)
        answer = pd.Series(np.array(OPTIONS)[letter[place, variant]], dtype="str")
        answer = answer.where(given[place, variant])
        tables.append(
            pd.DataFrame(
                {
                    "benchmark": "ranks",
                    "benchmark_version": "1",
                    "model": f"model-{model:03}",
                    "strategy": "plain",
                    "item_id": np.char.add("item-", place.astype(str)),
                    "attribute": np.array([a for a, _ in VARIANTS])[variant],
                    "group": np.array([g for _, g in VARIANTS])[variant],
                    "sample": 0,
                    "answer": answer,
                    "answer_key": np.array(OPTIONS)[keys[place]],
                    "status": np.where(answer.notna(), "ok", "unparsed"),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, nargs="+", default=[10, 54, 100])
    parser.add_argument("--items", type=int, default=801)
    parser.add_argument("--missing", type=float, default=0.01, help="share of answers (0.01)")
    parser.add_argument("--partial", type=float, default=0.0, help="items without a pair (0)")
    parser.add_argument("--metrics", nargs="+", default=["ad", "cfr", "accuracy"])
    chosen = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="fairstats-ranks-") as name:
        benchmark = write_benchmark(Path(name), chosen.items)
        for models in chosen.models:
            given = {"missing": chosen.missing, "partial": chosen.partial}
            answers = draw_answers(models, chosen.items, **given)
            for metric in chosen.metrics:
                started = time.monotonic()
                ranking = rank_boards(answers, metric, benchmarks=[benchmark])
                seconds = time.monotonic() - started
                row = {
                    "models": models,
                    "metric": metric,
                    "comparisons": len(ranking.differences),
                    "differ": int(ranking.differences["differ"].sum()),
                    "seconds": round(seconds, 1),
                }
                print(row, flush=True)
                rows.append(row)
    result = {
        "items": chosen.items,
        "pairs": 3,
        "missing": chosen.missing,
        "partial": chosen.partial,
        "machine": {
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "boards": rows,
    }
    if chosen.partial == 0:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(f"{json.dumps(result, indent=2)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
