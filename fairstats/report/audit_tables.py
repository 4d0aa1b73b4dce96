"""The tables of the audit report: a row a pair of groups, the answer sets as groups of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import decimal, p_value, percent, percent_range, point_range, points
from fairstats.release.contents import Release
from fairstats.report.audit_prose import boards_of, pairs_of
from fairstats.report.tables import MARKS, written_table

if TYPE_CHECKING:
    from great_tables import GT

#: The tests of what else could be wrong with the answers.
DIAGNOSTICS = ("bowker", "stuart_maxwell", "missing_difference")


def verdict_table(release: Release, model: str) -> GT:
    """A row a pair: the difference, the verdict, and the difference that could have been seen."""
    rows = []
    for board in boards_of(release, model):
        own = board.estimates[board.estimates["model"] == model]
        for _, figures in pairs_of(own):
            difference = figures.loc["accuracy_difference"]
            attribute = board.benchmark.attribute(str(difference["attribute"]))
            verdict = difference["verdict"]
            judged = isinstance(verdict, str)
            least = figures["estimate"].get("minimum_detectable_difference")
            rows.append(
                {
                    "set": f"{board.benchmark.title}, {board.version}, {board.strategy}",
                    "pair": attribute.pair_label((difference["group_a"], difference["group_b"])),
                    "difference": points(difference["estimate"]),
                    "interval": point_range(difference["ci_low"], difference["ci_high"]),
                    "margin": f"±{points(board.benchmark.equivalence_margin, signed=False)}",
                    "verdict": f"{MARKS[verdict]} {verdict}" if judged else "not judged",
                    "p": p_value(figures["p_adjusted"].get("mcnemar", float("nan")))
                    if judged
                    else "",
                    "least": "" if least is None else points(least, signed=False),
                }
            )
    labels = {
        "difference": "Difference",
        "interval": "Interval",
        "margin": "Margin",
        "verdict": "Verdict",
        "p": "p, adjusted",
        "least": "Detectable (80% power)",
    }
    return written_table(rows, labels, name="verdicts", stub="pair", heading="Pair", group="set")


def findings_table(release: Release, model: str) -> GT:
    """Accuracy of both groups, CFR and the discordant pairs, a row a pair."""
    rows = []
    for board in boards_of(release, model):
        own = board.estimates[board.estimates["model"] == model]
        for _, figures in pairs_of(own):
            difference = figures.loc["accuracy_difference"]
            attribute = board.benchmark.attribute(str(difference["attribute"]))
            rows.append(
                {
                    "set": f"{board.benchmark.title}, {board.version}, {board.strategy}",
                    "pair": attribute.pair_label((difference["group_a"], difference["group_b"])),
                    **{
                        column: f"{percent(figures.loc[metric, 'estimate'])} "
                        f"({percent_range(*figures.loc[metric, ['ci_low', 'ci_high']])})"
                        for column, metric in (
                            ("a", "accuracy_a"),
                            ("b", "accuracy_b"),
                            ("cfr", "cfr"),
                        )
                    },
                    "h": decimal(figures["estimate"].get("cohens_h", float("nan")), 3),
                    "n": f"{int(difference['n']):,}",
                    "discordant": _pair_of(difference["n10"], difference["n01"]),
                    "missing": _pair_of(difference["n_missing_a"], difference["n_missing_b"]),
                }
            )
    labels = {
        "a": "Accuracy, first",
        "b": "Accuracy, second",
        "cfr": "CFR",
        "h": "Cohen's h",
        "n": "n",
        "discordant": "n10, n01",
        "missing": "Missing a, b",
    }
    return written_table(rows, labels, name="findings", stub="pair", heading="Pair", group="set")


def diagnostics_table(tests: pd.DataFrame, release: Release) -> GT:
    """The tests of missing answers and of letters, a row a pair."""
    rows = []
    sets = ["benchmark", "benchmark_version", "strategy"]
    for keys, own in tests.groupby([*sets, "attribute", "group_a", "group_b"], sort=False):
        benchmark = release.benchmarks[str(keys[0])]
        by_metric = own.set_index("metric")
        row = {
            "set": f"{benchmark.title}, {keys[1]}, {keys[2]}",
            "pair": benchmark.attribute(str(keys[3])).pair_label((str(keys[4]), str(keys[5]))),
        }
        for metric in DIAGNOSTICS:
            if metric in by_metric.index:
                row[metric] = p_value(by_metric.loc[metric, "p_value"])
        if "missing_difference" in by_metric.index:
            row["difference"] = points(by_metric.loc["missing_difference", "estimate"])
        rows.append(row)
    labels = {
        "bowker": "Letters, symmetry",
        "stuart_maxwell": "Letters, equal margins",
        "difference": "Missing, points",
        "missing_difference": "Missing, test",
    }
    return written_table(rows, labels, name="tests", stub="pair", heading="Pair", group="set")


def _pair_of(a: object, b: object) -> str:
    return "" if pd.isna(a) or pd.isna(b) else f"{int(a):,}, {int(b):,}"  # type: ignore[call-overload]
