"""Near-duplicate items, and variants that hardly differ from another text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairstats.benchmarks.declaration import NEUTRALIZED
from fairstats.benchmarks.vignette_items import Item, Vignettes
from fairstats.inference.intervals import wilson
from fairstats.vignettes.findings import findings_frame, flags_frame
from fairstats.vignettes.measures import measures_frame
from fairstats.vignettes.wording import words

#: Share of common word 5-grams from which two neutral texts count as near-duplicates. If k separate
#: words of 100 are replaced, two texts share (96 − 5k) / (96 + 5k). So 0.5 means k = 6, i.e. 94% of
#: the words are unchanged.
NEAR_DUPLICATE = 0.5
#: Share from which a variant hardly differs from the neutral text, or from another group's variant.
HARDLY_DIFFERENT = 0.95
_GRAM = 5
DUPLICATE_MEASURES = ("nearest_item", "like_neutral", "like_other_group")

SAME_ITEM = "near-duplicate item"
SAME_QUESTION_OTHER_KEY = "near-duplicate item with another key"
SAME_CASE_OTHER_OPTIONS = "near-duplicate item with other options"
LIKE_NEUTRAL = "variant hardly differs from the neutral text"
LIKE_OTHER_GROUP = "variant hardly differs from another group's"


@dataclass(frozen=True)
class Duplicate:
    """Two items with similar neutral texts.

    Attributes
    ----------
    first, second : str
        Their names.
    similarity : float
        The Jaccard index of their word 5-grams, from 0 to 1.
    same_options, same_key : bool
        Whether they have the same set of option texts, and keys with the same text.
    """

    first: str
    second: str
    similarity: float
    same_options: bool
    same_key: bool


def jaccard(one: str, other: str) -> float:
    """Return the Jaccard index of the word 5-grams of two texts; 1 if both are empty.

    Examples
    --------
    >>> jaccard("a b c d e f", "a b c d e g")
    0.3333333333333333
    """
    a, b = _grams(one), _grams(other)
    return len(a & b) / len(a | b) if a | b else 1.0


def near_duplicates(items: Sequence[Item], *, threshold: float = NEAR_DUPLICATE) -> list[Duplicate]:
    """Return pairs of items with similar neutral texts, the most similar first.

    Parameters
    ----------
    items : sequence of Item
    threshold : float
        Jaccard index of word 5-grams from which two texts are similar, above 0.

    Returns
    -------
    list of Duplicate

    Raises
    ------
    ValueError
        For a threshold that is not above 0 and at most 1.

    References
    ----------
    Broder (1997), On the resemblance and containment of documents, SEQUENCES '97:21-29.
    """
    if not 0 < threshold <= 1:
        raise ValueError("threshold must be above 0 and at most 1")
    similar = _similarities([item.variants[NEUTRALIZED] for item in items])
    rows, columns = np.nonzero(np.triu(similar >= threshold, k=1))
    found = [
        _duplicate(items[int(i)], items[int(j)], float(similar[i, j]))
        for i, j in zip(rows, columns, strict=True)
    ]
    return sorted(found, key=lambda pair: -pair.similarity)


def duplicate_measures(vignettes: Vignettes) -> pd.DataFrame:
    """Measure the similarity of each text to those that it should differ from.

    Parameters
    ----------
    vignettes : Vignettes

    Returns
    -------
    pandas.DataFrame
        With `fairstats.vignettes.measures.MEASURE_COLUMNS`. ``nearest_item`` of each neutral text:
        the Jaccard index of word 5-grams with the most similar other item (missing for a single
        item). ``like_neutral`` and ``like_other_group`` of each variant: the index with its neutral
        text, and with the most similar variant among its attribute's other groups.
    """
    return measures_frame(_rows(vignettes))


def duplicate_findings(
    measures: pd.DataFrame,
    *,
    threshold: float = NEAR_DUPLICATE,
    hardly: float = HARDLY_DIFFERENT,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Estimate the share of items with a near-duplicate, and of variants that hardly differ.

    Parameters
    ----------
    measures : pandas.DataFrame
        From `duplicate_measures`.
    threshold, hardly : float
        Similarity from which items are near-duplicates, and variants hardly differ.
    alpha : float
        1 − confidence level.

    Returns
    -------
    pandas.DataFrame
        With `fairstats.vignettes.findings.FINDING_COLUMNS`, aspect ``duplicates``; Wilson's
        intervals, thresholds in ``note``.

    Notes
    -----
    Near-duplicates come in pairs or larger groups, so their share has fewer independent trials than
    items: its interval is too narrow.
    """
    rows = []
    for (benchmark, attribute, group, measure), values in measures.groupby(
        ["benchmark", "attribute", "group", "measure"], sort=False
    )["value"]:
        limit = threshold if measure == "nearest_item" else hardly
        n, count = len(values), int((values >= limit).sum())
        limits = wilson(count, n, alpha=alpha)
        rows.append(
            {
                "aspect": "duplicates",
                "measure": measure,
                "quantity": "share of items" if measure == "nearest_item" else "share of variants",
                "benchmark": benchmark,
                "attribute": attribute,
                "group_a": group,
                "estimate": count / n,
                "ci_low": float(limits.ci_low),
                "ci_high": float(limits.ci_high),
                "ci_level": 1 - alpha,
                "ci_method": "wilson",
                "n": n,
                "note": f"Jaccard index of word {_GRAM}-grams at least {limit:g}",
            }
        )
    return findings_frame(rows)


def duplicate_flags(
    vignettes: Vignettes,
    *,
    threshold: float = NEAR_DUPLICATE,
    hardly: float = HARDLY_DIFFERENT,
) -> pd.DataFrame:
    """Return near-duplicate items, and variants that hardly differ, for a person to check.

    Parameters
    ----------
    vignettes : Vignettes
    threshold, hardly : float
        As in `duplicate_findings`.

    Returns
    -------
    pandas.DataFrame
        With `fairstats.vignettes.findings.FLAG_COLUMNS`, aspect ``duplicates``. A pair of items is
        one row, for the item that comes first.
    """
    rows = []
    for pair in near_duplicates(vignettes.items, threshold=threshold):
        flag = SAME_ITEM if pair.same_options else SAME_CASE_OTHER_OPTIONS
        flag = flag if pair.same_key else SAME_QUESTION_OTHER_KEY
        options = "the same options" if pair.same_options else "other options"
        key = "the same key" if pair.same_key else "another key"
        detail = f"like item {pair.second} (similarity {pair.similarity:.2f}): {options}, {key}"
        rows.append({"item_id": pair.first, "flag": flag, "detail": detail})
    measured = duplicate_measures(vignettes)
    for name, flag in (("like_neutral", LIKE_NEUTRAL), ("like_other_group", LIKE_OTHER_GROUP)):
        alike = measured[(measured["measure"] == name) & (measured["value"] >= hardly)]
        rows += [
            {"item_id": item_id, "attribute": attribute, "group": group, "flag": flag}
            | {"detail": f"similarity {value:.2f}"}
            for item_id, attribute, group, value in alike[
                ["item_id", "attribute", "group", "value"]
            ].itertuples(index=False)
        ]
    return flags_frame({"aspect": "duplicates", **row} for row in rows)


def _rows(vignettes: Vignettes) -> Iterator[Mapping[str, Any]]:
    benchmark = vignettes.benchmark
    items = vignettes.items
    if len(items) > 1:
        similar = _similarities([item.variants[NEUTRALIZED] for item in items])
        np.fill_diagonal(similar, -1.0)
        for item, value in zip(items, similar.max(axis=1), strict=True):
            yield {
                "benchmark": benchmark.name,
                "item_id": item.item_id,
                "attribute": "baseline",
                "group": NEUTRALIZED,
                "measure": "nearest_item",
                "value": float(value),
            }
    for item in items:
        grams = {group: _grams(text) for group, text in item.variants.items()}
        for attribute in benchmark.varied:
            for group in attribute.groups:
                keys = {"benchmark": benchmark.name, "item_id": item.item_id}
                keys |= {"attribute": attribute.name, "group": group}
                like = _jaccard(grams[group], grams[NEUTRALIZED])
                yield {**keys, "measure": "like_neutral", "value": like}
                others = [_jaccard(grams[group], grams[g]) for g in attribute.groups if g != group]
                if others:
                    yield {**keys, "measure": "like_other_group", "value": max(others)}


def _duplicate(one: Item, other: Item, similarity: float) -> Duplicate:
    def plain(text: str) -> str:
        return " ".join(words(text)).casefold()

    same_options = {plain(t) for t in one.options.values()} == {
        plain(t) for t in other.options.values()
    }
    same_key = plain(one.options[one.answer_key]) == plain(other.options[other.answer_key])
    return Duplicate(one.item_id, other.item_id, similarity, same_options, same_key)


def _grams(text: str) -> frozenset[tuple[str, ...]]:
    """Return the word 5-grams of a text; for a shorter text, all its words as one."""
    all_words = [word.casefold() for word in words(text)]
    if len(all_words) < _GRAM:
        return frozenset([tuple(all_words)] if all_words else [])
    return frozenset(zip(*(all_words[start:] for start in range(_GRAM)), strict=False))


def _jaccard(a: frozenset[tuple[str, ...]], b: frozenset[tuple[str, ...]]) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0


def _similarities(texts: Sequence[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the Jaccard index of every pair of texts, by a sparse product."""
    from scipy.sparse import csr_matrix

    grams = [_grams(text) for text in texts]
    place = {gram: column for column, gram in enumerate(frozenset().union(*grams))}
    ends = np.cumsum([0, *map(len, grams)])
    columns = [place[gram] for held in grams for gram in held]
    held = csr_matrix(
        (np.ones(len(columns)), columns, ends), shape=(len(texts), max(1, len(place)))
    )
    common = np.asarray((held @ held.T).todense(), dtype=np.float64)
    sizes = np.diff(ends)
    either = sizes[:, None] + sizes[None, :] - common
    return np.divide(common, either, out=np.ones_like(common), where=either > 0)
