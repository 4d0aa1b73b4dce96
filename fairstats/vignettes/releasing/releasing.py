"""Release a built and reviewed benchmark: items, declaration, data card and hashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.installation import __version__
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import InputError, Problem, input_error, keyword, laid_out, wrong
from fairstats._lib.safe_names import file_sha256, text_sha256
from fairstats._lib.table_text import json_text, records, table_csv
from fairstats.benchmarks.benchmark_files import (
    attribute_table,
    item_lines,
    toml_text,
    write_benchmark,
)
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, ORIGINAL
from fairstats.ratings.collection.subjects import is_name
from fairstats.vignettes.building.folder import (
    BUILD,
    FILES,
    KEY,
    TRIGGERED,
    Built,
    read_built,
)
from fairstats.vignettes.releasing.data_card import Facts, card_text, is_substitution, took_part
from fairstats.vignettes.releasing.tables import agreement, left_out, stage_counts, work
from fairstats.vignettes.review.rounds import ACCEPTED, EDITED, Review, decisions, read_review
from fairstats.vignettes.rules.substitute import baseline_of

CARD, MANIFEST, SUMS = "README.md", "manifest.json", "SHA256SUMS"


@dataclass(frozen=True)
class Released:
    """Result of a release.

    Stages are the number of items left, `fairstats.vignettes.releasing.tables.STAGE_COLUMNS`.
    """

    path: Path
    items: int
    variants: int
    stages: pd.DataFrame


def release_vignettes(
    folder: AnyPath,
    *,
    version: str,
    out: AnyPath,
    unreviewed: bool = False,
) -> Released:
    """Release the items with every variant accepted by reviewers.

    Parameters
    ----------
    folder : path
        The output of ``fairstats vignettes run``, with the review by ``fairstats vignettes
        review``.
    version : str
        The version of the set of variants, to be named in answers.
    out : path
        The folder for the release.
    unreviewed : bool
        Release every item with all variants kept by the build, without a review; title, notes and
        data card state this.

    Raises
    ------
    InputError
        If the variants have not been reviewed, or have been and `unreviewed` is set, no item is
        left, or the folder has files of these names with other content. Nothing is then written.

    Notes
    -----
    An item is released only if all variants of all attributes were accepted, with or without edits.
    So every attribute is asked with the same items. The same folder and version give the same
    bytes.
    """
    if not is_name(version):
        raise wrong("version", "is not a valid version", "use e.g. 1", value=version)
    message = "is not as `fairstats vignettes run` and `review` wrote it"
    with laid_out(folder, message, "build it again, or copy the original folder"):
        return _release(Path(folder), version, Path(out), unreviewed=unreviewed)


def _release(folder: Path, version: str, out: Path, *, unreviewed: bool) -> Released:
    built = read_built(folder)
    review = read_review(built)
    decided = _decided(review, unreviewed=unreviewed)
    without = left_out(built, decided)
    lost = set(without["item_id"])
    released = tuple(item_id for item_id in built.complete if item_id not in lost)
    if not released:
        raise _nothing_left(built, without)
    facts = Facts(review, version, released, _tables(review, decided, without), _sources(built))
    contents = {name: table_csv(table) for name, table in facts.tables.items()} | _beside(facts)
    contents[f"{built.name}.jsonl"] = item_lines(_line(review, item_id) for item_id in released)
    # The declaration is last, so that an incomplete folder is not a benchmark.
    last = {f"{built.name}.toml": toml_text(declaration(facts))}
    contents[CARD] = card_text(facts, _hashes(contents | last))
    manifest = {
        "name": built.name,
        "version": version,
        "items": len(released),
        "reviewed": facts.reviewed,
        "keep": built.declared["keep"],
        "agents": built.declared["agents"],
        "build_sha256": built.declared.get("build_sha256"),
        "items_sha256": built.declared.get("items_sha256"),
        "made_from": facts.sources,
        "fairstats": __version__,
        "files": _hashes(contents | last),
    }
    contents[MANIFEST] = json_text(manifest)
    sums = _hashes(contents | last)
    contents[SUMS] = "".join(f"{sha}  {name}\n" for name, sha in sums.items())
    path = write_benchmark(Path(out), contents | last, source=built.path)
    return Released(path, len(released), len(built.groups) + 2, facts.tables["stages.csv"])


def _nothing_left(built: Built, without: pd.DataFrame) -> InputError:
    place = str(built.path)
    problems = [
        Problem(place, f"{one['stage']}: {one['reason']}", "no items are left", column="item_id",
                value=one["item_id"])
        for one in without.drop_duplicates("item_id").to_dict("records")
    ]  # fmt: skip
    return InputError(problems or [Problem(place, "contains no items", "build some first")])


def _beside(facts: Facts) -> dict[str, str]:
    """Return files to include unchanged: ratings and rubric, and answers by round."""
    review, texts = facts.review, {}
    if facts.reviewed:
        texts = {
            f"ratings-{one.number}.jsonl": item_lines(records(one.ratings))
            for one in review.rounds
            if one.ratings is not None
        }
        texts["rubric.toml"] = review.rounds[0].handed_out.rubric.declaration
    triggered = review.built.path / TRIGGERED
    if triggered.is_file():
        texts[TRIGGERED] = triggered.read_text(encoding="utf-8")
    return texts


def _hashes(contents: Mapping[str, str]) -> dict[str, str]:
    return {name: text_sha256(contents[name]) for name in sorted(contents)}


def _decided(review: Review, *, unreviewed: bool) -> pd.DataFrame | None:
    """Return the reviewers' decisions, or None for an intended release without review."""
    judged = bool(review.edits) or any(one.ratings is not None for one in review.rounds)
    place = str(review.built.path)
    if unreviewed and judged:
        remedy = f"release without {keyword('unreviewed', True)}, or build into another folder"
        raise input_error(place, "was reviewed", remedy)
    if not unreviewed and not judged:
        message = "the variants have not been reviewed"
        remedy = (
            "use `fairstats vignettes review`, or release them marked as unreviewed with "
            f"{keyword('unreviewed', True)}"
        )
        raise input_error(place, message, remedy)
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
    review: Review, decided: pd.DataFrame | None, without: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Return the tables of a release by file."""
    stages = stage_counts(review.built, without, reviewed=decided is not None)
    tables = {"stages.csv": stages, "left_out.csv": without}
    if decided is None:
        return tables
    columns = [*KEY, "round", "editor", "why", "problems"]
    edits = [edit.model_dump() | {"problems": "; ".join(edit.problems)} for edit in review.edits]
    return tables | {
        "decisions.csv": decided,
        "edits.csv": pd.DataFrame(edits, columns=columns),
        "agreement.csv": agreement(review),
        "reviewers.csv": work(review),
    }


def _sources(built: Built) -> dict[str, str]:
    """Return the source files of the release, with their hashes."""
    there = [name for name in (BUILD, *FILES) if (built.path / name).is_file()]
    return {name: file_sha256(built.path / name) for name in there}


#: The role of each stage's model in the selection.
_PART = {
    "filter": "decided which items were kept",
    "neutralize": "wrote neutral texts if the rules could not decide",
    "generate": "wrote the backgrounds",
    "fuse": "put the backgrounds into the vignettes",
}
_VALIDATED = {
    "as intended": "answered the variants; only variants with the intended answer were kept",
    "sound": "answered the variants; its answers were recorded but not used for selection",
}
_KEEP = {
    "as intended": "Only variants with the intended answer of the validation model were kept, so "
    "the items were selected to show a disparity.",
    "sound": "All variants that passed the structural checks were kept, whatever the validation "
    "model answered.",
}


def declaration(facts: Facts) -> dict[str, Any]:
    """Return the content of the benchmark's file."""
    built = facts.review.built
    declared = built.declared
    made = f"{len(facts.released)} of {len(built.source_items)} source items"
    notes = [_KEEP[declared["keep"]], *_directions(declared)]
    if not facts.reviewed:
        notes.insert(0, "NOT REVIEWED: the variants of these items have not been judged.")
        made += ", not reviewed"
    else:
        raters = {rater for one in facts.review.rounds for _, rater in one.handed_out.key}
        decided = facts.tables["decisions.csv"]
        own = decided[decided["item_id"].isin(facts.released)]
        edited = int((own["decision"] == EDITED).sum())
        notes.append(
            f"{len(raters)} reviewers took part. Of the {len(own)} variants of these items they "
            f"accepted {int((own['decision'] == ACCEPTED).sum())} unchanged and {edited} edited."
        )
        made += ", reviewed"
    hashes = ", ".join(f"{name} (sha256 {sha})" for name, sha in facts.sources.items())
    return {
        "name": built.name,
        "title": declared["title"] + ("" if facts.reviewed else " (not reviewed)"),
        "description": declared.get("description") or declared["title"],
        "options": list(declared["options"]),
        "items_file": f"{built.name}.jsonl",
        "missing": "available",
        "equivalence_margin": 0.02,
        "sources": [f"built with fairstats from {hashes}"],
        "licence": declared["licence"],
        "citation": declared["citation"],
        "notes": notes,
        "versions": {facts.version: made},
        "selected_on": selected_on(declared),
        "attributes": {
            name: {key: one[key] for key in ("label", "groups", "pairs", "crosses", "levels")
                   if one.get(key)}
            for name, one in declared["attributes"].items()
        } | {BASELINE: attribute_table(baseline_of())},
    }  # fmt: skip


def selected_on(declared: Mapping[str, Any]) -> dict[str, str]:
    """Return every model that affected which items were kept, with its role.

    Examples
    --------
    >>> agents = {stage: {"model": "m", "snapshot": "m-1"} for stage in ("generate", "fuse")}
    >>> selected_on({"keep": "sound", "agents": {"filter": {"model": "none"}, **agents}})
    {'m': 'wrote the backgrounds; put the backgrounds into the vignettes (m-1)'}
    """
    parts: dict[str, list[str]] = {}
    snapshots: dict[str, list[str]] = {}
    for stage, agent in declared["agents"].items():
        if not took_part(agent):
            continue
        model = agent["model"]
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
    if is_substitution(declared):
        return ["Only the words for a group were inserted; no background was written."]
    wanted = [
        f"{attribute} {group}: {direction}"
        for attribute, groups in declared.get("directions", {}).items()
        for group, direction in groups.items()
    ]
    return [f"The backgrounds were requested in these directions: {'; '.join(wanted)}."] * bool(
        wanted
    )
