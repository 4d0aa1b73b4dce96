"""Read the files of a build."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any


def lines(path: Path) -> list[dict[str, Any]]:
    # Not splitlines: JSON need not escape every character that it treats as a line end.
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def outcomes(out: Path) -> dict[tuple[str, str], str]:
    """Return the outcome of each variant's last round, by item and group."""
    found = lines(out / "variants.jsonl")
    return {(line["item_id"], line["group"]): line["outcome"] for line in found}


def by_round(out: Path, item_id: str, group: str) -> list[tuple[str, str, str]]:
    """Return stage, outcome and problems of each attempt at a variant."""
    return [
        (row["stage"], row["outcome"], row["problems"])
        for row in rows(out / "rounds.csv")
        if (row["item_id"], row["group"]) == (item_id, group)
    ]


def content(folder: Path) -> dict[str, bytes]:
    """Return every file of a build except the journals."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
