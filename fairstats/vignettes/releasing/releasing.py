"""Release a built and reviewed benchmark: items, declaration, data card and hashes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.problems import InputError, Problem, laid_out
from fairstats._lib.safe_names import file_sha256, text_sha256
from fairstats._lib.table_text import json_line, json_text, records, table_csv
from fairstats._lib.version import __version__
from fairstats.benchmarks.benchmark_files import item_lines, toml_text, write_benchmark
from fairstats.benchmarks.declaration import NEUTRALIZED
from fairstats.ratings.collection.subjects import is_name
from fairstats.vignettes.building.built_benchmark import Built, read_built
from fairstats.vignettes.building.folder import (
    BUILD,
    FILTERED,
    ITEMS,
    NEUTRALIZED_ITEMS,
    ROUNDS,
    TRIGGERED,
    VARIANTS,
)
from fairstats.vignettes.releasing.data_card import Facts, card_text
from fairstats.vignettes.releasing.release_declaration import declaration
from fairstats.vignettes.releasing.stages import left_out, stage_counts
from fairstats.vignettes.review.decisions import decisions
from fairstats.vignettes.review.figures import agreement, work
from fairstats.vignettes.review.rounds import Review, read_review
from fairstats.vignettes.rules.groups import ORIGINAL

CARD, MANIFEST, SUMS = "README.md", "manifest.json", "SHA256SUMS"


@dataclass(frozen=True)
class Released:
    """Result of a release.

    Parameters
    ----------
    path : Path
        The benchmark's file, for ``fairstats collect --benchmark``.
    items, variants : int
        Number of items written, and of variants of each.
    stages : pandas.DataFrame
        Number of items left after each stage, `fairstats.vignettes.releasing.stages.STAGE_COLUMNS`.
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

    Returns
    -------
    Released

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
        raise InputError(
            [Problem(f"--version {version!r}", "is not a valid version", "use e.g. 1")]
        )
    message = "is not as `fairstats vignettes run` and `review` wrote it"
    with laid_out(folder, message, "build it again, or copy the original folder"):
        return _release(Path(folder), version, Path(out), unreviewed=unreviewed)


def _release(folder: Path, version: str, out: Path, *, unreviewed: bool) -> Released:
    built = read_built(folder)
    review = read_review(built)
    decided = _decided(review, unreviewed=unreviewed)
    without = left_out(built, decided)
    lost = set(without["item_id"])
    released = [item_id for item_id in built.complete if item_id not in lost]
    if not released:
        raise _nothing_left(built, without)
    stages = stage_counts(built, without, reviewed=decided is not None)
    tables = _tables(review, decided, without, stages)
    sources = _sources(built)
    # The declaration is last, so that an incomplete folder is not a benchmark.
    contents = {name: table_csv(table) for name, table in tables.items()}
    contents |= _beside(review, reviewed=decided is not None)
    contents[f"{built.name}.jsonl"] = item_lines(_line(review, item_id) for item_id in released)
    last = {
        f"{built.name}.toml": toml_text(declaration(review, version, released, decided, sources))
    }
    facts = Facts(review, version, tuple(released), stages, tables, sources)
    contents[CARD] = card_text(facts, _hashes(contents | last), reviewed=decided is not None)
    manifest = {
        "name": built.name,
        "version": version,
        "items": len(released),
        "reviewed": decided is not None,
        "keep": built.declared["keep"],
        "agents": built.declared["agents"],
        "build_sha256": built.declared.get("build_sha256"),
        "items_sha256": built.declared.get("items_sha256"),
        "made_from": sources,
        "fairstats": __version__,
        "files": _hashes(contents | last),
    }
    contents[MANIFEST] = json_text(manifest)
    sums = _hashes(contents | last)
    contents[SUMS] = "".join(f"{sha}  {name}\n" for name, sha in sums.items())
    path = write_benchmark(Path(out), contents | last, source=built.path)
    return Released(path, len(released), len(built.groups) + 2, stages)


def _nothing_left(built: Built, without: pd.DataFrame) -> InputError:
    place = str(built.path)
    problems = [
        Problem(place, f"{one['stage']}: {one['reason']}", "no items are left", column="item_id",
                value=one["item_id"])
        for one in without.drop_duplicates("item_id").to_dict("records")
    ]  # fmt: skip
    return InputError(problems or [Problem(place, "contains no items", "build some first")])


def _beside(review: Review, *, reviewed: bool) -> dict[str, str]:
    """Return files to include unchanged: ratings and rubric, and answers by round."""
    texts = {}
    if reviewed:
        texts = {
            f"ratings-{one.number}.jsonl": _rating_lines(one.ratings)
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
        remedy = "release without --unreviewed, or build into another folder"
        raise InputError([Problem(place, "was reviewed", remedy)])
    if not unreviewed and not judged:
        message = "the variants have not been reviewed"
        remedy = (
            "use `fairstats vignettes review`, or release them marked as unreviewed (--unreviewed)"
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
    """Return the tables of a release by file."""
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
    return "".join(f"{json_line(row)}\n" for row in records(ratings))


def _sources(built: Built) -> dict[str, str]:
    """Return the source files of the release, with their hashes."""
    names = (BUILD, FILTERED, NEUTRALIZED_ITEMS, ITEMS, VARIANTS, ROUNDS, TRIGGERED)
    there = [name for name in names if (built.path / name).is_file()]
    return {name: file_sha256(built.path / name) for name in there}
