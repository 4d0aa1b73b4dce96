"""Variants with added text that points most strongly to one option, for a person to check."""

from __future__ import annotations

import pandas as pd

from fairstats.benchmarks.declaration import NEUTRALIZED
from fairstats.benchmarks.vignette_items import Item, Vignettes
from fairstats.vignettes.findings import flags_frame
from fairstats.vignettes.text.added_text import added_text
from fairstats.vignettes.text.words import content_stems, stem, word_spans

_ROUNDING = 1e-6
# Maximum number of characters shown of a passage.
_SHOWN = 300


def leakage_flags(vignettes: Vignettes, measures: pd.DataFrame, *, most: int = 100) -> pd.DataFrame:
    """Return the variants that point most to one option, with the words and passage concerned.

    Parameters
    ----------
    vignettes : Vignettes
        The items with the text of all variants.
    measures : pandas.DataFrame
        As from `fairstats.vignettes.leakage.leakage_measures.leakage_measures`.
    most : int
        Maximum number of rows.

    Returns
    -------
    pandas.DataFrame
        `fairstats.vignettes.findings.FLAG_COLUMNS`, strongest first. ``flag`` is ``names the key``
        or ``names a distractor`` if the variant adds all of the option's words, and ``points to the
        key`` or ``points to a distractor`` if not. ``detail`` has the option, the words, and the
        added passage with most of them: text of the vignettes.

    Raises
    ------
    ValueError
        If `most` is negative.

    Notes
    -----
    Sorted by the option's ``leakage_overlap`` minus the mean of the other options', then by the
    same for ``leakage_tfidf``, then in the order of the items. If several options have the same
    overlap, the one with the largest ``leakage_tfidf`` is shown. A variant that adds no word of an
    option is not flagged, however similar its text is to an option in other words.

    Examples
    --------
    >>> from fairstats.vignettes.leakage.leakage_measures import leakage_measures
    >>> from fairstats.benchmarks.vignette_items import read_vignettes
    >>> demo = read_vignettes("demo")
    >>> len(leakage_flags(demo, leakage_measures(demo), most=0))
    0
    """
    if most < 0:
        raise ValueError("most must be at least 0")
    variant = ["item_id", "attribute", "group"]
    wide = {
        name: measures[measures["measure"] == name]
        .dropna(subset="value")
        .set_index([*variant, "option"])["value"]
        for name in ("leakage_overlap", "leakage_tfidf")
    }
    table = pd.DataFrame(wide).dropna(subset="leakage_overlap")
    for name in wide:
        of_variant = table.groupby(level=variant, sort=False)[name]
        others = (of_variant.transform("sum") - table[name]) / (of_variant.transform("size") - 1)
        # If only one option can be pointed to, there are no others.
        table[f"{name} beyond"] = (table[name] - others.fillna(0.0)).round(9)
    by = ["leakage_overlap beyond", "leakage_tfidf beyond"]
    table = table[table["leakage_overlap"] > _ROUNDING].sort_values(
        by, ascending=False, kind="stable"
    )
    table = table.groupby(level=variant, sort=False).head(1).head(most)
    items = {item.item_id: item for item in vignettes.items}
    return flags_frame(
        {
            "aspect": "leakage",
            "item_id": item_id,
            "attribute": attribute,
            "group": group,
            "flag": _flag(items[item_id], option, overlap),
            "detail": _detail(items[item_id], group, option),
        }
        for (item_id, attribute, group, option), overlap in table["leakage_overlap"].items()
    )


def _flag(item: Item, option: str, overlap: float) -> str:
    verb = "names" if overlap > 1 - _ROUNDING else "points to"
    return f"{verb} {'the key' if option == item.answer_key else 'a distractor'}"


def _detail(item: Item, group: str, option: str) -> str:
    neutral, text = item.variants[NEUTRALIZED], item.variants[group]
    fault = set(content_stems(item.options[option])) - set(content_stems(neutral))
    said = list(
        dict.fromkeys(
            text[start:end] for word, start, end in word_spans(text) if stem(word) in fault
        )
    )
    passages = added_text(neutral, text)
    shared = [len(fault & set(content_stems(passage))) for passage in passages]
    where = ""
    if any(shared):
        where = passages[shared.index(max(shared))]
        where = " in: " + (where if len(where) <= _SHOWN else where[: _SHOWN - 1] + "…")
    return f"{option} ({item.options[option]}) by {', '.join(said)}{where}"
