"""Benchmarks of decisions, levels and scores for tests: what each declares, and its answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from tests.make_answers import make_answers

DECLARED = {
    "decision": 'kind = "decision"\noptions = ["Y", "M", "N"]\nfavourable = ["Y"]',
    "level": 'kind = "level"\noptions = [1, 2, 3, 4, 5]',
    "score": 'kind = "score"\nlimits = [0, 9]',
}
#: The signs of answers in the texts of `make_answers`.
SIGNS = {"decision": "YMN", "level": "12345", "score": "0123456789"}
#: Race with one pair of groups.
ONE_PAIR = """[attributes.race]
label = "Race"
groups = { white = "White", black = "Black" }
pairs = [["white", "black"]]"""
#: Sex with one pair of groups.
SEX = """[attributes.sex]
label = "Sex"
groups = { male = "Male", female = "Female" }
pairs = [["male", "female"]]
"""
#: A control with one pair.
PLACEBO = """[attributes.placebo]
label = "Placebo"
control = true
groups = { car = "Car", none = "None" }
pairs = [["car", "none"]]"""
CONTROLLED = f"{ONE_PAIR}\n\n{PLACEBO}"
#: Race and sex that only have the variants of an attribute that crosses them.
CROSSED = f"""{ONE_PAIR}

{SEX}
[attributes.race_sex]
label = "Race and sex"
crosses = ["race", "sex"]
groups = {{ wm = "White men", bm = "Black men", wf = "White women", bf = "Black women" }}
pairs = []

[attributes.race_sex.levels]
wm = ["white", "male"]
bm = ["black", "male"]
wf = ["white", "female"]
bf = ["black", "female"]
"""


def declared(benchmark_file: Callable[..., Path], kind: str, **replaced: str) -> Benchmark:
    """Return a benchmark of one kind, without a key and a baseline unless parts are replaced."""
    parts = {"options": DECLARED[kind], "keys_file": "", "baseline": ""}
    return load_benchmark(benchmark_file(**parts | replaced))


def answers_to(benchmark: Benchmark, items: list[str], **columns: Any) -> pd.DataFrame:
    """Return answers for White and Black; one text of two signs per item."""
    return make_answers(items, benchmark=benchmark.name, **{"answer_key": None} | columns)
