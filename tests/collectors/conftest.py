"""A benchmark for files that tests of BiasMedQA make, and a server in a separate process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from fairstats_collectors.biasmedqa import item_id

from fairstats.benchmarks.loading import load_benchmark
from tests.serving import benchmark_script


@pytest.fixture
def questions(benchmark_file: Callable[..., Path]) -> Callable[[Mapping[str, str]], Path]:
    """Return a benchmark with BiasMedQA's biases, and the questions with these options and keys."""

    def declare(keys: Mapping[str, str]) -> Path:
        rows = [f"{item_id(options, key)},{key}" for options, key in keys.items()]
        biases = load_benchmark("biasmedqa").attributes["bias"].groups
        groups = ", ".join(f'{bias} = "{bias}"' for bias in biases)
        attribute = f'[attributes.bias]\nlabel = "Bias"\ngroups = {{ {groups} }}\n'
        return benchmark_file(
            "\n".join(["item_id,answer_key", *rows]),
            options='options = ["A", "B", "C", "D", "E"]',
            race=f'{attribute}pairs = [["none", "recency"]]',
            baseline="",
        )

    return declare


@pytest.fixture(scope="module")
def bench() -> Any:
    """Return the script that times collecting, with its server and its benchmarks of any size."""
    return benchmark_script("collect")


@pytest.fixture(scope="module")
def address(bench: Any) -> Iterator[str]:
    with bench.loopback(delay=0.005) as url:
        yield url
