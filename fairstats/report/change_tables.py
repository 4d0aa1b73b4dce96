"""Tables of what changed between two versions of a model, or two strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import escape_html, p_value, point_range, points
from fairstats.comparisons.change_verdicts import LOSE_LOSE, UNCLEAR, WIN_WIN
from fairstats.release.contents import Release
from fairstats.report.tables import cell_label, written_table

if TYPE_CHECKING:
    from great_tables import GT
    from great_tables._text import BaseText

METRICS = {
    "delta_accuracy": ("Δ accuracy ↑", 1),
    "delta_cfr": ("Δ CFR ↑", 1),
    "delta_ad": ("Δ AD ↓", -1),
}
_MARKS = {WIN_WIN: "▲", LOSE_LOSE: "▼", UNCLEAR: "○"}
PAIR = ["attribute", "group_a", "group_b"]
_SETS = ["benchmark", "benchmark_version", "model_old", "model_new", "strategy"]


def change_table(rows: pd.DataFrame, release: Release, *, name: str) -> GT:
    """One row a pair of groups, a column a figure; the comparisons as groups of rows.

    Parameters
    ----------
    rows : pandas.DataFrame
        Comparisons of one kind, from `fairstats.comparisons.declared.comparisons_of`.
    release : Release
        Names the benchmarks' attributes.
    name : str
        The table's id, its own on the page.
    """
    from great_tables import html

    table = []
    for keys, own in rows.groupby(_SETS, sort=False):
        for pair, figures in own.groupby(PAIR, sort=False):
            table.append(_row(keys, pair, figures.set_index("metric"), release))
    labels: dict[str, str | BaseText] = {
        metric: html(f"{label}<br><small>points</small>") for metric, (label, _) in METRICS.items()
    }
    return written_table(
        table,
        labels | {"verdict": "Verdict"},
        name=name,
        stub="pair",
        heading="Pair",
        group="comparison",
        html=["pair", *METRICS, "verdict"],
    )


def _row(
    keys: tuple[str, ...], pair: tuple[str, ...], figures: pd.DataFrame, release: Release
) -> dict[str, str]:
    benchmark = release.benchmarks[str(keys[0])]
    attribute = benchmark.attribute(str(pair[0]))
    cells = {
        metric: cell_label(label) + _cell(figures.loc[metric], sign, release.alpha)
        for metric, (label, sign) in METRICS.items()
    }
    first = figures.iloc[0]
    note, verdict = first["method_note"], first["verdict"]
    shown = "not judged"
    if isinstance(verdict, str):
        css = verdict.replace(" ", "-")
        mark = f'<span aria-hidden="true">{_MARKS[verdict]}</span>'
        shown = f'<span class="{css}">{mark} {verdict}</span>'
        shown += f"<br><small>adjusted {escape_html(p_value(first['p_pair_adjusted']))}</small>"
        if isinstance(first["verdict_reason"], str):
            shown += f"<br><small>{escape_html(first['verdict_reason'])}</small>"
    return {
        "comparison": _comparison(keys, benchmark.title, note),
        "pair": escape_html(f"{attribute.label}: {attribute.pair_label((pair[1], pair[2]))}"),
        **cells,
        "verdict": shown,
    }


def _comparison(keys: tuple[str, ...], title: str, note: str) -> str:
    """What is compared, in words, and whether it is like for like."""
    _, version, old, new, strategy = map(str, keys)
    models = f"{old} → {new}" if old != new else old
    text = f"{models} ({title}, {version}, {strategy})"
    return f"{text}. Not like for like: {note}" if note else text


def _cell(row: pd.Series, sign: int, alpha: float) -> str:
    """A figure with its interval, and in words what its test shows."""
    estimate = "range" if pd.isna(row["estimate"]) else points(row["estimate"])
    cell = (
        f"<strong>{estimate}</strong> <small>{point_range(row['ci_low'], row['ci_high'])}</small>"
    )
    if pd.isna(row["p_value"]):
        return cell
    p = escape_html(p_value(row["p_adjusted"]))
    if row["p_adjusted"] > alpha:
        return f"{cell}<br><small>no significant change, {p}</small>"
    word = "better" if sign * row["estimate"] > 0 else "worse"
    css = "equivalent" if word == "better" else "shown"
    mark = f'<span class="verdict {css}">{word}</span>'
    return f"{cell}<br><small>{mark}, {p}</small>"
