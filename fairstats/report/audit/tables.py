"""The tables of an audit report: one row per pair, the answer sets as groups of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import (
    capital,
    decimal,
    level,
    percent_range,
    points,
)
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.kinds import CHOICE, DECISION, Kind
from fairstats.estimates.specifications import SMALLEST
from fairstats.release.contents import Release
from fairstats.report.answer_sets import AnswerSet, Pair
from fairstats.report.board.tables import p_cell
from fairstats.report.changes.rows import caution, figures_of, written_as
from fairstats.report.tables import MARKS, breakable, written_table
from fairstats.report.words import heading, plain, plain_range, signed_range, words_of

if TYPE_CHECKING:
    from great_tables import GT
    from great_tables._text import BaseText

#: The tests of other possible problems with the answers.
DIAGNOSTICS = ("bowker", "stuart_maxwell", "missing_difference")
_NONE = "–"


def pairs_table(sets: Sequence[AnswerSet], *, name: str, every: bool = False) -> GT:
    """Rates or means, difference, CFR, pairs that differ, test and verdict.

    Parameters
    ----------
    sets : sequence of AnswerSet
        Several are groups of rows.
    name : str
        The table's id, unique in the report.
    every : bool
        Whether to show all of many pairs, not only those with the largest differences.
    """
    from great_tables import html

    kind = sets[0].kind
    interval = "range" if sets[0].ranges else f"{level(sets[0].release.alpha)} CI"
    rates = _rates_column(kind)
    ad = " (AD)" if kind == CHOICE else ""
    moved, test = ("Moved", "Sign-flip") if kind.numeric else ("Discordant", "McNemar")
    counts = "n10 : n01" if kind == CHOICE else "first : second"
    labels: dict[str, str | BaseText] = {
        rates: html(
            f"{'Selected, %' if kind == DECISION else heading(kind)}<br><small>both groups</small>"
        ),
        "difference": html(f"Difference{ad}<br><small>{kind.unit}, {interval}</small>"),
        "cfr": html(f"Same answer (CFR)<br><small>%, {interval}</small>"),
        "discordant": html(f"{moved}<br><small>{counts}</small>"),
        "p": html(f"{test} p<br><small>adjusted</small>"),
        "verdict": "Verdict",
    }
    rows = [
        {"set": breakable(answers.label), **_pair_row(pair)}
        for answers in sets
        for pair in (answers.pairs if every else answers.charted)
    ]
    return written_table(
        rows,
        labels,
        name=name,
        stub="pair",
        heading="Pair",
        group="set" if len(sets) > 1 else None,
        html=["difference", "cfr", "verdict"],
        right=[rates, "difference", "cfr", "discordant", "p"],
    )


def _pair_row(pair: Pair) -> dict[str, str]:
    kind, difference, verdict = pair.kind, pair.difference, pair.verdict
    estimate = pair.value(kind.difference)
    limits = signed_range(kind, difference["ci_low"], difference["ci_high"])
    cfr = pair.value("cfr")
    shares = percent_range(pair.value("cfr", "ci_low"), pair.value("cfr", "ci_high"))
    unknown = {m: "range" if _ranged(pair, m) else "not known" for m in pair.figures.index}
    known = unknown[kind.difference] if math.isnan(estimate) else kind.signed(estimate)
    same = unknown.get("cfr", _NONE) if math.isnan(cfr) else f"{100 * cfr:.1f}"
    return {
        "pair": breakable(pair.label),
        _rates_column(kind): f"{_rate(pair, kind.rate_a)} / {_rate(pair, kind.rate_b)}",
        "difference": _with_limits(known, limits),
        "cfr": _with_limits(same, shares),
        "discordant": _two(difference["n10"], difference["n01"]),
        "p": p_cell(pair.value(kind.test, "p_adjusted")) if verdict else _NONE,
        "verdict": verdict_mark(verdict),
    }


def _rates_column(kind: Kind) -> str:
    return kind.figure.replace(" ", "-")


def _rate(pair: Pair, metric: str) -> str:
    estimate = pair.value(metric)
    if not math.isnan(estimate):
        return plain(pair.kind, estimate)
    if not _ranged(pair, metric):
        return _NONE
    limits = (pair.value(metric, "ci_low"), pair.value(metric, "ci_high"))
    return plain_range(pair.kind, *limits) or _NONE


def _ranged(pair: Pair, metric: str) -> bool:
    """Check whether a figure is known only as a range over the missing answers."""
    return metric in pair.figures.index and pair.figures.loc[metric, "ci_method"] == "bounds"


def _with_limits(figure: str, limits: str) -> str:
    small = f" <small>({limits})</small>" if limits else ""
    return f"<strong>{figure}</strong>{small}"


def verdict_mark(verdict: object) -> str:
    """Return a verdict with its mark, as HTML; "not judged" if it is missing."""
    if not isinstance(verdict, str):
        return "not judged"
    return (
        f'<span class="verdict {verdict}"><span aria-hidden="true">{MARKS[verdict]}</span> '
        f"{verdict}</span>"
    )


def size_table(sets: Sequence[AnswerSet]) -> GT:
    """Show the size of the differences: standard sizes, and the margin for equivalence."""
    kind, rows = sets[0].kind, []
    for answers in sets:
        for pair in answers.charted:
            choices = answers.choices(pair)
            smallest = choices[choices["choice"] == SMALLEST].head(1).to_dict("records")
            inner = [signed_range(kind, row["ci_low"], row["ci_high"]) for row in smallest]
            margin = [row["estimate"] for row in smallest if not math.isnan(row["estimate"])]
            rows.append(
                {
                    "set": breakable(answers.label),
                    "pair": breakable(pair.label),
                    "odds": _figure(pair, "odds_ratio", 2),
                    "h": _figure(pair, "cohens_h", 3),
                    "kappa": _figure(pair, "weighted_kappa", 3),
                    "standardized": _signed(pair, "standardized_difference"),
                    "inner": next(iter(inner), ""),
                    "margin": f"±{kind.signed(margin[0]).lstrip('+')}" if margin else _NONE,
                    "least": _points(pair.value("minimum_detectable_difference")),
                    "p": p_cell(pair.value(kind.test, "p_value")),
                }
            )
    alpha = sets[0].release.alpha
    shares = {"odds": "Odds ratio", "h": "Cohen’s h"}
    standard = {"level": {"kappa": "Weighted κ"}, "score": {"standardized": "Standardized"}}
    labels = {
        **{
            name: f"{label} ({level(alpha)} CI)"
            for name, label in standard.get(kind.name, shares).items()
        },
        "inner": f"{level(2 * alpha)} CI, {kind.unit}",
        "margin": "Equivalent from",
        "least": "Detectable, points",
        "p": "p, unadjusted",
    }
    if kind.numeric:
        del labels["least"]
    return _table(rows, labels, sets, name="sizes")


def _signed(pair: Pair, metric: str) -> str:
    estimate, low, high = (pair.value(metric, c) for c in ("estimate", "ci_low", "ci_high"))
    limits = signed_range(pair.kind, low, high)
    return _NONE if math.isnan(estimate) else f"{pair.kind.signed(estimate)} ({limits})"


def _figure(pair: Pair, metric: str, places: int) -> str:
    estimate, low, high = (pair.value(metric, c) for c in ("estimate", "ci_low", "ci_high"))
    if math.isnan(estimate) and math.isnan(low):
        return _NONE
    limits = f"({decimal(low, places)} to {decimal(high, places)})"
    limits = "" if math.isnan(low) else limits
    return f"{decimal(estimate, places)} {limits}".strip()


def beyond_control(answers: AnswerSet) -> pd.DataFrame:
    """Return changes beyond those of controls: of charted pairs, and of whole attributes."""
    rows = answers.rows[answers.rows["metric"] == "beyond_control"]
    shown = [(pair.attribute.name, *pair.groups) for pair in answers.charted]
    keys = pd.MultiIndex.from_frame(rows[["attribute", "group_a", "group_b"]])
    return rows[rows["estimate"].notna() & (rows["group_a"].isna() | keys.isin(shown))]


def control_table(answers: AnswerSet) -> GT:
    """Show how far changes between groups exceed those between controls."""
    kind = answers.kind
    rows = []
    for row in beyond_control(answers).to_dict("records"):
        attribute = answers.benchmark.attribute(row["attribute"])
        label = f"{attribute.label}: all pairs"
        if isinstance(row["group_a"], str):
            label = answers.benchmark.pair_name(attribute.name, (row["group_a"], row["group_b"]))
        limits = signed_range(kind, row["ci_low"], row["ci_high"])
        rows.append(
            {
                "pair": breakable(label),
                "beyond": f"{kind.signed(row['estimate'])} ({limits})",
                "both": str(row["method_note"]).partition(";")[0],
                "p": p_cell(row["p_value"]),
                "items": f"{row['n']:,}",
            }
        )
    labels = {
        "beyond": f"Beyond controls ({level(answers.release.alpha)} CI)",
        "both": "Both changes" if kind.numeric else "Both changes, shares",
        "items": capital(words_of(answers.benchmark).items),
        "p": "p",
    }
    return written_table(rows, labels, name="controls", stub="pair", heading="Pair")


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
            row = {"set": breakable(answers.label), "pair": breakable(pair.label)}
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
    return _table(rows, labels, sets, name="tests")


def answers_changed(sets: Sequence[AnswerSet]) -> bool:
    """Check whether changes from one answer to another are tested; always for choices."""
    return any(
        answers.kind == CHOICE
        or any(not math.isnan(pair.value("bowker", "p_value")) for pair in answers.pairs)
        for answers in sets
    )


def _table(
    rows: list[dict[str, str]], labels: dict[str, str], sets: Sequence[AnswerSet], *, name: str
) -> GT:
    group = "set" if len(sets) > 1 else None
    return written_table(rows, labels, name=name, stub="pair", heading="Pair", group=group)


def _points(value: float, *, signed: bool = False) -> str:
    return _NONE if math.isnan(value) else points(value, signed=signed)


def _two(a: object, b: object) -> str:
    return _NONE if pd.isna(a) or pd.isna(b) else f"{int(a):,} : {int(b):,}"  # type: ignore[call-overload]
