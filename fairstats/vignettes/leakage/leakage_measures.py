"""Answer leakage: how far a variant's added text points to each of the item's options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED
from fairstats.benchmarks.vignette_items import Vignettes
from fairstats.vignettes.leakage.leakage_vectors import Embed, FloatArray, Space, spaces_of
from fairstats.vignettes.measures import DISTRACTOR, KEY, MEASURE_COLUMNS, no_measures
from fairstats.vignettes.text.added_text import added_words

#: Measures of how far an added text points to an option.
LEAKAGE_MEASURES = (
    "leakage_overlap",
    "leakage_distinct",
    "leakage_tfidf",
    "leakage_embedding",
)
#: Suffix of a measure for the same quantity over the added texts of all other items.
BY_CHANCE = "_by_chance"

# Smaller differences between cosines or shares are rounding error.
_ROUNDING = 1e-6
# Number of added texts that are compared with the options of all items at a time.
_BLOCK = 200


def leakage_measures(vignettes: Vignettes, *, embed: Embed | None = None) -> pd.DataFrame:
    """Measure how far each variant's added text points to each option.

    Parameters
    ----------
    vignettes : Vignettes
        The items with the text of all variants.
    embed : callable, optional
        Maps n texts to n vectors of length 1; without it, ``leakage_embedding`` is not measured.

    Returns
    -------
    pandas.DataFrame
        `fairstats.vignettes.measures.MEASURE_COLUMNS`, one row per variant, measure and option:

        ``leakage_overlap``
            The share of the option's distinct content stems that are in the variant but not in the
            neutral text. The denominator is all of the option's stems.
        ``leakage_distinct``
            The same for stems that no other option of the item has.
        ``leakage_tfidf``, ``leakage_embedding``
            The cosine of the added passages with the option, minus that of the whole neutral text
            with the option.
        ``similarity_tfidf``, ``similarity_embedding``
            The cosine of the added passages alone; for the neutralized variant (attribute
            ``baseline``) that of the neutral text.
        each ``leakage_`` measure followed by ``_by_chance``
            The mean of the same over the texts added by the same group's variants of all *other*
            items, compared with this item's options and neutral text.
        ``brings_in_overlap_by_chance``, ``names_overlap_by_chance``, and ``…_distinct_…``
            The share of other items with added text that has any, or all, of these words of the
            option. (For the item itself: whether ``leakage_overlap`` is above 0, or 1.)

        and, without an option, one row per variant:

        ``pointing_overlap``, ``pointing_distinct``, ``pointing_tfidf``, ``pointing_embedding``
            Whether the option that the text points to most is the key, with 1/k if k options tie;
            NaN if it points to none.
        each of these followed by ``_by_chance``
            Its mean over the added texts of the other items that point to any option.
        ``new_words``
            Number of distinct content stems that the variant adds.

    Notes
    -----
    `fairstats.vignettes.text.added_text` detects additions. ``leakage_overlap`` uses `added_words`;
    the other measures use the passages of `added_text`, joined into one text. A variant that adds
    nothing points nowhere: its measures are 0, including those by chance. An option without a
    content word, such as "All of the above" or "↑ ↓", cannot share a word with a text. Its values
    are NaN, and no text can point to it. Words shared by several options ("high sodium", "high
    chloride") count for each of them, so a text that names a distractor also adds words of the key.
    ``leakage_distinct`` leaves such words out. It is NaN for an option without any unique word. If
    one option is contained in another, the longer one gets the smaller share. So a text with no
    more than the shorter option's words points to the shorter one.

    tf-idf is that of scikit-learn, ``tf * (ln((1 + n) / (1 + df)) + 1)`` of content stems, scaled
    to length 1. The n documents counted in df are the benchmark's items, each with its neutral text
    and options. Variants are not included, because a word would then get less weight the more often
    it is added.

    The chance values are computed over all pairs of items, without sampling. They reflect
    everything that makes a text of this group resemble an option regardless of the item. That is
    its length, its medical words, and options that are short or have common words. They do not hold
    the topic of the item fixed. Two other comparisons do: the subtraction of the neutral text, and
    the comparison of two groups of one item, in which the neutral text cancels.

    All measures use words and topics. They do not detect negation ("no sign of …"), doubt, or a
    hint without a common word; ``leakage_embedding`` detects some of the last. The group's words
    count as spelled ("white" points to "White matter").

    Examples
    --------
    >>> from fairstats.benchmarks.vignette_items import read_vignettes
    >>> measures = leakage_measures(read_vignettes("demo"))
    >>> sorted(set(measures["measure"]))[2:5]
    ['leakage_distinct', 'leakage_distinct_by_chance', 'leakage_overlap']
    """
    items, letters = vignettes.items, vignettes.benchmark.options
    options = [item.options[letter] for item in items for letter in letters]
    asked = _Asked(
        item_ids=[item.item_id for item in items],
        letters=letters,
        keys=np.array([letters.index(item.answer_key) for item in items], dtype=np.int64),
        usable=np.ones((len(items), len(letters)), dtype=np.bool_),
    )
    tables = []
    for space in spaces_of(vignettes, options, embed):
        asked = replace(asked, usable=space.usable.reshape(len(items), len(letters)))
        baseline = np.zeros(asked.usable.shape)
        if space.neutral is not None:
            baseline = _own(space.neutral, space.options, asked)
            row = {f"similarity_{space.name}": baseline}
            tables.append(_rows(asked, BASELINE, NEUTRALIZED, row, {}))
        for (attribute, group), texts in space.texts.items():
            found = _compare(texts, space.options, asked)
            adds = space.adds[attribute, group][:, None]
            of_options, of_variants = _measured(space, found, baseline, adds)
            tables.append(_rows(asked, attribute, group, of_options, of_variants))
    for attribute, group, item_words in _new_words(vignettes):
        tables.append(_rows(asked, attribute, group, {}, {"new_words": item_words}))
    if not tables:
        return no_measures()
    table = pd.concat(tables, ignore_index=True)
    table = table.assign(benchmark=vignettes.benchmark.name, benchmark_version="")
    return table[list(MEASURE_COLUMNS)].astype(no_measures().dtypes)


def _new_words(vignettes: Vignettes) -> Iterator[tuple[str, str, FloatArray]]:
    for attribute in vignettes.benchmark.varied:
        for group in attribute.groups:
            texts = [(item.variants[NEUTRALIZED], item.variants[group]) for item in vignettes.items]
            found = [len(set(added_words(*pair))) for pair in texts]
            yield attribute.name, group, np.array(found, dtype=np.float64)


@dataclass(frozen=True)
class _Asked:
    """n items with k options each."""

    item_ids: list[str]
    letters: tuple[str, ...]
    keys: npt.NDArray[np.int64]
    usable: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Compared:
    """How far a group's texts point to their items' options, and to those of all others."""

    own: FloatArray  # (n, k)
    pointing: FloatArray  # (n,)
    by_chance: FloatArray  # (n, k), means over the other items' texts.
    brings_in_by_chance: FloatArray
    names_by_chance: FloatArray
    pointing_by_chance: FloatArray  # (n,)


def _compare(texts: Any, options: Any, asked: _Asked) -> _Compared:
    n, k = asked.usable.shape
    own, pointing = np.zeros((n, k)), np.zeros(n)
    total, some, whole = np.zeros((n, k)), np.zeros((n, k)), np.zeros((n, k))
    at_key, at_any = np.zeros(n), np.zeros(n)
    for start in range(0, n, _BLOCK):
        rows = slice(start, min(start + _BLOCK, n))
        scores = _dense(texts[rows] @ options.T).reshape(-1, n, k)
        shares = _pointing(scores, asked)  # (texts, items)
        pointed = np.isfinite(shares)
        texts_here = np.arange(len(scores))
        items_here = texts_here + start
        own[rows] = scores[texts_here, items_here]
        pointing[rows] = shares[texts_here, items_here]
        # Exclude the item's text from the others' mean.
        scores[texts_here, items_here] = 0.0
        pointed[texts_here, items_here] = False
        total += scores.sum(axis=0)
        some += (scores > _ROUNDING).sum(axis=0)
        whole += (scores > 1 - _ROUNDING).sum(axis=0)
        at_key += np.where(pointed, shares, 0.0).sum(axis=0)
        at_any += pointed.sum(axis=0)
    others = np.nan if n == 1 else n - 1
    chance = np.divide(at_key, at_any, out=np.full(n, np.nan), where=at_any > 0)
    return _Compared(own, pointing, total / others, some / others, whole / others, chance)


def _pointing(scores: FloatArray, asked: _Asked) -> FloatArray:
    """Return the key's share of the first place, for each text among each item's options."""
    scores = np.where(asked.usable, scores, -np.inf)
    highest = scores.max(axis=2, keepdims=True)
    first = scores >= highest - _ROUNDING
    at_key = np.take_along_axis(first, asked.keys[None, :, None], axis=2)[:, :, 0]
    shares = at_key / np.maximum(first.sum(axis=2), 1)
    key_usable = np.take_along_axis(asked.usable, asked.keys[:, None], axis=1)[:, 0]
    points = (highest[:, :, 0] > _ROUNDING) & key_usable
    found: FloatArray = np.where(points, shares, np.nan)
    return found


def _own(texts: Any, options: Any, asked: _Asked) -> FloatArray:
    """Return each text's products with its item's options."""
    n, k = asked.usable.shape
    found = [_dense(texts[[i]] @ options[i * k : (i + 1) * k].T).reshape(k) for i in range(n)]
    return np.array(found).reshape(n, k)


def _dense(product: Any) -> FloatArray:
    found: FloatArray = product.toarray() if scipy.sparse.issparse(product) else np.asarray(product)
    return found


def _measured(
    space: Space, found: _Compared, baseline: FloatArray, adds: npt.NDArray[np.bool_]
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Return the measures of each option, and those of each variant."""
    leakage, pointing = f"leakage_{space.name}", f"pointing_{space.name}"
    of_options = {
        leakage: np.where(adds, found.own - baseline, 0.0),
        leakage + BY_CHANCE: np.where(adds, found.by_chance - baseline, 0.0),
    }
    if space.neutral is None:
        of_options |= {
            f"brings_in_{space.name}" + BY_CHANCE: np.where(adds, found.brings_in_by_chance, 0.0),
            f"names_{space.name}" + BY_CHANCE: np.where(adds, found.names_by_chance, 0.0),
        }
    else:
        of_options[f"similarity_{space.name}"] = found.own
    of_variants = {pointing: found.pointing, pointing + BY_CHANCE: found.pointing_by_chance}
    return of_options, of_variants


def _rows(
    asked: _Asked,
    attribute: str,
    group: str,
    of_options: Mapping[str, FloatArray],
    of_variants: Mapping[str, FloatArray],
) -> pd.DataFrame:
    n, k = asked.usable.shape
    is_key = np.arange(k)[None, :] == asked.keys[:, None]
    options = pd.DataFrame(
        {
            "item_id": np.repeat(np.array(asked.item_ids, dtype=object), k),
            "option": np.tile(np.array(asked.letters, dtype=object), n),
            "role": np.where(is_key, KEY, DISTRACTOR).ravel(),
        }
    )
    tables = [
        options.assign(
            measure=name,
            # An option that no text can point to has no value.
            value=np.where(asked.usable, values, np.nan).ravel(),
        )
        for name, values in of_options.items()
    ]
    variants = pd.DataFrame({"item_id": asked.item_ids, "option": "", "role": ""})
    tables += [variants.assign(measure=name, value=found) for name, found in of_variants.items()]
    return pd.concat(tables).assign(attribute=attribute, group=group)
