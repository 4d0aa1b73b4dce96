"""Files with flipped, lost and repeated bytes are read, or refused with lines that fit a
terminal."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from fairstats_collectors.import_answers import import_table

from fairstats._lib.problems import InputError
from fairstats._lib.records import json_value
from fairstats.answers.benchmark_checks import validate_files
from fairstats.answers.engines import scan_answers
from fairstats.answers.files import read_answers, write_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.ratings.collection.import_tables import read_sheets
from fairstats.ratings.rubrics import builtin_rubrics, load_rubric
from tests.answers.test_answers import OPTIONAL, rows, save

#: Values that are rare in tables and declarations.
ODD = (
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\\ud83d",
    b'"',
    b"\n",
    b"\r",
    b"[",
    b"{",
    b"null",
    b"NaN",
    b"1e999",
    b"9" * 400,
    b"-0",
    b"2026-01-01",
    b"true",
    b'[["A"]]',
    b"'''",
    b",,,,",
    "\N{HANGUL FILLER}".encode(),
    "\N{RIGHT-TO-LEFT OVERRIDE}".encode(),
)
FILES = {
    "answers.csv": 60,
    "answers.jsonl": 60,
    "answers.parquet": 120,
    "benchmark.toml": 80,
    "benchmark.items.jsonl": 40,
    "rubric.toml": 40,
    "sheets.xlsx": 40,
    "value.json": 20,
}


def mutated(content: bytes, draw: random.Random) -> bytes:
    """Change a few places of a file."""
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 5, 20))):
        place = draw.randrange(len(changed) + 1)
        length = draw.choice((1, 2, 8, 100))
        kind = draw.randrange(6)
        if kind == 0 and place < len(changed):
            changed[place] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del changed[place : place + length]
        elif kind == 2:
            changed[place:place] = draw.choice(ODD)
        elif kind == 3:
            changed[place : place + length] = draw.randbytes(length)
        elif kind == 4:
            changed[place:place] = changed[place : place + length]
        else:
            changed[place : place + length] = draw.choice(ODD)
        if draw.random() < 0.02:
            del changed[place:]
    return bytes(changed)


def read(path: Path, sound: Path) -> None:
    """Read a file in the same way as the commands."""
    if path.name.startswith("answers"):
        problems = validate_files(path)
        assert problems, "most items have no answer"
        if path.suffix == ".parquet":
            scan_answers(path, engine="duckdb")
        else:
            import_table(path, benchmark="demo")
        read_answers(path)
    elif path.suffix == ".xlsx":
        read_sheets(path)
    elif path.name == "value.json":
        json_value(path)
    elif path.name == "rubric.toml":
        load_rubric(path)
    else:
        # A benchmark has two files: one can be intact if the other is not.
        for name in ("benchmark.toml", "benchmark.items.jsonl"):
            if name != path.name:
                shutil.copy(sound / name, path.parent / name)
        load_benchmark(path.parent / "benchmark.toml")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory, demo: Benchmark) -> Path:
    """Return a folder of valid files."""
    folder = tmp_path_factory.mktemp("sound")
    answers = rows(*[OPTIONAL] * 8, {"answer": None, "status": "unparsed"})
    answers["answer_key"] = answers["item_id"].map(dict(demo.answer_keys))
    # Answers with the hash of snippets name these.
    answers["strategy"] = "plain+bm25@10"
    for name in ("answers.csv", "answers.jsonl"):
        save(answers, folder / name)
    write_answers(answers, folder / "answers.parquet")
    text = demo.path.read_text(encoding="utf-8")
    text = text.replace("demo.items.jsonl", "benchmark.items.jsonl")
    text = text.replace('name = "demo"', 'name = "mine"', 1)
    (folder / "benchmark.toml").write_text(text, encoding="utf-8")
    assert demo.items_file is not None
    shutil.copy(demo.items_file, folder / "benchmark.items.jsonl")
    shutil.copy(builtin_rubrics()["independent"], folder / "rubric.toml")
    (folder / "value.json").write_bytes((folder / "answers.jsonl").read_bytes().split(b"\n")[0])
    book = openpyxl.Workbook()
    book.active.append(["item_id", "answer"])
    book.active.append(["1", "A"])
    book.save(folder / "sheets.xlsx")
    return folder


@pytest.mark.parametrize("name", FILES)
def test_sound_file_is_read(name: str, sound: Path, tmp_path: Path) -> None:
    shutil.copy(sound / name, tmp_path)
    read(tmp_path / name, sound)


@pytest.mark.parametrize("name", FILES)
def test_mutated_file_is_read_or_refused_in_lines(name: str, sound: Path, tmp_path: Path) -> None:
    draw = random.Random(f"16 {name}")
    content = (sound / name).read_bytes()
    refused = 0
    for _ in range(FILES[name]):
        path = tmp_path / name
        path.write_bytes(mutated(content, draw))
        try:
            read(path, sound)
        except InputError as error:
            refused += 1
            for problem in error.problems:
                assert "\n" not in str(problem)
                assert str(problem).isprintable()
                assert len(str(problem)) < 3000
    assert refused > FILES[name] / 10


SHUFFLES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "no column": lambda table: table[[]],
    "no row": lambda table: table[:0],
    "numbers for names": lambda table: table.assign(model=1.5, item_id=range(len(table))),
    "columns of numbers": lambda table: table.set_axis(range(table.shape[1]), axis=1).rename(
        columns=str
    ),
}


@pytest.mark.parametrize("change", SHUFFLES)
def test_odd_parquet_table_is_read_or_refused(change: str, tmp_path: Path) -> None:
    SHUFFLES[change](rows({}, {})).to_parquet(tmp_path / "a.parquet")
    problems = validate_files(tmp_path / "a.parquet")
    assert problems
    assert all("\n" not in str(problem) for problem in problems)
