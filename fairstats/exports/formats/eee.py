"""Every Eval Ever 0.3.0: one aggregate file and one file of samples per answer set."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.safe_names import file_sha256
from fairstats._lib.table_text import json_text, write_text
from fairstats.exports.answer_sets import AnswerSet, answer_sets
from fairstats.exports.eee_samples import SCHEMA_VERSION, result_id, sample_lines
from fairstats.exports.export import Export, Options
from fairstats.metrics.registry import METRICS
from fairstats.release.citation import PUBLISHER, web_addresses
from fairstats.release.contents import Release

#: The columns of an estimate that become texts in ``score_details.details``.
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

    Parameters
    ----------
    release : Release
        The release.
    folder : Path
        Gets ``data/<benchmark>/<developer>/<model>/<uuid>.json`` and ``<uuid>_samples.jsonl``.
    options : Options
        Not used.

    Returns
    -------
    list of Path
        The files.
    """
    written = []
    for one, own in answer_sets(release):
        samples = folder / f"data/{one.folder}/{one.uuid}_samples.jsonl"
        write_text("".join(sample_lines(one, own, evaluation_id(one))), samples)
        detailed = {
            "format": "jsonl",
            "file_path": samples.relative_to(folder).as_posix(),
            "hash_algorithm": "sha256",
            "checksum": file_sha256(samples),
            "total_rows": len(own),
        }
        whole = aggregate(one, own) | {"detailed_evaluation_results": detailed}
        aggregated = samples.with_name(f"{one.uuid}.json")
        written += [write_text(json_text(whole), aggregated), samples]
    return written


def figure_files(release: Release) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the aggregate record of each answer set, without samples, with its path."""
    for one, answers in answer_sets(release):
        yield f"data/{one.folder}/{one.uuid}.json", aggregate(one, answers)


def evaluation_id(one: AnswerSet) -> str:
    """Return the id of an answer set's evaluation: its label, model and time."""
    return f"{one.label}/{one.model_id}/{_epoch(one.release)}"


def aggregate(one: AnswerSet, answers: pd.DataFrame) -> dict[str, Any]:
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
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation_id(one),
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
            "evaluation_result_id": result_id(row),
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
    highest = math.inf if metric.highest is None else metric.highest
    parameters: dict[str, Any] = {"missing_policy": row["missing"]}
    if metric.ideal is not None:
        parameters["ideal"] = metric.ideal
    if row["metric"] == "accuracy_difference":
        parameters["equivalence_margin"] = one.benchmark.equivalence_margin
    return {
        "evaluation_description": metric.definition,
        "metric_id": f"fairstats.{metric.name}",
        "metric_name": metric.label_of(row["group_a"] or "a", row["group_b"] or "b"),
        "metric_kind": metric.name,
        # Signed differences are best at 0, so their distance from it counts.
        "lower_is_better": metric.ideal is not None and metric.ideal < highest,
        "score_type": "continuous",
        "min_score": _limit(-math.inf if metric.lowest is None else metric.lowest),
        "max_score": _limit(highest),
        "metric_parameters": parameters,
    }


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


EXPORT = Export(
    contents="Every Eval Ever 0.3.0: the estimates, and every answer as a sample",
    write=write_eee,
)
