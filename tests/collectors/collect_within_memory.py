"""Collect from hostile services, and print the peak of memory of each, in bytes.

Run by `test_hostile_service.py` as a process: ``python collect_within_memory.py FOLDER KIND URL``
with more kinds and URLs, where KIND is chat or embeddings. Each has a process, forked from one that
has loaded the libraries.
"""

from __future__ import annotations

import os
import re
import resource
import sys
from contextlib import suppress
from pathlib import Path

import openai  # noqa: F401
import pyarrow.parquet  # noqa: F401
from fairstats_collectors.collect import collect
from fairstats_collectors.embeddings import service_embedder

from fairstats._lib.problems import InputError
from fairstats.benchmarks.loading import load_benchmark

# A failure must not bring the machine down.
MOST = 6 * 10**9


def main() -> None:
    _, folder, *services = sys.argv
    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
    for kind, url in zip(services[::2], services[1::2], strict=True):
        child = os.fork()
        if not child:
            ask(Path(folder), kind, url)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            sys.exit(status)


def ask(folder: Path, kind: str, url: str) -> None:
    with suppress(InputError):
        if kind == "embeddings":
            embedder = service_embedder("m", base_url=url, key="", retries=0)
            embedder.ask(["a text"] * 500, lambda texts, vectors: None)
        else:
            given = {"model": "tiny", "base_url": url, "limit": 2, "progress": False}
            collect(load_benchmark("demo"), out=folder, retries=0, **given)
    # Not ru_maxrss: a process inherits that of the process that started it.
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    print(int(peak) * 1024, flush=True)


if __name__ == "__main__":
    main()
