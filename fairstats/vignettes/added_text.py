"""The text that a variant adds to the neutralized vignette: which words, and how many."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import pandas as pd

from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, Benchmark
from fairstats.benchmarks.vignette_items import Vignettes
from fairstats.vignettes.tables import MeasureRow, findings_frame, measures_frame, pair_means
from fairstats.vignettes.text.quantities import spelled_alike
from fairstats.vignettes.text.words_and_sentences import content_stems

#: The measures of each variant: its length, and its distinct new content stems.
ADDED_TEXT_MEASURES = ("words", "new_words")

_WORD = re.compile(r"\w+(?:[-'.,/]\w+)*")


@lru_cache(maxsize=20_000)
def added_words(neutral: str, variant: str) -> tuple[str, ...]:
    """Return the stems of content words that are in the variant but not in the neutral text.

    They are in the variant's order, with repeats.

    Notes
    -----
    Word order does not matter, so moved or inflected words do not count. Reworded text does
    ("presents with" for "has"), to the same extent in every group.

    Examples
    --------
    >>> added_words("A patient has a cough.", "A retired patient coughs, and fears asthma.")
    ('retir', 'fear', 'asthma')
    """
    known = frozenset(content_stems(neutral))
    return tuple(found for found in content_stems(variant) if found not in known)


def running_words(text: str) -> list[str]:
    """Return the words of a text as counted for its length.

    Hyphenated words and numbers (37.5, 120/80) are one word each.

    Examples
    --------
    >>> running_words("A 67-year-old at 120/80 mm Hg")
    ['A', '67-year-old', 'at', '120/80', 'mm', 'Hg']
    """
    return _WORD.findall(spelled_alike(text))


def added_text_measures(vignettes: Vignettes) -> pd.DataFrame:
    """Measure the length of each variant and neutral text, and each variant's new words.

    Returns
    -------
    pandas.DataFrame
        With `fairstats.vignettes.tables.MEASURE_COLUMNS`. ``words``: the number of words; the
        neutral text's have attribute ``baseline`` and group ``neutralized``. ``new_words``: the
        number of distinct content stems that only the variant has.
    """
    return measures_frame(vignettes.benchmark.name, _rows(vignettes))


def added_text_findings(
    measures: pd.DataFrame, benchmark: Benchmark, *, alpha: float = 0.05
) -> pd.DataFrame:
    """Estimate how much text each group's variants add, and the pairs' differences.

    Returns
    -------
    pandas.DataFrame
        `fairstats.vignettes.tables.FINDING_COLUMNS`, aspect ``added text``: means over items,
        with Student's t. Quantity ``group minus neutral`` for ``words`` and ``mean`` for
        ``new_words`` of each group; ``first minus second`` for each pair.
    """
    rows = pair_means(
        measures,
        benchmark,
        ADDED_TEXT_MEASURES,
        aspect="added text",
        against_neutral=["words"],
        alpha=alpha,
    )
    return findings_frame(rows)


def _rows(vignettes: Vignettes) -> Iterator[MeasureRow]:
    for item in vignettes.items:
        number = len(running_words(item.variants[NEUTRALIZED]))
        yield item.item_id, BASELINE, NEUTRALIZED, "words", number
    for item, attribute, group, text in vignettes.variants():
        yield item.item_id, attribute, group, "words", len(running_words(text))
        new = set(added_words(item.variants[NEUTRALIZED], text))
        yield item.item_id, attribute, group, "new_words", len(new)
