"""Near-duplicate items, and variants that hardly differ from another text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED
from fairstats.benchmarks.vignette_items import Item, Vignettes
from fairstats.vignettes.added_text import running_words
from fairstats.vignettes.tables import (
    MeasureRow,
    Row,
    findings_frame,
    flags_frame,
    measures_frame,
    share_row,
)

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
    """Two items with similar neutral texts, by the Jaccard index of their word 5-grams."""

    first: str
    second: str
    similarity: float
    same_options: bool
    same_key: bool


def near_duplicates(items: Sequence[Item]) -> list[Duplicate]:
    """Return pairs of items with similar neutral texts, the most similar first.

    They are similar from a Jaccard index of `NEAR_DUPLICATE`.

    References
    ----------
    Broder (1997), On the resemblance and containment of documents, SEQUENCES '97:21-29.
    """
    similar = _similarities([item.variants[NEUTRALIZED] for item in items])
    rows, columns = np.nonzero(np.triu(similar >= NEAR_DUPLICATE, k=1))
    found = [
        _duplicate(items[int(i)], items[int(j)], float(similar[i, j]))
        for i, j in zip(rows, columns, strict=True)
    ]
    return sorted(found, key=lambda pair: -pair.similarity)


def duplicate_measures(vignettes: Vignettes) -> pd.DataFrame:
    """Measure the similarity of each text to those that it should differ from.

    Returns
    -------
    pandas.DataFrame
        With `fairstats.vignettes.tables.MEASURE_COLUMNS`. ``nearest_item`` of each neutral text:
        the Jaccard index of word 5-grams with the most similar other item (missing for a single
        item). ``like_neutral`` and ``like_other_group`` of each variant: the index with its neutral
        text, and with the most similar variant among its attribute's other groups.
    """
    return measures_frame(vignettes.benchmark.name, _rows(vignettes))


def duplicate_findings(measures: pd.DataFrame, *, alpha: float = 0.05) -> pd.DataFrame:
    """Estimate the share of items with a near-duplicate, and of variants that hardly differ.

    Returns
    -------
    pandas.DataFrame
        With `fairstats.vignettes.tables.FINDING_COLUMNS`, aspect ``duplicates``; Wilson's
        intervals, thresholds in ``note``.

    Notes
    -----
    Near-duplicates come in pairs or larger groups, so their share has fewer independent trials than
    items: its interval is too narrow.
    """
    own = measures[measures["measure"].isin(DUPLICATE_MEASURES)]
    rows: list[Row] = []
    keys = ["benchmark", "attribute", "group", "measure"]
    for (benchmark, attribute, group, measure), values in own.groupby(keys, sort=False)["value"]:
        of_items = measure == "nearest_item"
        limit = NEAR_DUPLICATE if of_items else HARDLY_DIFFERENT
        rows.append(
            {
                "aspect": "duplicates",
                "measure": measure,
                "quantity": "share of items" if of_items else "share of variants",
                "benchmark": benchmark,
                "attribute": attribute,
                "group_a": group,
                "note": f"Jaccard index of word {_GRAM}-grams at least {limit:g}",
            }
            | share_row(values >= limit, alpha)
        )
    return findings_frame(rows)


def duplicate_flags(vignettes: Vignettes, measures: pd.DataFrame) -> pd.DataFrame:
    """Return near-duplicate items, and variants that hardly differ, for a person to check.

    Returns
    -------
    pandas.DataFrame
        With `fairstats.vignettes.tables.FLAG_COLUMNS`, aspect ``duplicates``. A pair of items is
        one row, for the item that comes first.
    """
    rows = []
    for pair in near_duplicates(vignettes.items):
        flag = SAME_ITEM if pair.same_options else SAME_CASE_OTHER_OPTIONS
        flag = flag if pair.same_key else SAME_QUESTION_OTHER_KEY
        options = "the same options" if pair.same_options else "other options"
        key = "the same key" if pair.same_key else "another key"
        detail = f"like item {pair.second} (similarity {pair.similarity:.2f}): {options}, {key}"
        rows.append({"item_id": pair.first, "flag": flag, "detail": detail})
    for name, flag in (("like_neutral", LIKE_NEUTRAL), ("like_other_group", LIKE_OTHER_GROUP)):
        alike = measures[(measures["measure"] == name) & (measures["value"] >= HARDLY_DIFFERENT)]
        rows += [
            {"item_id": item_id, "attribute": attribute, "group": group, "flag": flag}
            | {"detail": f"similarity {value:.2f}"}
            for item_id, attribute, group, value in alike[
                ["item_id", "attribute", "group", "value"]
            ].itertuples(index=False)
        ]
    return flags_frame({"aspect": "duplicates", **row} for row in rows)


def _rows(vignettes: Vignettes) -> Iterator[MeasureRow]:
    items = vignettes.items
    if len(items) > 1:
        similar = _similarities([item.variants[NEUTRALIZED] for item in items])
        np.fill_diagonal(similar, -1.0)
        for item, value in zip(items, similar.max(axis=1), strict=True):
            yield item.item_id, BASELINE, NEUTRALIZED, "nearest_item", value
    for item in items:
        grams = {group: _grams(text) for group, text in item.variants.items()}
        for attribute in vignettes.benchmark.varied:
            for group in attribute.groups:
                like = _jaccard(grams[group], grams[NEUTRALIZED])
                yield item.item_id, attribute.name, group, "like_neutral", like
                others = [_jaccard(grams[group], grams[g]) for g in attribute.groups if g != group]
                if others:
                    yield item.item_id, attribute.name, group, "like_other_group", max(others)


def _duplicate(one: Item, other: Item, similarity: float) -> Duplicate:
    def plain(text: str) -> str:
        return " ".join(running_words(text)).casefold()

    same_options = {plain(t) for t in one.options.values()} == {
        plain(t) for t in other.options.values()
    }
    same_key = plain(one.options[one.answer_key]) == plain(other.options[other.answer_key])
    return Duplicate(one.item_id, other.item_id, similarity, same_options, same_key)


def _grams(text: str) -> frozenset[tuple[str, ...]]:
    """Return the word 5-grams of a text; for a shorter text, all its words as one."""
    all_words = [word.casefold() for word in running_words(text)]
    if len(all_words) < _GRAM:
        return frozenset([tuple(all_words)] if all_words else [])
    return frozenset(zip(*(all_words[start:] for start in range(_GRAM)), strict=False))


def _jaccard(a: frozenset[tuple[str, ...]], b: frozenset[tuple[str, ...]]) -> float:
    """Return the Jaccard index of two sets of 5-grams; 1 if both are empty."""
    return len(a & b) / len(a | b) if a | b else 1.0


def _similarities(texts: Sequence[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the Jaccard index of every pair of texts, by a sparse product."""
    grams = [_grams(text) for text in texts]
    place = {gram: column for column, gram in enumerate(frozenset().union(*grams))}
    ends = np.cumsum([0, *map(len, grams)])
    columns = [place[gram] for held in grams for gram in held]
    held = scipy.sparse.csr_matrix(
        (np.ones(len(columns)), columns, ends), shape=(len(texts), max(1, len(place)))
    )
    common = np.asarray((held @ held.T).todense(), dtype=np.float64)
    sizes = np.diff(ends)
    either = sizes[:, None] + sizes[None, :] - common
    return np.divide(common, either, out=np.ones_like(common), where=either > 0)
