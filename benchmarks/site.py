"""Measure what publishing a whole site needs: wall time, peak memory, and the size of its pages.

Made-up answers of 13 models with three prompts, and of one with a fourth, to all variants of
FairMedQA's items are 40 answer sets. They are published from nothing, one release after the other:
in each release every model has other answers than in the one before. Then one model's answers
change, and one more release is published. Once no answer is missing, once a few of every model
are. The models have names that the package knows: the pages of versions and replication are full
then.

The last release is verified at the end. A board of 12 models with one prompt is measured too.

    python benchmarks/site.py
    python benchmarks/site.py --releases 2      # a shorter look
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from scale import GIB, measured

from fairstats import load_benchmark, write_answers

RESULTS = Path(__file__).with_name("results") / "site.json"
MODELS = (
    "GPT-4.1", "GPT-5-Mini", "GPT-4-turbo", "GPT-4o-mini", "Claude-3.7-Sonnet", "Claude-4-Sonnet",
    "Gemini-2.0-Flash", "Gemini-2.5-Flash", "Model-A", "Model-B", "Model-C", "Model-D", "Model-E",
)  # fmt: skip
PROMPTS = ("plain", "cot", "fairness")
#: The share of answers that are missing, about that of the released answers where any are.
FEW_MISSING = 0.005


#: Models and prompts of each board.
BOARDS = {
    "40 answer sets": [
        (model, prompt) for model in MODELS for prompt in PROMPTS + ("role",) * (model == MODELS[0])
    ],
    "12 answer sets": [(model, PROMPTS[0]) for model in MODELS[:12]],
}


def answers_of(model: str, strategy: str, seed: int, missing: float) -> pd.DataFrame:
    """One model's answers to every variant; the unprivileged group's are right less often."""
    benchmark = load_benchmark("fairmedqa")
    keys, options = benchmark.answer_keys, np.array(benchmark.options)
    privileged = {pair[0] for attribute in benchmark.varied for pair in attribute.pairs}
    variants = benchmark.variants
    rng = np.random.default_rng([seed, *f"{model} {strategy}".encode()])
    skill, gap = rng.uniform(0.7, 0.9), rng.uniform(0, 0.12)
    # An item is easy or hard for all models: screening blocks answers for which it is not.
    easy = np.random.default_rng(0).normal(skill, 0.25, (len(keys), 1))
    easy = np.clip(easy + rng.normal(0, 0.1, easy.shape), 0.02, 0.99)
    lower = np.array([0.0 if group in privileged else gap for _, group in variants])
    key = np.array(list(keys.values()))[:, None]
    right = rng.random((len(keys), len(variants))) < easy - lower
    answer = np.where(right, key, rng.choice(options, right.shape))
    lost = rng.random(right.shape) < missing
    table = pd.DataFrame(
        {
            "item_id": np.repeat(list(keys), len(variants)),
            "attribute": [attribute for attribute, _ in variants] * len(keys),
            "group": [group for _, group in variants] * len(keys),
            "answer": np.where(lost, None, answer).ravel(),
            "answer_key": np.repeat(key, len(variants), axis=1).ravel(),
            "status": np.where(lost, "unparsed", "ok").ravel(),
        }
    )
    return table.assign(
        benchmark="fairmedqa",
        benchmark_version="gpt-agent",
        model=model,
        strategy=strategy,
        sample=0,
        snapshot=f"{model}-{seed}",
    )


def written(
    folder: Path, sets: list[tuple[str, str]], seeds: dict[str, int], missing: float
) -> Path:
    """The answers of one release in a file."""
    tables = [answers_of(*one, seeds[one[0]], missing) for one in sets]
    return write_answers(pd.concat(tables, ignore_index=True), folder / "answers.parquet")


def published(board: str, releases: int, missing: float) -> dict[str, Any]:
    """Publish a site from nothing, then a release with one changed model, which is verified."""
    with tempfile.TemporaryDirectory(prefix="fairstats-site-") as name:
        folder = Path(name)
        site = folder / "site"
        runs, peaks = [], []
        for number in range(1, releases + 2):
            changed = MODELS[:1] if number > releases else MODELS
            seeds = dict.fromkeys(MODELS, releases) | dict.fromkeys(changed, number)
            source = written(folder / str(number), BOARDS[board], seeds, missing)
            command = [sys.executable, "-m", "fairstats.cli", "publish", "--answers", str(source)]
            command += ["--release", str(number), "--out", str(site), "--renderer", "builtin"]
            seconds, peak = measured(command)
            runs.append(round(seconds, 1))
            peaks.append(peak)
            print(f"release {number}, {len(changed)} changed models: {runs[-1]} s", flush=True)
        release = site / "v" / str(releases + 1)
        verified, peak = measured([sys.executable, "-m", "fairstats.cli", "verify", str(release)])
        pages = {
            path.relative_to(release).as_posix(): path.stat().st_size
            for path in release.rglob("*.html")
        }
        sizes = sorted(pages, key=pages.__getitem__, reverse=True)
        return {
            "board": board,
            "share of missing answers": missing,
            "from nothing, seconds": round(sum(runs[:-1]), 1),
            "one changed model, seconds": runs[-1],
            "each release, seconds": runs,
            "verify, seconds": round(verified, 1),
            "peak memory, GiB": round(max(*peaks, peak) / GIB, 2),
            "pages of a release": len(pages),
            "largest pages, kB": {page: round(pages[page] / 1000) for page in sizes[:3]},
            "site, MB": round(sum(p.stat().st_size for p in site.rglob("*") if p.is_file()) / 1e6),
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--releases", type=int, default=5, help="published from nothing (5)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where to write the results")
    chosen = parser.parse_args()
    found = {
        "models": len(MODELS),
        "releases from nothing": chosen.releases,
        "answers of a set": len(answers_of(*BOARDS["12 answer sets"][0], 1, 0)),
        "sites": [
            published(board, chosen.releases, share)
            for board in BOARDS
            for share in (0.0, FEW_MISSING)
        ],
        "machine": {
            "cores": os.cpu_count(),
            "memory, GiB": round(psutil.virtual_memory().total / GIB, 1),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("great-tables", "pandas", "plotnine", "typst")},
        },
    }
    text = json.dumps(found, indent=1) + "\n"
    print(text)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
