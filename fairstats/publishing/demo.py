"""Run the demonstration: all steps from questions or released files to a release."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from fairstats._lib.installation import resource
from fairstats._lib.problems import InputError
from fairstats.answers.files import write_answer_sets
from fairstats.benchmarks.loading import load_benchmark
from fairstats.publishing.publish import Published, publish
from fairstats.release.contents import RELEASES, Release

Say = Callable[[str], Any]


def demo_answers(folder: Path, collector: Callable[..., Path], *, say: Say) -> Path:
    """Let the embedded model answer the demonstration items, unless it has done so before."""
    if there := sorted(folder.glob("*plain.parquet")):
        say(f"SmolLM2-135M's answers are there already ({there[0]}); delete them to ask again.")
        return there[0]
    say("SmolLM2-135M answers the 24 demonstration items, about two minutes on two cores ...")
    path = collector(load_benchmark("demo"), model="embedded", out=folder, strategy="plain")
    say(f"  kept in {path}")
    return path


def demo_retrievals(folder: Path, retriever: Callable[..., Path], *, say: Say) -> Path:
    """Search the shipped corpus for the demonstration items' variants, by their words."""
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

    Released files are recognised by their sha256. If the folder has no such file, its files are
    read as answers in this package's schema.
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

    A release never changes, so a demonstration with different answers is a different release.
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


def next_steps(program: str, published: Published, answers: Sequence[Path]) -> list[str]:
    """Return a line for each user, with a command to try on what was published."""
    source = answers[0] if len(answers) == 1 else answers[0].parent
    release = Release(published.path)
    first_model = release.boards[0].ordered[0]
    month = f"{datetime.now(UTC):%Y.%m}"
    site = Path("out", release.name)
    commands = {
        "publisher": ("publish", "--answers", source, "--release", month, "--out", site),
        "auditor": ("report", first_model, "--release", published.path),
        "statistician": ("analyze", source),
    }
    return [
        f"  {user + ':':13} {shlex.join([program, *map(str, command)])}"
        for user, command in commands.items()
    ]
