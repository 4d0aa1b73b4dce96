"""Answer leakage: whether the text added for a group repeats words of the key or a distractor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from fairstats.benchmarks.declaration import NEUTRALIZED, Benchmark
from fairstats.benchmarks.vignette_items import Item, Vignettes
from fairstats.inference._checks import check_alpha
from fairstats.inference.differences import mean_beyond
from fairstats.vignettes.added_text import added_words
from fairstats.vignettes.tables import (
    DISTRACTOR,
    KEY,
    MEASURE_COLUMNS,
    Row,
    difference_row,
    findings_frame,
    flags_frame,
    mean_row,
    mean_share_row,
    no_measures,
)
from fairstats.vignettes.text.words_and_sentences import (
    content_stems,
    sentences,
    stem,
    word_spans,
)

#: The measures of how far an added text points to an option.
OVERLAP, DISTINCT = "leakage_overlap", "leakage_distinct"
LEAKAGE_MEASURES = (OVERLAP, DISTINCT)
#: Suffix of a measure for the same quantity over the added texts of all other items.
BY_CHANCE = "_by_chance"
#: Maximum number of flags.
MOST_FLAGS = 100

_ASPECT = "leakage"
_CHANCE = "exact mean over the added texts of all other items of this group"
_UNEQUAL = "the mean over several distractors, so one named distractor counts less than the key"
# Smaller differences between shares are rounding error.
_ROUNDING = 1e-6
# Maximum number of characters shown of a sentence.
_SHOWN = 300

FloatArray = npt.NDArray[np.float64]


def leakage_measures(vignettes: Vignettes) -> pd.DataFrame:
    """Measure the share of each option's words that each variant adds.

    Returns
    -------
    pandas.DataFrame
        `fairstats.vignettes.tables.MEASURE_COLUMNS`, one row per variant, measure and option:

        ``leakage_overlap``
            The share of the option's distinct content stems that are in the variant but not in the
            neutral text. The denominator is all of the option's stems.
        ``leakage_distinct``
            The same for stems that no other option of the item has.
        ``leakage_overlap_by_chance``, ``leakage_distinct_by_chance``
            The mean of the same over the words added by the same group's variants of all *other*
            items that add words, compared with this item's options and neutral text; NaN without
            any.

    Notes
    -----
    A variant that adds no word has measures of 0, including those by chance. An option without a
    content word, such as "All of the above" or "↑ ↓", cannot share a word with a text: its values
    are NaN. Words shared by several options ("high sodium", "high chloride") count for each of
    them, so a text that names a distractor also adds words of the key. ``leakage_distinct`` leaves
    such words out. It is NaN for an option without any unique word.

    The chance values are computed over all pairs of items, without sampling. They reflect
    everything that makes a text of this group resemble an option regardless of the item: its
    length, its medical words, and options that are short or have common words. They do not hold the
    topic of the item fixed; the comparison of two groups of one item does.

    Only words are compared. A negated word counts ("no sign of …"), a paraphrase without a common
    word does not, and the group's words count as spelled ("white" points to "White matter").

    Examples
    --------
    >>> from fairstats.benchmarks.vignette_items import read_vignettes
    >>> sorted(set(leakage_measures(read_vignettes("demo"))["measure"]))[:2]
    ['leakage_distinct', 'leakage_distinct_by_chance']
    """
    items, letters = vignettes.items, vignettes.benchmark.options
    if not items:
        return no_measures()
    is_key = [letter == item.answer_key for item in items for letter in letters]
    options = pd.DataFrame(
        {
            "item_id": np.repeat(np.array([item.item_id for item in items], object), len(letters)),
            "option": np.tile(np.array(letters, object), len(items)),
            "role": np.where(is_key, KEY, DISTRACTOR),
        }
    )
    stems = [frozenset(content_stems(item.options[letter])) for item in items for letter in letters]
    places = {found: place for place, found in enumerate(sorted(frozenset().union(*stems)))}
    added: dict[tuple[str, str], list[Sequence[str]]] = defaultdict(list)
    for item, attribute, group, text in vignettes.variants():
        added[attribute, group].append(added_words(item.variants[NEUTRALIZED], text))
    tables = []
    for measure, own in ((OVERLAP, stems), (DISTINCT, _of_one_option(stems, len(letters)))):
        weights = _weights(own, items, places)
        usable = np.array([bool(words) for words in own])
        for (attribute, group), texts in added.items():
            for name, values in zip(
                (measure, measure + BY_CHANCE), _shares(texts, weights, places), strict=True
            ):
                # An option that no text can point to has no value.
                value = np.where(usable, values, np.nan)
                row = {"attribute": attribute, "group": group, "measure": name, "value": value}
                tables.append(options.assign(**row))
    table = pd.concat(tables, ignore_index=True)
    table = table.assign(benchmark=vignettes.benchmark.name, benchmark_version="")
    return table[list(MEASURE_COLUMNS)].astype(no_measures().dtypes)


def _of_one_option(stems: Sequence[frozenset[str]], per_item: int) -> list[frozenset[str]]:
    """Return the stems of each option that no other option of its item has."""
    distinct = []
    for number, own in enumerate(stems):
        first = number - number % per_item
        others = [stems[i] for i in range(first, first + per_item) if i != number]
        distinct.append(own.difference(*others))
    return distinct


def _weights(
    stems: Sequence[frozenset[str]], items: Sequence[Item], places: dict[str, int]
) -> scipy.sparse.csr_array:
    """Return, for each option, 1 / its number of stems at those that the neutral text lacks."""
    per_item = len(stems) // len(items)
    rows = []
    for number, own in enumerate(stems):
        known = set(content_stems(items[number // per_item].variants[NEUTRALIZED]))
        rows.append({places[word]: 1 / len(own) for word in own if word not in known})
    return _sparse(rows, len(places))


def _shares(
    texts: Sequence[Sequence[str]], weights: scipy.sparse.csr_array, places: dict[str, int]
) -> tuple[FloatArray, FloatArray]:
    """Return each option's share in its item's text, and its mean in all others with words."""
    n = len(texts)
    item = np.repeat(np.arange(n), weights.shape[0] // n)
    rows = [{places[word]: 1.0 for word in text if word in places} for text in texts]
    added = _sparse(rows, len(places))
    own = (added[item] * weights).sum(axis=1)
    others = weights @ added.sum(axis=0) - own
    adds = np.array([bool(text) for text in texts])
    # An item whose text adds no word has no hit by chance either. So no other item has that text.
    n_others = int(adds.sum()) - 1
    chance = others / n_others if n_others > 0 else np.full(len(own), np.nan)
    return own, np.where(adds[item], chance, 0.0)


def _sparse(rows: Sequence[dict[int, float]], width: int) -> scipy.sparse.csr_array:
    columns = [place for row in rows for place in sorted(row)]
    values = [row[place] for row in rows for place in sorted(row)]
    ends = np.cumsum([0, *(len(row) for row in rows)])
    return scipy.sparse.csr_array(
        (np.array(values, dtype=np.float64), columns, ends), (len(rows), width)
    )


def leakage_findings(
    measures: pd.DataFrame, benchmark: Benchmark, *, alpha: float = 0.05
) -> pd.DataFrame:
    """Estimate the leakage of the key and of a distractor, by group and pair, against chance.

    Returns
    -------
    pandas.DataFrame
        `fairstats.vignettes.tables.FINDING_COLUMNS`, aspect ``leakage``, ``measure`` one of
        `LEAKAGE_MEASURES`. For each group, with ``n`` items:

        ``key``, ``distractors``
            The mean of the measure for the key, and of its mean over an item's distractors.
        ``advantage``
            The mean of the key's value minus the distractors', with the test of 0.
        each of these three with ``by chance`` and ``beyond chance``
            The same for the added texts of all other items, and the difference, with the test of 0.

        and for each pair, group a minus group b, with the test of 0: ``key difference``,
        ``distractors difference`` and ``advantage difference``.

    Notes
    -----
    Intervals and p-values are for a mean over items: Student's paired t for two groups; for values
    from 0 to 1 the bootstrap without a seed. They treat items as independent, and are not adjusted
    for their number. Estimates ``by chance`` are means over all pairs of items and have no standard
    error.

    - A difference of a pair compares two texts on the same item, options and neutral text. What an
      option has in common with the case, and how long or common its words are, cancel. The length
      of the texts does not: a longer text adds more words, of key and distractors equally.
    - If few texts have a word of an option, a sample may have none. So the test of ``advantage``,
      and those against chance, are those of `fairstats.inference.differences.mean_beyond`, with
      room for hits that are not in the sample. For the advantage, these are a text that names the
      key, and one that names a distractor, or the most that a text here does. If an item could as
      well have the text of another, at most 5% are significant at level 5%, with 20 to 800 items
      (600 simulations of each of 60 designs, benchmarks/leakage_errors.py). With Student's t, it
      was up to 76%.
    - A text that only keeps to the item's topic may be closer to the key than to distractors, and
      other items' texts have other topics. If the texts of both groups point equally to the key,
      this may be due to the topic.
    - The scale is not symmetric. A text that names the key has an advantage of 1, and one that
      names one of three distractors has −1/3.
    - If variants were selected by a model's answers, that model chose those that lead.

    Examples
    --------
    >>> from fairstats.benchmarks.vignette_items import read_vignettes
    >>> demo = read_vignettes("demo")
    >>> found = leakage_findings(leakage_measures(demo), demo.benchmark)
    >>> found.loc[found["quantity"] == "advantage difference", "attribute"].unique().tolist()
    ['race', 'sex', 'ses']
    """
    alpha = check_alpha(alpha)
    own = measures.dropna(subset="value")
    rows: list[Row] = []
    for measure in LEAKAGE_MEASURES:
        if not (measures["measure"] == measure).any():
            continue
        for attribute in benchmark.varied:
            keys = {"aspect": _ASPECT, "measure": measure, "benchmark": benchmark.name}
            keys |= {"attribute": attribute.name}
            of = own[own["attribute"] == attribute.name]
            # By chance, an item has the text of another, if both texts add words. Some of those
            # without a word of any option may add others, so these are the fewest.
            texts = of[of["value"] > 0].groupby("group")["item_id"].nunique()
            compared = {}
            for group in attribute.groups:
                of_group = of[of["group"] == group]
                found = _by_item(of_group[of_group["measure"] == measure])
                chance = _by_item(of_group[of_group["measure"] == measure + BY_CHANCE])
                n_texts = max(int(texts.get(group, 0)), 2)
                rows += [
                    keys | {"group_a": group} | row
                    for row in _of_group(found, chance, n_texts, alpha)
                ]
                compared[group] = found
            for a, b in attribute.pairs:
                for which in ("key", "distractors", "advantage"):
                    change = (compared[a][which] - compared[b][which]).dropna()
                    pair = {"quantity": f"{which} difference", "group_a": a, "group_b": b}
                    rows.append(keys | pair | mean_row(change, 2.0, alpha))
    return findings_frame(rows)


def _by_item(own: pd.DataFrame) -> pd.DataFrame:
    """Return both values and the advantage, for items with a usable key and distractor.

    ``named`` is the advantage of a text that names one distractor.
    """
    of_role = own.groupby(["item_id", "role"], sort=False)["value"]
    means, sizes = (
        values.unstack("role").reindex(columns=[KEY, DISTRACTOR])
        for values in (of_role.mean(), of_role.size())
    )
    both = means.set_axis(["key", "distractors"], axis=1).assign(named=-1 / sizes[DISTRACTOR])
    both = both.dropna()
    return both.assign(advantage=both["key"] - both["distractors"])


def _of_group(
    found: pd.DataFrame, chance: pd.DataFrame, n_texts: int, alpha: float
) -> Iterator[Row]:
    # Room for a text that names all distractors would hide that several texts name the key.
    lowest = float(found[["named", "advantage"]].min(axis=None)) if len(found) else -1.0
    limits = {"key": (0.0, 1.0), "distractors": (0.0, 1.0), "advantage": (lowest, 1.0)}
    for which in ("key", "distractors"):
        yield {"quantity": which} | mean_share_row(found[which], alpha)
    advantage = found["advantage"].clip(upper=1.0)  # Rounding may exceed it.
    own = mean_beyond(advantage, limits=limits["advantage"], alpha=alpha)
    yield {"quantity": "advantage", "note": _UNEQUAL} | difference_row(own)
    found = found[found.index.isin(chance.index)]
    for which in limits:
        mean = {"estimate": chance[which].mean(), "n": len(chance), "note": _CHANCE}
        yield {"quantity": f"{which} by chance"} | mean
        expected = chance.loc[found.index, which]
        row = _beyond_row(found[which], expected, n_texts, limits[which], alpha)
        yield {"quantity": f"{which} beyond chance"} | row


def _beyond_row(
    values: pd.Series[float],
    chance: pd.Series[float],
    n_texts: int,
    limits: tuple[float, float],
    alpha: float,
) -> Row:
    """Return the mean beyond chance, tested as if an item could have the text of any item."""
    most = limits[1] - limits[0]
    if not len(values):
        return mean_row([], most, alpha)
    # One of the texts is the item's own. Without it, a word that no other text has would be
    # impossible by chance.
    beyond = float(values.mean() - chance.mean())
    expected = float(np.clip(chance.mean() + beyond / n_texts, *limits))
    found = mean_beyond(values.clip(*limits), expected, limits=limits, alpha=alpha)
    # This is the difference from all texts. That from all others is larger.
    larger = n_texts / (n_texts - 1)
    low, high = max(found.ci_low * larger, -most), min(found.ci_high * larger, most)
    return difference_row(replace(found, estimate=beyond, ci_low=low, ci_high=high))


def leakage_flags(vignettes: Vignettes, measures: pd.DataFrame) -> pd.DataFrame:
    """Return the variants that point most to one option, with the words and sentence concerned.

    Returns
    -------
    pandas.DataFrame
        `fairstats.vignettes.tables.FLAG_COLUMNS`, at most `MOST_FLAGS` rows, sorted by the
        option's ``leakage_overlap`` minus the mean of the other options', then in the order of the
        items. ``flag`` is ``names the key`` or ``names a distractor`` if the variant adds all of
        the option's words, and ``points to the key`` or ``points to a distractor`` if not.
        ``detail`` has the option, the words, and the sentence with most of them.
    """
    variant = ["item_id", "attribute", "group"]
    table = measures[measures["measure"] == OVERLAP].dropna(subset="value")
    own = table["value"]
    of_variant = table.groupby(variant, sort=False)["value"]
    others = (of_variant.transform("sum") - own) / (of_variant.transform("size") - 1)
    # If only one option can be pointed to, there are no others.
    table = table.assign(beyond=(own - others.fillna(0.0)).round(9))
    table = table[own > _ROUNDING].sort_values("beyond", ascending=False, kind="stable")
    table = table.drop_duplicates(variant).head(MOST_FLAGS)
    items = {item.item_id: item for item in vignettes.items}
    return flags_frame(
        {
            "aspect": _ASPECT,
            "item_id": row["item_id"],
            "attribute": row["attribute"],
            "group": row["group"],
            "flag": f"{'names' if row['value'] > 1 - _ROUNDING else 'points to'} "
            f"{'the key' if row['role'] == KEY else 'a distractor'}",
            "detail": _detail(items[row["item_id"]], row["group"], row["option"]),
        }
        for row in table.to_dict("records")
    )


def _detail(item: Item, group: str, option: str) -> str:
    text = item.variants[group]
    fault = set(content_stems(item.options[option]))
    fault -= set(content_stems(item.variants[NEUTRALIZED]))
    said = dict.fromkeys(
        text[start:end] for word, start, end in word_spans(text) if stem(word) in fault
    )
    where = max(sentences(text), key=lambda sentence: len(fault & set(content_stems(sentence))))
    where = where if len(where) <= _SHOWN else where[: _SHOWN - 1] + "…"
    return f"{option} ({item.options[option]}) by {', '.join(said)} in: {where}"
