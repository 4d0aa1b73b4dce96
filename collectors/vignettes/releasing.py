"""Release a built and reviewed benchmark: items, declaration, data card, and hashes of it all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import fairstats
from collectors.ratings.subjects import is_name
from collectors.vignettes.benchmark_files import item_lines, toml_text, write_benchmark
from collectors.vignettes.built import (
    BUILD,
    FILTERED,
    ITEMS,
    NEUTRAL_TEXTS,
    ORIGINAL,
    ROUNDS,
    TRIGGERED,
    VARIANTS,
    Built,
    read_built,
)
from collectors.vignettes.data_card import Facts, card_text
from collectors.vignettes.review.decisions import ACCEPTED, EDITED, decisions
from collectors.vignettes.review.figures import agreement, work
from collectors.vignettes.review.rounds import Review, read_review
from collectors.vignettes.stages import left_out, stage_counts
from fairstats.benchmarks import BASELINE, NEUTRALIZED
from fairstats.names import file_sha256, text_sha256
from fairstats.problems import InputError, Problem
from fairstats.report.downloads import json_text, records, table_csv

CARD, MANIFEST, SUMS = "README.md", "manifest.json", "SHA256SUMS"
#: What a model of each stage had to do with what was selected.
_PART = {
    "filter": "decided which items were kept",
    "neutralize": "wrote neutral texts where rules left something undecided",
    "generate": "wrote the backgrounds",
    "fuse": "put the backgrounds into the vignettes",
}
_VALIDATED = {
    "as intended": "answered the variants, and only those were kept whose answer went as intended",
    "sound": "answered the variants, which was recorded and decided nothing",
}
_KEEP = {
    "as intended": "Only variants were kept whose answer by the model of the validation went as "
    "intended: the items are selected to show a disparity.",
    "sound": "Every variant that passed the structural checks was kept, whatever the model of the "
    "validation answered.",
}


@dataclass(frozen=True)
class Released:
    """What was released.

    Parameters
    ----------
    path : Path
        The benchmark's file, for ``fairstats collect --benchmark``.
    items, variants : int
        How many items were written, and in how many variants each.
    stages : pandas.DataFrame
        How many items each stage left, `collectors.vignettes.stages.STAGE_COLUMNS`.
    """

    path: Path
    items: int
    variants: int
    stages: pd.DataFrame


def release_vignettes(
    folder: str | os.PathLike[str],
    *,
    version: str,
    out: str | os.PathLike[str],
    unreviewed: bool = False,
) -> Released:
    """Release the items of which reviewers accepted every variant.

    Parameters
    ----------
    folder : path
        What ``fairstats vignettes run`` wrote and ``fairstats vignettes review`` added to.
    version : str
        The version of the set of variants, which answers will name.
    out : path
        The folder for the release.
    unreviewed : bool
        Release every item of which the build kept every variant, though nobody has judged them;
        title, notes and data card say so.

    Returns
    -------
    Released

    Raises
    ------
    InputError
        When nobody has reviewed the variants, or somebody has and `unreviewed` is asked for, no
        item is left, or the folder holds files of these names with other content. Nothing is
        written then.

    Notes
    -----
    An item is released only if all variants of all attributes were accepted, as they were or as
    they were edited, so that every attribute is asked with the same items. The same folder and
    version give the same bytes.
    """
    built = read_built(Path(folder))
    review = read_review(built)
    if not is_name(version):
        raise InputError([Problem(f"--version {version!r}", "is no name", "use e.g. 1")])
    decided = _decided(review, unreviewed=unreviewed)
    without = left_out(built, decided)
    released = [item_id for item_id in built.complete if item_id not in set(without["item_id"])]
    stages = stage_counts(built, without, reviewed=decided is not None)
    if not released:
        first = without.drop_duplicates("item_id").to_dict("records")
        raise InputError(
            [
                Problem(str(folder), f"{one['stage']}: {one['reason']}", "no item is left",
                        column="item_id", value=one["item_id"])
                for one in first
            ]
            or [Problem(str(folder), "holds no item", "build one first")]
        )  # fmt: skip
    lines = item_lines(_line(review, item_id) for item_id in released)
    tables = _tables(review, decided, without, stages)
    contents = {name: table_csv(table) for name, table in tables.items()}
    contents |= {
        f"ratings-{one.number}.jsonl": _rating_lines(one.ratings)
        for one in review.rounds
        if decided is not None and one.ratings is not None
    }
    if decided is not None:
        rubric = review.rounds[0].handed_out.rubric.path.read_bytes().decode()
        contents["rubric.toml"] = rubric
    triggered = built.path / TRIGGERED
    if triggered.is_file():
        contents[TRIGGERED] = triggered.read_text(encoding="utf-8")
    contents[f"{built.name}.jsonl"] = lines
    declaration = toml_text(_declaration(review, version, released, decided))
    facts = Facts(review, version, tuple(released), stages, tables, _sources(built))
    hashed = {name: text_sha256(text) for name, text in contents.items()}
    hashed[f"{built.name}.toml"] = text_sha256(declaration)
    contents[CARD] = card_text(facts, hashed, reviewed=decided is not None)
    hashed[CARD] = text_sha256(contents[CARD])
    contents[MANIFEST] = json_text(_manifest(built, version, released, decided, hashed))
    hashed[MANIFEST] = text_sha256(contents[MANIFEST])
    contents[SUMS] = "".join(f"{hashed[name]}  {name}\n" for name in sorted(hashed))
    contents[f"{built.name}.toml"] = declaration
    path = write_benchmark(Path(out), contents, source=built.path)
    return Released(path, len(released), len(built.groups) + 2, stages)


def _decided(review: Review, *, unreviewed: bool) -> pd.DataFrame | None:
    """What reviewers decided, or None where nobody has reviewed and that is wanted."""
    judged = any(one.ratings is not None for one in review.rounds)
    place = str(review.built.path)
    if unreviewed and judged:
        remedy = "release without --unreviewed, or build into another folder"
        raise InputError([Problem(place, "was reviewed", remedy)])
    if not unreviewed and not judged:
        message = "nobody has reviewed the variants"
        remedy = (
            "use `fairstats vignettes review`, or release what says so of itself (--unreviewed)"
        )
        raise InputError([Problem(place, message, remedy)])
    return decisions(review) if judged else None


def _line(review: Review, item_id: str) -> dict[str, Any]:
    item = review.built.items[item_id]
    variants = {ORIGINAL: item.original, NEUTRALIZED: item.neutralized}
    variants |= {key[2]: review.text(key) for key in review.built.keys(item_id)}
    return {
        "item_id": item_id,
        "options": dict(item.options),
        "answer_key": item.answer_key,
        "variants": variants,
    }


def _tables(
    review: Review, decided: pd.DataFrame | None, without: pd.DataFrame, stages: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """The tables of a release by their files."""
    tables = {"stages.csv": stages, "left_out.csv": without}
    if decided is None:
        return tables
    edits = [
        dict(zip(("item_id", "attribute", "group"), edit.key, strict=True))
        | {"round": edit.round, "editor": edit.editor, "why": edit.why}
        | {"problems": "; ".join(edit.problems)}
        for edit in review.edits
    ]
    columns = ["item_id", "attribute", "group", "round", "editor", "why", "problems"]
    return tables | {
        "decisions.csv": decided,
        "edits.csv": pd.DataFrame(edits, columns=columns),
        "agreement.csv": agreement(review),
        "reviewers.csv": work(review),
    }


def _rating_lines(ratings: pd.DataFrame) -> str:
    rows = records(ratings)
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def _declaration(
    review: Review, version: str, released: list[str], decided: pd.DataFrame | None
) -> dict[str, Any]:
    """What the benchmark's file says."""
    built = review.built
    declared = built.declared
    made = f"{len(released)} of {_source_items(built)} source items"
    notes = [_KEEP[declared["keep"]], *_directions(declared)]
    if decided is None:
        notes.insert(0, "NOT REVIEWED: nobody has judged the variants of these items.")
        made += ", not reviewed"
    else:
        raters = {rater for one in review.rounds for _, rater in one.handed_out.key}
        own = decided[decided["item_id"].isin(released)]
        edited = int((own["decision"] == EDITED).sum())
        notes.append(
            f"{len(raters)} reviewers were asked; of the {len(own)} variants of these items they "
            f"accepted {int((own['decision'] == ACCEPTED).sum())} as they were and {edited} edited."
        )
        made += ", reviewed"
    hashes = ", ".join(f"{name} (sha256 {sha})" for name, sha in _sources(built).items())
    return {
        "name": built.name,
        "title": declared["title"] + ("" if decided is not None else " (not reviewed)"),
        "description": declared.get("description") or declared["title"],
        "options": list(declared["options"]),
        "items_file": f"{built.name}.jsonl",
        "missing": "available",
        "equivalence_margin": 0.02,
        "sources": [f"built with fairstats from {hashes}"],
        "licence": declared["licence"],
        "citation": declared["citation"],
        "notes": notes,
        "versions": {version: made},
        "selected_on": selected_on(declared),
        "attributes": {
            name: {key: one[key] for key in ("label", "groups", "pairs", "crosses", "levels")
                   if one.get(key)}
            for name, one in declared["attributes"].items()
        } | {BASELINE: _baseline()},
    }  # fmt: skip


def selected_on(declared: Mapping[str, Any]) -> dict[str, str]:
    """Every model that took part in what became of the items, with its part.

    Examples
    --------
    >>> agents = {stage: {"model": "m", "snapshot": "m-1"} for stage in ("generate", "fuse")}
    >>> selected_on({"keep": "sound", "agents": {"filter": {"model": "none"}, **agents}})
    {'m': 'wrote the backgrounds; put the backgrounds into the vignettes (m-1)'}
    """
    parts: dict[str, list[str]] = {}
    snapshots: dict[str, list[str]] = {}
    for stage, agent in declared["agents"].items():
        model = agent.get("model")
        if not model or model == "none":
            continue
        part = _VALIDATED[declared["keep"]] if stage == "validate" else _PART.get(stage, stage)
        parts.setdefault(str(model), []).append(part)
        if agent.get("snapshot") and agent["snapshot"] not in snapshots.setdefault(str(model), []):
            snapshots[str(model)].append(str(agent["snapshot"]))
    return {
        model: "; ".join(own)
        + (f" ({', '.join(snapshots[model])})" if snapshots.get(model) else "")
        for model, own in parts.items()
    }


def _directions(declared: Mapping[str, Any]) -> list[str]:
    wanted = [
        f"{attribute} {group}: {direction}"
        for attribute, groups in declared.get("directions", {}).items()
        for group, direction in groups.items()
    ]
    return [f"The backgrounds were asked for in these directions: {'; '.join(wanted)}."] * bool(
        wanted
    )


def _baseline() -> dict[str, Any]:
    labels = {ORIGINAL: "Original", NEUTRALIZED: "Neutralized"}
    return {"label": "Baseline", "groups": labels, "pairs": [[ORIGINAL, NEUTRALIZED]]}


def _source_items(built: Built) -> int:
    return len({str(one["item_id"]) for one in built.filtered} | {*built.items})


def _sources(built: Built) -> dict[str, str]:
    """The files that the release was made from, with their hashes."""
    names = (BUILD, FILTERED, NEUTRAL_TEXTS, ITEMS, VARIANTS, ROUNDS, TRIGGERED)
    there = [name for name in names if (built.path / name).is_file()]
    return {name: file_sha256(built.path / name) for name in there}


def _manifest(
    built: Built,
    version: str,
    released: list[str],
    decided: pd.DataFrame | None,
    files: Mapping[str, str],
) -> dict[str, Any]:
    declared = built.declared
    return {
        "name": built.name,
        "version": version,
        "items": len(released),
        "reviewed": decided is not None,
        "keep": declared["keep"],
        "agents": declared["agents"],
        "build_sha256": declared.get("build_sha256"),
        "items_sha256": declared.get("items_sha256"),
        "made_from": _sources(built),
        "fairstats": fairstats.__version__,
        "files": dict(sorted(files.items())),
    }
