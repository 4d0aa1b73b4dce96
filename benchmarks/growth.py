"""Measure how screening, estimates, ranks and all tables grow with the models of a board.

The answers of independent models are drawn from an item response model: a model answers an item
correctly with probability logistic(ability − difficulty − shift), where the shift differs between
the groups of an item. Each function runs in a process of its own, whose time and peak memory are
measured, on the same answers. The result is written to results/growth.json.

    python benchmarks/growth.py                        # 50, 100 and 200 models
    python benchmarks/growth.py --models 20 --out -    # printed only
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from fairstats.benchmarks.loading import load_benchmark

RESULTS = Path(__file__).with_name("results") / "growth.json"
#: What is measured, by name: each takes answers.
TASKS = ("analyze", "rank", "sensitivity", "screen", "tables")


def board(models: int, *, seed: int = 1, missing: float = 0.01) -> pd.DataFrame:
    """Draw the answers of independent models to all variants of FairMedQA's 801 items."""
    rng = np.random.default_rng(seed)
    benchmark = load_benchmark("fairmedqa")
    items, variants = list(benchmark.answer_keys), list(benchmark.variants)
    options = np.array(list(benchmark.options))
    key = pd.Index(options).get_indexer(list(benchmark.answer_keys.values()))
    difficulty = rng.normal(0, 1, len(items))
    # The shift of each variant of an item is the same for all models.
    shift = rng.normal(0, 0.4, (len(items), len(variants)))
    ability = rng.normal(1, 0.7, models)
    logit = ability[:, None, None] - difficulty[None, :, None] - shift[None]
    shape = (models, len(items), len(variants))
    correct = rng.random(shape) < 1 / (1 + np.exp(-logit))
    wrong = (key[None, :, None] + rng.integers(1, len(options), shape)) % len(options)
    answer = np.where(correct, key[None, :, None], wrong)
    answer[rng.random(shape) < missing] = -1

    def column(values: list[str], axis: int) -> pd.Categorical:
        codes = np.broadcast_to(
            np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(3)]), shape
        )
        return pd.Categorical.from_codes(codes.ravel(), pd.Index(values))

    def variant(place: int) -> pd.Categorical:
        texts = [one[place] for one in variants]
        names = list(dict.fromkeys(texts))
        codes = np.broadcast_to([names.index(text) for text in texts], shape)
        return pd.Categorical.from_codes(codes.ravel(), names)

    keys = np.broadcast_to(key[None, :, None], shape)
    table = {
        "benchmark": "fairmedqa",
        "benchmark_version": "gpt-agent",
        "model": column([f"model-{i:03}" for i in range(models)], 0),
        "strategy": "plain",
        "sample": 0,
        "item_id": column(items, 1),
        "attribute": variant(0),
        "group": variant(1),
        "answer": pd.Categorical.from_codes(answer.ravel(), options),
        "status": pd.Categorical.from_codes((answer.ravel() < 0).astype(int), ["ok", "unparsed"]),
        "answer_key": pd.Categorical.from_codes(keys.ravel(), options),
    }
    texts = [name for name in table if name != "sample"]
    return pd.DataFrame(table).astype(dict.fromkeys(texts, "str"))


def run(task: str, path: str) -> None:
    """Run one task on stored answers; print its seconds and how much memory it added."""
    from fairstats.answers.engine_frames import open_answers
    from fairstats.comparisons.ranking import rank_boards
    from fairstats.estimates.analyze import analyze
    from fairstats.estimates.specifications import sensitivity_of
    from fairstats.release.tables import ReleaseInputs, tables_of
    from fairstats.screening.screen import screen_opened

    answers = pd.read_parquet(path)
    known = {"fairmedqa": load_benchmark("fairmedqa")}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, cpu = time.perf_counter(), time.process_time()
    if task == "analyze":
        analyze(answers)
    elif task == "rank":
        rank_boards(answers)
    elif task == "sensitivity":
        sensitivity_of(answers, None, 0.05, known)
    elif task == "screen":
        screen_opened(open_answers(answers, known))
    else:
        # CPU time and memory are those of the first of two processes.
        tables_of(ReleaseInputs.of_answers(answers, None, 0.05, known))
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = {"seconds": seconds, "cpu_seconds": cpu}
    result |= {"peak_mb": peak / 1024, "added_mb": (peak - before) / 1024}
    print(json.dumps({name: round(value, 2) for name, value in result.items()}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, nargs="+", default=[50, 100, 200])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--out", default=str(RESULTS), help="a file, or - for none")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.run:
        run(*chosen.run)
        return
    found: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="fairstats-growth-") as folder:
        for models in chosen.models:
            path = Path(folder) / f"{models}.parquet"
            answers = board(models)
            answers.to_parquet(path)
            for task in chosen.tasks:
                command = [sys.executable, __file__, "--run", task, str(path)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                row = {"models": models, "answers": len(answers), "task": task}
                found.append(row | json.loads(done.stdout))
                print(json.dumps(found[-1]))
    if chosen.out != "-":
        machine = {"python": platform.python_version(), "pandas": pd.__version__}
        text = json.dumps({"machine": machine, "results": found}, indent=2)
        Path(chosen.out).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
