"""The board: a row a model, a column an attribute, in each cell figures, whisker and verdict."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import (
    escape_html,
    level,
    p_value,
    percent,
    percent_range,
    point_range,
    points,
)
from fairstats._lib.safe_names import slug
from fairstats.benchmarks.declaration import Attribute
from fairstats.benchmarks.terms import BASELINE, PLAIN
from fairstats.estimates.table import PRIMARY_TEST
from fairstats.release.contents import Board, Release, output_format
from fairstats.report.page_output import in_page_colours, page_root, save_asset
from fairstats.report.plots import axis, reach_of, whisker
from fairstats.report.tables import MARKS, breakable, cell_label

if TYPE_CHECKING:
    from great_tables import GT
    from great_tables._text import BaseText

# Percent of the board's width that the columns beside the attributes take.
_WIDTHS = {"model": 17, "rank": 9, "accuracy": 11, "missing": 9}

#: The printed table whose rows a board shows where their answers were never released.
PRINTED_BOARD = "fairmedqa-3"


def leaderboard(board: Board, release: Release, *, name: str) -> GT:
    """The board: a row a model, a column an attribute.

    Parameters
    ----------
    board : Board
        What is compared.
    release : Release
        Gives the addresses of the models' pages.
    name : str
        The table's id, its own on the page.
    """
    from great_tables import GT, html

    attributes = [a for a in board.benchmark.varied if _has(board, a.name)]
    rows = []
    for model in board.ordered:
        row = {
            "rank": _rank_cell(board, model),
            "model": _model_cell(board, release, model),
            "accuracy": _accuracy_cell(board, model),
        }
        row |= {_column(a): _attribute_cell(board, model, a.name, name) for a in attributes}
        row["missing"] = _missing_cell(board, release, model)
        rows.append(row)
    rows += [_printed_row(board, own, attributes) for own in _printed_only(board, release)]
    names = [_column(a) for a in attributes]
    accuracy = "original" if _has(board, BASELINE) else "lowest–highest group"
    labels: dict[str, str | BaseText] = {
        "rank": html(f"<b>Rank</b><br><small>{level(release.alpha)} confidence</small>"),
        "accuracy": html(f"<b>Accuracy\u00a0↑</b><br><small>{accuracy}, %</small>"),
        "missing": html("<b>Missing\u00a0↓</b><br><small>of all variants</small>"),
    }
    scale = axis(margin=board.benchmark.equivalence_margin, reach=_reach(board))
    for a in attributes:
        pairs = _pairs_label(a) if len(a.pairs) == 1 else f"{len(a.pairs)} pairs"
        below = f"<small>{escape_html(pairs)}, points</small>"
        label = f"<b>{escape_html(a.label)}\u00a0→\u202f0</b><br>{below}"
        if output_format() == "html":
            label += f"<br>{in_page_colours(scale)}"
        labels[_column(a)] = html(label)
    width = (100 - sum(_WIDTHS.values())) // max(len(attributes), 1)
    return (
        GT(pd.DataFrame(rows), rowname_col="model", id=name)
        .tab_stubhead(html("<b>Model</b><br><small>snapshot</small>"))
        .cols_label(cases=labels)
        # The cells are HTML, and every name in them is escaped where it is put in.
        .fmt_passthrough(columns=["model", *_WIDTHS.keys() - {"model"}, *names], escape=False)
        .cols_align("left")
        .cols_width(
            cases={c: f"{w}%" for c, w in _WIDTHS.items()} | dict.fromkeys(names, f"{width}%")
        )
    )


def _printed_only(board: Board, release: Release) -> list[pd.DataFrame]:
    """Printed figures of models whose answers nobody released, of the items of this board."""
    cells = release.table("replication")
    own = cells[
        (cells["published"] == PRINTED_BOARD)
        & (cells["benchmark"] == board.benchmark.name)
        & (cells["benchmark_version"] == board.version)
        & ~cells["released"].astype(bool)
        & ~cells["model"].isin(board.models)
    ]
    if board.strategy != PLAIN:
        return []
    return [rows for _, rows in own.groupby("model", sort=False)]


def _printed_row(board: Board, cells: pd.DataFrame, attributes: list[Attribute]) -> dict[str, str]:
    """A row of figures as they were printed: without sign, interval or verdict."""
    name = escape_html(breakable(str(cells["model"].iloc[0])))
    row = {
        "rank": "–",
        "model": f"<strong>{name}</strong><br><small>◇ as printed: no answers released</small>",
        "accuracy": "not known",
        "missing": f"{cell_label('Missing')}not known",
    }
    for attribute in attributes:
        figures = cells[cells["attribute"] == attribute.name].set_index("metric")["printed_value"]
        if figures.empty:
            row[_column(attribute)] = "not printed"
            continue
        label = cell_label(_pairs_label(attribute))
        size = f"AD <strong>{100 * figures['ad']:.2f}</strong>"
        row[_column(attribute)] = (
            f'{label}<span class="figure printed">{size}</span><br>'
            f"<small>same {percent(figures['cfr'])}</small><br><small>not judged</small>"
        )
    return row


def _rank_cell(board: Board, model: str) -> str:
    """The ranks that the model can hold; a model that is compared with no other has none."""
    ranked = board.ranked.set_index("model")
    if model not in ranked.index or len(ranked) < 2:
        return "–"
    low, high = (int(ranked.loc[model, name]) for name in ("rank_low", "rank_high"))
    places = f"{low}" if low == high else f"{low}–{high}"
    return f'{cell_label("Rank")}<span class="rank">{places}</span>'


def _model_cell(board: Board, release: Release, model: str) -> str:
    snapshot = board.estimates.loc[board.estimates["model"] == model, "snapshot"].iloc[0]
    name = escape_html(breakable(model))
    if output_format() == "html":
        name = f'<a href="{page_root()}reports/models/{release.slugs[model]}.html">{name}</a>'
    cell = f"<strong>{name}</strong>"
    if isinstance(snapshot, str):
        cell += f"<br><small>{escape_html(breakable(snapshot))}</small>"
    if reason := board.why_unranked.get(model):
        mark = "◆ " if model in board.benchmark.selected_on else ""
        cell += f"<br><small>{mark}not ranked: {escape_html(reason)}</small>"
    elif model in board.benchmark.selected_on:
        cell += "<br><small>◆ took part in selecting the items</small>"
    return cell


def _accuracy_cell(board: Board, model: str) -> str:
    if not _has(board, BASELINE):
        return _accuracy_of_groups(board, model)
    rows = board.metric("accuracy_a")
    if (model, BASELINE) not in rows.index:
        return "not known"
    row = rows.loc[(model, BASELINE)]
    if math.isnan(row["estimate"]):
        return percent_range(row["ci_low"], row["ci_high"])
    low_high = percent_range(row["ci_low"], row["ci_high"])
    figure = f"{100 * row['estimate']:.1f}<br><small>{low_high}</small>"
    return cell_label("Accuracy, original") + figure


def _accuracy_of_groups(board: Board, model: str) -> str:
    """The accuracies of the groups from the lowest to the highest, where no original was asked."""
    varied = [attribute.name for attribute in board.benchmark.varied]
    rows = pd.concat([board.metric("accuracy_a"), board.metric("accuracy_b")])
    own = rows[rows.index.isin([(model, name) for name in varied])]
    # Under bounds an accuracy is a range.
    low = own["estimate"].fillna(own["ci_low"]).min()
    high = own["estimate"].fillna(own["ci_high"]).max()
    return cell_label("Accuracy of the groups") + percent_range(low, high)


def _pair_heading(attribute: Attribute, pair: tuple[str, str]) -> str:
    """The name of a pair above its figures; on wide screens only if there are several."""
    label = attribute.pair_label(pair)
    if len(attribute.pairs) == 1:
        return cell_label(label)
    return f'<span class="pair"><small><strong>{escape_html(label)}</strong></small></span><br>'


def _attribute_cell(board: Board, model: str, attribute: str, name: str) -> str:
    """Difference, whisker, CFR and verdict for each pair of an attribute."""
    declared = board.benchmark.attributes[attribute]
    differences = board.metric("accuracy_difference")
    margin, reach = board.benchmark.equivalence_margin, _reach(board)
    parts: list[str] = []
    for pair in declared.pairs:
        key = (model, attribute)
        if key not in differences.index:
            continue
        d = _pair_row(differences, key, pair)
        c = _pair_row(board.metric("cfr"), key, pair)
        test = _pair_row(board.metric("mcnemar", test=PRIMARY_TEST), key, pair)
        if d is None or c is None or test is None:
            continue
        image = f"{name}-{len(parts)}-{slug(model)}-{slug(attribute)}"
        drawing = _drawing(
            whisker(d["estimate"], d["ci_low"], d["ci_high"], margin=margin, reach=reach), image
        )
        figure = points(d["estimate"]) if not math.isnan(d["estimate"]) else "range"
        same = percent(c["estimate"]) if not math.isnan(c["estimate"]) else ""
        parts.append(
            f"{_pair_heading(declared, pair)}"
            f'<span class="figure"><strong>{figure}</strong> '
            f"<small>{point_range(d['ci_low'], d['ci_high'])}</small></span><br>{drawing}"
            f"<small>same {same} ({percent_range(c['ci_low'], c['ci_high'])})</small><br>"
            f"<small>{_verdict(d['verdict'], test['p_adjusted'])}</small>{_reason(d)}"
        )
    return "<br>".join(parts) or "not asked"


def _reach(board: Board) -> tuple[float, float]:
    """One scale for all whiskers of a board."""
    rows = board.estimates[
        (board.estimates["metric"] == "accuracy_difference")
        & board.estimates["attribute"].isin([a.name for a in board.benchmark.varied])
    ]
    return reach_of(rows["ci_low"], rows["ci_high"], board.benchmark.equivalence_margin)


def _missing_cell(board: Board, release: Release, model: str) -> str:
    own = [entry for entry in release.answers_of(board) if entry["model"] == model]
    missing = sum(entry["missing"] for entry in own)
    whole = sum(entry["answers"] for entry in own)
    share = percent(missing / whole)
    return f"{cell_label('Missing')}{share}<br><small>{missing:,} of {whole:,}</small>"


def _verdict(verdict: object, p_adjusted: float) -> str:
    # A model that selected the items has no verdict, and its p-value is none either.
    if not isinstance(verdict, str):
        return "not judged"
    css = verdict.split()[-1]
    return (
        f'<span class="verdict {css}"><span aria-hidden="true">{MARKS[verdict]}</span> '
        f"{verdict}</span>, {escape_html(p_value(p_adjusted))}"
    )


def _reason(difference: pd.Series) -> str:
    """Why there is no verdict or it stays open although interval and test would decide."""
    reason = difference["verdict_reason"]
    if difference["ci_method"] == "bounds":
        # True of the whole board, and said below it.
        return ""
    return f"<br><small>{escape_html(reason)}</small>" if isinstance(reason, str) else ""


def _drawing(svg: str, name: str) -> str:
    if not svg:
        return ""
    if output_format() == "html":
        return f"{in_page_colours(svg)}<br>"
    return f'<img src="{save_asset(f"{name}.svg", svg)}" width="110"><br>'


def _pair_row(rows: pd.DataFrame, key: tuple[str, str], pair: tuple[str, str]) -> pd.Series | None:
    own = rows.loc[[key]]
    own = own[(own["group_a"] == pair[0]) & (own["group_b"] == pair[1])]
    return None if own.empty else own.iloc[0]


def _column(attribute: Attribute) -> str:
    # Its own kind of name: a benchmark may call an attribute "model" or "rank".
    return f"attribute-{attribute.name}"


def _has(board: Board, attribute: str) -> bool:
    return bool((board.estimates["attribute"] == attribute).any())


def _pairs_label(attribute: Attribute) -> str:
    return ", ".join(attribute.pair_label(pair) for pair in attribute.pairs)
