"""Collect from a hostile service, and print the error and the peak of memory.

Run by `test_hostile_service.py` as a process: ``python collect_within_memory.py URL FOLDER KIND``,
where KIND is chat or embeddings.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from pathlib import Path

from fairstats_collectors.collect import collect
from fairstats_collectors.embeddings import service_embedder

from fairstats._lib.problems import InputError
from fairstats.benchmarks.loading import load_benchmark

# A failure must not bring the machine down.
MOST = 6 * 10**9


def main() -> None:
    _, url, folder, kind = sys.argv
    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
    said = ""
    try:
        if kind == "embeddings":
            embedder = service_embedder("m", base_url=url, key="", retries=0)
            embedder.ask(["a text"] * 500, lambda texts, vectors: None)
        else:
            given = {"model": "tiny", "base_url": url, "limit": 2, "progress": False}
            collect(load_benchmark("demo"), out=Path(folder), retries=0, **given)
    except InputError as error:
        said = str(error)
    # Not ru_maxrss: a process inherits that of the process that started it.
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    print(json.dumps({"said": said, "peak_bytes": int(peak) * 1024}))


if __name__ == "__main__":
    main()
