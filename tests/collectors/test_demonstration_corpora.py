"""The corpus for demonstrations of retrieval is valid, and has a snippet on each item."""

import json
import math
import re
from collections import Counter

import pytest

from fairstats._lib.installation import resource

FOLDER = resource("data", "corpora")
LINES = (FOLDER / "primer.jsonl").read_bytes().splitlines()
SNIPPETS = [json.loads(line) for line in LINES]
ITEMS = [
    json.loads(line)
    for line in resource("data", "benchmarks", "demo.items.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


def words(text):
    return re.findall(r"[a-z0-9]{3,}", text.lower())


BAGS = [set(words(f"{snippet['title']} {snippet['text']}")) for snippet in SNIPPETS]
FREQUENCY = Counter(word for bag in BAGS for word in bag)


def found_for(text):
    """Return the snippets by overlap with a text, the largest first; rare words count more."""
    query = set(words(text))
    scores = [sum(math.log(len(BAGS) / FREQUENCY[w]) for w in query & bag) for bag in BAGS]
    return sorted(range(len(BAGS)), key=lambda number: -scores[number])


def test_every_line_is_a_separate_snippet():
    assert [list(snippet) for snippet in SNIPPETS] == [["id", "title", "text"]] * len(SNIPPETS)
    assert [s["id"] for s in SNIPPETS] == [f"primer-{n + 1:03d}" for n in range(len(SNIPPETS))]
    for name in ("title", "text"):
        assert len({snippet[name].lower() for snippet in SNIPPETS}) == len(SNIPPETS)


def test_no_sentence_is_repeated():
    sentences = Counter(
        sentence
        for snippet in SNIPPETS
        for sentence in re.split(r"(?<=[.:;]) ", snippet["text"])
        if len(sentence.split()) > 4
    )
    assert len(sentences) > 800
    assert [sentence for sentence, count in sentences.items() if count > 1] == []


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet["id"])
def test_a_snippet_is_short_clean_text(snippet):
    assert 50 <= len(snippet["text"].split()) <= 110
    for text in (snippet["title"], snippet["text"]):
        assert text.isascii()
        assert text.isprintable()
        assert text == " ".join(text.split())
    assert snippet["text"].endswith(".")


def test_counts_in_the_readme_are_right():
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    counts = [len(snippet["text"].split()) for snippet in SNIPPETS]
    assert f"{len(SNIPPETS)} snippets, {sum(counts):,} words" in readme
    mean = sum(counts) / len(counts)
    assert f"{min(counts)} to {max(counts)} words each, {mean:.0f} on" in readme


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item["item_id"])
def test_the_first_hit_for_an_item_is_on_its_subject(item):
    for vignette in item["variants"].values():
        first = SNIPPETS[found_for(vignette)[0]]
        subject = [word[:7] for word in words(item["topic"]) if len(word) > 3]
        assert any(stem in " ".join(words(first["title"])) for stem in subject), first["title"]


def test_words_for_a_group_change_the_results():
    moved = 0
    for item in ITEMS:
        neutral, black = (
            set(found_for(item["variants"][group])[:5]) for group in ("neutralized", "black")
        )
        moved += neutral != black
    assert moved > len(ITEMS) / 2
