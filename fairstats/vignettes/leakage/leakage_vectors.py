"""Vectors of added texts and options; products measure how far a text points to an option."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from fairstats.benchmarks.declaration import NEUTRALIZED
from fairstats.benchmarks.vignette_items import Vignettes
from fairstats.vignettes.text.added_text import added_text, added_words
from fairstats.vignettes.text.words import content_stems

FloatArray = npt.NDArray[np.float64]
#: Maps texts to vectors of length 1, shape (n, d).
Embed = Callable[[Sequence[str]], npt.NDArray[Any]]


@dataclass(frozen=True)
class Space:
    """Vectors of one kind, for n items with k options.

    Parameters
    ----------
    name : str
        ``overlap``, ``distinct``, ``tfidf`` or ``embedding``.
    options : array of shape (n k, d), sparse or not
        The first item's options, then the second's, …
    texts : Mapping[(str, str), array of shape (n, d)]
        The added text of each attribute's and group's variants.
    neutral : array of shape (n, d) or None
        The neutral texts; None if the texts' vectors already exclude their words.
    adds : Mapping[(str, str), ndarray of bool, shape (n,)]
        Whether each text adds any words.
    usable : ndarray of bool, shape (n k,)
        Whether an option has words that a text can also have.
    """

    name: str
    options: Any
    texts: Mapping[tuple[str, str], Any]
    neutral: Any | None
    adds: Mapping[tuple[str, str], npt.NDArray[np.bool_]]
    usable: npt.NDArray[np.bool_]


def spaces_of(vignettes: Vignettes, options: Sequence[str], embed: Embed | None) -> list[Space]:
    """Return the spaces in which texts are compared with options.

    Parameters
    ----------
    vignettes : Vignettes
        n items with k options each.
    options : sequence of str
        The n k options, item by item.
    embed : callable or None
        Maps texts to vectors; None leaves out that space.

    Returns
    -------
    list of Space
        Empty without items.
    """
    items = vignettes.items
    if not items:
        return []
    neutral = [item.variants[NEUTRALIZED] for item in items]
    variants = {
        (attribute.name, group): [item.variants[group] for item in items]
        for attribute in vignettes.benchmark.varied
        for group in attribute.groups
    }
    passages = {
        names: [" \n ".join(added_text(*pair)) for pair in zip(neutral, texts, strict=True)]
        for names, texts in variants.items()
    }
    words = {
        names: [added_words(*pair) for pair in zip(neutral, texts, strict=True)]
        for names, texts in variants.items()
    }
    stems = [frozenset(content_stems(text)) for text in options]
    spaces = [
        _overlap_space("overlap", stems, neutral, words),
        _overlap_space("distinct", _of_one_option(stems, len(neutral)), neutral, words),
        _tfidf_space(neutral, options, passages),
    ]
    if embed is not None:
        spaces.append(_embedding_space(neutral, options, passages, embed))
    return spaces


def _of_one_option(stems: Sequence[frozenset[str]], items: int) -> list[frozenset[str]]:
    """Return the stems of each option that no other option of its item has."""
    per_item = len(stems) // items
    distinct = []
    for number, own in enumerate(stems):
        first = number - number % per_item
        others = [stems[i] for i in range(first, first + per_item) if i != number]
        distinct.append(own.difference(*others))
    return distinct


def _overlap_space(
    name: str,
    stems: Sequence[frozenset[str]],
    neutral: Sequence[str],
    words: Mapping[tuple[str, str], Sequence[Sequence[str]]],
) -> Space:
    """Build a space with products that are the shares of an option's stems added by a text."""
    places = {found: place for place, found in enumerate(sorted(frozenset().union(*stems)))}
    per_item = len(stems) // len(neutral)
    shares = []
    for number, own in enumerate(stems):
        known = set(content_stems(neutral[number // per_item]))
        shares.append({places[s]: 1 / len(own) for s in own if s not in known})
    texts = {
        names: _sparse([{places[s]: 1.0 for s in own if s in places} for own in of], len(places))
        for names, of in words.items()
    }
    usable = np.array([bool(own) for own in stems], dtype=np.bool_)
    return Space(name, _sparse(shares, len(places)), texts, None, _adds(words), usable)


def _sparse(rows: Sequence[Mapping[int, float]], width: int) -> scipy.sparse.csr_array:
    columns = [place for row in rows for place in sorted(row)]
    values = [row[place] for row in rows for place in sorted(row)]
    ends = np.cumsum([0, *(len(row) for row in rows)])
    return scipy.sparse.csr_array(
        (np.array(values, dtype=np.float64), columns, ends), (len(rows), width)
    )


def _tfidf_space(
    neutral: Sequence[str],
    options: Sequence[str],
    passages: Mapping[tuple[str, str], Sequence[str]],
) -> Space:
    from sklearn.feature_extraction.text import TfidfVectorizer

    per_item = len(options) // len(neutral)
    documents = [
        " \n ".join([text, *options[number * per_item : (number + 1) * per_item]])
        for number, text in enumerate(neutral)
    ]
    every = [*documents, *(text for of in passages.values() for text in of)]
    # Include words that are in no document: they contribute to a text's length.
    vocabulary = sorted({found for text in every for found in content_stems(text)})
    weigh = TfidfVectorizer(analyzer=content_stems, vocabulary=vocabulary or [""]).fit(documents)
    texts = {names: weigh.transform(of) for names, of in passages.items()}
    adds = _adds(passages)
    vectors, base = weigh.transform(options), weigh.transform(neutral)
    return Space("tfidf", vectors, texts, base, adds, _have_words(options))


def _embedding_space(
    neutral: Sequence[str],
    options: Sequence[str],
    passages: Mapping[tuple[str, str], Sequence[str]],
    embed: Embed,
) -> Space:
    # Embed each text once. A text without words has no meaning, whatever vector the model returns.
    every = sorted({t for of in (neutral, options, *passages.values()) for t in of if t.strip()})
    vectors = np.asarray(embed(every), dtype=np.float64)
    vectors = np.vstack([vectors, np.zeros((1, vectors.shape[1]))])
    places = {text: place for place, text in enumerate(every)}

    def of(texts: Sequence[str]) -> FloatArray:
        found: FloatArray = vectors[[places.get(text, len(every)) for text in texts]]
        return found

    texts = {names: of(added) for names, added in passages.items()}
    usable = _have_words(options)
    return Space("embedding", of(options), texts, of(neutral), _adds(passages), usable)


def _have_words(options: Sequence[str]) -> npt.NDArray[np.bool_]:
    return np.array([bool(content_stems(text)) for text in options], dtype=np.bool_)


def _adds(
    added: Mapping[tuple[str, str], Sequence[Sequence[str]]],
) -> dict[tuple[str, str], npt.NDArray[np.bool_]]:
    return {names: np.array([bool(text) for text in of]) for names, of in added.items()}
