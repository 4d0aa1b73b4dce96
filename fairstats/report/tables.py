"""Tables that several pages share: sources, and tables of written cells."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from great_tables import GT, html
from great_tables._text import BaseText, Text
from markupsafe import Markup, escape

from fairstats._lib.formatting import capital, escape_html
from fairstats.answers.strategies import strategy_label
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.release.contents import DOWNLOADS, Release
from fairstats.report.page_output import filled, output_format
from fairstats.report.words import words_of

#: Each verdict's mark. It is always next to the word, so no reader needs shape or colour.
MARKS = {DISPARITY: "▲", EQUIVALENT: "●", INCONCLUSIVE: "○"}


def sources_table(release: Release) -> GT:
    """Count answers by model, snapshot, set of vignettes and prompt."""
    nouns = _items_of(release)

    rows = pd.DataFrame(
        {
            **{name: value for name, value in entry.items() if name != "set_items"},
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
            benchmark_version=as_label(capital(nouns)),
            model="Model",
            snapshot="Snapshot",
            strategy="Prompt",
            collector="Collector",
            items="Items",
            answers="Answers",
            missing="Missing",
            refused="Refused",
            failed="Failed",
        )
        .sub_missing(missing_text="not known")
        .fmt_integer(columns=["items", "answers", "missing", "refused", "failed"])
    )


def sources_caption(release: Release) -> str:
    """Describe the table of sources."""
    return f"Answers by model, set of {_items_of(release)} and prompt"


def _items_of(release: Release) -> str:
    """Return the noun of the release's items; the general one if benchmarks differ."""
    nouns = {words_of(benchmark).items for benchmark in release.benchmarks.values()}
    return nouns.pop() if len(nouns) == 1 else "vignettes" if "vignettes" in nouns else "items"


@cache
def labels_of(page: str) -> Mapping[str, Any]:
    """Read what the tables of a page are headed with, from ``labels.toml`` in the page's folder."""
    file = Path(__file__).parent / page / "labels.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


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

    `labels` are the headings of the columns to show, in their order. `stub` is the column that
    names a row. A missing cell is empty. Text is escaped, but not in the columns `html`: every name
    in them must be escaped.
    """
    columns = [*([group] if group else []), stub, *labels]
    frame = pd.DataFrame(rows, columns=columns, dtype=object).fillna("")
    marked = [c for c in columns if frame[c].map(lambda cell: isinstance(cell, Markup)).any()]
    frame[marked] = frame[marked].map(lambda cell: str(escape(cell)))
    # great_tables writes each cell by itself, which takes longer into strings of Arrow.
    with pd.option_context("mode.string_storage", "python"):
        empty = GT(frame, rowname_col=stub, groupname_col=group, id=name)
    table = (
        empty.tab_stubhead(heading)
        .cols_label(cases={column: as_label(label) for column, label in labels.items()})
        .fmt_passthrough(columns=[*html, *marked], escape=False)
        .cols_align("left")
    )
    return table.cols_align("right", columns=list(right)) if right else table


def as_label(text: str | BaseText) -> str | BaseText:
    """Return a heading that great_tables shows as it is.

    It takes ``{{…}}`` in a heading for a unit, which it reads as Markdown, and then escapes nothing
    in the heading. Names of attributes and groups come from benchmark files.
    """
    content = escape_html(text) if isinstance(text, str) else getattr(text, "text", "")
    return html(content.replace("{{", "&#123;&#123;")) if "{{" in content else text


def share(value: float) -> str:
    """Write a share in percent, for a column whose heading has the unit."""
    return f"{100 * value:.1f}"


def figure_cell(
    value: float,
    form: Callable[[float], str],
    *below: str,
    of: str = "",
    strong: bool = True,
    unknown: str = "not known",
) -> str:
    """Write the cell of a figure: what it is of next to it, and small lines below it.

    `of` are the counts behind the figure, or limits in the same line.
    """
    if math.isnan(value):
        return unknown
    lines = [line for line in below if line]
    return filled("figure_cell", figure=form(value), of=of, below=lines, strong=strong)


def small_cell(text: str) -> Markup:
    """Write a cell of small text, e.g. why a figure is not known."""
    return filled("small_cell", text=text)


def prose_cell(text: str) -> Markup:
    """Write a cell of prose, which wraps; other cells do not."""
    return filled("prose_cell", text=text)


def files_of(release: Release, table: str) -> str | None:
    """Return the table's name if its files are published; a one-file report has none."""
    return table if (release.path / DOWNLOADS / f"{table}.csv").exists() else None


def breakable(name: str) -> str:
    """Let typst break a long name; unlike a browser, it does not break long words."""
    return name if output_format() == "html" else with_breaks(name)


def with_breaks(name: str) -> str:
    """Return a name with places at which typst may break it."""
    return re.sub(r"([^\s-]{12})(?=[^\s-]{6})", "\\1\u200b", name)
