"""Measure how estimates, ranks, screening and whole releases grow with models and items.

The answers of independent models are drawn from an item response model: a model answers an item
correctly with probability logistic(ability − difficulty − shift), where the shift differs between
the groups of an item. Each function runs in a process of its own, whose time and peak memory are
measured, on the same answers. The result is written to results/growth.json, and growth.svg shows
it.

    python benchmarks/growth.py                              # about 8 minutes on two cores
    python benchmarks/growth.py --models 20 --items --out -  # printed only
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark

RESULTS = Path(__file__).with_name("results") / "growth.json"
PICTURE = Path(__file__).with_name("growth.svg")
#: What is measured, by name. The last is the command, with the memory of its largest process.
TASKS = ("analyze", "rank", "screen", "publish")
#: The models of boards that grow by items, and the items of boards that grow by models.
MODELS, ITEMS = 12, 801


DECLARATION = """
name = "growth"
title = "Simulated board"
description = "Answers drawn from an item response model."
sources = []
licence = "CC0"
citation = "benchmarks/growth.py"
options = ["A", "B", "C", "D"]
keys_file = "growth.keys.csv"
missing = "available"
equivalence_margin = 0.02
same_variants_odds_ratio = 1.5

[versions]
"1" = "simulated variants"

[attributes.race]
label = "Race"
groups = { white = "White", black = "Black" }
pairs = [["white", "black"]]

[attributes.sex]
label = "Sex"
groups = { male = "Male", female = "Female" }
pairs = [["male", "female"]]

[attributes.income]
label = "Income"
groups = { high_income = "High income", low_income = "Low income" }
pairs = [["high_income", "low_income"]]

[attributes.baseline]
label = "Baseline"
groups = { original = "Original", neutralized = "Neutralized" }
pairs = [["original", "neutralized"]]
"""


def declare(items: int, folder: Path) -> Benchmark:
    """Write the declaration of a benchmark like FairMedQA with so many items."""
    letters = np.random.default_rng(2).choice(list("ABCD"), items)
    keys = "".join(f"item-{number:06},{letter}\n" for number, letter in enumerate(letters))
    (folder / "growth.keys.csv").write_text(f"item_id,answer_key\n{keys}", encoding="utf-8")
    (folder / "growth.toml").write_text(DECLARATION, encoding="utf-8")
    return load_benchmark(folder / "growth.toml")


def board(
    models: int, benchmark: Benchmark, *, seed: int = 1, missing: float = 0.01
) -> pd.DataFrame:
    """Draw the answers of independent models to all variants of a benchmark's items."""
    rng = np.random.default_rng(1)
    items, variants = list(benchmark.answer_keys), list(benchmark.variants)
    options = np.array(list(benchmark.options))
    key = pd.Index(options).get_indexer(list(benchmark.answer_keys.values()))
    difficulty = rng.normal(0, 1, len(items))
    # The shift of each variant of an item is the same for all models, as their text is.
    shift = rng.normal(0, 1, (len(items), len(variants)))
    ability = rng.normal(1.2, 0.7, models)
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
        "benchmark": benchmark.name,
        "benchmark_version": "1",
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


def make(models: int, items: int, folder: Path) -> None:
    """Write the answers of a board, and its benchmark."""
    answers = board(models, declare(items, folder))
    (folder / "answers").mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(answers)), 1 + models // 200)):
        answers.iloc[part].to_parquet(folder / "answers" / f"{number}.parquet")


def run(task: str, folder: str) -> None:
    """Run one task on stored answers."""
    from fairstats.answers.engine_frames import open_answers
    from fairstats.answers.files import read_answers
    from fairstats.comparisons.ranking import rank_boards
    from fairstats.estimates.analyze import analyze
    from fairstats.publishing.publish import publish
    from fairstats.screening.screen import screen_opened

    answers, known = f"{folder}/answers", [load_benchmark(f"{folder}/growth.toml")]
    if task == "publish":
        publish(answers, release="1", out=f"{folder}/site", benchmarks=known, renderer="builtin")
        return
    functions: dict[str, Callable[..., object]] = {
        "analyze": analyze,
        "rank": rank_boards,
        "screen": screen_opened,
    }
    functions[task](open_answers(read_answers(answers), known))


def measured(task: str, folder: Path) -> dict[str, float]:
    """Return the seconds, the seconds of processors, and the peak memory of a task's processes."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, __file__, "--run", task, str(folder)])
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{task} failed")
    seconds = time.perf_counter() - started
    cpu = used.ru_utime + used.ru_stime
    return {"seconds": seconds, "cpu_seconds": cpu, "peak_mb": used.ru_maxrss / 1024}


def measure(models: int, items: int, tasks: list[str]) -> list[dict[str, object]]:
    """Return one row per task, on a board of so many models and items."""
    found: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="fairstats-growth-") as name:
        folder = Path(name)
        # In a process of its own: the peak of a new process is at least the memory of its parent.
        subprocess.run(
            [sys.executable, __file__, "--make", str(models), str(items), name], check=True
        )
        rows = models * items * 8
        for task in tasks:
            row = {"models": models, "items": items, "answers": rows, "task": task}
            figures = {name: round(value, 2) for name, value in measured(task, folder).items()}
            if task == "publish":
                files = [path.stat().st_size for path in (folder / "site" / "v").rglob("*")]
                figures["release_mb"] = round(sum(files) / 1e6, 1)
            found.append(row | figures)
            print(json.dumps(found[-1]), flush=True)
    return found


def draw(results: list[dict[str, object]]) -> None:
    """Draw time and memory against models and items, on logarithmic axes."""
    import plotnine as p9

    table = pd.DataFrame(results)
    grown = {
        f"models ({ITEMS} items)": ("models", table[table["items"] == ITEMS]),
        f"items ({MODELS} models)": ("items", table[table["models"] == MODELS]),
    }
    figures = {"seconds": "seconds", "peak_mb": "peak memory, MB"}
    long = pd.concat(
        own.assign(size=own[size], by=by, value=own[figure], figure=label)
        for by, (size, own) in grown.items()
        for figure, label in figures.items()
    )
    long["by"] = pd.Categorical(long["by"], list(grown))
    picture = (
        p9.ggplot(long, p9.aes("size", "value", colour="task", shape="task"))
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.facet_grid("figure", "by", scales="free")
        + p9.scale_x_log10()
        + p9.scale_y_log10()
        + p9.labs(x="", y="", colour="", shape="")
        + p9.theme_minimal()
        + p9.theme(figure_size=(8, 5), legend_position="bottom")
    )
    picture.save(PICTURE, verbose=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, nargs="*", default=[12, 50, 100, 200, 400])
    parser.add_argument("--items", type=int, nargs="*", default=[3_204, 12_816])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--out", default=str(RESULTS), help="a file, or - for none")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--make", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.run:
        run(*chosen.run)
        return
    if chosen.make:
        models, items, folder = chosen.make
        make(int(models), int(items), Path(folder))
        return
    sizes = [(models, ITEMS) for models in chosen.models]
    sizes += [(MODELS, items) for items in chosen.items]
    found = [row for size in sizes for row in measure(*size, chosen.tasks)]
    if chosen.out != "-":
        machine = {"python": platform.python_version(), "pandas": pd.__version__}
        machine["cores"] = str(os.cpu_count())
        text = json.dumps({"machine": machine, "results": found}, indent=2)
        Path(chosen.out).write_text(f"{text}\n", encoding="utf-8")
        draw(found)


if __name__ == "__main__":
    main()
