"""Items and raters as files, and completed exports of raters, filled in by rule."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats.ratings.collection.assignment import Assigned

#: Texts as an items file may bring them.
HOSTILE = (
    "</script><script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    '=HYPERLINK("http://127.0.0.1/")',
    "$data ${style} &lt;b&gt; \u2028 \u202e reversed",
    "m" * 2000,
)


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def item_rows(number: int, *, compares: str = "nothing") -> list[dict[str, Any]]:
    rows = []
    for i in range(number):
        row = {"item_id": f"q{i}", "question": f"Question {i}?", "answer": f"first answer {i}"}
        if compares != "items":
            row["model"] = "Secret-1"
        if compares == "models":
            row |= {"model_2": "Secret-2", "answer_2": f"second answer {i}"}
        if compares == "items":
            other = {"item_id_2": f"r{i}", "question_2": f"Other {i}?"}
            row |= other | {"answer_2": f"second answer {i}"}
        rows.append(row)
    return rows


def rater_rows(**groups: int) -> list[dict[str, Any]]:
    return [
        {"rater_id": f"{group[0].upper()}{n}", "rater_group": group}
        for group, number in groups.items()
        for n in range(number)
    ]


COMPARES = {"independent": "nothing", "pairwise": "models", "counterfactual": "items"}


def key_of(assigned: Assigned) -> pd.DataFrame:
    return pd.read_csv(assigned.path / "key.csv", dtype=str, keep_default_na=False)


def sheet_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill_sheet(
    path: Path, out: Path, values: Callable[[dict[str, str]], dict[str, str]], delimiter: str = ","
) -> Path:
    """A sheet with the values that a function of its rows gives."""
    rows = [row | values(row) for row in sheet_rows(path)]
    with out.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return out


def form_data(path: Path) -> dict[str, Any]:
    """Return the content of a form."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert found is not None
    return json.loads(found[1])


def export_of(form: Path, answers: Callable[[int], dict[str, str]], **changes: Any) -> dict:
    """An export as the form would write it."""
    data = form_data(form)
    export = {
        name: data[name] for name in ("format", "version", "assignment", "rater_id", "rubric")
    }
    export["judgements"] = [
        {"task_id": task["task_id"], "answers": answers(i), "comment": "", "duration_s": 1.5}
        for i, task in enumerate(data["tasks"])
    ]
    return export | changes
