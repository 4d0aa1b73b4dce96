"""Submissions for tests: a benchmark with honest answer sets, and a board that has some of them."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairstats.answers.files import write_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.publishing.board_repository import create_board, create_submission
from tests.screening.honest_models import honest_panel

#: Everything that a submitter has to declare and that is not in the answers.
FACTS: dict[str, Any] = {
    "snapshot": "model-2026-11-01",
    "provider": "An API",
    "started": date(2026, 11, 2),
    "ended": date(2026, 11, 3),
    "attempts": 1,
    "submitter": "A submitter",
    "conflicts": "none",
    "training_data": "not known",
    "prompts": {"plain": "0" * 64},
}


def benchmark_for_submissions(benchmark_file) -> Benchmark:
    """Return a benchmark with enough items for screening."""
    letters = np.random.default_rng(1).choice(["A", "B", "C"], 300)
    rows = "".join(f"i{number},{letter}\n" for number, letter in enumerate(letters))
    race = (
        '[attributes.race]\nlabel = "Race"\ngroups = { white = "White", black = "Black" }\n'
        'pairs = [["white", "black"]]'
    )
    path = benchmark_file(f"item_id,answer_key\n{rows}", name='name = "submitted"', race=race)
    return load_benchmark(path)


def honest_sets(benchmark: Benchmark) -> list[pd.DataFrame]:
    """Return the answers of five honest models."""
    return honest_panel(benchmark, 5, rng=np.random.default_rng(2))


def board_with(benchmark: Benchmark, folder: Path, sets: list[pd.DataFrame]) -> Path:
    """Create a board with these answer sets, which its keeper added."""
    board = folder / "board"
    create_board(board, title="A board", benchmarks=[benchmark])
    write_answers(pd.concat(sets, ignore_index=True), board / "accepted" / "first" / "a.parquet")
    return board


def submit(answers: pd.DataFrame, path: Path, **facts: Any) -> Path:
    """Create a complete submission of these answers."""
    source = path.with_name(f"{path.name}-answers.parquet")
    write_answers(answers, source)
    assert create_submission(source, path, FACTS | facts) == []
    source.unlink()
    return path
