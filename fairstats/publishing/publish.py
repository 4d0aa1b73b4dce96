"""Publish a release: an immutable folder of a site with answers, tables, manifest and pages."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import shutil
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from fairstats._lib.atomic_files import named_errors, temporary_folder, unfinished
from fairstats._lib.installation import __version__
from fairstats._lib.paths import AnyPath, Paths
from fairstats._lib.problems import InputError, Note, first_of, input_error, wrong
from fairstats._lib.processes import Watch, give_memory_back, unwatched
from fairstats._lib.safe_names import is_portable
from fairstats._lib.table_text import write_text
from fairstats.answers import MEMORY_LIMIT, PublishingEngine
from fairstats.answers.engines import engine_problems
from fairstats.answers.files import write_parquet
from fairstats.benchmarks.benchmark_files import copy_benchmarks
from fairstats.benchmarks.declaration import Benchmark, MissingPolicy
from fairstats.comparisons.successors import facts_of_models, read_overruled, successors_of
from fairstats.exports.catalogues import PUBLISHER, citation_cff, write_croissant
from fairstats.exports.export import Options
from fairstats.inference._checks import check_choice
from fairstats.publishing.diff import changes, earlier_comparisons
from fairstats.publishing.inputs import (
    read_inputs,
    refuse_blocked,
    refuse_level,
)
from fairstats.publishing.json_api import write_api
from fairstats.publishing.site_folder import (
    API,
    LATEST,
    RELEASE_LIST,
    assemble,
    listed_releases,
    locked,
)
from fairstats.ratings.rubrics import Rubrics, copy_rubrics
from fairstats.release.contents import DOWNLOADS, INPUTS, RELEASES, Release, releases_of
from fairstats.release.manifest import (
    RELEASE_NAME,
    check_manifests,
    facts_of,
    file_hashes,
    open_release,
    previous_release,
    read_manifest,
    write_manifest,
)
from fairstats.release.tables import ReleaseInputs, tables_of, write_table
from fairstats.report.render import Renderer, render
from fairstats.report.site_settings import (
    OWN_PAGES,
    OwnPages,
    SiteSettings,
    read_pages,
    settings_of,
)

CITATION = "CITATION.cff"
PDF = "leaderboard.pdf"
#: The tables of changes since the previous release. The first release does not have them.
CHANGES = ("answer_set_changes", "figure_changes", "verdict_changes", "earlier_comparisons")

_LIBRARIES = (
    "great-tables",
    "narwhals",
    "numpy",
    "pandas",
    "pandera",
    "plotnine",
    "pyarrow",
    "pypandoc_binary",
    "scipy",
    "statsmodels",
    "typst",
)

#: Inputs, tables, the hash of each file, and the overruled answer sets with the reasons.
_Computed = tuple[
    ReleaseInputs, dict[str, pd.DataFrame], list[dict[str, str]], list[dict[str, str]]
]


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
    answers: Paths,
    *,
    release: str,
    out: AnyPath,
    retrievals: Paths = (),
    ratings: Paths = (),
    measures: Paths = (),
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    without_retrievals: bool = False,
    overrule: Mapping[str, str] | None = None,
    renderer: Renderer = "auto",
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    rubrics: Rubrics = (),
    models: AnyPath | None = None,
    pages: AnyPath | None = None,
    engine: PublishingEngine = "pandas",
    memory_limit: str = MEMORY_LIMIT,
    watch: Watch = unwatched,
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
    overrule : mapping of str to str, optional
        Models whose answers are published although screening blocks them, and the reason. The
        manifest and the pages state it for each blocked answer set.
    missing, alpha, benchmarks
        As for `fairstats.analyze`, but `alpha` must be from 0.001 to 0.1, and a benchmark with a
        built-in one's name must have the same declaration.
    rubrics : iterable or mapping of Rubric
        Rubrics of the ratings that are not built in.
    models : path, optional
        A TOML file that declares which model is the successor of which, see
        `fairstats.comparisons.successors.read_successors`. The older model may be in an earlier
        release of the site. It also declares facts about models, see
        `fairstats.comparisons.successors.facts_of_models`. Its table ``[overrule]`` holds models
        and reasons as `overrule` does, which goes first.
    pages : path, optional
        The folder of the publisher's own pages and site.toml, see
        `fairstats.report.site_settings.read_pages`. The release keeps them.
    renderer : {"auto", "quarto", "builtin"}
        The renderer that draws the pages.
    engine : {"pandas", "duckdb"}
        ``"duckdb"`` does not read the answers into memory, and takes more of them than one file may
        have. It sorts and checks them, stores them as several files (``downloads/answers/``), and
        counts these. Answers must be parquet files with the columns that
        `fairstats.answers.engines.scan_answers` reads, without retrievals or submissions.
    memory_limit : str
        Memory limit of DuckDB, e.g. ``"2GB"``.
    watch : callable, optional
        Called at each stage, with its name, the number of its parts that are done, and of all.

    Returns
    -------
    Published
        With ``new=False`` if the release exists already with the same content.

    Raises
    ------
    InputError
        If the answers have a problem, the name is not valid, or the release exists with different
        content or has existed. If a benchmark has retrievals but no answers, or lacks retrievals
        that a strategy of its answers names (see
        `fairstats.retrieval.variant_lists.strategy_problems`). If answers are majority
        votes, or `alpha` is not from 0.001 to 0.1. If a benchmark has the name of a
        built-in one but a different declaration. If screening blocks answers of a model that
        `overrule` does not name (see `fairstats.screen`), or a submission was not accepted. If
        `models` names an unknown model, or a model succeeds itself. If one of the `pages` cannot be
        part of a release. Then no file is written.
    fairstats._lib.problems.RenderError
        If a page cannot be drawn; then no file is written either.
    """
    refuse_level(alpha)
    named = RELEASE_NAME.fullmatch(release) and is_portable(release)
    if not named or release.lower() == LATEST:
        remedy = f"use letters, digits, dots and hyphens, e.g. 2026.11, but not {LATEST}, a dot at "
        remedy += "the end, or a name that Windows cannot store such as con"
        raise wrong("release", f"{release!r} is not a valid release name", remedy)
    check_choice("engine", engine, get_args(PublishingEngine))
    own = None if pages is None else read_pages(Path(pages))

    def computed(store: Path | None) -> _Computed:
        watch("reading answers", 0, 0)
        of, hashes = read_inputs(
            answers,
            retrievals,
            ratings,
            measures,
            missing=missing,
            alpha=alpha,
            without_retrievals=without_retrievals,
            benchmarks=benchmarks,
            rubrics=rubrics,
            store=store,
            memory_limit=memory_limit,
        )
        check_manifests(Path(out))
        earlier = {
            entry["model"] for one in releases_of(Path(out)) for entry in one.manifest["answers"]
        }
        there = set(of.units["model"])
        named = successors_of(there, earlier, of.benchmarks, models)
        facts = facts_of_models(there, earlier, models) if models is not None else {}
        of = replace(of, successors=named, model_facts=facts)
        tables = tables_of(of, watch)
        reasons = {**(read_overruled(models) if models is not None else {}), **(overrule or {})}
        # A copy, without what was counted for the tables.
        return replace(of), tables, hashes, refuse_blocked(of, tables["screening"], reasons)

    with ExitStack() as stack:
        store = stack.enter_context(temporary_folder("answers")) if engine == "duckdb" else None
        with engine_problems(engine):
            content = [computed(store)]
        with named_errors(Path(out)), locked(Path(out)):
            return _publish_into(Path(out), release, content, renderer, own, watch)


def _publish_into(
    site: Path,
    release: str,
    content: list[_Computed],
    renderer: Renderer,
    own: OwnPages | None,
    watch: Watch,
) -> Published:
    """Write and draw a release, unless it exists already; the caller holds the site's lock.

    It takes the content out of the list, and frees it before it reads the release.
    """
    of, tables, sources, overruled = content.pop()
    watch("writing tables", 0, 0)
    facts = facts_of(of, tables)
    final = site / RELEASES / release
    if final.exists():
        _refuse_other_content(final, facts["content"], overruled, own)
        assemble(site)
        return Published(final, new=False)
    check_manifests(site)
    # The pages show figures of earlier releases.
    before = [open_release(other.path) for other in releases_of(site)]
    _refuse_again(site, release, before)
    created_at = datetime.now(UTC)
    _refuse_place(release, before, created_at)
    building = unfinished(final)
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
            "successors": dict(of.successors),
            "models": dict(of.model_facts),
            **facts,
            "previous": previous_release(before[-1]) if before else None,
        }
        write_manifest(manifest, building)
        # The release reads its files itself.
        del of, tables
        give_memory_back()
        if before:
            write_changes(made, building)
        if own is not None:
            own.write(building / OWN_PAGES)
        write_documents(made, building)
        manifest["drawn_by"] = draw_pages(made, building, renderer, watch)
        watch("putting the site together", 0, 0)
        manifest["files"] = file_hashes(building)
        write_manifest(manifest, building)
        try:
            building.rename(final)
        except OSError:
            if not final.exists():
                raise
            # Another process published first; releases of one name have the same content.
            _refuse_other_content(final, facts["content"], overruled, own)
            return Published(final, new=False)
    finally:
        shutil.rmtree(building, ignore_errors=True)
        # Removes only an empty folder, left if the first release of a site could not be drawn.
        with suppress(OSError):
            building.parent.rmdir()
    # The site reads its releases itself.
    del made, before
    give_memory_back()
    assemble(site)
    return Published(final, new=True)


def _refuse_again(site: Path, release: str, before: list[Release]) -> None:
    """Refuse the name of a release that the site no longer has; note others that it lists.

    Readers have its figures under this name. The list is written again with every release, but the
    next release names the one before it for good.
    """
    gone = [name for name in listed_releases(site) if not (site / RELEASES / name).exists()]
    followed = {(one.manifest.get("previous") or {}).get("release") for one in before}
    if release in {*gone, *followed}:
        message = f"release {release} was published before, and its folder is gone"
        remedy = "restore the folder, or use a new name: a release never changes"
        raise wrong("release", message, remedy)
    if gone:
        message = f"{site / RELEASE_LIST} lists {first_of(gone)}, and the site no longer has it"
        warnings.warn(f"{message}; readers will miss it", Note, stacklevel=2)


def _refuse_place(release: str, before: list[Release], created_at: datetime) -> None:
    """Refuse a name that differs only in case, or a time before the newest release."""
    for other in before:
        if other.name.lower() == release.lower():
            message = f"differs from release {other.name} only in upper and lower case"
            raise wrong("release", message, "give it another name")
    if before and pd.Timestamp(created_at) <= before[-1].created_at:
        message = f"is older than release {before[-1].name} ({before[-1].manifest['created_at']})"
        raise input_error("the clock of this machine", message, "correct the clock")


def _refuse_other_content(
    final: Path,
    content: Mapping[str, str],
    overruled: Sequence[Mapping[str, Any]],
    own: OwnPages | None,
) -> None:
    try:
        manifest = read_manifest(final)
    except InputError:
        message, remedy = "exists but is not a release", "use another name or folder"
        raise input_error(final, message, remedy) from None
    other = [name for name in content if manifest["content"].get(name) != content[name]]
    if manifest.get("overruled", []) != overruled:
        other.append("reasons of overruled models")
    given = {f"{OWN_PAGES}/{name}": text for name, text in (own.files if own else {}).items()}
    kept = {name: sha for name, sha in manifest["files"].items() if name.startswith(OWN_PAGES)}
    if kept != {name: hashlib.sha256(text).hexdigest() for name, text in given.items()}:
        other.append(OWN_PAGES)
    if other:
        message = f"is already published with different {' and '.join(other)}"
        raise input_error(final, message, "use a new name: a release never changes")


@cache
def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that compute and draw a release."""
    return {name: importlib.metadata.version(name) for name in _LIBRARIES}


def write_inputs(of: ReleaseInputs, release: Release) -> None:
    """Write the inputs of a release's tables, which were checked, into its folder."""
    if isinstance(of.answers, pd.DataFrame):
        write_parquet(of.answers, release.answers_path)
    else:
        shutil.copytree(of.answers.folder, release.answers_folder)
    for name in INPUTS[1:]:
        write_parquet(getattr(of, name), release.table_path(name))


def write_changes(release: Release, folder: Path) -> None:
    """Write the tables of changes since the earlier releases."""
    found = changes(release.earlier[-1], release)
    tables = (found.answer_sets, found.figures, found.verdicts, earlier_comparisons(release))
    for name, table in zip(CHANGES, tables, strict=True):
        write_table(table, folder / DOWNLOADS, name)


def write_documents(release: Release, folder: Path) -> None:
    """Write the JSON API, its badges, the citation file and the description of the downloads."""
    write_api(release, folder / API)
    stated = settings_of(release)
    cited = citation_cff(
        release,
        publisher=stated.publisher or PUBLISHER,
        title="" if stated.title == SiteSettings().title else stated.title,
        licence=stated.licence,
    )
    write_text(cited, folder / CITATION)
    write_croissant(release, folder / DOWNLOADS, Options())


def draw_pages(release: Release, folder: Path, renderer: Renderer, watch: Watch = unwatched) -> str:
    """Draw the pages and the PDF; return the name of the renderer."""
    return render(release, site=folder, pdf=folder / PDF, renderer=renderer, watch=watch)
