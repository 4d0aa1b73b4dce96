"""Measure what publishing answers beyond memory needs, and verifying the release: memory and time.

Answers of simulated models to all eight variants of many items are written as parquet, a chunk of
items at a time, into a temporary folder. `fairstats publish --engine duckdb` and `fairstats verify`
then run on them in processes of their own. The peak memory is that of the largest process, and the
pages are drawn. The results are written to results/publish_scale.json.

    python benchmarks/publish_scale.py                    # 1 and 10 million answers
    python benchmarks/publish_scale.py --items 1250000    # 100 million
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import growth
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fairstats.benchmarks.loading import load_benchmark

RESULTS = Path(__file__).with_name("results") / "publish_scale.json"
CHUNK = 100_000
#: The share of variants that change answers, and the share of their answers that are drawn again.
CHANGING, CHANGED = 0.2, 0.7


def write_answers(items: int, models: int, folder: Path) -> None:
    """Write a benchmark of so many items, and a file of answers per model."""
    keys = np.random.default_rng(2).integers(0, 4, items)
    with (folder / "growth.keys.csv").open("w", encoding="utf-8") as file:
        file.write("item_id,answer_key\n")
        file.writelines(f"{item_id(i)},{'ABCD'[key]}\n" for i, key in enumerate(keys))
    (folder / "growth.toml").write_text(growth.DECLARATION, encoding="utf-8")
    variants = load_benchmark(folder / "growth.toml").variants
    easy = np.random.default_rng(3).beta(4, 1.5, items)
    (folder / "answers").mkdir()
    for model in range(models):
        rng = np.random.default_rng(10 + model)
        writer = None
        for start in range(0, items, CHUNK):
            own = slice(start, min(start + CHUNK, items))
            table = chunk(f"model-{model}", start, keys[own], easy[own], variants, rng)
            path = folder / "answers" / f"{model}.parquet"
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
        if writer is not None:
            writer.close()


def item_id(number: int) -> str:
    return f"item-{number:07}"


def chunk(
    model: str,
    start: int,
    keys: np.ndarray,
    easy: np.ndarray,
    variants: tuple[tuple[str, str], ...],
    rng: np.random.Generator,
) -> pa.Table:
    """Return a model's answers to all variants of some items, in any order."""
    n = len(keys) * len(variants)
    key = np.repeat(keys, len(variants))

    def drawn(easy: np.ndarray, keys: np.ndarray) -> np.ndarray:
        correct = rng.random(len(keys)) < easy
        return np.where(correct, keys, (keys + rng.integers(1, 4, len(keys))) % 4)

    # A model usually gives the variants of an item the same answer. Which of them change answers
    # depends on their text, so models share flips.
    answer = np.repeat(drawn(easy, keys), len(variants))
    changing = np.random.default_rng([4, start]).random(n) < CHANGING
    other = changing & (rng.random(n) < CHANGED)
    answer[other] = drawn(np.repeat(easy, len(variants)), key)[other]
    missing = rng.random(n) < 0.01
    every = np.arange(n) % len(variants)

    def texts(codes: np.ndarray, values: list[str], mask: np.ndarray | None = None) -> pa.Array:
        indices = pa.array(codes.astype("int32"), mask=mask)
        return pa.DictionaryArray.from_arrays(indices, pa.array(values))

    none = np.zeros(n)
    names = [item_id(start + number) for number in range(len(keys))]
    table = pa.table(
        {
            "benchmark": texts(none, ["growth"]),
            "benchmark_version": texts(none, ["1"]),
            "model": texts(none, [model]),
            "strategy": texts(none, ["plain"]),
            "item_id": texts(np.repeat(np.arange(len(keys)), len(variants)), names),
            "attribute": texts(every, [attribute for attribute, _ in variants]),
            "group": texts(every, [group for _, group in variants]),
            "sample": pa.array(np.zeros(n, dtype="int64")),
            "answer": texts(answer, list("ABCD"), mask=missing),
            "answer_key": texts(key, list("ABCD")),
            "status": texts(missing, ["ok", "unparsed"]),
        }
    )
    return table.take(rng.permutation(n))


def measured(*arguments: str) -> dict[str, float]:
    """Return the seconds and the peak memory, in MB, of a command."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "fairstats.cli", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{arguments[0]} failed")
    seconds = time.perf_counter() - started
    return {"seconds": round(seconds), "peak_mb": round(used.ru_maxrss / 1024)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=[12_500, 125_000])
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--memory-limit", default="300MB", help="DuckDB's (300MB)")
    parser.add_argument("--out", default=str(RESULTS), help="a file, or - for none")
    chosen = parser.parse_args()
    found = []
    for items in chosen.items:
        with tempfile.TemporaryDirectory(prefix="fairstats-scale-") as name:
            folder = Path(name)
            write_answers(items, chosen.models, folder)
            engine = ("--engine", "duckdb", "--memory-limit", chosen.memory_limit)
            given = ("--answers", f"{name}/answers", "--benchmark", f"{name}/growth.toml")
            to = ("--release", "1", "--out", f"{name}/site", "--renderer", "builtin")
            row = {"models": chosen.models, "items": items, "answers": items * chosen.models * 8}
            for task, arguments in (
                ("publish", (*given, *engine, *to)),
                ("verify", (f"{name}/site/v/1",)),
            ):
                found.append(row | {"task": task} | measured(task, *arguments))
                print(json.dumps(found[-1]), flush=True)
    if chosen.out != "-":
        Path(chosen.out).write_text(f"{json.dumps(found, indent=2)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
