"""Tables that several pages share: estimates, sources, and tables of written cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import (
    decimal,
    escape_html,
    scientific,
)
from fairstats.answers.strategies import strategy_label
from fairstats.inference.equivalence import EQUIVALENT, INCONCLUSIVE, SHOWN
from fairstats.metrics.registry import METRICS
from fairstats.release.contents import Release, output_format

if TYPE_CHECKING:
    from great_tables import GT
    from great_tables._text import BaseText, Text

#: Each verdict's mark. It is always next to the word, so no reader needs shape or colour.
MARKS = {SHOWN: "▲", EQUIVALENT: "●", INCONCLUSIVE: "○"}


def estimates_table(estimates: pd.DataFrame, release: Release, *, name: str) -> GT:
    """Show all estimates of one answer set, with methods, counts and p-values."""
    from great_tables import GT

    benchmark = release.benchmarks[str(estimates["benchmark"].iloc[0])]
    rows = []
    for row in estimates.to_dict("records"):
        attribute = benchmark.attribute(row["attribute"])
        if row["metric"] == "dp" and len(attribute.groups) == 2:
            # With two groups DP equals AD, which has a row already.
            continue
        groups = {} if pd.isna(row["group_a"]) else {"a": row["group_a"], "b": row["group_b"]}
        labels = {side: attribute.groups.get(group, group) for side, group in groups.items()}
        pair = attribute.label
        if groups:
            pair += f": {attribute.pair_label((row['group_a'], row['group_b']))}"
        low, high = decimal(row["ci_low"]), decimal(row["ci_high"])
        test = row["test"] if isinstance(row["test"], str) else ""
        rows.append(
            {
                "pair": pair,
                "metric": METRICS[row["metric"]].label_of(**labels)
                + _test_suffix(test, row["metric"]),
                "estimate": decimal(row["estimate"]),
                "interval": f"{low} to {high}" if low else "",
                "method": row["ci_method"] if isinstance(row["ci_method"], str) else test,
                "n": _whole(row["n"]),
                "discordant": _discordant(row["n10"], row["n01"]),
                "p": scientific(row["p_value"]),
                "adjusted": scientific(row["p_adjusted"]),
                "missing": _discordant(row["n_missing_a"], row["n_missing_b"]),
            }
        )
    return (
        GT(pd.DataFrame(rows), rowname_col="metric", groupname_col="pair", id=name)
        .tab_stubhead("Figure")
        .cols_label(
            estimate="Estimate",
            interval=_limits_label(estimates),
            method="Method",
            n="n",
            discordant="n10, n01",
            p="p",
            adjusted="p, adjusted",
            missing="Missing a, b",
        )
        .cols_align("right", columns=["estimate", "interval", "n", "discordant", "p", "adjusted"])
        .cols_align("right", columns=["missing"])
    )


def sources_table(release: Release) -> GT:
    """Count answers by model, snapshot, set of vignettes and prompt."""
    from great_tables import GT

    rows = pd.DataFrame(
        {
            **entry,
            "benchmark": (benchmark := release.benchmarks[entry["benchmark"]]).title,
            "benchmark_version": benchmark.versions.get(
                entry["benchmark_version"], entry["benchmark_version"]
            ),
            "strategy": strategy_label(entry["strategy"]),
        }
        for entry in release.manifest["answers"]
    )
    return (
        GT(rows, id="sources")
        .cols_label(
            benchmark="Benchmark",
            benchmark_version="Vignettes",
            model="Model",
            snapshot="Snapshot",
            strategy="Prompt",
            collector="Collector",
            items="Items",
            answers="Answers",
            missing="Missing",
        )
        .sub_missing(missing_text="not known")
        .fmt_integer(columns=["items", "answers", "missing"])
    )


def written_table(
    rows: Iterable[Mapping[str, str]] | pd.DataFrame,
    labels: Mapping[str, str | BaseText],
    *,
    name: str,
    stub: str,
    heading: str | Text,
    group: str | None = None,
    html: Sequence[str] = (),
    right: Sequence[str] = (),
) -> GT:
    """Make a table from finished cells, one row per mapping.

    Parameters
    ----------
    rows : iterable of mappings, or DataFrame
        The cells by column; a missing one is empty.
    labels : mapping
        The columns to show, in order, with their headings.
    name : str
        The table's id, unique on the page.
    stub, heading : str
        The column that names a row, and its heading.
    group : str, optional
        The column that rows are grouped by.
    html : sequence of str
        The columns with cells in HTML; every name in them must be escaped.
    right : sequence of str
        The columns aligned to the right; the others are aligned to the left.
    """
    from great_tables import GT

    columns = [*([group] if group else []), stub, *labels]
    frame = pd.DataFrame(rows, columns=columns, dtype=object).fillna("")
    table = (
        GT(frame, rowname_col=stub, groupname_col=group, id=name)
        .tab_stubhead(heading)
        .cols_label(cases=dict(labels))
        .fmt_passthrough(columns=list(html), escape=False)
        .cols_align("left")
    )
    return table.cols_align("right", columns=list(right)) if right else table


def breakable(name: str) -> str:
    """Let typst break a long name; unlike a browser, it does not break long words."""
    return name if output_format() == "html" else with_breaks(name)


def with_breaks(name: str) -> str:
    """Return a name with places at which typst may break it."""
    return re.sub(r"([^\s-]{12})(?=[^\s-]{6})", "\\1\u200b", name)


def cell_label(text: str) -> str:
    """Repeat a column's name inside the cell, for screens too narrow for a heading."""
    if output_format() != "html":
        return ""
    return f'<span class="cell-label" aria-hidden="true">{escape_html(text)}</span>'


def _limits_label(estimates: pd.DataFrame) -> str:
    interval = f"{100 * estimates['ci_level'].max():g}% interval"
    return f"Range, or {interval}" if estimates["ci_method"].eq("bounds").any() else interval


def _test_suffix(test: str, metric: str) -> str:
    return f", {test.removeprefix('mcnemar ').split(',')[0]}" if metric == "mcnemar" else ""


def _whole(value: object) -> str:
    return "" if pd.isna(value) else f"{int(value):,}"  # type: ignore[call-overload]


def _discordant(a: object, b: object) -> str:
    return "" if pd.isna(a) or pd.isna(b) else f"{_whole(a)}, {_whole(b)}"
