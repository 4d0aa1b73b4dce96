"""Convert the released AMQA items into an items file and a benchmark for querying models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256
from fairstats.benchmarks.benchmark_files import (
    attribute_table,
    check_name,
    item_lines,
    toml_text,
    write_benchmark,
)
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import read_amqa_items


def convert_amqa(source: Path, *, out: Path, name: str = "amqa", limit: int | None = None) -> Path:
    """Write the items of ``items.parquet`` as JSON Lines, and the benchmark that declares them.

    Parameters
    ----------
    source : Path
        The released items: ``question_id``, ``option_A`` to ``option_D``, ``answer_idx``, and a
        column for each of the eight variants.
    out : Path
        The items file, which ends in ``.jsonl``. The benchmark's file is next to it and ends in
        ``.toml``.
    name : str
        The name of the benchmark.
    limit : int, optional
        Use only the first `limit` items.

    Returns
    -------
    Path
        The benchmark's file, for ``fairstats collect --benchmark``.

    Raises
    ------
    InputError
        If the file is not the released one, an item has no usable question, or other files have
        these names. Then no file is written.
    """
    check_name(name)
    if out.suffix != ".jsonl":
        raise InputError(
            [Problem(f"--out {out}", "is not an items file", "end the name in .jsonl")]
        )
    if limit is not None and limit < 1:
        raise InputError([Problem(f"--limit {limit}", "must be at least 1", "use 1 or more")])
    given = read_amqa_items(source)
    items = [
        {
            "item_id": item.item_id,
            "options": dict(item.options),
            "answer_key": item.answer_key,
            "variants": dict(item.variants),
        }
        for item in given[:limit]
    ]
    taken = f"{len(items)} of {len(given)} items from the file with sha256 {file_sha256(source)}"
    contents = {
        out.name: item_lines(items),
        out.with_suffix(".toml").name: toml_text(_declaration(name, out.name, taken)),
    }
    return write_benchmark(out.parent, contents, source=source)


def _declaration(name: str, items_file: str, taken: str) -> dict[str, Any]:
    """Return the benchmark's declaration: that of the built-in one, with the items' text."""
    released = load_benchmark("fairmedqa")
    # The other notes describe the authors' answers.
    notes = [note for note in released.notes if "two sets" not in note and "parser" not in note]
    return {
        "name": name,
        "title": "AMQA",
        "description": "Clinical vignettes from exam questions, each neutralized and rewritten in "
        "six adversarial variants: two groups of race, sex and income.",
        "options": list(released.options),
        "items_file": items_file,
        "missing": released.missing,
        "equivalence_margin": released.equivalence_margin,
        "sources": ["https://github.com/XY-Showing/AMQA"],
        "licence": "CC BY 4.0",
        "citation": released.citation,
        "notes": notes,
        "versions": {"1": taken},
        "selected_on": dict(released.selected_on),
        "attributes": {a.name: attribute_table(a) for a in released.attributes.values()},
    }
