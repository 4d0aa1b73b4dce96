"""Measure what `fairstats analyze` needs for many answers: peak memory and wall time.

Answers of a made-up benchmark are written as parquet partitioned by model, one chunk at a time,
into a temporary folder that is removed at the end. `fairstats analyze` then runs on them in a
process of its own, whose peak resident memory is measured. The result is added to a JSON file,
under the engine and the number of answers.

    python benchmarks/scale.py                                        # 100 million, DuckDB
    python benchmarks/scale.py --engine spark --answers 10000000
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import math
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

RESULTS = Path(__file__).with_name("results") / "scale.json"
MODELS = [f"model-{number:02}" for number in range(1, 13)]
STRATEGIES = ("plain", "cot", "counterfactual", "adversarial")
VERSIONS = ("1", "2")
GROUPS = {
    "race": ("white", "black"),
    "sex": ("male", "female"),
    "ses": ("high_income", "low_income"),
    "baseline": ("original", "neutralized"),
}
VARIANTS = [(attribute, group) for attribute, groups in GROUPS.items() for group in groups]
OPTIONS = ("A", "B", "C", "D")
CHUNK_ITEMS = 100_000
GIB = 2**30


def write_benchmark(folder: Path, keys: np.ndarray) -> Path:
    """A benchmark of as many items as there are keys; the path of its .toml."""
    with (folder / "keys.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["item_id", "answer_key"])
        rows.writerows((item_id(i), OPTIONS[key]) for i, key in enumerate(keys))
    lines = [
        'name = "scale"',
        'title = "Scale"',
        'description = "Made-up items that measure the machine."',
        f"options = {json.dumps(OPTIONS)}",
        'keys_file = "keys.csv"',
        'missing = "available"',
        "equivalence_margin = 0.02",
        'sources = ["benchmarks/scale.py"]',
        'licence = "CC0"',
        'citation = "none"',
        "[versions]",
        *(f'{name} = "version {name}"' for name in VERSIONS),
    ]
    for attribute, (a, b) in GROUPS.items():
        lines += [
            f"[attributes.{attribute}]",
            f'label = "{attribute}"',
            f'groups = {{ {a} = "{a}", {b} = "{b}" }}',
            f'pairs = [["{a}", "{b}"]]',
        ]
    path = folder / "scale.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def item_id(number: int) -> str:
    return f"scale-{number:07}"


def write_answers(folder: Path, keys: np.ndarray) -> int:
    """One file a unit in a folder a model; the number of rows written."""
    draw = np.random.default_rng(1)
    written = 0
    for model in MODELS:
        place = folder / f"model={model}"
        place.mkdir(parents=True)
        for name in VERSIONS:
            for strategy in STRATEGIES:
                path = place / f"{name}-{strategy}.parquet"
                written += write_unit(path, keys, name, strategy, model, draw)
    return written


def write_unit(
    path: Path,
    keys: np.ndarray,
    benchmark_version: str,
    strategy: str,
    model: str,
    draw: np.random.Generator,
) -> int:
    writer = None
    rows = 0
    for start in range(0, len(keys), CHUNK_ITEMS):
        table = unit_answers(
            keys[start : start + CHUNK_ITEMS], start, benchmark_version, strategy, model, draw
        )
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
        rows += len(table)
    assert writer is not None
    writer.close()
    return rows


def unit_answers(
    keys: np.ndarray,
    first_item: int,
    benchmark_version: str,
    strategy: str,
    model: str,
    draw: np.random.Generator,
) -> pa.Table:
    """The answers to all variants of some items; each item is easier or harder for all groups."""
    items, variants = len(keys), len(VARIANTS)
    n = items * variants
    key = np.repeat(keys, variants)
    easy = np.repeat(draw.beta(4, 1.5, items), variants)
    correct = draw.random(n) < easy
    wrong = (key + draw.integers(1, len(OPTIONS), n)) % len(OPTIONS)
    missing = draw.random(n) < 0.01
    answer = np.where(correct, key, wrong)
    every = np.arange(n) % variants

    def texts(codes: np.ndarray, values: list[str], mask: np.ndarray | None = None) -> pa.Array:
        indices = pa.array(codes.astype("int32"), mask=mask)
        return pa.DictionaryArray.from_arrays(indices, pa.array(values))

    def constant(value: str) -> pa.Array:
        return texts(np.zeros(n), [value])

    table = pa.table(
        {
            "benchmark": constant("scale"),
            "benchmark_version": constant(benchmark_version),
            "strategy": constant(strategy),
            "item_id": texts(
                np.repeat(np.arange(items), variants),
                [item_id(first_item + number) for number in range(items)],
            ),
            "attribute": texts(every, [attribute for attribute, _ in VARIANTS]),
            "group": texts(every, [group for _, group in VARIANTS]),
            "sample": pa.array(np.zeros(n, dtype="int64")),
            "answer": texts(answer, list(OPTIONS), mask=missing),
            "answer_key": texts(key, list(OPTIONS)),
            "status": texts(missing, ["ok", "unparsed"]),
            "snapshot": constant(f"{model}-2026-11"),
        }
    )
    # Neighbouring variants would be folded before they take any room; nothing promises that order.
    return table.take(draw.permutation(n))


def measured(command: list[str]) -> tuple[float, int]:
    """Wall time in seconds and peak resident memory in bytes of a command and its children."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    sampled = 0
    while process.poll() is None:
        with contextlib.suppress(psutil.Error):
            whole = psutil.Process(process.pid)
            # Summed: Spark's Java runs beside its Python.
            family = [whole, *whole.children(recursive=True)]
            sampled = max(sampled, sum(member.memory_info().rss for member in family))
        time.sleep(0.2)
    seconds = time.monotonic() - started
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    # What the system counted has no gaps between samples, but is of the largest process alone.
    counted = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return seconds, max(sampled, counted * (1 if sys.platform == "darwin" else 1024))


def record(result: dict[str, object]) -> None:
    """Put a result into the file, in place of an older one of the same engine and size."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    same = ("engine", "answers")
    kept = [old for old in kept if any(old[name] != result[name] for name in same)]
    RESULTS.parent.mkdir(exist_ok=True)
    text = json.dumps([*kept, result], indent=2)
    RESULTS.write_text(f"{text}\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, default=100_000_000, help="at least so many")
    parser.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb")
    parser.add_argument("--memory-limit", default="300MB", help="DuckDB's (300MB)")
    chosen = parser.parse_args()
    an_item = len(MODELS) * len(VERSIONS) * len(STRATEGIES) * len(VARIANTS)
    keys = np.random.default_rng(0).integers(0, len(OPTIONS), math.ceil(chosen.answers / an_item))
    with tempfile.TemporaryDirectory(prefix="fairstats-scale-") as name:
        folder = Path(name)
        benchmark = write_benchmark(folder, keys)
        rows = write_answers(folder / "answers", keys)
        print(f"{rows:,} answers of {len(keys):,} items; analysing with {chosen.engine} ...")
        command = [sys.executable, "-m", "fairstats.cli", "analyze", str(folder / "answers")]
        command += ["--benchmark", str(benchmark), "--csv", "--engine", chosen.engine]
        seconds, peak = measured([*command, "--memory-limit", chosen.memory_limit])
    package = {"duckdb": "duckdb", "spark": "pyspark"}[chosen.engine]
    result = {
        "engine": chosen.engine,
        "answers": rows,
        "items": len(keys),
        "seconds": round(seconds, 1),
        "peak_memory_gib": round(peak / GIB, 2),
        "memory_limit": chosen.memory_limit if chosen.engine == "duckdb" else None,
        "machine": {
            "cores": os.cpu_count(),
            "memory_gib": round(psutil.virtual_memory().total / GIB, 1),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "versions": {
            "python": platform.python_version(),
            **{each: version(each) for each in (package, "narwhals", "pandas")},
        },
    }
    print(json.dumps(result, indent=2))
    record(result)


if __name__ == "__main__":
    main()
