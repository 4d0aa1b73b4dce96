"""Show which items make up the accuracy difference between two groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from fairstats._lib.formatting import (
    capital,
    counted,
    decimal,
    escape_html,
    escape_markdown,
    p_figure,
    percent,
    points,
)
from fairstats._lib.safe_names import slug
from fairstats.benchmarks.declaration import Benchmark
from fairstats.release.contents import DOWNLOADS, Release
from fairstats.report.page_output import closed, show_markdown, show_table
from fairstats.report.tables import files_of, written_table

ITEMS = "item_gaps"
#: The number of items shown per pair, besides the significant ones; the table has all.
_SHOWN = 8
_PAIR = ["attribute", "group_a", "group_b"]
_EXPLAINED = (
    "Each model answers both variants of an item; the prompts of a model are averaged. Averaged "
    "over models, the differences of the items add up to the accuracy difference of the pair, the "
    "gap. An item's test asks whether models favour one variant more often than the other. The "
    "largest contributions are the largest of many, so expect smaller ones from other models."
)


def show_items(release: Release, benchmark: Benchmark) -> None:
    """Show the items with the largest contributions to each gap, if the release has the table."""
    # Earlier releases and separate reports have no such table.
    if not (release.path / DOWNLOADS / f"{ITEMS}.parquet").exists():
        return
    table = release.table(ITEMS)
    own = table[table["benchmark"] == benchmark.name]
    for version, of_version in own.groupby("benchmark_version", sort=True):
        label = benchmark.versions.get(str(version), str(version))
        named = f" ({escape_markdown(label)})" if own["benchmark_version"].nunique() > 1 else ""
        show_markdown(f"### Which items make up the gap?{named}\n\n{_EXPLAINED}")
        pairs = [rows for _, rows in of_version.groupby(_PAIR, sort=False)]
        notes = [_of_tests(rows, release.alpha) for rows in pairs]
        # What is true of all pairs is said once; a number of items is that of one pair.
        alike = len(pairs) > 1 and len(set(notes)) == 1
        shared = notes[0] if alike and not (of_version["p_bh"] < release.alpha).any() else ""
        found = [
            f"- {_sentence(rows, benchmark)}" + (f" {note}" if not shared else "")
            for rows, note in zip(pairs, notes, strict=True)
        ]
        show_markdown("\n".join(found) + f"\n\n{shared}")
        cells = [cell for rows in pairs for cell in _cells(rows, benchmark, release.alpha)]
        if cells:
            with closed("The items with the largest contributions"):
                _show_table(release, cells, benchmark, str(version))


def _sentence(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    first = rows.iloc[0]
    gap, models = float(first["gap"]), int(rows["models"].max())
    text = (
        f"{capital(escape_markdown(_pair_label(benchmark, first.to_dict())))}: mean gap "
        f"{points(gap)} points over {counted(models, 'model')}."
    )
    if gap:
        half = int((rows["share"].cumsum() < 0.5 - 1e-9).sum()) + 1
        part = half / len(rows)
        text += (
            f" {counted(half, 'item')} of {len(rows):,} ({percent(part)}) "
            f"make{'s' * (half == 1)} up half of it."
        )
    return text


def _pair_label(benchmark: Benchmark, row: Mapping[str, Any]) -> str:
    return benchmark.attribute(row["attribute"]).pair_label((row["group_a"], row["group_b"]))


def _of_tests(rows: pd.DataFrame, alpha: float) -> str:
    """Return how many items of a pair are significant, or why none can be."""
    if significant := int((rows["p_bh"] < alpha).sum()):
        return f"{counted(significant, 'item')} significant after adjustment."
    least = float(rows["least_p"].min())
    if least * len(rows) > alpha * (rows["p_value"] <= least).sum():
        return (
            f"So few models cannot show that a single item differs: {p_figure(least)} is the "
            f"smallest possible p-value, before adjustment for {len(rows):,} items."
        )
    return "No item is significant after adjustment."


def _cells(rows: pd.DataFrame, benchmark: Benchmark, alpha: float) -> list[dict[str, str]]:
    shown = (rows["p_bh"] < alpha) | (rows.reset_index().index < _SHOWN)
    return [
        {
            "pair": escape_html(_pair_label(benchmark, row)),
            "item": escape_html(str(row["item_id"])),
            "estimate": points(row["estimate"]),
            "contribution": decimal(100 * row["contribution"], 2),
            "share": percent(row["share"]),
            "counts": f"{row['n10']:g} and {row['n01']:g} of {row['n']:,}",
            "p": p_figure(row["p_value"]),
            "p_bh": p_figure(row["p_bh"]),
        }
        for row in rows[shown & (rows["contribution"] != 0)].to_dict("records")
    ]


def _show_table(
    release: Release, cells: list[dict[str, str]], benchmark: Benchmark, version: str
) -> None:
    labels = {
        "estimate": "Difference, points",
        "contribution": "Contribution, points",
        "share": "Share of the gap",
        "counts": "Only the first, only the second right",
        "p": "p",
        "p_bh": "Adjusted p",
    }
    table = written_table(
        cells,
        labels,
        name=slug(f"items-{benchmark.name}-{version}"),
        stub="item",
        heading="Item",
        group="pair",
        html=["item", "pair"],
        right=[name for name in labels if name != "counts"],
    )
    show_table(
        table,
        caption=f"{benchmark.title}: items with the largest contributions. p: exact, flips of "
        "models; adjusted by Benjamini and Hochberg over the items of a pair",
        download=files_of(release, ITEMS),
    )
