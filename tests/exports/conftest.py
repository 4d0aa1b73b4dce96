"""Small releases without pages: the tables that exports read."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairstats.answers.schema_checks import check_answers
from fairstats.benchmarks.benchmark_files import copy_benchmarks
from fairstats.benchmarks.loading import load_benchmark
from fairstats.publishing.publish import write_inputs
from fairstats.release.contents import DOWNLOADS, MANIFEST, Release
from fairstats.release.manifest import facts_of
from fairstats.release.tables import TABLES, ReleaseInputs, write_table
from tests.make_answers import make_answers

#: A name with what LaTeX, HTML, YAML and spreadsheets would run.
HOSTILE = '=HYPERLINK("x") \\input{a}$%&#_^~ <script>alert(1)</script> {{< env PATH >}}: - #'


def answers_to(benchmark: str) -> pd.DataFrame:
    """Return answers to a built-in benchmark, some missing, the same in every run."""
    declared = load_benchmark(benchmark)
    rng = np.random.default_rng(1)
    frame = make_answers(
        ["A" * len(declared.variants)] * 8,
        of=declared,
        variants=declared.variants,
        models=("Model-1", HOSTILE),
        temperature=0.5,
        latency_s=0.25,
        prompt_tokens=10,
        completion_tokens=3,
    )
    drawn = []
    for key in frame["answer_key"]:
        chosen = rng.random()
        answer = key if chosen < 0.6 else rng.choice(list(declared.options))
        status = "ok" if chosen < 0.9 else "unparsed" if chosen < 0.95 else "refused"
        drawn.append((answer, status, f"= “{answer}”\n\\x"))
    frame[["answer", "status", "answer_raw"]] = drawn
    # The second model's replies were not kept.
    frame.loc[frame["model"] == HOSTILE, "answer_raw"] = None
    frame.loc[frame["status"] != "ok", "answer"] = None
    return check_answers(frame.assign(snapshot=frame["model"] + "-2026"))


@pytest.fixture(scope="session")
def release_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Release]:
    """Return a release of answers with its estimates, as `fairstats publish` writes them."""

    @cache
    def build(benchmark: str, *, snapshot: str | None = None) -> Release:
        """All models state the snapshot, if it is given."""
        answers = answers_to(benchmark)
        if snapshot is not None:
            answers = answers.assign(snapshot=snapshot)
        return _written(answers, tmp_path_factory.mktemp("release"))

    return build


def _written(answers: pd.DataFrame, folder: Path) -> Release:
    benchmarks = {str(name): load_benchmark(str(name)) for name in answers["benchmark"].unique()}
    of = ReleaseInputs.of_answers(answers, None, 0.05, benchmarks)
    (folder / DOWNLOADS).mkdir()
    release = Release(folder)
    write_inputs(of, release)
    tables = {name: TABLES[name].make(of) for name in ("estimates", "ranks", "screening")}
    for name, table in tables.items():
        write_table(table, folder / DOWNLOADS, name)
    copy_benchmarks(of.benchmarks, folder / "benchmarks")
    manifest = {
        "release": "2026.11",
        "created_at": "2026-11-23T10:00:00.123+00:00",
        "fairstats": "0.1.0",
        "arguments": {"missing": None, "alpha": 0.05, "renderer": "builtin"},
        **facts_of(of, tables),
    }
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return release


#: One with patients' groups and a baseline, one with eight versions of a question.
BENCHMARKS = ("fairmedqa", "biasmedqa")


@pytest.fixture(params=BENCHMARKS)
def release(request: pytest.FixtureRequest, release_of: Callable[..., Release]) -> Release:
    return release_of(request.param)
