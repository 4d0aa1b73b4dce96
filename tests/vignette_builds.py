"""The folder of a built benchmark, made from the demonstration items."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.ratings.collection.assignment import Assigned
from tests.rating_files import export_of, write_rows

ATTRIBUTES = {
    attribute.name: {
        "label": attribute.label,
        "groups": dict(attribute.groups),
        "pairs": [list(pair) for pair in attribute.pairs],
    }
    for attribute in load_benchmark("demo").varied
}
FINE = {"fluency": "none", "consistency": "none", "leakage": "nowhere"}
BAD = FINE | {"consistency": "unusable"}
LEAKS = FINE | {"leakage": "key"}
Key = tuple[str, str, str]
SOUND = {"as intended", "not as intended", "refused", "unread", "not asked"}


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def built_folder(
    folder: Path,
    *,
    items: int = 3,
    variant: Callable[[Key], Mapping[str, Any]] = lambda key: {},
    item: Callable[[str], Mapping[str, Any]] = lambda item_id: {},
    **declared: Any,
) -> Path:
    """Write a build; two more source items were left out by the filter.

    `variant` and `item` give the changed fields of a variant's and an item's line.
    """
    folder.mkdir(parents=True)
    demo = read_vignettes("demo").items[:items]
    build = {
        "name": "built",
        "title": "Built items",
        "licence": "GPL-3.0-or-later",
        "citation": "Nobody (2025)",
        "build_sha256": "b" * 64,
        "items_sha256": "i" * 64,
        "agents": {
            "filter": {"model": "none"},
            "generate": {"model": "writer", "snapshot": "writer-1", "endpoint": "http://x/v1",
                         "prompt_sha256": "p" * 64},
            "validate": {"model": "judge", "snapshot": None, "endpoint": "http://y/v1",
                         "prompt_sha256": "q" * 64},
        },
        "directions": {
            name: dict.fromkeys(one["groups"], "neutral") for name, one in ATTRIBUTES.items()
        },
        "keep": "sound",
        "attributes": ATTRIBUTES,
        "options": ["A", "B", "C", "D"],
    } | declared  # fmt: skip
    (folder / "build.json").write_text(json.dumps(build), encoding="utf-8")
    write_lines(
        folder / "items.jsonl",
        (
            {
                "item_id": one.item_id,
                "options": dict(one.options),
                "answer_key": one.answer_key,
                "original": one.variants["original"],
                "neutralized": one.variants["neutralized"],
            }
            | dict(item(one.item_id))
            for one in demo
        ),
    )
    variants = [
        {
            "item_id": one.item_id,
            "attribute": attribute,
            "group": group,
            "direction": "neutral",
            "background": "Three sentences.",
            "text": one.variants[group],
            "round": 1,
            "outcome": "as intended",
            "neutral_answer": one.answer_key,
            "variant_answer": one.answer_key,
            "problems": [],
        }
        | dict(variant((one.item_id, attribute, group)))
        for one in demo
        if item(one.item_id).get("neutralized") != ""
        for attribute, declared_ in build["attributes"].items()
        for group in declared_["groups"]
    ]
    allowed = {"as intended"} if build["keep"] == "as intended" else SOUND
    for row in variants:
        row.setdefault("kept", bool(row["text"]) and row["outcome"] in allowed)
    write_lines(folder / "variants.jsonl", variants)
    with (folder / "filtered.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("item_id", "kept", "decided_by", "reason"))
        writer.writerows((one.item_id, "true", "rules", "") for one in demo)
        writer.writerow(("out-1", "false", "rules", "needs the image"))
        writer.writerow(("out-2", "false", "sieve", "no patient"))
    names = ("item_id", "attribute", "group", "round", "outcome", "problems", "neutral_answer",
             "variant_answer", "tokens")  # fmt: skip
    write_rows(
        folder / "rounds.csv",
        [{name: row.get(name, 10) for name in names} for row in variants] or [dict.fromkeys(names)],
    )
    whole = {"attribute": "race", "group": "white", "direction": "neutral", "round": 1}
    share = {"quantity": "as intended", "estimate": 0.75, "ci_low": 0.3, "ci_high": 0.95}
    method = {"ci_level": 0.95, "ci_method": "Wilson", "count": 3, "n": 4}
    write_rows(folder / "triggered.csv", [whole | share | method])
    return folder


def reviewers(path: Path, number: int = 4) -> Path:
    rows = [{"rater_id": f"P{n}", "rater_group": "physician"} for n in range(number)]
    return write_rows(path, rows)


def variants_of(assigned: Assigned) -> dict[str, Key]:
    """Return the variant of each task, from the key."""
    found = {}
    # A text may contain characters that some readers treat as line ends.
    for line in (assigned.path / "tasks.jsonl").read_text(encoding="utf-8").rstrip().split("\n"):
        row = json.loads(line)
        found[row["task_id"]] = (row["item_id"], *row["dataset"].split(":"))
    return found


def hand_in(
    assigned: Assigned,
    folder: Path,
    says: Callable[[str, Key], Mapping[str, str] | None] = lambda rater, variant: FINE,
    *,
    seconds: float = 90.0,
    comment: str = "",
) -> Path:
    """Write exports of all reviewers, with values from a function of rater and variant; None: no
    value."""
    folder.mkdir(parents=True)
    variants = variants_of(assigned)
    for form in sorted(assigned.path.glob("forms/*.html")):
        export = export_of(form, lambda i: {})
        given = []
        for one in export["judgements"]:
            answers = says(export["rater_id"], variants[one["task_id"]])
            if answers is not None:
                new = {"answers": dict(answers), "duration_s": seconds, "comment": comment}
                given.append(one | new)
        export["judgements"] = given
        (folder / f"{form.stem}.json").write_text(json.dumps(export), encoding="utf-8")
    return folder
