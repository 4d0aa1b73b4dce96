"""The tables of an audit report: changes from other versions, and tests of missing answers."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import capital, points
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.release.contents import Release
from fairstats.report.answer_sets import AnswerSet
from fairstats.report.board.tables import p_cell
from fairstats.report.changes.rows import caution, figures_of, written_as
from fairstats.report.tables import breakable, written_table
from fairstats.report.words import signed_range

if TYPE_CHECKING:
    from great_tables import GT

#: The tests of other possible problems with the answers.
DIAGNOSTICS = ("bowker", "stuart_maxwell", "missing_difference")
_NONE = "–"


def changes_table(rows: pd.DataFrame, release: Release) -> GT:
    """Show the changes from another version or prompt of the model.

    Parameters
    ----------
    rows : pandas.DataFrame
        From the release's table of comparisons.
    release : Release
        Names the benchmarks' attributes.
    """
    written = []
    kinds = {release.benchmarks[str(name)].kind for name in rows["benchmark"]}
    heads = _change_heads(kinds)
    keys = ["benchmark", "benchmark_version", "model_old", "model_new", "strategy"]
    for (name, version, old, new, strategy), own in rows.groupby(keys, sort=False):
        benchmark = release.benchmarks[str(name)]
        what = f"{old} → {new}" if old != new else str(new)
        what += f": {_prompts(str(strategy))}, {benchmark.versions.get(str(version), version)}"
        note = caution(own["method_note"].iloc[0])
        what += f". Not the same questions: {note}" if note else ""
        for pair, figures in own.groupby(["attribute", "group_a", "group_b"], sort=False):
            by_metric = figures.set_index("metric")
            verdict = by_metric["verdict"].iloc[0]
            written.append(
                {
                    "set": breakable(what),
                    "pair": breakable(
                        benchmark.pair_name(str(pair[0]), (str(pair[1]), str(pair[2])))
                    ),
                    **{
                        head: _change(by_metric.loc[m], written_as(m, benchmark.kind))
                        for head, m in zip(heads, figures_of(benchmark.kind), strict=True)
                    },
                    "p": p_cell(by_metric["p_pair_adjusted"].iloc[0]),
                    "verdict": verdict if isinstance(verdict, str) else "not judged",
                }
            )
    labels = heads | {"p": "p, adjusted", "verdict": "Verdict"}
    return written_table(written, labels, name="changes", stub="pair", heading="Pair", group="set")


_CHANGES = {
    "delta_accuracy": "Accuracy, change",
    "delta_cfr": "CFR, change",
    "delta_ad": "AD, change",
}


def _change_heads(kinds: Set[Kind]) -> dict[str, str]:
    """Return the columns of changes, with their headings."""
    if kinds == {CHOICE}:
        return _CHANGES
    (kind, *others) = kinds
    rate = "Rate or mean" if others else capital(kind.figure)
    gap = "Gap, change" if others else f"Gap, change in {kind.unit}"
    return {"rate": f"{rate}, change", "cfr": "CFR, change in points", "gap": gap}


def _prompts(strategy: str) -> str:
    return " → ".join(strategy_label(part) for part in strategy.split(" → "))


def _change(row: pd.Series, kind: Kind) -> str:
    limits = signed_range(kind, row["ci_low"], row["ci_high"])
    estimate = "range" if math.isnan(row["estimate"]) else kind.signed(row["estimate"])
    return f"{estimate} ({limits})" if limits else estimate


def diagnostics_table(sets: Sequence[AnswerSet]) -> GT:
    """Show the tests of missing answers and of the letters."""
    rows = []
    for answers in sets:
        for pair in answers.charted:
            row = {"set": breakable(answers.full_label), "pair": breakable(pair.title)}
            for metric in DIAGNOSTICS:
                row[metric] = p_cell(pair.value(metric, "p_value"))
            row["missing"] = _two(*(pair.difference[f"n_missing_{side}"] for side in "ab"))
            row["difference"] = _points(pair.value("missing_difference"), signed=True)
            rows.append(row)
    labels = {
        "missing": "Missing, both groups",
        "difference": "Difference, points",
        "missing_difference": "p, missing",
    }
    if answers_changed(sets):
        what = "letters" if all(answers.kind == CHOICE for answers in sets) else "answers"
        labels |= {
            "bowker": f"p, {what} (Bowker)",
            "stuart_maxwell": f"p, {what} (Stuart–Maxwell)",
        }
    group = "set" if len(sets) > 1 else None
    return written_table(rows, labels, name="tests", stub="pair", heading="Pair", group=group)


def answers_changed(sets: Sequence[AnswerSet]) -> bool:
    """Check whether changes from one answer to another are tested; always for choices."""
    return any(
        answers.kind == CHOICE
        or any(not math.isnan(pair.value("bowker", "p_value")) for pair in answers.pairs)
        for answers in sets
    )


def _points(value: float, *, signed: bool = False) -> str:
    return _NONE if math.isnan(value) else points(value, signed=signed)


def _two(a: object, b: object) -> str:
    return _NONE if pd.isna(a) or pd.isna(b) else f"{int(a):,} : {int(b):,}"  # type: ignore[call-overload]
