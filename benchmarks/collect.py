"""Measure the chat collector against a server on this machine: throughput, faults and kills.

    python benchmarks/collect.py                    # throughput, beside a plain asyncio loop
    python benchmarks/collect.py --inspect PYTHON   # and inspect_ai, of another environment
    python benchmarks/collect.py --faults           # 10,000 requests to a server that fails
    python benchmarks/collect.py --kills 50         # kill -9 at random moments

Every contender runs in a process of its own, which has loaded its libraries before the clock
starts. The result is printed, and added to a JSON file under what was measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fairstats_collectors.collect
import openai
import pandas as pd
import pyarrow.parquet  # noqa: F401
from fairstats_collectors.campaign import Campaign
from fairstats_collectors.journal import Journal

from fairstats.answers.schema import answers_schema
from fairstats.asking.item_prompts import list_prompts
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import load_items

RESULTS = Path(__file__).with_name("results") / "collect.json"
GROUPS = ("white", "black", "original", "neutralized")
TOML = """
name = "loopback"
title = "Loopback"
description = "Made-up items that measure the machine."
options = ["A", "B", "C", "D"]
items_file = "items.jsonl"
missing = "available"
equivalence_margin = 0.02
sources = []
licence = "CC0"
citation = "none"
[versions]
1 = "the one"
[attributes.race]
label = "Race"
groups = { white = "White", black = "Black" }
pairs = [["white", "black"]]
[attributes.baseline]
label = "Baseline"
groups = { original = "Original", neutralized = "Neutralized" }
pairs = [["original", "neutralized"]]
"""


def write_benchmark(folder: Path, requests: int) -> Benchmark:
    """A benchmark of so many variants, each about as long as a vignette."""
    filling = " The patient has had a cough for two weeks." * 25
    lines = [
        json.dumps(
            {
                "item_id": f"item-{number}",
                "options": {letter: f"option {letter}{number}" for letter in "ABCD"},
                "answer_key": "ABCD"[number % 4],
                "variants": {group: f"Case {number}, {group}.{filling}" for group in GROUPS},
            }
        )
        for number in range(-(-requests // len(GROUPS)))
    ]
    (folder / "items.jsonl").write_text("\n".join(lines))
    (folder / "loopback.toml").write_text(TOML)
    return load_benchmark(folder / "loopback.toml")


@contextmanager
def loopback(**options: Any) -> Iterator[str]:
    """The server in a process of its own; its address."""
    command = [sys.executable, str(Path(__file__).with_name("loopback.py"))]
    command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        finally:
            server.terminate()


def asked(address: str) -> dict[str, int]:
    """How often each request came to the server."""
    with urllib.request.urlopen(f"{address}/counts") as response:
        counts: dict[str, int] = json.load(response)
    return counts


def fork(work: Callable[[int], None]) -> tuple[int, int]:
    """Run in a child, which is given the end of a pipe to write to: its id, and the other end."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read)
            work(write)
            status = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(write)
    return child, read


def read_all(end: int) -> str:
    with os.fdopen(end) as pipe:
        return pipe.read()


def collect(benchmark: Benchmark, address: str, out: Path, **options: Any) -> Path:
    given = {"model": "m", "concurrency": 64, "progress": False} | options
    return fairstats_collectors.collect.collect(benchmark, base_url=address, out=out, **given)


def measured(work: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Run in a child of its own; wall and CPU seconds of it all beside what it tells itself."""

    def run(pipe: int) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        told = work()
        told |= {"all_s": time.perf_counter() - wall, "all_cpu_s": time.process_time() - cpu}
        os.write(pipe, json.dumps(told).encode())

    child, end = fork(run)
    told: dict[str, float] = json.loads(read_all(end))
    os.waitpid(child, 0)
    return told


def plain_loop(prompts: list[str], address: str, concurrency: int) -> dict[str, float]:
    """What anyone would write: the client in an asyncio loop; nothing is kept or shown."""

    async def run() -> dict[str, float]:
        client = openai.AsyncOpenAI(api_key="none", base_url=address)
        texts, replies = iter(prompts), []

        async def work() -> None:
            for text in texts:
                completion = await client.chat.completions.create(
                    model="m",
                    messages=[{"role": "user", "content": text}],
                    temperature=0,
                    seed=0,
                    max_tokens=24,
                )
                replies.append(completion.choices[0].message.content)

        wall, cpu = time.perf_counter(), time.process_time()
        async with client, asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(work())
        assert len(replies) == len(prompts)
        return {"s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}

    return asyncio.run(run())


def our_collector(benchmark: Benchmark, address: str, concurrency: int) -> dict[str, float]:
    """`collect`, its asking measured from the first request to the last commit."""
    times: dict[str, float] = {}
    run = Campaign.run

    async def timed(self: Campaign, *args: Any, **options: Any) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        await run(self, *args, **options)
        times.update(s=time.perf_counter() - wall, cpu_s=time.process_time() - cpu)

    Campaign.run = timed  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory(dir=benchmark.path.parent) as out:
        collect(benchmark, address, Path(out), concurrency=concurrency, progress=True)
    return times


INSPECT = """
import json, sys, time
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.solver import generate
from inspect_ai.model import get_model
address, concurrency, prompts, logs = sys.argv[1:]
prompts, concurrency = json.load(open(prompts)), int(concurrency)
model = get_model("openai/m", base_url=address, api_key="none", responses_api=False)
task = Task(dataset=[Sample(input=text) for text in prompts], solver=generate())
wall, cpu = time.perf_counter(), time.process_time()
(log,) = eval(
    task, model=model, max_connections=concurrency, max_samples=concurrency, temperature=0,
    seed=0, max_tokens=24, display="none", log_dir=logs,
)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
assert log.status == "success" and len(log.samples) == len(prompts), log.status
print(json.dumps({"s": wall, "cpu_s": cpu, "all_s": wall, "all_cpu_s": cpu}))
"""


def inspect_ai(
    python: str, prompts: list[str], address: str, concurrency: int, folder: Path
) -> dict[str, float]:
    (folder / "prompts.json").write_text(json.dumps(prompts))
    command = [python, "-c", INSPECT, address, str(concurrency), str(folder / "prompts.json")]
    done = subprocess.run(
        [*command, str(folder / "logs")], capture_output=True, text=True, check=True
    )
    told: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return told


def throughput(requests: int, concurrency: int, rounds: int, python: str | None) -> Any:
    """Each contender in turn, so many rounds; the median of each figure."""
    with tempfile.TemporaryDirectory() as name, loopback(delay=0.05) as address:
        folder = Path(name)
        benchmark = write_benchmark(folder, requests)
        prompts = [p.text for p in list_prompts(benchmark, load_items(benchmark), "plain")]
        contenders: dict[str, Callable[[], dict[str, float]]] = {
            "plain loop": lambda: measured(lambda: plain_loop(prompts, address, concurrency)),
            "fairstats": lambda: measured(lambda: our_collector(benchmark, address, concurrency)),
        }
        if python:
            contenders["inspect_ai"] = lambda: inspect_ai(
                python, prompts, address, concurrency, folder
            )
        rows = [{"name": n, **run()} for _ in range(rounds) for n, run in contenders.items()]
    table = pd.DataFrame(rows).groupby("name", sort=False).median()
    per_thousand = 1000 / len(prompts)
    return {
        str(row.Index): {
            "requests_a_second": round(len(prompts) / row.s, 1),
            "cpu_seconds_per_1000": round(row.cpu_s * per_thousand, 3),
            "whole_command_requests_a_second": round(len(prompts) / row.all_s, 1),
            "whole_command_cpu_seconds_per_1000": round(row.all_cpu_s * per_thousand, 3),
        }
        for row in table.itertuples()
    }


def same_answers(first: Path, second: Path) -> bool:
    drop = ["latency_s", "collected_at", "endpoint"]
    frames = [pd.read_parquet(path).drop(columns=drop) for path in (first, second)]
    return frames[0].equals(frames[1])


def faults(requests: int, share: float) -> Any:
    """One campaign against a server that fails, compared with one that was not disturbed."""
    with tempfile.TemporaryDirectory() as name:
        benchmark = write_benchmark(Path(name), requests)
        with loopback(delay=0.005) as address:
            calm = collect(benchmark, address, Path(name) / "calm")
        with loopback(delay=0.005, faults=share, stall=2) as address:
            begin, starts = time.perf_counter(), 0
            out = Path(name) / "out"
            while True:
                starts += 1
                path = collect(benchmark, address, out, timeout=0.5, retries=8)
                failed = int((pd.read_parquet(path, columns=["status"])["status"] == "error").sum())
                if not failed:
                    break
            came = sum(asked(address).values())
        return {
            "expected": requests,
            "answers": len(pd.read_parquet(path)),
            "requests_made": came,
            "starts": starts,
            "same_as_undisturbed": same_answers(path, calm),
            "seconds": round(time.perf_counter() - begin, 1),
        }


def kills(times: int, requests: int, seed: int) -> Any:
    """Kill the collector at random moments and start it again, until it has been killed so often.

    The child tells over a pipe of every reply that counted, after its commit has returned.
    """
    moments = random.Random(seed)
    lost = again = killed = starts = 0
    with (
        tempfile.TemporaryDirectory() as name,
        loopback(delay=0.02, faults=0.1, stall=1) as address,
    ):
        benchmark = write_benchmark(Path(name), requests)
        out = Path(name) / "out"

        def child(pipe: int) -> None:
            keep = Journal.keep

            def told(self: Journal, replies: Any) -> None:
                keep(self, replies)
                # A request that failed for good is kept too, but is asked again: it does not count.
                counted = [f"{reply.key}\n" for reply in replies if reply.status != "failed"]
                os.write(pipe, "".join(counted).encode())

            Journal.keep = told  # type: ignore[method-assign]
            collect(benchmark, address, out, timeout=0.5, retries=8)

        while True:
            before, came = committed(out), asked(address)
            starts += 1
            process, end = fork(child)
            # Many while it starts and asks, some while it writes the answers.
            if killed < times:
                time.sleep(moments.uniform(0.0, moments.choice((0.35, requests / 500))))
                os.kill(process, signal.SIGKILL)
            counted = set(read_all(end).split())
            _, status = os.waitpid(process, 0)
            after = committed(out)
            lost += len((set(before) | counted) - set(after))
            new = {key for key, count in asked(address).items() if count > came.get(key, 0)}
            again += len(new & set(before.values()))
            if os.WIFSIGNALED(status):
                killed += 1
            elif killed >= times:
                break
            elif not os.WIFEXITED(status) or os.WEXITSTATUS(status):
                raise RuntimeError("the collector failed")
            else:  # it was faster; begin anew, so that every kill meets work
                for path in out.iterdir():
                    path.unlink()
        (path,) = out.glob("*.parquet")
        with loopback(delay=0.0) as calm_address:
            calm = collect(benchmark, calm_address, Path(name) / "calm")
        answers = pd.read_parquet(path)
        return {
            "kills": killed,
            "starts": starts,
            "expected": requests,
            "answers": len(answers),
            "errors": int((answers["status"] == "error").sum()),
            "counted_replies_lost": lost,
            "committed_replies_asked_again": again,
            "same_as_undisturbed": same_answers(path, calm),
        }


def committed(out: Path) -> dict[str, str]:
    """The replies in the journal by their keys: what the server calls each."""
    found = list(out.glob("*.journal.sqlite")) if out.exists() else []
    if not found or not found[0].stat().st_size:
        return {}
    with sqlite3.connect(found[0]) as database:
        try:
            rows = database.execute(
                "SELECT key, prompt_sha256, sample FROM replies WHERE status != 'failed'"
            ).fetchall()
        except sqlite3.OperationalError:  # killed before it had made its tables
            rows = []
    database.close()
    return {key: f"{prompt}:{sample}" for key, prompt, sample in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--inspect", metavar="PYTHON", help="one that has inspect_ai")
    parser.add_argument("--faults", type=float, nargs="?", const=0.2, help="share that fails")
    parser.add_argument("--kills", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    answers_schema()  # loads what checks the answers
    if given.kills is not None:
        name, found = "kills", kills(given.kills, given.requests or 2000, given.seed)
    elif given.faults is not None:
        name, found = "faults", faults(given.requests or 10_000, given.faults)
    else:
        name = "throughput"
        found = throughput(given.requests or 2000, given.concurrency, given.rounds, given.inspect)
    print(json.dumps({name: found}, indent=2))
    kept = json.loads(given.results.read_text()) if given.results.exists() else {}
    machine = {"python": platform.python_version(), "cores": os.cpu_count()}
    kept[name] = {"machine": machine, "openai": openai.__version__, "result": found}
    given.results.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
