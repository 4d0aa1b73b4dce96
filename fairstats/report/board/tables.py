"""The tables of a board, and the choices of models that they can show."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

import pandas as pd
from great_tables import GT, html
from markupsafe import Markup

from fairstats._lib.formatting import capital, decimal, percent, quoted
from fairstats.benchmarks.declaration import POOLED
from fairstats.benchmarks.kinds import CHOICE
from fairstats.comparisons.successors import FACTS
from fairstats.counts.patterns import pooled_attributes
from fairstats.release.contents import Board, Release
from fairstats.report.answer_sets import AnswerSet
from fairstats.report.board.charts import (
    PUBLISHED,
    SIGNED_MEAN,
    accuracy_head,
    marks_of,
    original_accuracy,
)
from fairstats.report.board.figures import BoardFigures, Panel, is_long
from fairstats.report.page_output import filled, output_format, page_root
from fairstats.report.pairs_table import EVERY, named_pairs
from fairstats.report.tables import as_label, breakable, share, written_table
from fairstats.report.words import NONE, Figure, difference_name, named_test, noun, p_cell


def overview_table(figures: BoardFigures, *, name: str) -> GT:
    """Show one row per model: its rate, AD and CFR by pair, the extreme p and h, missing answers.

    Choices have AD and h; for too many pairs to be columns, the mean AD by which models rank. Other
    answers have the signed difference. The p is the smallest of all pairs, but the largest if the
    text is slanted: then every pair is expected to differ.
    """
    panels = figures.overview if figures.many or not figures.panels else figures.panels
    panels = [panel for panel in panels if not panel.shared]
    kind = figures.board.benchmark.kind
    choice, slanted = kind == CHOICE, figures.board.benchmark.slanted
    gap = {"label": "AD ↓", "note": "accuracy disparity, points"}
    if not choice:
        gap = {"label": capital(noun(kind)), "note": f"{difference_name(kind)}, {kind.unit}"}
    heads = {
        "ad" if choice else kind.difference: gap,
        "cfr": {"label": "CFR ↑", "note": "same answer, %"},
    }
    columns = {metric: [f"{metric}{n}" for n in range(len(panels))] for metric in heads}

    def by_panel(cell: Callable[[Panel, str], str]) -> dict[str, str]:
        return {
            column: cell(panel, metric)
            for metric, own in columns.items()
            for column, panel in zip(own, panels, strict=True)
        }

    rows = []
    for own in figures.rows:
        cells = {
            "model": _model_cell(figures, own.model),
            "rank": figures.rank(own.model),
            "accuracy": _cell(own.original) if own.original else original_accuracy(own),
            "h": _span([abs(pair.value("cohens_h")) for pair in own.pairs]),
            "p": p_cell((max if slanted else min)(own.p_values, default=math.nan)),
            "missing": _missing(own),
        }
        rows.append(cells | by_panel(partial(_of_panel, own)))
    for model, values in figures.published():
        cells = dict.fromkeys(("rank", "accuracy", "h", "p", "missing"), NONE)
        cells["model"] = filled(
            "model_cell", label=breakable(model), marks=f" {PUBLISHED}", href="", note=""
        )
        rows.append(cells | by_panel(partial(_as_published, values)))
    labels = {"rank": "Rank", "accuracy": accuracy_head(figures)}
    for own_columns in columns.values():
        labels |= dict(zip(own_columns, _labels(panels), strict=True))
    if panels[:1] == [figures.pooled]:
        labels[next(iter(columns.values()))[0]] = "Mean size" if choice else SIGNED_MEAN
    labels |= {"h": "Cohen’s |h|"} if choice else {}
    labels["p"] = f"{capital(named_test(kind))} p, {'largest' if slanted else 'smallest'}"
    labels["missing"] = "Missing"
    table = written_table(
        rows, labels, name=name, stub="model", heading="Model", right=list(labels)
    )
    for metric, head in heads.items():
        label = as_label(html(filled("spanner", **head)))
        table = table.tab_spanner(label=label, columns=columns[metric])
    return table


def _missing(own: AnswerSet) -> str:
    """Return the share of missing answers, and that of refusals."""
    missing, whole = own.missing
    if not whole:
        return NONE
    refused = f" ({percent(own.refused / whole)} refused)" if own.refused else ""
    return percent(missing / whole) + refused


def _of_panel(own: AnswerSet, panel: Panel, metric: str) -> str:
    if metric == "ad" and panel.attribute == POOLED:
        return _mean_size(own)
    found = panel.of(own, metric)
    return _cell(found[0].figure(metric)) if found else NONE


def _mean_size(own: AnswerSet) -> str:
    """Return the mean AD of the pairs by which models rank; their signs do not cancel out."""
    ranking = pooled_attributes(own.benchmark)
    sizes = [pair.value("ad") for pair in own.pairs if pair.attribute in ranking]
    mean = pd.Series(sizes, dtype=float).mean()
    return NONE if pd.isna(mean) else share(mean)


def _as_published(values: dict[tuple[str, str], float], panel: Panel, metric: str) -> str:
    value = values.get((panel.attribute, metric))
    return NONE if value is None else share(value)


def attribute_table(figures: BoardFigures, number: int, *, name: str) -> GT:
    """Make a table of one attribute's models and pairs, with every figure behind the verdict."""
    attribute = figures.attributes[number]
    several = len(attribute.pairs) > 1
    first, second = attribute.pairs[0]
    sides = (attribute.groups[first], attribute.groups[second])
    cases = [
        ({"model": _model_cell(figures, own.model, note=pair.note if several else "")}, pair)
        for own in figures.sets
        for pair in own.pairs
        if pair.attribute == attribute.name
    ]
    return named_pairs(
        cases,
        figures.sets[0],
        EVERY,
        sides=("first group", "second group") if several else sides,
        narrow=True,
        most=sum(pair.attribute == attribute.name for own in figures.rows for pair in own.pairs),
        name=name,
        stub="model",
        heading="Model",
    )


def _model_cell(figures: BoardFigures, model: str, *, note: str = "") -> str:
    """Return a model's name with its marks, and a link to its page."""
    address = f"{page_root()}reports/models/{figures.release.slugs[model]}.html"
    href = address if output_format() == "html" else ""
    marks = marks_of(figures, model)
    return filled("model_cell", label=breakable(model), marks=marks, href=href, note=note)


def _cell(figure: Figure) -> str:
    """Return a figure and its limits: on one line on a screen, on two on paper."""
    return figure.cell(broken=output_format() != "html")


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


_DIFFER, _SAME = "≠", "n.s."


def difference_matrix(board: Board, *, name: str) -> GT:
    """Draw the matrix: one row and one column per ranked model, the best first."""
    models = list(board.ranked["model"])
    found = board.differences.set_index(["model_b", "model_a"])
    rows = [
        {"model": f"{number}\u00a0{breakable(quoted(model))}"}
        | {
            f"c{other}": _difference(found.loc[(model, better)])
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


def _difference(row: pd.Series) -> str:
    differ = bool(row["differ"])
    p = p_cell(float(row["p_adjusted"])).replace("\u00a0", "\u202f")
    return filled("difference", differ=differ, mark=_DIFFER if differ else _SAME, p=p)


#: The largest shares of missing answers to choose from.
_SHARES = (0.0, 0.01, 0.05, 0.2)
_UNITS = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


#: A choice of models: what is chosen by, as plain text, and the models of each option, as the names
#: of their pages, separated by spaces. Before a name, the number of a board and a slash limit the
#: choice to that board.
Filter = tuple[str, dict[str, str]]


def model_filters(boards: Sequence[BoardFigures], release: Release) -> dict[str, Filter]:
    """Return the choices among the models of a benchmark's boards, by their key.

    They are the declared facts in which models differ and, for long boards, the share of missing
    answers if models differ in it.
    """
    models = sorted({own.model for figures in boards for own in figures.sets})
    found: dict[str, Filter] = {}
    for fact, label in FACTS.items():
        groups = defaultdict(list)
        for model in models:
            groups[shown_fact(release.model_facts.get(model, {}), fact)].append(model)
        if len(groups) > 1:
            options = {
                text or "not declared": " ".join(release.slugs[model] for model in groups[text])
                for text in sorted(groups, key=_place)
            }
            found[fact] = (label, options)
    if any(is_long(figures.board) for figures in boards):
        options = _by_missing(boards, release)
        if options:
            found["missing"] = ("Missing answers", options)
    return found


def shown_fact(facts: dict[str, str | bool], fact: str) -> str:
    """Return what was declared about a model, as plain text; empty if nothing was.

    Examples
    --------
    >>> shown_fact({"size": "70B", "open": True}, "open")
    'open'
    """
    value = facts.get(fact, "")
    return value if isinstance(value, str) else ("closed", "open")[value]


def _place(text: str) -> tuple[bool, float, str]:
    """Return the place of an option: numbers such as 70B by size, the empty text last."""
    number = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?([KMBT]?)", text)
    size = float(number[1]) * _UNITS.get(number[2], 1) if number else 0.0
    return not text, size, text.casefold()


def _by_missing(boards: Sequence[BoardFigures], release: Release) -> dict[str, str]:
    """Return the models with at most each share of missing answers, if some have more."""
    shares = {}
    for number, figures in enumerate(boards):
        for own in figures.sets:
            missing, whole = own.missing
            shares[f"b{number}/{release.slugs[own.model]}"] = missing / whole if whole else 0.0
    options: dict[str, str] = {}
    for most in _SHARES:
        models = [name for name, share in shares.items() if share <= most]
        text = " ".join(models)
        if 0 < len(models) < len(shares) and text not in options.values():
            options["none" if most == 0 else f"at most {most:.0%}"] = text
    return options
