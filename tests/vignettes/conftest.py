"""Shared fixtures of vignette tests: the commands."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from click.testing import Result
from fairstats_collectors.amqa import import_amqa
from typer.testing import CliRunner

from fairstats.cli import app


@pytest.fixture
def run() -> Callable[..., Result]:
    """Run ``fairstats vignettes ...``."""
    return lambda *words: CliRunner().invoke(app, ["vignettes", *map(str, words)])


@pytest.fixture(scope="module")
def models(answers_of):
    """Return the answers of several models, each a list of one text per item."""

    def build(*texts, **unit):
        return pd.concat(
            [answers_of(own, model=f"m-{n}", **unit) for n, own in enumerate(texts)],
            ignore_index=True,
        )

    return build


@pytest.fixture(scope="module")
def released_answers(shared_data):
    folders = {"amqa/answers": "AMQA*_no_cot.jsonl", "fairmedprompt": "FairMP_*.jsonl"}
    paths = [p for name, glob in folders.items() for p in sorted(shared_data(name).glob(glob))]
    paths.append(shared_data("amqa/answers/CPVmodel_AMQA_D2_Benchmark_Answer_openai_no_cot.jsonl"))
    return import_amqa(paths)
