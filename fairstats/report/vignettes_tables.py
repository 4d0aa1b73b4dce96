"""Show tables of findings on vignettes: one row per subject, one column per figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from fairstats._lib.formatting import (
    decimal,
    escape_html,
    p_value,
    percent_range,
    point_range,
    points,
)
from fairstats.benchmarks.declaration import Benchmark
from fairstats.release.contents import Release
from fairstats.report.page_context import output_format
from fairstats.report.page_output import show_table
from fairstats.report.ratings_parts import files_of
from fairstats.report.tables import written_table

#: The columns that identify a pair of groups of an answer set.
PAIR_AND_UNIT = ["attribute", "group_a", "group_b", "benchmark_version", "model", "strategy"]

Figure = Callable[[Mapping[str, Any]], str]

# A longer table would fill many pages.
_MOST_ON_PAPER = 60
#: The release's table of findings.
FINDINGS = "vignette_findings"
#: The labels of the measures, in display order.
LEAKAGE_LABELS = {
    "leakage_overlap": "Shared words",
    "leakage_distinct": "Words of no other option",
    "leakage_tfidf": "Weighted words (tf-idf)",
    "leakage_embedding": "Meaning (embedding)",
}


def pick(findings: pd.DataFrame, **values: str) -> pd.DataFrame:
    """Select the findings with these values."""
    keep = pd.Series(True, index=findings.index)
    for column, value in values.items():
        keep &= findings[column] == value
    return findings[keep]


def as_percent(row: Mapping[str, Any]) -> str:
    """Format a share in percent, with its limits below."""
    if math.isnan(row["estimate"]):
        return "not known"
    return _with_limits(
        f"{100 * row['estimate']:.1f}", percent_range(row["ci_low"], row["ci_high"])
    )


def as_points(row: Mapping[str, Any]) -> str:
    """Format a difference of shares in points, with its limits and p-value below."""
    if math.isnan(row["estimate"]):
        return "not known"
    p = p_value(row["p_value"])
    limits = point_range(row["ci_low"], row["ci_high"])
    return _with_limits(points(row["estimate"]), ", ".join(part for part in (limits, p) if part))


def as_number(places: int) -> Figure:
    """Return a format for numbers without a unit, with limits and p-value below."""

    def figure(row: Mapping[str, Any]) -> str:
        if math.isnan(row["estimate"]):
            return "not known"
        low, high = decimal(row["ci_low"], places), decimal(row["ci_high"], places)
        limits = f"{low} to {high}" if low and high else ""
        p = p_value(row["p_value"])
        small = ", ".join(part for part in (limits, p) if part)
        return _with_limits(decimal(row["estimate"], places), small)

    return figure


def _with_limits(figure: str, small: str) -> str:
    return f"{figure}<br><small>{small}</small>" if small else figure


def show_findings(
    release: Release,
    rows: Sequence[Mapping[str, str]],
    *,
    name: str,
    caption: str,
    labels: Mapping[str, str],
    stub: str,
    heading: str,
    group: str | None = None,
) -> None:
    """Show finished cells as a table, with links to the files of all findings.

    Parameters
    ----------
    release : Release
        The release with the findings.
    rows : sequence of mappings
        The cells by column; names in them must be escaped.
    name : str
        The table's id, unique on the page.
    caption : str
        The caption, in plain text.
    labels : mapping
        The columns to show, with their headings.
    stub, heading : str
        The column that names a row, and its heading.
    group : str, optional
        The column that rows are grouped by.
    """
    if output_format() != "html" and len(rows) > _MOST_ON_PAPER:
        caption += f". The first {_MOST_ON_PAPER} of {len(rows):,} rows; the files have all"
        rows = rows[:_MOST_ON_PAPER]
    table = written_table(
        rows,
        labels,
        name=name,
        stub=stub,
        heading=heading,
        group=group,
        html=[stub, *([group] if group else []), *labels],
    )
    show_table(
        table,
        caption=caption,
        download=files_of(release, FINDINGS),
    )


def group_label(benchmark: Benchmark, attribute: str, group: str) -> str:
    """Return the label of a group."""
    if attribute not in benchmark.attributes:
        return group
    return benchmark.attribute(attribute).groups.get(group, group)


def pair_label(benchmark: Benchmark, row: Mapping[str, Any]) -> str:
    """Return the label of a pair of groups."""
    if row["attribute"] not in benchmark.attributes:
        return f"{row['group_a']} − {row['group_b']}"
    attribute = benchmark.attribute(str(row["attribute"]))
    return attribute.pair_label((str(row["group_a"]), str(row["group_b"])))


def escaped(text: object) -> str:
    """Escape a name for a cell."""
    return escape_html(str(text))
