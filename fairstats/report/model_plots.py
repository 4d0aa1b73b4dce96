"""The plots of one model, as its page and its audit report show them."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.safe_names import slug
from fairstats.benchmarks.declaration import Benchmark
from fairstats.report.flips_section import letter_plot
from fairstats.report.margin_strip import margin_strip
from fairstats.report.page_output import show_plot
from fairstats.report.plots import DRAWN, OUTCOMES, PLOT_WIDTH, forest, outcome_bars

_SETS = ["benchmark_version", "strategy"]
_PAIR = ["attribute", "group_a", "group_b"]


def show_forest(rows: pd.DataFrame, benchmark: Benchmark, *, tallest: float = 99) -> None:
    """The accuracy differences of one model's estimates on one benchmark, with intervals."""
    show_plot(
        forest,
        rows.loc[rows["metric"] == "accuracy_difference", DRAWN],
        benchmark,
        name=f"forest-{slug(benchmark.name)}",
        alt="Accuracy differences with intervals; the figures are in the tables.",
        width=PLOT_WIDTH,
        height=min(_height(rows), tallest),
    )


def show_outcomes(rows: pd.DataFrame, benchmark: Benchmark, *, tallest: float = 99) -> None:
    """The four paired outcomes of one model's estimates; nothing where none is known."""
    known = rows.loc[rows["metric"].isin(list(OUTCOMES)), DRAWN].dropna(subset="estimate")
    if known.empty:
        return
    show_plot(
        outcome_bars,
        known,
        benchmark,
        name=f"outcomes-{slug(benchmark.name)}",
        alt="Shares of the four paired outcomes; the figures are in the estimates.",
        width=PLOT_WIDTH,
        height=min(_height(rows) + 0.6, tallest),
    )


def show_margins(rows: pd.DataFrame, benchmark: Benchmark, *, tallest: float = 99) -> None:
    """The verdict on each pair by margin, from one model's rows of sensitivity."""
    show_plot(
        margin_strip,
        rows,
        benchmark,
        name=f"margins-{slug(benchmark.name)}",
        alt="The verdict on each pair by margin; the figures are in the table of sensitivity.",
        width=PLOT_WIDTH,
        height=min(0.9 + 1.35 * rows.groupby(_SETS).ngroups, tallest),
    )


def show_letters(rows: pd.DataFrame, benchmark: Benchmark, *, tallest: float = 99) -> None:
    """How often one model gave each letter, and how often it is the key."""
    show_plot(
        letter_plot,
        rows,
        benchmark,
        name=f"letters-{slug(benchmark.name)}",
        alt="How often each letter is the answer, by group, and the key; see the letters' table.",
        width=7,
        height=min(max(2.4, 1 + 1.2 * rows.groupby(_SETS).ngroups), tallest),
    )


def _height(rows: pd.DataFrame) -> float:
    """Inches for a row a pair and a panel an answer set."""
    return 0.6 + rows.groupby(_SETS).ngroups * (0.35 + 0.24 * rows.groupby(_PAIR).ngroups)
