"""Write variants of items by plain substitution, like counterfactual patient variations (CPV).

Only the words that name a group are inserted into the neutralized vignette, before the noun that
first mentions the patient. The article is corrected. Everything else stays the same, including the
neutral pronouns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256
from fairstats._lib.table_text import table_csv
from fairstats._lib.untrusted_json import read_json_lines
from fairstats.benchmarks.benchmark_files import (
    attribute_table,
    check_name,
    item_lines,
    toml_text,
    write_benchmark,
)
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, Attribute
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import Item, load_items
from fairstats.vignettes.rules.excluding_words import left_over_group, sex_specific_word
from fairstats.vignettes.rules.groups import ORIGINAL, Groups, load_groups
from fairstats.vignettes.rules.mentions import Mention, NotFound, find_mention

_ARTICLE = re.compile(r"(?i)\b(an?) $")
# "a European", "a uniformed", "a Ukrainian", but "an unidentified".
_SOUNDS_CONSONANT = re.compile(r"(?i)eu|uni(?![dmn])|u(?:s[ae]|kr|ru|gan|t[^t])|one\b")


@dataclass(frozen=True)
class Substituted:
    """The result of a substitution.

    Parameters
    ----------
    path : Path
        The benchmark's file, for ``fairstats collect --benchmark``.
    items, variants : int
        Number of items written, and of variants of each.
    left_out : pandas.DataFrame
        ``item_id`` and ``reason`` of each item that was left out.
    """

    path: Path
    items: int
    variants: int
    left_out: pd.DataFrame


def substitute(
    items: Path, *, groups: Path, out: Path, name: str, keep_sex_specific: bool = False
) -> Substituted:
    """Write variants of items for declared groups, and the benchmark that uses them.

    Parameters
    ----------
    items : Path
        JSON Lines with ``item_id``, ``options``, ``answer_key`` and ``variants``. Of the variants,
        only ``neutralized`` and, if present, ``original`` are read.
    groups : Path
        The groups and their words, as in ``data/substitutions/cpv.toml``.
    out : Path
        The folder for ``<name>.toml``, ``<name>.jsonl`` and ``<name>.left_out.csv``.
    name : str
        The name of the benchmark.
    keep_sex_specific : bool
        Whether to keep items on sex-specific conditions, which are left out if the groups require
        it.

    Returns
    -------
    Substituted

    Raises
    ------
    InputError
        If the items or the groups cannot be used, no item is left, or different files with these
        names exist. Nothing is then written.
    """
    check_name(name)
    declared = load_groups(groups)
    given = _load_items(items)
    written = []
    left_out = []
    for item in given:
        mention = _sound_mention(item, declared, keep_sex_specific=keep_sex_specific)
        if isinstance(mention, NotFound):
            left_out.append((item.item_id, mention.reason))
        else:
            written.append(_with_variants(item, mention, declared))
    if not written:
        raise InputError(
            [
                Problem(str(items), reason, "no items are left", column="item_id", value=item_id)
                for item_id, reason in left_out
            ]
        )
    table = pd.DataFrame(left_out, columns=["item_id", "reason"], dtype="str")
    made_from = (
        f"{len(written)} of the {len(given)} items of {items.name} (sha256 {file_sha256(items)}), "
        f"with the words of {groups.name} (sha256 {file_sha256(groups)})"
        + (", sex-specific items kept" if keep_sex_specific else "")
    )
    declaration = _declaration(name, written[0], declared, made_from)
    if ORIGINAL not in given[0].variants:
        declaration["notes"].append(
            "The items had no original vignette. The neutralized one is used in its place, so the "
            "baseline is not informative."
        )
    contents = {
        f"{name}.left_out.csv": table_csv(table),
        f"{name}.jsonl": item_lines(written),
        f"{name}.toml": toml_text(declaration),
    }
    path = write_benchmark(out, contents, source=items)
    return Substituted(path, len(written), len(written[0]["variants"]), table)


def put_in(text: str, start: int, words: str) -> str:
    """Insert words for a group into a text, and correct the article before them.

    Parameters
    ----------
    text : str
        The neutral text.
    start : int
        The position of the insertion.
    words : str
        The inserted words.

    Examples
    --------
    >>> put_in("A patient has pain.", 2, "Asian")
    'An Asian patient has pain.'
    >>> put_in("An 80-year-old individual has pain.", 15, "Black")
    'An 80-year-old Black individual has pain.'
    """
    before = text[:start]
    article = _ARTICLE.search(before)
    if article:
        vowel = words[0].lower() in "aeiou" and not _SOUNDS_CONSONANT.match(words)
        right = article[1][0] + ("n" if vowel else "")
        before = before[: article.start(1)] + right + " "
    return f"{before}{words} {text[start:]}"


def _sound_mention(item: Item, groups: Groups, *, keep_sex_specific: bool) -> Mention | NotFound:
    """Return the first mention of an item's patient, or why the item is left out."""
    text = item.variants[NEUTRALIZED]
    mention = find_mention(text)
    if isinstance(mention, NotFound):
        return mention
    if mention.age is not None and mention.age < groups.minimum_age:
        return NotFound(f"the patient is younger than {groups.minimum_age:g} years")
    whole = "\n".join([text, *item.options.values()])
    if named := left_over_group(whole, groups.words.values()):
        return NotFound(f"the neutralized text or an option still names a group: {named}")
    if groups.sex_specific and not keep_sex_specific and (word := sex_specific_word(whole)):
        return NotFound(f"sex-specific: {word}")
    return mention


def _with_variants(item: Item, mention: Mention, groups: Groups) -> dict[str, Any]:
    """Return the item as a line of an items file, in all its variants."""
    neutral = item.variants[NEUTRALIZED]
    variants = {group: put_in(neutral, mention.start, w) for group, w in groups.words.items()}
    return {
        "item_id": item.item_id,
        "options": dict(item.options),
        "answer_key": item.answer_key,
        "variants": {ORIGINAL: neutral} | dict(item.variants) | variants,
    }


def _load_items(path: Path) -> list[Item]:
    """Return the items, checked as those of a benchmark; the neutralized vignette is required."""
    if not path.is_file():
        raise InputError([Problem(str(path), "no such file", "check the path")])
    rows = read_json_lines(path)
    first = rows[0] if rows else {}
    options = first.get("options")
    has_original = any(
        isinstance(row.get("variants"), Mapping) and ORIGINAL in row["variants"] for row in rows
    )
    groups = [ORIGINAL, NEUTRALIZED] if has_original else [NEUTRALIZED]
    # Any benchmark will do: only the letters and the groups are checked.
    benchmark = replace(
        load_benchmark("demo"),
        options=tuple(options) if isinstance(options, Mapping) else (),
        attributes=MappingProxyType({BASELINE: _baseline(groups)}),
        items_file=path,
    )
    return load_items(benchmark)


def _baseline(groups: Iterable[str]) -> Attribute:
    labels = MappingProxyType({group: group.capitalize() for group in groups})
    return Attribute(BASELINE, "Baseline", labels, ((ORIGINAL, NEUTRALIZED),))


def _declaration(
    name: str, item: Mapping[str, Any], groups: Groups, made_from: str
) -> dict[str, Any]:
    notes = [
        "Made by plain substitution: the words for a group were put before the noun of the first "
        "mention of the patient in the neutralized vignette. Nothing else differs; neutral "
        "pronouns stay.",
        "It has not been judged item by item whether the right answer is the same for every group.",
    ]
    return {
        "name": name,
        "title": name,
        "description": "Clinical vignettes. Their variants differ only in the words for a group.",
        "options": list(item["options"]),
        "items_file": f"{name}.jsonl",
        "missing": "available",
        "equivalence_margin": 0.02,
        "sources": [made_from],
        "licence": "That of the items it was made from",
        "citation": "The items it was made from",
        "notes": notes,
        "versions": {"1": made_from},
        "attributes": {
            attribute.name: attribute_table(attribute)
            for attribute in (*groups.attributes, _baseline([ORIGINAL, NEUTRALIZED]))
        },
    }
