"""Measure how often screening flags honest answer sets, and which share of a fraud it detects.

``python benchmarks/screening.py ANSWERS...`` takes folders of honest answer sets, e.g. those that
``fairstats fetch`` and ``fairstats import`` write. It writes benchmarks/results/screening.json and
prints the tables of docs/screening.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairstats import load_benchmark, read_answers
from fairstats.inference.intervals import wilson
from fairstats.screening.findings import NOT_CHECKED
from fairstats.screening.screen import screen

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.screening import frauds

RESULTS = Path(__file__).parent / "results" / "screening.json"
_SET = ["benchmark", "benchmark_version", "model", "strategy"]
#: Honest sets that each fraud is made from, draws of each, and seed.
SOURCES, DRAWS, SEED = 12, 1, 2026
PARTIAL = {
    "answers copied": (frauds.copied, (0.1, 0.25, 0.5, 1.0), ("copied_answers", "copied_items")),
    "items copied": (frauds.copied_items, (0.1, 0.25, 0.5), ("copied_answers", "copied_items")),
    "items copied from many sets": (frauds.mosaic, (0.25, 0.5, 0.75, 1.0), ("mosaic",)),
    "second answers of pairs replaced by first": (
        frauds.forced,
        (0.1, 0.25, 0.5, 0.9, 1.0),
        ("pair_flips",),
    ),
    "labels swapped": (frauds.swapped, (0.1, 0.25, 0.5, 1.0), ("group_labels",)),
    "all answers to an item replaced by one": (
        frauds.levelled,
        (0.25, 0.5, 0.9, 1.0),
        ("pair_flips", "flip_level"),
    ),
}


def main() -> None:
    """Measure both, and write the results."""
    answers = read_answers(sys.argv[1:])
    found = {"honest": honest(answers), "partial": list(partial(answers))}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(honest_table(found["honest"]), partial_table(found["partial"]), sep="\n\n")


def honest_table(found: dict[str, dict[str, Any]]) -> str:
    """Return the rates of flagged honest sets as Markdown, with Wilson's 95% limits."""
    lines = ["| compared with | sets | `look` or `block` | `block` |", "|---|--:|--:|--:|"]
    for panel, rates in found.items():
        n = rates["sets"]
        cells = [_share(rates[name], n) for name in ("sets_flagged", "sets_block")]
        lines.append(f"| {panel} | {n} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _share(count: int, n: int) -> str:
    interval = wilson(count, n)
    low, high = float(interval.ci_low), float(interval.ci_high)
    return f"{count} ({count / n:.0%}; {low:.0%} to {high:.0%})"


def partial_table(found: list[dict[str, Any]]) -> str:
    """Return the shares of detected frauds as Markdown."""
    lines = ["| fraud | share | `look` or `block` | `block` |", "|---|--:|--:|--:|"]
    for row in found:
        shares = (f"{row[name] / row['frauds']:.0%}" for name in ("flagged", "blocked"))
        lines.append(f"| {row['fraud']} | {row['share']:.0%} | {' | '.join(shares)} |")
    return "\n".join(lines)


def honest(answers: pd.DataFrame) -> dict[str, Any]:
    """Screen each answer set against all others, as a publisher would."""
    tables: dict[str, list[pd.DataFrame]] = {"all others": [], "other models": [], "4 others": []}
    rng = np.random.default_rng(SEED)
    for (benchmark, version, model, strategy), own in answers.groupby(_SET):
        board = answers[(answers["benchmark"] == benchmark)]
        board = board[board["benchmark_version"] == version]
        same = (board["model"] == model) & (board["strategy"] == strategy)
        others = board[board["model"] != model]
        few = rng.choice(others["model"].unique(), 4, replace=False)
        panels = {
            "all others": board[~same],
            "other models": others,
            "4 others": others[others["model"].isin(few) & (others["strategy"] == "plain")],
        }
        for name, panel in panels.items():
            table = screen(own, panel).to_frame()
            tables[name].append(table)
            print(name, model, strategy, dict(table["flag"].value_counts()), file=sys.stderr)
    return {name: _rates(pd.concat(found)) for name, found in tables.items()}


def _rates(table: pd.DataFrame) -> dict[str, Any]:
    checked = table[~table["note"].str.startswith(NOT_CHECKED)]
    flags = ["look", "block"]
    by_check = pd.crosstab(checked["check"], checked["flag"]).reindex(columns=flags, fill_value=0)
    sets = checked.groupby(_SET)["flag"]
    return {
        "sets": int(sets.ngroups),
        "not_checked": int(len(table) - len(checked)),
        "sets_flagged": int(sets.agg(lambda own: set(own) != {"ok"}).sum()),
        "sets_block": int(sets.agg(lambda own: "block" in set(own)).sum()),
        "checks": by_check.to_dict("index"),
        "flagged": checked.loc[checked["flag"] != "ok", [*_SET[1:], "check", "flag", "value"]]
        .round(3)
        .to_dict("records"),
    }


def partial(answers: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Make each fraud in part, and count how often the checks meant for it flag it."""
    plain = answers[answers["strategy"] == "plain"]
    version = plain.groupby("benchmark_version")["model"].nunique().idxmax()
    plain = plain[plain["benchmark_version"] == version]
    benchmark = load_benchmark(str(plain["benchmark"].iloc[0]))
    models = sorted(plain["model"].unique())
    for name, (fraud, shares, checks) in PARTIAL.items():
        for share in shares:
            rng = np.random.default_rng([SEED, round(100 * share)])
            flags = []
            for model in rng.choice(models, min(SOURCES, len(models)), replace=False):
                for _ in range(DRAWS):
                    own = plain[plain["model"] == model].reset_index(drop=True)
                    panel = plain[plain["model"] != model]
                    source = rng.choice([other for other in models if other != model])
                    other = panel[panel["model"] == source]
                    if fraud is frauds.mosaic:
                        other = panel
                    made = fraud(share)(own, other, benchmark, rng).assign(model="new")
                    table = screen(made, panel).to_frame()
                    # A check that the fraud made impossible does not count as detection.
                    table = table[table["check"].isin(checks) & table["value"].notna()]
                    flags.append(set(table["flag"]))
            row = {
                "fraud": name,
                "share": share,
                "frauds": len(flags),
                "flagged": sum(bool(one - {"ok"}) for one in flags),
                "blocked": sum("block" in one for one in flags),
            }
            print(row, file=sys.stderr)
            yield row


if __name__ == "__main__":
    main()
