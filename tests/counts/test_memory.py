"""The memory of what is computed from answers in an engine, in bytes per row of the grid.

A row is one item of an answer set. It takes a byte per variant, so a step that needs eight bytes
for each row, such as an array of places, needs as much as all answers.
"""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairstats.answers.engine_frames import OpenAnswers, batches, open_answers, open_pairs
from fairstats.benchmarks.declaration import Benchmark
from fairstats.comparisons.ranked_items import rank_items
from fairstats.comparisons.ranking import rank_boards
from fairstats.counts import grid as grids
from fairstats.counts.grid import item_grid
from fairstats.counts.outcomes import outcomes_of
from fairstats.estimates.analyze import analyze
from fairstats.estimates.specifications import sensitivity_of
from fairstats.screening import panels
from fairstats.screening.screen import screen_opened
from tests.make_answers import make_answers

MODELS, ITEMS = 40, 1000


@pytest.fixture(scope="module")
def opened(demo: Benchmark, in_engine: Callable[[pd.DataFrame, str], Any]) -> OpenAnswers:
    """Return the answers of many models to many items, in DuckDB."""
    keys = {f"item-{number:04}": "ABCD"[number % 4] for number in range(ITEMS)}
    benchmark = replace(demo, name="many", title="Many items", answer_keys=keys)
    right = np.random.default_rng(1).random((ITEMS, len(demo.variants))) < 0.8
    drawn = np.where(right, np.array([*keys.values()])[:, None], "A")
    answers = make_answers(
        ["".join(letters) for letters in drawn],
        of=benchmark,
        models=[f"model {number}" for number in range(MODELS)],
        variants=demo.variants,
    )
    return open_pairs(in_engine(answers, "duckdb"), [benchmark])


def bytes_per_row(compute: Callable[[], object]) -> float:
    """Return the memory that a computation needs at most, besides what is there before."""
    tracemalloc.start()
    try:
        compute()
        return tracemalloc.get_traced_memory()[1] / (MODELS * ITEMS)
    finally:
        tracemalloc.stop()


def test_rows_of_an_answer_set_are_no_copy(opened: OpenAnswers):
    made = item_grid(opened, opened.benchmarks["many"])
    assert bytes_per_row(lambda: made.of_unit(1)) < 0.5


def test_grid_of_an_engine_is_not_in_memory_twice(
    opened: OpenAnswers, monkeypatch: pytest.MonkeyPatch
):
    # In small batches, as those of many more rows are.
    monkeypatch.setattr(grids, "batches", partial(batches, rows=2048))
    item_grid(opened, opened.benchmarks["many"])
    again = replace(opened)
    assert bytes_per_row(lambda: item_grid(again, again.benchmarks["many"])) < 44


def test_ranked_items_need_few_bytes_per_row(opened: OpenAnswers):
    benchmark = opened.benchmarks["many"]
    made, outcomes = item_grid(opened, benchmark), outcomes_of(opened)["many"]

    def find():
        return rank_items(made, outcomes, np.arange(MODELS), alpha=0.05)

    # What the outcomes keep is computed before.
    assert len(find().models) == MODELS
    assert bytes_per_row(find) < 12


def test_panels_of_items_need_few_bytes_per_row(
    opened: OpenAnswers, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(panels, "PART_ITEMS", 10)
    item_grid(opened, opened.benchmarks["many"])

    # The items of all answers are numbered before the first panel.
    assert bytes_per_row(lambda: next(next(panels.read_panels(opened, None)))) < 10


@pytest.mark.parametrize("asked", [1, 0.5])
@pytest.mark.parametrize("engine", ["pandas", "duckdb"])
def test_open_answers_are_freed_with_the_last_name(
    engine: str, asked: float, demo: Benchmark, in_engine: Callable[..., Any]
):
    """Verifying a release compares and draws afterwards, for which the memory is needed."""
    answers = make_answers(["AA", "AB", "BA"] * 10)
    keys = dict(zip(answers["item_id"], answers["answer_key"], strict=True))
    listed = {
        f"{item}{more}": key for item, key in keys.items() for more in ("", "x")[: int(1 / asked)]
    }
    benchmark = replace(demo, name="listed", title="Listed", answer_keys=listed)
    opened = open_answers(in_engine(answers.assign(benchmark="listed"), engine), [benchmark])
    kept = weakref.ref(outcomes_of(opened)["listed"])
    gc.disable()
    try:
        for compute in (analyze, rank_boards, screen_opened):
            compute(opened)
        sensitivity_of(opened, None, 0.05, opened.benchmarks)
        freed = weakref.ref(opened)
        del opened
        assert (freed(), kept()) == (None, None)
    finally:
        gc.enable()


@pytest.mark.parametrize("engine", ["pandas", "duckdb"])
def test_items_of_outcomes_can_be_read_after_their_answers(
    engine: str, in_engine: Callable[..., Any]
):
    kept = open_answers(in_engine(make_answers(["AA", "AB"]), engine))
    known = next(iter(kept.benchmarks.values()))
    alone = outcomes_of(open_answers(kept.frame.to_native()))[known.name]
    assert alone.by_item().item_names.tolist() == item_grid(kept, known).item_names.tolist()
