"""Helpers for the sections on ratings: selecting rows, and laying out tables and plots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pandas as pd

from fairstats.ratings.pooling import all_datasets
from fairstats.ratings.rubrics import Rubric
from fairstats.release.contents import DOWNLOADS, Release
from fairstats.report.page_output import closed, show_plot
from fairstats.report.plot_style import PLOT_WIDTH
from fairstats.report.ratings.tables import group_order

if TYPE_CHECKING:
    from plotnine import ggplot

#: The tallest plot that fits on a page, in inches.
_TALLEST = 8.5
_ENDS = ("ci_low", "ci_high", "crossed_low", "crossed_high", "share")


def own_rows(
    release: Release, table: str, name: str, rubric: Rubric, model: str | None = None
) -> pd.DataFrame:
    """Select the rows of a release's table for one benchmark and rubric.

    With a model, only ratings of its answers or of texts without a model.
    """
    rows = release.table(table)
    rows = rows[(rows["benchmark"] == name) & (rows["rubric"] == rubric.name)]
    groups = group_order(rows["rater_group"], rubric)
    by = [c for c in ("model", "model_2") if c in rows]
    rows = rows.assign(place=rows["rater_group"].map(groups.index))
    rows = rows.sort_values([*by, "place"], kind="stable").drop(columns="place")
    if model is None:
        return rows
    judged = [c for c in ("model", "model_2") if c in rows]
    return rows[rows[judged].eq(model).any(axis=1) | rows["model"].isna()]


def files_of(release: Release, table: str) -> str | None:
    """Return the table's name if its files are published; a one-file report has none."""
    return table if (release.path / DOWNLOADS / f"{table}.csv").exists() else None


def main_parts(
    rows: pd.DataFrame, rubric: Rubric, *, every: str, by_dataset: str | None
) -> dict[str, pd.DataFrame]:
    """Split rows into leading dimensions of all datasets, all dimensions, and single datasets."""
    first, lead = all_datasets(rows), rows["dimension"].isin(rubric.leading)
    parts = {"": rows[first & lead], every: rows[first] if (first & ~lead).any() else rows[:0]}
    if by_dataset is not None:
        parts[by_dataset] = rows[~first & lead]
    return parts


def shown_parts(
    parts: Mapping[str, pd.DataFrame], model: str | None = None
) -> Iterator[tuple[int, str, pd.DataFrame]]:
    """Yield the number, title and rows of each part with rows; parts with a title are closed.

    The report on one model leaves out parts with a title; they are in its release.
    """
    for number, (title, rows) in enumerate(parts.items()):
        if len(rows) and not (title and model is not None):
            with closed(title) if title else nullcontext():
                yield number, title, rows


def show_panels(
    draw: Callable[[pd.DataFrame, Rubric], ggplot],
    rows: pd.DataFrame,
    rubric: Rubric,
    *,
    panels: list[str],
    name: str,
    alt: str,
    tall: float,
) -> None:
    """Show a plot of panels, split into several if it would be taller than a page.

    `tall` is the height of a panel in inches. All plots have the same scale.
    """
    ends = rows[[c for c in _ENDS if c in rows]].stack()
    number = rows.groupby(panels, dropna=False, sort=False).ngroup()
    rows = rows.assign(least=ends.min(), most=ends.max(), titled=number.max() > 0)
    each = max(1, int((_TALLEST - 0.9) / tall))
    for part, own in rows.groupby(number // each):
        drawn = own[panels].drop_duplicates().shape[0]
        show_plot(
            draw(own, rubric),
            name=f"{name}-{part}",
            alt=alt,
            width=PLOT_WIDTH,
            height=0.9 + drawn * tall,
        )


def caption_of(name: str, rubric: Rubric, text: str, part: str = "") -> str:
    """Write a caption that is unique on the page."""
    where = ", ".join(filter(None, (name, rubric.title.lower(), part.lower())))
    return f"{where}: {text}"
