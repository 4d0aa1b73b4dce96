"""BM25 by its formula, dense by hand, fusion by hand, and the order of equal scores."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fairstats_collectors.corpora import Corpus, Snippet
from fairstats_collectors.retrieve import DEPTH, fuse, rank, search_bm25, search_dense
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]


def corpus_of(*texts: str) -> Corpus:
    return Corpus("c", tuple(Snippet(f"s{n:04}", "", text) for n, text in enumerate(texts)))


def bm25(texts: list[str], query: str, *, k1: float = 1.5, b: float = 0.75) -> list[float]:
    """Compute BM25 by the formula of Robertson and Zaragoza (2009) with Lucene's idf."""
    split = [re.findall(r"\w\w+", text.lower()) for text in texts]
    mean = sum(map(len, split)) / len(split)
    scores = []
    for words in split:
        score = 0.0
        for word in re.findall(r"\w\w+", query.lower()):
            having = sum(word in other for other in split)
            if having:
                idf = math.log(1 + (len(split) - having + 0.5) / (having + 0.5))
                count = words.count(word)
                score += idf * count / (count + k1 * (1 - b + b * len(words) / mean))
        scores.append(score)
    return scores


TEXTS = [
    "crushing chest pain radiates left arm",
    "burning urination frequency",
    "chest radiograph shows pneumonia chest tube",
    "ankle sprain rest ice",
    "pain pain pain",
]


@pytest.mark.parametrize(
    "query",
    ["chest pain", "Chest PAIN chest", "pneumonia unknownword", "ice urination sprain arm tube"],
)
def test_bm25_is_its_formula(query: str) -> None:
    (ranking,) = search_bm25(corpus_of(*TEXTS), [query])
    expected = {n: score for n, score in enumerate(bm25(TEXTS, query)) if score > 0}
    assert dict(ranking) == pytest.approx(expected, abs=1e-8)
    scores = [score for _, score in ranking]
    assert scores == sorted(scores, reverse=True)


def test_bm25_of_empty_query_or_corpus_is_empty() -> None:
    corpus = corpus_of(*TEXTS)
    # Only stop words, no word, words that no snippet has, characters of other languages.
    nothing = ["the of and is", "", "?! .", "zebra", "$question {} %s \\", "心臓"]
    assert search_bm25(corpus, nothing) == [[]] * len(nothing)
    assert search_bm25(corpus, []) == []
    # Snippets of stop words only.
    assert search_bm25(corpus_of("the of", "and is a"), ["the chest", "of"]) == [[], []]
    # One snippet, and one next to an empty one.
    ((only,),) = search_bm25(corpus_of("chest pain"), ["pain"])
    assert only[0] == 0
    assert only[1] > 0
    assert [n for n, _ in search_bm25(corpus_of("the", "chest pain"), ["pain"])[0]] == [1]


def test_titles_are_searched() -> None:
    corpus = Corpus("c", (Snippet("a", "", "one text"), Snippet("b", "Angina", "other text")))
    assert [n for n, _ in search_bm25(corpus, ["angina"])[0]] == [1]


def test_equal_scores_keep_the_order_of_the_corpus() -> None:
    corpus = corpus_of(*["chest pain"] * (DEPTH + 50))
    (ranking,) = search_bm25(corpus, ["chest"])
    assert [n for n, _ in ranking] == list(range(DEPTH))
    assert len({score for _, score in ranking}) == 1


def test_order_does_not_depend_on_the_hash_seed() -> None:
    code = """
from fairstats_collectors.corpora import Corpus, Snippet
from fairstats_collectors.retrieve import search_bm25
texts = [f"word{n} word{n % 7} word{n % 3} chest" for n in range(300)]
corpus = Corpus("c", tuple(Snippet(str(n), "", t) for n, t in enumerate(texts)))
print(search_bm25(corpus, ["chest word1 word2 word5 word2 word200"]))
"""
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join([str(ROOT), *sys.path])},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
    assert said.pop().count(b"(") == DEPTH


def test_bm25_prints_no_output(capfd: pytest.CaptureFixture[str]) -> None:
    search_bm25(corpus_of(*TEXTS), ["chest"])
    assert capfd.readouterr() == ("", "")


def by_letters(texts: object) -> NDArray[np.float32]:
    """Return vectors that can be checked by hand: the numbers of a and b."""
    counts = np.array([[text.count("a"), text.count("b")] for text in texts], dtype=np.float32)  # type: ignore[attr-defined]
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def test_dense_ranks_by_the_cosine() -> None:
    (ranking,) = search_dense(corpus_of("b", "ab", "aa", "aab"), ["a"], by_letters)
    root = [round(x, 6) for x in (1, 2 / math.sqrt(5), 1 / math.sqrt(2), 0)]
    assert ranking == list(zip([2, 3, 1, 0], root, strict=True))


def test_reciprocal_rank_fusion_by_hand() -> None:
    words = [(4, 9.0), (2, 5.0), (0, 1.0)]
    meaning = [(2, 0.9), (1, 0.8), (4, 0.7), (0, 0.1)]
    # 2: 1/62 + 1/61, 4: 1/61 + 1/63, 0: 1/63 + 1/64, 1: 1/62.
    assert fuse([words, meaning]) == [
        (2, 1 / 62 + 1 / 61),
        (4, 1 / 61 + 1 / 63),
        (0, 1 / 63 + 1 / 64),
        (1, 1 / 62),
    ]
    # With k = 1 the first ranks weigh more: 4 has 1/2 + 1/4, 2 has 1/3 + 1/2.
    assert [n for n, _ in fuse([words, meaning], k=1)][:2] == [2, 4]
    # Equal scores: the first in the corpus comes first.
    assert fuse([[(7, 1.0)], [(3, 1.0)]]) == [(3, 1 / 61), (7, 1 / 61)]
    assert fuse([[], []]) == []
    assert fuse([[(7, 1.0)], []]) == [(7, 1 / 61)]


def test_rank_is_a_stable_sort() -> None:
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 40, 1000).astype(float)
    expected = sorted(((n, s) for n, s in enumerate(scores) if s > 0), key=lambda x: (-x[1], x[0]))
    assert rank(scores, above=0.0) == expected[:DEPTH]
    assert rank(np.zeros(0)) == []
