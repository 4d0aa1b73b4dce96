"""Evaluation results for the Hugging Face Hub: one file per answer set, and the dataset's tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.formatting import level, quoted
from fairstats._lib.problems import keyword, wrong
from fairstats._lib.safe_names import slug
from fairstats._lib.table_text import write_text, yaml_text
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import CHOICE, KINDS
from fairstats.exports.answer_sets import AnswerSet, answer_sets
from fairstats.exports.export import Options
from fairstats.metrics.registry import METRICS
from fairstats.release.contents import Release

# The figures of the leaderboard, for each pair of groups, by the kind of answers.
_FIGURES = {
    kind.name: ("cfr", "ad" if kind is CHOICE else kind.difference) for kind in KINDS.values()
}
_ON_THE_HUB = re.compile(r"https://huggingface\.co/datasets/([\w-][\w.-]*/[\w-][\w.-]*)/?")


def write_hf(release: Release, folder: Path, options: Options) -> list[Path]:
    """Write results and tasks for the Hugging Face Hub.

    The files are ``models/<developer>/<model>/.eval_results/<benchmark>-<version>-<strategy>.yaml``
    and, for each benchmark, ``datasets/<organisation>/<name>/eval.yaml``. Benchmarks without a
    dataset on the Hub, in their sources or in `options`, are left out.

    Raises
    ------
    InputError
        If no benchmark has a dataset, or `options` name one that is not in the release.
    """
    datasets = _datasets(release, options)
    written = []
    for one, answers in answer_sets(release):
        if (dataset := datasets.get(one.benchmark.name)) is None:
            continue
        entries = list(_entries(one, answers, dataset, options.url))
        if entries:
            place = Path(one.folder).relative_to(slug(one.benchmark.name))
            path = folder / "models" / place / ".eval_results" / f"{slug(one.label)}.yaml"
            if path in written:  # the models "a" and "unknown/a"
                path = path.with_name(f"{slug(one.label)}-{slug(one.model)}.yaml")
            written.append(write_text(yaml_text(entries), path))
    for name, dataset in datasets.items():
        content = _tasks(release.benchmarks[name], release.estimates)
        path = folder / "datasets" / dataset / "eval.yaml"
        written.append(write_text(yaml_text(content), path))
    return written


def _datasets(release: Release, options: Options) -> dict[str, str]:
    """Return the id of the dataset of each benchmark that has one."""
    names = ", ".join(release.benchmarks)
    if unknown := sorted(set(options.dataset) - set(release.benchmarks)):
        message = f"{unknown[0]!r} is not a benchmark of the release"
        raise wrong("dataset", message, f"use one of {names}")
    found = {
        name: match[1]
        for name, benchmark in release.benchmarks.items()
        for source in benchmark.sources
        if (match := _ON_THE_HUB.fullmatch(source))
    } | options.dataset
    if not found:
        message = f"is needed: the release does not name a dataset on the Hub for {names}"
        example = {next(iter(release.benchmarks)): "organisation/name"}
        raise wrong("dataset", message, f"give it, e.g. {keyword('dataset', example)}")
    return found


def _figures(estimates: pd.DataFrame, benchmark: Benchmark) -> pd.DataFrame:
    """Return the rows that become results: figures of pairs of groups."""
    shown = _FIGURES[benchmark.kind.name]
    rows = estimates[estimates["metric"].isin(shown) & estimates["estimate"].notna()]
    return rows[rows["group_a"].notna()]


def _task_id(row: dict[Any, Any]) -> str:
    names = ("benchmark_version", "metric", "attribute", "group_a", "group_b")
    return "-".join(slug(str(row[name])) for name in names)


def _entries(
    one: AnswerSet, answers: pd.DataFrame, dataset: str, url: str | None
) -> Iterator[dict[str, Any]]:
    source = {"url": url, "name": f"fairstats release {one.release.name}"} if url else None
    standing = _standing(one)
    for row in _figures(one.estimates, one.benchmark).to_dict("records"):
        entry = {
            "dataset": {"id": dataset, "task_id": _task_id(row)},
            "value": row["estimate"],
            "date": _date(one.release, answers),
            "notes": "; ".join([*_notes(one, row), *standing]),
        }
        yield entry | ({"source": source} if source else {})


def _date(release: Release, answers: pd.DataFrame) -> str:
    """Return the date of the last answer if all are known, else that of the release."""
    times = answers.get("collected_at")
    if times is None or times.isna().any():
        return release.created_at.date().isoformat()
    return str(pd.to_datetime(times, utc=True, format="ISO8601").max().date())


def _standing(one: AnswerSet) -> list[str]:
    """State why the answers have no rank, a caution, and the questions of screening.

    The Hub shows the perfect figures of a model that always says A next to those of others.
    """
    ranks = one.release.ranks
    own = ranks[(ranks[list(one.unit)] == list(one.unit.values())).all(axis=1)]
    return [
        f"{'no rank on the board' if pd.isna(rank) else 'on the board'}: {note}"
        for rank, note in own[["rank", "method_note"]].head(1).itertuples(index=False)
        if isinstance(note, str) and note
    ] + [f"screening: {question}" for question in one.questions]


def _notes(one: AnswerSet, row: dict[Any, Any]) -> list[str]:
    metric = METRICS[row["metric"]]
    better = "lower is better" if metric.ideal == 0 else "higher is better"
    if row["metric"] == one.benchmark.kind.difference:
        better = f"closer to 0 is better, in {one.benchmark.kind.unit}"
        if not one.benchmark.kind.numeric:
            better = "closer to 0 is better, as a share"
    notes = [f"{metric.label}, {row['group_a']} and {row['group_b']}: {better}"]
    if pd.notna(row["ci_level"]) and pd.notna(row["ci_low"]):
        limits = f"{row['ci_low']:.4f} to {row['ci_high']:.4f}"
        notes.append(f"{level(1 - row['ci_level'])} interval {limits}")
    notes += [f"{row['n']} pairs", f"missing answers: {row['missing']}"]
    notes += [f"model: {quoted(one.model, *one.snapshots)}", f"prompt: {quoted(one.strategy)}"]
    if role := one.benchmark.selected_on.get(one.model):
        notes.append(f"not informative for this model, which took part in the selection: {role}")
    return notes


def _tasks(benchmark: Benchmark, estimates: pd.DataFrame) -> dict[str, Any]:
    """Return the content of ``eval.yaml``: a task for each figure of the benchmark."""
    own = _figures(estimates[estimates["benchmark"] == benchmark.name], benchmark)
    tasks = dict.fromkeys(_task_id(row) for row in own.to_dict("records"))
    return {
        "name": benchmark.title,
        "description": benchmark.description,
        "evaluation_framework": "fairstats",
        "tasks": [{"id": task, "config": "default", "split": "test"} for task in tasks],
    }
