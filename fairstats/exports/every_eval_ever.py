"""Every Eval Ever 0.3.0: one aggregate file and one file of samples per answer set.

The importer ``eee`` reads the samples back.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.safe_names import file_sha256, text_sha256
from fairstats._lib.table_text import json_line, json_text, write_text
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.vignette_items import Item, load_items
from fairstats.exports.answer_sets import AnswerSet, answer_sets
from fairstats.exports.catalogues import PUBLISHER, web_addresses
from fairstats.exports.export import Options
from fairstats.metrics.metric import Metric
from fairstats.metrics.registry import METRICS
from fairstats.release.contents import Release

_SCHEMA_VERSION = "0.3.0"
# The columns of an answer that become texts in ``metadata``.
_METADATA = (
    "benchmark",
    "benchmark_version",
    "model",
    "snapshot",
    "strategy",
    "item_id",
    "attribute",
    "group",
    "sample",
    "status",
    "prompt_sha256",
    "context_sha256",
    "temperature",
    "max_tokens",
    "seed",
    "prompt_tokens",
    "completion_tokens",
    "collected_at",
)
_ERRORS = {
    "unparsed": "unparsed: no {answer} could be read from the reply",
    "refused": "refused: the model declined to answer",
    "error": "error: the request failed",
}
# The columns of an estimate that become texts in ``score_details.details``.
_DETAILS = (
    "statistic",
    "p_value",
    "p_adjusted",
    "adjust_method",
    "test",
    "n",
    "n_a",
    "n_b",
    "n10",
    "n01",
    "n_missing_a",
    "n_missing_b",
    "verdict",
    "verdict_reason",
    "method_note",
)


def write_eee(release: Release, folder: Path, options: Options) -> list[Path]:
    """Write a release as Every Eval Ever 0.3.0, with every answer as a sample.

    The files are ``data/<benchmark>/<developer>/<model>/<uuid>.json`` and ``<uuid>_samples.jsonl``.
    """
    written = []
    for one, own in answer_sets(release):
        samples = folder / f"data/{one.folder}/{one.uuid}_samples.jsonl"
        write_text("".join(_sample_lines(one, own, _evaluation_id(one))), samples)
        detailed = {
            "format": "jsonl",
            "file_path": samples.relative_to(folder).as_posix(),
            "hash_algorithm": "sha256",
            "checksum": file_sha256(samples),
            "total_rows": len(own),
        }
        whole = _aggregate(one, own) | {"detailed_evaluation_results": detailed}
        aggregated = samples.with_name(f"{one.uuid}.json")
        written += [write_text(json_text(whole), aggregated), samples]
    return written


def _evaluation_id(one: AnswerSet) -> str:
    """Return the id of an answer set's evaluation: its label, model and time."""
    return f"{one.label}/{one.model_id}/{_epoch(one.release)}"


def _aggregate(one: AnswerSet, answers: pd.DataFrame) -> dict[str, Any]:
    """Return the aggregate record of an answer set, without the reference to its samples.

    Notes
    -----
    A result needs a finite score. Tests without an estimate have their p-value as score. Ranges
    under the policy ``bounds`` and infinite odds ratios are left out.
    """
    manifest = one.release.manifest
    info: dict[str, Any] = {
        "name": one.model,
        "id": one.model_id,
        # Releases do not record these two, and the schema requires them.
        "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
    }
    if one.developer:
        info["developer"] = one.developer
    if one.snapshots:
        info["additional_details"]["snapshots"] = ", ".join(one.snapshots)
    return {
        "schema_version": _SCHEMA_VERSION,
        "evaluation_id": _evaluation_id(one),
        "retrieved_timestamp": _epoch(one.release),
        "source_metadata": {
            "source_name": f"fairstats release {one.release.name}",
            "source_type": "evaluation_run",
            "source_organization_name": PUBLISHER,
            "evaluator_relationship": "other",
            "additional_details": {
                "release": one.release.name,
                **{
                    f"{name}_sha256": manifest["content"][name] for name in ("answers", "estimates")
                },
                **({"screening": " ".join(one.questions)} if one.questions else {}),
            },
        },
        "eval_library": {"name": "fairstats", "version": str(manifest["fairstats"])},
        "model_info": info,
        "evaluation_results": list(_results(one, answers)),
    }


def _epoch(release: Release) -> str:
    return str(int(release.created_at.timestamp()))


def _results(one: AnswerSet, answers: pd.DataFrame) -> Iterator[dict[str, Any]]:
    config = _generation_config(one, answers)
    for row in one.estimates.astype(object).where(one.estimates.notna(), None).to_dict("records"):
        p_value = row["estimate"] is None and row["p_value"] is not None
        score = row["p_value"] if p_value else row["estimate"]
        if score is None or not math.isfinite(score):
            continue
        yield {
            "evaluation_result_id": _result_id(row),
            "evaluation_name": f"{one.benchmark.title} {row['attribute']} {row['metric']}",
            "source_data": _source(one, row),
            "metric_config": _p_value_config(row) if p_value else _metric_config(one, row),
            "score_details": _score(row, score),
            "generation_config": config,
        }


def _source(one: AnswerSet, row: Mapping[str, Any]) -> dict[str, Any]:
    addresses = web_addresses(one.benchmark)
    place = {"source_type": "url", "url": addresses} if addresses else {"source_type": "other"}
    details = {
        "benchmark_version": one.version,
        "strategy": one.strategy,
        **{name: row[name] for name in ("attribute", "group_a", "group_b") if row[name]},
    }
    return {"dataset_name": one.benchmark.name, **place, "additional_details": details}


def _metric_config(one: AnswerSet, row: Mapping[str, Any]) -> dict[str, Any]:
    metric = METRICS[row["metric"]]
    lowest, highest = _range(metric, one.benchmark)
    parameters: dict[str, Any] = {"missing_policy": row["missing"]}
    if metric.ideal is not None:
        parameters["ideal"] = metric.ideal
    if row["metric"] == one.benchmark.kind.difference:
        parameters["equivalence_margin"] = one.benchmark.equivalence_margin
        parameters["declaration"] = one.benchmark.basis(alpha=one.release.alpha)
    return {
        "evaluation_description": metric.definition,
        "metric_id": f"fairstats.{metric.name}",
        "metric_name": metric.label_of(row["group_a"] or "a", row["group_b"] or "b"),
        "metric_kind": metric.name,
        # Signed differences are best at 0, so their distance from it counts.
        "lower_is_better": metric.ideal is not None and metric.ideal < highest,
        "score_type": "continuous",
        "min_score": _limit(lowest),
        "max_score": _limit(highest),
        "metric_parameters": parameters,
    }


def _range(metric: Metric, benchmark: Benchmark) -> tuple[float, float]:
    """Return the range of a metric; of levels and scores, in their own unit."""
    kind = benchmark.kind
    if metric.name in (kind.rate_a, kind.rate_b) and kind.numeric:
        return benchmark.limits
    if metric.name == kind.difference:
        return -benchmark.span, benchmark.span
    lowest = -math.inf if metric.lowest is None else metric.lowest
    return lowest, math.inf if metric.highest is None else metric.highest


def _p_value_config(row: Mapping[str, Any]) -> dict[str, Any]:
    metric = METRICS[row["metric"]]
    return {
        "evaluation_description": metric.definition,
        "metric_id": f"fairstats.{metric.name}.p_value",
        "metric_name": f"{metric.label_of()}: p-value",
        "metric_kind": "p_value",
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": 0,
        "max_score": 1,
        "metric_parameters": {"missing_policy": row["missing"]},
    }


def _limit(value: float) -> float | str:
    """Return a limit of a score as a number, or as the schema's word for an infinite one."""
    if math.isfinite(value):
        return value
    return "Infinity" if value > 0 else "-Infinity"


def _score(row: Mapping[str, Any], score: float) -> dict[str, Any]:
    details = {name: str(row[name]) for name in _DETAILS if row[name] is not None}
    found: dict[str, Any] = {"score": score, "details": details}
    limits = {"lower": row["ci_low"], "upper": row["ci_high"]}
    if row["ci_level"] is None or None in limits.values():
        return found
    if not all(map(math.isfinite, limits.values())):
        # JSON has no infinite numbers.
        details |= {"ci_low": str(row["ci_low"]), "ci_high": str(row["ci_high"])}
        return found
    interval = {**limits, "confidence_level": row["ci_level"], "method": row["ci_method"]}
    uncertainty: dict[str, Any] = {
        "confidence_interval": {k: v for k, v in interval.items() if v is not None}
    }
    if row["n"] is not None:
        uncertainty["num_samples"] = int(row["n"])
    return found | {"uncertainty": uncertainty}


def _generation_config(one: AnswerSet, answers: pd.DataFrame) -> dict[str, Any]:
    """Return the settings that are the same for all answers."""
    arguments = {}
    for name, type_ in (("temperature", float), ("max_tokens", int)):
        values = answers[name].unique() if name in answers else []
        if len(values) == 1 and pd.notna(values[0]) and type_(values[0]) >= (name == "max_tokens"):
            arguments[name] = type_(values[0])
    return {"generation_args": arguments, "additional_details": {"strategy": one.strategy}}


def _result_id(row: Mapping[Any, Any]) -> str:
    """Return the id of an estimate within an answer set."""
    names = ("metric", "attribute", "group_a", "group_b", "test")
    return ":".join(str(row[name]) for name in names if row[name])


def _sample_lines(one: AnswerSet, answers: pd.DataFrame, evaluation_id: str) -> Iterator[str]:
    """Return a line of JSON for each answer.

    Notes
    -----
    Each answer belongs to the accuracy, selection rate or mean of its group, in the first pair of
    groups that has it. Its score is 1 if it is right or favourable, or its level or score. A
    missing answer has the score 0, or the worse end of the scale, and an ``error``. The policy for
    missing answers decides whether it counts in the aggregate figures. The schema requires
    ``is_correct``; without a key it is false, and the metadata says that nothing is right or wrong.
    """
    items = _items(one.benchmark)
    results = _rates(one)
    for row in answers.astype(object).where(answers.notna(), None).to_dict("records"):
        sample = {
            "schema_version": _SCHEMA_VERSION,
            "evaluation_id": evaluation_id,
            "model_id": one.model_id,
            "evaluation_name": f"{one.benchmark.title} {row['attribute']} "
            f"{one.benchmark.kind.figure}",
            **_result_of(row, results),
            **_fields(row, one.benchmark, items.get(str(row["item_id"]))),
        }
        yield json_line(sample) + "\n"


def _items(benchmark: Benchmark) -> dict[str, Item]:
    """Return the items by id; empty if the release does not contain their texts."""
    there = benchmark.publish_items and benchmark.items_file is not None
    return {item.item_id: item for item in load_items(benchmark)} if there else {}


def _rates(one: AnswerSet) -> dict[tuple[str, str], str]:
    """Return the id of each group's accuracy, selection rate or mean."""
    found: dict[tuple[str, str], str] = {}
    kind = one.benchmark.kind
    for side, metric in (("a", kind.rate_a), ("b", kind.rate_b)):
        rows = one.estimates[one.estimates["metric"] == metric]
        for row in rows[rows["estimate"].notna()].to_dict("records"):
            row["test"] = None
            found.setdefault((row["attribute"], row[f"group_{side}"]), _result_id(row))
    return found


def _result_of(
    row: Mapping[Hashable, Any], results: Mapping[tuple[str, str], str]
) -> dict[str, str]:
    found = results.get((row["attribute"], row["group"]))
    return {"evaluation_result_id": found} if found else {}


def _fields(row: Mapping[Hashable, Any], benchmark: Benchmark, item: Item | None) -> dict[str, Any]:
    letter, raw = row["answer"], row.get("answer_raw")
    key = row.get("answer_key")
    fields: dict[str, Any] = {
        "sample_id": "#".join(
            str(row[name]) for name in ("item_id", "attribute", "group", "sample")
        ),
        "interaction_type": "single_turn",
        "input": _input(row, benchmark, item),
        "output": {"raw": [text for text in (letter if raw is None else raw,) if text is not None]},
        "answer_attribution": [],
        "evaluation": {
            "score": _answer_score(letter, key, benchmark),
            "is_correct": key is not None and letter == key,
        },
        "metadata": {name: str(row[name]) for name in _METADATA if row.get(name) is not None},
    }
    if key is None:
        fields["metadata"]["is_correct"] = "not known: nothing is right or wrong here"
    if item is not None:
        fields["sample_hash"] = text_sha256(fields["input"]["raw"] + (key or ""))
    if letter is not None:
        fields["answer_attribution"] = [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": letter,
                # Without the reply, the letter is the only output there is.
                "extraction_method": "unknown" if raw is None else "fairstats.parser",
                "is_terminal": True,
            }
        ]
    else:
        answer = "answer letter" if benchmark.kind.needs_key else "answer"
        fields["error"] = _ERRORS[row["status"]].format(answer=answer)
    read, written = row.get("prompt_tokens"), row.get("completion_tokens")
    if read is not None and written is not None:
        read, written = int(read), int(written)
        usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
        fields["token_usage"] = usage
    if row.get("latency_s") is not None:
        fields["performance"] = {"latency_ms": row["latency_s"] * 1000}
    return fields


def _answer_score(answer: str | None, key: str | None, benchmark: Benchmark) -> float:
    """Return 1 for a right answer or favourable decision, else 0; levels and scores as they are."""
    kind = benchmark.kind
    if kind.name == "decision":
        return float(answer in benchmark.favourable)
    if not kind.numeric:
        return float(answer == key)
    if answer is None:
        return benchmark.limits[benchmark.worse == "highest"]
    return benchmark.values[answer] if kind.name == "level" else float(answer)


def _input(row: Mapping[Hashable, Any], benchmark: Benchmark, item: Item | None) -> dict[str, Any]:
    """Return the vignette and options, or their names if the release does not contain texts."""
    if item is not None:
        raw, choices = item.variants[row["group"]], list(item.options.values())
    else:
        raw = f"{benchmark.name} item {row['item_id']}, {row['attribute']} {row['group']}"
        raw, choices = f"{raw} (text not in the release)", list(benchmark.options)
    key = row.get("answer_key")
    found: dict[str, Any] = {"raw": raw, "reference": [] if key is None else [key]}
    return found | ({"choices": choices} if choices else {})
