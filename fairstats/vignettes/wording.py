"""Wording of a variant compared with the neutral text: length, readability, sentiment, hedging."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats._lib.resources import resource
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, Benchmark
from fairstats.benchmarks.vignette_items import Vignettes
from fairstats.vignettes.findings import findings_frame
from fairstats.vignettes.group_findings import pair_means
from fairstats.vignettes.measures import measures_frame
from fairstats.vignettes.text.quantities import spelled_alike
from fairstats.vignettes.text.sentences import sentences

if TYPE_CHECKING:
    from pyphen import Pyphen
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

#: The measures of each variant. ``added_words`` and ``sentiment`` are for the added text, so the
#: neutral text has neither.
WORDING_MEASURES = ("words", "added_words", "sentences", "reading_ease", "sentiment", "hedging")
_OF_THE_ADDED = frozenset({"added_words", "sentiment"})
#: The largest possible absolute difference of two variants' values, if bounded.
_LARGEST = {"sentiment": 2.0, "hedging": 1.0}

_WORD = re.compile(r"\w+(?:[-'.,/]\w+)*")


def words(text: str) -> list[str]:
    """Return the words of a text; hyphenated words and numbers (37.5, 120/80) are one word each."""
    return _WORD.findall(spelled_alike(text))


def syllables(word: str) -> int:
    """Return the number of syllables of a word, from its hyphenation points; at least 1.

    Notes
    -----
    This uses pyphen's hyphenation patterns for US English, which omit breaks that a printer would
    not make ("fe-ver", "a-taxia"). In a manual count, 14 of the 187 syllables in 100 running words
    of the released neutral texts were missed (7%). So reading ease is overestimated. Differences
    between variants can be interpreted, but levels cannot be compared with those of other programs.
    A number is one syllable.

    Examples
    --------
    >>> syllables("hemoglobin"), syllables("fever"), syllables("37.5")
    (4, 1, 1)
    """
    return _syllables(word.casefold())


@cache
def _syllables(word: str) -> int:
    return sum(max(1, len(_hyphens().positions(part)) + 1) for part in word.split("-") if part)


def reading_ease(text: str) -> float | None:
    """Compute Flesch's reading ease, 206.835 − 1.015 words/sentence − 84.6 syllables/word.

    None for a text without words. Higher is easier; 0 to 30 is graduate level. A laboratory value
    on a separate line is a sentence, so texts with a table score as easier.

    References
    ----------
    Flesch (1948), J Appl Psychol 32:221-233.

    Examples
    --------
    >>> round(reading_ease("The cat sat on the mat."), 1)
    116.1
    """
    all_words = words(text)
    if not all_words:
        return None
    per_sentence = len(all_words) / max(1, len(sentences(text)))
    per_word = sum(map(syllables, all_words)) / len(all_words)
    return 206.835 - 1.015 * per_sentence - 84.6 * per_word


def hedging(text: str) -> float | None:
    """Return the share of a text's words in hedges; None without words.

    References
    ----------
    The idea is from Hyland (1998), Hedging in Scientific Research Articles, John Benjamins. The
    list, ``data/vignettes/hedges.txt``, was compiled for this project.

    Examples
    --------
    >>> hedging("This may possibly help them.")
    0.4
    """
    count = len(words(text))
    if not count:
        return None
    found = _hedges().findall(spelled_alike(text).casefold())
    return min(1.0, sum(len(words(hedge)) for hedge in found) / count)


def added_sentences(neutral: str, text: str) -> list[str]:
    """Return the sentences of a variant that are not in the neutral text in the same form."""
    known = {_plain(sentence) for sentence in sentences(neutral)}
    return [sentence for sentence in sentences(text) if _plain(sentence) not in known]


def sentiment(texts: Iterable[str]) -> float | None:
    """Return the mean of VADER's compound score (−1 to 1) over sentences; None without any.

    Notes
    -----
    VADER's words and weights come from social media: "pain" and "severe" are negative, whatever
    they mean in the vignette. So compare variants of one item, which share those words. A sentence
    of the neutral text that the variant only rewords counts as added.

    References
    ----------
    Hutto & Gilbert (2014), VADER, ICWSM 8:216-225.

    Examples
    --------
    >>> sentiment([]) is None, sentiment(["A great and happy day."]) > 0.5
    (True, True)
    """
    scores = [_vader().polarity_scores(text)["compound"] for text in texts]
    return sum(scores) / len(scores) if scores else None


def wording_measures(vignettes: Vignettes) -> pd.DataFrame:
    """Measure the wording of each variant and each neutral text.

    Parameters
    ----------
    vignettes : Vignettes

    Returns
    -------
    pandas.DataFrame
        With `fairstats.vignettes.measures.MEASURE_COLUMNS`; measures in `WORDING_MEASURES`. The
        neutral text's rows have attribute ``baseline`` and group ``neutralized``, without
        ``added_words`` and ``sentiment``. A variant without a new sentence has no ``sentiment``.
    """
    return measures_frame(_rows(vignettes))


def wording_findings(
    measures: pd.DataFrame, benchmark: Benchmark, *, alpha: float = 0.05
) -> pd.DataFrame:
    """Compare the wording of each group with the neutral text, and of the groups of each pair.

    Parameters
    ----------
    measures : pandas.DataFrame
        From `wording_measures`.
    benchmark : Benchmark
        Declares the groups and pairs.
    alpha : float
        1 − confidence level.

    Returns
    -------
    pandas.DataFrame
        With `fairstats.vignettes.findings.FINDING_COLUMNS`, aspect ``wording``. Quantity ``group
        minus neutral`` for each group (``mean`` for ``sentiment``, which the neutral text does not
        have), and ``first minus second`` for each pair: means over items of paired
        differences. ``added_words`` equals ``words`` minus neutral, so it has no rows for that.
    """
    rows = pair_means(
        measures,
        benchmark,
        {name: _LARGEST.get(name) for name in WORDING_MEASURES if name != "added_words"},
        aspect="wording",
        against_neutral=[name for name in WORDING_MEASURES if name not in _OF_THE_ADDED],
        alpha=alpha,
    )
    return findings_frame(rows)


def _rows(vignettes: Vignettes) -> Iterator[Mapping[str, Any]]:
    for item in vignettes.items:
        neutral = item.variants[NEUTRALIZED]
        keys = {"benchmark": vignettes.benchmark.name, "item_id": item.item_id}
        baseline = keys | {"attribute": BASELINE, "group": NEUTRALIZED}
        neutral_values = _values(neutral)
        yield from _as_rows(baseline, neutral_values)
        for attribute in vignettes.benchmark.varied:
            for group in attribute.groups:
                text = item.variants[group]
                values = _values(text)
                values["added_words"] = (values["words"] or 0) - (neutral_values["words"] or 0)
                values["sentiment"] = sentiment(added_sentences(neutral, text))
                yield from _as_rows(keys | {"attribute": attribute.name, "group": group}, values)


def _values(text: str) -> dict[str, float | None]:
    return {
        "words": len(words(text)),
        "sentences": len(sentences(text)),
        "reading_ease": reading_ease(text),
        "hedging": hedging(text),
    }


def _as_rows(
    keys: Mapping[str, str], values: Mapping[str, float | None]
) -> Iterator[Mapping[str, Any]]:
    for name, value in values.items():
        if value is not None:
            yield {**keys, "measure": name, "value": float(value)}


def _plain(sentence: str) -> str:
    return " ".join(words(sentence)).casefold()


@cache
def _hyphens() -> Pyphen:
    from pyphen import Pyphen

    return Pyphen(lang="en_US")


@cache
def _vader() -> SentimentIntensityAnalyzer:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return SentimentIntensityAnalyzer()


@cache
def _hedges() -> re.Pattern[str]:
    text = resource("data", "vignettes", "hedges.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    longest_first = sorted(lines, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
