"""Ask a chat model every variant of every item, over any OpenAI-compatible service."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from fairstats._lib.problems import (
    InputError,
    check_numbers,
    input_error,
    keyword,
    path_in,
    wrong,
)
from fairstats._lib.safe_names import slug
from fairstats.answers.files import read_answers, write_answers
from fairstats.answers.schema_checks import check_answers
from fairstats.asking.answer_from_reply import read_reply
from fairstats.asking.item_prompts import STRATEGIES, list_prompts
from fairstats.asking.models import AskingOptions, Reply, Shard, Slot, Task, list_tasks
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.vignette_items import Item, load_items
from fairstats_collectors.ask_tasks import ask_tasks, connect, open_journal
from fairstats_collectors.excerpts import read_excerpts

_SLOT = ["item_id", "attribute", "group", "sample"]
#: The default number of snippets in a prompt.
TOP_K = 10


def collect(
    benchmark: Benchmark,
    *,
    model: str,
    out: Path,
    strategy: str = "plain",
    retrievals: Path | None = None,
    top_k: int | None = None,
    benchmark_version: str | None = None,
    model_name: str | None = None,
    max_tokens: int | None = None,
    samples: int = 1,
    limit: int | None = None,
    shard: str | None = None,
    dry_run: bool = False,
    **options: Unpack[AskingOptions],
) -> Path:
    """Collect a model's answers to a benchmark into one parquet file.

    Each variant of each item is sent in a separate conversation. Every reply is committed to a
    journal next to the answers before it counts. If you start again, only missing and failed
    requests are sent. A request that fails for good (after the client's retries) becomes a row of
    status ``error`` with the reason in ``answer_raw``.

    Parameters
    ----------
    benchmark : Benchmark
        The benchmark to run; its vignettes must be shipped.
    model : str
        A name in the collectors' ``models.toml``, the model's name at the service, or
        ``"embedded"`` for the small model that runs on this machine.
    out : Path
        The folder to write to.
    strategy : str
        The prompting strategy: one of `fairstats.asking.item_prompts.STRATEGIES`; for decisions,
        levels and scores, one of `fairstats.asking.item_prompts.VALUE_STRATEGIES`.
    retrievals : Path, optional
        A file from ``fairstats rag retrieve``. Each prompt then begins with the snippets for its
        vignette, and the strategy's name shows it, as in ``plain+bm25@10``.
    top_k : int, optional
        The largest number of snippets, by default `TOP_K`; variants without snippets are sent with
        none.
    benchmark_version : str, optional
        The version of the benchmark's items; required if it declares several.
    model_name : str, optional
        The model's name in the answers, by default `model`.
    max_tokens : int, optional
        The longest reply, by default the strategy's in `STRATEGIES`.
    samples : int
        The number of replies per variant; the sample's number, from 0, is sent as the seed.
    limit : int, optional
        Send only the first `limit` items, each in all its variants.
    shard : str, optional
        ``k/n``: send only the k-th of n parts of the items, with a separate journal, for
        `fairstats_collectors.merging.merge`.
    dry_run : bool
        Print the planned requests and their possible cost, and send nothing.
    **options
        How to query the model, see `fairstats.asking.models.AskingOptions`.

    Returns
    -------
    Path
        ``<out>/<benchmark>-<version>-<model>-<strategy>.parquet``. Its rows are in the order of the
        items and, within an item, of the benchmark's groups and samples. For a shard, its journal.

    Raises
    ------
    Unfinished
        If the budget is spent, the disk is full, or the service rejects every request; the journal
        has all replies so far.
    InputError
        If an argument cannot be used or other answers exist already. If the service cannot be
        reached, rejects the first request (key, model, quota), or does not answer any.
    KeyboardInterrupt
        After Ctrl-C; the journal has all replies so far.
    """
    check_numbers(max_tokens=max_tokens, samples=samples, limit=limit)
    # An unknown strategy is reported below, with the known ones.
    terms = connect(model, max_tokens=max_tokens or STRATEGIES.get(strategy, 1), **options)
    version = version_of(benchmark, benchmark_version)
    part = Shard.parse(shard) if shard else None
    every = load_items(benchmark)
    items = every[:limit]
    prompts = list_prompts(benchmark, items, strategy)
    excerpts = None
    if retrievals is None and top_k is not None:
        remedy = f"give {keyword('retrievals')}"
        raise wrong("top_k", "needs a file of retrievals", remedy, value=top_k)
    if retrievals is not None:
        deepest = TOP_K if top_k is None else top_k
        excerpts = read_excerpts(retrievals, benchmark, version, every, top_k=deepest)
        prompts = excerpts.before(prompts)
    tasks = list_tasks(prompts, samples=samples, shard=part)
    if not tasks:
        raise wrong("shard", "contains no items", "use fewer parts", value=shard)
    facts = {
        "benchmark": benchmark.name,
        "benchmark_version": version,
        "model": model_name or terms.name,
        "strategy": excerpts.strategy(strategy) if excerpts else strategy,
    }
    check_writable(tasks, facts)
    path = answers_path(out, facts)
    if excerpts and (without := sum(task.variant not in excerpts.blocks for task in tasks)):
        print(f"{without:,} of {len(tasks):,} prompts include no snippet", file=sys.stderr)
    if dry_run:
        terms.print_estimate(tasks)
        return path
    with open_journal(path, facts, part) as journal:
        journal.note("items", str(len(items)))
        journal.note("samples", str(samples))
        if excerpts:
            journal.note("corpus_sha256", excerpts.corpus_sha256)
        there, asked = ask_tasks(
            tasks,
            journal=journal,
            terms=terms,
            title=facts["model"],
            check=lambda there: check_replaceable(path, tasks, there),
        )
        if part is not None:
            return journal.path
        if asked or not path.exists():
            write_answers(answer_rows(benchmark, tasks, there, facts), path)
        return path


def answers_path(out: Path, facts: Mapping[str, str]) -> Path:
    """Return the file for these answers, after checking that its folder is writable."""
    names = ("benchmark", "benchmark_version", "model", "strategy")
    return path_in(out, f"{'-'.join(slug(facts[name]) for name in names)}.parquet")


def check_writable(tasks: Iterable[Task], facts: Mapping[str, str]) -> None:
    """Refuse answers that could not be written, before any request."""
    rows = [
        dict(zip(_SLOT, task.slot, strict=True))
        | _of_item(task.prompt.item)
        | {"answer": None, "status": "error", **facts}
        for task in tasks
    ]
    try:
        check_answers(pd.DataFrame(rows), path="collect")
    except InputError:
        # A bad name is in every row: report it only once.
        check_answers(pd.DataFrame(rows[:1]), path="collect")
        raise


def version_of(benchmark: Benchmark, version: str | None) -> str:
    """Return the version to use; by default the only one."""
    known = ", ".join(benchmark.versions)
    if version is None and len(benchmark.versions) == 1:
        return next(iter(benchmark.versions))
    if version is None or version not in benchmark.versions:
        message = f"{benchmark.name} has several versions" if version is None else "unknown version"
        raise wrong("benchmark_version", message, f"use one of {known}", value=version)
    return version


def answer_rows(
    benchmark: Benchmark,
    tasks: Iterable[Task],
    replies: Mapping[Slot, Reply],
    facts: Mapping[str, str],
) -> pd.DataFrame:
    """Return the rows of the answers table, in the order of the tasks.

    The benchmark's kind of answers determines how replies are read; each task has its reply.
    """
    return pd.DataFrame([dict(facts) | _row(benchmark, task, replies[task.slot]) for task in tasks])


def _of_item(item: Item) -> dict[str, str]:
    """Return the columns of an item's key and cluster, if it has them."""
    own = {"answer_key": item.answer_key, "cluster": item.cluster}
    return {name: value for name, value in own.items() if value}


def _row(benchmark: Benchmark, task: Task, reply: Reply) -> dict[str, Any]:
    answer, status = None, "error"
    if reply.status == "refused":
        status = "refused"
    elif reply.status == "answered":
        parsed = read_reply(reply.text, benchmark, task.prompt.item.options)
        answer, status = parsed.letter, parsed.status
    parameters = json.loads(reply.parameters)
    return {
        **dict(zip(_SLOT, task.slot, strict=True)),
        "answer": answer,
        **_of_item(task.prompt.item),
        "status": status,
        "snapshot": reply.snapshot,
        "answer_raw": reply.text,
        "prompt_sha256": reply.prompt_sha256,
        "context_sha256": task.prompt.context_sha256,
        "temperature": parameters.get("temperature"),
        "max_tokens": parameters.get("max_tokens", parameters.get("max_completion_tokens")),
        "seed": parameters.get("seed"),
        "latency_s": reply.latency_s,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "collected_at": reply.collected_at,
        "collector": "chat",
        "endpoint": reply.endpoint,
    }


def check_replaceable(path: Path, tasks: Iterable[Task], replies: Mapping[Slot, Reply]) -> None:
    """Refuse to overwrite answers that the new file would not contain.

    `tasks` are those of the new file, and `replies` their replies in the journal so far.

    Raises
    ------
    InputError
        If an existing row is not one of these tasks, or its reply is not in the journal.
    """
    if not path.exists():
        return
    columns = [*_SLOT, "prompt_sha256", "answer_raw"]
    there = read_answers(path)
    own = {task.slot for task in tasks}
    told = there.reindex(columns=[*columns, "status"])
    for *slot, prompt, raw, status in told.itertuples(index=False, name=None):
        reply = replies.get(tuple(slot))
        same = reply is not None and (reply.prompt_sha256, reply.text) == (prompt, raw)
        if tuple(slot) not in own or not (same or status == "error"):
            message = "already contains answers from a different campaign"
            raise input_error(path, message, "delete or move the file, or write to another folder")
