"""Copies of benchmark files, with which a release or a report can be recomputed."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from fairstats._lib.safe_names import slug
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark


def copy_benchmarks(benchmarks: Mapping[str, Benchmark], folder: Path) -> None:
    """Copy the benchmark files with their keys, so that the release can be recomputed from them."""
    folder.mkdir()
    for name, benchmark in benchmarks.items():
        text = benchmark.path.read_text(encoding="utf-8")
        keys = f"{slug(name)}.keys.csv"
        with (folder / keys).open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["item_id", "answer_key"])
            rows.writerows(benchmark.answer_keys.items())
        text = re.sub(r"^(items_file|keys_file)\s*=.*\n", "", text, flags=re.MULTILINE)
        text = f'keys_file = "{keys}"\n{text}'
        if benchmark.publish_items and benchmark.items_file is not None:
            items = f"{slug(name)}.items.jsonl"
            shutil.copyfile(benchmark.items_file, folder / items)
            text = f'items_file = "{items}"\n{text}'
        copy = folder / f"{slug(name)}.toml"
        copy.write_text(text, encoding="utf-8")
        if load_benchmark(copy).answer_keys != benchmark.answer_keys:
            raise RuntimeError(f"{copy.name} does not match the benchmark it was copied from")
