"""Measure how the rules for neutralizing compare with the released neutral text of AMQA's authors.

Every fourth of the 801 released items, in the order of the file: 200. The rules were made on the
other 601, after a look at six of the 200 and at which words the authors change most. Their first
figures on the 200 were: 10.5% agree exactly, 25.5% but for how persons are named, 49.0% but for
that and articles, and no pronoun is left; after that the faults seen there were mended. What is
kept are figures and the single words that were left; ``--examples`` prints text beside text.

    python benchmarks/neutralizing.py ../shared/data/amqa/items.parquet
    python benchmarks/neutralizing.py ../shared/data/amqa/items.parquet --others --examples 20
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from fairstats.benchmarks.vignette_items import Item, read_amqa_items
from fairstats.vignettes.rules.demographic_words import left_over
from fairstats.vignettes.rules.neutralizing import neutralize
from fairstats.vignettes.rules.pronouns import plural_verb

RESULTS = Path(__file__).with_name("results") / "neutralizing.json"
#: Words that the two may choose between without a difference in what is told.
_PERSON = r"(?:patient|person|individual|child|infant|newborn|neonate|baby|adult)"
_RELATIVE = (
    r"(?:(?:other )?parent|guardian|caregiver|family member|partner|spouse|significant other"
    r"|companion|relative|sibling|aunt or uncle|niece or nephew|grandparent)"
)
_PRONOUN = re.compile(r"(?i)\b(?:he|she|him|his|her|hers|himself|herself)\b")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def the_200(items: Sequence[Item]) -> list[Item]:
    """Every fourth item in the order of the file, 200 in all."""
    return list(items)[::4][:200]


def words_of(text: str) -> list[str]:
    """The words of a text without case, white space and punctuation around them."""
    text = text.lower().replace("’", "'").replace("–", "-")
    return [word for part in text.split() if (word := part.strip(".,;:?!()[]\"“”‘'"))]


def folded(text: str) -> list[str]:
    """Its words where one way of naming the patient, or a relative, is as good as another."""
    text = " ".join(words_of(text))
    text = re.sub(rf"\b(?:the|this|that|a|an) {_PERSON}'s|\btheir\b", "their", text)
    text = re.sub(rf"\b(?:the|this|that) {_PERSON}\b|\bthey\b|\bthem\b", "they", text)
    text = re.sub(rf"\b{_PERSON}\b", "patient", text)
    text = re.sub(rf"\b{_RELATIVE}\b", "relative", text)
    return [plural_verb(word) or word for word in text.split()]


def undetermined(text: str) -> list[str]:
    """The same without articles and possessives: "their pain", "the pain", "pain"."""
    return [word for word in folded(text) if word not in ("a", "an", "the", "their", "this")]


def differing(first: Sequence[str], second: Sequence[str]) -> float:
    """The share of words that differ, of the longer of the two texts."""
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    longer = max(len(first), len(second))
    return 1 - sum(block.size for block in blocks) / longer if longer else 0.0


def pronouns_left(text: str) -> list[str]:
    """The gendered pronouns of a text, by a pattern that knows none of the rules' exceptions."""
    return _PRONOUN.findall(text)


def numbers(text: str) -> Counter[str]:
    return Counter(_NUMBER.findall(text))


def compared(items: Sequence[Item]) -> dict[str, Any]:
    """The figures for some items."""
    ours = [neutralize(item.variants["original"]) for item in items]
    given = [item.variants["original"] for item in items]
    theirs = [item.variants["neutralized"] for item in items]
    count = len(items)

    def share(agreeing: Sequence[bool]) -> float:
        return round(sum(agreeing) / count, 4)

    def difference(first: Sequence[str], read: Any) -> float:
        pairs = zip(first, theirs, strict=True)
        return round(sum(differing(read(a), read(b)) for a, b in pairs) / count, 4)

    texts = [one.text for one in ours]
    gendered = ("sex", "family")

    def names_of(read: Sequence[str]) -> list[list[str]]:
        return [[found.word for found in left_over(text, gendered)] for text in read]

    return {
        "items": count,
        "agreeing exactly": share([a == b for a, b in zip(texts, theirs, strict=True)]),
        "agreeing in words": share(
            [words_of(a) == words_of(b) for a, b in zip(texts, theirs, strict=True)]
        ),
        "agreeing but for how persons are named": share(
            [folded(a) == folded(b) for a, b in zip(texts, theirs, strict=True)]
        ),
        "agreeing but for that and articles": share(
            [undetermined(a) == undetermined(b) for a, b in zip(texts, theirs, strict=True)]
        ),
        "differing words": difference(texts, words_of),
        "differing words but for how persons are named": difference(texts, folded),
        "differing words but for that and articles": difference(texts, undetermined),
        "differing words of the originals": difference(given, words_of),
        "differing words of the originals but for that and articles": difference(
            given, undetermined
        ),
        "originals with a gendered pronoun": sum(bool(pronouns_left(text)) for text in given),
        "pronouns in the originals": sum(len(pronouns_left(text)) for text in given),
        "pronouns left by the rules": {
            item.item_id: left
            for item, text in zip(items, texts, strict=True)
            if (left := pronouns_left(text))
        },
        "pronouns left by the authors": {
            item.item_id: left
            for item, text in zip(items, theirs, strict=True)
            if (left := pronouns_left(text))
        },
        "words for sex or a relative left by the rules": _listed(items, names_of(texts)),
        "words for sex or a relative left by the authors": _listed(items, names_of(theirs)),
        "undecided by the rules": dict(
            Counter(change.why for one in ours for change in one.undecided).most_common()
        ),
        "numbers differ from the original, rules": sum(
            numbers(a) != numbers(b) for a, b in zip(texts, given, strict=True)
        ),
        "numbers differ from the original, authors": sum(
            numbers(a) != numbers(b) for a, b in zip(theirs, given, strict=True)
        ),
    }


def _listed(items: Sequence[Item], left: Sequence[list[str]]) -> dict[str, list[str]]:
    return {item.item_id: words for item, words in zip(items, left, strict=True) if words}


def examples(items: Sequence[Item], limit: int) -> None:
    """Print where the two differ by more than how persons are named and articles."""
    for item in items[:limit]:
        ours = neutralize(item.variants["original"]).text.split()
        theirs = item.variants["neutralized"].split()
        print(f"--- {item.item_id}")
        blocks = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
        for _, i, j, k, m in blocks:
            if undetermined(" ".join(ours[i:j])) != undetermined(" ".join(theirs[k:m])):
                print("  ", *ours[max(0, i - 3) : j + 2], " <> ", *theirs[max(0, k - 3) : m + 2])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("items", type=Path, help="items.parquet as the AMQA authors released it")
    parser.add_argument("--others", action="store_true", help="the other 601 items, and no result")
    parser.add_argument("--examples", type=int, default=0, help="of how many items to show texts")
    arguments = parser.parse_args()
    items = read_amqa_items(arguments.items)
    chosen = the_200(items)
    if arguments.others:
        names = {item.item_id for item in chosen}
        chosen = [item for item in items if item.item_id not in names]
    examples(chosen, arguments.examples)
    result = compared(chosen)
    print(json.dumps(result, indent=1, ensure_ascii=False))
    if not arguments.others:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
