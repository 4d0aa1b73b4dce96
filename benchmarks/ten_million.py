"""What ten million requests would need, on paper: money, days, journals, parquet and memory.

Nothing is sent. Two things are measured here: what a reply takes in the journal, in parquet and in
memory, by writing as many as `--replies` of them the way the collector does; and how long the
prompts of the demonstration items are. How fast the collector asks is taken from
results/collect.json. All else is assumed, and stands in `ASSUMED`: change it there, or by option.

    python benchmarks/ten_million.py
    python benchmarks/ten_million.py --rpm 5000 --servers 8

The result is printed, and written to results/ten_million.json.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import resource
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fairstats_collectors.collect import answer_rows
from fairstats_collectors.journal import Journal, reply_key
from fairstats_collectors.models import known_models

from fairstats._lib.safe_names import canonical_json
from fairstats.answers.files import write_answers
from fairstats.asking.item_prompts import STRATEGIES, list_prompts
from fairstats.asking.models import Reply, Task, list_tasks
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import load_items

REQUESTS = 10_000_000
RESULTS = Path(__file__).with_name("results")
#: What no measurement here can tell.
ASSUMED = {
    "characters_a_token": 4,
    "retrieved_snippets": 10,
    "words_a_snippet": 120,
    "tokens_a_word": 1.4,
    # Replies by strategy, in tokens: a letter; two sentences and a letter.
    "reply_tokens": {"plain": 2, "cot": 80},
    # A service's limits for one account; and one server of an open model of about 8 billion
    # parameters, by orders of magnitude: prompt tokens and reply tokens a second.
    "requests_a_minute": 10_000,
    "tokens_a_minute": 10_000_000,
    "servers": 4,
    "server_prompt_tokens_a_second": 20_000,
    "server_reply_tokens_a_second": 2_500,
    "server_dollars_an_hour": 2.5,
    "batch_discount": 0.5,
    "batch_requests_a_file": 50_000,
}
WAYS = (("plain", False), ("cot", False), ("plain", True), ("cot", True))
_FACTS = {"benchmark": "demo", "benchmark_version": "1", "model": "paper", "strategy": "plain"}


def prompts(strategy: str, retrieved: bool) -> list[Any]:
    """The demonstration's prompts, with filler in the place of retrieved snippets."""
    benchmark = load_benchmark("demo")
    found = list_prompts(benchmark, load_items(benchmark), strategy)
    words = ASSUMED["retrieved_snippets"] * ASSUMED["words_a_snippet"] if retrieved else 0
    filler = "retrieved " * words
    return [replace(prompt, text=filler + prompt.text) for prompt in found]


def many(strategy: str, retrieved: bool, requests: int) -> Iterator[Task]:
    """So many tasks, each with a text of its own in memory."""
    own = prompts(strategy, retrieved)
    for number in range(requests):
        prompt = own[number % len(own)]
        item = replace(prompt.item, item_id=f"item-{number // len(own):07}-{prompt.item.item_id}")
        yield from list_tasks([replace(prompt, item=item, text=f"{prompt.text} {number}")])


def reply_to(task: Task, length: int) -> Reply:
    """A reply of so many characters, as long in each column as a real one."""
    parameters = canonical_json({"max_tokens": 24, "seed": 0, "temperature": 0})
    asked = {"model": "a-model-2026-01-01", "endpoint": "host.example/v1", "parameters": parameters}
    key = reply_key(
        **asked, prompt_sha256=task.prompt_sha256, variant=task.variant, sample=task.sample
    )
    item, attribute, group = task.variant
    # Of text that does not repeat a compressor makes less: the digits of the key are such text.
    text = (key * (length // len(key) + 1))[: length - 2] + " " + task.prompt.item.answer_key
    return Reply(
        key, *asked.values(), item, attribute, group, task.sample, task.prompt_sha256,
        "answered", text, "a-model-2026-01-01", 0.51, 250, 80, "2026-11-20T12:00:00Z",
    )  # fmt: skip


def write(strategy: str, retrieved: bool, requests: int, pipe: Any) -> None:
    """Keep and compact so many replies as the collector does, and say what that took."""
    length = ASSUMED["reply_tokens"][strategy] * ASSUMED["characters_a_token"]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "paper.journal.sqlite"
        tasks = list(many(strategy, retrieved, requests))
        with Journal(path, _FACTS) as journal:
            for start in range(0, requests, 500):
                journal.keep(reply_to(task, length) for task in tasks[start : start + 500])
            kept = journal.replies()
        journal_bytes = path.stat().st_size
        by_slot = {(r.item_id, r.attribute, r.variant, r.sample): r for r in kept.values()}
        answers = write_answers(answer_rows(tasks, by_slot, _FACTS), Path(folder) / "a.parquet")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        pipe.send(
            {
                "journal_bytes": journal_bytes,
                "parquet_bytes": answers.stat().st_size,
                "memory_bytes": (peak - before) * 1024,
            }
        )


def measured(strategy: str, retrieved: bool, requests: int) -> dict[str, float]:
    """Bytes a reply, from two runs of different size, each in a process of its own."""
    context = multiprocessing.get_context("spawn")
    found = []
    for size in (requests // 4, requests):
        ours, theirs = context.Pipe()
        process = context.Process(target=write, args=(strategy, retrieved, size, theirs))
        process.start()
        found.append(ours.recv())
        process.join()
    few, all_ = found
    more = requests - requests // 4
    return {f"{name}_a_reply": round((all_[name] - few[name]) / more, 1) for name in all_}


def on_paper(strategy: str, retrieved: bool, sizes: dict[str, float]) -> dict[str, Any]:
    """What all requests of one strategy would need."""
    sent = statistics.mean(
        len(prompt.text) / ASSUMED["characters_a_token"] for prompt in prompts(strategy, False)
    )
    if retrieved:
        words = ASSUMED["retrieved_snippets"] * ASSUMED["words_a_snippet"]
        sent += words * ASSUMED["tokens_a_word"]
    back = ASSUMED["reply_tokens"][strategy]
    collector = json.loads((RESULTS / "collect.json").read_text())["throughput"]["result"]
    asked_a_second = collector["fairstats"]["requests_a_second"]
    account = min(
        ASSUMED["requests_a_minute"], ASSUMED["tokens_a_minute"] / (sent + STRATEGIES[strategy])
    )
    server_seconds = (
        sent / ASSUMED["server_prompt_tokens_a_second"]
        + back / ASSUMED["server_reply_tokens_a_second"]
    )
    days = {
        "one_collector_at_its_fastest": REQUESTS / asked_a_second / 86400,
        "one_account": REQUESTS / account / 1440,
        "own_servers": REQUESTS * server_seconds / ASSUMED["servers"] / 86400,
    }
    dollars = {
        name: known.price.of(REQUESTS * sent, REQUESTS * (back + known.thinking))
        for name, known in known_models().items()
        if known.price is not None
    }
    own = REQUESTS * server_seconds / 3600 * ASSUMED["server_dollars_an_hour"]
    gigabytes = {name.split("_")[0]: size * REQUESTS / 1e9 for name, size in sizes.items()}
    return {
        "prompt_tokens": round(sent),
        "reply_tokens": back,
        **sizes,
        "gigabytes": {name: round(size, 1) for name, size in gigabytes.items()},
        # One shard keeps its tasks and replies in memory; 8 GB of it are taken to be there.
        "shards_of_8_gigabytes": max(1, round(gigabytes["memory"] / 8 + 0.5)),
        "days": {name: round(number, 2) for name, number in days.items()},
        "dollars": {name: round(number) for name, number in dollars.items()},
        "dollars_of_own_servers": round(own),
        "batch_files": -(-REQUESTS // ASSUMED["batch_requests_a_file"]),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--replies", type=int, default=100_000, help="to measure sizes by")
    options.add_argument("--rpm", type=int, default=ASSUMED["requests_a_minute"])
    options.add_argument("--tpm", type=int, default=ASSUMED["tokens_a_minute"])
    options.add_argument("--servers", type=int, default=ASSUMED["servers"])
    chosen = options.parse_args()
    ASSUMED.update(requests_a_minute=chosen.rpm, tokens_a_minute=chosen.tpm, servers=chosen.servers)
    result = {}
    for strategy, retrieved in WAYS:
        name = f"{strategy}+retrieval" if retrieved else strategy
        result[name] = on_paper(strategy, retrieved, measured(strategy, retrieved, chosen.replies))
    machine = {"python": platform.python_version(), "replies": chosen.replies}
    content = {"requests": REQUESTS, "machine": machine, "assumed": ASSUMED, "result": result}
    text = json.dumps(content, indent=2)
    (RESULTS / "ten_million.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
