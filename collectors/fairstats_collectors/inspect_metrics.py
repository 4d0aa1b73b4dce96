"""Metrics of pairs of groups for inspect_ai, which shows them in its log viewer.

inspect_ai finds this module by its entry point. A task uses it like this::

    from fairstats_collectors.inspect_metrics import letter

    Task(dataset=samples, solver=multiple_choice(), scorer=letter("demo"))

The samples need the metadata that `fairstats import inspect` reads: ``item_id``, ``attribute`` and
``group``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    accuracy,
    metric,
    scorer,
)
from inspect_ai.solver import TaskState

from fairstats._lib.problems import InputError, input_error
from fairstats._lib.result_objects import FloatArray
from fairstats.asking.answer_from_reply import parse_answer
from fairstats.benchmarks.declaration import BASELINE, Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.counts.outcomes import count_outcomes
from fairstats.counts.patterns import PATTERNS, PolicyCounts, apply_policy
from fairstats.metrics.accuracy import accuracy_difference as difference_of
from fairstats.metrics.cfr import cfr as cfr_of
from fairstats_collectors.import_answers import options_of
from fairstats_collectors.import_mapping import Mapped

_METADATA = ("item_id", "attribute", "group")


@cache
def _mapped(benchmark: str) -> Mapped:
    loaded = load_benchmark(benchmark)
    if not loaded.kind.needs_key:
        message = f"has answers of the kind {loaded.kind.name}; these metrics are for letters"
        raise input_error(loaded.name, message, "import the log, and run `fairstats analyze`")
    return Mapped("inspect", loaded)


def _wrong(
    sample: object, message: str, remedy: str, column: str, value: object = None
) -> InputError:
    shown = None if value is None else str(value)
    return input_error(f"sample {sample}", message, remedy, column=column, value=shown)


def _row(sample: object, metadata: dict[str, Any] | None, benchmark: Benchmark) -> dict[str, str]:
    """Return the variant that a sample is, and its key."""
    row = {name: str((metadata or {}).get(name, "")) for name in _METADATA}
    if row["item_id"] not in benchmark.answer_keys:
        remedy = f"set the sample's metadata to an item of {benchmark.name}"
        raise _wrong(sample, "unknown item", remedy, "metadata.item_id", row["item_id"])
    if (row["attribute"], row["group"]) not in benchmark.variants:
        remedy = f"set metadata.attribute and metadata.group to variants of {benchmark.name}"
        raise _wrong(sample, "unknown group", remedy, "metadata.group", row["group"])
    return row | {"answer_key": benchmark.answer_keys[row["item_id"]]}


def _of_pairs(
    name: str, benchmark: str | None, figure: Callable[[PolicyCounts], FloatArray]
) -> Metric:
    def compute(scores: list[SampleScore]) -> Value:
        if not scores:
            return {}
        source = benchmark or (scores[0].score.metadata or {}).get("benchmark")
        if source is None:
            message, remedy = "names no benchmark", 'name it, e.g. cfr("demo")'
            raise _wrong(scores[0].sample_id, message, remedy, "scorer")
        declared = _mapped(str(source)).benchmark
        counts = count_outcomes(_answers(scores, declared), benchmarks=[declared])
        counts = counts[counts["attribute"] != BASELINE]
        # "bounds" gives ranges, which are no single figure.
        policy = "complete" if declared.missing == "bounds" else declared.missing
        # The log names a figure by its key alone.
        names = f"{name} " + counts["attribute"] + " " + counts["group_a"] + "-" + counts["group_b"]
        found = figure(apply_policy(counts[list(PATTERNS)].to_numpy(), policy))
        return {str(key): float(one) for key, one in zip(names, found, strict=True)}

    return compute


def _answers(scores: list[SampleScore], benchmark: Benchmark) -> pd.DataFrame:
    """Return the answers table of one run; epochs are samples, in any order."""
    samples: Counter[tuple[str, ...]] = Counter()
    rows: list[dict[str, str | int | None]] = []
    for one in scores:
        row = _row(one.sample_id, one.sample_metadata, benchmark)
        variant = tuple(row[name] for name in _METADATA)
        answer = one.score.answer if one.score.answer in benchmark.options else None
        rows.append({**row, "answer": answer, "sample": samples[variant]})
        samples[variant] += 1
    unit = {"benchmark": benchmark.name, "benchmark_version": "1", "model": "m"}
    return pd.DataFrame(rows).astype({"answer": "str"}).assign(**unit, strategy="plain")


@metric(scores="unreduced")
def cfr(benchmark: str | None = None) -> Metric:
    """Compute CFR of each declared pair: the share of pairs with the same letter.

    Parameters
    ----------
    benchmark : str, optional
        Name or .toml file of the benchmark. The scorer `letter` provides it.
    """
    return _of_pairs("cfr", benchmark, lambda pairs: cfr_of(pairs.same, pairs.n).estimate)


@metric(scores="unreduced")
def accuracy_difference(benchmark: str | None = None) -> Metric:
    """Compute the signed accuracy difference of each declared pair, first minus second group.

    Parameters
    ----------
    benchmark : str, optional
        As in `cfr`.
    """
    return _of_pairs("accuracy_difference", benchmark, lambda pairs: difference_of(pairs).estimate)


@metric(scores="unreduced")
def ad(benchmark: str | None = None) -> Metric:
    """Compute AD, the absolute accuracy difference, of each declared pair.

    Parameters
    ----------
    benchmark : str, optional
        As in `cfr`.
    """
    return _of_pairs("ad", benchmark, lambda pairs: np.abs(difference_of(pairs).estimate))


@scorer(metrics=[accuracy(), cfr(), ad(), accuracy_difference()])
def letter(benchmark: str) -> Scorer:
    """Score the option letter that fairstats reads from the reply.

    A reply without a letter scores "N" (no answer). CFR and AD treat it by the benchmark's policy
    for missing answers; inspect_ai's accuracy counts it as wrong.

    Parameters
    ----------
    benchmark : str
        Name or .toml file of the benchmark.
    """

    async def score(state: TaskState, target: Target) -> Score:
        declared = _mapped(benchmark)
        row = _row(state.sample_id, state.metadata, declared.benchmark)
        if target.text in declared.benchmark.options and target.text != row["answer_key"]:
            remedy = f"use the benchmark's key, {row['answer_key']}"
            raise _wrong(state.sample_id, "differs from the answer key", remedy, "target")
        texts = options_of([choice.value for choice in state.choices], declared.benchmark)
        shipped = declared.texts.get(row["item_id"])
        letters_only = dict.fromkeys(declared.benchmark.options, "")
        parsed = parse_answer(state.output.completion, texts or shipped or letters_only)
        value = NOANSWER
        if parsed.letter is not None:
            value = CORRECT if parsed.letter == row["answer_key"] else INCORRECT
        return Score(
            value=value,
            answer=parsed.letter,
            explanation=parsed.status,
            metadata={"benchmark": benchmark},
        )

    return score
