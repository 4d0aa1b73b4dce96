"""Answers packed into whole numbers: no count may depend on how they are packed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.answers.engine_frames import UNIT_COLUMNS, open_answers
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.counts.packed_answers import item_answers
from tests.make_answers import make_answers

ENGINES = ["pandas", "pyarrow", "duckdb", "polars lazy", "pyspark"]


@pytest.fixture(scope="module")
def wide(demo: Benchmark) -> Benchmark:
    """Return a benchmark whose answers need several words: 12 variants, 7 options."""
    race = [f"race {i}" for i in range(7)]
    sex = ["male", "female", "other"]
    attributes = {
        name: Attribute(name, name, {g: g for g in groups}, ((groups[0], groups[1]),))
        for name, groups in (("race", race), ("sex", sex))
    }
    attributes["baseline"] = demo.attributes["baseline"]
    return replace(demo, name="wide", attributes=attributes, options=tuple("ABCDEFG"))


def drawn(
    benchmark: Benchmark, samples: list[int], seed: int, *, models: int = 2, items: int = 6
) -> pd.DataFrame:
    """Return random answers; a fifth of the rows are left out."""
    keys = {f"i{item}": benchmark.options[item % 3] for item in range(items)}
    frame = make_answers(
        ["A" * len(benchmark.variants)] * items,
        of=replace(benchmark, answer_keys=keys),
        models=[f"m{model}" for model in range(models)],
        strategies=("plain", "cot"),
        variants=benchmark.variants,
    )
    frame = frame.loc[frame.index.repeat(len(samples))].assign(sample=samples * len(frame))
    draw, signs = np.random.default_rng(seed), [*benchmark.options, None]
    frame["answer"] = [draw.choice(signs) if draw.random() < 0.8 else "." for _ in frame.index]
    return frame[frame["answer"] != "."].reset_index(drop=True)


def counted_directly(answers: pd.DataFrame, benchmark: Benchmark, variants) -> Counter:
    """Return the number of items by unit, key, rows and letters of the variants."""
    found: Counter = Counter()
    for (*unit, _), own in answers.groupby([*UNIT_COLUMNS, "item_id"]):
        rows, letters = [], []
        for attribute, group in variants:
            given = own[(own["attribute"] == attribute) & (own["group"] == group)]["answer"]
            rows.append(len(given))
            letters += [int((given == option).sum()) for option in benchmark.options]
        found[(*unit, own["answer_key"].iloc[0], *rows, *letters)] += 1
    return found


def counted_packed(answers, benchmark: Benchmark, variants) -> Counter:
    table = item_answers(open_answers(answers, [benchmark]), benchmark)
    units = list(table.units[list(UNIT_COLUMNS)].itertuples(index=False, name=None))
    found: Counter = Counter()
    for part in table.of(variants):
        for unit, key, rows, letters, items in zip(
            part.unit, part.key, part.rows, part.letters, part.items, strict=True
        ):
            kind = (*units[unit], benchmark.options[key], *rows.tolist(), *letters.ravel().tolist())
            found[kind] += int(items)
    return found


@pytest.fixture(scope="module", params=[[0], [0, 7, 12], list(range(40))], ids=["1", "3", "40"])
def counted(request, wide):
    """Answers, and for some variants the counts of the rows."""
    answers = drawn(wide, request.param, seed=len(request.param))
    every = [(a.name, group) for a in wide.attributes.values() for group in a.groups]
    chosen = (every, every[:2], every[5:8], [every[-1]])
    return answers, [(variants, counted_directly(answers, wide, variants)) for variants in chosen]


@pytest.mark.parametrize("engine", ENGINES)
def test_packed_counts_equal_those_of_the_rows(engine, counted, wide, in_engine):
    answers, expected = counted
    there = open_answers(in_engine(answers, engine), [wide])
    for variants, directly in expected:
        assert counted_packed(there, wide, variants) == directly


@pytest.fixture(scope="module")
def of_many_models(demo):
    answers = drawn(demo, [0], seed=1, models=120, items=1)
    variants = [("race", "white"), ("race", "black")]
    return answers, variants, counted_directly(answers, demo, variants)


@pytest.mark.parametrize("engine", ENGINES)
def test_more_models_than_cases_of_one_expression(engine, of_many_models, demo, in_engine):
    answers, variants, directly = of_many_models
    assert counted_packed(in_engine(answers, engine), demo, variants) == directly


@pytest.mark.parametrize("samples", [[0], [0, 1, 2]], ids=["1", "3"])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_repeated_answer_is_refused(engine, samples, wide, in_engine):
    """Also where the sum of two bits is the bit of another answer that is not in the table."""
    answers = drawn(wide, samples, seed=3).assign(answer="A")
    every = [(a.name, group) for a in wide.attributes.values() for group in a.groups]
    draw = np.random.default_rng(5)
    for attribute, group in [every[i] for i in draw.permutation(len(every))[:4]]:
        own = answers[(answers["attribute"] == attribute) & (answers["group"] == group)]
        row = own.iloc[[0]]
        for letter in (wide.options[0], wide.options[-1], None):
            again = row.assign(answer=pd.Series([letter], index=row.index, dtype="str"))
            twice = pd.concat([answers, again], ignore_index=True)
            with pytest.raises(
                InputError, match=f"1 items have the same answer more than once .*{attribute}"
            ):
                item_answers(open_answers(in_engine(twice, engine), [wide]), wide)


def test_cells_count_the_rows(wide):
    answers = drawn(wide, [0, 1], seed=4)
    cells = open_answers(answers, [wide]).cells
    assert cells["rows"].sum() == len(answers)
    one = answers.groupby([*UNIT_COLUMNS, "attribute", "group"]).size()
    other = cells.groupby([*UNIT_COLUMNS, "attribute", "group"])["rows"].sum()
    pd.testing.assert_series_equal(one, other, check_names=False)
