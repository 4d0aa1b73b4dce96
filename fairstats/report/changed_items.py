"""Letters and flips of one model: which letters it answers, and which of its answers flip."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats._lib.formatting import escape_html, escape_markdown
from fairstats._lib.problems import first_of
from fairstats._lib.untrusted_files import read_json_lines
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.counts.answer_tables import flipping_items
from fairstats.release.contents import Release
from fairstats.report.page_output import output_format
from fairstats.report.sensitivity import unit_label
from fairstats.report.tables import breakable, written_table

if TYPE_CHECKING:
    from great_tables import GT
    from great_tables._text import BaseText


#: The items of a unit that `flip_table` lists.
FLIPS_SHOWN = 40
#: The download that holds all flips.
FLIPS_FILE = "flips.csv"
# With more pairs, an item's answers are in one cell.
_MOST_COLUMNS = 4
# More groups than these are counted, not named.
_MOST_GROUPS = 6

_LETTERS = ["attribute", "group_a", "group_b", "answer_a", "answer_b"]


def flip_table(
    rows: pd.DataFrame,
    release: Release,
    *,
    name: str,
    limit: int = FLIPS_SHOWN,
    headed: bool = True,
) -> GT:
    """List the items with flips for most pairs of groups, with the letters and the key.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `fairstats.counts.answer_tables.flips_of`, of one benchmark. Each unit becomes a group
        of rows, in the given order.
    release : Release
        Names the benchmarks' attributes.
    name : str
        The table's id, unique on the page.
    limit : int
        The number of listed items per unit; the heading gives the number of all of them.
    headed : bool
        Whether each unit has a heading.

    Notes
    -----
    A cell has the letters of the first group and of the other one, the key's in bold. A cell is
    empty if the letters are the same or an answer is missing. With many pairs there is one cell per
    item: each letter with the groups that got it, of the groups whose answers differ. Controls are
    left out, and the column of keys if there are none.
    """
    from great_tables import html

    pairs = _pairs(rows, release)
    rows = rows[rows["attribute"].isin([attribute.name for attribute, _ in pairs])]
    benchmarks = [release.benchmarks[str(one)] for one in rows["benchmark"].unique()]
    answers = ["answer_a", "answer_b", "answer_key"]
    for benchmark in benchmarks:
        if benchmark.labels:
            rows = rows.assign(**rows[answers].replace(dict(benchmark.labels)))
    keyed = any(benchmark.has_key for benchmark in benchmarks)
    many = len(pairs) > _MOST_COLUMNS
    several = bool((rows["sample"] > 0).any())
    items = flipping_items(rows)
    table = []
    for unit, flips in rows.groupby(list(UNIT_COLUMNS), sort=False):
        own = items[(items[list(UNIT_COLUMNS)] == list(unit)).all(axis=1)]
        heading = _flip_heading(unit, len(own), min(len(own), limit), release)
        shown = own["item_id"].head(limit)
        by_item = dict(list(flips[flips["item_id"].isin(shown)].groupby("item_id", sort=False)))
        for item in shown:
            for sample, found in by_item[item].groupby("sample", sort=True):
                label = f"{item}, sample {sample}" if several else str(item)
                row = _letters_row if many else _flip_row
                table.append({"set": heading, **row(label, found, pairs)})
    group = "set" if headed else None
    if many:
        named: dict[str, str | BaseText] = {"key": "Key"} if keyed else {}
        named["answers"] = "Answers that differ"
        return written_table(
            table, named, name=name, stub="item", heading="Item", group=group, html=["item", *named]
        )
    columns = {f"pair-{place}": pair for place, pair in enumerate(pairs)}
    labels: dict[str, str | BaseText] = {"key": html("Key")} if keyed else {}
    for column, (attribute, pair) in columns.items():
        sides = f"<small>{escape_html(_sides(attribute, pair))}</small>"
        labels[column] = html(f"{escape_html(attribute.label)}<br>{sides}")
    return written_table(
        table, labels, name=name, stub="item", heading="Item", group=group, html=["item", *labels]
    )


def _pairs(rows: pd.DataFrame, release: Release) -> list[tuple[Attribute, tuple[str, str]]]:
    """Return the declared pairs of these rows' benchmark."""
    names = rows["benchmark"].unique()
    return [
        (attribute, pair)
        for name in names
        for attribute in release.benchmarks[str(name)].varied
        for pair in attribute.pairs
    ]


def _sides(attribute: Attribute, pair: tuple[str, str]) -> str:
    return " / ".join(attribute.groups.get(group, group) for group in pair)


def _flip_heading(unit: tuple[Hashable, ...], items: int, shown: int, release: Release) -> str:
    subject = unit_label(unit, release)
    if shown == items:
        return f"{subject}: all {items:,} items that flip; they are in {FLIPS_FILE} too"
    return (
        f"{subject}: the {shown:,} of {items:,} items that flip for most pairs; all are in "
        f"{FLIPS_FILE}"
    )


def _letters_row(
    label: str, flips: pd.DataFrame, pairs: list[tuple[Attribute, tuple[str, str]]]
) -> dict[str, str]:
    key = str(flips["answer_key"].iloc[0])
    attributes = {attribute.name: attribute for attribute, _ in pairs}
    groups: dict[str, dict[str, None]] = {}
    for name, a, b, letter_a, letter_b in flips[_LETTERS].itertuples(index=False):
        of = attributes[name]
        for group, letter in ((a, letter_a), (b, letter_b)):
            named = of.groups.get(group, group)
            named = named if len(attributes) == 1 else f"{of.label}: {named}"
            groups.setdefault(str(letter), {})[named] = None
    parts = []
    for letter, names in sorted(groups.items(), key=lambda entry: entry[0] != key):
        shown = escape_html(letter)
        shown = f"<strong>{shown}</strong>" if letter == key else shown
        line = f"{shown}: {escape_html(first_of(list(names), _MOST_GROUPS))}"
        # The class lets the line wrap; cells of letters do not.
        parts.append(f'<span class="said">{line}</span>')
    return {
        "item": escape_html(breakable(label)),
        "key": escape_html(key),
        "answers": ("" if output_format() == "html" else "<br>").join(parts),
    }


def _flip_row(
    label: str, flips: pd.DataFrame, pairs: list[tuple[Attribute, tuple[str, str]]]
) -> dict[str, str]:
    key = str(flips["answer_key"].iloc[0])
    letters = {
        (attribute, a, b): (letter_a, letter_b)
        for attribute, a, b, letter_a, letter_b in flips[_LETTERS].itertuples(index=False)
    }
    row = {"item": escape_html(breakable(label)), "key": escape_html(key)}
    for place, (attribute, pair) in enumerate(pairs):
        # An empty cell: the letters are the same there, or one is missing.
        row[f"pair-{place}"] = " / ".join(
            f"<strong>{escape_html(letter)}</strong>" if letter == key else escape_html(letter)
            for letter in letters.get((attribute.name, *pair), ())
        )
    return row


#: The number of items shown, and the number of characters of each variant.
ITEMS_SHOWN = 5
_LONGEST = 2000


def flip_texts(flips: pd.DataFrame, benchmark: Benchmark) -> str | None:
    """Show both variants of the items that flip for most attributes, in Markdown.

    Parameters
    ----------
    flips : pandas.DataFrame
        From `fairstats.counts.answer_tables.flips_of`, of one answer set and `benchmark`.
    benchmark : Benchmark
        Contains the vignettes, if they may be published.

    Returns
    -------
    str or None
        None if there is no text to show.
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
    for row in flips.drop_duplicates(["attribute", "group_a", "group_b"]).to_dict("records"):
        attribute = benchmark.attribute(row["attribute"])
        for side in ("a", "b"):
            group = row[f"group_{side}"]
            text = str(item["variants"].get(group, ""))[:_LONGEST]
            label = f"{attribute.groups[group]}, answered {row[f'answer_{side}']}"
            lines.append(f"- *{escape_markdown(label)}*: {escape_markdown(text)}")
    return lines[0] + "\n\n" + "\n".join(lines[1:])
