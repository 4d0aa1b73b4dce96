"""Which models of a board differ: every two of them in a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import escape_html
from fairstats.release.contents import Board, Release
from fairstats.report.tables import breakable, written_table

if TYPE_CHECKING:
    from great_tables import GT
    from great_tables._text import BaseText

_DIFFER, _SAME = "≠", "n.s."


def difference_matrix(board: Board, *, name: str) -> GT:
    """Draw the matrix: one row and one column per ranked model, the best first.

    Parameters
    ----------
    board : Board
        With at least two ranked models.
    name : str
        The table's id, unique on the page.
    """
    from great_tables import html

    models = list(board.ranked["model"])
    found = board.differences.set_index(["model_b", "model_a"])
    rows = []
    for number, model in enumerate(models, start=1):
        cells = {"model": f"{number}\u00a0{escape_html(breakable(model))}"}
        for other, better in enumerate(models[:-1], start=1):
            known = other < number
            cells[f"c{other}"] = _cell(found.loc[(model, better)]) if known else ""
        rows.append(cells)
    numbers = [f"c{number}" for number in range(1, len(models))]
    labels: dict[str, str | BaseText] = {c: html(f"<b>{c.removeprefix('c')}</b>") for c in numbers}
    return written_table(
        rows,
        labels,
        name=name,
        stub="model",
        heading=html("<b>Model</b>"),
        html=["model", *numbers],
    ).cols_align("center", columns=numbers)


def matrix_caption(release: Release) -> str:
    """Explain the marks of the matrix."""
    return (
        f"{_DIFFER}: the two models differ in their mean absolute difference over the attributes "
        f"(adjusted p at most {release.alpha:g}). {_SAME}: not significant. The numbers in the "
        "cells are adjusted p-values. Columns are numbered like the rows."
    )


def _cell(row: pd.Series) -> str:
    mark = f"<strong>{_DIFFER}</strong>" if row["differ"] else _SAME
    p = float(row["p_adjusted"])
    text = "&lt;\u202f0.001" if p < 0.001 else "1" if p == 1 else f"{p:.3f}"
    return f"{mark}<br><small>{text}</small>"
