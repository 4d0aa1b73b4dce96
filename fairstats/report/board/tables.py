"""The tables below a board's chart: all attributes in one, and one per attribute."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd
from markupsafe import Markup, escape

from fairstats._lib.formatting import capital, decimal, percent
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.release.contents import Board, Release
from fairstats.report.board.charts import (
    PUBLISHED,
    SIGNED_MEAN,
    accuracy_head,
    marks_of,
    original_accuracy,
)
from fairstats.report.board.figures import BoardFigures, Panel
from fairstats.report.figures import figure_of, p_cell
from fairstats.report.page_output import output_format
from fairstats.report.tables import MARKS, breakable, written_table
from fairstats.report.templates import filled, page_root
from fairstats.report.words import difference_name, named_test, noun

if TYPE_CHECKING:
    from great_tables import GT


def overview_table(figures: BoardFigures, *, name: str) -> GT:
    """Show one row per model: its rate, AD and CFR by pair, the extreme p and h, missing answers.

    Choices have AD, the largest p and h. Other answers have the signed difference, and the smallest
    p: most of their pairs are not expected to differ.

    Parameters
    ----------
    figures : BoardFigures
        The board's figures.
    name : str
        The table's id, unique on the page.
    """
    from great_tables import html

    panels = figures.overview if figures.many or not figures.pairs else figures.pairs
    panels = [panel for panel in panels if not panel.members]
    kind = figures.board.benchmark.kind
    choice = kind == CHOICE
    # The extremes are over the pairs, even if there is no column for each.
    compared = figures.pairs or panels
    columns = {
        "ad" if choice else kind.difference: [f"ad{n}" for n in range(len(panels))],
        "cfr": [f"cfr{n}" for n in range(len(panels))],
    }
    rows = []
    for model in figures.board.ordered:
        cells = {
            "model": _model_cell(figures, model),
            "rank": figures.rank(model),
            "accuracy": _accuracy(figures, model),
            "missing": _missing(figures, model),
        }
        for metric, names in columns.items():
            for column, panel in zip(names, panels, strict=True):
                cells[column] = _figure(kind, figures.row(model, metric, panel))
        if choice:
            every = [figures.row(model, "cohens_h", panel) for panel in compared]
            cells["h"] = _span([abs(row["estimate"]) for row in every if row is not None])
        p_values = _p_values(figures, model, compared)
        cells["p"] = p_cell((max if choice else min)(p_values, default=math.nan))
        rows.append(cells)
    for model, values in figures.published():
        cells = dict.fromkeys(("rank", "accuracy", "h", "p", "missing"), "–")
        cells["model"] = filled(
            "model_cell", label=breakable(model), marks=f" {PUBLISHED}", href="", note=""
        )
        for metric, names in columns.items():
            for column, panel in zip(names, panels, strict=True):
                value = values.get((panel.attribute, metric))
                cells[column] = "–" if value is None else f"{100 * value:.1f}"
        rows.append(cells)
    labels = {"rank": "Rank", "accuracy": accuracy_head(figures)}
    for metric, names in columns.items():
        heads = _labels(panels)
        if metric == kind.difference and panels[:1] == [figures.pooled]:
            heads[0] = SIGNED_MEAN
        labels |= dict(zip(names, heads, strict=True))
    labels |= {"h": "Cohen’s |h|"} if choice else {}
    labels["p"] = f"{capital(named_test(kind))} p, {'largest' if choice else 'smallest'}"
    labels["missing"] = "Missing"
    ad, cfr = columns.values()
    table = written_table(
        rows,
        labels,
        name=name,
        stub="model",
        heading="Model",
        html=["model", "accuracy", *ad, *cfr],
        right=list(labels),
    )
    sizes = {"label": "AD ↓", "note": "accuracy disparity, points"}
    if not choice:
        sizes = {"label": capital(noun(kind)), "note": f"{difference_name(kind)}, {kind.unit}"}
    same = {"label": "CFR ↑", "note": "same answer, %"}
    for spanner, own in ((sizes, ad), (same, cfr)):
        table = table.tab_spanner(label=html(filled("spanner", **spanner)), columns=own)
    return table


def attribute_table(figures: BoardFigures, number: int, *, name: str) -> GT:
    """Make a table of one attribute's models and pairs, with every figure behind the verdict.

    Parameters
    ----------
    figures : BoardFigures
        The board's figures.
    number : int
        The position of the attribute.
    name : str
        The table's id, unique on the page.
    """
    panels, rows = figures.of(number), []
    for model in figures.board.ordered:
        for panel in panels:
            note = panel.note if len(panels) > 1 else ""
            row = {"model": _model_cell(figures, model, note=note)}
            rows.append(row | pair_cells(figures, model, panel))
    kind = figures.board.benchmark.kind
    of, unit = capital(kind.figure), "" if kind.numeric else " %"
    first, second = (
        (f"{of}, {label}{unit}" for label in _group_labels(figures, panels[0]))
        if len(panels) == 1
        else (f"{of}, first group{unit}", f"{of}, second group{unit}")
    )
    labels = {
        "gap": f"{capital(noun(kind))}, {kind.unit}",
        "verdict": "Verdict",
        "a": first,
        "b": second,
        "ratio": "Ratio",
        "cfr": "CFR, %",
        "eo": "EO, points",
        "h": "Cohen’s h",
        "discordant": "n10 : n01",
        "p": f"{capital(named_test(kind))} p, adjusted",
    }
    known = [key for key in labels if any(key in row for row in rows)]
    return written_table(
        rows,
        {key: labels[key] for key in known},
        name=name,
        stub="model",
        heading="Model",
        html=["model", *known],
        right=[key for key in known if key != "verdict"],
    )


def pair_cells(figures: BoardFigures, model: str, panel: Panel) -> dict[str, str]:
    """Return a model and pair's cells by column, see `attribute_table`, and AD without its sign."""
    kind = figures.board.benchmark.kind
    metrics = (kind.rate_a, kind.rate_b, "ad", "cfr", "eo", "selection_ratio")
    found = {m: figures.row(model, m, panel) for m in metrics}
    names = ("a", "b", "ad", "cfr", "eo", "ratio")
    cells = {
        name: _figure(kind, row)
        for name, row in zip(names, found.values(), strict=True)
        if row is not None or name in ("a", "b", "cfr")
    }
    gap, h = (figures.row(model, m, panel) for m in (kind.difference, "cohens_h"))
    if gap is not None:
        cells["gap"] = _figure(kind, gap)
        counts = [gap["n10"], gap["n01"]]
        cells["discordant"] = "" if any(map(pd.isna, counts)) else " : ".join(map(str, counts))
        cells["verdict"] = _verdict(gap)
    if h is not None:
        cells["h"] = decimal(h["estimate"], 2)
    cells["p"] = escape(p_cell(max(_p_values(figures, model, [panel]), default=math.nan)))
    return cells


def _verdict(gap: pd.Series) -> str:
    """Return the verdict with its mark, or the reason why it is missing."""
    reason = gap["verdict_reason"]
    if not isinstance(gap["verdict"], str):
        return "not judged"
    verdict = str(gap["verdict"])
    known = isinstance(reason, str) and gap["ci_method"] != "bounds"
    return filled("verdict", verdict=verdict, mark=MARKS[verdict], reason=reason if known else "")


def _model_cell(figures: BoardFigures, model: str, *, note: str = "") -> str:
    """Return a model's name with its marks, and a link to its page."""
    address = f"{page_root()}reports/models/{figures.release.slugs[model]}.html"
    href = address if output_format() == "html" else ""
    marks = marks_of(figures, model)
    return filled("model_cell", label=breakable(model), marks=marks, href=href, note=note)


def _accuracy(figures: BoardFigures, model: str) -> str:
    """Return the figure for neutral text with its limits, or the range over groups, as HTML."""
    kind, neutral = figures.board.benchmark.kind, figures.neutral
    row = None if neutral is None else figures.row(model, kind.rate_a, neutral)
    return original_accuracy(figures, model) if row is None else _figure(kind, row)


def _figure(kind: Kind, row: pd.Series | None) -> str:
    """Return a figure and its limits as HTML: on one line on a screen, on two on paper."""
    if row is None:
        return "–"
    return figure_of(kind, row).cell(broken=output_format() != "html")


def _p_values(figures: BoardFigures, model: str, panels: list[Panel]) -> list[float]:
    # Such a model's answers selected the items, so its p-value would be meaningless.
    if model in figures.board.benchmark.selected_on:
        return []
    test = figures.board.benchmark.kind.test
    rows = [figures.row(model, test, panel) for panel in panels]
    return [row["p_adjusted"] for row in rows if row is not None and pd.notna(row["p_adjusted"])]


def _span(values: list[float]) -> str:
    known = [value for value in values if pd.notna(value)]
    if not known:
        return "–"
    low, high = decimal(min(known), 2), decimal(max(known), 2)
    return low if low == high else f"{low}–{high}"


def _labels(panels: list[Panel]) -> list[str]:
    """Return the panels' headings, with the pair if an attribute has several."""
    several = {p.label for p in panels if [q.label for q in panels].count(p.label) > 1}
    return [f"{p.label}: {p.note}" if p.label in several else p.label for p in panels]


def _group_labels(figures: BoardFigures, panel: Panel) -> list[str]:
    groups = figures.board.benchmark.attribute(panel.attribute).groups
    return [groups[group] for group in panel.pair]


def _missing(figures: BoardFigures, model: str) -> str:
    missing, whole = figures.missing(model)
    return percent(missing / whole) if whole else "–"


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
    rows = [
        {"model": f"{number}\u00a0{breakable(model)}"}
        | {
            f"c{other}": _cell(found.loc[(model, better)])
            for other, better in enumerate(models[: number - 1], start=1)
        }
        for number, model in enumerate(models, start=1)
    ]
    numbers = [f"c{number}" for number in range(1, len(models))]
    bold = Markup("<b>{}</b>")
    table = written_table(
        rows,
        {column: html(bold.format(column.removeprefix("c"))) for column in numbers},
        name=name,
        stub="model",
        heading=html(bold.format("Model")),
        html=numbers,
    )
    return table.cols_align("center", columns=numbers)


def matrix_caption(release: Release) -> str:
    """Explain the marks of the matrix."""
    return (
        f"{_DIFFER}: the two models differ in their mean absolute difference over the attributes "
        f"(adjusted p at most {release.alpha:g}). {_SAME}: not significant. The numbers in the "
        "cells are adjusted p-values. Columns are numbered like the rows."
    )


def _cell(row: pd.Series) -> str:
    differ = bool(row["differ"])
    p = p_cell(float(row["p_adjusted"])).replace("\u00a0", "\u202f")
    return filled("difference", differ=differ, mark=_DIFFER if differ else _SAME, p=p)
