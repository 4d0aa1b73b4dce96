"""Several samples per item: no figure may depend on how the samples are numbered."""

from __future__ import annotations

import random

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairstats

RACE, SEX = ("white", "black"), ("male", "female")
POLICIES = ("available", "complete", "incorrect", "bounds")
KEYS = ["item_id", "attribute", "group"]


def drawn(answers_of, seed: int, sizes: tuple[int, ...], *, items: int = 25) -> pd.DataFrame:
    """Answers of two attributes; an item has one of the numbers of samples in `sizes`."""
    draw = random.Random(seed)
    many = [draw.choice(sizes) for _ in range(items)]
    parts = []
    for sample in range(max(sizes)):
        for attribute, groups in (("race", RACE), ("sex", SEX)):
            texts = [
                "".join(draw.choices("AAABC-.", k=2)) + "/" + draw.choice("AAB-")
                if sample < own
                else ".."
                for own in many
            ]
            if attribute == "sex":
                texts = [text.partition("/")[0] for text in texts]
            parts.append(answers_of(texts, groups=groups, attribute=attribute, sample=sample))
    return pd.concat([part for part in parts if not part.empty], ignore_index=True)


def relabelled(answers: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The same answers; the samples of every variant of every item are numbered anew."""
    draw = random.Random(seed)
    parts = []
    for _, own in answers.groupby(KEYS, sort=False):
        parts.append(own.assign(sample=draw.sample(range(9), len(own))))
    return pd.concat(parts, ignore_index=True)


def assert_same_figures(one: pd.DataFrame, other: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("sizes", [(3,), (1, 2, 3)])
@settings(max_examples=3)
@given(seed=st.integers(0, 10**6))
def test_estimates_do_not_depend_on_sample_numbers(policy, sizes, answers_of, seed):
    answers = drawn(answers_of, seed, sizes, items=12)
    one, other = (fairstats.analyze(a, policy) for a in (answers, relabelled(answers, seed)))
    assert_same_figures(one, other)


@pytest.mark.parametrize("sizes", [(3,), (1, 2, 3)])
def test_joint_adjustment_does_not_depend_on_sample_numbers(sizes, answers_of):
    answers = drawn(answers_of, 1, sizes)
    one, other = (
        fairstats.analyze(a, adjust="max_t", n_resamples=199)
        for a in (answers, relabelled(answers, 2))
    )
    assert_same_figures(one, other)


@pytest.mark.parametrize("metric", ["ad", "cfr", "accuracy"])
def test_ranks_do_not_depend_on_sample_numbers(metric, answers_of):
    answers = pd.concat(
        drawn(answers_of, seed, (3,)).assign(model=f"model-{seed}") for seed in (1, 2, 3)
    )
    shuffled = pd.concat(relabelled(own, 4) for _, own in answers.groupby("model"))
    one, other = (fairstats.rank_models(a, metric, n_resamples=199) for a in (answers, shuffled))
    assert_same_figures(one, other)
