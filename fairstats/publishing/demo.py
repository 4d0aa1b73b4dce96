"""The demonstration: the whole way once, from questions or released files to a release."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from fairstats._lib.problems import InputError
from fairstats._lib.resources import resource
from fairstats.answers.files import write_answer_sets
from fairstats.benchmarks.declaration import load_benchmark
from fairstats.publishing.publish import Published, publish
from fairstats.release.contents import RELEASES

_STRATEGIES = ("plain", "cot")
Say = Callable[[str], Any]


def demo_answers(folder: Path, collector: Callable[..., Path], *, say: Say) -> list[Path]:
    """Let the embedded model answer the demonstration items, unless it has done so before."""
    paths = []
    for strategy in _STRATEGIES:
        there = list(folder.glob(f"*{strategy}.parquet"))
        if there:
            say(f"Answers under '{strategy}' are there already ({there[0]}); delete to ask again.")
            paths += there
            continue
        say(f"SmolLM2-135M answers the 24 demonstration items, strategy '{strategy}' ...")
        path = collector(load_benchmark("demo"), model="embedded", out=folder, strategy=strategy)
        say(f"  kept in {path}")
        paths.append(path)
    return paths


def demo_retrievals(folder: Path, retriever: Callable[..., Path], *, say: Say) -> Path:
    """Look up the demonstration items' variants in the corpus that is shipped, by their words."""
    say("BM25 looks up every variant in the corpus of textbook medicine ...")
    corpus = resource("data", "corpora", "primer.jsonl")
    path = retriever(load_benchmark("demo"), corpus=corpus, retriever="bm25", out=folder)
    say(f"  kept in {path}")
    return path


def taken_answers(
    folder: Path,
    kept: Path,
    *,
    fetcher: Callable[..., Any],
    importer: Callable[..., Any],
    say: Say,
) -> list[Path]:
    """Answer files as they are or, for released AMQA files, imported into `kept` first.

    Released files are known by their sha256; where the folder holds none of them, its files are
    taken to be answers in this package's own schema.
    """
    with tempfile.TemporaryDirectory(prefix="fairstats-raw-") as raw:
        files = fetcher(raw, source=folder).files
        if not files:
            return [folder]
        names = {path.name for path in files}
        for path in sorted(folder.rglob("*.jsonl")):
            if path.name not in names:
                say(f"Left out, no listed release: {path}")
        say(f"Importing {len(files)} released answer files ...")
        return write_answer_sets(importer(files), kept)


def publish_next(
    answers: list[Path],
    *,
    name: str | None,
    out: Path,
    retrievals: Iterable[Path] = (),
    renderer: str = "auto",
) -> Published:
    """Publish under the first name that is free or holds the same: name, name.2, name.3, …

    A release never changes, so that a demonstration with other answers is another release.
    """
    base = name or f"{datetime.now(UTC):%Y.%m}"
    for number in count(1):
        release = base if number == 1 else f"{base}.{number}"
        try:
            return publish(
                answers,
                release=release,
                out=out,
                retrievals=list(retrievals),
                renderer=renderer,  # type: ignore[arg-type]
            )
        except InputError:
            if not (out / RELEASES / release).exists():
                raise
    raise AssertionError("unreachable")
