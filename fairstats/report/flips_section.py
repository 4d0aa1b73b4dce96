"""Letters and flips of one model: which letters it answers, and which of its answers flip."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import escape_html
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.counts.answer_letters import NO_ANSWER
from fairstats.counts.flips import flipping_items
from fairstats.release.contents import Release
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, INK, NEUTRAL_LIGHT, RULE
from fairstats.report.plots import answer_sets, plot_theme
from fairstats.report.sensitivity_tables import unit_label
from fairstats.report.tables import breakable, written_table

if TYPE_CHECKING:
    from great_tables import GT
    from great_tables._text import BaseText
    from plotnine import ggplot

#: The items of a unit that `flip_table` lists.
FLIPS_SHOWN = 40
#: The download that holds all flips.
FLIPS_FILE = "flips.csv"

# Each group of an attribute has a shape, which is in the heading too, and a colour.
_SHAPES = (("o", "●"), ("^", "▲"), ("s", "■"), ("D", "◆"), ("v", "▼"), ("*", "★"))
_COLOURS = (ACCENT_A, ACCENT_B, INK, DIM)
_LETTERS = ["attribute", "group_a", "group_b", "answer_a", "answer_b"]


def letter_plot(rows: pd.DataFrame, benchmark: Benchmark) -> ggplot:
    """The share of each letter among a group's answers, before its share of the keys.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `fairstats.counts.answer_letters.letters_of`, of one model and benchmark: a row of
        facets a version and strategy, a column an attribute.
    benchmark : Benchmark
        Gives the labels of attributes and groups.
    """
    from plotnine import (
        aes,
        element_blank,
        element_line,
        element_text,
        facet_grid,
        geom_col,
        geom_point,
        ggplot,
        labs,
        position_dodge,
        scale_color_manual,
        scale_fill_manual,
        scale_shape_manual,
        scale_y_continuous,
        theme,
    )

    rows = rows.copy()
    if not rows.loc[rows["letter"] == NO_ANSWER, "count"].any():
        rows = rows[rows["letter"] != NO_ANSWER]
    letters = [*benchmark.options, "none"]
    rows["letter"] = pd.Categorical(
        rows["letter"].replace(NO_ANSWER, "none"),
        categories=[x for x in letters if x in set(rows["letter"].replace(NO_ANSWER, "none"))],
        ordered=True,
    )
    attributes = [a for a in benchmark.attributes.values() if a.name in set(rows["attribute"])]
    headings = {a.name: _heading(a) for a in attributes}
    rows["heading"] = pd.Categorical(
        rows["attribute"].map(headings), categories=list(headings.values()), ordered=True
    )
    places = {a.name: {group: str(i) for i, group in enumerate(a.groups)} for a in attributes}
    most = max(len(groups) for groups in places.values())
    rows["place"] = pd.Categorical(
        [places[a][g] for a, g in zip(rows["attribute"], rows["group"], strict=True)],
        categories=[str(i) for i in range(most)],
        ordered=True,
    )
    rows["set"] = answer_sets(rows).rename_categories(lambda name: name.replace(", ", "\n"))
    for column in ("share", "key_share"):
        rows[column] = 100 * rows[column]
    keys = [str(i) for i in range(most)]
    side_by_side = position_dodge(width=0.8)
    return (
        ggplot(rows, aes(x="letter", group="place"))
        + geom_col(aes(y="key_share", fill="place"), position=side_by_side, width=0.8)
        + geom_point(
            aes(y="share", color="place", shape="place"),
            position=side_by_side,
            size=2.1,
            na_rm=True,
        )
        + facet_grid("set ~ heading")
        + scale_fill_manual(dict.fromkeys(keys, NEUTRAL_LIGHT), guide=None)
        + scale_color_manual({k: _COLOURS[int(k) % len(_COLOURS)] for k in keys}, guide=None)
        + scale_shape_manual({k: _SHAPES[int(k) % len(_SHAPES)][0] for k in keys}, guide=None)
        + scale_y_continuous(expand=(0.02, 0, 0.06, 0))
        + labs(x="", y="answers and keys (bars), %")
        + plot_theme()
        + theme(
            strip_text_x=element_text(color=INK, size=8.5, ha="left", ma="left", va="top"),
            panel_grid_major_x=element_blank(),
            panel_grid_major_y=element_line(color=RULE, size=0.4),
        )
    )


def flip_table(
    rows: pd.DataFrame,
    release: Release,
    *,
    name: str,
    limit: int = FLIPS_SHOWN,
    headed: bool = True,
) -> GT:
    """The items whose answers flip for most pairs of groups, with the letters and the key.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `fairstats.counts.flips.flips_of`, of one benchmark; each unit is a group of rows, in
        the order in which they come.
    release : Release
        Names the benchmarks' attributes.
    name : str
        The table's id, its own on the page.
    limit : int
        How many items of a unit are listed; the heading says how many there are.
    headed : bool
        Whether each unit has a heading.

    Notes
    -----
    A cell has the letters of the group named first and of the other, the key's in bold; an empty
    one has the same letter twice, or an answer is missing.
    """
    from great_tables import html

    pairs = _pairs(rows, release)
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
                table.append({"set": heading, **_flip_row(label, found, pairs)})
    columns = {f"pair-{place}": pair for place, pair in enumerate(pairs)}
    labels: dict[str, str | BaseText] = {"key": html("Key")}
    for column, (attribute, pair) in columns.items():
        sides = f"<small>{escape_html(_sides(attribute, pair))}</small>"
        labels[column] = html(f"{escape_html(attribute.label)}<br>{sides}")
    group = "set" if headed else None
    return written_table(
        table, labels, name=name, stub="item", heading="Item", group=group, html=["item", *labels]
    )


def _heading(attribute: Attribute) -> str:
    marks = [_SHAPES[place % len(_SHAPES)][1] for place in range(len(attribute.groups))]
    groups = [
        f"{mark} {label}" for mark, label in zip(marks, attribute.groups.values(), strict=True)
    ]
    return "\n".join([attribute.label, *groups])


def _pairs(rows: pd.DataFrame, release: Release) -> list[tuple[Attribute, tuple[str, str]]]:
    """The declared pairs of the benchmark of these rows."""
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
