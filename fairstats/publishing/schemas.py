"""Make the JSON Schemas of a release's documents from data/schema.toml and the metrics."""

from __future__ import annotations

import tomllib
from typing import Any

from fairstats._lib.resources import resource
from fairstats.metrics.registry import METRICS

LEADERBOARD_SCHEMA = "leaderboard.schema.json"
MODEL_SCHEMA = "model.schema.json"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_documents() -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas (2020-12) of the documents, by file name.

    Objects are open: a later minor version may add fields, and a reader ignores unknown ones.
    """
    declared = tomllib.loads(resource("data", "schema.toml").read_text(encoding="utf-8"))
    parts = declared["defs"]
    another = parts["estimate"]["properties"]["metric"]["anyOf"]
    parts["estimate"]["properties"]["metric"]["anyOf"] = [*_metrics(), *another]
    documents = {}
    for name, root in ((LEADERBOARD_SCHEMA, "leaderboard"), (MODEL_SCHEMA, "model")):
        used: dict[str, Any] = {}
        schema = _schema(declared[root], parts, used)
        documents[name] = {"$schema": _DIALECT} | schema | {"$defs": used}
    return documents


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
