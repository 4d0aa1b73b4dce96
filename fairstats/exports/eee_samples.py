"""Answers as samples of Every Eval Ever 0.3.0, which the importer ``eee`` reads back."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd

from fairstats._lib.safe_names import text_sha256
from fairstats._lib.table_text import json_line
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.vignette_items import Item, load_items
from fairstats.exports.answer_sets import AnswerSet

SCHEMA_VERSION = "0.3.0"
#: The columns of an answer that become texts in ``metadata``.
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
    "unparsed": "unparsed: no answer letter could be read from the reply",
    "refused": "refused: the model declined to answer",
    "error": "error: the request failed",
}


def result_id(row: Mapping[Any, Any]) -> str:
    """Return the id of an estimate within an answer set."""
    names = ("metric", "attribute", "group_a", "group_b", "test")
    return ":".join(str(row[name]) for name in names if row[name])


def sample_lines(one: AnswerSet, answers: pd.DataFrame, evaluation_id: str) -> Iterator[str]:
    """Return a line of JSON for each answer.

    Parameters
    ----------
    one : AnswerSet
        The answer set.
    answers : pandas.DataFrame
        Its answers.
    evaluation_id : str
        The id of the aggregate record.

    Notes
    -----
    Each answer belongs to the accuracy of its group, in the first pair of groups that has it. A
    missing answer has the score 0 and an ``error``. The policy for missing answers decides whether
    it counts in the aggregate figures.
    """
    items = _items(one.benchmark)
    results = _accuracies(one)
    for row in answers.astype(object).where(answers.notna(), None).to_dict("records"):
        sample = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": evaluation_id,
            "model_id": one.model_id,
            "evaluation_name": f"{one.benchmark.title} {row['attribute']} accuracy",
            **_result_of(row, results),
            **_fields(row, one.benchmark, items.get(str(row["item_id"]))),
        }
        yield json_line(sample) + "\n"


def _items(benchmark: Benchmark) -> dict[str, Item]:
    """Return the items by id; empty if the release does not contain their texts."""
    there = benchmark.publish_items and benchmark.items_file is not None
    return {item.item_id: item for item in load_items(benchmark)} if there else {}


def _accuracies(one: AnswerSet) -> dict[tuple[str, str], str]:
    """Return the id of each group's accuracy."""
    found: dict[tuple[str, str], str] = {}
    for side in "ab":
        rows = one.estimates[one.estimates["metric"] == f"accuracy_{side}"]
        for row in rows[rows["estimate"].notna()].to_dict("records"):
            row["test"] = None
            found.setdefault((row["attribute"], row[f"group_{side}"]), result_id(row))
    return found


def _result_of(
    row: Mapping[Hashable, Any], results: Mapping[tuple[str, str], str]
) -> dict[str, str]:
    found = results.get((row["attribute"], row["group"]))
    return {"evaluation_result_id": found} if found else {}


def _fields(row: Mapping[Hashable, Any], benchmark: Benchmark, item: Item | None) -> dict[str, Any]:
    letter, raw = row["answer"], row.get("answer_raw")
    key = row["answer_key"]
    fields: dict[str, Any] = {
        "sample_id": "#".join(
            str(row[name]) for name in ("item_id", "attribute", "group", "sample")
        ),
        "interaction_type": "single_turn",
        "input": _input(row, benchmark, item),
        "output": {"raw": [text for text in (letter if raw is None else raw,) if text is not None]},
        "answer_attribution": [],
        "evaluation": {"score": float(letter == key), "is_correct": letter == key},
        "metadata": {name: str(row[name]) for name in _METADATA if row.get(name) is not None},
    }
    if item is not None:
        fields["sample_hash"] = text_sha256(fields["input"]["raw"] + key)
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
        fields["error"] = _ERRORS[row["status"]]
    read, written = row.get("prompt_tokens"), row.get("completion_tokens")
    if read is not None and written is not None:
        read, written = int(read), int(written)
        usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
        fields["token_usage"] = usage
    if row.get("latency_s") is not None:
        fields["performance"] = {"latency_ms": row["latency_s"] * 1000}
    return fields


def _input(row: Mapping[Hashable, Any], benchmark: Benchmark, item: Item | None) -> dict[str, Any]:
    """Return the vignette and options, or their names if the release does not contain texts."""
    if item is not None:
        raw, choices = item.variants[row["group"]], list(item.options.values())
    else:
        raw = f"{benchmark.name} item {row['item_id']}, {row['attribute']} {row['group']}"
        raw, choices = f"{raw} (text not in the release)", list(benchmark.options)
    return {"raw": raw, "reference": [row["answer_key"]], "choices": choices}
