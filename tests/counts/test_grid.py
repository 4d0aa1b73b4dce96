"""The grid of answers: every engine must arrange the same answers in the same grid."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats._lib.safe_names import text_sha256
from fairstats.answers.engine_frames import UNIT_COLUMNS, open_answers
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.counts.grid import (
    MISSING,
    NOT_ASKED,
    Grid,
    grid,
    item_grid,
    joined_grid,
)
from fairstats.counts.settings import SAME_PROMPTS
from tests.make_answers import make_answers

ENGINES = ["pandas", "pyarrow", "duckdb", "polars lazy", "pyspark"]


@pytest.fixture(scope="module")
def wide(demo: Benchmark) -> Benchmark:
    """Return a benchmark with 12 variants and 7 options."""
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
    """Return random answers in random order; a fifth of the rows are left out."""
    keys = {f"{'iéZ'[item % 3]}{item}": benchmark.options[item % 3] for item in range(items)}
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
    return frame[frame["answer"] != "."].sample(frac=1, random_state=seed, ignore_index=True)


def rows_of(found: Grid) -> set[tuple]:
    """Return the rows of the answers table that a grid arranges."""
    options = [*found.benchmark.options, None]
    units = list(found.units.itertuples(index=False, name=None))
    return {
        (
            *units[found.unit[row]],
            found.items[row],
            *found.benchmark.variants[column],
            int(found.numbers[row, column, sample]),
            options[found.answers[row, column, sample]],
            options[found.key[row]],
        )
        for row, column, sample in np.argwhere(found.answers != NOT_ASKED)
    }


def rows_of_table(answers: pd.DataFrame) -> set[tuple]:
    columns = [*UNIT_COLUMNS, "item_id", "attribute", "group", "sample", "answer", "answer_key"]
    known = answers[columns].astype(object)
    return set(known.where(known.notna(), None).itertuples(index=False, name=None))


def kinds(found: Grid) -> Counter:
    """Return the number of items by answer set, key and answers."""
    counted: Counter = Counter()
    for unit, key, answers, items in zip(
        found.unit.tolist(), found.key.tolist(), found.answers, found.many.tolist(), strict=True
    ):
        counted[unit, key, answers.tobytes()] += items
    return counted


@pytest.fixture(scope="module", params=[[0], [7, 0, 12], list(range(12))], ids=["1", "3", "12"])
def two_benchmarks(request, wide, demo):
    """Return answers to two benchmarks, and their grids."""
    answers = pd.concat(
        [drawn(known, request.param, seed=len(request.param)) for known in (wide, demo)]
    ).sample(frac=1, random_state=1, ignore_index=True)
    return answers, grid(answers, benchmarks=[wide])


def test_grid_holds_the_rows_of_the_table(two_benchmarks):
    answers, found = two_benchmarks
    assert set.union(*map(rows_of, found.values())) == rows_of_table(answers)
    for own in found.values():
        assert (own.many == 1).all()
        here = answers[answers["benchmark"] == own.benchmark.name]
        most = here.groupby([*UNIT_COLUMNS, "item_id", "attribute", "group"]).size().max()
        assert own.answers.shape[2] == most
        rows = [*zip(own.unit.tolist(), own.items, strict=True)]
        assert rows == sorted(set(rows))
        assert own.units.sort_values(list(UNIT_COLUMNS)).index.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_grid_of_every_engine_is_that_in_memory(engine, two_benchmarks, wide, in_engine):
    answers, expected = two_benchmarks
    opened = open_answers(in_engine(answers, engine), [wide])
    for name, benchmark in opened.benchmarks.items():
        found, own = item_grid(opened, benchmark), expected[name]
        pd.testing.assert_frame_equal(found.units, own.units)
        for column in ("unit", "key", "answers", "many", "items"):
            np.testing.assert_array_equal(getattr(found, column), getattr(own, column), column)
        there = own.answers != NOT_ASKED
        np.testing.assert_array_equal(found.numbers[there], own.numbers[there])


@pytest.mark.parametrize("engine", ENGINES)
def test_answer_sets_whose_groups_share_prompts_are_found(engine, wide, in_engine):
    answers = pd.concat([drawn(wide, [0], seed=3, models=1).assign(model=name) for name in "abc"])
    cases = answers["item_id"] + answers["attribute"]
    answers["prompt_sha256"] = (cases + answers["group"]).map(text_sha256)
    neutral = answers["model"] == "b"
    # A control asks the same prompt again, and of "c" no prompt is known.
    again = answers["attribute"] == "sex"
    answers["prompt_sha256"] = answers["prompt_sha256"].mask(
        neutral | again, cases.map(text_sha256)
    )
    answers.loc[answers["model"] == "c", "prompt_sha256"] = None
    control = replace(wide.attributes["sex"], control=True)
    declared = replace(wide, attributes=wide.attributes | {"sex": control})
    found = grid(in_engine(answers, engine), benchmarks=[declared])["wide"]
    assert [own.mixed for own in found.settings] == ["", "", SAME_PROMPTS, SAME_PROMPTS, "", ""]


@pytest.mark.parametrize("engine", ENGINES)
def test_joined_rows_add_up_to_the_items(engine, in_engine):
    draw = random.Random(4)
    texts = ["".join(draw.choices("AB-.", k=2)) + "/" + draw.choice("AB") for _ in range(200)]
    # The second sample has answers to the last items.
    again = [*[".."] * 150, *texts[150:]]
    answers = pd.concat([make_answers(own, sample=i) for i, own in enumerate((texts, again))])
    opened = open_answers(in_engine(answers, engine))
    found, items = (of(opened, opened.benchmarks["demo"]) for of in (joined_grid, item_grid))
    assert kinds(found) == kinds(items)
    if not len(found.items):
        assert len(found.unit) == len(kinds(items)) < found.many.sum() == len(items.unit)


@pytest.fixture(scope="module")
def of_many_models(demo):
    answers = drawn(demo, [0], seed=1, models=120, items=1)
    return answers, rows_of_table(answers)


@pytest.mark.parametrize("engine", ENGINES)
def test_more_models_than_cases_of_one_expression(engine, of_many_models, in_engine):
    answers, expected = of_many_models
    assert rows_of(grid(in_engine(answers, engine))["demo"]) == expected


@pytest.mark.parametrize("samples", [[0], [0, 1, 2]], ids=["1", "3"])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_repeated_answer_is_refused(engine, samples, wide, in_engine):
    answers = drawn(wide, samples, seed=3).assign(answer="A")
    draw = np.random.default_rng(5)
    letters = (wide.options[0], wide.options[-1], None)
    for (attribute, group), letter in zip(draw.permutation(wide.variants), letters, strict=False):
        own = answers[(answers["attribute"] == attribute) & (answers["group"] == group)]
        row = own.iloc[[0]]
        again = row.assign(answer=pd.Series([letter], index=row.index, dtype="str"))
        twice = pd.concat([answers, again], ignore_index=True)
        said = f"1 items have the same answer more than once .*{attribute}"
        with pytest.raises(InputError, match=said):
            grid(in_engine(twice, engine), benchmarks=[wide])


def test_rows_of_one_answer_set_are_its_grid(demo):
    answers = drawn(demo, [0, 1], seed=2)
    found = grid(answers)["demo"]
    for unit, (_, own) in enumerate(answers.groupby(list(UNIT_COLUMNS))):
        assert rows_of(found.of_unit(unit)) == rows_of_table(own)
    of_item = found.items == "Z2"
    assert rows_of(found.rows(of_item)) == rows_of_table(answers[answers["item_id"] == "Z2"])


def test_scores_are_of_the_key_and_keep_what_is_not_an_answer(demo):
    answers = make_answers(["AB", "-.", "CB"], answer_key=["A", "A", "A", "C", "C"])
    found = grid(answers)["demo"]
    white, black = (found.columns["race", group] for group in ("white", "black"))
    pairs = found.hits[:, [white, black], 0]
    assert pairs.tolist() == [[1, 0], [MISSING, NOT_ASKED], [1, 0]]
    assert (np.delete(found.hits, [white, black], axis=1) == NOT_ASKED).all()


def test_answers_of_a_variant_are_in_the_order_of_their_samples():
    texts = {3: ["AB", "..", "A."], 5: ["B-", "CA", ".B"], 8: ["..", "A.", "C-"]}
    answers = pd.concat([make_answers(own, sample=sample) for sample, own in texts.items()])
    found = grid(answers)["demo"]
    columns = [found.columns["race", group] for group in ("white", "black")]
    given = found.answers[:, columns]
    signs = [["".join(["ABCD.-"[i] for i in own]) for own in item] for item in given]
    assert signs == [["AB", "B-"], ["CA", "A."], ["AC", "B-"]]


def test_sample_numbers_take_no_places():
    once = make_answers(["AB", "BA"])
    far = once.assign(sample=[0, 7, 10**12, 3])
    assert grid(far)["demo"].answers.shape == grid(once)["demo"].answers.shape
    assert (grid(far)["demo"].answers == grid(once)["demo"].answers).all()


def test_cells_count_the_rows(wide):
    answers = drawn(wide, [0, 1], seed=4)
    cells = open_answers(answers, [wide]).cells
    assert cells["rows"].sum() == len(answers)
    one = answers.groupby([*UNIT_COLUMNS, "attribute", "group"]).size()
    other = cells.groupby([*UNIT_COLUMNS, "attribute", "group"])["rows"].sum()
    pd.testing.assert_series_equal(one, other, check_names=False)
