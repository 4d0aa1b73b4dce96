"""Limits and p-values over completions of clustered answers, compared with all completions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from fairstats.answers.engine_frames import open_answers
from fairstats.counts.outcomes import outcomes_of
from fairstats.estimates.judgements import judge
from tests.make_kinds import ONE_PAIR, SIGNS, answers_to, declared

ALPHA = 0.05
ENDS = {"decision": "YN", "level": "15", "score": "09"}


@pytest.fixture
def judged(benchmark_file):
    """Return a function that judges texts of answers to items in clusters, one row per text."""

    def judge_texts(kind: str, clusters: list[int], sets: list[list[str]]):
        items = "".join(f"item-{place},p{cluster}\n" for place, cluster in enumerate(clusters))
        benchmark = declared(
            benchmark_file,
            kind,
            race=ONE_PAIR,
            keys="item_id,patient\n" + items,
            keys_file='keys_file = "keys.csv"',
            missing='missing = "available"\ncluster = "patient"',
        )
        table = pd.concat(
            [answers_to(benchmark, texts, models=[f"m{i:04}"]) for i, texts in enumerate(sets)],
            ignore_index=True,
        )
        counted = outcomes_of(open_answers(table, [benchmark]))
        return judge(counted.values(), "available", ALPHA, margin=0.1)

    return judge_texts


def completions(texts: list[str], ends: str) -> list[list[str]]:
    """Return the texts with each missing answer at one of the ends, in all ways."""
    whole = " ".join(texts).replace(".", "-")
    found = []
    for signs in product(ends, repeat=whole.count("-")):
        left = iter(signs)
        found.append("".join(next(left) if sign == "-" else sign for sign in whole).split())
    return found


def drawn(kind: str, draw: np.random.Generator) -> tuple[list[int], list[str]]:
    """Return the clusters of some items and the answers to them, up to six of them missing."""
    sizes = draw.integers(1, 7, 12) if draw.random() < 0.5 else np.full(8, 5)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    signs = ENDS[kind] if kind == "decision" else SIGNS[kind]
    differ = draw.choice([0.0, 0.05, 0.2, 0.5])
    own = draw.choice(list(signs), (len(sizes), 2))
    texts = []
    for cluster in clusters:
        pair = own[cluster] if draw.random() < differ else own[cluster][[0, 0]]
        texts.append(
            "".join(pair if draw.random() < 0.7 else draw.choice(list(signs), 1).repeat(2))
        )
    for place in draw.choice(len(texts), 3, replace=False):
        one, other = texts[place]
        texts[place] = str(draw.choice([f"{one}-", f"-{other}", "--", ".."]))
    return clusters.tolist(), texts


@pytest.mark.parametrize(("kind", "room"), [("decision", 0.1), ("level", 0.0), ("score", 0.0)])
def test_limits_and_p_values_cover_all_completions(kind, room, judged):
    draw = np.random.default_rng(4)
    for _ in range(4):
        clusters, texts = drawn(kind, draw)
        own = judged(kind, clusters, [texts])
        every = judged(kind, clusters, completions(texts, ENDS[kind]))
        estimate = own.outer.estimate[0]
        for side, limits, whole in zip((1, -1), own.widened(own.inner), every.inner, strict=True):
            reached, widest = side * (estimate - limits[0]), (side * (estimate - whole)).max()
            assert reached >= (1 - room) * widest - 1e-9
        assert own.p_range()[1][0] >= every.p_values().max() - 1e-12


@pytest.mark.parametrize("kind", ENDS)
def test_limits_are_widest_where_two_clusters_differ_both_ways(kind, judged):
    first, other = ENDS[kind]
    texts = [first * 2] * 100
    texts[0], texts[5] = first + other, other + first
    texts[1], texts[6] = f"-{first}", f"{first}-"
    clusters = [place // 5 for place in range(100)]
    own = judged(kind, clusters, [texts])
    mixed = judged(kind, clusters, completions(texts, ENDS[kind]))
    low, high = own.widened(own.inner)
    assert low[0] == pytest.approx(mixed.inner[0].min())
    assert high[0] == pytest.approx(mixed.inner[1].max())


def test_limits_are_widest_where_a_single_large_cluster_differs(judged):
    """Missing answers of two other clusters make up for the differences of these."""
    texts, clusters = ["NN"] * 45 + ["YY"] * 8, [place // 15 for place in range(45)]
    texts[0], texts[15], texts[30] = "-Y", "-Y", "-Y"
    texts[16] = texts[31] = "YN"
    clusters += list(range(3, 11))
    own = judged("decision", clusters, [texts])
    every = judged("decision", clusters, completions(texts, ENDS["decision"]))
    low, high = own.widened(own.inner)
    assert low[0] == pytest.approx(every.inner[0].min())
    assert high[0] == pytest.approx(every.inner[1].max())
