"""Publish a release: an immutable folder of a site with answers, tables, manifest and pages."""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.atomic_files import named_errors
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.untrusted_files import FileBytes, read_once
from fairstats._lib.version import __version__
from fairstats.answers.benchmark_checks import read_valid
from fairstats.answers.files import (
    MEASURES_SUFFIX,
    RATINGS_SUFFIX,
    RETRIEVALS_SUFFIX,
    answer_files,
    files_ending,
)
from fairstats.answers.schema import KEY_COLUMNS
from fairstats.answers.strategies import votes_among
from fairstats.benchmarks.benchmark_files import copy_benchmarks
from fairstats.benchmarks.declaration import Benchmark, MissingPolicy
from fairstats.benchmarks.loading import (
    builtin_benchmarks,
    by_name,
    load_benchmark,
    load_benchmarks,
)
from fairstats.inference._checks import check_alpha
from fairstats.publishing import screening_block
from fairstats.publishing.documents import (
    PDF,
    draw_pages,
    library_versions,
    write_changes,
    write_documents,
    write_inputs,
)
from fairstats.publishing.site_folder import LATEST, assemble, locked
from fairstats.ratings.files import read_ratings
from fairstats.ratings.rubrics import Rubrics, copy_rubrics, load_rubrics
from fairstats.ratings.schema import no_ratings
from fairstats.release.computed_tables import tables_of
from fairstats.release.contents import DOWNLOADS, MANIFEST, RELEASES, Release, releases_of
from fairstats.release.downloads import write_table
from fairstats.release.folder import check_manifests, open_release
from fairstats.release.manifest import (
    ALPHAS,
    RELEASE_NAME,
    facts_of,
    file_hashes,
    previous_release,
    write_manifest,
)
from fairstats.release.tables import ReleaseInputs
from fairstats.report.render import Renderer
from fairstats.retrieval.retrievals_table import RETRIEVAL_COLUMNS, read_retrievals
from fairstats.retrieval.variant_lists import (
    asked_with,
    no_retrievals,
    open_retrievals,
    refuse_lacking,
)
from fairstats.submissions.folder import accepted_submissions
from fairstats.submissions.records import submission_records
from fairstats.vignettes.measures import no_measures, read_measures


@dataclass(frozen=True)
class Published:
    """Hold the folder of a release, and whether this call made it."""

    path: Path
    new: bool

    @property
    def index(self) -> Path:
        """Return the path of the site's first page."""
        return self.path / "index.html"

    @property
    def pdf(self) -> Path:
        """Return the path of the typeset leaderboard."""
        return self.path / PDF


def publish(
    answers: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    release: str,
    out: str | os.PathLike[str],
    retrievals: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    ratings: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    measures: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    without_retrievals: bool = False,
    overrule: Iterable[str] = (),
    renderer: Renderer = "auto",
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    rubrics: Rubrics = (),
) -> Published:
    """Publish answers as a release of a site, in ``out/v/release/``, with all of its inputs.

    Parameters
    ----------
    answers : path, or iterable of paths
        Answer files or folders, as for `fairstats.read_answers`. Files of retrievals, of
        ratings and vignettes' measures in the folders (``*.retrievals.parquet``,
        ``*.ratings.parquet``, ``*.measures.parquet``) are included automatically. Answers next to
        a ``submission.toml`` must be an accepted submission, see
        `fairstats.submissions.folder.read_submission`.
    release : str
        The release's name, e.g. ``"2026.11"``: letters, digits, dots and hyphens.
    out : path
        The site's folder. Existing releases are not changed; ``latest/`` and the other files around
        them (see `fairstats.publishing.site_folder`) are made again.
    retrievals : path, or iterable of paths
        Other files of retrievals, or folders with them. The release holds ids, ranks, scores and
        hashes of the snippets, not their text.
    ratings : path, or iterable of paths
        Other files of raters' judgements, or folders with them. The release holds all columns
        of the ratings table. These include the ids of raters, which must be pseudonyms.
    measures : path, or iterable of paths
        Other files of vignettes' measures (``fairstats vignettes audit``), or folders with them.
        They contain only numbers, not the text of the vignettes.
    without_retrievals : bool
        Publish answers generated with snippets, even if their retrievals are missing.
    overrule : iterable of str
        Models whose answers are published although screening blocks them. The manifest and the
        pages name them.
    missing, alpha, benchmarks
        As for `fairstats.analyze`, but `alpha` must be from 0.001 to 0.1, and a benchmark with a
        built-in one's name must have the same declaration.
    rubrics : iterable or mapping of Rubric
        Rubrics of the ratings that are not built in.
    renderer : {"auto", "quarto", "builtin"}
        The renderer that draws the pages.

    Returns
    -------
    Published
        With ``new=False`` if the release exists already with the same content.

    Raises
    ------
    InputError
        If the answers have a problem, the name is not valid, or the release exists with different
        content. If a benchmark has retrievals but no answers, or lacks retrievals that a strategy
        of its answers names (see `fairstats.retrieval.variant_lists.strategy_problems`). If answers
        are majority votes, or `alpha` is not from 0.001 to 0.1. If a benchmark has the name of a
        built-in one but a different declaration. If screening blocks answers of a model that
        `overrule` does not name (see `fairstats.screen`), or a submission was not accepted. Then no
        file is written.
    fairstats._lib.problems.RenderError
        If a page cannot be drawn; then no file is written either.
    """
    _refuse_level(alpha)
    if not RELEASE_NAME.fullmatch(release) or release.lower() == LATEST:
        remedy = f"use letters, digits, dots and hyphens, e.g. 2026.11, but not {LATEST}"
        raise InputError([Problem("--release", f"{release!r} is not a valid release name", remedy)])
    named = [answers] if isinstance(answers, (str, os.PathLike)) else list(answers)
    retrieved = files_ending(
        [*named, *_all_files(retrievals, "retrievals", RETRIEVALS_SUFFIX)], RETRIEVALS_SUFFIX
    )
    # Files of retrievals, ratings and measures may be listed among the answers.
    beside = (RETRIEVALS_SUFFIX, RATINGS_SUFFIX, MEASURES_SUFFIX)
    sources = answer_files([path for path in named if not str(path).endswith(beside)])
    given = by_name(benchmarks)
    _refuse_replaced(given)
    judged = files_ending([*named, *_all_files(ratings, "ratings", RATINGS_SUFFIX)], RATINGS_SUFFIX)
    measured = files_ending(
        [*named, *_all_files(measures, "measures", MEASURES_SUFFIX)], MEASURES_SUFFIX
    )
    # Each file is read only once. A file that changes during publishing must not skip the checks,
    # or be published under the hash of other bytes.
    read = {path: read_once(path) for path in (*sources, *retrieved, *judged, *measured)}
    records = submission_records(accepted_submissions(read))
    # Only the name: the path on the publisher's machine is private.
    hashes = [{"name": path.name, "sha256": file.sha256} for path, file in read.items()]
    frame = read_valid([read[path] for path in sources], benchmarks=given)
    frame = frame.sort_values(list(KEY_COLUMNS), ignore_index=True)
    _refuse_votes(frame, sources)
    known = load_benchmarks(frame["benchmark"].unique().tolist(), given)
    lists = _read_all([read[path] for path in retrieved], frame, known)
    ratings_read = [read[path] for path in judged]
    judgements = read_ratings(ratings_read, rubrics=rubrics) if judged else no_ratings()
    asked_by = load_rubrics(judgements["rubric"].unique(), rubrics)
    of_vignettes = _read_measures([read[path] for path in measured], known)
    del read, ratings_read
    if not without_retrievals:
        _refuse_without(frame, lists)
    of = ReleaseInputs(
        frame, lists, judgements, of_vignettes, records, missing, alpha, known, asked_by
    )
    tables = tables_of(of)
    overruled = screening_block.overruled_models(overrule, records)
    screening_block.refuse_blocked(of, tables["screening"], overruled)

    with named_errors(Path(out)), locked(Path(out)):
        return _publish_into(Path(out), release, of, tables, hashes, overruled, renderer)


def _refuse_level(alpha: float) -> None:
    """Refuse a significance level that readers would not expect in a release."""
    low, high = ALPHAS
    if not low <= check_alpha(alpha) <= high:
        message = f"alpha={alpha!r} is not allowed in a release"
        raise InputError([Problem("--alpha", message, f"use {low:g} to {high:g}, e.g. 0.05")])


def _refuse_replaced(given: Mapping[str, Benchmark]) -> None:
    """Refuse benchmarks that have a built-in one's name but declare something else.

    Readers expect the benchmark that they know by this name, with its margin, its limits and its
    list of models that selected the items.
    """
    built_in = builtin_benchmarks()
    problems = [
        Problem(
            str(benchmark.path),
            "has the name of a built-in benchmark, but a different declaration",
            "give it another name",
            column="name",
            value=name,
        )
        for name, benchmark in given.items()
        if name in built_in and benchmark.declaration != load_benchmark(built_in[name]).declaration
    ]
    if problems:
        raise InputError(problems)


def _refuse_votes(answers: pd.DataFrame, sources: list[Path]) -> None:
    """Refuse answers that are votes.

    Votes give the same answer for all variants of an item, so they have no disparity by
    construction. They would count as equivalent, lead a board, and make the adjustment of every
    other test stricter.
    """
    if votes := votes_among(answers["strategy"].unique()):
        paths = ", ".join(map(str, sources))
        message = (
            "are majority votes, so groups cannot differ; releases report votes in a separate table"
        )
        remedy = "remove them: the table `votes` already includes them"
        raise InputError(
            [Problem(paths, message, remedy, column="strategy", value=name) for name in votes]
        )


def _all_files(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], what: str, suffix: str
) -> list[Path]:
    """List the files at these paths; each must be a file with this ending or a folder with one."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    found = [Path(path) for path in given]
    for path in found:
        if not files_ending(path, suffix):
            remedy = f"give a file that ends in {suffix}, or a folder with one"
            raise InputError([Problem(str(path), f"contains no {what}", remedy)])
    return found


def _read_all(
    files: list[FileBytes], answers: pd.DataFrame, benchmarks: Mapping[str, Benchmark]
) -> pd.DataFrame:
    """Read the retrievals of a release: all that its answers used, or an empty table."""
    if not files:
        return no_retrievals()
    retrievals = read_retrievals(files)[list(RETRIEVAL_COLUMNS)]
    for name in sorted(set(retrievals["benchmark"]) - set(benchmarks)):
        message, remedy = (
            "are retrievals for a benchmark with no answers in this release",
            "remove them",
        )
        paths = ", ".join(map(str, files))
        raise InputError([Problem(paths, message, remedy, column="benchmark", value=name)])
    refuse_lacking(answers, open_retrievals(retrievals, benchmarks))
    return retrievals


def _read_measures(files: list[FileBytes], benchmarks: Mapping[str, Benchmark]) -> pd.DataFrame:
    """Read the measures of the benchmarks in these answers."""
    measures = read_measures(files) if files else no_measures()
    paths = ", ".join(map(str, files))
    for name in sorted(set(measures["benchmark"]) - set(benchmarks)):
        message, remedy = (
            "are measures for a benchmark with no answers in this release",
            "remove them",
        )
        raise InputError([Problem(paths, message, remedy, column="benchmark", value=name)])
    for name, own in measures.groupby("benchmark"):
        # Every item needs all its rows: missing rows, or rows of other items, would change every
        # figure.
        leaks = own.loc[own["measure"] == "leakage_overlap", "item_id"].value_counts()
        asked = set(benchmarks[str(name)].answer_keys)
        short = set(leaks[leaks != leaks.max()].index)
        for item in sorted((asked ^ set(own["item_id"])) | (asked ^ set(leaks.index)) | short):
            message = f"is not an item of {name} with all its measures"
            remedy = "measure the items of this benchmark with `fairstats vignettes audit`"
            raise InputError([Problem(paths, message, remedy, column="item_id", value=str(item))])
    return measures


def _refuse_without(answers: pd.DataFrame, retrievals: pd.DataFrame) -> None:
    """Refuse answers that were generated with snippets if no retrievals identify the snippets."""
    searched = set(retrievals["benchmark"])
    lacking = [key[2] for key in asked_with(answers) if key[0] not in searched]
    if lacking:
        message = "was generated with retrieved snippets, but the retrievals file is missing"
        remedy = (
            f"give the folder with its *{RETRIEVALS_SUFFIX}, give the file with --retrievals, or "
            "publish without it (--without-retrievals). A release cannot be changed afterwards"
        )
        problems = [Problem("<answers>", message, remedy, column="strategy", value=lacking[0])]
        raise InputError(problems)


def _publish_into(
    site: Path,
    release: str,
    of: ReleaseInputs,
    tables: Mapping[str, pd.DataFrame],
    sources: list[dict[str, str]],
    overruled: list[str],
    renderer: Renderer,
) -> Published:
    """Write and draw a release, unless it exists already; the caller holds the site's lock."""
    facts = facts_of(of, tables)
    final = site / RELEASES / release
    if final.exists():
        _refuse_other_content(final, facts["content"])
        assemble(site)
        return Published(final, new=False)
    check_manifests(site)
    # The pages show figures of earlier releases.
    before = [open_release(other.path) for other in releases_of(site)]
    created_at = datetime.now(UTC)
    _refuse_place(release, before, created_at)
    building = final.with_name(f".{release}.{os.getpid()}.tmp")
    try:
        (building / DOWNLOADS).mkdir(parents=True)
        made = Release(building)
        write_inputs(of, made)
        for name, table in tables.items():
            write_table(table, building / DOWNLOADS, name)
        copy_benchmarks(of.benchmarks, building / "benchmarks")
        copy_rubrics(of.rubrics, building / "rubrics")
        manifest: dict[str, Any] = {
            "release": release,
            "created_at": created_at.isoformat(timespec="milliseconds"),
            "fairstats": __version__,
            "python": platform.python_version(),
            "libraries": library_versions(),
            "arguments": {"missing": of.missing, "alpha": of.alpha, "renderer": renderer},
            "sources": sources,
            "overruled": overruled,
            **facts,
            "previous": previous_release(before[-1]) if before else None,
        }
        write_manifest(manifest, building)
        if before:
            write_changes(before[-1], made, building)
        write_documents(made, building)
        manifest["drawn_by"] = draw_pages(made, building, renderer)
        manifest["files"] = file_hashes(building)
        write_manifest(manifest, building)
        try:
            building.rename(final)
        except OSError:
            if not final.exists():
                raise
            # Another process published first; releases of one name have the same content.
            _refuse_other_content(final, facts["content"])
            return Published(final, new=False)
    finally:
        shutil.rmtree(building, ignore_errors=True)
        # Removes only an empty folder, left if the first release of a site could not be drawn.
        with suppress(OSError):
            building.parent.rmdir()
    assemble(site)
    return Published(final, new=True)


def _refuse_place(release: str, before: list[Release], created_at: datetime) -> None:
    """Refuse a name that differs only in case, or a time before the newest release."""
    for other in before:
        if other.name.lower() == release.lower():
            message = f"differs from release {other.name} only in upper and lower case"
            raise InputError([Problem("--release", message, "give it another name")])
    if before and pd.Timestamp(created_at) <= before[-1].created_at:
        message = f"is older than release {before[-1].name} ({before[-1].manifest['created_at']})"
        raise InputError([Problem("the clock of this machine", message, "correct the clock")])


def _refuse_other_content(final: Path, content: Mapping[str, str]) -> None:
    try:
        published = json.loads((final / MANIFEST).read_text(encoding="utf-8"))["content"]
    except (OSError, KeyError, json.JSONDecodeError):
        message, remedy = "exists but is not a release", "use another name or folder"
        raise InputError([Problem(str(final), message, remedy)]) from None
    other = [name for name in content if published.get(name) != content[name]]
    if other:
        message = f"is already published with different {' and '.join(other)}"
        remedy = "use a new name: a release never changes"
        raise InputError([Problem(str(final), message, remedy)])
