"""Comparisons written by hand, and the content of a page's chart of them."""

from __future__ import annotations

import html
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd

from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.comparisons.change_verdicts import LOSE_LOSE, WIN_WIN

METRICS = ("delta_accuracy", "delta_cfr", "delta_ad")
NAMES = dict(zip(METRICS, ("Accuracy", "CFR", "AD"), strict=True))
#: Changes of the three figures and their adjusted p-values.
BETTER = ((0.10, 0.001), (0.05, 0.0002), (-0.04, 0.03))
WORSE = tuple((-change, p) for change, p in BETTER)
SAME = ((0.01, 0.6), (0.0, 1.0), (-0.01, 0.4))
_OLD = (0.70, 0.75, 0.20)


def compared(
    *pairs: tuple[tuple[float, float], ...], attributes: tuple[str, ...] = (), **names: str
) -> list[dict[str, Any]]:
    """Return the rows of one comparison on the demonstration benchmark: one change per metric
    and pair."""
    demo = load_benchmark("demo")
    unit = {"benchmark": "demo", "benchmark_version": "1", "strategy": "plain", "kind": "version"}
    unit |= {"model_old": "Old-1", "model_new": "New-1", "missing": "common", "method_note": ""}
    unit |= names
    verdicts = {BETTER: WIN_WIN, WORSE: LOSE_LOSE}
    rows = []
    for attribute, changes in zip(attributes or [a.name for a in demo.varied], pairs, strict=False):
        a, b = demo.attributes[attribute].pairs[0]
        for metric, old, (change, p) in zip(METRICS, _OLD, changes, strict=True):
            rows.append(
                unit
                | {"attribute": attribute, "group_a": a, "group_b": b, "metric": metric}
                | {"old": old, "new": old + change, "estimate": change}
                | {"ci_low": change - 0.02, "ci_high": change + 0.02, "p_adjusted": p}
                | {"p_pair_adjusted": max(p for _, p in changes), "verdict_reason": None}
                | {"verdict": verdicts.get(changes, "unclear")}
            )
    return rows


def declared_successors(folder: Path, **older: str) -> Path:
    """Write a file that declares the older model of each newer one."""
    path = folder / "models.toml"
    tables = (f'[models."{new}"]\nsuccessor_of = "{old}"\n' for new, old in older.items())
    path.write_text("".join(tables), encoding="utf-8")
    return path


def release_of(rows: list[dict[str, Any]], **declared: Any) -> SimpleNamespace:
    """The part of a release that is used by the sentences, charts and tables of changes."""
    estimates = declared.pop("estimates", pd.DataFrame(rows, columns=_VERDICTS))
    flags = [("demo", model, "look") for model in declared.pop("questioned", ())]
    benchmark = replace(load_benchmark("demo"), **declared)
    return SimpleNamespace(
        all_comparisons=pd.DataFrame(rows).assign(release_old=None),
        estimates=estimates,
        screening=pd.DataFrame(flags, columns=["benchmark", "model", "flag"]),
        benchmarks={"demo": benchmark},
        alpha=0.05,
        policies=["available"],
    )


_VERDICTS = ["benchmark", "benchmark_version", "model", "strategy", "attribute", "group_a"]
_VERDICTS += ["group_b", "metric", "verdict"]


def verdicts_of(rows: list[dict[str, Any]], plain: str, other: str) -> pd.DataFrame:
    """Return the verdicts on the gaps of the compared prompts."""
    found = []
    for row in rows:
        for strategy, verdict in (("plain", plain), (row["strategy"].split(" → ")[1], other)):
            own = row | {"model": row["model_new"], "strategy": strategy, "verdict": verdict}
            found.append({key: own[key] for key in _VERDICTS} | {"metric": "accuracy_difference"})
    return pd.DataFrame(found).drop_duplicates()


def three_pairs(benchmark: Benchmark) -> Attribute:
    """Return an attribute of three groups and three pairs, with markup in the names."""
    groups = {"a": "<i>A</i>", "b": "B & |", "c": "$c$"}
    pairs = (("a", "b"), ("a", "c"), ("b", "c"))
    return replace(benchmark.attributes["race"], groups=groups, pairs=pairs)


def charted(page: str) -> dict[tuple[str, str, str], str]:
    """Return the text of each cell of a page's charts, by heading, row and panel."""
    found, heading = {}, ""
    for row in re.findall(r"<tr[^>]*>.*?</tr>", page, re.DOTALL):
        name = re.search(r'<th scope="(rowgroup|row)"[^>]*>(.*?)</th>', row)
        if name is None:
            continue
        text = re.sub(r"^<span>(.*)</span>$", r"\1", name[2], flags=re.DOTALL)
        label = html.unescape(re.sub(r" ?<small>.*", "", text, flags=re.DOTALL))
        heading = label if name[1] == "rowgroup" else heading
        cells = re.findall(
            r'data-panel="([^"]*)"[^>]*>\s*<svg role="img" aria-label="([^"]*)"', row
        )
        for panel, words in cells:
            found[heading, label, html.unescape(panel)] = html.unescape(words)
    return found


def words_of(row: dict[str, Any], *, alpha: float = 0.05) -> str:
    """Return the expected text of a chart for a row of the comparisons table."""
    name, p = NAMES[row["metric"]], row["p_adjusted"]
    low, high = (_points(row[side]).removeprefix("+") for side in ("ci_low", "ci_high"))
    levels = " to ".join(_points(row[side]).removeprefix("+") for side in ("old", "new"))
    text = f"{name} {levels}, change {_points(row['estimate'])} ({low} to {high}) points, adjusted "
    text += "p\u00a0<\u00a00.001" if p < 0.001 else f"p\u00a0=\u00a0{'1' if p == 1 else f'{p:.3f}'}"
    if p > alpha:
        return f"{text}, no significant change"
    better = (row["estimate"] > 0) == (row["metric"] != "delta_ad")
    return f"{text}, {'better' if better else 'worse'}"


def _points(value: float) -> str:
    text = f"{100 * value:+.1f}"
    return "0.0" if math.isclose(float(text), 0) else text.replace("-", "\u2212")
