"""The figures of a release for programs: JSON documents and their JSON Schemas.

Documents are plain data made from a release's tables: this module does not compute figures.
``data/schema.toml`` describes every field, with its unit and range.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.installation import resource
from fairstats._lib.table_text import json_text, records, write_text
from fairstats.benchmarks.declaration import BASELINE, Attribute, Benchmark
from fairstats.benchmarks.kinds import CHOICE
from fairstats.estimates.table import PRIMARY_TESTS
from fairstats.metrics.registry import METRICS
from fairstats.publishing.feed import badge
from fairstats.release.contents import Board, Release
from fairstats.report.notes import (
    screening_of,
    selection_notes,
    submissions_of,
)
from fairstats.screening.findings import flag_notes

#: The version of both documents. A minor version adds fields; a major one changes or removes them.
SCHEMA_VERSION = "1.1"

# The models' pages, from the folder of the documents.
_PAGES = "../reports/models"
_FIGURE = ("estimate", "ci_low", "ci_high", "ci_level", "ci_method", "n", "method_note")
_TEST = ("test", "p_value", "p_adjusted", "adjust_method", "n", "n10", "n01", "method_note")
_RANK = (
    "metric",
    "estimate",
    "least_favourable",
    "rank",
    "rank_low",
    "rank_high",
    "may_be_best",
    "ci_level",
    "adjust_method",
    "n",
    "method_note",
)
Record = dict[str, Any]
LEADERBOARD_SCHEMA = "leaderboard.schema.json"
MODEL_SCHEMA = "model.schema.json"
#: The parts of data/schema.toml that describe the rows of a table.
_RECORDS = {"estimates": "estimate", "comparisons": "comparison", "ranks": "rank"}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def write_api(release: Release, folder: Path) -> list[Path]:
    """Write all files of a release that are meant for programs.

    The folder is ``api`` in the release's folder.

    Returns
    -------
    list of Path
        ``leaderboard.json``, ``models/<slug>.json``, ``badges/<slug>.json``, and the
        two schemas.
    """

    def documents() -> Iterator[tuple[str, Record]]:
        yield "leaderboard.json", leaderboard_document(release)
        for model, slug in release.slugs.items():
            yield f"models/{slug}.json", model_document(release, model)
            yield f"badges/{slug}.json", badge(release, model)
        yield from schema_documents().items()

    return [write_text(json_text(one), folder / name) for name, one in documents()]


def leaderboard_document(release: Release) -> dict[str, Any]:
    """Return every board of a release: its models and the figures that are compared.

    `LEADERBOARD_SCHEMA` describes it. Addresses in it are relative to the document.
    """
    return {
        "$schema": LEADERBOARD_SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "release": _release(release),
        "benchmarks": [_benchmark(benchmark) for benchmark in release.benchmarks.values()],
        "models": [
            {
                "model": model,
                "slug": slug,
                "page": f"{_PAGES}/{slug}.html",
                "document": f"models/{slug}.json",
                "badge": f"badges/{slug}.json",
            }
            for model, slug in release.slugs.items()
        ],
        "boards": [_board(release, board) for board in release.boards],
    }


def model_document(release: Release, model: str) -> dict[str, Any]:
    """Return all results of one model in a release: the rows of its tables as records.

    `MODEL_SCHEMA` describes the document. Addresses in it are relative to it.
    """
    if model not in release.slugs:
        raise ValueError(f"model={model!r} is not in release {release.name}")
    slug = release.slugs[model]
    comparisons = release.comparisons
    part = (comparisons["model_old"] == model) | (comparisons["model_new"] == model)
    earlier = release.all_comparisons[release.all_comparisons["release_old"].notna()]
    return {
        "$schema": f"../{MODEL_SCHEMA}",
        "schema_version": SCHEMA_VERSION,
        "release": _release(release),
        "model": model,
        "slug": slug,
        "page": f"../{_PAGES}/{slug}.html",
        "leaderboard": "../leaderboard.json",
        "badge": f"../badges/{slug}.json",
        "successor_of": release.successors.get(model),
        "selected_items": [
            {"benchmark": name, "reason": benchmark.selected_on[model]}
            for name, benchmark in release.benchmarks.items()
            if model in benchmark.selected_on
        ],
        "answer_sets": [
            {key: value for key, value in entry.items() if key != "model"}
            | {
                "declaration": board.benchmark.basis(alpha=release.alpha),
                "notes": _notes(release, board)[model],
            }
            for entry in release.manifest["answers"]
            for board in release.boards
            if entry["model"] == model and entry in release.answers_of(board, model)
        ],
        "estimates": _records(release.estimates, release.estimates["model"] == model),
        "ranks": _records(release.ranks, release.ranks["model"] == model),
        "comparisons": _records(comparisons, part),
        "earlier_comparisons": _records(earlier, earlier["model_new"] == model),
    }


def _release(release: Release) -> Record:
    manifest = release.manifest
    return {
        "name": release.name,
        "created_at": manifest["created_at"],
        "fairstats": manifest["fairstats"],
        "alpha": release.alpha,
        "content": dict(manifest["content"]),
    }


def _benchmark(benchmark: Benchmark) -> Record:
    # What an answer is, is stated if it is not a choice.
    kind = {} if benchmark.kind is CHOICE else {"kind": _kind(benchmark)}
    return {
        "name": benchmark.name,
        "title": benchmark.title,
        "description": benchmark.description,
        "versions": [
            {"version": name, "description": text} for name, text in benchmark.versions.items()
        ],
        "items": len(benchmark.items),
        "options": list(benchmark.options),
        **kind,
        "attributes": [_attribute(attribute) for attribute in benchmark.attributes.values()],
        "missing": benchmark.missing,
        "equivalence_margin": benchmark.equivalence_margin,
        "selected_on": [
            {"model": model, "reason": how} for model, how in benchmark.selected_on.items()
        ],
        "notes": list(benchmark.notes),
        "sources": list(benchmark.sources),
        "licence": benchmark.licence,
        "citation": benchmark.citation,
    }


def _kind(benchmark: Benchmark) -> Record:
    return {
        "name": benchmark.kind.name,
        "labels": dict(benchmark.labels),
        "favourable": list(benchmark.favourable),
        "higher": benchmark.higher or None,
        "limits": list(benchmark.limits) if benchmark.kind.numeric else None,
        "cluster": benchmark.cluster,
        "has_key": benchmark.has_key,
    }


def _attribute(attribute: Attribute) -> Record:
    return {
        "attribute": attribute.name,
        "label": attribute.label,
        "demographic": attribute.name != BASELINE and not attribute.control,
        "groups": [{"group": group, "label": label} for group, label in attribute.groups.items()],
        "pairs": [{"group_a": a, "group_b": b} for a, b in attribute.pairs],
    }


def _board(release: Release, board: Board) -> Record:
    policies = board.estimates["missing"].dropna().unique()
    return {
        "benchmark": board.benchmark.name,
        "benchmark_version": board.version,
        "strategy": board.strategy,
        "missing": str(policies[0]),
        "equivalence_margin": board.benchmark.equivalence_margin,
        "declaration": board.benchmark.basis(alpha=release.alpha),
        "items": len(board.benchmark.items),
        "rows": [_row(release, board, model) for model in board.ordered],
    }


def _row(release: Release, board: Board, model: str) -> Record:
    slug = release.slugs[model]
    estimates = records(board.estimates[board.estimates["model"] == model])
    ranks = records(board.ranks[board.ranks["model"] == model])
    asked = release.answers_of(board, model)
    reason = board.benchmark.selected_on.get(model)
    return {
        "model": model,
        "slug": slug,
        "page": f"{_PAGES}/{slug}.html",
        "snapshot": estimates[0]["snapshot"],
        "rank": _part(ranks[0], _RANK) if ranks else None,
        "selected_items": reason is not None,
        "selected_items_reason": reason,
        "answers": sum(entry["answers"] for entry in asked),
        "answers_missing": sum(entry["missing"] for entry in asked),
        "notes": _notes(release, board)[model],
        "accuracy": _accuracy(estimates, board.benchmark),
        "pairs": list(_pairs(estimates, board.benchmark)),
    }


def _notes(release: Release, board: Board) -> dict[str, list[str]]:
    """Return what the leaderboard notes on how each model's answers were made and chosen."""

    def made() -> dict[str, list[str]]:
        found: dict[str, list[str]] = {model: [] for model in board.models}
        for model, rows in screening_of(release, board).groupby("model"):
            found[str(model)] += flag_notes(rows, release.overruled)
        for model, rows in submissions_of(release, board).groupby("model"):
            found[str(model)] += selection_notes(rows)
        return found

    # Of all models at once: the documents of a large board ask for each of them twice.
    return release.once(("notes", board.benchmark.name, board.version, board.strategy), made)


def _accuracy(estimates: list[Record], benchmark: Benchmark) -> Record | None:
    """Return the accuracy on the original vignettes, which name no group."""
    if BASELINE not in benchmark.attributes or benchmark.kind is not CHOICE:
        return None
    pair = benchmark.attributes[BASELINE].pairs[0]
    found = _find(estimates, "accuracy_a", BASELINE, pair)
    if found is None:
        return None
    return {"group": pair[0], **_part(found, _FIGURE), "n_missing": found["n_missing_a"]}


def _pairs(estimates: list[Record], benchmark: Benchmark) -> Iterator[Record]:
    """Return the demographic pairs in the model's answers, as the benchmark declares them."""
    kind = benchmark.kind
    for attribute in benchmark.varied:
        for pair in attribute.pairs:
            difference = _find(estimates, kind.difference, attribute.name, pair)
            if difference is None:
                continue
            same = _find(estimates, "cfr", attribute.name, pair)
            test = _find(estimates, kind.test, attribute.name, pair, PRIMARY_TESTS)
            yield {
                "attribute": attribute.name,
                "group_a": pair[0],
                "group_b": pair[1],
                kind.difference: _part(difference, _FIGURE),
                "cfr": same and _part(same, _FIGURE),
                # Bounds have no range for the p-value of clustered answers.
                kind.test: test and _part(test, _TEST),
                "verdict": difference["verdict"],
                "verdict_reason": difference["verdict_reason"],
                "n_missing_a": difference["n_missing_a"],
                "n_missing_b": difference["n_missing_b"],
            }


def _find(
    estimates: list[Record],
    metric: str,
    attribute: str,
    pair: tuple[str, str],
    test: str | tuple[str, ...] = "",
) -> Record | None:
    """Return a pair's estimate of a metric; `test` is how the test's name may begin."""
    for row in estimates:
        key = (row["metric"], row["attribute"], row["group_a"], row["group_b"])
        if key == (metric, attribute, *pair) and str(row["test"] or "").startswith(test):
            return row
    return None


def _records(table: pd.DataFrame, chosen: pd.Series) -> list[Record]:
    return [_noted(row) for row in records(table[chosen])]


def _part(row: Record, names: tuple[str, ...]) -> Record:
    return _noted({name: row[name] for name in names})


def _noted(row: Record) -> Record:
    """Give null for a note that is empty in the tables."""
    notes = {name: row[name] or None for name in ("method_note", "verdict_reason") if name in row}
    return row | notes


def schema_documents() -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas (2020-12) of the documents, by file name.

    Objects are open: a later minor version may add fields, and a reader ignores unknown ones.
    """
    declared = _declared()
    parts = declared["defs"]
    another = parts["estimate"]["properties"]["metric"]["anyOf"]
    parts["estimate"]["properties"]["metric"]["anyOf"] = [*_metrics(), *another]
    documents = {}
    for name, root in ((LEADERBOARD_SCHEMA, "leaderboard"), (MODEL_SCHEMA, "model")):
        used: dict[str, Any] = {}
        schema = _schema(declared[root], parts, used)
        documents[name] = {"$schema": _DIALECT} | schema | {"$defs": used}
    return documents


def described_columns() -> dict[str, dict[str, str]]:
    """Return what every column of a release's tables means, by table and name."""
    declared = _declared()
    parts = declared["defs"]
    tables = {table: parts[part]["properties"] for table, part in _RECORDS.items()}

    def described(field: str | dict[str, str]) -> str:
        field = parts[field.removeprefix("#")] if field in references else field
        text = field if isinstance(field, str) else field["description"]
        # Only JSON lacks a number for infinity.
        return text.replace(", or infinite (see infinite)", "")

    references = [f"#{name}" for name in parts]
    return {
        table: {name: described(field) for name, field in fields.items() if name != "infinite"}
        for table, fields in (tables | declared["columns"]).items()
    }


def _declared() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(
        resource("data", "schema.toml").read_text(encoding="utf-8")
    )
    return found


def _metrics() -> list[dict[str, str]]:
    return [
        {
            "const": metric.name,
            "title": metric.label_of(),
            "description": f"{metric.definition} "
            + (f"From {metric.range}." if metric.range else "A test without an estimate."),
        }
        for metric in METRICS.values()
    ]


def _schema(part: Any, parts: dict[str, Any], used: dict[str, Any]) -> Any:
    """Expand a part of a schema from data/schema.toml; add the parts it refers to, to `used`."""
    if isinstance(part, list):
        return [_schema(inner, parts, used) for inner in part]
    if isinstance(part, str) and part.startswith("#"):
        name = part.removeprefix("#")
        if name not in used:
            used[name] = {}
            used[name] = _schema(parts[name], parts, used)
        return {"$ref": f"#/$defs/{name}"}
    if not isinstance(part, dict):
        return part
    schema = {key: _schema(inner, parts, used) for key, inner in part.items() if key != "optional"}
    if "properties" in part:
        required = [name for name in part["properties"] if name not in part.get("optional", ())]
        return schema | {"type": "object", "required": required}
    if str(part.get("type")).endswith("?"):
        schema["type"] = [part["type"].removesuffix("?"), "null"]
        if "enum" in part:
            schema["enum"] = [*part["enum"], None]
    return schema
