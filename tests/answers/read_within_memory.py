"""Write files that unpack to gigabytes, read them, and print problems and the peaks of memory.

Run by `test_hostile_files.py` as a process: ``python read_within_memory.py FOLDER``. Each file has
a process, forked from one that has loaded the libraries.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

from fairstats._lib.problems import InputError
from fairstats.answers.files import read_answers
from fairstats.answers.schema import REQUIRED_COLUMNS

GIGABYTE = 10**9


def repeated(path: Path) -> Path:
    """Two million bytes of text, named by the rows 4,000 times each."""
    texts = pyarrow.array(["x" * 1_000_000, "y" * 1_000_000])
    places = pyarrow.array(np.arange(4_000, dtype="int32") % 2)
    columns = {name: pyarrow.array(["A"] * 4_000) for name in REQUIRED_COLUMNS}
    columns["model"] = pyarrow.DictionaryArray.from_arrays(places, texts)
    pyarrow.parquet.write_table(pyarrow.table(columns), path, compression="zstd")
    return path


def distinct(path: Path, encoding: str) -> Path:
    """Write texts of 100 KB, each different at its end."""
    dictionary = encoding == "dictionary"
    options = {} if dictionary else {"column_encoding": {"model": encoding}}
    names = [(name, pyarrow.string()) for name in REQUIRED_COLUMNS]
    with pyarrow.parquet.ParquetWriter(
        path, pyarrow.schema(names), compression="zstd", use_dictionary=dictionary, **options
    ) as writer:
        for first in range(0, 12_000, 500):
            columns = dict.fromkeys(REQUIRED_COLUMNS, pyarrow.array(["A"] * 500))
            texts = ["x" * 100_000 + str(number) for number in range(first, first + 500)]
            writer.write_table(pyarrow.table(columns | {"model": pyarrow.array(texts)}))
    return path


def many_rows(path: Path, millions: int) -> Path:
    """Write millions of identical rows."""
    column = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array(np.zeros(1_000_000, dtype="int32")), pyarrow.array(["A"])
    )
    table = pyarrow.table(dict.fromkeys(REQUIRED_COLUMNS, column))
    with pyarrow.parquet.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(millions):
            writer.write_table(table)
    return path


def long_line(path: Path) -> Path:
    """Write a line of two gigabytes, as a sparse file that takes no space on the disk."""
    with path.open("wb") as file:
        file.write(b'{"model": "' if path.suffix == ".jsonl" else b"model\n")
        file.truncate(2 * GIGABYTE)
    return path


MAKERS = {
    "repeated": lambda folder: repeated(folder / "a.parquet"),
    "distinct": lambda folder: distinct(folder / "a.parquet", "dictionary"),
    "plain": lambda folder: distinct(folder / "a.parquet", "PLAIN"),
    "prefixes": lambda folder: distinct(folder / "a.parquet", "DELTA_BYTE_ARRAY"),
    "rows": lambda folder: many_rows(folder / "a.parquet", 10),
    "same": lambda folder: many_rows(folder / "a.parquet", 2),
    "csv-line": lambda folder: long_line(folder / "a.csv"),
    "jsonl-line": lambda folder: long_line(folder / "a.jsonl"),
}


def main() -> None:
    for bomb in MAKERS:
        child = os.fork()
        if not child:
            read(bomb, Path(sys.argv[1]) / bomb)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            sys.exit(f"{bomb}: {status}")


def read(bomb: str, folder: Path) -> None:
    folder.mkdir()
    path = MAKERS[bomb](folder)
    # A memory limit for this process, so that a failure does not bring the machine down.
    resource.setrlimit(resource.RLIMIT_AS, (6 * GIGABYTE, 6 * GIGABYTE))
    started, problems = time.monotonic(), 0
    try:
        read_answers(path)
    except InputError as error:
        problems = len(error.problems)
    seconds = time.monotonic() - started
    # Not ru_maxrss: a process inherits that of the process that started it.
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    found = {"problems": problems, "peak_bytes": int(peak) * 1024, "seconds": seconds}
    print(json.dumps({"bomb": bomb, **found}), flush=True)


if __name__ == "__main__":
    main()
