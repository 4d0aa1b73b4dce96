"""Measure fairstats beside its peers: same inputs, one run, ratios.

A BCa interval of a paired difference beside scipy, pingouin and fairlearn; McNemar's test beside
statsmodels; a whole analysis of 12 models and 4 pairs from parquet; the time of `import
fairstats`. The ratios are printed and written to results/peers.json. They are the best of several
repetitions: what a machine can do, not what else it was doing.

    pip install fairstats[benchmarks] evalstats
    python benchmarks/peers.py

Without evalstats, its part is left out, and the output says so.
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
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

RESULTS = Path(__file__).with_name("results") / "peers.json"
RESAMPLES = 9999
#: n11, n10, n01, n00: the released answers of one model to the pair white and black.
COUNTS = (666, 83, 10, 42)
PEERS = ("fairstats", "scipy", "pingouin", "fairlearn", "statsmodels", "numpy", "pandas")


def best(call: Callable[[], Any], *, repetitions: int) -> float:
    """The shortest of several times, in seconds, after one call to warm up."""
    call()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def answers_of(counts: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Right and wrong of both groups, one element a pair."""
    return np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)


def intervals() -> dict[str, Any]:
    """One interval of the difference of two paired accuracies."""
    import pingouin
    from fairlearn.metrics import MetricFrame
    from scipy import stats
    from sklearn.metrics import accuracy_score

    from fairstats import bootstrap
    from fairstats.inference.intervals import tango

    a, b = answers_of(COUNTS)

    def difference(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.mean(x, axis=axis) - np.mean(y, axis=axis)

    def scipy_paired() -> Any:
        return stats.bootstrap(
            (a, b), difference, paired=True, n_resamples=RESAMPLES, method="BCa", rng=1
        )

    def pingouin_paired() -> Any:
        return pingouin.compute_bootci(
            a, b, func=lambda x, y: x.mean() - y.mean(), paired=True, n_boot=RESAMPLES, seed=1
        )

    few = 200

    def fairlearn_groups(n_boot: int) -> Any:
        # It resamples answers and not pairs: its interval is not that of a paired difference.
        return MetricFrame(
            metrics=accuracy_score,
            y_true=np.ones(2 * len(a), dtype=int),
            y_pred=np.concatenate([a, b]),
            sensitive_features=np.repeat(["a", "b"], len(a)),
            n_boot=n_boot,
            ci_quantiles=[0.025, 0.975],
            random_state=1,
        ).difference_ci()

    own = best(lambda: bootstrap(*COUNTS), repetitions=50)
    large = tuple(10_000_000 * count // sum(COUNTS) for count in COUNTS)
    many = np.random.default_rng(1).multinomial(801, np.array(COUNTS) / 801, size=1000)
    seconds = {
        "fairstats bootstrap, exact BCa, n = 801": own,
        "fairstats bootstrap, exact BCa, n = 801, each of 1,000 at once": best(
            lambda: bootstrap(*many.T), repetitions=5
        )
        / len(many),
        "fairstats bootstrap, exact BCa, n = 10 million": best(
            lambda: bootstrap(*large), repetitions=50
        ),
        "fairstats bootstrap, 9,999 resamples BCa, n = 801": best(
            lambda: bootstrap(*COUNTS, n_resamples=RESAMPLES, rng=1), repetitions=20
        ),
        "fairstats tango, n = 801": best(lambda: tango(*COUNTS), repetitions=50),
        "scipy.stats.bootstrap, paired, 9,999 BCa, n = 801": best(scipy_paired, repetitions=3),
        "pingouin.compute_bootci, paired, 9,999 percentile, n = 801": best(
            pingouin_paired, repetitions=3
        ),
        f"fairlearn MetricFrame, 9,999 unpaired (scaled from {few}), n = 801": best(
            lambda: fairlearn_groups(few), repetitions=1
        )
        * RESAMPLES
        / few,
    }
    limits = bootstrap(*COUNTS)
    peer = scipy_paired().confidence_interval
    return {
        "seconds": seconds,
        "ratio to fairstats' exact BCa": {name: value / own for name, value in seconds.items()},
        "limits": {
            "fairstats exact": [float(limits.ci_low), float(limits.ci_high)],
            "scipy": [float(peer.low), float(peer.high)],
        },
    }


def many_pairs() -> dict[str, Any]:
    """Tango's interval and McNemar's mid-p test of 120 pairs of groups, from right and wrong."""
    try:
        from evalstats.core.resampling import tango_scc_paired_ci
        from evalstats.tests import _mcnemar_midp_p
    except ImportError:
        return {"left out": "evalstats is not installed"}
    from fairstats import mcnemar
    from fairstats.inference.intervals import tango

    rng = np.random.default_rng(1)
    a = rng.random((120, 801)) < 0.85
    b = np.where(rng.random(a.shape) < 0.9, a, rng.random(a.shape) < 0.7)

    def own() -> tuple[Any, Any]:
        counts = (a & b).sum(1), (a & ~b).sum(1), (~a & b).sum(1), (~a & ~b).sum(1)
        return tango(*counts), mcnemar(*counts)

    def peer() -> list[tuple[Any, Any]]:
        return [
            (tango_scc_paired_ci(x, y, 0.05, c=0.0), _mcnemar_midp_p(x, y))
            for x, y in zip(a, b, strict=True)
        ]

    limits, p_values = zip(*peer(), strict=True)
    interval, test = own()
    seconds = {
        "fairstats": best(own, repetitions=50),
        f"evalstats {version('evalstats')}": best(peer, repetitions=10),
    }
    return {
        "seconds": seconds,
        "ratio": list(seconds.values())[1] / seconds["fairstats"],
        "largest difference of a limit": float(
            np.abs(np.array(limits) - np.column_stack(interval.ci)).max()
        ),
        "largest difference of a p-value": float(np.abs(np.array(p_values) - test.p_value).max()),
    }


def tests() -> dict[str, Any]:
    """McNemar's exact test of 1,000 tables."""
    from statsmodels.stats.contingency_tables import mcnemar as peer

    from fairstats import mcnemar

    n10, n01 = np.random.default_rng(1).integers(0, 100, (2, 1000))
    tables = [[[0, x], [y, 0]] for x, y in zip(n10, n01, strict=True)]
    seconds = {
        "fairstats.mcnemar, exact": best(
            lambda: mcnemar(n10=n10, n01=n01, method="exact"), repetitions=20
        ),
        "statsmodels mcnemar, exact": best(
            lambda: [peer(table, exact=True) for table in tables], repetitions=3
        ),
    }
    own, other = seconds.values()
    return {"seconds": seconds, "ratio": other / own}


_ANALYSIS = """
import sys, time
import fairstats
from fairstats import analyze, read_answers
analyze(read_answers([sys.argv[1]]).head(2000))  # libraries are loaded when they are used
start = time.perf_counter()
estimates = analyze(read_answers([sys.argv[1]]))
print(time.perf_counter() - start, len(estimates))
"""


def analysis() -> dict[str, Any]:
    """12 models, 4 pairs, 801 items: parquet to estimates, in a process of its own."""
    from fairstats import load_benchmark, write_answers

    benchmark = load_benchmark("fairmedqa")
    rng = np.random.default_rng(1)
    items = pd.DataFrame(
        {"item_id": list(benchmark.answer_keys), "answer_key": list(benchmark.answer_keys.values())}
    )
    variants = pd.DataFrame(benchmark.variants, columns=["attribute", "group"])
    models = pd.DataFrame({"model": [f"model-{i}" for i in range(12)]})
    answers = models.merge(items, how="cross").merge(variants, how="cross")
    drawn = rng.choice(list(benchmark.options), len(answers))
    right = rng.random(len(answers)) < 0.85
    answers = answers.assign(
        benchmark="fairmedqa",
        benchmark_version="gpt-agent",
        strategy="plain",
        sample=0,
        answer=np.where(right, answers["answer_key"], drawn),
        status="ok",
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.parquet"
        write_answers(answers, path)
        runs = []
        for _ in range(5):
            command = [sys.executable, "-c", _ANALYSIS, str(path)]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            seconds, rows = output.split()
            runs.append(float(seconds))
    return {"answers": len(answers), "estimates": int(rows), "seconds": min(runs)}


def imports() -> float:
    """Seconds that `import fairstats` takes in a new process, less those of an empty one."""

    def run(code: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True), repetitions=7)

    return run("import fairstats") - run("pass")


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=RESULTS, help="where to write the results")
    out = parser.parse_args().out
    found = {
        "machine": {"cores": os.cpu_count(), "python": platform.python_version()},
        "versions": {name: version(name) for name in PEERS},
        "interval": intervals(),
        "mcnemar, 1,000 tables": tests(),
        "tango and mcnemar, 120 pairs": many_pairs(),
        "analysis, 12 models × 4 pairs": analysis(),
        "import fairstats, seconds": imports(),
    }
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    print(text)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
