"""Show the text of vignettes with a changed answer, if the licence allows it."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fairstats._lib.formatting import escape_markdown
from fairstats._lib.untrusted_files import read_json_lines
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.answer_tables import flipping_items

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
