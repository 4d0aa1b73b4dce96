"""Measure how long the ranks of a board take, by its number of models and its missing answers.

The answers are made up: items with three demographic pairs and a neutralized variant, which most
models answer alike. A share of the answers is missing, and a share of the items is not asked of
one model, which makes its tests draw random swaps. The seconds go into a JSON file.

    python benchmarks/ranks.py                    # 10, 30 and 100 models, 801 items
    python benchmarks/ranks.py --models 54
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

from fairstats.benchmarks import Benchmark, load_benchmark
from fairstats.ranking import rank_boards

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


def draw_answers(models: int, items: int, *, missing: float, unasked: int) -> pd.DataFrame:
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
        asked = np.ones(items, dtype=bool)
        if model == 0 and unasked:
            asked[:unasked] = False
        place, variant = np.nonzero(np.broadcast_to(asked[:, None], right.shape))
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
    parser.add_argument("--models", type=int, nargs="+", default=[10, 30, 100])
    parser.add_argument("--items", type=int, default=801)
    parser.add_argument("--missing", type=float, default=0.01, help="share of answers (0.01)")
    parser.add_argument("--unasked", type=int, default=0, help="items not asked of one model")
    parser.add_argument("--metrics", nargs="+", default=["ad", "cfr", "accuracy"])
    chosen = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="fairstats-ranks-") as name:
        benchmark = write_benchmark(Path(name), chosen.items)
        for models in chosen.models:
            answers = draw_answers(
                models, chosen.items, missing=chosen.missing, unasked=chosen.unasked
            )
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
        "unasked": chosen.unasked,
        "machine": {
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "boards": rows,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(f"{json.dumps(result, indent=2)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
