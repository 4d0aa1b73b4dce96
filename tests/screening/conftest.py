"""A synthetic benchmark with honest sets, and the released answers of one version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa

from fairstats.benchmarks.declaration import Benchmark
from tests.screening.honest_models import honest_panel

ITEMS = 800
#: Released sets for the same variants, of six models.
RELEASED = (
    "amqa/answers/AMQA_D2_Benchmark_Answer_claude_no_cot.jsonl",
    "amqa/answers/AMQA_D2_Benchmark_Answer_gemini_no_cot.jsonl",
    "amqa/answers/CPVmodel_AMQA_D2_Benchmark_Answer_openai_no_cot.jsonl",
    "fairmedprompt/FairMP_Answer_claude_naive.jsonl",
    "fairmedprompt/FairMP_Answer_gemini_naive.jsonl",
    "fairmedprompt/FairMP_Answer_gpt_naive.jsonl",
)
#: Other released sets: more strategies, and the other version.
MORE = (
    "fairmedprompt/FairMP_Answer_claude_cot.jsonl",
    "fairmedprompt/FairMP_Answer_gpt_aware.jsonl",
    "fairmedprompt/FairMP_Answer_gpt_cot.jsonl",
    "fairmedprompt/FairMP_Answer_gpt_few.jsonl",
    "fairmedprompt/FairMP_Answer_gpt_role.jsonl",
    "amqa/answers/AMQA_Benchmark_Answer_claude_no_cot.jsonl",
    "amqa/answers/AMQA_Benchmark_Answer_gemini_no_cot.jsonl",
    "amqa/answers/AMQA_Benchmark_Answer_openai_mini_no_cot.jsonl",
    "amqa/answers/AMQA_Benchmark_Answer_openai_no_cot.jsonl",
)


@pytest.fixture(scope="session")
def synthetic(demo) -> Benchmark:
    """The demonstration's declaration with more items, and without their text."""
    letters = np.random.default_rng(1).choice(demo.options, ITEMS)
    keys = {f"item-{n:03}": str(letter) for n, letter in enumerate(letters)}
    return replace(demo, name="synthetic", answer_keys=keys, items_file=None)


@pytest.fixture(scope="session")
def honest(synthetic) -> list[pd.DataFrame]:
    return honest_panel(synthetic, 7, rng=np.random.default_rng(2))


@pytest.fixture(scope="session")
def released(shared_data) -> list[pd.DataFrame]:
    answers = import_amqa([shared_data(name) for name in RELEASED])
    return [rows.reset_index(drop=True) for _, rows in answers.groupby("model", sort=True)]


@pytest.fixture(scope="session")
def all_released(shared_data) -> pd.DataFrame:
    return import_amqa([shared_data(name) for name in (*RELEASED, *MORE)])


@pytest.fixture(scope="session")
def by_check() -> Callable[..., pd.DataFrame]:
    """The rows of one answer set, by check."""

    def pick(screening: object, model: str) -> pd.DataFrame:
        table = screening.to_frame()
        return table[table["model"] == model].set_index("check")

    return pick
