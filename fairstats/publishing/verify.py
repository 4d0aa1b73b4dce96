"""Recompute a release from its folder, and report differences."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats._lib.atomic_files import temporary_folder
from fairstats._lib.installation import how_to_install
from fairstats._lib.paths import AnyPath, Paths, each_path
from fairstats._lib.problems import InputError, Problem, input_error, keyword, parameter, wrong
from fairstats._lib.processes import give_memory_back
from fairstats._lib.safe_names import SHA256, file_sha256
from fairstats._lib.untrusted_tables import check_parquet
from fairstats.answers.files import read_answers
from fairstats.publishing.inputs import overruling_problems
from fairstats.publishing.publish import write_inputs
from fairstats.publishing.remade_files import copy_problems, refuse_hidden_columns, table_problems
from fairstats.publishing.site_folder import Verification, check_site, has_statements
from fairstats.ratings.table import check_ratings, no_ratings
from fairstats.release.contents import DOWNLOADS, INPUTS, MANIFEST, Release, releases_of
from fairstats.release.manifest import (
    TAKE_AGAIN,
    chain_problems,
    check_manifests,
    facts_of,
    file_problems,
    read_manifest,
)
from fairstats.release.stored_answers import StoredAnswers, store_answers
from fairstats.release.tables import TABLES, ReleaseInputs, tables_of
from fairstats.retrieval.retrievals_table import check_retrievals
from fairstats.retrieval.variant_lists import no_retrievals
from fairstats.submissions.folder import check_submissions
from fairstats.vignettes.tables import check_measures

if TYPE_CHECKING:
    from fairstats.publishing.signing_keys import TrustedKey

#: The facts that a release cannot prove about itself.
_CLAIMS = (
    "not checked: what the manifest states about time, sources and software; texts of the vignettes"
)


def verify(
    path: AnyPath,
    *,
    expect: str | None = None,
    after: str | None = None,
    trust: Paths = (),
    pages: bool = True,
) -> list[Verification]:
    """Verify a release, or a site with all of its releases.

    Parameters
    ----------
    path : path
        A release's folder, or that of a site.
    expect : str, optional
        The sha256 of the newest manifest; for a release, of its manifest. It must come from a place
        that anyone who changed the folder could not change.
    after : str, optional
        The sha256 of a manifest that was the newest of the site before. The site must still have
        it, so an older copy of the site is a problem.
    trust : path, or iterable of paths
        Public keys, or files of them (see docs/trust.md). Then it is a problem if none of these
        keys signed the present state of the site.
    pages : bool
        Whether to draw the pages and the PDF again; if not, they are listed as not checked.

    Returns
    -------
    list of Verification
        One per release, oldest first, and for a site one more. The hash of every file is
        recomputed. The tables are recomputed from the answers, retrievals, ratings, measures and
        benchmarks in the folder, with the arguments of the manifest. Everything else is made again
        from the tables: their CSV form, the JSON API, the badges, the citation, the pages
        and the PDF. A file that publishing does not make is a problem. The earlier releases next to
        a release must be those that its manifest names. For a site, every file around the releases
        is compared with the one made from them.

    Raises
    ------
    InputError
        If there is no release, a manifest cannot be read, or `expect` or `after` is not a hash.
        If a file in `trust` is not a public key, or `trust` or `after` is given for one release.

    Notes
    -----
    Answers that screening blocks are a problem unless the manifest names them as overruled.

    Figures are compared to a relative 1e-9: libraries may differ in their last digit. Everything
    else is compared byte by byte. A different file is reported as "was not verified" if the release
    was made by another version of fairstats, a library or the renderer.

    Each manifest contains the hash of the previous one, so a change to an old release shows in
    every later one. If someone can change the whole folder, they can change all manifests, or drop
    the newest ones. `trust` shows the first, and `expect` shows both. A site that its publisher
    signed can still be an old one: only `expect` and `after` show that.

    Links are not followed, and only regular files inside the folder are read.
    """
    _refuse_hash("expect", expect)
    _refuse_hash("after", after)
    folder = Path(path)
    trusted = each_path(trust)
    if os.path.lexists(folder / MANIFEST):
        if trusted or after is not None:
            given = "trust" if trusted else "after"
            message = f"{folder} is one release, but {parameter(given)} is about a whole site"
            raise wrong(given, message, "give the folder of the site")
        found, releases = [_verified(folder, pages=pages)], [Release(folder)]
        if not found[0].problems and releases[0].earlier:
            names = ", ".join(release.name for release in releases[0].earlier)
            note = f"not checked: figures of the earlier release {names}; verify the whole site"
            found = [replace(found[0], notes=(*found[0].notes, note))]
    else:
        releases = site_releases(folder)
        keys = _read_trusted(trusted)
        found = [_verified(release.path, pages=pages) for release in releases]
        around = check_site(folder, intact=not any(one.problems for one in found))
        problems = (*around.problems, *_order_problems(releases))
        found.append(_with_signers(replace(around, problems=problems), keys))
    last = found[-1]
    wrong_anchor, notes = _anchor(releases, expect, after, signed=bool(last.signed_by))
    found[-1] = replace(
        last, problems=(*last.problems, *wrong_anchor), notes=(*last.notes, _CLAIMS, *notes)
    )
    return found


def site_releases(folder: Path) -> list[Release]:
    """List the releases of a site, oldest first; refuse a site without any."""
    if os.path.lexists(folder / MANIFEST):
        remedy = "give the folder of the site, which contains v/"
        raise input_error(folder, "is one release, not a site", remedy)
    check_manifests(folder)
    releases = releases_of(folder)
    if not releases:
        remedy = "give the folder of a release, or of the whole site"
        raise input_error(folder, "contains no release", remedy)
    return releases


def hash_problems(site: Path) -> list[Problem]:
    """Check the hashes of a site's files and the chain of its releases, without recomputing."""
    releases = site_releases(site)
    problems: list[Problem] = []
    for release in releases:
        problems += file_problems(release.path, release.manifest["files"])
        problems += chain_problems(release.path, release.manifest)
    problems += _order_problems(releases)
    return [*problems, *check_site(site, intact=not problems).problems]


def _refuse_hash(name: str, text: str | None) -> None:
    """Refuse a text that is not a hash."""
    if text is not None and not SHA256.fullmatch(text.lower()):
        raise wrong(name, f"{text!r} is not a sha256", "give 64 hexadecimal digits")


def _read_trusted(paths: list[AnyPath]) -> dict[str, TrustedKey]:
    """Read the trusted keys; without any, no library of cryptography is needed."""
    if not paths:
        return {}
    from fairstats.publishing.signing_keys import read_trusted

    return read_trusted(paths)


def _with_signers(site: Verification, keys: dict[str, TrustedKey]) -> Verification:
    """Check the signatures of a site, if it has any or must have one."""
    if not keys and not has_statements(site.path):
        return site
    try:
        from fairstats.publishing.release_signatures import check_signers
    except ModuleNotFoundError as error:
        if keys or how_to_install(error.name or "") is None:
            raise
        note = f"not checked: signatures and attestations; {how_to_install(error.name or '')}"
        return replace(site, notes=(*site.notes, note))
    return check_signers(site, keys)


def _anchor(
    releases: list[Release], expect: str | None, after: str | None, *, signed: bool
) -> tuple[list[Problem], list[str]]:
    """Compare the manifests with the newest one that is expected, and one that must be there."""
    hashes = {release.path.name: file_sha256(release.path / MANIFEST) for release in releases}
    newest = list(hashes.values())[-1]
    path = str(releases[-1].path / MANIFEST)
    problems = []
    if after is not None and after.lower() not in hashes.values():
        message = (
            f"no release of this site has the manifest with sha256 {after.lower()} "
            f"({parameter('after')}): the site is older than that, or its history was replaced"
        )
        problems.append(Problem(path, message, TAKE_AGAIN))
    if expect is None:
        note = f"chain not anchored: the newest manifest has sha256 {newest}; compare it with "
        return problems, [
            f"{note}the sha256 announced by the publisher, or give that with {keyword('expect')}"
        ]
    expected = expect.lower()
    if newest == expected:
        return problems, []
    message = f"has sha256 {newest}, not {expected}"
    for other, digest in hashes.items():
        if digest == expected:
            message += (
                f"; that is the sha256 of release {other}, which does not cover later releases"
            )
    if signed and expected not in hashes.values():
        message += (
            "; the publisher signed this state of the site, but it is not the expected one: an old "
            "copy with its old signature looks like this"
        )
    return [*problems, Problem(path, message, TAKE_AGAIN)], []


def _verified(path: Path, *, pages: bool) -> Verification:
    manifest = read_manifest(path)
    problems = [*file_problems(path, manifest["files"]), *chain_problems(path, manifest)]
    notes: list[str] = []
    rows = dict.fromkeys(TABLES, 0)
    # Changed files are not used for computing: their hashes are reported already.
    if not any(_is_read(path, Path(problem.path)) for problem in problems):
        intact = not problems
        try:
            with temporary_folder("answers") as store, temporary_folder("verify") as again:
                release = Release(path)
                of = _inputs(release, store)
                tables = tables_of(of)
                # A copy, without what was counted for the tables.
                of = replace(of)
                give_memory_back()
                rows, figures = _compared(release, of, tables)
                problems += figures
                if not figures:
                    problems += overruling_problems(
                        of, release.screening, release.overruled, str(path / MANIFEST)
                    )
                if intact and not figures:
                    write_inputs(of, Release(again))
                    # Pages are drawn from the tables alone.
                    del of
                    give_memory_back()
                    copies, notes = copy_problems(release, again, pages=pages)
                    problems += copies
        except InputError as error:
            problems += error.problems
        # Damaged tables can make any step fail, in any way.
        except Exception as error:
            message = f"cannot be recomputed ({type(error).__name__}: {error})"
            problems.append(Problem(str(path), message, TAKE_AGAIN))
    return Verification(path, len(manifest["files"]), rows, tuple(problems), tuple(notes))


def _is_read(release: Path, path: Path) -> bool:
    """Check whether the rest of a release is recomputed from this file."""
    inside = path.relative_to(release) if path.is_relative_to(release) else Path()
    return inside.parts[:1] in (("benchmarks",), ("rubrics",)) or (
        inside.parts[:1] == (DOWNLOADS,) and inside.suffix in ("", ".parquet")
    )


def _order_problems(releases: list[Release]) -> Iterator[Problem]:
    """Check that each release names the previous one, so none was removed or inserted."""
    names = [None, *(release.name for release in releases)]
    remedy = "download the releases again from where they were published"
    for release, before in zip(releases, names, strict=False):
        manifest = str(release.path / MANIFEST)
        if release.path.name != release.name:
            message = f"belongs to release {release.name}"
            yield Problem(manifest, message, "rename the folder to that name")
        previous = release.manifest.get("previous") or {}
        if previous.get("release") != before:
            message = (
                f"was published after {previous.get('release') or 'no other release'}, but "
                f"{before or 'no other release'} comes before it here"
            )
            yield Problem(manifest, message, remedy)


def _fact_problems(release: Release, facts: dict[str, Any]) -> Iterator[Problem]:
    """Report facts in the manifest that do not match the content."""
    told = json.loads(json.dumps(facts))
    given = release.manifest["answers"]
    for entry in told["answers"]:
        # Releases of older versions do not state why answers are missing.
        for reason in ("refused", "failed"):
            if not any(reason in one for one in given):
                entry.pop(reason, None)
    there = {name for name in ("measures", "ratings", "retrievals") if name in release.manifest}
    for name in sorted({*told, *there}):
        if name not in told or release.manifest.get(name) != told[name]:
            message = "does not match the content of the release"
            yield Problem(str(release.path / MANIFEST), message, TAKE_AGAIN, column=name)


def _inputs(release: Release, store: Path) -> ReleaseInputs:
    paths = {name: release.table_path(name) for name in INPUTS}
    for path in (*sorted(release.answers_folder.glob("*")), *paths.values()):
        # Each is read with the checks for files from outside, because others may read it
        # afterwards.
        if path.exists():
            check_parquet(path)
            refuse_hidden_columns(path)
    answers: pd.DataFrame | StoredAnswers
    if release.answers_folder.is_dir():
        answers = store_answers(release.answers_folder, store, benchmarks=release.benchmarks)
        units = answers.units
    else:
        answers = units = read_answers(release.answers_path)
    lists, judged = release.retrievals, release.ratings
    return ReleaseInputs(
        answers=answers,
        # The columns of an empty table are not checked, so it is replaced.
        retrievals=check_retrievals(lists, path=str(paths["retrievals"]))
        if len(lists)
        else no_retrievals(),
        ratings=check_ratings(judged, rubrics=release.rubrics, path=str(paths["ratings"]))
        if len(judged)
        else no_ratings(),
        measures=check_measures(release.measures, path=str(paths["measures"])),
        submissions=check_submissions(release.submissions, units, path=str(paths["submissions"])),
        missing=release.manifest["arguments"]["missing"],
        alpha=release.alpha,
        benchmarks=release.benchmarks,
        rubrics=release.rubrics,
        successors=release.successors,
        model_facts=release.model_facts,
    )


def _compared(
    release: Release, of: ReleaseInputs, tables: dict[str, pd.DataFrame]
) -> tuple[dict[str, int], list[Problem]]:
    """Return the rows of each recomputed table, taken out of `tables`, and what differs."""
    problems: list[Problem] = []
    rows = {}
    for name in TABLES:
        found = tables.pop(name)
        rows[name] = len(found)
        problems += table_problems(release, name, found, TABLES[name].keys)
    if not problems:
        # Hashes of figures depend on the last digit; figures are compared elsewhere, with a
        # tolerance.
        published = {name: release.table(name) for name in TABLES}
        problems += _fact_problems(release, facts_of(of, published))
    return rows, problems
