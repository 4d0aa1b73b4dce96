"""What the sections on ratings share: whose rows they show, and how these are laid out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pandas as pd

from fairstats.ratings.pooling import all_datasets
from fairstats.ratings.rubrics import Rubric
from fairstats.release.contents import DOWNLOADS, Release
from fairstats.report.page_output import closed, show_plot
from fairstats.report.plots import PLOT_WIDTH
from fairstats.report.ratings_tables import group_order

if TYPE_CHECKING:
    from plotnine import ggplot

#: Inches that a page has for a plot.
_TALLEST = 8.5
_ENDS = ("ci_low", "ci_high", "crossed_low", "crossed_high", "share")


def own_rows(
    release: Release, table: str, name: str, rubric: Rubric, model: str | None = None
) -> pd.DataFrame:
    """The rows of a release's table for one benchmark and rubric.

    With a model only those of ratings of its answers, or of no model's.
    """
    rows = release.table(table)
    rows = rows[(rows["benchmark"] == name) & (rows["rubric"] == rubric.name)]
    groups = group_order(rows["rater_group"], rubric)
    by = [c for c in ("model", "model_2") if c in rows and table != "strengths"]
    rows = rows.assign(place=rows["rater_group"].map(groups.index))
    rows = rows.sort_values([*by, "place"], kind="stable").drop(columns="place")
    if model is None:
        return rows
    judged = [c for c in ("model", "model_2") if c in rows]
    return rows[rows[judged].eq(model).any(axis=1) | rows["model"].isna()]


def files_of(release: Release, table: str) -> str | None:
    """The table's name where its files lie beside the pages: not so in a report of one file."""
    return table if (release.path / DOWNLOADS / f"{table}.csv").exists() else None


def main_parts(
    rows: pd.DataFrame, rubric: Rubric, *, every: str, by_dataset: str | None
) -> dict[str, pd.DataFrame]:
    """What is always asked, of all datasets together; by their titles all dimensions, datasets."""
    first, lead = all_datasets(rows), rows["dimension"].isin(rubric.leading)
    parts = {"": rows[first & lead], every: rows[first] if (first & ~lead).any() else rows[:0]}
    if by_dataset is not None:
        parts[by_dataset] = rows[~first & lead]
    return parts


def shown_parts(
    parts: Mapping[str, pd.DataFrame], model: str | None = None
) -> Iterator[tuple[int, str, pd.DataFrame]]:
    """The number, title and rows of each part that has a row: in the open without a title.

    The report on one model has the parts with a title in its release.
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
    """A plot of panels below each other, cut into several where it would be taller than a page.

    `tall` is the height of a panel in inches; all plots have one scale.
    """
    ends = rows[[c for c in _ENDS if c in rows]].stack()
    number = rows.groupby(panels, dropna=False, sort=False).ngroup()
    rows = rows.assign(least=ends.min(), most=ends.max(), titled=number.max() > 0)
    each = max(1, int((_TALLEST - 0.9) / tall))
    for part, own in rows.groupby(number // each):
        drawn = own[panels].drop_duplicates().shape[0]
        show_plot(
            draw,
            own,
            rubric,
            name=f"{name}-{part}",
            alt=alt,
            width=PLOT_WIDTH,
            height=0.9 + drawn * tall,
        )


def caption_of(name: str, rubric: Rubric, text: str, part: str = "") -> str:
    """A caption that no other table of the page has."""
    where = ", ".join(filter(None, (name, rubric.title.lower(), part.lower())))
    return f"{where}: {text}"
