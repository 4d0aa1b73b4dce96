"""Summaries of answer leakage for each group, and for each pair of groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, Benchmark
from fairstats.inference._checks import check_alpha
from fairstats.inference.differences import mean_difference
from fairstats.inference.intervals import proportion_interval
from fairstats.inference.item_bootstrap import bounded_mean_interval
from fairstats.vignettes.findings import findings_frame
from fairstats.vignettes.leakage.equal_length import at_equal_length, mean_row
from fairstats.vignettes.leakage.leakage_measures import BY_CHANCE, LEAKAGE_MEASURES
from fairstats.vignettes.measures import DISTRACTOR, KEY

ASPECT = "leakage"

# Largest difference between two options' values. Shares and cosines of counts are in [0, 1], and
# cosines of vectors in [-1, 1]. Subtracting the neutral text can double the range.
_LARGEST = {
    "leakage_overlap": 1.0,
    "leakage_distinct": 1.0,
    "leakage_tfidf": 2.0,
    "leakage_embedding": 4.0,
}
_ROUNDING = 1e-6
_OF_PAIRS = {
    "advantage": "advantage difference",
    "advantage beyond chance": "advantage difference beyond chance",
    "key": "key difference",
    "distractors": "distractors difference",
}
_CHANCE = "exact mean over the added texts of all other items of this group"
_UNEQUAL = "the mean over several distractors, so one named distractor counts less than the key"


def leakage_findings(
    measures: pd.DataFrame, benchmark: Benchmark, *, alpha: float = 0.05
) -> pd.DataFrame:
    """Estimate how far the added text points to the key or to distractors, by group and pair.

    Parameters
    ----------
    measures : pandas.DataFrame
        From `fairstats.vignettes.leakage.leakage_measures.leakage_measures`; other measures are
        ignored.
    benchmark : Benchmark
        Declares the attributes, groups and pairs.
    alpha : float
        1 − confidence level.

    Returns
    -------
    pandas.DataFrame
        `fairstats.vignettes.findings.FINDING_COLUMNS`, aspect ``leakage``, ``measure`` one of
        `fairstats.vignettes.leakage.leakage_measures.LEAKAGE_MEASURES`. For each group, with ``n``
        items:

        ``key``, ``distractors``
            The mean of the measure for the key, and of its mean over an item's distractors.
        ``advantage``
            The mean of the key's value minus the distractors', with the test of 0.
        ``advantage by chance``, ``advantage beyond chance``
            The same for the added texts of all other items, and the difference, with the test of 0.
        ``points to the key``, ``points to the key by chance``
            The share of items with the key as the option that the text points to most (ties are
            split), among items with a text that points to any option; tested against 1 / number of
            options. By chance: the same for the added texts of other items.
        ``points to an option``
            The share of items with a text that points to any option.

        for ``leakage_overlap`` and ``leakage_distinct``, as shares of variants:

        ``brings in a word of the key``, ``… of a distractor``, ``… of any distractor``
            ``a distractor`` is the mean over an item's distractors, comparable with the key; ``any
            distractor`` has as many chances as there are distractors.
        ``names the key``, ``names a distractor``, ``names any distractor``
            The same for all of the option's words, none of which is in the neutral text.
        for both, ``… the key by chance``, ``… a distractor by chance``

        and for each pair, group a minus group b:

        ``advantage difference``, ``advantage difference beyond chance``
            The mean of an item's difference in advantage, with the test of 0.
        ``key difference``, ``distractors difference``
            The two components of the first: whether one text points more to the key, or the other
            more to the distractors.
        each of these three with ``at equal length``
            The same if both texts add equally many new words
            (`fairstats.vignettes.leakage.equal_length`).

        The neutral text is listed under attribute ``baseline`` with the quantity ``advantage of the
        neutral text``, which the comparison with it subtracts.

    Notes
    -----
    Intervals and p-values are for a mean over items (Student's t, paired for two groups). For
    values from 0 to 1 they are from the bootstrap without a seed, and for counts Wilson's. They
    treat items as independent, and are not adjusted for their number. Estimates "by chance" are
    means over all pairs of items and have no standard error. Their dependence on the same texts is
    small compared with the variation over items.

    How to interpret each estimate:

    - ``advantage difference`` compares two texts on the same item, options and neutral text. Three
      properties cancel: what an option has in common with the case, how long or common its words
      are, and how close the topic is to the key. The length of the texts does not cancel: a longer
      text adds more words, of key and distractors equally. ``beyond chance`` removes this as far as
      it is the same for all items, and ``at equal length`` removes it by regression.
    - ``advantage beyond chance`` is for one group. A text that only keeps to the item's topic may
      be closer to the key than to distractors, and other items' texts have other topics.
      ``advantage of the neutral text`` shows whether these cases have such a tendency. If the texts
      of both groups point equally to the key, also at equal length, this may be due to the topic.
      The difference between them is then in the distractors.
    - If options share words, a text that names a distractor also adds words of the key.
      ``leakage_distinct`` uses only the words that distinguish the options.
    - The scale is not symmetric. A text that names the key has an advantage of 1, and one that
      names one of three distractors has −1/3. To compare leakage to the key and to a distractor,
      use ``points to the key`` and ``names …``, not two advantages.
    - The estimates describe the texts that were kept. If variants were selected by a model's
      answers, that model chose those that lead.
    - Shared words do not prove that a reader takes a hint. A negated word counts; a paraphrase
      without a shared word does not (``leakage_embedding`` detects some of these).

    Examples
    --------
    >>> from fairstats.vignettes.leakage.leakage_measures import leakage_measures
    >>> from fairstats.benchmarks.vignette_items import read_vignettes
    >>> demo = read_vignettes("demo")
    >>> found = leakage_findings(leakage_measures(demo), demo.benchmark)
    >>> found.loc[found["quantity"] == "advantage difference", "attribute"].unique().tolist()
    ['race', 'sex', 'ses']
    """
    alpha = check_alpha(alpha)
    rows: list[dict[str, Any]] = []
    there = set(measures["measure"])
    of_variant = _by_variant(measures)
    for measure in LEAKAGE_MEASURES:
        if measure not in there:
            continue
        kind = measure.removeprefix("leakage_")
        neutral = _by_item(of_variant[BASELINE, NEUTRALIZED][f"similarity_{kind}"])
        if len(neutral):
            row = mean_row(neutral["advantage"], _LARGEST[measure], alpha)
            names = _names(benchmark, measure, BASELINE, NEUTRALIZED)
            rows.append(names | {"quantity": "advantage of the neutral text"} | row)
        for attribute in benchmark.varied:
            compared = {}
            for group in attribute.groups:
                names = _names(benchmark, measure, attribute.name, group)
                of_group = of_variant[attribute.name, group]
                found, chance = _by_item(of_group[measure]), _by_item(of_group[measure + BY_CHANCE])
                beyond = found["advantage"] - chance["advantage"].reindex(found.index)
                words = of_group["new_words"].set_index("item_id")["value"]
                compared[group] = found.assign(
                    **{"advantage beyond chance": beyond, "new words": words.reindex(found.index)}
                )
                of_it = _of_group(of_group, measure, found, chance, beyond, alpha)
                rows += [names | row for row in of_it]
            for a, b in attribute.pairs:
                names = _names(benchmark, measure, attribute.name, a, b)
                for which, quantity in _OF_PAIRS.items():
                    both = (compared[a][which] - compared[b][which]).dropna()
                    largest = _LARGEST[measure] * (4 if which.endswith("chance") else 2)
                    rows.append(names | {"quantity": quantity} | mean_row(both, largest, alpha))
                    if not which.endswith("chance"):
                        longer = compared[a]["new words"] - compared[b]["new words"]
                        longer = longer.reindex(both.index)
                        row = at_equal_length(both, longer, largest=largest, alpha=alpha)
                        rows.append(names | {"quantity": f"{quantity} at equal length"} | row)
    return findings_frame(rows)


def _names(
    benchmark: Benchmark, measure: str, attribute: str, a: str, b: str = ""
) -> dict[str, Any]:
    names = {"aspect": ASPECT, "measure": measure, "benchmark": benchmark.name}
    return names | {"attribute": attribute, "group_a": a, "group_b": b}


_Measures = Mapping[str, pd.DataFrame]


def _by_variant(measures: pd.DataFrame) -> Mapping[tuple[str, str], _Measures]:
    """Return the rows with a value, by attribute and group and then by measure."""
    known = measures.dropna(subset="value")
    parts: dict[tuple[str, str], dict[str, pd.DataFrame]] = defaultdict(
        lambda: defaultdict(lambda: known[:0])
    )
    for (attribute, group, measure), part in known.groupby(["attribute", "group", "measure"]):
        parts[attribute, group][measure] = part
    return parts


def _by_item(own: pd.DataFrame) -> pd.DataFrame:
    """Return both values and the advantage, for items with a usable key and distractor."""
    key = own[own["role"] == KEY].set_index("item_id")["value"]
    # Items are in the order of the key's rows, independent of pandas' sorting.
    distractors = own[own["role"] == DISTRACTOR].groupby("item_id")["value"].mean()
    both = pd.DataFrame({"key": key, "distractors": distractors.reindex(key.index)}).dropna()
    return both.assign(advantage=both["key"] - both["distractors"])


def _of_group(
    measures: _Measures,
    measure: str,
    found: pd.DataFrame,
    chance: pd.DataFrame,
    beyond: pd.Series,
    alpha: float,
) -> Iterator[dict[str, Any]]:
    """Return the estimates of one group and measure."""
    overlap = measure in ("leakage_overlap", "leakage_distinct")
    largest = _LARGEST[measure]
    for role in ("key", "distractors"):
        mean = _share(found[role], alpha) if overlap else _level(found[role], largest, alpha)
        yield {"quantity": role} | mean
    yield {"quantity": "advantage", "note": _UNEQUAL} | mean_row(found["advantage"], largest, alpha)
    yield _by_chance("advantage", chance["advantage"])
    yield {"quantity": "advantage beyond chance"} | mean_row(beyond.dropna(), 2 * largest, alpha)
    yield from _pointing(measures, measure.replace("leakage_", "pointing_"), alpha)
    if overlap:
        yield from _brought_in(measures, measure, found.index, alpha)


def _pointing(measures: _Measures, measure: str, alpha: float) -> Iterator[dict[str, Any]]:
    shares = measures[measure].set_index("item_id")["value"]
    # The number of options that could be pointed to.
    options = measures[measure.replace("pointing_", "leakage_")]
    with_key = options.loc[options["role"] == KEY, "item_id"]
    chance = 1 / options.groupby("item_id")["value"].size().reindex(with_key).astype("float64")
    there = shares.reindex(with_key)
    pointing = there.dropna()
    excess = mean_difference((pointing - chance.reindex(pointing.index)).to_numpy(), alpha=alpha)
    note = f"by guessing {chance.mean():.4g}" if len(chance) else ""
    test = f"{excess.test} of 1 / options" if excess.n else excess.test
    tested = {"p_value": excess.p_value, "test": test, "note": note}
    yield {"quantity": "points to the key"} | _share(pointing, alpha) | tested
    yield _by_chance("points to the key", measures[measure + BY_CHANCE]["value"])
    yield {"quantity": "points to an option"} | _count(there.notna(), alpha)


def _brought_in(
    measures: _Measures, measure: str, items: pd.Index, alpha: float
) -> Iterator[dict[str, Any]]:
    """Return how often any, or all, of an option's words are added."""
    kind = measure.removeprefix("leakage_")
    own = measures[measure]
    own = own[own["item_id"].isin(items)]
    said_by = (
        ("brings in a word of", "brings_in", _ROUNDING),
        ("names", "names", 1 - _ROUNDING),
    )
    for which, name, least in said_by:
        said = own.assign(value=(own["value"] > least).astype("float64"))
        key = said.loc[said["role"] == KEY, "value"]
        distractors = said[said["role"] == DISTRACTOR].groupby("item_id")["value"]
        yield {"quantity": f"{which} the key"} | _count(key, alpha)
        yield {"quantity": f"{which} a distractor"} | _share(distractors.mean(), alpha)
        yield {"quantity": f"{which} any distractor"} | _count(distractors.max(), alpha)
        by_chance = measures[f"{name}_{kind}{BY_CHANCE}"]
        by_chance = by_chance[by_chance["item_id"].isin(items)]
        key = by_chance.loc[by_chance["role"] == KEY, "value"]
        others = by_chance[by_chance["role"] == DISTRACTOR].groupby("item_id")["value"].mean()
        yield _by_chance(f"{which} the key", key)
        yield _by_chance(f"{which} a distractor", others)


def _by_chance(quantity: str, values: pd.Series) -> dict[str, Any]:
    row = {"quantity": f"{quantity} by chance", "n": len(values), "note": _CHANCE}
    return row | {"estimate": _plain(values)}


def _plain(values: pd.Series) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _level(values: pd.Series, largest: float, alpha: float) -> dict[str, Any]:
    """Return a mean for which distance from 0 has no meaning."""
    row = mean_row(values, largest, alpha)
    return row | {"p_value": float("nan"), "test": ""}


def _share(values: pd.Series, alpha: float) -> dict[str, Any]:
    found = bounded_mean_interval(np.clip(values.to_numpy("float64"), 0.0, 1.0), alpha=alpha)
    return {
        "estimate": float(found.estimate),
        "ci_low": float(found.ci_low),
        "ci_high": float(found.ci_high),
        "ci_level": found.ci_level,
        "ci_method": str(found.method),
        "n": int(found.n),
    }


def _count(said: pd.Series, alpha: float) -> dict[str, Any]:
    n = len(said)
    found = proportion_interval(int(said.sum()), n, alpha=alpha)
    return {
        "estimate": _plain(said.astype("float64")),
        "ci_low": float(found.ci_low),
        "ci_high": float(found.ci_high),
        "ci_level": found.ci_level,
        "ci_method": str(found.method),
        "n": n,
    }
