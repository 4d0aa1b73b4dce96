"""Letters and flips of one model: which letters it answers, and which of its answers flip."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd
from great_tables import GT
from great_tables._text import BaseText

from fairstats._lib.formatting import escape_markdown
from fairstats._lib.problems import first_of
from fairstats._lib.untrusted_files import read_json_lines
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.benchmarks.kinds import CHOICE
from fairstats.comparisons.change_verdicts import PAIR
from fairstats.counts.answer_tables import flipping_items
from fairstats.release.contents import Release
from fairstats.report.page_output import filled, output_format
from fairstats.report.sensitivity import unit_label
from fairstats.report.tables import breakable, rows_with, two_lines, written_table

Pairs = Sequence[tuple[Attribute, tuple[str, str]]]

#: The items of a unit that `flip_table` lists.
FLIPS_SHOWN = 40
#: The download that holds all flips.
FLIPS_FILE = "flips.parquet"
# With more pairs, an item's answers are in one cell.
_MOST_COLUMNS = 4
# More groups than these are counted, not named.
_MOST_GROUPS = 6

_LETTERS = ["attribute", "within", "group_a", "group_b", "answer_a", "answer_b"]


def flip_table(
    rows: pd.DataFrame,
    release: Release,
    *,
    name: str,
    limit: int = FLIPS_SHOWN,
    headed: bool = True,
) -> GT:
    """List the items with flips for most pairs of groups, with the letters and the key.

    The rows are those of `fairstats.counts.answer_tables.flips_of`, of one benchmark. Each unit is
    a group of up to `limit` rows; if `headed`, a heading has the number of all its items.

    Notes
    -----
    A cell has the letters of the first group and of the other one, the key's in bold. A cell is
    empty if the letters are the same or an answer is missing. With many pairs there is one cell per
    item: each letter with the groups that got it, of the groups whose answers differ. A pair of
    crossed groups has a line for each group of the other attribute. Controls are left out, and the
    column of keys if there are none.
    """
    benchmarks = [release.benchmarks[str(one)] for one in rows["benchmark"].unique()]
    pairs = [
        (attribute, pair)
        for benchmark in benchmarks
        for attribute in benchmark.varied
        for pair in attribute.pairs
    ]
    rows = rows[rows["attribute"].isin([attribute.name for attribute, _ in pairs])]
    answers = ["answer_a", "answer_b", "answer_key"]
    for benchmark in benchmarks:
        if benchmark.labels:
            rows = rows.assign(**rows[answers].replace(dict(benchmark.labels)))
    many = len(pairs) > _MOST_COLUMNS
    several = bool((rows["sample"] > 0).any())
    items = flipping_items(rows)
    table = []
    for unit, flips in rows.groupby(list(UNIT_COLUMNS), sort=False):
        own = rows_with(items, UNIT_COLUMNS, unit)
        heading, of = _flip_heading(unit, len(own), limit, release), release.benchmarks[unit[0]]
        shown = own["item_id"].head(limit)
        by_item = dict(list(flips[flips["item_id"].isin(shown)].groupby("item_id", sort=False)))
        for item in shown:
            for sample, found in by_item[item].groupby("sample", sort=True):
                label = f"{item}, sample {sample}" if several else str(item)
                cells = _by_letter(found, pairs, of) if many else _by_pair(found, pairs, of)
                key = found["answer_key"].iloc[0]
                table.append({"set": heading, "item": breakable(label), "key": key, **cells})
    keyed = any(benchmark.has_key for benchmark in benchmarks)
    labels: dict[str, str | BaseText] = {"key": "Key"} if keyed else {}
    if many:
        labels["answers"] = "Answers that differ"
    else:
        for place, (attribute, pair) in enumerate(pairs):
            sides = " / ".join(attribute.groups.get(group, group) for group in pair)
            labels[f"pair-{place}"] = two_lines(attribute.label, sides)
    group = "set" if headed else None
    return written_table(table, labels, name=name, stub="item", heading="Item", group=group)


def _flip_heading(unit: tuple[Hashable, ...], items: int, limit: int, release: Release) -> str:
    which = f"all {items:,} items that flip; they are in {FLIPS_FILE} too"
    if items == 1:
        which = f"the only item that flips; it is in {FLIPS_FILE} too"
    elif items > limit:
        which = f"the {limit:,} of {items:,} items that flip for most pairs"
        which += f"; all are in {FLIPS_FILE}"
    return f"{unit_label(unit, release)}: {which}"


def _by_letter(flips: pd.DataFrame, pairs: Pairs, benchmark: Benchmark) -> dict[str, str]:
    """Return one cell: each letter with the groups that got it, the key's first."""
    key = str(flips["answer_key"].iloc[0])
    attributes = {attribute.name for attribute, _ in pairs}
    groups: dict[str, dict[str, None]] = {}
    for name, within, *both in flips[_LETTERS].itertuples(index=False):
        for group, letter in zip(both[:2], both[2:], strict=True):
            varied, variant = benchmark.variant(name, group, within)
            of = benchmark.attributes[varied]
            named = of.groups.get(variant, variant)
            # The name of a crossed group says which attributes it is of.
            if len(attributes) > 1 and varied == name:
                named = f"{of.label}: {named}"
            groups.setdefault(str(letter), {})[named] = None
    lines = [
        (letter, first_of(list(names), _MOST_GROUPS))
        for letter, names in sorted(groups.items(), key=lambda entry: entry[0] != key)
    ]
    return {"answers": filled("letters", lines=lines, key=key, breaks=output_format() != "html")}


def _by_pair(flips: pd.DataFrame, pairs: Pairs, benchmark: Benchmark) -> dict[str, str]:
    """Return a cell per pair: both letters; empty if they are the same, or one is missing."""
    key = str(flips["answer_key"].iloc[0])
    lines: dict[tuple[str, ...], list[tuple[str, list[str]]]] = {}
    for name, within, a, b, *both in flips[_LETTERS].itertuples(index=False):
        crossing = benchmark.attributes[benchmark.variant(name, a, within)[0]]
        others = [benchmark.attributes[one].groups for one in crossing.crosses if one != name]
        label = next((of[within] for of in others if within in of), "")
        lines.setdefault((name, a, b), []).append((label, both))
    return {
        f"pair-{place}": filled("pair_letters", lines=own, key=key)
        for place, (attribute, pair) in enumerate(pairs)
        if (own := lines.get((attribute.name, *pair)))
    }


def bold_key(benchmark: Benchmark) -> str:
    """Explain the bold answers of `flip_table`, as a sentence to append; empty without keys."""
    if benchmark.kind == CHOICE:
        return " Bold: the correct answer."
    return " Bold: the key." if benchmark.has_key else ""


#: The number of items shown, and the number of characters of each variant.
ITEMS_SHOWN = 5
_LONGEST = 2000


def flip_texts(flips: pd.DataFrame, benchmark: Benchmark) -> str | None:
    """Show both variants of the items that flip for most attributes, in Markdown.

    None if there is no text, or it may not be published.
    """
    if not benchmark.publish_items or benchmark.items_file is None or flips.empty:
        return None
    items = {row["item_id"]: row for row in read_json_lines(benchmark.items_file)}
    shown = [item for item in flipping_items(flips)["item_id"] if item in items][:ITEMS_SHOWN]
    return "\n\n".join(
        _item(items[item], flips[flips["item_id"] == item], benchmark) for item in shown
    )


def _item(item: dict[str, Any], flips: pd.DataFrame, benchmark: Benchmark) -> str:
    options = "; ".join(f"{letter}: {text}" for letter, text in item["options"].items())
    lines = [
        f"**{escape_markdown(item['item_id'])}**, key {escape_markdown(item['answer_key'])}. "
        f"{escape_markdown(options[:_LONGEST])}"
    ]
    for row in flips.drop_duplicates([*PAIR, "within"]).to_dict("records"):
        for side in ("a", "b"):
            name, group = benchmark.variant(row["attribute"], row[f"group_{side}"], row["within"])
            text = str(item["variants"].get(group, ""))[:_LONGEST]
            named = benchmark.attributes[name].groups[group]
            label = f"{named}, answered {row[f'answer_{side}']}"
            lines.append(f"- *{escape_markdown(label)}*: {escape_markdown(text)}")
    # A crossed group is in pairs of both attributes.
    return lines[0] + "\n\n" + "\n".join(dict.fromkeys(lines[1:]))
