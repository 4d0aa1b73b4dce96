"""Small benchmarks of decisions, levels and scores, and answers to them, for tests of pages."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark

ITEMS = 40
_SHARED = """
title = "{title}"
description = "Cases of a test."
missing = "available"
sources = ["a test"]
licence = "none"
citation = "none"
[versions]
1 = "first version"
[attributes.origin]
label = "Origin"
pairs = [["north", "south"], ["north", "east"]]
groups = {{ north = "North", south = "South", east = "East" }}
"""
_CONTROL = """
[attributes.placebo]
label = "Placebo"
control = true
pairs = [["none", "weather"]]
groups = { none = "None", weather = "Weather" }
"""
#: The file of each benchmark before and after what all share.
DECLARED = {
    "interviews": (
        'kind = "decision"\noptions = ["yes", "maybe", "no"]\nfavourable = ["yes"]\n'
        'labels = { yes = "Interview", maybe = "Waiting list", no = "Rejection" }\n'
        "equivalence_margin = 0.05\n",
        f'{_CONTROL}[words]\nitem = "application"\nsubject = "applicant"\nsetting = "hiring"\n',
    ),
    "loans": (
        'kind = "decision"\noptions = ["grant", "refuse"]\nfavourable = ["grant"]\n'
        'equivalence_margin = 0.05\nkeys_file = "loans.csv"\n',
        "",
    ),
    "urgency": (
        'kind = "level"\noptions = [1, 2, 3, 4]\nhigher = "less urgent"\ncluster = "person"\n'
        "equivalence_margin = 0.2\n",
        '[words]\nitem = "stay"\ncluster = "patient"\nsource = "records of real stays"\n',
    ),
    "stages": (
        'kind = "level"\noptions = ["low", "middle", "high"]\nequivalence_margin = 0.2\n'
        'keys_file = "stages.csv"\n',
        "",
    ),
    "essays": (
        'kind = "score"\nlimits = [0, 20]\nsame_within = 1\nequivalence_margin = 0.5\n',
        '[words]\nitem = "essay"\nsubject = "pupil"\n',
    ),
}
KEYED = {"loans": ["grant", "refuse"], "stages": ["low", "middle", "high"]}
KEYLESS = [name for name in DECLARED if name not in KEYED]
#: Words that are about a right answer, letters or medicine. "key" is only in "There is no key".
FORBIDDEN = re.compile(
    r"\b(accura\w+|AD|correct\w*|guess\w*|letters?|vignettes?|clinical|medical|doctors?|exams?|nan"
    r"|keys|answer_key|patients?)\b",
    re.IGNORECASE,
)


def declared(name: str, folder: Path) -> Benchmark:
    before, after = DECLARED[name]
    if name in KEYED:
        keys = "".join(f"i{n},{KEYED[name][n % len(KEYED[name])]}\n" for n in range(ITEMS))
        (folder / f"{name}.csv").write_text(f"item_id,answer_key\n{keys}")
    text = f'name = "{name}"\n{before}{_SHARED.format(title=name.title())}{after}'
    (folder / f"{name}.toml").write_text(text)
    return load_benchmark(folder / f"{name}.toml")


def answered(benchmark: Benchmark) -> pd.DataFrame:
    """Return answers that are higher, or further to the first option, for the first group."""
    rng = np.random.default_rng(1)
    options = benchmark.options or tuple(str(n) for n in range(21))
    rows = []
    for n in range(ITEMS):
        level = int(rng.integers(1, len(options)))
        for attribute, group in benchmark.variants:
            for sample in range(3 if benchmark.controls else 1):
                move = (group == "south") * (rng.random() < 0.6) + (rng.random() < 0.05)
                place = max(level - int(move), 0)
                # The favourable option is the first.
                place = place if benchmark.kind.numeric else len(options) - 1 - place
                lost = benchmark.name == "essays" and group == "east" and n < 2
                rows.append(
                    {
                        "benchmark": benchmark.name,
                        "benchmark_version": "1",
                        "model": f"model-{benchmark.name}",
                        "strategy": "plain",
                        "item_id": f"i{n}",
                        "attribute": attribute,
                        "group": group,
                        "sample": sample,
                        "answer": None if lost else options[place],
                        "answer_key": benchmark.answer_keys.get(f"i{n}"),
                        "status": "unparsed" if lost else "ok",
                        "snapshot": f"{benchmark.name}-1",
                        "cluster": f"p{n // 3}" if benchmark.cluster else None,
                    }
                )
    return pd.DataFrame(rows)
